"""Observers of projections are told of what is projected."""

import asyncio

import pytest

import objstore
from objstore import InvalidArgument, NoSuchProperty
from projected_models import MODELS, Address, Detailed, Person, PersonView, opened


@pytest.fixture
def store():
    yield from opened()


@pytest.fixture
def jason(store):
    return store.get(Person, 1)


def after(store, body):
    with store.write():
        body()
    store.deliver()


def test_one_object(store, jason):
    told = []

    def tell(change):
        if change.deletion_count:
            return told.append("deleted")
        [old], [new] = change.modified_before, change.modified
        names = change.written(0)
        return told.append([(name, getattr(old, name), getattr(new, name)) for name in names if name != "friend_names"])

    view = PersonView(jason)
    with view.observe(tell):
        after(store, lambda: setattr(jason, "last_name", "Webb"))
        after(store, lambda: setattr(jason, "age", 41))
        after(store, lambda: jason.tags.add("x"))
        assert told == []  # none of them is projected

        def both():
            view.first_name = "David"
            jason.age = 42

        after(store, both)
        assert told.pop() == [("first_name", "Jason", "David")]
        # Of what is embedded, the part that is projected.
        after(store, lambda: setattr(jason.address, "zip", "8001"))
        assert told == []
        after(store, lambda: setattr(view, "home_city", "Paris"))
        assert told.pop() == [("home_city", "Zurich", "Paris")]
        after(store, lambda: setattr(jason, "address", None))
        assert told.pop() == [("home_city", "Paris", None)]
        after(store, lambda: jason.friends.append(store.get(Person, 2)))
        assert told.pop() == []  # friend_names
        after(store, lambda: store.delete(jason))
        assert told == ["deleted"]


def test_what_is_not_told_is_not_counted(store, jason):
    with PersonView(jason).observe(print):
        with store.write():
            jason.address.zip = "x"
        assert store.deliver() == 0


def test_keys(store, jason):
    view, by_name, by_property = PersonView(jason), [], []
    tokens = [
        view.observe(lambda change: by_name.append(change.written(0)), keys=["home_city"]),
        view.observe(lambda change: by_property.append(change.written(0)), keys=[PersonView.first_name]),
    ]

    def both():
        view.first_name, view.home_city = "David", "Rome"

    after(store, both)
    assert by_name == [("home_city",)] and by_property == [("first_name",)]
    after(store, lambda: setattr(view, "first_name", "Max"))
    assert len(by_name) == 1 and len(by_property) == 2
    for token in tokens:
        token.close()
    for keys, kind in (
        (["nme"], NoSuchProperty),
        (["last_name"], NoSuchProperty),
        ([Person.age], NoSuchProperty),
        ([Detailed.zip], NoSuchProperty),
        ("home_city", InvalidArgument),
        (5, InvalidArgument),
    ):
        with pytest.raises(kind, match="keys"):
            view.observe(print, keys=keys)
        with pytest.raises(kind, match="keys"):
            store.objects(PersonView).observe(print, keys=keys)


def test_handlers_are_looked_at(store, jason):
    async def later(change): ...

    for handler in (None, 5, later):
        with pytest.raises(InvalidArgument):
            PersonView(jason).observe(handler)
        with pytest.raises(InvalidArgument):
            store.objects(PersonView).observe(handler)

    def fails(change):
        raise ValueError("of the handler")

    with PersonView(jason).observe(fails), pytest.raises(ValueError, match="of the handler"):
        after(store, lambda: setattr(jason, "first_name", "x"))


def test_results(store, jason):
    told = []

    def tell(change):
        assert all(type(view) is PersonView for view in (*change.inserted, *change.modified, *change.deleted))
        written = [change.written(i) for i in range(change.modification_count)]
        told.append(
            (
                change.is_initial,
                [view.first_name for view in change.deleted],
                [view.first_name for view in change.inserted],
                [(old.first_name, new.first_name) for old, new in zip(change.modified_before, change.modified)],
                written,
                (change.deletions, change.insertions, change.modifications, change.moves),
            )
        )

    everyone = store.objects(PersonView).where(Person.last_name != "nobody").order_by(Person.first_name)
    with everyone.observe(tell):
        store.deliver()
        assert told.pop()[0] is True
        after(store, lambda: setattr(jason, "age", 50))
        assert told == []

        def body():
            jason.first_name = "David"
            store.add(Person(id=7, first_name="Zoe"))
            store.delete(store.get(Person, 3))

        after(store, body)
        assert told == [
            (False, ["Marie"], ["Zoe"], [("Jason", "David")], [("first_name", "friend_names")], ([1], [3], [0], [])),
        ]
    told.clear()
    with everyone.observe(tell, initial=False, keys=["home_city"]):
        after(store, lambda: setattr(jason, "first_name", "E"))
        assert told == []
        after(store, lambda: setattr(jason.address, "city", "Rome"))
        assert told.pop()[4] == [("home_city",)]


