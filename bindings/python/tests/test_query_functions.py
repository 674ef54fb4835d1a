"""Functions that queries call, against plain loops."""

import ctypes
import math
import random
import sys
import threading
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import objstore
from objstore import call, desc, field
from objstore.native import ffi

START = datetime(2020, 1, 1, tzinfo=timezone.utc)


class Place(objstore.Model):
    id: int = field(primary_key=True)
    x: float = 0.0
    y: float | None = None
    n: int | None = None
    rank: int = field(default=0, indexed=True)
    name: str = ""
    nick: str | None = None
    good: bool = False
    raw: bytes = b""
    when: datetime = START
    extra: Any = None
    near: "list[Place]"
    next: "Place | None" = None


def place(index: int) -> dict[str, Any]:
    return {
        "id": index,
        "x": index * 37 % 1009 / 8,
        "y": None if index % 5 == 2 else index * 53 % 499 / 4,
        "n": None if index % 7 == 3 else index * 31 % 127 - 60,
        "rank": index % 100,
        "name": ["Bern", "Rome", "", "Ärnst"][index * 13 % 4],
        "nick": None if index % 3 else f"n{index % 4}",
        "good": index % 3 == 0,
        "raw": bytes([index % 256]),
        "when": START + timedelta(hours=index),
        "extra": [3, 1.5, "a", None][index % 4],
    }


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with objstore.open(tmp_path_factory.mktemp("f") / "places.objstore", models=[Place]) as store:
        with store.write():
            made = []
            for index in range(5000):
                made.append(store.add(Place(**place(index))))
                if index > 2:
                    made[-1].near = [made[index - 1], made[index - 3]]
                    made[-1].next = made[index - 2]
            for index in range(6, 5000, 13):
                store.delete(made[index])
        yield store
        store.verify()


@pytest.fixture(scope="module")
def places(store):
    """The same as plain values, with links as ids."""
    found = []
    for obj in store.objects(Place):
        plain = place(obj.id)
        plain["near"] = [other.id for other in obj.near]
        plain["next"] = None if obj.next is None else obj.next.id
        found.append(plain)
    return found


def norm(x: float, y: float) -> float:
    return math.hypot(x, y)


def ids(results):
    return [obj.id for obj in results]


def wanted(places, condition):
    return [p["id"] for p in places if condition(p)]


# By row


def test_texts_expressions_and_steps(store, places):
    store.define_function("norm", norm, "f64, f64 -> f64")
    near = wanted(places, lambda p: p["y"] is not None and norm(p["x"], p["y"]) < 40)
    assert len(near) > 100
    assert ids(store.objects(Place).filter("norm(x, y) < $0", 40)) == near
    assert ids(store.objects(Place).where(call("norm", Place.x, Place.y) < 40)) == near
    assert store.objects(Place).where(call("norm", Place.x, Place.y) < 40).count() == len(near)
    assert len(store.objects(Place).filter("norm(x, y) < 40")) == len(near)
    far = store.objects(Place).where(~(call("norm", Place.x, Place.y) < 40))
    assert ids(far) == [p["id"] for p in places if p["id"] not in set(near)]
    ordered = store.objects(Place).filter("y != NULL SORT(norm(x, y) DESC) LIMIT(50)")
    lengths = sorted((norm(p["x"], p["y"]) for p in places if p["y"] is not None), reverse=True)[:50]
    assert [norm(p.x, p.y) for p in ordered] == lengths
    again = store.objects(Place).where(Place.y != None).order_by(desc(call("norm", Place.x, Place.y))).limit(50)
    assert ids(again) == ids(ordered)
    first = store.objects(Place).filter("norm(x, y) > 100").first()
    assert first.id == wanted(places, lambda p: p["y"] is not None and norm(p["x"], p["y"]) > 100)[0]
    total = store.objects(Place).filter("norm(x, y) > 100").sum("rank")
    assert total == sum(p["rank"] for p in places if p["y"] is not None and norm(p["x"], p["y"]) > 100)
    both = call("norm", Place.x, Place.n * 2 + 1) > call("norm", 3, Place.x)
    assert ids(store.objects(Place).where(both, Place.rank == 7)) == wanted(
        places, lambda p: p["rank"] == 7 and p["n"] is not None and norm(p["x"], p["n"] * 2 + 1) > norm(3, p["x"])
    )
    text = store.objects(Place).where(call("norm", Place.x, -Place.y) < 40).query_text()
    assert text == "norm(x, -y) < 40" and ids(store.objects(Place).filter(text)) == near
    assert repr(call("norm", Place.x, 1.5) < 40) == "norm(x, 1.5) < 40"
    plan = store.objects(Place).filter("norm(x, y) < 40").explain(run=True)
    assert plan.filter == "computed of x, y by norm" and plan.found == len(near)


