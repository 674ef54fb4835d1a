"""Objects from values: by names and positions, nested, with policies."""

import enum
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import objstore
from conftest import store_of
from objstore import Float32, ObjectId, field


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Address(objstore.EmbeddedModel):
    street: str | None = None
    city: str = ""


class Pup(objstore.Model):
    name: str = ""
    age: int = 0
    color: str = "brown"
    toys: list[str]


class Human(objstore.Model):
    id: int = field(primary_key=True, default=0)
    name: str
    pups: list[Pup]
    address: Address | None = None
    homes: list[Address]
    places: dict[str, Address | None]
    boss: "Human | None" = None
    team: set["Human"]
    by_size: dict[Size, Pup | None]


class Kinds(objstore.Model):
    id: uuid.UUID = field(primary_key=True)
    flag: bool = False
    real: float = 0.0
    small: Float32 = 0.0
    price: Decimal = Decimal(0)
    raw: bytes = b""
    when: datetime | None = None
    oid: ObjectId | None = None
    size: Size = Size.SMALL
    sizes: set[Size]
    whens: list[datetime | None]
    by_id: dict[uuid.UUID, Decimal]
    by_number: dict[int, str]
    by_oid: dict[ObjectId, int]
    extra: Any = None
    inner: "Kinds | None" = None


MODELS = [Address, Pup, Human, Kinds]
NOW = datetime(2026, 1, 2, 3, 4, 5, 6, timezone.utc)
store = store_of(MODELS)


def shown(human: Any) -> Any:
    return human.id, human.name, [(p.name, p.age) for p in human.pups]


def counts(store: objstore.Store) -> list[int]:
    return [store.objects(model).count() for model in MODELS]


def test_nested_by_names_and_positions(store):
    with store.write():
        rex = store.add(Pup(name="Rex"))
        loose = Pup(name="Loose", age=2)
        jane = store.create(
            Human, {"id": 7, "name": "Jane", "pups": [rex, loose, {"name": "Ella", "toys": ["ball"]}, ["Buster", 5]]}
        )
        assert shown(jane) == (7, "Jane", [("Rex", 0), ("Loose", 2), ("Ella", 0), ("Buster", 5)])
        assert jane.pups[0] == rex and jane.pups[1] == loose and loose.is_managed and jane.pups[2].color == "brown"
        assert list(jane.pups[2].toys) == ["ball"]
        joe = store.create(
            Human,
            [8, "Joe", [], {"city": "Rome"}, [["x", "Bern"], Address(city="Oslo")], {"a": ["y"], "b": None}, jane],
        )
        assert (joe.address.city, [h.city for h in joe.homes], joe.places["a"].street, joe.places["b"]) == (
            "Rome",
            ["Bern", "Oslo"],
            "y",
            None,
        )
        assert joe.boss == jane
        kim = store.create(
            Human,
            {"id": 9, "name": "Kim", "boss": {"id": 10, "name": "Lee"}, "team": [joe, {"id": 11, "name": "Max"}, joe]},
        )
        assert kim.boss.name == "Lee" and {h.name for h in kim.team} == {"Joe", "Max"}
        by_size = store.create(
            Human, {"id": 12, "name": "N", "by_size": {Size.SMALL: ["Tiny"], Size.LARGE: None}}
        ).by_size
        assert by_size[Size.SMALL].name == "Tiny" and by_size[Size.LARGE] is None


def test_embedded_objects_in_values_become_managed(store):
    home, other, loose = Address(city="Rome"), Address(city="Bern"), Address(city="Oslo")
    with store.write():
        boss = {"id": 2, "name": "B", "places": {"x": loose}}
        jane = store.create(Human, {"id": 1, "name": "J", "address": home, "homes": [["s"], other], "boss": boss})
    assert (home.parent, other.parent, loose.parent) == (jane, jane, jane.boss) and jane.homes[1] == other
    with store.write(), pytest.raises(objstore.Embedded):
        store.create(Human, [5, "x", [], (again := Address()), [again]])
    assert not again.is_managed and counts(store) == [4, 0, 2, 0]


