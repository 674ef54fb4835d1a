"""What objects are read through: a snapshot shared by all threads, or a transaction of one.

    Store ──_snapshot──► Snapshot (a frozen view of the newest version that was noticed)
      │                     ▲ block.epoch is snapshot.epoch: the block is still good
      └──_transaction──► Transaction (the open one; only the thread, and the task, that began it reads through it)

A *block* holds values that were read together. It does not refer to the view, so that keeping objects pins nothing;
it has the view's *epoch*, and is good as long as the view is the one to read through.
"""

import ctypes
from typing import TYPE_CHECKING, Any

from ..native import ffi
from ..native.failures import check, failure
from ..native.handles import Bag, cell_of
from ..values import documents, kinds
from ..values.c_values import Values, give_back, take
from . import packed_rows
from .evaluations import Evaluation, Evaluations
from .index_ranges import Stretch

if TYPE_CHECKING:
    from ..collections import collection
    from ..models.properties import Condition, Property
    from ..queries.loops_in_writes import Loop
    from ..schema.bindings import Binding


_get = ffi.bind("objstore_get")
_exists = ffi.bind("objstore_exists")
_find = ffi.bind("objstore_find")
_count = ffi.bind("objstore_count")
_count_where = ffi.bind("objstore_count_where")
_find_all = ffi.bind("objstore_find_all")
_find_by = ffi.bind("objstore_find_by")
_count_in = ffi.bind("objstore_count_in")
_find_in = ffi.bind("objstore_find_in")
_find_where = ffi.bind("objstore_find_where")
_first_where = ffi.bind("objstore_first_where")
_row_init = ffi.bind("objstore_row_init")
_row_next = ffi.bind("objstore_row_next")
_row_object = ffi.bind("objstore_row_object")
_view_version = ffi.bind("objstore_view_version")
_view_freeze = ffi.bind("objstore_view_freeze")
_view_close = ffi.bind("objstore_view_close")
_NAN = float("nan")
_NOTHING: frozenset[tuple[int, int]] = frozenset()


class Epoch:
    """The time during which a view is the one to read through. `fast`: for every thread, without looking further."""

    __slots__ = ("fast",)

    def __init__(self, fast: bool) -> None:
        self.fast = fast


class Block:
    """Values of some objects, read together. An object knows its row in its block."""

    __slots__ = ("epoch", "store", "columns", "rows", "single")

    def __init__(
        self, epoch: Epoch, store: Any, columns: list[Any], rows: "packed_rows.Rows | None", single: bool
    ) -> None:
        self.epoch = epoch
        self.store = store  # of its objects; None: they are unmanaged
        self.columns = columns  # by index of the property: a list, or {row: value}; None: not (yet) there
        self.rows = rows  # where columns come from
        self.single = single  # of one object alone: it may fill in columns

    def column(self, binding: "Binding", index: int) -> Any:
        """The column as a list, if it was prefetched."""
        if self.rows is not None:
            place = binding.prefetched_places[index]
            if place is not None:
                column = self.columns[index] = self.rows.column(place, binding.properties[index])
                return column
        return None


