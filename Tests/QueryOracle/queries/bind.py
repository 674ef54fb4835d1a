"""From the tree to the bound tree: names are found, types are checked."""

from __future__ import annotations

from dataclasses import replace

from . import nodes
from .arithmetic import calculate
from .binding import BoundPath, Scope, bind_path
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
from .checks import (
    check_aggregate,
    check_arithmetic,
    check_compare,
    check_quantifier,
    decoded_operand,
    describe,
    type_operand,
)
from .errors import QueryError
from .geo import bind_shape
from .schema import Property
from .values import NUMERIC_KINDS, Link, MixedList, MixedMap, Number, Value, kind_of


def bind_predicate(scope: Scope, node: nodes.Predicate) -> Condition:
    """A condition, bound."""
    if isinstance(node, nodes.Truth):
        return BoundTruth(node.value)
    if isinstance(node, nodes.Not):
        return BoundNot(bind_predicate(scope, node.inner))
    if isinstance(node, nodes.And):
        return BoundAnd(bind_predicate(scope, node.left), bind_predicate(scope, node.right))
    if isinstance(node, nodes.Or):
        return BoundOr(bind_predicate(scope, node.left), bind_predicate(scope, node.right))
    if isinstance(node, nodes.Between):
        return bind_between(scope, node)
    if isinstance(node, nodes.GeoWithin):
        return bind_geo(scope, node)
    return bind_compare(scope, node)


def bind_compare(scope: Scope, node: nodes.Compare) -> BoundCompare:
    """A comparison, bound."""
    left, right = bind_expression(scope, node.left), bind_expression(scope, node.right)
    left, right = decoded_operand(left, right), decoded_operand(right, left)
    left, right = rounded_operand(left, right), rounded_operand(right, left)
    left, right = type_operand(left, right), type_operand(right, left)
    flagged = node.ignore_case or node.ignore_diacritics
    check_compare(node.operator, flagged, left, right, node.position)
    return BoundCompare(node.operator, left, right, node.ignore_case, node.ignore_diacritics)


def bind_between(scope: Scope, node: nodes.Between) -> BoundBetween:
    """A range, bound; of many values only ALL may be asked."""
    value = bind_expression(scope, node.value)
    low, high = bind_ends(scope, node)
    if value.many and value.quantifier != "ALL":
        raise QueryError(node.position, "ALL before a list for BETWEEN", describe(value))
    low, high = decoded_operand(low, value), decoded_operand(high, value)
    low, high = rounded_operand(low, value), rounded_operand(high, value)
    for end in (low, high):
        if end.many:
            raise QueryError(end.position, "a single value", "a list")
        check_compare("<=", False, value, end, node.position)
    return BoundBetween(value, low, high)


def rounded_operand(operand: Operand, other: Operand) -> Operand:
    """A constant next to mixed values: a written fraction is a double; next to their sums it keeps its digits."""
    if not isinstance(operand.source, Constant) or other.kind != "mixed" or not isinstance(other.source, PathValues):
        return operand
    values = tuple(
        float(value.text) if isinstance(value, Number) and not value.is_integer() else value
        for value in operand.source.values
    )
    return replace(operand, source=Constant(values))


def bind_ends(scope: Scope, node: nodes.Between) -> tuple[Operand, Operand]:
    """Both ends of a range: written, or a list of two as an argument."""
    low = bind_expression(scope, node.low)
    if node.high is not None:
        return low, bind_expression(scope, node.high)
    if not isinstance(low.source, Constant) or not low.many or len(low.source.values) != 2:
        raise QueryError(node.low.position, "a list of two", describe(low))
    first, last = low.source.values
    return constant(first, node.low.position), constant(last, node.low.position)


def bind_geo(scope: Scope, node: nodes.GeoWithin) -> BoundGeo:
    """A geographic condition, bound: the path must end at embedded points."""
    if isinstance(node.path, nodes.Argument):
        raise QueryError(node.position, "a path to a point", "an argument")
    subject = bind_expression(scope, node.path)
    check_quantifier(subject)
    if subject.kind != "link" or not is_point_class(scope, subject.target):
        raise QueryError(subject.position, "a path to embedded points", describe(subject))
    return BoundGeo(subject, bind_shape(scope, node.shape, node.position))


def is_point_class(scope: Scope, class_name: str) -> bool:
    """Whether a class is embedded and has a point's two properties."""
    found = scope.database.schema.classes[class_name]
    coordinates, kind = found.properties.get("coordinates"), found.properties.get("type")
    return (
        found.embedded
        and coordinates is not None
        and kind is not None
        and coordinates.collection == "list"
        and kind.kind == "string"
    )


def bind_expression(scope: Scope, node: nodes.Expression) -> Operand:
    """A side of a comparison, bound."""
    if isinstance(node, nodes.Path):
        return bind_value_path(scope, node)
    if isinstance(node, nodes.ListLiteral):
        values = tuple(single(bind_expression(scope, element)) for element in node.elements)
        return Operand(Constant(values), "list", node.position, True, node.quantifier, label="a list")
    if isinstance(node, nodes.Argument):
        return bind_argument(scope, node)
    if isinstance(node, nodes.ObjectLiteral):
        return bind_object(scope, node)
    if isinstance(node, nodes.Subquery):
        return bind_subquery(scope, node)
    if isinstance(node, nodes.Arithmetic):
        return bind_arithmetic(scope, node)
    return constant(node.value, node.position)


