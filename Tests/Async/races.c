/* Threads that begin, write, commit, cancel, deliver, wait, and close the store and open it again, all at once and
 * through the same handle. What was said of each write must be what the store has at the end:
 *
 *      told OK                             it is there, and was when it was told
 *      told an error, never enqueued       it is not
 *      ran, and its completion was         it is there: what is being committed happens all the same
 *      cancelled
 *      never ran                           it is not, and somebody has cancelled it
 *
 * Bodies run one at a time, those of a thread in the order of its calls; completions are called once each, in the order
 * in which their bodies have returned; userdata is freed once. The fields of a write are plain memory, which its
 * thread, the threads that run body and completion, and the one that frees it hand to each other by the library's own
 * synchronisation: ThreadSanitizer says where that is missing. */
#define _GNU_SOURCE
#include "async.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST_THREADS = 64 };

/* A handle, and what its bodies and completions have done so far, which is theirs. */
typedef struct generation {
    objstore *store;
    struct generation *before;          /* all are kept until the end: late callbacks may look at theirs */
    int64_t bodies;                     /* that have begun */
    int64_t last_told;                  /* place of the last one whose completion was called */
    uint64_t last_version;
    int64_t last_serial[MOST_THREADS];  /* of the writes of each thread: the last that ran */
} generation;

typedef enum {
    RETURNS,            /* the write is committed when its body returns */
    FAILS,              /* undone: the body returns a status of its own */
    UNDOES,             /* undone: by objstore_cancel inside of the body */
    COMMITS_LATER,      /* by objstore_commit_async inside of the body */
    COMMITS_AT_ONCE,    /* by objstore_commit inside of the body */
    WRITES_ANOTHER,     /* its body enqueues another write */
    SYNCHRONOUS,        /* begins synchronously, and commits asynchronously */
    PLANS
} plan;

typedef struct {
    int64_t number;                     /* thread in the upper half, serial in the lower one */
    plan plan;
    uint32_t flags;
    generation *of;
    /* Of the thread that made it. */
    objstore_async_id id;
    bool isEnqueued, isCancelled;
    _Atomic bool isGone;                /* it was cancelled, and that call has returned */
    /* Of the body. */
    int ran;
    int64_t place;                      /* of the body among those of its handle; 0: in no order */
    /* Of the completion. */
    int told;
    objstore_status status;
    /* Of whoever frees it. */
    int freed;
} ticket;

typedef struct {
    pthread_t thread;
    int index;
    random_source random;
    uint64_t operations;
    ticket **tickets;
    size_t count, room;
} worker;

static const char *path;
static _Atomic(generation *) current;       /* NULL: the store is being closed */
static pthread_mutex_t reopening = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t closings, operations;
static _Thread_local worker *self;
/* Of the thread that delivers: a worker's, or that of main, which has one of its own. */

static void expect(bool holds, const ticket *t, const char *what) {
    if (!holds) fail("write %" PRId64 " of thread %" PRId64 ": %s", t->number & 0xffffffff, t->number >> 32, what);
}

/* ---------------------------------------------------------------------------------------------------- callbacks */

static ticket *new_ticket(generation *of);
static void enqueue(ticket *t);

static void free_ticket(void *userdata) {
    ticket *t = userdata;
    t->freed++;
}

/* It is visible before it is told. */
static void expect_visible(const ticket *t) {
    objstore_view *view;
    objstore_object object;
    bool found = false;
    objstore_status status = objstore_view_open(t->of->store, &view);
    if (status == OBJSTORE_ERR_CLOSED_HANDLE) return;
    MUST(status);
    MUST(objstore_find(view, entry, objstore_int(t->number), &object, &found));
    MUST(objstore_view_close(view));
    expect(found, t, "it was told that it is done, and cannot be found");
}

static objstore_status complete(objstore_status status, uint64_t version, void *userdata) {
    ticket *t = userdata;
    generation *of = t->of;
    t->told++;
    t->status = status;
    if (t->ran != 1) fprintf(stderr, "told %s: %s\n", objstore_status_name(status), objstore_last_message());
    expect(t->ran == 1, t, "its completion was called, but its body has not run once");
    if (t->place) {
        expect(t->place > of->last_told, t, "its completion was called after that of a later one");
        of->last_told = t->place;
        if (status == OBJSTORE_OK) {
            expect(version >= of->last_version, t, "its version is older than that of one before it");
            of->last_version = version;
        }
    }
    if (status == OBJSTORE_OK && t->number % 8 == 0) expect_visible(t);
    return OBJSTORE_OK;
}

