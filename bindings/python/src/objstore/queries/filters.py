"""Reads a filter: one comparison, `name operator value`."""

import re
from decimal import Decimal
from typing import Any

from ..errors import InvalidQuery, NoSuchProperty, NotSupported, OutOfRange, WrongType
from ..models.properties import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOT_EQUAL, Condition, Property
from ..objects.model_types import property_named
from ..values import kinds

OPERATORS = {
    "==": EQUAL,
    "=": EQUAL,
    "!=": NOT_EQUAL,
    "<>": NOT_EQUAL,
    "<=": LESS_EQUAL,
    "<": LESS,
    ">=": GREATER_EQUAL,
    ">": GREATER,
}
_BLANK = re.compile(r"\s*")
_NAME = re.compile(r"[^\W\d]\w*")
_OPERATOR = re.compile(r"==|=|!=|<>|<=|<|>=|>")
_VALUE = re.compile(
    r"""\$(?P<argument>\d+)
      | (?P<real>[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?)
      | (?P<integer>[+-]?\d+)
      | '(?P<single>(?:[^'\\]|\\.)*)'
      | "(?P<double>(?:[^"\\]|\\.)*)"
      | (?P<word>[^\W\d]\w*)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_WORDS = {"true": True, "false": False, "null": None, "nil": None, "none": None}


class _Reader:
    def __init__(self, model: type, text: str) -> None:
        self.model = model
        self.text = text
        self.at = 0

    def skip(self) -> None:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def take(self, pattern: "re.Pattern[str]") -> "re.Match[str] | None":
        self.skip()
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def wrong(self, message: str, at: int | None = None) -> InvalidQuery:
        at = self.at if at is None else at
        return InvalidQuery(f"{message}\n    {self.text}\n    {' ' * at}^", class_name=self.model.__name__, position=at)


def parse(model: type, text: str, arguments: tuple[Any, ...]) -> Condition:
    """The condition that `text` states. InvalidQuery says where it cannot be read, or does not fit the model."""
    if not isinstance(text, str):
        raise WrongType(f"a filter is a text such as 'age < $0', not {text!r}")
    reader = _Reader(model, text)
    name = reader.take(_NAME)
    if name is None:
        raise reader.wrong("the name of a property is wanted here")
    try:
        prop = property_named(model, name.group())
    except NoSuchProperty as error:
        raise reader.wrong(error.message, name.start()) from None
    try:
        prop.ask()
    except NotSupported as error:
        raise reader.wrong(error.message, name.start()) from None
    operator = reader.take(_OPERATOR)
    if operator is None:
        raise reader.wrong(f"an operator is wanted here: {' '.join(OPERATORS)}")
    value, used, start = _value(reader, prop, arguments)
    reader.skip()
    if reader.at < len(text):
        raise reader.wrong("one comparison is all this version can read; this is too much")
    if unused := [i for i in range(len(arguments)) if i != used]:
        raise reader.wrong(f"argument ${unused[0]} is given and not used", len(text))
    condition = Condition(prop, OPERATORS[operator.group()], value)
    if value is None and condition.operator not in (EQUAL, NOT_EQUAL):
        raise reader.wrong("nothing is less or greater than null", start)
    return condition


def _value(reader: _Reader, prop: Property, arguments: tuple[Any, ...]) -> tuple[Any, int | None, int]:
    """The value converted, the number of the argument it came from, and where it is."""
    found = reader.take(_VALUE)
    if found is None:
        raise reader.wrong("a value is wanted here: a number, a text in quotes, true, false, null, or $0")
    used: int | None = None
    text = found.group()
    value: Any
    if found["argument"]:
        used = int(found["argument"])
        if used >= len(arguments):
            raise reader.wrong(f"{text}: {_how_many(len(arguments))}", found.start())
        value = arguments[used]
    elif found["real"]:
        value = Decimal(text) if prop.kind == kinds.DECIMAL else float(text)
    elif found["integer"]:
        value = int(found["integer"])
    elif found["word"]:
        if text.lower() not in _WORDS:
            raise reader.wrong(f"{text}: a text stands in quotes", found.start())
        value = _WORDS[text.lower()]
    else:
        quoted = found["single"] if found["single"] is not None else found["double"]
        value = _ESCAPE.sub(lambda e: _ESCAPES.get(e[1], e[1]), quoted)
        if prop.kind in kinds.FROM_TEXT:
            try:
                value = kinds.FROM_TEXT[prop.kind](value)
            except (ValueError, ArithmeticError):
                raise reader.wrong(f"{prop.path}: {value!r} is no {prop.type_name}", found.start()) from None
    if value is None:
        return None, used, found.start()
    try:
        if prop.enum is not None and not isinstance(value, prop.enum) and not kinds.is_same(type(value), prop.enum):
            value = kinds.member(prop, value)
        converted = kinds.convert(prop, value)
        if prop.target is not None:
            kinds.place(prop, converted)  # WrongStore: nothing links to an unmanaged object
        return converted, used, found.start()
    except (WrongType, OutOfRange) as error:
        raise reader.wrong(error.message, found.start()) from None


def _how_many(arguments: int) -> str:
    if arguments == 0:
        return "no arguments are given"
    return (
        f"{arguments} arguments are given, which begin with $0"
        if arguments > 1
        else "one argument is given, which is $0"
    )