def test_paths_and_collections(store, places):
    store.define_function("norm", norm, "f64, f64 -> f64")
    by_id = {p["id"]: p for p in places}
    assert ids(store.objects(Place).where(call("norm", Place.next.x, 1) < 40)) == wanted(
        places, lambda p: p["next"] is not None and norm(by_id[p["next"]]["x"], 1) < 40
    )
    assert ids(store.objects(Place).where(call("norm", objstore.any_(Place.near).x, 1) < 2)) == wanted(
        places, lambda p: any(norm(by_id[o]["x"], 1) < 2 for o in p["near"])
    )
    assert ids(store.objects(Place).where(call("norm", objstore.all_(Place.near).x, 1) < 80)) == wanted(
        places, lambda p: all(norm(by_id[o]["x"], 1) < 80 for o in p["near"])
    )
    assert ids(store.objects(Place).where(Place.near.where(call("norm", Place.x, 1) < 40).count == 1)) == wanted(
        places, lambda p: sum(norm(by_id[o]["x"], 1) < 40 for o in p["near"]) == 1
    )
    assert ids(store.objects(Place).where(call("norm", Place.near.count, Place.near.max(Place.x)) < 40)) == wanted(
        places, lambda p: bool(p["near"]) and norm(len(p["near"]), max(by_id[o]["x"] for o in p["near"])) < 40
    )


