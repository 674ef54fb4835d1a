"""A transaction that leaves nothing has read what others may not see yet: when it has ended, no reader sees less."""

import multiprocessing
import threading

import pytest

import objstore
from objstore import Model, field


class Count(Model):
    k: int = field(primary_key=True)
    n: int = 0


def write_on(store, stop):
    while not stop.is_set():
        with store.write():
            store.get(Count, 0).n += 1


def unchanged(store):
    with store.write():
        return store.get(Count, 0).n


def cancelled(store):
    with store.write() as tx:
        inside = store.get(Count, 0).n
        store.add(Count(k=1))
        tx.cancel()
        return inside


def failed(store):
    inside = None
    try:
        with store.write():
            inside = store.get(Count, 0).n
            store.add(Count(k=1))
            raise ZeroDivisionError
    except ZeroDivisionError:
        return inside


def refused(store):
    with store.write():
        inside = store.get(Count, 0).n
        with pytest.raises(objstore.DuplicateKey):
            store.add(Count(k=0))
    return inside


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_no_reader_sees_less_afterwards(tmp_path, durability):
    path = tmp_path / "store"
    stop = threading.Event()
    with (
        objstore.open(path, models=[Count]) as writer,
        objstore.open(path, models=[Count], durability=durability) as store,
    ):
        with writer.write():
            writer.add(Count(k=0))
        thread = threading.Thread(target=write_on, args=(writer, stop))
        thread.start()
        back = []
        try:
            for _ in range(40):
                for end in (unchanged, cancelled, failed, refused):
                    inside = end(store)
                    if store.get(Count, 0).n < inside:
                        back.append(end.__name__)
        finally:
            stop.set()
            thread.join()
        assert back == [] and len(store.objects(Count)) == 1


def write_in_process(path, ready, stop):
    with objstore.open(path, models=[Count]) as store:
        ready.set()
        while not stop.is_set():
            with store.write():
                store.get(Count, 0).n += 1


def test_what_another_process_commits(tmp_path):
    """Seen in a transaction of this process, found by a third that asks after it has ended."""
    path = str(tmp_path / "store")
    context = multiprocessing.get_context("spawn")
    ready, stop = context.Event(), context.Event()
    with objstore.open(path, models=[Count]) as store:
        with store.write():
            store.add(Count(k=0))
        process = context.Process(target=write_in_process, args=(path, ready, stop))
        process.start()
        ready.wait()
        back = 0
        for _ in range(100):
            for end in (unchanged, cancelled):
                inside = end(store)
                back += store.get(Count, 0).n < inside
        stop.set()
        process.join()
        assert process.exitcode == 0 and back == 0


def fill(store):
    store.add_all([Count(k=k, n=k) for k in range(100)])


class Named(Model):
    id: int = field(primary_key=True)
    name: str = ""


def measured():
    """The same class with one property more."""

    class Named(Model):
        id: int = field(primary_key=True)
        name: str = ""
        length: int = 0

    return Named


def measure(migration, old):
    for before, after in migration.objects("Named"):
        after.length = len(before.name)


def open_at_once(kind, path, gate, answers):
    gate.wait()
    try:
        if kind == "initial data":
            with objstore.open(path, models=[Count], initial_data=fill) as store:
                answers.put(sum(count.n for count in store.objects(Count)))
        elif kind == "another class":
            with objstore.open(path, models=[Count, Named]) as store:
                with store.write():
                    store.add(Named(id=1), update="modified")
                answers.put(len(store.objects(Named)))
        elif kind == "migration":
            model = measured()
            with objstore.open(path, models=[model], schema_version=2, migrate=measure) as store:
                answers.put(store.get(model, 1).length)
        else:
            with objstore.open(path, models=[Count]) as store:
                with store.write():
                    store.add(Count(k=1, n=7), update="modified")
                answers.put(store.get(Count, 1).n)
    except BaseException as error:
        answers.put(f"{type(error).__name__}: {error}")


@pytest.mark.parametrize(
    "kind, right", [("new file", 7), ("initial data", 4950), ("another class", 1), ("migration", 5)]
)
def test_four_processes_open_at_once(tmp_path, kind, right):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["objstore", __name__])
    for round in range(5):
        path = str(tmp_path / f"{kind} {round}")
        if kind == "another class":
            objstore.open(path, models=[Count]).close()
        if kind == "migration":
            with objstore.open(path, models=[Named]) as store, store.write():
                store.add(Named(id=1, name="Ellen"))
        gate, answers = context.Barrier(4), context.Queue()
        processes = [context.Process(target=open_at_once, args=(kind, path, gate, answers)) for _ in range(4)]
        for process in processes:
            process.start()
        assert [answers.get(timeout=120) for _ in processes] == [right] * 4
        for process in processes:
            process.join()
