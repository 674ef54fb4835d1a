// The steady state: readers beside a writer, and a store whose objects come and go.
#include "cases.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

// ------------------------------------------------------------------------------ mixed_readers_writer
//
// One thread sums all scores again and again, another commits changes of ages as fast as it can, without
// waiting for the disk: on two processors each has its own. No change of an age changes a sum.

typedef struct {
    pthread_t thread;
    const bench *bench;
    const peer *peer;               // NULL: the floor
    store *store;
    written_file *file;             // of the floor's writer
    uint64_t serial;                // transactions so far
    int64_t deadline;               // of the reader
    double sum, rate;
    _Atomic bool *stop;             // for the writer
} mixed_thread;

static void *mixed_read(void *context) {
    mixed_thread *t = context;
    const people *data = t->bench->data;
    int64_t start = now_ns(), end;
    uint64_t scans = 0;
    do {
        double sum = t->peer ? t->peer->sum_scores(t->store) : floor_sum(data->score, data->count);
        if (sum != t->sum) die("mixed_readers_writer: %s: wrong sum", t->peer ? t->peer->name : "floor");
        scans++;
        end = now_ns();
    } while (end < t->deadline);
    t->rate = (double)scans / ((double)(end - start) / 1e9);
    return NULL;
}

static void *mixed_write(void *context) {
    mixed_thread *t = context;
    int64_t id, start = now_ns();
    uint64_t first = t->serial;
    uint8_t age;
    while (!atomic_load_explicit(t->stop, memory_order_relaxed)) {
        make_update(&t->bench->updates, t->serial++, 1, &id, &age);
        if (t->peer) t->peer->update_ages(t->store, &id, &age, 1);
        else floor_write(t->file, 200, false);
    }
    t->rate = (double)(t->serial - first) / ((double)(now_ns() - start) / 1e9);
    return NULL;
}

// Scans per second; `writer` NULL: without one.
static double timed_scans(mixed_thread *reader, mixed_thread *writer, double seconds) {
    _Atomic bool stop = false;
    if (writer) {
        writer->stop = &stop;
        if (pthread_create(&writer->thread, NULL, mixed_write, writer)) die("no thread");
    }
    reader->deadline = now_ns() + (int64_t)(seconds * 1e9);
    if (pthread_create(&reader->thread, NULL, mixed_read, reader)) die("no thread");
    if (pthread_join(reader->thread, NULL)) die("no join");
    atomic_store(&stop, true);
    if (writer && pthread_join(writer->thread, NULL)) die("no join");
    return reader->rate;
}

void run_mixed(bench *b, wanted_function *wanted) {
    (void)wanted;
    const double seconds = fmin(0.5, 0.5 * b->effort);
    result *with = add_result(b, "mixed_readers_writer", "scans/s", true);
    result *alone = add_result(b, "mixed_readers_alone", "scans/s", true);
    result *ratio = add_result(b, "mixed_readers_ratio", "x", true);
    double sum = floor_sum(b->data->score, b->data->count);
    written_file floor_file = open_floor_file(b);
    writer_state states[SLOTS] = {0};
    mixed_thread readers[SLOTS] = {0}, writers[SLOTS] = {0};
    series commits[SLOTS] = {0};
    for (int slot = FLOOR; slot < SLOTS; slot++) {
        const peer *p = b->peers[slot];
        if (slot != FLOOR && !(p && p->sum_scores)) continue;
        if (p) states[slot] = open_writer(b, slot, RELAXED);
        store *own =
            p && p->one_thread ? p->open(states[slot].path, (open_options){.durability = DURABLE}) : states[slot].store;
        readers[slot] = (mixed_thread){.bench = b, .peer = p, .store = own, .sum = sum};
        writers[slot] = (mixed_thread){.bench = b, .peer = p, .store = states[slot].store, .file = &floor_file};
    }
    for (size_t i = 0, n = repetitions(b, 5); i < n; i++) {
        for (int slot = FLOOR; slot < SLOTS; slot++) {
            if (!readers[slot].bench) continue;
            double quiet = timed_scans(&readers[slot], NULL, seconds);
            double busy = timed_scans(&readers[slot], &writers[slot], seconds);
            series_add(&with->tracks[slot].repetitions, busy);
            series_add(&alone->tracks[slot].repetitions, quiet);
            series_add(&ratio->tracks[slot].repetitions, busy / quiet);
            series_add(&commits[slot], writers[slot].rate);
            if (slot != FLOOR) settle(b, slot, states[slot].store);
        }
    }
    for (int slot = FLOOR; slot < SLOTS; slot++) {
        if (!readers[slot].bench) continue;
        result_extra(with, series_median(&commits[slot]), "%s_commits_per_second", slot_names[slot]);
        series_free(&commits[slot]);
        if (slot == FLOOR) continue;
        if (readers[slot].store != states[slot].store) b->peers[slot]->close(readers[slot].store);
        states[slot].serial = writers[slot].serial;
        close_writer(b, slot, &states[slot], 1, "mixed_readers_writer");
    }
    written_file_close(&floor_file);
}

// -------------------------------------------------------------------------------------- churn_growth

// Deletes a tenth of the objects, scattered, inserts them again in another transaction, and so on until ten
// times the data has gone and come (above a million objects: once). The figure is the size of the files then,
// over the size of the store as it was loaded and closed.
void run_churn_growth(bench *b, wanted_function *wanted) {
    (void)wanted;
    const people *data = b->data;
    size_t size = data->count / 10, rounds = data->count > 1000000 ? 10 : repetitions(b, 100);
    result *r = add_result(b, "churn_growth", "x", false);
    result *cost = add_result(b, "churn_object", "us/object", false);
    int64_t *ids = must_alloc(size * 8);
    uint8_t *unused = must_alloc(size);
    expected_ages e = expect_ages(data);
    for (size_t k = 0; k < data->count; k += data->count / 1000 + 1) e.touched[k] = 1;
    each_peer_with(b, slot, delete_some) {
        const peer *p = b->peers[slot];
        char *path = work_copy(b, slot);
        uint64_t live = p->data_bytes(path);
        store *s = p->open(path, (open_options){.durability = RELAXED});
        int64_t time = 0;
        for (size_t i = 0; i < rounds; i++) {
            make_update(&b->updates, i, size, ids, unused);
            int64_t start = now_ns();
            p->delete_some(s, ids, size);
            p->insert_some(s, data, ids, size);
            time += now_ns() - start;
        }
        settle(b, slot, s);
        series_add(&r->tracks[slot].repetitions, (double)p->open_bytes(path) / (double)live);
        series_add(&cost->tracks[slot].repetitions, microseconds(time) / (double)(rounds * size));
        verify_ages(p, s, &e, "churn_growth");
        if (p->count_age_below(s, 100, true) != data->count) die("churn_growth: %s: objects are lost", p->name);
        if (p->sum_scores && p->sum_scores(s) != floor_sum(data->score, data->count))
            die("churn_growth: %s: wrong sum", p->name);
        p->close(s);
        result_extra(r, (double)p->data_bytes(path) / (double)live, "%s_closed", p->name);
        drop(path);
    }
    result_extra(r, (double)rounds / 10, "times_the_data");
    free_expected(&e);
    free(ids);
    free(unused);
}
