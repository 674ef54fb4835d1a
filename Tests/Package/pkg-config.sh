#!/usr/bin/env bash
# A C program is compiled against the installed objstore with what pkg-config answers, and runs.
set -euo pipefail
. "$(dirname "$0")/install.sh"

install_objstore "Unix Makefiles"
pc=$(find "$prefix" -name objstore.pc)
[ -n "$pc" ] || fail "objstore.pc is not installed"
export PKG_CONFIG_PATH=${pc%/*}
[ "$(pkg-config --modversion objstore)" = "$version" ] || fail "pkg-config says version $(pkg-config --modversion objstore)"

# eval: pkg-config escapes the blanks of the prefix for a shell.
eval "flags=($(pkg-config --cflags --libs objstore))"
gcc -std=c99 -Wall -Wextra -Werror "$root/Tests/Package/consumer/main.c" "${flags[@]}" -o "$work/consumer"
LD_LIBRARY_PATH=$(dirname "${PKG_CONFIG_PATH}") "$work/consumer"
