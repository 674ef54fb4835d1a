"""Copies of objects in another store."""

from typing import TYPE_CHECKING, Any

from ..objects import state
from ..objects.state import name_of
from .assembly import Assembly
from .graphs import in_order
from .outcomes import UNCHANGED

if TYPE_CHECKING:
    from ..writing.transaction import Transaction


class Made:
    """Objects of elsewhere, and what was made of them in a store."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def add(self, obj: Any, copy: Any) -> None:
        self._made[name_of(obj)] = copy

    def find(self, obj: Any) -> Any:
        return self._made[name_of(obj)]


def copy(transaction: "Transaction", model: Any, obj: Any, policy: int) -> Any:
    return copied(transaction, model, obj, policy)[0]


def copied(transaction: "Transaction", model: Any, obj: Any, policy: int) -> tuple[Any, int]:
    """An object of the class with the values of `obj`, which may belong to another store, to none, or to another class,
    and copies of the objects that it leads to, as far as they are not in this store; and what became of it."""
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
            result = state.make(of, store._unread(binding), key)
            made.add(each, result)
    return result, outcome
