"""Tables in notebooks that follow: results.live(). Seen by a display that records what it is given, by IPython's own
shell, and in asyncio's loop, as in a kernel."""

import asyncio
import gc
import random
import sys
import weakref

import pytest

import objstore
from conftest import KENNEL
from models import Dog, Person
from notebooks import Rows, rows
from objstore import desc, projected
from test_observing_document import ROOT, program_in


def add(store, *names):
    with store.write():
        return [store.add(Dog(name=name, age=age)) for age, name in enumerate(names)]


def test_the_window_follows(store):
    add(store, "d", "b", "c")
    table = store.objects(Dog).order_by(Dog.name).live([Dog.name, "age"], rows=3)
    assert rows(table) == [["b", "1"], ["c", "2"], ["d", "0"]] and Rows(table._repr_html_()).head == ["name", "age"]
    add(store, "a", "x", "y")
    assert table.update() and rows(table) == [["a", "0"], ["b", "1"], ["c", "2"]]
    assert "and 3 more" in table._repr_html_() and "3 of 6 rows" in repr(table)
    with store.write():
        store.objects(Dog).where(Dog.name < "c").delete()
    assert table.update() and rows(table) == [["c", "2"], ["d", "0"], ["x", "1"]]
    with store.write():
        store.objects(Dog).where(Dog.name == "y").update(name="0")
    assert table.update() and [row[0] for row in rows(table)] == ["0", "c", "d"]
    assert not table.update()
    table.close()
    add(store, "00")
    assert not table.update() and [row[0] for row in rows(table)] == ["0", "c", "d"]
    assert table.is_closed and "(closed)" in table._repr_html_()


def test_it_ends_with_its_store(path):
    with objstore.open(path, models=KENNEL) as store:
        add(store, "a")
        table = store.objects(Dog).live([Dog.name])
        assert not table.is_closed
    assert table.is_closed and not table.update()
    assert "(closed)" in table._repr_html_() and "closed" in repr(table) and rows(table) == [["a"]]
    table.close()


@pytest.mark.parametrize("seed", range(4))
def test_at_random(store, seed):
    chance = random.Random(seed)
    dogs = store.objects(Dog)
    asked = [dogs, dogs.where(Dog.age > 3), dogs.order_by(desc(Dog.age), Dog.name), dogs.order_by(Dog.age).limit(6)]
    tables = [results.live([Dog.name, Dog.age], rows=chance.choice([1, 4, 9])) for results in asked]
    for step in range(120):
        with store.write():
            for _ in range(chance.randrange(1, 5)):
                what, count = chance.randrange(4), len(dogs)
                if what == 0 or count < 3:
                    store.add(Dog(name=f"dog {step}", age=chance.randrange(9)))
                elif what == 1:
                    store.delete(dogs[chance.randrange(count)])
                else:
                    dogs[chance.randrange(count)].age = chance.randrange(9)
        if chance.randrange(3) == 0:
            for results, table in zip(asked, tables):
                table.update()
                assert rows(table) == [[dog.name, str(dog.age)] for dog in results[: table._content.length]], step
                assert table._content.count == len(results)


def test_html_is_escaped(store):
    add(store, "<script>alert(1)</script>", "a & b")
    table = store.objects(Dog).live([Dog.name])
    assert "<script>" not in table._repr_html_() and rows(table) == [["<script>alert(1)</script>"], ["a & b"]]
    add(store, "<b>new</b>")
    table.update()
    assert "<b>new" not in table._repr_html_() and rows(table)[-1] == ["<b>new</b>"]
    text = store.objects(Dog).filter("name != '<i>'").live([])
    assert "<i>" not in text._repr_html_() and Rows(text._repr_html_()).caption == 'Dog where name != "<i>"'


def test_projections(store):
    class Look(objstore.Projection[Dog]):
        title = projected(Dog.name)

    add(store, "Rex", "<Max>")
    table = store.objects(Look).order_by(Dog.name).live()
    assert rows(table) == [["<Max>"], ["Rex"]] and Rows(table._repr_html_()).head == ["title"]
    with store.write():
        store.objects(Dog).where(Dog.name == "Rex").update(age=50)
    assert not table.update()  # it is not shown
    add(store, "Ben")
    assert table.update() and rows(table) == [["<Max>"], ["Ben"], ["Rex"]]


def test_in_a_notebook(store, shown, path):
    """The output of a cell changes by itself, once for many commits, as long as the loop has its turns."""

    async def main(other):
        table = store.objects(Dog).order_by(Dog.name).live([Dog.name], rows=5, interval=0)
        assert shown == []
        table._ipython_display_()
        [(display, is_update, data)] = shown
        assert not is_update and rows(data["text/html"]) == [] and "0 of 0 rows" in data["text/plain"]
        for name in "cab":
            add(other, name)
        # A cell that runs has the loop for itself.
        assert len(shown) == 1
        while [["a"], ["b"], ["c"]] != rows(shown[-1][2]["text/html"]):
            await asyncio.sleep(0)
        assert all(what[:2] == (display, True) for what in shown[1:]) and len(shown) <= 3
        # Displayed again it is the same output.
        table._ipython_display_()
        assert shown[-1][:2] == (display, False)
        count = len(shown)
        table.close()
        assert len(shown) == count + 1 and "(closed)" in shown[-1][2]["text/html"]
        add(other, "d")
        await asyncio.sleep(0)
        assert len(shown) == count + 1
        table._ipython_display_()  # as it was, and without a task
        assert rows(shown[-1][2]["text/html"]) == [["a"], ["b"], ["c"]]

    with objstore.open(path, models=KENNEL) as other:
        asyncio.run(main(other))


