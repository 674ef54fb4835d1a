"""Many points in time at once, for columns: whether they need a look each, and their seconds and nanoseconds.

Timestamps of Pandas are datetimes, but slow ones: each operation makes another one. So those of a whole column become
numbers together; while no numbers are needed they stay what they are. What NumPy has becomes datetimes,
together.
"""

from array import array
from collections.abc import Iterable
from datetime import datetime, timezone
from operator import attrgetter
from typing import Any

from .kinds import instant, is_finer, loaded

_zone_of = attrgetter("tzinfo")
_year_of = attrgetter("year")
_unit_of = attrgetter("dtype")
_nanoseconds_of = attrgetter("value")  # since 1970, in UTC


def taken(values: list[Any], nullable: bool) -> list[Any] | None:
    """The values as a property can hold them, if that can be said of all of them together: they name points in time;
    None: each has to be looked at."""
    types = set(map(type, values))
    if nullable:
        types.discard(type(None))
    if types == {datetime}:
        return values if _zones(values) == {id(timezone.utc)} else None
    if types == {loaded("numpy", "datetime64")}:
        return _datetimes(values, nullable)
    stamp, nothing = loaded("pandas", "Timestamp"), loaded("pandas", "NaT")
    if stamp is None or stamp not in types:
        return None
    if nullable and type(nothing) in types:
        types.discard(type(nothing))
        values = [None if value is nothing else value for value in values]
    return values if types == {stamp} and id(None) not in _zones(values) and _are_near(values) else None


def _are_near(stamps: Iterable[Any]) -> bool:
    """Can a datetime say them all, in UTC? Timestamps go further."""
    years: set[int] = set(map(_year_of, filter(None, stamps)))
    return min(years) > 1 and max(years) < 9999


def _datetimes(values: list[Any], nullable: bool) -> list[Any] | None:
    """The datetimes of values of NumPy, or None. They have to be of one unit: another one may not have room for what
    all of them mean."""
    import numpy  # which the program has loaded

    present = [value for value in values if value is not None]
    if len(set(map(_unit_of, present))) > 1:
        return None
    given = numpy.array(present)
    microseconds = given.astype("datetime64[us]")
    found: list[Any] = microseconds.tolist()  # of what is far away a number
    types = set(map(type, found))
    if nullable:
        types.discard(type(None))
    if types != {datetime} or (
        not is_finer(given) and not numpy.array_equal(microseconds.astype(given.dtype), given, equal_nan=True)
    ):
        return None
    found = [None if moment is None else moment.replace(tzinfo=timezone.utc) for moment in found]
    if len(found) == len(values):
        return found
    each = iter(found)
    return [None if value is None else next(each) for value in values]


def _zones(values: Iterable[Any]) -> set[int]:
    """The identities of their time zones. None has no truth, and no zone."""
    return set(map(id, map(_zone_of, filter(None, values))))


def words(values: list[Any]) -> "array[int]":
    """Seconds since 1970 and nanoseconds of each."""
    if set(map(type, values)) == {loaded("pandas", "Timestamp")}:
        try:
            return _words_of(list(map(_nanoseconds_of, values)))
        except OverflowError:
            pass  # before 1677 or after 2262: not all have a number of nanoseconds
    return array("q", [word for value in values for word in instant(value)])


def _words_of(nanoseconds: list[int]) -> "array[int]":
    """The same of nanoseconds since 1970, cut to microseconds as a datetime is."""
    import numpy  # Pandas has loaded it

    seconds, rest = numpy.divmod(numpy.array(nanoseconds, "int64"), 1_000_000_000)
    both = numpy.empty(2 * len(nanoseconds), "int64")
    both[0::2], both[1::2] = seconds, rest // 1000 * 1000
    return array("q", both.tobytes())
