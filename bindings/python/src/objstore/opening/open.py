"""Opening stores, and what can be done with one that is not open."""

import ctypes
import os
from collections.abc import Callable, Iterable
from typing import Any

from ..arguments import seconds, switch
from ..errors import InvalidArgument
from ..models.model import ModelMeta
from ..native import ffi
from ..native.callbacks import Calls, ended, plain
from ..native.handles import Handle
from ..observing.worker import Worker
from ..schema.declaration import Schema
from ..stores import maintenance
from ..stores.store import Store
from ..writing.lent import Lent
from . import config
from .config import Creation, Durability, Mode
from .migration import Migration

_open = ffi.bind("objstore_open")
_close = ffi.bind("objstore_close")


def open(
    path: "str | os.PathLike[str] | None" = None,
    *,
    memory: str | None = None,
    models: Iterable[ModelMeta] | None = None,  # what checkers make of [Dog, Person]
    schema_version: int = 1,
    drop: Iterable[str] = (),
    mode: Mode = "read-write",
    create: Creation | None = None,
    durability: Durability = "full",
    relaxed: float = 0.1,
    write_timeout: float | None = None,
    exclusive: bool = False,
    deliver_on_worker: bool = False,
    without_log: bool = False,
    delete_if_migration_needed: bool = False,
    seed: "str | os.PathLike[str] | None" = None,
    seed_sha256: str | None = None,
    initial_data: Callable[[Store], object] | None = None,
    migrate: Callable[[Migration, int], object] | None = None,
    compact: Callable[[int, int], bool] | None = None,
    max_versions: int | None = None,
    **limits: int,
) -> Store:
    """Opens a store, and creates or recovers it where necessary.

    path            the file; beside it lie path-log and path-lock while it is open
    memory          instead of a path: in memory. Stores of one name are one; "" is a new one each time
    models          the model classes to use; those that the file lacks are added, those that it has beside them are not
                    seen through this store. None: the classes that the file has, whatever they are, as
                    store.models["Dog"]; what other programs change in them is seen by the next opener
    schema_version  raise it when a model got a new property, lost one, which drops its values permanently, calls one
                    otherwise (see field(formerly=…)), or when one may be None now, or must not any more. Programs that
                    have the file open with a lower one continue where all that their models have is as it was; else
                    their next write is a SchemaError
    drop            names of classes that files are not to have any more: with a higher schema_version a file loses them
                    with all their objects, for ever; SchemaError where a class that stays has a property that leads to
                    one of them
    mode            "read-write", "read-only", or "immutable" (no process writes; read permission is enough)
    create          "if-missing", "never" (NotFound) or "always" (AlreadyExists); without models, a path or a seed it is
                    "never" unless you say otherwise
    durability      when a commit returns: "full", when it is on the medium; "relaxed", at once, and it is there within
                    `relaxed` seconds; "none", at once, and it is there with the next checkpoint
    write_timeout   seconds to wait for other writers; None = for ever
    exclusive       no other process may open it
    deliver_on_worker
                    a thread of this store, a daemon, calls its handlers as soon as something is due; what they raise is
                    shown by threading.excepthook. Else they are called by who calls deliver(), wait() or refresh().
                    close(), and the end of the program, wait for a handler that it runs
    without_log     open although the log is lost, and with it the commits after the last checkpoint
    delete_if_migration_needed
                    for development: a file whose classes differ from the models is deleted, and created again; Busy
                    where it is open elsewhere
    seed            a store whose content a new one begins with: copied when there is no file
    seed_sha256     what that file must be, byte for byte: hashlib.sha256(…).hexdigest(); Corrupt where it has another
                    one
    initial_data    initial_data(store) fills a new store, in the write that creates its classes; an exception in it is
                    raised here, and leaves no file
    migrate         migrate(migration, old_version) changes objects when schema_version is higher than the file's, in
                    the write that changes the classes: see Migration. With it, properties can become required, get
                    another type, and be the primary key; an exception in it is raised here, and leaves the file as it
                    was
    compact         compact(total, used), in bytes: whether to make the file smaller before it is used; called for the
                    first who opens it. Usual is `lambda total, used: total > 100 << 20 and used < total / 2`
    max_versions    while more versions than that are alive in all processes, the newest included, because readers,
                    frozen ones or change sets keep them, a write is TooManyVersions, which names who does; from 1,
                    None: any number
    limits          numbers of section 4 of objstore.h: open_timeout_ms, value_bytes, checkpoint_log_bytes,
                    checkpoint_operations, checkpoint_idle_ms, log_bytes, transaction_bytes, query_bytes,
                    query_threads, observer_lag
    """
    if isinstance(drop, str):
        raise InvalidArgument(f"drop is a list of names of classes, not {drop!r}")
    classes = None if models is None else _checked(models)
    if classes is None:
        wanted = {
            "schema_version": schema_version != 1,
            "drop": bool(drop),
            "delete_if_migration_needed": delete_if_migration_needed,
            "initial_data": initial_data is not None,
            "migrate": migrate is not None,
        }
        for name in (name for name, is_given in wanted.items() if is_given):
            raise InvalidArgument(f"{name} is about the models that a program has, and none are given")
    if create is None:
        create = "never" if classes is None and path is not None and seed is None else "if-missing"
    has_worker = switch("deliver_on_worker", deliver_on_worker)
    opening = _Opening(classes, seconds("write_timeout", write_timeout), initial_data, migrate, compact)
    try:
        with config.Config() as made, Schema(classes or [], drop) as schema:
            made.place(path, memory)
            made.mode(mode, create)
            made.durability(durability, relaxed)
            if classes is not None:
                made.schema(schema.handle, schema_version)
            made.flags(exclusive, without_log, delete_if_migration_needed)
            made.limits(limits, max_versions)
            made.seed(seed, seed_sha256)
            made.callbacks(opening.initial_data, opening.migration, opening.compaction)
            opening.open(made)
        if has_worker:
            opening.deliver_on_worker()
    except BaseException:  # also of a signal handler, when everything was done
        opening.abandon()
        raise
    return opening.opened.pop()  # nothing else has it: not even the frames of a traceback


