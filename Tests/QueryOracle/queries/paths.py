"""Walking a bound path over plain objects."""

from __future__ import annotations

from typing import Union

from .binding import At, AtKey, BoundPath, Flatten, Incoming, KeysOf, Member, PathStep, Read, ValuesOf
from .data import Database, Stored
from .values import Link, MixedList, MixedMap, Value, kind_of

# What a path has reached: a value, or a collection as a whole.
Item = Union[Value, list[Value], dict[str, Value]]

# The object at hand (under the empty name) and the objects of the subqueries around.
Environment = dict[str, Link]


def reach(database: Database, path: BoundPath, environment: Environment) -> list[Item]:
    """All that a path reaches; a collection at its end stays whole."""
    items: list[Item] = [environment[path.variable]]
    for step in path.steps:
        items = [found for item in items for found in advance(database, step, item)]
    return items


def values(database: Database, path: BoundPath, environment: Environment) -> list[Value]:
    """All values that a path reaches; of a collection at its end the elements."""
    found: list[Value] = []
    for item in reach(database, path, environment):
        found.extend(elements(item) if isinstance(item, (list, dict)) else [item])
    return found


def elements(item: Item) -> list[Value]:
    """The elements of a collection, the values of a map; a single value has none."""
    if isinstance(item, list):
        return item
    if isinstance(item, dict):
        return list(item.values())
    if isinstance(item, MixedList):
        return list(item.elements)
    if isinstance(item, MixedMap):
        return [value for _, value in item.entries]
    return []


def advance(database: Database, step: PathStep, item: Item) -> list[Item]:
    """Where one step leads from one place."""
    if isinstance(step, Read):
        return [read(database, step, item)]
    if isinstance(step, Incoming):
        return [incoming(database, step, item)]
    if isinstance(step, Flatten):
        return list(elements(item))
    if isinstance(step, At):
        return [element_at(item, step.index)]
    if isinstance(step, AtKey):
        return [at_key(item, step.key)]
    if isinstance(step, Member):
        return [member(database, item, step.name)]
    if isinstance(step, KeysOf):
        return [keys(item)]
    if isinstance(step, ValuesOf):
        return [elements(item)]
    return [length_in_collection(item)]


def read(database: Database, step: Read, item: Item) -> Item:
    """A property of an object; behind a null link a value is null and a collection empty."""
    found = database.find(item) if isinstance(item, Link) else None
    if found is not None:
        return found.fields[step.described.name]
    if step.described.collection == "dictionary":
        return {}
    return [] if step.described.collection else None


def incoming(database: Database, step: Incoming, item: Item) -> Item:
    """The objects that link here, as often as they do, in the order of their keys."""
    if not isinstance(item, Link):
        return []
    return [
        Link(class_name, key)
        for class_name, name, key in database.incoming.get(item, [])
        if not step.class_name or (class_name, name) == (step.class_name, step.property_name)
    ]


def element_at(item: Item, index: int) -> Value:
    """The element at an index; outside of the list it is null."""
    found = elements(item) if isinstance(item, (list, MixedList)) else []
    if index < 0:
        index += len(found)
    return found[index] if 0 <= index < len(found) else None


def at_key(item: Item, key: str) -> Value:
    """The value at a map's key; a missing key is null, and so is the key of what is no map."""
    if isinstance(item, dict):
        return item.get(key)
    return item.get(key) if isinstance(item, MixedMap) else None


def member(database: Database, item: Item, name: str) -> Value:
    """A member of a mixed value."""
    if not isinstance(item, Link):
        return at_key(item, name)
    found = database.find(item)
    return as_value(found.fields.get(name)) if found is not None else None


def as_value(stored: Stored) -> Value:
    """A property as a mixed value would hold it."""
    if isinstance(stored, list):
        return MixedList(tuple(stored))
    if isinstance(stored, dict):
        return MixedMap(tuple(stored.items()))
    return stored


def keys(item: Item) -> list[Value]:
    """The keys of a map."""
    if isinstance(item, dict):
        return list(item)
    return [key for key, _ in item.entries] if isinstance(item, MixedMap) else []


def length_in_collection(item: Item) -> Value:
    """The length of a string or binary in a collection; there a null has the length 0."""
    return 0 if item is None else length(item)


def length(item: Item) -> Value:
    """The characters of a string, the bytes of a binary; null for what has no length."""
    return len(item) if isinstance(item, (str, bytes)) else None


def sizes(database: Database, path: BoundPath, environment: Environment) -> list[Value]:
    """`@count` and `@size`: of objects all that are reached, of other collections each one's own."""
    items = reach(database, path, environment)
    if path.end.kind == "link" and path.end.collection != "dictionary":
        if path.end.collection:
            return [sum(len(elements(item)) for item in items)]
        return [sum(1 for item in items if item is not None)]
    return [size(item) for item in items]


def size(item: Item) -> Value:
    """The number of elements or entries, or the length of a string or binary."""
    if isinstance(item, (list, dict)):
        return len(item)
    if isinstance(item, (MixedList, MixedMap)):
        return len(elements(item))
    return length(item)


def types(found: list[Value]) -> list[frozenset[str]]:
    """The kind of each value."""
    return [frozenset({kind_of(value)}) for value in found]
