"""The classes of the scenarios, as far as this version has their properties."""

import enum
from datetime import datetime

import objstore
from objstore import field


class Color(enum.Enum):
    BROWN = "brown"
    WHITE = "white"


class Mood(enum.IntEnum):
    CALM = 1
    WILD = 2


class Dog(objstore.Model):
    name: str = ""
    age: int = 0
    color: str = ""
    currentCity: str = ""


class Person(objstore.Model):
    id: int = field(primary_key=True, default=0)
    name: str = ""


class Frog(objstore.Model):
    _id: str = field(primary_key=True)
    name: str = ""
    age: int = 0
    species: str | None = None
    owner: str | None = None


class Item(objstore.Model):
    id: str = field(primary_key=True)
    name: str
    status: str = ""
    assignee: str = ""


class Team(objstore.Model):
    id: int = field(primary_key=True)
    name: str


class Turtle(objstore.Model):
    _id: int = field(primary_key=True)
    name: str | None = None
    age: int = field(default=0, indexed=True)
    weight: float | None = None


class TurtleEnthusiast(objstore.Model):
    _id: int = field(primary_key=True)
    name: str | None = None
    age: int = 0


class Everything(objstore.Model):
    """Each kind, with and without None."""

    key: str = field(primary_key=True)
    flag: bool = False
    number: int = 0
    real: float = 0.0
    text: str = ""
    raw: bytes = b""
    when: datetime
    color: Color = Color.BROWN
    mood: Mood = Mood.CALM
    flag_or_none: bool | None = None
    number_or_none: int | None = field(default=None, indexed=True)
    real_or_none: float | None
    text_or_none: str | None = None
    raw_or_none: bytes | None = None
    when_or_none: datetime | None = None
    color_or_none: Color | None = None
    mood_or_none: Mood | None = None
