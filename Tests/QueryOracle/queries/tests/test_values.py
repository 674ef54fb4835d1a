"""Comparison, order, folding, LIKE, full text and literals."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from queries.arithmetic import aggregate, calculate
from queries.errors import QueryError
from queries.literals import date, normalised
from queries.syntax import parse, parse_constant
from queries.text import fold_case, like, prepare, string_operator, text_matches
from queries.values import Float32, Link, Number, ObjectId, Timestamp, Uuid, Value, compare, equal, order, to_float32


def test_numbers_compare_exactly() -> None:
    """An int is never rounded to a double to be compared."""
    assert not equal(2**53 + 1, float(2**53))
    assert compare(2**53 + 1, float(2**53)) == 1
    assert compare(2**63 - 1, 2.0**63) == -1
    assert equal(Decimal("1.50"), 1.5)
    assert not equal(Decimal("0.1"), 0.1)
    assert equal(-0.0, 0)
    assert compare(float("inf"), 2**63 - 1) == 1
    assert compare(float("nan"), 1) is None


def test_written_numbers_take_the_type_they_meet() -> None:
    """0.1 equals the decimal and the double and the float; an integer stays exact."""
    assert equal(Decimal("0.1"), Number("0.1"))
    assert equal(0.1, Number("0.1"))
    assert equal(Float32(to_float32(0.1)), Number("0.1"))
    assert not equal(9007199254740992.0, Number("9007199254740993"))
    assert compare(2, Number("2.25")) == -1
    assert compare(Float32(-math.inf), Number("-1e300")) == -1
    assert equal(Float32(math.inf), Number("inf"))


def test_kinds_do_not_mix() -> None:
    """A bool equals only a bool; null equals null; a text is a binary of its bytes (where values are mixed)."""
    assert not equal(True, 1) and not equal(1, True) and equal(True, True)
    assert equal("a", b"a") and compare("a", b"b") == -1 and not equal("1", 1)
    assert equal(None, None) and not equal(None, False)
    assert compare("a", 1) is None and compare(None, 1) is None


def test_order_of_mixed_values() -> None:
    """null < bool < numbers < strings and binaries < dates < object ids < uuids < links."""
    rising: list[Value] = [
        None,
        False,
        True,
        float("nan"),
        float("-inf"),
        -1,
        0.5,
        Decimal(1),
        2,
        "",
        "A",
        "a",
        "é",
        "\uffff",
        "🦄",
        Timestamp(-1, 0),
        Timestamp(0, 0),
        ObjectId(bytes(12)),
        Uuid(bytes(16)),
        Link("A", 0),
    ]
    for index, value in enumerate(rising):
        assert order(value, value) == 0
        for later in rising[index + 1 :]:
            assert order(value, later) < 0 < order(later, value), (value, later)


@pytest.mark.parametrize(
    "one,two,same",
    [
        ("É", "é", True),
        ("ẞ", "ß", True),
        ("ß", "ss", False),
        ("Σ", "ς", True),
        ("\u212a", "k", True),
        ("ſ", "S", True),
        ("İ", "i", False),
        ("I", "ı", False),
        ("Ǆ", "ǅ", True),
        ("Ÿ", "ÿ", True),
        ("É", "e", False),
    ],
)
def test_simple_folding(one: str, two: str, same: bool) -> None:
    """One character folds to one character."""
    assert (fold_case(one) == fold_case(two)) is same


def test_diacritics() -> None:
    """[d] sees the letter without its marks, composed or not."""
    assert prepare("e\u0301é", False, True) == "ee"
    assert prepare("ÉÀ", True, True) == "ea"


@pytest.mark.parametrize(
    "text,pattern,fits",
    [
        ("dog", "d?g", True),
        ("ding", "d?g", False),
        ("a dog", "d?g", False),
        ("", "", True),
        ("", "*", True),
        ("", "?", False),
        ("abcbc", "a*bc", True),
        ("abcb", "a*bc", False),
        ("🦄", "?", True),
        ("a", "**a**", True),
        ("100*", "100\\*", True),
        ("1000", "100\\*", False),
        ("?", "\\?", True),
        ("a", "\\?", False),
        ("a\\b", "a\\b", True),
        ("a\\", "a\\\\", True),
        ("a\\", "a\\", True),
    ],
)
def test_like(text: str, pattern: str, fits: bool) -> None:
    """`?` is one character, `*` any number, a backslash takes their meaning; the whole text must fit."""
    assert like(text, pattern) is fits


def test_string_operators_on_binaries() -> None:
    """Binaries are searched as bytes; a string and a binary never fit."""
    assert string_operator("contains", b"\xff\x00a", b"\x00")
    assert not string_operator("contains", "a", b"a")


def test_full_text() -> None:
    """Words without case and marks; excluded words, beginnings, hyphens."""
    assert text_matches("Write tests", "write")
    assert not text_matches("Write tests", "write -tests")
    assert text_matches("Écrire", "ecr*") and not text_matches("Écrire", "ecr")
    assert text_matches("unit-test", "test") and text_matches("unit-test", "unit-test")


def test_dates() -> None:
    """A time before 1970 with nanoseconds has both parts negative; there are no dates before 1900."""
    assert date("1970-1-1@0:0:1:5", 0) == Timestamp(1, 5)
    assert date("1969-12-31T23:59:59:500000000", 0) == Timestamp(0, -500_000_000)
    assert normalised(-1, -5) == Timestamp(-1, -5)
    with pytest.raises(QueryError):
        date("1899-12-31@0:0:0", 0)
    with pytest.raises(QueryError):
        parse("d == 2020-13-01@0:0:0")


def test_escapes() -> None:
    """All escapes of a text, and a character of two halves."""
    literal = parse_constant(r"'\'\"\\\/\b\f\n\r\t\0\u0041\ud83e\udd84'")
    assert getattr(literal, "value") == "'\"\\/\b\f\n\r\t\0A🦄"


@pytest.mark.parametrize("text,position", [("a ==", 4), ("a == b & c", 7), ("a BETWEEN {1}", 10), ("a == 'x", 5)])
def test_errors_have_a_position(text: str, position: int) -> None:
    """The position is where the text stops to make sense."""
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert caught.value.position == position


def test_arithmetic() -> None:
    """Null for what has no result in 64 bits; division cuts off; decimals stay decimals."""
    assert calculate("/", -7, 2) == -3 and calculate("/", 7, 0) is None
    assert calculate("+", 2**63 - 1, 1) is None and calculate("/", -(2**63), -1) is None
    assert calculate("/", 1.0, 0) == float("inf") and calculate("*", None, 1) is None
    assert calculate("+", Decimal("0.1"), Number("0.2")) == Decimal("0.3")
    assert calculate("+", "a", 1) is None and calculate("+", True, 1) is None


def test_aggregates() -> None:
    """Nulls do not count; of nothing the sum is 0 and the others null."""
    assert aggregate("sum", "int", [1, None, 2]) == 3 and aggregate("avg", "int", [1, None, 2]) == 1.5
    assert aggregate("sum", "int", []) == 0 and aggregate("avg", "int", [None]) is None
    assert aggregate("min", "mixed", ["a", 3, None, Decimal("NaN")]) == 3
    assert aggregate("max", "mixed", ["a", 3, None]) == "a"
    assert aggregate("sum", "mixed", ["a", True, 1, Float32(to_float32(3.3)), 4.4]) == Decimal("8.7")