def test_every_kind(store):
    oid, key = ObjectId(), uuid.uuid4()
    inner = {
        "id": uuid.uuid4(),
        "flag": True,
        "real": 2,
        "small": 1.5,
        "price": Decimal("1.10"),
        "raw": bytearray(b"\0x"),
        "when": NOW,
        "oid": oid,
        "size": Size.LARGE,
        "sizes": [Size.LARGE, Size.SMALL, Size.LARGE],
        "whens": (NOW, None),
        "by_id": {key: 3},
        "by_number": {-5: "a"},
        "by_oid": {oid: 1},
        "extra": {"a": [1, NOW, {"b": None}]},
    }
    with store.write():
        made = store.create(Kinds, {"id": uuid.uuid4(), "inner": inner}).inner
    for name in ("id", "flag", "real", "small", "price", "raw", "when", "oid", "size"):
        assert getattr(made, name) == inner[name]
    assert str(made.price) == "1.10" and type(made.real) is float
    assert set(made.sizes) == {Size.SMALL, Size.LARGE} and list(made.whens) == [NOW, None]
    assert dict(made.by_id) == {key: Decimal(3)} and dict(made.by_number) == {-5: "a"} and dict(made.by_oid) == {oid: 1}
    assert made.extra == {"a": [1, NOW, {"b": None}]}


def test_what_has_attributes_or_keys(store):
    @dataclass
    class Plain:
        name: str
        age: int

    class Keyed:
        def keys(self):
            return ["name", "pups"]

        def __getitem__(self, key):
            return {"name": "K", "pups": [Plain("inner", 1)]}[key]

    with store.write():
        assert store.create(Pup, Plain("Rex", 3)).age == 3
        assert shown(store.create(Human, Keyed())) == (0, "K", [("inner", 1)])
        human = store.create(Human, SimpleNamespace(id=2, name="N", weight=5, boss=SimpleNamespace(id=3, name="B")))
        assert human.boss.name == "B"
        assert store.create_all(Pup, [Plain("a", 1), Plain("b", 2)]) == (2, 0, 0)
        for wrong in (5, "text", None, SimpleNamespace(weight=1), 2.5, NOW, object()):
            with pytest.raises(objstore.InvalidArgument, match="Pup is made of a mapping or a list"):
                store.create(Pup, wrong)
            if wrong is not None:
                with pytest.raises(
                    (objstore.WrongType, objstore.InvalidArgument, objstore.NoSuchObject), match="Human"
                ):
                    store.create(Human, {"id": 9, "name": "x", "boss": wrong})
        assert store.get(Human, 9) is None


def test_a_prefix_or_all(store):
    with store.write():
        assert store.create(Pup, ["Fido", 5]).color == "brown"
        assert store.create(Pup, ["Fido", 5, "tan", []], exact=True).color == "tan"
        with pytest.raises(objstore.MissingValue, match=r"2 values for 4 properties.*color"):
            store.create(Pup, ["Fido", 5], exact=True)
        with pytest.raises(objstore.MissingValue, match="color"):
            store.create(Human, [1, "x", [["Fido", 5]], None, [], {}, None, [], {}], exact=True)
        with pytest.raises(objstore.MissingValue, match="Human.name"):
            store.create(Human, [1])
        with pytest.raises(objstore.MissingValue, match="name"):
            store.create(Human, {"id": 1, "name": "x", "boss": [5]})
        with pytest.raises(objstore.NotNullable, match="Human.name"):
            store.create(Human, [1, None])
        with pytest.raises(objstore.InvalidArgument, match=r"more values \(5\) than properties \(4\)"):
            store.create(Human, {"id": 1, "name": "x", "pups": [["a", 1, "b", [], 5]]})
    assert counts(store) == [0, 2, 0, 0]


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"id": 1, "name": "x", "pups": [["a", "five"]]}, objstore.WrongType, "Pup.age"),
        ({"id": 1, "name": "x", "pups": [None]}, objstore.NotNullable, "Human.pups"),
        ({"id": 1, "name": "x", "pups": "text"}, objstore.WrongType, "Human.pups"),
        ({"id": 1, "name": "x", "pups": [Address()]}, objstore.WrongType, "Human.pups"),
        ({"id": 1, "name": "x", "places": [1]}, objstore.WrongType, "Human.places"),
        (
            {"id": 1, "name": "x", "address": {"town": "Rome"}},
            objstore.NoSuchProperty,
            "Address has no property 'town'",
        ),
        ({"id": 1, "name": "x", "boss": {"id": 1, "name": "same"}}, objstore.DuplicateKey, "Human"),
        ({"id": 1, "name": "x", "by_size": {"s": None}}, objstore.WrongType, "Human.by_size"),
        ({"id": 2**63, "name": "x", "boss": {"id": 1, "name": "b"}}, objstore.OutOfRange, "Human.id"),
        ({"id": 1, "name": "\ud800", "pups": [Pup()]}, objstore.InvalidText, "Human.name"),
    ],
)
def test_refused_and_nothing_made(store, values, error, message):
    loose = Pup(name="loose")
    with store.write():
        with pytest.raises(error, match=message):
            store.create(Human, {"team": [{"id": 50, "name": "t"}], "pups": [loose], **values})
        assert counts(store) == [0, 0, 0, 0] and not loose.is_managed


