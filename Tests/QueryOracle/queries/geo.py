"""Shapes on the globe, and whether a point lies inside."""

from __future__ import annotations

import itertools
import math

from . import nodes
from .binding import Scope
from .data import Object
from .errors import QueryError
from .values import Float32, Number, Value

Place = tuple[float, float]


def bind_shape(scope: Scope, shape: nodes.Shape | nodes.Argument, position: int) -> nodes.Shape:
    """A shape with all numbers known; its coordinates are checked."""
    if isinstance(shape, nodes.Argument):
        given = scope.argument(shape.index, shape.position)
        if not isinstance(given, (nodes.Box, nodes.Circle, nodes.Polygon)):
            raise QueryError(shape.position, "a geographic shape as argument", "another value")
        shape = given
    if isinstance(shape, nodes.Box):
        return nodes.Box(bind_point(scope, shape.low, position), bind_point(scope, shape.high, position))
    if isinstance(shape, nodes.Circle):
        return nodes.Circle(
            bind_point(scope, shape.center, position), bind_coordinate(scope, shape.radius, math.inf, position)
        )
    rings = tuple(tuple(bind_point(scope, point, position) for point in ring) for ring in shape.rings)
    for ring in rings:
        if len(ring) < 4 or ring[0] != ring[-1]:
            raise QueryError(position, "a closed ring of four points or more", f"{len(ring)} points")
    return nodes.Polygon(rings)


def bind_point(scope: Scope, point: nodes.Point, position: int) -> nodes.Point:
    """A point with its coordinates known."""
    return nodes.Point(
        bind_coordinate(scope, point.longitude, 180.0, position), bind_coordinate(scope, point.latitude, 90.0, position)
    )


def bind_coordinate(scope: Scope, given: nodes.Coordinate, limit: float, position: int) -> float:
    """A coordinate, perhaps from the arguments."""
    number = given
    if isinstance(number, nodes.Argument):
        argument = scope.argument(number.index, number.position)
        if isinstance(argument, bool) or not isinstance(argument, (int, float, Float32, Number)):
            raise QueryError(number.position, "a number as coordinate", "another value")
        number = as_degrees(argument)
    if not -limit <= number <= limit:
        raise QueryError(position, f"a coordinate from {-limit} to {limit}", str(number))
    return number


def as_degrees(value: int | float | Float32 | Number) -> float:
    """A number as a double."""
    if isinstance(value, Number):
        return float(value.text)
    return value.value if isinstance(value, Float32) else float(value)


def place(found: Object | None) -> Place | None:
    """The longitude and latitude an embedded point holds; none where it is not whole."""
    if found is None:
        return None
    coordinates: object = found.fields.get("coordinates")
    if found.fields.get("type") != "Point" or not isinstance(coordinates, list) or len(coordinates) < 2:
        return None
    numbers = [as_number(value) for value in coordinates[:2]]
    return (numbers[0], numbers[1])


def as_number(value: Value) -> float:
    """A stored coordinate."""
    if isinstance(value, float):
        return value
    return value.value if isinstance(value, Float32) else math.nan


def contains(shape: nodes.Shape, point: Place) -> bool:
    """Whether a point lies in a shape."""
    if isinstance(shape, nodes.Circle):
        return angle(known(shape.center), point) <= number(shape.radius)
    if isinstance(shape, nodes.Box):
        west, south = known(shape.low)
        east, north = known(shape.high)
        return west <= point[0] <= east and south <= point[1] <= north
    outer, *holes = [[known(corner) for corner in ring] for ring in shape.rings]
    return in_ring(outer, point) and not any(in_ring(hole, point) for hole in holes)


def number(value: nodes.Coordinate) -> float:
    """A coordinate of a bound shape."""
    return value if isinstance(value, (int, float)) else math.nan


def shape_text(shape: nodes.Shape) -> str:
    """A shape as a query writes it, all of whose numbers are known."""

    def written(point: nodes.Point) -> str:
        return f"[{number(point.longitude)!r}, {number(point.latitude)!r}]"

    if isinstance(shape, nodes.Circle):
        return f"geoCircle({written(shape.center)}, {number(shape.radius)!r})"
    if isinstance(shape, nodes.Box):
        return f"geoBox({written(shape.low)}, {written(shape.high)})"
    return f"geoPolygon({', '.join('{' + ', '.join(map(written, ring)) + '}' for ring in shape.rings)})"


def known(point: nodes.Point) -> Place:
    """A point of a bound shape."""
    return (number(point.longitude), number(point.latitude))


def angle(one: Place, two: Place) -> float:
    """The angle between two points as seen from the centre of the sphere (haversine)."""
    longitude, latitude = math.radians(two[0] - one[0]), math.radians(two[1] - one[1])
    half = (
        math.sin(latitude / 2) ** 2
        + math.cos(math.radians(one[1])) * math.cos(math.radians(two[1])) * math.sin(longitude / 2) ** 2
    )
    return 2 * math.asin(min(1.0, math.sqrt(half)))


def in_ring(ring: list[Place], point: Place) -> bool:
    """Whether a point lies inside of a closed ring, its corners and edges left out (flat, even-odd)."""
    inside = False
    for (x1, y1), (x2, y2) in itertools.pairwise(ring):
        cross = (x2 - x1) * (point[1] - y1) - (y2 - y1) * (point[0] - x1)
        if cross == 0 and min(x1, x2) <= point[0] <= max(x1, x2) and min(y1, y2) <= point[1] <= max(y1, y2):
            return False
        if (y1 > point[1]) != (y2 > point[1]) and point[0] < (x2 - x1) * (point[1] - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside
