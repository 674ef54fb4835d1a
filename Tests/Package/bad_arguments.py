#!/usr/bin/env python3
"""Writes a C program that calls every function of the header with every bad argument that its OBJSTORE_CHECKS name.

bad_arguments.py HEADER OUTPUT.c

The program asserts for each call: the status, that the message names the argument, that out-parameters of handles are
NULL, and that the content of the store is what it was. Its last line says how many calls it made and how many failed.
bad_arguments.md explains the words of OBJSTORE_CHECKS; one that is not known here ends the program.
"""

import sys

from contract import HANDLES, declarations

KINDS = {
    "objstore": "store",
    "objstore_schema": "schema",
    "objstore_config": "config",
    "objstore_view": "view",
    "objstore_query": "query",
    "objstore_results": "results",
    "objstore_table": "table",
    "objstore_sections": "sections",
    "objstore_values": "values",
    "objstore_changes": "changes",
    "objstore_token": "token",
    "objstore_bound": "bound",
}
# An open handle of each kind.
OPEN = {
    "store": "S",
    "schema": "SC",
    "config": "CF",
    "view": "LV",
    "query": "QUERY",
    "results": "RS",
    "table": "TABLE",
    "sections": "SECTIONS",
    "values": "FOUND",
    "changes": "KEPT",
    "token": "TOKEN",
    "bound": "BOUND",
}

