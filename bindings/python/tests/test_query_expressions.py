"""Queries of expressions and of texts, against loops over the same rows."""

import ctypes
import enum
import gc
import math
import operator
import random
import threading
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import objstore
from conftest import store_of
from interrupting import at_every_byte_code
from objstore import (
    Backlinks,
    Condition,
    Counter,
    Expression,
    Float32,
    ObjectId,
    any_,
    asc,
    backlinks,
    desc,
    expression,
    field,
    links_to,
)
from objstore.native import ffi
from objstore.reading import queries

N = 400
START = datetime(2024, 1, 1, tzinfo=timezone.utc)


class Color(enum.Enum):
    BROWN = "brown"
    WHITE = "white"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Owner(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    things: list["Thing"]
    anything: list[Any]
    owned: Backlinks["Thing"] = backlinks("owner")


class Thing(objstore.Model):
    id: int = field(primary_key=True)
    a: int = 0
    b: int | None = field(default=None, indexed=True)
    real: float = 0.0
    real_or_none: float | None = field(default=None, indexed=True)
    single: Float32 = 0.0
    amount: Decimal | None = None
    text: str = field(default="", indexed=True)
    text_or_none: str | None = None
    raw: bytes | None = None
    flag: bool | None = None
    when: datetime | None = None
    maker: ObjectId | None = None
    token: uuid.UUID | None = field(default=None, indexed=True)
    color: Color = Color.BROWN
    size: Size | None = None
    count_: Counter | None = None
    extra: Any = None
    owner: Owner | None = None
    tags: list[str]
    notes: dict[str, int]


store = store_of([Owner, Thing])
REALS = [0.0, -0.0, 0.5, 1.0, 2.0, -1.5, 1e300, math.inf, -math.inf, math.nan, 2.0**53]
TEXTS = ["", "a", "A", "ab", "aB", "abc", "b", "bab", "é", "É", "e", "z*", "z?b", "\\", "ß", "a\nb", "'\"", "日本"]
BYTES = [b"", b"\0", b"a", b"ab", b"\xff\xfe"]
IDS = [ObjectId(bytes([i]) * 12) for i in range(4)]
TOKENS = [uuid.UUID(int=i << 64) for i in range(4)]
AMOUNTS = [Decimal("1.0"), Decimal("1.00"), Decimal("-2.5"), Decimal("1E+20"), Decimal(0), Decimal("NaN")]


def rows_of(rng: random.Random) -> list[dict[str, Any]]:
    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.25 else value

    return [
        {
            "id": i,
            "a": rng.randrange(-5, 6),
            "b": maybe(rng.randrange(-5, 6)),
            "real": rng.choice(REALS),
            "real_or_none": maybe(rng.choice(REALS)),
            "single": rng.choice([0.0, 0.5, 1.0, -1.5, 2.0]),
            "amount": maybe(rng.choice(AMOUNTS)),
            "text": rng.choice(TEXTS),
            "text_or_none": maybe(rng.choice(TEXTS)),
            "raw": maybe(rng.choice(BYTES)),
            "flag": maybe(rng.random() < 0.5),
            "when": maybe(START + timedelta(hours=rng.randrange(4))),
            "maker": maybe(rng.choice(IDS)),
            "token": maybe(rng.choice(TOKENS)),
            "color": rng.choice(list(Color)),
            "size": maybe(rng.choice(list(Size))),
            "count_": maybe(rng.randrange(4)),
        }
        for i in range(N)
    ]


def filled(store: objstore.Store, seed: int) -> list[dict[str, Any]]:
    print("seed", seed)
    rows = rows_of(random.Random(seed))
    with store.write():
        store.create_all(Thing, rows)
    return rows


# What the conditions mean: None equals None and nothing else; what is NaN equals nothing, and is neither less nor
# greater; numbers are compared exactly.


def exact(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(value)
    return Fraction(value) if isinstance(value, Decimal) and value.is_finite() else value


def is_nan(value: Any) -> bool:
    return isinstance(value, (float, Decimal)) and value != value


def compared(symbol: str, a: Any, b: Any) -> bool:
    if symbol == "!=":
        return not compared("==", a, b)
    if is_nan(a) or is_nan(b):
        return False
    if a is None or b is None:
        return symbol == "==" and a is b
    a, b = exact(a), exact(b)
    return bool(
        {"==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}[symbol](a, b)
    )


SYMBOLS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EQUALITY = ("==", "!=")
CONSTANTS: dict[str, list[Any]] = {
    "id": [0, 17, N, 5.5],
    "a": [0, 3, -5, 2.5, Decimal("2.5"), None, 2**62],
    "b": [0, 3, None, -0.5, Decimal(3)],
    "real": [*REALS, 0, 1, 2**53 + 1, Decimal("0.5"), None],
    "real_or_none": [*REALS, 1, None],
    "single": [0, 0.5, -1.5, 1e300, 2, Decimal("0.5")],
    "amount": [*AMOUNTS, 1, 1.0, 10**18, -2.5, None],
    "text": [*TEXTS, None],
    "text_or_none": [*TEXTS, None],
    "raw": [*BYTES, None],
    "flag": [True, False, None],
    "when": [START, START + timedelta(hours=2), None],
    "maker": [*IDS, None],
    "token": [*TOKENS, None],
    "color": [*Color, None],
    "size": [*Size, None],
    "count_": [0, 2, None],
}
Row = dict[str, Any]
Made = tuple[Condition, Callable[[Row], bool]]


@pytest.mark.parametrize("name", CONSTANTS)
def test_comparisons(store, name):
    rows, things, prop = filled(store, 1), store.objects(Thing), getattr(Thing, name)
    for symbol, compare in SYMBOLS.items():
        if name == "raw" and symbol not in EQUALITY:
            with pytest.raises(objstore.WrongType, match="Thing.raw"):
                len(things.where(compare(prop, b"")))
            continue
        for constant in CONSTANTS[name]:
            wanted = [row["id"] for row in rows if compared(symbol, row[name], constant)]
            found = things.where(compare(prop, constant))
            assert len(found) == len(wanted), (symbol, constant)
            assert [thing.id for thing in found] == wanted, (symbol, constant)
            assert len(found) == found.count() == len(wanted) and bool(found) == bool(wanted)
            first = found.first()
            assert (None if first is None else first.id) == (wanted[0] if wanted else None)
            argument = constant
            assert [t.id for t in things.filter(f"{name} {symbol} $0", argument)] == wanted, (symbol, constant)


def numbers(rng: random.Random, depth: int) -> tuple[Any, Callable[[Row], Any]]:
    """Something that is computed of ints, and what it is of a row."""
    kind = rng.randrange(6 if depth else 2)
    if kind == 0:
        value = rng.randrange(-6, 7)
        return value, lambda row: value
    if kind == 1:
        name = rng.choice(["a", "b", "id", "count_"])
        return getattr(Thing, name), lambda row: row[name]
    if kind == 2:
        negated, of = numbers(rng, depth - 1)
        return (-negated, lambda row: None if of(row) is None else -of(row))
    combine = rng.choice([operator.add, operator.sub, operator.mul])
    (left, of_left), (right, of_right) = numbers(rng, depth - 1), numbers(rng, depth - 1)

    def combined(row: Row) -> Any:
        a, b = of_left(row), of_right(row)
        return None if a is None or b is None else combine(a, b)

    return combine(left, right), combined


def texts(row_text: str | None, test: Callable[[str], bool]) -> bool:
    return row_text is not None and test(row_text)


def simple(rng: random.Random) -> Made:
    kind = rng.randrange(7)
    if kind == 0:
        symbol = rng.choice(list(SYMBOLS))
        left, of_left = numbers(rng, 2)
        right, of_right = numbers(rng, 2)
        if isinstance(left, int) and isinstance(right, int):
            left, of_left = Thing.a, lambda row: row["a"]
        return SYMBOLS[symbol](left, right), lambda row: compared(symbol, of_left(row), of_right(row))
    name = rng.choice(list(CONSTANTS))
    prop, choices = getattr(Thing, name), CONSTANTS[name]
    if kind == 1:
        chosen = [c for c in rng.sample(choices, min(3, len(choices)))]
        return prop.in_(chosen), lambda row: any(compared("==", row[name], c) for c in chosen)
    if kind == 2 and name != "raw":
        low, high = rng.choice(choices), rng.choice(choices)
        return prop.between(low, high), lambda row: compared(">=", row[name], low) and compared("<=", row[name], high)
    if kind == 3:
        name = rng.choice(["text", "text_or_none"])
        prop, part = getattr(Thing, name), rng.choice(TEXTS)
        method, test = rng.choice(
            [
                (prop.contains, lambda text: part in text),
                (prop.starts_with, lambda text: text.startswith(part)),
                (prop.ends_with, lambda text: text.endswith(part)),
            ]
        )
        return method(part), lambda row: texts(row[name], test)
    if kind == 4:
        part = rng.choice(BYTES)
        return Thing.raw.contains(part), lambda row: row["raw"] is not None and part in row["raw"]
    if kind == 5:
        symbol, (one, other) = (
            rng.choice(list(SYMBOLS)),
            rng.choice([("text", "text_or_none"), ("real", "a"), ("b", "amount")]),
        )
        left, right = getattr(Thing, one), getattr(Thing, other)
        return SYMBOLS[symbol](left, right), lambda row: compared(symbol, row[one], row[other])
    symbol, constant = rng.choice(EQUALITY if name == "raw" else list(SYMBOLS)), rng.choice(choices)
    return SYMBOLS[symbol](prop, constant), lambda row: compared(symbol, row[name], constant)


def random_condition(rng: random.Random, depth: int) -> Made:
    kind = rng.randrange(4 if depth else 1)
    if kind == 0:
        return simple(rng)
    condition, test = random_condition(rng, depth - 1)
    if kind == 1:
        return ~condition, lambda row: not test(row)
    other, other_test = random_condition(rng, depth - 1)
    if kind == 2:
        return condition & other, lambda row: test(row) and other_test(row)
    return condition | other, lambda row: test(row) or other_test(row)


@pytest.mark.parametrize("seed", range(6))
def test_random_conditions(store, seed):
    rows, things = filled(store, seed), store.objects(Thing)
    rng = random.Random(seed)
    for turn in range(60):
        condition, test = random_condition(rng, 3)
        wanted = [row["id"] for row in rows if test(row)]
        found = things.where(condition)
        assert [thing.id for thing in found] == wanted, (seed, turn, condition)
        assert len(things.where(condition)) == len(wanted), (seed, turn, condition)
        # The same as text, and each behind the other.
        text = found.query_text()
        read = things.filter(text)
        assert [thing.id for thing in read] == wanted and read.query_text() == text, (seed, turn, text)
        more, more_test = random_condition(rng, 1)
        both = [row["id"] for row in rows if test(row) and more_test(row)]
        for joined in (
            found.where(more),
            things.where(condition, more),
            things.where(more).filter(text),
            things.filter(text).where(more),
            things.where(more & condition),
        ):
            assert [thing.id for thing in joined] == both, (seed, turn, text, more)
            assert joined.count() == len(both)


@pytest.mark.parametrize("seed", range(3))
def test_conditions_in_a_write(store, seed):
    """Which has changed what they are about."""
    filled(store, seed)
    rng = random.Random(seed)
    with store.write():
        for thing in list(store.objects(Thing)):
            if thing.id % 3 == 0:
                thing.a, thing.text = rng.randrange(-5, 6), rng.choice(TEXTS)
            elif thing.id % 7 == 0:
                store.delete(thing)
        rows = [{name: getattr(thing, name) for name in CONSTANTS} for thing in store.objects(Thing)]
        for row in rows:
            row["count_"] = None if row["count_"] is None else row["count_"].value
        for turn in range(30):
            condition, test = random_condition(rng, 2)
            wanted = [row["id"] for row in rows if test(row)]
            assert [thing.id for thing in store.objects(Thing).where(condition)] == wanted, (seed, turn, condition)


# Order, and steps


def in_order(value: Any) -> Any:
    """A key that sorts as the store does: None first, NaN behind the other numbers."""
    if value is None:
        return (0,)
    return (2,) if is_nan(value) else (1, exact(value).encode() if isinstance(value, str) else exact(value))


SORTED = ("a", "b", "text", "text_or_none", "when", "token", "flag", "count_", "color")


@pytest.mark.parametrize("seed", range(4))
def test_steps(store, seed):
    """As many as one likes, each about what those before it have left."""
    rows, rng = filled(store, seed), random.Random(seed)
    for turn in range(40):
        results, wanted, said = store.objects(Thing), list(rows), []
        for _ in range(rng.randrange(1, 5)):
            kind = rng.randrange(5)
            if kind == 0:
                condition, test = random_condition(rng, 1)
                results, wanted = results.where(condition), [row for row in wanted if test(row)]
                said.append(str(condition))
            elif kind == 1:
                keys = [(name, rng.random() < 0.5) for name in rng.sample(SORTED, rng.randrange(1, 4))]
                results = results.order_by(*[(desc if d else asc)(getattr(Thing, name)) for name, d in keys])
                for name, descending in reversed(keys):
                    wanted = sorted(wanted, key=lambda row: in_order(row[name]), reverse=descending)
                said.append(f"order_by {keys}")
            elif kind == 2:
                names = rng.sample(SORTED, rng.randrange(1, 3))
                results = results.distinct(*[getattr(Thing, name) for name in names])
                seen: dict[Any, Row] = {}
                for row in wanted:
                    seen.setdefault(tuple(row[name] for name in names), row)
                wanted = list(seen.values())
                said.append(f"distinct {names}")
            elif kind == 3:
                count = rng.choice([0, 1, 10, 100, N])
                results, wanted = results.limit(count), wanted[:count]
                said.append(f"limit {count}")
            else:
                count = rng.choice([0, 1, 10, 100])
                results, wanted = results.offset(count), wanted[count:]
                said.append(f"offset {count}")
        ids = [row["id"] for row in wanted]
        assert [thing.id for thing in results] == ids, (seed, turn, said)
        assert len(results) == results.count() == len(ids)
        first = results.first()
        assert (None if first is None else first.id) == (ids[0] if ids else None)
        assert [thing.id for thing in results[3:9]] == ids[3:9] and (not ids or results[-1].id == ids[-1])
        for i in rng.sample(range(N), 5):
            assert (store.get(Thing, i) in results) == (i in ids), (seed, turn, said)
        assert results.sum(Thing.a) == sum(row["a"] for row in wanted)
        try:
            text = results.query_text()
        except objstore.NotSupported:
            continue
        assert [thing.id for thing in store.objects(Thing).filter(text)] == ids, (seed, turn, text)


def test_order(store):
    with store.write():
        store.create_all(
            Thing, [{"id": i, "text": t, "b": b} for i, (t, b) in enumerate(zip("bAacBa", [2, None, 1, 2, None, 0]))]
        )
    things = store.objects(Thing)
    ids = lambda results: [thing.id for thing in results]
    assert ids(things.order_by(Thing.text)) == [1, 4, 2, 5, 0, 3]
    assert ids(things.order_by(asc(Thing.text, case=False))) == [1, 2, 5, 0, 4, 3]
    assert ids(things.order_by(desc(Thing.text))) == [3, 0, 2, 5, 4, 1]
    assert ids(things.order_by("b", desc("id"))) == [4, 1, 5, 2, 3, 0]
    assert ids(things.order_by(desc(Thing.b), Thing.id)) == [0, 3, 2, 5, 1, 4]
    assert ids(things.order_by(Thing.b * -1)) == [1, 4, 0, 3, 2, 5]
    assert ids(things.order_by(desc(Thing.id)).order_by(Thing.b)) == [4, 1, 5, 2, 3, 0]
    assert ids(things.order_by(Thing.b).where(Thing.id > 2).limit(2)) == [4, 5]
    assert ids(things.distinct(Thing.b)) == [0, 1, 2, 5] and ids(things.distinct("b").offset(1)) == [1, 2, 5]
    assert ids(things.filter("b != NULL SORT(b DESC, id ASC) LIMIT(3)")) == [0, 3, 2]
    assert things.order_by(desc(Thing.id)).limit(2).query_text() == "TRUEPREDICATE SORT(id DESC) LIMIT(2)"
    frozen = things.order_by(Thing.text).limit(3).freeze()
    with store.write():
        assert things.order_by(desc(Thing.id)).limit(2).update(text="0") == 2
        assert ids(things.order_by(Thing.text).limit(3)) == [4, 5, 1] and ids(frozen) == [1, 4, 2]
        assert things.order_by(Thing.text).limit(2).delete() == 2
    assert ids(things) == [0, 1, 2, 3] and ids(frozen) == [1, 4, 2]
    for wrong in (lambda: things.order_by(), lambda: things.distinct(5), lambda: things.order_by(Owner.id)):
        with pytest.raises(objstore.InvalidArgument):
            wrong()
    with pytest.raises(objstore.NoSuchProperty):
        things.order_by("idd")
    with pytest.raises(objstore.InvalidArgument, match="the limit is an int"):
        things.limit("5")
    with pytest.raises(objstore.OutOfRange):
        things.offset(2**63)


def test_aggregates_of_a_part(store):
    rows, things = filled(store, 11), store.objects(Thing)
    rng = random.Random(11)
    for _ in range(20):
        condition, test = random_condition(rng, 2)
        part, of = things.where(condition), [row for row in rows if test(row)]
        for name in ("a", "b"):
            values = [row[name] for row in of if row[name] is not None]
            assert part.sum(name) == sum(values)
            assert part.min(name) == min(values, default=None) and part.max(name) == max(values, default=None)
            average = part.avg(name)
            assert average == (pytest.approx(sum(values) / len(values)) if values else None)
        moments = [row["when"] for row in of if row["when"] is not None]
        assert part.min(Thing.when) == min(moments, default=None)
    for name in ("color", "size", "text"):
        for results in (things, things.where(Thing.a > 0)):
            with pytest.raises(objstore.WrongType, match=f"Thing.{name}"):
                results.max(name)


# Texts


def test_case_and_accents(store):
    names = ["Rex", "rex", "REX", "Réx", "Ma", "", "Straße", "STRASSE", "ΣΑΣ", "σας"]
    with store.write():
        store.create_all(Thing, [{"id": i, "text": name} for i, name in enumerate(names)])
    things, name = store.objects(Thing), Thing.text

    def found(condition):
        return [thing.text for thing in things.where(condition)]

    assert found(name.equals("rex", case=False)) == ["Rex", "rex", "REX"]
    assert found(name.equals("rex")) == found(name == "rex") == ["rex"]
    assert found(name.contains("E", case=False)) == ["Rex", "rex", "REX", "Straße", "STRASSE"]
    assert found(name.starts_with("r", case=False)) == ["Rex", "rex", "REX", "Réx"]
    assert found(name.ends_with("X")) == ["REX"]
    assert found(name.equals("rex", case=False, accents=False)) == ["Rex", "rex", "REX", "Réx"]
    assert found(name.contains("e", accents=False)) == ["Rex", "rex", "Réx", "Straße"]
    assert found(name.equals("σασ", case=False)) == ["ΣΑΣ", "σας"]
    assert found(name.length == 3) == ["Rex", "rex", "REX", "Réx", "ΣΑΣ", "σας"]
    assert found(name.contains(Thing.text)) == names
    assert things.where(name.contains("E", case=False, accents=False)).query_text() == 'text CONTAINS[cd] "E"'
    for wrong in (lambda: name.contains("x", case=0), lambda: name.like("x", accents=None)):
        with pytest.raises(objstore.InvalidArgument):
            wrong()


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("*", TEXTS),
        ("a*", ["a", "ab", "aB", "abc", "a\nb"]),
        ("?b", ["ab"]),
        ("*b*", ["ab", "abc", "b", "bab", "z?b", "a\nb"]),
        ("z\\*", ["z*"]),
        ("z\\?b", ["z?b"]),
        ("", [""]),
        ("??", ["ab", "aB", "z*", "'\"", "日本"]),
    ],
)
def test_like(store, pattern, wanted):
    with store.write():
        store.create_all(Thing, [{"id": i, "text": text} for i, text in enumerate(TEXTS)])
    found = store.objects(Thing).where(Thing.text.like(pattern))
    assert [thing.text for thing in found] == wanted
    assert [t.text for t in store.objects(Thing).filter("text LIKE $0", pattern)] == wanted


# Constants


def test_constants_of_each_type(store):
    """Also of other types that are like those of the properties."""
    numpy = pytest.importorskip("numpy")
    ann = Owner(id=1, name="Ann")
    with store.write():
        for i in range(4):
            row = {"id": i, "a": i, "real": i / 2, "single": i / 10, "size": Size.SMALL if i == 1 else None}
            store.create(
                Thing, row | {"count_": i, "text": Color.WHITE.value if i == 2 else "", "extra": [i], "owner": None}
            )
        store.get(Thing, 3).owner = ann
        store.get(Thing, 1).when = START
    things = store.objects(Thing)

    def found(condition):
        return [thing.id for thing in things.where(condition)]

    assert found(Thing.a == numpy.int8(2)) == found(numpy.int64(2) == Thing.a) == found(Thing.a == Size.LARGE) == [2]
    assert found(Thing.real == numpy.float32(0.5)) == found(Thing.real == Fraction(1, 2)) == [1]
    assert found(Thing.when == numpy.datetime64("2024-01-01")) == [1] and found(Thing.when < START) == []
    assert found(Thing.single == 0.1) == [1] and found(Thing.single.in_([0.1, 0.2])) == [1, 2]
    assert found(Thing.single > 1e300) == [] and found(Thing.single < 1e300) == [0, 1, 2, 3]
    assert found(Thing.size == Size.SMALL) == [1] and found(Thing.size.in_([Size.SMALL, None])) == [0, 1, 2, 3]
    assert found(Thing.count_ == store.get(Thing, 2).count_) == [2] and found(Thing.count_ >= Counter(3)) == [3]
    assert found(Thing.extra == [2]) == [2] and found(Thing.extra == (2.0,)) == [2] and found(Thing.extra == {}) == []
    assert found(Thing.owner == ann) == found(Thing.owner.in_([ann])) == found(Thing.owner != None) == [3]
    assert found(Thing.owner.in_(store.objects(Owner))) == [3] and found(Thing.owner == None) == [0, 1, 2]
    assert (
        found(Thing.a.in_({1, 2})) == found(Thing.a.in_(n for n in (1, 2))) == [1, 2] and found(Thing.a.in_([])) == []
    )
    assert found(expression(1) < Thing.a) == found(Thing.a > 1) == [2, 3]
    assert [t.id for t in things.filter("owner == $0 AND a IN $1", ann, [1, 3])] == [3]
    assert [t.id for t in things.filter("size == $0 OR text == $1", Size.SMALL, Color.WHITE)] == [1, 2]
    assert [t.id for t in things.filter("a BETWEEN $0", (1, 2))] == [1, 2]
    for refused, error in (
        (lambda: Thing.color == "brown", objstore.WrongType),
        (lambda: Thing.color == Size.SMALL, objstore.WrongType),
        (lambda: Thing.a == 2**63, objstore.OutOfRange),
        (lambda: Thing.a == object(), objstore.WrongType),
        (lambda: Thing.text == "\ud800", objstore.InvalidText),
        (lambda: Thing.when == datetime(2024, 1, 1), objstore.WrongType),
        (lambda: Thing.owner == 5, objstore.WrongType),
        (lambda: Thing.owner == Owner(id=9), objstore.WrongStore),
        (lambda: Thing.a.in_("12"), objstore.WrongType),
        (lambda: Thing.a.in_(5), objstore.WrongType),
    ):
        with pytest.raises(error):
            refused()
    for condition in (
        Thing.a == "1",
        Thing.text == 5,
        Thing.flag == 1,
        Thing.a < START,
        Thing.owner < ann,
        Thing.a.contains("1"),
    ):
        for use in (len, list, lambda results: results.first(), lambda results: results.query_text()):
            with pytest.raises(objstore.WrongType) as caught:
                use(things.where(condition))
            assert caught.value.position is None  # of a node, which the program has not made


def test_an_int_beside_a_float_loses_no_digits(store):
    numpy = pytest.importorskip("numpy")
    with store.write():
        store.add(Thing(id=1, real=float(2**53)))
    for number in (2**53 + 1, numpy.int64(2**53 + 1)):
        assert not store.objects(Thing).where(Thing.real == number) and store.objects(Thing).where(Thing.real < number)


# Texts of queries


def test_errors_of_a_text_show_it(store):
    things = store.objects(Thing)
    for text, arguments, error, position in (
        ("a <", (), objstore.InvalidQuery, 3),
        ("aa < 1", (), objstore.NoSuchProperty, 0),
        ("text == 'é日' AND aa < 1", (), objstore.NoSuchProperty, 20),
        ("a < 'x'", (), objstore.WrongType, 4),
        ("a < $1", (5,), objstore.InvalidQuery, 4),
        ("a < 1 AND\n\ttext ==", (), objstore.InvalidQuery, 18),
    ):
        with pytest.raises(error) as caught:
            things.filter(text, *arguments)
        assert caught.value.position == position, text
        lines = str(caught.value).splitlines()
        at = len(text.encode()[:position].decode())
        line = text.splitlines()[text.count("\n", 0, at)]
        column = at - (text.rfind("\n", 0, at) + 1)
        assert lines[1] == f"    {line}" and lines[2].replace("\t", " ") == f"    {' ' * column}^", lines
        assert lines[2][4:-1].count("\t") == line[:column].count("\t")
    for wrong in (5, None, b"a < 1"):
        with pytest.raises(objstore.WrongType, match="a filter is a text"):
            things.filter(wrong)
    with pytest.raises(objstore.InvalidText):
        things.filter("text == '\ud800'")


def test_texts_without_a_condition(store):
    filled(store, 2)
    things = store.objects(Thing)
    assert things.filter("").count() == things.filter("TRUEPREDICATE").count() == things.where().count() == N
    assert things.query_text() == "TRUEPREDICATE"
    assert [t.id for t in things.filter("SORT(id DESC) LIMIT(2)")] == [N - 1, N - 2]
    assert [t.id for t in things.filter("a > 0").filter("LIMIT(2)")] == [t.id for t in things.where(Thing.a > 0)][:2]


# What Python makes of an expression


def test_what_python_would_make_of_it():
    a, text, flag = Thing.a, Thing.text, Thing.flag
    for wrong in (
        lambda: bool(a < 2),
        lambda: (a < 2) and (text == "x"),
        lambda: (a < 2) or (text == "x"),
        lambda: not (a < 2),
        lambda: 1 < a < 3,
        lambda: a in [1, 2],
        lambda: a in (1, 2),
        lambda: flag and (a < 2),
        lambda: not flag,
        lambda: bool(a * 2),
        lambda: 5 if a == 1 else 6,
    ):
        with pytest.raises(TypeError, match=r"hand it to where\(\).*& \| ~.*x\.in_\(\[1, 2\]\)") as caught:
            wrong()
        assert isinstance(caught.value, objstore.WrongType)
    for wrong in (
        lambda: a < 2 & text == "x",
        lambda: text == "x" & a < 2,
        lambda: a < 2 | flag,
        lambda: flag & (a < 2),
        lambda: (a < 2) & flag,
        lambda: ~flag,
        lambda: (a < 2) & True,
        lambda: True | (a < 2),
        lambda: (a < 2) & text == "x",
    ):
        with pytest.raises(objstore.WrongType, match="put each comparison in parentheses"):
            wrong()
    with pytest.raises(objstore.WrongType, match=r"any_\(tags\) == 'x'"):
        "x" in Thing.tags
    for wrong in (lambda: list(Thing.tags), lambda: iter(a), lambda: a // 2, lambda: a**2, lambda: len(text)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(objstore.WrongType, match="a list, set or dict of a class"):
        any_([1, 2])
    with pytest.raises(TypeError, match="this process alone"):
        (a < 2).__reduce_ex__(4)


def test_how_they_are_shown():
    a, text = Thing.a, Thing.text
    for made, shown in (
        (a < 2, "a < 2"),
        (2 > a, "a < 2"),
        ((a < 2) & ~(text == "x") | (a != None), "((a < 2) & (~(text == 'x'))) | (a != None)"),
        (-a * 2 + 1 > Thing.real, "((-a * 2) + 1) > real"),
        (1 / a == 3 - a, "(1 / a) == (3 - a)"),
        (a.in_([1, 2]), "a.in_([1, 2])"),
        (a.between(1, 2), "a.between(1, 2)"),
        (text.contains("x", case=False), "text.contains('x')"),
        (text.length > 3, "text.length > 3"),
        (Thing.tags.count > 3, "tags.count > 3"),
        (any_(Thing.tags) == "x", "any_(tags) == 'x'"),
        (Thing.owner[Owner.name] == "x", "owner[name] == 'x'"),
        (desc(a), "desc(a)"),
        (expression(text).like("a*"), "text.like('a*')"),
    ):
        assert repr(made) == str(made) == shown
    assert isinstance(a < 2, Condition) and isinstance(a + 2, Expression) and +a is a
    assert len({a, text, a < 2, a + 2}) == 4


def test_conditions_of_other_classes(store):
    things = store.objects(Thing)
    for wrong in (Owner.name == "x", Owner.id < Owner.id, ~(Owner.id == 1)):
        with pytest.raises(objstore.InvalidArgument, match="is about Owner, and these are Thing"):
            things.where(wrong)
    for wrong in (
        (Thing.a < 2) & (Owner.id == 1),
        Thing.a < Owner.id,
        Thing.a + Owner.id > 1,
        Thing.text.contains(Owner.name),
    ):
        with pytest.raises(objstore.InvalidArgument, match="is about Thing and Owner, and these are Thing"):
            things.where(wrong)
        with pytest.raises(objstore.InvalidArgument, match="is about Thing and Owner, and these are Owner"):
            store.objects(Owner).where(wrong)
    with pytest.raises(objstore.InvalidArgument, match="Thing and Owner are two classes"):
        things.order_by(Thing.a, Owner.id)
    for wrong in (True, False, "a < 2", None, Thing.a, Thing.a + 1, asc(Thing.a)):
        with pytest.raises(objstore.InvalidArgument, match="a comparison of a property is wanted"):
            things.where(wrong)
        with pytest.raises(objstore.InvalidArgument):
            things.where(Thing.a < 2, wrong)


def test_what_this_version_does_not_evaluate(store):
    """The library says so, when it is asked."""
    with pytest.raises(objstore.NotSupported, match="an order of links"):
        store.objects(Thing).order_by(Thing.owner)


# Links


def test_links(store):
    with store.write():
        things = [store.create(Thing, {"id": i, "a": i}) for i in range(6)]
        ann = store.add(Owner(id=1, things=things[:3], anything=[things[0], [things[1]], 5]))
        bob = store.add(Owner(id=2, things=[things[2], things[2]]))
        for thing in things[1:5]:
            thing.owner = ann
    who = lambda condition: [owner.id for owner in store.objects(Owner).where(condition)]
    assert who(any_(Owner.things) == things[2]) == [1, 2] and who(any_(Owner.things) == things[5]) == []
    assert who(links_to(Owner.things, things[0])) == [1]
    assert who(links_to(Owner.things, things[2]) & (Owner.id > 1)) == who(~links_to(Owner.things, things[0])) == [2]
    assert [t.id for t in ann.owned] == [1, 2, 3, 4] and len(ann.owned) == 4
    assert [t.id for t in ann.owned.where(Thing.a > 1).order_by(desc(Thing.a)).limit(2)] == [4, 3]
    assert ann.owned.sum(Thing.a) == 10 and ann.owned.where(Thing.a < 3).max("a") == 2
    assert [t.id for t in ann.owned.filter("a < 3")] == [1, 2] and bob.owned.sum("a") == 0
    assert [t.id for t in ann.owned.freeze().where(Thing.a > 1)] == [2, 3, 4]
    with store.write():
        asked = store.objects(Owner).where(any_(Owner.things) == things[5])
        assert list(asked) == []
        ann.things.append(things[5])
        assert list(asked) == [ann] and ann in asked and len(asked) == 1
        ann.things.clear()
        assert list(asked) == [] and ann not in asked
        store.delete(things[2])
        assert who(any_(Owner.things) == things[2]) == []


def test_observing_a_condition(store):
    heard = []
    results = store.objects(Thing).where((Thing.a > 1) | (Thing.text == "x"), Thing.id != 3)
    with results.observe(lambda c: heard.append((list(c.insertions), list(c.deletions))), initial=False):
        with store.write():
            store.create_all(Thing, [{"id": i, "a": i} for i in range(5)])
        store.wait(5)
        with store.write():
            store.get(Thing, 0).text = "x"
            store.get(Thing, 2).a = 0
        store.wait(5)
    assert heard == [([0, 1], []), ([0], [0])]


def test_results_that_are_asked_often_are_asked_once(store, monkeypatch):
    """A query is made when it is asked a second time."""
    filled(store, 3)
    made = []
    make = queries.make
    monkeypatch.setattr(queries, "make", lambda *given: made.append(given) or make(*given))
    results = store.objects(Thing).where(Thing.a > 1)
    assert made == []
    counts = [len(results) for _ in range(5)]
    assert len(set(counts)) == 1 and len(made) == 2
    assert len(list(results)) == counts[0] and len(made) == 2
    again = store.objects(Thing).where(Thing.a > 1)
    assert len(list(again)) == counts[0] and again[0] == results[0] and len(made) == 2  # the list is remembered


def test_no_query_stays_open(store, monkeypatch):
    """Wherever a signal handler raises."""
    filled(store, 4)
    made: list[int] = []
    make = queries.make

    def making(*given: Any) -> int:
        status = make(*given)
        made.append(ctypes.c_uint64.from_address(given[-1]).value)
        return status

    def ask() -> None:
        results = store.objects(Thing).where(Thing.a > 1, Thing.text != "a")
        assert len(results) == len(results) == len(list(results.order_by(Thing.b)))
        assert results.where(Thing.a > 2).first() is not None

    count = ffi.bind("objstore_query_count")
    ask()
    monkeypatch.setattr(queries, "make", making)
    files = ("queries.py", "views.py", "results.py", "c_values.py", "handles.py", "bindings.py")
    for where, _ in at_every_byte_code(ask, files, 43, 0):
        gc.collect()
        view = store._reader()
        answers = {count(handle, view.handle, ctypes.byref(ctypes.c_uint64())) for handle in made}
        assert answers <= {objstore.Status.CLOSED_HANDLE}, where
        made.clear()
    made.clear()
    ask()
    assert len(made) == 4


def test_any_thread_may_ask(store):
    rows = filled(store, 5)
    conditions = [random_condition(random.Random(seed), 2) for seed in range(20)]
    shared = [store.objects(Thing).where(condition) for condition, _ in conditions]
    wanted = [[row["id"] for row in rows if test(row)] for _, test in conditions]
    problems: list[BaseException] = []

    def run(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for _ in range(100):
                i = rng.randrange(len(conditions))
                results = shared[i] if rng.random() < 0.5 else store.objects(Thing).where(conditions[i][0])
                assert len(results) == len(wanted[i])
                assert [thing.id for thing in results] == wanted[i]
                assert [t.id for t in results.order_by(desc(Thing.id)).limit(2)] == wanted[i][::-1][:2]
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
