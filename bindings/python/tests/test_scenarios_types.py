"""The acceptance scenarios of upserts, collections and copies, by their numbers."""

import pytest

import objstore
from objstore import Model, ObjectId, field


class Frog(Model):
    _id: ObjectId = field(primary_key=True, generated=True)
    name: str = ""
    age: int = 0
    species: str | None = None
    owner: str | None = None


class TurtleEnthusiast(Model):
    _id: ObjectId = field(primary_key=True, generated=True)
    name: str | None = None
    age: int = 0


class Dog(Model):
    name: str = ""
    age: int = 0
    citiesVisited: set[str]
    favoriteParksByCity: dict[str, str]


class Person(Model):
    id: int = field(primary_key=True)
    name: str = ""
    dogs: list[Dog]


class WPerson(Model):
    id: ObjectId = field(primary_key=True, generated=True)
    name: str = ""


@pytest.fixture
def store():
    with objstore.open(memory="", models=[Frog, TurtleEnthusiast, Dog, Person, WPerson]) as store:
        yield store


def written(obj, store, body):
    """What an observer of the object hears of writes."""
    heard = []
    with obj.observe(lambda change: heard.append(sorted(change.written(0)) if change.modification_count else [])):
        store.deliver()
        heard.clear()
        with store.write():
            body()
        store.deliver()
    return heard


def test_a33_upsert_of_all(store):
    with store.write():
        kermit = store.add(Frog(name="Kermit", age=1))
        key = kermit._id
        values = {"_id": key, "name": "Wirt", "age": 4, "species": "Greyfrog", "owner": "L'oric"}
        same = store.create(Frog, values, update="all")
    assert same == kermit and len(store.objects(Frog)) == 1
    assert (kermit.name, kermit.age, kermit.species, kermit.owner) == ("Wirt", 4, "Greyfrog", "L'oric")


def test_a34_upsert_reports_what_differs(store):
    with store.write():
        drew = store.add(TurtleEnthusiast(name="Drew", age=25))
    heard = written(
        drew, store, lambda: store.add(TurtleEnthusiast(_id=drew._id, name="Andy", age=25), update="modified")
    )
    assert (drew.name, drew.age) == ("Andy", 25) and heard == [["name"]]
    assert len(store.objects(TurtleEnthusiast)) == 1


def test_a37_same_values(store):
    with store.write():
        joe = store.add(Person(id=1, name="Joe"))
    assert written(joe, store, lambda: store.add(Person(id=1, name="Joe"), update="modified")) == []
    assert written(joe, store, lambda: store.add(Person(id=1, name="Joe"), update="all")) == [["dogs", "name"]]


def test_a39_map(store):
    wolfie = Dog(name="Wolfie", favoriteParksByCity={"New York": "Domino Park"})
    with store.write():
        store.add(wolfie)
        wolfie.favoriteParksByCity["Chicago"] = "Wiggly Field"
        wolfie.favoriteParksByCity.update(Ottawa="Bush Park")
    assert wolfie.favoriteParksByCity == {"New York": "Domino Park", "Chicago": "Wiggly Field", "Ottawa": "Bush Park"}


def test_a40_set(store):
    with store.write():
        maui = store.add(Dog(name="Maui"))
    with store.write():
        maui.citiesVisited.add("New York")
    with store.write():
        maui.citiesVisited.update(["Boston", "Chicago", "New York"])
    assert maui.citiesVisited == {"Boston", "Chicago", "New York"} and len(maui.citiesVisited) == 3


def test_a43_append_several(store):
    with store.write():
        dachary = store.add(Person(id=1, name="Dachary"))
    with store.write():
        dachary.dogs.extend([Dog(name="Ben", age=13), Dog(name="Lita", age=9), Dog(name="Maui", age=1)])
    assert [dog.name for dog in dachary.dogs] == ["Ben", "Lita", "Maui"]
    assert len(store.objects(Dog).where(Dog.name == "Ben")) == 1


def test_a44_generated_id(store):
    with store.write():
        luke = store.add(WPerson(name="Luke"))
    assert store.get(WPerson, luke.id).name == "Luke"
    assert store.get(WPerson, ObjectId()) is None


def test_a85_set_algebra(store):
    with store.write():
        maui = store.add(Dog(name="Maui", citiesVisited={"New York", "Toronto"}))
        lita = store.add(Dog(name="Lita", citiesVisited={"Boston", "New York", "Toronto", "Montreal"}))
    assert not maui.citiesVisited.isdisjoint(lita.citiesVisited)
    assert maui.citiesVisited <= lita.citiesVisited
    with store.write():
        maui.citiesVisited |= {"Boston"}
        assert len(maui.citiesVisited) == 3
        maui.citiesVisited -= {"Boston"}
        assert len(maui.citiesVisited) == 2
        maui.citiesVisited &= {"Boston"}
        assert len(maui.citiesVisited) == 0


def test_a105_handed_out_and_frozen(store):
    with store.write():
        rex = store.add(Dog(name="Rex"))
    frozen = rex.freeze()
    with store.write():
        rex.name = "Max"
    assert rex.name == "Max" and frozen.name == "Rex"
