"""Types of the program as types of properties, stored as others."""

import json
import pathlib
import pickle
from datetime import date, datetime, timezone
from typing import NamedTuple

import pytest

import objstore
from objstore import Float32, InvalidArgument, NotNullable, OutOfRange, WrongType, any_, field, register_type


class Celsius:
    def __init__(self, degrees):
        self.degrees = degrees

    def __eq__(self, other):
        return isinstance(other, Celsius) and self.degrees == other.degrees

    def __hash__(self):
        return hash(self.degrees)

    def __repr__(self):
        return f"Celsius({self.degrees})"


class Code(str):
    """Not every text is one. A str itself, which is no reason to store it as it is."""

    def __new__(cls, text):
        if len(text) != 2 or text.upper() != text:
            raise ValueError(f"a code has two capitals, not {text!r}")
        return super().__new__(cls, text)


class Serial(NamedTuple):
    number: int


class Day(date):
    pass


def day_of(when):
    return Day(when.year, when.month, when.day)


def start_of(day):
    return datetime(day.year, day.month, day.day, tzinfo=timezone.utc)


register_type(Celsius, float, store=lambda c: c.degrees, load=Celsius)
register_type(Code, str, store=str, load=Code)
register_type(Serial, int, store=lambda s: s.number, load=Serial)
register_type(pathlib.Path, str, store=str, load=pathlib.Path)
register_type(Day, datetime, store=start_of, load=day_of)


class Reading(objstore.Model):
    serial: Serial = field(primary_key=True)
    temperature: Celsius = field(indexed=True)
    highest: Celsius = Celsius(100.0)
    lowest: Celsius | None = None
    country: Code = Code("CH")
    origin: Code | None = None
    log: pathlib.Path | None = field(default=None, unique=True)
    day: Day | None = None
    others: list[Celsius]
    days: dict[str, Celsius | None]
    seen: set[Serial]
    next: "Reading | None" = None


class Holder(objstore.Model):
    __stored_as__ = "Reading"
    serial: int = field(primary_key=True)
    temperature: float = field(indexed=True)
    highest: float = 100.0
    lowest: float | None = None
    country: str = "CH"
    origin: str | None = None
    log: str | None = field(default=None, unique=True)
    day: datetime | None = None
    others: list[float]
    days: dict[str, float | None]
    seen: set[int]
    next: "Holder | None" = None


def reading(number, degrees=0.0, **more):
    return Reading(serial=Serial(number), temperature=Celsius(degrees), **more)


@pytest.fixture
def store():
    with objstore.open(memory="", models=[Reading]) as made:
        yield made


def full():
    return reading(
        1,
        21.5,
        origin=Code("FR"),
        lowest=Celsius(-1.0),
        log=pathlib.Path("/tmp/a"),
        day=Day(2024, 2, 29),
        others=[Celsius(1.0), Celsius(2.0)],
        days={"mon": Celsius(3.0), "tue": None},
        seen={Serial(5), Serial(7)},
    )


def check(made):
    assert (made.serial, made.temperature, made.highest) == (Serial(1), Celsius(21.5), Celsius(100.0))
    assert (made.country, made.origin, made.lowest, made.day) == ("CH", "FR", Celsius(-1.0), Day(2024, 2, 29))
    assert type(made.country) is Code and type(made.origin) is Code and type(made.temperature) is Celsius
    assert made.log == pathlib.Path("/tmp/a") and isinstance(made.log, pathlib.Path)
    assert list(made.others) == [Celsius(1.0), Celsius(2.0)] and dict(made.days) == {"mon": Celsius(3.0), "tue": None}
    assert set(made.seen) == {Serial(5), Serial(7)} and all(type(each) is Serial for each in made.seen)


