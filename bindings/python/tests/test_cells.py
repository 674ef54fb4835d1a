"""A notebook's cell that defines classes is run again, as it was or changed."""

import pathlib
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import objstore

CELL = """
import enum
import objstore
from objstore import Backlinks, EmbeddedModel, Model, backlinks, field
from typing import Any

class Mood(enum.Enum):
    CALM = "calm"
    WILD = "wild"

class Home(EmbeddedModel):
    city: str = ""

class Person(Model):
    name: str = field(primary_key=True)
    dogs: Backlinks["Dog"] = backlinks("owner")
    best: "Dog | None" = None

class Dog(Model):
    id: int = field(primary_key=True)
    age: int = 0
    mood: Mood = Mood.CALM
    owner: "Person | None" = None
    friend: "Dog | None" = None
    friends: "list[Dog]"
    home: Home | None = None
    extra: Any = None
    {more}
"""
DOG = """
class Dog(Model):
    id: int = field(primary_key=True)
    age: int = 0
    mood: Mood = Mood.CALM
    owner: "Person | None" = None
    friend: "Dog | None" = None
    friends: "list[Dog]"
    home: Home | None = None
    extra: Any = None
    {more}
"""
Run = Callable[..., types.SimpleNamespace]


@pytest.fixture(params=["exec", "__main__"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a cell, in a dictionary of its own or in the module that IPython puts in the place of __main__."""
    module = types.ModuleType("__main__" if request.param == "__main__" else "no_module")
    if request.param == "__main__":
        monkeypatch.setitem(sys.modules, "__main__", module)

    def run(source: str, more: str = "pass") -> types.SimpleNamespace:
        exec(compile(source.format(more=more), "<cell>", "exec"), vars(module))
        return types.SimpleNamespace(**vars(module))

    return run


def models(cell: types.SimpleNamespace) -> list[Any]:
    return [cell.Person, cell.Dog, cell.Home]


def fill(store: objstore.Store, cell: types.SimpleNamespace) -> Any:
    ann = cell.Person(name="Ann")
    rex = cell.Dog(id=1, age=3, owner=ann, mood=cell.Mood.WILD, home=cell.Home(city="Rome"))
    rex.friend, rex.friends, ann.best = rex, [rex, cell.Dog(id=2)], rex
    with store.write():
        store.add(rex)
        rex.extra = {"dog": rex}
    return rex


def look(store: objstore.Store, cell: types.SimpleNamespace) -> None:
    rex = store.get(cell.Dog, 1)
    assert type(rex) is cell.Dog and rex.age == 3 and rex.mood is cell.Mood.WILD
    assert (
        type(rex.owner) is cell.Person and type(rex.friend) is cell.Dog and {type(d) for d in rex.friends} == {cell.Dog}
    )
    assert type(rex.home) is cell.Home and rex.home.parent == rex and rex.extra["dog"] == rex
    assert list(rex.owner.dogs) == [rex] and type(rex.owner.dogs[0]) is cell.Dog and type(rex.owner.best) is cell.Dog
    assert [d.id for d in store.objects(cell.Dog).where(cell.Dog.age > 2)] == [1]


def test_opened_with_the_new_one(run: Run, path: pathlib.Path) -> None:
    for number in range(3):
        cell = run(CELL)
        with objstore.open(path, models=models(cell)) as store:
            if number == 0:
                fill(store, cell)
            look(store, cell)
            with store.write():
                rex = store.get(cell.Dog, 1)
                rex.friends = [rex, store.get(cell.Dog, 2)]
                assert store.create(cell.Dog, {"id": 3, "owner": {"name": "Ann"}}, "modified").owner.name == "Ann"
                store.delete(store.get(cell.Dog, 3))


def test_one_class_again(run: Run, path: pathlib.Path) -> None:
    """Names in the other classes, quoted or not, lead to the newest one."""
    cell = run(CELL)
    with objstore.open(path, models=models(cell)) as store:
        fill(store, cell)
    cell = run(DOG)
    with objstore.open(path, models=models(cell)) as store:
        look(store, cell)
    changed = run(DOG, "weight: float = 1.5")
    with objstore.open(path, models=models(changed), schema_version=2) as store:
        look(store, changed)
        assert store.get(changed.Dog, 1).weight == 1.5


def test_a_store_that_is_open_takes_the_new_one(run: Run, path: pathlib.Path) -> None:
    old = run(CELL)
    with objstore.open(path, models=models(old)) as store:
        rex = fill(store, old)
        frozen = store.freeze()
        new = run(CELL)
        look(store, new)
        assert frozen.get(new.Dog, 1).age == 3 and list(frozen.objects(new.Person))[0].name == "Ann"
        with store.write():
            bello = store.add(new.Dog(id=5, friend=store.get(new.Dog, 1), mood=new.Mood.WILD))
            assert store.create(new.Dog, {"id": 6, "owner": {"name": "Bob"}}).owner.name == "Bob"
            store.create_all(new.Dog, [{"id": 7}, {"id": 8, "friend": 7}])
            store.create_from_json(new.Dog, {"id": 9})
            bello.age += 4
        assert bello.friend == rex and bello == store.get(old.Dog, 5)
        # Holders of the former ones continue with them.
        assert type(store.get(old.Dog, 1)) is old.Dog and rex.age == 3 and rex.mood is old.Mood.WILD
        assert store.get(old.Dog, 5).age == 4 and len(store.objects(old.Dog)) == len(store.objects(new.Dog)) == 7
        with store.write():
            store.add(old.Dog(id=10))
            rex.age = 7
        assert store.get(new.Dog, 1).age == 7
        store.verify()


def test_in_a_write(run: Run, path: pathlib.Path) -> None:
    old = run(CELL)
    with objstore.open(path, models=models(old)) as store, store.write():
        new = run(CELL)
        assert store.add(new.Dog(id=1, friends=[new.Dog(id=2)])).friends[0].id == 2
        assert store.get(old.Dog, 2) is not None


@pytest.mark.parametrize(
    "more, message",
    [
        ("weight: float = 1.5", "weight is new"),
        ("age: str = ''", "age is of type str, and was int"),
        ("age: int = field(default=0, indexed=True)", "age is declared otherwise"),
        ("age: int = 5", "age is declared otherwise"),
        ("age: int | None = None", "age is declared otherwise"),
        ("__indexes__ = [objstore.Index('id', 'age')]", "its indexes"),
    ],
)
def test_one_that_differs(run: Run, path: pathlib.Path, more: str, message: str) -> None:
    old = run(CELL)
    with objstore.open(path, models=models(old)) as store:
        rex = fill(store, old)
        new = run(CELL, more)
        attempts: list[Any] = [lambda: store.get(new.Dog, 1), lambda: store.objects(new.Dog)]
        if new.Dog.__module__ in sys.modules:  # else it is unknown what its name in quotes has become
            attempts.append(lambda: store.objects(new.Person))
        for attempt in attempts:
            with pytest.raises(
                objstore.NoSuchClass,
                match=f"Dog was defined again since the store was opened, and differs: {message}.*close it",
            ):
                attempt()
        with store.write(), pytest.raises(objstore.NoSuchClass, match="defined again"):
            store.add(new.Dog(id=4))
        assert rex.age == 3 and len(store.objects(old.Dog)) == 2
        look(store, old)


def test_two_stores_of_two_versions(run: Run, path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """The class that was not defined again is in both, and leads to what each of them has."""
    old = run(CELL)
    with objstore.open(path, models=models(old)) as store:
        fill(store, old)
        new = run(DOG, "weight: float = 1.5")
        with objstore.open(tmp_path / "other.objstore", models=models(new)) as other:
            fill(other, new)
            for _ in range(2):
                look(store, old)
                look(other, new)
            assert new.Person is old.Person and other.get(new.Dog, 1).weight == 1.5
            assert store.objects(old.Person)[0].best.to_json().startswith('{"id":1')
            with store.write():
                made = store.create(old.Person, {"name": "Eve", "best": {"id": 12, "age": 9}})
                assert type(made.best) is old.Dog and made.best.age == 9
                assert [p.name for p in store.objects(old.Person).where(old.Person.best == made.best)] == ["Eve"]


ENUM = """
class Mood(enum.Enum):
    CALM = "calm"
    WILD = "wild"

class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2

class Way(enum.Flag):
    UP = 1
    DOWN = 2
    {more}
"""
WITH_ENUM = """
class Cat(Model):
    id: int = field(primary_key=True)
    mood: Mood = Mood.CALM
    level: Level | None = None
    way: Way | None = None
    moods: "list[Mood]"
    known: "set[Mood]"
    levels: "dict[Mood, Level]"
"""


def test_a_cell_with_nothing_but_enumerations(run: Run) -> None:
    """A member of the one that was defined again is what the one of the same name and value is of the one that the
    model has."""
    old = run("import enum\nfrom objstore import Model, field\n" + ENUM)
    Cat = run(WITH_ENUM).Cat
    new = run(ENUM)
    assert new.Mood is not old.Mood
    wild, high, both = new.Mood.WILD, new.Level.HIGH, new.Way.UP | new.Way.DOWN
    values = {"mood": wild, "level": high, "way": both, "moods": [wild], "known": {wild}, "levels": {wild: high}}
    with objstore.open(memory="", models=[Cat]) as store, store.write():
        store.create(Cat, {"id": 1} | values)
        store.create_all(Cat, [{"id": 2} | values, {"id": 3} | values])
        store.add(Cat(id=4, **values))
        fourth = store.get(Cat, 4)
        fifth = store.create(Cat, {"id": 5})
        for name, value in values.items():
            setattr(fifth, name, value)
        sixth = store.create(Cat, {"id": 6, "moods": [old.Mood.CALM]})
        sixth.moods.append(wild)
        sixth.moods[0] = wild
        sixth.moods[1:] = []
        sixth.known.add(wild)
        sixth.levels[wild] = high
        assert store.objects(Cat).where(Cat.id == 6).update(mood=wild, level=high, way=both) == 1
        loose = Cat(id=7)
        loose.mood, loose.level, loose.way = wild, high, both
        loose.moods.append(wild)
        loose.known.add(wild)
        loose.levels[wild] = high
        store.add(loose)
        kept = old.Mood.WILD, old.Level.HIGH, old.Way.UP | old.Way.DOWN
        for cat in store.objects(Cat):
            assert (cat.mood, cat.level, cat.way, *cat.moods, *cat.known, *cat.levels.items()) == (
                *kept,
                kept[0],
                kept[0],
                kept[:2],
            )
            assert (
                wild in cat.moods
                and wild in cat.known
                and cat.levels[wild] is kept[1]
                and cat.levels.get(wild) is kept[1]
            )
            assert (cat.moods.index(wild), cat.moods.count(wild)) == (0, 1)
        assert (
            len(store.objects(Cat).where(Cat.mood == wild)) == len(store.objects(Cat).filter("mood == $0", wild)) == 7
        )
        fourth.moods.append(wild)
        assert fourth.moods.index(wild, 1) == 1
        fourth.moods.remove(wild)
        fourth.known.discard(wild)
        assert fourth.levels.pop(wild) is kept[1]
        assert (list(fourth.moods), *fourth.known, *fourth.levels) == ([kept[0]],)


def test_an_enumeration_that_differs(run: Run) -> None:
    run("import enum\nfrom objstore import Model, field\n" + ENUM)
    Cat = run(WITH_ENUM).Cat
    new = run(ENUM, "LEFT = 4")
    with objstore.open(memory="", models=[Cat]) as store, store.write():
        store.create(Cat, {"id": 1, "mood": new.Mood.WILD})
        for refused in (lambda: Cat(id=2, way=new.Way.UP), lambda: store.objects(Cat).where(Cat.way == new.Way.LEFT)):
            with pytest.raises(
                objstore.WrongType,
                match=r"^Cat.way: a member of Way is wanted, and <Way\.\w+: \d> is of another class of that name$",
            ):
                refused()
        for stranger in (new.Level.LOW, "wild", type("Mood", (), {})()):
            with pytest.raises(objstore.WrongType, match="^Cat.mood: a member of Mood is wanted, not "):
                Cat(id=2, mood=stranger)


def test_a_stranger(run: Run) -> None:
    cell = run(CELL)
    with objstore.open(memory="", models=models(cell)) as store:
        other: Any = type(objstore.Model)(
            "Cat", (objstore.Model,), {"__annotations__": {"x": int}, "__module__": __name__}
        )
        with pytest.raises(objstore.NoSuchClass, match="opened with Person, Dog, Home, not with Cat"):
            store.objects(other)


def test_results_from_before(run: Run, path: pathlib.Path) -> None:
    """What was found before a cell is run again takes questions about the class that it makes."""
    old = run(CELL)
    with objstore.open(path, models=models(old)) as store:
        fill(store, old)
        dogs, rex, seen = store.objects(old.Dog), store.get(old.Dog, 1), []
        new = run(CELL)
        assert [type(d) for d in dogs.where(new.Dog.age > 2)] == [new.Dog] and [
            d.id for d in dogs.where(new.Dog.mood == new.Mood.WILD)
        ] == [1]
        assert (
            dogs.sum(new.Dog.age) == dogs.sum(old.Dog.age) == dogs.sum("age")
            and dogs.to_numpy(new.Dog.age).tolist() == dogs.to_numpy("age").tolist()
        )
        assert (
            store.get(new.Dog, 1) in dogs
            and rex in store.objects(new.Dog)
            and rex == store.get(new.Dog, 1)
            and new.Dog(id=1) not in dogs
        )
        assert store.get(new.Person, "Ann") not in dogs
        with (
            dogs.observe(lambda change: seen.append(change.modification_count), keys=[new.Dog.age]),
            rex.observe(lambda change: seen.append(-1), keys=[new.Dog.age]),
        ):
            store.deliver()
            seen.clear()
            with store.write():
                rex.age += 1
            store.deliver()
        assert sorted(seen) == [-1, 1]
        with pytest.raises(objstore.InvalidArgument, match="is about Person, and these are Dog"):
            dogs.where(new.Person.name == "x")
        with pytest.raises(objstore.InvalidArgument, match="a property of Dog is wanted"):
            dogs.sum(new.Person.name)
