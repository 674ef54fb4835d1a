"""Queries about plain properties: a condition, then steps; and how they are drawn."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from queries.binding import Argument

from .masks import Atom, World
from .scalar_trees import (
    EVERYTHING,
    Both,
    Distinct,
    Either,
    Limit,
    Not,
    Offset,
    Order,
    Sort,
    Step,
    Tree,
    Truth,
    atoms,
    mask,
    smaller,
    walked,
    written,
    written_step,
)

AND, OR, NOT = (" AND ", " and ", " && ", "&&"), (" OR ", " or ", " || ", "||"), ("NOT ", "not ", "!", "! ")
SORT_FLAGS = ("", "", "", "", "[c]", "[cd]", "[d]")
ASCENDING = ("ASC", "asc", "ASCENDING", "Ascending")
DESCENDING = ("DESC", "desc", "Descending")


@dataclass(frozen=True, eq=False)
class ScalarQuery:
    """A condition and the steps behind it."""

    condition: Tree
    steps: tuple[Step, ...] = ()

    def text(self, arguments: list[Argument]) -> str:
        """Its text; the arguments are added to those that are there."""
        steps = " ".join(written_step(step) for step in self.steps)
        if self.condition is EVERYTHING:
            return steps
        return f"{written(self.condition, arguments)} {steps}" if steps else written(self.condition, arguments)

    def finds(self, world: World) -> list[int]:
        """The keys that it finds, by the oracle."""
        return world.found(walked(world, self.steps, world.places(mask(world, self.condition))))

    def after(self, earlier: ScalarQuery) -> ChainedQuery:
        """What this finds among what another finds."""
        return ChainedQuery(earlier, self)

    def atoms(self) -> list[Atom]:
        """All comparisons in it."""
        return list(atoms(self.condition))

    def names(self) -> list[str]:
        """The properties that it is about, those of its steps too."""
        names = [name for atom in self.atoms() for name in atom.properties]
        for step in self.steps:
            if isinstance(step, Sort):
                names.extend(order.name for order in step.orders)
            elif isinstance(step, Distinct):
                names.extend(step.names)
        return list(dict.fromkeys(names))

    def simpler(self) -> Iterator[ScalarQuery]:
        """Queries with less in them, the smallest first."""
        if self.steps or not isinstance(self.condition, Atom):
            for atom in self.atoms():
                yield ScalarQuery(atom)
        if self.steps:
            yield ScalarQuery(self.condition)
            if not isinstance(self.condition, Truth):
                yield ScalarQuery(Truth(True), self.steps)
            for place in range(len(self.steps)):
                yield replace(self, steps=self.steps[:place] + self.steps[place + 1 :])
            for place, step in enumerate(self.steps):
                if isinstance(step, Sort) and len(step.orders) > 1:
                    for order in step.orders:
                        yield replace(self, steps=(*self.steps[:place], Sort((order,)), *self.steps[place + 1 :]))
        for condition in smaller(self.condition):
            yield replace(self, condition=condition)


@dataclass(frozen=True)
class ChainedQuery:
    """What one query finds among what another finds."""

    first: ScalarQuery
    then: ScalarQuery

    def finds(self, world: World) -> list[int]:
        """The keys that it finds, by the oracle."""
        before = walked(world, self.first.steps, world.places(mask(world, self.first.condition)))
        fitting = mask(world, self.then.condition)
        return world.found(walked(world, self.then.steps, [place for place in before if fitting >> place & 1]))


class QueryDrawer:
    """Draws queries of a pool of comparisons."""

    def __init__(
        self, rng: random.Random, pool: list[Atom], sortable: list[str], equatable: list[str], texts: list[str]
    ) -> None:
        self.rng = rng
        self.pool = pool
        self.sortable = sortable
        self.equatable = equatable
        # Those of the sortable ones that can be sorted without regard to case and accents.
        self.texts = texts

    def query(self) -> ScalarQuery:
        """A condition of some depth, then steps."""
        depth = self.rng.choice((0, 1, 1, 1, 2, 2, 3, 4))
        choice = self.rng.random()
        condition: Tree = EVERYTHING if choice < 0.05 else Truth(True) if choice < 0.1 else self.tree(depth)
        return ScalarQuery(condition, self.steps())

    def tree(self, depth: int) -> Tree:
        """A condition."""
        choice = self.rng.random()
        if choice < 0.02 or not self.pool:
            return Truth(self.rng.random() < 0.5)
        if depth == 0:
            return self.rng.choice(self.pool)
        if choice < 0.2:
            return Not(self.tree(depth - 1), self.rng.choice(NOT))
        parts = tuple(self.tree(self.rng.randrange(depth)) for _ in range(self.rng.choice((2, 2, 2, 3, 5))))
        if choice < 0.65:
            return Both(parts, self.rng.choice(AND))
        return Either(parts, self.rng.choice(OR))

    def steps(self) -> tuple[Step, ...]:
        """Steps in any order."""
        return tuple(self.step() for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2, 2, 3, 4))))

    def step(self) -> Step:
        """One step."""
        choice = self.rng.random()
        if choice < 0.45 and self.sortable:
            names = self.rng.sample(self.sortable, min(len(self.sortable), self.rng.choice((1, 1, 2, 3))))
            return Sort(tuple(self.order(name) for name in names))
        if choice < 0.65 and self.equatable:
            names = self.rng.sample(self.equatable, min(len(self.equatable), self.rng.choice((1, 1, 2, 3))))
            return Distinct(tuple(names))
        if choice < 0.85:
            return Limit(self.rng.choice((0, 1, 2, 3, 5, 10, 100, 1000, 5000)))
        return Offset(self.rng.choice((0, 1, 2, 5, 50, 4096)))

    def order(self, name: str) -> Order:
        """A property to sort by, with a direction; texts perhaps with flags."""
        ascending = self.rng.random() < 0.5
        flags = self.rng.choice(SORT_FLAGS) if name in self.texts else ""
        return Order(name, ascending, self.rng.choice(ASCENDING if ascending else DESCENDING), flags)
