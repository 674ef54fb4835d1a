"""References: what names an object in values that lead to it.

    {"id": 1, "owner": 7}                                     the primary key
    {"id": 1, "latest": {"sensor": "north", "time": 7}}       all parts of one that is of several properties, and
                                                              nothing else; if no object has it, that describes a new
                                                              object
    {"id": 1, "owner": {"$ref": "Person", "$id": 7}}          as to_json() and to_dict() write one where the key alone
                                                              would mean something else; "$id" has the parts of one of
                                                              several properties

Links wait in the library until everything is there that one call describes. What may describe a new object waits here,
in create_all(), for the rows behind it.
"""

import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import Error
from ..native.callbacks import hand_on
from ..objects import state
from ..values import custom_types, kinds
from . import descriptions

if TYPE_CHECKING:
    from ..models.properties import Property


TAGS = {"$ref", "$id"}


def is_bare(value: Any) -> bool:
    """May it be a primary key?"""
    return kinds.BY_TYPE.get(type(value)) in kinds.KEYS or isinstance(value, enum.Enum) or bool(custom_types.of(value))


def is_part(value: Any) -> bool:
    """May it be a primary key, or a part of one?"""
    return (
        value is None
        or kinds.BY_TYPE.get(type(value)) in kinds.KEY_PARTS
        or isinstance(value, enum.Enum)
        or bool(custom_types.of(value))
    )


def is_tagged(value: Any) -> bool:
    return type(value) is dict and value.keys() == TAGS


def has_key_alone(model: Any, pairs: "list[tuple[Property, Any]]") -> bool:
    """Are these the parts of a primary key of several properties, and nothing else?"""
    key = model._objstore_key
    return len(key) > 1 and {p.index for p, _ in pairs} == {p.index for p in key}


def key_of(target: Any, value: Any) -> "tuple[Property, Any] | None":
    """The primary key that a value is, as the property holds it; None: it is none of that class."""
    key = target._objstore_key
    if len(key) != 1 or not is_bare(value):
        return None
    try:
        return key[0], key[0].convert(value)
    except Error as error:
        hand_on(error)
        return None


def has_parts(prop: "Property", value: Any, left: int = descriptions.DEEPEST) -> bool:
    """Are there the parts of a primary key of several properties, and nothing else, in a value for a property, or in
    what it describes? What can be read only once is not looked at."""
    if prop.target is None or value is None or not left:
        return False
    if prop.shape is None:
        return _are_parts(prop.target, value, left)
    content: Iterable[Any] = (
        value.values() if type(value) is dict else value if isinstance(value, (list, tuple, set, frozenset)) else ()
    )
    return any(_are_parts(prop.target, element, left) for element in content)


def _are_parts(target: type, value: Any, left: int) -> bool:
    if isinstance(value, state.Slots) or type(value) not in (dict, list, tuple):
        return False
    try:
        pairs = descriptions.pairs(target, value)
    except Error as error:
        hand_on(error)
        return False  # which says so when it is created
    return has_key_alone(target, pairs) or any(has_parts(p, v, left - 1) for p, v in pairs)
