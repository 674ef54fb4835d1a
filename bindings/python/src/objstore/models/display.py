"""How objects show the values of their properties: in a repr, and as tables in notebooks."""

import html
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..collections import collection
from ..collections.collection import Collection
from ..errors import Error
from ..objects import state
from ..objects.state import named, readable
from ..values import kinds

if TYPE_CHECKING:
    from ..queries.results import Results
    from .model import Model
    from .properties import Property


ROWS = 10
LONGEST = 80


def cell(obj: "Model", prop: "Property") -> str:
    try:
        if prop.shape is not None:
            return _cut(shown(obj, prop))
        value = getattr(obj, prop.name)
        return _cut("" if value is None else value if isinstance(value, str) else state.named(value))
    except Error as error:  # another thread deletes it, or closes the store, just now
        return f"<i>{_cut(error.message)}</i>"


def _cut(text: str) -> str:
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    return html.escape(text)


def object_table(obj: "Model") -> str:
    name, why = html.escape(type(obj).__name__), "deleted, or its store closed"
    try:
        is_valid = obj.is_valid
    except Error as error:  # behind a fork()
        is_valid, why = False, html.escape(error.message)
    if not is_valid:
        return f"<p><b>{name}</b>: {why}</p>"
    rows = "".join(
        f"<tr><th>{html.escape(p.name)}</th><td>{cell(obj, p)}</td></tr>" for p in type(obj)._objstore_properties
    )
    return f"<table><caption>{name}</caption>{rows}</table>"


def results_table(results: "Results[Any]") -> str:
    properties = results._binding.properties
    head = "".join(f"<th>{html.escape(p.name)}</th>" for p in properties)
    try:
        shown, count = results[:ROWS], len(results)
    except Error:  # its repr says which
        return f"<p>{html.escape(repr(results))}</p>"
    body = "".join("<tr>" + "".join(f"<td>{cell(o, p)}</td>" for p in properties) + "</tr>" for o in shown)
    more = count - len(shown)
    foot = f"<p>and {more:,} more</p>" if more > 0 else ""
    caption = html.escape(repr(results))
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def values_table(columns: "list[str]", rows: "list[tuple[Any, ...]]", count: int) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{value_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    more = count - len(rows)
    foot = f"<p>and {more:,} more</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def value_cell(value: Any) -> str:
    return _cut("" if value is None else value if isinstance(value, str) else state.named(value))


def any_cell(value: Any) -> str:
    """Of a value that may be a list or dict of values, or an object."""
    return _cut("" if value is None else value if isinstance(value, str) else repr(readable(value)))


def heading(key: Any) -> str:
    """The key of a section."""
    return _cut(key if isinstance(key, str) else named(key))


def shown(obj: Any, prop: "Property") -> str:
    """A repr of a property's value; long lists, sets and dicts are cut."""
    value = getattr(obj, prop.name)
    if prop.shape is None:
        return named(readable(value) if prop.kind == kinds.MIXED and not kinds.is_object(value) else value)
    if isinstance(value, Collection):
        return repr(value)
    entries = value if prop.shape.key is None else value.items()
    return collection.shown(prop.shape, list(islice(entries, collection.SHOWN)), len(value))
