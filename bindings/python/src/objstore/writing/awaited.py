"""Transactions of tasks: how they begin and end while their loop goes on.

    __aenter__ ─► objstore_request_begin ─► the loop … ─► objstore_claim_begin
    __aexit__ ─► objstore_request_commit ─► the loop … ─► objstore_claim_commit

Threads of the library wait for the lock and for the disk. What has come of it is asked with the numbers in two cells,
`_request` and `_asked`, which the library writes: so a signal handler may raise between any two steps.
"""

import ctypes
import select
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..errors import Busy, Closed, OutcomeUnknown, Status, Timeout
from ..native import ffi
from ..native.callbacks import ended
from ..native.failures import check, failure
from ..native.handles import Block, ends_the_block
from .event_loops import RING, Place, Station, station

if TYPE_CHECKING:
    from ..stores.store import Store
    from .transaction import Transaction


_request_begin = ffi.bind("objstore_request_begin")
_claim_begin = ffi.bind("objstore_claim_begin")
_request_commit = ffi.bind("objstore_request_commit")
_claim_commit = ffi.bind("objstore_claim_commit")
_cancel_async = ffi.bind("objstore_cancel_async")
_try_begin = ffi.bind("objstore_try_begin")
ALLOW_GROUPING, ALONE = 0x1, 0x2
OPEN = 2**64 - 1  # no version
GRACE = 0.02  # seconds: after a request was withdrawn a thread of the library may have the lock once more, for a moment
LOOK_MS = 5  # a thread without a loop looks this often: the loop may read what it waits for

T = TypeVar("T")


class _Done:
    """What is awaited, and is there."""

    def __await__(self) -> Iterator[Any]:
        return iter(())


_DONE: Awaitable[None] = _Done()  # type: ignore[assignment]  # an iterator without a send()


