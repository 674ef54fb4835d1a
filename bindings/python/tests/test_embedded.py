"""Embedded objects, links that cascade, and generated values."""

import uuid
from random import Random
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import Backlinks, ObjectId, backlinks, field


class Country(objstore.EmbeddedModel):
    name: str = ""


class Place(objstore.EmbeddedModel):
    city: str = ""
    country: Country | None = None
    owner: "Contact | None" = None
    tags: list[str]


class Contact(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    place: Place | None = None
    others: list[Place]
    named: dict[str, Place | None]
    friend: "Contact | None" = None
    friends: Backlinks["Contact"] = backlinks("friend")


class Part(objstore.Model):
    name: str = ""


class Machine(objstore.Model):
    id: ObjectId = field(primary_key=True, generated=True)
    serial: uuid.UUID = field(generated=True)
    core: Part | None = field(default=None, on_delete="cascade")
    parts: list[Part] = field(default_factory=list, on_delete="cascade")
    spare: dict[str, Part | None] = field(default_factory=dict, on_delete="cascade")
    seen: set[Part]


class Ticket(objstore.Model):
    id: int = field(primary_key=True, generated=True)
    text: str = ""


MODELS = [Country, Place, Contact, Part, Machine, Ticket]
store = store_of(MODELS)


@pytest.fixture
def ann(store):
    with store.write():
        return store.add(Contact(id=1, name="Ann"))


def cities(places):
    return [p.city for p in places]


def left(store):
    return sorted(cities(store.objects(Place)))


def test_a_property_makes_what_it_is_given_its_own(store, ann):
    rome = Place(city="Rome", country=Country(name="Italy"), tags=["a", "b"])
    assert rome.parent is None and not rome.is_managed
    with store.write():
        ann.place = rome
        assert rome.is_managed and rome.country.is_managed and ann.place == rome
        rome.city = "Roma"
    assert (ann.place.city, ann.place.country.name, list(ann.place.tags)) == ("Roma", "Italy", ["a", "b"])
    assert rome.parent == ann and rome.country.parent == rome and ann.place.country.parent.parent == ann
    assert ann.freeze().place.parent.name == "Ann"
    assert len(store.objects(Place)) == len(store.objects(Country)) == 1


def test_what_is_replaced_or_taken_away_is_deleted(store, ann):
    with store.write():
        ann.place = old = Place(city="Rome", country=Country(name="Italy"))
        ann.place = Place(city="Bern")
        assert not old.is_valid
        with pytest.raises(objstore.NoSuchObject):
            old.city
        assert left(store) == ["Bern"] and not store.objects(Country)
        ann.place = ann.place  # it is there
        assert left(store) == ["Bern"]
        bern = ann.place
        ann.place = None
        assert ann.place is None and not bern.is_valid
        with pytest.raises(AttributeError):
            ann.place.city
        ann.place = None
    assert not store.objects(Place)


def test_a_second_place_is_refused(store, ann):
    with store.write():
        bob = store.add(Contact(id=2, place=Place(city="Bern")))
        ann.others = [Place(city="Rome")]
        ann.named = {"x": Place(city="Ulm"), "y": None}
        for give in (
            lambda: ann.named.__setitem__("y", ann.named["x"]),
            lambda: ann.named.__setitem__("x", ann.others[0]),
            lambda: ann.named.update({"z": ann.named["x"]}),
            lambda: ann.others.__setitem__(0, ann.named["x"]),
            lambda: setattr(ann, "place", bob.place),
            lambda: setattr(ann, "place", ann.others[0]),
            lambda: ann.others.append(bob.place),
            lambda: ann.others.insert(0, ann.others[0]),
            lambda: setattr(ann, "others", [bob.place]),
            lambda: ann.others.__setitem__(0, bob.place),
            lambda: ann.named.__setitem__("a", bob.place),
            lambda: setattr(ann, "named", {"a": bob.place}),
            lambda: store.add(Contact(id=3, place=bob.place)),
            lambda: store.create(Contact, {"id": 3, "place": bob.place}),
        ):
            with pytest.raises(objstore.Embedded) as caught:
                give()
            assert isinstance(caught.value, ValueError)
            assert (
                left(store) == ["Bern", "Rome", "Ulm"]
                and bob.place.parent == bob
                and store.objects(Contact).count() == 2
            )
        twice = Place(city="Oslo")
        with pytest.raises(objstore.Embedded, match="twice"):
            ann.others = [twice, twice]
        with pytest.raises(objstore.Embedded):
            ann.others.extend([twice, twice])
        assert not twice.is_managed and left(store) == ["Bern", "Rome", "Ulm"]
        for alone in (
            lambda: store.add(twice),
            lambda: store.add_all([twice]),
            lambda: store.create(Place, {"city": "Oslo"}),
        ):
            with pytest.raises(objstore.Embedded, match="Place"):
                alone()


def test_where_it_is_already_it_stays(store, ann):
    with store.write():
        ann.place = Place(city="Rome")
        ann.others = [Place(city="a"), Place(city="b")]
        ann.named = {"x": Place(city="c"), "y": None}
        places = [ann.place, *ann.others, ann.named["x"]]
    with store.write():
        ann.place = ann.place
        ann.others[-1] = ann.others[1]
        ann.others[0:2] = list(ann.others)
        ann.others = list(ann.others)
        ann.named["x"] = ann.named["x"]
        ann.named.update(ann.named.copy())
        ann.named = dict(ann.named)
    assert [ann.place, *ann.others, ann.named["x"]] == places and all(place.parent == ann for place in places)
    assert cities(places) == ["Rome", "a", "b", "c"] == left(store) and ann.named["y"] is None
    with pytest.raises(objstore.NotInWrite):
        ann.others[0] = ann.others[0]


def test_lists(store, ann):
    with store.write():
        ann.others.append(Place(city="b", country=Country(name="B")))
        ann.others.insert(0, Place(city="a"))
        ann.others += [Place(city="c"), Place(city="d", tags=["x"])]
        assert (
            cities(ann.others) == ["a", "b", "c", "d"]
            and ann.others[1].country.name == "B"
            and list(ann.others[3].tags) == ["x"]
        )
        assert ann.others[1].country.parent == ann.others[1] and ann.others[0].parent == ann
        kept = ann.others[1]
        ann.others[0] = new = Place(city="z")
        assert new.is_managed and cities(ann.others) == ["z", "b", "c", "d"] and kept.is_valid
        ann.others[1] = kept
        ann.others[:] = list(ann.others)
        ann.others.reverse()
        assert cities(ann.others) == ["d", "c", "b", "z"] and kept == ann.others[2]
        ann.others.sort(key=lambda p: p.city)
        assert cities(ann.others) == ["b", "c", "d", "z"] and kept == ann.others[0]
        assert ann.others.index(kept) == 0 and kept in ann.others
        del ann.others[1]
        taken = ann.others.pop()
        assert taken.city == "z" and not taken.is_managed
        ann.others.remove(kept)
        assert not kept.is_valid and cities(ann.others) == ["d"] == left(store)
        ann.others[:] = [Place(city="e"), Place(city="f"), Place(city="g")]
        ann.others[::2] = [Place(city="E"), Place(city="G")]
        assert cities(ann.others) == ["E", "f", "G"]
        f = ann.others[1]
        ann.others = [Place(city="1"), f, Place(city="3")]  # what is there may stay
        assert f.is_valid and cities(ann.others) == ["1", "f", "3"] and left(store) == ["1", "3", "f"]
        ann.others.clear()
        assert left(store) == [] and not store.objects(Country)


def test_dicts(store, ann):
    with store.write():
        ann.named["home"] = home = Place(city="Rome", country=Country(name="Italy"))
        ann.named["none"] = None
        ann.named.update({"work": Place(city="Bern")}, spare=Place(city="Oslo"))
        assert home.is_managed and {k: v and v.city for k, v in ann.named.items()} == {
            "home": "Rome",
            "none": None,
            "spare": "Oslo",
            "work": "Bern",
        }
        assert home.parent == ann and home.country.parent == home
        ann.named["home"] = Place(city="Roma")
        assert not home.is_valid and not store.objects(Country)
        ann.named["work"] = None
        assert left(store) == ["Oslo", "Roma"]
        taken = ann.named.pop("spare")
        assert taken.city == "Oslo" and not taken.is_managed and left(store) == ["Roma"]
        assert ann.named.popitem() == ("work", None)
        assert ann.named.setdefault("a", Place(city="A")).city == "A"
        kept = ann.named["a"]
        ann.named["a"] = kept
        ann.named = {"a": kept, "b": Place(city="B")}
        assert kept.is_valid and left(store) == ["A", "B"]
        del ann.named["a"]
        ann.named = {}
    assert left(store) == []


def test_a_graph_is_added_with_what_is_embedded_in_it(store):
    bob = Contact(id=2, name="Bob")
    ann = Contact(
        id=1,
        place=Place(city="Rome", country=Country(name="Italy"), owner=bob),
        others=[Place(city="a"), Place(city="b", tags=["t"])],
        named={"x": Place(city="X"), "y": None},
        friend=bob,
    )
    ann.place.owner.place = Place(city="Bern", owner=ann)  # back to where it began
    rome, country = ann.place, ann.place.country
    with store.write():
        store.add(ann)
    assert rome.is_managed and country.is_managed and bob.is_managed and country.parent == rome and rome.parent == ann
    assert ann.place.owner == bob and bob.place.owner == ann and ann.friend == bob
    assert (cities(ann.others), list(ann.others[1].tags), ann.named["x"].city, ann.named["y"]) == (
        ["a", "b"],
        ["t"],
        "X",
        None,
    )
    assert left(store) == ["Bern", "Rome", "X", "a", "b"]


def test_many_are_added(store):
    people = [
        Contact(id=i, place=Place(city=str(i)) if i % 2 else None, others=[Place(city="o")] * 0) for i in range(50)
    ]
    with store.write():
        assert store.add_all(people) == (50, 0, 0)
        assert store.add_all([Contact(id=100), Contact(id=101)]) == (2, 0, 0)
    assert [p.place and p.place.city for p in people[:4]] == [None, "1", None, "3"]
    with store.write(), pytest.raises(objstore.DuplicateKey) as caught:
        store.add_all([Contact(id=200, place=Place(city="x")), Contact(id=3, place=Place(city="x"))])
    assert caught.value.position == 1
    assert len(store.objects(Place)) == 25


@pytest.mark.parametrize("update", ["modified", "all"])
def test_adding_again_writes_all_that_is_embedded(store, ann, update):
    def make(**more: Any) -> Contact:
        return Contact(
            **{
                "id": 1,
                "name": "Ann",
                "place": Place(city="Rome", tags=["a"]),
                "others": [Place(city="a"), Place(city="b")],
                **more,
            }
        )

    with store.write():
        store.add(make(), update=update)
        kept, second = ann.place, ann.others[1]
    changes: list[Any] = []
    with ann.observe(lambda c: changes.append(c.written(0) if c.modification_count else None), keys=None):
        store.wait(0.1)
        changes.clear()
        with store.write():
            assert store.add_all([make()], update=update) == ((0, 0, 1) if update == "modified" else (0, 1, 0))
        store.wait(0.1)
        assert (changes == []) == (update == "modified")
    assert kept.is_valid == second.is_valid == (update == "modified")
    with store.write():
        again = make(place=Place(city="Roma"), others=[Place(city="a")])
        store.add(again, update=update)
        assert (
            again == ann
            and again.place.city == "Roma"
            and list(again.place.tags) == []
            and cities(again.others) == ["a"]
        )
        assert (kept == again.place) == (update == "modified")
    with store.write():
        store.add(Contact(id=1), update=update)
    assert left(store) == [] and ann.place is None and not ann.others


def test_a_parent_takes_everything_along(store, ann):
    with store.write():
        ann.place = Place(city="Rome", country=Country(name="Italy"))
        ann.others = [Place(city="a", country=Country(name="A"))]
        ann.named["k"] = Place(city="k")
        rome = ann.place
        assert rome.city == "Rome"
        store.delete(ann)
        assert not rome.is_valid and not store.objects(Place) and not store.objects(Country)
        with pytest.raises(objstore.NoSuchObject):
            rome.parent
        store.add(Contact(id=5, place=Place(city="x")))
        assert store.delete_all(Contact) == 1 and not store.objects(Place)


def test_deleting_one_leaves_its_place_empty(store, ann):
    with store.write():
        ann.place, ann.others, ann.named["k"] = Place(city="a"), [Place(city="b"), Place(city="c")], Place(city="d")
        assert ann.place.city == "a"
        store.delete(ann.place)
        assert ann.place is None
        store.delete(ann.others[0])
        store.delete(ann.named["k"])
        assert cities(ann.others) == ["c"] == left(store) and dict(ann.named) == {"k": None}


def test_many_objects_at_once(store, ann):
    with store.write():
        bob = store.add(Contact(id=2, place=Place(city="Bern"), others=[Place(city="a")]))
        for given in ({"place": Place()}, {"others": [Place()]}, {"named": {"a": Place()}}, {"place": bob.place}):
            with pytest.raises(objstore.Embedded, match="several"):
                store.objects(Contact).update(**given)
        assert left(store) == ["Bern", "a"]
        assert store.objects(Contact).update(place=None, others=[], named={"k": None}) == 2
        assert left(store) == [] and bob.place is None and dict(ann.named) == {"k": None}
        ann.others = [Place(city="x"), Place(city="y")]
        ann.others.update_objects(city="z")
        assert cities(ann.others) == ["z", "z"]
        ann.others.delete_objects()
        assert left(store) == [] == list(ann.others)
        bob.place = Place(city="q", country=Country(name="Q"))
        assert store.objects(Contact).delete() == 2 and left(store) == [] and not store.objects(Country)


def test_cancelling_makes_them_unmanaged_again(store, ann):
    rome, other = Place(city="Rome", country=Country(name="Italy")), Place(city="a")
    with store.write() as tx:
        ann.place = rome
        with tx.savepoint() as scope:
            ann.others.append(other)
            scope.cancel()
        assert not other.is_managed and rome.is_managed
        tx.cancel()
    assert not rome.is_managed and rome.city == "Rome" and rome.country.name == "Italy" and not rome.country.is_managed
    with store.write():
        ann.place = rome
    assert ann.place.country.name == "Italy"


def test_outside_a_write(store, ann):
    for change in (
        lambda: setattr(ann, "place", Place()),
        lambda: ann.others.append(Place()),
        lambda: setattr(ann, "place", None),
    ):
        with pytest.raises(objstore.NotInWrite):
            change()
    with pytest.raises(objstore.WrongType, match=r"Contact\.place"), store.write():
        ann.place = Country()


def test_questions(store, ann):
    with store.write():
        ann.place = Place(city="Rome")
    assert store.objects(Place).where(Place.city == "Rome")[0].parent == ann
    assert store.objects(Contact).where(Contact.place == ann.place)[0] == ann


def test_cascades(store):
    with store.write():
        core, shared, spare, seen = (Part(name=n) for n in ("core", "shared", "spare", "seen"))
        store.add_all([core, shared, spare, seen])
        one = store.add(Machine(core=core, parts=[shared], spare={"a": spare, "b": None}, seen=[seen]))
        two = store.add(Machine(parts=[shared]))
        one.core = None  # taking a link away deletes nothing
        one.core = core
        assert core.name == "core"
        store.delete(one)
        assert [p.name for p in store.objects(Part)] == ["seen"] and not core.is_valid
        assert two.parts == []
        with pytest.raises(objstore.NoSuchObject):
            core.name


def test_generated_ids(store):
    machine = Machine()
    assert isinstance(machine.id, ObjectId) and isinstance(machine.serial, uuid.UUID)
    fixed = Machine(id=ObjectId("65f1c0a8e4b0a1b2c3d4e5f6"))
    with store.write():
        store.add_all([machine, fixed])
        made = store.create(Machine, {})
        assert isinstance(made.id, ObjectId) and isinstance(made.serial, uuid.UUID)
        assert store.create_all(Machine, [{}, {}, {"id": ObjectId()}]) == (3, 0, 0)
        assert store.create_all(Machine, [{"id": made.id}], update="modified") == (0, 0, 1)
    assert store.get(Machine, fixed.id) == fixed and len({m.id for m in store.objects(Machine)}) == 6
    assert len({m.serial for m in store.objects(Machine)}) == 6


def test_generated_numbers(store):
    first = Ticket(text="a")
    assert first.id is None and repr(first) == "Ticket(id=None, text='a')"
    with store.write():
        assert store.add(first).id == 1
        assert store.create(Ticket, {"text": "b"}).id == 2
        assert store.add(Ticket(id=10)).id == 10
        many = [Ticket(text=str(i)) for i in range(3)]
        assert store.add_all(many) == (3, 0, 0) and [t.id for t in many] == [11, 12, 13]
        assert store.create_all(Ticket, [{"text": "x"}, {"text": "y"}, {"id": 20}]) == (3, 0, 0)
        assert store.add(Ticket(), update="all").id == 21
        store.delete(store.get(Ticket, 21))
        assert store.create(Ticket, {}).id == 22
        with pytest.raises(objstore.KeyImmutable):
            first.id = 5
    gone = Ticket()
    with store.write() as tx:
        store.add(gone)
        number = gone.id
        tx.cancel()
    assert gone.id is None
    with store.write():
        assert store.add(gone).id > number - 1
    assert store.get(Ticket, 15).text == "y"


def declared(name: str, annotation: Any, value: Any = None, base: type = objstore.Model) -> type:
    body: dict[str, Any] = {"__annotations__": {name: annotation}, "__module__": __name__}
    if value is not None:
        body[name] = value
    return type(base)("Wrong", (base,), body)


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (set[Place], None, "set of Place"),
        (Place, None, "Place | None"),
        (list[Place | None], None, "declare it as Place"),
        (dict[str, Place], None, "Place | None"),
        (str, field(generated=True), "generated"),
        (int, field(generated=True), "primary key"),
        (ObjectId | None, field(generated=True), "never None"),
        (list[int], field(generated=True), "generated"),
        (str, field(on_delete="cascade"), "on_delete is for links"),
        (list[str], field(on_delete="cascade"), "on_delete"),
        (Any, field(on_delete="cascade"), "on_delete"),
        (Any, field(generated=True), "generated"),
        (Part | None, field(generated=True), "generated"),
    ],
)
def test_declarations_that_make_no_sense(annotation, value, message):
    with pytest.raises(objstore.SchemaError, match=message) as caught:
        declared("wrong", annotation, value)
    assert (caught.value.class_name, caught.value.property_name) == ("Wrong", "wrong")


