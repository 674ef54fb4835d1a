/* What Swift cannot reach by itself: Linux system calls that Glibc's module does not show,
 * atomics on plain memory, and two words that tests set (a scheduler hook, injected bugs).
 *
 * Hot functions are `static inline`, so that a call costs what it would cost in C. What needs _GNU_SOURCE
 * is in csystem.c: defined here, it would give this module other structures than Swift's Glibc module
 * (fd_set), and no Swift file could then import both.
 * Only Sources/ObjStoreCore/Platform imports this module for system calls; the rest of the
 * core uses the atomics through Platform/SharedWord.swift.
 */
#ifndef OBJSTORE_CSYSTEM_H
#define OBJSTORE_CSYSTEM_H
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* ---- test hooks ------------------------------------------------------------------------- */
/* The simulated machine's scheduler: called before each access to a shared word. NULL in production. */
extern void (*cs_yield_hook)(void);
/* Bit set of injected bugs (Platform/InjectedBug.swift). All zero in production. */
extern uint64_t cs_injected_bugs[4];

static inline void cs_yield(void) {
    if (__builtin_expect(cs_yield_hook != 0, 0)) cs_yield_hook();
}
static inline void cs_set_yield_hook(void (*hook)(void)) { cs_yield_hook = hook; }
static inline bool cs_bug(int32_t number) {
    return __builtin_expect((cs_injected_bugs[number >> 6] >> (number & 63)) & 1, 0);
}
static inline void cs_set_bug(int32_t number, bool on) {
    uint64_t bit = (uint64_t)1 << (number & 63);
    if (on) cs_injected_bugs[number >> 6] |= bit; else cs_injected_bugs[number >> 6] &= ~bit;
}

