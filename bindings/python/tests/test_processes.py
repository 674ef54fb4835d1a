"""Threads, forks and other processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from typing import Any

import pytest

import objstore
from conftest import KENNEL
from models import Dog, Person, Turtle

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def in_child(function):
    """Runs a function in a forked child; fails with its traceback."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            function()
            os._exit(0)
        except BaseException:
            os.write(write, traceback.format_exc().encode()[-4000:])
            os._exit(1)
    os.close(write)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            pytest.fail("the child hangs")
        time.sleep(0.01)
    report = b""
    while piece := os.read(read, 4096):
        report += piece
    os.close(read)
    assert ended[1] == 0, report.decode()


def test_a_forked_child(store, path):
    with store.write():
        store.add_all([Person(id=i, name=f"p{i}") for i in range(10)])
    held = list(store.objects(Person))
    frozen = held[1].freeze()
    results = store.objects(Person)
    assert (held[0].name, frozen.name) == ("p0", "p1")

    def child():
        for use in (
            lambda: held[0].name,
            lambda: frozen.name,
            lambda: len(results),
            lambda: list(results),
            lambda: store.get(Person, 1),
            lambda: store.write().__enter__(),
            lambda: store.statistics(),
            lambda: store.handle,
            lambda: setattr(held[0], "name", "child"),
            lambda: store.add(Person(id=200)),
            lambda: store.add_all([Person(id=200)]),
            lambda: store.create(Person, [200]),
            lambda: store.create_all(Person, [[200]]),
            lambda: store.delete(held[0]),
            lambda: store.delete_all(Person),
            lambda: results.update(name="child"),
            lambda: results.delete(),
            lambda: held[0].freeze(),
            lambda: store.observe(Person, print),
            lambda: store.deliver(),
        ):
            with pytest.raises(objstore.Forked):
                use()
        store.close()
        with objstore.open(path, models=KENNEL) as mine:
            assert [p.name for p in mine.objects(Person)] == [f"p{i}" for i in range(10)]
            with mine.write():
                mine.add(Person(id=100, name="child"))

    in_child(child)
    assert store.get(Person, 100).name == "child"
    with store.write():
        held[0].name = "parent"
    assert held[0].name == "parent"


def test_what_cannot_be_read_is_shown(store, path):
    class Seen(objstore.Model):
        id: int = objstore.field(primary_key=True)
        times: objstore.Counter = objstore.Counter(0)
        other: "Seen | None" = None
        words: list[str]
        extra: Any = None

    with objstore.open(f"{path}.seen", models=[Seen]) as seen:
        with seen.write():
            obj = seen.add(Seen(id=7, other=Seen(id=8), words=["a"], extra=[1]))
        loose, results = Seen(id=9, other=obj, extra=[obj]), seen.objects(Seen)
        shown = [obj, obj.freeze(), obj.times, obj.words, obj.extra, results, loose, [obj, {1: obj}]]

        def child():
            for each in shown:
                assert "belongs to the parent process" in repr(each) or each is loose
            assert repr(obj).startswith("<Seen 1, ") and repr(shown[2]).startswith("<Counter Seen.times: ")
            assert repr(loose) == "Seen(id=9, times=Counter(0), other=<Seen #1>, words=[], extra=[<Seen #1>])"
            for each in (obj, results):
                assert "belongs to the parent process" in each._repr_html_()

        in_child(child)
        assert repr(loose) == "Seen(id=9, times=Counter(0), other=<Seen 7>, words=[], extra=[<Seen 7>])"
    assert repr(obj) == "<Seen 1, deleted or closed>" and repr(loose).endswith("extra=[<Seen #1>])")
    assert "is closed" in repr(shown[2]) and "closed" in results._repr_html_() and "closed" in obj._repr_html_()


def test_a_fork_inside_a_write(store):
    with store.write():
        dog = store.add(Dog(name="Rex"))

        def child():
            for use in (lambda: dog.name, lambda: store.objects(Dog).count(), lambda: store.add(Dog())):
                with pytest.raises(objstore.Forked):
                    use()

        in_child(child)
        dog.name = "Max"
    assert dog.name == "Max"


