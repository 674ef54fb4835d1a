"""Properties of many objects as NumPy arrays. NumPy is imported when an array is made."""

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import MissingNumpy, OutOfRange, WrongType, about
from ..messages import a
from ..native import ffi
from ..native.failures import check
from ..objects import state
from ..reading import packed_rows
from ..values.columns import property_ids
from ..values.kinds import BOOL, DOUBLE, FLOAT, INT, LINK, TIMESTAMP

if TYPE_CHECKING:
    import numpy

    from ..models.properties import Property
    from .results import Results


_read_column = ffi.bind("objstore_read_column")

START = -1  # OBJSTORE_START
_STORED = {
    BOOL: "?",
    INT: "<i8",
    FLOAT: "<f4",
    DOUBLE: "<f8",
    TIMESTAMP: [("seconds", "<i8"), ("nanoseconds", "<i4"), ("_", "<u4")],
}


def to_numpy(results: "Results[Any]", prop: "Property") -> "numpy.ndarray[Any, Any]":
    try:
        import numpy
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise  # it is there, and lacks something itself
        raise MissingNumpy("to_numpy() needs NumPy: pip install numpy") from error
    if prop.shape is not None:
        raise about(
            WrongType,
            prop,
            f"{prop.path} is {a(prop.type_name)}: an array holds single values; "
            f"numpy.array(obj.{prop.name}) makes one of one object's",
        )
    if prop.kind not in _STORED:
        python: numpy.ndarray[Any, Any] = _objects(numpy, results, prop)
        return python
    read = _whole_class if results._is_everything else _part
    values, validity, count = read(numpy, results, prop)
    if prop.kind == TIMESTAMP:
        values = _instants(numpy, prop, values)
    if not prop.nullable:
        plain: numpy.ndarray[Any, Any] = values
        return plain
    if validity is None:
        mask = numpy.zeros(count, bool)
    else:
        mask = numpy.unpackbits(validity, count=count, bitorder="little") == 0
    masked: numpy.ndarray[Any, Any] = numpy.ma.MaskedArray(values, mask)
    return masked


def of_table(column: Any, rows: int, owner: Any, values: Callable[[], list[Any]]) -> "numpy.ndarray[Any, Any]":
    """A column of a table, without a copy where it is one of numbers; the array keeps its owner."""
    try:
        import numpy
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise MissingNumpy("to_numpy() needs NumPy: pip install numpy") from error
    if column.kind not in _STORED:
        made = numpy.empty(rows, object)
        made[:] = values()
        return made
    stored: Any = numpy.dtype(_STORED[column.kind])  # type: ignore[call-overload]
    memory: Any = (ctypes.c_char * (rows * stored.itemsize)).from_address(column.values)
    memory.owner = owner
    array = numpy.frombuffer(memory, stored, rows)
    array.flags.writeable = False
    if column.kind == TIMESTAMP:
        array = _microseconds(array, lambda: OutOfRange("a time of the table does not fit datetime64[us]"))
    if not column.null_count:
        return array
    bits = numpy.frombuffer(ctypes.string_at(column.validity, (rows + 7) // 8), numpy.uint8)
    masked: numpy.ndarray[Any, Any] = numpy.ma.MaskedArray(
        array, numpy.unpackbits(bits, count=rows, bitorder="little") == 0
    )
    return masked


def _whole_class(numpy: Any, results: "Results[Any]", prop: "Property") -> Any:
    """The library writes the column into the array."""
    view, binding = results._source._reader(), results._binding
    capacity = view.count(binding, None)
    values = numpy.empty(capacity, _STORED[prop.kind])
    validity = numpy.zeros((capacity + 7) // 8, numpy.uint8) if prop.nullable else None
    position, count = ctypes.c_int64(START), ctypes.c_size_t()
    if capacity:
        check(
            _read_column(
                view.handle,
                binding.class_id,
                binding.ids[prop.index],
                capacity,
                ctypes.byref(position),
                values.ctypes.data,
                None if validity is None else validity.ctypes.data,
                None,
                ctypes.byref(count),
            )
        )
    return values[: count.value], validity, count.value


def _part(numpy: Any, results: "Results[Any]", prop: "Property") -> Any:
    """The library writes the packed form into memory of ours, and the array is a view of that."""
    _, evaluation = results._evaluate()
    count = evaluation.count
    stored = numpy.dtype(_STORED[prop.kind])
    memory = numpy.zeros(packed_rows.room(count, stored.itemsize), numpy.uint8)
    ids = property_ids([results._binding.ids[prop.index]])
    rows = packed_rows.read_over(memoryview(memory), evaluation.handle, 0, count, ids, 1)
    present = rows.validity(0)
    validity = None if present is None else numpy.frombuffer(present, numpy.uint8)
    return numpy.frombuffer(rows.values(0), stored, count), validity, count


def _instants(numpy: Any, prop: "Property", values: Any) -> Any:
    """Microseconds since 1970: all that a Python datetime can say, and more."""
    return _microseconds(values, lambda: about(OutOfRange, prop, f"{prop.path}: a time does not fit datetime64[us]"))


def _microseconds(values: Any, error: "Callable[[], OutOfRange]") -> Any:
    seconds = values["seconds"]
    if seconds.size and (seconds.max() > 2**63 // 10**6 - 1 or seconds.min() < -(2**63) // 10**6 + 1):
        raise error()
    return (seconds * 1_000_000 + values["nanoseconds"] // 1000).view("datetime64[us]")


def _objects(numpy: Any, results: "Results[Any]", prop: "Property") -> Any:
    _, evaluation = results._evaluate()
    ids = property_ids([results._binding.ids[prop.index]])
    rows = packed_rows.read(evaluation.handle, 0, evaluation.count, ids, 1)
    column = rows.column(0, prop)
    if prop.kind == LINK:
        source = results._source
        binding = source._leading(prop.target)
        block, model = source._unread(binding), binding.model
        column = [None if key is None else state.make(model, block, key) for key in column]
    values = numpy.empty(rows.count, object)
    values[:] = column
    return values
