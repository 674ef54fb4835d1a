// objstore, through its C interface and nothing else.
//
// A reader opens a view and freezes it, as a program does that reads more than a few values: a frozen
// view needs no lock and lends its text. Opening and freezing are inside what is timed.
#include "peer_objstore.h"

#include <stdlib.h>
#include <string.h>

static const struct { const char *name; objstore_kind kind; uint32_t flags; } person[property_count] = {
    {"id", OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY},
    {"name", OBJSTORE_KIND_STRING, 0},
    {"age", OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_INDEXED},
    {"score", OBJSTORE_KIND_DOUBLE, 0},
    {"email", OBJSTORE_KIND_STRING, OBJSTORE_PROPERTY_NULLABLE},
};

static const char *version(void) { return objstore_version(); }

static char *path_in(const char *dir) { return format_path("%s/people.objstore", dir); }

// ---------------------------------------------------------------------------------------- opening

static objstore_view *begin_read(store *s) {
    objstore_view *live, *frozen;
    check(objstore_view_open(s->handle, &live));
    check(objstore_view_freeze(live, &frozen));
    check(objstore_view_close(live));
    return frozen;
}

static objstore_schema *make_schema(bool indexed) {
    objstore_schema *schema;
    check(objstore_schema_new(&schema));
    check(objstore_schema_add_class(schema, OBJSTORE_STR("Person")));
    for (size_t i = 0; i < property_count; i++) {
        uint32_t flags = i == age_property && !indexed ? 0 : person[i].flags;
        check(objstore_schema_add_property(
            schema, OBJSTORE_STR("Person"), objstore_cstr(person[i].name), person[i].kind, flags));
    }
    return schema;
}

static store *open_store(const char *dir, open_options options, bool create) {
    static const objstore_durability durabilities[] = {
        [DURABLE] = OBJSTORE_DURABILITY_FULL,
        [RELAXED] = OBJSTORE_DURABILITY_RELAXED,
        [NONE] = OBJSTORE_DURABILITY_NONE,
    };
    store *s = must_alloc(sizeof *s);
    char *path = path_in(dir);
    objstore_config *config;
    check(objstore_config_new(&config));
    check(objstore_config_set_path(config, objstore_cstr(path)));
    check(objstore_config_set_creation(config, create ? OBJSTORE_CREATION_ALWAYS : OBJSTORE_CREATION_NEVER));
    check(objstore_config_set_durability(config, durabilities[options.durability], 100));
    if (options.small_checkpoints)
        check(objstore_config_set_limit(config, OBJSTORE_LIMIT_CHECKPOINT_LOG_BYTES, 2 << 20));
    if (create) {
        objstore_schema *schema = make_schema(options.indexed);
        check(objstore_config_set_schema(config, schema, 1));
        check(objstore_schema_close(schema));
    }
    check(objstore_open(config, &s->handle));
    check(objstore_config_close(config));
    objstore_view *view;
    check(objstore_view_open(s->handle, &view));
    check(objstore_find_class(view, OBJSTORE_STR("Person"), &s->person));
    for (size_t i = 0; i < property_count; i++)
        check(objstore_find_property(view, s->person, objstore_cstr(person[i].name), &s->properties[i]));
    check(objstore_view_close(view));
    free(path);
    return s;
}

static store *create_store(const char *dir, open_options options) { return open_store(dir, options, true); }
static store *open_existing(const char *dir, open_options options) { return open_store(dir, options, false); }

static void close_store(store *s) {
    check(objstore_query_close(s->all));
    check(objstore_query_close(s->below));
    check(objstore_close(s->handle));
    free(s);
}

// While the store is open its log lies beside it, a ring of bounded size.
static uint64_t data_bytes(const char *dir) {
    char *path = path_in(dir);
    uint64_t bytes = file_bytes(path);
    free(path);
    return bytes;
}

static uint64_t checkpoints(store *s) {
    objstore_statistics statistics = {.struct_size = sizeof statistics};
    check(objstore_get_statistics(s->handle, &statistics));
    return statistics.checkpoints;
}

// ---------------------------------------------------------------------------------------- writing

