"""A condition about an object finds, behind a link or inside of where(), whoever leads to what it finds alone."""

import random
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import all_, any_, field, none_
from test_query_expressions import (
    CONSTANTS,
    EQUALITY,
    SYMBOLS,
    Owner,
    Row,
    Thing,
    compared,
    random_condition,
    rows_of,
)

N = 60


class Box(objstore.Model):
    """Leads to the thing of the same id, or to none."""

    id: int = field(primary_key=True)
    thing: Thing | None = None
    things: list[Thing]
    named: dict[str, "Thing | None"]


class Label(objstore.Model):
    id: int = field(primary_key=True)
    box: Box | None = None


store = store_of([Owner, Thing, Box, Label])


def filled(store: objstore.Store, seed: int) -> list[Row]:
    print("seed", seed)
    rows = rows_of(random.Random(seed))[:N]
    with store.write():
        for row in rows:
            thing: Any = store.create(Thing, row)
            box = store.create(
                Box, {"id": row["id"], "thing": thing, "things": [thing], "named": {"it": thing, "none": None}}
            )
            store.create(Label, {"id": row["id"], "box": box})
        store.create(Box, {"id": N})
    return rows


@pytest.mark.parametrize("name", CONSTANTS)
def test_comparisons(store, name):
    rows, boxes = filled(store, 1), store.objects(Box)
    ids = lambda condition: [box.id for box in boxes.where(condition)]
    symbols = EQUALITY if name == "raw" else SYMBOLS
    for symbol in symbols:
        compare = SYMBOLS[symbol]
        for constant in CONSTANTS[name]:
            wanted = [row["id"] for row in rows if compared(symbol, row[name], constant)]
            alone = [N] if compared(symbol, None, constant) else []  # who leads to none
            prop = getattr(Thing, name)
            assert ids(compare(Box.thing[prop], constant)) == wanted + alone, (symbol, constant)
            assert ids(compare(getattr(Box.thing, name), constant)) == wanted + alone, (symbol, constant)
            assert ids(compare(any_(Box.things)[prop], constant)) == wanted, (symbol, constant)
            assert ids(compare(all_(Box.things)[prop], constant)) == [*wanted, N], (symbol, constant)
            others = [i for i in range(N) if i not in wanted]
            assert ids(compare(none_(Box.things)[prop], constant)) == [*others, N], (symbol, constant)
            assert ids(compare(Box.named["it"][prop], constant)) == wanted + alone, (symbol, constant)
            found = [label.id for label in store.objects(Label).where(compare(Label.box.thing[prop], constant))]
            assert found == wanted, (symbol, constant)


@pytest.mark.parametrize("seed", range(4))
def test_random_conditions_inside_of_where(store, seed):
    filled(store, seed)
    rng = random.Random(seed)
    for turn in range(60):
        condition, _ = random_condition(rng, 2)
        wanted = [thing.id for thing in store.objects(Thing).where(condition)]
        asked = Box.things.where(condition)
        boxes = store.objects(Box)
        for results in (
            boxes.where(asked.count == 1),
            boxes.where(asked.max(Thing.id) >= 0),
            boxes.where(Box.named.where(condition).count > 0),
            boxes.where(any_(asked).id >= 0),
        ):
            assert [box.id for box in results] == wanted, (seed, turn, condition)
        asked_twice = boxes.where(asked.count == 1)
        assert [box.id for box in boxes.filter(asked_twice.query_text())] == wanted, (seed, turn, condition)
        assert [
            label.id for label in store.objects(Label).where(Label.box.things.where(condition).count == 1)
        ] == wanted
