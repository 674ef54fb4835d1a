"""Writes of tasks of trio."""

import pathlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import trio

import objstore
from objstore import Model, field


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


def run(main: Any, *arguments: Any) -> Any:
    async def limited() -> Any:
        with trio.fail_after(60):
            return await main(*arguments)

    return trio.run(limited)


class Holder:
    """Another thread that holds the lock."""

    def __init__(self, store: objstore.Store) -> None:
        self._store = store
        self._begun, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def _hold(self) -> None:
        with self._store.write():
            self._begun.set()
            self._end.wait()

    def __enter__(self) -> "Holder":
        self._thread.start()
        self._begun.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


def test_bodies_and_blocks(store: objstore.Store) -> None:
    async def main() -> None:
        rex = await store.write_async(lambda tx: store.add(Dog(id=1, name="Rex")))
        async with store.write_async() as tx:
            rex.name = "Max"
            await trio.sleep(0.001)
            assert tx.is_open and tx.mine()
        with pytest.raises(ZeroDivisionError):
            await store.write_async(lambda tx: store.delete(rex) or 1 // 0)  # type: ignore[func-returns-value]
        assert rex.name == "Max" and tx.version() > 0 and not store.is_writing_async

        @store.transactional
        async def create(tx: objstore.Transaction, id: int) -> int:
            await trio.lowlevel.checkpoint()
            return store.create(Dog, {"id": id}).id

        assert await create(2) == 2

    run(main)
    assert ids(store) == [1, 2]


def test_many_tasks(store: objstore.Store) -> None:
    async def write(id: int) -> None:
        if id % 2:
            await store.write_async(lambda tx: store.create(Dog, {"id": id}), allow_grouping=id % 3 == 0)
        else:
            async with store.write():
                store.create(Dog, {"id": id})
                await trio.lowlevel.checkpoint()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for id in range(200):
                nursery.start_soon(write, id)

    run(main)
    run(main_of_one, store)
    assert sorted(ids(store)) == list(range(201))


async def main_of_one(store: objstore.Store) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.write_async, lambda tx: store.create(Dog, {"id": 200}))


def test_a53_a_scope_that_ends_while_a_task_waits(store: objstore.Store) -> None:
    ran: list[int] = []

    async def main() -> None:
        with Holder(store):
            with trio.move_on_after(0.02) as scope:
                await store.write_async(lambda tx: ran.append(1))
            assert scope.cancelled_caught
            with trio.move_on_after(0.02) as scope:
                async with store.write_async():
                    ran.append(2)
            assert scope.cancelled_caught and not store.is_writing_async
            with pytest.raises(objstore.Timeout, match="for 0.02 seconds"):
                await store.write_async(lambda tx: ran.append(3), timeout=0.02)
            with pytest.raises(objstore.Busy):
                await store.write_async(lambda tx: ran.append(4), timeout=0)
        await store.write_async(lambda tx: store.create(Dog, {"id": 1}), timeout=5)

    run(main)
    assert not ran and ids(store) == [1]


def test_a54_a_scope_that_ends_while_a_commit_is_awaited(store: objstore.Store) -> None:
    async def main() -> None:
        made: list[objstore.Transaction] = []

        def body(tx: objstore.Transaction) -> None:
            made.append(tx)
            store.create(Dog, {"id": 1})
            scope.cancel()

        with trio.CancelScope() as scope:
            await store.write_async(body)
        assert scope.cancelled_caught and made[0].version() > 0

    run(main)
    assert ids(store) == [1]


def test_a57_the_loop_goes_on(store: objstore.Store) -> None:
    async def main() -> None:
        async def write() -> None:
            await store.write_async(lambda tx: store.create(Dog, {"id": 1}))

        async with trio.open_nursery() as nursery:
            with Holder(store):
                nursery.start_soon(write)
                longest, end = 0.0, trio.current_time() + 0.3
                while (before := trio.current_time()) < end:
                    await trio.sleep(0.005)
                    longest = max(longest, trio.current_time() - before)
                assert longest < 0.15 and store.is_writing_async

    run(main)
    assert ids(store) == [1]


