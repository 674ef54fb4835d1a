"""What a migration had before is given to what it makes: by every way that takes an object."""

import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import objstore
from objstore import EmbeddedModel, Model, field


def before() -> Any:
    class Home(EmbeddedModel):
        city: str = ""
        owner: "Person | None" = None

    class Person(Model):
        name: str = field(primary_key=True)
        friend: "Person | None" = None
        friends: "list[Person]"
        home: Home | None = None
        homes: list[Home]

    return Person, Home


def after() -> Any:
    class Home(EmbeddedModel):
        town: str = field(default="", formerly="city")
        owner: "Person | None" = None

    class Person(Model):
        __stored_as__ = "Person"
        name: str = field(primary_key=True)
        friend: "Person | None" = None
        friends: "list[Person]"
        known: "set[Person]"
        by_name: "dict[str, Person | None]"
        home: Home | None = None
        homes: list[Home]
        moves: list[Home]
        places: dict[str, Home | None]
        extra: Any = None
        extras: list[Any]

    class Note(Model):
        id: int = field(primary_key=True)
        about: Person | None = None
        people: list[Person]
        known: set[Person]
        home: Home | None = None
        homes: list[Home]
        extra: Any = None

    return Person, Home, Note


def migrated(path: pathlib.Path, body: Callable[..., object]) -> Any:
    """body(old, new, store, Note) of the person who has a friend; what that is in the end, in a store that is read
    again."""
    Person, Home = before()
    with objstore.open(path, models=[Person, Home]) as store, store.write():
        ann = Person(name="Ann")
        bob = Person(
            name="Bob", friend=ann, friends=[ann], home=Home(city="Rome", owner=ann), homes=[Home(city="Bern")]
        )
        store.add(bob)
    Person, Home, Note = after()

    def migrate(migration: objstore.Migration, _: int) -> None:
        for old, new in migration.objects("Person"):
            if old.friend is not None:
                body(old, new, migration.store, Note)

    with objstore.open(path, models=[Person, Home, Note], schema_version=2, migrate=migrate) as store:
        store.verify()
        assert store.objects(Person).count() == 2  # none was made of an old one
    store = objstore.open(path, models=[Person, Home, Note], schema_version=2)
    return store, store.get(Person, "Ann"), store.get(Person, "Bob"), Note


LISTS: dict[str, Callable[[Any, Any], object]] = {
    "=": lambda old, new: setattr(new, "friends", [old.friend]),
    "= whole": lambda old, new: setattr(new, "friends", old.friends),
    "append": lambda old, new: (new.friends.clear(), new.friends.append(old.friend)),
    "extend": lambda old, new: (new.friends.clear(), new.friends.extend(old.friends)),
    "+=": lambda old, new: (new.friends.clear(), new.friends.__iadd__([old.friend])),
    "insert": lambda old, new: (new.friends.clear(), new.friends.insert(0, old.friend)),
    "[0] =": lambda old, new: new.friends.__setitem__(0, old.friend),
    "[:] =": lambda old, new: new.friends.__setitem__(slice(None), [old.friend]),
}
SETS: dict[str, Callable[[Any, Any], object]] = {
    "=": lambda old, new: setattr(new, "known", {old.friend}),
    "= whole": lambda old, new: setattr(new, "known", old.friends),
    "add": lambda old, new: new.known.add(old.friend),
    "update": lambda old, new: new.known.update(old.friends),
    "|=": lambda old, new: new.known.__ior__({old.friend}),
    "^=": lambda old, new: new.known.__ixor__({old.friend}),
}
DICTS: dict[str, Callable[[Any, Any], object]] = {
    "=": lambda old, new: setattr(new, "by_name", {"a": old.friend}),
    "[] =": lambda old, new: new.by_name.__setitem__("a", old.friend),
    "update": lambda old, new: new.by_name.update(a=old.friend),
    "|=": lambda old, new: new.by_name.__ior__({"a": old.friend}),
    "setdefault": lambda old, new: new.by_name.setdefault("a", old.friend),
}
EMBEDDED: dict[str, Callable[[Any, Any], object]] = {
    "=": lambda old, new: setattr(new, "moves", [old.home]),
    "append": lambda old, new: new.moves.append(old.home),
    "insert": lambda old, new: new.moves.insert(0, old.home),
    "extend": lambda old, new: new.moves.extend([old.home]),
    "[:] =": lambda old, new: new.moves.__setitem__(slice(None), [old.home]),
    "[0] =": lambda old, new: (new.moves.append(old.homes[0]), new.moves.__setitem__(0, old.home)),
    "of a copy": lambda old, new: new.moves.append(old.home.detach(0)),
}
PLACES: dict[str, Callable[[Any, Any], object]] = {
    "=": lambda old, new: setattr(new, "places", {"a": old.home}),
    "[] =": lambda old, new: new.places.__setitem__("a", old.home),
    "update": lambda old, new: new.places.update(a=old.home),
}


@pytest.mark.parametrize("way", LISTS)
def test_into_lists(path: pathlib.Path, way: str) -> None:
    store, ann, bob, _ = migrated(path, lambda old, new, *_: LISTS[way](old, new))
    assert list(bob.friends) == [ann]
    store.close()


@pytest.mark.parametrize("way", SETS)
def test_into_sets(path: pathlib.Path, way: str) -> None:
    store, ann, bob, _ = migrated(path, lambda old, new, *_: SETS[way](old, new))
    assert bob.known == {ann}
    store.close()


@pytest.mark.parametrize("way", DICTS)
def test_into_dicts(path: pathlib.Path, way: str) -> None:
    store, ann, bob, _ = migrated(path, lambda old, new, *_: DICTS[way](old, new))
    assert bob.by_name == {"a": ann}
    store.close()


