"""Observing with handlers: what they get, when, on which thread, and until when."""

import datetime
import gc
import math
import random
import select
import signal
import subprocess
import sys
import threading
import time

import pytest

import objstore
from conftest import KENNEL
from models import Dog, Person, Turtle
from objstore import any_, desc
from test_processes import ENVIRONMENT, in_child


@pytest.fixture
def turtles(store):
    """Six of them, of ages 0, 10 … 50."""
    with store.write():
        store.add_all([Turtle(_id=i, name=f"t{i}", age=10 * i) for i in range(6)])
    return store.objects(Turtle)


class Log:
    """A handler that remembers what it got."""

    def __init__(self):
        self.all = []

    def __call__(self, change):
        lists = (change.deletions, change.insertions, change.modifications, change.modifications_after)
        self.all.append("initial" if change.is_initial else lists)


class Follower:
    """A list that follows what it is told."""

    def __init__(self, results, key=lambda turtle: turtle._id):
        self.rows, self.key, self.moves = [key(row) for row in results], key, []
        self.is_owner_deleted = False

    def __call__(self, change):
        self.is_owner_deleted = change.is_owner_deleted
        for position in reversed(change.deletions):
            del self.rows[position]
        coming = [self.key(row) for row in change.inserted]
        named = dict(zip((to for _, to in change.moves), (self.key(row) for row in change.moved)))
        for position in change.insertions:
            self.rows.insert(position, named.get(position) if position in named else coming.pop(0))
        for position, row in zip(change.modifications_after, change.modified):
            assert self.rows[position] == self.key(row)
        self.moves += change.moves


def test_orders(store, turtles):
    """Sorted, limited and distinct results, and moves in them."""
    by_age = turtles.order_by(Turtle.age)
    log, written = Follower(by_age), []
    youngest, last = Follower(turtles.order_by(Turtle.age).limit(2)), Follower(turtles.order_by(desc(Turtle.age))[:3])
    tokens = [
        by_age.observe(log, initial=False),
        by_age.observe(lambda c: written.extend(map(c.written_in_move, range(c.move_count))), initial=False),
        turtles.order_by(Turtle.age).limit(2).observe(youngest, initial=False),
        turtles.order_by(desc(Turtle.age)).limit(3).observe(last, initial=False),
    ]
    with store.write():
        store.get(Turtle, 1).age = 35  # behind t3
    store.deliver()
    assert log.rows == [0, 2, 3, 1, 4, 5] and log.moves == [(1, 3)] and written == [("age",)]
    assert youngest.rows == [0, 2] and last.rows == [5, 4, 1]
    with store.write():
        store.get(Turtle, 1).age = 31  # where it is
        store.delete(store.get(Turtle, 0))
        store.get(Turtle, 5).age = -1
    store.deliver()
    assert log.rows == [5, 2, 3, 1, 4] and log.moves == [(1, 3), (5, 0)]
    assert youngest.rows == [5, 2] and last.rows == [4, 1, 3]
    with store.write():
        store.get(Turtle, 2).name = "two"
    assert store.deliver() == 3 and last.rows == [4, 1, 3]
    for token in tokens:
        token.close()


class Row(objstore.Model):
    __indexes__ = [objstore.Index("text", "number"), objstore.Index("flag", "real")]
    _id: int = objstore.field(primary_key=True)
    text: str | None = objstore.field(default=None, indexed=True)
    real: float | None = objstore.field(default=None, indexed=True)
    number: int | None = None
    flag: bool = False
    at: datetime.datetime | None = None


class Box(objstore.Model):
    rows: objstore.List[Row]


ORDERS = (
    [Row.text],
    [desc(Row.text), Row.number],
    [Row.real, desc(Row.flag)],
    [desc(Row.number), desc(Row.text), Row.real],
    [Row.flag, Row.at],
    [desc(Row.at)],
    [Row.number + Row.number * 2, Row.text],
)


