/* What the library keeps for each thread: its last error, and which handle and view it is inside right now.
 *
 * "Inside" is one plain store before a call and one after (a hazard pointer). A thread that closes a handle first makes
 * new calls impossible, then requests a barrier from the kernel on every running thread (membarrier), then waits until
 * no thread is inside any more: the price is paid by the closing call, a few microseconds, and reading from many
 * threads through one frozen view shares no cache line that is written. A handle that only its own thread was ever
 * inside, as most transactions are, needs no barrier: the first other thread says so in the header, with a fence.
 */
#ifndef OBJSTORE_CTHREAD_H
#define OBJSTORE_CTHREAD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call that may run the application's callbacks, on the stack of its thread. */
struct cs_frame {
    uint64_t handle, store;              /* what it was called on, and the store behind it */
    struct cs_frame *outer;
};

/* Where a thread can be inside something, all at once. */
enum {
    CS_PLACE_HANDLE = 0,                 /* the handle of a C call, */
    CS_PLACE_ARGUMENT = 1,               /* and a second one that it takes */
    CS_PLACE_VIEW = 2,                   /* a frozen view, whose reads take no lock */
    CS_PLACES = 3
};

/* Records are never freed: those of threads that ended are used again. */
struct cs_thread {
    /* First what no other thread looks at: where Swift changes a member, ThreadSanitizer sees a change of the first. */
    uint32_t silent;                     /* > 0: in a callback that must not call the library */
    uint32_t handlers;                   /* change handlers that it is inside, of any store */
    const void *inside[CS_PLACES];       /* NULL = none */
    /* A hub in whose objstore_wait it sleeps, or NULL; and how many ends of all asynchronous writes it knew then. */
    const void *sleeps_for;
    uint64_t ends_known;
    struct cs_asked {                    /* about the query that it asks */
        const void *watched;             /* where somebody watches: see WatchedQuery.swift */
        uint64_t budget;                 /* 1 + the bytes that it may still allocate; 0: any number */
        uint32_t threads;                /* how many may work on it; 0: this one */
        uint32_t used;                   /* how many have, at most at the same time; 0: this one */
    } asked;
    uint32_t telling;                    /* > 0: somebody is being told, and what is asked meanwhile is not watched */
    uint32_t used;
    struct cs_thread *next;
    struct cs_frame *frames;             /* innermost first */
    uint64_t number;                     /* of the thread: no other one of the process ever had it */
    /* The last error. `text` holds message, class and property, each followed by a NUL. */
    int32_t status, system_error;
    int64_t position, callback_code;
    char *text;
    size_t text_capacity, class_offset, property_offset, text_length;
    /* Of its stack; both 1 where the system does not say. */
    uintptr_t stack_low, stack_high;
    /* Callbacks that say by a call that they have ended: see Userdata in Sources/ObjStoreC/Handles.swift. */
    bool has_finished, was_left;         /* the innermost one; the one that returned last */
    int32_t finished_status;
    /* See cs_step_begin. */
    uint64_t moves, moves_at_step, stay;
    int64_t step_began, step_ended;      /* CLOCK_MONOTONIC, ns */
    struct { int64_t at, cpu; long waits, faults; } pace;
};

/* ---- handles: see Sources/ObjStoreC/Handles.swift -------------------------------------------- */
struct cs_handle {
    uint64_t state;                      /* generation << 32 | kind; kind 0: closed */
    uint64_t birth;                      /* fork generation of the process that opened it */
    const void *object;
    uint64_t pins;                       /* calls inside that may take long or run callbacks */
    uint32_t parent, first_child, next, previous;
    uint32_t next_free;
    uint16_t is_lent;                    /* to a callback: it is the call's to close, not its parent's */
    uint16_t visited;                    /* a thread other than `owner` was or is inside */
    const void *owner;                   /* the record of the thread that opened it */
};

extern __thread struct cs_thread *cs_thread_record __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern bool cs_needs_fences __attribute__((visibility("hidden")));

/* Makes the record of this thread; aborts without memory. */
struct cs_thread *cs_thread_make(void);

