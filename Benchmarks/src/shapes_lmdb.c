// LMDB: stores of another shape than Person. A class is a database (MDB_dbi) of its own.
#include "bench.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct __attribute__((packed)) {
    double score;
    uint8_t age, name_length, email_length;     // email_length 255: null
    char text[46];                              // name, then email
} record;

enum { record_head = offsetof(record, text), wide_bytes = wide_width * 8 };

struct shaped {
    MDB_env *environment;
    MDB_dbi things, ages, classes[class_limit];
};

#define check(call) \
    do { int status_ = (call); if (status_) die("lmdb: %s: %s", #call, mdb_strerror(status_)); } while (0)

static MDB_txn *begin(shaped *s, unsigned flags) {
    MDB_txn *t;
    check(mdb_txn_begin(s->environment, NULL, flags, &t));
    return t;
}

static void put(
    MDB_txn *t, MDB_dbi where, const void *key, size_t key_size, const void *value, size_t value_size, unsigned flags) {
    MDB_val k = {key_size, (void *)key}, v = {value_size, (void *)value};
    check(mdb_put(t, where, &k, &v, flags));
}

static const void *get(MDB_txn *t, MDB_dbi where, const void *key, size_t key_size, size_t size_wanted) {
    MDB_val k = {key_size, (void *)key}, v;
    check(mdb_get(t, where, &k, &v));
    if (size_wanted && v.mv_size != size_wanted) die("lmdb: %zu bytes, not %zu", v.mv_size, size_wanted);
    return v.mv_data;
}

static shaped *open_shaped(const char *dir, shape what, size_t count, bool create) {
    if (count > class_limit) die("lmdb: %zu classes", count);
    shaped *s = must_alloc(sizeof *s);
    check(mdb_env_create(&s->environment));
    check(mdb_env_set_mapsize(s->environment, (size_t)64 << 30));
    check(mdb_env_set_maxdbs(s->environment, 2 + class_limit));
    check(mdb_env_open(s->environment, dir, MDB_NOTLS, 0644));
    MDB_txn *t = begin(s, create ? 0 : MDB_RDONLY);
    unsigned flag = create ? MDB_CREATE : 0;
    for (size_t c = 0; what == CLASSES && c < count; c++) {
        char name[24];
        snprintf(name, sizeof name, "class%zu", c);
        check(mdb_dbi_open(t, name, MDB_INTEGERKEY | flag, &s->classes[c]));
        const int64_t id = 1, value = 0;
        if (create) put(t, s->classes[c], &id, 8, &value, 8, 0);
    }
    if (what != CLASSES) check(mdb_dbi_open(t, "things", (what == TEXT_KEYS ? 0 : MDB_INTEGERKEY) | flag, &s->things));
    if (what == TEXT_KEYS) check(mdb_dbi_open(t, "ages", MDB_DUPSORT | MDB_DUPFIXED | flag, &s->ages));
    check(mdb_txn_commit(t));
    return s;
}

static shaped *create(const char *dir, shape what, size_t count) { return open_shaped(dir, what, count, true); }
static shaped *open_existing(const char *dir, shape what, size_t count) { return open_shaped(dir, what, count, false); }

static void close_shaped(shaped *s) {
    mdb_env_close(s->environment);
    free(s);
}

static void insert_people(shaped *s, const people *p, const char *keys) {
    MDB_txn *t = begin(s, 0);
    for (size_t i = 0; i < p->count; i++) {
        const char *key = keys + i * text_key_length;
        record r = {p->score[i], p->age[i], (uint8_t)name_length(p, i),
                    p->email_is_null[i] ? 255 : (uint8_t)email_length(p, i), {0}};
        memcpy(r.text, name_of(p, i), name_length(p, i));
        memcpy(r.text + name_length(p, i), email_of(p, i), email_length(p, i));
        put(t, s->things, key, text_key_length, &r, record_head + name_length(p, i) + email_length(p, i),
            MDB_NOOVERWRITE);
        put(t, s->ages, p->age + i, 1, key, text_key_length, 0);
    }
    check(mdb_txn_commit(t));
}

static void lookup_people(shaped *s, const char *keys, const int64_t *which, size_t size, int64_t *ages) {
    MDB_txn *t = begin(s, MDB_RDONLY);
    for (size_t i = 0; i < size; i++) {
        const record *r = get(t, s->things, keys + (size_t)which[i] * text_key_length, text_key_length, 0);
        ages[i] = r->age;
    }
    mdb_txn_abort(t);
}

static void insert_wide(shaped *s, const int64_t *values, size_t rows) {
    MDB_txn *t = begin(s, 0);
    for (int64_t i = 0; i < (int64_t)rows; i++)
        put(t, s->things, &i, 8, values + i * wide_width, wide_bytes, MDB_APPEND);
    check(mdb_txn_commit(t));
}

static void read_wide(shaped *s, const int64_t *ids, size_t size, int64_t *values) {
    MDB_txn *t = begin(s, MDB_RDONLY);
    for (size_t i = 0; i < size; i++)
        memcpy(values + i * wide_width, get(t, s->things, &ids[i], 8, wide_bytes), wide_bytes);
    mdb_txn_abort(t);
}

static void update_wide(shaped *s, size_t column, const int64_t *ids, const int64_t *values, size_t size) {
    MDB_txn *t = begin(s, 0);
    for (size_t i = 0; i < size; i++) {
        int64_t row[wide_width];
        memcpy(row, get(t, s->things, &ids[i], 8, wide_bytes), wide_bytes);
        row[column] = values[i];
        put(t, s->things, &ids[i], 8, row, wide_bytes, 0);
    }
    check(mdb_txn_commit(t));
}

static void write_big(shaped *s, int64_t id, const uint8_t *bytes, size_t size) {
    MDB_txn *t = begin(s, 0);
    put(t, s->things, &id, 8, bytes, size, MDB_NOOVERWRITE);
    check(mdb_txn_commit(t));
}

static void read_big(shaped *s, int64_t id, uint8_t *bytes, size_t size) {
    MDB_txn *t = begin(s, MDB_RDONLY);
    memcpy(bytes, get(t, s->things, &id, 8, size), size);
    mdb_txn_abort(t);
}

static void update_class(shaped *s, size_t index, int64_t value) {
    const int64_t id = 1;
    MDB_txn *t = begin(s, 0);
    put(t, s->classes[index], &id, 8, &value, 8, 0);
    check(mdb_txn_commit(t));
}

static int64_t read_class(shaped *s, size_t index) {
    const int64_t id = 1;
    int64_t value;
    MDB_txn *t = begin(s, MDB_RDONLY);
    memcpy(&value, get(t, s->classes[index], &id, 8, 8), 8);
    mdb_txn_abort(t);
    return value;
}

const shapes shapes_lmdb = {
    .create = create, .open = open_existing, .close = close_shaped,
    .insert_people = insert_people, .lookup_people = lookup_people,
    .insert_wide = insert_wide, .read_wide = read_wide, .update_wide = update_wide,
    .write_big = write_big, .read_big = read_big,
    .update_class = update_class, .read_class = read_class,
};
