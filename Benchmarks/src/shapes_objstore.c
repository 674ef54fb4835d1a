// objstore: stores of another shape than Person, through its C interface.
#include "bench.h"

#include <objstore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { id_property, name_property, age_property, score_property, email_property, person_width };

static const struct { const char *name; objstore_kind kind; uint32_t flags; } person[person_width] = {
    {"id", OBJSTORE_KIND_STRING, OBJSTORE_PROPERTY_PRIMARY_KEY},
    {"name", OBJSTORE_KIND_STRING, 0},
    {"age", OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_INDEXED},
    {"score", OBJSTORE_KIND_DOUBLE, 0},
    {"email", OBJSTORE_KIND_STRING, OBJSTORE_PROPERTY_NULLABLE},
};

struct shaped {
    objstore *handle;
    shape shape;
    objstore_class_id class;                                // all but CLASSES
    objstore_property_id properties[1 + wide_width];        // id first
    size_t property_count;
    struct { objstore_class_id class; objstore_property_id id, value; } classes[class_limit];
};

#define check(call) \
    do { \
        objstore_status status_ = (call); \
        if (status_) die("objstore: %s: %s: %s", #call, objstore_status_name(status_), objstore_last_message()); \
    } while (0)

static void add(objstore_schema *schema, const char *class, const char *name, objstore_kind kind, uint32_t flags) {
    check(objstore_schema_add_property(schema, objstore_cstr(class), objstore_cstr(name), kind, flags));
}

static objstore_schema *make_schema(shape what, size_t count) {
    objstore_schema *schema;
    char name[24];
    check(objstore_schema_new(&schema));
    for (size_t c = 0; what == CLASSES && c < count; c++) {
        snprintf(name, sizeof name, "Class%zu", c);
        check(objstore_schema_add_class(schema, objstore_cstr(name)));
        add(schema, name, "id", OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY);
        add(schema, name, "value", OBJSTORE_KIND_INT, 0);
    }
    if (what == CLASSES) return schema;
    check(objstore_schema_add_class(schema, OBJSTORE_STR("Thing")));
    if (what == TEXT_KEYS) {
        for (size_t i = 0; i < person_width; i++) add(schema, "Thing", person[i].name, person[i].kind, person[i].flags);
        return schema;
    }
    add(schema, "Thing", "id", OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY);
    if (what == LIST) {
        check(objstore_schema_add_collection(schema, OBJSTORE_STR("Thing"), OBJSTORE_STR("items"), OBJSTORE_KIND_LIST,
            OBJSTORE_KIND_NULL, OBJSTORE_KIND_INT, 0));
    }
    if (what == BIG_VALUES) add(schema, "Thing", "data", OBJSTORE_KIND_BINARY, 0);
    for (size_t c = 0; what == WIDE && c < wide_width; c++) {
        snprintf(name, sizeof name, "c%zu", c);
        add(schema, "Thing", name, OBJSTORE_KIND_INT, 0);
    }
    return schema;
}

static objstore_view *begin_read(const shaped *s) {
    objstore_view *live, *frozen;
    check(objstore_view_open(s->handle, &live));
    check(objstore_view_freeze(live, &frozen));
    check(objstore_view_close(live));
    return frozen;
}

static void find_ids(shaped *s, size_t count) {
    objstore_view *view = begin_read(s);
    if (s->shape == CLASSES) {
        for (size_t c = 0; c < count; c++) {
            char name[24];
            snprintf(name, sizeof name, "Class%zu", c);
            check(objstore_find_class(view, objstore_cstr(name), &s->classes[c].class));
            check(objstore_find_property(view, s->classes[c].class, OBJSTORE_STR("id"), &s->classes[c].id));
            check(objstore_find_property(view, s->classes[c].class, OBJSTORE_STR("value"), &s->classes[c].value));
        }
    } else {
        check(objstore_find_class(view, OBJSTORE_STR("Thing"), &s->class));
        objstore_class_info class = {.struct_size = sizeof class};
        check(objstore_class_get_info(view, s->class, &class));
        s->property_count = class.property_count;
        for (size_t i = 0; i < s->property_count; i++) {
            objstore_property_info info = {.struct_size = sizeof info};
            check(objstore_property_at(view, s->class, i, &info));
            s->properties[i] = info.property_id;
        }
    }
    check(objstore_view_close(view));
}

static shaped *open_shaped(const char *dir, shape what, size_t count, bool create) {
    if (count > class_limit) die("objstore: %zu classes", count);
    shaped *s = must_alloc(sizeof *s);
    s->shape = what;
    char *path = format_path("%s/shaped.objstore", dir);
    objstore_config *config;
    check(objstore_config_new(&config));
    check(objstore_config_set_path(config, objstore_cstr(path)));
    check(objstore_config_set_creation(config, create ? OBJSTORE_CREATION_ALWAYS : OBJSTORE_CREATION_NEVER));
    if (create) {
        objstore_schema *schema = make_schema(what, count);
        check(objstore_config_set_schema(config, schema, 1));
        check(objstore_schema_close(schema));
    }
    check(objstore_open(config, &s->handle));
    check(objstore_config_close(config));
    find_ids(s, count);
    free(path);
    return s;
}

static shaped *create(const char *dir, shape what, size_t count) {
    shaped *s = open_shaped(dir, what, count, true);
    if (what != CLASSES) return s;
    objstore_view *t;
    check(objstore_begin(s->handle, &t));
    for (size_t c = 0; c < count; c++) {
        const objstore_property_id properties[] = {s->classes[c].id, s->classes[c].value};
        const objstore_value values[] = {objstore_int(1), objstore_int(0)};
        check(objstore_create(t, s->classes[c].class, properties, values, 2, NULL));
    }
    check(objstore_commit(t, NULL));
    return s;
}

static shaped *open_existing(const char *dir, shape what, size_t count) { return open_shaped(dir, what, count, false); }

static void close_shaped(shaped *s) {
    check(objstore_close(s->handle));
    free(s);
}

// --------------------------------------------------------------------------------- string keys

static objstore_value text_key(const char *keys, size_t i) {
    return objstore_string(objstore_text_of(keys + i * text_key_length, text_key_length));
}

static void insert_people(shaped *s, const people *p, const char *keys) {
    objstore_view *t;
    check(objstore_begin(s->handle, &t));
    for (size_t i = 0; i < p->count; i++) {
        const objstore_value values[person_width] = {
            [id_property] = text_key(keys, i),
            [name_property] = objstore_string(objstore_text_of(name_of(p, i), (int64_t)name_length(p, i))),
            [age_property] = objstore_int(p->age[i]),
            [score_property] = objstore_double(p->score[i]),
            [email_property] = p->email_is_null[i] ? objstore_null()
                               : objstore_string(objstore_text_of(email_of(p, i), (int64_t)email_length(p, i))),
        };
        check(objstore_create(t, s->class, s->properties, values, person_width, NULL));
    }
    check(objstore_commit(t, NULL));
}

static void lookup_people(shaped *s, const char *keys, const int64_t *which, size_t size, int64_t *ages) {
    objstore_view *view = begin_read(s);
    for (size_t i = 0; i < size; i++) {
        objstore_object object;
        objstore_value age;
        check(objstore_find(view, s->class, text_key(keys, (size_t)which[i]), &object, NULL));
        check(objstore_get(view, object, s->properties[age_property], NULL, &age));
        ages[i] = age.data.integer;
    }
    check(objstore_view_close(view));
}

// ----------------------------------------------------------------------------------- wide rows

static void insert_wide(shaped *s, const int64_t *values, size_t rows) {
    objstore_view *t;
    objstore_value row[1 + wide_width];
    check(objstore_begin(s->handle, &t));
    for (size_t i = 0; i < rows; i++) {
        row[0] = objstore_int((int64_t)i);
        for (size_t c = 0; c < wide_width; c++) row[1 + c] = objstore_int(values[i * wide_width + c]);
        check(objstore_create(t, s->class, s->properties, row, 1 + wide_width, NULL));
    }
    check(objstore_commit(t, NULL));
}

static objstore_object find(objstore_view *view, const shaped *s, int64_t id) {
    objstore_object object;
    check(objstore_find(view, s->class, objstore_int(id), &object, NULL));
    return object;
}

static void read_wide(shaped *s, const int64_t *ids, size_t size, int64_t *values) {
    objstore_view *view = begin_read(s);
    objstore_value row[wide_width];
    for (size_t i = 0; i < size; i++) {
        check(objstore_get_row(view, find(view, s, ids[i]), s->properties + 1, wide_width, NULL, row));
        for (size_t c = 0; c < wide_width; c++) values[i * wide_width + c] = row[c].data.integer;
    }
    check(objstore_view_close(view));
}

static void update_wide(shaped *s, size_t column, const int64_t *ids, const int64_t *values, size_t size) {
    objstore_view *t;
    check(objstore_begin(s->handle, &t));
    for (size_t i = 0; i < size; i++)
        check(objstore_set(t, find(t, s, ids[i]), s->properties[1 + column], objstore_int(values[i])));
    check(objstore_commit(t, NULL));
}

// ---------------------------------------------------------------------------------- big values

static void write_big(shaped *s, int64_t id, const uint8_t *bytes, size_t size) {
    objstore_view *t;
    const objstore_value values[] = {objstore_int(id), objstore_binary(bytes, (int64_t)size)};
    check(objstore_begin(s->handle, &t));
    check(objstore_create(t, s->class, s->properties, values, 2, NULL));
    check(objstore_commit(t, NULL));
}

static void read_big(shaped *s, int64_t id, uint8_t *bytes, size_t size) {
    objstore_view *view = begin_read(s);
    objstore_value value;
    check(objstore_get(view, find(view, s, id), s->properties[1], NULL, &value));
    if (value.data.binary.length != (int64_t)size) die("objstore: %ld bytes, not %zu", value.data.binary.length, size);
    memcpy(bytes, value.data.binary.bytes, size);
    check(objstore_view_close(view));
}

// -------------------------------------------------------------------------------- many classes

static void update_class(shaped *s, size_t index, int64_t value) {
    objstore_view *t;
    objstore_object object;
    check(objstore_begin(s->handle, &t));
    check(objstore_find(t, s->classes[index].class, objstore_int(1), &object, NULL));
    check(objstore_set(t, object, s->classes[index].value, objstore_int(value)));
    check(objstore_commit(t, NULL));
}

static int64_t read_class(shaped *s, size_t index) {
    objstore_view *view = begin_read(s);
    objstore_object object;
    objstore_value value;
    check(objstore_find(view, s->classes[index].class, objstore_int(1), &object, NULL));
    check(objstore_get(view, object, s->classes[index].value, NULL, &value));
    check(objstore_view_close(view));
    return value.data.integer;
}

// ---------------------------------------------------------------------------------------- lists

// The list of the object, which the first transaction makes.
static objstore_collection list_of(objstore_view *view, const shaped *s) {
    objstore_object object;
    bool found;
    check(objstore_find(view, s->class, objstore_int(1), &object, &found));
    if (!found) {
        const objstore_value id = objstore_int(1);
        check(objstore_create(view, s->class, s->properties, &id, 1, &object));
    }
    return objstore_collection_of(object, s->properties[1]);
}

static void append_list(shaped *s, size_t count) {
    objstore_view *t;
    check(objstore_begin(s->handle, &t));
    const objstore_collection list = list_of(t, s);
    for (size_t i = 0; i < count; i++) {
        const objstore_value value = objstore_int((int64_t)i);
        check(objstore_list_insert(t, list, OBJSTORE_END, &value, 1));
    }
    check(objstore_commit(t, NULL));
}

static void insert_list(shaped *s, const double *places, int64_t first, size_t count) {
    objstore_view *t;
    check(objstore_begin(s->handle, &t));
    const objstore_collection list = list_of(t, s);
    for (size_t i = 0; i < count; i++) {
        const objstore_value value = objstore_int(first + (int64_t)i);
        check(objstore_list_insert(t, list, (size_t)(places[i] * (double)(first + (int64_t)i)), &value, 1));
    }
    check(objstore_commit(t, NULL));
}

static void move_list(shaped *s, const double *from, const double *to, size_t count, size_t size) {
    objstore_view *t;
    check(objstore_begin(s->handle, &t));
    const objstore_collection list = list_of(t, s);
    for (size_t i = 0; i < count; i++)
        check(objstore_list_move(t, list, (size_t)(from[i] * (double)size), (size_t)(to[i] * (double)size)));
    check(objstore_commit(t, NULL));
}

static size_t walk_list(shaped *s, int64_t *values, size_t capacity) {
    enum { block = 1024 };
    objstore_view *view = begin_read(s);
    const objstore_collection list = list_of(view, s);
    objstore_value some[block];
    size_t count = 0, read;
    do {
        check(objstore_collection_read(view, list, count, block, NULL, NULL, some, &read));
        if (read > capacity - count) die("objstore: more than %zu elements", capacity);
        for (size_t i = 0; i < read; i++) values[count + i] = some[i].data.integer;
        count += read;
    } while (read == block);
    check(objstore_view_close(view));
    return count;
}

const shapes shapes_objstore = {
    .create = create, .open = open_existing, .close = close_shaped,
    .insert_people = insert_people, .lookup_people = lookup_people,
    .insert_wide = insert_wide, .read_wide = read_wide, .update_wide = update_wide,
    .write_big = write_big, .read_big = read_big,
    .update_class = update_class, .read_class = read_class,
    .append_list = append_list, .insert_list = insert_list, .move_list = move_list, .walk_list = walk_list,
};
