"""Questions to lists, sets and dicts of plain values: live, frozen, in writes, of enumerations, with functions."""

import copy
import enum
from collections.abc import Iterator
from typing import Any

import pytest

import objstore
from objstore import Dict, List, Model, Set, asc, call, desc, field, value


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Kennel(Model):
    id: int = field(primary_key=True)
    rooms: List[int]
    tags: Set[str]
    prices: Dict[str, float | None]
    by_id: Dict[int, str]
    colors: List[Color]
    things: List[Any]
    friends: List["Kennel"]


@pytest.fixture
def store() -> Iterator[objstore.Store]:
    with objstore.open(memory="", models=[Kennel]) as opened:
        yield opened


@pytest.fixture
def kennel(store: objstore.Store) -> Kennel:
    with store.write():
        return store.create(
            Kennel,
            {
                "id": 1,
                "rooms": [12, 20, 35, 20],
                "tags": ["big", "old", "Odd"],
                "prices": {"b": 2.5, "a": None, "c": -1.0},
                "by_id": {7: "x", 2: "y"},
                "colors": [Color.BLUE, Color.RED, Color.BLUE],
                "things": [1, "x", None, [1, 2], {"name": "q"}],
            },
        )


def test_what_there_is(kennel: Kennel) -> None:
    large = kennel.rooms.where(value > 12)
    assert list(large) == [20, 35, 20] and large[0] == 20 and large[-1] == 20 and large[:2] == [20, 35]
    assert len(large) == large.count() == 3 and large and 35 in large and 12 not in large
    assert large.first() == 20 and kennel.rooms.where(value > 99).first() is None
    assert (large.sum(), large.min(), large.max(), large.avg()) == (75, 20, 35, 25.0)
    assert large.places() == [1, 2, 3] and list(large.distinct()) == [20, 35]
    assert list(kennel.rooms.order_by(desc(value)).offset(1).limit(2)) == [20, 20]
    assert list(kennel.rooms.order_by()) == [12, 20, 20, 35] and list(kennel.rooms.distinct()) == [12, 20, 35]
    assert list(kennel.rooms.limit(1)) == [12] and list(kennel.rooms.offset(3)) == [20]
    assert list(kennel.rooms.filter("@self IN $0 SORT(@self DESC)", {12, 35})) == [35, 12]
    assert list(kennel.tags.order_by(asc(value, case=False))) == ["big", "Odd", "old"]
    assert list(kennel.tags.where(value.length == 3, value.starts_with("o", case=False))) == ["Odd", "old"]
    assert kennel.prices.order_by().places() == ["a", "c", "b"]
    assert kennel.by_id.where(value == "x").places() == [7]
    assert repr(large) == "<Elements of Kennel.rooms: [20, 35, 20]>"
    with pytest.raises(objstore.IndexOutOfRange, match="Kennel.rooms: index 3 of 3"):
        large[3]
    with pytest.raises(TypeError, match="Kennel.rooms"):
        copy.deepcopy(large)
    assert copy.copy(large) is large


def test_live_in_writes_and_frozen(store: objstore.Store, kennel: Kennel) -> None:
    large = kennel.rooms.where(value > 12)
    frozen = large.freeze()
    seen = []
    with store.write():
        for room in large:  # what it began with
            kennel.rooms.append(room * 10)
            seen.append(room)
        assert list(large) == [20, 35, 20, 200, 350, 200]
        loop = iter(large)
        kennel.rooms.clear()
        assert not large and next(loop) == 20
        kennel.rooms.extend([7, 99])
        assert list(large) == [99]
    assert seen == [20, 35, 20] and list(loop) == [35, 20, 200, 350, 200]
    assert list(large) == [99] and list(frozen) == [20, 35, 20] and frozen.is_frozen and not large.is_frozen
    with pytest.raises(ZeroDivisionError), store.write():
        kennel.rooms.append(1000)
        assert large.max() == 1000
        raise ZeroDivisionError
    assert large.max() == 99


def test_an_owner_that_is_gone(store: objstore.Store, kennel: Kennel) -> None:
    large = kennel.rooms.where(value > 12)
    with store.write():
        store.delete(kennel)
        assert list(large) == []
    assert not large and large.sum() == 0 and large.max() is None and large.first() is None
    with pytest.raises(objstore.NoSuchObject):
        large.where(value > 20)
    with pytest.raises(objstore.NoSuchObject):
        kennel.rooms.elements()
    store.close()
    with pytest.raises(objstore.Closed):
        list(large)
    assert "closed" in repr(large).lower()