def test_there_and_back(store):
    made = full()
    check(made)
    with store.write():
        store.add(made)
        check(made)
    for found in (made, store.objects(Reading)[0], store.get(Reading, Serial(1)), made.freeze(), made.detach()):
        check(found)
    check(pickle.loads(pickle.dumps(made.detach())))
    check(next(iter(store.objects(Reading))))
    with store.write():
        made.temperature = Celsius(-3.0)
        made.lowest = None
        made.country = Code("DE")
        made.log = pathlib.Path("b")
        made.others.append(Celsius(9.0))
        made.others[0] = Celsius(8.0)
        made.days["wed"] = Celsius(0.5)
        made.seen |= {Serial(9)}
    assert (made.temperature, made.lowest, made.country, made.log) == (Celsius(-3.0), None, "DE", pathlib.Path("b"))
    assert list(made.others) == [Celsius(8.0), Celsius(2.0), Celsius(9.0)] and made.days["wed"] == Celsius(0.5)
    assert Serial(9) in made.seen and Celsius(2.0) in made.others and made.others.index(Celsius(9.0)) == 2
    assert Serial(70) not in made.seen
    with objstore.open(memory="other", models=[Reading]) as other, other.write():
        assert other.copy(made).temperature == Celsius(-3.0)
    assert repr(made).startswith("Reading(serial=Serial(number=1), temperature=Celsius(-3.0)")


def test_queries_are_of_what_is_stored(store):
    with store.write():
        for n in range(10):
            more = {"country": Code("FR")} if n % 2 else {}
            store.add(
                reading(n, n * 10.0, lowest=Celsius(-float(n)) if n < 3 else None, others=[Celsius(float(n))], **more)
            )
    everything = store.objects(Reading)

    def numbers(results):
        return [each.serial.number for each in results]

    assert numbers(everything.where(Reading.temperature == Celsius(30.0))) == [3]
    assert numbers(everything.where(Reading.temperature > Celsius(75.0))) == [8, 9]
    assert numbers(everything.where(Reading.temperature > 75)) == [8, 9]  # what is stored
    assert numbers(everything.where(Reading.lowest == Celsius(-2.0))) == [2]
    assert len(everything.where(Reading.lowest == None)) == 7
    assert numbers(everything.where(Reading.temperature.in_([Celsius(10.0), Celsius(50.0)]))) == [1, 5]
    assert numbers(everything.where(Reading.temperature.between(Celsius(10.0), 20))) == [1, 2]
    assert len(everything.where(Reading.country == Code("FR"))) == 5
    assert len(everything.where(Reading.country.starts_with("F"))) == 5
    assert numbers(everything.where(Reading.serial == Serial(4))) == [4]
    assert numbers(everything.where(any_(Reading.others) == Celsius(4.0))) == [4]
    assert numbers(everything.filter("temperature == $0", Celsius(20.0))) == [2]
    assert numbers(everything.filter("temperature IN $0", [Celsius(20.0), Celsius(0.0)])) == [0, 2]
    assert numbers(everything.filter("serial == $0 OR temperature > 85", Serial(1))) == [1, 9]
    assert numbers(everything.order_by(objstore.desc(Reading.temperature)).limit(2)) == [9, 8]
    assert numbers(everything.distinct(Reading.country)) == [0, 1]
    assert "index" in str(everything.where(Reading.temperature == Celsius(30.0)).explain())
    assert everything.where(Reading.temperature > 75).query_text() == "temperature > 75"
    assert len(everything.where(Reading.temperature * 2 > 150)) == 2
    table = everything.group_by(Reading.country).select(Reading.country, n=objstore.group.count)
    assert sorted(row[0] for row in table) == ["CH", "FR"] and all(type(row[0]) is Code for row in table)
    sections = everything.sections(Reading.country)
    assert [(type(part.key), part.key, len(part)) for part in sections] == [(Code, "CH", 5), (Code, "FR", 5)]
    with pytest.raises(WrongType, match="there is no sum of Celsius"):
        everything.sum(Reading.temperature)
    with pytest.raises(WrongType):
        len(everything.where(Reading.temperature == "warm"))


def test_given_in_other_ways(store):
    with store.write():
        made = store.create(
            Reading,
            {"serial": Serial(1), "temperature": Celsius(4.0), "others": [Celsius(1.0)], "origin": Code("FR")},
        )
        assert store.create(Reading, {"serial": Serial(1), "temperature": Celsius(5.0)}, update="modified") == made
        store.create_from_json(Reading, '{"serial": 2, "temperature": 7.5, "others": [1, 2]}')
        store.add_all([reading(n, float(n), lowest=None if n % 2 else Celsius(1.0)) for n in range(3, 6)])
        linked = store.add(reading(9, next=reading(10, next=made)))
    assert made.temperature == Celsius(5.0) and linked.next.next == made
    two = store.get(Reading, Serial(2))
    assert two.temperature == Celsius(7.5) and list(two.others) == [Celsius(1.0), Celsius(2.0)]
    assert [each.lowest for each in store.objects(Reading).where(Reading.serial > 2, Reading.serial < 6)] == [
        None,
        Celsius(1.0),
        None,
    ]
    with store.write():
        assert store.objects(Reading).update(highest=Celsius(50.0)) == 7
    assert made.highest == Celsius(50.0)
    assert Reading.from_values({"serial": Serial(3), "temperature": Celsius(1.0)}).temperature == Celsius(1.0)
    assert store.find_by(Reading, log=pathlib.Path("none")) is None
    found = [each.serial for each in store.objects_in(Reading, ["temperature"], from_=[Celsius(5.0)])]
    assert found[0] == Serial(5) or found[0] == Serial(1)


