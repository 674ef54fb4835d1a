"""Finds and loads libobjstore.so."""

import ctypes
import os
from pathlib import Path

from ..errors import LibraryNotFound

NAME = "libobjstore.so"
MAJOR, MINOR = 0, 1  # of the header that prototypes.py and structures.py were written against


def find() -> str:
    """OBJSTORE_LIBRARY, else the library in this package, else the build of the checkout it lies in."""
    if named := os.environ.get("OBJSTORE_LIBRARY"):
        if not os.path.isfile(named):
            raise LibraryNotFound(f"OBJSTORE_LIBRARY names {named!r}, and there is no such file")
        return named
    package = Path(__file__).resolve().parents[1]
    tried = [package / NAME]
    if len(package.parents) > 3 and (package.parents[3] / "include" / "objstore.h").is_file():
        tried.append(package.parents[3] / "build" / "lib" / NAME)
    for path in tried:
        if path.is_file():
            return str(path)
    raise LibraryNotFound(
        f"there is no {NAME} at {' or '.join(map(str, tried))}: install the package from a wheel, "
        "run 'make lib' in the checkout, or set OBJSTORE_LIBRARY to the file"
    )


def load() -> tuple[ctypes.CDLL, ctypes.PyDLL]:
    """The library twice: with calls that release the interpreter lock, and with calls that keep it."""
    path = find()
    try:
        releasing, keeping = ctypes.CDLL(path), ctypes.PyDLL(path)
    except OSError as error:
        raise LibraryNotFound(f"cannot load {path}: {error}") from error
    try:
        number = int(releasing.objstore_version_number())
    except AttributeError as error:
        raise LibraryNotFound(f"{path} is no objstore library: {error}") from error
    if number // 1000 != MAJOR * 1000 + MINOR:
        raise LibraryNotFound(
            f"{path} is version {number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}; "
            f"this package needs {MAJOR}.{MINOR}"
        )
    return releasing, keeping
