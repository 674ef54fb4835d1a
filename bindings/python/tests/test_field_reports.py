"""What programs do, and was not thought of at first."""

from __future__ import annotations

import copy
import enum
import json
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import types
import typing
import warnings
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import objstore
from objstore import Backlinks, backlinks, field
from objstore.writing import transaction


class Host(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    friend: Host | None = None
    guests: list[Guest]


class Guest(objstore.Model):
    id: int = field(primary_key=True)
    hosts: Backlinks[Host] = backlinks("guests")


ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
QUOTED = (
    "'Host | None'",
    "Optional['Host']",
    "'Optional[Host]'",
    "List['Host']",
    "'list[Host]'",
    "list['Host']",
    "'List[\"Host\"]'",
)


@pytest.mark.parametrize("annotation", QUOTED)
@pytest.mark.parametrize("future", [True, False])
def test_quoted_annotations(annotation: str, future: bool) -> None:
    names: dict[str, Any] = {"Host": Host, "Guest": Guest}
    text = (
        f"{'from __future__ import annotations' if future else ''}\nimport objstore\nfrom typing import *\nclass "
        f"B(objstore.Model):\n    a: {annotation}"
    )
    exec(text, names)
    [prop] = objstore.fields(names["B"])
    assert prop.target is Host
    with objstore.open(memory="", models=[names["B"], Host, Guest]) as store, store.write():
        host = Host(id=1)
        made = store.add(names["B"](a=host if prop.nullable else [host]))
        assert made.a == (host if prop.nullable else [host])


def test_a_quoted_inverse() -> None:
    names: dict[str, Any] = {"Host": Host, "Guest": Guest}
    text = (
        "from __future__ import annotations\nimport objstore\nclass B(objstore.Model):\n    a: "
        "'objstore.Backlinks[Host]' = objstore.backlinks('friend')"
    )
    exec(text, names)
    assert names["B"].a is not None


def test_type_hints() -> None:
    hints = typing.get_type_hints(Host)
    assert hints["id"] is int and hints["guests"] == list[Guest] and hints["friend"] == typing.Optional[Host]
    assert typing.get_type_hints(Guest)["hosts"] == Backlinks[Host]


def test_a_long_loop_reads_what_it_has(tmp_path: Any) -> None:
    """When there are no writes, a loop that lasts longer than the idle thread waits still reads what was read
    together."""
    with objstore.open(tmp_path / "db", models=[Host, Guest]) as store:
        store.write(lambda tx: store.create_all(Host, [{"id": n, "name": str(n)} for n in range(10)]))
        loop = iter(store.objects(Host))
        first = next(loop)
        epoch = first._o_block.epoch
        for _ in range(4):  # what the idle thread does, as often as it comes in half a second
            store._let_go_if_idle()
        assert epoch.fast and next(loop).name == "1" and first._o_block.epoch is epoch
        with objstore.open(tmp_path / "db", models=[Host, Guest]) as other, other.write():
            other.get(Host, 0).name = "changed"
        store._let_go_if_idle()
        assert not epoch.fast and first.name == "changed"  # by then at the latest
        assert [host.name for host in loop] == [str(n) for n in range(2, 10)]
        del loop
        store._used = False
        assert store._let_go_if_idle() and not store._holds()


def test_unmanaged_objects_in_sets() -> None:
    a, b = Host(id=1), Host(id=1)
    assert len({a, b, a}) == 2 and a in {a} and b not in {a}
    with objstore.open(memory="", models=[Host, Guest]) as store, store.write():
        store.add(a)
        assert {a, store.get(Host, 1)} == {a}


def test_detached_objects_are_pickled_and_copied() -> None:
    with objstore.open(memory="", models=[Host, Guest]) as store:
        with store.write():
            host = store.add(Host(id=1, name="Ann", guests=[Guest(id=1), Guest(id=2)]))
            host.friend = host
        with pytest.raises(TypeError, match="managed by a store: copy or pickle obj.detach"):
            copy.deepcopy(host)
        with pytest.raises(TypeError, match="managed by a store"):
            pickle.dumps(host)
        detached = host.detach()
    for made in (copy.deepcopy(detached), pickle.loads(pickle.dumps(detached))):
        assert made is not detached and made.friend is made and made.name == "Ann"
        assert [guest.id for guest in made.guests] == [1, 2] and made.guests[0] is not detached.guests[0]
    shallow = copy.copy(detached)
    shallow.name = "Bob"
    assert detached.name == "Ann" and shallow.guests[0] is detached.guests[0]


class Mood(enum.Enum):
    calm = "calm"


class Log(objstore.Model):
    id: int = field(primary_key=True)
    mood: Mood = Mood.calm
    seen_by: objstore.Counter = objstore.Counter(3)
    words: list[str]
    seen: set[int]
    times: dict[str, datetime]
    extra: Any = None
    raw: list[bytes]


def test_live_collections_go_through_the_json_module() -> None:
    noon = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
    with objstore.open(memory="", models=[Log, Host, Guest]) as store, store.write():
        log = store.add(
            Log(id=1, words=["a"], seen={2, 1}, times={"x": noon}, extra={"l": [1, {"m": None}]}, raw=[b"ab"])
        )
        given = {
            "words": log.words,
            "seen": log.seen,
            "times": log.times,
            "extra": log.extra,
            "inner": log.extra["l"],
            "raw": log.raw,
        }
        assert json.dumps([log.mood, log.seen_by], default=objstore.json_default) == '["calm", 3]'
        assert json.loads(json.dumps(given, default=objstore.json_default)) == {
            "words": ["a"],
            "seen": [1, 2],
            "times": {"x": "2024-01-01T12:00:00+00:00"},
            "extra": {"l": [1, {"m": None}]},
            "inner": [1, {"m": None}],
            "raw": ["YWI="],
        }
        with pytest.raises(TypeError, match="type Log is no JSON"):
            json.dumps(log, default=objstore.json_default)


class Visit(objstore.Model):
    id: int = field(primary_key=True)
    at: datetime | None = None
    ended: datetime = datetime(2024, 1, 1, tzinfo=timezone.utc)
    paid: bool = False


class NaT(datetime):
    """As that of Pandas: a datetime that is no time."""

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    __hash__ = datetime.__hash__

    def utcoffset(self) -> Any:
        return self


def test_values_of_numpy_and_pandas() -> None:
    numpy = pytest.importorskip("numpy")
    noon = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
    rows = [
        ({"at": numpy.datetime64("2024-01-01T12:00:00")}, noon),
        ({"at": numpy.datetime64("2024-01-01T12", "h")}, noon),
        ({"at": numpy.datetime64("NaT")}, None),
        ({"at": NaT(1, 1, 1)}, None),
        ({"paid": numpy.True_}, None),
    ]
    with objstore.open(memory="", models=[Visit]) as store, store.write():
        for number, (values, at) in enumerate(rows):
            row = {"id": 3 * number} | values
            made = [
                store.create(Visit, row),
                store.add(Visit(**{**row, "id": row["id"] + 1})),
                store.create_all(Visit, [{**row, "id": row["id"] + 2}]) and store.get(Visit, row["id"] + 2),
            ]
            for visit in made:
                assert visit is not None and visit.at == at and visit.paid is ("paid" in values)
        for no_time in (numpy.datetime64("NaT"), NaT(1, 1, 1)):
            with pytest.raises(objstore.NotNullable, match="Visit.ended may not be None"):
                store.create(Visit, {"id": 100, "ended": no_time})
        with pytest.raises((objstore.WrongType, objstore.OutOfRange), match="beyond what a datetime can say"):
            store.create(Visit, {"id": 100, "at": numpy.datetime64("20000-01-01")})
        # Where NumPy wraps around, too; what is finer than a microsecond is cut off.
        for far in (
            numpy.datetime64(2**63 - 1, "s"),
            numpy.datetime64(2**62, "s"),
            numpy.datetime64("586500-01-01"),
            numpy.datetime64(2**61, "ms"),
        ):
            with pytest.raises((objstore.WrongType, objstore.OutOfRange), match="beyond what a datetime can say"):
                store.create(Visit, {"id": 100, "at": far})
        visit = store.create(Visit, {"id": 101, "at": numpy.datetime64("2024-01-01T12:00:00.123456789")})
        assert visit.at.microsecond == 123456
        store.delete(visit)


class Timestamp(datetime):
    """As that of Pandas: a datetime that counts nanoseconds, and whose arithmetic makes others of its kind."""

    @property
    def value(self) -> int:
        if self.year > 2262:
            raise OverflowError
        return (self - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1) * 1000 + 7


@pytest.fixture(params=["pandas", "what is like it"])
def pandas(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("numpy")
    if request.param == "pandas":
        return pytest.importorskip("pandas")
    made: Any = types.ModuleType("pandas")
    made.Timestamp, made.NaT = Timestamp, NaT(1, 1, 1)
    monkeypatch.setitem(sys.modules, "pandas", made)
    return made


@pytest.mark.parametrize("nullable", [False, True])
def test_many_timestamps_of_pandas(pandas: Any, nullable: bool) -> None:
    """They give what datetimes give, however many at once: in UTC, to the microsecond, of the builtin type."""
    zone = timezone(timedelta(hours=2))
    moments = [
        datetime(*numbers, tzinfo=zone)
        for numbers in (
            (1969, 12, 31, 23, 59, 59, 999_999),
            (1970, 1, 1),
            (1700, 2, 3, 4, 5, 6, 7),
            (2026, 7, 1, 12),
            (2200, 1, 1, 0, 0, 0, 1),
        )
    ]
    far = (
        [datetime(1, 1, 2, tzinfo=timezone.utc), datetime(9999, 12, 31, tzinfo=timezone.utc)]
        if pandas.Timestamp is Timestamp
        else []
    )
    stamps: list[Any] = [pandas.Timestamp(*m.timetuple()[:6], m.microsecond, tzinfo=zone) for m in moments]
    assert stamps == moments
    if nullable:
        stamps[2:2], moments[2:2] = [pandas.NaT, None], [None, None]  # type: ignore[list-item]
    name = "at" if nullable else "ended"
    for given, wanted in (
        (stamps, moments),
        (stamps + [Timestamp(*f.timetuple()[:6], tzinfo=timezone.utc) for f in far], moments + far),
    ):
        rows = [{"id": number, name: stamp} for number, stamp in enumerate(given)]
        with objstore.open(memory="", models=[Visit]) as store, store.write():
            store.create_all(Visit, rows)
            found = [getattr(visit, name) for visit in store.objects(Visit)]
            assert found == wanted and {type(f) for f in found} <= {datetime, type(None)}
            loose = [Visit(**row) for row in rows]
            found = [getattr(visit, name) for visit in loose]
            assert found == wanted and {type(f) for f in found} <= {datetime, type(None)}
            store.add_all(loose, update="modified")
            assert [getattr(visit, name) for visit in loose] == wanted
            changed = store.create_all(Visit, rows, update="modified")
            assert changed == (0, 0, len(rows))


def test_timestamps_of_pandas_that_are_refused(pandas: Any) -> None:
    stamps = [pandas.Timestamp(2026, 1, day, tzinfo=timezone.utc) for day in range(1, 4)]
    with objstore.open(memory="", models=[Visit]) as store, store.write():
        for wrong, error, message in (
            (pandas.Timestamp(2026, 1, 1), objstore.WrongType, "Visit.ended: .*2026.* has no time zone"),
            (pandas.NaT, objstore.NotNullable, "Visit.ended may not be None"),
            (None, objstore.NotNullable, "Visit.ended may not be None"),
        ):
            for values in (stamps + [wrong], [datetime(2026, 1, 1, tzinfo=timezone.utc)] * 3 + [wrong]):
                with pytest.raises(error, match=message) as raised:
                    store.create_all(Visit, [{"id": number, "ended": value} for number, value in enumerate(values)])
                assert raised.value.position == 3
        assert len(store.objects(Visit)) == 0
        store.create_all(Visit, [[0, stamps[0]], [1, datetime(2026, 1, 2, tzinfo=timezone.utc)], [2, None]])  # of both
        assert [visit.at and visit.at.day for visit in store.objects(Visit)] == [1, 2, None]


class Mixed(objstore.Model):
    any: Any = None
    anys: list[Any]


class Dated(objstore.Model):
    id: int = objstore.field(primary_key=True)
    at: datetime | None = None
    all: list[datetime]
    by_name: dict[str, datetime]
    any: Any = None


class FarTimestamp(Timestamp):
    """As one of Pandas that no datetime can say, and that has no repr."""

    year = 20000  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise NotImplementedError(
            "strftime not yet supported on Timestamps which are outside the range of Python's standard library"
        )


GIVEN: dict[str, Any] = {
    "create": lambda store, far: store.create(Dated, {"id": 2, "at": far}),
    "upsert": lambda store, far: store.create(Dated, {"id": 1, "at": far}, "modified"),
    "create_all": lambda store, far: store.create_all(Dated, [{"id": 2, "at": far}]),
    "create_all in rows": lambda store, far: store.create_all(Dated, [{"id": 1, "at": far, "all": []}], "modified"),
    "add": lambda store, far: store.add(Dated(id=2, at=far)),
    "set": lambda store, far: setattr(store.get(Dated, 1), "at", far),
    "update": lambda store, far: store.objects(Dated).update(at=far),
    "where": lambda store, far: store.objects(Dated).where(Dated.at < far),
    "list": lambda store, far: store.get(Dated, 1).all.append(far),
    "lists": lambda store, far: store.create_all(Dated, [{"id": 2, "all": [far]}]),
    "dict": lambda store, far: store.get(Dated, 1).by_name.update(a=far),
    "any": lambda store, far: setattr(store.get(Dated, 1), "any", far),
    "list in any": lambda store, far: setattr(store.get(Dated, 1), "any", [far]),
}


@pytest.mark.parametrize("way", GIVEN)
def test_timestamps_that_no_datetime_can_say(pandas: Any, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """They were stored by one of the ways, never to be read again."""
    numpy = pytest.importorskip("numpy")
    if pandas.Timestamp is Timestamp:
        monkeypatch.setattr(pandas, "Timestamp", FarTimestamp)
        far = FarTimestamp(2020, 1, 1, tzinfo=timezone.utc)
    else:
        far = pandas.Timestamp(numpy.datetime64("20000-01-01", "s")).tz_localize("UTC")
    with objstore.open(memory="", models=[Dated]) as store:
        store.write(lambda tx: store.create(Dated, {"id": 1}))
        with pytest.raises(
            objstore.OutOfRange, match="Dated.*: a Timestamp of the year 20000 is beyond what a datetime can say"
        ) as raised:
            store.write(lambda tx: GIVEN[way](store, far))
        assert raised.value.class_name == "Dated" and raised.value.property_name in ("at", "all", "by_name", "any")
        assert [dated.to_dict() for dated in store.objects(Dated)] == [
            {"id": 1, "at": None, "all": [], "by_name": {}, "any": None}
        ]
        with pytest.raises(objstore.WrongType, match="an int is wanted, not a .*Timestamp that cannot be shown"):
            Dated(id=far)


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("unit", ["us", "ns", "D", "s", "ps"])
def test_many_times_of_numpy(nullable: bool, unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They give what each of them gives by itself, without a look at each."""
    numpy = pytest.importorskip("numpy")
    texts = ["1969-12-31T23:59:59.999999999", "1970-01-01", "1969-12-01", "1970-02-03T04:05:06.000000789"]
    given = [numpy.datetime64(numpy.datetime64(text, "ns"), unit) for text in texts]
    if nullable:
        given[1:1] = [None, numpy.datetime64("NaT", unit)]
    name = "at" if nullable else "ended"
    rows = [{"id": number, name: value} for number, value in enumerate(given)]
    with objstore.open(memory="", models=[Visit]) as store, store.write():
        wanted = [getattr(Visit(**row), name) for row in rows]
        assert wanted.count(None) == 2 * nullable
        monkeypatch.setattr("objstore.values.kinds._of_numpy", None)  # which each would need
        for update in ("error", "modified"):
            assert store.create_all(Visit, rows, update=update)[:2] == ((len(rows), 0) if update == "error" else (0, 0))
            found = [getattr(visit, name) for visit in store.objects(Visit)]
            assert found == wanted and {type(f) for f in found} <= {datetime, type(None)}


def test_times_of_numpy_that_are_refused() -> None:
    numpy = pytest.importorskip("numpy")
    near = list(numpy.arange("2026-01-01", "2026-01-04", dtype="datetime64[D]"))
    beyond = "Visit.ended: .* is beyond what a datetime can say"
    with objstore.open(memory="", models=[Visit]) as store, store.write():
        for wrong, error, message in (
            (numpy.datetime64("20000-01-01"), objstore.OutOfRange, beyond),
            (numpy.datetime64("0000-12-31"), objstore.OutOfRange, beyond),
            (numpy.datetime64(2**62, "D"), objstore.OutOfRange, beyond),
            (numpy.datetime64(2**63 - 1, "s"), objstore.OutOfRange, beyond),
            (numpy.datetime64("NaT"), objstore.NotNullable, "Visit.ended may not be None"),
            (numpy.datetime64("NaT", "D"), objstore.NotNullable, "Visit.ended may not be None"),
        ):
            with pytest.raises(error, match=message) as raised:
                store.create_all(Visit, [{"id": number, "ended": value} for number, value in enumerate([*near, wrong])])
            assert raised.value.position == 3
        assert len(store.objects(Visit)) == 0
        # Of several units, of which the finer one has no room for all of them.
        store.create_all(
            Visit,
            [{"id": 0, "ended": numpy.datetime64("1000-01-01", "D")}, {"id": 1, "ended": numpy.datetime64(1, "as")}],
        )
        assert [visit.ended.year for visit in store.objects(Visit)] == [1000, 1970]


def test_values_of_numpy_and_pandas_in_mixed_ones(pandas: Any) -> None:
    import numpy

    noon = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
    stamp = pandas.Timestamp(2024, 1, 1, 12, tzinfo=timezone.utc)
    given = [
        numpy.datetime64("2024-01-01T12"),
        stamp,
        numpy.datetime64("NaT"),
        pandas.NaT,
        numpy.True_,
        {"a": [numpy.datetime64("2024-01-01T12")]},
    ]
    wanted = [noon, noon, None, None, True, {"a": [noon]}]
    with objstore.open(memory="", models=[Mixed]) as store, store.write():
        for value, becomes in zip(given, wanted):
            for obj in (Mixed(any=value), store.create(Mixed, {"any": value})):
                assert obj.any == becomes and type(obj.any) is not type(stamp)
        assert list(store.create(Mixed, {"anys": given}).anys) == wanted


def test_a_timeout_names_the_time_that_was_given() -> None:
    with objstore.open(memory="", models=[Host, Guest]) as store:
        begun, end = threading.Event(), threading.Event()

        def hold() -> None:
            with store.write():
                begun.set()
                end.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        begun.wait()
        with (
            pytest.raises(objstore.Timeout, match="another write was open for 0.45 seconds"),
            store.write(timeout=0.45),
        ):
            pass
        end.set()
        thread.join()


def test_a_thread_that_ends_inside_of_a_write() -> None:
    with objstore.open(memory="", models=[Host, Guest]) as store:
        kept: list[objstore.Transaction] = []

        def leave() -> None:
            kept.append(store.write())
            kept[0].__enter__()
            store.create(Host, {"id": 1})

        for timeout in (0, 5, None):
            thread = threading.Thread(target=leave, name="hasty")
            with pytest.warns(
                ResourceWarning, match="thread 'hasty' ended inside of a write of '', which was cancelled"
            ):
                thread.start()
                thread.join()
            with store.write(timeout=timeout):
                assert len(store.objects(Host)) == 0
            assert not kept.pop().is_open and len(store.objects(Host)) == 0


def test_a_thread_that_waits_while_another_one_ends_inside_of_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    with objstore.open(memory="", models=[Host, Guest]) as store:
        begun, end = threading.Event(), threading.Event()
        kept: list[objstore.Transaction] = []

        def leave() -> None:
            kept.append(store.write())
            kept[0].__enter__()
            begun.set()
            end.wait()

        thread = threading.Thread(target=leave)
        thread.start()
        begun.wait()
        wait = transaction._begin_within

        def waits(*arguments: object) -> int:
            end.set()
            return int(wait(*arguments))

        monkeypatch.setattr(transaction, "_begin_within", waits)
        with pytest.warns(ResourceWarning, match="ended inside of a write"):
            # It warns as it ends, before or while this one waits.
            with store.write():
                store.create(Host, {"id": 1})
            thread.join()
        assert len(store.objects(Host)) == 1 and not kept[0].is_open


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_generator_that_is_left_inside_of_a_write(elsewhere: bool) -> None:
    """As dependencies of web frameworks are: begun on one thread, and let go of on another one."""
    with objstore.open(memory="", models=[Host, Guest]) as store:

        def dependency() -> Iterator[objstore.Store]:
            with store.write():
                store.create(Host, {"id": 1})
                yield store

        held = [dependency()]

        def begin() -> None:
            next(held[0])

        if elsewhere:
            thread = threading.Thread(target=begin)
            with pytest.warns(ResourceWarning, match="ended inside of a write"):
                thread.start()
                thread.join()
        else:
            begin()
        held.clear()
        with store.write(timeout=0):
            assert len(store.objects(Host)) == 0


WRITER = """
import objstore, sys
class Host(objstore.Model):
    id: int = objstore.field(primary_key=True)
with objstore.open(sys.argv[1], models=[Host]) as store, store.write(timeout=20):
    store.create(Host, {"id": 2})
"""


@pytest.mark.parametrize("suspended_in", ["generator", "nothing"])
def test_the_end_of_a_thread_lets_other_processes_write(path: pathlib.Path, suspended_in: str) -> None:
    """Although nothing in this one uses the store."""

    class Host(objstore.Model):
        id: int = objstore.field(primary_key=True)

    with objstore.open(path, models=[Host]) as store:
        kept: list[Any] = []

        def dependency() -> Iterator[None]:
            with store.write():
                store.create(Host, {"id": 1})
                yield

        def leave() -> None:
            if suspended_in == "generator":
                kept.append(dependency())
                next(kept[0])
            else:
                kept.append(store.write())
                kept[0].__enter__()

        thread = threading.Thread(target=leave, name="hasty")
        with pytest.warns(ResourceWarning, match="thread 'hasty' ended inside of a write"):
            thread.start()
            thread.join()
        writer = subprocess.run(
            [sys.executable, "-c", WRITER, str(path)], capture_output=True, text=True, env=ENVIRONMENT
        )
        assert writer.returncode == 0, writer.stderr
        assert [host.id for host in store.objects(Host)] == [2]


def test_the_end_of_a_thread_ends_all_that_it_was_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a warning is an error, which cannot be caught there."""
    shown: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: shown.append(unraisable.exc_type))
    kept: list[Any] = []
    with (
        objstore.open(memory="one", models=[Host, Guest]) as one,
        objstore.open(memory="two", models=[Host, Guest]) as two,
    ):

        def leave() -> None:
            for store in (one, two):
                kept.append(store.write())
                kept[-1].__enter__()

        with warnings.catch_warnings():
            warnings.simplefilter("error", ResourceWarning)
            thread = threading.Thread(target=leave)
            thread.start()
            thread.join()
        assert shown == [ResourceWarning] and [tx.is_open for tx in kept] == [False, False]


def test_the_end_of_a_thread_in_a_forked_child(path: pathlib.Path) -> None:
    """There all other threads end at once; what they had begun is their parent's."""
    with objstore.open(path, models=[Host, Guest]) as store:
        begun, end = threading.Event(), threading.Event()

        def write() -> None:
            with store.write():
                begun.set()
                end.wait()
                store.create(Host, {"id": 1})

        thread = threading.Thread(target=write)
        thread.start()
        begun.wait()
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        end.set()
        thread.join()
        assert [host.id for host in store.objects(Host)] == [1]


def test_continuing_a_cancelled_write_is_an_error() -> None:
    with objstore.open(memory="", models=[Host, Guest]) as store:

        def dependency() -> Iterator[None]:
            with store.write():
                store.create(Host, {"id": 1})
                yield

        suspended = dependency()
        thread = threading.Thread(target=next, args=(suspended,))
        with pytest.warns(ResourceWarning):
            thread.start()
            thread.join()
        with store.write(timeout=0):
            store.create(Host, {"id": 2})
        with pytest.raises(objstore.NotInWrite, match="ended inside of a write"):
            next(suspended)
        assert [host.id for host in store.objects(Host)] == [2]


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
def test_values_of_numpy_on_the_left_of_a_comparison(unit: str) -> None:
    numpy = pytest.importorskip("numpy")

    class Moment(objstore.Model):
        id: int = field(primary_key=True)
        anything: Any = None
        at: datetime | None = None
        n: int = 0
        x: float = 0.0

    with objstore.open(memory="", models=[Moment]) as store:
        with store.write():
            store.create(
                Moment,
                {
                    "id": 1,
                    "anything": numpy.datetime64("2020-01-01", unit),
                    "at": numpy.datetime64("2020-01-01", unit),
                    "n": 1,
                    "x": 0.5,
                },
            )
            store.create(Moment, {"id": 2, "anything": 1577836800000000000, "n": 2, "x": 1.5})
        day = numpy.datetime64("2020-01-01", unit)

        def found(condition: Any) -> list[int]:
            return [moment.id for moment in store.objects(Moment).where(condition)]

        assert found(day == Moment.anything) == found(Moment.anything == day) == [1]
        assert found(day == Moment.at) == found(day <= Moment.at) == [1] and found(day > Moment.at) == []
        assert found(numpy.int32(1) < Moment.n) == [2] and found(numpy.float32(1) >= Moment.x) == [1]


def test_arrays_of_no_dimension_are_no_lists() -> None:
    numpy = pytest.importorskip("numpy")

    class Holder(objstore.Model):
        numbers: list[int]
        names: set[str]

    for values in ({"numbers": numpy.array(5)}, {"names": numpy.array("a")}):
        with pytest.raises(
            objstore.WrongType,
            match=f"Holder.{next(iter(values))}: a (list|set), or another iterable of elements, is wanted, not array",
        ):
            Holder(**values)
