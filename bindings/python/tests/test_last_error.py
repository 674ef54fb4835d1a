"""What an exception says is what its own call said, whatever the garbage collector does meanwhile."""

import gc
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

import objstore


class Leaf(objstore.Model):
    n: int = 0
    when: datetime | None = None


@pytest.fixture
def collector() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.enable()


def fails_whatever_is_collected(
    store: objstore.Store, text: str, convert: Any, error: type[objstore.Error], said: str
) -> None:
    """What closes the handle of a store that was closed already fails, in the middle of whatever the collector
    interrupts."""
    for allocations in range(1, 80):
        gc.disable()
        with objstore.open(memory="other", models=[Leaf]) as other:
            circle: list[Any] = [other]
            circle.append(circle)
        del circle, other
        gc.set_threshold(gc.get_count()[0] + allocations)
        gc.enable()
        with pytest.raises(error) as caught:
            store.create_from_json(Leaf, text, convert=convert)
        assert "was closed" not in str(caught.value) and said in str(caught.value), f"{allocations} allocations later"


def test_a_collection_while_an_error_is_read(collector: None) -> None:
    with objstore.open(memory="this", models=[Leaf]) as store, store.write():
        text = '{"n": 1,, "text": "longer than what the other call says"}'
        fails_whatever_is_collected(store, text, None, objstore.InvalidJSON, "$")


def test_a_collection_while_frames_are_left_that_a_traceback_has(collector: None) -> None:
    """What a callback raised has the frames of the call that called it: Python makes objects of them as they end."""
    with objstore.open(memory="this", models=[Leaf]) as store, store.write():
        fails_whatever_is_collected(
            store,
            '{"when": "zero"}',
            lambda prop, value: value + "!",
            objstore.WrongType,
            "line 1, column 10, at $.when: ",
        )
