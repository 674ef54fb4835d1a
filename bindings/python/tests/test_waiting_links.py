"""Values that name objects by their primary keys, also such as come later in the same call."""

import enum
import pathlib
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import objstore
from objstore import EmbeddedModel, Index, Model, field


class Note(EmbeddedModel):
    text: str = ""
    about: "Dog | None" = None


class Reading(Model):
    sensor: str
    time: int
    value: float = 0.0
    following: "Reading | None" = None
    __indexes__ = [Index("sensor", "time", primary_key=True)]


class Dog(Model):
    id: int = field(primary_key=True)
    name: str = ""
    serial: uuid.UUID = field(default_factory=uuid.uuid4)
    friend: "Dog | None" = None
    pack: "list[Dog]"
    crew: "set[Dog]"
    cages: "dict[str, Dog | None]"
    note: Note | None = None
    tag: "Tag | None" = None
    reading: Reading | None = None


class Tag(Model):
    """Without a primary key."""

    text: str = ""


@pytest.fixture
def store(path: pathlib.Path) -> Iterator[objstore.Store]:
    with objstore.open(path, models=[Dog, Note, Tag, Reading]) as made:
        yield made
        made.verify()


def dog(store: objstore.Store, id: int) -> Dog:
    found = store.get(Dog, id)
    assert found is not None
    return found


ROWS: list[Any] = [
    {"id": 1, "friend": 2, "pack": [3, 1, 2], "name": "Rex"},
    {"id": 2, "friend": {"$ref": "Dog", "$id": 3}, "crew": {1, 3}},
    {"id": 3, "cages": {"a": 1, "b": None}, "note": {"about": 4}, "pack": [{"id": 5, "friend": 4}, 1]},
    [4, "Last"],
]


@pytest.mark.parametrize("update", ["error", "modified", "all"])
def test_create_all(store: objstore.Store, update: Any) -> None:
    with store.write():
        counts = store.create_all(Dog, ROWS, update)
    assert counts.created == 4 and len(store.objects(Dog)) == 5
    first, second, third, last = (dog(store, i) for i in (1, 2, 3, 4))
    assert first.friend == second and list(first.pack) == [third, first, second]
    assert second.friend == third and set(second.crew) == {first, third}
    assert dict(third.cages) == {"a": first, "b": None} and third.note is not None and third.note.about == last
    assert [d.id for d in third.pack] == [5, 1] and third.pack[0].friend == last


def test_what_is_there_already(store: objstore.Store) -> None:
    with store.write():
        store.create_all(Dog, ROWS)
    versions = store.refresh()
    with store.write():
        assert store.create_all(Dog, ROWS, "modified") == (0, 0, 4), versions
        assert store.create_all(Dog, [{"id": 1, "friend": 4}, {"id": 2}], "modified") == (0, 1, 1)
        assert store.create_all(Dog, [{"id": 9, "friend": 9}, {"id": 8, "friend": 9}]).created == 2
    assert dog(store, 1).friend == dog(store, 4) and dog(store, 8).friend == dog(store, 9).friend == dog(store, 9)


def test_create(store: objstore.Store) -> None:
    with store.write():
        store.create(Reading, {"sensor": "n", "time": 1})
        first = store.create(
            Dog, {"id": 1, "friend": 2, "pack": [{"id": 2, "friend": 1}], "reading": {"sensor": "n", "time": 1}}
        )
        assert first.friend == dog(store, 2) and dog(store, 2).friend == first and first.reading is not None
        by = store.create_all(Reading, [["a", 1, 0.0, {"sensor": "a", "time": 2}], ["a", 2]])
        assert by.created == 2
        store.create_all(Dog, [{"id": 7, "reading": {"sensor": "new", "time": 1}}])
        assert store.get(Reading, ("new", 1)) is not None  # no object had it: it describes one
        following = store.get(Reading, ("a", 2))
        assert (
            following is not None and store.objects(Reading).where(Reading.following == following).first() is not None
        )


@pytest.mark.parametrize(
    "row, message",
    [
        ({"id": 2, "friend": 77}, "77"),
        ({"id": 2, "pack": [1, 77]}, "77"),
        ({"id": 2, "note": {"about": 77}}, "77"),
        ({"id": 2, "friend": {"$ref": "Dog", "$id": 77}}, "77"),
    ],
)
def test_what_does_not_come(store: objstore.Store, row: Any, message: str) -> None:
    with store.write():
        with pytest.raises(objstore.NoSuchObject, match=message) as caught:
            store.create_all(Dog, [{"id": 1}, row, {"id": 3, "friend": 1}])
        assert caught.value.position == 1 and not store.objects(Dog)
        with pytest.raises(objstore.NoSuchObject, match="there is no Dog with id = (1|77)"):
            store.create(Dog, row)
        assert not store.objects(Dog)


