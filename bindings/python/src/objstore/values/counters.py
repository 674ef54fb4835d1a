"""Numbers that are counted up and down."""

import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import Error, NullValue, OutOfRange, WrongType, about

if TYPE_CHECKING:
    from ..models.properties import Property


SMALLEST, LARGEST = -(2**63), 2**63 - 1


class Counter:
    """The type of a property that is counted: `flies_eaten: Counter = Counter(0)`, or `Counter | None`.

        with store.write():
            frog.flies_eaten.increment()
            frog.flies_eaten.decrement(3)
            frog.flies_eaten.set(0)  # or frog.flies_eaten = 0

    Stored as an int of 64 bits that all languages and tools see as a counter; no primary key. What an attribute gives
    shows what the object has now. Nothing else changes it: arithmetic takes it for its value and gives plain numbers.
    """

    __slots__ = ("_object", "_property", "_value")

    def __init__(self, value: int = 0) -> None:
        self._object: Any = None
        self._property: Property | None = None
        self._value: int | None = self._fit(self._whole(value))

    @property
    def value(self) -> int:
        """NullValue: the property has become None."""
        value: int | None = self._value if self._property is None else self._property.stored(self._object)
        if value is None:
            raise self._null()
        return value

    def increment(self, by: int = 1) -> None:
        """NotInWrite, OutOfRange: the sum does not fit 64 bits; NullValue: the property has become None."""
        by = self._whole(by)
        prop = self._property
        if prop is None:
            self._value = self._fit(self.value + by)
        elif self._object._o_block.store is None:
            setattr(self._object, prop.name, self._fit(self.value + by))
        else:
            store = self._object._o_block.store
            transaction = store._writing(prop)
            transaction.increment(store._binding(type(self._object)), self._object._o_key, prop, self._fit(by))

    def decrement(self, by: int = 1) -> None:
        self.increment(-self._whole(by))

    def set(self, value: int) -> None:
        if self._property is None:
            self._value = self._fit(self._whole(value))
        else:
            setattr(self._object, self._property.name, value)

    def _whole(self, value: Any) -> int:
        if isinstance(value, Counter):
            return value.value
        if not isinstance(value, bool) and isinstance(value, numbers.Integral):
            return int(value)
        raise WrongType(f"{self._where}: an int is wanted, not {value!r} ({type(value).__name__})", **self._names)

    def _fit(self, value: int) -> int:
        if SMALLEST <= value <= LARGEST:
            return value
        raise OutOfRange(f"{self._where}: {value} does not fit 64 bits", **self._names)

    @property
    def _where(self) -> str:
        return "a Counter" if self._property is None else self._property.path

    @property
    def _names(self) -> dict[str, Any]:
        prop = self._property
        return {} if prop is None else {"class_name": prop.model_name, "property_name": prop.name}

    def _null(self) -> NullValue:
        assert self._property is not None
        return about(NullValue, self._property, f"{self._property.path} is None")

    def __index__(self) -> int:
        return self.value

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return self.value != 0

    def __repr__(self) -> str:
        try:
            return f"Counter({self.value})"
        except Error as error:
            return f"<Counter {self._where}: {error.message}>"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __hash__(self) -> int:
        raise TypeError("a Counter changes: hash its value")

    def __eq__(self, other: object) -> bool:
        return bool(self.value == plain(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < plain(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= plain(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > plain(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= plain(other))

    def __add__(self, other: Any) -> Any:
        return self.value + plain(other)

    def __sub__(self, other: Any) -> Any:
        return self.value - plain(other)

    def __mul__(self, other: Any) -> Any:
        return self.value * plain(other)

    def __truediv__(self, other: Any) -> Any:
        return self.value / plain(other)

    def __floordiv__(self, other: Any) -> Any:
        return self.value // plain(other)

    def __mod__(self, other: Any) -> Any:
        return self.value % plain(other)

    def __radd__(self, other: Any) -> Any:
        return other + self.value

    def __rsub__(self, other: Any) -> Any:
        return other - self.value

    def __rmul__(self, other: Any) -> Any:
        return other * self.value

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.value

    def __rfloordiv__(self, other: Any) -> Any:
        return other // self.value

    def __rmod__(self, other: Any) -> Any:
        return other % self.value

    def __neg__(self) -> int:
        return -self.value


def plain(value: Any) -> Any:
    """The number that a counter represents."""
    return value.value if isinstance(value, Counter) else value


def getter(prop: "Property", read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Reads a property that is a counter."""

    def get(self: Any) -> Counter | None:
        if read(self) is None:
            return None
        counter = object.__new__(Counter)
        counter._object, counter._property, counter._value = self, prop, None
        return counter

    return get
