"""From the text of a query to its tree; what does not fit the grammar is refused with a position."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Union

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from . import literals, nodes
from .errors import QueryError
from .values import Number

Branch = Union[Token, Tree[Token]]

GRAMMAR = (FilePath(__file__).parent / "grammar.lark").read_text()
PARSER = Lark(
    GRAMMAR,
    parser="lalr",
    lexer="basic",
    propagate_positions=True,
    maybe_placeholders=False,
    start=["start", "element", "path", "shape"],
)
OPERATORS = {"=": "==", "<>": "!=", "=<": "<=", "=>": ">="}
STEPS = ("sort", "distinct", "limit", "offset")
AGGREGATES = ("min", "max", "sum", "avg")
ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


def parse(text: str) -> nodes.Query:
    """The tree of a whole query."""
    children = branches(parsed(text, "start"))
    # A text without a condition is about all objects.
    behind = [child for child in children if rule(child) in STEPS]
    condition = predicate(children[0]) if len(behind) < len(children) else nodes.Truth(True)
    return nodes.Query(condition, tuple(step(child) for child in behind))


def parse_constant(text: str) -> nodes.Element:
    """The tree of a single constant, such as an argument."""
    return element(parsed(text, "element"))


def parse_path(text: str) -> nodes.Path:
    """The tree of a single path."""
    return path(parsed(text, "path"), "")


def parse_shape(text: str) -> nodes.Shape:
    """The tree of a geographic shape."""
    return shape(parsed(text, "shape"))


def parsed(text: str, start: str) -> Tree[Token]:
    """The parser's tree, its errors turned into ours."""
    try:
        return PARSER.parse(text, start=start)
    except UnexpectedInput as error:
        raise QueryError(*describe(error, text)) from None


def describe(error: UnexpectedInput, text: str) -> tuple[int, str, str]:
    """Position, expectation and finding of a parser's error."""
    if isinstance(error, UnexpectedCharacters):
        expected = ", ".join(sorted(error.allowed or ()))
        position = error.pos_in_stream or 0
        return position, expected, repr(text[position])
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        return error.token.start_pos or 0, ", ".join(sorted(error.expected)), repr(str(error.token))
    if isinstance(error, (UnexpectedToken, UnexpectedEOF)):
        return len(text), ", ".join(sorted(error.expected)), "end of query"
    return 0, "a query", repr(text)


def branches(tree: Branch) -> list[Branch]:
    """A tree's children."""
    return list(tree.children) if isinstance(tree, Tree) else []


def place(branch: Branch) -> int:
    """Where a branch begins."""
    if isinstance(branch, Token):
        return branch.start_pos or 0
    return 0 if branch.meta.empty else branch.meta.start_pos


def rule(branch: Branch) -> str:
    """A branch's rule, or a token's type."""
    return branch.type if isinstance(branch, Token) else str(branch.data)


def predicate(tree: Branch) -> nodes.Predicate:
    """The tree of a condition."""
    children, name = branches(tree), rule(tree)
    if name in ("always", "never"):
        return nodes.Truth(name == "always")
    if name == "negate":
        return nodes.Not(predicate(children[0]))
    if name == "both":
        return nodes.And(predicate(children[0]), predicate(children[1]))
    if name == "either":
        return nodes.Or(predicate(children[0]), predicate(children[1]))
    if name == "between":
        return between(children)
    if name == "geowithin":
        return geowithin(children)
    return comparison(children)


def comparison(children: list[Branch]) -> nodes.Compare:
    """The tree of a comparison: left, operator, perhaps flags, right."""
    operator = str(children[1]).lower()
    flags = str(children[2]).lower() if rule(children[2]) == "FLAGS" else ""
    return nodes.Compare(
        OPERATORS.get(operator, operator),
        expression(children[0]),
        expression(children[-1]),
        "c" in flags,
        "d" in flags,
        place(children[1]),
    )


