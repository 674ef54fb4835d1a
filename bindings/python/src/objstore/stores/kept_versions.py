"""Versions that a store keeps by names."""

import ctypes
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..errors import InvalidArgument
from ..messages import shown
from ..native import ffi
from ..native.failures import check
from ..observing import bookmarks
from ..values.kinds import EPOCH

_keep = ffi.bind("objstore_keep_version")
_release = ffi.bind("objstore_release_version")
_kept = ffi.bind("objstore_kept_versions")
_view_at = ffi.bind("objstore_view_at")


@dataclass(frozen=True)
class KeptVersion:
    """A version that is kept by a name, whoever has the store open."""

    name: str
    version: int
    bookmark: bytes
    since: datetime


def _text(name: object) -> ffi.Text:
    if not isinstance(name, str):
        raise InvalidArgument(f"the name of a kept version is a str, not {shown(name)}")
    return ffi.text(name, "the name of a kept version")


def keep(store: int, name: str, bookmark: bytes | None) -> None:
    at = None if bookmark is None else ctypes.byref(bookmarks.given(bookmark))
    check(_keep(store, _text(name), at))


def release(store: int, name: str) -> None:
    check(_release(store, _text(name)))


def view_at(store: int, bookmark: bytes) -> int | None:
    view = ctypes.c_void_p()
    check(_view_at(store, ctypes.byref(bookmarks.given(bookmark)), ctypes.byref(view)))
    return view.value


def listed(store: int) -> list[KeptVersion]:
    capacity = 32  # there are 16 at most
    found = (ffi.KeptVersion * capacity)()
    count = ctypes.c_size_t()
    check(_kept(store, found, capacity, ctypes.byref(count)))
    return [
        KeptVersion(
            kept.name.decode(), kept.version, bytes(kept.bookmark), EPOCH + timedelta(milliseconds=kept.since_ms)
        )
        for kept in found[: count.value]
    ]
