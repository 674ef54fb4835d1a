"""Changes of many objects in one step, with the scenarios that are about them."""

from typing import Any

import pytest

import objstore
from objstore import Backlinks, Model, backlinks, field


class Puppy(Model):
    id: int = field(primary_key=True)
    name: str = ""
    age: int = field(default=0, indexed=True)
    current_city: str | None = None
    weight: float | None = None
    chip: int | None = field(default=None, unique=True)
    owner: "Keeper | None" = None
    tags: list[str]
    keepers: Backlinks["Keeper"] = backlinks("dogs")


class Keeper(Model):
    id: int = field(primary_key=True)
    dogs: list[Puppy]
    fed: set[Puppy]
    named: dict[str, Puppy | None]
    seen: set[str]
    owned: Backlinks[Puppy] = backlinks("owner")


@pytest.fixture
def store(tmp_path):
    with objstore.open(tmp_path / "pets.objstore", models=[Puppy, Keeper]) as opened:
        with opened.write():
            opened.add_all(
                [Puppy(id=1, name="Fall", age=5), Puppy(id=2, name="Winter", age=1), Puppy(id=3, name="Summer", age=1)]
            )
            opened.add(Keeper(id=1))
        yield opened
        opened.verify()


def names(objects: Any) -> list[str]:
    return [obj.name for obj in objects]


def test_a05_collections_outside_a_write(store):
    ali, puppies = store.get(Keeper, 1), store.objects(Puppy)
    for change in (
        lambda: ali.dogs.append(puppies[0]),
        lambda: ali.fed.add(puppies[0]),
        lambda: ali.named.update(x=puppies[0]),
        lambda: setattr(ali, "dogs", puppies),
        lambda: puppies.update(age=1),
        lambda: puppies.increment(age=1),
        lambda: ali.dogs.update_objects(age=1),
        lambda: ali.dogs.delete_objects(),
        lambda: store.delete(puppies),
        lambda: store.delete_everything(),
    ):
        with pytest.raises(objstore.NotInWrite):
            change()
    assert not ali.dogs and not ali.fed and not ali.named and len(puppies) == 3


def test_a09_a_query_inside_the_write_gets_an_owner(store):
    with store.write():
        ali = store.create(Keeper, {"id": 7})
        young = store.objects(Puppy).where(Puppy.age < 2)
        assert young.update(owner=ali) == 2
        assert names(ali.owned) == ["Winter", "Summer"] and store.get(Puppy, 1).owner is None
        assert young.update(age=3) == 2  # its own condition: all of them get it
        assert not young and [p.age for p in store.objects(Puppy)] == [5, 3, 3]
        assert store.objects(Puppy).increment(age=2) == 3
        store.objects(Puppy).where(Puppy.id == 1).update(weight=1.5)
        store.objects(Puppy).increment(weight=1.0, age=-1)
        assert [(p.age, p.weight) for p in store.objects(Puppy)] == [(6, 2.5), (4, None), (4, None)]
        for wrong, kind in (
            ({"age": 2**63 - 1}, objstore.OutOfRange),
            ({"name": "x"}, objstore.WrongType),
            ({"id": 1}, objstore.KeyImmutable),
        ):
            with pytest.raises(kind):
                store.objects(Puppy).increment(weight=1.0, **wrong)
        assert store.get(Puppy, 1).weight == 2.5
        assert ali.owned.update(owner=None) == 2 and not ali.owned


def test_a71_assignment_and_increment(store):
    fall = store.get(Puppy, 1)
    with store.write():
        fall.name = "Wolfie"
        fall.age += 1
    assert (fall.name, fall.age) == ("Wolfie", 6)


def test_a73_properties_by_name(store):
    puppies, ali = store.objects(Puppy), store.get(Keeper, 1)
    with store.write():
        setattr(puppies.first(), "name", "Sparky")
        assert puppies.update(current_city="Toronto", tags=["a", "b"]) == 3
    assert getattr(puppies[0], "name") == "Sparky"
    assert all(p.current_city == "Toronto" and p.tags == ["a", "b"] for p in puppies)
    with store.write():
        with pytest.raises(objstore.NoSuchProperty) as error:
            puppies.update(town="x")
        assert error.value.class_name == "Puppy" and "town" in str(error.value)
        with pytest.raises(AttributeError):
            setattr(puppies[0], "town", "x")
        for wrong, kind in (
            ({"age": "seven"}, objstore.WrongType),
            ({"age": None}, objstore.NotNullable),
            ({"tags": [1]}, objstore.WrongType),
            ({"id": 4}, objstore.KeyImmutable),
            ({"chip": 4}, objstore.DuplicateKey),
        ):
            with pytest.raises(kind):
                puppies.update(current_city="x", **wrong)
        assert all(p.current_city == "Toronto" and p.chip is None for p in puppies)
        ali.dogs = [puppies[1], puppies[2], puppies[1]]
        assert ali.dogs.update_objects(current_city="Rome") == 2
        ali.fed = {puppies[0]}
        assert ali.fed.update_objects(age=9) == 1
        ali.named = {"x": puppies[0], "y": None}
        assert ali.named.update_objects(tags=["z"], age=8) == 1
        with pytest.raises(objstore.NoSuchProperty):
            ali.dogs.update_objects(town="x")
        with pytest.raises(objstore.WrongType):
            ali.seen.update_objects(age=1)
    assert [p.current_city for p in puppies] == ["Toronto", "Rome", "Rome"]
    assert puppies[0].age == 8 and puppies[0].tags == ["z"]


