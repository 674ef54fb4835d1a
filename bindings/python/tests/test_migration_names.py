"""What properties are called in a migration: by the file's names of what was, by the program's of what becomes."""

import pathlib
from typing import Any

import pytest

import objstore
from interrupting import at_every_byte_code
from objstore import EmbeddedModel, Model, field


def before() -> Any:
    class Home(EmbeddedModel):
        city: str = ""
        inner: "Home | None" = None

    class Person(Model):
        id: int = field(primary_key=True)
        first: str = ""
        last: str = ""
        gone: int = 3
        home: Home | None = None
        homes: list[Home]

    return Person, Home


def after() -> Any:
    class Home(EmbeddedModel):
        town: str = field(default="", formerly="city")
        inner: "Home | None" = None

    class Person(Model):
        id: int = field(primary_key=True)
        given: str = field(default="", formerly="first")
        family: str = field(default="", stored_as="last")
        added: int = 0
        home: Home | None = None
        homes: list[Home]

        def shown(self) -> str:
            return self.given

    return Person, Home


@pytest.fixture
def filled(path: pathlib.Path) -> pathlib.Path:
    Person, Home = before()
    with objstore.open(path, models=[Person, Home]) as store, store.write():
        person = Person(id=1, first="Ada", last="Gray", homes=[Home(city="Bern")])
        person.home = Home(city="Rome", inner=Home(city="inside"))
        store.add(person)
    return path


def migrated(path: pathlib.Path, body: Any) -> Any:
    Person, Home = after()
    seen = []

    def migrate(migration: objstore.Migration, _: int) -> None:
        for pair in migration.objects("Person"):
            body(*pair)
            seen.append(pair)

    with objstore.open(path, models=[Person, Home], schema_version=2, migrate=migrate) as store:
        assert len(seen) == 1
        store.verify()
    return Person


def test_each_has_its_own(filled: pathlib.Path) -> None:
    def body(old: Any, new: Any) -> None:
        assert (old.first, old.last, old.gone, old.home.city) == ("Ada", "Gray", 3, "Rome")
        assert old.family == "Gray"  # what the program calls a property that the file calls otherwise
        assert (new.given, new.family, new.added, new.home.town) == ("Ada", "Gray", 0, "Rome")
        new.given, new.family, new.added = old.last, old.first, old.gone

    migrated(filled, body)


@pytest.mark.parametrize(
    "name, message",
    [
        ("first", "Person.first is what the file calls it: here it is Person.given"),
        ("last", "Person.last is what the file calls it: here it is Person.family"),
        ("gone", "Person.gone was in the file, and the program does not have it: it can be read of the old object"),
    ],
)
def test_names_of_the_file_on_the_new_one(filled: pathlib.Path, name: str, message: str) -> None:
    def body(_: Any, new: Any) -> None:
        with pytest.raises(objstore.NoSuchProperty, match=message) as caught:
            getattr(new, name)
        assert (caught.value.class_name, caught.value.property_name) == ("Person", name)
        with pytest.raises(objstore.NoSuchProperty, match=message):
            setattr(new, name, "x")
        assert not hasattr(new, name) and new.shown() == "Ada"

    Person = migrated(filled, body)
    assert not any(hasattr(Person, other) for other in ("first", "last", "gone"))  # as before the migration
    with pytest.raises(AttributeError, match="has no attribute"):
        Person(id=1).first


@pytest.mark.parametrize(
    "name, message",
    [
        ("given", "Person.given is what the program calls it: the file has it as Person.first"),
        ("added", "Person.added is new: the file does not have it"),
    ],
)
def test_names_of_the_program_on_the_old_one(filled: pathlib.Path, name: str, message: str) -> None:
    def body(old: Any, _: Any) -> None:
        with pytest.raises(objstore.NoSuchProperty, match=message):
            getattr(old, name)
        with pytest.raises(objstore.NoSuchProperty, match=message):
            setattr(old, name, "x")
        with pytest.raises(objstore.NotInWrite, match="setting Person.first is not possible: this is how it was"):
            old.first = "x"

    migrated(filled, body)


def test_names_of_embedded_objects(filled: pathlib.Path) -> None:
    def body(old: Any, new: Any) -> None:
        with pytest.raises(objstore.NoSuchProperty, match="here it is Home.town"):
            new.home.city
        with pytest.raises(objstore.NoSuchProperty, match="the file has it as Home.city"):
            old.home.town

    migrated(filled, body)


def test_after_an_exception(filled: pathlib.Path) -> None:
    Person, Home = after()

    def migrate(migration: objstore.Migration, _: int) -> None:
        raise KeyError("no")

    with pytest.raises(KeyError):
        objstore.open(filled, models=[Person, Home], schema_version=2, migrate=migrate)
    assert not hasattr(Person, "first")


def test_no_name_of_the_other_version_stays_in_a_class(filled: pathlib.Path) -> None:
    """Wherever a signal handler raises."""
    Person, Home = after()
    known = dict(vars(Person))

    def fails(migration: objstore.Migration, _: int) -> None:
        assert hasattr(Person, "first")
        raise KeyError  # so that the file stays as it is

    def migrate() -> None:
        with pytest.raises(KeyError):
            objstore.open(filled, models=[Person, Home], schema_version=2, migrate=fails)

    rounds = 0
    for where, raised in at_every_byte_code(migrate, ("absent_names.py", "migration.py"), step=10):
        assert raised is not None and dict(vars(Person)) == known, where
        rounds += 1
    assert rounds > 30


def test_parents(filled: pathlib.Path) -> None:
    def body(old: Any, new: Any) -> None:
        for person in (old, new):
            assert person.home.parent == person and person.home.inner.parent == person.home
            assert person.homes[0].parent == person and person.homes[0].parent.home == person.home
        assert old.home.parent.first == "Ada" and new.home.inner.parent.parent.given == "Ada"
        new.home = old.homes[0]
        assert new.home.parent == new and new.home.town == "Bern" and old.home.parent == old
        assert old.home.city == "Rome"

    migrated(filled, body)
