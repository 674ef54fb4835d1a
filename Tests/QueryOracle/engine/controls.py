"""Injected bugs of queries, each of which the comparison that names it must find; the same seeds pass without it."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection

from .generated import run_generated
from .injected import switch_on, unstripped
from .library import EngineError, Library
from .report import Tally
from .scalars import Wishes, run_rounds

BESIDE_EQUAL = "with_null with_property between text arithmetic object length type compared_with_list".split()
# A control is given up after so many rounds.
ROUNDS = 40


@dataclass(frozen=True)
class Control:
    """A bug, and what the difference that it makes must say."""

    bug: str
    # Found in the line of the comparison: where it was asked, and of the query.
    where: str
    query: str = ""
    # Of properties of the class itself; else of the whole language.
    scalars: bool = True
    objects: int | None = None
    # Forms of comparisons that are left out, so that others are many.
    without: frozenset[str] = frozenset()


CONTROLS = (
    Control("queryBoundTurned", "find|count|first", r"<=|=<|>=|=>|!|<|>|BETWEEN"),
    Control("queryBoundOpen", "with indexes", r">=|=>|BETWEEN|<|>|NOT"),
    Control("queryNullForgotten", "find|count|first"),
    Control("queryNullEqual", "find|count|first", "!=|<>"),
    Control("queryFoldHalf", "find|count|first", r"\[c|LIKE|like"),
    Control("queryStaleDictionary", "^(find|count|first), ", "string", objects=600, without=frozenset(BESIDE_EQUAL)),
    Control("queryEntryMissing", "with indexes, inside a transaction"),
    Control("queryRestUnasked", "find|count|first", "(?i)AND|&&"),
    Control("queryPartWhole", "with indexes", "(?i)AND|&&"),
    Control("queryWalkUnasked", "with indexes", "(?i)SORT"),
    Control("queryZoneNarrow", "find|count|first"),
    Control("queryTargetMissing", "find|count|first", r"\.|link", scalars=False),
    Control("queryAllUnturned", "find|count|first", "(?i)ALL |BETWEEN", scalars=False),
    Control("queryNoneIsAny", "find|count|first", "(?i)NONE", scalars=False),
    Control("queryCutUnsorted", "find|first", "(?i)SORT"),
    Control("queryBestTooFew", "find|first", "(?i)SORT"),
    Control("queryDescentLost", "find|first", r"(?i)DESC"),
    Control("queryOffsetUncounted", "count", r"(?i)OFFSET"),
    Control("queryOldestIsFirst", "first", r"(?i)SORT"),
    Control("queryDistinctLate", "find|first", r"(?i)DISTINCT"),
    Control("queryJoinedBefore", "joined", r"(?i)(LIMIT|OFFSET|DISTINCT).*THEN"),
    Control("querySumOfNulls", "sum of|avg of|min of|max of"),
    Control("queryPrintedBare", "text"),
    Control("queryListSorted", "^(find|count|first), of ", scalars=False),
)


class Caught(Exception):
    """The first difference."""


class Search(Tally):
    """Ends a run at the first difference that a control names; the bug may make others as well."""

    def __init__(self, control: Control) -> None:
        super().__init__()
        self.control = control

    def differ(self, kind: str, told: str) -> None:
        """One is enough."""
        super().differ(kind, told)
        query, where = shown(told)
        if re.search(self.control.where, where) and re.search(self.control.query, query):
            raise Caught(f"{where}; {query[:150]}")


def ask(library: Library, control: Control, seed: int, tally: Tally) -> None:
    """One round."""
    if control.scalars:
        run_rounds(library, seed, 1, tally, Wishes(control.objects, control.without))
    else:
        run_generated(library, seed, 1, 0.0, tally)


def search(control: Control, seed: int, answer: Connection) -> None:
    """Ask with the bug until it is caught: the last seed, and what was told."""
    library, tally = Library(unstripped()), Search(control)
    switch_on(library, control.bug)
    for now in range(seed, seed + ROUNDS):
        try:
            ask(library, control, now, tally)
        except Caught as caught:
            answer.send((now, str(caught)))
            break
        except EngineError as error:
            # Where a store can no longer be changed, another one may show what is asked for.
            tally.differ("an error", f"{error}\n    expected ")
    else:
        answer.send((-1, f"{ROUNDS} rounds, and other differences only: {list(tally.differences)[:3]}"))


def repeat(control: Control, seeds: range, answer: Connection) -> None:
    """Ask the same without a bug."""
    library, tally = Library(unstripped()), Tally()
    for seed in seeds:
        ask(library, control, seed, tally)
    answer.send((tally.queries, tally.lines(0)[0] if tally.differences else ""))


def child(task: Callable[..., None], *arguments: object) -> None:
    """All of a process: what is still open of stores, and threads that the fork left behind, are of no interest."""
    try:
        task(*arguments)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def apart(task: Callable[..., None], *arguments: object) -> tuple[int, str]:
    """What a task says in a process of its own, which may die of the bug."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=child, args=(task, *arguments, sender))
    process.start()
    sender.close()
    try:
        result: tuple[int, str] = receiver.recv()
    except EOFError:
        result = -1, "no answer"
    process.join()
    return result if process.exitcode == 0 else (-1, f"the process ended with {process.exitcode}")


def shown(told: str) -> tuple[str, str]:
    """Query and comparison of a difference."""
    lines = told.splitlines()
    where = next(place for place, line in enumerate(lines) if line.startswith("    expected ")) - 1
    return lines[0], lines[where].strip()


def main() -> int:
    """All controls, two at a time; 0 where each is caught as it must be and the same seeds pass without it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one of the bugs")
    options = parser.parse_args()
    seed: int = options.seed
    controls = [control for control in CONTROLS if options.only in (None, control.bug)]
    failed, begun = 0, os.times()
    reached: dict[object, tuple[Control, int]] = {}
    with ThreadPoolExecutor(2) as pool:
        for control, result in zip(controls, pool.map(lambda one: apart(search, one, seed), controls)):
            last, told = result
            print(f"{'MISSED' if last < 0 else 'caught'} {control.bug}: {told}", flush=True)
            if last < 0:
                failed += 1
                continue
            key = (control.scalars, control.objects, control.without)
            if key not in reached or reached[key][1] < last:
                reached[key] = (control, last)
        # Two at a time, and of each kind of round about as many to both.
        tasks = [(one, range(start, last + 1, 2)) for one, last in reached.values() for start in (seed, seed + 1)]
        for result in pool.map(lambda task: apart(repeat, *task), tasks):
            queries, told = result
            if queries < 0 or told:
                print(f"WITHOUT A BUG: {told}")
                failed += 1
    times = os.times()
    used = sum(times[:4]) - sum(begun[:4])
    print(f"{len(controls)} controls, {failed} failed, seed {seed}; {used:.1f} s of CPU")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
