"""Readers who are not told of what they write, and have not been told of everything before."""

import random

import pytest

import objstore
from objstore import desc, field


class Row(objstore.Model):
    number: int = field(primary_key=True)
    value: int = 0
    name: str | None = None


class Reader:
    """Shows rows with the values that he knows, in the order of these. What he writes comes, goes, or is put elsewhere
    where his transaction did that to it."""

    def __init__(self, results, key, is_in):
        self.results, self.key, self.is_in = results, key, is_in
        self.rows = [(key(row), row.number) for row in results]

    def state(self, row):
        return self.key(row) if row is not None and self.is_in(row) else None

    def wrote(self, number, before, after):
        if before == after:
            return
        self.rows = [shown for shown in self.rows if shown[1] != number]
        if after is not None:
            self.rows.append((after, number))
            self.rows.sort()

    def __call__(self, change):
        # What he has put in, and others have deleted before he was told, is not in the version before.
        gone = {self.rows[at][1] for at in change.deletions}
        assert gone >= {row.number for row in change.moved}
        for at in reversed(change.deletions):
            del self.rows[at]
        moved = {after: row for (_, after), row in zip(change.moves, change.moved)}
        come = iter(change.inserted)
        for at in change.insertions:
            row = moved[at] if at in moved else next(come)
            self.rows.insert(at, (self.key(row), row.number))
        for at, row in zip(change.modifications_after, change.modified):
            assert self.rows[at][1] == row.number
            self.rows[at] = (self.key(row), row.number)


def falling(text):
    """A text as a key of which the greatest comes first."""
    return (*(-ord(letter) for letter in text or ""), 1)


@pytest.mark.parametrize("seed", range(12))
def test_where_he_puts_it(seed):
    dice = random.Random(seed)
    with objstore.open(memory=f"silent {seed}", models=[Row]) as store:
        with store.write():
            store.add_all([Row(number=n, value=dice.randrange(9), name=dice.choice("abc")) for n in range(12)])
        rows = store.objects(Row)
        asked = [
            (rows.where(Row.value > 2).order_by(Row.value), lambda row: row.value, lambda row: row.value > 2),
            (
                rows.order_by(desc(Row.value), Row.name),
                lambda row: (-row.value, row.name is not None, row.name or ""),
                lambda row: True,
            ),
            (rows.where(Row.value < 7), lambda row: 0, lambda row: row.value < 7),
            (rows.where(Row.value != 4).order_by(Row.number), lambda row: row.number, lambda row: row.value != 4),
            (
                rows.where(Row.name != None).order_by(desc(Row.name), Row.value),
                lambda row: (falling(row.name), row.value),
                lambda row: row.name is not None,
            ),
        ]
        readers = [Reader(*each) for each in asked]
        tokens = [reader.results.observe(reader, initial=False) for reader in readers]
        number = 100

        def write(readers=()):
            nonlocal number
            before = {}
            for _ in range(dice.randrange(1, 4)):
                row = store.get(Row, dice.choice([row.number for row in rows] or [0]))
                what = dice.random()
                if row is None or what < 0.2:
                    before.setdefault(number, [None] * len(readers))
                    store.add(Row(number=number, value=dice.randrange(9), name=dice.choice("abc")))
                    number += 1
                    continue
                before.setdefault(row.number, [reader.state(row) for reader in readers])
                if what < 0.4:
                    store.delete(row)
                elif what < 0.8:
                    row.value = dice.randrange(9)
                else:
                    row.name = dice.choice(["a", "b", "c", "", None])
            for which, states in before.items():
                for reader, state in zip(readers, states):
                    reader.wrote(which, state, reader.state(store.get(Row, which)))

        for _ in range(60):
            with store.write():
                write()
            if dice.random() < 0.3:
                store.deliver()
            with store.write(without_notifying=tokens):
                write(readers)
            if dice.random() < 0.5:
                store.deliver()
                for reader in readers:
                    assert [row[1] for row in reader.rows] == [row.number for row in reader.results], f"seed {seed}"
        for token in tokens:
            token.close()
