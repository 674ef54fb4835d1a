"""Lists, sets and dicts: what builtin ones can do, live in a store."""

import collections.abc
import copy
import json
import math
import pickle
import random
import typing
import uuid
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest

import objstore
from models import Color, Mood
from objstore import Dict, Float32, List, ObjectId, Set, all_, any_, field, none_

NOW = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=timezone.utc)


class Kennel(objstore.Model):
    name: str = field(primary_key=True)
    toys: list[str]
    scores: list[float | None]
    seen: set[str]
    notes: dict[str, str]
    by_id: dict[int, float] = field(default_factory=dict)
    numbers: List[int]
    rest: typing.Optional[bytes] = None


class Bare(objstore.Model):
    """Nothing but a collection, and no primary key."""

    words: Set[str]


class Kinds(objstore.Model):
    key: int = field(primary_key=True)
    flags: list[bool | None]
    ints: list[int | None]
    singles: "list[Float32 | None]"
    reals: typing.List[typing.Optional[float]]
    decimals: list[Decimal | None]
    texts: list[str | None]
    raws: list[bytes | None]
    times: list[datetime | None]
    ids: list[ObjectId | None]
    tokens: "List[uuid.UUID | None]"
    colors: list[Color | None]
    moods: list[Mood | None]


VALUES = {
    "flags": [True, False],
    "ints": [0, -1, 2**63 - 1, -(2**63)],
    "singles": [0.0, 0.5, -math.inf, 3.25],
    "reals": [0.0, 0.1, -1e300, math.inf],
    "decimals": [Decimal("1.50"), Decimal("-0"), Decimal("9" * 34), Decimal("1E-6176")],
    "texts": ["", "a", "ä€😀", "with\0zero", "x" * 5000],
    "raws": [b"", b"\0\xff", b"y" * 5000],
    "times": [NOW, datetime.fromtimestamp(0, timezone.utc), NOW - timedelta(days=50000)],
    "ids": [ObjectId(bytes(12)), ObjectId(b"\xff" * 12), ObjectId()],
    "tokens": [uuid.UUID(int=0), uuid.uuid4(), uuid.UUID(int=2**128 - 1)],
    "colors": [Color.BROWN, Color.WHITE],
    "moods": [Mood.CALM, Mood.WILD],
}


@pytest.fixture
def store(path):
    with objstore.open(path, models=[Kennel, Bare, Kinds]) as opened:
        yield opened
        if not opened.is_closed:
            opened.verify()


def full(name="Rex"):
    return Kennel(
        name=name,
        toys=["ball", "bone", "ball"],
        scores=[1, None, 2.5],
        seen={"b", "a"},
        notes={"k": "v", "a": "b"},
        by_id={2: 0.5, 1: 1.5},
        numbers=range(5),
    )


def contents(obj):
    return {
        p.name: getattr(obj, p.name) if p.shape is None else getattr(obj, p.name).copy()
        for p in type(obj)._objstore_properties
    }


FULL = {
    "name": "Rex",
    "toys": ["ball", "bone", "ball"],
    "scores": [1.0, None, 2.5],
    "seen": {"a", "b"},
    "notes": {"a": "b", "k": "v"},
    "by_id": {1: 1.5, 2: 0.5},
    "numbers": [0, 1, 2, 3, 4],
    "rest": None,
}
EMPTY = {"toys": [], "scores": [], "seen": set(), "notes": {}, "by_id": {}, "numbers": [], "rest": None}


# Declaring, and unmanaged objects


def test_declarations_are_seen():
    described = [(p.name, p.type_name) for p in Kennel._objstore_properties if p.shape is not None]
    assert described == [
        ("toys", "list[str]"),
        ("scores", "list[float | None]"),
        ("seen", "set[str]"),
        ("notes", "dict[str, str]"),
        ("by_id", "dict[int, float]"),
        ("numbers", "list[int]"),
    ]

    class Inherited(Kennel):
        more: dict[ObjectId, Color]

    assert Inherited.toys is not Kennel.toys and Inherited(name="x", toys=["y"]).toys == ["y"]
    with pytest.raises(objstore.WrongType, match="Inherited.toys"):
        Inherited(name="x", toys=[5])


@pytest.mark.parametrize(
    "annotation, given, message",
    [
        (list, None, "say what is in the list"),
        (set, None, "say what is in the set"),
        (dict, None, "say what is in the dict"),
        (dict[float, int], None, "a key is"),
        (dict[str | None, int], None, "a key is"),
        (dict[bool, int], None, "a key is"),
        (list[int], field(primary_key=True), "no primary key"),
        (list[int], field(indexed=True), "has no index"),
        (list[int], field(unique=True), "not unique"),
        (Kennel | None, field(unique=True), "a link cannot be unique by itself"),
        (list[int], [], "by a function"),
        (list[int], field(default=[1]), "by a function"),
        (list[int], field(default=[1], default_factory=list), "a default and a default_factory"),
        (int, field(default=1, default_factory=int), "a default and a default_factory"),
    ],
)
def test_wrong_declarations(annotation, given, message):
    namespace = {"__annotations__": {"x": annotation}, "__module__": __name__} | ({} if given is None else {"x": given})
    with pytest.raises(objstore.SchemaError, match=message) as caught:
        type(objstore.Model)("Wrong", (objstore.Model,), namespace)
    assert (caught.value.class_name, caught.value.property_name) == ("Wrong", "x")


