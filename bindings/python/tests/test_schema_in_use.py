"""Another process opens the file with a higher schema version: a process that uses what it takes away gets an error at
the next begin (ruling X14)."""

import multiprocessing
import pathlib
import traceback
from typing import Any

import pytest

import objstore
from objstore import EmbeddedModel, Model, field


def before() -> list[Any]:
    class Home(EmbeddedModel):
        city: str = ""

    class Dog(Model):
        id: int = field(primary_key=True)
        name: str = field(default="", unique=True)
        age: int = field(default=0, indexed=True)
        nick: str | None = None
        tags: list[str]
        home: Home | None = None

    class Person(Model):
        id: int = field(primary_key=True)

    return [Dog, Home, Person]


def model(changes: dict[str, Any], *, without: str = "", classes: bool = True) -> list[Any]:
    """The same with other properties of Dog: by name, its annotation and its field."""

    class Home(EmbeddedModel):
        city: str = ""

    class Person(Model):
        id: int = field(primary_key=True)

    properties: dict[str, Any] = {
        "id": (int, field(primary_key=True)),
        "name": (str, field(default="", unique=True)),
        "age": (int, field(default=0, indexed=True)),
        "nick": (str | None, None),
        "tags": (list[str], ...),
        "home": (Home | None, None),
    }
    properties |= changes
    properties.pop(without, None)
    body: dict[str, Any] = {"__annotations__": {name: kind for name, (kind, _) in properties.items()}}
    body |= {name: default for name, (_, default) in properties.items() if default is not ...}
    dog = type(Model)("Dog", (Model,), body)
    return [dog, Home, Person] if classes else [dog, Home]


# What the other program has, and what of this one it takes away; None: nothing.
CASES: dict[str, tuple[Any, dict[str, Any], str | None]] = {
    "nothing": (lambda: model({}), {}, None),
    "a property more": (lambda: model({"more": (str, "new"), "maybe": (int | None, None)}), {}, None),
    "a required property more": (lambda: model({"more": (str, ...)}), {}, None),
    "an index more": (lambda: model({"nick": (str | None, field(default=None, indexed=True))}), {}, None),
    "another default": (lambda: model({"age": (int, field(default=9, indexed=True))}), {}, None),
    "a class that it does not know": (lambda: model({}, classes=False), {}, None),
    "a counter": (lambda: model({"age": (objstore.Counter, field(default=0, indexed=True))}), {}, None),
    "a property dropped": (lambda: model({}, without="nick"), {}, "Dog.nick was dropped"),
    "a list dropped": (lambda: model({}, without="tags"), {}, "Dog.tags was dropped"),
    "another kind": (
        lambda: model({"age": (str, field(default="", indexed=True))}),
        {"migrate": lambda m, v: None},
        "Dog.age was dropped",
    ),
    "renamed": (
        lambda: model({"called": (str | None, field(default=None, formerly="nick"))}, without="nick"),
        {},
        "Dog.nick is called called now",
    ),
    "required": (
        lambda: model({"nick": (str, "")}),
        {"migrate": lambda m, v: None},
        "Dog.nick must not be null any more",
    ),
    "optional": (lambda: model({"age": (int | None, field(default=0, indexed=True))}), {}, "Dog.age may be null now"),
    "not unique": (
        lambda: model({"name": (str, field(default="", indexed=True))}),
        {},
        "Dog.name is not unique any more",
    ),
    "no index": (lambda: model({"age": (int, 0)}), {}, "Dog.age has no index any more"),
    "another primary key": (
        lambda: model({"id": (int, 0), "name": (str, field(primary_key=True))}),
        {"migrate": lambda m, v: None},
        "class Dog has another primary key",
    ),
    "a class dropped": (lambda: model({}, classes=False), {"drop": ["Person"]}, "class Person was dropped"),
}


def other_process(pipe: Any, path: pathlib.Path, case: str) -> None:
    try:
        models, options, _ = CASES[case]
        pipe.recv()
        with objstore.open(path, models=models(), schema_version=2, **options) as store:
            store.verify()
        pipe.send("")
    except BaseException:
        pipe.send(traceback.format_exc())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("in_process", [False, True], ids=["process", "handle"])
def test_the_next_begin(path: pathlib.Path, case: str, in_process: bool) -> None:
    make, options, lost = CASES[case]
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()
    process = context.Process(target=other_process, args=(theirs, path, case))
    if not in_process:
        process.start()
    models = before()
    Dog, Home, Person = models
    with objstore.open(path, models=models) as store, objstore.open(path) as knows_nothing:
        with store.write():
            store.add(Dog(id=1, name="Rex", nick="R", tags=["a"], home=Home(city="Rome")))
            store.add(Person(id=1))
        if in_process:
            with objstore.open(path, models=make(), schema_version=2, **options) as newer:
                newer.verify()
        else:
            mine.send("go")
            assert mine.recv() == ""
            process.join()
        for _ in range(2):
            if lost is None:
                with store.write():
                    dog = store.get(Dog, 1)
                    dog.age += 1
                    dog.tags.append("b")
                    dog.home.city = "Bern"
                    if case != "a required property more":
                        store.add(Dog(id=dog.age + 1, name=f"dog {dog.age}"))
                    else:
                        with pytest.raises(objstore.MissingValue, match="more"):
                            store.add(Dog(id=dog.age + 1, name=f"dog {dog.age}"))
                assert (store.get(Dog, 1).home.city, store.get(Person, 1).id) == ("Bern", 1)
                continue
            with pytest.raises(objstore.SchemaError) as raised, store.write():
                raise AssertionError("it must not begin")
            assert raised.value.status == objstore.Status.SCHEMA_MISMATCH
            assert (
                lost in str(raised.value)
                and "version 2 meanwhile" in str(raised.value)
                and "uses version 1" in str(raised.value)
            )
            assert raised.value.class_name == ("Person" if "Person" in lost else "Dog")
            # Nothing waits for a lock that was left behind, and what is still there can be read.
            with knows_nothing.write(timeout=0):
                pass
            if case != "a class dropped":
                assert store.get(Person, 1).id == 1
        # Opening it again is the same error.
        with pytest.raises(objstore.SchemaError, match="the program asks for 1"):
            objstore.open(path, models=before())


