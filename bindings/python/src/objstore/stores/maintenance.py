"""Checking, copying and deleting the files of a store."""

import ctypes
import os
from collections.abc import Callable

from ..errors import Corrupt, Status
from ..native import ffi
from ..native.callbacks import MUST_FINISH, Calls
from ..native.failures import check

_checkpoint = ffi.bind("objstore_checkpoint")
_verify = ffi.bind("objstore_verify")
_compact = ffi.bind("objstore_compact")
_copy = ffi.bind("objstore_copy")
_file_exists = ffi.bind("objstore_file_exists")
_delete_files = ffi.bind("objstore_delete_files")
_buffer_free = ffi.bind("objstore_buffer_free")


def checkpoint(store: int) -> None:
    calls = Calls()
    calls.run(_checkpoint, store)
    calls.check()


class Progress(Calls):
    """A long operation. There is always a progress callback: in it Python runs signal handlers."""

    def __init__(self, function: Callable[[int, int], object] | None) -> None:
        super().__init__()
        called = function or (lambda done, total: None)
        self.pointer = self.callback(ffi.Progress, lambda done, total, _: called(done, total))


def verify(view: int, function: Callable[[int, int], object] | None) -> None:
    progress = Progress(function)
    report = ffi.Buffer()
    findings = ctypes.c_uint64()
    try:
        progress.run(_verify, view, progress.pointer, None, MUST_FINISH, ctypes.byref(report), ctypes.byref(findings))
        problem = progress.problem
        if not progress.raised and isinstance(problem, Corrupt):
            lines = ctypes.string_at(report.bytes, report.length).decode() if report.length else ""
            problem.findings = tuple(lines.splitlines())
        progress.check()
    finally:
        _buffer_free(ctypes.byref(report))


def compact(store: int, function: Callable[[int, int], object]) -> None:
    progress = Progress(function)
    progress.run(_compact, store, progress.pointer, None, MUST_FINISH)
    progress.check()


def copy(view: int, path: "str | os.PathLike[str]", function: Callable[[int, int], object] | None) -> None:
    progress = Progress(function)
    progress.run(_copy, view, ffi.text_of(os.fsencode(path)), progress.pointer, None, MUST_FINISH)
    progress.check()


def exists(path: "str | os.PathLike[str]") -> bool:
    there = ctypes.c_bool()
    check(_file_exists(ffi.text_of(os.fsencode(path)), ctypes.byref(there)))
    return there.value


def delete_files(path: "str | os.PathLike[str]") -> bool:
    status = _delete_files(ffi.text_of(os.fsencode(path)))
    if status == Status.NOT_FOUND:
        return False
    check(status)
    return True
