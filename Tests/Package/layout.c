/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of every public structure and the number of every public constant, on 64-bit machines. Compiling
 * this file is the test: a program compiled yesterday must understand the library of tomorrow. What begins with
 * struct_size may grow at its end: then its size here grows too, and its offsets stay. */
#include "objstore.h"

/* A static assertion that C99, C++11 and their successors accept: the same array is declared again and again, of
 * one element, or of -1. */
#define IS(condition) extern char layout[(condition) ? 1 : -1]
#define SIZE(type, bytes) IS(sizeof(type) == (bytes))
#define AT(type, member, bytes) IS(offsetof(type, member) == (bytes))

IS(sizeof(void *) == 8);
IS(sizeof(size_t) == 8);
IS(sizeof(bool) == 1);


SIZE(objstore_text, 16);
AT(objstore_text, bytes, 0);
AT(objstore_text, length, 8);

SIZE(objstore_bytes, 16);
AT(objstore_bytes, bytes, 0);
AT(objstore_bytes, length, 8);

SIZE(objstore_error, 80);
AT(objstore_error, struct_size, 0);
AT(objstore_error, status, 4);
AT(objstore_error, message, 8);
AT(objstore_error, class_name, 24);
AT(objstore_error, property_name, 40);
AT(objstore_error, position, 56);
AT(objstore_error, callback_code, 64);
AT(objstore_error, system_error, 72);
AT(objstore_error, reserved, 76);

SIZE(objstore_object, 16);
AT(objstore_object, class_id, 0);
AT(objstore_object, store_tag, 4);
AT(objstore_object, key, 8);

SIZE(objstore_timestamp, 16);
AT(objstore_timestamp, seconds, 0);
AT(objstore_timestamp, nanoseconds, 8);
AT(objstore_timestamp, reserved, 12);

SIZE(objstore_decimal128, 16);
AT(objstore_decimal128, low, 0);
AT(objstore_decimal128, high, 8);

SIZE(objstore_object_id, 12);
AT(objstore_object_id, bytes, 0);

SIZE(objstore_uuid, 16);
AT(objstore_uuid, bytes, 0);

SIZE(objstore_bookmark, 40);
AT(objstore_bookmark, bytes, 0);

SIZE(objstore_collection, 32);
AT(objstore_collection, owner, 0);
AT(objstore_collection, property_id, 16);
AT(objstore_collection, reserved, 20);
AT(objstore_collection, collection_id, 24);

SIZE(objstore_value, 40);
AT(objstore_value, kind, 0);
AT(objstore_value, reserved, 4);
AT(objstore_value, data, 8);

SIZE(objstore_buffer, 32);
AT(objstore_buffer, bytes, 0);
AT(objstore_buffer, length, 8);
AT(objstore_buffer, capacity, 16);
AT(objstore_buffer, owner, 24);

SIZE(objstore_info, 64);
AT(objstore_info, struct_size, 0);
AT(objstore_info, store_tag, 4);
AT(objstore_info, uuid, 8);
AT(objstore_info, path, 24);
AT(objstore_info, schema_version, 40);
AT(objstore_info, format, 48);
AT(objstore_info, page_bytes, 52);
AT(objstore_info, mode, 56);
AT(objstore_info, flags, 60);

SIZE(objstore_statistics, 192);
AT(objstore_statistics, struct_size, 0);
AT(objstore_statistics, reserved, 4);
AT(objstore_statistics, published_version, 8);
AT(objstore_statistics, durable_version, 16);
AT(objstore_statistics, checkpoint_version, 24);
AT(objstore_statistics, file_bytes, 32);
AT(objstore_statistics, live_bytes, 40);
AT(objstore_statistics, free_bytes, 48);
AT(objstore_statistics, pinned_bytes, 56);
AT(objstore_statistics, log_file_bytes, 64);
AT(objstore_statistics, log_used_bytes, 72);
AT(objstore_statistics, oldest_pin, 80);
AT(objstore_statistics, reader_slots, 88);
AT(objstore_statistics, processes, 96);
AT(objstore_statistics, commits, 104);
AT(objstore_statistics, checkpoints, 112);
AT(objstore_statistics, syncs, 120);
AT(objstore_statistics, log_bytes_written, 128);
AT(objstore_statistics, file_bytes_written, 136);
AT(objstore_statistics, views, 144);
AT(objstore_statistics, observers, 152);
AT(objstore_statistics, change_sets, 160);
AT(objstore_statistics, mapped_bytes, 168);
AT(objstore_statistics, arena_bytes, 176);
AT(objstore_statistics, versions, 184);