class Awaited(Block):
    """What a transaction has for `async with`."""

    if TYPE_CHECKING:
        store: Store
        handle: int
        is_open: bool
        _timeout: float | None
        _cell: ctypes.c_void_p
        _is_over: bool
        _enters: Callable[[], None]
        _check_alone: Callable[..., None]
        _has_begun: Callable[[], None]
        _abandon: Callable[[], None]
        _outlive: Callable[[], None]
        _is_to_commit: Callable[[type[BaseException] | None], bool]
        _end: Callable[[bool], None]

    def __init__(self) -> None:
        self._request = ctypes.c_uint64()  # the number of what was asked for, until it was given
        self._asked = ctypes.c_uint64()  # the same of the commit
        self._version = ctypes.c_uint64(OPEN)  # that the commit made
        self._settling = threading.RLock()  # the loop, and who closes the store
        self._problem: BaseException | None = None  # of the commit
        self._descriptor = -1  # of the station where its end is told
        self.waits = False  # is it in a line, for its turn?
        self.may_group = False  # may it be one with those before and after it?

    # Beginning

    async def __aenter__(self) -> "Transaction":
        me = cast("Transaction", self)
        me._enters()
        try:
            me.store._begins(me)
            me._check_alone(waits=True)
            # The store keeps this, and nothing is to keep a task whose loop is gone: so what it waits for ends with it.
            task, me._task = me._task, None
            await me._take_turn()
            me._task = task
            me._has_begun()
            return me
        except BaseException:
            me._abandon()
            raise

    async def _take_turn(self) -> None:
        me = cast("Transaction", self)
        if self._timeout == 0:
            return await self._begin_at_once()
        until = None if self._timeout is None else time.monotonic() + self._timeout
        here, place = station(self.store), Place(me)
        self.waits = True
        here.begins.append(place)
        try:
            flags = 0 if self.may_group else ALONE
            out = ctypes.byref(self._request)
            check(_request_begin(self.store._open_handle(), flags, RING, here.descriptor, out))
            left = self._timeout
            while True:
                await here.sleep(place, left)
                if self._claim():
                    return
                left = None if until is None else max(0.0, until - time.monotonic())
                if left == 0:
                    raise Timeout(
                        f"another write was open for {self._timeout:g} seconds: in another task, thread or process"
                    )
        finally:
            self.waits = False
            here.leave(here.begins, place)

    async def _begin_at_once(self) -> None:
        here, place = station(self.store), Place(cast("Transaction", self))
        until = time.monotonic() + GRACE
        try:
            while not any(write.waits for write in list(self.store._writes)):  # nobody is overtaken
                status = _try_begin(self.store._open_handle(), ctypes.byref(self._cell))
                if status not in (Status.BUSY, Status.ALREADY_IN_WRITE):  # the latter: of another task of this thread
                    return check(status)
                if not self.store._has_withdrawn or time.monotonic() > until:
                    break
                await here.sleep(place, GRACE / 10)
        finally:
            here.leave(here.begins, place)
        raise Busy("another write is open, in another task, thread or process")

    def _claim(self) -> bool:
        if self.store._is_closing:
            return False  # the end of that rings
        status = _claim_begin(self.store._open_handle(), self._request.value, ctypes.byref(self._cell))
        # Another task of this thread has a transaction open, and this one was rung too early.
        if status in (Status.BUSY, Status.ALREADY_IN_WRITE):
            return False
        check(status)
        self.store._has_withdrawn = False
        return True

    def _withdraw(self) -> None:
        """Leaves the queue of the library, if it is in it. Does nothing where it was given what it asked for."""
        handle = self.store._handle
        if self._request.value and not self._cell.value and handle is not None and not self.store._is_inherited:
            _cancel_async(handle, self._request.value)
            self.store._has_withdrawn = True

    # Ending

    @ends_the_block
    def __aexit__(self, kind: type[BaseException] | None, error: object, trace: object) -> Awaitable[None]:
        # Not a coroutine: what the statement has is gone when that begins, and with it the block.
        if not self._is_to_commit(kind):
            self._over()
            return _DONE
        finishing = self._finish(*self._ask_to_commit())
        self._ending = weakref.ref(finishing, self._was_left)  # where nobody awaits it
        return finishing

    def _ask_to_commit(self) -> tuple[Station, Place]:
        """From here on it is committed, whoever is there to hear of it. Where the task waits for that."""
        me = cast("Transaction", self)
        try:
            here, place = station(self.store), Place(me)
            self._descriptor = here.descriptor
            self._outlive()
            self.store._hide(me)
            here.commits.append(place)
            flags = ALLOW_GROUPING if self.may_group else 0
            with self.store._lock:  # what was asked for before the store is closed is waited for
                if self.store._is_closing:
                    raise Closed(f"the store {self.store.path!r} is being closed")
                out = ctypes.byref(self._asked)
                status = _request_commit(self.handle, flags, RING, here.descriptor, out)
            problem = failure(status) if status else None  # before anything else can fail
            self.is_open = False
            me._forget_task()
            if problem is not None:
                self._end(False)
                here.leave(here.commits, place)
        except BaseException:
            self._abandon()
            raise
        if problem is not None:
            raise problem
        return here, place

    async def _finish(self, here: Station, place: Place) -> None:
        try:
            cancelled = await here.sleep_through(place)
        except BaseException:
            self._abandon()
            raise
        finally:
            here.leave(here.commits, place)
        self._over()
        try:
            if self._problem is not None:
                raise self._problem
            if cancelled is not None:
                raise cancelled
        finally:
            del cancelled  # else a cycle of it and its frames

    def commit_is_over(self) -> bool:
        """Has the commit come to its end? If so, everything is brought in line with what became of it."""
        with self._settling:
            if self._is_over:
                return True
            status = _claim_commit(self.store._open_handle(), self._asked.value, ctypes.byref(self._version))
            if status == Status.BUSY:
                return False
            committed = self._version.value != OPEN  # also where a signal handler interrupted this the last time
            if not committed:
                self._problem = failure(status)
            self._end(committed)
            return True

    def wait_for_commit(self) -> None:
        """Waits for that without a loop."""
        if self.store._is_inherited:
            return self._end(False)  # the child of a fork, which never hears of it
        if self.store.is_closed and not self._is_over:
            self._problem = OutcomeUnknown("the store was closed before the end of this commit was known")
            return self._end(False)
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        while not self.commit_is_over():
            poll.poll(LOOK_MS)

    async def _run(self, body: "Callable[[Transaction], T]") -> T:
        me = cast("Transaction", self)
        async with me:
            result = body(me)
            ended("the body", result, is_used=True)
        return result
