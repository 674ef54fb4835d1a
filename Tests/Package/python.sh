#!/usr/bin/env bash
# usage: Tests/Package/python.sh [PYTEST-ARGUMENT...]
#
# The Python package as a stranger gets it: builds the wheel, looks into it, installs it into a new
# virtual environment outside of the checkout, and runs its tests there, type checkers included.
# The tools (pytest, mypy, NumPy) come from build/venv, so that no network is needed.
# OBJSTORE_LIBRARY=FILE: packs that library instead of building one.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
tools=$root/build/venv
[ -x "$tools/bin/python" ] || { echo "python.sh: there is no build/venv: run scripts/setup" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/objstore-python.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$tools/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
    --wheel-dir "$work" "$root/bindings/python"
wheel=$(ls "$work"/*.whl)
case ${wheel##*/} in
    objstore-"$("$root/scripts/version")"-py3-none-linux_*.whl) ;;
    *) echo "python.sh: a wheel of that name is wrong: ${wheel##*/}" >&2; exit 1 ;;
esac
listing=$("$tools/bin/python" -m zipfile --list "$wheel")
for file in objstore/__init__.py objstore/values/kinds.py objstore/py.typed objstore/libobjstore.so; do
    grep -q "^$file " <<<"$listing" || { echo "python.sh: $file is not in ${wheel##*/}" >&2; exit 1; }
done

# A new environment, in which the tools are found by a path file.
"$tools/bin/python" -m venv --without-pip "$work/venv"
site=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$tools/bin/python" -m pip --python "$work/venv/bin/python" install --quiet --disable-pip-version-check --no-deps \
    --no-index "$wheel"
"$tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/tools.pth"

unset OBJSTORE_LIBRARY PYTHONPATH
cd "$work"
"$work/venv/bin/python" -c '
import objstore, sys
from objstore.native import library
assert objstore.__file__.startswith(sys.prefix), objstore.__file__
assert library.find().startswith(sys.prefix), library.find()
print("objstore", objstore.__version__, "from the wheel, Python", sys.version.split()[0])'
PYTHONDONTWRITEBYTECODE=1 "$work/venv/bin/python" -m pytest -q -p no:cacheprovider -W error "$@" "$root/bindings/python/tests"
