// Lookups, scans, property reads.
#include "cases.h"

#include <stdlib.h>
#include <string.h>

typedef struct read_case read_case;
struct read_case {
    const bench *bench;
    // One timed call, for a peer or (peer NULL) the floor; leaves its answer here.
    void (*call)(read_case *c, const peer *p, store *s);
    bool (*right)(const read_case *c);
    double operations;          // a call does this many: its time is divided by them
    const int64_t *ids;         // what to look up
    size_t size, times;
    int64_t *ages;              // answers
    double *scores;
    uint64_t count, expected_count;
    double sum, expected_sum;
    const char *name;
    size_t name_length;
    const uint8_t *fingerprints;
};

// Median time of one call in microseconds per operation. Short calls are made many times, so that
// a repetition is not only the first touch after another peer has used the caches.
static double timed_read(read_case *c, const peer *p, store *s) {
    series times = {0};
    int64_t total = 0;
    while (times.count < 3 || (total < 4000000 && times.count < 400)) {
        int64_t start = now_ns();
        c->call(c, p, s);
        int64_t time = now_ns() - start;
        total += time;
        series_add(&times, microseconds(time));
        if (!c->right(c)) die("%s: wrong answer", p ? p->name : "floor");
    }
    double median = series_median(&times) / c->operations;
    series_free(&times);
    return median;
}

enum { with_floor = 1, of_unindexed = 2 };

// Whether the table of `p` has the function at `offset`.
static bool has_function(const peer *p, size_t offset) {
    void (*function)(void);
    memcpy(&function, (const char *)p + offset, sizeof function);
    return function != NULL;
}

static result *run_read(bench *b, const char *name, const char *unit, read_case *c, size_t function, int flags) {
    result *r = add_result(b, name, unit, false);
    c->bench = b;
    store *stores[SLOTS] = {0};
    each_peer(b, slot) {
        if (!has_function(b->peers[slot], function)) continue;
        char *path = master(b, slot, !(flags & of_unindexed) || !b->peers[slot]->scans_need_unindexed_store);
        stores[slot] = b->peers[slot]->open(path, (open_options){.durability = DURABLE});
        free(path);
    }
    // Once unmeasured: the first touch of a page faults, and is when an engine checks it.
    each_peer(b, slot) {
        if (!stores[slot]) continue;
        c->call(c, b->peers[slot], stores[slot]);
        if (!c->right(c)) die("%s: %s: wrong answer", name, b->peers[slot]->name);
    }
    for (size_t i = 0, n = repetitions(b, 7); i < n; i++) {
        if (flags & with_floor) series_add(&r->tracks[FLOOR].repetitions, timed_read(c, NULL, NULL));
        each_peer(b, slot)
            if (stores[slot]) series_add(&r->tracks[slot].repetitions, timed_read(c, b->peers[slot], stores[slot]));
    }
    each_peer(b, slot) if (stores[slot]) b->peers[slot]->close(stores[slot]);
    return r;
}

static void call_lookup(read_case *c, const peer *p, store *s) {
    if (p) p->lookup_ages(s, c->ids, c->size, c->ages);
    else floor_lookup(c->bench->data, c->ids, c->size, c->ages);
}

static bool right_lookup(const read_case *c) {
    for (size_t i = 0; i < c->size; i++)
        if (c->ages[i] != c->bench->data->age[c->ids[i]]) return false;
    memset(c->ages, 255, c->size * 8);
    return true;
}

static void run_lookup(bench *b, const char *name, bool at_random) {
    size_t count = b->data->count, size = count < 200000 ? count : 200000;
    int64_t *ids = must_alloc(size * 8);
    random_source r = {1};
    uint64_t first = at_random ? 0 : random_below(&r, count - size + 1);
    for (size_t i = 0; i < size; i++) ids[i] = (int64_t)(at_random ? random_below(&r, count) : first + i);
    read_case c = {.call = call_lookup, .right = right_lookup, .operations = (double)size,
                   .ids = ids, .size = size, .ages = must_alloc(size * 8)};
    run_read(b, name, "us/op", &c, offsetof(peer, lookup_ages), with_floor);
    free(ids);
    free(c.ages);
}

void run_lookup_pk(bench *b, wanted_function *wanted) { (void)wanted; run_lookup(b, "lookup_pk", false); }
void run_lookup_pk_random(bench *b, wanted_function *wanted) { (void)wanted; run_lookup(b, "lookup_pk_random", true); }

static bool right_count(const read_case *c) { return c->count == c->expected_count; }
static bool right_sum(const read_case *c) { return c->sum == c->expected_sum; }

static uint64_t true_count_below(const people *p) {
    uint64_t hits = 0;
    for (size_t i = 0; i < p->count; i++) hits += p->age[i] < age_limit;
    return hits;
}

static void call_count(read_case *c, const peer *p, store *s) {
    const people *data = c->bench->data;
    c->count =
        p ? p->count_age_below(s, age_limit, false) : floor_count_below(data->age, data->count, (uint8_t)age_limit);
}

static void call_count_lanes(read_case *c, const peer *p, store *s) {
    (void)p, (void)s;
    c->count = floor_count_below_lanes(c->bench->data->age, c->bench->data->count, (uint8_t)age_limit);
}

void run_count_int(bench *b, wanted_function *wanted) {
    (void)wanted;
    read_case c = {
        .call = call_count, .right = right_count, .operations = 1, .expected_count = true_count_below(b->data)};
    result *r = run_read(b, "count_int", "us/case", &c, offsetof(peer, count_age_below), with_floor | of_unindexed);
    c.call = call_count_lanes;
    result_extra(r, timed_read(&c, NULL, NULL), "floor_byte_lanes");
}

