"""Lists, sets and dicts of objects, and their owners."""

import random
from typing import Any, Optional

import pytest

import objstore
from objstore import Backlinks, backlinks, field, links_to


class Hound(objstore.Model):
    name: str = ""
    friends: list["Hound"]
    shelters: Backlinks["Shelter"] = backlinks("dogs")
    visited: Backlinks["Shelter"] = backlinks("guests")
    caged: Backlinks["Shelter"] = backlinks("cages")
    admirers: Backlinks["Hound"] = backlinks("friends")


class Shelter(objstore.Model):
    id: int = field(primary_key=True)
    dogs: "list[Hound]"
    guests: set[Hound]
    cages: dict[str, Optional[Hound]]


MODELS = [Shelter, Hound]


@pytest.fixture
def store(path):
    with objstore.open(path, models=MODELS) as opened:
        yield opened
        opened.verify()


def names(objects):
    return [o if o is None else o.name for o in objects]


def ids(objects):
    return [o.id for o in objects]


class Yard(objstore.Model):
    n: int = 0
    guard: Hound | None = None
    dogs: list[Hound]
    guests: set[Hound]
    cages: dict[str, Optional[Hound]]
    extra: Any = None
    notes: list[Any]


def test_inverses_without_declaration(path):
    with objstore.open(path, models=[*MODELS, Yard]) as store:
        with store.write():
            a, b = (store.create(Hound, {"name": n}) for n in "ab")
            store.add(Yard(n=0, guard=a, dogs=[a, b, a], guests={b}, cages={"x": b, "y": None}, extra=[{"k": a}]))
            store.add(Yard(n=1, guard=b, dogs=[b], guests={a, b}, cages={"x": a}, extra=b, notes=[1, [b]]))

        def who(prop, hound):
            found = store.objects(Yard).where(links_to(prop, hound))
            assert len(found) == found.count()
            return [yard.n for yard in found]

        properties = [Yard.guard, Yard.dogs, Yard.guests, Yard.cages, Yard.extra, Yard.notes]
        assert [who(p, a) for p in properties] == [[0], [0], [1], [1], [0], []]
        assert [who(p, b) for p in properties] == [[1], [0, 1], [0, 1], [0], [1], [1]]
        for prop, value, error in (
            (Yard.n, a, objstore.WrongType),
            (Shelter.id, a, objstore.WrongType),
            ("dogs", a, objstore.WrongType),
            (Yard.dogs, 5, objstore.WrongType),
            (Yard.dogs, store.objects(Yard)[0], objstore.WrongType),
            (Yard.dogs, None, objstore.WrongType),
            (Yard.dogs, Hound(), objstore.WrongStore),
            (Yard.extra, Hound(), objstore.WrongStore),
            (Yard.extra, "a", objstore.WrongType),
        ):
            with pytest.raises(error):
                links_to(prop, value)
        with pytest.raises(objstore.InvalidArgument, match="Yard"):
            store.objects(Shelter).where(links_to(Yard.dogs, a))
        with store.write():
            store.delete(a)
            assert [who(p, a) for p in properties] == [[]] * 6


@pytest.mark.parametrize("inverse", ["shelters", "visited", "caged"])
def test_many_that_have_one_in_a_write(store, inverse):
    """Their list is made again each time, for collections change without a word to the write; it is kept as long as it
    is used."""
    with store.write() as tx:
        a, b = (store.create(Hound, {"name": n}) for n in "ab")
        for number in range(4):
            store.create(Shelter, {"id": number, "dogs": [a], "guests": [a], "cages": {"x": b if number == 3 else a}})
        kept = [] if inverse != "caged" else [3]
        assert getattr(a, inverse).update(cages={"y": b}) == 4 - len(kept)
        with tx.savepoint() as savepoint:
            assert getattr(a if inverse != "caged" else b, inverse).delete() == 4
            assert len(store.objects(Shelter)) == 0
            savepoint.cancel()
        assert len(store.objects(Shelter)) == 4


