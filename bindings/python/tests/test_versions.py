"""Frozen things and back, references, what a process lets go of, and how many versions are alive; silent writes."""

import asyncio
import pathlib
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import objstore
from objstore import Backlinks, Model, Reference, backlinks, field


class Dog(Model):
    name: str = ""
    age: int = 0
    owner: "Person | None" = None


class Person(Model):
    id: int = field(primary_key=True)
    name: str = ""
    dogs: list[Dog] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    notes: dict[str, str] = field(default_factory=dict)
    extra: Any = None
    owned: Backlinks[Dog] = backlinks("owner")


MODELS = [Dog, Person]


@pytest.fixture
def store(path: pathlib.Path) -> Iterator[objstore.Store]:
    with objstore.open(path, models=MODELS) as made:
        yield made
        if not made.is_closed:
            made.verify()


@pytest.fixture
def john(store: objstore.Store) -> Person:
    def body(tx: objstore.Transaction) -> Person:
        return store.create(
            Person,
            {
                "id": 1,
                "name": "John Kane",
                "dogs": [{"name": "Rex", "age": 3}, {"name": "Ella", "age": 1}],
                "tags": ["a", "b"],
                "notes": {"door": "open"},
                "extra": {"seen": [1, 2]},
            },
        )

    return store.write(body)


def change(store: objstore.Store, john: Person) -> None:
    with store.write():
        john.name = "John"
        john.dogs[0].age = 4
        john.dogs.append(Dog(name="Max"))
        john.tags.add("c")
        john.notes["door"] = "closed"
        john.extra["seen"].append(3)


def test_a87_frozen_and_thawed(store: objstore.Store, john: Person) -> None:
    with store.freeze() as frozen:
        results, person = store.objects(Dog).where(Dog.age > 0).freeze(), john.freeze()
        change(store, john)
        assert frozen.is_frozen and results.is_frozen and person.is_frozen and not john.is_frozen
        there = frozen.get(Person, 1)
        assert there is not None and there == person == john
        for each in (there, person):
            assert each.name == "John Kane" and [dog.age for dog in each.dogs] == [3, 1]
        assert [dog.age for dog in results] == [3, 1] and all(dog.is_frozen for dog in results)
        assert [dog.age for dog in results.thaw()] == [4, 1] and not results.thaw()[0].is_frozen
        with store.write():
            with pytest.raises(objstore.NotInWrite, match="a version that never changes"):
                person.name = "?"
            with pytest.raises(objstore.NotInWrite, match="a version that never changes"):
                results.update(age=1)
            with pytest.raises(objstore.NotInWrite, match="a version that never changes"):
                person.dogs.append(Dog())
        for observe in (
            lambda: person.observe(print),
            lambda: results.observe(print),
            lambda: results.changes(),
        ):
            with pytest.raises(objstore.WrongView, match="a frozen version never changes"):
                observe()
        thawed = person.thaw()
        assert thawed is not None and thawed == john and not thawed.is_frozen
        with store.write():
            thawed.name = "John Michael Kane"
        assert john.name == "John Michael Kane" and person.name == "John Kane"
        assert frozen.thaw() is store and store.thaw() is store and frozen.freeze() is frozen


def test_collections(store: objstore.Store, john: Person) -> None:
    live: list[Any] = [john.dogs, john.tags, john.notes, john.extra, john.extra["seen"]]
    frozen = [each.freeze() for each in live]
    assert [each.is_frozen for each in live] == [False] * 5 and [each.is_frozen for each in frozen] == [True] * 5
    change(store, john)
    dogs, tags, notes, extra, seen = frozen
    assert [dog.age for dog in dogs] == [3, 1] and all(dog.is_frozen for dog in dogs)
    assert (tags, notes, extra.copy(), list(seen)) == ({"a", "b"}, {"door": "open"}, {"seen": [1, 2]}, [1, 2])
    assert extra["seen"].is_frozen
    thawed = [each.thaw() for each in frozen]
    assert [type(each) for each in thawed] == [type(each) for each in live]
    assert [dog.age for dog in thawed[0]] == [4, 1, 0]
    assert (thawed[1], thawed[2], list(thawed[4])) == ({"a", "b", "c"}, {"door": "closed"}, [1, 2, 3])
    assert all(each.freeze() is each for each in frozen) and all(each.thaw() is each for each in live)
    with store.write():
        for act in (
            lambda: dogs.append(Dog()),
            lambda: tags.add("d"),
            lambda: notes.clear(),
            lambda: seen.append(5),
            lambda: extra.update(a=1),
        ):
            with pytest.raises(objstore.NotInWrite, match="a version that never changes"):
                act()
        thawed[4].append(4)
        john.extra = {"seen": {"of": 5}}
        assert seen.thaw() is None and extra.thaw() is not None
    assert thawed[0][0].is_frozen is False


