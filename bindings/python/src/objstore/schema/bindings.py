"""A model class in one store: the ids that its class and properties have there."""

import ctypes
from typing import Any

from ..errors import InvalidArgument, NoPrimaryKey, NoSuchProperty
from ..models import nodes
from ..models.expressions import Part
from ..models.properties import Property
from ..native import ffi
from ..native.failures import check
from ..objects.model_types import properties_of
from ..reading import queries
from ..reading.queries import Query
from ..values import columns, elements
from ..values.kinds import BINARY, LINK, MISSING, MIXED

_find_class = ffi.bind("objstore_find_class")
_find_property = ffi.bind("objstore_find_property")
_find_index = ffi.bind("objstore_find_index")
_property_get_info = ffi.bind("objstore_property_get_info")


class Binding:
    """A model class in one store: the ids that its class and properties have there."""

    def __init__(self, model: type, view: Any, store_tag: int) -> None:
        self.model = model
        self.properties: tuple[Property, ...] = properties_of(model)
        found = ctypes.c_uint32()
        check(_find_class(view, ffi.text(model.__name__), ctypes.byref(found)))
        self.class_id = found.value
        self.head = self.class_id | store_tag << 32  # the first eight bytes of an objstore_object
        self.ids: list[int] = []
        for prop in self.properties:
            # Of a model that was made of the file, the library does not know the attribute's name.
            check(_find_property(view, self.class_id, ffi.text(prop.stored_as or prop.name), ctypes.byref(found)))
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
        self.mixed = [p for p in self.properties if elements.is_mixed(p)]
        # To other objects, by each name.
        self.leading = [
            name for p in self.properties if p.target is not None for name in (p.name, p.stored_as) if name is not None
        ]
        self.is_alone = not self.leading
        self.is_plain = len(self.scalars) == len(self.properties) and not self.generated
        self.link_collections = [p for p in self.collections if p.target is not None]
        self.is_ordered = True  # has the store been told of the properties in this order?
        self.is_row = not (self.collections or self.owning or self.mixed)  # nothing but single values
        # Binaries may be large: they are read when they are used.
        # Mixed ones show lists and dicts that change inside, and are read one by one.
        prefetched = [p.index for p in self.properties if p.shape is None and p.kind not in (BINARY, MIXED)]
        self.prefetched_ids = columns.property_ids([self.ids[i] for i in prefetched])
        self.prefetched_places = [prefetched.index(p.index) if p.index in prefetched else None for p in self.properties]

        # What stands for them in queries: their names may change while the store is open.
        self._nodes = [nodes.OBJECT + nodes.property_by_id(number) for number in self.ids]
        self._everything: Query | None = None
        self.unique = [index for index in getattr(model, "__indexes__") if index.unique]
        self._indexes: dict[tuple[int, ...], int] = {}

    def nodes_of(self, part: Part) -> bytes:
        """The nodes of a part of a query that is about the class."""
        made = part._nodes
        for prop in part._properties:
            if type(prop) is not Property:  # an inverse, which has no id
                continue
            if prop.model is self.model:
                mine = self._nodes[prop.index]
            else:  # of the class that was defined again
                mine = next(node for p, node in zip(self.properties, self._nodes) if p.name == prop.name)
            if len(made) == nodes.COMPARISON and made.startswith(prop._nodes):  # as a rule, and three times faster
                made = mine + made[nodes.OPERAND :]
            else:
                made = made.replace(prop._nodes, mine)
        return made

    def everything(self, view: int) -> Query:
        """The query for all objects of the class."""
        query = self._everything
        if query is None:
            query = self._everything = queries.of_nodes(view, self.class_id, b"", ())
        return query

    def place(self, view: Any, prop: Property) -> int | None:
        """The place of a property in the class as a view has it, which is its bit in change masks; None: it was
        dropped."""
        info = ffi.PropertyInfo(struct_size=ctypes.sizeof(ffi.PropertyInfo))
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
