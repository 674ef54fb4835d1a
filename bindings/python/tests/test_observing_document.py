"""The program of docs/observing.md that follows a list, and demo/live.py, which does the same on a terminal."""

import errno
import os
import pathlib
import pty
import random
import signal
import subprocess
import sys
import threading

import pytest

import objstore
from objstore import desc, field

ROOT = pathlib.Path(__file__).parents[3]
PATIENCE = 60  # seconds, then the programs are killed
BEHIND = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)), PYTHONDONTWRITEBYTECODE="1")


class City(objstore.Model):
    name: str = field(primary_key=True)
    population: int = 0


def largest(store: objstore.Store) -> list[str]:
    cities = store.objects(City).where(City.population > 1_000_000).order_by(desc(City.population)).limit(5)
    return [f"{city.population:12,} {city.name}" for city in cities]


def program_in(document: pathlib.Path, heading: str) -> str:
    if not document.exists():
        pytest.skip("the documents are not here")
    section = document.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return section.partition("```python\n")[2].partition("```")[0]


def test_the_worker_of_the_document(tmp_path, caplog):
    """As it is there: it calls handlers, logs what they raise, and ends with the store."""
    told, comes = [], threading.Condition()

    def tell(change):
        with comes:
            told.append((threading.current_thread().name, change.insertion_count))
            comes.notify()
        if len(told) == 2:
            raise ValueError("mine")

    with objstore.open(tmp_path / "cities.objstore", models=[City]) as store:
        names = {"store": store, "objstore": objstore}
        exec(program_in(ROOT / "docs/observing.md", "On which thread"), names)
        worker = names["worker"]
        token = store.observe(City, tell, initial=False)
        for number in range(3):
            with store.write():
                store.add(City(name=f"city {number}"))
            with comes:
                assert comes.wait_for(lambda n=number: len(told) > n, PATIENCE)
        assert told == [(worker.name, 1)] * 3 and worker is not threading.current_thread()
        assert worker.is_alive()
        store.close()
        worker.join(PATIENCE)
        assert not worker.is_alive() and token is not None
    [logged] = caplog.records
    assert logged.exc_info[0] is ValueError and "cities.objstore failed" in logged.getMessage()


def test_the_program_of_the_document(tmp_path):
    """As it is there, in a process of its own. After each commit it shows what a query finds."""
    (tmp_path / "follow.py").write_text(program_in(ROOT / "docs/observing.md", "A view that follows"))
    chance = random.Random(1)
    with objstore.open(tmp_path / "cities.objstore", models=[City]) as store:
        command = [sys.executable, "follow.py"]
        # Which a process in the background ignores, and so would what it begins.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        with subprocess.Popen(command, cwd=tmp_path, env=BEHIND, stdout=subprocess.PIPE, text=True) as program:
            signal.signal(signal.SIGINT, before)
            watchdog = threading.Timer(PATIENCE, program.kill)
            watchdog.start()

            def shown() -> list[str]:
                lines = []
                while line := program.stdout.readline().rstrip("\n"):
                    lines.append(line)
                assert program.poll() is None
                return lines

            try:
                assert shown() == largest(store) == []
                seen = set()
                for _ in range(60):
                    before = largest(store)
                    with store.write():
                        for _ in range(chance.randrange(1, 8)):
                            name, population = f"City {chance.randrange(12)}", chance.randrange(10**5, 10**7)
                            if (city := store.get(City, name)) is None:
                                store.add(City(name=name, population=population))
                            elif chance.random() < 0.2:
                                store.delete(city)
                            else:
                                city.population = population
                    if largest(store) != before:
                        assert shown() == largest(store)
                        seen.add(len(largest(store)))
                assert len(seen) > 2
                program.send_signal(signal.SIGINT)
                assert program.wait() == -signal.SIGINT
            finally:
                watchdog.cancel()
                program.kill()


