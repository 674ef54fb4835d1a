"""Stretches of an index: from one value to another."""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..models.properties import Property


AFTER_FROM, BEFORE_TO = 0x1, 0x2


class Stretch(NamedTuple):
    """The objects of an index from those whose values begin with `first` to those whose values begin with `last`."""

    properties: "tuple[Property, ...]"
    index_id: int
    first: tuple[Any, ...]
    last: tuple[Any, ...]
    flags: int

    def __str__(self) -> str:
        names = ", ".join(p.name for p in self.properties)
        lower = "after" if self.flags & AFTER_FROM else "from"
        upper = "before" if self.flags & BEFORE_TO else "to"
        bounds = (f" {lower} {self.first!r}" if self.first else "") + (f" {upper} {self.last!r}" if self.last else "")
        return f"({names}){bounds}"
