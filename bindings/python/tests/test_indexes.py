"""Unique properties and indexes of several properties: refused, looked up, ranged over, added to stores that exist."""

import math
import random
from decimal import Decimal

import pytest

import objstore
from objstore import Index, field


class Person(objstore.Model):
    id: int = field(primary_key=True)
    mail: str | None = field(default=None, unique=True)
    last: str = "Doe"
    first: str | None = None
    born: int | None = None
    price: Decimal | None = field(default=None, unique=True)
    data: bytes | None = None
    __indexes__ = [Index("last", "first", unique=True), Index("born", "last"), Index("data", "price", "born")]


@pytest.fixture
def store(path):
    with objstore.open(path, models=[Person]) as opened:
        yield opened
        opened.verify()


def refused(function, *names):
    with pytest.raises(objstore.DuplicateKey) as caught:
        function()
    assert caught.value.class_name == "Person"
    assert caught.value.property_name == ", ".join(names)
    return caught.value


def test_unique_values_are_refused_twice(store):
    with store.write():
        ada = store.add(Person(id=1, mail="ada@x", last="Gray", first="Ada", price=Decimal("1.0")))
        eve = store.add(Person(id=2, last="Gray", first="Eve"))
        store.add_all([Person(id=3, last="Gray"), Person(id=4, last="Gray")])  # None belongs to no object
        error = refused(lambda: store.add(Person(id=5, mail="ada@x")), "mail")
        assert 'an object of class Person with mail = "ada@x" already exists' in str(error)
        refused(lambda: store.create(Person, {"id": 5, "last": "Gray", "first": "Ada"}), "last", "first")
        refused(lambda: store.create(Person, {"id": 5, "price": Decimal("1.00")}), "price")
        refused(lambda: store.add(Person(id=2, mail="ada@x"), update="all"), "mail")
        refused(lambda: store.create(Person, {"id": 2, "mail": "ada@x"}, update="modified"), "mail")
        refused(lambda: setattr(eve, "mail", "ada@x"), "mail")
        refused(lambda: setattr(eve, "first", "Ada"), "last", "first")
        assert (eve.mail, eve.first) == (None, "Eve")
        ada.mail = "ada@x"
        ada.mail, ada.first = None, "Augusta"
        eve.mail, eve.first = "ada@x", "Ada"
    assert [p.first for p in store.objects(Person)] == ["Augusta", "Ada", None, None]


def test_many_at_once_are_all_or_none(store):
    with store.write():
        store.add_all([Person(id=i, mail=f"m{i}", last=f"l{i % 7}", first=f"f{i}") for i in range(100)])
        for count in (3, 60, 5000):
            new = [Person(id=1000 + i, mail=f"n{i}") for i in range(count)]
            new[-2].mail = "n0"
            error = refused(lambda: store.add_all(new), "mail")
            assert error.position == count - 2
            assert not new[0].is_managed
            # 0 wants what 1 releases later
            rows = [{"id": i, "mail": None if i == 1 else f"m{i + 1}"} for i in range(count)]
            refused(lambda: store.create_all(Person, rows, update="modified"), "mail")
            assert store.objects(Person).count() == 100
        assert store.create_all(Person, [{"id": 1, "mail": None}, {"id": 0, "mail": "m1"}], update="all").changed == 2
        # Of several objects only one can get a unique value.
        refused(lambda: store.objects(Person).where(Person.id >= 50).update(mail="same"), "mail")
        assert store.get(Person, 50).mail == "m50"
        refused(lambda: store.objects(Person).update(last="same", first="same"), "last", "first")
        assert store.objects(Person).where(Person.id == 99).update(mail="same") == 1
        assert store.objects(Person).update(last="same") == 100  # first names differ


def test_what_was_written_together_is_reported(store):
    with store.write():
        store.add_all([Person(id=i, last=f"l{i}") for i in range(3)])
    told = []
    with store.observe(
        Person, lambda c: told.append([c.written(i) for i in range(c.modification_count)]), initial=False
    ):
        with store.write():
            store.create(Person, {"id": 1, "last": "a", "first": "b", "born": 3}, update="all")
            store.get(Person, 2).born = 4
        store.wait(5)
    assert [sorted(names) for names in told[0]] == [["born", "first", "last"], ["born"]]


