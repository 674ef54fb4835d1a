"""Shows the largest cities of a filter while other processes change them, and follows by change sets alone.

    live.py STORE [CONDITION] [--count N] [--for SECONDS] [--until-idle SECONDS] [-- WRITER…]

    live.py build/demo/atlas.objstore 'population > 1000000' --count 20

On a terminal a table that moves: what came (+), moved (↑ ↓) or was changed (*) is marked for a moment. Elsewhere lines:
the table as it is first, after the first change set, the second, the fourth, the eighth …, and in the end. q, Ctrl-C or
SIGTERM ends it. Now and then, and in the end, its copy is compared with a fresh query: exit status 1 if they differ.

WRITER is a command that it starts beside itself, and with which it ends. Where that prints the version and the time of
each commit, as stir.py does, it is known how long a change was under way.
"""

import argparse
import os
import selectors
import signal
import statistics
import subprocess
import sys
import termios
import time
import tty
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from classes import MODELS, City
from screen import MARKED, Row, Screen, screen

import objstore
from objstore import Changes, Frozen, Results, Store, desc

BETWEEN = 0.05  # seconds between two tables on a terminal
CHECKED = 16  # each sixteenth change set is compared with a fresh query
KNOWN = 1000  # delays of which the median is told

Question = Callable[[Store | Frozen], Results[City]]


def row_of(city: City, mark: str = "", now: float = 0.0) -> Row:
    return Row(city.geonameid, city.name, city.country.iso if city.country else "", city.population, mark, now)


def follow(rows: list[Row], change: Changes[City]) -> None:
    """What a change set does to a list: first take out, then put in, then draw anew."""
    now = time.monotonic()
    for at in reversed(change.deletions):  # also what moves, from the greatest position before
        del rows[at]
    moved = {after: (city, before) for (before, after), city in zip(change.moves, change.moved)}
    come = iter(change.inserted)
    for at in change.insertions:  # also what has moved, from the least position after
        city, before = moved[at] if at in moved else (next(come), None)
        mark = "+" if before is None else "↑" if at < before else "↓"
        rows.insert(at, row_of(city, mark, now))
    for at, city in zip(change.modifications_after, change.modified):
        rows[at] = row_of(city, "*", now)


class Copy:
    """The answer to a question as its change sets tell it."""

    def __init__(self, ask: Question) -> None:
        self.rows: list[Row] = []
        self.calls = self.sets = self.deleted = self.inserted = self.moved = self.modified = 0
        self.version = 0
        self.told_at = time.monotonic()
        self.checks = 0
        self.difference = ""  # the first that was found
        self.delays = Delays()
        self._ask = ask

    def told(self, change: Changes[City]) -> None:
        self.delays.told(change.to_version, time.monotonic_ns())
        self.calls += 1
        self.version, self.told_at = change.to_version, time.monotonic()
        if change.is_initial:  # where the copy begins
            self.rows = [row_of(city) for city in self._ask(change.after)]
            return
        follow(self.rows, change)
        self.sets += 1
        self.deleted += change.deletion_count
        self.inserted += change.insertion_count
        self.moved += change.move_count
        self.modified += change.modification_count
        if self.sets % CHECKED == 0:
            self.check(change.after)

    def check(self, fresh: Frozen) -> None:
        """Is this what the question finds in that version?"""
        mine = [(row.key, row.name, row.country, row.population) for row in self.rows]
        found = [(row.key, row.name, row.country, row.population) for row in map(row_of, self._ask(fresh))]
        self.checks += 1
        if mine != found and not self.difference:
            self.difference = f"version {fresh.version()}: the copy has {mine}, a fresh query finds {found}"

    def finish(self, store: Store) -> None:
        """Checks it against the newest version: one of which it has been told all."""
        while True:
            before = self.calls
            with store.freeze() as newest:
                store.deliver()
                if self.calls == before:
                    self.check(newest)
                    return

    def status(self) -> list[str]:
        lines = [
            f"version {self.version}",
            f"change sets {self.sets}: {self.deleted} out, {self.inserted} in, {self.moved} moved, "
            f"{self.modified} changed",
            *self.delays.status(),
        ]
        if self.difference:
            lines.append("A FRESH QUERY FINDS SOMETHING ELSE")
        elif self.checks:
            lines.append(f"fresh queries that agree: {self.checks}")
        return lines


