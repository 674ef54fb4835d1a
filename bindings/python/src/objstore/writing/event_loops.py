"""Event loops: asyncio, and trio; neither is imported, since a program that waits in one has it already.

A task waits for threads of the library at a *station*: one for each loop and store, which has a descriptor (an eventfd)
that the library writes to. What the library writes with is the function of C itself: no thread of it ever runs Python,
also while the interpreter ends.

    Station ─► begins: places of tasks that wait for their turn to write, in order
            └► commits: places of tasks that wait for the end of their commits, in order

A ring says that something may have come, nothing more: who is woken asks the library. So a descriptor that is used
again may be rung for what was before, and none is ever closed.
"""

import ctypes
import math
import os
import sys
import weakref
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import Error, InvalidArgument
from ..native.callbacks import hand_on

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from ..stores.open_store import OpenStore
    from .transaction import Transaction


RING = ctypes.cast(ctypes.CDLL(None).eventfd_write, ctypes.c_void_p).value
_descriptors: list[int] = []  # that are not in use
_stations: "weakref.WeakValueDictionary[tuple[int, int], Station]" = weakref.WeakValueDictionary()


def _descriptor() -> int:
    try:
        return _descriptors.pop()
    except IndexError as error:
        hand_on(error)
        return os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)


def running_trio() -> Any:
    """The module, if the caller is a task of trio."""
    trio = sys.modules.get("trio")
    sniffio = sys.modules.get("sniffio")
    return trio if trio is not None and sniffio is not None and sniffio.thread_local.name == "trio" else None


def has_ended(task: Any) -> bool:
    """Of asyncio's tasks, and of trio's, which do not say so themselves."""
    done = getattr(task, "done", None)
    return bool(done()) if done is not None else getattr(task.coro, "cr_frame", task) is None


class ExitOfTask:
    """An instrument of trio that tells of the end of a task, as add_done_callback of asyncio's."""

    def __init__(self, task: Any, function: Any) -> None:
        self._task = task
        self._function = function

    def task_exited(self, task: Any) -> None:
        if task is self._task:
            self._function(task)


def tell_end(task: Any, function: Any) -> Any:
    """Calls function(task) when the task ends; what forget_end() takes."""
    if hasattr(task, "add_done_callback"):
        task.add_done_callback(function)
        return function
    trio, exit = sys.modules["trio"], ExitOfTask(task, function)
    trio.lowlevel.add_instrument(exit)
    return exit


def forget_end(task: Any, told: Any) -> None:
    if hasattr(task, "remove_done_callback"):
        task.remove_done_callback(told)
    elif running_trio() is not None:  # else its loop is over, or of another thread, and it does nothing
        try:
            sys.modules["trio"].lowlevel.remove_instrument(told)
        except KeyError as error:
            hand_on(error)


class Place:
    """Of one task in a line."""

    __slots__ = ("transaction", "bell")

    def __init__(self, transaction: "Transaction") -> None:
        self.transaction = transaction
        self.bell: Any = None  # what wakes the task, while it sleeps

    def wake(self) -> None:
        if self.bell is not None:
            self.bell()


def _is_over(place: Place) -> bool:
    try:
        return place.transaction.commit_is_over()
    except Error as error:
        hand_on(error)
        return True  # its task asks again, and gets the error


