"""Observing lists, sets and dicts themselves."""

import asyncio
import random
import subprocess
import sys
from datetime import datetime, timezone
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import List, field
from test_processes import ENVIRONMENT


class Toy(objstore.Model):
    name: str = field(primary_key=True)
    price: int = 0


class Room(objstore.EmbeddedModel):
    size: int = 0


class Child(objstore.Model):
    id: int = field(primary_key=True)
    tags: List[str]
    marks: list[int | None]
    seen: set[int]
    words: set[str]
    notes: dict[str, int | None]
    ages: dict[int, str]
    anything: list[Any]
    days: list[datetime]
    toys: list[Toy]
    loved: set[Toy]
    named: dict[str, Toy | None]
    rooms: list[Room]
    places: dict[str, Room | None]


store = store_of([Toy, Room, Child])


@pytest.fixture
def child(store):
    with store.write():
        return store.add(Child(id=1, tags=["a", "b", "c", "d"], seen={1, 2, 3}, notes={"x": 1, "y": 2}))


class Log:
    """What it was told of: the lists that have something."""

    def __init__(self):
        self.all = []

    def __call__(self, change):
        what = {"deletions": change.deletions, "insertions": change.insertions, "moves": change.moves}
        what |= {"modifications": change.modifications, "modifications_after": change.modifications_after}
        what |= {"cleared": change.is_cleared, "owner_deleted": change.is_owner_deleted, "initial": change.is_initial}
        if isinstance(change, objstore.ElementChanges) and "dict" in repr(change._shape.type_name):
            what |= {"deleted_keys": change.deleted_keys, "inserted_keys": change.inserted_keys}
            what["modified_keys"] = change.modified_keys
        self.all.append({name: value for name, value in what.items() if value})

    def taken(self):
        found, self.all = self.all, []
        return found


def test_lists(store, child):
    log = Log()
    with child.tags.observe(log) as token:
        assert store.deliver() == 1 and log.taken() == [{"initial": True}]
        with store.write():
            child.tags[1] = "B"  # at 1, then at 0
            del child.tags[0]
            child.tags.append("e")
        assert store.deliver() == 1
        assert log.taken() == [{"deletions": [0], "insertions": [3], "modifications": [1], "modifications_after": [0]}]
        with store.write():
            child.tags.move(0, 2)  # B c d e: c d B e
        store.deliver()
        assert log.taken() == [{"deletions": [0], "insertions": [2], "moves": [(0, 2)]}]
        with store.write():
            child.tags[0] = "c"  # what it is
        store.deliver()
        assert log.taken() == [{"modifications": [0], "modifications_after": [0]}]
        with store.write():
            child.tags.append("x")
            child.tags.pop()
            child.marks.append(1)
        assert store.deliver() == 0 and log.taken() == []
        with store.write():
            child.tags = ["c", "d", "z", "e"]
        store.deliver()
        assert log.taken() == [{"modifications": [2], "modifications_after": [2]}]
        with store.write():
            child.tags.clear()
        store.deliver()
        assert log.taken() == [{"deletions": [0, 1, 2, 3], "cleared": True}]
        with store.write():
            child.tags.append("a")
        with store.write():
            child.tags.clear()
        assert store.deliver() == 0
    assert token.is_closed
    with store.write():
        child.tags.append("a")
    assert store.deliver() == 0


def test_sets_and_dicts(store, child):
    of_set, of_dict, of_ages = Log(), Log(), Log()
    tokens = [
        child.seen.observe(of_set, initial=False),
        child.notes.observe(of_dict, initial=False),
        child.ages.observe(of_ages, initial=False),
    ]
    with store.write():
        child.seen.add(0)
        child.seen.discard(2)
        child.seen.discard(3)
        child.seen.add(3)
        child.notes["a"] = None
        child.notes["x"] = 1  # what it is
        del child.notes["y"]
        child.ages[7] = "seven"
        child.ages[-7] = "less"
    assert store.deliver() == 3
    assert of_set.taken() == [{"deletions": [1], "insertions": [0]}]
    assert of_dict.taken() == [
        {
            "deletions": [1],
            "insertions": [0],
            "modifications": [0],
            "modifications_after": [1],
            "deleted_keys": ["y"],
            "inserted_keys": ["a"],
            "modified_keys": ["x"],
        }
    ]
    assert of_ages.taken() == [{"insertions": [0, 1], "inserted_keys": [-7, 7]}]
    with store.write():
        child.notes.clear()
        child.notes["a"] = 5  # went and came: another value
    store.deliver()
    change = of_dict.taken()[0]
    assert change["modified_keys"] == ["a"] and change["deleted_keys"] == ["x"] and "inserted_keys" not in change
    for token in tokens:
        token.close()


