"""Conditions about what links lead to and what collections hold: how they are written, and what is refused."""

import copy
import doctest
import enum
import functools
import inspect
import pickle
import pydoc
import typing
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import (
    Backlinks,
    EmbeddedModel,
    Expression,
    all_,
    any_,
    asc,
    backlinks,
    desc,
    expression,
    field,
    incoming,
    links_to,
    none_,
)


class Range(EmbeddedModel):
    """Whose properties are called as operands call their methods."""

    min: int = 0
    max: int = 0
    count: int = 0
    type: str = ""
    keys: str = ""
    length: int = 0
    between: int = 0
    getter: int = 0
    fget: int = 0
    in_: int = 0
    search: str = ""
    name: str = ""
    path: str = ""
    model: str = ""
    index: int = 0
    kind: int = 0
    copy: int = 0


class City(EmbeddedModel):
    name: str = ""
    range: Range | None = None


class Address(EmbeddedModel):
    street: str = ""
    city: City | None = None


class Door(enum.IntEnum):
    FRONT = 1
    BACK = 2


class Dog(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    age: int | None = None
    count: int = 0
    door: Door | None = None
    owner: "Person | None" = None
    friends: list["Dog"]
    tags: list[str]
    notes: dict[str, str]
    rooms: dict[int, str]
    guards: dict[Door, "Dog | None"]
    extra: Any = None
    walkers: Backlinks["Person"] = backlinks("dogs")


class Person(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    least: int = 0
    address: Address | None = None
    homes: list[Address]
    ranges: list[Range]
    dogs: list[Dog]
    dogs_of: Backlinks["Dog"] = backlinks("owner")


store = store_of([Range, City, Address, Dog, Person])


@pytest.fixture
def kennel(store):
    with store.write():
        bern = {"street": "Main", "city": {"name": "Bern", "range": {"min": 1, "max": 9, "count": 5, "type": "x"}}}
        ann = store.create(Person, {"id": 1, "name": "Ann", "least": 2, "address": bern})
        bob = store.create(Person, {"id": 2, "name": "Bob", "least": 9, "homes": [bern, {"street": "Side"}]})
        bob.ranges = [Range(count=7, getter=3), Range(type="y", fget=4)]
        dogs = [
            store.create(Dog, {"id": i, "name": f"d{i}", "age": i or None, "owner": [ann, bob, None][i % 3]})
            for i in range(6)
        ]
        ann.dogs, bob.dogs = dogs[:2], [*dogs[1:5], dogs[4]]
        dogs[0].friends = [dogs[1], dogs[2]]
        dogs[1].tags, dogs[2].tags = ["a", "b"], ["b"]
        dogs[1].notes, dogs[2].notes = {"door": "locked"}, {"path": "x"}
        dogs[3].rooms = {1: "hall", 7: "loft"}
        dogs[4].guards = {Door.FRONT: dogs[5], Door.BACK: None}
        for dog, extra in zip(dogs, [{"a": [1, {"b": 2}]}, [7, 8], "text", 5, ann, None]):
            dog.extra = extra
        dogs[2].door = Door.BACK
    return store


def ids(store: objstore.Store, model: Any, *conditions: Any) -> list[int]:
    return [each.id for each in store.objects(model).where(*conditions)]


# Links


def test_each_way_to_write_a_path(kennel):
    for path in (
        Dog.owner.address.city.name,
        Dog.owner[Person.address].city.name,
        Dog.owner[Person.address][Address.city][City.name],
        Dog.owner[Person.address.city.name],
        Dog.owner["address"]["city"]["name"],
        expression(Dog.owner).address.city.name,
    ):
        assert isinstance(path, Expression)
        assert ids(kennel, Dog, path == "Bern") == [0, 3]
        assert ids(kennel, Dog, path != "Bern") == [1, 2, 4, 5]
        assert ids(kennel, Dog, path.in_(["Bern", "Rome"])) == ids(kennel, Dog, path.between("A", "C")) == [0, 3]
        assert ids(kennel, Dog, path.contains("ERN", case=False)) == ids(kennel, Dog, path.length == 4) == [0, 3]
        # What is None on the way makes the value None.
        assert ids(kennel, Dog, path == None) == [1, 2, 4, 5]
        text = kennel.objects(Dog).where(path == "Bern").query_text()
        assert text == 'owner.address.city.name == "Bern"'
    assert ids(kennel, Dog, Dog.owner == None) == [2, 5]
    assert ids(kennel, Dog, Dog.owner.least < Dog.age) == [3]
    assert ids(kennel, Dog, Dog.age > Dog.owner.least) == [3]
    assert ids(kennel, Dog, Dog.owner.least * 2 - 1 == 3) == ids(kennel, Dog, 4 == 2 * Dog.owner.least) == [0, 3]
    assert ids(kennel, Dog, (Dog.owner.name == "Ann") & ~(Dog.age > 2) | (Dog.owner.name == "Bob")) == [0, 1, 4]


def test_each_way_to_write_a_collection(kennel):
    for path in (
        any_(Person.dogs).age,
        any_(Person.dogs.age),
        any_(Person.dogs)[Dog.age],
        any_(Person.dogs[Dog.age]),
        any_(Person.dogs["age"]),
        Person.dogs.age,
    ):
        assert ids(kennel, Person, path > 3) == [2] and ids(kennel, Person, path == 1) == [1, 2]
    assert ids(kennel, Person, all_(Person.dogs).age > 0) == ids(kennel, Person, all_(Person.dogs.age) > 0) == [2]
    assert ids(kennel, Person, none_(Person.dogs).name == "d0") == [2]
    assert ids(kennel, Person, any_(Person.dogs).owner.address.city.name == "Bern") == [1, 2]
    assert ids(kennel, Person, any_(Person.dogs).tags == "b") == [1, 2]
    assert ids(kennel, Person, any_(Person.homes).city.name == "Bern") == [2]
    assert ids(kennel, Person, Person.homes[0].city.range.max == 9) == [2]
    assert ids(kennel, Person, Person.dogs[-1].name == "d4") == ids(kennel, Person, Person.dogs[3].name == "d4") == [2]
    assert ids(kennel, Person, Person.dogs[17].name == None) == [1, 2]
    assert ids(kennel, Dog, Dog.friends == [kennel.get(Dog, 1), kennel.get(Dog, 2)]) == [0]
    assert ids(kennel, Person, any_(Person.dogs) == kennel.get(Dog, 3)) == [2]
    assert ids(kennel, Person, any_(Person.dogs).door == Door.BACK) == [2]
    with pytest.raises(objstore.WrongType, match="a member of Door is wanted"):
        any_(Person.dogs).door == 2
    with pytest.raises(objstore.WrongType, match="Dog"):
        any_(Person.dogs) == kennel.get(Person, 1)


def test_counts_and_aggregates(kennel):
    assert ids(kennel, Person, Person.dogs.count > 4) == [2] and ids(kennel, Person, Person.dogs.count == 2) == [1]
    for max_ in (Person.dogs.max(Dog.age), Person.dogs.max("age")):
        assert ids(kennel, Person, max_ == 4) == [2]
    assert ids(kennel, Person, Person.dogs.min(Dog.age) == 1) == [1, 2]
    assert ids(kennel, Person, Person.dogs.sum(Dog.age) == 1 + 2 + 3 + 4 + 4) == [2]
    assert ids(kennel, Person, Person.dogs.avg(Dog.age) == 1.0) == [1]
    assert ids(kennel, Person, Person.dogs.sum(Dog.owner.least) == Person.dogs.count * 6 - 1) == [1, 2]
    assert ids(kennel, Dog, Dog.friends.max(Dog.age) == None) == [1, 2, 3, 4, 5]
    assert ids(kennel, Dog, Dog.friends.sum(Dog.age) == 0) == [1, 2, 3, 4, 5]
    assert ids(kennel, Dog, Dog.owner.dogs.count == 5) == [1, 4]
    assert ids(kennel, Dog, Dog.owner.dogs.max(Dog.age) > 3) == [1, 4]
    assert ids(kennel, Dog, Dog.tags.count == 2) == [1] and ids(kennel, Dog, Dog.notes.count == 1) == [1, 2]


def test_subqueries(kennel):
    assert ids(kennel, Person, Person.dogs.where(Dog.age > 1).count > 2) == [2]
    assert ids(kennel, Person, Person.dogs.where(Dog.age > 1, Dog.name != "d4").count == 2) == [2]
    assert ids(kennel, Person, Person.dogs.where(Dog.age < 3).sum(Dog.age) == 3) == [2]
    assert ids(kennel, Person, Person.dogs.where(Dog.age < 3).max(Dog.age) == 2) == [2]
    assert ids(kennel, Person, any_(Person.dogs.where(Dog.age < 3)).name == "d0") == []
    assert ids(kennel, Person, any_(Person.dogs.where(Dog.age == None)).name == "d0") == [1]
    assert ids(kennel, Person, any_(Person.dogs).where(Dog.age == None).name == "d0") == [1]
    assert ids(kennel, Dog, Dog.owner.dogs.where(Dog.age == 2).count == 1) == [1, 4]
    assert ids(kennel, Person, Person.homes.where(Address.city.name == "Bern").count == 1) == [2]
    # One in the other.
    inner = Dog.friends.where(Dog.age > 1).count
    assert ids(kennel, Person, Person.dogs.where(inner == 1).count == 1) == [1]
    assert ids(kennel, Person, Person.dogs.where(Dog.friends.max(Dog.age) == 2).count == 1) == [1]
    assert ids(kennel, Person, Person.dogs.where(Dog.friends.max(Dog.age) == 3).count == 1) == []
    # About the object around, where that is of another class.
    asked = Person.dogs.where(Dog.age < Person.least).count
    assert ids(kennel, Person, asked == 5) == [2] and ids(kennel, Person, asked == 1) == [1]
    asked = Person.dogs.where((Person.least > 5) & (Dog.age > 3) | (Dog.name == Person.name)).count
    assert ids(kennel, Person, asked == 2) == [2] and ids(kennel, Person, asked == 0) == [1]
    deep = Person.dogs.where(Dog.friends.where(Dog.age < Person.least).count == 1).count
    assert ids(kennel, Person, (deep == 1) & (Person.id > 0)) == [1]
    text = kennel.objects(Person).where((deep == 1) & (Person.id > 0)).query_text()
    assert text == "SUBQUERY(dogs, $x, SUBQUERY($x.friends, $y, $y.age < least).@count == 1).@count == 1 and id > 0"


@pytest.mark.parametrize("way", ["a subquery", "links"])
def test_subqueries_of_what_is_many(kennel, way):
    if way == "links":
        asked = Person.dogs.owner.where(Person.least > 5).count == 3
    else:
        asked = Person.dogs.where(Dog.age > 1).where(Dog.name != "d4").count == 2
    assert ids(kennel, Person, asked) == [2]


def test_inverses(kennel):
    rex = kennel.get(Dog, 3)
    assert ids(kennel, Person, Person.dogs_of.count == 2) == [1, 2]
    assert ids(kennel, Person, any_(Person.dogs_of).age == 3) == ids(kennel, Person, any_(Person.dogs_of) == rex) == [1]
    assert (
        ids(kennel, Person, all_(Person.dogs_of).age > 0) == [2] == ids(kennel, Person, none_(Person.dogs_of).id == 0)
    )
    assert ids(kennel, Person, Person.dogs_of.where(Dog.age > 2).count == 1) == [1, 2]
    assert ids(kennel, Person, Person.dogs_of.where(Dog.age < Person.least).count == 2) == [2]
    assert ids(kennel, Person, Person.dogs_of.max(Dog.age) > 3) == [2]
    assert ids(kennel, Person, Person.dogs_of.friends.name == "d2") == [1]
    assert ids(kennel, Dog, Dog.walkers.name == "Bob") == [1, 2, 3, 4] == ids(kennel, Dog, Dog.walkers.dogs_of.id == 4)
    assert ids(kennel, Dog, Dog.owner.dogs_of.count == 2) == [0, 1, 3, 4]
    assert ids(kennel, Dog, incoming(Person.dogs).name == "Bob") == [1, 2, 3, 4]
    assert ids(kennel, Dog, incoming(Person.dogs).count == 0) == [5]
    assert ids(kennel, Dog, incoming(Person.dogs).where(Person.least > 5).count > 0) == [1, 2, 3, 4]
    assert ids(kennel, Dog, Dog.owner[incoming(Dog.owner)].age == 4) == [1, 4]
    # Of all properties of all classes, lists of links and dicts, too.
    assert ids(kennel, Dog, incoming(Dog).count == 0) == [] and ids(kennel, Dog, incoming(Dog).count == 3) == [1]
    assert ids(kennel, Dog, incoming(Dog).count > 1) == [1, 2, 4]
    for wrong in (Dog.age, Dog.notes, Person.dogs_of, 5, "dogs"):
        with pytest.raises(objstore.WrongType, match="a property with links is wanted"):
            incoming(wrong)
    with pytest.raises(objstore.InvalidArgument, match="a class derived from"):
        incoming(objstore.Model)


def test_elements(kennel):
    assert ids(kennel, Dog, any_(Dog.notes.keys) == "door") == ids(kennel, Dog, Dog.notes["door"] == "locked") == [1]
    assert ids(kennel, Dog, any_(Dog.notes.values) == "x") == ids(kennel, Dog, any_(Dog.notes) == "x") == [2]
    assert ids(kennel, Dog, Dog.notes["door"] == None) == [0, 2, 3, 4, 5]
    assert ids(kennel, Dog, Dog.rooms[7] == "loft") == ids(kennel, Dog, any_(Dog.rooms.keys) > 6) == [3]
    assert ids(kennel, Dog, Dog.guards[Door.FRONT].name == "d5") == ids(kennel, Dog, any_(Dog.guards).age == 5) == [4]
    assert ids(kennel, Dog, any_(Dog.guards.keys) == Door.BACK) == ids(kennel, Dog, Dog.guards.name == "d5") == [4]
    assert ids(kennel, Dog, Dog.guards.where(Dog.age == 5).count == 1) == [4]
    assert ids(kennel, Dog, Dog.guards.sum(Dog.age) == 5) == [4] and ids(kennel, Dog, Dog.guards.count == 2) == [4]
    with pytest.raises(objstore.WrongType):
        Dog.rooms["7"] == "loft" and ids(kennel, Dog, Dog.rooms["7"] == "loft")
    with pytest.raises(objstore.WrongType, match="Door"):
        Dog.guards[1]
    assert ids(kennel, Dog, Dog.tags[0] == "a") == [1] and ids(kennel, Dog, Dog.tags[-1] == "b") == [1, 2]
    assert ids(kennel, Dog, Dog.tags == ["a", "b"]) == [1] and ids(kennel, Dog, Dog.tags[:] == "a") == [1]
    for wrong in (slice(1, 2), slice(None, None, -1)):
        with pytest.raises(objstore.InvalidArgument, match="for every element"):
            Dog.tags[wrong]
    for wrong in (1.5, None, object()):
        with pytest.raises((objstore.InvalidArgument, objstore.WrongType)):
            Dog.tags[wrong]
    with pytest.raises(objstore.OutOfRange):
        Dog.tags[2**63]
    # Any
    assert ids(kennel, Dog, Dog.extra["a"][0] == 1) == ids(kennel, Dog, Dog.extra["a"][1]["b"] == 2) == [0]
    assert ids(kennel, Dog, Dog.extra[-1] == 8) == ids(kennel, Dog, Dog.extra[:] == 7) == [1]
    assert ids(kennel, Dog, any_(Dog.extra.keys) == "a") == ids(kennel, Dog, Dog.extra.type == "object") == [0]
    assert ids(kennel, Dog, Dog.extra[Person.name] == "Ann") == [4]
    assert ids(kennel, Dog, Dog.extra.type.in_(["list", "link", "null"])) == [1, 4, 5]
    assert ids(kennel, Dog, Dog.extra.type != "string") == [0, 1, 3, 4, 5]
    with pytest.raises(objstore.InvalidQuery, match="the name of a kind"):
        ids(kennel, Dog, Dog.extra.type == "strange")
    with pytest.raises(objstore.InvalidQuery, match="a mixed value is expected"):
        ids(kennel, Dog, Dog.age.type == "int")


def test_order_by_paths(kennel):
    dogs = kennel.objects(Dog)
    order = lambda *keys: [dog.id for dog in dogs.order_by(*keys)]
    assert order(Dog.owner.name) == [2, 5, 0, 3, 1, 4]
    assert order(desc(Dog.owner.name), desc(Dog.id)) == [4, 1, 3, 0, 5, 2]
    assert order(asc(Dog.owner.address.city.name, case=False)) == [1, 2, 4, 5, 0, 3]
    assert order(desc("owner.name"), "id") == [1, 4, 0, 3, 2, 5] and order("owner.name", desc("id")) == [
        5,
        2,
        3,
        0,
        4,
        1,
    ]
    assert order(Dog.owner[Person.least] * -1, desc("id")) == [5, 2, 4, 1, 3, 0]
    assert [dog.id for dog in dogs.distinct(Dog.owner.name)] == [0, 1, 2]
    assert [
        dog.id for dog in dogs.where(Dog.owner.name != None).order_by(Dog.owner.least).distinct(Dog.owner.least)
    ] == [
        0,
        1,
    ]
    assert dogs.order_by(desc(Dog.owner.name)).query_text() == "TRUEPREDICATE SORT(owner.name DESC)"
    assert [dog.id for dog in dogs.distinct("owner.name", "owner.least")] == [0, 1, 2]
    for wrong in ("owner.nmae", "ower.name", "owner..name", "owner.", "."):
        with pytest.raises(objstore.NoSuchProperty):
            dogs.order_by(wrong)
    with pytest.raises(objstore.InvalidQuery, match="not one value of each object"):
        kennel.objects(Person).order_by(Person.dogs.age)
    with pytest.raises(objstore.InvalidArgument, match="is about Person, and these are Dog"):
        dogs.order_by(Person.dogs_of.count)
    with pytest.raises(objstore.InvalidArgument, match="two classes"):
        dogs.order_by(Dog.owner.name, Person.name)


# Names


def test_names_that_operands_have_methods_for(kennel):
    """Behind a link to one, a method that says nothing of objects is the property."""
    city = Person.address.city.range
    for asked in (city.min == 1, city.max == 9, city.count == 5, city.type == "x", city["count"] == 5):
        assert ids(kennel, Person, asked) == [1], asked
    for asked in (
        city.keys == "",
        city.length == 0,
        city.between == 0,
        city.getter == 0,
        city.fget == 0,
        city.search == "",
    ):
        assert ids(kennel, Person, asked) == [1], asked
    for asked in (city.name == "", city.path == "", city.model == "", city.index == 0, city.kind == 0, city.copy == 0):
        assert ids(kennel, Person, asked) == [1], asked
    assert ids(kennel, Person, city[Range.in_] == 0) == [1] and ids(kennel, Person, city["in_"] == 0) == [1]
    assert callable(city.in_) and callable(Dog.owner.in_) and callable(Dog.age.between)
    # Of several, these are questions about all of them, and the others properties.
    ranges = Person.ranges
    assert ids(kennel, Person, ranges.count == 2) == ids(kennel, Person, ranges.max(Range.count) == 7) == [2]
    assert ids(kennel, Person, ranges.type == "y") == ids(kennel, Person, ranges[Range.count] == 7) == [2]
    assert ids(kennel, Person, ranges.getter == 3) == ids(kennel, Person, any_(ranges).fget == 4) == [2]
    assert ids(kennel, Person, any_(ranges)[Range.max] == 0) == [2] and ids(kennel, Person, ranges["count"] == 7) == [2]
    assert ids(kennel, Person, Person.dogs[Dog.count] == 0) == [1, 2]
    assert Dog.notes.keys is not None and repr(Dog.notes.keys) == "notes.keys"


@pytest.mark.parametrize(
    ("make", "message", "model", "name"),
    [
        (lambda: Dog.owner.nmae, r"Dog\.owner\.nmae: class Person .* nmae: did you mean name\?", "Person", "nmae"),
        (lambda: Dog.owner.address.cty, r"owner\.address\.cty: class Address .* did you mean city\?", "Address", "cty"),
        (lambda: Dog.owner["nmae"], r"class Person does not have a property nmae: did you mean name", "Person", "nmae"),
        (lambda: any_(Person.dogs).frends, r"class Dog does not have a property frends: .* friends", "Dog", "frends"),
        (lambda: Person.dogs_of.agee, r"Person\.dogs_of\.agee: class Dog .* did you mean age\?", "Dog", "agee"),
        (lambda: Dog.owner.qqq, r"property qqq: it has id, name, least, address, homes", "Person", "qqq"),
        (lambda: Dog.owner.is_valid, r"class Person does not have a property is_valid", "Person", "is_valid"),
        (lambda: Dog.age.name, r"Dog\.age is an int, which does not have a property name", "", "name"),
        (lambda: Dog.name.startswith, r"Dog\.name is a str, .* did you mean starts_with\?", "", "startswith"),
        (lambda: Dog.owner.name.first, r"owner\.name is a str, which does not have a property first", "", "first"),
        (lambda: Dog.tags.name, r"Dog\.tags is a list\[str\], which does not have a property name", "", "name"),
        (lambda: (Dog.age * 2).foo, r"\(age \* 2\) is computed, and does not have a property foo", "", "foo"),
        (lambda: Dog.friends.count.age, r"friends\.count is computed", "", "age"),
        (lambda: Dog.extra.name, r"write Dog\.extra\['name'\]", "", "name"),
    ],
)
def test_misspelt_names(make, message, model, name):
    with pytest.raises(objstore.NoSuchProperty, match=message) as caught:
        make()
    assert isinstance(caught.value, AttributeError)
    assert (caught.value.class_name or "", caught.value.property_name) == (model, name)


def test_what_does_not_fit(kennel):
    for make, message in (
        (lambda: Dog.owner[Dog.age], r"Dog\.age is of Dog, and Dog\.owner leads to Person"),
        (lambda: Person.dogs.max(Person.least), r"Person\.least is of Person, and Person\.dogs leads to Dog"),
        (
            lambda: Person.dogs.max(Dog.age * 2),
            r"a property of the elements is wanted, such as Dog\.age, not \(age \* 2\)",
        ),
        (lambda: Person.dogs[Dog.age + 1], r"takes a property, an index or a key"),
        (
            lambda: Person.dogs.where(Person.least > 1),
            r"'least > 1' is about Person, and the elements of Person\.dogs are Dog",
        ),
        (lambda: Dog.age.where(Dog.age > 1), r"where\(\) is of a list, set or dict of objects.*not of Dog\.age"),
        (lambda: Dog.owner.where(Person.least > 1), r"where\(\) is of a list, set or dict of objects"),
        (lambda: Dog.tags.where(Dog.age > 1), r"where\(\) is of a list, set or dict of objects"),
        (lambda: Person.dogs.where("age > 1"), "a comparison of a property is wanted"),
        (lambda: Person.dogs.where(Dog.age), "a comparison of a property is wanted"),
        (lambda: Person.dogs.where(), "where"),
    ):
        with pytest.raises(objstore.InvalidArgument, match=message):
            make()
    for condition, message in (
        ((Dog.owner.name == "x") & (Person.name == "x"), "is about Dog and Person, and these are Dog"),
        (Dog.owner.name == Person.name, "is about Dog and Person, and these are Dog"),
        (Person.dogs.where(Dog.age > 1).count > Dog.age, "is about Person and Dog, and these are Dog"),
        (Person.dogs.where(Dog.age > Person.least).count > 1, "is about Person, and these are Dog"),
    ):
        with pytest.raises(objstore.InvalidArgument, match=message):
            kennel.objects(Dog).where(condition)
    for condition, error in (
        (Dog.owner.name > 5, objstore.WrongType),
        (Dog.owner.name.sum() > 5, objstore.InvalidQuery),
        (any_(Dog.owner.name) == "x", objstore.InvalidQuery),
        (Dog.owner < kennel.get(Person, 1), objstore.WrongType),
        (Dog.friends.sum(Dog.name) == 0, objstore.WrongType),
        (Dog.owner.least.count > 0, objstore.InvalidQuery),
        (Dog.age.keys == "x", objstore.InvalidQuery),
        (Dog.friends == None, objstore.InvalidQuery),
        (any_(Dog.tags) == 5, objstore.WrongType),
    ):
        with pytest.raises(error) as caught:
            len(kennel.objects(Dog).where(condition))
        assert caught.value.position is None


def test_what_is_too_deep(kennel):
    path, condition = Dog.friends, Dog.age > 1
    for _ in range(500):
        path, condition = path.friends, Dog.friends.where(condition).count > 0
    for asked in (path.age == 1, condition):
        with pytest.raises(objstore.InvalidQuery, match="deeper than"):
            kennel.objects(Dog).where(asked).count()
        assert repr(asked) and "…" in repr(asked)
    with pytest.raises(objstore.NoSuchProperty, match="did you mean age"):
        path.agee


def test_the_deepest_can_be_written(kennel):
    """What is just not too deep has a text that can be read again."""
    makers = [
        lambda condition, number: ~condition,
        lambda condition, number: condition & (Dog.age < 1) if number % 2 else condition | (Dog.age < 1),
        lambda condition, number: Dog.friends.where(condition).count > 0,
    ]
    for maker in makers:
        condition = Dog.age > 1
        for number in range(200):
            asked = kennel.objects(Dog).where(condition)
            try:
                asked.first()
            except objstore.InvalidQuery:
                assert number > 20
                break
            text = asked.query_text()
            assert kennel.objects(Dog).filter(text).query_text() == text, number
            condition = maker(condition, number)
        else:
            pytest.fail("nothing is too deep")


def test_observed(kennel):
    for asked in (Dog.owner.name == "Ann", Dog.friends.count > 1):
        told = []
        with kennel.objects(Dog).where(asked).observe(lambda change: told.append(change.is_initial)):
            kennel.deliver()
        assert told == [True]


# What Python, and tools, ask of an attribute


def test_what_others_ask_of_an_attribute(kennel):
    for attribute in (Dog.owner, Dog.age, Person.dogs, Person.dogs_of, Dog.extra):
        for name in ("__wrapped__", "__deepcopy__", "__signature__", "_ipython_display_", "_repr_html_", "missing"):
            assert not hasattr(attribute, name), name
        assert copy.copy(attribute) is copy.deepcopy(attribute) is pickle.loads(pickle.dumps(attribute)) is attribute
        assert inspect.unwrap(attribute) is attribute and isinstance(attribute, property)
        assert not callable(attribute) and inspect.isdatadescriptor(attribute) and not inspect.isabstract(attribute)
        with pytest.raises(TypeError):
            bool(attribute)
        with pytest.raises(AttributeError):
            attribute.__missing__
        assert attribute.fget is not None  # of the builtin, unless the class behind a link has such a property
    for computed in (Dog.owner.name, any_(Person.dogs).age, Person.dogs.where(Dog.age > 1)):
        assert not hasattr(computed, "__wrapped__") and not hasattr(computed, "missing")
        for what in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="this process alone"):
                what(computed)
    assert {"name", "address", "dogs_of", "in_", "equals"} <= set(dir(Dog.owner))
    assert {"city", "street"} <= set(dir(Dog.owner.address)) and "friends" in dir(Person.dogs.where(Dog.age > 1))
    assert "friends" not in dir(Dog.age)
    members = dict(inspect.getmembers(Dog))
    assert members["owner"] is Dog.owner and "Dog" in pydoc.render_doc(Dog)
    assert inspect.signature(Dog).parameters["owner"].default is None
    assert typing.get_type_hints(Dog)["age"] == int | None
    assert doctest.DocTestFinder().find(Dog, module=False) == []
    assert isinstance(functools.update_wrapper(lambda: None, Dog.owner), object)
    with pytest.raises(AttributeError):
        Dog.owner.name.other = 5
    assert len({Dog.owner, Dog.age, Dog.owner, Dog.owner.name}) == 3


def test_an_attribute_is_not_its_description():
    """What a property is like, fields() tells; it can be asked about, too."""
    described = {p.name: p for p in objstore.fields(Dog)}
    owner, age = described["owner"], described["age"]
    assert owner.target is Person or owner.target.text == "Person | None" or owner.target.__name__ == "Person"
    assert (age.name, age.type_name, age.nullable, age.path) == ("age", "int", True, "Dog.age")
    assert isinstance(age, objstore.Property) and not hasattr(age, "nmae") and repr(age) == repr(Dog.age)
    assert repr((age > 1) & (Dog.age < 3)) == "(age > 1) & (age < 3)"


def test_properties_of_fields_can_be_asked(kennel):
    for described in objstore.fields(Dog):
        if described.name in ("age", "name", "count"):
            assert ids(kennel, Dog, described == None) == ids(kennel, Dog, getattr(Dog, described.name) == None)
    (age,) = [p for p in objstore.fields(Dog) if p.name == "age"]
    assert kennel.objects(Dog).sum(age) == kennel.objects(Dog).sum(Dog.age) == 15
    assert [d.id for d in kennel.objects(Dog).order_by(desc(age)).limit(2)] == [5, 4]
    assert ids(kennel, Person, Person.dogs.max(age) == 4) == ids(kennel, Person, any_(Person.dogs)[age] == 4) == [2]
    (dogs,) = [p for p in objstore.fields(Person) if p.name == "dogs"]
    assert ids(kennel, Person, links_to(dogs, kennel.get(Dog, 3))) == ids(kennel, Person, any_(dogs).age == 3) == [2]


def test_how_paths_are_shown():
    for made, shown in (
        (Dog.owner.address.city.name == "Bern", "owner.address.city.name == 'Bern'"),
        (any_(Person.dogs).age > 3, "any_(dogs).age > 3"),
        (Person.dogs.max(Dog.age) > 3, "dogs.max(age) > 3"),
        (Dog.tags.max() == 1, "tags.max() == 1"),
        (Person.dogs.where(Dog.age > Person.least).count > 2, "dogs.where(age > least).count > 2"),
        (Person.dogs_of.where(Dog.age > 3).count > 2, "dogs_of.where(age > 3).count > 2"),
        (incoming(Dog.owner).count > 2, "incoming(Dog.owner).count > 2"),
        (incoming(Dog).count > 2, "incoming(Dog).count > 2"),
        (any_(Dog.notes.keys) == "door", "any_(notes.keys) == 'door'"),
        (Dog.extra[:]["a"][-1].type == "int", "extra[:]['a'][-1].type == 'int'"),
        (desc(Dog.owner.name), "desc(owner.name)"),
    ):
        assert repr(made) == shown


# Classes


def test_a_class_that_is_declared_later(tmp_path):
    class Cat(objstore.Model):
        name: str = ""
        home: "Home | None" = None
        kittens: list["Kitten"]

    with pytest.raises(objstore.NoSuchProperty, match="Cat.home leads to Home, which is not there yet"):
        Cat.home.street
    assert not hasattr(Cat.home, "street") and "street" not in dir(Cat.home)
    assert repr(Cat.home.count) == "home.count"

    class Home(objstore.Model):
        street: str = ""
        count: int = 0
        owner: "Kitten | None" = None

    class Kitten(objstore.Model):
        age: int = 0

    before = Cat.home.street == "Main", any_(Cat.kittens).age > 2, Cat.home.owner.age == 3, Cat.home.count == 5
    with pytest.raises(objstore.NoSuchProperty, match="did you mean street"):
        Cat.home.stret
    with objstore.open(tmp_path / "db", models=[Cat, Home, Kitten]) as store:
        with store.write():
            kitten = Kitten(age=3)
            store.add(Cat(name="Tom", home=Home(street="Main", count=5, owner=kitten), kittens=[kitten]))
            store.add(Cat(name="Tim"))
        after = Cat.home.street == "Main", any_(Cat.kittens).age > 2, Cat.home.owner.age == 3, Cat.home.count == 5
        for asked in (*before, *after):
            assert [cat.name for cat in store.objects(Cat).where(asked)] == ["Tom"]


def test_names_in_the_file(tmp_path):
    class Boat(objstore.Model):
        __stored_as__ = "ship"
        name: str = field(default="", stored_as="title")
        captain: "Captain | None" = field(default=None, stored_as="master")

    class Captain(objstore.Model):
        name: str = field(default="", stored_as="called")
        boats: Backlinks["Boat"] = backlinks("captain")

    with objstore.open(tmp_path / "db", models=[Boat, Captain]) as store:
        with store.write():
            store.add(Boat(name="Lisa", captain=Captain(name="Jo")))
            store.add(Boat(name="Anna"))
        assert [b.name for b in store.objects(Boat).where(Boat.captain.name == "Jo")] == ["Lisa"]
        assert [b.name for b in store.objects(Boat).order_by(Boat.captain.name)] == ["Anna", "Lisa"]
        for asked in (Captain.boats.name == "Lisa", Captain.boats.count == 1, incoming(Boat.captain).name == "Lisa"):
            assert [c.name for c in store.objects(Captain).where(asked)] == ["Jo"]
    with objstore.open(tmp_path / "db") as store:  # by the file's names
        boat = store.models["ship"]
        assert [b.title for b in store.objects(boat).where(boat.master.called == "Jo")] == ["Lisa"]
        captain = store.models["Captain"]
        assert [c.called for c in store.objects(captain).where(incoming(boat.master).title == "Lisa")] == ["Jo"]
        assert store.objects(captain).where(incoming(captain).count == 1).count() == 1


def test_classes_that_are_defined_again(tmp_path):
    def define() -> Any:
        class Cat(objstore.Model):
            name: str = ""
            owner: "Owner | None" = None

        class Owner(objstore.Model):
            name: str = ""
            cats: list[Cat]
            cats_of: Backlinks["Cat"] = backlinks("owner")

        return Cat, Owner

    Cat, Owner = define()
    with objstore.open(tmp_path / "db", models=[Cat, Owner]) as store:
        with store.write():
            tom = store.add(Cat(name="Tom", owner=Owner(name="Jo")))
            tom.owner.cats = [tom]
        for cat, owner in ((Cat, Owner), define(), (Cat, Owner)):
            assert store.objects(cat).where(cat.owner.name == "Jo").count() == 1
            assert store.objects(Cat).where((cat.owner.name == "Jo") & (Cat.name == "Tom")).count() == 1
            assert store.objects(owner).where(any_(owner.cats).name == "Tom").count() == 1
            assert store.objects(owner).where(owner.cats_of.where(cat.name == owner.name).count == 0).count() == 1
            assert store.objects(owner).where(owner.cats_of.name == "Tom").count() == 1


def test_a_class_that_derives(tmp_path):
    class Owner(objstore.Model):
        name: str = ""

    class Animal(objstore.Model):
        name: str = ""
        owner: Owner | None = None

    class Cat(Animal):
        age: int = 0

    with objstore.open(tmp_path / "db", models=[Owner, Animal, Cat]) as store:
        with store.write():
            store.add(Cat(name="Tom", owner=Owner(name="Jo")))
            store.add(Animal(name="It"))
        assert store.objects(Cat).where(Cat.owner.name == "Jo").count() == 1
        assert store.objects(Animal).where(Animal.owner.name == "Jo").count() == 0
        with pytest.raises(objstore.InvalidArgument, match="is about Animal, and these are Cat"):
            store.objects(Cat).where(Animal.owner.name == "Jo")


# Wherever a condition may stand


def test_wherever_a_condition_may_stand(kennel):
    ann, asked = kennel.get(Person, 1), Dog.owner.name == "Ann"
    dogs = kennel.objects(Dog).where(asked)
    frozen = dogs.freeze()
    assert [d.id for d in ann.dogs_of.where(Dog.owner.address.city.name == "Bern")] == [0, 3]
    assert [d.id for d in kennel.objects(Dog).limit(3).where(asked)] == [0]
    assert dogs.sum(Dog.age) == 3 and dogs.first().id == 0 and kennel.get(Dog, 3) in dogs
    with kennel.write():
        ann.name = "Anna"
        assert ids(kennel, Dog, asked) == [] and ids(kennel, Dog, Dog.owner.name == "Anna") == [0, 3]
        assert kennel.objects(Dog).where(asked).update(count=1) == 0
        assert kennel.objects(Dog).where(Dog.owner.name == "Anna").update(count=1) == 2
        assert kennel.objects(Person).where(Person.dogs.where(Dog.count == 1).count == 1).count() == 2
        assert kennel.objects(Dog).where(Dog.owner.name == None).delete() == 2
    assert [d.id for d in frozen] == [0, 3] and ids(kennel, Dog, Dog.id >= 0) == [0, 1, 3, 4]
    assert list(dogs) == []
