"""Values of mixed properties: `extra: Any`.

A list or dict in it is shown by a MixedList or MixedDict, which knows its place and keeps nothing:

    dog.extra ─► MixedDict, path ()          dog.extra["seen"] ─► MixedList, path ("seen",)
    dog.extra["seen"][0] = 7  ─►  objstore_mixed_set(…, ("seen", 0), 7): that element alone is written to the log
"""

import ctypes
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from ..building.graphs import added
from ..errors import Error, IndexOutOfRange, InvalidText, NoSuchClass, Status, about
from ..json import json_options, json_text
from ..messages import a
from ..native import ffi
from ..native.callbacks import hand_on
from ..native.failures import failure
from ..objects import state, versions
from ..values import documents, kinds
from ..values.c_values import Values, give_back, take
from ..values.elements import ELEMENT, KEY, Element, Shape
from ..values.kinds import INT, LIST, MAP, STRING

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..observing.element_changes import ElementChanges
    from ..observing.streams import AnyStream
    from ..observing.tokens import Token
    from ..queries.live_tables import LiveTable
    from ..reading.views import Epoch, View
    from ..stores.lookup import Source


_get = ffi.bind("objstore_mixed_get")
_read = ffi.bind("objstore_mixed_read")
_set = ffi.bind("objstore_mixed_set")
_insert = ffi.bind("objstore_mixed_insert")
_remove = ffi.bind("objstore_mixed_remove")

C = TypeVar("C")
SHOWN = 200  # characters in a repr
DEEPEST = kinds.DEEPEST + 1  # steps of a path; the first may say which element of a collection
_ABSENT: Any = object()


class _Step:
    """An index or a key of a path, as a value; a kinds.Described."""

    enum = None
    nullable = False

    def __init__(self, kind: int, what: str) -> None:
        self.kind = kind
        self.name = self.model_name = ""
        self.path = self.type_name = what


_STEPS: dict[type, Any] = {int: _Step(INT, "an index"), str: _Step(STRING, "a key")}


class _Path:
    """Room for the steps of a path. From a pool, like a Scratch."""

    def __init__(self) -> None:
        self.values = Values(DEEPEST)


_paths: list[_Path] = []


