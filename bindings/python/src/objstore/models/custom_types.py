"""register_type(): types of the program as types of properties."""

import enum
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import InvalidArgument
from ..messages import shown
from ..objects.model_types import ModelType
from ..values import custom_types, kinds
from ..values.custom_types import Custom
from ..values.kinds import Single

T = TypeVar("T")


def register_type(
    python_type: type[T], stored: Any, *, store: Callable[[T], Any], load: Callable[[Any], T | None]
) -> None:
    """Lets properties have a type of the program, which is stored as another one:

        objstore.register_type(Celsius, float, store=lambda c: c.degrees, load=Celsius)
        objstore.register_type(pathlib.Path, str, store=str, load=pathlib.Path)

        class Reading(objstore.Model):
            temperature: Celsius
            log: pathlib.Path | None = None
            others: list[Celsius]

    Before the class that has such a property. `stored`: bool, int, float, Float32, Decimal, str, bytes, datetime,
    ObjectId or UUID. Attributes, constructors, lists, sets, dicts (not as keys) and conditions take values of the type,
    `Reading.temperature == Celsius(3)`; conditions also what is stored, `Reading.temperature > 3.5`. The file and JSON
    have what is stored.

    What load() returns None for, or raises a ValueError, is no value of the type: a property that may be None is None
    then, another one cannot be read (OutOfRange). Values should be equal when what is stored is, and not change."""
    kind = kinds.BY_TYPE.get(Single if stored == kinds.Float32 else stored) if _is_hashable(stored) else None
    if kind is None:
        raise InvalidArgument(
            "register_type(): stored is bool, int, float, Float32, Decimal, str, bytes, datetime, ObjectId or UUID, "
            f"not {shown(stored)}"
        )
    if not isinstance(python_type, type):
        raise InvalidArgument(f"register_type() takes a class, not {shown(python_type)}")
    if python_type in kinds.BY_TYPE or isinstance(python_type, ModelType) or issubclass(python_type, enum.Enum):
        raise InvalidArgument(f"register_type(): {python_type.__name__} is stored as it is")
    if python_type in (object, list, set, dict, tuple, type(None)):
        raise InvalidArgument(f"register_type() takes a class of the program, not {python_type.__name__}")
    for name, function in (("store", store), ("load", load)):
        if not callable(function):
            raise InvalidArgument(f"register_type(): {name} is a function of one argument, not {shown(function)}")
    custom_types.register(Custom(python_type, kind, store, load))


def _is_hashable(given: object) -> bool:
    return getattr(type(given), "__hash__", None) is not None
