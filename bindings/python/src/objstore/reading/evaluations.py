"""Lists of objects that queries found, and which of them are kept for the same query later."""

import ctypes
from bisect import bisect_left
from typing import Any

from ..native import ffi
from ..native.failures import check
from ..native.handles import cell_of
from ..values.c_values import give_back, take

_results_count = ffi.bind("objstore_results_count")
_results_objects = ffi.bind("objstore_results_objects")
_results_find_object = ffi.bind("objstore_results_find_object")
_results_close = ffi.bind("objstore_results_close")

QUESTIONS = 32  # remembered at most, and
OBJECTS = 2_000_000  # in all their lists at most, of eight bytes each; the newest list may have more


class Evaluation:
    """A list of objects that was found, as a handle of the library."""

    __slots__ = ("handle", "count", "cell", "__weakref__")

    def __init__(self) -> None:
        # Its view may have closed it already: then this says CLOSED_HANDLE, and nothing is amiss.
        self.cell = cell_of(self, _results_close)
        self.handle = 0
        self.count = 0

    @property
    def out(self) -> int:
        """Where the library writes its handle to."""
        return ctypes.addressof(self.cell)

    def made(self) -> "Evaluation":
        """The library has written its handle."""
        self.handle = self.cell.value or 0
        count = ctypes.c_uint64()
        check(_results_count(self.handle, ctypes.byref(count)))
        self.count = count.value
        return self

    def objects(self, start: int, count: int) -> Any:
        """An array of the C objects from index `start` on."""
        found = (ffi.Object * count)()
        got = ctypes.c_size_t()
        check(_results_objects(self.handle, start, found, count, ctypes.byref(got)))
        return found

    def keys(self, start: int, count: int) -> list[int]:
        """Their keys. Ascending where no index gave them their order."""
        return self.words(start, count).tolist()

    def words(self, start: int, count: int) -> memoryview:
        """The same as 64-bit numbers."""
        return memoryview(self.objects(start, count)).cast("B").cast("q")[1::2]

    def distinct(self) -> list[int]:
        """The same, each once: what a query of a list finds may be there twice."""
        return list(dict.fromkeys(self.words(0, self.count)))

    def place(self, head: int, key: int, is_ascending: bool) -> int | None:
        """Where an object is first; None: it is none of them. Of ascending ones some are looked at only."""
        if is_ascending:
            at = bisect_left(range(self.count), key, key=lambda index: self.keys(index, 1)[0])
            return at if at < self.count and self.keys(at, 1)[0] == key else None
        found, index = ctypes.c_bool(), ctypes.c_uint64()
        s = take()
        s.head.value, s.key.value = head, key
        status = _results_find_object(self.handle, s.object, ctypes.byref(index), ctypes.byref(found))
        give_back(s)
        check(status)
        return index.value if found.value else None


class Evaluations:
    """The answers that a view remembers: those that were used last, and not more than is good for memory.

    Code that iterates over a list has it, whether or not it is remembered. Several threads may query at the same time:
    each step here is one of the dictionary's own, and the worst that can come of two at once is one query more.
    """

    __slots__ = ("_kept", "_large")

    def __init__(self) -> None:
        self._kept: dict[Any, Evaluation] = {}  # the one that was used last is the last
        self._large = False  # was one so long that they have to be added up?

    def find(self, question: Any) -> Evaluation | None:
        evaluation = self._kept.pop(question, None)
        if evaluation is not None:
            self._kept[question] = evaluation
        return evaluation

    def keep(self, question: Any, evaluation: Evaluation) -> None:
        self._kept[question] = evaluation
        if evaluation.count > OBJECTS // QUESTIONS:
            self._large = True
        count = sum(kept.count for kept in list(self._kept.values())) if self._large else 0
        for oldest in list(self._kept)[:-1]:
            if len(self._kept) <= QUESTIONS and count <= OBJECTS:
                break
            dropped = self._kept.pop(oldest, None)
            count -= 0 if dropped is None else dropped.count

    def clear(self) -> None:
        self._kept.clear()
