// What the cases share, and the table of cases. A repetition goes round: floor, objstore, sqlite,
// lmdb, rocksdb.
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t repetitions(const bench *b, double usual) {
    double wanted = usual * b->effort;
    return wanted < 1 ? 1 : (size_t)(wanted + 0.5);
}

result *add_result(bench *b, const char *name, const char *unit, bool higher_is_better) {
    result *r = &b->results[b->result_count++];
    *r = (result){.name = name, .unit = unit, .objects = b->data->count, .higher_is_better = higher_is_better};
    return r;
}

char *store_path(const bench *b, int slot, const char *what) {
    return format_path("%s/%s/%s", b->directory, slot_names[slot], what);
}

char *master(const bench *b, int slot, bool indexed) {
    char *path = store_path(b, slot, indexed ? "master" : "unindexed");
    if (access(path, F_OK) != 0) {
        char *building = store_path(b, slot, "building");
        remove_directory(building);
        make_directory(building);
        store *s = b->peers[slot]->create(building, (open_options){.durability = DURABLE, .indexed = indexed});
        b->peers[slot]->insert(s, b->data);
        b->peers[slot]->close(s);
        check_sys(rename(building, path) == 0);
        free(building);
    }
    return path;
}

char *work_copy(const bench *b, int slot) {
    char *from = master(b, slot, true), *to = store_path(b, slot, "work");
    copy_directory(from, to, true);
    free(from);
    return to;
}

char *fresh_directory(const bench *b, int slot, const char *what) {
    char *path = store_path(b, slot, what);
    remove_directory(path);
    make_directory(path);
    return path;
}

void settle(const bench *b, int slot, store *s) {
    if (!b->peers[slot]->settle) return;
    b->peers[slot]->settle(s);
    sync_file_system(b->directory);
}

void drop(char *path) {
    remove_directory(path);
    free(path);
}

written_file open_floor_file(const bench *b) {
    char *path = format_path("%s/floor.log", b->directory);
    written_file f = written_file_open(path, 64 << 20);
    check_sys(unlink(path) == 0);       // gone when it is closed
    free(path);
    return f;
}

expected_ages expect_ages(const people *p) {
    expected_ages e = {must_alloc(p->count), must_alloc(p->count), p->count};
    memcpy(e.age, p->age, p->count);
    return e;
}

void expect_update(expected_ages *e, const int64_t *ids, const uint8_t *ages, size_t size) {
    for (size_t i = 0; i < size; i++) {
        e->age[ids[i]] = ages[i];
        e->touched[ids[i]] = 1;
    }
}

void free_expected(expected_ages *e) {
    free(e->age);
    free(e->touched);
}

void verify_ages(const peer *p, store *s, const expected_ages *e, const char *where) {
    int64_t *ids = must_alloc(e->count * 8), *ages = must_alloc(e->count * 8);
    size_t size = 0;
    uint64_t below = 0;
    for (size_t i = 0; i < e->count; i++) {
        if (e->touched[i]) ids[size++] = (int64_t)i;
        below += e->age[i] < age_limit;
    }
    p->lookup_ages(s, ids, size, ages);
    for (size_t i = 0; i < size; i++)
        if (ages[i] != e->age[ids[i]])
            die("%s: %s: object %ld has age %ld, not %d", where, p->name, ids[i], ages[i], e->age[ids[i]]);
    uint64_t scanned = p->count_age_below(s, age_limit, false), indexed = p->count_age_below(s, age_limit, true);
    if (scanned != below || indexed != below)
        die("%s: %s: %lu below %d by scan, %lu by index, not %lu", where, p->name, scanned, age_limit, indexed, below);
    free(ids);
    free(ages);
}

writer_state open_writer(const bench *b, int slot, durability d) {
    writer_state w = {.path = work_copy(b, slot)};
    const peer *p = b->peers[slot];
    w.store = p->open(w.path, (open_options){.durability = d, .small_checkpoints = true});
    if (p->checkpoints) w.checkpoints = p->checkpoints(w.store);
    return w;
}

void close_writer(const bench *b, int slot, writer_state *w, size_t size, const char *where) {
    const peer *p = b->peers[slot];
    p->close(w->store);
    store *s = p->open(w->path, (open_options){.durability = DURABLE});
    expected_ages e = expect_ages(b->data);
    int64_t *ids = must_alloc(size * 8);
    uint8_t *ages = must_alloc(size);
    for (uint64_t serial = 0; serial < w->serial; serial++) {
        make_update(&b->updates, serial, size, ids, ages);
        expect_update(&e, ids, ages, size);
    }
    verify_ages(p, s, &e, where);
    p->close(s);
    free_expected(&e);
    free(ids);
    free(ages);
    drop(w->path);
}

