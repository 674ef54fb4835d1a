// Writes that a loop does not wait for: how many a second, how long until one is told, and what a loop that ticks every
// 5 ms notices of them. Engines that have no such thing write synchronously, on the loop's thread.
#include "cases.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

// ---------------------------------------------------------------------------------------------- loop

enum { period = 5000000 };      // of ticks, in ns

typedef struct {
    int set, timer;
    int64_t start;              // tick k is due k periods later, k = 1, 2, …
    int64_t ticks;
    series *delays;             // of each tick, in us: also of those that came together with a later one
    series *work;               // of each delivery: the processor time of this thread, in us; NULL: not wanted
} loop;

static int64_t thread_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void watch(const loop *l, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    check_sys(epoll_ctl(l->set, EPOLL_CTL_ADD, descriptor, &event) == 0);
}

// `delays` NULL: it does not tick.
static loop open_loop(series *delays) {
    loop l = {.set = epoll_create1(EPOLL_CLOEXEC), .timer = -1, .delays = delays};
    check_sys(l.set >= 0);
    if (!delays) return l;
    l.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    check_sys(l.timer >= 0);
    watch(&l, l.timer);
    l.start = now_ns();
    const int64_t first = l.start + period;
    const struct itimerspec times = {{0, period}, {first / 1000000000, first % 1000000000}};
    check_sys(timerfd_settime(l.timer, TFD_TIMER_ABSTIME, &times, NULL) == 0);
    return l;
}

static void close_loop(loop *l) {
    if (l->timer >= 0) check_sys(close(l->timer) == 0);
    check_sys(close(l->set) == 0);
}

static void tick(loop *l) {
    uint64_t times;
    ssize_t got = read(l->timer, &times, sizeof times);
    if (got < 0 && errno == EAGAIN) return;
    check_sys(got == sizeof times);
    int64_t now = now_ns();
    for (; times; times--) series_add(l->delays, microseconds(now - l->start - ++l->ticks * period));
}

// One round: waits, or only looks, and does what is due. `s` NULL: nothing is delivered.
static void turn(loop *l, const peer *p, store *s, bool waits) {
    struct epoll_event events[2];
    int count = epoll_wait(l->set, events, 2, waits ? -1 : 0);
    check_sys(count >= 0 || errno == EINTR);
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd == l->timer) {
            tick(l);
        } else {
            const int64_t before = l->work ? thread_time() : 0;
            p->async->deliver(s);
            if (l->work) series_add(l->work, microseconds(thread_time() - before));
        }
    }
}

static void count_down(void *left) { --*(size_t *)left; }

// ------------------------------------------------------------------------------------ commits a second

static double time_async(const peer *p, writer_state *w, const update_sequence *updates, size_t commits, bool grouped) {
    loop l = open_loop(NULL);
    watch(&l, p->async->descriptor(w->store));
    size_t left = commits;
    int64_t start = now_ns();
    for (size_t k = 0; k < commits; k++) {
        int64_t id;
        uint8_t age;
        make_update(updates, w->serial++, 1, &id, &age);
        p->async->update_age(w->store, id, age, grouped, count_down, &left);
    }
    while (left) turn(&l, p, w->store, true);
    double elapsed = (double)(now_ns() - start) / 1e9;
    close_loop(&l);
    return (double)commits / elapsed;
}

static double time_sync(const peer *p, writer_state *w, const update_sequence *updates, size_t commits) {
    int64_t start = now_ns();
    for (size_t k = 0; k < commits; k++) {
        int64_t id;
        uint8_t age;
        make_update(updates, w->serial++, 1, &id, &age);
        p->update_ages(w->store, &id, &age, 1);
    }
    return (double)commits / ((double)(now_ns() - start) / 1e9);
}

static double time_floor(written_file *f, size_t commits, bool grouped) {
    if (grouped) return floor_queue_sync(f, commits);
    int64_t start = now_ns();
    for (size_t k = 0; k < commits; k++) floor_write(f, 4096, true);
    return (double)commits / ((double)(now_ns() - start) / 1e9);
}

