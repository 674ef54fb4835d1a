/* A reserve of memory, so that a call that has begun can end.
 *
 * Swift ends the process where a small allocation fails. So the release library is linked with --wrap for functions
 * that allocate (scripts/build-lib): where the system has no memory left, the reserve is returned to it and the
 * allocation tried once more. From then on memory is low: a call that is about to begin allocates the reserve again,
 * and is refused with OUT_OF_MEMORY while it cannot (Handles.swift). What a call needs that grows with its arguments or
 * the store is reserved beforehand (cs_memory_has), or in ways that can fail.
 *
 * Without the flags of the linker, as in the tests of the core, nothing here is called.
 */
#define _GNU_SOURCE
#include "csystem.h"
#include "cthread.h"

uint32_t cs_memory_low = 1;             /* the first call makes the reserve */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static void *reserve;
static uint32_t in_use;                 /* the reserve is released, and not allocated again */

/* Address space is what runs out (a limit of the process, or of a system that never promises more than it has);
 * untouched pages cost nothing else. */
bool cs_memory_refill(void) {
    pthread_mutex_lock(&gate);
    if (!reserve) {
        void *memory = mmap(0, CS_RESERVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED) reserve = memory;
    }
    bool full = reserve != 0;
    if (full) {
        __atomic_store_n(&cs_memory_low, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&in_use, 0, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&gate);
    return full;
}

/* Until `unlock_gate`, no thread can take it again: one that is about to begin a call may try at any moment. */
static void lock_and_give_back(void) {
    pthread_mutex_lock(&gate);
    if (reserve) munmap(reserve, CS_RESERVE_BYTES);
    reserve = 0;
    __atomic_store_n(&in_use, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&cs_memory_low, 1, __ATOMIC_RELAXED);
}
static void unlock_gate(void) { pthread_mutex_unlock(&gate); }

void cs_memory_lock_for_fork(void) { pthread_mutex_lock(&gate); }
void cs_memory_unlock_after_fork(void) { pthread_mutex_unlock(&gate); }

bool cs_memory_has(size_t bytes) {
    /* Not through the wrapped functions: the reserve is not for this. */
    void *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    munmap(memory, bytes);
    return true;
}

void *__real_malloc(size_t) __attribute__((weak));
void *__real_calloc(size_t, size_t) __attribute__((weak));
void *__real_realloc(void *, size_t) __attribute__((weak));
void *__real_aligned_alloc(size_t, size_t) __attribute__((weak));
int __real_posix_memalign(void **, size_t, size_t) __attribute__((weak));

/* What is small is no reason to fail: it comes out of the reserve, like all that Swift allocates. What is larger leaves
 * the reserve to what may not fail, also to that of another thread, once it is released. */
enum { SMALL = 1024 };
static bool is_left_alone(void) { return __atomic_load_n(&in_use, __ATOMIC_RELAXED); }

void *cs_try_malloc(size_t bytes) {
    if (bytes <= SMALL) return malloc(bytes);
    if (is_left_alone()) return 0;
    return __real_malloc ? __real_malloc(bytes) : malloc(bytes);
}
void *cs_try_calloc(size_t count, size_t bytes) {
    if (count * bytes <= SMALL) return calloc(count, bytes);
    if (is_left_alone()) return 0;
    return __real_calloc ? __real_calloc(count, bytes) : calloc(count, bytes);
}
void *cs_try_realloc(void *old, size_t bytes) {
    if (bytes <= SMALL) return realloc(old, bytes);
    if (is_left_alone()) return 0;
    return __real_realloc ? __real_realloc(old, bytes) : realloc(old, bytes);
}
void *cs_try_aligned(size_t alignment, size_t bytes) {
    void *memory = 0;
    if (bytes > SMALL && is_left_alone()) return 0;
    int code = bytes > SMALL && __real_posix_memalign ? __real_posix_memalign(&memory, alignment, bytes)
                                                      : posix_memalign(&memory, alignment, bytes);
    return code == 0 ? memory : 0;
}

/* Always once more: another thread may have given the reserve back a moment ago. */
void *__wrap_malloc(size_t bytes) {
    void *memory = __real_malloc(bytes);
    if (memory) return memory;
    lock_and_give_back();
    memory = __real_malloc(bytes);
    unlock_gate();
    return memory;
}
void *__wrap_calloc(size_t count, size_t bytes) {
    void *memory = __real_calloc(count, bytes);
    if (memory) return memory;
    lock_and_give_back();
    memory = __real_calloc(count, bytes);
    unlock_gate();
    return memory;
}
void *__wrap_realloc(void *old, size_t bytes) {
    void *memory = __real_realloc(old, bytes);
    if (memory || bytes == 0) return memory;
    lock_and_give_back();
    memory = __real_realloc(old, bytes);
    unlock_gate();
    return memory;
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    void *memory = __real_aligned_alloc(alignment, bytes);
    if (memory) return memory;
    lock_and_give_back();
    memory = __real_aligned_alloc(alignment, bytes);
    unlock_gate();
    return memory;
}
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes) {
    int code = __real_posix_memalign(memory, alignment, bytes);
    if (code != ENOMEM) return code;
    lock_and_give_back();
    code = __real_posix_memalign(memory, alignment, bytes);
    unlock_gate();
    return code;
}
