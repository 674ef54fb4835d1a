"""Classes that are defined again, as where a notebook's cell is run twice: the new one of the same name replaces the
former.

A store keeps the class that it was opened with. One that was defined again since, and has the same properties,
it takes as well, together with those that its links lead to; one that differs is refused: the file has to be updated
for that.
"""

from typing import TYPE_CHECKING, Any

from ..errors import NoSuchClass
from ..models import links
from ..models.model import ModelMeta
from ..models.properties import Property, property_in
from ..values.custom_types import Custom
from ..values.kinds import is_same
from .bindings import Binding

if TYPE_CHECKING:
    from ..stores.lookup import Source


def there(source: "Source", model: Any) -> Binding | None:
    """The binding of a class of this name that the store has, the newest."""
    if not isinstance(model, ModelMeta):
        return None
    return next((b for known, b in reversed(source._bindings.items()) if is_same(known, model)), None)


def bind(source: "Source", model: type) -> Binding:
    """The binding of a class that the store was not opened with; NoSuchClass, if it is none of those, defined again."""
    if there(source, model) is None:
        name = getattr(model, "__name__", repr(model))
        known = ", ".join(dict.fromkeys(m.__name__ for m in source._bindings)) or "no models"
        raise NoSuchClass(f"the store was opened with {known}, not with {name}", class_name=name)
    new = _together(source, model)
    names = {m.__name__: m for m in source._bindings} | {m.__name__: m for m in new}
    view = source._reader()  # kept during the calls
    made: dict[type, Binding] = {}
    for each, former in new.items():
        links.resolve_one(each, names)
        made[each] = Binding(each, view.handle, former.head >> 32)
        made[each].is_target = former.is_target
        made[each].is_ordered = former.is_ordered and _names(made[each]) == _names(former)
    # Others may be looking at the dictionary.
    for one in (source._live, source):
        one._bindings = {**one._bindings, **made}
    return made[model]


def _names(binding: Binding) -> list[str]:
    return [prop.name for prop in binding.properties]


def own(binding: Binding, given: Any) -> "Property | None":
    """The class's own property for one of it, or of the same class, defined again; None: it is neither."""
    prop = property_in(given)
    if prop is None or prop.model is binding.model:
        return prop
    if prop.model is not None and is_same(prop.model, binding.model):
        return next((p for p in binding.properties if p.name == prop.name), None)
    return None


def _together(source: "Source", model: type) -> dict[type, Binding]:
    """A class, and those that its links lead to and that were defined again, too; each with the binding of the former
    one."""
    found: dict[type, Binding] = {}
    due: list[Any] = [model]
    while due:
        each = due.pop()
        former = None if each in source._bindings or each in found else there(source, each)
        if former is None:
            continue
        found[each] = former
        difference = _difference(each, former.model)
        if difference:
            name = each.__name__
            raise NoSuchClass(
                f"{name} was defined again since the store was opened, and differs: {difference}. The store goes on "
                f"with the {name} that "
                "it was opened with; close it and open it with the new one, with a higher schema_version, so that the "
                "file can follow",
                class_name=name,
            )
        led = [p.target for p in each._objstore_properties if p.target is not None] + [
            i.origin for i in each._objstore_inverses
        ]
        due += [target.there() if isinstance(target, links.Later) else target for target in led]
    return found


def _difference(model: Any, former: Any) -> str:
    """What a store would have to know; "": nothing."""
    new, old = ({p.name: p for p in each._objstore_properties} for each in (model, former))
    found = [f"{name} is new" for name in new if name not in old] + [
        f"{name} is gone" for name in old if name not in new
    ]
    for name in (name for name in new if name in old):
        if new[name].type_name != old[name].type_name:
            found.append(f"{name} is of type {new[name].type_name}, and was {old[name].type_name}")
        elif _said(new[name]) != _said(old[name]):
            found.append(f"{name} is declared otherwise")
    if _rest(model) != _rest(former):
        found.append("its indexes, stored name or base")
    return ", ".join(found)


def _said(prop: "Property") -> Any:
    """All that a file has of a property."""
    shape = prop.shape
    parts = [prop] if shape is None else [shape.element, shape.key]
    return (
        prop.kind,
        prop.primary_key,
        prop.indexed,
        prop.unique,
        prop.generated,
        prop.counter,
        prop.full_text,
        prop.cascade,
        prop.stored_as,
        repr(prop.default),
        getattr(prop.target, "__name__", None),
        [(p.kind, p.nullable, _members(p.enum)) for p in parts if p is not None],
    )


def _members(of: Any) -> Any:
    """Of an enumeration. What a type of the program makes of what is stored, a file does not know."""
    return None if of is None or isinstance(of, Custom) else [member.value for member in of]


def _rest(model: Any) -> Any:
    indexes = [(tuple(index.properties), index._flags) for index in model.__indexes__]
    return indexes, model.__dict__.get("__stored_as__"), model._objstore_embedded
