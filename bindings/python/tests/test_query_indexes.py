"""Indexes of several properties, beginnings of texts, and the first of an order: the same objects as without."""

import itertools
import math
import random

import pytest

import objstore
from objstore import Index, Model, field


class Plain(Model):
    id: int = field(primary_key=True)
    city: str | None = None
    zip: int = 0
    name: str = ""
    share: float | None = None
    good: bool = False


class Indexed(Model):
    id: int = field(primary_key=True)
    city: str | None = None
    zip: int = field(default=0, indexed=True)
    name: str = field(default="", indexed=True)
    share: float | None = field(default=None, indexed=True)
    good: bool = False
    __indexes__ = [Index("city", "zip", "good"), Index("good", "name"), Index("share", "city")]


LONG = "x" * 3000
CITIES = [None, "", "Bern", "Berne", "Be", "B", "\0", "\0\0", "Be\0rn", "Zürich", "Zug", "\U0010ffff", "Bé"]
NAMES = ["", "a", "ab", "abc", "ab\0", "ab\0c", "abd", "b", "ä", "äb", LONG, LONG + "a", LONG + "b", LONG[:-1] + "y"]
SHARES = [None, 0.0, -0.0, 0.5, -3.5, math.inf, -math.inf, 7.25]
COUNT = 6000


