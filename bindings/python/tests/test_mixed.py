"""Mixed properties: any value, and nested lists and dicts that are changed element by element."""

import copy
import ctypes
import operator
import pickle
import random
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import objstore
from objstore import Index, Model, ObjectId, field
from objstore.values import documents
from objstore.values.kinds import DEEPEST


class Thing(Model):
    id: int = field(primary_key=True)
    extra: Any
    other: Any = {"a": [1]}


class Shelf(Model):
    """The same values with an index, without one, and together with a number."""

    id: int = field(primary_key=True)
    indexed: Any = field(default=None, indexed=True)
    plain: Any = None
    code: Any = field(default=None, unique=True)
    number: int = 0
    __indexes__ = [Index("indexed", "number")]


class Plain(Model):
    name: str = ""
    what: Any = field(default_factory=dict)


EVERY: list[Any] = [
    None,
    False,
    True,
    0,
    127,
    -128,
    128,
    -129,
    2**31,
    -(2**31) - 1,
    2**63 - 1,
    -(2**63),
    1.0,
    -0.5,
    1e300,
    float("inf"),
    Decimal("1.50"),
    Decimal("-1E+10"),
    "",
    "a\0é",
    "x" * 100_000,
    b"",
    b"\0\xff",
    datetime(2020, 1, 2, 3, 4, 5, 678, timezone.utc),
    datetime(1950, 1, 1, tzinfo=timezone.utc),
    ObjectId(bytes(range(12))),
    UUID(int=5),
    [],
    {},
    [[], {}],
    {"b": 1, "a": {"é": [None, True, 1, 1.0, "1", b"1"]}, "": 0},
]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with objstore.open(tmp_path / "db", models=[Thing, Plain, Shelf]) as opened:
        yield opened


def exact(value: Any) -> Any:
    """The value with its types: 1, 1.0 and True are three."""
    if isinstance(value, dict):
        return {k: exact(v) for k, v in value.items()}
    if isinstance(value, list):
        return [exact(v) for v in value]
    return type(value), value


def test_every_type_comes_back(tmp_path: Path) -> None:
    with objstore.open(tmp_path / "db", models=[Thing, Plain]) as store:
        with store.write():
            for n, value in enumerate(EVERY):
                store.add(Thing(id=n, extra=value))
            store.add_all([Thing(id=1000 + n, extra=value) for n, value in enumerate(EVERY)])
            store.create_all(Thing, [{"id": 2000 + n, "extra": value} for n, value in enumerate(EVERY)])
            for n, value in enumerate(EVERY):
                store.create(Thing, {"id": 3000 + n}).extra = value
    with objstore.open(tmp_path / "db", models=[Thing, Plain]) as store:
        for first in (0, 1000, 2000, 3000):
            for n, value in enumerate(EVERY):
                found = store.get(Thing, first + n).extra
                plain = found.copy() if isinstance(found, (objstore.MixedDict, objstore.MixedList)) else found
                assert exact(plain) == exact(value)
                assert found == value
        assert store.get(Thing, 0).other == {"a": [1]}
        assert [exact(t) for t in store.objects(Thing).to_numpy("extra")[: len(EVERY)]] == [exact(v) for v in EVERY]


def test_a109_one_nested_element_changes(store: Any) -> None:
    document = {"name": "Rex", "seen": [1, 2.5, None, True], "home": {"at": [[], {}]}}
    with store.write():
        thing = store.add(Thing(id=1, extra=document))
        other = store.add(Thing(id=2, extra=document))
    changes: list[Any] = []
    with store.objects(Thing).observe(lambda c: changes.append(c)) as _:
        store.deliver()
        changes.clear()
        with store.write():
            thing.extra["seen"][0] = 7
        store.deliver()
    assert thing.extra == {**document, "seen": [7, 2.5, None, True]}
    assert other.extra == document
    assert len(changes) == 1
    with store.write():
        extra = thing.extra
        extra["seen"].insert(1, {"new": [b"x"]})
        extra["seen"][1]["new"].append(Decimal("1.0"))
        del extra["home"]["at"][0]
        extra["age"] = 3
        del extra["name"]
    assert extra == {"age": 3, "home": {"at": [{}]}, "seen": [7, {"new": [b"x", Decimal("1.0")]}, 2.5, None, True]}
    assert list(extra) == ["age", "home", "seen"]
    assert extra["seen"][-1] is True
    with pytest.raises(objstore.NotInWrite):
        extra["seen"][0] = 8
    with pytest.raises(RuntimeError), store.write():
        extra["seen"][0] = 8
        raise RuntimeError
    assert extra["seen"][0] == 7