def test_each_type(store, places):
    def everything(good, n, x, name, raw, when):
        assert [type(a) for a in (good, n, x, name, raw, when)] == [bool, int, float, str, bytes, datetime]
        return f"{good} {n} {x} {name} {raw!r} {when}"

    store.define_function("everything", everything, "bool, i64, f64, str, bin, time -> str")
    for p in places[::500]:
        found = store.objects(Place).filter(
            "everything(good, n, x, name, raw, when) == $0",
            everything(*[p[k] or 0 if k == "n" else p[k] for k in ("good", "n", "x", "name", "raw", "when")]),
        )
        assert ids(found) == ([p["id"]] if p["n"] is not None else [])
    store.define_function("optional", lambda nick, y: None if y is None else nick or "none", "str?, f64? -> str?")
    assert ids(store.objects(Place).filter("optional(nick, y) == NULL")) == wanted(places, lambda p: p["y"] is None)
    assert ids(store.objects(Place).filter("optional(nick, y) == 'none'")) == wanted(
        places, lambda p: p["y"] is not None and p["nick"] is None
    )
    store.define_function("twice", lambda raw: raw * 2, "bin -> bin")
    assert ids(store.objects(Place).filter("twice(raw) == $0", b"\7\7")) == wanted(places, lambda p: p["raw"] == b"\7")
    store.define_function("tomorrow", lambda when: when + timedelta(1), "time -> time")
    assert ids(store.objects(Place).filter("tomorrow(when) == $0", START + timedelta(5))) == [96]
    store.define_function("half", lambda n: None if n % 2 else n // 2, "i64 -> i64?")
    assert ids(store.objects(Place).filter("half(n) == 4")) == wanted(places, lambda p: p["n"] == 8)
    store.define_function("third", lambda x: x / 3, "f32 -> f32")
    assert store.objects(Place).filter("third(1.5) == 0.5 AND id < 10").count() == 9
    store.define_function("negative", lambda n: n < 0, "i64 -> bool")
    assert ids(store.objects(Place).filter("negative(n) == true")) == wanted(places, lambda p: (p["n"] or 0) < 0)
    # Of a mixed property what does not fit is None.
    store.define_function("norm", norm, "f64, f64 -> f64")
    assert ids(store.objects(Place).filter("norm(extra, 0) == 3")) == wanted(places, lambda p: p["extra"] == 3)
    assert ids(store.objects(Place).filter("norm(extra, 0) == NULL")) == wanted(
        places, lambda p: p["extra"] in ("a", None)
    )


def test_type_hints(store, places):
    def hinted(n: int, x: float, name: str | None, good: bool = False) -> float | None:
        return None if name is None else n + x

    store.define_function("hinted", hinted)
    assert ids(store.objects(Place).filter("hinted(n, x, nick, good) == NULL")) == wanted(
        places, lambda p: p["n"] is None or p["nick"] is None
    )

    class Callable:
        def __call__(self, x: float) -> float:
            return -x

    store.define_function("negated", Callable())
    assert ids(store.objects(Place).filter("negated(x) < -100")) == wanted(places, lambda p: p["x"] > 100)
    for function in (lambda x: x, len, lambda *x: 1, print):
        with pytest.raises(objstore.InvalidSignature, match="needs a signature"):
            store.define_function("bad", function)


# With columns


def test_numpy(store, places):
    numpy = pytest.importorskip("numpy")
    sizes = []

    def norms(x, y):
        assert x.dtype == y.dtype == numpy.float64 and x.shape == y.shape
        sizes.append(len(x))
        return numpy.hypot(x, y)

    store.define_function("norms", norms, "f64[], f64[], n -> f64[]")
    near = wanted(places, lambda p: p["y"] is not None and norm(p["x"], p["y"]) < 40)
    assert ids(store.objects(Place).filter("norms(x, y) < 40")) == near
    # Once for each leaf, and without the rows in which y is None.
    assert len(sizes) == 2 and sum(sizes) == sum(p["y"] is not None for p in places)
    assert ids(store.objects(Place).where(call("norms", Place.x, Place.y) < 40)) == near
    ordered = ids(store.objects(Place).filter("y != NULL SORT(norms(x, y) ASC)"))
    assert ordered == [
        p["id"] for p in sorted((p for p in places if p["y"] is not None), key=lambda p: norm(p["x"], p["y"]))
    ]
    assert ids(store.objects(Place).filter("norms(norms(x, 1), n) > norms(y, 2)")) == wanted(
        places,
        lambda p: (
            p["n"] is not None
            and p["y"] is not None
            and numpy.hypot(numpy.hypot(p["x"], 1), p["n"]) > numpy.hypot(p["y"], 2)
        ),
    )
    # Objects of an index one by one.
    assert ids(store.objects(Place).filter("rank == 7 AND norms(x, y) < 90")) == wanted(
        places, lambda p: p["rank"] == 7 and p["y"] is not None and norm(p["x"], p["y"]) < 90
    )


def test_numpy_of_each_type(store, places):
    numpy = pytest.importorskip("numpy")
    seen = {}

    def columns(n, y, good, when, name, raw, nick):
        seen.update({k: v.dtype for k, v in locals().items() if k != "seen"})
        assert isinstance(y, numpy.ma.MaskedArray) and isinstance(nick, numpy.ma.MaskedArray)
        assert isinstance(name[0], str) and isinstance(raw[0], bytes)
        return numpy.ma.where(good, n, n * 0 + 1000) + numpy.ma.filled(y, 0).astype(int) * 0

    store.define_function("cols", columns, "i64[], f64?[], bool[], time[], str[], bin[], str?[], n -> i64[]")
    assert ids(store.objects(Place).filter("cols(n, y, good, when, name, raw, nick) == 1000")) == wanted(
        places, lambda p: p["n"] is not None and not p["good"]
    )
    kinds = {name: str(kind) for name, kind in seen.items()}
    assert kinds["n"] == "int64" and kinds["when"] == "datetime64[us]" and kinds["name"] == "object"
    store.define_function("later", lambda when: when + numpy.timedelta64(1, "D"), "time[], n -> time[]")
    assert ids(store.objects(Place).filter("later(when) == $0", START + timedelta(5))) == [96]
    masked = "f64?[], n -> f64?[]"
    store.define_function("kept", lambda y: y * 2, masked)
    assert ids(store.objects(Place).filter("kept(y) == NULL")) == wanted(places, lambda p: p["y"] is None)
    assert ids(store.objects(Place).filter("kept(y) == 10")) == wanted(places, lambda p: p["y"] == 5)
    store.define_function("kept", lambda y: y * 2, "f64?[], n -> f64[]")
    with pytest.raises(objstore.WrongType, match=r"kept\(\) returned masked values"):
        store.objects(Place).filter("kept(y) == 1").count()


def test_wrong_columns(store):
    numpy = pytest.importorskip("numpy")
    for made, problem, expected in (
        (lambda x: x[1:], objstore.InvalidArgument, r"returned \d+ values for \d+ rows"),
        (lambda x: 1.0, objstore.InvalidArgument, "returned one value for"),
        (lambda x: None, objstore.WrongType, "returned None"),
        (lambda x: numpy.array(["a"] * len(x)), objstore.WrongType, "returned an array of <U1"),
        (lambda x: [None] * len(x), objstore.WrongType, "returned None among objects"),
    ):
        store.define_function("columns", made, "f64[], n -> f64[]")
        with pytest.raises(problem, match=rf"columns\(\) {expected}"):
            store.objects(Place).filter("columns(x) < 1").count()
    store.define_function("columns", lambda x: x, "f64[], n -> i64[]")
    with pytest.raises(objstore.WrongType, match="returned an array of float64"):
        store.objects(Place).filter("columns(x) < 1").count()


def test_without_numpy(store, places, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)

    def norms(x, y):
        assert type(x) is memoryview and type(y) is list
        return [0.0 if b is None else math.hypot(a, b) for a, b in zip(x, y)]

    store.define_function("norms", norms, "f64[], f64?[], n -> f64[]")
    assert ids(store.objects(Place).filter("norms(x, y) > 100")) == wanted(
        places, lambda p: p["y"] is not None and norm(p["x"], p["y"]) > 100
    )
    store.define_function("later", lambda when: [w + timedelta(1) for w in when], "time[], n -> time[]")
    assert ids(store.objects(Place).filter("later(when) == $0", START + timedelta(5))) == [96]
    store.define_function(
        "sizes", lambda name, nick: [len(a) + len(b or "") for a, b in zip(name, nick)], "str[], str?[], n -> i64[]"
    )
    assert ids(store.objects(Place).filter("sizes(name, nick) == 7")) == wanted(
        places, lambda p: len(p["name"]) + len(p["nick"] or "") == 7
    )
    store.define_function("odd", lambda n: [None if a % 2 else a for a in n], "i64[], n -> i64?[]")
    assert ids(store.objects(Place).filter("odd(n) == NULL")) == wanted(places, lambda p: p["n"] is None or p["n"] % 2)
    for made, problem in (
        (lambda n: [1], objstore.InvalidArgument),
        (lambda n: "a" * len(n), objstore.WrongType),
        (lambda n: [None] * len(n), objstore.WrongType),
        (lambda n: ["a"] * len(n), objstore.WrongType),
        (lambda n: [2**63] * len(n), objstore.WrongType),
        (lambda n: [True] * len(n), objstore.WrongType),
    ):
        store.define_function("bad", made, "i64[], n -> i64[]")
        with pytest.raises(problem, match=r"bad\(\) returned"):
            store.objects(Place).filter("bad(n) == 1").count()


# Random queries


@pytest.mark.parametrize("seed", range(8))
def test_random_queries(store, places, seed):
    numpy = pytest.importorskip("numpy")
    chance = random.Random(seed)
    store.define_function("add", lambda a, b: a + b, "f64, f64 -> f64")
    store.define_function("adds", lambda a, b: a + b, "f64[], f64[], n -> f64[]")
    store.define_function("small", lambda a: None if a > 50 else a, "f64? -> f64?".replace("f64? ->", "f64 ->"))
    store.define_function("smalls", lambda a: numpy.ma.MaskedArray(a, a > 50), "f64[], n -> f64?[]")
    store.define_function("zero", lambda a: 0.0 if a is None else a, "f64? -> f64")
    store.define_function("zeros", lambda a: numpy.ma.filled(a, 0.0), "f64?[], n -> f64[]")

    def value(depth):
        """A text, and what it is of a place."""
        if depth == 0 or chance.random() < 0.2:
            name = chance.choice(["x", "y", "n", "rank"])
            if chance.random() < 0.25:
                number = chance.randrange(-20, 120)
                return str(number), lambda p: number
            return name, lambda p: p[name]
        kind = chance.randrange(5)
        text, of = value(depth - 1)
        if kind < 2:
            other, of_other = value(depth - 1)
            name = chance.choice(["add", "adds"])

            def added(p):
                a, b = of(p), of_other(p)
                return None if a is None or b is None else float(a) + float(b)

            return f"{name}({text}, {other})", added
        if kind == 2:
            name = chance.choice(["small", "smalls"])
            return f"{name}({text})", lambda p: None if of(p) is None or of(p) > 50 else float(of(p))
        if kind == 3:
            name = chance.choice(["zero", "zeros"])
            return f"{name}({text})", lambda p: 0.0 if of(p) is None else float(of(p))
        other, of_other = value(depth - 1)

        def sum_of(p):
            a, b = of(p), of_other(p)
            return None if a is None or b is None else a + b

        return f"({text} + {other})", sum_of

    def condition(depth):
        if depth and chance.random() < 0.5:
            (left, a), (right, b) = condition(depth - 1), condition(depth - 1)
            kind = chance.choice(["AND", "OR", "NOT"])
            if kind == "NOT":
                return f"NOT ({left})", lambda p: not a(p)
            if kind == "AND":
                return f"({left} AND {right})", lambda p: a(p) and b(p)
            return f"({left} OR {right})", lambda p: a(p) or b(p)
        text, of = value(3)
        if text.lstrip("(").lstrip("-").isdigit():
            text, of = "x", lambda p: p["x"]
        operator = chance.choice(["<", "<=", ">", ">=", "==", "!="])
        other, of_other = value(chance.randrange(2))
        if not any(letter.isalpha() for letter in text + other):
            other, of_other = "x", lambda p: p["x"]

        def holds(p):
            a, b = of(p), of_other(p)
            if operator in ("==", "!="):
                return (a == b) == (operator == "==")
            if a is None or b is None:
                return False
            return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]

        return f"{text} {operator} {other}", holds

    for _ in range(12):
        text, holds = condition(2)
        assert ids(store.objects(Place).filter(text)) == wanted(places, holds), text
        key, of = value(3)
        if key.endswith(")") and not key.startswith("("):
            descending = chance.random() < 0.5
            found = ids(store.objects(Place).filter(f"{text} SORT({key} {'DESC' if descending else 'ASC'})"))
            left = [p for p in places if holds(p)]
            left.sort(key=lambda p: (of(p) is not None, of(p) or 0), reverse=descending)
            if descending:  # equal ones stay in their order, which reverse= does, too
                pass
            assert found == [p["id"] for p in left], (text, key)
    with store.write():  # the same inside of a write
        text, holds = condition(1)
        assert ids(store.objects(Place).filter(text)) == wanted(places, holds), text