# What a valid call passes, by parameter, unless the function says otherwise below.
DEFAULTS = {
    "on": "true",
    "store": "S",
    "schema": "SC",
    "config": "CF",
    "view": "LV",
    "transaction": "TX",
    "query": "QUERY",
    "then": "QUERY",
    "results": "RS",
    "table": "TABLE",
    "stream": "&STREAM",
    "column": "&TABLE_COLUMN",
    "row_index": "0",
    "column_index": "0",
    "sections": "SECTIONS",
    "result": "0",
    "row": "&ROW",
    "buffer": "&BUF",
    "report": "&BUF",
    "class_id": "ITEM",
    "property_id": "P_N",
    "properties": "PROPS",
    "values": "VALS",
    "count": "2",
    "key_paths": "NULL",
    "key_path_count": "0",
    "object": "OBJ",
    "class_name": 'OBJSTORE_STR("Item")',
    "target_class": 'OBJSTORE_STR("Item")',
    "name": 'OBJSTORE_STR("n")',
    "kind": "OBJSTORE_KIND_INT",
    "flags": "0",
    "value": "objstore_int(7)",
    "path": "PATH",
    "new_path": "NEW_PATH",
    "mode": "OBJSTORE_MODE_READ_WRITE",
    "creation": "OBJSTORE_CREATION_IF_MISSING",
    "durability": "OBJSTORE_DURABILITY_RELAXED",
    "relaxed_ms": "10",
    "version": "1",
    "limit": "OBJSTORE_LIMIT_VALUE_BYTES",
    "level": "OBJSTORE_LOG_ERROR",
    "handler": "NULL",
    "userdata": "NULL",
    "free_userdata": "NULL",
    "progress": "NULL",
    "timeout_ms": "10",
    "interval_ms": "10",
    "body": "body_ok",
    "completion": "NULL",
    "ready": "take_ready",
    "tokens": "&TOKEN",
    "id": "NULL",
    "fill": "NULL",
    "decide": "NULL",
    "migrate": "NULL",
    "old": "FV",
    "old_property_id": "P_N",
    "index": "0",
    "policy": "OBJSTORE_POLICY_MODIFIED",
    "aggregate": "OBJSTORE_AGGREGATE_SUM",
    "delta": "1",
    "key": "objstore_int(1)",
    "start": "0",
    "capacity": "4",
    "index_id": "INDEX",
    "names": "NAMES",
    "from": "KEY_VALS",
    "from_count": "2",
    "to": "KEY_VALS",
    "to_count": "2",
    "columns": "COLUMNS",
    "column_count": "2",
    "row_count": "1",
    "property_count": "2",
    "position": "&POSITION",
    "changes": "KEPT",
    "token": "TOKEN",
    "bookmark": "&BOOKMARK",
    "versions": "KEPT_VERSIONS",
    "bound": "BOUND",
    "savepoint": "POINT",
    "change": "OBJSTORE_MODIFICATIONS",
    "side": "OBJSTORE_AFTER",
    "signature": 'OBJSTORE_STR("i64, i64 -> status")',
    "function": "(objstore_function)body_ok",
    "collection": "LIST",
    "target": "0",
    "steps": "STEPS",
    "step_count": "2",
    "json": 'OBJSTORE_STR("[1]")',
    "write": "take_json",
    "read": "read_json",
    "convert": "NULL",
    "depth": "1",
    "text": 'OBJSTORE_STR("1.5")',
    "decimal": "DECIMAL",
    "object_id": "TEXT_ID",
    "uuid": "TEXT_UUID",
    "rows": "ROWS",
    "class_flags": "0",
    "property_ids": "IDS",
    "code": "1",
    "message": 'OBJSTORE_STR("m")',
    "status": "OBJSTORE_OK",
    "error": "&ERROR",
}
# (function, parameter): value
SPECIAL = {
    ("objstore_schema_add_class", "class_name"): 'OBJSTORE_STR("Fresh")',
    ("objstore_schema_add_rows", "class_name"): 'OBJSTORE_STR("Table")',
    ("objstore_schema_add_rows", "count"): "1",
    ("objstore_find_rows", "count"): "1",
    ("objstore_object_id_from_text", "text"): 'OBJSTORE_STR("0123456789abcdef01234567")',
    ("objstore_uuid_from_text", "text"): 'OBJSTORE_STR("01234567-89ab-cdef-0123-456789abcdef")',
    ("objstore_schema_drop_class", "class_name"): 'OBJSTORE_STR("Gone")',
    ("objstore_schema_add_property", "name"): 'OBJSTORE_STR("fresh")',
    ("objstore_schema_add_collection", "name"): 'OBJSTORE_STR("fresh")',
    ("objstore_schema_add_collection", "collection"): "OBJSTORE_KIND_LIST",
    ("objstore_schema_add_collection", "key_kind"): "OBJSTORE_KIND_NULL",
    ("objstore_collection_read", "keys"): "NULL",
    ("objstore_collection_read", "values"): "OUT_VALUES",
    ("objstore_collection_find", "value"): "A_TEXT",
    ("objstore_collection_remove", "count"): "1",
    ("objstore_list_insert", "values"): "&A_TEXT",
    ("objstore_list_insert", "count"): "1",
    ("objstore_list_set", "value"): "A_TEXT",
    ("objstore_set_insert", "collection"): "SET",
    ("objstore_set_insert", "value"): "A_TEXT",
    ("objstore_set_remove", "collection"): "SET",
    ("objstore_set_remove", "value"): "A_TEXT",
    ("objstore_set_combine", "collection"): "SET",
    ("objstore_set_combine", "values"): "&A_TEXT",
    ("objstore_set_combine", "count"): "1",
    ("objstore_set_combine", "operation"): "OBJSTORE_SET_UNION",
    ("objstore_set_compare", "collection"): "SET",
    ("objstore_set_compare", "values"): "&A_TEXT",
    ("objstore_set_compare", "count"): "1",
    ("objstore_map_get", "collection"): "MAP",
    ("objstore_map_get", "key"): "A_TEXT",
    ("objstore_map_set", "collection"): "MAP",
    ("objstore_map_set", "key"): "A_TEXT",
    ("objstore_map_set", "value"): "A_TEXT",
    ("objstore_map_remove", "collection"): "MAP",
    ("objstore_map_remove", "key"): "A_TEXT",
    ("objstore_collection_assign", "keys"): "NULL",
    ("objstore_collection_assign", "values"): "&A_TEXT",
    ("objstore_collection_assign", "count"): "1",
    ("objstore_results_increment", "delta"): "objstore_int(1)",
    ("objstore_query_increment", "delta"): "objstore_int(1)",
    ("objstore_define_function", "name"): 'OBJSTORE_STR("defined")',
    ("objstore_define_function", "signature"): 'OBJSTORE_STR("i64 -> i64")',
    ("objstore_undefine_function", "name"): 'OBJSTORE_STR("known")',
    ("objstore_query_parse", "text"): 'OBJSTORE_STR("n > $0")',
    ("objstore_query_parse", "arguments"): "VALS",
    ("objstore_query_new", "nodes"): "QUERY_NODES",
    ("objstore_query_new", "count"): "4",
    ("objstore_query_values", "text"): 'OBJSTORE_STR("@self == $0")',
    ("objstore_query_values", "arguments"): "&A_TEXT",
    ("objstore_query_values", "count"): "1",
    ("objstore_query_values_new", "nodes"): "VALUE_NODES",
    ("objstore_query_values_new", "count"): "3",
    ("objstore_query_find_values", "query"): "VALUE_QUERY",
    ("objstore_values_count", "values"): "FOUND",
    ("objstore_values_read", "values"): "FOUND",
    ("objstore_values_read", "elements"): "OUT_VALUES",
    ("objstore_values_read", "places"): "NULL",
    ("objstore_values_read", "keys"): "NULL",
    ("objstore_values_aggregate", "values"): "FOUND",
    ("objstore_values_aggregate", "aggregate"): "OBJSTORE_AGGREGATE_MAXIMUM",
    ("objstore_values_update", "values"): "FOUND",
    ("objstore_values_close", "values"): "FOUND",
    ("objstore_sections_new", "nodes"): "QUERY_NODES",
    ("objstore_sections_parse", "text"): 'OBJSTORE_STR("n + $0")',
    ("objstore_sections_parse", "arguments"): "VALS",
    ("objstore_sections_by", "function"): "key_of",
    ("objstore_delete_objects", "objects"): "&OBJ",
    ("objstore_delete_objects", "count"): "1",
    ("objstore_schema_add_link", "name"): 'OBJSTORE_STR("fresh")',
    ("objstore_schema_add_link_collection", "name"): 'OBJSTORE_STR("fresh")',
    ("objstore_schema_add_link_collection", "collection"): "OBJSTORE_KIND_LIST",
    ("objstore_schema_add_link_collection", "key_kind"): "OBJSTORE_KIND_NULL",
    ("objstore_schema_set_enumeration", "class_name"): 'OBJSTORE_STR("Other")',
    ("objstore_schema_set_enumeration", "name"): 'OBJSTORE_STR("x")',
    ("objstore_schema_set_enumeration", "count"): "1",
    ("objstore_schema_add_former_name", "name"): 'OBJSTORE_STR("n")',
    ("objstore_schema_add_former_name", "former_name"): 'OBJSTORE_STR("m")',
    ("objstore_schema_set_stored_name", "name"): 'OBJSTORE_STR("n")',
    ("objstore_schema_set_stored_name", "stored_name"): 'OBJSTORE_STR("s")',
    ("objstore_schema_add_inverse", "name"): 'OBJSTORE_STR("i")',
    ("objstore_schema_add_inverse", "origin_class"): 'OBJSTORE_STR("Origin")',
    ("objstore_schema_add_inverse", "origin_property"): 'OBJSTORE_STR("o")',
    ("objstore_schema_set_stored_class_name", "stored_name"): 'OBJSTORE_STR("S")',
    ("objstore_row_link", "property_id"): "P_LINK",
    ("objstore_incoming", "property_id"): "P_LINK",
    ("objstore_query_incoming", "property_id"): "P_LINK",
    ("objstore_incoming_count", "property_id"): "P_LINK",
    ("objstore_create_embedded", "parent"): "OBJ",
    ("objstore_create_embedded", "property_id"): "P_INNER",
    ("objstore_create_embedded", "properties"): "&P_Y",
    ("objstore_create_embedded", "count"): "1",
    ("objstore_create_embedded", "place"): "objstore_null()",
    ("objstore_parent", "object"): "INNER_OBJ",
    ("objstore_describe", "values"): "OUT_VALUES",
    ("objstore_describe", "capacity"): "8",
    ("objstore_describe", "depth"): "0",
    ("objstore_create_from", "values"): "NESTED",
    ("objstore_create_from", "count"): "3",
    ("objstore_upsert_from_by", "values"): "NESTED",
    ("objstore_upsert_from_by", "count"): "3",
    ("objstore_create_graph", "nodes"): "NODES",
    ("objstore_create_graph", "node_count"): "1",
    ("objstore_create_graph", "values"): "NESTED",
    ("objstore_create_graph", "value_count"): "3",
    ("objstore_set_from", "values"): "NESTED + 2",
    ("objstore_set_from", "count"): "1",
    ("objstore_config_set_seed_sha256", "digest"): 'OBJSTORE_STR("%s")' % ("0" * 64),
    ("objstore_config_set_memory", "name"): 'OBJSTORE_STR("")',
    ("objstore_find_class", "name"): 'OBJSTORE_STR("Item")',
    ("objstore_read_column", "values"): "FIXED",
    ("objstore_read_text_column", "property_id"): "P_NAME",
    ("objstore_read_text_column", "offsets"): "OFFSETS",
    ("objstore_row_bool", "property_id"): "P_FLAG",
    ("objstore_row_double", "property_id"): "P_SCORE",
    ("objstore_row_float", "property_id"): "P_SINGLE",
    ("objstore_row_decimal128", "property_id"): "P_MONEY",
    ("objstore_row_object_id", "property_id"): "P_TAG",
    ("objstore_row_uuid", "property_id"): "P_TOKEN",
    ("objstore_row_timestamp", "property_id"): "P_TIME",
    ("objstore_row_text", "property_id"): "P_NAME",
    ("objstore_row_binary", "property_id"): "P_DATA",
    ("objstore_config_set_limit", "value"): "1000",
    ("objstore_verify_file", "report"): "NULL",
    ("objstore_salvage", "report"): "NULL",
    ("objstore_find_by", "values"): "KEY_VALS",
    ("objstore_mixed_keys", "steps"): "NULL",
    ("objstore_mixed_keys", "step_count"): "0",
    ("objstore_mixed_keys", "keys"): "OUT_VALUES",
    ("objstore_document_pack", "values"): "&A_TEXT",
    ("objstore_document_pack", "count"): "1",
    ("objstore_document_unpack", "document"): "DOCUMENT",
    ("objstore_document_unpack", "values"): "OUT_VALUES",
    ("objstore_value_compare", "other"): "A_TEXT",
    ("objstore_get_row", "values"): "OUT_VALUES",
    ("objstore_cancel_async", "id"): "1",
    ("objstore_claim_begin", "id"): "1",
    ("objstore_claim_commit", "id"): "1",
    ("objstore_request_begin", "id"): "&READY_ID",
    ("objstore_request_commit", "id"): "&READY_ID",
    ("objstore_without_notifying", "count"): "1",
    ("objstore_observe", "handler"): "keep_changes",
    ("objstore_results_observe", "handler"): "keep_changes",
    ("objstore_query_observe", "handler"): "keep_changes",
    ("objstore_observe_paths", "handler"): "keep_changes",
    ("objstore_query_observe_paths", "handler"): "keep_changes",
    ("objstore_results_observe_paths", "handler"): "keep_changes",
    ("objstore_object_observe", "handler"): "keep_changes",
    ("objstore_observe_commits", "handler"): "keep_changes",
    ("objstore_collection_observe", "handler"): "keep_changes",
    ("objstore_mixed_observe", "handler"): "keep_changes",
    ("objstore_collection_observe_paths", "handler"): "keep_changes",
    ("objstore_sections_observe", "handler"): "keep_changes",
    ("objstore_sections_observe", "one"): "&A_TEXT",
    ("objstore_bind_change_handler", "handler"): "keep_changes",
    ("objstore_bind_progress", "progress"): "progress_ok",
    ("objstore_bind_migration", "migrate"): "migrate_ok",
    ("objstore_bind_initial_data", "fill"): "fill_ok",
    ("objstore_bind_compaction", "decide"): "decide_ok",
    ("objstore_bind_wait_handler", "handler"): "wait_ok",
    ("objstore_bind_log_handler", "handler"): "log_ok",
    ("objstore_bind_report", "report"): "report_ok",
    ("objstore_bind_section_key", "key"): "key_of",
    ("objstore_bind_completion", "completion"): "completion_ok",
    ("objstore_bind_json_convert", "convert"): "convert_ok",
    ("objstore_bind_comparator", "compare"): "compare_ok",
}
# Collections of links.
LINKED = (
    "objstore_collection_assign_results",
    "objstore_collection_set_objects",
    "objstore_collection_delete_objects",
    "objstore_query_collection",
)
SPECIAL |= {(name, "collection"): "LINKS" for name in LINKED}
# Paths lead into this one.
MIXED = (
    "objstore_mixed_get",
    "objstore_mixed_read",
    "objstore_mixed_keys",
    "objstore_mixed_set",
    "objstore_mixed_insert",
    "objstore_mixed_remove",
    "objstore_mixed_observe",
)
SPECIAL |= {(name, "property_id"): "P_EXTRA" for name in MIXED}
SPECIAL |= {("objstore_property_to_json", "steps"): "NULL", ("objstore_property_to_json", "step_count"): "0"}
# Where text that may not be lent is requested.
TEXT_PROPERTY = dict.fromkeys(MIXED, "P_EXTRA") | {
    "objstore_get": "P_NAME",
    "objstore_row_text": "P_NAME",
    "objstore_row_binary": "P_DATA",
    "objstore_row_value": "P_NAME",
}
# An out-of-range argument.
RANGES = {
    "relaxed_ms": ["0", "60001", "-1"],
    "version": ["0"],
    "value": ["0", "-1", "((int64_t)1 << 31)"],
    "index": ["1000000"],
    "row_index": ["1000000"],
    "column_index": ["1000000"],
    "timeout_ms": ["-2"],
    "interval_ms": ["-2"],
    "start": ["1000000"],
    "position": ["bad_position()"],
    "result": ["1000000"],
    "savepoint": ["0", "99"],
    "target": ["1000000"],
    "depth": ["101"],
}
# A property of any class will do, or is of another kind.
OF_ANY_CLASS = {"objstore_property_get_info", "objstore_incoming", "objstore_incoming_count", "objstore_query_incoming"}
# A call without a wrong kind of value, and with one: what to change for WRONG_TYPE.
WRONG_TYPE = {
    "objstore_set": {"value": 'objstore_string(OBJSTORE_STR("x"))'},
    "objstore_find": {"key": 'objstore_string(OBJSTORE_STR("x"))'},
    "objstore_create": {"values": "BAD_VALS"},
    "objstore_upsert": {"values": "BAD_VALS"},
    "objstore_set_row": {"values": "BAD_VALS"},
    "objstore_increment": {"property_id": "P_NAME"},
    "objstore_row_seek": {"object": "OTHER_OBJ"},
    "objstore_query_aggregate": {"property_id": "P_NAME"},
    "objstore_insert_rows": {"columns": "bad_columns(0)"},
    "objstore_read_column": {"property_id": "P_NAME"},
    "objstore_read_text_column": {"property_id": "P_N"},
    "objstore_incoming": {"property_id": "P_NAME"},
    "objstore_query_incoming": {"property_id": "P_NAME"},
    "objstore_incoming_count": {"object": "OTHER_OBJ"},
    "objstore_create_embedded": {"property_id": "P_NAME"},
    "objstore_parent": {"object": "OBJ"},
    "objstore_results_set": {"values": "BAD_VALS"},
    "objstore_collection_set_objects": {"values": "BAD_VALS"},
    "objstore_results_increment": {"delta": "objstore_double(1)"},
    "objstore_query_set": {"values": "BAD_VALS"},
    "objstore_query_increment": {"delta": "objstore_double(1)"},
} | {name: {"property_id": "P_NAME"} for name in MIXED}
BLAMED = {
    "objstore_row_seek": "object",
    "objstore_increment": "property_id",
    "objstore_query_aggregate": "property_id",
    "objstore_read_column": "property_id",
    "objstore_read_text_column": "property_id",
    "objstore_insert_rows": "columns",
    "objstore_incoming": "property_id",
    "objstore_query_incoming": "property_id",
    "objstore_incoming_count": "property_id",
    "objstore_create_embedded": "property_id",
    "objstore_parent": "object",
} | dict.fromkeys(MIXED, "property_id")

