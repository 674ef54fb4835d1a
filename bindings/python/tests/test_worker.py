"""A thread of the store calls its handlers: open(deliver_on_worker=True)."""

import asyncio
import gc
import os
import queue
import subprocess
import sys
import threading

import pytest

import objstore
from conftest import KENNEL
from models import Dog

PATIENCE = 120.0  # seconds, for a loaded machine
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "worked.objstore"


def opened(path, **options):
    return objstore.open(path, models=KENNEL, deliver_on_worker=True, **options)


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("objstore worker")]


def nobody_works():
    """The threads of stores that are closed end."""
    for thread in workers():
        thread.join(PATIENCE)
    return workers() == []


@pytest.fixture
def shown(monkeypatch):
    """What is shown of exceptions in threads."""
    found = queue.SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", found.put)
    return found


def add(store, name):
    with store.write():
        store.add(Dog(name=name))


def test_nobody_delivers(path):
    told = queue.SimpleQueue()
    with opened(path) as store:
        [worker] = workers()
        assert worker.name == f"objstore worker of {path}" and worker.daemon
        token = store.objects(Dog).observe(
            lambda change: told.put((threading.current_thread(), change.is_initial, list(change.insertions)))
        )
        assert told.get(timeout=PATIENCE) == (worker, True, [])
        for number in range(3):
            add(store, f"dog {number}")
            assert told.get(timeout=PATIENCE) == (worker, False, [number])
        token.close()
        add(store, "nobody hears")
    assert nobody_works() and not worker.is_alive() and told.empty()


def test_others_may_deliver_too(path):
    told = []
    with opened(path) as store:
        token = store.observe(Dog, lambda change: told.append(change.insertion_count), initial=False)
        comes = threading.Event()
        last = store.objects(Dog).where(Dog.name == "last").observe(lambda _: comes.set(), initial=False)
        for number in range(50):
            add(store, f"dog {number}")
            store.deliver()
        add(store, "last")
        assert comes.wait(PATIENCE)
        store.close()
        assert sum(told) in (50, 51)  # the second of two observers may not have been reached
        assert token is not None and last is not None


def test_what_handlers_raise_is_shown(path, shown):
    told = queue.SimpleQueue()

    def tell(change):
        told.put(change.insertion_count)
        raise ValueError("mine")

    with opened(path) as store:
        token = store.observe(Dog, tell, initial=False)
        for _ in range(2):
            add(store, "dog")
            assert told.get(timeout=PATIENCE) == 1  # it goes on
            args = shown.get(timeout=PATIENCE)
            assert args.exc_type is ValueError and args.thread is workers()[0]
            frame = args.exc_traceback
            while frame.tb_next is not None:
                frame = frame.tb_next
            assert frame.tb_frame.f_code is tell.__code__
        token.close()
    assert shown.empty()


def test_closing_inside_of_a_handler(path, shown):
    with opened(path) as store:
        token = store.observe(Dog, lambda _: store.close(), initial=False)
        add(store, "dog")
        assert shown.get(timeout=PATIENCE).exc_type is objstore.InCallback
        assert not store.is_closed and len(store.objects(Dog)) == 1
        token.close()
    assert nobody_works()


def test_closing_waits_for_a_handler(path):
    entered, may_leave, order = threading.Event(), threading.Event(), []

    def tell(_):
        entered.set()
        assert may_leave.wait(PATIENCE)
        order.append("told")

    store = opened(path)
    token = store.observe(Dog, tell, initial=False)
    add(store, "dog")
    assert entered.wait(PATIENCE)
    closing = threading.Thread(target=lambda: (store.close(), order.append("closed")))
    closing.start()
    may_leave.set()
    closing.join(PATIENCE)
    assert order == ["told", "closed"] and token is not None and nobody_works()


def test_a_store_that_is_forgotten(path):
    store = opened(path)
    [worker] = workers()
    with pytest.warns(ResourceWarning, match="never closed"):
        del store
        gc.collect()
    worker.join(PATIENCE)
    assert nobody_works()


def test_two_stores_of_one_file(path):
    told = queue.SimpleQueue()
    with opened(path) as store, opened(path) as other:
        assert len(workers()) == 2
        tokens = [one.observe(Dog, lambda c: told.put(c.insertion_count), initial=False) for one in (store, other)]
        add(other, "dog")
        assert [told.get(timeout=PATIENCE) for _ in range(2)] == [1, 1]
        store.close()
        assert len(workers()) == 1
        add(other, "another")
        assert told.get(timeout=PATIENCE) == 1 and told.empty() and tokens
    assert nobody_works()


def test_another_process_writes(path):
    told = queue.SimpleQueue()
    with opened(path) as store:
        token = store.observe(Dog, lambda c: told.put((c.insertion_count, c.is_from_other_process)), initial=False)
        program = (
            "import sys, objstore\n"
            "from conftest import KENNEL\n"
            "from models import Dog\n"
            "with objstore.open(sys.argv[1], models=KENNEL) as store, store.write():\n"
            "    store.add(Dog(name='far'))\n"
        )
        subprocess.run([sys.executable, "-c", program, path], check=True, env=ENVIRONMENT, timeout=PATIENCE)
        assert told.get(timeout=PATIENCE) == (1, True) and token is not None


