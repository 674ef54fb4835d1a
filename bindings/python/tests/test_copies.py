"""Copies of objects: unmanaged ones, and those in another store."""

import itertools
import pickle
import pickletools
import subprocess
import sys
import uuid
from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import field


class Spot(objstore.EmbeddedModel):
    name: str = ""
    node: "Node | None" = None


class Node(objstore.Model):
    name: str = ""
    next: "Node | None" = None
    many: list["Node"]
    named: dict[str, "Node | None"]
    friends: set["Node"]
    spot: Spot | None = None
    spots: list[Spot]
    tags: set[int]
    extra: Any = None


class Keyed(objstore.Model):
    id: int = field(primary_key=True)
    name: str = ""
    left: "Keyed | None" = None
    right: "Keyed | None" = None
    node: Node | None = None


class Made(objstore.Model):
    id: uuid.UUID = field(primary_key=True, generated=True)
    number: int = 0


MODELS = [Spot, Node, Keyed, Made]
store = store_of(MODELS)
other = store_of(MODELS, "other.objstore")


def chain(store: objstore.Store, length: int) -> Any:
    """a0 → a1 → …; the first one, managed."""
    nodes = [Node(name=f"a{n}") for n in range(length)]
    for before, after in itertools.pairwise(nodes):
        before.next = after
    with store.write():
        store.add(nodes[0])
    return nodes[0]


def counts(store: objstore.Store) -> list[int]:
    return [store.objects(model).count() for model in MODELS]


def test_detached_objects_are_copied_with_what_they_lead_to(store):
    with store.write():
        b = Node(name="b", tags={1, 2}, extra={"x": [1]})
        a = store.add(
            Node(
                name="a",
                next=b,
                many=[b, b],
                named={"b": b, "none": None},
                friends=[b],
                spot=Spot(name="s", node=b),
                spots=[Spot(name="t")],
            )
        )
        b.next = a
    copy = a.detach()
    assert not copy.is_managed and copy.name == "a" and copy.next.next is copy  # a circle, closed
    assert (
        copy.many == [copy.next, copy.next]
        and copy.named == {"b": copy.next, "none": None}
        and list(copy.friends) == [copy.next]
    )
    assert (
        copy.spot.name == "s" and copy.spot.node is copy.next and copy.spots[0].name == "t" and not copy.spot.is_managed
    )
    assert copy.next.tags == {1, 2} and copy.next.extra == {"x": [1]}
    copy.next.tags.add(3)
    copy.next.extra["x"].append(2)
    copy.spot.name = copy.next.name = "changed"
    assert (b.name, set(b.tags), b.extra["x"].copy(), a.spot.name) == ("b", {1, 2}, [1], "s")
    assert copy.detach().next.name == "changed" and copy.detach().next is not copy.next
    frozen = a.freeze().detach()
    assert frozen.next.name == "b"
    with store.write():
        store.add(copy)
    assert counts(store) == [4, 4, 0, 0] and copy.next.next == copy


def test_depth(store):
    first = chain(store, 4)
    with store.write():
        first.many, first.named, first.friends = [first.next], {"n": first.next}, [first.next]
        first.spot = Spot(name="s", node=first.next)
    bare = first.detach(depth=0)
    assert (bare.next, bare.many, bare.named, list(bare.friends)) == (None, [], {"n": None}, [])
    assert bare.spot.name == "s" and bare.spot.node is None  # a part of it, which leads no further
    one = first.detach(depth=1)
    assert (
        one.next.name == "a1"
        and one.next.next is None
        and one.many == [one.next] == list(one.friends)
        and one.spot.node is one.next
    )
    assert first.detach(depth=2).next.next.name == "a2" and first.detach(depth=3).next.next.next.name == "a3"
    for wrong in (-1, 1.5, "1", True):
        with pytest.raises(objstore.InvalidArgument, match="depth"):
            first.detach(depth=wrong)


