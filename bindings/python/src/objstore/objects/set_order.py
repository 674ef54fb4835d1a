"""The order of sets, and of the keys of dicts: of unmanaged objects the same as in a store."""

import uuid
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from ..values import kinds
from ..values.object_id import ObjectId
from . import state

# null < bool < numbers < texts, bytes < times < ids < uuids < links; of equal ones those of the lesser kind come first.
_NUMBERS, _TEXTS, _LINKS = 2, 3, 7
_RANKS: tuple[tuple[Any, int], ...] = (
    (bool, 1),
    ((int, float, Decimal), _NUMBERS),
    ((str, bytes), _TEXTS),
    (datetime, 4),
    (ObjectId, 5),
    (uuid.UUID, 6),
)


def ordered(values: Iterable[Any]) -> list[Any]:
    """Converted members of a set as a store would give them. Objects that are in none come last, as they are: they have
    no keys."""
    return sorted(values, key=place)


def place(value: Any) -> Any:
    """What to sort a value by."""
    value = kinds.raw(value)
    if value is None:
        return (0,)
    rank = next((rank for types, rank in _RANKS if isinstance(value, types)), _LINKS)
    if rank == _NUMBERS:
        # NaN is equal to NaN and greater than every other number; Decimal compares no signalling one.
        is_nan = value.is_nan() if isinstance(value, Decimal) else value != value
        return rank, is_nan, 0 if is_nan else value, _kind(value)
    if rank == _TEXTS:
        return rank, value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value, _kind(value)
    if rank == _LINKS:
        identity = state.identity(value) if kinds.is_object(value) else None
        return (rank, identity is None, *(() if identity is None else (identity[0] & 0xFFFFFFFF, identity[1])))
    return rank, value.bytes if rank > 4 else value


def _kind(value: Any) -> int:
    return kinds.BY_TYPE.get(type(value), kinds.NULL)
