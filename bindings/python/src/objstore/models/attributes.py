"""The attributes of objects: what reading and setting a property runs, wherever the values of the object are."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..building.assembly import Assembly
from ..building.descriptions import describes, resolved
from ..building.outcomes import POLICIES
from ..collections import filling, mixed
from ..collections.collection import Collection, attach
from ..collections.dicts import Dict
from ..collections.lists import List
from ..collections.sets import Set
from ..objects import state
from ..values import kinds

if TYPE_CHECKING:
    from .properties import Property


def link_getter(prop: "Property", read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Makes an object of the number that a managed object holds."""

    def get(self: Any) -> Any:
        value = read(self)
        if type(value) is not int:
            return value  # None, or the object of an unmanaged one
        store = self._o_block.store
        binding = store._leading(prop.target)
        return state.make(binding.model, store._unread(binding), value)

    return get


def write(obj: Any, prop: "Property", value: Any) -> None:
    """Sets a property: of an unmanaged object at once, of a managed one in its store's open write."""
    store = obj._o_block.store
    if store is None:
        obj._o_values[prop.index] = kinds.convert(prop, value if prop.target is None else resolved(prop, value))
        return
    transaction, binding = store._writing(prop), store._binding(type(obj))
    if prop.target is not None and _nest(transaction, binding, obj, prop, value):
        return
    if isinstance(value, mixed.Nested) and value._is_at(store, (binding.head, obj._o_key, binding.ids[prop.index]), ()):
        return  # dog.extra += …: it is there already
    converted = kinds.convert(prop, value)
    led = [converted] if prop.target is not None else kinds.objects_in(converted) if prop.kind == kinds.MIXED else ()
    if any(map(kinds.is_loose, led)):
        Assembly(transaction, 0, circles=True).set(binding, obj._o_key, prop, converted)
        return
    transaction.set(binding, obj._o_key, prop, converted)


def assign(obj: Any, prop: "Property", value: Any) -> None:
    """Replaces the content of a list, set or dict."""
    store = obj._o_block.store
    if store is None:
        obj._o_values[prop.index] = prop.convert(value if prop.target is None else resolved(prop, value))
        return
    transaction, binding = store._writing(prop), store._binding(type(obj))
    place = (binding.head, obj._o_key, binding.ids[prop.index])
    if isinstance(value, Collection) and value._place == place and value._source is store:
        return  # dog.toys += …: it is there already
    if prop.target is not None and _nest(transaction, binding, obj, prop, value):
        return
    results = getattr(value, "_evaluate", None)
    if results is not None and prop.target is not None and prop.shape is not None and prop.shape.key is None:
        found = results()[1]  # kept during the call
        return filling.assign_results(transaction, binding, obj._o_key, prop, found.handle)
    filling.update(transaction, binding, obj._o_key, prop, prop.convert(value))


def _nest(transaction: Any, binding: Any, obj: Any, prop: "Property", value: Any) -> bool:
    """Gives a property of a managed object what values describe, or embedded objects: what lies in it already stays the
    object that it is, wherever it is given, and what is not given is deleted. False: they are other objects."""
    described = describes(prop, value)
    if described or prop.embeds:
        assembly = Assembly(transaction, POLICIES["all"] if described else 0)
        assembly.set(binding, obj._o_key, prop, value if described else prop.convert(value))
    return described or prop.embeds


LIVE: dict[int, type] = {kinds.LIST: List, kinds.SET: Set, kinds.MAP: Dict}


def getter(index: int) -> Callable[[Any], Any]:
    read = state.read

    def get(self: Any) -> Any:
        block = self._o_block
        if block.epoch.fast:
            column = block.columns[index]
            if column is not None:
                return column[self._o_row]
        return read(self, index)

    return get


def setter(prop: "Property") -> Callable[[Any, Any], None]:
    def set(self: Any, value: Any) -> None:
        store = self._o_block.store
        if store is not None and type(value) is prop.exact:  # as a rule: 0.5 µs without a look at what else it may be
            store._writing(prop).set(store._binding(type(self)), self._o_key, prop, value)
        else:
            write(self, prop, value)

    return set


def collection_getter(prop: "Property") -> Callable[[Any], Any]:
    def get(self: Any) -> Any:
        block = self._o_block
        store = block.store
        if store is None:
            return self._o_values[prop.index]
        return attach(LIVE[prop.kind], store, block.epoch, store._binding(type(self)), self._o_key, prop)

    return get


def mixed_getter(prop: "Property") -> Callable[[Any], Any]:
    def get(self: Any) -> Any:
        store = self._o_block.store
        if store is None:
            return self._o_values[prop.index]
        return mixed.read(self, prop)

    return get


def collection_setter(prop: "Property") -> Callable[[Any, Any], None]:
    def set(self: Any, value: Any) -> None:
        assign(self, prop, value)

    return set
