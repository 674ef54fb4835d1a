// objstore: JSON text into objects, through its C interface.
#include "json.h"

#include <objstore.h>
#include <stdlib.h>

struct json_store {
    objstore *handle;
    json_shape shape;
};

#define check(call) \
    do { \
        objstore_status status_ = (call); \
        if (status_) die("objstore: %s: %s: %s", #call, objstore_status_name(status_), objstore_last_message()); \
    } while (0)

typedef struct { const char *name; objstore_kind kind; uint32_t flags; } property;

static const property person[] = {
    {"id", OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY},
    {"name", OBJSTORE_KIND_STRING, 0},
    {"age", OBJSTORE_KIND_INT, 0},
    {"score", OBJSTORE_KIND_DOUBLE, 0},
    {"email", OBJSTORE_KIND_STRING, OBJSTORE_PROPERTY_NULLABLE},
    {NULL, 0, 0},
};
static const property dog[] = {{"name", OBJSTORE_KIND_STRING, 0}, {"age", OBJSTORE_KIND_INT, 0}, {NULL, 0, 0}};
static const property city[] = {
    {"geonameid", OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY},
    {"name", OBJSTORE_KIND_STRING, 0},
    {"latitude", OBJSTORE_KIND_DOUBLE, 0},
    {"longitude", OBJSTORE_KIND_DOUBLE, 0},
    {"countrycode", OBJSTORE_KIND_STRING, 0},
    {"population", OBJSTORE_KIND_INT, 0},
    {"timezone", OBJSTORE_KIND_STRING, 0},
    {"admin1code", OBJSTORE_KIND_STRING, 0},
    {NULL, 0, 0},
};

static const struct { const char *class, *texts, *sum; } names[] = {
    [PEOPLE] = {"Person", "tags", "age"},
    [CITIES] = {"City", "alternatenames", "population"},
};

static void add_class(objstore_schema *schema, const char *class, const property *properties) {
    check(objstore_schema_add_class(schema, objstore_cstr(class)));
    for (const property *p = properties; p->name; p++)
        check(objstore_schema_add_property(schema, objstore_cstr(class), objstore_cstr(p->name), p->kind, p->flags));
}

static json_store *create(const char *dir, json_shape shape) {
    json_store *s = must_alloc(sizeof *s);
    const objstore_text class = objstore_cstr(names[shape].class);
    objstore_schema *schema;
    s->shape = shape;
    check(objstore_schema_new(&schema));
    add_class(schema, names[shape].class, shape == PEOPLE ? person : city);
    check(objstore_schema_add_collection(schema, class, objstore_cstr(names[shape].texts), OBJSTORE_KIND_LIST,
        OBJSTORE_KIND_NULL, OBJSTORE_KIND_STRING, 0));
    if (shape == PEOPLE) {
        add_class(schema, "Dog", dog);
        check(objstore_schema_add_link_collection(
            schema, class, OBJSTORE_STR("dogs"), OBJSTORE_KIND_LIST, OBJSTORE_KIND_NULL, OBJSTORE_STR("Dog"), 0));
    }
    objstore_config *config;
    char *path = format_path("%s/json.objstore", dir);
    check(objstore_config_new(&config));
    check(objstore_config_set_path(config, objstore_cstr(path)));
    check(objstore_config_set_schema(config, schema, 1));
    check(objstore_open(config, &s->handle));
    check(objstore_config_close(config));
    check(objstore_schema_close(schema));
    free(path);
    return s;
}

static objstore_class_id class_named(objstore_view *view, const char *name) {
    objstore_class_id id;
    check(objstore_find_class(view, objstore_cstr(name), &id));
    return id;
}

static objstore_property_id property_named(objstore_view *view, objstore_class_id class, const char *name) {
    objstore_property_id id;
    check(objstore_find_property(view, class, objstore_cstr(name), &id));
    return id;
}

static void import(json_store *s, const char *text, size_t length) {
    objstore_view *t;
    check(objstore_begin(s->handle, &t));
    check(objstore_create_all_from_json(t, class_named(t, names[s->shape].class), OBJSTORE_POLICY_ERROR, 0,
                                        objstore_text_of(text, (int64_t)length), NULL, NULL, NULL, NULL));
    check(objstore_commit(t, NULL));
}

// Sum of an int of all objects of a class, and how many there are.
static int64_t sum_of(objstore_view *view, const char *class_name, const char *name, int64_t *count) {
    const objstore_class_id class = class_named(view, class_name);
    const objstore_property_id id = property_named(view, class, name);
    objstore_row row;
    int64_t sum = 0, value;
    bool more;
    *count = 0;
    check(objstore_row_init(view, class, &row));
    for (;; ++*count) {
        check(objstore_row_next(&row, &more));
        if (!more) return sum;
        check(objstore_row_int(&row, id, &value, NULL));
        sum += value;
    }
}

static json_figures figures(json_store *s) {
    objstore_view *live, *view;
    json_figures found = {0};
    check(objstore_view_open(s->handle, &live));
    check(objstore_view_freeze(live, &view));
    check(objstore_view_close(live));
    found.sum = sum_of(view, names[s->shape].class, names[s->shape].sum, &found.objects);
    if (s->shape == PEOPLE) found.nested_sum = sum_of(view, "Dog", "age", &found.nested);

    const objstore_class_id class = class_named(view, names[s->shape].class);
    const objstore_property_id texts = property_named(view, class, names[s->shape].texts);
    const objstore_property_id dogs = s->shape == PEOPLE ? property_named(view, class, "dogs") : texts;
    objstore_row row;
    int64_t linked = 0;
    bool more;
    check(objstore_row_init(view, class, &row));
    for (;;) {
        objstore_object object;
        objstore_value values[64];
        uint64_t dogs_here = 0;
        check(objstore_row_next(&row, &more));
        if (!more) break;
        check(objstore_row_object(&row, &object));
        for (size_t start = 0, count = 64; count == 64; start += count) {
            check(objstore_collection_read(
                view, objstore_collection_of(object, texts), start, 64, NULL, NULL, values, &count));
            for (size_t i = 0; i < count; i++) found.text_bytes += values[i].data.text.length;
            found.texts += (int64_t)count;
        }
        if (s->shape == PEOPLE)
            check(objstore_collection_count(view, objstore_collection_of(object, dogs), &dogs_here));
        linked += (int64_t)dogs_here;
    }
    if (linked != found.nested) die("objstore: %ld of %ld dogs have an owner", linked, found.nested);
    check(objstore_view_close(view));
    return found;
}

static void close_store(json_store *s) {
    check(objstore_close(s->handle));
    free(s);
}

const json_importer json_objstore = {.create = create, .import = import, .figures = figures, .close = close_store};