def test_find_by(store):
    with store.write():
        store.add(Person(id=1, mail="ada@x", last="Gray", first="Ada", price=Decimal("2.50")))
        store.add(Person(id=2, mail="x" * 300, last="Gray"))
        assert store.find_by(Person, mail="ada@x").id == 1
    for source in (store, store.freeze()):
        assert source.find_by(Person, mail="ada@x").id == 1
        assert source.find_by(Person, mail="x" * 300).id == 2
        assert source.find_by(Person, mail="x" * 299) is None
        assert source.find_by(Person, mail=None) is None
        assert source.find_by(Person, price=Decimal("2.5")).first == "Ada"
        assert source.find_by(Person, first="Ada", last="Gray").id == 1
        assert source.find_by(Person, last="Gray", first=None) is None
        assert source.find_by(Person, id=2).last == "Gray"
        for wrong in ({"last": "Gray"}, {"last": "Gray", "born": 1}, {}, {"born": 3}):
            with pytest.raises(objstore.NoSuchIndex):
                source.find_by(Person, **wrong)
        with pytest.raises(objstore.WrongType):
            source.find_by(Person, mail=3)
        with pytest.raises(objstore.NoSuchProperty):
            source.find_by(Person, male=3)


def order(values):
    """None first, and by what comes next."""
    return [(v is not None, v) if v is not None else (False,) for v in values]


