"""Projections: what they show of objects, and what is set through them."""

import copy
import pickle

import pytest

import objstore
from objstore import (
    IndexOutOfRange,
    InvalidArgument,
    NoSuchObject,
    NoSuchProperty,
    NotInWrite,
    SchemaError,
    WrongStore,
    WrongType,
    projected,
)
from projected_models import Address, Detailed, Person, PersonView, Toy, ToyView, opened


@pytest.fixture
def store():
    yield from opened()


@pytest.fixture
def jason(store):
    return store.get(Person, 1)


def test_a103_a_view(store, jason):
    view = PersonView(jason)
    assert (view.first_name, view.home_city, view.friend_names) == ("Jason", "Zurich", ["Marie", "Nicky"])
    with store.write():
        view.first_name = "David"
    assert (jason.first_name, view.first_name, view.home_city) == ("David", "David", "Zurich")
    again = store.get(Person, 1)
    assert (again.first_name, again.address.city) == ("David", "Zurich")


def test_what_is_shown(store, jason):
    view = Detailed(jason)
    assert (view.zip, view.surname, view.boss_city, view.boss) == (None, "Bourne", None, store.get(Person, 2))
    assert view.bosses_friends == [] and view.named == ["Marie", None] and view.friends_cities == ["Goa", None]
    assert set(view.tags) == {"cia"} and view.title == "Jason from Zurich" and view.note.startswith("no")
    boss = Detailed(view.boss)
    assert boss.staff_names == ["Bourne"] and boss.home_city is None and boss.bosses_friends is None
    assert view.friend_names[0] == "Marie" and view.friend_names[-1] == "Nicky" and len(view.friend_names) == 2
    assert view.friend_names[1:] == ["Nicky"] and list(reversed(view.friend_names)) == ["Nicky", "Marie"]
    assert "Marie" in view.friend_names and view.friend_names.index("Nicky") == 1 and view.friend_names != ["x"]
    assert repr(view.friend_names) == "['Marie', 'Nicky']" and view.friend_names != "Marie"
    with pytest.raises(IndexOutOfRange, match="index 2 of 2 elements"):
        view.friend_names[2]
    assert repr(PersonView(jason)) == (
        "PersonView(first_name='Jason', home_city='Zurich', friend_names=['Marie', 'Nicky'])"
    )
    assert "boss=<Person 2>" in repr(view)
    assert repr(PersonView.home_city) == "<projected PersonView.home_city>"


def test_writes_go_through(store, jason):
    view = Detailed(jason)
    names = view.friend_names
    with store.write():
        view.home_city = "Paris"
        view.zip = "75001"
        view.surname = "Webb"
        view.friend_names[1] = "Nicolette"
        view.friends_cities[0] = "Delhi"
        view.staff_names
        view.boss = store.get(Person, 3)
        view.tags.add("treadstone")
        view.named[0] = "Marie-Helena"
    assert (jason.address.city, jason.address.zip, jason.last_name) == ("Paris", "75001", "Webb")
    assert jason.boss.id == 3 and view.boss_city == "Delhi" and set(jason.tags) == {"cia", "treadstone"}
    assert list(names) == ["Marie-Helena", "Nicolette"]  # live
    with store.write():
        view.zip = None
        view.tags = {"new"}
    assert jason.address.zip is None and set(view.tags) == {"new"}


def test_unmanaged():
    person = Person(id=9)
    view = Detailed(person)
    view.first_name = "Eve"
    assert person.first_name == "Eve" and view.home_city is None and view.friend_names == []
    person.address = Address()
    person.friends.append(Person(id=10))
    view.home_city = "Bern"
    view.friend_names[0] = "Ann"
    assert person.address.city == "Bern" and person.friends[0].first_name == "Ann"
    assert not view.is_managed and not view.is_frozen and view.is_valid and view.base is person
    with pytest.raises(WrongStore, match=r"Person\.staff"):
        view.staff_names
    for action in (view.freeze, view.thaw, lambda: view.observe(print)):
        with pytest.raises(WrongStore):
            action()
    assert view == Detailed(person) and view != Detailed(Person(id=9)) and len({view, Detailed(person)}) == 1
    assert copy.copy(view) == view
    loaded = pickle.loads(pickle.dumps(ToyView(Toy(label="ball"))))
    assert loaded.text == "ball"


