"""Numbers and aggregates of what links to an object, which one pass answers for all objects: against plain loops."""

import math
import operator
import random
from collections.abc import Iterator
from typing import Any

import pytest

import objstore
from objstore import Backlinks, Model, backlinks, field


class Owner(Model):
    number: int = field(primary_key=True)
    boss: "Owner | None" = None
    dogs: Backlinks["Dog"] = backlinks("owner")


class Dog(Model):
    age: int | None = None
    weight: float | None = None
    owner: Owner | None = None


@pytest.fixture(scope="module")
def store() -> Iterator[objstore.Store]:
    rnd = random.Random(5)
    with objstore.open(memory="", models=[Owner, Dog]) as store:
        with store.write():
            owners = [store.create(Owner, {"number": number}) for number in range(6000)]
            for owner in owners:
                owner.boss = rnd.choice([None, *owners[:50]])
            some = owners[::3]
            for _ in range(20_000):
                weight = rnd.choice([None, math.nan, -1.5, rnd.random() * 9])
                store.create(
                    Dog, {"age": rnd.choice([None, *range(9)]), "weight": weight, "owner": rnd.choice([None, *some])}
                )
            store.objects(Owner).where(Owner.number.in_(list(range(9, 6000, 7)))).delete()
            store.objects(Dog).where(Dog.age == 8).delete()
        yield store


def kept(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None and not (isinstance(value, float) and math.isnan(value))]


def compared(value: Any, sign: str, bound: float) -> bool:
    if value is None:
        return sign == "!="
    holds = {
        "==": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
    return bool(holds[sign](value, bound))


QUESTIONS = {
    "@links.Dog.owner.@count": lambda dogs: len(dogs),
    "SUBQUERY(@links.Dog.owner, $x, $x.age < 4).@count": lambda dogs: sum(
        d.age is not None and d.age < 4 for d in dogs
    ),
    "SUBQUERY(@links.Dog.owner, $x, $x.weight == NULL OR $x.age IN {1, 7}).@count": lambda dogs: sum(
        d.weight is None or d.age in (1, 7) for d in dogs
    ),
    "@links.Dog.owner.@sum.age": lambda dogs: sum(kept([d.age for d in dogs])),
    "@links.Dog.owner.@max.age": lambda dogs: max(kept([d.age for d in dogs]), default=None),
    "@links.Dog.owner.@min.weight": lambda dogs: min(kept([d.weight for d in dogs]), default=None),
    "SUBQUERY(@links.Dog.owner, $x, $x.age > 2).@avg.age": lambda dogs: (
        sum(ages) / len(ages) if (ages := [d.age for d in dogs if d.age is not None and d.age > 2]) else None
    ),
    "@links.Dog.owner.@sum.weight": lambda dogs: math.fsum(kept([d.weight for d in dogs])),
}


@pytest.mark.parametrize("text", QUESTIONS)
def test_as_loops(store: objstore.Store, text: str) -> None:
    dogs: dict[int, list[Dog]] = {}
    for dog in store.objects(Dog).where(Dog.owner != None):
        dogs.setdefault(dog.owner.number, []).append(dog)
    owners = store.objects(Owner)
    values = {owner.number: QUESTIONS[text](dogs.get(owner.number, [])) for owner in owners}
    for sign in ("==", "!=", "<", "<=", ">", ">="):
        for bound in (0, 2, 5, 2.5, -1, 2**32 - 1, 2**32, 2**40):
            if "weight" in text and sign in ("==", "!="):
                continue  # the last digit of a sum
            wanted = [number for number, value in values.items() if compared(value, sign, bound)]
            asked = owners.filter(f"{text} {sign} {bound}")
            assert [owner.number for owner in asked] == wanted, (text, sign, bound)
            assert asked.count() == len(wanted)
            first = asked.first()
            assert (first.number if first else None) == (wanted[0] if wanted else None)
            turned = {"<": ">", ">=": "<=", ">": "<", "<=": ">="}.get(sign, sign)
            assert owners.filter(f"{bound} {turned} {text} AND number < 40").count() == sum(n < 40 for n in wanted)
            assert owners.filter(f"NOT {text} {sign} {bound}").count() == len(values) - len(wanted)
            assert (
                owners.filter(f"boss.number < 3 AND boss.{text} {sign} {bound}").count()
                == sum(
                    owner.boss is not None
                    and owner.boss.number < 3
                    and compared(values[owner.boss.number], sign, bound)
                    for owner in owners
                )
                if "SUBQUERY" not in text and bound == 2
                else True
            )


def test_in_a_write(store: objstore.Store) -> None:
    owners = store.objects(Owner)
    before = owners.filter("@links.Dog.owner.@count > 9").count()
    with store.write() as transaction:
        lonely = owners.filter("@links.Dog.owner.@count == 0").first()
        assert lonely is not None
        for _ in range(10):
            store.create(Dog, {"owner": lonely})
        assert owners.filter("@links.Dog.owner.@count > 9").count() == before + 1
        transaction.cancel()
    assert owners.filter("@links.Dog.owner.@count > 9").count() == before


def test_the_plan_says_so(store: objstore.Store) -> None:
    plan = store.objects(Owner).filter("SUBQUERY(@links.Dog.owner, $x, $x.age < 4).@count > 1").explain()
    assert "counted in one pass" in plan.text
    about_both = store.objects(Owner).filter("SUBQUERY(@links.Dog.owner, $x, $x.age < number).@count > 1")
    assert "object by object" in about_both.explain().text
