// SQLite: JSON text into tables with foreign keys by its own functions. Options as in peer_sqlite.c.
#include "json.h"

#include <sqlite3.h>
#include <stdlib.h>

struct json_store {
    sqlite3 *database;
    json_shape shape;
};

#define check(s, call)                                                                       \
    do {                                                                                     \
        int status_ = (call);                                                                \
        if (status_ != SQLITE_OK)                                                            \
            die("sqlite: %s: %s (%s)", #call, sqlite3_errstr(status_), sqlite3_errmsg((s)->database)); \
    } while (0)

static const char *const tables[] = {
    [PEOPLE] = "CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT NULL, score REAL NOT "
               "NULL, email TEXT);"
               "CREATE TABLE tag(person INTEGER REFERENCES person(id) ON DELETE CASCADE, position INTEGER, value TEXT "
               "NOT NULL,"
               "                 PRIMARY KEY(person, position)) WITHOUT ROWID;"
               "CREATE TABLE dog(id INTEGER PRIMARY KEY, person INTEGER REFERENCES person(id) ON DELETE CASCADE,"
               "                 position INTEGER NOT NULL, name TEXT NOT NULL, age INTEGER NOT NULL);"
               "CREATE INDEX dog_person ON dog(person, position)",
    [CITIES] = "CREATE TABLE city(geonameid INTEGER PRIMARY KEY, name TEXT NOT NULL, latitude REAL NOT NULL, longitude "
               "REAL NOT NULL,"
               "                  countrycode TEXT NOT NULL, population INTEGER NOT NULL, timezone TEXT NOT NULL, "
               "admin1code TEXT NOT NULL);"
               "CREATE TABLE name(city INTEGER REFERENCES city(geonameid) ON DELETE CASCADE, position INTEGER, value "
               "TEXT NOT NULL,"
               "                  PRIMARY KEY(city, position)) WITHOUT ROWID",
};

// One statement a table, each of which reads the text.
static const char *const imports[][3] = {
    [PEOPLE] = {"INSERT INTO person SELECT value->>'id', value->>'name', value->>'age', value->>'score', "
                "value->>'email' FROM json_each(?1)",
        "INSERT INTO tag SELECT p.value->>'id', t.key, t.value FROM json_each(?1) p, json_each(p.value, '$.tags') t",
        "INSERT INTO dog(person, position, name, age) SELECT p.value->>'id', d.key, d.value->>'name', d.value->>'age'"
        " FROM json_each(?1) p, json_each(p.value, '$.dogs') d"},
    [CITIES] = {"INSERT INTO city SELECT value->>'geonameid', value->>'name', value->>'latitude', value->>'longitude', "
                "value->>'countrycode',"
                " value->>'population', value->>'timezone', value->>'admin1code' FROM json_each(?1)",
        "INSERT INTO name SELECT c.value->>'geonameid', t.key, t.value FROM json_each(?1) c, json_each(c.value, "
        "'$.alternatenames') t",
        NULL},
};

static const char *const sums[] = {
    [PEOPLE] =
        "SELECT (SELECT count(*) FROM person), (SELECT sum(age) FROM person), (SELECT count(*) FROM tag),"
        " (SELECT sum(length(CAST(value AS BLOB))) FROM tag), (SELECT count(*) FROM dog), (SELECT sum(age) FROM dog)",
    [CITIES] = "SELECT (SELECT count(*) FROM city), (SELECT sum(population) FROM city), (SELECT count(*) FROM name),"
               " (SELECT sum(length(CAST(value AS BLOB))) FROM name), 0, 0",
};

static void execute(json_store *s, const char *text) { check(s, sqlite3_exec(s->database, text, NULL, NULL, NULL)); }

static sqlite3_stmt *prepare(json_store *s, const char *text) {
    sqlite3_stmt *q;
    check(s, sqlite3_prepare_v2(s->database, text, -1, &q, NULL));
    return q;
}

static json_store *create(const char *dir, json_shape shape) {
    json_store *s = must_alloc(sizeof *s);
    char *path = format_path("%s/json.sqlite", dir);
    s->shape = shape;
    check(
        s, sqlite3_open_v2(path, &s->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_CREATE, NULL));
    free(path);
    execute(s, "PRAGMA journal_mode=WAL");
    execute(
        s, "PRAGMA synchronous=FULL; PRAGMA cache_size=-65536; PRAGMA mmap_size=17179869184; PRAGMA foreign_keys=ON");
    execute(s, tables[shape]);
    return s;
}

static void import(json_store *s, const char *text, size_t length) {
    execute(s, "BEGIN");
    for (size_t i = 0; i < 3 && imports[s->shape][i]; i++) {
        sqlite3_stmt *q = prepare(s, imports[s->shape][i]);
        check(s, sqlite3_bind_text64(q, 1, text, length, SQLITE_STATIC, SQLITE_UTF8));
        if (sqlite3_step(q) != SQLITE_DONE) die("sqlite: %s", sqlite3_errmsg(s->database));
        check(s, sqlite3_finalize(q));
    }
    execute(s, "COMMIT");
}

static json_figures figures(json_store *s) {
    sqlite3_stmt *q = prepare(s, sums[s->shape]);
    if (sqlite3_step(q) != SQLITE_ROW) die("sqlite: %s", sqlite3_errmsg(s->database));
    const json_figures found = {sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 2),
                                sqlite3_column_int64(q, 3), sqlite3_column_int64(q, 4), sqlite3_column_int64(q, 5)};
    check(s, sqlite3_finalize(q));
    return found;
}

static void close_store(json_store *s) {
    check(s, sqlite3_close(s->database));
    free(s);
}

const json_importer json_sqlite = {.create = create, .import = import, .figures = figures, .close = close_store};
