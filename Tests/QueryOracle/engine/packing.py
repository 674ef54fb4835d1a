"""Values of the oracle as the engine takes them: 40 bytes each, nested ones flat."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import byref, c_char_p, c_void_p
from decimal import Decimal

from queries.values import (
    Encoded,
    Float32,
    Link,
    MixedList,
    MixedMap,
    Number,
    ObjectId,
    Timestamp,
    Uuid,
    Value,
    time_key,
)

from .library import Decimal128, Library, Object, text

KINDS = {
    "bool": 1,
    "int": 2,
    "float": 3,
    "double": 4,
    "decimal128": 5,
    "string": 6,
    "binary": 7,
    "timestamp": 8,
    "objectId": 9,
    "uuid": 10,
    "link": 11,
    "list": 12,
    "set": 13,
    "dictionary": 14,
    "mixed": 15,
}
NULL = bytes(40)
BOOL = struct.Struct("<iI?31x").pack
INT = struct.Struct("<iIq24x").pack
FLOAT = struct.Struct("<iIf28x").pack
DOUBLE = struct.Struct("<iId24x").pack
DECIMAL = struct.Struct("<iIQQ16x").pack
BYTES = struct.Struct("<iIQq16x").pack
TIME = struct.Struct("<iIqiI16x").pack
OBJECT_ID = struct.Struct("<iI12s20x").pack
UUID = struct.Struct("<iI16s16x").pack
LINK = struct.Struct("<iIIIq16x").pack

# Which object of the store a link of the data leads to; none where there is no such object.
Resolver = Callable[[Link], "Object | None"]


class Packer:
    """Makes arrays of values for one store."""

    def __init__(self, library: Library, resolve: Resolver) -> None:
        self.library = library
        self.resolve = resolve
        self.decimals: dict[str, bytes] = {}

    def array(self, values: Sequence[Value]) -> Packed:
        """One value for each."""
        kept: list[bytes] = []
        return Packed(b"".join([self.value(value, kept) for value in values]), kept)

    def flat(self, values: Iterable[Value]) -> Packed:
        """Values with all that is nested in them, as nested values are described."""
        kept: list[bytes] = []
        return Packed(b"".join(part for value in values for part in self.nested(value, kept)), kept)

    def nested(self, value: Value, kept: list[bytes]) -> Iterator[bytes]:
        """A list or map as its count, then its elements; before each value of a map its key."""
        if isinstance(value, MixedList):
            yield INT(KINDS["list"], 0, len(value.elements))
            for element in value.elements:
                yield from self.nested(element, kept)
        elif isinstance(value, MixedMap):
            yield INT(KINDS["dictionary"], 0, len(value.entries))
            for key, element in value.entries:
                yield self.value(key, kept)
                yield from self.nested(element, kept)
        else:
            yield self.value(value, kept)

    def value(self, value: Value, kept: list[bytes]) -> bytes:
        """A value that is no collection; what it points to is kept."""
        if value is None:
            return NULL
        if isinstance(value, str):
            return points("string", value.encode(), kept)
        if isinstance(value, bool):
            return BOOL(KINDS["bool"], 0, value)
        if isinstance(value, int):
            return INT(KINDS["int"], 0, value)
        if isinstance(value, float):
            return DOUBLE(KINDS["double"], 0, value)
        if isinstance(value, Float32):
            return FLOAT(KINDS["float"], 0, value.value)
        if isinstance(value, Decimal):
            return self.decimal(str(value))
        if isinstance(value, bytes):
            return points("binary", value, kept)
        return self.other(value)

    def other(self, value: Value) -> bytes:
        """Dates, ids and links."""
        if isinstance(value, Timestamp):
            seconds, nanoseconds = divmod(time_key(value), 1_000_000_000)
            return TIME(KINDS["timestamp"], 0, seconds, nanoseconds, 0)
        if isinstance(value, ObjectId):
            return OBJECT_ID(KINDS["objectId"], 0, value.data)
        if isinstance(value, Uuid):
            return UUID(KINDS["uuid"], 0, value.data)
        if isinstance(value, Link):
            found = self.resolve(value)
            return LINK(KINDS["link"], 0, found.class_id, found.store_tag, found.key) if found else NULL
        raise TypeError(f"no value of a store: {value!r}")

    def decimal(self, written: str) -> bytes:
        """A decimal; the library reads its text."""
        if written not in self.decimals:
            result = Decimal128()
            self.library.call("decimal128_from_text", text(written), byref(result))
            self.decimals[written] = DECIMAL(KINDS["decimal128"], 0, result.low, result.high)
        return self.decimals[written]


def points(kind: str, data: bytes, kept: list[bytes]) -> bytes:
    """A text or binary: where its bytes are."""
    kept.append(data)
    return BYTES(KINDS[kind], 0, ctypes.cast(c_char_p(data), c_void_p).value or 0, len(data))


class Packed:
    """Values one behind the other, and what they point to."""

    def __init__(self, data: bytes, kept: list[bytes]) -> None:
        self.data = data
        self.kept = kept
        self.count = len(data) // len(NULL)


def typed(argument: Value) -> Value:
    """A number that was written as an argument has a type of its own: int or double."""
    if isinstance(argument, Number):
        return int(argument.text) if argument.is_integer() else float(argument.text)
    if isinstance(argument, Encoded):
        return argument.data
    return argument
