"""Open stores: what programs do with them."""

import functools
import inspect
import os
import weakref
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from ..arguments import seconds, switch
from ..building.outcomes import Counts, Policy, policy_number
from ..errors import InvalidArgument, NoSuchObject, WrongStore
from ..models.model import Model
from ..native import ffi
from ..native.callbacks import ended, plain
from ..native.failures import check
from ..observing import delivery
from ..observing.changes import Changes
from ..observing.commits import Commits, CommitToken
from ..observing.streams import ChangeStream, CommitStream, ObjectStream
from ..observing.tokens import ChangeToken, Token
from ..observing.typed_functions import TypedToken
from ..reading.views import View
from ..writing import adding, event_loops
from ..writing.silent import AnyToken
from ..writing.transaction import Transaction
from . import (
    bound_functions,
    deletion,
    idle_stores,
    kept_versions,
    maintenance,
    query_functions,
    query_watch,
    store_info,
    submitted,
)
from .bound_functions import Bound
from .frozen import Frozen, freeze
from .kept_versions import KeptVersion
from .open_store import OpenStore

_flush = ffi.bind("objstore_flush")

M = TypeVar("M", bound=Model)
T = TypeVar("T")
P = ParamSpec("P")
_UNSET: Any = object()


class Store(OpenStore):
    """An open store: `with objstore.open(…) as store:`. Any thread may use it.

    Reading sees the newest version, unless `autorefresh` is off: what this process committed at once; what another
    process committed with the next get, query or refresh, before the next handler is called, and in attributes of
    objects that were read together at most 0.2 s later. No reader sees half a transaction. All threads read through one
    snapshot, which moves on by itself and is let go of when the program has not read for 0.2 s; keeping objects and
    results around pins nothing.
    """

    _instead = "; open it again by its path, or store.copy_to() another one"

    def __enter__(self) -> "Store":
        self._is_inside = True  # first: from here on what raises closes it
        self._open_handle()
        return self

    # Writing

    @overload
    def write(self, *, without_notifying: Iterable[AnyToken] = ..., timeout: float | None = ...) -> Transaction: ...
    @overload
    def write(
        self,
        body: Callable[[Transaction], T],
        *,
        without_notifying: Iterable[AnyToken] = ...,
        timeout: float | None = ...,
    ) -> T: ...
    def write(
        self,
        body: Callable[[Transaction], T] | None = None,
        *,
        without_notifying: Iterable[AnyToken] = (),
        timeout: float | None = _UNSET,
    ) -> Any:
        """`with store.write() as tx:` makes everything inside one transaction: durable as a whole when the block ends,
        undone as a whole by an exception or tx.cancel(). `store.write(body)` calls body(tx) in one and returns its
        result.

        Waits while another thread or process writes: `timeout` seconds (Timeout), None = for ever, 0 = not at all
        (Busy); usually what open() was given. AlreadyInWrite: this thread has a write open, perhaps in another task.
        `without_notifying`: observers that are not told of it, as by tx.without_notifying().

        In a task of asyncio or trio `async with store.write() as tx:` does the same while the loop continues: see
        write_async()."""
        transaction = self._made(without_notifying, timeout)
        if body is None:
            return transaction
        plain("the body", body)
        with transaction:
            result = body(transaction)
            ended("the body", result, is_used=True)
            return result

    def _made(self, silent: Iterable[AnyToken], timeout: float | None) -> Transaction:
        timeout = self._write_timeout if timeout is _UNSET else seconds("timeout", timeout)
        return Transaction(self, timeout, tuple(silent))

    @overload
    def write_async(
        self, *, without_notifying: Iterable[AnyToken] = ..., timeout: float | None = ...
    ) -> Transaction: ...
    @overload
    def write_async(
        self,
        body: Callable[[Transaction], T],
        *,
        allow_grouping: bool = ...,
        without_notifying: Iterable[AnyToken] = ...,
        timeout: float | None = ...,
    ) -> Coroutine[Any, Any, T]: ...
    def write_async(
        self,
        body: Callable[[Transaction], T] | None = None,
        *,
        allow_grouping: bool = False,
        without_notifying: Iterable[AnyToken] = (),
        timeout: float | None = _UNSET,
    ) -> Any:
        """`await store.write_async(body)` calls body(tx), a function, in a transaction and returns its result;
        `async with store.write_async() as tx:` makes one of a block, in which other things may be awaited. For tasks
        of asyncio and trio: threads of the library wait for other writers and for the disk, the loop does not. Writes
        come in the order of the calls; one of `with store.write():` goes first.

        allow_grouping     the commit may be one with those of other such bodies that wait: one sync for all, of which a
                           crash leaves all or none. Without it each is a transaction of its own
        without_notifying  observers that are not told of it, as by tx.without_notifying()
        timeout            as of write(). Only the waiting for its turn counts

        A task that is cancelled while it waits for its turn leaves the queue, and the body does not run. While it waits
        for the commit, that happens all the same: the task is cancelled when it is over, and ends by the commit's error
        if it has failed; tx.version() is the version that was made, or 0."""
        transaction = self._made(without_notifying, timeout)
        if body is None:
            if allow_grouping:
                raise InvalidArgument(
                    "allow_grouping is for functions: what is in one group with a block would wait for what it awaits"
                )
            return transaction
        plain("the body", body, "; 'async with store.write_async() as tx:' is for what awaits something")
        transaction.may_group = switch("allow_grouping", allow_grouping) and not transaction._silent
        return transaction._run(body)

    def submit_write(
        self,
        body: Callable[[Transaction], T],
        *,
        allow_grouping: bool = False,
        without_notifying: Iterable[AnyToken] = (),
    ) -> "Future[T]":
        """Queues body(tx) and returns at once, for programs without a loop, or with one of their own: it runs inside
        store.deliver() or store.wait(), on the thread that calls them, and so do the callbacks of the future that is
        returned, a concurrent.futures.Future. That has the result when the transaction is committed, or the exception.
        Writes come in the order of the calls. The rest is as of write_async().

        `future.cancel()` takes the write back while it waits. `future.result()` delivers itself while it waits, so that
        it ends also where no other thread does; concurrent.futures.wait() and asyncio.wrap_future() do not: there
        `loop.add_reader(store.notify_fd, store.deliver)` does. close() runs what waits. When the program ends without
        it, that is cancelled."""
        plain("the body", body)
        return submitted.submit(self, body, switch("allow_grouping", allow_grouping), tuple(without_notifying))

    @property
    def is_writing_async(self) -> bool:
        """Is a write of write_async() or submit_write() on its way, waiting, running, or being committed?"""
        return submitted.is_writing(self)

    def transactional(self, function: Callable[Concatenate[Transaction, P], T]) -> Callable[P, T]:
        """The decorator of a function that is a transaction: its first argument is that, callers give the others.

            @store.transactional
            def rename(tx: Transaction, dog: Dog, name: str) -> None:
                dog.name = name

            rename(rex, "Max")

        A coroutine function (async def) is awaited, and its transaction is one of write_async()."""
        plain("a transactional function", function, awaits=True)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaiting(*arguments: P.args, **named: P.kwargs) -> Any:
                async with self.write_async() as tx:
                    result = await function(tx, *arguments, **named)
                    ended("a transactional function", result, is_used=True)
                return result

            return awaiting  # type: ignore[return-value]  # T is a coroutine

        @functools.wraps(function)
        def writing(*arguments: P.args, **named: P.kwargs) -> T:
            with self.write() as tx:
                result = function(tx, *arguments, **named)
                ended("a transactional function", result, is_used=True)
            return result

        return writing

    def add(self, obj: M, update: Policy = "error") -> M:
        """Adds an unmanaged object, which becomes managed, and returns it; and with it the unmanaged objects that its
        links lead to, also in a circle: all or none. When one with its primary key exists:

        error     DuplicateKey
        modified  writes the properties that differ; if none does, nothing happens
        all       writes all properties, and observers see all of them as changed
        """
        transaction = self._writing()
        if not self._addable(obj):
            return obj
        adding.add(transaction, self._binding(type(obj)), obj, policy_number(update))
        return obj

    def add_all(self, objects: Iterable[Model], update: Policy = "error") -> Counts:
        """Adds many objects, of any models; says how many were created, changed, and left as they were.

        All are added or none: code that catches an error can continue with the write. `position` of the error is where
        the object is in `objects`."""
        return adding.add_all(self._writing(), self, list(objects), policy_number(update))

    def delete(self, objects: "Model | Iterable[Model]") -> None:
        """Deletes an object, or several: those of results, of a list, set or dict of links, or of any iterable, as it
        is when the call begins. All of them, or none. Deleting one twice is NoSuchObject."""
        deletion.delete(self, objects)

    def delete_all(self, model: type[Model]) -> int:
        """Deletes all objects of a class; how many there were."""
        return self._writing().delete_all(self._binding(model))

    def delete_everything(self) -> int:
        """Deletes all objects of all classes, also of those that are not among the models; the schema stays. How many
        there were."""
        return self._writing().delete_everything()

    # Versions

    @property
    def autorefresh(self) -> bool:
        """Does what is live move to newer versions by itself, whenever something is read, and before handlers are
        called? False: it stands still, whoever commits, until refresh(), or a write of this store's own, which moves it
        to the version that it makes or a newer one; the version is pinned meanwhile. Changes are told all the same."""
        return self._autorefresh

    @autorefresh.setter
    def autorefresh(self, on: bool) -> None:
        on = switch("autorefresh", on)
        self._open_handle()
        with self._lock:
            if not on:
                self._newest()
            self._autorefresh = on
        if on:
            idle_stores.watch(weakref.ref(self))

    def refresh(self) -> bool:
        """Calls the handlers of changes that are due, on this thread, and looks for a newer version; was there one?
        Without `autorefresh` reading shows that from now on. An exception of a handler is raised here when all that is
        done. Inside of a write and of a handler nothing happens: False. Never waits for a writer.

        Reading looks for newer versions by itself: then this is for attributes of objects that were read together, and
        for the handlers. Functions of write_async() and submit_write() are not called."""
        store, before = self._open_handle(), self._version
        if (self._transaction is not None and self._transaction.mine()) or delivery.is_handling(self):
            return False
        with self._lock:
            # Kept during the call: the idle thread would close it, which waits for this, while handlers wait for the
            # lock that it holds.
            probe, _kept = self._open_probe(), self._probe
        try:
            delivery.refresh(store, probe)
        finally:
            with self._lock:
                # Reading may have moved it meanwhile; and where it has not moved, what is shown stays.
                if self._snapshot is not None and self._snapshot.version() != View(probe, fast=False).version():
                    self._drop()
        self._reader()
        return self._version != before

    async def refresh_async(self) -> bool:
        """refresh() in a task of asyncio or trio, when what else waits in the loop has had its turn."""
        await event_loops.turn()
        return self.refresh()

    # Observing

    def observe(
        self,
        model: type[M],
        handler: "Callable[[Changes[M]], object]",
        keys: "Iterable[object] | None" = None,
        *,
        initial: bool = True,
        since: bytes | None = None,
    ) -> Token:
        """Calls handler(change) for what every commit changes in a class: as store.objects(model).observe(…), without
        positions, and so without the memory for them."""
        token: ChangeToken[M] = ChangeToken(self._observed(), self._binding(model), handler, keys)
        token.observe_class(initial, since)
        return token

    def observe_commits(
        self, handler: Callable[[Commits], object], *, initial: bool = False, since: bytes | None = None
    ) -> Token:
        """Calls handler(commits) when something was committed, whichever thread or process did it, and says no more
        than that: `commits.before` and `commits.after` are the store as it was and is. Several commits come at once
        where they were not delivered in between."""
        token = CommitToken(self._observed(), handler)
        token.observe(initial, since)
        return token

    def commits(self, *, initial: bool = False, since: bytes | None = None) -> CommitStream:
        """The same for asyncio and trio: `async for commits in store.commits(): …`"""
        return CommitStream(self._observed(), initial, since)

    def changes_of(
        self, obj: M, keys: "Iterable[object] | None" = None, *, initial: bool = False, since: bytes | None = None
    ) -> ChangeStream[M]:
        """Model.observe() for asyncio and trio: `async for change in store.changes_of(dog): …`, which ends when the
        object is deleted. NoSuchObject, WrongStore."""
        store, name = self._observed(), type(obj).__name__
        if not self._owns(obj):
            raise WrongStore(f"this {name} does not belong to {self!r}, or is frozen", class_name=name)
        if not obj.is_valid:
            raise NoSuchObject(f"this {name} was deleted", class_name=name)
        stream: ObjectStream[M] = ObjectStream(store, self._binding(type(obj)), keys)
        return stream.of_object(obj._o_key, initial, since)

    def observe_typed(
        self,
        model: type[Model],
        keys: "Iterable[object]",
        signature: str,
        function: Callable[..., object],
        *,
        userdata: int | None = None,
        since: bytes | None = None,
    ) -> Token:
        """Calls function(…) once for each object that is created, or changed in one of the properties `keys`, with
        their values as arguments:

            store.observe_typed(City, ["id", "name", "population"], "i64, str, i64? -> status", on_city)

        The signature has a word for each property: bool, i64, f64, time, str, bin, with '?' where it may be None;
        `key` and `event` ("inserted" or "modified") take no property. With "-> status" a result other than 0 or None
        ends the change set (HandlerFailed), be it an int or a Status, or anything else, which is a mistake; with
        "-> void" it does not matter. Of what a query finds, and of deletions: Results.observe_typed.
        A function of ctypes is called natively, no Python involved: section 20 of objstore.h; `userdata`, an address,
        is its last argument. `since`, a bookmark, and the `event` "began": as of Results.observe_typed, too.
        InvalidSignature: `position` is what cannot be read. WrongType: a word does not fit its property."""
        if since is not None:
            everything = self.objects(model)
            return everything.observe_typed(keys, signature, function, userdata=userdata, since=since)
        token = TypedToken(function)
        token.observe(self._observed(), self._binding(model), keys, signature, userdata)
        return token

    def deliver(self) -> int:
        """Calls the handlers of all changes that are due, on this thread, and says how many it called. An exception in
        a handler is raised here, when all were called. InCallback: a handler called this."""
        return delivery.deliver(self._open_handle()).result()

    def wait(self, timeout: float | None = None) -> int:
        """Waits until something is due, `timeout` seconds or for ever, and delivers it; 0: nothing came. Uses no CPU
        while it waits, and other threads continue. What the delivery before could not read (a function of a query that
        raised) is tried again when something was committed, or the time is over."""
        return delivery.wait(self._open_handle, seconds("timeout", timeout))

    def bind_write_body(self, body: Callable[[Transaction], object]) -> Bound:
        """body(tx) as a C function, an objstore_write_body, for C code that calls objstore_write on this store. It is
        called with whatever userdata, on any thread. An exception cancels: C code gets OBJSTORE_ERR_CALLBACK, the
        message, and the status as callback_code if it was an objstore.Error; `bound.exception` has it."""
        return bound_functions.write_body(self, body)

    def bind_change_handler(self, handler: "Callable[[Changes[Any]], object]") -> Bound:
        """handler(change) as a C function, an objstore_change_handler, for C code that observes this store."""
        return bound_functions.change_handler(self, handler)

    def define_function(
        self, name: str, function: Callable[..., object], signature: str | None = None, *, userdata: int | None = None
    ) -> None:
        """Gives queries of this store a function to call, or another one of that name:

            store.define_function("haversine", haversine, "f64, f64, f64, f64 -> f64")
            store.objects(City).filter("haversine(lat, lon, $0, $1) < 50", 46.9, 7.4)
            store.objects(City).where(objstore.call("haversine", City.lat, City.lon, 46.9, 7.4) < 50)

        The signature has a word for each argument and one for the result: bool, i64, f32, f64, time, str, bin. Without
        one it is that of the type hints. Where an argument is None, so is the result, and the function is not called;
        with '?' it is called with None, and may return it: "f64?, i64 -> f64?".

        With "f64[], f64[], n -> f64[]" it is called once for up to 4,096 objects, with NumPy's arrays (without NumPy
        memoryviews and lists), and returns one with as many values; n is not an argument: an array knows it. "f64?[]"
        is a masked array. That costs nanoseconds an object, a call for each about two microseconds.

        What it raises ends the query, which raises it. It is called on the thread that asks, how often is not promised;
        it may read the store and ask queries, but not change the transaction that it is asked in (InCallback).
        A function of ctypes is called natively: section 20 of objstore.h; `userdata`, an address, is its last argument.
        InvalidSignature: `position` is what cannot be read. InvalidArgument: the name."""
        self._functions.append(query_functions.define(self._open_handle(), name, function, signature, userdata))

    def undefine_function(self, name: str) -> None:
        """Queries that were made with it keep it. NotFound: there is none of that name."""
        query_functions.undefine(self._open_handle(), name)

    def watch_queries(self, function: Callable[[int, int], object] | None, *, interval: float = 0.1) -> None:
        """Who is told how far queries of this store have come; None: nobody.

            store.watch_queries(lambda done, total: print(f"{done} of {total} objects"))

        It is called on the thread that asks, about each `interval` seconds, and not before that has passed, so short
        queries are not told; with the objects that were looked at, also of classes that links lead to, and with how
        many the class has. What it raises ends the query, which raises it; in a write nothing was changed, and it goes
        on. As long as somebody is told, Ctrl-C ends a query, too. Where another library reads an Arrow stream, that
        library's error has the text of it. It is called while objects are sorted, too, when all have been looked at. It
        must not use the store (InCallback)."""
        number = query_watch.watch(self._open_handle(), function, interval)
        query_watch.forget(self._watch)
        self._watch = number

    # The file

    def pins(self) -> list[store_info.Pin]:
        """Which versions are held, by which process and since when, in all processes; the oldest version first."""
        return store_info.pins(self._open_handle())

    # Versions to come back to

    def bookmark(self) -> bytes:
        """Names what is read now, in 40 bytes to write down: of this store, and no other. What was committed since is
        told to an observer that begins there (`since=`). Inside a write: of what was before it."""
        with self.freeze() as frozen:
            return frozen.bookmark()

    def at(self, bookmark: bytes) -> Frozen:
        """The store as it was in a version that was written down, frozen. VersionGone: nobody keeps it any more."""
        return freeze(self, kept_versions.view_at(self._open_handle(), bookmark))

    def keep_version(self, name: str, bookmark: bytes | None = None) -> None:
        """Keeps a version (None: the newest) by a name, until it is released or the name is given to another one: a
        program that is away asks later what was committed meanwhile (`since=`), after restarts and power cuts, too.
        What is written after it makes the file grow: move it on now and then. Two or three syncs. VersionGone;
        TooManyVersions: 16 are kept."""
        kept_versions.keep(self._open_handle(), name, bookmark)

    def release_version(self, name: str) -> None:
        """Lets go of a version that was kept by that name. NotFound: there is none."""
        kept_versions.release(self._open_handle(), name)

    def kept_versions(self) -> list[KeptVersion]:
        """What is kept by names, in their order."""
        return kept_versions.listed(self._open_handle())

    def flush(self) -> None:
        """Makes every commit durable that has returned, whatever the durability."""
        check(_flush(self._open_handle()))

    def checkpoint(self) -> None:
        """Makes a checkpoint now; the library does that by itself."""
        maintenance.checkpoint(self._open_handle())

    def verify(self, progress: Callable[[int, int], object] | None = None) -> None:
        """Checks everything in the file: raises Corrupt, whose `findings` say what is wrong. `progress` is called
        with bytes done and in all; an exception in it ends the check."""
        with self.freeze() as frozen:
            maintenance.verify(frozen._view.handle, progress)

    def compact(self, progress: Callable[[int, int], object] | None = None) -> None:
        """Makes the file about as small as what lives in it, while others read and write: in small steps, for each of
        which writers wait a few milliseconds. Nothing that anybody sees changes. What a frozen version needs stays
        where it is, and is done by a later call. `progress` is called with bytes done and in all; an exception in it
        ends it."""

        def step(done: int, total: int) -> None:
            if self._autorefresh:
                self._let_go()  # what this process has read last must not keep the pages that were emptied
            if progress is not None:
                progress(done, total)

        maintenance.compact(self._open_handle(), step)

    def copy_to(self, path: "str | os.PathLike[str]", progress: Callable[[int, int], object] | None = None) -> None:
        """Writes the newest version into a new store at `path`, compact and clean, also of a store in memory; inside a
        write what that did so far, too. AlreadyExists: something is at `path`. Other writers are not disturbed."""
        transaction = self._transaction
        if transaction is not None and transaction.mine():
            return maintenance.copy(transaction.handle, path, progress)
        with self.freeze() as frozen:
            maintenance.copy(frozen._view.handle, path, progress)
