"""Models of the classes that a view has: for what is in a store without a program that describes it.

open(path)                 ─► store.models["Dog"]         the file's classes, as if they had been declared
open(…, migrate=function)  ─► migration.old_models["Dog"]
"""

import ctypes
import keyword
from types import GenericAlias
from typing import Any

from ..models import links
from ..models.indexes import PRIMARY_KEY as KEY_INDEX, UNIQUE as UNIQUE_INDEX, Index
from ..models.model import EmbeddedModel, Model, ModelMeta
from ..models.properties import field
from ..native import ffi
from ..native.failures import check
from ..values import kinds
from ..values.c_values import Values
from ..values.counters import Counter
from ..values.documents import no_object
from ..values.elements import ELEMENT, Element
from ..values.kinds import MISSING
from .declaration import CASCADE, COUNTER, EMBEDDED, FULL_TEXT, GENERATED, INDEXED, NULLABLE, PRIMARY_KEY, UNIQUE

_class_count = ffi.bind("objstore_class_count")
_class_at = ffi.bind("objstore_class_at")
_property_at = ffi.bind("objstore_property_at")
_class_get_info = ffi.bind("objstore_class_get_info")
_index_count = ffi.bind("objstore_index_count")
_index_at = ffi.bind("objstore_index_at")

HAS_DEFAULT = 0x100  # OBJSTORE_PROPERTY_…
TYPES: dict[int, Any] = {kind: type_ for type_, kind in kinds.BY_TYPE.items()} | {
    kinds.FLOAT: kinds.Float32,
    kinds.MIXED: Any,
}


def models(view: int) -> dict[str, type[Model]]:
    """A model for each class, by its name."""
    count = ctypes.c_size_t()
    check(_class_count(view, ctypes.byref(count)))
    found: dict[str, type[Model]] = {}
    for index in range(count.value):
        info = ffi.ClassInfo(struct_size=ctypes.sizeof(ffi.ClassInfo))
        check(_class_at(view, index, ctypes.byref(info)))
        name = ffi.string(info.name)
        found[name] = _model(view, name, info)
    links.resolve(found.values())
    return found


def _model(view: int, name: str, info: Any) -> type[Model]:
    base = EmbeddedModel if info.flags & EMBEDDED else Model
    annotations: dict[str, Any] = {}
    namespace: dict[str, Any] = {"__module__": __name__, "__annotations__": annotations, "_objstore_of_file": True}
    properties: dict[str, Any] = {}
    for index in range(info.property_count):
        prop = ffi.PropertyInfo(struct_size=ctypes.sizeof(ffi.PropertyInfo))
        check(_property_at(view, info.class_id, index, ctypes.byref(prop)))
        properties[ffi.string(prop.name)] = prop
    attributes: dict[int, str] = {}
    taken = set(properties)  # nothing else is called as a property is in the file
    for stored, prop in properties.items():
        attribute = attributes[prop.property_id] = _attribute(stored, base, taken)
        taken.add(attribute)
        annotations[attribute] = _annotation(view, prop)
        namespace[attribute] = field(stored_as=None if attribute == stored else stored, **_options(prop))
    namespace["__indexes__"] = _indexes(view, info.class_id, attributes)
    made: Any = ModelMeta(name, (base,), namespace)
    model: type[Model] = made
    return model


def _attribute(name: str, base: type[Model], taken: set[str]) -> str:
    """What the attribute for a property is called: its name, or where Python cannot have that, one like it."""

    def is_possible(attribute: str) -> bool:
        hides = hasattr(base, attribute) or attribute.startswith(("_o_", "_objstore_", "__"))
        return attribute.isidentifier() and not keyword.iskeyword(attribute) and not hides

    if is_possible(name):
        return name
    attribute = "".join(c if ("a" + c).isidentifier() else "_" for c in name).lstrip("_") or "p"
    while attribute in taken or not is_possible(attribute):
        attribute += "_"
    return attribute


def _options(prop: Any) -> dict[str, Any]:
    """What field() says of a property."""
    if prop.collection:
        return {"on_delete": "cascade" if prop.flags & CASCADE else None}
    if prop.target_class_id:
        return {"default": None, "on_delete": "cascade" if prop.flags & CASCADE else None}
    options = {
        "primary_key": prop.flags & PRIMARY_KEY != 0,
        "indexed": prop.flags & INDEXED != 0,
        "unique": prop.flags & UNIQUE != 0,
        "generated": prop.flags & GENERATED != 0,
        "full_text": prop.flags & FULL_TEXT != 0,
    }
    default = _default(prop)
    return options if default is MISSING or options["generated"] else options | {"default": default}


def _default(prop: Any) -> Any:
    if not prop.flags & HAS_DEFAULT:
        # Where None may be, it is what new objects get.
        return None if prop.flags & NULLABLE and not prop.flags & PRIMARY_KEY else MISSING
    room = Values(1)
    ctypes.memmove(room.address, ctypes.addressof(prop.default_value), ctypes.sizeof(ffi.Value))
    return room.get(Element(prop.kind, True, None, ELEMENT), no_object)


def _indexes(view: int, class_id: int, attributes: dict[int, str]) -> list[Index]:
    """Those of several properties."""
    count, found = ctypes.c_size_t(), []
    check(_index_count(view, class_id, ctypes.byref(count)))
    for at in range(count.value):
        info = ffi.IndexInfo(struct_size=ctypes.sizeof(ffi.IndexInfo))
        check(_index_at(view, class_id, at, ctypes.byref(info)))
        if info.property_count > 1:
            names = [attributes[i] for i in info.properties[: info.property_count]]
            found.append(Index(*names, unique=info.flags & UNIQUE_INDEX != 0, primary_key=info.flags & KEY_INDEX != 0))
    return found


def _annotation(view: int, prop: Any) -> Any:
    """What the model says of the property. Classes may come later."""
    nullable = prop.flags & NULLABLE != 0
    if prop.target_class_id:
        info = ffi.ClassInfo(struct_size=ctypes.sizeof(ffi.ClassInfo))
        check(_class_get_info(view, prop.target_class_id, ctypes.byref(info)))
        target = links.Later(ffi.string(info.name), __name__)
        if prop.collection == kinds.LIST:
            return GenericAlias(list, (target,))
        if prop.collection == kinds.SET:
            return GenericAlias(set, (target,))
        if prop.collection == kinds.MAP:
            return GenericAlias(dict, (TYPES[prop.key_kind], target | None))
        return target | None
    element: Any = Counter if prop.flags & COUNTER else TYPES[prop.kind]
    if nullable and prop.kind != kinds.MIXED:
        element = element | None
    if prop.collection == kinds.MAP:
        return GenericAlias(dict, (TYPES[prop.key_kind], element))
    shape = {kinds.LIST: list, kinds.SET: set}.get(prop.collection)
    return element if shape is None else GenericAlias(shape, (element,))