def test_the_table_of_the_document(tmp_path):
    """As it is there: rows follow, and it says what was another value."""
    (tmp_path / "sales.py").write_text(program_in(ROOT / "docs/observing.md", "Tables and plain values"))
    ended = subprocess.run(
        [sys.executable, "sales.py"], cwd=tmp_path, env=BEHIND, capture_output=True, encoding="utf-8", timeout=PATIENCE
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [
        "",
        "('Bern', 7)",
        "('Bern', 7) ('Genf', 5)",
        "('total',) of ('Genf', 5) before",
        "('Bern', 7) ('Genf', 6)",
        "('Genf', 10) ('Bern', 7)",
    ]


def command_of_live(tmp_path: pathlib.Path, *writer: str, code: str = "") -> list[str]:
    """demo/live.py, after `code`, with a writer beside it."""
    demo, file = ROOT / "demo", str(tmp_path / "live.objstore")
    if not demo.exists():
        pytest.skip("the demo is not here")
    begin = f"import sys; sys.path.insert(0, {str(demo)!r}); import live\n{code}\n"
    return [
        *(sys.executable, "-X", "utf8", "-c", f"{begin}sys.exit(live.main(live.arguments(sys.argv[1:])))"),
        *(file, "population > 50000", "--count", "9"),
        *("--", sys.executable, str(demo / "stir.py"), file, "--cities", "300", "--batch", "20", *writer),
    ]


def run_live(tmp_path: pathlib.Path, code: str = "") -> "subprocess.CompletedProcess[str]":
    command = command_of_live(tmp_path, "--commits", "150", code=code)
    return subprocess.run(command, env=BEHIND, capture_output=True, encoding="utf-8", timeout=PATIENCE)


def test_the_program_of_the_demo(tmp_path):
    """It ends with its writer, and its copy equals a fresh query."""
    ended = run_live(tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    tables = ended.stdout.splitlines()
    assert tables[0].startswith("the 9 largest cities with population > 50000: version ")
    last = next(i for i in reversed(range(len(tables))) if tables[i].startswith("version "))
    assert "fresh queries that agree:" in tables[last] and "µs after the commit began" in tables[last]
    with objstore.open(tmp_path / "live.objstore", mode="read-only") as store:
        found = store.objects(store.models["City"]).filter("SORT(population DESC) LIMIT(9)")
        assert [line.split()[-1] for line in tables[last + 1 :]] == [f"{city.population:,}" for city in found]


def test_the_table_on_a_terminal(tmp_path):
    """It is drawn again and again, and q ends it, and its writer, which would go on for ever."""
    pytest.importorskip("rich")
    terminal, its_end = pty.openpty()
    command = command_of_live(tmp_path)
    with subprocess.Popen(command, env=BEHIND | {"TERM": "xterm"}, stdin=its_end, stdout=its_end) as program:
        os.close(its_end)
        watchdog = threading.Timer(PATIENCE, program.kill)
        watchdog.start()
        shown, is_ending = b"", False
        while piece := read_of(terminal):
            shown += piece
            if not is_ending and shown.count(b"fresh queries that agree") > 3:
                is_ending = True
                os.write(terminal, b"q")
        assert program.wait() == 0
        watchdog.cancel()
    os.close(terminal)
    assert b"the 9 largest cities with population > 50000" in shown
    assert shown.rstrip().endswith(b"\x1b[?25h")  # the cursor is there again
    with objstore.open(tmp_path / "live.objstore", mode="read-only") as store:
        assert store.statistics().processes == 1


def read_of(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError as error:
        assert error.errno == errno.EIO  # nobody has its other end open any more
        return b""


@pytest.mark.parametrize(
    "code",
    [
        "follow, live.follow = live.follow, lambda rows, change: change.move_count or follow(rows, change)",
        "follow, live.follow = live.follow, lambda rows, change: (follow(rows, change), rows.reverse())",
        "told, live.Copy.told = live.Copy.told, lambda copy, change: copy.sets == 40 or told(copy, change)",
    ],
    ids=["moves left out", "another order", "the last ones left out"],
)
def test_it_notices_what_is_wrong(tmp_path, code):
    """Controls: a copy that goes wrong is found, and how."""
    ended = run_live(tmp_path, code=code)
    assert ended.returncode == 1
    assert "live.py: WRONG: version " in ended.stderr and "a fresh query finds" in ended.stderr
