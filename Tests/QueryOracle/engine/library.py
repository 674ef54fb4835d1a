"""The C interface by ctypes: each call once, its errors as exceptions."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]

NOT_SUPPORTED = 22
PROPERTY_PRIMARY_KEY = 0x1
PROPERTY_INDEXED = 0x2
PROPERTY_FULL_TEXT = 0x80
PROPERTY_NULLABLE = 0x4
CLASS_EMBEDDED = 0x1
DURABILITY_NONE = 2
LIMIT_CHECKPOINT_IDLE_MS = 6


class EngineError(Exception):
    """A call that failed: its status, the byte of the query it is about (-1: none), and the message."""

    def __init__(self, status: int, position: int, message: str) -> None:
        super().__init__(f"status {status} at {position}: {message}")
        self.status = status
        self.position = position
        self.message = message


class Text(ctypes.Structure):
    """`objstore_text` to pass in; it keeps its bytes."""

    _fields_ = [("bytes", c_char_p), ("length", c_int64)]


class TextOut(ctypes.Structure):
    """`objstore_text` that is handed out."""

    _fields_ = [("bytes", c_void_p), ("length", c_int64)]


class Object(ctypes.Structure):
    """`objstore_object`."""

    _fields_ = [("class_id", c_uint32), ("store_tag", c_uint32), ("key", c_int64)]


class Value(ctypes.Structure):
    """`objstore_value`; what lies in it is written by `packing`."""

    _fields_ = [("kind", c_int32), ("reserved", c_uint32), ("words", c_uint64 * 4)]


class Collection(ctypes.Structure):
    """`objstore_collection`."""

    _fields_ = [("owner", Object), ("property_id", c_uint32), ("reserved", c_uint32), ("collection_id", c_int64)]


class Buffer(ctypes.Structure):
    """`objstore_buffer`."""

    _fields_ = [("bytes", c_void_p), ("length", c_size_t), ("capacity", c_size_t), ("owner", c_uint64)]


class Decimal128(ctypes.Structure):
    """`objstore_decimal128`."""

    _fields_ = [("low", c_uint64), ("high", c_uint64)]


class ErrorInfo(ctypes.Structure):
    """`objstore_error`."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_int32),
        ("message", TextOut),
        ("class_name", TextOut),
        ("property_name", TextOut),
        ("position", c_int64),
        ("callback_code", c_int64),
        ("system_error", c_int32),
        ("reserved", c_uint32),
    ]


