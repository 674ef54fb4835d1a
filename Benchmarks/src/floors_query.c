// What the questions of cases_query.c cost without an engine: loops over packed columns, as gcc -O3 makes them.
#include "queries.h"

#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------ the objects

static uint8_t *bytes_below(random_source *r, size_t count, uint64_t bound) {
    uint8_t *bytes = must_alloc(count);
    for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)random_below(r, bound);
    return bytes;
}

static uint32_t *words_below(random_source *r, size_t count, uint64_t bound) {
    uint32_t *words = must_alloc(count * sizeof *words);
    for (size_t i = 0; i < count; i++) words[i] = (uint32_t)random_below(r, bound);
    return words;
}

kennel *kennel_make(size_t dogs) {
    random_source r = {20240602};
    kennel *k = must_alloc(sizeof *k);
    k->dogs = dogs;
    k->owners = dogs / 1000 < 10 ? 10 : dogs / 1000;
    k->breeders = dogs / 10;
    k->age = bytes_below(&r, dogs, dog_ages);
    k->rank = words_below(&r, dogs, dog_ranks);
    k->owner = words_below(&r, dogs, k->owners);
    k->breeder = words_below(&r, dogs, k->breeders);
    k->weight = must_alloc(dogs * sizeof *k->weight);
    for (size_t i = 0; i < dogs; i++) k->weight[i] = (double)random_below(&r, 800) / 8;
    k->owner_rank = bytes_below(&r, k->owners, ranks);
    k->owner_city = bytes_below(&r, k->owners, cities);
    k->breeder_rank = bytes_below(&r, k->breeders, ranks);
    return k;
}

void kennel_free(kennel *k) {
    free(k->age);
    free(k->rank);
    free(k->owner);
    free(k->breeder);
    free(k->weight);
    free(k->owner_rank);
    free(k->owner_city);
    free(k->breeder_rank);
    free(k);
}

// ------------------------------------------------------------------------------------- conditions

// age < 10 AND rank < 50000
size_t floor_and_2(const truth *t, int64_t *ids) {
    (void)ids;
    const kennel *k = t->kennel;
    uint32_t hits = 0;
    for (size_t i = 0; i < k->dogs; i++) hits += (k->age[i] < 10) & (k->rank[i] < 50000);
    return hits;
}

// … AND weight < 50
size_t floor_and_3(const truth *t, int64_t *ids) {
    (void)ids;
    const kennel *k = t->kennel;
    uint32_t hits = 0;
    for (size_t i = 0; i < k->dogs; i++) hits += (k->age[i] < 10) & (k->rank[i] < 50000) & (k->weight[i] < 50);
    return hits;
}

// age < 2 OR rank < 10000
size_t floor_or_2(const truth *t, int64_t *ids) {
    (void)ids;
    const kennel *k = t->kennel;
    uint32_t hits = 0;
    for (size_t i = 0; i < k->dogs; i++) hits += (k->age[i] < 2) | (k->rank[i] < 10000);
    return hits;
}

// NOT (age < 10 AND rank < 50000)
size_t floor_not(const truth *t, int64_t *ids) {
    (void)ids;
    const kennel *k = t->kennel;
    uint32_t hits = 0;
    for (size_t i = 0; i < k->dogs; i++) hits += !((k->age[i] < 10) & (k->rank[i] < 50000));
    return hits;
}

// age IN {3, 14, 15, 92, 65, 35, 89, 79, 32, 38}, by a table of bytes
size_t floor_in_10(const truth *t, int64_t *ids) {
    (void)ids;
    static const uint8_t is_in[256] = {
        [3] = 1, [14] = 1, [15] = 1, [92] = 1, [65] = 1, [35] = 1, [89] = 1, [79] = 1, [32] = 1, [38] = 1};
    const people *p = t->people;
    uint32_t hits = 0;
    for (size_t i = 0; i < p->count; i++) hits += is_in[p->age[i]];
    return hits;
}

size_t floor_in_10000(const truth *t, int64_t *ids) {
    (void)ids;
    const kennel *k = t->kennel;
    uint32_t hits = 0;
    for (size_t i = 0; i < k->dogs; i++) hits += t->in_10000[k->rank[i]];
    return hits;
}

// ------------------------------------------------------------------------------------------ texts

// Texts that contain `needle`, in heap[0 ..< length], which are bytes from `base` on and begin with text *row: memmem
// finds, offsets say in which.
static size_t count_containing(const char *heap, size_t base, size_t length, const people *p, size_t *row,
                               const char *needle, size_t needle_length) {
    const uint32_t *offsets = p->name_offset;
    size_t hits = 0, at = 0;
    while (at < length) {
        const char *found = memmem(heap + at, length - at, needle, needle_length);
        if (!found) break;
        const size_t position = base + (size_t)(found - heap);
        while (offsets[*row + 1] <= position) ++*row;
        if (position + needle_length > offsets[*row + 1]) {
            at = position - base + 1;       // from one text into the next
        } else {
            hits++;
            at = offsets[++*row] - base;
        }
    }
    return hits;
}

