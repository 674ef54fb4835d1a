import codecs
import enum
import gzip
import io
import json
import tempfile
import uuid
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

import objstore
from objstore import Model, field


class Owner(Model):
    id: int = field(primary_key=True)
    dogs: "list[Dog]"


class Dog(Model):
    name: str = ""
    weight: float = 0.0
    born: datetime | None = None
    extra: Any = None
    owner: Owner | None = None


@pytest.fixture
def store(path):
    with objstore.open(path, models=[Owner, Dog]) as store:
        with store.write():
            owner = store.add(Owner(id=7))
            rex = Dog(name='Rex "é"', born=datetime(2026, 11, 22, tzinfo=timezone.utc), extra={"seen": [1, 2.5, None]})
            for dog in (rex, Dog(name="Bello")):
                store.add(dog)
                dog.owner = owner
                owner.dogs.append(dog)
        yield store


REX = {"name": 'Rex "é"', "weight": 0.0, "born": "2026-11-22T00:00:00Z", "extra": {"seen": [1, 2.5, None]}, "owner": 7}
BELLO = {"name": "Bello", "weight": 0.0, "born": None, "extra": None, "owner": 7}


def test_an_object(store):
    owner = store.get(Owner, 7)
    assert json.loads(owner.to_json()) == {"id": 7, "dogs": [REX, BELLO]}
    references = [{"$ref": "Dog", "$id": 0}, {"$ref": "Dog", "$id": 1}]
    assert json.loads(owner.to_json(depth=0)) == {"id": 7, "dogs": references}
    rex = store.objects(Dog)[0]
    # Rex is being written already where his owner's dogs are.
    assert json.loads(rex.to_json(depth=100))["owner"]["dogs"] == [references[0], BELLO | {"owner": 7}]
    assert list(json.loads(rex.to_json())) == ["name", "weight", "born", "extra", "owner"]
    assert json.loads(rex.to_json(depth=0, extended=True))["born"] == {"$date": "2026-11-22T00:00:00Z"}
    assert owner.to_json(depth=0, pretty=True).startswith('{\n  "id": 7,\n')
    for depth in (-1, 101):
        with pytest.raises(objstore.OutOfRange):
            rex.to_json(depth=depth)


class Shelf(Model):
    names: list[str]
    numbers: set[int]
    by_name: dict[str, Dog | None]
    by_number: dict[int, float]
    loose: list[Any]
    mixed: dict[str, Any]
    extra: Any = None


@pytest.mark.parametrize("depth", [0, 1, 2, 100])
def test_collections_as_in_their_object(path, depth):
    with objstore.open(path, models=[Owner, Dog, Shelf]) as store:
        with store.write():
            rex = store.add(Dog(name="Rex"))
            rex.owner = store.add(Owner(id=7))
            rex.owner.dogs = [rex]
            inner = {"a": [1, Decimal("2.50"), {"deep": [rex, None]}], '\u00e9"': b"abc"}
            shelf = store.add(
                Shelf(
                    names=["b", "a"],
                    numbers={3, -1},
                    by_name={"x": rex, "": None},
                    by_number={10: 0.5, -2: 1.0},
                    loose=[1, [rex, []], inner],
                    mixed={"k": inner, "l": [[]]},
                    extra=inner,
                )
            )

        def check(shelf):
            text = json.loads(shelf.to_json(depth=depth))
            for name in ("names", "numbers", "by_name", "by_number", "loose", "mixed", "extra"):
                assert json.loads(getattr(shelf, name).to_json(depth=depth)) == text[name], name
            assert json.loads(shelf.extra["a"].to_json(depth)) == text["extra"]["a"]
            assert json.loads(shelf.extra["a"][2]["deep"].to_json(depth)) == text["extra"]["a"][2]["deep"]
            assert json.loads(shelf.loose[1].to_json(depth)) == text["loose"][1]
            assert json.loads(shelf.mixed["k"]["a"].to_json(depth)) == text["mixed"]["k"]["a"]

        with store.write():
            check(shelf)
        check(shelf)
        check(shelf.freeze())
        assert shelf.by_number.to_json() == '{"-2":1.0,"10":0.5}'
        assert shelf.extra["a"].to_json(0) == '[1,2.50,{"deep":[{"$ref":"Dog","$id":0},null]}]'
        assert shelf.names.to_json(pretty=True) == '[\n  "b",\n  "a"\n]'
        assert shelf.extra["a"].to_json(0, extended=True).startswith('[1,{"$numberDecimal":"2.50"}')
        with pytest.raises(objstore.OutOfRange, match="101"):
            shelf.names.to_json(depth=101)
        gone, nested = shelf.by_number, shelf.loose[1]
        with store.write():
            shelf.by_number = {1: float("nan")}
            with pytest.raises(objstore.OutOfRange, match="Shelf.by_number: JSON has no form for nan"):
                gone.to_json()
            assert gone.to_json(nan_as_null=True) == '{"1":null}'
            shelf.loose.clear()
            with pytest.raises(objstore.NotFound, match=r"Shelf.loose: there is no \[1\]"):
                nested.to_json()
            store.delete(shelf)
        with pytest.raises(objstore.NoSuchObject):
            gone.to_json()


