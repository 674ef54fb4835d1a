"""The kinds of values: which Python type is which, and what a property accepts.

There is hardly any conversion. An int is accepted for a float or a Decimal where it is exactly that number, a float
of 32 bits is the nearest one, subclasses and NumPy's scalars become the plain type, a datetime must have a time zone
and becomes UTC.
"""

import enum
import numbers
import operator
import struct
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Protocol

from ..errors import InvalidText, NotNullable, OutOfRange, WrongStore, WrongType, about
from ..messages import a, shown
from ..native.callbacks import hand_on
from . import custom_types, decimals
from .custom_types import Custom
from .object_id import ObjectId


class Described(Protocol):
    """What converting a value must know of where it goes: a Property, or an Element of one."""

    name: str
    model_name: str
    kind: int
    nullable: bool
    enum: "type[enum.Enum] | Custom | None"  # what its values are, where those are stored as others

    @property
    def path(self) -> str: ...
    @property
    def type_name(self) -> str: ...


class Single:
    """Marks a float of 32 bits: see Float32."""


# A float that is stored in 32 bits: `weight: Float32`. What is given becomes the nearest number of 24 bits.
Float32 = Annotated[float, Single]

NULL, BOOL, INT, FLOAT, DOUBLE, DECIMAL, STRING, BINARY, TIMESTAMP, OBJECT_ID, UUID, LINK = range(12)
LIST, SET, MAP, MIXED, DOCUMENT = 12, 13, 14, 15, 16
BY_TYPE: dict[type, int] = {
    bool: BOOL,
    int: INT,
    Single: FLOAT,
    float: DOUBLE,
    Decimal: DECIMAL,
    str: STRING,
    bytes: BINARY,
    datetime: TIMESTAMP,
    ObjectId: OBJECT_ID,
    uuid.UUID: UUID,
}
PYTHON_TYPE: dict[int, type] = {kind: type_ for type_, kind in BY_TYPE.items()} | {FLOAT: float, MIXED: object}
# Not every value of the right type fits, or stays as it is.
CHECKED = frozenset({FLOAT, DECIMAL, TIMESTAMP, LINK, MIXED})
KEYS = frozenset({INT, STRING, OBJECT_ID, UUID})
KEY_PARTS = KEYS | {BOOL, TIMESTAMP}
DEEPEST = 100  # lists and dicts inside each other, in a mixed property
SMALLEST, LARGEST = -(2**63), 2**63 - 1
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def wrong(prop: Described, value: object, wanted: str) -> WrongType:
    return about(WrongType, prop, f"{prop.path}: {wanted} is wanted, not {shown(value)} ({type(value).__name__})")


def unfit(prop: Described, message: str) -> OutOfRange:
    return about(OutOfRange, prop, f"{prop.path}: {message}")


def _bool(prop: Described, value: Any) -> bool:
    if isinstance(value, bool) or (getattr(value, "dtype", None) == bool and not value.shape):  # noqa: E721  # a dtype equals its type
        return bool(value)
    raise wrong(prop, value, "True or False")


def _int(prop: Described, value: Any) -> int:
    if isinstance(value, bool):
        raise wrong(prop, value, "an int")
    try:
        number = int(operator.index(value))  # int(): an IntEnum member becomes its number
    except TypeError as error:
        hand_on(error)
        raise wrong(prop, value, "an int") from None
    if SMALLEST <= number <= LARGEST:
        return number
    raise unfit(prop, f"{shown(number)} does not fit 64 bits")


