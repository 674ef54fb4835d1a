// SQLite: WAL, synchronous=FULL, prepared statements, 64 MiB of page cache.
#include "bench.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
    BEGIN, COMMIT, INSERT, UPDATE_AGE, ADD_TO_SCORES, FIND_AGE, FIND_NAME,
    COUNT_SCAN, COUNT_INDEX, SUM, COUNT_NAME, SCORES, AGGREGATE, DELETE, DELETE_FROM_AGE, UPSERT_ALL, UPSERT_MODIFIED,
    STATEMENTS
} statement_name;

static const char *const sql[STATEMENTS] = {
    [BEGIN] = "BEGIN",
    [COMMIT] = "COMMIT",
    [INSERT] = "INSERT INTO person(id, name, age, score, email) VALUES (?1, ?2, ?3, ?4, ?5)",
    [UPDATE_AGE] = "UPDATE person SET age = ?2 WHERE id = ?1",
    [ADD_TO_SCORES] = "UPDATE person SET score = score + ?1",
    [FIND_AGE] = "SELECT age FROM person WHERE id = ?1",
    [FIND_NAME] = "SELECT name FROM person WHERE id = ?1",
    [COUNT_SCAN] = "SELECT count(*) FROM person NOT INDEXED WHERE age < ?1",
    [COUNT_INDEX] = "SELECT count(*) FROM person INDEXED BY person_age WHERE age < ?1",
    [SUM] = "SELECT sum(score) FROM person",
    [COUNT_NAME] = "SELECT count(*) FROM person WHERE name = ?1",
    [SCORES] = "SELECT score FROM person ORDER BY id",
    [AGGREGATE] = "SELECT sum(score), avg(score), max(score) FROM person",
    [DELETE] = "DELETE FROM person WHERE id = ?1",
    [DELETE_FROM_AGE] = "DELETE FROM person WHERE age >= ?1",
    [UPSERT_ALL] =
        "INSERT INTO person(id, name, age, score, email) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT(id) DO UPDATE"
        " SET name = excluded.name, age = excluded.age, score = excluded.score, email = excluded.email",
    [UPSERT_MODIFIED] =
        "INSERT INTO person(id, name, age, score, email) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT(id) DO UPDATE"
        " SET name = excluded.name, age = excluded.age, score = excluded.score, email = excluded.email"
        " WHERE name IS NOT excluded.name OR age IS NOT excluded.age OR score IS NOT excluded.score"
        " OR email IS NOT excluded.email",
};

struct store {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENTS];   // prepared when first used
    char *path;
    pthread_mutex_t writer;                 // one writer at a time: waiting here beats its busy handler
};