// `rows` NULL: all, in order.
static void insert_some(store *s, const people *p, const int64_t *rows, size_t size) {
    objstore_view *t;
    objstore_value values[property_count];
    check(objstore_begin(s->handle, &t));
    for (size_t k = 0; k < size; k++) {
        size_t i = rows ? (size_t)rows[k] : k;
        fill(values, p, i, p->age[i]);
        check(objstore_create(t, s->person, s->properties, values, property_count, NULL));
    }
    check(objstore_commit(t, NULL));
}

static void insert(store *s, const people *p) { insert_some(s, p, NULL, p->count); }

static size_t upsert(store *s, const people *p, const int64_t *rows, const uint8_t *ages, size_t size, bool all) {
    objstore_view *t;
    objstore_value values[property_count];
    size_t written = 0;
    check(objstore_begin(s->handle, &t));
    for (size_t k = 0; k < size; k++) {
        objstore_outcome outcome;
        fill(values, p, (size_t)rows[k], ages[k]);
        check(objstore_upsert(t, s->person, all ? OBJSTORE_POLICY_ALL : OBJSTORE_POLICY_MODIFIED, s->properties, values,
                              property_count, NULL, &outcome));
        written += outcome != OBJSTORE_OUTCOME_UNCHANGED;
    }
    check(objstore_commit(t, NULL));
    return written;
}

static int64_t *wide_offsets(const uint32_t *offsets, size_t count) {
    int64_t *wide = must_alloc((count + 1) * 8);
    for (size_t i = 0; i <= count; i++) wide[i] = offsets[i];
    return wide;
}

// What `people` holds more narrowly than a column of objstore is: int64 ages, int64 offsets, a bit a
// null. Made once for the data of this process, as a program has its columns before it inserts them.
typedef struct { const people *of; int64_t *age, *name_offset, *email_offset; uint8_t *email_validity; } wide_columns;

static const wide_columns *widen(const people *p) {
    static wide_columns wide;
    if (wide.of == p) return &wide;
    free(wide.age), free(wide.name_offset), free(wide.email_offset), free(wide.email_validity);
    wide = (wide_columns){p, must_alloc(p->count * 8), wide_offsets(p->name_offset, p->count),
                          wide_offsets(p->email_offset, p->count), must_alloc(p->count / 8 + 1)};
    for (size_t i = 0; i < p->count; i++) {
        wide.age[i] = p->age[i];
        if (!p->email_is_null[i]) wide.email_validity[i / 8] |= (uint8_t)(1u << i % 8);
    }
    return &wide;
}

static void insert_columns(store *s, const people *p) {
    const wide_columns *wide = widen(p);
    const void *values[property_count] = {p->id, p->name_heap, wide->age, p->score, p->email_heap};
    objstore_column columns[property_count];
    for (size_t i = 0; i < property_count; i++)
        columns[i] = objstore_column_init(s->properties[i], person[i].kind, values[i]);
    columns[name_property].offsets = wide->name_offset;
    columns[name_property].values_bytes = p->name_offset[p->count];
    columns[email_property].offsets = wide->email_offset;
    columns[email_property].values_bytes = p->email_offset[p->count];
    columns[email_property].validity = wide->email_validity;
    objstore_view *t;
    objstore_insert_counts counts;
    check(objstore_begin(s->handle, &t));
    check(objstore_insert_rows(t, s->person, OBJSTORE_POLICY_ERROR, columns, property_count, p->count, NULL, &counts));
    check(objstore_commit(t, NULL));
    if (counts.created != p->count) die("objstore: %lu rows inserted, not %zu", counts.created, p->count);
}

static void update_ages(store *s, const int64_t *ids, const uint8_t *ages, size_t size) {
    objstore_view *t;
    check(objstore_begin(s->handle, &t));
    for (size_t i = 0; i < size; i++) {
        objstore_object object;
        check(objstore_find(t, s->person, objstore_int(ids[i]), &object, NULL));
        check(objstore_set(t, object, s->properties[age_property], objstore_int(ages[i])));
    }
    check(objstore_commit(t, NULL));
}

static objstore_query *all(store *s, objstore_view *view) {
    if (!s->all) check(objstore_query_new(view, s->person, NULL, 0, &s->all));
    return s->all;
}

static void add_to_all_scores(store *s, double by) {
    objstore_view *t;
    check(objstore_begin(s->handle, &t));
    check(objstore_query_increment(all(s, t), t, s->properties[score_property], objstore_double(by), NULL));
    check(objstore_commit(t, NULL));
}

