"""Queries whose scans several threads make: what one finds, in its order."""

import os
import random
import shutil
import subprocess
import sys
import threading

import pytest

import objstore
from objstore import Closed, Corrupt, Model, OutOfMemory, OutOfRange, field, group

LEAF = 4096
COUNT = 80 * LEAF + 123
SEEDS = 10


class Row(Model):
    id: int = field(primary_key=True)
    number: int | None = 0
    weight: float | None = 0.0
    name: str = ""


def row(i):
    mixed = i * 2654435761 % 1_000_003
    return Row(
        id=i,
        number=None if mixed % 11 == 0 else mixed % 2000 - 1000,
        weight=None if mixed % 13 == 0 else (-0.0, 0.0, 1.5, float("nan"), -7.25)[mixed % 5] * (mixed % 97),
        name=f"row {mixed % 321}",
    )


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("threads") / "rows"
    with objstore.open(path, models=[Row]) as store:
        with store.write():
            for start in range(0, COUNT, 16 * LEAF):
                store.add_all([row(i) for i in range(start, min(start + 16 * LEAF, COUNT))])
        # Whole leaves go, and most of some; the others have gaps.
        with store.write():
            store.objects(Row).filter(
                "id BETWEEN {20480, 36863} OR id BETWEEN {90000, 110000} AND id != 100000"
            ).delete()
            store.objects(Row).filter("number == 77 OR name == 'row 13'").delete()
    shutil.copy(path, closed(path))
    return path


def closed(path):
    """As nobody has it open."""
    return path.with_name("closed")


@pytest.fixture(scope="module")
def stores(filled):
    """By the number of threads."""
    opened = {n: objstore.open(filled, models=[Row], query_threads=n) for n in (1, 2, 3, 8)}
    yield opened
    for store in opened.values():
        store.close()


@pytest.fixture
def store(filled):
    with objstore.open(filled, models=[Row], query_threads=4) as store:
        yield store


def condition(rng, depth=2):
    if depth > 0 and rng.random() < 0.6:
        left, right = condition(rng, depth - 1), condition(rng, depth - 1)
        return f"NOT ({left})" if rng.random() < 0.2 else f"({left}) {rng.choice(['AND', 'OR'])} ({right})"
    sign, first = rng.choice(["==", "!=", "<", "<=", ">", ">="]), rng.randrange(COUNT)
    part = f"id BETWEEN {{{first}, {first + 20_000}}} AND"  # of what is computed object by object
    return rng.choice(
        [
            f"number {sign} {rng.randrange(-1100, 1100)}",
            f"number {rng.choice(['==', '!='])} null",
            f"weight {sign} {rng.choice(['0.0', '-0.0', '100.5', '-60.25'])}",
            f"name {sign} 'row {rng.randrange(330)}'",
            f"name CONTAINS '{rng.randrange(40)}'",
            f"name ENDSWITH[c] '{rng.randrange(10)}'",
            f"number IN {{{', '.join(str(rng.randrange(-1000, 1000)) for _ in range(20))}}}",
            f"id {sign} {first}",
            f"({part} number + id {sign} {first + 10_000})",
            f"({part} number * 2 {sign} weight)",
            "TRUEPREDICATE",
        ]
    )


def ids(rows):
    return [r[0] for r in rows.select(Row.id)]


def asked(store, text):
    rows = store.objects(Row).filter(text)
    sums = [repr(getattr(rows, f)(c)) for f in ("sum", "min", "max", "avg") for c in (Row.number, Row.weight)]
    sorted_ids = ids(rows.filter("SORT(name DESC, number ASC) LIMIT(50)"))
    return rows.count(), ids(rows.filter("OFFSET(1)")), sorted_ids, sums, ids(rows.filter("LIMIT(3)"))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_as_one_thread(stores, seed):
    text = condition(random.Random(seed))
    wanted = asked(stores[1], text)
    assert max(0, wanted[0] - 1) == len(wanted[1])
    for threads, store in stores.items():
        assert asked(store, text) == wanted, (threads, text)


def test_all_of_them(stores):
    wanted = asked(stores[1], "TRUEPREDICATE")
    for store in stores.values():
        assert asked(store, "TRUEPREDICATE") == wanted


