"""What to_json writes is read back; keys that are left out; keys in migrations."""

import json
from typing import Any

import pytest

import objstore
from objstore import field


class City(objstore.Model):
    name: str = ""


class Dog(objstore.Model):
    id: int = field(primary_key=True)
    city: City | None = None
    best: "Dog | None" = None
    friends: list["Dog"]
    by_name: dict[str, "Dog | None"]
    pack: set["Dog"]
    extra: Any = None


@pytest.fixture
def store():
    with objstore.open(memory="", models=[City, Dog]) as store:
        yield store


def test_a_reference_by_class_and_object_key(store):
    with store.write():
        rex = store.create(Dog, {"id": 1, "city": {"name": "Bern"}})
    with store.write():
        store.create_from_json(Dog, rex.to_json(depth=0), update="modified")
    assert rex.city.name == "Bern" and len(store.objects(City)) == 1
    for text, error in [
        ('{"id": 2, "city": {"$ref": "City", "$id": 99}}', objstore.NoSuchObject),
        ('{"id": 2, "city": {"$ref": "Dog", "$id": 1}}', objstore.WrongType),
        ('{"id": 2, "city": {"$ref": "Nobody", "$id": 1}}', objstore.NoSuchClass),
        ('{"id": 2, "city": {"$ref": "City", "$id": "x"}}', objstore.WrongType),
    ]:
        with pytest.raises(error), store.write():
            store.create_from_json(Dog, text)
    assert len(store.objects(Dog)) == 1 and len(store.objects(City)) == 1


def content(store):
    dogs = json.loads(store.objects(Dog).to_json(depth=0))
    # Objects may come in another order, and with them those of sets.
    return sorted(({**dog, "pack": sorted(dog["pack"])} for dog in dogs), key=lambda dog: dog["id"])


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_circles_come_back_into_an_empty_store(store, depth):
    with store.write():
        dogs = [store.create(Dog, {"id": number}) for number in range(4)]
        for number, dog in enumerate(dogs):
            dog.best = dogs[(number + 1) % 4]
            dog.friends = [dogs[(number + 2) % 4], dog, dogs[(number + 2) % 4]]
            dog.by_name = {"me": dog, "nobody": None, "next": dogs[number - 1]}
            dog.pack = set(dogs)
    text = store.objects(Dog).to_json(depth=depth)
    with objstore.open(memory="", models=[City, Dog]) as other:
        for _ in range(2):
            with other.write():
                other.create_all_from_json(Dog, text, "modified")
        assert content(other) == content(store)


def test_a_reference_to_what_does_not_come_changes_nothing(store):
    for text in ['{"id": 1, "best": 2}', '{"id": 1, "friends": [1, 2]}', '{"id": 1, "by_name": {"a": 1, "b": 7}}']:
        with pytest.raises(objstore.NoSuchObject), store.write():
            store.create_from_json(Dog, text)
        assert len(store.objects(Dog)) == 0
    with store.write():
        one = store.create_from_json(Dog, '{"id": 1, "best": 1, "friends": [1, 1], "pack": [1]}')
    assert one.best == one and list(one.friends) == [one, one] and set(one.pack) == {one}


class Key(objstore.Model):
    k: int | None = field(primary_key=True)
    v: str = ""


class Required(objstore.Model):
    k: int = field(primary_key=True)
    v: str = ""


def test_a_key_that_is_left_out_is_null_where_it_may_be():
    with objstore.open(memory="", models=[Key]) as store:
        for call in (
            lambda: store.create_from_json(Key, '{"v": "a"}', "modified"),
            lambda: store.create_from_json(Key, '{"v": "b"}', "modified"),
            lambda: store.create(Key, {"v": "c"}, "modified"),
            lambda: store.create_all(Key, [{"v": "d"}], "modified"),
        ):
            with store.write():
                call()
            assert len(store.objects(Key)) == 1
        assert store.get(Key, None).v == "d"
        for call in (lambda: store.create(Key, {"v": "e"}), lambda: store.create_from_json(Key, '{"v": "e"}')):
            with pytest.raises(objstore.DuplicateKey), store.write():
                call()