SIZE(objstore_report_line, 72);
AT(objstore_report_line, struct_size, 0);
AT(objstore_report_line, kind, 4);
AT(objstore_report_line, text, 8);
AT(objstore_report_line, class_name, 24);
AT(objstore_report_line, property_name, 40);
AT(objstore_report_line, objects, 56);
AT(objstore_report_line, lost, 64);
IS(OBJSTORE_REPORT_FINDING == 1);
IS(OBJSTORE_REPORT_NOTE == 2);
IS(OBJSTORE_REPORT_CLASS == 3);
IS(OBJSTORE_REPORT_PROPERTY == 4);

SIZE(objstore_pin, 48);
AT(objstore_pin, version, 0);
AT(objstore_pin, since_ms, 8);
AT(objstore_pin, instance, 16);
AT(objstore_pin, process_id, 24);
AT(objstore_pin, holder, 32);
AT(objstore_pin, count, 36);
AT(objstore_pin, reserved, 40);

SIZE(objstore_kept_version, 128);
AT(objstore_kept_version, version, 0);
AT(objstore_kept_version, since_ms, 8);
AT(objstore_kept_version, bookmark, 16);
AT(objstore_kept_version, name, 56);

SIZE(objstore_class_info, 48);
AT(objstore_class_info, struct_size, 0);
AT(objstore_class_info, class_id, 4);
AT(objstore_class_info, name, 8);
AT(objstore_class_info, property_count, 24);
AT(objstore_class_info, primary_key, 32);
AT(objstore_class_info, flags, 36);
AT(objstore_class_info, key_index, 40);
AT(objstore_class_info, reserved, 44);

SIZE(objstore_property_info, 96);
AT(objstore_property_info, struct_size, 0);
AT(objstore_property_info, property_id, 4);
AT(objstore_property_info, class_id, 8);
AT(objstore_property_info, target_class_id, 12);
AT(objstore_property_info, name, 16);
AT(objstore_property_info, kind, 32);
AT(objstore_property_info, collection, 36);
AT(objstore_property_info, flags, 40);
AT(objstore_property_info, index, 44);
AT(objstore_property_info, default_value, 48);
AT(objstore_property_info, key_kind, 88);

SIZE(objstore_index_info, 52);
AT(objstore_index_info, struct_size, 0);
AT(objstore_index_info, index_id, 4);
AT(objstore_index_info, class_id, 8);
AT(objstore_index_info, flags, 12);
AT(objstore_index_info, property_count, 16);
AT(objstore_index_info, properties, 20);

SIZE(objstore_row, 256);
AT(objstore_row, opaque, 0);

SIZE(objstore_property_row, 128);
AT(objstore_property_row, name, 0);
AT(objstore_property_row, kind, 8);
AT(objstore_property_row, flags, 12);
AT(objstore_property_row, collection, 16);
AT(objstore_property_row, key_kind, 20);
AT(objstore_property_row, target, 24);
AT(objstore_property_row, former_name, 32);
AT(objstore_property_row, stored_name, 40);
AT(objstore_property_row, default_value, 48);
AT(objstore_property_row, reserved, 88);

SIZE(objstore_column, 64);
AT(objstore_column, property_id, 0);
AT(objstore_column, kind, 4);
AT(objstore_column, values, 8);
AT(objstore_column, offsets, 16);
AT(objstore_column, validity, 24);
AT(objstore_column, values_bytes, 32);
AT(objstore_column, reserved, 40);

SIZE(objstore_node, 32);
AT(objstore_node, class_id, 0);
AT(objstore_node, index_id, 4);
AT(objstore_node, property_id, 8);
AT(objstore_node, flags, 12);
AT(objstore_node, owner, 16);