def test_embedded_declarations(path):
    with pytest.raises(objstore.SchemaError, match="Wrong.id: an embedded object has no primary key"):
        declared("id", int, field(primary_key=True), objstore.EmbeddedModel)
    with pytest.raises(objstore.SchemaError, match="Wrong.parent"):
        declared("parent", str, None, objstore.EmbeddedModel)
    declared("parent", str)
    with pytest.raises(objstore.InvalidArgument):
        field(on_delete="nothing")  # type: ignore[call-overload]
    later = declared("later", "set[Late]")
    late = type(objstore.EmbeddedModel)(
        "Late", (objstore.EmbeddedModel,), {"__annotations__": {"x": int}, "__module__": __name__}
    )
    with pytest.raises(objstore.SchemaError, match="Wrong.later is a set of Late"):
        objstore.open(path, models=[later, late])


def test_reopening(path):
    with objstore.open(path, models=MODELS) as store, store.write():
        store.add(Contact(id=1, place=Place(city="Rome", country=Country(name="Italy")), named={"a": Place(city="A")}))
    with objstore.open(path, models=MODELS) as store:
        ann = store.get(Contact, 1)
        assert (ann.place.country.name, ann.named["a"].parent) == ("Italy", ann)
        with store.write():
            store.delete(ann)
        assert not store.objects(Country)


