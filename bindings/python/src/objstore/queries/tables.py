"""Tables: values of the objects that results are, or of groups of them."""

import ctypes
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from ..arguments import INT64, whole
from ..errors import Error, IndexOutOfRange, NoSuchProperty
from ..models import groups, nodes
from ..models.display import value_cell, values_table
from ..models.groups import Columns
from ..models.steps import Step
from ..native import ffi
from ..native.failures import check
from ..native.handles import cell_of
from ..objects import state
from ..observing.row_changes import TableChanges
from ..observing.row_streams import QueryToken, TableStream
from ..reading import packed_rows, queries
from ..reading.queries import Query
from ..reading.views import View, asked
from ..values import kinds
from ..values.c_values import give_back, take
from ..values.constants import ANYTHING
from . import arrays, arrow
from .arrow import ArrowStream, Texts
from .live_rows import Columns as Shown, RowListing
from .live_tables import LiveTable

if TYPE_CHECKING:
    import numpy

    from ..observing.tokens import Token
    from ..schema.bindings import Binding
    from ..stores.frozen import Frozen
    from ..stores.lookup import Source
    from ..stores.open_store import OpenStore
    from .results import Results

_query_table = ffi.bind("objstore_query_table")
_query_arrow = ffi.bind("objstore_query_arrow")
_size = ffi.bind("objstore_table_size")
_column_at = ffi.bind("objstore_table_column_at")
_table_value = ffi.bind("objstore_table_value")
_table_arrow = ffi.bind("objstore_table_arrow")
_table_close = ffi.bind("objstore_table_close")
_changes_table = ffi.bind("objstore_changes_table")


class Groups:
    """Objects of results in groups, of those with equal values of some keys. Each method returns new ones.

        dogs.group_by(Dog.city).having(group.count > 3).select(Dog.city, n=group.count, mean=group.avg(Dog.age))

    Behind group_by() a query is about groups: their keys, what lies behind a key that is a link, and group.count,
    group.sum(…), group.avg(…), group.min(…), group.max(…), and what is computed of these. None is a value like any
    other. Without order_by() groups come in the order of their first objects."""

    __slots__ = ("_results", "_steps")

    def __init__(self, results: "Results[Any]", steps: tuple[Step, ...]) -> None:
        self._results = results
        self._steps = steps

    def _and(self, step: Step) -> "Groups":
        return Groups(self._results, (*self._steps, step))

    def having(self, condition: object) -> "Groups":
        """Those for which a condition is true: `.having(group.count > 3)`."""
        return self._and(groups.having(condition))

    def order_by(self, *keys: object) -> "Groups":
        """In the order of values of groups, ascending, or of asc(…) and desc(…)."""
        return self._and(groups.order(self._results._named(keys)))

    def limit(self, count: int) -> "Groups":
        return self._and(groups.number(nodes.LIMIT, whole("the limit", count, INT64)))

    def offset(self, count: int) -> "Groups":
        return self._and(groups.number(nodes.OFFSET, whole("the offset", count, INT64)))

    def select(self, *values: object, **names: object) -> "Table":
        """A table of values of these groups, in columns that are called as they are written in the language, or by a
        name: `.select(Dog.city, n=group.count)`."""
        step = groups.select(self._results._named(values), dict(zip(names, self._results._named(names.values()))))
        return table(self._results, [*self._steps, step])

    def table(self) -> "Table":
        """The keys, and "@count"."""
        return table(self._results, self._steps)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.table())

    def observe(
        self, handler: Callable[[TableChanges], object], *, initial: bool = True, since: bytes | None = None
    ) -> "Token":
        """That of table(): see Table.observe."""
        return self.table().observe(handler, initial=initial, since=since)

    def changes(self, *, initial: bool = True, since: bytes | None = None) -> TableStream:
        """The same for asyncio: `async for change in groups.changes(): …`"""
        return self.table().changes(initial=initial, since=since)

    def live(self, *, rows: int = 20, interval: float = 0.1) -> LiveTable[tuple[Any, ...]]:
        """That of table(): see Table.live."""
        return self.table().live(rows=rows, interval=interval)

    def __repr__(self) -> str:
        return f"<Groups of {self._results!r}>"


