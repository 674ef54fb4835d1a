"""What live lists, sets and dicts have in common: where they are, and how their elements are read.

    dog.toys ─► List (which object, which property) ─► the view to read through now, or the open write

Nothing is kept here: each use reads it from the library. Loops read in blocks.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import Error
from ..json import json_options, json_text
from ..messages import a
from ..native import ffi
from ..native.callbacks import hand_on
from ..native.failures import check, failure
from ..objects import state, versions
from ..objects.detaching import detach_all, detach_content
from ..values import elements
from ..values.c_values import Values, give_back, take
from ..values.kinds import LINK, LIST, MIXED, SET
from . import mixed

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..reading.found_values import FoundValues
    from ..reading.views import Epoch, View
    from ..schema.bindings import Binding
    from ..stores.lookup import Source
    from ..writing.transaction import Transaction


_count = ffi.bind("objstore_collection_count")
_get = ffi.bind("objstore_collection_get")
_read = ffi.bind("objstore_collection_read")
_find = ffi.bind("objstore_collection_find")
_clear = ffi.bind("objstore_collection_clear")

C = TypeVar("C")
FIRST_BLOCK, BLOCK = 64, 1024  # elements that are read together
SHOWN = 20  # elements in a repr
_COLLECTION = struct.Struct("=QqIIq")


class Room:
    """C values for keys and elements, to read or write many of them in one call. From a pool, like a Scratch."""

    def __init__(self) -> None:
        self.keys = Values(BLOCK)
        self.values = Values(BLOCK)


_rooms: list[Room] = []


def room() -> Room:
    try:
        return _rooms.pop()
    except IndexError as error:
        hand_on(error)
        return Room()


return_room = _rooms.append


class Collection:
    """A list, set or dict of a managed object: `dog.toys`. Shows what the store has now, and is changed inside a write
    only. Any thread may use it."""

    __slots__ = ("_source", "_epoch", "_prop", "_shape", "_c", "_place")
    __hash__ = None  # type: ignore[assignment]

    _source: "Source"
    _epoch: "Epoch"
    _prop: "Property"
    _shape: elements.Shape
    _c: Any  # the objstore_collection; never changes
    _place: tuple[int, int, int]  # store and class, object, property

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError(f"{a(type(self).__name__)} belongs to an object of a store: use a builtin one")

    _copied = __slots__

    # Versions

    @property
    def is_frozen(self) -> bool:
        """Does it permanently show one version?"""
        return self._source.is_frozen

    def freeze(self: C) -> C:
        """The same as it is now, frozen, and what is in it, too; inside of a write as it was before that. Keeps its
        version until it is garbage, so let go of it. NoSuchObject: its object was deleted, or the write that has made
        that is not over."""
        return versions.freeze(self, *self._place[:2])  # type: ignore[attr-defined]

    def thaw(self: C) -> C | None:
        """The live one that a frozen one shows a former state of; None: its object was deleted. One that is live is
        returned as it is. Closed: the store is closed."""
        return versions.thaw(self, *self._place[:2])  # type: ignore[attr-defined]

    # Reading

    def _view(self) -> "View":
        view = self._source._view_for(self._epoch)
        self._epoch = view.epoch
        return view

    def __len__(self) -> int:
        return self._count(self._view())

    def _count(self, view: "View") -> int:
        s = take()
        if status := _count(view.handle, self._c, s.number_address):
            raise failure(status)
        count: int = s.number.value
        give_back(s)
        return count

    def to_json(
        self, depth: int = 1, *, pretty: bool = False, extended: bool = False, nan_as_null: bool = False
    ) -> str:
        """The elements as JSON text, as they are in that of their object: an array, of a dict an object. With `depth`
        0 links are references, with 1 the objects that they lead to. The rest is as of Model.to_json."""
        view, (head, key, property_id) = self._view(), self._place  # the view: kept during the call

        def call(function: Any, *rest: Any) -> int:
            return json_text.placed(function, view.handle, head, key, property_id, None, 0, *rest)

        return json_text.of_property(call, depth, json_options.flags(pretty, extended, nan_as_null))

    def _block(
        self, view: "View", start: int, limit: int, keys: bool = False, values: bool = True, live: bool = True
    ) -> list[Any]:
        """Elements from `start` on, at most `limit` and BLOCK: values, or keys, or pairs of both. Lists and dicts that
        are elements show what is at their place, if they are to be `live`; else they are copies."""
        s, space = take(), room()
        shape = self._shape
        # A value's place is said by its key.
        wants_keys = keys or (shape.key is not None and shape.element.kind == MIXED)
        status = _read(
            view.handle,
            self._c,
            start,
            min(limit, BLOCK),
            None,
            space.keys.address if wants_keys else None,
            space.values.address if values else None,
            s.number_address,
        )
        if status:
            raise failure(status)
        count = s.number.value
        of_keys = (
            space.keys.get_all(shape.key, count)
            if shape.key is not None and (keys or shape.element.kind == MIXED)
            else []
        )
        found: list[Any] = (
            self._got(space.values, count, of_keys or range(start, start + count), live) if values else []
        )
        if keys and shape.key is not None:
            found = list(zip(of_keys, found)) if values else of_keys
        give_back(s)
        return_room(space)
        return found

    def _got(self, values: Values, count: int, steps: "Sequence[Any]", live: bool = True) -> list[Any]:
        """The first values, as the library gave them; `steps` are the indexes, or keys, of the elements."""
        element = self._shape.element
        if element.kind != MIXED:
            return self._made(values.get_all(element, count))

        def nested(kind: int, at: int) -> Any:
            step = steps[at] if self._shape.key is None else str(getattr(steps[at], "value", steps[at]))
            return mixed.inside(self._source, self._epoch, element, self._place, kind, step)

        return values.get_any(element, count, self._linked, nested if live else None)

    def _one(self, values: Values, step: Any) -> Any:
        """The first of them."""
        if self._shape.element.kind != MIXED:
            return self._made([values.get(self._shape.element)])[0]
        return self._got(values, 1, (step,))[0]

    def _linked(self, class_id: int, key: int) -> Any:
        return mixed.linked(self._source, self._shape.element, class_id, key)

    def _made(self, values: list[Any]) -> list[Any]:
        """Objects of what the library gives of links: their keys."""
        if self._shape.element.kind != LINK:
            return values
        binding = self._source._leading(self._shape.element.target)
        block, model = self._source._unread(binding), binding.model
        return [None if key is None else state.make(model, block, key) for key in values]

    def _range(self, view: "View", start: int, stop: int, keys: bool = False, live: bool = True) -> list[Any]:
        """The values of the elements from `start` up to `stop`; of a dict with `keys` its entries."""
        found: list[Any] = []
        while start < stop:
            block = self._block(view, start, stop - start, keys, live=live)
            if not block:
                break
            found += block
            start += len(block)
        return found

    def _found(self, found: "FoundValues", start: int, stop: int, live: bool = True) -> list[Any]:
        """The same of those that a query has found."""
        all_values, key, space = list[Any](), self._shape.key, room()
        while start < stop:
            wanted = min(stop - start, BLOCK)
            count, places = found.read(start, wanted, space.values.address, space.keys.address if key else None)
            steps = places[:count] if key is None else space.keys.get_all(key, count)
            all_values += self._got(space.values, count, steps, live)
            start += count
        return_room(space)
        return all_values

    def _loop(self, keys: bool = False, values: bool = True) -> Iterator[Any]:
        view = self._view()
        first = self._block(view, 0, FIRST_BLOCK, keys, values)
        if len(first) < FIRST_BLOCK:
            return iter(first)
        loop = Loop(self._place, lambda start, limit: self._block(view, start, limit, keys, values), FIRST_BLOCK)
        if view.readings is not None:
            view.readings.add(loop)
        return chain(first, chain.from_iterable(loop.blocks()))

    def _all(self, keys: bool = False, values: bool = True, live: bool = True) -> list[Any]:
        view = self._view()
        found = self._block(view, 0, BLOCK, keys, values, live)
        if len(found) == BLOCK:
            while block := self._block(view, len(found), BLOCK, keys, values, live):
                found += block
        return found

    def _find(self, value: Any) -> int:
        """The index of the first element that equals `value`; -1: there is none."""
        view = self._view()
        if self._shape.element.kind == MIXED and self._shape.kind == LIST:
            # As a builtin list finds it: 1 is 1.0.
            return next((at for at, found in enumerate(self._all(live=False)) if found is value or found == value), -1)
        converted, possible = self._shape.element.find(value, self._source)
        if not possible:
            self._count(view)  # which says whether the object is there
            return -1
        s = take()
        s.values.put_one(self._shape.element, converted)
        if status := _find(view.handle, self._c, s.values.first, s.number_address):
            raise failure(status)
        index: int = s.signed_number.value
        give_back(s)
        return index

    def _taken(self, value: Any) -> Any:
        """What is returned of an element that is taken out: of an embedded object, which goes, a copy, and of a list or
        dict."""
        if isinstance(value, mixed.Nested):
            return value.copy()
        return value.detach() if self._shape.embeds and value is not None else value

    def _take_out(self, view: "View", remove: Any, element: elements.Element, value: Any) -> bool:
        """Removes an element, or a key with its value; was it there?"""
        converted, possible = element.find(value, self._source)
        if not possible:
            self._count(view)  # which says whether the object is there
            return False
        s = take()
        s.values.put_one(element, converted)
        if status := remove(view.handle, self._c, s.values.first, s.flag_address):
            raise failure(status)
        removed: bool = s.flag.value
        give_back(s)
        return removed

    # Changing

    def _writing(self) -> "Transaction":
        transaction: Transaction = self._source._writing(self._prop)
        transaction.settle(self._place)
        if self._shape.embeds:
            transaction._wrote_many()  # what loses its place is deleted
        return transaction

    def clear(self) -> None:
        """Removes all elements."""
        check(_clear(self._writing().handle, self._c))

    # Showing

    def __repr__(self) -> str:
        try:
            view = self._view()
            count = self._count(view)
            first = self._block(view, 0, SHOWN, self._shape.key is not None)
        except Error as error:
            return f"<{type(self).__name__} {self._prop.path}: {error.message}>"
        return shown(self._shape, first, count)

    def detach(self, depth: int | None = None) -> Any:
        """A builtin one with unmanaged copies of the objects in it, as Model.detach() makes them; of other elements, a
        copy. A set of objects becomes a set that finds them by looking at each."""
        if self._shape.element.kind == MIXED:
            return detach_content(self._prop, self, depth)
        values = self._all()
        if self._shape.element.kind == LINK:
            values = detach_all(values, depth)
            if self._shape.kind == SET:
                return elements.ObjectSet(values)
        if self._shape.key is not None:
            return dict(zip(self._all(keys=True, values=False), values))
        return self._builtin_of(values)

    def copy(self) -> Any:
        """A builtin one with the same elements. OutOfRange: a set has one that Python has no hash of,
        Decimal("sNaN")."""
        return self._builtin_of(self._all(self._shape.key is not None, live=False))

    def _builtin_of(self, values: list[Any]) -> Any:
        return (
            elements.builtin_set(self._shape.element, values)
            if self._shape.kind == SET
            else elements.TYPES[self._shape.kind](values)
        )

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Any:
        return self.copy()

    def __reduce_ex__(self, protocol: object) -> Any:
        return elements.TYPES[self._shape.kind], (self.copy(),)


class Loop:
    """What is still to come of a loop over elements: those that were there when it began.

    A snapshot stays as it is. A write does not: before it changes the collection, the loop reads what is left."""

    __slots__ = ("place", "_read", "_start", "_rest", "__weakref__")

    def __init__(self, place: tuple[int, int, int], read: Callable[[int, int], list[Any]], start: int) -> None:
        self.place = place
        self._read = read
        self._start = start
        self._rest: list[Any] | None = None

    def blocks(self) -> Iterator[list[Any]]:
        while self._rest is None:
            block = self._read(self._start, BLOCK)
            self._start += len(block)
            if len(block) < BLOCK:
                self._rest = []
            yield block
        yield self._rest

    def settle(self) -> None:
        """The collection is about to change, or the view to end."""
        if self._rest is None:
            rest: list[Any] = []
            while block := self._read(self._start + len(rest), BLOCK):
                rest += block
            self._rest = rest


def shown(shape: elements.Shape, first: list[Any], count: int) -> str:
    """A repr of a content, of which `first` are the first elements, or entries; long ones are cut."""
    if not count:
        return repr(elements.TYPES[shape.kind]())
    cut = first[:SHOWN]
    inside = ", ".join(f"{e[0]!r}: {state.named(e[1])}" if shape.key is not None else state.named(e) for e in cut)
    if count > len(cut):
        inside += f", … {count - len(cut):,} more"
    return f"[{inside}]" if shape.kind == LIST else f"{{{inside}}}"


def attach(model: type, source: "Source", epoch: "Epoch", binding: "Binding", key: int, prop: "Property") -> Any:
    """The collection in a property of a managed object."""
    made: Any = object.__new__(model)
    made._source = source
    made._epoch = epoch
    made._prop = prop
    made._shape = prop.shape
    property_id = binding.ids[prop.index]
    made._c = ffi.Collection.from_buffer_copy(_COLLECTION.pack(binding.head, key, property_id, 0, 0))
    made._place = (binding.head, key, property_id)
    return made
