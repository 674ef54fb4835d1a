"""Links to other objects and their inverses: classes that come later, graphs, questions, deletions."""

import random
from typing import Optional

import pytest

import objstore
from objstore import Backlinks, backlinks, field


class Dog(objstore.Model):
    name: str = ""
    owner: "Person | None" = None
    friend: "Optional[Dog]" = None
    admirers: Backlinks["Dog"] = backlinks("friend")


class Person(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    boss: Optional["Person"] = None
    dogs: "Backlinks[Dog]" = backlinks("owner")
    reports: Backlinks["Person"] = backlinks("boss")


MODELS = [Dog, Person]


@pytest.fixture
def store(path):
    with objstore.open(path, models=MODELS) as opened:
        yield opened
        opened.verify()


def names(dogs):
    return [dog.name for dog in dogs]


def test_links_and_their_inverses(store):
    with store.write():
        ann, bob = store.add(Person(id=1, name="Ann")), store.add(Person(id=2, name="Bob"))
        dogs = [store.add(Dog(name=f"dog {i}", owner=(ann, bob)[i % 2])) for i in range(10)]
        dogs[9].owner = None
        bob.boss = ann
        assert len(ann.dogs) == 5 and len(bob.dogs) == 4  # the write sees its changes
    assert dogs[0].owner == ann and dogs[1].owner == bob and dogs[9].owner is None
    assert dogs[0].owner.name == "Ann" and dogs[1].owner.boss.name == "Ann" and ann.boss is None
    assert names(ann.dogs) == [f"dog {i}" for i in range(0, 10, 2)] and isinstance(ann.dogs, objstore.Results)
    assert bob.dogs[3].name == "dog 7" and bob.dogs.first().name == "dog 1" and list(bob.reports) == []
    assert list(ann.reports) == [bob] and dogs[0] in ann.dogs and dogs[1] not in ann.dogs
    every = store.objects(Dog)
    assert [dog.owner for dog in every] == [ann, bob] * 4 + [ann, None]
    assert list(every.to_numpy("owner")) == [ann, bob] * 4 + [ann, None]
    assert every.where(Dog.owner == ann).count() == 5 and names(every.where(Dog.owner == None)) == ["dog 9"]
    assert every.where(Dog.owner != ann).count() == 5 and names(every.filter("owner = $0", bob)) == names(bob.dogs)
    assert (
        repr(dogs[0]) == "Dog(name='dog 0', owner=<Person 1>, friend=None)"
        and "&lt;Person 1&gt;" in every._repr_html_()
    )
    with store.freeze() as frozen:
        with store.write():
            dogs[1].owner = ann
            bob.name = "Robert"
        old = frozen.objects(Dog)[1]
        assert old.owner.name == "Bob" and old.owner.is_frozen and len(old.owner.dogs) == 4
        assert dogs[1].owner.name == "Ann" and len(bob.dogs) == 3
    with store.write():
        assert store.objects(Dog).where(Dog.owner == ann).update(owner=bob) == 6
    assert len(ann.dogs) == 0 and len(bob.dogs) == 9


def test_refused(store, tmp_path):
    with store.write():
        ann, dog = store.add(Person(id=1)), store.add(Dog())
        gone = store.add(Person(id=2))
        store.delete(gone)
    loose = Person(id=3)
    with objstore.open(tmp_path / "other", models=MODELS) as other, other.write():
        stranger = other.add(Person(id=1))
        other_dog = other.add(Dog())
    with objstore.open(tmp_path / "other", models=MODELS) as other, store.write():
        stranger = other.get(Person, 1)
        for wrong, error in [
            (dog, objstore.WrongType),
            (1.5, objstore.WrongType),
            ("Ann", objstore.WrongType),
            (gone, objstore.NoSuchObject),
            (stranger, objstore.WrongStore),
        ]:
            for attempt in [
                lambda: setattr(dog, "owner", wrong),
                lambda: store.create(Dog, {"owner": wrong}),
                lambda: store.add(Dog(owner=wrong)),
                lambda: store.create_all(Dog, [{"owner": None}, {"owner": wrong}]),
            ]:
                with pytest.raises(error) as caught:
                    attempt()
                assert caught.value.class_name == "Dog" and caught.value.property_name == "owner", str(caught.value)
        assert caught.value.position == 1
        for attempt in [
            lambda: Dog.owner == loose,
            lambda: store.objects(Dog).filter("owner == $0", loose),
            lambda: loose.dogs,
        ]:
            with pytest.raises(objstore.WrongStore, match="belongs to no store"):
                attempt()
        with pytest.raises(objstore.InvalidArgument):
            ann.dogs = []
        with pytest.raises(objstore.WrongType):
            store.objects(Dog).sum(Dog.owner)
        with pytest.raises(objstore.WrongType):
            store.objects(Dog).where(Dog.owner < ann).count()
        assert store.objects(Dog).count() == 1 and dog.owner is None and not loose.is_managed
    with pytest.raises(objstore.NotInWrite):
        dog.owner = loose


def test_deleted_targets(store):
    with store.write():
        ann = store.add(Person(id=1))
        dogs = [store.add(Dog(name=str(i), owner=ann if i != 1 else None)) for i in range(3)]
    seen = []
    with store.objects(Dog).observe(
        lambda change: seen.append(
            (change.modifications, [change.written(i) for i in range(change.modification_count)])
        ),
        initial=False,
    ):
        with store.write():
            assert [dog.owner for dog in store.objects(Dog)] == [ann, None, ann]
            read = list(store.objects(Dog))
            assert read[0].owner == ann
            store.delete(ann)
            assert read[0].owner is None and [dog.owner for dog in dogs] == [None] * 3  # what was read before, too
        store.deliver()
    assert seen == [([0, 2], [("owner",), ("owner",)])]
    assert len(ann.dogs) == 0
    with store.write():
        people = [store.add(Person(id=i)) for i in range(2, 5)]
        for dog, person in zip(dogs, people):
            dog.owner = person
        store.objects(Person).where(Person.id == 2).delete()
        assert [dog.owner for dog in dogs] == [None, *people[1:]]
        store.delete_all(Person)
        assert [dog.owner for dog in store.objects(Dog)] == [None] * 3


def test_graphs(store):
    a, b, c, owner = Dog(name="a"), Dog(name="b"), Dog(name="c"), Person(id=7)
    a.friend, b.friend, c.friend = b, c, a
    for dog in (a, b, c):
        dog.owner = owner
    owner.boss = owner
    assert a.friend is b and repr(a) == "Dog(name='a', owner=<Person 7>, friend=<Dog>)"
    with store.write():
        store.add(a)
    assert a.friend == b and b.friend == c and c.friend == a and owner.boss == owner
    assert len(owner.dogs) == 3 and names(a.admirers) == ["c"] and store.objects(Dog).count() == 3

    # All or none: an owner with that key is there.
    good, twin = Dog(friend=Dog()), Person(id=7, name="the other")
    good.owner = twin
    with store.write():
        with pytest.raises(objstore.DuplicateKey):
            store.add(good)
        assert not good.is_managed and not good.friend.is_managed and store.objects(Dog).count() == 3
        with pytest.raises(objstore.NoPrimaryKey):
            store.add(good, update="modified")
        twin.boss = Person(id=8, boss=twin)
        store.add(twin, update="modified")
        store.add(good)
    assert owner == twin and owner.name == "the other" and owner.boss.id == 8 and owner.boss.boss == owner
    assert store.objects(Dog).count() == 5 and store.objects(Person).count() == 2

    # Assigning adds; what is undone is unmanaged again.
    newcomer = Dog(friend=Dog())
    with store.write() as tx:
        a.friend = newcomer
        assert newcomer.is_managed and newcomer.friend.is_managed
        tx.cancel()
    assert not newcomer.is_managed and a.friend == b
    with store.write():
        a.friend = newcomer
    assert a.friend == newcomer and store.objects(Dog).count() == 7


def test_many(store):
    owners = [Person(id=i) for i in range(10)]
    with store.write():
        store.add_all(owners)
        counts = store.add_all([Dog(name=str(i), owner=owners[i % 10] if i % 3 else None) for i in range(1000)])
        assert counts == (1000, 0, 0) and len(owners[1].dogs) == 67
        assert store.create_all(Dog, [{"owner": owners[0]}, {"owner": None}]) == (2, 0, 0)
        first, second = Person(id=11), Person(id=12)
        dogs = [Dog(owner=first), Dog(owner=first), Dog(owner=second), second]
        assert store.add_all(dogs) == (4, 0, 0)
        assert len(first.dogs) == 2 and len(second.dogs) == 1
        with pytest.raises(objstore.DuplicateKey) as caught:
            store.add_all([Dog(), Dog(owner=Person(id=13)), Dog(owner=Person(id=11))])
        assert caught.value.position == 2 and store.objects(Person).count() == 12
        with pytest.raises(objstore.InvalidText) as caught:
            store.add_all([Dog(owner=Person(id=22)), Dog(name="abc\ud800", owner=Person(id=23))])
        assert caught.value.position == 1
        # Some of one class that lead to nothing, and then others that do.
        assert store.add_all([Person(id=20), Dog(owner=Person(id=21))]) == (2, 0, 0)
    chain = last = Dog()
    for _ in range(5000):
        last.friend = last = Dog()
    with store.write():
        store.add(chain)
    length = 0
    while chain.friend is not None:
        chain, length = chain.friend, length + 1
    assert length == 5000


def test_history_against_a_model(path):
    """Random links, changes and deletions: all links and all inverses compared."""
    seed = 5
    rng = random.Random(seed)
    people, dogs, serial = {}, {}, 0
    for _ in range(6):
        with objstore.open(path, models=MODELS) as store:
            people = {i: store.get(Person, i) for i in people}
            dogs = {store_dog.name: (store_dog, dogs[store_dog.name][1]) for store_dog in store.objects(Dog)}
            for _ in range(40):
                with store.write():
                    for _ in range(rng.randrange(12)):
                        serial += 1
                        what = rng.randrange(5)
                        target = rng.choice([None, *people]) if people else None
                        owner = None if target is None else people[target]
                        if what == 0:
                            people[serial] = store.add(Person(id=serial))
                        elif what == 1:
                            dogs[str(serial)] = (store.add(Dog(name=str(serial), owner=owner)), target)
                        elif what == 2 and dogs:
                            name = rng.choice(list(dogs))
                            dogs[name][0].owner = owner
                            dogs[name] = (dogs[name][0], target)
                        elif what == 3 and len(people) > 3 and target is not None:
                            store.delete(people.pop(target))
                            dogs = {n: (d, None if o == target else o) for n, (d, o) in dogs.items()}
                        elif what == 4 and len(dogs) > 20:
                            store.delete(dogs.pop(rng.choice(list(dogs)))[0])
                for name, (dog, owner) in dogs.items():
                    assert (dog.owner.id if dog.owner else None) == owner, (seed, name)
                for number, person in people.items():
                    wanted = [name for name, (_, owner) in dogs.items() if owner == number]
                    assert names(person.dogs) == wanted and len(person.dogs) == len(wanted), (seed, number)
            store.verify()


def test_models_that_cannot_be(path):
    def declared(annotation, **namespace):
        return type(
            "Bad", (objstore.Model,), {"__annotations__": {"x": annotation}, "__module__": __name__, **namespace}
        )

    for annotation, given, error in [
        ("Person", {}, objstore.SchemaError),
        (Person, {}, objstore.SchemaError),
        ("NotYetThere", {}, objstore.NotSupported),
        ("Person | None", {"x": field(primary_key=True)}, objstore.SchemaError),
        ("Person | None", {"x": field(indexed=True)}, objstore.SchemaError),
        ("Person | None", {"x": Person(id=1)}, objstore.SchemaError),
        ("Person | Dog | None", {}, objstore.NotSupported),
        ("list[Person | None]", {}, objstore.SchemaError),
        ("dict[str, Person]", {}, objstore.SchemaError),
        ("dict[Person, int]", {}, objstore.NotSupported),
        ("Backlinks[Dog]", {}, objstore.SchemaError),
        ("int", {"x": backlinks("owner")}, objstore.SchemaError),
        ("Backlinks", {"x": backlinks("owner")}, objstore.SchemaError),
        ("Backlinks[int]", {"x": backlinks("owner")}, objstore.SchemaError),
    ]:
        with pytest.raises(error) as caught:
            declared(annotation, **given)
        assert caught.value.class_name == "Bad" and caught.value.property_name == "x", str(caught.value)
    for annotation, given, models in [
        ("NotYetThere | None", {}, []),
        ("Person | None", {}, []),
        ("list[NotYetThere]", {}, []),
        ("set[Person]", {}, []),
        ("Backlinks[NotYetThere]", {"x": backlinks("owner")}, []),
        ("Backlinks[Dog]", {"x": backlinks("owner")}, MODELS),
        ("Backlinks[Dog]", {"x": backlinks("name")}, MODELS),
        ("Backlinks[Dog]", {"x": backlinks("nothing")}, MODELS),
    ]:
        with pytest.raises(objstore.SchemaError) as caught:
            objstore.open(path, models=[declared(annotation, **given), *models])
        assert caught.value.class_name == "Bad" and caught.value.property_name == "x", str(caught.value)
    with pytest.raises(objstore.InvalidArgument):
        backlinks(Dog)
    with pytest.raises(TypeError, match="dogs"):
        Person(id=1, dogs=[])


def test_a_class_of_a_function_that_comes_later(path):
    class Leaf(objstore.Model):
        branch: "Branch | None" = None

    class Branch(objstore.Model):
        leaves: Backlinks[Leaf] = backlinks("branch")

    with objstore.open(path, models=[Leaf, Branch]) as store:
        with store.write():
            leaf = store.add(Leaf(branch=Branch()))
        assert leaf in leaf.branch.leaves


def test_another_target_is_refused(path):
    def models(target):
        home = type("Home", (objstore.Model,), {"__annotations__": {"n": "int"}, "n": 0, "__module__": __name__})
        away = type("Away", (objstore.Model,), {"__annotations__": {"n": "int"}, "n": 0, "__module__": __name__})
        team = {"__annotations__": {"place": f"{target} | None"}, "place": None, "__module__": __name__}
        return [home, away, type("Team", (objstore.Model,), team)]

    objstore.open(path, models=models("Home")).close()
    with pytest.raises(objstore.SchemaError) as caught:
        objstore.open(path, models=models("Away"))
    assert caught.value.class_name == "Team" and caught.value.property_name == "place"


def test_graphs_with_collections(path):
    class Node(objstore.Model):
        name: str = field(primary_key=True)
        next: "Node | None" = None
        words: list[str]
        notes: dict[str, int]

    with objstore.open(path, models=[Node]) as store:
        a, b = Node(name="a", words=["x", "y"]), Node(name="b", notes={"n": 1})
        a.next, b.next = b, a
        with store.write():
            store.add(a)
        assert list(a.next.notes.items()) == [("n", 1)] and list(b.next.words) == ["x", "y"] and b.next == a
        again = Node(name="a", words=["z"], next=Node(name="c", words=["q"]))
        with store.write():
            assert store.add_all([again, Node(name="d")], update="modified") == (1, 1, 0)
        assert list(a.words) == ["z"] and a.next.name == "c" and list(a.next.words) == ["q"]
        with store.write():
            with pytest.raises(objstore.NotNullable):
                store.add(Node(name="e", next=Node(name="f", words=["ok", None])))
            assert store.objects(Node).count() == 4