@pytest.mark.parametrize("seed", range(2))
def test_in_a_transaction(stores, seed):
    """With what it has not committed: new leaves, changed ones, objects that are gone."""
    rng = random.Random(f"transaction {seed}")
    text, first = condition(rng), rng.randrange(50_000)
    found = []
    for store in stores.values():
        with store.write() as tx:
            store.add_all([row(i) for i in range(COUNT, COUNT + 5000)])
            rows = store.objects(Row)
            rows.filter("id BETWEEN $0", [first, first + 30_000]).update(number=5)
            rows.filter("id BETWEEN $0", [first + 60_000, first + 75_000]).delete()
            found.append([asked(store, text), asked(store, "number == 5"), asked(store, "TRUEPREDICATE")])
            tx.cancel()
    assert all(one == found[0] for one in found)
    assert asked(stores[8], text) == asked(stores[1], text)


def test_explain_says_how_many(stores):
    def threads(store, text):
        plan = store.objects(Row).filter(text).explain(run=True)
        assert (f"threads: {plan.threads}" in plan.text) == (plan.threads is not None)
        return plan.threads

    assert threads(stores[3], "number < 5") == 3
    assert threads(stores[2], "name CONTAINS '7' AND number + id > 3") == 2
    # The last piece is the fifth.
    assert threads(stores[8], "number < 5") == 5
    assert threads(stores[8], "number < 5 GROUP(name)") is None
    assert threads(stores[1], "number < 5") is None
    # The first ones are soon found; a key is looked up.
    assert threads(stores[8], "number < 5 LIMIT(3)") is None
    assert threads(stores[8], "id == 5") is None
    # Functions are called on the thread that asks.
    where = set()
    stores[8].define_function("same", lambda x: where.add(threading.get_ident()) or x, "i64 -> i64")
    assert threads(stores[8], "number == 5 AND same(id) > 5") is None and where == {threading.get_ident()}
    assert stores[8].objects(Row).filter("number < 5").explain().threads is None


def test_few_objects(tmp_path):
    with objstore.open(tmp_path / "few", models=[Row], query_threads=8) as store:
        with store.write():
            store.add_all([row(i) for i in range(10_000)])
        plan = store.objects(Row).filter("number < 5").explain(run=True)
        assert plan.found > 1000 and plan.threads is None


class Stopped(Exception):
    pass


def test_told_of_all_on_the_thread_that_asks(store):
    rows, told = store.objects(Row), []
    wanted = rows.filter("name CONTAINS '7'").count()
    there = rows.count()
    store.watch_queries(lambda done, total: told.append((done, total, threading.get_ident())), interval=0)
    assert rows.filter("name CONTAINS '7' AND id >= 0").count() == wanted
    dones = [done for done, _, _ in told]
    assert dones == sorted(dones) and dones[-1] == there
    assert {(total, thread) for _, total, thread in told} == {(there, threading.get_ident())}


@pytest.mark.parametrize("last", [1, 2, 4])
def test_ended(store, last):
    rows, seen = store.objects(Row), []

    def stop(done, total):
        seen.append(done)
        if len(seen) >= last:
            raise Stopped

    store.watch_queries(stop, interval=0)
    for ask in (
        lambda: rows.filter("name CONTAINS '7'").count(),
        lambda: ids(rows.filter("name CONTAINS '7' SORT(id ASC)")),
        lambda: rows.filter("name CONTAINS '7'").sum(Row.number),
    ):
        seen.clear()
        ended = False
        try:
            ask()
        except Stopped:
            ended = True
        # The others may have done nearly all before this thread is told a second time.
        assert ended == (len(seen) == last) and (ended or last > 1)
    with store.write():  # there one thread scans, for what is told could change it
        seen.clear()
        with pytest.raises(Stopped):
            rows.filter("name CONTAINS '7'").count()
        assert rows.filter("id == 5").count() == 1
    store.watch_queries(None)
    assert rows.filter("name CONTAINS '7'").count() > 1000


