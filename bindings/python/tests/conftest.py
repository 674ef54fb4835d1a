import pathlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

import objstore
from models import Dog, Frog, Item, Person, Team, Turtle, TurtleEnthusiast

KENNEL = [Dog, Person, Frog, Item, Team, Turtle, TurtleEnthusiast]


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "test.objstore"


def store_of(models: list[type[objstore.Model]], name: str = "test.objstore") -> Any:
    """A fixture: a store in a file, which is verified in the end."""

    @pytest.fixture
    def opened(tmp_path: pathlib.Path) -> Iterator[objstore.Store]:
        with objstore.open(tmp_path / name, models=models) as made:
            yield made
            if not made.is_closed:
                made.verify()

    return opened


store = store_of(KENNEL)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What was displayed: (id, is an update, data). As a notebook that says which of its cells runs."""
    found: list[Any] = []
    notebook: Any = types.ModuleType("IPython")

    def display(data: Any, *, raw: bool, display_id: str) -> None:
        assert raw is True
        found.append((display_id, False, data))

    def update_display(data: Any, *, raw: bool, display_id: str) -> None:
        assert raw is True
        found.append((display_id, True, data))

    shell = types.SimpleNamespace(cell=None, run=0)

    def parent() -> Any:
        shell.run += 1
        return {"metadata": {"cellId": shell.cell}, "header": {"msg_id": f"run {shell.run}"}} if shell.cell else {}

    shell.get_parent = parent
    notebook.display = types.SimpleNamespace(display=display, update_display=update_display)
    notebook.get_ipython = lambda: shell
    notebook.shell = shell
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    return found
