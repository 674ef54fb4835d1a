// Cases with a second process: recovery after a kill, notification across processes.
#include "cases.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// A page that this process and a helper process share.
typedef struct {
    _Atomic uint32_t ready;         // helper → us: in place
    _Atomic uint32_t acknowledged;  // recovery: transactions whose commit has returned
    _Atomic uint32_t seen;          // notify: change sets received; futex word
    _Atomic uint32_t go;            // floor of notify: wake-ups sent; futex word
    _Atomic uint32_t stop;
    _Atomic int64_t seen_at;        // clock when the helper's callback began
    _Atomic int64_t seen_id;
} shared_page;

static void *map_file(const char *path, size_t bytes, bool create) {
    int descriptor = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0600);
    check_sys(descriptor >= 0);
    if (create) check_sys(ftruncate(descriptor, (off_t)bytes) == 0);
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    check_sys(mapped != MAP_FAILED);
    check_sys(close(descriptor) == 0);
    return mapped;
}

static shared_page *map_shared(const char *path, bool create) { return map_file(path, sizeof(shared_page), create); }

int start_helper(const char *what, const char *peer_name, const char *dir, size_t objects, const char *shared) {
    extern char **environ;
    char count[32];
    snprintf(count, sizeof count, "%zu", objects);
    char *arguments[] = {
        "bench", "--helper", (char *)what, (char *)peer_name, (char *)dir, count, (char *)shared, NULL};
    pid_t process;
    int error = posix_spawn(&process, "/proc/self/exe", NULL, NULL, arguments, environ);
    if (error) die("cannot start a helper process: %s", strerror(error));
    return process;
}

static void sleep_on(_Atomic uint32_t *word, uint32_t value) {
    struct timespec limit = {0, 100000000};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
}

static void wake(_Atomic uint32_t *word) {
    check_sys(syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0) >= 0);
}

// Waits until *word differs from `value`; dies when the helper ends or takes more than 60 s.
static void wait_for(_Atomic uint32_t *word, uint32_t value, pid_t helper, const char *what) {
    int64_t deadline = now_ns() + 60000000000;
    while (atomic_load(word) == value) {
        sleep_on(word, value);
        int status;
        if (waitpid(helper, &status, WNOHANG) != 0) die("%s: the helper process ended (status %d)", what, status);
        if (now_ns() > deadline) die("%s: the helper process does not answer", what);
    }
}

void reap(int helper, bool killed, const char *what) {
    int status;
    check_sys(waitpid(helper, &status, 0) == helper);
    bool right =
        killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!right) die("%s: the helper process ended with status %d", what, status);
}

enum { recovery_size = 100, recovery_transactions = 200 };

void child_recovery(const peer *p, const char *dir, size_t objects, const char *shared_path) {
    shared_page *page = map_shared(shared_path, false);
    update_sequence updates = update_sequence_make(people_make(objects), 0, objects);
    store *s = p->open(dir, (open_options){.durability = DURABLE});
    int64_t ids[recovery_size];
    uint8_t ages[recovery_size];
    for (uint32_t serial = 0;; serial++) {      // until killed
        make_update(&updates, serial, recovery_size, ids, ages);
        p->update_ages(s, ids, ages, recovery_size);
        atomic_store(&page->acknowledged, serial + 1);
    }
}

// Acknowledged transactions are there; the one that was under way is whole or absent.
static void verify_recovered(const bench *b, const peer *p, store *s, uint32_t acknowledged) {
    expected_ages e = expect_ages(b->data);
    int64_t ids[recovery_size], found[recovery_size];
    uint8_t ages[recovery_size];
    for (uint32_t serial = 0; serial < acknowledged; serial++) {
        make_update(&b->updates, serial, recovery_size, ids, ages);
        expect_update(&e, ids, ages, recovery_size);
    }
    make_update(&b->updates, acknowledged, recovery_size, ids, ages);
    p->lookup_ages(s, ids, recovery_size, found);
    size_t changed = 0;
    for (size_t i = 0; i < recovery_size; i++) changed += found[i] == ages[i];
    if (changed != 0 && changed != recovery_size)
        die("recovery: %s: %zu of %d updates of one transaction", p->name, changed, recovery_size);
    if (changed) expect_update(&e, ids, ages, recovery_size);
    verify_ages(p, s, &e, "recovery");
    free_expected(&e);
}