PRELUDE = r"""
#include <objstore.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls, failures;
static const char *DIR;
static char path_a[512], path_b[512], path_c[512], path_new[512];
static objstore_text PATH, NEW_PATH;
static objstore *S, *READ_ONLY, *B;
static objstore_schema *SC;
static objstore_config *CF;
static objstore_view *LV, *FV, *TX, *BV;
static objstore_savepoint POINT;
static objstore_bookmark BOOKMARK;
static objstore_kept_version KEPT_VERSIONS[4];
static objstore_query *QUERY, *GROUPS, *VALUE_QUERY;
static objstore_query_node VALUE_NODES[3]; /* @self == "w" */
static objstore_values *FOUND;
static objstore_table *TABLE;
static objstore_table_column TABLE_COLUMN;
static struct ArrowArrayStream STREAM;
static objstore_query_node QUERY_NODES[4]; /* n > 0: all */
static objstore_results *RS;
static objstore_sections *SECTIONS;
static objstore_changes *KEPT, *closed_changes;
static objstore_token *TOKEN, *closed_token;
static objstore_bound *BOUND, *closed_bound;
static objstore_class_id ITEM, OTHER;
static objstore_property_id P_WORDS, P_SEEN, P_NOTES, P_PALS, P_EXTRA;
static objstore_value NESTED[3];
static objstore_node NODES[1];
static objstore_value STEPS[2], BAD_STEPS[4], DOCUMENT;
static objstore_buffer DOCUMENT_BUFFER;
static objstore_collection LIST, SET, MAP, LINKS;
static objstore_value A_TEXT;
static objstore_property_id P_ID, P_NAME, P_SCORE, P_FLAG, P_DATA, P_TIME, P_N, P_SINGLE, P_MONEY, P_TAG, P_TOKEN, P_LINK, P_X, P_INNER, P_Y;
static objstore_index_id INDEX;
static objstore_text NAMES[2];
static objstore_decimal128 DECIMAL;
static objstore_object_id TEXT_ID;
static objstore_uuid TEXT_UUID;
static objstore_property_id IDS[2];
static const objstore_property_row ROWS[] = {{.name = "n", .kind = OBJSTORE_KIND_INT}};
static objstore_object_id TAG;
static objstore_object OBJ, DELETED, FOREIGN, OTHER_OBJ, INNER_OBJ;
static objstore *closed_store;
static objstore_schema *closed_schema;
static objstore_config *closed_config;
static objstore_view *closed_view;
static objstore_query *closed_query;
static objstore_results *closed_results;
static objstore_table *closed_table;
static objstore_sections *closed_sections;
static objstore_values *closed_values;
static objstore_property_id PROPS[2], BAD_PROPS[3][2], TWICE[2];
static objstore_value VALS[2], KEY_VALS[2], BAD_VALS[2], NULL_VALS[2], TEXT_VALS[3][2], OUT_VALUES[8];
static objstore_property_id TEXT_PROPS[2];
static objstore_row ROW, ZERO_ROW, CLOSED_ROW, FRESH_ROW;
static objstore_buffer BUF, BAD_BUF[2];
static objstore_error ERROR;
static int64_t POSITION, INTS[4] = {100, 101, 102, 103}, FIXED[8], OFFSETS[8];
static objstore_column COLUMNS[2];

static void must(objstore_status status, const char *what, int line) {
    if (status != OBJSTORE_OK) {
        printf("setup, line %d: %s: %s: %s\n", line, what, objstore_status_name(status), objstore_last_message());
        exit(2);
    }
}
#define MUST(call) must(call, #call, __LINE__)

static objstore_status take_json(const char *bytes, size_t length, void *userdata) { (void)bytes; (void)length; (void)userdata; return OBJSTORE_OK; }
static objstore_status read_json(void *bytes, size_t capacity, size_t *count, void *userdata) { (void)bytes; (void)capacity; (void)userdata; *count = 0; return OBJSTORE_OK; }
static objstore_async_id READY_ID;
static void take_ready(void *userdata, objstore_async_id id) { (void)userdata; (void)id; }
static objstore_status body_ok(objstore_view *view, void *userdata) { (void)view; (void)userdata; return OBJSTORE_OK; }
static objstore_status progress_ok(uint64_t done, uint64_t total, void *userdata) { (void)done; (void)total; (void)userdata; return OBJSTORE_OK; }
static objstore_status migrate_ok(objstore *store, objstore_view *transaction, objstore_view *old, uint64_t from, uint64_t to, void *userdata) {
    (void)store; (void)transaction; (void)old; (void)from; (void)to; (void)userdata;
    return OBJSTORE_OK;
}
static objstore_status fill_ok(objstore *store, objstore_view *transaction, void *userdata) { (void)store; (void)transaction; (void)userdata; return OBJSTORE_OK; }
static objstore_status decide_ok(uint64_t total, uint64_t used, bool *compact, void *userdata) { (void)total; (void)used; (void)compact; (void)userdata; return OBJSTORE_OK; }
static objstore_status wait_ok(void *userdata) { (void)userdata; return OBJSTORE_OK; }
static void log_ok(objstore_log_level level, const char *message, void *userdata) { (void)level; (void)message; (void)userdata; }
static objstore_status report_ok(const objstore_report_line *line, void *userdata) { (void)line; (void)userdata; return OBJSTORE_OK; }
static objstore_status completion_ok(objstore_status status, uint64_t version, void *userdata) { (void)status; (void)version; (void)userdata; return OBJSTORE_OK; }
static objstore_status convert_ok(objstore_property_id property_id, objstore_kind kind, objstore_value value, objstore_value *converted, bool *is_converted, void *userdata) {
    (void)property_id; (void)kind; (void)value; (void)converted; (void)is_converted; (void)userdata;
    return OBJSTORE_OK;
}
static int compare_ok(const void *a, const void *b, void *userdata) { (void)a; (void)b; (void)userdata; return 0; }
static objstore_status key_of(objstore_view *view, objstore_object object, objstore_value *key, void *userdata) {
    (void)view;
    (void)userdata;
    *key = objstore_int(object.key);
    return OBJSTORE_OK;
}
static objstore_status keep_changes(objstore_changes *changes, void *userdata) {
    (void)userdata;
    return KEPT ? OBJSTORE_OK : objstore_changes_keep(changes, &KEPT);
}
static objstore_object value_object(objstore_object object, int64_t key) { object.key = key; return object; }
static int64_t *bad_position(void) { POSITION = -2; return &POSITION; }
static objstore_value text_value(const char *bytes, int64_t length) { return objstore_string(objstore_text_of(bytes, length)); }
static objstore_column *bad_columns(int how) {
    static objstore_column columns[2];
    static const int64_t offsets[2] = {0, 1};
    static const uint8_t none[1] = {0};
    columns[0] = COLUMNS[0];
    columns[1] = COLUMNS[1];
    if (how == 0) columns[1].kind = OBJSTORE_KIND_DOUBLE;
    if (how == 1) columns[1].validity = none;
    if (how == 2) columns[1].property_id = 0;
    if (how == 3) columns[1].property_id = P_X;
    if (how == 4) columns[1] = columns[0];
    if (how == 5) {
        columns[1] = objstore_column_init(P_NAME, OBJSTORE_KIND_STRING, "\xff");
        columns[1].offsets = offsets;
        columns[1].values_bytes = 1;
    }
    return columns;
}

static objstore_schema *make_schema(void) {
    objstore_schema *schema;
    const objstore_text item = OBJSTORE_STR("Item"), other = OBJSTORE_STR("Other");
    MUST(objstore_schema_new(&schema));
    MUST(objstore_schema_add_class(schema, item));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("id"), OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("name"), OBJSTORE_KIND_STRING, 0));
    MUST(objstore_schema_set_default(schema, item, OBJSTORE_STR("name"), objstore_string(OBJSTORE_STR("nobody"))));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("score"), OBJSTORE_KIND_DOUBLE, OBJSTORE_PROPERTY_NULLABLE));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("flag"), OBJSTORE_KIND_BOOL, OBJSTORE_PROPERTY_NULLABLE));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("data"), OBJSTORE_KIND_BINARY, OBJSTORE_PROPERTY_NULLABLE));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("time"), OBJSTORE_KIND_TIMESTAMP, OBJSTORE_PROPERTY_NULLABLE));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("n"), OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_INDEXED));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("single"), OBJSTORE_KIND_FLOAT, OBJSTORE_PROPERTY_NULLABLE));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("money"), OBJSTORE_KIND_DECIMAL128, OBJSTORE_PROPERTY_NULLABLE));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("tag"), OBJSTORE_KIND_OBJECT_ID, OBJSTORE_PROPERTY_NULLABLE));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("token"), OBJSTORE_KIND_UUID, OBJSTORE_PROPERTY_NULLABLE));
    MUST(objstore_schema_add_property(schema, item, OBJSTORE_STR("extra"), OBJSTORE_KIND_MIXED, 0));
    MUST(objstore_schema_add_link(schema, item, OBJSTORE_STR("link"), item, 0));
    MUST(objstore_schema_set_default(schema, item, OBJSTORE_STR("n"), objstore_int(0)));
    MUST(objstore_schema_add_collection(schema, item, OBJSTORE_STR("words"), OBJSTORE_KIND_LIST, OBJSTORE_KIND_NULL, OBJSTORE_KIND_STRING, 0));
    MUST(objstore_schema_add_collection(schema, item, OBJSTORE_STR("seen"), OBJSTORE_KIND_SET, OBJSTORE_KIND_NULL, OBJSTORE_KIND_STRING, 0));
    MUST(objstore_schema_add_collection(schema, item, OBJSTORE_STR("notes"), OBJSTORE_KIND_MAP, OBJSTORE_KIND_STRING, OBJSTORE_KIND_STRING, 0));
    MUST(objstore_schema_add_link_collection(schema, item, OBJSTORE_STR("pals"), OBJSTORE_KIND_LIST, OBJSTORE_KIND_NULL, item, 0));
    NAMES[0] = OBJSTORE_STR("n");
    NAMES[1] = OBJSTORE_STR("name");
    MUST(objstore_schema_add_index(schema, item, NAMES, 2, OBJSTORE_INDEX_UNIQUE));
    NAMES[1] = OBJSTORE_STR("score");
    MUST(objstore_schema_add_class(schema, other));
    MUST(objstore_schema_add_property(schema, other, OBJSTORE_STR("x"), OBJSTORE_KIND_INT, 0));
    MUST(objstore_schema_add_class(schema, OBJSTORE_STR("Inner")));
    MUST(objstore_schema_set_class_flags(schema, OBJSTORE_STR("Inner"), OBJSTORE_CLASS_EMBEDDED));
    MUST(objstore_schema_add_property(schema, OBJSTORE_STR("Inner"), OBJSTORE_STR("y"), OBJSTORE_KIND_INT, 0));
    MUST(objstore_schema_add_link(schema, other, OBJSTORE_STR("none"), OBJSTORE_STR("Inner"), 0));
    MUST(objstore_schema_add_link(schema, item, OBJSTORE_STR("inner"), OBJSTORE_STR("Inner"), 0));
    return schema;
}

static objstore *open_store(const char *path, objstore_mode mode) {
    objstore_schema *schema = make_schema();
    objstore_config *config;
    objstore *store;
    MUST(objstore_config_new(&config));
    MUST(objstore_config_set_path(config, objstore_cstr(path)));
    MUST(objstore_config_set_schema(config, schema, 1));
    MUST(objstore_config_set_mode(config, mode));
    MUST(objstore_open(config, &store));
    MUST(objstore_config_close(config));
    MUST(objstore_schema_close(schema));
    return store;
}

static objstore_object make_item(objstore_view *tx, int64_t id) {
    const objstore_property_id properties[] = {P_ID, P_NAME, P_SCORE, P_FLAG, P_DATA, P_TIME, P_N, P_SINGLE, P_MONEY, P_TAG, P_TOKEN};
    const objstore_uuid token = {{1, 2, 3}};
    const objstore_value values[] = {objstore_int(id), objstore_string(OBJSTORE_STR("Rex")), objstore_double(1.5), objstore_bool(true),
                                     objstore_binary("ab", 2), objstore_time(12, 34), objstore_int(id * 10), objstore_float(0.5f), objstore_decimal128_value(DECIMAL),
                                     objstore_object_id_value(TAG), objstore_uuid_value(token)};
    objstore_object object;
    const objstore_value word = objstore_string(OBJSTORE_STR("w"));
    MUST(objstore_create(tx, ITEM, properties, values, 11, &object));
    MUST(objstore_set(tx, object, P_EXTRA, DOCUMENT));
    MUST(objstore_list_insert(tx, objstore_collection_of(object, P_WORDS), 0, &word, 1));
    MUST(objstore_list_insert(tx, objstore_collection_of(object, P_WORDS), OBJSTORE_END, &word, 1));
    MUST(objstore_set_insert(tx, objstore_collection_of(object, P_SEEN), word, NULL));
    MUST(objstore_map_set(tx, objstore_collection_of(object, P_NOTES), word, word, NULL));
    return object;
}

static void find_ids(objstore_view *view) {
    MUST(objstore_find_class(view, OBJSTORE_STR("Item"), &ITEM));
    MUST(objstore_find_class(view, OBJSTORE_STR("Other"), &OTHER));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("id"), &P_ID));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("name"), &P_NAME));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("score"), &P_SCORE));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("flag"), &P_FLAG));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("data"), &P_DATA));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("time"), &P_TIME));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("single"), &P_SINGLE));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("money"), &P_MONEY));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("tag"), &P_TAG));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("token"), &P_TOKEN));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("link"), &P_LINK));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("extra"), &P_EXTRA));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("n"), &P_N));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("words"), &P_WORDS));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("seen"), &P_SEEN));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("notes"), &P_NOTES));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("pals"), &P_PALS));
    MUST(objstore_find_property(view, OTHER, OBJSTORE_STR("x"), &P_X));
    MUST(objstore_find_property(view, ITEM, OBJSTORE_STR("inner"), &P_INNER));
    {
        objstore_class_id inner;
        MUST(objstore_find_class(view, OBJSTORE_STR("Inner"), &inner));
        MUST(objstore_find_property(view, inner, OBJSTORE_STR("y"), &P_Y));
    }
    NODES[0] = objstore_node_of_class(ITEM, OBJSTORE_NODE_ROOT);
    QUERY_NODES[0].kind = OBJSTORE_QUERY_VARIABLE;
    QUERY_NODES[1].kind = OBJSTORE_QUERY_PROPERTY;
    QUERY_NODES[1].operands = 1;
    QUERY_NODES[1].number = P_N;
    QUERY_NODES[2].kind = OBJSTORE_QUERY_CONSTANT;
    QUERY_NODES[2].value = objstore_int(0);
    QUERY_NODES[3].kind = OBJSTORE_QUERY_COMPARE;
    QUERY_NODES[3].choice = OBJSTORE_GREATER;
    QUERY_NODES[3].operands = 2;
    VALUE_NODES[0] = QUERY_NODES[0];
    VALUE_NODES[1].kind = OBJSTORE_QUERY_CONSTANT;
    VALUE_NODES[1].value = objstore_string(OBJSTORE_STR("w"));
    VALUE_NODES[2].kind = OBJSTORE_QUERY_COMPARE;
    VALUE_NODES[2].choice = OBJSTORE_EQUAL;
    VALUE_NODES[2].operands = 2;
    PROPS[0] = P_N;
    PROPS[1] = P_NAME;
    MUST(objstore_find_index(view, ITEM, PROPS, 2, &INDEX));
}

static void set_up(void) {
    objstore_view *tx;
    MUST(objstore_decimal128_from_text(OBJSTORE_STR("12.50"), &DECIMAL));
    MUST(objstore_object_id_new(&TAG));
    {
        /* {"l": ["w", 1]} */
        const objstore_value flat[] = {objstore_map_of(1), objstore_string(OBJSTORE_STR("l")), objstore_list_of(2),
                                       objstore_string(OBJSTORE_STR("w")), objstore_int(1)};
        MUST(objstore_document_pack(flat, 5, &DOCUMENT_BUFFER, &DOCUMENT));
        NESTED[0] = objstore_map_of(1);
        NESTED[1] = objstore_string(OBJSTORE_STR("id"));
        NESTED[2] = objstore_int(1);
        STEPS[0] = flat[1];
        STEPS[1] = objstore_int(0);
        BAD_STEPS[0] = objstore_double(1);
        BAD_STEPS[1] = objstore_int(0);
        BAD_STEPS[2] = text_value("\xff", 1);
        BAD_STEPS[3] = text_value("x", -2);
    }
    snprintf(path_a, sizeof path_a, "%s/a.objstore", DIR);
    snprintf(path_b, sizeof path_b, "%s/b.objstore", DIR);
    snprintf(path_c, sizeof path_c, "%s/c.objstore", DIR);
    snprintf(path_new, sizeof path_new, "%s/new.objstore", DIR);
    PATH = objstore_cstr(path_a);
    NEW_PATH = objstore_cstr(path_new);
    S = open_store(path_a, OBJSTORE_MODE_READ_WRITE);
    READ_ONLY = open_store(path_a, OBJSTORE_MODE_READ_ONLY);
    B = open_store(path_b, OBJSTORE_MODE_READ_WRITE);
    MUST(objstore_begin(S, &tx));
    find_ids(tx);
    OBJ = make_item(tx, 1);
    MUST(objstore_set(tx, OBJ, P_LINK, objstore_link(OBJ)));
    {
        const objstore_value seven = objstore_int(7);
        MUST(objstore_create_embedded(tx, OBJ, P_INNER, objstore_null(), &P_Y, &seven, 1, &INNER_OBJ));
    }
    VALS[0] = objstore_link(OBJ);
    MUST(objstore_list_insert(tx, objstore_collection_of(OBJ, P_PALS), 0, VALS, 1));
    DELETED = make_item(tx, 2);
    make_item(tx, 3);
    MUST(objstore_delete(tx, DELETED));
    VALS[0] = objstore_int(5);
    MUST(objstore_create(tx, OTHER, &P_X, VALS, 1, &OTHER_OBJ));
    MUST(objstore_commit(tx, NULL));
    MUST(objstore_begin(B, &tx));
    FOREIGN = make_item(tx, 1);
    MUST(objstore_commit(tx, NULL));

    MUST(objstore_view_open(S, &closed_view));
    MUST(objstore_row_init(closed_view, ITEM, &CLOSED_ROW));
    MUST(objstore_query_new(closed_view, ITEM, NULL, 0, &closed_query));
    MUST(objstore_query_find(closed_query, closed_view, &closed_results));
    MUST(objstore_sections_new(closed_results, QUERY_NODES, 2, 0, &closed_sections));
    MUST(objstore_sections_close(closed_sections));
    MUST(objstore_results_close(closed_results));
    MUST(objstore_query_close(closed_query));
    MUST(objstore_query_parse(closed_view, ITEM, OBJSTORE_STR("GROUP()"), NULL, 0, &closed_query));
    MUST(objstore_query_table(closed_query, closed_view, &closed_table));
    MUST(objstore_table_close(closed_table));
    MUST(objstore_query_close(closed_query));
    MUST(objstore_query_values(
        closed_view, objstore_collection_of(OBJ, P_WORDS), OBJSTORE_STR(""), NULL, 0, &closed_query));
    MUST(objstore_query_find_values(closed_query, closed_view, &closed_values));
    MUST(objstore_values_close(closed_values));
    MUST(objstore_query_close(closed_query));
    MUST(objstore_view_close(closed_view));
    {
        objstore_write_body function;
        const objstore_value ten = objstore_int(10);
        MUST(objstore_observe(S, ITEM, 0, keep_changes, NULL, NULL, &TOKEN));
        MUST(objstore_begin(S, &tx));
        MUST(objstore_set(tx, OBJ, P_N, ten));
        MUST(objstore_commit(tx, NULL));
        MUST(objstore_wait(S, 5000, NULL));
        MUST(objstore_token_close(TOKEN));
        closed_token = TOKEN;
        MUST(objstore_changes_keep(KEPT, &closed_changes));
        MUST(objstore_changes_close(closed_changes));
        MUST(objstore_bind_write_body(body_ok, NULL, NULL, &function, &closed_bound));
        MUST(objstore_bound_close(closed_bound));
    }
    MUST(objstore_schema_new(&closed_schema));
    MUST(objstore_schema_close(closed_schema));
    MUST(objstore_config_new(&closed_config));
    MUST(objstore_config_close(closed_config));
    closed_store = open_store(path_b, OBJSTORE_MODE_READ_WRITE);
    MUST(objstore_close(closed_store));

    LIST = objstore_collection_of(OBJ, P_WORDS);
    SET = objstore_collection_of(OBJ, P_SEEN);
    MAP = objstore_collection_of(OBJ, P_NOTES);
    LINKS = objstore_collection_of(OBJ, P_PALS);
    A_TEXT = objstore_string(OBJSTORE_STR("w"));
    PROPS[0] = TWICE[0] = TWICE[1] = P_ID;
    PROPS[1] = P_N;
    BAD_PROPS[0][0] = BAD_PROPS[1][0] = BAD_PROPS[2][0] = P_ID;
    BAD_PROPS[0][1] = 0;
    BAD_PROPS[1][1] = P_N + 1000;
    BAD_PROPS[2][1] = P_X;
    TEXT_PROPS[0] = P_ID;
    TEXT_PROPS[1] = P_NAME;
    VALS[0] = BAD_VALS[0] = NULL_VALS[0] = objstore_int(1);
    VALS[1] = objstore_int(10);
    KEY_VALS[0] = objstore_int(10);
    KEY_VALS[1] = objstore_string(OBJSTORE_STR("Rex"));
    BAD_VALS[1] = objstore_double(1);
    NULL_VALS[1] = objstore_null();
    TEXT_VALS[0][0] = TEXT_VALS[1][0] = TEXT_VALS[2][0] = objstore_int(1);
    TEXT_VALS[0][1] = text_value(NULL, 5);
    TEXT_VALS[1][1] = text_value("x", -2);
    TEXT_VALS[2][1] = text_value("\xff", 1);
    BAD_BUF[0].capacity = 5;
    BAD_BUF[1].bytes = (uint8_t *)INTS;
    BAD_BUF[1].length = 9;
    BAD_BUF[1].capacity = 8;
    COLUMNS[0] = objstore_column_init(P_ID, OBJSTORE_KIND_INT, INTS);
    COLUMNS[1] = objstore_column_init(P_N, OBJSTORE_KIND_INT, INTS);
}

/* Fresh handles for each call; `transaction`: one is open. */
static void begin_test(int transaction) {
    bool more;
    SC = make_schema();
    MUST(objstore_config_new(&CF));
    MUST(objstore_config_set_path(CF, PATH));
    MUST(objstore_view_open(S, &LV));
    MUST(objstore_view_freeze(LV, &FV));
    MUST(objstore_view_open(B, &BV));
    TX = NULL;
    MUST(objstore_observe(S, ITEM, 0, keep_changes, NULL, NULL, &TOKEN));
    MUST(objstore_view_bookmark(LV, &BOOKMARK));
    {
        objstore_write_body function;
        MUST(objstore_bind_write_body(body_ok, NULL, NULL, &function, &BOUND));
    }
    if (transaction) {
        MUST(objstore_begin(S, &TX));
        MUST(objstore_savepoint_begin(TX, &POINT));
    }
    MUST(objstore_query_new(LV, ITEM, QUERY_NODES, 4, &QUERY));
    MUST(objstore_query_find(QUERY, LV, &RS));
    MUST(objstore_query_parse(LV, ITEM, OBJSTORE_STR("GROUP(n)"), NULL, 0, &GROUPS));
    MUST(objstore_query_table(GROUPS, LV, &TABLE));
    memset(&STREAM, 0, sizeof STREAM);
    MUST(objstore_sections_new(RS, QUERY_NODES, 2, 0, &SECTIONS));
    MUST(objstore_query_values(LV, LIST, OBJSTORE_STR(""), NULL, 0, &VALUE_QUERY));
    MUST(objstore_query_find_values(VALUE_QUERY, LV, &FOUND));
    MUST(objstore_row_init(FV, ITEM, &ROW));
    MUST(objstore_row_next(&ROW, &more));
    MUST(objstore_row_init(FV, ITEM, &FRESH_ROW));
    memset(&ZERO_ROW, 0, sizeof ZERO_ROW);
    POSITION = OBJSTORE_START;
    ERROR = objstore_error_init();
    BUF = objstore_buffer_init();
}
static void end_test(void) {
    /* What the call closed is closed already: then these say so, which is fine here. */
    objstore_buffer_free(&BUF);
    if (TX) objstore_cancel(TX);
    objstore_token_close(TOKEN);
    objstore_bound_close(BOUND);
    objstore_sections_close(SECTIONS);
    objstore_values_close(FOUND);
    objstore_query_close(VALUE_QUERY);
    objstore_results_close(RS);
    objstore_table_close(TABLE);
    objstore_query_close(GROUPS);
    objstore_query_close(QUERY);
    if (STREAM.release) STREAM.release(&STREAM);
    objstore_view_close(FV);
    objstore_view_close(LV);
    objstore_view_close(BV);
    objstore_config_close(CF);
    objstore_schema_close(SC);
}

/* A number that depends on every byte of the content. */
static uint64_t digest(void) {
    uint64_t hash = 1469598103934665603u, count;
    objstore_view *view, *frozen;
    objstore_row row;
    bool more;
    MUST(objstore_view_open(S, &view));
    MUST(objstore_view_freeze(view, &frozen));
    MUST(objstore_row_init(frozen, ITEM, &row));
    for (MUST(objstore_row_next(&row, &more)); more; MUST(objstore_row_next(&row, &more))) {
        const objstore_property_id all[] = {P_ID, P_NAME, P_SCORE, P_FLAG, P_DATA, P_TIME, P_N, P_SINGLE, P_MONEY, P_TAG, P_TOKEN, P_LINK, P_EXTRA};
        size_t i;
        for (i = 0; i < sizeof all / sizeof *all; i++) {
            objstore_value value;
            const unsigned char *bytes = (const unsigned char *)&value.data;
            size_t length = sizeof value.data, j;
            MUST(objstore_row_value(&row, all[i], NULL, &value));
            hash = (hash ^ (uint64_t)value.kind) * 1099511628211u;
            if (value.kind == OBJSTORE_KIND_STRING) { bytes = (const unsigned char *)value.data.text.bytes; length = (size_t)value.data.text.length; }
            if (value.kind == OBJSTORE_KIND_BINARY || value.kind == OBJSTORE_KIND_DOCUMENT) { bytes = value.data.binary.bytes; length = (size_t)value.data.binary.length; }
            for (j = 0; j < length; j++) hash = (hash ^ bytes[j]) * 1099511628211u;
        }
        objstore_object object;
        const objstore_property_id collections[] = {P_WORDS, P_SEEN, P_NOTES, P_PALS};
        MUST(objstore_row_object(&row, &object));
        for (i = 0; i < 4; i++) {
            objstore_value values[8];
            size_t found, j, k;
            MUST(objstore_collection_read(frozen, objstore_collection_of(object, collections[i]), 0, 8, NULL, NULL, values, &found));
            hash = (hash ^ found) * 1099511628211u;
            for (j = 0; j < found; j++) {
                if (values[j].kind == OBJSTORE_KIND_LINK) hash = (hash ^ (uint64_t)values[j].data.link.key) * 1099511628211u;
                else for (k = 0; k < (size_t)values[j].data.text.length; k++) hash = (hash ^ (uint8_t)values[j].data.text.bytes[k]) * 1099511628211u;
            }
        }
    }
    MUST(objstore_count(frozen, OTHER, &count));
    hash = (hash ^ count) * 1099511628211u;
    MUST(objstore_view_close(frozen));
    MUST(objstore_view_close(view));
    return hash;
}
static uint64_t before;

static void expect(objstore_status status, objstore_status wanted, const char *argument, const char *what) {
    int wrong;
    char message[400];
    calls++;
    snprintf(message, sizeof message, "%s", objstore_last_message());
    if (wanted == OBJSTORE_OK) wrong = status == OBJSTORE_ERR_INVALID_ARGUMENT || status == OBJSTORE_ERR_INTERNAL;
    else wrong = status != wanted || !strstr(message, argument);
    end_test();
    if (wanted != OBJSTORE_OK && digest() != before) { printf("%s: the content has changed\n", what); failures++; before = digest(); }
    if (wrong) {
        failures++;
        printf("%s:\n    %s \"%s\", expected %s naming %s\n", what, objstore_status_name(status), message,
               wanted == OBJSTORE_OK ? "no INVALID_ARGUMENT" : objstore_status_name(wanted), argument);
    }
}
"""


