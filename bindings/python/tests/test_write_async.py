"""Writes that a loop of asyncio does not wait for: write_async(), and blocks of it."""

import asyncio
import contextlib
import ctypes
import functools
import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import objstore
from objstore import Model, field
from objstore.writing import awaited, event_loops

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


class Dog(Model):
    name: str = ""
    age: int = 0


class Person(Model):
    id: int = field(primary_key=True)
    name: str = ""
    dogs: list[Dog] = field(default_factory=list)


class Plain(Model):
    """As the programs below have it."""

    __stored_as__ = "Person"
    id: int = field(primary_key=True)


class Todo(Model):
    _id: int = field(primary_key=True)
    name: str = ""
    owner: str = ""
    status: str = ""


MODELS = [Dog, Person, Todo]


@pytest.fixture
def store(path: pathlib.Path) -> Iterator[objstore.Store]:
    with objstore.open(path, models=MODELS) as made:
        yield made
        if not made.is_closed:
            made.verify()


def run(main: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(main, 60))


def ids(store: objstore.Store) -> list[int]:
    return [person.id for person in store.objects(Person)]


def create(id: int, tx: objstore.Transaction) -> Person:
    return tx.store.create(Person, {"id": id})


def creating(id: int) -> Any:
    return functools.partial(create, id)


class Holder:
    """Another thread that holds the lock from when it was begun until it is told to end."""

    def __init__(self, store: objstore.Store, **values: Any) -> None:
        self._store = store
        self._values = values
        self._begun, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def _hold(self) -> None:
        with contextlib.suppress(objstore.Closed), self._store.write():
            if self._values:
                self._store.create(Person, self._values)
            self._begun.set()
            self._end.wait()

    def end(self) -> None:
        self._end.set()

    def __enter__(self) -> "Holder":
        self._thread.start()
        self._begun.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._thread.join()


async def gaps(seconds: float) -> float:
    """The longest time between two ticks of the loop, which wants one every 5 ms, for that long."""
    longest, end = 0.0, time.monotonic() + seconds
    while (before := time.monotonic()) < end:
        await asyncio.sleep(0.005)
        longest = max(longest, time.monotonic() - before)
    return longest


# Scenarios


@pytest.mark.parametrize("how", ["async", "sync"])
def test_a43_dogs_are_appended(store: objstore.Store, how: str) -> None:
    def append(tx: objstore.Transaction) -> None:
        person = store.get(Person, 1)
        assert person is not None
        for name, age in (("Ben", 13), ("Lita", 9), ("Maui", 1)):
            person.dogs.append(Dog(name=name, age=age))

    async def main() -> None:
        await store.write_async(lambda tx: store.create(Person, {"id": 1, "name": "Dachary"}))
        if how == "async":
            await store.write_async(append)
        else:
            store.write(append)

    run(main())
    person = store.get(Person, 1)
    assert person is not None and [dog.name for dog in person.dogs] == ["Ben", "Lita", "Maui"]
    assert store.objects(Dog).where(Dog.name == "Ben").count() == 1


def test_a50_an_object_that_was_found_before(store: objstore.Store) -> None:
    store.write(creating(1))
    person = store.get(Person, 1)
    assert person is not None
    seen: list[Any] = []

    def append(tx: objstore.Transaction) -> None:
        for name in ("Ben", "Lita", "Maui"):
            person.dogs.append(Dog(name=name))

    async def main() -> None:
        writing = asyncio.create_task(store.write_async(append))
        here = threading.get_ident()
        writing.add_done_callback(lambda task: seen.append((threading.get_ident() == here, len(person.dogs))))
        await asyncio.sleep(0)
        assert store.is_writing_async
        await writing
        await asyncio.sleep(0)
        assert seen == [(True, 3)] and not store.is_writing_async

    assert not store.is_writing_async
    run(main())


def test_a51_a_block_that_does_not_commit(store: objstore.Store) -> None:
    async def main() -> None:
        async with store.write_async() as tx:
            store.create(Dog, {"name": "Rex"})
            tx.cancel()
        with pytest.raises(KeyError):
            async with store.write_async():
                store.create(Dog, {"name": "Rex"})
                raise KeyError

    run(main())
    assert len(store.objects(Dog)) == 0


