/* A first program: describe a class, open a store, write, ask.              cc first.c -lobjstore && ./a.out */
#include <objstore.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Every call can fail. Here a failure ends the program and says why. */
static void check(objstore_status status) {
    if (status == OBJSTORE_OK) return;
    fprintf(stderr, "%s: %s\n", objstore_status_name(status), objstore_last_message());
    exit(1);
}

enum { NUMBER, NAME, AGE, DOG_PROPERTIES };
static const objstore_property_row dog_rows[DOG_PROPERTIES] = {
    [NUMBER] = {.name = "id", .kind = OBJSTORE_KIND_INT, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
    [NAME] = {.name = "name", .kind = OBJSTORE_KIND_STRING},
    [AGE] = {.name = "age",
        .kind = OBJSTORE_KIND_INT,
        .flags = OBJSTORE_PROPERTY_INDEXED,
        .default_value = OBJSTORE_INT_INIT(0)},
};
static objstore_class_id dog;
static objstore_property_id p[DOG_PROPERTIES];

/* The body of a transaction: return anything but OBJSTORE_OK and nothing of it happened. */
static objstore_status add_dogs(objstore_view *transaction, void *userdata) {
    const objstore_value rex[] = {objstore_int(1), objstore_string(OBJSTORE_STR("Rex")), objstore_int(10)};
    const objstore_value ella[] = {objstore_int(2), objstore_string(OBJSTORE_STR("Ella"))};
    objstore_outcome outcome;
    objstore_status status = objstore_upsert(transaction, dog, OBJSTORE_POLICY_MODIFIED, p, rex, 3, NULL, &outcome);
    (void)userdata;
    if (status != OBJSTORE_OK) return status;
    printf("Rex: %s\n", outcome == OBJSTORE_OUTCOME_CREATED ? "created" : "was there");
    return objstore_upsert(transaction, dog, OBJSTORE_POLICY_MODIFIED, p, ella, 2, NULL, NULL);
}

int main(int argc, char **argv) {
    objstore_schema *schema;
    objstore_config *config;
    objstore *store;
    objstore_view *view;
    objstore_query *query;
    const objstore_value age = objstore_int(2);
    uint64_t count, young;
    check(objstore_schema_new(&schema));
    check(objstore_schema_add_rows(schema, OBJSTORE_STR("Dog"), 0, dog_rows, DOG_PROPERTIES));
    check(objstore_config_new(&config));
    check(objstore_config_set_path(config, objstore_cstr(argc > 1 ? argv[1] : "dogs.objstore")));
    check(objstore_config_set_schema(config, schema, 1));
    check(objstore_open(config, &store));
    check(objstore_view_open(store, &view));
    check(objstore_find_rows(view, OBJSTORE_STR("Dog"), dog_rows, DOG_PROPERTIES, &dog, p));
    check(objstore_write(store, add_dogs, NULL, NULL));
    check(objstore_view_refresh(view, NULL)); /* until now it is where it was */
    check(objstore_count(view, dog, &count));
    check(objstore_query_parse(view, dog, OBJSTORE_STR("age < $0"), &age, 1, &query));
    check(objstore_query_count(query, view, &young)); /* now, and in this view; as often as one likes */
    check(objstore_query_close(query));
    printf("%" PRIu64 " dogs, %" PRIu64 " of them younger than 2\n", count, young);
    check(objstore_close(store)); /* and the view with it */
    check(objstore_config_close(config));
    return objstore_schema_close(schema);
}
