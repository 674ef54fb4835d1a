"""Copies of objects: unmanaged ones, and those in another store."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import described, elements, kinds, objects
from .counters import Counter
from .errors import DuplicateKey, InvalidArgument
from .kinds import LIST

if TYPE_CHECKING:
    from .properties import Property
    from .transaction import Transaction


def _name(obj: Any) -> Any:
    """What tells an object from others, however often it was read."""
    return objects.identity(obj) or id(obj)


def properties(obj: Any) -> "tuple[Property, ...]":
    found: tuple[Property, ...] = type(obj)._objstore_properties
    return found


# Unmanaged copies


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
        copy = self._made.get(_name(obj))
        if copy is None:
            copy = self._made[_name(obj)] = object.__new__(type(obj))
            objects.start(copy, [])
            self._given.append(obj)
            (self._open.appendleft if embedded else self._open.append)((obj, copy, left))
        return copy

    def run(self) -> None:
        while self._open:
            obj, copy, left = self._open.popleft()
            copy._o_values = [self._value(prop, getattr(obj, prop.name), left) for prop in properties(obj)]

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


# Copies in a store


class Made:
    """Objects of elsewhere, and what was made of them in a store."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def add(self, obj: Any, copy: Any) -> None:
        self._made[_name(obj)] = copy

    def find(self, obj: Any) -> Any:
        return self._made[_name(obj)]


def copy(transaction: "Transaction", model: Any, obj: Any, policy: int) -> Any:
    return copied(transaction, model, obj, policy)[0]


def copied(transaction: "Transaction", model: Any, obj: Any, policy: int) -> tuple[Any, int]:
    """An object of the class with the values of `obj`, which may belong to another store, to none, or to another class,
    and copies of the objects that it leads to, as far as they are not in this store; and what became of it."""
    from .nested import Assembly
    from .transaction import UNCHANGED

    store, made = transaction.store, Made()
    if policy and type(obj) is model and store._owns(obj):
        store._addable(obj)  # NoSuchObject: it was deleted
        return obj, UNCHANGED
    order = in_order(transaction, obj, policy)
    with transaction.savepoint():
        for each in order:
            of = model if each is obj else type(each)
            binding = store._binding(of)
            allowed = policy if each is obj or binding.key else 0
            key, outcome = Assembly(transaction, allowed, made=made).create(binding, each)
            result = objects.make(of, store._unread(binding), key)
            made.add(each, result)
    return result, outcome


def in_order(transaction: "Transaction", root: Any, policy: int) -> list[Any]:
    """An object and those that it leads to and that are not in the transaction's store, each behind those that it leads
    to; without recursion, for a chain may be long. InvalidArgument: they lead in a circle. DuplicateKey: one that has a
    primary key is met twice, and the policy is "error"."""
    store = transaction.store
    found: list[Any] = []
    seen: dict[Any, bool] = {_name(root): False}  # is it, and all that it leads to, in the list?
    path: list[tuple[Any, Iterator[Any]]] = [(root, iter(targets(root)))]
    while path:
        obj, following = path[-1]
        for target in following:
            if store._has(target):
                continue
            done = seen.get(_name(target))
            if done is None:
                seen[_name(target)] = False
                path.append((target, iter(targets(target))))
                break
            if not done:
                raise described.cyclic(type(target))
            _allow_again(target, policy)
        else:
            seen[_name(obj)] = True
            found.append(obj)
            path.pop()
    return found


def _allow_again(obj: Any, policy: int) -> None:
    key = type(obj)._objstore_key
    if policy == 0 and key and obj._o_block.store is not None:
        shown = ", ".join(f"{part.name} {getattr(obj, part.name)!r}" for part in key)
        raise DuplicateKey(
            f"the objects to be copied lead twice to the {type(obj).__name__} with {shown}, and the "
            "second copy would have the key of the first; update='modified' or 'all' makes one of them",
            class_name=key[0].model_name,
            property_name=", ".join(part.name for part in key),
        )


def targets(obj: Any) -> list[Any]:
    """The objects that links of an object lead to, those of its embedded objects included."""
    found: list[Any] = []
    owners, seen = [obj], {id(obj)}
    for owner in owners:
        for prop in properties(owner):
            if prop.kind == kinds.MIXED:
                found += kinds.objects_in(kinds.convert(prop, getattr(owner, prop.name)))
            elif prop.shape is not None and prop.shape.element.kind == kinds.MIXED:
                found += kinds.objects_in(elements.content(prop, getattr(owner, prop.name)))
            if prop.target is None:
                continue
            inner = [target for target in held(prop, getattr(owner, prop.name)) if isinstance(target, objects.Slots)]
            if not prop.embeds:
                found += inner
                continue
            for embedded in inner:
                if id(embedded) not in seen:
                    seen.add(id(embedded))
                    owners.append(embedded)
    return found


def held(prop: "Property", value: Any) -> list[Any]:
    """What a property that leads to objects holds: them, or None, in a list."""
    if prop.shape is None:
        return [value]
    content = elements.given(prop, value)
    return list(content.values()) if isinstance(content, dict) else content
