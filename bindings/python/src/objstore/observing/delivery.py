"""Delivery of changes: what handlers raise gets out of it (see calls), and what they could not take comes again.

Handlers are called on threads that Python lent. If it was other code (a C program that delivers), there is no caller to
raise it to: then sys.excepthook shows it.
"""

import ctypes
import sys
import time
from collections.abc import Callable
from types import CodeType
from typing import Any

from ..arguments import milliseconds
from ..errors import Error, Status
from ..native import ffi
from ..native.callbacks import FAILED, Calls, finish as finished, handlers, has_run, is_interruption, lent

_deliver = ffi.bind("objstore_deliver")
_wait = ffi.bind("objstore_wait")
_refresh = ffi.bind("objstore_refresh")
FOREVER = -1


class Call:
    """One call of a handler."""

    __slots__ = ("handler", "is_over", "status")

    def __init__(self) -> None:
        self.handler: Any = None  # when it is about to be called
        self.is_over = False  # it returned: what is raised later is not its own
        self.status = 0  # to report to the library


def guarded(function: Callable[[Any, Call], None], given: Any, store: object) -> int:
    """Calls a handler of a store from inside a callback, whose result this is. Where it could not begin, or a signal
    handler interrupted it, the library does not learn that the callback has ended: the change set comes again."""
    call = Call()
    try:
        function(given, call)
    except BaseException as error:
        if lent.calls is None:
            sys.excepthook(type(error), error, error.__traceback__)
        else:
            lent.calls.raised.append(error)
        if not call.is_over:
            has_begun = call.handler is not None and has_run(call.handler, error)
            before = frozenset() if lent.calls is None else lent.calls.handlers
            if is_interrupted(error, before) or not (has_begun or isinstance(error, Error)):
                return FAILED
            call.status = FAILED
    return finished(call.status)


def is_interrupted(error: BaseException, before: "frozenset[CodeType]") -> bool:
    """Whether a signal handler's exception has ended a handler: then its change set comes again."""
    return not (lent.calls is not None and lent.calls.is_of_worker) and is_interruption(error, before)


_GUARDED = guarded.__code__


def is_handling(store: object) -> bool:
    """Does this thread run a handler of the store? The stack says so: nothing has to be noted before a handler and
    forgotten after it, which a signal handler could prevent."""
    frame = sys._getframe(1)
    while frame is not None and (frame.f_code is not _GUARDED or frame.f_locals.get("store") is not store):
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


def unheard() -> None:
    """The change set of this callback turned out to be of no interest to its observer."""
    if lent.calls is not None:
        lent.calls.unheard += 1


class Delivered:
    """How a delivery went."""

    def __init__(self, count: int, calls: Calls, problem: Error | None) -> None:
        self.count = count  # handlers that were called
        self.calls = calls
        self.problem = problem  # what the library said to it

    def result(self) -> int:
        """The number of handlers, or the first exception; others are shown."""
        raised = self.calls.raised
        # Forked: a handler forked, and this is the child, which ends by what the handler raised.
        if self.problem is not None and not (raised and self.problem.status in (Status.CALLBACK, Status.FORKED)):
            raised.append(self.problem)
        self.calls.check()
        return self.count


def deliver(store: int) -> Delivered:
    """Calls the handlers of all change sets that are due."""
    return _lend(_deliver, store)


def refresh(store: int, view: int) -> None:
    """The same, without asynchronous writes; and moves a live view to the newest version."""
    _lend(_refresh, store, view).result()  # whether it has moved is where the number would be


def wait(store: Callable[[], int], timeout: float | None) -> int:
    """Waits for something that is due, and delivers it; how many handlers were called. The handle is fetched each
    time, since a signal handler may close the store."""
    end = None if timeout is None else time.monotonic() + timeout
    left = FOREVER if timeout is None else milliseconds(timeout)
    while True:
        count = _lend(_wait, store(), left).result()
        if end is not None:
            left = max(0, round((end - time.monotonic()) * 1000))
        if count or left == 0:  # else a signal was handled, or what came was of no interest
            return count


def wait_once(store: int, seconds: float) -> int:
    """The same, but it ends also where the last asynchronous write of the store has come to its end, and where a
    signal was handled."""
    return _lend(_wait, store, milliseconds(seconds)).result()


def wait_for_ever(store: int) -> Delivered:
    """For the store's worker: waits for something that is due, and delivers it."""
    calls = Calls()
    calls.is_of_worker = True
    return _lend(_wait, store, FOREVER, calls=calls)


def _lend(function: Callable[..., int], *arguments: int, calls: Calls | None = None) -> Delivered:
    calls = calls or Calls()
    calls.handlers = handlers()
    count = ctypes.c_size_t()
    try:
        calls.run(function, *arguments, ctypes.byref(count))
        problem, calls.problem = calls.problem, None  # which is raised where nothing else was
        return Delivered(count.value - calls.unheard, calls, problem)
    except BaseException as error:  # of a signal handler
        calls.show(error)
        raise
