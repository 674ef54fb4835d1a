"""Values to draw from, and how they are written: as extended JSON and in the text of a query."""

from __future__ import annotations

import base64
import datetime
import random
from decimal import Decimal
from typing import Any

from .values import Float32, Number, ObjectId, Timestamp, Uuid, Value, time_key

SCALAR_KINDS = ("bool", "int", "float", "double", "decimal128", "string", "binary", "timestamp", "objectId", "uuid")

ASCII_STRINGS = (
    "",
    "a",
    "A",
    "ab",
    "Ab",
    "aB",
    "abc",
    "b",
    "x*y",
    "a?c",
    "zz",
    " a",
    "a b",
    "'q'",
    '"',
    "\\",
    "10",
    "null",
    "string of some length that does not fit in a small slot",
    "A_b-c.d",
)
WIDE_STRINGS = (
    "é",
    "É",
    "e\u0301",
    "straße",
    "STRASSE",
    "ẞ",
    "Ως",
    "ωσ",
    "ΩΣ",
    "İ",
    "i",
    "ı",
    "\u212a",
    "k",
    "ſ",
    "s",
    "ǆ",
    "Ǆ",
    "ǅ",
    "ā",
    "Ŵ",
    "🦄",
    "🦄a",
    "\uffff",
    "øre",
    "ØRE",
    "日本",
    "\u0000",
    "a\u0000b",
    "ÿ",
    "Ÿ",
)
WORDS = ("write", "tests", "written", "naïve", "NAIVE", "über", "unit-test", "42", "a", "the end", "Ærø")

# Values whose sums are exact in every order and in every floating type.
PLAIN: dict[str, tuple[Value, ...]] = {
    "bool": (True, False),
    "int": (0, 1, 2, 3, -1, 7, 100, -40, 1000),
    "float": tuple(Float32(value) for value in (0.0, 0.5, 1.0, 1.5, -2.25, 3.0, 100.0)),
    "double": (0.0, 0.5, 1.0, 1.5, -2.25, 3.0, 100.0, 7.75),
    "decimal128": tuple(Decimal(text) for text in ("0", "0.5", "1", "1.50", "-2.25", "3", "100", "0.1", "-0.3")),
    "string": ASCII_STRINGS,
    "binary": (b"", b"a", b"ab", b"AB", b"abc", b"\x00", b"a\x00", b"k*"),
    "timestamp": (
        Timestamp(0, 0),
        Timestamp(1, 0),
        Timestamp(1, 1),
        Timestamp(1512130073, 505),
        Timestamp(-1, 0),
        Timestamp(-1, -500_000_000),
        Timestamp(0, -1),
        Timestamp(4_000_000_000, 999_999_999),
    ),
    "objectId": tuple(
        ObjectId(bytes.fromhex(text))
        for text in (
            "000000000000000000000000",
            "000000000000000000000001",
            "6b01034c6f146ea65c1d116f",
            "ffffffffffffffffffffffff",
        )
    ),
    "uuid": tuple(
        Uuid(bytes.fromhex(text))
        for text in (
            "00000000000000000000000000000000",
            "3b241101e2bb42558caf4136c566a961",
            "ffffffffffffffffffffffffffffffff",
            "80000000000000000000000000000000",
        )
    ),
}

EDGES: dict[str, tuple[Value, ...]] = {
    "int": (
        2**31 - 1,
        2**31,
        -(2**31),
        2**32,
        2**53,
        2**53 + 1,
        -(2**53) - 1,
        2**63 - 1,
        -(2**63),
        2**63 - 2,
        255,
        256,
    ),
    "float": tuple(Float32(value) for value in (16777216.0, -0.0, 1.0e10, 2.0**-20, 2.0**40)),
    "double": (
        -0.0,
        9007199254740992.0,
        2.0**63,
        -(2.0**63),
        1e300,
        -1e300,
        5e-324,
        float("inf"),
        float("-inf"),
        4294967296.5,
    ),
    "decimal128": tuple(
        Decimal(text)
        for text in (
            "1.0",
            "1.00",
            "1E+10",
            "9007199254740993",
            "9223372036854775808",
            "-1E-30",
            "1E+300",
            "9007199254740992.5",
        )
    ),
}


