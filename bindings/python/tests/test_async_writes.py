"""Writes of asyncio tasks: each waits for its turn, and the loop continues meanwhile."""

import asyncio
import os
import pathlib
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

import objstore
from objstore import Model, field

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


class Leaf(Model):
    id: int = field(primary_key=True)
    n: int = 0


@pytest.fixture
def store(path: pathlib.Path) -> Iterator[objstore.Store]:
    with objstore.open(path, models=[Leaf], durability="none") as made:
        yield made
        made.verify()


def run(main: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(main, 60))


def ids(store: objstore.Store) -> list[int]:
    return [leaf.id for leaf in store.objects(Leaf)]


async def hold(store: objstore.Store, entered: asyncio.Event, leave: asyncio.Event, id: int = 1) -> None:
    with store.write():
        store.create(Leaf, {"id": id})
        entered.set()
        await leave.wait()


def test_tasks_take_turns(store: objstore.Store) -> None:
    order: list[int] = []

    async def write(id: int) -> None:
        async with store.write() as tx:
            assert tx.is_open and ids(store) == order
            store.create(Leaf, {"id": id})
            await asyncio.sleep(0.002)
            order.append(id)
            assert ids(store) == order

    async def main() -> None:
        await asyncio.gather(*map(write, range(20)))

    run(main())
    assert order == list(range(20)) == ids(store)  # first come, first served


def test_an_exception_undoes(store: objstore.Store) -> None:
    async def main() -> None:
        with pytest.raises(KeyError):
            async with store.write():
                store.create(Leaf, {"id": 1})
                await asyncio.sleep(0)
                raise KeyError
        async with store.write() as tx:
            store.create(Leaf, {"id": 2})
            tx.cancel()
        async with store.write() as tx:
            store.create(Leaf, {"id": 3})
            with pytest.raises(KeyError):
                with tx.savepoint():
                    store.create(Leaf, {"id": 4})
                    raise KeyError
        assert tx.version() > 0
        with pytest.raises(objstore.InvalidArgument, match="used once"):
            async with tx:
                pass

    run(main())
    assert ids(store) == [3]


@pytest.mark.parametrize("timeout", [0.2, 1])
def test_the_timeout_is_the_one_that_was_given(store: objstore.Store, timeout: float) -> None:
    async def main() -> None:
        entered, leave = asyncio.Event(), asyncio.Event()
        holder = asyncio.create_task(hold(store, entered, leave))
        await entered.wait()
        begun, ticks = time.monotonic(), 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.create_task(tick())
        with pytest.raises(
            objstore.Timeout,
            match=f"another write was open for {timeout:g} seconds: in another task, thread or process",
        ):
            async with store.write(timeout=timeout):
                pass
        assert timeout <= time.monotonic() - begun and ticks > timeout * 20  # the loop went on
        with pytest.raises(objstore.Busy, match="another write is open"):
            async with store.write(timeout=0):
                pass
        ticking.cancel()
        leave.set()
        await holder
        async with store.write(timeout=0):
            store.create(Leaf, {"id": 2})

    run(main())
    assert ids(store) == [1, 2]


def test_usually_the_timeout_of_the_store(path: pathlib.Path) -> None:
    with objstore.open(path, models=[Leaf], write_timeout=0.1) as store:

        async def main() -> None:
            entered, leave = asyncio.Event(), asyncio.Event()
            holder = asyncio.create_task(hold(store, entered, leave))
            await entered.wait()
            with pytest.raises(objstore.Timeout, match="for 0.1 seconds"):
                async with store.write():
                    pass
            leave.set()
            await holder

        run(main())


def test_a_write_that_would_stop_the_loop_says_what_to_do(store: objstore.Store) -> None:
    async def main() -> None:
        entered, leave = asyncio.Event(), asyncio.Event()
        holder = asyncio.create_task(hold(store, entered, leave), name="the holder")
        await entered.wait()
        for timeout in (None, 5, 0):
            with pytest.raises(
                objstore.AlreadyInWrite,
                match="task 'the holder' has a write .* open on this thread.*async with store.write",
            ):
                with store.write(timeout=timeout):
                    pass
        leave.set()
        await holder

    run(main())


def test_in_itself(store: objstore.Store) -> None:
    async def main() -> None:
        async with store.write():
            with pytest.raises(objstore.AlreadyInWrite, match="this task has a write .* open already.*savepoint"):
                async with store.write():
                    pass
            with pytest.raises(objstore.AlreadyInWrite, match="this task has a write"):
                with store.write():
                    pass
            store.create(Leaf, {"id": 1})

    run(main())
    with (
        store.write(),
        pytest.raises(objstore.AlreadyInWrite, match="this thread has a write .* open already.*savepoint"),
    ):
        with store.write():
            pass
    assert ids(store) == [1]


def test_a_generator_on_the_same_thread(store: objstore.Store) -> None:
    def writer() -> Iterator[None]:
        with store.write():
            store.create(Leaf, {"id": 1})
            yield

    suspended = writer()
    next(suspended)
    with pytest.raises(objstore.AlreadyInWrite, match="this thread has a write .* open already.*generator"):
        with store.write(timeout=5):
            pass

    async def main() -> None:
        with pytest.raises(
            objstore.AlreadyInWrite, match="this thread has a write .* begun outside of any task.*generator"
        ):
            async with store.write():  # for ever: only the runner of the loop can end it
                pass

    run(main())
    assert next(suspended, "ended") == "ended" and ids(store) == [1]


