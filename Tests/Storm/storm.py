#!/usr/bin/env python3
"""Readers and writers on one file under SIGKILL and SIGSTOP at any moment: `storm.py PROGRAM --kills N --seed S`.

Writers keep a sum constant; some live in a pid namespace of their own (as root), some leave a sleeping forked child
behind when they are killed. Others are stopped in the middle of what they do, also while they hold locks of the store;
the rest waits for these, or continues, until the stopped one is killed or continues. Whoever is killed is replaced. Now
and then all are killed, and whoever comes next recovers: the
store is checked whole: sum, indexes, structure, and that every transaction that a writer was promised is there. Counts,
not seconds: a run ends after N kills, whatever the machine. Nothing may stand still for ten minutes.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import watched
from watched import read

parser = argparse.ArgumentParser()
parser.add_argument("program", type=os.path.realpath)  # another build may make its folder's link anew
parser.add_argument("--kills", type=int, default=40)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--folder")
arguments = parser.parse_args()
random.seed(arguments.seed)
folder = tempfile.mkdtemp(prefix="storm-", dir=arguments.folder)
path = os.path.join(folder, "bank.objstore")
WRITERS, READERS = 4, 4
acks = [os.path.join(folder, f"acks{i}") for i in range(WRITERS)]
can_unshare = (
    os.geteuid() == 0
    and shutil.which("unshare")
    and subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "true"], stderr=subprocess.DEVNULL).returncode
    == 0
)
# docs/state-machine.md, 1: bytes of the store, behind which each process has one of its own; and words of the lock
# file, with the name of that.
FIRST = 1 << 62
BYTES = {FIRST: "OPEN", FIRST + 2: "CKPT"}
LIVE = FIRST + 16
WORDS = {784: "WRITER", 1296: "SYNC"}


class Process(watched.Process):
    """A reader or writer, with its surroundings."""

    def __init__(self, kind, index):
        command = [arguments.program, kind, path] + ([str(index), acks[index]] if kind == "writer" else [])
        self.forks = kind == "writer" and random.random() < 0.3
        if self.forks:
            command.append("fork")
        self.unshares = can_unshare and index % 2 == 1
        if self.unshares:
            command = ["unshare", "--pid", "--fork", "--kill-child", *command]
        super().__init__(f"storm, seed {arguments.seed}", folder, kind, index, command)

    @property
    def id(self):
        """Of the program itself. 0: not there yet."""
        if not self.unshares:
            return self.process.pid
        children = read(f"/proc/{self.process.pid}/task/{self.process.pid}/children").split()
        return int(children[0]) if children else 0

    def kill(self):
        # The child of a killed writer sleeps on; in a pid namespace all end with its first.
        (os.killpg if self.unshares else os.kill)(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.forks and not self.unshares:
            left.append(self.process.pid)
            storm.children += 1

    def stop(self):
        """Returns when all of it stands still, with its id; 0: it had not begun."""
        process = self.id
        if process == 0:
            return 0
        watched.stop(process, self.check)
        return process


def locks(process):
    """Names of the locks that a process, which stands still, has."""
    names, lives = set(), set()
    for descriptor in os.listdir(f"/proc/{process}/fdinfo"):
        for line in read(f"/proc/{process}/fdinfo/{descriptor}").splitlines():
            words = line.split()
            if words[:1] == ["lock:"] and "OFDLCK" in words and words[-1].isdigit():
                first = int(words[-2])
                names |= {BYTES[first]} if first in BYTES else set()
                lives |= {first - LIVE} if first >= LIVE else set()
    try:
        with open(path + "-lock", "rb") as file:
            memory = file.read(4096)
    except FileNotFoundError:
        return names
    return names | {name for at, name in WORDS.items() if int.from_bytes(memory[at : at + 8], "little") in lives}


class Storm:
    def __init__(self):
        self.kills = self.checks = self.stops = self.continued = self.children = 0
        self.killed_with = {}  # locks that stopped ones had when they were killed
        self.alive = []

    def wait(self, transactions):
        """Until this many more are done."""
        watched.wait(
            transactions,
            lambda: acks,
            self.alive,
            lambda: f"after {self.kills} kills and {self.stops} stops (storm, seed {arguments.seed})",
        )

    def start(self):
        self.alive = [Process("writer", i) for i in range(WRITERS)]
        self.wait(1)
        self.alive += [Process("reader", i) for i in range(READERS)]

    def kill_all(self):
        # Some stand still, and the others continue without them for a moment, or wait.
        stopped = [process for process in self.alive if random.random() < 0.3 and process.stop()]
        self.stops += len(stopped)
        time.sleep(random.random() * 0.01)
        random.shuffle(self.alive)
        for process in self.alive:
            process.kill()
        self.kills += len(self.alive)
        self.alive = []

    def check(self):
        check = subprocess.run([arguments.program, "check", path, *acks], capture_output=True, text=True)
        if check.returncode:
            sys.exit(f"storm: {check.stderr} (seed {arguments.seed})")
        self.checks += 1
        return check.stdout.strip()

    def replace(self, victim):
        victim.kill()
        self.kills += 1
        self.alive[self.alive.index(victim)] = Process(victim.kind, victim.index)

    def stop_one(self):
        """Stops one, more often than not where it has a lock; then it is killed, or continues."""
        victim = random.choice(self.alive if random.random() < 0.3 else self.alive[:WRITERS])
        # WRITER is held for microseconds, SYNC for most of the time.
        wanted = {"WRITER"} if random.random() < 0.5 else {"OPEN", "CKPT", "WRITER", "SYNC"}
        for _ in range(random.randrange(1, 30)):
            process = victim.stop()
            if process == 0:
                return
            self.stops += 1
            names = locks(process)
            if names & wanted:
                break
            os.kill(process, signal.SIGCONT)
            self.continued += 1
            time.sleep(random.random() * 0.002)
        else:
            process = victim.stop()
            self.stops += 1
            names = locks(process)
        if not names:
            # No process waits for it.
            self.wait(random.randrange(1, 20))
        elif random.random() < 0.5:
            # One does, for longer than any spins.
            time.sleep(0.01)
        if random.random() < 0.3:
            os.kill(process, signal.SIGCONT)
            self.continued += 1
            return
        self.replace(victim)
        key = "+".join(sorted(names)) or "none"
        self.killed_with[key] = self.killed_with.get(key, 0) + 1

    def main(self):
        self.start()
        told = 0
        while self.kills < arguments.kills:
            # Let something happen: the next comes after a few more transactions.
            self.wait(random.randrange(1, 60))
            dice = random.random()
            if dice < 0.06:
                # All at once: the next opener recovers.
                self.kill_all()
                self.check()
                self.start()
            elif dice < 0.5:
                self.replace(random.choice(self.alive))
            else:
                self.stop_one()
            if self.kills >= told + 100:
                told = self.kills
                print(f"{self.kills} kills, {self.stops} stops", flush=True)
            while len(left) > 20:
                end_child(left.pop(0))
        self.kill_all()
        print(self.check())
        stopped = ", ".join(f"{count} with {key}" for key, count in sorted(self.killed_with.items()))
        print(
            f"{self.kills} kills, {self.stops} stops; killed while they stood still: {stopped}; {self.continued} went "
            f"on; {self.children} left a child behind; whole checks {self.checks}, "
            f"pid namespaces {'yes' if can_unshare else 'no'}, seed {arguments.seed}"
        )
        if arguments.kills >= 200 and not any(WORDS[784] in key for key in self.killed_with):
            sys.exit("storm: nobody was killed while he stood still with WRITER: has the word moved?")


def end_child(group):
    """A sleeping child that a killed writer left: its group exists as long as it does. None: the writer was killed
    before it had one."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        storm.children -= 1


left = []  # groups of which only a sleeping child is left
storm = Storm()
try:
    storm.main()
finally:
    for process in storm.alive:
        if process.process.poll() is None:
            process.kill()
    for group in left:
        end_child(group)
    shutil.rmtree(folder, ignore_errors=True)
