"""Objects as dicts of plain values, and unmanaged ones as JSON text, in the form in which the library writes managed
ones.

    Dog(name="Rex", owner=Person(id=7))
        ─►   {"name": "Rex", "owner": {"id": 7, "dogs": …}}
        ─►   '{"name":"Rex","owner":…}'

A link is the object that it leads to, as far as the depth goes; what lies deeper, or is being written already, is a
reference.
"""

import ctypes
import json
from typing import TYPE_CHECKING, Any

from ..errors import Error, OutOfRange
from ..native import ffi
from ..native.failures import failure
from ..objects import set_order, state
from ..values import elements, kinds
from ..values.c_values import Values
from ..values.counters import Counter
from ..values.kinds import MIXED, Described
from .json_options import EXTENDED, NAN_AS_NULL, PRETTY, checked_depth, text_of_key

if TYPE_CHECKING:
    from ..models.properties import Property


_value_to_json = ffi.bind("objstore_value_to_json")
_buffer_free = ffi.bind("objstore_buffer_free")

DEEPEST = 200  # objects inside each other
_RESERVED = frozenset(
    ("oid", "uuid", "numberLong", "numberInt", "numberDouble", "numberDecimal", "date", "binary", "type", "ref", "id")
)  # keys that Extended JSON has a meaning for, behind a "$"


def as_dict(obj: Any, depth: int) -> dict[str, Any]:
    """An object as a dict; a managed one as it is in one version."""
    store = obj._o_block.store
    if store is not None and not store.is_frozen and not store._reader().is_write:
        obj = state.freeze(obj)
    return _Writing().object(obj, checked_depth(depth))


def as_json(obj: Any, depth: int, flags: int) -> str:
    """An unmanaged object as JSON text."""
    tree, pieces = _Texts(flags).object(obj, checked_depth(depth)), list[str]()
    _join(tree, "\n" if flags & PRETTY else "", pieces)
    return "".join(pieces)


class _Writing:
    """One call: what becomes of the values of an object. Few frames a level: Python has 1000 of them."""

    is_extended = False

    def __init__(self) -> None:
        self._open: list[Any] = []  # objects that have begun and not ended

    def leaf(self, part: Described, value: Any) -> Any:
        """A value that is no list, dict or object."""
        return value

    def key(self, part: Described, key: Any) -> Any:
        """A key of a dict."""
        return key

    def name(self, name: str) -> str:
        """What a property, or a part of a reference, is called."""
        return name

    def object(self, obj: Any, left: int) -> dict[str, Any]:
        model, made = type(obj), {}
        if len(self._open) == DEEPEST:
            raise OutOfRange(
                f"{model.__name__}: more than {DEEPEST} objects inside each other", class_name=model.__name__
            )
        self._open.append(state.name_of(obj))
        for prop in model._objstore_properties:
            value, shape = getattr(obj, prop.name), prop.shape
            if value is None and prop.generated:
                continue  # the number comes when it is added; a None would mean no number, which create() refuses
            if shape is not None:
                made[self.name(prop.name)] = self._content(prop, obj, value, left)
            elif prop.target is not None:
                made[self.name(prop.name)] = self._element(prop, kinds.convert(prop, value), left)
            elif prop.kind == MIXED:
                made[self.name(prop.name)] = self._mixed(prop, kinds.convert(prop, value), left)
            else:
                value = value.value if isinstance(value, Counter) else value
                made[self.name(prop.name)] = self.leaf(prop, kinds.convert(prop, value))
        self._open.pop()
        return made

    def _content(self, prop: "Property", obj: Any, value: Any, left: int) -> Any:
        """A list, set or dict: in the order in which a store has it."""
        shape = prop.shape
        assert shape is not None
        is_loose = obj._o_block.store is None
        is_set = shape.kind == kinds.SET
        # A builtin set would have lost the order of a live one.
        content = list(value) if is_set and not is_loose else elements.content(prop, value.copy())
        if isinstance(content, dict):
            assert shape.key is not None
            entries = sorted(content.items(), key=_order_of_key) if is_loose else content.items()
            return {self.key(shape.key, key): self._element(shape.element, e, left) for key, e in entries}
        if is_set and is_loose:
            content = set_order.ordered(content)
        return [self._element(shape.element, e, left) for e in content]

    def _element(self, part: Any, value: Any, left: int) -> Any:
        if part.kind == MIXED:
            return self._mixed(part, kinds.convert(part, value), left)
        if value is None or part.target is None:
            return self.leaf(part, value)
        return self._linked(part, value, left, False)

    def _mixed(self, part: Described, value: Any, left: int) -> Any:
        if isinstance(value, list):
            return [self._mixed(part, e, left) for e in value]
        if isinstance(value, dict):
            return {self.key(part, key): self._mixed(part, value[key], left) for key in sorted(value)}
        return self._linked(part, value, left, True) if kinds.is_object(value) else self.leaf(part, value)

    def _linked(self, part: Described, obj: Any, left: int, is_mixed: bool) -> Any:
        if kinds.is_embedded(type(obj)):
            return self.object(obj, left)
        # An object in a mixed value would come back as a dict.
        is_told = is_mixed and self.is_extended
        if left > 0 and not is_told and state.name_of(obj) not in self._open:
            return self.object(obj, left - 1)
        return self._reference(part, obj, is_told)

    def _reference(self, part: Described, obj: Any, is_told: bool) -> Any:
        model: Any = type(obj)
        parts = [(p, getattr(obj, p.name)) for p in model._objstore_key]
        if not parts or any(value is None and p.generated for p, value in parts):
            # An unmanaged object has no other key: nothing leads to it from outside of the text.
            number = None if obj._o_block.store is None else obj._o_key
            return self._tagged(model, self.leaf(_Number(part), number))
        key: Any = {self.name(p.name): self.leaf(p, p.convert(value)) for p, value in parts}
        if len(parts) > 1:
            return self._tagged(model, key)  # the parts alone would describe a new object
        (key,) = key.values()
        # A bare null would be no link.
        return self._tagged(model, key) if is_told or parts[0][1] is None else key

    def _tagged(self, model: Any, key: Any) -> dict[str, Any]:
        return {self.name("$ref"): self.leaf(_Number(None), model.__name__), self.name("$id"): key}