def test_what_cannot_be_done(store, jason):
    view = Detailed(jason)
    for name, value in (("first_name", "David"), ("home_city", "Paris"), ("tags", [])):
        with pytest.raises(NotInWrite):
            setattr(view, name, value)
    with pytest.raises(NotInWrite):
        view.friend_names[0] = "x"
    assert (view.first_name, view.home_city, view.friend_names[0]) == ("Jason", "Zurich", "Marie")
    with store.write():
        with pytest.raises(WrongType, match=r"Person\.first_name: a str is wanted, not 5 \(int\)"):
            view.first_name = 5
        with pytest.raises(objstore.NotNullable, match=r"Address\.city"):
            view.home_city = None
        with pytest.raises(InvalidArgument, match=r"PersonView\.friend_names cannot be set: set its elements") as error:
            view.friend_names = ["x"]
        assert (error.value.class_name, error.value.property_name) == ("PersonView", "friend_names")
        with pytest.raises(NoSuchObject, match="no object at index 1"):
            view.named[1] = "x"
        with pytest.raises(NoSuchObject, match="no object at index 1"):
            view.friends_cities[1] = "x"
        with pytest.raises(IndexOutOfRange):
            view.friend_names[7] = "x"
        view.base.address = None
        with pytest.raises(
            NoSuchObject, match=r"PersonView\.home_city cannot be set: on the way to Person\.address\.city"
        ):
            view.home_city = "Paris"
        with pytest.raises(AttributeError):
            view.nothing = 3
        with pytest.raises(AttributeError):
            view.base = jason
        with pytest.raises(WrongType):
            view.boss = store.add(Toy())
    assert view.home_city is None
    for given in (None, Toy(), "Jason", 1, view):
        with pytest.raises(WrongType, match=r"PersonView\(\) takes a Person, not "):
            PersonView(given)
    with pytest.raises(InvalidArgument, match="the base of your classes"):
        objstore.Projection(jason)


def test_deleted_and_closed(store, jason):
    view, frozen = Detailed(jason), Detailed(jason).freeze()
    names = view.friend_names
    with store.write():
        store.delete(jason)
    assert not view.is_valid and frozen.is_valid and frozen.first_name == "Jason" and frozen.thaw() is None
    for name in ("first_name", "home_city", "friend_names"):
        with pytest.raises(NoSuchObject):
            len(getattr(view, name))
    with pytest.raises(NoSuchObject):
        list(names)
    with pytest.raises(NoSuchObject), store.write():
        view.first_name = "x"
    with pytest.raises(NoSuchObject):
        view.observe(print)
    assert "deleted" in repr(view)
    other = store.objects(PersonView)[0]
    store.close()
    with pytest.raises(objstore.Closed):
        other.first_name
    assert repr(other).startswith("<PersonView of <Person")


def test_frozen(store, jason):
    view = PersonView(jason)
    frozen = view.freeze()
    with store.write():
        view.first_name = "David"
        with pytest.raises(objstore.Error):
            frozen.first_name = "x"
    assert frozen.is_frozen and frozen.first_name == "Jason" and frozen.thaw().first_name == "David"
    assert frozen.freeze() == frozen and view.thaw() == view
    with pytest.raises(objstore.WrongView):
        frozen.observe(print)


def test_equality(store, jason):
    view, again = PersonView(jason), PersonView(store.get(Person, 1))
    assert view == again and hash(view) == hash(again) and view != PersonView(jason.boss)
    assert view != Detailed(jason) and view != jason and jason != view


