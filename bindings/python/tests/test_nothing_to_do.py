"""What changes nothing writes nothing, and notifies no observer. An assignment is a write, also of the value that is
there."""

from typing import Any

import pytest

import objstore
from objstore import EmbeddedModel, Model


class Part(EmbeddedModel):
    n: int = 0


class Box(Model):
    n: int = 0
    extra: Any = None
    numbers: list[int]
    reals: list[float]
    texts: set[str]
    notes: dict[str, int]
    boxes: "list[Box]"
    parts: list[Part]
    things: list[Any]
    named: dict[str, Any]


@pytest.fixture
def store(path):
    with objstore.open(path, models=[Box, Part]) as made:
        yield made
        made.verify()


@pytest.fixture
def box(store):
    with store.write():
        made = store.create(
            Box,
            {
                "extra": {"a": [1, 2], "none": [], "one": [1]},
                "numbers": [1, 2, 1],
                "reals": [0.0, float("nan")],
                "texts": {"a"},
                "notes": {"a": 1},
                "parts": [{"n": 1}, {"n": 2}],
                "things": [1, "a", [2], 1],
                "named": {"a": [1]},
            },
        )
        made.boxes = [made]
    return made


def told(store, change, box):
    """Of how many change sets; and is the version another one?"""
    heard = []
    before = store.freeze().version()
    with store.observe(Box, heard.append, initial=False):
        with store.write():
            exec(change, {"box": box, "Box": Box, "store": store})
        store.deliver()
    assert bool(heard) == (store.freeze().version() != before)
    return len(heard)


@pytest.mark.parametrize(
    "change",
    [
        "box.numbers.reverse()",
        "box.numbers[:2].sort()",
        "box.numbers[:] = list(box.numbers)",
        "box.numbers[1:2] = [2]",
        "box.numbers[::2] = [1, 1]",
        "box.numbers[9:] = []",
        "del box.numbers[9:]",
        "box.numbers.extend([])",
        "box.numbers += []",
        "box.numbers *= 1",
        "box.numbers.move(1, 1)",
        "box.numbers = box.numbers",
        "box.reals.sort(key=str)",
        "box.reals[:] = list(box.reals)",
        "box.boxes.sort(key=id)",
        "box.boxes.reverse()",
        "box.parts.sort(key=lambda part: part.n)",
        "box.parts[:] = list(box.parts)",
        "box.texts |= set()",
        "box.texts.add('a')",
        "box.texts.update(['a'])",
        "box.texts.discard('b')",
        "box.texts &= {'a', 'b'}",
        "box.notes.update({})",
        "box.notes |= {}",
        "box.notes.pop('b', None)",
        "box.notes.setdefault('a', 2)",
        "box.extra['a'].sort()",
        "box.extra['a'].extend([])",
        "box.extra['a'] += []",
        "box.extra['a'][:] = [1, 2]",
        "box.extra['none'].clear()",
        "box.extra['none'] *= 5",
        "box.extra['one'].reverse()",
        "box.extra.update({})",
        "box.extra |= {'none': []}",
        "box.extra = box.extra",
        "box.things[:] = [1, 'a', [2], 1]",
        "box.things[2] += []",
        "box.things[2].sort()",
        "box.named['a'] *= 1",
        "box.named['a'].reverse()",
        "box.boxes.clear() if not box.boxes else None",
        "store.objects(Box).where(Box.n > 5).update(n=1)",
    ],
)
def test_nothing_is_written(store, box, change):
    text = box.to_json(0, extended=True)
    assert told(store, change, box) == 0
    assert box.to_json(0, extended=True) == text


@pytest.mark.parametrize(
    "change",
    [
        "box.numbers.sort()",
        "box.numbers[:2] = [2, 1]",
        "box.reals[:1] = [-0.0]",
        "box.things.reverse()",
        "box.things[:1] = [1.0]",
        "box.things[:1] = [True]",
        "box.extra['a'].reverse()",
        "box.extra['a'][:] = [1.0, 2]",
        "box.extra['a'] += [3]",
        "box.things[2] += [1]",
        "box.named['a'] += [1]",
        "box.boxes[:] = [Box()]",
        "box.things[:1] = [Box()]",
        "box.numbers[:1] = [1, 1]",
        "box.numbers[1:1] = [1]",
        "box.parts[:] = box.parts[::-1]",
        "box.n = box.n",
        "box.numbers = list(box.numbers)",
        "box.notes['a'] = 1",
    ],
)
def test_what_is_written(store, box, change):
    assert told(store, change, box) == 1


def test_a_write_is_needed_all_the_same(store, box):
    extra, thing = box.extra, box.things[2]
    for change in (
        box.numbers.reverse,
        box.parts.reverse,
        extra["a"].sort,
        lambda: extra.update({}),
        thing.sort,
        lambda: extra["a"].extend([]),
    ):
        with pytest.raises(objstore.NotInWrite):
            change()
    numbers, one = box.numbers, extra["one"]
    with store.write():
        store.delete(box)
        for change in (numbers.reverse, one.reverse, lambda: numbers.extend([])):
            with pytest.raises(objstore.NoSuchObject):
                change()