# A handle as ctypes gives it out.
Handle = c_void_p
PARAMETERS: dict[str, tuple[type[ctypes._SimpleCData[Any] | ctypes.Structure], ...]] = {
    "last_error": (c_void_p,),
    "buffer_free": (c_void_p,),
    "decimal128_from_text": (Text, c_void_p),
    "schema_new": (c_void_p,),
    "schema_add_class": (c_void_p, Text),
    "schema_set_class_flags": (c_void_p, Text, c_uint32),
    "schema_add_property": (c_void_p, Text, Text, c_int32, c_uint32),
    "schema_add_collection": (c_void_p, Text, Text, c_int32, c_int32, c_int32, c_uint32),
    "schema_add_link": (c_void_p, Text, Text, Text, c_uint32),
    "schema_add_inverse": (c_void_p, Text, Text, Text, Text),
    "schema_add_link_collection": (c_void_p, Text, Text, c_int32, c_int32, Text, c_uint32),
    "schema_add_index": (c_void_p, Text, c_void_p, c_size_t, c_uint32),
    "schema_close": (c_void_p,),
    "config_new": (c_void_p,),
    "config_set_path": (c_void_p, Text),
    "config_set_memory": (c_void_p, Text),
    "config_set_durability": (c_void_p, c_int32, c_int64),
    "config_set_limit": (c_void_p, c_int32, c_int64),
    "config_set_schema": (c_void_p, c_void_p, c_uint64),
    "config_close": (c_void_p,),
    "open": (c_void_p, c_void_p),
    "close": (c_void_p,),
    "view_open": (c_void_p, c_void_p),
    "view_freeze": (c_void_p, c_void_p),
    "view_close": (c_void_p,),
    "begin": (c_void_p, c_void_p),
    "commit": (c_void_p, c_void_p),
    "cancel": (c_void_p,),
    "savepoint_begin": (c_void_p, c_void_p),
    "savepoint_rollback": (c_void_p, c_uint64),
    "find_class": (c_void_p, Text, c_void_p),
    "find_property": (c_void_p, c_uint32, Text, c_void_p),
    "create": (c_void_p, c_uint32, c_void_p, c_void_p, c_size_t, c_void_p),
    "create_embedded": (c_void_p, Object, c_uint32, Value, c_void_p, c_void_p, c_size_t, c_void_p),
    "set": (c_void_p, Object, c_uint32, Value),
    "set_from": (c_void_p, Object, c_uint32, c_int32, c_void_p, c_size_t, c_void_p),
    "collection_assign": (c_void_p, Collection, c_void_p, c_void_p, c_size_t),
    "delete": (c_void_p, Object),
    "compact": (c_void_p, c_void_p, c_void_p, c_void_p),
    "query_parse": (c_void_p, c_uint32, Text, c_void_p, c_size_t, c_void_p),
    "query_then": (c_void_p, c_void_p, c_void_p),
    "query_collection": (c_void_p, Collection, c_void_p),
    "query_text": (c_void_p, c_void_p, c_void_p),
    "query_count": (c_void_p, c_void_p, c_void_p),
    "query_first": (c_void_p, c_void_p, c_void_p, c_void_p),
    "query_aggregate": (c_void_p, c_void_p, c_uint32, c_int32, c_void_p),
    "query_delete": (c_void_p, c_void_p, c_void_p),
    "query_set": (c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "query_find": (c_void_p, c_void_p, c_void_p),
    "query_close": (c_void_p,),
    "results_count": (c_void_p, c_void_p),
    "results_objects": (c_void_p, c_uint64, c_void_p, c_size_t, c_void_p),
    "results_close": (c_void_p,),
}


def text(given: str) -> Text:
    """A text to pass in."""
    data = given.encode()
    return Text(data, len(data))


def read(given: TextOut) -> str:
    """A text that was handed out."""
    return ctypes.string_at(given.bytes, given.length).decode("utf-8", "replace") if given.bytes else ""


class Library:
    """The loaded library."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = str(path or os.environ.get("OBJSTORE_LIBRARY") or ROOT / "build/lib/libobjstore.so")
        loaded = ctypes.CDLL(self.path)
        self.functions: dict[str, Callable[..., int]] = {}
        for name, parameters in PARAMETERS.items():
            function = loaded["objstore_" + name]
            function.argtypes = parameters
            function.restype = c_int32
            self.functions[name] = function

    def call(self, name: str, *arguments: object) -> None:
        """Call a function that must succeed."""
        status = self.functions[name](*arguments)
        if status:
            raise self.failure(status)

    def failure(self, status: int) -> EngineError:
        """What is known of the call that has just failed."""
        info = ErrorInfo(struct_size=ctypes.sizeof(ErrorInfo))
        self.functions["last_error"](byref(info))
        return EngineError(status, int(info.position), read(info.message))

    def made(self, name: str, *arguments: object) -> Handle:
        """Call a function whose last parameter takes a new handle."""
        handle = Handle()
        self.call(name, *arguments, byref(handle))
        return handle

    def number(self, name: str, *arguments: object) -> int:
        """Call a function whose last parameter takes an id of 32 bits."""
        result = c_uint32()
        self.call(name, *arguments, byref(result))
        return result.value


def ids(numbers: Sequence[int]) -> ctypes.Array[c_uint32]:
    """Ids as an array."""
    return (c_uint32 * len(numbers))(*numbers)
