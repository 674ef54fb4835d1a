"""Observers of tables and of what is asked of plain values: with a function, and in asyncio and trio."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..native import ffi
from ..native.callbacks import MUST_FINISH
from ..native.failures import check
from ..reading.queries import Query
from ..reading.views import asked
from . import delivery
from .changes import AnyChanges
from .row_changes import TableChanges, ValueChanges
from .streams import AnyStream, Arriving
from .tokens import ChangeToken, flags, handler_entry

if TYPE_CHECKING:
    from ..schema.bindings import Binding
    from ..stores.open_store import OpenStore

_observe = ffi.bind("objstore_query_observe")

C = TypeVar("C", bound=AnyChanges)


class QueryToken(ChangeToken[Any]):
    """An observer of a query that does not find objects."""

    __slots__ = ("_made",)

    def __init__(
        self,
        store: "OpenStore",
        binding: "Binding",
        handler: Callable[[Any], object],
        made: Callable[[int], AnyChanges],
    ) -> None:
        """`made`: the change set behind a handle."""
        super().__init__(store, binding, handler, None)
        self._made = made

    def observe_query(self, query: Query, initial: bool, since: bytes | None) -> None:
        store, asks = self._store._open_handle(), flags(initial, since)
        check(asked(query, _observe, query.cell, store, asks, handler_entry, self._number, MUST_FINISH, self._out))
        self._begin(since)

    def _called(self, given: Any, call: delivery.Call) -> None:
        self._store._follow()
        self._tell(self._made(given), call)


class _QueryStreamToken(Arriving, QueryToken):
    __slots__ = ("arrivals",)


class _QueryStream(AnyStream[C]):
    def __init__(self, store: "OpenStore", binding: "Binding", made: Callable[[int], C]) -> None:
        super().__init__(store)
        self._begin(_QueryStreamToken(store, binding, self._arrivals.wake, made))

    def _of_query(self, query: Query, initial: bool, since: bytes | None) -> None:
        self._token.observe_query(query, initial, since)


class TableStream(_QueryStream[TableChanges]):
    """The changes of a table: `results.select(…).changes()`, `results.group_by(…).changes()`; see AnyStream."""


class ValueStream(_QueryStream[ValueChanges]):
    """The changes of what is asked of plain values: `person.tags.where(…).changes()`; see AnyStream."""
