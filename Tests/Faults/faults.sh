#!/usr/bin/env bash
# usage: faults.sh [ci|all] [LIBRARY FOLDER]
#
# Platform/ itself, on this system, while its calls fail: a preloaded library (faults.c) makes the n-th open, read,
# write, sync, truncate, map, lock, … of one of two processes fail, for every n of a written history (history.c). What
# fails must say so, no process may die or hang, and in the end the store has what was acknowledged, no more and no
# less. `ci`: every call gets one error that must show and one that must not, by turns; `all`: every call every error. A
# control: writes that are lost without a word must be noticed.
set -euo pipefail
cd "$(dirname "$0")/../.."
what=${1:-ci}
library=$(realpath "${2:-build/lib}")
source Tests/Faults/build.sh
build_fault_program history
mkdir "$folder/A" "$folder/B"
"$programs/history" drop "$folder/A"
# Calls of the one fail here, and of the other there: two histories at a time.
"$programs/history" "$what" "$folder/A" A &
first=$!
status=0
"$programs/history" "$what" "$folder/B" B || status=1
wait "$first" || status=1
exit "$status"