@pytest.mark.parametrize("way", EMBEDDED)
def test_embedded_into_lists(path: pathlib.Path, way: str) -> None:
    store, ann, bob, _ = migrated(path, lambda old, new, *_: EMBEDDED[way](old, new))
    assert [(home.town, home.owner) for home in bob.moves] == [("Rome", None if way == "of a copy" else ann)]
    assert bob.home.town == "Rome"  # which is another one
    store.close()


@pytest.mark.parametrize("way", PLACES)
def test_embedded_into_dicts(path: pathlib.Path, way: str) -> None:
    store, ann, bob, _ = migrated(path, lambda old, new, *_: PLACES[way](old, new))
    assert {key: (home.town, home.owner) for key, home in bob.places.items()} == {"a": ("Rome", ann)}
    store.close()


def values_of(old: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "about": old,
        "people": [old.friend],
        "known": {old.friend},
        "home": old.home,
        "homes": [old.home, *old.homes],
        "extra": old,
    }


def built(old: Any, Note: Any) -> Any:
    """Of an unmanaged object whose attributes are set, and whose lists are filled."""
    note = Note(id=1)
    note.about, note.home, note.extra = old, old.home, old
    note.people.append(old.friend)
    note.known.add(old.friend)
    note.homes.extend([old.home, *old.homes])
    return note


NEW: dict[str, Callable[[Any, Any, Any], object]] = {
    "create": lambda old, store, Note: store.create(Note, values_of(old)),
    "create_all": lambda old, store, Note: store.create_all(Note, [values_of(old)]),
    "upsert": lambda old, store, Note: store.create(Note, values_of(old), "modified"),
    "add": lambda old, store, Note: store.add(Note(**values_of(old))),
    "add_all": lambda old, store, Note: store.add_all([Note(**values_of(old))]),
    "add built": lambda old, store, Note: store.add(built(old, Note)),
    "add_all built": lambda old, store, Note: store.add_all([built(old, Note)]),
}


@pytest.mark.parametrize("way", NEW)
def test_to_other_objects(path: pathlib.Path, way: str) -> None:
    store, ann, bob, Note = migrated(path, lambda old, _, store, Note: NEW[way](old, store, Note))
    note = store.get(Note, 1)
    assert (note.about, list(note.people), note.known, note.extra) == (bob, [ann], {ann}, bob)
    assert (note.home.town, note.home.owner) == ("Rome", ann)
    assert [(home.town, home.owner) for home in note.homes] == [("Rome", ann), ("Bern", None)]
    store.close()


def test_many_without_anything_embedded(path: pathlib.Path) -> None:
    """Rows that are inserted as columns."""

    def body(old: Any, new: Any, store: Any, Note: Any) -> None:
        assert (
            store.create_all(
                Note, [{"id": 1, "about": old, "people": [old.friend]}, {"id": 2, "about": new, "people": []}]
            ).created
            == 2
        )

    store, ann, bob, Note = migrated(path, body)
    assert [(note.about, list(note.people)) for note in store.objects(Note)] == [(bob, [ann]), (bob, [])]
    store.close()


def test_they_are_found(path: pathlib.Path) -> None:
    def body(old: Any, new: Any, store: Any, Note: Any) -> None:
        assert old == new and old.friend == new.friend
        assert old.friend in new.friends and old not in new.friends
        assert (new.friends.index(old.friend), new.friends.count(old.friend)) == (0, 1)
        new.known.add(old.friend)
        assert old.friend in new.known and new.known == {old.friend}
        new.known.discard(old.friend)
        assert not new.known
        note = store.add(Note(id=1, about=new))
        assert list(store.objects(Note).where(Note.about == old)) == [note]
        new.friends.remove(old.friend)
        assert not new.friends

    migrated(path, body)[0].close()


def test_what_is_gone_or_of_another_class(path: pathlib.Path) -> None:
    def body(old: Any, new: Any, store: Any, Note: Any) -> None:
        class Person(Model):
            name: str = ""

        wanted = "an element of Person.friends: an object of class Person is wanted"
        with pytest.raises(
            objstore.WrongType, match=f"^{wanted}, and Person\\(name='x'\\) is of another class of that name$"
        ) as caught:
            new.friends.append(Person(name="x"))
        assert (caught.value.class_name, caught.value.property_name) == ("Person", "friends")
        with pytest.raises(objstore.WrongType, match=f"^{wanted}, not Home"):
            new.friends.append(old.home)
        with pytest.raises(objstore.WrongType, match="^Note.about: an object of class Person is wanted, not Home"):
            Note(id=1, about=old.home)
        note = store.add(Note(id=1))
        store.delete(new.friend)
        with pytest.raises(objstore.NoSuchObject):
            note.about = old.friend
        store.add(type(new)(name="Ann"))

    store, ann, bob, _ = migrated(path, body)
    assert bob.friend is None and not bob.friends
    store.close()


def test_old_objects_are_frozen_and_can_be_frozen(path: pathlib.Path) -> None:
    Person, Home = before()
    with objstore.open(path, models=[Person, Home]) as store, store.write():
        store.add(Person(name="Ada", home=Home(city="Rome")))
    frozen: list[Any] = []

    def migrate(migration: Any, version: int) -> None:
        for old, _ in migration.objects("Person"):
            assert old.is_frozen
            frozen.append(old.freeze())
            assert (frozen[0].name, frozen[0].home.city) == ("Ada", "Rome")

    with objstore.open(path, models=list(after()), schema_version=2, migrate=migrate):
        pass
    assert len(frozen) == 1
