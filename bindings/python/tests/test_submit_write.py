"""Writes that are handed over, and run on whatever thread delivers: store.submit_write()."""

import asyncio
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import objstore
from objstore import Model, field

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


class Dog(Model):
    id: int = field(primary_key=True)
    name: str = ""


@pytest.fixture
def store(path: pathlib.Path) -> Iterator[objstore.Store]:
    with objstore.open(path, models=[Dog]) as made:
        yield made
        if not made.is_closed:
            made.verify()


def ids(store: objstore.Store) -> list[int]:
    return [dog.id for dog in store.objects(Dog)]


def creating(id: int) -> Any:
    return lambda tx: tx.store.create(Dog, {"id": id})


def deliver_all(store: objstore.Store) -> None:
    while store.is_writing_async:
        store.wait(0.05)


def test_a50_the_result_comes_where_it_is_delivered(store: objstore.Store) -> None:
    seen: list[Any] = []
    future = store.submit_write(creating(1))
    future.add_done_callback(lambda future: seen.append((threading.get_ident(), ids(store))))
    assert store.is_writing_async and not seen and not ids(store)
    deliver_all(store)
    assert seen == [(threading.get_ident(), [1])] and not store.is_writing_async
    assert future.result(0).id == 1


def test_a51_a_body_that_cancels(store: objstore.Store) -> None:
    def body(tx: objstore.Transaction) -> str:
        store.add(Dog(id=1))
        tx.cancel()
        with pytest.raises(objstore.NotInWrite):
            tx.cancel()
        return "cancelled"

    assert store.submit_write(body).result() == "cancelled" and not ids(store)


def test_a52_once(store: objstore.Store) -> None:
    calls: list[int] = []
    rex = Dog(id=1, name="Rex")
    future = store.submit_write(lambda tx: store.add(rex))
    future.add_done_callback(lambda future: calls.append(1))
    assert future.result() is rex and rex.is_managed and rex.name == "Rex"
    deliver_all(store)
    assert calls == [1] and ids(store) == [1]


def test_a53_taken_back_before_its_turn(store: objstore.Store) -> None:
    ran: list[int] = []
    with store.write():
        future = store.submit_write(lambda tx: ran.append(1))
        assert future.cancel() and future.cancelled() and future.cancel()
    deliver_all(store)
    assert not ran and not store.is_writing_async
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    assert concurrent.futures.wait([future], timeout=0).done == {future}
    assert store.submit_write(creating(2)).result().id == 2


def test_a54_not_while_it_runs_or_is_committed(store: objstore.Store) -> None:
    said: list[bool] = []

    def body(tx: objstore.Transaction) -> int:
        said.append(future.cancel())
        return creating(1)(tx).id  # type: ignore[no-any-return]

    future = store.submit_write(body)
    while not said:
        store.wait(0.05)
    said.append(future.cancel())
    assert future.result() == 1 and said == [False, False] and ids(store) == [1]


def test_a55_in_groups(store: objstore.Store) -> None:
    """The same data by clearly fewer syncs than commits. (Those that are not grouped share them, too: on a slow machine
    as many.)"""

    def syncs(first: int, allow_grouping: bool) -> int:
        before = store.statistics().syncs
        for n in range(200):
            store.submit_write(creating(first + n), allow_grouping=allow_grouping)
        deliver_all(store)
        return store.statistics().syncs - before

    grouped, single = syncs(0, True), syncs(200, False)
    assert ids(store) == list(range(400)) and grouped < 100 and 0 < single <= 400


def test_a56_a_store_that_is_closed_at_once(path: pathlib.Path) -> None:
    """Closing runs all of them."""
    with objstore.open(path, models=[Dog]) as store:
        futures = [store.submit_write(creating(id)) for id in range(20)]
        futures.append(store.submit_write(lambda tx: 1 // 0))
    assert all(future.done() for future in futures) and isinstance(futures[-1].exception(), ZeroDivisionError)
    with objstore.open(path, models=[Dog]) as store:
        assert ids(store) == list(range(20))
        store.close()
        with pytest.raises(objstore.Closed):
            store.submit_write(creating(30))


def test_a61_while_another_thread_writes(store: objstore.Store) -> None:
    begun, end = threading.Event(), threading.Event()

    def hold() -> None:
        with store.write():
            store.create(Dog, {"id": 1})
            begun.set()
            end.wait()

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        begun.wait()
        future = store.submit_write(creating(2))
        with pytest.raises(concurrent.futures.TimeoutError):
            future.result(0.05)
        end.set()
        holding.result()
    assert future.result().id == 2 and ids(store) == [1, 2]


def test_threads_without_a_loop(store: objstore.Store) -> None:
    """Each waits for its own, and all deliver."""

    def work(first: int) -> list[int]:
        futures = [store.submit_write(creating(first + n), allow_grouping=bool(n % 2)) for n in range(50)]
        return [future.result(60).id for future in futures]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, (0, 100, 200, 300)))
    assert found == [[first + n for n in range(50)] for first in (0, 100, 200, 300)]
    assert sorted(ids(store)) == [id for each in found for id in each]


