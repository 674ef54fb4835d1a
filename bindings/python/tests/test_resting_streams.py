"""Streams of changes rest, fall behind and come back as tokens do, and writes can leave them out; and streams of one
object and of commits."""

import asyncio
import threading

import pytest

import objstore
from models import Dog, Turtle
from objstore import projected
from test_streams import run


class TurtleView(objstore.Projection[Turtle]):
    number = projected(Turtle._id)


def add(store, *numbers, **silent):
    with store.write(**silent):
        for number in numbers:
            store.create(Turtle, {"_id": number})


STREAMS = {
    "results": lambda store: store.objects(Turtle).changes(initial=False),
    "projections": lambda store: store.objects(TurtleView).changes(initial=False),
    "sections": lambda store: store.objects(Turtle).sections(Turtle.age).changes(initial=False),
}


async def comes_nothing(stream):
    """That it does not: what is due was delivered to a handler behind it."""
    task = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0.02)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_rests_and_goes_on(store, kind):
    async def main():
        with STREAMS[kind](store) as stream:
            assert stream.lag == 0 and not stream.is_closed
            stream.pause()
            stream.pause()
            add(store, 1)
            add(store, 2)
            assert stream.lag == 2
            await comes_nothing(stream)
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            stream.resume()  # also while a task waits
            assert (await waiting).insertion_count == 2 and stream.lag == 0
        assert stream.is_closed
        with pytest.raises(objstore.Closed):
            stream.pause()

    run(main())


@pytest.mark.parametrize("kind", STREAMS)
def test_a_write_leaves_out_a_stream(store, kind):
    async def main():
        with STREAMS[kind](store) as stream, STREAMS[kind](store) as other:
            add(store, 1, without_notifying=[stream])
            await comes_nothing(stream)
            assert (await anext(other)).insertion_count == 1
            add(store, 2)
            assert (await anext(stream)).insertion_count == 1
        with pytest.raises(objstore.Closed), store.write(without_notifying=[stream]):
            pass
        with pytest.raises(objstore.InvalidArgument, match="or a stream"), store.write(without_notifying=[print]):
            pass

    run(main())


def test_at_least_so_long_between_two(store):
    async def main():
        with store.objects(Turtle).changes(initial=False) as stream:
            stream.set_interval(3600)
            add(store, 1)
            assert (await anext(stream)).insertion_count == 1
            add(store, 2)
            await comes_nothing(stream)
            stream.set_interval(0)
            assert (await anext(stream)).insertion_count == 1

    run(main())


@pytest.mark.parametrize("kind", STREAMS)
def test_the_bookmark_of_a_stream_is_of_what_was_taken(store, kind):
    """And not of what another thread has delivered to it, which the program has not seen."""

    def told_since(mark):
        told = []
        with store.objects(Turtle).observe(lambda change: told.append((change.is_lost, change.insertions)), since=mark):
            store.deliver()
        return told

    async def main():
        with STREAMS[kind](store) as stream:
            beginning = stream.bookmark()
            assert told_since(beginning) == []
            add(store, 1)
            assert told_since(stream.bookmark()) == [(False, [0])]  # that delivered to the stream as well
            assert stream._base._arrivals.changes if kind == "projections" else stream._arrivals.changes
            assert stream.bookmark() == beginning and stream.lag == 1
            await anext(stream)
            assert stream.lag == 0 and told_since(stream.bookmark()) == []
            add(store, 2)
            store.deliver()
            add(store, 3)
            assert stream.lag == 2
            store.keep_version("seen", stream.bookmark())
            assert told_since(stream.bookmark()) == [(False, [1, 2])]
            await anext(stream)
            assert told_since(stream.bookmark()) == [(False, [2])]
            store.release_version("seen")
        with pytest.raises(objstore.Closed):
            stream.bookmark()

    run(main())


def test_the_bookmark_of_a_stream_that_is_lost(path):
    async def main():
        with objstore.open(path, models=[Turtle], observer_lag=1) as store:
            with store.objects(Turtle).changes(initial=False) as stream:
                for number in range(4):
                    add(store, number)
                with pytest.raises(objstore.VersionGone):
                    stream.bookmark()
                store.deliver()
                with pytest.raises(objstore.VersionGone):
                    stream.bookmark()
                assert (await anext(stream)).is_lost
                assert stream.bookmark() == store.bookmark()

    run(main())


def test_the_stream_of_one_object(store):
    async def main():
        add(store, 1, 2)
        turtle = store.get(Turtle, 1)
        told = []
        with store.changes_of(turtle, initial=True) as stream, store.changes_of(turtle, ["name"]) as by_name:
            async for change in stream:
                told.append((change.is_initial, change.modification_count, change.deletion_count))
                if change.modification_count:
                    assert change.written(0) == ("age",) and change.modified[0].age == 7
                with store.write():
                    if change.is_initial:
                        turtle.age = 7
                        store.get(Turtle, 2).age = 8
                    elif change.modification_count:
                        store.delete(turtle)
            assert told == [(True, 0, 0), (False, 1, 0), (False, 0, 1)] and stream.is_closed
            assert [(c.deletion_count, c.modification_count) async for c in by_name] == [(1, 0)]
        assert store.statistics().observers == 0
        with pytest.raises(objstore.NoSuchObject):
            store.changes_of(turtle)
        with pytest.raises(objstore.WrongStore):
            store.changes_of(Turtle(_id=9))
        with pytest.raises(objstore.WrongStore):
            store.changes_of(store.get(Turtle, 2).freeze())
        with pytest.raises(objstore.AlreadyInWrite), store.write():
            store.changes_of(store.get(Turtle, 2))

    run(main())


def test_the_stream_of_commits(store):
    async def main():
        beginning, told = store.bookmark(), []
        with store.commits() as stream, store.commits(initial=True) as begun:
            assert (await anext(begun)).is_initial
            add(store, 1)
            with store.write():
                store.create(Dog, {"name": "Rex"})
            async for commits in stream:
                told.append((len(commits.before.objects(Turtle)), len(commits.after.objects(Turtle))))
                if len(told) == 2:
                    break
                assert commits.to_version - commits.from_version == 2
                assert (len(commits.before.objects(Dog)), len(commits.after.objects(Dog))) == (0, 1)
                add(store, 2, 3)
                held, first = commits.after, stream.bookmark()
            assert told == [(0, 1), (1, 3)]
            with pytest.raises(objstore.Closed):
                held.objects(Turtle).count()
            assert len(store.at(stream.bookmark()).objects(Turtle)) == 3 and first != stream.bookmark()
            add(store, 4, without_notifying=[stream])
            await comes_nothing(stream)
        with store.commits(since=beginning) as stream:
            commits = await anext(stream)
            assert len(commits.after.objects(Turtle)) == 4
        with pytest.raises(objstore.AlreadyInWrite), store.write():
            store.commits()

    run(main())


def test_the_stream_of_commits_ends_with_its_store(path):
    async def main():
        store = objstore.open(path, models=[Turtle])
        asyncio.get_running_loop().call_later(0.02, store.close)
        assert [commits async for commits in store.commits()] == []

    run(main())


def test_another_thread_delivers_while_one_looks_at_the_lag(store):
    done = threading.Event()

    def deliver():
        while not done.is_set():
            store.deliver()

    thread = threading.Thread(target=deliver)
    thread.start()
    try:
        with store.objects(Turtle).changes(initial=False) as stream:
            for number in range(40):
                add(store, number)
                assert number + 1 >= stream.lag >= 0
            done.set()
            thread.join()
            assert stream.lag == 40
    finally:
        done.set()
