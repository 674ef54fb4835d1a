"""What comes between two versions of the models."""

from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

import objstore
from objstore import field


def v1():
    class Person(objstore.Model):
        first_name: str = ""
        last_name: str = ""
        age: int | None = None
        tags: list[str]
        friend: "Person | None" = None

    return Person


def v1b():
    class Person(objstore.Model):
        first_name: str = ""
        last_name: str = ""
        age: int | None = None
        tags: list[str]
        friend: "Person | None" = None
        email: str | None = None

    return Person


def v2():
    class Person(objstore.Model):
        full_name: str = field(primary_key=True)
        age: int
        labels: list[str]
        friend: "Person | None" = None
        email: str | None = None

    return Person


def fill(path):
    person = v1()
    with objstore.open(path, models=[person]) as store, store.write():
        people = store.add_all([person(first_name=f"First{i}", last_name=f"Last{i}", tags=[f"t{i}"]) for i in range(4)])
        assert people.created == 4
        first, second, third, fourth = store.objects(person)
        first.age, second.friend, third.friend = 7, first, fourth


def test_a99_versions_of_a_person(path):
    fill(path)
    person = v1b()
    with objstore.open(path, models=[person], schema_version=2) as store:
        assert [p.email for p in store.objects(person)] == [None] * 4
    calls = []

    def migrate(migration, old_version):
        calls.append((old_version, migration.old_version, migration.new_version))
        for number, (old, new) in enumerate(migration.objects("Person")):
            assert list(old.tags) == [f"t{number}"] and new.full_name == ""
            new.full_name = f"{old.first_name} {old.last_name}"
            if new.age is None:
                new.age = 0
            if old.friend is not None:
                assert old.friend.first_name == {1: "First0", 2: "First3"}[number]
            if number == 3:
                migration.store.delete(new)
        assert migration.rename_property("Person", "tags", "labels") == 3
        with pytest.raises(objstore.NoSuchProperty):
            migration.rename_property("Person", "labels", "labels")
        with pytest.raises(objstore.WrongType):
            migration.rename_property("Person", "first_name", "labels")
        with pytest.raises(objstore.NoSuchClass):
            next(migration.objects("Dog"))
        migration.store.add(latest(full_name="New", age=1))
        assert migration.old.objects(migration.old_models["Person"]).count() == 4
        assert migration.old_objects("Person")[0].first_name == "First0"

    latest = v2()
    kept = []

    def fails(migration, old_version):
        migrate(migration, old_version)
        kept.append(migration)
        raise KeyError("not today")

    with pytest.raises(KeyError, match="not today"):
        objstore.open(path, models=[latest], schema_version=3, migrate=fails)
    with pytest.raises(objstore.Closed):
        kept[0].old_objects("Person").count()
    with pytest.raises(objstore.SchemaError, match="3 of 4 objects have null"):
        objstore.open(path, models=[latest], schema_version=3, migrate=lambda migration, version: None)
    with pytest.raises(objstore.SchemaError):
        objstore.open(path, models=[latest], schema_version=3)
    with objstore.open(path, models=[person], schema_version=2) as store:
        assert [p.first_name for p in store.objects(person)] == [f"First{i}" for i in range(4)]
    calls.clear()
    with objstore.open(path, models=[latest], schema_version=3, migrate=migrate) as store:
        people = list(store.objects(latest))
        assert [(p.full_name, p.age, list(p.labels)) for p in people] == [
            ("First0 Last0", 7, ["t0"]),
            ("First1 Last1", 0, ["t1"]),
            ("First2 Last2", 0, ["t2"]),
            ("New", 1, []),
        ]
        assert people[1].friend == people[0] and people[2].friend is None
        assert store.get(latest, "New").age == 1
        store.verify()
    with objstore.open(path, models=[latest], schema_version=3, migrate=migrate):
        pass
    assert calls == [(2, 2, 3)]
    for version in (2, 3):
        with pytest.raises(objstore.SchemaError):
            objstore.open(path, models=[person], schema_version=version)


def test_required_and_optional(path):
    def item(nullable):
        class Item(objstore.Model):
            number: int
            note: str | None if nullable else str  # type: ignore[valid-type]

        return Item

    optional, required = item(True), item(False)
    with objstore.open(path, models=[optional]) as store, store.write():
        store.add_all([optional(number=i, note="x" if i else None) for i in range(3)])
    with pytest.raises(objstore.SchemaError, match="Item.note cannot become required: 1 of 3"):
        objstore.open(path, models=[required], schema_version=2)

    def migrate(migration, old_version):
        for old, new in migration.objects("Item"):
            if old.note is None:
                new.note = "none"

    with objstore.open(path, models=[required], schema_version=2, migrate=migrate) as store:
        assert [i.note for i in store.objects(required)] == ["none", "x", "x"]
        with store.write(), pytest.raises(objstore.NotNullable):
            store.objects(required)[0].note = None
        store.verify()
    with objstore.open(path, models=[optional], schema_version=3) as store:
        with store.write():
            store.objects(optional)[0].note = None
        assert [i.note for i in store.objects(optional)] == [None, "x", "x"]
        store.verify()


