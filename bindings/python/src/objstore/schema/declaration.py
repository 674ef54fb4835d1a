"""Model classes as the library gets them when a store is opened."""

import ctypes
import enum
from collections.abc import Iterable

from ..errors import InvalidArgument, SchemaError
from ..models import links
from ..native import ffi
from ..native.failures import check
from ..native.handles import cell_of
from ..objects.model_types import properties_of
from ..values.c_values import Values
from ..values.custom_types import Custom
from ..values.kinds import LINK, MISSING, NULL, STRING, Described, encode, is_embedded

_schema_new = ffi.bind("objstore_schema_new")
_schema_add_class = ffi.bind("objstore_schema_add_class")
_schema_drop_class = ffi.bind("objstore_schema_drop_class")
_schema_set_class_flags = ffi.bind("objstore_schema_set_class_flags")
_schema_add_property = ffi.bind("objstore_schema_add_property")
_schema_add_collection = ffi.bind("objstore_schema_add_collection")
_schema_add_link = ffi.bind("objstore_schema_add_link")
_schema_add_link_collection = ffi.bind("objstore_schema_add_link_collection")
_schema_add_index = ffi.bind("objstore_schema_add_index")
_schema_set_default = ffi.bind("objstore_schema_set_default")
_schema_set_enumeration = ffi.bind("objstore_schema_set_enumeration")
_schema_add_former_name = ffi.bind("objstore_schema_add_former_name")
_schema_set_stored_name = ffi.bind("objstore_schema_set_stored_name")
_schema_set_stored_class_name = ffi.bind("objstore_schema_set_stored_class_name")
_schema_add_inverse = ffi.bind("objstore_schema_add_inverse")
_schema_close = ffi.bind("objstore_schema_close")

PRIMARY_KEY, INDEXED, NULLABLE, UNIQUE = 0x1, 0x2, 0x4, 0x8  # OBJSTORE_PROPERTY_…
CASCADE, GENERATED, COUNTER, FULL_TEXT = 0x10, 0x20, 0x40, 0x80
EMBEDDED = 0x1  # OBJSTORE_CLASS_…
KEYS = 0x1  # OBJSTORE_ENUMERATION_KEYS


class Schema:
    """The C schema of some models; closed at the end of a with."""

    def __init__(self, models: Iterable[type], dropped: Iterable[str] = ()) -> None:
        self.handle = cell_of(self, _schema_close)
        check(_schema_new(ctypes.byref(self.handle)))
        names: dict[str, type] = {}
        for model in models:
            if names.setdefault(model.__name__, model) is not model:
                raise SchemaError(f"two models are called {model.__name__}", class_name=model.__name__)
        links.resolve(names.values())
        for model in names.values():
            self._add(model)
        for name in dropped:
            if not isinstance(name, str):
                raise InvalidArgument(f"drop is a list of names of classes, not of {name!r}")
            check(_schema_drop_class(self.handle, ffi.text(name)))

    def _add(self, model: type) -> None:
        name = ffi.text(model.__name__)
        check(_schema_add_class(self.handle, name))
        if is_embedded(model):
            check(_schema_set_class_flags(self.handle, name, EMBEDDED))
        for prop in properties_of(model):
            if prop.kind == LINK:
                target = ffi.text(prop.target.__name__)
                check(_schema_add_link(self.handle, name, ffi.text(prop.name), target, prop.cascade * CASCADE))
                continue
            property_name = ffi.text(prop.name)
            if prop.shape is not None:
                element, key = prop.shape.element, prop.shape.key
                key_kind, flags = (
                    NULL if key is None else key.kind,
                    element.nullable * NULLABLE | prop.cascade * CASCADE,
                )
                if prop.target is None:
                    check(
                        _schema_add_collection(
                            self.handle, name, property_name, prop.kind, key_kind, element.kind, flags
                        )
                    )
                else:
                    target = ffi.text(prop.target.__name__)
                    check(
                        _schema_add_link_collection(
                            self.handle, name, property_name, prop.kind, key_kind, target, flags
                        )
                    )
                self._set_enumeration(name, property_name, element, 0)
                if key is not None:
                    self._set_enumeration(name, property_name, key, KEYS)
                continue
            flags = (
                prop.primary_key * PRIMARY_KEY
                | prop.indexed * INDEXED
                | prop.nullable * NULLABLE
                | prop.unique * UNIQUE
            )
            flags |= prop.generated * GENERATED | prop.counter * COUNTER | prop.full_text * FULL_TEXT
            check(_schema_add_property(self.handle, name, property_name, prop.kind, flags))
            self._set_enumeration(name, property_name, prop, 0)
            if prop.default is not MISSING and prop.default is not None:
                value = Values(1)
                value.put_one(prop, prop.default)
                check(_schema_set_default(self.handle, name, property_name, value.first))
        for prop in properties_of(model):
            for former in prop.formerly:
                check(_schema_add_former_name(self.handle, name, ffi.text(prop.name), ffi.text(former)))
            if prop.stored_as is not None:
                check(_schema_set_stored_name(self.handle, name, ffi.text(prop.name), ffi.text(prop.stored_as)))
        stored = model.__dict__.get("__stored_as__")
        if stored is not None:
            check(_schema_set_stored_class_name(self.handle, name, ffi.text(stored)))
        for inverse in vars(model).get("_objstore_inverses", ()):
            origin = ffi.text(inverse.origin.__name__), ffi.text(inverse.origin_property)
            check(_schema_add_inverse(self.handle, name, ffi.text(inverse.name), *origin))
        for index in getattr(model, "__indexes__"):
            texts = [ffi.text(property_name) for property_name in index.properties]
            check(_schema_add_index(self.handle, name, (ffi.Text * len(texts))(*texts), len(texts), index._flags))

    def _set_enumeration(self, name: ffi.Text, property_name: ffi.Text, of: Described, flags: int) -> None:
        # Of flags also what is put together of members is one.
        if of.enum is None or isinstance(of.enum, Custom) or issubclass(of.enum, enum.Flag):
            return
        members = list(of.enum)
        values = Values(len(members))
        values.start(sum(len(encode(of, member.value)) for member in members) if of.kind == STRING else 0)
        for index, member in enumerate(members):
            values.put(index, of, member)
        check(_schema_set_enumeration(self.handle, name, property_name, values.address, len(members), flags))

    def __enter__(self) -> "Schema":
        return self

    def __exit__(self, *_: object) -> None:
        check(_schema_close(self.handle))
