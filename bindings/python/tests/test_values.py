"""What is stored is what was given: every kind, at its edges, one by one and many at a time."""

import math
import random
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

import numpy
import pytest

import objstore
from models import Color, Everything, Mood
from objstore import Float32, Model, field

UTC = timezone.utc
NOW = datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
VALUES = {
    "flag": [True, False],
    "number": [0, 1, -1, 127, 128, -129, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)],
    "real": [0.0, -0.0, 1.5, math.pi, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan],
    "text": ["", "a", "Zürich", "東京 🦜", "with\0nul", "x" * 5000, "\U0010ffff", "e\u0301"],
    "raw": [b"", b"\0", bytes(range(256)), b"\xff" * 9000],
    "when": [
        NOW,
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
    ],
    "color": list(Color),
    "mood": list(Mood),
}
CASES = [(name, value) for name, values in VALUES.items() for value in values]
CASES += [(name + "_or_none", value) for name, value in CASES] + [(name + "_or_none", None) for name in VALUES]


@pytest.fixture
def store(path):
    with objstore.open(path, models=[Everything]) as opened:
        yield opened
        if not opened.is_closed:
            opened.verify()


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.copysign(1, a) == math.copysign(1, b) and (a == b or (math.isnan(a) and math.isnan(b)))
    return type(a) is type(b) and a == b


def check(obj, name, value):
    assert same(getattr(obj, name), value), (name, value, getattr(obj, name))


def everything(key, **values):
    return Everything(**{"key": key, "when": NOW, **values})


def test_round_trips(store):
    """Each value through: add, set, add_all, create_all; read one by one, prefetched, frozen, and after reopening."""
    keys = {str(i): case for i, case in enumerate(CASES)}
    with store.write():
        for key, (name, value) in keys.items():
            check(store.add(everything("add" + key, **{name: value})), name, value)
            changed = store.add(everything("set" + key))
            setattr(changed, name, value)
            check(changed, name, value)
        store.add_all([everything("all" + key, **{name: value}) for key, (name, value) in keys.items()])
        store.create_all(
            Everything, [{"key": "row" + key, "when": NOW, name: value} for key, (name, value) in keys.items()]
        )

    def check_all(source):
        prefetched = {obj.key: obj for obj in source.objects(Everything)}
        assert len(prefetched) == 4 * len(keys)
        for key, (name, value) in keys.items():
            for way in ("add", "set", "all", "row"):
                check(source.get(Everything, way + key), name, value)
                check(prefetched[way + key], name, value)

    check_all(store)
    with store.freeze() as frozen:
        check_all(frozen)
    with store.write():
        check_all(store)
    path = store.path
    store.verify()
    store.close()
    with objstore.open(path, models=[Everything]) as again:
        check_all(again)


def test_random_objects(store):
    random.seed(11)
    names = [p.name for p in Everything._objstore_properties[1:]]

    def value(name):
        base = name.removesuffix("_or_none")
        return None if base != name and random.random() < 0.4 else random.choice(VALUES[base])

    rows = {f"k{i}": {name: value(name) for name in names} for i in range(2000)}
    with store.write():
        store.add_all([Everything(key=k, **row) for k, row in rows.items()])
    for change in range(3):
        with store.write():
            for obj in store.objects(Everything):
                if random.random() < 0.2:
                    name = random.choice(names)
                    rows[obj.key][name] = value(name)
                    setattr(obj, name, rows[obj.key][name])
    for obj in store.objects(Everything):
        for name in names:
            check(obj, name, rows[obj.key][name])


def test_equal_conditions_find_each_value(store):
    with store.write():
        for i, (name, value) in enumerate(CASES):
            store.add(everything(str(i), **{name: value}))
    for i, (name, value) in enumerate(CASES):
        found = [e.key for e in store.objects(Everything).filter(f"{name} = $0", value)]
        assert (str(i) in found) == (value == value), (name, value)  # NaN equals nothing
        same_ = [e.key for e in store.objects(Everything).where(getattr(Everything, name) == value)]
        assert found == same_


