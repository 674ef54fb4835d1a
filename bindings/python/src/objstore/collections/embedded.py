"""Embedded objects one by one: made in a list or dict of their parent, and the way back to it."""

import ctypes
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..building.assembly import INDEX, Assembly
from ..errors import NoSuchClass
from ..native import ffi
from ..native.failures import check, failure
from ..objects import state
from ..values import elements
from ..values.c_values import give_back, take
from ..values.kinds import is_loose

if TYPE_CHECKING:
    from ..writing.transaction import Transaction


_parent = ffi.bind("objstore_parent")
_list_insert = ffi.bind("objstore_list_insert")
_map_set = ffi.bind("objstore_map_set")

END = -1  # OBJSTORE_END


def insert(transaction: "Transaction", c: Any, shape: elements.Shape, index: int, values: list[Any]) -> None:
    """Unmanaged objects become elements of a list, before the one at `index`."""
    for obj in values:
        if not is_loose(obj):
            s = take()
            s.values.put_one(shape.element, obj)
            check(_list_insert(transaction.handle, c, index, s.values.address, 1))  # which says why it cannot be
    assembly = Assembly(transaction, 0, circles=True)
    for at, obj in enumerate(values):
        assembly.embed(c, shape.element, INDEX, None if index == END else index + at, obj)
    assembly.make()


def merge(transaction: "Transaction", c: Any, shape: elements.Shape, content: dict[Any, Any]) -> None:
    """Unmanaged objects become values of a dict, in place of those that are there."""
    assert shape.key is not None
    assembly, given = Assembly(transaction, 0, circles=True), [key for key, obj in content.items() if not is_loose(obj)]
    for key, obj in content.items():
        if is_loose(obj):
            assembly.embed(c, shape.element, shape.key, key, obj)
    with transaction.savepoint() if given else nullcontext():
        for key in given:
            s, t = take(), take()
            s.values.put_one(shape.key, key)
            t.values.put_one(shape.element, content[key])
            check(_map_set(transaction.handle, c, s.values.first, t.values.first, None))
            give_back(s)
            give_back(t)
        assembly.make()


def parent(obj: Any) -> Any:
    """The object that an embedded one lies in; None of an unmanaged one."""
    source = obj._o_block.store
    if source is None:
        return None
    s, found, view = take(), ffi.Object(), source._view_for(obj._o_block.epoch)
    s.head.value, s.key.value = source._binding(type(obj)).head, obj._o_key
    if status := _parent(view.handle, s.object, ctypes.byref(found), None):
        raise failure(status)
    give_back(s)
    binding = source._of_class(found.class_id)
    if binding is not None:
        return state.make(binding.model, source._unread(binding), found.key)
    raise NoSuchClass(f"the parent of this {type(obj).__name__} is of a class that the store was not opened with")
