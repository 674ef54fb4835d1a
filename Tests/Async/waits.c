/* A thread that waits without an end while the last asynchronous write comes to its end: whether it is told of
 * something, or nobody is (no completion, a cancelled body), the wait returns. */
#define _GNU_SOURCE
#include "async.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static uint64_t created, called, undone;

static objstore_status create_next(objstore_view *transaction, void *userdata) {
    (void)userdata;
    return create_entry(transaction, (int64_t)++created);
}

static objstore_status note(objstore_status status, uint64_t version, void *userdata) {
    (void)version, (void)userdata;
    MUST(status);
    called++;
    return OBJSTORE_OK;
}

/* Of one that is cancelled: another thread may have begun it, and then it is told. */
static objstore_status note_cancelled(objstore_status status, uint64_t version, void *userdata) {
    (void)version, (void)userdata;
    if (status == OBJSTORE_ERR_CANCELLED) undone++;
    else MUST(status);
    return OBJSTORE_OK;
}

enum { SILENT, TOLD, CANCELLED, COMMITTED, KINDS };

static void begin_one(objstore *store, int kind) {
    objstore_async_id id;
    objstore_view *transaction;
    switch (kind) {
    case COMMITTED:
        MUST(objstore_begin(store, &transaction));
        MUST(create_next(transaction, NULL));
        MUST(objstore_commit_async(transaction, 0, note, NULL, NULL, NULL));
        break;
    default:
        MUST(objstore_write_async(store, OBJSTORE_ASYNC_ALLOW_GROUPING, create_next,
                                  kind == SILENT ? NULL : kind == CANCELLED ? note_cancelled : note, NULL, NULL, &id));
        if (kind == CANCELLED) MUST(objstore_cancel_async(store, id));
    }
}

static bool is_writing(objstore *store) {
    bool writing;
    MUST(objstore_is_writing_async(store, &writing));
    return writing;
}

/* Beside the thread that begins: others that wait for the same end. */
typedef struct { objstore *store; pthread_barrier_t begun, ended; uint64_t rounds; } shared;

static void wait_for_all(objstore *store) {
    while (is_writing(store)) MUST(objstore_wait(store, OBJSTORE_FOREVER, NULL));
}

static void *wait_too(void *userdata) {
    shared *s = userdata;
    uint64_t round;
    for (round = 0; round < s->rounds; round++) {
        pthread_barrier_wait(&s->begun);
        wait_for_all(s->store);
        pthread_barrier_wait(&s->ended);
    }
    return NULL;
}

static void write_one(objstore *store) {
    objstore_view *transaction;
    MUST(objstore_begin(store, &transaction));
    MUST(create_next(transaction, NULL));
    MUST(objstore_commit(transaction, NULL));
}

/* Threads of this process that wait for asynchronous writes. */
static int writing_threads(void) {
    static const char *const names[] = {"objstore begin", "objstore commit", "objstore confir"};
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    int found = 0;
    if (!tasks) fail("/proc/self/task");
    while ((task = readdir(tasks))) {
        char path[300], name[32] = "";
        FILE *file;
        size_t i;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        if (!(file = fopen(path, "r"))) continue;
        if (!fgets(name, sizeof name, file)) name[0] = 0;
        fclose(file);
        name[strcspn(name, "\n")] = 0;
        for (i = 0; i < sizeof names / sizeof *names; i++) found += !strcmp(name, names[i]);
    }
    closedir(tasks);
    return found;
}

/* There are none in a process that writes nothing asynchronously. */
static void expect_threads(int wanted, const char *when) {
    int found = writing_threads();
    if (found != wanted) fail("%d threads for asynchronous writes %s, not %d", found, when, wanted);
}

int run_waits(const options *o) {
    random_source random = {o->seed};
    shared s = {.store = open_store(NULL), .rounds = o->count};
    pthread_t others[64];
    int threads = o->threads ? o->threads : 1, i;
    uint64_t round, told = 0;
    size_t count;
    if (threads < 1 || threads > 64) fail("%d threads, not 1 to 64", threads);
    expect_threads(0, "before the first");
    write_one(s.store);
    expect_threads(0, "after a synchronous one");
    pthread_barrier_init(&s.begun, NULL, (unsigned)threads);
    pthread_barrier_init(&s.ended, NULL, (unsigned)threads);
    for (i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, wait_too, &s)) fail("no thread");
    for (round = 0; round < o->count; round++) {
        int writes = 1 + (int)random_below(&random, 3), yields;
        if (round % 500 == 0) goes_on("rounds of waits", round);
        /* The others wait already, or come later. */
        if (threads > 1 && round % 2) pthread_barrier_wait(&s.begun);
        while (writes-- > 0) {
            int kind = (int)random_below(&random, KINDS);
            told += kind == TOLD || kind == COMMITTED;
            begin_one(s.store, kind);
        }
        /* So that the threads of the library are anywhere when the wait begins. */
        for (yields = (int)random_below(&random, 8); yields > 4; yields--) sched_yield();
        if (threads > 1 && round % 2 == 0) pthread_barrier_wait(&s.begun);
        wait_for_all(s.store);
        if (threads > 1) pthread_barrier_wait(&s.ended);
    }
    for (i = 1; i < threads; i++) pthread_join(others[i], NULL);
    free(read_numbers(s.store, &count));
    expect_threads(3, "before closing");
    if (count != created - undone)
        fail("%zu entries, but %" PRIu64 " bodies ran, and %" PRIu64 " were undone", count, created, undone);
    if (called < told) fail("%" PRIu64 " completions were called, of %" PRIu64 " at least", called, told);
    MUST(objstore_close(s.store));
    expect_threads(0, "after closing");
    printf("waits: %" PRIu64 " rounds, %d threads, %" PRIu64 " bodies, %" PRIu64 " completions, seed %" PRIu64 "\n",
           o->count, threads, created, called, o->seed);
    return 0;
}
