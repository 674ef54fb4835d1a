"""Forms of a comparison about numbers, relations and special operators."""

from __future__ import annotations

from .generate_conditions import EQUALITY, ORDER, QUANTIFIERS, Conditions
from .generate_paths import Found
from .pools import PLAIN, WORDS, quote
from .values import NUMERIC_KINDS, Value


class MoreConditions(Conditions):
    """Aggregates, sizes, arithmetic, objects, shapes and full text."""

    def is_plain(self, class_name: str, name: str) -> bool:
        """Whether a column's numbers add up exactly."""
        return (class_name, name) in self.generated.plain

    def aggregate(self, class_name: str, variable: str) -> str | None:
        """An aggregate over a list of numbers, or over a property of objects."""
        found = self.find(
            class_name,
            lambda path: (
                bool(path.end.collection)
                and not path.end.many
                and not path.indexed
                and "@keys" not in path.text
                and path.end.kind in NUMERIC_KINDS | {"link", "mixed"}
            ),
        )
        if found is None:
            return None
        name = self.rng.choice(("min", "max", "sum", "avg"))
        text = f"{self.written(found, variable)}.@{name}"
        kind = found.end.kind
        if kind == "link":
            member = self.member(found, name)
            if member is None:
                return None
            text, kind = f"{text}.{self.name(member[0])}", member[1]
        if name == "avg" and kind == "float":
            return None
        if kind == "timestamp":
            return f"{text} {self.rng.choice(ORDER + EQUALITY)} {self.literal(self.rng.choice(PLAIN['timestamp']))}"
        bound: Value = self.rng.choice(PLAIN["double" if kind in ("float", "double", "mixed") else "int"])
        if self.chance(0.15):
            bound = None
        return f"{text} {self.rng.choice(ORDER + EQUALITY)} {self.literal(bound)}"

    def member(self, found: Found, name: str) -> tuple[str, str] | None:
        """A property to aggregate: for sums one that adds up exactly."""
        fitting = [
            (column["name"], column["type"])
            for column in self.columns(found.end.target)
            if not column.get("collection")
            and (
                (
                    column["type"] in NUMERIC_KINDS
                    and (name in ("min", "max") or self.is_plain(found.end.target, column["name"]))
                )
                or (column["type"] == "timestamp" and name in ("min", "max"))
            )
        ]
        return self.rng.choice(fitting) if fitting else None

    def size(self, class_name: str, variable: str) -> str | None:
        """How many elements, entries or links there are."""
        found = self.find(
            class_name,
            lambda path: (
                not path.end.many
                and not path.indexed
                and "tree" not in path.text
                and (bool(path.end.collection) or path.end.kind == "link")
            ),
        )
        if self.chance(0.15):
            left = f"{variable}.@links.@count" if variable else "@links.@count"
        elif found is None:
            return None
        else:
            operation = self.rng.choice(
                (".@count", ".@size", "[SIZE]") if found.end.collection else (".@count", ".@size")
            )
            left = self.written(found, variable) + operation
        return f"{left} {self.rng.choice(ORDER + EQUALITY)} {self.literal(self.rng.choice((0, 1, 2, 3)))}"

    def arithmetic(self, class_name: str, variable: str) -> str | None:
        """Ints with ints, doubles with doubles; the documents say nothing of the precision of mixtures."""
        kind = self.rng.choice(("int", "int", "double", "decimal128"))

        def fits(path: Found) -> bool:
            exact = kind != "decimal128" or self.is_plain_path(path)
            return path.end.kind == kind and not path.indexed and "tree" not in path.text and exact

        left = self.find(class_name, fits)
        right = self.find(class_name, lambda path: fits(path) and not path.many())
        if left is None or right is None:
            return None
        signs = "+-*" if kind == "decimal128" else "+-*/"
        constants = [self.literal(self.rng.choice(PLAIN[kind])) for _ in range(2)]
        operators = [f" {self.rng.choice(signs)} " for _ in range(2)]
        quantifier = self.rng.choice(QUANTIFIERS) if left.many() and self.chance(0.5) else ""
        terms = [
            quantifier + self.written(left, variable),
            self.rng.choice((self.written(right, variable), constants[0])),
        ]
        if self.chance(0.3):
            terms.reverse()
        text = operators[0].join(terms)
        if self.chance(0.3):
            text = f"({text}){operators[1]}{constants[1]}"
        return f"{text} {self.rng.choice(ORDER + EQUALITY)} {self.literal(self.rng.choice(PLAIN[kind]))}"

    def is_plain_path(self, path: Found) -> bool:
        """Whether a path of one name leads to a column whose numbers add up exactly."""
        return self.is_plain(path.class_name, path.text.replace("\\ ", " "))

    def object_itself(self, class_name: str, variable: str) -> str | None:
        """A link compared with an object that its primary key names."""
        found = self.find(
            class_name,
            lambda path: path.end.kind == "link" and not path.indexed and self.key_kind(path.end.target) != "",
        )
        if found is None:
            return None
        keys = [row["fields"]["_id"] for row in self.generated.dataset["tables"][found.end.target]["rows"]]
        kind = self.key_kind(found.end.target)
        written = {
            "int": "-1000000",
            "string": "'nobody'",
            "objectId": "oid(0123456789abcdef01234567)",
            "uuid": "uuid(01234567-89ab-cdef-0123-456789abcdef)",
        }[kind]
        if keys and self.chance(0.8):
            rows = self.database.tables[found.end.target]
            key = self.rng.choice(list(rows.values())).fields["_id"]
            written = self.literal(key) if not isinstance(key, (list, dict)) else written
        quantifier = self.rng.choice(QUANTIFIERS) if found.many() and self.chance(0.5) else ""
        operator = self.rng.choice(EQUALITY)
        return f"{quantifier}{self.written(found, variable)} {operator} obj('{found.end.target}', {written})"

    def key_kind(self, class_name: str) -> str:
        """The kind of a class's primary key; empty where it has none."""
        if not self.generated.dataset["tables"][class_name]["pk"]:
            return ""
        return str(self.columns(class_name)[0]["type"])

    def geo(self, class_name: str, variable: str) -> str | None:
        """A shape whose edges lie between the half degrees where the points are."""
        found = self.find(class_name, lambda path: path.end.target == "Place" and not path.indexed)
        if found is None:
            return None
        west, south = self.rng.randint(-12, 8) + 0.25, self.rng.randint(-12, 8) + 0.25
        east, north = west + self.rng.randint(1, 5), south + self.rng.randint(1, 5)
        ring = f"{{[{west}, {south}], [{east}, {south}], [{east}, {north}], [{west}, {north}], [{west}, {south}]}}"
        hole = (
            f", {{[{west + 0.5}, {south + 0.5}], [{west + 1}, {south + 0.5}], [{west + 1}, {north - 0.25}], "
            f"[{west + 0.5}, {south + 0.5}]}}"
            if self.chance(0.3)
            else ""
        )
        shape = self.rng.choice(
            (
                f"geoBox([{west}, {south}], [{east}, {north}])",
                f"geoPolygon({ring}{hole})",
                f"geoCircle([{west}, {south}], {self.rng.choice((0.031, 0.0713, 0.2017))})",
            )
        )
        if self.chance(0.2):
            self.arguments.append(shape)
            shape = f"${len(self.arguments) - 1}"
        quantifier = self.rng.choice(QUANTIFIERS) if found.many() and self.chance(0.5) else ""
        operator = self.rng.choice(("GEOWITHIN", "geoWithin"))
        return f"{quantifier}{self.written(found, variable)} {operator} {shape}"

    def full_text(self, class_name: str, variable: str) -> str | None:
        """TEXT with words that must be there, words that must not, and beginnings."""
        found = self.find(class_name, lambda path: path.end.index == "fulltext" and not path.many())
        if found is None:
            return None
        words = [self.rng.choice(WORDS).split()[0] for _ in range(self.rng.choice((1, 1, 2)))]
        terms = [word.upper() if self.chance(0.2) else word[:3] + "*" if self.chance(0.3) else word for word in words]
        if self.chance(0.3):
            terms.append("-" + self.rng.choice(("write", "tests", "42", "the")))
        return f"{self.written(found, variable)} {self.rng.choice(('TEXT', 'text'))} {quote(' '.join(terms), self.rng)}"