class Table:
    """Columns of values, asked for when they are first used, and then the same for ever, whatever happens to the store:
    observe() tells of changes, and has the new ones.

    table["city"]              a column, as a list          table.columns      the names, in their order
    table[0], table[-1]        a row, as a tuple            len(table)         how many rows
    for city, count in table   all rows                     table.dicts()      rows as dicts, by names
    table.to_numpy("count")    table.to_arrow()             table.to_pandas()  and whatever reads __arrow_c_stream__
    """

    __slots__ = ("_source", "_asks", "_cell", "_rows", "_names", "_lists", "__weakref__")

    def __init__(self, source: "Source", asks: "Asks") -> None:
        self._source = source
        self._asks = asks
        self._cell: Any = None
        self._rows = 0
        self._names: list[str] = []
        self._lists: dict[int, list[Any]] = {}

    # Asking

    def _asked(self) -> Any:
        """The handle of the library's table."""
        if self._cell is None:
            view = self._source._reader()  # kept during the call: another thread may move on meanwhile
            self._ask(_query_table, self._asks.query.cell, view.handle)
        return self._cell

    def _ask(self, function: Any, *arguments: Any) -> None:
        cell = cell_of(self, _table_close)
        check(asked(self._asks.query, function, *arguments, ctypes.byref(cell)))
        rows, columns = ctypes.c_uint64(), ctypes.c_size_t()
        check(_size(cell, ctypes.byref(rows), ctypes.byref(columns)))
        self._rows = rows.value
        self._names = [ffi.string(_column(cell, index).name) for index in range(columns.value)]
        self._cell = cell

    def query_text(self) -> str:
        """What is asked, as Results.table() takes it."""
        return self._asks.query.text()

    # Columns

    @property
    def columns(self) -> list[str]:
        """Their names."""
        self._asked()
        return list(self._names)

    def _index(self, name: object) -> int:
        self._asked()
        if name not in self._names:
            raise NoSuchProperty(f"there is no column {name!r}: there are {', '.join(map(repr, self._names))}")
        return self._names.index(name)

    def column(self, name: str) -> list[Any]:
        """All values of a column; of a link the objects."""
        return list(self._values(self._index(name)))

    def _values(self, index: int) -> list[Any]:
        found = self._lists.get(index)
        if found is None:
            found = self._lists[index] = self._read(index)
        return found

    def _read(self, index: int) -> list[Any]:
        cell, rows = self._asked(), self._rows
        column = _column(cell, index)
        if column.kind == kinds.MIXED:
            return [self._mixed(row, index) for row in range(rows)]
        values: list[Any]
        if column.offsets:
            offsets = _memory(column.offsets, 8 * (rows + 1)).cast("q").tolist()
            values = packed_rows.texts(column.kind, _memory(column.values, column.values_bytes), offsets)
        else:
            values = packed_rows.decoded(column.kind, _memory(column.values, rows * _WIDTHS.get(column.kind, 8)))
        if column.null_count:
            bits = _memory(column.validity, (rows + 7) // 8)
            values = [value if bits[row >> 3] >> (row & 7) & 1 else None for row, value in enumerate(values)]
        if column.kind == kinds.LINK:
            return [None if key is None else self._object(column.class_id, key) for key in values]
        described = self._asks.described[index] if self._asks.described else None
        if described is not None and getattr(described, "enum", None) is not None:
            return [None if value is None else kinds.member(described, value) for value in values]
        return values

    def _mixed(self, row: int, index: int) -> Any:
        s = take()
        check(_table_value(self._asked(), row, index, s.values.address))
        value = s.values.get(ANYTHING, self._object)
        give_back(s)
        return value

    def _object(self, class_id: int, key: int) -> Any:
        binding = self._source._of_class(class_id)
        return None if binding is None else state.make(binding.model, self._source._unread(binding), key)

    # Rows

    def __len__(self) -> int:
        self._asked()
        return self._rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        self._asked()
        return iter(zip(*map(self._values, range(len(self._names)))))

    def __getitem__(self, index: "int | slice | str") -> Any:
        if isinstance(index, str):
            return self.column(index)
        rows = len(self)
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(rows))]
        number = operator.index(index)
        at = number + rows if number < 0 else number
        if not 0 <= at < rows:
            raise IndexOutOfRange(f"row {number} of {rows} rows")
        return tuple([self._values(column)[at] for column in range(len(self._names))])

    def dicts(self) -> list[dict[str, Any]]:
        """All rows, by the names of the columns."""
        return [dict(zip(self._names, row)) for row in self]

    # For others

    def to_numpy(self, name: str) -> "numpy.ndarray[Any, Any]":
        """A column as an array, as Results.to_numpy() makes it: numbers, times and bools without a Python object for
        each; of a column with None a masked array."""
        index = self._index(name)
        return arrays.of_table(_column(self._asked(), index), self._rows, self, lambda: self._values(index))

    def to_arrow(self, *, texts: Texts = "plain") -> Any:
        """A pyarrow.Table; `texts` as of Results.arrow(). MissingArrow: PyArrow is not installed."""
        return arrow.to_arrow(self, texts, "to_arrow()")

    def to_pandas(self, *, texts: Texts = "plain") -> Any:
        """A pandas.DataFrame; `texts` as of Results.to_pandas(). MissingArrow: PyArrow or pandas is not installed."""
        return arrow.to_pandas(self, texts)

    def arrow(self, *, texts: Texts = "plain") -> ArrowStream:
        """What other libraries read, with texts in another form, as of Results.arrow()."""
        return ArrowStream(texts, self._streamed)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Without a copy of a table that has been asked for; else batch by batch."""
        return self._streamed(0)

    def _streamed(self, flags: int) -> object:
        if self._cell is not None:
            return arrow.capsule(lambda stream: check(_table_arrow(self._cell, flags, stream)))
        view = self._source._reader()
        return _streamed(self._asks.query, view, flags)

    # Observing

    def observe(
        self, handler: Callable[[TableChanges], object], *, initial: bool = True, since: bytes | None = None
    ) -> "Token":
        """Calls handler(change) for what every commit changes in what the table asks for, from now on, whichever thread
        or process makes it: inside store.deliver() and store.wait(), on the thread that calls them. Rows of objects are
        followed as by Results.observe; a group is the same one as long as its keys are. This table stays as it is:
        `change.table` is the new one.

            store.objects(Dog).group_by(Dog.city).table().observe(lambda change: print(change.table[:]))

        `initial` and `since` are as those of Results.observe. Observing lasts as long as the token that is returned.
        Not inside a write (AlreadyInWrite), and not what is frozen (WrongView)."""
        store = self._source._observed()
        token = QueryToken(store, self._asks.binding, handler, self._telling(store))
        token.observe_query(self._asks.query, initial, since)
        return token

    def changes(self, *, initial: bool = True, since: bytes | None = None) -> TableStream:
        """The same for asyncio: `async for change in table.changes(): …`"""
        store = self._source._observed()
        stream = TableStream(store, self._asks.binding, self._telling(store))
        stream._of_query(self._asks.query, initial, since)
        return stream

    def live(self, *, rows: int = 20, interval: float = 0.1) -> LiveTable[tuple[Any, ...]]:
        """The first `rows` rows as a table in a notebook that follows every commit, as of Results.live()."""
        names = self._asks.columns(self._source)
        shown: Shown[tuple[Any, ...]] = [(name, partial(_cell, index)) for index, name in enumerate(names)]

        def window(seen: "Source | Table", begin: int, end: int) -> tuple[list[tuple[Any, ...]], int]:
            found = seen if isinstance(seen, Table) else Table(seen, self._asks)
            return found[begin:end], len(found)

        content = RowListing(shown, window, lambda change: change.table)
        return LiveTable(f"a table of {self._asks.binding.model.__name__}", content, self.changes, rows, interval)

    def _telling(self, store: "OpenStore") -> Callable[[int], TableChanges]:
        asks = self._asks
        return partial(TableChanges, store, asks.binding, asks.columns(self._source), partial(_of_changes, asks))

    def __repr__(self) -> str:
        if self._cell is None:
            try:
                text = self._asks.query.text()
            except Error:  # it cannot be written as a text, or the store is closed
                text = self._asks.binding.model.__name__
            return f"<Table of {text}>"
        return f"<Table: {', '.join(self._names)}: {self._rows:,} row{'' if self._rows == 1 else 's'}>"

    def _repr_html_(self) -> str:
        return values_table(self.columns, self[:10], len(self))


class Asks:
    """What a table asks for."""

    __slots__ = ("binding", "query", "described", "_steps", "_names")

    def __init__(self, binding: "Binding", query: Query, described: tuple[Any, ...], steps: Query) -> None:
        """`steps`: how `query` ends."""
        self.binding = binding
        self.query = query
        self.described = described  # of each column the property that it is, or None
        self._steps = steps
        self._names: tuple[str, ...] = ()

    def columns(self, source: "Source") -> tuple[str, ...]:
        """The names of the columns: those of a table of nothing."""
        if not self._names:
            view = source._any_view()  # kept during the calls
            nothing = queries.of_nodes(view.handle, self.binding.class_id, nodes.FALSE, ())
            empty = Table(source, Asks(self.binding, queries.then(nothing, self._steps), (), self._steps))
            empty._ask(_query_table, empty._asks.query.cell, view.handle)
            self._names = tuple(empty._names)
        return self._names


def table(results: "Results[Any]", steps: "list[Columns | Step] | tuple[Columns | Step, ...]") -> Table:
    step = groups.whole(steps)
    binding, view = results._about(step), results._source._any_view()
    query = queries.of_nodes(view.handle, binding.class_id, binding.nodes_of(step), step._texts, False)
    # Those of select(), or else of group_by(), which has a count behind them.
    columns = next(step for step in reversed(steps) if isinstance(step, Columns))
    return of_query(results, view, query, (*columns.described, None))


def of_query(results: "Results[Any]", view: View, query: Query, described: tuple[Any, ...] = ()) -> Table:
    """Of what results find."""
    whole = query if results._is_everything else queries.then(results._asked(view), query)
    return Table(results._source, Asks(results._binding, whole, described, query))


def _of_changes(asks: Asks, changes: int, side: int, version: "Frozen") -> Table:
    """The table before or after a change set."""
    made = Table(version, asks)
    made._ask(_changes_table, changes, side)
    return made


def _cell(index: int, row: tuple[Any, ...]) -> str:
    return value_cell(row[index])


def stream(results: "Results[Any]", flags: int) -> object:
    """All properties of single values of results."""
    view = results._source._reader()
    return _streamed(results._asked(view), view, flags)


def _streamed(query: Query, view: View, flags: int) -> object:
    return arrow.capsule(lambda stream: check(asked(query, _query_arrow, query.cell, view.handle, flags, stream)))


_WIDTHS = {kinds.BOOL: 1, kinds.FLOAT: 4, kinds.TIMESTAMP: 16, kinds.DECIMAL: 16, kinds.UUID: 16, kinds.OBJECT_ID: 12}


def _column(cell: Any, index: int) -> Any:
    column = ffi.TableColumn()
    check(_column_at(cell, index, ctypes.byref(column)))
    return column


def _memory(address: Any, size: int) -> memoryview:
    return memoryview(ctypes.string_at(address, size) if size else b"")
