"""The acceptance scenarios about nested values, embedded objects and copies, by their numbers: one test for each."""

import enum
import uuid
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import Backlinks, Float32, ObjectId, backlinks, field


class DogToy(objstore.Model):
    name: str = ""


class Dog(objstore.Model):
    name: str = ""
    age: int = 0
    color: str = ""
    currentCity: str = ""
    citiesVisited: set[str]
    companion: Any = None
    favoriteToy: DogToy | None = None
    favoriteParksByCity: dict[str, str]


class Address(objstore.EmbeddedModel):
    street: str | None = None
    city: str | None = None
    country: str | None = None
    postalCode: str | None = None


class Person(objstore.Model):
    id: int = field(primary_key=True, default=0)
    name: str = ""
    dogs: list[Dog]
    address: Address | None = None
    dog: Dog | None = None


class Toy2(objstore.Model):
    name: str
    age: int


class Node(objstore.Model):
    name: str = ""
    next: "Node | None" = None


class Frog(objstore.Model):
    _id: ObjectId = field(primary_key=True, generated=True)
    name: str = ""


class Pond(objstore.Model):
    _id: ObjectId = field(primary_key=True, generated=True)
    name: str = ""
    frogsThatLiveHere: list[Frog]


class Repository(objstore.Model):
    ownerAndName: str = ""
    openPullRequestNumbers: set[int]


class EAddress(objstore.EmbeddedModel):
    propertyOwner: "Contact | None" = None
    street: str | None = None


class Contact(objstore.Model):
    _id: ObjectId = field(primary_key=True, generated=True)
    name: str = ""
    address: EAddress | None = None


class Business(objstore.Model):
    _id: ObjectId = field(primary_key=True, generated=True)
    name: str = ""
    addresses: list[EAddress]


class Bowser(objstore.Model):
    name: str = ""
    owners: "Backlinks[Owner]" = backlinks("dog")


class Owner(objstore.Model):
    name: str = ""
    dog: Bowser | None = None


class State(enum.Enum):
    ON = "on"
    OFF = "off"


class AllTypes(objstore.Model):
    flag: bool
    number: int
    single: Float32
    double: float
    text: str
    raw: bytes
    when: datetime
    price: Decimal
    oid: ObjectId
    uid: uuid.UUID
    state: State
    flag_or_none: bool | None = None
    number_or_none: int | None = None
    single_or_none: Float32 | None = None
    double_or_none: float | None = None
    text_or_none: str | None = None
    raw_or_none: bytes | None = None
    when_or_none: datetime | None = None
    price_or_none: Decimal | None = None
    oid_or_none: ObjectId | None = None
    uid_or_none: uuid.UUID | None = None
    state_or_none: State | None = None
    toys: list[DogToy]
    texts: set[str]
    by_name: dict[str, str]
    anything: Any = None
    toy: DogToy | None = None
    address: Address | None = None


MODELS = [
    DogToy,
    Dog,
    Address,
    Person,
    Toy2,
    Node,
    Frog,
    Pond,
    Repository,
    EAddress,
    Contact,
    Business,
    Bowser,
    Owner,
    AllTypes,
]
store = store_of(MODELS)
other = store_of(MODELS, "other.objstore")


def test_a13_a_subset_of_the_classes(path):
    with objstore.open(path, models=[DogToy]) as store, store.write():
        with pytest.raises(objstore.NoSuchClass) as caught:
            store.add(Dog(name="Rex"))
        assert caught.value.class_name == "Dog"
        with pytest.raises(objstore.NoSuchClass):
            store.create(Dog, {"name": "Rex"})
        assert store.add(DogToy(name="Ball")).is_managed and store.objects(DogToy).count() == 1


def test_a17_from_a_dictionary(store):
    loose = Dog.from_values({"name": "Pluto", "age": 3})
    with store.write():
        for dog in (loose, store.create(Dog, {"name": "Pluto", "age": 3})):
            assert (dog.name, dog.age, dog.color, len(dog.citiesVisited), len(dog.favoriteParksByCity)) == (
                "Pluto",
                3,
                "",
                0,
                0,
            )


def test_a18_from_an_array(store):
    with store.write():
        for toy in (Toy2.from_values(["Fido", 5]), store.create(Toy2, ["Fido", 5])):
            assert (toy.name, toy.age) == ("Fido", 5)


def test_a19_arrays_that_do_not_fit(store):
    with store.write():
        for make in (Toy2.from_values, lambda values: store.create(Toy2, values)):
            with pytest.raises(objstore.InvalidArgument, match=r"more values \(3\) than properties \(2\)"):
                make(["Fido", 5, "extra"])
            with pytest.raises(objstore.WrongType) as caught:
                make(["Fido", "five"])
            assert caught.value.property_name == "age"
    assert not store.objects(Toy2)