@pytest.mark.parametrize("seed", range(4))
def test_orders_of_all_kinds(seed):
    """Random histories of sorted results: what is told leads from one list to the next, whatever they are sorted by."""
    dice = random.Random(seed)
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    kinds = {
        "text": lambda: dice.choice(
            [None, "", "a", "A", "ä", "long" * dice.choice([9, 20]) + dice.choice("xy"), dice.choice("abc") * 3]
        ),
        "real": lambda: dice.choice([None, math.nan, -0.0, 0.0, math.inf, -math.inf, dice.uniform(-2, 2)]),
        "number": lambda: dice.choice([None, -(2**63), 1 - 2**63, 2**40, 2**63 - 1, dice.randrange(4)]),
        "flag": lambda: dice.random() < 0.5,
        "at": lambda: dice.choice([None, start + datetime.timedelta(seconds=dice.randrange(3))]),
    }
    with objstore.open(memory=f"orders {seed}", models=[Row, Box]) as store:
        with store.write():
            store.add_all([Row(_id=i, **{n: make() for n, make in kinds.items()}) for i in range(1800)])
            box = store.add(Box())
            box.rows.extend(dice.choice(list(store.objects(Row))) for _ in range(300))
        rows = store.objects(Row)
        asked = [rows.order_by(*keys) for keys in ORDERS] + [rows.where(Row.flag == True).order_by(desc(Row.real))]
        asked += [
            rows.order_by(*order).distinct(*values)
            for order, values in zip(ORDERS, ([Row.real], [Row.flag, Row.at], [Row.text], [Row.number], [Row.real]))
        ]
        asked += [
            rows.distinct(Row.text),
            rows.distinct(Row.real).order_by(desc(Row.at)),
            rows.where(Row.number != None).distinct(Row.number, Row.text).order_by(Row.real).limit(7),
            rows.order_by(Row.flag).order_by(Row.text).offset(3).limit(37),
            rows.where(Row.flag == True).offset(5).limit(25),
        ]
        listed = box.rows.objects()
        asked += [listed.order_by(*keys) for keys in ORDERS]
        asked += [listed.where(Row.number >= 0), listed.where(Row.flag == True).order_by(Row.real).limit(9)]
        asked += [
            store.objects_in(Row, ["text"], from_=["a"], to=["long" * 20]),
            store.objects_in(Row, ["text", "number"], from_=["a", 1]),
            store.objects_in(Row, ["flag", "real"], to=[True, 0.5], including_to=False),
            store.objects_in(Row, ["real"]),
        ]
        follow = [Follower(results) for results in asked]
        tokens = [results.observe(one, initial=False) for results, one in zip(asked, follow)]
        next_id = 2000
        for _ in range(25):
            with store.write():
                for _ in range(dice.randrange(1, 12)):
                    row = store.get(Row, dice.randrange(1800))
                    if dice.random() < 0.4:
                        row = dice.choice(box.rows)
                    if row and dice.random() < 0.1:
                        box.rows.insert(dice.randrange(len(box.rows)), row)
                    elif dice.random() < 0.1:
                        del box.rows[dice.randrange(len(box.rows))]
                    elif row is None or dice.random() < 0.15:
                        store.add(Row(_id=next_id, **{n: make() for n, make in kinds.items()}))
                        next_id += 1
                    elif dice.random() < 0.15:
                        store.delete(row)
                    else:
                        name = dice.choice(list(kinds))
                        setattr(row, name, kinds[name]())
            if dice.random() < 0.7:
                store.deliver()
                for results, one in zip(asked, follow):
                    assert one.rows == [row._id for row in results], f"seed {seed}, {results.query_text()}"
        assert any(one.moves for one in follow)
        for token in tokens:
            token.close()


class Pet(objstore.Model):
    name: str = ""
    age: int = 0


class Owner(objstore.Model):
    name: str = ""
    dogs: objstore.List[Pet]


def test_what_lies_behind_links():
    """Owners by what their dogs are, the dogs in a list, and the list that goes with its owner."""
    with objstore.open(memory="observed links", models=[Pet, Owner]) as store:
        links(store)


