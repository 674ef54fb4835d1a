"""Queries as handles of the library: made once, asked in any view of their store."""

import ctypes
import re
import struct
from collections.abc import Callable
from typing import Any

from ..errors import Error, Status
from ..native import ffi
from ..native.failures import check, failure
from ..native.handles import cell_of
from ..values.constants import ANYTHING, Packed, with_texts
from ..values.kinds import encode

_query_new = ffi.bind("objstore_query_new")
_query_parse = ffi.bind("objstore_query_parse")
_query_range = ffi.bind("objstore_query_range")
_query_collection = ffi.bind("objstore_query_collection")
_query_values = ffi.bind("objstore_query_values")
_query_values_new = ffi.bind("objstore_query_values_new")
_query_incoming = ffi.bind("objstore_query_incoming")
_query_then = ffi.bind("objstore_query_then")
_query_text = ffi.bind("objstore_query_text")
_query_close = ffi.bind("objstore_query_close")

_CALL = 33  # OBJSTORE_QUERY_CALL
_NODE_BYTES, _VALUE_BYTES = ctypes.sizeof(ffi.QueryNode), ctypes.sizeof(ffi.Value)
_WORDS, _VALUE = _NODE_BYTES // 8, ffi.QueryNode.value.offset // 8  # of a node, and before its value


class Query:
    """A class, a condition, and what is done with the objects that satisfy it. Never changes; any thread may ask it, as
    long as its store is open."""

    __slots__ = ("cell", "key", "is_ascending", "calls", "shown", "__weakref__")
    shown: str  # in messages, where it has no text

    def __init__(self, key: Any, is_ascending: bool, calls: bool = False) -> None:
        self.cell = cell_of(self, _query_close)  # the handle, from when the library has made it
        self.key = key  # equal ones find the same
        self.is_ascending = is_ascending  # does it find objects in the order of their keys?
        self.calls = calls  # does it call functions, which may be of Python?

    def text(self) -> str:
        """What filter() makes the same of. NotSupported: it has none."""
        text = ffi.Text()
        check(_query_text(self.cell, None, ctypes.byref(text)))
        return ffi.string(text)


