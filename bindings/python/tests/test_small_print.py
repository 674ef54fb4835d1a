"""What a newcomer would expect without thinking of it."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import Counter, Model, field


class Hit(Model):
    name: str = ""
    best: "Hit | None" = None
    others: list["Hit"] = field(default_factory=list)
    some: set["Hit"] = field(default_factory=set)
    named: dict[str, "Hit | None"] = field(default_factory=dict)
    plays: Counter = Counter(0)
    extra: Any = None
    extras: list[Any] = field(default_factory=list)


class Keyed(Model):
    id: int = field(primary_key=True)
    name: str = "x"
    n: int = 0


store = store_of([Hit, Keyed])


def cell(old: bool) -> tuple[Any, Any]:
    """Two classes, as a cell of a notebook defines them; run again, they are others."""

    class Owner(Model):
        name: str = ""
        dogs: objstore.Backlinks["Dog"] = objstore.backlinks("owner")
        parent: "Owner | None" = None

    globals()["Owner"] = Owner

    class Dog(Model):
        owner: "Owner | None" = None
        friends: list["Dog"] = field(default_factory=list)
        if not old:
            age: int = 0

    globals()["Dog"] = Dog
    return Owner, Dog


def test_classes_defined_again() -> None:
    """Names in quotes lead to the classes that the store is opened with, not to those of the same name before."""
    cell(True)
    Owner, Dog = cell(False)
    dog = Dog(owner=Owner(name="Ann", parent=Owner()), friends=[Dog()])
    with objstore.open(memory="", models=[Owner, Dog]) as store:
        with store.write():
            store.add(dog)
        assert type(dog.owner) is Owner and type(dog.owner.parent) is Owner and list(dog.owner.dogs) == [dog]
        assert all(type(friend) is Dog for friend in dog.friends) and dog.friends[0].age == 0
    for name in ("Owner", "Dog"):
        del globals()[name]


def test_objects_of_another_store_are_not_there(store: objstore.Store) -> None:
    with objstore.open(memory="", models=[Hit, Keyed]) as other:
        with other.write():
            stranger = other.add(Hit())
        with store.write():
            hit = store.add(Hit())
            hit.others, hit.some, hit.named, hit.extras = [hit], {hit}, {"a": hit}, [hit, 1]
        for place in (hit.others, hit.some, hit.named.values(), hit.extras):
            assert stranger not in place and hit in place and None not in place
        assert hit.others.count(stranger) == 0 and not hit.some.isdisjoint({hit, stranger})
        with pytest.raises(ValueError):
            hit.others.index(stranger)
        with store.write():
            hit.some.discard(stranger)
            with pytest.raises(KeyError):
                hit.some.remove(stranger)
            with pytest.raises(ValueError):
                hit.others.remove(stranger)
            with pytest.raises(objstore.WrongStore):
                hit.others.append(stranger)
            hit.some -= {stranger}
        frozen = store.freeze()
        assert hit in frozen.objects(Hit)[0].some and stranger not in frozen.objects(Hit)[0].some


def test_results_are_given_a_new_object(store: objstore.Store) -> None:
    with store.write():
        store.add_all([Hit(name=n) for n in "abc"])
        best = Hit(name="best")
        assert store.objects(Hit).update(best=best, extra=[best, Hit(name="in")]) == 3
    assert [hit.best for hit in store.objects(Hit)[:3]] == [best] * 3 and len(store.objects(Hit)) == 5
    with store.write(), pytest.raises(objstore.WrongType):
        store.objects(Hit).update(best=Hit(name="never"), plays="x")
    assert len(store.objects(Hit)) == 5


@pytest.mark.parametrize("value", [True, 1.5, "1", None])
def test_counters_count_in_ints(store: objstore.Store, value: Any) -> None:
    with pytest.raises(objstore.WrongType, match="a Counter: an int is wanted"):
        Counter(value)
    with store.write():
        hit = store.add(Hit())
        for call in (hit.plays.increment, hit.plays.decrement, hit.plays.set):
            with pytest.raises((objstore.WrongType, objstore.NotNullable), match="Hit.plays") as error:
                call(value)
            assert error.value.class_name == "Hit" and error.value.property_name == "plays"
        with pytest.raises(objstore.OutOfRange) as beyond:
            hit.plays.increment(2**63)
        assert beyond.value.property_name == "plays"
        hit.plays.increment(Counter(4))
        assert hit.plays == 4


def test_rows_are_said_by_their_number(store: objstore.Store) -> None:
    with store.write():
        store.create(Keyed, {"id": 7})
        rows: list[dict[str, Any]] = [{"id": 1}, {"id": 2, "n": 3}, {"id": 3, "n": 4}, {"id": 7, "n": 5}]
        with pytest.raises(objstore.DuplicateKey, match=r"\brow 3\b") as error:
            store.create_all(Keyed, rows)
        assert error.value.position == 3


def test_lists_are_multiplied_and_compared(store: objstore.Store) -> None:
    with store.write():
        hit = store.add(Hit(extras=[1, 2]))
        numbers = hit.extras
        assert numbers * 2 == [1, 2, 1, 2] == 2 * numbers and numbers * 0 == []
        assert numbers < [1, 3] and numbers <= [1, 2] and numbers > [1] and numbers >= numbers and not numbers < numbers
        with pytest.raises(TypeError):
            numbers < (1, 3)
        hit.extras *= 3
        assert list(numbers) == [1, 2] * 3
        numbers *= 1
        assert len(numbers) == 6
        numbers *= -1
        assert not numbers and hit.extras == []


def test_deep_values() -> None:
    def nested(depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {"name": "last"}
        for _ in range(depth - 1):
            values = {"best": values}
        return values

    hit, depth = Hit.from_values(nested(200)), 1
    while hit.best is not None:
        hit, depth = hit.best, depth + 1
    assert depth == 200
    with pytest.raises(objstore.OutOfRange, match="nested more than 200 deep"):
        Hit.from_values(nested(205))


def test_json_of_python(store: objstore.Store) -> None:
    with store.write():
        for data in ({"name": Decimal("1.5")}, {"name": object()}, {"extra": {1, 2}}):
            with pytest.raises(objstore.InvalidArgument, match="the dict is no JSON"):
                store.create_from_json(Hit, data)
        with pytest.raises(objstore.InvalidArgument, match="relaxed is True or False"):
            store.create_from_json(Hit, "{}", relaxed="yes")  # type: ignore[arg-type]
        assert store.create_from_json(Hit, json.loads('{"name": "a"}')).name == "a"
        with pytest.raises(objstore.InvalidArgument, match="pretty"):
            store.objects(Hit)[0].to_json(pretty=1)  # type: ignore[arg-type]


def test_hints(store: objstore.Store) -> None:
    with store.write():
        hit = store.add(Hit())
        with pytest.raises(objstore.NotNullable, match=r"declare it as Counter \| None"):
            hit.plays = None  # type: ignore[assignment]
        with pytest.raises(objstore.NotNullable) as error:
            hit.others.append(None)  # type: ignore[arg-type]
        assert "declare" not in str(error.value)


@pytest.mark.parametrize("relaxed", [-1, float("inf"), None, "1", True])
def test_relaxed_seconds(tmp_path: Path, relaxed: Any) -> None:
    with pytest.raises(objstore.InvalidArgument) as error:
        objstore.open(tmp_path / "a", models=[Keyed], durability="relaxed", relaxed=relaxed)
    assert "relaxed is a number of seconds" in str(error.value) and "ever" not in str(error.value)


def test_a_class_that_another_process_changed(tmp_path: Path) -> None:
    class Box(Model):
        a: int = 0
        b: int = 0

    Old = Box

    class Box(Model):  # type: ignore[no-redef]
        b: int = 0

    with objstore.open(tmp_path / "a", models=[Old]) as store:
        with store.write():
            box = store.add(Old())
        with (
            objstore.open(tmp_path / "a", models=[Box], schema_version=2),
            pytest.raises(objstore.SchemaError, match="Box.a was dropped"),
        ):
            with store.write():
                box.a = 3
        with pytest.raises(objstore.NoSuchProperty, match="Box.a was dropped meanwhile"):
            print(box.a)
        assert box.b == 0


HALF = "a\ud800"


@pytest.mark.parametrize(
    "what, call",
    [
        ("keys", lambda store: store.observe(Keyed, print, [HALF])),
        ("keys", lambda store: store.objects(Keyed).observe(print, ["name", HALF])),
        ("keys", lambda store: store.objects(Keyed).changes([HALF])),
        ("keys", lambda store: store.objects(Keyed)[0].observe(print, [HALF])),
        ("the name of a kept version", lambda store: store.keep_version(HALF)),
        ("the name of a kept version", lambda store: store.release_version(HALF)),
        ("the name of a function", lambda store: store.define_function(HALF, abs, "i64 -> i64")),
        ("the name of a function", lambda store: store.undefine_function(HALF)),
        ("a signature", lambda store: store.define_function("f", abs, HALF + " -> i64")),
        ("a signature", lambda store: store.observe_typed(Keyed, ["n"], HALF, print)),
        ("a name in a query", lambda store: list(store.objects(Keyed).order_by(HALF))),
        ("memory", lambda store: objstore.open(memory=HALF, models=[Keyed])),
    ],
)
def test_halves_of_characters_are_refused_by_what_they_are_for(store: objstore.Store, what: str, call: Any) -> None:
    with store.write():
        store.create(Keyed, [1])
    with pytest.raises(objstore.InvalidText, match=rf"^{what}: '\\ud800' has no UTF-8 form$") as raised:
        call(store)
    assert raised.value.position == 1
    with store.write():  # nothing of it is left
        store.create(Keyed, [2])
    assert store.deliver() == 0
