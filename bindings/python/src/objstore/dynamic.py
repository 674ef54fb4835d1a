"""Models of the classes that a view has: for what is in a store without a program that describes it."""

import ctypes
import types
from typing import Any

from . import _ffi, kinds, links
from ._check import check
from .models import Model, ModelMeta
from .properties import field

_class_count = _ffi.bind("objstore_class_count")
_class_at = _ffi.bind("objstore_class_at")
_property_at = _ffi.bind("objstore_property_at")
_class_get_info = _ffi.bind("objstore_class_get_info")

PRIMARY_KEY, NULLABLE = 0x1, 0x4
TYPES: dict[int, Any] = {kind: type_ for type_, kind in kinds.BY_TYPE.items()} | {kinds.FLOAT: kinds.Float32, kinds.MIXED: Any}


def models(view: int) -> dict[str, type[Model]]:
    """A model for each class, by its name."""
    count = ctypes.c_size_t()
    check(_class_count(view, ctypes.byref(count)))
    found: dict[str, type[Model]] = {}
    for index in range(count.value):
        info = _ffi.ClassInfo(struct_size=ctypes.sizeof(_ffi.ClassInfo))
        check(_class_at(view, index, ctypes.byref(info)))
        name = _ffi.string(info.name)
        found[name] = _model(view, name, info)
    links.resolve(found.values())
    return found


def _model(view: int, name: str, info: Any) -> type[Model]:
    annotations: dict[str, Any] = {}
    namespace: dict[str, Any] = {"__module__": __name__, "__annotations__": annotations}
    for index in range(info.property_count):
        prop = _ffi.PropertyInfo(struct_size=ctypes.sizeof(_ffi.PropertyInfo))
        check(_property_at(view, info.class_id, index, ctypes.byref(prop)))
        property_name = _ffi.string(prop.name)
        annotations[property_name] = _annotation(view, prop)
        if prop.flags & PRIMARY_KEY:
            namespace[property_name] = field(primary_key=True)
    made: Any = ModelMeta(name, (Model,), namespace)
    model: type[Model] = made
    return model


def _annotation(view: int, prop: Any) -> Any:
    """What the model says of the property. Classes are named: they may come later."""
    nullable = prop.flags & NULLABLE != 0
    if prop.target_class_id:
        target = _ffi.ClassInfo(struct_size=ctypes.sizeof(_ffi.ClassInfo))
        check(_class_get_info(view, prop.target_class_id, ctypes.byref(target)))
        name = _ffi.string(target.name)
        if prop.collection == kinds.LIST:
            return f"list[{name}]"
        if prop.collection == kinds.SET:
            return f"set[{name}]"
        if prop.collection == kinds.MAP:
            return f"dict[{TYPES[prop.key_kind].__name__}, {name} | None]"
        return f"{name} | None"
    element: Any = TYPES[prop.kind]
    if nullable and prop.kind != kinds.MIXED:
        element = element | None
    if prop.collection == kinds.MAP:
        return types.GenericAlias(dict, (TYPES[prop.key_kind], element))
    shape = {kinds.LIST: list, kinds.SET: set}.get(prop.collection)
    return element if shape is None else types.GenericAlias(shape, (element,))