def test_a52_a_block_that_commits(store: objstore.Store) -> None:
    async def main() -> int:
        async with store.write_async() as tx:
            rex = store.add(Dog(name="Rex"))
            await asyncio.sleep(0)
            assert tx.is_open and rex.is_managed
        assert not tx.is_open and rex.is_managed and rex.name == "Rex"
        return tx.version()

    assert run(main()) == store.statistics().published_version
    assert len(store.objects(Dog)) == 1


def test_a53_a_task_that_is_cancelled_while_it_waits(store: objstore.Store) -> None:
    ran: list[int] = []

    async def main() -> None:
        with Holder(store):
            writing = asyncio.create_task(store.write_async(lambda tx: ran.append(1)))
            await asyncio.sleep(0.01)
            writing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writing
            assert not store.is_writing_async
        await store.write_async(creating(2), timeout=5)

    run(main())
    assert not ran and ids(store) == [2]


@pytest.mark.parametrize("how", ["body", "block"])
def test_a54_a_task_that_is_cancelled_while_its_commit_is_awaited(store: objstore.Store, how: str) -> None:
    """It happens all the same, and it is over when the task is."""
    made: list[Any] = []
    pending: list[bool] = []

    async def cancelled(number: int) -> None:
        asked = asyncio.Event()

        def body(tx: objstore.Transaction) -> None:
            store.create_all(Todo, [{"_id": 10_000 * number + n, "name": "x" * 200} for n in range(5000)])
            made[:] = tx, store.add(Dog(name="Rex", age=number))
            asked.set()

        async def block() -> None:
            async with store.write_async() as tx:
                body(tx)

        writing = asyncio.create_task(store.write_async(body) if how == "body" else block())
        await asked.wait()
        tx, rex = made
        assert not tx.is_open
        pending.append(tx.version() == 0 and writing.cancel())
        result = (await asyncio.gather(writing, return_exceptions=True))[0]
        assert isinstance(result, asyncio.CancelledError) == pending[-1]
        assert tx.version() > 0 and rex.age == number

    async def main() -> None:
        for number in range(8):
            await cancelled(number)
        await store.write_async(creating(1), timeout=5)

    run(main())
    assert any(pending) and len(store.objects(Dog)) == 8 and len(store.objects(Todo)) == 40_000


def test_a55_commits_in_groups(store: objstore.Store) -> None:
    """The same data by clearly fewer syncs than commits. Of those that are not grouped some share one, too: where the
    machine is busy, almost all."""

    async def syncs(first: int, allow_grouping: bool) -> int:
        before = store.statistics().syncs
        await asyncio.gather(
            *(store.write_async(creating(first + n), allow_grouping=allow_grouping) for n in range(1000))
        )
        return store.statistics().syncs - before

    grouped, single = run(syncs(0, True)), run(syncs(1000, False))
    assert ids(store) == list(range(2000))
    assert grouped < 500 and single <= 2000


@pytest.mark.parametrize("allow_grouping", [False, True])
def test_a56_a_store_that_is_closed_at_once(path: pathlib.Path, allow_grouping: bool) -> None:
    """What was asked for is there, and its tasks know; who still waits learns that it was closed."""

    async def main() -> list[Any]:
        store = objstore.open(path, models=MODELS)
        ran: list[int] = []

        def body(id: int, tx: objstore.Transaction) -> int:
            create(id, tx)
            ran.append(id)
            return id

        tasks = [
            asyncio.create_task(store.write_async(functools.partial(body, id), allow_grouping=allow_grouping))
            for id in range(20)
        ]
        while not ran:
            await asyncio.sleep(0)
        store.close()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, objstore.Closed) for each in found if not isinstance(each, int))
        assert [each for each in found if isinstance(each, int)] == ran
        return ran

    ran = run(main())
    with objstore.open(path, models=MODELS) as store:
        assert ids(store) == ran and ran


