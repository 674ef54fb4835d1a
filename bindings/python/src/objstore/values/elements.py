"""What lists, sets and dicts hold: their declaration, and the conversion of whole contents.

An element is converted like the value of a property of its type. Everything that one call was given is converted
before the first element is written.
"""

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSet
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..errors import Error, NotNullable, about
from ..native.callbacks import hand_on
from . import documents, kinds
from .columns import at_rows
from .custom_types import Custom
from .kinds import INT, LARGEST, LINK, LIST, MAP, MIXED, SET, SMALLEST, is_embedded, is_loose, is_object

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..stores.lookup import Source


NAMES = {LIST: "list", SET: "set", MAP: "dict"}
ELEMENT, KEY = "an element", "a key"
LONGEST_KEY = 1024  # bytes
TYPES: dict[int, type] = {LIST: list, SET: set, MAP: dict}


class Element:
    """The elements, or the keys, of a collection property; a kinds.Described."""

    __slots__ = ("name", "model_name", "kind", "nullable", "enum", "python_type", "what", "target")

    def __init__(
        self, kind: int, nullable: bool, enumeration: "type[enum.Enum] | Custom | None", what: str, target: Any = None
    ) -> None:
        self.name = self.model_name = ""  # known when the class is ready
        self.kind = kind
        self.nullable = nullable
        self.enum = enumeration
        self.target = target  # of links: the class that they lead to, or links.Later
        self.python_type: type = target or kinds.python_type(kind, enumeration)
        self.what = what

    def of(self, name: str, model_name: str) -> "Element":
        """The same, of a property."""
        copy = Element(self.kind, self.nullable, self.enum, self.what, self.target)
        copy.name, copy.model_name = name, model_name
        return copy

    @property
    def path(self) -> str:
        return f"{self.what} of {self.model_name}.{self.name}"

    @property
    def type_name(self) -> str:
        return kinds.name(self.kind, self.python_type)

    def convert(self, value: Any) -> Any:
        if value is None and not self.nullable and self.what == KEY:
            raise about(NotNullable, self, f"{self.path} is never None")
        return kinds.convert(self, value)

    def convert_all(self, values: list[Any]) -> list[Any]:
        """Converted values; those that are of the right type are not looked at one by one."""
        types = set(map(type, values))
        fits = types <= {self.python_type} and self.kind not in kinds.CHECKED and not isinstance(self.enum, Custom)
        if fits and (
            self.kind != INT or self.enum or not values or (min(values) >= SMALLEST and max(values) <= LARGEST)
        ):
            return values
        return [self.convert(value) for value in values]

    def find(self, value: Any, owner: "Source | None" = None) -> tuple[Any, bool]:
        """The value as it would be stored, and whether it can be at all: what is of another type, or an object that is
        not of the store that `owner` is or shows, is not there."""
        try:
            converted = self.convert(value)
            if self.kind == LINK or (self.kind == MIXED and is_object(converted)):
                return converted, converted is None or (
                    not is_loose(converted) and (owner is None or owner._live._has(converted))
                )
            stored = converted if self.enum is None or converted is None else kinds.stored_form(self, converted)
            if isinstance(stored, str) and (self.what == KEY or not stored.isascii()):
                return converted, len(stored.encode()) <= LONGEST_KEY or self.what == ELEMENT
            return converted, True
        except (Error, UnicodeEncodeError) as error:
            hand_on(error)
            return None, False


class Shape:
    """What sort of collection a property is, and what is in it."""

    __slots__ = ("kind", "element", "key")

    def __init__(self, kind: int, element: Element, key: Element | None) -> None:
        self.kind = kind
        self.element = element
        self.key = key

    def of(self, name: str, model_name: str) -> "Shape":
        """The same, of a property."""
        return Shape(self.kind, self.element.of(name, model_name), self.key and self.key.of(name, model_name))

    @property
    def embeds(self) -> bool:
        """Does it hold embedded objects?"""
        return self.element.kind == LINK and is_embedded(self.element.target)

    @property
    def type_name(self) -> str:
        inner = self.element.type_name + (" | None" if self.element.nullable and self.element.kind != MIXED else "")
        return f"{NAMES[self.kind]}[{inner}]" if self.key is None else f"dict[{self.key.type_name}, {inner}]"


