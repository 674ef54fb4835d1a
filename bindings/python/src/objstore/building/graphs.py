"""What unmanaged objects lead to."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..values import elements, kinds
from ..values.kinds import is_loose
from .assembly import Assembly

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..schema.bindings import Binding
    from ..writing.transaction import Transaction


def held(prop: "Property", value: Any) -> list[Any]:
    """What a property that leads to objects holds: them, or None, in a list."""
    if prop.shape is None:
        return [value]
    content = elements.given(prop, value)
    return list(content.values()) if isinstance(content, dict) else content


def leads_on(binding: "Binding", obj: Any) -> bool:
    """Does an unmanaged object itself lead to unmanaged ones?"""
    values = obj._o_values
    return (
        any(is_loose(values[prop.index]) for prop in binding.links)
        or any(
            map(
                is_loose, (e for prop in binding.link_collections for e in held(prop, prop.convert(values[prop.index])))
            )
        )
        or any(is_loose(found) for prop in binding.mixed for found in kinds.objects_in(values[prop.index]))
    )


def add(transaction: "Transaction", objects: list[Any], policy: int) -> None:
    """Unmanaged objects, and those that they lead to, become the store's: all or none."""
    if len(objects) == 1:  # as a rule
        (obj,) = objects
        binding = transaction.store._binding(type(obj))
        if binding.is_plain and not leads_on(binding, obj):
            key, _ = transaction.create(binding, binding.scalars, obj._o_values, policy)
            return transaction.adopt(binding, [obj], [key])
    assembly = Assembly(transaction, policy, circles=True)
    for obj in objects:
        assembly.add(transaction.store._binding(type(obj)), obj)
    assembly.make()


@contextmanager
def added(transaction: "Transaction", values: Iterable[Any]) -> Iterator[None]:
    """Unmanaged objects that are about to become elements are added first, with all that they lead to: all of it, or
    none."""
    loose = [value for value in values if is_loose(value)]
    if not loose:
        yield
        return
    with transaction.savepoint():
        add(transaction, loose, 0)
        yield
