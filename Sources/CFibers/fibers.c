#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cfibers.h"
#include "switch.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#endif

enum { STACK_BYTES = 256 * 1024, GUARD_BYTES = 64 * 1024, POOL_LIMIT = 64 };

/* Swift tracks overlapping accesses in a list whose records lie on the stack, with its head in a
 * thread-local variable. Like a task of Swift's concurrency, a fiber takes its records along when it
 * leaves the thread; else an abandoned stack would stay in the list. Two words, zero at first. */
extern void swift_task_enterThreadLocalContext(char *state) __attribute__((weak));
extern void swift_task_exitThreadLocalContext(char *state) __attribute__((weak));

struct fiber {
    context here;
    char *stack; /* its usable part, above the guard */
    void (*entry)(void *);
    void *argument;
    char accesses[2 * sizeof(void *)];
    int pauses;
    bool finished;
    struct fiber *next; /* in the pool: the stack stays with its fiber */
#ifdef WITH_ASAN
    void *fake_stack;
    const void *scheduler_bottom;
    size_t scheduler_bytes;
#endif
#ifdef WITH_TSAN
    void *tsan;
#endif
};

static _Thread_local fiber *current;
static _Thread_local fiber *pool;
static _Thread_local int pooled;
static _Thread_local context scheduler;
#ifdef WITH_TSAN
static _Thread_local void *scheduler_tsan;
#endif

/* The thread-local variables are read through functions that are not inlined: a fiber's code must not keep
 * their address over a switch. */
__attribute__((noinline)) fiber *fiber_current(void) { return current; }

static void leave(fiber *f, bool for_ever) {
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(for_ever ? 0 : &f->fake_stack, f->scheduler_bottom, f->scheduler_bytes);
#endif
#ifdef WITH_TSAN
    __tsan_switch_to_fiber(scheduler_tsan, 0);
#endif
    (void)for_ever;
    context_switch(&f->here, &scheduler);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(f->fake_stack, &f->scheduler_bottom, &f->scheduler_bytes);
#endif
}

static void start(void) {
    fiber *f = fiber_current();
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(0, &f->scheduler_bottom, &f->scheduler_bytes);
#endif
    f->entry(f->argument);
    f->finished = true;
    leave(f, true);
    abort(); /* a finished fiber was resumed */
}

fiber *fiber_create(void (*entry)(void *), void *argument) {
    fiber *f = pool;
    if (f) {
        pool = f->next;
        pooled--;
    } else {
        f = calloc(1, sizeof *f);
        if (!f) return 0;
        char *memory = mmap(0, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (memory == MAP_FAILED) { free(f); return 0; }
        mprotect(memory, GUARD_BYTES, PROT_NONE);
        f->stack = memory + GUARD_BYTES;
    }
    f->entry = entry;
    f->argument = argument;
    f->finished = false;
    f->pauses = 0;
    f->next = 0;
    memset(f->accesses, 0, sizeof f->accesses);
#ifdef WITH_ASAN
    __asan_unpoison_memory_region(f->stack, STACK_BYTES); /* frames of one that was abandoned */
    f->fake_stack = 0;
#endif
#ifdef WITH_TSAN
    f->tsan = __tsan_create_fiber(0);
#endif
    context_make(&f->here, f->stack, STACK_BYTES, start);
    return f;
}

void fiber_resume(fiber *f) {
    if (current || f->finished) abort();
    current = f;
    if (swift_task_enterThreadLocalContext) swift_task_enterThreadLocalContext(f->accesses);
#ifdef WITH_TSAN
    scheduler_tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->tsan, 0);
#endif
#ifdef WITH_ASAN
    void *fake_stack = 0;
    __sanitizer_start_switch_fiber(&fake_stack, f->stack, STACK_BYTES);
#endif
    context_switch(&scheduler, &f->here);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, 0, 0);
#endif
    if (swift_task_exitThreadLocalContext) swift_task_exitThreadLocalContext(f->accesses);
    current = 0;
}

bool fiber_finished(const fiber *f) { return f->finished; }
void *fiber_argument(const fiber *f) { return f->argument; }

void fiber_yield(void) {
    fiber *f = fiber_current();
    if (f && f->pauses == 0) leave(f, false);
}

void fiber_stop(void) {
    fiber *f = fiber_current();
    if (!f) return;
    leave(f, true);
    abort(); /* it was resumed */
}