static inline struct cs_thread *cs_thread_current(void) {
    struct cs_thread *thread = cs_thread_record;
    return __builtin_expect(thread != NULL, 1) ? thread : cs_thread_make();
}

static inline const void *cs_watched(void) {
    struct cs_thread *thread = cs_thread_record;
    return thread != NULL ? thread->asked.watched : NULL;
}

static inline uint32_t cs_query_threads(void) {
    struct cs_thread *thread = cs_thread_record;
    return thread != NULL ? thread->asked.threads : 0;
}

/* Takes so much of what the query of this thread may allocate; false: it has not so much left. */
static inline bool cs_take_budget(long bytes) {
    struct cs_thread *thread = cs_thread_record;
    if (__builtin_expect(thread == NULL || thread->asked.budget == 0, 1)) return true;
    if ((uint64_t)bytes >= thread->asked.budget) return false;
    thread->asked.budget -= (uint64_t)bytes;
    return true;
}

/* Around what the application does meanwhile: that is none of the query's. */
static inline struct cs_asked cs_leave_query(void) {
    const struct cs_asked nothing = {NULL, 0, 0, 0};
    struct cs_asked asked = nothing;
    struct cs_thread *thread = cs_thread_record;
    if (thread != NULL) {
        asked = thread->asked;
        thread->asked = nothing;
    }
    return asked;
}
static inline void cs_enter_query(struct cs_asked asked) {
    struct cs_thread *thread = cs_thread_record;
    if (thread != NULL) thread->asked = asked;
}

