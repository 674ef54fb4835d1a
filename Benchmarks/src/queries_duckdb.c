// DuckDB with one thread: the questions of queries.h. Its C interface comes with its package for Python, as one shared
// library (DUCKDB_LIBRARY). That wants Python's names, too; nothing here calls into Python, so a library that has the
// names and nothing else (DUCKDB_NAMES, made by Benchmarks/run) stands for it. Both are loaded when first asked for:
// no other case has them in its memory. The declarations are those of duckdb.h, which the package lacks.
#include "queries.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct { void *internal; } *handle;     // of whatever kind

typedef struct {
    uint64_t column_count, row_count, rows_changed;
    void *columns;
    char *error;
    void *internal;
} duckdb_result;

#define FUNCTIONS(f)                                                              \
    f(const char *, duckdb_library_version, (void))                               \
    f(int, duckdb_create_config, (handle *))                                      \
    f(int, duckdb_set_config, (handle, const char *, const char *))               \
    f(void, duckdb_destroy_config, (handle *))                                    \
    f(int, duckdb_open_ext, (const char *, handle *, handle, char **))            \
    f(void, duckdb_close, (handle *))                                             \
    f(int, duckdb_connect, (handle, handle *))                                    \
    f(void, duckdb_disconnect, (handle *))                                        \
    f(int, duckdb_query, (handle, const char *, duckdb_result *))                 \
    f(int, duckdb_prepare, (handle, const char *, handle *))                      \
    f(const char *, duckdb_prepare_error, (handle))                               \
    f(void, duckdb_destroy_prepare, (handle *))                                   \
    f(int, duckdb_execute_prepared, (handle, duckdb_result *))                    \
    f(const char *, duckdb_result_error, (duckdb_result *))                       \
    f(void, duckdb_destroy_result, (duckdb_result *))                             \
    f(handle, duckdb_fetch_chunk, (duckdb_result))                                \
    f(uint64_t, duckdb_data_chunk_get_size, (handle))                             \
    f(handle, duckdb_data_chunk_get_vector, (handle, uint64_t))                   \
    f(void *, duckdb_vector_get_data, (handle))                                   \
    f(void, duckdb_destroy_data_chunk, (handle *))                                \
    f(int, duckdb_appender_create, (handle, const char *, const char *, handle *)) \
    f(const char *, duckdb_appender_error, (handle))                              \
    f(int, duckdb_append_int64, (handle, int64_t))                                \
    f(int, duckdb_append_double, (handle, double))                                \
    f(int, duckdb_append_varchar_length, (handle, const char *, uint64_t))        \
    f(int, duckdb_append_null, (handle))                                          \
    f(int, duckdb_appender_end_row, (handle))                                     \
    f(int, duckdb_appender_close, (handle))                                       \
    f(int, duckdb_appender_destroy, (handle *))

#define POINTER(type, name, parameters) type (*name) parameters;
static struct { bool loaded; FUNCTIONS(POINTER) } api;

