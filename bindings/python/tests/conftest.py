import pathlib
from collections.abc import Iterator

import pytest

import objstore
from models import Dog, Frog, Item, Person, Team, Turtle, TurtleEnthusiast

KENNEL = [Dog, Person, Frog, Item, Team, Turtle, TurtleEnthusiast]


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "test.objstore"


@pytest.fixture
def store(path: pathlib.Path) -> Iterator[objstore.Store]:
    """A store in a file, with all classes of models.py."""
    with objstore.open(path, models=KENNEL) as opened:
        yield opened
        if not opened.is_closed:
            opened.verify()
