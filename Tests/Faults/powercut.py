#!/usr/bin/env python3
"""Power cuts of real processes: `powercut.py PROGRAM FOLDER --states N --seed S`.

1 to 5 processes write into one store, and some are killed; a preloaded library (faults.c) writes down all their
changing system calls, in the order in which they happened, with marks of what was acknowledged. From that the states of
the medium are made that a power cut may have left at some point in between (medium.py says what these are). Each is
opened by the library under another boot id, and these must hold:

- sound: it can be opened, `objstore_verify` finds nothing, a quarter is then written, closed, and sound as a file, too;
- acknowledged: every transaction is there that was acknowledged as durable before the cut;
- prefix: its whole content is that after one of the transactions, in the order of their commits.

Before that, of the files as the processes leave them: they are what the recorded calls make of them (so none is
missing), and their whole content is that of all transactions, of those that a kill left without an answer of those that
came out as done.

Controls: one sync, or one write, reports success and does nothing on the medium. The states that follow must be noticed
by the assertion that CONTROLS names; the same ones, of the same seeds, on a medium that keeps its word must be as they
should.

Some recordings begin with a state that a power cut has left, so that recoveries are cut, too.
"""

import argparse
import os
import random
import shutil
import struct
import subprocess
import sys
import time
import uuid

from medium import (
    FLUSH,
    FLUSHED,
    FULL,
    KILLED,
    MARK,
    RELAXED,
    STORE,
    SYNC,
    SYNC_FOLDER,
    TRIES,
    WRITE,
    Medium,
    identity_of,
    read_log,
    write_state,
)

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("folder")
parser.add_argument("--states", type=int, default=2000)
parser.add_argument("--seconds", type=float, help="until so much time is over, instead of a number of states")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument(
    "--controls", type=int, default=4, help="how often each must be noticed, in at most 15 times as many; 0: none"
)
parser.add_argument("--keep", help="folder for what is wrong")
arguments = parser.parse_args()

# What is lost: a record of this kind, of a file whose name ends so; and the assertion that must notice.
CONTROLS = {
    "a sync of the log": (SYNC, STORE + "-log", "acknowledged"),
    "a sync of the store": (SYNC, STORE, "sound"),
    "a sync of the folder": (SYNC_FOLDER, None, "sound"),
    "a write of the log": (WRITE, STORE + "-log", "acknowledged"),
    "a write of the store": (WRITE, STORE, "sound"),
}


# ---- what is in a store ---------------------------------------------------------------------------------------


def line_of(item):
    number, n, length, seed, marks = item
    text = b"%d %d %d:%d:" % (number, n, number, seed) + bytes([97 + seed % 26]) * length
    return text + b"".join(b" %d" % (seed + i) for i in range(marks)) + b"\n"


def apply_items(content, items):
    for item in items:
        if item[2] < 0:
            content.pop(item[0], None)
        else:
            content[item[0]] = line_of(item)


def text_of(content):
    return b"".join(content[number] for number in sorted(content))


def content_of(text):
    return {int(line.split(b" ", 1)[0]): line + b"\n" for line in text.split(b"\n") if line}


class Recording:
    """What processes did, and which contents that makes possible, and when."""

    def __init__(self, records, content, final):
        """content: what was there before. final: what was there in the end."""
        self.records = records
        last = content_of(final)
        content = dict(content)
        self.contents = [text_of(content)]  # after this many transactions
        self.tried = []
        self.gone = []  # what a kill has prevented: (record, after how many, content with it)
        place = {}
        # A process that is about to commit is alone: the order of the marks is that of the commits.
        for index, (kind, _, _, number, _, data) in enumerate(records):
            if kind != TRIES:
                continue
            items = list(struct.iter_unpack("<iiiii", data))
            # Its last object is its own, and stays.
            if last.get(items[-1][0]) == line_of(items[-1]):
                apply_items(content, items)
                self.contents.append(text_of(content))
                self.tried.append(index)
                place[number] = len(self.tried)
            else:
                other = dict(content)
                apply_items(other, items)
                self.gone.append((index, len(self.tried), text_of(other)))
        # How many must be there, after each record.
        self.required = []
        least, acknowledged, flushes = 0, 0, {}
        self.problem = None
        for kind, process, _, number, _given, _ in records:
            if kind in (FULL, RELAXED):
                if number not in place:
                    self.problem = f"transaction {number} was acknowledged, and is gone though the power never was"
                    return
                acknowledged = max(acknowledged, place[number])
            if kind == FULL:
                least = max(least, place[number])
            elif kind == FLUSH:
                flushes[process] = acknowledged
            elif kind == FLUSHED:
                least = max(least, flushes[process])
            self.required.append(least)
        if self.contents[-1] != final:
            self.problem = (
                f"in the end the content ({len(final)} bytes) is not that of all transactions "
                f"({len(self.contents[-1])} bytes)"
            )

    def verdict(self, cut, content):
        """None, or the assertion and what is wrong with a content after the first `cut` records. And after which
        transaction it is."""
        least = self.required[cut - 1] if cut else 0
        most = 0
        while most < len(self.tried) and self.tried[most] < cut:
            most += 1
        for count in range(most, least - 1, -1):
            if self.contents[count] == content:
                return None, content
        for index, count, text in self.gone:
            if index < cut and count >= least and text == content:
                return None, content
        others = [count for count, text in enumerate(self.contents) if text == content]
        if others and others[-1] < least:
            return (
                "acknowledged",
                f"the content is that after {others[-1]} transactions, it must be that after {least} to {most}",
            ), None
        return (
            "prefix",
            f"the content ({len(content)} bytes) is that after no transaction ({least} to {most} were possible)",
        ), None


