"""What type checkers say to the package and to a program that uses it."""

import pathlib
import re
import subprocess
import sys

import pytest

import objstore

HERE = pathlib.Path(__file__).parent
PROGRAM = HERE / "typed_program.py"
PACKAGE = pathlib.Path(objstore.__file__).parent


def expected(program):
    """{line: the complaints it announces}"""
    lines = program.read_text(encoding="utf-8").splitlines()
    found = {n: re.search(r"# error: (.*)$", line) for n, line in enumerate(lines, 1)}
    return {n: set(f[1].split(", ")) for n, f in found.items() if f}


def mypy(*arguments):
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--cache-dir",
        "/dev/null",
        *map(str, arguments),
    ]
    return subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent, timeout=300)


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()
    run = mypy("-p", "objstore")
    assert run.returncode == 0, run.stdout + run.stderr


def test_mypy_knows_the_program():
    run = mypy(PROGRAM)
    found = {}
    for line, code in re.findall(rf"^.*{PROGRAM.name}:(\d+): error: .*\[([\w-]+)\]$", run.stdout, re.MULTILINE):
        found.setdefault(int(line), set()).add(code)
    wanted = expected(PROGRAM)
    assert found.keys() == wanted.keys(), run.stdout + run.stderr
    assert all(found[line] & wanted[line] for line in wanted), run.stdout


def test_basedpyright_knows_the_program():
    pytest.importorskip("basedpyright")
    command = [sys.executable, "-m", "basedpyright", "--level", "error", "--pythonpath", sys.executable, str(PROGRAM)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent, timeout=300)
    found = {int(line) for line in re.findall(rf"{PROGRAM.name}:(\d+):\d+ - error", run.stdout)}
    assert found == set(expected(PROGRAM)), run.stdout + run.stderr


def test_the_program_runs_but_for_its_mistakes(path, tmp_path):
    text = PROGRAM.read_text(encoding="utf-8")
    good = tmp_path / "good.py"
    good.write_text("\n".join(line for line in text.splitlines() if "# error:" not in line), encoding="utf-8")
    run = subprocess.run([sys.executable, str(good), str(path)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "Max" in run.stdout
