"""Random well-typed conditions by the grammar, weighted to what is rare, with a few that must be refused."""

from __future__ import annotations

from collections.abc import Callable

from .generate_numbers import MoreConditions
from .generate_paths import Found

Form = Callable[[str, str], str | None]


class QueryGenerator(MoreConditions):
    """Draws whole queries: conditions joined, then steps."""

    def query(self, class_name: str) -> str:
        """A query on a class; its arguments are in `arguments`."""
        self.arguments = []
        if self.chance(0.1):
            return self.rng.choice(("TRUEPREDICATE", "truepredicate")) + self.steps(class_name)
        return self.condition(class_name, "", self.rng.choice((0, 0, 1, 1, 2))) + self.steps(class_name)

    def condition(self, class_name: str, variable: str, depth: int) -> str:
        """Comparisons joined by AND, OR and NOT."""
        if depth == 0:
            return self.comparison(class_name, variable)
        if self.chance(0.2):
            inner = self.condition(class_name, variable, depth - 1)
            return self.rng.choice(("NOT (", "!(", "not (", "! (")) + inner + ")"
        if self.chance(0.05):
            return self.rng.choice(("FALSEPREDICATE", "TRUEPREDICATE"))
        parts = [self.condition(class_name, variable, depth - 1) for _ in range(self.rng.choice((2, 2, 3)))]
        joined = self.rng.choice((" AND ", " and ", " && ", " OR ", " or ", " || ")).join(parts)
        return f"({joined})" if self.chance(0.8) else joined

    def comparison(self, class_name: str, variable: str) -> str:
        """One comparison; a form that finds nothing to compare gives way to another."""
        forms: list[tuple[Form, int]] = [
            (self.against_constant, 8),
            (self.against_null, 4),
            (self.against_path, 4),
            (self.in_list, 5),
            (self.in_path, 3),
            (self.between, 4),
            (self.string_operator, 6),
            (self.quantified, 6),
            (self.quantified_lists, 5),
            (self.whole_list, 3),
            (self.aggregate, 5),
            (self.size, 4),
            (self.arithmetic, 5),
            (self.type_of, 4),
            (self.object_itself, 4),
            (self.geo, 3),
            (self.full_text, 3),
            (self.tree, 4),
        ]
        if not variable:
            forms.append((self.subquery, 6))
        for _ in range(30):
            form = self.rng.choices([form for form, _ in forms], [weight for _, weight in forms])[0]
            used = len(self.arguments)
            text = form(class_name, variable)
            if text is not None:
                return text
            del self.arguments[used:]
        return "TRUEPREDICATE"

    def subquery(self, class_name: str, _variable: str) -> str | None:
        """SUBQUERY; where an object may be listed twice only whether there is one is asked."""
        found = self.find(
            class_name,
            lambda path: path.end.kind == "link" and bool(path.end.collection) and path.end.target in self.objects,
        )
        if found is None:
            return None
        variable = self.rng.choice(("$x", "$item", "$y-1"))
        inner = self.nested(found, variable) if self.chance(0.15) else None
        if inner is None:
            inner = self.condition(found.end.target, variable, self.rng.choice((0, 1)))
        once = found.end.collection == "set" and not found.end.many
        bound = self.rng.choice(("> 1", "== 2", "< 2", ">= 3")) if once else self.rng.choice(("> 0", "== 0", "!= 0"))
        size = self.rng.choice(("@count", "@size"))
        return f"SUBQUERY({self.key_path(found.text)}, {variable}, {inner}).{size} {bound}"

    def nested(self, outer: Found, variable: str) -> str | None:
        """A subquery in a subquery."""
        found = self.find(
            outer.end.target,
            lambda path: path.end.kind == "link" and bool(path.end.collection) and path.end.target in self.objects,
        )
        if found is None or found.text.startswith("@links"):
            return None
        inner = self.comparison(found.end.target, "$inner")
        return f"SUBQUERY({variable}.{found.text}, $inner, {inner}).@count > 0"

    def steps(self, class_name: str) -> str:
        """SORT once at most, since a second one's ties are not settled; the others in any place."""
        text, sorted_once = "", False
        for _ in range(self.rng.choice((0, 0, 1, 1, 2, 3))):
            choice = self.rng.random()
            if choice < 0.45 and not sorted_once:
                orders = [
                    found
                    for found in (self.sortable(class_name) for _ in range(self.rng.choice((1, 2, 3))))
                    if found is not None
                ]
                if orders:
                    sorted_once = True
                    text += " SORT(" + ", ".join(order + self.direction() for order in orders) + ")"
            elif choice < 0.7:
                paths = [
                    found
                    for found in (self.sortable(class_name) for _ in range(self.rng.choice((1, 1, 2))))
                    if found is not None
                ]
                text += f" DISTINCT({', '.join(paths)})" if paths else ""
            elif choice < 0.9:
                text += f" {self.rng.choice(('LIMIT', 'limit'))}({self.rng.choice((0, 1, 2, 3, 5, 100))})"
            else:
                text += f" OFFSET({self.rng.choice((0, 1, 2, 5))})"
        return text

    def direction(self) -> str:
        """Ascending or descending, in all spellings."""
        return self.rng.choice((" ASC", " asc", " ASCENDING", " DESC", " desc", " Descending"))

    def sortable(self, class_name: str) -> str | None:
        """A path to a single value whose order is settled."""
        kinds = ("bool", "int", "float", "double", "decimal128", "string", "timestamp", "objectId", "uuid", "mixed")
        found = self.find(
            class_name,
            lambda path: (
                not path.many()
                and path.end.kind in kinds
                and not path.indexed
                and "tree" not in path.text
                and "@" not in path.text
            ),
        )
        return found.text if found is not None else None

    def refused(self, class_name: str) -> str:
        """A query that must be an error."""
        self.arguments = []
        single = self.find(class_name, lambda path: not path.many() and path.end.kind not in ("mixed", "link"))
        if single is None:
            return "missing == 1"
        other = {"string": "1", "bool": "'true'", "int": "'1'", "timestamp": "0"}.get(single.end.kind, "true")
        choices = [
            f"{single.text} == {other}",
            f"ANY {single.text} == null",
            f"{single.text}.nothing == 1",
            f"1 IN {single.text}",
            f"{single.text} == $7",
            "missing > 0",
            f"{single.text}.@min > 1",
            f"{single.text} == null SORT(missing ASC)",
            f"SUBQUERY({single.text}, $x, $x.a == 1).@count > 0",
            f"{single.text}.@type == 'int'",
            f"{single.text} == obj('Nothing', 1)",
            f"{single.text} ==",
            f"{single.text} BETWEEN {{1}}",
            f"{single.text} == null LIMIT(-1)",
            "1 == 1",
        ]
        if single.end.kind not in ("string", "binary"):
            choices += [f"{single.text} BEGINSWITH 'a'", f"{single.text} ==[c] 'a'", f"{single.text}.@size == 1"]
        if single.end.kind == "string" and single.end.index != "fulltext":
            choices.append(f"{single.text} TEXT 'a'")
        return self.rng.choice(choices)
