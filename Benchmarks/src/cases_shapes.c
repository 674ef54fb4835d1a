// Stores of another shape than Person: string keys, wide rows, big values, many classes.
#include "cases.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define each_shapes(b, slot) each_peer(b, slot) if ((b)->peers[slot]->shapes)

static shaped *create_shaped(const bench *b, int slot, const char *where, shape what, size_t count) {
    char *path = fresh_directory(b, slot, where);
    shaped *s = b->peers[slot]->shapes->create(path, what, count);
    free(path);
    return s;
}

static shaped *open_shaped(const bench *b, int slot, const char *where, shape what, size_t count) {
    char *path = store_path(b, slot, where);
    shaped *s = b->peers[slot]->shapes->open(path, what, count);
    free(path);
    return s;
}

// Writes a new file in one go, and syncs it: the floor of whatever one transaction inserts.
static int64_t floor_file(
    const bench *b, const void *first, size_t first_bytes, const void *second, size_t second_bytes) {
    char *path = format_path("%s/floor.bulk", b->directory);
    int64_t start = now_ns();
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    check_sys(out >= 0);
    write_all(out, first, first_bytes, 0);
    write_all(out, second, second_bytes, first_bytes);
    check_sys(fdatasync(out) == 0);
    check_sys(close(out) == 0);
    int64_t time = now_ns() - start;
    check_sys(unlink(path) == 0);
    free(path);
    return time;
}

// -------------------------------------------------------------------------------- string keys

// Sixteen letters a … p, different ones for different objects, in no order.
static char *make_text_keys(size_t count) {
    char *keys = must_alloc(count * text_key_length);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = random_mix(i + 0x5eed);
        for (size_t k = 0; k < text_key_length; k++) keys[i * text_key_length + k] = (char)('a' + (bits >> 4 * k & 15));
    }
    return keys;
}

static void check_people(const people *data, const int64_t *which, size_t size, int64_t *ages, const char *peer_name) {
    for (size_t i = 0; i < size; i++)
        if (ages[i] != data->age[which[i]])
            die("string keys: %s: object %ld has age %ld", peer_name, which[i], ages[i]);
    memset(ages, 255, size * 8);
}

void run_text_keys(bench *b, wanted_function *wanted) {
    result *insert =
        wanted("bulk_insert_string_pk") ? add_result(b, "bulk_insert_string_pk", "us/object", false) : NULL;
    result *lookup = wanted("lookup_pk_string") ? add_result(b, "lookup_pk_string", "us/op", false) : NULL;
    const people *data = b->data;
    const size_t size = data->count < 100000 ? data->count : 100000;
    char *keys = make_text_keys(data->count), *floor_path = format_path("%s/floor.bulk", b->directory);
    int64_t *which = must_alloc(size * 8), *ages = must_alloc(size * 8);
    random_source random = {3};
    for (size_t i = 0; i < size; i++) which[i] = (int64_t)random_below(&random, data->count);
    for (size_t i = 0, n = insert ? repetitions(b, 3) : 1; i < n; i++) {
        int64_t start = now_ns();
        floor_bulk_rows(floor_path, data);
        if (insert)
            series_add(&insert->tracks[FLOOR].repetitions, microseconds(now_ns() - start) / (double)data->count);
        each_shapes(b, slot) {
            const shapes *p = b->peers[slot]->shapes;
            shaped *s = create_shaped(b, slot, "text", TEXT_KEYS, 0);
            start = now_ns();
            p->insert_people(s, data, keys);
            if (insert)
                series_add(&insert->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)data->count);
            p->lookup_people(s, keys, which, size, ages);
            check_people(data, which, size, ages, b->peers[slot]->name);
            p->close(s);
        }
    }
    shaped *stores[SLOTS] = {0};
    each_shapes(b, slot) stores[slot] = open_shaped(b, slot, "text", TEXT_KEYS, 0);
    for (size_t i = 0, n = lookup ? repetitions(b, 7) : 0; i < n; i++) {
        int64_t start = now_ns();
        floor_lookup(data, which, size, ages);
        series_add(&lookup->tracks[FLOOR].repetitions, microseconds(now_ns() - start) / (double)size);
        each_shapes(b, slot) {
            start = now_ns();
            b->peers[slot]->shapes->lookup_people(stores[slot], keys, which, size, ages);
            series_add(&lookup->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)size);
            check_people(data, which, size, ages, b->peers[slot]->name);
        }
    }
    each_shapes(b, slot) {
        b->peers[slot]->shapes->close(stores[slot]);
        drop(store_path(b, slot, "text"));
    }
    check_sys(unlink(floor_path) == 0);
    free(floor_path);
    free(keys);
    free(which);
    free(ages);
}

// ---------------------------------------------------------------------------------- wide rows

