// LMDB: one record an object under an integer key, and a DUPSORT database age → id as the index.
#include "bench.h"
#include "record_lmdb.h"

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

struct store {
    MDB_env *environment;
    MDB_dbi objects, ages;
    bool indexed;
};

#define check(call) \
    do { int status_ = (call); if (status_) die("lmdb: %s: %s", #call, mdb_strerror(status_)); } while (0)

static const char *version(void) { return mdb_version(NULL, NULL, NULL); }

static store *open_store(const char *dir, open_options options, bool create) {
    store *s = must_alloc(sizeof *s);
    check(mdb_env_create(&s->environment));
    check(mdb_env_set_mapsize(s->environment, (size_t)64 << 30));
    check(mdb_env_set_maxdbs(s->environment, 2));
    // MDB_NOSYNC keeps commits whole as long as the file system keeps the order of writes.
    unsigned flags = MDB_NOTLS | (options.durability == DURABLE ? 0 : MDB_NOSYNC);
    check(mdb_env_open(s->environment, dir, flags, 0644));
    MDB_txn *t;
    check(mdb_txn_begin(s->environment, NULL, create ? 0 : MDB_RDONLY, &t));
    check(mdb_dbi_open(t, "person", MDB_INTEGERKEY | (create ? MDB_CREATE : 0), &s->objects));
    unsigned index_flags = MDB_INTEGERKEY | MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP;
    if (create) {
        s->indexed = options.indexed;
        if (s->indexed) check(mdb_dbi_open(t, "person_age", index_flags | MDB_CREATE, &s->ages));
    } else {
        int status = mdb_dbi_open(t, "person_age", index_flags, &s->ages);
        if (status != MDB_NOTFOUND) check(status);
        s->indexed = status == MDB_SUCCESS;
    }
    check(mdb_txn_commit(t));
    return s;
}

static store *create_store(const char *dir, open_options options) { return open_store(dir, options, true); }
static store *open_existing(const char *dir, open_options options) { return open_store(dir, options, false); }

static void close_store(store *s) {
    check(mdb_env_sync(s->environment, 1));
    mdb_env_close(s->environment);
    free(s);
}

static uint64_t data_bytes(const char *dir) {
    char *path = format_path("%s/data.mdb", dir);
    uint64_t bytes = file_bytes(path);
    free(path);
    return bytes;
}

// Makes the record of object i with this age; returns its length.
static size_t fill(record *r, const people *p, size_t i, uint8_t age) {
    *r = (record){p->id[i], p->score[i], age, (uint16_t)name_length(p, i),
                  p->email_is_null[i] ? -1 : (int16_t)email_length(p, i), {0}};
    memcpy(r->text, name_of(p, i), name_length(p, i));
    memcpy(r->text + name_length(p, i), email_of(p, i), email_length(p, i));
    return record_head + name_length(p, i) + email_length(p, i);
}

static void put_age(store *s, MDB_txn *t, int64_t id, uint64_t age) {
    MDB_val key = {8, &age}, value = {8, &id};
    if (s->indexed) check(mdb_put(t, s->ages, &key, &value, 0));
}

static void delete_age(store *s, MDB_txn *t, int64_t id, uint64_t age) {
    MDB_val key = {8, &age}, value = {8, &id};
    if (s->indexed) check(mdb_del(t, s->ages, &key, &value));
}

// `rows` NULL: all, in order. Keys that come in order go to the end without a search.
static void insert_some(store *s, const people *p, const int64_t *rows, size_t size) {
    MDB_txn *t;
    check(mdb_txn_begin(s->environment, NULL, 0, &t));
    bool rising = rows == NULL;
    for (size_t i = 1; rising && i < size; i++) rising = p->id[i - 1] < p->id[i];
    for (size_t k = 0; k < size; k++) {
        size_t i = rows ? (size_t)rows[k] : k;
        record r;
        int64_t id = p->id[i];
        size_t length = fill(&r, p, i, p->age[i]);
        MDB_val key = {8, &id}, value = {length, &r};
        check(mdb_put(t, s->objects, &key, &value, rising ? MDB_APPEND : MDB_NOOVERWRITE));
        put_age(s, t, id, p->age[i]);
    }
    check(mdb_txn_commit(t));
}

static void insert(store *s, const people *p) { insert_some(s, p, NULL, p->count); }

static size_t upsert(store *s, const people *p, const int64_t *rows, const uint8_t *ages, size_t size, bool all) {
    MDB_txn *t;
    size_t written = 0;
    check(mdb_txn_begin(s->environment, NULL, 0, &t));
    for (size_t k = 0; k < size; k++) {
        record r;
        int64_t id = p->id[rows[k]];
        size_t length = fill(&r, p, (size_t)rows[k], ages[k]);
        MDB_val key = {8, &id}, value, changed = {length, &r};
        const int status = mdb_get(t, s->objects, &key, &value);
        if (status != MDB_NOTFOUND) check(status);
        const bool is_there = status != MDB_NOTFOUND;
        if (!all && is_there && value.mv_size == length && memcmp(value.mv_data, &r, length) == 0) continue;
        uint64_t old_age = is_there ? (uint64_t)((const record *)value.mv_data)->age : 0;
        check(mdb_put(t, s->objects, &key, &changed, 0));
        written++;
        if (is_there && old_age == ages[k]) continue;
        if (is_there) delete_age(s, t, id, old_age);
        put_age(s, t, id, ages[k]);
    }
    check(mdb_txn_commit(t));
    return written;
}

static void delete_some(store *s, const int64_t *ids, size_t size) {
    MDB_txn *t;
    check(mdb_txn_begin(s->environment, NULL, 0, &t));
    for (size_t i = 0; i < size; i++) {
        int64_t id = ids[i];
        MDB_val key = {8, &id}, value;
        check(mdb_get(t, s->objects, &key, &value));
        uint64_t age = (uint64_t)((const record *)value.mv_data)->age;
        check(mdb_del(t, s->objects, &key, NULL));
        delete_age(s, t, id, age);
    }
    check(mdb_txn_commit(t));
}

// Walks the objects and deletes on the way; the index loses whole ages.
static uint64_t delete_from_age(store *s, int64_t limit) {
    MDB_txn *t;
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t deleted = 0;
    check(mdb_txn_begin(s->environment, NULL, 0, &t));
    check(mdb_cursor_open(t, s->objects, &cursor));
    int status = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    for (; status == MDB_SUCCESS; status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        if (((const record *)value.mv_data)->age < limit) continue;
        check(mdb_cursor_del(cursor, 0));       // the next MDB_NEXT gives what came behind it
        deleted++;
    }
    if (status != MDB_NOTFOUND) check(status);
    mdb_cursor_close(cursor);
    if (s->indexed) {
        uint64_t age = (uint64_t)limit;
        check(mdb_cursor_open(t, s->ages, &cursor));
        key = (MDB_val){8, &age};
        status = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
        for (; status == MDB_SUCCESS; status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))
            check(mdb_cursor_del(cursor, MDB_NODUPDATA));
        if (status != MDB_NOTFOUND) check(status);
        mdb_cursor_close(cursor);
    }
    check(mdb_txn_commit(t));
    return deleted;
}

static void update_ages(store *s, const int64_t *ids, const uint8_t *ages, size_t size) {
    MDB_txn *t;
    check(mdb_txn_begin(s->environment, NULL, 0, &t));
    for (size_t i = 0; i < size; i++) {
        int64_t id = ids[i];
        MDB_val key = {8, &id}, value;
        check(mdb_get(t, s->objects, &key, &value));
        record r;
        memcpy(&r, value.mv_data, value.mv_size);
        uint64_t old_age = (uint64_t)r.age, new_age = ages[i];
        r.age = ages[i];
        MDB_val changed = {value.mv_size, &r};
        check(mdb_put(t, s->objects, &key, &changed, 0));
        if (old_age == new_age) continue;
        delete_age(s, t, id, old_age);
        put_age(s, t, id, new_age);
    }
    check(mdb_txn_commit(t));
}

static void add_to_all_scores(store *s, double by) {
    MDB_txn *t;
    MDB_cursor *cursor;
    check(mdb_txn_begin(s->environment, NULL, 0, &t));
    check(mdb_cursor_open(t, s->objects, &cursor));
    MDB_val key, value;
    int status = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    for (; status == MDB_SUCCESS; status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        record r;
        memcpy(&r, value.mv_data, value.mv_size);
        r.score += by;
        MDB_val changed = {value.mv_size, &r};
        check(mdb_cursor_put(cursor, &key, &changed, MDB_CURRENT));
    }
    if (status != MDB_NOTFOUND) check(status);
    mdb_cursor_close(cursor);
    check(mdb_txn_commit(t));
}

static MDB_txn *begin_read(store *s) {
    MDB_txn *t;
    check(mdb_txn_begin(s->environment, NULL, MDB_RDONLY, &t));
    return t;
}

static const record *find(MDB_txn *t, MDB_dbi objects, int64_t id) {
    MDB_val key = {8, &id}, value;
    check(mdb_get(t, objects, &key, &value));
    return value.mv_data;
}

static void lookup_ages(store *s, const int64_t *ids, size_t size, int64_t *ages) {
    MDB_txn *t = begin_read(s);
    for (size_t i = 0; i < size; i++) ages[i] = find(t, s->objects, ids[i])->age;
    mdb_txn_abort(t);
}

// Runs `body` for each record `r` of the store, in the order of ids.
#define each_record(s, r, body)                                                                     \
    do {                                                                                            \
        MDB_txn *t_ = begin_read(s);                                                                \
        MDB_cursor *cursor_;                                                                        \
        check(mdb_cursor_open(t_, (s)->objects, &cursor_));                                         \
        MDB_val key_, value_;                                                                       \
        int status_ = mdb_cursor_get(cursor_, &key_, &value_, MDB_FIRST);                           \
        for (; status_ == MDB_SUCCESS; status_ = mdb_cursor_get(cursor_, &key_, &value_, MDB_NEXT)) { \
            const record *r = value_.mv_data;                                                       \
            body;                                                                                   \
        }                                                                                           \
        if (status_ != MDB_NOTFOUND) check(status_);                                                \
        mdb_cursor_close(cursor_);                                                                  \
        mdb_txn_abort(t_);                                                                          \
    } while (0)

static uint64_t count_through_index(store *s, int64_t limit) {
    MDB_txn *t = begin_read(s);
    MDB_cursor *cursor;
    check(mdb_cursor_open(t, s->ages, &cursor));
    MDB_val key, value;
    uint64_t hits = 0;
    int status = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    for (; status == MDB_SUCCESS; status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT_NODUP)) {
        uint64_t age;
        memcpy(&age, key.mv_data, 8);
        if ((int64_t)age >= limit) break;
        size_t duplicates;
        check(mdb_cursor_count(cursor, &duplicates));
        hits += duplicates;
    }
    if (status != MDB_NOTFOUND) check(status);
    mdb_cursor_close(cursor);
    mdb_txn_abort(t);
    return hits;
}

