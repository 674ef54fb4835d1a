"""The Arrow C stream interface, for `__arrow_c_stream__`: what pyarrow, Polars, DuckDB and pandas read."""

import ctypes
import importlib
from collections.abc import Callable
from typing import Any

from ..errors import MissingArrow
from ..native import ffi

_NAME = b"arrow_array_stream"
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
# Not a py_object: it would live again, and die again, with its destructor called each time.
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_streams: dict[int, ffi.ArrowArrayStream] = {}  # by address, until their capsules go


def _destroy(capsule: int) -> None:
    address = _pointer(capsule, _NAME)
    stream = _streams.pop(address or 0, None)
    if stream is not None and stream.release:  # whoever reads it takes it out, and sets this to NULL
        _Release(stream.release)(address)


_callback = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_destroy)
_destroyer = ctypes.cast(_callback, ctypes.c_void_p)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_callback))  # capsules may outlive the module


def capsule(fill: Callable[[Any], None]) -> object:
    """A capsule with a stream, which `fill` makes at the address of a structure."""
    stream = ffi.ArrowArrayStream()
    fill(ctypes.byref(stream))
    address = ctypes.addressof(stream)
    _streams[address] = stream
    try:
        made: object = _new(address, _NAME, _destroyer)
    except BaseException:
        if _streams.pop(address, None) is not None:
            _Release(stream.release)(address)
        raise
    return made


def to_arrow(source: Any, what: str) -> Any:
    pyarrow = _module("pyarrow", f"{what} needs PyArrow: pip install pyarrow")
    with pyarrow.RecordBatchReader.from_stream(source) as reader:
        return reader.read_all()


def to_pandas(source: Any) -> Any:
    table = to_arrow(source, "to_pandas()")
    _module("pandas", "to_pandas() needs pandas: pip install pandas")
    return table.to_pandas()


def _module(name: str, wanted: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # it is there, and lacks something itself
        raise MissingArrow(wanted) from error
