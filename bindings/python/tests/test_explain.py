"""Results tell how they find their objects."""

import dataclasses
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import objstore
from objstore import Backlinks, Index, Model, Plan, any_, backlinks, desc, expression, field
from objstore.queries import plans

COUNT = 5000  # in two leaves


class Person(Model):
    name: str = field(primary_key=True)
    town: str = ""
    dogs: Backlinks["Dog"] = backlinks("owner")


class Dog(Model):
    id: int = field(primary_key=True)
    name: str = ""
    age: int = field(default=0, indexed=True)
    weight: int = 0
    owner: Person | None = None
    friends: list["Dog"]
    __indexes__ = [Index("name", "age")]


@pytest.fixture(scope="module")
def store() -> Iterator[objstore.Store]:
    """Weights are not quite in the order of creation: of a column that is, no values would have to be read."""
    with objstore.open(memory="", models=[Person, Dog]) as store:
        with store.write():
            ann, bob = store.add(Person(name="Ann", town="Bern")), store.add(Person(name="Bob", town="Rome"))
            rows: list[dict[str, Any]] = [
                {"id": i, "name": f"d{i % 10}", "age": i % 50, "weight": i ^ 1, "owner": ann if i < 3 else None}
                for i in range(COUNT)
            ]
            store.create_all(Dog, rows)
            dog = store.get(Dog, 7)
            assert dog is not None
            dog.owner, dog.friends = bob, [dog]
        yield store


def test_all_of_them(store: objstore.Store) -> None:
    plan = store.objects(Dog).explain()
    assert plan == Plan("TRUEPREDICATE", "Dog", COUNT, 2, "all", estimate=COUNT)
    assert str(plan) == plan.text == f"Dog: {COUNT} objects in 2 leaves\nall of them"
    assert store.objects(Dog).explain(run=True).found == COUNT
    assert store.objects(Dog).limit(3).explain().steps == ("LIMIT(3)",)
    assert (store.objects(Person).explain().objects, store.objects(Person).explain().leaves) == (2, 1)


def test_a_table(store: objstore.Store) -> None:
    results = store.objects(Dog).filter("age < 4 GROUP(age) SELECT(age, @count)")
    assert results.explain().rows is None
    plan = results.explain(run=True)
    assert (plan.found, plan.rows, plan.leaves_read) == (400, 4, None)
    assert re.fullmatch(r"found: 400 objects, 4 rows in \d+ µs", str(plan).splitlines()[-1])
    one = store.objects(Dog).filter("weight >= 0 GROUP() SELECT(@count)").explain(run=True)
    assert (one.access, one.rows) == ("scan", 1) and f"{COUNT} objects, 1 row in" in str(one)
    assert store.objects(Dog).explain(run=True).rows is None


def test_a_scan(store: objstore.Store) -> None:
    results = store.objects(Dog).where(Dog.weight >= COUNT - 5)
    plan = results.explain()
    assert (plan.access, plan.by, plan.estimate, plan.filter) == ("scan", None, None, f"weight >= {COUNT - 5}")
    assert (plan.found, plan.microseconds, plan.leaves_read, plan.leaves_skipped) == (None,) * 4
    assert plan.query == results.query_text() and "\nscan: weight >=" in str(plan) and "found" not in str(plan)
    run = results.explain(run=True)
    assert run.found == 5 and run.microseconds is not None and run.microseconds >= 0
    assert (run.leaves_read, run.leaves_skipped) == (1, 1)  # the first leaf's bounds say that nothing is there
    assert dataclasses.replace(
        run, found=None, microseconds=None, leaves_read=None, leaves_skipped=None
    ) == results.explain(run=False)
    last = str(run).splitlines()[-1]
    assert re.fullmatch(r"found: 5 objects in \d+ µs, 1 leaf read, 1 skipped", last)


