#!/usr/bin/env bash
# usage: exports.sh LIBRARY
#
# The header and the library agree: every function that include/objstore.h declares is exported,
# nothing else is. (The compiler checks each implementation against its declaration, but not that a
# declared function has one.)
set -euo pipefail
export LC_ALL=C
library=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# gcc lists the declarations of a translation unit after preprocessing, one a line:
#   /* path/objstore.h:44:NC */ extern const char *objstore_version (void);
# Inline functions of the header are "static" there and are no exports.
gcc -std=c99 -fsyntax-only -aux-info "$work/declarations" "$root/include/objstore.h"
sed -n 's/^[^*]*\/\* .*objstore\.h:[0-9]*:[A-Z]* \*\/ extern [^(]*[ *]\(objstore_[a-z0-9_]*\) (.*/\1/p' "$work/declarations" |
    sort -u >"$work/declared"
nm -D --defined-only "$library" | awk '$2 ~ /^[B-Z]$/ { print $3 }' | sed 's/@.*//' | sort -u >"$work/exported"

[ -s "$work/declared" ] || { echo "no declaration found in include/objstore.h" >&2; exit 1; }
comm -23 "$work/declared" "$work/exported" | sed 's/^/declared, not exported: /' >"$work/problems"
comm -13 "$work/declared" "$work/exported" | sed 's/^/exported, not declared: /' >>"$work/problems"
if [ -s "$work/problems" ]; then
    cat "$work/problems" >&2
    exit 1
fi
echo "$(wc -l <"$work/declared") functions declared and exported"