# What goes wrong


def test_exceptions_arrive_as_themselves(store):
    class Strange(Exception):
        pass

    def bad(x):
        raise Strange(f"of {x}")

    store.define_function("bad", bad, "f64 -> f64")
    bad_ones = store.objects(Place).filter("bad(x) > 1")
    for ask in (
        lambda: bad_ones.count(),
        lambda: list(bad_ones),
        lambda: bad_ones.first(),
        lambda: bad_ones.sum("rank"),
        lambda: bad_ones[0],
        lambda: bad_ones.explain(run=True),
        lambda: store.objects(Place).where(call("bad", Place.x) > 1).count(),
        lambda: list(store.objects(Place).order_by(call("bad", Place.x))),
    ):
        with pytest.raises(Strange, match="of 0.0"):
            ask()
    # One inside of another.
    store.define_function("outer", lambda x: float(bad_ones.count()), "f64 -> f64")
    with pytest.raises(Strange):
        store.objects(Place).filter("outer(x) > 1").count()
    store.define_function("interrupted", lambda x: (_ for _ in ()).throw(KeyboardInterrupt), "f64 -> f64")
    with pytest.raises(KeyboardInterrupt):
        store.objects(Place).filter("interrupted(x) > 1").count()
    assert store.objects(Place).filter("rank == 1").count() > 1