def test_both_are_thawed(store: objstore.Store, john: Person) -> None:
    """Of two frozen things one cannot be put into the other, nor into what is live."""
    dog, person = store.write(lambda tx: store.add(Dog(name="New"))).freeze(), john.freeze()
    with store.write():
        with pytest.raises(objstore.NotInWrite):
            person.dogs.append(dog)
        thawed_dog, thawed = dog.thaw(), person.thaw()
        assert thawed is not None and thawed_dog is not None
        thawed.dogs.append(thawed_dog)
    assert [each.name for each in john.dogs] == ["Rex", "Ella", "New"]


def test_what_is_gone(store: objstore.Store, john: Person) -> None:
    results = john.owned.freeze()
    parts = [john.dogs, john.notes, john.tags, john.extra]
    frozen = [john.freeze(), *(each.freeze() for each in parts)]
    store.write(lambda tx: store.delete(john))
    assert [each.thaw() for each in frozen] == [None] * 5 and len(results.thaw()) == 0
    assert frozen[0].is_valid and frozen[0].name == "John Kane" and len(frozen[1]) == 2
    for each in parts:
        with pytest.raises(objstore.NoSuchObject):
            each.freeze()
    with pytest.raises(objstore.WrongStore, match="nothing to thaw"):
        Person(id=5).thaw()


def test_in_a_write(store: objstore.Store, john: Person) -> None:
    """What is frozen is what was there before; what is thawed is what is there in the write."""
    frozen = john.freeze()
    with store.write():
        john.name = "?"
        john.dogs.clear()
        new = store.create(Person, {"id": 2})
        assert john.freeze().name == "John Kane" and len(john.dogs.freeze()) == 2
        assert len(store.objects(Person).freeze()) == 1
        with pytest.raises(objstore.NoSuchObject, match="the write that has made this Person is not over"):
            new.dogs.freeze()
        thawed = frozen.thaw()
        assert thawed is not None and thawed.name == "?" and len(thawed.dogs) == 0


def test_a_closed_store(path: pathlib.Path) -> None:
    with objstore.open(path, models=MODELS) as store:
        john = store.write(lambda tx: store.create(Person, {"id": 1}))
        frozen: list[Any] = [john.freeze(), john.dogs.freeze(), store.objects(Person).freeze()]
        reference = Reference(john)
    for each in frozen:
        with pytest.raises(objstore.Closed):
            each.thaw()
    with pytest.raises(objstore.Closed):
        reference.resolve()


@pytest.mark.parametrize("how", ["thread", "task"])
def test_a88_references(store: objstore.Store, how: str) -> None:
    jane = store.write(lambda tx: store.create(Person, {"id": 1, "name": "Jane"}))
    reference = Reference(jane)

    def rename() -> None:
        with store.write():
            found = reference.resolve()
            assert found is not None
            found.name = "Jane Doe"

    async def rename_there() -> None:
        async with store.write_async():
            found = store.resolve(reference)
            assert found is not None
            await asyncio.sleep(0)
            found.name = "Jane Doe"

    if how == "thread":
        with ThreadPoolExecutor(1) as pool:
            pool.submit(rename).result()
    else:
        asyncio.run(rename_there())
    assert jane.name == "Jane Doe"
    store.write(lambda tx: store.delete(jane))
    assert reference.resolve() is None and store.resolve(reference) is None


