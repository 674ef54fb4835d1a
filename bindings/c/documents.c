/* Mixed values: whatever a dog's record says, and one element of it that changes.
 *
 *   cc -std=c99 -Iinclude bindings/c/documents.c -Lbuild/lib -lobjstore -Wl,-rpath,$PWD/build/lib -o documents &&
 *   ./documents
 */
#include <objstore.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                        \
    do {                                                                 \
        if ((call) != OBJSTORE_OK) {                                     \
            fprintf(stderr, "%s: %s\n", #call, objstore_last_message()); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

/* Prints a value of a flat array, and what is in it; returns where the next one is. */
static const objstore_value *print(const objstore_value *value) {
    const objstore_value *next = value + 1;
    int64_t i;
    switch (value->kind) {
    case OBJSTORE_KIND_NULL: printf("null"); break;
    case OBJSTORE_KIND_BOOL: printf(value->data.boolean ? "true" : "false"); break;
    case OBJSTORE_KIND_INT: printf("%" PRId64, value->data.integer); break;
    case OBJSTORE_KIND_DOUBLE: printf("%g", value->data.real); break;
    case OBJSTORE_KIND_STRING: printf("\"%.*s\"", (int)value->data.text.length, value->data.text.bytes); break;
    case OBJSTORE_KIND_LIST:
    case OBJSTORE_KIND_MAP:
        printf(value->kind == OBJSTORE_KIND_LIST ? "[" : "{");
        for (i = 0; i < value->data.integer; i++) {
            if (i > 0) printf(", ");
            if (value->kind == OBJSTORE_KIND_MAP) {
                next = print(next);
                printf(": ");
            }
            next = print(next);
        }
        printf(value->kind == OBJSTORE_KIND_LIST ? "]" : "}");
        break;
    default: printf("kind %d", (int)value->kind);
    }
    return next;
}

int main(void) {
    const objstore_text dog = OBJSTORE_STR("Dog");
    objstore_schema *schema;
    TRY(objstore_schema_new(&schema));
    TRY(objstore_schema_add_class(schema, dog));
    TRY(objstore_schema_add_property(schema, dog, OBJSTORE_STR("extra"), OBJSTORE_KIND_MIXED, 0));

    objstore_config *config;
    objstore *store;
    TRY(objstore_config_new(&config));
    TRY(objstore_config_set_memory(config, OBJSTORE_STR("")));
    TRY(objstore_config_set_schema(config, schema, 1));
    TRY(objstore_open(config, &store));
    TRY(objstore_config_close(config));
    TRY(objstore_schema_close(schema));

    objstore_view *tx;
    objstore_class_id dogs;
    objstore_property_id extra;
    TRY(objstore_begin(store, &tx));
    TRY(objstore_find_class(tx, dog, &dogs));
    TRY(objstore_find_property(tx, dogs, OBJSTORE_STR("extra"), &extra));

    /* {"name": "Rex", "seen": [1, 2.5]}, flat: a list or map with its number of elements, then these. */
    const objstore_value name = objstore_string(OBJSTORE_STR("name")), seen = objstore_string(OBJSTORE_STR("seen"));
    const objstore_value flat[] = {objstore_map_of(2), name, objstore_string(OBJSTORE_STR("Rex")),
                                   seen, objstore_list_of(2), objstore_int(1), objstore_double(2.5)};
    objstore_buffer buffer = objstore_buffer_init();
    objstore_value document;
    objstore_object rex;
    TRY(objstore_document_pack(flat, 7, &buffer, &document));
    TRY(objstore_create(tx, dogs, &extra, &document, 1, &rex));

    /* One element changes, one more comes: that is what the log has, however large the document is. */
    const objstore_value first[] = {seen, objstore_int(0)}, end[] = {seen, objstore_int(-1)};
    TRY(objstore_mixed_set(tx, rex, extra, first, 2, objstore_int(7)));
    TRY(objstore_mixed_insert(tx, rex, extra, end, 2, objstore_bool(true)));

    objstore_value found;
    TRY(objstore_mixed_get(tx, rex, extra, first, 2, NULL, &found, NULL));
    printf("first seen: %" PRId64 "\n", found.data.integer);

    /* All of it: borrowed until the next write, and unpacked without a copy of the texts. */
    objstore_value all[32];
    size_t count;
    TRY(objstore_get(tx, rex, extra, NULL, &found));
    TRY(objstore_document_unpack(found, all, 32, &count));
    print(all);
    printf("\n");

    TRY(objstore_commit(tx, NULL));
    TRY(objstore_buffer_free(&buffer));
    TRY(objstore_close(store));
    return 0;
}
