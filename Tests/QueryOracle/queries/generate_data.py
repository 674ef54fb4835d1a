"""Random schemas and objects, in the format of the captured data sets."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from .pools import SCALAR_KINDS, WORDS, pool, to_json
from .values import Uuid, Value

CLASSES = ("Person", "Dog", "Zone")
KEYS = ("a", "b", "k.1", "name", "x y", "$z", "")
ODD_NAMES = (
    "in",
    "between",
    "sort",
    "limit",
    "contains",
    "like",
    "text",
    "offset",
    "asc",
    "distinct",
    "fav item",
    "løbe",
    "_x",
    "T399",
    "beginswith",
    "desc",
    "truth",
    "nullable",
    "null-ish",
    "$a",
    "size",
)
EMBEDDED = ("Part", "Place")


@dataclass
class Generated:
    """A data set, and what a generator of queries should know of it."""

    dataset: dict[str, Any]
    # Columns whose numbers add up exactly in any order.
    plain: set[tuple[str, str]] = field(default_factory=set)
    wide: bool = False


class DataGenerator:
    """Draws a schema and then its objects; few values, so that many are equal, and many nulls."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.counts = {
            name: rng.choice((0, 1, 5, 12, 25)) if name != "Person" else rng.randint(8, 30) for name in CLASSES
        }
        self.generated = Generated({"id": 0, "tables": {}}, wide=rng.random() < 0.6)
        self.tables: dict[str, Any] = self.generated.dataset["tables"]
        self.pools: dict[tuple[str, str], list[Value]] = {}
        self.keys: dict[str, list[Any]] = {}

    def generate(self) -> Generated:
        """The whole data set."""
        for name in (*CLASSES, "Part"):
            self.tables[name] = {"embedded": name in EMBEDDED, "pk": None, "columns": self.columns(name), "rows": []}
        self.tables["Place"] = {
            "embedded": True,
            "pk": None,
            "rows": [],
            "columns": [
                {"name": "type", "type": "string"},
                {"name": "coordinates", "type": "double", "collection": "list"},
            ],
        }
        for name in CLASSES:
            self.primary_key(name)
        for name in CLASSES:
            self.inverses(name)
        for name in CLASSES:
            rows = [{"key": key, "fields": self.fields(name, key)} for key in range(self.counts[name])]
            self.tables[name]["rows"] = rows
        for table in self.tables.values():
            table["count"] = len(table["rows"])
        return self.generated

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.rng.random() < probability

    def columns(self, class_name: str) -> list[dict[str, Any]]:
        """The columns of a class, without its inverses."""
        columns: list[dict[str, Any]] = []
        for kind in SCALAR_KINDS:
            for suffix, collection, likely in (
                ("", "", 0.7),
                ("N", "", 0.6),
                ("List", "list", 0.35),
                ("Set", "set", 0.2),
                ("Map", "dictionary", 0.25),
            ):
                if self.chance(likely):
                    self.add(
                        columns,
                        class_name,
                        kind + suffix,
                        kind,
                        collection,
                        nullable=suffix == "N" or (bool(collection) and self.chance(0.5)),
                    )
        for suffix, collection, likely in (
            ("", "", 0.9),
            ("List", "list", 0.5),
            ("Set", "set", 0.3),
            ("Map", "dictionary", 0.5),
        ):
            if self.chance(likely):
                self.add(columns, class_name, "mixed" + suffix, "mixed", collection, nullable=True)
        if self.chance(0.6):
            self.add(columns, class_name, "tree", "mixed", "", nullable=True)
        if self.chance(0.5):
            self.add(columns, class_name, "words", "string", "", nullable=self.chance(0.5))
            columns[-1]["index"] = "fulltext"
        self.links(columns, class_name)
        return columns

    def links(self, columns: list[dict[str, Any]], class_name: str) -> None:
        """The columns that refer to objects."""
        for name, collection, likely in (
            ("link", "", 0.9),
            ("other", "", 0.5),
            ("links", "list", 0.8),
            ("linkSet", "set", 0.4),
            ("linkMap", "dictionary", 0.4),
        ):
            if self.chance(likely):
                self.add(columns, class_name, name, "link", collection, nullable=collection in ("", "dictionary"))
                columns[-1]["target"] = self.rng.choice(CLASSES)
        if class_name in EMBEDDED:
            return
        for name, collection, target, likely in (
            ("part", "", "Part", 0.6),
            ("parts", "list", "Part", 0.5),
            ("place", "", "Place", 0.6),
            ("places", "list", "Place", 0.3),
        ):
            if self.chance(likely):
                self.add(columns, class_name, name, "link", collection, nullable=not collection)
                columns[-1]["target"] = target

    def add(
        self, columns: list[dict[str, Any]], class_name: str, name: str, kind: str, collection: str, nullable: bool
    ) -> None:
        """One more column; sometimes under a name that looks like something else."""
        taken = {column["name"] for column in columns}
        if kind not in ("link", "mixed") and self.chance(0.12):
            odd = self.rng.choice(ODD_NAMES)
            name = odd if odd not in taken else name
        column: dict[str, Any] = {"name": name, "type": kind}
        if nullable:
            column["nullable"] = True
        if collection:
            column["collection"] = collection
        elif kind not in ("link", "float", "double", "decimal128", "binary") and self.chance(0.3):
            column["index"] = "general"
        columns.append(column)
        if kind in SCALAR_KINDS:
            self.choose_pool(class_name, name, kind, bool(collection))

    def choose_pool(self, class_name: str, name: str, kind: str, in_collection: bool) -> None:
        """A few values for a column."""
        plain = in_collection or self.chance(0.5)
        if plain:
            self.generated.plain.add((class_name, name))
        values = list(pool(kind, not plain, self.generated.wide))
        self.pools[(class_name, name)] = self.rng.sample(values, min(len(values), self.rng.choice((2, 4, 8))))

    def primary_key(self, class_name: str) -> None:
        """Half of the classes have a primary key."""
        count = self.counts[class_name]
        self.keys[class_name] = list(range(count))
        if self.chance(0.5):
            return
        kind = self.rng.choice(("int", "string", "objectId", "uuid"))
        self.tables[class_name]["pk"] = "_id"
        self.tables[class_name]["columns"].insert(0, {"name": "_id", "type": kind, "index": "general"})
        numbers = self.rng.sample(range(1000), count)
        made = {
            "int": lambda n: {"$numberLong": str(n - 500)},
            "string": lambda n: f"id {n}",
            "objectId": lambda n: {"$oid": f"{n:024x}"},
            "uuid": to_json_uuid,
        }
        self.keys[class_name] = [made[kind](number) for number in numbers]

    def inverses(self, class_name: str) -> None:
        """Declared inverses of some links."""
        for column in list(self.tables[class_name]["columns"]):
            if column["type"] == "link" and column["target"] in CLASSES and self.chance(0.4):
                name = f"{class_name.lower()}s via {column['name']}"
                self.tables[column["target"]]["columns"].append(
                    {"name": name, "type": "backlinks", "target": class_name, "origin": column["name"]}
                )

    def fields(self, class_name: str, key: int) -> dict[str, Any]:
        """The values of one object."""
        result: dict[str, Any] = {}
        for column in self.tables[class_name]["columns"]:
            if column["name"] == "_id":
                result["_id"] = self.keys[class_name][key]
            elif column["type"] != "backlinks":
                result[column["name"]] = self.held(class_name, column)
        return result

    def held(self, class_name: str, column: dict[str, Any]) -> Any:
        """What a column holds: a value or a collection."""
        collection = column.get("collection", "")
        if not collection:
            return self.value(class_name, column)
        values = [self.value(class_name, column) for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2, 3, 4)))]
        if column["type"] == "link" and collection != "dictionary":
            values = [value for value in values if value is not None]
        if collection == "list":
            return values
        if collection == "set":
            return {"$set": [value for index, value in enumerate(values) if value not in values[:index]]}
        return {"$dictionary": dict(zip(sorted(self.rng.sample(KEYS, len(values))), values))}

    def value(self, class_name: str, column: dict[str, Any]) -> Any:
        """One value; null often where it may be."""
        kind, in_list = column["type"], column.get("collection", "") in ("list", "set")
        if column.get("nullable") and self.chance(0.3) and not (kind == "link" and in_list):
            return None
        if kind == "link":
            return self.link(column["target"])
        if column["name"] == "tree":
            return self.tree(0)
        if kind == "mixed":
            return self.mixed(in_set=column.get("collection", "") == "set")
        if column.get("index") == "fulltext":
            return " ".join(self.rng.sample(WORDS, self.rng.randint(0, 4)))
        return to_json(self.rng.choice(self.pools[(class_name, column["name"])]))

    def link(self, target: str) -> Any:
        """A link to an object, or an embedded one."""
        if target == "Part":
            return {"$embedded": {"table": "Part", "value": self.fields("Part", 0)}}
        if target == "Place":
            place = [to_json(float(self.rng.randint(-20, 20)) / 2) for _ in range(2)]
            return {"$embedded": {"table": "Place", "value": {"type": "Point", "coordinates": place}}}
        if not self.keys[target]:
            return None
        return {"$link": {"table": target, "key": self.rng.choice(self.keys[target])}}

    def mixed(self, in_set: bool = False) -> Any:
        """A scalar of any kind but binary; in a set no two numbers may be equal, so ints only."""
        kinds = [kind for kind in SCALAR_KINDS if kind != "binary"]
        kind = self.rng.choice(["bool", "int", "string", "timestamp"] if in_set else kinds)
        return to_json(self.rng.choice(pool(kind, False, self.generated.wide)))

    def tree(self, depth: int) -> Any:
        """Lists and maps in each other; at the top a list, a map or a number."""
        choice = self.rng.random()
        if depth > 3 or choice < (0.15 if depth == 0 else 0.45):
            return to_json(self.rng.choice((0, 1, 2, 3))) if depth == 0 else self.leaf()
        if choice < 0.7:
            entries = {key: self.tree(depth + 1) for key in sorted(self.rng.sample(KEYS, self.rng.randint(0, 3)))}
            return {"$dictionary": entries}
        return [self.tree(depth + 1) for _ in range(self.rng.randint(0, 3))]

    def leaf(self) -> Any:
        """What stands at the ends of a tree: a scalar, a link, null."""
        return self.rng.choice((None, self.link(self.rng.choice(CLASSES)), self.mixed(), self.mixed(), self.mixed()))


def to_json_uuid(number: int) -> Any:
    """A UUID that is a number."""
    return to_json(Uuid(number.to_bytes(16, "big")))
