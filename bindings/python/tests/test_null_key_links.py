"""Links to the object whose primary key is null, as text and back, and references whose "$id" is of the wrong type."""

import json

import pytest

import objstore
from objstore import Model, WrongType, field


class Str(Model):
    id: str | None = field(primary_key=True)
    n: int = 0


class Int(Model):
    id: int = field(primary_key=True)


class Holder(Model):
    id: int = field(primary_key=True)
    str: Str | None
    strs: list[Str]
    int: Int | None


MODELS = [Str, Int, Holder]
EXPECTED = {"id": 1, "str": {"$ref": "Str", "$id": None}, "strs": [{"$ref": "Str", "$id": None}, "a"], "int": None}


@pytest.fixture
def holder(tmp_path):
    with objstore.open(tmp_path / "a.objstore", models=MODELS) as store:
        with store.write():
            none, a = store.create(Str, {"id": None, "n": 5}), store.create(Str, {"id": "a"})
            found = store.create(Holder, {"id": 1, "str": none, "strs": [none, a], "int": None})
        yield store, found


@pytest.mark.parametrize("extended", [False, True])
def test_to_json_and_back(holder, tmp_path, extended):
    text = holder[1].to_json(depth=0, extended=extended)
    read = json.loads(text)
    assert read["str"] == EXPECTED["str"] and read["strs"] == EXPECTED["strs"] and read["int"] is None
    with objstore.open(tmp_path / "b.objstore", models=MODELS) as other:
        with other.write():
            none = other.create(Str, {"id": None, "n": 6})
            other.create(Str, {"id": "a"})
            back = other.create_from_json(Holder, text, extended=extended)
        assert back.str == none and [s.id for s in back.strs] == [None, "a"] and len(other.objects(Str)) == 2


def test_to_dict_and_back(holder, tmp_path):
    assert holder[1].to_dict(depth=0) == EXPECTED
    unmanaged = Holder(id=1, str=Str(id=None), strs=[Str(id=None), Str(id="a")])
    assert unmanaged.to_dict(depth=0) == EXPECTED
    with objstore.open(tmp_path / "b.objstore", models=MODELS) as other, other.write():
        none, a = other.create(Str, {"id": None, "n": 6}), other.create(Str, {"id": "a"})
        back = other.create(Holder, EXPECTED)
        assert back.str == none and list(back.strs) == [none, a]


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 2, "str": {"$ref": "Str", "$id": 5}}',
        '{"id": 2, "int": {"$ref": "Int", "$id": "5"}}',
        '{"id": 2, "int": {"$ref": "Int", "$id": null}}',
        '{"id": 2, "strs": [{"$ref": "Str", "$id": [1]}]}',
    ],
)
@pytest.mark.parametrize("extended", [False, True])
def test_a_reference_of_the_wrong_type_makes_nothing(holder, text, extended):
    store, _ = holder
    with store.write():
        with pytest.raises(
            WrongType, match=r'"\$id" of an object of class (Str|Int) is its primary key, (a string|an int), not '
        ):
            store.create_from_json(Holder, text, extended=extended)
        with pytest.raises(WrongType):
            store.create_all_from_json(Holder, f"[{text}]", extended=extended)
        with pytest.raises(WrongType):
            store.create(Holder, json.loads(text))
    assert tuple(len(store.objects(model)) for model in MODELS) == (2, 0, 1)
