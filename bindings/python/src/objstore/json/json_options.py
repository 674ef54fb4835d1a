"""What the functions that write and read JSON have in common: their options, and the keys of dicts."""

from enum import Enum
from typing import Any

from ..arguments import INT32, switch, whole
from ..errors import OutOfRange

EXTENDED, RELAXED, PRETTY, NAN_AS_NULL = 1, 2, 4, 8
DEEPEST = 100


def flags(pretty: bool, extended: bool, nan_as_null: bool) -> int:
    return (
        PRETTY * switch("pretty", pretty)
        | EXTENDED * switch("extended", extended)
        | NAN_AS_NULL * switch("nan_as_null", nan_as_null)
    )


def checked_depth(depth: int) -> int:
    """How many links are followed one after the other."""
    if 0 <= whole("depth", depth, INT32) <= DEEPEST:
        return depth
    raise OutOfRange(f"a depth is 0 to {DEEPEST}, not {depth}")


def text_of_key(key: Any) -> str:
    """A key of a dict, as JSON has it."""
    return str(key.value if isinstance(key, Enum) else key)