def test_a_child_forked_inside_a_write_opens_the_file_itself(store, path):
    """The write is the parent's: in its own store the child waits for it, like anybody else, and writes when it is
    over."""

    def child():
        with objstore.open(path, models=KENNEL) as mine:
            with pytest.raises(objstore.Timeout):
                mine.write(lambda tx: mine.add(Dog(name="early")), timeout=0.1)
            with pytest.raises(objstore.Forked):
                store.write(lambda tx: None)
            os.write(told[1], b".")
            with mine.write(timeout=60):
                mine.add(Dog(name="Child"))

    told = os.pipe()
    with store.write():
        store.add(Dog(name="Rex"))
        if (pid := os.fork()) == 0:
            try:
                child()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        assert os.read(told[0], 1) == b"."
    assert os.waitpid(pid, 0)[1] == 0
    store.refresh()
    assert sorted(d.name for d in store.objects(Dog)) == ["Child", "Rex"]


def test_another_process_writes(store, path):
    with store.write():
        store.add_all([Turtle(_id=i, age=0) for i in range(1000)])
    held = list(store.objects(Turtle))
    assert held[500].age == 0
    program = (
        "import sys, objstore\nfrom models import Turtle\n"
        "with objstore.open(sys.argv[1], models=[Turtle]) as store, store.write():\n"
        "    store.objects(Turtle).update(age=5)\n"
        "    store.create(Turtle, [5000])\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, env=ENVIRONMENT, timeout=60)
    deadline = time.monotonic() + 0.5
    while held[500].age == 0 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert held[500].age == 5  # by itself
    assert store.get(Turtle, 5000) is not None and store.objects(Turtle).count() == 1001


def view_pins(store):
    return [pin for pin in store.pins() if pin.holder == "view"]


def test_an_idle_program_pins_nothing(store):
    with store.write():
        store.add_all([Person(id=i) for i in range(1000)])
    held, results = list(store.objects(Person)), store.objects(Person).where(Person.id < 5)
    assert held[5].id == 5 and len(results) == 5
    assert view_pins(store)
    deadline = time.monotonic() + 3
    while view_pins(store) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not view_pins(store)
    assert held[5].id == 5 and len(results) == 5  # and continues as if nothing had happened
    assert view_pins(store)
    frozen = held[5].freeze()
    time.sleep(0.5)
    assert view_pins(store), "a frozen object keeps its version"
    assert frozen.id == 5
    del frozen
    assert not view_pins(store)


def test_many_threads(store):
    """Readers see whole transactions only: the sum over all never changes."""
    with store.write():
        store.add_all([Turtle(_id=i, age=100) for i in range(200)])
    held = list(store.objects(Turtle))
    stop = threading.Event()
    problems = []
    scans = [0] * 4

    def guard(function, *arguments):
        try:
            function(*arguments)
        except BaseException:
            problems.append(traceback.format_exc())
            stop.set()

    def write(step):
        n = 0
        while not stop.is_set():
            with store.write() as tx:
                a, b = held[n * step % 200], held[(n * step + 77) % 200]
                a.age -= 1
                b.age += 1
                if n % 10 == 9:
                    tx.cancel()
            n += 1

    def read(number):
        while not stop.is_set():
            turtles = store.objects(Turtle)
            assert turtles.sum(Turtle.age) == 20_000
            with store.freeze() as frozen:
                assert sum(t.age for t in frozen.objects(Turtle)) == 20_000
            assert len(turtles) == 200
            assert store.get(Turtle, number) == held[number]
            assert isinstance(held[number].age, int)
            scans[number] += 1

    threads = [threading.Thread(target=guard, args=(write, s)) for s in (1, 3)]
    threads += [threading.Thread(target=guard, args=(read, n)) for n in range(4)]
    for thread in threads:
        thread.start()
    stop.wait(3)
    stop.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not problems, problems[0]
    assert min(scans) > 10
    assert sum(t.age for t in held) == 20_000


def test_closing_under_readers(path):
    with objstore.open(path, models=KENNEL) as store, store.write():
        store.add_all([Turtle(_id=i) for i in range(1000)])
    for _ in range(10):
        store = objstore.open(path, models=KENNEL)
        problems = []

        def read(store=store, problems=problems):
            try:
                while True:
                    assert sum(1 for _ in store.objects(Turtle)) == 1000
                    assert store.get(Turtle, 7)._id == 7
            except objstore.Closed:
                pass
            except BaseException:
                problems.append(traceback.format_exc())

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.02)
        store.close()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        assert not problems, problems[0]


