// RocksDB: stores of another shape than Person. A class is a prefix of two bytes in the one key space, as is
// usual; numbers in keys are big-endian.
#include "bench.h"

#include <endian.h>
#include <rocksdb/c.h>
#include <stdlib.h>
#include <string.h>

typedef struct __attribute__((packed)) {
    double score;
    uint8_t age, name_length, email_length;     // email_length 255: null
    char text[46];                              // name, then email
} record;

enum { record_head = offsetof(record, text), wide_bytes = wide_width * 8, cache_bytes = 64 << 20 };

// 'o' + key → record, 'a' + age + key → nothing; of all other shapes class + id → value.
typedef struct __attribute__((packed)) { char kind, text[text_key_length]; } object_key;
typedef struct __attribute__((packed)) { char kind; uint8_t age; char text[text_key_length]; } age_key;
typedef struct __attribute__((packed)) { uint16_t class; uint64_t id; } number_key;

struct shaped {
    rocksdb_t *database;
    rocksdb_options_t *options;
    rocksdb_writeoptions_t *write;
    rocksdb_readoptions_t *read;
};

static void check_error(char *error, const char *what) {
    if (error) die("rocksdb: %s: %s", what, error);
}

static void write_batch(shaped *s, rocksdb_writebatch_t *batch) {
    char *error = NULL;
    rocksdb_write(s->database, s->write, batch, &error);
    check_error(error, "write");
    rocksdb_writebatch_destroy(batch);
}

// Copies a value of up to `room` bytes; dies unless it has `exactly` bytes (0: any number).
static void get(shaped *s, const void *key, size_t key_size, void *value, size_t room, size_t exactly) {
    char *error = NULL;
    rocksdb_pinnableslice_t *slice = rocksdb_get_pinned(s->database, s->read, key, key_size, &error);
    check_error(error, "get");
    if (!slice) die("rocksdb: a key is not there");
    size_t length;
    const char *bytes = rocksdb_pinnableslice_value(slice, &length);
    if (length > room || (exactly && length != exactly)) die("rocksdb: a value of %zu bytes", length);
    memcpy(value, bytes, length);
    rocksdb_pinnableslice_destroy(slice);
}

static number_key key_of(size_t class, int64_t id) {
    return (number_key){htobe16((uint16_t)class), htobe64((uint64_t)id)};
}

static void put_number(rocksdb_writebatch_t *batch, size_t class, int64_t id, const void *value, size_t size) {
    number_key key = key_of(class, id);
    rocksdb_writebatch_put(batch, (const char *)&key, sizeof key, value, size);
}

static void get_number(shaped *s, size_t class, int64_t id, void *value, size_t size) {
    number_key key = key_of(class, id);
    get(s, &key, sizeof key, value, size, size);
}

static shaped *open_shaped(const char *dir, bool create) {
    shaped *s = must_alloc(sizeof *s);
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
    rocksdb_writeoptions_set_sync(s->write, 1);
    s->read = rocksdb_readoptions_create();
    char *error = NULL;
    s->database = rocksdb_open(s->options, dir, &error);
    check_error(error, "open");
    return s;
}

static shaped *create(const char *dir, shape what, size_t count) {
    shaped *s = open_shaped(dir, true);
    if (what != CLASSES) return s;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    const int64_t value = 0;
    for (size_t c = 0; c < count; c++) put_number(batch, c, 1, &value, 8);
    write_batch(s, batch);
    return s;
}

static shaped *open_existing(const char *dir, shape what, size_t count) {
    (void)what, (void)count;
    return open_shaped(dir, false);
}

static void close_shaped(shaped *s) {
    rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
    char *error = NULL;
    rocksdb_flush(s->database, flush, &error);
    check_error(error, "flush");
    rocksdb_flushoptions_destroy(flush);
    rocksdb_cancel_all_background_work(s->database, 1);
    rocksdb_close(s->database);
    rocksdb_readoptions_destroy(s->read);
    rocksdb_writeoptions_destroy(s->write);
    rocksdb_options_destroy(s->options);
    free(s);
}

static void insert_people(shaped *s, const people *p, const char *keys) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t i = 0; i < p->count; i++) {
        record r = {p->score[i], p->age[i], (uint8_t)name_length(p, i),
                    p->email_is_null[i] ? 255 : (uint8_t)email_length(p, i), {0}};
        memcpy(r.text, name_of(p, i), name_length(p, i));
        memcpy(r.text + name_length(p, i), email_of(p, i), email_length(p, i));
        object_key object = {.kind = 'o'};
        age_key age = {.kind = 'a', .age = p->age[i]};
        memcpy(object.text, keys + i * text_key_length, text_key_length);
        memcpy(age.text, object.text, text_key_length);
        rocksdb_writebatch_put(batch, (char *)&object, sizeof object, (char *)&r,
                               record_head + name_length(p, i) + email_length(p, i));
        rocksdb_writebatch_put(batch, (char *)&age, sizeof age, "", 0);
    }
    write_batch(s, batch);
}

static void lookup_people(shaped *s, const char *keys, const int64_t *which, size_t size, int64_t *ages) {
    for (size_t i = 0; i < size; i++) {
        object_key key = {.kind = 'o'};
        record r;
        memcpy(key.text, keys + (size_t)which[i] * text_key_length, text_key_length);
        get(s, &key, sizeof key, &r, sizeof r, 0);
        ages[i] = r.age;
    }
}

static void insert_wide(shaped *s, const int64_t *values, size_t rows) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t i = 0; i < rows; i++) put_number(batch, 0, (int64_t)i, values + i * wide_width, wide_bytes);
    write_batch(s, batch);
}

static void read_wide(shaped *s, const int64_t *ids, size_t size, int64_t *values) {
    for (size_t i = 0; i < size; i++) get_number(s, 0, ids[i], values + i * wide_width, wide_bytes);
}

static void update_wide(shaped *s, size_t column, const int64_t *ids, const int64_t *values, size_t size) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t i = 0; i < size; i++) {
        int64_t row[wide_width];
        get_number(s, 0, ids[i], row, wide_bytes);
        row[column] = values[i];
        put_number(batch, 0, ids[i], row, wide_bytes);
    }
    write_batch(s, batch);
}

static void write_big(shaped *s, int64_t id, const uint8_t *bytes, size_t size) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    put_number(batch, 0, id, bytes, size);
    write_batch(s, batch);
}

static void read_big(shaped *s, int64_t id, uint8_t *bytes, size_t size) { get_number(s, 0, id, bytes, size); }

static void update_class(shaped *s, size_t index, int64_t value) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    put_number(batch, index, 1, &value, 8);
    write_batch(s, batch);
}

static int64_t read_class(shaped *s, size_t index) {
    int64_t value;
    get_number(s, index, 1, &value, 8);
    return value;
}

const shapes shapes_rocksdb = {
    .create = create, .open = open_existing, .close = close_shaped,
    .insert_people = insert_people, .lookup_people = lookup_people,
    .insert_wide = insert_wide, .read_wide = read_wide, .update_wide = update_wide,
    .write_big = write_big, .read_big = read_big,
    .update_class = update_class, .read_class = read_class,
};
