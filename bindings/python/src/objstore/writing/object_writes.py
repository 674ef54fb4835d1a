"""The calls that change objects in an open write."""

import ctypes
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..building.outcomes import CREATED, Counts
from ..native import ffi
from ..native.failures import check, failure
from ..objects import state
from ..reading.views import Epoch, View
from ..values import columns
from ..values.c_values import Values, give_back, take

if TYPE_CHECKING:
    from ..collections import collection
    from ..models.properties import Property
    from ..native.handles import Bag
    from ..schema.bindings import Binding
    from ..stores.store import Store


_create = ffi.bind("objstore_create")
_upsert = ffi.bind("objstore_upsert")
_set = ffi.bind("objstore_set")
_increment = ffi.bind("objstore_increment")
_delete = ffi.bind("objstore_delete")
_delete_together = ffi.bind("objstore_delete_objects")
_delete_all = ffi.bind("objstore_delete_all")
_delete_everything = ffi.bind("objstore_delete_everything")
_results_set = ffi.bind("objstore_results_set")
_results_increment = ffi.bind("objstore_results_increment")
_results_delete = ffi.bind("objstore_results_delete")
_set_objects = ffi.bind("objstore_collection_set_objects")
_delete_objects = ffi.bind("objstore_collection_delete_objects")
_insert_rows = ffi.bind("objstore_insert_rows")


class ObjectWrites(View):
    """The calls that change objects in an open write. Everything here is called by the store, on the right thread."""

    is_write = True
    store: "Store"
    readings: "Bag[collection.Loop]"
    written: set[tuple[int, int]]
    _added: list[list[Any]]  # groups of objects, until the commit

    def settle(self, place: tuple[int, int, int] | None = None) -> None:
        """A list, set or dict is about to change; without one: any of them may. Loops over it read what is left, and
        what was found before is not good any more."""
        self._evaluations.clear()
        for reading in list(self.readings) if self.readings else ():
            if place is None or place == reading.place:
                reading.settle()

    def _writes(self, class_id: int, key: int) -> None:
        """Before an object is written: what was read of it, and found, is not good any more, however the call ends."""
        self.written.add((class_id, key))
        self._evaluations.clear()

    def _wrote_many(self) -> None:
        self.epoch = Epoch(False)  # no block that was read before is good any more
        self.written.clear()
        self._evaluations.clear()

    def set(self, binding: "Binding", key: int, prop: "Property", value: Any) -> None:
        s = take()
        s.head.value, s.key.value = binding.head, key
        s.values.put_one(prop, value)
        self.written.add((binding.class_id, key))  # as _writes()
        self._evaluations.clear()
        if status := _set(self.handle, s.object, binding.ids[prop.index], s.values.first):
            raise failure(status)
        give_back(s)

    def increment(self, binding: "Binding", key: int, prop: "Property", delta: int) -> None:
        s = take()
        s.head.value, s.key.value = binding.head, key
        self._writes(binding.class_id, key)
        if status := _increment(self.handle, s.object, binding.ids[prop.index], delta, None):
            raise failure(status)
        give_back(s)

    def set_results(self, results: int, binding: "Binding", properties: list["Property"], values: list[Any]) -> int:
        """The same values for all objects of results, a handle; how many there are."""
        return self._changed_many(_results_set, results, self.handle, *_row(binding, properties, values))

    def increment_results(self, results: int, binding: "Binding", prop: "Property", delta: Any) -> int:
        room = Values(1)
        room.put_one(prop, delta)
        return self._changed_many(_results_increment, results, self.handle, binding.ids[prop.index], room.first)

    def delete_results(self, results: int) -> int:
        self.settle()
        return self._changed_many(_results_delete, results, self.handle)

    def set_objects(self, collection: Any, binding: "Binding", properties: list["Property"], values: list[Any]) -> int:
        """The same values for all objects that a collection, a C value, has links to; how many there are."""
        return self._changed_many(_set_objects, self.handle, collection, *_row(binding, properties, values))

    def delete_objects(self, collection: Any) -> int:
        self.settle()
        return self._changed_many(_delete_objects, self.handle, collection)

    def _changed_many(self, function: Any, *arguments: Any) -> int:
        count = ctypes.c_uint64()
        try:
            check(function(*arguments, ctypes.byref(count)))
        finally:
            self._wrote_many()
        return count.value

    def create(
        self, binding: "Binding", properties: list["Property"], values: list[Any], policy: int
    ) -> tuple[int, int]:
        """Creates or updates one object; its key, and which of the two: UNCHANGED, CHANGED or CREATED."""
        count = len(properties)
        room = Values(max(count, 1))
        room.fill(properties, values)
        ids = columns.property_ids([binding.ids[p.index] for p in properties])
        made, outcome = ffi.Object(), CREATED
        self._evaluations.clear()
        if policy == 0:
            status = _create(self.handle, binding.class_id, ids, room.address, count, ctypes.byref(made))
        else:
            out = ctypes.c_int32()
            status = _upsert(
                self.handle, binding.class_id, policy, ids, room.address, count, ctypes.byref(made), ctypes.byref(out)
            )
            outcome = out.value
        if status:
            raise failure(status)
        key: int = made.key
        self.written.add((binding.class_id, key))
        return key, outcome

    def insert(self, built: columns.Columns, policy: int) -> "tuple[Counts, memoryview]":
        """Creates or updates many objects, all or none of them; their keys."""
        keys = columns.words(built.rows)
        counts = ffi.InsertCounts()
        if policy == 0:
            self._evaluations.clear()  # what was read before is as it was
        else:
            self._wrote_many()
        status = _insert_rows(
            self.handle,
            built.binding.class_id,
            policy,
            built.array,
            built.count,
            built.rows,
            columns.address_of(keys),
            ctypes.byref(counts),
        )
        if status:
            raise failure(status)
        return Counts(counts.created, counts.changed, counts.unchanged), memoryview(keys)

    def adopt(self, binding: "Binding", group: list[Any], keys: Any) -> None:
        """Makes unmanaged objects the store's."""
        state.manage(group, self.store._unread(binding), keys)
        self._added.append(group)

    def delete(self, binding: "Binding", key: int) -> None:
        self.settle()
        self._writes(binding.class_id, key)
        if binding.is_target or binding.takes_along:
            self._wrote_many()  # links to it are None then, wherever they are; and others may go, too
        check(_delete(self.handle, ffi.Object(binding.class_id, binding.head >> 32, key)))

    def delete_together(self, heads: "Sequence[int]", keys: "Sequence[int]") -> None:
        """Deletes objects, all or none, whose class and store, and keys, are given."""
        self.settle()
        given = array("Q", [word for pair in zip(heads, keys) for word in pair])
        self._wrote_many()
        check(_delete_together(self.handle, given.buffer_info()[0], len(keys)))

    def delete_all(self, binding: "Binding") -> int:
        self.settle()
        return self._changed_many(_delete_all, self.handle, binding.class_id)

    def delete_everything(self) -> int:
        self.settle()
        return self._changed_many(_delete_everything, self.handle)


def _row(binding: "Binding", properties: list["Property"], values: list[Any]) -> tuple[Any, Any, int]:
    """Converted values of one object for a call: their properties, the values, how many. Their memory is kept by the C
    array."""
    room = Values(max(len(properties), 1))
    room.fill(properties, values)
    return columns.property_ids([binding.ids[p.index] for p in properties]), _Kept(room), len(properties)


class _Kept:
    """The address of values, for ctypes, and the values, alive as long as it."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self._as_parameter_ = values.address
