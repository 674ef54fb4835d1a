"""Observers of results in sections: each change set does to a copy what was done to the sections."""

import asyncio
import enum
import gc
import itertools
import random
from datetime import datetime, timezone
from typing import Any
from uuid import UUID

import pytest

import objstore
from objstore import NoSuchProperty, WrongType, WrongView, desc
from objstore.objects import state


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Owner(objstore.Model):
    name: str = ""


class Pet(objstore.Model):
    name: str = ""
    nick: str | None = None
    age: int = 0
    weight: float = 0.0
    good: bool = False
    born: datetime | None = None
    token: UUID | None = None
    data: bytes = b""
    colour: Colour = Colour.RED
    extra: Any = None
    owner: Owner | None = None


class Home(objstore.Model):
    pets: list[Pet]


@pytest.fixture
def store(tmp_path):
    with objstore.open(tmp_path / "pets.objstore", models=[Pet, Owner, Home]) as store:
        yield store


def shown(sections):
    """As keys and the numbers of the objects; an owner is its number."""
    return [(plain(section.key), [number_of(pet) for pet in section]) for section in sections]


def number_of(pet):
    return state.identity(pet)[1]


def plain(key):
    return number_of(key) if isinstance(key, Owner) else key


class Follower:
    """Sections that follow what they are told; `one`: the key of the only one."""

    def __init__(self, sections, one=None, is_one=False):
        self.is_one = is_one
        self.sections = [each for each in shown(sections) if not is_one or each[0] == one]
        self.told = 0
        self.last = None

    def __call__(self, change):
        if change.is_initial:
            return
        self.told += 1
        self.last = (change.section_deletions, change.section_insertions, change.deletions, change.insertions)
        self.last += (change.modifications, change.modifications_after, change.moves)
        number = (lambda section: 0) if self.is_one else (lambda section: section)
        for place, pet in zip(change.modifications, change.modified):
            assert self.sections[number(place[0])][1][place[1]] == number_of(pet)
        gone = {number_of(pet) for pet in change.deleted} | {number_of(pet) for pet in change.moved}
        for section, index in reversed(change.deletions):
            assert self.sections[number(section)][1].pop(index) in gone
        for section, key in reversed(list(zip(change.section_deletions, change.deleted_keys))):
            assert self.sections.pop(number(section)) == (plain(key), [])
        for section, key in zip(change.section_insertions, change.inserted_keys):
            self.sections.insert(number(section), (plain(key), []))
        coming = [number_of(pet) for pet in change.inserted]
        moved = {after: number_of(pet) for (_, after), pet in zip(change.moves, change.moved)}
        for place in change.insertions:
            pet = moved[place] if place in moved else coming.pop(0)
            self.sections[number(place[0])][1].insert(place[1], pet)
        assert not coming
        for place, pet in zip(change.modifications_after, change.modified):
            assert self.sections[number(place[0])][1][place[1]] == number_of(pet)


def test_what_is_told(store):
    """The example of the header."""
    with store.write():
        fido, flix, rex = (store.add(Pet(name=name)) for name in ("Fido", "Flix", "Rex"))
    sections = store.objects(Pet).sections(Pet.name, order="ascending", first_letter=True)
    follower = Follower(sections)
    with sections.observe(follower, initial=False):
        with store.write():
            store.delete(flix)
            rex.name = "Willy"
            store.add(Pet(name="Wolfie"))
        store.deliver()
    assert follower.last == ([1], [1], [(0, 1), (1, 0)], [(1, 0), (1, 1)], [], [], [((1, 0), (1, 0))])
    assert follower.sections == shown(sections)


def test_only_the_key_changes(store):
    """The last one of a section becomes the first of the next, and stands where it stood."""
    with store.write():
        store.add_all([Pet(name=name, age=age) for name, age in (("a", 1), ("b", 1), ("c", 2))])
    sections = store.objects(Pet).sections(Pet.age, order="ascending")
    follower = Follower(sections)
    with sections.observe(follower, keys=[], initial=False):
        with store.write():
            store.objects(Pet)[1].age = 2
        store.deliver()
        assert follower.last == ([], [], [(0, 1)], [(1, 0)], [], [], [((0, 1), (1, 0))])
        with store.write():
            store.objects(Pet)[1].age = 2
            store.objects(Pet)[0].name = "x"
        assert store.deliver() == 0


def walk(states):
    """From each to each, one step of all pairs after the other."""
    for place, first in enumerate(states):
        yield first
        for other in states[place + 1 :]:
            yield other
            yield first


