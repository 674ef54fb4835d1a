"""Constants of queries on their way to the library: forty bytes each, as objstore_value has them.

What is too long for that, texts, binaries, lists and dicts, stands beside them, and has no address until the call.
"""

import ctypes
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..messages import shown
from ..native import ffi
from . import counters, custom_types, documents, kinds
from .c_values import As, give_back, take
from .custom_types import Custom
from .kinds import (
    BINARY,
    BOOL,
    DOCUMENT,
    DOUBLE,
    FLOAT,
    INT,
    LARGEST,
    LINK,
    LIST,
    MAP,
    MIXED,
    SET,
    SMALLEST,
    STRING,
    Described,
)
from .places import GeoShape

Packed = tuple[bytes, tuple[bytes, ...]]  # a constant, or several, and the texts in them

SIZE = ctypes.sizeof(ffi.Value)
NULL = bytes(SIZE)
_INT = struct.Struct("<qq24x")
_REAL = struct.Struct("<qd24x")
_LINK = struct.Struct("<qQq16x")
_TEXT = struct.Struct("<qqq16x")  # kind, address, length
_ADDRESSED = frozenset({STRING, BINARY, DOCUMENT})


class _Anything:
    """What constants are of beside which no property stands."""

    name = model_name = None
    path = "a constant of a query"
    kind, nullable, enum, type_name = MIXED, True, None, "Any"


ANYTHING: Any = _Anything()
SINGLE = (str, bytes, bytearray, memoryview)  # though Python can iterate over them


def packed(prop: Described, value: Any) -> Packed:
    """What a constant says, whatever stands beside it: the library knows what can be compared. `prop` is for messages.
    WrongType: nothing in a store is like it."""
    simple = SIMPLE.get(type(value))
    if simple is not None:
        return simple(prop, value)
    prop = As(prop, MIXED)  # null may be asked for where none can be
    plain = kinds.plain(prop, counters.plain(value))
    simple = SIMPLE.get(type(plain))
    if simple is not None:
        return simple(prop, plain)
    if isinstance(plain, (list, dict)):
        return _text(DOCUMENT, documents.pack(prop, plain))
    if kinds.is_object(plain):
        return _link(*documents.place(prop, plain))
    return _other(prop, kinds.BY_TYPE[type(plain)], plain)


def stored(prop: Described, value: Any) -> Packed:
    """A value that was converted for the property, or element, in its kind."""
    if value is None:
        return NULL, ()
    if prop.kind == LINK:
        return _link(*kinds.place(prop, value))
    if prop.kind == FLOAT:
        return _other(prop, FLOAT, value)
    return packed(prop, value if prop.enum is None else kinds.stored_form(prop, value))


def is_plain(prop: Described) -> bool:
    """Are constants beside its values what they are?"""
    return prop.enum is None and prop.kind not in (LINK, LIST, SET, MAP)


def beside(prop: Described, value: Any) -> Packed:
    """A constant that is compared with values of the property, or element: its enumeration, or its class, are what
    Python alone knows."""
    if value is None or (prop.enum is None and prop.kind != LINK):
        return packed(prop, value)
    if isinstance(prop.enum, Custom) and not isinstance(value, prop.enum.python_type):
        return packed(prop, value)  # what is stored
    return stored(prop, kinds.convert(prop, value))


def arguments(given: tuple[Any, ...]) -> Packed:
    """What `$0`, `$1` … stand for in the text of a query. Lists, sets and what else has elements, but for dicts, are
    lists there, and shapes texts."""
    found: list[Packed] = []
    for value in given:
        if isinstance(value, GeoShape):
            found.append(_text(STRING, repr(value).encode()))
        elif isinstance(value, Iterable) and not isinstance(value, (*SINGLE, Mapping)) and not custom_types.of(value):
            elements = list(value)
            found.append((_INT.pack(LIST, len(elements)), ()))
            found += map(_argument, elements)
        else:
            found.append(_argument(value))
    return b"".join([constant for constant, _ in found]), tuple([text for _, texts in found for text in texts])


def _argument(value: Any) -> Packed:
    return packed(ANYTHING, kinds.raw(value, ANYTHING))


def with_texts(array: bytes, texts: tuple[bytes, ...], words: int, at: int) -> tuple[bytes, Any]:
    """Structures of so many words, each with a constant at that word, and with the addresses of their texts; and what
    those lie in, to be kept during the call."""
    if not texts:
        return array, None
    memory = ctypes.create_string_buffer(b"".join(texts))
    address = ctypes.addressof(memory)
    filled = bytearray(array)
    seen = memoryview(filled).cast("q")
    for index in range(at, len(seen), words):
        if seen[index] in _ADDRESSED and not seen[index + 1]:
            seen[index + 1] = address
            address += seen[index + 2]
    return bytes(filled), memory


def _int(prop: Described, value: int) -> Packed:
    if SMALLEST <= value <= LARGEST:
        return _INT.pack(INT, value), ()
    raise kinds.unfit(prop, f"{shown(value)} does not fit 64 bits")


def text(address: int, length: int) -> bytes:
    """A text that has a place already."""
    return _TEXT.pack(STRING, address, length)


def _text(kind: int, content: bytes) -> Packed:
    return _TEXT.pack(kind, 0, len(content)), (content,)


def _link(head: int, key: int) -> Packed:
    return _LINK.pack(LINK, head, key), ()


def _other(prop: Described, kind: int, value: Any) -> Packed:
    """Of a fixed width."""
    s = take()
    s.values.memory[:] = NULL
    s.values.put(0, As(prop, kind), value)
    content = bytes(s.values.memory)
    give_back(s)
    return content, ()


# Of these types nothing has to be looked at.
SIMPLE: dict[type, Callable[[Described, Any], Packed]] = {
    type(None): lambda prop, value: (NULL, ()),
    bool: lambda prop, value: (_INT.pack(BOOL, value), ()),
    int: _int,
    float: lambda prop, value: (_REAL.pack(DOUBLE, value), ()),
    str: lambda prop, value: _text(STRING, kinds.encode(prop, value)),
    bytes: lambda prop, value: _text(BINARY, value),
}
