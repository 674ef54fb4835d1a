import pathlib
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
