"""Creating objects from JSON: the scenarios by their numbers, and what they leave open."""

import io
import json
import math
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

import objstore
from objstore import Model, field


class Toy(Model):
    name: str


class Frog(Model):
    name: str = ""
    age: int = 0
    species: str | None = None
    owner: str | None = None


class Dog(Model):
    name: str = ""
    age: int = 0
    weight: float | None = None
    price: Decimal | None = None
    born: datetime | None = None
    photo: bytes | None = None
    seen: list[datetime] = field(default_factory=list)
    extra: Any = None


class Person(Model):
    id: int = field(primary_key=True)
    name: str = ""
    dogs: list[Dog] = field(default_factory=list)


@pytest.fixture
def store(path):
    with objstore.open(path, models=[Toy, Frog, Dog, Person]) as store:
        yield store
        store.verify()


def test_a22_an_object(store):
    for data in (
        '{"name": "Tennis ball"}',
        b'{"name": "Tennis ball"}',
        {"name": "Tennis ball"},
        io.StringIO('{"name": "Tennis ball"}'),
    ):
        with store.write():
            assert store.create_from_json(Toy, data).name == "Tennis ball"
    assert [toy.name for toy in store.objects(Toy)] == ["Tennis ball"] * 4
    with store.write():
        assert store.create_from_json(Frog, ["Frodo", 3]).age == 3  # values in the order of the properties


def test_a23_relaxed(store):
    text = '{ name: "Doctor Cucumber", age: 1, species: "bullfrog", owner: "Wirt" }'
    with store.write():
        frog = store.create_from_json(Frog, text)
        with pytest.raises(objstore.InvalidJSON) as caught:
            store.create_from_json(Frog, text, relaxed=False)
    assert (frog.name, frog.age, frog.species, frog.owner) == ("Doctor Cucumber", 1, "bullfrog", "Wirt")
    assert caught.value.position == 2 and "line 1, column 3" in str(caught.value)
    assert len(store.objects(Frog)) == 1


def test_a24_many_from_a_file(store, tmp_path):
    file = tmp_path / "frogs.json"
    with pytest.raises(FileNotFoundError), store.write():
        store.create_all_from_json(Frog, file)
    file.write_text('[{"name": "a"}, {"name": "b"},\n {"name": "c"}]')
    with store.write():
        assert store.create_all_from_json(Frog, file) == 3
        with open(file) as opened:
            assert store.create_all_from_json(Frog, opened) == 3
        with pytest.raises(objstore.InvalidJSON):
            store.create_all_from_json(Frog, '{"name": "a"}')
    assert [frog.name for frog in store.objects(Frog)] == list("abcabc")


def test_a25_unknown_names(store):
    with store.write():
        toy = store.create_from_json(Toy, '{"name": "ball", "weight": 3, "maker": {"name": [{}]}}')
    assert toy.name == "ball"


def test_a26_nested(store):
    with store.write():
        text = '{"id": 1, "name": "Jane", "dogs": [{"name": "Rex", "age": 3, "x": 1}, {"name": "Bello", "age": 4}]}'
        jane = store.create_from_json(Person, text)
    assert [(dog.name, dog.age) for dog in jane.dogs] == [("Rex", 3), ("Bello", 4)]
    assert len(store.objects(Dog)) == 2


@pytest.mark.parametrize("text", ['{"name": "Rex", "age": "5"}', '{"age": 1.5}', '{"age": true}', '{"age": 1e2}'])
def test_a27_types_must_fit(store, text):
    with store.write():
        with pytest.raises(objstore.WrongType) as caught:
            store.create_from_json(Dog, text)
        assert (caught.value.class_name, caught.value.property_name) == ("Dog", "age")
        assert caught.value.position == text.index(":", text.index("age")) + 2
    assert len(store.objects(Dog)) == 0


