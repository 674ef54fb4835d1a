// objstore: the objects of graph.h, through its C interface.
#include "graph.h"

#include <objstore.h>
#include <stdlib.h>
#include <string.h>

enum { dog_id, dog_owner, dog_friend, dog_extra, dog_rank, dog_marks, dog_width };

struct graph {
    objstore *handle;
    objstore_view *view;    // of the reading functions: opened by the first after a write
    objstore_class_id person, dog;
    objstore_property_id person_id, notes, labels, dogs[dog_width];
};

#define check(call) \
    do { \
        objstore_status status_ = (call); \
        if (status_) die("objstore: %s: %s: %s", #call, objstore_status_name(status_), objstore_last_message()); \
    } while (0)

static objstore_property_id property(objstore_view *view, objstore_class_id class, const char *name) {
    objstore_property_id id;
    check(objstore_find_property(view, class, objstore_cstr(name), &id));
    return id;
}

// Takes the schema.
static objstore *open_store(const char *dir, objstore_schema *schema) {
    objstore_config *config;
    objstore *handle;
    char *path = format_path("%s/graph.objstore", dir);
    check(objstore_config_new(&config));
    check(objstore_config_set_path(config, objstore_cstr(path)));
    check(objstore_config_set_schema(config, schema, 1));
    check(objstore_open(config, &handle));
    check(objstore_config_close(config));
    check(objstore_schema_close(schema));
    free(path);
    return handle;
}

static graph *create(const char *dir) {
    graph *g = must_alloc(sizeof *g);
    const objstore_text person = OBJSTORE_STR("Person"), dog = OBJSTORE_STR("Dog");
    objstore_schema *schema;
    check(objstore_schema_new(&schema));
    check(objstore_schema_add_class(schema, person));
    check(objstore_schema_add_property(
        schema, person, OBJSTORE_STR("id"), OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY));
    check(objstore_schema_add_collection(
        schema, person, OBJSTORE_STR("notes"), OBJSTORE_KIND_MAP, OBJSTORE_KIND_STRING, OBJSTORE_KIND_INT, 0));
    check(objstore_schema_add_collection(
        schema, person, OBJSTORE_STR("labels"), OBJSTORE_KIND_SET, OBJSTORE_KIND_NULL, OBJSTORE_KIND_STRING, 0));
    check(objstore_schema_add_class(schema, dog));
    check(objstore_schema_add_property(
        schema, dog, OBJSTORE_STR("id"), OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY));
    check(objstore_schema_add_link(schema, dog, OBJSTORE_STR("owner"), person, 0));
    check(objstore_schema_add_link(schema, dog, OBJSTORE_STR("friend"), dog, 0));
    check(objstore_schema_add_property(schema, dog, OBJSTORE_STR("extra"), OBJSTORE_KIND_MIXED, 0));
    check(objstore_schema_add_property(schema, dog, OBJSTORE_STR("rank"), OBJSTORE_KIND_INT, 0));
    check(objstore_schema_add_collection(
        schema, dog, OBJSTORE_STR("marks"), OBJSTORE_KIND_LIST, OBJSTORE_KIND_NULL, OBJSTORE_KIND_INT, 0));
    g->handle = open_store(dir, schema);
    objstore_view *view;
    check(objstore_view_open(g->handle, &view));
    check(objstore_find_class(view, person, &g->person));
    check(objstore_find_class(view, dog, &g->dog));
    g->person_id = property(view, g->person, "id");
    g->notes = property(view, g->person, "notes");
    g->labels = property(view, g->person, "labels");
    static const char *const names[dog_width] = {"id", "owner", "friend", "extra", "rank", "marks"};
    for (int i = 0; i < dog_width; i++) g->dogs[i] = property(view, g->dog, names[i]);
    check(objstore_view_close(view));
    return g;
}

static objstore_view *reading(graph *g) {
    if (!g->view) {
        objstore_view *live;
        check(objstore_view_open(g->handle, &live));
        check(objstore_view_freeze(live, &g->view));
        check(objstore_view_close(live));
    }
    return g->view;
}

static objstore_view *begin(graph *g) {
    objstore_view *t;
    check(objstore_view_close(g->view));
    g->view = NULL;
    check(objstore_begin(g->handle, &t));
    return t;
}

static void close_graph(graph *g) {
    check(objstore_close(g->handle));
    free(g);
}

static void fill(graph *g, size_t persons, size_t dogs) {
    objstore_view *t = begin(g);
    objstore_object *owners = must_alloc(persons * sizeof *owners), *all = must_alloc(dogs * sizeof *all);
    for (size_t i = 0; i < persons; i++) {
        const objstore_value id = objstore_int((int64_t)i);
        check(objstore_create(t, g->person, &g->person_id, &id, 1, &owners[i]));
    }
    for (size_t i = 0; i < dogs; i++) {
        const char *text = extra_text((int64_t)i);
        const objstore_value values[] = {
            objstore_int((int64_t)i),
            objstore_link(owners[i % persons]),
            i ? objstore_link(all[i / 2]) : objstore_null(),
            text ? objstore_string(objstore_cstr(text)) : objstore_int((int64_t)i),
            objstore_int(rank_of((int64_t)i)),
        };
        check(objstore_create(t, g->dog, g->dogs, values, dog_marks, &all[i]));
        objstore_value marks[marks_of_a_dog];
        for (int k = 0; k < marks_of_a_dog; k++) marks[k] = objstore_int((int64_t)i + k);
        check(objstore_list_insert(
            t, objstore_collection_of(all[i], g->dogs[dog_marks]), OBJSTORE_END, marks, marks_of_a_dog));
    }
    check(objstore_commit(t, NULL));
    free(owners);
    free(all);
}

static objstore_object person(graph *g, objstore_view *view, int64_t id) {
    objstore_object object;
    check(objstore_find(view, g->person, objstore_int(id), &object, NULL));
    return object;
}

static objstore_value key_at(const char *keys, size_t i) {
    return objstore_string(objstore_text_of(keys + i * note_key_length, note_key_length));
}

static void fill_notes(graph *g, const char *keys, size_t count) {
    objstore_view *t = begin(g);
    const objstore_collection notes = objstore_collection_of(person(g, t, 0), g->notes);
    for (size_t i = 0; i < count; i++)
        check(objstore_map_set(t, notes, key_at(keys, i), objstore_int((int64_t)i), NULL));
    check(objstore_commit(t, NULL));
}

static void fill_labels(graph *g, const char *keys, size_t count) {
    objstore_view *t = begin(g);
    const objstore_collection labels = objstore_collection_of(person(g, t, 0), g->labels);
    for (size_t i = 0; i < count; i++) check(objstore_set_insert(t, labels, key_at(keys, i), NULL));
    check(objstore_commit(t, NULL));
}

static void delete_persons(graph *g, int64_t first, size_t count) {
    objstore_view *t = begin(g);
    for (size_t i = 0; i < count; i++) check(objstore_delete(t, person(g, t, first + (int64_t)i)));
    check(objstore_commit(t, NULL));
}

static size_t delete_dogs(graph *g, int64_t rank) {
    objstore_view *t = begin(g);
    objstore_query *dogs;
    const objstore_value below = objstore_int(rank);
    uint64_t count;
    check(objstore_query_parse(t, g->dog, OBJSTORE_STR("rank < $0"), &below, 1, &dogs));
    check(objstore_query_delete(dogs, t, &count));
    check(objstore_query_close(dogs));
    check(objstore_commit(t, NULL));
    return count;
}

static int64_t dogs_of(graph *g, int64_t id, size_t *count) {
    enum { block = 256 };
    objstore_view *view = reading(g);
    objstore_results *dogs;
    objstore_row row;
    objstore_object some[block];
    int64_t sum = 0, value;
    size_t read;
    *count = 0;
    check(objstore_incoming(view, person(g, view, id), g->dogs[dog_owner], &dogs));
    check(objstore_row_init(view, g->dog, &row));
    do {
        check(objstore_results_objects(dogs, *count, some, block, &read));
        for (size_t i = 0; i < read; i++) {
            check(objstore_row_seek(&row, some[i]));
            check(objstore_row_int(&row, g->dogs[dog_id], &value, NULL));
            sum += value;
        }
        *count += read;
    } while (read == block);
    check(objstore_results_close(dogs));
    return sum;
}

static void read_notes(graph *g, const char *keys, const size_t *which, size_t size, int64_t *values) {
    objstore_view *view = reading(g);
    const objstore_collection notes = objstore_collection_of(person(g, view, 0), g->notes);
    for (size_t i = 0; i < size; i++) {
        objstore_value value;
        check(objstore_map_get(view, notes, key_at(keys, which[i]), NULL, &value, NULL));
        values[i] = value.data.integer;
    }
}

static void have_labels(graph *g, const char *keys, const size_t *which, size_t size, int64_t *values) {
    objstore_view *view = reading(g);
    const objstore_collection labels = objstore_collection_of(person(g, view, 0), g->labels);
    for (size_t i = 0; i < size; i++) {
        int64_t index;
        check(objstore_collection_find(view, labels, key_at(keys, which[i]), &index));
        values[i] = index >= 0;
    }
}

static void read_extras(graph *g, const int64_t *dogs, size_t size, int64_t *values) {
    objstore_view *view = reading(g);
    for (size_t i = 0; i < size; i++) {
        objstore_object dog;
        objstore_value value;
        check(objstore_find(view, g->dog, objstore_int(dogs[i]), &dog, NULL));
        check(objstore_get(view, dog, g->dogs[dog_extra], NULL, &value));
        values[i] = value.kind == OBJSTORE_KIND_STRING ? value.data.text.length : value.data.integer;
    }
}

static int64_t sum_marks(graph *g) {
    objstore_view *view = reading(g);
    objstore_row row;
    bool more;
    int64_t sum = 0;
    check(objstore_row_init(view, g->dog, &row));
    for (;;) {
        objstore_object dog;
        objstore_value marks[marks_of_a_dog + 1];
        size_t count;
        check(objstore_row_next(&row, &more));
        if (!more) return sum;
        check(objstore_row_object(&row, &dog));
        check(objstore_collection_read(
            view, objstore_collection_of(dog, g->dogs[dog_marks]), 0, marks_of_a_dog + 1, NULL, NULL, marks, &count));
        if (count != marks_of_a_dog) die("objstore: %zu marks", count);
        for (size_t i = 0; i < count; i++) sum += marks[i].data.integer;
    }
}

static size_t count_dogs(graph *g, const char *condition) {
    objstore_view *view = reading(g);
    objstore_query *query;
    uint64_t count;
    check(objstore_query_parse(view, g->dog, objstore_cstr(condition), NULL, 0, &query));
    check(objstore_query_count(query, view, &count));
    check(objstore_query_close(query));
    return count;
}

static size_t dogs_without_owner(graph *g) { return count_dogs(g, "owner == NULL"); }
static size_t dogs_without_friend(graph *g) { return count_dogs(g, "friend == NULL"); }

// The herd

struct herd {
    objstore *handle;
    objstore_class_id dog;
    objstore_property_id id, members;
    objstore_object herd;
};

static herd *create_herd(const char *dir) {
    herd *h = must_alloc(sizeof *h);
    const objstore_text name = OBJSTORE_STR("Herd"), dog = OBJSTORE_STR("Dog");
    objstore_schema *schema;
    check(objstore_schema_new(&schema));
    check(objstore_schema_add_class(schema, name));
    check(objstore_schema_add_class(schema, dog));
    check(objstore_schema_add_property(
        schema, dog, OBJSTORE_STR("id"), OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY));
    check(objstore_schema_add_link_collection(
        schema, name, OBJSTORE_STR("members"), OBJSTORE_KIND_LIST, OBJSTORE_KIND_NULL, dog, 0));
    h->handle = open_store(dir, schema);
    objstore_view *t;
    objstore_class_id class;
    check(objstore_begin(h->handle, &t));
    check(objstore_find_class(t, name, &class));
    check(objstore_find_class(t, dog, &h->dog));
    h->members = property(t, class, "members");
    h->id = property(t, h->dog, "id");
    check(objstore_create(t, class, NULL, NULL, 0, &h->herd));
    check(objstore_commit(t, NULL));
    return h;
}

static void close_herd(herd *h) {
    check(objstore_close(h->handle));
    free(h);
}

static void fill_herd(herd *h, const int64_t *ids, size_t count) {
    objstore_object *dogs = must_alloc(count * sizeof *dogs);
    objstore_view *t;
    check(objstore_begin(h->handle, &t));
    for (size_t i = 0; i < count; i++) {
        const objstore_value id = objstore_int((int64_t)i);
        check(objstore_create(t, h->dog, &h->id, &id, 1, &dogs[i]));
    }
    const objstore_collection members = objstore_collection_of(h->herd, h->members);
    for (size_t i = 0; i < count; i++) {
        const objstore_value link = objstore_link(dogs[ids[i]]);
        check(objstore_list_insert(t, members, OBJSTORE_END, &link, 1));
    }
    check(objstore_commit(t, NULL));
    free(dogs);
}

static void delete_members(herd *h, const int64_t *ids, size_t count, bool together) {
    objstore_object *dogs = must_alloc(count * sizeof *dogs);
    objstore_view *t;
    check(objstore_begin(h->handle, &t));
    for (size_t i = 0; i < count; i++) {
        check(objstore_find(t, h->dog, objstore_int(ids[i]), &dogs[i], NULL));
        if (!together) check(objstore_delete(t, dogs[i]));
    }
    if (together) check(objstore_delete_objects(t, dogs, count));
    check(objstore_commit(t, NULL));
    free(dogs);
}

static void delete_each(herd *h, const int64_t *ids, size_t count) { delete_members(h, ids, count, false); }
static void delete_together(herd *h, const int64_t *ids, size_t count) { delete_members(h, ids, count, true); }

static objstore_view *herd_view(herd *h) {
    objstore_view *view;
    check(objstore_view_open(h->handle, &view));
    return view;
}

static void read_herd(herd *h, int64_t *ids, size_t count) {
    objstore_view *view = herd_view(h);
    objstore_value *links = must_alloc(count * sizeof *links), id;
    size_t got;
    check(
        objstore_collection_read(view, objstore_collection_of(h->herd, h->members), 0, count, NULL, NULL, links, &got));
    if (got != count) die("objstore: %zu members, not %zu", got, count);
    for (size_t i = 0; i < count; i++) {
        check(objstore_get(view, links[i].data.link, h->id, NULL, &id));
        ids[i] = id.data.integer;
    }
    check(objstore_view_close(view));
    free(links);
}

static size_t herd_size(herd *h) {
    objstore_view *view = herd_view(h);
    uint64_t count;
    check(objstore_collection_count(view, objstore_collection_of(h->herd, h->members), &count));
    check(objstore_view_close(view));
    return count;
}

static const herds all_herds = {
    .create = create_herd,
    .close = close_herd,
    .fill = fill_herd,
    .delete_each = delete_each,
    .delete_together = delete_together,
    .read = read_herd,
    .size = herd_size,
};

const graphs graphs_objstore = {
    .create = create,
    .close = close_graph,
    .fill = fill,
    .fill_notes = fill_notes,
    .fill_labels = fill_labels,
    .delete_persons = delete_persons,
    .delete_dogs = delete_dogs,
    .dogs_of = dogs_of,
    .read_notes = read_notes,
    .have_labels = have_labels,
    .read_extras = read_extras,
    .sum_marks = sum_marks,
    .dogs_without_owner = dogs_without_owner,
    .dogs_without_friend = dogs_without_friend,
    .herds = &all_herds,
};
