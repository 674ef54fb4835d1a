"""Queries about the properties of a class itself: trees of conditions, then steps, with what the oracle finds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Union

from queries.binding import Argument

from .masks import Atom, World


@dataclass(frozen=True)
class Truth:
    """Always or never."""

    value: bool


@dataclass(frozen=True)
class Not:
    """The complement."""

    inner: Tree
    word: str


@dataclass(frozen=True)
class Both:
    """All of them."""

    parts: tuple[Tree, ...]
    word: str


@dataclass(frozen=True)
class Either:
    """Any of them."""

    parts: tuple[Tree, ...]
    word: str


# A condition that is not written.
EVERYTHING = Truth(True)

Tree = Union[Atom, Truth, Not, Both, Either]


@dataclass(frozen=True)
class Order:
    """A property to sort by, with its flags; how the direction is written."""

    name: str
    ascending: bool
    word: str
    flags: str = ""


@dataclass(frozen=True)
class Sort:
    """By some properties."""

    orders: tuple[Order, ...]


@dataclass(frozen=True)
class Distinct:
    """The first of each combination of values."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Limit:
    """Not more than so many."""

    count: int


@dataclass(frozen=True)
class Offset:
    """Without so many at the beginning."""

    count: int


Step = Union[Sort, Distinct, Limit, Offset]
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


def mask(world: World, tree: Tree) -> int:
    """The objects that a condition is true for."""
    if isinstance(tree, Atom):
        return world.mask(tree)
    if isinstance(tree, Truth):
        return world.all if tree.value else 0
    if isinstance(tree, Not):
        return world.all & ~mask(world, tree.inner)
    if isinstance(tree, Both):
        result = world.all
        for part in tree.parts:
            result &= mask(world, part)
        return result
    result = 0
    for part in tree.parts:
        result |= mask(world, part)
    return result


def walked(world: World, steps: tuple[Step, ...], places: list[int]) -> list[int]:
    """Objects after steps."""
    for step in steps:
        if isinstance(step, Sort):
            for order in reversed(step.orders):
                ranks = world.order(order.name, order.flags)
                places = sorted(places, key=ranks.__getitem__, reverse=not order.ascending)
        elif isinstance(step, Distinct):
            columns = [world.order(name) for name in step.names]
            firsts: dict[tuple[int, ...], int] = {}
            for place in places:
                firsts.setdefault(tuple(column[place] for column in columns), place)
            places = list(firsts.values())
        elif isinstance(step, Limit):
            places = places[: step.count]
        else:
            places = places[step.count :]
    return places


def atoms(tree: Tree) -> Iterator[Atom]:
    """All comparisons in a condition."""
    if isinstance(tree, Atom):
        yield tree
    elif isinstance(tree, Not):
        yield from atoms(tree.inner)
    elif isinstance(tree, (Both, Either)):
        for part in tree.parts:
            yield from atoms(part)


def smaller(tree: Tree) -> Iterator[Tree]:
    """Conditions with less in them."""
    if isinstance(tree, Not):
        yield tree.inner
        for inner in smaller(tree.inner):
            yield Not(inner, tree.word)
    elif isinstance(tree, (Both, Either)):
        yield from tree.parts
        for place in range(len(tree.parts)):
            if len(tree.parts) > 2:
                yield replace(tree, parts=tree.parts[:place] + tree.parts[place + 1 :])
            for inner in smaller(tree.parts[place]):
                yield replace(tree, parts=(*tree.parts[:place], inner, *tree.parts[place + 1 :]))


def written(tree: Tree, arguments: list[Argument]) -> str:
    """A condition's text, with parentheses only where they are needed."""
    if isinstance(tree, Atom):
        text = tree.text(len(arguments))
        arguments.extend(tree.arguments)
        return text
    if isinstance(tree, Truth):
        return "TRUEPREDICATE" if tree.value else "FALSEPREDICATE"
    if isinstance(tree, Not):
        inner = written(tree.inner, arguments)
        # NOT binds weaker than a comparison and stronger than AND.
        return tree.word + (f"({inner})" if isinstance(tree.inner, (Both, Either)) else inner)
    around = (Either, Both) if isinstance(tree, Both) else (Either,)
    parts = []
    for part in tree.parts:
        text = written(part, arguments)
        parts.append(f"({text})" if isinstance(part, around) else text)
    return tree.word.join(parts)


def written_step(step: Step) -> str:
    """A step's text."""
    if isinstance(step, Sort):
        return "SORT(" + ", ".join(f"{one.name}{one.flags} {one.word}" for one in step.orders) + ")"
    if isinstance(step, Distinct):
        return f"DISTINCT({', '.join(step.names)})"
    return f"LIMIT({step.count})" if isinstance(step, Limit) else f"OFFSET({step.count})"


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