def test_a_store_that_another_thread_closes(path: pathlib.Path) -> None:
    """Each task knows whether its write is there."""

    async def main() -> list[int]:
        store = objstore.open(path, models=MODELS)

        def body(id: int, tx: objstore.Transaction) -> int:
            store.create_all(Todo, [{"_id": 100 * id + n} for n in range(100)])
            create(id, tx)
            return id

        tasks = [asyncio.create_task(store.write_async(functools.partial(body, id))) for id in range(200)]
        await tasks[3]
        await asyncio.to_thread(store.close)
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, objstore.Closed) for each in found if not isinstance(each, int))
        return [each for each in found if isinstance(each, int)]

    committed = run(main())
    with objstore.open(path, models=MODELS) as store:
        assert 4 <= len(committed) < 200 and ids(store) == committed
        assert len(store.objects(Todo)) == 100 * len(committed)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_commit_that_fails(store: objstore.Store, monkeypatch: pytest.MonkeyPatch, is_cancelled: bool) -> None:
    """Its task is told, also one that is cancelled meanwhile; what it has added is unmanaged again."""
    rex, real = Dog(name="Rex"), awaited._claim_commit
    asked: list[int] = []

    def fails(handle: int, id: int, version: Any) -> int:
        asked.append(id)
        if len(asked) < 3:
            event_loops.ring_all(store)  # as the library does when it is over
            return objstore.Status.BUSY
        status = real(handle, id, ctypes.byref(ctypes.c_uint64()))
        return objstore.Status.IO if status == 0 else int(status)

    async def main() -> None:
        monkeypatch.setattr(awaited, "_claim_commit", fails)
        writing = asyncio.create_task(store.write_async(lambda tx: store.add(rex)))
        while not asked:
            await asyncio.sleep(0)
        if is_cancelled:
            writing.cancel()
        with pytest.raises(objstore.StorageError):
            await writing
        assert not rex.is_managed and rex.name == "Rex"
        monkeypatch.setattr(awaited, "_claim_commit", real)
        await store.write_async(creating(1), timeout=5)

    run(main())
    assert ids(store) == [1]


