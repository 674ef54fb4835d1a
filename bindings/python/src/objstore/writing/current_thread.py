"""The calling thread and task, and the writes that they have begun."""

import os
import sys
import threading
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .event_loops import running_trio

if TYPE_CHECKING:
    from .transaction import Transaction


_modules = sys.modules


class _Here(threading.local):
    """What distinguishes the calling thread from all others, also from those that ended: their idents are used
    again."""

    def __init__(self) -> None:
        self.thread = object()
        self.writes: set[Transaction] = set()  # that it has begun and not ended
        self.ending = None if threading.current_thread() is threading.main_thread() else _Ending(self.writes)


class _Ending:
    """Ends the writes that a thread leaves when it ends: on that thread, since other processes wait for them as well,
    of which this one does not learn. The main thread ends with the process, and the library lets go of everything
    then."""

    __slots__ = ("_writes", "_process")

    def __init__(self, writes: "set[Transaction]") -> None:
        self._writes = writes
        self._process = os.getpid()

    # Signal handlers run on the main thread only: none raises here.
    def __del__(self) -> None:
        if os.getpid() != self._process:
            return  # in a forked child: there all other threads of the parent end, and not what they have begun
        told = [write.store._lose(write, write.ended_inside()) for write in list(self._writes)]
        tell(told, 1)  # when all are cancelled: a warning may be an error


def tell(lost: "Iterable[str]", level: int) -> None:
    """Warns of writes that were lost. `level`: as in warnings.warn(), for the caller."""
    for what in filter(None, lost):
        warnings.warn(what, ResourceWarning, stacklevel=1 + level)


here = _Here()


def count_references(things: list[Any]) -> list[int]:
    """How many there are to each beside those that counting needs."""
    return [sys.getrefcount(thing) - _COUNTING for thing in things]


_COUNTING = 0  # for the first call, which finds how many counting needs
_COUNTING = count_references([object()])[0]
OWN_REFERENCES = 3  # to an open write: here.writes, store._writes, store._transaction


def current_task() -> object:
    """The running task of asyncio or trio, if there is one."""
    running = _running[0] if _running else _find_running()
    if running is None or running() is None:
        return _task_of_trio() if "trio" in _modules else None
    import asyncio  # which is there

    task = asyncio.current_task()
    return _task_of_trio() if task is None and "trio" in _modules else task  # whose loop may be a guest


def _task_of_trio() -> object:
    trio = running_trio()
    return None if trio is None else trio.lowlevel.current_task()


def _find_running() -> Any:
    """The function that says which loop runs; None: asyncio is not loaded, or just being loaded."""
    running = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
    if running is not None:
        _running.append(running)
    return running


_running: list[Any] = []  # as soon as it is found
