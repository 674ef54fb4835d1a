"""Deleting many objects at once that lie together in lists, sets, maps and mixed collections, against a model."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

import objstore
from objstore import Backlinks, backlinks, field


class Node(objstore.Model):
    id: int = field(primary_key=True)
    some: list["Node"]
    named: dict[str, "Node | None"]
    unique: set["Node"]
    things: list[Any]
    keyed: dict[str, Any]
    odds: set[Any]
    owners: Backlinks["Node"] = backlinks("some")
    namers: Backlinks["Node"] = backlinks("named")


class Holder(objstore.Model):
    all: list[Node]
    by_name: dict[str, Node | None]
    things: list[Any]


def number(value: Any) -> Any:
    """A value with ids in the place of objects."""
    if isinstance(value, objstore.Model):
        return ("node", value.id)
    return [number(v) for v in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


def without(value: Any, gone: set[int]) -> Any:
    if isinstance(value, list):
        return [without(v, gone) for v in value]
    return None if isinstance(value, tuple) and value[1] in gone else value


def read(store: Any) -> dict[int, Any]:
    return {
        n.id: {
            "some": [o.id for o in n.some],
            "named": {k: o and o.id for k, o in n.named.items()},
            "unique": {o.id for o in n.unique},
            "things": [number(v) for v in n.things],
            "keyed": {k: number(v) for k, v in n.keyed.items()},
            "odds": sorted(map(repr, map(number, n.odds))),
            "owners": [o.id for o in n.owners],
            "namers": [o.id for o in n.namers],
        }
        for n in store.objects(Node)
    }


def expected(before: dict[int, Any], gone: set[int]) -> dict[int, Any]:
    odds = {repr(("node", key)) for key in gone}
    return {
        key: {
            "some": [k for k in one["some"] if k not in gone],
            "named": {name: None if k in gone else k for name, k in one["named"].items()},
            "unique": one["unique"] - gone,
            "things": without(one["things"], gone),
            "keyed": {name: without(v, gone) for name, v in one["keyed"].items()},
            "odds": [odd for odd in one["odds"] if odd not in odds],
            "owners": [k for k in one["owners"] if k not in gone],
            "namers": [k for k in one["namers"] if k not in gone],
        }
        for key, one in before.items()
        if key not in gone
    }


@pytest.mark.parametrize("seed", range(6))
def test_against_a_model(path, seed):
    random = Random(seed)
    count = random.choice([20, 200, 800])
    with objstore.open(path, models=[Node, Holder]) as store:
        with store.write():
            store.add_all([Node(id=i) for i in range(count)])
            nodes = list(store.objects(Node))

            def any_of(most: int) -> list[Any]:
                return [random.choice(nodes) for _ in range(random.randrange(most))]

            for node in random.sample(nodes, 12):
                node.some = any_of(count)
                node.named = {f"k{i}": random.choice([o, o, None]) for i, o in enumerate(any_of(count))}
                node.unique = set(any_of(30))
                node.things = [random.choice([o, 1, [o, "x", [o]], [2]]) for o in any_of(60)]
                node.keyed = {f"k{i}": random.choice([o, None, [o]]) for i, o in enumerate(any_of(60))}
                node.odds = {1, "a", *any_of(9)}
            holder = store.add(Holder(all=nodes * 2, by_name={f"n{o.id}": o for o in nodes}, things=list(nodes[:100])))
        while store.objects(Node).count() > 2:
            before = read(store)
            with store.write() as tx:
                alive = list(store.objects(Node))
                if random.random() < 0.5:
                    bound = random.choice(alive).id
                    doomed = store.objects(Node).where(Node.id >= bound if random.random() < 0.5 else Node.id <= bound)
                    gone = {n.id for n in doomed}
                else:
                    doomed = random.sample(alive, random.randrange(1, min(40, len(alive)) + 1))
                    gone = {n.id for n in doomed}
                store.delete(doomed)
                wanted = expected(before, gone)
                assert read(store) == wanted, f"seed {seed}"
                if random.random() < 0.2:
                    tx.cancel()
                    wanted = before
            assert read(store) == wanted, f"seed {seed}"
            assert [n.id for n in holder.all] == [*wanted, *wanted], f"seed {seed}"
            names = {f"n{i}": i if i in wanted else None for i in range(count)}
            assert {k: o and o.id for k, o in holder.by_name.items()} == names, f"seed {seed}"
            assert [number(v) for v in holder.things] == [
                ("node", i) if i in wanted else None for i in range(min(100, count))
            ]
            store.verify()
