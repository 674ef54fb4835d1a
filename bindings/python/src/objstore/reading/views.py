"""What objects are read through: a snapshot shared by all threads, or a transaction of one.

    Store ──_snapshot──► Snapshot (a frozen view of the newest version that was noticed)
      │                     ▲ block.epoch is snapshot.epoch: the block is still good
      └──_transaction──► Transaction (the open one; only the thread, and the task, that began it reads through it)

A *block* holds values that were read together. It does not refer to the view, so that keeping objects pins nothing;
it has the view's *epoch*, and is good as long as the view is the one to read through.
"""

import ctypes
from typing import TYPE_CHECKING, Any

from ..errors import OutOfRange, Status
from ..native import ffi
from ..native.callbacks import Calls
from ..native.failures import check, failure
from ..native.handles import Bag, cell_of
from ..values import kinds
from ..values.c_values import Values, give_back, take
from ..values.custom_types import Custom
from . import packed_rows, queries
from .evaluations import Evaluation, Evaluations
from .found_values import FoundValues
from .queries import Query

if TYPE_CHECKING:
    from ..collections import collection
    from ..models.properties import Property
    from ..queries.loops_in_writes import Loop
    from ..schema.bindings import Binding


_get = ffi.bind("objstore_get")
_exists = ffi.bind("objstore_exists")
_find = ffi.bind("objstore_find")
_count = ffi.bind("objstore_count")
_find_by = ffi.bind("objstore_find_by")
_incoming = ffi.bind("objstore_incoming")
_incoming_count = ffi.bind("objstore_incoming_count")
_query_close = ffi.bind("objstore_query_close")
_query_count = ffi.bind("objstore_query_count")
_query_find = ffi.bind("objstore_query_find")
_query_find_values = ffi.bind("objstore_query_find_values")
_query_first = ffi.bind("objstore_query_first")
_view_version = ffi.bind("objstore_view_version")
_view_freeze = ffi.bind("objstore_view_freeze")
_view_close = ffi.bind("objstore_view_close")
watchers: dict[int, Any] = {}  # functions that are told how far queries of a store have come, by number
_NOTHING: frozenset[tuple[int, int]] = frozenset()


def asked(query: Query, function: Any, *arguments: Any) -> int:
    """The status of a call that asks a query. What functions of Python raised that it calls is raised."""
    return answered(query.calls, function, *arguments)


def answered(calls_functions: bool, function: Any, *arguments: Any) -> int:
    """The same of any call that asks something."""
    if not calls_functions and not watchers:
        return int(function(*arguments))
    calls = Calls()
    status = calls.run(function, *arguments)
    calls.check()
    return status


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
                prop = binding.properties[index]
                try:
                    column = self.columns[index] = self.rows.column(place, prop)
                except OutOfRange:
                    if not isinstance(prop.enum, Custom):
                        raise
                    return None  # the object whose value is none of the type is told when that is read
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
        prop = binding.key_property
        if prop is None:
            prop = binding.primary_key  # which says why there is none
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

    def count(self, binding: "Binding", query: Query | None) -> int:
        """How many objects there are; without a query: of the class."""
        return self._count(query, binding.class_id)

    def _count(self, query: Query | None, class_id: int = 0) -> int:
        s = take()
        if query is None:
            status = _count(self.handle, class_id, s.number_address)
        else:
            status = asked(query, _query_count, query.cell, self.handle, s.number_address)
        if status:
            raise failure(status)
        number = s.number.value
        give_back(s)
        return number

    def count_once(self, class_id: int, nodes: bytes, texts: tuple[bytes, ...]) -> int:
        """The same with a query that is made for this alone."""
        if watchers or queries.calls_in(nodes):
            return self._count(queries.of_nodes(self.handle, class_id, nodes, texts))
        s = take()  # which closes it, if a signal handler raises here
        status = queries.make(self.handle, class_id, nodes, texts, s.query_address)
        status = status or _query_count(s.query, self.handle, s.number_address)
        if status:
            raise queries.failed(status)
        _query_close(s.query)
        number = s.number.value
        give_back(s)
        return number

    def remembered(self, key: Any) -> Evaluation | None:
        """What a query with that key has found."""
        return self._evaluations.find(key)

    def evaluate(self, query: Query) -> Evaluation:
        """The objects that a query finds. One that is repeated goes to the library once, until something is written,
        or too many others came."""
        evaluation = self._evaluations.find(query.key)
        if evaluation is None:
            evaluation = Evaluation()
            check(asked(query, _query_find, query.cell, self.handle, evaluation.out))
            self._evaluations.keep(query.key, evaluation.made())
        return evaluation

    def find_values(self, query: Query) -> FoundValues:
        """The same of plain values."""
        found = self._evaluations.find(query.key)
        if not isinstance(found, FoundValues):
            found = FoundValues()
            check(asked(query, _query_find_values, query.cell, self.handle, found.out))
            self._evaluations.keep(query.key, found.made())
        return found

    def first(self, query: Query) -> int | None:
        """The key of the first object that a query finds. Where the list is not there, none is made."""
        evaluation = self._evaluations.find(query.key)
        if evaluation is not None:
            return evaluation.keys(0, 1)[0] if evaluation.count else None
        s = take()
        if status := asked(query, _query_first, query.cell, self.handle, s.object_address, s.flag_address):
            raise failure(status)
        found = s.key.value if s.flag.value else None
        give_back(s)
        return found

    def incoming(self, property_id: int, head: int, key: int) -> Evaluation | None:
        """The objects whose property leads to an object; None: that was deleted."""
        question = property_id, head, key
        evaluation = self._evaluations.find(question)
        if evaluation is None:
            evaluation = Evaluation()
            if not self._ask_incoming(_incoming, property_id, head, key, evaluation.out):
                return None
            self._evaluations.keep(question, evaluation.made())
        return evaluation

    def count_incoming(self, property_id: int, head: int, key: int) -> int:
        """How many they are."""
        s = take()
        s.number.value = 0
        self._ask_incoming(_incoming_count, property_id, head, key, s.number_address)
        number = s.number.value
        give_back(s)
        return number

    def _ask_incoming(self, function: Any, property_id: int, head: int, key: int, out: int) -> bool:
        s = take()
        s.head.value, s.key.value = head, key
        status = function(self.handle, s.object, property_id, out)
        if status and status != Status.NO_SUCH_OBJECT:
            raise failure(status)
        give_back(s)
        return not status


class Snapshot(View):
    """A frozen view of what a view of the library shows now. Closed when nothing reads through it any more."""

    def __init__(self, view: int | None, fast: bool) -> None:
        super().__init__(0, fast)
        # Closing the store has closed it already, perhaps: then this says CLOSED_HANDLE, and nothing is amiss.
        self.cell = cell_of(self, _view_close)
        self.iterations: Bag[Any] = Bag()  # loops that read from it
        check(_view_freeze(view, ctypes.byref(self.cell)))
        self.handle = self.cell.value or 0