def test_unmanaged_objects_have_builtin_ones():
    dog, given = full(), ["mine"]
    assert {name: type(value) for name, value in contents(dog).items() if name in EMPTY and name != "rest"} == {
        "toys": list,
        "scores": list,
        "seen": set,
        "notes": dict,
        "by_id": dict,
        "numbers": list,
    }
    assert contents(dog) == FULL and contents(Kennel(name="x")) == EMPTY | {"name": "x"}
    assert type(dog.toys) is list and type(dog.scores[0]) is float
    dog.toys = given
    dog.toys.append("more")
    assert given == ["mine"] and dog.toys == ["mine", "more"]
    assert Kennel(name="x").toys is not Kennel(name="y").toys
    assert repr(Kennel(name="x", toys=["a"], seen={"b"}, notes={"c": "d"})) == (
        "Kennel(name='x', toys=['a'], scores=[], seen={'b'}, notes={'c': 'd'}, by_id={}, numbers=[], rest=None)"
    )
    assert "… 980 more]" in repr(Kennel(name="x", numbers=range(1000)))
    other = dog.detach()
    other.toys.append("his")
    assert dog.toys == ["mine", "more"]


WRONG = [
    ("toys", "ball", objstore.WrongType, "a list"),
    ("toys", 5, objstore.WrongType, "a list"),
    ("toys", {"a": "b"}, objstore.WrongType, "a list"),
    ("toys", None, objstore.NotNullable, r"an empty one is \[\]"),
    ("toys", ["a", 5], objstore.WrongType, "an element of Kennel.toys: a str"),
    ("toys", ["a", None], objstore.NotNullable, "an element of Kennel.toys may not be None"),
    ("scores", [1, "x"], objstore.WrongType, "an element of Kennel.scores: a float"),
    ("seen", "ab", objstore.WrongType, "a set"),
    ("seen", ["a", 5], objstore.WrongType, "an element of Kennel.seen"),
    ("notes", ["a"], objstore.WrongType, "a dict"),
    ("notes", {"a": 5}, objstore.WrongType, "an element of Kennel.notes: a str"),
    ("notes", {5: "a"}, objstore.WrongType, "a key of Kennel.notes: a str"),
    ("notes", {None: "a"}, objstore.NotNullable, "a key of Kennel.notes is never None"),
    ("by_id", {2**63: 1.0}, objstore.OutOfRange, "64 bits"),
    ("numbers", [1, 2**63], objstore.OutOfRange, "an element of Kennel.numbers: .* 64 bits"),
    ("numbers", [True], objstore.WrongType, "an int"),
]


@pytest.mark.parametrize("name, value, error, message", WRONG, ids=lambda v: repr(v)[:20])
def test_what_does_not_fit(store, name, value, error, message):
    with pytest.raises(error, match=message) as caught:
        Kennel(name="x", **{name: value})
    assert (caught.value.class_name, caught.value.property_name) == ("Kennel", name)
    with store.write():
        dog = store.add(full())
        unchecked = Kennel(name="y")
        unchecked._o_values[
            unchecked._objstore_properties[[p.name for p in Kennel._objstore_properties].index(name)].index
        ] = value
        for way in (
            lambda: setattr(dog, name, value),
            lambda: store.create(Kennel, {"name": "x", name: value}),
            lambda: store.create(Kennel, {"name": "Rex", name: value}, update="all"),
            lambda: store.create_all(
                Kennel,
                [{"name": "x", name: ()}, {"name": "z", name: value}]
                if name != "notes" and name != "by_id"
                else [{"name": "x"}, {"name": "z", name: value}],
            ),
            lambda: store.objects(Kennel).update(**{name: value}),
            lambda: store.add(unchecked),
            lambda: store.add_all([Kennel(name="a", toys=["b"]), unchecked]),
            lambda: store.add_all([Kennel(name="a", toys=["b"]), unchecked], update="modified"),
        ):
            with pytest.raises(error, match=message) as caught:
                way()
            assert (caught.value.class_name, caught.value.property_name) == ("Kennel", name)
            assert not unchecked.is_managed
        assert caught.value.position == 1
        assert [contents(o) for o in store.objects(Kennel)] == [FULL]


# Managed ones: every kind, every way in and out


@pytest.mark.parametrize("name", VALUES)
def test_every_kind(store, name):
    values = VALUES[name] + [None] + VALUES[name][::-1]
    many = values * 300  # beyond a block

    def check(found, wanted):
        assert found == wanted and [(type(v), str(v)) for v in found] == [(type(v), str(v)) for v in wanted]

    with store.write():
        one = store.add(Kinds(key=1, **{name: values}))
        store.add_all([Kinds(key=2, **{name: many}), Kinds(key=3)])
        store.create_all(Kinds, [{"key": 4, name: many}, {"key": 5, name: []}])
        live = getattr(one, name)
        for value in values:
            live.append(value)
        live[0] = None
        check(live[1:], values[1:] + values)
        live[0] = values[0]

    def check_all(source):
        by_key = {o.key: getattr(o, name) for o in source.objects(Kinds)}
        check(list(by_key[1]), values + values)
        check(list(by_key[2]), many)
        check(by_key[4][:], many)
        assert by_key[3] == by_key[5] == [] and not by_key[3]
        check([by_key[1][i] for i in range(len(values))], values)
        assert all(value in by_key[1] for value in values) and by_key[2].index(None) == len(VALUES[name])
        assert by_key[2].count(values[0]) == many.count(values[0])

    check_all(store)
    with store.freeze() as frozen:
        check_all(frozen)
    path = store.path
    store.verify()
    store.close()
    with objstore.open(path, models=[Kinds]) as again:
        check_all(again)
        with again.write():
            for obj in again.objects(Kinds):
                getattr(obj, name).clear()
        again.verify()


