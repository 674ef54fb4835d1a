"""The forms of a comparison that the generator knows; each keeps to what the documents settle."""

from __future__ import annotations

import random
from decimal import Decimal

from .data import Database
from .generate_data import CLASSES, KEYS, Generated
from .generate_paths import Found, PathGenerator
from .pools import PLAIN, pool, quote, to_text
from .values import NUMERIC_KINDS, Value, is_number

EQUALITY = ("==", "=", "!=", "<>", "==")
ORDER = ("<", "<=", "=<", ">", ">=", "=>")
# Kinds that can be told smaller and greater; for bools and binaries the documents do not say.
ORDERED_KINDS = frozenset({"int", "float", "double", "decimal128", "string", "timestamp", "objectId", "uuid"})
SCALARS = ORDERED_KINDS | {"bool", "binary"}
QUANTIFIERS = ("ANY ", "any ", "SOME ", "some ", "ALL ", "all ", "NONE ", "none ")
TYPES = (
    "null",
    "int",
    "Integer",
    "bool",
    "string",
    "date",
    "timestamp",
    "double",
    "float",
    "decimal128",
    "objectid",
    "uuid",
    "link",
    "object",
    "dictionary",
    "array",
    "list",
    "numeric",
    "collection",
)
SPECIAL = "*?\\"


