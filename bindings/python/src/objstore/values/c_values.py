"""Single values on their way to the library and back."""

import ctypes
import struct
import uuid
from array import array
from collections.abc import Callable, Sequence
from ctypes import c_bool, c_int64, c_uint64
from itertools import accumulate
from typing import Any

from ..native import ffi
from ..native.callbacks import hand_on
from ..native.handles import cell_of
from . import decimals, documents, kinds
from .kinds import (
    BINARY,
    BOOL,
    DECIMAL,
    DOCUMENT,
    DOUBLE,
    FLOAT,
    INT,
    LARGEST,
    LINK,
    LIST,
    MAP,
    MIXED,
    NULL,
    OBJECT_ID,
    SMALLEST,
    STRING,
    TIMESTAMP,
    UUID,
    Described,
    encode,
)
from .object_id import ObjectId

TEXT_ROOM = 1024
_query_close = ffi.bind("objstore_query_close")


def _text_bytes(value: Any) -> int:
    """The most that the text of a value takes."""
    if type(value) not in kinds.BY_TYPE and value is not None:
        value = kinds.raw(value)
    return 4 * len(value) if isinstance(value, str) else len(value) if isinstance(value, bytes) else 0


class Values:
    """Room for some C values, seen as 64-bit words: value i is words[5 * i] (its kind) and four words of content.

    Texts lie in memory of its own, so that one address is all that ctypes has to convert in a call.
    """

    def __init__(self, count: int) -> None:
        self.array = (ffi.Value * count)()
        self.address = ctypes.addressof(self.array)
        self.first = self.array[0]
        memory = self.memory = memoryview(self.array).cast("B")
        self.words = memory.cast("q")
        self.reals = memory.cast("d")
        self._used = 0
        self._room = 0
        self._documents: list[Any] = []  # packed ones, as long as the values
        self._grow(TEXT_ROOM)

    def _grow(self, room: int) -> None:
        self._memory = ctypes.create_string_buffer(room)
        self._bytes = memoryview(self._memory).cast("B")
        self._base = ctypes.addressof(self._memory)
        self._used, self._room = 0, room

    def start(self, text_bytes: int = 0) -> None:
        """Starts over, with room for `text_bytes` of text; what is more than usual is freed the next time."""
        if text_bytes > self._room or self._room > TEXT_ROOM:
            self._grow(max(text_bytes, TEXT_ROOM))
        self._used = 0
        if self._documents:
            self._documents.clear()

    def put_one(self, prop: Described, value: Any) -> None:
        """Puts a converted value, as the only one."""
        if type(value) is int and prop.kind == INT and SMALLEST <= value <= LARGEST:  # as a rule
            self.words[0], self.words[1] = INT, value
            return
        if prop.kind == STRING or prop.kind == BINARY or prop.kind == MIXED:
            self.start(_text_bytes(value))
        self.put(0, prop, value)

    def put(self, index: int, prop: Described, value: Any) -> None:
        """Puts a converted value; start() has made room for texts."""
        at = 5 * index
        words = self.words
        if value is None:
            words[at] = NULL
            return
        if prop.enum is not None:
            value = kinds.stored_form(prop, value)
        kind = prop.kind
        words[at] = kind
        if kind == INT or kind == BOOL:
            try:
                words[at + 1] = value
            except ValueError:  # more than 64 bits: a constructor does not look
                kinds.convert(prop, value)
                raise
        elif kind == DOUBLE:
            self.reals[at + 1] = value
        elif kind == TIMESTAMP:
            words[at + 1], words[at + 2] = kinds.instant(value)
        elif kind == LINK:
            struct.pack_into("<Qq", self.memory, 8 * at + 8, *kinds.place(prop, value))
        elif kind == UUID:
            self.memory[8 * at + 8 : 8 * at + 24] = value.bytes
        elif kind == OBJECT_ID:
            self.memory[8 * at + 8 : 8 * at + 20] = value.bytes
        elif kind == FLOAT:
            struct.pack_into("<f", self.memory, 8 * at + 8, value)
        elif kind == DECIMAL:
            self.memory[8 * at + 8 : 8 * at + 24] = (decimals.bits(value) or 0).to_bytes(16, "little")
        elif kind == LIST or kind == MAP:
            words[at + 1] = value  # how many follow
        elif kind == MIXED:
            self._put_mixed(index, prop, value)
        else:
            content = value if kind == BINARY else encode(prop, value)
            begin, end = self._used, self._used + len(content)
            self._bytes[begin:end] = content
            self._used = end
            words[at + 1] = self._base + begin
            words[at + 2] = len(content)

    def _put_mixed(self, index: int, prop: Described, value: Any) -> None:
        kind = kinds.BY_TYPE.get(type(value))
        if kind is not None:
            self.put(index, As(prop, kind), value)
            return
        if kinds.is_object(value):
            self.words[5 * index] = LINK
            struct.pack_into("<Qq", self.memory, 40 * index + 8, *documents.place(prop, value))
            return
        content = documents.pack(prop, value)
        memory = ctypes.create_string_buffer(content, len(content))
        self._documents.append(memory)
        at = 5 * index
        self.words[at], self.words[at + 1], self.words[at + 2] = DOCUMENT, ctypes.addressof(memory), len(content)

    def fill(self, properties: "Sequence[Described]", values: list[Any]) -> None:
        """Puts several."""
        self.start(sum(map(_text_bytes, values)))
        for index, prop in enumerate(properties):
            self.put(index, prop, values[index])

    def put_all(self, prop: Described, values: Sequence[Any]) -> None:
        """Puts converted values of one property, as many as there is room for or fewer."""
        self.start(
            sum(map(_text_bytes, values)) if prop.kind == STRING or prop.kind == BINARY or prop.kind == MIXED else 0
        )
        if prop.enum is not None or prop.kind not in (INT, DOUBLE, STRING) or None in values:
            for index, value in enumerate(values):
                self.put(index, prop, value)
            return
        end = 5 * len(values)
        words = self.words
        words[0:end:5] = memoryview(array("q", [prop.kind]) * len(values))
        if prop.kind == INT:
            words[1:end:5] = memoryview(array("q", values))
        elif prop.kind == DOUBLE:
            self.reals[1:end:5] = memoryview(array("d", values))
        else:
            encoded = [encode(prop, value) for value in values]
            content = b"".join(encoded)
            self._bytes[: len(content)] = content
            lengths = array("q", map(len, encoded))
            words[1:end:5] = memoryview(array("q", accumulate(lengths[:-1], initial=self._base)))
            words[2:end:5] = memoryview(lengths)

    def get_any(
        self, prop: Described, count: int, link: documents.Link, nested: "Callable[[int, int], Any] | None"
    ) -> list[Any]:
        """The first `count` values of mixed elements; of lists and dicts what `nested` makes of their kind and index,
        or copies."""
        words, first, found = self.words, self.words[0:5].tolist(), []
        for index in range(count):
            if index:
                words[0:5] = words[5 * index : 5 * index + 5]
            if nested is not None and words[0] == DOCUMENT:
                found.append(nested(ctypes.string_at(words[1], 1)[0], index))
            else:
                found.append(self.get(prop, link))
        words[0:5] = memoryview(array("q", first))
        return found

    def get_all(self, prop: Described, count: int) -> list[Any]:
        """The first `count` values, as the property's Python type; of links the keys of the objects."""
        end = 5 * count
        words, kind = self.words, prop.kind
        found: list[Any]
        if kind == INT:
            found = words[1:end:5].tolist()
        elif kind == DOUBLE:
            found = self.reals[1:end:5].tolist()
        elif kind == STRING or kind == BINARY:
            read = ctypes.string_at
            texts = [
                read(at, size) if size else b"" for at, size in zip(words[1:end:5].tolist(), words[2:end:5].tolist())
            ]
            found = [text.decode() for text in texts] if kind == STRING else texts
        elif kind == LINK:
            found = words[2:end:5].tolist()
        elif kind == BOOL:
            found = [word & 0xFF != 0 for word in words[1:end:5]]
        elif kind == TIMESTAMP:
            found = [kinds.moment(s, n & 0xFFFFFFFF) for s, n in zip(words[1:end:5], words[2:end:5])]
        elif kind == FLOAT:
            found = self.memory.cast("f")[2 : 2 * end : 10].tolist()
        else:
            width = 12 if kind == OBJECT_ID else 16
            stored = [bytes(self.memory[at : at + width]) for at in range(8, 8 * end, 40)]
            if kind == UUID:
                found = [uuid.UUID(bytes=content) for content in stored]
            elif kind == OBJECT_ID:
                found = [ObjectId(content) for content in stored]
            else:
                found = [decimals.from_bits(int.from_bytes(content, "little")) for content in stored]
        if not prop.nullable and prop.enum is None:
            return found
        there = words[0:end:5].tolist()  # a null has a content, too: zero bytes
        if prop.enum is not None:
            return [kinds.member(prop, value) if kind else None for value, kind in zip(found, there)]
        return [value if kind else None for value, kind in zip(found, there)]

    def get(self, prop: Described, link: documents.Link = documents.no_object) -> Any:
        """The first value, as the property's Python type; of a link the key of the object, in a mixed property `link`
        of it."""
        words = self.words
        kind = words[0]
        if kind == NULL:
            return None
        value: Any
        if kind == INT:
            value = words[1]
        elif kind == STRING:
            value = ctypes.string_at(words[1], words[2]).decode() if words[2] else ""
        elif kind == DOUBLE:
            value = self.reals[1]
        elif kind == BOOL:
            value = words[1] & 0xFF != 0
        elif kind == TIMESTAMP:
            value = kinds.moment(words[1], words[2] & 0xFFFFFFFF)
        elif kind == LINK:
            return link(words[1] & 0xFFFFFFFF, words[2]) if prop.kind == MIXED else words[2]
        elif kind == UUID:
            value = uuid.UUID(bytes=bytes(self.memory[8:24]))
        elif kind == OBJECT_ID:
            value = ObjectId(bytes(self.memory[8:20]))
        elif kind == FLOAT:
            value = struct.unpack_from("<f", self.memory, 8)[0]
        elif kind == DECIMAL:
            value = decimals.from_bits(int.from_bytes(self.memory[8:24], "little"))
        elif kind == DOCUMENT:
            return documents.unpack(ctypes.string_at(words[1], words[2]), link)
        else:
            value = ctypes.string_at(words[1], words[2]) if words[2] else b""
        return value if prop.enum is None else kinds.member(prop, value)