SIZE(objstore_query_node, 56);
AT(objstore_query_node, kind, 0);
AT(objstore_query_node, choice, 1);
AT(objstore_query_node, modifiers, 2);
AT(objstore_query_node, reserved, 3);
AT(objstore_query_node, operands, 4);
AT(objstore_query_node, number, 8);
AT(objstore_query_node, value, 16);

SIZE(objstore_insert_counts, 32);
AT(objstore_insert_counts, created, 0);
AT(objstore_insert_counts, changed, 8);
AT(objstore_insert_counts, unchanged, 16);
AT(objstore_insert_counts, reserved, 24);

SIZE(objstore_packed, 64);
AT(objstore_packed, magic, 0);
AT(objstore_packed, layout, 4);
AT(objstore_packed, row_count, 8);
AT(objstore_packed, column_count, 16);
AT(objstore_packed, class_id, 20);
AT(objstore_packed, store_tag, 24);
AT(objstore_packed, reserved, 28);
AT(objstore_packed, version, 32);
AT(objstore_packed, keys_offset, 40);
AT(objstore_packed, total_bytes, 48);
AT(objstore_packed, deleted_count, 56);

SIZE(objstore_packed_column, 48);
AT(objstore_packed_column, property_id, 0);
AT(objstore_packed_column, kind, 4);
AT(objstore_packed_column, validity_offset, 8);
AT(objstore_packed_column, offsets_offset, 16);
AT(objstore_packed_column, values_offset, 24);
AT(objstore_packed_column, values_bytes, 32);
AT(objstore_packed_column, null_count, 40);

SIZE(objstore_changes_info, 64);
AT(objstore_changes_info, struct_size, 0);
AT(objstore_changes_info, flags, 4);
AT(objstore_changes_info, class_id, 8);
AT(objstore_changes_info, mask_words, 12);
AT(objstore_changes_info, from_version, 16);
AT(objstore_changes_info, to_version, 24);
AT(objstore_changes_info, deletion_count, 32);
AT(objstore_changes_info, insertion_count, 40);
AT(objstore_changes_info, modification_count, 48);
AT(objstore_changes_info, move_count, 56);

/* The members of a value share one place. */
AT(objstore_value, data.boolean, 8);
AT(objstore_value, data.integer, 8);
AT(objstore_value, data.single, 8);
AT(objstore_value, data.real, 8);
AT(objstore_value, data.decimal128, 8);
AT(objstore_value, data.text, 8);
AT(objstore_value, data.binary, 8);
AT(objstore_value, data.timestamp, 8);
AT(objstore_value, data.object_id, 8);
AT(objstore_value, data.uuid, 8);
AT(objstore_value, data.link, 8);
AT(objstore_value, data.collection, 8);
AT(objstore_value, data.document, 8);
AT(objstore_value, data.words, 8);
SIZE(((objstore_value *)0)->data, 32);

