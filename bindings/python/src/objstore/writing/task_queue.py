"""Whose turn it is to write, among tasks of asyncio: `async with store.write():`.

A task that waits in a call of the library stops its loop, and with it the task that it waits for, if that one lies on
the same thread. So tasks wait in a queue of the process, first come, first served, and the first one tries the library
without waiting: when a write of this process ends, and from time to time, since those of other processes end without a
word.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import AlreadyInWrite, Busy, Timeout
from ..native.callbacks import hand_on

if TYPE_CHECKING:
    from .transaction import Transaction


SHORTEST, LONGEST = 0.001, 0.02  # seconds between two questions to the library
_queues: "dict[int, deque[_Waiting]]" = {}  # by the tag of the store


class _Waiting:
    """A task in the queue."""

    def __init__(self, transaction: "Transaction") -> None:
        self.transaction = transaction
        self._loop = asyncio.get_running_loop()
        self._bell: asyncio.Future[None] | None = None

    async def pause(self, seconds: float | None) -> None:
        """Until it is rung, or for this long."""
        self._bell = bell = self._loop.create_future()
        try:
            await asyncio.wait([bell], timeout=seconds)
        finally:
            self._bell = None

    def ring(self) -> None:
        """Called on any thread."""
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            pass  # its loop is closed already

    def _wake(self) -> None:
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(None)


async def take(transaction: "Transaction", begin: Callable[[], None], timeout: float | None) -> None:
    """Calls begin(), which does not wait, when it is the caller's turn, and again until it began."""
    until = None if timeout is None else time.monotonic() + timeout
    tag, waiting, pause = transaction.store._tag, _Waiting(transaction), SHORTEST
    queue = _queues.setdefault(tag, deque())
    try:
        queue.append(waiting)
        while True:
            is_first = _first(queue) is waiting
            if is_first and _began(begin):
                return
            if timeout == 0:
                raise Busy("another write is open, in another task, thread or process")
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise Timeout(f"another write was open for {timeout:g} seconds: in another task, thread or process")
            if is_first:
                await waiting.pause(pause if left is None else min(pause, left))
                pause = min(2 * pause, LONGEST)
            else:
                await waiting.pause(left)
    finally:
        _leave(queue, waiting)
        # A task of another thread may be entering it just now: then no other finds it. The first one looks from time to
        # time anyway, and a leaving one rings for the next.
        if not queue and _queues.get(tag) is queue:
            _queues.pop(tag, None)
        _ring(queue)


def _first(queue: "deque[_Waiting]") -> "_Waiting | None":
    """The first of those that still wait: a signal handler may have kept one from leaving the queue."""
    while queue:
        try:
            first = queue[0]
        except IndexError:  # another thread was faster
            break
        if first.transaction.waits:
            return first
        _leave(queue, first)
    return None


def _leave(queue: "deque[_Waiting]", waiting: "_Waiting") -> None:
    try:
        queue.remove(waiting)
    except ValueError:
        pass  # another one saw that it no longer waits


def _began(begin: Callable[[], None]) -> bool:
    try:
        begin()
    except (Busy, AlreadyInWrite) as error:
        hand_on(error)
        return False
    return True


def _ring(queue: "deque[_Waiting]") -> None:
    first = _first(queue)
    if first is not None:
        first.ring()


def ended(tag: int) -> None:
    """A write of this store is over, or one no longer waits: the first one looks."""
    queue = _queues.get(tag)
    if queue is not None:
        _ring(queue)