static uint64_t count_age_below(store *s, int64_t limit, bool through_index) {
    if (through_index) return count_through_index(s, limit);
    uint64_t hits = 0;
    each_record(s, r, hits += r->age < limit);
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

static uint64_t count_name(store *s, const char *name, size_t length) {
    uint64_t hits = 0;
    each_record(s, r, hits += r->name_length == length && memcmp(r->text, name, length) == 0);
    return hits;
}

static void read_scores(store *s, double *out, size_t count) {
    size_t i = 0;
    each_record(s, r, { if (i < count) out[i] = r->score; i++; });
    if (i != count) die("lmdb: %zu objects, not %zu", i, count);
}

// The fence represents "the caller does not know the value yet": without it the loop is one load.
#define fence() __asm__ volatile("" ::: "memory")

static uint64_t read_age_of_row(store *s, const int64_t *ids, size_t size, size_t times) {
    MDB_txn *t = begin_read(s);
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        const record *r = find(t, s->objects, ids[i]);
        for (size_t k = 0; k < times; k++) { sum += (uint64_t)r->age; fence(); }
    }
    mdb_txn_abort(t);
    return sum;
}

static uint64_t read_name_of_row(store *s, const int64_t *ids, size_t size, size_t times) {
    MDB_txn *t = begin_read(s);
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        const record *r = find(t, s->objects, ids[i]);
        for (size_t k = 0; k < times; k++) { sum += (uint64_t)r->text[0] + r->name_length; fence(); }
    }
    mdb_txn_abort(t);
    return sum;
}