def test_an_index(store: objstore.Store) -> None:
    dogs = store.objects(Dog)
    plan = dogs.where(Dog.age == 5).explain()
    assert (plan.access, plan.by, plan.estimate, plan.filter) == ("index", "age == 5", COUNT // 50, None)
    plan = dogs.where(Dog.age == 5, Dog.weight < 100).explain(run=True)
    assert (plan.access, plan.by, plan.estimate) == ("index", "age == 5", COUNT // 50)
    assert plan.filter == "age == 5 and weight < 100" and plan.found == 2 and plan.leaves_read is None
    plan = dogs.where(Dog.id == 5).explain()
    assert (plan.access, plan.by, plan.estimate) == ("index", "id == 5", 1)
    plan = dogs.where((Dog.id == 1) | (Dog.id == 2)).explain()
    assert (plan.access, plan.by, plan.estimate) == ("index", "id == 1 or id == 2", 2)
    assert dogs.filter("age == 5").explain() == dogs.where(Dog.age == 5).explain()


def test_links(store: objstore.Store) -> None:
    dogs, ann = store.objects(Dog), store.get(Person, "Ann")
    assert ann is not None
    plan = dogs.where(expression(Dog.owner).town == "Bern").explain(run=True)
    assert (plan.access, plan.estimate, plan.found) == ("links", 3, 3)
    assert plan.by == 'owner leads to Person where town == "Bern"'
    for results in (dogs.where(Dog.owner == ann), ann.dogs):
        plan = results.explain(run=True)
        assert (plan.access, plan.class_name, plan.estimate, plan.found) == ("index", "Dog", 3, 3), results
    plan = dogs.where(any_(Dog.friends) == dogs[7]).explain(run=True)
    assert (plan.access, plan.estimate, plan.found) == ("index", 1, 1)
    assert ann.dogs.where(Dog.weight > 0).explain(run=True).found == 2
    with store.write() as tx:
        gone = store.add(Person(name="Cid"))
        dogs_of_gone = gone.dogs
        store.delete(gone)
        assert dogs_of_gone.explain(run=True).found == 0
        tx.cancel()


def test_an_order(store: objstore.Store) -> None:
    dogs = store.objects(Dog)
    plan = dogs.order_by(Dog.age).limit(3).explain(run=True)
    assert (plan.access, plan.by, plan.estimate, plan.found) == ("order", "age", 3, 3)
    assert plan.steps == ("SORT(age ASC)", "LIMIT(3)")
    plan = dogs.order_by(desc(Dog.weight)).offset(1).limit(3).explain()
    assert plan.access == "all" and plan.steps == ("SORT(weight DESC)", "OFFSET(1)", "LIMIT(3)")
    plan = dogs.where(Dog.age == 5).distinct(Dog.name).explain(run=True)
    assert (plan.access, plan.steps, plan.found) == ("index", ("DISTINCT(name)",), 1)
    plan = dogs.limit(10).where(Dog.weight < 5).explain(run=True)
    assert plan.query is None and plan.steps[0] == "LIMIT(10)" and plan.found == 5
    assert str(plan).count("\nthen: ") == 2


def test_a_part_of_an_index(store: objstore.Store) -> None:
    plan = store.objects_in(Dog, ["name", "age"], from_=["d5"], to=["d5"]).explain(run=True)
    assert (plan.access, plan.query, plan.estimate, plan.found) == ("range", None, COUNT // 10, COUNT // 10)


def test_the_lines_are_those_of_the_library(store: objstore.Store) -> None:
    dogs = store.objects(Dog)
    for results in (dogs, dogs.where(Dog.weight > 4990), dogs.where(Dog.id == 1), dogs.where(Dog.age == 1).limit(2)):
        view = results._source._reader()
        theirs = plans._written(results._asked(view), view.handle, plans.RUN)
        ours = str(results.explain(run=True)) + "\n"
        assert re.sub(r"\d+ µs", "µs", ours) == re.sub(r"\d+ µs", "µs", theirs)


def test_in_which_view(store: objstore.Store) -> None:
    """That which results read through: also of a write, and frozen ones."""
    dogs = store.objects(Dog).where(Dog.age == 7)
    frozen = dogs.freeze()
    with store.write() as tx:
        store.add(Dog(id=COUNT, age=7))
        plan = dogs.explain(run=True)
        assert (plan.objects, plan.estimate, plan.found) == (COUNT + 1, 101, 101)
        assert frozen.explain(run=True).found == 100
        told: list[Plan] = []
        thread = threading.Thread(target=lambda: told.append(dogs.explain(run=True)))
        thread.start()
        thread.join()
        assert told[0].found == 100  # of what is committed
        tx.cancel()
    assert dogs.explain(run=True).found == dogs.count() == 100


def test_what_is_no_plan(tmp_path: Any, store: objstore.Store) -> None:
    with pytest.raises(objstore.InvalidArgument, match="run is True or False"):
        store.objects(Dog).explain(run=1)  # type: ignore[arg-type]
    for use in (lambda results: results.explain(), lambda results: results.explain(run=True)):
        with pytest.raises(objstore.WrongType):
            use(store.objects(Dog).where(Dog.age == "x"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        store.objects(Dog).explain().access = "none"  # type: ignore[misc]
    with objstore.open(tmp_path / "dogs", models=[Person, Dog]) as other:
        dogs = other.objects(Dog)
        young, frozen = dogs.where(Dog.age < 2), dogs.freeze()
        plan = young.explain()
        assert (plan.objects, plan.leaves, plan.estimate) == (0, 0, 0)
    for results in (dogs, young, frozen):
        with pytest.raises(objstore.Closed):
            results.explain()
        with pytest.raises(objstore.Closed):
            results.explain(run=True)
    assert plan.access == "index" and "Dog: 0 objects" in str(plan)  # it belongs to no store
