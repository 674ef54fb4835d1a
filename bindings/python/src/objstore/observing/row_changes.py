"""Change sets of tables, whose rows are objects or groups of them, and of what is asked of plain values."""

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import WrongType
from ..native import ffi
from ..native.failures import check
from ..objects import versions
from ..reading.found_values import FoundValues
from .changes import ChangedObjects, ListedChanges, place
from .element_changes import ChangedElements
from .sides import AFTER, BEFORE

if TYPE_CHECKING:
    from ..collections.collection import Collection
    from ..queries.tables import Table
    from ..schema.bindings import Binding
    from ..stores.frozen import Frozen
    from ..stores.open_store import OpenStore


_values = ffi.bind("objstore_changes_values")

Make = Callable[[int, int, "Frozen"], "Table"]  # of the handle of a change set, a side, and its version


class TableChanges(ChangedObjects[Any], ListedChanges):
    """What commits changed in a table since the observer's last call. Each change is reported once, in order.

        deletions                 positions in the table as it was before, of rows that went and that moved
        insertions                positions in the table as it is after, of rows that came and that moved
        moves                     (before, after) of rows that stand elsewhere among the others
        modifications             positions before, of rows that were there before and are after
        modifications_after       positions of the same rows after
        changed(i)                the columns that have another value in a modification; changed_in_move(i) of a move
        table_before, table       the tables before and after
        deleted, inserted, modified, moved   where rows are objects, without group_by(): these; none of them twice

    A row of an object is modified where something was written that a column reads, also the value that it had. A group
    is the same one as long as its keys are, and modified where a value of it is another one.

    A list of rows follows: take out the deletions from the last to the first, put in the insertions from the first to
    the last, and read the modified ones anew. Positions are copies, which last. So do tables that were asked for, which
    is possible until the handler returns; in `async for`, until the next change is taken. As long can objects be read,
    those in tables, too, which are of the versions `before` and `after`.
    """

    __slots__ = ("_columns", "_make", "_tables", "_is_of_groups")

    def __init__(
        self, store: "OpenStore", binding: "Binding", columns: tuple[str, ...], make: Make, handle: int
    ) -> None:
        """`columns`: their names. `make`: the table of a side."""
        self._columns = columns
        self._make = make
        self._tables: dict[int, Table] = {}
        self._is_of_groups = False
        super().__init__(store, binding, handle)

    def _take(self, objects: int | None, count: int) -> None:
        if not self._counts:  # the deletions: also an empty list of objects is somewhere
            self._is_of_groups = objects is None
        if self._is_of_groups:
            self._counts.append(count)
        else:
            super()._take(objects, count)

    def _keys_at(self, which: int) -> list[int]:
        if self._is_of_groups:
            raise WrongType("rows of groups are no objects: change.table[at] is the row at a position")
        return super()._keys_at(which)

    @property
    def table_before(self) -> "Table":
        """The table as it was."""
        return self._side(BEFORE)

    @property
    def table(self) -> "Table":
        """The table as the changes made it. It may have changed since. NoSuchClass, NoSuchProperty: what it asks for
        was dropped (is_owner_deleted)."""
        return self._side(AFTER)

    def _side(self, which: int) -> "Table":
        found = self._tables.get(which)
        if found is None:
            handle = self._sides.handle
            found = self._make(handle, which, self.before if which == BEFORE else self.after)
            self._tables[which] = found
        return found

    def changed(self, index: int) -> tuple[str, ...]:
        """The names of the columns that have another value in a modification: `index` counts in `modifications`."""
        return self._changed(place(index, self.modification_count, "modification"))

    def changed_in_move(self, index: int) -> tuple[str, ...]:
        """The same of a row that moved: `index` counts in `moves`."""
        return self._changed(self.modification_count + place(index, self.move_count, "move"))

    def _changed(self, row: int) -> tuple[str, ...]:
        return tuple(name for place, name in enumerate(self._columns) if self._has(row, place))

    def __repr__(self) -> str:
        return self._shown(f"a table of {self._binding.model.__name__}")


class ValueChanges(ChangedElements):
    """What commits changed in the answer to a question to a list, set or dict of plain values, since the observer's
    last call. Each change is reported once, in order.

        deletions                 positions in the answer before, of what went and of what moved
        insertions                positions in the answer after, of what came and of what moved
        moves                     (before, after) of values that stand elsewhere among the others
        modifications             of a dict: positions before, of keys that have another value
        modifications_after       their positions after
        deleted_keys, inserted_keys, modified_keys   of a dict, in the order of these positions
        values_before, values     the values before and after, as lists

    A value of a list or set is known by itself: another one in its place is a deletion and an insertion. One of a dict
    is known by its key. Where they stand in the collection is not told.

    A list follows: take out the deletions from the last to the first, put in the insertions from the first to the last,
    and read the modified ones anew. All of it are copies, which last; the values are read when they are used first,
    which is possible until the handler returns; in `async for`, until the next change is taken.
    """

    __slots__ = ("_collection", "_lists")

    def __init__(self, store: "OpenStore", collection: "Collection", handle: int) -> None:
        super().__init__(store, collection._shape, collection._prop.path, handle)
        self._collection = collection
        self._lists: dict[int, list[Any]] = {}

    @property
    def values_before(self) -> list[Any]:
        """The values as they were."""
        return self._side(BEFORE)

    @property
    def values(self) -> list[Any]:
        """The values as the changes made them."""
        return self._side(AFTER)

    def _side(self, which: int) -> list[Any]:
        listed = self._lists.get(which)
        if listed is None:
            found = FoundValues()
            check(_values(self._sides.handle, which, ctypes.byref(found.cell)))
            there = versions.moved(self._collection, self.before if which == BEFORE else self.after)
            listed = self._lists[which] = there._found(found.made(), 0, found.count, live=False)
        return listed