void run_recovery(bench *b, wanted_function *wanted) {
    (void)wanted;
    result *r = add_result(b, "recovery", "us/op", false);
    char *shared_path = format_path("%s/shared", b->directory);
    for (size_t i = 0, n = repetitions(b, 3); i < n; i++) {
        each_peer(b, slot) {
            const peer *p = b->peers[slot];
            char *path = work_copy(b, slot);
            shared_page *page = map_shared(shared_path, true);
            pid_t helper = start_helper("recovery", p->name, path, b->data->count, shared_path);
            while (atomic_load(&page->acknowledged) < recovery_transactions)
                wait_for(&page->acknowledged, atomic_load(&page->acknowledged), helper, "recovery");
            check_sys(kill(helper, SIGKILL) == 0);
            reap(helper, true, "recovery");
            int64_t id = (int64_t)(b->data->count / 2), age;
            int64_t start = now_ns();
            store *s = p->open(path, (open_options){.durability = DURABLE});
            p->lookup_ages(s, &id, 1, &age);
            series_add(&r->tracks[slot].repetitions, microseconds(now_ns() - start));
            verify_recovered(b, p, s, atomic_load(&page->acknowledged));
            p->close(s);
            check_sys(munmap(page, sizeof *page) == 0);
            drop(path);
        }
    }
    result_extra(r, recovery_transactions, "transactions_before_kill");
    check_sys(unlink(shared_path) == 0);
    free(shared_path);
}

// From the return of commit here to the beginning of the callback in another process. The floor is
// a futex wake-up between two processes.
void child_futex(const char *shared_path) {
    shared_page *page = map_shared(shared_path, false);
    uint32_t expected = atomic_load(&page->go);
    atomic_store(&page->ready, 1);
    wake(&page->ready);
    for (;;) {
        while (atomic_load(&page->go) == expected) sleep_on(&page->go, expected);
        atomic_store(&page->seen_at, now_ns());
        expected++;
        if (atomic_load(&page->stop)) return;
        atomic_fetch_add(&page->seen, 1);
        wake(&page->seen);
    }
}

static bool child_saw(void *context, const change *c) {
    int64_t now = now_ns();
    shared_page *page = context;
    if (!c) {
        atomic_store(&page->ready, 1);
        wake(&page->ready);
        return true;
    }
    if (c->inserted || c->deleted || c->modified != 1)
        die("observer: a change set of %zu inserted, %zu modified, %zu deleted", c->inserted, c->modified, c->deleted);
    atomic_store(&page->seen_at, now);
    atomic_store(&page->seen_id, c->modified_ids[0]);
    bool last = atomic_load(&page->stop);
    atomic_fetch_add(&page->seen, 1);
    wake(&page->seen);
    return !last;
}

void child_observe(const peer *p, const char *dir, const char *shared_path) {
    shared_page *page = map_shared(shared_path, false);
    store *s = p->open(dir, (open_options){.durability = DURABLE});
    p->observe(s, child_saw, page);
    p->close(s);
}

void run_notify_process(bench *b, wanted_function *wanted) {
    (void)wanted;
    enum { batch = 50 };
    result *r = add_result(b, "notify_process_1", "us/change", false);
    writer_state writers[SLOTS] = {0};
    shared_page *pages[SLOTS] = {0};
    pid_t helpers[SLOTS] = {0};
    char *paths[SLOTS] = {0};
    for (int slot = FLOOR; slot < SLOTS; slot++) {
        if (slot != FLOOR && !(b->peers[slot] && b->peers[slot]->observe)) continue;
        paths[slot] = format_path("%s/shared-%s", b->directory, slot_names[slot]);
        pages[slot] = map_shared(paths[slot], true);
        if (slot != FLOOR) writers[slot] = open_writer(b, slot, DURABLE);
        helpers[slot] = start_helper(slot == FLOOR ? "futex" : "observe", slot_names[slot],
                                     slot == FLOOR ? "-" : writers[slot].path, b->data->count, paths[slot]);
        wait_for(&pages[slot]->ready, 0, helpers[slot], "notify_process_1");
    }
    size_t rounds = repetitions(b, 10);
    for (size_t i = 0; i < rounds; i++) {
        for (int slot = FLOOR; slot < SLOTS; slot++) {
            if (!pages[slot]) continue;
            shared_page *page = pages[slot];
            series mine = {0};
            for (size_t k = 0; k < batch; k++) {
                struct timespec pause = {0, 500000};    // until the helper sleeps again
                nanosleep(&pause, NULL);
                uint32_t seen = atomic_load(&page->seen);
                bool last = slot != FLOOR && i + 1 == rounds && k + 1 == batch;
                if (last) atomic_store(&page->stop, 1);
                int64_t id = -1, done;
                uint8_t age;
                if (slot == FLOOR) {
                    done = now_ns();
                    atomic_fetch_add(&page->go, 1);
                    wake(&page->go);
                } else {
                    make_update(&b->updates, writers[slot].serial++, 1, &id, &age);
                    b->peers[slot]->update_ages(writers[slot].store, &id, &age, 1);
                    done = now_ns();
                }
                if (last) while (atomic_load(&page->seen) == seen) sleep_on(&page->seen, seen);
                else wait_for(&page->seen, seen, helpers[slot], "notify_process_1");
                if (slot != FLOOR && atomic_load(&page->seen_id) != id)
                    die("notify_process_1: %s: another object", slot_names[slot]);
                double time = microseconds(atomic_load(&page->seen_at) - done);
                series_add(&mine, time);
                series_add(&r->tracks[slot].samples, time);
            }
            series_add(&r->tracks[slot].repetitions, series_median(&mine));
            series_free(&mine);
        }
    }
    for (int slot = FLOOR; slot < SLOTS; slot++) {
        if (!pages[slot]) continue;
        if (slot == FLOOR) {
            atomic_store(&pages[slot]->stop, 1);
            atomic_fetch_add(&pages[slot]->go, 1);
            wake(&pages[slot]->go);
        }
        reap(helpers[slot], false, "notify_process_1");
        if (slot != FLOOR) close_writer(b, slot, &writers[slot], 1, "notify_process_1");
        check_sys(munmap(pages[slot], sizeof *pages[slot]) == 0);
        check_sys(unlink(paths[slot]) == 0);
        free(paths[slot]);
    }
}

