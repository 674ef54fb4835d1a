"""Asking a store: a text with arguments becomes a query, a query gives keys."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref, c_bool, c_size_t, c_uint64, c_void_p

from queries.binding import Argument
from queries.geo import shape_text
from queries.nodes import Box, Circle, Polygon

from .library import Buffer, Handle, Library, Object, Text, TextOut, read, text
from .packing import INT, KINDS, Packed, Packer, typed

EMPTY = Packed(b"", [])


def pack_arguments(packer: Packer, arguments: Sequence[Argument]) -> Packed:
    """The arguments one behind the other; a list is followed by its elements."""
    if not arguments:
        return EMPTY
    kept: list[bytes] = []
    parts: list[bytes] = []
    for argument in arguments:
        if isinstance(argument, (Box, Circle, Polygon)):
            parts.extend(packer.nested(shape_text(argument), kept))
            continue
        if isinstance(argument, list):
            parts.append(INT(KINDS["list"], 0, len(argument)))
            parts.extend(packer.value(typed(element), kept) for element in argument)
        else:
            parts.extend(packer.nested(typed(argument), kept))
    return Packed(b"".join(parts), kept)


class Asker:
    """Calls of the library for queries; it keeps what the calls fill, so it belongs to one thread."""

    def __init__(self, library: Library) -> None:
        self.library = library
        functions = library.functions
        self.parse_text, self.close_query = functions["query_parse"], functions["query_close"]
        self.find, self.close_results = functions["query_find"], functions["results_close"]
        self.count_results, self.take_objects = functions["results_count"], functions["results_objects"]
        self.number, self.size, self.is_there = c_uint64(), c_size_t(), c_bool()
        self.object, self.results = Object(), c_void_p()
        self.room = 256
        self.objects = (Object * self.room)()
        self.keys_there = memoryview(self.objects).cast("B").cast("q")[1::2]
        self.buffer = Buffer()

    def parse(self, view: Handle, class_id: int, query: Text, arguments: Packed = EMPTY) -> Handle:
        """A query of a text."""
        made = Handle()
        status = self.parse_text(view, class_id, query, arguments.data or None, arguments.count, byref(made))
        if status:
            raise self.library.failure(status)
        return made

    def close(self, query: Handle) -> None:
        """Close a query."""
        self.close_query(query)

    def keys(self, query: Handle, view: Handle) -> list[int]:
        """The keys of all objects that a query finds, in its order."""
        status = self.find(query, view, byref(self.results))
        if status:
            raise self.library.failure(status)
        self.count_results(self.results, byref(self.number))
        count = self.number.value
        if count > self.room:
            self.room = count * 2
            self.objects = (Object * self.room)()
            self.keys_there = memoryview(self.objects).cast("B").cast("q")[1::2]
        status = self.take_objects(self.results, 0, self.objects, count, byref(self.size))
        if status:
            raise self.library.failure(status)
        self.close_results(self.results)
        if self.size.value != count:
            raise AssertionError(f"results of {count} objects hand out {self.size.value}")
        found: list[int] = self.keys_there[:count].tolist()
        return found

    def count(self, query: Handle, view: Handle) -> int:
        """How many objects a query finds."""
        self.library.call("query_count", query, view, byref(self.number))
        return self.number.value

    def first(self, query: Handle, view: Handle) -> int | None:
        """The key of the first object that a query finds."""
        self.library.call("query_first", query, view, byref(self.object), byref(self.is_there))
        return int(self.object.key) if self.is_there.value else None

    def text(self, query: Handle) -> str:
        """A query as a text."""
        written = TextOut()
        self.library.call("query_text", query, byref(self.buffer), byref(written))
        return read(written)

    def then(self, query: Handle, following: Handle) -> Handle:
        """What the second query finds among what the first finds."""
        return self.library.made("query_then", query, following)


def same_answers(asker: Asker, view: Handle, class_id: int, query: Handle) -> tuple[list[int], list[str]]:
    """What a query finds, and where its count, its first object or its text say otherwise."""
    keys = asker.keys(query, view)
    wrong: list[str] = []
    if (count := asker.count(query, view)) != len(keys):
        wrong.append(f"count is {count}, but it finds {len(keys)}")
    if (first := asker.first(query, view)) != (keys[0] if keys else None):
        wrong.append(f"first is {first}, but it finds {keys[:3]}")
    written = asker.text(query)
    again = asker.parse(view, class_id, text(written))
    if (found := asker.keys(again, view)) != keys:
        wrong.append(f"its text {written} finds {found}, but it finds {keys}")
    if (rewritten := asker.text(again)) != written:
        wrong.append(f"its text {written} becomes {rewritten}")
    asker.close(again)
    return keys, wrong
