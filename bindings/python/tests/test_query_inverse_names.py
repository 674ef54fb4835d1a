"""Inverses by their names in the models, in texts: against the long form, and against loops."""

from collections.abc import Iterator
from typing import Any

import pytest

import objstore
from objstore import Backlinks, Dict, List, Model, backlinks, field


class Person(Model):
    name: str = field(primary_key=True)
    friends: List["Person"]
    notes: Dict[str, "Hound | None"]
    dogs: Backlinks["Hound"] = backlinks("owner")
    fans: Backlinks["Person"] = backlinks("friends")
    mentioned: Backlinks["Hound"] = backlinks("extra")


class Hound(Model):
    __stored_as__ = "dogs"
    name: str
    age: int = field(default=0, stored_as="years")
    owner: Person | None = field(default=None, stored_as="boss")
    extra: Any = None


@pytest.fixture
def store() -> Iterator[objstore.Store]:
    with objstore.open(memory="inverse_names", models=[Person, Hound]) as opened:
        with opened.write():
            ann, bob, eve = (opened.add(Person(name=name)) for name in ("Ann", "Bob", "Eve"))
            bob.friends = [ann, ann, eve]
            rex = opened.add(Hound(name="Rex", age=3, owner=ann, extra=[eve]))
            opened.add(Hound(name="Fido", age=1, owner=ann))
            opened.add(Hound(name="Bo", age=5, owner=bob, extra=bob))
            eve.notes["dogs"] = rex
        yield opened


CASES = [
    ("dogs.@count > 1", "@links.Hound.owner.@count > 1", ["Ann"]),
    ("ANY dogs.age > 2", "ANY @links.Hound.owner.age > 2", ["Ann", "Bob"]),
    ("ALL dogs.age > 2", "ALL @links.Hound.owner.age > 2", ["Bob", "Eve"]),
    ("dogs.@max.age == 5", "@links.Hound.owner.@max.age == 5", ["Bob"]),
    ("fans.@count == 2", "@links.Person.friends.@count == 2", ["Ann"]),
    ("fans.dogs.name == 'Bo'", "@links.Person.friends.@links.Hound.owner.name == 'Bo'", ["Ann", "Eve"]),
    ("dogs.owner.fans.name == 'Bob'", "@links.Hound.owner.owner.@links.Person.friends.name == 'Bob'", ["Ann"]),
    ("SUBQUERY(dogs, $d, $d.age < 3 AND $d.owner.dogs.@count == 2).@count == 1", None, ["Ann"]),
    ("SUBQUERY(friends, $f, $f.dogs.@count > $f.fans.@count).@count > 0", None, []),
    ("mentioned.@count == 1", "@links.Hound.extra.@count == 1", ["Bob", "Eve"]),
    ("notes.dogs.name == 'Rex'", None, ["Eve"]),  # a key of the map
    ("notes['dogs'].owner.dogs.@count == 2", None, ["Eve"]),
    ("dogs.@count >= 0 SORT(dogs.@count DESC, name ASC)", None, ["Ann", "Bob", "Eve"]),
    ("TRUEPREDICATE DISTINCT(dogs.@count)", None, ["Ann", "Bob", "Eve"]),
]


@pytest.mark.parametrize("text, long, names", CASES)
def test_in_texts(store: objstore.Store, text: str, long: str | None, names: list[str]) -> None:
    people = store.objects(Person)
    found = people.filter(text)
    assert [person.name for person in found] == names
    written = found.query_text()
    assert ".dogs." not in written.replace("notes.dogs", "") and [p.name for p in people.filter(written)] == names
    if long is not None:
        assert people.filter(long).query_text() == written
    assert people.filter(written).query_text() == written


def test_elsewhere(store: objstore.Store) -> None:
    assert [d.name for d in store.objects(Hound).filter("owner.dogs.@count == $0", 2)] == ["Rex", "Fido"]
    bob = store.get(Person, "Bob")
    assert bob is not None
    assert [p.name for p in bob.friends.filter("dogs.@count == 2")] == ["Ann", "Ann"]
    table = store.objects(Person).table("GROUP(dogs.@count AS n) SELECT(n, @count)")
    assert sorted(map(tuple, table)) == [(0, 1), (1, 1), (2, 1)]
    assert [(s.key, len(s)) for s in store.objects(Person).sections("dogs.@count")] == [(2, 1), (1, 1), (0, 1)]


def test_a_key_of_groups_hides_an_inverse(store: objstore.Store) -> None:
    people = store.objects(Person)
    table = people.table("dogs.@count > 0 GROUP(name AS dogs) HAVING(dogs != 'x') SORT(dogs DESC) SELECT(dogs, @count)")
    assert list(map(tuple, table)) == [("Bob", 1), ("Ann", 1)]


class Owner(Model):
    pets: int = field(default=0, formerly=["dogs"])
    dogs: Backlinks["Pet"] = backlinks("owner")


class Pet(Model):
    owner: Owner | None = None


def test_a_former_name_of_a_property() -> None:
    with objstore.open(memory="former_names", models=[Owner, Pet]) as store:
        with store.write():
            store.add(Pet(owner=Owner(pets=3)))
        assert [owner.pets for owner in store.objects(Owner).filter("dogs.@count == 1")] == [3]


def test_what_is_wrong(store: objstore.Store) -> None:
    people = store.objects(Person)
    with pytest.raises(objstore.NoSuchProperty, match=r"a property dogz: did you mean dogs\?") as caught:
        people.filter("name == '' OR dogz.@count > 1")
    assert caught.value.position == 14
    with pytest.raises(objstore.WrongType) as caught:
        people.filter("dogs.age == 'x'")
    assert caught.value.position == 12
    with pytest.raises(objstore.NoSuchProperty, match="class Hound does not have a property yearz"):
        people.filter("dogs.yearz > 1")


def test_names_belong_to_the_handle(store: objstore.Store, tmp_path) -> None:
    path = tmp_path / "s.objstore"
    with objstore.open(path, models=[Person, Hound]) as opened, opened.write():
        opened.add(Hound(name="Rex", owner=Person(name="Ann")))
    with objstore.open(path) as found:  # models of the file: it has no such name
        people = found.objects(found.models["Person"])
        assert people.filter("@links.dogs.boss.@count == 1").count() == 1
        with pytest.raises(objstore.NoSuchProperty):
            people.filter("dogs.@count == 1")
