"""Observers of lists and dicts inside of mixed values."""

import random
from typing import Any

import pytest

import objstore
from objstore import Dict, List, field


class Dog(objstore.Model):
    name: str = field(primary_key=True)
    extra: Any = None
    things: List[Any]
    notes: Dict[str, Any]


@pytest.fixture
def store():
    with objstore.open(memory="nested", models=[Dog]) as opened:
        with opened.write():
            opened.add(
                Dog(
                    name="Rex",
                    extra={"seen": [1, 2.5, "x"], "by": {"a": 1, "b": [7]}},
                    things=[[1, 2], {"k": "v"}, 3],
                    notes={"n": {"deep": [0]}},
                )
            )
        yield opened


def positions(change):
    return change.deletions, change.insertions, change.modifications, change.moves


def keys(change):
    return change.deleted_keys, change.inserted_keys, change.modified_keys


def test_a_list_inside(store):
    rex, told = store.get(Dog, "Rex"), []
    with rex.extra["seen"].observe(lambda change: told.append(positions(change))):
        store.deliver()
        with store.write():
            rex.extra["seen"].append(9)
            rex.extra["seen"][0] = 5
        store.deliver()
        with store.write():
            del rex.extra["seen"][1]
            rex.extra["by"]["a"] = 2  # elsewhere
            rex.extra["seen"].insert(0, "first")
        store.deliver()
        with store.write():
            rex.extra["by"]["a"] = 3
        assert store.deliver() == 0
    assert told == [
        ([], [], [], []),
        ([], [3], [0], []),
        ([1], [0], [], []),
    ]


def test_a_dict_inside(store):
    rex, told = store.get(Dog, "Rex"), []
    with rex.extra["by"].observe(lambda change: told.append(keys(change)), initial=False):
        with store.write():
            rex.extra["by"]["b"].append(8)  # deep
            rex.extra["by"]["c"] = None
            del rex.extra["by"]["a"]
        store.deliver()
    assert told == [(["a"], ["c"], ["b"])]


@pytest.mark.parametrize("initial", [True, False])
def test_the_value_of_the_property_itself(store, initial):
    rex, told = store.get(Dog, "Rex"), []
    with rex.extra.observe(lambda change: told.append(keys(change)), initial=initial):
        store.deliver()
        with store.write():
            rex.extra["seen"].append(1)
        store.deliver()
    assert told[-1] == ([], [], ["seen"]) and len(told) == 1 + initial


def test_inside_of_elements(store):
    rex, told = store.get(Dog, "Rex"), {}
    tokens = [
        place.observe(lambda change, name=name: told.__setitem__(name, positions(change)), initial=False)
        for name, place in (("list", rex.things[0]), ("dict", rex.things[1]), ("deep", rex.notes["n"]["deep"]))
    ]
    with store.write():
        rex.things[0].append(3)
        rex.notes["n"]["deep"][0] = 1
    store.deliver()
    assert told == {"list": ([], [2], [], []), "deep": ([], [], [0], [])}
    told.clear()
    with store.write():
        rex.things.insert(0, "another")  # the place is the first element: there is no list any more
    store.deliver()
    assert told["list"] == ([0, 1, 2], [], [], [])
    for token in tokens:
        token.close()


def test_a_place_that_is_empty_for_a_while(store):
    rex, told = store.get(Dog, "Rex"), []
    token = rex.extra["seen"].observe(
        lambda c: told.append((positions(c), c.is_cleared, c.is_owner_deleted)), initial=False
    )

    def write(value):
        with store.write():
            rex.extra = value
        store.deliver()

    write({"seen": {"a": "dict"}})
    write({"other": 1})
    write(None)
    write({"seen": [4, 5]})
    write({"seen": [5]})
    with store.write():
        store.delete(rex)
    store.deliver()
    with store.write():
        store.add(Dog(name="Rex", extra={"seen": [1]}))
    store.deliver()
    assert told == [
        (([0, 1, 2], [], [], []), True, False),
        (([], [0, 1], [], []), False, False),
        (([0], [], [], []), False, False),
        (([0], [], [], []), True, True),
    ]
    token.close()


def test_what_cannot_be_observed(store):
    rex = store.get(Dog, "Rex")
    seen, frozen = rex.extra["seen"], rex.freeze()
    with pytest.raises(objstore.WrongView):
        frozen.extra["seen"].observe(print)
    with store.write():
        rex.extra = {"seen": 7}
    with pytest.raises(objstore.WrongType, match="no list|not a list"):
        seen.observe(print)
    with store.write():
        rex.extra = {}
    with pytest.raises(objstore.NotFound):
        seen.observe(print)
    with store.write():
        rex.extra = None
    with pytest.raises(objstore.WrongType):
        seen.observe(print)
    with store.write():
        store.delete(rex)
    with pytest.raises(objstore.NoSuchObject):
        seen.observe(print)