def test_the_shortest_way_counts(store):
    """x is three links away, and one: it is copied as deep as one."""
    with store.write():
        end = Node(name="end")
        x = Node(name="x", next=end)
        a = store.add(Node(name="a", next=Node(name="b", next=Node(name="c", next=x)), many=[x]))
    copy = a.detach(depth=2)
    assert copy.many[0].next.name == "end" and copy.next.next.name == "c" and copy.next.next.next is None


def test_lists_sets_dicts_and_results(store):
    first = chain(store, 3)
    with store.write():
        first.many = [first.next, first.next.next]
        first.named, first.friends = {"a": first.next, "b": None}, [first.next]
        first.tags = {3}
        first.spots = [Spot(name="s")]
    many = first.many.detach()
    assert [n.name for n in many] == ["a1", "a2"] and many[0].next is many[1]
    assert first.many.detach(depth=0)[0].next is None
    named = first.named.detach()
    assert named["a"].name == "a1" and named["b"] is None
    assert [n.name for n in first.friends.detach()] == ["a1"]
    tags = first.tags.detach()
    tags.clear()
    assert set(first.tags) == {3}
    assert first.spots.detach()[0].name == "s"
    everything = store.objects(Node).detach()
    assert len(everything) == 3 and len({id(n) for n in everything}) == 3
    by_name = {n.name: n for n in everything}
    assert (
        by_name["a0"].next is by_name["a1"]
        and by_name["a0"].many[1] is by_name["a2"]
        and not any(n.is_managed for n in everything)
    )
    assert all(n.next is None for n in store.objects(Node).detach(depth=0))


def test_long_chains(store, other):
    first = chain(store, 3000)
    copy = first.detach()
    length = 0
    while copy is not None:
        copy, length = copy.next, length + 1
    assert length == 3000
    with other.write():
        other.copy(first)
    assert counts(other)[1] == 3000


def test_detached_objects_that_were_deleted(store):
    first = chain(store, 1)
    with store.write():
        store.delete(first)
    with pytest.raises(objstore.NoSuchObject):
        first.detach()


def test_a_copy_in_another_store(store, other):
    with store.write():
        shared = Node(name="shared", tags={5}, extra=[1])
        a = store.add(
            Node(
                name="a",
                next=shared,
                many=[shared],
                named={"s": shared, "n": None},
                friends=[shared],
                spot=Spot(name="x", node=shared),
                spots=[Spot(name="y")],
            )
        )
    with other.write():
        copy = other.copy(a)
        assert copy.is_managed and counts(other) == [2, 2, 0, 0]  # each once
        assert (
            copy.next.name == "shared"
            and copy.many == [copy.next]
            and copy.named["s"] == copy.next
            and set(copy.friends) == {copy.next}
        )
        assert copy.spot.node == copy.next and copy.spot.parent == copy and copy.spots[0].name == "y"
        assert set(copy.next.tags) == {5} and copy.next.extra == [1]
        copy.name = copy.next.name = "new"
    assert (a.name, shared.name) == ("a", "shared")
    with other.write():
        assert other.copy(a.freeze()).next.name == "shared"
        loose = Node(name="loose", next=Node(name="behind"))
        assert other.copy(loose).next.name == "behind" and not loose.is_managed and not loose.next.is_managed
        assert other.create(Node, a).next.name == "shared"
        assert other.create_all(Node, [a, a]) == (2, 0, 0)
        with pytest.raises(objstore.WrongStore):
            other.add(a)
        with pytest.raises(objstore.WrongStore):
            other.create(Node, {"next": a})
    with pytest.raises(objstore.NotInWrite):
        other.copy(a)


def test_policies(store, other):
    with store.write():
        one = store.add(Keyed(id=1, name="one", left=Keyed(id=2, name="two"), node=Node(name="n")))
    with other.write():
        there = other.add(Keyed(id=1, name="there", right=Keyed(id=3)))
        with pytest.raises(objstore.DuplicateKey):
            other.copy(one)
        assert counts(other) == [0, 0, 2, 0] and there.name == "there"
        assert other.copy(one, update="modified") == there
        assert (there.name, there.left.name, there.right, there.node.name) == ("one", "two", None, "n")
        assert counts(other) == [0, 1, 3, 0]
        other.copy(one, update="all")
        assert counts(other) == [0, 2, 3, 0]  # without a key it is made again
        with pytest.raises(objstore.NoPrimaryKey):
            other.copy(one.node, update="all")
        with pytest.raises(objstore.InvalidArgument):
            other.copy(one, update="sometimes")  # type: ignore[arg-type]


