"""Links in mixed values: A41, A42, and what follows from them."""

from typing import Any

import pytest

import objstore
from objstore import Backlinks, EmbeddedModel, Model, backlinks, field


class Part(EmbeddedModel):
    n: int = 0


class Dog(Model):
    name: str = ""
    age: int = 0
    companion: Any = None
    part: Part | None = None


class Cat(Model):
    id: int = field(primary_key=True)
    likes: Any = field(default=None, indexed=True)


MODELS = [Dog, Cat, Part]


@pytest.fixture
def store():
    with objstore.open(memory="", models=MODELS) as store:
        yield store


def test_a41_a42_companions(store):
    rex, wolfie = Dog(name="Rex"), Dog(name="Wolfie", companion="Fluffy the Cat")
    fido = Dog(name="Fido", companion=Dog(name="Spot"))
    with store.write():
        store.add_all([rex, wolfie, fido])
    assert len(store.objects(Dog)) == 4
    spot = store.objects(Dog).where(Dog.name == "Spot").first()
    assert spot.companion is None and rex.companion is None and wolfie.companion == "Fluffy the Cat"
    assert type(fido.companion) is Dog and fido.companion == spot and fido.companion.name == "Spot"
    assert not isinstance(wolfie.companion, int)
    assert store.verify() is None


def test_reading_and_writing(store):
    with store.write():
        rex, cat = store.add(Dog(name="Rex")), store.add(Cat(id=1))
        rex.companion = cat
        assert rex.companion == cat
        rex.companion = {"best": cat, "all": [rex, Dog(name="New"), 5, {"deep": cat}]}
        assert (
            rex.companion["best"] == cat
            and rex.companion["all"][1].name == "New"
            and rex.companion["all"][3]["deep"] == cat
        )
        rex.companion["all"].append(Dog(name="Another"))
        rex.companion["next"] = cat
        assert [d.name for d in rex.companion["all"] if isinstance(d, Dog)] == ["Rex", "New", "Another"]
        assert len(store.objects(Dog)) == 3
        copy = rex.companion.copy()
        assert copy["all"][0] == rex and copy["best"] == cat
        cat.likes = rex
        assert (
            store.objects(Cat).where(Cat.likes == rex).count() == 1
            and store.objects(Cat).where(Cat.likes == cat).count() == 0
        )
        assert "<Cat 1>" in repr(rex.companion) and "Cat" in repr(rex)
        # Nothing is left of what is gone.
        store.delete(cat)
        assert (
            rex.companion["best"] is None
            and rex.companion["next"] is None
            and rex.companion["all"][3] == {"deep": None}
        )
        with pytest.raises(objstore.NoSuchObject):
            rex.companion = cat
    with pytest.raises(objstore.NotInWrite):
        rex.companion = rex
    frozen = rex.freeze()
    with store.write():
        store.delete(store.objects(Dog).where(Dog.name == "New"))
    assert frozen.companion["all"][1].name == "New" and rex.companion["all"][1] is None
    assert store.verify() is None


def test_circles_and_errors(store):
    a, b = Dog(name="a"), Dog(name="b")
    a.companion, b.companion = [b], {"x": a}
    with store.write():
        store.add(a)
        assert b.is_managed and a.companion[0] == b and b.companion["x"] == a
        assert "<Dog" in repr(a)
        inner = store.add(Dog(name="c", part=Part(n=1)))
        with pytest.raises(objstore.Embedded):
            a.companion = inner.part
        with pytest.raises(objstore.Embedded):
            a.companion = [Part()]
        with objstore.open(memory="", models=MODELS) as other:
            with other.write():
                foreign = other.add(Dog(name="f"))
            # What fails adds nothing.
            loose, count = Dog(name="loose"), len(store.objects(Dog))
            for value in (foreign, [1, foreign], [loose, foreign], {"a": loose, "b": foreign}):
                with pytest.raises(objstore.WrongStore):
                    a.companion = value
                with pytest.raises(objstore.WrongStore):
                    b.companion["x"] = value
                with pytest.raises(objstore.WrongStore):
                    a.companion.append(value)
                assert len(store.objects(Dog)) == count and not loose.is_managed
        gone = store.add(Dog(name="gone"))
        store.delete(gone)
        with pytest.raises(objstore.NoSuchObject):
            gone.companion = loose
        assert not loose.is_managed
        assert a.companion[0] == b
    assert store.verify() is None