def test_any_history(path):
    """Random changes of what is embedded, with scopes that are undone, against plain Python values."""
    random = Random(1)

    def made() -> tuple[Place, Any]:
        city, country = str(random.random()), random.choice([None, "a", "b"])
        tags = [str(n) for n in range(random.randrange(3))]
        return Place(city=city, country=country and Country(name=country), tags=tags), (city, country, tags)

    def seen(place: Any) -> Any:
        return place and (place.city, place.country and place.country.name, list(place.tags))

    with objstore.open(path, models=MODELS) as store:
        with store.write():
            ann = store.add(Contact(id=1))
        single: Any = None
        several: list[Any] = []
        named: dict[str, Any] = {}
        for _ in range(60):
            with store.write() as tx:
                for _ in range(8):
                    before = single, list(several), dict(named)
                    with tx.savepoint() as scope:
                        (new, value), (second, other) = made(), made()
                        at, key = random.randrange(len(several) + 1), random.choice("abc")
                        match random.randrange(14):
                            case 0:
                                ann.place, single = new, value
                            case 1:
                                ann.place = single = None
                            case 2:
                                ann.others.insert(at, new)
                                several.insert(at, value)
                            case 3 if several:
                                at %= len(several)
                                ann.others[at], several[at] = new, value
                            case 4 if several:
                                at %= len(several)
                                assert seen(ann.others.pop(at)) == several.pop(at)
                            case 5:
                                ann.others.reverse()
                                several.reverse()
                            case 6:
                                ann.others[at : at + 2], several[at : at + 2] = [new, second], [value, other]
                            case 7:
                                ann.named[key], named[key] = new, value
                            case 8:
                                ann.named[key] = named[key] = None
                            case 9:
                                assert seen(ann.named.pop(key, None)) == named.pop(key, None)
                            case 10:
                                ann.others, several = [new, second], [value, other]
                            case 11:
                                update = random.choice(["modified", "all"])
                                store.add(Contact(id=1, place=new, others=[second], named={key: None}), update=update)
                                single, several, named = value, [other], {key: None}
                            case 12:
                                described = {"city": value[0], "country": value[1] and [value[1]], "tags": value[2]}
                                store.create(
                                    Contact, {"id": 1, "named": {key: described}}, random.choice(["modified", "all"])
                                )
                                named = {key: value}
                            case 13:
                                ann.others.sort(key=lambda p: p.city)
                                several.sort(key=lambda v: v[0])
                        assert (seen(ann.place), [seen(p) for p in ann.others]) == (single, several)
                        assert {k: seen(p) for k, p in ann.named.items()} == named
                        if random.random() < 0.3:
                            scope.cancel()
                            single, several, named = before
            whole = [v for v in [single, *several, *named.values()] if v is not None]
            assert len(store.objects(Place)) == len(whole)
            assert len(store.objects(Country)) == sum(v[1] is not None for v in whole)
            assert all(p.parent == ann for p in store.objects(Place))
        store.verify()