def test_a20_nested_objects(store):
    dogs = [Dog(name="Buster", age=5), Dog(name="Buddy", age=6)]
    jane = Person.from_values([123, "Jane", dogs])
    with store.write():
        store.add(jane)
        june = store.create(Person, [124, "June", [["Buster", 5], ["Buddy", 6]]])
    for person in (jane, june):
        assert [(d.name, d.age) for d in person.dogs] == [("Buster", 5), ("Buddy", 6)]
    assert store.objects(Dog).count() == 4


def test_a21_from_an_object_with_attributes(store):
    @dataclass
    class Plain:
        name: str
        age: int

    plain = Plain("Rex", 10)
    loose = Dog.from_values(plain)
    with store.write():
        dog = store.create(Dog, plain)
    plain.name = "changed"
    assert (loose.name, loose.age, dog.name, dog.age) == ("Rex", 10, "Rex", 10)


def test_a26_embedded_from_json(store):
    with store.write():
        person = store.create_from_json(
            Person,
            '{"id": 1, "name": "Jane", "dogs": [{"name": "Rex", "age": 3}, {"name": "Max"}], "address": {"city": '
            '"Rome"}}',
        )
    assert [(d.name, d.age) for d in person.dogs] == [("Rex", 3), ("Max", 0)]
    assert person.address.city == "Rome" and person.address.parent == person


def test_a35_a_partial_update(store):
    with store.write():
        jane = store.add(Person(id=123, name="Jane", dogs=[Dog(name="Rex")]))
        assert store.create(Person, {"id": 123, "dogs": [["Buster", 5]]}, "modified") == jane
    assert jane.name == "Jane" and [d.name for d in jane.dogs] == ["Buster"]
    assert sorted(d.name for d in store.objects(Dog)) == ["Buster", "Rex"]


def test_a38_an_embedded_object(store):
    address = Address(street="123 Fake St", city="Springfield", country="USA", postalCode="90710")
    with store.write():
        nick = store.add(Person(name="Nick Riviera", address=address))
    assert nick.address.city == "Springfield" and address.parent == nick
    with store.write():
        store.delete(nick)
    assert not store.objects(Address) and not address.is_valid


def test_a45_an_unmanaged_copy(store):
    with store.write():
        pond = store.add(Pond(name="Big Pond", frogsThatLiveHere=[Frog(name="Kermit"), Frog(name="Froggy Jay")]))
    copy = pond.detach()
    assert not copy.is_managed and [(f.name, f.is_managed) for f in copy.frogsThatLiveHere] == [
        ("Kermit", False),
        ("Froggy Jay", False),
    ]
    copy.frogsThatLiveHere[0].name = copy.name = "changed"
    assert (pond.name, pond.frogsThatLiveHere[0].name) == ("Big Pond", "Kermit")


def test_a46_a_detached_set(store):
    with store.write():
        repository = store.add(Repository(openPullRequestNumbers={3059, 3062, 3064}))
    copy = repository.openPullRequestNumbers.detach()
    assert copy == {3059, 3062, 3064}
    copy.clear()
    assert len(repository.openPullRequestNumbers) == 3


def test_a47_a_copy_in_another_store():
    with objstore.open(memory="", models=MODELS) as one, objstore.open(memory="", models=MODELS) as two:
        with one.write():
            wolfie = one.add(Dog(name="Wolfie", age=1))
        with two.write():
            copy = two.copy(wolfie)
            copy.age = 2
        assert (wolfie.age, copy.age, one.objects(Dog).count()) == (1, 2, 1)


def test_a48_a_copy_of_what_is_there(store, other):
    with store.write():
        person = store.add(Person(id=1, name="new"))
    with other.write():
        there = other.add(Person(id=1, name="old"))
        with pytest.raises(objstore.DuplicateKey):
            other.copy(person)
        assert there.name == "old"
        assert other.copy(person, update="modified") == there and there.name == "new"


def test_a49_circles(store, other):
    a: dict[str, Any] = {"name": "a"}
    a["next"] = {"name": "b", "next": a}
    with store.write():
        with pytest.raises(objstore.InvalidArgument):
            store.create(Node, a)
        first, second = Node(name="a"), Node(name="b")
        first.next, second.next = second, first
        with pytest.raises(objstore.InvalidArgument):
            store.create(Node, first)
        assert not store.objects(Node)
        store.add(first)
    with other.write():
        with pytest.raises(objstore.InvalidArgument):
            other.copy(first)
        assert not other.objects(Node)


def test_a72_through_an_embedded_object(store):
    with store.write():
        person = store.add(Person(address=Address(street="old", city="Rome")))
        person.address.street = "789 Any Street"
        assert (person.address.street, person.address.city) == ("789 Any Street", "Rome")
        person.address = None
        with pytest.raises(AttributeError):  # as Python does it
            person.address.street = "nowhere"
    assert person.address is None