class Writer:
    def __init__(self):
        self.lines = []
        self.number = 0

    def call(self, function, parameters, overrides, status, argument, transaction, why, outs):
        name = function
        arguments = []
        for _, parameter in parameters:
            if parameter in overrides:
                arguments.append(overrides[parameter])
            elif (function, parameter) in SPECIAL:
                arguments.append(SPECIAL[function, parameter])
            elif parameter in outs:
                arguments.append("&" + outs[parameter])
            else:
                arguments.append(DEFAULTS[parameter])
        self.number += 1
        what = f"{name}({why})"
        self.lines.append(f"static void test_{self.number}(void) {{")
        for type_, parameter in parameters:
            if parameter in outs and overrides.get(parameter) is None:
                base = type_.rstrip()[:-1].strip()
                self.lines.append(f"    static {base} {outs[parameter]};")
                if parameter == "info" or parameter == "statistics":
                    self.lines.append(f"    {outs[parameter]}.struct_size = sizeof {outs[parameter]};")
                if base.rstrip(" *") in HANDLES and base.endswith("*"):
                    self.lines.append(f"    {outs[parameter]} = ({base})1;")
        self.lines.append(f"    begin_test({int(transaction)});")
        self.lines.append(f"    objstore_status status = {name}({', '.join(arguments)});")
        for type_, parameter in parameters:
            if parameter in outs and overrides.get(parameter) is None:
                base = type_.rstrip()[:-1].strip()
                if base.rstrip(" *") in HANDLES and base.endswith("*") and status != "OBJSTORE_OK":
                    self.lines.append(
                        f'    if ({outs[parameter]} != NULL) {{ failures++; puts("{what}: the handle is not NULL"); }}'
                    )
        if function == "objstore_buffer_free":
            pass
        text = what.replace("\\", "\\\\").replace('"', '\\"')
        self.lines.append(f'    expect(status, {status}, "{argument}", "{text}");')
        self.lines.append("}")