def test_streams_and_asynchronous_writes(path):
    async def follow(store):
        told = queue.SimpleQueue()
        token = store.observe(Dog, lambda c: told.put(c.insertion_count), initial=False)
        async for change in store.objects(Dog).changes():
            if change.is_initial:
                await store.write_async(lambda _: store.add(Dog(name="soon")))
                continue
            assert [dog.name for dog in change.inserted] == ["soon"]
            break
        assert await asyncio.to_thread(told.get, True, PATIENCE) == 1
        token.close()

    with opened(path) as store:
        asyncio.run(asyncio.wait_for(follow(store), PATIENCE))
    assert nobody_works()


def test_a_store_that_was_replaced(path, shown):
    store = opened(path)
    token = store.observe(Dog, lambda _: None, initial=False)
    [worker] = workers()
    with objstore.open(path.with_name("other.objstore"), models=KENNEL):
        pass
    os.replace(path.with_name("other.objstore"), path)
    with objstore.open(path, models=KENNEL) as new:
        add(new, "dog")
        args = shown.get(timeout=PATIENCE)
        assert args.exc_type is objstore.Replaced
        worker.join(PATIENCE)
        assert not worker.is_alive() and token is not None
    store.close()


def test_no_more_threads(path, monkeypatch):
    def fail(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(RuntimeError, match="new thread"):
        opened(path)
    with objstore.open(path, models=KENNEL, exclusive=True):
        pass


def test_what_is_no_switch(path):
    with pytest.raises(objstore.InvalidArgument, match="deliver_on_worker is True or False"):
        objstore.open(path, models=KENNEL, deliver_on_worker="no")
    assert not path.exists()  # nothing was begun


def test_an_opening_that_fails(path):
    def fail(_):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        opened(path, initial_data=fail)
    assert nobody_works()


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, ValueError])
def test_each_change_comes_once(path, shown, raised):
    """No signal handler runs on the thread: what is raised there is the handler's own."""
    calls, told = [], queue.SimpleQueue()

    def tell(change):
        calls.append(change.insertion_count)
        raise raised("mine")

    with opened(path) as store:
        token = store.observe(Dog, tell, initial=False)
        last = store.objects(Dog).where(Dog.name == "last").observe(lambda _: told.put(True), initial=False)
        for name in ("first", "last"):
            add(store, name)
        assert told.get(timeout=PATIENCE)
        store.close()
    assert calls in ([1, 1], [2]) and token is not None and last is not None


def test_what_cannot_be_asked(path, shown):
    """A function that raises: it is called again when something was committed, and not all the time."""
    calls = []

    def fragile(size):
        calls.append(size)
        if size == 99:
            raise ZeroDivisionError("mine")
        return True

    with opened(path) as store:
        store.define_function("fragile", fragile, "i64 -> bool")
        told = queue.SimpleQueue()
        token = (
            store.objects(Dog)
            .filter("fragile(age) == true")
            .observe(lambda change: told.put(change.insertion_count), initial=False)
        )
        with store.write():
            dog = store.add(Dog(name="dog", age=99))
        assert shown.get(timeout=PATIENCE).exc_type is ZeroDivisionError
        with pytest.raises(ZeroDivisionError):
            store.deliver()  # who asks himself gets it at once
        tries = len(calls)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                store.wait(timeout=0.05)
        assert tries < len(calls) < tries + 10
        with store.write():
            dog.age = 3
        assert told.get(timeout=PATIENCE) == 1
        assert len(calls) < tries + 20 and token is not None


def test_showing_that_fails(path, monkeypatch):
    told = queue.SimpleQueue()

    def fail(args):
        raise ValueError("of the hook")

    def tell(change):
        told.put(change.insertion_count)
        raise ValueError("mine")

    monkeypatch.setattr(threading, "excepthook", fail)
    monkeypatch.setattr(sys, "excepthook", fail)
    with opened(path) as store:
        token = store.observe(Dog, tell, initial=False)
        for _ in range(3):
            add(store, "dog")
            assert told.get(timeout=PATIENCE) == 1
        token.close()


def test_a_store_that_is_forgotten_behind_an_exception(path, shown):
    store = opened(path)
    [worker] = workers()

    def tell(change, store=store):
        raise ValueError("mine")

    token = store.observe(Dog, tell, initial=False)
    add(store, "dog")
    args = shown.get(timeout=PATIENCE)
    token.close()
    with pytest.warns(ResourceWarning, match="never closed"):
        del args, tell, token, store
        for _ in range(100):
            gc.collect()
            worker.join(0.05)
            if not worker.is_alive():
                break
    assert nobody_works()


def test_in_a_forked_child(path):
    with opened(path) as store:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                store.close()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        told = queue.SimpleQueue()
        token = store.observe(Dog, lambda c: told.put(c.insertion_count), initial=False)
        add(store, "dog")
        assert told.get(timeout=PATIENCE) == 1 and token is not None


ENDS = """
import sys, threading, objstore
from conftest import KENNEL
from models import Dog
has_worker = sys.argv[2] == "worker"
store = objstore.open(sys.argv[1], models=KENNEL, deliver_on_worker=has_worker)
told = threading.Semaphore(0)
token = store.observe(Dog, lambda _: told.release(), initial=False)
def work():
    while True:
        store.wait()
if not has_worker:
    threading.Thread(target=work, daemon=True).start()
with store.write():
    store.add(Dog(name="first"))
told.acquire()
with store.write():
    store.add(Dog(name="last"))
"""


@pytest.mark.parametrize("who", ["worker", "daemon"])
def test_a_program_that_ends_without_closing(path, who):
    """While its handler is called: of a thread that ends inside of the library the store would wait for ever."""
    for _ in range(8):
        command = [sys.executable, "-c", ENDS, path, who]
        done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
    with objstore.open(path, models=KENNEL) as store:
        assert len(store.objects(Dog)) == 16
