"""Observed queries that call functions: what functions gave is kept, and they are called again for what was written."""

import gc
import random
import weakref

import pytest

import objstore
from objstore import call, desc, field


class Town(objstore.Model):
    name: str = ""
    rank: int = 0


class House(objstore.Model):
    id: int = field(primary_key=True)
    size: int = 0
    rank: int = 0
    town: Town | None = None


@pytest.fixture
def store():
    with objstore.open(memory="", models=[House, Town]) as store:
        yield store


class Counted:
    """Even numbers, and how often it was asked."""

    def __init__(self):
        self.calls = 0

    def __call__(self, number):
        self.calls += 1
        return number % 2 == 0


def is_even(number):
    return number is not None and number % 2 == 0


@pytest.fixture
def even(store):
    even = Counted()
    store.define_function("even", even, "i64 -> bool")
    return even


def came(change):
    """Where something was put in, ascending, and what."""
    moved = [after for _, after in change.moves]
    new = [place for place in change.insertions if place not in moved]
    return sorted(
        [(place, house.id) for place, house in zip(new, change.inserted)]
        + [(place, house.id) for place, house in zip(moved, change.moved)]
    )


class Copy:
    """Follows what it is told."""

    def __init__(self, results, wanted, name):
        self.results, self.wanted, self.name = results, wanted, name
        self.ids = [house.id for house in results]
        self.told = 0
        self.token = results.observe(self, initial=False)

    def __call__(self, change):
        self.told += 1
        for place in reversed(change.deletions):
            del self.ids[place]
        for place, one in came(change):
            self.ids.insert(place, one)

    def check(self, model):
        wanted = self.wanted(model)
        assert self.ids == wanted == [house.id for house in self.results], self.name


def of(model, is_wanted, key=None):
    found = [house for house in model.values() if is_wanted(house)]
    return [house["id"] for house in (sorted(found, key=key) if key else found)]


KINDS = {
    "plain": (
        lambda store: store.objects(House).where(call("even", House.size) == True),
        lambda model: of(model, lambda house: is_even(house["size"])),
    ),
    "not, and": (
        lambda store: store.objects(House).filter("NOT even(size) == true AND rank > 2"),
        lambda model: of(model, lambda house: not is_even(house["size"]) and house["rank"] > 2),
    ),
    "sorted": (
        lambda store: store.objects(House).filter("even(size) == true").order_by(desc(House.rank), House.id),
        lambda model: of(model, lambda house: is_even(house["size"]), lambda house: (-house["rank"], house["id"])),
    ),
    "limited": (
        lambda store: store.objects(House).filter("even(size) == true SORT(rank ASC, id ASC) LIMIT(3)"),
        lambda model: of(model, lambda house: is_even(house["size"]), lambda h: (h["rank"], h["id"]))[:3],
    ),
    "behind a link": (
        lambda store: store.objects(House).filter("even(town.rank) == true"),
        lambda model: of(model, lambda house: house["town"] is not None and is_even(house["town"]["rank"])),
    ),
    "beside a link": (
        lambda store: store.objects(House).filter("even(size) == true AND town.rank > 3 SORT(id DESC)"),
        lambda model: of(
            model,
            lambda house: is_even(house["size"]) and house["town"] is not None and house["town"]["rank"] > 3,
            lambda house: -house["id"],
        ),
    ),
    "behind a limit": (
        lambda store: store.objects(House).filter("SORT(rank ASC, id ASC) LIMIT(5)").filter("even(size) == true"),
        lambda model: [
            house["id"]
            for house in sorted(model.values(), key=lambda h: (h["rank"], h["id"]))[:5]
            if is_even(house["size"])
        ],
    ),
    "sorted by what it gives": (
        lambda store: store.objects(House).filter("rank > 1 SORT(even(size) DESC, id ASC)"),
        lambda model: of(model, lambda h: h["rank"] > 1, lambda h: (not is_even(h["size"]), h["id"])),
    ),
}