// The same within a process: the callback is called on a thread of its own, which sleeps until then.
typedef struct { const peer *peer; store *store; shared_page *page; } watching;

static void *watch_here(void *context) {
    watching *w = context;
    w->peer->observe(w->store, child_saw, w->page);
    return NULL;
}

void run_notify_thread(bench *b, wanted_function *wanted) {
    (void)wanted;
    enum { batch = 50 };
    result *r = add_result(b, "notify_thread_1", "us/change", false);
    each_peer_with(b, slot, observe) {
        writer_state writer = open_writer(b, slot, DURABLE);
        shared_page page = {0};
        watching w = {b->peers[slot], writer.store, &page};
        pthread_t thread;
        errno = pthread_create(&thread, NULL, watch_here, &w);
        check_sys(errno == 0);
        while (!atomic_load(&page.ready)) sleep_on(&page.ready, 0);
        const size_t rounds = repetitions(b, 10);
        for (size_t i = 0; i < rounds; i++) {
            series mine = {0};
            for (size_t k = 0; k < batch; k++) {
                const struct timespec pause = {0, 500000};      // until the thread sleeps again
                nanosleep(&pause, NULL);
                const uint32_t seen = atomic_load(&page.seen);
                if (i + 1 == rounds && k + 1 == batch) atomic_store(&page.stop, 1);
                int64_t id;
                uint8_t age;
                make_update(&b->updates, writer.serial++, 1, &id, &age);
                b->peers[slot]->update_ages(writer.store, &id, &age, 1);
                const int64_t done = now_ns(), deadline = done + 60000000000;
                while (atomic_load(&page.seen) == seen) {
                    sleep_on(&page.seen, seen);
                    if (now_ns() > deadline) die("notify_thread_1: the thread does not answer");
                }
                if (atomic_load(&page.seen_id) != id) die("notify_thread_1: another object");
                const double time = microseconds(atomic_load(&page.seen_at) - done);
                series_add(&mine, time);
                series_add(&r->tracks[slot].samples, time);
            }
            series_add(&r->tracks[slot].repetitions, series_median(&mine));
            series_free(&mine);
        }
        errno = pthread_join(thread, NULL);
        check_sys(errno == 0);
        close_writer(b, slot, &writer, 1, "notify_thread_1");
    }
}

// Eight processes write, each some commits at its own pace, and this one observes: from the return of a commit in its
// process to the beginning of the callback here that has it, alone or with others.
enum { writing_processes = 8, most_commits = 400, a_round = 20, patience_seconds = 120 };

typedef struct {
    _Atomic uint32_t ready, go;
    uint32_t number, commits;               // which of the processes it is
    int64_t ids;                            // of each of them
    _Atomic int64_t done_at[most_commits];  // clock when the commit had returned
} writer_page;

static int64_t id_of(const writer_page *page, uint32_t commit) {
    return page->number * page->ids + commit * (page->ids / page->commits);
}

static uint8_t next_age(int64_t age) { return (uint8_t)((age + 37) % 100); }

