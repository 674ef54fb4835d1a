"""The inside of an open store: its handle, the snapshot that is read through, and the writes that are open."""

import ctypes
import os
import threading
import warnings
import weakref
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import AlreadyInWrite, Closed, Forked, InvalidArgument, NoSuchObject, Status, WrongStore
from ..models.model import Model, ModelMeta
from ..native import ffi
from ..native.failures import check, failure
from ..native.handles import Bag, Closer, ClosingBlock, Handle, cell_of, forget, when_gone
from ..observing.key_paths import KeyPaths
from ..observing.streams import AnyStream, ChangeStream, ElementStream
from ..observing.tokens import ChangeToken, ElementToken, Token
from ..observing.worker import Worker
from ..reading.views import Block, Epoch, Snapshot, View
from ..schema import file_models
from ..schema.bindings import Binding
from ..values.c_values import give_back, take
from ..values.kinds import LINK
from ..writing import event_loops
from ..writing.current_thread import OWN_REFERENCES, count_references, current_task, here, tell
from ..writing.transaction import Transaction
from . import idle_stores, query_functions, query_watch, store_info, submitted
from .creation import Factory
from .frozen import Frozen, freeze
from .opened import stores as _stores

if TYPE_CHECKING:
    from ..collections.mixed import Nested
    from ..collections.queried import Queried
    from ..models.properties import Property


_close = ffi.bind("objstore_close")
_get_info = ffi.bind("objstore_get_info")
_view_open = ffi.bind("objstore_view_open")
_view_refresh = ffi.bind("objstore_view_refresh")
_notify_fd = ffi.bind("objstore_notify_fd")
_view_close = ffi.bind("objstore_view_close")
S = TypeVar("S")