def test_json_has_what_is_stored(store):
    made = full()
    loose = json.loads(made.to_json())
    assert loose["temperature"] == 21.5 and loose["country"] == "CH" and loose["others"] == [1, 2]
    assert loose["seen"] == [5, 7] and loose["days"] == {"mon": 3, "tue": None} and loose["log"] == "/tmp/a"
    with store.write():
        store.add(made)
    assert json.loads(made.to_json()) == loose
    with objstore.open(memory="json", models=[Reading]) as other, other.write():
        again = other.create_from_json(Reading, made.to_json(extended=True), extended=True)
        check(again)
    assert made.to_dict()["temperature"] == Celsius(21.5)


def test_the_file_has_the_stored_type(path):
    with objstore.open(path, models=[Reading]) as store, store.write():
        store.add(full())
        store.add(reading(2, 5.0, next=None))
    with objstore.open(path, models=[Holder]) as store:
        held = store.get(Holder, 1)
        assert (held.temperature, held.country, held.log, held.highest) == (21.5, "CH", "/tmp/a", 100.0)
        assert held.day == datetime(2024, 2, 29, tzinfo=timezone.utc) and set(held.seen) == {5, 7}
        with store.write():
            held.country, held.origin = "nowhere", "x"
    with objstore.open(path, models=[Reading]) as store:
        read, other = store.objects(Reading)
        with pytest.raises(
            OutOfRange, match=r"Reading\.country: the stored value 'nowhere' is no Code: a code has two"
        ):
            read.country
        try:
            store.get(Reading, Serial(1)).country
        except OutOfRange as error:
            assert (error.class_name, error.property_name) == ("Reading", "country")
        assert read.origin is None  # it may be
        assert other.country == "CH"  # of the same chunk
        assert [each.temperature for each in store.objects(Reading)] == [Celsius(21.5), Celsius(5.0)]
        with store.write():
            read.country = Code("IT")
        assert read.country == "IT"


def test_wrong_values(store):
    with store.write():
        made = store.add(full())
        for name, value, kind in (
            ("temperature", 5.0, WrongType),
            ("temperature", None, NotNullable),
            ("temperature", Celsius("warm"), WrongType),
            ("temperature", Celsius(None), OutOfRange),
            ("country", "FR", WrongType),
            ("others", [Celsius(1.0), 2.0], WrongType),
            ("others", [Celsius("x")], WrongType),
            ("log", 5, WrongType),
        ):
            with pytest.raises(kind, match=rf"Reading\.{name}") as error:
                setattr(made, name, value)
            assert (error.value.class_name, error.value.property_name) == ("Reading", name)
        with pytest.raises(WrongType, match=r"an element of Reading\.others: a Celsius is wanted, not 3"):
            made.others.append(3)
        check(made)
    with pytest.raises(WrongType, match=r"Reading\.temperature: a Celsius is wanted, not 5 \(int\)"):
        Reading(serial=Serial(1), temperature=5)
    with pytest.raises(WrongType):
        store.get(Reading, "x")