def test_references_to_other_things(store: objstore.Store, john: Person, path: pathlib.Path) -> None:
    references: list[Any] = [Reference(john.dogs), Reference(john.freeze()), Reference(john.dogs.freeze())]
    with store.freeze() as frozen, objstore.open(path, models=MODELS) as other:
        change(store, john)
        assert [len(references[0].resolve()), references[1].resolve().name, len(references[2].resolve())] == [
            3,
            "John",
            3,
        ]
        assert not references[1].resolve().is_frozen and references[0] == references[2] != references[1]
        assert len({*references}) == 2
        there = other.resolve(references[1])
        assert there == john and there.name == "John" and len(other.resolve(references[0])) == 3
        assert frozen.resolve(references[1]).name == "John Kane" and len(frozen.resolve(references[0])) == 2
    store.write(lambda tx: store.delete(john))
    assert [each.resolve() for each in references] == [None] * 3
    with objstore.open(memory="", models=MODELS) as memory:
        with pytest.raises(objstore.WrongStore, match="not of"):
            memory.resolve(references[0])
        with pytest.raises(objstore.InvalidArgument, match="a Reference is wanted"):
            memory.resolve(john)  # type: ignore[arg-type]
    with pytest.raises(objstore.WrongStore, match="nothing to refer to"):
        Reference(Person(id=1))
    with pytest.raises(objstore.InvalidArgument, match="an object of a store is wanted"):
        Reference(5)
    with pytest.raises(TypeError, match="send the primary key"):
        pickle.dumps(references[0])


def test_a89_a_live_object_on_another_thread(store: objstore.Store, john: Person) -> None:
    """It works there, too."""

    def work() -> str:
        with store.write():
            john.name += " Michael"
        return john.name

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == "John Kane Michael" == john.name


# Versions


def readers(store: objstore.Store) -> list[objstore.Pin]:
    return [pin for pin in store.pins() if pin.holder != "checkpoint"]


def test_invalidate(store: objstore.Store, john: Person, path: pathlib.Path) -> None:
    """What was read keeps no version, and everything can be used as before."""
    results, names = store.objects(Dog).where(Dog.age > 0), [dog.name for dog in john.dogs]
    assert len(results) == 2 and names == ["Rex", "Ella"] and readers(store)
    store.invalidate()
    assert not readers(store)
    with objstore.open(path, models=MODELS) as other:
        other.write(lambda tx: other.objects(Dog).update(age=9))
        assert [dog.age for dog in results] == [9, 9] and john.is_valid and john.dogs[0].age == 9
        other.invalidate()
    with store.write():
        john.name = "?"
        store.invalidate()
        assert john.name == "?"
    loop = iter(results)
    store.invalidate()
    assert [dog.age for dog in loop] == [9, 9]
    store.close()
    with pytest.raises(objstore.Closed):
        store.invalidate()


def test_how_many_versions_are_alive(path: pathlib.Path) -> None:
    with objstore.open(path, models=MODELS, max_versions=4) as store:
        store.invalidate()
        assert store.statistics().versions == 1
        kept = []
        for id in range(3):
            kept.append(store.freeze())
            store.write(lambda tx: store.create(Person, {"id": id}))
            store.invalidate()
        assert store.statistics().versions == 4
        kept.append(store.freeze())
        with objstore.open(path, models=MODELS) as other:
            other.write(lambda tx: other.create(Person, {"id": 3}))
        assert store.statistics().versions == 5

        async def main() -> None:
            with pytest.raises(objstore.TooManyVersions):
                await store.write_async(lambda tx: None)

        with pytest.raises(objstore.TooManyVersions, match=r"5 versions.*process") as raised:
            store.write(lambda tx: None)
        assert isinstance(raised.value, objstore.Error)
        asyncio.run(main())
        assert isinstance(store.submit_write(lambda tx: None).exception(), objstore.TooManyVersions)
        kept.pop(0).close()
        store.write(lambda tx: store.create(Person, {"id": 4}))
        assert len(store.objects(Person)) == 5
    for wrong, kind in ((0, objstore.OutOfRange), (2**63, objstore.OutOfRange), ("5", objstore.InvalidArgument)):
        with pytest.raises(kind, match="max_versions is an int"):
            objstore.open(path, models=MODELS, max_versions=wrong)  # type: ignore[arg-type]