class Nested:
    """A list or dict inside a mixed property of a managed object, or inside an element of a collection of any values.
    Shows what is at its place now, and is changed inside a write only. Any thread may use it."""

    __slots__ = ("_source", "_epoch", "_prop", "_head", "_key", "_property_id", "_path")
    __hash__ = None  # type: ignore[assignment]

    _source: "Source"
    _epoch: "Epoch"
    _prop: "Property | Element"
    _head: int
    _key: int
    _property_id: int
    _path: tuple[int | str, ...]

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError(f"{a(type(self).__name__)} belongs to an object of a store: use a builtin one")

    _copied = __slots__

    @property
    def is_frozen(self) -> bool:
        """Does it permanently show one version?"""
        return self._source.is_frozen

    def freeze(self: C) -> C:
        """The same as it is now, frozen: as of List.freeze()."""
        return versions.freeze(self, self._head, self._key)  # type: ignore[attr-defined]

    def thaw(self: C) -> C | None:
        """The live one that a frozen one shows a former state of; None: its object was deleted, or at its place is no
        such thing any more. One that is live is returned as it is. Closed: the store is closed."""
        live: Any = versions.thaw(self, self._head, self._key)  # type: ignore[attr-defined]
        if live is None or live is self:
            return live
        found = live._value(_get, live._path)
        is_one = type(found) is tuple and (found[0] == LIST) == isinstance(live, MixedList)
        return live if is_one else None

    def _view(self) -> "View":
        view = self._source._view_for(self._epoch)
        self._epoch = view.epoch
        return view

    def _inner(self, kind: int, step: int | str) -> "Nested":
        made: Any = object.__new__(MixedList if kind == LIST else MixedDict)
        made._source, made._epoch, made._prop = self._source, self._epoch, self._prop
        made._head, made._key, made._property_id = self._head, self._key, self._property_id
        made._path = (*self._path, step)
        return made  # type: ignore[no-any-return]

    def _call(self, function: Any, handle: int, path: tuple[int | str, ...], *arguments: Any) -> int:
        """A function of a path; its status."""
        s = take()
        s.head.value, s.key.value = self._head, self._key
        try:
            room = _paths.pop()
        except IndexError as error:
            hand_on(error)
            room = _Path()
        room.values.fill([_STEPS[type(step)] for step in path], list(path[:DEEPEST]))
        status: int = function(handle, s.object, self._property_id, room.values.address, len(path), *arguments)
        _paths.append(room)
        give_back(s)
        return status

    def _value(self, function: Any, path: tuple[int | str, ...]) -> Any:
        """What is at the end of a path, or _ABSENT: a list or dict as (kind, count) by _get, copied by _read."""
        s, view = take(), self._view()  # which is kept until the value is read
        if status := self._call(function, view.handle, path, None, s.values.address, s.flag_address):
            raise failure(status)
        kind = s.words[0]
        if not s.flag.value:
            value = _ABSENT
        elif kind == LIST or kind == MAP:
            value = (kind, s.words[1])
        else:
            value = s.values.get(self._prop, self._linked)
        give_back(s)
        return value

    def _linked(self, class_id: int, key: int) -> Any:
        return linked(self._source, self._prop, class_id, key)

    def _element(self, step: int | str) -> Any:
        """An element, live where it is a list or dict; or _ABSENT."""
        value = self._value(_get, (*self._path, step))
        return self._inner(value[0], step) if type(value) is tuple else value

    def _count(self) -> int:
        value = self._value(_get, self._path)
        return int(value[1]) if type(value) is tuple else 0

    def __len__(self) -> int:
        return self._count()

    def _elements(self) -> Any:
        """A builtin list or dict of the elements, lists and dicts in it live."""
        s, view = take(), self._view()
        if status := self._call(_read, view.handle, self._path, None, s.values.address, s.flag_address):
            raise failure(status)
        packed = ctypes.string_at(s.words[1], s.words[2]) if s.words[0] == kinds.DOCUMENT else b""
        give_back(s)
        return documents.unpack_shallow(packed, self._inner, self._linked) if packed else None

    # Observing

    @property
    def _shape(self) -> Shape:
        key = Element(STRING, False, None, KEY) if isinstance(self, MixedDict) else None
        return Shape(LIST if key is None else MAP, Element(kinds.MIXED, True, None, ELEMENT), key)

    @property
    def _place(self) -> str:
        return self._prop.path + "".join(f"[{step!r}]" for step in self._path)

    def _calling(self, function: Any, handle: int, *rest: Any) -> int:
        return self._call(function, handle, self._path, *rest)

    def observe(
        self, handler: "Callable[[ElementChanges], object]", *, initial: bool = True, since: bytes | None = None
    ) -> "Token":
        """Calls handler(change) for what every commit changes in the list or dict, or puts in its place: as of
        List.observe() and Dict.observe(). WrongType: at its place is no list and no dict; NotFound: nothing is."""
        return self._source._observed()._observe_nested(self, handler, initial, since)

    def changes(self, *, initial: bool = True, since: bytes | None = None) -> "AnyStream[ElementChanges]":
        """The same for asyncio: `async for change in dog.extra["seen"].changes(): …`"""
        return self._source._observed()._nested_changes(self, initial, since)

    def live(self, *, rows: int = 20, interval: float = 0.1) -> "LiveTable[Any]":
        """The first `rows` elements as a table in a notebook that follows every commit, as of List.live(), with a
        column of keys where it is a dict. It shows what is at its place, and ends when the object is deleted."""
        return self._source._live_nested(self, rows, interval)

    def copy(self) -> Any:
        """A builtin list or dict of everything in it."""
        return self._value(_read, self._path)

    def to_json(
        self, depth: int = 1, *, pretty: bool = False, extended: bool = False, nan_as_null: bool = False
    ) -> str:
        """The list or dict as JSON text, as it is in that of its object. With `depth` 0 links are references, with
        1 the objects that they lead to. The rest is as of Model.to_json."""
        view = self._view()  # kept during the call

        def call(function: Any, *rest: Any) -> int:
            return self._call(function, view.handle, self._path, *rest)

        return json_text.of_property(call, depth, json_options.flags(pretty, extended, nan_as_null))

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Any:
        return self.copy()

    def __reduce_ex__(self, protocol: object) -> Any:
        return (list if isinstance(self, MixedList) else dict), (self.copy(),)

    def __repr__(self) -> str:
        try:
            text = repr(state.readable(self.copy()))
        except Error as error:
            return f"<{type(self).__name__} {self._prop.path}: {error.message}>"
        return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"

    # Changing

    def _is_at(self, source: "Source", place: tuple[int, int, int], path: tuple[int | str, ...]) -> bool:
        """Does it show what is there? Giving it to its own place, as `dog.extra["seen"] += …` does in the end,
        writes nothing."""
        return self._source is source and (self._head, self._key, self._property_id) == place and self._path == path

    def _change(self, function: Any, path: tuple[int | str, ...], *value: Any) -> int:
        """Changes one value; the status, of which NOT_FOUND is the caller's."""
        prop: Any = self._prop  # for a message
        transaction = self._source._writing(prop)
        transaction.settle((self._head, self._key, self._property_id))
        value = tuple(kinds.convert(self._prop, v) for v in value)
        with added(transaction, [obj for v in value for obj in kinds.objects_in(v)]):
            return self._changed(transaction, function, path, *value)

    def _changed(self, transaction: Any, function: Any, path: tuple[int | str, ...], *value: Any) -> int:
        t = take()
        if value:
            t.values.put_one(self._prop, value[0])
            status = self._call(function, transaction.handle, path, t.values.first)
        else:
            status = self._call(function, transaction.handle, path)
        problem = failure(status) if status not in (0, Status.NOT_FOUND) else None
        give_back(t)
        if problem is not None:
            raise problem
        return status

    def _put(self, step: int | str, value: Any) -> int:
        """Gives an element a value; the status."""
        path = (*self._path, step)
        if isinstance(value, Nested) and value._is_at(self._source, (self._head, self._key, self._property_id), path):
            prop: Any = self._prop  # for a message
            self._source._writing(prop)
            return 0
        return self._change(_set, path, value)

    def _replace(self, content: Any) -> None:
        """Another content, and nothing where it is the same to the bit: there is no change to report then."""
        prop: Any = self._prop  # for a message
        self._source._writing(prop)
        now, wanted = self.copy(), kinds.convert(self._prop, content)
        if (
            type(now) is type(wanted)
            and not any(map(kinds.is_loose, kinds.objects_in(wanted)))
            and documents.pack(self._prop, now) == documents.pack(self._prop, wanted)
        ):
            return
        self._change(_set, self._path, content)


