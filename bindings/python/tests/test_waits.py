"""Signals, and close(), while a call of the library waits for another process's write."""

import signal
import subprocess
import sys
import threading

import pytest

import objstore
from objstore import Model, field
from test_processes import ENVIRONMENT


class Item(Model):
    id: int = field(primary_key=True)


class Later(Model):
    id: int = field(primary_key=True)


HOLDER = """
import sys
import objstore
class Item(objstore.Model):
    id: int = objstore.field(primary_key=True)
with objstore.open(sys.argv[1], models=[Item]) as store, store.write():
    store.add(Item(id=1))
    print("in", flush=True)
    sys.stdin.read()
"""


class Told(Exception):
    pass


@pytest.fixture
def held(tmp_path):
    """The path of a store in which another process writes until the test is over."""
    path = str(tmp_path / "store")
    objstore.open(path, models=[Item]).close()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as holder:
        assert holder.stdout.readline() == "in\n"
        try:
            yield path
            assert holder.poll() is None  # it was there all the time
        finally:
            holder.communicate("")
    with objstore.open(path, models=[Item]) as store:
        assert [item.id for item in store.objects(Item)] == [1]


@pytest.fixture
def alarm():
    """After some time the handler of a signal raises Told."""

    def told(*_):
        raise Told

    before = signal.signal(signal.SIGALRM, told)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_signal_ends_the_wait_of_open(held, alarm):
    filled = []
    for _ in range(3):
        alarm()
        with pytest.raises(Told):
            objstore.open(held, models=[Item, Later], schema_version=2, migrate=lambda *_: filled.append(1))
    assert not filled


@pytest.mark.parametrize("call", ["checkpoint", "compact", "verify"])
def test_a_signal_ends_the_wait(held, alarm, call):
    with objstore.open(held, models=[Item]) as store:
        for _ in range(3):
            alarm()
            with pytest.raises(Told):
                getattr(store, call)()


@pytest.mark.parametrize("call", ["checkpoint", "compact", "verify"])
def test_closing_ends_the_wait(held, call):
    store, raised = objstore.open(held, models=[Item]), []

    def run():
        try:
            getattr(store, call)()
        except objstore.Error as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(0.3)  # in the wait, as a rule
    store.close()
    thread.join()
    assert isinstance(raised[0], objstore.Closed)
