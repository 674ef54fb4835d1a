"""The acceptance scenarios of queries, by their numbers: one test for each, in expressions and as text."""

import math
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import (
    Backlinks,
    EmbeddedModel,
    ObjectId,
    all_,
    any_,
    asc,
    backlinks,
    desc,
    field,
    geo_box,
    geo_circle,
    geo_polygon,
    incoming,
    none_,
)


class Toy(objstore.Model):
    id: ObjectId = field(generated=True, primary_key=True)
    name: str = ""


class Hound(objstore.Model):
    name: str = ""
    age: int = 0
    color: str = ""
    favoriteToy: Toy | None = None
    owner: "Human | None" = None


class Address(EmbeddedModel):
    street: str = ""
    city: str = ""


class Human(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    address: Address | None = None
    dogs: list[Hound]
    clubs: Backlinks["Club"] = backlinks("members")


class Club(objstore.Model):
    name: str = ""
    members: list[Human]


class Task(objstore.Model):
    name: str = field(default="", full_text=True)
    isComplete: bool = False
    assignee: str | None = None
    priority: int = 0
    progressMinutes: int = 0
    projects: Backlinks["Project"] = backlinks("items")


class Project(objstore.Model):
    name: str = ""
    items: list[Task]
    quota: int | None = None


class Document(objstore.Model):
    name: str = ""
    dict: dict[str, Any]


class Crew(objstore.Model):
    name: str = ""
    eventLog: Any = None


class GeoPt(EmbeddedModel):
    type: str = "Point"
    coordinates: list[float]


class Company(objstore.Model):
    name: str = ""
    location: GeoPt | None = None


store = store_of([GeoPt, Company, Toy, Hound, Address, Human, Club, Task, Project, Document, Crew])


def names(results: Any) -> list[str]:
    return [each.name for each in results]


def both(store: objstore.Store, model: Any, asked: Any, text: str, *arguments: Any) -> list[str]:
    """What an expression and a text find, by name: the same."""
    found = names(store.objects(model).where(asked))
    assert found == names(store.objects(model).filter(text, *arguments)), text
    assert len(found) == store.objects(model).where(asked).count()
    return found


@pytest.fixture
def tasks(store):
    """The fixture QF."""
    rows = {
        "Write tests": (False, "Alex", 5, 125),
        "Run tests": (False, "Ali", 9, 10),
        "Bluehawk Tests": (False, None, 10, 55),
        "Create a ticket": (True, "Nick", 2, 8),
        "Schedule a meeting": (True, "Chris", 9, 10),
        "Get coffee": (False, "Dachary", 11, 3),
        "Assign me to a project": (False, "Nick", 2, 0),
    }
    with store.write():
        made = [
            store.create(Task, dict(zip(("name", "isComplete", "assignee", "priority", "progressMinutes"), (n, *row))))
            for n, row in rows.items()
        ]
        store.create(Project, {"name": "New Project", "items": made[:3]})
        store.create(Project, {"name": "Project with High Quota", "items": made[3:6], "quota": 12})
        store.create(Project, {"name": "Another project", "items": made[5:6]})
    return store


def test_a62_results_are_live(store):
    with store.write():
        store.create_all(Hound, [{"name": "Maui", "age": 2}, {"name": "Lita", "age": 11}])
    results, old = store.objects(Hound), store.objects(Hound).where(Hound.age > 10)
    assert (len(results), len(old)) == (2, 1)
    with store.write():
        store.create(Hound, {"name": "Ollie", "age": 12})
    assert (len(results), len(old)) == (3, 2)


def test_a63_filters(store):
    with store.write():
        ball = store.create(Toy, {"name": "Tennis ball"})
        stick = store.create(Toy, {"name": "Wooden stick"})
        rows = [("Ani", 1, stick), ("Bob", 5, None), ("Cid", 7, ball)]
        store.create_all(Hound, [{"name": n, "age": a, "favoriteToy": t} for n, a, t in rows])
    assert both(store, Hound, Hound.age < 2, "age < 2") == ["Ani"]
    assert both(store, Hound, Hound.favoriteToy == None, "favoriteToy == nil") == ["Bob"]
    asked = Hound.favoriteToy.name == "Tennis ball"
    assert both(store, Hound, asked, "favoriteToy.name == 'Tennis ball'") == ["Cid"]
    assert both(store, Hound, ~asked, "NOT favoriteToy.name == 'Tennis ball'") == ["Ani", "Bob"]


def test_a64_by_an_embedded_object(store):
    with store.write():
        for i, (name, city, street) in enumerate(
            [
                ("a", "Los Angeles", "Sunset"),
                ("b", "Rome", "Appia"),
                ("c", "Los Angeles", "Main"),
                ("d", "Los Angeles", "Ocean"),
            ]
        ):
            store.create(Human, {"id": i, "name": name, "address": {"city": city, "street": street}})
        store.create(Human, {"id": 9, "name": "e"})
    people = store.objects(Human).where(Human.address.city == "Los Angeles")
    assert names(people.order_by(Human.address.street)) == ["c", "d", "a"]
    assert names(people.order_by(desc(Human.address.street))) == ["a", "d", "c"]
    text = "address.city == 'Los Angeles' SORT(address.street ASC)"
    assert names(store.objects(Human).filter(text)) == ["c", "d", "a"]
    assert names(store.objects(Human).distinct(Human.address.city)) == ["a", "b", "e"]
    assert names(store.objects(Human).filter("DISTINCT(address.city)")) == ["a", "b", "e"]


def test_a65_by_an_object_id(store):
    key = ObjectId("11223344556677889900aabb")
    with store.write():
        store.create(Toy, {"id": key, "name": "ball"})
        store.create(Toy, {"name": "stick"})
    assert both(store, Toy, Toy.id == key, "id == $0", key) == ["ball"]
    with pytest.raises(objstore.WrongType):
        len(store.objects(Toy).where(Toy.id == str(key)))
    with pytest.raises(objstore.WrongType):
        store.objects(Toy).filter("id == $0", str(key))


def test_a66_order(store):
    rows = [
        ("go grocery shopping", 10),
        ("throw out the trash", 4),
        ("wash and dry the laundry", 2),
        ("fold the laundry", 2),
    ]
    with store.write():
        store.create_all(Task, [{"name": name, "priority": priority} for name, priority in rows])
        moe = store.create(Human, {"id": 1, "name": "Moe"})
        chris = store.create(Human, {"id": 2, "name": "Chris"})
        store.create_all(Hound, [{"name": "Barky", "owner": moe}, {"name": "Fido", "owner": chris}])
    first = lambda results: [name.split()[0] for name in names(results)]
    all_tasks, dogs = store.objects(Task), store.objects(Hound)
    assert first(all_tasks.order_by(Task.name)) == ["fold", "go", "throw", "wash"]
    assert first(all_tasks.order_by(desc(Task.name))) == ["wash", "throw", "go", "fold"]
    assert first(all_tasks.order_by(desc(Task.priority), asc(Task.name))) == ["go", "throw", "fold", "wash"]
    assert first(all_tasks.filter("SORT(priority DESC, name ASC)")) == ["go", "throw", "fold", "wash"]
    assert names(dogs.order_by(Hound.owner.name)) == ["Fido", "Barky"]
    assert names(dogs.order_by(asc(Hound.owner[Human.name], case=False))) == ["Fido", "Barky"]
    assert names(dogs.order_by(desc(Hound.owner.name))) == ["Barky", "Fido"]
    assert names(dogs.filter("SORT(owner.name ASC)")) == ["Fido", "Barky"]


def test_a67_upper_and_lower_case(store):
    with store.write():
        store.create_all(Toy, [{"name": name} for name in ("Éa", "eb", "Ec", "ĆA", "ća")])
    assert both(store, Toy, Toy.name.equals("éA", case=False), "name ==[c] 'éA'") == ["Éa"]
    assert both(store, Toy, Toy.name.equals("ćA", case=False), "name ==[c] 'ćA'") == ["ĆA", "ća"]
    assert both(store, Toy, Toy.name.equals("ea", case=False), "name ==[c] 'ea'") == []
    in_order = names(store.objects(Toy).order_by(Toy.name))
    assert in_order == sorted(in_order) == ["Ec", "eb", "Éa", "ĆA", "ća"]


def test_a68_relationships(store):
    with store.write():
        rex = store.create(Hound, {"name": "Rex"})
        person = store.create(Human, {"id": 12345, "name": "Jane", "dogs": [rex]})
        store.create(Human, {"id": 2, "name": "John"})
        store.create(Club, {"name": "Pooch Pals", "members": [person]})
        store.create(Club, {"name": "Nobody"})
    assert person.dogs[0].name == "Rex" and names(person.clubs) == ["Pooch Pals"]
    assert both(store, Human, Human.dogs[0].name == "Rex", "dogs[0].name == 'Rex'") == ["Jane"]
    assert both(store, Human, Human.clubs.count == 1, "@links.Club.members.@count == 1") == ["Jane"]
    asked = any_(Human.clubs).name == "Pooch Pals"
    assert both(store, Human, asked, "ANY @links.Club.members.name == 'Pooch Pals'") == ["Jane"]
    assert both(store, Human, Human.clubs.name == "Nobody", "@links.Club.members.name == 'Nobody'") == []
    assert both(store, Club, Club.members.dogs.name == "Rex", "members.dogs.name == 'Rex'") == ["Pooch Pals"]


@pytest.mark.parametrize(
    ("asked", "text", "count"),
    [
        (Project.items.avg(Task.priority) > 5, "items.@avg.priority > 5", 3),
        (Project.items.max(Task.priority) < 5, "items.@max.priority < 5", 0),
        (Project.items.min(Task.priority) > 5, "items.@min.priority > 5", 1),
        (Project.items.count > 5, "items.@count > 5", 0),
        (Project.items.sum(Task.progressMinutes) > 100, "items.@sum.progressMinutes > 100", 1),
    ],
)
def test_a69_aggregates(tasks, asked, text, count):
    assert len(both(tasks, Project, asked, text)) == count


def test_a70_chained(store):
    with store.write():
        rows = [("Bo", "tan"), ("Rex", "tan"), ("Ben", "black")]
        store.create_all(Hound, [{"name": name, "color": color} for name, color in rows])
    tan = store.objects(Hound).where(Hound.color == "tan")
    b = tan.where(Hound.name.starts_with("B"))
    as_text = store.objects(Hound).filter("color == 'tan'").filter("name BEGINSWITH 'B'")
    assert names(tan) == ["Bo", "Rex"] and names(b) == names(as_text) == ["Bo"]
    with store.write():
        store.create(Hound, {"name": "Bob", "color": "tan"})
    assert names(tan) == ["Bo", "Rex", "Bob"] and names(b) == names(as_text) == ["Bo", "Bob"]


@pytest.mark.parametrize(
    ("asked", "text", "count"),
    [
        (Task.priority > 5, "priority > 5", 4),
        (Task.progressMinutes > 120, "progressMinutes > 120", 1),
        (Task.assignee == None, "assignee == nil", 1),
        (Task.progressMinutes.between(30, 60), "progressMinutes BETWEEN {30, 60}", 1),
        (Task.progressMinutes.in_([10, 20, 30, 40, 50, 60]), "progressMinutes IN {10, 20, 30, 40, 50, 60}", 2),
        ((Task.assignee == "Ali") & (Task.isComplete == True), "assignee == 'Ali' AND isComplete == true", 0),
    ],
)
def test_a91_comparisons(tasks, asked, text, count):
    assert len(both(tasks, Task, asked, text)) == count


@pytest.mark.parametrize(
    ("asked", "text", "count"),
    [
        (none_(Project.items).isComplete == True, "NONE items.isComplete == true", 2),
        (any_(Project.items).priority == 10, "ANY items.priority == 10", 1),
        (all_(Project.items).isComplete == True, "ALL items.isComplete == true", 0),
        (any_(Project.items).assignee.in_(["Alex", "Ali"]), "ANY items.assignee IN {'Alex', 'Ali'}", 1),
        (none_(Project.items[Task.assignee]).in_(["Alex", "Ali"]), "NONE items.assignee IN {'Alex', 'Ali'}", 2),
    ],
)
def test_a92_quantifiers(tasks, asked, text, count):
    assert len(both(tasks, Project, asked, text)) == count


@pytest.mark.parametrize(
    ("asked", "text", "found"),
    [
        (incoming(Project.items).quota > 10, "@links.Project.items.quota > 10", 3),
        (Task.projects.quota > 10, "@links.Project.items.quota > 10", 3),
        (Task.projects.count > 1, "@links.Project.items.@count > 1", ["Get coffee"]),
        (Task.projects.count == 0, "@links.Project.items.@count == 0", ["Assign me to a project"]),
        (incoming(Task).count == 0, "@links.@count == 0", ["Assign me to a project"]),
    ],
)
def test_a93_what_links_to_an_object(tasks, asked, text, found):
    names_found = both(tasks, Task, asked, text)
    assert names_found == found if isinstance(found, list) else len(names_found) == found


def test_a94_subqueries(tasks):
    incomplete = Project.items.where(Task.isComplete == False, Task.assignee == "Alex").count > 0
    text = "SUBQUERY(items, $item, $item.isComplete == false AND $item.assignee == 'Alex').@count > 0"
    assert both(tasks, Project, incomplete, text) == ["New Project"]
    with tasks.write():
        done = [{"name": str(i), "isComplete": i < 2} for i in range(3)]
        tasks.create(Project, {"name": "Project with Quota", "quota": 2, "items": done})
    reached = Project.items.where(Task.isComplete == True).count >= Project.quota
    text = "SUBQUERY(items, $item, $item.isComplete == true).@count >= quota"
    assert both(tasks, Project, reached, text) == ["Project with Quota"]


def test_a95_arithmetic(tasks):
    assert len(both(tasks, Task, 2 * Task.priority > 6, "2 * priority > 6")) == 5
    asked = Task.priority >= objstore.expression(2) * (objstore.expression(2) - 1) + 2
    assert len(both(tasks, Task, asked, "priority >= 2 * (2 - 1) + 2")) == 5
    assert len(both(tasks, Task, Task.progressMinutes * Task.priority == 90, "progressMinutes * priority == 90")) == 2


@pytest.mark.parametrize(("words", "count"), [("write", 1), ("write -tests", 0), ("wri*", 1)])
def test_a95_words(tasks, words, count):
    assert len(both(tasks, Task, Task.name.search(words), f"name TEXT '{words}'")) == count


@pytest.mark.parametrize(
    ("asked", "text", "count"),
    [
        (any_(Document.dict.keys) == "foo", "ANY dict.@keys == 'foo'", 1),
        (Document.dict["foo"] == "bar", "dict['foo'] == 'bar'", 1),
        (Document.dict.count > 1, "dict.@count > 1", 1),
        (any_(Document.dict).type == "string", "ANY dict.@type == 'string'", 2),
        (all_(Document.dict).type == "bool", "ALL dict.@type == 'bool'", 1),
        (none_(Document.dict).type == "double", "NONE dict.@type == 'double'", 2),
        (Document.dict.type == "string", "dict.@type == 'string'", 2),
    ],
)
def test_a96_dicts(store, asked, text, count):
    with store.write():
        for i, values in enumerate([{"foo": "bar"}, {"isTrue": False}, {"baz": "Biz", "num": 1.0}]):
            store.create(Document, {"name": str(i), "dict": values})
    assert len(both(store, Document, asked, text)) == count


@pytest.mark.parametrize(
    ("asked", "text", "count"),
    [
        (Crew.eventLog[:]["priority"] == "high", "eventLog[*].priority == 'high'", 2),
        (Crew.eventLog[:]["type"][0] == "maintenance", "eventLog[*].type[FIRST] == 'maintenance'", 1),
        (Crew.eventLog[:]["type"][-1] == "repair", "eventLog[*].type[LAST] == 'repair'", 1),
        (
            Crew.eventLog[:]["type"][:] == ["maintenance", "work_order"],
            "eventLog[*].type[*] == {'maintenance', 'work_order'}",
            0,
        ),
        (Crew.eventLog[:]["type"].type == "list", "eventLog[*].type.@type == 'list'", 2),
    ],
)
def test_a97_inside_of_any(store, asked, text, count):
    events = {
        "Janitorial": [("high", ["work_order", "maintenance"]), ("low", ["maintenance"])],
        "IT": [("high", ["hardware", "repair"])],
    }
    with store.write():
        for name, log in events.items():
            store.create(Crew, {"name": name, "eventLog": [{"priority": p, "type": t} for p, t in log]})
    assert len(both(store, Crew, asked, text)) == count


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        (geo_circle((-122.6, 47.8), kilometers=44.4), 1),
        (geo_circle((-121.9, 47.3), radians=math.radians(0.25)), 0),
        (geo_box((-122.7, 47.3), (-122.1, 48.1)), 1),
        (geo_box((-122.4, 47.5), (-121.8, 47.9)), 2),
        (geo_polygon([(-122.8, 48.0), (-121.8, 48.2), (-121.6, 47.6), (-122.0, 47.0), (-122.6, 47.2)]), 2),
    ],
)
def test_a98_places(store, shape, count):
    with store.write():
        for name, place in {"C1": (-122.35, 47.68), "C2": (-121.85, 47.9)}.items():
            store.create(Company, {"name": name, "location": {"coordinates": list(place)}})
        store.create(Company, {"name": "nowhere"})
    assert len(both(store, Company, Company.location.within(shape), "location GEOWITHIN $0", shape)) == count


def test_a104_sections(store):
    with store.write():
        store.create_all(Hound, [{"name": name} for name in ("Rex", "Wolfie", "Fido", "Spot")])
    dogs = store.objects(Hound).order_by(Hound.name)
    for sections in (dogs.sections(Hound.name, first_letter=True), dogs.sections(lambda dog: dog.name[0])):
        assert len(sections) == 4 and sections.keys() == ["F", "R", "S", "W"]
        assert sections[0].key == "F" and [dog.name for dog in sections[0]] == ["Fido"]
