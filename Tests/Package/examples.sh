#!/usr/bin/env bash
# The example programs as a newcomer compiles and runs them: those in C, strict C99, against the built library; the one
# in Swift as it is in README.md, as a package that depends on this one. And what the compiler says of mistakes.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d "${TMPDIR:-/var/tmp}/objstore-examples.XXXXXX")
trap 'rm -rf "$folder"' EXIT
compile() {
    gcc -std=c99 -Wall -Wextra -pedantic -Werror -Iinclude "bindings/c/$1.c" -Lbuild/lib -lobjstore -lm \
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
compile json
echo '[{"name": "Bea", born: "1990",}, {"name": "Ada", "pets": [{"name": "Byron"}]}]' >"$folder/people.json"
(cd "$folder" && ./json people.json) >"$folder/output"
expect "2 from people.json"
expect 'refused: line 2, column 20, at $.pets[0].legs'
expect '      "name": "Tweety",'
expect '{"name":"Bea","born":{"$date":"1990-01-01T00:00:00Z"},"pets":[]}'
compile callbacks
(cd "$folder" && ./callbacks) >"$folder/output"
expect "(position 5)"
expect "new Oslo: 3.5 degrees"
expect "changed Oslo: 4.0 degrees"
expect "warm: Rome, 19.0"
expect "not warm any more: Rome, 19.0"
expect "4 calls, 4 cities counted"
expect "version 1 became 2: all 0.5 degrees warmer"
expect "from cold to warm: Oslo Rome"
expect "verify, told how far it is: OBJSTORE_ERR_CANCELLED"
compile functions
(cd "$folder" && ./functions) >"$folder/output"
expect "3: Bern Thun Zürich"
expect "1 call for all of them"
expect "function haversine: no latitude (90)"
compile columns
(cd "$folder" && ./columns) >"$folder/output"
expect "created 1000000"
compile lists
(cd "$folder" && ./lists) >"$folder/output"
expect "tag 0: poetry"
expect "chess: 7.5"
expect "dogs of Ada: 1"
expect "Rex was walked by 1, and is gone from a list of 0"
compile documents
(cd "$folder" && ./documents) >"$folder/output"
expect "first seen: 7"
expect '{"name": "Rex", "seen": [7, 2.5, true]}'
compile graphs
(cd "$folder" && ./graphs) >"$folder/output"
expect "the friend of Ada's friend is Ada"
expect "the owner of Rex lives in Rome"
expect "node 1: person 1 changed"
expect "node 2: person 0 unchanged"
expect "the same home, now in Oslo"
expect 'refused: node 1: $.home.city: '
expect "still in Oslo"
compile async
(cd "$folder" && ./async async.objstore) >"$folder/output"
expect "1000 readings, and the loop has ticked"
compile requests
(cd "$folder" && ./requests notes.objstore) >"$folder/output"
expect "bread is done: shown: milk, salt"
expect "told by another: 0 gone, 1 come: shown: milk, salt, tea"

# The first program of README.md in Swift, in a folder of its own, without warnings.
package=$folder/kennel
build=${OBJSTORE_SCRATCH:-$PWD/.build}/kennel
mkdir -p "$package/Sources/kennel"
block() { awk -v wanted="$1" '/^```swift$/ { inside = ++count == wanted; next } /^```$/ { inside = 0 } inside' README.md; }
block 1 | sed "s|\"../objstore\"|\"$PWD\"|" >"$package/Package.swift"
block 2 >"$package/Sources/kennel/main.swift"
swift build --package-path "$package" --scratch-path "$build" -Xswiftc -gnone >"$folder/output" 2>&1 || { cat "$folder/output" >&2; exit 1; }
# Nothing else is fetched for it: what the command-line tool needs, the tool alone gets.
[ ! -e "$package/Package.resolved" ] && ! grep -F 'argument-parser' "$folder/output" >&2 || { echo "examples.sh: other packages are fetched for the Swift program" >&2; exit 1; }
! grep -F 'warning:' "$folder/output" >&2 || { echo "examples.sh: the Swift program is built with warnings" >&2; exit 1; }
rm -f "$folder"/dogs.objstore*
(cd "$folder" && "$build/debug/kennel") >"$folder/output"
expect 'there: []'
expect 'new: ["Rex", "Ella"]'
expect "2 dogs, 1 of them younger than 2"
(cd "$folder" && "$build/debug/kennel") >"$folder/output"
expect 'there: ["Rex", "Ella"]'
! grep -F new: "$folder/output" >&2 || { echo "examples.sh: the second run found new dogs" >&2; exit 1; }

# What the compiler says of what cannot be persisted or asked: each line of refused.swift names it.
swiftc -typecheck -swift-version 6 -diagnostic-style llvm -I "$build/debug/Modules" \
    $(printf -- '-Xcc -fmodule-map-file=%s ' "$PWD"/Sources/{CRuntime/include,CSystem/include,CCrypto,CFFI}/module.modulemap) \
    Tests/Package/refused.swift >"$folder/output" 2>&1 && { echo "examples.sh: refused.swift is compiled" >&2; exit 1; }
awk -F '  // ' '
    FNR == NR { if (match($0, /refused\.swift:[0-9]+:[0-9]+: error: /)) { split(substr($0, RSTART), at, ":"); told[at[2]] = told[at[2]] "\n" $0 } next }
    NF < 2 && FNR in told { print "examples.sh: refused.swift:" FNR ": nothing is wrong here:" told[FNR]; bad = 1 }
    NF == 2 && !index(told[FNR], $2) { print "examples.sh: refused.swift:" FNR ": not \"" $2 "\", but" told[FNR]; bad = 1 }
    NF == 2 { ++count }
    END { if (count < 20) bad = 1; exit bad }' "$folder/output" Tests/Package/refused.swift >&2
echo "examples: first, json, callbacks, functions, columns, lists, documents, graphs, the Swift program of README.md, and what the compiler refuses"