@pytest.mark.parametrize("seed", range(6))
def test_random_histories(store, even, seed):
    numbers, model = random.Random(seed), {}
    with store.write():
        towns = [store.add(Town(rank=number)) for number in range(4)]
    ranks = [{"rank": number} for number in range(4)]
    copies = [Copy(make(store), wanted, name) for name, (make, wanted) in KINDS.items()]
    houses = {}
    for step in range(120):
        silent = [copy.token for copy in copies if numbers.random() < 0.1]
        before = {copy.name: list(copy.ids) for copy in copies}
        with store.write(without_notifying=silent):
            for _ in range(numbers.randrange(1, 4)):
                some = numbers.choice(list(model)) if model else None
                what = numbers.randrange(8)
                if some is None or (what == 0 and len(model) < 12):
                    number = step * 10 + len(model)
                    if number in model:
                        continue
                    place = numbers.randrange(4)
                    size, rank = numbers.randrange(9), numbers.randrange(9)
                    houses[number] = store.add(House(id=number, size=size, rank=rank, town=towns[place]))
                    model[number] = {"id": number, "size": size, "rank": rank, "town": ranks[place]}
                elif what == 1:
                    store.delete(houses.pop(some))
                    del model[some]
                elif what in (2, 3):
                    houses[some].size = model[some]["size"] = numbers.randrange(9)
                elif what in (4, 5):
                    houses[some].rank = model[some]["rank"] = numbers.randrange(9)
                elif what == 6:
                    place = numbers.choice([None, 0, 1, 2, 3])
                    houses[some].town = None if place is None else towns[place]
                    model[some]["town"] = None if place is None else ranks[place]
                else:
                    place = numbers.randrange(4)
                    towns[place].rank = ranks[place]["rank"] = numbers.randrange(9)
        store.deliver()
        for copy in copies:
            if copy.token in silent:  # it has what it has written itself
                assert copy.ids == before[copy.name]
                copy.ids = copy.wanted(model)
            copy.check(model)
    assert all(copy.told > 20 for copy in copies), [(copy.name, copy.told) for copy in copies]


@pytest.mark.parametrize("name", ["plain", "sorted", "limited", "beside a link"])
def test_how_often_it_is_called(store, even, name):
    with store.write():
        towns = [store.add(Town(rank=number % 7)) for number in range(50)]
        houses = [
            store.add(House(id=number, size=number, rank=number, town=towns[number % 50])) for number in range(2000)
        ]
    told = []
    token = KINDS[name][0](store).observe(lambda change: told.append(change), initial=False)
    with store.write():  # where there are steps, what satisfies the condition is found once more
        houses[0].size = 4
    store.deliver()
    even.calls = 0
    for number in range(10):
        with store.write():
            houses[number].size += 1
            houses[number + 1].size += 1
        store.deliver()
    assert even.calls == 20
    with store.write():
        houses[5].rank += 1  # no function reads that
        store.delete(houses[7])
    store.deliver()
    assert even.calls == 20 and told
    token.close()


@pytest.mark.parametrize(
    "condition",
    [
        "even(@links.House.town.size) == true",
        "even(rank) == true AND ANY @links.House.town.rank == 2",
        "SUBQUERY(@links.House.town, $h, even($h.size) == true).@count > 1",
    ],
)
def test_behind_an_inverse(store, even, condition):
    """Also where the objects go that others led to, or that led there."""
    numbers, towns, houses, told = random.Random(condition), [], [], 0
    results = store.objects(Town).filter(condition)
    copy = []

    def follow(change):
        nonlocal told
        told += 1
        for place in reversed(change.deletions):
            del copy[place]
        for place, town in zip(change.insertions, change.inserted):
            copy.insert(place, town.name)

    token = results.observe(follow, initial=False)
    for step in range(300):
        with store.write():
            for _ in range(numbers.randrange(1, 4)):
                what = numbers.randrange(7)
                if what == 0 and len(towns) < 6:
                    towns.append(store.add(Town(name=f"{step}.{len(towns)}", rank=numbers.randrange(4))))
                elif what == 1 and towns and numbers.random() < 0.5:
                    store.delete(towns.pop(numbers.randrange(len(towns))))
                elif what == 2 and houses and numbers.random() < 0.5:
                    store.delete(houses.pop(numbers.randrange(len(houses))))
                elif what == 3 and len(houses) < 12:
                    number = step * 10 + len(houses)
                    if any(house.id == number for house in houses):
                        continue
                    house = House(id=number, size=numbers.randrange(9), rank=numbers.randrange(4))
                    houses.append(store.add(house))
                elif what == 4 and houses:
                    numbers.choice(houses).size = numbers.randrange(9)
                elif what == 5 and houses:
                    numbers.choice(houses).rank = numbers.randrange(4)
                elif houses:
                    numbers.choice(houses).town = numbers.choice([*towns, None])
        store.deliver()
        assert copy == [town.name for town in results], step
    assert told > 20
    token.close()


