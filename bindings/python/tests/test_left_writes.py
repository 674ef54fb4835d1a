"""Writes that nothing can end any more, and functions that would run nothing when they are called."""

import asyncio
import contextlib
import functools
import itertools
import pathlib
import warnings
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import objstore
from objstore import Model, field
from objstore.native import ffi

c_write = ffi.bind("objstore_write")


class Note(Model):
    id: int = field(primary_key=True)
    text: str = ""


def fits(store: objstore.Store) -> bool:
    """Another thread can write at once."""

    def write() -> bool:
        with store.write(timeout=0):
            return True

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(write).result()


def test_ended_on_another_thread(path: pathlib.Path) -> None:
    with objstore.open(path, models=[Note]) as store, ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        stack = contextlib.ExitStack()

        def begin() -> None:
            stack.enter_context(store.write())
            store.create(Note, {"id": 1})

        first.submit(begin).result()
        with pytest.raises(objstore.NotInWrite, match="belongs to another thread or task; it is cancelled"):
            second.submit(stack.close).result()
        assert fits(store) and len(store.objects(Note)) == 0


@pytest.mark.parametrize("how", ["enter", "stack"])
@pytest.mark.parametrize("heir", ["same thread", "other thread", "other handle"])
def test_a_write_without_references(path: pathlib.Path, how: str, heir: str) -> None:
    def begin(store: objstore.Store) -> None:
        write = store.write()
        if how == "enter":
            write.__enter__()
        else:
            contextlib.ExitStack().enter_context(write)
        store.add(Note(id=1))
        note = store.create(Note, {"id": 2})
        note.text = "two"
        assert {note.id for note in store.objects(Note)} == {1, 2}

    def go_on(store: objstore.Store) -> None:
        with store.write(timeout=5):
            store.create(Note, {"id": 3})

    with (
        objstore.open(path, models=[Note]) as store,
        objstore.open(path, models=[Note]) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        begin(store)
        with pytest.warns(ResourceWarning, match="nobody has a transaction any more that was entered without 'with'"):
            if heir == "same thread":
                go_on(store)
            else:
                pool.submit(go_on, store if heir == "other thread" else other).result()
        assert [note.id for note in store.objects(Note)] == [3]


@pytest.mark.parametrize("how", ["suspended", "by hand", "inside"])
def test_a_store_that_is_closed_ends_its_write(path: pathlib.Path, how: str) -> None:
    """Nothing of this thread is in the way of the next one, through another handle of the file."""

    def dependency(store: objstore.Store) -> Iterator[objstore.Transaction]:
        with store.write() as tx:
            yield tx

    def write_again() -> None:
        with objstore.open(path, models=[Note]) as second, second.write(timeout=0):
            second.create(Note, {"id": 2})

    first = objstore.open(path, models=[Note])
    if how == "inside":
        with (
            pytest.raises(objstore.Closed, match="was closed inside of a write, which was cancelled"),
            first.write() as tx,
        ):
            note = first.add(Note(id=1))
            first.close()
            assert not tx.is_open and not note.is_managed
            write_again()
    else:
        generator = dependency(first)
        tx = next(generator) if how == "suspended" else first.write().__enter__()
        first.create(Note, {"id": 1})
        first.close()
        assert not tx.is_open
        write_again()
        with pytest.raises(objstore.Closed):
            if how == "suspended":
                next(generator)
            else:
                tx.__exit__(None, None, None)
    with objstore.open(path, models=[Note]) as store:
        assert [note.id for note in store.objects(Note)] == [2]


@pytest.mark.parametrize("keep", ["variable", "list", "method", "stack"])
def test_a_write_by_hand_that_is_referenced(path: pathlib.Path, keep: str) -> None:
    stack = contextlib.ExitStack()

    def begin(store: objstore.Store) -> Any:
        if keep == "stack":
            stack.enter_context(store.write())
            return None
        write = store.write().__enter__()
        return write if keep == "variable" else [write] if keep == "list" else write.__exit__

    with objstore.open(path, models=[Note]) as store:
        kept = begin(store)
        store.create(Note, {"id": 1})
        assert not fits_after(store)
        if keep == "stack":
            stack.close()
        elif keep == "method":
            kept(None, None, None)
        else:
            (kept if keep == "variable" else kept[0]).__exit__(None, None, None)
        assert len(store.objects(Note)) == 1 and fits(store)


def fits_after(store: objstore.Store) -> bool:
    """As fits(), for a caller that waits so long that it looks for writes that nothing can end."""

    def write() -> bool:
        try:
            with store.write(timeout=0.5):
                return True
        except objstore.Timeout:
            return False

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(write).result()


@pytest.mark.parametrize("how", ["enter", "stack", "plain"])
def test_a_task_that_ends_inside(path: pathlib.Path, how: str) -> None:
    async def program(store: objstore.Store) -> None:
        stack = contextlib.AsyncExitStack()
        transactions: list[objstore.Transaction] = []

        async def job() -> None:
            transactions.append(store.write())
            if how == "enter":
                await transactions[0].__aenter__()
            elif how == "stack":
                await stack.enter_async_context(transactions[0])
            else:
                transactions[0].__enter__()
            store.create(Note, {"id": 1})

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            await asyncio.create_task(job(), name="job")
            await asyncio.sleep(0)
            assert await asyncio.to_thread(fits, store)
        assert ["task 'job' ended inside of a write" in str(warning.message) for warning in told] == [True]
        assert not transactions[0].is_open
        with pytest.raises(objstore.NotInWrite):
            transactions[0].cancel()
        with pytest.raises(objstore.NotInWrite, match="task 'job' ended inside of a write"):
            await (stack.aclose() if how == "stack" else transactions[0].__aexit__(None, None, None))
        async with store.write():
            store.create(Note, {"id": 2})

    with objstore.open(path, models=[Note]) as store:
        asyncio.run(program(store))
        assert fits(store) and [note.id for note in store.objects(Note)] == [2]


def test_the_last_task(path: pathlib.Path) -> None:
    """When the loop is over, too."""

    async def program(store: objstore.Store) -> None:
        await store.write().__aenter__()
        store.create(Note, {"id": 1})

    with objstore.open(path, models=[Note]) as store:
        with pytest.warns(ResourceWarning, match="ended inside of a write"):
            asyncio.run(program(store))
            assert fits(store)
        assert len(store.objects(Note)) == 0


async def coroutine(*_: Any) -> None: ...


def generator(*_: Any) -> Iterator[None]:
    yield


async def generator_of_a_task(*_: Any) -> AsyncIterator[None]:
    yield


class Called:
    async def __call__(self, *_: Any) -> None: ...

    def method(self, *_: Any) -> Iterator[None]:
        yield


FUNCTIONS = [coroutine, generator, generator_of_a_task, Called(), Called().method, functools.partial(coroutine, 1)]
# Whose results would do the work when they are iterated over, or awaited.
LATE: list[Any] = [
    lambda *_: coroutine(),
    lambda *_: generator(),
    lambda *_: generator_of_a_task(),
    lambda *_: (1 / 0 for _ in range(3)),
    lambda *_: map(print, [1]),
    lambda *_: filter(print, [1]),
]
PASSING: list[Any] = [
    lambda *_: zip(map(print, [1])),
    lambda *_: enumerate(map(print, [1])),
    lambda *_: itertools.chain(map(print, [1])),
    lambda *_: itertools.starmap(print, [[1]]),
]


@pytest.mark.parametrize("function", FUNCTIONS + LATE + PASSING, ids=range(len(FUNCTIONS + LATE + PASSING)))
def test_functions_that_run_nothing(path: pathlib.Path, function: Any) -> None:
    class Old(Model):
        __stored_as__ = "Person"
        first: str = ""

    class New(Model):
        __stored_as__ = "Person"
        full: str = ""

    with pytest.raises(objstore.InvalidArgument, match="initial_data"):
        objstore.open(path, models=[Old], initial_data=function)
    assert not path.exists()
    with objstore.open(path, models=[Old]) as store:
        with store.write():
            store.add(Old(first="Ada"))
        if function not in PASSING:
            with pytest.raises(objstore.InvalidArgument, match="the body"):
                store.write(function)
        with pytest.raises(objstore.InvalidArgument, match="a handler"), store.observe(Old, function):
            store.deliver()
        with (
            pytest.raises(objstore.InvalidArgument, match="a handler"),
            store.observe_typed(Old, ["first"], "str -> void", function),
        ):
            store.write(lambda tx: store.add(Old(first="Bea")))
            store.deliver()
    with pytest.raises(objstore.InvalidArgument, match="migrate"):
        objstore.open(path, models=[New], schema_version=2, migrate=function)
    with objstore.open(path, models=[Old]) as store:
        assert [person.first for person in store.objects(Old)] == ["Ada", *["Bea"] * (function not in FUNCTIONS)]


def test_bound_functions_that_run_nothing(path: pathlib.Path) -> None:
    with objstore.open(path, models=[Note]) as store:
        for bind, name in ((store.bind_write_body, "the body"), (store.bind_change_handler, "a handler")):
            for function in FUNCTIONS:
                with pytest.raises(objstore.InvalidArgument, match=name):
                    bind(function)
        for function in LATE + PASSING:
            with store.bind_write_body(function) as bound:
                assert c_write(store.handle, bound.address, None, None) == objstore.Status.CALLBACK
                assert isinstance(bound.exception, objstore.InvalidArgument)


def test_whether_to_compact_is_said_at_once(path: pathlib.Path) -> None:
    decide: Any = lambda *_: (n > 1 for n in range(3))
    with pytest.raises(objstore.InvalidArgument, match="compact returned 'generator'"):
        objstore.open(path, models=[Note], compact=decide)


def test_what_continues_beyond_the_write(path: pathlib.Path) -> None:
    """Loops over what a store has do, and so they may be handed back; a handler's future is worked for elsewhere."""
    with objstore.open(path, models=[Note]) as store:
        store.write(lambda tx: store.create_all(Note, [{"id": n} for n in range(200)]))
        assert len(list(store.write(lambda tx: iter(store.objects(Note))))) == 200
        assert list(store.write(lambda tx: zip(store.objects(Note), range(1)))) == [(store.get(Note, 0), 0)]
        made: list[asyncio.Future[None]] = []

        async def program() -> None:
            def handler(_: object) -> Any:
                made.append(asyncio.get_running_loop().create_future())
                return made[0]

            with store.observe(Note, handler):
                assert store.deliver() == 1

        asyncio.run(program())
        assert len(made) == 1


def test_bodies_of_asynchronous_writes(path: pathlib.Path) -> None:
    """What awaits something is a block."""

    async def program(store: objstore.Store) -> None:
        for submit in (store.write_async, store.submit_write):
            for function in FUNCTIONS:
                with pytest.raises(objstore.InvalidArgument, match="the body is a function, not a"):
                    submit(function)
        with pytest.raises(objstore.InvalidArgument, match="async with store.write_async"):
            store.write_async(coroutine)
        for late in LATE:
            with pytest.raises(objstore.InvalidArgument, match="the body returned"):
                await store.write_async(late)
            with pytest.raises(objstore.InvalidArgument, match="the body returned"):
                store.submit_write(late).result()

    with objstore.open(path, models=[Note]) as store:
        asyncio.run(program(store))
        assert len(store.objects(Note)) == 0 and fits(store)


def test_transactional_functions_that_run_nothing(path: pathlib.Path) -> None:
    with objstore.open(path, models=[Note]) as store:
        for function in (generator, generator_of_a_task, Called().method):
            with pytest.raises(objstore.InvalidArgument, match="a transactional function is a function, not a gen"):
                store.transactional(function)
        for late in LATE[1:]:
            with pytest.raises(objstore.InvalidArgument, match="a transactional function returned"):
                store.transactional(late)()
        assert fits(store)
