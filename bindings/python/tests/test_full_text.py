"""Texts in which words are searched for: how they are declared, and what search() finds."""

import enum
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import Backlinks, Counter, Model, all_, any_, backlinks, expression, field, none_

NO_WORDS = "full_text is for texts"


class Mood(enum.Enum):
    CALM = "calm and quiet"
    WILD = "wild"


class Note(Model):
    id: int = field(primary_key=True)
    title: str = field(default="", full_text=True)
    text: str | None = field(default=None, full_text=True, indexed=True)
    plain: str = ""
    mood: Mood = field(default=Mood.CALM, full_text=True)
    owner: "Person | None" = None


class Person(Model):
    name: str = field(primary_key=True, full_text=True)
    notes: list[Note]
    best: "Person | None" = None
    notes_of: Backlinks[Note] = backlinks("owner")


store = store_of([Note, Person])


@pytest.fixture
def notes(store: objstore.Store) -> objstore.Store:
    ann = Person(name="Ann Meier")
    rows: list[tuple[str, str | None, Mood]] = [
        ("Write tests", "Unit and fuzz", Mood.CALM),
        ("Write, then run", None, Mood.WILD),
        ("Überblick über Äpfel", "42 Äpfel", Mood.CALM),
        ("", "", Mood.WILD),
    ]
    with store.write():
        made = [store.add(Note(id=i, title=t, text=x, mood=m)) for i, (t, x, m) in enumerate(rows)]
        made[0].owner = made[2].owner = ann
        store.add(Person(name="Bob Moser", notes=made[1:3], best=store.get(Person, "Ann Meier")))
    return store


def both(store: objstore.Store, model: Any, asked: Any, text: str) -> list[Any]:
    """What an expression and a text find, by key: the same, and the expression's text says the same again."""
    results = store.objects(model).where(asked)
    key = model._objstore_key[0].name
    found = [getattr(each, key) for each in results]
    for filtered in (text, results.query_text()):
        assert [getattr(each, key) for each in store.objects(model).filter(filtered)] == found, filtered
    return found


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("write", [0, 1]),
        ("WRITE", [0, 1]),
        ("run write", [1]),
        ("write -tests", [1]),
        ("wri*", [0, 1]),
        ("wri", []),
        ("uber* apfel", [2]),
        ("-write", [2, 3]),
        ("write -wri*", []),
        ("", [0, 1, 2, 3]),
    ],
)
def test_words(notes: objstore.Store, words: str, found: list[int]) -> None:
    asked: Any = Note.title
    assert both(notes, Note, asked.search(words), f"title TEXT '{words}'") == found
    assert both(notes, Note, ~asked.search(words), f"NOT title TEXT '{words}'") == sorted({0, 1, 2, 3} - {*found})


def test_wherever_a_text_is(notes: objstore.Store) -> None:
    note, person = vars(Note), vars(Person)  # as attributes, which type checkers take for texts
    assert both(notes, Note, note["text"].search("apfel"), "text TEXT 'apfel'") == [2]
    assert both(notes, Note, ~note["text"].search("-apfel"), "NOT text TEXT '-apfel'") == [1, 2]  # None has no words
    assert both(notes, Note, note["mood"].search("quiet"), "mood TEXT 'quiet'") == [0, 2]
    assert both(notes, Note, note["owner"].name.search("meier"), "owner.name TEXT 'meier'") == [0, 2]
    assert both(notes, Note, expression(Note.owner).name.search("-meier"), "owner.name TEXT '-meier'") == []
    assert both(notes, Person, person["name"].search("bob"), "name TEXT 'bob'") == ["Bob Moser"]
    assert both(notes, Person, person["best"].name.search("ann"), "best.name TEXT 'ann'") == ["Bob Moser"]
    assert both(notes, Person, any_(Person.notes).title.search("run"), "ANY notes.title TEXT 'run'") == ["Bob Moser"]
    assert both(notes, Person, person["notes"].title.search("run"), "notes.title TEXT 'run'") == ["Bob Moser"]
    assert both(notes, Person, none_(Person.notes).title.search("run"), "NONE notes.title TEXT 'run'") == ["Ann Meier"]
    assert both(notes, Person, all_(Person.notes).title.search("-tests"), "ALL notes.title TEXT '-tests'") == [
        "Ann Meier",
        "Bob Moser",
    ]
    assert both(notes, Person, any_(Person.notes_of).text.search("fuzz"), "ANY @links.Note.owner.text TEXT 'fuzz'") == [
        "Ann Meier"
    ]
    few = person["notes_of"].where(note["title"].search("wri*")).count == 1
    assert both(notes, Person, few, "SUBQUERY(@links.Note.owner, $x, $x.title TEXT 'wri*').@count == 1") == [
        "Ann Meier"
    ]
    with notes.write():
        assert notes.objects(Note).where(note["title"].search("write")).update(plain="x") == 2
    joined = note["title"].search("write") & (Note.plain == "x") & (Note.id > 0)
    assert both(notes, Note, joined, "title TEXT 'write' AND plain == 'x' AND id > 0") == [1]
    assert repr(note["title"].search("a -b")) == "title.search('a -b')"
    notes.objects(Note).where(note["title"].search("write")).observe(print).close()