def _is_real(value: Any) -> bool:
    """Is it a number, and no bool? A duration of NumPy calls itself one."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not _is_of_numpy(value, "timedelta64")


def _float(prop: Described, value: Any) -> float:
    if not _is_real(value):
        raise wrong(prop, value, "a float")
    if isinstance(value, numbers.Integral):
        value = int(value)  # those of NumPy are compared with a float as floats: every one is equal to its own
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number == value or value != value:
        return number
    raise unfit(prop, f"{shown(value)} is not exactly a float")


def _single(prop: Described, value: Any) -> float:
    if not _is_real(value):
        raise wrong(prop, value, "a float")
    try:
        number: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except (OverflowError, struct.error):
        raise unfit(prop, f"{shown(value)} is beyond a float of 32 bits") from None
    return number


def _decimal(prop: Described, value: Any) -> Decimal:
    if not isinstance(value, Decimal):
        if isinstance(value, bool):
            raise wrong(prop, value, "a Decimal")
        try:
            value = operator.index(value)
        except TypeError as error:
            hand_on(error)
            raise wrong(prop, value, "a Decimal") from None
    number = Decimal(value)
    if decimals.bits(number) is None:
        raise unfit(prop, f"{shown(value)} is not exactly a decimal of 34 digits and exponents from -6176 to 6111")
    return number


def _object_id(prop: Described, value: Any) -> ObjectId:
    if isinstance(value, ObjectId):
        return value
    raise wrong(prop, value, "an ObjectId")


def _uuid(prop: Described, value: Any) -> uuid.UUID:
    if isinstance(value, uuid.UUID):
        return value
    raise wrong(prop, value, "a UUID")


def _str(prop: Described, value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    raise wrong(prop, value, "a str")


def _bytes(prop: Described, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise wrong(prop, value, "a bytes object")


def _datetime(prop: Described, value: Any) -> Any:
    if type(value) is datetime and value.tzinfo is timezone.utc:  # as a rule
        return value
    if type(value) is loaded("pandas", "Timestamp"):
        found = _of_pandas(prop, value)
        if found is not None:
            return found
    elif not isinstance(value, datetime):
        value = _of_numpy(prop, value)
    if value is None or value != value:  # what Pandas calls NaT is a datetime
        return convert(prop, None)
    return aware(prop, value)


def loaded(module: str, name: str) -> Any:
    """What Pandas or NumPy calls so; None if it is not loaded, so that no value is of it."""
    return getattr(sys.modules.get(module), name, None)


def _of_pandas(prop: Described, value: Any) -> "datetime | None":
    """A timestamp of Pandas, whose own arithmetic takes three times as long; None: it has no time zone, or is before
    1677 or after 2262. It may have a year that no other datetime has."""
    if value.tzinfo is None:
        return None
    try:
        return EPOCH + timedelta(0, 0, value.value // 1000)
    except OverflowError:
        pass
    try:
        year = value.astimezone(timezone.utc).year
    except OverflowError:
        return None
    if not 1 <= year <= 9999:
        # Pandas has no repr of it
        raise unfit(prop, f"a Timestamp of the year {year} is beyond what a datetime can say")
    return None


def _of_numpy(prop: Described, value: Any) -> "datetime | None":
    """A numpy.datetime64, which has no time zone, and is UTC as those of to_numpy() are; None: it is NaT."""
    if not _is_of_numpy(value):
        raise wrong(prop, value, "a datetime")
    microseconds = value.astype("datetime64[us]")
    found = microseconds.item()
    if found is None:
        return None
    # NumPy gives a number for what is far away, or wraps around beyond the greatest.
    if not isinstance(found, datetime) or (not is_finer(value) and microseconds.astype(value.dtype) != value):
        raise unfit(prop, f"{value!r} is beyond what a datetime can say")
    return found.replace(tzinfo=timezone.utc)


def is_finer(value: Any) -> bool:
    """Than what a datetime has: nanoseconds, …"""
    return str(value.dtype).partition("[")[2].lstrip("0123456789").startswith(("ns", "ps", "fs", "as"))


def _is_of_numpy(value: object, name: str = "datetime64") -> bool:
    return type(value).__name__ == name and type(value).__module__ == "numpy"


def aware(prop: Described, value: datetime) -> datetime:
    """A datetime in UTC, of the builtin type: Pandas has one of its own, with nanoseconds, which a store does not
    return."""
    if value.utcoffset() is None:
        raise about(
            WrongType,
            prop,
            f"{prop.path}: {value!r} has no time zone, so it names no point in time; "
            "use datetime.now(timezone.utc) or value.replace(tzinfo=…)",
        )
    try:
        utc = value.astimezone(timezone.utc)
    except OverflowError:
        raise unfit(prop, f"{value!r} is beyond what a datetime in UTC can say") from None
    if type(utc) is datetime:
        return utc
    return datetime(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, timezone.utc)


def _link(prop: Any, value: Any) -> Any:  # of a Property
    target = prop.target
    if hasattr(value, "_o_block"):
        # Of a class that comes later the name is known.
        if is_same(type(value), target) if isinstance(target, type) else type(value).__name__ == target.__name__:
            return value
        found = value._o_now(prop)
        if found is not None:
            return found
    if type(value).__name__ == target.__name__:
        raise about(
            WrongType,
            prop,
            f"{prop.path}: an object of class {target.__name__} is wanted, and {shown(value)} is of another class of "
            "that name",
        )
    raise wrong(prop, value, f"an object of class {target.__name__}")


def _mixed(prop: Described, value: Any) -> Any:
    return plain(prop, value, DEEPEST)


def plain(prop: Described, value: Any, left: int = DEEPEST) -> Any:
    """A copy of what a mixed property, or a list or dict in it, is given: of the plain types, lists and dicts at most
    `left` deep. An Enum member that is no int or str is none of them."""
    kind = BY_TYPE.get(type(value))
    if kind is not None:
        return _CONVERT[kind](prop, value)
    if value is None or is_object(value):
        return value
    if isinstance(value, Mapping):
        if not left:
            raise too_deep(prop)
        return {key(prop, k): plain(prop, v, left - 1) for k, v in value.items()}
    for kind, types in _BASES:
        if isinstance(value, types) and not _is_of_numpy(value, "timedelta64"):
            return _CONVERT[kind](prop, value)
    if isinstance(value, Sequence):
        if not left:
            raise too_deep(prop)
        return [plain(prop, v, left - 1) for v in value]
    if getattr(value, "dtype", None) == bool and not value.shape:  # noqa: E721  # a dtype equals its type
        return bool(value)
    if _is_of_numpy(value):
        return _datetime(prop, value)
    raise wrong(
        prop,
        value,
        "None, bool, int, float, Decimal, str, bytes, datetime, ObjectId, UUID, a list, a dict or an object",
    )


_BASES: tuple[tuple[int, Any], ...] = (
    (BOOL, bool),
    (INT, int),
    (DOUBLE, float),
    (DECIMAL, Decimal),
    (STRING, str),
    (BINARY, (bytes, bytearray, memoryview)),
    (TIMESTAMP, datetime),
    (OBJECT_ID, ObjectId),
    (UUID, uuid.UUID),
    (INT, numbers.Integral),
    (DOUBLE, numbers.Real),
)


def key(prop: Described, value: Any) -> str:
    """A key of a dict in a mixed property."""
    if isinstance(value, str):
        return str.__str__(value)
    raise wrong(prop, value, "a str as key of a dict")


def too_deep(prop: Described) -> OutOfRange:
    return unfit(prop, f"lists and dicts are nested more than {DEEPEST} deep")


def is_object(value: Any) -> bool:
    """Is it an object of a model class?"""
    return hasattr(type(value), "_objstore_properties") and hasattr(value, "_o_block")


def objects_in(value: Any, left: int = DEEPEST) -> "list[Any]":
    """The objects that a mixed value, or a collection of them, links to; what is too deep, others refuse."""
    if isinstance(value, (list, tuple, AbstractSet)):
        return [found for element in value for found in objects_in(element, left - 1)] if left else []
    if isinstance(value, Mapping):
        return [found for element in value.values() for found in objects_in(element, left - 1)] if left else []
    return [value] if is_object(value) else []


def with_objects(value: Any, of: Callable[[Any], Any]) -> Any:
    """A plain mixed value with others in place of its objects."""
    if isinstance(value, list):
        return [with_objects(element, of) for element in value]
    if isinstance(value, dict):
        return {key: with_objects(element, of) for key, element in value.items()}
    return of(value) if is_object(value) else value


def is_same(cls: type, other: type) -> bool:
    """Are they one class, or is one of them the same, defined again, as where a notebook's cell is run twice?"""
    return cls is other or (cls.__module__, cls.__qualname__) == (other.__module__, other.__qualname__)


