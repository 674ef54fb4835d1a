"""The bound tree: operands with their types, and conditions over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from . import nodes
from .binding import BoundPath
from .schema import Property
from .values import Value


@dataclass(frozen=True)
class Constant:
    """A value known before any object is looked at, or a list of them."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class PathValues:
    """What a path reaches."""

    path: BoundPath


@dataclass(frozen=True)
class Size:
    """How many, or how long, it is."""

    path: BoundPath


@dataclass(frozen=True)
class TypeOf:
    """The type of what a path reaches."""

    path: BoundPath


@dataclass(frozen=True)
class Aggregate:
    """An aggregate over a collection, or over a property of its objects."""

    path: BoundPath
    name: str
    member: Property | None
    kind: str


@dataclass(frozen=True)
class SubqueryCount:
    """How many objects of a collection meet a condition."""

    path: BoundPath
    variable: str
    condition: Condition


@dataclass(frozen=True)
class Calculation:
    """Arithmetic, element by element where one side is a list."""

    operator: str
    left: Operand
    right: Operand


Source = Union[Constant, PathValues, Size, TypeOf, Aggregate, SubqueryCount, Calculation]


@dataclass(frozen=True)
class Operand:
    """A side of a comparison: its type, whether it has many values, and where they come from.

    `kind` is a value's kind, or "null", or "list" for a constant list, or "@type".
    """

    source: Source
    kind: str
    position: int
    many: bool = False
    quantifier: str = ""
    target: str = ""
    label: str = "a constant"
    index: str = ""

    def is_constant(self) -> bool:
        """Whether no object is needed to know it."""
        return isinstance(self.source, Constant)

    def is_objects(self) -> bool:
        """Whether it is a list of objects, declared or through links."""
        return self.kind == "link" and self.many


@dataclass(frozen=True)
class BoundCompare:
    """A comparison whose types fit."""

    operator: str
    left: Operand
    right: Operand
    ignore_case: bool
    ignore_diacritics: bool


@dataclass(frozen=True)
class BoundBetween:
    """A range whose types fit."""

    value: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True)
class BoundGeo:
    """A geographic condition on embedded points."""

    path: Operand
    shape: nodes.Shape


@dataclass(frozen=True)
class BoundTruth:
    """Always or never."""

    value: bool


@dataclass(frozen=True)
class BoundNot:
    """The complement."""

    inner: Condition


@dataclass(frozen=True)
class BoundAnd:
    """Both."""

    left: Condition
    right: Condition


@dataclass(frozen=True)
class BoundOr:
    """Either."""

    left: Condition
    right: Condition


Condition = Union[BoundCompare, BoundBetween, BoundGeo, BoundTruth, BoundNot, BoundAnd, BoundOr]
