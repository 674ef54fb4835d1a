#!/usr/bin/env bash
# usage: processes.sh [LIBRARY FOLDER]
#
# A forked child finds its parent's handles dead; and scenario A11: a writer that commits 50 dogs a
# transaction is killed again and again, and nothing acknowledged is ever missing or half there.
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$(realpath "${1:-build/lib}")
rounds=${ROUNDS:-20}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${CC:-cc}" -std=gnu99 -Wall -Wextra -Werror -O1 -Iinclude -o "$folder/processes" Tests/Package/processes.c \
    -L"$library" -lobjstore -Wl,-rpath,"$library"
"$folder/processes" fork "$folder/forked.objstore"
echo "fork: the child's handles are dead, the parent goes on"

acknowledged=0
for ((round = 1; round <= rounds; round++)); do
    "$folder/processes" write "$folder/dogs.objstore" >"$folder/said" &
    writer=$!
    sleep "0.$((RANDOM % 15 + 5))"
    kill -KILL "$writer"
    wait "$writer" 2>/dev/null || true
    last=$(awk '/^acknowledged [0-9]+$/ { n = $2 } END { print n + 0 }' "$folder/said")
    ((last > 0)) && acknowledged=$last
    "$folder/processes" check "$folder/dogs.objstore" "$acknowledged"
done
((acknowledged > 0)) || { echo "processes.sh: no transaction was ever acknowledged" >&2; exit 1; }
echo "A11: $rounds writers killed, $acknowledged dogs acknowledged, none missing"
