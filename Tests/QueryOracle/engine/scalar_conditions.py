"""Comparisons of plain properties with constants and with each other; each form keeps to what the documents settle."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import Decimal

from queries.binding import Argument
from queries.pools import EDGES, PLAIN, SCALAR_KINDS, pool, quote, to_text
from queries.values import DECIMAL128, NUMERIC_KINDS, Float32, Link, Number, Timestamp, Value, kind_of, to_float32

from .masks import Atom
from .scalar_data import CLASS, Column, Things

EQUALITY = ("==", "=", "!=", "<>", "==")
ORDER = ("<", "<=", "=<", ">", ">=", "=>")
ORDERED_KINDS = frozenset({"int", "float", "double", "decimal128", "string", "timestamp", "objectId", "uuid"})
TEXT_OPERATORS = ("BEGINSWITH", "endswith", "CONTAINS", "contains", "LIKE", "like", "==", "!=")
TYPES = ("null", "int", "bool", "string", "date", "double", "float", "decimal128", "objectid", "uuid", "numeric")
# Fractions that neither a double nor a float is.
UNEVEN = (0.1, -0.3, 1 / 3, 2.675, 1e-7, 123456.789, 1e22, 1.1e38, 1e39)

Form = Callable[[], "Atom | None"]


def is_uneven(value: Value) -> bool:
    """Whether a number is another one when it is written and read as a double; beside a mixed value that may count."""
    if isinstance(value, Decimal):
        return value.is_finite() and Decimal(float(value)) != value
    if isinstance(value, Float32):
        value = value.value
    return isinstance(value, float) and math.isfinite(value) and Decimal(repr(value)) != Decimal(value)


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


class ScalarConditions:
    """Draws comparisons."""

    def __init__(self, rng: random.Random, things: Things, without: frozenset[str] = frozenset()) -> None:
        self.rng = rng
        self.things = things
        self.scalars = [column for column in things.columns if column.described.kind != "link"]
        forms: list[tuple[Form, int]] = [
            (self.with_constant, 12),
            (self.with_null, 4),
            (self.with_property, 5),
            (self.in_list, 6),
            (self.between, 4),
            (self.text, 10),
            (self.arithmetic, 4),
            (self.object, 2),
            (self.length, 1),
            (self.type, 1),
            (self.compared_with_list, 1),
        ]
        self.forms = [(form, weight) for form, weight in forms if form.__name__ not in without]

    def atom(self) -> Atom:
        """A comparison; a form that finds no property for it gives way to another."""
        while True:
            form = self.rng.choices([form for form, _ in self.forms], [weight for _, weight in self.forms])[0]
            atom = form()
            if atom is not None:
                return atom

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
            kind = self.rng.choice([kind for kind in SCALAR_KINDS if kind != "binary"])
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
        if self.chance(0.2) or (kind == "mixed" and is_uneven(value)):
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

    # Comparisons

    def with_constant(self) -> Atom | None:
        """A property with a constant, on either side."""
        column = self.column()
        if column is None:
            return None
        constant, kind = self.constant(column), column.described.kind
        operator = self.operator(kind)
        if kind == "mixed" and self.chance(0.5):
            operator = self.rng.choice(ORDER if kind_of(constant) in ORDERED_KINDS else EQUALITY)
        writing, name = Writing(), column.described.name
        turned = self.chance(0.2)
        if not turned:
            writing.add(f"{name} {operator} ")
        how = self.literal(writing, constant, column)
        if turned:
            writing.add(f" {operator} {name}")
        return writing.atom(f"{kind} {operator} {kind_of(constant)} {how}{' turned' if turned else ''}", column)

    def with_null(self) -> Atom | None:
        """A property with null."""
        column = self.rng.choice(self.things.columns)
        if column.described.collection:
            return None
        operator = self.operator(column.described.kind) if self.chance(0.3) else self.rng.choice(EQUALITY)
        writing, kind = Writing(), column.described.kind
        writing.add(f"{column.described.name} {operator} ")
        self.literal(writing, None)
        return writing.atom(f"{kind} {operator} null", column)

    def with_property(self) -> Atom | None:
        """Two properties of one family."""
        one = self.column()
        if one is None:
            return None
        kind = one.described.kind
        family = tuple(NUMERIC_KINDS) if kind in NUMERIC_KINDS else (kind,)
        if self.chance(0.1) and kind != "binary":
            family = ("mixed",)
        two = self.column(*family)
        if two is None:
            return None
        operator = self.operator(kind if two.described.kind != "mixed" else "mixed")
        writing = Writing()
        writing.add(f"{one.described.name} {operator} {two.described.name}")
        return writing.atom(f"{kind} {operator} property {two.described.kind}", one, two)

    def constants(self, column: Column) -> list[Value]:
        """A few or many constants that mostly fit a property."""
        count = self.rng.choice((0, 1, 1, 2, 3, 5, 12, 40))
        chosen = [self.constant(column) for _ in range(count)]
        if self.chance(0.3):
            chosen.append(None)
        if self.chance(0.15):
            chosen.append(self.rng.choice(PLAIN[self.rng.choice(tuple(PLAIN))]))
        return chosen

    def list(self, writing: Writing, chosen: list[Value], column: Column) -> str:
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

    def in_list(self) -> Atom | None:
        """IN a list."""
        column = self.column()
        if column is None:
            return None
        writing, chosen = Writing(), self.constants(column)
        writing.add(f"{column.described.name} {self.rng.choice(('IN', 'in'))} ")
        how = self.list(writing, chosen, column)
        return writing.atom(f"{column.described.kind} IN {how} of {min(len(chosen), 9)}", column)

    def compared_with_list(self) -> Atom | None:
        """Another operator with a list, or a list with a quantifier."""
        column = self.column()
        if column is None:
            return None
        writing = Writing()
        quantifier = self.rng.choice(("", "ANY ", "ALL ", "NONE "))
        operator = self.rng.choice(("IN", self.operator(column.described.kind)))
        writing.add(f"{column.described.name} {operator} {quantifier}{{")
        for number, value in enumerate(self.constants(column)[:5]):
            writing.add(", " if number else "")
            self.literal(writing, value, column)
        writing.add("}")
        return writing.atom(f"{column.described.kind} {operator} {quantifier}list", column)

    def between(self) -> Atom | None:
        """A range of numbers or dates."""
        column = self.column(*NUMERIC_KINDS, "timestamp")
        if column is None:
            return None
        writing = Writing()
        writing.add(f"{column.described.name} {self.rng.choice(('BETWEEN', 'between'))} ")
        if self.chance(0.2):
            self.list(writing, [self.constant(column), self.constant(column)], column)
            return writing.atom(f"{column.described.kind} BETWEEN list", column)
        writing.add("{")
        self.literal(writing, self.constant(column), column)
        writing.add(", ")
        self.literal(writing, self.constant(column), column)
        writing.add("}")
        return writing.atom(f"{column.described.kind} BETWEEN", column)

    # Texts

    def text(self) -> Atom | None:
        """Operators of texts, and equality with flags; of texts, binaries and mixed values."""
        column = self.column("string") if self.chance(0.75) else self.column("binary", "mixed", "string")
        if column is None:
            return None
        kind = column.described.kind
        operator = self.rng.choice(TEXT_OPERATORS)
        flag = self.rng.choice(("[c]", "[c]", " [c]", "", "", "") + (("[d]", "[cd]") if kind == "string" else ()))
        if operator in ("==", "!=") and not flag:
            flag = "[c]"
        writing = Writing()
        other = self.column("string")
        if kind == "string" and other is not None and self.chance(0.1):
            writing.add(f"{column.described.name} {operator}{flag} {other.described.name}")
            return writing.atom(f"{kind} {operator.lower()}{flag.strip()} property", column, other)
        turned = self.chance(0.05)
        if not turned:
            writing.add(f"{column.described.name} {operator}{flag} ")
        self.literal(writing, self.pattern(column, operator))
        if turned:
            writing.add(f" {operator}{flag} {column.described.name}")
        return writing.atom(f"{kind} {operator.lower()}{flag.strip()}{' turned' if turned else ''}", column)

    def pattern(self, column: Column, operator: str) -> Value:
        """What a text is searched for: a part of one that is there, with other cases, or a pattern of it."""
        if self.chance(0.04):
            return None
        kind = column.described.kind
        values = [value for value in column.palette if isinstance(value, (str, bytes))]
        value = self.rng.choice(values or pool("string" if kind == "mixed" else kind, False, True))
        text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
        start = self.rng.randint(0, len(text))
        part = self.rng.choice((text, text[start:], text[:start], text.swapcase(), text[start : start + 2]))
        if operator.lower() == "like":
            part = "".join(self.like(symbol) for symbol in part)
            cut = self.rng.randint(0, len(part))
            part = self.rng.choice(("*", "")) + part[:cut] + self.rng.choice(("*", "", "**")) + part[cut:]
            part += self.rng.choice(("*", "", ""))
        if kind == "binary":
            return part.encode("ascii", "ignore")
        return part

    def like(self, symbol: str) -> str:
        """A character in a pattern: itself, often what stands for any other."""
        if self.chance(0.2):
            return "?"
        return "\\" + symbol if symbol in "*?\\" and self.chance(0.8) else symbol

    def length(self) -> Atom | None:
        """The length of texts and binaries."""
        column = self.column("string", "binary")
        if column is None:
            return None
        writing = Writing()
        size = self.rng.choice(("@count", "@size"))
        writing.add(
            f"{column.described.name}.{size} {self.rng.choice(ORDER + EQUALITY)} {self.rng.choice((0, 1, 2, 5))}"
        )
        return writing.atom(f"{column.described.kind}.{size}", column)

    # Numbers, types, objects

    def arithmetic(self) -> Atom | None:
        """Of ints, of floats and doubles, of all of them, or of a mixed value, which has no decimals here."""
        kinds = self.rng.choice(
            (("int",), ("int",), ("double",), ("int", "float", "double"), ("mixed", "int", "double"))
        )
        if self.chance(0.05):
            kinds = ("decimal128",)
        one, two = self.column(*kinds), self.column(*kinds)
        if one is None or two is None or any(isinstance(value, Decimal) for value in one.palette + two.palette):
            return None if "decimal128" not in kinds or one is None or two is None else self.computed(kinds, one, two)
        return self.computed(kinds, one, two)

    def computed(self, kinds: tuple[str, ...], one: Column, two: Column) -> Atom:
        """`a + b * 2 < c` and its like."""
        writing, used, signs = Writing(), [one], "+-*" if "decimal128" in kinds else "+-*/"
        right = self.chance(0.5)
        minus = self.rng.choice(("", "", "", "-"))
        terms = [minus + one.described.name, two.described.name if right else None]
        if right:
            used.append(two)
        if self.chance(0.3):
            terms.reverse()
        grouped = self.chance(0.5)
        writing.add("(" if grouped else "")
        for number, term in enumerate(terms):
            writing.add(f" {self.rng.choice(signs)} " if number else "")
            if term is None:
                self.literal(writing, self.number(kinds))
            else:
                writing.add(term)
        writing.add(")" if grouped else "")
        if self.chance(0.3):
            writing.add(f" {self.rng.choice(signs)} ")
            self.literal(writing, self.number(kinds))
        operator = self.rng.choice(ORDER + EQUALITY)
        writing.add(f" {operator} ")
        if self.chance(0.2):
            other = self.column(*kinds) or one
            if other is not one and any(isinstance(value, Decimal) for value in other.palette):
                other = one
            writing.add(other.described.name)
            used.append(other)
        else:
            self.literal(writing, self.number(kinds))
        return writing.atom(f"{'/'.join(kinds)} arithmetic {operator}", *used)

    def number(self, kinds: tuple[str, ...]) -> Value:
        """A number that is exact in each kind."""
        kind = self.rng.choice([kind for kind in kinds if kind != "mixed"])
        return self.rng.choice(PLAIN[kind] + (EDGES[kind] if kind == "int" and self.chance(0.2) else ()))

    def type(self) -> Atom | None:
        """The type of a mixed value."""
        column = self.column("mixed")
        if column is None:
            return None
        writing = Writing()
        name, operator = self.rng.choice(TYPES), self.rng.choice(EQUALITY)
        writing.add(f"{column.described.name}.@type {operator} {quote(name, self.rng)}")
        return writing.atom(f"@type {operator}", column)

    def object(self) -> Atom | None:
        """A link with an object, or ANY of a list of links."""
        if self.things.count == 0:
            return None
        column = self.rng.choice([column for column in self.things.columns if column.described.kind == "link"])
        writing = Writing()
        target = Link(CLASS, self.rng.randrange(self.things.count))
        if column.described.collection:
            quantifier, operator = self.rng.choice(("ANY ", "any ", "NONE ", "")), "=="
        else:
            quantifier, operator = "", self.rng.choice(EQUALITY)
        writing.add(f"{quantifier}{column.described.name} {operator} ")
        writing.argument(target)
        return writing.atom(f"{quantifier}link{column.described.collection} {operator} object", column)