def test_objects(store, child):
    """A list or set of objects tells of objects, a dict of keys; also where an object in it changes."""
    with store.write():
        toys = [store.add(Toy(name=name)) for name in "abc"]
        child.toys = [toys[0], toys[1], toys[0]]
        child.loved = toys
        child.named = {"one": toys[0], "none": None}
        child.rooms = [Room(size=1), Room(size=2)]
        child.places = {"in": Room(size=3)}
    told = {}

    def tell(name, change):
        objects = isinstance(change, objstore.Changes)
        told[name] = [t.name for t in change.modified] if objects and name != "rooms" else change.modifications
        if objects and name != "rooms":
            assert [change.written(i) for i in range(change.modification_count)] == [("price",)] * len(told[name])

    names = ("toys", "loved", "named", "rooms", "places")
    tokens = [getattr(child, n).observe(lambda c, n=n: tell(n, c), initial=False) for n in names]
    only_names = []
    tokens.append(child.toys.observe(lambda c: only_names.append(c.insertions), keys=["name"], initial=False))
    with store.write():
        toys[0].price = 5
        child.rooms[1].size = 9
        child.places["in"].size = 9
    store.deliver()
    assert told == {"toys": ["a", "a"], "loved": ["a"], "named": [1], "rooms": [1], "places": [0]}
    assert only_names == []
    with store.write():
        store.delete(toys[0])
    logs = {n: Log() for n in names}
    tokens += [getattr(child, n).observe(logs[n], initial=False) for n in names]
    with store.write():
        store.delete(toys[1])
        child.toys.append(toys[2])
        child.named["two"] = toys[2]
    store.deliver()
    assert logs["toys"].taken() == [{"deletions": [0], "insertions": [0]}] and only_names == [[0]]
    assert logs["loved"].taken() == [{"deletions": [0]}]
    assert logs["named"].taken() == [{"insertions": [2], "inserted_keys": ["two"]}]
    for token in tokens:
        token.close()


def test_any_values(store, child):
    log = Log()
    with store.write():
        child.anything = [1, "a", {"deep": [1, 2]}]
    with child.anything.observe(log, initial=False):
        with store.write():
            child.anything[2]["deep"].append(3)
            child.anything[0] = 1.0
        store.deliver()
    assert log.taken() == [{"modifications": [0, 2], "modifications_after": [0, 2]}]


def test_the_owner_goes(store, child):
    log, empty = Log(), Log()
    tokens = [child.tags.observe(log, initial=False), child.words.observe(empty, initial=False)]
    with store.write():
        child.tags.append("e")
        store.delete(child)
    assert store.deliver() == 2
    assert log.taken() == [{"deletions": [0, 1, 2, 3], "cleared": True, "owner_deleted": True}]
    assert empty.taken() == [{"owner_deleted": True}]
    with store.write():
        store.add(Child(id=1, tags=["new"]))
    assert store.deliver() == 0
    for token in tokens:
        token.close()
    with pytest.raises(objstore.NoSuchObject):
        child.tags.observe(log)


def test_silent_writes(store, child):
    one, two, kept = Log(), Log(), list(child.tags)
    token, other = child.tags.observe(one, initial=False), child.tags.observe(two, initial=False)
    with store.write(without_notifying=[token]):
        child.tags.insert(0, "mine")
    kept.insert(0, "mine")
    with store.write():
        child.tags[2] = "theirs"
    store.deliver()
    assert one.taken() == [{"modifications": [2], "modifications_after": [2]}]
    # As one step: the silent one is new for this one.
    changes = two.taken()
    assert changes == [{"insertions": [0], "modifications": [1], "modifications_after": [2]}]
    kept[2] = "theirs"
    assert kept == list(child.tags)
    token.close()
    other.close()


