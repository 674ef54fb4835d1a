"""Comparisons of texts and binaries: their operators, with flags, and their lengths."""

from __future__ import annotations

from queries.pools import pool
from queries.values import Value

from .masks import Atom
from .scalar_data import Column
from .scalar_writing import EQUALITY, ORDER, Constants, Writing

TEXT_OPERATORS = ("BEGINSWITH", "endswith", "CONTAINS", "contains", "LIKE", "like", "==", "!=")


class Texts(Constants):
    """Draws comparisons of texts."""

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
