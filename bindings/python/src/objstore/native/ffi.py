"""The C interface as ctypes sees it: the functions of prototypes.py, the structures and callbacks of structures.py."""

import ctypes
from ctypes import c_int32, c_void_p
from typing import Any

from ..errors import InvalidText
from .library import load
from .prototypes import ARGUMENTS, PROTOTYPES, RESULTS, SHORT
from .structures import *  # noqa: F403  # ffi.Value is what the other modules call it
from .structures import Text

_releasing, _keeping = load()


def bind(name: str) -> Any:
    """The C function of that name, ready to be called."""
    function = getattr(_keeping if name in SHORT else _releasing, name)
    function.argtypes = [ARGUMENTS[letter] for letter in PROTOTYPES[name]]
    function.restype = RESULTS.get(name, c_int32)
    return function


def address(name: str) -> int:
    """Of a C function that is given to others."""
    return ctypes.cast(getattr(_keeping, name), c_void_p).value or 0


def text(string: str, what: str = "a name") -> Text:
    """A string for a call. The result keeps the bytes alive. InvalidText, which says what the string is: it has half a
    character."""
    return text_of(encoded(string, what))


def encoded(string: str, what: str) -> bytes:
    try:
        return string.encode()
    except UnicodeEncodeError as error:
        part = error.object[error.start : error.end]
        raise InvalidText(f"{what}: {part!r} has no UTF-8 form", position=error.start) from None


def text_of(encoded: bytes) -> Text:
    made = Text(ctypes.cast(ctypes.c_char_p(encoded), c_void_p), len(encoded))
    made.owner = encoded  # not a field: keeps the bytes as long as the Text
    return made


def string(given: Any) -> str:
    """The string that a Text of the library holds; copied."""
    return ctypes.string_at(given.bytes, given.length).decode() if given.length else ""