def test_types_that_are_refused():
    class Point:
        pass

    def refused(kind=InvalidArgument, python_type=Point, stored=str, store=str, load=Point):
        with pytest.raises(kind) as error:
            register_type(python_type, stored, store=store, load=load)
        return str(error.value)

    assert "stored is bool, int, float" in refused(stored=list)
    assert "stored is bool" in refused(stored=[]) and "stored is bool" in refused(stored=None)
    assert "takes a class, not 5" in refused(python_type=5)
    assert "str is stored as it is" in refused(python_type=str)
    assert "Reading is stored as it is" in refused(python_type=Reading)
    assert "of the program, not list" in refused(python_type=list)
    assert "load is a function" in refused(load=3)
    assert "store is a function" in refused(store="x")
    with pytest.raises(objstore.NotSupported, match="what register_type"):

        class Shape(objstore.Model):
            at: Point

    register_type(Point, Float32, store=lambda p: 1.5, load=lambda stored: Point())

    class Other(objstore.Model):
        at: Point

    assert objstore.fields(Other)[0].type_name == "Point" and objstore.fields(Other)[0].python_type is Point
    with objstore.open(memory="", models=[Other]) as store:
        with store.write():
            made = store.add(Other(at=Point()))
        assert type(made.at) is Point and store.objects(Other).to_numpy("at").tolist() == [1.5]
    with pytest.raises(objstore.SchemaError, match="a key is"):

        class Keys(objstore.Model):
            by: dict[Code, int]


def test_what_the_functions_raise(store):
    class Odd:
        pass

    def fails(_):
        raise KeyError("of load")

    register_type(Odd, int, store=lambda odd: 1, load=fails)

    class Has(objstore.Model):
        odd: Odd

    with objstore.open(memory="", models=[Has]) as other:
        with other.write():
            made = other.add(Has(odd=Odd()))
        with pytest.raises(KeyError, match="of load"):
            made.odd


def test_observers_have_values_of_the_type(store):
    """Before and after, of what came and went, in sections and as arguments."""
    with store.write():
        made = store.add(reading(1, 21.5, lowest=Celsius(1.0), others=[Celsius(1.0)], days={"mon": Celsius(3.0)}))
    told, keys, values, elements = [], [], [], []

    def tell(change):
        told.append(
            [
                (change.written(i), was.temperature, now.temperature, was.lowest, now.lowest)
                for i, (was, now) in enumerate(zip(change.modified_before, change.modified))
            ]
            + [each.temperature for each in (*change.deleted, *change.inserted)]
        )

    warm = store.objects(Reading).where(Reading.temperature > Celsius(10.0)).order_by(Reading.temperature)
    sections = store.objects(Reading).sections(Reading.temperature, order="ascending")
    tokens = [
        warm.observe(tell, initial=False),
        made.observe(tell, keys=[Reading.temperature, "lowest"]),
        sections.observe(lambda c: keys.append((c.deleted_keys, c.inserted_keys)), initial=False),
        store.objects(Reading).observe_typed(
            ["serial", "temperature", "lowest"],
            "event, i64, f64, f64? -> void",
            lambda *arguments: values.append(arguments),
            deletions=True,
        ),
        made.others.observe(
            lambda c: elements.append(c.after.objects(Reading)[0].others[c.insertions[0]]), initial=False
        ),
        made.days.observe(
            lambda c: elements.append(c.after.objects(Reading)[0].days[c.modified_keys[0]]), initial=False
        ),
    ]
    with store.write():
        made.temperature, made.lowest = Celsius(30.0), None
    assert store.deliver() == 4 and elements == []
    assert told == [[(("temperature", "lowest"), Celsius(21.5), Celsius(30.0), Celsius(1.0), None)]] * 2
    assert keys == [([Celsius(21.5)], [Celsius(30.0)])]
    assert values == [("modified", Serial(1), Celsius(30.0), None)] and type(values[0][1]) is Serial
    for each in (told, keys, values):
        each.clear()
    with store.write():
        made.temperature = Celsius(5.0)  # not found any more
        made.others.append(Celsius(2.0))
        made.days["mon"] = Celsius(4.0)
        store.add(reading(2, 40.0))
    store.deliver()
    written = ("temperature", "others", "days")
    assert sorted(map(len, told)) == [1, 2]
    assert [(written, Celsius(30.0), Celsius(5.0), None, None)] in told
    assert [Celsius(30.0), Celsius(40.0)] in told
    assert keys == [([Celsius(30.0)], [Celsius(5.0), Celsius(40.0)])]
    assert values == [("inserted", Serial(2), Celsius(40.0), None), ("modified", Serial(1), Celsius(5.0), None)]
    assert sorted(elements, key=hash) == [Celsius(2.0), Celsius(4.0)]
    values.clear()
    for token in tokens[-2:]:
        token.close()
    with store.write():
        store.delete(made)
    store.deliver()
    assert values == [("deleted", Serial(1), Celsius(5.0), None)]
    for token in tokens:
        token.close()
