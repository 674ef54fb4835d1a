"""References inside mixed values, of Extended JSON, to objects that come later in the same call."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

import objstore
from objstore import EmbeddedModel, Model, field


class Note(EmbeddedModel):
    about: Any = None
    next: "Page | None" = None


class Page(Model):
    id: int = field(primary_key=True)
    slug: str | None = field(default=None, unique=True)
    extra: Any = None
    tag: Any = field(default=None, unique=True)
    items: list[Any]
    parts: dict[str, Any]
    some: set[Any]
    note: Note | None = None
    next: "Page | None" = None


@pytest.fixture
def store(path: pathlib.Path) -> Iterator[objstore.Store]:
    with objstore.open(path, models=[Page, Note]) as made:
        yield made
        made.verify()


def page(store: objstore.Store, id: int) -> Page:
    found = store.get(Page, id)
    assert found is not None
    return found


def ref(id: Any) -> dict[str, Any]:
    return {"$ref": "Page", "$id": id}


def rows(values: list[dict[str, Any]]) -> str:
    return json.dumps(values)


def written(store: objstore.Store) -> list[Any]:
    """Objects in a set are in the order of their keys, and so of their making."""
    made = [json.loads(page(store, id).to_json(depth=0, extended=True)) for id in (1, 2)]
    return [p | {"some": sorted(map(str, p["some"]))} for p in made]


def test_a_circle_comes_back(store: objstore.Store) -> None:
    with store.write():
        one, two = store.create(Page, {"id": 1}), store.create(Page, {"id": 2})
        one.extra = {"deep": [1, {"to": two}, "text"], "self": one}
        two.extra = one
        one.items.extend([two, None, [one], 5])
        two.parts.update({"a": one, "b": {"c": [two]}})
        two.some.update({one, two, 3})
        two.note = Note(about=[one, two], next=one)
        one.tag = two
    texts = [p.to_json(depth=0, extended=True) for p in store.objects(Page)]
    for order in (texts, texts[::-1]):
        with objstore.open(memory="", models=[Page, Note]) as other:
            with other.write():
                assert other.create_all_from_json(Page, "[" + ",".join(order) + "]", extended=True) == 2
            assert written(other) == written(store)
            a, b = page(other, 1), page(other, 2)
            assert (
                a.extra["deep"][1]["to"] == b
                and b.extra == a
                and a.tag == b
                and b.note is not None
                and b.note.about[1] == b
            )
            other.verify()
            with other.write():
                # Everything is there already.
                assert other.create_all_from_json(Page, "[" + ",".join(order) + "]", "modified", extended=True) == 2
            assert written(other) == written(store)
            other.verify()


def test_what_came_last_counts(store: objstore.Store) -> None:
    text = rows(
        [
            {"id": 1, "extra": ref(9), "items": [ref(9)], "next": ref(9), "note": {"about": ref(9), "next": ref(9)}},
            {"id": 2, "extra": ref(9), "items": [ref(9)], "next": ref(9), "note": {"about": ref(9)}},
            {"id": 3, "extra": ref(9)},
            {"id": 1, "extra": "last", "items": [1], "next": None, "note": None},
            {"id": 2, "items": [2, ref(8)], "note": {"about": 7}},
            {"id": 3, "extra": ref(8)},
            {"id": 9},
            {"id": 8},
        ]
    )
    for policy in ("all", "modified"):
        with store.write():
            store.create_all_from_json(Page, text, policy, extended=True)
        one, two, nine = page(store, 1), page(store, 2), page(store, 9)
        assert (one.extra, list(one.items), one.next, one.note) == ("last", [1], None, None)
        assert two.extra == nine and list(two.items) == [2, page(store, 8)] and two.next == nine
        assert two.note is not None and two.note.about == 7 and page(store, 3).extra == page(store, 8)
        store.verify()


@pytest.mark.parametrize(
    "row",
    [
        {"extra": ref(77)},
        {"extra": [[{"a": ref(77)}]]},
        {"items": [ref(2), ref(77)]},
        {"parts": {"x": [ref(77)]}},
        {"note": {"about": [ref(77)]}},
    ],
)
def test_what_does_not_come(store: objstore.Store, row: dict[str, Any]) -> None:
    with store.write():
        with pytest.raises(objstore.NoSuchObject, match="line 2.*there is no Page with id = 77"):
            store.create_all_from_json(
                Page, f'[{{"id": 1}},\n{json.dumps({"id": 2} | row)},\n{{"id": 3}}]', extended=True
            )
        with pytest.raises(objstore.NoSuchObject, match="there is no Page with id = 77"):
            store.create_from_json(Page, json.dumps({"id": 2} | row), extended=True)
        assert not store.objects(Page)


def test_errors_beside_what_waits(store: objstore.Store) -> None:
    with store.write():
        for extra in ([ref(9), {"$ref": "Nobody", "$id": 1}], [ref(9), ref("x")]):
            with pytest.raises((objstore.NoSuchClass, objstore.WrongType)):
                store.create_all_from_json(Page, rows([{"id": 1, "extra": extra}, {"id": 9}]), extended=True)
        with pytest.raises(objstore.DuplicateKey):
            store.create_all_from_json(
                Page, rows([{"id": 1, "tag": ref(9)}, {"id": 2, "tag": ref(9)}, {"id": 9}]), extended=True
            )
        assert not store.objects(Page)
        store.create_from_json(
            Page, json.dumps({"id": 1, "extra": [ref(1)], "some": [ref(1), 2, ref(1)]}), extended=True
        )
    assert page(store, 1).extra == [page(store, 1)] and set(page(store, 1).some) == {page(store, 1), 2}
