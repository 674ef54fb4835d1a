"""Tables: select(), group_by() and their texts, against plain loops over objects; Arrow, NumPy and pandas."""

import ctypes
import datetime
import enum
import gc
import math
import random
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pytest

import objstore
from objstore import Model, asc, desc, field, group
from objstore.native import handles
from objstore.queries import tables


class Kind(enum.Enum):
    BIG = 1
    SMALL = 2


class Home(Model):
    name: str = field(primary_key=True)
    city: str | None = None
    level: int | None = None
    things: objstore.Backlinks["Thing"] = objstore.backlinks("home")


class Thing(Model):
    number: int = field(primary_key=True)
    small: int | None = None
    wide: int | None = None
    text: str | None = None
    flag: bool | None = None
    ratio: float | None = None
    single: objstore.Float32 | None = None
    price: Decimal | None = None
    at: datetime.datetime | None = None
    mark: uuid.UUID | None = None
    raw: bytes | None = None
    anything: Any = None
    kind: Kind | None = None
    home: Home | None = None
    friends: list["Thing"]


def moment(day: int) -> datetime.datetime:
    return datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(days=day, microseconds=day)


def fill(store: objstore.Store, seed: int, count: int) -> None:
    rnd = random.Random(seed)
    maybe = lambda value: None if rnd.random() < 0.15 else value
    with store.write():
        homes = [
            store.create(
                Home, {"name": f"h{i}", "city": maybe(rnd.choice(["Bern", "Rom", "Köln"])), "level": maybe(i % 3)}
            )
            for i in range(12)
        ]
        for number in range(count):
            store.create(
                Thing,
                {
                    "number": number,
                    "small": maybe(rnd.randrange(-3, 9)),
                    "wide": maybe(rnd.choice([-(2**62), 2**62, 70_000, 1, 2, rnd.randrange(10**6)])),
                    "text": maybe(rnd.choice(["", "a", "b", "a longer text that is not kept inside", "ä"])),
                    "flag": maybe(rnd.random() < 0.5),
                    "ratio": maybe(rnd.choice([0.0, -0.0, math.nan, math.inf, 1.5, rnd.random()])),
                    "single": maybe(rnd.choice([0.0, -0.0, math.nan, 2.5])),
                    "price": maybe(Decimal(rnd.choice(["1.0", "1.00", "1", "2.5", "-3"]))),
                    "at": maybe(moment(rnd.randrange(5))),
                    "mark": maybe(uuid.UUID(int=rnd.randrange(4))),
                    "raw": maybe(rnd.choice([b"", b"\0", b"xy"])),
                    "anything": maybe(rnd.choice([1, 1.0, Decimal("1.00"), "1", True, [1, "x"], {"a": 1}, b"1"])),
                    "kind": maybe(rnd.choice(list(Kind))),
                    "home": maybe(rnd.choice(homes)),
                },
            )
        for thing in store.objects(Thing).where(Thing.number < 50):
            thing.friends = [store.get(Thing, rnd.randrange(50)) for _ in range(rnd.randrange(4))]
        # Holes, and leaves without some values.
        store.objects(Thing).where(Thing.number % 1 == 0 if False else Thing.small == 8).delete()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("tables")
    with objstore.open(folder / "tables.objstore", models=[Home, Thing]) as opened:
        fill(opened, 1, 9000)
        yield opened


# What the library should find, by plain loops


