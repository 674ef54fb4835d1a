"""Places on the earth: boxes, circles and polygons, in expressions and as arguments of texts."""

import math

import pytest

from objstore import (
    EmbeddedModel,
    GeoShape,
    InvalidArgument,
    InvalidQuery,
    Model,
    WrongType,
    any_,
    field,
    geo_box,
    geo_circle,
    geo_polygon,
    open as open_store,
)


class Spot(EmbeddedModel):
    type: str = "Point"
    coordinates: list[float] = field(default_factory=list)


class Shop(Model):
    name: str = field(primary_key=True)
    home: Spot | None = None
    others: list[Spot]


TOWNS = {
    "Bern": (7.4474, 46.9481),
    "Thun": (7.6280, 46.7580),
    "Basel": (7.5886, 47.5596),
    "Roma": (12.4964, 41.9028),
    "Corner": (8.0, 47.0),
}


@pytest.fixture
def shops(tmp_path):
    with open_store(tmp_path / "shops", models=[Shop, Spot]) as store:
        with store.write():
            for name, point in TOWNS.items():
                store.add(Shop(name=name, home=Spot(coordinates=list(point)), others=[Spot(coordinates=[0.0, 0.0])]))
            store.add(Shop(name="Nowhere"))
            store.add(Shop(name="Half", home=Spot(coordinates=[7.4])))
        yield store.objects(Shop)


def distance(one, two):
    """In kilometers, by the cosine theorem: not the formula that is tested."""
    (a, b), (c, d) = [tuple(map(math.radians, point)) for point in (one, two)]
    cosine = math.sin(b) * math.sin(d) + math.cos(b) * math.cos(d) * math.cos(a - c)
    return 6378.1 * math.acos(max(-1.0, min(1.0, cosine)))


def names(results):
    return sorted(shop.name for shop in results)


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        (geo_box((7, 46), (8, 47)), ["Bern", "Corner", "Thun"]),  # edges belong to it
        (geo_box((7, 46), (7.9, 47)), ["Bern", "Thun"]),
        (geo_circle(TOWNS["Bern"], kilometers=30), ["Bern", "Thun"]),
        (geo_circle(TOWNS["Bern"], radians=70 / 6378.1), ["Basel", "Bern", "Corner", "Thun"]),
        (geo_circle((0, 0), kilometers=0), []),
        (geo_polygon([(7, 46), (8, 46), (8, 47), (7, 47)]), ["Bern", "Thun"]),  # edges do not
        (geo_polygon([(7, 46), (13, 46), (13, 41), (7, 41), (7, 46)]), ["Roma"]),
        (geo_polygon([(7, 41), (13, 41), (13, 48), (7, 48)], [(7.4, 46.9), (7.5, 46.9), (7.5, 47), (7.4, 47)]), None),
    ],
)
def test_shapes(shops, shape, found):
    if found is None:  # with a hole
        found = ["Basel", "Corner", "Roma", "Thun"]
    assert names(shops.where(Shop.home.within(shape))) == found
    assert names(shops.filter("home GEOWITHIN $0", shape)) == found
    assert names(shops.filter(f"home GEOWITHIN {shape}")) == found
    assert names(shops.where(~Shop.home.within(shape))) == sorted({shop.name for shop in shops} - set(found))
    text = shops.where(Shop.home.within(shape)).query_text()
    assert text == shops.filter(f"home GEOWITHIN {shape}").query_text()
    assert names(shops.filter(text)) == found


def test_circles_beside_another_formula(shops):
    for center in [*TOWNS.values(), (-179.5, 10.0), (179.5, -89.0)]:
        for kilometers in (1, 25, 60.5, 700, 9000):
            found = [name for name, point in TOWNS.items() if distance(center, point) <= kilometers]
            assert names(shops.where(Shop.home.within(geo_circle(center, kilometers=kilometers)))) == sorted(found)


def test_many_places(shops):
    middle = geo_box((-1, -1), (1, 1))
    assert len(shops.where(any_(Shop.others).within(middle))) == len(TOWNS)
    assert len(shops.filter("NONE others GEOWITHIN $0", middle)) == 2


def test_shapes_are_values():
    assert geo_box((1, 2), [3, 4.5]) == geo_box((1.0, 2.0), (3.0, 4.5))
    assert geo_polygon([(0, 0), (1, 0), (1, 1)]) == geo_polygon([(0, 0), (1, 0), (1, 1), (0, 0)])
    assert geo_box((1, 2), (3, 4)) != geo_box((1, 2), (3, 5))
    assert geo_circle((1, 2), radians=1e-20) != "geoCircle([1.0, 2.0], 1e-20)"
    assert len({geo_circle((1, 2), radians=0.1), geo_circle((1, 2), radians=0.1)}) == 1
    assert repr(geo_circle((1, 2), radians=0.1)) == "geoCircle([1.0, 2.0], 0.1)"
    assert isinstance(geo_box((1, 2), (3, 4)), GeoShape)


def test_small_and_large_numbers(shops):
    for radians in (5e-324, 1e-7, 3.0, 1e16, 1.7976931348623157e308):
        circle = geo_circle((7, 46), radians=radians)
        assert names(shops.where(Shop.home.within(circle))) == names(shops.filter("home GEOWITHIN $0", circle))


def test_refused(shops):
    for make, error in [
        (lambda: geo_circle((1, 2)), InvalidArgument),
        (lambda: geo_circle((1, 2), kilometers=1, radians=1), InvalidArgument),
        (lambda: geo_circle((1, 2), kilometers=math.nan), InvalidArgument),
        (lambda: geo_circle((1, 2), kilometers="10"), WrongType),
        (lambda: geo_box((1, 2, 3), (3, 4)), WrongType),
        (lambda: geo_box("12", (3, 4)), WrongType),
        (lambda: geo_box((1, None), (3, 4)), WrongType),
        (lambda: geo_box((True, 1), (3, 4)), WrongType),
        (lambda: Shop.home.within("geoBox([0, 0], [1, 1])"), WrongType),
        (lambda: list(shops.where(Shop.name == geo_box((0, 0), (1, 1)))), WrongType),
        (lambda: list(shops.filter("name IN $0", [geo_box((0, 0), (1, 1))])), WrongType),
        (lambda: list(shops.filter("home GEOWITHIN $0", 7)), InvalidQuery),
        (lambda: list(shops.filter("home GEOWITHIN $0", "here")), InvalidQuery),
        (lambda: list(shops.where(Shop.home.within(geo_box((0, 0), (181, 1))))), InvalidQuery),
        (lambda: list(shops.where(Shop.home.within(geo_polygon([(0, 0), (1, 1)])))), InvalidQuery),
        (lambda: list(shops.where(Shop.home.within(geo_polygon([])))), InvalidQuery),
        (lambda: list(shops.where(Shop.name.within(geo_box((0, 0), (1, 1))))), Exception),
    ]:
        with pytest.raises(error):
            make()
