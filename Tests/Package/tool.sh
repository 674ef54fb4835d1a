#!/usr/bin/env bash
# usage: tool.sh TOOL
#
# The command-line tool: query, verify and salvage, their exit status, their output as text and as JSON, and that it needs
# nothing but what a Debian system has.
set -euo pipefail
cd "$(dirname "$0")/../.."
tool=$(realpath "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/objstore tool.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "tool.sh: $*" >&2; exit 1; }

# status WANTED ARGUMENTS…: runs the tool; its output is in $work/out and $work/err.
status() {
    local wanted=$1 got=0
    shift
    "$tool" "$@" >"$work/out" 2>"$work/err" || got=$?
    [ "$got" = "$wanted" ] || { cat "$work/out" "$work/err" >&2; fail "objstore $*: exit status $got, not $wanted"; }
}
says() { grep -F -- "$2" "$work/$1" >/dev/null || { cat "$work/$1" >&2; fail "nothing about '$2'"; }; }

needed=$(readelf -d "$tool" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $needed; do
    case $name in
        libc.so.6 | libm.so.6 | libgcc_s.so.1 | libstdc++.so.6 | libffi.so.8 | libcrypto.so.3 | ld-linux-*) ;;
        *) fail "needs $name" ;;
    esac
done
[ "$("$tool" --version)" = "$(scripts/version)" ] || fail "--version"

# A store by the C interface, through Python's ctypes package.
PYTHONPATH=bindings/python/src OBJSTORE_LIBRARY=$PWD/build/lib/libobjstore.so /usr/bin/python3 - "$work/a store" <<'PYTHON'
import sys
import objstore
from objstore import field

class Item(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    note: str | None = None

class Other(objstore.Model):
    x: int = 0

with objstore.open(sys.argv[1], models=[Item, Other]) as store, store.write():
    store.create_all(Item, [[i, f"item {i:08}", f"note {i * 7919 % 10007:08}"] for i in range(5000)])
    store.create_all(Other, [[i * i] for i in range(100)])
PYTHON

cp "$work/a store" "$work/copy"
before=$(sha256sum <"$work/copy")
status 0 verify "$work/copy"
says out "class Item: 5000 objects"
[ "$(tail -n 1 "$work/out")" = sound ] || fail "the last line is not 'sound'"
[ ! -s "$work/err" ] || fail "standard error is not empty"
status 0 salvage "$work/copy" "$work/new"
[ "$(tail -n 1 "$work/out")" = complete ] || fail "the last line is not 'complete'"
status 0 verify "$work/new"

# Queries: tables, JSON and CSV that other programs read, plans, and what is wrong with them.
status 0 query "$work/a store" Item 'id < 3 SORT(id DESC)'
says out "item 00000002"
[ "$(tail -n 1 "$work/out")" = "3 rows" ] || fail "the last line is not '3 rows'"
status 0 query "$work/a store" Item 'GROUP(id / 1000 AS thousand) SELECT(thousand, @count AS n, @min.name)' --json
/usr/bin/python3 - "$work/out" <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))
assert rows == [{"thousand": i, "n": 1000, "@min.name": f"item {i * 1000:08}"} for i in range(5)], rows
PYTHON
status 0 query "$work/a store" Item 'SELECT(name, note)' --csv
/usr/bin/python3 - "$work/out" <<'PYTHON'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
assert rows[0] == ["name", "note"] and len(rows) == 5001 and rows[-1] == ["item 00004999", f"note {4999 * 7919 % 10007:08}"]
PYTHON
status 0 query "$work/a store" Item 'id < 10' --explain
says out "Item: 5000 objects"
status 0 query "$work/a store" Other
[ "$(tail -n 1 "$work/out")" = "100 rows" ] || fail "the last line is not '100 rows'"
status 2 query "$work/a store" Item 'nam == "x"'
says err "did you mean name?"
says err "    ^"
status 2 query "$work/a store" Nobody
says err "there is no class Nobody"
status 2 query "$work/no store" Item
[ ! -e "$work/no store" ] || fail "a query made a store"
[ ! -s "$work/out" ] || fail "standard output is not empty"

