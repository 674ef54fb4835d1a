"""to_json() and to_dict() of unmanaged objects: what the library says of the same objects when they are added."""

import copy
import enum
import itertools
import json
import pathlib
import pickle
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

import objstore
from objstore import Counter, EmbeddedModel, Float32, Index, Model, ObjectId, field


class Mood(enum.IntEnum):
    CALM = 1
    WILD = 2


class Room(EmbeddedModel):
    name: str = ""
    inner: "Room | None" = None
    guest: "Dog | None" = None


class Dog(Model):
    id: int = field(primary_key=True)
    name: str = ""
    friend: "Dog | None" = None
    friends: "list[Dog]"


class Cat(Model):
    """Without a primary key."""

    name: str = ""
    friend: "Cat | None" = None


class Reading(Model):
    sensor: str
    time: int
    __indexes__ = [Index("sensor", "time", primary_key=True)]


class Numbered(Model):
    id: int = field(primary_key=True, generated=True)
    name: str = ""
    following: "Numbered | None" = None


class Everything(Model):
    flag: bool = True
    number: int = -(2**63)
    real: float = 1e300
    single: Float32 = 0.1
    amount: Decimal = Decimal("1.50")
    text: str = 'é"\\\n\x01\x7f\u2028/'
    data: bytes = b"\0\xff"
    when: datetime = datetime(1969, 5, 4, 3, 2, 1, 500, tzinfo=timezone.utc)
    oid: ObjectId = ObjectId(bytes(range(12)))
    uid: uuid.UUID = uuid.UUID(int=7)
    mood: Mood = Mood.WILD
    count: Counter = Counter(4)
    nothing: str | None = None
    renamed: int = field(default=5, stored_as="other")
    room: Room | None = None
    rooms: list[Room]
    suites: dict[str, Room | None]
    dog: Dog | None = None
    pack: list[Dog]
    crew: set[Dog]
    cages: dict[str, Dog | None]
    reading: Reading | None = None
    extra: Any = None
    things: list[Any]
    bag: set[Any]
    notes: dict[str, Any]
    texts: set[str]
    reals: list[float | None]
    moods: set[Mood]
    numbers: dict[int, Decimal]
    by_mood: dict[Mood, bytes]
    by_id: dict[uuid.UUID, datetime]


MODELS: list[Any] = [Everything, Room, Dog, Cat, Reading, Numbered]


@pytest.fixture
def store(path: pathlib.Path) -> Iterator[objstore.Store]:
    with objstore.open(path, models=MODELS) as made:
        yield made


def dogs() -> list[Dog]:
    """Three in a circle."""
    found = [Dog(id=i, name=f"dog {i}") for i in range(3)]
    for dog, following in zip(found, found[1:] + found[:1]):
        dog.friend = following
        dog.friends = [dog, following]
    return found


def everything() -> Everything:
    first, second, third = dogs()
    document = {
        "z": [1, 2.0, 1e20, None, True, Decimal("7E+40"), b"x"],
        "a": {"$oid": "x", "$$ref": 1, "$other": 2, "": []},
        "é": first,
        "e": {},
    }
    return Everything(
        room=Room(name="a", inner=Room(name="b", guest=first)),
        rooms=[Room(), Room(guest=second)],
        suites={"b": Room(name="s"), "a": None},
        dog=first,
        pack=[second, first, second],
        crew={third},
        cages={"y": third, "": None},
        reading=Reading(sensor="n", time=3),
        extra=document,
        things=[first, [second, {"k": third}], document, Mood.WILD],
        bag={None, True, 2, 1.5, "b", "a", b"aa", Decimal("0.5")},
        notes={"$date": third, "b": 1, "a": uuid.UUID(int=1)},
        texts={"b", "a", "é", "\U0001f600", "\uffff"},
        reals=[0.1, None, -0.0, 3.0],
        moods={Mood.WILD, Mood.CALM},
        numbers={10: Decimal("1E-6176"), -2: Decimal(1)},
        by_mood={Mood.WILD: b"", Mood.CALM: b"1"},
        by_id={
            uuid.UUID(int=2): datetime(2026, 1, 1, tzinfo=timezone.utc),
            uuid.UUID(int=1): datetime(9999, 12, 31, 23, tzinfo=timezone.utc),
        },
    )


OPTIONS = [
    dict(zip(("pretty", "extended", "nan_as_null"), flags)) for flags in itertools.product((False, True), repeat=3)
]