def test_refusals(store, child):
    with pytest.raises(objstore.InvalidArgument, match="Child.tags is a list"):
        child.tags.observe(print, keys=["tags"])
    with pytest.raises(objstore.InvalidArgument, match="a function is wanted"):
        child.tags.observe(5)
    with store.write(), pytest.raises(objstore.AlreadyInWrite):
        child.tags.observe(print)
    with store.freeze() as frozen, pytest.raises(objstore.WrongView):
        frozen.get(Child, 1).tags.observe(print)
    seen = []
    with child.seen.observe(seen.append, initial=False):
        with store.write():
            child.seen.add(9)
        store.deliver()
    with pytest.raises(objstore.WrongType, match="only dicts have keys"):
        seen[0].inserted_keys
    with pytest.raises(objstore.Closed):
        seen[0].after
    assert seen[0].insertions == [3] and "Child.seen" in repr(seen[0]) and "1 inserted" in repr(seen[0])

    def look(change):
        seen.append((list(change.before.get(Child, 1).days), list(change.after.get(Child, 1).days)))

    now = datetime.now(timezone.utc)
    with child.days.observe(look, initial=False):
        with store.write():
            child.days.append(now)
        store.deliver()
    assert seen[-1] == ([], [now])


def test_streams(store, child):
    async def main():
        tags, toys, notes = child.tags.changes(), child.toys.changes(initial=False), child.notes.changes(initial=False)
        assert (await anext(tags)).is_initial
        with store.write():
            child.tags.append("x")
            child.notes["new"] = 1
            child.toys.append(Toy(name="ball"))
        of_tags, of_notes, of_toys = await anext(tags), await anext(notes), await anext(toys)
        assert of_tags.insertions == [4] and of_notes.inserted_keys == ["new"]
        assert [toy.name for toy in of_toys.inserted] == ["ball"]
        with store.write():
            del child.tags[0]
        async for change in tags:
            assert change.deletions == [0] and change.after.get(Child, 1).tags[0] == "b"
            break
        for stream in (tags, toys, notes):
            stream.close()

    asyncio.run(main())


class Follower:
    """A list that does what it is told."""

    def __init__(self, content):
        self.rows = list(content)

    def __call__(self, change):
        new = list(change.after.get(Child, 1).tags)
        for position in reversed(change.deletions):
            del self.rows[position]
        for position in change.insertions:
            self.rows.insert(position, new[position])
        for position in change.modifications_after:
            self.rows[position] = new[position]
        assert self.rows == new


@pytest.mark.parametrize("seed", range(4))
def test_random(store, child, seed):
    rng = random.Random(seed)
    follow = Follower(child.tags)
    with child.tags.observe(follow, initial=False):
        for _ in range(60):
            with store.write():
                for _ in range(rng.randrange(1, 6)):
                    tags, word = child.tags, rng.choice("abcdefgh")
                    match rng.randrange(6 if tags else 2):
                        case 0 | 1:
                            tags.insert(rng.randrange(len(tags) + 1), word)
                        case 2:
                            tags[rng.randrange(len(tags))] = word
                        case 3:
                            del tags[rng.randrange(len(tags))]
                        case 4:
                            tags.move(rng.randrange(len(tags)), rng.randrange(len(tags)))
                        case _:
                            child.tags = [rng.choice("abcdefgh") for _ in range(rng.randrange(9))]
            if rng.random() < 0.5:
                store.deliver()
        store.deliver()
    assert follow.rows == list(child.tags)


def test_other_processes(store, child, tmp_path):
    log = []
    with child.tags.observe(lambda c: log.append((c.is_from_other_process, c.insertions)), initial=False):
        program = f"""
import objstore
with objstore.open({str(tmp_path / "test.objstore")!r}) as store:
    with store.write():
        store.get(store.models["Child"], 1).tags.append("theirs")
"""
        subprocess.run([sys.executable, "-c", program], check=True, env=ENVIRONMENT)
        assert store.wait(10_000) == 1
    assert log == [(True, [4])]


