"""Rules of paths, quantifiers, lists, steps and types on small data."""

from __future__ import annotations

from typing import Any

import pytest

from queries.data import Database
from queries.errors import QueryError
from queries.tests.build import database, double, keys, link, number, table


def people() -> Database:
    """Three persons: with lists, with nothing, with nulls."""

    def row(name: Any, ages: list[Any], best: Any, friends: list[int]) -> dict[str, Any]:
        return {
            "name": name,
            "ages": [None if age is None else number(age) for age in ages],
            "best": None if best is None else link("Person", best),
            "friends": [link("Person", friend) for friend in friends],
            "score": double(2.5),
            "tags": {"$dictionary": {"a.b": name, "c": "x"}},
        }

    return database(
        Person=table(
            [
                "name: string?",
                "ages: int? list",
                "best: link? Person",
                "friends: link list Person",
                "score: double",
                "tags: string? dictionary",
            ],
            [row("Ann", [1, 2, 3], 1, [1, 1, 2]), row("bob", [], None, []), row(None, [None, 2], 0, [0])],
        )
    )


@pytest.mark.parametrize(
    "text,expected",
    [
        ("ANY ages == 2", [0, 2]),
        ("ages == 2", [0, 2]),
        ("ALL ages > 0", [0, 1]),
        ("NONE ages == 2", [1]),
        ("ALL ages == 2", [1]),
        ("ANY ages == null", [2]),
        ("NOT ages == 2", [1]),
        ("ages != 2", [0, 2]),
        ("ANY {1, 2} == ALL ages", [1]),
        ("ALL {2} IN ages", [0, 2]),
        ("ALL {} IN ages", [0, 1, 2]),
        ("{1, 2, 3} == ages", [0]),
        ("{3, 2, 1} == ages", []),
        ("ages != {1, 2, 3}", [1, 2]),
        ("ages == {}", [1]),
        ("{1, 2} IN ages", []),
        ("2 IN ages", [0, 2]),
        ("ages[LAST] == 2", [2]),
        ("ages[1] == 2", [0, 2]),
        ("ages.@count == 0", [1]),
        ("ages.@sum == 0", [1]),
        ("ages.@max == null", [1]),
        ("ages[SIZE] == 2", [2]),
        ("ALL ages BETWEEN {1, 3}", [0, 1]),
        ("ALL ages * 2 > 1", [0, 1]),
    ],
)
def test_lists(text: str, expected: list[int]) -> None:
    """Quantifiers, whole lists, elements and aggregates; a list on the left of IN is one value."""
    assert keys(people(), "Person", text) == expected


@pytest.mark.parametrize(
    "text,expected",
    [
        ("best.name == null", [1]),
        ("best.name == 'Ann'", [2]),
        ("best.ages.@count == 0", [0, 1]),
        ("best == null", [1]),
        ("friends.@count == 3", [0]),
        ("@links.Person.friends.@count == 2", [1]),
        ("@links.@count == 1", [2]),
        ("friends.name == 'bob'", [0]),
        ("ALL friends.name == 'bob'", [1]),
        ("friends.best.name == null", [0]),
        ("SUBQUERY(friends, $f, $f.name == 'bob').@count == 2", [0]),
        ("friends.friends.@count == 1", [0]),
        ("tags['a.b'] == 'Ann'", [0]),
        ("tags.c == 'x'", [0, 1, 2]),
        ("tags['none'] == null", [0, 1, 2]),
        ("ANY tags.@keys == 'c'", [0, 1, 2]),
        ("tags.@values == 'bob'", [1]),
        ("best.@count == 0", [1]),
    ],
)
def test_paths(text: str, expected: list[int]) -> None:
    """Through null links, lists, maps and backwards."""
    assert keys(people(), "Person", text) == expected


@pytest.mark.parametrize(
    "text,expected",
    [
        ("name != 'Ann'", [1, 2]),
        ("name < 'z'", [0, 1]),
        ("NOT name < 'z'", [2]),
        ("name BEGINSWITH null", []),
        ("name CONTAINS ''", [0, 1]),
        ("name ==[c] 'ANN'", [0]),
        ("name LIKE[c] 'B*'", [1]),
        ("name <= null", []),
        ("name IN {'Ann', null}", [0, 2]),
        ("name == B64'QW5u'", [0]),
        ("score / 0 > 1000", [0, 1, 2]),
        ("ages.@sum / 0 == null", [0, 1, 2]),
        ("TRUEPREDICATE AND NOT FALSEPREDICATE", [0, 1, 2]),
        ("name == 'Ann' OR name == 'bob' AND FALSEPREDICATE", [0]),
    ],
)
def test_values(text: str, expected: list[int]) -> None:
    """Null, text and precedence."""
    assert keys(people(), "Person", text) == expected


@pytest.mark.parametrize(
    "text,expected",
    [
        ("TRUEPREDICATE SORT(name ASC)", [2, 0, 1]),
        ("TRUEPREDICATE SORT(name DESC)", [1, 0, 2]),
        ("TRUEPREDICATE SORT(score DESC)", [0, 1, 2]),
        ("TRUEPREDICATE SORT(best.name ASC)", [1, 2, 0]),
        ("TRUEPREDICATE DISTINCT(score)", [0]),
        ("TRUEPREDICATE SORT(name ASC) DISTINCT(score)", [2]),
        ("TRUEPREDICATE LIMIT(2) SORT(name DESC)", [1, 0]),
        ("TRUEPREDICATE SORT(name DESC) LIMIT(2)", [1, 0]),
        ("TRUEPREDICATE OFFSET(1) LIMIT(1)", [1]),
        ("TRUEPREDICATE LIMIT(1) OFFSET(1)", []),
        ("SORT(name[c] ASC)", [2, 0, 1]),
        ("SORT(name[c] DESC) LIMIT(2)", [1, 0]),
        ("LIMIT(1)", [0]),
        ("", [0, 1, 2]),
    ],
)
def test_steps(text: str, expected: list[int]) -> None:
    """Steps work in the order they are written; sorting is stable."""
    assert keys(people(), "Person", text) == expected