def is_loose(value: Any) -> bool:
    """Is it an unmanaged object?"""
    return value is not None and value._o_block.store is None


def is_embedded(target: Any) -> bool:
    """Is it a class of embedded objects? Unknown for one that is not there yet."""
    return isinstance(target, type) and bool(getattr(target, "_objstore_embedded", False))


_CONVERT: dict[int, Callable[[Described, Any], Any]] = {
    BOOL: _bool,
    INT: _int,
    FLOAT: _single,
    DOUBLE: _float,
    DECIMAL: _decimal,
    STRING: _str,
    BINARY: _bytes,
    TIMESTAMP: _datetime,
    OBJECT_ID: _object_id,
    UUID: _uuid,
    LINK: _link,
    MIXED: _mixed,
}


def convert(prop: Described, value: Any) -> Any:
    """What the property holds when it is given `value`; raises WrongType, NotNullable or OutOfRange."""
    if value is None:
        if prop.nullable:
            return None
        # Links in a list or set never are, whatever is declared.
        hint = "" if prop.kind == LINK else f" (declare it as {prop.type_name} | None)"
        raise about(NotNullable, prop, f"{prop.path} may not be None{hint}")
    if prop.enum is None:
        return _CONVERT[prop.kind](prop, value)
    if isinstance(prop.enum, Custom):
        return _custom(prop, prop.enum, value)
    if isinstance(value, prop.enum):
        return value
    name = prop.enum.__name__
    if not isinstance(value, enum.Enum) or type(value).__name__ != name:
        raise wrong(prop, value, f"a member of {name}")
    if is_same(type(value), prop.enum) and _members(type(value)) == _members(prop.enum):
        return prop.enum(value.value)
    raise about(
        WrongType,
        prop,
        f"{prop.path}: a member of {name} is wanted, and {shown(value)} is of another class of that name",
    )


