"""Creating objects from JSON texts."""

import ctypes
import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..arguments import switch
from ..errors import Error, InvalidArgument
from ..messages import shown
from ..native import ffi
from ..native.callbacks import MUST_FINISH, Calls, hand_on
from ..values.c_values import Values
from ..values.kinds import BOOL, DOUBLE, INT, STRING, convert as converted_value
from .json_options import EXTENDED, RELAXED

if TYPE_CHECKING:
    from ..models.properties import Property
    from ..schema.bindings import Binding
    from ..writing.transaction import Transaction


_create = ffi.bind("objstore_create_from_json")
_create_all = ffi.bind("objstore_create_all_from_json")
_create_all_stream = ffi.bind("objstore_create_all_from_json_stream")

Source = "str | bytes | bytearray | memoryview | IO[Any] | os.PathLike[str] | dict[str, Any] | list[Any]"
Convert = Callable[["Property", Any], Any]


class _Callbacks(Calls):
    """One call, with the Python functions that it calls."""

    def __init__(self, transaction: "Transaction", convert: Convert | None, file: Any = None) -> None:
        super().__init__()
        self._transaction = transaction
        self._function = convert
        self._file = file
        self._properties: dict[int, Property] | None = None
        self._rooms: list[Values] = []  # what was converted stays until the call returns
        self._rest = b""
        self.convert = None if convert is None else self.callback(ffi.JSONConvert, self._convert)
        self.read = self.callback(ffi.JSONRead, self._read)

    def check(self) -> None:
        problem = self.problem
        raised = self.first() if self.raised else None
        if isinstance(raised, Error) and problem is not None and problem.position is not None:
            # What the function gave does not fit: it says what, the library says where.
            place, found, _ = problem.message.partition(": ")
            if found and raised.position is None:
                raised.message, raised.position = f"{place}: {raised.message}", problem.position
        super().check()

    def _read(self, room: int, capacity: int, count: Any, _: object) -> None:
        # A piece of a text file may have more bytes than the characters that were wanted.
        piece = self._rest or _read(self._file, capacity)
        piece, self._rest = piece[:capacity], piece[capacity:]
        ctypes.memmove(room, piece, len(piece))
        count[0] = len(piece)

    def _convert(self, property_id: int, kind: int, value: Any, out: Any, is_converted: Any, _: object) -> None:
        prop = self._property(property_id)
        assert self._function is not None
        made = self._function(prop, _given(value))
        if made is None:
            return
        element = prop if prop.shape is None else prop.shape.element
        room = Values(1)
        room.put_one(element, converted_value(element, made))
        self._rooms.append(room)
        ctypes.memmove(out, room.address, ctypes.sizeof(ffi.Value))
        is_converted[0] = True

    def _property(self, property_id: int) -> "Property":
        if self._properties is None:
            bindings = self._transaction.store._bindings.values()
            self._properties = {i: p for b in bindings for i, p in zip(b.ids, b.properties)}
        return self._properties[property_id]


def _given(value: Any) -> Any:
    if value.kind == STRING:
        return ctypes.string_at(value.data.text.bytes, value.data.text.length).decode()
    return {BOOL: value.data.boolean, INT: value.data.integer, DOUBLE: value.data.real}.get(value.kind)


def flags(data: Any, relaxed: bool | None, extended: bool) -> int:
    """Texts of a program are relaxed where it does not say otherwise, those from elsewhere strict."""
    wanted = isinstance(data, str) if relaxed is None else switch("relaxed", relaxed)
    return RELAXED * wanted | EXTENDED * switch("extended", extended)


def _is_file(data: Any) -> bool:
    return not isinstance(data, type) and callable(getattr(data, "read", None))


def _read(file: Any, *size: int) -> bytes:
    """A piece of a file of bytes or of texts, or all of it."""
    piece = file.read(*size)
    if isinstance(piece, str):
        return piece.encode("utf-8", "surrogatepass")
    if isinstance(piece, (bytes, bytearray, memoryview)):
        return bytes(piece)
    raise InvalidArgument(f"read() of a JSON file returns a str or bytes, not {shown(piece)} ({type(piece).__name__})")


def _text(data: Any, flags: int) -> bytes:
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    if isinstance(data, (dict, list)):
        try:
            return json.dumps(data, ensure_ascii=False, allow_nan=bool(flags & RELAXED)).encode(
                "utf-8", "surrogatepass"
            )
        except (TypeError, ValueError, RecursionError) as error:
            hand_on(error)
            hint = "; relaxed=True takes NaN and the infinities" if "float" in str(error) else ""
            raise InvalidArgument(f"the {type(data).__name__} is no JSON: {error}{hint}") from None
    if _is_file(data):
        return _read(data)
    if isinstance(data, os.PathLike):
        with open(data, "rb") as file:
            return file.read()
    raise InvalidArgument(
        f"JSON is a str, bytes, a file, a path, a dict or a list, not {shown(data)} ({type(data).__name__})"
    )


def create(
    transaction: "Transaction", binding: "Binding", data: Any, policy: int, flags: int, convert: Convert | None
) -> int:
    """Creates or updates one object; its key."""
    callbacks, made = _Callbacks(transaction, convert), ffi.Object()
    text = ffi.text_of(_text(data, flags))
    transaction.settle()
    head = (transaction.handle, binding.class_id, policy, flags, text)
    try:
        callbacks.run(_create, *head, callbacks.convert, None, MUST_FINISH, ctypes.byref(made), None)
        callbacks.check()
    finally:
        transaction._wrote_many()
    key: int = made.key
    return key


def create_all(
    transaction: "Transaction", binding: "Binding", data: Any, policy: int, flags: int, convert: Convert | None
) -> int:
    """Creates or updates the objects of an array, all or none; how many there are."""
    if isinstance(data, os.PathLike):
        with open(data, "rb") as file:
            return create_all(transaction, binding, file, policy, flags, convert)
    callbacks = _Callbacks(transaction, convert, data)
    count = ctypes.c_uint64()
    head = (transaction.handle, binding.class_id, policy, flags)
    tail = (callbacks.convert, None, MUST_FINISH, ctypes.byref(count))
    transaction.settle()
    try:
        if _is_file(data):
            callbacks.run(_create_all_stream, *head, callbacks.read, *tail)
        else:
            callbacks.run(_create_all, *head, ffi.text_of(_text(data, flags)), *tail)
        callbacks.check()
    finally:
        transaction._wrote_many()
    return count.value