def test_lists_and_dicts_do_what_builtins_do(store: Any) -> None:
    with store.write() as tx:
        thing = store.add(Thing(id=1, extra={"l": [3, 1, [2]], "d": {"x": 1, "y": {"z": None}}}))
        numbers, entries = thing.extra["l"], thing.extra["d"]
        assert isinstance(numbers, objstore.MixedList) and isinstance(entries, objstore.MixedDict)
        assert (
            len(numbers) == 3 and numbers[2] == [2] and numbers[::-1] == [[2], 1, 3] and 1 in numbers and [2] in numbers
        )
        assert numbers.index(1) == 1 and numbers.count(3) == 1 and list(reversed(numbers))[0] == [2]
        assert numbers + [4] == [3, 1, [2], 4]
        numbers.extend([5, 6])
        numbers[1:3] = ["a"]
        assert numbers == [3, "a", 5, 6]
        assert numbers.pop() == 6 and numbers.pop(0) == 3
        numbers.append({"k": [1]})
        assert numbers.pop() == {"k": [1]}
        numbers.reverse()
        assert numbers == [5, "a"]
        numbers += [1]
        numbers.remove("a")
        assert thing.extra["l"] == [5, 1]
        for bad in (2, -3, 2**70):
            with pytest.raises(IndexError):
                numbers[bad]
        with pytest.raises(IndexError):
            numbers[2] = 0
        with pytest.raises(IndexError):
            del numbers[-3]
        numbers.clear()
        assert numbers == [] and not numbers

        assert (
            entries.get("x") == 1
            and entries.get("n") is None
            and entries.get("n", 5) == 5
            and "y" in entries
            and 1 not in entries
        )
        assert (
            list(entries) == ["x", "y"]
            and list(entries.items()) == [("x", 1), ("y", {"z": None})]
            and list(entries.values())[0] == 1
        )
        assert entries | {"q": 2} == {"x": 1, "y": {"z": None}, "q": 2}
        entries["y"]["z"] = [0]
        entries["y"]["z"][0] += 1
        assert entries.setdefault("x", 9) == 1 and entries.setdefault("w", 9) == 9
        assert entries.pop("y") == {"z": [1]}
        assert entries.pop("y", None) is None
        entries.update({"é": 1}, a=2)
        assert entries == {"a": 2, "w": 9, "x": 1, "é": 1}
        assert entries.popitem() == ("é", 1)
        for missing in ("n", "\ud800"):
            with pytest.raises((KeyError, ValueError)):
                entries[missing]
        with pytest.raises(KeyError):
            del entries["n"]
        with pytest.raises(TypeError):
            entries[1] = 1
        with pytest.raises(TypeError):
            {}[entries]
        assert (
            copy.copy(entries)
            == copy.deepcopy(entries)
            == pickle.loads(pickle.dumps(entries))
            == {"a": 2, "w": 9, "x": 1}
        )
        assert repr(entries) == "{'a': 2, 'w': 9, 'x': 1}"
        entries.clear()
        # Another object's document is copied.
        other = store.add(Thing(id=2, extra=thing.extra))
        thing.extra["l"] = [1]
        assert other.extra == {"l": [], "d": {}}
        with tx.savepoint() as point:
            thing.extra["l"].append(2)
            assert thing.extra["l"] == [1, 2]
            point.cancel()
        assert thing.extra["l"] == [1]
        # Its place has become something else.
        thing.extra = 5
        with pytest.raises(objstore.WrongType):
            numbers.append(1)
        store.delete(thing)
        with pytest.raises(objstore.NoSuchObject):
            thing.extra
        with pytest.raises(objstore.NoSuchObject):
            len(entries)


