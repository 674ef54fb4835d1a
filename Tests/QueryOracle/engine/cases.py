"""Asks the engine the captured queries, and tells each answer that differs."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from queries.captured import add_names, arguments_of
from queries.data import Database, load
from queries.errors import QueryError
from queries.schema import public_name

from .asking import Asker, pack_arguments, same_answers
from .differences import DIFFERENCES, SYNTAX
from .library import NOT_SUPPORTED, EngineError, Library, text
from .loading import Store, renamed
from .reasons import INVALID_QUERY, NO_SUCH_CLASS, NO_SUCH_PROPERTY, REFUSALS, reason

# What a query that can be read is refused for with the same status.
MEANING = ("a constant is compared with a constant", "one value is expected here")


@dataclass
class Report:
    """How many cases agree, and what the others found."""

    agreed: int = 0
    by_dataset: Counter[tuple[int, str]] = field(default_factory=Counter)
    by_test: Counter[tuple[str, str]] = field(default_factory=Counter)
    not_supported: Counter[str] = field(default_factory=Counter)
    explained: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    unasked: Counter[str] = field(default_factory=Counter)

    def enter(self, case: dict[str, Any], how: str) -> None:
        """Count how a case went."""
        self.by_dataset[(case["dataset"], how)] += 1
        self.by_test[(case["test"], how)] += 1


class Cases:
    """The stores of the data sets, each made when it is first asked."""

    def __init__(self, library: Library, document: dict[str, Any]) -> None:
        self.library = library
        self.asker = Asker(library)
        self.datasets = {dataset["id"]: dataset for dataset in document["datasets"]}
        self.databases: dict[int, Database] = {}
        self.stores: dict[int, Store] = {}

    def database(self, number: int) -> Database:
        """The data of a data set."""
        if number not in self.databases:
            self.databases[number] = load(self.datasets[number])
        return self.databases[number]

    def store(self, number: int) -> Store:
        """The store of a data set."""
        if number not in self.stores:
            self.stores[number] = Store(self.library, self.database(number))
        return self.stores[number]

    def run(self, report: Report, case: dict[str, Any]) -> None:
        """Ask one case and compare."""
        database = self.database(case["dataset"])
        add_names(database.schema, case)
        try:
            arguments = arguments_of(database, case)
        except QueryError:
            arguments = None
        if arguments is None:
            report.unasked["its arguments were not recorded"] += 1
            report.enter(case, "unasked")
            return
        store = self.store(case["dataset"])
        self.judge(report, case, store, pack_arguments(store.packer, arguments))

    def judge(self, report: Report, case: dict[str, Any], store: Store, packed: Any) -> None:
        """Ask, then enter what was found."""
        expected = f"error {case['message']}" if "error" in case else str(case["keys"])
        class_name = public_name(case["table"])
        view, class_id = store.view(), store.class_ids[class_name]
        try:
            query = self.asker.parse(view, class_id, text(renamed(store.database, case["query"])), packed)
            keys, wrong = same_answers(self.asker, view, class_id, query)
            self.asker.close(query)
            found = "; ".join([str([store.keys[class_name][key] for key in keys]), *wrong])
        except EngineError as error:
            if error.status == NOT_SUPPORTED:
                report.not_supported[reason(error.message)] += 1
                report.enter(case, "not supported")
                return
            found = f"error {error}"
            if error.status not in REFUSALS:
                found = f"FAILED {error}"
            schema = store.database.schema
            others = error.status == NO_SUCH_PROPERTY and schema.aliases
            if "error" not in case and (others or (error.status == NO_SUCH_CLASS and schema.class_aliases)):
                report.unasked["another name of a property or a class, which the engine's languages know"] += 1
                report.enter(case, "unasked")
                return
        finally:
            store.library.call("view_close", view)
        agrees = found.startswith("error") if "error" in case else found == expected
        self.enter(report, case, expected, found, agrees)

    def enter(self, report: Report, case: dict[str, Any], expected: str, found: str, agrees: bool) -> None:
        """Note an answer."""
        if agrees:
            report.agreed += 1
            report.enter(case, "agree")
            if case["id"] in DIFFERENCES:
                report.stale.append(f"{case['id']}: {case['query']}")
            return
        report.enter(case, "differ")
        line = (
            f"{case['id']} (dataset {case['dataset']}, {case['table']}): {case['query']}  args {case['args']}\n"
            f"    expected {expected[:300]}\n    found    {found[:300]}"
        )
        if case["id"] in DIFFERENCES:
            report.explained.append(f"{line}\n    because  {DIFFERENCES[case['id']]}")
        else:
            report.unexplained.append(line)


def run_syntax(cases: Cases, document: dict[str, Any]) -> tuple[int, list[str]]:
    """Both lists of syntax: what the reader of queries accepts, whatever it is about."""
    store = cases.store(document["cases"][0]["dataset"])
    view, class_id = store.view(), next(iter(store.class_ids.values()))
    arguments = pack_arguments(store.packer, ["a", "b", "c"])
    agreed, wrong = 0, []
    for key, valid in (("syntax_valid", True), ("syntax_invalid", False)):
        for query in document[key]:
            said, accepted = "", True
            try:
                cases.asker.close(cases.asker.parse(view, class_id, text(query), arguments))
            except EngineError as error:
                said = str(error)
                accepted = error.status != INVALID_QUERY or any(part in said for part in MEANING)
            if accepted == valid or query in SYNTAX:
                agreed += 1
            else:
                wrong.append(f"{key}: {query!r} {said}")
    store.library.call("view_close", view)
    return agreed, wrong


def table(counted: Counter[tuple[Any, str]], title: str) -> None:
    """How many cases of each group went how."""
    ways = ("agree", "differ", "not supported", "unasked")
    print(f"\n{title:40}" + "".join(f"{way:>15}" for way in ways))
    for group in sorted({group for group, _ in counted}):
        print(f"{group!s:40}" + "".join(f"{counted[(group, way)]:15}" for way in ways))


def main() -> int:
    """Print the report; 0 where nothing is unexplained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=Path)
    parser.add_argument("--tables", action="store_true", help="also how each data set and each test went")
    options = parser.parse_args()
    document = json.loads(options.document.read_text())
    cases = Cases(Library(), document)
    report = Report()
    for case in document["cases"]:
        cases.run(report, case)
    agreed, wrong = run_syntax(cases, document)
    if options.tables:
        table(report.by_dataset, "data set")
        table(report.by_test, "test")
    print(f"syntax: {agreed} of {agreed + len(wrong)} agree")
    for title, lines in (
        ("syntax that differs", wrong),
        ("explained differences", report.explained),
        ("no longer different", report.stale),
        ("unexplained differences", report.unexplained),
    ):
        if lines:
            print(f"\n{title}: {len(lines)}")
            print("\n".join(lines))
    for title, reasons in (("not supported", report.not_supported), ("not asked", report.unasked)):
        if reasons:
            print(f"\n{title}: {reasons.total()}")
            print("\n".join(f"{count:6} {why}" for why, count in reasons.most_common()))
    print(
        f"\ncases: {report.agreed} of {len(document['cases'])} agree, {report.not_supported.total()} are not supported,"
        f" {len(report.explained)} differ with a reason, {len(report.unexplained)} without,"
        f" {report.unasked.total()} cannot be asked"
    )
    return 1 if wrong or report.unexplained or report.stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