void run_async_commits(bench *b, wanted_function *wanted) {
    const size_t commits = b->effort < 1 ? (size_t)fmax(50, 1000 * b->effort) : 1000;
    static const char *const names[] = {"async_commits", "async_commits_grouped"};
    result *results[2] = {NULL};
    for (int grouped = 0; grouped < 2; grouped++)
        if (wanted(names[grouped])) results[grouped] = add_result(b, names[grouped], "commits/s", true);
    written_file floor_file = open_floor_file(b);
    writer_state writers[SLOTS] = {0};
    each_peer(b, slot) writers[slot] = open_writer(b, slot, DURABLE);
    series gain = {0}, syncs = {0};
    for (size_t i = 0, n = repetitions(b, 7); i < n; i++) {
        double alone = NAN;
        for (int grouped = 0; grouped < 2; grouped++) {
            result *r = results[grouped];
            if (!r) continue;
            series_add(&r->tracks[FLOOR].repetitions, time_floor(&floor_file, commits, grouped));
            each_peer(b, slot) {
                const peer *p = b->peers[slot];
                writer_state *w = &writers[slot];
                const uint64_t before = p->async ? p->async->syncs(w->store) : 0;
                const double rate = p->async ? time_async(p, w, &b->updates, commits, grouped)
                                    : time_sync(p, w, &b->updates, commits);
                series_add(&r->tracks[slot].repetitions, rate);
                if (!p->async) continue;
                if (!grouped) alone = rate;
                else series_add(&syncs, (double)(p->async->syncs(w->store) - before) * 1000 / (double)commits);
                if (grouped && isfinite(alone)) series_add(&gain, rate / alone);
            }
        }
    }
    if (gain.count) result_extra(results[1], series_median(&gain), "grouped_over_alone");
    if (syncs.count) result_extra(results[1], series_median(&syncs), "syncs_per_1000_commits");
    series_free(&gain);
    series_free(&syncs);
    each_peer(b, slot) close_writer(b, slot, &writers[slot], 1, "async_commits");
    written_file_close(&floor_file);
}

// -------------------------------------------------------------------------------- latency of a completion

void run_async_latency(bench *b, wanted_function *wanted) {
    (void)wanted;
    enum { batch = 50, warm_up = 2 };
    result *r = add_result(b, "async_latency", "us/commit", false);
    written_file floor_file = open_floor_file(b);
    writer_state writers[SLOTS] = {0};
    each_peer(b, slot) writers[slot] = open_writer(b, slot, DURABLE);
    // A commit that is waited for by the same engine: over all repetitions, and the ratio within each.
    series waited = {0}, ratios = {0};
    for (size_t i = 0, n = repetitions(b, 40); i < n; i++) {
        for (int slot = FLOOR; slot < SLOTS; slot++) {
            const peer *p = b->peers[slot];
            if (slot != FLOOR && !p) continue;
            loop l = open_loop(NULL);
            if (p && p->async) watch(&l, p->async->descriptor(writers[slot].store));
            series mine = {0}, synchronous = {0};
            for (size_t k = 0; k < warm_up + batch; k++) {
                int64_t id;
                uint8_t age;
                size_t left = 1;
                if (p) make_update(&b->updates, writers[slot].serial++, 1, &id, &age);
                int64_t start = now_ns();
                if (!p) {
                    floor_write(&floor_file, 4096, true);
                } else if (p->async) {
                    p->async->update_age(writers[slot].store, id, age, false, count_down, &left);
                    while (left) turn(&l, p, writers[slot].store, true);
                } else {
                    p->update_ages(writers[slot].store, &id, &age, 1);
                }
                if (k < warm_up) continue;
                double time = microseconds(now_ns() - start);
                series_add(&mine, time);
                series_add(&r->tracks[slot].samples, time);
            }
            for (size_t k = 0; p && p->async && k < warm_up + batch; k++) {
                int64_t start = now_ns();
                time_sync(p, &writers[slot], &b->updates, 1);
                if (k < warm_up) continue;
                series_add(&synchronous, microseconds(now_ns() - start));
                series_add(&waited, microseconds(now_ns() - start));
            }
            series_add(&r->tracks[slot].repetitions, series_median(&mine));
            if (synchronous.count) series_add(&ratios, series_median(&mine) / series_median(&synchronous));
            series_free(&mine);
            series_free(&synchronous);
            close_loop(&l);
        }
    }
    if (waited.count) {
        result_extra(r, series_median(&waited), "synchronous");
        result_extra(r, series_percentile(&waited, 0.99), "synchronous_p99");
        result_extra(r, series_median(&ratios), "asynchronous_over_synchronous");
    }
    series_free(&waited);
    series_free(&ratios);
    each_peer(b, slot) close_writer(b, slot, &writers[slot], 1, "async_latency");
    written_file_close(&floor_file);
}

// ---------------------------------------------------------------------------------------- delay of ticks

enum { most_objects = 100000, a_write = 100, a_turn = 10, idle_ticks = 60 };

typedef enum { GROUPED, UNGROUPED, EACH, AT_ONCE } way;

