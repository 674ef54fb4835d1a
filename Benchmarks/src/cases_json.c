// JSON text into a new store, beside parsing it without keeping anything: simdjson, and Python's json.
#include "cases.h"
#include "json.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { padding = 64 };      // simdjson reads that far behind the end

static const json_importer *importer_of(const peer *p) {
    if (!strcmp(p->name, "sqlite")) return &json_sqlite;
#ifdef HAVE_OBJSTORE
    if (!strcmp(p->name, "objstore")) return &json_objstore;
#endif
    return NULL;
}

typedef struct { char *text; size_t length; json_figures truth; } document;

// A person a line, {"id": 7, "name": "…", "age": 44, "score": 12.5, "email": null, "tags": ["…", …], "dogs": [{"name":
// "…", "age": 5}, …]}, with 0 to 3 tags and 0 to 2 dogs.
static document make_people(const people *data, size_t count) {
    document d = {.text = must_alloc(count * 512 + padding + 16)};
    random_source random = {11};
    char *at = d.text;
    *at++ = '[';
    for (size_t i = 0; i < count; i++) {
        at += sprintf(at, "%s\n{\"id\": %zu, \"name\": \"%.*s\", \"age\": %d, \"score\": %.17g, ", i ? "," : "", i,
            (int)name_length(data, i), name_of(data, i), data->age[i], data->score[i]);
        if (data->email_is_null[i]) at += sprintf(at, "\"email\": null, ");
        else at += sprintf(at, "\"email\": \"%.*s\", ", (int)email_length(data, i), email_of(data, i));
        at += sprintf(at, "\"tags\": [");
        for (size_t k = 0, tags = random_below(&random, 4); k < tags; k++) {
            const size_t other = random_below(&random, count);
            at += sprintf(at, "%s\"%.*s\"", k ? ", " : "", (int)name_length(data, other), name_of(data, other));
            d.truth.texts++;
            d.truth.text_bytes += (int64_t)name_length(data, other);
        }
        at += sprintf(at, "], \"dogs\": [");
        for (size_t k = 0, dogs = random_below(&random, 3); k < dogs; k++) {
            const int age = (int)random_below(&random, 20);
            const size_t other = random_below(&random, count);
            at += sprintf(at, "%s{\"name\": \"%.*s\", \"age\": %d}", k ? ", " : "", (int)name_length(data, other),
                name_of(data, other), age);
            d.truth.nested++;
            d.truth.nested_sum += age;
        }
        at += sprintf(at, "]}");
        d.truth.objects++;
        d.truth.sum += data->age[i];
    }
    at += sprintf(at, "\n]\n");
    d.length = (size_t)(at - d.text);
    return d;
}

// What `run` has made of the data of the demo; the figures are in a file beside it: those that Python counted.
static bool read_cities(document *d) {
    const char *path = getenv("BENCH_CITIES");
    if (!path || !*path) return false;
    char *figures_path = format_path("%s.figures", path);
    FILE *in = fopen(figures_path, "r");
    check_sys(in != NULL);
    *d = (document){.length = file_bytes(path)};
    if (fscanf(in, "%ld %ld %ld %ld", &d->truth.objects, &d->truth.sum, &d->truth.texts, &d->truth.text_bytes) != 4)
        die("json_import_cities: no figures in %s", figures_path);
    check_sys(fclose(in) == 0);
    free(figures_path);
    d->text = must_alloc(d->length + padding);
    check_sys((in = fopen(path, "r")) != NULL);
    if (fread(d->text, 1, d->length, in) != d->length) die("json_import_cities: %s is too short", path);
    check_sys(fclose(in) == 0);
    return true;
}

// Seconds that Python's json.loads takes for a file, in a process of its own.
static double python_seconds(const char *path) {
    char *command = format_path("python3 -c 'import json, sys, time\n"
                                "text = open(sys.argv[1], encoding=\"utf-8\").read()\n"
                                "begin = time.perf_counter()\n"
                                "json.loads(text)\n"
                                "print(time.perf_counter() - begin)' '%s'", path);
    FILE *in = popen(command, "r");
    double seconds;
    check_sys(in != NULL);
    if (fscanf(in, "%lf", &seconds) != 1) die("json_import: no time from python3");
    if (pclose(in) != 0) die("json_import: python3 failed");
    free(command);
    return seconds;
}

static void import(bench *b, const char *name, json_shape shape, const document *d) {
    result *r = add_result(b, name, "MB/s", true);
    const double megabytes = (double)d->length / 1e6;
    series python = {0};
    char *path = format_path("%s/import.json", b->directory);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    check_sys(out >= 0);
    write_all(out, d->text, d->length, 0);
    check_sys(close(out) == 0);
    for (size_t i = 0, n = repetitions(b, 5); i < n; i++) {
        int64_t start;
#ifdef HAVE_SIMDJSON
        start = now_ns();
        if (floor_json(d->text, d->length) != (size_t)d->truth.objects) die("%s: the floor is wrong", name);
        series_add(&r->tracks[FLOOR].repetitions, megabytes * 1e9 / (double)(now_ns() - start));
#endif
        series_add(&python, megabytes / python_seconds(path));
        each_peer(b, slot) {
            const json_importer *p = importer_of(b->peers[slot]);
            if (!p) continue;
            char *directory = fresh_directory(b, slot, "json");
            json_store *s = p->create(directory, shape);
            start = now_ns();
            p->import(s, d->text, d->length);
            series_add(&r->tracks[slot].repetitions, megabytes * 1e9 / (double)(now_ns() - start));
            const json_figures found = p->figures(s);
            if (memcmp(&found, &d->truth, sizeof found))
                die("%s: %s: %ld objects, %ld; %ld texts, %ld; %ld nested, %ld", name, b->peers[slot]->name,
                    found.objects, found.sum, found.texts, found.text_bytes, found.nested, found.nested_sum);
            p->close(s);
            drop(directory);
        }
    }
    result_extra(r, series_median(&python), "python_json_loads");
    result_extra(r, megabytes, "megabytes");
    series_free(&python);
    check_sys(unlink(path) == 0);
    free(path);
}

void run_json(bench *b, wanted_function *wanted) {
    (void)wanted;
    document d = make_people(b->data, b->data->count < 100000 ? b->data->count : 100000);
    import(b, "json_import", PEOPLE, &d);
    free(d.text);
    if (!read_cities(&d)) return;
    import(b, "json_import_cities", CITIES, &d);
    free(d.text);
}
