#include "cruntime.h"
#include <pthread.h>

__thread struct cr_thread cr_this_thread;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void (*told)(void *);
static bool has_key;

static void thread_ends(void *ending) {
    cr_this_thread.ending = 0;
    __atomic_load_n(&told, __ATOMIC_RELAXED)(ending);
}

static void start(void) { has_key = pthread_key_create(&key, thread_ends) == 0; }

void cr_set_ending(const void *ending, void (*ended)(void *)) {
    __atomic_store_n(&told, ended, __ATOMIC_RELAXED);
    pthread_once(&once, start);
    cr_this_thread.ending = ending;
    /* Without a key nothing is called: a write that a thread leaves open stays open until its store is closed. */
    if (has_key) pthread_setspecific(key, ending);
}

#if defined(__has_feature) && __has_feature(thread_sanitizer)
void __tsan_acquire(void *place);
void __tsan_release(void *place);
void cr_locked(const void *place) { __tsan_acquire((void *)place); }
void cr_unlocks(const void *place) { __tsan_release((void *)place); }
#else
void cr_locked(const void *place) { (void)place; }
void cr_unlocks(const void *place) { (void)place; }
#endif