@pytest.mark.parametrize(
    "name, value, error",
    [
        ("flag", 1, objstore.WrongType),
        ("number", True, objstore.WrongType),
        ("number", 1.0, objstore.WrongType),
        ("number", "1", objstore.WrongType),
        ("number", 2**63, objstore.OutOfRange),
        ("number", -(2**63) - 1, objstore.OutOfRange),
        ("real", "1.0", objstore.WrongType),
        ("real", True, objstore.WrongType),
        ("real", 2**53 + 1, objstore.OutOfRange),
        ("real", 10**400, objstore.OutOfRange),
        ("text", b"bytes", objstore.WrongType),
        ("text", "\ud800", objstore.InvalidText),
        ("raw", "text", objstore.WrongType),
        ("when", datetime(2024, 1, 1), objstore.WrongType),
        ("when", 5, objstore.WrongType),
        ("color", "brown", objstore.WrongType),
        ("mood", Color.BROWN, objstore.WrongType),
        ("number", None, objstore.NotNullable),
        ("text", None, objstore.NotNullable),
    ],
)
def test_what_does_not_fit(store, name, value, error):
    with store.write():
        kept = store.add(everything("kept"))
        before = getattr(kept, name)
        for way in (
            lambda: setattr(kept, name, value),
            lambda: store.add(everything("bad", **{name: value})),
            lambda: store.add_all([everything("bad", **{name: value})]),
            lambda: store.create(Everything, {"key": "bad", "when": NOW, name: value}),
            lambda: store.create_all(Everything, [{"key": "bad", "when": NOW, name: value}]),
            lambda: store.objects(Everything).update(**{name: value}),
        ):
            with pytest.raises(error) as caught:
                way()
            assert caught.value.class_name == "Everything"
            assert caught.value.property_name == name
            assert isinstance(caught.value, (TypeError, ValueError))
        assert getattr(kept, name) == before
    assert [e.key for e in store.objects(Everything)] == ["kept"]


def test_naive_datetimes_are_refused_and_others_become_utc(store):
    with pytest.raises(objstore.WrongType, match="no time zone"):
        everything("x", when=datetime.now())
    swiss = timezone(timedelta(hours=1))
    with store.write():
        obj = store.add(everything("x", when=datetime(2024, 5, 1, 0, 30, tzinfo=swiss)))
    assert obj.when == datetime(2024, 4, 30, 23, 30, tzinfo=UTC)
    assert obj.when.tzinfo is UTC


def test_what_fits_without_being_the_type(store):
    numpy = pytest.importorskip("numpy")

    class Text(str):
        pass

    with store.write():
        obj = store.add(
            everything(
                Text("x"),
                number=numpy.int32(7),
                real=3,
                flag=numpy.True_,
                raw=bytearray(b"ab"),
                real_or_none=numpy.float32(0.5),
            )
        )
        obj.number_or_none = numpy.uint8(9)
    assert [type(v) for v in (obj.key, obj.number, obj.real, obj.flag, obj.raw)] == [str, int, float, bool, bytes]
    assert (obj.number, obj.real, obj.flag, obj.raw, obj.real_or_none, obj.number_or_none) == (
        7,
        3.0,
        True,
        b"ab",
        0.5,
        9,
    )


def test_a_stored_value_that_is_no_member(path):
    class Level(Enum):
        LOW = 1

    def model(type_):
        class Thing(objstore.Model):
            id: int = objstore.field(primary_key=True)
            level: type_

        return Thing

    Wide = model(int)
    with objstore.open(path, models=[Wide]) as store, store.write():
        store.add_all([Wide(id=1, level=1), Wide(id=2, level=5)])
    Narrow = model(Level)
    with objstore.open(path, models=[Narrow]) as store:
        assert store.get(Narrow, 1).level is Level.LOW
        with pytest.raises(objstore.OutOfRange, match="5 is no member of Level"):
            store.get(Narrow, 2).level


def test_large_values(store):
    text, raw = "ü" * 3_000_000, bytes(5_000_000)
    with store.write():
        obj = store.add(everything("big", text=text, raw=raw))
        store.add(everything("small", text="s", raw=b"r"))
        obj.text_or_none = text
    assert (obj.text, obj.raw, obj.text_or_none) == (text, raw, text)
    assert store.get(Everything, "small").text == "s"
    (first, second) = store.objects(Everything)
    assert (first.raw, second.raw, first.text) == (raw, b"r", text)


def test_the_limit_of_values():
    with objstore.open(memory="", models=[Everything], value_bytes=1000) as store, store.write():
        store.add(everything("fits", text="x" * 1000))
        with pytest.raises(objstore.TooLarge) as caught:
            store.add(everything("no", text="x" * 1001))
        assert caught.value.property_name == "text"


class Number(IntEnum):
    ONE = 1


class Text(str):
    pass


class Settable(objstore.Model):
    id: int = field(primary_key=True)
    flag: bool = False
    number: int = 0
    maybe: int | None = None
    real: float = 0.0
    text: str = ""
    kind: Number = Number.ONE


