#!/usr/bin/env bash
# The C example programs as a newcomer compiles and runs them: strict C99, against the built library.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d "${TMPDIR:-/var/tmp}/objstore-examples.XXXXXX")
trap 'rm -rf "$folder"' EXIT
compile() {
    gcc -std=c99 -Wall -Wextra -pedantic -Werror -Iinclude "bindings/c/$1.c" -Lbuild/lib -lobjstore \
        -Wl,-rpath,"$PWD/build/lib" -o "$folder/$1"
}
expect() { # TEXT in the output of the last program
    grep -qF -- "$1" "$folder/output" || { echo "examples.sh: '$1' is missing in:" >&2; cat "$folder/output" >&2; exit 1; }
}
compile first
(cd "$folder" && ./first) >"$folder/output"
expect "Rex: created"
expect "2 dogs, 1 of them younger than 2"
(cd "$folder" && ./first) >"$folder/output"
expect "Rex: was there"
compile columns
(cd "$folder" && ./columns) >"$folder/output"
expect "created 1000000"
echo "examples: first, columns"