def test_limited_memory(filled, stores):
    with objstore.open(filled, models=[Row], query_threads=8, query_bytes=200_000) as store:
        assert store.objects(Row).filter("number < 5").count() == stores[1].objects(Row).filter("number < 5").count()
        with pytest.raises(OutOfMemory, match="QUERY_BYTES"):
            store.objects(Row).filter("number < 5").explain(run=True)
        plan = store.objects(Row).filter("number == 5").explain(run=True)
        assert plan.found > 100 and plan.threads is None


@pytest.mark.parametrize("wrong", [0, -1, 257, 1 << 40])
def test_wrong_numbers(tmp_path, wrong):
    with pytest.raises(OutOfRange, match="1 to 256"):
        objstore.open(tmp_path / "rows", models=[Row], query_threads=wrong)


def test_damaged_pages(filled, tmp_path):
    """What is thrown is what one thread would throw, wherever the damage is, and however much of it there is."""
    filled = closed(filled)
    size = os.path.getsize(filled)
    outcomes = []
    for seed in range(4):
        rng = random.Random(seed)
        pages = [rng.randrange(16, size // 4096) for _ in range(rng.choice([1, 2, 40]))]
        errors = []
        for threads in (1, 8):
            copy = tmp_path / f"{seed}-{threads}"
            shutil.copy(filled, copy)
            with open(copy, "r+b") as file:
                for page in pages:
                    file.seek(page * 4096 + 40)
                    file.write(b"\xa5" * 3000)
            got = []
            with objstore.open(copy, models=[Row], query_threads=threads, mode="read-only") as store:
                for text in ("number < 5", "name CONTAINS '7' OR weight > 3", "id >= 0 SORT(id ASC)"):
                    try:
                        got.append(asked(store, text))
                    except Corrupt as error:
                        got.append(str(error))
            errors.append(got)
        assert errors[0] == errors[1]
        outcomes += [isinstance(one, str) for one in errors[0]]
    assert any(outcomes)


def test_closed_meanwhile(filled):
    store = objstore.open(filled, models=[Row], query_threads=3)
    wanted, began, ended = store.objects(Row).filter("name CONTAINS '7'").count(), threading.Event(), []

    def ask():
        try:
            while True:
                ended.append(store.objects(Row).filter("name CONTAINS '7'").count())
                began.set()
        except Closed:
            ended.append("closed")

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    began.wait()
    store.close()
    for thread in threads:
        thread.join()
    assert ended.count("closed") == 3 and set(ended) == {"closed", wanted}


FORKS = """
import os, sys
import objstore
from test_query_threads import Row

path, text = sys.argv[1], "number < 5"
store = objstore.open(path, models=[Row], query_threads=4)
wanted = store.objects(Row).filter(text).count()

def child():
    with objstore.open(path, models=[Row], query_threads=4) as mine:
        rows = mine.objects(Row)
        assert rows.filter(text).count() == wanted
        assert rows.filter(text).explain(run=True).threads == 4

def forked():
    pid = os.fork()
    if pid == 0:
        try:
            child()
        except BaseException as error:
            print("child:", repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0

forked()
assert store.objects(Row).filter(text).count() == wanted

# While others scan, inside of what is told of the scan: in the child it ends there, and nobody is waited for.
pids = []
def tell(done, total):
    if not pids:
        pids.append(os.fork())
store.watch_queries(tell, interval=0)
try:
    assert store.objects(Row).filter("number < 6").count() >= wanted
except objstore.Forked:
    assert pids == [0]
    child()
    os._exit(0)
assert pids[0] > 0 and os.waitpid(pids[0], 0)[1] == 0
store.watch_queries(None)
assert store.objects(Row).filter(text).count() == wanted
store.close()
print("done")
"""


def test_forks(filled, tmp_path):
    script = tmp_path / "forks.py"
    script.write_text(FORKS)
    env = os.environ | {"PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, filled], env=env, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr


def test_tables_have_the_same_groups(stores):
    def groups(store):
        rows = store.objects(Row).where(Row.number < 300).group_by(Row.name)
        return sorted(map(tuple, rows.select(Row.name, group.count)))

    assert all(groups(store) == groups(stores[1]) for store in stores.values())
