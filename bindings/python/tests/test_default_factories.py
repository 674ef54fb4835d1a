"""default_factory: what a new object gets that is given no value, of every type, called once for each object."""

import enum
import itertools
import pathlib
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

import objstore
from objstore import Counter, EmbeddedModel, Float32, Index, Model, ObjectId, field

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=timezone.utc)
ID = uuid.UUID(int=7)
OBJECT_ID = ObjectId(bytes(range(12)))


class Mood(enum.Enum):
    CALM = "calm"
    WILD = "wild"


class Address(EmbeddedModel):
    city: str = ""
    since: datetime = field(default_factory=lambda: NOW)


class Person(Model):
    id: int = field(primary_key=True)
    name: str = field(default_factory=lambda: "nobody")


class Everything(Model):
    flag: bool = field(default_factory=lambda: True)
    number: int = field(default_factory=lambda: 3, indexed=True)
    real: float = field(default_factory=lambda: 2)
    single: Float32 = field(default_factory=lambda: 0.5)
    amount: Decimal = field(default_factory=lambda: Decimal("1.10"))
    text: str = field(default_factory=lambda: "ä")
    data: bytes = field(default_factory=lambda: b"x")
    when: datetime = field(default_factory=lambda: NOW)
    oid: ObjectId = field(default_factory=lambda: OBJECT_ID)
    uid: uuid.UUID = field(default_factory=lambda: ID)
    mood: Mood = field(default_factory=lambda: Mood.WILD)
    count: Counter = field(default_factory=lambda: 4)
    maybe: str | None = field(default_factory=lambda: "yes")
    nothing: int | None = field(default_factory=lambda: None)
    extra: Any = field(default_factory=lambda: {"a": [1, NOW]})
    home: Address | None = field(default_factory=lambda: Address(city="Bern"))
    owner: Person | None = field(default_factory=lambda: Person(id=next(people)))
    tags: list[str] = field(default_factory=lambda: ["new"])
    seen: set[int] = field(default_factory=lambda: {1, 2})
    notes: dict[str, int] = field(default_factory=lambda: {"k": 1})
    homes: list[Address] = field(default_factory=lambda: [Address(city="Rome"), Address()])


people: Iterator[int] = itertools.count(1)
WANTED = {
    "flag": True,
    "number": 3,
    "real": 2.0,
    "single": 0.5,
    "amount": Decimal("1.10"),
    "text": "ä",
    "data": b"x",
    "when": NOW,
    "oid": OBJECT_ID,
    "uid": ID,
    "mood": Mood.WILD,
    "count": 4,
    "maybe": "yes",
    "nothing": None,
}


class Row(Model):
    """What columns can say, with a required property that only a factory fills."""

    id: int = field(primary_key=True)
    serial: int = field(default_factory=lambda: next(serials))
    when: datetime = field(default_factory=lambda: NOW)
    label: str | None = field(default_factory=lambda: "new")
    tags: list[str] = field(default_factory=lambda: ["a"])


class Made(Model):
    id: uuid.UUID = field(primary_key=True, default_factory=lambda: uuid.UUID(int=next(serials)))
    email: str = field(unique=True)
    serial: int = field(default_factory=lambda: next(serials))


class Pair(Model):
    a: str
    b: int = field(default_factory=lambda: 1)
    serial: int = field(default_factory=lambda: next(serials))
    rows: list[Row]
    row: Row | None = None
    __indexes__ = [Index("a", "b", primary_key=True)]


serials: Iterator[int] = itertools.count(1)


@pytest.fixture(autouse=True)
def _anew() -> None:
    global serials, people
    serials, people = itertools.count(1), itertools.count(1)


@pytest.fixture
def store(path: pathlib.Path) -> Iterator[objstore.Store]:
    with objstore.open(path, models=[Everything, Person, Address, Row, Made, Pair]) as made:
        yield made
        if not made.is_closed:
            made.verify()


def check(obj: Everything) -> None:
    assert {name: getattr(obj, name) for name in WANTED} == WANTED
    assert obj.extra == {"a": [1, NOW]}
    assert obj.home is not None and (obj.home.city, obj.home.since) == ("Bern", NOW)
    assert obj.owner is not None and obj.owner.name == "nobody"
    assert (list(obj.tags), set(obj.seen), dict(obj.notes)) == (["new"], {1, 2}, {"k": 1})
    assert [home.city for home in obj.homes] == ["Rome", ""]


