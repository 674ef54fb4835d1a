// The benchmark program: floors, objstore and its peers, measured in one run, interleaved.
//
//      data.c     the objects every peer stores, and the right answer of every case
//      floors.c   what the machine can do without an engine
//      peer_*.c   one file an engine: a table of functions (struct peer)
//      shapes_*.c the same for stores of another shape (struct shapes)
//      async_*.c  writes that a loop does not wait for (struct async_writes)
//      queries_*.c  questions (queries.h), with their floors in floors_query.c, floor_sort.cpp
//      cases*.c   one function a case: what is timed, in which order, what must come out
//      report.c   medians and percentiles → results.json, a Markdown table
//      main.c     options, and the helper processes (recovery, notify_process_…)
//
// A benchmark that goes wrong says so and ends: every return code is checked, every answer is
// compared with data.c, and `die` is the only way to fail. Peer functions therefore return values,
// not statuses.
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---------------------------------------------------------------------------------------- util.c

// Prints the message with file and line, and ends the process with status 1.
_Noreturn void die_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define die(...) die_at(__FILE__, __LINE__, __VA_ARGS__)
// For system calls: a message with errno unless the condition holds.
#define check_sys(condition) \
    ((condition) ? (void)0 : die_at(__FILE__, __LINE__, "%s: %s", #condition, errno_text()))
const char *errno_text(void);

// Monotonic time in nanoseconds; the same clock in every process of the machine.
static inline int64_t now_ns(void);

void *must_alloc(size_t bytes);                     // zeroed, 4096-aligned; dies when there is none
char *format_path(const char *format, ...) __attribute__((format(printf, 1, 2)));  // caller frees
void make_directory(const char *path);              // with its parents; existing is fine
void remove_directory(const char *path);            // with everything in it; absent is fine
void copy_directory(const char *from, const char *to, bool sync);  // regular files only
uint64_t file_bytes(const char *path);              // 0 when there is no such file
uint64_t allocated_bytes(const char *directory);    // of all its files: blocks on the disk, not lengths
void sync_file_system(const char *path);            // what others have left in its journal disturbs the next one
// Writes the files of a directory out and drops them from the page cache; dies when some page stays.
void drop_page_cache(const char *directory);
uint64_t cached_pages(const char *directory);       // 4 KiB pages of its files in the page cache
double heap_bytes(void);  // what is allocated, by malloc and by maps of its own
uint64_t process_figure(const char *file, const char *name);  // "VmHWM" of /proc/self/status, in its unit
void write_all(int descriptor, const void *bytes, size_t count, uint64_t position);
// Dies when `path` is on a file system that lives in memory: a sync costs nothing there.
void refuse_memory_file_system(const char *path);
const char *file_system_name(const char *path);

// A sequence of pseudo-random numbers (SplitMix64) that is the same on every machine.
typedef struct { uint64_t state; } random_source;
uint64_t random_next(random_source *source);
uint64_t random_below(random_source *source, uint64_t bound);
uint64_t random_mix(uint64_t x);                    // a bijection: unequal numbers stay unequal

// A growing array of measurements.
typedef struct { double *values; size_t count, capacity; } series;
void series_add(series *s, double value);
double series_percentile(const series *s, double fraction);  // nearest rank; NAN when empty
double series_median(const series *s);
void series_free(series *s);

// ---------------------------------------------------------------------------------------- data.c

// Person {id int64 primary key, name string 8–16 bytes, age int 0..99 indexed, score double,
// email string? 18–30 bytes, 10 % null}. Object i has id i. Columns lie packed, so that they are at
// once the source of every insert, the argument of a columnar insert and what the floors scan.
// Scores are multiples of 1/8: their sum is exact in whatever order it is made.
typedef struct {
    size_t count;
    int64_t *id;
    uint8_t *age;
    double *score;
    uint32_t *name_offset;          // count + 1; name i is name_heap[name_offset[i] ..< [i + 1]]
    char *name_heap;
    uint32_t *email_offset;         // count + 1; a null one has no bytes
    char *email_heap;
    uint8_t *email_is_null;
} people;

people *people_make(size_t count);  // the same objects for the same count
// Objects `rows` of `data`, in that order, with their ids.
people *people_pick(const people *data, const int64_t *rows, size_t count);
void people_free(people *data);
static inline const char *name_of(const people *p, size_t i) { return p->name_heap + p->name_offset[i]; }
static inline size_t name_length(const people *p, size_t i) { return p->name_offset[i + 1] - p->name_offset[i]; }
static inline const char *email_of(const people *p, size_t i) { return p->email_heap + p->email_offset[i]; }
static inline size_t email_length(const people *p, size_t i) { return p->email_offset[i + 1] - p->email_offset[i]; }
size_t packed_bytes(const people *data);    // of all objects without any structure

// The updates that a case makes, in order: every id in first ..< first + count once, scattered, then
// all again. Each sets another age than the one before it, so that it is a change to every engine.
typedef struct { const people *data; size_t first, count; uint64_t step; } update_sequence;
update_sequence update_sequence_make(const people *data, size_t first, size_t count);
// What transaction `serial` of `size` updates sets.
void make_update(const update_sequence *u, uint64_t serial, size_t size, int64_t *ids, uint8_t *ages);

// -------------------------------------------------------------------------------- struct peer

typedef enum {
    DURABLE,        // a commit returns when its data has been synced
    RELAXED,        // a commit returns before; a crash may lose the last ones but never tears one
    NONE,           // nothing is ever waited for: only where time is not what is measured
} durability;

typedef struct {
    durability durability;
    bool indexed;               // with the index on age (create only; open finds what is there)
    bool small_checkpoints;     // checkpoint every 2 MiB of log, where the engine has such a knob
} open_options;

// One change set: what one observed commit did to Person.
typedef struct {
    size_t inserted, modified, deleted;
    int64_t modified_ids[64];   // of the first ones
} change;

typedef struct store store;     // each peer defines its own
typedef struct pinned pinned;

// What an engine has to be able to do. A NULL function means "has no such thing": the case then
// shows no figure. Required are those marked *, because they also check the other cases (and
// sum_scores with add_to_all_scores, all three with pin). Every function of one store may be called from one
// thread at a time, except `update_ages`, which commits_16_threads calls from 16 threads at once.
// Prepared statements, cursors and row positions may live in `store`: their making is not timed.
typedef struct {
    const char *name;                   // also the key in results.json
    const char *(*version)(void);
    bool scans_need_unindexed_store;    // the planner cannot be made to leave the age index alone

    // A store with class Person and no objects, in directory `dir`, which exists and is empty.
    store *(*create)(const char *dir, open_options options);   // *
    // A store that was created before; ready to read when this returns (the schema is loaded).
    store *(*open)(const char *dir, open_options options);   // *
    // A clean close: everything is in its files, which may be copied one by one afterwards.
    void (*close)(store *s);   // *
    // Data of a closed store, primary key and index included; a preallocated log is not data.
    uint64_t (*data_bytes)(const char *dir);   // *
    // Everything that grows while the store is open (data and log, not a fixed ring).
    uint64_t (*open_bytes)(const char *dir);
    // Checkpoints made since open.
    uint64_t (*checkpoints)(store *s);

    // One transaction that inserts all of `data`, object by object. Returns when it is committed.
    void (*insert)(store *s, const people *data);   // *
    // The same from columns.
    void (*insert_columns)(store *s, const people *data);
    // One transaction that sets the (indexed) age of `size` existing objects.
    void (*update_ages)(store *s, const int64_t *ids, const uint8_t *ages, size_t size);   // *
    // One transaction that adds `by` to the score of every object.
    void (*add_to_all_scores)(store *s, double by);
    // One transaction that inserts objects `rows` of `data`, in that order.
    void (*insert_some)(store *s, const people *data, const int64_t *rows, size_t size);
    // One transaction that deletes objects by primary key.
    void (*delete_some)(store *s, const int64_t *ids, size_t size);
    // One transaction that deletes all with age >= limit; returns how many that were.
    uint64_t (*delete_from_age)(store *s, int64_t limit);
    // One transaction that writes whole objects `rows` of `data`, but with these ages: those that are not there, or
    // differ, or all. Returns how many were written.
    size_t (*upsert)(store *s, const people *data, const int64_t *rows, const uint8_t *ages, size_t size, bool all);

    // Finds each id by primary key and reads its age.
    void (*lookup_ages)(store *s, const int64_t *ids, size_t size, int64_t *ages);   // *
    // How many have age < limit: by scanning all objects, or through the index.
    uint64_t (*count_age_below)(store *s, int64_t limit, bool through_index);   // *
    double (*sum_scores)(store *s);
    // Sum, average and maximum of all scores.
    void (*aggregate_scores)(store *s, double out[3]);
    // How many have exactly this name (no index).
    uint64_t (*count_name)(store *s, const char *name, size_t length);
    // Scores of all objects in the order of their ids, into out[count].
    void (*read_scores)(store *s, double *out, size_t count);
    // Positions on each object, then reads one property `times` times through the engine's own
    // accessor. Returns the sum of the ages read / of first byte + length of the names read.
    uint64_t (*read_age_of_row)(store *s, const int64_t *ids, size_t size, size_t times);
    uint64_t (*read_name_of_row)(store *s, const int64_t *ids, size_t size, size_t times);

    // A reader that keeps seeing the store as it is now, whatever is committed meanwhile.
    pinned *(*pin)(store *s);
    void (*pinned_lookup_ages)(pinned *p, const int64_t *ids, size_t size, int64_t *ages);
    void (*unpin)(pinned *p);

    // Observes all Person of a store that another process changes. Calls seen(context, NULL) once
    // the observer is in place and seen(context, change) for every change set, on this thread as
    // soon as it is there, until seen returns false.
    void (*observe)(store *s, bool (*seen)(void *context, const change *c), void *context);

    bool one_thread;            // a store is a connection: each thread opens one of its own
    // Waits until the engine's threads have nothing left to do that they were given by what was written.
    void (*settle)(store *s);
    const struct async_writes *async;   // writes that a loop does not wait for
    const struct shapes *shapes;        // stores that hold something else than Person
} peer;

// ------------------------------------------------------------------------- struct async_writes

// Durable transactions that their caller does not wait for. A loop waits until the descriptor is readable, and calls
// `deliver`, which calls `done` for each transaction that has been committed. `grouped`: it may be one with others.
typedef void async_done(void *context);
typedef struct async_writes {
    int (*descriptor)(store *s);
    void (*deliver)(store *s);
    // Sets the age of an existing object.
    void (*update_age)(store *s, int64_t id, uint8_t age, bool grouped, async_done *done, void *context);
    // Inserts objects first ..< first + count of `data`.
    void (*insert)(store *s, const people *data, size_t first, size_t count, bool grouped, async_done *done,
                   void *context);
    uint64_t (*syncs)(store *s);        // requested of the system since open
} async_writes;

#ifdef HAVE_OBJSTORE
extern const async_writes async_objstore;
#endif

// -------------------------------------------------------------------------------- struct shapes
//
// Other stores than those of Person, one file an engine (shapes_*.c). Commits are durable.

enum { text_key_length = 16, wide_width = 100, class_limit = 1000 };

typedef enum {
    TEXT_KEYS,      // Person whose id is a string of text_key_length bytes; age indexed
    WIDE,           // {id int primary key, c0 … c99 int}
    BIG_VALUES,     // {id int primary key, data binary}
    CLASSES,        // `count` classes {id int primary key, value int}, each with one object, id 1, value 0
    LIST,           // one object, id 1, with a list of ints
} shape;

typedef struct shaped shaped;

typedef struct shapes {
    shaped *(*create)(const char *dir, shape what, size_t count);   // count: of classes
    shaped *(*open)(const char *dir, shape what, size_t count);     // ready to read when this returns
    void (*close)(shaped *s);

    // One transaction: object i of `data` under key i (text_key_length bytes at keys + i × text_key_length).
    void (*insert_people)(shaped *s, const people *data, const char *keys);
    void (*lookup_people)(shaped *s, const char *keys, const int64_t *which, size_t size, int64_t *ages);

    // One transaction: row i under id i.
    void (*insert_wide)(shaped *s, const int64_t *values, size_t rows);
    void (*read_wide)(shaped *s, const int64_t *ids, size_t size, int64_t *values);    // all columns
    // One transaction that sets column `column` of rows `ids`.
    void (*update_wide)(shaped *s, size_t column, const int64_t *ids, const int64_t *values, size_t size);

    void (*write_big)(shaped *s, int64_t id, const uint8_t *bytes, size_t size);       // one transaction; id is new
    void (*read_big)(shaped *s, int64_t id, uint8_t *bytes, size_t size);              // copies it

    void (*update_class)(shaped *s, size_t index, int64_t value);                      // one transaction
    int64_t (*read_class)(shaped *s, size_t index);

    // Optional. One transaction each: 0, 1, … one after the other at the end; first, first + 1, … one after the other
    // at places[i], 0 = the beginning, 1 = the end.
    void (*append_list)(shaped *s, size_t count);
    void (*insert_list)(shaped *s, const double *places, int64_t first, size_t count);
    // One transaction: `count` times the element at from[i] goes to to[i], places as above, of the `size` that were
    // appended.
    void (*move_list)(shaped *s, const double *from, const double *to, size_t count, size_t size);
    size_t (*walk_list)(shaped *s, int64_t *values, size_t capacity);                  // in order; how many there are
} shapes;

extern const shapes shapes_sqlite, shapes_lmdb;
#ifdef HAVE_ROCKSDB
extern const shapes shapes_rocksdb;
#endif
#ifdef HAVE_OBJSTORE
extern const shapes shapes_objstore;
#endif

extern const peer peer_sqlite, peer_lmdb;
#ifdef HAVE_ROCKSDB
extern const peer peer_rocksdb;
#endif
// objstore's table is in peer_objstore.c, which `run` compiles and links with libobjstore when
// the file exists. It talks to objstore.h only:
//      create, open         config + schema, objstore_open; age with or without an index as options say;
//                           durability full, relaxed, none; small_checkpoints sets
//                           OBJSTORE_LIMIT_CHECKPOINT_LOG_BYTES to 2 MiB; find the ids of class and
//                           properties here
//      scans_need_unindexed_store   true: objstore_query_count takes the index when there is one
//      insert               objstore_begin, an objstore_create of five values an object, objstore_commit
//      insert_columns       objstore_begin, objstore_insert_rows over the arrays of `people`, objstore_commit
//      update_ages          objstore_begin, objstore_find + objstore_set an id, objstore_commit; 16 threads
//      add_to_all_scores    objstore_begin, objstore_query_increment, objstore_commit
//      lookup_ages          one view; objstore_find + objstore_get an id
//      count_age_below      objstore_query_count of a query that is made once
//      count_name           objstore_query_parse and objstore_query_count, each time
//      sum_scores           objstore_query_aggregate of a query that is made once
//      read_scores          objstore_read_column
//      read_*_of_row        objstore_row_seek, then objstore_row_int / objstore_row_text `times` times
//      insert_some, delete_some     objstore_create; objstore_find + objstore_delete an id
//      delete_from_age      objstore_query_parse, objstore_query_delete
//      upsert               objstore_upsert of five values an object, policy MODIFIED or ALL
//      aggregate_scores     three objstore_query_aggregate in one view
//      pin                  objstore_view_freeze; lookups through that view
//      observe              objstore_observe on Person, then objstore_wait in a loop; seen(context, NULL)
//                           when objstore_observe has returned
//      async                objstore_notify_fd, objstore_deliver; an objstore_write_async a transaction
//      data_bytes           size of the database file; open_bytes the same (the log is a ring)
//      checkpoints          objstore_get_statistics
#ifdef HAVE_OBJSTORE
extern const peer peer_objstore;
#endif

// -------------------------------------------------------------------------------------- floors.c

// A file whose blocks have all been written once, so that a synced write changes no metadata.
typedef struct { int descriptor; uint64_t position, size; char *block; } written_file;
written_file written_file_open(const char *path, uint64_t size);
void written_file_close(written_file *f);
// pwrite of `bytes` at the next position (wrapping) and fdatasync, if `sync`. Returns nothing.
void floor_write(written_file *f, size_t bytes, bool sync);
// All objects, gathered row by row, written to a new file in 1 MiB writes, and one fdatasync.
void floor_bulk_rows(const char *path, const people *data);
// The same column by column (no gathering).
void floor_bulk_columns(const char *path, const people *data);
// Transactions/s of `threads` threads that append 200-byte records to one log: whoever finds no
// sync running writes what all have appended and syncs for them. Each transaction keeps the lock's owner busy
// for `work_ns`: what remains of the floor for an engine that works that long.
double floor_group_sync(written_file *f, size_t threads, double seconds, int64_t work_ns);
// Transactions/s of one thread that appends 200-byte records and waits for none, and another that writes what has come
// meanwhile and syncs it. Until the last of `records` is synced.
double floor_queue_sync(written_file *f, size_t records);
uint64_t floor_count_below(const uint8_t *values, size_t count, uint8_t limit);         // the plain loop
uint64_t floor_count_below_lanes(const uint8_t *values, size_t count, uint8_t limit);   // by hand
double floor_sum(const double *values, size_t count);
void floor_aggregate(const double *values, size_t count, double out[3]);   // sum, average, maximum
uint64_t floor_count_string(const char *heap, const uint32_t *offsets, size_t count, const char *text, size_t length);
// The same with one byte of hash a string looked at first.
uint8_t floor_fingerprint(const char *text, size_t length);
uint64_t floor_count_string_fingerprint(const uint8_t *fingerprints, const char *heap, const uint32_t *offsets,
                                        size_t count, const char *text, size_t length);
// How many objects of `picked` equal objects `rows` of `data`, every property compared.
size_t floor_compare(const people *data, const people *picked, const int64_t *rows);
void floor_lookup(const people *data, const int64_t *ids, size_t size, int64_t *ages);
// Maps a file, reads its first page and one more: what the cheapest possible open must do.
uint64_t floor_open(const char *path);

// -------------------------------------------------------------------------------------- report.c

enum { FLOOR, OBJSTORE, SQLITE, LMDB, ROCKSDB, DUCKDB, SLOTS };     // order of a repetition and of the table
extern const char *const slot_names[SLOTS];

typedef struct {
    series repetitions;     // one figure a repetition (of latencies: its median)
    series samples;         // of latencies: every one, for p99 over the whole case
} track;

typedef struct {
    const char *name, *unit;
    size_t objects;
    bool higher_is_better;
    track tracks[SLOTS];
    struct { char key[48]; double value; } extras[16];
    size_t extra_count;
} result;

void result_extra(result *r, double value, const char *key_format, ...) __attribute__((format(printf, 3, 4)));
// Median over the repetitions; NAN where the case does not apply.
double result_value(const result *r, int slot);
// Median over the repetitions of value / other's value in the same repetition.
double result_ratio(const result *r, int slot, int other);
// `append`: to the list, or the text, that an earlier run has left there.
void report_json(const char *path, const result *results, size_t count, bool append);
void report_markdown(const char *path, const result *results, size_t count, const char *heading, bool append);
void report_line(const result *r);

// --------------------------------------------------------------------------------------- cases.c

typedef struct {
    const char *directory;      // where stores and floor files are made
    size_t objects;
    double effort;              // 1 = the default number of repetitions
    people *data;
    update_sequence updates;    // over all of data
    const peer *peers[SLOTS];   // NULL: not in this run
    const struct queries *queries[SLOTS];   // the same, of those that can be asked questions (queries.h)
    result *results;
    size_t result_count;
} bench;

typedef struct {
    const char *name;
    void (*run)(bench *b, bool (*wanted)(const char *name));
} benchmark_case;
extern const benchmark_case cases[];
extern const size_t case_count;

// Bodies of the helper processes that main.c starts (see there).
void child_recovery(const peer *p, const char *dir, size_t objects, const char *shared_path);
void child_observe(const peer *p, const char *dir, const char *shared_path);
void child_futex(const char *shared_path);
void child_write(const peer *p, const char *dir, const char *shared_path);
void child_memory(const char *what, const peer *p, const char *dir, size_t objects, const char *figures_path);
void child_many_stores(const peer *p, const char *dir, size_t stores, const char *figures_path);

#include <time.h>
static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
