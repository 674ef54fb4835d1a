"""What to_json() writes where a key alone would mean something else: keys of several properties, and links in mixed
values of Extended JSON; both are read again, or say what they do not find."""

import datetime
import io
import json
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import objstore
from objstore import EmbeddedModel, Index, Model, ObjectId, field


class City(Model):
    country: str
    name: str
    twin: "City | None" = None
    near: "list[City]"
    known: "set[City]"
    called: "dict[str, City | None]"
    hall: "Hall | None" = None
    __indexes__ = [Index("country", "name", primary_key=True)]


class Hall(EmbeddedModel):
    floor: int = 0
    built: City | None = None


class Stamp(Model):
    """A key of every kind that one can have a part of."""

    at: datetime.datetime
    by: ObjectId
    serial: uuid.UUID
    fast: bool
    number: int
    next: "Stamp | None" = None
    __indexes__ = [Index("at", "by", "serial", "fast", "number", primary_key=True)]


class Page(Model):
    id: int = field(primary_key=True)
    extra: Any = None
    some: list[Any]
    bag: set[Any]
    notes: dict[str, Any]
    city: City | None = None


MODELS: list[Any] = [City, Hall, Stamp, Page]
BERN = {"$ref": "City", "$id": {"country": "CH", "name": "Bern"}}
POLICIES = ["modified", "all"]


@pytest.fixture
def store() -> Iterator[objstore.Store]:
    with objstore.open(memory="", models=MODELS) as made:
        yield made
        made.verify()


@pytest.fixture
def other() -> Iterator[objstore.Store]:
    with objstore.open(memory="", models=MODELS) as made:
        yield made
        made.verify()


def city(store: objstore.Store, name: str) -> City:
    found = store.get(City, ("CH", name))
    assert found is not None
    return found


def circle(store: objstore.Store) -> "list[City]":
    with store.write():
        made = [store.create(City, {"country": "CH", "name": name}) for name in ("Bern", "Thun", "Biel")]
        for at, one in enumerate(made):
            one.twin = made[at - 1]
            one.near = [made[at - 2], one, made[at - 2]]
            one.known = set(made)
            one.called = {"me": one, "nobody": None}
            one.hall = Hall(floor=at, built=made[at - 1])
    return made


def shown(store: objstore.Store) -> Any:
    texts = [json.loads(c.to_json(0)) for c in store.objects(City)]
    for text in texts:
        text["known"] = sorted(text["known"], key=str)
    return sorted(texts, key=str)


def test_what_is_written(store: objstore.Store) -> None:
    bern, thun, _ = circle(store)
    written = json.loads(thun.to_json(0))
    assert written["twin"] == BERN == written["hall"]["built"] and written["called"] == {
        "me": written["near"][1],
        "nobody": None,
    }
    assert written["near"][1] == {"$ref": "City", "$id": {"country": "CH", "name": "Thun"}}
    assert thun.to_dict(0)["twin"] == BERN == thun.detach(1).to_dict(0)["twin"]
    loose = City(country="CH", name="Thun", twin=City(country="CH", name="Bern"))
    loose.twin.twin = loose  # type: ignore[union-attr]
    assert loose.to_dict(0)["twin"] == BERN == json.loads(loose.to_json(0))["twin"]
    assert json.loads(loose.to_json())["twin"]["twin"]["$id"]["name"] == "Thun"
    for depth in (0, 1, 3):
        assert json.loads(bern.detach(5).to_json(depth)) == json.loads(bern.to_json(depth))
    with store.write():
        page = store.create(Page, {"id": 1, "city": BERN, "extra": [bern]})
    assert json.loads(page.to_json(0)) == {"id": 1, "extra": [BERN], "some": [], "bag": [], "notes": {}, "city": BERN}
    assert page.extra.to_json(0) == json.dumps([BERN], separators=(",", ":"))


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("depth", [0, 1, 5])
@pytest.mark.parametrize("backwards", [False, True])
def test_circles_come_back(
    store: objstore.Store, other: objstore.Store, depth: int, extended: bool, backwards: bool
) -> None:
    circle(store)
    rows = [json.loads(c.to_json(depth, extended=extended)) for c in store.objects(City)]
    text = json.dumps(rows[::-1] if backwards else rows)
    if depth == 0:
        with other.write():
            assert other.create_all_from_json(City, text, extended=extended) == 3
        assert shown(other) == shown(store)
    for policy in POLICIES:
        for _ in range(2):
            with other.write():
                other.create_all_from_json(City, text, policy, extended=extended)
            assert shown(other) == shown(store)
        with other.write():
            assert other.create_all_from_json(City, io.StringIO(text), policy, extended=extended) == 3
            for row in rows if depth else []:
                other.create_from_json(City, json.dumps(row), policy, extended=extended)
        assert shown(other) == shown(store)


