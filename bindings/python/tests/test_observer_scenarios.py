"""A43 to A61 again, with observers of every kind that watch through another handle of the file: what each one's copy
has become by its change sets is what is there. And the same machinery behind `for` and `async for`: loops over live
results, projections and collections, in threads, tasks and processes."""

import asyncio
import os
import random
import subprocess
import sys
import threading

import pytest

import objstore
from observed_kennel import Hound, HoundView, Keeper, Kennel, Luke, Node, change_something, entries, line, view

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def kennel(tmp_path):
    made = Kennel(tmp_path)
    yield made
    made.close()


def test_a43_a50_append_asynchronously(kennel):
    store = kennel.store

    async def main():
        keeper, dogs = kennel.keeper, [("Ben", 13), ("Lita", 9), ("Maui", 1)]
        await store.write_async(lambda tx: keeper.dogs.extend(Hound(name=name, age=age) for name, age in dogs))
        assert kennel.follow("A43") > 8 and kennel.written == [("dogs",)]
        future = store.submit_write(lambda tx: setattr(keeper.dogs[1], "keeper", keeper))
        assert store.is_writing_async
        future.result()
        assert kennel.follow("A50") >= 2

    asyncio.run(main())
    with store.write():
        kennel.keeper.dogs.extend([Hound(name="Ben", age=13), Hound(name="Lita", age=9)])
    assert kennel.follow("A43, synchronously") > 8
    assert [dog.name for dog in kennel.keeper.dogs] == ["Rex", "Ben", "Lita", "Maui", "Ben", "Lita"]


def test_a44_a45_a46_find_and_copy(kennel):
    store = kennel.store
    with store.write():
        luke = store.add(Luke(name="Luke"))
    assert kennel.follow("A44") == 1
    assert store.get(Luke, luke.id).name == "Luke" and store.get(Luke, objstore.ObjectId()) is None
    kennel.commits.clear()
    copy = kennel.keeper.detach()
    copy.name = "another"
    copy.dogs.append(Hound(name="none"))
    copy.numbers.clear()
    assert kennel.follow("A45") == 0 and kennel.commits == [] and len(kennel.keeper.numbers) == 3
    with store.write():
        kennel.keeper.numbers.clear()
        kennel.keeper.notes.clear()
        kennel.keeper.extra["seen"].clear()
        del kennel.keeper.extra["by"]["first"]
    assert kennel.follow("A46") >= 4


def test_a47_a48_a49_copies_to_another(kennel, tmp_path):
    (tmp_path / "other").mkdir()
    other = Kennel(tmp_path / "other")
    with kennel.store.write():
        wolfie = kennel.store.add(Hound(name="Wolfie", age=1))
    kennel.follow("A47")
    with other.store.write():
        other.store.copy(wolfie).age = 2
    assert other.follow("A47, the other") > 0 and kennel.follow("A47, later") == 0 and wolfie.age == 1
    for each, name in ((kennel, "Ann"), (other, "Bob")):
        with each.store.write():
            each.store.add(Keeper(id=2, name=name))
        each.follow("A48")
    ann = kennel.store.get(Keeper, 2)
    with pytest.raises(objstore.DuplicateKey), other.store.write():
        other.store.copy(ann)
    assert other.follow("A48, refused") == 0
    with other.store.write():
        assert other.store.copy(ann, update="modified") == other.store.get(Keeper, 2)
    assert other.follow("A48, modified") == 1
    circle: dict[str, object] = {"name": "a"}
    circle["next"] = {"name": "b", "next": circle}
    with pytest.raises(objstore.Error), kennel.store.write():
        kennel.store.create(Node, circle)
    assert kennel.follow("A49") == 0
    with kennel.store.write():
        a = kennel.store.add(Node(name="a"))
        a.next = Node(name="b", next=a)
    assert kennel.follow("A49, a circle of objects") == 1
    with pytest.raises(objstore.Error, match="cyclic"), other.store.write():
        other.store.copy(a)
    assert other.follow("A49, the other") == 0
    other.close()


def test_a51_to_a54_begun_and_cancelled(kennel):
    store = kennel.store

    async def main():
        async with store.write_async() as tx:
            store.add(Hound(name="lost"))
            tx.cancel()
        assert kennel.follow("A51") == 0
        async with store.write_async():
            store.add(Hound(name="kept"))
        assert kennel.follow("A52") > 0
        with store.write():
            task = asyncio.ensure_future(store.write_async(lambda tx: tx.store.add(Hound(name="never"))))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert kennel.follow("A53") == 0

    asyncio.run(main())
    future = store.submit_write(lambda tx: store.add(Hound(name="at once")))
    assert future.cancel() and kennel.follow("A54") == 0
    assert [dog.name for dog in store.objects(Hound)] == ["Rex", "kept"]