def model_with(annotation: Any, factory: Callable[[], Any], **options: Any) -> Any:
    namespace = {
        "__annotations__": {"id": int, "value": annotation},
        "id": field(primary_key=True),
        "__module__": __name__,
    }
    return type(Model)("Odd", (Model,), namespace | {"value": field(default_factory=factory, **options)})


class TestEveryType:
    def test_constructor(self, store: objstore.Store) -> None:
        obj = Everything()
        check(obj)
        with store.write():
            store.add(obj)
        check(obj)

    def test_given_values_are_taken(self) -> None:
        obj = Everything(number=9, maybe=None, tags=[], home=None, extra=None)
        assert (obj.number, obj.maybe, obj.tags, obj.home, obj.extra) == (9, None, [], None, None)

    @pytest.mark.parametrize("values", [{}, []])
    def test_create(self, store: objstore.Store, values: Any) -> None:
        with store.write():
            made = store.create(Everything, values)
            check(made)
        check(made)
        check(Everything.from_values(values))

    def test_create_all(self, store: objstore.Store) -> None:
        with store.write():
            assert store.create_all(Everything, [{}, {"owner": None}, {}]).created == 3
        found = list(store.objects(Everything))
        check(found[0])
        check(found[2])
        assert found[1].owner is None

    def test_derived_classes(self, store: objstore.Store) -> None:
        class More(Row):
            extra: int = 0

            def __init__(self, id: int) -> None:
                Row.__init__(self, id=id)

        assert (More(5).serial, More(6).serial, More(7).tags) == (1, 2, ["a"])

    def test_values_of_its_own(self) -> None:
        first, second = Everything(), Everything()
        first.extra["a"].append(5)
        first.tags.append("x")
        assert second.extra == {"a": [1, NOW]} and second.tags == ["new"]


class TestOncePerObject:
    def test_constructor(self) -> None:
        assert [Row(id=1).serial, Row(id=2, serial=50).serial, Row(id=3).serial] == [1, 50, 2]

    def test_create(self, store: objstore.Store) -> None:
        with store.write():
            store.create(Row, {"id": 1})
            store.create(Row, [2])
            store.create(Row, {"id": 3, "serial": 50})
            store.create(Row, {"id": 4, "tags": ["b"]})
        assert [row.serial for row in store.objects(Row)] == [1, 2, 50, 3] and next(serials) == 4

    def test_columns(self, store: objstore.Store) -> None:
        with store.write():
            store.create_all(Row, [{"id": i} for i in range(3)])
            store.create_all(Row, [[7], [8, 50], [9]])
        assert [row.serial for row in store.objects(Row)] == [1, 2, 3, 4, 50, 5] and next(serials) == 6
        assert all(row.when == NOW and row.label == "new" and list(row.tags) == ["a"] for row in store.objects(Row))

    def test_loading_calls_nothing(self, store: objstore.Store) -> None:
        with store.write():
            row = store.add(Row(id=1))
        for loaded in store.objects(Row):
            assert (loaded.serial, loaded.detach().serial, loaded.freeze().serial) == (1, 1, 1)
        with objstore.open(memory="", models=[Row]) as other, other.write():
            assert other.copy(row).serial == 1
        assert next(serials) == 2

    def test_nested_values(self, store: objstore.Store) -> None:
        with store.write():
            made = store.create(
                Pair, {"a": "x", "rows": [{"id": 1}, Row(id=2), {"id": 3, "serial": 9}], "row": {"id": 4}}
            )
        assert made.b == 1 and sorted([*(row.serial for row in made.rows), made.row.serial, made.serial]) == [
            1,
            2,
            3,
            4,
            9,
        ]


