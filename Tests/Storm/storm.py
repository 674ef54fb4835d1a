#!/usr/bin/env python3
"""Readers and writers on one file under random SIGKILLs: `storm.py PROGRAM --kills N --seed S`.

Writers keep a sum constant; some live in a pid namespace of their own (as root), some leave a sleeping
forked child behind. Whoever is killed is replaced. In the end every store is checked: sum, indexes,
structure, and that every transaction that a writer was promised is there. Counts, not seconds: a run ends
after N kills. Nothing may stand still for more than a minute.
"""
import argparse, os, random, select, shutil, signal, subprocess, sys, tempfile, time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--kills", type=int, default=40)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--folder")
arguments = parser.parse_args()
random.seed(arguments.seed)
folder = tempfile.mkdtemp(prefix="storm-", dir=arguments.folder)
path = os.path.join(folder, "bank.objstore")
WRITERS, READERS = 4, 4
acks = [os.path.join(folder, f"acks{i}") for i in range(WRITERS)]
can_unshare = os.geteuid() == 0 and shutil.which("unshare") and subprocess.run(
    ["unshare", "--pid", "--fork", "--kill-child", "true"], stderr=subprocess.DEVNULL).returncode == 0


def start(kind, index):
    command = [arguments.program, kind, path] + ([str(index), acks[index]] if kind == "writer" else [])
    if kind == "writer" and random.random() < 0.3:
        command.append("fork")
    if can_unshare and index % 2 == 1:
        command = ["unshare", "--pid", "--fork", "--kill-child"] + command
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    return kind, index, process


def promised():
    total = 0
    for name in acks:
        try:
            total += int.from_bytes(open(name, "rb").read(8), "little")
        except FileNotFoundError:
            pass
    return total


def stop(processes):
    for _, _, process in processes:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def main():
    alive = [start("writer", i) for i in range(WRITERS)]
    deadline = time.monotonic() + 60
    while promised() == 0:
        time.sleep(0.01)
        if time.monotonic() > deadline:
            sys.exit("storm: no transaction in a minute")
    alive += [start("reader", i) for i in range(READERS)]
    kills = checks = 0
    while kills < arguments.kills:
        # Let something happen: the next kill comes after a few more transactions.
        before, wanted, deadline = promised(), random.randrange(1, 200), time.monotonic() + 60
        while promised() < before + wanted:
            time.sleep(0.001)
            if time.monotonic() > deadline:
                sys.exit(f"storm: nothing was committed for a minute after {kills} kills (seed {arguments.seed})")
            for kind, index, process in alive:
                if process.poll() is not None:
                    sys.exit(f"storm: {kind} {index} ended with {process.returncode}: {process.stderr.read()}")
        if random.random() < 0.1:
            # Everybody at once: the next opener recovers.
            stop(alive)
            kills += len(alive)
            check = subprocess.run([arguments.program, "check", path] + acks, capture_output=True, text=True, timeout=120)
            if check.returncode:
                sys.exit(f"storm: {check.stderr} (seed {arguments.seed})")
            checks += 1
            alive = [start("writer", i) for i in range(WRITERS)] + [start("reader", i) for i in range(READERS)]
        else:
            victim = random.randrange(len(alive))
            stop([alive[victim]])
            kills += 1
            alive[victim] = start(alive[victim][0], alive[victim][1])
    stop(alive)
    check = subprocess.run([arguments.program, "check", path] + acks, capture_output=True, text=True, timeout=120)
    if check.returncode:
        sys.exit(f"storm: {check.stderr} (seed {arguments.seed})")
    print(check.stdout.strip())
    print(f"kills {kills}, whole checks {checks + 1}, pid namespaces {'yes' if can_unshare else 'no'}, seed {arguments.seed}")


try:
    main()
finally:
    subprocess.run(["pkill", "-KILL", "-f", path], check=False)
    shutil.rmtree(folder, ignore_errors=True)
