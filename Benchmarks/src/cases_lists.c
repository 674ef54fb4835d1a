// One list of N numbers, of one object; where an engine has no lists, the rows of a join table in the order of a
// position.
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#define each_lists(b, slot) each_peer(b, slot) if ((b)->peers[slot]->shapes && (b)->peers[slot]->shapes->append_list)

// Numbers below `appended` were appended in ascending order, the others inserted anywhere, each once.
static void check_list(const int64_t *values, size_t count, size_t appended, size_t inserted, const char *peer_name) {
    if (count != appended + inserted) die("lists: %s: %zu elements, not %zu", peer_name, count, appended + inserted);
    uint8_t *seen = must_alloc(inserted + 1);
    int64_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] == next) {
            next++;
            continue;
        }
        const int64_t which = values[i] - (int64_t)appended;
        if (which < 0 || which >= (int64_t)inserted || seen[which]++)
            die("lists: %s: element %zu is %ld", peer_name, i, values[i]);
    }
    if (next != (int64_t)appended) die("lists: %s: only %ld were appended", peer_name, next);
    free(seen);
}

// Every element once, and most of those that were moved not behind the one they were behind.
static void check_moved(const int64_t *values, size_t count, size_t moved, const char *peer_name) {
    uint8_t *seen = must_alloc(count);
    size_t breaks = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] < 0 || values[i] >= (int64_t)count || seen[values[i]]++)
            die("list_move: %s: element %zu is %ld", peer_name, i, values[i]);
        breaks += i && values[i] != values[i - 1] + 1;
    }
    if (breaks < moved || breaks > 7 * moved) die("list_move: %s: %zu breaks", peer_name, breaks);
    free(seen);
}

// Appends one by one, inserts one by one at random places, each in one transaction; reads all in order; moves as many
// from and to random places.
void run_lists(bench *b, wanted_function *wanted) {
    result *append = wanted("list_append") ? add_result(b, "list_append", "us/element", false) : NULL;
    result *insert = wanted("list_insert") ? add_result(b, "list_insert", "us/element", false) : NULL;
    result *walk = wanted("list_walk") ? add_result(b, "list_walk", "ns/element", false) : NULL;
    result *move = wanted("list_move") ? add_result(b, "list_move", "us/element", false) : NULL;
    const size_t appended = b->data->count, inserted = appended < 100000 ? appended : 100000;
    int64_t *values = must_alloc((appended + inserted) * 8);
    double *places = must_alloc(inserted * sizeof *places), *targets = must_alloc(inserted * sizeof *targets);
    random_source random = {5};
    for (size_t i = 0; i < inserted; i++) {
        places[i] = (double)(random_next(&random) >> 11) / 9007199254740992.0;
        targets[i] = (double)(random_next(&random) >> 11) / 9007199254740992.0;
    }
    for (size_t i = 0, n = repetitions(b, 3); i < n; i++) {
        each_lists(b, slot) {
            const shapes *p = b->peers[slot]->shapes;
            char *path = fresh_directory(b, slot, "list");
            shaped *s = p->create(path, LIST, 0);
            int64_t start = now_ns();
            p->append_list(s, appended);
            if (append)
                series_add(&append->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)appended);
            start = now_ns();
            p->insert_list(s, places, (int64_t)appended, inserted);
            if (insert)
                series_add(&insert->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)inserted);
            for (size_t k = 0; k < 3; k++) {
                memset(values, 255, (appended + inserted) * 8);
                start = now_ns();
                const size_t count = p->walk_list(s, values, appended + inserted);
                if (walk && k) series_add(&walk->tracks[slot].repetitions, (double)(now_ns() - start) / (double)count);
                check_list(values, count, appended, inserted, b->peers[slot]->name);
            }
            if (move) {
                start = now_ns();
                p->move_list(s, places, targets, inserted, appended);
                series_add(&move->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)inserted);
                check_moved(values, p->walk_list(s, values, appended + inserted), inserted, b->peers[slot]->name);
            }
            p->close(s);
            drop(path);
        }
    }
    free(values);
    free(places);
    free(targets);
}