def test_what_goes_with_one_may_be_one_of_them(store, ann):
    with store.write():
        ann.others = [Place(city="a"), Place(city="b")]
        ann.place = Place(city="c", country=Country(name="x"))
        bob = store.add(Contact(id=2))
        core, part = store.add(Part(name="core")), store.add(Part(name="part"))
        machine = store.add(Machine(core=core, parts=[core, part]))
    with store.write():
        with pytest.raises(objstore.NoSuchObject):
            store.delete([bob, ann, bob])
        assert bob.is_valid and ann.is_valid
        store.delete([ann, *ann.others, ann.place.country, ann.place, bob])
        store.delete([part, machine, core])
        with pytest.raises(objstore.NoSuchObject):
            store.delete([part])
    assert [store.objects(model).count() for model in (Contact, Place, Country, Machine, Part)] == [0, 0, 0, 0, 0]
    store.verify()


def test_json_of_objects_deep_inside_each_other(path):
    class Box(objstore.EmbeddedModel):
        number: int = 0
        inner: "Box | None" = None

    class Top(objstore.Model):
        box: Box | None = None

    with objstore.open(path, models=[Box, Top]) as store:
        with store.write():
            top = store.add(Top(box=Box()))
            box = top.box
            for number in range(1, 10_000):
                box.inner = Box(number=number)
                box = box.inner
                if number == 198:
                    assert top.to_json().count("{") == 200
        with pytest.raises(objstore.OutOfRange, match="Box#199: more than 200 objects inside each other") as caught:
            top.to_json()
        assert caught.value.class_name == "Box"
        with store.write():
            top.box = None
        assert store.objects(Box).count() == 0


