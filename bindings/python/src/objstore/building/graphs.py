"""What objects lead to, and the order in which the objects of a graph are added or copied."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import DuplicateKey
from ..objects import state
from ..objects.state import name_of
from ..values import elements, kinds
from ..values.kinds import is_loose
from . import descriptions

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..schema.bindings import Binding
    from ..stores.open_store import OpenStore
    from ..writing.transaction import Transaction


def in_order(transaction: "Transaction", root: Any, policy: int) -> list[Any]:
    """An object and those that it leads to and that are not in the transaction's store, each behind those that it leads
    to; without recursion, for a chain may be long. InvalidArgument: they lead in a circle. DuplicateKey: one that has a
    primary key is met twice, and the policy is "error"."""
    store = transaction.store
    found: list[Any] = []
    seen: dict[Any, bool] = {name_of(root): False}  # is it, and all that it leads to, in the list?
    path: list[tuple[Any, Iterator[Any]]] = [(root, iter(targets(root)))]
    while path:
        obj, following = path[-1]
        for target in following:
            if store._has(target):
                continue
            done = seen.get(name_of(target))
            if done is None:
                seen[name_of(target)] = False
                path.append((target, iter(targets(target))))
                break
            if not done:
                raise descriptions.cyclic(type(target))
            _allow_again(target, policy)
        else:
            seen[name_of(obj)] = True
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
        for prop in type(owner)._objstore_properties:
            if prop.kind == kinds.MIXED:
                found += kinds.objects_in(kinds.convert(prop, getattr(owner, prop.name)))
            elif prop.shape is not None and prop.shape.element.kind == kinds.MIXED:
                found += kinds.objects_in(elements.content(prop, getattr(owner, prop.name)))
            if prop.target is None:
                continue
            inner = [target for target in held(prop, getattr(owner, prop.name)) if isinstance(target, state.Slots)]
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


def loose_targets(binding: "Binding", obj: Any) -> list[Any]:
    """The objects that the links of an unmanaged object lead to, those of its embedded objects included; or None."""
    found = [obj._o_values[prop.index] for prop in binding.links]
    for prop in binding.link_collections:
        found += elements_of(obj, prop)
    for prop in binding.mixed:
        found += kinds.objects_in(obj._o_values[prop.index])
    for prop in binding.owning:
        found += inner_targets(obj, prop)
    return found


def inner_targets(obj: Any, prop: "Property") -> list[Any]:
    """Those of the embedded objects in a property."""
    return [target for inner in held(prop, obj._o_values[prop.index]) if inner is not None for target in targets(inner)]


def elements_of(obj: Any, prop: "Property") -> list[Any]:
    """The objects in a collection of an unmanaged object, or None; what they are was not looked at before."""
    content = prop.convert(obj._o_values[prop.index])
    return list(content.values() if isinstance(content, dict) else content)


def in_depth(store: "OpenStore", root: Any) -> list[Any]:
    """Unmanaged objects, each behind those that its links lead to; without recursion, for a chain may be long."""
    found: list[Any] = []
    seen = {id(root)}
    path = [(root, iter(loose_targets(store._binding(type(root)), root)))]
    while path:
        obj, following = path[-1]
        for target in following:
            if is_loose(target) and id(target) not in seen:
                seen.add(id(target))
                path.append((target, iter(loose_targets(store._binding(type(target)), target))))
                break
        else:
            found.append(obj)
            path.pop()
    return found


@contextmanager
def added(transaction: "Transaction", values: Iterable[Any]) -> Iterator[None]:
    """Unmanaged objects that are about to become elements are added first, with all that they lead to: all of it, or
    none."""
    loose = [value for value in values if is_loose(value)]
    if not loose:
        yield
        return
    with transaction.savepoint():
        for value in loose:
            transaction.add_linked(value)
        yield
