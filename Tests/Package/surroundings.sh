#!/usr/bin/env bash
# usage: surroundings.sh [LIBRARY FOLDER]
#
# What the program around the library does: cancelled threads, small stacks, memory that runs out, fork in callbacks,
# closing while others are at work, umasks, a transaction that is used while a text is read into it (surroundings.c);
# plugins that load the library and unload it again and again, on threads that end later (unloaded.c).
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$(realpath "${1:-build/lib}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${CC:-cc}" -std=gnu99 -Wall -Wextra -Werror -O1 -pthread -Iinclude -o "$folder/surroundings" Tests/Package/surroundings.c \
    -L"$library" -lobjstore -Wl,-rpath,"$library"
for what in worker close fork stack memory limit cancel masked stream; do
    "$folder/surroundings" "$what" "$folder"
done
"${CC:-cc}" -std=gnu99 -Wall -Wextra -Werror -O1 -pthread -Iinclude -o "$folder/unloaded" Tests/Package/unloaded.c -ldl
"$folder/unloaded" "$library/libobjstore.so.0" 3000
