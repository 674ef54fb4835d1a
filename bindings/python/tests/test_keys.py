"""Primary keys of several properties, primary keys that can be None, counters, classes that are dropped, objects that
become embedded."""

import datetime
import pathlib
import uuid

import pytest

import objstore
from objstore import Counter, EmbeddedModel, Index, Model, field


class Reading(Model):
    sensor: str
    time: int
    value: float | None = None
    tags: list[str]
    __indexes__ = [Index("sensor", "time", primary_key=True)]


class Report(Model):
    id: int = field(primary_key=True)
    best: Reading | None = None


class Optional(Model):
    id: str | None = field(primary_key=True)
    n: int = 0


class Frog(Model):
    id: int = field(primary_key=True)
    flies_eaten: Counter | None = None
    jumps: Counter = Counter(0)


@pytest.fixture
def store():
    with objstore.open(memory="", models=[Reading, Report, Optional, Frog]) as store:
        yield store


class TestKeyOfSeveral:
    def test_upsert(self, store):
        first = Reading(sensor="a", time=1, value=1.5)
        with store.write():
            store.add(first)
            with pytest.raises(objstore.DuplicateKey, match='sensor = "a", time = 1'):
                store.add(Reading(sensor="a", time=1))
            same = store.create(Reading, {"sensor": "a", "time": 1, "value": 2.5}, update="modified")
            assert same == first and first.value == 2.5
            store.create(Reading, {"time": 1, "sensor": "a", "tags": ["x"]}, update="modified")
            assert first.value == 2.5 and list(first.tags) == ["x"]
            store.add(Reading(sensor="a", time=1, value=4), update="all")
            assert first.value == 4 and list(first.tags) == []
            store.add(Reading(sensor="a", time=2))
            counts = store.add_all([Reading(sensor="a", time=t, value=9) for t in (1, 2, 3, 3)], update="modified")
            assert counts.created == 1 and len(store.objects(Reading)) == 3
            with pytest.raises(objstore.DuplicateKey):
                store.add_all([Reading(sensor="b", time=1), Reading(sensor="b", time=1)])
            report = store.create(Report, {"id": 1, "best": {"sensor": "a", "time": 3, "value": 7}}, update="modified")
            assert report.best.value == 7 and len(store.objects(Reading)) == 3
            linked = Report(id=2, best=Reading(sensor="a", time=1))
            store.add(linked, update="modified")
            assert linked.best == first
            with pytest.raises(objstore.KeyImmutable, match="Reading.time"):
                first.time = 5
            with pytest.raises(objstore.KeyImmutable):
                store.objects(Reading).update(sensor="c")
        assert store.get(Reading, ("a", 1)) == first
        assert store.get(Reading, ("a", 9)) is None
        assert store.find_by(Reading, time=1, sensor="a") == first
        for wrong in ("a", ("a",), ("a", 1, 2)):
            with pytest.raises(objstore.WrongType, match=r"\(sensor, time\)"):
                store.get(Reading, wrong)
        with pytest.raises(objstore.WrongType):
            store.get(Reading, (1, "a"))
        assert repr(report) == "Report(id=1, best=<Reading 'a', 3>)"
        assert store.verify() is None

    def test_json(self, store):
        with store.write():
            text = '[{"sensor":"a","time":1,"value":1},{"sensor":"a","time":1,"value":2},{"sensor":"b","time":1}]'
            store.create_all_from_json(Reading, text, update="modified")
            assert [(r.sensor, r.time, r.value) for r in store.objects(Reading)] == [("a", 1, 2.0), ("b", 1, None)]
            report = store.create(Report, {"id": 1, "best": store.get(Reading, ("a", 1))})
        assert report.to_json(0) == '{"id":1,"best":{"$ref":"Reading","$id":{"sensor":"a","time":1}}}'

    def test_links_by_key(self, store):
        """What is written where a text goes no deeper can be read back."""

        class Holder(Model):
            one: Optional | None = None
            many: list[Optional]

        with objstore.open(memory="", models=[Optional, Holder]) as store, store.write():
            store.add_all([Optional(id="a", n=1), Optional(id="b", n=2)])
            holder = store.create_from_json(Holder, '{"one": "a", "many": ["b", "a", {"id": "c", "n": 3}]}')
            assert holder.one.n == 1 and [o.n for o in holder.many] == [2, 1, 3]
            text = holder.to_json(0)
            assert store.create_from_json(Holder, text).to_json(0) == text == '{"one":"a","many":["b","a","c"]}'
            with pytest.raises(objstore.NoSuchObject, match=r"\$\.many\[0\].*there is no Optional with id = .zz."):
                store.create_from_json(Holder, '{"many": ["zz"]}')
            with pytest.raises(objstore.WrongType):
                store.create_from_json(Holder, '{"one": 5}')

    def test_copies(self, store):
        with store.write():
            report = store.create(Report, {"id": 1, "best": {"sensor": "a", "time": 1, "value": 1}})
        with objstore.open(memory="", models=[Reading, Report]) as other:
            with other.write():
                other.copy(report)
                other.copy(report, update="modified")
            assert other.get(Reading, ("a", 1)).value == 1
        assert report.detach().best.sensor == "a"

    def test_declaration(self):
        with pytest.raises(objstore.SchemaError, match="primary key already: id"):

            class Twice(Model):
                id: int = field(primary_key=True)
                other: int
                __indexes__ = [Index("id", "other", primary_key=True)]

        with pytest.raises(objstore.SchemaError, match="note: part of a primary key"):

            class Nullable(Model):
                id: int
                note: str | None
                __indexes__ = [Index("id", "note", primary_key=True)]

        with pytest.raises(objstore.SchemaError, match="embedded"):

            class Part(EmbeddedModel):
                a: int
                b: int
                __indexes__ = [Index("a", "b", primary_key=True)]

        assert repr(Index("a", "b", primary_key=True)) == "Index('a', 'b', primary_key=True)"

    def test_all_kinds(self):
        class Key(Model):
            a: bool
            b: int
            c: str
            d: datetime.datetime
            e: objstore.ObjectId
            f: uuid.UUID
            n: int = 0
            __indexes__ = [Index("a", "b", "c", "d", "e", "f", primary_key=True)]

        key = (
            True,
            2,
            "ü",
            datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
            objstore.ObjectId(),
            uuid.uuid4(),
        )
        with objstore.open(memory="", models=[Key]) as store:
            with store.write():
                store.create(Key, dict(zip("abcdef", key)))
                store.create(Key, dict(zip("abcdef", (False, *key[1:]))))
                store.create(Key, dict(zip("abcdefn", (*key, 7))), update="all")
            assert store.get(Key, key).n == 7 and len(store.objects(Key)) == 2