// Inserts `count` objects into a new store while the loop ticks: by writes that are not waited for, of which ten are
// begun between two looks at what is due; by one that is made there; or by all in one go.
static void insert_beside_ticks(bench *b, int slot, size_t count, way how, series *delays, series *work) {
    const peer *p = b->peers[slot];
    char *path = fresh_directory(b, slot, "ticks");
    store *s = p->create(path, (open_options){.durability = DURABLE, .indexed = true});
    int64_t rows[a_write];
    size_t begun = 0, left = (count + a_write - 1) / a_write;
    const size_t most = how == AT_ONCE ? left : how == EACH ? 1 : a_turn;
    loop l = open_loop(delays);
    l.work = work;
    if (how <= UNGROUPED) watch(&l, p->async->descriptor(s));
    while (left || l.ticks == 0) {
        for (size_t writes = 0; begun < count && writes < most; writes++) {
            const size_t size = count - begun < a_write ? count - begun : a_write;
            if (how <= UNGROUPED) {
                p->async->insert(s, b->data, begun, size, how == GROUPED, count_down, &left);
            } else {
                for (size_t i = 0; i < size; i++) rows[i] = (int64_t)(begun + i);
                p->insert_some(s, b->data, rows, size);
                left--;
            }
            begun += size;
        }
        turn(&l, p, s, begun == count);
    }
    close_loop(&l);
    p->close(s);
    s = p->open(path, (open_options){.durability = DURABLE});
    const uint64_t scanned = p->count_age_below(s, 256, false), indexed = p->count_age_below(s, 256, true);
    if (scanned != count || indexed != count)
        die("ticks: %s: %lu objects by scan, %lu by index, not %zu", p->name, scanned, indexed, count);
    if (p->sum_scores(s) != floor_sum(b->data->score, count)) die("ticks: %s: wrong sum", p->name);
    p->close(s);
    drop(path);
    sync_file_system(b->directory);
}

static void wait_for_ticks(series *delays) {
    loop l = open_loop(delays);
    while (l.ticks < idle_ticks) turn(&l, NULL, NULL, true);
    close_loop(&l);
}

// One series of delays: a repetition of a track.
static void add_repetition(result *r, int slot, series *delays) {
    for (size_t i = 0; i < delays->count; i++) series_add(&r->tracks[slot].samples, delays->values[i]);
    series_add(&r->tracks[slot].repetitions, series_median(delays));
    series_free(delays);
}

// What the library itself takes from the loop, whoever else wants the processor.
static void report_work(result *r, series *work, const char *name) {
    if (work->count) {
        result_extra(r, series_percentile(work, 0.99), "%s_p99", name);
        result_extra(r, series_percentile(work, 1), "%s_max", name);
    }
    series_free(work);
}

// Beyond those of the loop alone. p95 as well: where the machine itself stands still in one of a hundred ticks, p99 is
// its own.
static void report_beyond(result *r, const series *delays, double fraction, const char *name, const char *what) {
    if (!delays->count) return;
    const double idle = series_percentile(&r->tracks[FLOOR].samples, fraction);
    result_extra(r, series_percentile(delays, fraction) - idle, "%s_p%.0f_beyond_idle%s", name, fraction * 100, what);
}

static void report_ticks(const bench *b, result *r, series beside[SLOTS], const char *what) {
    each_peer(b, slot) {
        const char *name = b->peers[slot]->name;
        report_beyond(r, &r->tracks[slot].samples, 0.95, name, "");
        report_beyond(r, &r->tracks[slot].samples, 0.99, name, "");
        report_beyond(r, &beside[slot], 0.99, name, what);
        series_free(&beside[slot]);
    }
}

void run_tick_delay(bench *b, wanted_function *wanted) {
    const size_t count = b->data->count < most_objects ? b->data->count : most_objects;
    result *async = wanted("tick_delay_async") ? add_result(b, "tick_delay_async", "us", false) : NULL;
    result *sync = wanted("tick_delay_sync") ? add_result(b, "tick_delay_sync", "us", false) : NULL;
    series grouped[SLOTS] = {0}, at_once[SLOTS] = {0}, work[2] = {0};
    for (size_t i = 0, n = repetitions(b, 10); i < n; i++) {
        series delays = {0};
        if (async) {
            wait_for_ticks(&delays);
            add_repetition(async, FLOOR, &delays);
            each_peer_with(b, slot, async) {
                delays = (series){0};
                insert_beside_ticks(b, slot, count, UNGROUPED, &delays, &work[UNGROUPED]);
                add_repetition(async, slot, &delays);
                insert_beside_ticks(b, slot, count, GROUPED, &grouped[slot], &work[GROUPED]);
            }
        }
        if (sync) {
            delays = (series){0};
            wait_for_ticks(&delays);
            add_repetition(sync, FLOOR, &delays);
            each_peer_with(b, slot, insert_some) {
                delays = (series){0};
                insert_beside_ticks(b, slot, count, EACH, &delays, NULL);
                add_repetition(sync, slot, &delays);
                if (i < 3) insert_beside_ticks(b, slot, count, AT_ONCE, &at_once[slot], NULL);
            }
        }
    }
    if (async) {
        report_ticks(b, async, grouped, "_grouped");
        report_work(async, &work[UNGROUPED], "delivery_cpu");
        report_work(async, &work[GROUPED], "delivery_cpu_grouped");
    }
    if (sync) report_ticks(b, sync, at_once, "_at_once");
}
