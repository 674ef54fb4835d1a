"""Sets of managed objects."""

from collections.abc import Callable, Iterable, Iterator, MutableSet, Set as AbstractSet
from typing import TYPE_CHECKING, Any, TypeVar

from ..native import ffi
from ..native.failures import failure
from ..values import elements, kinds
from ..values.c_values import give_back, take
from . import filling
from .set_wise import LinkCollection

if TYPE_CHECKING:
    from ..writing.transaction import Transaction


_insert = ffi.bind("objstore_set_insert")
_remove = ffi.bind("objstore_set_remove")

T = TypeVar("T")


class Set(LinkCollection[T], MutableSet[T]):
    """A set of a managed object, `seen: set[str]`: everything that a builtin set can do. Iterates in ascending order,
    None first, over the elements that were there when the loop began. |, &, - and ^ give builtin sets.

    Declared as `seen: objstore.Set[str]`, type checkers know that it is one, and that any iterable can be assigned."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: object) -> "Set[T]": ...
        def __set__(self, instance: object, value: Iterable[T]) -> None: ...

    @classmethod
    def _from_iterable(cls, content: Iterable[Any]) -> Any:
        return set(content)  # what |, &, - and ^ of the base give

    # Reading

    def __iter__(self) -> Iterator[T]:
        return self._loop()

    def __contains__(self, value: object) -> bool:
        return self._find(value) >= 0

    def union(self, *others: Iterable[T]) -> set[T]:
        return self._builtin().union(*others)

    def intersection(self, *others: Iterable[Any]) -> set[T]:
        return self._builtin().intersection(*others)

    def difference(self, *others: Iterable[Any]) -> set[T]:
        return self._builtin().difference(*others)

    def symmetric_difference(self, other: Iterable[T]) -> set[T]:
        return self._builtin().symmetric_difference(other)

    def issubset(self, other: Iterable[Any]) -> bool:
        return self._builtin().issubset(other)

    def issuperset(self, other: Iterable[Any]) -> bool:
        return self._builtin().issuperset(other)

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        return self._builtin().isdisjoint(other)

    def _builtin(self) -> set[T]:
        return elements.builtin_set(self._shape.element, self._all())

    def _combined(self, other: Any, combine: "Callable[[set[T], Any], Any]") -> Any:
        return combine(self._builtin(), set(other)) if isinstance(other, AbstractSet) else NotImplemented

    def __or__(self, other: AbstractSet[Any]) -> set[Any]:
        return self._combined(other, set.__or__)  # type: ignore[no-any-return]

    def __and__(self, other: AbstractSet[Any]) -> set[T]:
        return self._combined(other, set.__and__)  # type: ignore[no-any-return]

    def __sub__(self, other: AbstractSet[Any]) -> set[T]:
        return self._combined(other, set.__sub__)  # type: ignore[no-any-return]

    def __xor__(self, other: AbstractSet[Any]) -> set[Any]:
        return self._combined(other, set.__xor__)  # type: ignore[no-any-return]

    def __rsub__(self, other: AbstractSet[Any]) -> set[Any]:
        return self._combined(other, lambda mine, theirs: theirs - mine)  # type: ignore[no-any-return]

    __ror__, __rand__, __rxor__ = __or__, __and__, __xor__

    # Changing

    def add(self, value: T) -> None:
        """Adds an element, if it is not there."""
        transaction = self._writing()
        converted = self._shape.element.convert(value)
        if self._shape.element.kind in (kinds.DECIMAL, kinds.MIXED):
            elements.member(self._shape.element, converted)
        with filling.linked(transaction, self._shape, [converted]):
            s = take()
            s.values.put_one(self._shape.element, converted)
            if status := _insert(transaction.handle, self._c, s.values.first, None):
                raise failure(status)
            give_back(s)

    def discard(self, value: Any) -> None:
        """Takes an element out, if it is there."""
        self._discard(self._writing(), value)

    def remove(self, value: Any) -> None:
        """Takes an element out; KeyError: it is not there."""
        if not self._discard(self._writing(), value):
            raise KeyError(value)

    def pop(self) -> T:
        """Takes the first element out; KeyError: there is none."""
        transaction = self._writing()
        first = self._block(transaction, 0, 1)
        if not first:
            raise KeyError(f"{self._prop.path} is empty")
        self._discard(transaction, first[0])
        value: T = first[0]
        return value

    def _discard(self, transaction: "Transaction", value: Any) -> bool:
        return self._take_out(transaction, _remove, self._shape.element, value)

    def _change(self, remove: Iterable[Any], add: Iterable[Any]) -> None:
        """All of it, or nothing."""
        transaction = self._writing()
        with transaction.savepoint():
            for value in remove:
                self._discard(transaction, value)
            filling.merge(transaction, self._c, self._shape, add)

    def update(self, *others: Iterable[T]) -> None:
        """Adds the elements of all the others: all of them, or none."""
        self._writing()
        self._change((), set[Any]().union(*(elements.content(self._prop, other) for other in others)))

    def intersection_update(self, *others: Iterable[Any]) -> None:
        """Keeps the elements that all the others have, too."""
        self._writing()
        mine = self._builtin()
        self._change(mine - mine.intersection(*others), ())

    def difference_update(self, *others: Iterable[Any]) -> None:
        """Takes the elements of all the others out."""
        self._writing()
        self._change(self._builtin().intersection(set[Any]().union(*others)), ())

    def symmetric_difference_update(self, other: Iterable[T]) -> None:
        """Takes out what the other has, too, and adds what only the other has."""
        self._writing()
        mine, theirs = self._builtin(), elements.content(self._prop, other)
        self._change(mine & theirs, theirs - mine)

    def __ior__(self, other: AbstractSet[T]) -> "Set[T]":  # type: ignore[override,misc]
        return self._changed(other, self.update)  # type: ignore[no-any-return]

    def __iand__(self, other: AbstractSet[Any]) -> "Set[T]":
        return self._changed(other, self.intersection_update)  # type: ignore[no-any-return]

    def __isub__(self, other: AbstractSet[Any]) -> "Set[T]":
        return self._changed(other, self.difference_update)  # type: ignore[no-any-return]

    def __ixor__(self, other: AbstractSet[T]) -> "Set[T]":  # type: ignore[override,misc]
        return self._changed(other, self.symmetric_difference_update)  # type: ignore[no-any-return]

    def _changed(self, other: Any, change: Callable[[Any], None]) -> Any:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        change(other)
        return self