class View:
    """A view of the library that can be read through."""

    is_write = False

    def __init__(self, handle: int, fast: bool) -> None:
        self.handle = handle
        self.epoch = Epoch(fast)
        # objects whose blocks are out of date
        self.written: set[tuple[int, int]] | frozenset[tuple[int, int]] = _NOTHING
        self._evaluations = Evaluations()
        self.loops: Bag[Loop] | None = None  # that may outlive the view; None: it lives as long as they
        self.readings: Bag[collection.Loop] | None = None  # the same, of elements

    def version(self) -> int:
        """The version that is seen."""
        s = take()
        if status := _view_version(self.handle, s.number_address):
            raise failure(status)
        number = s.number.value
        give_back(s)
        return number

    def get(self, binding: "Binding", key: int, index: int) -> Any:
        """One property of one object."""
        s = take()
        s.head.value = binding.head
        s.key.value = key
        if status := _get(self.handle, s.object, binding.ids[index], None, s.values.address):
            raise failure(status)
        value = s.values.get(binding.properties[index])
        give_back(s)
        return value

    def exists(self, head: int, key: int) -> bool:
        s = take()
        s.head.value, s.key.value = head, key
        if status := _exists(self.handle, s.object, s.flag_address):
            raise failure(status)
        found = s.flag.value
        give_back(s)
        return found

    def find(self, binding: "Binding", key: Any) -> int | None:
        """The object key of the object with this primary key."""
        s = take()
        prop = binding.key_property or binding.primary_key  # which says why there is none
        s.values.put_one(prop, key if type(key) is prop.exact else kinds.convert(prop, key))
        if status := _find(self.handle, binding.class_id, s.values.first, s.object_address, s.flag_address):
            raise failure(status)
        found = s.key.value if s.flag.value else None
        give_back(s)
        return found

    def find_by(self, index_id: int, properties: "tuple[Property, ...]", values: list[Any]) -> int | None:
        """The object key of the object with these values in a unique index."""
        room = Values(len(properties))
        room.fill(list(properties), values)
        s = take()
        if status := _find_by(self.handle, index_id, room.address, len(properties), s.object_address, s.flag_address):
            raise failure(status)
        found = s.key.value if s.flag.value else None
        give_back(s)
        return found

    def count(self, binding: "Binding", condition: "Condition | Stretch | None") -> int:
        s = take()
        if condition is None:
            status = _count(self.handle, binding.class_id, s.number_address)
        elif isinstance(condition, Stretch):
            status = self._ask(_count_in, condition, s.number_address)
        else:
            prop, operator, value = condition
            s.values.put_one(condition.asked(), value)
            status = _count_where(
                self.handle, binding.class_id, binding.ids[prop.index], operator, s.values.first, s.number_address
            )
        if status:
            raise failure(status)
        number = s.number.value
        give_back(s)
        return number

    def _ask(self, function: Any, stretch: Stretch, out: int) -> int:
        """Calls a function about a stretch of an index; its status."""
        bounds = [Values(max(1, len(bound))) for bound in (stretch.first, stretch.last)]
        for room, bound in zip(bounds, (stretch.first, stretch.last)):
            room.fill(list(stretch.properties[: len(bound)]), list(bound))
        first, last = bounds
        status: int = function(
            self.handle,
            stretch.index_id,
            first.address,
            len(stretch.first),
            last.address,
            len(stretch.last),
            stretch.flags,
            out,
        )
        return status

    def evaluate(self, binding: "Binding", condition: "Condition | Stretch | None") -> Evaluation:
        """The objects that satisfy the condition. A query that is repeated goes to the library once, until
        something is written, or too many others came."""
        question = _question(binding, condition)
        evaluation = self._evaluations.find(question)
        if evaluation is None:
            evaluation = self._evaluate(binding, condition)
            # Lists change without a word to the write that is open.
            single = condition is None or isinstance(condition, Stretch) or condition.property.shape is None
            if single or not self.is_write:
                self._evaluations.keep(question, evaluation)
        return evaluation

    def first(self, binding: "Binding", condition: "Condition | Stretch | None") -> int | None:
        """The key of the first object that satisfies the condition. Where the list is not there, none is made, but for
        a stretch of an index."""
        if isinstance(condition, Stretch):
            stretch = self.evaluate(binding, condition)
            return stretch.keys(0, 1)[0] if stretch.count else None
        evaluation = self._evaluations.find(_question(binding, condition))
        if evaluation is not None:
            return evaluation.keys(0, 1)[0] if evaluation.count else None
        s = take()
        if condition is None:
            row = ctypes.byref(ffi.Row())
            status = _row_init(self.handle, binding.class_id, row) or _row_next(row, s.flag_address)
            if not status and s.flag.value:
                status = _row_object(row, s.object_address)
        else:
            prop, operator, value = condition
            s.values.put_one(condition.asked(), value)
            property_id = binding.ids[prop.index]
            status = _first_where(
                self.handle, binding.class_id, property_id, operator, s.values.first, s.object_address, s.flag_address
            )
        if status:
            raise failure(status)
        found = s.key.value if s.flag.value else None
        give_back(s)
        return found

    def _evaluate(self, binding: "Binding", condition: "Condition | Stretch | None") -> Evaluation:
        found = Evaluation()
        out = ctypes.addressof(found.cell)
        if condition is None:
            status = _find_all(self.handle, binding.class_id, out)
        elif isinstance(condition, Stretch):
            status = self._ask(_find_in, condition, out)
        else:
            prop, operator, value = condition
            s = take()
            s.values.put_one(condition.asked(), value)
            status = _find_where(self.handle, binding.class_id, binding.ids[prop.index], operator, s.values.first, out)
            give_back(s)
        if status:
            raise failure(status)
        return found.made()


def _question(binding: "Binding", condition: "Condition | Stretch | None") -> Any:
    """A query as a key of a dictionary."""
    if condition is None:
        return binding.class_id
    if isinstance(condition, Stretch):
        bounds = [tuple(map(_constant, condition.properties, bound)) for bound in (condition.first, condition.last)]
        return binding.class_id, condition.index_id, bounds[0], bounds[1], condition.flags
    return (
        binding.class_id,
        condition.property.index,
        condition.operator,
        _constant(condition.property, condition.value),
    )


def _constant(prop: "Property", value: Any) -> Any:
    """A value of a question, as a part of that key."""
    if prop.kind == kinds.MIXED and value is not None and not kinds.is_object(value):
        return documents.pack(prop, value)  # True is not 1, and a list is no key
    return _NAN if value != value else value  # which is found by identity only


class Snapshot(View):
    """A frozen view of what a view of the library shows now. Closed when nothing reads through it any more."""

    def __init__(self, view: int | None, fast: bool) -> None:
        super().__init__(0, fast)
        # Closing the store has closed it already, perhaps: then this says CLOSED_HANDLE, and nothing is amiss.
        self.cell = cell_of(self, _view_close)
        self.iterations: Bag[Any] = Bag()  # loops that read from it
        check(_view_freeze(view, ctypes.byref(self.cell)))
        self.handle = self.cell.value or 0
