"""The cases of Python: objstore's package beside the sqlite3 module of the standard library.

    cases.py --dir FOLDER --out results.json [--append] [--n N] [--effort X] [--cases a,b]
             [--peers objstore,sqlite] [--list]

Started by Benchmarks/run. The objects are those of data.c in kind: Person {id primary key, name of 8–16 characters, age
0..99 indexed, score, email of 18–30 characters, 10 % None}; at most 100,000 of them. Every answer is compared with the
rows themselves. Peers take turns within a repetition; a figure is the median of the repetitions, in milliseconds.
--append adds to results.json and results.json.md what is measured here, else they are written from the start.

    python_bulk_insert    create_all / executemany of all rows in one durable transaction, into a new store
    python_get            10,000 objects by primary key in random order, two properties of each
    python_update         10,000 objects by primary key in random order, one property of each set, in one durable
                          transaction
    python_query_objects  the objects with age < 50 as objects, two properties of each
    python_column_read    the scores of all as a NumPy array of doubles
"""

import argparse
import gc
import json
import os
import pathlib
import random
import shutil
import statistics
import string
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from peers import PEERS, Peer, Row

GETS = 10_000
BELOW = 50  # age
LARGEST = 100_000
ENGINES = ("objstore", "sqlite", "lmdb", "rocksdb", "duckdb")  # the keys of results.json


def make_rows(count: int) -> list[Row]:
    """The same rows for the same count."""
    rng = random.Random(20240601)

    def letters(least: int, most: int) -> str:
        return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(least, most)))

    rows = []
    for i in range(count):
        email = None if rng.randrange(10) == 0 else f"{letters(9, 9)}@{letters(8, 20)}"
        rows.append((i, letters(8, 16), rng.randrange(100), rng.randrange(800_000) / 8, email))
    return rows


class Bench:
    """A run: the rows, the peers, and a store of each that is filled already."""

    def __init__(self, folder: pathlib.Path, count: int, effort: float, peers: list[Peer]) -> None:
        self.folder = folder
        self.rows = make_rows(count)
        self.effort = effort
        self.peers = peers
        self._filled: dict[str, Any] = {}

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        for name, store in self._filled.items():
            PEERS[name].close(store)

    def filled(self, peer: Peer) -> Any:
        if peer.name not in self._filled:
            store = self._filled[peer.name] = peer.create(self._place(f"{peer.name}-filled"))
            peer.insert(store, self.rows)
        return self._filled[peer.name]

    def _place(self, name: str) -> pathlib.Path:
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return place

    def measure(self, usual: int, step: Callable[[Peer], Callable[[], None]]) -> dict[str, list[float]]:
        """Milliseconds of step(peer)'s result, which is what is timed: one figure for each peer and repetition."""
        figures: dict[str, list[float]] = {peer.name: [] for peer in self.peers}
        for _ in range(max(1, round(usual * self.effort))):
            for peer in self.peers:
                timed = step(peer)
                gc.collect()
                begin = time.perf_counter()
                timed()
                figures[peer.name].append((time.perf_counter() - begin) * 1000)
        return figures


def check(what: str, peer: Peer, found: object, expected: object) -> None:
    if found != expected:
        raise SystemExit(f"bench: {what}, {peer.name}: {found!r} instead of {expected!r}")


def bulk_insert(bench: Bench) -> dict[str, list[float]]:
    figures: dict[str, list[float]] = {peer.name: [] for peer in bench.peers}
    expected = (len(bench.rows), sum(r[2] for r in bench.rows), sum(r[3] for r in bench.rows))
    for _ in range(max(1, round(5 * bench.effort))):
        for peer in bench.peers:
            store = peer.create(bench._place(f"{peer.name}-insert"))
            gc.collect()
            begin = time.perf_counter()
            peer.insert(store, bench.rows)
            figures[peer.name].append((time.perf_counter() - begin) * 1000)
            check("python_bulk_insert", peer, peer.sums(store), expected)
            peer.close(store)
    return figures


def get(bench: Bench) -> dict[str, list[float]]:
    ids = random.Random(1).sample(range(len(bench.rows)), min(GETS, len(bench.rows)))
    expected = sum(bench.rows[i][2] + len(bench.rows[i][1]) for i in ids)

    def step(peer: Peer) -> Callable[[], None]:
        store = bench.filled(peer)
        return lambda: check("python_get", peer, peer.get(store, ids), expected)

    return bench.measure(9, step)


def update(bench: Bench) -> dict[str, list[float]]:
    order = random.Random(2)
    ids = order.sample(range(len(bench.rows)), min(GETS, len(bench.rows)))
    scores = [(i, order.randrange(800_000) / 8) for i in ids]
    before = [(i, bench.rows[i][3]) for i in ids]
    total = sum(r[3] for r in bench.rows)
    expected = total - sum(score for _, score in before) + sum(score for _, score in scores)

    def step(peer: Peer) -> Callable[[], None]:
        store = bench.filled(peer)
        peer.update(store, before)  # as the other cases want it
        return lambda: peer.update(store, scores)

    figures = bench.measure(9, step)
    for peer in bench.peers:
        check("python_update", peer, peer.sums(bench.filled(peer))[2], expected)
        peer.update(bench.filled(peer), before)
        check("python_update", peer, peer.sums(bench.filled(peer))[2], total)
    return figures