def links(store):
    with store.write():
        people = [store.add(Owner(name=name)) for name in ("Cem", "Ann", "Bob")]
        dogs = [store.add(Pet(name=f"d{i}", age=i)) for i in range(4)]
        for dog, person in zip(dogs, (0, 1, 2, 0)):
            people[person].dogs.append(dog)
    named = store.objects(Owner).where(any_(Owner.dogs).age >= 2).order_by(Owner.name)
    follow = Follower(named, lambda person: person.name)
    of_cem = people[0].dogs.objects().order_by(desc(Pet.age))
    in_list = Follower(of_cem, lambda dog: dog.name)
    tokens = [named.observe(follow, initial=False), of_cem.observe(in_list, initial=False)]
    assert follow.rows == ["Bob", "Cem"] and in_list.rows == ["d3", "d0"]
    with store.write():
        dogs[1].age = 7  # Ann's
    store.deliver()
    assert follow.rows == ["Ann", "Bob", "Cem"]
    with store.write():
        dogs[0].age = 9
        people[0].dogs.append(dogs[2])
        people[2].name = "Zoe"
    store.deliver()
    assert follow.rows == ["Ann", "Cem", "Zoe"] and in_list.rows == ["d0", "d3", "d2"]
    with store.write():
        store.delete(people[0])
    store.deliver()
    assert follow.rows == ["Ann", "Zoe"] and in_list.rows == [] and in_list.is_owner_deleted
    for token in tokens:
        token.close()


def test_positions(store, turtles):
    log, versions = Log(), []
    old = turtles.where(Turtle.age >= 20)  # t2 … t5
    with old.observe(log), old.observe(lambda c: versions.append((c.from_version, c.to_version))):
        assert store.deliver() == 2 and log.all == ["initial"]
        with store.write():
            store.delete(store.get(Turtle, 0))  # not among them
            store.delete(store.get(Turtle, 3))  # 1
            store.get(Turtle, 1).age = 20  # begins to satisfy: in front
            store.get(Turtle, 2).age = 5  # stops: 0
            store.get(Turtle, 5).name = "five"  # 3 before; after t1, t4 it is 2
            store.create(Turtle, {"_id": 9, "age": 99})  # 3
        assert store.deliver() == 2
        assert log.all[1:] == [([0, 1], [0, 3], [3], [2])]
        with store.write():
            store.create(Turtle, {"_id": 10, "age": 1})
        assert store.deliver() == 0
    assert versions[0][0] == versions[0][1] == versions[1][0] < versions[1][1]
    with store.write():
        store.create(Turtle, {"_id": 11, "age": 99})
    assert store.deliver() == 0 and len(log.all) == 2


def test_what_a_change_shows(store, turtles):
    seen = []

    def look(change):
        if change.is_initial:
            return
        seen.append(change)
        assert [t.name for t in change.deleted] == ["t1"]
        assert [t._id for t in change.inserted] == [7]
        assert [t.name for t in change.modified] == ["two", "t4"]
        assert (change.deletion_count, change.insertion_count, change.modification_count) == (1, 1, 2)
        assert [change.written(i) for i in range(2)] == [("name",), ("age", "weight")]
        with pytest.raises(IndexError):
            change.written(2)
        assert change.before.get(Turtle, 2).name == "t2" and change.after.get(Turtle, 2).name == "two"
        assert change.before.objects(Turtle).count() == 6 and change.after.get(Turtle, 1) is None
        assert change.before.version() == change.from_version and change.after.version() == change.to_version
        assert not change.is_from_other_process and not change.is_compared
        assert change.deleted[0].is_frozen and change.deleted[0].detach().age == 10
        with pytest.raises(objstore.NotInWrite):
            change.inserted[0].name = "x"
        held.append(change.deleted[0])

    held = []
    token = turtles.observe(look)
    store.deliver()
    with store.write():
        store.delete(store.get(Turtle, 1))
        store.get(Turtle, 2).name = "two"
        store.get(Turtle, 4).age, store.get(Turtle, 4).weight = 44, 4.5
        store.create(Turtle, [7])
    assert store.deliver() == 1
    (change,) = seen
    assert change.deletions == [1] and change.insertions == [5] and change.modifications == [2, 4]
    for late in (lambda: held[0].name, lambda: change.inserted, lambda: change.before):
        with pytest.raises(objstore.Closed, match="until its handler returns"):
            late()
    token.close()