class MixedList(Nested, MutableSequence[Any]):
    """A list inside a mixed property: everything that a builtin list can do. A loop goes over the elements that were
    there when it began."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._now()[index]
        number = operator.index(index)
        value = self._element(number) if kinds.SMALLEST <= number <= kinds.LARGEST else _ABSENT
        if value is _ABSENT:
            raise self._beyond(number)
        return value

    def _now(self) -> list[Any]:
        found: list[Any] = self._elements() or []
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self._now())

    def __reversed__(self) -> Iterator[Any]:
        return iter(self._now()[::-1])

    def __contains__(self, value: object) -> bool:
        return any(value is found or value == found for found in self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MixedList):
            return bool(self.copy() == other.copy())
        return bool(self.copy() == other) if isinstance(other, list) else NotImplemented

    def __add__(self, other: Any) -> list[Any]:
        return [*self.copy(), *other] if isinstance(other, (list, MixedList)) else NotImplemented

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self.copy()] if isinstance(other, list) else NotImplemented

    def __mul__(self, count: SupportsIndex) -> list[Any]:
        return self.copy() * count  # type: ignore[no-any-return]

    __rmul__ = __mul__

    def __imul__(self, count: SupportsIndex) -> "MixedList":
        self._replace(self.copy() * count)
        return self

    def _beyond(self, number: int) -> IndexOutOfRange:
        return about(IndexOutOfRange, self._prop, f"{self._prop.path}: there is no element {number}")

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            content = self.copy()
            content[index] = value
            self._replace(content)
        elif self._put(operator.index(index), value):
            raise self._beyond(operator.index(index))

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        if isinstance(index, slice):
            content = self.copy()
            del content[index]
            self._replace(content)
        elif self._change(_remove, (*self._path, operator.index(index))):
            raise self._beyond(operator.index(index))

    def insert(self, index: SupportsIndex, value: Any) -> None:
        number, count = operator.index(index), self._count()
        at = max(0, number + count) if number < 0 else min(number, count)
        self._change(_insert, (*self._path, at), value)

    def append(self, value: Any) -> None:
        self._change(_insert, (*self._path, -1), value)

    def extend(self, values: Iterable[Any]) -> None:
        self[self._count() :] = list(values)

    def pop(self, index: SupportsIndex = -1) -> Any:
        """Takes an element out and returns it, copied."""
        number = operator.index(index)
        value = self._value(_read, (*self._path, number))
        if value is _ABSENT:
            raise self._beyond(number)
        del self[number]
        return value

    def reverse(self) -> None:
        self._replace(self.copy()[::-1])

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        self._replace(sorted(self.copy(), key=key, reverse=reverse))

    def clear(self) -> None:
        self._replace([])


class MixedDict(Nested, MutableMapping[str, Any]):
    """A dict inside a mixed property: everything that a builtin dict with str as keys can do, in ascending order of the
    keys. A loop goes over the entries that were there when it began."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        value = self._found(key)
        if value is _ABSENT:
            raise KeyError(key)
        return value

    def _found(self, key: object) -> Any:
        hash(key)  # TypeError, as a builtin has it
        try:
            return self._element(str.__str__(key)) if isinstance(key, str) else _ABSENT
        except (UnicodeEncodeError, InvalidText) as error:
            hand_on(error)
            return _ABSENT

    def __contains__(self, key: object) -> bool:
        return self._found(key) is not _ABSENT

    def get(self, key: str, default: Any = None, /) -> Any:
        value = self._found(key)
        return default if value is _ABSENT else value

    def _now(self) -> dict[str, Any]:
        found: dict[str, Any] = self._elements() or {}
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._now())

    def items(self) -> Any:
        return self._now().items()

    def values(self) -> Any:
        return self._now().values()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MixedDict):
            return bool(self.copy() == other.copy())
        return bool(self.copy() == dict(other)) if isinstance(other, Mapping) else NotImplemented

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.copy(), **dict(other.items())} if isinstance(other, Mapping) else NotImplemented

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**dict(other.items()), **self.copy()} if isinstance(other, Mapping) else NotImplemented

    def __ior__(self, other: Any) -> "MixedDict":  # type: ignore[misc]
        self.update(other)
        return self

    def __setitem__(self, key: str, value: Any) -> None:
        self._put(kinds.key(self._prop, key), value)

    def __delitem__(self, key: str) -> None:
        if self._change(_remove, (*self._path, kinds.key(self._prop, key))):
            raise KeyError(key)

    def pop(self, key: str, default: Any = _ABSENT, /) -> Any:
        """Takes a key out and returns its value, copied; where it is not there, `default`, or KeyError."""
        value = self._value(_read, (*self._path, key)) if isinstance(key, str) else _ABSENT
        if value is not _ABSENT:
            del self[key]
            return value
        if default is _ABSENT:
            raise KeyError(key)
        return default

    def popitem(self) -> tuple[str, Any]:
        """Takes the entry with the greatest key out; KeyError: there is none."""
        keys = list(self)
        if not keys:
            raise KeyError("popitem(): the dict is empty")
        return keys[-1], self.pop(keys[-1])

    def update(self, other: Any = (), /, **more: Any) -> None:
        """Adds or replaces entries, in one step."""
        self._replace({**self.copy(), **dict(other), **more})

    def clear(self) -> None:
        self._replace({})