def query_objects(bench: Bench) -> dict[str, list[float]]:
    expected = sum(r[2] + len(r[1]) for r in bench.rows if r[2] < BELOW)

    def step(peer: Peer) -> Callable[[], None]:
        store = bench.filled(peer)
        return lambda: check("python_query_objects", peer, peer.query(store, BELOW), expected)

    return bench.measure(7, step)


def column_read(bench: Bench) -> dict[str, list[float]]:
    import numpy

    expected = numpy.array([r[3] for r in bench.rows])
    arrays: dict[str, Any] = {}

    def step(peer: Peer) -> Callable[[], None]:
        store = bench.filled(peer)

        def timed() -> None:
            arrays[peer.name] = peer.column(store)

        return timed

    figures = bench.measure(15, step)
    for peer in bench.peers:
        check("python_column_read", peer, numpy.array_equal(arrays[peer.name], expected), True)
    return figures


CASES = {
    "python_bulk_insert": bulk_insert,
    "python_get": get,
    "python_update": update,
    "python_query_objects": query_objects,
    "python_column_read": column_read,
}


def result(case: str, count: int, figures: dict[str, list[float]]) -> dict[str, Any]:
    """As report.c writes it."""
    row: dict[str, Any] = {"case": case, "n": count, "unit": "ms", "better": "lower", "floor": None}
    row |= {engine: round(statistics.median(figures[engine]), 5) if figures.get(engine) else None for engine in ENGINES}
    row |= {f"{engine}_over_floor": None for engine in ENGINES}
    for other in ENGINES[1:]:
        pairs = list(zip(figures.get("objstore", []), figures.get(other, [])))
        row[f"objstore_over_{other}"] = round(statistics.median(a / b for a, b in pairs), 5) if pairs else None
    return row


def table(rows: list[dict[str, Any]], peers: list[Peer]) -> str:
    names = [peer.name for peer in peers]
    versions = " · ".join(f"{peer.name} {peer.version()}" for peer in peers)
    lines = [
        f"Python {sys.version.split()[0]}, N = {rows[0]['n']:,} · {versions}\n",
        f"| case | unit | {' | '.join(names)} | objstore/sqlite |",
        "|---|---|" + "---:|" * (len(names) + 1),
    ]
    for row in rows:
        ratio = row["objstore_over_sqlite"]
        figures = " | ".join(f"{row[name]:.4g}" for name in names)
        lines.append(
            f"| {row['case']} | {row['unit']} | {figures} | {'–' if ratio is None else format(ratio, '.3g')} |"
        )
    return "\n".join(lines) + "\n"


def refuse_memory_file_system(folder: pathlib.Path) -> None:
    kind = subprocess.run(
        ["stat", "-f", "-c", "%T", folder], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    if kind in ("tmpfs", "ramfs"):
        raise SystemExit(f"bench: {folder} is on {kind}: a sync costs nothing there")


def chosen(what: str, given: str | None, known: "list[str]") -> list[str]:
    names = known if given is None else given.split(",")
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"bench: no {what} '{unknown[0]}' in Python; there are {', '.join(known)}")
    return names


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("build/bench/data"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results.json"))
    parser.add_argument("--append", action="store_true")
    parser.add_argument("--n", type=float, default=LARGEST)
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--cases")
    parser.add_argument("--peers")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(CASES))
        return
    cases = chosen("case", options.cases, list(CASES))
    peers = [PEERS[name] for name in chosen("peer", options.peers, list(PEERS))]
    folder = options.dir / "python"
    folder.mkdir(parents=True, exist_ok=True)
    refuse_memory_file_system(folder)
    rows = []
    try:
        with Bench(folder, min(int(options.n), LARGEST), options.effort, peers) as bench:
            for case in cases:
                rows.append(result(case, len(bench.rows), CASES[case](bench)))
                figures = "  ".join(f"{peer.name} {rows[-1][peer.name]:.4g}" for peer in peers)
                print(f"{case:<22} {'ms':<10}  {figures}", file=sys.stderr)
    finally:
        shutil.rmtree(folder)
    before = json.loads(options.out.read_text(encoding="utf-8")) if options.append else []
    text = "[\n" + ",\n".join(map(json.dumps, before + rows)) + "\n]\n"
    temporary = options.out.with_name(options.out.name + ".new")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, options.out)
    with open(f"{options.out}.md", "a" if options.append else "w", encoding="utf-8") as out:
        out.write(("\n" if options.append else "") + table(rows, peers))


if __name__ == "__main__":
    main()