@pytest.mark.parametrize("case", ["a property dropped", "a list dropped"])
@pytest.mark.parametrize("in_process", [False, True], ids=["process", "handle"])
def test_reading_what_was_dropped(path: pathlib.Path, case: str, in_process: bool) -> None:
    name = "nick" if case == "a property dropped" else "tags"
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()
    process = context.Process(target=other_process, args=(theirs, path, case))
    if not in_process:
        process.start()
    models = before()
    Dog = models[0]
    with objstore.open(path, models=models) as store:
        with store.write():
            store.add(Dog(id=1, name="Rex", nick="R", tags=["a"]))
        dog = store.get(Dog, 1)
        assert (dog.nick, dog.tags) == ("R", ["a"])
        if in_process:
            with objstore.open(path, models=CASES[case][0](), schema_version=2):
                pass
        else:
            mine.send("go")
            assert mine.recv() == ""
            process.join()
        store.refresh()
        for use in (lambda: list(getattr(dog, name)), lambda: store.get(Dog, 1).to_dict()):
            with pytest.raises(objstore.NoSuchProperty, match=f"Dog.{name} was dropped meanwhile") as raised:
                use()
            assert (raised.value.class_name, raised.value.property_name) == ("Dog", name)
        assert store.get(Dog, 1).name == "Rex"


def test_a_still_higher_version_that_gives_it_back(path: pathlib.Path) -> None:
    models = before()
    Dog = models[0]
    with objstore.open(path, models=models) as store:
        with objstore.open(path, models=model({"nick": (str, "")}), schema_version=2):
            with pytest.raises(objstore.SchemaError, match="must not be null any more"), store.write():
                pass
        with objstore.open(path, models=model({}), schema_version=3):
            pass
        with store.write():
            store.add(Dog(id=2, name="back"))
        assert store.get(Dog, 2).nick is None


def test_names_of_the_program(path: pathlib.Path) -> None:
    """What the program calls otherwise than the file."""

    class Pet(Model):
        __stored_as__ = "Dog"
        id: int = field(primary_key=True)
        called: str = field(default="", stored_as="name")

    class Dog(Model):
        id: int = field(primary_key=True)
        title: str = field(default="", formerly="name")

    with objstore.open(path, models=[Pet]) as store:
        with objstore.open(path, models=[Dog], schema_version=2):
            pass
        with pytest.raises(objstore.SchemaError, match="Dog.name is called title now"), store.write():
            pass


def test_a_class_that_was_dropped_has_an_id(path: pathlib.Path) -> None:
    models = before()
    Person = models[2]
    with objstore.open(path, models=models) as store:
        with store.write():
            store.add(Person(id=1))
        with objstore.open(path, models=model({}, classes=False), schema_version=2, drop=["Person"]):
            pass
        with pytest.raises(objstore.NoSuchClass, match="the class Person has been dropped"):
            store.get(Person, 1)


def test_observers_of_what_is_dropped(tmp_path: pathlib.Path) -> None:
    def dog(**properties: Any) -> Any:
        return type("Dog", (objstore.Model,), {"__annotations__": properties, "__module__": __name__})

    Old, New, path = dog(name=str, age=int), dog(name=str), tmp_path / "dogs"
    told: list[Any] = []

    def tell(name: str) -> Any:
        return lambda change: told.append((name, change.deletions, change.insertions, change.is_owner_deleted))

    with objstore.open(path, models=[Old]) as store:
        with store.write():
            store.add_all([Old(name=str(number), age=number) for number in range(4)])
        dogs = store.objects(Old)
        with (
            dogs.where(Old.age > 2).observe(tell("begins")),
            dogs.where(Old.age > 1).observe(tell("old"), initial=False),
            dogs.order_by(objstore.desc(Old.age)).observe(tell("sorted"), initial=False),
            dogs.where(Old.name != "0").observe(tell("named"), initial=False),
        ):
            with objstore.open(path, models=[New], schema_version=2) as newer:
                assert store.deliver() == 3 and told.pop(0) == ("begins", [], [], True)
                assert told == [("old", [0, 1], [], True), ("sorted", [0, 1, 2, 3], [], True)]
                told.clear()
                with newer.write():
                    newer.add(New(name="x"))
                assert store.deliver() == 1 and told == [("named", [], [3], False)]


def test_a_typed_observer_of_what_was_dropped(path: pathlib.Path) -> None:
    models = before()
    Dog = models[0]
    with objstore.open(path, models=models) as store:
        with store.write():
            store.add(Dog(id=1, name="Rex", nick="R"))
        token = store.observe_typed(Dog, ["id", "nick"], "i64, str? -> void", lambda *values: None)
        make, options, _ = CASES["a property dropped"]
        with objstore.open(path, models=make(), schema_version=2, **options) as newer, newer.write():
            newer.get(newer.models["Dog"], 1).age = 3
        with pytest.raises(objstore.NoSuchProperty, match="Dog.nick, which a typed observer takes") as raised:
            store.deliver()
        assert (raised.value.class_name, raised.value.property_name) == ("Dog", "nick")
        token.close()