SIZE(objstore_status, 4);
IS((objstore_status)-1 < (objstore_status)0); /* signed */
IS(OBJSTORE_OK == 0);
IS(OBJSTORE_ERR_INVALID_ARGUMENT == 1);
IS(OBJSTORE_ERR_CLOSED_HANDLE == 2);
IS(OBJSTORE_ERR_WRONG_KIND == 3);
IS(OBJSTORE_ERR_WRONG_STORE == 4);
IS(OBJSTORE_ERR_WRONG_VIEW == 5);
IS(OBJSTORE_ERR_NO_SUCH_CLASS == 6);
IS(OBJSTORE_ERR_NO_SUCH_PROPERTY == 7);
IS(OBJSTORE_ERR_NO_SUCH_OBJECT == 8);
IS(OBJSTORE_ERR_WRONG_TYPE == 9);
IS(OBJSTORE_ERR_NOT_NULLABLE == 10);
IS(OBJSTORE_ERR_MISSING_VALUE == 11);
IS(OBJSTORE_ERR_NULL_VALUE == 12);
IS(OBJSTORE_ERR_INVALID_UTF8 == 13);
IS(OBJSTORE_ERR_VALUE_TOO_LARGE == 14);
IS(OBJSTORE_ERR_OUT_OF_RANGE == 15);
IS(OBJSTORE_ERR_NO_PRIMARY_KEY == 16);
IS(OBJSTORE_ERR_DUPLICATE_KEY == 17);
IS(OBJSTORE_ERR_KEY_IMMUTABLE == 18);
IS(OBJSTORE_ERR_NOT_POSITIONED == 19);
IS(OBJSTORE_ERR_INVALID_SIGNATURE == 20);
IS(OBJSTORE_ERR_INVALID_QUERY == 21);
IS(OBJSTORE_ERR_NOT_SUPPORTED == 22);
IS(OBJSTORE_ERR_NO_SUCH_INDEX == 23);
IS(OBJSTORE_ERR_INVALID_JSON == 25);
IS(OBJSTORE_ERR_NOT_IN_WRITE == 40);
IS(OBJSTORE_ERR_ALREADY_IN_WRITE == 41);
IS(OBJSTORE_ERR_IN_CALLBACK == 42);
IS(OBJSTORE_ERR_BUSY == 43);
IS(OBJSTORE_ERR_TIMEOUT == 44);
IS(OBJSTORE_ERR_READ_ONLY == 45);
IS(OBJSTORE_ERR_TOO_MANY_READERS == 46);
IS(OBJSTORE_ERR_FORKED == 47);
IS(OBJSTORE_ERR_CANCELLED == 48);
IS(OBJSTORE_ERR_CALLBACK == 49);
IS(OBJSTORE_ERR_TOO_MANY_VERSIONS == 50);
IS(OBJSTORE_ERR_VERSION_GONE == 51);
IS(OBJSTORE_ERR_OUT_OF_MEMORY == 60);
IS(OBJSTORE_ERR_OUT_OF_SPACE == 61);
IS(OBJSTORE_ERR_IO == 62);
IS(OBJSTORE_ERR_OUTCOME_UNKNOWN == 63);
IS(OBJSTORE_ERR_POISONED == 64);
IS(OBJSTORE_ERR_NOT_FOUND == 80);
IS(OBJSTORE_ERR_ALREADY_EXISTS == 81);
IS(OBJSTORE_ERR_NOT_A_STORE == 82);
IS(OBJSTORE_ERR_CORRUPT == 83);
IS(OBJSTORE_ERR_VERSION_MISMATCH == 84);
IS(OBJSTORE_ERR_INCOMPATIBLE_FILE_SYSTEM == 85);
IS(OBJSTORE_ERR_NEEDS_LOG == 86);
IS(OBJSTORE_ERR_CONFIG_MISMATCH == 87);
IS(OBJSTORE_ERR_INVALID_SCHEMA == 88);
IS(OBJSTORE_ERR_SCHEMA_MISMATCH == 89);
IS(OBJSTORE_ERR_INTERNAL == 99);
IS(OBJSTORE_USER_STATUS == 10000);

SIZE(objstore_kind, 4);
IS((objstore_kind)-1 < (objstore_kind)0); /* signed */
IS(OBJSTORE_KIND_NULL == 0);
IS(OBJSTORE_KIND_BOOL == 1);
IS(OBJSTORE_KIND_INT == 2);
IS(OBJSTORE_KIND_FLOAT == 3);
IS(OBJSTORE_KIND_DOUBLE == 4);
IS(OBJSTORE_KIND_DECIMAL128 == 5);
IS(OBJSTORE_KIND_STRING == 6);
IS(OBJSTORE_KIND_BINARY == 7);
IS(OBJSTORE_KIND_TIMESTAMP == 8);
IS(OBJSTORE_KIND_OBJECT_ID == 9);
IS(OBJSTORE_KIND_UUID == 10);
IS(OBJSTORE_KIND_LINK == 11);
IS(OBJSTORE_KIND_LIST == 12);
IS(OBJSTORE_KIND_SET == 13);
IS(OBJSTORE_KIND_MAP == 14);
IS(OBJSTORE_KIND_MIXED == 15);
IS(OBJSTORE_KIND_DOCUMENT == 16);

