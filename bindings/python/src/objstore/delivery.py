"""The library calls Python: what becomes of an exception there, and how it gets out again.

    store.deliver() ─► objstore_deliver ─► handler raises: kept, the library is told a status ─► … ─┐
          ▲───────────────────────── the exception itself is raised ◄───────────────────────────────┘

Handlers are called on threads that Python lent. Where it was somebody else (a C program that delivers), nobody is
there to raise it to: then sys.excepthook shows it.
"""

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from . import _ffi
from ._check import failure
from .arguments import milliseconds
from .errors import Error, Status

_deliver = _ffi.bind("objstore_deliver")
_wait = _ffi.bind("objstore_wait")
FOREVER = -1
FAILED = 10_000  # OBJSTORE_USER_STATUS: what the library is told of an exception


class _Lent(threading.local):
    """What happened during the delivery that this thread is in."""

    failures: list[BaseException] | None = None  # None: the thread was not lent by Python
    unheard = 0  # change sets that nobody wanted, after all


_lent = _Lent()


def guarded(function: Callable[..., int | None], *arguments: Any) -> int:
    """Calls a handler from inside a callback; the status to tell the library, which is what the handler gave."""
    try:
        status = function(*arguments)
    except BaseException as error:
        if _lent.failures is None:
            sys.excepthook(type(error), error, error.__traceback__)
        else:
            _lent.failures.append(error)
        return FAILED
    return status or 0


def unheard() -> None:
    """The change set of this callback turned out to be of no interest to its observer."""
    _lent.unheard += 1


class Delivered:
    """How a delivery went."""

    def __init__(self, count: int, failures: list[BaseException], problem: Error | None) -> None:
        self.count = count  # handlers that were called
        self.failures = failures  # what they raised
        self.problem = problem  # what the library said to it

    def result(self) -> int:
        """The number of handlers, or the first exception; others are shown. One that ends the program, such as
        KeyboardInterrupt, goes before those that are mistakes."""
        rest: list[BaseException] = list(self.failures)
        if self.problem is not None and not (rest and self.problem.status == Status.CALLBACK):
            rest.append(self.problem)
        if not rest:
            return self.count
        raised = next((error for error in rest if not isinstance(error, Exception)), rest[0])
        for error in rest:
            if error is not raised:
                sys.excepthook(type(error), error, error.__traceback__)
        raise raised


def deliver(store: int) -> Delivered:
    """Calls the handlers of all change sets that are due."""
    return _lend(lambda count: int(_deliver(store, count)))


def wait(store: Callable[[], int], timeout: float | None) -> int:
    """Waits for something that is due, and delivers it; how many handlers were called. The handle is asked for each
    time, since a signal handler may close the store."""
    end = None if timeout is None else time.monotonic() + timeout
    left = FOREVER if timeout is None else milliseconds(timeout)
    while True:
        count = _lend(lambda out: int(_wait(store(), left, out))).result()
        if end is not None:
            left = max(0, round((end - time.monotonic()) * 1000))
        if count or left == 0:  # else a signal was handled, or what came was of no interest
            return count


def _lend(call: Callable[[Any], int]) -> Delivered:
    failures: list[BaseException] = []
    count = ctypes.c_size_t()
    outer = _lent.failures, _lent.unheard  # a handler of another store may be delivering this one
    _lent.failures, _lent.unheard = failures, 0
    try:
        status = call(ctypes.byref(count))
        problem = failure(status) if status else None
        return Delivered(count.value - _lent.unheard, failures, problem)
    finally:
        _lent.failures, _lent.unheard = outer