def test_another_type(path):
    class Item(objstore.Model):
        price: str
        gone: int = 0

    old = Item

    class Item(objstore.Model):  # type: ignore[no-redef]
        price: Decimal

    with objstore.open(path, models=[old]) as store, store.write():
        store.add_all([old(price=f"{i}.50") for i in range(500)])
    with pytest.raises(objstore.SchemaError, match="a migration could convert it"):
        objstore.open(path, models=[Item], schema_version=2)

    def migrate(migration, old_version):
        for before, after in migration.objects("Item"):
            after.price = Decimal(before.price)
        migration.store.objects(Item)

    with objstore.open(path, models=[Item], schema_version=2, migrate=migrate) as store:
        assert sum(i.price for i in store.objects(Item)) == Decimal("125000.00")
        store.verify()


def test_old_objects_of_every_type(path):
    class Other(objstore.Model):
        id: int = field(primary_key=True)

    class Item(objstore.Model):
        number: int
        flag: bool = False
        real: float = 0.0
        single: objstore.Float32 = objstore.Float32(0)
        price: Decimal = Decimal(0)
        text: str | None = None
        data: bytes = b""
        time: datetime | None = None
        extra: Any = None
        one: "Other | None" = None
        many: list["Other"]
        some: set["Other"]
        named: dict[str, "Other | None"]
        numbers: list[int | None]
        places: dict[int, str]

    time = datetime(2026, 1, 2, tzinfo=timezone.utc)
    with objstore.open(path, models=[Item, Other]) as store, store.write():
        other = store.add(Other(id=1))
        store.add(
            Item(
                number=1,
                flag=True,
                real=1.5,
                single=objstore.Float32(0.5),
                price=Decimal("1.20"),
                text="t",
                data=b"d",
                time=time,
                extra={"a": [1, None]},
                one=other,
                many=[other, other],
                some={other},
                named={"x": other, "y": None},
                numbers=[1, None],
                places={5: "five"},
            )
        )
    seen = []

    def migrate(migration, old_version):
        (item,) = migration.old_objects("Item")
        (there,) = migration.old_objects("Other")
        seen.append(
            (
                item.number,
                item.flag,
                item.real,
                item.single,
                item.price,
                item.text,
                item.data,
                item.time,
                item.extra.copy(),
            )
        )
        assert item.one == there and list(item.many) == [there, there] and set(item.some) == {there} and there.id == 1
        assert (
            dict(item.named) == {"x": there, "y": None}
            and list(item.numbers) == [1, None]
            and dict(item.places) == {5: "five"}
        )
        with pytest.raises(objstore.Error):
            item.number = 5
        assert migration.delete_data("Other") == 1
        assert [new.one for _, new in migration.objects("Item")] == [None]
        assert [new for _, new in migration.objects("Other")] == [None]

    with objstore.open(path, models=[Item, Other], schema_version=2, migrate=migrate) as store:
        assert store.objects(Other).count() == 0 and list(store.objects(Item)[0].many) == []
        store.verify()
    assert seen == [(1, True, 1.5, 0.5, Decimal("1.20"), "t", b"d", time, {"a": [1, None]})]


def test_others_go_on(path):
    """A store that is open while another handle migrates, and its observer."""
    fill(path)
    person, latest = v1(), v2()
    told = []

    def migrate(migration, old_version):
        for old, new in migration.objects("Person"):
            new.full_name, new.age = f"{old.first_name} {old.last_name}", 3

    with objstore.open(path, models=[person]) as store:
        frozen = store.freeze()
        with store.objects(person).observe(lambda change: told.append(change.is_initial)):
            store.deliver()
            with objstore.open(path, models=[latest], schema_version=2, migrate=migrate) as newer:
                assert [p.age for p in newer.objects(latest)] == [3] * 4
                store.deliver()
                assert [p.first_name for p in frozen.objects(person)] == [f"First{i}" for i in range(4)]
                with newer.write():
                    newer.add(latest(full_name="New", age=1))
                store.deliver()
                newer.verify()
        assert told[0] is True
        frozen.close()
        with pytest.raises(objstore.NoSuchProperty):
            [p.first_name for p in store.objects(person)]


def test_wrong_arguments(path):
    class Item(objstore.Model):
        number: int

    with pytest.raises(objstore.InvalidArgument):
        objstore.open(path, models=[Item], migrate=5)
    calls = []
    with objstore.open(path, models=[Item], schema_version=4, migrate=lambda *_: calls.append(1)):
        pass
    assert calls == []  # a new store is not migrated
