"""Live tables of lists, sets and dicts: `person.dogs.live([Dog.name])`, `dog.extra["seen"].live()`."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument, NoSuchObject, NoSuchProperty, WrongType, about
from ..messages import a
from ..models.display import any_cell, cell
from ..native.callbacks import hand_on
from ..objects import versions
from ..observing.tokens import properties
from ..values.kinds import LINK
from .live_rows import Columns, Listing, Window, same
from .live_tables import LiveTable

if TYPE_CHECKING:
    from ..collections.mixed import Nested
    from ..collections.queried import Queried
    from ..models.properties import Property
    from ..stores.lookup import Source
    from .value_results import ValueResults


def table(
    seen: "Queried[Any]", columns: "Iterable[object] | None", rows: int, interval: float, keys: Any
) -> LiveTable[Any]:
    """Of a list, set or dict, whatever its elements are."""
    shape, prop = seen._shape, seen._prop
    shown: Columns[Any]
    if shape.element.kind == LINK:
        binding = seen._source._observed()._leading(shape.element.target)
        those = binding.properties if columns is None else properties(binding, columns, "columns")
        keys = [each.name for each in those] if keys is None else keys
        shown = [(each.name, partial(_of_object, prop=each)) for each in those]
    elif columns is not None:
        raise about(
            InvalidArgument,
            prop,
            f"columns: {prop.path} is {a(shape.type_name)}, whose elements have no properties that could be columns",
        )
    else:
        shown = [(prop.name if shape.key is None else "value", any_cell)]
    if shape.key is not None:
        shown = _of_entries(shown)
    content = Listing(shown, _windows(seen), same if seen._shows_objects else None)
    return LiveTable(prop.path, content, partial(seen.changes, keys), rows, interval)


def nested_table(seen: "Nested", rows: int, interval: float) -> LiveTable[Any]:
    """Of a list or dict inside of a mixed value."""
    shown: Columns[Any] = [("value", any_cell)]
    if seen._shape.key is not None:
        shown = _of_entries(shown)
    return LiveTable(seen._place, Listing(shown, _nested_windows(seen)), seen.changes, rows, interval)


def table_of_values(seen: "ValueResults[Any]", rows: int, interval: float) -> LiveTable[Any]:
    """Of what is asked of plain values."""
    prop, shape = seen._collection._prop, seen._collection._shape
    shown: Columns[Any] = [(prop.name if shape.key is None else "value", any_cell)]
    if shape.key is not None:
        shown = _of_entries(shown)
    return LiveTable(prop.path, Listing(shown, seen._window), seen.changes, rows, interval)


def _of_entries(shown: Columns[Any]) -> Columns[Any]:
    """Columns of values behind those of keys."""
    return [("key", partial(_of_entry, 0, any_cell)), *((name, partial(_of_entry, 1, make)) for name, make in shown)]


def _nested_windows(seen: "Nested") -> Window[Any]:
    """What is at the same place in other versions; nothing where that is no such list or dict."""
    wanted = list if seen._shape.key is None else dict

    def window(source: "Source", begin: int, end: int) -> tuple[list[Any], int]:
        try:
            found = versions.moved(seen, source)._elements()
        except (NoSuchObject, NoSuchProperty, WrongType) as error:
            hand_on(error)
            return [], 0
        if not isinstance(found, wanted):
            return [], 0
        return list(found.items() if isinstance(found, dict) else found)[begin:end], len(found)

    return window


def _of_object(obj: Any, prop: "Property") -> str:
    """Of what a key of a dict leads to it may be None."""
    return "" if obj is None else cell(obj, prop)


def _of_entry(which: int, make: Any, entry: tuple[Any, Any]) -> str:
    made: str = make(entry[which])
    return made


def _windows(seen: "Queried[Any]") -> Window[Any]:
    """Those of the same collection in other versions; nothing where its owner is not there, or its property."""

    def window(source: "Source", begin: int, end: int) -> tuple[list[Any], int]:
        there = versions.moved(seen, source)
        try:
            view = there._view()
            return there._range(view, begin, end, seen._shape.key is not None, live=False), there._count(view)
        except (NoSuchObject, NoSuchProperty) as error:
            hand_on(error)
            return [], 0

    return window
