"""Words in the lock file that make no sense: an error, and never a signal, a hang, or a store that has lost what was
acknowledged.

Processes of their own write into the memory that all processes share while they have a store open, then use and close
it; the next one opens the store, and must find one of the two contents that were ever committed.
"""

import mmap
import os
import random
import signal
import struct

import pytest

import objstore
from objstore import Model, field

ROUNDS = 50
SECONDS = 60  # only where something hangs


class Item(Model):
    id: int = field(primary_key=True)
    name: str = ""
    count: int = field(default=0, indexed=True)


BEFORE = [(i, f"old {i}", i) for i in range(200)]
AFTER = [
    row if row[0] < 100 else (row[0], f"new {row[0]}", row[0])
    for row in [*BEFORE, *[(i, "", 0) for i in range(200, 300)]]
]


def put(store, rows):
    with store.write():
        store.create_all(Item, [dict(zip(("id", "name", "count"), row)) for row in rows], update="modified")


def scribble(words, chance):
    """Some words of the first page, of those that are used, or a stretch of bytes."""

    def wrong(offset):
        old = struct.unpack_from("<Q", words, offset)[0]
        new = chance.choice(
            [
                chance.getrandbits(64),
                2**64 - 1,
                0,
                old + 1,
                old - 1,
                old ^ (1 << chance.randrange(64)),
                chance.getrandbits(20),
            ]
        )
        words[offset : offset + 8] = struct.pack("<Q", new % 2**64)

    how = chance.randrange(4)
    if how == 3:
        start = chance.randrange(min(len(words), 1 << 16))
        count = min(chance.choice([64, 512, 4096, 65536]), len(words) - start)
        words[start : start + count] = chance.randbytes(count)
        return
    used = range(64, 1600, 8)
    if how == 2:
        used = [offset for offset in range(0, min(len(words), 1 << 17), 8) if words[offset : offset + 8] != bytes(8)]
    for _ in range(1 if how == 0 else chance.randrange(1, 6)):
        wrong(chance.choice(used))


def tells(call, *arguments):
    """What is wrong is an error of the library's."""
    try:
        call(*arguments)
    except objstore.Error:
        return 1
    return 0


def use(path, seed):
    """How many calls were errors."""
    store = objstore.open(path, models=[Item])
    put(store, BEFORE)
    with open(path + "-lock", "r+b") as file, mmap.mmap(file.fileno(), 0) as words:
        scribble(words, random.Random(seed))
    errors = 0
    for _ in range(2):
        errors += tells(put, store, AFTER)
        errors += tells(lambda: [(item.id, item.name) for item in store.objects(Item)])
        for call in (store.refresh, store.checkpoint, store.flush, store.statistics):
            errors += tells(call)
    errors += tells(store.compact)
    return errors + tells(store.close)


def look(path):
    with objstore.open(path, models=[Item]) as store:
        rows = sorted((item.id, item.name, item.count) for item in store.objects(Item))
        store.verify()
    assert rows in (BEFORE, AFTER), f"{len(rows)} objects: {rows[:3]}"


def in_a_process(body, *arguments):
    """What it returned; fails where it ended by a signal."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(SECONDS)
            os.write(writing, f"{body(*arguments)}".encode())
            os._exit(0)
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode()[:4000])
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    assert os.WIFEXITED(status), f"{body.__name__} ended by {signal.Signals(os.WTERMSIG(status)).name}"
    assert os.WEXITSTATUS(status) == 0, text
    return text


def test_words_that_make_no_sense(tmp_path):
    seed = 1
    noticed = 0
    for number in range(ROUNDS):
        path = str(tmp_path / f"{number}.objstore")
        try:
            noticed += int(in_a_process(use, path, seed * 1_000_003 + number)) > 0
            in_a_process(look, path)
        except AssertionError as error:
            pytest.fail(f"seed {seed}, round {number}: {error}")
        os.unlink(path)
    # Of random words many are some that are not read again, or that are set again before.
    assert noticed > ROUNDS // 10


def figures(path, offset):
    """What the statistics say where one word is a mebibyte too high: an error, or what can be."""
    store = objstore.open(path, models=[Item])
    put(store, BEFORE)
    with open(path + "-lock", "r+b") as file, mmap.mmap(file.fileno(), 0) as words:
        words[offset : offset + 8] = struct.pack("<Q", (struct.unpack_from("<Q", words, offset)[0] + (1 << 20)) % 2**64)
    try:
        found = store.statistics()
        assert 0 <= found.log_used_bytes <= found.log_file_bytes, found
    except objstore.Error:
        pass
    os._exit(0)  # closing has a test of its own


@pytest.mark.parametrize("offset", range(512, 576, 8))
def test_statistics_of_words_that_make_no_sense(tmp_path, offset):
    in_a_process(figures, str(tmp_path / "store"), offset)


def observe_and_close(path, offset, word):
    with objstore.open(path, models=[Item]) as store:
        put(store, BEFORE)
        with open(f"{path}-lock", "r+b") as lock, mmap.mmap(lock.fileno(), 0) as words:
            token = store.objects(Item).observe(lambda changes: None)
            store.deliver()
            # The thread that waits for changes sleeps by now, or is about to.
            struct.pack_into("<Q", words, offset, word)
            token.close()
            again = store.objects(Item).observe(lambda changes: None)
            struct.pack_into("<Q", words, offset, word)
            del again


@pytest.mark.parametrize("offset", [256, 264])
@pytest.mark.parametrize("word", [0, 1, 2**64 - 1])
def test_the_count_of_sleepers(tmp_path, offset, word):
    """Closing an observer, and the store, waits for no thread that is never woken."""
    path = tmp_path / "store"
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            observe_and_close(path, offset, word)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


OWNER = 784  # which process writes


def write_meanwhile(path, turn, done):
    os.read(turn, 1)
    with objstore.open(path, models=[Item]) as store:
        status = tells(put, store, AFTER)
        os.write(done, b"x")
        os._exit(status)


@pytest.mark.parametrize("word", [0, 2**64 - 1, 0x123456789ABC])
@pytest.mark.parametrize("durability", ["full", "none"])
def test_two_writers_at_once(tmp_path, word, durability):
    """Others are made to believe that no process writes. One of the two that do then gets an error, and nothing
    acknowledged is lost."""
    path = str(tmp_path / "store")
    objstore.open(path, models=[Item]).close()
    (turn, give), (done, say) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        write_meanwhile(path, turn, say)
    store = objstore.open(path, models=[Item], durability=durability)
    put(store, BEFORE)
    told = 0
    try:
        with store.write():
            store.create_all(Item, [{"id": 1000 + i, "name": "mine"} for i in range(100)])
            with open(path + "-lock", "r+b") as file, mmap.mmap(file.fileno(), 0) as words:
                assert struct.unpack_from("<Q", words, OWNER)[0] not in (0, word)
                struct.pack_into("<Q", words, OWNER, word)
            os.write(give, b"x")
            os.read(done, 1)
    except objstore.Error:
        told = 1
    others = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    tells(store.close)
    for end in (turn, give, done, say):
        os.close(end)
    assert told or others, "both were told that they have written"
    with objstore.open(path, models=[Item]) as store:
        rows = sorted((item.id, item.name, item.count) for item in store.objects(Item) if item.id < 1000)
        mine = store.objects(Item).where(Item.id >= 1000).count()
        store.verify()
    assert others or rows == AFTER
    assert told or mine == 100
