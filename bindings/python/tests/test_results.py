"""Lists of objects: asking, walking, adding up, arrays."""

import copy
import math
import pickle
import random
import sys
from datetime import datetime, timezone

import pytest

import objstore
from models import Color, Dog, Everything, Turtle

N = 40_000


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """N turtles, with what they are made of."""
    random.seed(7)
    rows = [
        {
            "_id": i,
            "name": None if i % 7 == 0 else f"turtle {random.randrange(1000)}" + "ü" * (i % 11 == 0),
            "age": random.randrange(100),
            "weight": None if i % 5 == 0 else random.random(),
        }
        for i in range(N)
    ]
    with objstore.open(tmp_path_factory.mktemp("many") / "t.objstore", models=[Turtle]) as store:
        with store.write():
            store.create_all(Turtle, rows)
        yield store, rows


OPERATORS = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a is not None and a < b,
    "<=": lambda a, b: a is not None and a <= b,
    ">": lambda a, b: a is not None and a > b,
    ">=": lambda a, b: a is not None and a >= b,
}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name, value", [("age", 50), ("age", -1), ("name", "turtle 500"), ("weight", 0.5), ("_id", 7)])
def test_conditions(many, operator, name, value):
    store, rows = many
    expected = [row["_id"] for row in rows if OPERATORS[operator](row[name], value)]
    found = store.objects(Turtle).filter(f"{name} {operator} $0", value)
    assert [t._id for t in found] == expected
    assert len(found) == found.count() == len(expected)
    assert bool(found) == bool(expected)


def test_null(many):
    store, rows = many
    assert store.objects(Turtle).filter("name == null").count() == sum(r["name"] is None for r in rows)
    assert store.objects(Turtle).where(Turtle.weight != None).count() == sum(r["weight"] is not None for r in rows)


def test_as_a_list(many):
    store, rows = many
    turtles = store.objects(Turtle)
    assert len(turtles) == N
    assert turtles[0]._id == 0 and turtles[-1]._id == N - 1 and turtles[-N]._id == 0
    for wanted in (
        slice(5),
        slice(-3, None),
        slice(10, 20),
        slice(30, 10, -3),
        slice(None, None, -9999),
        slice(7, 7),
        slice(N, N + 5),
    ):
        assert [t._id for t in turtles[wanted]] == [r["_id"] for r in rows[wanted]]
    for index in (N, -N - 1):
        with pytest.raises(IndexError) as caught:
            turtles[index]
        assert isinstance(caught.value, objstore.Error)
    young = turtles.where(Turtle.age < 50)
    for turtle in random.sample(list(turtles), 50):
        assert (turtle in young) == (turtle.age < 50)
    assert Turtle(_id=1) not in turtles and "turtle" not in turtles
    assert turtles.first()._id == 0 and turtles.where(Turtle.age > 1000).first() is None
    assert turtles[3] == turtles[3] and hash(turtles[3]) == hash(store.get(Turtle, 3)) and turtles[3] != turtles[4]


def test_aggregates(many):
    store, rows = many
    turtles = store.objects(Turtle)
    for part, of in ((turtles, rows), (turtles.where(Turtle.age < 20), [r for r in rows if r["age"] < 20])):
        ages, weights = [r["age"] for r in of], [r["weight"] for r in of if r["weight"] is not None]
        assert part.sum(Turtle.age) == sum(ages) and part.sum("age") == sum(ages)
        assert (part.min(Turtle.age), part.max(Turtle.age)) == (min(ages), max(ages))
        assert math.isclose(part.avg(Turtle.age), sum(ages) / len(ages))
        assert math.isclose(part.sum(Turtle.weight), math.fsum(weights))
        assert (part.min("weight"), part.max("weight")) == (min(weights), max(weights))
        assert math.isclose(part.avg("weight"), math.fsum(weights) / len(weights))
    none = turtles.where(Turtle.age > 1000)
    assert (none.sum("age"), none.sum("weight"), none.min("age"), none.max("weight"), none.avg("age")) == (
        0,
        0.0,
        None,
        None,
        None,
    )
    for wrong in (Turtle.name, "name"):
        with pytest.raises(objstore.WrongType):
            turtles.sum(wrong)
    with pytest.raises(objstore.NoSuchProperty):
        turtles.sum("agee")
    with pytest.raises(objstore.InvalidArgument):
        turtles.sum(Dog.age)


