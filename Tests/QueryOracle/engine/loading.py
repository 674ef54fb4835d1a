"""From a data set to a store: schema, then all objects in one transaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from ctypes import byref
from pathlib import Path

from queries.data import Database, Object as Row, Stored
from queries.schema import Class, Property
from queries.values import Link, MixedList, MixedMap, Value

from . import library as c
from .library import Handle, Library, ids, text
from .packing import KINDS, NULL, Packed, Packer

# Whether a property of a class has an index.
Indexed = Callable[[Class, Property], bool]
KEY_KINDS = ("int", "string", "objectId", "uuid")


def nothing(_class: Class, _property: Property) -> bool:
    """No indexes."""
    return False


def everything(_class: Class, described: Property) -> bool:
    """An index wherever there can be one."""
    return not described.collection and described.kind not in ("binary", "link")


def stored_name(name: str) -> str:
    """A name as a store can have it: other characters become underlines."""
    cleaned = re.sub(r"[^\w]", "_", name)
    return "_" + cleaned if cleaned[:1].isdigit() else cleaned


def renamed(database: Database, query: str) -> str:
    """A query with the names that the store has."""
    for found in database.schema.classes.values():
        for name in found.properties:
            stored = stored_name(name)
            if stored != name:
                written = re.escape(re.sub(r"[ \t]", lambda m: "\\t" if m[0] == "\t" else "\\ ", name))
                query = re.sub(rf"(?<![\w$-]){written}(?![\w$-])", stored, query)
    return query


class Store:
    """A store with the data of a database, and which object is which."""

    def __init__(
        self,
        library: Library,
        database: Database,
        indexed: Indexed = nothing,
        path: Path | None = None,
        compound: Sequence[tuple[str, tuple[str, ...]]] = (),
    ) -> None:
        self.library = library
        self.database = database
        self.path = path
        self.objects: dict[Link, c.Object] = {}
        self.packer = Packer(library, self.objects.get)
        self.class_ids: dict[str, int] = {}
        self.property_ids: dict[tuple[str, str], int] = {}
        # For each class: the data set's key of each object key.
        self.keys: dict[str, dict[int, int]] = {name: {} for name in database.schema.classes}
        # For each class: whether the keys are the same.
        self.identical: dict[str, bool] = {}
        self.indexed, self.compound = indexed, compound
        self.handle = self.open()
        self.fill()

    def schema(self, indexed: Indexed, compound: Sequence[tuple[str, tuple[str, ...]]]) -> Handle:
        """The schema; links may lead to classes that come later. `compound`: class and properties of more indexes."""
        schema = self.library.made("schema_new")
        for found in self.database.schema.classes.values():
            name = text(found.name)
            self.library.call("schema_add_class", schema, name)
            for described in found.properties.values():
                self.add_property(schema, found, described, indexed)
            if found.embedded:
                self.library.call("schema_set_class_flags", schema, name, c.CLASS_EMBEDDED)
        for class_name, names in compound:
            texts = [text(stored_name(name)) for name in names]
            array = (c.Text * len(texts))(*texts)
            self.library.call("schema_add_index", schema, text(class_name), array, len(texts), 0)
        return schema

    def add_property(self, schema: Handle, found: Class, described: Property, indexed: Indexed) -> None:
        """One property; a declared inverse has none in the store, but a name."""
        name, owner = text(stored_name(described.name)), text(found.name)
        if described.kind == "backlinks":
            origin = text(described.target), text(stored_name(described.origin))
            self.library.call("schema_add_inverse", schema, owner, name, *origin)
            return
        nullable = c.PROPERTY_NULLABLE if described.nullable else 0
        if described.collection:
            collection = KINDS[described.collection]
            key_kind = KINDS["string"] if described.collection == "dictionary" else 0
            if described.kind == "link":
                target = text(described.target)
                self.library.call("schema_add_link_collection", schema, owner, name, collection, key_kind, target, 0)
            else:
                kind = KINDS[described.kind]
                self.library.call("schema_add_collection", schema, owner, name, collection, key_kind, kind, nullable)
        elif described.kind == "link":
            self.library.call("schema_add_link", schema, owner, name, text(described.target), 0)
        else:
            flags = nullable | (c.PROPERTY_FULL_TEXT if described.index == "fulltext" else 0)
            if described.name == found.primary_key:
                flags |= c.PROPERTY_PRIMARY_KEY
            elif indexed(found, described):
                flags |= c.PROPERTY_INDEXED
            self.library.call("schema_add_property", schema, owner, name, KINDS[described.kind], flags)

    def open(self) -> Handle:
        """Open the store; nothing is waited for, and no checkpoint comes by itself."""
        config = self.library.made("config_new")
        if self.path is None:
            self.library.call("config_set_memory", config, text(""))
        else:
            self.library.call("config_set_path", config, text(str(self.path)))
        self.library.call("config_set_durability", config, c.DURABILITY_NONE, 0)
        self.library.call("config_set_limit", config, c.LIMIT_CHECKPOINT_IDLE_MS, -1)
        schema = self.schema(self.indexed, self.compound)
        self.library.call("config_set_schema", config, schema, 1)
        self.library.call("schema_close", schema)
        handle = self.library.made("open", config)
        self.library.call("config_close", config)
        return handle

    def reopen(self) -> None:
        """Close the file and open it again; views and queries of before are gone."""
        self.library.call("close", self.handle)
        self.handle = self.open()

    def close(self) -> None:
        """Close the store."""
        self.library.call("close", self.handle)

    def view(self) -> Handle:
        """A view of what is committed; it stands still."""
        live = self.library.made("view_open", self.handle)
        frozen = self.library.made("view_freeze", live)
        self.library.call("view_close", live)
        return frozen

    def begin(self) -> Handle:
        """A transaction."""
        return self.library.made("begin", self.handle)

    def fill(self) -> None:
        """All objects: first those that stand alone with their plain values, then what refers to objects."""
        transaction = self.begin()
        for found in self.database.schema.classes.values():
            self.class_ids[found.name] = self.library.number("find_class", transaction, text(found.name))
            for name, described in found.properties.items():
                if described.kind != "backlinks":
                    self.property_ids[(found.name, name)] = self.library.number(
                        "find_property", transaction, self.class_ids[found.name], text(stored_name(name))
                    )
        rows = [
            row
            for name, table in self.database.tables.items()
            if not self.database.schema.classes[name].embedded
            for row in table.values()
        ]
        for row in rows:
            self.create(transaction, row)
        for row in rows:
            self.fill_later(transaction, row)
        self.library.call("commit", transaction, None)

    def create(self, transaction: Handle, row: Row) -> None:
        """An object with its plain values."""
        properties, values = self.plain(row)
        made = c.Object()
        class_id = self.class_ids[row.link.class_name]
        self.library.call("create", transaction, class_id, properties, values.data, values.count, byref(made))
        self.know(row.link, made)

    def create_inside(self, transaction: Handle, parent: Link, name: str, place: Value, link: Link) -> None:
        """An embedded object in a property of its parent, with all that is in it."""
        row = self.database.find(link)
        if row is None:
            return
        properties, values = self.plain(row)
        made, where = c.Object(), self.packer.array([place])
        self.library.call(
            "create_embedded",
            transaction,
            self.objects[parent],
            self.property_ids[(parent.class_name, name)],
            c.Value.from_buffer_copy(where.data),
            properties,
            values.data,
            values.count,
            byref(made),
        )
        self.know(link, made)
        self.fill_later(transaction, row)

    def know(self, link: Link, made: c.Object) -> None:
        """Note which object of the store an object of the data is."""
        self.objects[link] = made
        self.keys[link.class_name][int(made.key)] = link.key
        same = self.identical.get(link.class_name, True) and int(made.key) == link.key
        self.identical[link.class_name] = same

    def translated(self, class_name: str, keys: list[int]) -> list[int]:
        """Keys of the data as keys of the store."""
        if self.identical.get(class_name, True):
            return keys
        return [int(self.objects[Link(class_name, key)].key) for key in keys]

    def keys_of(self, class_name: str, keys: list[int]) -> list[int]:
        """Keys of the store as keys of the data."""
        there = self.keys[class_name]
        return [there.get(key, -1 - key) for key in keys]

    def plain(self, row: Row) -> tuple[object, Packed]:
        """The values that can be given when an object is created."""
        class_name = row.link.class_name
        names = [name for name, stored in row.fields.items() if self.is_plain(class_name, name, stored)]
        values = [value for name in names if not isinstance(value := row.fields[name], (list, dict))]
        return ids([self.property_ids[(class_name, name)] for name in names]), self.packer.array(values)

    def is_plain(self, class_name: str, name: str, stored: Stored) -> bool:
        """Whether a value refers to nothing and nothing is nested in it."""
        described = self.database.schema.classes[class_name].properties[name]
        return (
            described.kind not in ("link", "backlinks")
            and not described.collection
            and not isinstance(stored, (Link, MixedList, MixedMap))
        )

    def fill_later(self, transaction: Handle, row: Row) -> None:
        """The values of an object that refer to objects, and its collections."""
        for name, stored in row.fields.items():
            if not self.is_plain(row.link.class_name, name, stored):
                self.give(transaction, row.link, name, stored)

    def give(self, transaction: Handle, owner: Link, name: str, stored: Stored) -> None:
        """Give a property of an object its value, embedded objects too."""
        described = self.database.schema.classes[owner.class_name].properties[name]
        if described.kind == "link" and self.database.schema.classes[described.target].embedded:
            self.give_embedded(transaction, owner, name, stored)
        elif isinstance(stored, list):
            # What links to nothing is in no list of links.
            there = [one for one in stored if described.kind != "link" or one in self.objects]
            self.set(transaction, owner, name, MixedList(tuple(there)))
        else:
            self.set(transaction, owner, name, MixedMap(tuple(stored.items())) if isinstance(stored, dict) else stored)

    def give_embedded(self, transaction: Handle, owner: Link, name: str, stored: Stored) -> None:
        """Make the embedded objects in a property; those of the data have no maps of nulls."""
        places: list[tuple[Value, Value]] = [(None, stored)] if isinstance(stored, Link) else []
        if isinstance(stored, list):
            places = [(None, element) for element in stored]
        elif isinstance(stored, dict):
            places = list(stored.items())
        for place, element in places:
            if isinstance(element, Link):
                self.create_inside(transaction, owner, name, place, element)

    def set(self, transaction: Handle, owner: Link, name: str, value: Value) -> None:
        """Give a property a value, nested or not."""
        values = self.packer.flat([value])
        target, property_id = self.objects[owner], self.property_ids[(owner.class_name, name)]
        if values.data == NULL:
            self.library.call("set", transaction, target, property_id, c.Value())
        else:
            self.library.call("set_from", transaction, target, property_id, 0, values.data, values.count, None)
