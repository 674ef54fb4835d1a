#!/usr/bin/env bash
# include/objstore.h is plain C99, clean C++11, and says everything it needs itself: included first,
# alone and twice, with no warning from either compiler family. Its table of contents has its sections, and the words of
# its OBJSTORE_CHECKS are those that bad_arguments.md explains (contract.py).
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

# The table of contents and the words, first with headers that must be refused.
contract() { python3 -B "$root/Tests/Package/contract.py" "$1"; }
refused() { # SED TEXT: the header with that change is refused, and the message has the text
    sed -E "$1" "$root/include/objstore.h" >"$work/control.h"
    ! cmp -s "$root/include/objstore.h" "$work/control.h" || { echo "header.sh: '$1' changes nothing" >&2; exit 1; }
    ! contract "$work/control.h" >"$work/said" || { echo "header.sh: '$1' is not refused" >&2; exit 1; }
    grep -qF "$2" "$work/said" || { echo "header.sh: '$1':" >&2; cat "$work/said" >&2; exit 1; }
}
refused 's/^( \*  6\. Stores)$/\1 and more/' '6. Stores, and no section is called so'
refused '/^ \* +21\. JSON$/{x;s/^/x/;/^x$/{x;d};x}' 'section 21. JSON is not in the table of contents'
refused 's/^ \*  7\. (Views and transactions)$/ *  8. \1/' 'is number 7 in the file'
refused 's/\(section 11\)/(section 41)/' 'there is no section 41'
refused 's/callback\(store\)/recall(store)/' 'unknown token recall'
refused 's/, callback\(store\)//' 'callback is explained, and no declaration uses it'
sed 's/callback(store)/recall(store)/' "$root/include/objstore.h" >"$work/control.h"
! python3 -B "$root/Tests/Package/bad_arguments.py" "$work/control.h" "$work/bad.c" 2>"$work/said" ||
    { echo "header.sh: bad_arguments.py takes a word that it does not know" >&2; exit 1; }
grep -qF 'no case for the token recall' "$work/said" || { cat "$work/said" >&2; exit 1; }
contract "$root/include/objstore.h"
