/* What the rigs of asynchronous writes and of observers share: one program, `async-writes`, that uses the C interface
 * alone.
 *
 *      main.c      options, and the store that all use
 *      races.c     threads that write, cancel, deliver and close at the same time
 *      killed.c    a process that is killed while its writes are committed in groups
 *      waits.c     waits without an end, which the last asynchronous write must end
 *      watched.c   threads that write, observe, deliver and close at the same time
 */
#ifndef ASYNC_H
#define ASYNC_H

#include <inttypes.h>
#include <objstore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Says what is wrong, with the seed of the run, and ends the process with status 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void must(objstore_status status, const char *file, int line);
/* For calls that have to succeed. */
#define MUST(call) must((call), __FILE__, __LINE__)

/* A sequence of pseudo-random numbers (SplitMix64), the same on every machine. */
typedef struct { uint64_t state; } random_source;
uint64_t random_next(random_source *source);
uint64_t random_below(random_source *source, uint64_t bound);

typedef struct {
    uint64_t seed, count;       /* of operations, kills or rounds */
    int threads, bug;           /* threads: 0: as many as usual. bug: the number of an injected one; -1: none */
    const char *program, *path;
} options;

/* The store: Entry {number int primary key, check int}. `check` follows from the number, so that an object that is
 * half there, or another's, is noticed. */
enum { NUMBER, CHECK, ENTRY_PROPERTIES };
extern objstore_class_id entry;
extern objstore_property_id entry_properties[ENTRY_PROPERTIES];

/* path NULL: in memory. */
objstore *open_store(const char *path);
/* The same for classes of one's own. Takes the schema. */
objstore *open_with(const char *path, objstore_schema *schema);
objstore_status create_entry(objstore_view *transaction, int64_t number);
/* The numbers of all entries, in no order, in memory that the caller frees; ends the process where the store is not
 * sound, or an entry has the wrong check. */
int64_t *read_numbers(objstore *store, size_t *count);

/* Something has gone on: without this call for ten minutes the process ends, and says where it has come to. */
void goes_on(const char *where, uint64_t done);
/* Makes a mistake that must be noticed; -1: none. */
void set_bug(int number);

int run_races(const options *o);
int run_kills(const options *o);
int run_waits(const options *o);
int run_watched(const options *o);
/* Never returns: the process that run_kills starts and kills. */
int run_writer(const options *o, int pipe);

#endif
