"""Random paths through a schema, and constants that fit what they reach."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .binding import End, Scope, bind_path
from .data import Database
from .generate_data import KEYS, Generated
from .paths import values
from .pools import EDGES, PLAIN, arguable, pool, quote, to_text
from .syntax import parse_path
from .values import NUMERIC_KINDS, Link, MixedList, MixedMap, Value, kind_of

Wanted = Callable[["Found"], bool]


@dataclass(frozen=True)
class Found:
    """A path's text, its end, and whether it may leave a list by an index."""

    text: str
    end: End
    indexed: bool
    class_name: str

    def many(self) -> bool:
        """Whether it has many values for an object."""
        return self.end.many or bool(self.end.collection)


class PathGenerator:
    """Draws paths and constants; collects the arguments of the query at hand."""

    def __init__(self, rng: random.Random, generated: Generated, database: Database) -> None:
        self.rng = rng
        self.generated = generated
        self.database = database
        self.arguments: list[Any] = []
        self.known: dict[tuple[str, str], Found] = {}

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.rng.random() < probability

    def find(self, class_name: str, wanted: Wanted) -> Found | None:
        """A random path that is wanted; none where too many draws were not."""
        for _ in range(60):
            found = self.described(class_name, self.walk(class_name, 0))
            if wanted(found):
                return found
        return None

    def described(self, class_name: str, text: str) -> Found:
        """A path with its end; the same paths come again and again."""
        if (class_name, text) not in self.known:
            end = bind_path(Scope(self.database, class_name, {}, []), parse_path(text)).end
            indexed = any(mark in text for mark in ("[0", "[1", "[2", "FIRST]", "LAST]", "first]", "last]"))
            self.known[(class_name, text)] = Found(text, end, indexed, class_name)
        return self.known[(class_name, text)]

    def columns(self, class_name: str) -> list[dict[str, Any]]:
        """A class's columns as the data set lists them."""
        return list(self.generated.dataset["tables"][class_name]["columns"])

    def name(self, text: str) -> str:
        """A name, its blanks escaped."""
        return text.replace(" ", "\\ ")

    def walk(self, class_name: str, depth: int) -> str:
        """A path from an object."""
        if self.chance(0.08):
            incoming = self.incoming(class_name)
            if incoming:
                return incoming + self.objects_tail(incoming.split(".")[1], False, depth)
        columns = self.columns(class_name)
        relations = [column for column in columns if column["type"] in ("link", "backlinks")]
        column = self.rng.choice(relations if relations and depth < 2 and self.chance(0.3) else columns)
        return self.name(column["name"]) + self.tail(column, depth)

    def incoming(self, class_name: str) -> str:
        """`@links.Class.property` for one of the properties that link here."""
        choices = [
            f"@links.{name}.{self.name(column['name'])}"
            for name in self.generated.dataset["tables"]
            for column in self.columns(name)
            if column["type"] == "link" and column["target"] == class_name and name not in ("Part", "Place")
        ]
        return self.rng.choice(choices) if choices else ""

    def tail(self, column: dict[str, Any], depth: int) -> str:
        """How a path goes on behind a property."""
        kind, collection = column["type"], column.get("collection", "")
        if kind == "backlinks":
            return self.objects_tail(column["target"], False, depth)
        if collection == "dictionary":
            return self.map_tail(column, depth)
        if kind == "link" and collection:
            return self.objects_tail(column["target"], collection == "list", depth)
        if kind == "link":
            return "" if depth > 2 or self.chance(0.2) else "." + self.walk(column["target"], depth + 1)
        if collection:
            return self.list_tail(kind, collection)
        return self.tree_tail() if column["name"] == "tree" else ""

    def objects_tail(self, target: str, ordered: bool, depth: int) -> str:
        """Behind a collection of objects."""
        if depth > 2 or self.chance(0.25):
            return ""
        index = self.index() if ordered and self.chance(0.3) else "[*]" if self.chance(0.1) else ""
        return index + "." + self.walk(target, depth + 1)

    def map_tail(self, column: dict[str, Any], depth: int) -> str:
        """Behind a map: a key, its keys or values, or nothing."""
        onward = "." + self.walk(column["target"], depth + 1) if column["type"] == "link" and depth < 2 else ""
        key = self.rng.choice(KEYS)
        choices = [f"[{quote(key, self.rng)}]" + onward, ".@keys", ".@values", ".@values" + onward, "[*]" + onward, ""]
        if key in ("a", "b", "name"):
            choices.append("." + key + onward)
        return self.rng.choice(choices)

    def list_tail(self, kind: str, collection: str) -> str:
        """Behind a list or set of scalars."""
        choices = ["", "", "[*]"]
        if collection == "list":
            choices.append(self.index())
        if kind == "binary" or (kind == "string" and not self.generated.wide):
            choices.append(".length")
        return self.rng.choice(choices)

    def tree_tail(self) -> str:
        """Down a mixed value."""
        text = ""
        for _ in range(self.rng.randint(0, 3)):
            text += self.rng.choice((self.index(), "[*]", f"[{quote(self.rng.choice(KEYS), self.rng)}]", ".a", ".name"))
        return text + (".@keys" if self.chance(0.15) else "")

    def index(self) -> str:
        """One element of a list."""
        return self.rng.choice(("[0]", "[1]", "[2]", "[FIRST]", "[LAST]", "[first]", "[last]"))

    def reached(self, found: Found) -> list[Value]:
        """Scalars that a path really reaches from some object."""
        rows = list(self.database.tables[found.class_name].values())
        bound = bind_path(Scope(self.database, found.class_name, {}, []), parse_path(found.text))
        seen: list[Value] = []
        for row in self.rng.sample(rows, min(len(rows), 5)):
            seen.extend(values(self.database, bound, {"": row.link}))
        return [value for value in seen if not isinstance(value, (Link, MixedList, MixedMap)) and value is not None]

    def constant(self, found: Found) -> Value:
        """A constant of a kind that fits a path: often one that is there."""
        kind = found.end.kind
        if kind in NUMERIC_KINDS and self.chance(0.25):
            return self.rng.choice(PLAIN["int"] + PLAIN["double"] + EDGES["int"])
        if kind == "mixed":
            kind = self.rng.choice(("bool", "int", "double", "decimal128", "string", "timestamp", "uuid"))
        if self.chance(0.6):
            reached = [value for value in self.reached(found) if kind_of(value) == kind or found.end.kind == "mixed"]
            if reached:
                return self.rng.choice(reached)
        return self.rng.choice(pool(kind, found.end.kind != "mixed", self.generated.wide))

    def literal(self, value: Value) -> str:
        """A constant in the text, sometimes as an argument."""
        text = to_text(value, self.rng)
        if arguable(value) and self.chance(0.15):
            self.arguments.append(text)
            return f"${len(self.arguments) - 1}"
        return text

    def key_path(self, text: str) -> str:
        """A path, seldom as an argument."""
        if self.chance(0.03):
            self.arguments.append(quote(text, self.rng))
            return f"$K{len(self.arguments) - 1}"
        return text