def test_a_class(store, turtles):
    told = []

    def look(change):
        told.append((change.is_initial, [t._id for t in change.inserted]))
        with pytest.raises(objstore.InvalidArgument, match="positions"):
            change.insertions

    with store.observe(Turtle, look, initial=False) as token:
        assert store.deliver() == 0
        with store.write():
            store.create(Turtle, [77])
            store.add(Person(id=1))
        assert store.wait(5) == 1
        assert told == [(False, [77])]
        assert not token.is_closed
    assert token.is_closed
    token.close()


def test_keys(store, turtles):
    log, by_name = [], []
    a = turtles.observe(
        lambda c: log.append((c.modifications, c.written(0) if c.modifications else ())), keys=["age", Turtle.weight]
    )
    b = store.observe(Turtle, lambda c: by_name.append([t.name for t in c.modified]), keys=["name"], initial=False)
    assert store.deliver() == 1
    with store.write():
        store.get(Turtle, 1).name = "x"
    assert store.deliver() == 1  # the other one was not called for this
    assert len(log) == 1 and by_name == [["x"]]
    with store.write():
        store.get(Turtle, 1).name = "y"
        store.get(Turtle, 3).age += 1
        store.get(Turtle, 4).weight = 1.5
    assert store.deliver() == 2
    assert log[1:] == [([3, 4], ("age",))] and by_name[1:] == [["y"]]
    with store.write():
        store.create(Turtle, [8])  # insertions and deletions are always reported
    assert store.deliver() == 2
    a.close(), b.close()
    for wrong in (["wings"], "age", [Dog.age], [3]):
        with pytest.raises((objstore.NoSuchProperty, objstore.InvalidArgument)):
            turtles.observe(print, keys=wrong)


def test_a_model_whose_properties_are_declared_in_another_order(path):
    def model(*names):
        return type(objstore.Model)(
            "Thing", (objstore.Model,), {"__annotations__": dict.fromkeys(names, int), **dict.fromkeys(names, 0)}
        )

    first, second = model("a", "b", "c"), model("c", "a", "b")
    with objstore.open(path, models=[first]) as store, store.write():
        store.create(first, {})
    with objstore.open(path, models=[second]) as store:
        written = []
        token = store.observe(second, lambda c: written.append(c.written(0)), initial=False)
        for name in "abc":
            with store.write():
                setattr(store.objects(second)[0], name, 5)
            store.deliver()
        assert written == [("a",), ("b",), ("c",)]
        token.close()


def test_one_object(store, turtles):
    told = []

    def look(change):
        told.append(change.written(0) if change.modification_count else "gone" if change.deletion_count else None)

    turtle, all_written = store.get(Turtle, 3), []
    with turtle.observe(look), turtle.observe(lambda c: all_written.append(c.modification_count), keys=["age"]):
        with store.write():
            store.objects(Turtle).update(weight=3.0)
        with store.write():
            store.get(Turtle, 2).age = 1
            store.create(Turtle, [30])
        assert store.deliver() == 1
        with store.write():
            store.get(Turtle, 2).age = 2
        assert store.deliver() == 0
        with store.write():
            turtle.age += 1
        assert store.deliver() == 2
        with store.write():
            store.delete(turtle)
        assert store.deliver() == 2
    assert told == [("weight",), ("age",), "gone"] and all_written == [1, 0]
    with pytest.raises(objstore.NoSuchObject):
        turtle.observe(look)