class As:
    """A mixed property that holds a value of this kind."""

    __slots__ = ("name", "model_name", "kind", "nullable", "enum", "path", "type_name")

    def __init__(self, prop: Described, kind: int) -> None:
        self.name, self.model_name, self.path = prop.name, prop.model_name, prop.path
        self.kind, self.nullable, self.type_name = kind, True, "Any"
        self.enum: Any = None


class Scratch:
    """What one call needs: an object, a value, and room for answers. Taken from a pool and put back, so that a
    signal handler or a finaliser that calls in between has its own."""

    def __init__(self) -> None:
        self.object = ffi.Object()
        self.head = c_uint64.from_buffer(self.object, 0)  # class and store
        self.key = c_int64.from_buffer(self.object, 8)
        self.object_address = ctypes.addressof(self.object)
        self.values = Values(1)
        self.words = self.values.words
        self.flag = c_bool()
        self.flag_address = ctypes.addressof(self.flag)
        self.number = c_uint64()
        self.signed_number = c_int64.from_buffer(self.number)
        self.number_address = ctypes.addressof(self.number)
        self.query = cell_of(self, _query_close)
        self.query_address = ctypes.addressof(self.query)


_pool: list[Scratch] = []
give_back = _pool.append


def take() -> Scratch:
    try:
        return _pool.pop()
    except IndexError as error:
        hand_on(error)
        return Scratch()