def test_wrong_results(store):
    for signature, value in (
        ("f64 -> f64", "1.0"), ("f64 -> f64", None), ("f64 -> i64", 1.5), ("f64 -> i64", True),
        ("f64 -> bool", 1), ("f64 -> str", b"a"), ("f64 -> bin", "a"), ("f64 -> time", 3),
        ("f64 -> time", datetime(2020, 1, 1)), ("f64 -> f32", [1]),
    ):  # fmt: skip
        store.define_function("wrong", lambda x, value=value: value, signature)
        with pytest.raises(objstore.WrongType, match=r"wrong\(\) returned"):
            store.objects(Place).filter("wrong(x) == NULL").count()
    store.define_function("wrong", lambda x: 2**63, "f64 -> i64")
    with pytest.raises(objstore.OutOfRange, match=r"the result of wrong\(\)"):
        store.objects(Place).filter("wrong(x) == 1").count()
    store.define_function("wrong", lambda x: 1, "f64 -> f64")
    assert store.objects(Place).filter("wrong(x) == 1 AND id == 0").count() == 1


def test_errors(store):
    store.define_function("norm", norm, "f64, f64 -> f64")
    for text, kind, position, message in (
        ("nrm(x, y) < 1", objstore.InvalidQuery, 0, "there is no function nrm: did you mean norm?"),
        ("id > 1 AND norm(x) < 1", objstore.InvalidQuery, 11, "takes 2 arguments"),
        ("norm(x, name) < 1", objstore.WrongType, 8, "argument 2 of norm, name, is a string: f64 is expected"),
        ("norm(x, y < 1) < 1", objstore.InvalidQuery, 13, "a condition is no argument"),
    ):
        with pytest.raises(kind, match=message.replace("?", r"\?")) as caught:
            store.objects(Place).filter(text)
        assert caught.value.position == position
    with pytest.raises(objstore.InvalidQuery, match="there is no function nothing"):
        store.objects(Place).where(call("nothing", Place.x) > 1).count()
    for signature, position in (
        ("f64, f65 -> f64", 5), ("f64 - f64", 5), ("f64[], n -> f64", 0), ("f64[] -> f64[]", 6), ("key -> f64", 0),
    ):  # fmt: skip
        with pytest.raises(objstore.InvalidSignature) as caught:
            store.define_function("f", norm, signature)
        assert caught.value.position == position
    for name in ("", "sort", "a-b", "1a", "Not", "é", "a b"):
        with pytest.raises(objstore.InvalidArgument):
            store.define_function(name, norm, "f64, f64 -> f64")
    for arguments in ((1, norm, "f64 -> f64"), ("f", 1, "f64 -> f64"), ("f", norm, 1), ("f", norm, "f64 -> f64", 1)):
        with pytest.raises((objstore.InvalidArgument, TypeError)):
            store.define_function(*arguments)

    async def later(x):
        return x

    with pytest.raises(objstore.InvalidArgument, match="coroutine"):
        store.define_function("f", later, "f64 -> f64")
    for name in (1, "a b", "", "é"):
        with pytest.raises(objstore.InvalidArgument):
            call(name, Place.x)
    with pytest.raises(objstore.NotFound, match="there is no function nothing"):
        store.undefine_function("nothing")


