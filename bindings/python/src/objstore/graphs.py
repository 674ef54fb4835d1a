"""Unmanaged objects, and those that they lead to: what is added together."""

from typing import TYPE_CHECKING, Any

from . import copies, kinds
from .kinds import is_loose
from .properties import Property

if TYPE_CHECKING:
    from .schema import Binding
    from .store import Store


def targets(binding: "Binding", obj: Any) -> list[Any]:
    """The objects that the links of an unmanaged object lead to, those of its embedded objects included; or None."""
    found = [obj._o_values[prop.index] for prop in binding.links]
    for prop in binding.link_collections:
        found += elements(obj, prop)
    for prop in binding.mixed:
        found += kinds.objects_in(obj._o_values[prop.index])
    for prop in binding.owning:
        found += inner_targets(obj, prop)
    return found


def inner_targets(obj: Any, prop: Property) -> list[Any]:
    """Those of the embedded objects in a property."""
    return [
        target
        for inner in copies.held(prop, obj._o_values[prop.index])
        if inner is not None
        for target in copies.targets(inner)
    ]


def elements(obj: Any, prop: Property) -> list[Any]:
    """The objects in a collection of an unmanaged object, or None; what they are was not looked at before."""
    content = prop.convert(obj._o_values[prop.index])
    return list(content.values() if isinstance(content, dict) else content)


def in_depth(store: "Store", root: Any) -> list[Any]:
    """Unmanaged objects, each behind those that its links lead to; without recursion, for a chain may be long."""
    found: list[Any] = []
    seen = {id(root)}
    path = [(root, iter(targets(store._binding(type(root)), root)))]
    while path:
        obj, following = path[-1]
        for target in following:
            if is_loose(target) and id(target) not in seen:
                seen.add(id(target))
                path.append((target, iter(targets(store._binding(type(target)), target))))
                break
        else:
            found.append(obj)
            path.pop()
    return found
