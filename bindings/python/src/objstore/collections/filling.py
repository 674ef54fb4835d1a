"""Contents into collections: of one object, or of many that were just made.

Code that needs more than one call of the library opens a savepoint around them, so that all of it happens or nothing.
"""

import ctypes
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, compress
from typing import TYPE_CHECKING, Any

from ..building import graphs
from ..building.assembly import Assembly
from ..errors import Error
from ..native import ffi
from ..native.failures import check, failure
from ..values import elements, kinds
from ..values.c_values import Values, give_back, take
from ..values.kinds import LINK, LIST, MIXED
from . import embedded
from .collection import BLOCK, Collection, attach, return_room, room

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..schema.bindings import Binding
    from ..writing.transaction import Transaction


_list_insert = ffi.bind("objstore_list_insert")
_set_combine = ffi.bind("objstore_set_combine")
_map_set = ffi.bind("objstore_map_set")
_assign = ffi.bind("objstore_collection_assign")
_assign_results = ffi.bind("objstore_collection_assign_results")

END = -1  # OBJSTORE_END
UNION = 1  # OBJSTORE_SET_UNION
PORTION = 65536  # elements, of 40 bytes each, that are laid out at a time
VALUE_BYTES = 40


def linked(
    transaction: "Transaction", shape: elements.Shape, values: Iterable[Any]
) -> "AbstractContextManager[object]":
    """Around a change that puts converted values into a collection: unmanaged objects are added first, all or none."""
    if shape.element.kind == MIXED:
        values = kinds.objects_in(list(values))
    elif shape.element.kind != LINK or shape.embeds:
        return nullcontext()
    return graphs.added(transaction, values)


def insert(transaction: "Transaction", c: Any, shape: elements.Shape, index: int, values: list[Any]) -> None:
    """Converted values into a list, before the element at `index`: one call."""
    if shape.embeds:
        return embedded.insert(transaction, c, shape, index, values)
    with linked(transaction, shape, values):
        _insert(transaction, c, shape, index, values)


def _insert(transaction: "Transaction", c: Any, shape: elements.Shape, index: int, values: list[Any]) -> None:
    if len(values) == 1:
        s = take()
        s.values.put_one(shape.element, values[0])
        check(_list_insert(transaction.handle, c, index, s.values.address, 1))
        give_back(s)
    elif values:
        space = room() if len(values) <= BLOCK else None
        laid_out = Values(len(values)) if space is None else space.values
        laid_out.put_all(shape.element, values)
        check(_list_insert(transaction.handle, c, index, laid_out.address, len(values)))
        if space is not None:
            return_room(space)


def merge(transaction: "Transaction", c: Any, shape: elements.Shape, content: Any) -> None:
    """Converted members into a set, some in one call, or entries into a map, a call for each."""
    if shape.embeds:
        return embedded.merge(transaction, c, shape, content)
    given = list(content)
    with linked(transaction, shape, given if shape.key is None else content.values()):
        _merge_all(transaction, c, shape, content, given)


def _merge_all(transaction: "Transaction", c: Any, shape: elements.Shape, content: Any, given: list[Any]) -> None:
    for start in range(0, len(given), BLOCK):
        space, part = room(), given[start : start + BLOCK]
        if shape.key is None:
            space.values.put_all(shape.element, part)
        else:
            space.keys.put_all(shape.key, part)
            space.values.put_all(shape.element, [content[key] for key in part])
        _merge(transaction.handle, c, shape, space.keys.array, space.values.array, 0, len(part))
        return_room(space)


def _merge(handle: int, c: Any, shape: elements.Shape, keys: Any, values: Any, start: int, count: int) -> None:
    if shape.key is None:
        check(_set_combine(handle, c, UNION, ctypes.addressof(values) + VALUE_BYTES * start, count, None))
    else:
        for index in range(start, start + count):
            if status := _map_set(handle, c, keys[index], values[index], None):
                raise failure(status)


def replace(transaction: "Transaction", c: Any, shape: elements.Shape, content: Any) -> None:
    """Gives a collection of what is not embedded a converted content instead of its own: one call."""
    given = list(content) if shape.key is None else list(content.values())
    with linked(transaction, shape, given):
        keys = None if shape.key is None else _values(shape.key, content)
        values = _values(shape.element, given)
        check(_assign(transaction.handle, c, None if keys is None else keys.address, values.address, len(given)))


def assign_results(transaction: "Transaction", binding: "Binding", key: int, prop: "Property", results: int) -> None:
    """Links to the objects of results, a handle, instead of the elements of a list or set: one call."""
    collection: Collection = attach(Collection, transaction.store, transaction.epoch, binding, key, prop)
    transaction.settle(collection._place)
    check(_assign_results(transaction.handle, collection._c, results))


def update(transaction: "Transaction", binding: "Binding", key: int, prop: "Property", content: Any) -> None:
    """Gives a collection of an object a converted content."""
    collection: Collection = attach(Collection, transaction.store, transaction.epoch, binding, key, prop)
    transaction.settle(collection._place)
    if collection._shape.embeds:
        Assembly(transaction, 0).set(binding, key, prop, content)
    else:
        replace(transaction, collection._c, collection._shape, content)


class Filling:
    """Converted contents of one collection property, for many new objects."""

    def __init__(self, binding: "Binding", prop: "Property", contents: list[Any]) -> None:
        self._binding = binding
        self._prop = prop
        self._contents = contents
        self.is_empty = not any(contents)

    def fill(self, transaction: "Transaction", keys: Iterable[int]) -> None:
        """Into the objects with these keys, whose collections are empty; `position` of an error is the row."""
        rows = list(compress(range(len(self._contents)), self._contents))
        of_rows = list(compress(keys, self._contents))
        at = 0
        while at < len(rows):
            end, elements_ = at, 0
            while end < len(rows) and (end == at or elements_ + len(self._contents[rows[end]]) <= PORTION):
                elements_ += len(self._contents[rows[end]])
                end += 1
            self._fill(transaction, rows[at:end], of_rows[at:end])
            at = end

    def _fill(self, transaction: "Transaction", rows: list[int], keys: list[int]) -> None:
        shape = self._prop.shape
        assert shape is not None
        contents = [self._contents[row] for row in rows]
        of_keys, values = _laid_out(shape, rows, contents)
        c = attach(Collection, transaction.store, transaction.epoch, self._binding, 0, self._prop)._c
        handle, start = transaction.handle, 0
        for row, c.owner.key, content in zip(rows, keys, contents):
            count = len(content)
            try:
                if shape.kind == LIST:
                    check(_list_insert(handle, c, END, values.address + VALUE_BYTES * start, count))
                else:
                    _merge(handle, c, shape, of_keys.array if of_keys else None, values.array, start, count)
            except Error as error:
                error.position = row
                raise
            start += count


def _laid_out(shape: elements.Shape, rows: list[int], contents: list[Any]) -> tuple[Values | None, Values]:
    """The C values of the keys and elements of all contents, one after the other."""
    try:
        values = _values(shape.element, chain.from_iterable(c if shape.key is None else c.values() for c in contents))
        return None if shape.key is None else _values(shape.key, chain.from_iterable(contents)), values
    except Error:
        for row, content in zip(rows, contents):  # which one was it?
            try:
                _values(shape.element, content if shape.key is None else content.values())
                if shape.key is not None:
                    _values(shape.key, content)
            except Error as error:
                error.position = row
                raise error from None
        raise


def _values(element: elements.Element, given: Iterable[Any]) -> Values:
    listed = list(given)
    made = Values(max(len(listed), 1))
    if listed:
        made.put_all(element, listed)
    return made