class OpenStore(Factory, ClosingBlock):
    """The handle of an open store, the snapshot that is read through, and the writes that are open."""

    _instead = "; open it again by its path, or store.copy_to() another one"

    def __init__(
        self,
        handle: ctypes.c_void_p,
        models: Iterable[ModelMeta] | None,
        write_timeout: float | None,
        opening: int | None = None,
    ) -> None:
        """`models`: None: those that the file has. `opening`: the transaction that opens the store, and may be the
        first to see its classes."""
        self._ending, self._is_inside = None, False
        self._cell = cell_of(self, _close)  # a store without references is closed
        self._cell.value = handle.value
        self._handle: int | None = handle.value
        self._write_timeout = write_timeout
        found = _info(handle)
        self._path = ffi.string(found.path)
        # No __del__, in which a signal handler's exception would be lost: the warning is a call of C, too.
        self._unclosed: Closer | None = when_gone(
            self, partial(warnings.warn, f"{self!r} was never closed", ResourceWarning, 1)
        )
        self._tag = found.store_tag
        self._lock = threading.RLock()  # of what follows; held for a moment only
        self._snapshot: Snapshot | None = None
        self._version = 0  # of the newest snapshot so far
        self._probe: Handle | None = None  # the live view that notices newer versions
        self._transaction: Transaction | None = None
        self._writes: set[Transaction] = set()  # those that were begun, and are not over
        self._has_withdrawn = False  # has a task left the queue of the library since the last one had its turn?
        self._is_closing = False  # no commit is asked for any more
        self._used = False
        self._autorefresh = True
        self._is_inherited = False  # does the store belong to the parent process?
        self._frozen: Bag[Frozen] = Bag()
        self._functions: list[Any] = []  # that queries call, or called
        self._worker: Worker | None = None
        self._watch = 0  # the number of what is told how far they have come
        self._blocks: dict[Binding, Block] = {}
        probe = self._open_probe()
        view = probe if opening is None else opening
        if models is None:
            models = file_models.models(view).values()
        bindings: dict[type, Binding] = {model: Binding(model, view, self._tag) for model in models}
        for binding in list(bindings.values()):
            for prop in binding.links + binding.owning:
                bindings[prop.target].is_target = True
        super().__init__(bindings)
        with self._lock:
            self._newest()
        # Not before: on a slow machine the idle thread would let go of the probe while the bindings are made through
        # it.
        idle_stores.watch(weakref.ref(self))
        _stores.add(self)

    @property
    def path(self) -> str:
        """Where the store is, absolute; or its name in memory."""
        return self._path

    @property
    def is_closed(self) -> bool:
        return self._handle is None

    def __repr__(self) -> str:
        return f"<objstore.Store {self._path!r}{', closed' if self.is_closed else ''}>"

    def close(self) -> None:
        """Closes the store, cancels a write that is open, and ends its observers. Waits for calls of other threads, and
        for relaxed commits to become durable. Closing twice is allowed. InCallback: one of its handlers called this."""
        handle = self._handle
        if handle is None:
            return
        calls = submitted.running(self)
        try:
            self._settle()
            status = _close(handle) if calls is None else calls.run(_close, handle)
        except BaseException:  # of a signal handler, when it was closed: then this says CLOSED_HANDLE
            self._settle()
            if _close(handle) != Status.IN_CALLBACK:
                self._has_closed()
            raise
        finally:
            self._is_closing = False
        if status == Status.IN_CALLBACK:
            event_loops.ring_all(self)
            raise failure(status)
        problem = failure(status) if status not in (0, Status.CLOSED_HANDLE) else None  # another thread closed it
        self._has_closed()
        if calls is not None:
            calls.problem = None
            calls.check()  # what a signal handler has raised in a body
        if problem is not None:
            raise problem

    def _settle(self) -> None:
        """From here on no commit is asked for. The tasks of those that were learn what became of them."""
        with self._lock:
            self._is_closing = True
        for write in list(self._writes):
            if write._asked.value and not self._is_inherited:
                write.wait_for_commit()

    def _has_closed(self) -> None:
        if self._unclosed is not None:
            forget(self._unclosed)
            self._unclosed = None
        self._handle = None
        with self._lock:
            self._drop()
            self._probe = None
            self._blocks.clear()  # they refer to the store
        query_functions.forget(self._functions)
        query_watch.forget(self._watch)
        self._expire_frozen()
        for write in list(self._writes):
            if write.is_open:  # who waits is woken
                write.lost = f"the store {self._path!r} was closed inside of a write, which was cancelled"
            if write.is_open or write._asked.value:
                write._abandon()
        event_loops.ring_all(self)
        if self._worker is not None:
            self._worker.end()

    def _owns(self, obj: Any) -> bool:
        """Is it a live object of this store? It may have come from another handle of it. The tag says so, and not the
        uuid: a file that was copied has the same."""
        if not isinstance(obj, Model):
            raise InvalidArgument(f"an object of a model is wanted, not {obj!r}")
        owner = obj._o_block.store
        if not isinstance(owner, OpenStore) or owner._tag != self._tag:
            return False
        owner._open_handle()  # Closed: the tag may have gone to another file since, such as a copy of that one
        return True

    @property
    def _live(self) -> "OpenStore":
        return self

    def _has(self, obj: Any) -> bool:
        """Does the object belong to this store, be it live or frozen?"""
        owner = obj._o_block.store
        live = owner._store if isinstance(owner, Frozen) else owner
        if live is None or live._tag != self._tag:
            return False
        live._open_handle()  # Closed, as above
        return True

    def _addable(self, obj: Any) -> bool:
        """Is the object unmanaged? One that is in the store already needs nothing."""
        name = type(obj).__name__
        if self._owns(obj):
            if obj.is_valid:
                return False
            raise NoSuchObject(f"this {name} was deleted", class_name=name)
        if obj._o_block.store is None:
            return True
        if obj.is_frozen:
            raise WrongStore(f"this {name} is frozen; add obj.detach()", class_name=name)
        raise WrongStore(f"this {name} is managed by another store already; add obj.detach()", class_name=name)

    @property
    def notify_fd(self) -> int:
        """A file descriptor that is readable while changes may be due, for select, poll, asyncio …:
        `loop.add_reader(store.notify_fd, store.deliver)`. Do not read or close it."""
        descriptor = ctypes.c_int32()
        check(_notify_fd(self._open_handle(), ctypes.byref(descriptor)))
        return descriptor.value

    @property
    def handle(self) -> int:
        """The `objstore *` of the C interface, for C code in this process. Valid until the store is closed."""
        return self._open_handle()

    def freeze(self) -> "Frozen":
        """The newest version, or without `autorefresh` the one that is shown, frozen: the same queries, always the same
        results. What an open write did is not in it. The version is pinned until the result is closed, or garbage."""
        with self._lock:
            return freeze(self, self._newest().handle)

    def thaw(self: S) -> S:
        """This, since it is live: for what may be frozen."""
        return self

    def invalidate(self) -> None:
        """Lets go of the version that was read last, at once, as otherwise happens when nothing was read for 0.2 s: for
        a program that reads all the time, and wants what it has read to keep no old version just now. Objects, results
        and collections show what they refer to, not what they have read: they can be used afterwards, and show the
        newest version. A loop that has begun keeps its own, as does what is frozen. A write that is open goes on."""
        self._open_handle()
        self._let_go()

    # The file

    def statistics(self) -> store_info.Statistics:
        return store_info.statistics(self._open_handle())

    # For objects and results

    def _open_handle(self) -> int:
        if self._is_inherited:
            raise Forked(f"the store {self._path!r} was opened by the parent process: open it again in this one")
        if self._handle is None:
            raise Closed(f"the store {self._path!r} is closed")
        return self._handle

    def _unread(self, binding: Binding) -> Block:
        block = self._blocks.get(binding)
        if block is None:
            block = self._blocks[binding] = super()._unread(binding)
        return block

    def _observe_object(
        self, binding: Binding, key: int, handler: Any, keys: Any, initial: bool, since: bytes | None
    ) -> Token:
        token: ChangeToken[Any] = ChangeToken(self, binding, handler, keys)
        token.observe_object(key, initial, since)
        return token

    def _observe_collection(
        self, seen: "Queried[Any]", handler: Any, keys: Any, initial: bool, since: bytes | None
    ) -> Token:
        token = self._collection_token(seen, handler, keys)
        token.observe_collection(seen._c, initial, since)
        return token

    def _collection_token(self, seen: "Queried[Any]", handler: Any, keys: Any) -> ChangeToken[Any]:
        element = seen._shape.element
        if seen._shows_objects:
            return ChangeToken(self, self._leading(element.target), handler, keys)
        paths = self._element_paths(seen, keys)
        return ElementToken(self, self._binding(seen._owner), handler, seen._shape, seen._prop.path, paths)

    def _observe_nested(self, seen: "Nested", handler: Any, initial: bool, since: bytes | None) -> Token:
        token = ElementToken(self, self._binding_of(seen), handler, seen._shape, seen._place)
        token.observe_nested(seen._calling, initial, since)
        return token

    def _nested_changes(self, seen: "Nested", initial: bool, since: bytes | None) -> AnyStream[Any]:
        stream = ElementStream(self, self._binding_of(seen), seen._shape, seen._place)
        return stream.of_nested(seen._calling, initial, since)

    def _binding_of(self, seen: "Nested") -> Binding:
        binding = self._of_class(seen._head & 0xFFFF_FFFF)
        assert binding is not None  # it has made the object
        return binding

    def _element_paths(self, seen: "Queried[Any]", keys: Any) -> KeyPaths | None:
        """Of the objects that a dict leads to; InvalidArgument: the elements are no objects."""
        element = seen._shape.element
        if keys is not None and element.kind == LINK:
            return KeyPaths(self._leading(element.target), keys)
        seen._refuse_keys(keys)
        return None

    def _collection_changes(
        self, seen: "Queried[Any]", keys: Any, initial: bool, since: bytes | None
    ) -> AnyStream[Any]:
        if seen._shows_objects:
            stream: ChangeStream[Any] = ChangeStream(self, self._leading(seen._shape.element.target), keys)
            return stream.of_collection(seen._c, initial, since)
        paths = self._element_paths(seen, keys)
        owner, path = self._binding(seen._owner), seen._prop.path
        return ElementStream(self, owner, seen._shape, path, paths).of_collection(seen._c, initial, since)

    def _lasting(self) -> Frozen:
        return self.freeze()

    def _lent(self, view: int, ended: str) -> Frozen:
        """What a view shows that has another owner."""
        return Frozen(self, View(view, fast=True), ended)

    def _observed(self) -> "OpenStore":
        self._open_handle()
        if self._transaction is not None and self._transaction.mine():
            raise AlreadyInWrite("observe before the write, or after it: what it does can still be undone")
        return self

    def _writing(self, prop: "Property | None" = None) -> Transaction:
        transaction = self._transaction
        # as mine()
        if transaction is not None and transaction._thread is here.thread and transaction._task is current_task():
            return transaction
        self._open_handle()
        return super()._writing(prop)  # type: ignore[no-any-return]  # raises

    def _reader(self) -> View:
        transaction = self._transaction
        # as mine()
        if transaction is not None and transaction._thread is here.thread and transaction._task is current_task():
            return transaction
        with self._lock:
            return self._newest()

    def _any_view(self) -> View:
        snapshot = self._snapshot
        return snapshot if snapshot is not None and self._transaction is None else self._reader()

    def _view_for(self, epoch: Epoch) -> View:
        transaction = self._transaction
        if transaction is not None and transaction.mine():
            return transaction
        snapshot = self._snapshot
        if snapshot is not None and snapshot.epoch is epoch:
            return snapshot
        with self._lock:
            return self._newest()

    def _newest(self) -> Snapshot:
        """The snapshot of the newest version, or of the one that is to be shown. Under the lock."""
        self._used = True
        snapshot = self._snapshot
        if snapshot is not None and not self._autorefresh:
            return snapshot
        if snapshot is not None and self._probe is not None:
            s = take()
            if status := _view_refresh(self._probe.cell, s.flag_address):
                raise failure(status)
            changed = s.flag.value
            give_back(s)
            if not changed:
                return snapshot
            self._drop()
        elif self._probe is not None:
            check(_view_refresh(self._probe.cell, None))
        let_go = self._probe is None
        snapshot = Snapshot(self._open_probe(), fast=self._transaction is None)
        if let_go:
            idle_stores.watch(weakref.ref(self))
        self._snapshot = snapshot
        self._version = snapshot.version()
        return snapshot

    def _has_moved(self) -> bool:
        """Is there a newer version than the snapshot's, or none to be had any more?"""
        if self._probe is None:
            return True
        changed = ctypes.c_bool()
        return _view_refresh(self._probe.cell, ctypes.byref(changed)) != 0 or changed.value

    def _open_probe(self) -> int:
        if self._probe is None:
            probe = Handle(_view_close)
            check(_view_open(self._open_handle(), ctypes.byref(probe.cell)))
            self._probe = probe
        return self._probe.cell.value or 0

    def _drop(self) -> None:
        """The snapshot is not the one to read through any more. Under the lock."""
        if self._snapshot is not None:
            self._snapshot.epoch.fast = False
            self._snapshot = None

    def _holds(self) -> bool:
        return self._probe is not None and self._autorefresh

    def _follow(self) -> None:
        """A handler is about to be called: what was read before is not to be older than what it is told."""
        with self._lock:
            if self._autorefresh and self._snapshot is not None and self._has_moved():
                self._drop()

    def _let_go_if_idle(self) -> bool:
        """Pins nothing from now on, if there was no read since the last call; called by the idle thread."""
        with self._lock:
            if not self._autorefresh:
                return True
            if self._used:
                self._used = False
                return False
            snapshot = self._snapshot
            if snapshot is not None and any(True for _ in snapshot.iterations):
                # A loop keeps the version anyway, and continues with what it has read until there is a newer one.
                if self._has_moved():
                    self._drop()
                return False
            snapshot = None
        self._let_go()
        return True

    def _let_go(self) -> None:
        """Pins nothing until the next read."""
        with self._lock:
            self._drop()
            self._probe = None

    def _begins(self, transaction: Transaction) -> None:
        """From here on it is found, also when a signal handler keeps it from being open for Python."""
        self._cancel_left()
        transaction.beside = here.writes
        here.writes.add(transaction)
        self._writes.add(transaction)

    def _cancel_left(self) -> None:
        """Cancels writes of this file that nothing is going to end."""
        stores = [store for store in _stores if store._writes and store._tag == self._tag and not store._is_inherited]
        if stores:
            tell([what for store in stores for what in store._lose_left()], 4)  # the caller of store.write()

    def _lose_left(self) -> list[str]:
        lost = []
        writes = list(self._writes)
        for index, references in enumerate(count_references(writes)):
            write = writes[index]
            if write.is_left():
                write._abandon()
            elif not write.owner.is_alive() or (write.is_open and write.task_has_ended()):
                lost.append(self._lose(write, write.ended_inside()))
            elif write.is_open and write.was_entered_by_hand() and references <= OWN_REFERENCES:
                lost.append(
                    self._lose(write, "nobody has a transaction any more that was entered without 'with': a write of")
                )
        return lost

    def _lose(self, write: Transaction, why: str) -> str:
        """Cancels a write that nothing can end; returns what to report about it, beginning with `why`. Of one that was
        still waiting, nothing."""
        has_begun = bool(write._cell.value) and not write.lost and not write._asked.value
        if has_begun:
            write.lost = f"{why} {self._path!r}, which was cancelled"
        write._abandon()
        return write.lost if has_begun else ""

    def _began(self, transaction: Transaction) -> None:
        with self._lock:
            self._transaction = transaction
            if self._snapshot is not None:
                self._snapshot.epoch.fast = False  # its blocks are good, but not for the writing thread

    def _hide(self, transaction: Transaction) -> None:
        """It is about to end: a signal handler that comes before Python knows how reads what was there before, or is
        there now."""
        with self._lock:
            if self._transaction is transaction:
                self._transaction = None

    def _ended(self, transaction: Transaction, committed: bool) -> None:
        with self._lock:
            if self._transaction is transaction:
                self._transaction = None
            if not committed and self._snapshot is not None and self._transaction is None:
                self._snapshot.epoch.fast = True
        if committed:
            for store in list(_stores):  # other handles of this file, too
                if store._tag == self._tag and (store is self or store._autorefresh):
                    with store._lock:
                        store._drop()
        self._writes.discard(transaction)
        transaction.beside.discard(transaction)

    def _expire_frozen(self) -> None:
        for frozen in list(self._frozen):
            frozen._expire()

    def _forget_parent(self) -> None:
        """In a forked child: nothing is at hand any more, so that every use goes to the library, which refuses it."""
        self._lock = threading.RLock()
        self._is_inherited = True
        self._drop()
        self._transaction = None
        self._expire_frozen()


def _info(handle: ctypes.c_void_p) -> Any:
    found = ffi.Info(struct_size=ctypes.sizeof(ffi.Info))
    check(_get_info(handle, ctypes.byref(found)))
    return found


def _after_fork() -> None:
    for store in list(_stores):
        store._forget_parent()


os.register_at_fork(after_in_child=_after_fork)