def test_observing_what_calls_functions(store):
    calls = []

    def near(x):
        calls.append(x)
        if x > 1000:
            raise ZeroDivisionError(x)
        return x < 3

    store.define_function("near", near, "f64 -> bool")
    log = []
    results = store.objects(Place).where(call("near", Place.x) == True).order_by(desc(Place.x))
    token = results.observe(
        lambda c: log.append((c.deletions, c.insertions, c.modifications, [p.id for p in c.inserted])), initial=False
    )
    with store.write():
        place = store.create(Place, {"id": 9000, "x": 2.5, "y": 0.0})
    assert store.deliver() == 1 and log[-1][3] == [9000] and log[-1][1] == [list(results).index(place)]
    with store.write():
        place.x = 4.0
    assert store.deliver() == 1 and len(log[-1][0]) == 1
    before = len(calls)
    with store.write():
        place.y = 1.0
    assert store.deliver() == 0 and len(calls) == before, "nothing that it is asked of was written"
    with store.write():
        place.x = 2000.0
    with pytest.raises(ZeroDivisionError):
        store.deliver()
    with store.write():
        place.x = 1.5
    assert store.deliver() == 1 and log[-1][3] == [9000], "nothing was lost"
    with store.write():
        place.x = 2000.0
    with pytest.raises(ZeroDivisionError):
        results.observe(print)
    token.close()
    with store.write():
        store.delete(place)


