"""Constants for plain properties, and how comparisons are written."""

from __future__ import annotations

import math
import random
from decimal import Decimal

from queries.binding import Argument
from queries.pools import EDGES, PLAIN, SCALAR_KINDS, pool, to_text
from queries.values import (
    DECIMAL128,
    NUMERIC_KINDS,
    Float32,
    Link,
    MixedList,
    MixedMap,
    Number,
    Timestamp,
    Value,
    to_float32,
)

from .masks import Atom
from .scalar_data import Column, Things

EQUALITY = ("==", "=", "!=", "<>", "==")
ORDER = ("<", "<=", "=<", ">", ">=", "=>")
ORDERED_KINDS = frozenset({"int", "float", "double", "decimal128", "string", "timestamp", "objectId", "uuid"})
# Fractions that neither a double nor a float is.
UNEVEN = (0.1, -0.3, 1 / 3, 2.675, 1e-7, 123456.789, 1e22, 1.1e38, 1e39)


def argument(value: Value, kind: str) -> Value:
    """An argument: beside floats and decimals a double stands for the number that it is written as."""
    return Number(repr(value)) if isinstance(value, float) and kind in ("float", "decimal128") else value


class Writing:
    """The text of a comparison, as it is put together."""

    def __init__(self) -> None:
        self.pieces: list[str] = [""]
        self.arguments: list[Argument] = []

    def add(self, text: str) -> None:
        """More text."""
        self.pieces[-1] += text

    def argument(self, value: Argument) -> None:
        """An argument."""
        self.arguments.append(value)
        self.pieces.append("")

    def atom(self, form: str, *columns: Column) -> Atom:
        """The whole."""
        names = tuple(dict.fromkeys(column.described.name for column in columns))
        return Atom(tuple(self.pieces), tuple(self.arguments), names, form)


class Constants:
    """Draws properties, operators and constants."""

    def __init__(self, rng: random.Random, things: Things) -> None:
        self.rng = rng
        self.things = things
        self.scalars = [column for column in things.columns if column.described.kind != "link"]

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.rng.random() < probability

    def column(self, *kinds: str) -> Column | None:
        """A property of one of these kinds; of any, where none is named."""
        fitting = [column for column in self.scalars if not kinds or column.described.kind in kinds]
        return self.rng.choice(fitting) if fitting else None

    def operator(self, kind: str) -> str:
        """An operator that a kind has."""
        return self.rng.choice(ORDER if kind in ORDERED_KINDS and self.chance(0.55) else EQUALITY)

    def constant(self, column: Column) -> Value:
        """A constant for a property: one of its values, one close to those, or any that it can be compared with."""
        kind, palette = column.described.kind, column.palette
        choice = self.rng.random()
        if not column.ordered:
            # Documents are no constants of the language.
            palette = [value for value in palette if not isinstance(value, (MixedList, MixedMap))]
        if palette and choice < 0.5:
            return self.rng.choice(palette)
        if palette and choice < 0.75:
            return self.near(self.rng.choice(palette))
        if kind in NUMERIC_KINDS and choice < 0.9:
            uneven: Value = self.rng.choice(UNEVEN)
            if self.chance(0.3) and isinstance(uneven, float):
                uneven = Float32(to_float32(uneven))
            return self.rng.choice((uneven, *PLAIN["int"], *PLAIN["double"], *EDGES["int"], *EDGES["double"]))
        if kind == "mixed":
            kind = self.rng.choice(SCALAR_KINDS)
        return self.rng.choice(pool(kind, column.described.kind != "mixed", True))

    def near(self, value: Value) -> Value:
        """A value next to another: the next number, a text with a character more or less."""
        sign = self.rng.choice((-1, 1))
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            return self.rng.choice((min(max(value + sign, -(2**63)), 2**63 - 1), float(value), value / 2))
        if isinstance(value, float):
            single, nearest = Float32(to_float32(value)), DECIMAL128.create_decimal(repr(value))
            return self.rng.choice((math.nextafter(value, sign * math.inf), value + 1, -value, single, nearest))
        if isinstance(value, Float32):
            return self.rng.choice((Float32(to_float32(value.value + sign)), value.value, -value.value))
        if isinstance(value, Decimal):
            moved = DECIMAL128.add(value, Decimal(sign).scaleb(-3))
            return self.rng.choice((moved, float(value))) if value.is_finite() else value
        if isinstance(value, str):
            return self.rng.choice((value + "a", value[:-1], value.upper(), value + "\u0000"))
        if isinstance(value, bytes):
            return value[:-1]
        if isinstance(value, Timestamp) and value.seconds > 0:
            return Timestamp(value.seconds + sign, value.nanoseconds)
        return value

    def literal(self, writing: Writing, value: Value, column: Column | None = None) -> str:
        """Write a constant, as text or as an argument; how is told."""
        kind = column.described.kind if column is not None else ""
        if self.chance(0.2) or isinstance(value, Link):
            writing.argument(argument(value, kind))
            return "argument"
        writing.add(self.written(value))
        return "text"

    def written(self, value: Value) -> str:
        """A constant as text, now and then with its type."""
        if isinstance(value, Decimal) and self.chance(0.5):
            return f"decimal({value})"
        if isinstance(value, Float32):
            number = repr(value.value)
            if not math.isfinite(value.value) or self.chance(0.3):
                return f"float({number})"
            return number + "f" if self.chance(0.5) else number
        return to_text(value, self.rng)

    def constants(self, column: Column) -> list[Value]:
        """A few or many constants that mostly fit a property."""
        count = self.rng.choice((0, 1, 1, 2, 3, 5, 12, 40))
        chosen = [self.constant(column) for _ in range(count)]
        if self.chance(0.3):
            chosen.append(None)
        if self.chance(0.15):
            chosen.append(self.rng.choice(PLAIN[self.rng.choice(tuple(PLAIN))]))
        return chosen

    def listed(self, writing: Writing, chosen: list[Value], column: Column) -> str:
        """Write a list of constants, as text or as an argument; how is told."""
        if self.chance(0.25):
            writing.argument([argument(one, column.described.kind) for one in chosen])
            return "argument"
        writing.add("{")
        for number, value in enumerate(chosen):
            writing.add(", " if number else "")
            self.literal(writing, value, column)
        writing.add("}")
        return "text"