def test_where_no_words_are_searched_for(notes: objstore.Store) -> None:
    note, person = vars(Note), vars(Person)
    for asked in (
        note["plain"].search("x"),
        note["id"].search("x"),
        note["owner"].search("x"),
        person["notes"].plain.search("x"),
        note["title"].search(5),
        note["title"].search(None),
        note["title"].search(Note.plain),
    ):
        with pytest.raises(objstore.WrongType):
            notes.objects(Person if asked._properties[0].model is Person else Note).where(asked).count()
    with pytest.raises(objstore.InvalidText):
        note["title"].search("\ud800")


@pytest.mark.parametrize(
    ("annotation", "more"),
    [
        (int, {}),
        (int | None, {}),
        (bytes, {}),
        (float, {}),
        (bool, {}),
        (objstore.ObjectId, {"generated": True}),
        (Counter, {}),
        (Any, {}),
        (Note | None, {}),
        (list[str], {}),
        (set[str], {}),
        (dict[str, str], {}),
        (list[Note], {}),
        (enum.Enum("Number", {"ONE": 1}), {}),
    ],
)
def test_wrong_declarations(annotation: Any, more: dict[str, Any]) -> None:
    body = {"__annotations__": {"x": annotation}, "__module__": __name__, "x": field(full_text=True, **more)}
    with pytest.raises(objstore.SchemaError, match=NO_WORDS) as caught:
        type(Model)("Wrong", (Model,), body)
    assert (caught.value.class_name, caught.value.property_name) == ("Wrong", "x")
    with pytest.raises(objstore.InvalidArgument, match="full_text is True or False"):
        field(full_text=1)  # type: ignore[call-overload]


def test_what_is_known_of_a_property(tmp_path: Any) -> None:
    class Long(Note):
        more: str = field(default="", full_text=True)

    words = {"title", "text", "mood"}
    assert {p.name for p in objstore.fields(Note) if p.full_text} == words
    assert {p.name for p in objstore.fields(Long) if p.full_text} == words | {"more"}
    path = tmp_path / "notes"
    with objstore.open(path, models=[Note, Person, Long]) as store, store.write():
        store.add(Long(id=1, title="Write tests", more="of all"))
    with objstore.open(path) as store:  # the classes as the file has them
        found = store.models["Long"]
        assert {p.name for p in objstore.fields(found) if p.full_text} == words | {"more"}
        told = next(p for p in objstore.fields(found) if p.name == "text")
        assert told.indexed and told.nullable and told.full_text
        assert store.objects(found).where(vars(found)["more"].search("all")).count() == 1
        assert store.objects(found).filter("title TEXT '-write'").count() == 0


def declared(full_text: bool) -> Any:
    class Text(Model):
        id: int = field(primary_key=True)
        words: str = field(default="", full_text=full_text)

    return Text


def test_later(tmp_path: Any) -> None:
    """Texts that are there are searched as soon as the property says so, and not any more when it does not."""
    path, plain, text = tmp_path / "texts", declared(False), declared(True)
    with objstore.open(path, models=[plain]) as store:
        with store.write():
            store.add(plain(id=1, words="Write tests"))
        with pytest.raises(objstore.NoSuchClass, match="words is declared otherwise"):
            store.objects(text)
    with pytest.raises(objstore.SchemaError, match="not full text in the file"):
        objstore.open(path, models=[text])
    with objstore.open(path, models=[text], schema_version=2) as store:
        assert store.objects(text).where(text.words.search("tests")).count() == 1
        again = declared(True)
        assert store.objects(again).where(again.words.search("tests")).count() == 1
    with objstore.open(path, models=[plain], schema_version=3) as store:
        assert store.get(plain, 1).words == "Write tests"
        with pytest.raises(objstore.WrongType):
            store.objects(plain).where(plain.words.search("tests")).count()
