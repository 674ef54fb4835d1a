"""Tables are observed by their rows: objects, or groups of them."""

import asyncio
import enum
import random

import pytest

import objstore
from conftest import store_of
from notebooks import Rows, rows
from objstore import Backlinks, asc, backlinks, call, desc, group


class Kind(enum.Enum):
    BIG = "big"
    SMALL = "small"


class Home(objstore.Model):
    city: str = ""
    animals: Backlinks["Animal"] = backlinks("home")


class Animal(objstore.Model):
    name: str = ""
    city: str | None = None
    age: int = 0
    other: int = 0
    kind: Kind | None = None
    home: Home | None = None


class Other(objstore.Model):
    number: int = 0


store = store_of([Animal, Home])


class Copy:
    """The rows of a table, as change sets say."""

    def __init__(self, table, key=None, **options):
        """`key`: what a row is known by; None: by the objects, which are in the first column."""
        self.rows, self.key, self.told = list(map(tuple, table)), key or (lambda row: row[0]), 0
        self.token = table.observe(self, **options)

    def __call__(self, change):
        self.told += 1
        before, after = change.table_before[:], change.table[:]
        columns = change.table.columns
        if change.is_initial:
            self.rows = after
            return
        assert before == self.rows
        old = self.rows.copy()
        for at in reversed(change.deletions):
            del self.rows[at]
        for at in change.insertions:
            self.rows.insert(at, after[at])
        places = list(zip(change.modifications, change.modifications_after))
        for index, (was, now) in enumerate(places):
            self.follow(old[was], after[now], change.changed(index), columns)
            self.rows[now] = after[now]
        for index, (was, now) in enumerate(change.moves):
            self.follow(old[was], after[now], change.changed_in_move(index), columns)
        assert self.rows == after

    def follow(self, was, now, changed, columns):
        assert self.key(was) == self.key(now)
        assert changed == tuple(name for name, a, b in zip(columns, was, now) if a != b)


def stir(dice, store):
    """Some of what can happen."""
    animals, homes = list(store.objects(Animal)), list(store.objects(Home))
    for _ in range(dice.randrange(1, 5)):
        what = dice.randrange(7)
        if what == 0 or len(animals) < 3:
            animals.append(
                store.create(
                    Animal,
                    {
                        "name": f"{dice.randrange(10**6)}",
                        "city": dice.choice([None, "Bern", "Genf", "Sion"]),
                        "age": dice.randrange(6),
                        "kind": dice.choice([None, *Kind]),
                        "home": dice.choice([None, *homes]),
                    },
                )
            )
        elif what == 1:
            store.delete(animals.pop(dice.randrange(len(animals))))
        elif what == 2:
            dice.choice(animals).city = dice.choice([None, "Bern", "Genf", "Sion"])
        elif what == 3:
            dice.choice(animals).age = dice.randrange(6)
        elif what == 4:
            dice.choice(animals).other += 1
        elif what == 5:
            dice.choice(homes).city = dice.choice(["Bern", "Genf"])
        else:
            chosen = dice.choice(animals)
            chosen.kind, chosen.home = dice.choice([None, *Kind]), dice.choice([None, *homes])


def grouped(store, condition=lambda animal: True):
    """Ages by cities, in the order of the first of each."""
    found = {}
    for animal in store.objects(Animal):
        if condition(animal):
            found.setdefault(animal.city, []).append(animal.age)
    return found