def test_replaying_the_changes_gives_the_list(store):
    """Whatever is done, and however many commits are put together: old list + change = new list."""
    rng = random.Random(5)
    shown, told = [], 0
    young = store.objects(Turtle).where(Turtle.age < 50)

    def play(change):
        nonlocal told
        told += 1
        after = list(change.after.objects(Turtle).where(Turtle.age < 50))
        for row, turtle in zip(change.modifications, change.modified):
            assert shown[row] == turtle._id
        if change.is_initial:
            shown.extend(t._id for t in after)  # what was committed before it is in it
        for row, turtle in zip(change.modifications_after, change.modified):
            assert after[row]._id == turtle._id
        for row, turtle in zip(reversed(change.deletions), reversed(change.deleted)):
            assert shown.pop(row) == turtle._id
        for row, turtle in zip(change.insertions, change.inserted):
            shown.insert(row, turtle._id)
        assert shown == [t._id for t in after]

    token, alive, next_id = young.observe(play), [], 0
    for _ in range(200):
        with store.write() as tx:
            for _ in range(rng.randrange(8)):
                action = rng.random()
                if action < 0.4 or not alive:
                    store.create(Turtle, {"_id": next_id, "age": rng.randrange(100)})
                    alive.append(next_id)
                    next_id += 1
                elif action < 0.6:
                    store.delete(store.get(Turtle, alive.pop(rng.randrange(len(alive)))))
                else:
                    turtle = store.get(Turtle, rng.choice(alive))
                    turtle.age, turtle.name = rng.randrange(100), "renamed"
            if rng.random() < 0.1:
                tx.cancel()
                alive = [t._id for t in store.objects(Turtle)]
        if rng.random() < 0.6:
            store.deliver()
    store.deliver()
    assert shown == [t._id for t in young] and told > 80
    token.close()


def test_unchanged_upserts_notify_no_observer(store, turtles):
    log = Log()
    with turtles.observe(log, initial=False):
        rows = [Turtle(_id=i, name=f"t{i}", age=10 * i) for i in range(6)]
        with store.write():
            assert store.add_all([r for r in rows], update="modified") == (0, 0, 6)
        assert store.deliver() == 0 and not log.all
        with store.write():
            store.add_all([Turtle(_id=i, name=f"t{i}", age=10 * i) for i in range(6)], update="all")
        assert store.deliver() == 1 and log.all == [([], [], [*range(6)], [*range(6)])]


# Failures


def test_exceptions_of_handlers_are_raised(store, turtles, monkeypatch):
    class Mine(Exception):
        pass

    shown = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: shown.append(error))
    first, second = Mine("first"), Mine("second")
    log = Log()

    def fail(error):
        def handler(change):
            raise error

        return handler

    tokens = [turtles.observe(fail(first)), turtles.observe(log), turtles.observe(fail(second))]
    with pytest.raises(Mine) as caught:
        store.deliver()
    assert {caught.value, *shown} == {first, second} and len(shown) == 1
    assert log.all == ["initial"], "the others are told all the same"
    assert store.deliver() == 0, "what failed counts as told"
    with store.write():
        store.create(Turtle, [50])
    with pytest.raises(Mine):
        store.wait(5)
    for token in tokens:
        token.close()
    assert store.deliver() == 0


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_goes_before_a_mistake(store, turtles, kind, monkeypatch):
    shown, waiting = [], [ValueError("mine"), kind("stop"), TypeError("mine")]
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: shown.append(type(error)))

    def fail(change):
        raise waiting.pop(0)

    tokens = [turtles.observe(fail) for _ in range(3)]
    with pytest.raises(kind, match="stop"):
        store.deliver()
    assert shown == [ValueError, TypeError]
    del tokens


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, objstore.NoSuchObject])
def test_any_exception(store, turtles, kind):
    def handler(change):
        raise kind("x")

    with turtles.observe(handler), pytest.raises(kind):
        store.deliver()


def test_what_a_handler_may_do(store, turtles):
    log = []

    def handler(change):
        log.append(change.insertion_count)
        for refused in (store.deliver, lambda: store.wait(0), store.close):
            with pytest.raises(objstore.InCallback):
                refused()
        assert not store.is_closed and store.objects(Turtle).count() >= 6
        if change.is_initial:
            with store.write():
                store.create(Turtle, [100])  # reported by the next delivery
            tokens.append(turtles.observe(lambda c: log.append("new"), initial=False))
        elif len(log) == 2:
            tokens[0].close()  # its own

    tokens = []
    tokens.append(turtles.observe(handler))
    while store.deliver():
        pass
    assert log[:2] == [0, 1]
    with store.write():
        store.create(Turtle, [101])
    store.deliver()
    assert log.count("new") >= 1 and log[-1] == "new"