#define check(s, call)                                                                       \
    do {                                                                                     \
        int status_ = (call);                                                                \
        if (status_ != SQLITE_OK)                                                            \
            die("sqlite: %s: %s (%s)", #call, sqlite3_errstr(status_), sqlite3_errmsg((s)->database)); \
    } while (0)

static void execute(store *s, const char *text) { check(s, sqlite3_exec(s->database, text, NULL, NULL, NULL)); }

static sqlite3_stmt *statement(store *s, statement_name name) {
    if (!s->statements[name])
        check(s, sqlite3_prepare_v3(s->database, sql[name], -1, SQLITE_PREPARE_PERSISTENT, &s->statements[name], NULL));
    return s->statements[name];
}

// Steps to a row; anything else is an error.
static void step_row(store *s, sqlite3_stmt *q) {
    int status = sqlite3_step(q);
    if (status != SQLITE_ROW) die("sqlite: no row: %s (%s)", sqlite3_errstr(status), sqlite3_errmsg(s->database));
}

static void step_done(store *s, sqlite3_stmt *q) {
    int status = sqlite3_step(q);
    if (status != SQLITE_DONE) die("sqlite: not done: %s (%s)", sqlite3_errstr(status), sqlite3_errmsg(s->database));
    check(s, sqlite3_reset(q));
}

static void run(store *s, statement_name name) { step_done(s, statement(s, name)); }

static store *open_store(const char *dir, open_options options, bool create) {
    store *s = must_alloc(sizeof *s);
    s->path = format_path("%s/store.sqlite", dir);
    if (pthread_mutex_init(&s->writer, NULL)) die("no mutex");
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
    check(s, sqlite3_open_v2(s->path, &s->database, flags, NULL));
    check(s, sqlite3_extended_result_codes(s->database, 1));
    if (create) execute(s, "PRAGMA journal_mode=WAL");
    execute(s, options.durability == DURABLE ? "PRAGMA synchronous=FULL"
               : options.durability == RELAXED ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=OFF");
    execute(s, "PRAGMA cache_size=-65536; PRAGMA mmap_size=17179869184");
    if (create) {
        execute(s, "CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT NULL,"
                   " score REAL NOT NULL, email TEXT)");
        if (options.indexed) execute(s, "CREATE INDEX person_age ON person(age)");
    }
    statement(s, FIND_AGE);     // loads the schema, so that the store is ready
    return s;
}

static store *create_store(const char *dir, open_options options) { return open_store(dir, options, true); }
static store *open_existing(const char *dir, open_options options) { return open_store(dir, options, false); }

static void close_store(store *s) {
    for (size_t i = 0; i < STATEMENTS; i++) check(s, sqlite3_finalize(s->statements[i]));
    int status = sqlite3_close(s->database);    // the last connection checkpoints and removes the WAL
    if (status != SQLITE_OK) die("sqlite: close: %s", sqlite3_errstr(status));
    pthread_mutex_destroy(&s->writer);
    free(s->path);
    free(s);
}

static uint64_t bytes_of(const char *dir, const char *name) {
    char *path = format_path("%s/%s", dir, name);
    uint64_t bytes = file_bytes(path);
    free(path);
    return bytes;
}

static uint64_t data_bytes(const char *dir) { return bytes_of(dir, "store.sqlite"); }
static uint64_t open_bytes(const char *dir) { return data_bytes(dir) + bytes_of(dir, "store.sqlite-wal"); }

static void bind_object(store *s, sqlite3_stmt *q, const people *p, size_t i, int age) {
    check(s, sqlite3_bind_int64(q, 1, p->id[i]));
    check(s, sqlite3_bind_text(q, 2, name_of(p, i), (int)name_length(p, i), SQLITE_STATIC));
    check(s, sqlite3_bind_int(q, 3, age));
    check(s, sqlite3_bind_double(q, 4, p->score[i]));
    if (p->email_is_null[i]) check(s, sqlite3_bind_null(q, 5));
    else check(s, sqlite3_bind_text(q, 5, email_of(p, i), (int)email_length(p, i), SQLITE_STATIC));
}

// `rows` NULL: all, in order.
static void insert_some(store *s, const people *p, const int64_t *rows, size_t size) {
    sqlite3_stmt *q = statement(s, INSERT);
    run(s, BEGIN);
    for (size_t k = 0; k < size; k++) {
        size_t i = rows ? (size_t)rows[k] : k;
        bind_object(s, q, p, i, p->age[i]);
        step_done(s, q);
    }
    run(s, COMMIT);
}

static void insert(store *s, const people *p) { insert_some(s, p, NULL, p->count); }

static size_t upsert(store *s, const people *p, const int64_t *rows, const uint8_t *ages, size_t size, bool all) {
    sqlite3_stmt *q = statement(s, all ? UPSERT_ALL : UPSERT_MODIFIED);
    sqlite3_int64 before = sqlite3_total_changes64(s->database);
    run(s, BEGIN);
    for (size_t k = 0; k < size; k++) {
        bind_object(s, q, p, (size_t)rows[k], ages[k]);
        step_done(s, q);
    }
    run(s, COMMIT);
    return (size_t)(sqlite3_total_changes64(s->database) - before);
}

static void delete_some(store *s, const int64_t *ids, size_t size) {
    sqlite3_stmt *q = statement(s, DELETE);
    run(s, BEGIN);
    for (size_t i = 0; i < size; i++) {
        check(s, sqlite3_bind_int64(q, 1, ids[i]));
        step_done(s, q);
        if (sqlite3_changes(s->database) != 1) die("sqlite: object %ld is not there", ids[i]);
    }
    run(s, COMMIT);
}

static uint64_t delete_from_age(store *s, int64_t limit) {
    sqlite3_stmt *q = statement(s, DELETE_FROM_AGE);
    check(s, sqlite3_bind_int64(q, 1, limit));
    step_done(s, q);
    return (uint64_t)sqlite3_changes64(s->database);
}

static void update_ages(store *s, const int64_t *ids, const uint8_t *ages, size_t size) {
    if (pthread_mutex_lock(&s->writer)) die("no lock");
    sqlite3_stmt *q = statement(s, UPDATE_AGE);
    if (size > 1) run(s, BEGIN);
    for (size_t i = 0; i < size; i++) {
        check(s, sqlite3_bind_int64(q, 1, ids[i]));
        check(s, sqlite3_bind_int(q, 2, ages[i]));
        step_done(s, q);
        if (sqlite3_changes(s->database) != 1) die("sqlite: object %ld is not there", ids[i]);
    }
    if (size > 1) run(s, COMMIT);
    if (pthread_mutex_unlock(&s->writer)) die("no unlock");
}

static void add_to_all_scores(store *s, double by) {
    sqlite3_stmt *q = statement(s, ADD_TO_SCORES);
    check(s, sqlite3_bind_double(q, 1, by));
    step_done(s, q);
}

// The age of one object; resets the statement.
static int64_t find_age(store *s, sqlite3_stmt *q, int64_t id) {
    check(s, sqlite3_bind_int64(q, 1, id));
    step_row(s, q);
    int64_t age = sqlite3_column_int64(q, 0);
    check(s, sqlite3_reset(q));
    return age;
}

static void lookup_ages(store *s, const int64_t *ids, size_t size, int64_t *ages) {
    sqlite3_stmt *q = statement(s, FIND_AGE);
    run(s, BEGIN);
    for (size_t i = 0; i < size; i++) ages[i] = find_age(s, q, ids[i]);
    run(s, COMMIT);
}

static uint64_t count_of(store *s, sqlite3_stmt *q) {
    step_row(s, q);
    uint64_t count = (uint64_t)sqlite3_column_int64(q, 0);
    check(s, sqlite3_reset(q));
    return count;
}

static uint64_t count_age_below(store *s, int64_t limit, bool through_index) {
    sqlite3_stmt *q = statement(s, through_index ? COUNT_INDEX : COUNT_SCAN);
    check(s, sqlite3_bind_int64(q, 1, limit));
    return count_of(s, q);
}

static double sum_scores(store *s) {
    sqlite3_stmt *q = statement(s, SUM);
    step_row(s, q);
    double sum = sqlite3_column_double(q, 0);
    check(s, sqlite3_reset(q));
    return sum;
}

static void aggregate_scores(store *s, double out[3]) {
    sqlite3_stmt *q = statement(s, AGGREGATE);
    step_row(s, q);
    for (int i = 0; i < 3; i++) out[i] = sqlite3_column_double(q, i);
    check(s, sqlite3_reset(q));
}

static uint64_t count_name(store *s, const char *name, size_t length) {
    sqlite3_stmt *q = statement(s, COUNT_NAME);
    check(s, sqlite3_bind_text(q, 1, name, (int)length, SQLITE_STATIC));
    return count_of(s, q);
}

static void read_scores(store *s, double *out, size_t count) {
    sqlite3_stmt *q = statement(s, SCORES);
    for (size_t i = 0; i < count; i++) {
        step_row(s, q);
        out[i] = sqlite3_column_double(q, 0);
    }
    step_done(s, q);
}

static uint64_t read_age_of_row(store *s, const int64_t *ids, size_t size, size_t times) {
    sqlite3_stmt *q = statement(s, FIND_AGE);
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        check(s, sqlite3_bind_int64(q, 1, ids[i]));
        step_row(s, q);
        for (size_t k = 0; k < times; k++) sum += (uint64_t)sqlite3_column_int64(q, 0);
        check(s, sqlite3_reset(q));
    }
    return sum;
}

static uint64_t read_name_of_row(store *s, const int64_t *ids, size_t size, size_t times) {
    sqlite3_stmt *q = statement(s, FIND_NAME);
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        check(s, sqlite3_bind_int64(q, 1, ids[i]));
        step_row(s, q);
        for (size_t k = 0; k < times; k++) {
            const unsigned char *name = sqlite3_column_text(q, 0);
            if (!name) die("sqlite: no name");
            sum += name[0] + (uint64_t)sqlite3_column_bytes(q, 0);
        }
        check(s, sqlite3_reset(q));
    }
    return sum;
}