size_t floor_contains(const truth *t, int64_t *ids) {
    (void)ids;
    const people *p = t->people;
    size_t row = 0;
    return count_containing(p->name_heap, 0, p->name_offset[p->count], p, &row, "xyz", 3);
}

// The same in pieces that are folded first, each ending with a text.
size_t floor_contains_c(const truth *t, int64_t *ids) {
    (void)ids;
    enum { piece = 16384, longest = 16 };
    const people *p = t->people;
    static char folded[piece + longest];
    size_t hits = 0, row = 0, first = 0;
    while (first < p->count) {
        size_t end = first;
        const size_t base = p->name_offset[first];
        end += piece / longest < p->count - end ? piece / longest : p->count - end;
        const size_t length = p->name_offset[end] - base;
        for (size_t i = 0; i < length; i++) {
            const char c = p->name_heap[base + i];
            folded[i] = (char)(c + ((c >= 'A' && c <= 'Z') ? 32 : 0));
        }
        row = first;
        hits += count_containing(folded, base, length, p, &row, "xyz", 3);
        first = end;
    }
    return hits;
}

// a*b*c*
size_t floor_like(const truth *t, int64_t *ids) {
    (void)ids;
    const people *p = t->people;
    size_t hits = 0;
    for (size_t i = 0; i < p->count; i++) {
        const char *text = name_of(p, i), *end = text + name_length(p, i);
        if (*text != 'a') continue;
        const char *b = memchr(text + 1, 'b', (size_t)(end - text - 1));
        hits += b && memchr(b, 'c', (size_t)(end - b));
    }
    return hits;
}

size_t floor_like_c(const truth *t, int64_t *ids) {
    (void)ids;
    const people *p = t->people;
    size_t hits = 0;
    for (size_t i = 0; i < p->count; i++) {
        const char *text = name_of(p, i), *end = text + name_length(p, i);
        if ((*text | 32) != 'a') continue;
        while (++text < end && (*text | 32) != 'b') {}
        while (text < end && (*text | 32) != 'c') text++;
        hits += text < end;
    }
    return hits;
}

// ------------------------------------------------------------------------------------------ links

static size_t link_to(const kennel *k, const uint32_t *target, const uint8_t *is_in, int64_t *ids) {
    size_t hits = 0;
    if (!ids) {
        for (size_t i = 0; i < k->dogs; i++) hits += is_in[target[i]];
        return hits;
    }
    for (size_t i = 0; i < k->dogs; i++) {
        ids[hits] = (int64_t)i;
        hits += is_in[target[i]];
    }
    return hits;
}

// A table of whose rank is below 10, then the column of links.
static size_t link_to_rank(const kennel *k, const uint32_t *target, const uint8_t *rank, size_t count, int64_t *ids) {
    uint8_t *is_in = malloc(count);
    if (!is_in) die("no memory");
    for (size_t i = 0; i < count; i++) is_in[i] = rank[i] < 10;
    const size_t hits = link_to(k, target, is_in, ids);
    free(is_in);
    return hits;
}

size_t floor_link(const truth *t, int64_t *ids) {
    (void)ids;
    return link_to_rank(t->kennel, t->kennel->owner, t->kennel->owner_rank, t->kennel->owners, NULL);
}

size_t floor_link_list(const truth *t, int64_t *ids) {
    return link_to_rank(t->kennel, t->kennel->owner, t->kennel->owner_rank, t->kennel->owners, ids);
}

size_t floor_link_many(const truth *t, int64_t *ids) {
    (void)ids;
    return link_to_rank(t->kennel, t->kennel->breeder, t->kennel->breeder_rank, t->kennel->breeders, NULL);
}

size_t floor_link_many_list(const truth *t, int64_t *ids) {
    return link_to_rank(t->kennel, t->kennel->breeder, t->kennel->breeder_rank, t->kennel->breeders, ids);
}

// The rank of a city is its id.
size_t floor_link_2(const truth *t, int64_t *ids) {
    (void)ids;
    return link_to_rank(t->kennel, t->kennel->owner, t->kennel->owner_city, t->kennel->owners, NULL);
}

