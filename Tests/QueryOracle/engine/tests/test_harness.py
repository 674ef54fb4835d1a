"""The harness's own parts: the oracle for many objects, changes, names, the smallest query."""

from __future__ import annotations

import random

import pytest
from queries.data import load
from queries.evaluate import run
from queries.generate_data import DataGenerator
from queries.tests.build import database, link, number, table
from queries.values import Link

from engine import mutations
from engine.loading import renamed, stored_name
from engine.masks import Atom, Values, World, bits
from engine.reasons import reason
from engine.scalar_conditions import ScalarConditions
from engine.scalar_data import CLASS, things
from engine.scalar_queries import QueryDrawer, ScalarQuery
from engine.scalar_trees import Both, Limit, Not, Order, Sort, written


@pytest.mark.parametrize("seed", range(8))
def test_masks_are_what_the_oracle_says(seed: int) -> None:
    """Every query by masks and by the oracle as a whole, in each version."""
    rng = random.Random(seed)
    drawn = things(rng, rng.choice((0, 1, 5, 20)))
    less = mutations.changed(drawn.database, mutations.deletion(rng, drawn.database, 1 / 3))
    more = mutations.changed(less, mutations.changes(rng, less, {CLASS: drawn.count}))
    values = Values(drawn.database, CLASS)
    worlds = [(version, World(values, version)) for version in (drawn.database, less, more)]
    conditions = ScalarConditions(rng, drawn)
    names = [column.described.name for column in drawn.columns if column.ordered]
    texts = [column.described.name for column in drawn.columns if column.described.kind == "string"]
    drawer = QueryDrawer(rng, [conditions.atom() for _ in range(10)], names, names, texts)
    for _ in range(15):
        query = drawer.query()
        arguments: list[object] = []
        text = query.text(arguments)  # type: ignore[arg-type]
        for version, world in worlds:
            assert query.finds(world) == run(version, CLASS, text, arguments), text  # type: ignore[arg-type]


def test_changes_leave_what_was() -> None:
    """Deleted objects leave lists, and what linked to them has null; the database before is as it was."""
    people = table(
        ["friend: link? -> Person", "friends: link list -> Person", "held: mixed?"],
        [
            {
                "friend": link("Person", 1),
                "friends": [link("Person", 1), link("Person", 2)],
                "held": [link("Person", 1)],
            },
            {"friend": None, "friends": [], "held": number(1)},
            {"friend": link("Person", 0), "friends": [], "held": None},
        ],
    )
    before = database(Person=people)
    after = mutations.changed(before, mutations.Changes(deleted=[Link("Person", 1)]))
    assert run(after, "Person", "friend == null", []) == [0]
    assert run(after, "Person", "friends.@count == 1", []) == [0]
    assert run(after, "Person", "held[0] == null AND held.@size == 1", []) == [0]
    assert run(before, "Person", "friends.@count == 2", []) == [0]
    assert run(before, "Person", "friend == null", []) == [1]


@pytest.mark.parametrize("seed", range(4))
def test_changes_of_generated_data(seed: int) -> None:
    """No link leads to what is gone, and nothing links to it."""
    rng = random.Random(seed)
    before = load(DataGenerator(rng).generate().dataset)
    deleted = mutations.deletion(rng, before, 1 / 3)
    after = mutations.changed(before, deleted)
    for target, origins in after.incoming.items():
        assert target not in deleted.deleted
        assert all(Link(origin, key) not in deleted.deleted for origin, _, key in origins)


def test_names_that_no_store_has() -> None:
    """They are replaced in the schema and in queries, in texts too where they stand alone."""
    people = database(Person=table(["fav item: int", "null-ish: int", "a: int"], []))
    assert stored_name("fav item") == "fav_item"
    assert renamed(people, r"fav\ item == 1 AND null-ish2 == null-ish") == "fav_item == 1 AND null-ish2 == null_ish"


def test_the_smallest_query_that_shows_it() -> None:
    """A query is told by its smallest part that differs."""
    one, two = Atom(("a == ", ""), (1,), ("a",), ""), Atom(("b == 2",), (), ("b",), "")
    query = ScalarQuery(Both((Not(one, "NOT "), two), " AND "), (Sort((Order("a", True, "ASC"),)), Limit(3)))
    texts = [simpler.text([]) for simpler in query.simpler()]
    assert texts[:2] == ["a == $0", "b == 2"]
    assert "TRUEPREDICATE SORT(a ASC) LIMIT(3)" in texts
    assert "NOT a == $0 SORT(a ASC) LIMIT(3)" in texts
    assert query.text([None]) == "NOT a == $1 AND b == 2 SORT(a ASC) LIMIT(3)"


@pytest.mark.parametrize("seed", range(20))
def test_queries_become_smaller(seed: int) -> None:
    """Whatever differs, the search for the smallest query has an end."""
    rng = random.Random(seed)
    one, two = Atom(("a == 1",), (), ("a",), ""), Atom(("b == 2",), (), ("b",), "")
    query = QueryDrawer(rng, [one, two], ["a", "b"], ["a", "b"], ["b"]).query()
    for _ in range(200):
        smaller = list(query.simpler())
        if not smaller:
            return
        query = rng.choice(smaller)
    pytest.fail(query.text([]))


def test_parentheses_where_they_are_needed() -> None:
    """NOT of several conditions, OR within AND."""
    one = Atom(("a == 1",), (), ("a",), "")
    inner = Both((one, one), " AND ")
    assert written(Not(inner, "NOT "), []) == "NOT (a == 1 AND a == 1)"
    assert written(Both((one, inner), " AND "), []) == "a == 1 AND (a == 1 AND a == 1)"


def test_masks() -> None:
    """Bits of places."""
    assert bits([0, 9], 12) == 0b1000000001
    assert reason("text: a.b: this version does not evaluate paths through links") == "paths through links"