def is_out(type_, parameter, function):
    """A pointer that the function fills, of its own type: the program gives it a variable."""
    type_ = type_.strip()
    if not type_.endswith("*") or parameter in ("row", "buffer", "report", "position", "error", "userdata"):
        return False
    base = type_[:-1].strip()
    if (base.startswith("const ") and "*" not in base) or base in HANDLES or base == "void":
        return False
    return (function, parameter) not in SPECIAL and not (
        (parameter == "offsets" and base != "objstore_value") or (parameter == "values" and base[-1] != "*")
    )


def in_collection(name, parameter, owner):
    """The collection of another owner, where the parameter is one."""
    if parameter != "collection":
        return owner
    property_id = "P_PALS" if name in LINKED else {"set": "P_SEEN", "map": "P_NOTES"}.get(name.split("_")[1], "P_WORDS")
    return f"objstore_collection_of({owner}, {property_id})"


def cases(name, parameters, tokens):
    """(overrides, status, argument, needs a transaction or None, why) of each bad argument."""
    types = {n: t for t, n in parameters}
    arrays = {a[0]: a[1] for w, a in tokens if w == "array"}
    for word, arguments in tokens:
        first = arguments[0] if arguments else None
        if word == "null":
            for a in arguments:
                yield {a: "NULL"}, "OBJSTORE_ERR_INVALID_ARGUMENT", a, None, f"{a} NULL"
        elif word == "nullable":
            for a in arguments:
                overrides = {a: "NULL"}
                if a in arrays:
                    overrides[arrays[a]] = "0"
                    for other, n in arrays.items():
                        if n == arrays[a]:
                            overrides[other] = "NULL"
                yield overrides, "OBJSTORE_OK", a, None, f"{a} NULL is allowed"
        elif word == "closed":
            for a in arguments:
                kind = KINDS[types[a].rstrip(" *")]
                yield {a: f"closed_{kind}"}, "OBJSTORE_ERR_CLOSED_HANDLE", a, None, f"{a} closed"
        elif word == "kind":
            for a in arguments:
                kind, type_ = KINDS[types[a].rstrip(" *")], types[a]
                for other, expression in OPEN.items():
                    if other != kind:
                        yield (
                            {a: f"({type_})(void *){expression}"},
                            "OBJSTORE_ERR_WRONG_KIND",
                            a,
                            None,
                            f"{a} a {other}",
                        )
                yield (
                    {a: f"({type_})(void *)(uintptr_t)0x7fff12345678u"},
                    "OBJSTORE_ERR_WRONG_KIND",
                    a,
                    None,
                    f"{a} no handle at all",
                )
        elif word == "row":
            yield {first: "&ZERO_ROW"}, "OBJSTORE_ERR_WRONG_KIND", first, None, "zero row"
            yield {first: "&CLOSED_ROW"}, "OBJSTORE_ERR_CLOSED_HANDLE", first, None, "row of a closed view"
        elif word == "positioned":
            yield {first: "&FRESH_ROW"}, "OBJSTORE_ERR_NOT_POSITIONED", first, None, "row on no object"
        elif word == "store":
            for a in arguments:
                foreign = {"results": "results_of(BV)", "view": "BV"}.get(a) or in_collection(name, a, "FOREIGN")
                yield {a: foreign}, "OBJSTORE_ERR_WRONG_STORE", a, None, f"{a} of another store"
        elif word == "write":
            for view in ("LV", "FV"):
                yield {first: view}, "OBJSTORE_ERR_NOT_IN_WRITE", first, None, f"{first} = {view}"
        elif word == "live":
            made = f"{first}_of(%s)" if first in ("results", "sections") else "%s"
            frozen, transaction = made % "FV", made % "TX"
            yield {first: frozen}, "OBJSTORE_ERR_WRONG_VIEW", first, None, "frozen view"
            yield {first: transaction}, "OBJSTORE_ERR_WRONG_VIEW", first, True, "transaction"
        elif word == "committed":
            yield {first: "TX"}, "OBJSTORE_ERR_WRONG_VIEW", first, True, "transaction"
        elif word == "lends":
            if first == "query":
                continue  # it never changes, and lends always: `nullable(buffer)` calls it so
            overrides = {"buffer": "NULL"}
            if "collection" in types:
                pass
            elif name in TEXT_PROPERTY:
                overrides["property_id"] = TEXT_PROPERTY[name]
            else:
                overrides["properties"] = "TEXT_PROPS"
            if first == "row":
                overrides["row"] = "live_row()"
            yield overrides, "OBJSTORE_ERR_WRONG_VIEW", "buffer", None, "text of a live view without a buffer"
        elif word == "class":
            for c in ("0", "999"):
                yield {first: c}, "OBJSTORE_ERR_NO_SUCH_CLASS", first, None, f"{first} {c}"
        elif word == "property":
            if first == "columns":
                for how in (2, 3):
                    yield (
                        {first: f"bad_columns({how})"},
                        "OBJSTORE_ERR_NO_SUCH_PROPERTY",
                        first,
                        None,
                        f"bad property {how}",
                    )
                yield {first: "bad_columns(4)"}, "OBJSTORE_ERR_INVALID_ARGUMENT", first, None, "the same property twice"
            elif first == "properties":
                for index in range(3):
                    yield (
                        {first: f"BAD_PROPS[{index}]"},
                        "OBJSTORE_ERR_NO_SUCH_PROPERTY",
                        first,
                        None,
                        f"bad property {index}",
                    )
                yield {first: "TWICE"}, "OBJSTORE_ERR_INVALID_ARGUMENT", first, None, "the same property twice"
            else:
                wrong = ["0", "(P_PALS + 1000)"] + ([] if name in OF_ANY_CLASS else ["P_X"])
                for p in wrong:
                    yield (
                        {first: f"objstore_collection_of(OBJ, {p})" if first == "collection" else p},
                        "OBJSTORE_ERR_NO_SUCH_PROPERTY",
                        first,
                        None,
                        f"{first} {p}",
                    )
        elif word == "index":
            for i in ("0", "999", "ITEM", "P_N", "(INDEX + 1)"):
                yield {first: i}, "OBJSTORE_ERR_NO_SUCH_INDEX", first, None, f"{first} {i}"
        elif word == "deleted":
            for owner, why in (
                ("DELETED", "deleted"),
                ("value_object(OBJ, 123456)", "never existed"),
                ("value_object(OBJ, -5)", "negative key"),
            ):
                yield {first: in_collection(name, first, owner)}, "OBJSTORE_ERR_NO_SUCH_OBJECT", first, None, why
        elif word == "type":
            if first == "collection":
                for p in ("P_N", "P_NAME") + (
                    ("P_WORDS",)
                    if name in LINKED
                    else ("P_PALS",)
                    if name.startswith("objstore_query_values")
                    else ()
                    if name.startswith("objstore_collection")
                    else ("P_SEEN" if "set" not in name.split("_")[1] else "P_WORDS",)
                ):
                    yield (
                        {first: f"objstore_collection_of(OBJ, {p})"},
                        "OBJSTORE_ERR_WRONG_TYPE",
                        first,
                        None,
                        f"another kind, {p}",
                    )
            elif name.startswith("objstore_row_") and name != "objstore_row_seek":
                wrong = "P_NAME" if name != "objstore_row_text" else "P_N"
                yield {"property_id": wrong}, "OBJSTORE_ERR_WRONG_TYPE", "property_id", None, "another kind"
            else:
                yield WRONG_TYPE[name], "OBJSTORE_ERR_WRONG_TYPE", BLAMED.get(name, first), None, "another kind"
        elif word == "required":
            bad = {
                "values": "NULL_VALS",
                "value": "objstore_null()",
                "key": "objstore_null()",
                "columns": "bad_columns(1)",
            }[first]
            yield {first: bad}, "OBJSTORE_ERR_NOT_NULLABLE", first, None, "null"
        elif word == "key":
            extra = {"properties": "&P_X", "values": "VALS", "count": "1"} if "properties" in types else {}
            yield {first: "OTHER", **extra}, "OBJSTORE_ERR_NO_PRIMARY_KEY", first, None, "class without a key"
        elif word == "text":
            for a in arguments:
                if a == "columns":
                    yield {a: "bad_columns(5)"}, "OBJSTORE_ERR_INVALID_UTF8", a, None, "not UTF-8"
                    continue
                for index, (bad, status) in enumerate(
                    (("NULL, 5", "INVALID_ARGUMENT"), ('"x", -2', "INVALID_ARGUMENT"), ('"\\xff", 1', "INVALID_UTF8"))
                ):
                    if types[a].strip() == "const objstore_value *":
                        overrides = {a: f"TEXT_VALS[{index}]", "properties": "TEXT_PROPS"}
                        if a == "one":
                            overrides = {a: f"TEXT_VALS[{index}] + 1"}
                    elif types[a] == "objstore_value":
                        overrides = {a: f"text_value({bad})"}
                        if "property_id" in types and name not in MIXED:
                            overrides["property_id"] = "P_NAME"
                        if name == "objstore_schema_set_default":
                            overrides["name"] = 'OBJSTORE_STR("name")'
                        if name == "objstore_find" and status == "INVALID_UTF8":
                            continue  # the key is an int here: WRONG_TYPE comes first
                    else:
                        overrides = {a: f"objstore_text_of({bad})"}
                    yield overrides, f"OBJSTORE_ERR_{status}", a, None, f"{a}: bad text {index}"
        elif word == "steps":
            for index, status in enumerate(("WRONG_TYPE", "WRONG_TYPE", "INVALID_UTF8", "INVALID_ARGUMENT")):
                yield (
                    {first: f"&BAD_STEPS[{index}]", "step_count": "1"},
                    f"OBJSTORE_ERR_{status}",
                    first,
                    None,
                    f"bad step {index}",
                )
            yield {first: "STEPS", "step_count": "102"}, "OBJSTORE_ERR_OUT_OF_RANGE", first, None, "too many steps"
        elif word == "name":
            for a in arguments:
                yield {a: 'OBJSTORE_STR("")'}, "OBJSTORE_ERR_INVALID_ARGUMENT", a, None, f"{a} empty"
        elif word == "array":
            overrides = {first: "NULL", arguments[1]: "1"}
            yield overrides, "OBJSTORE_ERR_INVALID_ARGUMENT", first, None, f"{first} NULL with {arguments[1]} 1"
        elif word == "count":
            for a in arguments:
                yield {a: "((size_t)PTRDIFF_MAX + 1)"}, "OBJSTORE_ERR_INVALID_ARGUMENT", a, None, f"{a} too large"
        elif word == "range":
            for bad in RANGES[first]:
                yield {first: bad}, "OBJSTORE_ERR_OUT_OF_RANGE", first, None, f"{first} {bad}"
        elif word == "enum":
            for bad in ("99", "-1"):
                yield {first: f"({types[first]}){bad}"}, "OBJSTORE_ERR_INVALID_ARGUMENT", first, None, f"{first} {bad}"
        elif word == "flags":
            yield {first: "0x80000000u"}, "OBJSTORE_ERR_INVALID_ARGUMENT", first, None, "unknown flag"
        elif word == "size":
            for size in (0, 4):
                yield (
                    {"@size": (first, size)},
                    "OBJSTORE_ERR_INVALID_ARGUMENT",
                    first,
                    None,
                    f"{first}->struct_size {size}",
                )
        elif word == "buffer":
            for index in (0, 1):
                overrides = {first: f"&BAD_BUF[{index}]"}
                if name in TEXT_PROPERTY:
                    overrides["property_id"] = TEXT_PROPERTY[name]
                yield overrides, "OBJSTORE_ERR_INVALID_ARGUMENT", "buffer", None, f"bad buffer {index}"
        elif word == "writable":
            yield {first: "READ_ONLY"}, "OBJSTORE_ERR_READ_ONLY", first, False, "read-only handle"
        elif word == "outside":
            yield {}, "OBJSTORE_ERR_ALREADY_IN_WRITE", first, True, "inside a transaction"
        elif word == "callback":
            yield {"@callback": True}, "OBJSTORE_ERR_IN_CALLBACK", first, None, "from inside a callback"
        elif word != "none":
            sys.exit(f"{name}: no case for the token {word}")


