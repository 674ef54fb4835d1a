"""Lists, sets and dicts of any values (D41): `list[Any]`, `set[Any]`, `dict[…, Any]`."""

import copy
import random
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import objstore
from objstore import Model, ObjectId, field
from objstore.collections.mixed import MixedDict, MixedList


class Frog(Model):
    id: int = field(primary_key=True)
    favoriteThings: list[Any]
    seen: set[Any]
    notes: dict[str, Any]
    byNumber: dict[int, Any]


class Pond(Model):
    name: str = ""
    best: Any = None


MODELS = [Frog, Pond]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with objstore.open(tmp_path / "db", models=MODELS) as opened:
        yield opened
        assert opened.verify() is None


def exact(value: Any) -> Any:
    """The value with its types: 1, 1.0 and True are three."""
    if isinstance(value, (dict, objstore.Dict, MixedDict)):
        return {k: exact(v) for k, v in value.items()}
    if isinstance(value, (list, objstore.List, MixedList)):
        return [exact(v) for v in value]
    return type(value), value


EVERY: list[Any] = [
    None,
    False,
    True,
    0,
    -129,
    2**63 - 1,
    1.0,
    Decimal("1.50"),
    "",
    "é" * 300,
    b"\0",
    ObjectId(bytes(range(12))),
    UUID(int=5),
    [],
    {},
    [[1, {"a": None}], {"b": [True, 2.5]}],
    "x" * 5000,
]


def test_d41_elements_of_every_type(tmp_path: Path) -> None:
    with objstore.open(tmp_path / "db", models=MODELS) as store:
        with store.write():
            frog = store.add(Frog(id=1, favoriteThings=EVERY, notes={str(i): v for i, v in enumerate(EVERY)}))
            assert exact(frog.favoriteThings) == exact(EVERY)
        assert exact(frog.favoriteThings.copy()) == exact(EVERY) == exact(copy.deepcopy(frog.favoriteThings))
    with objstore.open(tmp_path / "db", models=MODELS) as store:
        frog = store.get(Frog, 1)
        assert exact(frog.favoriteThings) == exact(EVERY)
        assert exact(frog.notes) == exact({k: v for k, v in sorted((str(i), v) for i, v in enumerate(EVERY))})
        for at, value in enumerate(EVERY):
            assert exact(frog.favoriteThings[at]) == exact(value) == exact(frog.notes[str(at)])
        assert frog.favoriteThings.index("é" * 300) == 9 and [] in frog.favoriteThings and 77 not in frog.favoriteThings
        assert store.verify() is None
    read: list[Any] = []

    # sees what is in the file, by a model that it makes of it
    def migrate(migration: objstore.Migration, _: int) -> None:
        old = migration.old_models["Frog"]
        (declared,) = [p for p in objstore.fields(old) if p.name == "favoriteThings"]
        read.append((declared.type_name, exact(next(iter(migration.old.objects(old))).favoriteThings.copy())))

    with objstore.open(tmp_path / "db", models=MODELS, schema_version=2, migrate=migrate) as store:
        assert read == [("list[Any]", exact(EVERY))] and exact(store.get(Frog, 1).favoriteThings) == exact(EVERY)


def test_elements_are_live(store: Any) -> None:
    with store.write():
        frog = store.add(Frog(id=1, favoriteThings=[1, {"a": [1, 2]}, [3]], notes={"k": [1]}, byNumber={-5: {"x": 1}}))
    thing, inner, note = frog.favoriteThings[1], frog.favoriteThings[1]["a"], frog.notes["k"]
    assert isinstance(thing, MixedDict) and isinstance(inner, MixedList)
    with store.write():
        inner[0] = 7
        inner.append({"deep": None})
        frog.favoriteThings[2].insert(0, "first")
        note += [2]
        frog.byNumber[-5]["y"] = 2
        thing["new"] = [frog]
    assert thing == {"a": [7, 2, {"deep": None}], "new": [frog]} and frog.favoriteThings == [1, thing, ["first", 3]]
    assert frog.notes == {"k": [1, 2]} and frog.byNumber == {-5: {"x": 1, "y": 2}}
    for values in (frog.byNumber.values(), [v for _, v in frog.byNumber.items()], list(frog.byNumber.values())):
        with store.write():
            next(iter(values))["z"] = len(frog.byNumber[-5])
    assert frog.byNumber[-5] == {"x": 1, "y": 2, "z": 3}
    with pytest.raises(objstore.NotInWrite):
        inner[0] = 8
    with store.write():
        taken = frog.favoriteThings.pop(1)
        taken["a"].append("copy")
        frog.favoriteThings.reverse()
        assert (
            type(taken) is dict and frog.favoriteThings == [["first", 3], 1] and frog.favoriteThings[0] == ["first", 3]
        )
        del frog.favoriteThings[0][0]
        frog.favoriteThings.move(0, 1)
        frog.favoriteThings[0:1] = [{}, "x"]
    assert frog.favoriteThings == [{}, "x", [3]]
    with store.write():
        frog.favoriteThings = [[3], [1, {}], [2]]
        frog.favoriteThings.sort(key=len, reverse=True)
        assert frog.favoriteThings == [[1, {}], [3], [2]]
        frog.favoriteThings[0] = [1]
        frog.favoriteThings.sort()
        assert frog.favoriteThings == [[1], [2], [3]]
    # A loop goes over what was there when it began, also while an element changes inside.
    with store.write():
        frog.favoriteThings = [[i] for i in range(3000)]
        total, rounds = 0, 0
        for at, element in enumerate(frog.favoriteThings):
            total += element[0] != at if at != 2999 else 0
            rounds += 1
            frog.favoriteThings[2999] = 0 if at == 0 else 1
    assert (total, rounds) == (0, 3000)


