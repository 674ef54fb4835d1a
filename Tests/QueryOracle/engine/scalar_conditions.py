"""Comparisons of plain properties with constants and with each other; each form keeps to what the documents settle."""

from __future__ import annotations

import random
from collections.abc import Callable

from queries.pools import quote
from queries.values import NUMERIC_KINDS, Link, kind_of

from .masks import Atom
from .scalar_data import CLASS, Things
from .scalar_numbers import Numbers
from .scalar_writing import EQUALITY, ORDER, ORDERED_KINDS, Writing

TYPES = ("null", "int", "bool", "string", "date", "double", "float", "decimal128", "objectid", "uuid", "numeric")

Form = Callable[[], "Atom | None"]


class ScalarConditions(Numbers):
    """Draws comparisons of all forms."""

    def __init__(self, rng: random.Random, things: Things, without: frozenset[str] = frozenset()) -> None:
        super().__init__(rng, things)
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

    def with_constant(self) -> Atom | None:
        """A property with a constant, on either side."""
        column = self.column()
        if column is None:
            return None
        constant, kind = self.constant(column), column.described.kind
        operator = self.operator(kind)
        if kind == "mixed" and self.chance(0.5):
            operator = self.rng.choice(ORDER if kind_of(constant) in ORDERED_KINDS | {"binary"} else EQUALITY)
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
        if self.chance(0.1):
            family = ("mixed",)
        two = self.column(*family)
        if two is None or not (one.ordered and two.ordered):
            return None
        operator = self.operator(kind if two.described.kind != "mixed" else "mixed")
        writing = Writing()
        writing.add(f"{one.described.name} {operator} {two.described.name}")
        return writing.atom(f"{kind} {operator} property {two.described.kind}", one, two)

    def in_list(self) -> Atom | None:
        """IN a list."""
        column = self.column()
        if column is None:
            return None
        writing, chosen = Writing(), self.constants(column)
        writing.add(f"{column.described.name} {self.rng.choice(('IN', 'in'))} ")
        how = self.listed(writing, chosen, column)
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
            self.listed(writing, [self.constant(column), self.constant(column)], column)
            return writing.atom(f"{column.described.kind} BETWEEN list", column)
        writing.add("{")
        self.literal(writing, self.constant(column), column)
        writing.add(", ")
        self.literal(writing, self.constant(column), column)
        writing.add("}")
        return writing.atom(f"{column.described.kind} BETWEEN", column)

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