void fiber_pause(bool on) {
    fiber *f = fiber_current();
    if (f) f->pauses += on ? 1 : -1;
}

void fiber_destroy(fiber *f) {
    if (f == current) abort();
#ifdef WITH_TSAN
    __tsan_destroy_fiber(f->tsan);
#endif
    if (pooled < POOL_LIMIT) {
        f->next = pool;
        pool = f;
        pooled++;
    } else {
        munmap(f->stack - GUARD_BYTES, GUARD_BYTES + STACK_BYTES);
        free(f);
    }
}

/* ---- what was running when the process died ---------------------------------------------- */

static _Thread_local char note[256];
static _Thread_local bool has_signal_stack;
static const int fatal_signals[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE};
enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof *fatal_signals };
static struct sigaction before[FATAL_SIGNALS];
static int handlers_installed;

static void fatal(int number, siginfo_t *info, void *context_) {
    (void)info; (void)context_;
    if (note[0]) {
        ssize_t n = write(2, "\nfatal signal in: ", 18);
        n = write(2, note, strlen(note));
        n = write(2, "\n", 1);
        (void)n;
    }
    for (int i = 0; i < FATAL_SIGNALS; i++)
        if (fatal_signals[i] == number) sigaction(number, &before[i], 0);
    raise(number);
}

void fiber_note(const char *text) {
    size_t bytes = strlen(text);
    if (bytes > sizeof note - 1) bytes = sizeof note - 1;
    memcpy(note, text, bytes);
    note[bytes] = 0;
    if (!has_signal_stack) { /* a fiber that overflows has no stack left for the handler */
        has_signal_stack = true;
        stack_t old;
        if (sigaltstack(0, &old) == 0 && (old.ss_flags & SS_DISABLE)) {
            enum { SIGNAL_STACK = 64 * 1024 };
            void *memory = mmap(0, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory != MAP_FAILED) {
                stack_t s = {.ss_sp = memory, .ss_size = SIGNAL_STACK};
                sigaltstack(&s, 0);
            }
        }
    }
    int expected = 0;
    if (__atomic_compare_exchange_n(&handlers_installed, &expected, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        for (int i = 0; i < FATAL_SIGNALS; i++) {
            struct sigaction action;
            memset(&action, 0, sizeof action);
            action.sa_sigaction = fatal;
            action.sa_flags = SA_SIGINFO | SA_ONSTACK;
            sigaction(fatal_signals[i], &action, &before[i]);
        }
    }
}

/* ---- children ------------------------------------------------------------------------------ */

int32_t fiber_child_start(void (*body)(void *, int32_t), void *argument, int32_t *output) {
    int pipes[2];
    if (pipe(pipes) != 0) return -errno;
    fflush(0); /* else both print what is buffered */
    pid_t child = fork();
    if (child < 0) {
        int error = errno;
        close(pipes[0]);
        close(pipes[1]);
        return -error;
    }
    if (child == 0) {
        close(pipes[0]);
        body(argument, pipes[1]);
        fflush(0);
        _exit(0);
    }
    close(pipes[1]);
    *output = pipes[0];
    return child;
}

bool fiber_child_write(int32_t descriptor, const char *text, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(descriptor, text, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        bytes -= (size_t)n;
    }
    return true;
}

size_t fiber_child_finish(int32_t child, int32_t output, char *text, size_t capacity, int32_t *signal) {
    size_t length = 0;
    for (;;) {
        char rest[4096];
        bool full = length == capacity; /* the child must not block */
        ssize_t n = full ? read(output, rest, sizeof rest) : read(output, text + length, capacity - length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        if (!full) length += (size_t)n;
    }
    close(output);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    *signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return length;
}

/* ---- address space ------------------------------------------------------------------------- */

void *fiber_reserve(size_t bytes) {
    void *base = mmap(0, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return base == MAP_FAILED ? 0 : base;
}
bool fiber_commit(void *base, size_t from, size_t to) {
    return mprotect((char *)base + from, to - from, PROT_READ | PROT_WRITE) == 0;
}
void fiber_decommit(void *base, size_t from, size_t to) {
    madvise((char *)base + from, to - from, MADV_DONTNEED);
    mprotect((char *)base + from, to - from, PROT_NONE);
}
void fiber_unreserve(void *base, size_t bytes) { munmap(base, bytes); }
