"""Which modifications observers are told of: key paths, four links where nothing is said; rests; commits."""

import datetime
import time
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import Backlinks, EmbeddedModel, Model, backlinks, field


class Home(EmbeddedModel):
    street: str = ""
    city: "City | None" = None


class City(Model):
    name: str = field(primary_key=True)
    size: int = 0
    twin: "City | None" = None


class Owner(Model):
    name: str = field(primary_key=True)
    age: int = 0
    home: Home | None = None
    city: City | None = None
    pets: "Backlinks[Pet]" = backlinks("owner")
    likes: "set[Pet]"


class Pet(Model):
    name: str = field(primary_key=True)
    age: int = 0
    owner: Owner | None = None
    siblings: list["Pet"]
    friends: dict[str, "Pet | None"]
    extra: Any = None


empty = store_of([Pet, Owner, City, Home])


@pytest.fixture
def store(empty):
    with empty.write():
        twin = empty.add(City(name="Graz"))
        bern = empty.add(City(name="Bern", twin=twin))
        ann = empty.add(Owner(name="Ann", city=bern, home=Home(street="A", city=bern)))
        rex = empty.add(Pet(name="Rex", owner=ann))
        lita = empty.add(Pet(name="Lita"))
        rex.siblings.append(lita)
        rex.friends["best"] = lita
        lita.extra = ann
    return empty


def heard(store, results, keys=None):
    """Observes, and gives a function that writes and says what was told: names and properties."""
    log = []
    token = results.observe(
        lambda change: log.append([(o.name, change.written(i)) for i, o in enumerate(change.modified)]),
        keys=keys,
        **({} if isinstance(results, Model) else {"initial": False}),
    )

    def tell(change):
        log.clear()
        with store.write():
            change()
        store.deliver()
        return log[0] if log else []

    tell.token = token
    return tell


def setter(obj, name, value):
    return lambda: setattr(obj, name, value)


@pytest.mark.parametrize("kind", ["class", "results", "sorted", "limited", "list", "list by a query", "set", "inverse"])
def test_a59_a_deletion_an_insertion_and_a_modification(store, kind):
    with store.write():
        ann = store.get(Owner, "Ann")
        store.objects(Pet).delete()
        holder = store.add(Pet(name="z"))
        pets = [store.add(Pet(name=name, age=age, owner=ann)) for age, name in enumerate("abcd")]
        holder.siblings = pets
        ann.likes = set(pets)
    shown = {
        "class": store.objects(Pet).where(Pet.name != "z"),
        "results": store.objects(Pet).where(Pet.age < 50, Pet.name != "z"),
        "sorted": store.objects(Pet).where(Pet.name != "z").order_by(Pet.age),
        "limited": store.objects(Pet).where(Pet.name != "z").order_by(Pet.age).limit(10),
        "list": holder.siblings,
        "list by a query": holder.siblings.objects(),
        "set": ann.likes,
        "inverse": ann.pets,
    }[kind]
    log = []
    token = shown.observe(
        lambda c: log.append("initial" if c.is_initial else (c.deletions, c.insertions, c.modifications)),
        keys=["extra"],
    )
    assert store.deliver() == 1
    with store.write():
        store.delete(pets[1])
        new = store.add(Pet(name="e", age=9, owner=ann))
        pets[2].extra = "changed"
        holder.siblings.append(new)
        ann.likes.add(new)
    assert store.deliver() == 1
    assert log == ["initial", ([1], [3], [2])]
    token.close()


def test_a90_an_observer_of_two_properties(store):
    rex, toys = store.get(Pet, "Rex"), []
    token = rex.observe(lambda c: toys.append([o.extra for o in c.modified]), keys=["extra", "age"])
    with store.write():
        rex.extra = "Frisbee"
    store.deliver()
    with store.write():
        rex.siblings.clear()
    store.deliver()
    assert toys == [["Frisbee"]]
    token.close()


