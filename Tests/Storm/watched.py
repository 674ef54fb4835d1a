"""What `storm.py` and `lives.py` do with processes that they watch: look at them, stop them, wait until they have done
something."""

import os
import signal
import subprocess
import sys
import time

STANDSTILL = 600


def read(name):
    try:
        with open(name) as file:
            return file.read()
    except OSError:
        return ""


class Process:
    """A program of a rig (its name and seed), which must not end by itself."""

    def __init__(self, rig, folder, kind, index, command):
        self.rig, self.kind, self.index = rig, kind, index
        # Not a pipe: a forked child that is left behind would keep it open.
        self.errors = os.path.join(folder, f"{kind}{index}.errors")
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)

    def check(self):
        if self.process.poll() is not None:
            sys.exit(f"{self.kind} {self.index} ended with {self.process.returncode}: {read(self.errors)} ({self.rig})")

    def kill(self):
        self.process.kill()
        self.process.wait()


def stop(process, check):
    """Returns when all threads of the process stand still. `check` ends the run where it has died."""
    os.kill(process, signal.SIGSTOP)
    while True:
        check()
        try:
            states = [
                read(f"/proc/{process}/task/{task}/stat").rpartition(")")[2].split()
                for task in os.listdir(f"/proc/{process}/task")
            ]
        except FileNotFoundError:
            states = []
        if states and all(state and state[0] == "T" for state in states):
            return


def promised(names):
    """The sum of what writers have noted in these files."""
    total = 0
    for name in names:
        try:
            with open(name, "rb") as file:
                total += int.from_bytes(file.read(8), "little")
        except FileNotFoundError:
            pass
    return total


def wait(transactions, names, alive, where):
    """Until this many more are noted. `alive`: processes with `check`; `where` says what has happened so far."""
    before, deadline = promised(names()), time.monotonic() + STANDSTILL
    while promised(names()) < before + transactions:
        time.sleep(0.001)
        for process in alive:
            process.check()
        if time.monotonic() > deadline:
            sys.exit(f"nothing was committed for {STANDSTILL} s {where()}")
