"""D84: a store without models: the classes that the file has."""

import uuid
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import objstore
from objstore import Backlinks, Counter, EmbeddedModel, Float32, Index, Model, ObjectId, backlinks, field

NOW = datetime(2026, 11, 20, 8, 30, 1, 250, tzinfo=timezone.utc)
UUID = uuid.UUID(int=77)
ID = ObjectId(bytes(range(12)))


class Address(EmbeddedModel):
    city: str = "Rome"
    lines: list[str] = field(default_factory=list)


class Person(Model):
    id: int = field(primary_key=True, generated=True)
    name: str
    email: str | None = field(default=None, unique=True)
    age: int = field(default=18, indexed=True)
    visits: Counter = Counter(2)
    score: Float32 = 1.5
    height: float | None = None
    money: Decimal = Decimal("1.10")
    data: bytes = b"x"
    born: datetime | None = NOW
    token: uuid.UUID = field(generated=True)
    mark: ObjectId = ID
    on: bool = True
    extra: Any = field(default_factory=list)
    home: Address | None = None
    places: list[Address] = field(default_factory=list)
    best: "Person | None" = None
    friends: list["Person"] = field(default_factory=list)
    seen: set["Person"] = field(default_factory=set)
    named: dict[uuid.UUID, "Person | None"] = field(default_factory=dict)
    notes: dict[int, float | None] = field(default_factory=dict)
    tags: set[str | None] = field(default_factory=set)
    fans: Backlinks["Person"] = backlinks("best")
    __indexes__ = [Index("name", "age")]


class Reading(Model):
    sensor: str
    time: int
    value: float = 0.0
    __indexes__ = [Index("sensor", "time", primary_key=True)]


class Odd(Model):
    a: int = field(default=1, stored_as="class")
    b: int = field(default=2, stored_as="detach")
    c: int = field(default=3, stored_as="__c")
    d: int = field(default=4, stored_as="x→y")
    e: "Odd | None" = field(default=None, stored_as="_o_e")
    f: int = field(default=6, stored_as="class_")
    __stored_as__ = "Model"


TYPED = [Address, Person, Reading, Odd]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "people"
    with objstore.open(path, models=TYPED) as store, store.write():
        ann = store.add(
            Person(
                name="Ann", token=UUID, extra=[1, {"a": None}], home=Address(lines=["a"]), places=[Address(city="Oslo")]
            )
        )
        bob = store.add(
            Person(
                name="Bob",
                best=ann,
                friends=[ann, ann],
                seen={ann},
                named={UUID: ann},
                notes={1: None},
                tags={None, "t"},
            )
        )
        ann.extra = [bob, 1.5]
        store.add_all([Reading(sensor="n", time=1, value=2.5), Reading(sensor="n", time=2)])
        store.add(Odd(e=Odd()))
    return path


def content(obj: Any, seen: tuple[Any, ...] = ()) -> Any:
    """Everything, whatever class it is of."""
    if isinstance(obj, Model):
        key = (type(obj).__name__, obj._o_key)
        if key in seen:
            return key
        return {
            p.stored_as or p.name: content(getattr(obj, p.name), (*seen, key)) for p in type(obj)._objstore_properties
        }
    if hasattr(obj, "items"):
        return {k: content(v, seen) for k, v in obj.items()}
    if isinstance(obj, (objstore.List, objstore.MixedList)):
        return [content(v, seen) for v in obj]
    if isinstance(obj, objstore.Set):
        return [content(v, seen) for v in obj]
    return obj.value if isinstance(obj, Counter) else obj


def everything(store: objstore.Store, models: Any) -> Any:
    names = {"Odd": "Model"}
    return {names.get(m.__name__, m.__name__): [content(obj) for obj in store.objects(m)] for m in models}


def test_everything_is_there(path: Path) -> None:
    with objstore.open(path, models=TYPED) as store:
        expected = everything(store, TYPED)
        assert dict(store.models) == {m.__name__: m for m in TYPED}
    with objstore.open(path) as store:
        assert sorted(store.models) == ["Address", "Model", "Person", "Reading"]
        assert everything(store, store.models.values()) == expected
        person = store.models["Person"]
        assert store.objects(person).where(person.age >= 18).count() == 2
        assert [p.name for p in store.objects(person).filter("name == 'Bob'")] == ["Bob"]
        assert store.get(person, 1).name == "Ann" and store.get(store.models["Reading"], ("n", 1)).value == 2.5
        assert store.get(person, 1).home.parent == store.get(person, 1)
        told = {p.name: p for p in objstore.fields(person)}
        assert list(told) == [p.name for p in objstore.fields(Person)]
        assert [(p.type_name, p.nullable) for p in told.values()] == [
            (p.type_name, p.nullable) for p in objstore.fields(Person)
        ]
        assert (
            told["id"].primary_key
            and told["id"].generated
            and told["email"].unique
            and told["age"].indexed
            and told["visits"].counter
        )
        assert (
            told["friends"].type_name == "list[Person]" and told["best"].target is person and told["age"].default == 18
        )
        assert [
            objstore.fields(store.models["Model"])[2].name,
            objstore.fields(store.models["Model"])[2].stored_as,
        ] == ["c", "__c"]
        with pytest.raises(objstore.InvalidArgument):
            objstore.fields(int)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            store.models["Other"] = person  # type: ignore[index]
    with objstore.open(path, mode="read-only") as store:
        assert everything(store, store.models.values()) == expected


