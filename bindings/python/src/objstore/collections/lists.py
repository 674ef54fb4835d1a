"""Lists of managed objects."""

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, MutableSequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

from ..building.assembly import Assembly
from ..errors import IndexOutOfRange, OutOfRange, Status, about
from ..messages import shown
from ..native import ffi
from ..native.failures import check, failure
from ..values import elements, kinds
from ..values.c_values import give_back, take
from ..values.kinds import is_loose
from . import filling, mixed
from .collection import _get
from .set_wise import LinkCollection

if TYPE_CHECKING:
    from ..reading.views import View
    from ..writing.transaction import Transaction


_remove = ffi.bind("objstore_collection_remove")
_set = ffi.bind("objstore_list_set")
_move = ffi.bind("objstore_list_move")

T = TypeVar("T")
NOWHERE = 2**62  # an index that no list has


class List(LinkCollection[T], MutableSequence[T]):
    """A list of a managed object, `toys: list[str]`: everything that a builtin list can do, and move().

    A loop goes over the elements that were there when it began. Declared as `toys: objstore.List[str]`, type checkers
    know that it is one, and that any iterable can be assigned."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: object) -> "List[T]": ...
        def __set__(self, instance: object, value: Iterable[T]) -> None: ...

    # Reading

    @overload
    def __getitem__(self, index: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> T | list[T]:
        view = self._view()
        if isinstance(index, slice):
            wanted = range(*index.indices(self._count(view)))
            if not wanted:
                return []
            low, high = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
            found: list[T] = self._range(view, low, high + 1)[:: wanted.step]
            return found
        number = operator.index(index)
        at = number if number >= 0 else number + self._count(view)
        s = take()
        if status := _get(view.handle, self._c, at if 0 <= at < NOWHERE else NOWHERE, None, None, s.values.address):
            raise self._beyond(number, view) if status == Status.OUT_OF_RANGE else failure(status)
        value: T = self._one(s.values, at)
        give_back(s)
        return value

    def __iter__(self) -> Iterator[T]:
        return self._loop()

    def __reversed__(self) -> Iterator[T]:
        return iter(self[::-1])

    def __contains__(self, value: object) -> bool:
        return self._find(value) >= 0

    def index(self, value: Any, start: int = 0, stop: int = sys.maxsize) -> int:
        """Where the first element is that equals `value`; ValueError: there is none."""
        first = self._find(value)
        if first >= 0:
            if start == 0:
                if first < stop or (stop < 0 and first < stop + len(self)):
                    return first
            else:
                return list.index(self._all(), self._shape.element.find(value)[0], start, stop)
        raise ValueError(f"{value!r} is not in {self._prop.path}")

    def count(self, value: Any) -> int:
        """How many elements equal `value`."""
        converted, possible = self._shape.element.find(value, self._source)
        if not possible:
            return 0
        if converted != converted:
            return sum(element != element for element in self)
        return list(self).count(converted)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (list, List)):
            return NotImplemented
        return self._all() == (other._all() if isinstance(other, List) else other)

    def __add__(self, other: list[T]) -> list[T]:
        return self._all() + other if isinstance(other, (list, List)) else NotImplemented

    def __radd__(self, other: list[T]) -> list[T]:
        return other + self._all() if isinstance(other, list) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> list[T]:
        return self._all() * times

    __rmul__ = __mul__

    def __lt__(self, other: Any) -> bool:
        return self._compared(other, operator.lt)  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> bool:
        return self._compared(other, operator.le)  # type: ignore[no-any-return]

    def __gt__(self, other: Any) -> bool:
        return self._compared(other, operator.gt)  # type: ignore[no-any-return]

    def __ge__(self, other: Any) -> bool:
        return self._compared(other, operator.ge)  # type: ignore[no-any-return]

    def _compared(self, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
        if not isinstance(other, (list, List)):
            return NotImplemented
        return compare(self._all(), other._all() if isinstance(other, List) else other)

    # Changing

    @overload
    def __setitem__(self, index: SupportsIndex, value: T) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[T]) -> None: ...
    def __setitem__(self, index: SupportsIndex | slice, value: Any) -> None:
        transaction = self._writing()
        if isinstance(index, slice):
            self._assign(index, elements.content(self._prop, value))
            return
        at = self._at(index, transaction)
        if isinstance(value, mixed.Nested) and value._is_at(self._source, self._place, (at,)):
            return  # dog.things[0] += …: it is there already
        converted = self._shape.element.convert(value)
        if self._shape.embeds and is_loose(converted):
            with transaction.savepoint():
                check(_remove(transaction.handle, self._c, at, 1))
                filling.insert(transaction, self._c, self._shape, at, [converted])
            return
        with filling.linked(transaction, self._shape, [converted]):
            self._put(transaction.handle, at, converted)

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        transaction = self._writing()
        if not isinstance(index, slice):
            check(_remove(transaction.handle, self._c, self._at(index, transaction), 1))
            return
        wanted = range(*index.indices(self._count(transaction)))
        if wanted.step < 0:
            wanted = wanted[::-1]
        if not wanted:
            return
        if wanted.step == 1:
            check(_remove(transaction.handle, self._c, wanted.start, len(wanted)))
            return
        with transaction.savepoint():
            for at in reversed(wanted):
                check(_remove(transaction.handle, self._c, at, 1))

    def insert(self, index: SupportsIndex, value: T) -> None:
        """Inserts an element before the one at `index`."""
        transaction = self._writing()
        converted = self._shape.element.convert(value)
        at, _, _ = slice(operator.index(index), None).indices(self._count(transaction))
        filling.insert(transaction, self._c, self._shape, at, [converted])

    def append(self, value: T) -> None:
        """Adds an element at the end."""
        transaction = self._writing()
        filling.insert(transaction, self._c, self._shape, filling.END, [self._shape.element.convert(value)])

    def extend(self, values: Iterable[T]) -> None:
        """Adds elements at the end: all of them, or none."""
        transaction, content = self._writing(), elements.content(self._prop, values)
        if content:
            filling.insert(transaction, self._c, self._shape, filling.END, content)
        else:
            self._count(transaction)  # which says whether the object is there

    def __iadd__(self, values: Iterable[T]) -> "List[T]":
        self.extend(values)
        return self

    def __imul__(self, times: SupportsIndex) -> "List[T]":
        number = operator.index(times)
        if number <= 0:
            self.clear()
        else:
            self.extend(self._all() * (number - 1))
        return self

    def pop(self, index: SupportsIndex = -1) -> T:
        """Takes an element out, usually the last one. Of an embedded object, which is deleted then, a copy is
        returned."""
        transaction = self._writing()
        at = self._at(index, transaction)
        value: T = self._taken(self[at])
        check(_remove(transaction.handle, self._c, at, 1))
        return value

    def remove(self, value: Any) -> None:
        """Takes the first element out that equals `value`; ValueError: there is none."""
        transaction = self._writing()
        check(_remove(transaction.handle, self._c, self.index(value), 1))

    def move(self, index: SupportsIndex, target: SupportsIndex) -> None:
        """Moves the element at `index` so that it has the index `target` afterwards."""
        transaction = self._writing()
        check(_move(transaction.handle, self._c, self._at(index, transaction), self._at(target, transaction)))

    def reverse(self) -> None:
        """Turns the order around."""
        self._arrange(self._all(live=False)[::-1])

    def sort(self, *, key: Callable[[T], Any] | None = None, reverse: bool = False) -> None:
        """Sorts the elements as list.sort() does."""
        ordered: Any = self._all(live=False)
        ordered.sort(key=key, reverse=reverse)
        self._arrange(ordered)

    def _arrange(self, values: list[T]) -> None:
        transaction = self._writing()
        if self._shape.embeds:
            return self._move_all(transaction.handle, values)
        if self._has(transaction, range(len(values)), values):
            return  # sorted already, or the same from both ends: there is no change to report
        filling.replace(transaction, self._c, self._shape, values)

    def _move_all(self, handle: int, values: list[Any]) -> None:
        """Into this order; what is embedded must not be taken out for it."""
        now, wanted = [v._o_key for v in self._all()], [v._o_key for v in values]
        for at, key in enumerate(wanted):
            if now[at] != key:
                was = now.index(key, at)
                check(_move(handle, self._c, was, at))
                now.insert(at, now.pop(was))

    def _assign(self, index: slice, values: list[Any]) -> None:
        transaction = self._writing()
        wanted = range(*index.indices(self._count(transaction)))
        handle, shape = transaction.handle, self._shape
        if shape.embeds:
            whole = self._all()
            whole[index] = values  # what stays, or goes to another place, is the object that it is
            assert self._prop.model is not None  # the class is ready
            binding = self._source._binding(self._prop.model)
            Assembly(transaction, 0).set(binding, self._c.owner.key, self._prop, whole)
        elif len(values) == len(wanted) and self._has(transaction, wanted, values):
            return
        elif wanted.step == 1:
            with transaction.savepoint():
                if wanted:
                    check(_remove(handle, self._c, wanted.start, len(wanted)))
                filling.insert(transaction, self._c, shape, wanted.start, values)
        elif len(values) == len(wanted):
            with transaction.savepoint(), filling.linked(transaction, shape, values):
                for at, value in zip(wanted, values):
                    self._put(handle, at, value)
        else:
            raise ValueError(
                f"attempt to assign sequence of size {len(values)} to extended slice of size {len(wanted)}"
            )

    def _has(self, transaction: "Transaction", places: range, values: list[Any]) -> bool:
        """Are these, to the bit, the elements at these places?"""
        if not places:
            return not values and self._count(transaction) >= 0  # which says whether the object is there
        if any(map(is_loose, kinds.objects_in(values))):
            return False
        low, high = min(places[0], places[-1]), max(places[0], places[-1])
        return elements.same(self._shape, self._range(transaction, low, high + 1, live=False)[:: places.step], values)

    def _put(self, handle: int, at: int, converted: Any) -> None:
        s = take()
        s.values.put_one(self._shape.element, converted)
        if status := _set(handle, self._c, at, s.values.first):
            raise failure(status)
        give_back(s)

    def _at(self, index: SupportsIndex, view: "View") -> int:
        """An index from 0 on, of an element that is there."""
        number, count = operator.index(index), self._count(view)
        at = number + count if number < 0 else number
        if 0 <= at < count:
            return at
        raise self._beyond(number, view)

    def _beyond(self, number: int, view: "View") -> OutOfRange:
        return about(
            IndexOutOfRange, self._prop, f"{self._prop.path}: index {shown(number)} of {self._count(view)} elements"
        )