def test_what_cannot_be_observed(store, turtles, path):
    with store.write():
        dog = store.add(Dog())
        for observe in (lambda: turtles.observe(print), lambda: dog.observe(print), lambda: turtles.changes()):
            with pytest.raises(objstore.AlreadyInWrite, match="before the write"):
                observe()
    with store.freeze() as frozen:
        with pytest.raises(objstore.WrongView, match="never changes"):
            frozen.objects(Turtle).observe(print)
    with pytest.raises(objstore.WrongView):
        dog.freeze().observe(print)
    with pytest.raises(objstore.InvalidArgument):
        turtles.observe("not a function")
    with objstore.open(path, models=KENNEL, mode="read-only") as reader:  # others write
        log = Log()
        with reader.objects(Turtle).observe(log, initial=False):
            with store.write():
                store.create(Turtle, [90])
            assert reader.deliver() == 1 and store.deliver() == 0 and log.all == [([], [6], [], [])]
    other = objstore.open(path, models=KENNEL)
    results = other.objects(Turtle)
    token = results.observe(print)
    other.close()
    token.close()
    for use in (lambda: results.observe(print), other.deliver, lambda: other.wait(0), lambda: other.notify_fd):
        with pytest.raises(objstore.Closed):
            use()
    assert store.statistics().observers == 0
    store.close()
    with objstore.open(path, models=KENNEL, mode="immutable") as nobody_writes:
        with pytest.raises(objstore.ReadOnly):
            nobody_writes.objects(Turtle).observe(print)


# Lifetimes and threads


def test_a_token_that_is_dropped_ends_its_observer(store, turtles):
    log = Log()
    token = turtles.observe(log)
    store.deliver()
    assert store.statistics().observers == 1
    del token
    gc.collect()
    assert store.statistics().observers == 0
    with store.write():
        store.create(Turtle, [60])
    assert store.deliver() == 0 and log.all == ["initial"]


def test_a_handler_that_holds_its_token(store, turtles):
    class Watcher:
        def __init__(self):
            self.calls = 0
            self.token = turtles.observe(self.told)

        def told(self, change):
            self.calls += 1

    watcher = Watcher()
    store.deliver()
    assert watcher.calls == 1
    del watcher  # a cycle
    gc.collect()
    assert store.statistics().observers == 0


def test_an_observer_pins_no_more_than_its_version(store, turtles):
    changes = []
    token = turtles.observe(changes.append)
    store.deliver()
    for i in range(3):
        with store.write():
            store.create(Turtle, [200 + i])
        store.deliver()
    newest = store.statistics().published_version
    deadline = time.monotonic() + 60
    while store.statistics().oldest_pin not in (0, newest) and time.monotonic() < deadline:
        time.sleep(0.01)  # until the program counts as idle
    assert store.statistics().oldest_pin in (0, newest) and len(changes) == 4
    token.close()


def test_closing_waits_for_a_running_handler(store, turtles):
    inside, release, done = threading.Event(), threading.Event(), []

    def handler(change):
        inside.set()
        release.wait(30)
        done.append(True)

    token = turtles.observe(handler)
    deliverer = threading.Thread(target=store.deliver)
    deliverer.start()
    assert inside.wait(30)
    closer = threading.Thread(target=token.close)
    closer.start()
    closer.join(0.2)
    assert closer.is_alive() and not done
    release.set()
    closer.join(30)
    assert done == [True]
    deliverer.join(30)


