"""Tables in notebooks of lists, sets and dicts, of what is asked of them, of inverses and of sections: they show what
is asked anew, after every change."""

import asyncio
import gc
import random
import sys
import weakref
from typing import Any

import pytest

import objstore
from conftest import store_of
from notebooks import Rows, rows
from objstore import Backlinks, backlinks, desc, field, projected


class Home(objstore.EmbeddedModel):
    city: str = ""


class Keeper(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    dogs: list["Hound"]
    liked: set["Hound"]
    by_name: dict[str, "Hound | None"]
    words: list[str]
    numbers: set[int]
    notes: dict[str, int]
    things: list[Any]
    homes: list[Home]
    extra: Any = None
    hounds: Backlinks["Hound"] = backlinks("keeper")


class Hound(objstore.Model):
    name: str = ""
    age: int = 0
    keeper: Keeper | None = None


class HoundView(objstore.Projection[Hound]):
    title = projected(Hound.name)


MODELS = [Keeper, Hound, Home]
store = store_of(MODELS)


@pytest.fixture
def other(store, path):
    """Another handle of the same file."""
    with objstore.open(path, models=MODELS) as made:
        yield made


@pytest.fixture
def keeper(store):
    with store.write():
        keeper = store.create(Keeper, {"id": 1, "name": "Ann", "words": ["a", "b"], "things": [1, "x", [2]]})
        keeper.dogs.extend([Hound(name="Rex", age=5, keeper=keeper), Hound(name="Max", age=2)])
        keeper.liked.add(keeper.dogs[0])
        keeper.by_name["Rex"] = keeper.dogs[0]
        keeper.numbers.update([3, 1])
        keeper.notes.update({"m": 2, "a": 1})
        keeper.homes.append(Home(city="Rome"))
    return keeper


def text(value):
    return "" if value is None else str(value)


def dog_line(dog):
    return [dog.name, str(dog.age)] if dog is not None else ["", ""]


def in_sections(sections, length, heading=str):
    found = []
    for section in sections:
        if length:
            found += [[f"# {heading(section.key)}"], *map(dog_line, section[:length])]
            length -= min(length, len(section))
    return found


def initial(dog):
    return dog.name[:1]


def kinds(source, keeper):
    """What can be a table: by name what is shown, with which columns, and what a fresh look finds."""
    dogs = source.objects(Hound)
    both = ["name", Hound.age]
    asked = {
        "inverse": keeper.hounds,
        "objects": keeper.dogs.objects(),
        "some of the list": keeper.dogs.where(Hound.age > 3).order_by(desc(Hound.age), Hound.name),
        "limited": keeper.dogs.order_by(Hound.name).limit(4),
        "of the inverse": keeper.hounds.where(Hound.age < 7),
        "of the dict": keeper.by_name.objects(),
    }
    found = {name: (each, both, lambda n, each=each: list(map(dog_line, each[:n]))) for name, each in asked.items()}
    by_keeper = dogs.order_by(Hound.age).sections(Hound.keeper, order="ascending")
    sections = {
        "by age": (dogs.sections(Hound.age, order="ascending"), str),
        "as they come": (keeper.dogs.sections(Hound.age), str),
        "letters": (dogs.order_by(Hound.name).sections(Hound.name, order="descending", first_letter=True), str),
        "by keeper": (by_keeper, lambda key: "None" if key is None else f"<Keeper {key.id}>"),
        "of text": (keeper.hounds.sections("age / 3", order="descending"), str),
        "of a function": (dogs.order_by(desc(Hound.age)).sections(initial), str),
    }
    for name, (each, heading) in sections.items():
        found[name] = each, both, lambda n, each=each, heading=heading: in_sections(each, n, heading)
    return found | {
        "list": (keeper.dogs, both, lambda n: list(map(dog_line, keeper.dogs[:n]))),
        "set of objects": (keeper.liked, both, lambda n: list(map(dog_line, list(keeper.liked)[:n]))),
        "dict of objects": (
            keeper.by_name,
            both,
            lambda n: [[key, *dog_line(dog)] for key, dog in list(keeper.by_name.items())[:n]],
        ),
        "embedded": (keeper.homes, None, lambda n: [[home.city] for home in keeper.homes[:n]]),
        "words": (keeper.words, None, lambda n: [[word] for word in keeper.words[:n]]),
        "set": (keeper.numbers, None, lambda n: [[str(number)] for number in list(keeper.numbers)[:n]]),
        "dict": (keeper.notes, None, lambda n: [[key, str(v)] for key, v in list(keeper.notes.items())[:n]]),
        "things": (keeper.things, None, lambda n: [[text(thing)] for thing in keeper.things.copy()[:n]]),
    }


def change_something(store, chance, step):
    keeper, dogs = store.get(Keeper, 1), store.objects(Hound)
    what, count = chance.randrange(22), len(dogs)
    words, things, homes = keeper.words, keeper.things, keeper.homes
    if what <= 2 or count < 4:
        dog = store.add(Hound(name=f"{chance.choice('abc')}{step}", age=chance.randrange(12)))
        dog.keeper = keeper if chance.randrange(2) else None
        keeper.dogs.insert(chance.randrange(len(keeper.dogs) + 1), dog)
        keeper.liked.add(dog)
        keeper.by_name[f"k{chance.randrange(9)}"] = dog
    elif what == 3:
        store.delete(dogs[chance.randrange(count)])
    elif what <= 6:
        dogs[chance.randrange(count)].age = chance.randrange(12)
    elif what == 7:
        dogs[chance.randrange(count)].name = f"{chance.choice('abc')}{step}"
    elif what == 8:
        dog = dogs[chance.randrange(count)]
        dog.keeper = None if dog.keeper else keeper
    elif what == 9 and keeper.dogs:
        keeper.dogs.insert(chance.randrange(len(keeper.dogs)), keeper.dogs.pop(chance.randrange(len(keeper.dogs))))
    elif what == 10 and keeper.dogs:
        keeper.dogs.append(keeper.dogs[chance.randrange(len(keeper.dogs))])  # twice
    elif what == 11 and keeper.dogs:
        del keeper.dogs[chance.randrange(len(keeper.dogs))]
    elif what == 12:
        keeper.liked.discard(dogs[chance.randrange(count)])
        keeper.by_name.pop(f"k{chance.randrange(9)}", None)
    elif what == 13:
        words.insert(chance.randrange(len(words) + 1), f"w{step}")
    elif what == 14 and words:
        words.insert(chance.randrange(len(words)), words.pop(chance.randrange(len(words))))
    elif what == 15 and words:
        words[chance.randrange(len(words))] = f"again {step}"
    elif what == 16:
        keeper.numbers ^= set(chance.sample(range(12), 3))
    elif what == 17:
        keeper.notes[f"k{chance.randrange(9)}"] = step
        keeper.notes.pop(f"k{chance.randrange(9)}", None)
    elif what == 18:
        things.insert(chance.randrange(len(things) + 1), chance.choice([step, None, [step], f"t{step}"]))
    elif what == 19 and things:
        del things[chance.randrange(len(things))]
    elif what == 20:
        homes.insert(chance.randrange(len(homes) + 1), Home(city=f"city {step}"))
    elif homes:
        if chance.randrange(2):
            homes[chance.randrange(len(homes))].city = f"moved {step}"
        else:
            del homes[chance.randrange(len(homes))]


@pytest.mark.parametrize("seed", range(4))
def test_at_random(store, other, keeper, seed):
    chance = random.Random(seed)
    shown = kinds(store, keeper)
    lengths = {name: chance.choice([1, 3, 7, 100]) for name in shown}
    tables = {name: each.live(columns, rows=lengths[name]) for name, (each, columns, _) in shown.items()}
    told = dict.fromkeys(shown, 0)
    for step in range(70):
        with other.write():
            for _ in range(chance.randrange(1, 4)):
                change_something(other, chance, step)
            if step == 50:
                other.get(Keeper, 1).dogs.clear()
        if chance.randrange(3) == 0 or step >= 49:
            for name, table in tables.items():
                told[name] += table.update()
                assert rows(table) == shown[name][2](lengths[name]), (name, step)
    assert min(told.values()) > 0, told
    for name, (each, _, _) in shown.items():
        count = len(each._results) if isinstance(each, objstore.Sections) else len(each)
        assert tables[name]._content.count == count, name
        tables[name].close()


def test_columns_and_captions(store, keeper):
    def head(table):
        found = Rows(table._repr_html_())
        return found.caption, found.head

    assert head(keeper.dogs.live()) == ("Keeper.dogs", ["name", "age", "keeper"])
    assert head(keeper.by_name.live(["age"])) == ("Keeper.by_name", ["key", "age"])
    assert head(keeper.words.live()) == ("Keeper.words", ["words"])
    assert head(keeper.numbers.live()) == ("Keeper.numbers", ["numbers"])
    assert head(keeper.notes.live()) == ("Keeper.notes", ["key", "value"])
    assert head(keeper.homes.live()) == ("Keeper.homes", ["city"])
    assert head(keeper.dogs.objects().live([])) == ("Hound where the objects of Keeper.dogs", [])
    assert head(keeper.hounds.live([Hound.name])) == ("Hound where keeper links to <Keeper 1>", ["name"])
    sections = store.objects(Hound).where(Hound.age > 1).sections(Hound.name)
    caption, columns = head(sections.live(["name"]))
    assert (caption, columns) == ("Hound where age > 1 in sections", ["name"])
    assert "<live table of Keeper.dogs, 1 of 2 rows>" == repr(keeper.dogs.live(rows=1))
    assert "and 1 more" in keeper.dogs.live(rows=1)._repr_html_()


def test_what_is_not_shown_does_not_count(store, keeper):
    dogs, notes = keeper.dogs.live([Hound.name]), keeper.by_name.live([Hound.name])
    every = keeper.dogs.live([Hound.name], keys=["age"])
    in_sections = store.objects(Hound).sections(Hound.keeper).live([Hound.name])
    with store.write():
        keeper.dogs[0].age = 50
    assert not dogs.update() and not notes.update() and not in_sections.update() and not every.update()
    with store.write():
        keeper.dogs[0].name = "Ben"
    assert dogs.update() and notes.update() and in_sections.update() and not every.update()
    with store.write():
        keeper.dogs[0].age = 51
    assert every.update() and rows(every) == [["Ben"], ["Max"]]
    assert rows(in_sections) == [["# <Keeper 1>"], ["Ben"], ["# None"], ["Max"]]


def test_html_is_escaped(store, keeper):
    tables = [keeper.words.live(), keeper.notes.live(), store.objects(Hound).sections(Hound.name).live([])]
    with store.write():
        keeper.words[0] = "<i>word</i>"
        keeper.notes["<i>key</i>"] = 1
        keeper.dogs[0].name = "<i>name</i>"
    for table in tables:
        assert table.update() and "<i>" not in table._repr_html_()
    assert rows(tables[0])[0] == ["<i>word</i>"] and rows(tables[1])[0] == ["<i>key</i>", "1"]
    assert ["# <i>name</i>"] in rows(tables[2])


def test_the_owner_is_deleted(store, other, keeper, shown):
    async def main():
        kept = {name: each.live(columns, interval=0) for name, (each, columns, _) in kinds(store, keeper).items()}
        of_owner = {"list", "set of objects", "dict of objects", "embedded", "words", "set", "dict", "things"}
        of_owner |= {"objects", "some of the list", "limited", "of the dict", "as they come"}
        for table in kept.values():
            table._ipython_display_()
        with other.write():
            other.delete(other.get(Keeper, 1))
        while not all(kept[name].is_closed for name in of_owner):
            await asyncio.sleep(0)
        for name in of_owner:
            table = kept[name]
            assert rows(table) == [] and not table.update(), name
            [*_, last] = [data for display, _, data in shown if display == table._display]
            assert "(closed)" in last["text/html"] and rows(last["text/html"]) == [], name
        # Of an inverse there is nothing any more; the dogs are still there.
        while kept["inverse"]._content.shown or ["# <Keeper 1>"] in rows(kept["by keeper"]):
            await asyncio.sleep(0)
        assert rows(kept["of the inverse"]) == [] and len(rows(kept["by age"])) == 4
        for table in kept.values():
            table.close()

    asyncio.run(main())
    with pytest.raises(objstore.NoSuchObject, match="Keeper"):
        keeper.dogs.live()
    with pytest.raises(objstore.NoSuchObject, match="Keeper"):
        keeper.notes.live()


def test_in_a_notebook(store, other, keeper, shown):
    """A cell's output changes by itself; run again, the cell has another table."""
    shell = sys.modules["IPython"].shell
    shell.cell = "cell 1"

    async def main():
        first = keeper.words.live(interval=0)
        first._ipython_display_()
        table = store.objects(Hound).sections(Hound.name).live(["age"], interval=0)
        table._ipython_display_()
        assert first.is_closed and not table.is_closed
        with other.write():
            other.add(Hound(name="Rex", age=7))
        while rows(shown[-1][2]["text/html"]) != [["# Rex"], ["5"], ["7"], ["# Max"], ["2"]]:
            await asyncio.sleep(0)
        assert shown[-1][:2] == (table._display, True)
        table.close()
        assert "(closed)" in shown[-1][2]["text/html"]

    asyncio.run(main())


def test_it_ends_with_its_store_and_as_garbage(store, keeper, shown):
    async def main():
        made = [keeper.dogs, keeper.notes, keeper.words, keeper.hounds.sections(Hound.age)]
        kept = [each.live(interval=0) for each in made]
        dropped = [each.live(interval=0) for each in made]
        for table in kept + dropped:
            table._ipython_display_()
        await asyncio.sleep(0)
        gone = [weakref.ref(table) for table in dropped]
        dropped.clear()
        del table
        gc.collect()
        assert [each() for each in gone] == [None] * len(made)
        tasks = [table._task for table in kept]
        store.close()
        await asyncio.wait_for(asyncio.gather(*tasks), 60)
        for table in kept:
            assert table.is_closed and not table.update()
            assert "(closed)" in [data for display, _, data in shown if display == table._display][-1]["text/html"]

    asyncio.run(main())


def test_a_closed_store_without_a_loop(store, keeper):
    tables = [keeper.words.live(), store.objects(Hound).live(), store.objects(Hound).sections(Hound.age).live()]
    store.close()
    for table in tables:
        assert not table.update() and table.is_closed and rows(table)


def test_where_the_store_cannot_be_observed(store, keeper):
    frozen = keeper.freeze()
    for each in (frozen.dogs, frozen.words, frozen.notes, frozen.hounds.sections(Hound.age), frozen.hounds):
        with pytest.raises(objstore.WrongView):
            each.live()
    with store.write():
        for each in (keeper.dogs, keeper.words, keeper.notes, keeper.hounds.sections(Hound.age)):
            with pytest.raises(objstore.AlreadyInWrite):
                each.live()


@pytest.mark.parametrize(
    ("name", "arguments", "error", "word"),
    [
        ("dogs", {"rows": 0}, objstore.OutOfRange, r"rows is 0: 1 to 10,000 \(a live table of Keeper.dogs\)"),
        ("notes", {"rows": "3"}, objstore.InvalidArgument, r"rows is a number of rows, not '3' .*Keeper.notes"),
        ("words", {"interval": -1}, objstore.InvalidArgument, "interval"),
        ("words", {"columns": ["name"]}, objstore.InvalidArgument, r"Keeper.words is a list\[str\], whose elements"),
        ("notes", {"columns": []}, objstore.InvalidArgument, r"Keeper.notes is a dict\[str, int\], whose elements"),
        ("words", {"keys": ["name"]}, objstore.InvalidArgument, r"Keeper.words is a list\[str\]"),
        ("dogs", {"columns": "name"}, objstore.InvalidArgument, "columns is a list of properties"),
        ("dogs", {"columns": ["wings"]}, objstore.NoSuchProperty, "Hound has no property 'wings'"),
        ("dogs", {"columns": [Keeper.name]}, objstore.Error, "Keeper.name"),
        ("by_name", {"keys": ["wings"]}, objstore.NoSuchProperty, "Hound.*wings"),
        ("hounds", {"columns": ["wings"]}, objstore.NoSuchProperty, "Hound has no property 'wings'"),
    ],
)
def test_wrong_arguments(keeper, name, arguments, error, word):
    with pytest.raises(error, match=word) as raised:
        getattr(keeper, name).live(**arguments)
    if "whose elements" in word:
        assert (raised.value.class_name, raised.value.property_name) == ("Keeper", name)


def test_wrong_arguments_of_sections(store):
    sections = store.objects(Hound).sections(Hound.age)
    for arguments, error, word in [
        ({"rows": 10_001}, objstore.OutOfRange, r"10001: 1 to 10,000 \(a live table of Hound in sections"),
        ({"columns": ["wings"]}, objstore.NoSuchProperty, "wings"),
        ({"keys": ["wings"]}, objstore.NoSuchProperty, "wings"),
    ]:
        with pytest.raises(error, match=word):
            sections.live(**arguments)


def test_in_the_shell_of_ipython(store, keeper, tmp_path, monkeypatch):
    """With the real one: a cell whose last line is a table of a dict."""
    shells = pytest.importorskip("IPython.core.interactiveshell")
    publishers = pytest.importorskip("IPython.core.displaypub")
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell = shells.InteractiveShell.instance()
    shell.display_pub = publisher = publishers.CapturingDisplayPublisher()
    try:
        shell.push({"keeper": keeper})
        shell.run_cell("table = keeper.notes.live()\ntable").raise_error()
        assert rows(publisher.outputs[-1]["data"]["text/html"]) == [["a", "1"], ["m", "2"]]
        with store.write():
            keeper.notes["b"] = 7
        shell.run_cell("table.update()").raise_error()
        [*_, last] = [output for output in publisher.outputs if "text/html" in output["data"]]
        assert rows(last["data"]["text/html"]) == [["a", "1"], ["b", "7"], ["m", "2"]] and last["update"] is True
        shell.user_ns["table"].close()
    finally:
        shell.reset(new_session=False)
        shells.InteractiveShell.clear_instance()
