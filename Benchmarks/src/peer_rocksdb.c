// RocksDB (optional: compiled when its header is installed): 'o' + id → record, and 'a' + age + id
// → nothing as the index. Numbers in keys are big-endian, so that they sort.
#include "bench.h"

#include <dirent.h>
#include <endian.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct __attribute__((packed)) {
    double score;
    uint8_t age, name_length, email_length;     // email_length 255: null
    char text[46];
} record;

enum { record_head = offsetof(record, text), object_key_bytes = 9, age_key_bytes = 10, cache_bytes = 64 << 20 };

struct store {
    rocksdb_t *database;
    rocksdb_options_t *options;
    rocksdb_writeoptions_t *write;
    rocksdb_readoptions_t *read;
    bool loaded;                // a bulk insert has left work for the background
};

static void check_error(char *error, const char *what) {
    if (error) die("rocksdb: %s: %s", what, error);
}

// The C interface has no version call; `run` defines it from the package's version header.
static const char *version(void) { return ROCKSDB_VERSION; }

static void object_key(char key[object_key_bytes], int64_t id) {
    uint64_t big = htobe64((uint64_t)id);
    key[0] = 'o';
    memcpy(key + 1, &big, 8);
}

static void age_key(char key[age_key_bytes], uint8_t age, int64_t id) {
    uint64_t big = htobe64((uint64_t)id);
    key[0] = 'a';
    key[1] = (char)age;
    memcpy(key + 2, &big, 8);
}

static store *open_store(const char *dir, open_options options, bool create) {
    if (create && !options.indexed) die("rocksdb: only indexed stores are made");
    store *s = must_alloc(sizeof *s);
    s->options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(s->options, create);
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(cache_bytes);
    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_options_set_block_based_table_factory(s->options, table);
    rocksdb_cache_destroy(cache);
    rocksdb_block_based_options_destroy(table);
    s->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(s->write, options.durability == DURABLE);
    s->read = rocksdb_readoptions_create();
    char *error = NULL;
    s->database = rocksdb_open(s->options, dir, &error);
    check_error(error, "open");
    return s;
}

static store *create_store(const char *dir, open_options options) { return open_store(dir, options, true); }
static store *open_existing(const char *dir, open_options options) { return open_store(dir, options, false); }

// Compaction after a bulk insert is waited for here: it would slow down whoever is measured next.
static void close_store(store *s) {
    rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
    char *error = NULL;
    rocksdb_flush(s->database, flush, &error);
    check_error(error, "flush");
    rocksdb_flushoptions_destroy(flush);
    if (s->loaded) rocksdb_compact_range(s->database, NULL, 0, NULL, 0);
    rocksdb_cancel_all_background_work(s->database, 1);
    rocksdb_close(s->database);
    rocksdb_readoptions_destroy(s->read);
    rocksdb_writeoptions_destroy(s->write);
    rocksdb_options_destroy(s->options);
    free(s);
}

static uint64_t bytes_ending(const char *dir, const char *ending) {
    DIR *directory = opendir(dir);
    check_sys(directory != NULL);
    uint64_t bytes = 0;
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);
        if (length < tail || strcmp(entry->d_name + length - tail, ending)) continue;
        char *path = format_path("%s/%s", dir, entry->d_name);
        bytes += file_bytes(path);
        free(path);
    }
    check_sys(closedir(directory) == 0);
    return bytes;
}

static uint64_t data_bytes(const char *dir) { return bytes_ending(dir, ".sst"); }
static uint64_t open_bytes(const char *dir) { return bytes_ending(dir, ".sst") + bytes_ending(dir, ".log"); }

static void write_batch(store *s, rocksdb_writebatch_t *batch) {
    char *error = NULL;
    rocksdb_write(s->database, s->write, batch, &error);
    check_error(error, "write");
    rocksdb_writebatch_destroy(batch);
}

// Makes the record of object i with this age; returns its length.
static size_t fill(record *r, const people *p, size_t i, uint8_t age) {
    * r = (record){p->score[i], age, (uint8_t)name_length(p, i), p->email_is_null[i] ? 255 : (uint8_t)email_length(p,
    * i), {0}};
    memcpy(r->text, name_of(p, i), name_length(p, i));
    memcpy(r->text + name_length(p, i), email_of(p, i), email_length(p, i));
    return record_head + name_length(p, i) + email_length(p, i);
}

static void put_object(rocksdb_writebatch_t *batch, int64_t id, const record *r, size_t length) {
    char key[object_key_bytes];
    object_key(key, id);
    rocksdb_writebatch_put(batch, key, sizeof key, (const char *)r, length);
}

