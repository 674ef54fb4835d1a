import pathlib
from collections.abc import Iterator

import pytest

import objstore
from models import Dog, Frog, Item, Person, Team, Turtle, TurtleEnthusiast

KENNEL = [Dog, Person, Frog, Item, Team, Turtle, TurtleEnthusiast]


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "test.objstore"


def checked(path: pathlib.Path, models: list[type[objstore.Model]]) -> Iterator[objstore.Store]:
    """A store in a file, which is verified in the end."""
    with objstore.open(path, models=models) as opened:
        yield opened
        if not opened.is_closed:
            opened.verify()


@pytest.fixture
def store(path: pathlib.Path) -> Iterator[objstore.Store]:
    """One with all classes of models.py."""
    yield from checked(path, KENNEL)
