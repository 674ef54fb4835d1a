"""Shapes on the earth, which queries look for places in: `Shop.home.within(geo_circle((7.45, 46.95), kilometers=10))`.

A place is an embedded object with a `type: str`, which is "Point", and `coordinates: list[float]`, longitude and
latitude in degrees, as GeoJSON has them.
"""

import math
from collections.abc import Sequence
from numbers import Real

from ..errors import InvalidArgument, WrongType
from ..messages import shown

Point = Sequence[float]  # longitude, latitude

EARTH_RADIUS = 6378.1  # kilometers


class GeoShape:
    """A box, a circle or a polygon: made by geo_box(), geo_circle() or geo_polygon()."""

    __slots__ = ("name", "rings", "radius")

    def __init__(self, name: str, rings: tuple[tuple[tuple[float, float], ...], ...], radius: float | None) -> None:
        self.name = name
        self.rings = rings
        self.radius = radius

    def __repr__(self) -> str:
        """As the text of a query has it."""
        rings = [", ".join(f"[{longitude!r}, {latitude!r}]" for longitude, latitude in ring) for ring in self.rings]
        if self.name == "geoPolygon":
            rings = [f"{{{ring}}}" for ring in rings]
        radius = [] if self.radius is None else [repr(self.radius)]
        return f"{self.name}({', '.join(rings + radius)})"

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other) if isinstance(other, GeoShape) else NotImplemented

    def __hash__(self) -> int:
        return hash(repr(self))


def geo_box(southwest: Point, northeast: Point) -> GeoShape:
    """What lies between two corners, edges included: `geo_box((7, 46), (8, 47))`. None crosses the 180th meridian."""
    return GeoShape("geoBox", ((_point(southwest), _point(northeast)),), None)


def geo_circle(center: Point, *, kilometers: float | None = None, radians: float | None = None) -> GeoShape:
    """What is not further away from a point, on the sphere: `geo_circle((7.45, 46.95), kilometers=100)`."""
    if (kilometers is None) == (radians is None):
        raise InvalidArgument("geo_circle() takes kilometers or radians")
    radius = _number("radians", radians) if kilometers is None else _number("kilometers", kilometers) / EARTH_RADIUS
    return GeoShape("geoCircle", ((_point(center),),), radius)


def geo_polygon(ring: Sequence[Point], *holes: Sequence[Point]) -> GeoShape:
    """What is inside of a ring and of none of its holes, edges excluded; flat, as on a map. Of a ring the last point is
    the first one; it may be left out."""
    return GeoShape("geoPolygon", tuple(_closed(points) for points in (ring, *holes)), None)


def _closed(ring: Sequence[Point]) -> tuple[tuple[float, float], ...]:
    points = tuple(map(_point, ring))
    return points if points and points[0] == points[-1] else (*points, *points[:1])


def _point(point: Point) -> tuple[float, float]:
    if isinstance(point, (str, bytes)) or not isinstance(point, Sequence) or len(point) != 2:
        raise WrongType(f"a point is a longitude and a latitude, in degrees, not {shown(point)}")
    return _number("a longitude", point[0]), _number("a latitude", point[1])


def _number(what: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise WrongType(f"{what} is a number, not {shown(value)}")
    number = float(value)
    if not math.isfinite(number):
        raise InvalidArgument(f"{what} is a finite number, not {number}")
    return number
