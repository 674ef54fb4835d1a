"""Evaluating a query on plain objects: the keys of the objects it finds, in order."""

from __future__ import annotations

from . import geo
from .arithmetic import aggregate, calculate
from .bind import bind_predicate
from .binding import Argument, Scope
from .bound import (
    Aggregate,
    BoundAnd,
    BoundBetween,
    BoundCompare,
    BoundGeo,
    BoundNot,
    BoundOr,
    BoundTruth,
    Calculation,
    Condition,
    Constant,
    Operand,
    PathValues,
    Size,
    SubqueryCount,
    TypeOf,
)
from .checks import STRING_OPERATORS
from .data import Database, Stored
from .errors import QueryError
from .paths import Environment, Item, elements, reach, sizes, types, values
from .schema import Property
from .steps import apply_steps
from .syntax import parse
from .text import prepare, string_operator, text_matches
from .values import Link, MixedList, MixedMap, TypeNames, Value, compare, equal


def run(database: Database, class_name: str, text: str, arguments: list[Argument]) -> list[int]:
    """The keys of the objects a query finds, in its order."""
    if class_name not in database.schema.classes:
        raise QueryError(0, "a class", repr(class_name))
    return run_among(database, class_name, text, arguments, [row.link for row in database.tables[class_name].values()])


def run_among(
    database: Database, class_name: str, text: str, arguments: list[Argument], among: list[Link]
) -> list[int]:
    """The same of certain objects, in their order: those of a list, say, one of them as often as it is there."""
    query = parse(text)
    scope = Scope(database, class_name, {}, arguments)
    condition = bind_predicate(scope, query.predicate)
    found = [link for link in among if holds(database, condition, {"": link})]
    return [link.key for link in apply_steps(scope, query.steps, found)]


def linked(described: Property, stored: Stored) -> list[Link]:
    """What a list, set or map has links to, in its order: a list in its own, others by objects or keys."""
    if isinstance(stored, dict):
        values = [stored[key] for key in sorted(stored, key=lambda key: key.encode())]
    else:
        values = list(stored) if isinstance(stored, list) else []
    links = [value for value in values if isinstance(value, Link)]
    return sorted(set(links), key=lambda link: link.key) if described.collection == "set" else links


def holds(database: Database, condition: Condition, environment: Environment) -> bool:
    """Whether a condition is true for the objects at hand."""
    if isinstance(condition, BoundTruth):
        return condition.value
    if isinstance(condition, BoundNot):
        return not holds(database, condition.inner, environment)
    if isinstance(condition, BoundAnd):
        return holds(database, condition.left, environment) and holds(database, condition.right, environment)
    if isinstance(condition, BoundOr):
        return holds(database, condition.left, environment) or holds(database, condition.right, environment)
    if isinstance(condition, BoundBetween):
        return holds_between(database, condition, environment)
    if isinstance(condition, BoundGeo):
        return holds_geo(database, condition, environment)
    return holds_compare(database, condition, environment)


def holds_between(database: Database, condition: BoundBetween, environment: Environment) -> bool:
    """A range: for a list, every element lies in it."""
    low = source_values(database, condition.low, environment)[0]
    high = source_values(database, condition.high, environment)[0]
    found = source_values(database, condition.value, environment)
    return all(relates(">=", value, low, False, False) and relates("<=", value, high, False, False) for value in found)


def holds_geo(database: Database, condition: BoundGeo, environment: Environment) -> bool:
    """A geographic condition: no point is inside of nothing."""
    inside: list[bool] = []
    for value in source_values(database, condition.path, environment):
        point = geo.place(database.find(value)) if isinstance(value, Link) else None
        inside.append(point is not None and geo.contains(condition.shape, point))
    return quantified(condition.path.quantifier, inside)


def quantified(quantifier: str, truths: list[bool]) -> bool:
    """ANY (also where nothing was said), ALL or NONE of them."""
    if quantifier == "ALL":
        return all(truths)
    return not any(truths) if quantifier == "NONE" else any(truths)


def holds_compare(database: Database, condition: BoundCompare, environment: Environment) -> bool:
    """`Q1 L op Q2 R`: for Q1 of the left it holds that for Q2 of the right they relate."""
    left, right = condition.left, condition.right
    # Beside mixed values a string and a binary are of one family, unless letters are folded.
    apart = "mixed" not in (left.kind, right.kind) or condition.ignore_case or condition.ignore_diacritics
    left_values, right_values = (
        source_values(database, left, environment),
        source_values(database, right, environment),
    )
    if condition.operator == "in" or left.quantifier or right.quantifier:
        left_values = expanded(left, left_values, bool(left.quantifier))
        right_values = expanded(right, right_values, True)
    elif (left.many and right.many) or holds_list(left, left_values, right) or holds_list(right, right_values, left):
        left_values, right_values = expanded(left, left_values, True), expanded(right, right_values, True)
        return whole_relates(condition, left_values, right_values, apart)
    if condition.operator == "in" and left.kind == "list" and not left.quantifier:
        # A list written on the left of IN is one value: it is looked for as an element.
        left_values = [MixedList(tuple(left_values))]
    truths: list[bool] = []
    for one in left_values:
        inner = [
            relates(condition.operator, one, two, condition.ignore_case, condition.ignore_diacritics, apart)
            for two in right_values
        ]
        truths.append(quantified(right.quantifier, inner))
    return quantified(left.quantifier, truths)