def test_given_in_another_order(store, ann):
    """What lies in a list or dict already keeps being the object that it is, wherever it is given."""
    with store.write():
        ann.others = [Place(city=c) for c in "abcde"]
        ann.named = {c: Place(city=c) for c in "xyz"}
    kept = {p.city: p for p in ann.others} | {p.city: p for p in ann.named.values()}

    def shown():
        return "".join(p.city for p in ann.others)

    def same():
        return all(kept[p.city] == p for p in [*ann.others, *ann.named.values()] if p is not None and p.city in kept)

    with store.write():
        ann.others = [p for p in ann.others if p.city != "a"]
    assert shown() == "bcde" and same() and not kept["a"].is_valid
    with store.write():
        ann.others = ann.others[::-1]
    assert shown() == "edcb" and same()
    with store.write():
        ann.others[1:3] = sorted(ann.others[1:3], key=lambda p: p.city)
    assert shown() == "ecdb" and same()
    with store.write():
        ann.others[0], ann.others[0:0] = ann.others[0], []  # where it is
        ann.others[::2] = ann.others[::2][::-1]
    assert shown() == "dceb" and same()
    with store.write():
        ann.others = [Place(city="n"), ann.others[3], ann.others[0], Place(city="m")]
    assert shown() == "nbdm" and same() and not kept["c"].is_valid and not kept["e"].is_valid
    with store.write():
        ann.others[1:3] = [ann.others[2], Place(city="o"), ann.others[1]]
    assert shown() == "ndobm" and same()
    with store.write():
        ann.named = {"b": ann.named["x"], "x": ann.named["z"], "n": None, "m": Place(city="m")}
    assert {k: p and p.city for k, p in ann.named.items()} == {"b": "x", "m": "m", "n": None, "x": "z"}
    assert same() and not kept["y"].is_valid
    for value in ([kept["d"], kept["d"]], [kept["x"]], [Place(), kept["x"]]):
        with store.write(), pytest.raises(objstore.Embedded):
            ann.others = value
    with store.write(), pytest.raises(objstore.NoSuchObject):
        ann.others = [kept["a"]]
    with store.write(), pytest.raises(ValueError):
        ann.others[::2] = [ann.others[0]]
    assert shown() == "ndobm" and same() and len(store.objects(Place)) == 8


