#define _GNU_SOURCE
#include "csystem.h"
#include "cthread.h"
#include <linux/membarrier.h>
#include <sys/resource.h>

__thread struct cs_thread *cs_thread_record __attribute__((tls_model("initial-exec")));
bool cs_needs_fences;

static struct cs_thread *records;        /* grows at its head only */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t locks[CS_LOCKS] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

/* It is inside nothing any more, no call and no query. */
static void leave_all(struct cs_thread *thread) {
    for (int place = 0; place < CS_PLACES; place++) cs_leave(thread, place);
    thread->silent = 0;
    memset(&thread->asked, 0, sizeof thread->asked);
    thread->telling = 0;
    thread->frames = 0;
}

static void thread_ended(void *record) {
    struct cs_thread *thread = record;
    leave_all(thread);
    __atomic_store_n(&thread->sleeps_for, (const void *)0, __ATOMIC_RELEASE);
    thread->handlers = 0;
    thread->status = 0;
    thread->text_length = 0;
    thread->stack_low = thread->stack_high = 0;
    thread->has_finished = thread->was_left = false;
    cs_thread_record = 0;
    __atomic_store_n(&thread->used, 0, __ATOMIC_RELEASE);
}

static void before_fork(void) {
    for (int i = CS_LOCKS - 1; i >= 0; i--) pthread_mutex_lock(&locks[i]);
    cs_memory_lock_for_fork();
}
static void after_fork(void) {
    cs_memory_unlock_after_fork();
    for (int i = 0; i < CS_LOCKS; i++) pthread_mutex_unlock(&locks[i]);
}
/* The other threads are gone, and inside nothing: also not in schemas and configurations, which stay alive. */
static void after_fork_in_child(void) {
    for (struct cs_thread *t = records; t; t = t->next)
        if (t != cs_thread_record) {
            leave_all(t);
            t->sleeps_for = 0;
            t->used = 0;
        }
    for (uint32_t i = 1; i < cs_handles_used; i++)
        if (cs_handles[i].pins != 0) cs_handles[i].pins = 0;
    if (cs_thread_record)
        for (struct cs_frame *f = cs_thread_record->frames; f; f = f->outer) cs_handles[(uint32_t)f->handle].pins += 1;
    after_fork();
}

static void start(void) {
    /* Linux before 4.14, or a sandbox that forbids it: then entering takes a fence. */
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) cs_needs_fences = true;
    if (pthread_key_create(&key, thread_ended) != 0 ||
        pthread_atfork(before_fork, after_fork, after_fork_in_child) != 0) {
        fprintf(stderr, "objstore: no thread-specific key left\n");
        abort();
    }
}