class TestNoneAsKey:
    """Rule 6: a null primary key is a key."""

    def test_none(self, store):
        with store.write():
            store.add(Optional(id="a", n=1))
            none = store.add(Optional(id=None, n=2))
            with pytest.raises(objstore.DuplicateKey):
                store.add(Optional(id=None))
            with pytest.raises(objstore.DuplicateKey):
                store.create(Optional, {"n": 3})
            store.create(Optional, {"id": None, "n": 4}, update="modified")
            store.add_all([Optional(id="b"), Optional(id=None, n=5), Optional(id=None, n=6)], update="all")
        assert store.get(Optional, None).n == 6 and len(store.objects(Optional)) == 3
        assert store.get(Optional, "a").n == 1
        assert store.find_by(Optional, id=None).n == 6
        with pytest.raises(objstore.NotNullable):
            store.get(Frog, None)
        assert none is None or none.n == 6


class TestCounters:
    """D52."""

    def test_managed(self, store):
        frog = Frog(id=1)
        frog.jumps.increment(2)
        assert frog.jumps == 2 and frog.flies_eaten is None
        with store.write():
            store.add(frog)
            jumps = frog.jumps
            jumps.increment()
            jumps.decrement(5)
            assert jumps == -2 == frog.jumps.value
            frog.flies_eaten = 7
            frog.flies_eaten.increment(10)
            assert frog.flies_eaten + 1 == 18 and type(frog.flies_eaten + 1) is int and 20 - frog.flies_eaten == 3
            frog.flies_eaten.set(1)
            frog.flies_eaten.increment()
            with pytest.raises(objstore.OutOfRange):
                frog.flies_eaten.increment(2**63 - 1)
            with pytest.raises(objstore.OutOfRange):
                frog.flies_eaten.increment(2**70)
            with pytest.raises(TypeError):
                frog.flies_eaten.increment("1")
            held = frog.flies_eaten
            store.create(Frog, {"id": 2, "flies_eaten": Counter(3)})
        assert frog.flies_eaten == 2 and int(frog.flies_eaten) == 2 and f"{frog.flies_eaten:03}" == "002"
        assert [f.id for f in store.objects(Frog).where(Frog.flies_eaten > 2)] == [2]
        assert store.objects(Frog).sum(Frog.jumps) == -2
        with pytest.raises(objstore.NotInWrite):
            frog.jumps.increment()
        with store.write():
            frog.flies_eaten = None
            with pytest.raises(objstore.NullValue):
                held.increment()
            with pytest.raises(objstore.NullValue):
                held.value
        with pytest.raises(TypeError):
            hash(frog.jumps)
        assert frog.to_json() == '{"id":1,"flies_eaten":null,"jumps":-2}'
        assert frog.detach().jumps == -2

    def test_rolled_back(self, store):
        with store.write():
            frog = Frog(id=1)
            store.add(frog)
        with pytest.raises(ZeroDivisionError):
            with store.write():
                frog.jumps.increment(5)
                assert frog.jumps == 5
                1 / 0
        assert frog.jumps == 0

    def test_declaration(self):
        with pytest.raises(objstore.SchemaError, match="primary key"):

            class Bad(Model):
                id: Counter = field(primary_key=True)

        with pytest.raises(objstore.OutOfRange):
            Counter(2**63)


