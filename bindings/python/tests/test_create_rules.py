"""The finer rules of creating and updating, by number. Rule 6 (a null primary key) is in test_keys, rule 10 (one key
twice in a copy) in test_copies."""

from typing import Any

import pytest

import objstore
from conftest import store_of
from objstore import field


class Note(objstore.Model):
    text: str = ""


class Owner(objstore.Model):
    id: int = field(primary_key=True)
    age: int
    name: str = "nobody"
    tags: list[str]
    marks: set[int]
    by_name: dict[str, int]
    best: "Owner | None" = None
    others: list["Owner"]
    note: Note | None = None
    notes: list[Note]


MODELS = [Note, Owner]
store = store_of(MODELS)
other = store_of(MODELS, "other.objstore")
UPDATES = ["modified", "all"]


@pytest.mark.parametrize("update", UPDATES)
def test_rule_1_collections_are_replaced(store: objstore.Store, update: Any) -> None:
    with store.write():
        first = store.create(
            Owner, {"id": 1, "age": 1, "tags": ["a", "b"], "marks": {1, 2}, "by_name": {"x": 1, "y": 2}}
        )
        store.create(Owner, {"id": 1, "tags": ["c", "a"], "marks": [2, 3], "by_name": {"y": 3}}, update=update)
        assert (list(first.tags), set(first.marks), dict(first.by_name)) == (["c", "a"], {2, 3}, {"y": 3})
        store.create_from_json(Owner, '{"id": 1, "tags": ["d"], "marks": [4]}', update=update)
        assert (list(first.tags), set(first.marks), dict(first.by_name)) == (["d"], {4}, {"y": 3})
        store.add(Owner(id=1, age=1, tags=["e"], by_name={"z": 0}), update=update)
        assert (list(first.tags), set(first.marks), dict(first.by_name)) == (["e"], set(), {"z": 0})


@pytest.mark.parametrize("update", UPDATES)
def test_rule_2_linked_objects(store: objstore.Store, update: Any) -> None:
    with store.write():
        best = store.create(Owner, {"id": 2, "age": 20})
        first = store.create(Owner, {"id": 1, "age": 10, "best": best, "note": {"text": "n"}, "notes": [{"text": "n"}]})
        old = first.note
        store.create(
            Owner,
            {
                "id": 1,
                "best": {"id": 2, "age": 21},
                "others": [{"id": 2, "name": "B"}, {"id": 3, "age": 30}],
                "note": {"text": "n"},
                "notes": [{"text": "n"}],
            },
            update=update,
        )
        assert first.best == best and (best.age, best.name) == (21, "B")
        assert [owner.id for owner in first.others] == [2, 3] and store.objects(Owner).count() == 3
        assert first.note != old and store.objects(Note).count() == 4
        store.add(Owner(id=1, age=11, best=Owner(id=2, age=22), note=Note(text="n")), update=update)
        assert first.best == best and (best.age, best.name) == (22, "nobody")
        assert store.objects(Owner).count() == 3 and store.objects(Note).count() == 5


@pytest.mark.parametrize("update", UPDATES)
def test_rule_3_what_is_not_given(store: objstore.Store, update: Any) -> None:
    with store.write():
        first = store.create(Owner, {"id": 1, "age": 10, "name": "Ann", "tags": ["a"], "note": {"text": "n"}})
        store.create(Owner, {"id": 1, "age": 11}, update=update)
        assert (first.age, first.name, list(first.tags), first.note.text) == (11, "Ann", ["a"], "n")
        store.create_from_json(Owner, '{"id": 1, "age": 12}', update=update)
        assert (first.age, first.name, list(first.tags), first.note.text) == (12, "Ann", ["a"], "n")
        store.add(Owner(id=1, age=13), update=update)
        assert (first.age, first.name, list(first.tags), first.note) == (13, "nobody", [], None)


@pytest.mark.parametrize("update", ["error", *UPDATES])
def test_rule_4_a_missing_value(store: objstore.Store, update: Any) -> None:
    with store.write():
        store.create(Owner, {"id": 1, "age": 1})
        with pytest.raises(objstore.MissingValue, match=r"Owner\.age"):
            store.create(Owner, {"id": 2, "name": "Ann"}, update=update)
        with pytest.raises(objstore.MissingValue, match=r"\$\.others\[1\].*Owner\.age"):
            store.create(Owner, {"id": 3, "age": 1, "others": [{"id": 4, "age": 1}, {"id": 5}]}, update=update)
        assert [owner.id for owner in store.objects(Owner)] == [1]


