/* A process is killed while its writes are committed in groups: what it leaves is a prefix, never a hole.
 *
 *      writer   thousands of asynchronous writes that may be grouped, each of which stores its number; now and then a
 *               body fails, which must leave no trace in its group. A completion notes its number in a pipe; and so
 *               does the loop, with the last number that was written in one transaction.
 *      parent   kills the writer after some of these notes, opens the store, and looks: it is sound; the stored
 *               numbers are 1 … n without a hole; n is no less than what was acknowledged, and where a transaction
 *               ended; what was acknowledged came in its order, each once.
 */
#define _GNU_SOURCE
#include "async.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------------- writer */

enum { WAITING_WRITES = 3000, FAILING = 97 };

enum { BEGINS, ACKNOWLEDGES, ENDS_TRANSACTION };
typedef struct { int64_t kind, number; uint64_t version; } note;

static objstore *written;
static int to_parent;
static int64_t last_number, last_run;

static void tell(int64_t kind, int64_t number, uint64_t version) {
    note n = {kind, number, version};
    if (write(to_parent, &n, sizeof n) != sizeof n) _exit(1);   /* the parent has ended */
}

static objstore_status store_number(objstore_view *transaction, void *userdata) {
    last_run = (int64_t)(intptr_t)userdata;
    return create_entry(transaction, last_run);
}

static objstore_status store_and_fail(objstore_view *transaction, void *userdata) {
    MUST(create_entry(transaction, -(int64_t)(intptr_t)userdata));
    return OBJSTORE_USER_STATUS;
}

static objstore_status did_fail(objstore_status status, uint64_t version, void *userdata) {
    (void)version, (void)userdata;
    if (status != OBJSTORE_ERR_CALLBACK) MUST(status ? status : OBJSTORE_ERR_INTERNAL);
    return OBJSTORE_OK;
}

static objstore_status did_store(objstore_status status, uint64_t version, void *userdata);

static void enqueue_next(void) {
    intptr_t number = (intptr_t)++last_number;
    if (number % FAILING == 0)
        MUST(objstore_write_async(written, OBJSTORE_ASYNC_ALLOW_GROUPING, store_and_fail, did_fail, (void *)number,
                                  NULL, NULL));
    MUST(objstore_write_async(written, OBJSTORE_ASYNC_ALLOW_GROUPING, store_number, did_store, (void *)number, NULL,
                              NULL));
}

static objstore_status did_store(objstore_status status, uint64_t version, void *userdata) {
    MUST(status);
    tell(ACKNOWLEDGES, (int64_t)(intptr_t)userdata, version);
    enqueue_next();
    return OBJSTORE_OK;
}

int run_writer(const options *o, int pipe) {
    size_t count;
    int i;
    to_parent = pipe;
    written = open_store(o->path);
    free(read_numbers(written, &count));
    last_number = last_run = (int64_t)count;
    tell(BEGINS, 0, 0);
    for (i = 0; i < WAITING_WRITES; i++) enqueue_next();
    for (;;) {
        const int64_t before = last_run;
        MUST(objstore_wait(written, OBJSTORE_FOREVER, NULL));   /* the bodies of one transaction at most */
        if (last_run != before) tell(ENDS_TRANSACTION, last_run, 0);
    }
}

/* ----------------------------------------------------------------------------------------------------- parent */

typedef struct {
    int64_t acknowledged;       /* of all lives of the writer: the highest */
    uint64_t told, groups, largest, size, version;
    /* Of this life: what was stored before, and then the last number of each transaction. */
    int64_t *ends;
    size_t end_count, end_room;
} notes;

static void add_end(notes *n, int64_t number) {
    if (n->end_count == n->end_room) {
        n->end_room = n->end_room ? n->end_room * 2 : 1024;
        n->ends = realloc(n->ends, n->end_room * sizeof *n->ends);
        if (!n->ends) fail("no memory");
    }
    n->ends[n->end_count++] = number;
}

/* What has come through the pipe; false: the writer has ended, and nothing is left in it. */
static bool read_notes(int pipe, notes *n) {
    note all[512];
    ssize_t bytes = read(pipe, all, sizeof all);
    size_t i;
    if (bytes < 0 && errno == EINTR) return true;
    if (bytes < 0 || bytes % (ssize_t)sizeof *all) fail("the pipe is broken: %s", strerror(errno));
    for (i = 0; i < (size_t)bytes / sizeof *all; i++) {
        if (all[i].kind == ENDS_TRANSACTION) add_end(n, all[i].number);
        if (all[i].kind != ACKNOWLEDGES) continue;
        if (all[i].number != n->acknowledged + 1)
            fail("%" PRId64 " was acknowledged after %" PRId64, all[i].number, n->acknowledged);
        n->acknowledged++;
        n->told++;
        n->size = n->version == all[i].version ? n->size + 1 : 1;
        n->groups += n->size == 1;
        n->version = all[i].version;
        if (n->size > n->largest) n->largest = n->size;
    }
    return bytes > 0;
}

