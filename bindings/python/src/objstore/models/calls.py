"""Calls of functions that a store was given, for queries: `call("haversine", City.lat, City.lon, 46.9, 7.4) < 50`."""

from typing import Any

from ..errors import InvalidArgument
from ..messages import shown
from . import nodes, roots
from .expressions import Expression, Part, expression


def call(name: str, *arguments: Any) -> Expression:
    """What the function of that name (Store.define_function) gives for these arguments: properties, what is computed
    of them, and constants. To be compared, computed with, or sorted by. Which functions there are, is looked at when
    it is asked."""
    if not isinstance(name, str) or not (name.isascii() and name.isidentifier()):
        raise InvalidArgument(f"the name of a function is wanted, such as 'haversine', not {shown(name)}")
    so_far = Part(b"", (), ())
    parts = [expression(argument) for argument in arguments]
    for part in parts:
        first, last, properties = roots.together(so_far, part)
        so_far = Part(first + last, so_far._texts + part._texts, properties)
    form = f"{name}({', '.join(['{}'] * len(parts))})"
    made = so_far._nodes + nodes.call(name, len(parts))
    return Expression(made, so_far._texts, so_far._properties, None, False, form, *arguments)
