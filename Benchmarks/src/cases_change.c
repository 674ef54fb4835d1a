// Changing many objects that exist: upserts, and deleting half of them.
#include "cases.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Whole objects under scattered keys that exist. In a repetition each engine upserts three times:
//
//      upsert_modified          what is there already: nothing is to be written
//      upsert_modified_changed  others, each with another age: the index changes, too
//      upsert_all               the same by the policy that does not compare
void run_upsert(bench *b, wanted_function *wanted) {
    result *results[3] = {
        wanted("upsert_modified") ? add_result(b, "upsert_modified", "us/case", false) : NULL,
        wanted("upsert_modified") ? add_result(b, "upsert_modified_changed", "us/case", false) : NULL,
        wanted("upsert_all") ? add_result(b, "upsert_all", "us/case", false) : NULL,
    };
    const size_t size = b->data->count < 100000 ? b->data->count : 100000;
    writer_state writers[SLOTS] = {0};
    each_peer_with(b, slot, upsert) writers[slot] = open_writer(b, slot, DURABLE);
    int64_t *ids[2] = {must_alloc(size * 8), must_alloc(size * 8)};
    uint8_t *ages[2] = {must_alloc(size), must_alloc(size)}, *current = must_alloc(size);
    expected_ages e = expect_ages(b->data);
    char *floor_path = format_path("%s/floor.bulk", b->directory);
    for (size_t i = 0, n = repetitions(b, 5); i < n; i++) {
        for (size_t k = 0; k < 2; k++) make_update(&b->updates, 2 * i + k, size, ids[k], ages[k]);
        for (size_t k = 0; k < size; k++) current[k] = e.age[ids[0][k]];
        people *picked = people_pick(b->data, ids[0], size);
        int64_t start = now_ns();
        if (floor_compare(b->data, picked, ids[0]) != size) die("upsert_modified: the floor is wrong");
        int64_t middle = now_ns();
        floor_bulk_rows(floor_path, picked);
        int64_t end = now_ns();
        people_free(picked);
        for (size_t k = 0; k < 3; k++)
            if (results[k])
                series_add(&results[k]->tracks[FLOOR].repetitions, microseconds(k ? end - middle : middle - start));
        each_peer_with(b, slot, upsert) {
            const peer *p = b->peers[slot];
            store *s = writers[slot].store;
            size_t written[3];
            int64_t times[4] = {now_ns()};
            written[0] = p->upsert(s, b->data, ids[0], current, size, false);
            times[1] = now_ns();
            written[1] = p->upsert(s, b->data, ids[0], ages[0], size, false);
            times[2] = now_ns();
            written[2] = p->upsert(s, b->data, ids[1], ages[1], size, true);
            times[3] = now_ns();
            if (written[0] != 0 || written[1] != size || written[2] != size)
                die("upsert: %s wrote %zu, %zu, %zu objects", p->name, written[0], written[1], written[2]);
            writers[slot].serial += 2;
            for (size_t k = 0; k < 3; k++)
                if (results[k])
                    series_add(&results[k]->tracks[slot].repetitions, microseconds(times[k + 1] - times[k]));
            settle(b, slot, s);
        }
        for (size_t k = 0; k < 2; k++) expect_update(&e, ids[k], ages[k], size);
    }
    double sum = floor_sum(b->data->score, b->data->count);
    each_peer_with(b, slot, upsert) {
        if (b->peers[slot]->sum_scores && b->peers[slot]->sum_scores(writers[slot].store) != sum)
            die("upsert: %s: wrong sum", b->peers[slot]->name);
        close_writer(b, slot, &writers[slot], size, "upsert");
    }
    for (size_t k = 0; k < 2; k++) free(ids[k]), free(ages[k]);
    free(current);
    free_expected(&e);
    check_sys(unlink(floor_path) == 0);
    free(floor_path);
}