@pytest.mark.parametrize("order", ["ascending", "descending", None])
@pytest.mark.parametrize("query", ["", "SORT(name DESC)", "SORT(name ASC) LIMIT(2)"])
def test_every_pair_of_partitions(order, query):
    """Of three objects, some of them not there, into two sections."""
    with objstore.open(memory="", models=[Pet, Owner, Home]) as store:
        sections = store.objects(Pet).filter(f"age > 0 {query}").sections(Pet.age, order=order)
        with store.write():
            pets = [store.add(Pet(name=name)) for name in "abc"]
        follower = Follower(sections)
        with sections.observe(follower, initial=False):
            for state in walk(list(itertools.product((0, 1, 2), repeat=3))):
                with store.write():
                    for pet, age in zip(pets, state):
                        if pet.age != age:
                            pet.age = age
                store.deliver()
                assert follower.sections == shown(sections), state
        assert follower.told > 500


@pytest.mark.parametrize("order", ["ascending", None])
def test_every_pair_of_orders(order):
    """Of four objects in two sections, sorted by another value."""
    with objstore.open(memory="", models=[Pet, Owner, Home]) as store:
        sections = store.objects(Pet).order_by(Pet.weight).sections(Pet.good, order=order)
        with store.write():
            pets = [store.add(Pet(good=good)) for good in (False, False, True, True)]
        follower = Follower(sections)
        with sections.observe(follower, keys=["name"], initial=False):
            for weights in walk(list(itertools.permutations(range(4)))):
                with store.write():
                    for weight, pet in zip(weights, pets):
                        pet.weight = float(weight)
                store.deliver()
                assert follower.sections == shown(sections), weights


VALUES = {
    "name": lambda pick: pick.choice(
        ["", "a", "A", "ab", "b", "Zoë", "ZOE", "ßa", "ẞa", "é", "abcdefghi", "abcdefghj"]
    ),
    "nick": lambda pick: pick.choice([None, "", "x", "y"]),
    "age": lambda pick: pick.randrange(4),
    "weight": lambda pick: pick.choice([0.0, -0.0, 1.5, float("inf"), -2.5]),
    "good": lambda pick: pick.random() < 0.5,
    "born": lambda pick: pick.choice([None, datetime(2020, 1, pick.randrange(1, 4), tzinfo=timezone.utc)]),
    "token": lambda pick: pick.choice([None, UUID(int=pick.randrange(3) << 100)]),
    "data": lambda pick: pick.choice([b"", b"a", b"ab"]),
    "colour": lambda pick: pick.choice(list(Colour)),
    "extra": lambda pick: pick.choice([None, True, 1, 1.0, 2, "a"]),
}
KEYS = [Pet.name, Pet.nick, Pet.age, Pet.weight, Pet.good, Pet.born, Pet.token, Pet.data, Pet.colour, Pet.extra]
KEYS += [Pet.owner, Pet.owner.name, Pet.age * 2 + 1, "age / 2", Pet.name.length, lambda pet: pet.age % 2]
KEYS += [lambda pet: pet.owner, lambda pet: pet.colour, lambda pet: pet.owner and pet.owner.name]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: "function" if callable(key) else str(key))
def test_keys_of_every_type(store, key):
    for order in ("ascending", None):
        pick = random.Random(str(order))
        with store.write():
            store.delete_all(Pet)
            owners = [store.add(Owner(name=name)) for name in "abc"]
        results = store.objects(Pet).order_by(desc(Pet.name))
        sections = results.sections(key, order=order)
        letters = results.sections(Pet.name, order=order, first_letter=True)
        followers = [(sections, Follower(sections)), (letters, Follower(letters))]
        tokens = [each.observe(follower, initial=False) for each, follower in followers]
        for _ in range(25):
            with store.write():
                for _ in range(pick.randrange(1, 5)):
                    pets = list(store.objects(Pet))
                    what = pick.choice([*VALUES, "owner", "owner", "rename", "new", "new", "gone"])
                    if what == "new" or not pets:
                        pet = Pet(**{name: value(pick) for name, value in VALUES.items()})
                        store.add(pet).owner = pick.choice([None, *owners])
                    elif what == "gone":
                        store.delete(pick.choice(pets))
                    elif what == "rename":
                        pick.choice(owners).name = pick.choice("abcd")
                    elif what == "owner":
                        pick.choice(pets).owner = pick.choice([None, *owners])
                    else:
                        setattr(pick.choice(pets), what, VALUES[what](pick))
            store.deliver()
            for each, follower in followers:
                # Values of a mixed property may be equal and written otherwise.
                assert follower.sections == shown(each)
        for token in tokens:
            token.close()


