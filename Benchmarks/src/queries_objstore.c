// objstore: the questions of queries.h, through its C interface. A view is opened and frozen for each answer, as in
// peer_objstore.c, and closed with it: both are timed. Questions are made in one that stays open.
#include "queries.h"

#include <objstore.h>
#include <stdlib.h>
#include <string.h>

struct database {
    objstore *handle;
    objstore_view *view;
};

struct question {
    database *of;
    objstore_class_id class_id;
    objstore_query *query;
    objstore_object *objects;
    size_t count, room;
};

#define check(call) \
    do { \
        objstore_status status_ = (call); \
        if (status_) die("objstore: %s: %s: %s", #call, objstore_status_name(status_), objstore_last_message()); \
    } while (0)

static const char *version(void) { return objstore_version(); }

static objstore *open_store(const char *path, objstore_schema *schema) {
    objstore_config *config;
    objstore *handle;
    check(objstore_config_new(&config));
    check(objstore_config_set_path(config, objstore_cstr(path)));
    check(objstore_config_set_creation(config, schema ? OBJSTORE_CREATION_ALWAYS : OBJSTORE_CREATION_NEVER));
    if (schema) check(objstore_config_set_schema(config, schema, 1));
    check(objstore_open(config, &handle));
    check(objstore_config_close(config));
    return handle;
}

enum { width = 6 };

static const char *const dog_names[width] = {"id", "age", "rank", "weight", "owner", "breeder"};

static void add(objstore_schema *schema, const char *class_name, const char *name, objstore_kind kind, uint32_t flags) {
    check(objstore_schema_add_property(schema, objstore_cstr(class_name), objstore_cstr(name), kind, flags));
}

static objstore_schema *kennel_schema(void) {
    static const char *const classes[] = {"City", "Owner", "Breeder", "Dog"};
    const objstore_text owner = OBJSTORE_STR("Owner"), dog = OBJSTORE_STR("Dog");
    objstore_schema *schema;
    check(objstore_schema_new(&schema));
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        check(objstore_schema_add_class(schema, objstore_cstr(classes[i])));
        add(schema, classes[i], "id", OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY);
        add(schema, classes[i], "rank", OBJSTORE_KIND_INT, 0);
    }
    add(schema, "Dog", "age", OBJSTORE_KIND_INT, 0);
    add(schema, "Dog", "weight", OBJSTORE_KIND_DOUBLE, 0);
    check(objstore_schema_add_link(schema, owner, OBJSTORE_STR("city"), OBJSTORE_STR("City"), 0));
    check(objstore_schema_add_link(schema, dog, OBJSTORE_STR("owner"), owner, 0));
    check(objstore_schema_add_link(schema, dog, OBJSTORE_STR("breeder"), OBJSTORE_STR("Breeder"), 0));
    return schema;
}

static objstore_class_id class_of(objstore_view *view, const char *name) {
    objstore_class_id id;
    check(objstore_find_class(view, objstore_cstr(name), &id));
    return id;
}

static objstore_property_id property(objstore_view *view, objstore_class_id class_id, const char *name) {
    objstore_property_id id;
    check(objstore_find_property(view, class_id, objstore_cstr(name), &id));
    return id;
}

// Objects with an id, a rank and, if `links` is there, a link called `link`. The caller frees them.
static objstore_object *create_ranked(objstore_view *t, const char *class_name, const uint8_t *rank, size_t count,
                                      const char *link, const uint8_t *links, const objstore_object *targets) {
    const objstore_class_id class_id = class_of(t, class_name);
    const objstore_property_id properties[] = {
        property(t, class_id, "id"), property(t, class_id, "rank"), links ? property(t, class_id, link) : 0};
    objstore_object *objects = must_alloc(count * sizeof *objects);
    for (size_t i = 0; i < count; i++) {
        const objstore_value values[] = {objstore_int((int64_t)i), objstore_int(rank ? rank[i] : (int64_t)i),
                                         links ? objstore_link(targets[links[i]]) : objstore_null()};
        check(objstore_create(t, class_id, properties, values, links ? 3 : 2, &objects[i]));
    }
    return objects;
}

static void create_kennel(const char *dir, const kennel *k) {
    char *path = format_path("%s/kennel.objstore", dir);
    objstore_schema *schema = kennel_schema();
    objstore *handle = open_store(path, schema);
    check(objstore_schema_close(schema));
    objstore_view *t;
    check(objstore_begin(handle, &t));
    objstore_object *city = create_ranked(t, "City", NULL, cities, NULL, NULL, NULL);
    objstore_object *owners = create_ranked(t, "Owner", k->owner_rank, k->owners, "city", k->owner_city, city);
    objstore_object *breeders = create_ranked(t, "Breeder", k->breeder_rank, k->breeders, NULL, NULL, NULL);
    const objstore_class_id dog = class_of(t, "Dog");
    objstore_property_id properties[width];
    for (size_t i = 0; i < width; i++) properties[i] = property(t, dog, dog_names[i]);
    for (size_t i = 0; i < k->dogs; i++) {
        const objstore_value values[width] = {
            objstore_int((int64_t)i), objstore_int(k->age[i]), objstore_int(k->rank[i]),
            objstore_double(k->weight[i]), objstore_link(owners[k->owner[i]]), objstore_link(breeders[k->breeder[i]])};
        check(objstore_create(t, dog, properties, values, width, NULL));
    }
    check(objstore_commit(t, NULL));
    check(objstore_close(handle));
    free(city);
    free(owners);
    free(breeders);
    free(path);
}

