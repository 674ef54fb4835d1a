"""Writing: the transaction behind `with store.write():`, how it begins and how it ends."""

import ctypes
import threading
from typing import TYPE_CHECKING, Any

from ..arguments import milliseconds
from ..errors import (
    AlreadyInWrite,
    Busy,
    Closed,
    Error,
    InvalidArgument,
    NotInWrite,
    Status,
    Timeout,
)
from ..native import ffi
from ..native.callbacks import hand_on
from ..native.failures import check, failure
from ..native.handles import Bag, ends_the_block
from ..objects import state
from . import event_loops
from .awaited import GRACE, OPEN, Awaited, _try_begin
from .current_thread import current_task, here, tell
from .object_writes import ObjectWrites
from .savepoint import Savepoint
from .silent import AnyToken, silence

if TYPE_CHECKING:
    from ..collections import collection
    from ..queries.loops_in_writes import Loop
    from ..stores.store import Store


_begin_within = ffi.bind("objstore_begin_within")
_commit = ffi.bind("objstore_commit")
_cancel = ffi.bind("objstore_cancel")
# A call that waits for another writer looks this often for signals, and whether the store was closed: too short a time
# for WAITED to be called.
SLICE_MS = 200


class Transaction(ObjectWrites, Awaited):
    """An open write. Leaving the with block commits; an exception, or cancel(), undoes everything.

    It belongs to the thread (and the task of asyncio or trio) that began it: no other sees or disturbs what it did so
    far.
    """

    def __init__(self, store: "Store", timeout: float | None, silent: tuple[AnyToken, ...] = ()) -> None:
        super().__init__(0, fast=False)
        Awaited.__init__(self)
        self.store = store
        self._timeout = timeout
        self._ending, self._is_inside = None, False
        self._cell = ctypes.c_void_p()  # what the library writes the handle to
        self._is_over = False  # was it ended, and is everything in order again?
        self._thread: object = None
        self._task: Any = None
        self.beside: set[Transaction] = set()  # what its thread has begun and not ended
        self.owner = threading.current_thread()  # what begins it
        self.lost = ""  # why others ended it
        self._added: list[list[Any]] = []
        self._silent = silent  # who is not told of it
        self._told: Any = None  # who tells of the end of the task
        self.loops: Bag[Loop] = Bag()
        self.readings: Bag[collection.Loop] = Bag()
        self.written: set[tuple[int, int]] = set()
        self.is_open = False

    # Beginning and ending. A signal handler may raise between any two steps: what the library has written to the two
    # cells says how far it came, and _abandon() brings the rest in line, as often as it is called.

    def _enters(self) -> None:
        if self._thread is not None:
            raise InvalidArgument("a transaction is used once: call store.write() for each")
        self._is_inside = True
        self._thread, self._task = here.thread, current_task()
        self.owner = threading.current_thread()

    def __enter__(self) -> "Transaction":
        self._enters()
        try:
            self.store._begins(self)
            self._check_alone()
            self._begin()
            self._has_begun()
            return self
        except BaseException:
            self._abandon()
            raise

    def _has_begun(self) -> None:
        self.handle = self._cell.value or 0
        self.is_open = True
        self.store._began(self)
        if self._task is not None:
            self._told = event_loops.tell_end(self._task, self._task_ended)
        if self._silent:
            self.without_notifying(*self._silent)

    def _task_ended(self, _: object) -> None:
        """No other can end it: others wait for it."""
        if self.is_open:
            tell([self.store._lose(self, self.ended_inside())], 1)

    def _forget_task(self) -> None:
        if self._told is not None:
            event_loops.forget_end(self._task, self._told)
            self._told = self._task = None

    def task_has_ended(self) -> bool:
        return self._task is not None and event_loops.has_ended(self._task)

    def ended_inside(self) -> str:
        """For messages about one that was left: what has ended."""
        whose = f"task {_name(self._task)!r}" if self.task_has_ended() else f"thread {self.owner.name!r}"
        return f"{whose} ended inside of a write of"

    def was_entered_by_hand(self) -> bool:
        """No with statement has it."""
        return self._ending is None

    @ends_the_block
    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if self._is_to_commit(kind):
            self._commit()
        self._over()

    def _is_to_commit(self, kind: type[BaseException] | None) -> bool:
        """At the end of the block; False: it has ended without a commit."""
        if self.is_open and kind is not None and self.store._is_inherited:
            self._abandon()  # in a forked child: the write is the parent's, and what the program raised gets out
        elif self.is_open and kind is not None:
            self._cancel()
        elif self.is_open:
            if self._ending is None and not self.mine():  # no with statement has it: nothing else is going to end it
                self._abandon()
                raise NotInWrite("the transaction belongs to another thread or task; it is cancelled")
            self._check_mine()
            return True
        elif self.lost and kind is None:
            raise (Closed if self.store.is_closed else NotInWrite)(self.lost)
        return False

    def _leave(self) -> None:
        self._abandon()

    def cancel(self) -> None:
        """Undoes everything and ends the transaction; what follows in the with block is outside of it."""
        if not self.is_open:
            raise NotInWrite("the transaction has ended already")
        self._check_mine()
        self._cancel()

    def _check_mine(self) -> None:
        if not self.mine():
            raise NotInWrite("the transaction belongs to another thread or task")

    def _commit(self) -> None:
        try:
            self._outlive()
            self.store._hide(self)
            status = _commit(self.handle, ctypes.byref(self._version))
            problem = failure(status) if status else None  # before anything else can fail
            self._end(committed=status == 0)
        except BaseException:
            self._abandon()
            raise
        if problem is not None:
            raise problem

    def _cancel(self) -> None:
        try:
            self._outlive()
            self.store._hide(self)
            status = _cancel(self.handle)
            problem = failure(status) if status not in (0, Status.CLOSED_HANDLE) else None  # closed with the store
            if status != Status.IN_CALLBACK:
                self._end(committed=False)
            else:  # of a call that is not over: it continues
                self.store._began(self)
        except BaseException:
            self._abandon()
            raise
        if problem is not None:
            raise problem

    def _abandon(self) -> None:
        """Ends it, if that was not done yet: what was not committed is undone."""
        if self._is_over:
            return
        if self._asked.value:
            return self.wait_for_commit()
        self._withdraw()
        committed = self._version.value != OPEN
        if self._cell.value and not committed and _cancel(self._cell) == Status.IN_CALLBACK:
            return
        self._end(committed)

    def without_notifying(self, *tokens: AnyToken) -> None:
        """These observers are not told of what this transaction changes; all others are. What they are told later has
        positions that are right for a reader who has applied its changes himself: for a user interface that shows
        already what it writes. At any time in the transaction, and several calls add up.

        Closed: a token was closed. WrongStore: it observes another store. Nobody is silenced then. InvalidArgument:
        the transaction allows grouping: say `without_notifying=` where it begins."""
        if not self.is_open:
            raise NotInWrite("the transaction has ended already")
        self._check_mine()
        silence(self.handle, tokens)

    def savepoint(self) -> "Savepoint":
        """A scope inside the transaction: with tx.savepoint(): …

        Leaving the with block keeps what was done in it; an exception, or cancel(), undoes that and nothing else, and
        code that catches the exception can continue with the transaction. Scopes nest. Objects that were added in a
        scope that is undone are unmanaged again.
        """
        return Savepoint(self)

    def version(self) -> int:
        """The version it made; while it is open, the one that it began with."""
        if self.is_open:
            return super().version()
        return self._version.value if self._version.value != OPEN else 0

    @property
    def added(self) -> int:
        """How many groups of objects were added so far."""
        return len(self._added)

    def mine(self) -> bool:
        """Is it the caller that began it?"""
        return self._thread is here.thread and self._task is current_task()

    def _check_alone(self, waits: bool = False) -> None:
        """AlreadyInWrite: the calling thread would wait for itself. `waits`: it lets other tasks continue meanwhile."""
        for other in list(here.writes):
            if other is self or not other.is_open or other.store._tag != self.store._tag or other.store.is_closed:
                continue
            if other.store._is_inherited:
                continue  # the parent's, which continues: this is a child that was forked inside of it
            of = f"has a write of {self.store._path!r} open"
            if other._task is self._task:
                raise AlreadyInWrite(
                    f"this {'thread' if self._task is None else 'task'} {of} already: go on in that one, or in a scope "
                    "of it, tx.savepoint(); a generator that is suspended inside of it has to end it first"
                )
            if other._task is None:
                raise AlreadyInWrite(
                    f"this thread {of} already, begun outside of any task: a generator that is suspended inside of it, "
                    "or who runs the loop, has to end it first"
                )
            if not waits:
                raise AlreadyInWrite(
                    f"task {_name(other._task)!r} {of} on this thread, and cannot end it while this one waits: wait "
                    "for it by 'async with store.write():', or let that one end its write before it awaits something"
                )

    def _begin(self) -> None:
        out = ctypes.byref(self._cell)
        if self._timeout == 0:
            status = _try_begin(self.store._open_handle(), out)
            if status == Status.BUSY and self.store._has_withdrawn:
                status = _begin_within(self.store._open_handle(), milliseconds(GRACE), out)
                if status == Status.TIMEOUT:
                    raise Busy("another write is open, in another thread or process")
            return check(status)
        left = None if self._timeout is None else milliseconds(self._timeout)
        while True:
            wait = SLICE_MS if left is None else min(left, SLICE_MS)
            status = _begin_within(self.store._open_handle(), wait, out)
            if left is not None:
                left -= wait
            if status != Status.TIMEOUT:
                return check(status)
            self.store._cancel_left()
            if left is not None and left <= 0:
                raise Timeout(
                    f"another write was open for {self._timeout:g} seconds: in another thread, task or process"
                )

    def _outlive(self) -> None:
        """For loops that continue: the lists of the library end now."""
        self._evaluations.clear()
        for loop in self.loops:
            loop.outlive()
        try:
            self.settle()
        except (Error, MemoryError) as error:
            # else its store is closed already, as a rule; the write must end, and the loop is going to say it is Closed
            hand_on(error)

    def _end(self, committed: bool) -> None:
        self.is_open = self.waits = False
        self._forget_task()
        if committed:
            for group in self._added:
                state.forget(group)
            self._added = []
        else:
            self._loosen(0)
        self.store._ended(self, committed)
        if not committed and not self.store.is_closed and not self.store._is_inherited:
            for loop in self.loops:
                loop.leave_out_undone()
        self._is_over = True

    def _loosen(self, kept: int) -> None:
        """What was added after the first `kept` groups is unmanaged again."""
        for group in self._added[kept:]:
            state.loosen(group)
        del self._added[kept:]

    def _undone(self, kept: int) -> None:
        """A savepoint was rolled back, before which `kept` groups had been added."""
        self._loosen(kept)
        self._wrote_many()
        for loop in self.loops:
            loop.leave_out_undone()


def _name(task: object) -> str:
    named: Any = getattr(task, "get_name", None)
    return str(named() if named is not None else getattr(task, "name", "?"))