class Station:
    """Where the tasks of one loop wait for one store. It is used by the loop's thread only, but for ring()."""

    def __init__(self, store: "OpenStore") -> None:
        self.store = store
        self.begins: deque[Place] = deque()
        self.commits: deque[Place] = deque()
        self.descriptor = _descriptor()

    def ring(self) -> None:
        """Called on any thread."""
        os.eventfd_write(self.descriptor, 1)

    def _rung(self) -> None:
        """The descriptor is readable. Where a signal handler interrupts this, it is going to be so again."""
        try:
            self._drain()
            while self.begins and not self.begins[0].transaction.waits:
                self.begins.popleft()  # a signal handler has kept it from leaving
            if self.begins:
                self.begins[0].wake()
            if self.store.is_closed:
                for place in list(self.begins):
                    place.wake()
            while self.commits and _is_over(self.commits[0]):
                self.commits[0].wake()
                self.commits.popleft()
        except BaseException:
            self.ring()
            raise
        self._close_soon()

    def _drain(self) -> None:
        try:
            os.eventfd_read(self.descriptor)
        except BlockingIOError as error:
            hand_on(error)

    def leave(self, line: "deque[Place]", place: Place) -> None:
        try:
            line.remove(place)
        except ValueError as error:
            hand_on(error)
        self._close_soon()

    def _close_soon(self) -> None:
        """If it is empty then: who has got its turn asks for the commit in the same step, as a rule."""
        if not self.begins and not self.commits:
            self._soon(self._close_if_empty)

    def _close_if_empty(self) -> None:
        if not self.begins and not self.commits:
            key = self._key()
            if _stations.get(key) is self:
                del _stations[key]
                self._close()

    def _key(self) -> tuple[int, int]:
        raise NotImplementedError

    def _soon(self, function: "Callable[[], None]") -> None:
        """Has the loop call it."""
        raise NotImplementedError

    def _close(self) -> None:
        """Nothing waits here any more."""
        raise NotImplementedError

    async def sleep(self, place: Place, seconds: float | None) -> None:
        """Until the place is rung, or for this long."""
        raise NotImplementedError

    async def sleep_through(self, place: Place) -> BaseException | None:
        """Until its commit has come to its end, also where the task is cancelled; what to raise for that."""
        raise NotImplementedError


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class AsyncioStation(Station):
    def __init__(self, store: "OpenStore", loop: "asyncio.AbstractEventLoop") -> None:
        super().__init__(store)
        self._loop = loop
        loop.add_reader(self.descriptor, self._rung)

    def _key(self) -> tuple[int, int]:
        return id(self._loop), id(self.store)

    def _soon(self, function: "Callable[[], None]") -> None:
        if not self._loop.is_closed():
            self._loop.call_soon(function)

    def _close(self) -> None:
        self._loop.remove_reader(self.descriptor)
        _descriptors.append(self.descriptor)

    async def sleep(self, place: Place, seconds: float | None) -> None:
        future = self._loop.create_future()
        place.bell = partial(_wake, future)
        timer = None if seconds is None else self._loop.call_later(seconds, place.bell)
        try:
            await future
        finally:
            place.bell = None
            if timer is not None:
                timer.cancel()

    async def sleep_through(self, place: Place) -> BaseException | None:
        import asyncio  # which is there

        cancelled = None
        while not place.transaction.commit_is_over():
            try:
                await self.sleep(place, None)
            except asyncio.CancelledError as error:
                cancelled = error
        return cancelled


class TrioStation(Station):
    def __init__(self, store: "OpenStore", trio: Any) -> None:
        super().__init__(store)
        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        self._scope = trio.CancelScope()
        trio.lowlevel.spawn_system_task(self._listen, name="objstore waits")

    def _key(self) -> tuple[int, int]:
        return id(self._token), id(self.store)

    async def _listen(self) -> None:
        try:
            with self._scope:
                while True:
                    await self._trio.lowlevel.wait_readable(self.descriptor)
                    self._rung()
        finally:
            _descriptors.append(self.descriptor)

    def _soon(self, function: "Callable[[], None]") -> None:
        try:
            self._token.run_sync_soon(function)
        except self._trio.RunFinishedError as error:
            hand_on(error)

    def _close(self) -> None:
        self._scope.cancel()

    async def sleep(self, place: Place, seconds: float | None) -> None:
        event = self._trio.Event()
        place.bell = event.set
        try:
            with self._trio.move_on_after(math.inf if seconds is None else seconds):
                await event.wait()
        finally:
            place.bell = None

    async def sleep_through(self, place: Place) -> BaseException | None:
        with self._trio.CancelScope(shield=True):
            while not place.transaction.commit_is_over():
                await self.sleep(place, None)
        try:
            await self._trio.lowlevel.checkpoint_if_cancelled()
        except self._trio.Cancelled as error:
            return error  # type: ignore[no-any-return]
        return None


def running(instead: str) -> "tuple[Any, asyncio.AbstractEventLoop | None]":
    """Trio, or the loop of asyncio: whichever the caller is a task of."""
    trio = running_trio()
    loop = None if trio is not None else _running_loop()
    if trio is None and loop is None:
        raise InvalidArgument(f"a task of asyncio or trio waits like this; elsewhere use {instead}")
    return trio, loop


async def turn() -> None:
    """Lets what else waits in the caller's loop have its turn."""
    trio, _ = running("store.refresh()")
    if trio is not None:
        await trio.lowlevel.checkpoint()
    else:
        import asyncio  # which is there

        await asyncio.sleep(0)


def station(store: "OpenStore") -> Station:
    """That of the caller's loop."""
    trio, loop = running("'with store.write():', which waits by keeping its thread, or store.submit_write()")
    key = id(loop if trio is None else trio.lowlevel.current_trio_token()), id(store)
    found = _stations.get(key)
    if found is None:
        found = TrioStation(store, trio) if loop is None else AsyncioStation(store, loop)
        _stations[key] = found
    return found


def _running_loop() -> "asyncio.AbstractEventLoop | None":
    asyncio = sys.modules.get("asyncio")
    return None if asyncio is None else asyncio._get_running_loop()


def ring_all(store: "OpenStore") -> None:
    """Wakes all tasks that wait for a store: it was closed."""
    for each in list(_stations.values()):
        if each.store is store:
            each.ring()


def _after_fork() -> None:
    # They are the parent's, too: what is read from one of them here the parent does not get.
    _descriptors.clear()
    _stations.clear()


os.register_at_fork(after_in_child=_after_fork)