SIZE(objstore_mode, 4);
IS((objstore_mode)-1 < (objstore_mode)0); /* signed */
IS(OBJSTORE_MODE_READ_WRITE == 0);
IS(OBJSTORE_MODE_READ_ONLY == 1);
IS(OBJSTORE_MODE_IMMUTABLE == 2);

SIZE(objstore_creation, 4);
IS((objstore_creation)-1 < (objstore_creation)0); /* signed */
IS(OBJSTORE_CREATION_IF_MISSING == 0);
IS(OBJSTORE_CREATION_NEVER == 1);
IS(OBJSTORE_CREATION_ALWAYS == 2);

SIZE(objstore_durability, 4);
IS((objstore_durability)-1 < (objstore_durability)0); /* signed */
IS(OBJSTORE_DURABILITY_FULL == 0);
IS(OBJSTORE_DURABILITY_RELAXED == 1);
IS(OBJSTORE_DURABILITY_NONE == 2);

SIZE(objstore_limit, 4);
IS((objstore_limit)-1 < (objstore_limit)0); /* signed */
IS(OBJSTORE_LIMIT_WRITE_TIMEOUT_MS == 1);
IS(OBJSTORE_LIMIT_OPEN_TIMEOUT_MS == 2);
IS(OBJSTORE_LIMIT_VALUE_BYTES == 3);
IS(OBJSTORE_LIMIT_CHECKPOINT_LOG_BYTES == 4);
IS(OBJSTORE_LIMIT_CHECKPOINT_OPERATIONS == 5);
IS(OBJSTORE_LIMIT_CHECKPOINT_IDLE_MS == 6);
IS(OBJSTORE_LIMIT_LOG_BYTES == 7);
IS(OBJSTORE_LIMIT_TRANSACTION_BYTES == 8);

SIZE(objstore_log_level, 4);
IS((objstore_log_level)-1 < (objstore_log_level)0); /* signed */
IS(OBJSTORE_LOG_ERROR == 1);
IS(OBJSTORE_LOG_WARNING == 2);
IS(OBJSTORE_LOG_INFO == 3);
IS(OBJSTORE_LOG_DEBUG == 4);

SIZE(objstore_pin_holder, 4);
IS((objstore_pin_holder)-1 < (objstore_pin_holder)0); /* signed */
IS(OBJSTORE_PIN_VIEW == 1);
IS(OBJSTORE_PIN_OBSERVER == 2);
IS(OBJSTORE_PIN_CHECKPOINT == 3);
IS(OBJSTORE_PIN_KEPT == 4);

SIZE(objstore_view_kind, 4);
IS((objstore_view_kind)-1 < (objstore_view_kind)0); /* signed */
IS(OBJSTORE_VIEW_LIVE == 1);
IS(OBJSTORE_VIEW_FROZEN == 2);
IS(OBJSTORE_VIEW_TRANSACTION == 3);

SIZE(objstore_policy, 4);
IS((objstore_policy)-1 < (objstore_policy)0); /* signed */
IS(OBJSTORE_POLICY_ERROR == 0);
IS(OBJSTORE_POLICY_MODIFIED == 1);
IS(OBJSTORE_POLICY_ALL == 2);

SIZE(objstore_outcome, 4);
IS((objstore_outcome)-1 < (objstore_outcome)0); /* signed */
IS(OBJSTORE_OUTCOME_UNCHANGED == 0);
IS(OBJSTORE_OUTCOME_CHANGED == 1);
IS(OBJSTORE_OUTCOME_CREATED == 2);

SIZE(objstore_set_operation, 4);
IS((objstore_set_operation)-1 < (objstore_set_operation)0); /* signed */
IS(OBJSTORE_SET_UNION == 1);
IS(OBJSTORE_SET_SUBTRACTION == 2);
IS(OBJSTORE_SET_INTERSECTION == 3);
IS(OBJSTORE_SET_SYMMETRIC_DIFFERENCE == 4);
IS(OBJSTORE_SETS_INTERSECT == 0x1u);
IS(OBJSTORE_SETS_SUBSET == 0x2u);
IS(OBJSTORE_SETS_SUPERSET == 0x4u);