def test_one_key_twice(store, other):
    """Rule 10: a key that is met twice under "error" is an error."""
    with store.write():
        two = Keyed(id=2, name="two")
        one = store.add(Keyed(id=1, left=two, right=two))
    with other.write():
        with pytest.raises(objstore.DuplicateKey, match="twice to the Keyed with id 2"):
            other.copy(one)
        assert counts(other) == [0, 0, 0, 0]
        copy = other.copy(one, update="modified")
        assert copy.left == copy.right and copy.left.name == "two"


def test_circles_are_refused(store, other):
    with store.write():
        a = store.add(Node(name="a", next=Node(name="b", many=[Node(name="c")])))
        a.next.many[0].spot = Spot(node=a)
        alone = store.add(Node(name="alone"))
        alone.next = alone
    for circle in (a, alone, a.next, a.freeze(), a.detach()):
        with other.write():
            with pytest.raises(objstore.InvalidArgument, match="back to it"):
                other.copy(circle)
            with pytest.raises(objstore.InvalidArgument, match="back to it"):
                other.create_all(Node, [{"name": "x"}, circle])
            assert counts(other) == [0, 0, 0, 0]


def test_copies_in_the_same_store_are_shallow(store):
    first = chain(store, 2)
    with store.write():
        first.spot = Spot(name="s", node=first.next)
        copy = store.create(Node, first)
        assert copy != first and copy.next == first.next and copy.spot != first.spot and copy.spot.name == "s"
        assert copy.spot.node == first.next and counts(store) == [2, 3, 0, 0]
        one = store.add(Keyed(id=1, left=Keyed(id=2)))
        with pytest.raises(objstore.DuplicateKey):
            store.create(Keyed, one)
        assert store.create(Keyed, one, "modified") == one == store.copy(one, "all")
        assert store.create_all(Keyed, [one], "modified") == (0, 0, 1)


def test_a_generated_key_is_copied(store, other):
    with store.write():
        made = store.add(Made(number=5))
    with other.write():
        assert other.copy(made).id == made.id
    assert made.detach().id == made.id


def pickled(monkeypatch: pytest.MonkeyPatch, **properties: Any) -> Any:
    """The class Pickled of this module, as it is from now on: types, and defaults, by name."""
    types = {name: given[0] if isinstance(given, tuple) else given for name, given in properties.items()}
    defaults = {name: given[1] for name, given in properties.items() if isinstance(given, tuple)}
    model = type(objstore.Model)(
        "Pickled", (objstore.Model,), {"__module__": __name__, "__annotations__": types, **defaults}
    )
    monkeypatch.setattr(sys.modules[__name__], "Pickled", model, raising=False)
    return model


def test_pickles_have_names(monkeypatch):
    """What is read is of the class as it is then."""
    Pickled = pickled(monkeypatch, name=str, city=str, age=int)
    kept = pickle.dumps(Pickled(name="Ann", city="Rome", age=7))
    pickled(
        monkeypatch,
        age=(int, 0),
        words=list[str],
        city=str,
        email=(str, "none"),
        name=str,
        note=str | None,
        made=(int, field(default_factory=lambda: 5)),
    )
    new = pickle.loads(kept)
    assert (new.name, new.city, new.age, new.words, new.email, new.note, new.made) == (
        "Ann",
        "Rome",
        7,
        [],
        "none",
        None,
        5,
    )
    assert (
        repr(new).startswith("Pickled(age=7, words=[], city='Rome'")
        and new == new
        and new != pickle.loads(kept)
        and new in {new}
    )
    for properties, error, name, message in [
        (
            {"name": str, "age": int},
            objstore.NoSuchProperty,
            "city",
            "Pickled has no property 'city'; it has name, age",
        ),
        (
            {"name": str, "city": str, "age": int, "size": int},
            objstore.MissingValue,
            "size",
            "Pickled.size has no default and must be given a value",
        ),
        (
            {"name": str, "city": str, "age": str},
            objstore.WrongType,
            "age",
            "Pickled.age: a str is wanted, not 7 (int)",
        ),
        (
            {"name": str, "city": list[str], "age": int},
            objstore.WrongType,
            "city",
            "Pickled.city: a list is wanted, not 'Rome' (str)",
        ),
        (
            {"name": str, "city": Node | None, "age": int},
            objstore.WrongType,
            "city",
            "Pickled.city: an object of class Node is wanted, not 'Rome' (str)",
        ),
    ]:
        pickled(monkeypatch, **properties)
        with pytest.raises(error) as caught:
            pickle.loads(kept)
        assert (caught.value.class_name, caught.value.property_name, str(caught.value)) == ("Pickled", name, message)


