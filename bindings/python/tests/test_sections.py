"""Results in sections, against what Python makes of a list."""

import enum
import random
from datetime import datetime, timezone
from typing import Any
from uuid import UUID

import pytest

import objstore
from objstore import field


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Owner(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    boss: "Owner | None" = None


class Pet(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    nick: str | None = None
    age: int = field(default=0, indexed=True)
    bonus: int | None = None
    weight: float = 0.0
    good: bool = False
    born: datetime | None = None
    token: UUID | None = None
    data: bytes = b""
    colour: Colour = Colour.RED
    extra: Any = None
    owner: Owner | None = None
    friends: list[Owner]


NAMES = ["", "a", "A", "ab", "b", "Zoë", "zoe", "ZOE", "abcdefghi", "abcdefghj", "abcdefgh", "ßa", "ẞa", "é"]


def fill(store: objstore.Store, count: int, seed: int) -> None:
    pick = random.Random(seed)
    none = lambda value: None if pick.random() < 0.3 else value
    with store.write():
        owners: list[Owner] = []
        for id in range(4):
            owners.append(store.add(Owner(id=id, name=NAMES[id], boss=none(owners[0]) if owners else None)))
        for id in range(count):
            pet = Pet(
                id=id,
                name=pick.choice(NAMES),
                nick=none(pick.choice(NAMES)),
                age=pick.randrange(5),
                bonus=none(pick.choice([-(2**63), -1, 0, 1, 2**63 - 1])),
                weight=pick.choice([0.0, -0.0, 1.5, float("inf"), -2.5]),
                good=pick.random() < 0.5,
                born=none(datetime(2020, 1, pick.randrange(1, 4), tzinfo=timezone.utc)),
                token=none(UUID(int=pick.randrange(3) << 100)),
                data=pick.choice(NAMES).encode()[:3],
                colour=pick.choice(list(Colour)),
                extra=pick.choice([None, True, 1, 1.0, 2, "a", [1], {"a": 1}]),
                owner=none(pick.choice(owners)),
                friends=[pick.choice(owners) for _ in range(pick.randrange(3))],
            )
            store.add(pet)
        for pet in store.objects(Pet):
            if pick.random() < 0.2:
                store.delete(pet)


@pytest.fixture
def store(tmp_path):
    with objstore.open(tmp_path / "pets.objstore", models=[Pet, Owner]) as store:
        yield store


PRINTED = (bool, objstore.MixedList, objstore.MixedDict)


def grouped(pets, key):
    """{key: positions}, in the order of appearance. Python's equality of numbers is that of keys, but for bools."""
    found: dict[Any, tuple[Any, list[int]]] = {}
    for position, pet in enumerate(pets):
        value = key(pet)
        kept = value.id if isinstance(value, Owner) else repr(value) if isinstance(value, PRINTED) else value
        found.setdefault(kept, (value, []))[1].append(position)
    return list(found.values())


KEYS = [
    (Pet.name, lambda p: p.name),
    (Pet.nick, lambda p: p.nick),
    (Pet.age, lambda p: p.age),
    (Pet.bonus, lambda p: p.bonus),
    (Pet.weight, lambda p: p.weight),
    (Pet.good, lambda p: p.good),
    (Pet.born, lambda p: p.born),
    (Pet.token, lambda p: p.token),
    (Pet.data, lambda p: p.data),
    (Pet.colour, lambda p: p.colour),
    (Pet.owner, lambda p: p.owner),
    (Pet.owner.name, lambda p: p.owner and p.owner.name),
    ("owner.name", lambda p: p.owner and p.owner.name),
    ("owner.boss.name", lambda p: p.owner and p.owner.boss and p.owner.boss.name),
    (Pet.age * 2 + 1, lambda p: p.age * 2 + 1),
    ("age / 2", lambda p: p.age // 2),
    (Pet.name.length, lambda p: len(p.name)),
    ("friends.@count", lambda p: len(p.friends)),
    ("friends.@max.id", lambda p: max((f.id for f in p.friends), default=None)),
]


@pytest.mark.parametrize("key, plain", KEYS, ids=lambda value: str(value) if not callable(value) else "")
def test_against_a_list(store, key, plain):
    for seed in range(3):
        with store.write():
            store.delete_all(Pet)
            store.delete_all(Owner)
        fill(store, 60, seed)
        everything = store.objects(Pet)
        for results in (
            everything,
            everything.where(Pet.age > 1).order_by(Pet.nick),
            everything.where(Pet.age > 9),
            everything.order_by("weight").limit(7),
        ):
            pets = list(results)
            expected = grouped(pets, plain)
            for sections in (results.sections(key), results.sections(plain), results.freeze().sections(key)):
                assert len(sections) == len(expected), seed
                for section, (value, positions) in zip(sections, expected):
                    mine = section.key
                    if isinstance(mine, Owner):
                        mine, value = mine.id, value.id
                    assert (mine, section.positions) == (value, positions), seed
                    assert [pet.id for pet in section] == [pets[at].id for at in positions]
                    assert [pet.id for pet in section[::-1]] == [pets[at].id for at in positions[::-1]]
            sections = results.sections(key)
            for index, (value, positions) in enumerate(expected):
                assert sections.get(value).positions == positions
                assert value in sections
                for place, position in enumerate(positions):
                    assert sections.find_position(position) == (index, place) == sections.find(pets[position])
            for order in ("ascending", "descending"):
                by_key, by_answer = results.sections(key, order=order), results.sections(plain, order=order)
                assert [s.positions for s in by_key] == [s.positions for s in by_answer], (seed, order)
                assert sorted(s.positions for s in by_key) == sorted(positions for _, positions in expected)
                keys = [k for k in by_key.keys() if k is not None and not isinstance(k, (Owner, Colour))]
                assert keys == sorted(keys, reverse=order == "descending")


def test_values_of_any_type(store):
    fill(store, 80, 5)
    pets = list(store.objects(Pet))
    # True is no number; 1 and 1.0 are one key.
    expected = grouped(pets, lambda p: p.extra)
    assert [s.positions for s in store.objects(Pet).sections(Pet.extra)] == [positions for _, positions in expected]


def test_first_letters(store):
    with store.write():
        for id, name in enumerate(["zoe", "Zoë", "", "ärger", "Ärger", "ßa", "ẞa", "1"]):
            store.add(Pet(id=id, name=name, nick=name or None))
    pets = store.objects(Pet)
    sections = pets.sections(Pet.name, first_letter=True)
    assert sections.keys() == ["Z", "", "Ä", "ß", "1"]
    assert [[pet.id for pet in section] for section in sections] == [[0, 1], [2], [3, 4], [5, 6], [7]]
    assert pets.sections("nick", first_letter=True, order="ascending").keys() == [None, "1", "Z", "Ä", "ß"]
    assert pets.sections(lambda pet: pet.name, order="descending").keys()[0] == "ẞa"
    with pytest.raises(objstore.WrongType, match="age is an int: a text has a first letter"):
        pets.sections(Pet.age, first_letter=True).keys()


def test_live(store):
    fill(store, 0, 0)
    with store.write():
        for id, name in enumerate(["Rex", "Wolfie", "Rolf"]):
            store.add(Pet(id=id, name=name))
    pets = store.objects(Pet)
    sections = pets.sections(Pet.name, first_letter=True)
    section, frozen = sections[0], pets.freeze().sections(Pet.name, first_letter=True)
    assert sections.keys() == ["R", "W"] and len(section) == 2
    with store.write():
        store.add(Pet(id=3, name="Ally"))
        assert sections.keys() == ["R", "W", "A"]
        store.delete(pets[0])
        assert sections.keys() == ["W", "R", "A"] and [pet.name for pet in sections[1]] == ["Rolf"]
        # What was taken out stays as it is; a loop passes what is gone.
        assert len(section) == 2 and [pet.name for pet in section] == ["Rolf"] and not section[0].is_valid
    assert sections.keys() == ["W", "R", "A"] and [pet.name for pet in section] == ["Rolf"]
    assert frozen.keys() == ["R", "W"] and [pet.name for pet in frozen[0]] == ["Rex", "Rolf"]
    with store.write():
        pets[0].name = "Rolf"
        assert sections.keys() == ["R", "A"]


def test_a_loop_beyond_a_write(store):
    with store.write() as tx:
        for id in range(3):
            store.add(Pet(id=id, name="a"))
        seen = iter(store.objects(Pet).sections(Pet.name)[0])
        assert next(seen).id == 0
        tx.cancel()
    assert list(seen) == []
    with store.write():
        for id in range(3):
            store.add(Pet(id=id, name="a"))
        seen = iter(store.objects(Pet).sections(Pet.name)[0])
        assert next(seen).id == 0
    assert [pet.id for pet in seen] == [1, 2]


def test_functions(store):
    fill(store, 20, 1)
    pets = store.objects(Pet)
    with pytest.raises(ZeroDivisionError):
        pets.sections(lambda pet: 1 // 0).keys()
    with pytest.raises(objstore.WrongType, match="no key of a section"):
        pets.sections(lambda pet: [pet.age]).keys()
    with pytest.raises(objstore.WrongType):
        pets.sections(lambda pet: object()).keys()
    with pytest.raises(objstore.InvalidArgument, match="the key of sections is a function"):
        pets.sections(3)
    with pytest.raises(objstore.InvalidArgument, match="never run"):
        pets.sections(lambda pet: (yield))
    called: list[int] = []
    sections = pets.sections(lambda pet: called.append(pet.id) or pet.colour)
    assert set(sections.keys()) == set(Colour) and len(called) == len(pets)
    assert sections.get(Colour.RED).key is Colour.RED and len(called) == len(pets)
    with store.write():
        pets[0].age = 77
    assert len(sections) == 2 and len(called) == 2 * len(pets)
    # One that deletes: what is gone is not asked about.
    with store.write():
        count = len(pets)
        left = pets.sections(lambda pet: (store.delete(pets[1]) if len(pets) == count else None) or pet.id).keys()
        assert len(left) == count - 1


@pytest.mark.parametrize(
    "key, error",
    [
        ("nme", objstore.NoSuchProperty),
        ("age <", objstore.InvalidQuery),
        ("age < 2", objstore.InvalidQuery),
        ("1", objstore.InvalidQuery),
        ("", objstore.InvalidQuery),
        ("friends", objstore.InvalidQuery),
        ("friends.name", objstore.InvalidQuery),
        ("name * 2", objstore.WrongType),
        ("age SORT(age ASC)", objstore.InvalidQuery),
        (Owner.name, objstore.InvalidArgument),
    ],
)
def test_what_is_no_key(store, key, error):
    with pytest.raises(error):
        store.objects(Pet).sections(key).keys()


def test_small_print(store):
    fill(store, 20, 2)
    pets = store.objects(Pet)
    sections = pets.sections(Pet.age, order="ascending")
    for index in (len(sections), -len(sections) - 1):
        with pytest.raises(IndexError):
            sections[index]
    with pytest.raises(IndexError):
        sections[0][len(sections[0])]
    with pytest.raises(objstore.IndexOutOfRange):
        sections.find_position(len(pets))
    with pytest.raises(objstore.IndexOutOfRange):
        sections.find_position(-1)
    assert sections[-1].key == sections.keys()[-1] and [s.key for s in sections[1:3]] == sections.keys()[1:3]
    assert sections.get("a text") is None and "a text" not in sections and sections[0] in sections
    assert sections.find(Pet(id=1)) is None and sections.find(store.objects(Owner)[0]) is None  # type: ignore[arg-type]
    assert sections[0][0] in sections[0] and sections[1][0] not in sections[0]
    assert repr(sections[0]) == f"<Section {sections[0].key!r}: {len(sections[0])}>"
    assert repr(sections).startswith("<Sections of <Results of Pet")
    with pytest.raises(objstore.InvalidArgument, match="order is 'ascending', 'descending' or None"):
        pets.sections(Pet.age, order="up")
    with pytest.raises(objstore.InvalidArgument, match="arguments are for"):
        pets.sections(Pet.age, 3)
    assert pets.sections("age / $0", 2, order="ascending").keys() == sorted({pet.age // 2 for pet in pets})
    assert not pets.where(Pet.age > 99).sections(Pet.age)
    store.close()
    with pytest.raises(objstore.Closed):
        sections.keys()