// How many of `count` are linked to more than `limit` times, by dogs younger than `age`.
static size_t linked_more_than(const kennel *k, const uint32_t *target, size_t count, uint8_t age, uint32_t limit) {
    uint32_t *links = calloc(count, sizeof *links);
    if (!links) die("no memory");
    size_t hits = 0;
    for (size_t i = 0; i < k->dogs; i++) links[target[i]] += k->age[i] < age;
    for (size_t i = 0; i < count; i++) hits += links[i] > limit;
    free(links);
    return hits;
}

size_t floor_inverse_count(const truth *t, int64_t *ids) {
    (void)ids;
    return linked_more_than(t->kennel, t->kennel->breeder, t->kennel->breeders, dog_ages, 12);
}

size_t floor_subquery(const truth *t, int64_t *ids) {
    (void)ids;
    return linked_more_than(t->kennel, t->kennel->owner, t->kennel->owners, 4, 200);
}

size_t floor_subquery_many(const truth *t, int64_t *ids) {
    (void)ids;
    return linked_more_than(t->kennel, t->kennel->breeder, t->kennel->breeders, 4, 2);
}

// ----------------------------------------------------------------------------------------- groups

size_t floor_group_100(const truth *t, group_columns groups) {
    const people *p = t->people;
    struct { int64_t count; double sum; } by_age[256] = {0};
    for (size_t i = 0; i < p->count; i++) {
        by_age[p->age[i]].count++;
        by_age[p->age[i]].sum += p->score[i];
    }
    size_t found = 0;
    for (int age = 0; age < 256; age++) {
        if (!by_age[age].count) continue;
        groups.key[found] = age;
        groups.count[found] = by_age[age].count;
        groups.sum[found++] = by_age[age].sum;
    }
    return found;
}

size_t floor_group_100k(const truth *t, group_columns groups) {
    typedef struct { int64_t key, count; double sum; } slot;
    const kennel *k = t->kennel;
    uint64_t size = 64;
    while (size < 2 * k->breeders) size *= 2;
    slot *slots = calloc(size, sizeof *slots);
    if (!slots) die("no memory");
    for (size_t i = 0; i < k->dogs; i++) {
        uint64_t at = (k->breeder[i] * 0x9e3779b97f4a7c15u) >> 32 & (size - 1);
        while (slots[at].count && slots[at].key != k->breeder[i]) at = (at + 1) & (size - 1);
        slots[at].key = k->breeder[i];
        slots[at].count++;
        slots[at].sum += k->weight[i];
    }
    size_t found = 0;
    for (uint64_t at = 0; at < size; at++) {
        if (!slots[at].count) continue;
        groups.key[found] = slots[at].key;
        groups.count[found] = slots[at].count;
        groups.sum[found++] = slots[at].sum;
    }
    free(slots);
    return found;
}

// ------------------------------------------------------------------------------------------ steps

// The first object of each age.
size_t floor_distinct(const truth *t, int64_t *ids) {
    const people *p = t->people;
    uint8_t seen[256] = {0};
    size_t found = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (seen[p->age[i]]) continue;
        seen[p->age[i]] = 1;
        ids[found++] = (int64_t)i;
    }
    return found;
}

// SORT(age ASC) LIMIT(100): what an index finds at its beginning, here by looking at every age.
size_t floor_from_index(const truth *t, int64_t *ids) {
    const people *p = t->people;
    size_t found = 0;
    for (int age = 0; found < 100; age++)
        for (size_t i = 0; i < p->count && found < 100; i++)
            if (p->age[i] == age) ids[found++] = (int64_t)i;
    return found;
}

// score < 50000 LIMIT(100)
size_t floor_first_page(const truth *t, int64_t *ids) {
    const people *p = t->people;
    size_t found = 0;
    for (size_t i = 0; i < p->count && found < 100; i++)
        if (p->score[i] < 50000) ids[found++] = (int64_t)i;
    return found;
}

size_t floor_sort_full(const truth *t, int64_t *ids) {
    sort_by_numbers(t->people->age, t->people->score, t->people->count, ids);
    return t->people->count;
}

size_t floor_sort_string(const truth *t, int64_t *ids) {
    const people *p = t->people;
    sort_by_text(p->name_heap, p->name_offset, p->score, p->count, ids);
    return p->count;
}

size_t floor_top_100(const truth *t, int64_t *ids) {
    const people *p = t->people;
    first_by_text(p->name_heap, p->name_offset, p->score, p->count, 0, 100, ids);
    return 100;
}

size_t floor_page_1000(const truth *t, int64_t *ids) {
    const people *p = t->people;
    const size_t first = p->count > 1000 ? 1000 : p->count, limit = p->count - first < 100 ? p->count - first : 100;
    first_by_text(p->name_heap, p->name_offset, p->score, p->count, first, limit, ids);
    return limit;
}
