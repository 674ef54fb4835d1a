"""The value model: kinds, exact comparison of numbers, and the one order over all values."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cmp_to_key
from typing import Union

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1

# The arithmetic of decimal128: 34 digits, and the special values instead of exceptions.
DECIMAL128 = Context(prec=34, Emin=-6143, Emax=6144, traps=[])


@dataclass(frozen=True)
class Float32:
    """A single precision number, kept as the double that equals it."""

    value: float


@dataclass(frozen=True)
class Number:
    """A number written in a query: it takes the type of what it meets, so its digits are kept."""

    text: str

    def is_integer(self) -> bool:
        """Whether it was written without fraction and exponent."""
        return self.text.lstrip("+-").isdigit()


@dataclass(frozen=True)
class Timestamp:
    """Seconds and nanoseconds since 1970 in UTC; both have the same sign."""

    seconds: int
    nanoseconds: int


@dataclass(frozen=True)
class ObjectId:
    """Twelve bytes."""

    data: bytes


@dataclass(frozen=True)
class Uuid:
    """Sixteen bytes."""

    data: bytes


@dataclass(frozen=True)
class Link:
    """A reference to an object: its class and its key."""

    class_name: str
    key: int


@dataclass(frozen=True)
class MixedList:
    """A list held by a mixed value."""

    elements: tuple[Value, ...]


@dataclass(frozen=True)
class MixedMap:
    """A map held by a mixed value, in the order of its keys."""

    entries: tuple[tuple[str, Value], ...]

    def get(self, key: str) -> Value:
        """The value at a key; a missing key is null."""
        for name, value in self.entries:
            if name == key:
                return value
        return None


@dataclass(frozen=True)
class TypeNames:
    """What `@type` gives, and what a type's name means: a set of kinds."""

    kinds: frozenset[str]


@dataclass(frozen=True)
class Encoded:
    """Bytes written in base64: a binary next to binaries, elsewhere the text they spell."""

    data: bytes


Numeric = Union[int, Float32, float, Decimal, Number]
Value = Union[
    None,
    bool,
    int,
    Float32,
    float,
    Decimal,
    Number,
    str,
    bytes,
    Timestamp,
    ObjectId,
    Uuid,
    Link,
    MixedList,
    MixedMap,
    TypeNames,
    Encoded,
]


def kind_of(value: Value) -> str:
    """The name of a value's own type."""
    if value is None:
        return "null"
    if isinstance(value, Number):
        return "int" if value.is_integer() else "double"
    names = {
        bool: "bool",
        int: "int",
        Float32: "float",
        float: "double",
        Decimal: "decimal128",
        str: "string",
        bytes: "binary",
        Timestamp: "timestamp",
        ObjectId: "objectId",
        Uuid: "uuid",
        Link: "link",
        MixedList: "list",
        MixedMap: "dictionary",
        TypeNames: "@type",
        Encoded: "base64",
    }
    return names[type(value)]


NUMERIC_KINDS = frozenset({"int", "float", "double", "decimal128"})


def is_number(value: Value) -> bool:
    """Whether a value is a number; a bool is none."""
    return kind_of(value) in NUMERIC_KINDS


def to_float32(value: float) -> float:
    """The nearest single precision number."""
    if math.isnan(value) or math.isinf(value):
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def number_as_decimal(number: Number) -> Decimal:
    """A written number as a decimal."""
    return DECIMAL128.create_decimal(number.text)


def settle(number: Number, other: Value) -> Numeric:
    """A written number as the type it meets: an integer stays one, other digits are rounded once, to that type.

    Next to single precision a number beyond its range stays a double: no infinity stands for it.
    """
    if isinstance(other, Decimal):
        return number_as_decimal(number)
    if number.is_integer():
        return int(number.text)
    exact = float(number.text)
    if isinstance(other, Float32):
        rounded = to_float32(exact)
        return exact if math.isinf(rounded) else Float32(rounded)
    return exact


def as_exact(value: Numeric) -> Fraction | float:
    """A number as a fraction, or as a float when it is infinite or no number."""
    if isinstance(value, Number):
        value = int(value.text) if value.is_integer() else float(value.text)
    if isinstance(value, Float32):
        value = value.value
    if isinstance(value, Decimal):
        if value.is_nan():
            return math.nan
        if value.is_infinite():
            return math.inf if value > 0 else -math.inf
        return Fraction(value)
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            return value
        return Fraction(value)
    return Fraction(value)