def test_cancelled_tasks_leave_their_place(store: objstore.Store) -> None:
    async def write(id: int) -> None:
        async with store.write():
            store.create(Leaf, {"id": id})
            await asyncio.sleep(0)

    async def main() -> None:
        entered, leave = asyncio.Event(), asyncio.Event()
        holder = asyncio.create_task(hold(store, entered, leave))
        await entered.wait()
        tasks = [asyncio.create_task(write(id)) for id in range(2, 7)]
        await asyncio.sleep(0.02)
        for task in tasks[:2] + tasks[3:4]:
            task.cancel()
        await asyncio.sleep(0)
        leave.set()
        await holder
        await asyncio.gather(*tasks, return_exceptions=True)
        inside = asyncio.create_task(hold(store, entered := asyncio.Event(), asyncio.Event(), 9))
        await entered.wait()
        inside.cancel()
        await asyncio.gather(inside, return_exceptions=True)
        async with store.write(timeout=0):
            assert ids(store) == [1, 4, 6]

    run(main())


def test_another_thread(store: objstore.Store) -> None:
    begun, end = threading.Event(), threading.Event()

    def write() -> None:
        with store.write():
            begun.set()
            end.wait()
            store.create(Leaf, {"id": 1})

    async def main() -> None:
        thread = threading.Thread(target=write)
        thread.start()
        begun.wait()
        with pytest.raises(objstore.Timeout, match="for 0.05 seconds"):
            async with store.write(timeout=0.05):
                pass
        asyncio.get_running_loop().call_later(0.05, end.set)
        async with store.write():
            assert ids(store) == [1]
            store.create(Leaf, {"id": 2})
        thread.join()

    run(main())
    assert ids(store) == [1, 2]


def test_loops_of_several_threads(store: objstore.Store) -> None:
    def work(first: int) -> None:
        async def write(id: int) -> None:
            async with store.write():
                store.create(Leaf, {"id": id})
                await asyncio.sleep(0.001)

        async def main() -> None:
            await asyncio.gather(*(write(first + i) for i in range(20)))

        run(main())

    threads = [threading.Thread(target=work, args=(100 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids(store)) == 80


WRITER = """
import objstore, sys, time
class Leaf(objstore.Model):
    id: int = objstore.field(primary_key=True)
    n: int = 0
with objstore.open(sys.argv[1], models=[Leaf]) as store, store.write():
    store.create(Leaf, {"id": 1})
    print("begun", flush=True)
    sys.stdin.readline()
"""


def test_another_process(store: objstore.Store, path: pathlib.Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
        stdin = writer.stdin

        async def main() -> None:
            with pytest.raises(objstore.Timeout, match="for 0.1 seconds"):
                async with store.write(timeout=0.1):
                    pass
            stdin.write("\n")
            stdin.flush()
            async with store.write():
                assert ids(store) == [1]
                store.create(Leaf, {"id": 2})

        run(main())
    assert ids(store) == [1, 2]


def test_other_errors(path: pathlib.Path) -> None:
    with objstore.open(path, models=[Leaf]) as store:
        pass

    async def main(made: objstore.Store) -> None:
        async with made.write():
            pass

    with pytest.raises(objstore.Closed):
        run(main(store))
    with objstore.open(path, models=[Leaf], mode="read-only") as readable, pytest.raises(objstore.ReadOnly):
        run(main(readable))


def test_a_store_that_is_closed_while_tasks_wait(path: pathlib.Path) -> None:
    async def main() -> None:
        store = objstore.open(path, models=[Leaf])
        entered, leave = asyncio.Event(), asyncio.Event()
        holder = asyncio.create_task(hold(store, entered, leave))
        await entered.wait()

        async def write() -> None:
            async with store.write():
                pass

        waiting = [asyncio.create_task(write()) for _ in range(3)]
        await asyncio.sleep(0.01)
        store.close()
        for result in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(result, objstore.Closed)
        leave.set()
        await asyncio.gather(holder, return_exceptions=True)

    run(main())


def test_a_loop_whose_thread_ended_leaves_no_place_in_the_queue(store: objstore.Store) -> None:
    """Nor does anybody hear of a write that had not begun."""
    kept: list[Any] = []

    async def write() -> None:
        async with store.write(timeout=5):
            store.create(Leaf, {"id": 1})

    def wait_in_vain() -> None:
        loop = asyncio.new_event_loop()
        kept.append((loop, loop.create_task(write())))
        loop.run_until_complete(asyncio.sleep(0.01))

    with warnings.catch_warnings(record=True) as told, store.write():
        warnings.simplefilter("always")
        thread = threading.Thread(target=wait_in_vain)
        thread.start()
        thread.join()
    assert not [w for w in told if "ended inside" in str(w.message)]
    run(write())
    assert ids(store) == [1]
    (loop, task) = kept.pop()
    loop.set_exception_handler(lambda *_: None)  # the task is destroyed while it waits, which it would be told
    loop.close()