def test_frozen_and_detached(store: Any) -> None:
    with store.write():
        thing = store.add(Thing(id=1, extra={"a": [1]}))
    frozen = thing.freeze()
    with store.write():
        thing.extra["a"].append(2)
    assert frozen.extra == {"a": [1]} and thing.extra == {"a": [1, 2]}
    loose = thing.detach()
    assert type(loose.extra) is dict and loose.extra == {"a": [1, 2]}
    loose.extra["a"].append(3)
    with store.write():
        store.add(loose, update="modified")
    assert thing.extra == {"a": [1, 2, 3]}
    with pytest.raises(objstore.Error), store.write():
        frozen.extra["a"][0] = 2


def test_unmanaged_documents_are_plain_and_defaults_are_not_shared(store: Any) -> None:
    a, b = Thing(id=1), Thing(id=2)
    a.other["a"].append(2)
    assert b.other == {"a": [1]} and Thing(id=3).other == {"a": [1]} and a.extra is None
    first, second = Plain(), Plain()
    first.what["x"] = 1
    assert second.what == {}
    with store.write():
        store.add_all([a, b, first, second])
    assert a.other == {"a": [1, 2]} and b.other == {"a": [1]} and first.what == {"x": 1} and second.what == {}


def test_upsert_compares_exactly(store: Any) -> None:
    with store.write():
        store.add(Thing(id=1, extra={"a": 1}))

        def modified(value: Any) -> bool:
            return bool(store.add_all([Thing(id=1, extra=value)], update="modified").changed)

        assert not modified({"a": 1})
        assert modified({"a": 1.0}) and not modified({"a": 1.0})
        assert modified({"a": True}) and modified(1) and modified(True) and not modified(True)


class Number(IntEnum):
    ONE = 1


def test_what_cannot_be_mixed_is_refused(store: Any) -> None:
    deep: Any = 0
    for _ in range(DEEPEST):
        deep = [deep]
    circle: list[Any] = []
    circle.append(circle)
    with store.write():
        thing = store.add(Thing(id=1, extra=deep))
        assert thing.extra == deep
        bad: list[tuple[Any, type]] = [
            ([deep], objstore.OutOfRange),
            (circle, objstore.OutOfRange),
            ({1, 2}, objstore.WrongType),
            ({1: 2}, objstore.WrongType),
            (object(), objstore.WrongType),
            (2**63, objstore.OutOfRange),
            ([-(2**63) - 1], objstore.OutOfRange),
            (datetime(2020, 1, 1), objstore.WrongType),
            ([timedelta(1)], objstore.WrongType),
            (Fraction(1, 3), objstore.OutOfRange),
            ("\ud800", objstore.InvalidText),
            ({"\ud800": 1}, objstore.InvalidText),
        ]
        for value, error in bad:
            with pytest.raises(error):
                thing.extra = value
            with pytest.raises(error):
                store.add(Thing(id=2, extra=value))
            with pytest.raises(error):
                store.add_all([Thing(id=2, extra=value)])
            with pytest.raises(error):
                store.create_all(Thing, [{"id": 2, "extra": value}])
        loose = Thing(id=2, extra=[])
        loose.extra.append(object())
        with pytest.raises(objstore.WrongType):
            store.add(loose)
        thing.extra = [1]
        for value, error in bad[2:]:
            with pytest.raises(error):
                thing.extra[0] = value
        assert thing.extra == [1] and len(store.objects(Thing)) == 1
        thing.extra = (Number.ONE, Fraction(1, 2), bytearray(b"x"), {"t": ()})
        assert exact(thing.extra.copy()) == exact([1, 0.5, b"x", {"t": []}])
    with pytest.raises(objstore.WrongStore):
        store.objects(Thing).where(Thing.extra == Thing(id=9)).count()
    with pytest.raises(objstore.SchemaError):
        type("Bad", (Model,), {"__annotations__": {"x": Any}, "x": field(primary_key=True)})
    with pytest.raises(objstore.SchemaError):
        type("Bad", (Model,), {"__annotations__": {"x": list[Any]}, "x": field(indexed=True)})


def family(value: Any) -> int:
    """What values are ordered by first; by itself, without a word of the store's."""
    kinds: list[Any] = [type(None), bool, (int, float, Decimal), (str, bytes), datetime, ObjectId, UUID, list, dict]
    return next(i for i, kind in enumerate(kinds) if isinstance(value, kind))