def test_a28_no_dates_and_binaries_of_strings(store):
    date, day = "2026-11-22T00:00:00Z", datetime(2026, 11, 22, tzinfo=timezone.utc)
    with store.write():
        for name in ("born", "photo"):
            with pytest.raises(objstore.WrongType) as caught:
                store.create_from_json(Dog, {name: date})
            assert caught.value.property_name == name
        assert store.create(Dog, {"born": day, "photo": b"x"}).born == day

        def convert(prop, value):
            return (
                datetime.fromisoformat(value.replace("Z", "+00:00"))
                if prop.name in ("born", "seen")
                else value.encode()
            )

        dog = store.create_from_json(Dog, {"born": date, "photo": "x", "seen": [date]}, convert=convert)
        assert (dog.born, dog.photo, list(dog.seen)) == (day, b"x", [day])
        dog = store.create_from_json(
            Dog, {"born": {"$date": date}, "photo": {"$binary": {"base64": "eA==", "subType": "00"}}}, extended=True
        )
        assert (dog.born, dog.photo) == (day, b"x")
        with pytest.raises(objstore.WrongType):
            store.create_from_json(Dog, {"born": date}, convert=lambda prop, value: None)
        with pytest.raises(ZeroDivisionError):
            store.create_from_json(Dog, {"born": date}, convert=lambda prop, value: 1 / 0)
    assert len(store.objects(Dog)) == 3


def test_a29_missing_and_null(store):
    with store.write():
        with pytest.raises(objstore.MissingValue) as missing:
            store.create_from_json(Toy, "{}")
        with pytest.raises(objstore.NotNullable) as null:
            store.create_from_json(Toy, '{"name": null}')
    assert missing.value.property_name == null.value.property_name == "name"
    assert len(store.objects(Toy)) == 0


def test_numbers_are_exact(store):
    with store.write():
        dog = store.create_from_json(
            Dog, '{"age": 9223372036854775807, "weight": 0.1, "price": 12345678901234567890.0123456789}'
        )
        assert (dog.age, dog.weight, dog.price) == (2**63 - 1, 0.1, Decimal("12345678901234567890.0123456789"))
        assert store.create_from_json(Dog, '{"weight": 5, "price": 5}').weight == 5.0
        for text in (
            '{"age": 9223372036854775808}',
            '{"weight": 9007199254740993}',
            '{"weight": 1e400}',
            '{"price": 12345678901234567890123456789012345}',
        ):
            with pytest.raises(objstore.OutOfRange) as caught:
                store.create_from_json(Dog, text)
            assert caught.value.class_name == "Dog" and caught.value.position == text.index(":") + 2


def test_where_it_is_wrong(store):
    text = '[\n{"id": 1},\n{"id": 2, "dogs": [{"name": "Rex"}, {"name": "Bello", "age": "x"}]}\n]'
    with store.write():
        with pytest.raises(objstore.WrongType) as caught:
            store.create_all_from_json(Person, text)
        assert "line 3, column 62, at $[1].dogs[1].age: " in str(caught.value)
        assert (caught.value.class_name, caught.value.property_name) == ("Dog", "age")
        # All or nothing, and the write continues.
        assert len(store.objects(Person)) == len(store.objects(Dog)) == 0
        store.create_from_json(Person, {"id": 1})
    assert len(store.objects(Person)) == 1


def test_where_the_value_of_a_hook_does_not_fit(store):
    text = '{"id": 1, "dogs": [{}, {"born": "zero"}]}'
    with store.write():
        with pytest.raises(objstore.WrongType) as caught:
            store.create_from_json(Person, text, convert=lambda prop, value: value + "!")
        assert str(caught.value).startswith(
            "line 1, column 33, at $.dogs[1].born: Dog.born: a datetime is wanted, not 'zero!'"
        )
        assert (caught.value.position, caught.value.property_name) == (text.index('"zero"'), "born")
        # What the function itself raises is its own.
        with pytest.raises(ZeroDivisionError):
            store.create_from_json(Person, text, convert=lambda prop, value: 1 / 0)
        assert len(store.objects(Person)) == 0


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('["a", "b"]', "$[0]: Person.id"),
        ("[1, 5]", "$[1]: Person.name"),
        ('[1, "a", [{"name": "x"}, ["y", "z"]]]', "$[2][1][1]: Dog.age"),
        ('{"id": 1, "dogs": [{"extra": [1, 1e400]}]}', "$.dogs[0].extra[1]: Dog.extra"),
        ('{"id": 1, "dogs": [{"extra": {"a": [1, {"b": 1e400}]}}]}', "$.dogs[0].extra.a[1].b: Dog.extra"),
        ('{"id": 1, "dogs": [{"seen": [1]}]}', "$.dogs[0].seen[0]: "),
        ('{"id": 1, "name": "a", "name": "b"}', "$.name: Person.name"),
        ('{"id": 1, "dogs": [{"age": 1, "age": 2}]}', "$.dogs[0].age: Dog.age"),
    ],
)
def test_the_place_by_position_and_in_any_values(store, text, place):
    with store.write():
        with pytest.raises(objstore.Error) as caught:
            store.create_from_json(Person, text)
        assert f", at {place}" in str(caught.value)
        at = str(caught.value).split(", at ")[0].removeprefix("line 1, column ")
        assert caught.value.position == int(at) - 1
        # What is there is what is wrong.
        assert text[int(at) - 1 :].startswith(('"', "1e400", "5", "1", "2"))


