// The objects every peer stores. Fixed seed: the same count gives the same objects everywhere.
#include "bench.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t seed = 20240601;

static uint32_t add_letters(random_source *r, char *heap, uint32_t at, size_t length) {
    for (size_t i = 0; i < length; i++) heap[at + i] = (char)('a' + random_below(r, 26));
    return at + (uint32_t)length;
}

static people *people_alloc(size_t count) {
    people *p = must_alloc(sizeof *p);
    p->count = count;
    p->id = must_alloc(count * 8);
    p->age = must_alloc(count);
    p->score = must_alloc(count * 8);
    p->name_offset = must_alloc((count + 1) * 4);
    p->name_heap = must_alloc(count * 16 + 8);         // a reader may take eight bytes at once
    p->email_offset = must_alloc((count + 1) * 4);
    p->email_heap = must_alloc(count * 30);
    p->email_is_null = must_alloc(count);
    return p;
}

people *people_make(size_t count) {
    if (count < 1 || count > 100000000) die("%zu objects: more than the offsets of strings hold", count);
    random_source r = {seed};
    people *p = people_alloc(count);
    for (size_t i = 0; i < count; i++) {
        p->id[i] = (int64_t)i;
        p->age[i] = (uint8_t)random_below(&r, 100);
        p->score[i] = (double)random_below(&r, 800000) / 8;
        p->name_offset[i + 1] = add_letters(&r, p->name_heap, p->name_offset[i], 8 + random_below(&r, 9));
        p->email_is_null[i] = random_below(&r, 10) == 0;
        size_t email = p->email_is_null[i] ? 0 : 18 + random_below(&r, 13);
        p->email_offset[i + 1] = add_letters(&r, p->email_heap, p->email_offset[i], email);
        if (email) p->email_heap[p->email_offset[i] + 9] = '@';
    }
    return p;
}

people *people_pick(const people *data, const int64_t *rows, size_t count) {
    people *p = people_alloc(count);
    for (size_t i = 0; i < count; i++) {
        size_t row = (size_t)rows[i];
        p->id[i] = data->id[row];
        p->age[i] = data->age[row];
        p->score[i] = data->score[row];
        p->email_is_null[i] = data->email_is_null[row];
        p->name_offset[i + 1] = p->name_offset[i] + (uint32_t)name_length(data, row);
        p->email_offset[i + 1] = p->email_offset[i] + (uint32_t)email_length(data, row);
        memcpy(p->name_heap + p->name_offset[i], name_of(data, row), name_length(data, row));
        memcpy(p->email_heap + p->email_offset[i], email_of(data, row), email_length(data, row));
    }
    return p;
}

void people_free(people *p) {
    free(p->id);
    free(p->age);
    free(p->score);
    free(p->name_offset);
    free(p->name_heap);
    free(p->email_offset);
    free(p->email_heap);
    free(p->email_is_null);
    free(p);
}

size_t packed_bytes(const people *p) {
    // id, score, age, two length bytes, characters
    return p->count * (8 + 8 + 1 + 2) + p->name_offset[p->count] + p->email_offset[p->count];
}

update_sequence update_sequence_make(const people *data, size_t first, size_t count) {
    // A step that has no common divisor with count visits every id once before it comes back.
    for (uint64_t step = (uint64_t)((double)count * 0.6180339887) | 1;; step += 2) {
        uint64_t a = step, b = count;
        while (b) { uint64_t rest = a % b; a = b; b = rest; }
        if (a == 1) return (update_sequence){data, first, count, step};
    }
}

void make_update(const update_sequence *u, uint64_t serial, size_t size, int64_t *ids, uint8_t *ages) {
    for (size_t k = 0; k < size; k++) {
        uint64_t n = serial * size + k, round = n / u->count;
        uint64_t id = u->first + n % u->count * u->step % u->count;
        ids[k] = (int64_t)id;
        ages[k] = (uint8_t)((u->data->age[id] + 37 * (round + 1)) % 100);
    }
}
