"""F109: links and embedded objects are given as values that describe them, to one object and to many."""

import pytest

import objstore
from objstore import EmbeddedModel, Model, field


class Address(EmbeddedModel):
    street: str | None = None
    city: str | None = None


class Dog(Model):
    name: str = ""
    age: int = 0
    toy: "Toy | None" = None


class Toy(Model):
    name: str = ""


class Person(Model):
    id: int = field(primary_key=True)
    name: str = ""
    dogs: list[Dog]
    named: dict[str, Dog | None]
    address: Address | None = None
    others: list[Address]


class Club(Model):
    members: list[Person]


@pytest.fixture
def store():
    with objstore.open(memory="", models=[Person, Dog, Toy, Address, Club]) as store:
        yield store


def test_one_object(store):
    with store.write():
        jane = store.add(Person(id=1, name="Jane"))
        jane.address = {"city": "Rome", "street": "Via Appia"}
        assert (jane.address.city, jane.address.street) == ("Rome", "Via Appia")
        jane.address = {"street": "Via Sacra"}  # in full: what is not given is as in a new one
        assert (jane.address.city, jane.address.street) == (None, "Via Sacra") and len(store.objects(Address)) == 1
        jane.address = ["Corso", "Rome"]
        assert (jane.address.street, jane.address.city) == ("Corso", "Rome")
        rex = store.add(Dog(name="Rex"))
        jane.dogs = [rex, {"name": "Bello", "age": 4}, ["Wuff", 5], Dog(name="Ben")]
        assert [(dog.name, dog.age) for dog in jane.dogs] == [("Rex", 0), ("Bello", 4), ("Wuff", 5), ("Ben", 0)]
        rex.toy = {"name": "Ball"}
        assert rex.toy.name == "Ball"
        jane.named = {"a": rex, "b": {"name": "Max"}, "c": None}
        assert jane.named["a"] == rex and jane.named["b"].name == "Max" and jane.named["c"] is None
        jane.others = [{"city": "A"}, {"city": "B"}]
        assert [address.city for address in jane.others] == ["A", "B"]
        club = store.add(Club())
        club.members = [{"id": 1, "name": "Janet"}, {"id": 2, "address": {"city": "Bonn"}}]  # by their keys
        assert jane.name == "Janet" and len(jane.dogs) == 4 and club.members[1].address.city == "Bonn"
        for name, wrong, error in (
            ("address", {"town": "x"}, objstore.NoSuchProperty),
            ("address", {"city": 5}, objstore.WrongType),
            ("address", 5, objstore.WrongType),
            ("dogs", [{"name": "X"}, {"age": "old"}], objstore.WrongType),
            ("dogs", [5], objstore.WrongType),
        ):
            with pytest.raises(error):
                setattr(jane, name, wrong)
        assert jane.address.city == "Rome" and len(jane.dogs) == 4 and not store.objects(Dog).where(Dog.name == "X")
    with pytest.raises(objstore.NotInWrite):
        jane.address = {"city": "X"}
    assert store.verify() is None


def test_many_objects(store):
    with store.write():
        store.add_all([Person(id=i) for i in range(3)])
        people = store.objects(Person)
        assert people.update(address={"city": "Rome"}, name="x") == 3
        assert [(p.address.city, p.name) for p in people] == [("Rome", "x")] * 3 and len(store.objects(Address)) == 3
        club = store.add(Club(members=list(people)[:2]))
        assert club.members.update_objects(others=[{"city": "A"}]) == 2
        assert [len(p.others) for p in people] == [1, 1, 0]
        with pytest.raises(objstore.WrongType):
            people.update(name="y", address={"city": 5})
        assert [(p.address.city, p.name) for p in people] == [("Rome", "x")] * 3
        with pytest.raises(objstore.Embedded):
            people.update(address=Address(city="one of three"))


def test_unmanaged():
    jane = Person(id=1)
    jane.address = {"city": "Rome"}
    jane.dogs = [{"name": "Rex"}, Dog(name="Bello")]
    assert (
        type(jane.address) is Address
        and jane.address.city == "Rome"
        and [dog.name for dog in jane.dogs] == ["Rex", "Bello"]
    )
    with pytest.raises(objstore.NoSuchProperty):
        jane.address = {"town": "Rome"}
