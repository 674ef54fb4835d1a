/* Functions made at run time: an observer that gets its values as C arguments, and functions with their userdata built
 * in.
 *
 *      cc callbacks.c -lobjstore && ./a.out
 */
#include <objstore.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void check(objstore_status status) {
    if (status == OBJSTORE_OK) return;
    fprintf(stderr, "%s: %s\n", objstore_status_name(status), objstore_last_message());
    exit(1);
}

enum { NAME, TEMPERATURE, CITY_PROPERTIES };
static const objstore_property_row city_rows[CITY_PROPERTIES] = {
    [NAME] = {.name = "name", .kind = OBJSTORE_KIND_STRING, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
    [TEMPERATURE] = {.name = "temperature", .kind = OBJSTORE_KIND_DOUBLE, .flags = OBJSTORE_PROPERTY_NULLABLE},
};
static objstore_class_id city;
static objstore_property_id p[CITY_PROPERTIES];

/* "event, str, f64? -> status": no getter is called, and no change set looked at. A property that may be null is a
   pointer. */
static objstore_status on_city(
    int32_t event, const char *name, int64_t length, const double *temperature, void *userdata) {
    int *calls = userdata;
    printf("%s %.*s: ", event == OBJSTORE_INSERTIONS ? "new" : "changed", (int)length, name);
    if (temperature) printf("%.1f degrees\n", *temperature); else printf("nobody knows\n");
    ++*calls;
    return OBJSTORE_OK;
}

/* What a bound function is made of: a body, and what it works with. */
typedef struct reading {
    const char *name;
    double temperature;
} reading;

static objstore_status store_reading(objstore_view *transaction, void *userdata) {
    const reading *given = userdata;
    const objstore_value values[] = {objstore_string(objstore_cstr(given->name)), objstore_double(given->temperature)};
    return objstore_upsert(transaction, city, OBJSTORE_POLICY_MODIFIED, p, values, CITY_PROPERTIES, NULL, NULL);
}

/* An interface that takes a function and nothing else, as many do. */
static objstore_status run_in(objstore *store, objstore_write_body function) {
    return objstore_write(store, function, NULL, NULL);
}

int main(void) {
    static reading readings[] = {{"Oslo", 3.5}, {"Rome", 19.0}, {"Oslo", 4.0}};
    objstore_schema *schema;
    objstore_config *config;
    objstore *store;
    objstore_view *view;
    objstore_token *token, *bad = NULL;
    objstore_write_body function;
    objstore_bound *bound;
    objstore_error error = objstore_error_init();
    int calls = 0;
    size_t i;

    check(objstore_schema_new(&schema));
    check(objstore_schema_add_rows(schema, OBJSTORE_STR("City"), 0, city_rows, CITY_PROPERTIES));
    check(objstore_config_new(&config));
    check(objstore_config_set_memory(config, OBJSTORE_STR("")));
    check(objstore_config_set_schema(config, schema, 1));
    check(objstore_open(config, &store));
    check(objstore_view_open(store, &view));
    check(objstore_find_rows(view, OBJSTORE_STR("City"), city_rows, CITY_PROPERTIES, &city, p));

    /* A signature is checked when it is given: the error points at what is wrong in it. */
    if (objstore_observe_typed(store, city, p, CITY_PROPERTIES, OBJSTORE_STR("str, f64 -> status"),
            (objstore_function)on_city, &calls, NULL, &bad) != OBJSTORE_OK)
        printf("refused: %s\n", objstore_last_message());
    if (objstore_observe_typed(store, city, p, CITY_PROPERTIES, OBJSTORE_STR("str, f46? -> status"),
            (objstore_function)on_city, &calls, NULL, &bad) != OBJSTORE_OK &&
        objstore_last_error(&error) == OBJSTORE_OK)
        printf("refused: %s (position %" PRId64 ")\n", error.message.bytes, error.position);
    check(objstore_observe_typed(store, city, p, CITY_PROPERTIES, OBJSTORE_STR("event, str, f64? -> status"),
        (objstore_function)on_city, &calls, NULL, &token));

    for (i = 0; i < sizeof readings / sizeof *readings; i++) {
        check(objstore_bind_write_body(store_reading, &readings[i], NULL, &function, &bound));
        check(run_in(store, function));
        check(objstore_deliver(store, NULL));
        check(objstore_bound_close(bound));
        /* From here on calling the function is an error, and calls nothing. */
        if (run_in(store, function) != OBJSTORE_ERR_CLOSED_HANDLE) return 1;
    }
    printf("%d calls\n", calls);

    check(objstore_token_close(token));
    check(objstore_close(store));
    check(objstore_config_close(config));
    return objstore_schema_close(schema);
}
