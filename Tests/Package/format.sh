#!/usr/bin/env bash
# usage: format.sh
#
# The sources are as the formatters make them: Swift by .swift-format (`swift format`, of the toolchain), Python by
# ruff.toml; and no line of them, nor of C, is longer than 120 columns. `swift format format -i -p -r Sources Tests` and
# `build/venv/bin/ruff format` put it right.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/objstore-format.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "format.sh: $*" >&2; exit 1; }

swift_sources=(Package.swift Sources Tests Benchmarks bindings demo)
lint() { swift format lint --strict --parallel --recursive --configuration .swift-format "$@"; }
too_long() { LC_ALL=C.UTF-8 grep -nHE '^.{121,}$' "$@" /dev/null; }

# Each of them must be able to fail.
printf 'let a  = 1\n' >"$work/control.swift"
! lint "$work/control.swift" 2>/dev/null || fail "swift format finds nothing wrong where there is something"
printf '// %0120d\n' 0 >"$work/control.c"
too_long "$work/control.c" >/dev/null || fail "a line of 123 columns is not found"

lint "${swift_sources[@]}" || fail "not formatted"
ruff=build/venv/bin/ruff
[ -x "$ruff" ] || fail "there is no build/venv: run scripts/setup"
printf 'import os\nx  = 1\n' >"$work/control.py"
! "$ruff" format --quiet --check --config ruff.toml "$work/control.py" >/dev/null || fail "ruff finds nothing wrong where there is something"
! "$ruff" check --quiet --config ruff.toml "$work/control.py" >/dev/null || fail "ruff finds nothing unused where there is something"
"$ruff" format --check && "$ruff" check || fail "Python is not formatted"
mapfile -d '' sources < <(find include Sources Tests Benchmarks bindings demo \( -name '*.[ch]' -o -name '*.swift' \) -print0)
! too_long "${sources[@]}" || fail "lines of more than 120 columns"
