#!/usr/bin/env bash
# usage: languages.sh [LIBRARY FOLDER]
#
# The programs of docs/other-languages.md and docs/callbacks.md as they are there, in a folder with objstore.h and
# libobjstore.so; and that readers of C that are no compilers (cffi, LuaJIT) see every function, structure and constant of the header.
# A language that this machine does not have is named; Lua, Go and Python are installed by scripts/setup.
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$(realpath "${1:-build/lib}")
python=$PWD/build/venv/bin/python
folder=$(mktemp -d "${TMPDIR:-/var/tmp}/objstore-languages.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cp include/objstore.h "$folder"
cp -a "$library"/libobjstore.so* "$folder"
block() { # LANGUAGE [DOCUMENT]
    awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } /^```$/ { inside = 0 } inside' "docs/${2:-other-languages}.md"
}
expect() { # LANGUAGE TEXT
    [ "$(cat "$folder/output")" = "$2" ] || { echo "languages.sh: the program in $1 says:" >&2; cat "$folder/output" >&2; exit 1; }
    echo "$1: $2"
}
export LD_LIBRARY_PATH=$folder

block rust >"$folder/first.rs"
if command -v rustc >/dev/null; then
    (cd "$folder" && rustc --edition 2021 -D warnings first.rs -L . -o rust-first && ./rust-first) >"$folder/output"
    expect Rust "1 dogs younger than 2"
else
    echo "Rust: not on this machine"
fi
block lua >"$folder/first.lua"
(cd "$folder" && luajit first.lua) >"$folder/output"
expect Lua "1 dogs younger than 2"
block lua callbacks >"$folder/callbacks.lua"
(cd "$folder" && luajit callbacks.lua) >"$folder/output"
expect "Lua with functions made at run time" "$(printf '%s\n' 'new: Rex, 10' 'new: Ben, 4' 'gone: Rex, 10' 'by age: Ella Rex Ben')"
block go >"$folder/first.go"
(cd "$folder" && HOME=$folder GOCACHE=$folder/cache CGO_ENABLED=1 go run first.go) >"$folder/output"
expect Go "1 dogs younger than 2"
block python >"$folder/first.py"
(cd "$folder" && "$python" first.py) >"$folder/output"
expect "Python with cffi" "3 dogs"

# Everything, by name: what the compiler's preprocessor leaves of the header is compared with what they found.
(cd "$folder" && cpp -P -DOBJSTORE_DECLARATIONS_ONLY objstore.h >plain.h)
"$python" - "$folder" <<'PYTHON'
import pathlib, re, sys
import cffi
folder = pathlib.Path(sys.argv[1])
header = re.sub(r"/\*.*?\*/", "", (folder / "objstore.h").read_text(), flags=re.S)
ffi = cffi.FFI()
ffi.cdef((folder / "plain.h").read_text())
C = ffi.dlopen(str(folder / "libobjstore.so"))
functions = re.findall(r"^OBJSTORE_API [^(]*?(\w+)\(", header, flags=re.M)
constants = dict(re.findall(r"\b(OBJSTORE_[A-Z0-9_]+) = (-?(?:0x)?[0-9A-Fa-f]+)", header))
structures = re.findall(r"^typedef struct (objstore_\w+) \{", header, flags=re.M)
assert len(functions) > 200 and len(constants) > 150 and len(structures) > 15, (len(functions), len(constants), len(structures))
for function in functions:
    getattr(C, function)
for name, value in constants.items():
    assert getattr(C, name) == int(value, 0), name
for structure in structures:
    assert ffi.sizeof(structure) > 0
macros = set(re.findall(r"^#\s*define (OBJSTORE_[A-Z0-9_]+) [^\\]", header, flags=re.M))
flags = [m for m in macros if re.search(r"_(PROPERTY|CLASS|INDEX|CONFIG|INFO|FROM|RANGE|OBSERVE|CHANGES|JSON|SETS|ENUMERATION)_", m)]
assert not flags, f"flags that are macros: {flags}"
print(f"cffi: {len(functions)} functions, {len(constants)} constants, {len(structures)} structures")
(folder / "names.lua").write_text(
    "local ffi = require('ffi')\nffi.cdef(io.open('plain.h'):read('*a'))\nlocal C = ffi.load('objstore')\n"
    + "".join(f"assert(C.{f})\n" for f in functions)
    + "".join(f"assert(C.{n} == {int(v, 0)}, '{n}')\n" for n, v in constants.items())
    + "".join(f"assert(ffi.sizeof('{s}') == {ffi.sizeof(s)}, '{s}')\n" for s in structures)
    + "print('LuaJIT: the same')\n")
PYTHON
(cd "$folder" && luajit names.lua)