def before():
    class Address(Model):
        street: str = ""

    class Person(Model):
        name: str
        home: Address | None = None
        others: list[Address]

    class Old(Model):
        n: int
        person: Person | None = None

    return Address, Person, Old


def after():
    class Address(EmbeddedModel):
        street: str = ""

    class Person(Model):
        name: str
        home: Address | None = None
        others: list[Address]

    return Address, Person


class TestSchemaChanges:
    def test_dropped_class(self, tmp_path: pathlib.Path):
        path, (Address, Person, Old) = tmp_path / "s", before()
        with objstore.open(path, models=[Person, Address, Old]) as store, store.write():
            ada = store.create(Person, {"name": "Ada"})
            for n in range(10):
                store.create(Old, {"n": n, "person": ada})
        with pytest.raises(objstore.SchemaError, match="class Old is to be dropped"):
            objstore.open(path, models=[Person, Address], drop=["Old"])
        with pytest.raises(objstore.SchemaError, match="Old.person leads to class Person"):
            objstore.open(path, models=[Address], schema_version=2, drop=["Person"])
        with pytest.raises(objstore.SchemaError, match="class Person of the schema cannot be dropped"):
            objstore.open(path, models=[Person, Address], schema_version=2, drop=["Person"])
        for wrong in ("Old", [3]):
            with pytest.raises(objstore.InvalidArgument):
                objstore.open(path, models=[Person, Address], schema_version=2, drop=wrong)
        seen = []

        def migrate(migration, version):
            seen.extend(old.n for old, new in migration.objects("Old") if new is None)

        with objstore.open(
            path, models=[Person, Address], schema_version=2, drop=["Old", "NeverThere"], migrate=migrate
        ) as store:
            assert len(store.objects(Person)) == 1 and seen == list(range(10))
            assert store.verify() is None
        with objstore.open(path, models=[Person, Address, Old], schema_version=2) as store:
            assert len(store.objects(Old)) == 0

    def test_objects_become_embedded(self, tmp_path: pathlib.Path):
        """D77."""
        path, (Address, Person, _) = tmp_path / "s", before()
        with objstore.open(path, models=[Person, Address]) as store, store.write():
            store.create(Person, {"name": "Ada", "home": {"street": "One"}, "others": [{"street": "Two"}]})
            store.create(Person, {"name": "Eve", "home": {"street": "Three"}})
            store.create(Address, {"street": "Nowhere"})
        Address, Person = after()
        with pytest.raises(objstore.SchemaError, match="1 of 4 objects do not have one parent"):
            objstore.open(path, models=[Person, Address], schema_version=2)

        def migrate(migration, version):
            parents = [p.home for p in migration.old_objects("Person")]
            assert len(parents) == 2
            for old, new in migration.objects("Address"):
                if old.street == "Nowhere":
                    migration.store.delete(new)

        with objstore.open(path, models=[Person, Address], schema_version=2, migrate=migrate) as store:
            ada, eve = store.objects(Person)
            assert [ada.home.street, ada.others[0].street, eve.home.street] == ["One", "Two", "Three"]
            assert ada.others[0].parent == ada
            with store.write():
                store.delete(ada)
            assert store.verify() is None