def constant(value: Value, position: int) -> Operand:
    """A single constant; a list or map in a value stays one value."""
    target = value.class_name if isinstance(value, Link) else ""
    kind = "mixed" if isinstance(value, (MixedList, MixedMap)) else kind_of(value)
    return Operand(Constant((value,)), kind, position, target=target)


def single(operand: Operand) -> Value:
    """The value of a constant in a list."""
    if not isinstance(operand.source, Constant) or operand.many:
        raise QueryError(operand.position, "a constant in a list", describe(operand))
    return operand.source.values[0]


def bind_argument(scope: Scope, node: nodes.Argument) -> Operand:
    """An argument: a value or a list of them."""
    given = scope.argument(node.index, node.position)
    if isinstance(given, (nodes.Box, nodes.Circle, nodes.Polygon)):
        raise QueryError(node.position, "a value as argument", "a geographic shape")
    if isinstance(given, list):
        return Operand(Constant(tuple(given)), "list", node.position, True, node.quantifier, label="a list")
    return replace(constant(given, node.position), quantifier=node.quantifier)


def bind_object(scope: Scope, node: nodes.ObjectLiteral) -> Operand:
    """An object by its primary key."""
    found = scope.find_class(node.class_name, node.position)
    if not found.primary_key:
        raise QueryError(node.position, "a class with a primary key", repr(node.class_name))
    key = single(bind_expression(scope, node.key))
    return constant(scope.database.find_by_key(found.name, key), node.position)


def bind_value_path(scope: Scope, node: nodes.Path) -> Operand:
    """A path with the operation at its end."""
    path = bind_path(scope, node)
    many = path.end.many or bool(path.end.collection)
    plain = Operand(
        PathValues(path),
        path.end.kind,
        node.position,
        many,
        node.quantifier,
        path.end.target,
        f"'{path.end.label}'",
        path.end.index,
    )
    operation = node.operation
    if operation is None:
        return plain
    if operation.name == "size":
        return bind_size(path, plain, operation.position)
    if operation.name == "type":
        if path.end.kind != "mixed":
            raise QueryError(operation.position, "a mixed value before @type", describe(plain))
        return replace(plain, source=TypeOf(path), kind="@type")
    return bind_aggregate(scope, path, plain, operation)


def bind_size(path: BoundPath, plain: Operand, position: int) -> Operand:
    """`@count`: of objects one number for all that are reached, else one for each collection or text."""
    if not path.end.collection and path.end.kind not in ("link", "string", "binary", "mixed"):
        raise QueryError(position, "a collection, a string or a binary before @size", describe(plain))
    objects = path.end.kind == "link" and path.end.collection != "dictionary"
    return replace(plain, source=Size(path), kind="int", many=path.end.many and not objects, target="")


def bind_aggregate(scope: Scope, path: BoundPath, plain: Operand, operation: nodes.Operation) -> Operand:
    """`@min` and its like, over a collection or over a property of its objects."""
    end = path.end
    if not end.collection:
        raise QueryError(operation.position, f"a collection before @{operation.name}", describe(plain))
    member: Property | None = None
    if operation.property_name:
        if end.kind != "link":
            raise QueryError(operation.position, "a collection of objects", describe(plain))
        name = scope.database.schema.aliases.get((end.target, operation.property_name), operation.property_name)
        seen = [operation.property_name]
        while (end.target, name) in scope.database.schema.aliases:
            if name in seen:
                raise QueryError(operation.position, "another name that ends at a property", f"a loop at {name!r}")
            seen.append(name)
            name = scope.database.schema.aliases[(end.target, name)]
        member = scope.find_property(end.target, name, operation.position)
    described = member or Property(end.label, end.kind)
    check_aggregate(operation.name, described, operation.position)
    kind = described.kind
    if operation.name == "avg" and kind in NUMERIC_KINDS and kind != "decimal128":
        kind = "double"
    return replace(
        plain,
        source=Aggregate(path, operation.name, member, described.kind),
        kind=kind,
        many=end.many and member is None,
        target="",
    )


def bind_subquery(scope: Scope, node: nodes.Subquery) -> Operand:
    """A subquery over a collection of objects."""
    path = bind_path(scope, node.path)
    if path.end.kind != "link" or not path.end.collection:
        raise QueryError(node.path.position, "a list of objects for SUBQUERY", f"'{path.end.label}'")
    variables = {**scope.variables, node.variable: path.end.target}
    inner = replace(scope, variables=variables)
    condition = bind_predicate(inner, node.predicate)
    return Operand(SubqueryCount(path, node.variable, condition), "int", node.position, label="a subquery")


def bind_arithmetic(scope: Scope, node: nodes.Arithmetic) -> Operand:
    """Arithmetic, bound; a list on one side makes it a list with that side's quantifier."""
    left, right = bind_expression(scope, node.left), bind_expression(scope, node.right)
    check_arithmetic(node.operator, left, right, node.position)
    if isinstance(left.source, Constant) and isinstance(right.source, Constant) and not (left.many or right.many):
        return fold_constants(node, left, right)
    kind = "mixed" if "mixed" in (left.kind, right.kind) else "double"
    if left.kind == right.kind == "int":
        kind = "int"
    return Operand(
        Calculation(node.operator, left, right),
        kind,
        node.position,
        left.many or right.many,
        left.quantifier or right.quantifier,
        label="a calculation",
    )


def fold_constants(node: nodes.Arithmetic, left: Operand, right: Operand) -> Operand:
    """Arithmetic of constants is a constant."""
    return constant(calculate(node.operator, single(left), single(right)), node.position)
