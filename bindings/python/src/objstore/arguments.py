"""Numbers of callers that go to the library as they are: checked here, since ctypes takes a text for an address, and
of a number that is too large the lowest 64 bits."""

import math
import numbers
import operator
from typing import Any

from .errors import InvalidArgument, OutOfRange
from .messages import shown

INT32, INT64, UINT64 = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1), (0, 2**64 - 1)
LONGEST = 10**9  # seconds, 31 years: in nanoseconds they fit 64 bits


def whole(what: str, value: Any, limits: tuple[int, int]) -> int:
    """An int within limits. What else the library knows of it, it says itself."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise InvalidArgument(f"{what} is an int, not {value!r} ({type(value).__name__})")
    low, high = limits
    if low <= number <= high:
        return number
    raise OutOfRange(
        f"{what} is an int from {low:,} to {high:,}, not "
        f"{f'{number:,}' if number.bit_length() < 1000 else shown(number)}"
    )


def switch(what: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidArgument(f"{what} is True or False, not {value!r} ({type(value).__name__})")


def seconds(what: str, value: Any, *, ever: bool = True) -> float | None:
    """A number of seconds from 0 on; with `ever` None: for ever, like infinity."""
    if value is None and ever:
        return None
    or_none = ", or None for ever" if ever else ""
    number: Any = value  # numbers.Real declares no comparisons
    # NumPy's durations are ints to Python, and say nothing of seconds.
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or type(value).__name__ == "timedelta64":
        raise InvalidArgument(f"{what} is a number of seconds{or_none}, not {value!r} ({type(value).__name__})")
    if number >= 0 and (ever or number != math.inf):  # which NaN is not
        return None if number == math.inf else float(min(number, LONGEST))
    raise InvalidArgument(f"{what} is a number of seconds from 0 on{or_none}, not {value!r}")


def milliseconds(value: float) -> int:
    """At least 1 for anything above 0."""
    return max(1, round(value * 1000)) if value else 0