class _Functions:
    """What queries can call, by name, in any store; and how often one of them became another."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.pattern: re.Pattern[str] | None = None  # finds what may be a call in a text
        self.generation = 0


_functions = _Functions()


def called(name: str) -> None:
    """A function of that name was defined, or is not there any more."""
    names = _functions.names | {name}
    _functions.pattern = re.compile(rf"\b(?:{'|'.join(sorted(names))})\s*\(", re.ASCII)
    _functions.names = names
    _functions.generation += 1


def calls_in(nodes: bytes) -> bool:
    """Does a query of these nodes call functions?"""
    return bool(_functions.names) and any(nodes[at] == _CALL for at in range(0, len(nodes), _NODE_BYTES))


def calls_in_text(text: str) -> bool:
    """Does the query of a text perhaps call functions?"""
    return _functions.pattern is not None and _functions.pattern.search(text) is not None


def key(class_id: int, nodes: bytes, texts: tuple[bytes, ...]) -> Any:
    """Of the query that is made of them."""
    if calls_in(nodes):
        return class_id, nodes, texts, _functions.generation
    return class_id, nodes, texts


def of_nodes(view: int, class_id: int, nodes: bytes, texts: tuple[bytes, ...], is_ascending: bool = True) -> Query:
    """Of an expression; b"": all objects of the class."""
    query = Query(key(class_id, nodes, texts), is_ascending, calls_in(nodes))
    if status := make(view, class_id, nodes, texts, ctypes.addressof(query.cell)):
        raise failed(status)
    return query


def make(view: int, class_id: int, nodes: bytes, texts: tuple[bytes, ...], out: int) -> int:
    """Writes the handle of such a query to an address; the status."""
    array, _kept = with_addresses(nodes, texts)
    status: int = _query_new(view, class_id, array, len(nodes) // _NODE_BYTES, out)
    return status


def with_addresses(nodes: bytes, texts: tuple[bytes, ...]) -> tuple[bytes, Any]:
    """Nodes as the library takes them, and what is to be kept during the call."""
    return with_texts(nodes, texts, _WORDS, _VALUE) if texts else (nodes, None)


def number_of(nodes: bytes) -> int:
    return len(nodes) // _NODE_BYTES


def failed(status: int) -> Error:
    problem = failure(status)
    problem.position = None  # of a node, which the program does not see
    return problem


def of_text(view: int, class_id: int, text: str, arguments: Packed) -> Query:
    """Of a text and its arguments."""
    # Behind anything that may be a SORT the order is unknown.
    calls = calls_in_text(text)
    generation = _functions.generation if calls else 0
    query = Query((class_id, text, *arguments, generation), "sort" not in text.lower(), calls)
    parse(text, arguments, lambda *given: _query_parse(view, class_id, *given, ctypes.byref(query.cell)))
    return query


def parse(text: str, arguments: Packed, call: Callable[[Any, bytes, int], int]) -> None:
    """Hands a text and its arguments to the library by `call`."""
    array, _kept = with_texts(*arguments, _VALUE_BYTES // 8, 0)
    if status := call(ffi.text_of(encode(ANYTHING, text)), array, len(array) // _VALUE_BYTES):
        raise _pointing(failure(status), text)


def of_range(view: int, index_id: int, first: Packed, last: Packed, flags: int) -> Query:
    """Of a part of an index, from and to some values."""
    query = Query((index_id, first, last, flags), False)
    from_, _kept = with_texts(*first, _VALUE_BYTES // 8, 0)
    to, _kept_too = with_texts(*last, _VALUE_BYTES // 8, 0)
    counts = [len(bound) // _VALUE_BYTES for bound in (from_, to)]
    check(_query_range(view, index_id, from_, counts[0], to, counts[1], flags, ctypes.byref(query.cell)))
    return query


def of_incoming(view: int, property_id: int, head: int, key: int) -> Query | None:
    """Of the objects whose property leads to an object; None: that was deleted."""
    query = Query(("incoming", property_id, head, key), True)
    target = ffi.Object.from_buffer_copy(struct.pack("<Qq", head, key))
    status = _query_incoming(view, target, property_id, ctypes.byref(query.cell))
    if status == Status.NO_SUCH_OBJECT:
        return None
    check(status)
    return query


def of_collection(view: int, place: tuple[int, int, int], collection: Any) -> Query:
    """Of the objects that a list, set or map, which is at a place, has links to. NoSuchObject: its owner was
    deleted."""
    query = Query(("collection", *place), False)
    check(_query_collection(view, collection, ctypes.byref(query.cell)))
    return query


def of_values(
    view: int, place: tuple[int, int, int], collection: Any, nodes: bytes = b"", texts: tuple[bytes, ...] = ()
) -> Query:
    """Of the elements of a list, set or map of plain values: those that an expression asks for. NoSuchObject."""
    query = Query(("values", place, key(0, nodes, texts)), False, calls_in(nodes))
    array, _kept = with_addresses(nodes, texts)
    if status := _query_values_new(view, collection, array, number_of(nodes), ctypes.byref(query.cell)):
        raise failed(status)
    return query


def of_values_text(view: int, place: tuple[int, int, int], collection: Any, text: str, arguments: Packed) -> Query:
    """The same from text."""
    calls = calls_in_text(text)
    query = Query(("values", place, text, *arguments, _functions.generation if calls else 0), False, calls)
    parse(text, arguments, lambda *given: _query_values(view, collection, *given, ctypes.byref(query.cell)))
    return query


def then(first: Query, second: Query) -> Query:
    """What the second finds among what the first finds."""
    is_ascending, calls = first.is_ascending and second.is_ascending, first.calls or second.calls
    query = Query((first.key, second.key), is_ascending, calls)
    check(_query_then(first.cell, second.cell, ctypes.byref(query.cell)))
    return query


def _pointing(problem: Error, text: str) -> Error:
    """The error, with the text and what is wrong in it."""
    if problem.position is not None:
        before = text.encode()[: problem.position].decode(errors="ignore")
        start = before.rfind("\n") + 1
        line = text[start:].partition("\n")[0]
        blank = "".join("\t" if c == "\t" else " " for c in before[start:])
        problem.message += f"\n    {line}\n    {blank}^"
        problem.args = (problem.message,)
    return problem
