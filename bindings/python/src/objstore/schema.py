"""Model classes to the library, and the ids that a store gave them back."""

import ctypes
import enum
from collections.abc import Iterable
from typing import Any

from . import _ffi, columns, links
from ._check import check
from .errors import InvalidArgument, NoPrimaryKey, NoSuchProperty, SchemaError
from .handles import cell_of
from .kinds import BINARY, LINK, MIXED, NULL, STRING, Described, encode, is_embedded
from .models import properties_of
from .properties import MISSING, Property
from .values import Values

_schema_new = _ffi.bind("objstore_schema_new")
_schema_add_class = _ffi.bind("objstore_schema_add_class")
_schema_drop_class = _ffi.bind("objstore_schema_drop_class")
_schema_set_class_flags = _ffi.bind("objstore_schema_set_class_flags")
_schema_add_property = _ffi.bind("objstore_schema_add_property")
_schema_add_collection = _ffi.bind("objstore_schema_add_collection")
_schema_add_link = _ffi.bind("objstore_schema_add_link")
_schema_add_link_collection = _ffi.bind("objstore_schema_add_link_collection")
_schema_add_index = _ffi.bind("objstore_schema_add_index")
_schema_set_default = _ffi.bind("objstore_schema_set_default")
_schema_set_enumeration = _ffi.bind("objstore_schema_set_enumeration")
_schema_add_former_name = _ffi.bind("objstore_schema_add_former_name")
_schema_set_stored_name = _ffi.bind("objstore_schema_set_stored_name")
_schema_set_stored_class_name = _ffi.bind("objstore_schema_set_stored_class_name")
_schema_close = _ffi.bind("objstore_schema_close")
_find_class = _ffi.bind("objstore_find_class")
_find_property = _ffi.bind("objstore_find_property")
_find_index = _ffi.bind("objstore_find_index")
_property_get_info = _ffi.bind("objstore_property_get_info")

PRIMARY_KEY, INDEXED, NULLABLE, UNIQUE = 0x1, 0x2, 0x4, 0x8  # OBJSTORE_PROPERTY_…
CASCADE, GENERATED, COUNTER = 0x10, 0x20, 0x40
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
            check(_schema_drop_class(self.handle, _ffi.text(name)))

    def _add(self, model: type) -> None:
        name = _ffi.text(model.__name__)
        check(_schema_add_class(self.handle, name))
        if is_embedded(model):
            check(_schema_set_class_flags(self.handle, name, EMBEDDED))
        for prop in properties_of(model):
            if prop.kind == LINK:
                target = _ffi.text(prop.target.__name__)
                check(_schema_add_link(self.handle, name, _ffi.text(prop.name), target, prop.cascade * CASCADE))
                continue
            property_name = _ffi.text(prop.name)
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
                    target = _ffi.text(prop.target.__name__)
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
            flags |= prop.generated * GENERATED | prop.counter * COUNTER
            check(_schema_add_property(self.handle, name, property_name, prop.kind, flags))
            self._set_enumeration(name, property_name, prop, 0)
            if prop.default is not MISSING and prop.default is not None:
                value = Values(1)
                value.put_one(prop, prop.default)
                check(_schema_set_default(self.handle, name, property_name, value.first))
        for prop in properties_of(model):
            for former in prop.formerly:
                check(_schema_add_former_name(self.handle, name, _ffi.text(prop.name), _ffi.text(former)))
            if prop.stored_as is not None:
                check(_schema_set_stored_name(self.handle, name, _ffi.text(prop.name), _ffi.text(prop.stored_as)))
        stored = model.__dict__.get("__stored_as__")
        if stored is not None:
            check(_schema_set_stored_class_name(self.handle, name, _ffi.text(stored)))
        for index in getattr(model, "__indexes__"):
            texts = [_ffi.text(property_name) for property_name in index.properties]
            check(_schema_add_index(self.handle, name, (_ffi.Text * len(texts))(*texts), len(texts), index._flags))

    def _set_enumeration(self, name: _ffi.Text, property_name: _ffi.Text, of: Described, flags: int) -> None:
        # Of flags also what is put together of members is one.
        if of.enum is None or issubclass(of.enum, enum.Flag):
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