def holds_list(operand: Operand, found: list[Value], other: Operand) -> bool:
    """Whether a single mixed value holds a list that meets a list written in the query."""
    return operand.kind == "mixed" and not operand.many and isinstance(found[0], MixedList) and other.kind == "list"


def expanded(operand: Operand, found: list[Value], wanted: bool) -> list[Value]:
    """A single mixed value that holds a collection counts as its elements where many are wanted."""
    if not wanted or operand.many or operand.kind != "mixed":
        return found
    value = found[0] if found else None
    return elements(value) if isinstance(value, (MixedList, MixedMap)) else found


def whole_relates(condition: BoundCompare, left: list[Value], right: list[Value], apart: bool) -> bool:
    """Two collections without a quantifier: pair by pair, and as many on both sides."""
    operator = "==" if condition.operator == "!=" else condition.operator
    same = len(left) == len(right) and all(
        relates(operator, one, two, condition.ignore_case, condition.ignore_diacritics, apart)
        for one, two in zip(left, right)
    )
    return not same if condition.operator == "!=" else same


def relates(
    operator: str, left: Value, right: Value, ignore_case: bool, ignore_diacritics: bool, apart: bool = True
) -> bool:
    """Whether two values relate; only `==` and `!=` can be true with null. `apart`: strings are not binaries."""
    if operator == "text":
        return isinstance(left, str) and isinstance(right, str) and text_matches(left, right)
    if isinstance(left, (str, bytes)) and isinstance(right, (str, bytes)):
        left, right = (prepare(left, ignore_case, ignore_diacritics), prepare(right, ignore_case, ignore_diacritics))
        if operator in STRING_OPERATORS:
            return string_operator(operator, left, right)
    if operator in STRING_OPERATORS:
        return False
    if apart and {type(left), type(right)} == {str, bytes}:
        return operator == "!="
    if operator in ("==", "in"):
        return equal(left, right)
    if operator == "!=":
        return not equal(left, right)
    if left is None or right is None:
        return False
    return ordered(operator, compare(left, right))


def ordered(operator: str, result: int | None) -> bool:
    """Whether the outcome of a comparison is what an operator asks for."""
    if result is None:
        return False
    if operator == "<":
        return result < 0
    if operator == "<=":
        return result <= 0
    return result > 0 if operator == ">" else result >= 0


def source_values(database: Database, operand: Operand, environment: Environment) -> list[Value]:
    """All values of an operand for the objects at hand."""
    source = operand.source
    if isinstance(source, Constant):
        return list(source.values)
    if isinstance(source, PathValues):
        return values(database, source.path, environment)
    if isinstance(source, Size):
        return sizes(database, source.path, environment)
    if isinstance(source, TypeOf):
        return [TypeNames(kinds) for kinds in types(values(database, source.path, environment))]
    if isinstance(source, Aggregate):
        return aggregates(database, source, environment)
    if isinstance(source, SubqueryCount):
        return [subquery_count(database, source, environment)]
    return calculation(database, source, environment)


def aggregates(database: Database, source: Aggregate, environment: Environment) -> list[Value]:
    """An aggregate: over all objects that are reached, or over each collection of plain values."""
    items = reach(database, source.path, environment)
    if source.member is None:
        return [aggregate(source.name, source.kind, elements(item)) for item in items]
    found: list[Value] = []
    for item in items:
        for link in elements(item):
            found.append(member_value(database, link, source.member.name))
    return [aggregate(source.name, source.kind, found)]


def member_value(database: Database, link: Value, name: str) -> Value:
    """A property of a linked object, which holds a single value."""
    found = database.find(link) if isinstance(link, Link) else None
    stored: Item = found.fields[name] if found is not None else None
    return None if isinstance(stored, (list, dict)) else stored


def subquery_count(database: Database, source: SubqueryCount, environment: Environment) -> int:
    """How many of a collection's objects meet the condition; one that is in it twice counts twice."""
    count = 0
    for item in reach(database, source.path, environment):
        for link in elements(item):
            if isinstance(link, Link) and holds(database, source.condition, {**environment, source.variable: link}):
                count += 1
    return count


def calculation(database: Database, source: Calculation, environment: Environment) -> list[Value]:
    """Arithmetic; a list on one side is taken element by element."""
    left = source_values(database, source.left, environment)
    right = source_values(database, source.right, environment)
    return [calculate(source.operator, one, two) for one in left for two in right]
