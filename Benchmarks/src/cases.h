// What the cases share: the stores they work on, and the truth their answers are compared with.
#ifndef CASES_H
#define CASES_H

#include "bench.h"

// The condition of count_int: age < age_limit.
enum { age_limit = 2 };

// Engines of this run; those that have an optional function.
#define each_peer(b, slot) for (int slot = FLOOR + 1; slot < SLOTS; slot++) if ((b)->peers[slot])
#define each_peer_with(b, slot, function) each_peer(b, slot) if ((b)->peers[slot]->function)

static inline double microseconds(int64_t nanoseconds) { return (double)nanoseconds / 1000; }

size_t repetitions(const bench *b, double usual);       // scaled by the effort of this run, at least 1
result *add_result(bench *b, const char *name, const char *unit, bool higher_is_better);

char *store_path(const bench *b, int slot, const char *what);   // caller frees
// The directory of a cleanly closed store with all objects, made on first use. It is never written to: cases that
// change something work on a copy.
char *master(const bench *b, int slot, bool indexed);
char *work_copy(const bench *b, int slot);
void drop(char *path);                                  // removes the directory, frees the path
written_file open_floor_file(const bench *b);

// What the ages must be after updates.
typedef struct { uint8_t *age; uint8_t *touched; size_t count; } expected_ages;
expected_ages expect_ages(const people *p);
void expect_update(expected_ages *e, const int64_t *ids, const uint8_t *ages, size_t size);
void free_expected(expected_ages *e);
// Every touched object has the age it must have, and index and scan agree with the truth.
void verify_ages(const peer *p, store *s, const expected_ages *e, const char *where);

// A copy of the master that a case writes to with the updates of b->updates, in order.
typedef struct {
    char *path;
    store *store;
    uint64_t serial;            // transactions so far
    uint64_t checkpoints;       // at the beginning
} writer_state;
writer_state open_writer(const bench *b, int slot, durability d);
// Closes, opens again, compares with what `serial` transactions of `size` updates must leave, drops.
void close_writer(const bench *b, int slot, writer_state *w, size_t size, const char *where);

// This program again, in a new process: it must not inherit what an engine keeps in memory.
int start_helper(const char *what, const char *peer_name, const char *dir, size_t objects, const char *shared);
// Waits for its end; dies unless it was killed by us, or has returned 0.
void reap(int helper, bool killed, const char *what);

// After the turn of a peer: what it has left to its threads or to the file system is not for the next one to pay.
void settle(const bench *b, int slot, store *s);

// A new directory for a store.
char *fresh_directory(const bench *b, int slot, const char *what);

// The cases; each may add several results, those that `wanted` says.
typedef bool wanted_function(const char *name);
void run_bulk(bench *b, wanted_function *wanted);
void run_file_bytes(bench *b, wanted_function *wanted);
void run_commit_1(bench *b, wanted_function *wanted);
void run_commit_100(bench *b, wanted_function *wanted);
void run_commits_16_threads(bench *b, wanted_function *wanted);
void run_commits_relaxed(bench *b, wanted_function *wanted);
void run_async_commits(bench *b, wanted_function *wanted);
void run_async_latency(bench *b, wanted_function *wanted);
void run_tick_delay(bench *b, wanted_function *wanted);
void run_update_all(bench *b, wanted_function *wanted);
void run_pinned_growth(bench *b, wanted_function *wanted);
void run_upsert(bench *b, wanted_function *wanted);
void run_upsert_half(bench *b, wanted_function *wanted);
void run_delete_half(bench *b, wanted_function *wanted);
void run_bulk_random(bench *b, wanted_function *wanted);
void run_text_keys(bench *b, wanted_function *wanted);
void run_wide_rows(bench *b, wanted_function *wanted);
void run_big_values(bench *b, wanted_function *wanted);
void run_lists(bench *b, wanted_function *wanted);
void run_json(bench *b, wanted_function *wanted);
void run_queries(bench *b, wanted_function *wanted);
void run_graph(bench *b, wanted_function *wanted);
void run_herd(bench *b, wanted_function *wanted);
void run_many_classes(bench *b, wanted_function *wanted);
void run_many_stores(bench *b, wanted_function *wanted);
void run_open_cold(bench *b, wanted_function *wanted);
void run_create_store(bench *b, wanted_function *wanted);
void run_mixed(bench *b, wanted_function *wanted);
void run_churn_growth(bench *b, wanted_function *wanted);
void run_peak_memory(bench *b, wanted_function *wanted);
void run_aggregate_3(bench *b, wanted_function *wanted);
void run_lookup_pk(bench *b, wanted_function *wanted);
void run_lookup_pk_random(bench *b, wanted_function *wanted);
void run_property_get(bench *b, wanted_function *wanted);
void run_count_int(bench *b, wanted_function *wanted);
void run_count_int_indexed(bench *b, wanted_function *wanted);
void run_sum_double(bench *b, wanted_function *wanted);
void run_string_equal(bench *b, wanted_function *wanted);
void run_column_read(bench *b, wanted_function *wanted);
void run_open_warm(bench *b, wanted_function *wanted);
void run_recovery(bench *b, wanted_function *wanted);
void run_notify_process(bench *b, wanted_function *wanted);
void run_notify(bench *b, wanted_function *wanted);
void run_notify_thread(bench *b, wanted_function *wanted);
void run_notify_latency(bench *b, wanted_function *wanted);
void run_live(bench *b, wanted_function *wanted);

#endif
