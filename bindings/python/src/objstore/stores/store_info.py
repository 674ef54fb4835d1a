"""What a store says about itself."""

import ctypes
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..native import ffi
from ..native.failures import check
from ..values.kinds import EPOCH

_get_statistics = ffi.bind("objstore_get_statistics")
_pins = ffi.bind("objstore_pins")

HOLDERS = {1: "view", 2: "observer", 3: "checkpoint", 4: "kept"}


@dataclass(frozen=True)
class Statistics:
    """How much there is, and how much this process did since it opened the store; section 6 of objstore.h."""

    published_version: int
    durable_version: int
    checkpoint_version: int
    file_bytes: int
    live_bytes: int
    free_bytes: int
    pinned_bytes: int
    log_file_bytes: int
    log_used_bytes: int
    oldest_pin: int
    reader_slots: int
    processes: int
    commits: int
    checkpoints: int
    syncs: int
    log_bytes_written: int
    file_bytes_written: int
    views: int
    observers: int
    change_sets: int
    mapped_bytes: int
    arena_bytes: int
    versions: int


@dataclass(frozen=True)
class Pin:
    """A version that is held, so that its space cannot be used again."""

    version: int
    since: datetime
    process_id: int
    holder: str
    count: int


def statistics(store: int) -> Statistics:
    found = ffi.Statistics(struct_size=ctypes.sizeof(ffi.Statistics))
    check(_get_statistics(store, ctypes.byref(found)))
    return Statistics(**{name: getattr(found, name) for name in Statistics.__dataclass_fields__})


def pins(store: int) -> list[Pin]:
    capacity = 16
    while True:
        found = (ffi.Pin * capacity)()
        count = ctypes.c_size_t()
        check(_pins(store, found, capacity, ctypes.byref(count)))
        if count.value <= capacity:
            break
        capacity = count.value * 2
    return [
        Pin(
            pin.version,
            EPOCH + timedelta(milliseconds=pin.since_ms),
            pin.process_id,
            HOLDERS.get(pin.holder, str(pin.holder)),
            pin.count,
        )
        for pin in found[: count.value]
    ]