def between(children: list[Branch]) -> nodes.Between:
    """The tree of a range, which has two ends."""
    if rule(children[2]) == "argument":
        return nodes.Between(expression(children[0]), argument(children[2], ""), None, place(children[1]))
    ends = [element(child) for child in branches(children[2])]
    if len(ends) != 2:
        raise QueryError(place(children[2]), "a list of two", f"a list of {len(ends)}")
    return nodes.Between(expression(children[0]), ends[0], ends[1], place(children[1]))


def geowithin(children: list[Branch]) -> nodes.GeoWithin:
    """The tree of a geographic condition."""
    subject = quantified(children[0])
    within = argument(children[2], "") if rule(children[2]) == "argument" else shape(children[2])
    return nodes.GeoWithin(subject, within, place(children[1]))


def expression(tree: Branch) -> nodes.Expression:
    """The tree of a side of a comparison."""
    children, name = branches(tree), rule(tree)
    if name == "negative":
        return nodes.Arithmetic("*", nodes.Literal(Number("-1"), place(tree)), expression(children[0]), place(tree))
    if name in ARITHMETIC:
        return nodes.Arithmetic(ARITHMETIC[name], expression(children[0]), expression(children[1]), place(tree))
    if name == "quantified":
        return quantified(tree)
    if name == "quantified_list":
        return nodes.ListLiteral(
            tuple(element(child) for child in branches(children[-1])), quantifier(children), place(tree)
        )
    if name == "subquery":
        return subquery(children)
    return element(tree)


def quantifier(children: list[Branch]) -> str:
    """ANY, ALL or NONE as written before a value; empty where nothing was."""
    if rule(children[0]) != "QUANTIFIER":
        return ""
    return str(children[0]).upper().replace("SOME", "ANY")


def quantified(tree: Branch) -> nodes.Path | nodes.Argument:
    """A path or an argument with its quantifier."""
    children = branches(tree)
    if rule(children[-1]) == "argument":
        return argument(children[-1], quantifier(children))
    return path(children[-1], quantifier(children))


def argument(tree: Branch, quantifier_text: str) -> nodes.Argument:
    """The tree of `$n`."""
    token = branches(tree)[0]
    return nodes.Argument(int(str(token)[1:]), quantifier_text, place(token))


def subquery(children: list[Branch]) -> nodes.Subquery:
    """The tree of a subquery."""
    variable = str(children[2])
    if not variable.startswith("$"):
        raise QueryError(place(children[2]), "a variable that begins with $", variable)
    return nodes.Subquery(path(children[1], ""), variable, predicate(children[3]), place(children[0]))


def element(tree: Branch) -> nodes.Element:
    """The tree of a constant or an argument."""
    children = branches(tree)
    if rule(tree) == "argument":
        return argument(tree, "")
    if rule(children[0]) == "object":
        return object_literal(children[0])
    token = children[0]
    value = literals.constant(rule(token), str(token), place(token))
    return nodes.Literal(value, place(token))


def object_literal(tree: Branch) -> nodes.ObjectLiteral:
    """The tree of `obj('Type', key)`."""
    children = branches(tree)
    key = element(children[2])
    if isinstance(key, nodes.ObjectLiteral):
        raise QueryError(place(children[2]), "a primary key", "an object")
    return nodes.ObjectLiteral(literals.unescape(str(children[1])), key, place(tree))


def path(tree: Branch, quantifier_text: str) -> nodes.Path:
    """The tree of a path; an operation ends it."""
    parts: list[nodes.Part] = []
    operation: nodes.Operation | None = None
    for child in branches(tree):
        if rule(child) == "SELF":
            continue
        if operation is not None:
            if operation.name not in AGGREGATES or operation.property_name or rule(child) != "name":
                raise QueryError(place(child), "the end of the path", rule(child))
            operation = nodes.Operation(operation.name, name_text(child), operation.position)
        elif ends_path(child):
            operation = nodes.Operation(operation_name(child), "", place(child))
        else:
            parts.append(part(child))
            if rule(child) == "links" and len(branches(child)) == 2:
                operation = nodes.Operation("size", "", place(child))
    return nodes.Path(quantifier_text, tuple(parts), operation, place(tree))


