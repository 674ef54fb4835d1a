"""A primary key that is left out is its default, on every way in."""

import enum
import pathlib
import uuid
from typing import Any

import pytest

import objstore
from objstore import Model, field


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Number(Model):
    k: int = field(primary_key=True, default=7)
    v: str = ""


class Nullable(Model):
    k: str | None = field(primary_key=True, default="d")
    v: str = ""


class Named(Model):
    k: uuid.UUID = field(primary_key=True, default=uuid.UUID(int=9))
    v: str = ""


class Colored(Model):
    k: Color = field(primary_key=True, default=Color.BLUE)
    v: str = ""


class Parent(Model):
    id: int = field(primary_key=True)
    one: Number | None = None
    many: list[Number]


DEFAULTS: dict[Any, Any] = {Number: 7, Nullable: "d", Named: uuid.UUID(int=9), Colored: Color.BLUE}
MODELS: list[Any] = [*DEFAULTS, Parent]


def ways(store: objstore.Store, model: Any) -> list[Any]:
    return [
        lambda v, update: store.create(model, {"v": v}, update),
        lambda v, update: store.create_all(model, [{"v": v}], update),
        lambda v, update: store.create_from_json(model, '{"v": "%s"}' % v, update),
        lambda v, update: store.create_all_from_json(model, '[{"v": "%s"}]' % v, update),
        lambda v, update: store.add(model(v=v), update),
        lambda v, update: store.add_all([model(v=v)], update),
    ]


@pytest.mark.parametrize("model", DEFAULTS)
def test_every_way(model: Any) -> None:
    with objstore.open(memory="", models=MODELS) as store:
        for way in ways(store, model):
            with store.write():
                store.delete_everything()
                way("a", "error")
                assert [(o.k, o.v) for o in store.objects(model)] == [(DEFAULTS[model], "a")]
                with pytest.raises(objstore.DuplicateKey):
                    way("b", "error")
                for update in ("modified", "all"):
                    way(update, update)
                    assert [(o.k, o.v) for o in store.objects(model)] == [(DEFAULTS[model], update)]
        store.verify()


@pytest.mark.parametrize("model", DEFAULTS)
def test_models_of_a_file(path: pathlib.Path, model: Any) -> None:
    with objstore.open(path, models=MODELS):
        pass
    with objstore.open(path) as store:
        of_file = store.models[model.__name__]
        default = DEFAULTS[model].value if model is Colored else DEFAULTS[model]
        assert of_file().k == default
        for way in ways(store, of_file):
            with store.write():
                store.delete_everything()
                way("a", "error")
                way("b", "modified")
                assert [(o.k, o.v) for o in store.objects(of_file)] == [(default, "b")]


def test_nested() -> None:
    with objstore.open(memory="", models=MODELS) as store, store.write():
        store.create_from_json(Parent, '{"id": 1, "one": {"v": "a"}}')
        store.create_from_json(Parent, '{"id": 2, "one": {"v": "b"}, "many": [7, {"v": "c"}]}', "modified")
        store.create(Parent, {"id": 3, "one": {"v": "d"}, "many": [{"v": "e"}]}, "modified")
        assert [(o.k, o.v) for o in store.objects(Number)] == [(7, "e")]
        assert [p.one.k for p in store.objects(Parent)] == [7] * 3  # type: ignore[union-attr]


def test_programs_that_say_none_share_the_file(path: pathlib.Path) -> None:
    """As such do that were written in another language, or before."""

    def named(default: Any) -> Any:
        options = {} if default is None else {"default": default}

        class Thing(Model):
            k: int = field(primary_key=True, **options)
            v: str = ""

        return Thing

    without, seven, eight = named(None), named(7), named(8)
    with objstore.open(path, models=[without]) as store, store.write():
        store.add(without(k=1))
    with objstore.open(path, models=[seven], mode="read-only") as store:
        assert len(store.objects(seven)) == 1
    with objstore.open(path, models=[seven], delete_if_migration_needed=True) as store:
        assert len(store.objects(seven)) == 1
    with objstore.open(path, models=[without]) as first, objstore.open(path, models=[seven]) as store:
        with store.write():
            assert store.create_from_json(seven, "{}").k == 7
        with first.write():
            assert first.create_from_json(without, '{"v": "a"}', "all").k == 7
            first.delete(first.get(without, 7))
    with objstore.open(path, models=[seven]) as store, store.write():
        assert store.create_from_json(seven, "{}").k == 7
    with objstore.open(path, models=[without]) as store, store.write():
        assert store.create_from_json(without, '{"v": "b"}', "modified").k == 7
    with pytest.raises(objstore.SchemaError, match="Thing.k: it has another default in the file"):
        objstore.open(path, models=[eight])
    with objstore.open(path, models=[eight], schema_version=2) as store, store.write():
        assert store.create_from_json(eight, "{}").k == 8
    with objstore.open(path, models=[without], schema_version=3) as store, store.write():
        with pytest.raises(objstore.MissingValue, match="Thing.k"):
            store.create_from_json(without, "{}")
        assert sorted(o.k for o in store.objects(without)) == [1, 7, 8]
        store.verify()