def pool(kind: str, edge: bool, wide: bool) -> tuple[Value, ...]:
    """All values of a kind; without edges only those that add up exactly."""
    if kind == "string":
        return ASCII_STRINGS + (WIDE_STRINGS if wide else ())
    return PLAIN[kind] + (EDGES.get(kind, ()) if edge else ())


def to_json(value: Value) -> Any:
    """A scalar as extended JSON."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return {"$numberLong": str(value)}
    if isinstance(value, Float32):
        return {"$numberDouble": f"{value.value:.7e}"}
    if isinstance(value, float):
        return {"$numberDouble": f"{value:.16e}".replace("inf", "Infinity")}
    if isinstance(value, Decimal):
        return {"$numberDecimal": str(value)}
    if isinstance(value, bytes):
        return {"$binary": {"base64": base64.b64encode(value).decode(), "subType": "00"}}
    if isinstance(value, Timestamp):
        milliseconds, rest = divmod(time_key(value), 1_000_000)
        date: dict[str, Any] = {"$date": {"$numberLong": str(milliseconds)}}
        return {**date, "nanoseconds": rest} if rest else date
    if isinstance(value, ObjectId):
        return {"$oid": value.data.hex()}
    if isinstance(value, Uuid):
        return {"$binary": {"base64": base64.b64encode(value.data).decode(), "subType": "04"}}
    raise ValueError(f"no scalar: {value}")


def quote(text: str, rng: random.Random) -> str:
    """A text between quotes, with the escapes the grammar knows."""
    mark = rng.choice("'\"")
    escapes = {"\\": "\\\\", mark: "\\" + mark, "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    written = "".join(escapes.get(character, character) for character in text)
    return mark + written.replace("\u0000", "\\0") + mark


def to_text(value: Value, rng: random.Random) -> str:
    """A value as a constant of the query language."""
    if value is None:
        return rng.choice(("null", "NULL", "nil", "Nil"))
    if isinstance(value, bool):
        return rng.choice(("true", "TRUE")) if value else rng.choice(("false", "FALSE"))
    if isinstance(value, int):
        return hex(value) if value >= 0 and rng.random() < 0.1 else signed(str(value), rng)
    if isinstance(value, Float32):
        return signed(repr(value.value), rng) + ("f" if rng.random() < 0.3 else "")
    if isinstance(value, float):
        return signed(repr(value), rng)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, str):
        return quote(value, rng)
    if isinstance(value, bytes):
        return rng.choice(("bin", "binary")) + "(" + quote(value.decode(), rng) + ")"
    if isinstance(value, Timestamp):
        return date_text(value, rng) if rng.random() < 0.4 else f"T{value.seconds}:{value.nanoseconds}"
    if isinstance(value, ObjectId):
        return f"oid({value.data.hex()})"
    if isinstance(value, Uuid):
        text = value.data.hex()
        return f"uuid({text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]})"
    if isinstance(value, Number):
        return value.text
    raise ValueError(f"no constant: {value}")


def signed(text: str, rng: random.Random) -> str:
    """A number, seldom with the sign that it does not need."""
    return "+" + text if text[0] != "-" and rng.random() < 0.05 else text


def date_text(value: Timestamp, rng: random.Random) -> str:
    """A timestamp as a date; its nanoseconds count upwards also before 1970."""
    seconds, nanoseconds = divmod(time_key(value), 1_000_000_000)
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    text = moment.strftime(rng.choice(("%Y-%m-%d@%H:%M:%S", "%Y-%m-%dT%H:%M:%S")))
    return f"{text}:{nanoseconds}" if nanoseconds or rng.random() < 0.3 else text


def arguable(value: Value) -> bool:
    """Whether a value means the same as an argument with a type of its own: a decimal may not."""
    return not isinstance(value, Decimal)