static int64_t wide_value(size_t row, size_t column) { return (int64_t)(random_mix(row * wide_width + column) >> 40); }

// A hundredth of N rows of a hundred properties: insert all, get whole rows at random, set one property of all.
void run_wide_rows(bench *b, wanted_function *wanted) {
    (void)wanted;
    result *inserted = add_result(b, "wide_rows_insert", "us/object", false);
    result *got = add_result(b, "wide_rows_get", "us/object", false);
    result *updated = add_result(b, "wide_rows_update", "us/object", false);
    const size_t rows = b->data->count / 100 < 1000 ? 1000 : b->data->count / 100, gets = 1000, column = 57;
    const size_t row_bytes = wide_width * 8;
    int64_t *values = must_alloc(rows * row_bytes), *ids = must_alloc(rows * 8), *changed = must_alloc(rows * 8);
    int64_t *out = must_alloc(gets * row_bytes);
    for (size_t i = 0; i < rows * wide_width; i++) values[i] = wide_value(i / wide_width, i % wide_width);
    const people numbering = {.count = rows, .age = must_alloc(rows)};
    const update_sequence scatter = update_sequence_make(&numbering, 0, rows);
    uint8_t *unused = must_alloc(rows);
    for (size_t i = 0, n = repetitions(b, 3); i < n; i++) {
        make_update(&scatter, 0, rows, ids, unused);
        for (size_t k = 0; k < rows; k++) changed[k] = (int64_t)(i + 1) << 32 | ids[k];
        for (int slot = FLOOR; slot < SLOTS; slot++) {
            const peer *engine = b->peers[slot];
            if (slot != FLOOR && !(engine && engine->shapes)) continue;
            shaped *s = engine ? create_shaped(b, slot, "wide", WIDE, 0) : NULL;
            int64_t start = now_ns();
            if (s) engine->shapes->insert_wide(s, values, rows);
            int64_t time = s ? now_ns() - start : floor_file(b, values, rows * row_bytes, NULL, 0);
            series_add(&inserted->tracks[slot].repetitions, microseconds(time) / (double)rows);
            // Half the rows as they were inserted, then half of them after the update: every column is compared.
            for (size_t pass = 0; pass < 2; pass++) {
                start = now_ns();
                if (s) engine->shapes->read_wide(s, ids + pass * (rows - gets), gets, out);
                else for (size_t k = 0; k < gets; k++)
                    memcpy(out + k * wide_width, values + ids[pass * (rows - gets) + k] * wide_width, row_bytes);
                time = now_ns() - start;
                if (!pass) series_add(&got->tracks[slot].repetitions, microseconds(time) / (double)gets);
                for (size_t k = 0; k < gets; k++) {
                    size_t id = (size_t)ids[pass * (rows - gets) + k];
                    for (size_t c = 0; c < wide_width; c++) {
                        int64_t expected = s && pass && c == column ? (int64_t)(i + 1) << 32 | (int64_t)id
                                                                    : values[id * wide_width + c];
                        if (out[k * wide_width + c] != expected)
                            die("wide_rows: %s: row %zu, column %zu", slot_names[slot], id, c);
                    }
                }
                if (pass) break;
                start = now_ns();
                if (s) engine->shapes->update_wide(s, column, ids, changed, rows);
                time = s ? now_ns() - start : floor_file(b, changed, rows * 8, NULL, 0);
                series_add(&updated->tracks[slot].repetitions, microseconds(time) / (double)rows);
            }
            if (!s) continue;
            engine->shapes->close(s);
            drop(store_path(b, slot, "wide"));
        }
    }
    result_extra(inserted, (double)rows, "rows");
    free(values), free(ids), free(changed), free(out), free(unused), free(numbering.age);
}

// ---------------------------------------------------------------------------------- big values