def test_given_in_another_order_at_random(store, ann):
    random = Random(11)
    for step in range(60):
        with store.write():
            new = [p for p in ann.others if random.random() < 0.8]
            random.shuffle(new)
            for n in range(random.randrange(3)):
                new.insert(random.randrange(len(new) + 1), Place(city=f"{step}.{n}"))
            cities = [p.city for p in new]
            if random.random() < 0.5:
                ann.others = new
            else:
                low = random.randrange(len(ann.others) + 1)
                new = ann.others[:]
                part = new[low:]
                random.shuffle(part)
                new[low:] = part
                cities = [p.city for p in new]
                ann.others[low:] = part
        assert [p.city for p in ann.others] == cities, step
        assert len(store.objects(Place)) == len(cities)
        if not step % 10:
            store.checkpoint()


# Observing


def test_a_change_inside_is_a_modification_of_the_owner(store, ann):
    with store.write():
        ann.place = Place(city="Rome", country=Country(name="Italy"))
        ann.others = [Place(city="a"), Place(city="b")]
        ann.named = {"x": Place(city="c")}
        bob = store.add(Contact(id=2, name="Bob"))
    contacts, names, mine, places = [], [], [], []

    def written(log):
        return lambda change: log.append([change.written(i) for i in range(change.modification_count)])

    def told(act):
        with store.write():
            act()
        store.deliver()
        result = (contacts[:], mine[:])
        contacts.clear(), mine.clear()
        return result

    with (
        store.observe(Contact, written(contacts), initial=False),
        store.observe(Contact, written(names), keys=["name"], initial=False),
        store.objects(Contact).where(Contact.id == 1).observe(written(places), keys=["place"], initial=False),
        ann.observe(written(mine)),
    ):
        for act, name in (
            (lambda: setattr(ann.place, "city", "Oslo"), "place"),
            (lambda: setattr(ann.place.country, "name", "Norway"), "place"),  # deep inside
            (lambda: ann.others[1].tags.append("t"), "others"),
            (lambda: setattr(ann.named["x"], "city", "C"), "named"),
            (lambda: setattr(ann.place, "country", None), "place"),
        ):
            assert told(act) == ([[(name,)]], [[(name,)]])
        # Another owner's is another's, and what comes with its owner is no modification.
        assert told(lambda: setattr(bob, "place", Place(city="far"))) == ([[("place",)]], [])
        assert told(lambda: setattr(bob.place, "city", "further")) == ([[("place",)]], [])
        assert told(lambda: store.add(Contact(id=3, place=Place(city="new")))) == ([[]], [])
        # A link out of it to what is deleted becomes null.
        assert told(lambda: setattr(ann.place, "owner", bob)) == ([[("place",)]], [[("place",)]])
        assert told(lambda: store.delete(bob)) == ([[("place",)]], [[("place",)]])
    assert names == [[]] * 2, "that one came, and that one went"
    assert places == [[("place",)]] * 5


def test_a164_the_first_change_set_is_of_the_state_at_its_delivery(store, ann):
    heard = []

    def told(change):
        heard.append(
            (
                change.is_initial,
                change.from_version == change.to_version,
                change.deletions,
                change.insertions,
                len(change.after.objects(Contact)),
            )
        )

    with store.objects(Contact).observe(told):
        with store.write():
            store.add_all([Contact(id=2), Contact(id=3)])
        with store.write():
            store.delete(ann)
        assert store.deliver() == 1 and heard == [(True, True, [], [], 2)]
        assert store.deliver() == 0, "it is not told again"
        with store.write():
            store.delete(store.get(Contact, 2))
            store.add(Contact(id=4))
        assert store.deliver() == 1 and heard[1:] == [(False, False, [0], [1], 2)]