def test_four_links_where_nothing_is_said(store):
    pets, bern = store.objects(Pet), store.get(City, "Bern")
    tell = heard(store, pets)
    assert tell(setter(store.get(Pet, "Rex"), "age", 3)) == [("Rex", ("age",))]
    # Rex is Lita's sibling and friend, and Lita's extra is Ann.
    assert tell(setter(store.get(Owner, "Ann"), "age", 3)) == [
        ("Rex", ("owner", "siblings", "friends")),
        ("Lita", ("extra",)),
    ]
    assert [name for name, _ in tell(setter(bern, "size", 7))] == ["Rex", "Lita"]
    assert [name for name, _ in tell(setter(store.get(City, "Graz"), "size", 7))] == ["Rex", "Lita"]

    with store.write():  # a chain: Rex, Lita, Ann, Bern, Graz, and one behind
        store.get(Pet, "Rex").owner = None
        store.get(City, "Graz").twin = store.add(City(name="Oslo"))
    store.deliver()
    oslo = store.get(City, "Oslo")
    # Lita, extra: Ann, city: Bern, twin: Graz, twin: Oslo: four links; Rex is one farther.
    assert tell(setter(oslo, "size", 1)) == [("Lita", ("extra",))]
    exact = heard(store, pets, keys=["siblings.owner.city.twin.twin.size", "owner.city.twin.twin.twin.size"])
    assert exact(setter(oslo, "size", 2)) == []
    with store.write():
        store.get(Pet, "Lita").owner = store.get(Owner, "Ann")
    store.deliver()
    assert exact(setter(oslo, "size", 3)) == [("Rex", ("siblings",))], "five links, said so"


def test_a_list_is_not_what_its_objects_have(store):
    rex, lita = store.get(Pet, "Rex"), store.get(Pet, "Lita")
    pets = store.objects(Pet)
    members, names = heard(store, pets, keys=["siblings"]), heard(store, pets, keys=[Pet.siblings.age])
    friends = heard(store, pets, keys=["friends.age"])
    assert members(setter(lita, "age", 5)) == []
    assert names(setter(lita, "age", 6)) == [("Rex", ("siblings",))] and names(setter(lita, "extra", 6)) == []
    assert friends(setter(lita, "age", 7)) == [("Rex", ("friends",))]
    assert members(lambda: rex.siblings.append(rex)) == [("Rex", ("siblings",))]
    assert names(lambda: rex.siblings.pop()) == [("Rex", ("siblings",))], "the list, too"


def test_of_a_collection_itself(store):
    rex, lita, ann = store.get(Pet, "Rex"), store.get(Pet, "Lita"), store.get(Owner, "Ann")
    with store.write():
        lita.owner = ann
    usual, age, owner = (heard(store, rex.siblings, keys=keys) for keys in (None, ["age"], ["owner.age"]))
    friends = []
    token = rex.friends.observe(lambda c: friends.append(c.modified_keys), keys=["owner.age"], initial=False)
    assert usual(setter(lita, "age", 3)) == [("Lita", ("age",))] and age(setter(lita, "age", 4)) == [("Lita", ("age",))]
    assert usual(setter(ann, "age", 5)) == [("Lita", ("owner", "extra"))] and age(setter(ann, "age", 6)) == []
    assert friends == [["best"], ["best"]]
    assert owner(setter(ann, "age", 7)) == [("Lita", ("owner",))] and owner(setter(lita, "age", 8)) == []
    with store.write():
        ann.home.city.size = 100
    assert store.deliver() == 1, "two links, where nothing is said"
    token.close()
    with pytest.raises(objstore.NoSuchProperty):
        rex.siblings.observe(print, keys=["wings"])