# ---- one run ------------------------------------------------------------------------------------------------------


class Checker:
    """A process that opens and shows stores."""

    def __init__(self, prefix, boot):
        self.process = subprocess.Popen(
            [arguments.program, "check", prefix, boot], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def look(self, path, writes):
        self.process.stdin.write(b"%d %s\n" % (writes, path.encode()))
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            return f"the checking process died ({self.process.wait()})", "", b""
        status, length, message = line.decode().rstrip("\n").split(" ", 2)
        return status, message, self.process.stdout.read(int(length))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Run:
    def __init__(self):
        self.chance = random.Random(arguments.seed)
        self.states = self.same = self.recordings = self.calls = self.killed = self.begun = self.control_states = 0
        self.processes = {}
        self.controls = {name: [] for name in CONTROLS}  # by which assertion each was noticed, or ""
        self.start = time.monotonic()

    def is_done(self):
        if arguments.seconds is not None:
            return time.monotonic() - self.start > arguments.seconds
        return self.states >= arguments.states

    def open_controls(self):
        wanted = arguments.controls
        return [
            name
            for name, found in self.controls.items()
            if found.count(CONTROLS[name][2]) < wanted and len(found) < 15 * wanted
        ]

    def wrong(self, text, state):
        print(
            f"WRONG: seed {arguments.seed}, recording {self.recordings}, state {self.states}: {text}", file=sys.stderr
        )
        if arguments.keep:
            os.makedirs(arguments.keep, exist_ok=True)
            write_state(state, os.path.join(arguments.keep, f"state-{self.states}"))
            shutil.copytree(
                arguments.folder, os.path.join(arguments.keep, f"recording-{self.recordings}"), dirs_exist_ok=True
            )
        sys.exit(1)

    def new_boot(self):
        path = os.path.join(arguments.folder, "boot")
        with open(path, "w") as file:
            file.write(str(uuid.UUID(int=self.chance.getrandbits(128))) + "\n")
        return path

    def record(self, start, content):
        """Lets processes work on a state; what they did."""
        self.recordings += 1
        folder, log, boot = (
            os.path.join(arguments.folder, "work"),
            os.path.join(arguments.folder, "log"),
            self.new_boot(),
        )
        begin = write_state(start, folder)
        processes = self.chance.randint(1, 5)
        self.processes[processes] = self.processes.get(processes, 0) + 1
        transactions, seed = self.chance.randint(20, 150), self.chance.randrange(1 << 30)
        command = [arguments.program, "work", folder, log, boot, str(seed), str(processes), str(transactions)]
        if subprocess.run(command).returncode != 0:
            self.wrong(f"{processes} processes, seed {seed}: see above", start)
        records = read_log(log)
        self.calls += sum(record[0] < MARK for record in records)
        medium = Medium(begin)
        for record in records:
            medium.play(record)
            self.killed += record[0] == KILLED
            self.begun += record[0] == TRIES
        differs = medium.difference(folder)
        if differs:
            self.wrong(f"the recorded calls do not make {differs}: some call is not recorded", start)
        checker = Checker(os.path.join(arguments.folder, "work"), boot)
        status, message, final = checker.look(os.path.join(folder, STORE), True)
        checker.end()
        if status != "OBJSTORE_OK":
            self.wrong(f"what the processes left: {status}: {message}", start)
        shutil.rmtree(folder)
        recording = Recording(records, content, final)
        if recording.problem:
            self.wrong(recording.problem, start)
        return begin, recording

    def look(self, checker, medium, recording, cut, chance, seen):
        """One state at a cut: (assertion, words) or None, the state, its content. All None: that state was seen
        before."""
        state, words = medium.state(chance)
        key = identity_of(state)
        if key in seen:
            return None, None, None
        seen.add(key)
        folder = os.path.join(arguments.folder, "p")
        write_state(state, folder)
        status, message, content = checker.look(os.path.join(folder, STORE), chance.random() < 0.25)
        shutil.rmtree(folder)
        where = f" [cut after {cut} of {len(recording.records)}: {words}]"
        if status != "OBJSTORE_OK":
            return ("sound", f"{status}: {message}{where}"), state, None
        bad, content = recording.verdict(cut, content)
        return bad and (bad[0], bad[1] + where), state, content

    def cuts(self, recording, count):
        """Anywhere; often right after something was acknowledged; and in the beginning, where a recovery is."""
        marks = [i + 1 for i, record in enumerate(recording.records) if record[0] in (FULL, FLUSHED)]
        result = {}
        for _ in range(count):
            dice = self.chance.random()
            if dice < 0.4 and marks:
                cut = self.chance.choice(marks)
            elif dice < 0.5:
                cut = self.chance.randint(0, min(60, len(recording.records)))
            else:
                cut = self.chance.randint(0, len(recording.records))
            result[cut] = result.get(cut, 0) + 1
        return result

    def main(self):
        start, content = {}, {}
        while not self.is_done() or self.open_controls():
            begin, recording = self.record(start, content)
            medium, seen, later = Medium(begin), set(), []
            checker = Checker(os.path.join(arguments.folder, "p"), self.new_boot())
            cuts = {} if self.is_done() else self.cuts(recording, 160)
            for cut in range(len(recording.records) + 1):
                if cut:
                    medium.play(recording.records[cut - 1])
                for _ in range(cuts.get(cut, 0)):
                    if self.is_done():
                        break
                    bad, state, content = self.look(checker, medium, recording, cut, self.chance, seen)
                    if bad:
                        self.wrong(f"{bad[0]}: {bad[1]}", state)
                    self.states += state is not None
                    self.same += state is None
                    if state and STORE in state:
                        later.append((state, content))
            for name in self.open_controls():
                self.control(name, begin, recording, checker)
            checker.end()
            # The next processes continue with what a power cut has left; or with nothing.
            start, content = {}, {}
            if later and self.chance.random() < 0.75:
                start, text = self.chance.choice(later)
                content = content_of(text)
            if self.recordings % 5 == 0:
                print(
                    f"{self.states} states of {self.recordings} recordings, {time.monotonic() - self.start:.0f} s",
                    flush=True,
                )
        return self.report()

    def report(self):
        many = ", ".join(f"{count} of {processes}" for processes, count in sorted(self.processes.items()))
        print(
            f"{self.recordings} recordings ({many} processes): {self.begun} transactions, {self.killed} kills, "
            f"{self.calls} changing system calls; "
            f"{time.monotonic() - self.start:.0f} s"
        )
        is_blind = False
        for name, found in self.controls.items():
            expected = CONTROLS[name][2]
            counts = {assertion: found.count(assertion) for assertion in sorted(set(found)) if assertion}
            if found:
                by = ", ".join(f"{count} by '{assertion}'" for assertion, count in counts.items())
                print(
                    f"control: {name} that does nothing: of {len(found)} {sum(counts.values())} are noticed, "
                    f"{by or 'none'}"
                )
                is_blind |= counts.get(expected, 0) < arguments.controls
        if self.control_states:
            print(f"control: {self.control_states} of the same states where nothing is lost, all as they must be")
        if is_blind:
            sys.exit("powercut.py: an assertion does not notice its control")
        if arguments.seconds is None and self.states < arguments.states:
            sys.exit(f"powercut.py: {self.states} states, {arguments.states} were wanted")
        print(
            f"seed {arguments.seed}: {self.states} states after power cuts, no two the same, compared whole: sound, "
            "acknowledged, prefix"
        )

    def control(self, name, begin, recording, checker):
        """Some records are lost, one at a time; states after each, with it and without."""
        kind, file_name, expected = CONTROLS[name]
        medium, places = Medium(begin), []
        for index, record in enumerate(recording.records):
            of = medium if kind == SYNC_FOLDER else medium.now.get(file_name)
            before = of.settled if of else 0
            medium.play(record)
            # A sync that makes nothing certain, and zeros where there are zeros, are nothing that could be missed.
            if (
                record[0] == kind
                and (of is medium or (of and of.inode == record[2]))
                and (of.settled > before if kind != WRITE else any(record[5]))
            ):
                places.append(index)
        for index in self.chance.sample(places, min(3, len(places))):
            lost = recording.records[index]
            end = min(index + 1 + (60 if kind == SYNC else 300), len(recording.records))
            if kind != WRITE:
                # The next sync of that file has it all.
                end = next(
                    (
                        i
                        for i in range(index + 1, end)
                        if (recording.records[i][0], recording.records[i][2], recording.records[i][4])
                        == (kind, lost[2], 1)
                    ),
                    end,
                )
            marks = [i + 1 for i in range(index, end) if recording.records[i][0] in (FULL, FLUSHED)]
            cuts = self.chance.sample(marks, min(6, len(marks))) + [
                self.chance.randint(index + 1, end) for _ in range(6)
            ]
            honest, broken, noticed = Medium(begin), Medium(begin), ""
            for cut in range(1, end + 1):
                honest.play(recording.records[cut - 1])
                broken.play(recording.records[cut - 1], is_lost=cut - 1 == index)
                for _ in range(cuts.count(cut)):
                    seed = self.chance.getrandbits(32)
                    bad, state, _ = self.look(checker, honest, recording, cut, random.Random(seed), set())
                    if bad:
                        self.wrong(f"{bad[0]}: {bad[1]}", state)
                    self.control_states += 1
                    if noticed != expected:
                        bad, _, _ = self.look(checker, broken, recording, cut, random.Random(seed), set())
                        noticed = bad[0] if bad else noticed
            self.controls[name].append(noticed)


print(f"seed {arguments.seed}", flush=True)
Run().main()