def test_live(store):
    with store.write():
        dog = store.add(full())
        toys = dog.toys
        assert isinstance(toys, List) and isinstance(toys, collections.abc.MutableSequence)
        assert isinstance(dog.seen, Set) and isinstance(dog.seen, collections.abc.MutableSet)
        assert isinstance(dog.notes, Dict) and isinstance(dog.notes, collections.abc.MutableMapping)
        assert contents(dog) == FULL
        toys.append("rope")
        assert dog.toys == ["ball", "bone", "ball", "rope"] and dog.toys == toys and len(toys) == 4
        dog.toys = toys  # its own content
        dog.toys = reversed(toys)
        assert toys == ["rope", "ball", "bone", "ball"]
        dog.toys += ["stick"]
        dog.seen |= {"c"}
        dog.seen -= {"a"}
        dog.notes |= {"k": "w", "z": "y"}
        assert (dog.toys[-1], dog.seen, dog.notes) == ("stick", {"b", "c"}, {"a": "b", "k": "w", "z": "y"})
        dog.seen = dog.seen
        dog.notes = dog.notes
        assert (len(dog.seen), len(dog.notes)) == (2, 3)
        dog.toys = ()
        assert not dog.toys and dog.toys == []
        before = dog.freeze
    frozen = before()
    with store.write():
        dog.toys = ["x"]
        dog.toys = frozen.toys  # the same property, of another version
        assert dog.toys == []
        dog.toys = ["x"]
    assert frozen.toys == [] and dog.toys == ["x"] and frozen.seen == {"b", "c"}
    assert copy.copy(dog.toys) == copy.deepcopy(dog.toys) == pickle.loads(pickle.dumps(dog.toys)) == ["x"]
    assert (
        type(dog.notes.copy()) is dict
        and type(copy.copy(dog.seen)) is set
        and pickle.loads(pickle.dumps(dog.notes)) == dog.notes
    )
    assert json.dumps(dog.notes.copy()) == '{"a": "b", "k": "w", "z": "y"}'
    assert {**dog.notes} == dict(dog.notes) == dog.notes and [*dog.toys] == ["x"]
    for name in ("toys", "seen", "notes"):
        with pytest.raises(TypeError):
            hash(getattr(dog, name))
    for cls in (List, Set, Dict):
        with pytest.raises(TypeError, match="builtin"):
            cls()


def test_showing(store):
    with store.write():
        dog = store.add(full())
        dog.numbers = range(3000)
        dog.notes["x"] = "<b>"
    assert (
        repr(dog.toys) == "['ball', 'bone', 'ball']"
        and repr(dog.seen) == "{'a', 'b'}"
        and repr(dog.by_id) == "{1: 1.5, 2: 0.5}"
    )
    assert repr(dog.numbers).startswith("[0, 1, 2,") and repr(dog.numbers).endswith("18, 19, … 2,980 more]")
    assert "toys=['ball', 'bone', 'ball'], scores=[1.0, None, 2.5], seen={'a', 'b'}" in repr(dog)
    assert "<td>[&#x27;ball&#x27;, &#x27;bone&#x27;" in dog._repr_html_() and "&lt;b&gt;" in dog._repr_html_()
    assert "<table>" in store.objects(Kennel)._repr_html_()
    with store.write():
        dog.toys, dog.seen, dog.notes = [], [], {}
        assert (repr(dog.toys), repr(dog.seen), repr(dog.notes)) == ("[]", "set()", "{}")
        toys = dog.toys
        store.delete(dog)
        assert repr(toys).startswith("<List Kennel.toys: ")


def test_only_inside_a_write(store):
    with store.write():
        dog = store.add(full())
    frozen = store.freeze()
    for obj in (dog, frozen.get(Kennel, "Rex")):
        changes = [
            lambda: setattr(obj, "toys", []),
            lambda: obj.toys.append("x"),
            lambda: obj.toys.extend([]),
            lambda: obj.toys.clear(),
            lambda: obj.toys.insert(0, "x"),
            lambda: obj.toys.pop(),
            lambda: obj.toys.remove("ball"),
            lambda: obj.toys.reverse(),
            lambda: obj.toys.sort(),
            lambda: obj.toys.move(0, 1),
            lambda: obj.toys.__setitem__(0, "x"),
            lambda: obj.toys.__delitem__(0),
            lambda: obj.toys.__delitem__(slice(0)),
            lambda: obj.toys.__setitem__(slice(0), ()),
            lambda: obj.toys.__iadd__([]),
            lambda: obj.seen.add("x"),
            lambda: obj.seen.discard("a"),
            lambda: obj.seen.remove("a"),
            lambda: obj.seen.pop(),
            lambda: obj.seen.clear(),
            lambda: obj.seen.update(),
            lambda: obj.seen.__iand__({"a"}),
            lambda: obj.seen.__ior__({"a"}),
            lambda: obj.seen.__isub__({"x"}),
            lambda: obj.seen.__ixor__({"x"}),
            lambda: obj.notes.__setitem__("a", "b"),
            lambda: obj.notes.__delitem__("a"),
            lambda: obj.notes.pop("a"),
            lambda: obj.notes.popitem(),
            lambda: obj.notes.clear(),
            lambda: obj.notes.update(),
            lambda: obj.notes.setdefault("a", "b"),
            lambda: obj.notes.__ior__({}),
        ]
        for change in changes:
            with pytest.raises(objstore.NotInWrite, match=r"Kennel\.(toys|seen|notes)") as caught:
                change()
            assert caught.value.class_name == "Kennel" and caught.value.property_name in ("toys", "seen", "notes")
        assert contents(obj) == FULL
    frozen.close()
    for use in (
        lambda: len(obj.toys),
        lambda: "a" in obj.seen,
        lambda: obj.notes["a"],
        lambda: list(obj.toys),
        lambda: obj.detach(),
    ):
        with pytest.raises(objstore.Closed):
            use()


