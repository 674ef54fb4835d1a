// Bulk inserts, and how big the file is afterwards.
#include "cases.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_loaded(const bench *b, const peer *p, store *s) {
    expected_ages e = expect_ages(b->data);
    memset(e.touched, 1, e.count < 10000 ? e.count : 10000);
    verify_ages(p, s, &e, "bulk_insert");
    double sum = floor_sum(b->data->score, b->data->count);
    if (p->sum_scores && p->sum_scores(s) != sum) die("bulk_insert: %s: wrong sum", p->name);
    for (size_t i = 0; p->count_name && i < b->data->count; i += b->data->count / 3)
        if (p->count_name(s, name_of(b->data, i), name_length(b->data, i)) < 1) die("bulk_insert: %s: a name is lost", p->name);
    free_expected(&e);
}

static double timed_insert(const bench *b, int slot, const char *where, bool columns) {
    const peer *p = b->peers[slot];
    char *path = store_path(b, slot, where);
    remove_directory(path);
    make_directory(path);
    store *s = p->create(path, (open_options){.durability = DURABLE, .indexed = true});
    int64_t start = now_ns();
    (columns ? p->insert_columns : p->insert)(s, b->data);
    int64_t end = now_ns();
    check_loaded(b, p, s);
    p->close(s);
    free(path);
    return microseconds(end - start) / (double)b->data->count;
}

void run_bulk(bench *b, wanted_function *wanted) {
    result *rows = wanted("bulk_insert") ? add_result(b, "bulk_insert", "us/object", false) : NULL;
    result *columns = wanted("bulk_insert_columnar") ? add_result(b, "bulk_insert_columnar", "us/object", false) : NULL;
    char *floor_path = format_path("%s/floor.bulk", b->directory);
    for (size_t i = 0, n = repetitions(b, 3); i < n; i++) {
        int64_t start = now_ns();
        floor_bulk_rows(floor_path, b->data);
        int64_t middle = now_ns();
        floor_bulk_columns(floor_path, b->data);
        int64_t end = now_ns();
        if (rows) series_add(&rows->tracks[FLOOR].repetitions, microseconds(middle - start) / (double)b->data->count);
        if (columns) series_add(&columns->tracks[FLOOR].repetitions, microseconds(end - middle) / (double)b->data->count);
        each_peer(b, slot) {
            // Who has no columnar insert stands in that row with the ordinary one, measured beside it.
            double by_row = rows || !b->peers[slot]->insert_columns ? timed_insert(b, slot, "master", false) : 0;
            if (rows) series_add(&rows->tracks[slot].repetitions, by_row);
            if (!columns) continue;
            double by_column = b->peers[slot]->insert_columns ? timed_insert(b, slot, "columnar", true) : by_row;
            series_add(&columns->tracks[slot].repetitions, by_column);
        }
    }
    each_peer(b, slot) drop(store_path(b, slot, "columnar"));
    check_sys(unlink(floor_path) == 0);
    free(floor_path);
}

void run_file_bytes(bench *b, wanted_function *wanted) {
    (void)wanted;
    result *r = add_result(b, "file_bytes_per_object", "bytes", false);
    series_add(&r->tracks[FLOOR].repetitions, (double)packed_bytes(b->data) / (double)b->data->count);
    each_peer(b, slot) {
        char *path = master(b, slot, true);
        series_add(&r->tracks[slot].repetitions, (double)b->peers[slot]->data_bytes(path) / (double)b->data->count);
        free(path);
    }
}