def tables(store):
    """Tables, what their rows are known by, and what they are to show."""
    animals = store.objects(Animal)

    def few():
        kept = [(city, len(ages), sum(ages)) for city, ages in grouped(store).items() if len(ages) > 1]
        return sorted(kept, key=lambda row: -row[2])[1:3]

    def oldest():
        return sorted(((a.name, a.age, a.home and a.home.city) for a in animals), key=lambda row: (row[1], row[0]))[:4]

    return [
        (animals.group_by(Animal.city).table(), None, lambda: [(c, len(a)) for c, a in grouped(store).items()]),
        (
            animals.group_by(Animal.city)
            .having(group.count > 1)
            .order_by(desc(group.sum(Animal.age)))
            .offset(1)
            .limit(2)
            .select(Animal.city, n=group.count, sum=group.sum(Animal.age)),
            None,
            few,
        ),
        (
            animals.table("age > $0 GROUP(city) SELECT(city, @max.age)", 2),
            None,
            lambda: [(c, max(a)) for c, a in grouped(store, lambda animal: animal.age > 2).items()],
        ),
        (
            animals.order_by(Animal.age, Animal.name).limit(4).select(Animal.name, Animal.age, "home.city"),
            None,
            oldest,
        ),
        (
            animals.where(Animal.kind == Kind.BIG).select("name", "kind", years=Animal.age * 10),
            None,
            lambda: [(a.name, a.kind, a.age * 10) for a in animals if a.kind is Kind.BIG],
        ),
        (animals.group_by().table(), lambda row: None, lambda: [(len(animals),)] if len(animals) else []),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_a_history(store, seed):
    print("seed", seed)
    dice = random.Random(seed)
    with store.write():
        for number in range(3):
            store.add(Home(city=f"home {number}"))
    asked = tables(store)
    copies = [Copy(table, key, initial=False) for table, key, _ in asked]
    for step in range(60):
        for _ in range(dice.choice([1, 1, 3])):
            with store.write():
                stir(dice, store)
        store.deliver()
        for copy, (table, _, wanted) in zip(copies, asked):
            assert copy.rows == wanted(), (step, table)
    assert all(copy.told > 3 for copy in copies)
    for copy in copies:
        copy.token.close()
    assert store.statistics().observers == 0


@pytest.fixture
def three(store):
    with store.write():
        return [
            store.add(Animal(name=name, city=city, age=age))
            for name, city, age in [("a", "Bern", 1), ("b", "Genf", 2), ("c", "Bern", 3)]
        ]


def commit(store, function):
    with store.write():
        function()
    return store.deliver()


def test_rows_of_objects(store, three):
    """They have the objects, and a column counts that was written again."""
    seen = []

    def told(change):
        written = [change.changed(index) for index in range(change.modification_count)]
        moved = [change.changed_in_move(index) for index in range(change.move_count)]
        names = [[a.name for a in those] for those in (change.deleted, change.inserted, change.modified, change.moved)]
        seen.append((names, [a.age for a in change.modified_before], written, moved, change.moves))

    a, b, c = three
    table = store.objects(Animal).order_by(Animal.age).select(Animal.name, older=Animal.age + 1)
    token = table.observe(told, initial=False)
    commit(store, lambda: setattr(a, "other", 5))
    assert seen == []  # no column reads it
    commit(store, lambda: setattr(b, "age", 2))
    assert seen.pop() == ([[], [], ["b"], []], [2], [()], [], [])

    def much():
        a.age = 9
        c.name = "cc"
        store.delete(b)
        store.add(Animal(name="d", age=0))

    commit(store, much)
    assert seen == [([["b"], ["d"], ["cc"], ["a"]], [3], [("name",)], [("older",)], [(0, 2)])]
    token.close()


def test_rows_of_groups_are_no_objects(store, three):
    def told(change):
        for name in ("deleted", "inserted", "modified", "modified_before", "moved"):
            with pytest.raises(objstore.WrongType, match=r"rows of groups are no objects: change\.table\[at\]"):
                getattr(change, name)
        with pytest.raises(IndexError):
            change.changed(change.modification_count)
        seen.append(repr(change))

    seen = []
    with store.objects(Animal).group_by(Animal.city).observe(told):
        store.deliver()
        commit(store, lambda: store.delete(three[2]))
        commit(store, lambda: store.delete_all(Animal))
    assert [text.split(": ", 1)[1] for text in seen] == [
        "initial>",
        "0 deleted, 0 inserted, 1 modified>",
        "2 deleted, 0 inserted, 0 modified>",
    ]
    assert all("of a table of Animal" in text for text in seen)


def test_tables_of_change_sets(store, three):
    """They last, are the same again, and have what tables have; not asked for, they are not to be had later."""
    kept = []
    table = store.objects(Animal).group_by(Animal.city, Animal.kind, Animal.home).table()
    with table.observe(kept.append, initial=False), table.observe(lambda c: kept.append(c.table), initial=False):
        commit(store, lambda: setattr(three[0], "kind", Kind.BIG))
    change, after = kept
    assert after["kind"] == [Kind.BIG, None, None]
    assert after.dicts()[1] == {"city": "Genf", "kind": None, "home": None, "@count": 1}
    assert after.query_text() == table.query_text()
    assert after.to_numpy("@count").tolist() == [1, 1, 1]
    for name in ("table", "table_before", "before"):
        with pytest.raises(objstore.Closed, match="until its handler returns"):
            getattr(change, name)

    def told(change):
        assert change.table is change.table and change.table_before is not change.table
        assert [home and home.city for home in change.table["home"]] == ["there", None, None]
        seen.append(change.table["home"][0])

    seen = []
    with table.observe(told, initial=False):
        commit(store, lambda: setattr(three[0], "home", Home(city="there")))
    with pytest.raises(objstore.Closed, match="until its handler returns"):
        seen[0].city


def test_where_it_begins(store, three):
    """The first call, and a bookmark."""
    seen = []
    groups = store.objects(Animal).group_by(Animal.city)
    mark = store.bookmark()
    store.keep_version("then", mark)
    commit(store, lambda: store.delete(three[1]))

    def told(change):
        seen.append((change.is_initial, change.is_lost, change.deletions, change.table_before[:], change.table[:]))

    with groups.observe(told):
        store.deliver()
        assert seen == [(True, False, [], [("Bern", 2)], [("Bern", 2)])]
    seen.clear()
    with groups.observe(told, since=mark) as token:
        store.deliver()
        assert seen == [(False, False, [1], [("Bern", 2), ("Genf", 1)], [("Bern", 2)])]
        assert token.bookmark() == store.bookmark()
    with pytest.raises(objstore.InvalidArgument, match="a bookmark"):
        groups.observe(told, since=b"no")
    store.release_version("then")


def test_it_rests(store, three):
    seen = []
    token = store.objects(Animal).group_by(Animal.city).observe(lambda c: seen.append(c.table[:]), initial=False)
    token.pause()
    commit(store, lambda: setattr(three[0], "city", "Sion"))
    commit(store, lambda: setattr(three[0], "city", "Genf"))
    assert seen == [] and token.lag == 2
    token.set_interval(3600)
    token.resume()
    store.deliver()
    assert seen == [[("Genf", 2), ("Bern", 1)]]
    commit(store, lambda: setattr(three[0], "city", "Sion"))
    assert len(seen) == 1
    token.set_interval(0)
    store.deliver()
    assert seen[1:] == [[("Sion", 1), ("Genf", 1), ("Bern", 1)]]
    token.close()


def test_it_is_not_told_of_its_own(store, three):
    copies = [Copy(table, key, initial=False) for table, key, _ in tables(store)]
    with store.write(without_notifying=[copy.token for copy in copies]):
        three[1].city, three[1].age = "Bern", 7
        store.add(Animal(name="d", city="Sion", age=4))
    assert store.deliver() == 0
    for copy, (table, _, _) in zip(copies, tables(store)):
        copy.rows = list(table)
    commit(store, lambda: setattr(three[0], "city", "Sion"))
    for copy, (_, _, wanted) in zip(copies, tables(store)):
        assert copy.rows == wanted()
        copy.token.close()


def test_what_handlers_raise(store, three):
    def told(change):
        raise ValueError("mine")

    seen = []
    groups = store.objects(Animal).group_by(Animal.city)
    with groups.observe(told, initial=False), groups.observe(seen.append, initial=False):
        with store.write():
            three[0].city = "Sion"
        with pytest.raises(ValueError, match="mine"):
            store.deliver()
        assert len(seen) == 1 and store.deliver() == 0
    with pytest.raises(objstore.InvalidArgument, match="a function is wanted that takes a change"):
        groups.observe("told")


def test_what_cannot_be_observed(store, three, path):
    frozen = store.freeze()
    for asked in (frozen.objects(Animal).group_by(Animal.city), frozen.objects(Animal).select(Animal.name)):
        for observe in (lambda a=asked: a.observe(print), lambda a=asked: a.changes(), lambda a=asked: a.live()):
            with pytest.raises(objstore.WrongView, match="nothing to observe"):
                observe()
    table = store.objects(Animal).select(Animal.name)
    with store.write(), pytest.raises(objstore.AlreadyInWrite):
        table.observe(print)
    token = table.observe(print)
    store.close()
    token.close()
    with pytest.raises(objstore.Closed):
        table.observe(print)
    with pytest.raises(objstore.Closed):
        token.pause()
    with objstore.open(path, models=[Animal, Home], mode="immutable") as nobody_writes:
        with pytest.raises(objstore.ReadOnly):
            nobody_writes.objects(Animal).group_by(Animal.city).observe(print)


def test_with_asyncio(store, three):
    async def main():
        seen, table = [], store.objects(Animal).order_by(asc(Animal.name)).select(Animal.name, Animal.city)
        with table.changes() as changes, store.objects(Animal).group_by(Animal.city).changes(initial=False) as others:
            assert isinstance(changes, objstore.TableStream) and isinstance(others, objstore.TableStream)
            async for change in changes:
                assert isinstance(change, objstore.TableChanges)
                seen.append((change.insertions, [a.name for a in change.inserted], len(change.table)))
                if len(seen) == 3:
                    break
                with store.write():
                    store.add(Animal(name=f"x{len(seen)}", city="Sion"))
            change = await anext(others)
            assert change.insertions == [2]
            assert (change.table_before["@count"], change.table["@count"]) == ([2, 1], [2, 1, 1])
            old = change
            with store.write():
                store.delete(three[0])
            while not change.moves:  # there was one more before
                change = await anext(others)
            assert change.table[:] == [("Genf", 1), ("Bern", 1), ("Sion", 2)]
            assert change.moves == [(0, 1)] and change.changed_in_move(0) == ("@count",)
            with pytest.raises(objstore.Closed):
                old.before
        return seen

    seen = asyncio.run(asyncio.wait_for(main(), 60))
    assert seen == [([], [], 3), ([3], ["x1"], 4), ([4], ["x2"], 5)]
    assert store.statistics().observers == 0


def test_a_query_that_calls_a_function(store, three):
    store.define_function("falling", lambda age: -age, "i64 -> i64")
    seen = []
    table = store.objects(Animal).order_by(Animal.name).select(Animal.name, less=call("falling", Animal.age))
    with table.observe(lambda change: seen.append((change.changed(0), change.table["less"])), initial=False):
        commit(store, lambda: setattr(three[0], "age", 5))
    assert seen == [(("less",), [-5, -2, -3])]


def test_a_class_that_is_dropped(path):
    """Rows go, once, and it says why."""
    with objstore.open(path, models=[Animal, Home]) as store:
        commit(store, lambda: store.add(Animal(name="a", city="Bern")))
        seen = []

        def told(change):
            seen.append((change.deletions, change.is_owner_deleted, len(change.table_before)))
            with pytest.raises(objstore.NoSuchClass, match="Animal has been dropped"):
                change.table

        animals = store.objects(Animal)
        tokens = [asked.observe(told, initial=False) for asked in (animals.group_by("city"), animals.select("name"))]
        with objstore.open(path, models=[Other], drop=["Animal"], schema_version=2):
            pass
        store.deliver()
        assert seen == [([0], True, 1)] * 2
        for token in tokens:
            token.close()


def test_groups_of_what_nobody_has_any_more():
    """Of nothing GROUP() is one row, and there is none where the owner of the list is deleted."""

    class Item(objstore.Model):
        n: int

    class Box(objstore.Model):
        items: list[Item]

    with objstore.open(memory="", models=[Item, Box], durability="none") as store:
        box = store.write(lambda tx: store.add(Box(items=[Item(n=3)])))
        seen = []

        def told(change):
            seen.append((change.deletions, change.modifications, len(change.table), change.is_owner_deleted))

        texts = ("GROUP() SELECT(@count, @sum.n)", "GROUP(n)", "SORT(n ASC) GROUP()", "SORT(n ASC) SELECT(n)")
        tokens = [box.items.filter("").table(text).observe(told, initial=False) for text in texts]
        store.write(lambda tx: box.items.clear())
        store.deliver()
        assert sorted(seen) == [([], [0], 1, False)] * 2 + [([0], [], 0, False)] * 2
        seen.clear()
        store.write(lambda tx: store.delete(box))
        store.deliver()
        assert sorted(seen) == [([], [], 0, True)] * 2 + [([0], [], 0, True)] * 2
        store.write(lambda tx: store.add(Item(n=4)))
        assert store.deliver() == 0
        for token in tokens:
            token.close()


def test_as_a_table_that_moves(store, three):
    """In a notebook, and elsewhere by update()."""
    animals = store.objects(Animal)
    groups = animals.group_by(Animal.city).order_by(desc(group.count), Animal.city).live(rows=2, interval=0)
    table = animals.order_by(Animal.age).select(Animal.name, "kind", years=Animal.age).live(rows=2, interval=0)
    assert Rows(groups._repr_html_()).head == ["city", "@count"]
    assert Rows(table._repr_html_()).head == ["name", "kind", "years"]
    assert Rows(table._repr_html_()).caption == "a table of Animal"
    assert rows(groups) == [["Bern", "2"], ["Genf", "1"]] and rows(table) == [["a", "", "1"], ["b", "", "2"]]
    dice = random.Random(5)
    for step in range(40):
        with store.write():
            if not len(store.objects(Home)):
                store.add(Home())
            stir(dice, store)
        for live, wanted in (
            (groups, animals.group_by(Animal.city).order_by(desc(group.count), Animal.city).table()),
            (table, animals.order_by(Animal.age).select(Animal.name, "kind", years=Animal.age)),
        ):
            live.update()
            shown = [["" if v is None else v if isinstance(v, str) else repr(v) for v in row] for row in wanted[:2]]
            assert rows(live) == shown, step
            assert live._content.count == len(wanted)
    groups.close()
    table.close()
    assert store.statistics().observers == 0


def test_tables_that_have_no_text(store):
    """What leads to an object, and what is asked behind a LIMIT, has no words: each table of it is one of its own."""
    with store.write():
        homes = [store.add(Home(city=city)) for city in ("Bern", "Genf")]
        animals = [store.add(Animal(name=str(n), age=n, home=homes[n % 2])) for n in range(4)]
    copies = [Copy(home.animals.select(Animal.name, Animal.other)) for home in homes]
    copies += [Copy(home.animals.group_by(Animal.age).table()) for home in homes]
    for limit in (2, 3):
        some = store.objects(Animal).limit(limit).where(Animal.age >= 0)
        copies.append(Copy(some.select(Animal.name, Animal.other)))
        with pytest.raises(objstore.NotSupported, match="cannot be written as a text"):
            some.select(Animal.name).query_text()
    with pytest.raises(objstore.NotSupported, match="made of links"):
        homes[0].animals.select(Animal.name).query_text()
    store.deliver()
    with store.write():
        store.add(Animal(name="4", age=4, home=homes[1]))
    store.deliver()
    with store.write():
        animals[1].home = homes[0]
        animals[2].other = 7
    store.deliver()
    first, second = [("0", 0), ("1", 0), ("2", 7)], [("3", 0), ("4", 0)]
    wanted = [first, second, [(0, 1), (1, 1), (2, 1)], [(3, 1), (4, 1)], first[:2], first]
    assert [copy.rows for copy in copies] == wanted


def test_a_modification_that_there_is_none_of(store, three):
    """Beyond the end is a clear error, of tables and of objects."""
    told = []

    def ask(change):
        for asked in ("changed", "changed_in_move", "written", "written_in_move"):
            count = change.move_count if asked.endswith("move") else change.modification_count
            for index in (count, -count - 1):
                if hasattr(change, asked):
                    with pytest.raises(objstore.IndexOutOfRange, match=rf"(modification|move) {index} of {count} "):
                        getattr(change, asked)(index)
                    told.append(asked)

    animals = store.objects(Animal)
    with animals.group_by(Animal.city).observe(ask), animals.observe(ask):
        store.deliver()
        commit(store, lambda: setattr(three[0], "age", 77))
    assert {"changed", "changed_in_move", "written", "written_in_move"} <= set(told)