static void put_age(rocksdb_writebatch_t *batch, int64_t id, uint8_t age) {
    char key[age_key_bytes];
    age_key(key, age, id);
    rocksdb_writebatch_put(batch, key, sizeof key, "", 0);
}

static void delete_age(rocksdb_writebatch_t *batch, int64_t id, uint8_t age) {
    char key[age_key_bytes];
    age_key(key, age, id);
    rocksdb_writebatch_delete(batch, key, sizeof key);
}

// `rows` NULL: all, in order.
static void insert_some(store *s, const people *p, const int64_t *rows, size_t size) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t k = 0; k < size; k++) {
        size_t i = rows ? (size_t)rows[k] : k;
        record r;
        size_t length = fill(&r, p, i, p->age[i]);
        put_object(batch, p->id[i], &r, length);
        put_age(batch, p->id[i], p->age[i]);
    }
    write_batch(s, batch);
    s->loaded = true;
}

static void insert(store *s, const people *p) { insert_some(s, p, NULL, p->count); }

// Copies the record of an object; returns its length, 0 where there is none.
static size_t look_up(store *s, const rocksdb_readoptions_t *read, int64_t id, record *r) {
    char key[object_key_bytes], *error = NULL;
    object_key(key, id);
    rocksdb_pinnableslice_t *slice = rocksdb_get_pinned(s->database, read, key, sizeof key, &error);
    check_error(error, "get");
    if (!slice) return 0;
    size_t length;
    const char *value = rocksdb_pinnableslice_value(slice, &length);
    memcpy(r, value, length);
    rocksdb_pinnableslice_destroy(slice);
    return length;
}

static size_t find(store *s, const rocksdb_readoptions_t *read, int64_t id, record *r) {
    const size_t length = look_up(s, read, id, r);
    if (!length) die("rocksdb: object %ld is not there", id);
    return length;
}

static void update_ages(store *s, const int64_t *ids, const uint8_t *ages, size_t size) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t i = 0; i < size; i++) {
        record r;
        size_t length = find(s, s->read, ids[i], &r);
        uint8_t old_age = r.age;
        r.age = ages[i];
        put_object(batch, ids[i], &r, length);
        if (old_age == ages[i]) continue;
        delete_age(batch, ids[i], old_age);
        put_age(batch, ids[i], ages[i]);
    }
    write_batch(s, batch);
}

static size_t upsert(store *s, const people *p, const int64_t *rows, const uint8_t *ages, size_t size, bool all) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    size_t written = 0;
    for (size_t k = 0; k < size; k++) {
        int64_t id = p->id[rows[k]];
        record r, old;
        size_t length = fill(&r, p, (size_t)rows[k], ages[k]), old_length = look_up(s, s->read, id, &old);
        if (!all && old_length == length && memcmp(&old, &r, length) == 0) continue;
        put_object(batch, id, &r, length);
        written++;
        if (old_length && old.age == ages[k]) continue;
        if (old_length) delete_age(batch, id, old.age);
        put_age(batch, id, ages[k]);
    }
    write_batch(s, batch);
    s->loaded = true;
    return written;
}

static void delete_object(rocksdb_writebatch_t *batch, int64_t id, uint8_t age) {
    char key[object_key_bytes];
    object_key(key, id);
    rocksdb_writebatch_delete(batch, key, sizeof key);
    delete_age(batch, id, age);
}

static void delete_some(store *s, const int64_t *ids, size_t size) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t i = 0; i < size; i++) {
        record r;
        find(s, s->read, ids[i], &r);
        delete_object(batch, ids[i], r.age);
    }
    write_batch(s, batch);
    s->loaded = true;
}

static void check_iterator(rocksdb_iterator_t *at) {
    char *error = NULL;
    rocksdb_iter_get_error(at, &error);
    check_error(error, "iterate");
    rocksdb_iter_destroy(at);
}

// Runs `body` for each `key` (with `key_length`) that starts with `prefix`.
#define each_key(s, prefix, body)                                                       \
    do {                                                                                \
        rocksdb_iterator_t *at = rocksdb_create_iterator((s)->database, (s)->read);     \
        for (rocksdb_iter_seek(at, prefix, 1); rocksdb_iter_valid(at); rocksdb_iter_next(at)) { \
            size_t key_length;                                                          \
            const char *key = rocksdb_iter_key(at, &key_length);                        \
            if (key[0] != (prefix)[0]) break;                                           \
            body;                                                                       \
        }                                                                               \
        check_iterator(at);                                                             \
    } while (0)

