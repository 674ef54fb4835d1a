"""Checking and salvaging the files of a store that is not open anywhere."""

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import Status
from ..native import ffi
from ..native.callbacks import MUST_FINISH
from ..stores.maintenance import Progress

_verify_file = ffi.bind("objstore_verify_file")
_salvage = ffi.bind("objstore_salvage")

KINDS = {"FINDING": 1, "NOTE": 2, "CLASS": 3, "PROPERTY": 4}


@dataclass
class ClassReport:
    """What became of one class."""

    name: str
    objects: int
    """That can be read; after salvage(): that the new store has."""
    lost: int | None
    """Objects that cannot be read; None: unknown."""
    lost_values: dict[str, int] = field(default_factory=dict)
    """After salvage(): how many objects lost their value of a property, by the property's name."""


@dataclass
class FileReport:
    """What verify_file() or salvage() found."""

    findings: list[str] = field(default_factory=list)
    """A line for each thing that is damaged, or lost."""
    notes: list[str] = field(default_factory=list)
    """What is worth knowing, but no damage."""
    classes: dict[str, ClassReport] = field(default_factory=dict)
    complete: bool = True
    """verify_file(): the file is sound. salvage(): everything could be read."""


class _Report:
    """Collects a report line by line."""

    def __init__(self, progress: Progress) -> None:
        self.result = FileReport()
        self.pointer = progress.callback(ffi.Report, lambda line, _: self._add(line.contents))

    def _add(self, line: Any) -> None:
        def text(of: Any) -> str:
            return ctypes.string_at(of.bytes, of.length).decode() if of.length else ""

        if line.kind == KINDS["FINDING"]:
            self.result.findings.append(text(line.text))
        elif line.kind == KINDS["NOTE"]:
            self.result.notes.append(text(line.text))
        elif line.kind == KINDS["CLASS"]:
            name = text(line.class_name)
            self.result.classes[name] = ClassReport(name, line.objects, None if line.lost < 0 else line.lost)
        elif line.kind == KINDS["PROPERTY"]:
            self.result.classes[text(line.class_name)].lost_values[text(line.property_name)] = line.lost


def _path(path: "str | os.PathLike[str]") -> Any:
    return ffi.text_of(os.fsencode(path))


def verify_file(path: "str | os.PathLike[str]", progress: Callable[[int, int], object] | None = None) -> FileReport:
    """Checks the files of a store without opening it, also when it cannot be opened; changes nothing.

    Damage is no exception: it is in the report, which is `complete` where there is none. NotFound, NotAStore, Busy:
    some process has it open, use Store.verify(). `progress` is called with bytes done and in all; an exception in it
    ends the check."""
    called = Progress(progress)
    report = _Report(called)
    findings = ctypes.c_uint64()
    status = called.run(
        _verify_file, _path(path), called.pointer, report.pointer, None, MUST_FINISH, ctypes.byref(findings)
    )
    if called.raised or status != Status.CORRUPT:
        called.check()
    report.result.complete = status == 0
    return report.result


def salvage(
    path: "str | os.PathLike[str]",
    new_path: "str | os.PathLike[str]",
    progress: Callable[[int, int], object] | None = None,
) -> FileReport:
    """Makes a new store at `new_path` of what can be read of the damaged one at `path`, which is never written.

    No value in the new store is a wrong one: what cannot be proved is lost, and the report says so. A lost value is
    null, or the property's default. NotFound, NotAStore, Busy, AlreadyExists; Corrupt: nothing can be read at all. On
    an exception, also one of `progress`, nothing is left at `new_path`. Section 6 of objstore.h has the rules."""
    called = Progress(progress)
    report = _Report(called)
    losses = ctypes.c_uint64()
    called.run(
        _salvage, _path(path), _path(new_path), called.pointer, report.pointer, None, MUST_FINISH, ctypes.byref(losses)
    )
    called.check()
    report.result.complete = losses.value == 0
    return report.result