static void delete_some(store *s, const int64_t *ids, size_t size) {
    objstore_view *t;
    check(objstore_begin(s->handle, &t));
    for (size_t i = 0; i < size; i++) {
        objstore_object object;
        check(objstore_find(t, s->person, objstore_int(ids[i]), &object, NULL));
        check(objstore_delete(t, object));
    }
    check(objstore_commit(t, NULL));
}

static uint64_t delete_from_age(store *s, int64_t limit) {
    objstore_view *t;
    objstore_query *query;
    uint64_t deleted;
    const objstore_value from = objstore_int(limit);
    check(objstore_begin(s->handle, &t));
    check(objstore_query_parse(t, s->person, OBJSTORE_STR("age >= $0"), &from, 1, &query));
    check(objstore_query_delete(query, t, &deleted));
    check(objstore_query_close(query));
    check(objstore_commit(t, NULL));
    return deleted;
}

// ---------------------------------------------------------------------------------------- reading

static objstore_object find(objstore_view *view, const store *s, int64_t id) {
    objstore_object object;
    check(objstore_find(view, s->person, objstore_int(id), &object, NULL));
    return object;
}

static void lookup_in(objstore_view *view, const store *s, const int64_t *ids, size_t size, int64_t *ages) {
    for (size_t i = 0; i < size; i++) {
        objstore_value age;
        check(objstore_get(view, find(view, s, ids[i]), s->properties[age_property], NULL, &age));
        ages[i] = age.data.integer;
    }
}

static void lookup_ages(store *s, const int64_t *ids, size_t size, int64_t *ages) {
    objstore_view *view = begin_read(s);
    lookup_in(view, s, ids, size, ages);
    check(objstore_view_close(view));
}

// One question asked again and again: its query is made once. objstore takes the index where there is one: the scan
// uses a store without.
static uint64_t count_age_below(store *s, int64_t limit, bool through_index) {
    (void)through_index;
    objstore_view *view = begin_read(s);
    uint64_t hits;
    if (!s->below || s->limit != limit) {
        const objstore_value below = objstore_int(limit);
        check(objstore_query_close(s->below));
        check(objstore_query_parse(view, s->person, OBJSTORE_STR("age < $0"), &below, 1, &s->below));
        s->limit = limit;
    }
    check(objstore_query_count(s->below, view, &hits));
    check(objstore_view_close(view));
    return hits;
}

// Another question each time: its query is made anew.
static uint64_t count_name(store *s, const char *name, size_t length) {
    objstore_view *view = begin_read(s);
    objstore_query *query;
    const objstore_value wanted = objstore_string(objstore_text_of(name, (int64_t)length));
    uint64_t hits;
    check(objstore_query_parse(view, s->person, OBJSTORE_STR("name == $0"), &wanted, 1, &query));
    check(objstore_query_count(query, view, &hits));
    check(objstore_query_close(query));
    check(objstore_view_close(view));
    return hits;
}

static double sum_scores(store *s) {
    objstore_view *view = begin_read(s);
    objstore_value sum;
    check(objstore_query_aggregate(
        all(s, view), view, s->properties[score_property], OBJSTORE_AGGREGATE_SUM, &sum));
    check(objstore_view_close(view));
    return sum.data.real;
}

static void aggregate_scores(store *s, double out[3]) {
    static const objstore_aggregate_kind kinds[3] = {
        OBJSTORE_AGGREGATE_SUM, OBJSTORE_AGGREGATE_AVERAGE, OBJSTORE_AGGREGATE_MAXIMUM};
    objstore_view *view = begin_read(s);
    for (size_t i = 0; i < 3; i++) {
        objstore_value value;
        check(objstore_query_aggregate(all(s, view), view, s->properties[score_property], kinds[i], &value));
        out[i] = value.data.real;
    }
    check(objstore_view_close(view));
}

// The order of keys is that of creation, which is that of ids here.
static void read_scores(store *s, double *out, size_t count) {
    objstore_view *view = begin_read(s);
    int64_t position = OBJSTORE_START;
    size_t rows;
    check(
        objstore_read_column(view, s->person, s->properties[score_property], count, &position, out, NULL, NULL, &rows));
    if (rows != count) die("objstore: %zu objects, not %zu", rows, count);
    check(objstore_view_close(view));
}