def test_of_what_is_gone(store):
    with store.write():
        dog, other = store.add(full()), store.add(full("Max"))
        toys, seen, notes = other.toys, other.seen, other.notes
        store.delete(other)
        uses = [
            lambda: len(toys),
            lambda: toys[0],
            lambda: toys[-1],
            lambda: list(toys),
            lambda: 5 in toys,
            lambda: "x" in toys,
            lambda: toys.append("x"),
            lambda: toys.clear(),
            lambda: toys.extend(["x"]),
            lambda: setattr(other, "toys", []),
            lambda: "x" in seen,
            lambda: 5 in seen,
            lambda: seen.add("x"),
            lambda: seen.discard("x"),
            lambda: seen.update({"x"}),
            lambda: notes["x"],
            lambda: notes[5],
            lambda: notes.get("x"),
            lambda: notes.__setitem__("a", "b"),
            lambda: notes.pop("x", None),
            lambda: list(notes.items()),
            lambda: other.detach(),
        ]
        for use in uses:
            with pytest.raises(objstore.NoSuchObject):
                use()
    with pytest.raises(objstore.NoSuchObject):
        len(other.toys)
    with pytest.raises(RuntimeError, match="undone"), store.write():
        new = store.add(full("New"))
        live = new.toys
        live.append("more")
        raise RuntimeError("undone")
    with pytest.raises(objstore.NoSuchObject):
        len(live)
    assert new.toys == FULL["toys"] and type(new.toys) is list and not new.is_managed
    store.close()
    with pytest.raises(objstore.Closed):
        len(dog.toys)


# Against the builtin ones


def compare(live, plain):
    assert (
        len(live) == len(plain)
        and live == plain
        and list(live) == list(plain if not isinstance(plain, (set, dict)) else sorted(plain, key=_order))
    )
    if isinstance(plain, dict):
        assert list(live.items()) == sorted(plain.items(), key=lambda e: _order(e[0]))
        assert list(live.values()) == [v for _, v in sorted(plain.items(), key=lambda e: _order(e[0]))]


def _order(value):
    return (value is not None, value)


def both(live, plain, act, *, ordered=True):
    """The same of both: result or exception."""
    results = []
    for target in (live, plain):
        try:
            result = act(target)
            results.append(list(result) if isinstance(result, (List, collections.abc.Iterator)) else result)
        except (LookupError, ValueError, TypeError) as error:
            results.append(type(error) if not isinstance(error, IndexError) else IndexError)
    assert results[0] == results[1] or not ordered, results
    return results


def list_acts(r, make, size):
    i = lambda: r.randrange(-size - 2, size + 3)
    some = lambda n=4: [make() for _ in range(r.randrange(n))]
    cut = slice(r.choice([None, i()]), r.choice([None, i()]), r.choice([None, None, 1, 2, -1, -3]))
    a, b, value, values, long = i(), i(), make(), some(), some(200)
    return [
        lambda x: x.append(value),
        lambda x: x.insert(a, value),
        lambda x: x.extend(values),
        lambda x: x.extend(iter(long)),
        lambda x: x[a],
        lambda x: list(x[cut]),
        lambda x: x.__setitem__(a, value),
        lambda x: x.__setitem__(cut, values),
        lambda x: x.__setitem__(slice(a, b), long),
        lambda x: x.__delitem__(a),
        lambda x: x.__delitem__(cut),
        lambda x: x.pop(),
        lambda x: x.pop(a),
        lambda x: x.remove(value),
        lambda x: x.index(value),
        lambda x: x.index(value, a, b),
        lambda x: x.count(value),
        lambda x: value in x,
        lambda x: x.reverse(),
        lambda x: x.sort(key=_order, reverse=a > 0),
        lambda x: reversed(x),
        lambda x: x.__iadd__(values) and None,
        lambda x: x + values,
        lambda x: values + list(x),
        lambda x: x == values,
        lambda x: bool(x),
        lambda x: x.__setitem__(cut, x[cut]),
        lambda x: x.clear() if a == 0 else None,
    ]


def set_acts(r, make, size):
    some = lambda n=5: {make() for _ in range(r.randrange(n))}
    value, a, b, long, n = make(), some(), some(20), some(150), r.randrange(20)
    return [
        lambda x: x.add(value),
        lambda x: x.discard(value),
        lambda x: x.remove(value),
        lambda x: value in x,
        lambda x: x | a,
        lambda x: x & b,
        lambda x: x - a,
        lambda x: x ^ b,
        lambda x: a | x,
        lambda x: b & x,
        lambda x: b - x,
        lambda x: b ^ x,
        lambda x: x.__ior__(a) and None,
        lambda x: x.__ior__(long) and None,
        lambda x: x.__iand__(b) and None if n == 0 else None,
        lambda x: x.__isub__(b) and None,
        lambda x: x.__ixor__(b) and None,
        lambda x: x.update(a, b),
        lambda x: x.intersection_update(x, long) if n == 1 else None,
        lambda x: x.difference_update(a, b),
        lambda x: x.symmetric_difference_update(a),
        lambda x: x.union(a, list(b)),
        lambda x: x.intersection(b),
        lambda x: x.difference(a),
        lambda x: x.symmetric_difference(b),
        lambda x: x <= b,
        lambda x: x < b,
        lambda x: x >= a,
        lambda x: x > a,
        lambda x: x == b,
        lambda x: x.isdisjoint(b),
        lambda x: x.issubset(b),
        lambda x: x.issuperset(a),
        lambda x: x | [1],
        lambda x: x.__ior__([1]),
        lambda x: x.clear() if n == 2 else None,
        lambda x: x != a,
        lambda x: [] if x else [1],
    ]