def test_objects_frozen_in_a_handler_last(store, turtles):
    frozen, ended = [], []

    def told(change):
        frozen.extend(turtle.freeze() for turtle in change.deleted + change.inserted + change.modified)
        ended.extend(change.inserted)

    pins = len(store.pins())
    with turtles.observe(told, initial=False):
        with store.write():
            store.delete(store.get(Turtle, 1))
            store.get(Turtle, 2).name = "two"
            store.create_all(Turtle, [[7, "seven"], [8]])
        store.deliver()
        with store.write():
            store.objects(Turtle).update(name="later")
    assert [turtle._id for turtle in frozen] == [1, 7, 8, 2]
    assert (frozen[1].name, frozen[3].name) == ("seven", "two")
    assert all(turtle.is_frozen and turtle.is_valid and turtle.freeze() is turtle for turtle in frozen)
    assert frozen[1].freeze() == frozen[1] == store.get(Turtle, 7)
    with pytest.raises(objstore.Closed, match="freeze"):
        ended[0].freeze()
    assert len(store.pins()) > pins
    last = frozen.pop(1)
    del frozen[:]
    assert last.name == "seven"
    store.close()
    with pytest.raises(objstore.Closed):
        last.freeze()


def test_waiting_lets_other_threads_go_on_and_close_ends_it(path):
    store = objstore.open(path, models=KENNEL)
    token = store.objects(Turtle).observe(print, initial=False)
    ended, waiting = [], threading.Event()

    def wait():
        waiting.set()
        try:
            store.wait()
        except objstore.Closed as error:
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    waiting.wait(10)
    begin = time.process_time()
    assert sum(range(1_000_000)) and store.wait(0) == 0  # this thread continues
    thread.join(0.5)
    assert thread.is_alive() and time.process_time() - begin < 0.4, "waiting uses no CPU"
    store.close()
    thread.join(30)
    assert not thread.is_alive() and len(ended) == 1
    token.close()


def test_a_signal_does_not_end_waiting(store, turtles):
    calls = []
    previous = signal.signal(signal.SIGALRM, lambda *_: calls.append(time.monotonic()))
    begin = time.monotonic()
    with turtles.observe(print, initial=False):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            assert store.wait(0.3) == 0
        finally:
            signal.signal(signal.SIGALRM, previous)
    assert len(calls) == 1 and time.monotonic() - begin >= 0.3

    def interrupt(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with turtles.observe(print, initial=False), pytest.raises(KeyboardInterrupt):
            store.wait(30)
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_several_threads_deliver(store):
    """Each change goes to one of them; the calls of one handler never overlap."""
    busy, total, overlaps = threading.Lock(), [0], []
    stop = threading.Event()

    def count(change):
        if not busy.acquire(blocking=False):
            overlaps.append(change)
            return
        total[0] += change.insertion_count
        busy.release()

    token = store.objects(Person).observe(count)
    problems = []

    def work():
        try:
            while not stop.is_set():
                store.wait(0.05)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(300):
        with store.write():
            store.add(Person(id=i))
    deadline = time.monotonic() + 30
    while total[0] < 300 and time.monotonic() < deadline and not problems:
        time.sleep(0.005)
    stop.set()
    for thread in threads:
        thread.join(30)
    assert (total[0], overlaps, problems) == (300, [], [])
    token.close()


def test_the_descriptor(store, turtles):
    token = turtles.observe(print, initial=False)

    def readable(timeout):
        return bool(select.select([store.notify_fd], [], [], timeout)[0])

    assert not readable(0)
    with store.write():
        store.create(Turtle, [70])
    assert readable(10) and readable(0)
    assert store.deliver() == 1
    assert not readable(0)
    token.close()


# Other processes

WRITER = """
import sys, objstore
from models import Turtle
with objstore.open(sys.argv[1], models=[Turtle]) as store:
    for i in range(int(sys.argv[2])):
        with store.write():
            store.add_all([Turtle(_id=1000 + 10 * i + j) for j in range(10)])
    with store.write():
        store.objects(Turtle).where(Turtle._id >= 1000).update(age=7)
"""


def test_another_process(store, turtles, path):
    inserted, modified, others = [], set(), []

    def look(change):
        inserted.extend(t._id for t in change.inserted)
        modified.update(t._id for t in change.modified)
        others.append(change.is_from_other_process)

    token = turtles.observe(look, initial=False)
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(path), "20"], env=ENVIRONMENT)
    wanted = {1000 + i for i in range(200)}
    deadline = time.monotonic() + 60
    while not (len(inserted) == 200 and all(t.age == 7 for t in turtles.where(Turtle._id >= 1000))):
        store.wait(1)
        assert time.monotonic() < deadline, (len(inserted), len(modified))
    while store.wait(0.1):
        pass
    assert child.wait(60) == 0
    assert sorted(inserted) == sorted(wanted) and modified <= wanted and all(others)
    token.close()