# Silent writes


@pytest.mark.parametrize("how", ["write", "body", "inside", "block", "write_async", "submit_write"])
def test_a60_silent_writes(store: objstore.Store, how: str) -> None:
    with store.write():
        for n in range(5):
            store.create(Dog, {"name": f"{n}", "age": n})
    results = store.objects(Dog).where(Dog.age < 100)
    seen: list[list[Any]] = [[], []]
    first, second = (
        results.observe(
            lambda change, told=told: told.append((change.deletions, change.insertions, change.modifications_after)),
            initial=False,
        )
        for told in seen
    )

    def silent(tx: objstore.Transaction) -> None:
        results[1].age = 1000
        store.create(Dog, {"name": "new", "age": 7})

    if how == "write":
        with store.write(without_notifying=[first]) as tx:
            silent(tx)
    elif how == "body":
        store.write(silent, without_notifying=(first,))
    elif how == "inside":
        with store.write() as tx:
            silent(tx)
            tx.without_notifying()
            tx.without_notifying(first)
    elif how == "block":

        async def block() -> None:
            async with store.write_async() as tx:
                silent(tx)
                tx.without_notifying(first)

        asyncio.run(block())
    elif how == "write_async":

        async def call() -> None:
            await store.write_async(silent, without_notifying=[first], allow_grouping=True)

        asyncio.run(call())
    else:
        store.submit_write(silent, without_notifying=[first]).result()
    store.deliver()
    assert seen == [[], [([1], [4], [])]]
    store.write(lambda tx: setattr(results[4], "name", "newer"))
    store.deliver()
    assert seen == [[([], [], [4])], [([1], [4], []), ([], [], [4])]]
    first.close()
    second.close()


def test_silent_writes_that_are_undone(store: objstore.Store, john: Person) -> None:
    """Nobody is told of them anyway, and everybody of the next one."""
    told: list[Any] = []
    with store.observe(Dog, lambda change: told.append(change.insertion_count), initial=False) as token:
        with pytest.raises(KeyError), store.write(without_notifying=[token]):
            store.create(Dog, {})
            raise KeyError
        store.write(lambda tx: store.create(Dog, {}))
        store.deliver()
    assert told == [1]


def test_tokens_that_are_wrong(store: objstore.Store, john: Person) -> None:
    other_token = objstore.open(memory="", models=MODELS)
    with other_token as other:
        foreign, closed, good = (each.observe(Dog, print, initial=False) for each in (other, store, store))
        closed.close()
        for wrong, kind in (
            ([closed], objstore.Closed),
            ([good, foreign], objstore.WrongStore),
            ([5], objstore.InvalidArgument),
        ):
            with pytest.raises(kind):
                with store.write(without_notifying=wrong):  # type: ignore[arg-type]
                    raise AssertionError("the block ran")
            with store.write(timeout=0) as tx, pytest.raises(kind):
                tx.without_notifying(*wrong)  # type: ignore[arg-type]

            async def main(wrong: Any = wrong, kind: type[Exception] = kind) -> None:
                with pytest.raises(kind):
                    await store.write_async(lambda tx: None, without_notifying=wrong)

            asyncio.run(main())
            assert isinstance(store.submit_write(lambda tx: None, without_notifying=wrong).exception(), kind)
        with pytest.raises(objstore.NotInWrite, match="ended already"):
            tx.without_notifying(good)

        def grouped(tx: objstore.Transaction) -> None:
            with pytest.raises(objstore.InvalidArgument):
                tx.without_notifying(good)

        async def group() -> None:
            await store.write_async(grouped, allow_grouping=True)

        asyncio.run(group())
        foreign.close()
        good.close()
    with store.write() as tx:
        thread = ThreadPoolExecutor(1)
        with thread, pytest.raises(objstore.NotInWrite, match="another thread"):
            thread.submit(tx.without_notifying).result()
    assert threading.active_count() < 20