def test_a108_importing_twice(store):
    rows = [{"id": i, "name": f"person {i}"} for i in range(5000)]
    with store.write():
        assert store.create_all_from_json(Person, json.dumps(rows)) == 5000
    with store.write():
        with pytest.raises(objstore.DuplicateKey):
            store.create_all_from_json(Person, rows)
    modified = []
    token = store.objects(Person).observe(lambda change: modified.append(change.modification_count))
    store.deliver()
    modified.clear()

    def written():
        store.checkpoint()
        statistics = store.statistics()
        return statistics.log_bytes_written + statistics.file_bytes_written

    def import_all(update):
        before = written()
        with store.write():
            assert store.create_all_from_json(Person, json.dumps(rows), update) == 5000
        store.deliver()
        return written() - before

    unchanged = import_all("modified")
    assert modified == []
    for row in rows[::100]:
        row["name"] += "!"
    import_all("modified")
    assert modified == [50]
    everything = import_all("all")
    assert modified == [50, 5000] and everything > 2 * unchanged, (everything, unchanged)
    assert len(store.objects(Person)) == 5000
    token.close()


def test_a_stream_longer_than_its_pieces(store):
    class Endless(io.RawIOBase):
        """An array of n objects that is never in memory."""

        def __init__(self, count):
            self.rows = (
                f'{"," if i else "["}{{"name": "{"é" * (i % 300)}", "age": {i}}}'.encode() for i in range(count)
            )
            self.rest, self.ended = b"", False

        def read(self, size=-1):
            while len(self.rest) < size and not self.ended:
                row = next(self.rows, None)
                self.ended = row is None
                self.rest += row or b"]"
            piece, self.rest = self.rest[:size], self.rest[size:]
            return piece

    with store.write():
        assert store.create_all_from_json(Frog, Endless(3000)) == 3000
    assert [(len(f.name), f.age) for f in store.objects(Frog)] == [(i % 300, i) for i in range(3000)]

    class Broken(io.RawIOBase):
        def read(self, size=-1):
            raise OSError("gone")

    with store.write(), pytest.raises(OSError, match="gone"):
        store.create_all_from_json(Frog, Broken())


@pytest.mark.parametrize("data", [float("nan"), 5, None, (1,), Toy, io.StringIO])
def test_what_is_no_json_at_all(store, data):
    with store.write():
        for create in (store.create_from_json, store.create_all_from_json):
            with pytest.raises(objstore.InvalidArgument) as caught:
                create(Frog, data)
            assert (
                str(caught.value)
                == f"JSON is a str, bytes, a file, a path, a dict or a list, not {data!r} ({type(data).__name__})"
            )
    assert len(store.objects(Frog)) == 0


@pytest.mark.parametrize("piece", [5, None, [], {"name": "x"}])
def test_a_file_that_gives_no_text(store, piece):
    class Odd:
        def read(self, *size):
            return piece

    with store.write():
        for create in (store.create_from_json, store.create_all_from_json):
            with pytest.raises(
                objstore.InvalidArgument, match=r"read\(\) of a JSON file returns a str or bytes, not"
            ) as caught:
                create(Frog, Odd())
            assert str(caught.value).endswith(f"({type(piece).__name__})")


def test_numbers_that_are_none_in_a_dict(store):
    """JSON has none of them; a parser of Python gives them nevertheless."""
    given = {"weight": float("nan")}
    with store.write():
        with pytest.raises(
            objstore.InvalidArgument, match="the dict is no JSON: .*float.*; relaxed=True takes NaN and the infinities"
        ):
            store.create_from_json(Dog, given)
        assert math.isnan(store.create_from_json(Dog, given, relaxed=True).weight)
        assert store.create_all_from_json(Dog, [{"weight": float("-inf")}], relaxed=True) == 1