static objstore_status run_body(objstore_view *transaction, void *userdata) {
    ticket *t = userdata;
    generation *of = t->of;
    int64_t *last = &of->last_serial[t->number >> 32], serial = t->number & 0xffffffff;
    expect(!atomic_load(&t->isGone), t, "it was cancelled, and then its body ran");
    t->ran++;
    expect(serial > *last, t, "its body ran after that of a later one");
    *last = serial;
    of->bodies++;
    if (t->plan != COMMITS_AT_ONCE) t->place = of->bodies;
    MUST(create_entry(transaction, t->number));
    switch (t->plan) {
    case RETURNS: case SYNCHRONOUS: case PLANS: break;
    case FAILS: return OBJSTORE_USER_STATUS;
    case UNDOES: MUST(objstore_cancel(transaction)); break;
    case COMMITS_LATER: MUST(objstore_commit_async(transaction, t->flags, complete, t, NULL, NULL)); break;
    case COMMITS_AT_ONCE: MUST(objstore_commit(transaction, NULL)); break;
    case WRITES_ANOTHER: enqueue(new_ticket(of)); break;
    }
    return OBJSTORE_OK;
}

/* --------------------------------------------------------------------------------------------------- operations */

static ticket *new_ticket(generation *of) {
    worker *w = self;
    ticket *t = calloc(1, sizeof *t);
    if (w->count == w->room) {
        w->room = w->room ? w->room * 2 : 1024;
        w->tickets = realloc(w->tickets, w->room * sizeof *w->tickets);
    }
    if (!t || !w->tickets) fail("no memory");
    t->number = (int64_t)w->index << 32 | (int64_t)(w->count + 1);
    t->of = of;
    t->flags = random_below(&w->random, 2) ? OBJSTORE_ASYNC_ALLOW_GROUPING : 0;
    t->plan = random_below(&w->random, 4) ? RETURNS : (plan)random_below(&w->random, SYNCHRONOUS);
    w->tickets[w->count++] = t;
    return t;
}

/* The one status that another thread may cause here: it has closed the store. */
static bool is_open(objstore_status status) {
    if (status == OBJSTORE_ERR_CLOSED_HANDLE) return false;
    MUST(status);
    return true;
}

static void enqueue(ticket *t) {
    t->isEnqueued = is_open(objstore_write_async(t->of->store, t->flags, run_body,
                                                 t->plan == COMMITS_LATER ? NULL : complete, t, free_ticket, &t->id));
}

static void commit_synchronous(generation *of) {
    objstore_view *transaction;
    ticket *t;
    if (!is_open(objstore_begin(of->store, &transaction))) return;
    t = new_ticket(of);
    t->plan = SYNCHRONOUS;
    if (!is_open(create_entry(transaction, t->number))) {
        free_ticket(t);
        return;
    }
    t->ran = 1;
    t->place = ++of->bodies;
    t->isEnqueued = is_open(objstore_commit_async(transaction, t->flags, complete, t, free_ticket, &t->id));
}

/* One of the last that this thread has begun. */
static void cancel_one(worker *w) {
    ticket *t;
    if (w->count == 0) return;
    t = w->tickets[w->count - 1 - random_below(&w->random, w->count < 4 ? w->count : 4)];
    if (!t->isEnqueued || t->isCancelled) return;
    t->isCancelled = true;
    if (is_open(objstore_cancel_async(t->of->store, t->id))) atomic_store(&t->isGone, true);
}

static generation *open_generation(generation *before) {
    generation *new = calloc(1, sizeof *new);
    if (!new) fail("no memory");
    new->store = open_store(path);
    new->before = before;
    return new;
}

/* Closes the store under the other threads. Its successor is open before, or after. */
static void reopen(worker *w, generation *old) {
    bool isOpenedBefore = random_below(&w->random, 2);
    pthread_mutex_lock(&reopening);
    if (atomic_load(&current) == old) {
        atomic_store(&current, isOpenedBefore ? open_generation(old) : NULL);
        MUST(objstore_close(old->store));
        if (!isOpenedBefore) atomic_store(&current, open_generation(old));
        atomic_fetch_add(&closings, 1);
    }
    pthread_mutex_unlock(&reopening);
}

/* The handle of now; waits where the store is being opened again. */
static generation *take_current(void) {
    generation *now = atomic_load(&current);
    if (now) return now;
    pthread_mutex_lock(&reopening);
    now = atomic_load(&current);
    pthread_mutex_unlock(&reopening);
    return now;
}

