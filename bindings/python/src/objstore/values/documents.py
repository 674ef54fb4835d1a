"""Values of mixed properties as the packed form of section 11 of objstore.h, and back.

    pack({"b": [1, 2.5], "a": None})  ─►  0e 01 02 …

First the kind, then the content; the keys of a dict are in the order of their bytes.
"""

import struct
import uuid
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Any

from ..errors import Embedded, NotSupported, OutOfRange, about
from ..messages import shown
from . import decimals, kinds
from .kinds import (
    BINARY,
    BOOL,
    DECIMAL,
    DEEPEST,
    DOUBLE,
    FLOAT,
    INT,
    LINK,
    LIST,
    MAP,
    NULL,
    OBJECT_ID,
    STRING,
    TIMESTAMP,
    UUID,
    Described,
)
from .object_id import ObjectId

_INTS = {1: struct.Struct("<Bb"), 2: struct.Struct("<Bh"), 4: struct.Struct("<Bi"), 8: struct.Struct("<Bq")}
_DOUBLE = struct.Struct("<Bd")
_TIME = struct.Struct("<BqI")
_LINK = struct.Struct("<BQq")
_LETTER = {1: "B", 2: "H", 4: "I"}
Link = Callable[[int, int], Any]  # the object with a class id and a key


def pack(prop: Described, value: Any) -> bytes:
    """A value, None included; what is of no type that a mixed property can have is refused as by the property."""
    return _pack(prop, value, DEEPEST)


def _pack(prop: Described, value: Any, left: int) -> bytes:
    plain = _PLAIN.get(type(value))
    if plain is not None:
        return plain(prop, value)
    if type(value) is list:
        if not left:
            raise kinds.too_deep(prop)
        items = [_pack(prop, element, left - 1) for element in value]
        return _container(LIST, len(items), items)
    if type(value) is dict:
        if not left:
            raise kinds.too_deep(prop)
        items = []
        for key, element in _in_order(prop, value):
            items += (key, _pack(prop, element, left - 1))
        return _container(MAP, len(value), items)
    if kinds.is_object(value):
        return _LINK.pack(LINK, *place(prop, value))
    return _pack(prop, kinds.plain(prop, value, left), left)


def place(prop: Described, value: Any) -> tuple[int, int]:
    """An object that a mixed value links to, as the library knows it: class and store in one number, and key."""
    if kinds.is_embedded(type(value)):
        name = type(value).__name__
        raise about(
            Embedded,
            prop,
            f"{prop.path}: class {name} is embedded: its objects have a place of their own, and nothing else links to "
            "them",
        )
    return kinds.place(prop, value)


def _in_order(prop: Described, value: "dict[Any, Any]") -> list[tuple[bytes, Any]]:
    """Entries by the bytes of their keys."""
    return sorted([(_key(prop, key), element) for key, element in value.items()], key=_first)


def _first(entry: tuple[bytes, Any]) -> bytes:
    return entry[0]


def _key(prop: Described, key: Any) -> bytes:
    return kinds.encode(prop, kinds.key(prop, key))


def _container(kind: int, count: int, items: list[bytes]) -> bytes:
    body = b"".join(items)
    largest = max(count, len(body))
    width = 1 if largest < 1 << 8 else 2 if largest < 1 << 16 else 4
    head = struct.pack(f"<BB{1 + len(items)}{_LETTER[width]}", kind, width, count, *accumulate(map(len, items)))
    return head + body


def _int(prop: Described, value: int) -> bytes:
    for size, most in ((1, 1 << 7), (2, 1 << 15), (4, 1 << 31), (8, 1 << 63)):
        if -most <= value < most:
            return _INTS[size].pack(INT, value)
    raise about(OutOfRange, prop, f"{prop.path}: {shown(value)} does not fit 64 bits")


def _time(prop: Described, value: datetime) -> bytes:
    return _TIME.pack(TIMESTAMP, *kinds.instant(kinds.aware(prop, value)))


def _decimal(prop: Described, value: Decimal) -> bytes:
    return bytes([DECIMAL]) + (decimals.bits(kinds.plain(prop, value)) or 0).to_bytes(16, "little")


_PLAIN: dict[type, Callable[[Described, Any], bytes]] = {
    type(None): lambda prop, value: b"\0",
    bool: lambda prop, value: b"\1\1" if value else b"\1\0",
    int: _int,
    float: lambda prop, value: _DOUBLE.pack(DOUBLE, value),
    str: lambda prop, value: b"\6" + kinds.encode(prop, value),
    bytes: lambda prop, value: b"\7" + value,
    datetime: _time,
    Decimal: _decimal,
    ObjectId: lambda prop, value: b"\x09" + value.bytes,
    uuid.UUID: lambda prop, value: b"\x0a" + value.bytes,
}


def no_object(class_id: int, key: int) -> Any:
    raise NotSupported("the value has a link to an object, which is read from the object itself only")


def unpack(content: bytes, link: Link = no_object) -> Any:
    """The value of a packed form that the library handed out, and so has checked."""
    return _unpack(content, 0, len(content), None, link)


def unpack_shallow(content: bytes, nested: Callable[[int, Any], Any], link: Link) -> Any:
    """The same of a list or dict, with `nested(kind, index or key)` in place of the lists and dicts in it."""
    return _unpack(content, 0, len(content), nested, link)


def _unpack(content: bytes, start: int, end: int, nested: Callable[[int, Any], Any] | None, link: Link) -> Any:
    kind = content[start]
    at = start + 1
    if kind == STRING:
        return content[at:end].decode()
    if kind == INT:
        return int.from_bytes(content[at:end], "little", signed=True)
    if kind == DOUBLE:
        return _DOUBLE.unpack_from(content, start)[1]
    if kind == LIST or kind == MAP:
        width = content[at]
        count = int.from_bytes(content[at + 1 : at + 1 + width], "little")
        items = count if kind == LIST else 2 * count
        ends = struct.unpack_from(f"<{items}{_LETTER[width]}", content, at + 1 + width)
        body = at + 1 + width * (items + 1)
        bounds = [body, *(body + e for e in ends)]
        if kind == LIST:
            return [_element(content, a, b, nested, link, i) for i, (a, b) in enumerate(pairwise(bounds))]
        keys = [content[a:b].decode() for a, b in zip(bounds[::2], bounds[1::2])]
        return {k: _element(content, a, b, nested, link, k) for k, a, b in zip(keys, bounds[1::2], bounds[2::2])}
    if kind == LINK:
        head, key = _LINK.unpack_from(content, start)[1:]
        return link(head & 0xFFFFFFFF, key)
    return _rare(kind, content[at:end])


def _element(
    content: bytes, start: int, end: int, nested: Callable[[int, Any], Any] | None, link: Link, step: Any
) -> Any:
    if nested is not None and content[start] in (LIST, MAP):
        return nested(content[start], step)
    return _unpack(content, start, end, None, link)


def _rare(kind: int, content: bytes) -> Any:
    if kind == NULL:
        return None
    if kind == BOOL:
        return content != b"\0"
    if kind == BINARY:
        return content
    if kind == TIMESTAMP:
        return kinds.moment(*struct.unpack("<qI", content))
    if kind == DECIMAL:
        return decimals.from_bits(int.from_bytes(content, "little"))
    if kind == OBJECT_ID:
        return ObjectId(content)
    if kind == UUID:
        return uuid.UUID(bytes=content)
    assert kind == FLOAT
    return struct.unpack("<f", content)[0]