@pytest.mark.parametrize("update", UPDATES)
def test_rule_5_none_for_what_must_not_be_none(store: objstore.Store, update: Any) -> None:
    with store.write():
        first = store.create(Owner, {"id": 1, "age": 10, "name": "Ann"})
        for values in [{"id": 1, "age": None}, {"id": 1, "age": 5, "name": None}]:
            with pytest.raises(objstore.Error, match=r"Owner\.(age|name)"):
                store.create(Owner, values, update=update)
        with pytest.raises(objstore.Error, match=r"Owner\.age"):
            store.create_from_json(Owner, '{"id": 1, "name": "Eve", "age": null}', update=update)
        assert (first.age, first.name) == (10, "Ann")


@pytest.mark.parametrize("update", UPDATES)
def test_rule_7_the_later_of_two_wins(store: objstore.Store, update: Any) -> None:
    with store.write():
        store.create(Owner, {"id": 7, "age": 1})
        root = store.add(
            Owner(
                id=1,
                age=1,
                best=Owner(id=7, age=2, name="earlier"),
                others=[Owner(id=7, age=3, name="later"), Owner(id=8, age=8), Owner(id=8, age=9)],
            ),
            update=update,
        )
        assert store.objects(Owner).count() == 3
        assert root.best == root.others[0] and (root.best.age, root.best.name) == (3, "later")
        assert root.others[1] == root.others[2] and root.others[2].age == 9
    with store.write(), pytest.raises(objstore.DuplicateKey):
        store.add(Owner(id=10, age=1, others=[Owner(id=11, age=1), Owner(id=11, age=2)]))
    assert store.objects(Owner).count() == 3


def test_rule_8_from_a_managed_object(store: objstore.Store, other: objstore.Store) -> None:
    with store.write():
        best = store.create(Owner, {"id": 2, "age": 20})
        first = store.create(
            Owner, {"id": 1, "age": 10, "best": best, "tags": ["a"], "note": {"text": "n"}, "notes": [{"text": "m"}]}
        )
        with pytest.raises(objstore.DuplicateKey):
            store.create(Owner, first)
        for update in UPDATES:
            assert store.create(Owner, first, update=update) == first
        assert store.objects(Note).count() == 2 and store.objects(Owner).count() == 2
        copy = store.create(Note, first.note)
        assert copy != first.note and copy.text == "n" and store.objects(Note).count() == 3
    with other.write():
        deep = other.create(Owner, first)
        assert (deep.age, list(deep.tags), deep.best.age, deep.note.text, [note.text for note in deep.notes]) == (
            10,
            ["a"],
            20,
            "n",
            ["m"],
        )
        assert other.objects(Owner).count() == 2 and other.objects(Note).count() == 2
    with store.write():
        best.age = 21
    assert deep.best.age == 20


@pytest.mark.parametrize("update", ["error", *UPDATES])
def test_rule_9_what_is_managed_already(store: objstore.Store, other: objstore.Store, update: Any) -> None:
    with store.write():
        first = store.create(Owner, {"id": 1, "age": 10, "tags": ["a"]})
        store.add(first, update=update)
        assert store.objects(Owner).count() == 1 and list(first.tags) == ["a"]
    with other.write():
        with pytest.raises(objstore.Error):
            other.add(first, update=update)
        with pytest.raises(objstore.Error):
            other.add(Owner(id=2, age=1, best=first), update=update)
        assert other.objects(Owner).count() == 0


@pytest.mark.parametrize("update", ["error", *UPDATES])
def test_rule_11_what_was_deleted(store: objstore.Store, update: Any) -> None:
    with store.write():
        first = store.create(Owner, {"id": 1, "age": 10})
        store.delete(first)
        for add in [
            lambda: store.add(first, update=update),
            lambda: store.add(Owner(id=2, age=1, best=first), update=update),
            lambda: store.create(Owner, first, update=update),
        ]:
            with pytest.raises(objstore.NoSuchObject):
                add()
        assert store.objects(Owner).count() == 0


def test_rule_12_unmanaged_objects_are_not_observed(store: objstore.Store) -> None:
    owner = Owner(id=1, age=1)
    with pytest.raises(objstore.Error):
        owner.observe(lambda change: None)
    with store.write():
        assert store.add(owner).age == 1
