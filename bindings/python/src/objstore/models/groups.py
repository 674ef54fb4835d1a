"""What is asked of groups of objects, and the steps that make tables: group_by, having, select."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InvalidArgument, WrongType
from ..messages import shown
from . import nodes, paths, roots
from .expressions import Condition, Expression, Part, named
from .roots import Roots
from .steps import SortKey, Step, asc


class Columns(Step):
    """GROUP or SELECT, with what its values are of."""

    __slots__ = ("described",)
    described: tuple[Any, ...]


class Group:
    """A group of objects, in having(), order_by() and select() behind group_by(): `group.count`, `group.sum(Dog.age)`.
    None is left out, as is NaN; of nothing a sum is 0 and everything else None."""

    __slots__ = ()

    @property
    def count(self) -> Expression:
        """How many objects it has."""
        return Expression(nodes.OBJECT + paths.COUNT, (), (), None, False, "group.count")

    def sum(self, value: object) -> Expression:
        """None where it leaves 64 bits."""
        return _of_group(nodes.SUM, "group.sum({})", value)

    def avg(self, value: object) -> Expression:
        return _of_group(nodes.AVERAGE, "group.avg({})", value)

    def min(self, value: object) -> Expression:
        """The smallest; of texts the first by their code points."""
        return _of_group(nodes.MINIMUM, "group.min({})", value)

    def max(self, value: object) -> Expression:
        return _of_group(nodes.MAXIMUM, "group.max({})", value)

    def __repr__(self) -> str:
        return "group"


group = Group()


def _of_group(kind: int, form: str, value: object) -> Expression:
    of = named(value)
    member = nodes.renumbered(of._nodes, lambda number: number + 1)
    node = nodes.node(nodes.AGGREGATE, 2, kind)
    described = of._described if kind in (nodes.MINIMUM, nodes.MAXIMUM) else None
    return Expression(nodes.OBJECT + member + node, of._texts, of._properties, described, False, form, value)


# Steps


def having(condition: object) -> Step:
    if not isinstance(condition, Condition):
        raise WrongType(f"having() takes a condition, such as group.count > 3, not {shown(condition)}")
    return Step(
        condition._nodes + nodes.node(nodes.HAVING, 1), condition._texts, condition._properties, "having({})", condition
    )


def order(keys: Sequence[Any]) -> Step:
    if not keys:
        raise InvalidArgument("order_by() takes one value, or more")
    parts = [key if isinstance(key, SortKey) else asc(key) for key in keys]
    return _joined(parts, nodes.node(nodes.SORT, len(parts)), "order_by")


def number(kind: int, count: int) -> Step:
    return Step(nodes.node(kind, number=count), (), (), "limit")


def select(columns: Sequence[Any], names: Mapping[str, Any]) -> Columns:
    if not columns and not names:
        raise InvalidArgument("select() takes one value, or more")
    return _columns(nodes.SELECT, columns, names, "select")


def group_by(keys: Sequence[Any], names: Mapping[str, Any]) -> Columns:
    return _columns(nodes.GROUP, keys, names, "group_by")


def whole(steps: Sequence[Part]) -> Step:
    """The query of all objects, with these steps."""
    made = _joined(steps, nodes.node(nodes.WHOLE, 1 + len(steps)), "group_by")
    return Step(nodes.TRUE + made._nodes, made._texts, made._properties, "group_by")


def _columns(kind: int, values: Sequence[Any], names: Mapping[str, Any], word: str) -> Columns:
    operands = [*map(named, values), *map(named, names.values())]
    parts: list[Any] = list(operands[: len(values)])
    for name, of in zip(names, operands[len(values) :]):
        parts.append(Part(of._nodes + nodes.column(name), of._texts, of._properties, name))
    made = _joined(parts, nodes.node(kind, len(parts)), word)
    step = Columns(made._nodes, made._texts, made._properties, word)
    step.described = tuple([of._described for of in operands])
    return step


def _joined(parts: Sequence[Any], node: bytes, word: str) -> Step:
    properties: Roots = roots.of_one(tuple(root for part in parts for root in part._properties))
    made = b"".join([part._nodes for part in parts])
    return Step(made + node, tuple([text for part in parts for text in part._texts]), properties, word)
