/* What is in the stores of these tests: objects that a few numbers describe, and the text of a whole store, which is
   compared. */
#ifndef ITEMS_H
#define ITEMS_H
#include <inttypes.h>
#include <objstore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One change: the object `id` is as the rest says, or, with a negative length, is not there. */
struct item { int32_t id, n, length, seed, marks; };

static objstore_class_id item_class;
static objstore_property_id item_id, item_n, item_name, item_marks;

/* The first call that failed says so. */
#define TRY(call) \
    do { \
        objstore_status try_status = (call); \
        if (try_status != OBJSTORE_OK) return try_status; \
    } while (0)

static void item_text(const struct item *item, char *text) {
    int n = sprintf(text, "%d:%d:", item->id, item->seed);
    memset(text + n, 'a' + item->seed % 26, (size_t)item->length);
    text[n + item->length] = 0;
}

static inline objstore_status apply_item(objstore_view *transaction, const struct item *item) {
    objstore_object object;
    bool found;
    if (item->length < 0) {
        TRY(objstore_find(transaction, item_class, objstore_int(item->id), &object, &found));
        return found ? objstore_delete(transaction, object) : OBJSTORE_OK;
    } else {
        const objstore_property_id properties[] = {item_id, item_n, item_name};
        char *text = malloc((size_t)item->length + 32);
        objstore_value values[3], marks[64];
        objstore_collection collection = {0};
        objstore_status status;
        int i;
        item_text(item, text);
        values[0] = objstore_int(item->id), values[1] = objstore_int(item->n),
        values[2] = objstore_string(objstore_cstr(text));
        for (i = 0; i < item->marks; i++) marks[i] = objstore_int(item->seed + i);
        status =
            objstore_upsert(transaction, item_class, OBJSTORE_POLICY_MODIFIED, properties, values, 3, &object, NULL);
        free(text);
        TRY(status);
        collection.owner = object, collection.property_id = item_marks;
        return objstore_collection_assign(transaction, collection, NULL, marks, (size_t)item->marks);
    }
}

/* A text that grows. */
struct text { char *bytes; size_t length, capacity; };
static inline char *room(struct text *text, size_t more) {
    if (text->length + more > text->capacity) {
        text->capacity = (text->length + more) * 2;
        if (!(text->bytes = realloc(text->bytes, text->capacity))) abort();
    }
    return text->bytes + text->length;
}

struct line { int64_t id; size_t start, length; };
static int by_id(const void *a, const void *b) {
    const int64_t x = ((const struct line *)a)->id, y = ((const struct line *)b)->id;
    return (x > y) - (x < y);
}

/* All of a store as text: a line for each object, by id. */
static inline objstore_status dump(objstore_view *view, struct text *out) {
    objstore_row row;
    objstore_buffer buffer = objstore_buffer_init();
    struct text lines = {0};
    struct line *index = NULL;
    size_t count = 0, i, capacity = 0;
    bool more;
    out->length = 0;
    if (item_class == 0) return OBJSTORE_OK;
    TRY(objstore_row_init(view, item_class, &row));
    for (;;) {
        int64_t id, n;
        objstore_text name;
        objstore_value list, marks[64];
        objstore_object object;
        size_t marked, start = lines.length;
        TRY(objstore_row_next(&row, &more));
        if (!more) break;
        TRY(objstore_row_object(&row, &object));
        TRY(objstore_row_int(&row, item_id, &id, NULL));
        TRY(objstore_row_int(&row, item_n, &n, NULL));
        TRY(objstore_row_text(&row, item_name, &buffer, &name, NULL));
        lines.length += (size_t)sprintf(room(&lines, (size_t)name.length + 64), "%" PRId64 " %" PRId64 " %.*s", id, n,
            (int)name.length, name.bytes);
        TRY(objstore_get(view, object, item_marks, NULL, &list));
        TRY(objstore_collection_read(view, list.data.collection, 0, 64, NULL, NULL, marks, &marked));
        for (i = 0; i < marked; i++)
            lines.length += (size_t)sprintf(room(&lines, 32), " %" PRId64, marks[i].data.integer);
        *room(&lines, 1) = '\n', lines.length++;
        if (count == capacity) index = realloc(index, (capacity = capacity * 2 + 64) * sizeof *index);
        index[count].id = id, index[count].start = start, index[count++].length = lines.length - start;
    }
    qsort(index, count, sizeof *index, by_id);
    for (i = 0; i < count; i++) {
        memcpy(room(out, index[i].length), lines.bytes + index[i].start, index[i].length);
        out->length += index[i].length;
    }
    free(index), free(lines.bytes);
    return objstore_buffer_free(&buffer);
}