@pytest.fixture(params=[SHARES, [*SHARES, math.nan]], ids=["numbers", "nan"])
def store(request, tmp_path):
    rng = random.Random(5)
    with objstore.open(tmp_path / "indexes", models=[Plain, Indexed]) as store:
        rows = [
            {
                "id": i,
                "city": rng.choice(CITIES),
                "zip": rng.randrange(300),
                "name": rng.choice(NAMES) + (str(rng.randrange(50)) if rng.random() < 0.8 else ""),
                "share": rng.choice(request.param),
                "good": rng.random() < 0.3,
            }
            for i in range(COUNT)
        ]
        with store.write():
            for model in (Plain, Indexed):
                store.add_all([model(**row) for row in rows])
        gone = rng.sample(range(COUNT), COUNT // 7)
        with store.write():
            for model in (Plain, Indexed):
                for key in gone:
                    store.delete(store.get(model, key))
        yield store


def conditions(rng):
    """Of properties that have indexes, alone and together."""
    city, name = rng.choice(CITIES[1:]), rng.choice(NAMES)
    share = rng.choice([0.0, 0.5, -3.5, 7.25])
    sign = rng.choice(["<", "<=", ">", ">=", "=="])
    parts = [
        ("city == $0", city),
        ("city == NULL", None),
        ("city BEGINSWITH $0", city),
        (f"zip {sign} $0", rng.randrange(300)),
        ("zip BETWEEN {$0, 250}", rng.randrange(300)),
        ("good == $0", rng.random() < 0.5),
        ("name BEGINSWITH $0", name + rng.choice(["", "1", "12"])),
        ("name LIKE $0", rng.choice(["a*", "ab*", "äb*", "*", "b?*"])),
        (f"name {sign} $0", name),
        (f"share {sign} $0", share),
        ("share == NULL", None),
    ]
    chosen = rng.sample(parts, rng.choice([1, 1, 2, 2, 3, 4]))
    texts, arguments = [], []
    for text, argument in chosen:
        texts.append(text.replace("$0", f"${len(arguments)}"))
        if "$0" in text:
            arguments.append(argument)
    return " AND ".join(texts), arguments


def steps(rng):
    keys = rng.sample(["zip", "name", "share", "city", "good"], rng.choice([1, 1, 1, 2]))
    order = ", ".join(f"{key} {rng.choice(['ASC', 'DESC'])}" for key in keys)
    if rng.random() < 0.3:  # as an index of several has them
        keys = rng.choice(["city", "city zip", "city zip good", "zip good", "good name", "share city", "zip good name"])
        way = rng.choice(["ASC", "DESC"])
        order = ", ".join(f"{key} {way}" for key in keys.split())
    limit = rng.choice([0, 1, 2, 10, 63, 64, 65, 200, 4000, 10_000])
    offset = rng.choice(["", "", f"OFFSET({rng.randrange(80)}) "])
    return rng.choice(["", f"SORT({order}) {offset}LIMIT({limit})", f"SORT({order}) LIMIT({limit})"])


def check(store, rng, rounds):
    plans = set()
    for _ in range(rounds):
        condition, arguments = conditions(rng)
        text = f"{condition if rng.random() < 0.8 else ''} {steps(rng)}"
        arguments = arguments if condition in text else []
        plain, indexed = [store.objects(model).filter(text, *arguments) for model in (Plain, Indexed)]
        wanted = [row.id for row in plain]
        assert [row.id for row in indexed] == wanted, (text, arguments)
        assert indexed.count() == len(wanted), (text, arguments)
        first = indexed.first()
        assert (first and first.id) == (wanted[0] if wanted else None), (text, arguments)
        plans.add(indexed.explain().access)
    return plans


def test_as_without(store):
    rng = random.Random(11)
    assert check(store, rng, 400) >= {"index", "scan", "order", "all"}
    with store.write():  # with changes that nobody has seen
        for model in (Plain, Indexed):
            for row in itertools.islice(store.objects(model), 0, 900, 3):
                row.city, row.zip, row.name = "Bern", row.zip // 2, f"ab{row.id % 9}"
            store.add_all([model(id=COUNT + i, city="Zug", zip=i, name=f"{LONG}{i}", share=0.5) for i in range(300)])
        check(store, rng, 200)
    check(store, rng, 100)


@pytest.mark.parametrize(
    ("text", "access", "by"),
    [
        ("name BEGINSWITH 'ab1'", "index", 'name BEGINSWITH "ab1"'),
        ("name LIKE 'ab1*'", "index", 'name BEGINSWITH "ab1"'),
        ("name BEGINSWITH[c] 'ab1'", "scan", None),
        ("name ENDSWITH 'ab1'", "scan", None),
        ("city == 'Zug' AND zip == 7", "index", 'city == "Zug" and zip == 7'),
        ("zip == 7 AND city == 'Zug' AND good == TRUE", "index", 'city == "Zug" and zip == 7 and good == true'),
        ("city == 'Zug' AND zip > 295", "index", 'city == "Zug" and zip > 295'),
        ("city == 'Zug' AND zip > 100 AND zip <= 102", "index", 'city == "Zug" and zip > 100 and zip <= 102'),
        ("good == TRUE AND name BEGINSWITH 'ab1'", "index", 'good == true and name BEGINSWITH "ab1"'),
        ("SORT(city DESC, zip DESC) LIMIT(3)", "order", "city, zip"),
        ("SORT(city ASC, zip ASC, good ASC, name ASC) LIMIT(3)", "order", "city, zip, good"),
        ("SORT(city ASC, zip DESC) LIMIT(3)", "all", None),  # too many in the first city
        ("SORT(good ASC, name ASC) LIMIT(3)", "order", "good, name"),
        ("city == 'Zug' SORT(zip ASC, good ASC) LIMIT(3)", "order", 'zip, good where city == "Zug"'),
        ("zip == 7 SORT(good ASC, name ASC) LIMIT(3)", "index", "zip == 7"),
        ("zip + 0 == 7 OR city == 'Zug'", "scan", None),
        ("SORT(zip ASC) LIMIT(3)", "order", "zip"),
        ("SORT(zip DESC) LIMIT(3)", "order", "zip"),
        ("SORT(zip DESC, name ASC) LIMIT(3)", "order", "zip"),
        ("good == FALSE SORT(zip ASC) LIMIT(3)", "order", "zip"),
        ("zip > 50 SORT(zip ASC) LIMIT(3)", "order", "zip"),
        ("id < 0 SORT(zip ASC) LIMIT(3)", "index", "id < 0"),
        ("good == FALSE SORT(zip DESC) LIMIT(3)", "order", "zip"),
        ("city == 'Zug' SORT(zip DESC) LIMIT(3)", "order", 'zip where city == "Zug"'),
        ("city == NULL SORT(zip ASC, name ASC) LIMIT(3)", "order", "zip where city == null"),
        ("name != 'a' AND city == 'Zug' SORT(zip DESC) LIMIT(3)", "order", 'zip where city == "Zug"'),
        ("zip == 7 AND city == 'Zug' SORT(good DESC) LIMIT(3)", "order", 'good where city == "Zug" and zip == 7'),
        ("name == 'nobody' SORT(good DESC) LIMIT(3)", "index", 'name == "nobody"'),
        ("SORT(zip ASC)", "all", None),
    ],
)
def test_plans(store, text, access, by):
    plan = store.objects(Indexed).filter(text).explain()
    assert (plan.access, plan.by) == (access, by)


def test_counts_of_many_are_of_the_index(store):
    """More than a scan would be as good for: the index says how many."""
    for text in ("city == 'Bern'", "city == NULL", "name BEGINSWITH 'a'", "good == FALSE AND name BEGINSWITH 'ab'"):
        assert store.objects(Indexed).filter(text).count() == store.objects(Plain).filter(text).count() > COUNT / 50


class Card(Model):
    id: int = field(primary_key=True)
    suit: int | None = field(default=None, indexed=True)
    rank: int = field(default=0, indexed=True)
    name: str = field(default="", indexed=True)
    worn: bool = False


def test_two_indexes():
    rng = random.Random(3)
    rows = [
        (i, rng.choice([None, *range(60)]), rng.randrange(70), f"{rng.randrange(80)}", rng.random() < 0.5)
        for i in range(12_000)
    ]
    questions = {
        "suit == 5 AND rank == 7": lambda suit, rank, name, worn: suit == 5 and rank == 7,
        "rank == 7 AND name == '7'": lambda suit, rank, name, worn: rank == 7 and name == "7",
        "suit == NULL AND rank == 9": lambda suit, rank, name, worn: suit is None and rank == 9,
        "suit == 5 AND rank == 7 AND worn == TRUE": lambda suit, rank, name, worn: suit == 5 and rank == 7 and worn,
        "suit == 5 AND NOT rank == 7": lambda suit, rank, name, worn: suit == 5 and rank != 7,
        "suit == 5 AND (rank == 7 OR worn == FALSE)": lambda suit, rank, name, worn: (
            suit == 5 and (rank == 7 or not worn)
        ),
        "rank == 7 AND suit >= 58": lambda suit, rank, name, worn: rank == 7 and suit is not None and suit >= 58,
        "rank IN {1, 2} AND suit == 3": lambda suit, rank, name, worn: rank in (1, 2) and suit == 3,
        "rank == 8 AND rank == 9": lambda suit, rank, name, worn: False,
        "suit == 5 AND rank == 7 AND name == '12'": lambda suit, rank, name, worn: (suit, rank, name) == (5, 7, "12"),
    }
    with objstore.open(memory="cards", models=[Card]) as store:
        with store.write():
            store.create_all(
                Card, [dict(zip(("id", "suit", "rank", "name", "worn"), row, strict=True)) for row in rows]
            )

        def check():
            for text, holds in questions.items():
                cards = [card for card in store.objects(Card) if holds(card.suit, card.rank, card.name, card.worn)]
                found = store.objects(Card).filter(text)
                assert list(found) == cards, text
                assert (found.count(), found.first()) == (len(cards), cards[0] if cards else None), text

        check()
        plan = store.objects(Card).filter("suit == 5 AND rank == 7").explain(run=True)
        assert (plan.access, plan.filter) == ("index", None)
        assert sorted(plan.by.split(" and then by ")) == ["rank == 7", "suit == 5"]
        plan = store.objects(Card).filter("suit == 5 AND rank == 7 AND worn == TRUE").explain()
        assert (" and then by " in plan.by, plan.filter) == (True, "suit == 5 and rank == 7 and worn == true")
        with store.write():
            for card in list(store.objects(Card))[::3]:
                card.suit, card.rank = 5, rng.choice([7, 8])
            store.objects(Card).filter("id < 900 AND worn == TRUE").delete()
            check()
        check()
