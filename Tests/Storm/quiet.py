#!/usr/bin/env python3
"""A reader makes no system call while it reads: `quiet.py PROGRAM FOLDER`, counted with strace.

`storm spin PATH N` reads a whole version N times and then says how many objects it saw; what strace counts
for 10 and for 10,000 rounds must be the same, but for the memory that the process happens to ask for.
"""

import os
import subprocess
import sys

program, folder = sys.argv[1], sys.argv[2]
path = os.path.join(folder, "quiet.objstore")
subprocess.run([program, "commit", path, "50"], check=True, stdout=subprocess.DEVNULL)


def calls(rounds):
    log = os.path.join(folder, "strace")
    run = subprocess.run(
        ["strace", "-f", "-o", log, program, "spin", path, str(rounds)], capture_output=True, text=True
    )
    if run.returncode:
        sys.exit(f"quiet: {run.stderr}")
    lines = [line.split(None, 1)[1] for line in open(log)]
    return [line for line in lines if not line.startswith(("+++", "---", "brk", "mmap", "munmap", "madvise", "mremap"))]


few, many = calls(10), calls(10_000)
if len(many) > len(few) + 3:
    extra = sorted({line.split("(")[0] for line in many[len(few) :]})
    sys.exit(f"quiet: {len(few)} system calls for 10 rounds, {len(many)} for 10,000: {extra}")
print(f"system calls of a reader: {len(few)} for 10 rounds, {len(many)} for 10,000")