static objstore_view *begin_read(database *d) {
    objstore_view *live, *frozen;
    check(objstore_view_open(d->handle, &live));
    check(objstore_view_freeze(live, &frozen));
    check(objstore_view_close(live));
    return frozen;
}

static database *open_database(const char *dir, bool of_kennel) {
    database *d = must_alloc(sizeof *d);
    char *path = format_path("%s/%s.objstore", dir, of_kennel ? "kennel" : "people");
    d->handle = open_store(path, NULL);
    d->view = begin_read(d);
    free(path);
    return d;
}

static void close_database(database *d) {
    check(objstore_view_close(d->view));
    check(objstore_close(d->handle));
    free(d);
}

static question *prepare(database *d, const char *class_name, const char *text) {
    question *q = malloc(sizeof *q);
    if (!q) die("no memory");
    *q = (question){.of = d, .class_id = class_of(d->view, class_name)};
    check(objstore_query_parse(d->view, q->class_id, objstore_cstr(text), NULL, 0, &q->query));
    return q;
}

static void finish(question *q) {
    check(objstore_query_close(q->query));
    free(q->objects);
    free(q);
}

static uint64_t count(question *q) {
    objstore_view *view = begin_read(q->of);
    uint64_t hits;
    check(objstore_query_count(q->query, view, &hits));
    check(objstore_view_close(view));
    return hits;
}

static size_t list(question *q, size_t room) {
    if (room > q->room) {
        free(q->objects);
        q->objects = must_alloc(room * sizeof *q->objects);
        q->room = room;
    }
    objstore_view *view = begin_read(q->of);
    objstore_results *results;
    check(objstore_query_find(q->query, view, &results));
    check(objstore_results_objects(results, 0, q->objects, room, &q->count));
    check(objstore_results_close(results));
    check(objstore_view_close(view));
    return q->count;
}

static void ids(question *q, int64_t *found) {
    objstore_view *view = begin_read(q->of);
    const objstore_property_id id = property(view, q->class_id, "id");
    objstore_row row;
    check(objstore_row_init(view, q->class_id, &row));
    for (size_t i = 0; i < q->count; i++) {
        check(objstore_row_seek(&row, q->objects[i]));
        check(objstore_row_int(&row, id, &found[i], NULL));
    }
    check(objstore_view_close(view));
}

static void copy_column(objstore_table *table, size_t index, objstore_kind kind, uint64_t rows, void *to) {
    objstore_table_column column;
    check(objstore_table_column_at(table, index, &column));
    if (column.kind != kind || column.null_count) die("objstore: column %zu is another", index);
    memcpy(to, column.values, rows * 8);
}

static size_t groups(question *q, size_t room, group_columns found) {
    objstore_view *view = begin_read(q->of);
    objstore_table *table;
    uint64_t rows;
    check(objstore_query_table(q->query, view, &table));
    check(objstore_table_size(table, &rows, NULL));
    if (rows > room) die("objstore: more than %zu groups", room);
    objstore_table_column key;
    check(objstore_table_column_at(table, 0, &key));    // ages, or breeders, whose keys are their ids
    copy_column(table, 0, key.kind == OBJSTORE_KIND_LINK ? key.kind : OBJSTORE_KIND_INT, rows, found.key);
    copy_column(table, 1, OBJSTORE_KIND_INT, rows, found.count);
    copy_column(table, 2, OBJSTORE_KIND_DOUBLE, rows, found.sum);
    check(objstore_table_close(table));
    check(objstore_view_close(view));
    return rows;
}

static void digest_texts(stream_digest *digest, const struct ArrowArray *batch) {
    const int64_t *ids = batch->children[0]->buffers[1], *offsets = batch->children[1]->buffers[1];
    const char *names = batch->children[1]->buffers[2];
    for (int64_t i = 0; i < batch->length; i++)
        digest_add(digest, ids[i], names + offsets[i], (size_t)(offsets[i + 1] - offsets[i]));
}

static void digest_views(stream_digest *digest, const struct ArrowArray *batch) {
    typedef struct { int32_t length; char prefix[4]; int32_t buffer, start; } text;
    const int64_t *ids = batch->children[0]->buffers[1];
    const struct ArrowArray *names = batch->children[1];
    const text *views = names->buffers[1];
    for (int64_t i = 0; i < batch->length; i++) {
        const text *v = &views[i];
        const char *far = v->length > 12 ? (const char *)names->buffers[2 + v->buffer] + v->start : NULL;
        digest_add(digest, ids[i], far ? far : v->prefix, (size_t)v->length);
    }
}

// As an Arrow stream.
static void stream(question *q, bool views, stream_digest *digest) {
    objstore_view *view = begin_read(q->of);
    struct ArrowArrayStream batches;
    struct ArrowArray batch;
    check(objstore_query_arrow(q->query, view, views ? OBJSTORE_ARROW_VIEWS : 0, &batches));
    check(objstore_view_close(view));
    for (;;) {
        if (batches.get_next(&batches, &batch)) die("objstore: %s", batches.get_last_error(&batches));
        if (!batch.release) break;
        if (digest) (views ? digest_views : digest_texts)(digest, &batch);
        batch.release(&batch);
    }
    batches.release(&batches);
}

const queries queries_objstore = {
    .version = version,
    .create_kennel = create_kennel,
    .open = open_database,
    .close = close_database,
    .prepare = prepare,
    .finish = finish,
    .count = count,
    .list = list,
    .ids = ids,
    .groups = groups,
    .stream = stream,
};
