"""The C interface as ctypes sees it: include/objstore.h, nothing more. tests/test_header.py compares the two.

How arguments cross. ctypes converts a Python int for c_void_p in a third of the time it takes for c_uint32 or
c_int64, and in the calling conventions of 64-bit Linux an integer and a pointer are the same register. So every
integer and pointer parameter is declared as a *word* (c_void_p); only structures passed by value have their own
type. None is NULL, an array or byref(x) its address, a negative number its two's complement.

Who keeps the interpreter lock. Calls that may wait (open, begin, commit, close, copy, scans …) release it. Calls
that finish in well under a microsecond and wait for nobody keep it: giving it up costs as much as the call, and
getting it back while another thread computes takes up to sys.getswitchinterval(), 5 ms.
"""

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    Union,
    c_bool,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

from ._library import load


class Text(Structure):
    _fields_ = [("bytes", c_void_p), ("length", c_int64)]


class Bytes(Structure):
    _fields_ = [("bytes", c_void_p), ("length", c_int64)]


class Error(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_int32),
        ("message", Text),
        ("class_name", Text),
        ("property_name", Text),
        ("position", c_int64),
        ("callback_code", c_int64),
        ("system_error", c_int32),
        ("reserved", c_uint32),
    ]


class Object(Structure):
    _fields_ = [("class_id", c_uint32), ("store_tag", c_uint32), ("key", c_int64)]


class Timestamp(Structure):
    _fields_ = [("seconds", c_int64), ("nanoseconds", c_int32), ("reserved", c_uint32)]


class Decimal128(Structure):
    _fields_ = [("low", c_uint64), ("high", c_uint64)]


class ObjectId(Structure):
    _fields_ = [("bytes", c_uint8 * 12)]


class Uuid(Structure):
    _fields_ = [("bytes", c_uint8 * 16)]


class Collection(Structure):
    _fields_ = [("owner", Object), ("property_id", c_uint32), ("reserved", c_uint32), ("collection_id", c_int64)]


class ValueData(Union):
    _fields_ = [
        ("boolean", c_bool),
        ("integer", c_int64),
        ("single", c_float),
        ("real", c_double),
        ("decimal128", Decimal128),
        ("text", Text),
        ("binary", Bytes),
        ("timestamp", Timestamp),
        ("object_id", ObjectId),
        ("uuid", Uuid),
        ("link", Object),
        ("collection", Collection),
        ("document", Bytes),
        ("words", c_uint64 * 4),
    ]


class Value(Structure):
    _fields_ = [("kind", c_int32), ("reserved", c_uint32), ("data", ValueData)]


class Buffer(Structure):
    _fields_ = [("bytes", c_void_p), ("length", c_size_t), ("capacity", c_size_t), ("owner", c_uint64)]


class Info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("store_tag", c_uint32),
        ("uuid", Uuid),
        ("path", Text),
        ("schema_version", c_uint64),
        ("format", c_uint32),
        ("page_bytes", c_uint32),
        ("mode", c_int32),
        ("flags", c_uint32),
    ]


class Statistics(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("published_version", c_uint64),
        ("durable_version", c_uint64),
        ("checkpoint_version", c_uint64),
        ("file_bytes", c_uint64),
        ("live_bytes", c_uint64),
        ("free_bytes", c_uint64),
        ("pinned_bytes", c_uint64),
        ("log_file_bytes", c_uint64),
        ("log_used_bytes", c_uint64),
        ("oldest_pin", c_uint64),
        ("reader_slots", c_uint64),
        ("processes", c_uint64),
        ("commits", c_uint64),
        ("checkpoints", c_uint64),
        ("syncs", c_uint64),
        ("log_bytes_written", c_uint64),
        ("file_bytes_written", c_uint64),
        ("views", c_uint64),
        ("observers", c_uint64),
        ("change_sets", c_uint64),
        ("mapped_bytes", c_uint64),
        ("arena_bytes", c_uint64),
    ]


class Pin(Structure):
    _fields_ = [
        ("version", c_uint64),
        ("since_ms", c_int64),
        ("instance", c_uint64),
        ("process_id", c_int64),
        ("holder", c_int32),
        ("count", c_uint32),
        ("reserved", c_uint64),
    ]


class ClassInfo(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("class_id", c_uint32),
        ("name", Text),
        ("property_count", c_size_t),
        ("primary_key", c_uint32),
        ("flags", c_uint32),
        ("key_index", c_uint32),
        ("reserved", c_uint32),
    ]


