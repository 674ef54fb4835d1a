"""Objects and results as JSON text, and values of JSON texts."""

import codecs
import ctypes
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..arguments import switch
from ..errors import InvalidArgument
from ..native import ffi
from ..native.callbacks import MUST_FINISH, Calls
from ..native.failures import check
from ..values import documents
from ..values.c_values import give_back, take
from .json_options import EXTENDED, RELAXED, checked_depth
from .plain_values import as_json

if TYPE_CHECKING:
    from ..queries.results import Results


_to_json = ffi.bind("objstore_to_json")
_property_to_json = ffi.bind("objstore_property_to_json")
_results_to_json = ffi.bind("objstore_results_to_json")
_value_from_json = ffi.bind("objstore_value_from_json")
_buffer_free = ffi.bind("objstore_buffer_free")


def parse_json(text: str | bytes, *, relaxed: bool = True, extended: bool = False) -> Any:
    """The value of a JSON text, for a property of type Any: `dog.extra = objstore.parse_json("{seen: [1, 2.5]}")`.

    `relaxed`: keys without quotes, strings in single quotes, a comma behind the last element, comments, NaN, Infinity.
    `extended`: {"$date": …}, {"$oid": …} and the like of MongoDB's Extended JSON. An integer beyond 64 bits is a
    Decimal. InvalidJSON and InvalidText have the byte as `position`, and line, column and path in the message;
    InvalidArgument: a key that comes twice; OutOfRange: a number that nothing here can hold, nested more than 100
    deep."""
    if not isinstance(text, (str, bytes, bytearray, memoryview)):
        raise InvalidArgument(f"JSON is a str or bytes, not {text!r} ({type(text).__name__})")
    encoded = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    buffer = ffi.Buffer()
    value = ffi.Value()
    options = RELAXED * switch("relaxed", relaxed) | EXTENDED * switch("extended", extended)
    try:
        check(_value_from_json(ffi.text_of(encoded), options, ctypes.byref(buffer), ctypes.byref(value)))
        return documents.unpack(ctypes.string_at(buffer.bytes, buffer.length))
    finally:
        _buffer_free(ctypes.byref(buffer))


def of_object(obj: Any, depth: int, flags: int) -> str:
    store = obj._o_block.store
    if store is None:
        return as_json(obj, depth, flags)
    view = store._reader()  # kept during the call: another thread may move on meanwhile
    return _written(
        lambda *rest: placed(_to_json, view.handle, store._binding(type(obj)).head, obj._o_key, *rest), depth, flags
    )


def of_property(call: Callable[..., int], depth: int, flags: int) -> str:
    """The text of a value in an object: `call` says to objstore_property_to_json which one, and hands on what else it
    wants."""
    return _written(lambda *rest: call(_property_to_json, *rest), depth, flags)


def placed(function: Any, view: int, head: int, key: int, *rest: Any) -> int:
    """Calls a function of a view and an object; its status."""
    s = take()
    s.head.value, s.key.value = head, key
    status: int = function(view, s.object, *rest)
    give_back(s)
    return status


def _written(call: Callable[..., int], depth: int, flags: int) -> str:
    """What a function writes to a buffer, which it takes behind depth and flags."""
    buffer = ffi.Buffer()
    try:
        check(call(checked_depth(depth), flags, ctypes.byref(buffer), None))
        return ctypes.string_at(buffer.bytes, buffer.length).decode()
    finally:
        _buffer_free(ctypes.byref(buffer))


def _takes_text(file: Any) -> bool:
    """Is it open for text? Temporary files, and those of codecs, are no TextIOBase."""
    return isinstance(file, (io.TextIOBase, codecs.StreamWriter)) or getattr(file, "encoding", None) is not None


def of_results(results: "Results[Any]", depth: int, flags: int, file: Any) -> str | None:
    """The text, or None where it was written to a file."""
    pieces: list[str | bytes] = []
    write = pieces.append if file is None else getattr(file, "write", None)
    if write is None:
        raise InvalidArgument(f"a file to write to is wanted, not {file!r}")
    decoder = codecs.getincrementaldecoder("utf-8")() if file is None or _takes_text(file) else None

    def take_piece(bytes_: int, length: int, _: object) -> None:
        piece = ctypes.string_at(bytes_, length)
        write(piece if decoder is None else decoder.decode(piece))

    _view, evaluation = results._evaluate()  # kept during the call
    calls = Calls()
    taken = calls.callback(ffi.JSONWrite, take_piece)
    calls.run(_results_to_json, evaluation.handle, checked_depth(depth), flags, taken, None, MUST_FINISH)
    calls.check()
    return "".join(map(str, pieces)) if file is None else None
