#!/bin/sh
# The layout of every public structure, and every enum value, as gcc and clang see them.
set -eu
cd "$(dirname "$0")/../.."
for compiler in gcc clang; do
    "$compiler" -std=c99 -Wall -Wextra -pedantic -Werror -Iinclude -fsyntax-only Tests/Package/layout.c
    echo "$compiler: layout as declared"
done
