/* The copies of watched.c: lists of keys that follow change sets. */
#include "watched.h"

_Atomic uint64_t moves;

const struct kind kinds[KINDS] = {
    {UNPLACED, false, ""},
    {PLACED, false, "rank < 500"},
    {PLACED, false, "SORT(rank ASC)"},
    {PLACED, false, "group != 3 SORT(rank DESC, number ASC)"},
    {PLACED, false, "rank > 200 SORT(rank DESC) LIMIT(10)"},
    {PLACED, false, "SORT(rank ASC, group DESC) OFFSET(5) LIMIT(10)"},
    {PLACED, false, "DISTINCT(group)"},
    {PLACED, false, "next.rank < 500"},
    {PLACED, false, "next.rank > 100 SORT(rank ASC) LIMIT(20)"},
    {PLACED, true, ""},
    {PLACED, true, "rank < 700 SORT(rank ASC)"},
    {SILENCED, false, "rank < 500"},
    {SILENCED, false, "SORT(rank ASC) LIMIT(20)"},
    {TYPED, false, ""},
    {FAR, false, "rank < 500"},
    {FAR, false, "SORT(rank ASC)"},
    {COMMITS, false, "commits"},
    {ONE_OBJECT, false, "an object"},
    {LIST_ITSELF, true, "itself"},
};

void expect(bool holds, const observer *o, const char *what) {
    if (holds) return;
    fail("the observer of '%s'%s: %s", kinds[o->kind].text, kinds[o->kind].of_list ? " in a list" : "", what);
}

static void insert_key(observer *o, size_t at, int64_t key) {
    if (o->count == o->room) {
        o->room = o->room ? o->room * 2 : 64;
        o->keys = realloc(o->keys, o->room * sizeof *o->keys);
        if (!o->keys) fail("no memory");
    }
    expect(at <= o->count, o, "something was put in behind the end");
    memmove(o->keys + at + 1, o->keys + at, (o->count - at) * sizeof *o->keys);
    o->keys[at] = key;
    o->count++;
}

static void remove_key(observer *o, size_t at, int64_t key) {
    expect(at < o->count, o, "something was taken out behind the end");
    expect(o->keys[at] == key, o, "something was taken out that stands elsewhere");
    memmove(o->keys + at, o->keys + at + 1, (o->count - at - 1) * sizeof *o->keys);
    o->count--;
}

/* Where a key is, or belongs, in the order of keys. */
static size_t place_of(const observer *o, int64_t key) {
    size_t low = 0, high = o->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (o->keys[middle] < key) low = middle + 1;
        else high = middle;
    }
    return low;
}

int64_t *find_keys(const observer *o, objstore_class_id class_id, objstore_view *view, size_t *count) {
    objstore_query *query = o->query;
    objstore_results *results;
    objstore_object *objects;
    uint64_t found;
    if (!query) MUST(objstore_query_new(view, class_id, NULL, 0, &query));
    MUST(objstore_query_find(query, view, &results));
    MUST(objstore_results_count(results, &found));
    objects = malloc((found + 1) * sizeof *objects);
    int64_t *keys = malloc((found + 1) * sizeof *keys);
    if (!objects || !keys) fail("no memory");
    MUST(objstore_results_objects(results, 0, objects, (size_t)found, count));
    for (size_t i = 0; i < *count; i++) keys[i] = objects[i].key;
    free(objects);
    MUST(objstore_results_close(results));
    if (!o->query) MUST(objstore_query_close(query));
    return keys;
}

list list_of(objstore_changes *changes, objstore_change which) {
    list found;
    MUST(objstore_changes_list(changes, which, &found.objects, &found.places, &found.count));
    return found;
}

/* Two lists at once, from the greatest place down. */
static void take_out(observer *o, list a, list b) {
    while (a.count || b.count) {
        list *greater = !b.count || (a.count && a.places[a.count - 1] > b.places[b.count - 1]) ? &a : &b;
        greater->count--;
        remove_key(o, greater->places[greater->count], greater->objects[greater->count].key);
    }
}

static int by_place(const void *a, const void *b) {
    const uint64_t x = ((const uint64_t *)a)[0], y = ((const uint64_t *)b)[0];
    return x < y ? -1 : x > y;
}

/* Two lists at once, from the least place up. Those of moves are in the order of the places before. */
static void put_in(observer *o, list a, list b) {
    uint64_t (*pairs)[2] = malloc((a.count + b.count + 1) * sizeof *pairs);
    if (!pairs) fail("no memory");
    for (size_t i = 0; i < a.count + b.count; i++) {
        const list *from = i < a.count ? &a : &b;
        const size_t k = i < a.count ? i : i - a.count;
        pairs[i][0] = from->places[k];
        pairs[i][1] = (uint64_t)from->objects[k].key;
    }
    qsort(pairs, a.count + b.count, sizeof *pairs, by_place);
    for (size_t i = 0; i < a.count + b.count; i++) insert_key(o, pairs[i][0], (int64_t)pairs[i][1]);
    free(pairs);
}

void follow(observer *o, objstore_changes *changes) {
    const list out = list_of(changes, OBJSTORE_DELETIONS), in = list_of(changes, OBJSTORE_INSERTIONS);
    const list from = list_of(changes, OBJSTORE_MOVES), to = list_of(changes, OBJSTORE_MOVES_AFTER);
    const list before = list_of(changes, OBJSTORE_MODIFICATIONS);
    const list after = list_of(changes, OBJSTORE_MODIFICATIONS_AFTER);
    atomic_fetch_add(&moves, from.count);
    if (kinds[o->kind].way == UNPLACED) {
        for (size_t i = 0; i < out.count; i++) remove_key(o, place_of(o, out.objects[i].key), out.objects[i].key);
        for (size_t i = 0; i < in.count; i++) {
            const size_t at = place_of(o, in.objects[i].key);
            expect(at == o->count || o->keys[at] != in.objects[i].key, o, "something came that was there");
            insert_key(o, at, in.objects[i].key);
        }
    } else {
        for (size_t i = 0; i < before.count; i++)
            expect(before.places[i] < o->count && o->keys[before.places[i]] == before.objects[i].key, o,
                   "something was modified that stands elsewhere");
        take_out(o, out, from);
        put_in(o, in, to);
        for (size_t i = 0; i < after.count; i++)
            expect(after.places[i] < o->count && o->keys[after.places[i]] == after.objects[i].key, o,
                   "something was modified that stands elsewhere afterwards");
    }
}

void compare_copy(const observer *o, objstore_class_id class_id, objstore_view *view) {
    size_t count;
    int64_t *fresh = find_keys(o, class_id, view, &count);
    expect(count == o->count && !memcmp(fresh, o->keys, count * sizeof *fresh), o,
           "its copy differs from what a query finds");
    free(fresh);
}
