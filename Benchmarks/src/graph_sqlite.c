// SQLite: the objects of graph.h in tables with foreign keys, both ends of each link indexed. Options as in
// peer_sqlite.c.
#include "graph.h"

#include <sqlite3.h>
#include <stdlib.h>

struct graph {
    sqlite3 *database;
    sqlite3_stmt *dogs_of;      // prepared when first used
};

#define check(g, call)                                                                       \
    do {                                                                                     \
        int status_ = (call);                                                                \
        if (status_ != SQLITE_OK)                                                            \
            die("sqlite: %s: %s (%s)", #call, sqlite3_errstr(status_), sqlite3_errmsg((g)->database)); \
    } while (0)

static void execute(graph *g, const char *text) { check(g, sqlite3_exec(g->database, text, NULL, NULL, NULL)); }

static sqlite3_stmt *prepare(graph *g, const char *text) {
    sqlite3_stmt *q;
    check(g, sqlite3_prepare_v3(g->database, text, -1, SQLITE_PREPARE_PERSISTENT, &q, NULL));
    return q;
}

static void run(graph *g, sqlite3_stmt *q) {
    if (sqlite3_step(q) != SQLITE_DONE) die("sqlite: %s", sqlite3_errmsg(g->database));
    check(g, sqlite3_reset(q));
}

static int64_t answer(graph *g, sqlite3_stmt *q) {
    if (sqlite3_step(q) != SQLITE_ROW) die("sqlite: no row: %s", sqlite3_errmsg(g->database));
    const int64_t value = sqlite3_column_int64(q, 0);
    check(g, sqlite3_reset(q));
    return value;
}

static int64_t ask(graph *g, const char *text) {
    sqlite3_stmt *q = prepare(g, text);
    const int64_t value = answer(g, q);
    check(g, sqlite3_finalize(q));
    return value;
}

static void open_database(graph *g, const char *dir) {
    char *path = format_path("%s/graph.sqlite", dir);
    check(
        g, sqlite3_open_v2(path, &g->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_CREATE, NULL));
    free(path);
    execute(g, "PRAGMA journal_mode=WAL");
    execute(
        g, "PRAGMA synchronous=FULL; PRAGMA cache_size=-65536; PRAGMA mmap_size=17179869184; PRAGMA foreign_keys=ON");
}

static graph *create(const char *dir) {
    graph *g = must_alloc(sizeof *g);
    open_database(g, dir);
    execute(g, "CREATE TABLE person(id INTEGER PRIMARY KEY);"
               "CREATE TABLE note(person INTEGER REFERENCES person(id) ON DELETE CASCADE, key TEXT, value INTEGER NOT "
               "NULL, PRIMARY KEY(person, key)) WITHOUT ROWID;"
               "CREATE TABLE label(person INTEGER REFERENCES person(id) ON DELETE CASCADE, value TEXT, PRIMARY "
               "KEY(person, value)) WITHOUT ROWID;"
               "CREATE TABLE dog(id INTEGER PRIMARY KEY, owner INTEGER REFERENCES person(id) ON DELETE SET NULL,"
               "                 friend INTEGER REFERENCES dog(id) ON DELETE SET NULL, extra, rank INTEGER NOT NULL);"
               "CREATE INDEX dog_owner ON dog(owner); CREATE INDEX dog_friend ON dog(friend);"
               "CREATE TABLE mark(dog INTEGER REFERENCES dog(id) ON DELETE CASCADE, position INTEGER, value INTEGER "
               "NOT NULL, PRIMARY KEY(dog, position)) WITHOUT ROWID");
    return g;
}

static void close_graph(graph *g) {
    check(g, sqlite3_finalize(g->dogs_of));
    check(g, sqlite3_close(g->database));
    free(g);
}

static void fill(graph *g, size_t persons, size_t dogs) {
    sqlite3_stmt *person = prepare(g, "INSERT INTO person VALUES (?1)"),
                 *dog = prepare(g, "INSERT INTO dog VALUES (?1, ?2, ?3, ?4, ?5)"),
                 *mark = prepare(g, "INSERT INTO mark VALUES (?1, ?2, ?3)");
    execute(g, "BEGIN");
    for (size_t i = 0; i < persons; i++) {
        check(g, sqlite3_bind_int64(person, 1, (int64_t)i));
        run(g, person);
    }
    for (size_t i = 0; i < dogs; i++) {
        const char *text = extra_text((int64_t)i);
        check(g, sqlite3_bind_int64(dog, 1, (int64_t)i));
        check(g, sqlite3_bind_int64(dog, 2, (int64_t)(i % persons)));
        if (i) check(g, sqlite3_bind_int64(dog, 3, (int64_t)(i / 2)));
        else check(g, sqlite3_bind_null(dog, 3));
        if (text) check(g, sqlite3_bind_text(dog, 4, text, -1, SQLITE_STATIC));
        else check(g, sqlite3_bind_int64(dog, 4, (int64_t)i));
        check(g, sqlite3_bind_int64(dog, 5, rank_of((int64_t)i)));
        run(g, dog);
        for (int k = 0; k < marks_of_a_dog; k++) {
            check(g, sqlite3_bind_int64(mark, 1, (int64_t)i));
            check(g, sqlite3_bind_int(mark, 2, k));
            check(g, sqlite3_bind_int64(mark, 3, (int64_t)i + k));
            run(g, mark);
        }
    }
    execute(g, "COMMIT");
    check(g, sqlite3_finalize(person));
    check(g, sqlite3_finalize(dog));
    check(g, sqlite3_finalize(mark));
}

static void fill_notes(graph *g, const char *keys, size_t count) {
    sqlite3_stmt *q = prepare(g, "INSERT INTO note VALUES (0, ?1, ?2)");
    execute(g, "BEGIN");
    for (size_t i = 0; i < count; i++) {
        check(g, sqlite3_bind_text(q, 1, keys + i * note_key_length, note_key_length, SQLITE_STATIC));
        check(g, sqlite3_bind_int64(q, 2, (int64_t)i));
        run(g, q);
    }
    execute(g, "COMMIT");
    check(g, sqlite3_finalize(q));
}

static void fill_labels(graph *g, const char *keys, size_t count) {
    sqlite3_stmt *q = prepare(g, "INSERT OR IGNORE INTO label VALUES (0, ?1)");
    execute(g, "BEGIN");
    for (size_t i = 0; i < count; i++) {
        check(g, sqlite3_bind_text(q, 1, keys + i * note_key_length, note_key_length, SQLITE_STATIC));
        run(g, q);
    }
    execute(g, "COMMIT");
    check(g, sqlite3_finalize(q));
}

static void delete_persons(graph *g, int64_t first, size_t count) {
    sqlite3_stmt *q = prepare(g, "DELETE FROM person WHERE id = ?1");
    execute(g, "BEGIN");
    for (size_t i = 0; i < count; i++) {
        check(g, sqlite3_bind_int64(q, 1, first + (int64_t)i));
        run(g, q);
    }
    execute(g, "COMMIT");
    check(g, sqlite3_finalize(q));
}

static size_t delete_dogs(graph *g, int64_t rank) {
    sqlite3_stmt *q = prepare(g, "DELETE FROM dog WHERE rank < ?1");
    check(g, sqlite3_bind_int64(q, 1, rank));
    run(g, q);
    const size_t count = (size_t)sqlite3_changes64(g->database);
    check(g, sqlite3_finalize(q));
    return count;
}

static int64_t dogs_of(graph *g, int64_t person, size_t *count) {
    if (!g->dogs_of) g->dogs_of = prepare(g, "SELECT id FROM dog WHERE owner = ?1");
    sqlite3_stmt *q = g->dogs_of;
    int64_t sum = 0;
    int status;
    *count = 0;
    check(g, sqlite3_bind_int64(q, 1, person));
    while ((status = sqlite3_step(q)) == SQLITE_ROW) {
        sum += sqlite3_column_int64(q, 0);
        ++*count;
    }
    if (status != SQLITE_DONE) die("sqlite: %s", sqlite3_errmsg(g->database));
    check(g, sqlite3_reset(q));
    return sum;
}

static void read_notes(graph *g, const char *keys, const size_t *which, size_t size, int64_t *values) {
    sqlite3_stmt *q = prepare(g, "SELECT value FROM note WHERE person = 0 AND key = ?1");
    execute(g, "BEGIN");
    for (size_t i = 0; i < size; i++) {
        check(g, sqlite3_bind_text(q, 1, keys + which[i] * note_key_length, note_key_length, SQLITE_STATIC));
        values[i] = answer(g, q);
    }
    execute(g, "COMMIT");
    check(g, sqlite3_finalize(q));
}

static void have_labels(graph *g, const char *keys, const size_t *which, size_t size, int64_t *values) {
    sqlite3_stmt *q = prepare(g, "SELECT EXISTS(SELECT 1 FROM label WHERE person = 0 AND value = ?1)");
    execute(g, "BEGIN");
    for (size_t i = 0; i < size; i++) {
        check(g, sqlite3_bind_text(q, 1, keys + which[i] * note_key_length, note_key_length, SQLITE_STATIC));
        values[i] = answer(g, q);
    }
    execute(g, "COMMIT");
    check(g, sqlite3_finalize(q));
}

static void read_extras(graph *g, const int64_t *dogs, size_t size, int64_t *values) {
    sqlite3_stmt *q = prepare(g, "SELECT extra FROM dog WHERE id = ?1");
    execute(g, "BEGIN");
    for (size_t i = 0; i < size; i++) {
        check(g, sqlite3_bind_int64(q, 1, dogs[i]));
        if (sqlite3_step(q) != SQLITE_ROW) die("sqlite: no row: %s", sqlite3_errmsg(g->database));
        values[i] = sqlite3_column_type(q, 0) == SQLITE_TEXT ? sqlite3_column_bytes(q, 0) : sqlite3_column_int64(q, 0);
        check(g, sqlite3_reset(q));
    }
    execute(g, "COMMIT");
    check(g, sqlite3_finalize(q));
}

static int64_t sum_marks(graph *g) { return ask(g, "SELECT sum(value) FROM mark"); }
static size_t dogs_without_owner(graph *g) { return (size_t)ask(g, "SELECT count(*) FROM dog WHERE owner IS NULL"); }
static size_t dogs_without_friend(graph *g) { return (size_t)ask(g, "SELECT count(*) FROM dog WHERE friend IS NULL"); }

// The herd

struct herd { struct graph tables; };

static herd *create_herd(const char *dir) {
    herd *h = must_alloc(sizeof *h);
    open_database(&h->tables, dir);
    execute(&h->tables,
        "CREATE TABLE dog(id INTEGER PRIMARY KEY);"
        "CREATE TABLE member(position INTEGER PRIMARY KEY, dog INTEGER REFERENCES dog(id) ON DELETE CASCADE);"
        "CREATE INDEX member_dog ON member(dog)");
    return h;
}

static void close_herd(herd *h) {
    check(&h->tables, sqlite3_close(h->tables.database));
    free(h);
}

static void fill_herd(herd *h, const int64_t *ids, size_t count) {
    graph *g = &h->tables;
    sqlite3_stmt *dog = prepare(g, "INSERT INTO dog VALUES(?1)"),
                 *member = prepare(g, "INSERT INTO member VALUES(?1, ?2)");
    execute(g, "BEGIN");
    for (size_t i = 0; i < count; i++) {
        check(g, sqlite3_bind_int64(dog, 1, (int64_t)i));
        run(g, dog);
    }
    for (size_t i = 0; i < count; i++) {
        check(g, sqlite3_bind_int64(member, 1, (int64_t)i));
        check(g, sqlite3_bind_int64(member, 2, ids[i]));
        run(g, member);
    }
    execute(g, "COMMIT");
    check(g, sqlite3_finalize(dog));
    check(g, sqlite3_finalize(member));
}

// Rows of a table know no other way.
static void delete_members(herd *h, const int64_t *ids, size_t count) {
    graph *g = &h->tables;
    sqlite3_stmt *q = prepare(g, "DELETE FROM dog WHERE id = ?1");
    execute(g, "BEGIN");
    for (size_t i = 0; i < count; i++) {
        check(g, sqlite3_bind_int64(q, 1, ids[i]));
        run(g, q);
    }
    execute(g, "COMMIT");
    check(g, sqlite3_finalize(q));
}

static void read_herd(herd *h, int64_t *ids, size_t count) {
    sqlite3_stmt *q = prepare(&h->tables, "SELECT dog FROM member ORDER BY position");
    for (size_t i = 0; i < count; i++) {
        if (sqlite3_step(q) != SQLITE_ROW) die("sqlite: no row: %s", sqlite3_errmsg(h->tables.database));
        ids[i] = sqlite3_column_int64(q, 0);
    }
    check(&h->tables, sqlite3_finalize(q));
}

static size_t herd_size(herd *h) { return (size_t)ask(&h->tables, "SELECT count(*) FROM member"); }

static const herds all_herds = {
    .create = create_herd,
    .close = close_herd,
    .fill = fill_herd,
    .delete_each = delete_members,
    .delete_together = delete_members,
    .read = read_herd,
    .size = herd_size,
};

const graphs graphs_sqlite = {
    .create = create,
    .close = close_graph,
    .fill = fill,
    .fill_notes = fill_notes,
    .fill_labels = fill_labels,
    .delete_persons = delete_persons,
    .delete_dogs = delete_dogs,
    .dogs_of = dogs_of,
    .read_notes = read_notes,
    .have_labels = have_labels,
    .read_extras = read_extras,
    .sum_marks = sum_marks,
    .dogs_without_owner = dogs_without_owner,
    .dogs_without_friend = dogs_without_friend,
    .herds = &all_herds,
};