def in_order(value: Any) -> Any:
    """A key that sorts values as the store does."""
    if isinstance(value, float) and value != value:
        return (2, 1, 0)
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return (2, 0, Fraction(value) if abs(value) != float("inf") else value)
    if isinstance(value, (str, bytes)):
        return (3, value.encode() if isinstance(value, str) else value)
    if isinstance(value, ObjectId):
        return (5, value.bytes)
    if isinstance(value, UUID):
        return (6, value.bytes)
    if isinstance(value, list):
        return (7, [in_order(v) for v in value])
    if isinstance(value, dict):
        return (8, [(k.encode(), in_order(value[k])) for k in sorted(value, key=str.encode)])
    return (family(value),) if value is None else (family(value), value)


OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def test_questions_about_values_of_any_type(store: Any) -> None:
    values: list[Any] = [
        *EVERY,
        1,
        1.0,
        Decimal(1),
        Decimal("1.0"),
        True,
        float("nan"),
        -0.0,
        2**53 + 1,
        float(2**53),
        Decimal(2**53 + 1),
        "1",
        b"1",
        [1],
        [1.0, None],
        {"a": 1},
        {"a": 1, "b": None},
    ]
    with store.write():
        store.add_all([Shelf(id=i, indexed=v, plain=v, code=[i], number=i % 3) for i, v in enumerate(values)])
        store.create_all(Shelf, [{"id": 1000, "indexed": 5, "plain": 5}])
    values_of = dict(enumerate(values)) | {1000: 5}

    def holds(symbol: str, value: Any, constant: Any) -> bool:
        nan = any(isinstance(v, float) and v != v for v in (value, constant))
        a, b = in_order(value), in_order(constant)
        if symbol in ("==", "!="):
            return (symbol == "==") == (not nan and a == b)
        if nan or a[0] != b[0]:
            return False
        return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[symbol]

    for constant in [*values, 5, "n", [], {"c": []}]:
        for symbol in ("==", "!=") if constant is None else ("==", "!=", "<", "<=", ">", ">="):
            wanted = sorted(i for i, v in values_of.items() if holds(symbol, v, constant))
            for name in ("indexed", "plain"):
                found = store.objects(Shelf).where(OPERATORS[symbol](getattr(Shelf, name), constant))
                assert [s.id for s in found] == wanted, (name, symbol, constant)
                if not isinstance(constant, (list, dict)):  # a list is one for IN there
                    assert len(store.objects(Shelf).filter(f"{name} {symbol} $0", constant)) == len(wanted)
    # True is not 1, although Python says so: each question has an answer of its own.
    assert [s.indexed for s in store.objects(Shelf).where(Shelf.indexed == True)] == [True, True]
    assert True not in [s.indexed is True for s in store.objects(Shelf).where(Shelf.indexed == 1)]
    assert [s.id for s in store.objects(Shelf).filter("indexed == 'é'")] == []
    ordered = sorted(values_of, key=lambda i: (in_order(values_of[i]), values_of[i] is not None and 0, i))
    assert [s.id for s in store.objects_in(Shelf, ["indexed"])] == ordered
    assert [s.id for s in store.objects_in(Shelf, ["indexed", "number"], from_=[1], to=[1])] == sorted(
        (i for i, v in values_of.items() if holds("==", v, 1)), key=lambda i: (i % 3 if i < 1000 else 0, i)
    )
    assert (
        store.find_by(Shelf, code=[3]).id == 3
        and store.find_by(Shelf, code=[3.0]).id == 3
        and store.find_by(Shelf, code=[99999]) is None
    )
    with store.write():
        with pytest.raises(objstore.DuplicateKey):
            store.add(Shelf(id=2000, code=[3.0]))
        store.get(Shelf, 3).code.append("x")
        store.add(Shelf(id=2000, code=[3.0]))
        store.add(Shelf(id=2001))
    assert store.find_by(Shelf, code=[3]).id == 2000 and store.find_by(Shelf, code=[3, "x"]).id == 3
    store.verify()