def test_commits_are_put_together(store, shown, path):
    async def main(other):
        table = store.objects(Dog).live([Dog.name], interval=86_400)
        table._ipython_display_()
        while table._stream._arrivals.waiter is None or table._stream._token.lag:
            await asyncio.sleep(0)
        store.deliver()
        await asyncio.sleep(0)  # the initial one was told
        for number in range(20):
            add(other, f"dog {number}")
            await asyncio.sleep(0)
        assert len(shown) == 1 and table._stream._token.lag == 20
        table._stream._token.set_interval(0)
        while len(rows(table)) < 20:
            await asyncio.sleep(0)
        assert len(shown) == 2
        table.close()

    with objstore.open(path, models=KENNEL) as other:
        asyncio.run(main(other))


def test_a_cell_that_runs_again(store, shown):
    shell = sys.modules["IPython"].shell

    def live(cell):
        shell.cell = cell
        table = store.objects(Dog).live([Dog.name])
        table._ipython_display_()
        return table

    first, other = live("cell 1"), live("cell 2")
    again = live("cell 1")
    assert first.is_closed and not other.is_closed and not again.is_closed
    nowhere, nowhere_else = live(None), live(None)
    assert not nowhere.is_closed and not nowhere_else.is_closed  # who does not know ends nothing
    for table in (other, again, nowhere, nowhere_else):
        table.close()


def test_it_ends_with_its_store_and_as_garbage(path, shown):
    async def main():
        store = objstore.open(path, models=KENNEL)
        kept, dropped = (store.objects(Dog).live([Dog.name], interval=0) for _ in range(2))
        kept._ipython_display_()
        dropped._ipython_display_()
        await asyncio.sleep(0)
        gone = weakref.ref(dropped)
        del dropped
        gc.collect()
        assert gone() is None
        task = kept._task
        store.close()
        await asyncio.wait_for(task, 60)
        assert kept.is_closed and "(closed)" in shown[-1][2]["text/html"] and not kept.update()

    asyncio.run(main())


def test_without_a_loop_it_looks_when_it_is_told(store, shown):
    table = store.objects(Dog).live([Dog.name])
    table._ipython_display_()
    add(store, "Rex")
    assert len(shown) == 1 and table._task is None
    assert table.update() and rows(shown[-1][2]["text/html"]) == [["Rex"]] and shown[-1][1]
    table.close()


def test_ipython_is_not_imported(store):
    assert "IPython" not in sys.modules or hasattr(sys.modules["IPython"], "version_info")  # the real one, of a test
    table = store.objects(Dog).live()
    add(store, "Rex")
    table.update()
    assert rows(table)[0][0] == "Rex"


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ({"rows": 0}, objstore.OutOfRange, "rows is 0: 1 to 10,000"),
        ({"rows": 10_001}, objstore.OutOfRange, "1 to 10,000"),
        ({"rows": True}, objstore.InvalidArgument, "rows is a number of rows, not True"),
        ({"rows": "3"}, objstore.InvalidArgument, "'3'"),
        ({"interval": -1}, objstore.InvalidArgument, "interval"),
        ({"interval": "soon"}, objstore.InvalidArgument, "interval"),
        ({"columns": "name"}, objstore.InvalidArgument, "columns is a list of properties"),
        ({"columns": [Person.name]}, objstore.Error, "Person"),
        ({"columns": ["wings"]}, objstore.NoSuchProperty, "wings"),
        ({"keys": ["wings"]}, objstore.NoSuchProperty, "wings"),
    ],
)
def test_wrong_arguments(store, arguments, error, word):
    with pytest.raises(error, match=word):
        store.objects(Dog).live(**arguments)


def test_the_line_of_the_document(tmp_path):
    class City(objstore.Model):
        name: str = objstore.field(primary_key=True)
        population: int = 0

    with objstore.open(tmp_path / "cities.objstore", models=[City]) as store:
        with store.write():
            store.add_all([City(name=f"city {number}", population=number) for number in range(12)])
        line = program_in(ROOT / "docs/observing.md", "A table in a notebook")
        table = eval(line, {"store": store, "City": City, "desc": desc})
        assert rows(table) == [[f"city {number}", str(number)] for number in range(11, 1, -1)]


def test_frozen_results_never_move(store):
    with pytest.raises(objstore.WrongView):
        store.freeze().objects(Dog).live()


def test_in_the_shell_of_ipython(store, path, tmp_path, monkeypatch):
    """With the real one: a cell whose last line is a table, and the loop of that shell."""
    shells = pytest.importorskip("IPython.core.interactiveshell")
    publishers = pytest.importorskip("IPython.core.displaypub")
    # It puts a module of its own in that place, which processes that are started later look at.
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell = shells.InteractiveShell.instance()
    shell.display_pub = publisher = publishers.CapturingDisplayPublisher()
    try:
        with objstore.open(path, models=KENNEL) as other:
            shell.push({"store": store, "Dog": Dog, "other": other, "add": add})

            async def main():
                cell = (
                    "table = store.objects(Dog).order_by(Dog.name).live([Dog.name], interval=0)\n"
                    "await __import__('asyncio').sleep(0)\n"
                    "table"
                )
                result = await shell.run_cell_async(cell, transformed_cell=shell.transform_cell(cell))
                result.raise_error()
                [output] = publisher.outputs
                assert rows(output["data"]["text/html"]) == [] and "display_id" in output["transient"]
                add(other, "Rex")
                while rows(publisher.outputs[-1]["data"]["text/html"]) != [["Rex"]]:
                    await asyncio.sleep(0)
                assert publisher.outputs[-1]["update"] is True
                assert publisher.outputs[-1]["transient"] == output["transient"]
                shell.user_ns["table"].close()

            asyncio.run(main())
    finally:
        shell.reset(new_session=False)
        shells.InteractiveShell.clear_instance()
