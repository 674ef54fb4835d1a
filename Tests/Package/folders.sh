#!/usr/bin/env bash
# usage: folders.sh [INDEX]
#
# What is in a folder of Sources/ObjStoreCore knows nothing of those behind it: see folders.py. INDEX: that of a debug
# build of these sources; where there is none, one is made in .build.
set -euo pipefail
cd "$(dirname "$0")/../.."
index=${1:-}
if [ ! -d "$index" ]; then
    scratch=${OBJSTORE_SCRATCH:-.build}
    output=$(swift build --scratch-path "$scratch" --target ObjStoreCore 2>&1) || { echo "$output" >&2; exit 1; }
    index=$(swift build --scratch-path "$scratch" --show-bin-path)/index/store
fi
exec python3 Tests/Package/folders.py "$index"