class Delays:
    """How long changes are under way: from the beginning of a commit, of which the writer tells, to the change set."""

    def __init__(self) -> None:
        self.is_known = False  # there is a writer that tells
        self._committed: dict[int, int] = {}
        self._told: dict[int, int] = {}
        self._microseconds: deque[float] = deque(maxlen=KNOWN)

    def committed(self, version: int, at: int) -> None:
        self._enter(self._committed, version, at)

    def told(self, version: int, at: int) -> None:
        if self.is_known:
            self._enter(self._told, version, at)

    def _enter(self, moments: dict[int, int], version: int, at: int) -> None:
        moments[version] = at
        if version in self._committed and version in self._told:
            self._microseconds.append((self._told[version] - self._committed[version]) / 1000)
            for each in (self._committed, self._told):
                for old in [v for v in each if v <= version]:
                    del each[old]

    def status(self) -> list[str]:
        if not self._microseconds:
            return []
        last, ordered = self._microseconds[-1], sorted(self._microseconds)
        greatest = ordered[(len(ordered) * 99 - 1) // 100]
        return [
            f"told {last:.0f} µs after the commit began, median {statistics.median(ordered):.0f}, p99 {greatest:.0f}"
        ]


@contextmanager
def interruptions() -> Iterator[int]:
    """A descriptor that becomes readable at SIGINT and SIGTERM, which have no other effect."""
    readable, writable = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.set_wakeup_fd(writable)
    try:
        yield readable
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(readable)
        os.close(writable)


@contextmanager
def single_keys() -> Iterator[int]:
    """The terminal hands over each key at once, and does not show it."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        yield terminal
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The writer, until the end of the block."""
    # Not in the foreground of the terminal: Ctrl-C is for this program, which ends it.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.terminate()


class WriterFailed(Exception):
    """The writer ended by itself, and badly."""


class Program:
    """Waits for whatever comes, until the end."""

    def __init__(self, copy: Copy, shown: Screen, options: argparse.Namespace) -> None:
        self._copy = copy
        self._shown = shown
        self._options = options
        self._began = time.monotonic()
        self._drawn_at = self._began
        self._drawn = -1  # change sets
        self._writer: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def run(self, store: Store) -> None:
        with ExitStack() as stack:
            due = stack.enter_context(selectors.DefaultSelector())
            due.register(stack.enter_context(interruptions()), selectors.EVENT_READ, lambda _: False)
            due.register(store.notify_fd, selectors.EVENT_READ, lambda _: self._deliver(store))
            if self._shown.is_live and sys.stdin.isatty():
                keys = stack.enter_context(single_keys())
                due.register(keys, selectors.EVENT_READ, lambda fd: os.read(fd, 100).lower() not in (b"q", b""))
            if self._options.writer:
                self._copy.delays.is_known = True
                self._writer = stack.enter_context(started(self._options.writer))
                assert self._writer.stdout is not None
                due.register(self._writer.stdout, selectors.EVENT_READ, lambda pipe: self._listen(pipe.fileno()))
            goes_on = self._deliver(store)
            while goes_on and time.monotonic() < self._end():
                self._draw_if_due()
                seconds = min(self._end(), self._next_table()) - time.monotonic()
                events = due.select(None if seconds == float("inf") else max(0, seconds))
                goes_on = all(key.data(key.fileobj) for key, _ in events)
            self._copy.finish(store)
        self._draw()

    # What is done where something came; whether it goes on.

    def _deliver(self, store: Store) -> bool:
        store.deliver()
        return True

    def _listen(self, writer: int) -> bool:
        piece = os.read(writer, 65536)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            words = line.split()
            if len(words) == 2 and all(word.isdigit() for word in words):
                self._copy.delays.committed(*map(int, words))
        if not piece and self._writer is not None and (status := self._writer.wait()) != 0:
            raise WriterFailed(f"{self._options.writer[0]} ended with status {status}")
        return piece != b""

    def _end(self) -> float:
        seconds: float = self._options.seconds
        until_idle: float = self._options.until_idle
        return min(self._began + seconds, self._copy.told_at + until_idle)

    def _next_table(self) -> float:
        if not self._shown.is_live:
            return float("inf")
        if self._drawn != self._copy.calls:
            return self._drawn_at + BETWEEN
        fading = [row.marked_at + MARKED for row in self._copy.rows]
        return min((moment for moment in fading if moment > self._drawn_at), default=float("inf"))

    def _draw_if_due(self) -> None:
        if self._shown.is_live:
            if time.monotonic() >= self._next_table():
                self._draw()
        elif self._drawn != self._copy.sets and self._copy.sets & (self._copy.sets - 1) == 0:
            self._draw()

    def _draw(self) -> None:
        largest = f"the {self._options.count} largest cities"
        title = f"{largest} with {self._options.condition}" if self._options.condition else largest
        self._shown.show(title, self._copy.rows, self._copy.status())
        self._drawn = self._copy.calls if self._shown.is_live else self._copy.sets
        self._drawn_at = time.monotonic()


def arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="shows the largest cities of a store while other processes change it",
        usage="live.py STORE [CONDITION] [--count N] [--for SECONDS] [--until-idle SECONDS] [-- WRITER…]",
    )
    parser.add_argument("store", help="the file; where there is a WRITER, it is made if there is none")
    parser.add_argument("condition", nargs="?", default="", help="in the language of queries: population > 1000000")
    parser.add_argument("--count", type=int, default=20, help="cities that are shown (20)")
    parser.add_argument("--for", type=float, dest="seconds", default=float("inf"), help="seconds until it ends")
    parser.add_argument("--until-idle", type=float, default=float("inf"), help="ends when nothing came for so long")
    at = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:at])
    options.writer = given[at + 1 :]
    return options


def main(options: argparse.Namespace) -> int:
    def ask(store: Store | Frozen) -> Results[City]:
        cities = store.objects(City)
        chosen = cities.filter(options.condition) if options.condition else cities
        return chosen.order_by(desc(City.population)).limit(options.count)

    copy = Copy(ask)
    try:
        # The writer's store may be new; the one of others is there, and is not to be made by a slip of the pen.
        with (
            objstore.open(options.store, models=MODELS, mode="read-write" if options.writer else "read-only") as store,
            screen() as shown,
        ):
            with ask(store).observe(copy.told):
                Program(copy, shown, options).run(store)
    except (objstore.Error, OSError, WriterFailed) as error:
        print(f"live.py: {error}", file=sys.stderr)
        return 2
    if copy.difference:
        print(f"live.py: WRONG: {copy.difference}", file=sys.stderr)
    return 1 if copy.difference else 0


if __name__ == "__main__":
    sys.exit(main(arguments(sys.argv[1:])))
