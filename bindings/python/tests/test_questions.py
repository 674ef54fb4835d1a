"""Which answers are remembered, and which lists are not made at all."""

import contextlib
import itertools
import resource

import pytest

import objstore
from models import Everything, Turtle
from objstore.reading.evaluations import QUESTIONS

N = 40_000


@pytest.fixture(scope="module")
def turtles(tmp_path_factory):
    with objstore.open(tmp_path_factory.mktemp("questions") / "t.objstore", models=[Turtle]) as store:
        with store.write():
            store.create_all(Turtle, [{"_id": i, "age": i, "weight": float(i)} for i in range(N)])
        yield store


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("where", ["store", "frozen", "write"])
def test_asking_much_takes_little_memory(turtles, where):
    """Without a commit in between; all lists together are 480 MB."""
    with turtles.freeze() as frozen, turtles.write() if where == "write" else contextlib.nullcontext():
        source = frozen if where == "frozen" else turtles
        before = resident_bytes()
        for age in range(1500):
            assert source.objects(Turtle).where(Turtle.age >= age)[0].age == age
        assert resident_bytes() - before < 100 << 20


def found(source, condition=None, model=Turtle):
    """The list that is remembered."""
    objects = source.objects(model)
    return (objects if condition is None else objects.where(condition))._evaluate()[1]


def test_a_question_is_asked_again_when_enough_else_was_asked(turtles):
    with turtles.freeze() as frozen:
        first = found(frozen, Turtle.age < 5)
        for age in range(QUESTIONS - 1):
            found(frozen, Turtle.age == age)
            assert found(frozen, Turtle.age < 5) is first  # it is used, and so stays
        for age in range(QUESTIONS):
            found(frozen, Turtle.age == -age)
        assert found(frozen, Turtle.age < 5) is not first


def test_one_list_is_remembered_however_long_it_is(turtles, monkeypatch):
    monkeypatch.setattr("objstore.reading.evaluations.OBJECTS", 100)
    with turtles.freeze() as frozen:
        young, all_ = found(frozen, Turtle.age < 50), found(frozen)
        assert found(frozen) is all_ and found(frozen, Turtle.age < 50) is not young


def test_questions_about_nan_are_remembered_like_others():
    with objstore.open(memory="", models=[Everything]) as store, store.freeze() as frozen:
        asked = [found(frozen, Everything.real != float("nan"), Everything) for _ in range(3)]
        assert asked[0] is asked[1] is asked[2]
        assert found(frozen, Everything.real == float("nan"), Everything) is not asked[0]
        texts = [found(frozen, Everything.text == "".join(("ab", "c")), Everything) for _ in range(2)]
        assert texts[0] is texts[1] and found(frozen, Everything.text == "abd", Everything) is not texts[0]
        filtered = [frozen.objects(Everything).filter("text IN $0", list("ab"))._evaluate()[1] for _ in range(2)]
        assert filtered[0] is filtered[1]
        assert frozen.objects(Everything).filter("text IN $0", list("ac"))._evaluate()[1] is not filtered[0]


def test_a_loop_outlives_what_is_remembered(turtles):
    loop = iter(turtles.objects(Turtle).where(Turtle.age >= 1000))
    assert next(loop).age == 1000
    for age in range(2 * QUESTIONS):
        turtles.objects(Turtle).where(Turtle.age == age)[0]
    assert [turtle.age for turtle in loop] == list(range(1001, N))


def test_first_and_in_make_no_list(turtles):
    with turtles.freeze() as frozen:
        everybody, none = frozen.objects(Turtle), frozen.objects(Turtle).where(Turtle.age < 0)
        old = frozen.objects(Turtle).where(Turtle.age >= 700)
        assert (everybody.first()._id, old.first()._id, none.first()) == (0, 700, None)
        assert frozen.get(Turtle, 5) in everybody and everybody
        assert frozen._view._evaluations._kept == {}
        assert old[1]._id == 701 and old.first()._id == 700  # from the list that is there
        assert all((turtle in old) == (turtle._id >= 700) for turtle in itertools.islice(everybody, 600, 800))
        assert frozen.get(Turtle, 5) not in none


def test_first_and_in_of_nothing():
    with objstore.open(memory="", models=[Turtle]) as store:
        turtles = store.objects(Turtle)
        assert turtles.first() is None and turtles.where(Turtle.weight > 1).first() is None
        with store.write() as tx:
            turtle = store.add(Turtle(_id=1))
            assert turtles.first() == turtle and turtle in turtles
            assert turtles.filter("weight == null").first() == turtle
            store.delete(turtle)
            assert turtles.first() is None and turtle not in turtles
            tx.cancel()
