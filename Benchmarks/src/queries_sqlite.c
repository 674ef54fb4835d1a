// SQLite: the questions of queries.h. Links are columns with an index. Options as in peer_sqlite.c.
#include "queries.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct database { sqlite3 *handle; };

// Ids and names: name i is names[ends[i - 1] ..< ends[i]].
typedef struct {
    int64_t *ids;
    size_t *ends, room, bytes;
    char *names;
} columns;

struct question {
    database *of;
    sqlite3_stmt *statement;
    int64_t *found;
    size_t count, room;
    columns columns;
};

#define check(d, call)                                                                       \
    do {                                                                                     \
        int status_ = (call);                                                                \
        if (status_ != SQLITE_OK)                                                            \
            die("sqlite: %s: %s (%s)", #call, sqlite3_errstr(status_), sqlite3_errmsg((d)->handle)); \
    } while (0)

static void execute(database *d, const char *text) { check(d, sqlite3_exec(d->handle, text, NULL, NULL, NULL)); }

static database *open_file(const char *dir, const char *name, int flags) {
    database *d = must_alloc(sizeof *d);
    char *path = format_path("%s/%s.sqlite", dir, name);
    check(d, sqlite3_open_v2(path, &d->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | flags, NULL));
    free(path);
    execute(d, "PRAGMA synchronous=FULL; PRAGMA cache_size=-65536; PRAGMA mmap_size=17179869184");
    return d;
}

static database *open_database(const char *dir, bool of_kennel) {
    return open_file(dir, of_kennel ? "kennel" : "store", 0);
}

static void close_database(database *d) {
    if (sqlite3_close(d->handle) != SQLITE_OK) die("sqlite: close: %s", sqlite3_errmsg(d->handle));
    free(d);
}

static sqlite3_stmt *statement(database *d, const char *text) {
    sqlite3_stmt *statement;
    check(d, sqlite3_prepare_v3(d->handle, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL));
    return statement;
}

static void insert(database *d, const char *text, size_t rows, void (*bind)(sqlite3_stmt *, const kennel *, size_t),
                   const kennel *k) {
    sqlite3_stmt *q = statement(d, text);
    for (size_t i = 0; i < rows; i++) {
        check(d, sqlite3_bind_int64(q, 1, (int64_t)i));
        bind(q, k, i);
        if (sqlite3_step(q) != SQLITE_DONE) die("sqlite: %s", sqlite3_errmsg(d->handle));
        check(d, sqlite3_reset(q));
    }
    check(d, sqlite3_finalize(q));
}

static void bind_number(sqlite3_stmt *q, int at, int64_t value) {
    if (sqlite3_bind_int64(q, at, value) != SQLITE_OK) die("sqlite: a number was not bound");
}

static void bind_city(sqlite3_stmt *q, const kennel *k, size_t i) {
    (void)k;
    bind_number(q, 2, (int64_t)i);
}

static void bind_owner(sqlite3_stmt *q, const kennel *k, size_t i) {
    bind_number(q, 2, k->owner_rank[i]);
    bind_number(q, 3, k->owner_city[i]);
}

static void bind_breeder(sqlite3_stmt *q, const kennel *k, size_t i) { bind_number(q, 2, k->breeder_rank[i]); }

static void bind_dog(sqlite3_stmt *q, const kennel *k, size_t i) {
    bind_number(q, 2, k->age[i]);
    bind_number(q, 3, k->rank[i]);
    if (sqlite3_bind_double(q, 4, k->weight[i]) != SQLITE_OK) die("sqlite: a weight was not bound");
    bind_number(q, 5, k->owner[i]);
    bind_number(q, 6, k->breeder[i]);
}

static void create_kennel(const char *dir, const kennel *k) {
    database *d = open_file(dir, "kennel", SQLITE_OPEN_CREATE);
    execute(d, "PRAGMA journal_mode=WAL");
    execute(d, "CREATE TABLE city(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL);"
               "CREATE TABLE owner(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, city INTEGER REFERENCES city(id));"
               "CREATE TABLE breeder(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL);"
               "CREATE TABLE dog(id INTEGER PRIMARY KEY, age INTEGER NOT NULL, rank INTEGER NOT NULL,"
               " weight REAL NOT NULL, owner INTEGER REFERENCES owner(id), breeder INTEGER REFERENCES breeder(id));"
               "CREATE INDEX owner_city ON owner(city);"
               "CREATE INDEX dog_owner ON dog(owner);"
               "CREATE INDEX dog_breeder ON dog(breeder);"
               "BEGIN");
    insert(d, "INSERT INTO city VALUES(?1, ?2)", cities, bind_city, k);
    insert(d, "INSERT INTO owner VALUES(?1, ?2, ?3)", k->owners, bind_owner, k);
    insert(d, "INSERT INTO breeder VALUES(?1, ?2)", k->breeders, bind_breeder, k);
    insert(d, "INSERT INTO dog VALUES(?1, ?2, ?3, ?4, ?5, ?6)", k->dogs, bind_dog, k);
    execute(d, "COMMIT");
    close_database(d);
}

static question *prepare(database *d, const char *class_name, const char *text) {
    (void)class_name;
    question *q = malloc(sizeof *q);
    if (!q) die("no memory");
    *q = (question){.of = d, .statement = statement(d, text)};
    return q;
}

static void finish(question *q) {
    check(q->of, sqlite3_finalize(q->statement));
    free(q->found);
    free(q->columns.ids);
    free(q->columns.ends);
    free(q->columns.names);
    free(q);
}

static uint64_t count(question *q) {
    if (sqlite3_step(q->statement) != SQLITE_ROW) die("sqlite: no row: %s", sqlite3_errmsg(q->of->handle));
    const uint64_t value = (uint64_t)sqlite3_column_int64(q->statement, 0);
    check(q->of, sqlite3_reset(q->statement));
    return value;
}

static size_t list(question *q, size_t room) {
    if (room > q->room) {
        free(q->found);
        q->found = must_alloc(room * sizeof *q->found);
        q->room = room;
    }
    int status;
    q->count = 0;
    while ((status = sqlite3_step(q->statement)) == SQLITE_ROW) {
        if (q->count == room) die("sqlite: more than %zu rows", room);
        q->found[q->count++] = sqlite3_column_int64(q->statement, 0);
    }
    if (status != SQLITE_DONE) die("sqlite: %s", sqlite3_errmsg(q->of->handle));
    check(q->of, sqlite3_reset(q->statement));
    return q->count;
}

static void ids(question *q, int64_t *found) {
    for (size_t i = 0; i < q->count; i++) found[i] = q->found[i];
}

static size_t groups(question *q, size_t room, group_columns found) {
    size_t count = 0;
    int status;
    while ((status = sqlite3_step(q->statement)) == SQLITE_ROW) {
        if (count == room) die("sqlite: more than %zu groups", room);
        found.key[count] = sqlite3_column_int64(q->statement, 0);
        found.count[count] = sqlite3_column_int64(q->statement, 1);
        found.sum[count++] = sqlite3_column_double(q->statement, 2);
    }
    if (status != SQLITE_DONE) die("sqlite: %s", sqlite3_errmsg(q->of->handle));
    check(q->of, sqlite3_reset(q->statement));
    return count;
}

static void *grown(void *memory, size_t bytes) {
    memory = realloc(memory, bytes);
    if (!memory) die("no memory");
    return memory;
}

// Into columns of this program.
static void stream(question *q, bool views, stream_digest *digest) {
    (void)views;    // never
    columns *c = &q->columns;
    size_t count = 0, end = 0;
    int status;
    while ((status = sqlite3_step(q->statement)) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(q->statement, 0);
        const char *name = (const char *)sqlite3_column_text(q->statement, 1);
        const size_t length = (size_t)sqlite3_column_bytes(q->statement, 1);
        if (count == c->room) {
            c->room = c->room ? 2 * c->room : 65536;
            c->ids = grown(c->ids, c->room * sizeof *c->ids);
            c->ends = grown(c->ends, c->room * sizeof *c->ends);
        }
        if (end + length > c->bytes) {
            c->bytes = 2 * (end + length);
            c->names = grown(c->names, c->bytes);
        }
        memcpy(c->names + end, name, length);
        c->ids[count] = id;
        c->ends[count++] = end += length;
        if (digest) digest_add(digest, id, name, length);
    }
    if (status != SQLITE_DONE) die("sqlite: %s", sqlite3_errmsg(q->of->handle));
    check(q->of, sqlite3_reset(q->statement));
}

const queries queries_sqlite = {
    .version = sqlite3_libversion,
    .create_kennel = create_kennel,
    .open = open_database,
    .close = close_database,
    .prepare = prepare,
    .finish = finish,
    .count = count,
    .list = list,
    .ids = ids,
    .groups = groups,
    .stream = stream,
};