def test_a74_a_list_gets_the_objects_of_results(store):
    ali, young = store.get(Keeper, 1), store.objects(Puppy).where(Puppy.age < 2)
    frozen = store.freeze()
    with store.write():
        ali.dogs = [store.get(Puppy, 1)]
        ali.dogs = young
        ali.fed = young
        assert names(ali.dogs) == ["Winter", "Summer"] and len(ali.fed) == 2 and len(young[0].keepers) == 1
        assert not store.get(Puppy, 1).keepers
        with pytest.raises(objstore.WrongType):
            ali.dogs = store.objects(Keeper)
        with pytest.raises(objstore.WrongType):
            ali.seen = young
        other = store.create(Keeper, {"id": 2, "dogs": young})
        assert len(other.dogs) == 2
        other.dogs = frozen.objects(Puppy)  # of the same store, as it was
        assert len(other.dogs) == 3
        store.delete(store.get(Puppy, 3))
        with pytest.raises(objstore.NoSuchObject):
            other.dogs = frozen.objects(Puppy)
        assert len(other.dogs) == 2
        other.seen, other.dogs, other.named = ["b", "a", "b"], [], {}
        assert list(other.seen) == ["a", "b"] and not other.dogs and not other.named
    frozen.close()


def test_a76_deleting_results(store):
    young = store.objects(Puppy).where(Puppy.age < 2)
    with store.write():
        assert young.delete() == 2
        assert names(store.objects(Puppy)) == ["Fall"] and young.delete() == 0
    with store.write():
        store.delete(store.objects(Puppy))
        assert not store.objects(Puppy)


def test_a77_dependents_stay(store):
    ali, puppies = store.get(Keeper, 1), store.objects(Puppy)
    with store.write():
        ali.dogs = puppies
        store.delete(ali)
        assert len(puppies) == 3 and not ali.is_valid
        bob = store.create(
            Keeper, {"id": 2, "dogs": [puppies[0], puppies[1], puppies[0]], "named": {"x": puppies[0], "y": puppies[2]}}
        )
        assert bob.dogs.delete_objects() == 2
        assert bob.dogs == [] and len(puppies) == 1 and bob.named["x"] is None
        store.delete(bob.named)
        assert not puppies and dict(bob.named) == {"x": None, "y": None}
        store.delete(bob)
        with pytest.raises(objstore.NoSuchObject):
            bob.dogs.delete_objects()


def test_a79_deleting_everything(store):
    with store.write():
        store.get(Keeper, 1).dogs = store.objects(Puppy)
        assert store.delete_everything() == 4
        assert not store.objects(Puppy) and not store.objects(Keeper)
        store.add(Puppy(id=1))
    assert len(store.objects(Puppy)) == 1 and not store.objects(Keeper)


def test_several_objects_are_deleted_as_a_whole(store):
    first, second, third = store.objects(Puppy)
    with store.write():
        with pytest.raises(objstore.NoSuchObject):
            store.delete([first, second, first])
        with pytest.raises(objstore.WrongStore):
            store.delete([first, Puppy(id=9)])
        with pytest.raises(objstore.InvalidArgument):
            store.delete(7)
        assert len(store.objects(Puppy)) == 3
        store.delete(p for p in (first, third))
        assert names(store.objects(Puppy)) == ["Winter"] and second.is_valid


def test_a_loop_continues_over_what_it_began_with(store):
    with store.write():
        seen = []
        for puppy in store.objects(Puppy).where(Puppy.age < 2):
            seen.append(puppy.name)
            store.objects(Puppy).update(age=7)
        assert seen == ["Winter", "Summer"]
        ali = store.get(Keeper, 1)
        ali.dogs = store.objects(Puppy)
        seen = []
        for puppy in ali.dogs:
            seen.append(puppy.id)
            ali.dogs = []
        assert seen == [1, 2, 3]
