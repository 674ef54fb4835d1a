"""Writing: the transaction behind `with store.write():`, and every change that can be made in it."""

import ctypes
import sys
import threading
import weakref
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _ffi, columns, objects
from ._check import check, failure
from .arguments import milliseconds
from .errors import Error, InvalidArgument, NotInWrite, Status
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
UNCHANGED, CHANGED, CREATED = 0, 1, 2  # objstore_outcome
SLICE_MS = 200  # who waits for another writer looks so often for signals, and whether the store was closed


class _Here(threading.local):
    """What tells the calling thread from all others, also from those that ended: their idents are used again."""

    def __init__(self) -> None:
        self.thread = object()


here = _Here()


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


class Transaction(View):
    """An open write. Leaving the with block commits; an exception, or cancel(), undoes everything.

    It belongs to the thread (and the asyncio task) that began it: nobody else sees or disturbs what it did so far.
    """

    is_write = True

    def __init__(self, store: "Store", timeout: float | None) -> None:
        super().__init__(0, fast=False)
        self.store = store
        self._timeout = timeout
        self._number = 0
        self._thread: object = None
        self._task: object = None
        self._added: list[list[Any]] = []
        self.loops: weakref.WeakSet[Loop] = weakref.WeakSet()
        self.readings: weakref.WeakSet[collection.Loop] = weakref.WeakSet()
        self.written: set[tuple[int, int]] = set()
        self.is_open = False

    # Beginning and ending

    def __enter__(self) -> "Transaction":
        if self._thread is not None:
            raise InvalidArgument("a transaction is used once: call store.write() for each")
        self.handle = self._begin()
        self._thread, self._task = here.thread, current_task()
        self.is_open = True
        self.store._began(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if not self.is_open:
            return
        if kind is not None:
            self._cancel()
            return
        self._check_mine()
        self._outlive()
        version = ctypes.c_uint64()
        status = _commit(self.handle, ctypes.byref(version))
        problem = failure(status) if status else None  # before anything else can fail
        self._number = version.value
        self._end(committed=status == 0)
        if problem is not None:
            raise problem

    def cancel(self) -> None:
        """Undoes everything and ends the transaction; what follows in the with block is outside of it."""
        if not self.is_open:
            raise NotInWrite("the transaction has ended already")
        self._check_mine()
        self._cancel()

    def _check_mine(self) -> None:
        if not self.mine():
            raise NotInWrite("the transaction belongs to another thread or task")

    def _cancel(self) -> None:
        self._outlive()
        status = _cancel(self.handle)
        if status == Status.IN_CALLBACK:  # of a call that is not over: it goes on
            raise failure(status)
        problem = failure(status) if status not in (0, Status.CLOSED_HANDLE) else None  # closed with the store
        self._end(committed=False)
        if problem is not None:
            raise problem

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
        return super().version() if self.is_open else self._number

    @property
    def added(self) -> int:
        """How many groups of objects were added so far."""
        return len(self._added)

    def mine(self) -> bool:
        """Is the caller who began it?"""
        return self._thread is here.thread and self._task is current_task()

    def _begin(self) -> int:
        handle = ctypes.c_void_p()
        out = ctypes.byref(handle)
        if self._timeout == 0:
            check(_try_begin(self.store._open_handle(), out))
            return handle.value or 0
        left = None if self._timeout is None else milliseconds(self._timeout)
        while True:
            wait = SLICE_MS if left is None else min(left, SLICE_MS)
            status = _begin_within(self.store._open_handle(), wait, out)
            if left is not None:
                left -= wait
            if status == Status.TIMEOUT and (left is None or left > 0):
                continue
            check(status)
            return handle.value or 0

    def _outlive(self) -> None:
        """For loops that go on: the lists of the library end now."""
        self._evaluations.clear()
        for loop in self.loops:
            loop.outlive()
        try:
            self.settle()
        except (Error, MemoryError):
            pass  # its store is closed already, as a rule; the write must end, and the loop is going to say it is Closed

    def _end(self, committed: bool) -> None:
        self.is_open = False
        if committed:
            for group in self._added:
                objects.forget(group)
            self._added = []
        else:
            self._loosen(0)
        self.store._ended(self, committed)
        if not committed and not self.store.is_closed:
            for loop in self.loops:
                loop.leave_out_undone()

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

    def _wrote(self, class_id: int, key: int) -> None:
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
        if status := _set(self.handle, s.object, binding.ids[prop.index], s.values.first):
            raise failure(status)
        give_back(s)
        self._wrote(binding.class_id, key)

    def increment(self, binding: "Binding", key: int, prop: Property, delta: int) -> None:
        s = take()
        s.head.value, s.key.value = binding.head, key
        if status := _increment(self.handle, s.object, binding.ids[prop.index], delta, None):
            raise failure(status)
        give_back(s)
        self._wrote(binding.class_id, key)

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
        check(function(*arguments, ctypes.byref(count)))
        self._wrote_many()
        return count.value

    def create(self, binding: "Binding", properties: list[Property], values: list[Any], policy: int) -> tuple[int, int]:
        """Creates or updates one object; its key, and which of the two: UNCHANGED, CHANGED or CREATED."""
        count = len(properties)
        room = Values(max(count, 1))
        room.fill(properties, values)
        ids = columns.property_ids([binding.ids[p.index] for p in properties])
        made, outcome = _ffi.Object(), CREATED
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
        self._wrote(binding.class_id, key)
        return key, outcome

    def insert(self, built: columns.Columns, policy: int) -> "tuple[Counts, memoryview]":
        """Creates or updates many objects, all or none of them; their keys."""
        keys = columns.words(built.rows)
        counts = _ffi.InsertCounts()
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
        if policy == 0:
            self._evaluations.clear()  # what was read before is as it was
        else:
            self._wrote_many()
        return Counts(counts.created, counts.changed, counts.unchanged), memoryview(keys)

    def adopt(self, binding: "Binding", group: list[Any], keys: Any) -> None:
        """Makes unmanaged objects the store's."""
        objects.manage(group, self.store._unread(binding), keys)
        self._added.append(group)

    def delete(self, binding: "Binding", key: int) -> None:
        self.settle()
        check(_delete(self.handle, _ffi.Object(binding.class_id, binding.head >> 32, key)))
        self.written.add((binding.class_id, key))
        if binding.is_target or binding.takes_along:
            self._wrote_many()  # links to it are None now, whoever has them; and others may have gone, too
        self._evaluations.clear()

    def delete_together(self, heads: "Sequence[int]", keys: "Sequence[int]") -> None:
        """Deletes objects, all or none, whose class and store, and keys, are given."""
        self.settle()
        given = array("Q", [word for pair in zip(heads, keys) for word in pair])
        check(_delete_together(self.handle, given.buffer_info()[0], len(keys)))
        self._wrote_many()

    def delete_all(self, binding: "Binding") -> int:
        self.settle()
        return self._changed_many(_delete_all, self.handle, binding.class_id)

    def delete_everything(self) -> int:
        self.settle()
        return self._changed_many(_delete_everything, self.handle)


def _row(binding: "Binding", properties: list[Property], values: list[Any]) -> tuple[Any, Any, int]:
    """Converted values of one object for a call: their properties, the values, how many. Their memory is kept by the C array."""
    room = Values(max(len(properties), 1))
    room.fill(properties, values)
    return columns.property_ids([binding.ids[p.index] for p in properties]), _Kept(room), len(properties)


class _Kept:
    """The address of values, for ctypes, and the values as long as it."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self._as_parameter_ = values.address


def current_task() -> object:
    """The running asyncio task, if there is one."""
    asyncio = sys.modules.get("asyncio")
    running = getattr(asyncio, "_get_running_loop", None)  # not while asyncio is just being imported
    if asyncio is None or running is None or running() is None:
        return None
    return asyncio.current_task()