def test_the_property_goes(tmp_path):
    """A newer program drops a property, and a class: as if their owners were deleted, told once."""

    class Plain(objstore.Model):
        id: int = field(primary_key=True)
        tags: list[str]
        notes: dict[str, int]

    class Old(objstore.Model):
        words: set[str]

    path, log = tmp_path / "dropped.objstore", {}
    with objstore.open(path, models=[Plain, Old]) as store:
        with store.write():
            plain, old = store.add(Plain(id=1, tags=["a"], notes={"x": 1})), store.add(Old(words={"w"}))
        collections = {"tags": plain.tags, "notes": plain.notes, "words": old.words}
        tokens = []
        for name, each in collections.items():
            log[name] = Log()
            tokens.append(each.observe(log[name], initial=False))
        program = f"""
import objstore
from objstore import field
class Plain(objstore.Model):
    id: int = field(primary_key=True)
    notes: dict[str, int]
with objstore.open({str(path)!r}, models=[Plain], schema_version=2, drop=["Old"]) as store:
    with store.write():
        store.get(Plain, 1).notes["y"] = 2
"""
        subprocess.run([sys.executable, "-c", program], check=True, env=ENVIRONMENT)
        store.deliver()
        assert store.deliver() == 0
        gone = {"deletions": [0], "cleared": True, "owner_deleted": True}
        assert log["tags"].taken() == [gone] and log["words"].taken() == [gone]
        assert log["notes"].taken() == [{"insertions": [1], "inserted_keys": ["y"]}]
        for token in tokens:
            token.close()


def test_an_end_is_told_once(tmp_path):
    """Also to one that falls behind after it: what is over does not begin anew."""
    with objstore.open(tmp_path / "few.objstore", models=[Toy, Room, Child], observer_lag=2) as store:
        with store.write():
            child = store.add(Child(id=1, tags=["a"], seen={1}, notes={"x": 1}, toys=[Toy(name="ball")]))
        log = []
        asked = [child.tags, child.seen, child.notes, child.toys, child.toys.where(Toy.price < 5), child]
        tokens = [one.observe(lambda change, i=i: log.append((i, change.is_lost))) for i, one in enumerate(asked)]
        store.deliver()
        log.clear()
        with store.write():
            store.delete(child)
        assert store.deliver() == len(asked) and sorted(log) == [(i, False) for i in range(len(asked))]
        log.clear()
        for token in tokens:
            token.pause()
        for price in range(9):
            with store.write():
                store.add(Child(id=1, tags=["a"], toys=[Toy(name="ball", price=price)]), update="all")
        for token in tokens:
            token.resume()
        store.deliver()
        assert log == []


@pytest.mark.parametrize("seed", range(3))
def test_objects_in_long_collections(seed):
    """Where the changed objects are, some of them several times: by their links, where nothing else was done."""
    dice = random.Random(seed)
    with objstore.open(memory=f"long {seed}", models=[Toy, Room, Child]) as store:
        with store.write():
            toys = [store.add(Toy(name=f"toy {number}")) for number in range(1500)]
            child = store.add(Child(id=1))
            child.toys.extend(dice.choice(toys[:1200]) for _ in range(2500))
            child.loved.update(dice.sample(toys, 700))
            child.named.update({f"{number}": dice.choice([*toys[:900], None]) for number in range(600)})
        told = {}

        def telling(what):
            def tell(change):
                names = {toy.name for toy in change.modified} if what != "named" else change.modified_keys
                told[what] = (set(change.insertions), change.modifications_after, names)

            return tell

        places = {"toys": child.toys, "loved": child.loved, "named": child.named}
        tokens = [place.observe(telling(what), initial=False) for what, place in places.items()]
        for _ in range(40):
            changed = dice.sample(toys, dice.choice([1, 1, 2, 5, 70]))
            with store.write():
                for toy in changed:
                    toy.price += 1
                if dice.random() < 0.2:
                    child.toys.insert(0, toys[0])
                    child.loved.discard(toys[1])
            told.clear()
            store.deliver()
            names = {toy.name for toy in changed}
            toys_at = [i for i, toy in enumerate(child.toys) if toy.name in names]
            loved_at = [i for i, toy in enumerate(child.loved) if toy.name in names]
            keys = [key for key in child.named if child.named[key] is not None and child.named[key].name in names]
            for what, at in (("toys", toys_at), ("loved", loved_at)):
                new, after, modified = told.get(what, (set(), [], set()))
                assert [i for i in at if i not in new] == after and modified <= names
            assert keys == (told["named"][2] if "named" in told else [])
        for token in tokens:
            token.close()