def test_redefinition(store):
    store.define_function("f", lambda x: x, "f64 -> f64")
    old = store.objects(Place).filter("f(id) == 7")
    expression = store.objects(Place).where(call("f", Place.id) == 7)
    assert ids(old) == ids(old) == [7] and ids(expression) == [7]
    store.define_function("f", lambda x: x + 1, "f64 -> f64")
    assert ids(old) == [7] and ids(expression) == [7]
    assert ids(store.objects(Place).filter("f(id) == 8")) == [7]
    assert ids(store.objects(Place).where(call("f", Place.id) == 8)) == [7]
    store.undefine_function("f")
    assert ids(old) == [7]
    with pytest.raises(objstore.InvalidQuery, match="there is no function f"):
        store.objects(Place).filter("f(id) == 7").count()


def test_the_store_inside_of_a_call(path):
    with objstore.open(path, models=[Place]) as store:
        with store.write():
            for index in range(20):
                store.add(Place(**place(index)))
        store.define_function("norm", norm, "f64, f64 -> f64")

        def inside(number):
            assert store.get(Place, number).id == number
            assert store.objects(Place).filter("norm(id, 0) < 5").count() == 5
            with pytest.raises(objstore.InCallback):
                store.close()
            return True

        store.define_function("inside", inside, "i64 -> bool")
        assert store.objects(Place).filter("inside(id) == true").count() == 20
        with store.write():
            assert store.objects(Place).filter("inside(id) == true").count() == 20

        def writes(number):
            store.add(Place(id=1000 + number))
            return 1.0

        store.define_function("writes", writes, "i64 -> f64")
        with store.write():
            with pytest.raises(objstore.InCallback, match="is being asked in the transaction"):
                store.objects(Place).filter("writes(id) == 1").count()
            store.add(Place(id=2000))
        assert store.objects(Place).count() == 21

        def writes_on_its_own(number):
            if number == 0:
                with store.write():
                    store.add(Place(id=3000))
            return number

        store.define_function("own", writes_on_its_own, "i64 -> i64")
        assert store.objects(Place).filter("own(id) >= 0").count() == 21
        assert store.objects(Place).count() == 22
    with pytest.raises(objstore.Closed):
        store.define_function("norm", norm, "f64, f64 -> f64")


def test_many_threads(store, places):
    numpy = pytest.importorskip("numpy")
    store.define_function("norm", norm, "f64, f64 -> f64")
    store.define_function("norms", lambda x, y: numpy.hypot(x, y), "f64[], f64[], n -> f64[]")
    near = len(wanted(places, lambda p: p["y"] is not None and norm(p["x"], p["y"]) < 40))
    found = []

    def ask(number):
        name = "norms" if number % 2 else "norm"
        found.append(store.objects(Place).filter(f"{name}(x, y) < $0", 40 + number / 1e9).count())

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [near] * 8


