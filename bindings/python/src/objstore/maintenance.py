"""Checking, copying and deleting the files of a store."""

import ctypes
import os
from collections.abc import Callable
from typing import Any

from . import _ffi
from ._check import check, failure
from .errors import Corrupt, Status

_verify = _ffi.bind("objstore_verify")
_compact = _ffi.bind("objstore_compact")
_copy = _ffi.bind("objstore_copy")
_file_exists = _ffi.bind("objstore_file_exists")
_delete_files = _ffi.bind("objstore_delete_files")
_buffer_free = _ffi.bind("objstore_buffer_free")

STOP = 10000  # OBJSTORE_USER_STATUS


class Progress:
    """A Python function as a progress callback; keeps the exception that it raised."""

    def __init__(self, function: Callable[[int, int], object] | None) -> None:
        self.raised: BaseException | None = None
        self.pointer: Any = None
        if function is not None:
            called = function

            def progress(done: int, total: int, _: object) -> int:
                try:
                    called(done, total)
                except BaseException as error:  # raised again by check(), on this thread
                    self.raised = error
                    return STOP
                return 0

            self.pointer = _ffi.Progress(progress)

    def check(self, status: int) -> None:
        if self.raised is not None:
            raise self.raised
        check(status)


def verify(view: int, function: Callable[[int, int], object] | None) -> None:
    progress = Progress(function)
    report = _ffi.Buffer()
    findings = ctypes.c_uint64()
    try:
        status = _verify(view, progress.pointer, None, None, ctypes.byref(report), ctypes.byref(findings))
        problem = failure(status) if status else None
        if status == Status.CORRUPT and isinstance(problem, Corrupt):
            lines = ctypes.string_at(report.bytes, report.length).decode() if report.length else ""
            problem.findings = tuple(lines.splitlines())
            raise problem
        progress.check(status)
    finally:
        _buffer_free(ctypes.byref(report))


def compact(store: int, function: Callable[[int, int], object]) -> None:
    progress = Progress(function)
    progress.check(_compact(store, progress.pointer, None, None))


def copy(view: int, path: "str | os.PathLike[str]", function: Callable[[int, int], object] | None) -> None:
    progress = Progress(function)
    progress.check(_copy(view, _ffi.text_of(os.fsencode(path)), progress.pointer, None, None))


def exists(path: "str | os.PathLike[str]") -> bool:
    there = ctypes.c_bool()
    check(_file_exists(_ffi.text_of(os.fsencode(path)), ctypes.byref(there)))
    return there.value


def delete_files(path: "str | os.PathLike[str]") -> bool:
    status = _delete_files(_ffi.text_of(os.fsencode(path)))
    if status == Status.NOT_FOUND:
        return False
    check(status)
    return True
