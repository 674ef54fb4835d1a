"""The Arrow C stream interface, for `__arrow_c_stream__`: what pyarrow, Polars, DuckDB and pandas read."""

import ctypes
import importlib
from collections.abc import Callable
from typing import Any, Literal

from ..errors import InvalidArgument, MissingArrow
from ..messages import shown
from ..native import ffi

Texts = Literal["plain", "dictionaries", "views"]
_TEXTS: dict[Any, int] = {"plain": 0, "dictionaries": 0x1, "views": 0x2}  # OBJSTORE_ARROW_…

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


class ArrowStream:
    """Rows for other libraries, with texts in another form, as often as they are asked for:
    `polars.DataFrame(dogs.arrow(texts="views"))`."""

    __slots__ = ("_flags", "_stream")

    def __init__(self, texts: object, stream: Callable[[int], object]) -> None:
        self._flags = flags_of(texts)
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._stream(self._flags)


def flags_of(texts: object) -> int:
    if not isinstance(texts, str) or texts not in _TEXTS:
        raise InvalidArgument(f"texts is 'plain', 'dictionaries' or 'views', not {shown(texts)}")
    return _TEXTS[texts]


def to_arrow(source: Any, texts: object, what: str) -> Any:
    """Of what has arrow()."""
    flags_of(texts)
    pyarrow = _module("pyarrow", f"{what} needs PyArrow: pip install pyarrow")
    with pyarrow.RecordBatchReader.from_stream(source.arrow(texts=texts)) as reader:
        table = reader.read_all()
    # PyArrow groups and joins by columns of one dictionary only.
    return table.unify_dictionaries() if texts == "dictionaries" else table


def to_pandas(source: Any, texts: object) -> Any:
    table = to_arrow(source, texts, "to_pandas()")
    _module("pandas", "to_pandas() needs pandas: pip install pandas")
    return table.to_pandas()


def _module(name: str, wanted: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # it is there, and lacks something itself
        raise MissingArrow(wanted) from error
