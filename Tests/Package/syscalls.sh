#!/usr/bin/env bash
# usage: syscalls.sh [OBJECTS]
#
# Platform/ is the only door to the operating system: the object file of every other source of
# ObjStoreCore (a debug build has one each, without what others inline) refers to no function that makes a system call.
# Otherwise the simulated machine would not see it, and the crash tests would prove nothing.
# OBJECTS: where those of a build are that is not optimised; where there are none, one is made in .build.
set -euo pipefail
cd "$(dirname "$0")/../.."
objects=${1:-}
fail() { echo "syscalls.sh: $*" >&2; exit 1; }

if [ ! -d "$objects" ]; then
    scratch=${OBJSTORE_SCRATCH:-.build}
    output=$(swift build --scratch-path "$scratch" --target ObjStoreCore 2>&1) || { echo "$output" >&2; fail "the build failed"; }
    objects=$(swift build --scratch-path "$scratch" --show-bin-path)/ObjStoreCore.build
fi
# SwiftPM ends the names with .swift.o or .o, by version.
object_of() { for name in "$objects/$1.swift.o" "$objects/$1.o"; do [ -e "$name" ] && echo "$name" && return; done; fail "no object file of $1.swift in $objects"; }

# What the other folders may take from C: memory, text and numbers, libffi. Whatever else they refer to
# is taken for a system call, so a new harmless function has to be added here.
allowed='mem(cpy|move|set|cmp|chr)|(__)?mem(cpy|move|set)_chk|str(len|cmp|ncmp)|malloc|calloc|realloc|free|posix_memalign|aligned_alloc'
allowed+='|malloc_usable_size|__stack_chk_fail|abort|qsort|(f?(mod|min|max|abs)|floor|ceil|trunc|round|rint|sqrt|pow|exp|log|log2|log10|sin|cos|asin|frexp|ldexp)f?'
allowed+='|strto(d|ll|ull)|__(mul|div|mod|udiv|umod)ti[34]|c?ffi_[a-z0-9_]*|_GLOBAL_OFFSET_TABLE_|__tls_get_addr'
allowed+='|__(asan|tsan|sanitizer)_[a-z0-9_]*'
# csystem.h: hooks, injected bugs, atomics, masks of cells. Inline functions show as defined (t) in whoever calls them.
allowed+='|cs_(cells_(level|in_[a-z]+|find_pair)|heads_(begin|at_most)|sums_by_byte|pack_bits|(set_)?yield(_hook)?|(set_)?bug|injected_bugs|(load|store|cas|add)[0-9]+(_[a-z]+)?|fence(_acquire|_release)?|pause|prefetch|return_memory|try_(malloc|calloc|realloc|aligned))'
# Swift itself, without its own doors: SystemRandomNumberGenerator, the clocks, print and readLine.
allowed+='|\$[sS].*|_*swift[A-Z_].*|_\$s.*|symbolic .*'
doors='swift_stdlib_random|\$s.*(SystemRandomNumberGenerator|6random2in|13randomElement|8shuffled|7shuffle).*|\$ss5print_.*|\$ss10debugPrint_.*|\$ss8readLine.*|\$ss(15Continuous|10Suspending)Clock.*|swift_get_(time|clock_res)'

export allowed doors
offences() { # OBJECT…: one offence a line, with the object's name before it
    nm -A "$@" | awk '
        NF < 3 { next }  # a name that goes on: of a reference to a type, with any bytes in it
        { object = $1; sub(/\.o:.*/, "", object); sub(/.*\//, "", object); sub(/\.swift$/, "", object); type = $(NF - 1); name = $NF }
        (type == "U" || type ~ /^[tTdDbB]$/ && name ~ /^cs_/) && name !~ "^(" ENVIRON["allowed"] ")$" { print object, name }
        type == "U" && name ~ "^(" ENVIRON["doors"] ")$" { print object, name }' | sort -u
}

# The test must be able to fail: Platform/ itself offends.
control=$(offences "$(object_of RealFile)" | wc -l)
[ "$control" -ge 5 ] || fail "RealFile.swift shows $control system calls: this test sees nothing"

files=()
while IFS= read -r source; do
    files+=("$(object_of "$(basename "$source" .swift)")")
done < <(find Sources/ObjStoreCore -name '*.swift' -not -path '*/Platform/*' | sort)
[ "${#files[@]}" -gt 0 ] || fail "no sources"
found=$(offences "${files[@]}")
[ -z "$found" ] || { echo "$found" | awk '{ print "syscalls.sh: " $1 ".swift calls " $2 }' >&2; fail "files go around Platform/"; }
echo "${#files[@]} files outside Platform/ make no system call (the control shows $control)"