def test_circles_of_pickles(monkeypatch, store):
    """Whatever of it is pickled: the parts of a circle are there before they are filled."""
    a, b = Node(name="a", extra=[1]), Node(name="b")
    a.next, a.many, a.named, a.friends, a.spot = b, [b, b], {"b": b, "none": None}, [b], Spot(node=a)
    b.next, b.many, b.named, b.friends = a, [a], {"a": a}, [a]
    b.extra = {"in": [a]}
    for take in (lambda a: a, lambda a: a.many[0].next, lambda a: a.next.many[0], lambda a: list(a.friends)[0].next):
        for part in (a, a.many, a.named, a.friends, b.extra, [a.next.many]):
            got = pickle.loads(pickle.dumps([part, a, part]))
            assert got[0] is got[2]
            made = take(got[1])
            assert made is got[1] and made is not a and (made.name, made.next.name) == ("a", "b")
            assert (
                made.many == [made.next] * 2
                and made.named == {"b": made.next, "none": None}
                and list(made.friends) == [made.next]
            )
            assert (
                made.next.many == [made]
                and list(made.next.friends) == [made]
                and made.next.extra == {"in": [made]}
                and made.spot.node is made
            )
    with store.write():
        store.add(made)
        assert counts(store) == [1, 2, 0, 0]
    Pickled = pickled(monkeypatch, other=Node | None, back=(Any, None))
    node = Node(name="n")
    node.extra = Pickled(other=node)
    kept = pickle.dumps(node)
    pickled(monkeypatch, other=Keyed | None, back=(Any, None))
    with pytest.raises(objstore.WrongType, match="Pickled.other: an object of class Keyed is wanted, not Node"):
        pickle.loads(kept)


def test_numbers_that_are_still_to_come_are_pickled(monkeypatch):
    Pickled = pickled(
        monkeypatch, id=(int, field(primary_key=True, generated=True)), seen=(objstore.Counter, objstore.Counter(3))
    )
    made = pickle.loads(pickle.dumps(Pickled()))
    assert made.id is None and made.seen == 3


# Of objects, and of what lies in them; of errors.
PICKLED = (
    "objstore.objects blank",
    "objstore.object_id ObjectId",
    "objstore.elements ObjectSet",
    "objstore.counters Counter",
    "objstore.errors _rebuild",
    "objstore.errors NotInWrite",
    "objstore.errors Status",
)


def test_what_pickles_call_things():
    """As ever: a reader of a pickle may have another version of the package, in which they lie elsewhere."""
    node = Node(name="a", friends=[Node(name="b")])
    found = set()
    for thing in (node, objstore.ObjectId(), objstore.Counter(3), objstore.NotInWrite("no")):
        for opcode, argument, _ in pickletools.genops(pickle.dumps(thing, 2)):
            if opcode.name == "GLOBAL" and argument.startswith("objstore."):
                found.add(argument)
    assert found == set(PICKLED)
    program = "import pickle\n" + "".join(
        f"print(pickle.loads({f'c{module}{chr(10)}{name}{chr(10)}.'.encode()!r}).__name__)\n"
        for module, name in map(str.split, PICKLED)
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [name.split()[1] for name in PICKLED]
