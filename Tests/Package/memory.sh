#!/usr/bin/env bash
# usage: memory.sh [LIBRARY FOLDER]
#
# Transactions of many times the memory that a process may have for itself; and that the same fails, with a status,
# where they may keep more of their changes in memory than there is.
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$(realpath "${1:-build/lib}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${CC:-cc}" -std=gnu99 -Wall -Wextra -Werror -O1 -Iinclude -o "$folder/memory" Tests/Package/memory.c \
    -L"$library" -lobjstore -Wl,-rpath,"$library"
mkdir "$folder/bounded" "$folder/unbounded"
"$folder/memory" "$folder/bounded" $((4 << 20))
if "$folder/memory" "$folder/unbounded" $((1 << 30)) 2>"$folder/said"; then
    echo "memory.sh: all of it fitted into memory: this test sees nothing" >&2
    exit 1
fi
grep -F OBJSTORE_ERR_OUT_OF_MEMORY "$folder/said" || { cat "$folder/said" >&2; exit 1; }