def test_questions_about_any_are_observed(store: Any) -> None:
    heard: list[Any] = []
    results = store.objects(Shelf).where(Shelf.indexed >= 2)
    with results.observe(
        lambda changes: heard.append((list(changes.insertions), list(changes.deletions), list(changes.modifications)))
    ):
        with store.write():
            store.add_all([Shelf(id=i, indexed=v) for i, v in enumerate([1, 2.5, "3", Decimal(2), None])])
        store.deliver()
        with store.write():
            store.get(Shelf, 1).indexed = "x"
            store.get(Shelf, 2).indexed = 3
        store.deliver()
    assert heard[-1][0] == [0] and heard[-1][1] == [0], heard


def test_numpy_scalars_become_plain(store: Any) -> None:
    numpy = pytest.importorskip("numpy")
    with store.write():
        thing = store.add(
            Thing(id=1, extra=[numpy.int64(5), numpy.float64(0.5), numpy.float32(0.25), numpy.bool_(True)])
        )
    assert exact(thing.extra.copy()) == exact([5, 0.5, 0.25, True])


# The library's packed form and ours


class _Free:
    """What a value belongs to that belongs to nothing."""

    name = model_name = ""
    path = "value"
    kind, nullable, enum, type_name = 15, True, None, "Any"


FREE = _Free()


def randomly(r: random.Random, depth: int = 4) -> Any:
    if depth and r.random() < 0.5:
        count = r.choice([0, 1, 2, 3, 5, 300]) if depth < 3 else r.randrange(5)
        if r.random() < 0.5:
            return [randomly(r, depth - 1 if count < 9 else 0) for _ in range(count)]
        return {
            r.choice("abé") * r.randrange(4) + str(r.randrange(2 * count)): randomly(r, depth - 1 if count < 9 else 0)
            for _ in range(count)
        }
    return r.choice(
        [
            *EVERY[:20],
            r.getrandbits(63) - 2**62,
            r.random(),
            "t" * r.randrange(300),
            bytes(r.randrange(40)),
            Decimal(r.randrange(10**9)) / 7 // 1,
        ]
    )


@pytest.mark.parametrize("seed", range(3))
def test_packed_form(seed: int) -> None:
    r = random.Random(seed)
    for _ in range(300):
        value = randomly(r)
        packed = documents.pack(FREE, value)
        assert exact(documents.unpack(packed)) == exact(value)


def order(a: Any, b: Any) -> int:
    """What objstore_value_compare says."""
    from objstore.native import ffi
    from objstore.values.c_values import Values

    compare = ffi.bind("objstore_value_compare")
    places = []
    for value in (a, b):
        places.append(Values(1))
        places[-1].put_one(FREE, value)  # type: ignore[arg-type]
    found = ctypes.c_int32()
    assert compare(places[0].first, places[1].first, ctypes.byref(found)) == 0
    return found.value


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_compared_exactly(seed: int) -> None:
    r = random.Random(seed)

    def number() -> Any:
        near = r.choice([0, 1, 2**53, 2**63 - 1, 10**15, 123456789])
        kind = r.randrange(6)
        if kind == 0:
            return max(-(2**63), min(2**63 - 1, near + r.randrange(-3, 4))) * r.choice([1, -1])
        if kind == 1:
            return float(near + r.randrange(-3, 4)) * r.choice([1, -1, 0.1, 0.5])
        if kind == 2:
            return r.choice([5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e300, 1e-300, 0.1]) * r.choice(
                [1, -1]
            )
        if kind == 3:
            return Decimal(
                r.choice(
                    [
                        "0.1",
                        "1E+308",
                        "1.797693134862315708145274237317043E+308",
                        "1E-320",
                        "4.940656458412465441765687928682213E-324",
                        "1E+6000",
                        "1E-6000",
                    ]
                )
            )
        if kind == 4:
            return Decimal(near + r.randrange(-3, 4)) * r.choice(
                [Decimal(1), Decimal("-1"), Decimal("0.1"), Decimal("1.0000000000000000001")]
            )
        return Decimal(repr(r.random() * 10 ** r.randrange(-20, 20)))

    for _ in range(4000):
        a, b = number(), number()
        exact_a, exact_b = Fraction(a), Fraction(b)
        assert order(a, b) == (exact_a > exact_b) - (exact_a < exact_b), (a, b, seed)


