"""Declaring classes, and objects that belong to no store."""

import copy
import pickle
from datetime import date
from enum import Enum
from typing import Annotated, ClassVar, Optional

import pytest

import objstore
from models import Color, Dog, Everything, Mood, Person, Turtle
from objstore import field


def test_defaults_and_keywords():
    dog = Dog(name="Rex")
    assert (dog.name, dog.age, dog.color) == ("Rex", 0, "")
    (color,) = [p for p in objstore.fields(Everything) if p.name == "color"]
    assert color.default is Color.BROWN and Mood.WILD != Color.BROWN
    with pytest.raises(TypeError):
        Dog("Rex")
    with pytest.raises(TypeError):
        Dog(nmae="Rex")
    with pytest.raises(objstore.MissingValue, match="Everything.key"):
        Everything()
    assert Turtle(_id=1).weight is None


def test_unmanaged_objects_are_ordinary():
    dog = Dog(name="Rex")
    dog.age += 3
    assert dog.age == 3
    with pytest.raises(objstore.WrongType):
        dog.age = "three"
    with pytest.raises(AttributeError):
        dog.nmae = "typo"
    assert dog == dog and dog != Dog(name="Rex", age=3)
    assert {dog, dog} == {dog} and len({dog, Dog(name="Rex", age=3)}) == 2
    assert not dog.is_managed and not dog.is_frozen and dog.is_valid
    assert repr(dog) == "Dog(name='Rex', age=3, color='', currentCity='')"
    assert dog.detach().age == 3
    assert "<td>Rex</td>" in dog._repr_html_()
    for make in (copy.copy, copy.deepcopy, lambda dog: pickle.loads(pickle.dumps(dog))):
        assert repr(make(dog)) == repr(dog) and make(dog) is not dog


class Later(objstore.Model):
    id: int = field(primary_key=True)


@pytest.mark.parametrize(
    "annotation",
    [
        "NotYetThere",
        set[date],
        dict[str, list[int]],
        dict[Later, int],
        list[int] | None,
        list[int | str],
        tuple[int, ...],
        frozenset[int],
        list[set[int]],
        date,
        complex,
        int | str,
        object,
        Enum("Empty", {}),
        Enum("Mixed", {"A": 1, "B": "b"}),
    ],
    ids=str,
)
def test_what_is_not_in_this_version(annotation):
    with pytest.raises(objstore.NotSupported) as caught:
        type(objstore.Model)(
            "House", (objstore.Model,), {"__annotations__": {"tenant": annotation}, "__module__": __name__}
        )
    assert (caught.value.class_name, caught.value.property_name) == ("House", "tenant")
    assert "House.tenant" in str(caught.value)
    assert isinstance(caught.value, NotImplementedError)


def test_annotations_of_every_spelling():
    class Local(Enum):
        A = 1

    class Spelt(objstore.Model):
        constant: ClassVar[int] = 5
        a: "int" = 1
        b: Optional[str] = None
        c: "str | None" = None
        d: None | float = None
        e: Annotated[int, "metres"] = 0
        f: "Local" = Local.A
        g: Optional["int"] = None
        h: Optional["Local"] = None
        i: 'Optional["str"]' = None
        j: Annotated[Optional["int"], "metres"] = None

    described = [(p.name, p.python_type, p.nullable) for p in Spelt._objstore_properties]
    assert described == [
        ("a", int, False),
        ("b", str, True),
        ("c", str, True),
        ("d", float, True),
        ("e", int, False),
        ("f", Local, False),
        ("g", int, True),
        ("h", Local, True),
        ("i", str, True),
        ("j", int, True),
    ]
    assert Spelt.constant == 5


def test_wrong_declarations():
    with pytest.raises(objstore.SchemaError, match="2 primary keys"):

        class Two(objstore.Model):
            a: int = field(primary_key=True)
            b: int = field(primary_key=True)

    with pytest.raises(objstore.SchemaError, match="primary key"):

        class RealKey(objstore.Model):
            a: float = field(primary_key=True)

    with pytest.raises(objstore.SchemaError, match="primary key"):

        class RealOrNullKey(objstore.Model):
            a: float | None = field(primary_key=True)

    with pytest.raises(objstore.SchemaError, match="indexed"):

        class RawIndex(objstore.Model):
            a: bytes = field(indexed=True)

    with pytest.raises(objstore.SchemaError, match="used by objstore"):

        class Taken(objstore.Model):
            freeze: int = 0

    for name in ("_o_key", "_objstore_properties", "__slots__", "__call__", "observe", "class", "two words", ""):
        with pytest.raises(objstore.SchemaError) as caught:
            type(objstore.Model)("Taken", (objstore.Model,), {"__annotations__": {name: int}, "__module__": __name__})
        assert (caught.value.class_name, caught.value.property_name) == ("Taken", name)

    with pytest.raises(objstore.SchemaError, match="no type"):

        class Untyped(objstore.Model):
            a = field(primary_key=True)

    with pytest.raises(objstore.WrongType):

        class BadDefault(objstore.Model):
            a: int = "text"