def test_many_at_once(store):
    """More than are looked at one by one, and back to few."""
    pick = random.Random(4)
    with store.write():
        store.add_all([Pet(name=str(number), age=pick.randrange(50)) for number in range(2000)])
    for results in (store.objects(Pet), store.objects(Pet).order_by(Pet.name), store.objects(Pet).where(Pet.age < 40)):
        for order in ("ascending", "descending", None):
            sections = results.sections(Pet.age, order=order)
            follower = Follower(sections)
            with sections.observe(follower, initial=False):
                for count in (1, 3, 500, 2, 1, 90, 1):
                    with store.write():
                        for pet in pick.sample(list(store.objects(Pet)), count):
                            pet.age = pick.randrange(50)
                    store.deliver()
                    assert follower.sections == shown(sections)


def test_a_key_behind_a_link(store):
    """Nothing of the pet is written; with key paths as well."""
    with store.write():
        owner = store.add(Owner(name="a"))
        pet = store.add(Pet(owner=owner))
        store.add(Pet())
    sections = store.objects(Pet).sections(Pet.owner.name)
    follower, other = Follower(sections), Follower(sections)
    with sections.observe(follower, initial=False), sections.observe(other, keys=[Pet.age], initial=False):
        with store.write():
            owner.name = "b"
        assert store.deliver() == 2
        assert (
            follower.sections == other.sections == [("b", [number_of(pet)]), (None, [number_of(store.objects(Pet)[1])])]
        )


def test_one_section(store):
    with store.write():
        pets = [store.add(Pet(name=name, age=age)) for name, age in (("a", 1), ("b", 2), ("c", 2))]
    sections = store.objects(Pet).sections(Pet.age, order="ascending")
    follower = Follower(sections, one=2, is_one=True)
    with sections[1].observe(follower, initial=False):

        def change(index, age, told):
            with store.write():
                pets[index].age = age
            assert store.deliver() == told
            mine = sections.get(2)
            assert follower.sections == ([] if mine is None else shown([mine]))

        change(0, 3, 0)  # another section stands there now, which is not told
        change(0, 2, 1)
        assert follower.last == ([], [], [], [(0, 0)], [], [], [])
        change(1, 0, 1)
        assert follower.last == ([], [], [(0, 1)], [], [], [], [])
        change(0, 0, 1)
        change(2, 0, 1)
        assert follower.last == ([0 + 1], [], [(1, 0)], [], [], [], [])
        change(1, 5, 0)
        change(1, 2, 1)
        assert follower.last == ([], [1], [], [(1, 0)], [], [], [])


def test_silent_writes_rests_and_what_is_lost(tmp_path):
    with objstore.open(tmp_path / "few.objstore", models=[Pet, Owner, Home], observer_lag=8) as store:
        with store.write():
            pets = [store.add(Pet(name=name, age=age)) for name, age in (("a", 1), ("b", 2))]
        sections = store.objects(Pet).sections(Pet.age)
        follower = Follower(sections)
        lost = []
        token = sections.observe(lambda change: lost.append(1) if change.is_lost else follower(change), initial=False)
        with store.write(without_notifying=[token]):
            pets[0].age = 2
        assert store.deliver() == 0
        follower.sections = shown(sections)
        with store.write():
            pets[1].age = 3
        store.deliver()
        assert follower.told == 1 and follower.sections == shown(sections)
        token.pause()
        for age in (7, 8):
            with store.write():
                pets[0].age = age
        assert store.deliver() == 0
        token.resume()
        assert store.deliver() == 1 and follower.sections == shown(sections)
        token.pause()
        for age in range(20):
            with store.write():
                pets[0].age = age
        token.resume()
        assert store.deliver() == 1 and lost == [1]
        token.close()


@pytest.mark.parametrize("order", ["ascending", None])
def test_a_silent_write_before_what_is_told(store, order):
    """The program has done its own change to what it knew then."""
    with store.write():
        a, b, c, d = (store.add(Pet(name=name, age=age)) for name, age in (("a", 1), ("b", 2), ("c", 2), ("d", 3)))
    sections = store.objects(Pet).sections(Pet.age, order=order)
    follower = Follower(sections)
    with sections.observe(follower, initial=False) as token:
        with store.write():
            a.age = 3  # a new first section, in the order of appearance
            store.add(Pet(name="e", age=0))
        with store.write(without_notifying=[token]):
            b.age = 4
            store.delete(d)
            store.add(Pet(name="f", age=2))
        [a, b, c, f] = (number_of(pet) for pet in (a, b, c, store.objects(Pet).where(Pet.name == "f")[0]))
        # d is gone, f behind c, and what is new behind the nearest section before it that was there: that of d, or 2.
        follower.sections = [(1, [a]), (2, [c, f]), (4, [b])]
        store.deliver()
        assert follower.told == 1 and follower.sections == shown(sections)