def test_results(store, jason):
    everyone = store.objects(PersonView)
    assert len(everyone) == everyone.count() == 4 and everyone and not store.objects(ToyView)
    assert {view.first_name for view in everyone} == {"Jason", "Pamela", "Marie", "Nicky"}
    found = everyone.where(Person.first_name.starts_with("J"), Person.address.city == "Zurich")
    assert [view.home_city for view in found] == ["Zurich"] and found.first() == PersonView(jason) == found[0]
    by_name = everyone.order_by(Person.first_name)
    assert [view.first_name for view in by_name[1:3]] == ["Marie", "Nicky"] and by_name[-1].first_name == "Pamela"
    assert by_name.limit(1).offset(0).first().first_name == "Jason" and by_name.index(found[0]) == 0
    assert PersonView(jason) in by_name and jason not in by_name and Detailed(jason) not in by_name
    assert [view.first_name for view in everyone.filter("age > $0 SORT(age ASC)", 1)] == ["Jason"]
    assert len(everyone.distinct("last_name")) == 3 and "age > 1" in everyone.where(Person.age > 1).query_text()
    assert everyone.where(Person.age > 1).explain().access
    assert everyone.where(Person.age > 99).first() is None and isinstance(everyone.base, objstore.Results)
    frozen = everyone.freeze()
    with store.write():
        for view in everyone:
            view.first_name = ""
    assert {view.first_name for view in everyone} == {""} and len(everyone.where(Person.first_name == "Jason")) == 0
    assert frozen.is_frozen and len(frozen.where(Person.first_name == "Jason")) == 1 and not frozen.thaw().is_frozen
    with store.freeze() as version:
        assert version.objects(PersonView)[0].is_frozen
    assert repr(by_name).startswith("<PersonView of <Results of Person")
    # Of the class, not of the projection.
    with pytest.raises(NoSuchProperty):
        len(everyone.filter("home_city == 'Zurich'"))
    with pytest.raises(IndexOutOfRange):
        everyone[4]
    with pytest.raises(objstore.Error):
        store.objects(objstore.Projection)
    with objstore.open(memory="other", models=[Toy]) as other, pytest.raises(objstore.NoSuchClass):
        other.objects(PersonView)


# Classes


def refusal(body, kind=SchemaError):
    with pytest.raises(kind) as error:
        body()
    return str(error.value)


def test_classes_that_are_refused():
    def missing():
        class View(objstore.Projection[Person]):
            name = projected(path="nme")

    assert "View.name: class Person does not have a property 'nme'; it has id, first_name" in refusal(
        missing, NoSuchProperty
    )

    def missing_behind():
        class View(objstore.Projection[Person]):
            name = projected(path="address.town")

    assert "View.name: class Address does not have a property 'town'; it has city, zip" in refusal(
        missing_behind, NoSuchProperty
    )

    def other_class():
        class View(objstore.Projection[Person]):
            name = projected(Toy.label)

    assert refusal(other_class).startswith("View.name: Toy.label is a property of Toy, and not of Person")

    def other_member():
        class View(objstore.Projection[Person]):
            name = projected(Person.address, Person.first_name)

    assert "Person.first_name is a property of Person, and not of Address" in refusal(other_member)

    def computed():
        class View(objstore.Projection[Person]):
            name = projected(Person.age * 2)

    assert "(age * 2) is no property, but computed of some" in refusal(computed)

    def element():
        class View(objstore.Projection[Person]):
            name = projected(Person.friends[0].first_name)

    assert "is no property" in refusal(element)

    def two_collections():
        class View(objstore.Projection[Person]):
            name = projected(Person.friends, Person.friends, Person.first_name)

    assert "Person.friends.friends.first_name: what is behind a collection" in refusal(two_collections)

    def behind_a_value():
        class View(objstore.Projection[Person]):
            name = projected(path="age.x")

    assert "Person.age leads to no object, which could have 'x'" in refusal(behind_a_value)

    def no_path():
        class View(objstore.Projection[Person]):
            name = projected(5)

    assert "takes properties, such as Person.name" in refusal(no_path)

    def reserved():
        class View(objstore.Projection[Person]):
            observe = projected(Person.first_name)

    assert "View.observe: the name is used by objstore.Projection" in refusal(reserved)

    def of_nothing():
        class View(objstore.Projection):
            name = projected(Person.first_name)

    assert "say what it is a projection of" in refusal(of_nothing)

    def of_no_model():
        class View(objstore.Projection[int]):
            pass

    assert "a model class is wanted in the brackets" in refusal(of_no_model)

    def of_two():
        class View(PersonView, objstore.Projection[Toy]):
            pass

    assert refusal(of_two)
    with pytest.raises(InvalidArgument):
        projected()
    with pytest.raises(InvalidArgument):
        projected(Person.age, path="age")


def test_a_subclass_hides_what_it_names_again(jason):
    class Short(PersonView):
        first_name = projected(Person.last_name)
        home_city = None

    view = Short(jason)
    assert view.first_name == "Bourne" and view.home_city is None
    assert repr(view) == "Short(first_name='Bourne', friend_names=['Marie', 'Nicky'])"
