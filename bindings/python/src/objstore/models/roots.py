"""What a part of a query is about: the objects of one class, or, inside of where() of a collection, of several.

Person.dogs.where(Dog.age > Person.least).count > 2

Dog.age > Person.least   Dog and Person are variables -7 and -5 in its nodes: their classes' numbers
.where(…)                those of Dog become 1, the element; those of Person 0, the object that is asked about
"""

from collections.abc import Sequence
from typing import Any, Protocol

from ..errors import InvalidArgument
from ..values import kinds
from . import nodes


class Root(Protocol):
    """A property, or an inverse, that an object is asked for."""

    model: Any
    model_name: str


Roots = tuple[Any, ...]  # of one class; of several the first is a Several


class Several:
    """The first of the roots of a part that is about objects of several classes."""

    model = None

    def __init__(self, roots: Sequence[Any]) -> None:
        names = dict.fromkeys(root.model_name for root in roots)
        self.model_name = " and ".join(names)


class Rooted(Protocol):
    """A part of a query, or an operand."""

    @property
    def _nodes(self) -> bytes: ...
    @property
    def _properties(self) -> Roots: ...


def is_same(a: Any, b: Any) -> bool:
    """One class, or the same one, defined again?"""
    return a is b or (a is not None and b is not None and kinds.is_same(a, b))


def together(left: Rooted, right: Rooted) -> tuple[bytes, bytes, Roots]:
    """The nodes of both, and what they are about, as parts of one."""
    mine, others = left._properties, right._properties
    if not mine or not others or mine is others:
        return left._nodes, right._nodes, mine or others
    a, b = mine[0].model, others[0].model
    if a is b is not None or is_same(a, b):
        return left._nodes, right._nodes, _once(mine + others)
    return _apart(left._nodes, mine), _apart(right._nodes, others), _several(mine + others)


def of_one(roots: Roots) -> Roots:
    """InvalidArgument: they are of several classes."""
    for root in roots:
        first = roots[0]
        if not is_same(root.model, first.model):
            raise InvalidArgument(
                f"{first.model_name} and {root.model_name} are two classes: a query is about the objects of one"
            )
    return _once(roots)


def inside(around: Rooted, condition: Rooted, target: type, shown: str) -> tuple[bytes, bytes, Roots]:
    """The nodes of a collection and of a condition about its elements, which are of a class, as parts of one; the roots
    are what is left of both: the condition may be about the object around, too. InvalidArgument: it is not about the
    elements."""
    asked = tuple(root for root in condition._properties if not isinstance(root, Several))
    own = [root for root in asked if is_same(root.model, target)]
    if asked and not own:
        names = condition._properties[0].model_name
        raise InvalidArgument(f"'{condition!r}' is about {names}, and the elements of {shown} are {target.__name__}")
    outer = tuple(root for root in asked if not any(root is one for one in own))
    numbers = {-root.model._objstore_number for root in own}
    is_apart, is_of_one = len(asked) < len(condition._properties), bool(outer) and _are_of_one(outer)

    def number(old: int) -> int:
        if old > 0:  # an element of a collection inside of the condition, which is one level deeper now
            return old + 1
        if not is_apart or old in numbers:
            return 1
        return 0 if is_of_one else old

    left = _Nodes(around._nodes, around._properties)
    roots = outer if is_of_one or not outer else _several(outer)
    return together(left, _Nodes(nodes.renumbered(condition._nodes, number), roots))


class _Nodes:
    def __init__(self, made: bytes, roots: Roots) -> None:
        self._nodes = made
        self._properties = roots


def _are_of_one(roots: Roots) -> bool:
    return all(is_same(root.model, roots[0].model) for root in roots)


def _once(roots: Roots) -> Roots:
    return tuple(dict.fromkeys(roots))


def _several(roots: Roots) -> Roots:
    each = _once(tuple(root for root in roots if not isinstance(root, Several)))
    return Several(each), *each


def _apart(made: bytes, roots: Roots) -> bytes:
    """Variables with the number of their class, if they are all of one."""
    if isinstance(roots[0], Several):
        return made
    number: int = roots[0].model._objstore_number
    return nodes.renumbered(made, lambda old: old or -number)