def test_each_is_told_of_its_own_paths(store):
    rex, ann = store.get(Pet, "Rex"), store.get(Owner, "Ann")
    pets = store.objects(Pet)
    age, owner, both = (heard(store, pets, keys=keys) for keys in (["age"], ["owner.age"], ["age", Pet.owner.age]))
    nothing, own = heard(store, pets, keys=[]), heard(store, pets, keys=["*"])
    assert age(setter(rex, "age", 1)) == [("Rex", ("age",))] and age(setter(ann, "age", 1)) == []
    assert owner(setter(rex, "age", 2)) == [] and owner(setter(ann, "age", 2)) == [("Rex", ("owner",))]
    assert len(both(setter(rex, "age", 3))) == len(both(setter(ann, "age", 3))) == 1
    assert nothing(setter(rex, "age", 4)) == []
    assert own(setter(rex, "age", 5)) == [("Rex", ("age",))] and own(setter(ann, "age", 5)) == []
    of_owner = heard(store, pets, keys=["owner.*"])
    assert of_owner(setter(ann, "age", 6)) == [("Rex", ("owner",))]
    assert of_owner(setter(store.get(City, "Bern"), "size", 6)) == []


def test_into_what_is_embedded(store):
    owners, ann, bern = store.objects(Owner), store.get(Owner, "Ann"), store.get(City, "Bern")
    street, home = heard(store, owners, keys=["home.street"]), heard(store, owners, keys=["home"])
    behind = heard(store, owners, keys=[Owner.home.city.size])
    assert street(setter(ann.home, "street", "B")) == [("Ann", ("home",))]
    assert street(setter(ann.home, "city", bern)) == []
    assert home(setter(ann.home, "city", None)) == [("Ann", ("home",))]
    assert behind(setter(ann.home, "city", bern)) == [("Ann", ("home",))]
    assert behind(setter(bern, "size", 9)) == [("Ann", ("home",))] and behind(setter(ann.home, "street", "C")) == []
    assert street(setter(ann, "home", Home(street="D"))) == [("Ann", ("home",))], "another one"


def test_through_inverses(store):
    owners, rex, lita = store.objects(Owner), store.get(Pet, "Rex"), store.get(Pet, "Lita")
    for keys in ([Owner.pets.age], ["pets.age"], ["@links.Pet.owner.age"]):
        tell = heard(store, owners, keys=keys)
        assert tell(setter(rex, "age", 8)) == [("Ann", ())]
        assert tell(setter(rex, "extra", 8)) == []
        assert tell(setter(lita, "owner", store.get(Owner, "Ann"))) == [("Ann", ())], "one more"
        assert tell(setter(lita, "owner", None)) == [("Ann", ())], "one less"
        tell.token.close()


def test_one_object_and_what_it_links_to(store):
    rex, ann = store.get(Pet, "Rex"), store.get(Owner, "Ann")
    own, all_of_it = heard(store, rex), heard(store, rex, keys=["*", "owner.*"])
    assert own(setter(ann, "age", 1)) == [] and own(setter(rex, "age", 1)) == [("Rex", ("age",))]
    assert all_of_it(setter(ann, "age", 2)) == [("Rex", ("owner",))]


def test_what_is_no_path(store):
    pets = store.objects(Pet)
    for keys, error, text in (
        (["wings"], objstore.NoSuchProperty, "class Pet does not have a property wings"),
        (["owner.wings"], objstore.NoSuchProperty, "key path owner.wings: class Owner"),
        (["age.x"], objstore.WrongType, "Pet.age is an int"),
        (["extra.name"], objstore.WrongType, "Pet.extra is"),
        (["owner..name"], objstore.NoSuchProperty, "owner..name"),
        ([""], objstore.InvalidArgument, "keys"),
        (["@links.Cat.owner"], objstore.NoSuchClass, "Cat"),
        (["@links.Owner.city"], objstore.WrongType, "Owner.city is no link to Pet"),
        ("age", objstore.InvalidArgument, "list of properties"),
        ([Owner.age], objstore.InvalidArgument, "Pet"),
        ([Pet.age + 1], objstore.InvalidArgument, "Pet"),
        ([Pet.siblings[0].age], objstore.InvalidArgument, "Pet"),
        ([7], objstore.InvalidArgument, "Pet"),
        ([".".join(["siblings"] * 70)], objstore.InvalidArgument, "64"),
    ):
        with pytest.raises(error) as caught:
            pets.observe(print, keys=keys)
        assert text in str(caught.value), (keys, str(caught.value))