# A name is damaged.
/usr/bin/python3 - "$work/copy" <<'PYTHON'
import sys
content = bytearray(open(sys.argv[1], "rb").read())
at = content.find(b"note 0000")
assert at > 0, "the notes are not stored as they are: damage something else"
content[at + 8] ^= 1
open(sys.argv[1], "wb").write(content)
PYTHON
damaged=$(sha256sum <"$work/copy")
[ "$before" != "$damaged" ] || fail "nothing is damaged"
status 1 verify "$work/copy"
says out "class Item, property note, objects "
status 1 verify --json "$work/copy"
/usr/bin/python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
assert report["complete"] is False and len(report["findings"]) == 1, report
assert [(c["name"], c["objects"], c["lost"]) for c in report["classes"]] == [("Item", 5000, 0), ("Other", 100, 0)], report
' "$work/out"
status 2 salvage "$work/copy" "$work/new"
says err "there is something at"
rm "$work/new"
status 1 salvage --json "$work/copy" "$work/new"
/usr/bin/python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
lost = report["classes"][0]["lost_values"]["note"]
assert report["complete"] is False and 0 < lost < 600 and report["classes"][0]["objects"] == 5000, report
assert report["classes"][1]["lost_values"] == {} and report["classes"][1]["lost"] == 0, report
' "$work/out"
status 0 verify "$work/new"
[ "$(sha256sum <"$work/copy")" = "$damaged" ] || fail "the damaged file was changed"

# What is no store, and wrong arguments.
for file in "$work/none" "$work" README.md; do
    status 2 verify "$file"
    says err objstore:
    status 2 salvage "$file" "$work/other"
    [ ! -e "$work/other" ] || fail "something was made of $file"
done
for arguments in "" "verify" "salvage one" "mend file" "verify --fast file"; do
    # shellcheck disable=SC2086  # words
    got=0
    "$tool" $arguments >"$work/out" 2>"$work/err" || got=$?
    case "$arguments:$got" in
        :2 | verify:2 | salvage*:2 | mend*:2 | "verify --fast file":2) ;;
        *) cat "$work/out" "$work/err" >&2; fail "objstore $arguments: exit status $got" ;;
    esac
done
"$tool" --help >"$work/out" || fail "--help"
says out verify

# A report that is not delivered.
sound=$(sha256sum <"$work/new")
unheard() {
    local got=0
    "$tool" "$@" >/dev/full 2>"$work/err" || got=$?
    [ "$got" = 2 ] || fail "objstore $* >/dev/full: exit status $got"
    says err "cannot be written: No space left on device"
    got=0
    "$tool" "$@" >&- 2>"$work/err" || got=$?
    [ "$got" = 2 ] || fail "objstore $* >&-: exit status $got"
    says err "cannot be written: "
    got=0
    "$tool" "$@" <&- >&- 2>&- || got=$?
    [ "$got" = 2 ] || fail "objstore $* with nothing open: exit status $got"
}
unheard --version
unheard verify "$work/new"
unheard verify --json "$work/new"
[ "$(sha256sum <"$work/new")" = "$sound" ] || fail "a report was written into the store"

# Without /proc: the arguments are there all the same.
if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016  # expanded by the inner shell
    unshare --mount bash -c '
        mount -t tmpfs none /proc
        got=0
        "$1" verify README.md 2>"$2/err" || got=$?
        [ $got = 2 ] || exit 1
        got=0
        "$1" verify "$2/new" >"$2/out" || got=$?
        [ $got = 0 ] || exit 1
        got=0
        "$1" salvage "$2/new" "$2/other" 2>"$2/err" || got=$?
        [ $got = 2 ] && [ ! -e "$2/other" ]
    ' - "$tool" "$work" || { cat "$work/out" "$work/err" >&2; fail "without /proc"; }
    says err "needs /proc"
fi

[ "$(find "$work" -name 'new*' -o -name 'other*' | wc -l)" = 1 ] || fail "files were left behind: $(ls "$work")"
echo "verify and salvage work; $(stat -c %s "$tool") bytes, needs $(echo $needed)"
