// What a transaction costs: synced, relaxed, from many threads, over all objects, beside an old reader.
#include "cases.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void run_synced_commits(bench *b, const char *name, size_t size, size_t rounds, size_t batch) {
    const size_t warm_up = 2;   // or the tail of one is what the peer before has left in the disk's queue
    result *r = add_result(b, name, "us/commit", false);
    written_file floor_file = open_floor_file(b);
    writer_state writers[SLOTS] = {0};
    each_peer(b, slot) writers[slot] = open_writer(b, slot, DURABLE);
    int64_t *ids = must_alloc(size * 8);
    uint8_t *ages = must_alloc(size);
    series larger = {0};        // the floor with 200 bytes an update, beside the defined 4 KiB one
    for (size_t i = 0; i < rounds; i++) {
        for (int slot = FLOOR; slot < SLOTS; slot++) {
            if (slot != FLOOR && !b->peers[slot]) continue;
            series mine = {0};
            for (size_t k = 0; k < warm_up + batch; k++) {
                if (slot != FLOOR) make_update(&b->updates, writers[slot].serial++, size, ids, ages);
                int64_t start = now_ns();
                if (slot == FLOOR) floor_write(&floor_file, 4096, true);
                else b->peers[slot]->update_ages(writers[slot].store, ids, ages, size);
                if (k < warm_up) continue;
                double time = microseconds(now_ns() - start);
                series_add(&mine, time);
                series_add(&r->tracks[slot].samples, time);
            }
            series_add(&r->tracks[slot].repetitions, series_median(&mine));
            series_free(&mine);
        }
        for (size_t k = 0; size > 1 && k < batch; k++) {
            int64_t start = now_ns();
            floor_write(&floor_file, size * 200, true);
            series_add(&larger, microseconds(now_ns() - start));
        }
    }
    if (larger.count) result_extra(r, series_median(&larger), "floor_%zu_bytes", size * 200);
    series_free(&larger);
    each_peer(b, slot) {
        const peer *p = b->peers[slot];
        if (p->checkpoints)
            result_extra(r, (double)(p->checkpoints(writers[slot].store) - writers[slot].checkpoints), "%s_checkpoints",
                p->name);
        close_writer(b, slot, &writers[slot], size, name);
    }
    free(ids);
    free(ages);
    written_file_close(&floor_file);
}

void run_commit_1(bench *b, wanted_function *wanted) {
    (void)wanted;
    run_synced_commits(b, "commit_1", 1, repetitions(b, 80), 50);
}

void run_commit_100(bench *b, wanted_function *wanted) {
    (void)wanted;
    run_synced_commits(b, "commit_100", 100, repetitions(b, 30), 20);
}

void run_commits_relaxed(bench *b, wanted_function *wanted) {
    (void)wanted;
    enum { batch = 4000 };
    result *r = add_result(b, "commits_relaxed", "commits/s", true);
    written_file floor_file = open_floor_file(b);
    writer_state writers[SLOTS] = {0};
    each_peer(b, slot) writers[slot] = open_writer(b, slot, RELAXED);
    int64_t *ids = must_alloc(batch * 8);
    uint8_t *ages = must_alloc(batch);
    for (size_t i = 0, n = repetitions(b, 7); i < n; i++) {
        for (int slot = FLOOR; slot < SLOTS; slot++) {
            if (slot != FLOOR && !b->peers[slot]) continue;
            for (size_t k = 0; k < batch; k++) make_update(&b->updates, writers[slot].serial++, 1, ids + k, ages + k);
            int64_t start = now_ns();
            if (slot == FLOOR) for (size_t k = 0; k < batch; k++) floor_write(&floor_file, 200, false);
            else
                for (size_t k = 0; k < batch; k++)
                    b->peers[slot]->update_ages(writers[slot].store, ids + k, ages + k, 1);
            series_add(&r->tracks[slot].repetitions, batch / ((double)(now_ns() - start) / 1e9));
        }
    }
    each_peer(b, slot) close_writer(b, slot, &writers[slot], 1, "commits_relaxed");
    free(ids);
    free(ages);
    written_file_close(&floor_file);
}

// Sixteen threads, each with a sixteenth of the ids, so that the end is known whatever the order.
enum { commit_threads = 16 };

typedef struct {
    pthread_t thread;
    const peer *peer;
    store *store;
    update_sequence updates;    // over its share of the ids
    uint64_t serial;
    const _Atomic bool *stop;
} commit_thread;

static void *commit_thread_run(void *context) {
    commit_thread *t = context;
    int64_t id;
    uint8_t age;
    while (!atomic_load_explicit(t->stop, memory_order_relaxed)) {
        make_update(&t->updates, t->serial, 1, &id, &age);
        t->peer->update_ages(t->store, &id, &age, 1);
        t->serial++;
    }
    return NULL;
}

static double timed_threads(commit_thread *threads, double seconds) {
    _Atomic bool stop = false;
    uint64_t before = 0, after = 0;
    int64_t start = now_ns();
    for (size_t i = 0; i < commit_threads; i++) {
        before += threads[i].serial;
        threads[i].stop = &stop;
        if (pthread_create(&threads[i].thread, NULL, commit_thread_run, &threads[i])) die("no thread");
    }
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
    atomic_store(&stop, true);
    for (size_t i = 0; i < commit_threads; i++) {
        if (pthread_join(threads[i].thread, NULL)) die("no join");
        after += threads[i].serial;
    }
    return (double)(after - before) / ((double)(now_ns() - start) / 1e9);
}