@pytest.mark.parametrize("value", ["text", 1.5, True, b"x"])
def test_what_is_no_key(store: objstore.Store, value: Any) -> None:
    with store.write():
        for given in ({"friend": value}, {"pack": [value]}, {"cages": {"a": value}}):
            with pytest.raises(objstore.WrongType, match="Dog"):
                store.create_all(Dog, [{"id": 1} | given])
        with pytest.raises(objstore.WrongType, match="Tag"):
            store.create(Dog, {"id": 1, "tag": value})
        with pytest.raises(objstore.WrongType, match="Dog.friend"):
            store.create(Dog, {"id": 5}).friend = 5  # type: ignore[assignment]  # where checkers are heard, objects are


def test_factories_are_called_once_for_each(store: objstore.Store) -> None:
    with store.write():
        store.create_all(Dog, ROWS, "modified")
        serials = {d.id: d.serial for d in store.objects(Dog)}
        store.create_all(Dog, ROWS, "modified")
    assert {d.id: d.serial for d in store.objects(Dog)} == serials and len(set(serials.values())) == 5


def test_dicts_come_back(store: objstore.Store) -> None:
    with store.write():
        store.create_all(Dog, ROWS)
    dicts = [d.to_dict(0) for d in store.objects(Dog)]
    with objstore.open(memory="", models=[Dog, Note, Tag, Reading]) as other, other.write():
        other.create_all(Dog, dicts)
        assert [d.to_dict(0) for d in other.objects(Dog)] == dicts


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Box(Model):
    """Found by a member of an enumeration, which has a `name` of its own."""

    size: Size = field(primary_key=True)
    name: str = ""
    inside: "Box | None" = None


class Plain(Model):
    name: str = ""


class Shelf(Model):
    id: int = field(primary_key=True)
    box: Box | None = None
    boxes: list[Box]
    plain: Plain | None = None


def test_members_of_enumerations_are_keys_and_describe_nothing() -> None:
    with objstore.open(memory="", models=[Box, Shelf, Plain]) as store, store.write():
        store.create_all(Box, [{"size": Size.LARGE, "inside": Size.SMALL}, {"size": Size.SMALL}])
        shelf = store.create(Shelf, {"id": 1, "box": Size.LARGE, "boxes": [Size.SMALL, Size.LARGE]})
        assert shelf.box is not None and shelf.box.inside is not None and shelf.box.inside.size is Size.SMALL
        assert [box.size for box in shelf.boxes] == [Size.SMALL, Size.LARGE]
        rows = [shelf.to_dict(0)], [box.to_dict(0) for box in store.objects(Box)]
        with objstore.open(memory="other", models=[Box, Shelf, Plain]) as other, other.write():
            other.create_all(Box, rows[1])
            other.create_all(Shelf, rows[0])
            assert [found.to_dict(0) for found in other.objects(Shelf)] == rows[0]
        for made in (
            lambda: store.create(Shelf, {"id": 2, "plain": Size.SMALL}),
            lambda: Shelf.from_values({"id": 2, "plain": Size.SMALL}),
        ):
            with pytest.raises(
                objstore.WrongType,
                match="Shelf.plain: an object of class Plain, or values for one, is wanted, not <Size.SMALL",
            ):
                made()
        assert len(store.objects(Plain)) == 0


@pytest.mark.parametrize(
    "reference",
    [
        {"$ref": 5, "$id": 1},
        {"$ref": "Dog", "$id": 1.5},
        {"$ref": "Dog", "$id": {"id": []}},
        {"$ref": "Dog", "$id": {1: 1}},
    ],
)
def test_what_is_no_reference(store: objstore.Store, reference: Any) -> None:
    with store.write():
        for values in ({"id": 1, "friend": reference}, {"id": 1, "pack": [reference]}):
            with pytest.raises(objstore.WrongType) as caught:
                store.create(Dog, values)
            assert str(reference) in str(
                caught.value
            ) and "an object of class Dog, or values for one, is wanted" in str(caught.value)
            assert (caught.value.class_name, caught.value.property_name) == (
                "Dog",
                "friend" if "friend" in values else "pack",
            )
        assert len(store.objects(Dog)) == 0