def test_elements_and_their_inverses(store):
    with store.write():
        a, b, c = (store.create(Hound, {"name": n}) for n in "abc")
        one, two = store.create(Shelter, {"id": 1}), store.create(Shelter, {"id": 2})
        one.dogs.extend([a, b, a])
        two.dogs.append(a)
        one.guests.update([c, a, c])
        one.cages["x"] = a
        one.cages["y"] = None
        two.cages.update({"x": b})
        assert ids(a.shelters) == [1, 2] and len(a.shelters) == 2  # the write sees its changes
    assert names(one.dogs) == ["a", "b", "a"] and one.dogs[1] == b and one.dogs.index(b) == 1 and one.dogs.count(a) == 2
    assert ids(a.shelters) == [1, 2] and ids(b.shelters) == [1] and len(c.shelters) == 0 and a.shelters.first() == one
    assert names(one.guests) == ["a", "c"] and c in one.guests and b not in one.guests and ids(a.visited) == [1]
    assert one.cages["x"] == a and one.cages["y"] is None and "z" not in one.cages
    assert ids(a.caged) == [1] and ids(b.caged) == [2] and dict(one.cages) == {"x": a, "y": None}
    assert "dogs=[<Hound #0>, <Hound #1>, <Hound #0>]" in repr(one)
    with store.write():
        one.dogs.move(0, 1)
        one.dogs[2] = c
        assert names(one.dogs) == ["b", "a", "c"] and one.dogs[-1] == c and names(one.dogs[:2]) == ["b", "a"]
        assert ids(a.shelters) == [1, 2] and ids(c.shelters) == [1]
    before = store.freeze()
    with store.write():
        assert one.dogs.pop(1) == a
        one.guests.remove(a)
        del one.cages["x"]
    assert ids(a.shelters) == [2] and len(a.visited) == 0 and len(a.caged) == 0
    old = before.get(Shelter, 1)
    assert names(old.dogs) == ["b", "a", "c"] and ids(old.dogs[1].shelters) == [1, 2]
    assert names(one.detach().dogs) == ["b", "c"]


def test_deleted_elements(store):
    with store.write():
        hounds = [store.create(Hound, {"name": str(n)}) for n in range(40)]
        shelters = [store.create(Shelter, {"id": n, "dogs": hounds * 2, "guests": hounds}) for n in range(3)]
        for shelter in shelters:
            shelter.cages = {str(n): hound for n, hound in enumerate(hounds)}
        for hound in hounds:
            hound.friends.append(hounds[0])
    heard = []
    token = store.objects(Shelter).observe(
        lambda change: heard.append([change.written(i) for i in range(change.modification_count)]), initial=False
    )
    with store.write():
        store.delete(hounds[7])
    store.deliver()
    assert heard == [[("dogs", "guests", "cages")] * 3]
    token.close()
    left = [str(n) for n in range(40) if n != 7]
    for shelter in shelters:
        assert names(shelter.dogs) == left * 2 and names(shelter.guests) == left
        assert len(shelter.cages) == 40 and shelter.cages["7"] is None and shelter.cages["8"].name == "8"
    assert len(hounds[0].admirers) == 39 and hounds[0] in list(hounds[0].admirers)
    with store.write():
        store.delete(shelters[0])
        assert ids(hounds[1].shelters) == [1, 2]
        with pytest.raises(RuntimeError), store.write():
            store.delete(hounds[1])
            assert len(shelters[1].dogs) == 76
            raise RuntimeError
        assert len(shelters[1].dogs) == 78 and ids(hounds[1].shelters) == [1, 2]
        loop = iter(shelters[1].guests)
        assert next(loop).name == "0"
        assert store.objects(Hound).delete() == 39
        assert len(shelters[1].dogs) == 0 and len(shelters[2].guests) == 0
    assert len(shelters[2].cages) == 40 and set(shelters[2].cages.values()) == {None}


def test_graphs(store):
    """Unmanaged objects in lists and dicts come with their owners, each once, also in a circle; all, or none."""
    a, b = Hound(name="a"), Hound(name="b")
    a.friends = [b, a, b]
    b.friends.append(a)
    shelter = Shelter(id=1, dogs=[a, b], cages={"a": a, "none": None})
    with store.write():
        store.add(shelter)
    assert store.objects(Hound).count() == 2 and a.is_managed and b.is_managed
    assert names(a.friends) == ["b", "a", "b"] and b.friends[0] == a and len(a.admirers) == 2
    assert names(shelter.dogs) == ["a", "b"] and shelter.cages["a"] == a and shelter.cages["none"] is None
    # Appending adds.
    c = Hound(name="c", friends=[Hound(name="d")])
    with store.write():
        shelter.dogs.append(c)
        shelter.cages["e"] = Hound(name="e")
        shelter.guests.add(Hound(name="f"))
    assert (
        c.is_managed and names(c.friends) == ["d"] and shelter.cages["e"].name == "e" and names(shelter.guests) == ["f"]
    )
    assert store.objects(Hound).count() == 6
    # None, where one is refused.
    twin, e = Shelter(id=1), Hound(name="e")
    twin.dogs = [e]
    with store.write():
        with pytest.raises(objstore.DuplicateKey):
            store.add(twin)
        assert not e.is_managed and store.objects(Hound).count() == 6
        store.add(twin, update="modified")
    assert names(shelter.dogs) == ["e"] and e.is_managed and not shelter.guests and not shelter.cages
    guest = Hound(name="g")
    loose = Shelter(id=5, guests=[guest, guest, a])
    assert len(loose.guests) == 2 and guest in loose.guests and Hound() not in loose.guests
    loose.guests.add(Hound(name="h"))
    with store.write():
        store.add(loose)
    assert guest.is_managed and sorted(names(loose.guests)) == ["a", "g", "h"]
    with store.write():
        store.delete(loose)
    with store.write():
        many = [Shelter(id=10 + n, dogs=[a, Hound(name=str(n))], guests={a}) for n in range(3)]
        assert store.add_all(many).created == 3
        assert (
            store.create_all(Shelter, [{"id": 20 + n, "dogs": [a, a], "cages": {"x": b}} for n in range(3)]).created
            == 3
        )
    assert ids(a.shelters) == [10, 11, 12, 20, 21, 22] and ids(a.visited) == [10, 11, 12] and len(b.caged) == 3


