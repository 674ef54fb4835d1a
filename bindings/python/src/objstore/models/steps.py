"""Steps behind the condition of a query: order, distinct values, limits."""

from collections.abc import Sequence
from typing import Any

from ..arguments import INT64, whole
from ..errors import InvalidArgument
from . import nodes, roots
from .expressions import Part, modifiers, named
from .roots import Roots


class SortKey(Part):
    """What results are ordered by: asc(Dog.name), desc(Dog.age)."""

    __slots__ = ()


class Step(Part):
    """What is done with the objects that satisfy the condition."""

    __slots__ = ()


def asc(value: Any, *, case: bool = True, accents: bool = True) -> SortKey:
    """For order_by(): the smallest first, and None before it. `case=False`: upper and lower case are the same."""
    return _sort_key(value, nodes.ASCENDING, "asc({})", case, accents)


def desc(value: Any, *, case: bool = True, accents: bool = True) -> SortKey:
    """For order_by(): the greatest first, and None last. `case=False`: upper and lower case are the same."""
    return _sort_key(value, nodes.DESCENDING, "desc({})", case, accents)


def _sort_key(value: Any, direction: int, form: str, case: bool, accents: bool) -> SortKey:
    of = named(value)
    node = nodes.node(nodes.SORT_KEY, 1, direction, modifiers(case, accents))
    return SortKey(of._nodes + node, of._texts, of._properties, form, value)


def order_by(keys: Sequence[Any]) -> Step:
    return _of_many(nodes.SORT, "order_by", [key if isinstance(key, SortKey) else asc(key) for key in keys])


def distinct(values: Sequence[Any]) -> Step:
    return _of_many(nodes.DISTINCT, "distinct", [named(value) for value in values])


def limit(count: int) -> Step:
    return _step_of(b"", (), (), nodes.node(nodes.LIMIT, number=whole("the limit", count, INT64)), "limit")


def offset(count: int) -> Step:
    return _step_of(b"", (), (), nodes.node(nodes.OFFSET, number=whole("the offset", count, INT64)), "offset")


def _of_many(kind: int, name: str, parts: "Sequence[Any]") -> Step:
    if not parts:
        raise InvalidArgument(f"{name}() takes one property, or more")
    properties = roots.of_one(tuple(root for part in parts for root in part._properties))
    made = b"".join([part._nodes for part in parts])
    texts = tuple([text for part in parts for text in part._texts])
    return _step_of(made, texts, properties, nodes.node(kind, len(parts)), name)


def _step_of(made: bytes, texts: tuple[bytes, ...], properties: Roots, node: bytes, name: str) -> Step:
    """A query of all objects, with one step."""
    return Step(nodes.TRUE + made + node + _WITH_A_STEP, texts, properties, name)


_WITH_A_STEP = nodes.node(nodes.WHOLE, 2)