def test_updates(store):
    with store.write():
        store.create(
            Human,
            {
                "id": 1,
                "name": "Jane",
                "pups": [["Rex"]],
                "address": {"city": "Rome", "street": "s"},
                "boss": [2, "Boss"],
            },
        )
    jane = store.get(Human, 1)
    home = jane.address
    with store.write():
        assert store.create(Human, {"id": 1, "pups": [["Buster", 5]]}, "modified") == jane
        assert shown(jane) == (1, "Jane", [("Buster", 5)]) and jane.boss.name == "Boss" and jane.address == home
        assert {p.name for p in store.objects(Pup)} == {"Rex", "Buster"}
        store.create(Human, {"id": 1, "address": {"city": "Rome"}, "boss": {"id": 2, "name": "New"}}, "modified")
        assert jane.address == home and home.street is None and store.get(Human, 2).name == "New"
        store.create(Human, {"id": 1, "address": {"city": "Rome"}}, "all")
        assert not home.is_valid and jane.address.city == "Rome"
        with pytest.raises(objstore.DuplicateKey):
            store.create(Human, {"id": 1, "name": "x", "pups": [["y"]]})
        with pytest.raises(objstore.NoPrimaryKey):
            store.create(Pup, {"toys": ["x"]}, "all")
        store.create(Human, {"id": 1, "boss": Human(id=2, name="Again")}, "modified")
        assert store.get(Human, 2).name == "Again"
        assert store.create(Human, {"name": "zero", "pups": [["z"]]}, "modified").id == 0


def test_the_default_of_a_nested_key(store):
    with store.write():
        assert store.create(Human, {"id": 5, "name": "a", "boss": {"name": "b"}}).boss.id == 0


def test_circles_are_refused(store):
    a: dict[str, Any] = {"id": 1, "name": "a"}
    a["boss"] = {"id": 2, "name": "b", "boss": a}
    ann, bob = Human(id=1, name="a"), Human(id=2, name="b")
    ann.boss, bob.team = bob, [ann]
    lists: list[Any] = [1, "a", [], None, [], {}]
    lists.append(lists)
    deep: dict[str, Any] = {"id": 0, "name": "0"}
    for n in range(1, 300):
        deep = {"id": n, "name": str(n), "boss": deep}
    with store.write():
        for values in (a, ann, lists, {"id": 3, "name": "c", "boss": ann}):
            with pytest.raises(objstore.InvalidArgument, match="back to it"):
                store.create(Human, values)
        with pytest.raises(objstore.OutOfRange, match="deep"):
            store.create(Human, deep)
        assert counts(store) == [0, 0, 0, 0] and not ann.is_managed
        store.add(ann)  # which may be a circle
        assert ann.boss == bob and counts(store)[2] == 2


