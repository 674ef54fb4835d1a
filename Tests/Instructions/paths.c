/* The hot paths of the C interface, for Tests/Instructions/run: `paths FOLDER [PATH...]`.
 *
 * Every path runs in rounds of `count` operations on objects that a multiplication picks, the same in every run. The
 * first round is not counted: then caches and memory are there. What a round needs (a transaction, columns) is made
 * before it and is not counted either. Each path leaves the store as the next one finds it: some of them (PATH), as a
 * profiler wants them, do not cost quite what they do after all others. */
#include "marks.h"
#include <objstore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, ITEMS = 10000, SHOPS = 100, ELEMENTS = 64, BATCH = 1000 };

static void check(objstore_status status, const char *what) {
    if (status == OBJSTORE_OK) return;
    fprintf(stderr, "paths: %s: %s: %s\n", what, objstore_status_name(status), objstore_last_message());
    exit(1);
}
#define TRY(call) check((call), #call)
#define EXPECT(holds)                                           \
    do {                                                        \
        if (!(holds)) {                                         \
            fprintf(stderr, "paths: wrong answer: %s\n", #holds); \
            exit(1);                                            \
        }                                                       \
    } while (0)

enum { ID, NUMBER, AMOUNT, NAME, PRICE, SHOP, LABELS, REMARKS, ITEM_PROPERTIES };
static const objstore_property_row item_rows[ITEM_PROPERTIES] = {
    [ID] = {.name = "id", .kind = OBJSTORE_KIND_INT, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
    [NUMBER] = {.name = "number", .kind = OBJSTORE_KIND_INT, .flags = OBJSTORE_PROPERTY_INDEXED},
    [AMOUNT] = {.name = "amount", .kind = OBJSTORE_KIND_INT},
    [NAME] = {.name = "name", .kind = OBJSTORE_KIND_STRING},
    [PRICE] = {.name = "price", .kind = OBJSTORE_KIND_DOUBLE, .flags = OBJSTORE_PROPERTY_NULLABLE},
    [SHOP] = {.name = "shop", .kind = OBJSTORE_KIND_LINK, .target = "Shop", .flags = OBJSTORE_PROPERTY_NULLABLE},
    [LABELS] = {.name = "labels", .kind = OBJSTORE_KIND_STRING, .collection = OBJSTORE_KIND_LIST},
    [REMARKS] = {.name = "remarks",
                 .kind = OBJSTORE_KIND_INT,
                 .collection = OBJSTORE_KIND_MAP,
                 .key_kind = OBJSTORE_KIND_STRING},
};
/* What is written as a column, or given to objstore_create. */
enum { WRITTEN = PRICE + 1 };
enum { SHOP_NAME, CITY, SHOP_PROPERTIES };
static const objstore_property_row shop_rows[SHOP_PROPERTIES] = {
    [SHOP_NAME] = {.name = "name", .kind = OBJSTORE_KIND_STRING, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
    [CITY] = {.name = "city", .kind = OBJSTORE_KIND_STRING},
};

/* A store, in a file or in memory. Made is what paths insert into, of the same properties as Item. */
typedef struct place {
    objstore *store;
    objstore_view *view, *transaction;
    objstore_class_id item, made, shop;
    objstore_property_id p[ITEM_PROPERTIES], m[ITEM_PROPERTIES], s[SHOP_PROPERTIES];
    objstore_object items[ITEMS], shops[SHOPS];
    int64_t next_id;
} place;

static place in_file, in_memory;
static place *const here = &in_file;
static objstore_buffer buffer;
static volatile int64_t sink;

/* Columns of BATCH rows. */
static int64_t ids[BATCH], numbers[BATCH], amounts[BATCH], offsets[BATCH + 1];
static double prices[BATCH];
static char names[BATCH * 32];

static const char *name_of(int64_t id) {
    static char name[32];
    snprintf(name, sizeof name, "the name of item %lld", (long long)id);
    return name;
}

static void fill_columns(int64_t first) {
    int64_t i;
    offsets[0] = 0;
    for (i = 0; i < BATCH; i++) {
        const char *name = name_of(first + i);
        const size_t length = strlen(name);
        ids[i] = first + i;
        numbers[i] = (first + i) * 7919 % 1000;
        amounts[i] = (first + i) * 31 % 1009;
        prices[i] = (double)(first + i) / 4;
        memcpy(names + offsets[i], name, length);
        offsets[i + 1] = offsets[i] + (int64_t)length;
    }
}

static void insert_columns(objstore_view *transaction, objstore_class_id class_id, const objstore_property_id *p,
                           int64_t *keys) {
    objstore_column columns[WRITTEN];
    columns[ID] = objstore_column_init(p[ID], OBJSTORE_KIND_INT, ids);
    columns[NUMBER] = objstore_column_init(p[NUMBER], OBJSTORE_KIND_INT, numbers);
    columns[AMOUNT] = objstore_column_init(p[AMOUNT], OBJSTORE_KIND_INT, amounts);
    columns[NAME] = objstore_column_init(p[NAME], OBJSTORE_KIND_STRING, names);
    columns[NAME].offsets = offsets;
    columns[NAME].values_bytes = (uint64_t)offsets[BATCH];
    columns[PRICE] = objstore_column_init(p[PRICE], OBJSTORE_KIND_DOUBLE, prices);
    TRY(objstore_insert_rows(transaction, class_id, OBJSTORE_POLICY_ERROR, columns, WRITTEN, BATCH, keys, NULL));
}

static void open_place(place *it, const char *path) {
    objstore_schema *schema;
    objstore_config *config;
    objstore_view *transaction;
    int64_t keys[BATCH];
    int i, j;

    TRY(objstore_schema_new(&schema));
    TRY(objstore_schema_add_rows(schema, OBJSTORE_STR("Shop"), 0, shop_rows, SHOP_PROPERTIES));
    TRY(objstore_schema_add_rows(schema, OBJSTORE_STR("Item"), 0, item_rows, ITEM_PROPERTIES));
    TRY(objstore_schema_add_rows(schema, OBJSTORE_STR("Made"), 0, item_rows, ITEM_PROPERTIES));
    TRY(objstore_config_new(&config));
    if (path) {
        TRY(objstore_config_set_path(config, objstore_cstr(path)));
    } else {
        TRY(objstore_config_set_memory(config, OBJSTORE_STR("")));
    }
    /* There is no sync, and the library's thread has no reason to make a checkpoint while something is counted. */
    TRY(objstore_config_set_durability(config, OBJSTORE_DURABILITY_NONE, 0));
    TRY(objstore_config_set_limit(config, OBJSTORE_LIMIT_CHECKPOINT_IDLE_MS, -1));
    TRY(objstore_config_set_schema(config, schema, 1));
    TRY(objstore_open(config, &it->store));
    TRY(objstore_config_close(config));
    TRY(objstore_schema_close(schema));

    TRY(objstore_begin(it->store, &transaction));
    TRY(objstore_find_rows(transaction, OBJSTORE_STR("Item"), item_rows, ITEM_PROPERTIES, &it->item, it->p));
    TRY(objstore_find_rows(transaction, OBJSTORE_STR("Made"), item_rows, ITEM_PROPERTIES, &it->made, it->m));
    TRY(objstore_find_rows(transaction, OBJSTORE_STR("Shop"), shop_rows, SHOP_PROPERTIES, &it->shop, it->s));
    for (i = 0; i < ITEMS; i += BATCH) {
        fill_columns(i);
        insert_columns(transaction, it->item, it->p, keys);
        for (j = 0; j < BATCH; j++)
            TRY(objstore_find(transaction, it->item, objstore_int(i + j), &it->items[i + j], NULL));
    }
    for (i = 0; i < SHOPS; i++) {
        char name[32], city[32];
        objstore_value values[SHOP_PROPERTIES];
        snprintf(name, sizeof name, "shop number %d", i);
        snprintf(city, sizeof city, "city %d", i % 10);
        values[SHOP_NAME] = objstore_string(objstore_cstr(name));
        values[CITY] = objstore_string(objstore_cstr(city));
        TRY(objstore_create(transaction, it->shop, it->s, values, SHOP_PROPERTIES, &it->shops[i]));
    }
    /* One item has a long list and a long map, which lie in a tree; its neighbours have a few elements in their row. */
    for (i = 0; i < 100; i++) {
        const objstore_collection labels = objstore_collection_of(it->items[i], it->p[LABELS]);
        const objstore_collection remarks = objstore_collection_of(it->items[i], it->p[REMARKS]);
        const int count = i == 0 ? ELEMENTS : 3;
        TRY(objstore_set(transaction, it->items[i], it->p[SHOP], objstore_link(it->shops[i * 7 % SHOPS])));
        for (j = 0; j < count; j++) {
            char text[32];
            objstore_value value;
            snprintf(text, sizeof text, "element %d", j);
            value = objstore_string(objstore_cstr(text));
            TRY(objstore_list_insert(transaction, labels, OBJSTORE_END, &value, 1));
            TRY(objstore_map_set(transaction, remarks, value, objstore_int(j), NULL));
        }
    }
    TRY(objstore_commit(transaction, NULL));
    TRY(objstore_view_open(it->store, &it->view));
    it->next_id = ITEMS;
}

static objstore_object *item(int64_t turn) {
    return &here->items[turn * 7919 % ITEMS];
}

static objstore_value string(const char *bytes, size_t length) {
    return objstore_string(objstore_text_of(bytes, (int64_t)length));
}

/* Around a round: a transaction. */
static void begin(int64_t count) {
    (void)count;
    TRY(objstore_begin(here->store, &here->transaction));
}
static void commit(int64_t count) {
    here->next_id += count;
    TRY(objstore_commit(here->transaction, NULL));
}

/* Reading, by a live view. */

static void get_int(int64_t from, int64_t to) {
    objstore_value value;
    for (; from < to; from++) {
        TRY(objstore_get(here->view, *item(from), here->p[AMOUNT], NULL, &value));
        sink += value.data.integer;
    }
}

static void get_text(int64_t from, int64_t to) {
    objstore_value value;
    for (; from < to; from++) {
        TRY(objstore_get(here->view, *item(from), here->p[NAME], &buffer, &value));
        sink += value.data.text.length;
    }
}

static void get_link(int64_t from, int64_t to) {
    objstore_value value, city;
    for (; from < to; from++) {
        TRY(objstore_get(here->view, here->items[from % 100], here->p[SHOP], NULL, &value));
        TRY(objstore_get(here->view, value.data.link, here->s[CITY], &buffer, &city));
        sink += city.data.text.length;
    }
}

static void get_row(int64_t from, int64_t to) {
    objstore_value values[WRITTEN];
    for (; from < to; from++) {
        TRY(objstore_get_row(here->view, *item(from), here->p, WRITTEN, &buffer, values));
        sink += values[AMOUNT].data.integer;
    }
}

static void walk(int64_t from, int64_t to) {
    objstore_row row;
    bool more;
    int64_t value;
    TRY(objstore_row_init(here->view, here->item, &row));
    for (; from < to; from++) {
        TRY(objstore_row_next(&row, &more));
        TRY(objstore_row_int(&row, here->p[AMOUNT], &value, NULL));
        sink += value;
    }
    EXPECT(more);
}

static void find_int(int64_t from, int64_t to) {
    objstore_object object;
    for (; from < to; from++) {
        TRY(objstore_find(here->view, here->item, objstore_int(from * 7919 % ITEMS), &object, NULL));
        sink += object.key;
    }
}

static void find_text(int64_t from, int64_t to) {
    objstore_object object;
    char name[] = "shop number 00";
    for (; from < to; from++) {
        name[12] = (char)('1' + from % 9);
        name[13] = (char)('0' + from / 9 % 10);
        TRY(objstore_find(here->view, here->shop, string(name, sizeof name - 1), &object, NULL));
        sink += object.key;
    }
}

/* An operation is one question to all items, the same each time: its query is made once, before the round. */
static objstore_query *query;
static objstore_query *make_query(place *it, const char *text, const objstore_value *arguments, size_t count) {
    objstore_query *made;
    TRY(objstore_query_parse(it->view, it->item, objstore_cstr(text), arguments, count, &made));
    return made;
}
static void ask_amount(int64_t count) {
    (void)count;
    query = make_query(here, "amount < 50", NULL, 0);
}
static void ask_number(int64_t count) {
    (void)count;
    query = make_query(here, "number < 500", NULL, 0);
}
static void ask_all(int64_t count) {
    (void)count;
    query = make_query(here, "", NULL, 0);
}
static void close_query(int64_t count) {
    (void)count;
    TRY(objstore_query_close(query));
}

static void count_scan(int64_t from, int64_t to) {
    uint64_t count;
    for (; from < to; from++) {
        TRY(objstore_query_count(query, here->view, &count));
        sink += (int64_t)count;
    }
}

static void count_indexed(int64_t from, int64_t to) {
    uint64_t count;
    for (; from < to; from++) {
        TRY(objstore_query_count(query, here->view, &count));
        EXPECT(count == 500 * (ITEMS / 1000));
    }
}

static void sum(int64_t from, int64_t to) {
    objstore_value value;
    for (; from < to; from++) {
        TRY(objstore_query_aggregate(query, here->view, here->p[AMOUNT], OBJSTORE_AGGREGATE_SUM, &value));
        sink += value.data.integer;
    }
}

/* Another question each time, from the text of its query to the objects. */
static void find_where(int64_t from, int64_t to) {
    objstore_results *results;
    objstore_object objects[20];
    size_t count;
    for (; from < to; from++) {
        const objstore_value number = objstore_int(from % 1000);
        objstore_query *other = make_query(here, "number == $0", &number, 1);
        TRY(objstore_query_find(other, here->view, &results));
        TRY(objstore_results_objects(results, 0, objects, 20, &count));
        EXPECT(count == ITEMS / 1000);
        TRY(objstore_results_close(results));
        TRY(objstore_query_close(other));
    }
}

/* An operation is a row. */
static void read_column(int64_t from, int64_t to) {
    int64_t position = OBJSTORE_START;
    size_t count;
    for (; from < to; from += BATCH) {
        TRY(objstore_read_column(here->view, here->item, here->p[AMOUNT], BATCH, &position, amounts, NULL, NULL,
                                 &count));
        EXPECT(count == BATCH);
    }
}

static void map_get(int64_t from, int64_t to) {
    const objstore_collection remarks = objstore_collection_of(here->items[0], here->p[REMARKS]);
    objstore_value value;
    char key[] = "element 00";
    for (; from < to; from++) {
        key[8] = (char)('1' + from % 5);
        key[9] = (char)('0' + from / 5 % 10);
        TRY(objstore_map_get(here->view, remarks, string(key, sizeof key - 1), NULL, &value, NULL));
        sink += value.data.integer;
    }
}

static void list_get(int64_t from, int64_t to) {
    const objstore_collection labels = objstore_collection_of(here->items[0], here->p[LABELS]);
    objstore_value value;
    for (; from < to; from++) {
        TRY(objstore_collection_get(here->view, labels, (size_t)(from % ELEMENTS), &buffer, NULL, &value));
        sink += value.data.text.length;
    }
}

static void json_export(int64_t from, int64_t to) {
    objstore_text text;
    for (; from < to; from++) {
        TRY(objstore_to_json(here->view, here->items[1 + from % 99], 1, 0, &buffer, &text));
        sink += text.length;
    }
}

static void view(int64_t from, int64_t to) {
    objstore_view *opened;
    for (; from < to; from++) {
        TRY(objstore_view_open(here->store, &opened));
        TRY(objstore_view_close(opened));
    }
}

/* Writing, in one transaction a round. */

static void set_int(int64_t from, int64_t to) {
    for (; from < to; from++) TRY(objstore_set(here->transaction, *item(from), here->p[AMOUNT], objstore_int(from)));
}

static void set_indexed(int64_t from, int64_t to) {
    for (; from < to; from++)
        TRY(objstore_set(here->transaction, *item(from), here->p[NUMBER], objstore_int(from % 1000)));
}

static void set_text(int64_t from, int64_t to) {
    char text[] = "another name 0000";
    for (; from < to; from++) {
        text[13] = (char)('0' + from % 10);
        TRY(objstore_set(here->transaction, *item(from), here->p[NAME], string(text, sizeof text - 1)));
    }
}

static void list_append(int64_t from, int64_t to) {
    const objstore_collection labels = objstore_collection_of(here->items[0], here->p[LABELS]);
    const objstore_value value = objstore_string(OBJSTORE_STR("element"));
    for (; from < to; from++) TRY(objstore_list_insert(here->transaction, labels, OBJSTORE_END, &value, 1));
}

static void map_set(int64_t from, int64_t to) {
    const objstore_collection remarks = objstore_collection_of(here->items[0], here->p[REMARKS]);
    char key[] = "element 00";
    for (; from < to; from++) {
        key[8] = (char)('1' + from % 5);
        key[9] = (char)('0' + from / 5 % 10);
        TRY(objstore_map_set(here->transaction, remarks, string(key, sizeof key - 1), objstore_int(from), NULL));
    }
}

static void create(int64_t from, int64_t to) {
    objstore_value values[WRITTEN];
    int64_t i;
    for (i = 0; from < to; from++, i++) {
        values[ID] = objstore_int(here->next_id + i);
        values[NUMBER] = objstore_int(from * 7919 % 1000);
        values[AMOUNT] = objstore_int(from);
        values[NAME] = objstore_string(OBJSTORE_STR("the name of a new item"));
        values[PRICE] = objstore_double((double)from);
        TRY(objstore_create(here->transaction, here->made, here->m, values, WRITTEN, NULL));
    }
}

static void json_import(int64_t from, int64_t to) {
    static const char *const form =
        "{\"id\": %lld, \"number\": 123, \"amount\": 4567, \"name\": \"the name of a new item\", \"price\": 12.5, "
        "\"labels\": [\"one\", \"two\"]}";
    char text[200];
    int64_t i;
    for (i = 0; from < to; from++, i++) {
        snprintf(text, sizeof text, form, (long long)(here->next_id + i));
        TRY(objstore_create_from_json(here->transaction, here->made, OBJSTORE_POLICY_ERROR, 0, objstore_cstr(text),
                                      NULL, NULL, NULL, NULL, NULL));
    }
}

static void begin_columns(int64_t count) {
    begin(count);
    fill_columns(here->next_id);
}

/* An operation is a row. */
static void insert(int64_t from, int64_t to) {
    EXPECT(to - from == BATCH);
    insert_columns(here->transaction, here->made, here->m, NULL);
}

static void upsert(int64_t from, int64_t to) {
    objstore_value values[3];
    for (; from < to; from++) {
        values[0] = objstore_int(from * 7919 % ITEMS);
        values[1] = objstore_int(1);
        values[2] = objstore_int(from);
        TRY(objstore_upsert(here->transaction, here->item, OBJSTORE_POLICY_MODIFIED, here->p, values, 3, NULL, NULL));
    }
}

/* Each in an object of its own, from the beginning. */
static void delete_object(int64_t from, int64_t to) {
    for (; from < to; from++) TRY(objstore_delete(here->transaction, here->items[1000 + from]));
}

/* Transactions of one change. */

static void commit_one(place *it, int64_t from, int64_t to) {
    objstore_view *transaction;
    for (; from < to; from++) {
        TRY(objstore_begin(it->store, &transaction));
        TRY(objstore_set(transaction, it->items[from % 1000], it->p[AMOUNT], objstore_int(from)));
        TRY(objstore_commit(transaction, NULL));
    }
}
static void commit_file(int64_t from, int64_t to) {
    commit_one(&in_file, from, to);
}
static void commit_memory(int64_t from, int64_t to) {
    commit_one(&in_memory, from, to);
}

static objstore_token *token;
static int64_t told;
static objstore_status changed(objstore_changes *changes, void *userdata) {
    objstore_changes_info info = objstore_changes_info_init();
    (void)userdata;
    TRY(objstore_changes_get_info(changes, &info));
    told += (int64_t)info.modification_count;
    return OBJSTORE_OK;
}

static void observe_one(int64_t count) {
    objstore_query *one = make_query(&in_memory, "id == 17", NULL, 0);
    objstore_results *results;
    (void)count;
    TRY(objstore_view_refresh(in_memory.view, NULL));
    TRY(objstore_query_find(one, in_memory.view, &results));
    TRY(objstore_results_observe(results, 0, changed, NULL, NULL, &token));
    TRY(objstore_results_close(results));
    TRY(objstore_query_close(one));
    told = 0;
}
static void notify(int64_t from, int64_t to) {
    objstore_view *transaction;
    const int64_t count = to - from;
    for (; from < to; from++) {
        TRY(objstore_begin(in_memory.store, &transaction));
        TRY(objstore_set(transaction, in_memory.items[17], in_memory.p[AMOUNT], objstore_int(from)));
        TRY(objstore_commit(transaction, NULL));
        TRY(objstore_deliver(in_memory.store, NULL));
    }
    EXPECT(told == count);
}
static void unobserve(int64_t count) {
    (void)count;
    TRY(objstore_token_close(token));
}

/* In this order: readers come before writers. */
static const struct path {
    const char *name;
    int64_t count;
    void (*run)(int64_t from, int64_t to);
    void (*before)(int64_t count);
    void (*after)(int64_t count);
} paths[] = {
    {"get_int", 1000, get_int, NULL, NULL},
    {"get_text", 1000, get_text, NULL, NULL},
    {"get_link", 500, get_link, NULL, NULL},
    {"get_row", 500, get_row, NULL, NULL},
    {"walk", 2000, walk, NULL, NULL},
    {"find_int", 1000, find_int, NULL, NULL},
    {"find_text", 1000, find_text, NULL, NULL},
    {"count_scan", 20, count_scan, ask_amount, close_query},
    {"count_indexed", 200, count_indexed, ask_number, close_query},
    {"find_where", 100, find_where, NULL, NULL},
    {"sum", 20, sum, ask_all, close_query},
    {"read_column", 10 * BATCH, read_column, NULL, NULL},
    {"map_get", 500, map_get, NULL, NULL},
    {"list_get", 500, list_get, NULL, NULL},
    {"json_export", 100, json_export, NULL, NULL},
    {"view", 200, view, NULL, NULL},
    {"set_int", 500, set_int, begin, commit},
    {"set_indexed", 500, set_indexed, begin, commit},
    {"set_text", 500, set_text, begin, commit},
    {"upsert", 500, upsert, begin, commit},
    {"list_append", 200, list_append, begin, commit},
    {"map_set", 200, map_set, begin, commit},
    {"create", 500, create, begin, commit},
    {"insert_rows", BATCH, insert, begin_columns, commit},
    {"json_import", 200, json_import, begin, commit},
    {"delete", 500, delete_object, begin, commit},
    {"commit_file", 100, commit_file, NULL, NULL},
    {"commit_memory", 100, commit_memory, NULL, NULL},
    {"notify", 100, notify, observe_one, unobserve},
};

static void measure(const struct path *path) {
    int64_t round;
    marks_fresh_heap();
    for (round = 0; round <= ROUNDS; round++) {
        /* Or the library's thread makes one, when it likes, and what it frees and clears is not there for this one. */
        TRY(objstore_checkpoint(in_file.store));
        TRY(objstore_checkpoint(in_memory.store));
        if (path->before) path->before(path->count);
        if (round > 0) marks_begin(path->name, path->count);
        path->run(round * path->count, (round + 1) * path->count);
        if (round > 0) marks_end();
        if (path->after) path->after(path->count);
    }
}

int main(int argc, char **argv) {
    char file[1000];
    size_t i;
    int wanted;

    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: %s FOLDER [PATH...]\n", argv[0]);
        return 2;
    }
    snprintf(file, sizeof file, "%s/paths.objstore", argv[1]);
    open_place(&in_file, file);
    open_place(&in_memory, NULL);
    marks_start();
    for (i = 0; i < sizeof paths / sizeof *paths; i++) {
        for (wanted = 2; wanted < argc && strcmp(argv[wanted], paths[i].name) != 0; wanted++) {}
        if (argc == 2 || wanted < argc) measure(&paths[i]);
    }
    marks_stop();
    TRY(objstore_buffer_free(&buffer));
    TRY(objstore_close(in_file.store));
    TRY(objstore_close(in_memory.store));
    return 0;
}
