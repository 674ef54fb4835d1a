"""Properties that are dropped and renamed."""

import pytest

import objstore
from objstore import Index, field


def first():
    class Guest(objstore.Model):
        id: int = field(primary_key=True)
        nick: str | None = field(default=None, indexed=True)
        name: str = field(unique=True)
        tags: list[str]
        friend: "Guest | None" = None
        age: int = 0
        __indexes__ = [Index("name", "age"), Index("nick", "age")]

    return Guest


def second():
    class Guest(objstore.Model):
        number: int = field(primary_key=True, formerly="id")
        full_name: str = field(unique=True, formerly=("title", "name"))
        labels: list[str] = field(default_factory=list, formerly="tags")
        age: int = 0
        mail: str | None = None
        __indexes__ = [Index("full_name", "age")]

    return Guest


def fill(store, model):
    with store.write():
        for number in range(10):
            guest = model(
                id=number, nick=f"n{number}", name=f"name {number}", tags=["a", f"b{number}"], age=number * 10
            )
            store.add(guest)


def test_dropped_and_renamed(path):
    old, new = first(), second()
    with objstore.open(path, models=[old]) as store:
        fill(store, old)
    with pytest.raises(objstore.SchemaError) as caught:
        objstore.open(path, models=[new])
    assert (caught.value.class_name, caught.value.property_name) == ("Guest", "nick")
    with objstore.open(path, models=[new], schema_version=2) as store:
        guests = store.objects(new)
        assert [g.full_name for g in guests] == [f"name {n}" for n in range(10)]
        assert sum(g.age for g in guests) == 450
        third = store.get(new, 3)
        assert (list(third.labels), third.mail) == (["a", "b3"], None)
        assert store.find_by(new, full_name="name 4").number == 4
        with store.write():
            third.full_name = "third"
            third.labels.append("c")
            store.add(new(number=20, full_name="twentieth"))
        store.verify()
    with pytest.raises(objstore.SchemaError):
        objstore.open(path, models=[old])
    with objstore.open(path, models=[new], schema_version=3) as store:
        assert [g.full_name for g in store.objects(new)][-1] == "twentieth"
        assert list(store.get(new, 3).labels) == ["a", "b3", "c"]


def test_stores_opened_with_the_old_model_get_an_error(path):
    old, new = first(), second()

    class Guest(objstore.Model):
        id: int = field(primary_key=True)
        name: str = field(unique=True)
        age: int = 0

    seen = []
    with objstore.open(path, models=[old]) as store:
        fill(store, old)
        frozen = store.freeze()
        with objstore.open(path, models=[Guest], schema_version=2) as part:
            token = part.objects(Guest).observe(
                lambda changes: seen.append([changes.written(i) for i in range(changes.modification_count)])
            )
            part.deliver()
            with objstore.open(path, models=[new], schema_version=3) as other:
                with other.write():
                    other.get(new, 3).age = 33
                part.deliver()
                assert seen[-1] == [("age",)]
                guest = part.get(Guest, 3)
                assert (guest.id, guest.name, guest.age) == (3, "name 3", 33)
                assert [g.age for g in part.objects(Guest).where(Guest.name == "name 4")] == [40]
            token.close()
        with pytest.raises(objstore.NoSuchProperty):
            print(store.get(old, 3).nick)
        with pytest.raises(objstore.SchemaError, match="Guest.id is called number now"), store.write():
            store.add(old(id=30, nick="x", name="y"))
        assert [g.nick for g in frozen.objects(old)] == [f"n{n}" for n in range(10)]
        frozen.close()


def test_former_names_that_cannot_be(path):
    class Guest(objstore.Model):
        a: int = field(default=0, formerly="b")
        b: int = 0

    with pytest.raises(objstore.SchemaError):
        objstore.open(path, models=[Guest])
    with pytest.raises(TypeError):
        field(formerly=3)
    with pytest.raises(TypeError):
        field(formerly=[3])


def test_subclasses_keep_former_names(path):
    class Base(objstore.Model):
        key: int = field(primary_key=True, formerly="id")

    class Guest(Base):
        name: str = ""

    def stored():
        class Guest(objstore.Model):
            id: int = field(primary_key=True)
            name: str = ""

        return Guest

    old = stored()
    with objstore.open(path, models=[old]) as store, store.write():
        store.add(old(id=5, name="five"))
    with pytest.raises(objstore.SchemaError):
        objstore.open(path, models=[Guest])
    with objstore.open(path, models=[Guest], schema_version=2) as store:
        assert [(g.key, g.name) for g in store.objects(Guest)] == [(5, "five")]