def test_a_future_that_another_thread_completes(store: objstore.Store) -> None:
    stop = threading.Event()

    def deliver() -> None:
        while not stop.is_set():
            store.wait(0.01)

    thread = threading.Thread(target=deliver)
    thread.start()
    try:
        futures = [store.submit_write(creating(id)) for id in range(30)]
        done = concurrent.futures.wait(futures, timeout=60).done
        assert len(done) == 30 and [future.result().id for future in futures] == list(range(30))
    finally:
        stop.set()
        thread.join()


def test_in_a_loop_of_asyncio(store: objstore.Store) -> None:
    async def main() -> None:
        asyncio.get_running_loop().add_reader(store.notify_fd, store.deliver)
        found = await asyncio.gather(*(asyncio.wrap_future(store.submit_write(creating(id))) for id in range(10)))
        assert [dog.id for dog in found] == list(range(10))
        with pytest.raises(ZeroDivisionError):
            await asyncio.wrap_future(store.submit_write(lambda tx: 1 // 0))
        asyncio.get_running_loop().remove_reader(store.notify_fd)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_exceptions_undo_and_are_the_futures(store: objstore.Store) -> None:
    rex = Dog(id=1)

    def body(tx: objstore.Transaction) -> None:
        store.add(rex)
        raise KeyError("no")

    futures = [store.submit_write(body), store.submit_write(creating(1)), store.submit_write(creating(1))]
    deliver_all(store)  # where nothing is raised
    error = futures[0].exception()
    assert isinstance(error, KeyError) and error.args == ("no",) and not rex.is_managed
    assert isinstance(futures[2].exception(), objstore.DuplicateKey) and ids(store) == [1]


def test_where_a_result_cannot_be_waited_for(store: objstore.Store) -> None:
    later: list[Any] = []
    raised: list[type[BaseException]] = []

    def body(tx: objstore.Transaction) -> None:
        with pytest.raises(objstore.AlreadyInWrite, match="comes before this one"):
            later[0].result()
        raised.append(objstore.AlreadyInWrite)

    def handler(change: object) -> None:
        with pytest.raises(objstore.InCallback):
            store.submit_write(creating(3)).result()
        raised.append(objstore.InCallback)

    with store.write(), pytest.raises(objstore.AlreadyInWrite, match="comes before this one"):
        store.submit_write(creating(1)).result()
    store.submit_write(body)
    later.append(store.submit_write(creating(2)))
    assert later[0].result().id == 2 and raised == [objstore.AlreadyInWrite]
    with store.observe(Dog, handler):
        store.deliver()
    deliver_all(store)
    assert raised[1:] == [objstore.InCallback] and ids(store) == [1, 2, 3]


def test_a_signal_handler_raises_in_a_body(store: objstore.Store) -> None:
    """It reaches the program where it delivers, and nobody waits for ever."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def body(tx: objstore.Transaction) -> None:
        store.create(Dog, {"id": 1})
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        futures = [store.submit_write(body), store.submit_write(creating(2))]
        with pytest.raises(KeyboardInterrupt):
            futures[1].result()
    finally:
        signal.signal(signal.SIGINT, before)
    assert isinstance(futures[0].exception(), KeyboardInterrupt)
    assert futures[1].result().id == 2 and ids(store) == [2]


HEAD = """
import os, sys, objstore
from objstore import field
class Dog(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
store = objstore.open(sys.argv[1], models=[Dog])
def body(tx):
    print("ran", flush=True)
    tx.store.create(Dog, {"id": 1})
"""


def run(program: str, path: pathlib.Path) -> tuple[int, str, str]:
    process = subprocess.run(
        [sys.executable, "-c", HEAD + program, str(path)], capture_output=True, text=True, env=ENVIRONMENT, timeout=60
    )
    return process.returncode, process.stdout, process.stderr


def test_a_program_that_ends_with_writes_pending(path: pathlib.Path) -> None:
    """They do not run."""
    code, out, err = run("futures = [store.submit_write(body) for _ in range(3)]\nprint(len(futures))", path)
    assert (code, out) == (0, "3\n") and "Traceback" not in err, err
    code, out, err = run("store.submit_write(body)\nstore.wait(10)\nprint('end')", path)
    assert (code, out) == (0, "ran\nend\n") and "Traceback" not in err, err
    with objstore.open(path, models=[Dog]) as store:
        assert ids(store) == [1]


def test_a_process_that_forks_with_writes_pending(path: pathlib.Path) -> None:
    """They are the parent's."""
    program = """
future = store.submit_write(body)
child = os.fork()
if child == 0:
    try:
        future.result()
    except objstore.Forked:
        sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
future.result()
store.close()
"""
    assert run(program, path) == (0, "7\nran\n", "")
    with objstore.open(path, models=[Dog]) as store:
        assert ids(store) == [1]