static int64_t nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A life of the writer: it is killed after `after` acknowledgements and another while. */
static void live_and_die(const options *o, random_source *random, notes *n) {
    int ends[2], status;
    char pipe_text[16], seed_text[24], bug_text[16];
    uint64_t after = random_below(random, 4) ? random_below(random, 2000) : 0, before = n->told;
    int64_t end;
    pid_t child;
    bool isBegun = false;
    if (pipe(ends)) fail("no pipe: %s", strerror(errno));
    snprintf(pipe_text, sizeof pipe_text, "%d", ends[1]);
    snprintf(seed_text, sizeof seed_text, "%" PRIu64, o->seed);
    snprintf(bug_text, sizeof bug_text, "%d", o->bug);
    child = fork();
    if (child < 0) fail("no process: %s", strerror(errno));
    if (child == 0) {
        close(ends[0]);
        if (o->bug < 0)
            execl("/proc/self/exe", o->program, "writer", "--path", o->path, "--pipe", pipe_text, "--seed", seed_text,
                  NULL);
        else
            execl("/proc/self/exe", o->program, "writer", "--path", o->path, "--pipe", pipe_text, "--seed", seed_text,
                  "--bug", bug_text, NULL);
        _exit(127);
    }
    close(ends[1]);
    while (!isBegun || n->told - before < after) {
        if (!read_notes(ends[0], n)) {
            waitpid(child, &status, 0);
            fail("the writer has ended by itself, with status %d", status);
        }
        isBegun = true;
    }
    /* Anywhere between two bodies, in a body, in the commit, in its sync; what it says meanwhile is read, or it would
     * wait for the pipe. */
    end = nanoseconds() + (int64_t)random_below(random, 1500000);
    do {
        struct pollfd ready = {.fd = ends[0], .events = POLLIN};
        if (poll(&ready, 1, 0) > 0 && !read_notes(ends[0], n)) break;
    } while (nanoseconds() < end);
    kill(child, SIGKILL);
    if (waitpid(child, &status, 0) != child) fail("the writer cannot be waited for: %s", strerror(errno));
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) fail("the writer has ended with status %d", status);
    while (read_notes(ends[0], n)) {}
    close(ends[0]);
}

/* Of the last transaction the end may not be known. */
static bool is_end(const notes *n, int64_t number) {
    size_t i;
    if (n->end_count == 0 || number > n->ends[n->end_count - 1]) return true;
    for (i = 0; i < n->end_count; i++)
        if (n->ends[i] == number) return true;
    return false;
}

/* How many numbers are stored, without a hole. */
static int64_t check_store(const options *o, const notes *n) {
    objstore *store = open_store(o->path);
    size_t count, i;
    int64_t *numbers = read_numbers(store, &count);
    bool *isThere = calloc(count + 1, 1);
    if (!isThere) fail("no memory");
    for (i = 0; i < count; i++) {
        if (numbers[i] < 0) fail("%" PRId64 " is stored, whose body has failed", -numbers[i]);
        if (numbers[i] < 1 || numbers[i] > (int64_t)count)
            fail("there is a hole: of %zu numbers one is %" PRId64, count, numbers[i]);
        if (isThere[numbers[i]]) fail("%" PRId64 " is stored twice", numbers[i]);
        isThere[numbers[i]] = true;
    }
    if ((int64_t)count < n->acknowledged)
        fail("%" PRId64 " was acknowledged, but the store ends with %zu", n->acknowledged, count);
    if (!is_end(n, (int64_t)count)) fail("the store ends with %zu, in the middle of a transaction", count);
    free(isThere);
    free(numbers);
    MUST(objstore_close(store));
    return (int64_t)count;
}

int run_kills(const options *o) {
    random_source random = {o->seed};
    notes n = {.ends = NULL};
    uint64_t kills, unsaid = 0;
    n.acknowledged = check_store(o, &n);
    for (kills = 0; kills < o->count; kills++) {
        int64_t stored;
        goes_on("kills", kills);
        /* The next one goes on behind what is stored. */
        n.end_count = 0;
        add_end(&n, n.acknowledged);
        live_and_die(o, &random, &n);
        stored = check_store(o, &n);
        unsaid += (uint64_t)(stored - n.acknowledged);
        n.acknowledged = stored;
        n.version = 0;
    }
    printf("kills: %" PRIu64 " writers killed, %" PRIu64 " writes acknowledged in %" PRIu64 " groups, of %" PRIu64
           " at most, and %" PRIu64 " stored that nobody was told of; none missing, no hole, seed %" PRIu64 "\n",
           kills, n.told, n.groups, n.largest, unsaid, o->seed);
    free(n.ends);
    if (o->count >= 20 && n.largest < 2) fail("no two writes were one commit");
    return 0;
}
