"""What objstore.open() is given, as a configuration of the library."""

import ctypes
import os
import re
from typing import Any, Literal

from ..arguments import INT64, UINT64, milliseconds, seconds, switch, whole
from ..errors import InvalidArgument, OutOfRange
from ..native import ffi
from ..native.callbacks import MUST_FINISH, WAITED
from ..native.failures import check
from ..native.handles import cell_of

_config_new = ffi.bind("objstore_config_new")
_config_close = ffi.bind("objstore_config_close")
_set_path = ffi.bind("objstore_config_set_path")
_set_memory = ffi.bind("objstore_config_set_memory")
_set_mode = ffi.bind("objstore_config_set_mode")
_set_creation = ffi.bind("objstore_config_set_creation")
_set_durability = ffi.bind("objstore_config_set_durability")
_set_schema = ffi.bind("objstore_config_set_schema")
_set_seed = ffi.bind("objstore_config_set_seed")
_set_seed_sha256 = ffi.bind("objstore_config_set_seed_sha256")
_set_initial_data = ffi.bind("objstore_config_set_initial_data")
_set_migration = ffi.bind("objstore_config_set_migration")
_set_compaction = ffi.bind("objstore_config_set_compaction")
_set_wait = ffi.bind("objstore_config_set_wait")
_set_limit = ffi.bind("objstore_config_set_limit")
_set_flags = ffi.bind("objstore_config_set_flags")

Mode = Literal["read-write", "read-only", "immutable"]
Creation = Literal["if-missing", "never", "always"]
Durability = Literal["full", "relaxed", "none"]
MODES = {"read-write": 0, "read-only": 1, "immutable": 2}
CREATIONS = {"if-missing": 0, "never": 1, "always": 2}
DURABILITIES = {"full": 0, "relaxed": 1, "none": 2}
LIMITS = {
    "write_timeout_ms": 1,
    "open_timeout_ms": 2,
    "value_bytes": 3,
    "checkpoint_log_bytes": 4,
    "checkpoint_operations": 5,
    "checkpoint_idle_ms": 6,
    "log_bytes": 7,
    "transaction_bytes": 8,
    "query_bytes": 10,
    "query_threads": 11,
    "observer_lag": 12,
}
VERSIONS = 9
_LIMIT = re.compile(r"(?<=\bthe limit )[a-z]+(?:[A-Z][a-z]+)+")
_BY_LIBRARY = {name.removesuffix("_ms").replace("_", ""): name for name in LIMITS}
EXCLUSIVE, WITHOUT_LOG, DELETE_IF_MIGRATION_NEEDED = 0x2, 0x4, 0x8


def _choice(what: str, value: str, choices: dict[str, int]) -> int:
    if value in choices:
        return choices[value]
    raise InvalidArgument(f"{what} is one of {', '.join(map(repr, choices))}, not {value!r}")


def with_names(message: str) -> str:
    """A message of the library, which calls limits checkpointIdle and the like, with their names here."""
    return _LIMIT.sub(lambda found: _BY_LIBRARY.get(found[0].lower(), found[0]), message)


class Config:
    """The C configuration; closed at the end of a with."""

    def __init__(self) -> None:
        self.handle = cell_of(self, _config_close)
        check(_config_new(ctypes.byref(self.handle)))

    def __enter__(self) -> "Config":
        return self

    def __exit__(self, *_: object) -> None:
        check(_config_close(self.handle))

    def place(self, path: "str | os.PathLike[str] | None", memory: str | None) -> None:
        if (path is None) == (memory is None):
            raise InvalidArgument("a store is opened either by its path or, with memory=, by a name in memory")
        if memory is not None:
            if not isinstance(memory, str):
                raise InvalidArgument(f"memory is a name, not {memory!r}")
            check(_set_memory(self.handle, ffi.text(memory, "memory")))
        elif path is not None:
            check(_set_path(self.handle, ffi.text_of(os.fsencode(path))))

    def mode(self, mode: str, create: str) -> None:
        check(_set_mode(self.handle, _choice("mode", mode, MODES)))
        check(_set_creation(self.handle, _choice("create", create, CREATIONS)))

    def durability(self, durability: str, relaxed: float) -> None:
        number, wait = _choice("durability", durability, DURABILITIES), seconds("relaxed", relaxed, ever=False)
        assert wait is not None
        try:
            check(_set_durability(self.handle, number, milliseconds(wait)))
        except OutOfRange as error:
            error.message = f"relaxed: {error.message.removeprefix('relaxed_ms: ')}"
            raise

    def schema(self, schema: Any, version: int) -> None:
        check(_set_schema(self.handle, schema, whole("schema_version", version, (1, UINT64[1]))))

    def seed(self, path: "str | os.PathLike[str] | None", sha256: str | None) -> None:
        if path is not None:
            check(_set_seed(self.handle, ffi.text_of(os.fsencode(path))))
        if sha256 is not None:
            if not isinstance(sha256, str):
                raise InvalidArgument(f"seed_sha256 is a string of 64 hexadecimal digits, not {sha256!r}")
            check(_set_seed_sha256(self.handle, ffi.text(sha256, "seed_sha256")))

    def callbacks(self, initial_data: Any, migration: Any, compaction: Any) -> None:
        """C functions, which the caller keeps until the store is open."""
        check(_set_initial_data(self.handle, initial_data, None, MUST_FINISH))
        check(_set_migration(self.handle, migration, None, MUST_FINISH))
        check(_set_compaction(self.handle, compaction, None, MUST_FINISH))
        check(_set_wait(self.handle, WAITED, None, MUST_FINISH))

    def flags(self, exclusive: bool, without_log: bool, delete_if_migration_needed: bool) -> None:
        flags = (
            switch("exclusive", exclusive) * EXCLUSIVE
            | switch("without_log", without_log) * WITHOUT_LOG
            | switch("delete_if_migration_needed", delete_if_migration_needed) * DELETE_IF_MIGRATION_NEEDED
        )
        check(_set_flags(self.handle, flags))

    def limits(self, limits: dict[str, int], max_versions: int | None) -> None:
        if max_versions is not None:
            check(_set_limit(self.handle, VERSIONS, whole("max_versions", max_versions, (1, INT64[1]))))
        for name, value in limits.items():
            number = whole(name, value, INT64)
            try:
                check(_set_limit(self.handle, _choice("a limit", name, LIMITS), number))
            except OutOfRange as error:  # the library knows what it may be
                error.message = with_names(error.message).removeprefix("value: ")
                raise
