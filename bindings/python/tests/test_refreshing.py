"""What the store shows, and when that moves: refresh(), autorefresh, refresh_async(), and before handlers."""

import asyncio
import os
import subprocess
import sys
import threading

import pytest

import objstore
from conftest import KENNEL
from models import Dog, Turtle

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def other(store, path):
    """A second handle of the same file."""
    with objstore.open(path, models=KENNEL) as made:
        yield made


def add(store, *names):
    with store.write():
        store.add_all([Dog(name=name) for name in names])


def names(store):
    return [dog.name for dog in store.objects(Dog)]


def test_refresh_delivers_what_is_due(store, other):
    told = []
    token = store.objects(Dog).observe(lambda change: told.append(list(change.insertions)), initial=False)
    assert store.refresh() is False and told == []
    add(other, "Rex")
    add(other, "Ben")
    assert store.refresh() is True
    assert told == [[0, 1]]  # two commits at once
    assert store.refresh() is False and store.deliver() == 0 and told == [[0, 1]]
    token.close()


def test_refresh_inside_of_a_handler_does_nothing(store, other):
    store.autorefresh = False
    seen = []

    def told(change):
        add(other, f"from {len(seen)}")
        seen.append((store.refresh(), len(names(store)), change.insertion_count))
        with pytest.raises(objstore.InCallback):
            store.deliver()

    token = store.objects(Dog).observe(told, initial=False)
    add(other, "Rex")
    # What the handler writes is told by the next one: nothing of it twice.
    assert store.refresh() is True
    assert seen == [(False, 0, 1)] and len(names(store)) == 2
    assert store.refresh() is True
    assert seen == [(False, 0, 1), (False, 2, 1)] and len(names(store)) == 3
    token.close()


def test_refresh_inside_of_a_handler_says_that_nothing_moved(store, other, path):
    """Also where what is live follows by itself: attributes that were read stay, and so does what refresh() says. It is
    meant of handlers of this store, and of the thread that runs one."""
    with store.write():
        rex = store.add(Turtle(_id=1, age=1))
    seen, elsewhere = [], []

    def told(change):
        [held] = store.objects(Turtle)
        with other.write():
            other.objects(Turtle).increment(age=1)
        seen.append((store.refresh(), store.refresh()))
        thread = threading.Thread(target=lambda: elsewhere.append(other.refresh()))
        thread.start()
        thread.join()

    names = ["_id", "age"], "i64, i64 -> void"
    for begin in (
        lambda: store.objects(Turtle).observe(told, initial=False),
        lambda: store.observe_commits(told),
        lambda: rex.observe(told),
        lambda: store.objects(Turtle).sections(Turtle.age).observe(told, initial=False),
        lambda: store.observe_typed(Turtle, *names, lambda *a: told(a)),
    ):
        with begin():
            with store.write():
                rex.age += 1
            assert store.deliver() == 1
        assert seen == [(False, False)] and len(elsewhere) == 1
        seen.clear()
        elsewhere.clear()
    with other.write():
        other.objects(Turtle).increment(age=1)
    assert store.refresh() is True
    # A handler of another store may refresh this one.
    with other.observe_commits(lambda commits: seen.append(store.refresh())):
        with other.write():
            other.objects(Turtle).increment(age=1)
        other.deliver()
    assert seen == [True]


def test_refresh_inside_of_a_write_does_nothing(store, other):
    told = []
    token = store.objects(Dog).observe(lambda change: told.append(change.insertion_count), initial=False)
    add(other, "Rex")
    with store.write():
        store.add(Dog(name="Ben"))
        assert store.refresh() is False and told == []
        assert names(store) == ["Rex", "Ben"]
    store.refresh()
    assert told == [2]
    with pytest.raises(ZeroDivisionError), store.write():
        store.add(Dog(name="never"))
        1 / 0
    store.refresh()
    assert told == [2]  # a transaction that is undone tells nobody
    token.close()


def test_refresh_calls_no_asynchronous_body(store):
    ran = []
    future = store.submit_write(lambda tx: ran.append(threading.current_thread()))
    for _ in range(20):
        store.refresh()
    assert not ran and store.is_writing_async
    future.result()
    assert ran == [threading.current_thread()]


def test_what_a_handler_raises_comes_out_of_refresh(store, other):
    def told(change):
        raise ValueError("mine")

    told_after = []
    tokens = store.objects(Dog).observe(told, initial=False), store.observe(Dog, told_after.append, initial=False)
    store.autorefresh = False
    add(other, "Rex")
    with pytest.raises(ValueError, match="mine"):
        store.refresh()
    assert names(store) == ["Rex"] and len(told_after) == 1  # it has moved, and all were told
    for token in tokens:
        token.close()


def test_refresh_of_a_closed_store(path):
    store = objstore.open(path, models=KENNEL)
    store.close()
    with pytest.raises(objstore.Closed):
        store.refresh()
    with pytest.raises(objstore.Closed):
        store.autorefresh = False