def _checked(models: Any) -> list[ModelMeta]:
    if isinstance(models, (str, ModelMeta)) or not isinstance(models, Iterable):
        raise InvalidArgument(f"models is a list of model classes, not {models!r}")
    classes = list(models)
    for model in classes:
        if not isinstance(model, ModelMeta):
            raise InvalidArgument(f"models is a list of model classes: {model!r} is none")
    return classes


class _Opening:
    """One call of open(), with what it calls."""

    def __init__(
        self,
        models: list[ModelMeta] | None,
        write_timeout: float | None,
        initial_data: Callable[[Store], object] | None,
        migrate: Callable[[Migration, int], object] | None,
        compact: Callable[[int, int], bool] | None,
    ) -> None:
        self._models = models
        self._write_timeout = write_timeout
        self.opened: list[Store] = []  # the store, as soon as it had to be shown
        self._handle = Handle(_close)
        self._calls = Calls()
        self._migrations: list[Migration] = []  # which has put something into the classes
        self.initial_data: Any = None
        self.migration: Any = None
        self.compaction: Any = None
        for name, function in (("initial_data", initial_data), ("migrate", migrate), ("compact", compact)):
            if function is not None and not callable(function):
                raise InvalidArgument(f"{name} is a function, not {function!r}")
            if function is not None:
                plain(name, function)
        if initial_data is not None:
            fill = initial_data

            def filling(store: int, transaction: int, _: object) -> None:
                opened = self._lend(store, transaction)
                with Lent(opened, transaction).body():
                    ended("initial_data", fill(opened))

            self.initial_data = self._calls.callback(ffi.InitialData, filling)
        if migrate is not None:
            convert = migrate

            def migrating(store: int, transaction: int, old: int, before: int, after: int, _: object) -> None:
                opened = self._lend(store, transaction)
                with Lent(opened, transaction).body() as tx:
                    migration = Migration(opened, tx, old, before, after)
                    self._migrations.append(migration)
                    try:
                        migration.begin()
                        ended("migrate", convert(migration, before))
                    finally:
                        migration.end()

            self.migration = self._calls.callback(ffi.Migration, migrating)
        if compact is not None:
            decide = compact

            def deciding(total: int, used: int, wanted: Any, _: object) -> None:
                decision = decide(total, used)
                ended("compact", decision)
                wanted[0] = bool(decision)

            self.compaction = self._calls.callback(ffi.Compaction, deciding)

    def open(self, made: config.Config) -> None:
        self._calls.run(_open, made.handle, ctypes.byref(self._handle.cell))
        try:
            self._calls.check()
        except InvalidArgument as error:
            error.message = config.with_names(error.message)
            raise
        if not self.opened:
            self.opened.append(Store(self._handle.cell, self._models, self._write_timeout))
        self.opened[0]._blocks.clear()  # which refer to it
        self._handle.cell.value = None  # it is the Store's

    def deliver_on_worker(self) -> None:
        store = self.opened[0]
        store._worker = Worker(store._open_handle(), store.path)

    def abandon(self) -> None:
        """Closes it, if it was opened; a store that a callback has seen was closed by the library if not."""
        _close(self._handle.cell)
        while self.opened:
            store = self.opened.pop()
            if store._handle is not None:
                _close(store._handle)
            store._has_closed()
        for migration in self._migrations:
            migration.end()

    def _lend(self, handle: int, transaction: int) -> Store:
        if not self.opened:
            self.opened.append(Store(ctypes.c_void_p(handle), self._models, self._write_timeout, transaction))
        return self.opened[0]


def exists(path: "str | os.PathLike[str]") -> bool:
    """Is there a store at this path?"""
    return maintenance.exists(path)


def delete_files(path: "str | os.PathLike[str]") -> bool:
    """Deletes a store: its file, log and lock. False: there was none. Busy: some process has it open; NotAStore: it is
    something else. Nothing is deleted then."""
    return maintenance.delete_files(path)