class Binding:
    """A model class in one store: the ids that its class and properties have there."""

    def __init__(self, model: type, view: Any, store_tag: int) -> None:
        self.model = model
        self.properties: tuple[Property, ...] = properties_of(model)
        found = ctypes.c_uint32()
        check(_find_class(view, _ffi.text(model.__name__), ctypes.byref(found)))
        self.class_id = found.value
        self.head = self.class_id | store_tag << 32  # the first eight bytes of an objstore_object
        self.ids: list[int] = []
        for prop in self.properties:
            # Of a model that was made of the file, the library does not know the attribute's name.
            check(_find_property(view, self.class_id, _ffi.text(prop.stored_as or prop.name), ctypes.byref(found)))
            self.ids.append(found.value)
        self.owning = [p for p in self.properties if p.embeds]  # embedded objects, and lists and dicts of them
        self.links = [p for p in self.properties if p.kind == LINK and not p.embeds]
        self.is_target = False  # do links of the store's models lead to the class? Set when all are bound
        # do others go when an object is deleted?
        self.takes_along = any(p.embeds or p.cascade for p in self.properties)
        self.key: tuple[Property, ...] = getattr(model, "_objstore_key")  # of the primary key, which may be of several
        self.key_property: Property | None = self.key[0] if len(self.key) == 1 else None
        self.key_type = None if self.key_property is None else self.key_property.python_type
        self.scalars = [p for p in self.properties if p.shape is None and not p.embeds]
        self.collections = [p for p in self.properties if p.shape is not None and not p.embeds]
        self.generated = [p for p in self.properties if p.generated]
        self.factories = [p for p in self.properties if p.default_factory is not MISSING]
        self.mixed = [p for p in self.properties if links.is_mixed(p)]
        # To other objects, by each name.
        self.leading = [
            name for p in self.properties if p.target is not None for name in (p.name, p.stored_as) if name is not None
        ]
        self.is_alone = not self.leading
        self.is_plain = len(self.scalars) == len(self.properties) and not self.generated
        self.link_collections = [p for p in self.collections if p.target is not None]
        # Binaries may be large: they are read when somebody asks for them.
        # Mixed ones show lists and dicts that change inside, and are read one by one.
        prefetched = [p.index for p in self.properties if p.shape is None and p.kind not in (BINARY, MIXED)]
        self.prefetched_ids = columns.property_ids([self.ids[i] for i in prefetched])
        self.prefetched_places = [prefetched.index(p.index) if p.index in prefetched else None for p in self.properties]

        self.unique = [index for index in getattr(model, "__indexes__") if index.unique]
        self._indexes: dict[tuple[int, ...], int] = {}

    def place(self, view: Any, prop: Property) -> int | None:
        """The place of a property in the class as a view has it, which is its bit in change masks; None: it was
        dropped."""
        info = _ffi.PropertyInfo(struct_size=ctypes.sizeof(_ffi.PropertyInfo))
        try:
            check(_property_get_info(view, self.ids[prop.index], ctypes.byref(info)))
        except NoSuchProperty:
            return None
        return int(info.index)

    def index_id(self, view: Any, properties: tuple[Property, ...]) -> int:
        """The id of the index of these properties, in this order; NoSuchIndex."""
        wanted = tuple(p.index for p in properties)
        found = self._indexes.get(wanted)
        if found is None:
            ids = columns.property_ids([self.ids[i] for i in wanted])
            made = ctypes.c_uint32()
            check(_find_index(view, self.class_id, ids, len(wanted), ctypes.byref(made)))
            found = self._indexes[wanted] = made.value
        return found

    @property
    def primary_key(self) -> Property:
        if len(self.key) > 1:
            raise InvalidArgument(
                f"the primary key of {self.model.__name__} is of several properties: "
                f"({', '.join(p.name for p in self.key)})",
                class_name=self.model.__name__,
            )
        if self.key_property is None:
            raise NoPrimaryKey(f"{self.model.__name__} does not have a primary key", class_name=self.model.__name__)
        return self.key_property
