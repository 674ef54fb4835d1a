"""Nodes of queries as section 13 of objstore.h has them, in post-order: operands are what is right before a node.

    Dog.age < 2   ─►   variable, property "age", constant 2, compare <

They are bytes, so that what is put together is one behind the other, and goes to the library as it is.
"""

import ctypes
import struct
from collections.abc import Callable
from typing import Any

from ..native.ffi import encoded
from ..values.constants import NULL, text
from ..values.kinds import INT

TRUTH, AND, OR, NOT, COMPARE, CONSTANT, LIST, ARITHMETIC, VARIABLE = range(1, 10)
PROPERTY, ELEMENT, KEY, INCOMING, ALL_INCOMING, NAME, KEYS, VALUES, TYPE = range(11, 20)
COUNT, FILTER, AGGREGATE, QUANTIFIED, BOX, CIRCLE, POLYGON = range(20, 27)
SORT_KEY, SORT, DISTINCT, LIMIT, OFFSET, WHOLE = range(27, 33)
CALL, GROUP, HAVING, SELECT, COLUMN = range(33, 38)

EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, IN, BETWEEN = range(1, 9)
BEGINS_WITH, ENDS_WITH, CONTAINS, LIKE, FULL_TEXT, GEO_WITHIN = range(9, 15)
ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE = range(1, 6)
ANY, ALL, NONE = range(1, 4)
PLACE_AT, PLACE_EVERY = 1, 4
ASCENDING, DESCENDING = 1, 2
SUM, MINIMUM, MAXIMUM, AVERAGE = range(1, 5)
IGNORES_CASE, IGNORES_ACCENTS = 0x1, 0x2

_HEAD = struct.Struct("<BBBBIq")
SIZE = _HEAD.size + len(NULL)
OPERAND, COMPARISON = 2 * SIZE, 4 * SIZE  # a property, and its comparison with a constant


def head(kind: int, operands: int = 0, choice: int = 0, modifiers: int = 0, number: int = 0) -> bytes:
    """A node without its value."""
    return _HEAD.pack(kind, choice, modifiers, 0, operands, number)


def node(kind: int, operands: int = 0, choice: int = 0, modifiers: int = 0, number: int = 0) -> bytes:
    """A node that needs no value."""
    return head(kind, operands, choice, modifiers, number) + NULL


def operands(nodes: bytes, kind: int) -> int:
    """How many the last node has, if it is of that kind; else 0."""
    last = _HEAD.unpack_from(nodes, len(nodes) - SIZE)
    return int(last[4]) if last[0] == kind else 0


_NUMBER = struct.Struct("<q")
_STEPS = frozenset({PROPERTY, ELEMENT, KEY, INCOMING, NAME, KEYS, VALUES})


def renumbered(nodes: bytes, new: Callable[[int], int]) -> bytes:
    """The same, about other objects: of each variable the number that `new` makes of its own."""
    made = bytearray(nodes)
    for at in range(0, len(made), SIZE):
        if made[at] == VARIABLE:
            _NUMBER.pack_into(made, at + 8, new(_NUMBER.unpack_from(made, at + 8)[0]))
    return bytes(made)


def steps(nodes: bytes) -> bytes | None:
    """Those of a path, without the object that it begins at; None: they are no path."""
    is_path = nodes.startswith(OBJECT) and all(nodes[at] in _STEPS for at in range(SIZE, len(nodes), SIZE))
    return nodes[SIZE:] if is_path else None


def names(path: bytes) -> list[tuple[str, str]]:
    """Those of the properties of a path, each with "", or, where it is an inverse, with the class whose link that is;
    []: there is something else in it."""
    found: list[tuple[str, str]] = []
    origin = ""
    made = steps(path) or b""
    for at in range(0, len(made), SIZE):
        if made[at] == VALUES:  # of a dict, said before a name
            continue
        if made[at] not in (PROPERTY, INCOMING, NAME):
            return []
        address, length = _ADDRESS.unpack_from(made, at + _HEAD.size + 8)
        text_at = ctypes.string_at(address, length).decode()
        if made[at] == NAME:
            origin = text_at
        else:
            found.append((origin, text_at))
            origin = ""
    return found


_ADDRESS = struct.Struct("<qq")


def key_path(path: bytes) -> str | None:
    """The names of a path with a dot between, as observers take it; None: there is something else in it."""
    found = names(path)
    return ".".join(f"@links.{origin}.{name}" if origin else name for origin, name in found) or None


CONSTANT_HEAD = head(CONSTANT)
_WITH_AN_INT = struct.Struct(f"<{_HEAD.size}sqq24x{SIZE}s")


def with_an_int(value: int, after: bytes) -> bytes:
    """A constant, and the node behind it: two thirds of the time that it takes to join them."""
    return _WITH_AN_INT.pack(CONSTANT_HEAD, INT, value, after)


OBJECT = node(VARIABLE)
TRUE, FALSE = node(TRUTH, number=1), node(TRUTH)
_names: dict[str, Any] = {}  # as long as the process: a node is the same whenever its bytes are


def property_of(name: str) -> bytes:
    """A property of the value before it, by its name."""
    return _named(PROPERTY, 1, name)


def column(name: str) -> bytes:
    """The value before it, called so."""
    return _named(COLUMN, 1, name)


def incoming(class_name: str, name: str) -> bytes:
    """The objects of a class that link to the value before it by a property."""
    return _named(NAME, 0, class_name) + _named(INCOMING, 2, name)


def call(name: str, operands: int) -> bytes:
    """A function of the values before it."""
    return _named(CALL, operands, name)


def _named(kind: int, operands: int, name: str) -> bytes:
    memory = _names.get(name)
    if memory is None:
        memory = _names.setdefault(name, ctypes.create_string_buffer(encoded(name, "a name in a query")))
    return head(kind, operands) + text(ctypes.addressof(memory), len(memory) - 1)


def property_by_id(number: int) -> bytes:
    """The same by its id in a store."""
    return node(PROPERTY, 1, number=number)