SIZE(objstore_query_kind, 4);
IS((objstore_query_kind)-1 < (objstore_query_kind)0); /* signed */
IS(OBJSTORE_QUERY_TRUTH == 1);
IS(OBJSTORE_QUERY_AND == 2);
IS(OBJSTORE_QUERY_OR == 3);
IS(OBJSTORE_QUERY_NOT == 4);
IS(OBJSTORE_QUERY_COMPARE == 5);
IS(OBJSTORE_QUERY_CONSTANT == 6);
IS(OBJSTORE_QUERY_LIST == 7);
IS(OBJSTORE_QUERY_ARITHMETIC == 8);
IS(OBJSTORE_QUERY_VARIABLE == 9);
IS(OBJSTORE_QUERY_OBJECT == 10);
IS(OBJSTORE_QUERY_PROPERTY == 11);
IS(OBJSTORE_QUERY_ELEMENT == 12);
IS(OBJSTORE_QUERY_KEY == 13);
IS(OBJSTORE_QUERY_INCOMING == 14);
IS(OBJSTORE_QUERY_ALL_INCOMING == 15);
IS(OBJSTORE_QUERY_NAME == 16);
IS(OBJSTORE_QUERY_KEYS == 17);
IS(OBJSTORE_QUERY_VALUES == 18);
IS(OBJSTORE_QUERY_TYPE == 19);
IS(OBJSTORE_QUERY_COUNT == 20);
IS(OBJSTORE_QUERY_FILTER == 21);
IS(OBJSTORE_QUERY_AGGREGATE == 22);
IS(OBJSTORE_QUERY_QUANTIFIED == 23);
IS(OBJSTORE_QUERY_BOX == 24);
IS(OBJSTORE_QUERY_CIRCLE == 25);
IS(OBJSTORE_QUERY_POLYGON == 26);
IS(OBJSTORE_QUERY_SORT_KEY == 27);
IS(OBJSTORE_QUERY_SORT == 28);
IS(OBJSTORE_QUERY_DISTINCT == 29);
IS(OBJSTORE_QUERY_LIMIT == 30);
IS(OBJSTORE_QUERY_OFFSET == 31);
IS(OBJSTORE_QUERY_WHOLE == 32);
IS(OBJSTORE_QUERY_CALL == 33);

SIZE(objstore_operator, 4);
IS((objstore_operator)-1 < (objstore_operator)0); /* signed */
IS(OBJSTORE_EQUAL == 1);
IS(OBJSTORE_NOT_EQUAL == 2);
IS(OBJSTORE_LESS == 3);
IS(OBJSTORE_LESS_EQUAL == 4);
IS(OBJSTORE_GREATER == 5);
IS(OBJSTORE_GREATER_EQUAL == 6);
IS(OBJSTORE_IN == 7);
IS(OBJSTORE_BETWEEN == 8);
IS(OBJSTORE_BEGINS_WITH == 9);
IS(OBJSTORE_ENDS_WITH == 10);
IS(OBJSTORE_CONTAINS == 11);
IS(OBJSTORE_LIKE == 12);
IS(OBJSTORE_FULL_TEXT == 13);
IS(OBJSTORE_GEO_WITHIN == 14);

SIZE(objstore_arithmetic, 4);
IS((objstore_arithmetic)-1 < (objstore_arithmetic)0); /* signed */
IS(OBJSTORE_ADD == 1);
IS(OBJSTORE_SUBTRACT == 2);
IS(OBJSTORE_MULTIPLY == 3);
IS(OBJSTORE_DIVIDE == 4);
IS(OBJSTORE_NEGATE == 5);

SIZE(objstore_quantifier, 4);
IS((objstore_quantifier)-1 < (objstore_quantifier)0); /* signed */
IS(OBJSTORE_ANY == 1);
IS(OBJSTORE_ALL == 2);
IS(OBJSTORE_NONE == 3);

