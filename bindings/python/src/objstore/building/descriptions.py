"""Objects described by values: `{"id": 7, "name": "Jane", "dogs": [rex, ["Buster", 5]]}`.

An object is described by a mapping of property names, a sequence of values in the order of the properties, or anything
that has attributes of these names, such as another object. Descriptions are nested where links lead to objects.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument, MissingValue, OutOfRange, SchemaError, about
from ..messages import a
from ..objects import state
from ..objects.model_types import properties_of, property_named
from ..values import elements, kinds
from ..values.kinds import MISSING

if TYPE_CHECKING:
    from ..models.properties import Property


DEEPEST = 200  # objects that are described inside each other


def is_possible(values: Any) -> bool:
    """Can it describe an object? A number, a text or a member of an enumeration has attributes, too, but does not mean
    them."""
    return (
        values is not None
        and type(values) not in kinds.BY_TYPE
        and not isinstance(values, (str, bytes, bytearray, type, enum.Enum))
    )


def is_record(kind: type) -> bool:
    """Is it a class of named tuples, which say by their names what their values are for?"""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def by_name(values: Any) -> Any:
    """The values of a named tuple as a dict; others as they are."""
    return dict(zip(type(values)._fields, values)) if is_record(type(values)) else values


def describes(prop: "Property", value: Any) -> bool:
    """Does a value for a property describe objects, as in create(), or have what does among its elements?"""
    if prop.target is None or value is None:
        return False
    if prop.shape is None:
        return _is_description(prop, value)
    # What can be read only once is not looked at: it has objects.
    content: Any = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(_is_description(prop, element) for element in content)


def _is_description(prop: "Property", value: Any) -> bool:
    return is_copy_of_old(prop, value) if isinstance(value, state.Slots) else is_possible(value)


def is_copy_of_old(prop: "Property", value: Any) -> bool:
    """Is it an unmanaged copy of what a migration had before, of a class as the file has it? It represents a new
    object."""
    is_of_file = isinstance(value, state.Slots) and getattr(type(value), "_objstore_of_file")
    return bool(is_of_file) and type(value) is not prop.target and kinds.is_loose(value)


def now(part: "Property | elements.Element", old: Any) -> Any:
    """What an object that a migration had before is, where links of the property lead: the same object as it is now,
    or, where that is embedded, an unmanaged one with the values of the old one. None: it is no such object."""
    target: Any = part.target
    source = old._o_block.store
    if not isinstance(target, type) or not getattr(type(old), "_objstore_of_file"):
        return None
    if kinds.is_embedded(target):
        return unmanaged(target, old, False) if source is None or source.is_frozen else None
    if source is None or not source.is_frozen:
        return None
    binding = source._live._of_class(source._binding(type(old)).class_id)
    if binding is None or not kinds.is_same(binding.model, target):
        return None
    return state.make(binding.model, source._live._unread(binding), old._o_key)


def pairs(model: type, values: Any, exact: bool = False) -> "list[tuple[Property, Any]]":
    """The properties that values are given for, and the values. With `exact` a sequence has one for each."""
    properties, values = properties_of(model), by_name(values)
    kind = type(values)
    if kind is dict:  # as a rule
        return [(property_named(model, name), value) for name, value in values.items()]
    if isinstance(values, state.Slots) and type(values) is model:
        found = [(p, getattr(values, p.name)) for p in properties]
        return [(p, v) for p, v in found if v is not None or not p.generated]
    if (
        kind is not list
        and not isinstance(values, (Mapping, Sequence))
        and hasattr(values, "keys")
        and hasattr(values, "__getitem__")
    ):
        values = {name: values[name] for name in values.keys()}
    if kind is not list and isinstance(values, Mapping):
        return [(property_named(model, name), value) for name, value in values.items()]
    name = model.__name__
    if is_possible(values):
        if isinstance(values, Sequence):
            if len(values) > len(properties):
                raise InvalidArgument(
                    f"{name}: more values ({len(values)}) than properties ({len(properties)})", class_name=name
                )
            if exact and len(values) < len(properties):
                raise MissingValue(
                    f"{name}: {len(values)} values for {len(properties)} properties: that of "
                    f"{properties[len(values)].name} is missing",
                    class_name=name,
                    property_name=properties[len(values)].name,
                )
            return list(zip(properties, values))
        if getattr(type(values), "_objstore_of_file", False):
            return _of_file(properties, values)
        found = [(p, getattr(values, p.name)) for p in properties if hasattr(values, p.name)]
        if found:
            return found
    raise InvalidArgument(
        f"{name} is made of a mapping or a list, or of an object with such attributes, not of {values!r}",
        class_name=name,
    )


def _of_file(properties: "Iterable[Property]", values: Any) -> "list[tuple[Property, Any]]":
    """The same of an object whose class was made of a file, which may call a property what it is called no more."""
    found = []
    for prop in properties:
        name = next(
            (n for n in (prop.name, prop.stored_as, *prop.formerly) if n is not None and hasattr(values, n)), None
        )
        if name is not None:
            found.append((prop, getattr(values, name)))
    return found


def wrong(described: "kinds.Described", target: type, value: Any) -> Exception:
    return kinds.wrong(described, value, f"an object of class {target.__name__}, or values for one,")


class Nesting:
    """Where a walk through descriptions is: in none of them twice, and not too deep."""

    def __init__(self) -> None:
        self._open: list[Any] = []

    def enter(self, model: type, values: Any) -> None:
        if any(values is above for above in self._open):
            raise cyclic(model)
        if len(self._open) == DEEPEST:
            raise OutOfRange(
                f"{model.__name__}: objects are nested more than {DEEPEST} deep", class_name=model.__name__
            )
        self._open.append(values)

    @property
    def is_outermost(self) -> bool:
        return len(self._open) == 1

    def leave(self) -> None:
        self._open.pop()


def cyclic(model: type) -> InvalidArgument:
    return InvalidArgument(
        f"the values lead from {a(model.__name__)} back to it: a cyclic graph of objects can be added, but not be "
        "created from values, or copied",
        class_name=model.__name__,
    )


# Unmanaged objects


def unmanaged(model: type, values: Any, exact: bool) -> Any:
    return _unmanaged(model, values, exact, Nesting())


def resolved(prop: "Property", value: Any) -> Any:
    """A value for a property of an unmanaged object, with unmanaged objects in place of their descriptions."""
    return _nested(prop, value, False, Nesting()) if describes(prop, value) else value


def _unmanaged(model: type, values: Any, exact: bool, nesting: Nesting) -> Any:
    nesting.enter(model, values)
    given = {}
    for prop, value in pairs(model, values, exact):
        given[prop] = _nested(prop, value, exact, nesting)
    nesting.leave()
    made: Any = object.__new__(model)
    properties: Iterable[Property] = getattr(model, "_objstore_properties")
    state.start(made, [prop.given(given.get(prop, MISSING)) for prop in properties])
    return made


def _nested(prop: "Property", value: Any, exact: bool, nesting: Nesting) -> Any:
    """The value of a property, objects in place of their descriptions."""
    if prop.target is None:
        return value

    # Few frames a level: Python has 1000 of them.
    if prop.shape is None:
        return _unmanaged(_class_of(prop), _possible(prop, value), exact, nesting) if _is_values(value) else value
    content = elements.given(prop, value)
    places = list(content.items() if isinstance(content, dict) else enumerate(content))
    for place, value in places:
        if _is_values(value):
            content[place] = _unmanaged(_class_of(prop), _possible(prop, value), exact, nesting)
    return content


def _is_values(value: Any) -> bool:
    return value is not None and not isinstance(value, state.Slots)


def _possible(prop: "Property", value: Any) -> Any:
    if is_possible(value):
        return value
    raise wrong(prop, _class_of(prop), value)


def _class_of(prop: "Property") -> type:
    """The class that links lead to; no store need have looked for it."""
    target = prop.target
    if isinstance(target, type):
        return target
    found: type | None = target.there()
    if found is not None:
        return found
    raise about(SchemaError, prop, f"{prop.path} is a link to {target.text}, which is not there yet")
