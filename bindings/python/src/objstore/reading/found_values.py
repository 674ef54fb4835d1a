"""Plain values that queries of lists, sets and dicts found."""

import ctypes
from typing import Any

from ..native import ffi
from ..native.failures import check, failure
from ..native.handles import cell_of
from .evaluations import Evaluation

_values_count = ffi.bind("objstore_values_count")
_values_read = ffi.bind("objstore_values_read")
_values_aggregate = ffi.bind("objstore_values_aggregate")
_values_close = ffi.bind("objstore_values_close")


class FoundValues(Evaluation):
    """The same as an evaluation, of values: as a handle of the library."""

    __slots__ = ()

    def __init__(self) -> None:
        self.cell = cell_of(self, _values_close)
        self.handle = 0
        self.count = 0

    def made(self) -> "FoundValues":
        self.handle = self.cell.value or 0
        count = ctypes.c_uint64()
        check(_values_count(self.handle, ctypes.byref(count)))
        self.count = count.value
        return self

    def read(self, start: int, capacity: int, values: int | None, keys: int | None) -> tuple[int, Any]:
        """Values, and keys, from index `start` on, to addresses; how many there were, and where they are in the
        collection."""
        places, count = (ctypes.c_uint64 * capacity)(), ctypes.c_size_t()
        if status := _values_read(self.handle, start, capacity, values, places, keys, ctypes.byref(count)):
            raise failure(status)
        return count.value, places

    def aggregate(self, kind: int, address: int) -> None:
        check(_values_aggregate(self.handle, kind, address))