/* ---- atomics on plain memory ------------------------------------------------------------ */
static inline uint64_t cs_load64(const void *p) { return __atomic_load_n((const uint64_t *)p, __ATOMIC_SEQ_CST); }
static inline uint64_t cs_load64_relaxed(const void *p) {
    return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
}
static inline void cs_store64(void *p, uint64_t v) { __atomic_store_n((uint64_t *)p, v, __ATOMIC_SEQ_CST); }
static inline void cs_store64_release(void *p, uint64_t v) { __atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE); }
static inline void cs_store64_relaxed(void *p, uint64_t v) { __atomic_store_n((uint64_t *)p, v, __ATOMIC_RELAXED); }
static inline bool cs_cas64(void *p, uint64_t expected, uint64_t desired) {
    return __atomic_compare_exchange_n((uint64_t *)p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
static inline uint64_t cs_add64(void *p, uint64_t v) { return __atomic_fetch_add((uint64_t *)p, v, __ATOMIC_SEQ_CST); }
static inline uint32_t cs_load32(const void *p) { return __atomic_load_n((const uint32_t *)p, __ATOMIC_SEQ_CST); }
static inline void cs_store32(void *p, uint32_t v) { __atomic_store_n((uint32_t *)p, v, __ATOMIC_SEQ_CST); }
static inline uint32_t cs_add32(void *p, uint32_t v) { return __atomic_fetch_add((uint32_t *)p, v, __ATOMIC_SEQ_CST); }
static inline bool cs_cas32(void *p, uint32_t expected, uint32_t desired) {
    return __atomic_compare_exchange_n((uint32_t *)p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
static inline uint16_t cs_load16_relaxed(const void *p) {
    return __atomic_load_n((const uint16_t *)p, __ATOMIC_RELAXED);
}
static inline void cs_store16_relaxed(void *p, uint16_t v) { __atomic_store_n((uint16_t *)p, v, __ATOMIC_RELAXED); }
static inline void cs_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void cs_fence_acquire(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
static inline void cs_fence_release(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }
static inline void cs_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    __asm__ __volatile__("yield");
#endif
}
/* On which the calling thread may run. */
int32_t cs_processors(void);
static inline void cs_prefetch(const void *p) { __builtin_prefetch(p, 0, 3); }

/* ---- files ------------------------------------------------------------------------------ */
/* Runs a call of the C library at which pthread_cancel would act, so that it does not (see cthread.h). */
#define CS_UNCANCELLED(call) \
    do { \
        int cs_state; \
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cs_state); \
        call; \
        pthread_setcancelstate(cs_state, 0); \
    } while (0)
/* errno of the last failed call of this thread. */
static inline int32_t cs_errno(void) { return errno; }
/* Memory that was freed goes back to the system, as far as it is whole pages. */
void cs_return_memory(void);
/* Memory of 2 MiB and more that is about to be filled: where the system has large pages, it comes in such. */
void cs_prefer_large_pages(void *memory, size_t bytes);
/* For files that hold no locks and are closed at once; stores use cs_held_open. */
static inline int32_t cs_open(const char *path, int32_t flags) {
    int fd; CS_UNCANCELLED(do fd = open(path, flags | O_CLOEXEC); while (fd < 0 && errno == EINTR)); return fd;
}
static inline void cs_close(int32_t fd) { CS_UNCANCELLED((void)close(fd)); }
static inline int64_t cs_pread(int32_t fd, void *buffer, size_t count, int64_t offset) {
    ssize_t n;
    CS_UNCANCELLED(do n = pread(fd, buffer, count, (off_t)offset); while (n < 0 && errno == EINTR));
    return n;
}
/* The next read may be anywhere: the kernel reads only what is requested. Best effort. */
static inline void cs_advise_random(int32_t fd) { (void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); }
static inline int64_t cs_pwritev(int32_t fd, const struct iovec *vectors, int32_t count, int64_t offset) {
    ssize_t n;
    CS_UNCANCELLED(do n = pwritev(fd, vectors, count, (off_t)offset); while (n < 0 && errno == EINTR));
    return n;
}
/* Begins to write what is dirty, and waits for nothing. Errors are left to the next sync, which gets them all the
   same. */
void cs_start_writing(int32_t fd);
static inline int32_t cs_fdatasync(int32_t fd) {
    int r;
    CS_UNCANCELLED(r = fdatasync(fd));
    return r; /* never retried: whatever errno says, the caller must not call it again */
}
/* `keep_size`: allocates beyond the end of the file without moving the end. */
int32_t cs_fallocate(int32_t fd, bool keep_size, int64_t offset, int64_t length);
static inline int32_t cs_ftruncate(int32_t fd, int64_t length) {
    int r; do r = ftruncate(fd, (off_t)length); while (r < 0 && errno == EINTR); return r;
}
/* How many names a file has, and its size; -1: errno says why. Without its times: since Linux 6.13 a file whose times
   somebody has looked at gets new ones with the next write, and its inode is written with each sync (more than a
   quarter of a durable commit). */
int32_t cs_names_and_size(int32_t fd, uint32_t *names, int64_t *size);
int32_t cs_rename_noreplace(const char *from, const char *to);
/* Gives an unnamed file (cs_held_unnamed) a name that no file has. Needs /proc. */
int32_t cs_link_unnamed(int32_t fd, const char *path);
/* What errno means, in English or the locale's language; thread-safe, the text lives in `buffer` or for ever. */
const char *cs_error_text(int32_t code, char *buffer, size_t bytes);
static inline int64_t cs_filesystem_type(int32_t fd) {
    struct statfs s; return fstatfs(fd, &s) == 0 ? (int64_t)s.f_type : -1;
}

/* ---- open-file-description locks on single bytes ------------------------------------------ */
/* 0 = got it, EAGAIN = another process has it, other = errno. */
int32_t cs_lock_byte(int32_t fd, int64_t byte, bool lock);
/* The same for a lock that others may share, of a descriptor that need only be readable. */
int32_t cs_lock_shared(int32_t fd, int64_t byte, int64_t length);
/* Releases every lock of the description. 0 or errno. */
int32_t cs_unlock_all(int32_t fd);
/* 1 = another process holds some byte of [byte, byte + length), 0 = none, negative = -errno. */
int32_t cs_lock_probe(int32_t fd, int64_t byte, int64_t length);

/* ---- fork (fork.c) ------------------------------------------------------------------------ */
#define CS_FORK_PAGE_BYTES 65536         /* the largest page of any Linux this runs on */
/* Word 0 changes in a forked child; the page is wiped by the kernel, whatever called fork. */
extern uint64_t cs_fork_page[CS_FORK_PAGE_BYTES / 8] __attribute__((visibility("hidden")));
static inline uint64_t cs_fork_generation(void) { return __atomic_load_n(&cs_fork_page[0], __ATOMIC_RELAXED); }
/* Must come before the first use of the two above and below; 0 or an errno. */
int32_t cs_fork_start(void);

/* One descriptor or one map that a forked child releases. */
struct cs_held {
    int32_t fd;                          /* -1: none, or released */
    bool writable, replaced;
    void *base;                          /* NULL: no map */
    size_t bytes;
    struct cs_held *previous, *next;
};
/* NULL = errno. The descriptor is close-on-exec and never 0, 1 or 2. */
struct cs_held *cs_held_open(const char *path, int32_t flags, uint32_t mode);
/* A new file in the folder, without a name: gone when it is closed before it got one. */
struct cs_held *cs_held_unnamed(const char *folder, uint32_t mode);
struct cs_held *cs_held_memory(const char *name);
/* Maps the file from its beginning, MAP_SHARED. NULL = errno. */
struct cs_held *cs_held_map(int32_t fd, size_t bytes, bool writable);
/* Closes the descriptor, unmaps the map, frees the record. */
void cs_held_release(struct cs_held *held);

/* ---- threads ------------------------------------------------------------------------------ */
/* At most 15 bytes of name. 0 or errno. */
int32_t cs_thread_name(pthread_t thread, const char *name);

/* ---- waiting ------------------------------------------------------------------------------ */
/* Sleeps while *word == expected, at most `nanoseconds` (negative: for ever). 0, EAGAIN, ETIMEDOUT or EINTR. */
static inline int32_t cs_futex_wait(const void *word, uint32_t expected, int64_t nanoseconds) {
    struct timespec t = { nanoseconds / 1000000000, nanoseconds % 1000000000 };
    return syscall(SYS_futex, word, FUTEX_WAIT, expected, nanoseconds < 0 ? 0 : &t, 0, 0) == 0 ? 0 : errno;
}
static inline void cs_futex_wake(const void *word, int32_t count) {
    syscall(SYS_futex, word, FUTEX_WAKE, count, 0, 0, 0);
}
/* The same on a word that only threads of this process wait on: cheaper. */
static inline int32_t cs_futex_wait_local(const void *word, uint32_t expected, int64_t nanoseconds) {
    struct timespec t = { nanoseconds / 1000000000, nanoseconds % 1000000000 };
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nanoseconds < 0 ? 0 : &t, 0, 0) == 0 ? 0 : errno;
}
static inline void cs_futex_wake_local(const void *word, int32_t count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, 0, 0, 0);
}
static inline int64_t cs_monotonic_ns(void) {
    struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline int64_t cs_realtime_ns(void) {
    struct timespec t; clock_gettime(CLOCK_REALTIME, &t); return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline int32_t cs_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
static inline int64_t cs_random(void *buffer, size_t count) { return getrandom(buffer, count, 0); }

#endif