struct cs_thread *cs_thread_make(void) {
    pthread_once(&once, start);
    struct cs_thread *thread = 0;
    for (struct cs_thread *t = __atomic_load_n(&records, __ATOMIC_ACQUIRE); t; t = t->next) {
        uint32_t none = 0;
        if (__atomic_compare_exchange_n(&t->used, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            thread = t;
            break;
        }
    }
    if (!thread) {
        /* A cache line of its own: other threads look at it only when something is closed. */
        void *memory = 0;
        if (posix_memalign(&memory, 64, (sizeof *thread + 63) / 64 * 64) != 0) {
            /* A thread that only reads the last message needs one as well. Records are reused, and so are these. */
            static struct { _Alignas(64) struct cs_thread record; } spare[16];
            static uint32_t taken;
            uint32_t next = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
            if (next >= sizeof spare / sizeof spare[0]) {
                fprintf(stderr, "objstore: no memory for the record of a thread\n");
                abort();
            }
            memory = &spare[next].record;
        }
        thread = memset(memory, 0, sizeof *thread);
        thread->used = 1;
        thread->next = __atomic_load_n(&records, __ATOMIC_RELAXED);
        while (
            !__atomic_compare_exchange_n(&records, &thread->next, thread, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    }
    static uint64_t numbers;
    thread->number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
    thread->stay = thread->number << 40;
    thread->position = -1;
    cs_thread_record = thread;
    pthread_setspecific(key, thread);
    return thread;
}

size_t cs_stack_left(void) {
    struct cs_thread *thread = cs_thread_current();
    if (thread->stack_low == 0) {
        pthread_attr_t attributes;
        void *low = 0;
        size_t bytes = 0;
        thread->stack_low = thread->stack_high = 1;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
            if (pthread_attr_getstack(&attributes, &low, &bytes) == 0 && low) {
                thread->stack_low = (uintptr_t)low;
                thread->stack_high = (uintptr_t)low + bytes;
            }
            pthread_attr_destroy(&attributes);
        }
    }
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here >= thread->stack_low && here < thread->stack_high ? here - thread->stack_low : PTRDIFF_MAX;
}

/* ---- pthread_cancel ------------------------------------------------------------------------ */
int32_t cs_cancel_off(void) {
    int state = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}
void cs_cancel_restore(int32_t state) { pthread_setcancelstate(state, 0); }

static void unpin(void *pins) { __atomic_fetch_sub((uint64_t *)pins, 1, __ATOMIC_SEQ_CST); }
int32_t cs_poll_pinned(int32_t fd, int32_t milliseconds, uint64_t *pins) {
    struct pollfd one = {fd, POLLIN, 0};
    int result;
    pthread_cleanup_push(unpin, pins);
    result = poll(&one, 1, milliseconds);
    pthread_cleanup_pop(0);
    return result;
}

/* ---- threads that help with queries ------------------------------------------------------------ */
const void *cs_helper_threads;

bool cs_helper_start(void *(*body)(void *argument), void *argument, size_t stack_bytes) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool starts = pthread_attr_setstacksize(&attributes, stack_bytes) == 0;
    /* The new thread inherits the mask: no signal can hit it before its first instruction. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    starts = starts && pthread_create(&thread, &attributes, body, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, 0);
    pthread_attr_destroy(&attributes);
    return starts;
}

void cs_barrier_all_threads(void) {
    if (!cs_needs_fences && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
    /* Registration is inherited through fork, but not through everything that clones: register again. */
    if (!cs_needs_fences && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0
        && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

bool cs_any_inside(const void *handle) {
    for (struct cs_thread *t = __atomic_load_n(&records, __ATOMIC_ACQUIRE); t; t = t->next)
        for (int place = 0; place < CS_PLACES; place++)
            if (__atomic_load_n(&t->inside[place], __ATOMIC_ACQUIRE) == handle) return true;
    return false;
}

void cs_sleep_begin(const void *hub, uint64_t ends_known) {
    struct cs_thread *thread = cs_thread_current();
    __atomic_store_n(&thread->ends_known, ends_known, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->sleeps_for, hub, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void cs_sleep_end(void) {
    __atomic_store_n(&cs_thread_current()->sleeps_for, (const void *)0, __ATOMIC_RELEASE);
}

bool cs_any_asleep(const void *hub, uint64_t ends) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (struct cs_thread *t = __atomic_load_n(&records, __ATOMIC_ACQUIRE); t; t = t->next)
        if (__atomic_load_n(&t->sleeps_for, __ATOMIC_ACQUIRE) == hub
            && __atomic_load_n(&t->ends_known, __ATOMIC_RELAXED) < ends) return true;
    return false;
}

char *cs_error_room(struct cs_thread *thread, size_t bytes) {
    if (thread->text_capacity < bytes) {
        size_t capacity = bytes < 256 ? 256 : bytes * 2;
        char *text = realloc(thread->text, capacity);
        if (!text) return 0;
        thread->text = text;
        thread->text_capacity = capacity;
    }
    return thread->text;
}

void cs_global_lock(int32_t which) {
    cs_thread_current(); /* the fork handlers are there before the first lock is taken */
    pthread_mutex_lock(&locks[which]);
}
void cs_global_unlock(int32_t which) { pthread_mutex_unlock(&locks[which]); }

struct cs_handle *cs_handles;
uint32_t cs_handles_used;
uint32_t cs_handle_new(void) {
    if (!cs_handles) {
        /* Pages come into being when they are touched. */
        void *memory =
            mmap(0, CS_HANDLES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return 0;
        cs_handles = memory;
        __atomic_store_n(&cs_handles_used, 1, __ATOMIC_RELEASE);
    }
    uint32_t index = cs_handles_used;
    if ((index + (size_t)1) * sizeof *cs_handles > CS_HANDLES_BYTES) return 0;
    __atomic_store_n(&cs_handles_used, index + 1, __ATOMIC_RELEASE);
    return index;
}
void cs_sleep_ns(int64_t nanoseconds) {
    struct timespec t = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    syscall(SYS_nanosleep, &t, 0);
}
int64_t cs_process_id(void) { return getpid(); }
/* Of the Swift runtime, whose weak references are made of it. */
extern void *swift_tryRetain(void *object);
void *cs_try_retain(void *object) { return swift_tryRetain(object); }

/* ---- steps ---- */
enum { SHORT = 20000, QUICK = 5000, BUSY = 1000000 };

static int64_t now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t cs_step_begin(void) {
    struct cs_thread *thread = cs_thread_current();
    struct rusage u;
    thread->step_began = now(CLOCK_MONOTONIC);
    if (thread->moves != thread->moves_at_step) return thread->stay += CS_MOVED;
    if (thread->step_began - thread->step_ended <= SHORT || getrusage(RUSAGE_THREAD, &u) != 0) return thread->stay;
    if (u.ru_nvcsw - thread->pace.waits > u.ru_majflt - thread->pace.faults) thread->stay += CS_WAITED;
    else if (now(CLOCK_THREAD_CPUTIME_ID) - thread->pace.cpu > BUSY) ++thread->stay;
    return thread->stay;
}

void cs_step_end(void) {
    struct cs_thread *thread = cs_thread_current();
    struct rusage u;
    thread->moves_at_step = thread->moves;
    thread->step_ended = now(CLOCK_MONOTONIC);
    /* A lock that the step waited for is no pause of the thread's. */
    if (thread->step_ended - thread->pace.at <= SHORT && thread->step_ended - thread->step_began <= QUICK) return;
    if (getrusage(RUSAGE_THREAD, &u) != 0) return;
    thread->pace.at = thread->step_ended;
    thread->pace.cpu = now(CLOCK_THREAD_CPUTIME_ID);
    thread->pace.waits = u.ru_nvcsw;
    thread->pace.faults = u.ru_majflt;
}
