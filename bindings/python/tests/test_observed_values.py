"""What is asked of lists, sets and dicts of plain values is observed by these."""

import asyncio
import enum
import random
from typing import Any

import pytest

import objstore
from conftest import store_of
from notebooks import Rows, rows
from objstore import call, desc, value


class Mood(enum.IntEnum):
    CALM = 1
    WILD = 2
    GONE = 3


class Holder(objstore.Model):
    words: list[str]
    numbers: set[int]
    notes: dict[str, int]
    things: list[Any]
    moods: list[Mood]
    named: dict[str, Any]


store = store_of([Holder])


def copied(values):
    return [each.copy() if hasattr(each, "copy") else each for each in values]


class Copy:
    """The values of a query, and the keys of a dict, as change sets say."""

    def __init__(self, results, **options):
        self.results, self.told = results, 0
        self.has_keys = results._collection._shape.key is not None
        self.look()
        self.token = results.observe(self, **options)

    def look(self):
        self.values, self.keys = copied(self.results), self.results.places() if self.has_keys else []

    def __call__(self, change):
        self.told += 1
        if change.is_initial:
            self.values = change.values
            return
        assert change.values_before == self.values
        old_keys = self.keys.copy()
        moved = {after: before for before, after in change.moves}
        for at in reversed(change.deletions):
            del self.values[at]
            if self.has_keys:
                del self.keys[at]
        come = iter(change.inserted_keys if self.has_keys else ())
        for at in change.insertions:
            self.values.insert(at, change.values[at])
            if self.has_keys:
                self.keys.insert(at, old_keys[moved[at]] if at in moved else next(come))
        assert self.has_keys or not change.modification_count
        for at in change.modifications_after:
            self.values[at] = change.values[at]
        if self.has_keys:
            assert [old_keys[at] for at in change.modifications] == change.modified_keys
            assert [self.keys[at] for at in change.modifications_after] == change.modified_keys
            gone = set(change.deletions) - {before for before, _ in change.moves}
            assert [old_keys[at] for at in sorted(gone)] == change.deleted_keys
        assert self.values == change.values

    def is_right(self, wanted):
        return self.values == wanted == copied(self.results) and (
            not self.has_keys or self.keys == self.results.places()
        )


@pytest.fixture
def holder(store):
    with store.write():
        holder = store.add(Holder())
        holder.words = ["old", "big", "odd", "big"]
        holder.numbers = {1, 5, 9}
        holder.notes = {"a": 3, "b": 1, "c": 2}
        holder.things = [1, "x", [2, {"y": 3}], None]
        holder.moods = [Mood.WILD, Mood.CALM]
        holder.named = {"a": [1], "b": 2}
        return holder


def commit(store, function):
    with store.write():
        function()
    return store.deliver()


def questions(holder):
    """Queries, and what they are to find."""
    big = lambda: sorted((word for word in holder.words if "b" in word), reverse=True)
    notes = lambda: [number for _, number in sorted(holder.notes.items())]
    return [
        (holder.words.elements(), lambda: list(holder.words)),
        (holder.words.where(value.contains("b")).order_by(desc(value)), big),
        (
            holder.words.filter("@self != $0 SORT(@self ASC) LIMIT(3)", "odd"),
            lambda: sorted(word for word in holder.words if word != "odd")[:3],
        ),
        (holder.words.distinct(), lambda: list(dict.fromkeys(holder.words))),
        (
            holder.numbers.where(value > 3).order_by(desc(value)),
            lambda: sorted((n for n in holder.numbers if n > 3), reverse=True),
        ),
        (holder.notes.where(value > 1), lambda: [number for number in notes() if number > 1]),
        (holder.notes.order_by(value).offset(1), lambda: sorted(notes())[1:]),
        (holder.moods.where(value > 1), lambda: [mood for mood in holder.moods if mood > Mood.CALM]),
        (holder.things.elements(), lambda: copied(holder.things)),
    ]


def stir(dice, holder):
    """Some of what can happen."""
    words, notes, things = holder.words, holder.notes, holder.things
    for _ in range(dice.randrange(1, 4)):
        what = dice.randrange(10)
        if what == 0 or not words:
            words.insert(dice.randrange(len(words) + 1), dice.choice(["big", "ebb", "odd", "old"]))
        elif what == 1:
            del words[dice.randrange(len(words))]
        elif what == 2:
            words[dice.randrange(len(words))] = dice.choice(["big", "ebb", "odd", "old"])
        elif what == 3:
            holder.numbers.add(dice.randrange(12))
        elif what == 4:
            holder.numbers.discard(dice.randrange(12))
        elif what == 5:
            notes[dice.choice("abcdef")] = dice.randrange(5)
        elif what == 6 and notes:
            notes.popitem()
        elif what == 7:
            holder.moods = [dice.choice(list(Mood)) for _ in range(dice.randrange(4))]
        elif what == 8:
            things.insert(dice.randrange(len(things) + 1), dice.choice([1, 2.5, "t", None, [1, [2]], {"k": []}]))
        elif things:
            del things[dice.randrange(len(things))]


