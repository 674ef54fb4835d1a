"""Comparisons of what is computed."""

from __future__ import annotations

from queries.pools import EDGES, PLAIN
from queries.values import Value

from .masks import Atom
from .scalar_data import Column
from .scalar_texts import Texts
from .scalar_writing import EQUALITY, ORDER, Writing


class Numbers(Texts):
    """Draws arithmetic."""

    def arithmetic(self) -> Atom | None:
        """Of ints, of floats and doubles, of decimals, of all of them, or of mixed values."""
        kinds = self.rng.choice(
            (
                ("int",),
                ("int",),
                ("double",),
                ("decimal128",),
                ("int", "float", "double"),
                ("int", "float", "double", "decimal128"),
                ("mixed", "int", "double", "decimal128"),
            )
        )
        one, two = self.column(*kinds), self.column(*kinds)
        return None if one is None or two is None else self.computed(kinds, one, two)

    def computed(self, kinds: tuple[str, ...], one: Column, two: Column) -> Atom:
        """`a + b * 2 < c` and its like."""
        writing, used, signs = Writing(), [one], "+-*/"
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
            writing.add(other.described.name)
            used.append(other)
        else:
            self.literal(writing, self.number(kinds))
        return writing.atom(f"{'/'.join(kinds)} arithmetic {operator}", *used)

    def number(self, kinds: tuple[str, ...]) -> Value:
        """A number that is exact in each kind."""
        kind = self.rng.choice([kind for kind in kinds if kind != "mixed"])
        return self.rng.choice(PLAIN[kind] + (EDGES[kind] if kind == "int" and self.chance(0.2) else ()))
