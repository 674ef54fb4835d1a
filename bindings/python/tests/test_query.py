"""Filters as text."""

from datetime import datetime, timezone

import pytest

import objstore
from models import Color, Everything, Mood, Turtle
from objstore.queries import filters

GOOD = [
    ("age < 2", (), "age < 2"),
    ("  age<2  ", (), "age < 2"),
    ("age = -5", (), "age == -5"),
    ("age <> 1", (), "age != 1"),
    ("age>=$0", (7,), "age >= 7"),
    ("name == 'it\\'s'", (), 'name == "it\'s"'),
    ('name != "a\\nb"', (), "name != 'a\\nb'"),
    ("name = NULL", (), "name == None"),
    ("name == nil", (), "name == None"),
    ("weight <= 1", (), "weight <= 1.0"),
    ("weight > .5e-3", (), "weight > 0.0005"),
    ("weight = 1e3", (), "weight == 1000.0"),
    ("_id == 5", (), "_id == 5"),
]
BAD = [
    ("", (), 0, "name of a property"),
    ("< 2", (), 0, "name of a property"),
    ("agee < 2", (), 0, "no property 'agee'"),
    ("age", (), 3, "operator"),
    ("age ! 2", (), 4, "operator"),
    ("age <", (), 5, "value"),
    ("age < two", (), 6, "quotes"),
    ("age < $1", (5,), 6, "one argument is given, which is $0"),
    ("age < $0", (), 6, "no arguments are given"),
    ("age < 2", (5,), 7, "not used"),
    ("age < 2 AND age > 0", (), 8, "one comparison"),
    ("age < 'x'", (), 6, "an int is wanted"),
    ("age < 1.5", (), 6, "an int is wanted"),
    ("age == 9223372036854775808", (), 7, "64 bits"),
    ("age < null", (), 6, "less or greater than null"),
    ("age < $0", (None,), 6, "less or greater than null"),
    ("name == 'open", (), 8, "value"),
    ("age == true", (), 7, "an int is wanted"),
]


@pytest.mark.parametrize("text, arguments, expected", GOOD)
def test_good(text, arguments, expected):
    assert str(filters.parse(Turtle, text, arguments)) == expected


@pytest.mark.parametrize("text, arguments, position, message", BAD)
def test_bad(text, arguments, position, message):
    with pytest.raises(objstore.InvalidQuery, match="(?s)" + message.replace("$", r"\$")) as caught:
        filters.parse(Turtle, text, arguments)
    assert caught.value.position == position
    assert caught.value.class_name == "Turtle"
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).endswith(f"    {text}\n    {' ' * position}^")


def test_other_kinds():
    when = datetime(2024, 1, 1, tzinfo=timezone.utc)
    assert filters.parse(Everything, "flag = TRUE", ()).value is True
    assert filters.parse(Everything, "when < $0", (when,)).value == when
    assert filters.parse(Everything, "color == 'white'", ()).value is Color.WHITE
    assert filters.parse(Everything, "mood == 2", ()).value is Mood.WILD
    assert filters.parse(Everything, "mood == $0", (Mood.WILD,)).value is Mood.WILD
    assert filters.parse(Everything, "raw == $0", (b"\0",)).value == b"\0"
    with pytest.raises(objstore.InvalidQuery, match="no member"):
        filters.parse(Everything, "color == 'pink'", ())
    with pytest.raises(objstore.InvalidQuery, match="time zone"):
        filters.parse(Everything, "when < $0", (datetime(2024, 1, 1),))
