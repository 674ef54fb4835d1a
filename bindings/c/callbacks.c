/* Functions made at run time: observers that get values as C arguments, and functions with their userdata built in: for
 * a language whose functions are plain pointers.
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

/* ---- notifications: "event, str, f64? -> status" -------------------------------------------------------------- */

/* No getter is called, and no change set looked at. A property that may be null is a pointer. */
static objstore_status on_city(
    int32_t event, const char *name, int64_t length, const double *temperature, void *userdata) {
    int *calls = userdata;
    printf("%s %.*s: ", event == OBJSTORE_INSERTIONS ? "new" : "changed", (int)length, name);
    if (temperature) printf("%.1f degrees\n", *temperature); else printf("nobody knows\n");
    ++*calls;
    return OBJSTORE_OK;
}

/* The same of what a query finds; what it does not find any more comes with the values that it had. */
static void on_warm_city(int32_t event, const char *name, int64_t length, const double *temperature, void *userdata) {
    (void)userdata;
    printf("%s %.*s, %.1f\n", event == OBJSTORE_DELETIONS ? "not warm any more:" : "warm:", (int)length, name,
           *temperature);
}

/* ---- notifications to a function without userdata: what it works with is built in ------------------------------ */

static objstore_status count_cities(objstore_changes *changes, void *userdata) {
    objstore_changes_info info = objstore_changes_info_init();
    size_t *counted = userdata;
    check(objstore_changes_get_info(changes, &info));
    *counted += info.insertion_count + info.modification_count;
    return OBJSTORE_OK;
}

/* An interface that takes a function and nothing else. */
static void watch(objstore *store, objstore_change_handler function, objstore_token **token) {
    check(objstore_observe(store, city, 0, function, NULL, NULL, token));
}

/* ---- transactions: a body, and what it works with -------------------------------------------------------------- */

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

static void free_reading(void *userdata) {
    printf("the reading of %s is not needed any more\n", ((reading *)userdata)->name);
    free(userdata);
}

/* ---- comparators: qsort has no userdata ------------------------------------------------------------------------ */

static int by_temperature(const void *a, const void *b, void *userdata) {
    objstore_value left, right;
    check(objstore_get(userdata, *(const objstore_object *)a, p[TEMPERATURE], NULL, &left));
    check(objstore_get(userdata, *(const objstore_object *)b, p[TEMPERATURE], NULL, &right));
    return (left.data.real > right.data.real) - (left.data.real < right.data.real);
}

static void print_sorted(objstore *store) {
    objstore_object cities[10];
    objstore_plain_comparator function;
    objstore_buffer buffer = objstore_buffer_init();
    objstore_bound *bound;
    objstore_view *view;
    objstore_row row;
    size_t count = 0, i;
    bool more;
    check(objstore_view_open(store, &view));
    check(objstore_row_init(view, city, &row));
    for (check(objstore_row_next(&row, &more)); more; check(objstore_row_next(&row, &more)))
        check(objstore_row_object(&row, &cities[count++]));
    check(objstore_bind_comparator(by_temperature, view, NULL, &function, &bound));
    qsort(cities, count, sizeof *cities, function);
    check(objstore_bound_close(bound));
    printf("from cold to warm:");
    for (i = 0; i < count; i++) {
        objstore_value name;
        check(objstore_get(view, cities[i], p[NAME], &buffer, &name));
        printf(" %s", name.data.text.bytes);
    }
    printf("\n");
    objstore_buffer_free(&buffer);
    check(objstore_view_close(view));
}

/* ---- progress: what a long call tells, and who can end it ------------------------------------------------------- */

typedef struct bar {
    int calls, most; /* ends it then */
} bar;

static objstore_status show(uint64_t done, uint64_t total, void *userdata) {
    bar *shown = userdata;
    (void)done; (void)total;
    return ++shown->calls >= shown->most ? OBJSTORE_ERR_CANCELLED : OBJSTORE_OK;
}

static void verify(objstore *store, int most) {
    bar shown = {0, 0};
    objstore_progress function;
    objstore_status status;
    objstore_bound *bound;
    objstore_view *view;
    shown.most = most;
    check(objstore_view_open(store, &view));
    check(objstore_bind_progress(show, &shown, NULL, &function, &bound));
    status = objstore_verify(view, function, NULL, NULL, NULL, NULL);
    printf("verify, told how far it is: %s\n", shown.calls ? objstore_status_name(status) : "never");
    check(objstore_bound_close(bound));
    check(objstore_view_close(view));
}

