"""Tables in notebooks of lists and dicts inside of mixed values: they show what is at their place, whatever is put
there."""

import random
from typing import Any

import pytest

import objstore
from conftest import store_of
from notebooks import Rows, rows
from objstore import field


class Thing(objstore.Model):
    id: int = field(primary_key=True)
    extra: Any = None
    others: list[Any]


store = store_of([Thing])


@pytest.fixture
def thing(store):
    with store.write():
        return store.create(
            Thing, {"id": 1, "extra": {"seen": [1, "x", [2]], "by": {"b": 1, "a": None}}, "others": [[5, 6]]}
        )


def text(value):
    return "" if value is None else value if isinstance(value, str) else repr(value)


def lines(nested, length):
    content = nested.copy()
    if isinstance(content, dict):
        return [[key, text(content[key])] for key in sorted(content)][:length]
    return [[text(value)] for value in content[:length]]


def test_lists_and_dicts_inside_of_values_have_tables(store, thing):
    extra = thing.extra
    asked = [extra["seen"], extra["by"], extra, thing.others[0]]
    tables = [nested.live(rows=3, interval=0) for nested in asked]
    assert [Rows(table._repr_html_()).head for table in tables] == [
        ["value"],
        ["key", "value"],
        ["key", "value"],
        ["value"],
    ]
    assert Rows(tables[0]._repr_html_()).caption == "Thing.extra['seen']"
    assert rows(tables[0]) == [["1"], ["x"], ["[2]"]]
    chance = random.Random(3)
    for step in range(60):
        with store.write():
            seen, by, other = extra["seen"], extra["by"], thing.others[0]
            what = chance.randrange(6)
            if what == 0:
                seen.insert(chance.randrange(len(seen) + 1), step)
            elif what == 1 and len(seen) > 1:
                del seen[chance.randrange(len(seen))]
            elif what == 2:
                by[chance.choice("abcde")] = chance.choice([step, [step], None, {"deep": step}])
            elif what == 3 and len(by):
                by.popitem()
            elif what == 4:
                other[chance.randrange(len(other))] = step
            else:
                extra["seen"] = [step, [step], *range(chance.randrange(4))]
        for nested, table in zip(asked, tables):
            table.update()
            assert rows(table) == lines(nested, 3), step
            assert table._content.count == len(nested)
    for table in tables:
        table.close()
    assert store.statistics().observers == 0


def test_what_is_put_in_the_place_of_a_list(store, thing):
    """Nothing is shown while something else is there, and another list is when it comes."""
    table = thing.extra["seen"].live()
    for value, wanted in (({"a": 1}, []), ([7], [["7"]]), (5, []), ([8, 9], [["8"], ["9"]])):
        with store.write():
            thing.extra["seen"] = value
        table.update()
        assert rows(table) == wanted and not table.is_closed
    with store.write():
        thing.extra = None
    table.update()
    assert rows(table) == []
    with store.write():
        store.delete(thing)
    table.update()
    assert rows(table) == [] and table.is_closed


def test_where_there_is_none(store, thing):
    with pytest.raises(objstore.WrongView):
        thing.freeze().extra["seen"].live()
    with pytest.raises(objstore.OutOfRange, match=r"a live table of Thing\.extra\['seen'\]"):
        thing.extra["seen"].live(rows=0)
    with pytest.raises(objstore.AlreadyInWrite), store.write():
        thing.extra["seen"].live()
