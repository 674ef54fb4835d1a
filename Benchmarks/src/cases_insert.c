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
        if (p->count_name(s, name_of(b->data, i), name_length(b->data, i)) < 1)
            die("bulk_insert: %s: a name is lost", p->name);
    free_expected(&e);
}

// The ids are not those of b->data, all else is.
static void check_scattered(const people *data, const peer *p, store *s) {
    size_t size = data->count < 10000 ? data->count : 10000;
    int64_t *ages = must_alloc(size * 8);
    p->lookup_ages(s, data->id, size, ages);
    for (size_t i = 0; i < size; i++)
        if (ages[i] != data->age[i])
            die("bulk_insert_random_pk: %s: object %ld has age %ld", p->name, data->id[i], ages[i]);
    free(ages);
    uint64_t below = floor_count_below(data->age, data->count, (uint8_t)age_limit);
    if (p->count_age_below(s, age_limit, false) != below || p->count_age_below(s, age_limit, true) != below)
        die("bulk_insert_random_pk: %s: wrong count", p->name);
    if (p->sum_scores && p->sum_scores(s) != floor_sum(data->score, data->count))
        die("bulk_insert_random_pk: %s: wrong sum", p->name);
}

static double timed_insert(const bench *b, int slot, const char *where, const people *data, bool columns) {
    const peer *p = b->peers[slot];
    char *path = fresh_directory(b, slot, where);
    store *s = p->create(path, (open_options){.durability = DURABLE, .indexed = true});
    int64_t start = now_ns();
    (columns ? p->insert_columns : p->insert)(s, data);
    int64_t end = now_ns();
    if (data == b->data) check_loaded(b, p, s);
    else check_scattered(data, p, s);
    settle(b, slot, s);
    p->close(s);
    free(path);
    return microseconds(end - start) / (double)data->count;
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
        if (columns)
            series_add(&columns->tracks[FLOOR].repetitions, microseconds(end - middle) / (double)b->data->count);
        each_peer(b, slot) {
            // A peer without a columnar insert is in that row with the ordinary one, measured beside it.
            double by_row =
                rows || !b->peers[slot]->insert_columns ? timed_insert(b, slot, "master", b->data, false) : 0;
            if (rows) series_add(&rows->tracks[slot].repetitions, by_row);
            if (!columns) continue;
            double by_column =
                b->peers[slot]->insert_columns ? timed_insert(b, slot, "columnar", b->data, true) : by_row;
            series_add(&columns->tracks[slot].repetitions, by_column);
        }
    }
    each_peer(b, slot) drop(store_path(b, slot, "columnar"));
    check_sys(unlink(floor_path) == 0);
    free(floor_path);
}

// A bijection of the numbers of 62 bits: keys in no order that any engine could use.
static int64_t scattered_id(uint64_t i) {
    const uint64_t mask = ((uint64_t)1 << 62) - 1;
    i = (i + 0x1e3779b97f4a7c15u) & mask;
    i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u & mask;
    i = (i ^ i >> 27) * 0x94d049bb133111ebu & mask;
    return (int64_t)(i ^ i >> 31);
}

void run_bulk_random(bench *b, wanted_function *wanted) {
    result *rows = wanted("bulk_insert_random_pk") ? add_result(b, "bulk_insert_random_pk", "us/object", false) : NULL;
    result *columns = wanted("bulk_insert_random_pk_columnar")
                      ? add_result(b, "bulk_insert_random_pk_columnar", "us/object", false) : NULL;
    people scattered = *b->data;
    scattered.id = must_alloc(scattered.count * 8);
    for (size_t i = 0; i < scattered.count; i++) scattered.id[i] = scattered_id(i);
    char *floor_path = format_path("%s/floor.bulk", b->directory);
    for (size_t i = 0, n = repetitions(b, 3); i < n; i++) {
        int64_t start = now_ns();
        floor_bulk_rows(floor_path, &scattered);
        int64_t middle = now_ns();
        floor_bulk_columns(floor_path, &scattered);
        int64_t end = now_ns();
        if (rows) series_add(&rows->tracks[FLOOR].repetitions, microseconds(middle - start) / (double)scattered.count);
        if (columns)
            series_add(&columns->tracks[FLOOR].repetitions, microseconds(end - middle) / (double)scattered.count);
        each_peer(b, slot) {
            double by_row =
                rows || !b->peers[slot]->insert_columns ? timed_insert(b, slot, "scattered", &scattered, false) : 0;
            if (rows) series_add(&rows->tracks[slot].repetitions, by_row);
            if (!columns) continue;
            series_add(&columns->tracks[slot].repetitions,
                       b->peers[slot]->insert_columns ? timed_insert(b, slot, "scattered", &scattered, true) : by_row);
        }
    }
    each_peer(b, slot) drop(store_path(b, slot, "scattered"));
    check_sys(unlink(floor_path) == 0);
    free(floor_path);
    free(scattered.id);
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