def main():
    header = open(sys.argv[1], encoding="utf-8").read()
    writer = Writer()
    functions = list(declarations(header))
    for name, _, parameters, tokens in functions:
        outs = {p: f"out_{p}" for t, p in parameters if is_out(t, p, name)}
        writes = any(p == "transaction" and t.count("*") == 1 for t, p in parameters)
        for overrides, status, argument, transaction, why in cases(name, parameters, tokens):
            overrides = dict(overrides)
            if transaction is None:
                transaction = writes
            if "@callback" in overrides:
                writer.number += 1
                plain = ["NULL" if p in outs else DEFAULTS[p] for _, p in parameters]
                writer.lines.append(
                    f"static objstore_status inner_{writer.number}(objstore_view *view, void *userdata) {{ (void)view; "
                    "(void)userdata; "
                    f"return {name}({', '.join(plain)}); }}\nstatic void test_{writer.number}(void) {{\n    "
                    f"begin_test(0);\n    objstore_status status = objstore_write(S, inner_{writer.number}, NULL, "
                    "NULL);\n"
                    f'    expect(status, {status}, "{argument}", "{name}({why})");\n}}'
                )
                continue
            size = overrides.pop("@size", None)
            start = len(writer.lines)
            writer.call(name, parameters, overrides, status, argument, transaction, why, outs)
            if size:
                parameter, value = size
                variable = "ERROR" if parameter == "error" else outs[parameter]
                for index in range(start, len(writer.lines)):
                    if writer.lines[index].startswith("    objstore_status status = "):
                        writer.lines.insert(index, f"    {variable}.struct_size = {value};")
                        break
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(PRELUDE)
        out.write("""
static objstore_results *results_of(objstore_view *view) {
    objstore_query *query;
    objstore_results *results;
    MUST(objstore_query_new(view, ITEM, NULL, 0, &query));
    MUST(objstore_query_find(query, view, &results));
    MUST(objstore_query_close(query));
    return results;
}
static objstore_sections *sections_of(objstore_view *view) {
    objstore_sections *sections;
    MUST(objstore_sections_new(results_of(view), QUERY_NODES, 2, 0, &sections));
    return sections;
}
static objstore_row *live_row(void) {
    static objstore_row row;
    bool more;
    MUST(objstore_row_init(LV, ITEM, &row));
    MUST(objstore_row_next(&row, &more));
    return &row;
}
""")
        out.write("\n".join(writer.lines))
        out.write(
            '\nint main(int argc, char **argv) {\n    DIR = argc > 1 ? argv[1] : ".";\n    set_up();\n    before = '
            "digest();\n"
        )
        out.writelines(f"    test_{number}();\n" for number in range(1, writer.number + 1))
        out.write(
            """    {
        objstore_view *view;
        uint64_t findings = 99;
        MUST(objstore_view_open(S, &view));
        MUST(objstore_verify(view, NULL, NULL, NULL, NULL, &findings));
        MUST(objstore_view_close(view));
        if (findings) failures++;
    }
    MUST(objstore_changes_close(KEPT));
    MUST(objstore_close(READ_ONLY));
    MUST(objstore_close(S));
    MUST(objstore_close(B));
    printf("%d functions, %d calls, %d failures\\n", FUNCTIONS, calls, failures);
    return failures != 0;
}
""".replace("FUNCTIONS", str(len(functions)))
        )


if __name__ == "__main__":
    main()