struct pinned { MDB_txn *transaction; MDB_dbi objects; };

static pinned *pin(store *s) {
    pinned *p = must_alloc(sizeof *p);
    *p = (pinned){begin_read(s), s->objects};
    return p;
}

static void pinned_lookup_ages(pinned *p, const int64_t *ids, size_t size, int64_t *ages) {
    for (size_t i = 0; i < size; i++) ages[i] = find(p->transaction, p->objects, ids[i])->age;
}

static void unpin(pinned *p) {
    mdb_txn_abort(p->transaction);
    free(p);
}

const peer peer_lmdb = {
    .name = "lmdb", .version = version,
    .create = create_store, .open = open_existing, .close = close_store,
    .data_bytes = data_bytes, .open_bytes = data_bytes,
    .insert = insert, .update_ages = update_ages, .add_to_all_scores = add_to_all_scores,
    .lookup_ages = lookup_ages, .count_age_below = count_age_below, .sum_scores = sum_scores,
    .count_name = count_name, .read_scores = read_scores,
    .read_age_of_row = read_age_of_row, .read_name_of_row = read_name_of_row,
    .insert_some = insert_some, .delete_some = delete_some, .delete_from_age = delete_from_age, .upsert = upsert,
    .aggregate_scores = aggregate_scores,
    .pin = pin, .pinned_lookup_ages = pinned_lookup_ages, .unpin = unpin, .shapes = &shapes_lmdb,
};