def test_an_idle_observer_uses_no_cpu(store, turtles):
    token = turtles.observe(print, initial=False)
    time.sleep(0.5)  # the snapshot is let go of
    before = time.process_time()
    assert store.wait(1) == 0
    assert time.process_time() - before < 0.02
    token.close()


def test_a_forked_child_with_observers(store, turtles, path):
    log = Log()
    token = turtles.observe(log)

    def child():
        token.close()
        for use in (store.deliver, lambda: store.wait(0), lambda: turtles.observe(print)):
            with pytest.raises(objstore.Forked):
                use()
        with objstore.open(path, models=KENNEL) as mine:
            told = Log()
            with mine.objects(Turtle).observe(told):
                assert mine.deliver() == 1 and told.all == ["initial"]
            with mine.write():
                mine.create(Turtle, [500])

    in_child(child)
    assert store.deliver() == 1 and log.all == ["initial"] and len(turtles) == 7
    with store.write():
        store.create(Turtle, [501])
    assert store.deliver() == 1 and log.all == ["initial", ([], [7], [], [])]
    token.close()


def test_the_cost_follows_the_change(path):
    """One changed object costs the same whether there are 1,000 objects or 100,000: the fastest of 50 deliveries."""
    best = {}
    for count in (1_000, 100_000):
        with objstore.open(memory="", models=[Turtle]) as store:
            with store.write():
                store.create_all(Turtle, [[i] for i in range(count)])
            told = []
            with store.objects(Turtle).observe(lambda c: told.append(c.modifications), initial=False):
                times = []
                for i in range(50):
                    with store.write():
                        store.get(Turtle, count // 2).age = i + 1
                    begin = time.perf_counter()
                    assert store.deliver() == 1
                    times.append(time.perf_counter() - begin)
            assert told == [[count // 2]] * 50
            best[count] = min(times)
    assert best[100_000] < 4 * best[1_000] + 50e-6, best


def test_what_is_lost_says_so_when_it_is_shown(store):
    """It has no lists, as the initial one: that nothing changed must not be read from it."""
    with store.write():
        turtle = store.create(Turtle, [1])
    gone = store.bookmark()
    store.invalidate()  # so that nothing keeps that version
    with store.write():
        turtle.age = 2
    results, shown = store.objects(Turtle), []

    def told(change):
        assert change.is_lost
        shown.append(repr(change))

    tokens = [
        results.observe(told, since=gone),
        results.sections(Turtle.age).observe(told, since=gone),
        store.observe_commits(told, since=gone),
    ]
    store.deliver()
    assert len(shown) == 3 and all(each.endswith(": lost>") for each in shown), shown
    for token in tokens:
        token.close()


def test_one_object_can_have_an_initial_call(store):
    """As everything else that is observed, but it has to be asked for."""

    class Shown(objstore.Projection[Turtle]):
        age = objstore.projected(Turtle.age)

    with store.write():
        turtle = store.create(Turtle, {"_id": 1, "age": 1})
    told = []

    def tell(change):
        told.append((change.is_initial, change.after.get(Turtle, 1).age, change.modification_count))

    for observed in (turtle, Shown(turtle)):
        with observed.observe(tell, initial=True):
            with store.write():
                turtle.age += 1
            store.deliver()  # what was committed before is in it, and not told again
            assert told == [(True, turtle.age, 0)]
            with store.write():
                turtle.age += 1
            store.deliver()
            assert told[1:] == [(False, turtle.age, 1)]
        with observed.observe(tell):
            assert store.deliver() == 0
        told.clear()
