# Sourced by cmake.sh and pkg-config.sh: installs objstore into a new prefix and then moves it, both
# with blanks in their paths. Sets root, work (removed at exit), prefix and version.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
version=$("$root/scripts/version")
work=$(mktemp -d "${TMPDIR:-/tmp}/objstore consumer.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "$(basename "$0"): $*" >&2; exit 1; }

install_objstore() {
    local generator=$1
    cmake -S "$root" -B "$work/build" -G "$generator" -DCMAKE_INSTALL_PREFIX="$work/first prefix" >"$work/log" ||
        { cat "$work/log"; fail "configure"; }
    cmake --build "$work/build"
    cmake --install "$work/build" >>"$work/log"
    prefix="$work/moved prefix"
    mv "$work/first prefix" "$prefix"
}
