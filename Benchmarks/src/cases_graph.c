// Objects with links, lists, maps, sets and mixed values: created, looked up backwards, read, deleted, and what they
// link to deleted.
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

typedef struct {
    result *create, *inverse, *map_set, *map_get, *set_insert, *set_contains, *mixed, *delete, *delete_half;
} graph_results;

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
            if (values[i] != sum_of_dogs(ids[i], persons, dogs, &wanted))
                die("graph_inverse: %s: wrong dogs of %ld", name, ids[i]);
        if (count != wanted) die("graph_inverse: %s: %zu dogs, not %zu", name, count, wanted);
    }
    char *keys = must_alloc(notes * note_key_length + 1);
    for (size_t i = 0; i < notes; i++) {
        char key[32];
        snprintf(key, sizeof key, "%012zu", (size_t)(i * 2654435761u % 1000000007u));
        memcpy(keys + i * note_key_length, key, note_key_length);
    }
    for (size_t i = 0; i < read; i++) which[i] = random_next(&random) % notes;
    if (r->map_set || r->map_get) {
        start = now_ns();
        p->fill_notes(g, keys, notes);
        if (r->map_set)
            series_add(&r->map_set->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)notes);
        start = now_ns();
        p->read_notes(g, keys, which, read, values);
        if (r->map_get) series_add(&r->map_get->tracks[slot].repetitions, (double)(now_ns() - start) / read);
        for (size_t i = 0; i < read; i++)
            if (values[i] != (int64_t)which[i]) die("graph_map_get: %s: wrong value", name);
    }
    if (r->set_insert || r->set_contains) {     // half of the keys are in the set
        start = now_ns();
        p->fill_labels(g, keys, notes / 2);
        if (r->set_insert)
            series_add(&r->set_insert->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)(notes / 2));
        start = now_ns();
        p->have_labels(g, keys, which, read, values);
        if (r->set_contains) series_add(&r->set_contains->tracks[slot].repetitions, (double)(now_ns() - start) / read);
        for (size_t i = 0; i < read; i++)
            if (values[i] != (which[i] < notes / 2)) die("graph_set_contains: %s: wrong answer", name);
    }
    free(keys);
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

// Half of the dogs by a query, in a store of its own: each has a list, an owner, and two dogs whose friend it is.
static void run_half(bench *b, int slot, const graphs *p, result *r) {
    enum { limit = 50 };
    const size_t dogs = b->data->count, persons = dogs / 1000 ? dogs / 1000 : 1;
    size_t gone = 0, alone = 0;
    int64_t marks = 0;
    for (size_t i = 0; i < dogs; i++) {
        if (rank_of((int64_t)i) < limit) {
            gone++;
            continue;
        }
        alone += !i || rank_of((int64_t)i / 2) < limit;
        marks += (int64_t)(marks_of_a_dog * i) + 10;
    }
    char *path = fresh_directory(b, slot, "graph");
    graph *g = p->create(path);
    p->fill(g, persons, dogs);
    const int64_t start = now_ns();
    const size_t deleted = p->delete_dogs(g, limit);
    series_add(&r->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)gone);
    if (deleted != gone || p->dogs_without_friend(g) != alone || p->dogs_without_owner(g) != 0 ||
        p->sum_marks(g) != marks)
        die("graph_delete_half: %s: %zu deleted, %zu without a friend, marks %ld", b->peers[slot]->name, deleted,
            p->dogs_without_friend(g), p->sum_marks(g));
    p->close(g);
    drop(path);
}

// Dogs that one large list has, in no order: some one by one, then half of the others together.
void run_herd(bench *b, wanted_function *wanted) {
    result *each = wanted("herd_delete_each") ? add_result(b, "herd_delete_each", "us/object", false) : NULL;
    result *together =
        wanted("herd_delete_together") ? add_result(b, "herd_delete_together", "us/object", false) : NULL;
    const size_t dogs = b->data->count, stride = dogs < 2000 ? 10 : dogs / 200;
    int64_t *ids = must_alloc(dogs * 8), *singles = must_alloc(dogs * 8), *half = must_alloc(dogs * 8),
            *left = must_alloc(dogs * 8);
    int64_t *found = must_alloc(dogs * 8);
    random_source random = {13};
    for (size_t i = 0; i < dogs; i++) {
        const size_t other = random_next(&random) % (i + 1);
        ids[i] = ids[other];
        ids[other] = (int64_t)i;
    }
    size_t counts[3] = {0};
    for (size_t i = 0; i < dogs; i++) {
        if (i % stride == 0) singles[counts[0]++] = ids[i];
        else if (random_next(&random) % 2) half[counts[1]++] = ids[i];
        else left[counts[2]++] = ids[i];
    }
    for (size_t i = 0, n = repetitions(b, 3); i < n; i++) {
        each_peer(b, slot) {
            const graphs *engine = graphs_of(b->peers[slot]);
            if (!engine) continue;
            const herds *p = engine->herds;
            char *path = fresh_directory(b, slot, "herd");
            herd *h = p->create(path);
            p->fill(h, ids, dogs);
            int64_t start = now_ns();
            p->delete_each(h, singles, counts[0]);
            if (each) series_add(&each->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)counts[0]);
            start = now_ns();
            p->delete_together(h, half, counts[1]);
            if (together)
                series_add(&together->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)counts[1]);
            if (p->size(h) != counts[2])
                die("herd: %s: %zu dogs are left, not %zu", b->peers[slot]->name, p->size(h), counts[2]);
            p->read(h, found, counts[2]);
            if (memcmp(found, left, counts[2] * 8))
                die("herd: %s: other dogs are left, or in another order", b->peers[slot]->name);
            p->close(h);
            drop(path);
        }
    }
    free(ids);
    free(singles);
    free(half);
    free(left);
    free(found);
}

void run_graph(bench *b, wanted_function *wanted) {
    const graph_results r = {
        .create = wanted("graph_create") ? add_result(b, "graph_create", "us/object", false) : NULL,
        .inverse = wanted("graph_inverse") ? add_result(b, "graph_inverse", "us/1000 objects", false) : NULL,
        .map_set = wanted("graph_map_set") ? add_result(b, "graph_map_set", "us/entry", false) : NULL,
        .map_get = wanted("graph_map_get") ? add_result(b, "graph_map_get", "ns/op", false) : NULL,
        .set_insert = wanted("graph_set_insert") ? add_result(b, "graph_set_insert", "us/element", false) : NULL,
        .set_contains = wanted("graph_set_contains") ? add_result(b, "graph_set_contains", "ns/op", false) : NULL,
        .mixed = wanted("graph_mixed_get") ? add_result(b, "graph_mixed_get", "ns/op", false) : NULL,
        .delete = wanted("graph_delete") ? add_result(b, "graph_delete", "us/link", false) : NULL,
        .delete_half = wanted("graph_delete_half") ? add_result(b, "graph_delete_half", "us/object", false) : NULL,
    };
    const bool others =
        r.create || r.inverse || r.map_set || r.map_get || r.set_insert || r.set_contains || r.mixed || r.delete;
    for (size_t i = 0, n = repetitions(b, 3); i < n; i++) {
        each_peer(b, slot) {
            const graphs *p = graphs_of(b->peers[slot]);
            if (p && others) run_one(b, slot, p, &r, i);
            if (p && r.delete_half) run_half(b, slot, p, r.delete_half);
        }
    }
}