static void call_count_indexed(read_case *c, const peer *p, store *s) {
    c->count = p->count_age_below(s, age_limit, true);
}

void run_count_int_indexed(bench *b, wanted_function *wanted) {
    (void)wanted;
    read_case c = {
        .call = call_count_indexed, .right = right_count, .operations = 1, .expected_count = true_count_below(b->data)};
    run_read(b, "count_int_indexed", "us/case", &c, offsetof(peer, count_age_below), 0);
}

static void call_sum(read_case *c, const peer *p, store *s) {
    const people *data = c->bench->data;
    c->sum = p ? p->sum_scores(s) : floor_sum(data->score, data->count);
}

void run_sum_double(bench *b, wanted_function *wanted) {
    (void)wanted;
    double sum = 0;
    for (size_t i = 0; i < b->data->count; i++) sum += b->data->score[i];
    read_case c = {.call = call_sum, .right = right_sum, .operations = 1, .expected_sum = sum};
    run_read(b, "sum_double", "us/case", &c, offsetof(peer, sum_scores), with_floor);
}

static void call_aggregate(read_case *c, const peer *p, store *s) {
    const people *data = c->bench->data;
    if (p) p->aggregate_scores(s, c->scores);
    else floor_aggregate(data->score, data->count, c->scores);
}

static bool right_aggregate(const read_case *c) {
    const double *expected = c->scores + 3;
    bool right = c->scores[0] == expected[0] && c->scores[1] == expected[1] && c->scores[2] == expected[2];
    c->scores[0] = c->scores[1] = c->scores[2] = -1;
    return right;
}

void run_aggregate_3(bench *b, wanted_function *wanted) {
    (void)wanted;
    double scores[6] = {-1, -1, -1, 0, 0, -1};      // answers, and what they must be; sums are exact
    for (size_t i = 0; i < b->data->count; i++) {
        scores[3] += b->data->score[i];
        if (b->data->score[i] > scores[5]) scores[5] = b->data->score[i];
    }
    scores[4] = scores[3] / (double)b->data->count;
    read_case c = {.call = call_aggregate, .right = right_aggregate, .operations = 1, .scores = scores};
    run_read(b, "aggregate_3", "us/case", &c, offsetof(peer, aggregate_scores), with_floor);
}

static void call_string(read_case *c, const peer *p, store *s) {
    const people *d = c->bench->data;
    c->count = p ? p->count_name(s, c->name, c->name_length)
                 : floor_count_string(d->name_heap, d->name_offset, d->count, c->name, c->name_length);
}

static void call_fingerprint(read_case *c, const peer *p, store *s) {
    (void)p, (void)s;
    const people *d = c->bench->data;
    c->count = floor_count_string_fingerprint(
        c->fingerprints, d->name_heap, d->name_offset, d->count, c->name, c->name_length);
}

void run_string_equal(bench *b, wanted_function *wanted) {
    (void)wanted;
    const people *d = b->data;
    size_t target = d->count / 3;
    read_case c = {.call = call_string, .right = right_count, .operations = 1,
                   .name = name_of(d, target), .name_length = name_length(d, target)};
    uint8_t *fingerprints = must_alloc(d->count);
    for (size_t i = 0; i < d->count; i++) {
        fingerprints[i] = floor_fingerprint(name_of(d, i), name_length(d, i));
        c.expected_count += name_length(d, i) == c.name_length && !memcmp(name_of(d, i), c.name, c.name_length);
    }
    result *r = run_read(b, "string_equal", "us/case", &c, offsetof(peer, count_name), with_floor);
    c.call = call_fingerprint;
    c.fingerprints = fingerprints;
    result_extra(r, timed_read(&c, NULL, NULL), "floor_fingerprint");
    free(fingerprints);
}

static void call_read_scores(read_case *c, const peer *p, store *s) {
    const people *d = c->bench->data;
    if (p) p->read_scores(s, c->scores, d->count);
    else memcpy(c->scores, d->score, d->count * 8);
}

static bool right_scores(const read_case *c) {
    const people *d = c->bench->data;
    bool right = memcmp(c->scores, d->score, d->count * 8) == 0;
    memset(c->scores, 255, d->count * 8);
    return right;
}

void run_column_read(bench *b, wanted_function *wanted) {
    (void)wanted;
    read_case c = {
        .call = call_read_scores, .right = right_scores, .operations = 1, .scores = must_alloc(b->data->count * 8)};
    run_read(b, "column_read", "us/case", &c, offsetof(peer, read_scores), with_floor);
    free(c.scores);
}

static void call_row_age(read_case *c, const peer *p, store *s) {
    c->count = p->read_age_of_row(s, c->ids, c->size, c->times);
}
static void call_row_name(read_case *c, const peer *p, store *s) {
    c->count = p->read_name_of_row(s, c->ids, c->size, c->times);
}

void run_property_get(bench *b, wanted_function *wanted) {
    (void)wanted;
    enum { rows = 100, times = 10000 };
    const people *d = b->data;
    int64_t ids[rows];
    uint64_t ages = 0, names = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t id = i * (d->count / rows);
        ids[i] = (int64_t)id;
        ages += (uint64_t)d->age[id] * times;
        names += ((uint64_t)name_of(d, id)[0] + name_length(d, id)) * times;
    }
    read_case c = {.call = call_row_age, .right = right_count, .operations = (double)rows * times,
                   .ids = ids, .size = rows, .times = times, .expected_count = ages};
    run_read(b, "property_get", "us/op", &c, offsetof(peer, read_age_of_row), 0);
    c.call = call_row_name;
    c.expected_count = names;
    run_read(b, "property_get_string", "us/op", &c, offsetof(peer, read_name_of_row), 0);
}
