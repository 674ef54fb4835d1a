#!/usr/bin/env python3
# usage: documents.py [ROOT]
#
# What the documents (*.md) name exists: files and folders in `code`, relative to the root, to Sources/ObjStoreCore or
# to the document; link targets and their headings; make targets. A file name without a folder (`Commit.swift`) must
# exist anywhere. In code blocks only make targets are checked: other names there may be the reader's. Every document
# can be reached from README.md by links; README.md and docs/architecture.md have all folders in their tables;
# Tests/README.md has the folders of Tests/ and the steps of scripts/test in its tables, README.md the programs in C.
import os
import pathlib
import re
import sys

GENERATED = {"build", ".build", ".swiftpm", ".git", "node_modules", "__pycache__"}
SOURCES = (".swift", ".c", ".h", ".py", ".sh", ".md")
GUIDE = "docs/architecture.md"
# Names that are not files of the repository: (document, name): reason. Each must be needed.
EXCEPTIONS = {
    ("README.md", "Sources/kennel/main.swift"): "a file of the reader's program",
    ("README.md", "app.c"): "a file of the reader's program",
    ("docs/decisions/README.md", "NNNN-name.md"): "a pattern",
}

FENCE = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1[ \t]*$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)>\s]+)>?[^)]*\)|^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
MAKE = re.compile(r"(?:^|[\s;&(\"'])make((?:[ \t]+[^\s;&|#\"')]+)+)")
PATH = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+*/-]*")
TARGET = re.compile(r"[a-z][a-z0-9-]*")


class Repository:
    def __init__(self, root):
        self.root = root
        self.core = root / "Sources/ObjStoreCore"
        self.names, self.documents = set(), []
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in GENERATED]
            self.names.update(files)
            self.documents += [pathlib.Path(folder, name) for name in files if name.endswith(".md")]
        self.tops = {entry.name for entry in [*root.iterdir(), *self.core.iterdir()] if entry.is_dir()}
        makefile = (root / "Makefile").read_text()
        self.targets = set(re.findall(r"^([a-z][a-z0-9-]*):", makefile, re.MULTILINE))
        self.slugs, self.links, self.excepted = {}, {}, set()

    def excepts(self, document, name):
        pair = str(document.relative_to(self.root)), name
        if pair in EXCEPTIONS:
            self.excepted.add(pair)
        return pair in EXCEPTIONS

    def unreachable(self):
        """Documents to which no links lead from README.md."""
        found, todo = set(), [self.root / "README.md"]
        while todo:
            document = todo.pop()
            if document not in found:
                found.add(document)
                todo += self.links.get(document, ())
        return sorted(set(self.documents) - found)

    def has(self, path, folder):
        """Whether a name leads somewhere; of one with a * whether any does. Folders may end with a /."""
        for base in (self.root, self.core, folder):
            if "*" in path:
                if next(base.glob(path.rstrip("/")), None):
                    return True
            elif (base / path).exists():
                return True
        return False

    def headings(self, document):
        """The anchors that a document has, as GitHub makes them."""
        if document not in self.slugs:
            found, text = set(), FENCE.sub("", document.read_text())
            for line in re.findall(r"^#{1,6} +(.*)$", text, re.MULTILINE):
                line = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line).strip().lower()
                slug = re.sub(r"[^\w\- ]", "", line).replace(" ", "-")
                number, one = 0, slug
                while one in found:
                    number += 1
                    one = f"{slug}-{number}"
                found.add(one)
            self.slugs[document] = found
        return self.slugs[document]


def paths(span):
    """What in a span of code looks like a file or folder of the repository: (name, has it a folder?)."""
    for word in span.split():
        word = re.sub(r":\d+(-\d+)?$", "", word.strip("\"'(),;:…"))
        if not PATH.fullmatch(word) or word.startswith(("/", "..")) or "//" in word:
            continue
        yield word.rstrip("."), "/" in word


def problems(repository, text, document):
    """What is wrong in a document, with the number of its line."""
    folder = document.parent

    def at(place):
        return text.count("\n", 0, place) + 1

    prose = FENCE.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)
    spans = [(found.start(), found[2]) for found in SPAN.finditer(prose)]
    for place, span in spans:
        for path, has_folder in paths(span):
            if repository.excepts(document, path):
                continue
            first = path.split("/")[0]
            if has_folder and first in repository.tops and first not in GENERATED:
                if not repository.has(path, folder):
                    yield at(place), f"there is no {path}"
            elif not has_folder and path.endswith(SOURCES) and "*" not in path and path not in repository.names:
                yield at(place), f"no file is called {path}"
    links = SPAN.sub(lambda span: " " * len(span[0]), prose)
    for found in LINK.finditer(links):
        target, _, anchor = (found[1] or found[2]).partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        to = (folder / target).resolve() if target else document
        if (to / "README.md").is_file():
            to = to / "README.md"
        repository.links.setdefault(document, set()).add(to)
        if to != document and not to.exists():
            yield at(found.start()), f"the link to {target} leads nowhere"
        elif anchor and to.suffix == ".md" and anchor not in repository.headings(to):
            yield at(found.start()), f"{to.name} has no heading #{anchor}"
    code = spans + [(found.start(), re.sub(r"#.*", "", found[0])) for found in FENCE.finditer(text)]
    for place, span in code:
        for found in MAKE.finditer(span):
            for word in found[1].split():
                if TARGET.fullmatch(word) and word not in repository.targets:
                    yield at(place), f"make has no target {word}"