static void load(void) {
    if (api.loaded) return;
    if (!dlopen(DUCKDB_NAMES, RTLD_NOW | RTLD_GLOBAL)) die("duckdb: %s", dlerror());
    void *library = dlopen(DUCKDB_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (!library) die("duckdb: %s", dlerror());
#define LOAD(type, name, parameters)                                \
    void *name = dlsym(library, #name);                             \
    if (!name) die("duckdb: there is no %s: %s", #name, dlerror()); \
    memcpy(&api.name, &name, sizeof name);
    FUNCTIONS(LOAD)
    api.loaded = true;
}

struct database { handle file, connection; };

struct question {
    database *of;
    handle statement;
    int64_t *found;
    size_t count, room;
};

static const char *version(void) {
    load();
    const char *text = api.duckdb_library_version();
    return text + (*text == 'v');
}

static void execute(database *d, const char *text) {
    duckdb_result result;
    if (api.duckdb_query(d->connection, text, &result)) die("duckdb: %s: %s", text, api.duckdb_result_error(&result));
    api.duckdb_destroy_result(&result);
}

static database *open_file(const char *dir, const char *name) {
    load();
    database *d = must_alloc(sizeof *d);
    char *path = format_path("%s/%s.duckdb", dir, name), *error = NULL;
    handle config;
    if (api.duckdb_create_config(&config) || api.duckdb_set_config(config, "threads", "1"))
        die("duckdb: no configuration");
    if (api.duckdb_open_ext(path, &d->file, config, &error)) die("duckdb: %s", error);
    api.duckdb_destroy_config(&config);
    if (api.duckdb_connect(d->file, &d->connection)) die("duckdb: no connection");
    free(path);
    return d;
}

static database *open_database(const char *dir, bool of_kennel) {
    return open_file(dir, of_kennel ? "kennel" : "people");
}

static void close_database(database *d) {
    api.duckdb_disconnect(&d->connection);
    api.duckdb_close(&d->file);
    free(d);
}

// ---------------------------------------------------------------------------------------- filling

static handle appender(database *d, const char *table) {
    handle rows;
    if (api.duckdb_appender_create(d->connection, NULL, table, &rows)) die("duckdb: nothing can be added to %s", table);
    return rows;
}

static void right(handle rows, int status) {
    if (status) die("duckdb: %s", api.duckdb_appender_error(rows));
}

static void append_numbers(handle rows, const int64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) right(rows, api.duckdb_append_int64(rows, numbers[i]));
}

static void end_row(handle rows) { right(rows, api.duckdb_appender_end_row(rows)); }

static void end_table(handle rows) {
    right(rows, api.duckdb_appender_close(rows));
    if (api.duckdb_appender_destroy(&rows)) die("duckdb: the rows were not added");
}

static void append_text(handle rows, const char *text, size_t length) {
    right(rows, api.duckdb_append_varchar_length(rows, text, length));
}

static void create_people(const char *dir, const people *p) {
    database *d = open_file(dir, "people");
    execute(d, "CREATE TABLE person(id BIGINT PRIMARY KEY, name VARCHAR NOT NULL, age INTEGER NOT NULL,"
               " score DOUBLE NOT NULL, email VARCHAR)");
    handle rows = appender(d, "person");
    for (size_t i = 0; i < p->count; i++) {
        right(rows, api.duckdb_append_int64(rows, p->id[i]));
        append_text(rows, name_of(p, i), name_length(p, i));
        right(rows, api.duckdb_append_int64(rows, p->age[i]));
        right(rows, api.duckdb_append_double(rows, p->score[i]));
        if (p->email_is_null[i]) right(rows, api.duckdb_append_null(rows));
        else append_text(rows, email_of(p, i), email_length(p, i));
        end_row(rows);
    }
    end_table(rows);
    close_database(d);
}

static void create_kennel(const char *dir, const kennel *k) {
    database *d = open_file(dir, "kennel");
    execute(d, "CREATE TABLE city(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL);"
               "CREATE TABLE owner(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, city INTEGER);"
               "CREATE TABLE breeder(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL);"
               "CREATE TABLE dog(id BIGINT PRIMARY KEY, age INTEGER NOT NULL, rank INTEGER NOT NULL,"
               " weight DOUBLE NOT NULL, owner INTEGER, breeder INTEGER)");
    handle rows = appender(d, "city");
    for (int64_t i = 0; i < cities; i++) {
        append_numbers(rows, (int64_t[]){i, i}, 2);
        end_row(rows);
    }
    end_table(rows);
    rows = appender(d, "owner");
    for (size_t i = 0; i < k->owners; i++) {
        append_numbers(rows, (int64_t[]){(int64_t)i, k->owner_rank[i], k->owner_city[i]}, 3);
        end_row(rows);
    }
    end_table(rows);
    rows = appender(d, "breeder");
    for (size_t i = 0; i < k->breeders; i++) {
        append_numbers(rows, (int64_t[]){(int64_t)i, k->breeder_rank[i]}, 2);
        end_row(rows);
    }
    end_table(rows);
    rows = appender(d, "dog");
    for (size_t i = 0; i < k->dogs; i++) {
        append_numbers(rows, (int64_t[]){(int64_t)i, k->age[i], k->rank[i]}, 3);
        right(rows, api.duckdb_append_double(rows, k->weight[i]));
        append_numbers(rows, (int64_t[]){k->owner[i], k->breeder[i]}, 2);
        end_row(rows);
    }
    end_table(rows);
    close_database(d);
}

// ----------------------------------------------------------------------------------------- asking

static question *prepare(database *d, const char *class_name, const char *text) {
    (void)class_name;
    question *q = malloc(sizeof *q);
    if (!q) die("no memory");
    *q = (question){.of = d};
    if (api.duckdb_prepare(d->connection, text, &q->statement))
        die("duckdb: %.200s: %s", text, api.duckdb_prepare_error(q->statement));
    return q;
}

static void finish(question *q) {
    api.duckdb_destroy_prepare(&q->statement);
    free(q->found);
    free(q);
}

// The first column is of 64-bit ints.
static size_t list(question *q, size_t room) {
    if (room > q->room) {
        free(q->found);
        q->found = must_alloc(room * sizeof *q->found);
        q->room = room;
    }
    duckdb_result result;
    if (api.duckdb_execute_prepared(q->statement, &result)) die("duckdb: %s", api.duckdb_result_error(&result));
    handle chunk;
    q->count = 0;
    while ((chunk = api.duckdb_fetch_chunk(result))) {
        const size_t rows = api.duckdb_data_chunk_get_size(chunk);
        if (rows > room - q->count) die("duckdb: more than %zu rows", room);
        const void *values = api.duckdb_vector_get_data(api.duckdb_data_chunk_get_vector(chunk, 0));
        memcpy(q->found + q->count, values, rows * sizeof *q->found);
        q->count += rows;
        api.duckdb_destroy_data_chunk(&chunk);
    }
    api.duckdb_destroy_result(&result);
    return q->count;
}

static uint64_t count(question *q) {
    if (list(q, 1) != 1) die("duckdb: no count");
    return (uint64_t)q->found[0];
}

static void ids(question *q, int64_t *found) { memcpy(found, q->found, q->count * sizeof *found); }

static size_t groups(question *q, size_t room, group_columns found) {
    duckdb_result result;
    if (api.duckdb_execute_prepared(q->statement, &result)) die("duckdb: %s", api.duckdb_result_error(&result));
    handle chunk;
    size_t count = 0;
    while ((chunk = api.duckdb_fetch_chunk(result))) {
        const size_t rows = api.duckdb_data_chunk_get_size(chunk);
        if (rows > room - count) die("duckdb: more than %zu groups", room);
        void *const columns[] = {found.key + count, found.count + count, found.sum + count};
        for (uint64_t i = 0; i < 3; i++)
            memcpy(columns[i], api.duckdb_vector_get_data(api.duckdb_data_chunk_get_vector(chunk, i)), rows * 8);
        count += rows;
        api.duckdb_destroy_data_chunk(&chunk);
    }
    api.duckdb_destroy_result(&result);
    return count;
}

// Chunks of its own columns: a string is its length and up to 12 bytes of it, or 4 and where all of them are.
static void stream(question *q, bool views, stream_digest *digest) {
    (void)views;    // always
    typedef struct { uint32_t length; char prefix[4]; const char *rest; } text;
    duckdb_result result;
    if (api.duckdb_execute_prepared(q->statement, &result)) die("duckdb: %s", api.duckdb_result_error(&result));
    handle chunk;
    while ((chunk = api.duckdb_fetch_chunk(result))) {
        const size_t rows = api.duckdb_data_chunk_get_size(chunk);
        const int64_t *ids = api.duckdb_vector_get_data(api.duckdb_data_chunk_get_vector(chunk, 0));
        const text *names = api.duckdb_vector_get_data(api.duckdb_data_chunk_get_vector(chunk, 1));
        for (size_t i = 0; digest && i < rows; i++)
            digest_add(digest, ids[i], names[i].length > 12 ? names[i].rest : names[i].prefix, names[i].length);
        api.duckdb_destroy_data_chunk(&chunk);
    }
    api.duckdb_destroy_result(&result);
}

const queries queries_duckdb = {
    .version = version,
    .create_people = create_people,
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