def test_a_key_that_is_left_out_is_missing_else():
    with objstore.open(memory="", models=[Required]) as store:
        for call in (
            lambda: store.create_from_json(Required, '{"v": "a"}', "modified"),
            lambda: store.create(Required, {"v": "c"}, "modified"),
            lambda: store.create(Required, {"v": "c"}),
            lambda: store.create_all(Required, [{"v": "d"}], "modified"),
        ):
            with pytest.raises(objstore.MissingValue), store.write():
                call()
        assert len(store.objects(Required)) == 0


def keyed(kind):
    class K(objstore.Model):
        k: kind = field(primary_key=True)
        v: int = 0

    return K


def test_keys_change_in_a_migration(path):
    before = keyed(str | None)
    with objstore.open(path, models=[before]) as store, store.write():
        store.add_all([before(k="a", v=1), before(k=None, v=2), before(k="b", v=3)])

    def migrate(migration, version):
        # Two of them have one key for a moment.
        for old, new in migration.objects("K"):
            new.k = {"a": "b", "b": "a", None: "none"}[old.k]

    after = keyed(str)
    with objstore.open(path, models=[after], schema_version=2, migrate=migrate) as store:
        assert {k.k: k.v for k in store.objects(after)} == {"a": 3, "b": 1, "none": 2}
        assert store.get(after, "b").v == 1 and store.get(after, "none").v == 2
        with pytest.raises(objstore.KeyImmutable), store.write():
            store.get(after, "b").k = "c"

    def doubles(migration, version):
        for old, new in migration.objects("K"):
            new.k = "same"

    with pytest.raises(objstore.DuplicateKey):
        objstore.open(path, models=[after], schema_version=3, migrate=doubles)
    with objstore.open(path, models=[after], schema_version=2) as store:
        assert sorted(k.k for k in store.objects(after)) == ["a", "b", "none"]


def test_names_of_the_file_in_a_migration(path):
    class Person(objstore.Model):
        __stored_as__ = "people"
        name: str = field(default="", stored_as="full_name")

    with objstore.open(path, models=[Person]) as store, store.write():
        store.add(Person(name="Ada"))
    seen = []

    def migrate(migration, version):
        for name in ("Person", "people"):
            for old, new in migration.objects(name):
                seen.append((old.name, old.full_name, new.name))

    with objstore.open(path, models=[Person], schema_version=2, migrate=migrate):
        assert seen == [("Ada", "Ada", "Ada")] * 2


def test_orphans_of_a_class_that_becomes_embedded(path):
    class Address(objstore.Model):
        city: str = ""

    class Person(objstore.Model):
        home: Address | None = None

    with objstore.open(path, models=[Person, Address]) as store, store.write():
        store.add(Person(home=Address(city="Bern")))
        store.add(Address(city="nowhere"))

    def embedded():
        class Address(objstore.EmbeddedModel):
            city: str = ""

        class Person(objstore.Model):
            home: Address | None = None

        return Person, Address

    models = embedded()
    with pytest.raises(objstore.SchemaError):
        objstore.open(path, models=models, schema_version=2, migrate=lambda migration, version: None)
    deleted = []
    with objstore.open(
        path, models=models, schema_version=2, migrate=lambda m, v: deleted.append(m.delete_orphans("Address"))
    ) as store:
        assert deleted == [1] and [p.home.city for p in store.objects(models[0])] == ["Bern"]


def test_orphans_in_orphans(path):
    """What lies in an object without a parent goes with it, unless it has another one."""

    class Leaf(objstore.Model):
        name: str
        inner: "Leaf | None" = None
        more: "list[Leaf]"

    class Tree(objstore.Model):
        leaf: Leaf | None = None

    with objstore.open(path, models=[Leaf, Tree]) as store, store.write():
        kept = store.add(Leaf(name="kept", inner=Leaf(name="in kept")))
        store.add(Tree(leaf=kept))
        store.add(Leaf(name="1", inner=Leaf(name="2", more=[Leaf(name="3"), Leaf(name="4", inner=Leaf(name="5"))])))
        shared = store.add(Leaf(name="shared"))
        store.add(Leaf(name="6", inner=shared))
        store.add(Tree(leaf=shared))

    def embedded():
        class Leaf(objstore.EmbeddedModel):
            name: str
            inner: "Leaf | None" = None
            more: "list[Leaf]"

        class Tree(objstore.Model):
            leaf: Leaf | None = None

        return Leaf, Tree

    Leaf, Tree = embedded()
    deleted = []
    with objstore.open(
        path, models=[Leaf, Tree], schema_version=2, migrate=lambda m, v: deleted.append(m.delete_orphans("Leaf"))
    ) as store:
        assert deleted == [6]
        trees = list(store.objects(Tree))
        assert [(tree.leaf.name, tree.leaf.inner and tree.leaf.inner.name) for tree in trees] == [
            ("kept", "in kept"),
            ("shared", None),
        ]
        store.verify()


