"""The rules of types: what may stand on the two sides of an operator."""

from __future__ import annotations

from dataclasses import replace

from .bound import Constant, Operand
from .errors import QueryError
from .schema import Property
from .values import NUMERIC_KINDS, Encoded, TypeNames, Value

STRING_OPERATORS = ("beginswith", "endswith", "contains", "like")
ORDERED_OPERATORS = ("<", "<=", ">", ">=")
TEXT_KINDS = frozenset({"string", "binary", "mixed", "null", "list"})

TYPE_NAMES: dict[str, frozenset[str]] = {}
for _names, _kinds in (
    ("null", {"null"}),
    ("int integer int16 int32 int64 short long byte char", {"int"}),
    ("bool boolean", {"bool"}),
    ("string", {"string"}),
    ("binary data bytearray byte[] bindata", {"binary"}),
    ("date timestamp datetimeoffset", {"timestamp"}),
    ("float", {"float"}),
    ("double", {"double"}),
    ("decimal decimal128", {"decimal128"}),
    ("objectid", {"objectId"}),
    ("uuid guid", {"uuid"}),
    ("link objectlink", {"link"}),
    ("object dictionary", {"dictionary"}),
    ("array list", {"list"}),
    ("numeric", set(NUMERIC_KINDS)),
    ("collection", {"list", "dictionary"}),
):
    for _name in _names.split():
        TYPE_NAMES[_name] = frozenset(_kinds)


def describe(operand: Operand) -> str:
    """An operand in words."""
    return f"{operand.label} of type {operand.kind}"


def check_quantifier(operand: Operand) -> None:
    """ANY, ALL and NONE need many values."""
    if operand.quantifier and not operand.many and operand.kind != "mixed":
        raise QueryError(operand.position, f"a list after {operand.quantifier}", describe(operand))


def check_compare(operator: str, flagged: bool, left: Operand, right: Operand, position: int) -> None:
    """Whether an operator fits its sides."""
    check_quantifier(left)
    check_quantifier(right)
    if left.is_constant() and right.is_constant():
        raise QueryError(position, "a path on one side", "two constants")
    if operator == "in" and not right.many and right.kind != "mixed":
        raise QueryError(right.position, "a list after IN", describe(right))
    if operator == "text":
        check_text(left, right)
    elif operator in STRING_OPERATORS or flagged:
        check_string_operator(operator, left, right)
    elif left.kind == "@type" or right.kind == "@type":
        check_type_comparison(operator, left, right)
    else:
        check_kinds(operator, left, right, position)


def check_text(left: Operand, right: Operand) -> None:
    """TEXT: a property with a full-text index, and a search string."""
    if left.kind != "string" or left.index != "fulltext":
        raise QueryError(left.position, "a string property with a full-text index", describe(left))
    if right.kind != "string" or not right.is_constant():
        raise QueryError(right.position, "a search string", describe(right))


def check_string_operator(operator: str, left: Operand, right: Operand) -> None:
    """String operators and [c]: strings or binaries, and the same on both sides."""
    for operand in (left, right):
        if operand.kind not in TEXT_KINDS:
            raise QueryError(operand.position, f"a string or binary for {operator}", describe(operand))
    if {left.kind, right.kind} == {"string", "binary"}:
        raise QueryError(right.position, f"a {left.kind} for {operator}", describe(right))


def check_type_comparison(operator: str, left: Operand, right: Operand) -> None:
    """`@type` compares with types only."""
    for operand in (left, right):
        if operand.kind != "@type":
            raise QueryError(operand.position, "the name of a type", describe(operand))
    if operator in ORDERED_OPERATORS:
        raise QueryError(left.position, "== or != for types", operator)


def check_kinds(operator: str, left: Operand, right: Operand, position: int) -> None:
    """Comparisons: both sides of one family; objects of one class."""
    if (left.is_objects() and right.kind == "null") or (right.is_objects() and left.kind == "null"):
        raise QueryError(position, "a single object to compare with null", "a list of objects")
    if "link" in (left.kind, right.kind) and operator in ORDERED_OPERATORS:
        raise QueryError(position, "== or != for objects", operator)
    free = ("mixed", "null", "list")
    if left.kind in free or right.kind in free:
        return
    if left.kind in NUMERIC_KINDS and right.kind in NUMERIC_KINDS:
        return
    if left.kind != right.kind:
        raise QueryError(right.position, f"a value comparable with {describe(left)}", describe(right))
    if left.kind == "link" and left.target and right.target and left.target != right.target:
        raise QueryError(right.position, f"an object of '{left.target}'", f"an object of '{right.target}'")


def check_arithmetic(operator: str, left: Operand, right: Operand, position: int) -> None:
    """Arithmetic: numbers, at most one list of them."""
    for operand in (left, right):
        if operand.kind not in NUMERIC_KINDS | {"mixed", "null", "list"}:
            raise QueryError(operand.position, f"a number for {operator}", describe(operand))
    if left.many and right.many:
        raise QueryError(position, "one list at most in arithmetic", "two lists")


def check_aggregate(name: str, described: Property, position: int) -> None:
    """Aggregates: numbers and mixed values; the least and greatest also of dates."""
    fitting = NUMERIC_KINDS | {"mixed"} | ({"timestamp"} if name in ("min", "max") else set())
    if described.kind not in fitting or described.collection:
        raise QueryError(position, f"numbers for @{name}", f"'{described.name}' of type {described.kind}")


def type_operand(operand: Operand, other: Operand) -> Operand:
    """A constant next to `@type`: its strings are names of types."""
    if other.kind != "@type" or not isinstance(operand.source, Constant) or operand.kind not in ("string", "list"):
        return operand
    names = tuple(type_name(value, operand.position) for value in operand.source.values)
    return replace(operand, source=Constant(names), kind="@type")


def type_name(value: Value, position: int) -> Value:
    """The kinds a type's name stands for."""
    if not isinstance(value, str) or value.lower() not in TYPE_NAMES:
        raise QueryError(position, "the name of a type", repr(value))
    return TypeNames(TYPE_NAMES[value.lower()])


def decoded_operand(operand: Operand, other: Operand) -> Operand:
    """A constant written in base64: what it is depends on the other side."""
    if not isinstance(operand.source, Constant):
        return operand
    values = tuple(decoded(value, other.kind) for value in operand.source.values)
    kind = operand.kind if operand.kind != "base64" else "binary" if isinstance(values[0], bytes) else "string"
    return replace(operand, source=Constant(values), kind=kind)


def decoded(value: Value, kind: str) -> Value:
    """Bytes next to binaries, else the text they spell, if they spell one."""
    if not isinstance(value, Encoded):
        return value
    if kind == "binary":
        return value.data
    try:
        return value.data.decode()
    except UnicodeDecodeError:
        return value.data