def test_what_lies_behind_links_and_inverses(store, jason):
    told = []
    with Detailed(store.get(Person, 2)).observe(lambda change: told.append(change.written(0))):
        after(store, lambda: setattr(jason, "last_name", "Webb"))
        assert told.pop() == ("staff_names",)
        after(store, lambda: setattr(store.get(Person, 2), "last_name", "L"))
        assert told.pop() == ("surname",)
        after(store, lambda: setattr(jason, "age", 77))
        assert told == [], "not projected"


def test_loops(store, jason):
    async def main():
        with store.objects(PersonView).changes(keys=["first_name"], initial=False) as stream:
            with store.write():
                jason.age = 1
            with store.write():
                jason.first_name = "David"
            async for change in stream:
                return [view.first_name for view in change.modified], repr(change)

    names, text = asyncio.run(main())
    assert names == ["David"] and text.startswith("<PersonView of <Changes of Person")


def test_a_change_set_says_what_others_say(store, jason):
    """The pattern of the manual: initial, lost, owner deleted."""
    told = []

    def tell(change):
        flags = change.is_initial, change.is_lost, change.is_owner_deleted, change.is_compared, change.is_cleared
        told.append((flags, change.written(0) if change.modification_count else None))

    with store.objects(PersonView).observe(tell), PersonView(jason).observe(tell):
        store.deliver()
        assert told.pop() == ((True, False, False, False, False), None) and told == []
        after(store, lambda: setattr(jason, "first_name", "x"))
        assert told == [((False,) * 5, ("first_name",))] * 2


def test_one_that_comes_too_late_says_so():
    told = []
    with objstore.open(memory="", models=MODELS, observer_lag=2) as store:
        with store.write():
            view = PersonView(store.add(Person(id=1)))
        results = store.objects(PersonView)
        tokens = [each.observe(lambda c: told.append((c.is_initial, c.is_lost))) for each in (results, view)]
        store.deliver()
        told.clear()
        for _ in range(6):
            with store.write():
                view.first_name += "x"
        store.deliver()
        assert told == [(False, True)] * 2
        for token in tokens:
            token.close()


def test_what_was_written_in_a_move(store, jason):
    told = []

    def tell(change):
        told.append([(view.base.id, change.written_in_move(at)) for at, view in enumerate(change.moved)])

    ordered = store.objects(Detailed).order_by(Person.first_name)
    with ordered.observe(tell, keys=["first_name", "boss_city", "zip"], initial=False):

        def body():
            jason.first_name = "Zoe"
            jason.boss.address = Address(city="Rome")
            jason.address.city = "not shown as zip"

        after(store, body)
        assert told == [[(1, ("first_name", "boss_city"))]]
    with store.objects(PersonView).order_by(Person.first_name).observe(tell, keys=["first_name"], initial=False):
        told.clear()
        after(store, lambda: setattr(jason, "first_name", "A"))
        assert told == [[(1, ("first_name",))]]


def test_a_modification_that_shows_what_was_shown(store, jason):
    """Something on the way was written; what is shown is None before and after."""
    told = []

    def tell(change):
        told.append([(view.base.id, change.written(at)) for at, view in enumerate(change.modified)])

    with store.objects(Detailed).observe(tell, keys=["boss_city"], initial=False):
        assert Detailed(jason).boss_city is None
        after(store, lambda: store.delete(jason.boss))
        assert told == [[(1, ())]]


def test_beginning_where_a_program_stopped(store, jason):
    told, view = [], PersonView(jason)
    kept = store.freeze()
    seen = kept.bookmark()
    with store.write():
        jason.first_name = "David"

    def tell(change):
        told.append((change.is_initial, change.is_lost, change.modified_before[0].first_name, change.written(0)))

    for each in (view, store.objects(PersonView)):
        with each.observe(tell, keys=["first_name"], since=seen):
            store.deliver()
            assert told == [(False, False, "Jason", ("first_name",))]
            told.clear()