def test_stretches_against_sorting(store):
    seed = 4
    rng = random.Random(seed)
    texts = ["", "a", "a\0", "a\0b", "b", "é", "z" * 70, "z" * 70 + "a", None]
    blobs = [None, b"", b"\0", b"\0\0", b"\xff", b"\xff" * 80]
    people = [
        Person(
            id=i,
            last=rng.choice(texts[:-1]) + str(i // 9),
            first=str(i),
            born=rng.choice([None, -1, 0, 5]),
            data=rng.choice(blobs),
        )
        for i in range(300)
    ]
    plain = {p.id: (p.last, p.first, p.born, p.price, p.data) for p in people}
    with store.write():
        store.add_all(people)
    columns = {"last": 0, "first": 1, "born": 2, "price": 3, "data": 4}
    for names in (["last", "first"], ["born", "last"], ["data", "price", "born"]):
        key = {i: tuple(row[columns[n]] for n in names) for i, row in plain.items()}
        in_order = sorted(plain, key=lambda i: (order(key[i]), i))
        assert [p.id for p in store.objects_in(Person, names)] == in_order
        for _ in range(60):
            bounds = [key[rng.randrange(300)][: rng.randrange(len(names) + 1)] for _ in range(2)]
            with_from, with_to = rng.random() < 0.5, rng.random() < 0.5

            def inside(i, a=bounds[0], b=bounds[1]):
                first, last = order(key[i][: len(a)]), order(key[i][: len(b)])
                above = not a or (first >= order(a) if with_from else first > order(a))
                return above and (not b or (last <= order(b) if with_to else last < order(b)))

            found = store.objects_in(
                Person, names, from_=bounds[0], to=bounds[1], including_from=with_from, including_to=with_to
            )
            wanted = [i for i in in_order if inside(i)]
            assert found.count() == len(found) == len(wanted), (seed, names, bounds)
            assert [p.id for p in found] == wanted, (seed, names, bounds)
            assert (found.first().id if wanted else found.first()) == (wanted[0] if wanted else None)
            if wanted:
                assert found[-1].id == wanted[-1] and found[0] in found
                with pytest.raises(objstore.NotSupported):
                    found.sum(Person.id)


def test_stretches_are_results(store):
    with store.write():
        store.add_all([Person(id=i, born=i // 2, last=f"l{9 - i}", first=str(i)) for i in range(6)])
        young = store.objects_in(Person, ["born", "last"], from_=[1])
        assert [p.id for p in young] == [3, 2, 5, 4]
        assert store.get(Person, 0) not in young and store.get(Person, 5) in young
        store.add(Person(id=7, born=9))
        assert [p.id for p in young][-1] == 7
        assert [p.id for p in store.objects_in(Person, ("id",), from_=(4,), to=(5,))] == [4, 5]
        assert young.update(born=0) == 5
        assert young.count() == 0
    assert repr(store.objects_in(Person, ["born", "last"], from_=[0], to=[0], including_to=False)) == (
        "<Results of Person where (born, last) from (0,) before (0,): 0>"
    )
    with store.write():
        store.get(Person, 5).born = 2
    assert [p.id for p in young.where(Person.id < 6)] == [5] and [p.id for p in young.limit(1)] == [5]
    with pytest.raises(objstore.NotSupported):
        young.query_text()
    young.observe(print).close()
    with pytest.raises(objstore.NoSuchIndex):
        store.objects_in(Person, ["last"])
    with pytest.raises(objstore.InvalidArgument):
        store.objects_in(Person, ["id"], from_=[1, 2])
    with pytest.raises(objstore.InvalidArgument):
        store.objects_in(Person, ["last", "first"], from_="ab")
    with pytest.raises(objstore.WrongType):
        store.objects_in(Person, ["last", "first"], from_=[5])


def test_nan_and_zero_are_one_value_each(tmp_path):
    class Level(objstore.Model):
        value: float | None = field(default=None, unique=True)

    with objstore.open(tmp_path / "db", models=[Level]) as store, store.write():
        store.add_all([Level(value=0.0), Level(value=math.nan), Level(value=None), Level()])
        for value in (-0.0, math.nan, -math.nan):
            with pytest.raises(objstore.DuplicateKey):
                store.add(Level(value=value))
        assert store.find_by(Level, value=-0.0).value == 0 and math.isnan(store.find_by(Level, value=math.nan).value)


def person(*indexes, mail=None):
    """A class called Person that another version of a program may have."""
    body = {
        "__annotations__": {"id": int, "mail": str | None, "last": str},
        "id": field(primary_key=True),
        "mail": mail or field(default=None),
        "last": "",
        "__indexes__": list(indexes),
        "__module__": __name__,
    }
    return type(objstore.Model)("Person", (objstore.Model,), body)


def test_indexes_of_a_store_that_exists(path):
    first = person()
    with objstore.open(path, models=[first]) as store, store.write():
        store.add_all([first(id=i, mail=None if i % 3 else f"m{i}", last=f"l{i % 10}") for i in range(300)])
        store.add(first(id=500, mail="m3", last="l7"))
    second = person(Index("last", "id"), mail=field(default=None, unique=True))
    with pytest.raises(objstore.SchemaError):
        objstore.open(path, models=[second])
    with pytest.raises(objstore.DuplicateKey) as caught:
        objstore.open(path, models=[second], schema_version=2)
    assert 'Person#3 and Person#300 both have mail = "m3"' in str(caught.value)
    with objstore.open(path, models=[first]) as store, store.write():
        store.delete(store.get(first, 500))
    with objstore.open(path, models=[second], schema_version=2) as store:
        store.verify()
        assert store.find_by(second, mail="m30").id == 30
        assert [p.id for p in store.objects_in(second, ["last", "id"], from_=["l3"], to=["l3"])] == list(
            range(3, 300, 10)
        )
    third = person()
    with objstore.open(path, models=[third], schema_version=3) as store:
        store.verify()
        with pytest.raises(objstore.NoSuchIndex):
            store.find_by(third, mail="m30")


@pytest.mark.parametrize(
    "indexes",
    [
        [Index("id", "male")],
        [Index("id")],
        [Index("id", "id")],
        [Index("id", "mail"), Index("id", "mail", unique=True)],
        [("id", "mail")],
        [Index(*["id"] * 9)],
    ],
)
def test_indexes_that_contradict_themselves(indexes):
    with pytest.raises(objstore.SchemaError):
        person(*indexes)


def test_index_values():
    assert Index("a", "b") == Index("a", "b") != Index("a", "b", unique=True)
    assert hash(Index("a", "b")) == hash(Index("a", "b"))
    assert repr(Index("a", "b", unique=True)) == "Index('a', 'b', unique=True)"
    with pytest.raises(objstore.InvalidArgument):
        Index("a", 5)
    with pytest.raises(objstore.SchemaError):

        class Blob(objstore.Model):
            data: bytes = field(unique=True)


def test_an_index_that_stands_elsewhere():
    """It would be no index, and say nothing."""
    with pytest.raises(objstore.SchemaError, match="Place.__indexes__.*stands in by_zip"):

        class Place(objstore.Model):
            city: str
            zip: int
            by_zip = Index("zip", "city")