@pytest.mark.parametrize("seed", range(4))
def test_random_edits_against_builtins(tmp_path: Path, seed: int) -> None:
    """Documents and paths at random, each step also done to a builtin; the whole compared, also after a rollback and
    reopening."""
    r = random.Random(seed)
    models: dict[int, Any] = {}
    store = objstore.open(tmp_path / "db", models=[Thing, Plain])

    def inner(value: Any, live: Any) -> tuple[Any, Any]:
        """Some list or dict inside, and the live one."""
        while True:
            nested = [
                k
                for k, v in (enumerate(value) if isinstance(value, list) else value.items())
                if isinstance(v, (list, dict))
            ]
            if not nested or r.random() < 0.3:
                return value, live
            step = r.choice(nested)
            value, live = value[step], live[step]

    def edit(value: Any, live: Any) -> None:
        value, live = inner(value, live)
        new = randomly(r, 2)
        if isinstance(value, list):
            at = r.randrange(-len(value) - 1, len(value) + 2)
            action = r.choice(["set", "insert", "del", "append"])
            if action == "append":
                value.append(copy.deepcopy(new))
                live.append(new)
            elif action == "insert":
                value.insert(at, copy.deepcopy(new))
                live.insert(at, new)
            elif -len(value) <= at < len(value):
                if action == "set":
                    value[at] = copy.deepcopy(new)
                    live[at] = new
                else:
                    del value[at]
                    del live[at]
            else:
                with pytest.raises(IndexError):
                    live[at] = new
        elif value and r.random() < 0.4:
            key = r.choice(list(value))
            del value[key]
            del live[key]
        else:
            key = r.choice("abc") * r.randrange(3)
            value[key] = copy.deepcopy(new)
            live[key] = new

    for round_ in range(40):
        before = copy.deepcopy(models)
        try:
            with store.write():
                for _ in range(r.randrange(20)):
                    if not models or r.random() < 0.15:
                        n = len(models)
                        models[n] = {"x": randomly(r), "l": [randomly(r, 2)]}
                        store.add(Thing(id=n, extra=copy.deepcopy(models[n])))
                    else:
                        n = r.choice(list(models))
                        edit(models[n], store.get(Thing, n).extra)
                for n, value in models.items():
                    assert exact(store.get(Thing, n).extra.copy()) == exact(value), f"seed {seed}, round {round_}"
                if r.random() < 0.25:
                    raise RuntimeError
        except RuntimeError:
            models = before
        if r.random() < 0.2:
            store.close()
            store = objstore.open(tmp_path / "db", models=[Thing, Plain])
        assert len(store.objects(Thing)) == len(models)
        for n, value in models.items():
            assert exact(store.get(Thing, n).extra.copy()) == exact(value), f"seed {seed}, round {round_}"
    store.verify()
    store.close()


def test_operators_change_what_is_there(store: Any) -> None:
    with store.write():
        thing = store.add(Thing(id=1, extra={"x": {"a": 1}, "l": [3, 1, 2]}))
        inner, numbers = thing.extra["x"], thing.extra["l"]
        same = inner
        inner |= {"b": 2}
        assert inner is same and thing.extra["x"].copy() == {"a": 1, "b": 2}
        assert {"a": 5, "z": 0} | inner == {"a": 1, "b": 2, "z": 0} and inner | {"a": 5} == {"a": 5, "b": 2}
        inner |= [("c", 3)]
        assert thing.extra["x"].copy() == {"a": 1, "b": 2, "c": 3}
        numbers.sort()
        assert numbers.copy() == [1, 2, 3]
        numbers.sort(key=lambda n: -n, reverse=True)
        assert (
            numbers.copy() == [1, 2, 3]
            and [0] + numbers == [0, 1, 2, 3]
            and numbers * 2 == 2 * numbers == [1, 2, 3, 1, 2, 3]
        )
        again = numbers
        numbers *= 2
        assert numbers is again and thing.extra["l"].copy() == [1, 2, 3, 1, 2, 3]
        with pytest.raises(TypeError):
            numbers.append("x")
            numbers.sort()
        with pytest.raises((TypeError, ValueError)):
            inner |= 5
        assert "\ud800" not in inner and inner.get("\ud800", 7) == 7
    assert thing.extra.copy() == {"x": {"a": 1, "b": 2, "c": 3}, "l": [1, 2, 3, 1, 2, 3, "x"]}
