"""Functions that queries call with columns: NumPy's arrays, or, where that is not there, memoryviews and lists.

f64[]                    ─► an array of float64              a memoryview of doubles
f64?[]                   ─► a masked array                   a list, with None
time[], str[], bin[]     ─► datetime64[us]; objects          lists
-> f64[]                 ◄─ an array, or what is like one    a sequence
"""

import ctypes
import importlib
import struct
from collections.abc import Callable, Sequence
from ctypes import c_size_t, c_void_p
from datetime import datetime
from typing import Any

from ..errors import InvalidArgument, WrongType
from ..messages import shown
from ..values import kinds

# word: bytes of an element, its format for struct and memoryview, the dtype of NumPy
_TIME = [("seconds", "<i8"), ("nanoseconds", "<i4"), ("_", "<u4")]
_ELEMENTS: dict[str, tuple[int, Any, Any]] = {
    "bool": (1, "?", "?"),
    "i64": (8, "q", "<i8"),
    "f32": (4, "f", "<f4"),
    "f64": (8, "d", "<f8"),
    "time": (16, "qi4x", _TIME),
    "str": (16, "Qq", [("address", "<u8"), ("length", "<i8")]),
    "bin": (16, "Qq", [("address", "<u8"), ("length", "<i8")]),
}
_TEXTS = ("str", "bin")
_PLAIN = ("bool", "i64", "f32", "f64")


def _split(word: str) -> tuple[str, bool]:
    """Of a word of columns: its kind, and whether it may be null."""
    kind = word.removesuffix("[]")
    return kind.removesuffix("?"), kind.endswith("?")


def is_known(shape: tuple[str, ...], result: str) -> bool:
    columns = [word for word in shape if word != "n"]
    return (
        len(columns) == len(shape) - 1
        and all(word.endswith("[]") and _split(word)[0] in _ELEMENTS for word in columns)
        and _split(result)[0] in _ELEMENTS
        and _split(result)[0] not in _TEXTS
    )


def arguments(shape: tuple[str, ...], result: str) -> list[Any]:
    """The C arguments before the userdata."""
    made: list[Any] = []
    for word in (*shape, result):
        made += [c_size_t] if word == "n" else [c_void_p] * (2 if _split(word)[1] else 1)
    return made


