"""Loops over results inside of writes, which may end before the loop does."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import Error
from ..native.callbacks import hand_on

if TYPE_CHECKING:
    from ..reading.evaluations import Evaluation
    from ..reading.views import View
    from .results import Results


FIRST_CHUNK, LARGEST_CHUNK = 128, 16384  # objects that are read together while iterating


def chunks(count: int) -> Iterator[tuple[int, int]]:
    """Where to begin and how many to read: a few at first, for callers that look at some only."""
    start, size = 0, FIRST_CHUNK
    while start < count:
        yield start, min(size, count - start)
        start += size
        size = min(size * 8, LARGEST_CHUNK)


class Loop:
    """What is still to come of a loop that began in a write. The library's list ends with the write; then the loop has
    the keys, and continues over the objects that are there when it comes to them."""

    __slots__ = ("_results", "_view", "_evaluation", "_next", "_keys", "_chunk", "_coming", "__weakref__")

    def __init__(self, results: "Results[Any]", view: "View", evaluation: "Evaluation") -> None:
        self._results = results
        self._view = view
        self._evaluation = evaluation
        self._next = 0  # index of what is not read yet
        self._keys: memoryview | None = None  # from there on, once the write has ended
        self._chunk: list[Any] = []  # read together, and
        self._coming: Iterator[Any] = iter(self._chunk)  # what the loop has not seen of it

    def chunks(self) -> Iterator[Iterator[Any]]:
        for start, count in chunks(self._evaluation.count):
            if self._keys is None:
                self._chunk = self._results._objects(self._view, self._evaluation, start, count)
            else:
                self._chunk = self._results._existing(self._keys[:count].tolist())
                self._keys = self._keys[count:]
            self._next = start + count
            self._coming = iter(self._chunk)
            yield self._coming

    def outlive(self) -> None:
        """The write is about to end, one way or the other."""
        try:
            self._keys = self._evaluation.words(self._next, self._evaluation.count - self._next)
        except (Error, MemoryError) as error:
            # else its store is closed already, as a rule; the write must end, and the loop is going to say it is Closed
            hand_on(error)

    def leave_out_undone(self) -> None:
        """The write was cancelled: what it created does not come any more, be it read already or not."""
        left = self._coming.__length_hint__()  # type: ignore[attr-defined]  # of a list: exact
        if left:
            # The iterator has its index and looks at the list each time: what follows may be exchanged.
            self._chunk[-left:] = [obj for obj in self._chunk[-left:] if obj.is_valid]
