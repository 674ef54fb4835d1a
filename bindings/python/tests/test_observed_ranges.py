"""Observers of conditions with bounds: whom a commit concerns is looked up, and nobody is forgotten."""

import datetime
import random

import pytest

import objstore
from objstore import field

EPOCH = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)


class Thing(objstore.Model):
    number: int = field(primary_key=True)
    age: int = 0
    weight: float = 0.0
    name: str = ""
    born: datetime.datetime = EPOCH
    score: int | None = None
    kind: str = "a"


VALUES = {
    "age": lambda chance: chance.choice([chance.randrange(-20, 20), 2**63 - 1, -(2**63), 0]),
    "weight": lambda chance: chance.choice(
        [chance.uniform(-3, 3), 0.0, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324]
    ),
    "name": lambda chance: chance.choice(["", "a", "b", "abcdefgh", "abcdefghi", "abcdefghz", "é", "zz", "\0", "a\0"]),
    "born": lambda chance: EPOCH + datetime.timedelta(microseconds=chance.choice([0, 1, 500_000, 1_000_000, -1])),
    "score": lambda chance: chance.choice([None, chance.randrange(10)]),
}


def condition(chance):
    """A text and its arguments: one bound or two of a property, or of two, and now and then more."""
    parts, arguments = [], []
    for _ in range(chance.choice([1, 2, 2, 2, 3])):
        name = chance.choice(list(VALUES))
        for _ in range(chance.choice([1, 1, 2])):
            value = VALUES[name](chance)
            while value is None:
                value = VALUES[name](chance)
            parts.append(f"{name} {chance.choice(['<', '<=', '>', '>='])} ${len(arguments)}")
            arguments.append(value)
    if chance.random() < 0.15:
        bounds = sorted(chance.randrange(-20, 20) for _ in range(2))
        parts.append(f"age BETWEEN {{{bounds[0]}, {bounds[1]}}}")
    if chance.random() < 0.15:
        parts.append("kind == 'a'")
    joined = " AND ".join(parts)
    if chance.random() < 0.1:
        joined = f"({joined}) OR age > 15"
    if chance.random() < 0.1:
        joined = f"NOT ({joined})"
    return joined, arguments


@pytest.mark.parametrize("seed", range(4))
def test_nobody_is_forgotten(seed):
    chance = random.Random(seed)
    with objstore.open(memory=f"ranges-{seed}", models=[Thing]) as store:
        with store.write():
            for number in range(40):
                store.add(Thing(number=number, **{name: make(chance) for name, make in VALUES.items()}))
        told, asked, tokens = {}, [], []
        for index in range(120):
            text, arguments = condition(chance)
            results = store.objects(Thing).filter(text, *arguments)
            if chance.random() < 0.3:
                results = results.order_by(Thing.age).limit(chance.randrange(1, 30))
            asked.append((text, arguments, results))
            handler = lambda change, index=index: told.__setitem__(
                index,
                [sorted(thing.number for thing in part) for part in (change.deleted, change.inserted)]
                + [sorted([t.number for t in change.modified] + [t.number for t in change.moved])],
            )
            tokens.append(results.observe(handler, initial=False))

        def found():
            return [[thing.number for thing in results] for _, _, results in asked]

        before = found()
        for step in range(60):
            written = set()
            with store.write():
                for _ in range(chance.choice([1, 1, 1, 2, 90])):
                    number = chance.randrange(45)
                    thing = store.get(Thing, number)
                    if thing is None:
                        store.add(Thing(number=number, **{name: make(chance) for name, make in VALUES.items()}))
                        written.discard(number)
                        written.add(-1 - number)
                    elif chance.random() < 0.1:
                        store.delete(thing)
                        written.discard(number)
                        written.add(-1 - number)
                    else:
                        name = chance.choice([*VALUES, "kind"])
                        setattr(thing, name, chance.choice("ab") if name == "kind" else VALUES[name](chance))
                        written.add(number)
            told.clear()
            store.deliver()
            after = found()
            for index, (text, arguments, _) in enumerate(asked):
                old, new = set(before[index]), set(after[index])
                back = {-1 - number for number in written if number < 0} & old & new  # gone, and made again
                stayed = (old & new & written) - back
                expected = [sorted(old - new | back), sorted(new - old | back), sorted(stayed)]
                heard = told.get(index, [[], [], []])
                # What stands elsewhere without having been written is in it as well.
                heard = [heard[0], heard[1], [number for number in heard[2] if number in written]]
                assert heard == expected, f"seed {seed}, step {step}: {text} {arguments}"
            before = after
        for token in tokens:
            token.close()