// In the order of a run: first what makes the stores, last what leaves most dirty pages behind. Adjacent names share
// their function, which is called once.
const benchmark_case cases[] = {
    {"bulk_insert", run_bulk},
    {"bulk_insert_columnar", run_bulk},
    {"bulk_insert_random_pk", run_bulk_random},
    {"bulk_insert_random_pk_columnar", run_bulk_random},
    {"bulk_insert_string_pk", run_text_keys},
    {"lookup_pk_string", run_text_keys},
    {"file_bytes_per_object", run_file_bytes},
    {"lookup_pk", run_lookup_pk},
    {"lookup_pk_random", run_lookup_pk_random},
    {"property_get", run_property_get},
    {"count_int", run_count_int},
    {"count_int_indexed", run_count_int_indexed},
    {"sum_double", run_sum_double},
    {"aggregate_3", run_aggregate_3},
    {"string_equal", run_string_equal},
    {"column_read", run_column_read},
    {"count_and_2", run_queries},
    {"count_and_3", run_queries},
    {"count_or_2", run_queries},
    {"count_not", run_queries},
    {"count_in_10", run_queries},
    {"count_in_10000", run_queries},
    {"string_contains", run_queries},
    {"string_contains_c", run_queries},
    {"string_like", run_queries},
    {"link_1", run_queries},
    {"link_2", run_queries},
    {"inverse_count", run_queries},
    {"subquery", run_queries},
    {"distinct", run_queries},
    {"sort_full", run_queries},
    {"sort_string", run_queries},
    {"sort_top_100", run_queries},
    {"page_1000", run_queries},
    {"sort_from_index", run_queries},
    {"first_page", run_queries},
    {"query_parse", run_queries},
    {"group_100", run_queries},
    {"group_100k", run_queries},
    {"arrow_stream", run_queries},
    {"arrow_view", run_queries},
    {"open_warm", run_open_warm},
    {"open_cold", run_open_cold},
    {"create_store", run_create_store},
    {"commit_1", run_commit_1},
    {"commit_100", run_commit_100},
    {"commits_16_threads", run_commits_16_threads},
    {"commits_relaxed", run_commits_relaxed},
    {"async_commits", run_async_commits},
    {"async_commits_grouped", run_async_commits},
    {"async_latency", run_async_latency},
    {"tick_delay_async", run_tick_delay},
    {"tick_delay_sync", run_tick_delay},
    {"notify_all_1", run_notify},
    {"notify_all_100", run_notify},
    {"notify_all_10000", run_notify},
    {"notify_sorted_1", run_notify},
    {"notify_sorted_100", run_notify},
    {"notify_sorted_10000", run_notify},
    {"notify_limit_1", run_notify},
    {"notify_range_1", run_notify},
    {"notify_distinct_1", run_notify},
    {"notify_sections_1", run_notify},
    {"notify_table_1", run_notify},
    {"notify_groups_1", run_notify},
    {"notify_groups_mean_1", run_notify},
    {"notify_groups_sorted_1", run_notify},
    {"notify_link_1", run_notify},
    {"notify_observers_100", run_live},
    {"notify_observers_10000", run_live},
    {"notify_observers_memory", run_live},
    {"notify_commit_overhead", run_live},
    {"notify_told_100", run_live},
    {"notify_told_10000", run_live},
    {"notify_list_1", run_live},
    {"notify_list_query_1", run_live},
    {"notify_values_1", run_live},
    {"notify_values_sorted_1", run_live},
    {"notify_values_distinct_1", run_live},
    {"ffi_call", run_live},
    {"ffi_typed", run_live},
    {"notify_thread_1", run_notify_thread},
    {"notify_process_1", run_notify_process},
    {"notify_process_latency_8", run_notify_latency},
    {"mixed_readers_writer", run_mixed},
    {"recovery", run_recovery},
    {"update_all", run_update_all},
    {"upsert_modified", run_upsert},
    {"upsert_all", run_upsert},
    {"upsert_half_modified", run_upsert_half},
    {"upsert_half_all", run_upsert_half},
    {"delete_half", run_delete_half},
    {"wide_rows", run_wide_rows},
    {"big_values", run_big_values},
    {"list_append", run_lists},
    {"list_insert", run_lists},
    {"list_walk", run_lists},
    {"list_move", run_lists},
    {"graph_create", run_graph},
    {"graph_inverse", run_graph},
    {"graph_map_set", run_graph},
    {"graph_map_get", run_graph},
    {"graph_set_insert", run_graph},
    {"graph_set_contains", run_graph},
    {"graph_mixed_get", run_graph},
    {"graph_delete", run_graph},
    {"graph_delete_half", run_graph},
    {"herd_delete_each", run_herd},
    {"herd_delete_together", run_herd},
    {"json_import", run_json},
    {"many_classes", run_many_classes},
    {"many_stores", run_many_stores},
    {"peak_memory", run_peak_memory},
    {"pinned_growth", run_pinned_growth},
    {"churn_growth", run_churn_growth},
};
const size_t case_count = sizeof cases / sizeof *cases;
