"""Sums, averages and extremes of what a query finds, and what the engine must say of them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from ctypes import byref
from decimal import Decimal

from queries.arithmetic import aggregate
from queries.values import INT_MAX, INT_MIN, Float32, ObjectId, Timestamp, Uuid, Value, equal, kind_of

from . import library as c
from .asking import Asker
from .library import EngineError, Handle
from .packing import KINDS, Packer

NAMES = {"sum": 1, "min": 2, "max": 3, "avg": 4}
FITTING = {
    "int": ("sum", "min", "max", "avg"),
    "float": ("sum", "min", "max", "avg"),
    "double": ("sum", "min", "max", "avg"),
    "decimal128": ("min", "max"),
    "timestamp": ("min", "max"),
    "objectId": ("min", "max"),
    "uuid": ("min", "max"),
}
OUT_OF_RANGE = 15


def asked(asker: Asker, query: Handle, view: Handle, property_id: int, name: str) -> Value | EngineError:
    """What the engine says."""
    value = c.Value()
    try:
        asker.library.call("query_aggregate", query, view, property_id, NAMES[name], byref(value))
    except EngineError as error:
        return error
    return unpacked(value)


def unpacked(value: c.Value) -> Value:
    """A number, date or id that was handed out; decimals by their bits."""
    data = bytes(value)[8:]
    kinds = {number: name for name, number in KINDS.items()}
    kind = kinds.get(int(value.kind), "null")
    if kind == "int":
        return int(struct.unpack_from("<q", data)[0])
    if kind == "float":
        return Float32(float(struct.unpack_from("<f", data)[0]))
    if kind == "double":
        return float(struct.unpack_from("<d", data)[0])
    if kind == "timestamp":
        seconds, nanoseconds = struct.unpack_from("<qi", data)
        total = seconds * 1_000_000_000 + nanoseconds
        sign = -1 if total < 0 else 1
        return Timestamp(sign * (abs(total) // 1_000_000_000), sign * (abs(total) % 1_000_000_000))
    if kind == "objectId":
        return ObjectId(data[:12])
    if kind == "uuid":
        return Uuid(data[:16])
    return data[:16] if kind == "decimal128" else None


def wrong(packer: Packer, kind: str, name: str, values: Sequence[Value], found: Value | EngineError) -> object | None:
    """What should have been found, where that is something else."""
    there: list[Value] = [value for value in values if value is not None]
    if name in ("min", "max"):
        expected = aggregate(name, kind, there)
        if isinstance(found, bytes) and isinstance(expected, Decimal):
            # Equal decimals have several forms; the one found must be one of those that are there.
            forms = [packer.decimal(str(value))[8:24] for value in there if equal(value, expected)]
            return None if found in forms else expected
        same = not isinstance(found, EngineError) and equal(found, expected) and kind_of(found) == kind_of(expected)
        return None if same else expected
    if kind == "int":
        total = sum(value for value in there if isinstance(value, int))
        if name == "sum":
            if not INT_MIN <= total <= INT_MAX:
                return None if isinstance(found, EngineError) and found.status == OUT_OF_RANGE else "OUT_OF_RANGE"
            return None if type(found) is int and found == total else total
        return near(found, total / len(there) if there else None, 0.0)
    numbers = [value.value if isinstance(value, Float32) else value for value in there]
    return near_sum(name, [number for number in numbers if isinstance(number, float)], found)


def near_sum(name: str, numbers: list[float], found: Value | EngineError) -> object | None:
    """The same for doubles, which are added in any order."""
    if any(not math.isfinite(number) for number in numbers):
        total = sum(number for number in numbers if not math.isfinite(number))
    else:
        try:
            total = math.fsum(numbers)
        except OverflowError:
            return None
    size = sum(abs(number) for number in numbers) if math.isfinite(total) else 0.0
    if not math.isfinite(size):
        return None
    if name == "avg":
        return near(found, total / len(numbers) if numbers else None, size / max(1, len(numbers)))
    return near(found, total, size)


def near(found: Value | EngineError, expected: float | None, size: float) -> object | None:
    """Whether two doubles are the same but for rounding in sums of this size."""
    if expected is None:
        return None if found is None else "null"
    if not isinstance(found, float):
        return expected
    if math.isnan(expected) or not math.isfinite(expected):
        return None if repr(found) == repr(expected) else expected
    return None if abs(found - expected) <= 1e-11 * max(size, abs(expected)) else expected