def test_functions_of_ctypes(store, places):
    Row = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p)

    @Row
    def scaled(x, result, userdata):
        result[0] = x * userdata
        return 0

    store.define_function("scaled", scaled, "f64 -> f64", userdata=3)
    assert ids(store.objects(Place).filter("scaled(x) < 30")) == wanted(places, lambda p: p["x"] * 3 < 30)
    fail = ffi.bind("objstore_fail")

    @Row
    def failing(x, result, userdata):
        return fail(77, ffi.text("no such place"))

    store.define_function("failing", failing, "f64 -> f64")
    with pytest.raises(objstore.HandlerFailed, match="function failing: no such place") as caught:
        store.objects(Place).filter("failing(x) < 30").count()
    assert caught.value.callback_code == 77
    with pytest.raises(objstore.InvalidArgument, match="needs a signature"):
        store.define_function("scaled", scaled)


def test_sections_by_functions(store, places):
    store.define_function("tens", lambda n: None if n is None else n // 10, "i64? -> i64?")
    store.define_function("label", lambda n: f"about {n // 10}", "i64 -> str")
    rows = store.objects(Place)
    for sections, key in (
        (rows.sections("tens(n)"), lambda p: None if p["n"] is None else p["n"] // 10),
        (rows.sections(call("tens", Place.n)), lambda p: None if p["n"] is None else p["n"] // 10),
        (rows.sections("label(rank)"), lambda p: f"about {p['rank'] // 10}"),
        (rows.sections("tens(n) + $0", 5), lambda p: None if p["n"] is None else p["n"] // 10 + 5),
    ):
        groups = {}
        for place in places:
            groups.setdefault(key(place), []).append(place["id"])
        assert [(s.key, [p.id for p in s]) for s in sections] == list(groups.items())
    with store.write():
        assert rows.sections("label(rank)", order="ascending").keys() == sorted(
            {f"about {p['rank'] // 10}" for p in places}
        )

    def fails(n):
        raise KeyError(n)

    store.define_function("fails", fails, "i64 -> i64")
    for sections in (rows.sections("fails(rank)"), rows.sections(call("fails", Place.rank))):
        with pytest.raises(KeyError):
            len(sections)


def test_orders_of_groups_by_functions(store, places):
    asked = []

    def reversed_digits(n):
        asked.append(n)
        return int(str(n)[::-1])

    store.define_function("turned", reversed_digits, "i64 -> i64")
    store.define_function("label", lambda n: str(n)[::-1] * 3, "i64 -> str")
    counts = {}
    for place in places:
        counts[place["rank"]] = counts.get(place["rank"], 0) + 1
    rows = store.objects(Place)
    table = rows.table("GROUP(rank) SORT(turned(rank) DESC) SELECT(rank, @count AS n)")
    wanted = sorted(counts, key=lambda rank: int(str(rank)[::-1]), reverse=True)
    assert [tuple(row) for row in table] == [(rank, counts[rank]) for rank in wanted]
    assert sorted(asked) == sorted(counts)  # once for each group
    table = rows.group_by(Place.rank).order_by(call("label", Place.rank)).limit(7).select(Place.rank)
    assert [row[0] for row in table] == sorted(counts, key=lambda rank: str(rank)[::-1] * 3)[:7]
    table = rows.table("GROUP(rank) SORT(turned(@count) ASC, label(rank) DESC) SELECT(rank)")
    first = sorted(counts, key=lambda rank: str(rank)[::-1] * 3, reverse=True)
    assert [row[0] for row in table] == sorted(first, key=lambda rank: int(str(counts[rank])[::-1]))
    with store.write():
        assert len(rows.table("GROUP(rank) SORT(turned(rank) ASC) LIMIT(3)")) == 3
    store.define_function("fails", lambda n: 1 // 0, "i64 -> i64")
    with pytest.raises(ZeroDivisionError):
        len(rows.table("GROUP(rank) SORT(fails(rank) ASC)"))
