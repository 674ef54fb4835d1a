"""Classes and properties, as a data set's JSON describes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

KINDS = frozenset(
    {
        "bool",
        "int",
        "float",
        "double",
        "decimal128",
        "string",
        "binary",
        "timestamp",
        "objectId",
        "uuid",
        "link",
        "mixed",
        "backlinks",
    }
)


@dataclass(frozen=True)
class Property:
    """One property: what it holds, and in which collection."""

    name: str
    kind: str
    nullable: bool = False
    collection: str = ""
    target: str = ""
    origin: str = ""
    index: str = ""

    def is_relation(self) -> bool:
        """Whether it refers to objects by its declaration; a mixed value may do so too."""
        return self.kind == "link"


@dataclass
class Class:
    """One class: its properties by name, its primary key, whether its objects are parts of others."""

    name: str
    embedded: bool
    primary_key: str
    properties: dict[str, Property]


@dataclass
class Schema:
    """All classes, and the other names under which a query may know them."""

    classes: dict[str, Class]
    class_aliases: dict[str, str] = field(default_factory=dict)
    # (class, other name) -> a path from that class.
    aliases: dict[tuple[str, str], str] = field(default_factory=dict)

    def find_class(self, name: str) -> Class | None:
        """The class of that name or other name."""
        return self.classes.get(self.class_aliases.get(name, name))


def public_name(table: str) -> str:
    """A class's name in queries: the stored table's name without its prefix."""
    return table.removeprefix("class_")


def load_schema(dataset: dict[str, Any]) -> Schema:
    """The schema of a data set."""
    classes: dict[str, Class] = {}
    for table, description in dataset["tables"].items():
        properties = {column["name"]: load_property(column) for column in description["columns"]}
        name = public_name(table)
        classes[name] = Class(name, bool(description["embedded"]), description["pk"] or "", properties)
    return Schema(classes)


def load_property(column: dict[str, Any]) -> Property:
    """One column of a data set; an inverse has the type `backlinks` and names its origin."""
    kind = column["type"]
    if kind not in KINDS:
        raise ValueError(f"unknown type {kind}")
    return Property(
        column["name"],
        kind,
        bool(column.get("nullable")),
        column.get("collection") or "",
        public_name(column.get("target") or ""),
        column.get("origin") or "",
        column.get("index") or "",
    )
