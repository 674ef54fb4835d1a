#!/usr/bin/env bash
# usage: library.sh LIBRARY
#
# The library is what may be shipped: right soname and links, no Swift runtime or Foundation library
# needed at run time, nothing but what a Debian system has, stripped, loadable.
set -euo pipefail
library=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
version=$("$root/scripts/version")
fail() { echo "library.sh: $*" >&2; exit 1; }

soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = "libobjstore.so.${version%%.*}" ] || fail "soname is '$soname'"
[ "$(basename "$(readlink -f "$library")")" = "libobjstore.so.$version" ] || fail "$library does not lead to libobjstore.so.$version"
[ "$(readlink -f "$(dirname "$library")/$soname")" = "$(readlink -f "$library")" ] || fail "$soname leads elsewhere"

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $needed; do
    case $name in
        libc.so.6 | libm.so.6 | libgcc_s.so.1 | libstdc++.so.6 | libffi.so.8 | libcrypto.so.3 | ld-linux-*) ;;
        *) fail "needs $name" ;;
    esac
done
[ -z "$(readelf -d "$library" | grep -E 'RPATH|RUNPATH' | grep -v '\[\$ORIGIN\]')" ] || fail "carries a search path of the build machine"
[ -z "$(readelf -S "$library" | grep -F .symtab)" ] || fail "not stripped"

# The mistakes that the rigs inject are numbers in the library, and names only in the rigs.
bugs=$(sed -n 's/^        ("\([A-Za-z]*\)", .*/\1/p' "$root/Sources/ObjStoreSimulation/InjectedBug+Names.swift")
names_in() { grep -aoF "$bugs" "$1" | sort -u; }
[ "$(names_in "$root/Sources/ObjStoreCore/Platform/InjectedBug.swift" | wc -l)" -ge 80 ] || fail "too few injected bugs are known"
[ -z "$(names_in "$library")" ] || fail "has names of injected bugs: $(names_in "$library" | tr '\n' ' ')"
/usr/bin/python3 -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1]).objstore_version' "$library"
echo "$soname, $(stat -L -c %s "$library") bytes, needs $(echo $needed)"