class _Texts(_Writing):
    """Values and keys as pieces of JSON text."""

    def __init__(self, flags: int) -> None:
        super().__init__()
        self._flags = flags & (EXTENDED | NAN_AS_NULL)
        self.is_extended = bool(flags & EXTENDED)

    def name(self, name: str) -> str:
        return json.dumps(name, ensure_ascii=False)

    def key(self, part: Described, key: Any) -> str:
        text = text_of_key(key)
        kinds.encode(part, text)  # InvalidText
        if self.is_extended and text.startswith("$") and text.lstrip("$") in _RESERVED:
            text = "$" + text
        return json.dumps(text, ensure_ascii=False)

    def leaf(self, part: Described, value: Any) -> str:
        given = value
        if type(value) not in kinds.BY_TYPE:
            value = kinds.raw(value, part)
        kind = type(value)
        if value is None:
            return "null"
        if kind is bool:
            return "true" if value else "false"
        if kind is int and part.kind in (kinds.INT, MIXED):
            return str(value)
        if kind is str:
            kinds.encode(part, value)
            return json.dumps(value, ensure_ascii=False)
        return self._of_library(part, given)

    def _of_library(self, part: Described, value: Any) -> str:
        room, buffer = Values(1), ffi.Buffer()
        room.put_one(part, value)
        try:
            if status := _value_to_json(room.first, self._flags, ctypes.byref(buffer), None):
                raise _named(failure(status), part)
            return ctypes.string_at(buffer.bytes, buffer.length).decode()
        finally:
            _buffer_free(ctypes.byref(buffer))


class _Number:
    """The number of an object, or the name of a class, where they are in a reference; a kinds.Described."""

    kind, nullable, path, type_name = kinds.INT, True, "a reference", "int"
    enum: Any = None

    def __init__(self, part: Described | None) -> None:
        self.name = "" if part is None else part.name
        self.model_name = "" if part is None else part.model_name


def _named(error: Error, part: Described) -> Error:
    """An error with the property in which it is."""
    error.message = f"{part.model_name}.{part.name}: {error.message.removeprefix('value: ')}"
    error.class_name, error.property_name = part.model_name, part.name
    return error


def _join(tree: Any, line: str, pieces: list[str]) -> None:
    """The text of a tree of dicts, lists and texts. `line`: what begins a new one; nothing: they all are in one."""
    if isinstance(tree, str):
        pieces.append(tree)
        return
    is_map, inner = isinstance(tree, dict), line and line + "  "
    pieces.append("{" if is_map else "[")
    separator = ""
    for element in tree:
        pieces.append(separator + inner)
        separator = ","
        if is_map:
            pieces.append(element + (": " if line else ":"))
            element = tree[element]
        _join(element, inner, pieces)
    if separator:
        pieces.append(line)
    pieces.append("}" if is_map else "]")


def _order_of_key(entry: tuple[Any, Any]) -> Any:
    return set_order.place(entry[0])