def test_a83_inverses(store):
    with store.write():
        bowser = store.add(Bowser(name="Bowser"))
        jack, jill = store.add(Owner(name="Jack", dog=bowser)), store.add(Owner(name="Jill"))
        counts = [len(bowser.owners)]
        for owner, dog in ((jill, bowser), (jack, None), (jill, None)):
            owner.dog = dog
            counts.append(len(bowser.owners))
    assert counts == [1, 2, 1, 0]


def test_a84_the_life_of_embedded_objects(store):
    with store.write():
        kermit = Contact(name="Kermit")
        kermit.address = EAddress(street="old", propertyOwner=kermit)
        store.add(kermit)
        old = kermit.address
        assert old.propertyOwner == kermit == old.parent
        kermit.address = EAddress(street="new")
        assert not old.is_valid and [a.street for a in store.objects(EAddress)] == ["new"]
        business = store.add(Business(addresses=[EAddress(street="1"), EAddress(street="2")]))
        assert store.objects(EAddress).count() == 3
        store.delete(business)
        store.delete(kermit)
    assert store.objects(EAddress).count() == 0


def test_a86_maps(store):
    with store.write():
        wolfie = store.add(Dog(favoriteParksByCity={"New York": "Domino Park"}))
        parks = wolfie.favoriteParksByCity
        parks["New York"] = "Washington Square Park"
        parks.update({"Boston": "Boston Common", "Seal Harbor": "Acadia National Park"})
        assert parks["New York"] == "Washington Square Park" and len(parks) == 3
        del parks["New York"]
        with pytest.raises(objstore.NotNullable):
            parks["Boston"] = None  # type: ignore[assignment]
    assert dict(wolfie.favoriteParksByCity) == {"Boston": "Boston Common", "Seal Harbor": "Acadia National Park"}


def test_a102_all_types(path):
    required = {
        "flag": True,
        "number": -(2**63),
        "single": 0.5,
        "double": 1e-300,
        "text": "äöü",
        "raw": b"\0\xff",
        "when": datetime(2026, 1, 2, 3, 4, 5, 678, timezone.utc),
        "price": Decimal("-0.10"),
        "oid": ObjectId(),
        "uid": uuid.uuid4(),
        "state": State.OFF,
    }
    optional = {f"{name}_or_none": value for name, value in required.items()}
    nested = {
        "toys": [["a"], ["b"]],
        "texts": {"x", "y"},
        "by_name": {"k": "v"},
        "anything": {"deep": [1, None, {"x": 2.5}]},
        "toy": {"name": "t"},
        "address": {"city": "Rome"},
    }
    with objstore.open(path, models=MODELS) as store, store.write():
        store.create(AllTypes, {**required, **optional, **nested})
        store.create(AllTypes, required)
    with objstore.open(path, models=MODELS) as store:
        full, bare = store.objects(AllTypes)
        for name, value in (required | optional).items():
            assert getattr(full, name) == value and type(getattr(full, name)) is type(value)
        assert (
            str(full.price) == "-0.10" and [t.name for t in full.toys] == ["a", "b"] and set(full.texts) == {"x", "y"}
        )
        assert (
            dict(full.by_name) == {"k": "v"}
            and full.anything == nested["anything"]
            and (full.toy.name, full.address.city) == ("t", "Rome")
        )
        assert all(getattr(bare, name) == value for name, value in required.items())
        assert all(getattr(bare, name) is None for name in [*optional, "anything", "toy", "address"])
        assert len(bare.toys) == len(bare.texts) == len(bare.by_name) == 0


def test_a105_an_object_out_of_a_write_frozen(store):
    dog = store.write(lambda tx: store.create(Dog, {"name": "old"}))
    frozen = dog.freeze()
    with store.write():
        dog.name = "new"
    assert (frozen.name, dog.name) == ("old", "new")


@pytest.mark.parametrize(
    ("base", "body", "error", "names"),
    [
        (objstore.Model, {"a": complex}, objstore.NotSupported, "Wrong.a"),
        (objstore.Model, {"a": int, "b": int}, objstore.SchemaError, "a, b"),
        (objstore.Model, {"a": Dog}, objstore.SchemaError, "Wrong.a"),
        (objstore.EmbeddedModel, {"a": int}, objstore.SchemaError, "Wrong.a"),
        (objstore.Model, {"a": set[Address]}, objstore.SchemaError, "Wrong.a"),
    ],
)
def test_a106_declarations_that_cannot_be(base, body, error, names):
    keys = {name: field(primary_key=True) for name, annotation in body.items() if annotation is int}
    with pytest.raises(error, match=names) as caught:
        type(base)("Wrong", (base,), {"__annotations__": body, "__module__": __name__, **keys})
    assert caught.value.class_name == "Wrong"


def test_a107_keyword_arguments(store):
    with store.write():
        dog = store.add(Dog(name="Pluto", age=3))
        made = store.create(Dog, {"name": "Pluto", "age": 3})
    assert (
        [getattr(dog, p) for p in ("name", "age", "color")]
        == [getattr(made, p) for p in ("name", "age", "color")]
        == ["Pluto", 3, ""]
    )