def test_an_interrupt_while_waiting_for_a_writer(store):
    inside, release = threading.Event(), threading.Event()

    def hold():
        with store.write():
            inside.set()
            release.wait(30)

    def interrupt(*_):
        raise KeyboardInterrupt

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait(30)
    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            with store.write():
                pass
    finally:
        signal.signal(signal.SIGALRM, previous)
        release.set()
        holder.join()
    with store.write():
        store.add(Dog())


def increments(path, count):
    with objstore.open(path, models=KENNEL) as store:
        for _ in range(count):
            with store.write():
                store.get(Person, 1).name += "x"


def test_processes_write_in_turn(path):
    with objstore.open(path, models=KENNEL) as store:
        with store.write():
            store.add(Person(id=1))
        spawn = multiprocessing.get_context("spawn")
        children = [spawn.Process(target=increments, args=(path, 50)) for _ in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join(120)
            assert child.exitcode == 0
            child.close()
        assert store.get(Person, 1).name == "x" * 100
        store.verify()


def test_closing_while_a_transaction_waits(path):
    store = objstore.open(path, models=KENNEL)
    other = objstore.open(path, models=KENNEL)
    problems = []
    waiting = threading.Event()

    def wait():
        waiting.set()
        try:
            with other.write():
                pass
        except objstore.Closed:
            problems.append("closed")

    with store.write():
        thread = threading.Thread(target=wait)
        thread.start()
        waiting.wait(10)
        time.sleep(0.1)
        closer = threading.Thread(target=other.close)
        closer.start()
        closer.join(20)
        assert not closer.is_alive()
        thread.join(20)
    assert problems == ["closed"]
    store.close()


LEAVING = """
import os, sys, objstore
from models import Person

def leave():
    child = os.fork()
    if child == 0:
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

def plain(store, tx):
    leave()

def in_a_scope(store, tx):
    with tx.savepoint():
        store.add(Person(id=5001))
        leave()

def in_loops(store, tx):
    for person in store.objects(Person):
        leave()
        break

def in_a_call_back(store, tx):
    token = store.observe(Person, lambda change: leave())
    store.deliver()
    token.close()

with objstore.open(sys.argv[1], models=[Person]) as store:
    with store.write():
        store.add_all([Person(id=i) for i in range(5000)])
    if sys.argv[2] == "in_a_call_back":
        in_a_call_back(store, None)
    with store.write() as tx:
        store.add(Person(id=5000))
        if sys.argv[2] != "in_a_call_back":
            globals()[sys.argv[2]](store, tx)
    assert len(store.objects(Person)) > 5000
"""


@pytest.mark.parametrize("where", ["plain", "in_a_scope", "in_loops", "in_a_call_back"])
def test_a_forked_child_leaves_by_its_own_exception(path, where):
    """What a child inherits is the parent's: leaving it by an exception neither replaces that nor shows anything."""
    ended = subprocess.run(
        [sys.executable, "-c", LEAVING, str(path), where], env=ENVIRONMENT, timeout=60, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    with objstore.open(path, models=[Person]) as store:
        store.verify()


def test_what_a_forked_child_asks_of_an_inherited_write(store):
    with store.write() as tx, tx.savepoint() as scope:
        store.add(Dog(name="Rex"))

        def child():
            for end in (scope.cancel, tx.cancel):
                with pytest.raises(objstore.Forked):
                    end()

        in_child(child)
    assert len(store.objects(Dog)) == 1
