"""Random objects of one class with plain properties, in shapes that an engine stores in different ways."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from queries.data import Database, Object as Row, Stored, index_incoming
from queries.pools import EDGES, PLAIN, SCALAR_KINDS, WIDE_STRINGS, pool
from queries.schema import Class, Property, Schema
from queries.values import Float32, Link, MixedList, MixedMap, ObjectId, Timestamp, Uuid, Value, sort_key, to_float32

CLASS = "Thing"
# Mostly small; some around the size of a leaf, and some of more than one.
COUNTS = {0: 2, 1: 2, 2: 2, 7: 6, 20: 15, 30: 20, 60: 20, 100: 10, 200: 8, 600: 4, 1500: 4, 4095: 1, 4096: 1, 9000: 1}
NAMES = (
    "in between sort limit contains like text offset asc distinct løbe _x T399 beginswith desc truth nullable size "
    "endswith ascending ÄÖ geowithin trues nulls"
).split()
ALPHABETS = ("ab", "aAbB", "abc*?", "éEeÉ", "xyz 0", "αΑβσςΣ", "İIiı", "a\u0301e", "🦄a", "_%\\")
WORDS = (
    "",
    "a",
    "prefix",
    "https://example.com/",
    "the same beginning of all of these texts, longer than any small slot ",
)


@dataclass
class Column:
    """A property with the values that were drawn for it."""

    described: Property
    palette: list[Value]
    # Whether the order of its values is settled: not of documents and links.
    ordered: bool = True


@dataclass
class Things:
    """The objects, and what a generator of conditions should know of them."""

    database: Database
    columns: list[Column]
    count: int
    compound: list[tuple[str, ...]]


def things(rng: random.Random, count: int | None = None) -> Things:
    """Draws properties and objects."""
    size = rng.choices(tuple(COUNTS), tuple(COUNTS.values()))[0] if count is None else count
    names = rng.sample(NAMES, len(NAMES))
    columns: list[Column] = []
    kinds = [*SCALAR_KINDS, *rng.choices(("int", "double", "string", "decimal128", "float", "timestamp"), k=6)]
    rng.shuffle(kinds)
    for number, kind in enumerate(kinds if size <= 1000 else kinds[:9]):
        nullable = rng.random() < 0.5
        name = names.pop() if rng.random() < 0.2 else f"{kind}{number}" + ("N" if nullable else "")
        columns.append(column(rng, name, kind, nullable))
    columns.extend(column(rng, f"mixed{number}", "mixed", True) for number in range(2))
    columns.append(documents(rng, size))
    columns.append(Column(Property("link", "link", True, target=CLASS), [], ordered=False))
    columns.append(Column(Property("links", "link", collection="list", target=CLASS), [], ordered=False))
    rows = [Row(Link(CLASS, key), {}) for key in range(size)]
    for found in columns:
        for row, value in zip(rows, drawn(rng, found, size)):
            row.fields[found.described.name] = value
    key = primary_key(rng, size)
    properties = {found.described.name: found.described for found in columns}
    if key is not None:
        described, keys = key
        properties = {described.name: described, **properties}
        columns.append(Column(described, keys))
        for row, value in zip(rows, rng.sample(keys, len(keys))):
            row.fields = {described.name: value, **row.fields}
    found_class = Class(CLASS, False, key[0].name if key else "", properties)
    database = Database(Schema({CLASS: found_class}), {CLASS: {row.link.key: row for row in rows}})
    index_incoming(database)
    usable = [one.described.name for one in columns if one.ordered]
    compound = [tuple(rng.sample(usable, rng.choice((2, 2, 3)))) for _ in range(3)]
    return Things(database, columns, size, list(dict.fromkeys(compound)))


def primary_key(rng: random.Random, count: int) -> tuple[Property, list[Value]] | None:
    """A primary key, for a class that is small."""
    if count > 200 or rng.random() < 0.5:
        return None
    kind = rng.choice(("int", "string", "objectId", "uuid"))
    numbers = rng.sample(range(1000), count)
    made: dict[str, Callable[[int], Value]] = {
        "int": lambda number: number - 500,
        "string": lambda number: f"id {number}",
        "objectId": lambda number: ObjectId(number.to_bytes(12, "big")),
        "uuid": lambda number: Uuid(number.to_bytes(16, "big")),
    }
    return Property("_id", kind), [made[kind](number) for number in numbers]


def column(rng: random.Random, name: str, kind: str, nullable: bool) -> Column:
    """A property with a palette of values."""
    palette = different(PALETTES.get(kind, from_pool(kind))(rng))
    if kind in ("float", "double", "decimal128") and rng.random() < 0.15:
        nan: dict[str, Value] = {"float": Float32(float("nan")), "double": float("nan"), "decimal128": Decimal("NaN")}
        palette.append(nan[kind])
    return Column(Property(name, kind, nullable), palette)


def different(values: Sequence[Value]) -> list[Value]:
    """Values without repetitions; 1, 1.0 and true are three, and so are 0.0 and -0.0."""
    return list({(type(value), repr(value)): value for value in values}.values())


def documents(rng: random.Random, count: int) -> Column:
    """A mixed property with lists, maps and links among its values."""
    values: list[Value] = [
        1,
        2.5,
        "a",
        "list",
        True,
        MixedList(()),
        MixedMap(()),
        MixedList((1, "a")),
        MixedMap((("a", 1),)),
    ]
    targets: list[Value] = [Link(CLASS, rng.randrange(count)) for _ in range(min(count, 3))]
    values.extend(targets)
    values.append(MixedList((MixedMap((("b", targets[0] if targets else None), ("c", "a"))), 1)))
    return Column(Property("document", "mixed", True), values, ordered=False)


def from_pool(kind: str) -> Callable[[random.Random], Sequence[Value]]:
    """A few of the values that all generators draw from."""

    def draw(rng: random.Random) -> Sequence[Value]:
        values = pool(kind, rng.random() < 0.5, rng.random() < 0.5)
        return rng.sample(values, min(len(values), rng.choice((1, 2, 4, 8, 30))))

    return draw


def ints(rng: random.Random) -> Sequence[Value]:
    """Ints in a range of some width, at some distance from 0."""
    if rng.random() < 0.3:
        return from_pool("int")(rng)
    width = rng.choice((1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 52, 53, 62, 63))
    base = rng.choice((0, 0, 0, -5, 100, -(2**31), 2**40, -(2**63), 2**63 - 2**width))
    count = rng.choice((1, 2, 5, 20, 60))
    drawn_ints = [base + rng.randrange(2**width) for _ in range(count)]
    return [min(max(number, -(2**63)), 2**63 - 1) for number in [*drawn_ints, base, base + 2**width - 1]]


def doubles(rng: random.Random) -> Sequence[Value]:
    """Doubles: of the pools, whole ones, fractions, and neighbours of each other."""
    style = rng.randrange(4)
    if style == 0:
        return from_pool("double")(rng)
    if style == 1:
        return [float(rng.randint(-50, 50)) for _ in range(20)]
    if style == 2:
        return [rng.uniform(-100, 100) for _ in range(30)]
    base = rng.choice((1.0, 1e10, 2.0**53, 0.1, -3.0))
    return [base, base + abs(base) * 2**-52, base - abs(base) * 2**-52, -base, 0.0]


def floats(rng: random.Random) -> Sequence[Value]:
    """The same, in single precision."""
    return [Float32(to_float32(value)) for value in doubles(rng) if isinstance(value, float)]


def decimals(rng: random.Random) -> Sequence[Value]:
    """Decimals of the pools, or with a few digits."""
    if rng.random() < 0.5:
        return from_pool("decimal128")(rng)
    scale = rng.choice((0, 1, 2, 10, 30))
    return [Decimal(rng.randint(-500, 500)).scaleb(-scale) for _ in range(rng.choice((2, 10, 40)))]


def strings(rng: random.Random) -> Sequence[Value]:
    """Texts of the pools, of few letters, or with a long beginning that all have."""
    if rng.random() < 0.3:
        return from_pool("string")(rng)
    letters, beginning = rng.choice(ALPHABETS), rng.choice(WORDS)
    longest, count = rng.choice((2, 4, 12, 70)), rng.choice((2, 8, 40, 120))
    if rng.random() < 0.05:
        longest, count = 6000, 3
    texts = ["".join(rng.choices(letters, k=rng.randint(0, longest))) for _ in range(count)]
    return [beginning + text if rng.random() < 0.9 else text for text in texts]


def binaries(rng: random.Random) -> Sequence[Value]:
    """Binaries of the pools, or of few letters."""
    if rng.random() < 0.5:
        return from_pool("binary")(rng)
    return [bytes(rng.choices(b"aAb\x00*", k=rng.randint(0, 12))) for _ in range(20)]


def times(rng: random.Random) -> Sequence[Value]:
    """Dates of the pools, or close to each other."""
    if rng.random() < 0.4:
        return from_pool("timestamp")(rng)
    base, step = rng.choice((0, 1_700_000_000, -5)), rng.choice((1, 86400))
    moments = [base + step * rng.randint(0, 50) for _ in range(30)]
    return [Timestamp(moment, rng.choice((0, 1, 999_999_999)) if moment > 0 else 0) for moment in moments]


def mixed(rng: random.Random) -> Sequence[Value]:
    """Values of some kinds, or of all."""
    kinds = rng.sample(SCALAR_KINDS, rng.choice((1, 2, 5, 10)))
    values: list[Value] = []
    for kind in kinds:
        values.extend(rng.sample(PLAIN[kind], min(len(PLAIN[kind]), 4)))
        if kind in ("int", "double") and rng.random() < 0.5:
            values.extend(EDGES[kind])
        if kind == "string" and rng.random() < 0.5:
            values.extend(rng.sample(WIDE_STRINGS, 8))
        if kind in ("float", "double", "decimal128") and rng.random() < 0.3:
            values.extend((0.1, Float32(to_float32(0.1)), Decimal("0.1"), float("nan")))
    return values


PALETTES: dict[str, Callable[[random.Random], Sequence[Value]]] = {
    "int": ints,
    "double": doubles,
    "float": floats,
    "decimal128": decimals,
    "string": strings,
    "binary": binaries,
    "timestamp": times,
    "mixed": mixed,
}


def drawn(rng: random.Random, found: Column, count: int) -> list[Stored]:
    """A value for each object: at random, mostly one, in ascending order, or in runs."""
    described = found.described
    if described.kind == "link":
        return links(rng, described, count)
    palette = found.palette
    style = rng.randrange(5)
    if style == 0:
        result: list[Stored] = [palette[0] if rng.random() < 0.95 else rng.choice(palette) for _ in range(count)]
    elif style == 1:
        ascending = sorted(palette, key=sort_key)
        result = [ascending[number * len(ascending) // count] for number in range(count)]
    elif style == 2:
        run = max(1, count // 20)
        chosen = rng.choices(palette, k=count // run + 1)
        result = [chosen[number // run] for number in range(count)]
    else:
        result = list(rng.choices(palette, k=count))
    share = rng.choice((0.0, 0.05, 0.3, 0.3, 0.95, 1.0)) if described.nullable else 0.0
    return [None if rng.random() < share else value for value in result]


def links(rng: random.Random, described: Property, count: int) -> list[Stored]:
    """Links to a few of the objects."""
    targets = [Link(CLASS, rng.randrange(count)) for _ in range(min(count, 6))]
    share = 0.5 if count <= 200 else 0.02
    if described.collection:
        return [rng.choices(targets, k=rng.choice((1, 2, 3))) if rng.random() < share else [] for _ in range(count)]
    return [rng.choice(targets) if rng.random() < share else None for _ in range(count)]