def test_a55_a56_many_small_ones(kennel):
    store = kennel.store

    async def main():
        writes = [
            store.write_async(
                lambda tx, n=number: store.add(Hound(name=f"dog {n}", age=n % 17)) and None,
                allow_grouping=number % 2 == 0,
            )
            for number in range(200)
        ]
        running = asyncio.gather(*writes)
        while not running.done():
            kennel.watching.refresh()
            await asyncio.sleep(0)
        await running

    asyncio.run(main())
    kennel.follow("A55")
    assert len(kennel.watching.objects(Hound)) == 201
    for number in range(20):
        store.submit_write(lambda tx, n=number: store.add(Hound(name=f"last {n}")) and None)
    store.close()
    kennel.follow("A56")
    assert len(kennel.watching.objects(Hound)) == 221


def test_a57_a58_a61_while_another_writes(kennel):
    store, holds, may_end = kennel.store, threading.Event(), threading.Event()

    def hold():
        with store.write():
            holds.set()
            may_end.wait()

    async def main():
        thread = threading.Thread(target=hold)
        thread.start()
        holds.wait()
        task = asyncio.ensure_future(store.write_async(lambda tx: store.add(Luke(name="Frodo"))))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not task.done() and kennel.follow("A61, meanwhile") == 0
        may_end.set()
        assert (await task).name == "Frodo"
        thread.join()
        assert kennel.follow("A57") == 1

    asyncio.run(main())


def test_a59_a60_positions_and_silence(kennel):
    store = kennel.store
    with store.write():
        store.add_all([Hound(name=name, age=age) for name, age in (("A", 1), ("B", 2), ("C", 3), ("D", 3))])
    kennel.follow("four more")
    dogs = store.objects(Hound)
    with store.write():
        store.delete(dogs[1])
        store.add(Hound(name="E", age=20))
        dogs[2].age = 0
    kennel.follow("A59")
    told, positions = [], {}

    def telling(name):
        def tell(change):
            told.append(name)
            positions[name] = change.deletions, change.insertions, change.modifications

        return tell

    silent = dogs.observe(telling("silent"), initial=False)
    heard = dogs.observe(telling("heard"), initial=False)
    with store.write(without_notifying=[silent]):
        store.delete(dogs[0])
    store.refresh()
    assert told == ["heard"] and kennel.follow("A60") > 0
    with store.write():
        store.add(Hound(name="F"))
    store.refresh()
    assert sorted(told) == ["heard", "heard", "silent"]
    assert positions["silent"] == positions["heard"] == ([], [4], []), "the later change alone"
    kennel.follow("A60, later")
    silent.close()
    heard.close()


@pytest.mark.parametrize("seed", range(2))
def test_at_random(kennel, seed):
    chance = random.Random(seed)
    for step in range(50):
        change_something(kennel.store, chance, step)
        if chance.randrange(3) == 0:
            kennel.follow(f"step {step}")
    kennel.follow("the end")
    quiet = {copy.name for copy in kennel.copies if copy.told < 3}
    assert quiet == {"lukes", "nodes"}, "nothing is written in these"


def test_a_for_over_what_is_live(kennel):
    """Each loop shows what is there when it begins, whichever handle, thread or process wrote it."""
    store, watching = kennel.store, kennel.watching
    dogs, views, keeper = watching.objects(Hound), watching.objects(HoundView), watching.get(Keeper, 1)
    chance = random.Random(5)
    for step in range(20):
        thread = threading.Thread(target=change_something, args=(store, chance, step))
        thread.start()
        thread.join()
        mine = store.get(Keeper, 1)
        assert [line(dog) for dog in dogs] == [line(dog) for dog in store.objects(Hound)]
        assert [view(each) for each in views] == [view(each) for each in store.objects(HoundView)]
        assert list(keeper.words) == list(mine.words) and set(keeper.numbers) == set(mine.numbers)
        assert dict(keeper.notes) == dict(mine.notes) and keeper.name == mine.name
        assert [line(dog) for dog in keeper.dogs] == [line(dog) for dog in mine.dogs]
    loop = iter(dogs)  # one that has begun goes on over what it began with
    began = len(dogs)
    with store.write():
        store.add(Hound(name="late"))
    assert len(list(loop)) == began and len(dogs) == began + 1