// Values of 1, 4 and 16 MiB, each in a transaction of its own. The floors: a synced write of as many bytes behind
// the end of a file, and memcpy from memory to memory.
void run_big_values(bench *b, wanted_function *wanted) {
    (void)wanted;
    static const struct { size_t size, count; const char *written, *read; } kinds[] = {
        {(size_t)1 << 20, 24, "big_values_write_1_mib", "big_values_read_1_mib"},
        {(size_t)4 << 20, 8, "big_values_write_4_mib", "big_values_read_4_mib"},
        {(size_t)16 << 20, 4, "big_values_write_16_mib", "big_values_read_16_mib"},
    };
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        const size_t size = kinds[kind].size, count = kinds[kind].count;
        result *written = add_result(b, kinds[kind].written, "MiB/s", true);
        result *read = add_result(b, kinds[kind].read, "MiB/s", true);
        uint8_t *values = must_alloc(size * count), *out = must_alloc(size);
        random_source random = {size};
        for (size_t i = 0; i < size * count / 8; i++) ((uint64_t *)(void *)values)[i] = random_next(&random);
        for (size_t i = 0, n = repetitions(b, 3); i < n; i++) {
            for (int slot = FLOOR; slot < SLOTS; slot++) {
                const peer *engine = b->peers[slot];
                if (slot != FLOOR && !(engine && engine->shapes)) continue;
                shaped *s = engine ? create_shaped(b, slot, "big", BIG_VALUES, 0) : NULL;
                char *path = format_path("%s/floor.bulk", b->directory);
                int file = s ? -1 : open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
                check_sys(s || file >= 0);
                int64_t start = now_ns();
                for (size_t k = 0; k < count; k++) {
                    if (s) { engine->shapes->write_big(s, (int64_t)k + 1, values + k * size, size); continue; }
                    write_all(file, values + k * size, size, k * size);
                    check_sys(fdatasync(file) == 0);
                }
                double mib = (double)(size * count) / (1 << 20);
                series_add(&written->tracks[slot].repetitions, mib / ((double)(now_ns() - start) / 1e9));
                int64_t time = 0;
                for (size_t pass = 0; pass < 2; pass++) {       // the first touches pages that were not read yet
                    time = 0;
                    for (size_t k = 0; k < count; k++) {
                        start = now_ns();
                        if (s) engine->shapes->read_big(s, (int64_t)k + 1, out, size);
                        else memcpy(out, values + k * size, size);
                        time += now_ns() - start;
                        if (memcmp(out, values + k * size, size))
                            die("big_values: %s: value %zu is another", slot_names[slot], k);
                        memset(out, 1, size);
                    }
                }
                series_add(&read->tracks[slot].repetitions, mib / ((double)time / 1e9));
                if (s) {
                    engine->shapes->close(s);
                    drop(store_path(b, slot, "big"));
                } else {
                    check_sys(close(file) == 0);
                    check_sys(unlink(path) == 0);
                }
                free(path);
            }
        }
        free(values);
        free(out);
    }
}

// -------------------------------------------------------------------------------- many classes

// 500 classes: opening, and a commit to one of them after the other.
void run_many_classes(bench *b, wanted_function *wanted) {
    (void)wanted;
    enum { classes = 500, batch = 50 };
    result *opened = add_result(b, "many_classes_open", "us/op", false);
    result *commit = add_result(b, "many_classes_commit_1", "us/commit", false);
    written_file floor_log = open_floor_file(b);
    shaped *stores[SLOTS] = {0};
    int64_t values[SLOTS][classes] = {{0}};
    each_shapes(b, slot) b->peers[slot]->shapes->close(create_shaped(b, slot, "classes", CLASSES, classes));
    size_t rounds = repetitions(b, 10);
    for (size_t i = 0; i < rounds; i++) {
        each_shapes(b, slot) {
            const shapes *p = b->peers[slot]->shapes;
            series times = {0};
            for (size_t k = 0; k < 5; k++) {
                int64_t start = now_ns();
                shaped *s = open_shaped(b, slot, "classes", CLASSES, classes);
                series_add(&times, microseconds(now_ns() - start));
                if (p->read_class(s, (i * 37 + k) % classes) != 0)
                    die("many_classes: %s: wrong value", b->peers[slot]->name);
                p->close(s);
            }
            series_add(&opened->tracks[slot].repetitions, series_median(&times));
            series_free(&times);
            if (b->peers[slot]->settle) sync_file_system(b->directory);
        }
    }
    each_shapes(b, slot) stores[slot] = open_shaped(b, slot, "classes", CLASSES, classes);
    for (size_t i = 0; i < rounds; i++) {
        for (int slot = FLOOR; slot < SLOTS; slot++) {
            if (slot != FLOOR && !stores[slot]) continue;
            series times = {0};
            for (size_t k = 0; k < batch; k++) {
                size_t class = (i * batch + k) * 7 % classes;
                int64_t start = now_ns(), value = (int64_t)(i * batch + k + 1);
                if (slot == FLOOR) floor_write(&floor_log, 4096, true);
                else b->peers[slot]->shapes->update_class(stores[slot], class, value);
                double time = microseconds(now_ns() - start);
                series_add(&times, time);
                series_add(&commit->tracks[slot].samples, time);
                values[slot][class] = value;
            }
            series_add(&commit->tracks[slot].repetitions, series_median(&times));
            series_free(&times);
        }
    }
    each_shapes(b, slot) {
        const shapes *p = b->peers[slot]->shapes;
        p->close(stores[slot]);
        shaped *s = open_shaped(b, slot, "classes", CLASSES, classes);
        for (size_t c = 0; c < classes; c++)
            if (p->read_class(s, c) != values[slot][c])
                die("many_classes: %s: class %zu has another value", b->peers[slot]->name, c);
        p->close(s);
        drop(store_path(b, slot, "classes"));
    }
    written_file_close(&floor_log);
}
