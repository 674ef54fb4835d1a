"""The folders of the package have an order: lower ones know nothing of higher ones, and nothing imports in a circle.

Read from the sources, without running them. Imports for type checkers do not count; those inside of functions do.
"""

import ast
import pathlib
from collections.abc import Iterator

import objstore

PACKAGE = pathlib.Path(objstore.__file__).parent
# From the lowest to the highest. What lies in the package itself is named like the folders.
ORDER = (
    "errors",  # what can go wrong
    "messages",  # words of messages
    "arguments",  # numbers and switches that callers give
    "native",  # the C library by ctypes: its functions, its handles, and how it calls Python
    "values",  # single values and columns of them: which types there are, and their forms in the library
    "reading",  # views, and what is read through them together
    "objects",  # where the values of an object are, and which object it is
    "json",  # objects as JSON and dicts, and of JSON
    "building",  # objects of values that describe them, and copies
    "collections",  # lists, sets and dicts of managed objects, and values of properties of Any
    "writing",  # transactions, and everything that is done in them
    "models",  # model classes and their properties
    "schema",  # model classes in a store
    "observing",  # which handlers get changes
    "queries",  # filters and results
    "projections",  # classes that show a part of the objects of another
    "stores",  # open stores, frozen versions, and what is asked of them
    "opening",  # opening, migrating and checking files
    "pickled_names",  # what pickles call things
    "__init__",  # what programs see
)
# Imports upwards, or inside of functions, each with its reason: (module, imported module).
ALLOWED: dict[tuple[str, str], str] = {}


class Package:
    """The modules of a package, by their names in it, and what they import of each other."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.name = folder.name
        self.sources = {
            ".".join(path.relative_to(folder).with_suffix("").parts): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*.py"))
        }
        self.imports: dict[str, set[str]] = {}
        self.late: set[tuple[str, str]] = set()  # inside of functions
        for module, source in self.sources.items():
            self.imports[module] = set()
            for imported, is_late in self._imports(module, ast.parse(source), False):
                if imported != module:
                    self.imports[module].add(imported)
                    if is_late:
                        self.late.add((module, imported))

    def _imports(self, module: str, node: ast.AST, is_late: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and is_for_checkers(child.test):
                for other in child.orelse:
                    yield from self._imports(module, ast.Module([other], []), is_late)
            elif isinstance(child, (ast.Import, ast.ImportFrom)):
                yield from ((found, is_late) for found in self._imported(module, child))
            else:
                is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
                yield from self._imports(module, child, is_late or is_function)

    def _imported(self, module: str, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            wanted = [(alias.name.split("."), None) for alias in node.names]
        else:
            # What a module's own package is: of objstore.values.kinds ["objstore", "values"].
            around = [self.name, *module.split(".")[:-1]]
            base = around[: len(around) - node.level + 1] if node.level else []
            path = base + (node.module.split(".") if node.module else [])
            wanted = [(path, alias.name) for alias in node.names]
        for path, name in wanted:
            if path[:1] != [self.name]:
                continue
            inner = [*path[1:], name] if name is not None and self._module([*path[1:], name]) else path[1:]
            found = self._module(inner)
            assert found is not None, f"{module} imports {'.'.join(path)}, which is not there"
            yield found
            # A folder's own module runs before what is in it.
            for length in range(1, len(inner)):
                folder = ".".join([*inner[:length], "__init__"])
                if folder in self.sources and not module.startswith(f"{'.'.join(inner[:length])}."):
                    yield folder

    def _module(self, path: list[str]) -> str | None:
        names = (".".join(path), ".".join([*path, "__init__"]))
        return next((name for name in names if name in self.sources), None)


def is_for_checkers(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", None), getattr(test, "attr", None))


def layer(module: str) -> str:
    return module.split(".")[0]


def misplaced(package: Package, order: tuple[str, ...]) -> list[str]:
    """Modules that are in no folder of the order, and imports upwards."""
    found = [f"{module} is in no layer" for module in package.imports if layer(module) not in order]
    for module, imported in pairs(package):
        known = layer(module) in order and layer(imported) in order
        if known and order.index(layer(module)) < order.index(layer(imported)):
            found.append(f"{module} imports {imported}, which is higher")
    return found


def pairs(package: Package) -> list[tuple[str, str]]:
    return [(module, other) for module, imported in package.imports.items() for other in sorted(imported)]


def circles(package: Package) -> list[list[str]]:
    """Modules that import each other, directly or by others: what is left when all that import nothing are taken
    away, again and again, and then all that nothing imports."""
    left = {module: set(imported) for module, imported in package.imports.items()}
    while ends := [module for module, imported in left.items() if not imported & left.keys()]:
        for module in ends:
            del left[module]
    while starts := left.keys() - set().union(*left.values()):
        for module in starts:
            del left[module]
    return [sorted(left)] if left else []


def test_the_order_of_the_folders() -> None:
    package = Package(PACKAGE)
    assert len(package.imports) > 90 and sum(map(len, package.imports.values())) > 400  # it has found them
    assert {layer(module) for module in package.imports} == set(ORDER)
    assert misplaced(package, ORDER) == [] and circles(package) == []


def test_no_import_inside_of_a_function() -> None:
    assert Package(PACKAGE).late - ALLOWED.keys() == set()


def made(folder: pathlib.Path, **files: str) -> Package:
    for name, source in files.items():
        path = folder / "tree" / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return Package(folder / "tree")


def test_a_tree_that_is_in_order(tmp_path: pathlib.Path) -> None:
    package = made(
        tmp_path,
        low="import os\n",
        middle__in__one="from ..low import x\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from ..high.two import y\n",
        high__in__two="from ..middle import one\n",
    )
    assert package.imports == {"low": set(), "middle.one": {"low"}, "high.two": {"middle.one"}} and not package.late
    assert misplaced(package, ("low", "middle", "high")) == [] and circles(package) == []
    assert misplaced(package, ("low", "high", "middle")) == ["high.two imports middle.one, which is higher"]
    assert misplaced(package, ("low", "middle")) == ["high.two is in no layer"]


def test_an_import_upwards_is_found(tmp_path: pathlib.Path) -> None:
    sources = {
        "low__in__byname": "from ..high.two import y\n",
        "low__in__byfolder": "from ..high import two\n",
        "low__in__absolute": "import tree.high.two\n",
        "low__in__inaclass": "class A:\n    try:\n        from ..high import two\n    finally:\n        pass\n",
        "low__in__late": "def f():\n    from ..high.two import y\n",
        "low__in__otherwise": "if TYPE_CHECKING:\n    pass\nelse:\n    from ..high.two import y\n",
        "low__in__folderitself": "from ..high import z\n",
        "low__in__right": "if typing.TYPE_CHECKING:\n    from ..high.two import y\n",
        "high__in____init__": "z = 1\n",
        "high__in__two": "y = 1\n",
    }
    package = made(tmp_path, **sources)
    upwards = {line.split()[0] for line in misplaced(package, ("low", "high"))}
    assert upwards == {module for module in package.imports if layer(module) == "low"} - {"low.right"}
    assert package.late == {("low.late", "high.two"), ("low.late", "high.__init__")} and circles(package) == []


def test_a_circle_is_found(tmp_path: pathlib.Path) -> None:
    package = made(
        tmp_path,
        a="from . import b\n",
        b="def f():\n    from .c import x\n",
        c="from .a import y\n",
        d="from . import a\n",
        e="import sys\n",
    )
    assert circles(package) == [["a", "b", "c"]] and package.late == {("b", "c")}