def test_a_list(store):
    """An object in it twice is in its section twice."""
    with store.write():
        pets = [store.add(Pet(name=name, age=age)) for name, age in (("a", 1), ("b", 2), ("c", 1))]
        home = store.add(Home(pets=[pets[0], pets[1], pets[0], pets[2]]))
    sections = home.pets.sections(Pet.age)
    follower = Follower(sections)
    owner_deleted = []
    with sections.observe(lambda change: (owner_deleted.append(change.is_owner_deleted), follower(change))):
        store.deliver()
        for step in (
            lambda: home.pets.append(pets[1]),
            lambda: home.pets.insert(0, pets[1]),
            lambda: home.pets.pop(2),
            lambda: setattr(pets[0], "age", 2),
            lambda: home.pets.clear(),
            lambda: home.pets.append(pets[2]),
        ):
            with store.write():
                step()
            store.deliver()
            assert follower.sections == shown(sections)
        with store.write():
            store.delete(home)
        store.deliver()
        assert follower.sections == [] and owner_deleted[-1]


def test_a_function(store):
    """It sees the objects of the version in which the observer looks, and what it raises is raised."""
    with store.write():
        owner = store.add(Owner(name="a"))
        pet = store.add(Pet(owner=owner))
    seen = []

    def key(pet):
        seen.append(pet)
        if pet.owner.name == "bad":
            raise ValueError("bad")
        return pet.owner.name

    sections = store.objects(Pet).sections(key)
    follower = Follower(sections)
    with sections.observe(follower, initial=False):
        with store.write():
            owner.name = "b"
        store.deliver()
        assert follower.sections == [("b", [number_of(pet)])]
        assert seen[-1].is_frozen
        with pytest.raises(objstore.Closed):
            seen[-1].name
        with store.write():
            owner.name = "bad"
        with pytest.raises(ValueError, match="bad"):
            store.deliver()
        with store.write():
            owner.name = "c"
        store.deliver()
        assert follower.sections == [("c", [number_of(pet)])]


def test_asyncio(store):
    async def main():
        with store.write():
            pet = store.add(Pet(age=1))
        sections = store.objects(Pet).sections(Pet.age)
        with sections.changes() as stream:
            first = await anext(stream)
            assert first.is_initial and first.section_insertions == []
            with store.write():
                pet.age = 2
            change = await anext(stream)
            assert (change.deleted_keys, change.inserted_keys) == ([1], [2])
            assert change.moves == [((0, 0), (0, 0))] and [each.age for each in change.moved] == [2]
            assert "sections of Pet" in repr(change)

    asyncio.run(main())


@pytest.mark.parametrize("key", [Pet.age, Pet.owner.name, lambda pet: pet.age], ids=["own", "link", "function"])
def test_since_a_version(tmp_path, key):
    """A program that comes back follows from what it knew."""
    path = tmp_path / "kept.objstore"
    with objstore.open(path, models=[Pet, Owner, Home]) as store:
        with store.write():
            store.add_all(
                [Pet(name=name, age=age, owner=Owner(name=name)) for name, age in (("a", 1), ("b", 2), ("c", 2))]
            )
        follower = Follower(store.objects(Pet).sections(key))
        seen = store.bookmark()
        store.keep_version("screen", seen)
    with objstore.open(path, models=[Pet, Owner, Home]) as store:
        with store.write():
            pets = list(store.objects(Pet))
            pets[0].age, pets[1].age = 2, 3
            pets[2].owner.name = "a"
        sections = store.objects(Pet).sections(key)
        with sections.observe(follower, since=seen):
            assert store.deliver() == 1
        assert follower.sections == shown(sections)


def test_what_is_refused(store):
    results = store.objects(Pet)
    sections = results.sections(Pet.age)
    with pytest.raises(objstore.InvalidArgument, match="function"):
        sections.observe(None)
    with pytest.raises(NoSuchProperty, match="Pet does not have a property ages"):
        sections.observe(print, keys=["ages"])
    with pytest.raises(WrongView):
        results.freeze().sections(Pet.age).observe(print)
    with pytest.raises(WrongType):
        results.sections(Pet.age, first_letter=True).observe(print)
    with store.write(), pytest.raises(objstore.AlreadyInWrite):
        sections.observe(print)


def test_it_ends_with_its_token(store):
    with store.write():
        pet = store.add(Pet(age=1))
    told = []
    token = store.objects(Pet).sections(lambda pet: pet.age).observe(told.append, initial=False)
    del token
    gc.collect()
    with store.write():
        pet.age = 2
    assert store.deliver() == 0 and told == []
