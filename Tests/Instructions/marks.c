/* Tells callgrind what to count: for paths.c, and as a library of its own for Python and Swift. Outside of valgrind
 * it does nothing.
 *
 * A program calls marks_start once, when it is set up: until then valgrind only translates, which takes a tenth of the
 * time. */
#include "marks.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/callgrind.h>

/* Free memory in pieces, that is without the one behind all others, which is cut on request. */
static size_t pieces(void) {
    const struct mallinfo2 info = mallinfo2();
    return info.fordblks - info.keepcost;
}

/* Takes all pieces of memory that are free, for ever. What an allocation costs depends on them, and they on all that
 * the process has done: a path would cost more or less for what happened before it. */
void marks_fresh_heap(void) {
    size_t size, before;
    for (size = 1 << 22; size >= 24; size -= size > 4096 ? size / 16 : 16) {
        for (;;) {
            void *volatile taken;
            before = pieces();
            taken = malloc(size);
            if (!taken) break;
            if (pieces() >= before) {
                free(taken);
                break;
            }
        }
    }
}

static char description[100];

void marks_start(void) {
    CALLGRIND_START_INSTRUMENTATION;
}

void marks_stop(void) {
    CALLGRIND_STOP_INSTRUMENTATION;
}

/* From here to marks_end: `count` operations of a path. */
void marks_begin(const char *path, int64_t count) {
    snprintf(description, sizeof description, "%s %lld", path, (long long)count);
    CALLGRIND_ZERO_STATS;
}

/* Writes a file with what was counted and with the description. */
void marks_end(void) {
    CALLGRIND_DUMP_STATS_AT(description);
}
