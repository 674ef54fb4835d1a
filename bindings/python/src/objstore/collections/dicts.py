"""Dicts of managed objects."""

from collections.abc import ItemsView, Iterator, KeysView, Mapping, MutableMapping, ValuesView
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ..native import ffi
from ..native.failures import failure
from ..values import elements
from ..values.c_values import give_back, take
from ..values.kinds import is_loose
from . import filling, mixed
from .set_wise import LinkCollection

if TYPE_CHECKING:
    from ..reading.views import View
    from ..writing.transaction import Transaction


_get = ffi.bind("objstore_map_get")
_set = ffi.bind("objstore_map_set")
_remove = ffi.bind("objstore_map_remove")

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")
_ABSENT: Any = object()


class _Items(ItemsView[K, V]):
    """Entries, read in blocks."""

    __slots__ = ()

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return self._mapping._loop(keys=True)  # type: ignore[attr-defined,no-any-return]


class _Values(ValuesView[V]):
    """Values, read in blocks."""

    __slots__ = ()

    def __iter__(self) -> Iterator[V]:
        return self._mapping._loop()  # type: ignore[attr-defined,no-any-return]

    def __contains__(self, value: object) -> bool:
        return any(value is found or value == found for found in self)


class Dict(LinkCollection[V], MutableMapping[K, V], Generic[K, V]):
    """A dict of a managed object, `notes: dict[str, str]`: everything that a builtin dict can do, in ascending order of
    the keys. A loop goes over the entries that were there when it began.

    Declared as `notes: objstore.Dict[str, str]`, type checkers know that it is one, and that any mapping can be
    assigned."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: object) -> "Dict[K, V]": ...
        def __set__(self, instance: object, value: Mapping[K, V]) -> None: ...

    # Reading

    def __getitem__(self, key: K) -> V:
        value = self._value(self._view(), key)
        if value is _ABSENT:
            raise KeyError(key)
        found: V = value
        return found

    def __contains__(self, key: object) -> bool:
        return self._value(self._view(), key) is not _ABSENT

    def __iter__(self) -> Iterator[K]:
        return self._loop(keys=True, values=False)

    def __reversed__(self) -> Iterator[K]:
        return iter(self._all(keys=True, values=False)[::-1])

    def items(self) -> ItemsView[K, V]:
        return _Items(self)

    def values(self) -> ValuesView[V]:
        return _Values(self)

    def keys(self) -> KeysView[K]:
        return KeysView(self)

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, default: V, /) -> V: ...
    @overload
    def get(self, key: K, default: D, /) -> V | D: ...
    def get(self, key: Any, default: Any = None, /) -> Any:
        value = self._value(self._view(), key)
        return default if value is _ABSENT else value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return bool(self.copy() == dict(other.items()))

    def __or__(self, other: Mapping[Any, Any]) -> dict[Any, Any]:
        return {**self.copy(), **dict(other.items())} if isinstance(other, Mapping) else NotImplemented

    def __ror__(self, other: Mapping[Any, Any]) -> dict[Any, Any]:
        return {**dict(other.items()), **self.copy()} if isinstance(other, Mapping) else NotImplemented

    def _value(self, view: "View", key: Any) -> Any:
        """The value of a key, or _ABSENT."""
        hash(key)  # TypeError, as a builtin has it
        assert self._shape.key is not None
        converted, possible = self._shape.key.find(key)
        if not possible:
            self._count(view)  # which says whether the object is there
            return _ABSENT
        s = take()
        s.values.put_one(self._shape.key, converted)
        status = _get(view.handle, self._c, s.values.first, None, s.values.address, s.flag_address)
        if status:
            raise failure(status)
        value = self._one(s.values, converted) if s.flag.value else _ABSENT
        give_back(s)
        return value

    # Changing

    def __setitem__(self, key: K, value: V) -> None:
        self._put(self._writing(), key, value)

    def _put(self, transaction: "Transaction", key: Any, value: Any) -> None:
        shape = self._shape
        assert shape.key is not None
        key = shape.key.convert(key)
        if isinstance(value, mixed.Nested) and value._is_at(
            self._source, self._place, (str(getattr(key, "value", key)),)
        ):
            return  # dog.notes["seen"] += …: it is there already
        value = shape.element.convert(value)
        if shape.embeds and is_loose(value):
            return filling.merge(transaction, self._c, shape, {key: value})
        with filling.linked(transaction, shape, [value]):
            s, t = take(), take()
            s.values.put_one(shape.key, key)
            t.values.put_one(shape.element, value)
            if status := _set(transaction.handle, self._c, s.values.first, t.values.first, None):
                raise failure(status)
            give_back(s)
            give_back(t)

    def __delitem__(self, key: K) -> None:
        transaction = self._writing()
        hash(key)
        if not self._discard(transaction, key):
            raise KeyError(key)

    def _discard(self, transaction: "Transaction", key: Any) -> bool:
        assert self._shape.key is not None
        return self._take_out(transaction, _remove, self._shape.key, key)

    @overload
    def pop(self, key: K, /) -> V: ...
    @overload
    def pop(self, key: K, default: V, /) -> V: ...
    @overload
    def pop(self, key: K, default: D, /) -> V | D: ...
    def pop(self, key: Any, default: Any = _ABSENT, /) -> Any:
        """Takes a key out and returns its value; where it is not there, `default`, or KeyError."""
        transaction = self._writing()
        value = self._value(transaction, key)
        if value is not _ABSENT:
            value = self._taken(value)
            self._discard(transaction, key)
            return value
        if default is _ABSENT:
            raise KeyError(key)
        return default

    def popitem(self) -> tuple[K, V]:
        """Takes the entry with the greatest key out; KeyError: there is none."""
        transaction = self._writing()
        count = self._count(transaction)
        if not count:
            raise KeyError(f"{self._prop.path} is empty")
        entry: tuple[K, V] = self._block(transaction, count - 1, 1, keys=True)[0]
        entry = entry[0], self._taken(entry[1])
        self._discard(transaction, entry[0])
        return entry

    def setdefault(self, key: K, default: Any = None, /) -> V:
        """The value of a key, which gets `default` where it is not there."""
        transaction = self._writing()
        value = self._value(transaction, key)
        if value is _ABSENT:
            self._put(transaction, key, default)
            value = self._value(transaction, key)
        found: V = value
        return found

    def update(self, other: Any = (), /, **values: Any) -> None:
        """Gives keys their values, of a mapping, of pairs or of keywords: all of them, or none."""
        transaction = self._writing()
        if not isinstance(other, Mapping) and hasattr(other, "keys"):
            other = {key: other[key] for key in other.keys()}
        content = elements.entries(self._shape, other) | elements.entries(self._shape, values)
        with transaction.savepoint():
            filling.merge(transaction, self._c, self._shape, content)

    def __ior__(self, other: Any) -> "Dict[K, V]":  # type: ignore[misc]
        self.update(other)
        return self
