"""Conditions and steps about plain properties: their text, what they find by the oracle, and what is smaller."""

from __future__ import annotations

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