def test_numbers_without_a_form(store):
    dog = store.objects(Dog)[0]
    with store.write():
        dog.weight = float("nan")
        with pytest.raises(objstore.OutOfRange) as caught:
            dog.to_json()
        assert caught.value.property_name == "weight"
        assert json.loads(dog.to_json(nan_as_null=True))["weight"] is None
        assert json.loads(dog.to_json(extended=True))["weight"] == {"$numberDouble": "NaN"}


def test_results(store):
    dogs = store.objects(Dog)
    assert json.loads(dogs.to_json(depth=0)) == [REX, BELLO]
    assert dogs.where(Dog.name == "nobody").to_json() == "[]"
    for file in (io.StringIO(), io.BytesIO()):
        assert dogs.to_json(file, depth=0) is None
        assert json.loads(file.getvalue()) == [REX, BELLO]
    with pytest.raises(objstore.InvalidArgument):
        dogs.to_json("dogs.json")


def test_many_in_pieces(store):
    with store.write():
        store.add_all([Dog(name="é" * (i % 50)) for i in range(5000)])
    sizes = []

    class Pieces(io.StringIO):
        def write(self, text):
            sizes.append(len(text))
            return super().write(text)

    file = Pieces()
    store.objects(Dog).to_json(file, depth=0)
    assert [dog["name"] for dog in json.loads(file.getvalue())][2:] == ["é" * (i % 50) for i in range(5000)]
    assert len(sizes) > 5

    class Full(io.BytesIO):
        def write(self, _):
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        store.objects(Dog).to_json(Full())


def test_arguments_of_the_wrong_type(store):
    for given in (5, None, ["{}"]):
        with pytest.raises(objstore.InvalidArgument, match="JSON is a str or bytes, not "):
            objstore.parse_json(given)
    with store.write(), pytest.raises(objstore.WrongType, match=r"Dog\.weight is of type double, not map$"):
        store.create_from_json(Dog, {"weight": {"a": 1}})
    for depth in (1.5, "1", True):
        with pytest.raises(objstore.InvalidArgument, match="depth is an int, not "):
            store.objects(Dog).to_json(depth=depth)
        with pytest.raises(objstore.InvalidArgument, match="depth is an int, not "):
            Dog().to_json(depth=depth)


def test_parsing():
    value = objstore.parse_json("{ name: 'Rex', n: 18446744073709551616, list: [true, 1, 1.0, null], }")
    assert value == {"name": "Rex", "n": Decimal("18446744073709551616"), "list": [True, 1, 1.0, None]}
    assert [type(v) for v in value["list"]] == [bool, int, float, type(None)]
    assert objstore.parse_json(b" 5 ") == 5 and objstore.parse_json('""') == "" and objstore.parse_json("null") is None
    assert objstore.parse_json('{"$date": "2026-11-22T00:00:00Z"}', extended=True) == datetime(
        2026, 11, 22, tzinfo=timezone.utc
    )
    for text, relaxed, kind, position in [
        ("{name: 1}", False, objstore.InvalidJSON, 1),
        ("[1, x]", True, objstore.InvalidJSON, 4),
        ("", True, objstore.InvalidJSON, 0),
        (b'["\xff"]', True, objstore.InvalidText, 2),
        ('["\ud800"]', True, objstore.InvalidText, 2),
        (r'["\ud800"]', True, objstore.InvalidText, 2),
        ('{"a": 1, "a": 2}', True, objstore.InvalidArgument, 14),
        ("[1e400]", True, objstore.OutOfRange, 1),
    ]:
        with pytest.raises(kind) as caught:
            objstore.parse_json(text, relaxed=relaxed)
        assert caught.value.position == position and f"line 1, column {position + 1}, at $" in str(caught.value)


