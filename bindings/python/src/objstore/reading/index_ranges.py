"""Stretches of an index: from one value to another."""

from typing import TYPE_CHECKING, Any

from ..values import constants
from ..values.constants import Packed
from . import queries

if TYPE_CHECKING:
    from ..models.properties import Property


AFTER_FROM, BEFORE_TO = 0x1, 0x2


def query(
    view: int,
    index_id: int,
    properties: "tuple[Property, ...]",
    first: tuple[Any, ...],
    last: tuple[Any, ...],
    flags: int,
) -> queries.Query:
    """The objects of an index from those whose values begin with `first` to those whose values begin with `last`."""
    made = queries.of_range(view, index_id, _packed(properties, first), _packed(properties, last), flags)
    made.shown = _shown(properties, first, last, flags)
    return made


def _packed(properties: "tuple[Property, ...]", bound: tuple[Any, ...]) -> Packed:
    found = [constants.stored(prop, value) for prop, value in zip(properties, bound)]
    return b"".join([constant for constant, _ in found]), tuple([text for _, texts in found for text in texts])


def _shown(properties: "tuple[Property, ...]", first: tuple[Any, ...], last: tuple[Any, ...], flags: int) -> str:
    names = ", ".join(p.name for p in properties)
    lower = "after" if flags & AFTER_FROM else "from"
    upper = "before" if flags & BEFORE_TO else "to"
    bounds = (f" {lower} {first!r}" if first else "") + (f" {upper} {last!r}" if last else "")
    return f"({names}){bounds}"