def test_values_copies_json(store):
    with store.write():
        rex = store.create(Dog, {"name": "Rex"})
        fido = store.create(Dog, {"name": "Fido", "companion": [rex, Dog(name="Loose"), {"k": rex}]})
        assert fido.companion[1].name == "Loose" and len(store.objects(Dog)) == 3
        cat = store.create(Cat, {"id": 1, "likes": rex})
        assert '"likes":{"$ref":"Dog"' in cat.to_json(0)
        store.objects(Dog).where(Dog.name == "Loose").update(companion=cat)
    copy = fido.detach()
    assert (
        copy.companion[0] is copy.companion[2]["k"]
        and copy.companion[0].name == "Rex"
        and not copy.companion[0].is_managed
    )
    assert copy.companion[1].companion.likes is copy.companion[0]
    assert fido.detach(0).companion == [None, None, {"k": None}]
    with objstore.open(memory="", models=MODELS) as other:
        with other.write():
            made = other.copy(fido)
        assert made.companion[0] == made.companion[2]["k"] and made.companion[1].companion.likes == made.companion[0]
        assert len(other.objects(Dog)) == 3 and len(other.objects(Cat)) == 1
        assert other.verify() is None
    with store.write():
        counts = store.add_all([Dog(name=str(n), companion=rex) for n in range(50)])
        assert counts.created == 50 and len(store.objects(Dog).where(Dog.companion == rex)) == 50
    assert store.verify() is None


class Tag(Model):
    id: int = field(primary_key=True)
    about: Backlinks["Page"] = backlinks("extra")
    listed: Backlinks["Page"] = backlinks("items")
    grouped: Backlinks["Page"] = backlinks("by_name")
    chosen: Backlinks["Page"] = backlinks("some")


class Page(Model):
    n: int = 0
    extra: Any = None
    items: list[Any]
    by_name: dict[str, Any]
    some: set[Any]


def test_inverses():
    with objstore.open(memory="", models=[Tag, Page]) as store:
        with store.write():
            one, two = store.add(Tag(id=1)), store.add(Tag(id=2))
            pages = [
                store.add(Page(n=0, extra=one)),
                store.add(Page(n=1, extra={"a": [one, one, {"b": two}]}, items=[5, one, [[two]]])),
                store.add(Page(n=2, items=[{"x": one}], by_name={"k": [one], "l": one}, some={one, 3})),
                store.add(Page(n=3)),
            ]

            def check(tag, about, listed, grouped, chosen):
                wanted = {"about": about, "listed": listed, "grouped": grouped, "chosen": chosen}
                for name, numbers in wanted.items():
                    found = getattr(tag, name)
                    assert [page.n for page in found] == numbers, name
                    assert len(found) == found.count() == len(numbers) and bool(found) == bool(numbers)
                    assert (found.first().n if found.first() else None) == (numbers[0] if numbers else None)
                    assert all((page in found) == (page.n in numbers) for page in pages if page.is_valid)
                    assert found.sum("n") == sum(numbers)

            # In the write that makes them, and after it.
            check(one, [0, 1], [1, 2], [2], [2])
        check(one, [0, 1], [1, 2], [2], [2])
        check(two, [1], [1], [], [])
        assert repr(one.about).startswith("<Results of Page where extra links to ")

        heard = []
        token = one.about.observe(
            lambda change: heard.append((change.deletion_count, change.insertion_count, change.modification_count))
        )
        store.deliver()
        with store.write():
            pages[3].extra = [[one]]
            pages[1].extra["a"][2]["b"] = None
            pages[0].extra = None
            check(one, [1, 3], [1, 2], [2], [2])
            check(two, [], [1], [], [])
            assert one.about.update(n=10) == 2 and pages[3].n == pages[1].n == 10 and pages[0].n == 0
            pages[1].n, pages[3].n = 1, 3
        store.deliver()
        assert heard[0] == (0, 0, 0) and heard[1:] == [(1, 1, 1)]
        token.close()

        with store.write():
            assert one.listed.delete() == 2
            check(one, [3], [], [], [])
            about = one.about
            store.delete(one)
            assert pages[3].extra == [[None]] and len(about) == 0 and list(about) == [] and about.first() is None
        assert len(about) == 0
        assert store.verify() is None
        with pytest.raises(objstore.WrongStore):
            Tag(id=9).about


def test_what_is_no_inverse():
    class Item(Model):
        here: Backlinks["Box"] = backlinks("name")

    class Box(Model):
        name: str = ""
        extra: Any = None

    Item._objstore_inverses[0].origin = Box
    with pytest.raises(objstore.SchemaError, match="Item.here: Box has no link 'name' to Item"):
        objstore.open(memory="", models=[Item, Box])


def test_what_comes_back_has_its_inverse_again():
    with objstore.open(memory="", models=[Tag, Page]) as store:
        with store.write() as tx:
            tag = store.add(Tag(id=1))
            store.add(Page(n=3, extra=[tag]))
            about = tag.about
            with tx.savepoint() as scope:
                store.delete(tag)
                assert about.sum("n") == 0 and list(about) == []
                scope.cancel()
            assert about.sum("n") == 3 and [page.n for page in about] == [3]
            assert [page.n for page in about.where(Page.n > 2)] == [3]
        assert about.sum("n") == 3