NAMES = [
    "type",
    "self",
    "_self",
    "cls",
    "_loose",
    "_missing",
    "_p0",
    "_p0_type",
    "int",
    "str",
    "print",
    "values",
    "mro",
    "name",
    "key",
    "__private",
]


@pytest.mark.parametrize("own_constructor", [False, True])
def test_properties_may_be_called_like_anything_that_python_or_objstore_uses(own_constructor):
    def init(_, /, **values):
        objstore.Model.__init__(_, **values)

    names = [name if name != "__private" else "_Event__private" for name in NAMES]
    namespace = {"__annotations__": dict.fromkeys(names, "str | None"), "__module__": __name__}
    Event = type(objstore.Model)(
        "Event", (objstore.Model,), namespace | ({"__init__": init} if own_constructor else {})
    )
    assert Event().type is None
    with objstore.open(memory="", models=[Event]) as store:
        with store.write():
            event = store.add(Event(**{name: name for name in names}))
            assert [getattr(event, name) for name in names] == names
            assert [getattr(event.detach(), name) for name in names] == names
            assert store.objects(Event).update(**{name: "new " + name for name in names}) == 1
            assert store.create(Event, {"type": "made"}).type == "made"
        assert [getattr(event, name) for name in names] == ["new " + name for name in names]
        assert store.objects(Event).filter("self == 'new self'").first() == event
        assert "type='new type'" in repr(event)


def test_subclasses_have_the_properties_of_their_bases(path):
    class Animal(objstore.Model):
        id: int = field(primary_key=True)
        name: str = "nameless"

    class Cat(Animal):
        lives: int = 9
        name: str = "Tom"

        def meow(self):
            return f"{self.name} meows"

    assert [p.name for p in Cat._objstore_properties] == ["id", "name", "lives"]
    with objstore.open(path, models=[Animal, Cat]) as store:
        with store.write():
            store.add_all([Animal(id=1), Cat(id=1)])
        assert store.get(Animal, 1).name == "nameless"
        assert store.get(Cat, 1).meow() == "Tom meows"
        assert store.objects(Cat).where(Cat.name == "Tom").count() == 1
        with pytest.raises(objstore.InvalidArgument):
            store.objects(Cat).where(Animal.name == "Tom")


def test_an_own_constructor():
    class Point(objstore.Model):
        x: int
        y: int = 0

        def __init__(self, x, y=7):
            super().__init__(x=x, y=y)

    assert (Point(3).x, Point(3).y) == (3, 7)
    with objstore.open(memory="", models=[Point]) as store:
        with store.write():
            store.add(Point(1))
        assert [(p.x, p.y) for p in store.objects(Point)] == [(1, 7)]


def test_an_own_constructor_that_does_not_call_the_one_of_the_base():
    """Says so, and not that something is missing inside."""

    class Early(objstore.Model):
        name: str = ""

        def __init__(self, name):
            self.name = name
            super().__init__(name=name)

    class Never(objstore.Model):
        name: str = ""

        def __init__(self):
            pass

    class Own(objstore.Model):
        name: str = ""

        def __init__(self):
            super().__init__(name="own")
            self.nothing

    class Derived(Early):
        more: int = 0

        def __init__(self):
            super().__init__("derived")

    for model, given in ((Early, ["Rex"]), (Never, []), (Derived, [])):
        with pytest.raises(
            objstore.InvalidArgument,
            match=r"__init__ has to call super\(\).__init__\(…\), with the values, before it does anything else",
        ):
            model(*given)
    with pytest.raises(AttributeError, match="nothing"):
        Own()


