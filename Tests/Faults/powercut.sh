#!/usr/bin/env bash
# usage: powercut.sh [--states N | --seconds S] [--seed N] [--controls N] [--keep FOLDER]
#        LIBRARY=FOLDER powercut.sh …       another library than build/lib
#
# What 1 to 5 real processes write is recorded, call by call; then the power is cut, thousands of times: torn and
# reordered in sectors of 512 bytes, and each state opened and compared whole (powercut.py says how). A run that does
# not reach its number fails, and so does one in which a sync or a write that never was is not noticed. What is wrong is
# kept in build/faults/wrong: processes are never scheduled the same again, whatever the seed.
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$(realpath "${LIBRARY:-build/lib}")
source Tests/Faults/build.sh
build_fault_program powercut
PYTHONDONTWRITEBYTECODE=1 python3 Tests/Faults/powercut.py "$programs/powercut" "$folder" --keep "$programs/wrong" "$@"