def linked(source: "Source", prop: "kinds.Described", class_id: int, key: int) -> Any:
    """An object that a value links to."""
    binding = source._of_class(class_id)
    if binding is None:
        raise about(
            NoSuchClass, prop, f"{prop.path}: the value is a link to an object of a class that is not among the models"
        )
    return state.make(binding.model, source._unread(binding), key)


def inside(
    source: "Source", epoch: "Epoch", element: "Element", place: tuple[int, int, int], kind: int, step: int | str
) -> Nested:
    """The list or dict that is an element of a collection: the index or the key says which."""
    made: Any = object.__new__(MixedList if kind == LIST else MixedDict)
    made._source, made._epoch, made._prop = source, epoch, element
    (made._head, made._key, made._property_id), made._path = place, (step,)
    return made  # type: ignore[no-any-return]


def read(obj: Any, prop: "Property") -> Any:
    """A mixed property of a managed object: its value, or a MixedList or MixedDict."""
    block = obj._o_block
    source = block.store
    binding = source._binding(type(obj))
    root: Any = object.__new__(Nested)
    root._source, root._epoch, root._prop = source, block.epoch, prop
    root._head, root._key, root._property_id, root._path = binding.head, obj._o_key, binding.ids[prop.index], ()
    value = root._value(_get, ())
    if type(value) is not tuple:
        return value
    made: Any = object.__new__(MixedList if value[0] == LIST else MixedDict)
    for slot in Nested.__slots__:
        setattr(made, slot, getattr(root, slot))
    return made