def test_sorted_and_limited_with_paths(store):
    with store.write():
        for i in range(30):
            store.add(Pet(name=f"p{i:02}", age=i, owner=store.get(Owner, "Ann")))
    first = store.objects(Pet).where(Pet.age > 3).order_by(objstore.desc(Pet.age)).limit(5)
    log = []
    token = first.observe(lambda c: log.append((c.modifications, c.moves)), keys=["owner.age"], initial=False)
    with store.write():
        store.get(Owner, "Ann").age = 4
    store.deliver()
    assert log[-1] == ([0, 1, 2, 3, 4], [])
    with store.write():
        store.get(Pet, "p25").age = 100
    store.deliver()
    assert log[-1] == ([], [(4, 0)])
    token.close()


# Rests


def test_pausing(store):
    rex, log = store.get(Pet, "Rex"), []
    token = store.objects(Pet).observe(lambda c: log.append(c.modifications), keys=["age"], initial=False)
    other = []
    witness = store.observe(Pet, lambda c: other.append(c.modification_count), keys=["age"], initial=False)
    token.pause()
    token.pause()
    for age in range(3):
        with store.write():
            rex.age = age
        assert store.deliver() == 1
    assert log == [] and other == [1, 1, 1]
    token.resume()
    assert store.wait(5) == 1 and log == [[0]], "three commits in one"
    token.resume()
    assert store.deliver() == 0
    with store.write():
        rex.age = 9
    assert store.deliver() == 2
    witness.close()
    token.pause()
    token.close()
    with pytest.raises(objstore.Closed):
        token.resume()


def test_pausing_inside_of_the_handler(store):
    rex, log = store.get(Pet, "Rex"), []

    def once(change):
        log.append(change.modification_count)
        token.pause()

    token = store.objects(Pet).observe(once, keys=["age"], initial=False)
    for age in range(3):
        with store.write():
            rex.age = age
        store.deliver()
    assert log == [1]
    token.resume()
    store.deliver()
    assert log == [1, 1]


def test_an_initial_change_waits_for_the_end_of_a_pause(store):
    log = []
    token = store.objects(Pet).observe(lambda c: log.append(c.is_initial))
    token.pause()
    assert store.deliver() == 0
    token.resume()
    assert store.deliver() == 1 and log == [True]


def test_an_interval(store):
    rex, log = store.get(Pet, "Rex"), []
    token = store.objects(Pet).observe(lambda c: log.append(time.monotonic()), keys=["age"], initial=False)
    token.set_interval(0.2)
    for age in range(20):
        with store.write():
            rex.age = age
        store.deliver()
    assert len(log) == 1, "the first comes at once"
    assert store.wait(5) == 1, "the others in one piece, when the time is over"
    assert log[1] - log[0] >= 0.2
    assert store.wait(0.5) == 0, "and nothing behind them"
    token.set_interval(0)
    for age in range(3):
        with store.write():
            rex.age = age
        assert store.deliver() == 1
    for wrong in (-1, float("nan"), "1", float("inf"), datetime.timedelta(seconds=1)):
        with pytest.raises(objstore.InvalidArgument):
            token.set_interval(wrong)
    with pytest.raises(objstore.OutOfRange):
        token.set_interval(90_000)


# Commits


