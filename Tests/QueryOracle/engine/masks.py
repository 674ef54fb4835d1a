"""The oracle's answers for many objects at once: what a condition says depends on the values of its properties alone.

A condition is asked of the oracle once for each combination of values that occurs, in an object made for that; which
objects have the combination is a set of bits. AND, OR and NOT of conditions are those of their bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

from queries.bind import bind_predicate
from queries.binding import Argument, Scope
from queries.bound import Condition
from queries.data import Database, Object as Row, Stored
from queries.evaluate import holds
from queries.syntax import parse
from queries.text import prepare
from queries.values import Link, Value, order, sort_key

# From the digits of a mask to bytes that are 0 or not.
DIGITS = bytes(1 if byte == ord("1") else 0 for byte in range(256))


@dataclass(frozen=True, eq=False)
class Atom:
    """A comparison: its text around its arguments, the arguments, and the properties it is about."""

    pieces: tuple[str, ...]
    arguments: tuple[Argument, ...]
    properties: tuple[str, ...]
    # What kind of comparison of what it is, for reports.
    form: str

    def text(self, first: int) -> str:
        """Its text, where its arguments begin at `$first`."""
        parts = [self.pieces[0]]
        for number, piece in enumerate(self.pieces[1:]):
            parts.append(f"${first + number}{piece}")
        return "".join(parts)


class Values:
    """All values that a class's properties have in any version, each with a number."""

    def __init__(self, database: Database, class_name: str) -> None:
        self.class_name = class_name
        names = database.schema.classes[class_name].properties
        self.of: dict[str, list[Stored]] = {name: [] for name in names}
        self.numbers: dict[str, dict[tuple[type, str], int]] = {name: {} for name in names}
        # Objects to ask the oracle about.
        self.probe = Row(Link(class_name, 0), {})
        self.database = Database(database.schema, {class_name: {0: self.probe}})
        self.truths: dict[Atom, dict[tuple[int, ...], bool]] = {}
        self.bound: dict[Atom, Condition] = {}

    def number(self, name: str, value: Stored) -> int:
        """The number of a value."""
        key = (type(value), repr(value))
        numbers = self.numbers[name]
        if key not in numbers:
            numbers[key] = len(self.of[name])
            self.of[name].append(value)
        return numbers[key]

    def bind(self, atom: Atom) -> Condition:
        """Read a condition; `QueryError` where the oracle refuses it."""
        if atom not in self.bound:
            scope = Scope(self.database, self.class_name, {}, list(atom.arguments))
            self.bound[atom] = bind_predicate(scope, parse(atom.text(0)).predicate)
            self.truths[atom] = {}
        return self.bound[atom]

    def holds(self, atom: Atom, combination: tuple[int, ...]) -> bool:
        """Whether a condition is true for an object with these values."""
        condition, truths = self.bind(atom), self.truths[atom]
        if combination not in truths:
            for name, number in zip(atom.properties, combination):
                self.probe.fields[name] = self.of[name][number]
            truths[combination] = holds(self.database, condition, {"": self.probe.link})
        return truths[combination]


class World:
    """The objects of one version: which of them have which values, in the order of their keys."""

    def __init__(self, values: Values, database: Database) -> None:
        self.values = values
        self.database = database
        table = database.tables[values.class_name]
        self.keys = list(table)
        self.all = (1 << len(self.keys)) - 1
        self.numbers: dict[str, list[int]] = {
            name: [values.number(name, row.fields[name]) for row in table.values()] for name in values.of
        }
        self.groups: dict[tuple[str, ...], dict[tuple[int, ...], int]] = {}
        self.ranks: dict[tuple[str, str], list[int]] = {}
        self.masks: dict[Atom, int] = {}

    def grouped(self, names: tuple[str, ...]) -> dict[tuple[int, ...], int]:
        """For each combination of values the objects that have it."""
        if names not in self.groups:
            places: dict[tuple[int, ...], list[int]] = {}
            for place, combination in enumerate(zip(*(self.numbers[name] for name in names))):
                places.setdefault(combination, []).append(place)
            self.groups[names] = {combination: bits(found, len(self.keys)) for combination, found in places.items()}
        return self.groups[names]

    def mask(self, atom: Atom) -> int:
        """The objects that a condition is true for."""
        if atom not in self.masks:
            result = 0
            if not atom.properties:
                result = self.all if self.values.holds(atom, ()) else 0
            else:
                for combination, mask in self.grouped(atom.properties).items():
                    if self.values.holds(atom, combination):
                        result |= mask
            self.masks[atom] = result
        return self.masks[atom]

    def places(self, mask: int) -> list[int]:
        """The objects of a mask."""
        return list(compress(range(len(self.keys)), format(mask, "b").encode().translate(DIGITS)[::-1]))

    def order(self, name: str, flags: str = "") -> list[int]:
        """For each object the place of its value in the order of all values of the property; equal ones share it."""
        if (name, flags) not in self.ranks:
            numbers = set(self.numbers[name])
            values = {number: folded(single(self.values.of[name][number]), flags) for number in numbers}
            ranks, rank, before = {}, 0, -1
            for number in sorted(numbers, key=lambda number: sort_key(values[number])):
                if before >= 0 and order(values[before], values[number]) != 0:
                    rank += 1
                ranks[number], before = rank, number
            self.ranks[(name, flags)] = [ranks[number] for number in self.numbers[name]]
        return self.ranks[(name, flags)]

    @cached_property
    def identical(self) -> bool:
        """Whether each object's place is its key."""
        return self.keys == list(range(len(self.keys)))

    def found(self, places: Sequence[int]) -> list[int]:
        """Keys of objects."""
        return list(places) if self.identical else [self.keys[place] for place in places]


def folded(value: Value, flags: str) -> Value:
    """A text as the flags of an order see it."""
    return prepare(value, "c" in flags, "d" in flags) if isinstance(value, str) else value


def single(stored: Stored) -> Value:
    """A value that is no collection."""
    if isinstance(stored, (list, dict)):
        raise TypeError("a collection has no place in an order")
    return stored


def bits(places: Iterable[int], count: int) -> int:
    """A mask of places."""
    result = bytearray(count // 8 + 1)
    for place in places:
        result[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(result, "little")