def test_a_document_there_and_back(store):
    """A109: any JSON in a property of type Any; one nested element is changed, and no other."""
    text = '{"a": [1, 2.5, null, true, {"b": "x"}], "z": {}}'
    dog = store.objects(Dog)[0]
    with store.write():
        dog.extra = objstore.parse_json(text)
    assert json.loads(dog.to_json(depth=0))["extra"] == json.loads(text)
    with store.write():
        dog.extra["a"][4]["b"] = "y"
    changed = json.loads(text)
    changed["a"][4]["b"] = "y"
    assert json.loads(dog.to_json(depth=0))["extra"] == changed


def test_files_for_text_and_for_bytes(store, tmp_path):
    dogs, path = store.objects(Dog), tmp_path / "dogs.json"
    for make in (
        io.StringIO,
        lambda: tempfile.TemporaryFile("w+", encoding="utf-8"),
        lambda: tempfile.NamedTemporaryFile("w+", encoding="utf-8"),
        lambda: tempfile.SpooledTemporaryFile(mode="w+", encoding="utf-8"),
        lambda: tempfile.SpooledTemporaryFile(9, "w+", encoding="utf-8"),
        lambda: codecs.open(path, "w+", "utf-8"),
        io.BytesIO,
        lambda: tempfile.NamedTemporaryFile("w+b"),
        tempfile.SpooledTemporaryFile,
        lambda: open(path, "w+b"),
    ):
        with make() as file:
            assert dogs.to_json(file) is None
            file.seek(0)
            found = file.read()
            assert (found if isinstance(found, str) else found.decode()) == dogs.to_json(), file
    for make, read in (
        (lambda: gzip.open(path, "wt", encoding="utf-8"), gzip.open),
        (lambda: gzip.open(path, "wb"), gzip.open),
        (lambda: codecs.getwriter("utf-8")(open(path, "wb")), open),
        (lambda: codecs.EncodedFile(open(path, "wb"), "utf-8"), open),
    ):
        with make() as file:
            dogs.to_json(file)
        with read(path, "rb") as file:
            assert file.read().decode() == dogs.to_json()


class Hue(enum.Enum):
    RED = "red"


class Size(enum.IntEnum):
    SMALL = 1


class Keys(Model):
    tokens: dict[uuid.UUID, int]
    ids: dict[objstore.ObjectId, Any]
    hues: dict[Hue, uuid.UUID]
    sizes: dict[Size, int]
    numbers: dict[int, Hue]
    texts: dict[str, int]


def test_keys_through_the_json_module():
    """As to_json() writes them."""
    token, id = uuid.UUID(int=7), objstore.ObjectId(bytes(12))
    with objstore.open(memory="", models=[Keys]) as store, store.write():
        keys = store.add(
            Keys(
                tokens={token: 1},
                ids={id: {"in": [token, id]}},
                hues={Hue.RED: token},
                sizes={Size.SMALL: 1},
                numbers={-5: Hue.RED},
                texts={"ü": 1},
            )
        )
        given = {p.name: getattr(keys, p.name) for p in objstore.fields(Keys)}
        assert (
            json.dumps(given, default=objstore.json_default, separators=(",", ":"), ensure_ascii=False)
            == keys.to_json()
        )
        assert json.dumps(keys.ids, default=objstore.json_default) == f'{{"{id}": {{"in": ["{token}", "{id}"]}}}}'