def _members(enumeration: type[enum.Enum]) -> dict[str, Any]:
    return {name: member.value for name, member in enumeration.__members__.items()}


def _custom(prop: Described, custom: Custom, value: Any) -> Any:
    """A value of a type of the program, which can be stored."""
    if not isinstance(value, custom.python_type):
        raise wrong(prop, value, a(custom.__name__))
    stored_form(prop, value)
    return value


def stored_form(prop: Described, value: Any) -> Any:
    """What is stored for a value of a property whose values are stored as others."""
    if not isinstance(prop.enum, Custom):
        return value.value
    return _stored_by(prop.enum, prop, value)


def _stored_by(custom: Custom, prop: Described, value: Any) -> Any:
    try:
        stored = custom.store(value)
    except ValueError as error:
        hand_on(error)
        raise unfit(prop, f"{shown(value)} cannot be stored: {error}") from error
    if stored is None:
        raise unfit(prop, f"{shown(value)} cannot be stored: what is stored for it is None")
    return _CONVERT[custom.kind](prop, stored)


class _Value:
    """What a value is of that stands alone, in messages."""

    name = model_name = None
    path = "a value"


_VALUE: Any = _Value()


def raw(value: Any, prop: Described = _VALUE) -> Any:
    """What is stored for a value of any property; `prop` is for messages."""
    if isinstance(value, enum.Enum):
        return value.value
    custom = None if type(value) in BY_TYPE else custom_types.of(value)
    return value if custom is None else _stored_by(custom, prop, value)


def member(prop: Described, value: Any) -> Any:
    """What the property has for a stored value: the member of its enumeration, or what its type makes of it."""
    assert prop.enum is not None
    if isinstance(prop.enum, Custom):
        return _loaded(prop, prop.enum, value)
    try:
        return prop.enum(value)
    except ValueError:
        raise unfit(prop, f"the stored value {value!r} is no member of {prop.enum.__name__}") from None


def _loaded(prop: Described, custom: Custom, value: Any) -> Any:
    reason = ""
    try:
        found = custom.load(value)
    except ValueError as error:
        hand_on(error)
        found, reason = None, f": {error}"
    if found is None and not prop.nullable:
        raise unfit(prop, f"the stored value {value!r} is no {custom.__name__}{reason}")
    return found


def python_type(kind: int, enumeration: "type[enum.Enum] | Custom | None") -> type:
    """The class of single values that are no links."""
    if isinstance(enumeration, Custom):
        return enumeration.python_type
    return enumeration or PYTHON_TYPE[kind]


def name(kind: int, python_type: type) -> str:
    """What a type is called in messages."""
    return "Float32" if kind == FLOAT and python_type is float else "Any" if kind == MIXED else python_type.__name__


def enum_kind(enumeration: type[enum.Enum]) -> int | None:
    """INT or STRING, whichever all values of an enumeration are; else None."""
    types = {type(m.value) for m in enumeration}
    return BY_TYPE[types.pop()] if types in ({int}, {str}) else None


def encode(prop: Described, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise about(
            InvalidText,
            prop,
            f"{prop.path}: {error.object[error.start : error.end]!r} has no UTF-8 form",
            position=error.start,
        ) from None


def instant(value: datetime) -> tuple[int, int]:
    """Seconds since 1970 and nanoseconds of an aware datetime."""
    since = value - EPOCH
    return since.days * 86400 + since.seconds, since.microseconds * 1000


def moment(seconds: int, nanoseconds: int) -> datetime:
    """The datetime, cut to microseconds; OutOfRange outside the years 1 to 9999."""
    try:
        return EPOCH + timedelta(0, seconds, nanoseconds // 1000)
    except OverflowError:
        raise OutOfRange(f"{seconds} seconds since 1970 are beyond what a datetime can say") from None


def place(prop: "Described", obj: Any) -> tuple[int, int]:
    """The object that a link shall lead to, or is compared with, as the library knows it: class and store in one
    number, and key."""
    store = obj._o_block.store
    if store is None:
        raise about(WrongStore, prop, f"{prop.path}: this {type(obj).__name__} belongs to no store: add it first")
    return store._binding(type(obj)).head, obj._o_key


class _Missing(enum.Enum):
    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing.MISSING