def test_a_sum_that_does_not_fit():
    with objstore.open(memory="", models=[Dog]) as store:
        with store.write():
            store.add_all([Dog(age=2**62), Dog(age=2**62)])
        for dogs in (store.objects(Dog), store.objects(Dog).where(Dog.age > 0)):
            with pytest.raises(objstore.OutOfRange):
                dogs.sum(Dog.age)


INFINITY = math.inf
AVERAGES = [
    ("real", [INFINITY, -INFINITY], math.nan),
    ("real", [INFINITY, 1.0], INFINITY),
    ("real", [math.nan, 1.0], math.nan),
    ("real", [1.7e308, 1.7e308], INFINITY),
    ("real", [-1.7e308, -1.7e308], -INFINITY),
    ("real", [1.0, 2.0], 1.5),
    ("number", [2**63 - 1, -(2**63), 2], 1 / 3),
    ("number", [2**63 - 1] * 3, float(2**63 - 1)),
    ("number", [], None),
]


@pytest.mark.parametrize("name, values, expected", AVERAGES)
def test_the_average_of_a_part_is_that_of_the_whole(name, values, expected):
    when = datetime(2024, 1, 1, tzinfo=timezone.utc)
    with objstore.open(memory="", models=[Everything]) as store:
        with store.write():
            store.create_all(Everything, [{"key": f"{i}", "when": when, name: v} for i, v in enumerate(values)])
        everything = store.objects(Everything)
        for averages in (everything.avg(name), everything.where(Everything.key != "").avg(name)):
            assert averages == expected or (math.isnan(averages) and math.isnan(expected))
        if name == "real":
            sums = everything.sum(name), everything.where(Everything.key != "").sum(name)
            assert sums[0] == sums[1] or (math.isnan(sums[0]) and math.isnan(sums[1]))


def test_indexes_as_a_list_takes_them(many):
    numpy = pytest.importorskip("numpy")
    turtles = many[0].objects(Turtle)
    oldest = turtles.to_numpy("age").argmax()
    assert turtles[oldest].age == turtles.max("age")
    assert turtles[numpy.int8(-1)]._id == N - 1 and turtles[numpy.uint64(7)]._id == 7 and turtles[True]._id == 1
    assert [t._id for t in turtles[numpy.int64(1) : numpy.int16(3)]] == [1, 2]
    for index in (1.5, numpy.float64(1), "1", None, (1, 2)):
        with pytest.raises(TypeError):
            turtles[index]
    for index in (2**64, -(2**64), numpy.int64(N)):
        with pytest.raises(IndexError):
            turtles[index]


def test_to_numpy(many):
    numpy = pytest.importorskip("numpy")
    store, rows = many
    turtles = store.objects(Turtle)
    for part, of in ((turtles, rows), (turtles.where(Turtle.age < 20), [r for r in rows if r["age"] < 20])):
        ages = part.to_numpy("age")
        assert ages.dtype == numpy.int64 and ages.flags.writeable
        assert ages.tolist() == [r["age"] for r in of]
        weights = part.to_numpy(Turtle.weight)
        assert isinstance(weights, numpy.ma.MaskedArray) and weights.dtype == numpy.float64
        assert weights.tolist() == [r["weight"] for r in of]
        assert part.to_numpy("name").tolist() == [r["name"] for r in of]
    none = turtles.where(Turtle.age > 1000)
    assert len(none.to_numpy("age")) == len(none.to_numpy("weight")) == len(none.to_numpy("name")) == 0


