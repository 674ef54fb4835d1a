"""The programs that watch the store from processes of their own: bindings/c/observe.c and live.py."""

import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

PATIENCE = 60  # seconds for a line that must come


class Observer:
    """Runs the program, shows what it prints, and adds up what it got. `with Observer(…) as observer:`"""

    def __init__(self, program: pathlib.Path, store: pathlib.Path) -> None:
        self.lines: list[str] = []
        self.is_shown = True
        self.sets = self.deleted = self.inserted = self.modified = 0
        self._rest = b""
        self._process = subprocess.Popen([program, store, "City", "name"], stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._output = self._process.stdout.fileno()
        try:
            self._wait_for_line("watching from version")
        except BaseException:
            self._kill()
            raise

    def __enter__(self) -> "Observer":
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def look(self) -> None:
        """Shows the lines that are there."""
        while self._read(0):
            pass

    def wait_for(self, *, inserted: int = 0, modified: int = 0) -> float:
        """Waits until it got that many in all; when the line came."""
        deadline = time.monotonic() + PATIENCE
        while self.inserted < inserted or self.modified < modified:
            self._read_before(deadline, f"{self.inserted:,} inserted and {self.modified:,} modified so far")
        return time.perf_counter()

    def stop(self) -> str:
        """Interrupts it; its last line."""
        self._process.send_signal(signal.SIGINT)
        last = self._wait_for_line("in all:")
        if self._process.wait(PATIENCE) != 0:
            raise RuntimeError(f"the C program ended with {self._process.returncode}")
        return last

    def _kill(self) -> None:
        if self.is_running:
            self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _wait_for_line(self, start: str) -> str:
        deadline = time.monotonic() + PATIENCE
        while not (self.lines and self.lines[-1].startswith(start)):
            self._read_before(deadline, f"no line '{start} …'")
        return self.lines[-1]

    def _read_before(self, deadline: float, problem: str) -> None:
        if not self._read(max(0.0, deadline - time.monotonic())):
            raise RuntimeError(f"the C program that observes said nothing for {PATIENCE} seconds: {problem}")

    def _read(self, timeout: float) -> bool:
        """Takes what it has printed; was there anything?"""
        if not select.select([self._output], [], [], timeout)[0]:
            return False
        piece = os.read(self._output, 65536)
        if not piece:
            raise RuntimeError(f"the C program that observes ended with {self._process.wait()}")
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._take(line.decode())
        return True

    def _take(self, line: str) -> None:
        self.lines.append(line)
        if self.is_shown:
            print(f"{CLEAR}  C | {line}", flush=True)
        counts = re.match(r"version .*?(\d+) deleted, (\d+) inserted, (\d+) modified", line)
        if counts:
            self.sets += 1
            self.deleted += int(counts[1])
            self.inserted += int(counts[2])
            self.modified += int(counts[3])


class Live:
    """Runs live.py, which shows the largest cities, and checks what it shows. `with Live(…) as live:`"""

    def __init__(self, store: pathlib.Path) -> None:
        program = pathlib.Path(__file__).with_name("live.py")
        command = [sys.executable, "-X", "utf8", str(program), str(store), "population > 1000000", "--count", "5"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")

    def __enter__(self) -> "Live":
        """Waits until it has begun."""
        assert self._process.stdout is not None
        self._first = self._process.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def stop(self) -> int:
        """Interrupts it, and shows what it has printed; its exit status: 0 if its copy equals a fresh query."""
        self._process.send_signal(signal.SIGINT)
        printed, _ = self._process.communicate(timeout=PATIENCE)
        for line in (self._first + printed).splitlines():
            print(f"{CLEAR}  live | {line}", flush=True)
        return self._process.returncode


CLEAR = "\r\033[K" if sys.stdout.isatty() else ""  # the progress bar
