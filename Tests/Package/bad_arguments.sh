#!/usr/bin/env bash
# usage: bad_arguments.sh [LIBRARY FOLDER]
#
# Every function of the header with every bad argument that its OBJSTORE_CHECKS name: see bad_arguments.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$(realpath "${1:-build/lib}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -B Tests/Package/contract.py include/objstore.h
python3 -B Tests/Package/bad_arguments.py include/objstore.h "$folder/bad.c"
"${CC:-cc}" -std=c99 -Wall -Wno-unused -g -Iinclude -o "$folder/bad" "$folder/bad.c" -L"$library" -lobjstore -Wl,-rpath,"$library"
"$folder/bad" "$folder"