def test_many_rows(store):
    with store.write():
        rex = store.add(Pup(name="Rex"))
        rows: list[Any] = [
            {"id": n, "name": str(n), "pups": [["p", n], rex], "address": [None, "c"]} for n in range(20)
        ]
        assert store.create_all(Human, rows) == (20, 0, 0)
        assert store.create_all(Human, rows, "modified") == (0, 20, 0)  # new pups
        assert store.create_all(Human, [{"id": 1, "address": [None, "c"]}, {"id": 2, "address": None}], "modified") == (
            0,
            1,
            1,
        )
        assert store.create_all(Human, [[30, "x", [rex, rex]], [31, "y", []]]) == (2, 0, 0)
        with pytest.raises(objstore.WrongType) as caught:
            store.create_all(Human, [{"id": 40, "name": "x", "boss": None}, {"id": 41, "name": "y", "boss": [1, 2]}])
        assert caught.value.position == 1 and store.get(Human, 40) is None
    assert store.get(Human, 3).address.city == "c" and len(store.get(Human, 30).pups) == 2


def test_unmanaged_from_values(store):
    rex = Pup(name="Rex")
    jane = Human.from_values(
        {
            "id": 1,
            "name": "J",
            "pups": [rex, ["Ella", 3]],
            "address": {"city": "Rome"},
            "boss": [2, "B"],
            "team": [[3, "T"]],
        }
    )
    assert not jane.is_managed and jane.pups[0] is rex and jane.pups[1].age == 3 and jane.pups[1].color == "brown"
    assert jane.address.city == "Rome" and jane.boss.name == "B" and [h.name for h in jane.team] == ["T"]
    assert Pup.from_values(["Fido", 5]).age == 5
    other = Pup.from_values(SimpleNamespace(name="s", age=1))
    assert (other.name, other.age, other.toys) == ("s", 1, [])
    with store.write():
        store.add(jane)
    assert counts(store) == [1, 2, 3, 0]
    copy = Pup.from_values(jane.pups[1])
    assert not copy.is_managed and (copy.name, copy.age) == ("Ella", 3)
    for values, error in (
        (["a", "five"], objstore.WrongType),
        (["a", 1, "b", [], 1], objstore.InvalidArgument),
        ({"age": None}, objstore.NotNullable),
        ({"nom": 1}, objstore.NoSuchProperty),
        (5, objstore.InvalidArgument),
    ):
        with pytest.raises(error, match="Pup"):
            Pup.from_values(values)
    with pytest.raises(objstore.MissingValue, match="Human.name"):
        Human.from_values({"id": 1})
    with pytest.raises(objstore.MissingValue, match="color"):
        Pup.from_values(["a", 1], exact=True)
    circle: dict[str, Any] = {"id": 1, "name": "a"}
    circle["boss"] = circle
    with pytest.raises(objstore.InvalidArgument, match="back to it"):
        Human.from_values(circle)


def test_times_keep_their_instant(store):
    there = timezone(timedelta(hours=5))
    with store.write():
        made = store.create(Kinds, {"id": uuid.uuid4(), "inner": {"id": uuid.uuid4(), "when": NOW.astimezone(there)}})
        with pytest.raises(objstore.WrongType, match="time zone"):
            store.create(Kinds, {"id": uuid.uuid4(), "inner": {"id": uuid.uuid4(), "when": datetime(2026, 1, 1)}})
    assert made.inner.when == NOW


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"id": 1, "pups": [{"age": 1}, {"age": "x"}]}, "$.pups[1].age: Pup.age: "),
        ({"id": 1, "name": "a", "boss": {"id": 2, "pups": [["a", "five"]]}}, "$.boss.pups[0].age: Pup.age: "),
        ({"id": 1, "name": "a", "places": {"home": {"city": 5}}}, "$.places.home.city: Address.city: "),
        ({"id": 1, "name": "a", "homes": [{}, {"town": ""}]}, "$.homes[1]: Address has no property 'town'"),
        # The property alone says it.
        ({"id": "x"}, "Human.id: "),
    ],
)
def test_where_values_do_not_fit(store, values, message):
    with store.write():
        with pytest.raises(objstore.Error) as caught:
            store.create(Human, values)
        assert str(caught.value).startswith(message)
        boss = store.create(Human, {"id": 7, "name": "b"})
        if "pups" in values:
            with pytest.raises(objstore.Error) as caught:
                boss.pups = values["pups"]
            assert str(caught.value).startswith("$[1].age: Pup.age: ")
    assert counts(store) == [0, 0, 1, 0]