def test_without_autorefresh_it_stands_still(store, other):
    add(store, "Rex")
    [rex] = results = store.objects(Dog)
    assert store.autorefresh is True
    store.autorefresh = False
    with other.write():
        other.objects(Dog).update(name="Max")
        other.add(Dog(name="Ben"))
    assert len(results) == 1 and rex.name == "Rex" and names(store) == ["Rex"] and names(other) == ["Max", "Ben"]
    assert [dog.name for dog in store.freeze().objects(Dog)] == ["Rex"]
    assert store.refresh() is True
    assert names(store) == ["Max", "Ben"] and rex.name == "Max" and store.refresh() is False
    add(other, "Luna")
    assert len(results) == 2
    add(store, "Own")  # a write of its own sees the newest version, and moves what is live
    assert [dog.name for dog in results] == ["Max", "Ben", "Luna", "Own"]
    add(other, "Late")
    store.autorefresh = True
    assert len(results) == 5


def test_without_autorefresh_changes_are_told_all_the_same(store, other):
    told = []
    token = store.objects(Dog).observe(
        lambda change: told.append(([dog.name for dog in change.inserted], names(store))), initial=False
    )
    store.autorefresh = False
    add(other, "Rex")
    assert store.deliver() == 1 and told == [(["Rex"], [])]
    store.refresh()
    add(other, "Ben")
    assert store.refresh() and told[1:] == [(["Ben"], ["Rex"])]
    token.close()


def test_autorefresh_is_a_bool(store):
    with pytest.raises((TypeError, objstore.InvalidArgument)):
        store.autorefresh = "no"
    assert store.autorefresh is True


def test_an_idle_store_that_stands_still_keeps_its_version(store, other):
    add(store, "Rex")
    store.autorefresh = False
    assert names(store) == ["Rex"]
    store._used = False
    assert store._let_go_if_idle()  # what the idle thread calls: it looks no more, and nothing is let go of
    add(other, "Ben")
    assert names(store) == ["Rex"]
    store.autorefresh = True
    assert names(store) == ["Rex", "Ben"]


def test_attributes_are_not_older_than_what_a_handler_is_told(store, path):
    with store.write():
        store.add_all([Turtle(_id=i, age=0) for i in range(10)])
    held = list(store.objects(Turtle))
    seen = []
    token = store.objects(Turtle).observe(lambda change: seen.append([t.age for t in held]), initial=False)
    other_token = store.observe_commits(lambda commits: seen.append(held[3].age))
    program = (
        "import sys, objstore\nfrom models import Turtle\n"
        "with objstore.open(sys.argv[1], models=[Turtle]) as store:\n"
        "    for line in sys.stdin:\n"
        "        with store.write():\n"
        "            store.objects(Turtle).update(age=int(line))\n"
        "        print('done', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
        text=True,
    ) as writer:
        for age in range(1, 30):
            assert sum(t.age for t in held) >= 0  # they are read just before
            writer.stdin.write(f"{age}\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "done\n"
            assert store.deliver() == 2
            assert seen == [[age] * 10, age]
            seen.clear()
        writer.stdin.close()
        assert writer.wait(60) == 0
    token.close()
    other_token.close()


def test_refresh_in_a_loop(store, other):
    told = []

    async def main():
        token = store.objects(Dog).observe(lambda change: told.append(change.insertion_count), initial=False)
        store.autorefresh = False
        assert await store.refresh_async() is False
        turns = []
        asyncio.get_running_loop().call_soon(turns.append, "before")
        add(other, "Rex")
        assert names(store) == []
        assert await store.refresh_async() is True
        assert turns == ["before"] and told == [1] and names(store) == ["Rex"]
        token.close()

    asyncio.run(main())


def test_refresh_async_needs_a_loop(store):
    waiting = store.refresh_async()
    with pytest.raises(objstore.InvalidArgument, match="store.refresh"):
        waiting.send(None)


def test_refresh_in_trio(store, other):
    trio = pytest.importorskip("trio")

    async def main():
        store.autorefresh = False
        add(other, "Rex")
        assert await store.refresh_async() is True
        assert names(store) == ["Rex"]

    trio.run(main)


def test_the_idle_thread_lets_go_while_a_handler_runs(store, other):
    """As it does where handlers take long and nothing is read: it must not wait for a refresh whose handlers wait for
    it."""
    ended = []

    def told(change):
        idle = threading.Thread(target=store._let_go)
        idle.start()
        idle.join(20)
        ended.append(not idle.is_alive())

    token = store.objects(Dog).observe(told, initial=False)
    for number in range(3):
        add(other, f"dog {number}")
        assert store.refresh() is True and len(names(store)) == number + 1
    assert ended == [True] * 3
    token.close()


def test_threads_refresh_at_once(store, other):
    """Each change set is told once, whoever refreshes."""
    told, count, threads = [], 60, 4
    token = store.objects(Dog).observe(lambda change: told.append(change.insertion_count), initial=False)
    done = threading.Event()

    def refresh():
        while not done.is_set():
            store.refresh()

    running = [threading.Thread(target=refresh) for _ in range(threads)]
    for thread in running:
        thread.start()
    for number in range(count):
        add(other, f"dog {number}")
    done.set()
    for thread in running:
        thread.join()
    store.refresh()
    assert sum(told) == count and len(names(store)) == count
    token.close()