def test_commits(store):
    log = []
    token = store.observe_commits(
        lambda c: log.append((c.to_version - c.from_version, len(c.before.objects(City)), len(c.after.objects(City))))
    )
    assert store.deliver() == 0
    with store.write():
        store.add(City(name="Rome"))
    with store.write():
        store.get(City, "Rome").size = 3
    assert store.deliver() == 1 and log == [(2, 2, 3)]
    with store.write():
        pass
    assert store.deliver() == 0, "nothing was committed"
    with pytest.raises(ZeroDivisionError):
        with store.write():
            store.add(City(name="Ulm"))
            raise ZeroDivisionError
    assert store.deliver() == 0
    with store.write(without_notifying=[token]):
        store.add(City(name="Ulm"))
    assert store.deliver() == 0
    token.pause()
    with store.write():
        store.get(City, "Rome").size = 4
    assert store.deliver() == 0
    token.resume()
    assert store.deliver() == 1
    token.close()

    first = []
    token = store.observe_commits(lambda c: first.append((c.is_initial, c.is_from_other_process)), initial=True)
    assert store.deliver() == 1 and first == [(True, False)] and not token.is_closed
    with pytest.raises(objstore.InvalidArgument):
        store.observe_commits(3)


def test_a_checkpoint_is_no_commit(path):
    with objstore.open(path, models=[City]) as store:
        log = []
        token = store.observe_commits(log.append)
        with store.write():
            store.add(City(name="Rome"))
        assert store.deliver() == 1
        store.checkpoint()
        store.deliver()
        assert len(log) == 1 and not token.is_closed


def test_one_that_stays_too_far_behind(path):
    with objstore.open(path, models=[City], observer_lag=5) as store:
        with store.write():
            bern = store.add(City(name="Bern"))
        log = []

        def tell(change):
            rows = [c.name for c in change.after.objects(City)] if change.is_lost else None
            log.append((change.is_lost, rows, [c.name for c in change.modified]))

        tokens = [
            store.objects(City).where(City.size < 100).order_by(City.size).observe(tell, initial=False),
            store.observe(City, tell, initial=False),
            bern.observe(tell),
        ]
        for size in range(4):
            with store.write():
                bern.size = size
        assert tokens[0].lag >= 4 and store.deliver() == 3
        assert log == [(False, None, ["Bern"])] * 3 and tokens[0].lag == 0
        log.clear()
        tokens[0].pause()
        for size in range(12):
            with store.write():
                bern.size = size
        store.wait(5)
        while len(log) < 2:
            store.wait(1)
        assert [lost for lost, _, _ in log] == [True] * 2 and log[0][1] == ["Bern"], "nobody served them"
        log.clear()
        tokens[0].resume()
        assert store.deliver() == 1 and log[0][0]
        with store.write():
            bern.size = 50
        log.clear()
        assert store.deliver() == 3 and log == [(False, None, ["Bern"])] * 3, "and goes on"


# Many


def test_many_observers_of_other_objects(store):
    """Whoever is told is right, however many there are; who is not concerned is not asked."""
    with store.write():
        for i in range(300):
            store.add(City(name=f"c{i}", size=i % 50))
    told = []
    tokens = [
        store.get(City, f"c{i}").observe(lambda c, i=i: told.append(("object", i, c.deletion_count)))
        for i in range(300)
    ]
    tokens += [
        store.objects(City)
        .where(City.size == i)
        .observe(lambda c, i=i: told.append(("size", i, c.deletions, c.insertions, c.modifications)), initial=False)
        for i in range(50)
    ]
    with store.write():
        store.get(City, "c7").size = 8
    assert store.deliver() == 3
    assert sorted(told) == [("object", 7, 0), ("size", 7, [0], [], []), ("size", 8, [], [0], [])]
    told.clear()
    with store.write():
        store.delete(store.get(City, "c7"))
    assert store.deliver() == 2 and sorted(told) == [("object", 7, 1), ("size", 8, [0], [], [])]
    told.clear()
    with store.write():
        store.objects(City).where(City.size < 50).update(size=49)
    store.deliver()
    assert len(told) == 299 + 50, "all, at once"
    for token in tokens:
        token.close()
    assert store.deliver() == 0
