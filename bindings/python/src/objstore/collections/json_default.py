"""What the json module of the standard library needs for values of a store."""

import base64
import uuid
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from ..json.json_options import text_of_key
from ..objects.set_order import ordered
from ..values.counters import Counter
from ..values.object_id import ObjectId
from .collection import Collection
from .mixed import MixedDict, MixedList
from .sets import Set


def json_default(value: Any) -> Any:
    """For the json module: `json.dumps({"toys": dog.toys}, default=objstore.json_default)`. Live lists, sets and dicts
    are written as builtin ones (sets as lists, in the order of a store), counters and members of enumerations as their
    values, ids and Decimals as texts, datetimes by ISO 8601, bytes in base64; keys as to_json() has them. TypeError:
    anything else."""
    if isinstance(value, Set):
        return list(value)  # a copy would have no order
    if isinstance(value, (Collection, MixedList, MixedDict)):
        value = value.copy()
    if isinstance(value, dict):
        return {text_of_key(key): element for key, element in value.items()}
    if isinstance(value, list):
        return value
    if isinstance(value, (set, frozenset)):
        try:
            return ordered(value)
        except TypeError:  # datetimes with and without a time zone, which no store has
            return list(value)
    if isinstance(value, (Counter, Enum)):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (ObjectId, uuid.UUID, Decimal)):
        return str(value)
    raise TypeError(f"an object of type {type(value).__name__} is no JSON: {value!r}")
