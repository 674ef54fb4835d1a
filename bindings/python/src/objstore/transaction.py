"""Writing: the transaction behind `with store.write():`, and every change that can be made in it."""

import ctypes
import os
import sys
import threading
import warnings
from array import array
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _ffi, columns, objects, turns
from ._check import check, failure
from .arguments import milliseconds
from .calls import hand_on
from .errors import AlreadyInWrite, Closed, Error, InvalidArgument, NotInWrite, Status, Timeout
from .handles import Bag, Block, ends_the_block
from .properties import Property
from .values import Values, give_back, take
from .views import Epoch, View

if TYPE_CHECKING:
    from . import collection
    from .loops import Loop
    from .savepoint import Savepoint
    from .schema import Binding
    from .store import Store

_begin_within = _ffi.bind("objstore_begin_within")
_try_begin = _ffi.bind("objstore_try_begin")
_commit = _ffi.bind("objstore_commit")
_cancel = _ffi.bind("objstore_cancel")
_create = _ffi.bind("objstore_create")
_upsert = _ffi.bind("objstore_upsert")
_set = _ffi.bind("objstore_set")
_increment = _ffi.bind("objstore_increment")
_delete = _ffi.bind("objstore_delete")
_delete_together = _ffi.bind("objstore_delete_objects")
_delete_all = _ffi.bind("objstore_delete_all")
_delete_everything = _ffi.bind("objstore_delete_everything")
_results_set = _ffi.bind("objstore_results_set")
_results_increment = _ffi.bind("objstore_results_increment")
_results_delete = _ffi.bind("objstore_results_delete")
_set_objects = _ffi.bind("objstore_collection_set_objects")
_delete_objects = _ffi.bind("objstore_collection_delete_objects")
_insert_rows = _ffi.bind("objstore_insert_rows")

Policy = Literal["error", "modified", "all"] | bool  # True is "all", False "error"
POLICIES = {"error": 0, "modified": 1, "all": 2}
OPEN = 2**64 - 1  # no version
UNCHANGED, CHANGED, CREATED = 0, 1, 2  # objstore_outcome
# Who waits for another writer looks this often for signals, and whether the store was closed: too short a time for
# WAITED to be called.
SLICE_MS = 200


class _Here(threading.local):
    """What tells the calling thread from all others, also from those that ended: their idents are used again."""

    def __init__(self) -> None:
        self.thread = object()
        self.writes: set[Transaction] = set()  # that it has begun and not ended
        self.ending = None if threading.current_thread() is threading.main_thread() else _Ending(self.writes)


