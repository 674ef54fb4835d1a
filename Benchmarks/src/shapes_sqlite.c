// SQLite: stores of another shape than Person. Options as in peer_sqlite.c.
#include "bench.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shaped {
    sqlite3 *database;
    sqlite3_stmt *insert, *find, *update, *near;    // of the shape's table, prepared when first used
    size_t updates;                                 // the column that `update` sets
    sqlite3_stmt *update_classes[class_limit], *find_classes[class_limit];
};

#define check(s, call)                                                                       \
    do {                                                                                     \
        int status_ = (call);                                                                \
        if (status_ != SQLITE_OK)                                                            \
            die("sqlite: %s: %s (%s)", #call, sqlite3_errstr(status_), sqlite3_errmsg((s)->database)); \
    } while (0)

static void execute(shaped *s, const char *text) { check(s, sqlite3_exec(s->database, text, NULL, NULL, NULL)); }

static sqlite3_stmt *prepared(shaped *s, sqlite3_stmt **q, const char *text) {
    if (!*q) check(s, sqlite3_prepare_v3(s->database, text, -1, SQLITE_PREPARE_PERSISTENT, q, NULL));
    return *q;
}

static void step_row(shaped *s, sqlite3_stmt *q) {
    int status = sqlite3_step(q);
    if (status != SQLITE_ROW) die("sqlite: no row: %s (%s)", sqlite3_errstr(status), sqlite3_errmsg(s->database));
}

// A statement that writes one row.
static void write_row(shaped *s, sqlite3_stmt *q) {
    int status = sqlite3_step(q);
    if (status != SQLITE_DONE) die("sqlite: not done: %s (%s)", sqlite3_errstr(status), sqlite3_errmsg(s->database));
    if (sqlite3_changes(s->database) != 1) die("sqlite: %d rows written, not 1", sqlite3_changes(s->database));
    check(s, sqlite3_reset(q));
}

// "CREATE TABLE wide(id INTEGER PRIMARY KEY, c0 INTEGER NOT NULL, …)", or "INSERT INTO wide VALUES(?, ?, …)".
static char *wide_text(const char *head, const char *column_format) {
    char *text = must_alloc(64 + 32 * wide_width), *at = text;
    at += sprintf(at, "%s", head);
    for (int c = 0; c < wide_width; c++) at += sprintf(at, column_format, c);
    sprintf(at, ")");
    return text;
}

static shaped *open_shaped(const char *dir, shape what, size_t count, bool create) {
    if (count > class_limit) die("sqlite: %zu classes", count);
    shaped *s = must_alloc(sizeof *s);
    char *path = format_path("%s/shaped.sqlite", dir);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
    check(s, sqlite3_open_v2(path, &s->database, flags, NULL));
    free(path);
    check(s, sqlite3_extended_result_codes(s->database, 1));
    if (create) execute(s, "PRAGMA journal_mode=WAL");
    execute(s, "PRAGMA synchronous=FULL; PRAGMA cache_size=-65536; PRAGMA mmap_size=17179869184");
    if (create && what == TEXT_KEYS) {
        execute(s,
            "CREATE TABLE person(id TEXT PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT NULL, score REAL NOT NULL,"
            " email TEXT); CREATE INDEX person_age ON person(age)");
    } else if (create && what == WIDE) {
        char *text = wide_text("CREATE TABLE wide(id INTEGER PRIMARY KEY", ", c%d INTEGER NOT NULL");
        execute(s, text);
        free(text);
    } else if (create && what == LIST) {
        execute(s, "CREATE TABLE item(owner INTEGER, position REAL, value INTEGER NOT NULL, PRIMARY KEY(owner, "
                   "position)) WITHOUT ROWID");
    } else if (create && what == BIG_VALUES) {
        execute(s, "CREATE TABLE big(id INTEGER PRIMARY KEY, data BLOB NOT NULL)");
    } else if (create) {
        execute(s, "BEGIN");
        for (size_t c = 0; c < count; c++) {
            char text[160];
            snprintf(text, sizeof text, "CREATE TABLE class%zu(id INTEGER PRIMARY KEY, value INTEGER NOT NULL);"
                                        "INSERT INTO class%zu VALUES (1, 0)", c, c);
            execute(s, text);
        }
        execute(s, "COMMIT");
    }
    execute(s, "SELECT count(*) FROM sqlite_schema");       // loads the schema, so that the store is ready
    return s;
}

static shaped *create(const char *dir, shape what, size_t count) { return open_shaped(dir, what, count, true); }
static shaped *open_existing(const char *dir, shape what, size_t count) { return open_shaped(dir, what, count, false); }

static void close_shaped(shaped *s) {
    check(s, sqlite3_finalize(s->insert));
    check(s, sqlite3_finalize(s->find));
    check(s, sqlite3_finalize(s->update));
    check(s, sqlite3_finalize(s->near));
    for (size_t c = 0; c < class_limit; c++) {
        check(s, sqlite3_finalize(s->update_classes[c]));
        check(s, sqlite3_finalize(s->find_classes[c]));
    }
    int status = sqlite3_close(s->database);
    if (status != SQLITE_OK) die("sqlite: close: %s", sqlite3_errstr(status));
    free(s);
}

// --------------------------------------------------------------------------------- string keys

static void bind_key(shaped *s, sqlite3_stmt *q, const char *keys, size_t i) {
    check(s, sqlite3_bind_text(q, 1, keys + i * text_key_length, text_key_length, SQLITE_STATIC));
}

static void insert_people(shaped *s, const people *p, const char *keys) {
    sqlite3_stmt *q = prepared(s, &s->insert, "INSERT INTO person VALUES (?1, ?2, ?3, ?4, ?5)");
    execute(s, "BEGIN");
    for (size_t i = 0; i < p->count; i++) {
        bind_key(s, q, keys, i);
        check(s, sqlite3_bind_text(q, 2, name_of(p, i), (int)name_length(p, i), SQLITE_STATIC));
        check(s, sqlite3_bind_int(q, 3, p->age[i]));
        check(s, sqlite3_bind_double(q, 4, p->score[i]));
        if (p->email_is_null[i]) check(s, sqlite3_bind_null(q, 5));
        else check(s, sqlite3_bind_text(q, 5, email_of(p, i), (int)email_length(p, i), SQLITE_STATIC));
        write_row(s, q);
    }
    execute(s, "COMMIT");
}

static void lookup_people(shaped *s, const char *keys, const int64_t *which, size_t size, int64_t *ages) {
    sqlite3_stmt *q = prepared(s, &s->find, "SELECT age FROM person WHERE id = ?1");
    execute(s, "BEGIN");
    for (size_t i = 0; i < size; i++) {
        bind_key(s, q, keys, (size_t)which[i]);
        step_row(s, q);
        ages[i] = sqlite3_column_int64(q, 0);
        check(s, sqlite3_reset(q));
    }
    execute(s, "COMMIT");
}

// ----------------------------------------------------------------------------------- wide rows

static void insert_wide(shaped *s, const int64_t *values, size_t rows) {
    char *text = wide_text("INSERT INTO wide VALUES(?1", ", ?");
    sqlite3_stmt *q = prepared(s, &s->insert, text);
    free(text);
    execute(s, "BEGIN");
    for (size_t i = 0; i < rows; i++) {
        check(s, sqlite3_bind_int64(q, 1, (sqlite3_int64)i));
        for (int c = 0; c < wide_width; c++) check(s, sqlite3_bind_int64(q, 2 + c, values[i * wide_width + (size_t)c]));
        write_row(s, q);
    }
    execute(s, "COMMIT");
}

static void read_wide(shaped *s, const int64_t *ids, size_t size, int64_t *values) {
    sqlite3_stmt *q = prepared(s, &s->find, "SELECT * FROM wide WHERE id = ?1");
    execute(s, "BEGIN");
    for (size_t i = 0; i < size; i++) {
        check(s, sqlite3_bind_int64(q, 1, ids[i]));
        step_row(s, q);
        for (int c = 0; c < wide_width; c++) values[i * wide_width + (size_t)c] = sqlite3_column_int64(q, 1 + c);
        check(s, sqlite3_reset(q));
    }
    execute(s, "COMMIT");
}

static void update_wide(shaped *s, size_t column, const int64_t *ids, const int64_t *values, size_t size) {
    if (s->update && s->updates != column) die("sqlite: one column is updated, not several");
    char text[64];
    snprintf(text, sizeof text, "UPDATE wide SET c%zu = ?2 WHERE id = ?1", column);
    sqlite3_stmt *q = prepared(s, &s->update, text);
    s->updates = column;
    execute(s, "BEGIN");
    for (size_t i = 0; i < size; i++) {
        check(s, sqlite3_bind_int64(q, 1, ids[i]));
        check(s, sqlite3_bind_int64(q, 2, values[i]));
        write_row(s, q);
    }
    execute(s, "COMMIT");
}

// ---------------------------------------------------------------------------------- big values

static void write_big(shaped *s, int64_t id, const uint8_t *bytes, size_t size) {
    sqlite3_stmt *q = prepared(s, &s->insert, "INSERT INTO big VALUES (?1, ?2)");
    check(s, sqlite3_bind_int64(q, 1, id));
    check(s, sqlite3_bind_blob64(q, 2, bytes, size, SQLITE_STATIC));
    write_row(s, q);
}

static void read_big(shaped *s, int64_t id, uint8_t *bytes, size_t size) {
    sqlite3_stmt *q = prepared(s, &s->find, "SELECT data FROM big WHERE id = ?1");
    check(s, sqlite3_bind_int64(q, 1, id));
    step_row(s, q);
    const void *data = sqlite3_column_blob(q, 0);
    if (sqlite3_column_bytes(q, 0) != (int)size) die("sqlite: %d bytes, not %zu", sqlite3_column_bytes(q, 0), size);
    memcpy(bytes, data, size);
    check(s, sqlite3_reset(q));
}

// -------------------------------------------------------------------------------- many classes

static sqlite3_stmt *of_class(shaped *s, sqlite3_stmt **statements, size_t index, const char *format) {
    char text[64];
    snprintf(text, sizeof text, format, index);
    return prepared(s, &statements[index], text);
}

static void update_class(shaped *s, size_t index, int64_t value) {
    sqlite3_stmt *q = of_class(s, s->update_classes, index, "UPDATE class%zu SET value = ?1 WHERE id = 1");
    check(s, sqlite3_bind_int64(q, 1, value));
    write_row(s, q);
}

static int64_t read_class(shaped *s, size_t index) {
    sqlite3_stmt *q = of_class(s, s->find_classes, index, "SELECT value FROM class%zu WHERE id = 1");
    step_row(s, q);
    int64_t value = sqlite3_column_int64(q, 0);
    check(s, sqlite3_reset(q));
    return value;
}

// ---------------------------------------------------------------------------------------- lists

static void insert_item(shaped *s, double position, int64_t value) {
    sqlite3_stmt *q = prepared(s, &s->insert, "INSERT INTO item VALUES (1, ?1, ?2)");
    check(s, sqlite3_bind_double(q, 1, position));
    check(s, sqlite3_bind_int64(q, 2, value));
    write_row(s, q);
}

static void append_list(shaped *s, size_t count) {
    execute(s, "BEGIN");
    for (size_t i = 0; i < count; i++) insert_item(s, (double)i, (int64_t)i);
    execute(s, "COMMIT");
}

// By position, not by index: a join table cannot find the nth row without counting.
static void insert_list(shaped *s, const double *places, int64_t first, size_t count) {
    execute(s, "BEGIN");
    for (size_t i = 0; i < count; i++)
        insert_item(s, (double)(int64_t)(places[i] * (double)first) + 0.25 + (double)i / (double)(4 * count),
            first + (int64_t)i);
    execute(s, "COMMIT");
}

// The positions of two neighbours at or behind a place; behind the last one, of the first two.
static void neighbours(shaped *s, sqlite3_stmt *q, double place, double positions[2]) {
    size_t found = 0;
    check(s, sqlite3_bind_double(q, 1, place));
    while (found < 2 && sqlite3_step(q) == SQLITE_ROW) positions[found++] = sqlite3_column_double(q, 0);
    check(s, sqlite3_reset(q));
    if (found == 0) neighbours(s, q, -1, positions);
    if (found == 1) positions[1] = positions[0] + 1;
}

// By position, too: an element goes between two that are neighbours.
static void move_list(shaped *s, const double *from, const double *to, size_t count, size_t size) {
    sqlite3_stmt *near =
        prepared(s, &s->near, "SELECT position FROM item WHERE owner = 1 AND position >= ?1 ORDER BY position LIMIT 2");
    sqlite3_stmt *move = prepared(s, &s->update, "UPDATE item SET position = ?2 WHERE owner = 1 AND position = ?1");
    execute(s, "BEGIN");
    for (size_t i = 0; i < count; i++) {
        double source[2], target[2];
        neighbours(s, near, from[i] * (double)size, source);
        neighbours(s, near, to[i] * (double)size, target);
        check(s, sqlite3_bind_double(move, 1, source[0]));
        check(s, sqlite3_bind_double(move, 2, (target[0] + target[1]) / 2));
        write_row(s, move);
    }
    execute(s, "COMMIT");
}

static size_t walk_list(shaped *s, int64_t *values, size_t capacity) {
    sqlite3_stmt *q = prepared(s, &s->find, "SELECT value FROM item WHERE owner = 1 ORDER BY position");
    size_t count = 0;
    int status;
    while ((status = sqlite3_step(q)) == SQLITE_ROW) {
        if (count == capacity) die("sqlite: more than %zu elements", capacity);
        values[count++] = sqlite3_column_int64(q, 0);
    }
    if (status != SQLITE_DONE) die("sqlite: %s", sqlite3_errstr(status));
    check(s, sqlite3_reset(q));
    return count;
}

const shapes shapes_sqlite = {
    .create = create, .open = open_existing, .close = close_shaped,
    .insert_people = insert_people, .lookup_people = lookup_people,
    .insert_wide = insert_wide, .read_wide = read_wide, .update_wide = update_wide,
    .write_big = write_big, .read_big = read_big,
    .update_class = update_class, .read_class = read_class,
    .append_list = append_list, .insert_list = insert_list, .move_list = move_list, .walk_list = walk_list,
};