def test_refusals(store):
    with objstore.open(memory="other", models=MODELS) as other:
        with other.write():
            stranger = other.create(Hound, {"name": "stranger"})
        with store.write():
            shelter, gone = store.create(Shelter, {"id": 1}), store.create(Hound, {"name": "gone"})
            store.delete(gone)
            for change in (shelter.dogs.append, shelter.guests.add, lambda dog: shelter.cages.update(x=dog)):
                with pytest.raises(objstore.WrongType, match="an object of class Hound is wanted"):
                    change(shelter)
                with pytest.raises(objstore.WrongStore):
                    change(stranger)
                with pytest.raises(objstore.NoSuchObject):
                    change(gone)
            with pytest.raises(objstore.NotNullable):
                shelter.dogs.append(None)
            assert not shelter.dogs and not shelter.guests and not shelter.cages
    with pytest.raises(objstore.NotInWrite):
        shelter.dogs.append(Hound())
    with pytest.raises(objstore.SchemaError, match=r"Hound \| None"):
        type("Bad", (objstore.Model,), {"__annotations__": {"cages": dict[str, Hound]}, "__module__": __name__})
    with pytest.raises(objstore.SchemaError, match="never None"):
        type("Bad", (objstore.Model,), {"__annotations__": {"dogs": list[Optional[Hound]]}, "__module__": __name__})
    with pytest.raises(objstore.SchemaError, match="not among the models"):
        objstore.open(memory="bad", models=[Shelter])


def test_a_history_against_a_model(store):
    """Lists, sets and dicts beside builtin ones that are searched from end to end."""
    rng = random.Random(5)
    shelters, hounds, model = [], [], {}
    for _ in range(60):
        with store.write():
            for _ in range(10):
                if len(hounds) < 4 or rng.random() < 0.2:
                    hounds.append(store.create(Hound, {"name": str(rng.random())}))
                if len(shelters) < 3 or rng.random() < 0.05:
                    shelters.append(store.create(Shelter, {"id": rng.randrange(10**9)}))
                    model[shelters[-1]] = ([], set(), {})
                shelter, hound = rng.choice(shelters), rng.choice(hounds)
                dogs, guests, cages = model[shelter]
                match rng.randrange(8):
                    case 0 | 1:
                        some = rng.choices(hounds, k=rng.choice([1, 3, 40]))
                        at = rng.randrange(len(dogs) + 1)
                        shelter.dogs[at:at] = some
                        dogs[at:at] = some
                    case 2 if dogs:
                        at = rng.randrange(len(dogs))
                        del shelter.dogs[at], dogs[at]
                    case 3:
                        shelter.guests.add(hound)
                        guests.add(hound)
                    case 4:
                        shelter.guests.discard(hound)
                        guests.discard(hound)
                    case 5 | 6:
                        key = str(rng.randrange(9))
                        shelter.cages[key] = cages[key] = rng.choice([hound, None])
                    case 7 if len(hounds) > 4:
                        store.delete(hound)
                        hounds.remove(hound)
                        for others in model.values():
                            others[0][:] = [h for h in others[0] if h != hound]
                            others[1].discard(hound)
                            others[2].update({k: None for k, v in others[2].items() if v == hound})
        for shelter, (dogs, guests, cages) in model.items():
            assert list(shelter.dogs) == dogs and set(shelter.guests) == guests and dict(shelter.cages) == cages
        for hound in hounds:
            assert set(hound.shelters) == {s for s in shelters if hound in model[s][0]}
            assert len(hound.shelters) == len({s for s in shelters if hound in model[s][0]})
            assert set(hound.visited) == {s for s in shelters if hound in model[s][1]}
            assert set(hound.caged) == {s for s in shelters if hound in model[s][2].values()}