@pytest.mark.parametrize("seed", range(4))
def test_a_history(store, holder, seed):
    print("seed", seed)
    dice, asked = random.Random(seed), questions(holder)
    copies = [Copy(results, initial=False) for results, _ in asked]
    for step in range(80):
        for _ in range(dice.choice([1, 1, 3])):
            with store.write():
                stir(dice, holder)
        store.deliver()
        for copy, (results, wanted) in zip(copies, asked):
            assert copy.is_right(wanted()), (step, results, copy.values)
    assert all(copy.told > 3 for copy in copies)
    for copy in copies:
        copy.token.close()
    assert store.statistics().observers == 0


def test_values_of_dicts_have_keys(store, holder):
    seen = []

    def told(change):
        seen.append((change.deleted_keys, change.inserted_keys, change.modified_keys, change.modifications))

    with holder.notes.where(value > 1).observe(told, initial=False):
        commit(store, lambda: holder.notes.update(a=4, b=2, d=0))
        commit(store, lambda: holder.notes.update(a=0))
        commit(store, lambda: holder.notes.update(d=1))
    assert seen == [([], ["b"], ["a"], [0]), (["a"], [], [], [])]
    with holder.words.where(value > "b").observe(told, initial=False):
        with store.write():
            holder.words.append("x")
        with pytest.raises(objstore.WrongType, match=r"Holder\.words is a list\[str\]: only dicts have keys"):
            store.deliver()


def test_values_last(store, holder):
    """Lists and dicts among them are copies. Not asked for, they are not to be had later."""
    kept = []
    asked = holder.things.elements(), holder.named.elements()
    tokens = [results.observe(lambda c: kept.append((c, c.values)), initial=False) for results in asked]

    def write():
        holder.things[2].append("more")
        holder.named["a"] = [1, {"b": 2}]

    commit(store, write)
    (things, content), (named, named_content) = kept
    assert content == [1, "x", [2, {"y": 3}, "more"], None] and type(content[2]) is list
    assert (things.deletions, things.insertions, things.moves) == ([2], [2], [])
    assert named_content == [[1, {"b": 2}], 2] and named.modified_keys == ["a"]
    assert things.values is content
    with pytest.raises(objstore.Closed, match="until its handler returns"):
        things.values_before
    assert repr(things).startswith("<ValueChanges of Holder.things, version ")
    for token in tokens:
        token.close()


def test_where_it_begins(store, holder):
    """The first call, and a bookmark."""
    seen = []
    mark = store.bookmark()
    store.keep_version("then", mark)
    commit(store, lambda: holder.words.append("bob"))
    asked = holder.words.where(value.starts_with("b"))

    def told(change):
        seen.append((change.is_initial, change.is_lost, change.insertions, change.values_before, change.values))

    with asked.observe(told):
        store.deliver()
    with asked.observe(told, since=mark) as token:
        store.deliver()
        assert token.bookmark() == store.bookmark()
    bigs = ["big", "big"]
    assert seen == [(True, False, [], [*bigs, "bob"], [*bigs, "bob"]), (False, False, [2], bigs, [*bigs, "bob"])]
    store.release_version("then")
    with pytest.raises(objstore.InvalidArgument, match="a bookmark"):
        asked.observe(told, since=b"no")


def test_it_rests(store, holder):
    seen = []
    token = holder.numbers.where(value > 3).observe(lambda c: seen.append(c.values), initial=False)
    token.pause()
    commit(store, lambda: holder.numbers.add(7))
    commit(store, lambda: holder.numbers.discard(5))
    assert seen == [] and token.lag == 2
    token.set_interval(3600)
    token.resume()
    store.deliver()
    assert seen == [[7, 9]]
    commit(store, lambda: holder.numbers.add(8))
    assert len(seen) == 1
    token.set_interval(0)
    store.deliver()
    assert seen[1:] == [[7, 8, 9]]
    token.close()


def test_it_is_not_told_of_its_own(store, holder):
    copies = [Copy(results, initial=False) for results, _ in questions(holder)]
    with store.write(without_notifying=[copy.token for copy in copies]):
        holder.words.append("ebb")
        holder.notes["a"] = 9
    assert store.deliver() == 0
    for copy in copies:
        copy.look()
    commit(store, lambda: stir(random.Random(3), holder))
    for copy, (_, wanted) in zip(copies, questions(holder)):
        assert copy.is_right(wanted())
        copy.token.close()


def test_the_end_of_the_owner(store, holder):
    """Everything goes, once; a stream ends."""
    seen = []

    def told(change):
        seen.append((change.deletions, change.values_before, change.values, change.is_owner_deleted))

    asked = holder.notes.where(value > 1)
    token, others = asked.observe(told, initial=False), holder.numbers.elements().observe(told, initial=False)
    live = asked.live(interval=0)

    async def main():
        commit(store, lambda: store.delete(holder))
        return [change.is_owner_deleted async for change in stream]

    stream = holder.words.where(value != "").changes(initial=False)
    assert asyncio.run(asyncio.wait_for(main(), 60)) == [True]
    assert seen == [([0, 1], [3, 2], [], True), ([0, 1, 2], [1, 5, 9], [], True)]
    live.update()
    assert live.is_closed and rows(live) == []
    commit(store, lambda: store.add(Holder()))
    assert len(seen) == 2
    for observe in (lambda: asked.observe(told), lambda: asked.changes(), lambda: asked.live()):
        with pytest.raises(objstore.NoSuchObject):
            observe()
    token.close()
    others.close()


