"""The structures and callbacks of include/objstore.h, nothing more. tests/test_header.py compares the two."""

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    Union,
    c_bool,
    c_char,
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


class Bookmark(Structure):
    _fields_ = [("bytes", c_uint8 * 40)]


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


class TableColumn(Structure):
    _fields_ = [
        ("name", Text),
        ("kind", c_int32),
        ("class_id", c_uint32),
        ("values", c_void_p),
        ("offsets", c_void_p),
        ("validity", c_void_p),
        ("values_bytes", c_uint64),
        ("null_count", c_uint64),
        ("reserved", c_uint64),
    ]


class ArrowArrayStream(Structure):
    _fields_ = [
        ("get_schema", c_void_p),
        ("get_next", c_void_p),
        ("get_last_error", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


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
        ("versions", c_uint64),
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


class KeptVersion(Structure):
    _fields_ = [("version", c_uint64), ("since_ms", c_int64), ("bookmark", Bookmark), ("name", c_char * 72)]


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


class PropertyRow(Structure):
    _fields_ = [
        ("name", c_void_p),
        ("kind", c_int32),
        ("flags", c_uint32),
        ("collection", c_int32),
        ("key_kind", c_int32),
        ("target", c_void_p),
        ("former_name", c_void_p),
        ("stored_name", c_void_p),
        ("default_value", Value),
        ("reserved", c_uint64 * 5),
    ]


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


class Node(Structure):
    _fields_ = [
        ("class_id", c_uint32),
        ("index_id", c_uint32),
        ("property_id", c_uint32),
        ("flags", c_uint32),
        ("owner", Object),
    ]


class InsertCounts(Structure):
    _fields_ = [("created", c_uint64), ("changed", c_uint64), ("unchanged", c_uint64), ("reserved", c_uint64)]


class QueryNode(Structure):
    _fields_ = [
        ("kind", c_uint8),
        ("choice", c_uint8),
        ("modifiers", c_uint8),
        ("reserved", c_uint8),
        ("operands", c_uint32),
        ("number", c_int64),
        ("value", Value),
    ]


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
        ("move_count", c_uint64),
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


class Section(Structure):
    _fields_ = [("key", Value), ("start", c_uint64), ("count", c_uint64)]


FreeUserdata = CFUNCTYPE(None, c_void_p)
Progress = CFUNCTYPE(c_int32, c_uint64, c_uint64, c_void_p)
Report = CFUNCTYPE(c_int32, POINTER(ReportLine), c_void_p)
JSONRead = CFUNCTYPE(c_int32, c_void_p, c_size_t, POINTER(c_size_t), c_void_p)
JSONConvert = CFUNCTYPE(c_int32, c_void_p, c_int32, Value, POINTER(Value), POINTER(c_bool), c_void_p)
SectionKey = CFUNCTYPE(c_int32, c_void_p, Object, c_void_p, c_void_p)
JSONWrite = CFUNCTYPE(c_int32, c_void_p, c_size_t, c_void_p)
LogHandler = CFUNCTYPE(None, c_int32, c_char_p, c_void_p)
WriteBody = CFUNCTYPE(c_int32, c_void_p, c_void_p)
Completion = CFUNCTYPE(c_int32, c_int32, c_uint64, c_void_p)
Ready = CFUNCTYPE(None, c_void_p, c_uint64)
InitialData = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)
Migration = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_uint64, c_uint64, c_void_p)
Compaction = CFUNCTYPE(c_int32, c_uint64, c_uint64, POINTER(c_bool), c_void_p)
WaitHandler = CFUNCTYPE(c_int32, c_void_p)
ChangeHandler = CFUNCTYPE(c_int32, c_void_p, c_void_p)
Comparator = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)
PlainComparator = CFUNCTYPE(c_int32, c_void_p, c_void_p)
Function = CFUNCTYPE(None)