def test_one_object_with_itself_around_it(store: objstore.Store) -> None:
    with store.write():
        bern = store.create_from_json(
            City, json.dumps({"country": "CH", "name": "Bern", "twin": {"country": "CH", "name": "Thun", "twin": BERN}})
        )
        assert bern.twin is not None and bern.twin.twin == bern and len(store.objects(City)) == 2
        made = store.create(
            City,
            {"country": "CH", "name": "Chur", "near": [BERN, {"country": "CH", "name": "Uri", "called": {"to": BERN}}]},
        )
        assert [c.name for c in made.near] == ["Bern", "Uri"] and made.near[1].called["to"] == bern
        # The parts by hand lead to the object that has them.
        assert store.create_from_json(Page, '{"id": 1, "city": {"country": "CH", "name": "Bern"}}').city == bern
        assert store.create_all(Page, [{"id": 2, "city": BERN}, {"id": 3, "city": BERN}]).created == 2
        again = store.create_all(
            City,
            [{"country": "A", "name": "a", "twin": {"$ref": "City", "$id": {"name": "b", "country": "A"}}}, ["A", "b"]],
        )
        assert again.created == 2 and store.get(City, ("A", "a")).twin == store.get(City, ("A", "b"))  # type: ignore[union-attr]
    assert len(store.objects(City)) == 6


@pytest.mark.parametrize("policy", ["error", *POLICIES])
@pytest.mark.parametrize(
    "values",
    [
        {"twin": BERN},
        {"near": [BERN]},
        {"known": [BERN]},
        {"called": {"a": BERN}},
        {"hall": {"built": BERN}},
        {"near": [{"country": "CH", "name": "Uri", "twin": BERN}]},
    ],
)
def test_what_does_not_come(store: objstore.Store, policy: Any, values: Any) -> None:
    row = {"country": "CH", "name": "Thun"} | values
    missing = pytest.raises(objstore.NoSuchObject, match='there is no City with country = "CH", name = "Bern"')
    with store.write():
        for extended in (False, True):
            with missing:
                store.create_from_json(City, json.dumps(row), policy, extended=extended)
            with missing:
                store.create_all_from_json(City, json.dumps([row]), policy, extended=extended)
            with missing:
                store.create_all_from_json(City, io.StringIO(json.dumps([row])), policy, extended=extended)
        with missing:
            store.create(City, row, policy)
        with missing:
            store.create_all(City, [row], policy)
        assert not store.objects(City)


@pytest.mark.parametrize(
    "key",
    [
        "Bern",
        ["CH", "Bern"],
        {"country": "CH"},
        {"country": "CH", "name": "Bern", "twin": None},
        None,
        {"country": "CH", "name": 5},
    ],
)
def test_what_is_no_key(store: objstore.Store, key: Any) -> None:
    with store.write():
        with pytest.raises(objstore.WrongType, match="City"):
            store.create_from_json(
                City, json.dumps({"country": "CH", "name": "Thun", "twin": {"$ref": "City", "$id": key}})
            )
        assert not store.objects(City)


