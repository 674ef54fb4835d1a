"""Switches on a mistake of the core in the library that is loaded: by its place in memory, for it exports no switch."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path

from .library import ROOT, Library

SOURCE = ROOT / "Sources/ObjStoreCore/Platform/InjectedBug.swift"
WORDS = "cs_injected_bugs"
EXPORTED = "objstore_last_error"


def unstripped() -> Path:
    """The library before it was stripped, which has the names of what it does not export."""
    given = os.environ.get("OBJSTORE_LIBRARY")
    scratch = Path(os.environ.get("OBJSTORE_SCRATCH") or ROOT / ".build")
    return Path(given) if given else scratch / "release/libobjstore.so"


def number(name: str) -> int:
    """The number of a mistake."""
    found = re.search(rf"static var {name}: InjectedBug {{ InjectedBug\((\d+)\) }}", SOURCE.read_text())
    if found is None:
        raise LookupError(f"there is no injected bug {name}")
    return int(found[1])


def switch_on(library: Library, name: str) -> None:
    """The library makes the mistake from now on."""
    listed = subprocess.run(["nm", library.path], capture_output=True, text=True, check=True).stdout
    places = {words[2]: int(words[0], 16) for line in listed.splitlines() if len(words := line.split()) == 3}
    if WORDS not in places:
        raise LookupError(f"{library.path} is stripped: where it keeps its injected bugs is not known")
    exported = ctypes.cast(ctypes.CDLL(library.path)[EXPORTED], ctypes.c_void_p).value
    assert exported is not None
    bug = number(name)
    bits = (ctypes.c_uint64 * (bug // 64 + 1)).from_address(exported - places[EXPORTED] + places[WORDS])
    bits[bug // 64] |= 1 << bug % 64