@pytest.mark.parametrize("depth", [0, 1, 2, 100])
def test_every_kind_of_property(store: objstore.Store, depth: int) -> None:
    obj = everything()
    texts = [obj.to_json(depth, **options) for options in OPTIONS]
    loose = obj.to_dict(depth)
    with store.write():
        store.add(obj)
        assert obj.to_dict(depth) == loose
    assert texts == [obj.to_json(depth, **options) for options in OPTIONS]
    assert obj.to_dict(depth) == loose == obj.freeze().to_dict(depth)
    assert list(loose) == list(json.loads(texts[0])) == [p.name for p in objstore.fields(Everything)]
    json.loads(texts[0])


def test_plain_values() -> None:
    obj = everything().to_dict(0)
    assert (
        obj["when"] == Everything().when
        and obj["mood"] is Mood.WILD
        and obj["count"] == 4
        and type(obj["count"]) is int
    )
    assert obj["texts"] == ["a", "b", "é", "\uffff", "\U0001f600"] and obj["numbers"] == {
        -2: Decimal(1),
        10: Decimal("1E-6176"),
    }
    assert list(obj["numbers"]) == [-2, 10] and type(obj["extra"]) is dict
    assert (obj["dog"], obj["pack"], obj["reading"]) == (
        0,
        [1, 0, 1],
        {"$ref": "Reading", "$id": {"sensor": "n", "time": 3}},
    )
    assert obj["room"]["inner"] == {"name": "b", "inner": None, "guest": 0}


def test_circles(store: objstore.Store) -> None:
    first = dogs()[0]
    text = first.to_json(depth=100)
    assert json.loads(text)["friend"]["friend"]["friend"] == 0
    with store.write():
        store.add(first)
    assert first.to_json(depth=100) == text


def test_without_a_key(store: objstore.Store) -> None:
    """In a store an object has a number at least; before there is none."""
    cat = Cat(name="Tom", friend=Cat(name="Kit"))
    assert cat.friend is not None
    cat.friend.friend = cat
    assert cat.to_dict() == {"name": "Tom", "friend": {"name": "Kit", "friend": {"$ref": "Cat", "$id": None}}}
    assert json.loads(cat.to_json()) == cat.to_dict()
    with store.write():
        managed = store.add(Cat(name="Ann"))
        cat.friend = managed
    assert cat.to_dict(0)["friend"] == {"$ref": "Cat", "$id": managed._o_key}
    assert json.loads(cat.to_json())["friend"] == {"name": "Ann", "friend": None}


def test_a_number_that_is_still_to_come(store: objstore.Store) -> None:
    """It is not None, which would be refused: what is written describes another new object."""
    obj = Numbered(name="a", following=Numbered(name="b"))
    assert obj.to_dict() == {"name": "a", "following": {"name": "b", "following": None}}
    assert (
        obj.to_json() == '{"name":"a","following":{"name":"b","following":null}}'
        and Numbered(id=3).to_dict()["id"] == 3
    )
    assert obj.to_dict(0)["following"] == {"$ref": "Numbered", "$id": None}
    with store.write():
        made = store.create(Numbered, obj.to_dict())
        again = store.create_from_json(Numbered, obj.to_json())
    assert (
        made.to_dict()["following"]["name"] == "b"
        and len({made.id, made.following.id, again.id, again.following.id}) == 4
    )


def test_same_errors(store: objstore.Store) -> None:
    for values in (
        {"real": float("nan")},
        {"reals": [1.0, float("-inf")]},
        {"extra": {"a": [float("inf")]}},
        {"amount": Decimal("NaN")},
    ):
        obj = Everything(**values)  # type: ignore[arg-type]
        with pytest.raises(objstore.OutOfRange) as loose:
            obj.to_json()
        texts = [obj.to_json(**options) for options in OPTIONS if options["extended"] or options["nan_as_null"]]
        with store.write():
            store.add(obj)
        with pytest.raises(objstore.OutOfRange) as managed:
            obj.to_json()
        assert str(loose.value) == str(managed.value)
        assert (loose.value.class_name, loose.value.property_name) == (
            managed.value.class_name,
            managed.value.property_name,
        )
        assert texts == [obj.to_json(**options) for options in OPTIONS if options["extended"] or options["nan_as_null"]]
    for depth in (-1, 101):
        with pytest.raises(objstore.OutOfRange, match=str(depth)):
            Dog(id=1).to_json(depth)
        with pytest.raises(objstore.OutOfRange, match=str(depth)):
            Dog(id=1).to_dict(depth)
    wrong = Everything()
    wrong.reals.append("x")  # type: ignore[arg-type]
    with pytest.raises(objstore.WrongType, match="an element of Everything.reals"):
        wrong.to_json()
    with pytest.raises(objstore.InvalidText, match="Dog.name"):
        Dog(id=1, name="\ud800").to_json()


