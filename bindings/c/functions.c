/* Functions that queries call: by row, and with columns.
 *
 *      cc functions.c -lobjstore -lm && ./a.out
 */
#include <objstore.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(objstore_status status) {
    if (status == OBJSTORE_OK) return;
    fprintf(stderr, "%s: %s\n", objstore_status_name(status), objstore_last_message());
    exit(1);
}

enum { NAME, LAT, LON, CITY_PROPERTIES };
static const objstore_property_row city_rows[CITY_PROPERTIES] = {
    [NAME] = {.name = "name", .kind = OBJSTORE_KIND_STRING, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
    [LAT] = {.name = "lat", .kind = OBJSTORE_KIND_DOUBLE, .flags = OBJSTORE_PROPERTY_NULLABLE},
    [LON] = {.name = "lon", .kind = OBJSTORE_KIND_DOUBLE, .flags = OBJSTORE_PROPERTY_NULLABLE},
};
static objstore_class_id city;
static objstore_property_id p[CITY_PROPERTIES];

/* Kilometres between two places on the earth. */
static double distance(double lat, double lon, double lat_2, double lon_2) {
    const double degree = acos(-1.0) / 180;
    double a = sin((lat_2 - lat) * degree / 2), b = sin((lon_2 - lon) * degree / 2);
    return 2 * 6371 * asin(sqrt(a * a + cos(lat * degree) * cos(lat_2 * degree) * b * b));
}

/* "f64, f64, f64, f64 -> f64". It is not called for a city of which lat or lon is null: its distance is null. */
static objstore_status haversine(
    double lat, double lon, double lat_2, double lon_2, double *result, void *userdata) {
    (void)userdata;
    if (fabs(lat) > 90 || fabs(lat_2) > 90) return objstore_fail(90, OBJSTORE_STR("no latitude"));
    *result = distance(lat, lon, lat_2, lon_2);
    return OBJSTORE_OK;
}

/* The same for up to 4,096 cities at once: "f64[], f64[], f64[], f64[], n -> f64[]". */
static objstore_status haversines(
    const double *lat, const double *lon, const double *lat_2, const double *lon_2, size_t n, double *results,
    void *userdata) {
    int *calls = userdata;
    for (size_t i = 0; i < n; i++) results[i] = distance(lat[i], lon[i], lat_2[i], lon_2[i]);
    ++*calls;
    return OBJSTORE_OK;
}

static void show(objstore_view *view, const char *text) {
    const objstore_value bern[] = {objstore_double(46.95), objstore_double(7.44)};
    objstore_query *query;
    objstore_results *results;
    objstore_buffer buffer = objstore_buffer_init();
    uint64_t count;

    check(objstore_query_parse(view, city, objstore_cstr(text), bern, 2, &query));
    check(objstore_query_find(query, view, &results));
    check(objstore_results_count(results, &count));
    printf("%" PRIu64 ":", count);
    for (uint64_t i = 0; i < count; i++) {
        objstore_object object;
        objstore_value name;
        check(objstore_results_at(results, i, &object));
        check(objstore_get(view, object, p[NAME], &buffer, &name));
        printf(" %.*s", (int)name.data.text.length, name.data.text.bytes);
    }
    printf("\n");
    objstore_buffer_free(&buffer);
    check(objstore_results_close(results));
    check(objstore_query_close(query));
}

int main(void) {
    static const struct { const char *name; double lat, lon; } cities[] = {
        {"Zürich", 47.38, 8.54}, {"Thun", 46.76, 7.63}, {"Paris", 48.86, 2.35}, {"Bern", 46.95, 7.44},
    };
    objstore_schema *schema;
    objstore_config *config;
    objstore *store;
    objstore_view *view;
    objstore_query *query;
    objstore_error error = objstore_error_init();
    uint64_t count;
    int calls = 0;

    check(objstore_schema_new(&schema));
    check(objstore_schema_add_rows(schema, OBJSTORE_STR("City"), 0, city_rows, CITY_PROPERTIES));
    check(objstore_config_new(&config));
    check(objstore_config_set_memory(config, OBJSTORE_STR("")));
    check(objstore_config_set_schema(config, schema, 1));
    check(objstore_open(config, &store));
    check(objstore_config_close(config));
    check(objstore_schema_close(schema));

    check(objstore_begin(store, &view));
    check(objstore_find_rows(view, OBJSTORE_STR("City"), city_rows, CITY_PROPERTIES, &city, p));
    for (size_t i = 0; i < sizeof cities / sizeof *cities; i++) {
        const objstore_value values[] = {
            objstore_string(objstore_cstr(cities[i].name)), objstore_double(cities[i].lat),
            objstore_double(cities[i].lon),
        };
        check(objstore_create(view, city, p, values, CITY_PROPERTIES, NULL));
    }
    const objstore_value nowhere[] = {objstore_string(OBJSTORE_STR("Atlantis")), objstore_null(), objstore_null()};
    check(objstore_create(view, city, p, nowhere, CITY_PROPERTIES, NULL));
    check(objstore_commit(view, NULL));

    check(objstore_define_function(
        store, OBJSTORE_STR("haversine"), OBJSTORE_STR("f64, f64, f64, f64 -> f64"), (objstore_function)haversine, NULL,
        NULL));
    check(objstore_define_function(
        store, OBJSTORE_STR("haversines"), OBJSTORE_STR("f64[], f64[], f64[], f64[], n -> f64[]"),
        (objstore_function)haversines, &calls, NULL));

    check(objstore_view_open(store, &view));
    show(view, "haversine(lat, lon, $0, $1) < 100 SORT(haversine(lat, lon, $0, $1) ASC)");
    show(view, "haversines(lat, lon, $0, $1) / 1.609 > 50");
    show(view, "haversine(lat, lon, $0, $1) == NULL");
    printf("%d call for all of them\n", calls);

    /* What a function says when it fails. */
    check(objstore_query_parse(
        view, city, OBJSTORE_STR("haversine(lat, lon, 100, 0) < 1"), NULL, 0, &query));
    if (objstore_query_count(query, view, &count) != OBJSTORE_ERR_CALLBACK) return 1;
    check(objstore_last_error(&error));
    printf("%.*s (%" PRId64 ")\n", (int)error.message.length, error.message.bytes, error.callback_code);
    check(objstore_query_close(query));
    check(objstore_view_close(view));
    check(objstore_close(store));
    return 0;
}
