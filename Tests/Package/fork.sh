#!/usr/bin/env bash
# usage: fork.sh
#
# A writer holds a lock, forks a child that sleeps, and is killed: another process must have the lock
# although the child lives. The control forks without the handlers and keeps the lock.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${CC:-cc}" -std=gnu11 -Wall -Wextra -O1 -ISources/CSystem/include -o "$folder/fork" \
    Tests/Package/fork.c Sources/CSystem/fork.c Sources/CSystem/csystem.c

python3 - "$folder" <<'PYTHON'
import fcntl, os, signal, struct, subprocess, sys, time
folder = sys.argv[1]
F_OFD_SETLK = 37
lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 7, 1, 0)

def wait_for_lock(how, longest):
    """Milliseconds until the killed writer's lock is free, or None."""
    path = os.path.join(folder, how)
    writer = subprocess.Popen([os.path.join(folder, "fork"), path, how], stdout=subprocess.PIPE, text=True)
    child = int(writer.stdout.readline().split()[1])
    try:
        with open(path, "r+b") as file:
            try:
                fcntl.fcntl(file, F_OFD_SETLK, lock)
                sys.exit("fork.sh: the living writer's lock was free")
            except BlockingIOError:
                pass
            start = time.monotonic()
            writer.kill()
            while time.monotonic() - start < longest:
                try:
                    fcntl.fcntl(file, F_OFD_SETLK, lock)
                    os.kill(child, 0)        # and the child lives
                    return (time.monotonic() - start) * 1000
                except BlockingIOError:
                    time.sleep(0.0005)
            return None
    finally:
        os.kill(child, signal.SIGKILL)
        writer.wait()

worst = 0
for _ in range(20):
    waited = wait_for_lock("handlers", 60)
    if waited is None:
        sys.exit("fork.sh: the lock of a killed writer is kept by its sleeping child")
    worst = max(worst, waited)
if wait_for_lock("bare", 0.3) is not None:
    sys.exit("fork.sh: the control without handlers gave the lock back, too: this test sees nothing")
print(f"killed writers with a sleeping child: lock free after at most {worst:.1f} ms (20 times); the control keeps it")
PYTHON
