/* Calls that need much memory, in a process that may have only a little more than it has: with a limit on its address
 * space that grows from attempt to attempt, so that another allocation is the one that fails. Each call succeeds or is
 * OUT_OF_MEMORY, the transaction can be cancelled, and the store then is what it was.
 *
 *      ./address_space FOLDER [SCENARIO]
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <objstore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *now = "the beginning"; /* which scenario, for messages */
static size_t allowed;

#define CHECK(condition)                                                                                       \
    do {                                                                                                       \
        if (!(condition)) {                                                                                    \
            fprintf(stderr, "address_space.c:%d: %s within %zu KiB: %s (last: %s)\n", __LINE__, now, allowed >> 10, \
                #condition, objstore_last_message());                                                          \
            _exit(1);                                                                                          \
        }                                                                                                      \
    } while (0)
#define OK(call) CHECK((call) == OBJSTORE_OK)
/* In a scenario: on to the next call, or out with the status. */
#define TRY(call) do { objstore_status tried = (call); if (tried != OBJSTORE_OK) return tried; } while (0)
#define TEXT(name) OBJSTORE_STR(name)

/* ---- the limit ---------------------------------------------------------------------------------------------- */

static void limit_memory(size_t more) {
    char line[200];
    size_t kib = 0;
    FILE *file;
    struct rlimit limit;
    malloc_trim(0);
    CHECK(file = fopen("/proc/self/status", "r"));
    while (fgets(line, sizeof line, file)) if (!strncmp(line, "VmSize:", 7)) kib = (size_t)atol(line + 7);
    fclose(file);
    CHECK(kib > 0);
    limit.rlim_cur = (kib << 10) + more;
    limit.rlim_max = RLIM_INFINITY;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}
static void unlimit_memory(void) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* ---- the store ---------------------------------------------------------------------------------------------- */

enum { ID, N, NAME, TEXT_, DATA, ANY, LIST, SET, MAP, LINKS, THING_PROPERTIES, WIDE = 150 };
static const objstore_property_row thing_rows[THING_PROPERTIES] = {
    [ID] = {.name = "id", .kind = OBJSTORE_KIND_INT, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
    [N] = {.name = "n", .kind = OBJSTORE_KIND_INT, .flags = OBJSTORE_PROPERTY_INDEXED},
    [NAME] = {.name = "name", .kind = OBJSTORE_KIND_STRING, .flags = OBJSTORE_PROPERTY_INDEXED},
    [TEXT_] = {.name = "text", .kind = OBJSTORE_KIND_STRING},
    [DATA] = {.name = "data", .kind = OBJSTORE_KIND_BINARY, .flags = OBJSTORE_PROPERTY_NULLABLE},
    [ANY] = {.name = "any", .kind = OBJSTORE_KIND_MIXED},
    [LIST] = {.name = "list", .kind = OBJSTORE_KIND_STRING, .collection = OBJSTORE_KIND_LIST},
    [SET] = {.name = "set", .kind = OBJSTORE_KIND_STRING, .collection = OBJSTORE_KIND_SET},
    [MAP] = {.name = "map", .kind = OBJSTORE_KIND_STRING, .collection = OBJSTORE_KIND_MAP,
             .key_kind = OBJSTORE_KIND_STRING},
    [LINKS] = {.name = "links", .kind = OBJSTORE_KIND_LINK, .collection = OBJSTORE_KIND_LIST, .target = "Thing"},
};

static const char *path;            /* NULL: the store is in memory */
static objstore *store;
static objstore_view *tx, *view;
static objstore_class_id thing, wide;
static objstore_property_id p[THING_PROPERTIES], w[WIDE];
static objstore_index_id by_name, by_both;
static objstore_object first;
static objstore_results *results;

static objstore_schema *make_schema(void) {
    objstore_schema *schema;
    const objstore_text both[] = {TEXT("name"), TEXT("n")}, name = TEXT("Wide");
    char text[32];
    int i;
    OK(objstore_schema_new(&schema));
    OK(objstore_schema_add_rows(schema, TEXT("Thing"), 0, thing_rows, THING_PROPERTIES));
    OK(objstore_schema_set_default(schema, TEXT("Thing"), TEXT("n"), objstore_int(0)));
    OK(objstore_schema_set_default(schema, TEXT("Thing"), TEXT("name"), objstore_string(TEXT(""))));
    OK(objstore_schema_set_default(schema, TEXT("Thing"), TEXT("text"), objstore_string(TEXT(""))));
    OK(objstore_schema_add_index(schema, TEXT("Thing"), both, 2, 0));
    OK(objstore_schema_add_class(schema, name));
    for (i = 0; i < WIDE; i++) {
        snprintf(text, sizeof text, "w%d", i);
        OK(objstore_schema_add_property(schema, name, objstore_cstr(text),
            i % 3 ? OBJSTORE_KIND_STRING : OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_NULLABLE));
    }
    return schema;
}

static objstore_status open_store(objstore **opened) {
    objstore_config *config = NULL;
    objstore_schema *schema = make_schema();
    objstore_status status;
    OK(objstore_config_new(&config));
    OK(path ? objstore_config_set_path(config, objstore_cstr(path))
            : objstore_config_set_memory(config, OBJSTORE_STR("")));
    OK(objstore_config_set_schema(config, schema, 1));
    OK(objstore_config_set_durability(config, OBJSTORE_DURABILITY_NONE, 5));
    status = objstore_open(config, opened);
    OK(objstore_config_close(config));
    OK(objstore_schema_close(schema));
    return status;
}

static void find_ids(void) {
    objstore_view *view;
    char text[32];
    int i;
    OK(objstore_view_open(store, &view));
    OK(objstore_find_rows(view, TEXT("Thing"), thing_rows, THING_PROPERTIES, &thing, p));
    OK(objstore_find_class(view, TEXT("Wide"), &wide));
    for (i = 0; i < WIDE; i++) {
        snprintf(text, sizeof text, "w%d", i);
        OK(objstore_find_property(view, wide, objstore_cstr(text), &w[i]));
    }
    OK(objstore_find_index(view, thing, (objstore_property_id[]){p[NAME]}, 1, &by_name));
    OK(objstore_find_index(view, thing, (objstore_property_id[]){p[NAME], p[N]}, 2, &by_both));
    OK(objstore_view_close(view));
}

/* ---- what there is before an attempt, and after it ---------------------------------------------------------- */

static uint64_t digest_of(uint64_t sum, const void *bytes, size_t count) {
    const uint64_t *words = bytes;
    size_t i;
    for (i = 0; i < count / 8; i++) sum = (sum ^ words[i]) * 0x9E3779B97F4A7C15u;
    return sum + count;
}

static uint64_t digest(void) {
    objstore_view *view;
    objstore_query *query;
    objstore_buffer buffer = objstore_buffer_init();
    uint64_t sum = 0, count, ranged;
    size_t got;
    int i;
    void *numbers, *offsets, *validity;
    OK(objstore_view_open(store, &view));
    OK(objstore_count(view, wide, &count));
    sum += count;
    OK(objstore_count(view, thing, &count));
    OK(objstore_query_range(view, by_both, NULL, 0, NULL, 0, 0, &query));
    OK(objstore_query_count(query, view, &ranged));
    OK(objstore_query_close(query));
    CHECK(ranged == count);
    CHECK((numbers = malloc(8 * count + 8)) && (offsets = malloc(8 * count + 8)) && (validity = malloc(count / 8 + 1)));
    for (i = ID; i <= N; i++) {
        int64_t position = OBJSTORE_START;
        OK(objstore_read_column(view, thing, p[i], count, &position, numbers, NULL, NULL, &got));
        sum = digest_of(sum, numbers, 8 * got);
    }
    for (i = NAME; i <= DATA; i++) {
        int64_t position = OBJSTORE_START;
        OK(objstore_read_text_column(view, thing, p[i], count, &position, &buffer, offsets, validity, NULL, &got));
        sum = digest_of(digest_of(sum, offsets, 8 * got), buffer.bytes, buffer.length);
    }
    for (i = LIST; i <= LINKS; i++) {
        OK(objstore_collection_count(view, objstore_collection_of(first, p[i]), &ranged));
        sum = (sum ^ ranged) * 0x9E3779B97F4A7C15u;
    }
    free(numbers), free(offsets), free(validity);
    OK(objstore_buffer_free(&buffer));
    OK(objstore_view_close(view));
    return sum;
}

/* ---- arguments, made before there is a limit ---------------------------------------------------------------- */

enum { BIG = 20 << 20, MANY = 150000 };
static char *big;                   /* BIG bytes of letters */
static objstore_value *values, *keys;
static size_t value_count;
static char *json;
static objstore_buffer document_buffer;
static objstore_value document;

static void *get_memory(size_t bytes) {
    void *memory = calloc(1, bytes);
    CHECK(memory);
    return memory;
}

static void make_big(void) {
    size_t i;
    big = get_memory(BIG + 1);
    for (i = 0; i < BIG; i++) big[i] = (char)('a' + i * 31 % 26);
}
static objstore_value big_text(int64_t count) { return objstore_string(objstore_text_of(big, count)); }

/* Texts of 40 to 60 bytes, all different. */
static objstore_text text_at(size_t i) {
    static char *all;
    if (!all) {
        size_t k;
        all = get_memory(MANY * 64);
        for (k = 0; k < MANY; k++)
            snprintf(all + 64 * k, 64, "a text of some length that nobody else has %zu", k * 7919);
    }
    return objstore_cstr(all + 64 * (i % MANY));
}

static void make_values(void) {
    size_t i;
    value_count = MANY + 1;
    values = get_memory(value_count * sizeof *values), keys = get_memory(value_count * sizeof *keys);
    values[0] = objstore_list_of(MANY);
    for (i = 0; i < MANY; i++) {
        values[i + 1] = objstore_string(text_at(i));
        keys[i] = objstore_string(text_at(MANY - 1 - i));
    }
}
static void make_document(void) {
    make_values();
    document_buffer = objstore_buffer_init();
    OK(objstore_document_pack(values, value_count, &document_buffer, &document));
}

/* [{"id": 1000, "text": …, "list": [ … ]}, …] */
static void make_json(size_t objects, size_t elements) {
    size_t i, k, room = objects * (elements + 4) * 70 + 64, at = 0;
    json = get_memory(room);
    at += (size_t)sprintf(json + at, "[");
    for (i = 0; i < objects; i++) {
        at += (size_t)sprintf(json + at, "%s{\"id\": %zu, \"text\": \"%s\", \"list\": [", i ? "," : "", i + 1000,
            text_at(i).bytes);
        for (k = 0; k < elements; k++) at += (size_t)sprintf(json + at, "%s\"%s\"", k ? "," : "", text_at(k).bytes);
        at += (size_t)sprintf(json + at, "], \"any\": [1, 2.5, {\"a\": null}]}");
    }
    sprintf(json + at, "]");
}

/* Columns of `rows` rows: id from `from` on, n, and text with `different` values of `length` bytes. */
static objstore_column columns[WIDE];
static int64_t *ids, *offsets;
static size_t row_count;
static void make_columns(size_t rows, int64_t from, size_t different, size_t length) {
    char *texts = get_memory(rows * length);
    size_t i;
    ids = get_memory(rows * 8), offsets = get_memory((rows + 1) * 8);
    for (i = 0; i < rows; i++) {
        ids[i] = from + (int64_t)i;
        offsets[i + 1] = (int64_t)((i + 1) * length);
        memset(texts + i * length, 'x', length);
        memcpy(texts + i * length, text_at(i * 13 % different).bytes + 40, 8);
    }
    row_count = rows;
    columns[0] = objstore_column_init(p[ID], OBJSTORE_KIND_INT, ids);
    columns[1] = objstore_column_init(p[N], OBJSTORE_KIND_INT, ids);
    columns[2] = objstore_column_init(p[TEXT_], OBJSTORE_KIND_STRING, texts);
    columns[2].offsets = offsets, columns[2].values_bytes = rows * length;
}
static void insert_now(void) {
    OK(objstore_begin(store, &tx));
    OK(objstore_insert_rows(tx, thing, OBJSTORE_POLICY_ERROR, columns, 3, row_count, NULL, NULL));
    OK(objstore_commit(tx, NULL));
    tx = NULL;
}
static void make_rows(void) { make_columns(MANY, 1000, MANY, 40); }
static void make_dictionary(void) { make_columns(MANY, 1000, 200, 200); }
static void have_rows(void) { make_rows(), insert_now(); }
static void have_dictionary(void) { make_dictionary(), insert_now(), make_values(); }
static void make_wide(void) {
    size_t i;
    make_columns(3000, 0, 3000, 40);
    for (i = WIDE; i-- > 0;) {
        if (i % 3 == 0) columns[i] = objstore_column_init(w[i], OBJSTORE_KIND_INT, ids);
        else columns[i] = columns[2], columns[i].property_id = w[i];
    }
}
static void change_first(int property, objstore_value value) {
    OK(objstore_begin(store, &tx));
    OK(objstore_set(tx, first, p[property], value));
    OK(objstore_commit(tx, NULL));
    tx = NULL;
}
static void have_big(void) {
    make_big(), change_first(DATA, objstore_binary(big, BIG)), change_first(NAME, big_text(1 << 20));
}
static void have_document(void) { make_document(), change_first(ANY, document); }
static void have_list(void) {
    make_values();
    OK(objstore_begin(store, &tx));
    OK(objstore_collection_assign(tx, objstore_collection_of(first, p[LIST]), NULL, values + 1, MANY));
    OK(objstore_commit(tx, NULL));
    tx = NULL;
}

/* ---- scenarios ---------------------------------------------------------------------------------------------- */

/* Uses a query, and closes it: where there is no memory for a use, the query stays as it is. */
static objstore_status use(objstore_query *query, objstore_status status) {
    OK(objstore_query_close(query));
    return status;
}
/* Finds what a text with one argument (NULL: none) says. */
static objstore_status find(objstore_view *in, const char *text, const objstore_value *argument) {
    objstore_query *query;
    TRY(objstore_query_parse(in, thing, objstore_cstr(text), argument, argument != NULL, &query));
    return use(query, objstore_query_find(query, in, &results));
}
static objstore_status find_in(objstore_view *in, objstore_index_id index, const objstore_value *from) {
    objstore_query *query;
    TRY(objstore_query_range(in, index, from, from != NULL, from, from != NULL, 0, &query));
    return use(query, objstore_query_find(query, in, &results));
}
static void forget(void) {
    OK(objstore_results_close(results));
    results = NULL;
}

static objstore_status create_one(int64_t id, int property, objstore_value value) {
    return objstore_create(tx, thing, (objstore_property_id[]){p[ID], p[property]},
        (objstore_value[]){objstore_int(id), value}, 2, NULL);
}

static objstore_status create_text(void) { return create_one(6000, TEXT_, big_text(BIG)); }
static objstore_status create_indexed(void) { return create_one(6000, NAME, big_text(BIG / 2)); }
static objstore_status set_binary(void) { return objstore_set(tx, first, p[DATA], objstore_binary(big, BIG)); }
static objstore_status many_large(void) {
    int64_t i;
    for (i = 0; i < 40; i++) TRY(create_one(7000 + i, DATA, objstore_binary(big, 300000 + i)));
    return OBJSTORE_OK;
}
static objstore_status index_texts(void) {
    int64_t i;
    for (i = 0; i < 20; i++) TRY(create_one(7000 + i, NAME, objstore_string(objstore_text_of(big + i, 500000))));
    return find_in(tx, by_name, NULL);
}
static objstore_status create_many(void) {
    int64_t i;
    for (i = 0; i < 60000; i++)
        TRY(objstore_create(tx, thing, (objstore_property_id[]){p[ID], p[N], p[NAME], p[TEXT_]},
            (objstore_value[]){objstore_int(7000 + i), objstore_int(i), objstore_string(text_at((size_t)i)),
                objstore_string(text_at((size_t)i))}, 4, NULL));
    return OBJSTORE_OK;
}
static objstore_status insert_columns(void) {
    return objstore_insert_rows(tx, thing, OBJSTORE_POLICY_ERROR, columns, 3, row_count, NULL, NULL);
}
static objstore_status insert_some_columns(void) { /* the others are made up: defaults, keys */
    static int64_t made[MANY];
    return objstore_insert_rows(tx, thing, OBJSTORE_POLICY_ERROR, columns, 1, row_count, made, NULL);
}
static objstore_status upsert_columns(void) {
    size_t i;
    for (i = 0; i < row_count; i++) ids[i] = (int64_t)(1000 + row_count / 2 + row_count - i);
    return objstore_insert_rows(tx, thing, OBJSTORE_POLICY_ALL, columns, 3, row_count, NULL, NULL);
}
static objstore_status insert_wide(void) {
    return objstore_insert_rows(tx, wide, OBJSTORE_POLICY_ERROR, columns, WIDE, row_count, NULL, NULL);
}
static objstore_status set_in_dictionary(void) { /* every text of some segments, one after the other */
    objstore_object object;
    size_t i;
    for (i = 0; i < 40000; i++) {
        TRY(objstore_find(tx, thing, objstore_int(1000 + (int64_t)i), &object, NULL));
        TRY(objstore_set(tx, object, p[TEXT_], objstore_string(text_at(i * 7))));
    }
    return OBJSTORE_OK;
}
static objstore_status change_all(void) {
    uint64_t changed;
    TRY(find(tx, "", NULL));
    return objstore_results_set(results, tx, (objstore_property_id[]){p[NAME], p[N]},
        (objstore_value[]){objstore_string(text_at(5)), objstore_int(5)}, 2, &changed);
}
static objstore_status delete_all(void) { return objstore_delete_all(tx, thing, NULL); }
static objstore_status change_found(void) {
    objstore_query *query;
    const objstore_value name = objstore_string(text_at(5));
    TRY(objstore_query_parse(tx, thing, TEXT("n >= 1010 AND text CONTAINS 'x'"), NULL, 0, &query));
    return use(query, objstore_query_set(query, tx, &p[NAME], &name, 1, NULL));
}
static objstore_status delete_found(void) {
    objstore_query *query;
    TRY(objstore_query_parse(tx, thing, TEXT("n > 1100 SORT(text DESC)"), NULL, 0, &query));
    return use(query, objstore_query_delete(query, tx, NULL));
}
static objstore_status read_json(void) {
    return objstore_create_all_from_json(
        tx, thing, OBJSTORE_POLICY_ERROR, 0, objstore_cstr(json), NULL, NULL, NULL, NULL);
}
static size_t json_at;
static objstore_status give_json(void *bytes, size_t capacity, size_t *count, void *userdata) {
    size_t rest = strlen(json + json_at);
    (void)userdata;
    *count = rest < capacity ? rest : capacity;
    memcpy(bytes, json + json_at, *count);
    json_at += *count;
    return OBJSTORE_OK;
}
static objstore_status stream_json(void) {
    json_at = 0;
    return objstore_create_all_from_json_stream(
        tx, thing, OBJSTORE_POLICY_ERROR, 0, give_json, NULL, NULL, NULL, NULL);
}
static void make_small_json(void) { make_json(20000, 2); }
static void make_large_json(void) { make_json(1, 100000); }
static objstore_status nested_values(void) {
    return objstore_set_from(tx, first, p[LIST], 0, values, value_count, NULL);
}
static objstore_status nested_mixed(void) { return objstore_set_from(tx, first, p[ANY], 0, values, value_count, NULL); }
static objstore_status assign_list(void) {
    return objstore_collection_assign(tx, objstore_collection_of(first, p[LIST]), NULL, values + 1, MANY);
}
static objstore_status assign_set(void) {
    return objstore_collection_assign(tx, objstore_collection_of(first, p[SET]), NULL, values + 1, MANY);
}
static objstore_status assign_map(void) {
    return objstore_collection_assign(tx, objstore_collection_of(first, p[MAP]), keys, values + 1, MANY);
}
static objstore_status insert_elements(void) {
    size_t i;
    for (i = 0; i < MANY - 1000; i += 1000)
        TRY(objstore_list_insert(tx, objstore_collection_of(first, p[LIST]), i / 2, values + 1 + i, 1000));
    return OBJSTORE_OK;
}
static objstore_status large_elements(void) {
    int i;
    for (i = 0; i < 10; i++) {
        const objstore_value value = big_text((2 << 20) + i);
        TRY(objstore_list_insert(tx, objstore_collection_of(first, p[LIST]), 0, &value, 1));
        TRY(objstore_map_set(
            tx, objstore_collection_of(first, p[MAP]), objstore_string(text_at((size_t)i)), value, NULL));
    }
    return OBJSTORE_OK;
}
static objstore_status link_all(void) {
    TRY(find(tx, "", NULL));
    return objstore_collection_assign_results(tx, objstore_collection_of(first, p[LINKS]), results);
}
static objstore_status set_document(void) { return objstore_set(tx, first, p[ANY], document); }
static objstore_status change_document(void) {
    const objstore_value step = objstore_int(MANY / 2);
    TRY(objstore_mixed_set(tx, first, p[ANY], &step, 1, objstore_int(5)));
    TRY(objstore_mixed_insert(tx, first, p[ANY], &step, 1, objstore_string(text_at(3))));
    return objstore_mixed_remove(tx, first, p[ANY], &step, 1);
}
static objstore_status within_savepoint(void) {
    objstore_savepoint savepoint;
    objstore_status status;
    TRY(objstore_savepoint_begin(tx, &savepoint));
    status = create_many();
    if (status == OBJSTORE_OK) status = create_text();
    unlimit_memory();
    OK(objstore_savepoint_rollback(tx, savepoint));
    OK(create_one(6001, TEXT_, big_text(100)));
    return status;
}

/* Reading. */
static objstore_status get_big(void) {
    objstore_buffer buffer = objstore_buffer_init();
    objstore_value value;
    objstore_status status = objstore_get(view, first, p[DATA], &buffer, &value);
    objstore_buffer_free(&buffer);
    return status;
}
static objstore_status read_texts(void) {
    objstore_buffer buffer = objstore_buffer_init();
    int64_t position = OBJSTORE_START;
    static int64_t starts[MANY + 200];
    static uint8_t validity[MANY];
    size_t count;
    objstore_status status = objstore_read_text_column(
        view, thing, p[TEXT_], MANY + 100, &position, &buffer, starts, validity, NULL, &count);
    if (status == OBJSTORE_OK) {
        position = OBJSTORE_START;
        status = objstore_read_text_column(
            view, thing, p[DATA], MANY + 100, &position, &buffer, starts, validity, NULL, &count);
    }
    objstore_buffer_free(&buffer);
    return status;
}
static objstore_status read_packed(void) {
    objstore_buffer buffer = objstore_buffer_init();
    objstore_status status = find(view, "", NULL);
    if (status == OBJSTORE_OK)
        status = objstore_results_read(
            results, 0, MANY + 200, (objstore_property_id[]){p[ID], p[TEXT_], p[NAME], p[DATA]}, 4, &buffer);
    objstore_buffer_free(&buffer);
    return status;
}
static objstore_status write_json(void) {
    objstore_buffer buffer = objstore_buffer_init();
    objstore_status status = objstore_to_json(view, first, 3, 1, &buffer, NULL);
    objstore_buffer_free(&buffer);
    return status;
}
static objstore_status take_json(const char *bytes, size_t length, void *userdata) {
    (void)bytes, (void)length, (void)userdata;
    return OBJSTORE_OK;
}
static objstore_status write_all_json(void) {
    TRY(find(view, "", NULL));
    return objstore_results_to_json(results, 1, 0, take_json, NULL, NULL);
}
static objstore_status describe(void) {
    objstore_buffer buffer = objstore_buffer_init();
    static objstore_value room[16];
    size_t count;
    objstore_status status = objstore_describe(view, first, 2, &buffer, room, 16, &count);
    objstore_buffer_free(&buffer);
    return status;
}
static objstore_status read_elements(void) {
    objstore_buffer buffer = objstore_buffer_init();
    static objstore_value room[MANY];
    size_t count;
    objstore_status status = objstore_collection_read(
        view, objstore_collection_of(first, p[LIST]), 0, MANY, &buffer, NULL, room, &count);
    objstore_buffer_free(&buffer);
    return status;
}
static objstore_status read_mixed(void) {
    objstore_buffer buffer = objstore_buffer_init();
    static objstore_value room[MANY + 1];
    objstore_value value;
    size_t count;
    objstore_status status = objstore_mixed_read(view, first, p[ANY], NULL, 0, &buffer, &value, NULL);
    if (status == OBJSTORE_OK) status = objstore_document_unpack(value, room, MANY + 1, &count);
    objstore_buffer_free(&buffer);
    return status;
}
static objstore_status search(void) {
    const objstore_value name = big_text(1 << 20), text = objstore_string(text_at(1));
    objstore_query *query;
    uint64_t count;
    TRY(find(view, "text != $0", &text));
    forget();
    TRY(objstore_query_parse(view, thing, TEXT("data == NULL"), NULL, 0, &query));
    TRY(use(query, objstore_query_count(query, view, &count)));
    TRY(objstore_query_range(view, by_both, &name, 1, &name, 1, 0, &query));
    TRY(use(query, objstore_query_count(query, view, &count)));
    TRY(find_in(view, by_both, NULL));
    forget();
    return find(view, "name < $0", &name);
}
static objstore_status sort(void) {
    TRY(find(view, "n != 5 SORT(text DESC, n ASC)", NULL));
    forget();
    return find(view, "DISTINCT(text) SORT(name ASC, text[c] ASC) OFFSET(10)", NULL);
}
static objstore_status find_many(void) { /* a long list, as argument and as text */
    objstore_buffer buffer = objstore_buffer_init();
    objstore_query *query, *again;
    objstore_text text;
    objstore_status status;
    TRY(objstore_query_parse(view, thing, TEXT("text IN $0 OR name BEGINSWITH[c] 'a'"), values, value_count, &query));
    status = objstore_query_find(query, view, &results);
    if (status == OBJSTORE_OK) status = objstore_query_text(query, &buffer, &text);
    OK(objstore_query_close(query));
    if (status == OBJSTORE_OK) status = objstore_query_parse(view, thing, text, NULL, 0, &again);
    if (status == OBJSTORE_OK) status = objstore_query_close(again);
    objstore_buffer_free(&buffer);
    return status;
}
static objstore_status verify(void) { return objstore_verify(view, NULL, NULL, NULL, NULL, NULL); }
static objstore_status parse_value(void) {
    objstore_buffer buffer = objstore_buffer_init();
    objstore_value value;
    objstore_status status = objstore_value_from_json(objstore_cstr(json), 0, &buffer, &value);
    if (status == OBJSTORE_OK) {
        objstore_buffer text = objstore_buffer_init();
        status = objstore_value_to_json(value, 1, &text, NULL);
        objstore_buffer_free(&text);
    }
    objstore_buffer_free(&buffer);
    return status;
}
static objstore_status pack(void) {
    objstore_buffer buffer = objstore_buffer_init();
    objstore_status status = objstore_document_pack(values, value_count, &buffer, NULL);
    objstore_buffer_free(&buffer);
    return status;
}
static objstore_status big_schema(void) {
    objstore_schema *schema;
    objstore_status status = objstore_schema_new(&schema);
    if (status != OBJSTORE_OK) return status;
    status = objstore_schema_add_class(schema, TEXT("A"));
    if (status == OBJSTORE_OK)
        status = objstore_schema_add_property(schema, TEXT("A"), TEXT("a"), OBJSTORE_KIND_STRING, 0);
    if (status == OBJSTORE_OK) status = objstore_schema_set_default(schema, TEXT("A"), TEXT("a"), big_text(BIG));
    if (status == OBJSTORE_OK)
        status = objstore_schema_set_enumeration(
            schema, TEXT("A"), TEXT("a"), (objstore_value[]){big_text(BIG), big_text(BIG / 2)}, 2, 0);
    if (status == OBJSTORE_OK) {
        objstore_config *config;
        objstore *other;
        status = objstore_config_new(&config);
        if (status == OBJSTORE_OK) {
            status = objstore_config_set_memory(config, OBJSTORE_STR(""));
            if (status == OBJSTORE_OK) status = objstore_config_set_schema(config, schema, 1);
            if (status == OBJSTORE_OK) status = objstore_open(config, &other);
            if (status == OBJSTORE_OK) OK(objstore_close(other));
            OK(objstore_config_close(config));
        }
    }
    OK(objstore_schema_close(schema));
    return status;
}

/* Committing, and what comes after. */
static void change_much(void) {
    OK(objstore_begin(store, &tx));
    OK(insert_columns());
    OK(create_many());
    OK(objstore_set(tx, first, p[DATA], objstore_binary(big, 1 << 20)));
}
static void make_rows_and_big(void) { make_columns(MANY, 100000, MANY, 40), make_big(); }
static void have_rows_and_big(void) { have_rows(), have_big(); }
static objstore_status commit(void) {
    objstore_status status = objstore_commit(tx, NULL);
    tx = NULL;
    return status;
}
static objstore_status commit_small(void) { /* with texts in the record of the log */
    int64_t i;
    for (i = 0; i < 30; i++) TRY(create_one(7000 + i, TEXT_, big_text(4000)));
    return commit();
}

static objstore_token *token;
static objstore_status look(objstore_changes *changes, void *userdata) {
    int what;
    (void)userdata;
    for (what = OBJSTORE_DELETIONS; what <= OBJSTORE_MODIFICATIONS; what++) {
        const objstore_object *objects;
        const uint64_t *masks;
        size_t count;
        TRY(objstore_changes_list(changes, (objstore_change)what, &objects, NULL, &count));
        TRY(objstore_changes_masks(changes, &masks, &count));
    }
    return OBJSTORE_OK;
}
static void observe_much(void) {
    make_rows();
    OK(objstore_observe(store, thing, 0, look, NULL, NULL, &token));
    OK(objstore_deliver(store, NULL));
}
static objstore_status deliver(void) {
    objstore_status status;
    size_t i;
    unlimit_memory();
    OK(objstore_begin(store, &tx));
    for (i = 0; i < row_count; i++) ids[i] += (int64_t)row_count;
    OK(insert_columns());
    OK(objstore_commit(tx, NULL));
    tx = NULL;
    limit_memory(allowed);
    status = objstore_deliver(store, NULL);
    if (status == OBJSTORE_ERR_CALLBACK) status = OBJSTORE_ERR_OUT_OF_MEMORY;
    unlimit_memory();
    return status;
}

/* Files. */
static objstore_status checkpoint(void) { return objstore_checkpoint(store); }
static objstore_status compact(void) { return objstore_compact(store, NULL, NULL, NULL); }
static objstore_status copy(void) {
    char name[4096];
    objstore_status status;
    snprintf(name, sizeof name, "%s.copy", path);
    status = objstore_copy(view, objstore_cstr(name), NULL, NULL, NULL);
    unlimit_memory();
    if (status == OBJSTORE_OK) OK(objstore_delete_files(objstore_cstr(name)));
    return status;
}

/* A process that had written dies; then the store is opened again, and what is in its log done again. */
static objstore_status recover(void) {
    objstore_status status = open_store(&store);
    unlimit_memory();
    return status;
}
static void die_writing(void) {
    pid_t child = fork();
    int status, k;
    CHECK(child >= 0);
    if (child == 0) {
        OK(open_store(&store));
        find_ids();
        for (k = 0; k < 20; k++) {
            int64_t i;
            OK(objstore_begin(store, &tx));
            for (i = 0; i < 500; i++) OK(create_one(8000 + 500 * k + i, NAME, objstore_string(text_at((size_t)i))));
            OK(objstore_set(tx, first, p[DATA], objstore_binary(text_at(1).bytes, 40)));
            OK(objstore_commit(tx, NULL));
        }
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- attempts ------------------------------------------------------------------------------------------------ */

enum { WRITES, READS, COMMITS };
static const struct scenario {
    const char *name;
    int kind;
    void (*prepare)(void);
    objstore_status (*run)(void);
} scenarios[] = {
    {"a long text", WRITES, make_big, create_text},
    {"a long indexed text", WRITES, make_big, create_indexed},
    {"a long binary", WRITES, make_big, set_binary},
    {"binaries", WRITES, make_big, many_large},
    {"indexed texts", WRITES, make_big, index_texts},
    {"many objects", WRITES, NULL, create_many},
    {"rows", WRITES, make_rows, insert_columns},
    {"rows with defaults", WRITES, make_rows, insert_some_columns},
    {"rows of a dictionary", WRITES, make_dictionary, insert_columns},
    {"rows that exist", WRITES, have_rows, upsert_columns},
    {"wide rows", WRITES, make_wide, insert_wide},
    {"texts of a dictionary", WRITES, have_dictionary, set_in_dictionary},
    {"all changed", WRITES, have_rows, change_all},
    {"all deleted", WRITES, have_rows, delete_all},
    {"what was found changed", WRITES, have_rows, change_found},
    {"what was found deleted", WRITES, have_rows, delete_found},
    {"much JSON", WRITES, make_small_json, read_json},
    {"a long JSON", WRITES, make_large_json, read_json},
    {"much JSON in pieces", WRITES, make_small_json, stream_json},
    {"a long JSON in pieces", WRITES, make_large_json, stream_json},
    {"nested values", WRITES, make_values, nested_values},
    {"nested values, mixed", WRITES, make_values, nested_mixed},
    {"a list", WRITES, make_values, assign_list},
    {"a set", WRITES, make_values, assign_set},
    {"a map", WRITES, make_values, assign_map},
    {"inserted elements", WRITES, make_values, insert_elements},
    {"long elements", WRITES, make_big, large_elements},
    {"links", WRITES, have_rows, link_all},
    {"a document", WRITES, make_document, set_document},
    {"a changed document", WRITES, have_document, change_document},
    {"a savepoint", WRITES, make_big, within_savepoint},
    {"a long binary read", READS, have_big, get_big},
    {"a column read", READS, have_rows, read_texts},
    {"packed rows", READS, have_rows, read_packed},
    {"JSON of an object", READS, have_document, write_json},
    {"JSON of a list", READS, have_list, write_json},
    {"JSON of all", READS, have_rows, write_all_json},
    {"a description", READS, have_document, describe},
    {"a description of a list", READS, have_list, describe},
    {"elements read", READS, have_list, read_elements},
    {"a document read", READS, have_document, read_mixed},
    {"searches", READS, have_big, search},
    {"searches in many", READS, have_rows_and_big, search},
    {"sorting", READS, have_rows, sort},
    {"a query with a long list", READS, make_values, find_many},
    {"verifying", READS, have_rows, verify},
    {"a parsed value", READS, make_large_json, parse_value},
    {"a packed value", READS, make_values, pack},
    {"a schema", READS, make_big, big_schema},
    {"a large commit", COMMITS, make_rows_and_big, commit},
    {"a small commit", COMMITS, make_big, commit_small},
    {"change sets", COMMITS, observe_much, deliver},
    {"a checkpoint", READS, have_rows, checkpoint},
    {"compacting", READS, have_rows, compact},
    {"a copy", READS, have_rows, copy},
    {"opening after a crash", READS, NULL, recover},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static void attempt(const struct scenario *s, const char *folder) {
    size_t step = 1 << 16, refused = 0, succeeded = 0;
    uint64_t before;
    char name[4096];
    now = s->name;
    allowed = 0;
    if (s->run == checkpoint || s->run == compact || s->run == copy || s->run == recover) {
        snprintf(name, sizeof name, "%s/%d.objstore", folder, (int)(s - scenarios));
        path = name;
    }
    /* What is freed goes back to the system. */
    mallopt(M_MMAP_THRESHOLD, 1 << 16), mallopt(M_TRIM_THRESHOLD, 1 << 16);
    OK(open_store(&store));
    find_ids();
    OK(objstore_begin(store, &tx));
    OK(objstore_create(tx, thing, (objstore_property_id[]){p[ID]}, (objstore_value[]){objstore_int(1)}, 1, &first));
    OK(create_one(2, TEXT_, objstore_string(text_at(2))));
    OK(objstore_commit(tx, NULL));
    tx = NULL;
    if (s->prepare) s->prepare();
    before = digest();
    if (s->run == recover) { OK(objstore_close(store)); store = NULL; die_writing(); }
    /* What is mapped of a file takes 1 GiB at least; what comes then is looked at more closely. */
    if (s->run == recover || s->run == copy) allowed = (size_t)1 << 30, step = (s->run == copy ? 4 : 1) << 20;
    while (!succeeded) {
        objstore_status status;
        if (s->kind == READS) { if (store) OK(objstore_view_open(store, &view)); }
        else if (s->run == commit) change_much();
        else if (s->run != deliver) {
            OK(objstore_begin(store, &tx));
            OK(create_one(3, NAME, objstore_string(text_at(3))));
        }
        limit_memory(allowed);
        status = s->run();
        unlimit_memory();
        CHECK(status == OBJSTORE_OK || status == OBJSTORE_ERR_OUT_OF_MEMORY);
        if (status == OBJSTORE_OK) succeeded++; else refused++;
        if (results) OK(objstore_results_close(results));
        results = NULL;
        if (view) OK(objstore_view_close(view));
        view = NULL;
        if (tx) OK(objstore_cancel(tx));
        tx = NULL;
        if (s->run != recover && (s->kind != COMMITS || (status != OBJSTORE_OK && s->run != deliver)))
            CHECK(digest() == before);
        if (!succeeded) allowed += step, step += s->run == recover || s->run == copy ? 0 : step / 2;
    }
    if (s->run == recover) {
        uint64_t things;
        OK(objstore_view_open(store, &view));
        OK(objstore_count(view, thing, &things));
        CHECK(things == 10002);
        OK(objstore_view_close(view));
        view = NULL;
    }
    OK(objstore_begin(store, &tx));
    OK(create_one(4, TEXT_, objstore_string(text_at(4))));
    OK(objstore_commit(tx, NULL));
    OK(objstore_view_open(store, &view));
    OK(objstore_verify(view, NULL, NULL, NULL, NULL, NULL));
    OK(objstore_view_close(view));
    if (token) OK(objstore_token_close(token));
    OK(objstore_close(store));
    printf("%-26s refused %2zu times, then within %zu KiB\n", s->name, refused, allowed >> 10);
}

int main(int count, char **arguments) {
    int i, failed = 0, ran = 0;
    if (count < 2) return 2;
    for (i = 0; i < SCENARIOS; i++) {
        int status;
        pid_t child;
        if (count > 2 && strcmp(arguments[2], scenarios[i].name)) continue;
        ran++;
        fflush(stdout);
        CHECK((child = fork()) >= 0);
        if (child == 0) {
            struct rlimit none = {0, 0};
            setrlimit(RLIMIT_CORE, &none);
            alarm(900);
            attempt(&scenarios[i], arguments[1]);
            fflush(stdout);
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child);
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            failed++;
            fprintf(stderr, "address space: %s: ended with %s %d\n", scenarios[i].name,
                WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
    }
    if (!ran) fprintf(stderr, "address space: no scenario has this name\n");
    return failed || !ran;
}
