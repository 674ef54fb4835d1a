"""Small data sets for tests, in the format of the captured ones."""

from __future__ import annotations

from typing import Any

from queries.captured import argument
from queries.data import Database, load
from queries.evaluate import run


def column(text: str) -> dict[str, Any]:
    """A column from `name: kind? [collection] [-> target]`; `?` is nullable, `#` has a full-text index."""
    name, description = text.split(": ")
    parts = description.split()
    result: dict[str, Any] = {"name": name, "type": parts[0].rstrip("?#")}
    if "?" in parts[0]:
        result["nullable"] = True
    if "#" in parts[0]:
        result["index"] = "fulltext"
    for part in parts[1:]:
        if part in ("list", "set", "dictionary"):
            result["collection"] = part
        elif "." in part:
            result["target"], result["origin"] = part.split(".")
        else:
            result["target"] = part
    return result


def table(
    columns: list[str], rows: list[dict[str, Any]], pk: str | None = None, embedded: bool = False
) -> dict[str, Any]:
    """A class with its objects, whose keys count from 0."""
    return {
        "embedded": embedded,
        "pk": pk,
        "columns": [column(text) for text in columns],
        "count": len(rows),
        "rows": [{"key": key, "fields": fields} for key, fields in enumerate(rows)],
    }


def database(**tables: dict[str, Any]) -> Database:
    """A loaded data set."""
    return load({"id": 0, "tables": tables})


def number(value: int) -> dict[str, str]:
    """An int as extended JSON."""
    return {"$numberLong": str(value)}


def double(value: float) -> dict[str, str]:
    """A double as extended JSON."""
    return {"$numberDouble": f"{value:.16e}"}


def link(class_name: str, key: int) -> dict[str, Any]:
    """A link as extended JSON."""
    return {"$link": {"table": class_name, "key": key}}


def keys(data: Database, class_name: str, text: str, *arguments: Any) -> list[int]:
    """What a query finds; arguments are literals."""
    return run(data, class_name, text, [argument(data, one) for one in arguments])