def dict_acts(r, make, size):
    key, value, other = make.key(), make(), make.key()
    some, long = (
        {make.key(): make() for _ in range(r.randrange(5))},
        {make.key(): make() for _ in range(r.randrange(150))},
    )
    n = r.randrange(20)
    return [
        lambda x: x.__setitem__(key, value),
        lambda x: x[key],
        lambda x: x.__delitem__(key),
        lambda x: x.get(key),
        lambda x: x.get(key, value),
        lambda x: x.pop(key),
        lambda x: x.pop(key, value),
        lambda x: x.setdefault(key, value),
        lambda x: x.update(some),
        lambda x: x.update(long),
        lambda x: x.update(list(some.items())),
        lambda x: x | some,
        lambda x: some | x if isinstance(x, dict) else some | x,
        lambda x: x.__ior__(some) and None,
        lambda x: key in x,
        lambda x: key in x.keys(),
        lambda x: (key, value) in x.items(),
        lambda x: value in x.values(),
        lambda x: x == some,
        lambda x: x.keys() & some.keys(),
        lambda x: x.clear() if n == 0 else None,
        lambda x: x.pop(other, None),
        lambda x: bool(x),
        lambda x: x[[]],
        lambda x: x.update([1]),
        lambda x: 5.5 in x,
    ]


class Maker:
    def __init__(self, r):
        self.r = r


class Texts(Maker):
    def __call__(self):
        return self.r.choice("abcdefgh") * self.r.choice([0, 1, 1, 2, 30]) + str(self.r.randrange(9))

    key = __call__


class Numbers(Maker):
    def __call__(self):
        return None if self.r.random() < 0.1 else self.r.randrange(-20, 20) / 4

    def key(self):
        return self.r.randrange(-100, 100)


class Ints(Maker):
    def __call__(self):
        return self.r.randrange(-300, 300)


@pytest.mark.parametrize("seed", random.sample(range(10**6), 2) + [1])
@pytest.mark.parametrize(
    "name, maker, acts",
    [
        ("toys", Texts, list_acts),
        ("scores", Numbers, list_acts),
        ("numbers", Ints, list_acts),
        ("seen", Texts, set_acts),
        ("notes", Texts, dict_acts),
        ("by_id", type("Reals", (Numbers,), {"__call__": lambda self: self.r.randrange(99) / 2}), dict_acts),
    ],
)
def test_random_histories(path, name, maker, acts, seed):
    print("seed", seed)
    r = random.Random(seed)
    make = maker(r)
    plain = {"toys": [], "scores": [], "numbers": [], "seen": set(), "notes": {}, "by_id": {}}[name]
    store = objstore.open(path, models=[Kennel])
    with store.write():
        store.add(full("other"))
        store.add(Kennel(name="x"))
    for _ in range(25):
        before, undone = copy.copy(plain), r.random() < 0.2
        with store.write() as tx:
            live = getattr(store.get(Kennel, "x"), name)
            for _ in range(r.randrange(30)):
                if r.random() < 0.1:
                    kept = copy.copy(plain)
                    with tx.savepoint() as scope:
                        for _ in range(5):
                            both(live, plain, r.choice(acts(r, make, len(plain))))
                        if r.random() < 0.5:
                            scope.cancel()
                            plain = kept
                    compare(live, plain)
                elif isinstance(plain, list) and plain and r.random() < 0.05:
                    source, target = r.randrange(-len(plain), len(plain)), r.randrange(len(plain))
                    live.move(source, target)
                    plain.insert(target, plain.pop(source))
                elif not isinstance(plain, list) and r.random() < 0.05:
                    for take in (live.pop,) if isinstance(plain, set) else (live.popitem,):
                        if plain:
                            taken = take()
                            first = min(plain, key=_order) if isinstance(plain, set) else max(plain)
                            assert taken == (first if isinstance(plain, set) else (first, plain[first]))
                            plain.remove(first) if isinstance(plain, set) else plain.pop(first)
                        else:
                            with pytest.raises(KeyError):
                                take()
                elif r.random() < 0.03:
                    plain = {list: list, set: set, dict: dict}[type(plain)](
                        [(make.key(), make()) for _ in range(r.randrange(300))]
                        if isinstance(plain, dict)
                        else [make() for _ in range(r.randrange(300))]
                    )
                    setattr(store.get(Kennel, "x"), name, plain)
                else:
                    both(live, plain, r.choice(acts(r, make, len(plain))))
                compare(live, plain)
            if undone:
                tx.cancel()
        if undone:
            plain = before
        compare(live, plain)
        if r.random() < 0.1:
            store.verify()
            store.close()
            store = objstore.open(path, models=[Kennel])
            live = getattr(store.get(Kennel, "x"), name)
            compare(live, plain)
    assert contents(store.get(Kennel, "other")) == FULL | {"name": "other"}
    store.verify()
    store.close()