@pytest.mark.parametrize("extended", [False, True])
def test_keys_of_all_kinds(store: objstore.Store, other: objstore.Store, extended: bool) -> None:
    values = {
        "at": datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc),
        "by": ObjectId("0123456789abcdef01234567"),
        "serial": uuid.UUID(int=5),
        "fast": True,
        "number": -3,
    }
    with store.write():
        stamp = store.create(Stamp, values)
        stamp.next = stamp
        assert store.create(Stamp, values | {"number": 4, "next": stamp.to_dict(0)["next"]}).next == stamp
    text = stamp.to_json(0, extended=extended)
    assert stamp.detach(1).to_json(0, extended=extended) == text

    def convert(prop: Any, value: Any) -> Any:
        made = {"at": datetime.datetime.fromisoformat, "by": ObjectId, "serial": uuid.UUID}.get(prop.name)
        return made(value) if made and isinstance(value, str) else None

    with other.write():
        made = other.create_from_json(Stamp, text, extended=extended, convert=None if extended else convert)
    assert made.next == made and made.to_json(0, extended=extended) == text


def test_links_in_mixed_values_of_extended_json(store: objstore.Store, other: objstore.Store) -> None:
    with store.write():
        bern = store.create(City, {"country": "CH", "name": "Bern"})
        first = store.create(Page, {"id": 1})
        second = store.create(
            Page,
            {
                "id": 2,
                "extra": {"to": [first, {"deep": bern}]},
                "some": [bern, 5, [first]],
                "bag": {first, 7},
                "notes": {"a": bern},
            },
        )
        second.notes["me"] = second
        first.extra = second
    page = {"$ref": "Page", "$id": 1}
    for depth in (0, 1, 100):
        text = second.to_json(depth, extended=True)
        read = json.loads(text)
        assert read["extra"] == {"to": [page, {"deep": BERN}]} and read["some"] == [BERN, 5, [page]]
        assert read["notes"] == {"a": BERN, "me": {"$ref": "Page", "$id": 2}} and sorted(read["bag"], key=str) == [
            7,
            page,
        ]
        assert second.detach(100).to_json(depth, extended=True) == text
        assert json.loads(second.extra.to_json(depth, extended=True)) == read["extra"]
        rows = [json.loads(first.to_json(depth, extended=True)), read]
        with other.write():
            with pytest.raises(objstore.NoSuchObject, match="there is no (City|Page) with"):
                other.create_all_from_json(Page, json.dumps(rows), "modified", extended=True)
            assert not other.objects(Page)
            there = other.create_from_json(City, bern.to_json())
            assert other.create_all_from_json(Page, json.dumps(rows), "modified", extended=True) == 2
            one, two = other.get(Page, 1), other.get(Page, 2)
            assert (
                one is not None
                and two is not None
                and one.extra == two
                and two.extra["to"][0] == one
                and two.extra["to"][1]["deep"] == there
            )
            assert (
                list(two.some)[:2] == [there, 5]
                and two.some[2][0] == one
                and set(two.bag) == {one, 7}
                and two.notes["me"] == two
            )
            other.delete_everything()
    # Plain JSON follows them, as before.
    assert (
        json.loads(first.to_json(1))["extra"]["id"] == 2 and json.loads(first.detach(5).to_json(1))["extra"]["id"] == 2
    )


class Box(EmbeddedModel):
    number: int = 0
    boxes: "list[Box]"
    named: "dict[str, Box | None]"
    any: list[Any]


class Top(Model):
    id: int = field(primary_key=True)
    boxes: list[Box]


def nested(count: int, make: Any) -> Any:
    value = make(None)
    for _ in range(count - 1):
        value = make(value)
    return value