class _Ending:
    """Ends the writes that a thread leaves when it ends: on that thread, since other processes wait for them as well,
    of which nobody in this one hears. The main thread ends with the process, and the library lets go of everything
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


class _Done:
    """What is awaited, and is there."""

    def __await__(self) -> Iterator[Any]:
        return iter(())


_DONE: Awaitable[None] = _Done()  # type: ignore[assignment]  # an iterator without a send()


class Counts(NamedTuple):
    """What became of many objects."""

    created: int
    changed: int
    unchanged: int


def policy_number(update: Policy) -> int:
    try:
        if isinstance(update, bool):
            return POLICIES["all" if update else "error"]
        return POLICIES[update]
    except (KeyError, TypeError):
        raise InvalidArgument(f"update is 'error', 'modified' or 'all', not {update!r}") from None


class Transaction(View, Block):
    """An open write. Leaving the with block commits; an exception, or cancel(), undoes everything.

    It belongs to the thread (and the asyncio task) that began it: nobody else sees or disturbs what it did so far.
    """

    is_write = True

    def __init__(self, store: "Store", timeout: float | None) -> None:
        super().__init__(0, fast=False)
        self.store = store
        self._timeout = timeout
        self._ending, self._is_inside = None, False
        self._cell = ctypes.c_void_p()  # what the library writes the handle to
        self._version = ctypes.c_uint64(OPEN)  # and the version that the commit made
        self._is_over = False  # was it ended, and is everything in order again?
        self._thread: object = None
        self._task: Any = None
        self.beside: set[Transaction] = set()  # what its thread has begun and not ended
        self.owner = threading.current_thread()  # who begins it
        self.waits = False  # is it in the queue of tasks?
        self.lost = ""  # why others ended it
        self._added: list[list[Any]] = []
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
            self._task.add_done_callback(self._task_ended)

    def _task_ended(self, _: object) -> None:
        """Nobody else can end it: others wait for it."""
        if self.is_open:
            tell([self.store._lose(self, self.ended_inside())], 1)

    def task_has_ended(self) -> bool:
        return self._task is not None and bool(self._task.done())

    def ended_inside(self) -> str:
        """For messages about one that was left: who has ended."""
        whose = f"task {_name(self._task)!r}" if self.task_has_ended() else f"thread {self.owner.name!r}"
        return f"{whose} ended inside of a write of"

    def was_entered_by_hand(self) -> bool:
        """No with statement has it."""
        return self._ending is None

    async def __aenter__(self) -> "Transaction":
        self._enters()
        try:
            self.store._begins(self)
            self._check_alone(waits=True)
            self.waits = True
            await turns.take(self, self._try_begin, self._timeout)
            self.waits = False
            self._has_begun()
            return self
        except BaseException:
            self._abandon()
            raise

    @ends_the_block
    def __aexit__(self, kind: type[BaseException] | None, error: object, trace: object) -> Awaitable[None]:
        # Not a coroutine: what the statement has is gone when that begins, and with it the block.
        self._exit(kind)
        return _DONE

    @ends_the_block
    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        self._exit(kind)

    def _exit(self, kind: type[BaseException] | None) -> None:
        if self.is_open and kind is not None and self.store._is_inherited:
            self._abandon()  # in a forked child: the write is the parent's, and what the program raised gets out
        elif self.is_open and kind is not None:
            self._cancel()
        elif self.is_open:
            if self._ending is None and not self.mine():  # no with statement has it: nobody else is going to end it
                self._abandon()
                raise NotInWrite("the transaction belongs to another thread or task; it is cancelled")
            self._check_mine()
            self._commit()
        elif self.lost and kind is None:
            raise (Closed if self.store.is_closed else NotInWrite)(self.lost)
        self._over()

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
            else:  # of a call that is not over: it goes on
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
        committed = self._version.value != OPEN
        if self._cell.value and not committed and _cancel(self._cell) == Status.IN_CALLBACK:
            return
        self._end(committed)

    def savepoint(self) -> "Savepoint":
        """A scope inside the transaction: with tx.savepoint(): …

        Leaving the with block keeps what was done in it; an exception, or cancel(), undoes that and nothing else, and
        whoever catches the exception can go on with the transaction. Scopes nest. Objects that were added in a scope
        that is undone are unmanaged again.
        """
        from .savepoint import Savepoint

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
        """Is the caller who began it?"""
        return self._thread is here.thread and self._task is current_task()

    def _check_alone(self, waits: bool = False) -> None:
        """AlreadyInWrite: the calling thread would wait for itself. `waits`: it lets other tasks go on meanwhile."""
        for other in list(here.writes):
            if other is self or not other.is_open or other.store._tag != self.store._tag or other.store.is_closed:
                continue
            if other.store._is_inherited:
                continue  # the parent's, who goes on: this is a child that was forked inside of it
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

    def _try_begin(self) -> None:
        check(_try_begin(self.store._open_handle(), ctypes.byref(self._cell)))

    def _begin(self) -> None:
        out = ctypes.byref(self._cell)
        if self._timeout == 0:
            return self._try_begin()
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
        """For loops that go on: the lists of the library end now."""
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
        if self._task is not None:
            self._task.remove_done_callback(self._task_ended)
        if committed:
            for group in self._added:
                objects.forget(group)
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
            objects.loosen(group)
        del self._added[kept:]

    def _undone(self, kept: int) -> None:
        """A savepoint was rolled back, before which `kept` groups had been added."""
        self._loosen(kept)
        self._wrote_many()
        for loop in self.loops:
            loop.leave_out_undone()

    def settle(self, place: tuple[int, int, int] | None = None) -> None:
        """A list, set or dict is about to change; without one: any of them may. Loops over it read what is left."""
        for reading in list(self.readings) if self.readings else ():
            if place is None or place == reading.place:
                reading.settle()

    # Changing. Everything here is called by the store, on the right thread.

    def _writes(self, class_id: int, key: int) -> None:
        """Before an object is written: what was read of it, and found, is not good any more, however the call ends."""
        self.written.add((class_id, key))
        self._evaluations.clear()

    def _wrote_many(self) -> None:
        self.epoch = Epoch(False)  # no block that was read before is good any more
        self.written.clear()
        self._evaluations.clear()

    def set(self, binding: "Binding", key: int, prop: Property, value: Any) -> None:
        s = take()
        s.head.value, s.key.value = binding.head, key
        s.values.put_one(prop, value)
        self.written.add((binding.class_id, key))  # as _writes()
        self._evaluations.clear()
        if status := _set(self.handle, s.object, binding.ids[prop.index], s.values.first):
            raise failure(status)
        give_back(s)

    def increment(self, binding: "Binding", key: int, prop: Property, delta: int) -> None:
        s = take()
        s.head.value, s.key.value = binding.head, key
        self._writes(binding.class_id, key)
        if status := _increment(self.handle, s.object, binding.ids[prop.index], delta, None):
            raise failure(status)
        give_back(s)

    def set_results(self, results: int, binding: "Binding", properties: list[Property], values: list[Any]) -> int:
        """The same values for all objects of results, a handle; how many there are."""
        return self._changed_many(_results_set, results, self.handle, *_row(binding, properties, values))

    def increment_results(self, results: int, binding: "Binding", prop: Property, delta: Any) -> int:
        room = Values(1)
        room.put_one(prop, delta)
        return self._changed_many(_results_increment, results, self.handle, binding.ids[prop.index], room.first)

    def delete_results(self, results: int) -> int:
        self.settle()
        return self._changed_many(_results_delete, results, self.handle)

    def set_objects(self, collection: Any, binding: "Binding", properties: list[Property], values: list[Any]) -> int:
        """The same values for all objects that a collection, a C value, has links to; how many there are."""
        return self._changed_many(_set_objects, self.handle, collection, *_row(binding, properties, values))

    def delete_objects(self, collection: Any) -> int:
        self.settle()
        return self._changed_many(_delete_objects, self.handle, collection)

    def _changed_many(self, function: Any, *arguments: Any) -> int:
        count = ctypes.c_uint64()
        try:
            check(function(*arguments, ctypes.byref(count)))
        finally:
            self._wrote_many()
        return count.value

    def create(self, binding: "Binding", properties: list[Property], values: list[Any], policy: int) -> tuple[int, int]:
        """Creates or updates one object; its key, and which of the two: UNCHANGED, CHANGED or CREATED."""
        count = len(properties)
        room = Values(max(count, 1))
        room.fill(properties, values)
        ids = columns.property_ids([binding.ids[p.index] for p in properties])
        made, outcome = _ffi.Object(), CREATED
        self._evaluations.clear()
        if policy == 0:
            status = _create(self.handle, binding.class_id, ids, room.address, count, ctypes.byref(made))
        else:
            out = ctypes.c_int32()
            status = _upsert(
                self.handle, binding.class_id, policy, ids, room.address, count, ctypes.byref(made), ctypes.byref(out)
            )
            outcome = out.value
        if status:
            raise failure(status)
        key: int = made.key
        self.written.add((binding.class_id, key))
        return key, outcome

    def insert(self, built: columns.Columns, policy: int) -> "tuple[Counts, memoryview]":
        """Creates or updates many objects, all or none of them; their keys."""
        keys = columns.words(built.rows)
        counts = _ffi.InsertCounts()
        if policy == 0:
            self._evaluations.clear()  # what was read before is as it was
        else:
            self._wrote_many()
        status = _insert_rows(
            self.handle,
            built.binding.class_id,
            policy,
            built.array,
            built.count,
            built.rows,
            columns.address_of(keys),
            ctypes.byref(counts),
        )
        if status:
            raise failure(status)
        return Counts(counts.created, counts.changed, counts.unchanged), memoryview(keys)

    def adopt(self, binding: "Binding", group: list[Any], keys: Any) -> None:
        """Makes unmanaged objects the store's."""
        objects.manage(group, self.store._unread(binding), keys)
        self._added.append(group)

    def delete(self, binding: "Binding", key: int) -> None:
        self.settle()
        self._writes(binding.class_id, key)
        if binding.is_target or binding.takes_along:
            self._wrote_many()  # links to it are None then, whoever has them; and others may go, too
        check(_delete(self.handle, _ffi.Object(binding.class_id, binding.head >> 32, key)))

    def delete_together(self, heads: "Sequence[int]", keys: "Sequence[int]") -> None:
        """Deletes objects, all or none, whose class and store, and keys, are given."""
        self.settle()
        given = array("Q", [word for pair in zip(heads, keys) for word in pair])
        self._wrote_many()
        check(_delete_together(self.handle, given.buffer_info()[0], len(keys)))

    def delete_all(self, binding: "Binding") -> int:
        self.settle()
        return self._changed_many(_delete_all, self.handle, binding.class_id)

    def delete_everything(self) -> int:
        self.settle()
        return self._changed_many(_delete_everything, self.handle)


def _row(binding: "Binding", properties: list[Property], values: list[Any]) -> tuple[Any, Any, int]:
    """Converted values of one object for a call: their properties, the values, how many. Their memory is kept by the C
    array."""
    room = Values(max(len(properties), 1))
    room.fill(properties, values)
    return columns.property_ids([binding.ids[p.index] for p in properties]), _Kept(room), len(properties)


class _Kept:
    """The address of values, for ctypes, and the values as long as it."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self._as_parameter_ = values.address


def _name(task: object) -> str:
    return str(getattr(task, "get_name", lambda: "?")())


def current_task() -> object:
    """The running asyncio task, if there is one."""
    running = _running[0] if _running else _find_running()
    if running is None or running() is None:
        return None
    import asyncio  # which is there

    return asyncio.current_task()


def _find_running() -> Any:
    """The function that says which loop runs; None: nobody has loaded asyncio, or it is just being loaded."""
    running = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
    if running is not None:
        _running.append(running)
    return running


_running: list[Any] = []  # as soon as it is found