def test_to_numpy_of_every_kind():
    numpy = pytest.importorskip("numpy")
    when = datetime(1969, 7, 20, 20, 17, 40, 123456, tzinfo=timezone.utc)
    with objstore.open(memory="", models=[Everything]) as store:
        assert len(store.objects(Everything).to_numpy("when")) == 0
        with store.write():
            store.add(Everything(key="a", when=when, flag=True, raw=b"\0x"))
            store.add(Everything(key="b", when=when, when_or_none=when, color_or_none=Color.WHITE, flag_or_none=False))
        for part in (store.objects(Everything), store.objects(Everything).filter("key != ''")):
            assert part.to_numpy("flag").tolist() == [True, False]
            assert part.to_numpy("when").tolist() == [when.replace(tzinfo=None)] * 2
            assert part.to_numpy("when_or_none").mask.tolist() == [True, False]
            assert part.to_numpy("flag_or_none").tolist() == [None, False]
            assert part.to_numpy("raw").tolist() == [b"\0x", b""]
            assert part.to_numpy("color_or_none").tolist() == [None, Color.WHITE]
            assert part.to_numpy("when").dtype == numpy.dtype("datetime64[us]")


def test_without_numpy(many, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(objstore.MissingNumpy, match="pip install numpy") as caught:
        many[0].objects(Turtle).to_numpy("age")
    assert isinstance(caught.value, ImportError)


def test_iterating_continues_over_what_it_began_with():
    with objstore.open(memory="", models=[Turtle]) as store:
        with store.write():
            store.create_all(Turtle, [{"_id": i, "age": 1} for i in range(1000)])
        young = store.objects(Turtle).where(Turtle.age < 2)
        with store.write():
            visited = 0
            for turtle in young:  # each write takes it out of the question
                turtle.age += 5
                visited += 1
        assert visited == 1000 and len(young) == 0
        with store.write():
            for turtle in store.objects(Turtle):
                if turtle._id % 2:
                    store.delete(turtle)
        assert [t._id for t in store.objects(Turtle)] == list(range(0, 1000, 2))
        with store.write():  # deleting those that are still to come leaves them out
            seen = []
            for turtle in store.objects(Turtle):
                seen.append(turtle._id)
                if turtle._id == 0:
                    assert store.objects(Turtle).where(Turtle._id >= 500).delete() == 250
            assert [i for i in seen if i < 500] == list(range(0, 500, 2))
            assert all(i < 500 or i < 2 * 128 + 2 * 1024 for i in seen)
        assert store.objects(Turtle).count() == 250


def numbers(count):
    """A store of this many turtles, some of which are read together with the first."""
    store = objstore.open(memory="", models=[Turtle])
    with store.write():
        store.create_all(Turtle, [[i] for i in range(count)])
    return store


@pytest.mark.parametrize("count", [5, 500, 5000])
def test_a_loop_continues_when_its_write_is_cancelled_in_it(count):
    with numbers(count) as store:
        with store.write() as tx:
            store.create_all(Turtle, [[count + i] for i in range(count)])
            store.delete(store.get(Turtle, 2))
            store.objects(Turtle).update(age=7)
            seen = []
            for turtle in store.objects(Turtle):
                seen.append((turtle._id, turtle.age))
                if turtle._id == 1:
                    tx.cancel()
        # What the write did is undone, and what it created does not come.
        assert seen == [(0, 7), (1, 7)] + [(i, 0) for i in range(3, count)]


@pytest.mark.parametrize("count", [5, 500, 5000])
@pytest.mark.parametrize("last", [False, True])
def test_a_loop_continues_after_its_write(count, last):
    with numbers(count) as store:
        with store.write():
            store.create(Turtle, [count])
            loop = iter(store.objects(Turtle).where(Turtle.age == 0))
            before = [next(loop)._id for _ in range(count if last else 1)]
            store.objects(Turtle).update(age=7)
        assert [(turtle._id, turtle.age) for turtle in loop] == [(i, 7) for i in range(len(before), count + 1)]
        with store.write():
            loop = iter(store.objects(Turtle))
            next(loop)
        with store.write():
            assert [turtle._id for turtle in loop] == list(range(1, count + 1))


@pytest.mark.parametrize("count", [5, 500, 5000])
def test_a_loop_that_an_exception_left_open(count):
    with numbers(count) as store:
        with pytest.raises(ValueError):
            with store.write():
                loop = iter(store.objects(Turtle))
                first = next(loop)
                store.delete(store.get(Turtle, count - 1))
                raise ValueError
        assert [first._id] + [turtle._id for turtle in loop] == list(range(count))
        with store.write():
            loop, second = iter(store.objects(Turtle)), iter(store.objects(Turtle).where(Turtle._id < 3))
            next(loop)
        with store.write():
            if count > 1000:  # what comes later is looked at when it comes
                store.objects(Turtle).where(Turtle._id >= 2000).delete()
        assert len(list(loop)) == min(count, 2000) - 1 and [turtle._id for turtle in second] == [0, 1, 2]


def test_a_loop_in_a_write_whose_store_is_closed(tmp_path):
    store = objstore.open(tmp_path / "t.objstore", models=[Turtle])
    with store.write():
        store.create_all(Turtle, [[i] for i in range(500)])
    with pytest.raises(objstore.Closed):
        with store.write():
            loop = iter(store.objects(Turtle))
            next(loop)
            store.close()
    with pytest.raises(objstore.Closed):
        list(loop)


def test_results_are_live(store):
    dogs = store.objects(Dog).where(Dog.age < 2)
    assert len(dogs) == 0
    with store.write():
        dog = store.add(Dog(age=1))
        assert len(dogs) == 1 and dog in dogs
    assert len(dogs) == 1 and dogs[0] == dog
    with store.write():
        dog.age = 9
        assert len(dogs) == 0
    assert len(dogs) == 0 and dog not in dogs


def test_what_is_no_condition(store):
    for wrong in (True, "age < 2", None):
        with pytest.raises(objstore.InvalidArgument):
            store.objects(Dog).where(wrong)


def test_showing(store):
    dogs = store.objects(Dog).filter("name == '<b>'")
    with store.write():
        store.add_all([Dog(name="<b>", age=i) for i in range(12)])
    assert repr(dogs) == '<Results of Dog where name == "<b>": 12>'
    page = dogs._repr_html_()
    assert "&lt;b&gt;" in page and "<b>" not in page and "and 2 more" in page
    store.close()
    assert "closed" in repr(dogs)


def test_delete_and_update(store):
    with store.write():
        store.add_all([Turtle(_id=i, age=i) for i in range(10)])
    turtles = store.objects(Turtle)
    for outside in (turtles.delete, lambda: turtles.update(age=1)):
        with pytest.raises(objstore.NotInWrite):
            outside()
    with store.write():
        assert turtles.where(Turtle.age >= 8).delete() == 2
        assert turtles.where(Turtle.age >= 6).update(name="old", weight=1.5) == 2
        with pytest.raises(objstore.NoSuchProperty):
            turtles.update(nmae="x")
        with pytest.raises(objstore.KeyImmutable):
            turtles.update(_id=77)
    assert [(t.name, t.weight) for t in turtles] == [(None, None)] * 6 + [("old", 1.5)] * 2
    with store.write():
        assert turtles.delete() == 8
    assert not turtles


class Owner(objstore.Model):
    pets: objstore.Backlinks["Pet"] = objstore.backlinks("owner")


class Pet(objstore.Model):
    owner: Owner | None = None


def test_what_belongs_to_a_store_is_not_copied(path):
    with objstore.open(path, models=[Owner, Pet]) as store:
        with store.write() as writing:
            pet = store.add(Pet(owner=Owner()))
        token, pets = store.observe(Pet, print), store.objects(Pet)
        for given, message in [
            (pets, r"these Results of Pet belong to a store: copy or pickle results\.detach\(\), or \[each\.detach"),
            (pet.owner.pets, "these Backlinks of Pet belong to a store"),
            ({"found": [pets]}, "these Results of Pet"),
            (store, "a Store is of this process alone: it cannot be copied or pickled; open it again"),
            (writing, "a Transaction is of this process"),
            (store.freeze(), "a Frozen is of this process alone"),
            (token, "a ChangeToken is of this process alone"),
            (pets.changes(), "a ChangeStream is"),
        ]:
            for take in (copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError, match=message):
                    take(given)
        assert copy.copy(pets) is pets and [each.is_managed for each in pickle.loads(pickle.dumps(pets.detach()))] == [
            False
        ]
        with pytest.raises(TypeError, match="a Store is"):
            copy.copy(store)
        token.close()