// All N objects, in the order of their keys, into a store that has every other one; of those that it has, every other
// one gets another age. By the policy that compares, and by the one that does not.
void run_upsert_half(bench *b, wanted_function *wanted) {
    result *results[2] = {
        wanted("upsert_half_modified") ? add_result(b, "upsert_half_modified", "us/object", false) : NULL,
        wanted("upsert_half_all") ? add_result(b, "upsert_half_all", "us/object", false) : NULL,
    };
    const people *data = b->data;
    const size_t count = data->count, there = (count + 1) / 2, changed = (count + 3) / 4;
    int64_t *rows = must_alloc(count * 8), *existing = must_alloc(there * 8);
    uint8_t *ages = must_alloc(count);
    for (size_t i = 0; i < count; i++) {
        rows[i] = (int64_t)i;
        ages[i] = i % 4 ? data->age[i] : (uint8_t)((data->age[i] + 37) % 100);
        if (i % 2 == 0) existing[i / 2] = (int64_t)i;
    }
    expected_ages e = expect_ages(data);
    expect_update(&e, rows, ages, count);
    const double sum = floor_sum(data->score, count);
    char *floor_path = format_path("%s/floor.bulk", b->directory);
    for (size_t i = 0, n = repetitions(b, 3); i < n; i++) {
        for (size_t k = 0; k < 2; k++) {
            if (!results[k]) continue;
            int64_t start = now_ns();
            floor_bulk_rows(floor_path, data);
            series_add(&results[k]->tracks[FLOOR].repetitions, microseconds(now_ns() - start) / (double)count);
            check_sys(unlink(floor_path) == 0);
            each_peer_with(b, slot, upsert) {
                const peer *p = b->peers[slot];
                if (!p->insert_some) continue;
                char *path = fresh_directory(b, slot, "half");
                store *s = p->create(path, (open_options){.durability = DURABLE, .indexed = true});
                p->insert_some(s, data, existing, there);
                settle(b, slot, s);
                start = now_ns();
                const size_t written = p->upsert(s, data, rows, ages, count, k == 1);
                series_add(&results[k]->tracks[slot].repetitions, microseconds(now_ns() - start) / (double)count);
                if (written != (k ? count : count - there + changed))
                    die("upsert_half: %s wrote %zu objects", p->name, written);
                verify_ages(p, s, &e, "upsert_half");
                if (p->sum_scores && p->sum_scores(s) != sum) die("upsert_half: %s: wrong sum", p->name);
                p->close(s);
                drop(path);
            }
        }
    }
    free(rows);
    free(existing);
    free(ages);
    free_expected(&e);
    free(floor_path);
}

// Keys and ages of those that stay; the deleted ones are missed by no count and no sum.
static void check_half(const peer *p, store *s, const people *kept) {
    size_t size = kept->count < 20000 ? kept->count : 20000;
    int64_t *ages = must_alloc(size * 8);
    for (size_t first = 0; first < kept->count; first += kept->count - size ? kept->count - size : kept->count) {
        p->lookup_ages(s, kept->id + first, size, ages);
        for (size_t i = 0; i < size; i++)
            if (ages[i] != kept->age[first + i])
                die("delete_half: %s: object %ld has age %ld", p->name, kept->id[first + i], ages[i]);
        if (first) break;
    }
    free(ages);
    uint64_t below = floor_count_below(kept->age, kept->count, (uint8_t)age_limit);
    if (p->count_age_below(s, 100, false) != kept->count || p->count_age_below(s, 100, true) != kept->count
        || p->count_age_below(s, age_limit, false) != below || p->count_age_below(s, age_limit, true) != below)
        die("delete_half: %s: wrong count", p->name);
    if (p->sum_scores && p->sum_scores(s) != floor_sum(kept->score, kept->count))
        die("delete_half: %s: wrong sum", p->name);
}

// All with age >= 50. The floor writes those that stay.
void run_delete_half(bench *b, wanted_function *wanted) {
    (void)wanted;
    enum { limit = 50 };
    result *r = add_result(b, "delete_half", "us/case", false);
    const people *data = b->data;
    int64_t *rows = must_alloc(data->count * 8);
    size_t size = 0;
    for (size_t i = 0; i < data->count; i++)
        if (data->age[i] < limit) rows[size++] = (int64_t)i;
    people *kept = people_pick(data, rows, size);
    char *floor_path = format_path("%s/floor.bulk", b->directory);
    for (size_t i = 0, n = repetitions(b, 3); i < n; i++) {
        int64_t start = now_ns();
        floor_bulk_rows(floor_path, kept);
        series_add(&r->tracks[FLOOR].repetitions, microseconds(now_ns() - start));
        each_peer_with(b, slot, delete_from_age) {
            const peer *p = b->peers[slot];
            writer_state w = open_writer(b, slot, DURABLE);
            start = now_ns();
            uint64_t deleted = p->delete_from_age(w.store, limit);
            series_add(&r->tracks[slot].repetitions, microseconds(now_ns() - start));
            if (deleted != data->count - kept->count) die("delete_half: %s: %lu deleted", p->name, deleted);
            check_half(p, w.store, kept);
            p->close(w.store);
            store *s = p->open(w.path, (open_options){.durability = DURABLE});
            check_half(p, s, kept);
            p->close(s);
            drop(w.path);
        }
    }
    free(rows);
    people_free(kept);
    check_sys(unlink(floor_path) == 0);
    free(floor_path);
}
