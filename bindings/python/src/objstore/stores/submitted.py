"""Writes that are handed over, and run where change sets are delivered: store.submit_write().

submit_write(body) ─► the queue of the library ─► deliver() on some thread: body(tx) ─► a thread of the library commits
      └► a future ◄──────────────────────────────────── deliver() on some thread ◄─────────────────┘
"""

import atexit
import ctypes
import itertools
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import AlreadyInWrite, Closed, Error, NotInWrite
from ..native import ffi
from ..native.callbacks import (
    FAILED,
    MUST_FINISH,
    Calls,
    ended,
    entry,
    finish,
    handlers,
    is_interruption,
    lent,
)
from ..native.failures import check, failure
from ..observing import delivery
from ..writing.awaited import ALLOW_GROUPING, ALONE
from ..writing.lent import Lent
from . import opened

if TYPE_CHECKING:
    from ..writing.silent import AnyToken
    from ..writing.transaction import Transaction
    from .open_store import OpenStore
    from .store import Store


_write_async = ffi.bind("objstore_write_async")
_cancel_async = ffi.bind("objstore_cancel_async")
_is_writing_async = ffi.bind("objstore_is_writing_async")
LOOK = 0.1  # seconds: who delivers for a future looks this often whether another thread was faster

T = TypeVar("T")
_numbers = itertools.count(1)
_futures: "dict[int, Submitted[Any]]" = {}  # whose writes have not come to their end


class Submitted(Future[T]):
    """The future of a write that was submitted.

    cancel() takes it back while it waits for its turn. result() and exception() deliver while they wait, so that they
    end also where no other thread delivers; then handlers of the store's observers run in them, and raise there."""

    def __init__(self, store: "Store", body: "Callable[[Transaction], T]", silent: "tuple[AnyToken, ...]") -> None:
        super().__init__()
        self._store = store
        self._body = body
        self._silent = silent
        self._number = next(_numbers)
        self._id = ctypes.c_uint64()  # that of the library, which writes it
        self._starting = threading.Lock()
        self._write: _Body | None = None
        self._value: Any = None
        self._raised: BaseException | None = None

    @property
    def is_being_committed(self) -> bool:
        return self._write is not None and not self._write.is_open and not self.done()

    def cancel(self) -> bool:
        """Takes the write back: its body never runs. False: it runs already, or has run, and is committed."""
        with self._starting:
            if not super().cancel():
                return False
            if _futures.pop(self._number, None) is not None:
                if not self._store.is_closed and not self._store._is_inherited:
                    _cancel_async(self._store._open_handle(), self._id.value)
                self.set_running_or_notify_cancel()
            return True

    def result(self, timeout: float | None = None) -> T:
        self._deliver(timeout)
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._deliver(timeout)
        return super().exception(0)

    def _deliver(self, timeout: float | None) -> None:
        until = None if timeout is None else time.monotonic() + timeout
        while not self.done():
            left = LOOK if until is None else min(LOOK, until - time.monotonic())
            if left <= 0:
                return
            transaction = self._store._transaction
            if transaction is not None and transaction.mine():
                raise AlreadyInWrite("the write that is open here comes before this one: wait for it afterwards")
            try:
                delivery.wait_once(self._store._open_handle(), left)
            except Closed:  # and with it came to its end what waited
                if not self.done():
                    raise
            if not self.done() and not is_writing(self._store):
                self._is_lost()

    def _is_lost(self) -> None:
        """A signal handler has kept its callback from beginning."""
        if _futures.pop(self._number, None) is not None:
            self._tell(NotInWrite("a signal handler has interrupted the end of this write: look whether it is there"))

    # From the library

    def _run(self, view: int) -> None:
        with self._starting:
            if self.cancelled() or not self.set_running_or_notify_cancel():
                raise CancelledError
        self._write = write = _Body(self._store, view)
        self._value = write.run(self._body, self._silent)

    def _over(self, version: int, problem: Error | None) -> None:
        write = self._write
        if write is not None and not write._is_over:
            write.committed(version if problem is None else None)
        elif write is not None and write.was_cancelled:
            problem = None  # by itself, as it wanted
        self._tell(self._raised or problem)

    def _tell(self, problem: BaseException | None) -> None:
        self._write = None
        if self.done():
            return
        if problem is not None:
            self.set_exception(problem)
        else:
            self.set_result(self._value)


