"""Queries that begin with a list, set, dict or inverse: filtered, sorted, cut, added up, grouped, live."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import objstore
from objstore import Backlinks, Dict, EmbeddedModel, List, Model, Set, backlinks, desc, field, group


class Note(EmbeddedModel):
    text: str = ""
    stars: int = 0


class Dog(Model):
    id: int = field(primary_key=True)
    name: str = ""
    age: int = 0
    weight: float | None = None
    kennels: Backlinks["Kennel"] = backlinks("dogs")


class Kennel(Model):
    id: int = field(primary_key=True)
    dogs: List[Dog]
    seen: Set[Dog]
    by_box: Dict[str, Dog | None]
    notes: List[Note]
    words: List[str]
    anything: List[Any]


@pytest.fixture
def store() -> Iterator[objstore.Store]:
    with objstore.open(memory="query_collections", models=[Dog, Kennel, Note]) as opened:
        yield opened


def names(dogs: Any) -> list[str]:
    return [dog.name for dog in dogs]


def fill(store: objstore.Store) -> Kennel:
    with store.write():
        rex, fido, ann, bo = (
            store.add(Dog(id=number, name=name, age=age, weight=weight))
            for number, (name, age, weight) in enumerate(
                [("Rex", 3, 20.5), ("Fido", 1, None), ("Ann", 7, 30.0), ("Bo", 1, 4.25)]
            )
        )
        store.add(Dog(id=9, name="Stranger", age=1, weight=99.0))
        return store.add(
            Kennel(
                id=1,
                dogs=[ann, fido, rex, fido, bo],
                seen=[rex, ann],
                by_box={"z": fido, "a": rex, "m": None, "b": rex},
                notes=[Note(text="good", stars=3), Note(text="bad", stars=1), Note(text="better", stars=5)],
                words=["a", "b"],
            )
        )


def test_a_list_in_its_order_with_what_is_there_twice(store: objstore.Store) -> None:
    kennel = fill(store)
    dogs = kennel.dogs
    assert names(dogs.objects()) == ["Ann", "Fido", "Rex", "Fido", "Bo"]
    assert names(dogs.where(Dog.age < 5)) == ["Fido", "Rex", "Fido", "Bo"]
    assert names(dogs.filter("age == $0", 1)) == ["Fido", "Fido", "Bo"]
    assert dogs.filter("age == 1").count() == 3
    assert dogs.filter("age == 1").first() == store.get(Dog, 1)
    assert names(dogs.order_by(Dog.name)) == ["Ann", "Bo", "Fido", "Fido", "Rex"]
    assert names(dogs.order_by(desc(Dog.age))) == ["Ann", "Rex", "Fido", "Fido", "Bo"]
    assert names(dogs.distinct(Dog.id)) == ["Ann", "Fido", "Rex", "Bo"]
    assert names(dogs.distinct(Dog.age)) == ["Ann", "Fido", "Rex"]
    assert names(dogs.limit(2)) == ["Ann", "Fido"]
    assert names(dogs.offset(3)) == ["Fido", "Bo"]
    assert names(dogs.limit(3).where(Dog.age == 1)) == ["Fido"]
    assert names(dogs.where(Dog.age == 1).limit(2).order_by(Dog.id)) == ["Fido", "Fido"]
    assert names(dogs.filter("age < 5 SORT(name DESC) LIMIT(3)")) == ["Rex", "Fido", "Fido"]
    assert names(dogs.where(Dog.age < 5)[1:3]) == ["Rex", "Fido"]
    assert dogs.where(Dog.age < 5)[-1].name == "Bo"
    assert store.get(Dog, 3) in dogs.where(Dog.age < 5)
    assert store.get(Dog, 2) not in dogs.where(Dog.age < 5)
    assert names(dogs.where(Dog.name == "Stranger")) == []
    assert dogs.where(Dog.name == "Stranger").first() is None
    assert dogs.limit(0).count() == 0


def test_sums_count_what_is_there_twice_twice(store: objstore.Store) -> None:
    dogs = fill(store).dogs
    assert dogs.objects().sum(Dog.age) == 7 + 1 + 3 + 1 + 1
    assert dogs.objects().avg(Dog.age) == 13 / 5
    assert dogs.where(Dog.age < 5).sum(Dog.weight) == 20.5 + 4.25
    assert dogs.where(Dog.age < 5).min(Dog.weight) == 4.25
    assert dogs.objects().max(Dog.weight) == 30.0
    assert dogs.where(Dog.name == "Fido").max(Dog.weight) is None
    assert dogs.where(Dog.name == "Fido").sum(Dog.weight) == 0
    assert dogs.limit(2).sum(Dog.age) == 8
    table = dogs.group_by(Dog.name).select(Dog.name, n=group.count, years=group.sum(Dog.age))
    assert sorted(map(tuple, table)) == [("Ann", 1, 7), ("Bo", 1, 1), ("Fido", 2, 2), ("Rex", 1, 3)]
    assert list(map(tuple, dogs.where(Dog.age == 1).select(Dog.name))) == [("Fido",), ("Fido",), ("Bo",)]
    assert [(s.key, names(s)) for s in dogs.sections(Dog.age)] == [
        (7, ["Ann"]),
        (1, ["Fido", "Fido", "Bo"]),
        (3, ["Rex"]),
    ]


def test_sets_and_dicts(store: objstore.Store) -> None:
    kennel = fill(store)
    assert names(kennel.seen.objects()) == names(kennel.seen)
    assert names(kennel.seen.where(Dog.age > 5)) == ["Ann"]
    assert names(kennel.by_box.objects()) == ["Rex", "Rex", "Fido"]  # a, b, (m), z
    assert kennel.by_box.objects().count() == 3
    assert names(kennel.by_box.where(Dog.age == 3)) == ["Rex", "Rex"]
    assert names(kennel.by_box.order_by(Dog.name)) == ["Fido", "Rex", "Rex"]


def test_embedded_objects(store: objstore.Store) -> None:
    kennel = fill(store)
    assert [n.text for n in kennel.notes.where(Note.stars > 1)] == ["good", "better"]
    assert [n.text for n in kennel.notes.order_by(Note.text)] == ["bad", "better", "good"]
    assert kennel.notes.objects().sum(Note.stars) == 9


def test_live(store: objstore.Store) -> None:
    kennel = fill(store)
    young = kennel.dogs.where(Dog.age < 2)
    with store.write():
        kennel.dogs.insert(0, store.add(Dog(id=5, name="Pup", age=0)))
        assert names(young) == ["Pup", "Fido", "Fido", "Bo"]
        for dog in young:  # each once that was there, whatever is done
            kennel.dogs.remove(dog)
        assert names(young) == []
    assert names(young) == []
    with store.write():
        kennel.dogs = [store.get(Dog, 3)]
    assert names(young) == ["Bo"]


def test_frozen_and_of_a_deleted_owner(store: objstore.Store) -> None:
    kennel = fill(store)
    young, dogs = kennel.dogs.where(Dog.age < 2), kennel.dogs
    frozen = young.freeze()
    in_frozen = kennel.freeze().dogs.where(Dog.age < 2)
    with store.write():
        store.delete(kennel)
    assert names(young) == [] and young.count() == 0 and young.first() is None and young.sum(Dog.age) == 0
    assert names(frozen) == ["Fido", "Fido", "Bo"] == names(in_frozen)
    with pytest.raises(objstore.NoSuchObject):
        dogs.where(Dog.age < 2)


def test_of_an_owner_that_was_rolled_back(store: objstore.Store) -> None:
    fill(store)
    results: list[Any] = []
    with pytest.raises(KeyError), store.write():
        other = store.add(Kennel(id=2, dogs=[store.get(Dog, 0)]))
        results.append(other.dogs.where(Dog.age > 0))
        assert names(results[0]) == ["Rex"]
        raise KeyError
    assert names(results[0]) == []


def test_changes_are_made_once(store: objstore.Store) -> None:
    kennel = fill(store)
    with store.write():
        assert kennel.dogs.where(Dog.age == 1).update(name="X") == 2
        assert kennel.dogs.where(Dog.age == 1).increment(age=5) == 2
    assert [(d.name, d.age) for d in kennel.dogs] == [("Ann", 7), ("X", 6), ("Rex", 3), ("X", 6), ("X", 6)]
    with store.write():
        assert kennel.dogs.where(Dog.name == "X").delete() == 2
    assert names(kennel.dogs) == ["Ann", "Rex"]
    assert store.objects(Dog).count() == 3


def test_inverses_and_their_lists(store: objstore.Store) -> None:
    kennel = fill(store)
    fido = store.get(Dog, 1)
    assert fido is not None
    assert [k.id for k in fido.kennels.where(Kennel.id == 1)] == [1]
    # Queries count links: Fido is there twice.
    assert names(fido.kennels[0].dogs.where(Dog.kennels.count == 1)) == ["Ann", "Rex", "Bo"]
    assert names(kennel.dogs.where(Dog.kennels.count == 2)) == ["Fido", "Fido"]
    assert [k.id for k in fido.kennels.order_by(desc(Kennel.id)).limit(1)] == [1]


def test_what_cannot_be_asked(store: objstore.Store) -> None:
    kennel = fill(store)
    with pytest.raises(objstore.WrongType, match=r"Kennel\.words is a list\[str\]: it has no links"):
        kennel.words.objects()  # type: ignore[misc]
    with pytest.raises(
        objstore.WrongType, match=r"'age < 2' is about Dog, and the elements of Kennel\.words are plain"
    ):
        kennel.words.where(Dog.age < 2)
    with pytest.raises(objstore.WrongType, match="no links"):
        kennel.anything.objects()
    with pytest.raises(objstore.InvalidArgument, match="Kennel"):
        kennel.dogs.where(Kennel.id == 1).count()
    with pytest.raises(objstore.NotSupported, match="a list, set or map cannot be written as a text"):
        kennel.dogs.where(Dog.age < 2).query_text()


def test_the_plan(store: objstore.Store) -> None:
    plan = fill(store).dogs.where(Dog.age < 2).order_by(Dog.name).explain(run=True)
    assert (plan.access, plan.by, plan.estimate, plan.filter) == ("collection", "dogs", 5, "age < 2")
    assert plan.steps == ("SORT(name ASC)",) and plan.found == 3
    assert "the links of dogs, 5 objects" in str(plan)


def conditions(dice: random.Random) -> tuple[Any, Callable[[Dog], bool]]:
    """One for the library, and what it means."""
    number = dice.randrange(-2, 40)
    return dice.choice(
        [
            (Dog.age < number, lambda d: d.age < number),
            (Dog.age == number, lambda d: d.age == number),
            (Dog.id >= 10 * number, lambda d: d.id >= 10 * number),
            ((Dog.age > number) | (Dog.name == "n3"), lambda d: d.age > number or d.name == "n3"),
            (~(Dog.age > number) & Dog.name.starts_with("n"), lambda d: d.age <= number and d.name.startswith("n")),
            (Dog.weight > number, lambda d: d.weight is not None and d.weight > number),
        ]
    )


@pytest.mark.parametrize("seed", range(6))
def test_random_lists_beside_loops(store: objstore.Store, seed: int) -> None:
    dice = random.Random(seed)
    with store.write():
        for number in range(600):
            weight = None if dice.random() < 0.2 else dice.randrange(400) / 8
            store.add(Dog(id=number, name=f"n{dice.randrange(9)}", age=dice.randrange(40), weight=weight))
        for dog in list(store.objects(Dog)):
            if dice.random() < 0.1:
                store.delete(dog)
        everyone = list(store.objects(Dog))
        kennels = [
            store.add(Kennel(id=number, dogs=dice.choices(everyone, k=dice.choice([0, 1, 5, 40, 100, 700]))))
            for number in range(8)
        ]

    def check() -> None:
        for kennel in kennels:
            own = list(kennel.dogs)
            for _ in range(6):
                condition, holds = conditions(dice)
                found = [dog for dog in own if holds(dog)]
                results = kennel.dogs.where(condition)
                assert list(results) == found, condition
                assert results.count() == len(found)
                assert results.first() == (found[0] if found else None)
                assert results.sum(Dog.age) == sum(dog.age for dog in found)
                assert results.sum(Dog.weight) == sum(dog.weight for dog in found if dog.weight is not None)
                assert list(results.order_by(Dog.name, desc(Dog.id))) == sorted(found, key=lambda d: (d.name, -d.id))
                firsts = {dog.age: dog for dog in reversed(found)}
                ages = list(dict.fromkeys(dog.age for dog in found))
                assert list(results.distinct(Dog.age).offset(1).limit(4)) == [firsts[age] for age in ages[1:5]]
                again, also = conditions(dice)
                assert list(results.order_by(Dog.age).limit(9).where(again)) == [
                    dog for dog in sorted(found, key=lambda d: d.age)[:9] if also(dog)
                ]

    check()
    with store.write():
        for kennel in kennels:
            for _ in range(10):
                kennel.dogs.insert(dice.randrange(len(kennel.dogs) + 1), dice.choice(everyone))
            del kennel.dogs[: dice.randrange(9)]
        for dog in dice.sample(everyone, 60):
            dog.age = dice.randrange(40)
        check()
    check()