def test_sets(store: Any) -> None:
    with store.write():
        pond = store.add(Pond(name="P"))
        frog = store.add(Frog(id=1, seen={1, "a", None, pond, 2.5}))
        frog.seen.add("b")
        frog.seen.add(1)
        frog.seen.discard(2.5)
        frog.seen |= {Decimal(7)}
    assert frog.seen == {1, "a", "b", None, pond, Decimal(7)} and pond in frog.seen and 2 not in frog.seen
    with store.write():
        for bad in ([1], {"a": 1}):
            with pytest.raises(objstore.WrongType, match="Frog.seen"):
                frog.seen.add(bad)
            with pytest.raises(objstore.WrongType, match="Frog.seen"):
                frog.seen = [1, bad]
        store.delete(pond)
    assert frog.seen == {1, "a", "b", None, Decimal(7)}


def test_links(store: Any) -> None:
    # An object that leads to others, in circles, with itself in a list: all are added, each once.
    pond, other = Pond(name="P"), Pond(name="Q")
    frog = Frog(
        id=1, favoriteThings=[pond, [pond, {"deep": other}]], seen=[other, 5], notes={"p": pond}, byNumber={1: other}
    )
    pond.best = frog
    with store.write():
        assert store.add(frog) is frog and store.objects(Pond).count() == 2
    assert (
        frog.favoriteThings == [pond, [pond, {"deep": other}]] and frog.seen == {other, 5} and frog.notes == {"p": pond}
    )
    assert pond.best == frog
    with store.write():
        frog.favoriteThings.append(Pond(name="R"))
        frog.favoriteThings[1][1]["deep"] = [Pond(name="S"), other]
        frog.notes["more"] = {"a": Pond(name="T")}
    assert sorted(p.name for p in store.objects(Pond)) == ["P", "Q", "R", "S", "T"]
    with store.write():
        with pytest.raises(objstore.Error):
            frog.favoriteThings.extend([Pond(name="lost"), object()])
        store.delete(pond)
        store.delete(other)
    assert frog.favoriteThings == [None, [None, {"deep": [store.objects(Pond)[1], None]}], store.objects(Pond)[0]]
    assert frog.seen == {5} and frog.notes["p"] is None and frog.byNumber == {1: None}
    assert store.objects(Pond).count() == 3
    with objstore.open(memory="elsewhere", models=MODELS) as elsewhere:
        with elsewhere.write():
            far = elsewhere.add(Pond(name="far"))
        with store.write(), pytest.raises(objstore.WrongStore, match="Frog.favoriteThings"):
            frog.favoriteThings.append(far)
        with store.write(), pytest.raises(objstore.WrongStore):
            frog.notes["k"] = [1, far]