static void *work(void *userdata) {
    worker *w = userdata;
    uint64_t i;
    self = w;
    for (i = 0; i < w->operations; i++) {
        generation *now = take_current();
        uint64_t dice = random_below(&w->random, 1000);
        bool writing;
        if (dice < 400) enqueue(new_ticket(now));
        else if (dice < 460) commit_synchronous(now);
        else if (dice < 520) cancel_one(w);
        else if (dice < 800) is_open(objstore_deliver(now->store, NULL));
        else if (dice < 970) is_open(objstore_wait(now->store, 1, NULL));
        else if (dice < 995) is_open(objstore_is_writing_async(now->store, &writing));
        else reopen(w, now);
        if (w->index == 0 && i % 100 == 0) goes_on("operations of the first thread", i);
        atomic_fetch_add(&operations, 1);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ the end */

typedef struct { uint64_t committed, undone, cancelled, untold, refused; } outcome;

static void check_ticket(const ticket *t, bool isThere, outcome *all) {
    expect(t->freed == 1, t, t->freed ? "its userdata was freed twice" : "its userdata was not freed");
    expect(t->ran <= 1, t, "its body ran twice");
    expect(t->told <= 1, t, "its completion was called twice");
    if (!t->isEnqueued) {
        all->refused++;
        expect(!t->told && (t->plan == SYNCHRONOUS || !t->ran), t, "it was refused, but called");
        expect(!isThere, t, "it was refused, but is there");
    } else if (t->told && t->status == OBJSTORE_OK) {
        all->committed++;
        expect(isThere, t, "it was told that it is done, but is not there");
    } else if (t->told) {
        bool isMeant = t->plan == FAILS ? t->status == OBJSTORE_ERR_CALLBACK
                       : t->plan == UNDOES && t->status == OBJSTORE_ERR_CANCELLED;
        all->undone++;
        expect(isMeant || (t->isCancelled && t->status == OBJSTORE_ERR_CANCELLED), t, objstore_status_name(t->status));
        expect(!isThere, t, "it was told of an error, but is there");
    } else if (!t->ran) {
        all->cancelled++;
        expect(t->isCancelled, t, "it has never run, and nobody has cancelled it");
        expect(!isThere, t, "it has never run, but is there");
    } else {
        all->untold++;
        expect(t->isCancelled, t, "it ran, nobody has cancelled it, and its completion was not called");
        expect(isThere == (t->plan != FAILS && t->plan != UNDOES), t,
               isThere ? "it was undone, but is there" : "its completion was cancelled, and it is not there");
    }
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

int run_races(const options *o) {
    int threads = o->threads ? o->threads : 8, i;
    worker workers[MOST_THREADS] = {{0}};
    outcome all = {0};
    objstore *store;
    int64_t *numbers;
    size_t count, present = 0, k;
    generation *last;
    if (threads < 1 || threads >= MOST_THREADS) fail("%d threads, not 1 to %d", threads, MOST_THREADS - 1);
    path = o->path;
    self = &workers[threads];       /* of this thread, which closes at the end */
    self->index = threads;
    self->random.state = o->seed;
    last = open_generation(NULL);
    free(read_numbers(last->store, &count));
    if (count) fail("%s has %zu entries already", path, count);
    atomic_store(&current, last);
    for (i = 0; i < threads; i++) {
        workers[i].index = i;
        workers[i].random.state = o->seed * 1000 + (uint64_t)i;
        workers[i].operations = o->count / (uint64_t)threads;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) fail("no thread");
    }
    for (i = 0; i < threads; i++) pthread_join(workers[i].thread, NULL);
    last = atomic_load(&current);
    MUST(objstore_close(last->store));

    store = open_store(path);
    numbers = read_numbers(store, &count);
    qsort(numbers, count, sizeof *numbers, by_number);
    for (i = 0; i <= threads; i++) {
        for (k = 0; k < workers[i].count; k++) {
            ticket *t = workers[i].tickets[k];
            bool isThere = bsearch(&t->number, numbers, count, sizeof *numbers, by_number) != NULL;
            present += isThere;
            check_ticket(t, isThere, &all);
            free(t);
        }
        free(workers[i].tickets);
    }
    if (present != count) fail("%zu entries, of which %zu were written", count, present);
    free(numbers);
    MUST(objstore_close(store));
    while (last) {
        generation *before = last->before;
        free(last);
        last = before;
    }
    printf("races: %" PRIu64 " operations of %d threads; %" PRIu64 " writes told done, %" PRIu64 " undone, %" PRIu64
           " cancelled before they ran, %" PRIu64 " committed untold, %" PRIu64 " refused; closed %" PRIu64
           " times; the store has what was said, seed %" PRIu64 "\n",
           atomic_load(&operations), threads, all.committed, all.undone, all.cancelled, all.untold, all.refused,
           atomic_load(&closings), o->seed);
    /* Otherwise nothing was proved of these. */
    if (o->count >= 10000 && (!all.committed || !all.undone || !all.cancelled || !all.refused || !closings))
        fail("something of this has never happened");
    return 0;
}
