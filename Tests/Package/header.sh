#!/usr/bin/env bash
# include/objstore.h is plain C99, clean C++11, and says everything it needs itself: included first,
# alone and twice, with no warning from either compiler family.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
toolchain=$("$root/scripts/toolchain")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#include <objstore.h>\n#include <objstore.h>\nint main(void) { return objstore_version() == 0; }\n' >"$work/use.c"
cp "$work/use.c" "$work/use.cpp"

check() {
    "$@" -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$root/include"
    echo "ok: ${*##*/}"
}
check gcc -std=c99 -Wstrict-prototypes "$work/use.c"
check gcc -std=c17 -Wstrict-prototypes "$work/use.c"
check g++ -std=c++11 "$work/use.cpp"
check g++ -std=c++20 "$work/use.cpp"
check "$toolchain/bin/clang" -std=c99 -Wstrict-prototypes -Wdocumentation "$work/use.c"
check "$toolchain/bin/clang++" -std=c++11 "$work/use.cpp"
