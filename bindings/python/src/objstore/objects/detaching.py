"""Unmanaged copies of objects, with what they lead to."""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument
from ..values import elements, kinds
from ..values.counters import Counter
from ..values.kinds import LIST
from . import state
from .state import name_of

if TYPE_CHECKING:
    from ..models.properties import Property


def depth_of(depth: int | None) -> int | None:
    if depth is None or (isinstance(depth, int) and not isinstance(depth, bool) and depth >= 0):
        return depth
    raise InvalidArgument(f"depth is an int from 0 on, or None: without end; not {depth!r}")


def detach(obj: Any, depth: int | None) -> Any:
    return detach_all([obj], depth)[0]


def detach_all(given: Iterable[Any], depth: int | None) -> list[Any]:
    """Copies of objects, and of those that they lead to, each once; None stays None."""
    copying = _Detaching()
    left = depth_of(depth)
    made = [None if obj is None else copying.of(obj, left) for obj in given]
    copying.run()
    return made


def detach_content(prop: "Property", content: Any, depth: int | None) -> Any:
    """A builtin collection of any values, with copies of the objects in it."""
    copying = _Detaching()
    made = copying.content(prop, content, depth_of(depth))
    copying.run()
    return made


class _Detaching:
    """The nearest objects are copied first, so that each is copied as deep as its shortest way allows."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}
        self._given: list[Any] = []  # as long as their id() is a name
        self._open: deque[tuple[Any, Any, int | None]] = deque()

    def of(self, obj: Any, left: int | None, embedded: bool = False) -> Any:
        copy = self._made.get(name_of(obj))
        if copy is None:
            copy = self._made[name_of(obj)] = object.__new__(type(obj))
            state.start(copy, [])
            self._given.append(obj)
            (self._open.appendleft if embedded else self._open.append)((obj, copy, left))
        return copy

    def run(self) -> None:
        while self._open:
            obj, copy, left = self._open.popleft()
            copy._o_values = [
                self._value(prop, getattr(obj, prop.name), left) for prop in type(obj)._objstore_properties
            ]

    def _value(self, prop: "Property", value: Any, left: int | None) -> Any:
        if prop.target is None:
            further = None if left is None else left - 1
            if prop.kind == kinds.MIXED:
                return self._mixed(kinds.convert(prop, value), further)
            if prop.shape is not None and prop.shape.element.kind == kinds.MIXED:
                return self.content(prop, value, further)
            if isinstance(value, Counter):
                return value.value
            return value if prop.shape is None else value.copy()
        if not prop.embeds:
            left = None if left is None else left - 1

        def one(obj: Any) -> Any:
            return None if obj is None or left == -1 else self.of(obj, left, prop.embeds)

        if prop.shape is None:
            return one(value)
        if prop.shape.key is not None:
            return {key: one(obj) for key, obj in value.items()}
        found = [] if left == -1 else [one(obj) for obj in value]
        return found if prop.kind == LIST else elements.ObjectSet(found)

    def content(self, prop: "Property", value: Any, left: int | None) -> Any:
        """A collection of any values."""
        content = elements.content(prop, value.copy())
        if isinstance(content, dict):
            return {key: self._mixed(element, left) for key, element in content.items()}
        # A link that is not followed leaves its set.
        made = [self._mixed(e, left) for e in content if left != -1 or prop.kind == LIST or not kinds.is_object(e)]
        return made if prop.kind == LIST else elements.ObjectSet(made) if any(map(kinds.is_object, made)) else set(made)

    def _mixed(self, value: Any, left: int | None) -> Any:
        """A plain value with copies of its objects; None, where no more are to be followed."""
        return kinds.with_objects(value, lambda obj: None if left == -1 else self.of(obj, left))