static inline void cs_enter(struct cs_thread *thread, int32_t place, const void *handle) {
    __atomic_store_n(&thread->inside[place], handle, __ATOMIC_RELAXED);
    if (__builtin_expect(cs_needs_fences, 0)) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    else __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
/* After cs_enter, before the look at the handle's state. */
static inline void cs_visit(struct cs_thread *thread, struct cs_handle *handle) {
    if (__builtin_expect(__atomic_load_n(&handle->owner, __ATOMIC_RELAXED) == thread, 1)) return;
    if (__atomic_load_n(&handle->visited, __ATOMIC_RELAXED) != 0) return;
    __atomic_store_n(&handle->visited, 1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline bool cs_was_visited(struct cs_thread *thread, const struct cs_handle *handle) {
    return __atomic_load_n(&handle->owner, __ATOMIC_RELAXED) != thread ||
           __atomic_load_n(&handle->visited, __ATOMIC_SEQ_CST) != 0;
}
static inline void cs_leave(struct cs_thread *thread, int32_t place) {
    __atomic_store_n(&thread->inside[place], (const void *)0, __ATOMIC_RELEASE);
}
static inline uint64_t cs_load64_acquire(const void *p) {
    return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
}

/* After this, what any thread stored before its last cs_enter is visible here, and it sees what was stored here. */
void cs_barrier_all_threads(void);
/* Whether a thread is inside a handle. */
bool cs_any_inside(const void *handle);

/* A thread goes to sleep until a hub has something for it, and what it looks at afterwards is not older. It counts as
 * asleep until cs_sleep_end, or until it has ended. */
void cs_sleep_begin(const void *hub, uint64_t ends_known);
void cs_sleep_end(void);
/* Whether a thread sleeps for a hub that knows of fewer ends. */
bool cs_any_asleep(const void *hub, uint64_t ends);

/* Room for the texts of an error: at least `bytes`. NULL without memory. */
char *cs_error_room(struct cs_thread *thread, size_t bytes);

/* ---- what a thread does between two steps ---------------------------------------------------------- */
/* Around a step of an algorithm. Another number than that of the last step: it changed something in between
 * (`moves`), waited (a voluntary switch that no page had to be read for), or had a processor for more than a
 * millisecond. Short of 20 us no thread has waited for another one. */
/* What is added to the number: 1 where the thread was only busy. */
enum { CS_WAITED = 1 << 14, CS_MOVED = 1 << 27 };
uint64_t cs_step_begin(void);
void cs_step_end(void);

/* ---- the stack ---------------------------------------------------------------------------------- */
/* Bytes of stack that the calling thread has left; PTRDIFF_MAX (Swift sees a size_t as an Int) where that is not known
 * (a stack that the program made itself and runs on without a thread of its own). */
size_t cs_stack_left(void);

/* ---- pthread_cancel ------------------------------------------------------------------------------ */
/* A thread that is cancelled unwinds its stack without running any cleanup on it: locks stay locked, counts counted.
 * So calls that may sleep or call back do so with cancellation off, and it acts when they have returned; and what any
 * call does with files (csystem.h) is no point where it could act. */
int32_t cs_cancel_off(void);
void cs_cancel_restore(int32_t state);

/* The one call that may sleep for ever is a cancellation point, on a frame that has nothing to release but `*pins`,
 * which becomes one less. As poll: 1 ready, 0 not in that many milliseconds (negative: for ever), -1 a signal was
 * handled. */
int32_t cs_poll_pinned(int32_t fd, int32_t milliseconds, uint64_t *pins);

/* ---- threads that help with queries: see Platform/HelperThreads.swift --------------------------- */
extern const void *cs_helper_threads __attribute__((visibility("hidden")));
static inline const void *cs_helpers(void) { return __atomic_load_n(&cs_helper_threads, __ATOMIC_ACQUIRE); }
static inline bool cs_replace_helpers(const void *old, const void *made) {
    return __atomic_compare_exchange_n(&cs_helper_threads, &old, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
/* Starts a thread that nobody waits for and no signal comes to; false: there is none. Nothing of it is a point where
 * the caller could be cancelled. */
bool cs_helper_start(void *(*body)(void *argument), void *argument, size_t stack_bytes);

/* ---- memory: see memory.c ------------------------------------------------------------------------ */
#define CS_RESERVE_BYTES ((size_t)4 << 20)
/* Not 0: there is no reserve; cs_memory_refill says whether there is one again. */
extern uint32_t cs_memory_low __attribute__((visibility("hidden")));
static inline bool cs_memory_is_low(void) {
    return __builtin_expect(__atomic_load_n(&cs_memory_low, __ATOMIC_RELAXED) != 0, 0);
}
bool cs_memory_refill(void);
/* Whether so much could be had now. */
bool cs_memory_has(size_t bytes);
/* As those of the C library, for callers that check the result: NULL where the reserve would have to help. */
void *cs_try_malloc(size_t bytes);
void *cs_try_calloc(size_t count, size_t bytes);
void *cs_try_realloc(void *old, size_t bytes);
void *cs_try_aligned(size_t alignment, size_t bytes);
void cs_memory_lock_for_fork(void);
void cs_memory_unlock_after_fork(void);

/* ---- locks that a fork takes, so that the child finds them free ------------------------- */
enum { CS_LOCK_HANDLES = 0, CS_LOCK_STORES = 1, CS_LOCK_CONFIGS = 2, CS_LOCKS = 3 };
void cs_global_lock(int32_t which);
void cs_global_unlock(int32_t which);

/* The slab of handles. */
#define CS_HANDLES_BYTES ((size_t)1 << 28)
extern struct cs_handle *cs_handles __attribute__((visibility("hidden")));
extern uint32_t cs_handles_used __attribute__((visibility("hidden")));   /* entry 0 is never used */

/* The header that a handle names, if it can be one at all: whatever the word is, this reads no other memory. */
static inline struct cs_handle *cs_handle_of(const void *handle) {
    uint32_t index = (uint32_t)(uintptr_t)handle;
    return __builtin_expect(index < __atomic_load_n(&cs_handles_used, __ATOMIC_ACQUIRE), 1) ? cs_handles + index : NULL;
}
static inline struct cs_handle *cs_handle_at(uint32_t index) { return cs_handles + index; }
static inline uint32_t cs_handle_index(const struct cs_handle *header) { return (uint32_t)(header - cs_handles); }
/* One more header, used for the first time; 0 = no room. Under CS_LOCK_HANDLES. */
uint32_t cs_handle_new(void);

void cs_sleep_ns(int64_t nanoseconds);
int64_t cs_process_id(void);
/* The Swift object, with one reference more; NULL where its last one is gone. Its memory must be there. */
void *cs_try_retain(void *object);
#endif