static uint64_t read_age_of_row(store *s, const int64_t *ids, size_t size, size_t times) {
    objstore_view *view = begin_read(s);
    objstore_row row;
    uint64_t sum = 0;
    check(objstore_row_init(view, s->person, &row));
    for (size_t i = 0; i < size; i++) {
        check(objstore_row_seek(&row, find(view, s, ids[i])));
        for (size_t k = 0; k < times; k++) {
            int64_t age;
            check(objstore_row_int(&row, s->properties[age_property], &age, NULL));
            sum += (uint64_t)age;
        }
    }
    check(objstore_view_close(view));
    return sum;
}

static uint64_t read_name_of_row(store *s, const int64_t *ids, size_t size, size_t times) {
    objstore_view *view = begin_read(s);
    objstore_row row;
    uint64_t sum = 0;
    check(objstore_row_init(view, s->person, &row));
    for (size_t i = 0; i < size; i++) {
        check(objstore_row_seek(&row, find(view, s, ids[i])));
        for (size_t k = 0; k < times; k++) {
            objstore_text name;
            check(objstore_row_text(&row, s->properties[name_property], NULL, &name, NULL));
            sum += (uint64_t)name.bytes[0] + (uint64_t)name.length;
        }
    }
    check(objstore_view_close(view));
    return sum;
}

struct pinned { objstore_view *view; const store *store; };

static pinned *pin(store *s) {
    pinned *p = malloc(sizeof *p);
    if (!p) die("no memory");
    *p = (pinned){begin_read(s), s};
    return p;
}

static void pinned_lookup_ages(pinned *p, const int64_t *ids, size_t size, int64_t *ages) {
    lookup_in(p->view, p->store, ids, size, ages);
}

static void unpin(pinned *p) {
    check(objstore_view_close(p->view));
    free(p);
}

// -------------------------------------------------------------------------------------- observing

typedef struct {
    const store *store;
    bool (*seen)(void *context, const change *c);
    void *context;
    bool goes_on;
} observer;

static objstore_status hand_on(objstore_changes *changes, void *userdata) {
    observer *o = userdata;
    objstore_changes_info info = {.struct_size = sizeof info};
    check(objstore_changes_get_info(changes, &info));
    change c = {info.insertion_count, info.modification_count, info.deletion_count, {0}};
    if (c.modified) {
        const objstore_object *objects;
        size_t count;
        objstore_view *after;
        check(objstore_changes_list(changes, OBJSTORE_MODIFICATIONS, &objects, NULL, &count));
        check(objstore_changes_view(changes, OBJSTORE_AFTER, &after));
        for (size_t i = 0; i < count && i < sizeof c.modified_ids / sizeof *c.modified_ids; i++) {
            objstore_value id;
            check(objstore_get(after, objects[i], o->store->properties[id_property], NULL, &id));
            c.modified_ids[i] = id.data.integer;
        }
    }
    o->goes_on = o->seen(o->context, &c);
    return OBJSTORE_OK;
}

static void observe(store *s, bool (*seen)(void *context, const change *c), void *context) {
    observer o = {s, seen, context, true};
    objstore_token *token;
    check(objstore_observe(s->handle, s->person, 0, hand_on, &o, NULL, &token));
    seen(context, NULL);
    while (o.goes_on) check(objstore_wait(s->handle, OBJSTORE_FOREVER, NULL));
    check(objstore_token_close(token));
}

const peer peer_objstore = {
    .name = "objstore",
    .version = version,
    .scans_need_unindexed_store = true,
    .create = create_store,
    .open = open_existing,
    .close = close_store,
    .data_bytes = data_bytes,
    .open_bytes = data_bytes,
    .checkpoints = checkpoints,
    .insert = insert,
    .insert_columns = insert_columns,
    .update_ages = update_ages,
    .add_to_all_scores = add_to_all_scores,
    .lookup_ages = lookup_ages,
    .count_age_below = count_age_below,
    .sum_scores = sum_scores,
    .count_name = count_name,
    .read_scores = read_scores,
    .read_age_of_row = read_age_of_row,
    .read_name_of_row = read_name_of_row,
    .insert_some = insert_some,
    .delete_some = delete_some,
    .delete_from_age = delete_from_age,
    .upsert = upsert,
    .aggregate_scores = aggregate_scores,
    .pin = pin,
    .pinned_lookup_ages = pinned_lookup_ages,
    .unpin = unpin,
    .observe = observe,
    .async = &async_objstore,
    .shapes = &shapes_objstore,
};