def test_in_sections(store, even):
    with store.write():
        houses = [store.add(House(id=number, size=number, rank=number % 3)) for number in range(600)]
    sections = store.objects(House).filter("even(size) == true").sections(House.rank)
    copy = [[house.id for house in section] for section in sections]

    def told(change):
        for section, place in reversed(change.deletions):
            del copy[section][place]
        for section in reversed(change.section_deletions):
            assert copy.pop(section) == []
        for section in change.section_insertions:
            copy.insert(section, [])
        for (section, place), one in came(change):
            copy[section].insert(place, one)

    token = sections.observe(told, initial=False)
    with store.write():
        houses[0].size = 3
    store.deliver()
    even.calls = 0
    for number in range(1, 12):
        with store.write():
            houses[number].size += 1
        store.deliver()
        wanted = {}
        for house in houses:
            if house.size % 2 == 0:
                wanted.setdefault(house.rank, []).append(house.id)
        assert copy == list(wanted.values())
    assert even.calls == 11
    token.close()


def test_what_it_gave_holds(store):
    """A function that gives something else another time: nothing is told that was not written, and all fits."""
    limit = [10]
    store.define_function("small", lambda size: size < limit[0], "i64 -> bool")
    with store.write():
        houses = [store.add(House(id=number, size=number)) for number in range(20)]
    copy = Copy(store.objects(House).filter("small(size) == true"), None, "small")
    assert copy.ids == list(range(10))
    limit[0] = 5
    with store.write():
        houses[7].size = 8
        houses[2].size = 1
    store.deliver()
    assert copy.ids == [0, 1, 2, 3, 4, 5, 6, 8, 9]
    limit[0] = 50
    with store.write():
        houses[15].size = 16
        store.delete(houses[9])
    store.deliver()
    assert copy.ids == [0, 1, 2, 3, 4, 5, 6, 8, 15]
    copy.token.close()


def test_what_it_raises_loses_nothing(store):
    def fragile(size):
        if size == 99:
            raise ZeroDivisionError("mine")
        return size % 2 == 0

    store.define_function("fragile", fragile, "i64 -> bool")
    with store.write():
        houses = [store.add(House(id=number, size=number, rank=-number)) for number in range(20)]
    results = store.objects(House).filter("fragile(size) == true SORT(rank ASC)")
    copy = Copy(results, lambda _: [house.id for house in results], "fragile")
    for number in range(4):
        with store.write():
            houses[number].size = 99
            houses[number + 5].size += 1
        with pytest.raises(ZeroDivisionError):
            store.deliver()
        with store.write():
            houses[number].size = number + 1
        assert store.deliver() == 1
        copy.check(None)
    copy.token.close()


def test_nothing_keeps_a_function(store):
    even = Counted()
    kept = weakref.ref(even)
    store.define_function("even", even, "i64 -> bool")
    token = store.objects(House).filter("even(size) == true").observe(lambda _: None, initial=False)
    with store.write():
        store.add(House(id=1, size=2))
    store.deliver()
    token.close()
    store.undefine_function("even")
    store.close()
    del even
    gc.collect()
    assert kept() is None