#define each_record(s, r, body)                                                         \
    each_key(s, "o", {                                                                  \
        size_t length;                                                                  \
        const record *r = (const record *)rocksdb_iter_value(at, &length);              \
        body;                                                                           \
    })

static void add_to_all_scores(store *s, double by) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    each_record(s, old, {
        record r;
        memcpy(&r, old, length);
        r.score += by;
        rocksdb_writebatch_put(batch, key, key_length, (char *)&r, length);
    });
    write_batch(s, batch);
    s->loaded = true;
}

static uint64_t delete_from_age(store *s, int64_t limit) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    uint64_t deleted = 0;
    each_record(s, r, {
        if (r->age < limit) continue;
        uint64_t big;
        memcpy(&big, key + 1, 8);
        delete_object(batch, (int64_t)be64toh(big), r->age);
        deleted++;
    });
    write_batch(s, batch);
    s->loaded = true;
    return deleted;
}

static void lookup_ages(store *s, const int64_t *ids, size_t size, int64_t *ages) {
    record r;
    for (size_t i = 0; i < size; i++) {
        find(s, s->read, ids[i], &r);
        ages[i] = r.age;
    }
}

static uint64_t count_age_below(store *s, int64_t limit, bool through_index) {
    uint64_t hits = 0;
    if (through_index) each_key(s, "a", { if ((uint8_t)key[1] >= limit) break; hits++; });
    else each_record(s, r, hits += r->age < limit);
    return hits;
}

static double sum_scores(store *s) {
    double sum = 0;
    each_record(s, r, sum += r->score);
    return sum;
}

static void aggregate_scores(store *s, double out[3]) {
    double sum = 0, maximum = -1;
    size_t count = 0;
    each_record(s, r, { sum += r->score; maximum = r->score > maximum ? r->score : maximum; count++; });
    out[0] = sum;
    out[1] = sum / (double)count;
    out[2] = maximum;
}

static uint64_t count_name(store *s, const char *name, size_t length_wanted) {
    uint64_t hits = 0;
    each_record(s, r, hits += r->name_length == length_wanted && memcmp(r->text, name, length_wanted) == 0);
    return hits;
}

static void read_scores(store *s, double *out, size_t count) {
    size_t i = 0;
    each_record(s, r, { if (i < count) out[i] = r->score; i++; });
    if (i != count) die("rocksdb: %zu objects, not %zu", i, count);
}

// What a turn has left to flushes and compactions would slow down whoever comes next.
static void settle(store *s) {
    static const char *const waiting[] = {
        "rocksdb.mem-table-flush-pending", "rocksdb.compaction-pending",
        "rocksdb.num-running-flushes", "rocksdb.num-running-compactions",
    };
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting;) {
        uint64_t value;
        if (rocksdb_property_int(s->database, waiting[i], &value)) die("rocksdb: no property %s", waiting[i]);
        if (value == 0) { i++; continue; }
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
        i = 0;
    }
}

// property_get does not apply: a record that has been copied out is the program's own memory.

struct pinned { store *store; const rocksdb_snapshot_t *snapshot; rocksdb_readoptions_t *read; };

static pinned *pin(store *s) {
    pinned *p = must_alloc(sizeof *p);
    *p = (pinned){s, rocksdb_create_snapshot(s->database), rocksdb_readoptions_create()};
    rocksdb_readoptions_set_snapshot(p->read, p->snapshot);
    return p;
}

static void pinned_lookup_ages(pinned *p, const int64_t *ids, size_t size, int64_t *ages) {
    record r;
    for (size_t i = 0; i < size; i++) {
        find(p->store, p->read, ids[i], &r);
        ages[i] = r.age;
    }
}

static void unpin(pinned *p) {
    rocksdb_readoptions_destroy(p->read);
    rocksdb_release_snapshot(p->store->database, p->snapshot);
    free(p);
}

const peer peer_rocksdb = {
    .name = "rocksdb", .version = version,
    .create = create_store, .open = open_existing, .close = close_store,
    .data_bytes = data_bytes, .open_bytes = open_bytes,
    .insert = insert, .update_ages = update_ages, .add_to_all_scores = add_to_all_scores,
    .lookup_ages = lookup_ages, .count_age_below = count_age_below, .sum_scores = sum_scores,
    .count_name = count_name, .read_scores = read_scores,
    .insert_some = insert_some, .delete_some = delete_some, .delete_from_age = delete_from_age, .upsert = upsert,
    .aggregate_scores = aggregate_scores,
    .pin = pin, .pinned_lookup_ages = pinned_lookup_ages, .unpin = unpin, .settle = settle, .shapes = &shapes_rocksdb,
};