def test_a_setter_takes_the_same_managed_or_not(path):
    """Also what is not of the very type of the property, for which it looks no further."""
    values = [
        True,
        1,
        -(2**63),
        2**63,
        -(2**63) - 1,
        1.0,
        0.5,
        2**53 + 1,
        "",
        Text("é"),
        "\ud800",
        b"x",
        None,
        Number.ONE,
        Decimal(1),
    ]

    def outcome(obj, name, value):
        try:
            setattr(obj, name, value)
        except objstore.Error as error:
            return type(error), str(error)
        got = getattr(obj, name)
        return type(got), got

    with objstore.open(path, models=[Settable]) as store:
        with store.write():
            managed = store.add(Settable(id=1))
            for prop in objstore.fields(Settable)[1:]:
                for value in values:
                    if (prop.name, value) != ("text", "\ud800"):  # which a constructor and its object do not look at
                        assert outcome(managed, prop.name, value) == outcome(Settable(id=2), prop.name, value), (
                            prop.name,
                            value,
                        )
            with pytest.raises(objstore.InvalidText, match="Settable.text"):
                managed.text = "\ud800"
            with pytest.raises(objstore.KeyImmutable):
                managed.id = 2
            assert (managed.id, managed.number, managed.text) == (1, 1, "é")
        with pytest.raises(objstore.NotInWrite, match="setting Settable.number"):
            managed.number = 1
        with pytest.raises(objstore.NotInWrite, match="setting Settable.number"):
            managed.freeze().number = 1


def test_ints_of_thousands_of_digits(tmp_path: Path) -> None:
    """Of which Python writes none: what is wrong is reported all the same."""

    class Box(Model):
        id: int = field(primary_key=True)
        real: float = 0.0
        price: Decimal = Decimal(0)
        any: Any = None
        text: str = ""
        numbers: list[int]
        named: dict[int, int]

    big = 10**5000
    with objstore.open(tmp_path / "db", models=[Box]) as store:
        with store.write():
            for name, value in [
                ("id", big),
                ("real", big),
                ("any", big),
                ("any", [{"x": big}]),
                ("numbers", [big]),
                ("named", {-big: 1}),
                ("price", big + 1),
            ]:
                for make in (
                    lambda row: store.add(Box(**row)),
                    lambda row: store.create(Box, row),
                    lambda row: store.create_all(Box, [row]),
                ):
                    with pytest.raises(
                        objstore.OutOfRange, match=f"Box.{name}: .*(an int of 166[0-9]+ bits|Decimal)"
                    ) as raised:
                        make({"id": 1} | {name: value})
                    assert (raised.value.class_name, raised.value.property_name) == ("Box", name)
            with pytest.raises(objstore.WrongType, match="Box.text: a str is wanted, not an int of 16610 bits"):
                store.create(Box, {"id": 1, "text": big})
            box = store.create(Box, {"id": 1, "price": big})
            with pytest.raises(objstore.IndexOutOfRange):
                box.numbers[big]
            assert box.price == Decimal("1E5000") and big not in box.numbers and box.named.get(big) is None
        with pytest.raises(objstore.OutOfRange, match="Box.id"):
            store.objects(Box).where(Box.id == big).count()
        with pytest.raises(objstore.OutOfRange, match="schema_version is an int from"):
            objstore.open(tmp_path / "db", models=[Box], schema_version=big)


class Real(Model):
    id: int = field(primary_key=True)
    real: float | None = None
    single: Float32 = 0.0
    many: list[float]
    some: set[float]
    named: dict[str, float]


@pytest.mark.parametrize(
    "number", [numpy.int64(2**53 + 1), numpy.int64(-(2**63) + 1), numpy.uint64(2**64 - 1)], ids=repr
)
def test_ints_of_numpy_lose_no_digits(tmp_path: Path, number: Any) -> None:
    """They are equal to the float that they become, by their own comparison."""
    row = numpy.array([number])
    with objstore.open(tmp_path / "db", models=[Real]) as store, store.write():
        real = store.add(Real(id=0))
        for name, values in {"real": number, "many": row, "some": {number}, "named": {"a": number}}.items():
            for make in (
                lambda: Real(id=1, **{name: values}),
                lambda: setattr(real, name, values),
                lambda: store.create(Real, {"id": 1, name: values}),
                lambda: store.create_all(Real, [{"id": 1, name: values}]),
                lambda: store.objects(Real).update(**{name: values}),
            ):
                with pytest.raises(objstore.OutOfRange, match=f"Real.{name}: {int(number)} is not exactly a float"):
                    make()
        for use in (
            lambda: store.objects(Real).increment(real=number),
            lambda: real.many.append(number),
            lambda: real.some.add(number),
            lambda: real.named.update(a=number),
            lambda: store.create_all(Real, [[i, n] for i, n in enumerate(numpy.array([1, 2**53 + 1]))]),
        ):
            with pytest.raises(objstore.OutOfRange, match="is not exactly a float"):
                use()
        assert number not in real.many and number not in real.some and len(store.objects(Real)) == 1
        real.real, real.single = numpy.int64(2**53), number
        assert real.real == 2**53
        kept, real.single = real.single, int(number)
        assert real.single == kept  # the nearest one, as of every number