def test_generated_numbers_go_in_as_columns(store):
    class Ticket(Model):
        id: int = field(primary_key=True, generated=True)
        n: int = 0

    with objstore.open(memory="", models=[Ticket]) as store, store.write():
        first = store.add(Ticket(n=-1))
        tickets = [Ticket(n=n) for n in range(2000)]
        before = store.statistics().commits
        assert store.add_all(tickets).created == 2000 and store.statistics().commits == before
        assert [ticket.id for ticket in tickets] == list(range(first.id + 1, first.id + 2001))
        mixed = [Ticket(n=1), Ticket(id=10_000, n=2), Ticket(n=3)]  # some have one: one by one
        store.add_all(mixed)
        assert mixed[1].id == 10_000 and mixed[2].id == 10_001 and mixed[0].id == first.id + 2001
        assert store.create_all(Ticket, [{"n": 1}, {"n": 2}]).created == 2
        assert len({ticket.id for ticket in store.objects(Ticket)}) == 2006


def test_an_object_that_is_given_twice(tmp_path: pathlib.Path) -> None:
    class Made(Model):
        id: int = field(primary_key=True, generated=True)
        name: str = ""

    with objstore.open(tmp_path / "made", models=[Made]) as store:
        with store.write():
            made = Made(name="one")
            with pytest.raises(objstore.InvalidArgument, match="a Made is there twice"):
                store.add_all([made, Made(name="two"), made])
            given = Made(id=7)
            with pytest.raises(objstore.DuplicateKey):
                store.add_all([given, given])
            assert store.add_all([made, Made(name="two")]).created == 2
        assert [made.name for made in store.objects(Made)] == ["one", "two"]


GREATEST = 2**63 - 1


@pytest.mark.parametrize("again", [False, True], ids=["in one write", "in the next"])
@pytest.mark.parametrize("key", [GREATEST, GREATEST - 1, 2**61 + 1])
def test_a_key_that_is_gone_uses_nothing_up(tmp_path, key, again):
    class Ticket(Model):
        id: int = field(primary_key=True, generated=True)

    def made(store):
        """What each way of creating generates."""
        one = store.create(Ticket, {})
        store.create_all(Ticket, [{}, {}])
        store.create_from_json(Ticket, "{}")
        return one.id

    with objstore.open(tmp_path / "tickets", models=[Ticket]) as store:
        with store.write():
            assert store.add(Ticket()).id == 1
            store.delete(store.add(Ticket(id=key)))
            if not again:
                assert made(store) == 2
        with store.write() as tx:
            assert made(store) == (2 if again else 6)
            expected = [1, *range(2, 6 if again else 10)]
            with tx.savepoint():
                store.delete(store.add(Ticket(id=key)))
                assert store.create(Ticket, {}).id == expected[-1] + 1
        assert sorted(ticket.id for ticket in store.objects(Ticket)) == [*expected, expected[-1] + 1]
        with store.write():
            store.add(Ticket(id=GREATEST))
            with pytest.raises(
                objstore.OutOfRange, match=f"Ticket.id: no key can be generated, since there is one of {GREATEST}"
            ):
                store.create(Ticket, {})
        store.verify()


def test_a_key_that_is_generated_from_now_on(tmp_path):
    """Of a property that was none, of one of another type, and in a class without objects."""

    def model(**properties):
        annotations, values = (
            {name: kind for name, (kind, _) in properties.items()},
            {name: value for name, (_, value) in properties.items()},
        )
        return type(Model)("Ticket", (Model,), {"__annotations__": annotations, "__module__": __name__} | values)

    key = (int, field(primary_key=True, generated=True))
    befores = [model(id=(int, 0)), model(id=(str, field(primary_key=True))), model(old=(int, 0))]
    for number, before in enumerate(befores):
        for count in (0, 3):
            path = tmp_path / f"{number}-{count}"
            with objstore.open(path, models=[before]) as store, store.write():
                store.create_all(before, [[str(i) if number == 1 else i] for i in range(count)])
            after = model(**({"id": key} if number < 2 else {"old": (int, 0), "id": key}))

            def migrate(migration, _):
                for old, new in migration.objects("Ticket"):
                    new.id = int(old.old if "old" in before.__annotations__ else old.id) + 10
                with pytest.raises(
                    objstore.NoPrimaryKey, match="Ticket has no primary key before the migration is over"
                ):
                    migration.store.get(after, 10)

            with objstore.open(path, models=[after], schema_version=2, migrate=migrate) as store:
                assert [ticket.id for ticket in store.objects(after)] == [10, 11, 12][:count]
                with store.write():
                    assert store.create(after, {}).id == (13 if count else 1)
                store.verify()