HOLDER = """
import objstore, sys
with objstore.open(sys.argv[1]) as store, store.write():
    print("begun", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("who", ["thread", "process"])
def test_a57_a_loop_that_is_not_blocked(store: objstore.Store, path: pathlib.Path, who: str) -> None:
    async def write() -> None:
        async with store.write_async():
            store.create(
                Todo, {"_id": 1, "name": "Take the ring to Mount Doom", "owner": "Frodo", "status": "In Progress"}
            )

    async def main(end: Any) -> None:
        writing = asyncio.create_task(write())
        longest = await gaps(0.5)
        assert not writing.done()
        end()
        await writing
        assert longest < 0.2  # of 0.5 that it waited: the machine may have other work

    if who == "thread":
        with Holder(store) as holder:
            run(main(holder.end))
    else:
        command = [sys.executable, "-c", HOLDER, str(path)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            run(main(process.stdin.close))
    assert store.objects(Todo).count() == 1


def test_a58_what_a_body_returns(store: objstore.Store) -> None:
    async def main() -> None:
        dog = await store.write_async(lambda tx: store.add(Dog(name="Rex", age=3)))
        assert dog.is_managed and dog.name == "Rex"
        await store.write_async(lambda tx: setattr(dog, "age", 4))
        assert dog.age == 4

    run(main())


def test_a61_while_another_thread_writes(store: objstore.Store) -> None:
    async def main() -> None:
        with Holder(store, id=1) as holder:
            begun = time.monotonic()
            writing = asyncio.create_task(store.write_async(creating(2)))
            await asyncio.sleep(0)
            assert time.monotonic() - begun < 0.2 and store.is_writing_async
            asyncio.get_running_loop().call_later(0.3, holder.end)
            await writing
            assert time.monotonic() - begun >= 0.3

    run(main())
    assert ids(store) == [1, 2]


# Order, timeouts, cancellation


def test_the_order_of_the_calls(store: objstore.Store) -> None:
    """Also where some leave the queue."""

    async def main() -> None:
        with Holder(store):
            tasks = [asyncio.create_task(store.write_async(creating(id))) for id in range(50)]
            late = asyncio.create_task(store.write_async(creating(100), timeout=0.02))
            tasks += [asyncio.create_task(store.write_async(creating(id))) for id in range(50, 60)]
            with pytest.raises(objstore.Timeout, match="for 0.02 seconds: in another task, thread or process"):
                await late
            for id in (0, 7, 59):
                tasks[id].cancel()
            await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)

    run(main())
    assert ids(store) == [id for id in range(60) if id not in (0, 7, 59)]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.timeout() came with Python 3.11")
def test_asyncio_timeout(store: objstore.Store) -> None:
    ran: list[int] = []

    async def main() -> None:
        with Holder(store):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await store.write_async(lambda tx: ran.append(1))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    async with store.write_async():
                        ran.append(2)
            with pytest.raises(objstore.Busy):
                await store.write_async(lambda tx: ran.append(3), timeout=0)
            assert not store.is_writing_async
        async with asyncio.timeout(60):
            await store.write_async(creating(1))

    run(main())
    assert not ran and ids(store) == [1]


def test_nobody_is_overtaken_by_who_does_not_wait(store: objstore.Store) -> None:
    async def main() -> None:
        with Holder(store):
            waiting = asyncio.create_task(store.write_async(creating(1)))
            await asyncio.sleep(0.01)
            with pytest.raises(objstore.Busy):
                await store.write_async(creating(2), timeout=0)
        await waiting
        await store.write_async(creating(3), timeout=0)

    run(main())
    assert ids(store) == [1, 3]


def test_a_synchronous_write_goes_first(store: objstore.Store) -> None:
    """On the thread of a loop whose tasks wait, whose turn it may be already."""

    async def main() -> None:
        for first in range(0, 100, 10):
            tasks = [asyncio.create_task(store.write_async(creating(first + n))) for n in range(1, 4)]
            await asyncio.sleep(0)  # they have asked
            with store.write():
                assert not any(task.done() for task in tasks)
                create(first, store.write_async())
            await asyncio.gather(*tasks)

    run(main())
    assert sorted(ids(store)) == [first + n for first in range(0, 100, 10) for n in range(4)]


def test_a_loop_that_is_busy_keeps_nobody_waiting(store: objstore.Store) -> None:
    """A turn that it does not take passes, and comes again."""

    def write() -> float:
        begun = time.monotonic()
        store.write(creating(2))
        return time.monotonic() - begun

    async def main() -> None:
        with Holder(store, id=1) as holder, ThreadPoolExecutor(1) as pool:
            writing = asyncio.create_task(store.write_async(creating(3)))
            await asyncio.sleep(0.01)
            holder.end()
            while store.statistics().commits == commits:
                time.sleep(0.001)  # the loop is busy, and its task has its turn
            waited = pool.submit(write)
            assert waited.result() < 10 and not writing.done()
            await writing

    commits = store.statistics().commits
    run(main())
    assert ids(store) == [1, 2, 3]


def test_many_tasks_in_two_loops(store: objstore.Store) -> None:
    def work(first: int) -> None:
        async def block(id: int) -> None:
            async with store.write_async() as tx:
                create(id, tx)
                await asyncio.sleep(0)

        async def main() -> None:
            await asyncio.gather(*(block(first + n) for n in range(100)))
            await asyncio.gather(
                *(store.write_async(creating(first + n), allow_grouping=n % 2 == 0) for n in range(100, 300))
            )

        run(main())

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (0, 1000)))
    assert sorted(ids(store)) == [first + n for first in (0, 1000) for n in range(300)]


def test_two_handles_of_one_file(store: objstore.Store, path: pathlib.Path) -> None:
    with objstore.open(path, models=MODELS) as other:

        async def main() -> None:
            writes = [(other if n % 3 else store).write_async(creating(n)) for n in range(30)]
            await asyncio.gather(*writes)
            with store.write():
                create(100, store.write())
            assert other.objects(Person).count() == 31

        run(main())


# Exceptions


def test_exceptions_undo_and_reach_who_awaits(store: objstore.Store) -> None:
    added: list[Dog] = []

    def fails(tx: objstore.Transaction) -> None:
        added.append(store.add(Dog(name="Rex")))
        raise ZeroDivisionError

    async def main() -> None:
        results = await asyncio.gather(
            store.write_async(creating(1)),
            store.write_async(fails),
            store.write_async(fails, allow_grouping=True),
            store.write_async(creating(1)),
            store.write_async(creating(2), allow_grouping=True),
            return_exceptions=True,
        )
        assert [type(each) for each in results] == [
            Person,
            ZeroDivisionError,
            ZeroDivisionError,
            objstore.DuplicateKey,
            Person,
        ]

    run(main())
    assert ids(store) == [1, 2] and [dog.is_managed for dog in added] == [False, False]


def test_what_was_added_and_not_committed(store: objstore.Store) -> None:
    """It is unmanaged again, as after a synchronous write."""
    rex = Dog(name="Rex", age=3)

    async def main() -> None:
        async with store.write_async() as tx:
            store.add(rex)
            tx.cancel()
        assert not rex.is_managed and rex.age == 3
        await store.write_async(lambda tx: store.add(rex))

    run(main())
    assert rex.is_managed and rex.age == 3


def test_a_block_is_used_once_and_by_its_task(store: objstore.Store) -> None:
    async def main() -> None:
        tx = store.write_async()
        async with tx:
            with pytest.raises(objstore.AlreadyInWrite, match="this task has a write"):
                await store.write_async(creating(1))
            with pytest.raises(objstore.NotInWrite):
                await asyncio.create_task(asyncio.to_thread(create, 1, tx))
        with pytest.raises(objstore.InvalidArgument, match="used once"):
            async with tx:
                pass
        with pytest.raises(objstore.InvalidArgument, match="allow_grouping is for functions"):
            store.write_async(allow_grouping=True)  # type: ignore[call-overload]

    run(main())


def test_outside_of_a_loop(store: objstore.Store) -> None:
    waiting = store.write_async(creating(1))
    with pytest.raises(objstore.InvalidArgument, match="a task of asyncio or trio waits like this"):
        waiting.send(None)
    with store.write(timeout=0):
        pass


def test_a_commit_that_nobody_awaits(store: objstore.Store) -> None:
    """It was asked for, and so it happens; and everything is in order afterwards."""
    rex = Dog(name="Rex")

    async def main() -> None:
        tx = store.write_async()
        await tx.__aenter__()
        store.add(rex)
        finishing = tx.__aexit__(None, None, None)
        with pytest.warns(RuntimeWarning, match="never awaited"):
            del finishing
        assert tx.version() and rex.name == "Rex"
        await store.write_async(creating(1), timeout=5)

    run(main())
    assert len(store.objects(Dog)) == 1


def test_a_loop_that_ends_while_a_commit_is_awaited(store: objstore.Store) -> None:
    """What became of it is known when its task is gone."""
    made: list[Any] = []

    def body(tx: objstore.Transaction) -> None:
        made.extend((tx, store.add(Dog(name="Rex"))))
        store.create_all(Todo, [{"_id": n, "name": "x" * 200} for n in range(5000)])
        asyncio.get_running_loop().stop()

    def leave() -> None:
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda *_: None)  # the task is destroyed while it waits, which it would be told
        task = loop.create_task(store.write_async(body))
        loop.run_forever()
        loop.close()
        assert not task.done() and not made[0].is_open

    leave()
    gc.collect()
    tx, rex = made[:2]
    assert tx.version() > 0 and rex.name == "Rex" and len(store.objects(Dog)) == 1
    store.write(creating(1), timeout=0)


def test_a_loop_that_ends_while_a_task_waits(store: objstore.Store) -> None:
    """Nobody waits behind it."""
    ran: list[int] = []

    def leave() -> None:
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda *_: None)
        task = loop.create_task(store.write_async(lambda tx: ran.append(1)))
        loop.run_until_complete(asyncio.wait([task], timeout=0.01))
        loop.close()

    with Holder(store):
        leave()
        gc.collect()
        assert not store.is_writing_async
    run(store.write_async(creating(1), timeout=30))
    assert not ran and ids(store) == [1]


# Closing, processes


def test_tasks_that_wait_for_a_store_that_is_closed(path: pathlib.Path) -> None:
    ran: list[int] = []

    async def main() -> None:
        store = objstore.open(path, models=MODELS)
        with Holder(store):
            tasks = [asyncio.create_task(store.write_async(lambda tx: ran.append(1))) for _ in range(5)]
            await asyncio.sleep(0.01)
            await asyncio.to_thread(store.close)
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                assert isinstance(result, objstore.Closed)
        with pytest.raises(objstore.Closed):
            await store.write_async(creating(1))

    run(main())
    assert not ran


def python(program: str, path: pathlib.Path, **options: Any) -> "subprocess.Popen[str]":
    head = """