def compare_numbers(left: Numeric, right: Numeric) -> int | None:
    """-1, 0 or 1 by exact value; None where one is no number."""
    if isinstance(left, Number) and not isinstance(right, Number):
        left = settle(left, right)
    elif isinstance(right, Number) and not isinstance(left, Number):
        right = settle(right, left)
    one, two = as_exact(left), as_exact(right)
    if one != one or two != two:
        return None
    return (one > two) - (one < two)


def is_nan(value: Value) -> bool:
    """Whether a value is the number that is none."""
    if isinstance(value, (int, float, Float32, Decimal, Number)):
        exact = as_exact(value)
        return exact != exact
    return False


def time_key(value: Timestamp) -> int:
    """A timestamp as nanoseconds."""
    return value.seconds * 1_000_000_000 + value.nanoseconds


FAMILY_RANK = {
    "null": 0,
    "bool": 1,
    "int": 2,
    "float": 2,
    "double": 2,
    "decimal128": 2,
    "string": 3,
    "binary": 3,
    "timestamp": 4,
    "objectId": 5,
    "uuid": 6,
    "link": 7,
    "list": 8,
    "dictionary": 9,
    "@type": 10,
}


def compare(left: Value, right: Value) -> int | None:
    """-1, 0 or 1 for two values of one kind of thing; None where they cannot be compared."""
    if isinstance(left, (int, Float32, float, Decimal, Number)) and not isinstance(left, bool):
        if isinstance(right, (int, Float32, float, Decimal, Number)) and not isinstance(right, bool):
            return compare_numbers(left, right)
        return None
    if type(left) is not type(right):
        return compare_text_with_binary(left, right)
    return compare_same_type(left, right)


def compare_text_with_binary(left: Value, right: Value) -> int | None:
    """A string and a binary that meet in mixed values are compared by their bytes."""
    if isinstance(left, str) and isinstance(right, bytes):
        left = left.encode()
    elif isinstance(left, bytes) and isinstance(right, str):
        right = right.encode()
    else:
        return None
    return (left > right) - (left < right)


def compare_same_type(left: Value, right: Value) -> int | None:
    """Two values of the same type that are no numbers."""
    if left is None:
        return 0
    if isinstance(left, bool) and isinstance(right, bool):
        return int(left) - int(right)
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    if isinstance(left, bytes) and isinstance(right, bytes):
        return (left > right) - (left < right)
    if isinstance(left, Timestamp) and isinstance(right, Timestamp):
        return (time_key(left) > time_key(right)) - (time_key(left) < time_key(right))
    if isinstance(left, (ObjectId, Uuid)) and isinstance(right, (ObjectId, Uuid)):
        return (left.data > right.data) - (left.data < right.data)
    if isinstance(left, Link) and isinstance(right, Link):
        one, two = (left.class_name, left.key), (right.class_name, right.key)
        return (one > two) - (one < two)
    if isinstance(left, TypeNames) and isinstance(right, TypeNames):
        return 0 if left.kinds & right.kinds else 1
    if isinstance(left, MixedList) and isinstance(right, MixedList):
        return order_sequences(left.elements, right.elements)
    if isinstance(left, MixedMap) and isinstance(right, MixedMap):
        keys = order_sequences(tuple(key for key, _ in left.entries), tuple(key for key, _ in right.entries))
        return keys or order_sequences(
            tuple(value for _, value in left.entries), tuple(value for _, value in right.entries)
        )
    return None


def order(left: Value, right: Value) -> int:
    """The order of SORT, MIN and MAX: null, bool, numbers (NaN first), text and binary, dates, ids, links."""
    one, two = FAMILY_RANK[kind_of(left)], FAMILY_RANK[kind_of(right)]
    if one != two:
        return -1 if one < two else 1
    result = compare(left, right)
    if result is not None:
        return result
    return int(is_nan(right)) - int(is_nan(left))


def order_sequences(left: tuple[Value, ...], right: tuple[Value, ...]) -> int:
    """Element by element, then the shorter first."""
    for one, two in zip(left, right):
        result = order(one, two)
        if result != 0:
            return result
    return (len(left) > len(right)) - (len(left) < len(right))


sort_key = cmp_to_key(order)


def equal(left: Value, right: Value) -> bool:
    """`==`: null equals null, numbers by exact value, NaN nothing, other kinds only their own."""
    return compare(left, right) == 0