def test_an_own_constructor_that_calls_the_one_of_the_base():
    class Animal(objstore.Model):
        name: str
        legs: int = 4

    class Named(objstore.Model):
        title: str = "none"

    class Cat(Animal):
        lives: int = 9
        owner: str | None = None

        def __init__(self, name, lives=None):
            super().__init__(name=name)
            if lives is not None:
                self.lives = lives

    class Manx(Cat):
        tail: bool = True
        kittens: list[str]
        legs: int = 3

        def __init__(self):
            super().__init__("Manx", 7)
            self.tail = False

    class Officer(Animal, Named):
        def __init__(self, name, title):
            Animal.__init__(self, name=name)
            Named.__init__(self, title=title)

    assert repr(Cat("Tom")) == "Cat(name='Tom', legs=4, lives=9, owner=None)"
    assert Manx().kittens == [] and Manx().detach().kittens == []
    assert (Cat("Tom", 5).lives, Manx().name, Manx().lives, Manx().tail) == (5, "Manx", 7, False)
    assert (Officer("Tom", "Sir").name, Officer("Tom", "Sir").title) == ("Tom", "Sir")
    with objstore.open(memory="", models=[Cat, Manx, Officer]) as store, store.write():
        assert store.add(Cat("Tom", 5)).detach().lives == 5
        assert store.add_all([Cat("Ben"), Manx(), Officer("Jim", "Sir")]).created == 3
        assert [cat.lives for cat in store.objects(Cat)] == [5, 9]
        assert [officer.title for officer in store.objects(Officer)] == ["Sir"]


def test_an_own_constructor_that_leaves_out_what_has_no_default():
    class Animal(objstore.Model):
        name: str

    class Cat(Animal):
        lives: int

        def __init__(self, name):
            super().__init__(name=name)

    with pytest.raises(
        objstore.MissingValue, match=r"Cat.lives has no default, and .*Animal.__init__\(\) does not take it"
    ) as caught:
        Cat("Tom")
    assert (caught.value.class_name, caught.value.property_name) == ("Cat", "lives")

    class Dog(Animal):
        age: int

        def __init__(self, name, age):
            objstore.Model.__init__(self, name=name, age=age)

    assert (Dog("Rex", 3).name, Dog("Rex", 3).age) == ("Rex", 3)


def test_conditions():
    condition = Dog.age < 2
    assert str(condition) == "age < 2"
    assert str(2 > Dog.age) == "age < 2"
    with pytest.raises(TypeError, match="where"):
        bool(condition)
    assert str(Dog.name == None) == "name == None"
    assert len({Dog.age, Dog.name, Person.name}) == 3


def test_errors_can_be_pickled():
    error = objstore.DuplicateKey("there already", class_name="Dog", position=3)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.class_name, again.position) == (type(error), "there already", "Dog", 3)
    assert again.status is objstore.Status.DUPLICATE_KEY


IN_A_FILE = """
{future}
import datetime
import uuid
from datetime import date
from typing import Any
from objstore import Model, field

class Odd(Model):
{lines}
"""


def declared(lines, future=""):
    names = {"__name__": "a file"}
    exec(IN_A_FILE.format(future=future, lines=f"    {lines}"), names)
    return names["Odd"]


@pytest.mark.parametrize(
    "lines",
    [
        "int: int = 5\n    x: int = 6",
        "str: str | None = None\n    x: str = ''",
        "list: list[int] = field(default_factory=list)",
    ],
)
def test_a_property_called_like_its_type(lines):
    """Where annotations are texts, which name types; a default under the name is none."""
    model = declared(lines, "from __future__ import annotations")
    assert all(p.type_name in ("int", "str", "list[int]") for p in objstore.fields(model)) and model().to_dict()
    model().to_json()


@pytest.mark.parametrize(
    ("future", "lines", "message"),
    [
        (
            "",
            "int: int = 5",
            "Odd.int: its type is 5, which is none: in a class body a property that has a default hides the type",
        ),
        ("", "int: int = field(indexed=True)", r"Odd.int: its type is what field\(\) returned, which is none"),
        ("", "date: date = date(2020, 1, 1)", r"Odd.date: its type is datetime.date\(2020, 1, 1\), which is none"),
        ("", "datetime: datetime", "Odd.datetime: its type is the module datetime, and not a class in it"),
        (
            "from __future__ import annotations",
            "uuid: uuid = None",
            "Odd.uuid: its type is the module uuid, and not a class in it",
        ),
        (
            "from __future__ import annotations",
            "x: uuid.Uuid",
            "Odd.x: its type 'uuid.Uuid' cannot be read: module 'uuid' has no attribute 'Uuid'",
        ),
        (
            "from __future__ import annotations",
            "date: date = date(2020, 1, 1)",
            "Odd.date: properties of type date are not in this version",
        ),
    ],
)
def test_what_is_no_type(future, lines, message):
    with pytest.raises(objstore.Error, match=message):
        declared(lines, future)
