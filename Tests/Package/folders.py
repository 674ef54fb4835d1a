#!/usr/bin/env python3
# usage: folders.py INDEX [SOURCES]
#
# The folders of Sources/ObjStoreCore have an order, the way data flows: what is in one knows nothing of those behind
# it. Read from the index that the compiler writes in a debug build, which has every use of every declaration: so
# this sees members and extensions as well as types. INDEX: …/debug/index/store. Exceptions are below, each with its
# reason.
import collections
import ctypes
import os
import pathlib
import subprocess
import sys

FOLDERS = """Platform Values Texts Pages Schema Log Leaves Trees Transactions AsyncWrites Scans Objects Queries JSON
             Arrow Assembly Observation Trampolines Verification Salvage Facade""".split()

# file that uses → file that is used: at most ten.
EXCEPTIONS = {
    ("Transactions/Recovery.swift", "Objects/Replay.swift"): "a record of the log is applied to objects",
    ("Scans/LeafScan.swift", "Queries/Conditions/ValueTest.swift"): "what is computed narrows the mask of a leaf",
}


class Text(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.start, self.length).decode() if self.length else ""


class Index:
    """What libIndexStore of the toolchain tells: https://github.com/swiftlang/llvm-project, indexstore.h."""

    DEFINITION_OR_DECLARATION, REFERENCE, RECORD = 3, 4, 2
    callback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
    text_callback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, Text)

    def __init__(self, path):
        swift = subprocess.run(["swift", "-print-target-info"], check=True, capture_output=True, text=True).stdout
        resources = next(line.split('"')[3] for line in swift.splitlines() if "runtimeResourcePath" in line)
        self.library = ctypes.CDLL(os.path.join(os.path.dirname(resources), "libIndexStore.so"))
        self.store = self.call("store_create", ctypes.c_void_p, os.fsencode(path), ctypes.byref(ctypes.c_void_p()))
        if not self.store:
            sys.exit(f"folders.py: there is no index at {path}")

    def call(self, name, result, *arguments):
        function = getattr(self.library, "indexstore_" + name)
        function.restype = result
        return function(*[ctypes.c_void_p(a) if isinstance(a, int) and a > 1 << 31 else a for a in arguments])

    def records(self, folder):
        """The names of the records of the sources below a folder, by path."""
        units, found = [], {}
        self.call(
            "store_units_apply_f",
            ctypes.c_bool,
            self.store,
            0,
            None,
            self.text_callback(lambda _, name: units.append(str(name)) or True),
        )
        for unit in units:
            reader = self.call(
                "unit_reader_create", ctypes.c_void_p, self.store, unit.encode(), ctypes.byref(ctypes.c_void_p())
            )

            def add(_, dependency):
                if self.call("unit_dependency_get_kind", ctypes.c_int, dependency) == self.RECORD:
                    path = str(self.call("unit_dependency_get_filepath", Text, dependency))
                    if path.startswith(folder) and os.path.exists(path):
                        found[path] = str(self.call("unit_dependency_get_name", Text, dependency))
                return True

            self.call("unit_reader_dependencies_apply_f", ctypes.c_bool, reader, None, self.callback(add))
            self.call("unit_reader_dispose", None, reader)
        return found

    def occurrences(self, record):
        """(identity, name, roles) of everything that a source declares or uses."""
        found = []
        reader = self.call(
            "record_reader_create", ctypes.c_void_p, self.store, record.encode(), ctypes.byref(ctypes.c_void_p())
        )

        def add(_, occurrence):
            symbol = self.call("occurrence_get_symbol", ctypes.c_void_p, occurrence)
            found.append(
                (
                    str(self.call("symbol_get_usr", Text, symbol)),
                    str(self.call("symbol_get_name", Text, symbol)),
                    self.call("occurrence_get_roles", ctypes.c_uint64, occurrence),
                )
            )
            return True

        self.call("record_reader_occurrences_apply_f", ctypes.c_bool, reader, None, self.callback(add))
        self.call("record_reader_dispose", None, reader)
        return found


def uses(index, sources):
    """{(file, file): names}: which file uses what another one declares."""
    records = index.records(str(sources) + os.sep)
    declared, used = {}, {}
    for path, record in records.items():
        used[path] = [(usr, name) for usr, name, roles in index.occurrences(record) if roles & Index.REFERENCE]
        for usr, _, roles in index.occurrences(record):
            if roles & Index.DEFINITION_OR_DECLARATION:
                declared.setdefault(usr, path)
    found = collections.defaultdict(set)
    for path, names in used.items():
        for usr, name in names:
            if declared.get(usr, path) != path:
                found[os.path.relpath(path, sources), os.path.relpath(declared[usr], sources)].add(name)
    return found, len(records)


def upwards(found, folders):
    rank = {name: number for number, name in enumerate(folders)}

    def folder(path):
        return rank[path.split(os.sep)[0]]

    return {pair: names for pair, names in found.items() if folder(pair[1]) > folder(pair[0])}


def largest_circle(found):
    """How many files the largest circle has: each of them uses each other one, by others (Tarjan)."""
    edges = collections.defaultdict(set)
    for user, other in found:
        edges[user].add(other)
    number, low, stack, open_, best = {}, {}, [], set(), 1

    def visit(file):
        nonlocal best
        number[file] = low[file] = len(number)
        stack.append(file)
        open_.add(file)
        for other in edges[file]:
            if other not in number:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in open_:
                low[file] = min(low[file], number[other])
        if low[file] == number[file]:
            at = stack.index(file)
            best = max(best, len(stack) - at)
            open_.difference_update(stack[at:])
            del stack[at:]

    sys.setrecursionlimit(10000)
    for file in list(edges):
        if file not in number:
            visit(file)
    return best


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    sources = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else root / "Sources/ObjStoreCore"
    missing = [folder.name for folder in sources.iterdir() if folder.name not in FOLDERS]
    if missing:
        sys.exit(f"folders.py: the order does not have {missing}")
    found, files = uses(Index(sys.argv[1]), sources)
    if files < sum(1 for _ in sources.rglob("*.swift")):
        sys.exit(f"folders.py: the index knows {files} files only")
    # It must be able to fail: the other way round nearly everything is wrong.
    if len(upwards(found, FOLDERS[::-1])) < 500:
        sys.exit("folders.py: this test sees nothing")
    wrong = upwards(found, FOLDERS)
    for (user, other), names in sorted(wrong.items()):
        if (user, other) not in EXCEPTIONS:
            print(f"folders.py: {user} uses {other}, which lies above it: {', '.join(sorted(names))}")
    for pair in EXCEPTIONS.keys() - wrong.keys():
        print(f"folders.py: no exception is needed any more for {pair[0]} → {pair[1]}")
    if wrong.keys() != EXCEPTIONS.keys() or len(EXCEPTIONS) > 10:
        sys.exit(1)
    print(
        f"folders: {len(found)} pairs of files, {len(wrong)} upwards, all with a reason; "
        f"the largest circle has {largest_circle(found)} of {files} files"
    )


main()