void child_write(const peer *p, const char *dir, const char *shared_path) {
    writer_page *page = map_file(shared_path, sizeof *page, false);
    store *s = p->open(dir, (open_options){.durability = DURABLE});
    random_source random = {page->number};
    atomic_store(&page->ready, 1);
    wake(&page->ready);
    while (!atomic_load(&page->go)) sleep_on(&page->go, 0);
    for (uint32_t k = 0; k < page->commits; k++) {
        const struct timespec pause = {0, 4000000 + (long)random_below(&random, 8000000)};
        nanosleep(&pause, NULL);
        const int64_t id = id_of(page, k);
        int64_t age;
        p->lookup_ages(s, &id, 1, &age);
        const uint8_t next = next_age(age);
        p->update_ages(s, &id, &next, 1);
        atomic_store(&page->done_at[k], now_ns());
    }
    p->close(s);
}

typedef struct {
    writer_page *pages[writing_processes];
    int64_t *seen_at;       // of each object
    size_t seen, expected;
} many_written;

static bool saw_many(void *context, const change *c) {
    const int64_t now = now_ns();
    many_written *m = context;
    for (size_t i = 0; !c && i < writing_processes; i++) {
        atomic_store(&m->pages[i]->go, 1);
        wake(&m->pages[i]->go);
    }
    if (!c) return true;
    if (c->inserted || c->deleted || c->modified > sizeof c->modified_ids / sizeof *c->modified_ids)
        die("notify_process_latency_8: a change set of %zu inserted, %zu modified, %zu deleted", c->inserted,
            c->modified, c->deleted);
    for (size_t i = 0; i < c->modified; i++) m->seen_at[c->modified_ids[i]] = now;
    m->seen += c->modified;
    return m->seen < m->expected;
}

// What the processes have written is there, and nothing else.
static void check_written(const bench *b, int slot, const char *path, const many_written *m) {
    store *s = b->peers[slot]->open(path, (open_options){.durability = DURABLE});
    expected_ages e = expect_ages(b->data);
    for (int i = 0; i < writing_processes; i++)
        for (uint32_t k = 0; k < m->pages[i]->commits; k++) {
            const int64_t id = id_of(m->pages[i], k);
            const uint8_t age = next_age(b->data->age[id]);
            expect_update(&e, &id, &age, 1);
        }
    verify_ages(b->peers[slot], s, &e, "notify_process_latency_8");
    free_expected(&e);
    b->peers[slot]->close(s);
}

void run_notify_latency(bench *b, wanted_function *wanted) {
    (void)wanted;
    const int64_t ids = (int64_t)(b->data->count / writing_processes);
    size_t rounds = repetitions(b, 8), most = (size_t)(ids < most_commits ? ids : most_commits) / a_round;
    if (rounds > most) rounds = most;
    result *r = add_result(b, "notify_process_latency_8", "us/change", false);
    each_peer_with(b, slot, observe) {
        char *path = work_copy(b, slot), *shared[writing_processes];
        store *s = b->peers[slot]->open(path, (open_options){.durability = DURABLE});
        many_written m = {.seen_at = must_alloc(b->data->count * 8), .expected = writing_processes * rounds * a_round};
        pid_t helpers[writing_processes];
        for (uint32_t i = 0; i < writing_processes; i++) {
            shared[i] = format_path("%s/shared-%u", b->directory, i);
            m.pages[i] = map_file(shared[i], sizeof(writer_page), true);
            *m.pages[i] = (writer_page){.number = i, .commits = (uint32_t)(rounds * a_round), .ids = ids};
            helpers[i] = start_helper("write", slot_names[slot], path, b->data->count, shared[i]);
            wait_for(&m.pages[i]->ready, 0, helpers[i], "notify_process_latency_8");
        }
        alarm(patience_seconds);            // a change that does not come ends the benchmark
        b->peers[slot]->observe(s, saw_many, &m);
        alarm(0);
        for (int i = 0; i < writing_processes; i++) reap(helpers[i], false, "notify_process_latency_8");
        for (size_t round = 0; round < rounds; round++) {
            series mine = {0};
            for (int i = 0; i < writing_processes; i++)
                for (uint32_t k = (uint32_t)round * a_round; k < (round + 1) * a_round; k++) {
                    const int64_t seen = m.seen_at[id_of(m.pages[i], k)];
                    const double time = microseconds(seen - atomic_load(&m.pages[i]->done_at[k]));
                    series_add(&mine, time);
                    series_add(&r->tracks[slot].samples, time);
                }
            series_add(&r->tracks[slot].repetitions, series_median(&mine));
            series_free(&mine);
        }
        b->peers[slot]->close(s);
        check_written(b, slot, path, &m);
        for (int i = 0; i < writing_processes; i++) {
            check_sys(munmap(m.pages[i], sizeof(writer_page)) == 0);
            check_sys(unlink(shared[i]) == 0);
            free(shared[i]);
        }
        free(m.seen_at);
        drop(path);
    }
}
