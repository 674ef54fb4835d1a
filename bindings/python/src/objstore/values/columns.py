"""Many objects at a time into the library: columns for objstore_insert_rows."""

import ctypes
from array import array
from collections.abc import Callable, Iterable
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from uuid import UUID as Uuid

from ..errors import Error, OutOfRange, WrongStore, about
from ..messages import shown
from ..native import ffi
from . import decimals, documents, kinds, timestamps
from .kinds import BINARY, BOOL, DECIMAL, DOUBLE, FLOAT, INT, LINK, OBJECT_ID, STRING, UUID, encode
from .object_id import ObjectId

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..schema.bindings import Binding


_FILLER: dict[int, Any] = {
    BOOL: False,
    INT: 0,
    FLOAT: 0.0,
    DOUBLE: 0.0,
    DECIMAL: decimals.ZERO,
    STRING: "",
    BINARY: b"",
    kinds.TIMESTAMP: kinds.EPOCH,
    OBJECT_ID: ObjectId(bytes(12)),
    UUID: Uuid(int=0),
}
_DIGITS = bytes.maketrans(b"\0\1", b"01")


class Columns:
    """Objects of a class to be inserted: the C columns, and the memory that they point into."""

    def __init__(self, binding: "Binding", properties: "list[Property]", lists: list[list[Any]], rows: int) -> None:
        """From a list of `rows` converted values for each property. `position` of an error is the row."""
        self.binding = binding
        self.rows = rows
        self.count = len(properties)
        self.array = (ffi.Column * self.count)()
        self._memory: list[Any] = []  # kept as long as the columns
        for column, prop, values in zip(self.array, properties, lists):
            column.property_id, column.kind = binding.ids[prop.index], prop.kind
            self._fill(column, prop, values)

    def _fill(self, column: Any, prop: "Property", values: list[Any]) -> None:
        if prop.enum is not None:
            values = at_rows(lambda v: None if v is None else kinds.stored_form(prop, v), values)
        if prop.nullable and None in values:
            column.validity = self._address(array("B", _bitmap([v is not None for v in values])))
            if prop.kind not in (LINK, kinds.MIXED):
                filler = _FILLER[prop.kind]
                if prop.kind == kinds.TIMESTAMP:
                    filler = next(filter(None, values), filler)  # of their own type
                values = [filler if v is None else v for v in values]
        kind = prop.kind
        if kind == kinds.MIXED:
            values = at_rows(partial(_cell, prop), values)
        if kind == INT:
            column.values = self._address(_integers(prop, values))
        elif kind == DOUBLE:
            column.values = self._address(array("d", values))
        elif kind == BOOL:
            column.values = self._address(array("B", bytes(values)))
        elif kind == FLOAT:
            column.values = self._address(array("f", values))
        elif kind == DECIMAL:
            column.values = self._address(
                array("B", b"".join((decimals.bits(v) or 0).to_bytes(16, "little") for v in values))
            )
        elif kind == LINK:
            column.values = self._address(array("q", self._keys(prop, values)))
        elif kind == UUID or kind == OBJECT_ID:
            column.values = self._address(array("B", b"".join(v.bytes for v in values)))
        elif kind == kinds.TIMESTAMP:
            column.values = self._address(timestamps.words(values))
        else:
            self._texts(column, prop, values)

    def _keys(self, prop: "Property", values: list[Any]) -> list[int]:
        """Of the objects that links lead to: a column has no more, so store and class are looked at here."""
        # The class is the target's: the store says no to any other.
        tag = self.binding.head >> 32

        def key(obj: Any) -> int:
            if obj is None:
                return 0
            head, found = kinds.place(prop, obj)
            if head >> 32 != tag:
                raise about(WrongStore, prop, f"{prop.path}: this {type(obj).__name__} belongs to another store")
            return found

        return at_rows(key, values)

    def _texts(self, column: Any, prop: "Property", values: list[Any]) -> None:
        if prop.kind == STRING:
            joined = "".join(values)
            if joined.isascii():
                content = joined.encode()
            else:
                values = at_rows(partial(encode, prop), values)
                content = b"".join(values)
        else:
            content = b"".join(values)
        column.offsets = self._address(array("q", accumulate(map(len, values), initial=0)))
        column.values = self._address(array("B", content))
        column.values_bytes = len(content)

    def _address(self, memory: "array[Any]") -> int:
        self._memory.append(memory)
        if len(memory) == 0:
            memory.append(0)  # an empty array has no address
        return memory.buffer_info()[0]


def _cell(prop: "Property", value: Any) -> bytes:
    return b"" if value is None else documents.pack(prop, value)


def at_rows(convert: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    """What becomes of each value; `position` of an error is its row."""
    converted: list[Any] = []
    try:
        for value in values:
            converted.append(convert(value))
    except Error as error:
        error.position = len(converted)
        raise
    return converted


def _integers(prop: "Property", values: list[int]) -> "array[int]":
    try:
        return array("q", values)
    except OverflowError:
        row, number = next((i, v) for i, v in enumerate(values) if not kinds.SMALLEST <= v <= kinds.LARGEST)
        raise about(OutOfRange, prop, f"{prop.path}: {shown(number)} does not fit 64 bits", position=row) from None


def _bitmap(present: list[bool]) -> bytes:
    """One bit a row, the lowest of byte 0 first: the flags as one binary number, its digits written backwards."""
    digits = bytes(present).translate(_DIGITS)[::-1]
    return int(digits, 2).to_bytes((len(present) + 7) // 8, "little")


def address_of(memory: "array[Any]") -> int:
    return memory.buffer_info()[0]


def words(count: int) -> "array[int]":
    """`count` zero words for the library to fill."""
    return array("q", bytes(8 * count))


def property_ids(ids: list[int]) -> Any:
    return (ctypes.c_uint32 * len(ids))(*ids)