static inline objstore_status find_names(objstore *store) {
    objstore_view *view;
    objstore_status status;
    item_class = 0;
    TRY(objstore_view_open(store, &view));
    status = objstore_find_class(view, OBJSTORE_STR("Item"), &item_class);
    if (status == OBJSTORE_OK) status = objstore_find_property(view, item_class, OBJSTORE_STR("id"), &item_id);
    if (status == OBJSTORE_OK) status = objstore_find_property(view, item_class, OBJSTORE_STR("n"), &item_n);
    if (status == OBJSTORE_OK) status = objstore_find_property(view, item_class, OBJSTORE_STR("name"), &item_name);
    if (status == OBJSTORE_OK) status = objstore_find_property(view, item_class, OBJSTORE_STR("marks"), &item_marks);
    TRY(objstore_view_close(view));
    return status;
}

/* With small limits, so that little data makes checkpoints, spilled transactions and growing files. */
static inline objstore_status open_items(
    const char *path, int32_t durability, int64_t checkpoint_bytes, objstore **store) {
    objstore_schema *schema;
    objstore_config *config;
    objstore_status status;
    const objstore_text item = OBJSTORE_STR("Item");
    *store = NULL;
    TRY(objstore_schema_new(&schema));
    TRY(objstore_schema_add_class(schema, item));
    TRY(objstore_schema_add_property(
        schema, item, OBJSTORE_STR("id"), OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY));
    TRY(objstore_schema_add_property(schema, item, OBJSTORE_STR("n"), OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_INDEXED));
    TRY(objstore_schema_add_property(
        schema, item, OBJSTORE_STR("name"), OBJSTORE_KIND_STRING, OBJSTORE_PROPERTY_INDEXED));
    TRY(objstore_schema_add_collection(
        schema, item, OBJSTORE_STR("marks"), OBJSTORE_KIND_LIST, OBJSTORE_KIND_NULL, OBJSTORE_KIND_INT, 0));
    TRY(objstore_config_new(&config));
    TRY(objstore_config_set_path(config, objstore_cstr(path)));
    TRY(objstore_config_set_schema(config, schema, 1));
    TRY(objstore_config_set_durability(config, durability, 5));
    TRY(objstore_config_set_limit(config, OBJSTORE_LIMIT_LOG_BYTES, 1 << 20));
    TRY(objstore_config_set_limit(config, OBJSTORE_LIMIT_CHECKPOINT_LOG_BYTES, checkpoint_bytes));
    TRY(objstore_config_set_limit(config, OBJSTORE_LIMIT_CHECKPOINT_IDLE_MS, -1));
    TRY(objstore_config_set_limit(config, OBJSTORE_LIMIT_TRANSACTION_BYTES, 64 << 10));
    status = objstore_open(config, store);
    if (status == OBJSTORE_OK && (status = find_names(*store)) != OBJSTORE_OK) {
        /* The error is the expected one; closing keeps it. */
        objstore_close(*store);
        *store = NULL;
    }
    TRY(status);
    TRY(objstore_config_close(config));
    return objstore_schema_close(schema);
}
#endif