def test_what_handlers_raise(store, holder):
    def told(change):
        raise ValueError("mine")

    seen, asked = [], holder.words.where(value > "a")
    with asked.observe(told, initial=False), asked.observe(seen.append, initial=False):
        with store.write():
            holder.words.append("c")
        with pytest.raises(ValueError, match="mine"):
            store.deliver()
        assert len(seen) == 1 and store.deliver() == 0
    with pytest.raises(objstore.InvalidArgument, match="a function is wanted that takes a change"):
        asked.observe(3)


def test_what_cannot_be_observed(store, holder, path):
    frozen = holder.words.where(value > "a").freeze()
    for observe in (lambda: frozen.observe(print), lambda: frozen.changes(), lambda: frozen.live()):
        with pytest.raises(objstore.WrongView, match="nothing to observe"):
            observe()
    asked = holder.words.where(value > "a")
    with store.write(), pytest.raises(objstore.AlreadyInWrite):
        asked.observe(print)
    token = asked.observe(print)
    store.close()
    token.close()
    with pytest.raises(objstore.Closed):
        asked.observe(print)
    with objstore.open(path, models=[Holder], mode="immutable") as nobody_writes:
        with pytest.raises(objstore.ReadOnly):
            nobody_writes.objects(Holder)[0].words.elements().observe(print)


def test_with_asyncio(store, holder):
    async def main():
        seen = []
        with holder.words.order_by().changes() as changes:
            assert isinstance(changes, objstore.ValueStream)
            async for change in changes:
                assert isinstance(change, objstore.ValueChanges)
                seen.append((change.insertions, change.values))
                if len(seen) == 3:
                    return seen
                commit(store, lambda: holder.words.append(f"b{len(seen)}"))

    words = ["big", "big", "odd", "old"]
    assert asyncio.run(asyncio.wait_for(main(), 60)) == [
        ([], words),
        ([0], ["b1", *words]),
        ([1], ["b1", "b2", *words]),
    ]
    assert store.statistics().observers == 0


def test_a_query_that_calls_a_function(store, holder):
    store.define_function("falling", lambda number: -number, "i64 -> i64")
    seen = []
    asked = holder.numbers.order_by(call("falling", value))
    with asked.observe(lambda change: seen.append((change.insertions, change.values)), initial=False):
        commit(store, lambda: holder.numbers.add(7))
    assert seen == [([1], [9, 7, 5, 1])]


def test_as_a_table_that_moves(store, holder):
    """In a notebook, and elsewhere by update()."""
    asked = [results for results, _ in questions(holder)[:8]]
    tables = [results.live(rows=2, interval=0) for results in asked]
    assert Rows(tables[0]._repr_html_()).head == ["words"] and Rows(tables[5]._repr_html_()).head == ["key", "value"]
    assert Rows(tables[0]._repr_html_()).caption == "Holder.words"
    assert rows(tables[1]) == [["big"], ["big"]] and rows(tables[5]) == [["a", "3"], ["c", "2"]]
    dice = random.Random(5)
    for step in range(40):
        with store.write():
            stir(dice, holder)
        for results, live in zip(asked, tables):
            live.update()
            shown = [[v if isinstance(v, str) else repr(v)] for v in results[:2]]
            if results._collection._shape.key is not None:
                shown = [[key, *row] for key, row in zip(results.places(), shown)]
            assert rows(live) == shown and live._content.count == len(results), step
    for live in tables:
        live.close()
    assert store.statistics().observers == 0


@pytest.mark.parametrize(
    ("name", "condition", "first", "second"),
    [
        ("things", '@self.@type == "int"', 1.0, 1),
        ("named", '@self.@type == "int"', 1.0, 1),
        ("doubles", "1.0 / @self > 0", -0.0, 0.0),
    ],
)
def test_a_condition_behind_distinct(name, condition, first, second):
    """It may tell values apart of which DISTINCT has one."""

    class Odd(objstore.Model):
        things: list[Any]
        named: dict[str, Any]
        doubles: list[float]

    with objstore.open(memory="", models=[Odd], durability="none") as store:
        odd = store.write(lambda tx: store.add(Odd()))
        values = getattr(odd, name)
        asked = values.filter("DISTINCT(@self)").filter(condition)
        copy = []

        def told(change):
            for at in reversed(change.deletions):
                del copy[at]
            for at in change.insertions:
                copy.insert(at, change.values[at])

        with asked.observe(told):
            for number in range(24):
                value = first if number % 16 < 8 else second
                with store.write():
                    if name == "named":
                        values[f"k{number % 12}"] = value
                    elif number < 16:
                        values.append(value)
                    else:
                        del values[0]
                store.deliver()
                assert copy == list(asked), number