/* ---- migrations: what a newer version makes of what is there ---------------------------------------------------- */

static objstore_status correct(objstore *store, objstore_view *transaction, objstore_view *old, uint64_t old_version,
                               uint64_t new_version, void *userdata) {
    const double *degrees = userdata;
    objstore_row row;
    bool more;
    (void)store;
    check(objstore_row_init(old, city, &row));
    for (check(objstore_row_next(&row, &more)); more; check(objstore_row_next(&row, &more))) {
        objstore_object object;
        objstore_value value;
        check(objstore_row_object(&row, &object));
        check(objstore_get(old, object, p[TEMPERATURE], NULL, &value));
        if (value.kind == OBJSTORE_KIND_NULL) continue;
        check(objstore_set(transaction, object, p[TEMPERATURE], objstore_double(value.data.real + *degrees)));
    }
    printf("version %" PRIu64 " became %" PRIu64 ": all %.1f degrees warmer\n", old_version, new_version, *degrees);
    return OBJSTORE_OK;
}

static void migrate(objstore_config *config, objstore_schema *schema, double degrees) {
    objstore_migration function;
    objstore_bound *bound;
    objstore *store;
    check(objstore_bind_migration(correct, &degrees, NULL, &function, &bound));
    check(objstore_config_set_schema(config, schema, 2));
    check(objstore_config_set_migration(config, function, NULL, NULL));
    check(objstore_open(config, &store));
    check(objstore_bound_close(bound));
    print_sorted(store);
    check(objstore_close(store));
}

int main(void) {
    static const reading readings[] = {{"Oslo", 3.5}, {"Rome", 19.0}, {"Oslo", 4.0}, {"Rome", 9.5}};
    objstore_schema *schema;
    objstore_config *config;
    objstore *store;
    objstore_view *view;
    objstore_query *warm;
    objstore_token *token, *warm_token, *counting, *bad = NULL;
    objstore_write_body function;
    objstore_change_handler handler;
    objstore_bound *bound, *bound_handler;
    objstore_error error = objstore_error_init();
    int calls = 0;
    size_t i, counted = 0;

    check(objstore_schema_new(&schema));
    check(objstore_schema_add_rows(schema, OBJSTORE_STR("City"), 0, city_rows, CITY_PROPERTIES));
    check(objstore_config_new(&config));
    check(objstore_config_set_memory(config, OBJSTORE_STR("cities")));
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
    check(objstore_query_parse(view, city, OBJSTORE_STR("temperature > 15 SORT(name ASC)"), NULL, 0, &warm));
    check(objstore_query_observe_typed(warm, store, OBJSTORE_TYPED_DELETIONS, p, CITY_PROPERTIES,
        OBJSTORE_STR("event, str, f64? -> void"), (objstore_function)on_warm_city, NULL, NULL, &warm_token));

    check(objstore_bind_change_handler(count_cities, &counted, NULL, &handler, &bound_handler));
    watch(store, handler, &counting);

    for (i = 0; i < sizeof readings / sizeof *readings; i++) {
        reading *given = malloc(sizeof *given);
        if (!given) return 1;
        *given = readings[i];
        check(objstore_bind_write_body(store_reading, given, free_reading, &function, &bound));
        check(run_in(store, function));
        check(objstore_deliver(store, NULL));
        check(objstore_bound_close(bound));
        /* From here on calling the function is an error, and calls nothing. */
        if (run_in(store, function) != OBJSTORE_ERR_CLOSED_HANDLE) return 1;
    }
    printf("%d calls, %zu cities counted\n", calls, counted);
    print_sorted(store);
    verify(store, 1000000);
    verify(store, 1);

    check(objstore_token_close(token));
    check(objstore_token_close(warm_token));
    check(objstore_token_close(counting));
    check(objstore_bound_close(bound_handler));
    check(objstore_query_close(warm));
    migrate(config, schema, 0.5);
    check(objstore_close(store));
    check(objstore_config_close(config));
    return objstore_schema_close(schema);
}