@pytest.mark.parametrize(
    "text,position",
    [
        ("nothing == 1", 0),
        ("best.nothing == 1", 5),
        ("name == 1", 8),
        ("ANY name == 'a'", 4),
        ("'a' IN name", 7),
        ("name == $0", 8),
        ("name TEXT 'a'", 0),
        ("score BEGINSWITH 'a'", 0),
        ("friends == null", 8),
        ("best > null", 5),
        ("ages + ages == 1", 0),
        ("name.@type == 'string'", 4),
        ("ages BETWEEN {1, 2}", 5),
        ("SUBQUERY(best, $x, $x.name == 'a').@count > 0", 9),
        ("@links.Person.name == 'a'", 0),
        ("1 == 1", 2),
        ("best == obj('Person', 1)", 8),
        ("score == null SORT(ages ASC)", 19),
    ],
)
def test_refusals(text: str, position: int) -> None:
    """Names and types are checked before any object is looked at."""
    with pytest.raises(QueryError) as caught:
        keys(people(), "Person", text)
    assert caught.value.position == position


def test_arguments() -> None:
    """Values, lists and key paths."""
    data = people()
    assert keys(data, "Person", "name == $1", "1", "'bob'") == [1]
    assert keys(data, "Person", "name IN $0", ["'bob'", "null"]) == [1, 2]
    assert keys(data, "Person", "$K0 == $1", "'best.name'", "'Ann'") == [2]
    assert keys(data, "Person", "tags[$0] == 'x'", "'c'") == [0, 1, 2]
    assert keys(data, "Person", "ages[$0] == 3", "2") == [0]


def test_numbers_with_a_type() -> None:
    """They are what their type says; a number that is only written is what it meets."""
    data = database(T=table(["d: double", "f: float", "z: decimal128"], [{
        "d": double(0.1), "f": double(0.1), "z": {"$numberDecimal": "0.1"}
    }]))  # fmt: skip
    for text in (
        "d == 0.1",
        "f == 0.1",
        "z == 0.1",
        "f == 0.1f",
        "f == float(0.1)",
        "z == decimal(0.1)",
    ):
        assert keys(data, "T", text) == [0], text
    for text in ("d == 0.1f", "d == decimal(0.1)", "z == 0.1f"):
        assert keys(data, "T", text) == [], text


def test_texts_and_binaries() -> None:
    """They are one family beside mixed values only, and not where letters are folded."""
    binary = {"$binary": {"base64": "YQ==", "subType": "00"}}
    columns = ["m: mixed?", "s: string", "b: binary"]
    data = database(T=table(columns, [{"m": "a", "s": "a", "b": binary}, {"m": binary, "s": "a", "b": binary}]))
    for text in ("m == 'a'", "m == bin('a')", "m IN {'a'}", "m == s", "m == b", "m <= 'a' AND m >= bin('a')"):
        assert keys(data, "T", text) == [0, 1], text
    for text in ("m ==[c] 'a'", "m BEGINSWITH 'a'", "m IN[c] {'A', bin('b')}"):
        assert keys(data, "T", text) == [0], text
    assert keys(data, "T", "s IN {bin('a')} OR b IN {'a'}") == []
    assert keys(data, "T", "DISTINCT(m)") == [0]


def test_fractions_beside_mixed_values() -> None:
    """What is written is a double, but beside a sum of mixed values, which is a decimal."""
    values = [{"$numberDecimal": "0.1"}, double(0.1)]
    data = database(T=table(["m: mixed?", "l: mixed? list"], [{"m": value, "l": [value]} for value in values]))
    assert keys(data, "T", "m == 0.1") == [1]
    assert keys(data, "T", "m == decimal(0.1)") == [0]
    assert keys(data, "T", "l.@sum == 0.1") == [0, 1]


def test_what_is_written_otherwise() -> None:
    """A minus before a value, the object itself, both ends of a range as one argument."""
    data = people()
    assert keys(data, "Person", "-score == -2.5 AND -(score - 1) < 0") == [0, 1, 2]
    assert keys(data, "Person", "@self.name == 'bob'") == [1]
    assert keys(data, "Person", "score BETWEEN $0", ["2", "3"]) == [0, 1, 2]
    with pytest.raises(QueryError):
        keys(data, "Person", "score == -+2")
    with pytest.raises(QueryError):
        keys(data, "Person", "score BETWEEN $0", ["2"])


def test_objects_in_mixed_values() -> None:
    """Lists, maps and links inside of mixed values."""
    values: list[Any] = [
        {"$dictionary": {"a": [number(1), {"$dictionary": {"b": "x"}}]}},
        [number(1), number(2)],
        link("Thing", 0),
        number(1),
        None,
        True,
    ]
    data = database(Thing=table(["value: mixed?"], [{"value": value} for value in values]))
    assert keys(data, "Thing", "value.a[1].b == 'x'") == [0]
    assert keys(data, "Thing", "value[*] == 2") == [1]
    assert keys(data, "Thing", "value == {1, 2}") == [1, 3]
    assert keys(data, "Thing", "value.value.@type == 'object'") == [2]
    assert keys(data, "Thing", "value.@type == 'collection'") == [0, 1]
    assert keys(data, "Thing", "value == 1.0") == [3]
    assert keys(data, "Thing", "value == true") == [5]
    assert keys(data, "Thing", "value.@size == 1") == [0]