def test_enumerations_and_any(kennel: Kennel) -> None:
    assert list(kennel.colors.where(value == Color.BLUE)) == [Color.BLUE, Color.BLUE]
    assert list(kennel.colors.filter("@self != $0", Color.BLUE)) == [Color.RED]
    assert list(kennel.colors.where(value.in_([Color.RED]))) == [Color.RED]
    with pytest.raises(objstore.WrongType, match="Kennel.colors: there is no max of Color"):
        kennel.colors.elements().max()
    nested = kennel.things.filter("@self[1] == 2")[0]
    assert nested == [1, 2] and kennel.things.where(value["name"] == "q")[0]["name"] == "q"
    assert list(kennel.things.where(value.type == "string")) == ["x"]
    assert kennel.things.elements().sum() == 1


def test_functions(store: objstore.Store, kennel: Kennel) -> None:
    def failing(number: int) -> int:
        raise KeyError(number)

    store.define_function("odd_of", lambda number: number % 2 == 1, "i64 -> bool")
    store.define_function("failing_of", failing, "i64 -> i64")
    assert list(kennel.rooms.filter("odd_of(@self) == true")) == [35]
    assert list(kennel.rooms.where(call("odd_of", value) == False)) == [12, 20, 20]
    with pytest.raises(KeyError):
        list(kennel.rooms.filter("failing_of(@self) == 1"))


def test_what_is_told_and_ended(store: objstore.Store, kennel: Kennel) -> None:
    with store.write():
        kennel.rooms.extend(range(1000, 6000))
    told: list[tuple[int, int]] = []
    store.watch_queries(lambda done, total: told.append((done, total)), interval=0)
    assert kennel.rooms.where(value > 5997).count() == 2
    assert told and told[-1] == (5004, 5004)

    def stop(done: int, total: int) -> None:
        raise KeyError(done)

    store.watch_queries(stop, interval=0)
    with pytest.raises(KeyError):
        kennel.rooms.where(value > 5998).count()
    store.watch_queries(None)
    assert kennel.rooms.where(value > 5998).count() == 1


@pytest.mark.parametrize("order", [lambda rooms: rooms.order_by(desc(value)), lambda rooms: rooms.distinct()])
def test_a_limit_of_memory(tmp_path: Any, order: Any) -> None:
    with objstore.open(tmp_path / "rooms", models=[Kennel]) as store, store.write():
        store.create(Kennel, {"id": 1, "rooms": list(range(20_000))})
    with objstore.open(tmp_path / "rooms", models=[Kennel], query_bytes=200_000) as store:
        kennel = store.objects(Kennel)[0]
        assert kennel.rooms.where(value < 9).count() == 9
        with pytest.raises(objstore.OutOfMemory):
            order(kennel.rooms).count()
    with objstore.open(tmp_path / "rooms", models=[Kennel], query_bytes=20_000_000) as store:
        assert order(store.objects(Kennel)[0].rooms).count() == 20_000


def test_what_cannot_be(kennel: Kennel) -> None:
    for text, error, words in [
        ("age > 3", objstore.NoSuchProperty, "Kennel.rooms: a value has no properties, such as age"),
        ("@self == 'a'", objstore.WrongType, 'Kennel.rooms: @self is an int, and is compared with "a"'),
        ("@self > 3 GROUP(@self)", objstore.NotSupported, "plain values have no tables"),
        ("ANY @self == 3", objstore.InvalidQuery, "Kennel.rooms: @self is no collection"),
    ]:
        with pytest.raises(error, match=words.replace("(", r"\(")) as raised:
            kennel.rooms.filter(text)
        assert raised.value.position is not None
    for wrong in (
        lambda: kennel.rooms.where(Kennel.id == 3),
        lambda: kennel.rooms.order_by(Kennel.id),
        lambda: kennel.rooms.where(value.starts_with("a")),
        lambda: kennel.tags.elements().sum(),
        lambda: kennel.friends.elements(),
        lambda: kennel.rooms.objects(),
    ):
        with pytest.raises(objstore.WrongType, match="Kennel"):
            wrong()
    with pytest.raises(objstore.WrongType):
        kennel.rooms.filter(3)  # type: ignore[call-overload]
    with pytest.raises(objstore.InvalidQuery, match="Kennel.rooms: -1"):
        kennel.rooms.limit(-1)
    with pytest.raises(objstore.NoSuchProperty):
        kennel.rooms.order_by("age")


def test_other_words_for_an_element(kennel: Kennel) -> None:
    rooms = kennel.rooms
    assert list(rooms.order_by("@self")) == sorted(rooms) and list(rooms.distinct("@self")) == list(
        dict.fromkeys(rooms)
    )
    with pytest.raises(objstore.NoSuchProperty, match=r"write value\['name'\]"):
        objstore.value.name