class PropertyInfo(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("property_id", c_uint32),
        ("class_id", c_uint32),
        ("target_class_id", c_uint32),
        ("name", Text),
        ("kind", c_int32),
        ("collection", c_int32),
        ("flags", c_uint32),
        ("index", c_uint32),
        ("default_value", Value),
        ("key_kind", c_int32),
        ("reserved", c_uint32),
    ]


class IndexInfo(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("index_id", c_uint32),
        ("class_id", c_uint32),
        ("flags", c_uint32),
        ("property_count", c_uint32),
        ("properties", c_uint32 * 8),
    ]


class Row(Structure):
    _fields_ = [("opaque", c_uint64 * 32)]


class Column(Structure):
    _fields_ = [
        ("property_id", c_uint32),
        ("kind", c_int32),
        ("values", c_void_p),
        ("offsets", c_void_p),
        ("validity", c_void_p),
        ("values_bytes", c_uint64),
        ("reserved", c_uint64 * 3),
    ]


class InsertCounts(Structure):
    _fields_ = [("created", c_uint64), ("changed", c_uint64), ("unchanged", c_uint64), ("reserved", c_uint64)]


class Packed(Structure):
    _fields_ = [
        ("magic", c_uint32),
        ("layout", c_uint32),
        ("row_count", c_uint64),
        ("column_count", c_uint32),
        ("class_id", c_uint32),
        ("store_tag", c_uint32),
        ("reserved", c_uint32),
        ("version", c_uint64),
        ("keys_offset", c_uint64),
        ("total_bytes", c_uint64),
        ("deleted_count", c_uint64),
    ]


class PackedColumn(Structure):
    _fields_ = [
        ("property_id", c_uint32),
        ("kind", c_int32),
        ("validity_offset", c_uint64),
        ("offsets_offset", c_uint64),
        ("values_offset", c_uint64),
        ("values_bytes", c_uint64),
        ("null_count", c_uint64),
    ]


class ChangesInfo(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("class_id", c_uint32),
        ("mask_words", c_uint32),
        ("from_version", c_uint64),
        ("to_version", c_uint64),
        ("deletion_count", c_uint64),
        ("insertion_count", c_uint64),
        ("modification_count", c_uint64),
    ]


class ReportLine(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("text", Text),
        ("class_name", Text),
        ("property_name", Text),
        ("objects", c_uint64),
        ("lost", c_int64),
    ]


FreeUserdata = CFUNCTYPE(None, c_void_p)
Progress = CFUNCTYPE(c_int32, c_uint64, c_uint64, c_void_p)
Report = CFUNCTYPE(c_int32, POINTER(ReportLine), c_void_p)
JSONRead = CFUNCTYPE(c_int32, c_void_p, c_size_t, POINTER(c_size_t), c_void_p)
JSONConvert = CFUNCTYPE(c_int32, c_void_p, c_int32, Value, POINTER(Value), POINTER(c_bool), c_void_p)
JSONWrite = CFUNCTYPE(c_int32, c_void_p, c_size_t, c_void_p)
LogHandler = CFUNCTYPE(None, c_int32, c_char_p, c_void_p)
WriteBody = CFUNCTYPE(c_int32, c_void_p, c_void_p)
InitialData = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)
Migration = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_uint64, c_uint64, c_void_p)
Compaction = CFUNCTYPE(c_int32, c_uint64, c_uint64, POINTER(c_bool), c_void_p)
ChangeHandler = CFUNCTYPE(c_int32, c_void_p, c_void_p)
Function = CFUNCTYPE(None)