def test_silent_writes_pauses_and_bookmarks(store):
    rex, told = store.get(Dog, "Rex"), []
    token = rex.extra["seen"].observe(lambda change: told.append(positions(change)), initial=False)
    with store.write(without_notifying=[token]):
        rex.extra["seen"].append("mine")
    with store.write():
        rex.extra["seen"].append("theirs")
    store.deliver()
    assert told == [([], [4], [], [])]
    seen = store.bookmark()
    store.keep_version("k", seen)
    token.pause()
    for value in range(3):
        with store.write():
            rex.extra["seen"][0] = value
    assert store.deliver() == 0
    token.resume()
    store.deliver()
    assert told[1:] == [([], [], [0], [])]
    token.close()
    later = []
    with rex.extra["seen"].observe(lambda change: later.append(positions(change)), since=seen):
        store.deliver()
    assert later == [([], [], [0], [])]


def test_streams(store):
    import asyncio

    rex = store.get(Dog, "Rex")

    async def follow():
        heard = []
        with rex.extra["by"].changes() as stream:
            async for change in stream:
                heard.append(keys(change))
                if len(heard) == 2:
                    return heard
                with store.write():
                    rex.extra["by"]["z"] = 1

    assert asyncio.run(follow()) == [([], [], []), ([], ["z"], [])]


def scalar(chance):
    return chance.choice([None, True, 1, 2, 2.5, "a", "b", b"x", [1], {"q": 1}, []])


@pytest.mark.parametrize("seed", range(4))
def test_copies_follow(store, seed):
    """A copy that does what it is told is what is there, whatever is done at the place."""
    chance = random.Random(seed)
    rex = store.get(Dog, "Rex")
    copies = {"seen": list(rex.extra["seen"].copy()), "by": dict(rex.extra["by"].copy())}

    def now():
        extra = rex.extra
        found = {name: extra.get(name) if isinstance(extra, objstore.MixedDict) else None for name in copies}
        return (
            found["seen"].copy() if isinstance(found["seen"], objstore.MixedList) else [],
            found["by"].copy() if isinstance(found["by"], objstore.MixedDict) else {},
        )

    def follow_list(change):
        new, copy = now()[0], copies["seen"]
        for at in reversed(change.deletions):
            del copy[at]
        for at in change.insertions:
            copy.insert(at, new[at])
        for at in change.modifications_after:
            assert copy[at] != new[at] or repr(copy[at]) != repr(new[at])
            copy[at] = new[at]

    def follow_dict(change):
        new, copy = now()[1], copies["by"]
        for key in change.deleted_keys:
            del copy[key]
        for key in change.inserted_keys:
            assert key not in copy
            copy[key] = new[key]
        for key in change.modified_keys:
            copy[key] = new[key]

    tokens = [
        rex.extra["seen"].observe(follow_list, initial=False),
        rex.extra["by"].observe(follow_dict, initial=False),
    ]
    for step in range(200):
        with store.write():
            for _ in range(chance.choice([1, 1, 2, 5])):
                extra = rex.extra
                whole = chance.random() < 0.1
                if whole or not isinstance(extra, objstore.MixedDict):
                    rex.extra = chance.choice(
                        [None, 7, {"seen": [scalar(chance) for _ in range(chance.randrange(5))], "by": {}}]
                    )
                    continue
                name = chance.choice(["seen", "by", "other"])
                inner = extra.get(name)
                if (
                    name == "other"
                    or chance.random() < 0.1
                    or not isinstance(inner, (objstore.MixedList, objstore.MixedDict))
                ):
                    extra[name] = chance.choice([scalar(chance), [scalar(chance)], {"k": scalar(chance)}])
                elif isinstance(inner, objstore.MixedList):
                    action = chance.randrange(4)
                    if action == 0 or not len(inner):
                        inner.insert(chance.randrange(len(inner) + 1), scalar(chance))
                    elif action == 1:
                        del inner[chance.randrange(len(inner))]
                    elif action == 2:
                        inner[chance.randrange(len(inner))] = scalar(chance)
                    else:
                        inner.reverse()
                else:
                    key = chance.choice("abcd")
                    if chance.random() < 0.3:
                        inner.pop(key, None)
                    else:
                        inner[key] = scalar(chance)
        store.deliver()
        assert (copies["seen"], copies["by"]) == now(), f"seed {seed}, step {step}"
    for token in tokens:
        token.close()