SIZE(objstore_place, 4);
IS((objstore_place)-1 < (objstore_place)0); /* signed */
IS(OBJSTORE_PLACE_AT == 1);
IS(OBJSTORE_PLACE_FIRST == 2);
IS(OBJSTORE_PLACE_LAST == 3);
IS(OBJSTORE_PLACE_EVERY == 4);

SIZE(objstore_direction, 4);
IS((objstore_direction)-1 < (objstore_direction)0); /* signed */
IS(OBJSTORE_ASCENDING == 1);
IS(OBJSTORE_DESCENDING == 2);

SIZE(objstore_aggregate_kind, 4);
IS((objstore_aggregate_kind)-1 < (objstore_aggregate_kind)0); /* signed */
IS(OBJSTORE_AGGREGATE_SUM == 1);
IS(OBJSTORE_AGGREGATE_MINIMUM == 2);
IS(OBJSTORE_AGGREGATE_MAXIMUM == 3);
IS(OBJSTORE_AGGREGATE_AVERAGE == 4);

SIZE(objstore_change, 4);
IS((objstore_change)-1 < (objstore_change)0); /* signed */
IS(OBJSTORE_DELETIONS == 1);
IS(OBJSTORE_INSERTIONS == 2);
IS(OBJSTORE_MODIFICATIONS == 3);
IS(OBJSTORE_MODIFICATIONS_AFTER == 4);
IS(OBJSTORE_MOVES == 5);
IS(OBJSTORE_MOVES_AFTER == 6);

SIZE(objstore_side, 4);
IS((objstore_side)-1 < (objstore_side)0); /* signed */
IS(OBJSTORE_BEFORE == 1);
IS(OBJSTORE_AFTER == 2);

IS(OBJSTORE_PROPERTY_PRIMARY_KEY == 0x1u);
IS(OBJSTORE_PROPERTY_INDEXED == 0x2u);
IS(OBJSTORE_PROPERTY_NULLABLE == 0x4u);
IS(OBJSTORE_PROPERTY_UNIQUE == 0x8u);
IS(OBJSTORE_PROPERTY_HAS_DEFAULT == 0x100u);
IS(OBJSTORE_INDEX_UNIQUE == 0x1u);
IS(OBJSTORE_INDEX_PRIMARY_KEY == 0x2u);
IS(OBJSTORE_MAX_INDEX_PROPERTIES == 8);
IS(OBJSTORE_IGNORES_CASE == 0x1u);
IS(OBJSTORE_IGNORES_ACCENTS == 0x2u);
IS(OBJSTORE_RANGE_AFTER_FROM == 0x1u);
IS(OBJSTORE_JSON_EXTENDED == 0x1u);
IS(OBJSTORE_JSON_RELAXED == 0x2u);
IS(OBJSTORE_JSON_PRETTY == 0x4u);
IS(OBJSTORE_JSON_NAN_AS_NULL == 0x8u);
IS(OBJSTORE_RANGE_BEFORE_TO == 0x2u);
IS(OBJSTORE_CONFIG_DELIVER_ON_WORKER == 0x1u);
IS(OBJSTORE_CONFIG_EXCLUSIVE == 0x2u);
IS(OBJSTORE_CONFIG_WITHOUT_LOG == 0x4u); IS(OBJSTORE_CONFIG_DELETE_IF_MIGRATION_NEEDED == 0x8u);
IS(OBJSTORE_INFO_CREATED == 0x1u);
IS(OBJSTORE_INFO_RECOVERED == 0x2u);
IS(OBJSTORE_INFO_MEMORY == 0x4u);
IS(OBJSTORE_PACKED_MAGIC == 0x4B504F4Fu);
IS(OBJSTORE_OBSERVE_INITIAL == 0x1u);
IS(OBJSTORE_OBSERVE_PAUSED == 0x2u);
IS(OBJSTORE_CHANGES_INITIAL == 0x1u);
IS(OBJSTORE_CHANGES_OTHER_PROCESS == 0x2u);
IS(OBJSTORE_CHANGES_COMPARED == 0x4u);
IS(OBJSTORE_CHANGES_OWNER_DELETED == 0x8u);
IS(OBJSTORE_FOREVER == -1);
IS(OBJSTORE_START == -1);