class _Body(Lent):
    """The transaction of a body. What it has added belongs to the store when it is committed, later."""

    was_cancelled = False

    def run(self, body: "Callable[[Transaction], T]", silent: "tuple[AnyToken, ...]") -> T:
        good = False
        try:
            if silent:
                self.without_notifying(*silent)
            result = body(self)
            ended("the body", result, is_used=True)
            good = True
            return result
        finally:
            if not self._is_over:
                try:
                    self._outlive()
                finally:
                    if good:
                        self.is_open = False
                        self.store._hide(self)
                    else:
                        self._end(False)

    def committed(self, version: int | None) -> None:
        if version is not None:
            self._version.value = version
        self._end(version is not None)

    def cancel(self) -> None:
        """Undoes everything and ends the transaction; what follows in the body is outside of it."""
        if not self.is_open:
            raise NotInWrite("the transaction has ended already")
        self._check_mine()
        self.was_cancelled = True
        self._cancel()

    def _abandon(self) -> None:
        if self.is_open:
            self._end(False)


def submit(
    store: "Store", body: "Callable[[Transaction], T]", grouping: bool, silent: "tuple[AnyToken, ...]"
) -> Future[T]:
    future: Submitted[T] = Submitted(store, body, silent)
    flags = ALLOW_GROUPING if grouping and not silent else ALONE
    handle = store._open_handle()
    _futures[future._number] = future
    try:
        check(_write_async(handle, flags, _run, _ended, future._number, MUST_FINISH, ctypes.byref(future._id)))
    except BaseException:
        future.cancel()
        raise
    return future


@entry(ffi.WriteBody)
def _run(view: int, number: int) -> int:
    status, future = 0, None
    try:
        future = _futures[number]
        future._run(view)
    except BaseException as error:
        status = FAILED
        if future is not None:
            future._raised = error
        if is_interruption(error, frozenset() if lent.calls is None else lent.calls.handlers):
            _raise(error)
    return finish(status)


@entry(ffi.Completion)
def _ended(status: int, version: int, number: int) -> int:
    try:
        problem = failure(status) if status else None
        future = _futures.get(number)
        if future is not None:
            try:
                future._over(version, problem)
            except BaseException:  # of a signal handler: nobody is to wait for ever
                future._over(version, problem)
                raise
            finally:
                _futures.pop(number, None)
    except BaseException as error:
        _raise(error)
    return finish(0)


def _raise(error: BaseException) -> None:
    """By the call that delivers."""
    if lent.calls is not None:
        lent.calls.raised.append(error)


def is_writing(store: "OpenStore") -> bool:
    found = ctypes.c_bool()
    check(_is_writing_async(store._open_handle(), ctypes.byref(found)))
    return found.value


def running(store: "OpenStore") -> Calls | None:
    """For the call that closes a store: None: no body runs in it."""
    if not any(future._store is store for future in list(_futures.values())):
        return None
    calls = Calls()
    calls.handlers = handlers()
    return calls


def _before_exit() -> None:
    """What waits is taken back, and what is being committed comes to its end, while there is a Python to hear of it."""
    for future in list(_futures.values()):
        future.cancel()
    for future in list(_futures.values()):
        while future.is_being_committed and not future._store.is_closed:
            delivery.wait_once(future._store._open_handle(), LOOK)
    opened.close_what_threads_use()


atexit.register(_before_exit)
os.register_at_fork(after_in_child=_futures.clear)