class Anything(objstore.Model):
    id: int = field(primary_key=True)
    extra: Any = None
    texts: dict[str, str]
    dog: Dog | None = None


@pytest.mark.parametrize(
    "value",
    [
        {"$oid": "x"},
        {"$$oid": 1},
        {"$date": {"$oid": "a"}},
        {"$ref": "Dog", "$id": 1},
        {"$binary": "a", "$type": "b"},
        {"$other": 1},
        {"$": 1, "$$": 2},
    ],
)
def test_maps_that_look_like_extended_json_come_back(value):
    with objstore.open(memory="", models=[Anything, Dog, City]) as store, store.write():
        store.create(Anything, {"id": 1, "extra": [value, {"in": value}], "texts": dict.fromkeys(value, "t")})
        text = store.get(Anything, 1).to_json(extended=True)
        again = store.create_from_json(Anything, text.replace('"id":1', '"id":2'), extended=True)
        assert again.extra == [value, {"in": value}] and dict(again.texts) == dict.fromkeys(value, "t")


class Member(objstore.Model):
    id: int = field(primary_key=True, generated=True)
    email: str | None = field(default=None, unique=True)
    name: str = ""


def test_upserts_by_another_unique_value():
    with objstore.open(memory="", models=[Member]) as store:
        with store.write():
            one = store.create(Member, {"email": "a@x", "name": "A"}, "modified", by="email")
            again = store.create(Member, {"email": "a@x", "name": "B"}, "modified", by=["email"])
            assert one == again and one.name == "B" and len(store.objects(Member)) == 1
            store.create(Member, {"name": "none"}, "modified", by="email")
            store.create(Member, {"name": "none"}, "modified", by="email")
            assert len(store.objects(Member)) == 3
        for values, by, error in [
            ({"email": "a@x", "id": 99}, "email", objstore.KeyImmutable),
            ({"email": "a@x"}, "name", objstore.NoSuchIndex),
            ({"email": "a@x"}, ["email", "name"], objstore.NoSuchIndex),
        ]:
            with pytest.raises(error), store.write():
                store.create(Member, values, "modified", by=by)
        assert len(store.objects(Member)) == 3


class Place(objstore.Model):
    id: int = field(primary_key=True, generated=True)
    country: str = ""
    city: str = ""
    name: str = ""
    code: int | None = field(default=None, unique=True)
    __indexes__ = [objstore.Index("country", "city", unique=True)]


def test_upserts_by_properties():
    """As they are, or by name."""
    with objstore.open(memory="", models=[Place, Member]) as store, store.write():
        for by in (Place.code, "code", [Place.code], (Place.code,), {Place.code}):
            made = store.create(Place, {"code": 7, "name": repr(by)}, "modified", by=by)
            assert made.name == repr(by) and len(store.objects(Place)) == 1
        there = store.create(Place, {"country": "IT", "city": "Rome"})
        for by in ([Place.country, Place.city], [Place.city, "country"], iter([Place.city, Place.country])):
            assert store.create(Place, {"country": "IT", "city": "Rome", "name": "R"}, "modified", by=by) == there
        for wrong in (5, True, object(), [5], [Place.code, None], b"code", Member.email, [Member.email], Place):
            with pytest.raises(
                objstore.InvalidArgument,
                match="^by(: a property of Place is wanted| is a list of properties, by name or as Dog.age), not ",
            ):
                store.create(Place, {"code": 7}, "modified", by=wrong)
        with pytest.raises(objstore.NoSuchProperty, match="Place has no property 'size'"):
            store.create(Place, {"code": 7}, "modified", by="size")
