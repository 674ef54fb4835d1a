"""Embedded objects one by one: made in a list or dict of their parent, and the way back to it."""

import ctypes
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..building.assembly import INDEX, Assembly
from ..errors import NoSuchClass
from ..native import ffi
from ..native.failures import check, failure
from ..objects import state
from ..values import columns, elements
from ..values.c_values import Values, give_back, take
from ..values.kinds import is_loose

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..schema.bindings import Binding
    from ..values.kinds import Described
    from ..writing.transaction import Transaction


_create_embedded = ffi.bind("objstore_create_embedded")
_parent = ffi.bind("objstore_parent")
_list_insert = ffi.bind("objstore_list_insert")
_map_set = ffi.bind("objstore_map_set")

END = -1  # OBJSTORE_END


def insert(transaction: "Transaction", c: Any, shape: elements.Shape, index: int, values: list[Any]) -> None:
    """Unmanaged objects become elements of a list, before the one at `index`."""
    with transaction.savepoint() if len(values) > 1 else nullcontext():
        for at, obj in enumerate(values):
            place = index if index == END else index + at
            if is_loose(obj):
                _make(transaction, c, INDEX, None if place == END else place, obj)
                continue
            s = take()
            s.values.put_one(shape.element, obj)
            check(_list_insert(transaction.handle, c, place, s.values.address, 1))  # which says why it cannot be
            give_back(s)


def merge(transaction: "Transaction", c: Any, shape: elements.Shape, content: dict[Any, Any]) -> None:
    """Unmanaged objects become values of a dict, in place of those that are there."""
    assert shape.key is not None
    with transaction.savepoint() if len(content) > 1 else nullcontext():
        for key, obj in content.items():
            if is_loose(obj):
                _make(transaction, c, shape.key, key, obj)
                continue
            s, t = take(), take()
            s.values.put_one(shape.key, key)
            t.values.put_one(shape.element, obj)
            check(_map_set(transaction.handle, c, s.values.first, t.values.first, None))
            give_back(s)
            give_back(t)


def place(transaction: "Transaction", binding: "Binding", key: int, prop: "Property", value: Any) -> None:
    """Gives a property of an object a converted value: what lies in it already keeps being the object that it is,
    wherever it is given, unmanaged objects become embedded, and what is not given is deleted."""
    Assembly(transaction, 0).set(binding, key, prop, value)


def _make(transaction: "Transaction", c: Any, part: "Described", place: Any, obj: Any) -> None:
    """An embedded object of an unmanaged one, which becomes it."""
    binding, values = transaction.store._binding(type(obj)), obj._o_values
    contents = [(p, values[p.index]) for p in binding.collections + binding.owning]
    full = [(p, content) for p, content in contents if content is not None and (p.shape is None or content)]
    loose = [values[p.index] for p in binding.links if is_loose(values[p.index])]
    with transaction.savepoint() if full or loose else nullcontext():
        for target in loose:
            transaction.add_linked(target)
        room, s, made = Values(max(1, len(binding.scalars))), take(), ffi.Object()
        room.fill(binding.scalars, [values[p.index] for p in binding.scalars])
        s.values.put_one(part, place)
        ids = columns.property_ids([binding.ids[p.index] for p in binding.scalars])
        status = _create_embedded(
            transaction.handle,
            c.owner,
            c.property_id,
            s.values.first,
            ids,
            room.address,
            len(binding.scalars),
            ctypes.byref(made),
        )
        if status:
            raise failure(status)
        give_back(s)
        transaction._wrote_many()
        transaction.adopt(binding, [obj], [made.key])
        for prop, content in full:
            Assembly(transaction, 0).set(binding, made.key, prop, content)


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
