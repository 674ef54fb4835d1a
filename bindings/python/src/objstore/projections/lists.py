"""A property of each object of a list, set, dict or inverse, in a projection."""

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

from ..errors import IndexOutOfRange, NoSuchObject

N = TypeVar("N")


class ProjectedList(Sequence[N], Generic[N]):
    """What `projected(Person.friends, Person.first_name)` is read as: as many elements as there are objects, in their
    order, and as live as they are. Where there is no object (the value of a key of a dict), or something on the way is
    None, it is None. Setting an element, inside a write, sets the property of that object."""

    __slots__ = ("_objects", "_behind", "_is_of_dict")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, objects: Any, behind: list[str], is_of_dict: bool) -> None:
        self._objects = objects
        self._behind = behind
        self._is_of_dict = is_of_dict

    def _all(self) -> list[Any]:
        return list(self._objects.values() if self._is_of_dict else self._objects)

    def _value(self, obj: Any) -> Any:
        for name in self._behind:
            if obj is None:
                return None
            obj = getattr(obj, name)
        return obj

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[N]:
        return map(self._value, self._all())

    @overload
    def __getitem__(self, index: int) -> N: ...
    @overload
    def __getitem__(self, index: slice) -> list[N]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self._value(obj) for obj in self._all()[index]]
        return self._value(self._at(index))

    def __setitem__(self, index: int, value: N) -> None:
        obj = self._at(index)
        for name in self._behind[:-1]:
            obj = None if obj is None else getattr(obj, name)
        if obj is None:
            raise NoSuchObject(f"there is no object at index {index} whose {'.'.join(self._behind)} could be set")
        setattr(obj, self._behind[-1], value)

    def _at(self, index: int) -> Any:
        there = self._all()
        try:
            return there[index]
        except IndexError:
            raise IndexOutOfRange(f"index {index} of {len(there)} elements") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))