def test_writing(path: Path) -> None:
    with objstore.open(path) as store:
        person, reading, address, odd = (store.models[name] for name in ("Person", "Reading", "Address", "Model"))
        with store.write():
            new = store.add(person(name="Cid", home=address()))
            assert new.id == 3 and isinstance(new.token, uuid.UUID) and new.home.city == "Rome"
            assert (new.age, new.visits, new.score, new.money, new.data, new.born, new.mark, new.on) == (
                18,
                2,
                1.5,
                Decimal("1.10"),
                b"x",
                NOW,
                ID,
                True,
            )
            new.visits.increment(3)
            new.places = [{"city": "Bern"}, {"lines": ["x"]}]
            new.friends.append(store.get(person, 1))
            other = store.create(person, {"name": "Dan", "best": {"name": "Eve"}, "notes": {5: 0.5}})
            assert other.best.age == 18 and dict(other.notes) == {5: 0.5}
            store.create(reading, {"sensor": "n", "time": 2, "value": 9.0}, update="modified")
            store.create_from_json(person, '{"name": "Fay", "class": 1, "home": {"city": "Ulm"}}')
            store.objects(person).update(on=False)
            with pytest.raises(objstore.DuplicateKey):
                store.add_all([person(name="x", email="e"), person(name="y", email="e")])
            strange = store.create(odd, {"class": 10, "detach": 20, "__c": 30, "x→y": 40, "class_": 60})
            names = [p.name for p in odd._objstore_properties]
            assert [getattr(strange, n) for n in names] == [10, 20, 30, 40, None, 60]
            setattr(strange, names[4], odd(**{names[0]: 11}))
            store.delete(store.get(person, 2))
        with pytest.raises(objstore.KeyImmutable), store.write():
            store.get(person, 1).id = 9
        assert not store.verify() and store.objects(person).where(person.on == True).count() == 0
    with objstore.open(path, models=TYPED) as store:
        people = {p.name: p for p in store.objects(Person)}
        assert people.keys() == {"Ann", "Cid", "Dan", "Eve", "Fay"} and people["Cid"].visits == 5
        assert [a.city for a in people["Cid"].places] == ["Bern", "Rome"] and people["Fay"].home.city == "Ulm"  # type: ignore[union-attr]
        assert [o.a for o in store.objects(Odd)] == [1, 1, 10, 11] and store.objects(Odd)[2].e == store.objects(Odd)[3]


def test_nothing_is_made_by_mistake(tmp_path: Path, path: Path) -> None:
    with pytest.raises(objstore.NotFound):
        objstore.open(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with objstore.open(tmp_path / "new", create="always") as store:
        assert not store.models
    with objstore.open(tmp_path / "copy", seed=path) as store:
        assert "Person" in store.models
    with objstore.open(memory="") as store:
        assert not store.models
    for options in (
        {"schema_version": 2},
        {"drop": ["Person"]},
        {"migrate": print},
        {"initial_data": print},
        {"delete_if_migration_needed": True},
    ):
        with pytest.raises(objstore.InvalidArgument, match=f"{next(iter(options))} is about the models"):
            objstore.open(path, **options)  # type: ignore[arg-type]


def test_a_migration_gives_old_objects(tmp_path: Path) -> None:
    """What was an object of its own becomes part of another one; links lead to what their targets are now."""

    def version(address: type[Model]) -> list[Any]:
        annotations: dict[str, Any] = {"name": str, "home": address | None, "places": list[address], "best": Any}  # type: ignore[valid-type]
        city = type(Model)("City", (Model,), {"__module__": __name__, "__annotations__": {"name": str}})
        annotations["city"], annotations["cities"] = city | None, list[city]  # type: ignore[valid-type]
        person = type(Model)("Person", (Model,), {"__module__": __name__, "__annotations__": annotations})
        return [address, city, person]

    old_address, city, person = version(
        type(Model)("Place", (Model,), {"__module__": __name__, "__annotations__": {"street": str}})
    )
    with objstore.open(tmp_path / "a", models=[old_address, city, person]) as store, store.write():
        bern = store.add(city(name="Bern"))
        home = store.add(old_address(street="a"))
        # Shared by two: each gets its own.
        store.add(
            person(
                name="Ann", home=home, places=[home, old_address(street="b")], best=None, city=bern, cities=[bern, bern]
            )
        )
        store.add(person(name="Bob", home=home, places=[], best=None, city=None, cities=[]))

    class Home(EmbeddedModel):
        street: str = ""

    class City(Model):
        name: str

    class Person(Model):
        name: str
        address: Home | None = None
        all: list[Home]
        town: City | None = None
        towns: list[City]
        first: Home | None = None

    def migrate(migration: objstore.Migration, old_version: int) -> None:
        for old, new in migration.objects("Person"):
            new.address = old.home
            new.all = old.places
            new.town = old.city
            new.towns = list(old.cities)
            if old.places:
                new.first = old.places[0].detach()
        with pytest.raises(objstore.WrongType):
            new.town = old

    with objstore.open(
        tmp_path / "a", models=[Home, City, Person], schema_version=2, migrate=migrate, drop=["Place"]
    ) as store:
        ann, bob = store.objects(Person)[:2]
        assert ann.address is not None and bob.address is not None and ann.address != bob.address
        assert (ann.address.street, bob.address.street, [a.street for a in ann.all]) == ("a", "a", ["a", "b"])
        assert ann.first is not None and ann.first.street == "a"
        assert (
            len(store.objects(City)) == 1 and ann.town == store.objects(City)[0] and list(ann.towns) == [ann.town] * 2
        )
        assert len(store.objects(Home)) == 5 and not store.verify()
