#!/usr/bin/env python3
"""Stores that are deleted and replaced while processes open, use and close them: `lives.py PROGRAM --replacements N
--seed S`.

All stand still (SIGSTOP, wherever they are) while one process deletes the store, or restores a backup, with or without
what is next to it; then all continue. Some are killed. Writers get the error that their file was replaced, and open
what is there now. Checked: no transaction is committed to a file that had lost its name before it began; no error but
that; whoever reads sees a whole bank. Now and then all are killed, and the file that has the path must be sound and
have everything that was promised of it. Counts, not seconds.
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

parser = argparse.ArgumentParser()
parser.add_argument("program", type=os.path.realpath)  # another build may make its folder's link anew
parser.add_argument("--replacements", type=int, default=150)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--folder")
arguments = parser.parse_args()
random.seed(arguments.seed)
folder = tempfile.mkdtemp(prefix="lives-", dir=arguments.folder)
path, notes = os.path.join(folder, "bank.objstore"), os.path.join(folder, "notes")
WRITERS, READERS = 4, 2


def start(kind, index):
    return watched.Process(
        f"lives, seed {arguments.seed}",
        folder,
        kind,
        index,
        [arguments.program, f"lives-{kind}", path] + ([str(index), notes] if kind == "writer" else []),
    )


class Lives:
    def __init__(self):
        self.alive, self.backups, self.kept = [], [], []
        self.deleted = self.restored = self.kills = self.checks = 0

    def start(self):
        self.alive = [start("writer", i) for i in range(WRITERS)] + [start("reader", i) for i in range(READERS)]

    def kill_all(self):
        for process in self.alive:
            process.kill()
        self.kills += len(self.alive)
        self.alive = []

    def check(self):
        check = subprocess.run([arguments.program, "lives-check", path, notes], capture_output=True, text=True)
        if check.returncode:
            sys.exit(f"lives: {check.stderr} (seed {arguments.seed})")
        self.checks += 1
        # It is closed: what is copied now is a whole store.
        backup = os.path.join(folder, f"backup{self.checks % 3}")
        shutil.copyfile(path, backup)
        if backup not in self.backups:
            self.backups.append(backup)
        return check.stdout.strip()

    def wait(self, transactions):
        watched.wait(
            transactions,
            lambda: [os.path.join(notes, name) for name in os.listdir(notes)],
            self.alive,
            lambda: f"after {self.deleted + self.restored} replacements (lives, seed {arguments.seed})",
        )

    def replace(self):
        """All at once: what is next to a store belongs to the one that has the path."""
        for process in self.alive:
            watched.stop(process.process.pid, process.check)
        try:
            # Its inode comes not again while this is open.
            self.kept.append(os.open(path, os.O_RDONLY))
        except FileNotFoundError:
            pass
        if random.random() < 0.5:
            restored = os.path.join(folder, "restored")
            shutil.copyfile(random.choice(self.backups), restored)
            os.rename(restored, path)
            self.restored += 1
        else:
            remove(path)
            self.deleted += 1
        for suffix in ("-log", "-lock"):
            if random.random() < 0.25:
                remove(path + suffix)
        for process in self.alive:
            process.process.send_signal(signal.SIGCONT)

    def main(self):
        self.check()
        self.start()
        while self.deleted + self.restored < arguments.replacements:
            # Sometimes before anybody is through with opening the last one.
            if random.random() < 0.6:
                self.wait(random.randrange(1, 40))
            else:
                time.sleep(random.random() * 0.01)
            dice = random.random()
            if dice < 0.1:
                self.kill_all()
                self.check()
                self.start()
            elif dice < 0.3:
                victim = random.choice(self.alive)
                victim.kill()
                self.kills += 1
                self.alive[self.alive.index(victim)] = start(victim.kind, victim.index)
            else:
                self.replace()
        self.wait(1)
        self.kill_all()
        print(self.check())
        print(
            f"{self.deleted} stores deleted, {self.restored} replaced by a backup, {self.kills} kills, whole checks "
            f"{self.checks}, seed {arguments.seed}"
        )


def remove(name):
    try:
        os.unlink(name)
    except FileNotFoundError:
        pass


os.mkdir(notes)
lives = Lives()
try:
    lives.main()
finally:
    for process in lives.alive:
        if process.process.poll() is None:
            process.kill()
    shutil.rmtree(folder, ignore_errors=True)