// A second connection inside a read transaction.
struct pinned { store connection; };

static pinned *pin(store *s) {
    pinned *p = must_alloc(sizeof *p);
    check(&p->connection,
        sqlite3_open_v2(s->path, &p->connection.database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL));
    run(&p->connection, BEGIN);
    find_age(&p->connection, statement(&p->connection, FIND_AGE), 0);   // BEGIN alone reads nothing yet
    // No checkpoint gets past this reader, but every commit would try and walk the whole log for it:
    // minutes of processor time for the same file.
    execute(s, "PRAGMA wal_autocheckpoint=0");
    return p;
}

static void pinned_lookup_ages(pinned *p, const int64_t *ids, size_t size, int64_t *ages) {
    sqlite3_stmt *q = statement(&p->connection, FIND_AGE);
    for (size_t i = 0; i < size; i++) ages[i] = find_age(&p->connection, q, ids[i]);
}

static void unpin(pinned *p) {
    run(&p->connection, COMMIT);
    for (size_t i = 0; i < STATEMENTS; i++) check(&p->connection, sqlite3_finalize(p->connection.statements[i]));
    int status = sqlite3_close(p->connection.database);
    if (status != SQLITE_OK) die("sqlite: close: %s", sqlite3_errstr(status));
    free(p);
}

const peer peer_sqlite = {
    .name = "sqlite", .version = sqlite3_libversion,
    .create = create_store, .open = open_existing, .close = close_store,
    .data_bytes = data_bytes, .open_bytes = open_bytes,
    .insert = insert, .update_ages = update_ages, .add_to_all_scores = add_to_all_scores,
    .lookup_ages = lookup_ages, .count_age_below = count_age_below, .sum_scores = sum_scores,
    .count_name = count_name, .read_scores = read_scores,
    .read_age_of_row = read_age_of_row, .read_name_of_row = read_name_of_row,
    .insert_some = insert_some, .delete_some = delete_some, .delete_from_age = delete_from_age, .upsert = upsert,
    .aggregate_scores = aggregate_scores,
    .pin = pin, .pinned_lookup_ages = pinned_lookup_ages, .unpin = unpin,
    .one_thread = true, .shapes = &shapes_sqlite,
};
