// LMDB: the questions of queries.h that a program answers by hand: a walk over the records of Person, or over the
// index of ages. It has no language, so a question is a name.
#include "queries.h"
#include "record_lmdb.h"

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

struct database {
    MDB_env *environment;
    MDB_dbi objects, ages;
    bool indexed;
};

typedef bool condition(const record *r);
typedef size_t list_function(question *q, MDB_cursor *objects, size_t room);

typedef struct {
    const char *name;
    condition *condition;       // what is counted
    list_function *list;        // or listed
} by_hand;

struct question {
    const by_hand *how;
    database *of;
    MDB_txn *transaction;       // kept, and renewed for each answer
    int64_t *found;
    size_t count, room;
};

#define check(call) \
    do { int status_ = (call); if (status_) die("lmdb: %s: %s", #call, mdb_strerror(status_)); } while (0)

// ------------------------------------------------------------------------------------- conditions

static bool is_one_of_ten(const record *r) {
    static const uint8_t ten[128] = {[3] = 1, [14] = 1, [15] = 1, [92] = 1, [65] = 1,
                                     [35] = 1, [89] = 1, [79] = 1, [32] = 1, [38] = 1};
    return ten[r->age & 127];
}

static bool contains(const record *r) { return memmem(r->text, r->name_length, "xyz", 3) != NULL; }

static bool contains_c(const record *r) {
    for (size_t i = 0; i + 3 <= r->name_length; i++)
        if ((r->text[i] | 32) == 'x' && (r->text[i + 1] | 32) == 'y' && (r->text[i + 2] | 32) == 'z') return true;
    return false;
}

static bool like(const record *r) {
    const char *text = r->text, *end = text + r->name_length;
    if (text == end || *text != 'a') return false;
    const char *b = memchr(text + 1, 'b', (size_t)(end - text - 1));
    return b && memchr(b, 'c', (size_t)(end - b));
}

static bool like_c(const record *r) {
    const char *text = r->text, *end = text + r->name_length;
    if (text == end || (*text | 32) != 'a') return false;
    while (++text < end && (*text | 32) != 'b') {}
    while (text < end && (*text | 32) != 'c') text++;
    return text < end;
}

// ------------------------------------------------------------------------------------------ lists

static bool next(MDB_cursor *cursor, MDB_val *key, MDB_val *value) {
    const int status = mdb_cursor_get(cursor, key, value, MDB_NEXT);
    if (status != MDB_NOTFOUND) check(status);
    return status == 0;
}

static size_t distinct_ages(question *q, MDB_cursor *objects, size_t room) {
    bool seen[256] = {0};
    size_t found = 0;
    MDB_val key, value;
    while (next(objects, &key, &value)) {
        const uint8_t age = (uint8_t)((const record *)value.mv_data)->age;
        if (seen[age] || found == room) continue;
        seen[age] = true;
        q->found[found++] = age;
    }
    return found;
}

static size_t first_page(question *q, MDB_cursor *objects, size_t room) {
    size_t found = 0;
    MDB_val key, value;
    while (found < 100 && found < room && next(objects, &key, &value)) {
        const record *r = value.mv_data;
        if (r->score < 50000) q->found[found++] = r->id;
    }
    return found;
}

// The index has equal ages in the order of ids.
static size_t first_by_age(question *q, MDB_cursor *objects, size_t room) {
    (void)objects;
    size_t found = 0;
    MDB_cursor *cursor;
    MDB_val key, value;
    check(mdb_cursor_open(q->transaction, q->of->ages, &cursor));
    while (found < 100 && found < room && next(cursor, &key, &value)) memcpy(&q->found[found++], value.mv_data, 8);
    mdb_cursor_close(cursor);
    return found;
}

// ---------------------------------------------------------------------------------------- answers

static const by_hand all_by_hand[] = {
    {"count_in_10", is_one_of_ten, NULL},
    {"string_contains", contains, NULL},
    {"string_contains_c", contains_c, NULL},
    {"string_like", like, NULL},
    {"string_like_c", like_c, NULL},
    {"distinct", NULL, distinct_ages},
    {"first_page", NULL, first_page},
    {"sort_from_index", NULL, first_by_age},
    {"group_100", NULL, NULL},
};

static const by_hand *find(const char *name) {
    for (size_t i = 0; i < sizeof all_by_hand / sizeof *all_by_hand; i++)
        if (!strcmp(all_by_hand[i].name, name)) return &all_by_hand[i];
    return NULL;
}

static const char *version(void) { return mdb_version(NULL, NULL, NULL); }
static bool answers(const char *name) { return find(name) != NULL; }

static database *open_database(const char *dir, bool of_kennel) {
    if (of_kennel) die("lmdb: there is no store of dogs");
    database *d = must_alloc(sizeof *d);
    check(mdb_env_create(&d->environment));
    check(mdb_env_set_mapsize(d->environment, (size_t)64 << 30));
    check(mdb_env_set_maxdbs(d->environment, 2));
    check(mdb_env_open(d->environment, dir, MDB_NOTLS | MDB_RDONLY, 0644));
    MDB_txn *t;
    check(mdb_txn_begin(d->environment, NULL, MDB_RDONLY, &t));
    check(mdb_dbi_open(t, "person", MDB_INTEGERKEY, &d->objects));
    const unsigned flags = MDB_INTEGERKEY | MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP;
    const int status = mdb_dbi_open(t, "person_age", flags, &d->ages);
    if (status != MDB_NOTFOUND) check(status);
    d->indexed = status == 0;
    check(mdb_txn_commit(t));
    return d;
}

static void close_database(database *d) {
    mdb_env_close(d->environment);
    free(d);
}

static question *prepare(database *d, const char *class_name, const char *text) {
    (void)class_name;
    question *q = must_alloc(sizeof *q);
    *q = (question){.how = find(text), .of = d};
    if (!q->how || (q->how->list == first_by_age && !d->indexed)) die("lmdb: nothing answers %s", text);
    check(mdb_txn_begin(d->environment, NULL, MDB_RDONLY, &q->transaction));
    mdb_txn_reset(q->transaction);
    return q;
}

static void finish(question *q) {
    mdb_txn_abort(q->transaction);
    free(q->found);
    free(q);
}

static MDB_cursor *begin(question *q) {
    MDB_cursor *cursor;
    check(mdb_txn_renew(q->transaction));
    check(mdb_cursor_open(q->transaction, q->of->objects, &cursor));
    return cursor;
}

static void end(question *q, MDB_cursor *cursor) {
    mdb_cursor_close(cursor);
    mdb_txn_reset(q->transaction);
}

static uint64_t count(question *q) {
    MDB_cursor *cursor = begin(q);
    MDB_val key, value;
    uint64_t found = 0;
    while (next(cursor, &key, &value)) found += q->how->condition(value.mv_data);
    end(q, cursor);
    return found;
}

static size_t list(question *q, size_t room) {
    if (q->room < room) {
        free(q->found);
        q->found = must_alloc(room * 8);
        q->room = room;
    }
    MDB_cursor *cursor = begin(q);
    q->count = q->how->list(q, cursor, room);
    end(q, cursor);
    return q->count;
}

static void ids(question *q, int64_t *ids) { memcpy(ids, q->found, q->count * 8); }

static size_t groups(question *q, size_t room, group_columns groups) {
    struct { int64_t count; double sum; } by_age[256] = {0};
    MDB_cursor *cursor = begin(q);
    MDB_val key, value;
    while (next(cursor, &key, &value)) {
        const record *r = value.mv_data;
        by_age[(uint8_t)r->age].count++;
        by_age[(uint8_t)r->age].sum += r->score;
    }
    end(q, cursor);
    size_t found = 0;
    for (int age = 0; age < 256 && found < room; age++) {
        if (!by_age[age].count) continue;
        groups.key[found] = age;
        groups.count[found] = by_age[age].count;
        groups.sum[found++] = by_age[age].sum;
    }
    return found;
}

const queries queries_lmdb = {
    .version = version,
    .answers = answers,
    .open = open_database,
    .close = close_database,
    .prepare = prepare,
    .finish = finish,
    .count = count,
    .list = list,
    .ids = ids,
    .groups = groups,
};