def test_rules_of_who_may_write(store: objstore.Store) -> None:
    async def main() -> None:
        async def other() -> None:
            with pytest.raises(objstore.NotInWrite):
                store.create(Dog, {"id": 2})
            with pytest.raises(objstore.AlreadyInWrite, match="on this thread.*async with store.write"):
                with store.write():
                    pass

        async with store.write_async():
            with pytest.raises(objstore.AlreadyInWrite, match="this task has a write"):
                await store.write_async(lambda tx: None)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(other)
            store.create(Dog, {"id": 1})

    run(main)
    assert ids(store) == [1]


def test_a_task_that_ends_inside(store: objstore.Store) -> None:
    """Others that wait learn it at once."""

    async def job() -> None:
        await store.write_async().__aenter__()
        store.create(Dog, {"id": 1})

    async def main() -> None:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(job, name="job")
            await store.write_async(lambda tx: store.create(Dog, {"id": 2}))
        assert ["task 'job' ended inside of a write" in str(warning.message) for warning in told] == [True]

    run(main)
    assert ids(store) == [2]


def test_a_store_that_is_closed_while_tasks_wait(store: objstore.Store) -> None:
    async def wait() -> None:
        with pytest.raises(objstore.Closed):
            await store.write_async(lambda tx: None)

    async def main() -> None:
        async with store.write_async():
            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(wait)
                await trio.sleep(0.01)
                store.close()

    with pytest.raises(objstore.Closed, match="was closed inside of a write"):
        run(main)


def test_streams(store: objstore.Store) -> None:
    async def main() -> None:
        seen: list[list[int]] = []
        with store.objects(Dog).changes() as changes:
            async for change in changes:
                seen.append([dog.id for dog in change.inserted])
                if len(seen) == 4:
                    break
                with store.write():
                    store.create(Dog, {"id": len(seen)})
        assert seen == [[], [1], [2], [3]] and store.statistics().observers == 0

    run(main)


def test_streams_of_many_tasks(store: objstore.Store) -> None:
    async def main() -> None:
        found: list[list[int]] = []

        async def follow(task_status: Any) -> None:
            mine: list[int] = []
            found.append(mine)
            with store.objects(Dog).changes(initial=False) as changes:
                task_status.started()
                async for change in changes:
                    mine += [dog.id for dog in change.inserted]
                    if len(mine) == 20:
                        return

        stop = threading.Event()

        def deliver() -> None:  # another thread wakes them as well
            while not stop.is_set():
                store.wait(0.01)

        thread = threading.Thread(target=deliver)
        thread.start()
        try:
            async with trio.open_nursery() as nursery:
                for _ in range(10):
                    await nursery.start(follow)
                for id in range(20):
                    await store.write_async(lambda tx, id=id: store.add(Dog(id=id)))
        finally:
            stop.set()
            thread.join()
        assert found == [list(range(20))] * 10

    run(main)


def test_streams_are_cancelled_and_go_on(store: objstore.Store) -> None:
    async def main() -> None:
        changes = store.objects(Dog).changes(initial=False)
        with trio.move_on_after(0.02) as scope:
            await anext(changes)
        assert scope.cancelled_caught and changes._arrivals.waiter is None
        with store.write():
            store.create(Dog, {"id": 1})
        assert (await anext(changes)).insertions == [0]
        async with trio.open_nursery() as nursery:

            async def end(close: Any) -> None:
                while not changes._arrivals.is_awaited:
                    await trio.lowlevel.checkpoint()
                close()

            nursery.start_soon(end, changes.close)
            assert [change async for change in changes] == []
            changes = store.objects(Dog).changes(initial=False)
            nursery.start_soon(end, store.close)
            assert [change async for change in changes] == []

    run(main)


def test_streams_raise_what_other_handlers_raise(store: objstore.Store) -> None:
    async def main() -> None:
        def fail(change: Any) -> None:
            raise ValueError("mine")

        with store.objects(Dog).changes(initial=False) as changes, store.observe(Dog, fail, initial=False):
            with store.write():
                store.create(Dog, {"id": 1})
            with pytest.raises(ValueError, match="mine"):
                await anext(changes)
            assert (await anext(changes)).insertions == [0]

    run(main)