def ends_path(tree: Branch) -> bool:
    """Whether a part is an operation."""
    if rule(tree) == "subscript":
        return str(branches(tree)[0]).upper() == "SIZE"
    return rule(tree) == "counted" or (rule(tree) == "operation" and operation_name(tree) not in ("keys", "values"))


def operation_name(tree: Branch) -> str:
    """The name of an operation; the three ways to ask for a size are one."""
    if rule(tree) in ("counted", "subscript"):
        return "size"
    return str(branches(tree)[0])[1:]


def name_text(tree: Branch) -> str:
    """A name, its blanks unescaped."""
    return literals.unescape_name(str(branches(tree)[0]))


def part(tree: Branch) -> nodes.Part:
    """The tree of one part of a path."""
    name, position = rule(tree), place(tree)
    if name == "name":
        return nodes.Name(name_text(tree), position)
    if name == "each":
        return nodes.Each(position)
    if name == "links":
        return links(branches(tree), position)
    if name == "keypath":
        return nodes.KeyPathArgument(int(str(branches(tree)[0])[2:]), position)
    if name == "operation":
        return nodes.Keys(position) if operation_name(tree) == "keys" else nodes.Values(position)
    return subscript(branches(tree)[0], position)


def links(children: list[Branch], position: int) -> nodes.Backlinks:
    """The tree of @links: of one property, or of all where only their number is asked for."""
    if len(children) == 2:
        return nodes.Backlinks("", "", position)
    return nodes.Backlinks(name_text(children[1]), name_text(children[2]), position)


def subscript(token: Branch, position: int) -> nodes.Part:
    """What stands between brackets."""
    text = str(token)
    if rule(token) == "NATURAL":
        return nodes.Index(int(text), position)
    if rule(token) == "STRING":
        return nodes.Key(literals.unescape(text), position)
    if rule(token) == "ARGUMENT":
        return nodes.IndexArgument(int(text[1:]), position)
    if text.upper() in ("FIRST", "LAST"):
        return nodes.Index(0 if text.upper() == "FIRST" else -1, position)
    raise QueryError(place(token), "a number, a key, FIRST, LAST, SIZE or *", text)


def shape(tree: Branch) -> nodes.Shape:
    """The tree of a geographic shape."""
    children = branches(tree)
    if rule(tree) == "geobox":
        return nodes.Box(point(children[1]), point(children[2]))
    if rule(tree) == "geocircle":
        return nodes.Circle(point(children[1]), coordinate(children[2]))
    return nodes.Polygon(tuple(tuple(point(child) for child in branches(ring)) for ring in children[1:]))


def point(tree: Branch) -> nodes.Point:
    """The tree of a place; a third coordinate, the height, is left out."""
    children = branches(tree)
    return nodes.Point(coordinate(children[0]), coordinate(children[1]))


def coordinate(tree: Branch) -> nodes.Coordinate:
    """A number of degrees or radians."""
    if rule(tree) == "argument":
        return argument(tree, "")
    return float(str(branches(tree)[0]).rstrip("f"))


def step(tree: Branch) -> nodes.Step:
    """The tree of a step after the condition."""
    children = branches(tree)[1:]
    if rule(tree) == "limit":
        return nodes.Limit(int(str(children[0])))
    if rule(tree) == "offset":
        return nodes.Offset(int(str(children[0])))
    if rule(tree) == "distinct":
        return nodes.Distinct(tuple(path(child, "") for child in children))
    return nodes.Sort(tuple(order(branches(child)) for child in children))


def order(children: list[Branch]) -> nodes.Order:
    """The tree of one field of a SORT."""
    flags = str(children[1]).lower() if rule(children[1]) == "FLAGS" else ""
    return nodes.Order(path(children[0], ""), rule(children[-1]) == "ASCENDING", "c" in flags, "d" in flags)