import asyncio, functools, os, signal, sys, threading, time
import objstore
from objstore import field
class Person(objstore.Model):
    id: int = field(primary_key=True)
"""
    return subprocess.Popen(
        [sys.executable, "-c", head + program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        **options,
    )


INTERRUPTED = """
signal.signal(signal.SIGINT, signal.default_int_handler)    # a shell may have begun this with signals ignored
async def main(store):
    print("waiting", flush=True)
    try:
        await store.write_async(lambda tx: print("ran", flush=True))
    except asyncio.CancelledError:
        print("cancelled", flush=True)
        raise
with objstore.open(sys.argv[1], models=[Person]) as store:
    try:
        asyncio.run(main(store))
    except KeyboardInterrupt:
        print("interrupted", store.is_writing_async, flush=True)
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.run() takes care of Ctrl-C since Python 3.11")
def test_ctrl_c_while_a_task_waits(path: pathlib.Path) -> None:
    with objstore.open(path, models=[Plain]) as store, store.write():
        with python(INTERRUPTED, path) as process:
            assert process.stdout is not None and process.stdout.readline() == "waiting\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert out == "cancelled\ninterrupted False\n", err


LEFT = """
store = objstore.open(sys.argv[1], models=[Person])
begun = threading.Event()
def hold():
    with store.write():
        begun.set()
        time.sleep(1000)
threading.Thread(target=hold, daemon=True).start()
begun.wait()
loop = asyncio.new_event_loop()
tasks = [loop.create_task(store.write_async(lambda tx: print("ran"))) for _ in range(3)]
loop.run_until_complete(asyncio.wait(tasks, timeout=0.01))
assert store.is_writing_async
print("end", flush=True)
"""


