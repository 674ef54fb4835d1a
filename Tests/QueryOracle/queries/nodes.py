"""The tree of a query: what was written, before it is bound to a schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from .values import Value


@dataclass(frozen=True)
class Literal:
    """A constant written in the text."""

    value: Value
    position: int


@dataclass(frozen=True)
class ObjectLiteral:
    """`obj('Type', key)`: the object of a class with that primary key."""

    class_name: str
    key: Literal | Argument
    position: int


@dataclass(frozen=True)
class Argument:
    """`$n`, with the quantifier before it."""

    index: int
    quantifier: str
    position: int


Element = Union[Literal, ObjectLiteral, Argument]


@dataclass(frozen=True)
class ListLiteral:
    """`{a, b}`, with the quantifier before it."""

    elements: tuple[Element, ...]
    quantifier: str
    position: int


@dataclass(frozen=True)
class Name:
    """A property, a map key or a subquery's variable: which of them is settled when bound."""

    text: str
    position: int


@dataclass(frozen=True)
class KeyPathArgument:
    """`$Kn`: a key path given as an argument."""

    index: int
    position: int


@dataclass(frozen=True)
class Backlinks:
    """`@links.Type.property`, or all incoming links where both are empty."""

    class_name: str
    property_name: str
    position: int


@dataclass(frozen=True)
class Index:
    """`[n]`, `[FIRST]` (0) or `[LAST]` (-1)."""

    index: int
    position: int


@dataclass(frozen=True)
class Key:
    """`['key']`."""

    key: str
    position: int


@dataclass(frozen=True)
class IndexArgument:
    """`[$n]`: an index or a key given as an argument."""

    index: int
    position: int


@dataclass(frozen=True)
class Each:
    """`[*]`: every element or value."""

    position: int


@dataclass(frozen=True)
class Keys:
    """`@keys` of a map."""

    position: int


@dataclass(frozen=True)
class Values:
    """`@values` of a map."""

    position: int


Part = Union[Name, KeyPathArgument, Backlinks, Index, Key, IndexArgument, Each, Keys, Values]


@dataclass(frozen=True)
class Operation:
    """What ends a path: size, type, min, max, sum or avg, the last four perhaps of a property."""

    name: str
    property_name: str
    position: int


@dataclass(frozen=True)
class Path:
    """A path with its quantifier and the operation at its end."""

    quantifier: str
    parts: tuple[Part, ...]
    operation: Operation | None
    position: int


@dataclass(frozen=True)
class Subquery:
    """`SUBQUERY(path, $variable, predicate).@count`."""

    path: Path
    variable: str
    predicate: Predicate
    position: int


@dataclass(frozen=True)
class Arithmetic:
    """`left + right` and its like."""

    operator: str
    left: Expression
    right: Expression
    position: int


Expression = Union[Literal, ObjectLiteral, Argument, ListLiteral, Path, Subquery, Arithmetic]


@dataclass(frozen=True)
class Compare:
    """A comparison; the operator is spelled in its canonical form (`==`, `in`, `beginswith`)."""

    operator: str
    left: Expression
    right: Expression
    ignore_case: bool
    ignore_diacritics: bool
    position: int


@dataclass(frozen=True)
class Between:
    """`value BETWEEN {low, high}`, both ends included; without `high` the first is an argument that is a list."""

    value: Expression
    low: Element
    high: Element | None
    position: int


Coordinate = Union[float, Argument]


@dataclass(frozen=True)
class Point:
    """A place: longitude and latitude in degrees."""

    longitude: Coordinate
    latitude: Coordinate


@dataclass(frozen=True)
class Box:
    """A rectangle between two corners."""

    low: Point
    high: Point


@dataclass(frozen=True)
class Circle:
    """A disc on the sphere; the radius is an angle in radians."""

    center: Point
    radius: Coordinate


@dataclass(frozen=True)
class Polygon:
    """A closed ring, then its holes."""

    rings: tuple[tuple[Point, ...], ...]


Shape = Union[Box, Circle, Polygon]


@dataclass(frozen=True)
class GeoWithin:
    """`path GEOWITHIN shape`."""

    path: Path | Argument
    shape: Shape | Argument
    position: int


@dataclass(frozen=True)
class Truth:
    """TRUEPREDICATE or FALSEPREDICATE."""

    value: bool


@dataclass(frozen=True)
class Not:
    """The complement."""

    inner: Predicate


@dataclass(frozen=True)
class And:
    """Both sides hold."""

    left: Predicate
    right: Predicate


@dataclass(frozen=True)
class Or:
    """One side holds."""

    left: Predicate
    right: Predicate


Predicate = Union[Compare, Between, GeoWithin, Truth, Not, And, Or]


@dataclass(frozen=True)
class Order:
    """One field of a SORT."""

    path: Path
    ascending: bool
    ignore_case: bool = False
    ignore_diacritics: bool = False


@dataclass(frozen=True)
class Sort:
    """`SORT(a ASC, b DESC)`: stable, by the fields in turn."""

    orders: tuple[Order, ...]


@dataclass(frozen=True)
class Distinct:
    """`DISTINCT(a, b)`: the first of each combination."""

    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Limit:
    """`LIMIT(n)`: the first n."""

    count: int


@dataclass(frozen=True)
class Offset:
    """`OFFSET(n)`: all but the first n."""

    count: int


Step = Union[Sort, Distinct, Limit, Offset]


@dataclass(frozen=True)
class Query:
    """A predicate and the steps that follow it."""

    predicate: Predicate
    steps: tuple[Step, ...]
