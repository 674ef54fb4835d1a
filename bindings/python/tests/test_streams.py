"""Observing in asyncio."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

import objstore
from conftest import KENNEL
from models import Dog, Turtle
from test_observing import WRITER
from test_processes import ENVIRONMENT


def run(coroutine, timeout=60):
    async def limited():
        return await asyncio.wait_for(coroutine, timeout)

    return asyncio.run(limited())


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_changes_one_after_the_other(store):
    async def main():
        seen = []
        with store.objects(Turtle).changes() as changes:
            async for change in changes:
                seen.append((change.is_initial, change.insertions, [t._id for t in change.inserted]))
                if len(seen) == 4:
                    break
                with store.write():
                    store.create(Turtle, [len(seen)])
        return seen

    assert run(main()) == [(True, [], []), (False, [0], [1]), (False, [1], [2]), (False, [2], [3])]
    assert store.statistics().observers == 0


def test_commits_are_put_together_while_no_task_waits(store):
    async def main():
        changes = store.objects(Turtle).changes(initial=False)
        for i in range(10):
            with store.write():
                store.create(Turtle, [i])
            await asyncio.sleep(0)
        change = await anext(changes)
        assert change.insertions == list(range(10))
        held = change.inserted[3]
        assert held._id == 3
        waiting = asyncio.create_task(anext(changes))
        await asyncio.sleep(0)
        with pytest.raises(objstore.Closed):
            held._id
        with store.write():
            store.delete(store.get(Turtle, 3))
        later = await waiting
        assert (later.deletions, [t._id for t in later.deleted]) == ([3], [3])
        changes.close()
        with pytest.raises(StopAsyncIteration):
            await anext(changes)

    run(main())


def test_two_streams_handlers_and_keys(store):
    async def main():
        with store.write():
            store.create(Turtle, [1])
        turtles, log = store.objects(Turtle), []
        by_name = turtles.changes(keys=["name"], initial=False)
        by_age = turtles.changes(keys=[Turtle.age], initial=False)
        token = turtles.observe(lambda c: log.append(c.modifications), initial=False)
        tasks = [asyncio.create_task(anext(s)) for s in (by_name, by_age)]
        while by_name._arrivals.waiter is None or by_age._arrivals.waiter is None:
            await asyncio.sleep(0)
        with store.write():
            store.get(Turtle, 1).name = "x"
        assert (await tasks[0]).written(0) == ("name",)
        assert not tasks[1].done() and log == [[0]]
        with store.write():
            store.get(Turtle, 1).age = 5
        assert (await tasks[1]).written(0) == ("age",)
        with pytest.raises(RuntimeError, match="another task"):
            await asyncio.gather(anext(by_age), anext(by_age))
        for each in (by_name, by_age, token):
            each.close()

    run(main())


def test_no_thread_and_no_descriptor_is_left(store):
    async def main():
        before, threads = descriptors(), threading.active_count()
        for _ in range(20):
            async for change in store.objects(Turtle).changes():
                assert change.is_initial
                break
            with store.write():
                store.create(Turtle, {"_id": store.objects(Turtle).count()})
        del change
        gc.collect()
        assert threading.active_count() == threads
        # The library keeps one descriptor for the store.
        assert descriptors() <= before + 1
        assert store.statistics().observers == 1

    with store.objects(Turtle).observe(lambda change: None, initial=False):
        run(main())


def test_cancelling(store):
    async def main():
        changes = store.objects(Turtle).changes(initial=False)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(changes), 0.05)
        with store.write():
            store.create(Turtle, [1])
        assert (await anext(changes)).insertions == [0]
        changes.close()

    run(main())


def test_delivered_by_another_thread(store):
    async def main():
        stop = threading.Event()

        def deliver():
            while not stop.is_set():
                store.wait(0.02)

        thread = threading.Thread(target=deliver)
        thread.start()
        try:
            total, changes = 0, store.objects(Turtle).changes(initial=False)
            for i in range(100):
                with store.write():
                    store.create(Turtle, [i])
                change = await anext(changes)
                total += change.insertion_count
                assert change.inserted[0]._id == i
            assert total == 100
            changes.close()
        finally:
            stop.set()
            thread.join(30)

    run(main())


def test_failures_of_other_handlers_go_to_the_loop(store):
    async def main():
        contexts = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: contexts.append(context["exception"]))
        error = ValueError("mine")

        def fail(change):
            raise error

        with store.objects(Dog).observe(fail), store.objects(Turtle).changes() as changes:
            async for change in changes:
                if not change.is_initial:
                    break
                with store.write():
                    store.create(Turtle, [1])
        assert contexts == [error]

    run(main())


def test_closing_the_store_ends_the_loop(path):
    async def main():
        store = objstore.open(path, models=KENNEL)
        asyncio.get_running_loop().call_later(0.05, store.close)
        count = 0
        async for change in store.objects(Turtle).changes():
            count += 1
        assert count == 1 and store.is_closed

    before = descriptors()
    run(main())
    gc.collect()
    assert descriptors() <= before


def test_closing_a_stream_that_is_waited_for(store):
    async def main():
        for close in (lambda stream: stream.close(), lambda stream: threading.Thread(target=stream.close).start()):
            changes = store.objects(Turtle).changes(initial=False)
            waited = []

            def close_it(changes=changes, close=close, waited=waited):
                waited.append(changes._arrivals.waiter is not None)
                close(changes)

            asyncio.get_running_loop().call_soon(close_it)  # when the loop below has nothing to do
            assert [c async for c in changes] == [] and waited == [True]

    run(main())


def test_another_process(store, path):
    async def main():
        found = set()
        child = subprocess.Popen([sys.executable, "-c", WRITER, str(path), "5"], env=ENVIRONMENT)
        with store.objects(Turtle).changes(initial=False) as changes:
            async for change in changes:
                assert change.is_from_other_process
                found.update(t._id for t in change.inserted)
                if len(found) == 50:
                    break
        assert child.wait(60) == 0 and found == {1000 + i for i in range(50)}

    run(main())


def test_the_descriptor_in_a_loop_of_ones_own(store):
    """What the manual says for handlers in asyncio."""

    async def main():
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        with store.objects(Turtle).observe(lambda change: done.set()):
            loop.add_reader(store.notify_fd, store.deliver)
            with store.write():
                store.create(Turtle, [1])
            await done.wait()
            loop.remove_reader(store.notify_fd)

    run(main())


def test_it_ends_with_the_owner_of_what_is_observed(path):
    class Puppy(objstore.Model):
        name: str

    class Kennel(objstore.Model):
        name: str = objstore.field(primary_key=True)
        tags: list[str]
        notes: dict[str, str]
        dogs: list[Puppy]
        extra: Any = objstore.field(default_factory=list)

    async def main():
        with objstore.open(path, models=[Kennel, Puppy]) as store:
            with store.write():
                kennel = store.add(
                    Kennel(name="North", tags=["a"], notes={"b": "c"}, dogs=[Puppy(name="Rex")], extra=[1])
                )
            streams = [each.changes(initial=False) for each in (kennel.tags, kennel.notes, kennel.dogs, kennel.extra)]

            async def last(stream):
                return [(change.is_owner_deleted, change.deletion_count) async for change in stream]

            tasks = [asyncio.create_task(last(stream)) for stream in streams]
            while not all(stream._arrivals.is_awaited for stream in streams):
                await asyncio.sleep(0)
            with store.write():
                store.delete(kennel)
            assert await asyncio.gather(*tasks) == [[(True, 1)]] * 4
            assert all(stream._token.is_closed for stream in streams) and store.statistics().observers == 0

    run(main())


def test_a_loop_that_was_closed_around_a_task_disturbs_nobody(store):
    told = []
    loop, stream = asyncio.new_event_loop(), store.objects(Turtle).changes(initial=False)
    task = loop.create_task(anext(stream))
    loop.run_until_complete(asyncio.sleep(0))
    assert stream._arrivals.is_awaited
    loop.close()
    with store.objects(Turtle).observe(lambda change: told.append(change.insertions), initial=False):
        with store.write():
            store.create(Turtle, [1])
        assert store.deliver() == 2 and told == [[0]]
        # Another loop goes on where that one was.
        assert run(anext(stream)).insertions == [0]
        with store.write():
            store.create(Turtle, [2])
        assert run(anext(stream)).insertions == [1]
    task._log_destroy_pending = False
    del task
    gc.collect()
    stream.close()
    assert store.statistics().observers == 0

    left = asyncio.new_event_loop()
    stream = store.objects(Turtle).changes(initial=False)
    task = left.create_task(anext(stream))
    left.run_until_complete(asyncio.sleep(0))
    left.close()
    stream.close()
    assert stream._token.is_closed and store.statistics().observers == 0
    task._log_destroy_pending = False


def test_without_a_loop(store):
    with store.objects(Turtle).changes() as stream, pytest.raises(objstore.InvalidArgument, match="asyncio or trio"):
        stream.__anext__().send(None)
