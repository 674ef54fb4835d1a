"""What is told of queries of a list, where the same could be told in several ways."""

import pytest

import objstore


class Item(objstore.Model):
    a: int = 0
    b: int = 0


class Owner(objstore.Model):
    items: objstore.List[Item]


class Place(objstore.Model):
    __indexes__ = [objstore.Index("rank", "name")]
    rank: int = 0
    name: str = ""


class Heard:
    """The numbers of the objects that are moved and modified, with their positions."""

    def __init__(self, store, results):
        self.store, self.seen = store, []
        self.token = results.observe(self, initial=False)

    def __call__(self, change):
        self.seen.append((list(change.moves), [item.a for item in change.moved], [item.a for item in change.modified]))

    def told(self, write):
        self.seen.clear()
        with self.store.write():
            write()
        self.store.deliver()
        return self.seen


@pytest.fixture
def store():
    with objstore.open(memory="", models=[Item, Owner, Place]) as store:
        yield store


def filled(store, numbers):
    with store.write():
        owner = store.add(Owner())
        items = [store.add(Item(a=number)) for number in range(max(numbers) + 1)]
        owner.items.extend(items[number] for number in numbers)
    return owner, items


def test_what_was_written_has_moved(store):
    """Where one of two has moved by the other it is the one that was written."""
    owner, items = filled(store, [1, 0])
    for condition in ("", "a >= 0"):
        results = owner.items.objects().filter(condition) if condition else owner.items.objects()
        heard = Heard(store, results)
        for written in (0, 1, 0, 1):

            def write(written=written):
                owner.items.move(1, 0)
                items[written].b += 1

            ((moves, moved, modified),) = heard.told(write)
            assert (moved, modified) == ([written], []) and len(moves) == 1
        heard.token.close()


def test_one_that_goes_by_many(store):
    """All were written, and one stands elsewhere now: it has moved, and no other."""
    with store.write():
        places = [store.add(Place(rank=rank, name=f"p{rank}")) for rank in range(20)]

    def write():
        for rank, place in enumerate(places):
            place.rank = rank
        places[-1].rank = -1

    seen = []
    hear = lambda change: seen.append((list(change.moves), change.modification_count))
    asked = [store.objects_in(Place, ["rank", "name"]), store.objects(Place).order_by(Place.rank)]
    tokens = [results.observe(hear, initial=False) for results in asked]
    with store.write():
        write()
    store.deliver()
    assert seen == [([(19, 0)], 19)] * 2
    for token in tokens:
        token.close()


@pytest.mark.parametrize("times", [1, 3, 400])
def test_one_that_is_there_often(store, times):
    """Sorted by what all have: the order of the list, also where all occurrences of one were sorted anew."""
    owner, items = filled(store, [0, 1] * times)
    results = owner.items.objects().order_by(Item.b)
    heard = Heard(store, results)
    for value in (0, 5, 5, -1, 0):
        ((moves, moved, modified),) = heard.told(lambda value=value: setattr(items[0], "b", value))
        assert [item.a for item in results] == (
            [0, 1] * times if not value else sorted([0, 1] * times, reverse=value > 0)
        )
        assert set(moved) | set(modified) <= {0, 1} and len(moved) + modified.count(0) >= times
    heard.token.close()


@pytest.mark.parametrize("ties", [1, 7, 3000])
def test_many_that_come_to_equal_ones(store, ties):
    """One transaction extends a list of 3,000 by 300 that have the values of others."""
    with store.write():
        owner = store.add(Owner())
        owner.items.extend(store.add(Item(a=n, b=n % (3000 // ties))) for n in range(3000))
    results = owner.items.objects().order_by(Item.b)
    copy = [item.a for item in results]

    def follow(change):
        for position in reversed(change.deletions):
            del copy[position]
        for position, item in zip(change.insertions, change.inserted):
            copy.insert(position, item.a)

    token = results.observe(follow, initial=False)
    for step in range(4):
        with store.write():
            for n in range(300):
                item = store.add(Item(a=10_000 * (step + 1) + n, b=n % (3000 // ties)))
                owner.items.insert(len(owner.items) if step % 2 else n * 7, item)
        store.deliver()
        assert copy == [item.a for item in results]
    token.close()
