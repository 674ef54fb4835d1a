"""What the captured cases leave unsaid: other names, and arguments that were not recorded."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from . import nodes
from .bind import bind_expression
from .binding import Argument, Scope
from .bound import Constant
from .data import Database
from .errors import QueryError
from .schema import Schema
from .syntax import parse, parse_constant, parse_shape
from .values import Float32, Link, Value, to_float32

PERSON_NAMES = {("person", "sol_rotations"): "age", ("person", "holdings"): "account", ("account", "funds"): "balance"}
BACKLINK_NAMES = {
    ("Items", "purchasers"): "@links.Person.items",
    ("Person", "things"): "items",
    ("Person", "funds"): "account_balance",
    ("Person", "money"): "account_balance",
    ("Person", "banknotes"): "finances",
    ("Person", "finances"): "banknotes",
    ("Person", "capital"): "capital",
    ("class_with_policy", "parents"): "@links.class_with_policy.with_underscores",
}

# Arguments that neither the canonical text nor a message shows.
GIVEN: dict[int, list[Argument]] = {
    716: [2],
    3106: [1],
    3107: [1],
    3137: ["Pet", "Pet.Legs", "x", None],
    3425: [None, None, Link("Origin", 0)],
    3454: [None, None, Link("Origin", 0)],
    3563: ["pluto"],
    3613: [Float32(to_float32(6.55444336))],
    3614: [Float32(to_float32(6.55444336))],
}
KEY_PATHS: list[Argument] = ["Pet", "Pet.Legs"]
BY_TYPE = {
    "int": "3",
    "float": "3.0",
    "double": "3.0",
    "decimal128": "3",
    "uuid": "uuid(00000000-0000-0000-0000-000000000000)",
    "objectId": "oid(000000000000000000000000)",
    "timestamp": "T3:0",
}


def add_names(schema: Schema, case: dict[str, Any]) -> None:
    """The other names that the captured tests had set up."""
    if case["test"] == "sorted_view":
        schema.aliases = PERSON_NAMES
    if case["test"] == "Parser_Backlinks":
        schema.aliases = BACKLINK_NAMES
        schema.class_aliases = {"CustomPersonClassName": "Person"}


def arguments_of(database: Database, case: dict[str, Any]) -> list[Argument] | None:
    """The arguments of a case; None where they are not known."""
    given = case["args"]
    if case["id"] in GIVEN:
        return GIVEN[case["id"]]
    if given is None:
        return []
    if given != "any":
        return [argument(database, one) for one in given]
    if case["test"] == "Parser_KeyPathSubstitution":
        return KEY_PATHS
    if "error" in case:
        return from_message(database, case)
    return from_canonical(database, case)


def argument(database: Database, given: Any) -> Argument:
    """An argument as its literal, a list of literals, or a shape; an empty text stands for an unknown one."""
    if isinstance(given, list):
        return [literal(database, one) for one in given]
    inner = given.strip('"')
    if inner.lower().startswith(("geobox(", "geocircle(", "geopolygon(")):
        return parse_shape(inner)
    return literal(database, given) if given else None


def literal(database: Database, text: str) -> Value:
    """The value of a literal."""
    operand = bind_expression(Scope(database, "", {}, []), parse_constant(text))
    if not isinstance(operand.source, Constant):
        raise QueryError(0, "a constant", text)
    return operand.source.values[0]


def from_message(database: Database, case: dict[str, Any]) -> list[Argument] | None:
    """The argument that an error's message shows, or one of the type it names."""
    used = [int(number) for number in re.findall(r"\$(\d+)", case["query"])]
    if not used:
        return []
    if "no arguments are provided" in case["message"]:
        return []
    shown = re.search(r"with value '(.*)' to a", case["message"])
    of_type = re.search(r"against type '(\w+)'", case["message"])
    if shown:
        text = shown[1]
    elif of_type:
        text = BY_TYPE[of_type[1]]
    else:
        return None
    before: list[Argument] = [None] * used[0]
    return [*before, literal(database, text)]


def from_canonical(database: Database, case: dict[str, Any]) -> list[Argument]:
    """The arguments as they stand in the canonical text, at the places where the query has `$n`."""
    found: dict[int, Argument] = {}
    align(database, parse(case["query"]), parse(case["canonical"]), found)
    return [found.get(index) for index in range(max(found, default=-1) + 1)]


def align(database: Database, query: object, canonical: object, found: dict[int, Argument]) -> None:
    """Walk two trees side by side and note what stands in the place of each argument."""
    if isinstance(query, nodes.Argument):
        if isinstance(canonical, nodes.ListLiteral):
            found[query.index] = [one.value for one in canonical.elements if isinstance(one, nodes.Literal)]
        elif isinstance(canonical, nodes.Literal):
            found[query.index] = canonical.value
    elif isinstance(query, tuple) and isinstance(canonical, tuple):
        for one, two in zip(query, canonical):
            align(database, one, two, found)
    elif dataclasses.is_dataclass(query) and type(query) is type(canonical):
        for field in dataclasses.fields(query):
            align(database, getattr(query, field.name), getattr(canonical, field.name), found)
