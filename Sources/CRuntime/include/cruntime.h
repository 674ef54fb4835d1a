/* What the Swift interface needs from below the language: the layout of a class, and a few words for each thread.
 *
 * The reflection functions are those that the standard library's own `_forEachField` and `Mirror` call. They are
 * exported since Swift 5.3; if a toolchain took them away, linking would fail.
 */
#ifndef OBJSTORE_CRUNTIME_H
#define OBJSTORE_CRUNTIME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- stored fields of a class, superclasses first ------------------------------------------- */
struct cr_field {
    const char *_Nullable name;
    void (*_Nullable free_name)(const char *_Nullable);
    bool is_strong, is_var;
};

__attribute__((swiftcall)) extern intptr_t swift_reflectionMirror_recursiveCount(const void *_Nonnull type);
__attribute__((swiftcall)) extern const void *_Nullable swift_reflectionMirror_recursiveChildMetadata(
    const void *_Nonnull type, intptr_t index, struct cr_field *_Nonnull field);
__attribute__((swiftcall)) extern intptr_t swift_reflectionMirror_recursiveChildOffset(
    const void *_Nonnull type, intptr_t index);

/* ---- what the library keeps for each thread ------------------------------------------------- */
enum { CR_DEFAULTS_EVALUATED = 0, CR_DEFAULTS_COUNTED = 1, CR_DEFAULTS_SKIPPED = 2 };

struct cr_thread {
    /* What becomes of default expressions of properties. Skipped: an object is being made for a stored row,
     * whose values come from the store. */
    int32_t defaults;
    int32_t defaults_count;
    /* Collects errors that accessors report; NULL: not collected. */
    const void *_Nullable collector;
    /* What is called when the thread ends; NULL: nothing. */
    const void *_Nullable ending;
    /* What takes what objects that go led to; NULL: nothing. */
    const void *_Nullable references;
};
extern __thread struct cr_thread cr_this_thread __attribute__((tls_model("initial-exec")));

/* A number that no other living thread has. */
static inline uintptr_t cr_thread_id(void) { return (uintptr_t)&cr_this_thread; }

static inline bool cr_skips_default(void) {
    if (__builtin_expect(cr_this_thread.defaults == CR_DEFAULTS_EVALUATED, 1)) return false;
    if (cr_this_thread.defaults == CR_DEFAULTS_SKIPPED) return true;
    cr_this_thread.defaults_count += 1;
    return false;
}
/* Returns what was set before. */
static inline int32_t cr_set_defaults(int32_t mode) {
    int32_t old = cr_this_thread.defaults;
    cr_this_thread.defaults = mode;
    return old;
}
static inline int32_t cr_exchange_defaults_count(int32_t count) {
    int32_t old = cr_this_thread.defaults_count;
    cr_this_thread.defaults_count = count;
    return old;
}
static inline const void *_Nullable cr_collector(void) { return cr_this_thread.collector; }
static inline void cr_set_collector(const void *_Nullable collector) { cr_this_thread.collector = collector; }
static inline const void *_Nullable cr_references(void) { return cr_this_thread.references; }
static inline void cr_set_references(const void *_Nullable references) { cr_this_thread.references = references; }
static inline const void *_Nullable cr_ending(void) { return cr_this_thread.ending; }
/* Has `ended`, always the same function, called with `ending` when this thread ends; then nothing is set any more. */
void cr_set_ending(const void *_Nonnull ending, void (*_Nonnull ended)(void *_Nonnull));

/* ---- tasks ---------------------------------------------------------------------------------- */
/* The task that runs on this thread; NULL: none. What `withUnsafeCurrentTask` calls. */
__attribute__((swiftcall)) extern const void *_Nullable swift_task_getCurrent(void);
/* Its number, which no other task of the process gets: the address is that of another one as soon as it has ended. */
__attribute__((swiftcall)) extern uint64_t swift_task_getJobTaskId(const void *_Nonnull task);
static inline uint64_t cr_task_number(void) {
    const void *task = swift_task_getCurrent();
    return task ? swift_task_getJobTaskId(task) : 0;
}

/* ---- locks ---------------------------------------------------------------------------------- */
/* Tells ThreadSanitizer, where it is there, that this thread has taken a lock, or is about to release it. */
void cr_locked(const void *_Nonnull place);
void cr_unlocks(const void *_Nonnull place);
#endif
