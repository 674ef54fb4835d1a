"""Controls: a wrong answer, wherever it comes from, must be told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from queries.tests.build import number, table

from engine import mutations, scalars, sums
from engine.asking import Asker
from engine.cases import Cases, Report
from engine.generated import run_generated
from engine.library import ROOT, Handle, Library
from engine.masks import Atom, World
from engine.report import Tally
from engine.scalars import Wishes, run_rounds
from engine.variants import STORES, VERSIONS

PATH = Path(os.environ.get("OBJSTORE_LIBRARY") or ROOT / "build/lib/libobjstore.so")
pytestmark = pytest.mark.skipif(not PATH.exists(), reason="needs the library: make lib")


@pytest.fixture(scope="module")
def library() -> Library:
    """The engine."""
    return Library()


def document(*cases: dict[str, Any]) -> dict[str, Any]:
    """Three objects, and cases about them."""
    rows = [{"age": number(age), "name": name} for age, name in ((1, "a"), (2, "b"), (3, None))]
    people = table(["age: int", "name: string?"], rows)
    common = {"table": "Person", "dataset": 0, "args": None, "test": "control"}
    return {
        "datasets": [{"id": 0, "tables": {"Person": people}}],
        "cases": [{"id": -1 - place, **common, **case} for place, case in enumerate(cases)],
    }


def run_cases(library: Library, *cases: dict[str, Any]) -> Report:
    """The report about cases."""
    report, read = Report(), document(*cases)
    asked = Cases(library, read)
    for case in read["cases"]:
        asked.run(report, case)
    return report


def test_right_answers_agree(library: Library) -> None:
    """Keys in order, an error, and what is not supported, which agrees with nothing."""
    report = run_cases(
        library,
        {"query": "age > 1", "keys": [1, 2]},
        {"query": "age > 0 SORT(age DESC)", "keys": [2, 1, 0]},
        {"query": "age > 'x'", "error": "wrong", "message": "types"},
    )
    assert (report.agreed, report.unexplained) == (3, [])


@pytest.mark.parametrize(
    "case",
    [
        {"query": "age > 1", "keys": [1]},
        {"query": "age > 1", "keys": [2, 1]},
        {"query": "age > 1", "keys": []},
        {"query": "age > 1", "error": "wrong", "message": "no error"},
        {"query": "age > 'x'", "keys": [1]},
    ],
)
def test_a_wrong_answer_is_told(library: Library, case: dict[str, Any]) -> None:
    """Fewer keys, another order, none, no error, an error."""
    report = run_cases(library, case)
    assert report.agreed == 0
    assert len(report.unexplained) == 1
    assert str(case["query"]) in report.unexplained[0]


def light(library: Library) -> Tally:
    """A round none of whose queries is asked in more than one version of one store."""
    tally = Tally()
    run_rounds(library, 5, 60, tally, Wishes(30, frozenset({"text"}), all_ways=0.0))
    return tally


@pytest.mark.parametrize("method", [None, "keys", "count", "first"])
def test_asking_once(library: Library, monkeypatch: pytest.MonkeyPatch, method: str | None) -> None:
    """The list, the count and the first object are compared there, too, in each version of each store."""
    if method is not None:
        right = getattr(Asker, method)

        def wrong(asker: Asker, query: Handle, view: Handle) -> Any:
            found = right(asker, query, view)
            return found[1:] if method == "keys" else (found or 0) + 1

        monkeypatch.setattr(Asker, method, wrong)
    told = [words for found in light(library).differences.values() for words in found]
    assert bool(told) == (method is not None)
    if method is not None:
        places = {(store, version) for store in STORES for version in VERSIONS}
        assert {place for place in places if any(f"{place[0]}, {place[1]}" in words for words in told)} == places


def rounds(library: Library) -> Tally:
    """A round of queries about plain properties."""
    tally = Tally()
    run_rounds(library, 5, 60, tally, Wishes(30, frozenset({"text"})))
    return tally


def test_rounds_agree(library: Library) -> None:
    """Without a fault there is no difference."""
    tally = rounds(library)
    assert tally.differences == {}
    assert tally.asked > 1000


def test_a_wrong_mask_is_told(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer of the oracle that lacks one object: the query that is told is a single comparison."""
    right = World.mask

    def wrong(world: World, atom: Atom) -> int:
        return right(world, atom) ^ (1 if "<" in atom.form and world.keys else 0)

    monkeypatch.setattr(World, "mask", wrong)
    # What checks the masks would find it first.
    monkeypatch.setattr(scalars, "FEW", -1)
    tally = rounds(library)
    assert tally.differences
    assert all("<" in kind for kind in tally.differences if not kind.startswith("joined"))


@pytest.mark.parametrize("method", ["keys", "count", "first", "text"])
def test_a_wrong_answer_in_one_way_is_told(library: Library, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """The list, the count, the first object and the text are each compared."""
    right = getattr(Asker, method)

    def wrong(asker: Asker, query: Handle, *view: Handle) -> Any:
        found = right(asker, query, *view)
        if method == "text":
            return found.replace("==", "!=")
        if method == "keys":
            return found[1:]
        return (found or 0) + 1

    monkeypatch.setattr(Asker, method, wrong)
    assert rounds(library).differences


def test_a_wrong_sum_is_told(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums, averages and extremes are compared."""
    monkeypatch.setattr(sums, "asked", lambda asker, query, view, property_id, name: 5)
    told = [words for found in rounds(library).differences.values() for words in found]
    assert told
    assert all(any(f"{name} of" in words for name in sums.NAMES) for words in told)


@pytest.mark.parametrize("left_out", ["query_set", "query_delete"])
def test_changes_that_do_not_happen_are_told(library: Library, monkeypatch: pytest.MonkeyPatch, left_out: str) -> None:
    """What is changed by a query is counted, and asked for afterwards."""
    right = Library.call

    def wrong(library: Library, name: str, *arguments: object) -> None:
        if name != left_out:
            right(library, name, *arguments)

    monkeypatch.setattr(Library, "call", wrong)
    told = [words for found in rounds(library).differences.values() for words in found]
    assert told
    assert all("of what it finds" in words for words in told)


def test_the_check_of_the_masks_can_fail(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Now and then the oracle answers a whole query; that would not agree with a wrong mask."""
    right = World.mask
    monkeypatch.setattr(scalars, "CHECKED", 0.1)
    monkeypatch.setattr(World, "mask", lambda world, atom: world.all & ~right(world, atom))
    with pytest.raises(AssertionError):
        rounds(library)


def test_each_version_is_asked(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deletions that do not happen are told where they should have, and only there."""
    monkeypatch.setattr(mutations, "delete", lambda store, transaction, links: None)
    told = [words for found in rounds(library).differences.values() for words in found]
    assert any("after deletions" in words for words in told)
    assert not any("as loaded" in words for words in told)


def test_generated_queries_agree(library: Library) -> None:
    """Queries of the whole language; those of the last kinds are counted, and never agree."""
    tally = Tally()
    run_generated(library, 2, 100, 0.2, tally)
    assert tally.refused > 5
    assert tally.asked > 100
