#!/usr/bin/env bash
# A C project finds the installed objstore with find_package, builds and runs; with Ninja and with
# Makefiles. Building again without a change does not touch the library.
set -euo pipefail
. "$(dirname "$0")/install.sh"

install_objstore Ninja
[ "$("$prefix/bin/objstore" --version)" = "$version" ] || fail "the tool is not installed, or of another version"
built=$work/build/lib/libobjstore.so.$version
before=$(stat -c %y "$built")
start=$EPOCHREALTIME
cmake --build "$work/build" >/dev/null
awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "building again: %.1f s\n", b - a }'
[ "$(stat -c %y "$built")" = "$before" ] || fail "building again without a change wrote the library anew"

for generator in Ninja "Unix Makefiles"; do
    cmake -S "$root/Tests/Package/consumer" -B "$work/$generator" -G "$generator" \
        -DCMAKE_PREFIX_PATH="$prefix" -DWANTED="$version" >"$work/log" || { cat "$work/log"; fail "configure ($generator)"; }
    cmake --build "$work/$generator" >"$work/log" || { cat "$work/log"; fail "build ($generator)"; }
    "$work/$generator/consumer"
    ldd "$work/$generator/consumer" | grep -F "$prefix" >/dev/null || fail "$generator: not linked with the installed library"
done

# The same target without installing.
cmake -S "$root/Tests/Package/consumer" -B "$work/subfolder" -G Ninja -DOBJSTORE_SOURCE="$root" >"$work/log" ||
    { cat "$work/log"; fail "configure (add_subdirectory)"; }
cmake --build "$work/subfolder" >"$work/log" || { cat "$work/log"; fail "build (add_subdirectory)"; }
"$work/subfolder/consumer"