def equal_key(value: Any) -> Any:
    """Of values that are equal the same, and hashable."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, Decimal | int | float):
        return ("number", Decimal(value) if not (isinstance(value, float) and math.isinf(value)) else value)
    if isinstance(value, Model):
        return ("object", value.name if isinstance(value, Home) else value.number)
    if isinstance(value, dict | objstore.MixedDict):
        return ("map", tuple((key, equal_key(each)) for key, each in sorted(value.items())))
    if isinstance(value, list | objstore.MixedList):
        return ("list", tuple(equal_key(each) for each in value))
    if isinstance(value, str | bytes):  # of mixed values these are one family
        return ("bytes", value.encode() if isinstance(value, str) else value)
    return (type(value).__name__, value)


def read(thing: Thing, path: str) -> Any:
    value: Any = thing
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value


def counted(values: list[Any]) -> list[Any]:
    return [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]


def summed(values: list[Any], kind: str) -> Any:
    if kind == "price":
        return sum(values, Decimal(0))
    if kind in ("ratio", "single"):
        total = 0.0
        for value in values:
            total += value
        return total
    total = sum(values)
    return total if -(2**63) <= total < 2**63 else None


def aggregated(name: str, members: list[Thing], path: str) -> Any:
    values = counted([read(member, path) for member in members])
    kind = path.rpartition(".")[2]
    if name == "sum":
        return summed(values, kind)
    if not values:
        return None
    if name == "avg":
        return summed(values, kind) / len(values) if kind != "wide" else sum(values) / len(values)
    return min(values) if name == "min" else max(values)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=1e-9)
    if isinstance(a, Model) or isinstance(b, Model):
        return bool(a == b)
    return equal_key(a) == equal_key(b)


def rows_equal(found: list[Any], wanted: list[Any]) -> None:
    assert len(found) == len(wanted)
    for row, other in zip(found, wanted):
        assert len(row) == len(other) and all(map(same, row, other)), (row, other)


KEYS = [
    *("small", "wide", "text", "flag", "ratio", "single", "price", "at", "mark", "raw", "anything", "home"),
    *("home.city", "home.level", "kind"),
]
NUMBERS = ["small", "wide", "ratio", "single", "price", "home.level"]
ORDERED = [*NUMBERS, "text", "at", "mark", "flag"]


@pytest.mark.parametrize("seed", range(60))
def test_random_groups(store: objstore.Store, seed: int) -> None:
    rnd = random.Random(seed)
    keys = rnd.sample(KEYS, rnd.choice([0, 1, 1, 1, 2, 3]))
    asked = [("count", "")]
    for _ in range(rnd.randrange(4)):
        name = rnd.choice(["sum", "avg", "min", "max"])
        asked.append((name, rnd.choice(ORDERED if name in ("min", "max") else NUMBERS)))
    asked = list(dict.fromkeys(asked))
    conditions: list[Any] = [
        "",
        "small > 2",
        "small == 3 AND flag == true",
        "number < 40",
        "small == 777",
        "wide != NULL SORT(text DESC, number ASC) LIMIT(3000)",
    ]
    condition = rnd.choice(conditions)
    members = list(store.objects(Thing).filter(condition)) if condition else list(store.objects(Thing))

    grouped: dict[Any, list[Thing]] = {}
    for member in members:
        grouped.setdefault(tuple(equal_key(read(member, key)) for key in keys), []).append(member)
    if not keys and not grouped:
        grouped[()] = []
    wanted = []
    for group_members in grouped.values():
        first = [read(group_members[0], key) for key in keys] if keys else []
        values = [len(group_members) if n == "count" else aggregated(n, group_members, p) for n, p in asked]
        wanted.append((*first, *values))
    columns = [*keys, *("@count" if name == "count" else f"@{name}.{path}" for name, path in asked)]
    text = f"GROUP({', '.join(keys)})"
    limits = ""
    if rnd.random() < 0.5:  # having
        bound = rnd.choice([0, 1, 5, 300])
        place = len(keys)
        text += f" HAVING(@count > {bound})"
        wanted = [row for row in wanted if row[place] > bound]
    if rnd.random() < 0.5:  # by count, then as they come
        wanted.sort(key=lambda row: -row[len(keys)])
        text += " SORT(@count DESC)"
    if rnd.random() < 0.4:
        wanted = wanted[2:9]
        limits = " OFFSET(2) LIMIT(7)"
    whole = f"{condition} {text}{limits} SELECT({', '.join(columns)})"
    found = store.objects(Thing).table(whole)
    assert found.columns == columns
    rows_equal(list(map(unboxed, found)), list(map(unboxed, wanted)))
    again = store.objects(Thing).table(found.query_text())
    rows_equal(list(map(unboxed, again)), list(map(unboxed, found)))
    with pytest.raises(objstore.InvalidQuery):
        len(store.objects(Thing).filter(whole))


def unboxed(row: Any) -> tuple[Any, ...]:
    """Enumerations as their numbers, which is what texts know of."""
    return tuple(value.value if isinstance(value, Kind) else value for value in row)


@pytest.mark.parametrize("seed", range(20))
def test_random_columns(store: objstore.Store, seed: int) -> None:
    rnd = random.Random(1000 + seed)
    columns = rnd.sample(
        [*KEYS, "number", "small * 2", "number + small", "text.@count", "friends.@count", "home.city.@count"], 5
    )
    condition = rnd.choice(
        ["", "small > 5", "number < 9", "small IN {1, 2} SORT(number DESC)", "TRUEPREDICATE SORT(ratio ASC) LIMIT(100)"]
    )
    results = store.objects(Thing).filter(condition) if condition else store.objects(Thing)

    def wanted(thing: Thing, column: str) -> Any:
        if column == "small * 2":
            return None if thing.small is None else thing.small * 2
        if column == "number + small":
            return None if thing.small is None else thing.number + thing.small
        if column.endswith("@count"):
            value = read(thing, column.removesuffix(".@count"))
            return None if value is None else len(value)
        return read(thing, column)

    rows = [unboxed(wanted(thing, column) for column in columns) for thing in results]
    found = (
        results.select(*columns)
        if all("@" not in c and " " not in c for c in columns)
        else results.table(f"SELECT({', '.join(columns)})")
    )
    rows_equal(list(map(unboxed, found)), rows)


# Expressions


def test_expressions_say_what_texts_say(store: objstore.Store) -> None:
    things = store.objects(Thing)
    table = (
        things.where(Thing.small > 1)
        .group_by(Thing.home, tens=Thing.small / 10)
        .having((group.count > 3) & (group.min(Thing.ratio) != 77))
        .order_by(desc(group.sum(Thing.wide)), Thing.home.name)
        .offset(1)
        .limit(5)
        .select(Thing.home, Thing.home.city, "tens", n=group.count, mean=group.sum(Thing.ratio) / group.count)
    )
    text = table.query_text()
    assert text == (
        "small > 1 GROUP(home, small / 10 AS tens) HAVING(@count > 3 and @min.ratio != 77) "
        "SORT(@sum.wide DESC, home.name ASC) OFFSET(1) LIMIT(5) "
        "SELECT(home, home.city, tens, @count AS n, @sum.ratio / @count AS mean)"
    )
    assert table.columns == ["home", "home.city", "tens", "n", "mean"]
    rows_equal(list(table), list(things.table(text)))
    assert isinstance(table[0][0], Home) or table[0][0] is None


def test_enumerations_stay_what_they_are(store: objstore.Store) -> None:
    table = store.objects(Thing).group_by(Thing.kind).table()
    assert set(table["kind"]) == {None, Kind.BIG, Kind.SMALL}
    assert set(store.objects(Thing).select(Thing.kind)["kind"]) == {None, Kind.BIG, Kind.SMALL}


def test_chains(store: objstore.Store) -> None:
    few = store.objects(Thing).where(Thing.small == 2).order_by(desc(Thing.number)).limit(10)
    assert few.select(Thing.number)["number"] == [thing.number for thing in few]
    assert few.where(Thing.flag == True).group_by().table()[:] == [(len(few.where(Thing.flag == True)),)]
    with pytest.raises(objstore.NotSupported):
        few.where(Thing.flag == True).query_text()
    home = store.get(Home, "h3")
    backlinks = store.objects(Thing).where(Thing.home == home)
    assert backlinks.select(Thing.number)["number"] == [t.number for t in backlinks] != []
    assert home.things.select(Thing.number)["number"] == [t.number for t in backlinks]


@pytest.mark.parametrize(
    "text, error, said",
    [
        ("GROUP(small) SELECT(text)", objstore.InvalidQuery, "text is no key of GROUP"),
        ("GROUP(small) HAVING(wide > 3)", objstore.InvalidQuery, "wide is no key of GROUP"),
        ("GROUP(small) SORT(friends.@count ASC)", objstore.InvalidQuery, "friends is no key"),
        ("SELECT(small, small)", objstore.InvalidQuery, "two columns are called small"),
        ("GROUP(small, small)", objstore.InvalidQuery, "small is given twice"),
        ("SELECT(smal)", objstore.NoSuchProperty, "did you mean small?"),
        ("GROUP(small) SELECT(@sum.text)", objstore.WrongType, "there is no sum of values of kind string"),
        ("GROUP(small) SELECT(@max.raw)", objstore.WrongType, "there is no maximum of values of kind binary"),
        ("GROUP(small) SELECT(@sum)", objstore.InvalidQuery, "a property is missing"),
        ("SELECT(@count)", objstore.InvalidQuery, "a value was expected"),
        ("SELECT(friends)", objstore.InvalidQuery, "is not one value of each object"),
        ("GROUP(friends.small)", objstore.InvalidQuery, "is not one value of each object"),
        ("SELECT(small > 3)", objstore.InvalidQuery, "a condition where a value was expected"),
        ("SELECT(3)", objstore.InvalidQuery, "is the same for all objects"),
        ("GROUP(small) SELECT(3)", objstore.InvalidQuery, "is the same for all groups"),
        ("GROUP(small) SELECT(small) LIMIT(2)", objstore.InvalidQuery, "the end behind SELECT"),
        ("GROUP(small) GROUP(text)", objstore.InvalidQuery, "HAVING, SORT, LIMIT, OFFSET, SELECT or the end"),
        ("HAVING(@count > 1)", objstore.InvalidQuery, ""),
        ("GROUP(small) HAVING(@count > 'x')", objstore.WrongType, "groups of Thing.@count is an int"),
        ("GROUP(small) DISTINCT(small)", objstore.InvalidQuery, "HAVING, SORT, LIMIT, OFFSET, SELECT or the end"),
        ("GROUP(small AS) SELECT(small)", objstore.InvalidQuery, "a name behind AS"),
        ("GROUP(home) SORT(home ASC)", objstore.NotSupported, "an order of links"),
        ("SELECT(anything.@type)", objstore.NotSupported, "@type"),
        ("small > 1", objstore.InvalidQuery, "gives objects, and a table is asked for"),
    ],
)
def test_errors_say_what_is_wrong(store: objstore.Store, text: str, error: Any, said: str) -> None:
    with pytest.raises(error) as caught:
        len(store.objects(Thing).table(text))
    assert said in str(caught.value)


def test_misuse_of_expressions(store: objstore.Store) -> None:
    things = store.objects(Thing)
    with pytest.raises(objstore.InvalidArgument, match="takes one value, or more"):
        things.select()
    with pytest.raises(objstore.WrongType, match="having"):
        things.group_by(Thing.small).having(3)
    with pytest.raises(objstore.InvalidArgument, match="is about Home"):
        things.select(Home.city)
    with pytest.raises(objstore.NoSuchProperty, match="there is no column 'x'"):
        things.group_by(Thing.small).table()["x"]
    with pytest.raises(objstore.IndexOutOfRange, match="row 99 of 12 rows"):
        things.group_by(Thing.small).table()[99]


# In time


def test_a_table_is_of_one_moment(tmp_path: Path) -> None:
    with objstore.open(tmp_path / "s.objstore", models=[Home, Thing]) as opened:
        with opened.write():
            for number in range(5):
                opened.create(Thing, {"number": number, "small": number % 2})
        table = opened.objects(Thing).group_by(Thing.small).table()
        assert table[:] == [(0, 3), (1, 2)]
        frozen = opened.objects(Thing).freeze()
        with opened.write():
            opened.create(Thing, {"number": 9, "small": 1})
            inside = opened.objects(Thing).group_by(Thing.small).table()
            assert inside[:] == [(0, 3), (1, 3)]
            assert frozen.group_by(Thing.small).table()[:] == [(0, 3), (1, 2)]
        assert table[:] == [(0, 3), (1, 2)]
        numbers = table.to_numpy("@count")
        kept = table.to_arrow()
    assert table[:] == [(0, 3), (1, 2)] and inside["@count"] == [3, 3]
    del table
    gc.collect()
    assert numbers.tolist() == [3, 2] and kept.to_pydict() == {"small": [0, 1], "@count": [3, 2]}
    with pytest.raises(ValueError):
        numbers[0] = 7


# Arrow, NumPy, pandas


def expected_of_arrow(thing: Thing, name: str) -> Any:
    value = getattr(thing, name)
    if value is None:
        return None
    if name == "price":
        return str(value)
    if name == "kind":
        return value.value
    if name == "mark":
        return value
    return value


def test_all_properties_as_arrow(store: objstore.Store) -> None:
    things = store.objects(Thing)
    table = things.to_arrow()
    assert [f"{f.name} {f.type}" for f in table.schema] == [
        "number int64",
        "small int64",
        "wide int64",
        "text large_string",
        "flag bool",
        "ratio double",
        "single float",
        "price large_string",
        "at timestamp[ns, tz=UTC]",
        "mark extension<arrow.uuid>",
        "raw large_binary",
        "anything extension<arrow.json>",
        "kind int64",
        "home int64",
    ]
    assert table.num_rows == len(things)
    table.validate(full=True)
    for name in ("number", "small", "wide", "text", "flag", "raw", "price", "kind", "at", "mark"):
        found = table.column(name).to_pylist()
        wanted = [expected_of_arrow(thing, name) for thing in things]
        if name == "at":
            wanted = [None if each is None else each for each in wanted]
            found = [None if each is None else each.to_pydatetime() for each in found]
        assert found == wanted, name
    for name in ("ratio", "single"):
        for found, thing in zip(table.column(name).to_pylist(), things):
            assert (found is None) == (getattr(thing, name) is None)
            assert found is None or same(found, getattr(thing, name))
    assert {value for value in table.column("anything").to_pylist() if value is not None} == {
        *("1", "1.0", '{"$numberDecimal":"1.00"}', '"1"', "true", '[1,"x"]', '{"a":1}'),
        '{"$binary":{"base64":"MQ==","subType":"00"}}',
    }


def test_parts_as_arrow(store: objstore.Store) -> None:
    things = store.objects(Thing)
    for results in (
        things.where(Thing.small == 2),
        things.where(Thing.number.in_([3, 5, 7000])),
        things.order_by(desc(Thing.number)),
        things.where(Thing.small == 777),
        things.limit(70),
    ):
        table = results.to_arrow()
        assert table.column("number").to_pylist() == [thing.number for thing in results]
        assert table.column("text").to_pylist() == [thing.text for thing in results]
        assert results.select("text", Thing.home.city).to_arrow().to_pydict() == {
            "text": [thing.text for thing in results],
            "home.city": [read(thing, "home.city") for thing in results],
        }


def test_streams_keep_their_version(tmp_path: Path) -> None:
    with objstore.open(tmp_path / "s.objstore", models=[Home, Thing]) as opened:
        with opened.write():
            for number in range(140_000):
                opened.create(Thing, {"number": number, "text": str(number)})
        things = opened.objects(Thing).select(Thing.number, Thing.text)
        reader = pyarrow.RecordBatchReader.from_stream(things)
        first = reader.read_next_batch()
        with opened.write():
            opened.objects(Thing).where(Thing.number >= 10).delete()
        rest = reader.read_all()
        assert first.num_rows + rest.num_rows == 140_000
        assert rest.column(0)[-1].as_py() == 139_999 and rest.column(1)[-1].as_py() == "139999"
        with opened.write():
            opened.create(Thing, {"number": 140_001})
            assert pyarrow.table(opened.objects(Thing).select(Thing.number)).column(0).to_pylist()[-1] == 140_001
        unread = opened.objects(Thing).__arrow_c_stream__()
        late = pyarrow.RecordBatchReader.from_stream(opened.objects(Thing))
    del unread
    gc.collect()
    with pytest.raises(OSError, match="clos"):
        late.read_next_batch()
    assert first.column(1)[5].as_py() == "5"


def test_times_that_arrow_has_not(tmp_path: Path) -> None:
    with objstore.open(tmp_path / "s.objstore", models=[Home, Thing]) as opened:
        with opened.write():
            opened.create(Thing, {"number": 1, "at": datetime.datetime(1500, 1, 1, tzinfo=datetime.timezone.utc)})
        with pytest.raises(OSError, match="at is -14831769600s 0ns.*1677 to 2262"):
            opened.objects(Thing).to_arrow()
        assert opened.objects(Thing).select("number").to_arrow().num_rows == 1


def test_numpy_and_pandas(store: objstore.Store) -> None:
    table = store.objects(Thing).select("number", "small", "ratio", "flag", "text", "at")
    assert table.to_numpy("number").dtype == numpy.int64
    masked = table.to_numpy("small")
    assert masked.filled(-99).tolist() == [-99 if v is None else v for v in table["small"]]
    assert table.to_numpy("text").tolist() == table["text"]
    assert table.to_numpy("at").dtype == numpy.dtype("datetime64[us]")
    frame = table.to_pandas()
    assert list(frame.columns) == table.columns and len(frame) == len(table)
    assert frame["number"].tolist() == table["number"]


def test_capsules_may_be_left(store: objstore.Store) -> None:
    for _ in range(200):
        store.objects(Thing).__arrow_c_stream__()
        store.objects(Thing).group_by(Thing.small).table().__arrow_c_stream__()
    gc.collect()
    from objstore.queries import arrow

    assert not arrow._streams


def test_shown(store: objstore.Store) -> None:
    table = store.objects(Thing).group_by(Thing.small).order_by(asc(Thing.small)).table()
    assert repr(table) == "<Table of TRUEPREDICATE GROUP(small) SORT(small ASC)>"
    friends = store.objects(Thing)[0].friends
    assert repr(friends.select(Thing.small)) == "<Table of Thing>"  # it cannot be written as a text
    assert table.dicts()[1]["small"] == -3
    assert repr(table) == "<Table: small, @count: 12 rows>"
    assert "<th>@count</th>" in table._repr_html_() and "and 2 more" in table._repr_html_()
    assert ctypes.sizeof(objstore.native.ffi.TableColumn) == 72


# Functions of the program


def test_functions_in_tables(store: objstore.Store) -> None:
    def twice(value: int) -> int:
        return value * 2

    def first(text: str) -> str:
        return text[:1]

    store.define_function("twice", twice, "i64 -> i64")
    store.define_function("initial", first, "str -> str")
    store.define_function("plus", lambda values: numpy.asarray(values) + 1, "i64[], n -> i64[]")
    things = list(store.objects(Thing))
    table = store.objects(Thing).table("SELECT(twice(small) AS a, initial(text) AS b, plus(number) AS c)")
    assert table["a"] == [None if thing.small is None else thing.small * 2 for thing in things]
    assert table["b"] == [None if thing.text is None else thing.text[:1] for thing in things]
    assert table["c"] == [thing.number + 1 for thing in things]
    groups = store.objects(Thing).table(
        "GROUP(initial(text) AS f) HAVING(twice(@count) > 4) SELECT(f, @count, twice(@sum.small) AS t)"
    )
    wanted: dict[Any, list[Thing]] = {}
    for thing in things:
        wanted.setdefault(None if thing.text is None else thing.text[:1], []).append(thing)
    assert list(groups) == [
        (key, len(members), 2 * sum(m.small for m in members if m.small is not None))
        for key, members in wanted.items()
        if 2 * len(members) > 4
    ]
    assert pyarrow.table(store.objects(Thing).table("twice(small) > 6 SELECT(number)")).column(0).to_pylist() == [
        thing.number for thing in things if thing.small is not None and thing.small * 2 > 6
    ]
    with pytest.raises(objstore.Error):
        len(store.objects(Thing).table("GROUP(small) SELECT(@max.twice)"))

    class Broken(Exception):
        pass

    def fails(value: int) -> int:
        raise Broken(value)

    store.define_function("fails", fails, "i64 -> i64")
    for text in ("SELECT(fails(number))", "GROUP(fails(number))", "GROUP(small) HAVING(fails(@count) > 1)"):
        with pytest.raises(Broken):
            len(store.objects(Thing).table(text))
    with pytest.raises(Broken):
        store.objects(Thing).table("SELECT(fails(number))").to_arrow()


class Cell(Model):
    narrow: int | None = None  # a byte in each leaf, from another base
    wide: int = 0
    real: float | None = None


@pytest.mark.parametrize("seed", range(2))
def test_groups_of_whole_leaves(seed: int) -> None:
    dice = random.Random(seed)
    with objstore.open(memory="cells", models=[Cell]) as store:
        with store.write():
            for number in range(14_000):
                narrow = 90 * (number // 4096) - 60 + dice.randrange(120)
                real = math.nan if dice.random() < 0.01 else dice.randrange(1000) / 8
                store.add(Cell(narrow=narrow, wide=dice.randrange(100_000), real=real))
        check_cells(store)
        cells = list(store.objects(Cell))
        with store.write():
            for cell in dice.sample(cells[5000:9000], 40):
                cell.narrow = dice.choice([None, -(10**15), 10**15, 5])
            for cell in dice.sample(cells[9000:], 40):
                cell.real = None
            check_cells(store)
            for cell in dice.sample(cells[:4000], 300):
                store.delete(cell)
        check_cells(store)


def test_groups_of_leaves_far_apart() -> None:
    """A leaf of bytes that begins beyond what the array of groups has room for."""
    with objstore.open(memory="far", models=[Cell]) as store:
        with store.write():
            for base in (0, 100_000, 10**9, -(10**9), 2**62, -(2**62), 65_500, 0):
                rows = [{"narrow": base + i % 100, "wide": i, "real": i % 7 / 2} for i in range(4096)]
                store.create_all(Cell, rows)
        check_cells(store)


def check_cells(store: objstore.Store) -> None:
    rows = [(cell.narrow, cell.wide, cell.real) for cell in store.objects(Cell)]
    groups: dict[int | None, list[tuple[int, float | None]]] = {}
    for narrow, wide, real in rows:
        groups.setdefault(narrow, []).append((wide, real))
    table = store.objects(Cell).table(
        "GROUP(narrow) SELECT(narrow, @count, @sum.real, @sum.wide, @max.wide, @avg.real)"
    )
    expected = []
    for narrow, members in groups.items():
        reals = [real for _, real in members if real is not None and not math.isnan(real)]
        average = sum(reals) / len(reals) if reals else None
        wides = [wide for wide, _ in members]
        expected.append((narrow, len(members), sum(reals), sum(wides), max(wides), average))
    assert [tuple(row) for row in table] == expected
    assert [cell.narrow for cell in store.objects(Cell).distinct(Cell.narrow)] == list(groups)
    few = store.objects(Cell).where(Cell.wide < 50_000)
    counts: dict[int | None, int] = {}
    for narrow, wide, _ in rows:
        if wide < 50_000:
            counts[narrow] = counts.get(narrow, 0) + 1
    assert [tuple(row) for row in few.table("GROUP(narrow) SELECT(narrow, @count)")] == list(counts.items())


def test_no_table_is_asked_for_its_length_by_others(tmp_path: Path) -> None:
    """Handles whose owners are gone are looked for now and then, whatever the others would say of themselves."""
    with objstore.open(tmp_path / "other", models=[Home, Thing]) as other:
        asked = other.objects(Thing).group_by(Thing.flag).table()
        len(asked)
        unasked = table_that_was_not_asked(other)
    handles._look()
    assert asked.columns == ["flag", "@count"] and unasked is not None


def table_that_was_not_asked(store: objstore.Store) -> Any:
    """A table that has a cell, and has not been asked: asking failed in the middle."""
    table = store.objects(Thing).group_by(Thing.flag).table()
    table._cell = handles.cell_of(table, tables._table_close)
    table._cell = None
    return table
