/* A million objects in one call from plain arrays, and a column back into a plain array.
 *
 * Shape of a column of text: the bytes of all rows one after the other, and where each begins and ends.
 */
#include <inttypes.h>
#include <objstore.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1000000 };

static int failed(objstore_status status, const char *what) {
    objstore_error error = objstore_error_init();
    if (status == OBJSTORE_OK) return 0;
    objstore_last_error(&error);
    fprintf(stderr, "%s: %s: %s (row %" PRId64 ")\n", what, objstore_status_name(status), error.message.bytes,
        error.position);
    return 1;
}

typedef struct rows {
    objstore_class_id class_id;
    objstore_property_id id, name, score;
    int64_t *ids, *offsets;
    char *names;
    double *scores;
    uint8_t *has_score; /* one bit a row */
} rows;

static objstore_status insert(objstore_view *transaction, void *userdata) {
    const rows *data = userdata;
    objstore_insert_counts counts;
    objstore_status status;
    objstore_column columns[3];

    columns[0] = objstore_column_init(data->id, OBJSTORE_KIND_INT, data->ids);
    columns[1] = objstore_column_init(data->name, OBJSTORE_KIND_STRING, data->names);
    columns[1].offsets = data->offsets;
    columns[1].values_bytes = (uint64_t)data->offsets[ROWS];
    columns[2] = objstore_column_init(data->score, OBJSTORE_KIND_DOUBLE, data->scores);
    columns[2].validity = data->has_score;

    status =
        objstore_insert_rows(transaction, data->class_id, OBJSTORE_POLICY_MODIFIED, columns, 3, ROWS, NULL, &counts);
    if (status == OBJSTORE_OK)
        printf("created %" PRIu64 ", changed %" PRIu64 ", unchanged %" PRIu64 "\n", counts.created, counts.changed,
            counts.unchanged);
    return status;
}

/* Reads the scores and their validity in pieces of any size, and adds them up. */
static int read_back(objstore_view *view, const rows *data) {
    static double scores[4096];
    static uint8_t validity[4096 / 8];
    int64_t position = OBJSTORE_START;
    size_t count, i, nulls = 0;
    double sum = 0;
    objstore_query *all;
    objstore_value same;
    int bad;

    do {
        if (failed(objstore_read_column(
                       view, data->class_id, data->score, 4096, &position, scores, validity, NULL, &count),
                "read"))
            return 1;
        for (i = 0; i < count; i++) {
            if (validity[i / 8] >> (i % 8) & 1) sum += scores[i];
            else nulls++;
        }
    } while (count == 4096);

    if (failed(objstore_query_new(view, data->class_id, NULL, 0, &all), "query")) return 1;
    bad = failed(objstore_query_aggregate(all, view, data->score, OBJSTORE_AGGREGATE_SUM, &same), "sum");
    if (failed(objstore_query_close(all), "query") || bad) return 1;
    printf("sum %g, %zu without a score; the store says %g\n", sum, nulls, same.data.real);
    return 0;
}

static int run(objstore *store, rows *data) {
    objstore_view *view;
    int64_t i, end = 0;
    int bad;

    if (failed(objstore_view_open(store, &view), "view")) return 1;
    bad = failed(objstore_find_class(view, OBJSTORE_STR("Person"), &data->class_id), "Person") ||
          failed(objstore_find_property(view, data->class_id, OBJSTORE_STR("id"), &data->id), "id") ||
          failed(objstore_find_property(view, data->class_id, OBJSTORE_STR("name"), &data->name), "name") ||
          failed(objstore_find_property(view, data->class_id, OBJSTORE_STR("score"), &data->score), "score");
    if (bad) return 1;

    for (i = 0; i < ROWS; i++) {
        data->ids[i] = i;
        data->offsets[i] = end;
        end += snprintf(data->names + end, 16, "person %" PRId64, i);
        data->scores[i] = (double)i / 2;
        if (i % 10 != 0) data->has_score[i / 8] = (uint8_t)(data->has_score[i / 8] | 1 << (i % 8));
    }
    data->offsets[ROWS] = end;

    bad = failed(objstore_write(store, insert, data, NULL), "write") ||
          failed(objstore_view_refresh(view, NULL), "refresh") || read_back(view, data);
    objstore_view_close(view);
    return bad;
}

int main(void) {
    const objstore_text person = OBJSTORE_STR("Person");
    objstore_schema *schema = NULL;
    objstore_config *config = NULL;
    objstore *store = NULL;
    rows data;
    int bad;

    data.ids = malloc(ROWS * sizeof *data.ids);
    data.offsets = malloc((ROWS + 1) * sizeof *data.offsets);
    data.names = malloc(ROWS * 16);
    data.scores = malloc(ROWS * sizeof *data.scores);
    data.has_score = calloc((ROWS + 7) / 8, 1);
    if (!data.ids || !data.offsets || !data.names || !data.scores || !data.has_score) return 1;

    bad = failed(objstore_schema_new(&schema), "schema") ||
          failed(objstore_schema_add_class(schema, person), "Person") ||
          failed(objstore_schema_add_property(
                     schema, person, OBJSTORE_STR("id"), OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY),
              "id") ||
          failed(objstore_schema_add_property(schema, person, OBJSTORE_STR("name"), OBJSTORE_KIND_STRING, 0), "name") ||
          failed(objstore_schema_add_property(
                     schema, person, OBJSTORE_STR("score"), OBJSTORE_KIND_DOUBLE, OBJSTORE_PROPERTY_NULLABLE),
              "score") ||
          failed(objstore_config_new(&config), "config") ||
          failed(objstore_config_set_memory(config, OBJSTORE_STR("")), "memory") ||
          failed(objstore_config_set_schema(config, schema, 1), "schema") ||
          failed(objstore_open(config, &store), "open") || run(store, &data);

    objstore_schema_close(schema);
    objstore_config_close(config);
    bad = failed(objstore_close(store), "close") || bad;
    free(data.ids);
    free(data.offsets);
    free(data.names);
    free(data.scores);
    free(data.has_score);
    return bad;
}
