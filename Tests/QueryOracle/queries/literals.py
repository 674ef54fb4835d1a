"""Constants of the query text: from their spelling to a value."""

from __future__ import annotations

import base64
import datetime
import re
from decimal import InvalidOperation

from .errors import QueryError
from .values import DECIMAL128, Encoded, Float32, Number, ObjectId, Timestamp, Uuid, Value, to_float32

SIMPLE_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "0": "\0"}
EPOCH = datetime.datetime(1970, 1, 1)


def unescape(quoted: str) -> str:
    """The text inside quotes."""
    result: list[str] = []
    index = 1
    while index < len(quoted) - 1:
        character = quoted[index]
        if character != "\\":
            result.append(character)
            index += 1
        elif quoted[index + 1] == "u":
            result.append(chr(int(quoted[index + 2 : index + 6], 16)))
            index += 6
        else:
            result.append(SIMPLE_ESCAPES.get(quoted[index + 1], quoted[index + 1]))
            index += 2
    # Two escapes may be the halves of one character outside the basic plane.
    return "".join(result).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def unescape_name(name: str) -> str:
    """A name with its escaped blanks."""
    return re.sub(r"\\(.)", lambda match: {"t": "\t", "n": "\n", "r": "\r"}.get(match[1], match[1]), name)


def date(text: str, position: int) -> Timestamp:
    """`YYYY-MM-DD@HH:MM:SS[:nanos]`; no years before 1900."""
    year, month, day, hour, minute, second, *rest = (int(part) for part in re.split(r"[-T@:]", text))
    if year < 1900:
        raise QueryError(position, "a date since 1900", text)
    try:
        moment = datetime.datetime(year, month, day, hour, minute, second)
    except ValueError:
        raise QueryError(position, "a date", text) from None
    passed = moment - EPOCH
    return normalised(passed.days * 86400 + passed.seconds, rest[0] if rest else 0)


def normalised(seconds: int, nanoseconds: int) -> Timestamp:
    """A timestamp whose parts have one sign and whose nanoseconds are less than a second."""
    total = seconds * 1_000_000_000 + nanoseconds
    sign = -1 if total < 0 else 1
    whole, part = divmod(abs(total), 1_000_000_000)
    return Timestamp(sign * whole, sign * part)


def number(text: str) -> Number:
    """A decimal or hexadecimal number, infinity or NaN."""
    lowered = text.lower()
    if "0x" in lowered:
        return Number(str(int(lowered, 16)))
    if lowered.lstrip("+-") == "nan":
        return Number("NaN")
    return Number(text if "inf" in lowered else lowered)


def constant(kind: str, text: str, position: int) -> Value:
    """The value of a constant's token."""
    if kind in ("DECIMAL", "SINGLE"):
        return called(kind, text, position)
    if kind == "FLOAT" and text.endswith("f"):
        return Float32(to_float32(float(text[:-1])))
    if kind in ("NATURAL", "SIGNED", "HEX", "FLOAT", "SPECIAL"):
        return number(text)
    if kind == "STRING":
        return unescape(text)
    if kind == "BASE64":
        return encoded(text, position)
    if kind == "BINARY":
        return unescape(text[text.index("(") + 1 : -1].strip()).encode()
    if kind == "BOOL":
        return text.lower() == "true"
    if kind == "OID":
        return ObjectId(bytes.fromhex(text[4:-1].strip()))
    if kind == "UUID":
        return Uuid(bytes.fromhex(text[5:-1].strip().replace("-", "")))
    if kind == "DATE":
        return date(text, position)
    if kind == "TIME":
        seconds, nanoseconds = text[1:].split(":")
        return normalised(int(seconds), int(nanoseconds))
    return None


def called(kind: str, text: str, position: int) -> Value:
    """`decimal(1.5)` and `float(1.5)`: numbers of a type of their own."""
    inner = text[text.index("(") + 1 : -1].strip()
    try:
        if kind == "DECIMAL":
            return DECIMAL128.create_decimal(inner)
        return Float32(to_float32(float(inner)))
    except (ValueError, InvalidOperation):
        raise QueryError(position, "a number", text) from None


def encoded(text: str, position: int) -> Encoded:
    """The bytes of `B64"..."`."""
    try:
        return Encoded(base64.b64decode(text[4:-1], validate=True))
    except ValueError:
        raise QueryError(position, "base64", text) from None
