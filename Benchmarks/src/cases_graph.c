// Objects with links, lists, maps and mixed values: created, asked for backwards, read, and what they link to deleted.
#include "cases.h"
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const graphs *graphs_of(const peer *p) {
    if (!strcmp(p->name, "sqlite")) return &graphs_sqlite;
#ifdef HAVE_OBJSTORE
    if (!strcmp(p->name, "objstore")) return &graphs_objstore;
#endif
    return NULL;
}

static int64_t sum_of_dogs(int64_t person, size_t persons, size_t dogs, size_t *count) {
    int64_t sum = 0;
    *count = 0;
    for (size_t i = (size_t)person; i < dogs; i += persons) {
        sum += (int64_t)i;
        ++*count;
    }
    return sum;
}

typedef struct { result *create, *inverse, *map_set, *map_get, *mixed, *delete; } graph_results;

static void run_one(bench *b, int slot, const graphs *p, const graph_results *r, size_t round) {
    enum { asked = 200, read = 100000 };
    const size_t dogs = b->data->count, persons = dogs / 1000 ? dogs / 1000 : 1, notes = dogs < 100000 ? dogs : 100000;
    const char *name = b->peers[slot]->name;
    random_source random = {9 + round};
    char *path = fresh_directory(b, slot, "graph");
    graph *g = p->create(path);
    int64_t start = now_ns();
    p->fill(g, persons, dogs);
    if (r->create) series_add(&r->create->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)dogs);
    const int64_t marks = (int64_t)(marks_of_a_dog * (dogs * (dogs - 1) / 2) + 10 * dogs);
    if (p->sum_marks(g) != marks) die("graph: %s: wrong marks", name);

    int64_t *values = must_alloc(read * 8), *ids = must_alloc(read * 8);
    size_t *which = must_alloc(read * sizeof *which);
    if (r->inverse) {
        for (size_t i = 0; i < asked; i++) ids[i] = (int64_t)(random_next(&random) % persons);
        size_t count = 0, wanted;
        start = now_ns();
        for (size_t i = 0; i < asked; i++) values[i] = p->dogs_of(g, ids[i], &count);
        series_add(&r->inverse->tracks[slot].repetitions, microseconds(now_ns() - start) / asked);
        for (size_t i = 0; i < asked; i++)
            if (values[i] != sum_of_dogs(ids[i], persons, dogs, &wanted)) die("graph_inverse: %s: wrong dogs of %ld", name, ids[i]);
        if (count != wanted) die("graph_inverse: %s: %zu dogs, not %zu", name, count, wanted);
    }
    if (r->map_set || r->map_get) {
        char *keys = must_alloc(notes * note_key_length + 1);
        for (size_t i = 0; i < notes; i++) {
            char key[32];
            snprintf(key, sizeof key, "%012zu", (size_t)(i * 2654435761u % 1000000007u));
            memcpy(keys + i * note_key_length, key, note_key_length);
        }
        start = now_ns();
        p->fill_notes(g, keys, notes);
        if (r->map_set) series_add(&r->map_set->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)notes);
        for (size_t i = 0; i < read; i++) which[i] = random_next(&random) % notes;
        start = now_ns();
        p->read_notes(g, keys, which, read, values);
        if (r->map_get) series_add(&r->map_get->tracks[slot].repetitions, (double)(now_ns() - start) / read);
        for (size_t i = 0; i < read; i++) if (values[i] != (int64_t)which[i]) die("graph_map_get: %s: wrong value", name);
        free(keys);
    }
    if (r->mixed) {
        for (size_t i = 0; i < read; i++) ids[i] = (int64_t)(random_next(&random) % dogs);
        start = now_ns();
        p->read_extras(g, ids, read, values);
        series_add(&r->mixed->tracks[slot].repetitions, (double)(now_ns() - start) / read);
        for (size_t i = 0; i < read; i++) {
            const char *text = extra_text(ids[i]);
            if (values[i] != (text ? (int64_t)strlen(text) : ids[i])) die("graph_mixed_get: %s: wrong value", name);
        }
    }
    if (r->delete) {
        const size_t gone = persons / 2 ? persons / 2 : 1;
        size_t count, lost = 0;
        for (size_t i = 0; i < gone; i++) {
            sum_of_dogs((int64_t)i, persons, dogs, &count);
            lost += count;
        }
        start = now_ns();
        p->delete_persons(g, 0, gone);
        series_add(&r->delete->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)lost);
        if (p->dogs_without_owner(g) != lost) die("graph_delete: %s: wrong number of dogs without an owner", name);
    }
    p->close(g);
    drop(path);
    free(values);
    free(ids);
    free(which);
}

void run_graph(bench *b, wanted_function *wanted) {
    const graph_results r = {
        .create = wanted("graph_create") ? add_result(b, "graph_create", "us/object", false) : NULL,
        .inverse = wanted("graph_inverse") ? add_result(b, "graph_inverse", "us/1000 objects", false) : NULL,
        .map_set = wanted("graph_map_set") ? add_result(b, "graph_map_set", "us/entry", false) : NULL,
        .map_get = wanted("graph_map_get") ? add_result(b, "graph_map_get", "ns/op", false) : NULL,
        .mixed = wanted("graph_mixed_get") ? add_result(b, "graph_mixed_get", "ns/op", false) : NULL,
        .delete = wanted("graph_delete") ? add_result(b, "graph_delete", "us/link", false) : NULL,
    };
    for (size_t i = 0, n = repetitions(b, 3); i < n; i++)
        each_peer(b, slot) if (graphs_of(b->peers[slot])) run_one(b, slot, graphs_of(b->peers[slot]), &r, i);
}
