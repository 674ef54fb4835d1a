"""D50: classes and properties that the file calls otherwise."""

from typing import Any

import pytest

import objstore
from objstore import Backlinks, Index, backlinks, field


class Address(objstore.EmbeddedModel):
    zip_code: str = field(default="", stored_as="zipCode")


class Person(objstore.Model):
    __stored_as__ = "people"
    number: int = field(primary_key=True, stored_as="_id")
    first_name: str = field(default="nobody", indexed=True, stored_as="firstName")
    age: int = 0
    best_friend: "Person | None" = field(default=None, stored_as="bestFriend")
    home: Address | None = field(default=None, stored_as="homeAddress")
    nick_names: list[str] = field(default_factory=list, stored_as="nickNames")
    extra: Any = None
    friends_of_mine: Backlinks["Person"] = backlinks("best_friend")
    __indexes__ = [Index("first_name", "age")]


def plain():
    """A program with the file's names."""

    class Address(objstore.EmbeddedModel):
        zipCode: str = ""

    class people(objstore.Model):
        _id: int = field(primary_key=True)
        firstName: str = field(default="nobody", indexed=True)
        age: int = 0
        bestFriend: "people | None" = None
        homeAddress: Address | None = None
        nickNames: list[str]
        extra: Any = None
        __indexes__ = [Index("firstName", "age")]

    return people, Address


def test_both_names_are_accepted_the_programs_is_returned(path):
    with objstore.open(path, models=[Person, Address]) as store:
        with store.write():
            ann = store.create(
                Person, {"number": 1, "first_name": "Ann", "age": 3, "nick_names": ["A"], "home": {"zip_code": "x"}}
            )
            bob = store.create(
                Person,
                {
                    "_id": 2,
                    "firstName": "Bob",
                    "bestFriend": {"_id": 1, "firstName": "Anna"},
                    "homeAddress": {"zipCode": "y"},
                },
                update="modified",
            )
            bob.extra = [ann]
            store.add(Person(number=3, first_name="Cleo", best_friend=bob))
            store.create_from_json(Person, '{"number": 4, "firstName": "Dan", "age": 5}')
        assert (ann.first_name, ann.age, list(ann.nick_names)) == ("Anna", 3, ["A"])
        assert (
            bob.best_friend == ann
            and bob.home.zip_code == "y"
            and list(ann.friends_of_mine) == [bob]
            and bob.extra[0] == ann
        )
        assert ann.to_json() == (
            '{"number":1,"first_name":"Anna","age":3,"best_friend":null,"home":{"zip_code":"x"},"nick_names":["A"],"extra":null}'
        )
        assert [p.number for p in store.objects(Person).where(Person.first_name == "Dan")] == [4]
        for name in ("first_name", "firstName"):
            with store.write():
                store.objects(Person).where(Person.number == 4).update(**{name: f"by {name}"})
            assert store.get(Person, 4).first_name == f"by {name}"
    people, address = plain()
    with objstore.open(path, models=[people, address]) as store:
        assert [p.firstName for p in store.objects(people)] == ["Anna", "Bob", "Cleo", "by firstName"]
        assert store.get(people, 1).homeAddress.zipCode == "x"
        store.verify()


def test_names_that_meet_are_refused(path):
    class Cat(objstore.Model):
        name: str = ""
        other: str = field(default="", stored_as="name")

    with pytest.raises(
        objstore.SchemaError, match="Cat.other: it is stored as name, which is the name of another property"
    ):
        objstore.open(path, models=[Cat])
    assert not objstore.exists(path)
    with pytest.raises(TypeError, match="stored_as is a name"):
        field(stored_as=7)