# One letter per parameter: w = word, T = Text, V = Value, O = Object, C = Collection, D = Decimal128 (by value). The result
# is a status, an int32, unless it is in RESULTS.
PROTOTYPES = {
    "objstore_version": "",
    "objstore_version_number": "",
    "objstore_last_error": "w",
    "objstore_last_message": "",
    "objstore_status_name": "w",
    "objstore_fail": "wT",
    "objstore_buffer_free": "w",
    "objstore_decimal128_from_text": "Tw",
    "objstore_decimal128_to_text": "Dw",
    "objstore_object_id_new": "w",
    "objstore_schema_new": "w",
    "objstore_schema_add_class": "wT",
    "objstore_schema_add_property": "wTTww",
    "objstore_schema_add_collection": "wTTwwww",
    "objstore_schema_add_link": "wTTTw",
    "objstore_schema_set_class_flags": "wTw",
    "objstore_schema_add_link_collection": "wTTwwTw",
    "objstore_schema_add_index": "wTwww",
    "objstore_schema_drop_class": "wT",
    "objstore_schema_set_default": "wTTV",
    "objstore_schema_add_former_name": "wTTT",
    "objstore_schema_close": "w",
    "objstore_config_new": "w",
    "objstore_config_set_path": "wT",
    "objstore_config_set_memory": "wT",
    "objstore_config_set_mode": "ww",
    "objstore_config_set_creation": "ww",
    "objstore_config_set_durability": "www",
    "objstore_config_set_schema": "www",
    "objstore_config_set_seed": "wT",
    "objstore_config_set_initial_data": "wwww",
    "objstore_config_set_migration": "wwww",
    "objstore_migrate_property": "wwwww",
    "objstore_config_set_compaction": "wwww",
    "objstore_config_set_limit": "www",
    "objstore_config_set_flags": "ww",
    "objstore_config_set_log": "wwwww",
    "objstore_config_close": "w",
    "objstore_open": "ww",
    "objstore_close": "w",
    "objstore_get_info": "ww",
    "objstore_get_statistics": "ww",
    "objstore_pins": "wwww",
    "objstore_flush": "w",
    "objstore_checkpoint": "w",
    "objstore_compact": "wwww",
    "objstore_copy": "wTwww",
    "objstore_verify": "wwwwww",
    "objstore_verify_file": "Twwwww",
    "objstore_salvage": "TTwwwww",
    "objstore_file_exists": "Tw",
    "objstore_delete_files": "T",
    "objstore_view_open": "ww",
    "objstore_view_refresh": "ww",
    "objstore_view_freeze": "ww",
    "objstore_view_version": "ww",
    "objstore_view_get_kind": "ww",
    "objstore_view_close": "w",
    "objstore_begin": "ww",
    "objstore_try_begin": "ww",
    "objstore_begin_within": "www",
    "objstore_commit": "ww",
    "objstore_cancel": "w",
    "objstore_savepoint_begin": "ww",
    "objstore_savepoint_release": "ww",
    "objstore_savepoint_rollback": "ww",
    "objstore_write": "wwww",
    "objstore_find_class": "wTw",
    "objstore_find_property": "wwTw",
    "objstore_class_count": "ww",
    "objstore_class_at": "www",
    "objstore_class_get_info": "www",
    "objstore_property_at": "wwww",
    "objstore_property_get_info": "www",
    "objstore_index_count": "www",
    "objstore_index_at": "wwww",
    "objstore_index_get_info": "www",
    "objstore_find_index": "wwwww",
    "objstore_create": "wwwwww",
    "objstore_upsert": "wwwwwwww",
    "objstore_create_embedded": "wOwVwwww",
    "objstore_create_from": "wwwwwwww",
    "objstore_set_from": "wOwwwww",
    "objstore_describe": "wOwwwww",
    "objstore_copy_object": "wOwwww",
    "objstore_parent": "wOww",
    "objstore_get": "wOwww",
    "objstore_get_row": "wOwwww",
    "objstore_set": "wOwV",
    "objstore_set_row": "wOwww",
    "objstore_increment": "wOwww",
    "objstore_find": "wwVww",
    "objstore_find_by": "wwwwww",
    "objstore_exists": "wOw",
    "objstore_delete": "wO",
    "objstore_delete_all": "www",
    "objstore_delete_everything": "ww",
    "objstore_count": "www",
    "objstore_collection_count": "wCw",
    "objstore_collection_get": "wCwwww",
    "objstore_collection_read": "wCwwwwww",
    "objstore_collection_find": "wCVw",
    "objstore_collection_remove": "wCww",
    "objstore_collection_clear": "wC",
    "objstore_collection_assign": "wCwww",
    "objstore_collection_assign_results": "wCw",
    "objstore_collection_set_objects": "wCwwww",
    "objstore_collection_delete_objects": "wCw",
    "objstore_list_insert": "wCwww",
    "objstore_list_set": "wCwV",
    "objstore_list_move": "wCww",
    "objstore_set_insert": "wCVw",
    "objstore_set_combine": "wCwwww",
    "objstore_set_compare": "wCwww",
    "objstore_set_remove": "wCVw",
    "objstore_map_get": "wCVwww",
    "objstore_map_set": "wCVVw",
    "objstore_map_remove": "wCVw",
    "objstore_mixed_get": "wOwwwwww",
    "objstore_mixed_read": "wOwwwwww",
    "objstore_mixed_keys": "wOwwwwwwww",
    "objstore_mixed_set": "wOwwwV",
    "objstore_mixed_insert": "wOwwwV",
    "objstore_mixed_remove": "wOwww",
    "objstore_document_pack": "wwww",
    "objstore_document_unpack": "Vwww",
    "objstore_value_compare": "VVw",
    "objstore_row_init": "www",
    "objstore_row_next": "ww",
    "objstore_row_seek": "wO",
    "objstore_row_object": "ww",
    "objstore_row_bool": "wwww",
    "objstore_row_int": "wwww",
    "objstore_row_double": "wwww",
    "objstore_row_float": "wwww",
    "objstore_row_decimal128": "wwww",
    "objstore_row_object_id": "wwww",
    "objstore_row_uuid": "wwww",
    "objstore_row_timestamp": "wwww",
    "objstore_row_text": "wwwww",
    "objstore_row_binary": "wwwww",
    "objstore_row_link": "wwww",
    "objstore_row_value": "wwww",
    "objstore_count_where": "wwwwVw",
    "objstore_first_where": "wwwwVww",
    "objstore_find_where": "wwwwVw",
    "objstore_find_all": "www",
    "objstore_incoming": "wOww",
    "objstore_incoming_count": "wOww",
    "objstore_count_in": "wwwwwwww",
    "objstore_find_in": "wwwwwwww",
    "objstore_results_count": "ww",
    "objstore_results_at": "www",
    "objstore_results_objects": "wwwww",
    "objstore_results_update": "ww",
    "objstore_results_set": "wwwwww",
    "objstore_results_increment": "wwwVw",
    "objstore_results_delete": "www",
    "objstore_results_close": "w",
    "objstore_aggregate": "wwwww",
    "objstore_insert_rows": "wwwwwwww",
    "objstore_read_column": "wwwwwwwww",
    "objstore_read_text_column": "wwwwwwwwww",
    "objstore_results_read": "wwwwww",
    "objstore_observe": "wwwwwww",
    "objstore_results_observe": "wwwwww",
    "objstore_token_close": "w",
    "objstore_notify_fd": "ww",
    "objstore_deliver": "ww",
    "objstore_wait": "www",
    "objstore_changes_get_info": "ww",
    "objstore_changes_list": "wwwww",
    "objstore_changes_has": "wwww",
    "objstore_changes_masks": "www",
    "objstore_changes_view": "www",
    "objstore_changes_keep": "ww",
    "objstore_changes_close": "w",
    "objstore_observe_typed": "wwwwTwwww",
    "objstore_bind_write_body": "wwwww",
    "objstore_bind_change_handler": "wwwww",
    "objstore_bound_close": "w",
    "objstore_create_from_json": "wwwwTwwwww",
    "objstore_create_all_from_json": "wwwwTwwww",
    "objstore_create_all_from_json_stream": "wwwwwwwww",
    "objstore_create_all_from_json_file": "wwwwTwwww",
    "objstore_to_json": "wOwwww",
    "objstore_results_to_json": "wwwwww",
    "objstore_value_to_json": "Vwww",
    "objstore_value_from_json": "Twww",
}
RESULTS: dict[str, Any] = {
    "objstore_version": c_char_p,
    "objstore_version_number": c_uint32,
    "objstore_last_message": c_char_p,
    "objstore_status_name": c_char_p,
}
ARGUMENTS = {"w": c_void_p, "T": Text, "V": Value, "O": Object, "C": Collection, "D": Decimal128}

# Those that keep the interpreter lock: see above.
SHORT = frozenset(
    "objstore_" + name
    for name in (
        "version last_error last_message status_name view_refresh view_freeze view_version find get exists set count "
        "results_count collection_count collection_get collection_read list_set set_insert set_remove map_get map_set map_remove "
        "mixed_get mixed_read mixed_keys mixed_set mixed_insert mixed_remove value_compare"
    ).split()
)

_releasing, _keeping = load()


def bind(name: str) -> Any:
    """The C function of that name, ready to be called."""
    function = getattr(_keeping if name in SHORT else _releasing, name)
    function.argtypes = [ARGUMENTS[letter] for letter in PROTOTYPES[name]]
    function.restype = RESULTS.get(name, c_int32)
    return function


def text(string: str) -> Text:
    """A string for a call. The result keeps the bytes alive."""
    return text_of(string.encode())


def text_of(encoded: bytes) -> Text:
    made = Text(ctypes.cast(ctypes.c_char_p(encoded), c_void_p), len(encoded))
    made.owner = encoded  # not a field: keeps the bytes as long as the Text
    return made


def string(given: Any) -> str:
    """The string that a Text of the library holds; copied."""
    return ctypes.string_at(given.bytes, given.length).decode() if given.length else ""