@pytest.mark.parametrize("kind", ["boxes", "named"])
def test_as_deep_as_it_is_written(kind: str) -> None:
    """199 embedded objects in lists, or maps, and in the last one the deepest mixed value with a link and a binary in
    it."""

    def box(inner: Any) -> Any:
        content = {"named": {"a": inner}} if kind == "named" else {"boxes": [inner]}
        return {"number": 1} | (content if inner else {"any": [nested(98, lambda v: [v] if v else [b"x"])]})

    with objstore.open(memory="", models=[Box, Top, City, Hall]) as store:
        with store.write():
            bern = store.create(City, {"country": "CH", "name": "Bern"})
            top, text = store.create(Top, {"id": 1}), ""
            for count in (1, 60, 99, 100, 101, 150, 198, 199):
                last = top.boxes
                last.clear()
                for at in range(count):
                    last.append(Box(number=at)) if isinstance(last, objstore.List) else last.update(
                        {"a": Box(number=at)}
                    )
                    one = last[0] if isinstance(last, objstore.List) else last["a"]
                    last = getattr(one, kind)
                one.any.append(nested(99, lambda v: [v] if v else [bern, b"x"]))
                text = top.to_json(0, extended=True)
                assert text.count("number") == count
                for policy in ("modified", "all"):
                    store.create_from_json(Top, text, policy, extended=True)
                    assert top.to_json(0, extended=True) == text
                assert store.create_all_from_json(Top, f"[{text}]", "all", extended=True) == 1
                store.create_from_json(Top, text.replace('"id":1', '"id":2'), "modified", extended=True)
                assert store.get(Top, 2).to_json(0, extended=True) == text.replace('"id":1', '"id":2')  # type: ignore[union-attr]
        with store.write():
            last = top.boxes
            for _ in range(199):
                last = getattr(last[0] if isinstance(last, objstore.List) else last["a"], kind)
            last.append(Box()) if isinstance(last, objstore.List) else last.update({"a": Box()})
        with pytest.raises(objstore.OutOfRange, match="more than 200 objects inside each other"):
            top.to_json()
        deeper = text.replace(
            f'"{kind}":' + ("[]" if kind == "boxes" else "{}"),
            f'"{kind}":' + ("[{}]" if kind == "boxes" else '{"a":{}}'),
        )
        with store.write():
            with pytest.raises(objstore.OutOfRange, match="Box: more than 200 objects inside each other") as caught:
                store.create_from_json(Top, deeper, "modified", extended=True)
            assert caught.value.class_name == "Box"
            with pytest.raises(objstore.OutOfRange, match="lists and objects are nested more than 512 deep"):
                store.create_from_json(Top, '{"unknown":' * 513 + "1" + "}" * 513)
            assert store.create_from_json(Top, '{"id": 7, "unknown":' + "[" * 511 + "]" * 511 + "}").id == 7
            store.delete_everything()
        assert not store.objects(Box)
        store.verify()


@pytest.mark.parametrize("kilobytes", [256, 1024])
def test_stacks(kilobytes: int) -> None:
    """1 MiB is enough for all that can be nested; less says so."""
    texts = {
        "boxes": '{"id": 1, "boxes": [' + '{"boxes": [' * 198 + '{"number": 1}' + "]}" * 198 + "]}",
        "named": '{"id": 1, "boxes": [' + '{"named": {"a": ' * 198 + '{"number": 1}' + "}}" * 198 + "]}",
    }
    said: list[Any] = []

    def work() -> None:
        with objstore.open(memory="", models=[Box, Top]) as store:
            for text in texts.values():
                for policy in ("error", "modified", "all"):
                    try:
                        with store.write():
                            if policy == "error":
                                store.delete_everything()
                            read = store.create_from_json(Top, text, policy).to_json()  # type: ignore[arg-type]
                        said.append(read.count("number"))
                    except objstore.OutOfRange as error:
                        said.append("too deep for the stack of this thread" in error.message)

    before = threading.stack_size(kilobytes << 10)
    try:
        thread = threading.Thread(target=work)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert said == [199] * 6 if kilobytes == 1024 else len(said) == 6 and set(said) <= {199, True}
