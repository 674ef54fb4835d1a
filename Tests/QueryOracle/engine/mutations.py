"""Changes to a database, made to the oracle's objects and to a store alike."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from queries.data import Database, Object as Row, Stored, index_incoming
from queries.schema import Class, Property
from queries.values import Link, MixedList, MixedMap, Value

from .library import Handle
from .loading import Store


@dataclass
class Changes:
    """What a transaction does, in this order."""

    created: list[Row] = field(default_factory=list)
    given: list[tuple[Link, str, Stored]] = field(default_factory=list)
    deleted: list[Link] = field(default_factory=list)


def deletion(rng: random.Random, database: Database, share: float) -> Changes:
    """Deletes some of the objects that stand alone."""
    links = [row.link for row in standing(database)]
    return Changes(deleted=rng.sample(links, int(len(links) * share)))


def standing(database: Database) -> list[Row]:
    """All objects that are no parts of others."""
    classes = database.schema.classes
    return [row for name, table in database.tables.items() if not classes[name].embedded for row in table.values()]


def changes(rng: random.Random, database: Database, given: dict[str, int]) -> Changes:
    """A bit of everything; a value that a property gets is one that another object has in it.

    `given`: how many keys each class has given, so that new objects have the keys here that a store gives them.
    """
    result = Changes()
    rows = standing(database)
    if not rows:
        return result
    for row in rng.sample(rows, len(rows) // 4):
        found = database.schema.classes[row.link.class_name]
        names = [name for name, described in found.properties.items() if can_change(found, described)]
        for name in rng.sample(names, min(len(names), rng.randint(1, 5))):
            other = rng.choice(list(database.tables[found.name].values()))
            result.given.append((row.link, name, other.fields[name]))
    for name, table in database.tables.items():
        found = database.schema.classes[name]
        if table and not found.primary_key and not found.embedded:
            for number in range(rng.randint(0, 1 + len(table) // 20)):
                result.created.append(copied(rng, database, found, given[name] + number))
    gone = rng.sample(rows, len(rows) // 12)
    result.deleted.extend(row.link for row in gone)
    return result


def copied(rng: random.Random, database: Database, found: Class, key: int) -> Row:
    """A new object with values of others."""
    others = list(database.tables[found.name].values())
    fields: dict[str, Stored] = {}
    for name, described in found.properties.items():
        if can_change(found, described):
            fields[name] = rng.choice(others).fields[name]
        elif described.collection:
            fields[name] = {} if described.collection == "dictionary" else []
        elif described.kind != "backlinks":
            fields[name] = None
    return Row(Link(found.name, key), fields)


def can_change(found: Class, described: Property) -> bool:
    """Whether a property can get what the same property of another object has."""
    return (
        described.name != found.primary_key and not described.collection and described.kind not in ("link", "backlinks")
    )


def changed(database: Database, made: Changes) -> Database:
    """A database with changes; the one that is given stays as it is."""
    tables = {
        name: {key: Row(row.link, dict(row.fields)) for key, row in table.items()}
        for name, table in database.tables.items()
    }
    inside = {link: Row(link, dict(row.fields)) for link, row in database.inside.items()}
    result = Database(database.schema, tables, inside)
    for row in made.created:
        tables[row.link.class_name][row.link.key] = Row(row.link, dict(row.fields))
    for link, name, stored in made.given:
        tables[link.class_name][link.key].fields[name] = stored
    for link in made.deleted:
        remove_parts(result, tables[link.class_name].pop(link.key))
    forget(result, frozenset(made.deleted))
    index_incoming(result)
    return result


def remove_parts(database: Database, row: Row) -> None:
    """Remove the embedded objects of an object that is gone."""
    for stored in row.fields.values():
        parts: Iterable[Value] = stored if isinstance(stored, list) else ()
        parts = stored.values() if isinstance(stored, dict) else parts or [stored]  # type: ignore[list-item]
        for part in parts:
            if isinstance(part, Link) and part in database.inside:
                remove_parts(database, database.inside.pop(part))


def forget(database: Database, gone: frozenset[Link]) -> None:
    """Take the links to objects that are gone out of all others."""
    rows = [row for table in database.tables.values() for row in table.values()]
    for row in rows + list(database.inside.values()):
        properties = database.schema.classes[row.link.class_name].properties
        for name, stored in row.fields.items():
            row.fields[name] = without(properties[name], stored, gone)


def without(described: Property, stored: Stored, gone: frozenset[Link]) -> Stored:
    """What a property holds when objects are gone: lists of links and sets close up, else there is null."""
    if isinstance(stored, dict):
        return {key: cleaned(value, gone) for key, value in stored.items()}
    if isinstance(stored, list):
        closes = described.kind == "link" or described.collection == "set"
        return [cleaned(value, gone) for value in stored if not (closes and isinstance(value, Link) and value in gone)]
    return cleaned(stored, gone)


def cleaned(value: Value, gone: frozenset[Link]) -> Value:
    """A value in which links to what is gone are null."""
    if isinstance(value, Link):
        return None if value in gone else value
    if isinstance(value, MixedList):
        return MixedList(tuple(cleaned(element, gone) for element in value.elements))
    if isinstance(value, MixedMap):
        return MixedMap(tuple((key, cleaned(element, gone)) for key, element in value.entries))
    return value


def make(store: Store, transaction: Handle, made: Changes) -> None:
    """Make changes in a store."""
    for row in made.created:
        store.create(transaction, row)
    for row in made.created:
        store.fill_later(transaction, row)
    for link, name, stored in made.given:
        store.give(transaction, link, name, stored)
    delete(store, transaction, made.deleted)


def delete(store: Store, transaction: Handle, links: Sequence[Link]) -> None:
    """Delete objects in a store."""
    for link in links:
        store.library.call("delete", transaction, store.objects[link])