def tables(text):
    """The folders in the first column of tables."""
    rows = re.findall(r"^\|((?: *`[^`|]+`,?)+) *\|", text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+/)`", row)]


def missing_folders(repository, text):
    root = repository.root
    folders = [entry for parent in (root, root / "Sources") for entry in parent.iterdir() if entry.is_dir()]
    for folder in sorted(folders):
        name = f"{folder.relative_to(root)}/"
        if not name.startswith((".", "build/")) and not any(row.startswith(name) for row in tables(text)):
            yield f"the tables lack {name}"


def wrong_order(repository, text):
    """Of the folders of ObjStoreCore, which have the order that folders.py checks."""
    script = (repository.root / "Tests/Package/folders.py").read_text()
    order = re.search(r'FOLDERS = """(.*?)"""', script, re.DOTALL)[1].split()
    if [name[:-1] for name in tables(text) if (repository.core / name).is_dir()] != order:
        yield f"the folders of Sources/ObjStoreCore have another order: {' '.join(order)}"


def missing_tests(repository, text):
    """Folders of Tests/ and steps of scripts/test that no first column of a table names."""
    firsts = re.findall(r"^\| *([^|]*)\|", text, re.MULTILINE)
    named = {name.split("/")[0] for first in firsts for _, name in SPAN.findall(first)}
    script = (repository.root / "scripts/test").read_text()
    steps = re.findall(r"^(?:step|.* && run) ([a-z-]+) ", script, re.MULTILINE)
    folders = [entry.name for entry in (repository.root / "Tests").iterdir() if entry.is_dir()]
    for name in sorted({*steps, *folders} - named - GENERATED):
        yield f"the tables lack {name}"


def missing_examples(repository, text):
    linked = {found[1] for found in LINK.finditer(text)}
    for program in sorted((repository.root / "bindings/c").glob("*.c")):
        if str(program.relative_to(repository.root)) not in linked:
            yield f"no link leads to bindings/c/{program.name}"


# It must be able to fail, and not at what is right.
CONTROL = """# A control

`Sources/ObjStoreCore/Pages/Nowhere.swift`, `Transactions/Nowhere.swift`, `Nowhere.swift`, `scripts/nowhere --seed 1`,
[a page](nowhere.md), [a heading](#nowhere), `make nowhere SEED=1`.
```sh
make nothing   # make room
```
Right: `Facade/*.swift`, `scripts/test`, `Package.swift`, `Sources/ObjStoreC/*.swift`, `Tests/`, `a/b`,
`build/lib/x.so`, [a heading](#a-control), [README](README.md), `make test`, `STEPS="lib" scripts/test`, make room.
"""
CONTROL_FINDINGS = 8


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    repository = Repository(root)
    control = root / "control.md"
    repository.slugs[control] = {"a-control"}
    found = list(problems(repository, CONTROL, control))
    if len(found) != CONTROL_FINDINGS:
        sys.exit(f"documents.py: this test sees {len(found)} of {CONTROL_FINDINGS} mistakes: {found}")
    if len(repository.unreachable()) != len(repository.documents) - 1:
        sys.exit("documents.py: this test sees no document that cannot be reached")
    if not list(missing_folders(repository, CONTROL)) or not list(wrong_order(repository, "| `Facade/` | | `Log/` |")):
        sys.exit("documents.py: this test sees no folder that is missing")
    if not list(missing_tests(repository, "| `Crash/` | |")) or not list(missing_examples(repository, CONTROL)):
        sys.exit("documents.py: this test sees no step and no example that is missing")
    wrong = []
    for document in sorted(repository.documents):
        for line, problem in problems(repository, document.read_text(), document):
            wrong.append(f"{document.relative_to(root)}:{line}: {problem}")
    for name, check in (
        ("README.md", missing_folders),
        ("README.md", missing_examples),
        ("Tests/README.md", missing_tests),
        (GUIDE, missing_folders),
        (GUIDE, wrong_order),
    ):
        wrong += [f"{name}: {problem}" for problem in check(repository, (root / name).read_text())]
    for document in repository.unreachable():
        wrong.append(f"{document.relative_to(root)}: no link leads to it from README.md")
    for document, name in EXCEPTIONS.keys() - repository.excepted:
        wrong.append(f"documents.py: no exception is needed any more for {name} in {document}")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"documents: everything that {len(repository.documents)} documents name exists")


main()
