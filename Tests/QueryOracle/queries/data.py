"""Plain objects, loaded from a data set's JSON, with the links that come in to each."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Union

from .schema import Property, Schema, load_schema, public_name
from .values import DECIMAL128, Float32, Link, MixedList, MixedMap, ObjectId, Timestamp, Uuid, Value, equal, to_float32

Stored = Union[Value, list[Value], dict[str, Value]]

# The key of an object that is not there.
MISSING = -(2**62)


@dataclass
class Object:
    """One object: what each property holds."""

    link: Link
    fields: dict[str, Stored]


@dataclass
class Database:
    """All objects of a schema, in the order of their keys."""

    schema: Schema
    tables: dict[str, dict[int, Object]]
    # Objects that stand inside others and have no row of their own.
    inside: dict[Link, Object] = field(default_factory=dict)
    # For each object: (class, property, key) of every link to it, as often as it is linked.
    incoming: dict[Link, list[tuple[str, str, int]]] = field(default_factory=dict)

    def find(self, link: Link) -> Object | None:
        """The object a link refers to."""
        return self.tables[link.class_name].get(link.key) or self.inside.get(link)

    def find_by_key(self, class_name: str, key: Value) -> Link:
        """The object with a primary key; a link to nothing where there is none."""
        primary_key = self.schema.classes[class_name].primary_key
        for found in self.tables[class_name].values():
            held = found.fields[primary_key]
            if not isinstance(held, (list, dict)) and equal(held, key):
                return found.link
        return Link(class_name, MISSING)


def load(dataset: dict[str, Any]) -> Database:
    """The schema and objects of a data set."""
    schema = load_schema(dataset)
    database = Database(schema, {name: {} for name in schema.classes})
    rows: dict[Link, dict[str, Any]] = {}
    for table, description in dataset["tables"].items():
        for row in sorted(description["rows"], key=lambda row: int(row["key"])):
            rows[Link(public_name(table), int(row["key"]))] = row["fields"]
    loader = Loader(database, rows)
    for link in rows:
        database.tables[link.class_name][link.key] = Object(link, {})
    for link in rows:
        loader.fill_primary_key(link)
    for link, fields in rows.items():
        database.tables[link.class_name][link.key].fields = loader.fields(link.class_name, fields)
    index_incoming(database)
    return database


def index_incoming(database: Database) -> None:
    """Note every link at its target, in the order of the origins."""
    everything = [found for table in database.tables.values() for found in table.values()]
    for found in everything + list(database.inside.values()):
        for name, stored in found.fields.items():
            for link in links_in(stored):
                entry = (found.link.class_name, name, found.link.key)
                database.incoming.setdefault(link, []).append(entry)


def links_in(stored: Stored) -> list[Link]:
    """All links in a property's value, with repetitions."""
    if isinstance(stored, Link):
        return [stored]
    parts: list[Value] = []
    if isinstance(stored, list):
        parts = stored
    elif isinstance(stored, dict):
        parts = list(stored.values())
    elif isinstance(stored, MixedList):
        parts = list(stored.elements)
    elif isinstance(stored, MixedMap):
        parts = [value for _, value in stored.entries]
    return [link for part in parts for link in links_in(part)]


class Loader:
    """Reads extended JSON; resolves links by key or by primary key."""

    def __init__(self, database: Database, rows: dict[Link, dict[str, Any]]) -> None:
        self.database = database
        self.rows = rows

    def fill_primary_key(self, link: Link) -> None:
        """Primary keys come first, since links may be written with them."""
        found_class = self.database.schema.classes[link.class_name]
        if found_class.primary_key:
            key = found_class.properties[found_class.primary_key]
            value = self.value(self.rows[link][key.name], key.kind)
            self.database.tables[link.class_name][link.key].fields[key.name] = value

    def fields(self, class_name: str, fields: dict[str, Any]) -> dict[str, Stored]:
        """All properties of an object; what is not given is null or empty."""
        properties = self.database.schema.classes[class_name].properties
        return {
            name: self.stored(properties[name], fields.get(name))
            for name in properties
            if properties[name].kind != "backlinks"
        }

    def stored(self, described: Property, given: Any) -> Stored:
        """What a property holds."""
        if described.collection == "dictionary":
            entries = given["$dictionary"] if given else {}
            return {key: self.value(value, described.kind) for key, value in entries.items()}
        if described.collection == "set":
            return [self.value(value, described.kind) for value in (given["$set"] if given else [])]
        if described.collection == "list":
            return [self.value(value, described.kind) for value in given or []]
        return self.value(given, described.kind)

    def value(self, given: Any, kind: str) -> Value:
        """One value."""
        if given is None or isinstance(given, (bool, str)):
            return given
        if isinstance(given, list):
            return MixedList(tuple(self.value(part, "mixed") for part in given))
        if "$dictionary" in given:
            return MixedMap(tuple((key, self.value(part, "mixed")) for key, part in given["$dictionary"].items()))
        if "$link" in given:
            return self.link(given["$link"])
        if "$embedded" in given:
            return self.embedded(given["$embedded"])
        return scalar(given, kind)

    def link(self, given: dict[str, Any]) -> Link:
        """A link: a plain integer is an object's key, anything else its primary key."""
        class_name = self.class_name(given["table"])
        if isinstance(given["key"], int):
            return Link(class_name, given["key"])
        return self.database.find_by_key(class_name, self.value(given["key"], "mixed"))

    def class_name(self, table: str) -> str:
        """Values name classes without the prefix that their tables may have."""
        return table if table in self.database.schema.classes else public_name(table)

    def embedded(self, given: dict[str, Any]) -> Link:
        """An embedded object: by the key of its row, or written out in its parent."""
        class_name = self.class_name(given["table"])
        if "key" in given:
            return Link(class_name, given["key"])
        link = Link(class_name, -1 - len(self.database.inside))
        self.database.inside[link] = Object(link, {})
        self.database.inside[link].fields = self.fields(class_name, given["value"])
        return link


def scalar(given: dict[str, Any], kind: str) -> Value:
    """A value that is neither a collection nor a link."""
    if "$numberLong" in given:
        return int(given["$numberLong"])
    if "$numberDouble" in given:
        return floating(given["$numberDouble"], kind)
    if "$numberDecimal" in given:
        return DECIMAL128.create_decimal(Decimal(given["$numberDecimal"]))
    if "$date" in given:
        seconds, milliseconds = divmod(int(given["$date"]["$numberLong"]), 1000)
        total = seconds * 1_000_000_000 + milliseconds * 1_000_000 + int(given.get("nanoseconds", 0))
        sign = -1 if total < 0 else 1
        return Timestamp(sign * (abs(total) // 1_000_000_000), sign * (abs(total) % 1_000_000_000))
    if "$oid" in given:
        return ObjectId(bytes.fromhex(given["$oid"]))
    if "$binary" in given:
        data = base64.b64decode(given["$binary"]["base64"])
        return Uuid(data) if given["$binary"]["subType"] == "04" else data
    raise ValueError(f"unknown value {given}")


def floating(text: str, kind: str) -> Value:
    """A float or a double; in a mixed value a float is told by its seven digits behind the point."""
    mantissa = text.split("e")[0]
    single = kind == "float" or (kind == "mixed" and len(mantissa.lstrip("-")) == 9)
    return Float32(to_float32(float(text))) if single else float(text)
