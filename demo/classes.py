"""The classes of the atlas. AskSwift has the same; ask.c takes them as the file has them."""

import objstore
from objstore import Backlinks, backlinks, field


class Point(objstore.EmbeddedModel):
    """A place as GeoJSON has it, which GEOWITHIN takes: longitude, then latitude."""

    type: str
    coordinates: list[float]


class Country(objstore.Model):
    iso: str = field(primary_key=True)
    name: str
    continent: str
    population: int
    areakm2: float
    neighbours: list["Country"]
    cities: Backlinks["City"] = backlinks("country")


class City(objstore.Model):
    geonameid: int = field(primary_key=True)
    name: str
    alternateNames: set[str]
    country: Country | None = None
    location: Point | None = None
    population: int = field(indexed=True)
    timezone: str


MODELS = [City, Country, Point]