def given(prop: "Property", value: Any) -> "list[Any] | dict[Any, Any]":
    """What the property is given, not looked at one by one: a new builtin list of elements, or dict."""
    shape = prop.shape
    assert shape is not None
    if value is None:
        raise about(NotNullable, prop, f"{prop.path} may not be None; an empty one is {TYPES[shape.kind]()!r}")
    if shape.key is not None:
        if type(value) is not dict and not isinstance(value, Mapping):
            raise kinds.wrong(prop, value, "a dict, or another mapping,")
        return dict(value.items())
    # A text is an iterable of texts, and a mapping one of keys: as a rule a mistake.
    if type(value) not in (list, set, tuple) and (
        isinstance(value, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(value, Iterable)
    ):
        raise kinds.wrong(prop, value, f"a {NAMES[shape.kind]}, or another iterable of elements,")
    if getattr(value, "ndim", 1) == 0:  # an array of NumPy that says it can be iterated
        raise kinds.wrong(prop, value, f"a {NAMES[shape.kind]}, or another iterable of elements,")
    return list(value)


def content(prop: "Property", value: Any) -> Any:
    """A new builtin list, set or dict of what the property holds when it is given `value`."""
    shape, plain = prop.shape, given(prop, value)
    assert shape is not None
    if isinstance(plain, dict):
        return entries(shape, plain)
    converted = shape.element.convert_all(plain)
    if shape.kind == LIST:
        return converted
    if shape.element.kind == MIXED:
        for value in converted:
            member(shape.element, value)
        if any(is_object(value) and is_loose(value) for value in converted):
            return ObjectSet(converted)
    if shape.element.kind == LINK and any(map(is_loose, converted)):
        return ObjectSet(converted)
    return builtin_set(shape.element, converted)


def member(element: Element, value: Any) -> Any:
    """An element of a set. WrongType: it is a list or dict; OutOfRange: it has no hash."""
    if isinstance(value, (list, dict)):
        raise kinds.wrong(element, value, "a value that is no list or dict, as a set takes it,")
    if isinstance(value, Decimal) and value.is_snan():
        raise kinds.unfit(element, f"{value!r} has no hash, so no builtin set can have it")
    return value


def builtin_set(element: Element, values: list[Any]) -> set[Any]:
    """What is in a set, converted. OutOfRange: an element has no hash; other languages, and JSON, put in what Python
    cannot."""
    try:
        return set(values)
    except TypeError:
        for value in values:
            member(element, value)
        raise


class ObjectSet(MutableSet[Any]):
    """A set of objects, or of anything, of which some are unmanaged objects, which have no hash: looked for one by
    one."""

    def __init__(self, objects: Iterable[Any] = ()) -> None:
        self._objects: list[Any] = []
        for obj in objects:
            self.add(obj)

    def __contains__(self, obj: object) -> bool:
        return obj in self._objects

    def __iter__(self) -> Iterator[Any]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def add(self, obj: Any) -> None:
        if obj not in self._objects:
            self._objects.append(obj)

    def discard(self, obj: Any) -> None:
        if obj in self._objects:
            self._objects.remove(obj)

    def copy(self) -> "ObjectSet":
        return ObjectSet(self._objects)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self._objects))}}}"


def contents(prop: "Property", values: list[Any]) -> list[Any]:
    """The same for many objects, to be read only: empty ones are not copied. `position` of an error is the row."""
    make = prop.python_type
    if set(map(type, values)) <= {make} and not any(values):
        return values
    return at_rows(lambda value: value if type(value) is make and not value else content(prop, value), values)


def entries(shape: Shape, given: Any) -> dict[Any, Any]:
    """The converted entries of a mapping, or of pairs."""
    assert shape.key is not None
    plain = given if type(given) is dict else dict(given.items() if isinstance(given, Mapping) else given)
    return dict(zip(shape.key.convert_all(list(plain)), shape.element.convert_all(list(plain.values()))))


# What makes 0.0 of -0.0 and distinguishes NaN from itself is not what decides whether something is to be written.
_EXACT: dict[int, Callable[[Any], Any]] = {
    kinds.FLOAT: repr,
    kinds.DOUBLE: repr,
    kinds.DECIMAL: str,
}


def _packed(shape: Shape, content: Any) -> Any:
    """A content of any values, in a form that is the same for the same bits only."""
    if shape.key is not None:
        return {k: documents.pack(shape.element, v) for k, v in content.items()}
    return TYPES[shape.kind](documents.pack(shape.element, v) for v in content)


def _stored(shape: Shape, content: Any) -> Any:
    """What is stored of a content of a type of the program."""
    element = shape.element

    def form(value: Any) -> Any:
        return None if value is None else repr(kinds.stored_form(element, value))

    if shape.key is not None:
        return {key: form(value) for key, value in content.items()}
    return TYPES[shape.kind](map(form, content))


def same(shape: Shape, a: Any, b: Any) -> bool:
    """Do two contents have the same elements, to the bit?"""
    if shape.element.kind == MIXED:
        return bool(_packed(shape, a) == _packed(shape, b))
    if isinstance(shape.element.enum, Custom):
        return bool(_stored(shape, a) == _stored(shape, b))
    if shape.element.kind not in _EXACT or len(a) != len(b):
        return bool(a == b)
    exact = _EXACT[shape.element.kind]
    if shape.key is not None:
        return {k: exact(v) for k, v in a.items()} == {k: exact(v) for k, v in b.items()}
    return bool(type(a)(map(exact, a)) == type(b)(map(exact, b)))


def is_mixed(prop: "Property") -> bool:
    """Has it any values, or a collection of them, in which links may lie?"""
    return prop.kind == MIXED or (prop.shape is not None and prop.shape.element.kind == MIXED)