def test_all_or_nothing(store):
    with store.write():
        dog = store.add(full())
        long_key, lone = "k" * 1025, "\ud800"
        for error, use in [
            (objstore.WrongType, lambda: dog.toys.extend(["a", 5])),
            (objstore.WrongType, lambda: dog.toys.__setitem__(slice(0, 2), ["a", 5])),
            (objstore.WrongType, lambda: dog.toys.append(5)),
            (objstore.WrongType, lambda: dog.toys.insert(0, 5)),
            (objstore.WrongType, lambda: dog.toys.__setitem__(0, 5)),
            (objstore.NotNullable, lambda: dog.toys.append(None)),
            (objstore.InvalidText, lambda: dog.toys.extend(["a", lone])),
            (objstore.InvalidText, lambda: setattr(dog, "toys", ["a", lone])),
            (objstore.InvalidText, lambda: dog.seen.update(["c", lone])),
            (objstore.WrongType, lambda: dog.seen.update(["c", 5])),
            (objstore.WrongType, lambda: dog.seen.add(5)),
            (objstore.WrongType, lambda: dog.seen.__ior__({"c", 5})),
            (objstore.WrongType, lambda: dog.seen.__ixor__({"c", 5})),
            (objstore.TooLarge, lambda: dog.notes.update({"a": "c", long_key: "x"})),
            (objstore.TooLarge, lambda: dog.notes.update({long_key: "x", "a": "c"})),
            (objstore.TooLarge, lambda: setattr(dog, "notes", {"a": "c", long_key: "x"})),
            (objstore.WrongType, lambda: dog.notes.update({"a": "c"}, b=5)),
            (objstore.WrongType, lambda: dog.notes.__setitem__("a", 5)),
            (objstore.WrongType, lambda: dog.notes.__setitem__(5, "a")),
            (objstore.WrongType, lambda: dog.notes.setdefault("new", 5)),
            (objstore.NotNullable, lambda: dog.notes.setdefault("new")),
            (TypeError, lambda: dog.scores.sort()),
            (TypeError, lambda: dog.toys.__getitem__("x")),
            (TypeError, lambda: dog.toys.__getitem__(1.5)),
            (IndexError, lambda: dog.toys[3]),
            (IndexError, lambda: dog.toys[2**70]),
            (IndexError, lambda: dog.toys[-4]),
            (IndexError, lambda: dog.toys.move(0, 3)),
            (ValueError, lambda: dog.toys.__setitem__(slice(None, None, 2), ["x"])),
            (TypeError, lambda: dog.notes.__getitem__([])),
            (objstore.IndexOutOfRange, lambda: dog.toys.pop(7)),
            (ZeroDivisionError, lambda: dog.toys.extend(str(1 // x) for x in (1, 0))),
        ]:
            with pytest.raises(error) as caught:
                use()
            if isinstance(caught.value, objstore.Error):
                assert (caught.value.class_name, "Kennel." in str(caught.value)) == ("Kennel", True), caught.value
                assert caught.value.property_name in ("toys", "seen", "notes")
            assert contents(dog) == FULL
        with pytest.raises(objstore.IndexOutOfRange, match="Kennel.toys: index 3 of 3 elements"):
            dog.toys[3]
        for value in (5, None, b"ball", lone, long_key, long_key + "ä"):
            assert (
                value not in dog.toys
                and value not in dog.seen
                and value not in dog.notes
                and dog.notes.get(value) is None
            )
            assert dog.toys.count(value) == 0 and dog.notes.pop(value, "no") == "no"
            with pytest.raises(KeyError):
                dog.notes[value]


def test_loops_go_over_what_was_there(store):
    with store.write():
        dog = store.add(
            Kennel(name="x", numbers=range(5000), seen=map(str, range(3000)), by_id={i: i for i in range(3000)})
        )
        for first in dog.numbers:
            dog.numbers.clear()
        assert first == 4999 and dog.numbers == []
        for name in dog.seen:
            dog.seen.discard(name)
        assert not dog.seen
        for key, value in dog.by_id.items():
            dog.by_id[key] = value + 1
            dog.by_id[-key - 1] = 0
        assert len(dog.by_id) == 6000 and dog.by_id[7] == 8.0
        dog.numbers = range(5000)
    frozen_loop = iter(dog.numbers)
    assert next(frozen_loop) == 0
    with store.write() as tx:
        loop, keys, doomed = iter(dog.numbers), iter(dog.by_id), iter(dog.numbers)
        assert next(loop) == 0 and next(keys) == -3000 and next(doomed) == 0
        with tx.savepoint() as scope:
            dog.numbers = range(10000, 20000)
            inner = iter(dog.numbers)
            assert next(inner) == 10000
            scope.cancel()
        assert sum(inner) == sum(range(10001, 20000))
        dog.by_id.clear()
        store.delete(dog)
        assert sum(doomed) == sum(range(5000))
    assert list(loop) == list(range(1, 5000)) and len(list(keys)) == 5999
    assert list(frozen_loop) == list(range(1, 5000))


# Many at a time, and policies


def test_many(store):
    rows = [full(str(i)) if i % 3 else Kennel(name=str(i), seen=map(str, range(i))) for i in range(400)]
    wanted = [contents(row) for row in rows]
    with store.write():
        assert store.add_all(rows).created == 400
        assert [contents(o) for o in store.objects(Kennel)] == wanted and all(row.is_managed for row in rows)
        store.objects(Kennel).delete()
        assert store.create_all(Kennel, wanted).created == 400
        assert [contents(o) for o in store.objects(Kennel)] == wanted
        store.objects(Kennel).delete()
        assert store.create_all(Kennel, [list(row.values()) for row in wanted]).created == 400
        with pytest.raises(objstore.DuplicateKey):
            store.add_all([full("a"), full("b"), full("7")])
        with pytest.raises(objstore.TooLarge) as caught:
            store.add_all([Bare(words={"x"}), full("a"), Kennel(name="b", notes={"k" * 2000: "v"})])
        assert caught.value.position == 2 and (caught.value.class_name, caught.value.property_name) == (
            "Kennel",
            "notes",
        )
        for update in ("modified", "all"):
            with pytest.raises(objstore.TooLarge) as caught:
                store.add_all([full("a"), Kennel(name="8"), Kennel(name="b", notes={"k" * 2000: "v"})], update=update)
            assert caught.value.position == 2
        with pytest.raises(objstore.InvalidText) as caught:
            store.create_all(Kennel, [{"name": "a", "seen": ["x"]}, {"name": "b", "seen": ["\ud800"]}])
        assert caught.value.position == 1
        assert store.objects(Bare).count() == 0
        assert [contents(o) for o in store.objects(Kennel)] == wanted
        assert store.objects(Kennel).where(Kennel.name < "2").update(toys=["t"], notes={"n": "m"}) == 111 + 1
        assert sum(o.toys == ["t"] and o.notes == {"n": "m"} for o in store.objects(Kennel)) == 112
    with store.write():
        assert store.add_all([Bare(words={"b", "a"}), Bare()]).created == 2
        bare = store.create(Bare, [["x"]])
        assert store.add(Bare(words=["y"])).words == {"y"} and bare.words == {"x"}
    assert [sorted(b.words) for b in store.objects(Bare)] == [["a", "b"], [], ["x"], ["y"]]
    assert bare.freeze().words == {"x"}
    with store.write():
        store.delete_all(Bare)
    with pytest.raises(objstore.NoSuchObject):
        bare.freeze()


def test_policies(store):
    heard = []
    token = store.observe(
        Kennel,
        lambda change: heard.append(
            (change.insertion_count, [change.written(i) for i in range(change.modification_count)])
        ),
        initial=False,
    )

    def told(act):
        heard.clear()
        with store.write():
            result = act()
        store.wait(0)
        return result, heard[0] if heard else None

    collections_ = ("toys", "scores", "seen", "notes", "by_id", "numbers")
    assert told(lambda: store.add(full()).name) == ("Rex", (1, []))
    # The object form writes every property; equal ones are left alone by "modified".
    for way in (
        lambda o, update: store.add(o, update=update) and None,
        lambda o, update: store.add_all([o], update=update),
    ):
        result, seen = told(lambda: way(full(), "modified"))
        assert result in (None, (0, 0, 1)) and seen is None
        result, seen = told(lambda: way(full(), "all"))
        assert result in (None, (0, 1, 0)) and seen == (0, [collections_ + ("rest",)])
        other = full()
        other.toys, other.scores[2], other.seen = [], 2.75, {"a", "c"}
        result, seen = told(lambda: way(other, "modified"))
        assert result in (None, (0, 1, 0)) and seen == (0, [("toys", "scores", "seen")])
        assert contents(store.get(Kennel, "Rex")) == FULL | {
            "toys": [],
            "scores": [1.0, None, 2.75],
            "seen": {"a", "c"},
        }
        told(lambda: way(full(), "modified"))
    # The dictionary form keeps what is absent.
    assert told(lambda: store.create(Kennel, {"name": "Rex", "toys": ["x"]}, update="modified").name)[1] == (
        0,
        [("toys",)],
    )
    assert told(lambda: store.create(Kennel, {"name": "Rex", "toys": ["x"]}, update="modified").name)[1] is None
    assert told(lambda: store.create(Kennel, {"name": "Rex", "toys": ["x"]}, update="all").name)[1] == (0, [("toys",)])
    assert told(
        lambda: store.create_all(
            Kennel, [{"name": "Rex", "notes": {}}, {"name": "New", "notes": {"a": "b"}}], update="modified"
        )
    ) == (
        (1, 1, 0),
        (1, [("notes",)]),
    )
    assert told(
        lambda: store.create_all(
            Kennel, [{"name": "Rex", "notes": {}}, {"name": "New", "notes": {"a": "b"}}], update="modified"
        )
    ) == ((0, 0, 2), None)
    assert told(lambda: store.create_all(Kennel, [{"name": "Rex", "rest": b"r"}], update="modified")) == (
        (0, 1, 0),
        (0, [("rest",)]),
    )
    assert contents(store.get(Kennel, "Rex")) == FULL | {"toys": ["x"], "notes": {}, "rest": b"r"}
    assert contents(store.get(Kennel, "New")) == EMPTY | {"name": "New", "notes": {"a": "b"}}
    # Twice in one call: the second is about what the first made.
    assert told(
        lambda: store.create_all(
            Kennel,
            [{"name": "2", "toys": ["a"]}, {"name": "2", "toys": ["b"]}, {"name": "2", "toys": ["b"]}],
            update="modified",
        )
    )[0] == (1, 1, 1)
    assert store.get(Kennel, "2").toys == ["b"]
    # To the bit.
    told(lambda: store.create(Kennel, {"name": "n", "scores": [math.nan, 0.0]}).name)
    assert (
        told(lambda: store.create(Kennel, {"name": "n", "scores": [math.nan, 0.0]}, update="modified").name)[1] is None
    )
    assert told(lambda: store.create(Kennel, {"name": "n", "scores": [math.nan, -0.0]}, update="modified").name)[1] == (
        0,
        [("scores",)],
    )
    token.close()


# Observing, querying, files


def test_observing(store):
    with store.write():
        dog, other = store.add(full()), store.add(full("Max"))
    heard = []

    def told(change):
        heard.append(
            [
                (o.name, o.toys.copy(), written)
                for o, written in zip(change.modified, map(change.written, range(change.modification_count)))
            ]
        )

    with store.objects(Kennel).observe(told, keys=["toys", Kennel.notes], initial=False), dog.observe(told):
        with store.write():
            dog.toys.append("rope")
            dog.seen.add("z")
            other.seen.add("z")
        store.wait(1)
        assert heard == [[("Rex", ["ball", "bone", "ball", "rope"], ("toys", "seen"))]] * 2
        heard.clear()
        with store.write():
            dog.seen.add("z")
            dog.toys.extend([])
            other.notes.update({})
        assert store.wait(0) == 0 and heard == []
    with pytest.raises(objstore.WrongType, match="Kennel.toys"):
        store.observe_typed(Kennel, ["toys"], "str -> void", print)


def test_asking(store):
    with store.write():
        store.add_all([full(), Kennel(name="Ella", toys=["bone"], scores=[None], by_id={7: 2.0}, seen={"c"})])
        store.add(Kennel(name="bo"))
    dogs = store.objects(Kennel)
    for condition, text, found in (
        (Kennel.toys == ["ball", "bone", "ball"], "toys == {'ball', 'bone', 'ball'}", ["Rex"]),
        (Kennel.toys == ["ball", "ball", "bone"], "toys == {'ball', 'ball', 'bone'}", []),
        (Kennel.toys == [], "toys == {}", ["bo"]),
        (any_(Kennel.toys) == "bone", "ANY toys == 'bone'", ["Ella", "Rex"]),
        (all_(Kennel.toys) == "bone", "ALL toys == 'bone'", ["Ella", "bo"]),
        (none_(Kennel.toys).in_(["ball", "x"]), "NONE toys IN {'ball', 'x'}", ["Ella", "bo"]),
        (any_(Kennel.toys).like("b?l*"), "ANY toys LIKE 'b?l*'", ["Rex"]),
        (any_(Kennel.toys).length > 4, "ANY toys.length > 4", []),
        (any_(Kennel.toys).length > 3, "ANY toys.length > 3", ["Ella", "Rex"]),
        (none_(Kennel.seen.length) != 1, "NONE seen.length != 1", ["Ella", "Rex", "bo"]),
        (any_(Kennel.notes).length == 1, "ANY notes.@values.length == 1", ["Rex"]),
        (Kennel.toys.count == 3, "toys.@count == 3", ["Rex"]),
        (Kennel.toys[0] == "bone", "toys[FIRST] == 'bone'", ["Ella"]),
        (Kennel.toys[-1] == "ball", "toys[LAST] == 'ball'", ["Rex"]),
        (Kennel.toys[1] == None, "toys[1] == NULL", ["Ella", "bo"]),
        (any_(Kennel.scores) == None, "ANY scores == NULL", ["Ella", "Rex"]),
        (Kennel.scores.sum() == 3.5, "scores.@sum == 3.5", ["Rex"]),
        (Kennel.scores.max() == None, "scores.@max == NULL", ["Ella", "bo"]),
        (Kennel.numbers.avg() == 2, "numbers.@avg == 2", ["Rex"]),
        (any_(Kennel.seen) > "b", "ANY seen > 'b'", ["Ella"]),
        (Kennel.notes["k"] == "v", "notes['k'] == 'v'", ["Rex"]),
        (any_(Kennel.notes.keys) == "a", "ANY notes.@keys == 'a'", ["Rex"]),
        (any_(Kennel.notes.values) == "a", "ANY notes.@values == 'a'", []),
        (Kennel.by_id.max() > 1.5, "by_id.@max > 1.5", ["Ella"]),
        (any_(Kennel.by_id.keys) > 2, "ANY by_id.@keys > 2", ["Ella"]),
    ):
        for results in (dogs.where(condition), dogs.filter(text)):
            assert sorted(dog.name for dog in results) == found, text
    assert [dog.name for dog in dogs.where(Kennel.by_id[7] == 2)] == ["Ella"]
    for condition in (any_(Kennel.toys) == 5, Kennel.toys.sum() > 1, Kennel.by_id["7"] == 2):
        with pytest.raises((objstore.WrongType, objstore.InvalidQuery)):
            dogs.where(condition).count()
    for results in (dogs, dogs.where(Kennel.name == "Rex")):
        for name in ("sum", "min", "max", "avg"):
            with pytest.raises(objstore.WrongType, match="Kennel.numbers is a list: there is no "):
                getattr(results, name)("numbers")


def test_numpy(store):
    numpy = pytest.importorskip("numpy")
    with store.write():
        dog = store.add(full())
        dog.numbers = numpy.arange(3)
        dog.scores = numpy.array([0.5, 1.5])
        store.add_all([Kennel(name="a", numbers=numpy.arange(5)), Kennel(name="b")])
        store.create_all(Kennel, [{"name": "c", "numbers": numpy.arange(5)}, {"name": "d", "numbers": numpy.arange(0)}])
    assert dog.numbers == [0, 1, 2] and dog.scores == [0.5, 1.5] and numpy.array(dog.numbers).tolist() == [0, 1, 2]
    assert [len(o.numbers) for o in store.objects(Kennel)] == [3, 5, 0, 5, 0]
    with pytest.raises(objstore.WrongType, match="Kennel.numbers is a list"):
        store.objects(Kennel).to_numpy("numbers")


def test_a_file_without_the_property(path):
    def model(**annotations):
        return type(objstore.Model)("Dog", (objstore.Model,), {"__annotations__": annotations, "__module__": __name__})

    Old, New, Other = (
        model(name=str),
        model(name=str, toys=list[str], notes=dict[str, int]),
        model(name=str, toys=list[int], notes=dict[str, int]),
    )
    with objstore.open(path, models=[Old]) as store, store.write():
        store.add_all([Old(name=str(i)) for i in range(100)])
    with objstore.open(path, models=[New], schema_version=2) as store:
        assert [d.toys for d in store.objects(New)] == [[]] * 100
        with store.write():
            store.objects(New)[7].toys.append("ball")
            store.add(New(name="x", notes={"a": 1}))
        assert store.objects(New)[7].toys == ["ball"]
        store.verify()
    with pytest.raises(objstore.SchemaError, match="toys"):
        objstore.open(path, models=[Other], schema_version=3)
    with objstore.open(path, models=[New], schema_version=2) as store:
        assert [len(d.toys) + len(d.notes) for d in store.objects(New)] == [0] * 7 + [1] + [0] * 92 + [1]


def test_other_handles_and_threads(path):
    from concurrent.futures import ThreadPoolExecutor

    with objstore.open(path, models=[Kennel]) as store, objstore.open(path, models=[Kennel]) as second:
        with store.write():
            dog = store.add(full())
            assert second.get(Kennel, "Rex") is None
        again = second.get(Kennel, "Rex")
        toys = again.toys
        with store.write():
            dog.toys.append("rope")
            assert len(toys) == 3  # no reader sees half a transaction
            dog.numbers = range(2000)
        assert toys == ["ball", "bone", "ball", "rope"]
        with ThreadPoolExecutor(4) as pool:
            assert set(
                pool.map(lambda _: (sum(dog.numbers), len(again.numbers), dog.numbers[-1], 7 in dog.numbers), range(50))
            ) == {(1999000, 2000, 1999, True)}
