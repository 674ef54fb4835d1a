/* async-writes races|kills|waits|watched [--count N] [--seed S] [--threads T] [--bug NUMBER] [--path FILE] */
#define _GNU_SOURCE
#include "async.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#ifdef WITH_INJECTED_BUGS
#include <csystem.h>
#endif

objstore_class_id entry;
objstore_property_id entry_properties[ENTRY_PROPERTIES];

static const objstore_property_row entry_rows[ENTRY_PROPERTIES] = {
    [NUMBER] = {.name = "number", .kind = OBJSTORE_KIND_INT, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
    [CHECK] = {.name = "check", .kind = OBJSTORE_KIND_INT},
};

static uint64_t seed_of_run;

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "async-writes: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (seed %" PRIu64 ")\n", seed_of_run);
    va_end(arguments);
    fflush(NULL);
    _exit(1);       /* other threads may be anywhere */
}

void must(objstore_status status, const char *file, int line) {
    if (status != OBJSTORE_OK)
        fail("%s:%d: %s: %s", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, objstore_status_name(status),
             objstore_last_message());
}

uint64_t random_next(random_source *source) {
    uint64_t z = source->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t random_below(random_source *source, uint64_t bound) { return random_next(source) % bound; }

/* ------------------------------------------------------------------------------------------------ the store */

static int64_t check_of(int64_t number) {
    random_source source = {(uint64_t)number};
    return (int64_t)random_next(&source);
}

objstore *open_with(const char *path, objstore_schema *schema) {
    objstore_config *config;
    objstore *store;
    MUST(objstore_config_new(&config));
    if (path) MUST(objstore_config_set_path(config, objstore_cstr(path)));
    else MUST(objstore_config_set_memory(config, OBJSTORE_STR("")));
    MUST(objstore_config_set_schema(config, schema, 1));
    /* So that checkpoints are part of what is tested. */
    MUST(objstore_config_set_limit(config, OBJSTORE_LIMIT_CHECKPOINT_LOG_BYTES, 2 << 20));
    MUST(objstore_open(config, &store));
    MUST(objstore_config_close(config));
    MUST(objstore_schema_close(schema));
    return store;
}

objstore *open_store(const char *path) {
    objstore_schema *schema;
    objstore_view *view;
    objstore_class_id class_id;
    objstore_property_id properties[ENTRY_PROPERTIES];
    MUST(objstore_schema_new(&schema));
    MUST(objstore_schema_add_rows(schema, OBJSTORE_STR("Entry"), 0, entry_rows, ENTRY_PROPERTIES));
    objstore *store = open_with(path, schema);
    MUST(objstore_view_open(store, &view));
    MUST(objstore_find_rows(view, OBJSTORE_STR("Entry"), entry_rows, ENTRY_PROPERTIES, &class_id, properties));
    MUST(objstore_view_close(view));
    if (entry == 0) {
        entry = class_id;
        memcpy(entry_properties, properties, sizeof properties);
    } else if (entry != class_id || memcmp(entry_properties, properties, sizeof properties)) {
        fail("the class has other ids after opening");
    }
    return store;
}

objstore_status create_entry(objstore_view *transaction, int64_t number) {
    objstore_value values[ENTRY_PROPERTIES] = {
        [NUMBER] = objstore_int(number), [CHECK] = objstore_int(check_of(number))};
    return objstore_create(transaction, entry, entry_properties, values, ENTRY_PROPERTIES, NULL);
}

static void read_column(objstore_view *view, int property, int64_t *values, size_t count) {
    int64_t position = OBJSTORE_START;
    size_t read;
    MUST(objstore_read_column(view, entry, entry_properties[property], count + 1, &position, values, NULL, NULL,
                              &read));
    if (read != count) fail("%zu entries were read, not the %zu that were counted", read, count);
}

int64_t *read_numbers(objstore *store, size_t *count) {
    objstore_view *live, *view;
    objstore_buffer report = objstore_buffer_init();
    uint64_t findings, found;
    int64_t *numbers, *checks;
    size_t i;
    MUST(objstore_view_open(store, &live));
    MUST(objstore_view_freeze(live, &view));
    MUST(objstore_view_close(live));
    MUST(objstore_verify(view, NULL, NULL, NULL, &report, &findings));
    if (findings) fail("%" PRIu64 " findings, the first of which: %s", findings, (const char *)report.bytes);
    MUST(objstore_count(view, entry, &found));
    *count = (size_t)found;
    numbers = malloc((*count + 1) * sizeof *numbers);
    checks = malloc((*count + 1) * sizeof *checks);
    if (!numbers || !checks) fail("no memory for %zu numbers", *count);
    read_column(view, NUMBER, numbers, *count);
    read_column(view, CHECK, checks, *count);
    for (i = 0; i < *count; i++)
        if (checks[i] != check_of(numbers[i])) fail("entry %" PRId64 " has another content", numbers[i]);
    free(checks);
    MUST(objstore_buffer_free(&report));
    MUST(objstore_view_close(view));
    return numbers;
}

/* ------------------------------------------------------------------------------------------------- the process */

enum { STANDSTILL = 600 };
static char came_to[128];

static void stands_still(int signal) {
    (void)signal;
    if (write(2, came_to, strlen(came_to)) < 0) _exit(3);
    _exit(1);
}

void goes_on(const char *where, uint64_t done) {
    struct sigaction action = {.sa_handler = stands_still};
    sigaction(SIGALRM, &action, NULL);
    snprintf(came_to, sizeof came_to, "async-writes: nothing has gone on for %d s after %" PRIu64 " %s (seed %" PRIu64
             ")\n", STANDSTILL, done, where, seed_of_run);
    alarm(STANDSTILL);
}

void set_bug(int number) {
    if (number < 0) return;
#ifdef WITH_INJECTED_BUGS
    cs_set_bug(number, true);
#else
    fail("this program has no injected bugs");
#endif
}

static _Noreturn void usage(void) {
    fprintf(stderr, "usage: async-writes races|kills|waits|watched [--count N] [--seed S] [--threads T] [--bug NUMBER] "
            "[--path FILE]\n");
    exit(2);
}

static uint64_t number_of(const char *word) {
    char *end;
    unsigned long long value;
    errno = 0;
    value = strtoull(word, &end, 10);
    if (errno || end == word || *end) usage();
    return value;
}

int main(int count, char **words) {
    options o = {.seed = 1, .count = 1000, .bug = -1, .program = words[0]};
    int pipe = -1, i;
    if (count < 2 || count % 2) usage();
    for (i = 2; i < count; i += 2) {
        if (!strcmp(words[i], "--count")) o.count = number_of(words[i + 1]);
        else if (!strcmp(words[i], "--seed")) o.seed = number_of(words[i + 1]);
        else if (!strcmp(words[i], "--threads")) o.threads = (int)number_of(words[i + 1]);
        else if (!strcmp(words[i], "--bug")) o.bug = (int)number_of(words[i + 1]);
        else if (!strcmp(words[i], "--pipe")) pipe = (int)number_of(words[i + 1]);
        else if (!strcmp(words[i], "--path")) o.path = words[i + 1];
        else usage();
    }
    seed_of_run = o.seed;
    set_bug(o.bug);
    if (!strcmp(words[1], "waits")) return run_waits(&o);
    if (!o.path) usage();
    if (!strcmp(words[1], "races")) return run_races(&o);
    if (!strcmp(words[1], "watched")) return run_watched(&o);
    if (!strcmp(words[1], "kills")) return run_kills(&o);
    if (!strcmp(words[1], "writer") && pipe >= 0) return run_writer(&o, pipe);
    usage();
}
