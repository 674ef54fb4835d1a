#!/usr/bin/env bash
# Every case of the benchmark in C once, with few objects and two N: it ends, every engine's answers are right
# (the benchmark dies of a wrong one), every case has a figure of objstore, and both plots are drawn.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=build/bench/smoke.json
rm -rf build/bench/smoke*
cases=$(LIST=1 CASES=bulk_insert Benchmarks/run | grep -v '^peers' | paste -sd,)
CASES=$cases N=1000,2000 EFFORT=0.02 OUT=$out DIR=build/bench/smoke-data Benchmarks/run >build/bench/smoke.txt 2>&1 ||
    { tail -n 20 build/bench/smoke.txt; exit 1; }
python3 - "$out" "$cases" <<'PYTHON'
import json
import sys

rows = json.load(open(sys.argv[1], encoding="utf-8"))
for n in (1000, 2000):
    without = [row["case"] for row in rows if row["n"] == n and not row["objstore"]]
    assert not without, f"no figure of objstore with N = {n}: {without}"
measured = {row["case"] for row in rows}
# A case may have several figures, whose names begin with its own.
missing = [case for case in sys.argv[2].split(",") if not any(name.startswith(case.removesuffix("_writer")) for name in measured)]
assert not missing, f"no figure at all: {missing}"
print(f"bench: {len(rows)} figures of {len(sys.argv[2].split(','))} cases")
PYTHON
for plot in smoke.svg smoke-scaling.svg; do
    grep -q '</svg>' "build/bench/$plot" || { echo "bench: $plot is not drawn"; exit 1; }
done