def test_too_deep() -> None:
    room = Room()
    for _ in range(199):
        room = Room(inner=room)
    assert Everything(room=Room()).to_json().count('"inner"') == 1
    assert room.to_json().count("inner") == 200
    with pytest.raises(objstore.OutOfRange, match="more than 200 objects inside each other"):
        Room(inner=room).to_json()


def test_there_and_back(store: objstore.Store) -> None:
    obj = everything()
    obj.things, obj.extra, obj.notes = [], None, {}  # where a number is a number
    text = obj.to_json(0, extended=True)
    with store.write():
        store.add_all(dogs())
        store.create_all(Reading, [["n", 3]])
        made = store.create_from_json(Everything, text, extended=True)
    assert made.detach().to_json(0, extended=True) == text


class Sets(Model):
    reals: set[float | None]
    singles: set[Float32]
    amounts: set[Decimal]
    cats: set[Cat]
    bag: set[Any]


NAN = float("nan")


@pytest.mark.parametrize("turned", [False, True])
def test_sets_have_the_order_of_a_store(path: pathlib.Path, turned: bool) -> None:
    """What is equal in it, but of another kind, and NaN, are where the library has them; a builtin set has them as
    they came."""

    def given(*values: Any) -> set[Any]:
        return set(values[::-1] if turned else values)

    with objstore.open(path, models=[Sets, Cat, Dog, Room]) as store:
        with store.write():
            cats = [store.add(Cat(name=name)) for name in "abc"]
            dogs = [store.add(Dog(id=i)) for i in (2, 1)]
        obj = Sets(
            reals=given(NAN, None, 1.5, float("inf"), -2.0),
            singles=given(NAN, 1.5, -1.0),
            cats=given(*cats),
            amounts=given(Decimal("NaN"), Decimal("Infinity"), Decimal(-1)),
            bag=given(b"", "", NAN, Decimal("NaN"), float("inf"), 7, "a", b"a", None, True, *cats, *dogs),
        )
        loose, text = obj.to_dict(0), obj.to_json(0, extended=True)
        shown = json.dumps(obj.bag - {*cats, *dogs}, default=objstore.json_default)
        with store.write():
            store.add(obj)
        assert repr(loose) == repr(obj.to_dict(0)) and text == obj.to_json(0, extended=True)
        assert json.dumps(obj.reals, default=objstore.json_default) == "[null, -2.0, 1.5, Infinity, NaN]"
        assert shown == '[null, true, 7, Infinity, NaN, "NaN", "", "", "a", "YQ=="]'


def test_what_has_no_hash_is_in_no_set(path: pathlib.Path) -> None:
    """But JSON puts it into one."""
    bad = Decimal("sNaN")
    with objstore.open(path, models=[Sets, Cat]) as store, store.write():
        obj = store.create(Sets, {})
        for name in ("amounts", "bag"):
            live, loose = getattr(obj, name), Cat(name="loose")
            for put in (
                lambda: live.add(bad),
                lambda: live.update([bad]),
                lambda: live.symmetric_difference_update([bad]),
                lambda: setattr(obj, name, [bad]),
                lambda: Sets(**{name: [bad]}),
                lambda: store.create(Sets, {name: [1, bad]}),
                lambda: store.create_all(Sets, [{name: [bad]}]),
                lambda: store.objects(Sets).update(**{name: [bad]}),
                lambda: setattr(obj, name, [loose, bad] if name == "bag" else [bad]),
            ):
                with pytest.raises(
                    objstore.OutOfRange, match=rf"an element of Sets\.{name}: Decimal\('sNaN'\) has no hash"
                ) as caught:
                    put()
                assert (caught.value.class_name, caught.value.property_name) == ("Sets", name)
            assert len(live) == 0
        text = '{"amounts": [{"$numberDecimal": "sNaN"}], "bag": [1, {"$numberDecimal": "sNaN"}]}'
        there = store.create_from_json(Sets, text, extended=True)
        assert repr(there.to_dict()["bag"]) == "[1, Decimal('sNaN')]" and list(map(repr, there.amounts)) == [
            "Decimal('sNaN')"
        ]
        assert bad in there.bag and json.dumps(there.bag, default=objstore.json_default) == '[1, "sNaN"]'
        for name in ("amounts", "bag"):
            live = getattr(there, name)
            for take in (
                live.copy,
                live.detach,
                there.detach,
                lambda: copy.deepcopy(live),
                lambda: pickle.dumps(live),
                lambda: live | {1},
            ):
                with pytest.raises(
                    objstore.OutOfRange, match=r"an element of Sets\.(amounts|bag): Decimal\('sNaN'\) has no hash"
                ):
                    take()
            live.remove(bad)
        assert there.amounts.copy() == set() and there.detach().bag == {1}