class Columns:
    """How the columns of one function become arguments and results."""

    def __init__(self, name: str, shape: tuple[str, ...], result: str) -> None:
        self._name = name
        self._numpy = _numpy()
        self._takers: list[tuple[int, str, bool]] = []  # where among the arguments; the kind; may it be null?
        at = 0
        for word in shape:
            if word == "n":
                self._count = at
                at += 1
                continue
            kind, is_nullable = _split(word)
            self._takers.append((at, kind, is_nullable))
            at += 1 + is_nullable
        self._result = at
        self._kind, self._is_nullable = _split(result)

    def call(self, function: Callable[..., Any], given: tuple[Any, ...]) -> None:
        count = given[self._count]
        take = self._list if self._numpy is None else self._array
        values = function(
            *[
                take(kind, given[at], given[at + 1] if is_nullable else None, count)
                for at, kind, is_nullable in self._takers
            ]
        )
        address, validity = given[self._result], given[self._result + 1] if self._is_nullable else None
        if self._numpy is None:
            self._put_list(values, address, validity, count)
        else:
            self._put_array(values, address, validity, count)

    def _wrong(self, problem: str) -> WrongType:
        return WrongType(f"{self._name}() {problem}, and its result is {self._kind}[]")

    # With NumPy: the arrays are the function's own, which may keep them

    def _array(self, kind: str, address: int, validity: int | None, count: int) -> Any:
        numpy, (size, _, dtype) = self._numpy, _ELEMENTS[kind]
        values = numpy.frombuffer(ctypes.string_at(address, count * size), dtype).copy()
        if kind == "time":
            values = _instants(numpy, values)
        elif kind in _TEXTS:
            made = numpy.empty(count, object)
            made[:] = self._list(kind, address, None, count)
            values = made
        if validity is None:
            return values
        bits = numpy.frombuffer(ctypes.string_at(validity, (count + 7) // 8), numpy.uint8)
        there = numpy.unpackbits(bits, count=count, bitorder="little")
        return numpy.ma.MaskedArray(values, there == 0)

    def _put_array(self, values: Any, address: int, validity: int | None, count: int) -> None:
        numpy, (size, _, dtype) = self._numpy, _ELEMENTS[self._kind]
        mask = numpy.ma.getmaskarray(values) if isinstance(values, numpy.ma.MaskedArray) else None
        if isinstance(values, (str, bytes)) or values is None:
            raise self._wrong(f"returned {shown(values)}")
        found = numpy.asarray(values)
        if found.shape != (count,):
            raise InvalidArgument(
                f"{self._name}() returned {_shape(found)} for {count} rows: it returns one value for each"
            )
        if found.dtype == object and None in values:
            raise self._wrong("returned None among objects: a masked array says what is None")
        if self._kind == "time":
            if found.dtype.kind != "M":
                raise self._wrong(f"returned an array of {found.dtype}")
            made = _moments(numpy, found, _TIME, mask)
        elif not numpy.can_cast(found.dtype, dtype, "same_kind") or (self._kind == "bool" and found.dtype != bool):
            raise self._wrong(f"returned an array of {found.dtype}")
        else:
            made = found.astype(dtype)
        if mask is not None and mask.any():
            if validity is None:
                raise self._wrong(f"returned masked values: {self._kind}?[] may have them")
            made[mask] = numpy.zeros(1, made.dtype)[0]
            bits = numpy.packbits(~mask, bitorder="little").tobytes()
            ctypes.memmove(validity, bits, len(bits))
        ctypes.memmove(address, made.tobytes(), count * size)

    # Without NumPy

    def _list(self, kind: str, address: int, validity: int | None, count: int) -> Any:
        size, form, _ = _ELEMENTS[kind]
        data = ctypes.string_at(address, count * size)
        bits = None if validity is None else ctypes.string_at(validity, (count + 7) // 8)
        if kind in _PLAIN and bits is None:
            return memoryview(data).cast(form)
        values: list[Any] = []
        for index, parts in enumerate(struct.iter_unpack("<" + form, data)):
            if bits is not None and not bits[index >> 3] >> (index & 7) & 1:
                values.append(None)
            elif kind in _TEXTS:
                text = ctypes.string_at(*parts)
                values.append(text.decode() if kind == "str" else text)
            else:
                values.append(kinds.moment(*parts) if kind == "time" else parts[0])
        return values

    def _put_list(self, values: Any, address: int, validity: int | None, count: int) -> None:
        if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, memoryview)):
            raise self._wrong(f"returned {shown(values)} ({type(values).__name__})")
        if len(values) != count:
            raise InvalidArgument(
                f"{self._name}() returned {len(values)} values for {count} rows: it returns one value for each"
            )
        size, form, _ = _ELEMENTS[self._kind]
        made, bits = bytearray(count * size), bytearray(b"\xff" * ((count + 7) // 8))
        for index, value in enumerate(values):
            if value is None:
                if validity is None:
                    raise self._wrong(f"returned None: {self._kind}?[] may have it")
                bits[index >> 3] &= ~(1 << (index & 7))
                continue
            try:
                struct.pack_into("<" + form, made, index * size, *self._parts(value))
            except (struct.error, TypeError, ValueError, OverflowError):
                raise self._wrong(f"returned {shown(value)} ({type(value).__name__})") from None
        ctypes.memmove(address, bytes(made), len(made))
        if validity is not None:
            ctypes.memmove(validity, bytes(bits), len(bits))

    def _parts(self, value: Any) -> tuple[Any, ...]:
        if self._kind == "time":
            if not isinstance(value, datetime) or value.tzinfo is None:
                raise TypeError
            return kinds.instant(value)
        if (self._kind == "bool") != isinstance(value, bool):
            raise TypeError
        return (value,)


def _numpy() -> Any:
    try:
        return importlib.import_module("numpy")
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise  # it is there, and lacks something itself
        return None


def _shape(found: Any) -> str:
    return "one value" if found.ndim == 0 else f"{' × '.join(map(str, found.shape))} values"


def _instants(numpy: Any, values: Any) -> Any:
    return (values["seconds"] * 1_000_000 + values["nanoseconds"] // 1000).view("datetime64[us]")


def _moments(numpy: Any, found: Any, dtype: Any, mask: Any) -> Any:
    number = found.astype("datetime64[ns]" if found.dtype == "datetime64[ns]" else "datetime64[us]")
    units = 10**9 if number.dtype == "datetime64[ns]" else 10**6
    whole = number.astype("<i8")
    if (numpy.isnat(number) & (False if mask is None else ~mask)).any():
        raise WrongType("NaT is no point in time: a masked array says what is None")
    made = numpy.zeros(len(found), dtype)
    made["seconds"] = whole // units
    made["nanoseconds"] = whole % units * (10**9 // units)
    return made