def test_a_program_that_ends_while_tasks_wait(path: pathlib.Path) -> None:
    with python(LEFT, path) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "end\n"), err
    assert "Traceback" not in err.replace("Task was destroyed but it is pending!", ""), err


FORKING = """
async def main(store):
    async with store.write_async():
        store.create(Person, {"id": 1})
        waiting = asyncio.create_task(store.write_async(lambda tx: store.create(Person, {"id": 2}).id))
        await asyncio.sleep(0)
        child = os.fork()
        if child == 0:
            try:
                store.is_writing_async
            except objstore.Forked:
                waiting.get_coro().close()      # nothing of the parent's is taken
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert await waiting == 2
with objstore.open(sys.argv[1], models=[Person]) as store:
    asyncio.run(main(store))
    print([person.id for person in store.objects(Person)])
"""


def test_a_process_that_forks_while_tasks_wait(path: pathlib.Path) -> None:
    with python(FORKING, path) as process:
        out, err = process.communicate(timeout=60)
    assert out == "[1, 2]\n", err


def test_descriptors_are_used_again(store: objstore.Store) -> None:
    """However many tasks wait, they are a few, which are there for the next ones."""

    async def main() -> int:
        with Holder(store):
            tasks = [asyncio.create_task(store.write_async(creating(n))) for n in range(500)]
            tasks.append(asyncio.create_task(store.write_async(creating(500), timeout=0)))
            await asyncio.sleep(0.01)
            count = len(os.listdir("/proc/self/fd"))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return count

    run(main())
    before = len(os.listdir("/proc/self/fd"))
    counts = [run(main()) for _ in range(5)]
    assert max(counts) <= before + 10 and len(os.listdir("/proc/self/fd")) == before


# The decorator


def test_transactional(store: objstore.Store) -> None:
    @store.transactional
    def named(tx: objstore.Transaction, id: int, *, name: str = "?") -> Person:
        """Makes a person."""
        return store.create(Person, {"id": id, "name": name})

    @store.transactional
    async def renamed(tx: objstore.Transaction, person: Person, name: str) -> str:
        """Names a person."""
        before = person.name
        await asyncio.sleep(0)
        person.name = name
        if name == "":
            raise ValueError
        return before

    assert (named.__name__, named.__doc__) == ("named", "Makes a person.")
    assert (renamed.__name__, renamed.__doc__) == ("renamed", "Names a person.")
    jane = named(1, name="Jane")
    assert jane.name == "Jane" and named(2).name == "?"
    with pytest.raises(objstore.DuplicateKey):
        named(1)

    async def main() -> None:
        assert await renamed(jane, "Jane Doe") == "Jane"
        with pytest.raises(ValueError):
            await renamed(jane, "")

    run(main())
    assert jane.name == "Jane Doe"