class TestUpserts:
    @pytest.mark.parametrize("update", ["modified", "all"])
    def test_what_is_there_keeps_its_value(self, store: objstore.Store, update: Any) -> None:
        with store.write():
            row = store.create(Row, {"id": 1}, update=update)
            store.create(Row, {"id": 1, "label": "again"}, update=update)
            assert (row.serial, row.label) == (1, "again") and next(serials) == 2
            counts = store.create_all(Row, [{"id": 1}, {"id": 2}, {"id": 2}, [3]], update=update)
        assert counts.created == 2
        assert [row.serial for row in store.objects(Row)] == [1, 3, 4] and next(serials) == 5

    def test_nested_ones(self, store: objstore.Store) -> None:
        with store.write():
            row = store.create(Row, {"id": 1})
            values = {"a": "x", "b": 5, "rows": [{"id": 1, "label": "old"}, {"id": 2}, {"id": 2}], "row": {"id": 2}}
            pair = store.create(Pair, values, update="modified")
            assert (row.serial, row.label, pair.row.serial) == (1, "old", 3)
            store.create(Pair, values, update="modified")
            assert [r.serial for r in store.objects(Row)] == [1, 3]
            assert pair.serial == 2 and next(serials) == 4

    def test_key_that_a_factory_makes(self, store: objstore.Store) -> None:
        with store.write():
            pair = store.create(Pair, {"a": "x"}, update="modified")
            assert store.create(Pair, {"a": "x"}, update="modified") == pair and pair.serial == 1
            first, second = (store.create(Made, {"email": e}, update="modified") for e in ("a", "b"))
            assert first.id != second.id

    def test_by_another_index(self, store: objstore.Store) -> None:
        with store.write():
            first = store.create(Made, {"email": "a"}, "modified", by="email")
            again = store.create(Made, {"email": "a"}, "modified", by="email")
            assert first == again and store.create(Made, {"email": "b"}, "modified", by="email") != first


class TestRefused:
    def test_result_is_checked(self, store: objstore.Store) -> None:
        Odd = model_with(int, lambda: "text")
        with objstore.open(memory="", models=[Odd]) as other, other.write():
            for attempt in (
                lambda: Odd(id=1),
                lambda: Odd.from_values({"id": 1}),
                lambda: other.create(Odd, {"id": 1}),
                lambda: other.create_all(Odd, [{"id": 1}]),
                lambda: other.create(Odd, {"id": 1}, update="modified"),
            ):
                with pytest.raises(objstore.WrongType, match=r"Odd\.value: an int is wanted, not 'text'") as caught:
                    attempt()
                assert (caught.value.class_name, caught.value.property_name) == ("Odd", "value")
            assert not other.objects(Odd)

    def test_none(self) -> None:
        with pytest.raises(objstore.NotNullable, match=r"Odd\.value may not be None"):
            model_with(datetime, lambda: None)(id=1)
        with pytest.raises(objstore.WrongType, match="no time zone"):
            model_with(datetime, lambda: datetime(2026, 1, 1))(id=1)

    def test_an_exception_reaches_the_caller(self, store: objstore.Store) -> None:
        left = [2]

        def failing() -> int:
            left[0] -= 1
            if left[0] < 0:
                raise ZeroDivisionError("here")
            return 1

        Odd = model_with(int, failing)
        with objstore.open(memory="", models=[Odd]) as other, other.write():
            with pytest.raises(ZeroDivisionError, match="here"):
                other.create_all(Odd, [{"id": i} for i in range(5)])
            with pytest.raises(ZeroDivisionError):
                Odd(id=1)
            with pytest.raises(ZeroDivisionError):
                other.create(Odd, {"id": 1})
            left[0] = 1
            with pytest.raises(ZeroDivisionError):
                other.create_all(Odd, [{"id": i} for i in range(5)], update="modified")
            assert not other.objects(Odd)

    def test_position_in_rows(self) -> None:
        values = iter([1, 2, "three"])
        Odd = model_with(int, lambda: next(values))
        with objstore.open(memory="", models=[Odd]) as other, other.write():
            with pytest.raises(objstore.WrongType, match=r"Odd\.value") as caught:
                other.create_all(Odd, [{"id": i} for i in range(3)])
            assert caught.value.position == 2

    def test_declarations(self) -> None:
        with pytest.raises(objstore.SchemaError, match=r"Odd\.value: .*default and a default_factory"):
            model_with(int, lambda: 1, default=3)
        with pytest.raises(objstore.SchemaError, match=r"Odd\.value: what is generated has no default"):
            model_with(uuid.UUID, uuid.uuid4, generated=True)
        with pytest.raises(TypeError, match="default_factory is a function without arguments, not 5"):
            field(default_factory=5)  # type: ignore[arg-type]


def test_fields_tell() -> None:
    when = next(p for p in objstore.fields(Row) if p.name == "when")
    assert when.default_factory() == NOW and when.default is not None


def test_json_text_is_read_by_the_library(store: objstore.Store) -> None:
    with store.write():
        with pytest.raises(objstore.MissingValue, match="serial"):
            store.create_from_json(Row, '{"id": 1}')
        row = store.create_from_json(Row, '{"id": 1, "serial": 2, "when": {"$date": 0}}', extended=True)
    assert row.label is None and next(serials) == 1
