"""SORT, DISTINCT, LIMIT and OFFSET, in the order they are written."""

from __future__ import annotations

from typing import Any

from . import nodes
from .binding import BoundPath, Scope, bind_path
from .errors import QueryError
from .paths import values
from .text import prepare
from .values import Link, Value, order, sort_key


def apply_steps(scope: Scope, steps: tuple[nodes.Step, ...], found: list[Link]) -> list[Link]:
    """The objects after all steps."""
    for step in steps:
        if isinstance(step, nodes.Sort):
            found = sort(scope, step, found)
        elif isinstance(step, nodes.Distinct):
            found = distinct(scope, step, found)
        elif isinstance(step, nodes.Limit):
            found = found[: step.count]
        else:
            found = found[step.count :]
    return found


def bind_single(scope: Scope, path: nodes.Path) -> BoundPath:
    """A path that has one value for each object."""
    if path.operation is not None:
        raise QueryError(path.operation.position, "a property", "@" + path.operation.name)
    bound = bind_path(scope, path)
    if bound.end.many or bound.end.collection:
        raise QueryError(path.position, "a path without collections", f"'{bound.end.label}'")
    return bound


def value_of(scope: Scope, path: BoundPath, link: Link) -> Value:
    """What a path has for an object."""
    return values(scope.database, path, {"": link})[0]


def sort(scope: Scope, step: nodes.Sort, found: list[Link]) -> list[Link]:
    """Stable: the last field first, so that the earlier ones decide."""
    bound = [(bind_single(scope, order_by.path), order_by) for order_by in step.orders]
    for path, order_by in reversed(bound):

        def key(link: Link, path: BoundPath = path, order_by: nodes.Order = order_by) -> Any:
            return sort_key(folded(value_of(scope, path, link), order_by))

        found = sorted(found, key=key, reverse=not order_by.ascending)
    return found


def folded(value: Value, order_by: nodes.Order) -> Value:
    """A text as the flags of an order see it."""
    return prepare(value, order_by.ignore_case, order_by.ignore_diacritics) if isinstance(value, str) else value


def distinct(scope: Scope, step: nodes.Distinct, found: list[Link]) -> list[Link]:
    """The first object of each combination of values."""
    paths = [bind_single(scope, path) for path in step.paths]
    kept: list[Link] = []
    seen: list[list[Value]] = []
    for link in found:
        combination = [value_of(scope, path, link) for path in paths]
        if not any(all(order(one, two) == 0 for one, two in zip(combination, earlier)) for earlier in seen):
            seen.append(combination)
            kept.append(link)
    return kept