class Conditions(PathGenerator):
    """Draws single comparisons; each form gives none where the schema has nothing for it."""

    def __init__(self, rng: random.Random, generated: Generated, database: Database) -> None:
        super().__init__(rng, generated, database)
        self.objects = (*CLASSES, "Part")

    def written(self, found: Found, variable: str) -> str:
        """A path's text, behind a subquery's variable where there is one."""
        return f"{variable}.{found.text}" if variable else self.key_path(found.text)

    def operator(self, found: Found) -> str:
        """An operator that fits what a path reaches; beyond a list's end only what null cannot meet."""
        if found.indexed:
            return self.rng.choice(ORDER if found.end.kind in ORDERED_KINDS and self.chance(0.5) else ("==", "="))
        if found.end.kind in ORDERED_KINDS and self.chance(0.5):
            return self.rng.choice(ORDER)
        return self.rng.choice(EQUALITY)

    def against_constant(self, class_name: str, variable: str) -> str | None:
        """A path with a constant, on either side."""
        found = self.find(class_name, lambda path: path.end.kind in SCALARS | {"mixed"} and "tree" not in path.text)
        if found is None:
            return None
        constant = self.constant(found)
        operator = self.operator(found)
        if found.end.kind == "mixed" and (is_number(constant) or isinstance(constant, str)) and self.chance(0.4):
            operator = self.rng.choice(ORDER)
        sides = [self.written(found, variable), self.literal(constant)]
        if self.chance(0.2):
            sides.reverse()
        return f" {operator} ".join(sides)

    def against_null(self, class_name: str, variable: str) -> str | None:
        """A path with null; lists of objects have no null to compare with."""
        found = self.find(
            class_name,
            lambda path: (
                not path.indexed
                and (path.end.kind in SCALARS | {"mixed"} or (path.end.kind == "link" and not path.many()))
            ),
        )
        if found is None:
            return None
        operators = EQUALITY if found.end.kind == "link" or self.chance(0.7) else ORDER
        return f"{self.written(found, variable)} {self.rng.choice(operators)} {self.literal(None)}"

    def against_path(self, class_name: str, variable: str) -> str | None:
        """Two paths of one family, one of them with a single value."""
        left = self.find(
            class_name,
            lambda path: (
                path.end.kind in SCALARS | {"mixed", "link"}
                and not path.indexed
                and "tree" not in path.text
                and path.end.target not in ("Part", "Place")
            ),
        )
        if left is None:
            return None
        family = NUMERIC_KINDS if left.end.kind in NUMERIC_KINDS else {left.end.kind}
        right = self.find(
            class_name,
            lambda path: (
                path.end.kind in family
                and path.end.target == left.end.target
                and not path.many()
                and not path.indexed
                and "tree" not in path.text
            ),
        )
        if right is None:
            return None
        operators = ORDER + EQUALITY if left.end.kind in ORDERED_KINDS else EQUALITY
        return f"{self.written(left, variable)} {self.rng.choice(operators)} {self.written(right, variable)}"

    def list_text(self, found: Found, quantifier: str = "") -> str:
        """A list of constants that mostly fit a path, as text or as an argument."""
        chosen: list[Value] = [self.constant(found) for _ in range(self.rng.choice((0, 1, 1, 2, 3, 5, 12)))]
        if self.chance(0.3):
            chosen.append(None)
        if self.chance(0.2):
            chosen.append(self.rng.choice(PLAIN[self.rng.choice(tuple(PLAIN))]))
        if self.chance(0.2) and not any(isinstance(value, Decimal) for value in chosen):
            self.arguments.append([to_text(value, self.rng) for value in chosen])
            return f"{quantifier}${len(self.arguments) - 1}"
        return quantifier + "{" + ", ".join(to_text(value, self.rng) for value in chosen) + "}"

    def in_list(self, class_name: str, variable: str) -> str | None:
        """A path IN a list, perhaps with quantifiers, or compared with a list's elements."""
        found = self.find(
            class_name,
            lambda path: (
                path.end.kind in SCALARS | {"mixed"}
                and not path.indexed
                and "tree" not in path.text
                and not path.many()
            ),
        )
        if found is None:
            return None
        operator = self.rng.choice(("IN", "in", "IN", "==", "!=") + (ORDER if found.end.kind in ORDERED_KINDS else ()))
        quantifier = self.rng.choice(QUANTIFIERS) if self.chance(0.3) else ""
        return f"{self.written(found, variable)} {operator} {self.list_text(found, quantifier)}"

    def in_path(self, class_name: str, variable: str) -> str | None:
        """A constant or a single path IN a path with many values."""
        found = self.find(
            class_name, lambda path: path.end.kind in SCALARS | {"mixed"} and path.many() and "tree" not in path.text
        )
        if found is None:
            return None
        single = (
            self.find(class_name, lambda path: path.end.kind == found.end.kind and not path.many() and not path.indexed)
            if self.chance(0.3) and not found.indexed
            else None
        )
        left = self.written(single, variable) if single else self.literal(self.constant(found))
        quantifier = self.rng.choice(QUANTIFIERS) if self.chance(0.3) and not found.indexed else ""
        flag = "[c]" if found.end.kind == "string" and self.chance(0.3) else ""
        return f"{left} {self.rng.choice(('IN', 'in'))}{flag} {quantifier}{self.written(found, variable)}"

    def between(self, class_name: str, variable: str) -> str | None:
        """A range of numbers or dates; of a list ALL elements."""
        found = self.find(
            class_name, lambda path: path.end.kind in NUMERIC_KINDS | {"timestamp"} and "tree" not in path.text
        )
        if found is None:
            return None
        ends = f"{{{self.literal(self.constant(found))}, {self.literal(self.constant(found))}}}"
        quantifier = self.rng.choice(("ALL ", "all ")) if found.many() else ""
        between = self.rng.choice(("BETWEEN", "between", "Between"))
        return f"{quantifier}{self.written(found, variable)} {between} {ends}"

    def string_operator(self, class_name: str, variable: str) -> str | None:
        """BEGINSWITH and its like, and equality with flags."""
        found = self.find(
            class_name, lambda path: path.end.kind in ("string", "binary", "mixed") and "tree" not in path.text
        )
        if found is None:
            return None
        operator = self.rng.choice(("BEGINSWITH", "endswith", "CONTAINS", "contains", "LIKE", "like", "=="))
        flag = self.rng.choice(
            ("[c]", "[c]", " [c]", "", "", "") + (("[d]", "[cd]") if found.end.kind == "string" else ())
        )
        quantifier = self.rng.choice(QUANTIFIERS) if found.many() and self.chance(0.4) else ""
        return f"{quantifier}{self.written(found, variable)} {operator}{flag} {self.pattern(found, operator)}"

    def pattern(self, found: Found, operator: str) -> str:
        """What a string is searched for: a part of what is there, or a pattern of it."""
        if self.chance(0.05):
            return to_text(None, self.rng)
        kind = "string" if found.end.kind == "mixed" else found.end.kind
        value = self.rng.choice(
            [value for value in self.reached(found) if isinstance(value, (str, bytes))]
            or pool(kind, False, self.generated.wide)
        )
        text = value.decode() if isinstance(value, bytes) else str(value)
        start = self.rng.randint(0, len(text))
        part = self.rng.choice((text, text[start:], text[:start], text.swapcase(), text[start : start + 2]))
        if operator.lower() == "like":
            part = "".join("?" if self.chance(0.2) else symbol for symbol in part if symbol not in SPECIAL)
            part = self.rng.choice(("*", "")) + part[:start] + self.rng.choice(("*", "", "**")) + part[start:]
        if not _is_text(part) or (kind == "binary" and not part.isascii()):
            part = "a"
        return self.literal(part.encode() if kind == "binary" else part)

    def quantified(self, class_name: str, variable: str) -> str | None:
        """ANY, ALL or NONE of many values, with a constant."""
        found = self.find(
            class_name,
            lambda path: (
                path.end.kind in SCALARS | {"mixed"} and path.many() and not path.indexed and "tree" not in path.text
            ),
        )
        if found is None:
            return None
        right = self.literal(None) if self.chance(0.1) else self.literal(self.constant(found))
        return f"{self.rng.choice(QUANTIFIERS)}{self.written(found, variable)} {self.operator(found)} {right}"

    def quantified_lists(self, class_name: str, variable: str) -> str | None:
        """Many values with a list, quantifiers on one side or both."""
        found = self.find(class_name, lambda path: path.end.kind in SCALARS and path.many() and not path.indexed)
        if found is None:
            return None
        left = self.rng.choice(QUANTIFIERS) + self.written(found, variable)
        right = self.list_text(found, self.rng.choice(QUANTIFIERS) if self.chance(0.7) else "")
        if self.chance(0.3):
            left, right = self.list_text(found, self.rng.choice(QUANTIFIERS)), left
        elif self.chance(0.3):
            other = self.find(
                class_name, lambda path: path.end.kind == found.end.kind and path.many() and not path.indexed
            )
            right = right if other is None else self.rng.choice(QUANTIFIERS) + self.written(other, variable)
        operator = "IN" if self.chance(0.2) else self.operator(found)
        return f"{left} {operator} {right}"

    def whole_list(self, class_name: str, variable: str) -> str | None:
        """A list property as a whole: the order counts."""
        found = self.find(
            class_name,
            lambda path: (
                path.end.kind in SCALARS
                and path.end.collection == "list"
                and not path.end.many
                and "@" not in path.text
            ),
        )
        if found is None:
            return None
        chosen = self.reached(found)[:4] if self.chance(0.6) else [self.constant(found)]
        constants = "{" + ", ".join(to_text(value, self.rng) for value in chosen) + "}"
        return f"{self.written(found, variable)} {self.rng.choice(('==', '!='))} {constants}"

    def tree(self, class_name: str, variable: str) -> str | None:
        """Deep into a mixed value."""
        found = self.find(class_name, lambda path: "tree" in path.text and not path.end.collection)
        if found is None:
            return None
        if found.end.kind != "mixed":
            return f"{self.written(found, variable)} == {self.literal(self.rng.choice(KEYS))}"
        quantifier = self.rng.choice(QUANTIFIERS) if found.end.many and not found.indexed and self.chance(0.4) else ""
        return f"{quantifier}{self.written(found, variable)} == {self.literal(self.constant(found))}"

    def type_of(self, class_name: str, variable: str) -> str | None:
        """The type of mixed values."""
        found = self.find(class_name, lambda path: path.end.kind == "mixed" and not path.indexed)
        if found is None:
            return None
        quantifier = self.rng.choice(QUANTIFIERS) if found.many() and self.chance(0.5) else ""
        left = f"{quantifier}{self.written(found, variable)}.@type"
        if self.chance(0.2):
            names = ", ".join(quote(self.rng.choice(TYPES), self.rng) for _ in range(2))
            return f"{left} IN {{{names}}}"
        name = self.rng.choice((str.upper, str.lower, str))(self.rng.choice(TYPES))
        return f"{left} {self.rng.choice(EQUALITY)} {quote(name, self.rng)}"


def _is_text(text: str) -> bool:
    """Whether swapping cases left something that can be written."""
    return all(not 0xD800 <= ord(character) <= 0xDFFF for character in text)