void run_commits_16_threads(bench *b, wanted_function *wanted) {
    (void)wanted;
    const double seconds = 0.6;
    result *r = add_result(b, "commits_16_threads", "commits/s", true);
    written_file floor_file = open_floor_file(b);
    writer_state writers[SLOTS] = {0};
    commit_thread threads[SLOTS][commit_threads];
    each_peer(b, slot) {
        writers[slot] = open_writer(b, slot, DURABLE);
        size_t share = b->data->count / commit_threads;
        for (size_t i = 0; i < commit_threads; i++)
            threads[slot][i] = (commit_thread){.peer = b->peers[slot], .store = writers[slot].store,
                                               .updates = update_sequence_make(b->data, i * share, share)};
    }
    // What is left of the floor once there is work under its lock.
    const int work_us[] = {5, 10, 20};
    enum { works = sizeof work_us / sizeof *work_us };
    series with_work[works] = {0};
    for (size_t i = 0, n = repetitions(b, 5); i < n; i++) {
        series_add(&r->tracks[FLOOR].repetitions, floor_group_sync(&floor_file, commit_threads, seconds, 0));
        for (size_t w = 0; w < works; w++)
            series_add(&with_work[w], floor_group_sync(&floor_file, commit_threads, seconds / 2, work_us[w] * 1000));
        each_peer(b, slot) series_add(&r->tracks[slot].repetitions, timed_threads(threads[slot], seconds));
    }
    for (size_t w = 0; w < works; w++) {
        result_extra(r, series_median(&with_work[w]), "floor_with_%d_us_of_work", work_us[w]);
        series_free(&with_work[w]);
    }
    each_peer(b, slot) {
        expected_ages e = expect_ages(b->data);
        for (size_t i = 0; i < commit_threads; i++)
            for (uint64_t serial = 0; serial < threads[slot][i].serial; serial++) {
                int64_t id;
                uint8_t age;
                make_update(&threads[slot][i].updates, serial, 1, &id, &age);
                expect_update(&e, &id, &age, 1);
            }
        verify_ages(b->peers[slot], writers[slot].store, &e, "commits_16_threads");
        free_expected(&e);
        b->peers[slot]->close(writers[slot].store);
        drop(writers[slot].path);
    }
    written_file_close(&floor_file);
}

void run_update_all(bench *b, wanted_function *wanted) {
    (void)wanted;
    result *r = add_result(b, "update_all", "us/case", false);
    writer_state writers[SLOTS] = {0};
    each_peer_with(b, slot, add_to_all_scores) writers[slot] = open_writer(b, slot, DURABLE);
    char *floor_path = format_path("%s/floor.column", b->directory);
    double sum = floor_sum(b->data->score, b->data->count);
    for (size_t i = 0, n = repetitions(b, 3); i < n; i++) {
        sum += (double)b->data->count;
        double *column = must_alloc(b->data->count * 8);
        int64_t start = now_ns();
        for (size_t k = 0; k < b->data->count; k++) column[k] = b->data->score[k] + (double)(i + 1);
        int out = open(floor_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        check_sys(out >= 0);
        for (size_t done = 0; done < b->data->count * 8;) {
            ssize_t put = write(out, (char *)column + done, b->data->count * 8 - done);
            check_sys(put > 0);
            done += (size_t)put;
        }
        check_sys(fdatasync(out) == 0);
        check_sys(close(out) == 0);
        series_add(&r->tracks[FLOOR].repetitions, microseconds(now_ns() - start));
        if (floor_sum(column, b->data->count) != sum) die("update_all: the floor is wrong");
        free(column);
        each_peer_with(b, slot, add_to_all_scores) {
            start = now_ns();
            b->peers[slot]->add_to_all_scores(writers[slot].store, 1);
            series_add(&r->tracks[slot].repetitions, microseconds(now_ns() - start));
            if (b->peers[slot]->sum_scores(writers[slot].store) != sum)
                die("update_all: %s: wrong sum", b->peers[slot]->name);
        }
    }
    each_peer_with(b, slot, add_to_all_scores) {
        b->peers[slot]->close(writers[slot].store);
        drop(writers[slot].path);
    }
    check_sys(unlink(floor_path) == 0);
    free(floor_path);
}

void run_pinned_growth(bench *b, wanted_function *wanted) {
    (void)wanted;
    enum { transactions = 30000, sample = 1000 };
    result *r = add_result(b, "pinned_growth", "x", false);
    each_peer_with(b, slot, pin) {
        const peer *p = b->peers[slot];
        writer_state w = open_writer(b, slot, RELAXED);
        uint64_t before = p->open_bytes(w.path);
        pinned *old = p->pin(w.store);
        int64_t id, ids[sample], ages[sample];
        uint8_t age;
        while (w.serial < transactions) {
            make_update(&b->updates, w.serial, 1, &id, &age);
            if (w.serial < sample) ids[w.serial] = id;
            p->update_ages(w.store, &id, &age, 1);
            w.serial++;
        }
        uint64_t after = p->open_bytes(w.path);
        series_add(&r->tracks[slot].repetitions, (double)after / (double)before);
        result_extra(r, (double)(after - before) / transactions, "%s_bytes_per_transaction", p->name);
        p->pinned_lookup_ages(old, ids, sample, ages);
        for (size_t i = 0; i < sample; i++)
            if (ages[i] != b->data->age[ids[i]]) die("pinned_growth: %s: the old reader sees new data", p->name);
        p->unpin(old);
        close_writer(b, slot, &w, 1, "pinned_growth");
    }
}