def test_values_copies_and_columns(store: Any, tmp_path: Path) -> None:
    with store.write():
        pond = store.add(Pond(name="P"))
        frog = store.create(
            Frog,
            {
                "id": 1,
                "favoriteThings": [1, [pond, "x"]],
                "seen": ["a", pond],
                "notes": {"a": {"b": pond}},
                "byNumber": {3: [1]},
            },
        )
        assert store.create(Frog, {"id": 1, "favoriteThings": [1, [pond, "x"]]}, update="modified") == frog
        counts = store.create_all(
            Frog, [{"id": i, "favoriteThings": [i, [i]], "notes": {"k": i}} for i in range(2, 200)]
        )
        assert counts.created == 198
        store.add_all([Frog(id=i, favoriteThings=["t", i, {"k": i}], seen={i, "s"}) for i in range(200, 400)])
        store.add_all([Frog(id=400, favoriteThings=[Pond(name="new")]), Frog(id=401, favoriteThings=[pond])])
    assert store.get(Frog, 150).favoriteThings == [150, [150]] and store.get(Frog, 250).favoriteThings == [
        "t",
        250,
        {"k": 250},
    ]
    assert store.get(Frog, 250).seen == {250, "s"} and store.get(Frog, 400).favoriteThings[0].name == "new"
    copied = frog.detach()
    assert (
        copied.favoriteThings[1][0].name == "P"
        and copied.favoriteThings[1][0] is copied.notes["a"]["b"]
        and copied.byNumber == {3: [1]}
    )
    assert {getattr(e, "name", e) for e in copied.seen} == {"a", "P"} and type(copied.favoriteThings) is list
    shallow = frog.detach(0)
    assert (
        shallow.favoriteThings == [1, [None, "x"]]
        and set(shallow.seen) == {"a"}
        and shallow.notes == {"a": {"b": None}}
    )
    assert frog.favoriteThings.detach()[1][0].name == "P" and frog.notes.detach()["a"]["b"].name == "P"
    with objstore.open(tmp_path / "other", models=MODELS) as other:
        with other.write():
            moved = other.copy(frog)
        assert (
            moved.favoriteThings[1][0].name == "P"
            and other.objects(Pond).count() == 1
            and moved.notes["a"]["b"] == moved.favoriteThings[1][0]
        )
        assert moved.seen == {"a", moved.notes["a"]["b"]} and other.verify() is None


def test_json(store: Any) -> None:
    with store.write():
        frog = store.create_from_json(
            Frog,
            '{"id": 1, "favoriteThings": [1, 2.5, "x", null, {"a": [true]}], "notes": {"k": [1]}, "byNumber": {"4": '
            '"four"}}',
        )
    assert (
        exact(frog.favoriteThings) == exact([1, 2.5, "x", None, {"a": [True]}])
        and frog.notes == {"k": [1]}
        and frog.byNumber == {4: "four"}
    )
    assert '"favoriteThings":[1,2.5,"x",null,{"a":[true]}]' in frog.to_json().replace(" ", "").replace("\n", "")


def test_upsert_writes_what_differs(store: Any) -> None:
    values = {"id": 1, "favoriteThings": [1, [2.0]], "seen": [1], "notes": {"a": 1}}
    with store.write():
        store.create(Frog, values)
    changes: list[dict[str, Any]] = [{}, {"favoriteThings": [1.0, [2.0]]}, {"notes": {"a": True}}]
    for change in changes:
        with store.write():
            counts = store.create_all(Frog, [values | change], update="modified")
            values |= change
            assert counts.changed == (1 if change else 0)
    assert exact(store.get(Frog, 1).notes) == exact({"a": True})


@pytest.mark.parametrize("seed", range(4))
def test_random_histories_against_builtins(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)

    def value(depth: int = 2) -> Any:
        kind = chance.randrange(9 if depth else 6)
        if kind < 6:
            return [
                None,
                chance.randrange(20),
                chance.random(),
                "t" * chance.randrange(40),
                chance.random() < 0.5,
                b"b" * chance.randrange(700),
            ][kind]
        if kind < 8:
            return [value(depth - 1) for _ in range(chance.randrange(4))]
        return {f"k{i}": value(depth - 1) for i in range(chance.randrange(3))}

    with objstore.open(tmp_path / "db", models=MODELS) as store:
        with store.write():
            frog = store.add(Frog(id=1))
        things: list[Any] = []
        notes: dict[str, Any] = {}
        for _ in range(60):
            before = copy.deepcopy((things, notes))
            write = store.write()
            with write:
                for _ in range(chance.randrange(8)):
                    at, new, key = chance.randrange(len(things) + 1), value(), f"n{chance.randrange(9)}"
                    action = chance.randrange(8)
                    if action == 0:
                        things.insert(at, new)
                        frog.favoriteThings.insert(at, new)
                    elif action == 1 and at < len(things):
                        things[at] = new
                        frog.favoriteThings[at] = new
                    elif action == 2 and at < len(things):
                        assert exact(frog.favoriteThings.pop(at)) == exact(things.pop(at))
                    elif action == 3:
                        things[at : at + 2] = [new, copy.deepcopy(new)]
                        frog.favoriteThings[at : at + 2] = [new, new]
                    elif action == 4 and at < len(things) and isinstance(things[at], list):
                        things[at].append(new)
                        frog.favoriteThings[at].append(new)
                    elif action == 5:
                        notes[key] = copy.deepcopy(new)
                        frog.notes[key] = new
                    elif action == 6 and key in notes:
                        assert exact(frog.notes.pop(key)) == exact(notes.pop(key))
                    elif action == 7 and isinstance(notes.get(key), dict):
                        notes[key]["x"] = new
                        frog.notes[key]["x"] = new
                if chance.randrange(5) == 0:
                    write.cancel()
                    things, notes = before
            assert exact(frog.favoriteThings) == exact(things) and exact(frog.notes) == exact(notes), f"seed {seed}"
        assert store.verify() is None
