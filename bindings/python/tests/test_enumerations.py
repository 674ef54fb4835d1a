"""Enumerations: what is written is a member, whatever writes it."""

import enum
from pathlib import Path

import pytest

import objstore
from conftest import store_of
from objstore import EmbeddedModel, Model, field


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Right(enum.IntFlag):
    READ = 1
    WRITE = 2


class Trim(EmbeddedModel):
    color: Color | None = None


class Car(Model):
    id: int = field(primary_key=True)
    color: Color
    level: Level | None = None
    rights: Right = Right.READ
    colors: list[Color] = field(default_factory=list)
    levels: set[Level] = field(default_factory=set)
    parts: dict[Color, Level | None] = field(default_factory=dict)
    trim: Trim | None = None
    trims: list[Trim] = field(default_factory=list)


store = store_of([Car, Trim])


@pytest.mark.parametrize(
    ("text", "path", "name"),
    [
        ('{"id": 1, "color": "zebra"}', "$.color", "color"),
        ('{"id": 1, "color": "red", "level": 2}', "$.level", "level"),
        ('{"id": 1, "color": "red", "colors": ["blue", "green"]}', "$.colors[1]", "colors"),
        ('{"id": 1, "color": "red", "levels": [1, 5, 6]}', "$.levels[2]", "levels"),
        ('{"id": 1, "color": "red", "parts": {"green": 1}}', "$.parts.green", "parts"),
        ('{"id": 1, "color": "red", "parts": {"red": 2}}', "$.parts.red", "parts"),
        ('{"id": 1, "color": "red", "trim": {"color": "green"}}', "$.trim.color", "color"),
        ('{"id": 1, "color": "red", "trims": [{}, {"color": "green"}]}', "$.trims[1].color", "color"),
    ],
)
def test_json(store: objstore.Store, text: str, path: str, name: str) -> None:
    with store.write(), pytest.raises(objstore.OutOfRange, match="none of the values of its enumeration") as error:
        store.create_from_json(Car, text)
    assert path in str(error.value) and error.value.property_name == name
    assert not store.objects(Car) and not store.objects(Trim)
    with store.write(), pytest.raises(objstore.OutOfRange):
        store.create_all_from_json(Car, f'[{{"id": 7, "color": "red"}}, {text}]')
    assert not store.objects(Car)


def test_json_that_fits(store: objstore.Store) -> None:
    with store.write():
        car = store.create_from_json(
            Car,
            '{"id": 1, "color": "blue", "level": null, "rights": 3, "colors": ["red"], "levels": [5],'
            ' "parts": {"red": 1, "blue": null}, "trim": {"color": null}, "trims": [{"color": "red"}]}',
        )
    assert (car.color, car.level, car.rights) == (Color.BLUE, None, Right.READ | Right.WRITE)
    assert list(car.colors) == [Color.RED] and set(car.levels) == {Level.HIGH}
    assert dict(car.parts) == {Color.RED: Level.LOW, Color.BLUE: None}
    assert car.trim is not None and car.trim.color is None and car.trims[0].color is Color.RED


def test_a_new_property_has_the_first_member(tmp_path: Path) -> None:
    def model(**annotations: object) -> type[Model]:
        return type(Model)(
            "Box", (Model,), {"__module__": __name__, "__qualname__": "Box", "__annotations__": annotations}
        )

    path = tmp_path / "boxes"
    before = model(n=int)
    with objstore.open(path, models=[before]) as store, store.write():
        store.add(before(n=1))
    after = model(n=int, color=Color, level=Level, colors=list[Color])
    with objstore.open(path, models=[after], schema_version=2) as store:
        box = store.objects(after)[0]
        assert (box.color, box.level, list(box.colors)) == (Color.RED, Level.LOW, [])  # type: ignore[attr-defined]
        with store.write(), pytest.raises(objstore.MissingValue, match="Box.color"):
            store.create(after, {"n": 2, "level": Level.LOW})
    assert not objstore.verify_file(path).findings


def test_another_program(tmp_path: Path) -> None:
    """Nothing of it is in the file: what another program wrote is no member, and is said to be none where it is
    read."""

    class Other(enum.Enum):
        GREEN = "green"

    def model(color: type[enum.Enum]) -> type[Model]:
        return type(Model)(
            "Box", (Model,), {"__module__": __name__, "__qualname__": "Box", "__annotations__": {"color": color}}
        )

    path = tmp_path / "boxes"
    mine, theirs = model(Color), model(Other)
    with objstore.open(path, models=[mine]) as store, store.write():
        store.add(mine(color=Color.BLUE))
    with objstore.open(path, models=[theirs]) as store:
        with pytest.raises(objstore.OutOfRange, match="Box.color: the stored value 'blue' is no member of Other"):
            store.objects(theirs)[0].color  # type: ignore[attr-defined]
        with store.write():
            store.objects(theirs)[0].color = Other.GREEN  # type: ignore[attr-defined]
