"""Lists of numbers that are looked for, in columns of every width of packed cells: against Python's `in`."""

import random

import pytest

import objstore
from objstore import Model, field

LEAST, MOST = -(2**63), 2**63 - 1


class Thing(Model):
    number: int
    perhaps: int | None = None
    group: int = field(default=0)


@pytest.mark.parametrize("first", [0, -7, 2**40, LEAST, MOST])
@pytest.mark.parametrize("span", [0, 1, 3, 14, 15, 200, 255, 256, 60_000, 2**31, 2**63 - 1])
def test_members(span: int, first: int) -> None:
    rnd = random.Random(f"{span} {first}")
    last = min(first + span, MOST)
    first = max(LEAST, last - span)
    numbers = [first, last] + [rnd.randint(first, last) for _ in range(4500)]
    perhaps = [None if rnd.random() < 0.1 else number for number in numbers]
    with objstore.open(memory="", models=[Thing]) as store:
        with store.write():
            for index, number in enumerate(numbers):
                store.create(Thing, {"number": number, "perhaps": perhaps[index], "group": index % 3})
            # Rows that are gone.
            store.objects(Thing).where(Thing.group == 2).delete()
        rows = [(numbers[i], perhaps[i], i % 3) for i in range(len(numbers)) if i % 3 != 2]
        inside = [number for number in range(first, last + 1)] if span < 300 else []
        for wanted in (
            [],
            [first],
            [last, LEAST, MOST],
            [rnd.choice(numbers) for _ in range(10)],
            [rnd.choice(numbers) for _ in range(16)] + [first - 1 if first > LEAST else last],
            [rnd.choice(numbers) for _ in range(300)],
            rnd.sample(inside, len(inside) // 2),
            [number for number in (first - 1, last + 1, first + 256, first - 256) if LEAST <= number <= MOST],
        ):
            among = set(wanted)
            found = store.objects(Thing).where(Thing.number.in_(wanted))
            assert [thing.number for thing in found] == [row[0] for row in rows if row[0] in among]
            found = store.objects(Thing).where(Thing.perhaps.in_(wanted) & (Thing.group == 1))
            expected = [row[1] for row in rows if row[1] is not None and row[1] in among and row[2] == 1]
            assert [thing.perhaps for thing in found] == expected
            found = store.objects(Thing).where(~Thing.perhaps.in_(wanted))
            assert found.count() == sum(row[1] is None or row[1] not in among for row in rows)


@pytest.mark.parametrize("most", [2**60, MOST // 4, MOST - 1, MOST])
def test_limits_at_the_end_of_the_numbers(most: int) -> None:
    with objstore.open(memory="", models=[Thing]) as store:
        with store.write():
            for number in range(20):
                store.create(Thing, {"number": (7 * number) % 20, "group": number % 3})
        things = store.objects(Thing)
        for text in (f"SORT(number ASC) LIMIT({most})", f"SORT(number ASC) OFFSET(0) LIMIT({most})"):
            assert [thing.number for thing in things.filter(text)] == list(range(20))
        assert [thing.number for thing in things.order_by(Thing.number).limit(most)] == list(range(20))
        assert [thing.number for thing in things.order_by(Thing.number).offset(18).limit(most)] == [18, 19]
        for text in (f"SORT(number ASC) OFFSET({most})", f"OFFSET({most}) OFFSET({most}) LIMIT({most})"):
            assert list(things.filter(text)) == []
        assert things.filter(f"DISTINCT(group) LIMIT({most})").count() == 3
        assert len(things.table(f"GROUP(group) SORT(@count DESC) LIMIT({most}) SELECT(group)")) == 3
        assert len(things.table(f"GROUP(group) OFFSET({most}) LIMIT({most}) SELECT(group)")) == 0
        assert len(things.table(f"SORT(number ASC) LIMIT({most}) SELECT(number)")) == 20
