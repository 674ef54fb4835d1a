"""Many objects at a time out of the library: the packed form (section 17 of objstore.h) as Python values."""

import ctypes
import itertools
import struct
import uuid
from typing import TYPE_CHECKING, Any

from ..native import ffi
from ..native.failures import check
from ..values import decimals, documents, kinds
from ..values.kinds import BOOL, DECIMAL, DOUBLE, FLOAT, INT, LINK, MIXED, OBJECT_ID, STRING, TIMESTAMP, UUID
from ..values.object_id import ObjectId

if TYPE_CHECKING:
    from ..models.properties import Property


_read = ffi.bind("objstore_results_read")
_read_section = ffi.bind("objstore_sections_read")
_free = ffi.bind("objstore_buffer_free")
_HEADER = struct.Struct("=IIQIIIIQQQQ")
_COLUMN = struct.Struct("=IiQQQQQ")
MAGIC = 0x4B504F4F
LAYOUT = 1


class Rows:
    """A packed buffer. Columns become lists when they are used."""

    __slots__ = ("memory", "count", "deleted", "_keys", "_columns")

    def __init__(self, memory: memoryview) -> None:
        magic, layout, self.count, columns, *_, self._keys, _, self.deleted = _HEADER.unpack_from(memory)
        if (magic, layout) != (MAGIC, LAYOUT):
            raise ValueError(f"a packed buffer of layout {layout} (magic {magic:#x})")
        self.memory = memory
        self._columns = [_COLUMN.unpack_from(memory, 64 + 48 * i) for i in range(columns)]

    def keys(self) -> list[int]:
        """The object keys; -1 where the object is gone."""
        return self.memory[self._keys : self._keys + 8 * self.count].cast("q").tolist()

    def present(self, index: int) -> str | None:
        """A text of one '1' or '0' a row, '0' where the value is null; None when there is no null."""
        validity = self.validity(index)
        if validity is None:
            return None
        bits = int.from_bytes(validity, "little")
        return format(bits | 1 << self.count, "b")[:0:-1]  # the lowest bit first, without the one set on top

    def validity(self, index: int) -> memoryview | None:
        """The bitmap of a column, 1 = there is a value; None when there is no null."""
        at, nulls = self._columns[index][2], self._columns[index][6]
        return self.memory[at : at + (self.count + 7) // 8] if nulls else None

    def values(self, index: int) -> memoryview:
        """The bytes of the values of a column."""
        _, _, _, _, at, size, _ = self._columns[index]
        return self.memory[at : at + size]

    def offsets(self, index: int) -> list[int]:
        at = self._columns[index][3]
        return self.memory[at : at + 8 * (self.count + 1)].cast("q").tolist()

    def column(self, index: int, prop: "Property") -> list[Any]:
        """The values of a column as the property's Python type; of a link the keys of the objects."""
        content = self.values(index)
        values = decoded(prop.kind, content) if prop.kind in _FIXED else texts(prop.kind, content, self.offsets(index))
        present = self.present(index)
        if prop.enum is not None:
            values = [None if present and present[i] == "0" else kinds.member(prop, v) for i, v in enumerate(values)]
        elif present is not None:
            values = [v if there == "1" else None for v, there in zip(values, present)]
        return values


_FIXED = frozenset({INT, LINK, DOUBLE, BOOL, TIMESTAMP, FLOAT, DECIMAL, UUID, OBJECT_ID})


def decoded(kind: int, content: memoryview) -> list[Any]:
    """Values of fixed width as the Python type; of links the keys of the objects."""
    if kind == INT or kind == LINK:
        return content.cast("q").tolist()
    if kind == DOUBLE:
        return content.cast("d").tolist()
    if kind == BOOL:
        return list(map(bool, content))
    if kind == TIMESTAMP:
        return [kinds.moment(s, n) for s, n in struct.iter_unpack("=qi4x", content)]
    if kind == FLOAT:
        return content.cast("f").tolist()
    if kind == DECIMAL:
        return [decimals.from_bits(high << 64 | low) for low, high in struct.iter_unpack("=QQ", content)]
    if kind == UUID:
        return [uuid.UUID(bytes=b) for (b,) in struct.iter_unpack("16s", content)]
    return [ObjectId(b) for (b,) in struct.iter_unpack("12s", content)]


def texts(kind: int, content: memoryview, offsets: list[int]) -> list[Any]:
    """The same of what lies between offsets."""
    whole = bytes(content)
    if kind == MIXED:
        return [documents.unpack(whole[a:b]) if b > a else None for a, b in itertools.pairwise(offsets)]
    if kind != STRING:
        return [whole[a:b] for a, b in itertools.pairwise(offsets)]
    if whole.isascii():
        text = whole.decode("ascii")
        return [text[a:b] for a, b in itertools.pairwise(offsets)]
    return [whole[a:b].decode() for a, b in itertools.pairwise(offsets)]


def read(results: int, start: int, count: int, ids: Any, columns: int) -> Rows:
    """Reads properties of objects `start` up to `start + count` of results."""
    buffer = ffi.Buffer()
    try:
        check(_read(results, start, count, ids, columns, ctypes.byref(buffer)))
        return Rows(memoryview(ctypes.string_at(buffer.bytes, buffer.length)))
    finally:
        _free(ctypes.byref(buffer))


def read_section(sections: Any, index: int, start: int, count: int, ids: Any, columns: int) -> Rows:
    """The same of one section of results."""
    buffer = ffi.Buffer()
    try:
        check(_read_section(sections, index, start, count, ids, columns, ctypes.byref(buffer)))
        return Rows(memoryview(ctypes.string_at(buffer.bytes, buffer.length)))
    finally:
        _free(ctypes.byref(buffer))


def read_over(memory: memoryview, results: int, start: int, count: int, ids: Any, columns: int) -> Rows:
    """The same into memory of the caller's, which must be large enough for it (fixed-width columns: see room)."""
    place = (ctypes.c_char * len(memory)).from_buffer(memory)
    buffer = ffi.Buffer(bytes=ctypes.addressof(place), capacity=len(memory))
    try:
        check(_read(results, start, count, ids, columns, ctypes.byref(buffer)))
        if buffer.owner:  # it was too small after all, and the library took memory of its own
            return Rows(memoryview(ctypes.string_at(buffer.bytes, buffer.length)))
        return Rows(memory[: buffer.length])
    finally:
        _free(ctypes.byref(buffer))


def room(count: int, width: int) -> int:
    """Bytes of a packed buffer with one column of fixed width."""
    return 64 + 48 + 8 * count + (count + 63) // 64 * 8 + (count * width + 7) // 8 * 8
