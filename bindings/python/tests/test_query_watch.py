"""Who is told how far queries have come, and may end them."""

import os
import signal
import threading

import pytest

import objstore
from objstore import Closed, InCallback, InvalidArgument, Model, asc, desc, field, group


class Row(Model):
    id: int = field(primary_key=True)
    number: int = 0
    name: str = ""
    next: "Row | None" = None


COUNT = 20_000


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("watched") / "rows"
    with objstore.open(path, models=[Row]) as store:
        with store.write():
            store.add_all([Row(id=i, number=i * 7 % 1000, name=f"row {i % 321}") for i in range(COUNT)])
        with store.write():
            for row in store.objects(Row).limit(50):
                row.next = store.get(Row, COUNT - 1 - row.id)
    return path


@pytest.fixture
def store(filled):
    with objstore.open(filled, models=[Row]) as store:
        yield store


class Stopped(Exception):
    pass


def stop(done, total):
    raise Stopped(done, total)


QUESTIONS = {
    "count": lambda rows: rows.where(Row.number < 500).count(),
    "several": lambda rows: rows.where((Row.number < 500) | Row.name.contains("7")).count(),
    "list": lambda rows: [row.id for row in rows.where(Row.name.contains("7"))],
    "first": lambda rows: rows.where(Row.number == -1).first(),
    "sum": lambda rows: rows.where(Row.name.contains("7")).sum(Row.number),
    "sort": lambda rows: [row.id for row in rows.order_by(Row.name, Row.number).limit(5)],
    "sort all": lambda rows: [row.id for row in rows.order_by(asc(Row.number))],
    "distinct": lambda rows: [row.id for row in rows.distinct(Row.number)],
    "link": lambda rows: [row.id for row in rows.where(Row.next.name.contains("7"), Row.name.contains("1"))],
    "paths": lambda rows: [row.id for row in rows.where(Row.next.number + Row.number == 999)],
    "limit, then": lambda rows: [row.id for row in rows.limit(15_000).where(Row.next.number + 1 > Row.number)],
    "groups": lambda rows: list(rows.group_by(Row.name).select(Row.name, group.count)),
    "table": lambda rows: list(rows.where(Row.number < 500).select(Row.id, Row.name)),
    "sections": lambda rows: [(s.key, len(s)) for s in rows.sections(Row.name)],
    "explain": lambda rows: rows.where(Row.name.contains("7")).explain(run=True).found,
    "text": lambda rows: [row.id for row in rows.filter("name CONTAINS '7' SORT(number DESC)")],
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_told_and_ended(store, name):
    ask, rows = QUESTIONS[name], store.objects(Row)
    wanted = ask(rows)
    told = []
    store.watch_queries(lambda done, total: told.append((done, total)), interval=0)
    with store.write():  # nothing is remembered of before
        assert ask(rows) == wanted
    assert told and all(total == COUNT for _, total in told)
    assert [done for done, _ in told] == sorted(done for done, _ in told) or name in ("sections", "explain")
    store.watch_queries(stop, interval=0)
    with store.write(), pytest.raises(Stopped):
        ask(rows)
    store.watch_queries(None)
    assert ask(rows) == wanted


def test_ends_where_it_wants(store):
    seen = []

    def watch(done, total):
        seen.append(done)
        if len(seen) == 3:
            raise Stopped

    store.watch_queries(watch, interval=0)
    with pytest.raises(Stopped):
        store.objects(Row).where(Row.name.contains("7")).count()
    assert len(seen) == 3 and 0 < seen[0] < seen[1] < seen[2] < COUNT


SORTS = {
    "by few values": lambda rows: [row.id for row in rows.order_by(asc(Row.number))],
    "by numbers": lambda rows: [row.id for row in rows.order_by(desc(Row.id))],
    "by texts": lambda rows: [row.id for row in rows.order_by(asc(Row.name), desc(Row.number))],
    "by folded texts": lambda rows: [row.id for row in rows.filter("SORT(name[c] DESC)")],
    "the first": lambda rows: [row.id for row in rows.filter("SORT(name[c] DESC) LIMIT(5)")],
    "groups": lambda rows: list(rows.table("GROUP(id) HAVING(@max.number >= 0) SORT(@max.number DESC, id DESC)")),
}


@pytest.mark.parametrize("name", SORTS)
def test_ended_inside_the_sorting(store, name):
    """Behind the last object and the last value that are read: wherever it is told."""
    ask, rows, told = SORTS[name], store.objects(Row), []
    wanted = ask(rows)
    store.watch_queries(lambda done, total: told.append(done), interval=0)
    with store.write():
        assert ask(rows) == wanted
    leaves = -(-COUNT // 4096)
    # A list is made and read once, groups are read as they are found.
    read = told.index(max(told)) + 1 + (0 if name == "groups" else leaves)
    assert len(told) > read + 1
    for last in {read + 1, (read + len(told)) // 2, len(told)}:
        left = [last]

        def stops(done, total):
            left[0] -= 1
            if left[0] == 0:
                raise Stopped

        store.watch_queries(stops, interval=0)
        with store.write(), pytest.raises(Stopped):
            ask(rows)
        assert left == [0]
    store.watch_queries(None)
    assert ask(rows) == wanted


def test_short_queries_are_not_told(store):
    store.watch_queries(stop, interval=60)
    assert store.objects(Row).where(Row.number == 7).count() == COUNT / 1000
    store.watch_queries(stop)
    assert store.objects(Row).where(Row.id == 7).count() == 1


def test_a_write_goes_on(store):
    rows = store.objects(Row)
    with store.write() as tx:
        store.watch_queries(stop, interval=0)
        for change in (lambda rows: rows.update(number=1), lambda rows: rows.delete()):
            with pytest.raises(Stopped):
                change(rows.where(Row.name.contains("7")))
        store.watch_queries(None)
        assert rows.where(Row.number == 1).count() == COUNT / 1000
        assert rows.count() == COUNT
        assert rows.where(Row.name == "row 7").update(number=-5) == rows.where(Row.number == -5).count() > 0
        tx.cancel()
    assert rows.where(Row.number == -5).count() == 0


def test_an_interrupt_ends_a_query(store):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background has not

    def interrupted(done, total):
        os.kill(os.getpid(), signal.SIGINT)

    store.watch_queries(interrupted, interval=0)
    try:
        with pytest.raises(KeyboardInterrupt):
            store.objects(Row).where(Row.name.contains("7")).count()
    finally:
        signal.signal(signal.SIGINT, before)
    store.watch_queries(None)
    assert store.objects(Row).count() == COUNT


def test_it_must_not_use_the_store(store):
    found = []

    def uses(done, total):
        for use in (lambda: store.objects(Row).count(), lambda: store.watch_queries(None), store.close):
            with pytest.raises(InCallback):
                use()
            found.append(use)

    store.watch_queries(uses, interval=0)
    assert store.objects(Row).where(Row.number == 7).count() == COUNT / 1000
    assert len(found) >= 3
    store.watch_queries(None)
    assert store.objects(Row).count() == COUNT


def test_replaced_and_wrong(store):
    first, second = [], []
    store.watch_queries(lambda *now: first.append(now), interval=0)
    store.watch_queries(lambda *now: second.append(now), interval=0)
    store.objects(Row).where(Row.number == 7).count()
    assert not first and second
    for wrong in (-1, "1", None, float("inf"), float("nan")):
        with pytest.raises(InvalidArgument):
            store.watch_queries(stop, interval=wrong)
    for wrong in (3, "stop"):
        with pytest.raises(InvalidArgument):
            store.watch_queries(wrong)
    count = len(second)
    store.objects(Row).where(Row.number == 7).count()
    assert len(second) > count  # what was refused has changed nothing
    store.close()
    with pytest.raises(Closed):
        store.watch_queries(stop)


def test_other_stores_are_not_told(store, tmp_path):
    told = []
    store.watch_queries(lambda *now: told.append(now), interval=0)
    with objstore.open(tmp_path / "other", models=[Row]) as other:
        with other.write():
            other.add_all([Row(id=i) for i in range(5000)])
        assert other.objects(Row).where(Row.number == 0).count() == 5000
    assert not told


def test_threads(store):
    ended = []

    def watch(done, total):
        if threading.current_thread().name == "stopped":
            raise Stopped

    def ask():
        try:
            for _ in range(20):
                count = store.objects(Row).where(Row.name.contains("7")).count()
                ended.append(count)
        except Stopped:
            ended.append("stopped")

    wanted = store.objects(Row).where(Row.name.contains("7")).count()
    store.watch_queries(watch, interval=0)
    threads = [threading.Thread(target=ask, name=name) for name in ("stopped", "one", "two", "stopped")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended.count("stopped") == 2 and ended.count(wanted) == 40


class Other(Model):
    id: int = field(primary_key=True)
    text: str = ""


@pytest.fixture
def other(tmp_path):
    with objstore.open(tmp_path / "other", models=[Other]) as other:
        with other.write():
            other.add_all([Other(id=i, text=f"x{i}") for i in range(9000)])
        yield other


@pytest.mark.parametrize("in_write", [False, True])
def test_what_functions_ask_is_another_query(store, other, in_write):
    """Of another store, which nobody watches: neither told of it, nor ended by it."""
    inside, told, found = [], [], []

    def asks(x):
        if len(inside) < 3:
            inside.append(True)
            found.append(other.objects(Other).where(Other.text.contains("7")).count())
            inside.append(False)
        return x

    def watch(done, total):
        told.append((done, total))
        assert not inside or not inside[-1]

    store.define_function("asks", asks, "i64 -> i64")
    store.watch_queries(watch, interval=0)
    wanted = other.objects(Other).where(Other.text.contains("7")).count()

    def ask():
        return store.objects(Row).filter("asks(number) == 5").count()

    if in_write:
        with store.write():
            assert ask() == COUNT / 1000
            store.add(Row(id=-1, number=5))
            assert store.objects(Row).count() == COUNT + 1
            assert ask() == COUNT / 1000 + 1
            store.delete(store.get(Row, -1))
    else:
        assert ask() == COUNT / 1000
    assert found and set(found) == {wanted} and told and all(done <= total for done, total in told)


def test_a_stream_ends_with_its_error(store):
    pyarrow = pytest.importorskip("pyarrow")
    told = []

    def watch(done, total):
        told.append(done)
        if len(told) == 3:
            raise Stopped("enough")

    reader = pyarrow.RecordBatchReader.from_stream(store.objects(Row).where(Row.number >= 0))
    store.watch_queries(watch, interval=0)
    for _ in range(2):
        with pytest.raises(OSError, match="Stopped: enough"):
            reader.read_next_batch()
    store.watch_queries(None)
    with pytest.raises(OSError, match="Stopped: enough"):
        reader.read_next_batch()
    assert pyarrow.table(store.objects(Row)).num_rows == COUNT