class Child(objstore.Model):
    id: int = objstore.field(primary_key=True)
    name: str = ""
    age: int = 0


class Parent(objstore.Model):
    id: int = objstore.field(primary_key=True)
    first: Child | None = None
    children: list[Child]
    by_name: dict[str, Child | None]


@pytest.mark.parametrize("update", ["modified", "all"])
@pytest.mark.parametrize("parent_exists", [False, True])
@pytest.mark.parametrize("way", ["create", "create_all", "json", "add"])
def test_an_upsert_looks_up_children_whether_or_not_the_parent_exists(path, update, parent_exists, way):
    with objstore.open(path, models=[Parent, Child]) as store, store.write():
        known = store.create(Child, {"id": 1, "name": "old", "age": 5})
        if parent_exists:
            store.create(Parent, {"id": 7, "children": [known]})
        values = {
            "id": 7,
            "first": {"id": 2, "name": "b"},
            "children": [{"id": 1, "name": "a"}, {"id": 2}],
            "by_name": {"x": {"id": 3}},
        }
        if way == "create":
            store.create(Parent, values, update=update)
        elif way == "create_all":
            assert store.create_all(Parent, [values], update=update)[:2] == ((0, 1) if parent_exists else (1, 0))
        elif way == "json":
            store.create_from_json(Parent, values, update=update)
        else:
            second = Child(id=2, name="b")
            children = [Child(id=1, name="a", age=5), second]
            store.add(Parent(id=7, first=second, children=children, by_name={"x": Child(id=3)}), update=update)
        parent = store.get(Parent, 7)
        assert [c.id for c in store.objects(Child)] == [1, 2, 3] and len(store.objects(Parent)) == 1
        assert (known.name, known.age) == ("a", 5)  # what is not given stays
        assert (
            list(parent.children) == [known, parent.first] and parent.first.name == "b" and parent.by_name["x"].id == 3
        )


class NamedChild(NamedTuple):
    name: str
    id: int


class Misspelt(NamedTuple):
    id: int
    nam: str


class Known(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""


class Leader(objstore.Model):
    id: int = field(primary_key=True)
    known: Known | None = None
    all: list[Known]


def test_named_tuples_are_taken_by_their_names(path):
    """In whichever order they have them; the names are checked like those of a dictionary."""
    with objstore.open(path, models=[Known, Leader]) as store:
        check_named_tuples(store)


def check_named_tuples(store):
    with store.write():
        assert store.create(Known, NamedChild("a", 1)).name == "a"
        assert store.create(Known, NamedChild("b", 1), "modified", by="id").name == "b"
        assert store.create_all(Known, [NamedChild("c", 3), NamedChild("d", 4), (5, "e"), {"id": 6}]).created == 4
        for create in (
            lambda: store.create(Known, Misspelt(7, "x")),
            lambda: store.create_all(Known, [Misspelt(7, "x")]),
        ):
            with pytest.raises(objstore.NoSuchProperty, match="Known has no property 'nam'"):
                create()
        leader = store.create(Leader, {"id": 1, "known": NamedChild("n", 8), "all": [NamedChild("o", 9)]})
        assert (leader.known.name, leader.all[0].name) == ("n", "o")
    assert Known.from_values(NamedChild("p", 2)).to_dict() == {"id": 2, "name": "p"}
    assert [(k.id, k.name) for k in store.objects(Known)] == [
        (1, "b"),
        (3, "c"),
        (4, "d"),
        (5, "e"),
        (6, ""),
        (8, "n"),
        (9, "o"),
    ]
