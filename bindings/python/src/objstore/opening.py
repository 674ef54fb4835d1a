"""Opening stores, and what can be done with one that is not open."""

import ctypes
import os
from collections.abc import Iterable

from . import _ffi, config, maintenance
from ._check import check
from .arguments import seconds
from .config import Creation, Durability, Mode
from .models import ModelMeta
from .schema import Schema
from .store import Store

_open = _ffi.bind("objstore_open")
_close = _ffi.bind("objstore_close")


def open(
    path: "str | os.PathLike[str] | None" = None,
    *,
    memory: str | None = None,
    models: Iterable[ModelMeta],  # what checkers make of [Dog, Person]
    schema_version: int = 1,
    mode: Mode = "read-write",
    create: Creation = "if-missing",
    durability: Durability = "full",
    relaxed: float = 0.1,
    write_timeout: float | None = None,
    exclusive: bool = False,
    without_log: bool = False,
    **limits: int,
) -> Store:
    """Opens a store, and creates or recovers it where necessary.

    path            the file; beside it lie path-log and path-lock while somebody has it open
    memory          instead of a path: in memory. Stores of one name are one; "" is a new one each time
    models          the model classes to use; those that the file lacks are added
    schema_version  raise it when a model got a new property, lost one, which drops its values for ever, or calls one
                    otherwise: see field(formerly=…)
    mode            "read-write", "read-only", or "immutable" (nobody writes; read permission is enough)
    create          "if-missing", "never" (NotFound) or "always" (AlreadyExists)
    durability      when a commit returns: "full", when it is on the medium; "relaxed", at once, and it is there within
                    `relaxed` seconds; "none", at once, and it is there with the next checkpoint
    write_timeout   seconds to wait for other writers; None = for ever
    exclusive       no other process may open it
    without_log     open although the log is lost, and with it the commits after the last checkpoint
    limits          numbers of section 4 of objstore.h: open_timeout_ms, value_bytes, checkpoint_log_bytes,
                    checkpoint_operations, checkpoint_idle_ms, log_bytes, transaction_bytes
    """
    classes = list(models)
    with config.Config() as made, Schema(classes) as schema:
        made.place(path, memory)
        made.mode(mode, create)
        made.durability(durability, relaxed)
        made.schema(schema.handle, schema_version)
        made.flags(exclusive, without_log)
        made.limits(limits)
        write_timeout = seconds("write_timeout", write_timeout)
        handle = ctypes.c_void_p()
        check(_open(made.handle, ctypes.byref(handle)))
    try:
        return Store(handle, classes, write_timeout)
    except BaseException:
        _close(handle)
        raise


def exists(path: "str | os.PathLike[str]") -> bool:
    """Is there a store at this path?"""
    return maintenance.exists(path)


def delete_files(path: "str | os.PathLike[str]") -> None:
    """Deletes a store: its file, log and lock. Busy: some process has it open."""
    maintenance.delete_files(path)