WRITER = """
import random, sys, objstore
from observed_kennel import MODELS, change_something
chance = random.Random(int(sys.argv[2]))
with objstore.open(sys.argv[1], models=MODELS) as store:
    for step in range(60):
        change_something(store, chance, step)
    with store.write():
        store.objects(MODELS[1]).update(name="the end")
        store.get(MODELS[0], 1).words.append("the end")
        store.get(MODELS[0], 1).notes["the end"] = ""
"""


def test_everything_follows_another_process(kennel):
    """Every kind of observer of the kennel, while another process writes: at its end all copies are what is there, also
    of sections, sets, tables, groups and plain values."""
    arguments, told = [sys.executable, "-c", WRITER, str(kennel.path), "7"], 0
    with subprocess.Popen(arguments, env=ENVIRONMENT) as writer:
        while writer.poll() is None:
            told += kennel.watching.wait(timeout=0.02)
    assert writer.returncode == 0
    kennel.follow("another process")
    assert told > 2 * len(kennel.copies)
    assert "the end" in next(copy.lines for copy in kennel.copies if copy.name == "some words")


def test_async_for_over_everything(kennel):
    """Another process writes; loops in tasks follow results, projections, and a list and a dict, each by itself."""
    watching = kennel.watching
    keeper = watching.get(Keeper, 1)

    async def follow(stream, read, is_over):
        lines, told = None, 0
        async for change in stream:
            told += 1
            if change.is_initial:
                lines = read(change.after)
            else:
                after = read(change.after)
                for at in reversed(change.deletions):
                    del lines[at]
                for at in change.insertions:
                    lines.insert(at, after[at])
                for at in change.modifications_after:
                    lines[at] = after[at]
                assert lines == after
            if is_over(lines):
                stream.close()
                return told
        return told

    async def main():
        dogs = watching.objects(Hound).order_by(Hound.name, Hound.age)
        views = watching.objects(HoundView)
        following = asyncio.gather(
            follow(
                dogs.changes(),
                lambda source: [line(dog) for dog in source.objects(Hound).order_by(Hound.name, Hound.age)],
                lambda lines: lines and all(each.startswith("the end") for each in lines),
            ),
            follow(
                views.changes(),
                lambda source: [view(dog) for dog in source.objects(HoundView)],
                lambda lines: lines and all(each.startswith("the end") for each in lines),
            ),
            follow(
                keeper.words.changes(),
                lambda source: list(source.get(Keeper, 1).words),
                lambda lines: "the end" in lines,
            ),
            follow(
                keeper.notes.changes(),
                lambda source: entries(source.get(Keeper, 1).notes),
                lambda lines: "the end " in lines,
            ),
        )
        writer = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(kennel.path), "7", env=ENVIRONMENT
        )
        told = await asyncio.wait_for(following, 120)
        assert await writer.wait() == 0 and min(told) >= 2

    asyncio.run(main())
    kennel.follow("another process")


def test_threads_with_a_loop_each(kennel):
    """Each thread has its own loop, and its own observer of the same results."""
    dogs = kennel.watching.objects(Hound).order_by(Hound.name)
    began, results = threading.Barrier(4), {}

    async def follow(number):
        names = []
        with dogs.changes() as stream:
            began.wait(60)
            async for change in stream:
                if change.is_initial:
                    names = [dog.name for dog in change.after.objects(Hound).order_by(Hound.name)]
                else:
                    come = iter(change.inserted)
                    for at in change.insertions:
                        names.insert(at, next(come).name)
                if "z" in names:
                    break
        results[number] = names

    threads = [threading.Thread(target=lambda n=number: asyncio.run(follow(n))) for number in range(3)]
    for thread in threads:
        thread.start()
    began.wait(60)
    for name in "cbaz":
        with kennel.store.write():
            kennel.store.add(Hound(name=name))
    for thread in threads:
        thread.join(120)
    assert results == {number: ["Rex", "a", "b", "c", "z"] for number in range(3)}


def test_another_process_and_one_table(kennel):
    """A live table follows another process, by change sets."""
    table = kennel.watching.objects(Hound).order_by(Hound.name).live([Hound.name], rows=4)
    subprocess.run([sys.executable, "-c", WRITER, str(kennel.path), "11"], check=True, env=ENVIRONMENT, timeout=120)
    assert table.update()
    count = len(kennel.watching.objects(Hound))
    assert table._repr_html_().count("<td>the end</td>") == min(4, count) and table._content.count == count
    table.close()
