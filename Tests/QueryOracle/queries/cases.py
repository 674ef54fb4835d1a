"""Runs the captured queries and both lists of syntax, and tells each difference."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .captured import add_names, arguments_of
from .data import Database, load
from .differences import DIFFERENCES, SYNTAX
from .errors import QueryError
from .evaluate import run
from .schema import public_name
from .syntax import parse


@dataclass
class Report:
    """How many cases agree, and what the others found."""

    agreed: int = 0
    explained: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    unknown_arguments: list[str] = field(default_factory=list)


def outcome(database: Database, case: dict[str, Any], arguments: list[Any]) -> str:
    """What the oracle finds: keys, or that it refuses the query."""
    try:
        found = run(database, public_name(case["table"]), case["query"], arguments)
    except QueryError as error:
        return f"error {error}"
    return str(found)


def run_cases(document: dict[str, Any]) -> Report:
    """All cases of the document."""
    report = Report()
    databases: dict[int, Database] = {}
    datasets = {dataset["id"]: dataset for dataset in document["datasets"]}
    for case in document["cases"]:
        if case["dataset"] not in databases:
            databases[case["dataset"]] = load(datasets[case["dataset"]])
        database = databases[case["dataset"]]
        add_names(database.schema, case)
        judge(report, database, case)
    return report


def judge(report: Report, database: Database, case: dict[str, Any]) -> None:
    """Compare one case; an error must be an error, keys must be the same in the same order."""
    try:
        arguments = arguments_of(database, case)
    except QueryError as error:
        report.unexplained.append(f"{case['id']}: arguments of {case['query']}: {error}")
        return
    if arguments is None:
        report.unknown_arguments.append(f"{case['id']}: {case['query']}")
        return
    found = outcome(database, case, arguments)
    expected = f"error {case['message']}" if "error" in case else str(case["keys"])
    agrees = found.startswith("error") if "error" in case else found == expected
    if agrees:
        report.agreed += 1
        if case["id"] in DIFFERENCES:
            report.stale.append(f"{case['id']}: {case['query']}")
        return
    line = (
        f"{case['id']} (dataset {case['dataset']}, {case['table']}): {case['query']}  args {case['args']}\n"
        f"    expected {expected[:300]}\n    found    {found[:300]}"
    )
    if case["id"] in DIFFERENCES:
        report.explained.append(f"{line}\n    because  {DIFFERENCES[case['id']]}")
    else:
        report.unexplained.append(line)


def run_syntax(document: dict[str, Any]) -> tuple[int, list[str]]:
    """Both lists of syntax: how many agree, and what does not."""
    agreed, wrong = 0, []
    for key, valid in (("syntax_valid", True), ("syntax_invalid", False)):
        for text in document[key]:
            try:
                parse(text)
                accepted, error = True, ""
            except QueryError as found:
                accepted, error = False, str(found)
            if accepted == valid or text in SYNTAX:
                agreed += 1
            else:
                wrong.append(f"{key}: {text} {error}")
    return agreed, wrong


def main() -> int:
    """Print the report; 0 where nothing is unexplained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=Path)
    document = json.loads(parser.parse_args().document.read_text())
    agreed, wrong = run_syntax(document)
    report = run_cases(document)
    print(f"syntax: {agreed} of {agreed + len(wrong)} agree")
    for title, lines in (
        ("syntax that differs", wrong),
        ("arguments unknown", report.unknown_arguments),
        ("explained differences", report.explained),
        ("no longer different", report.stale),
        ("unexplained differences", report.unexplained),
    ):
        if lines:
            print(f"\n{title}: {len(lines)}")
            print("\n".join(lines))
    print(
        f"\ncases: {report.agreed} of {len(document['cases'])} agree, {len(report.explained)} differ with a reason,"
        f" {len(report.unexplained)} without, {len(report.unknown_arguments)} have unknown arguments"
    )
    return 1 if wrong or report.unexplained or report.stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
