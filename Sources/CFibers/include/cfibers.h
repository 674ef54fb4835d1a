/* Stackful coroutines for the simulated machine: ordinary synchronous code, Swift or C, that can be
 * stopped at any call of `fiber_yield` and resumed, or abandoned, by a scheduler on the same thread.
 *
 * Test code only; nothing of the product links it. A fiber belongs to the thread that created it.
 */
#ifndef OBJSTORE_CFIBERS_H
#define OBJSTORE_CFIBERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fiber fiber;

/* A fiber that will run entry(argument) on a stack of its own (256 KiB above a guard page, from a pool).
 * NULL: no memory. */
fiber *fiber_create(void (*entry)(void *), void *argument);
/* Runs it until it yields or its entry returns. Only from outside of every fiber. */
void fiber_resume(fiber *);
/* Whether its entry has returned. */
bool fiber_finished(const fiber *);
/* Gives the stack back. One that has not finished never runs again; what its frames own leaks. */
void fiber_destroy(fiber *);

/* The fiber that runs now on this thread, or NULL. */
fiber *fiber_current(void);
/* What it was created with. */
void *fiber_argument(const fiber *);
/* Back to the scheduler, unless outside of every fiber or between fiber_pause(true) and (false). */
void fiber_yield(void);
/* Back to the scheduler for the last time, paused or not: the fiber is never resumed. Returns at once
 * outside of every fiber. */
void fiber_stop(void);
/* Yields of the current fiber do nothing while paused; pauses nest. */
void fiber_pause(bool on);

/* A text that the handler of fatal signals prints before the process dies (a trap of the code under
 * test), so that the history can be repeated. Per thread; at most 255 bytes are kept. */
void fiber_note(const char *text);

/* Runs body(argument, descriptor) in a forked child that then ends without cleaning up; what it writes to the
 * descriptor can be read from *output. The caller has one thread. Returns the child's id or -errno. */
int32_t fiber_child_start(void (*body)(void *, int32_t), void *argument, int32_t *output);
/* Everything that the child wrote, up to `capacity` bytes; waits for its end. *signal = what killed it, or 0. */
size_t fiber_child_finish(int32_t child, int32_t output, char *text, size_t capacity, int32_t *signal);
bool fiber_child_write(int32_t descriptor, const char *text, size_t bytes);

/* Address space that memory is committed in from the start on; see AddressSpace.swift. */
void *fiber_reserve(size_t bytes);
bool fiber_commit(void *base, size_t from, size_t to);
void fiber_decommit(void *base, size_t from, size_t to);
void fiber_unreserve(void *base, size_t bytes);

#endif
