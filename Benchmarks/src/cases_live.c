// What observers cost that are not told: commits beside thousands of them, and their memory. An insertion into a long
// list. And what a function made at run time costs beside one that the compiler made.
#include "cases.h"

#ifdef HAVE_OBJSTORE

#include "peer_objstore.h"

#include <stdlib.h>
#include <string.h>

// ----------------------------------------------------------------------------- observers of other things

enum { batch = 20, few_observers = 100, many_observers = 10000 };

// A store of its own with one observer of all persons, which is told, and others, which are not.
typedef struct {
    writer_state writer;
    size_t told, count;
    objstore_token *all, **others;
    double heap, resident;      // bytes that the others took
} crowd;

static objstore_status hear(objstore_changes *changes, void *userdata) {
    (void)changes;
    ++*(size_t *)userdata;
    return OBJSTORE_OK;
}

static objstore_status hear_nothing(objstore_changes *changes, void *userdata) {
    (void)changes;
    (void)userdata;
    die("notify_observers: somebody was told of another's change");
}

// An object that is updated last of all, and so not here.
static size_t quiet_object(const bench *b, size_t number) {
    const size_t half = b->data->count / 2;
    int64_t id;
    uint8_t age;
    make_update(&b->updates, b->data->count - 1 - number % half, 1, &id, &age);
    return (size_t)id;
}

// A quarter each observes one object, by its key; objects of a name; objects of an age, and of some ages, that nobody
// has.
static objstore_token *observe_other(const bench *b, store *s, objstore_view *view, size_t number) {
    static const char *const texts[] = {"id == $0", "name == $0", "age == $0", "age > $0 AND age < $1"};
    const size_t i = quiet_object(b, number), kind = number % 4;
    const objstore_value values[2] = {
        kind == 0   ? objstore_int((int64_t)i)
        : kind == 1 ? objstore_string(objstore_text_of(name_of(b->data, i), (int64_t)name_length(b->data, i)))
                    : objstore_int(100 + (int64_t)number),
        objstore_int(110 + (int64_t)number),
    };
    objstore_query *query;
    objstore_token *token;
    check(objstore_query_parse(view, s->person, objstore_cstr(texts[kind]), values, kind == 3 ? 2 : 1, &query));
    check(objstore_query_observe(query, s->handle, 0, hear_nothing, NULL, NULL, &token));
    check(objstore_query_close(query));
    return token;
}

static double resident_bytes(void) { return 1024 * (double)process_figure("/proc/self/status", "VmRSS"); }

static crowd *gather(const bench *b, size_t count) {
    crowd *c = must_alloc(sizeof *c);
    char *from = master(b, OBJSTORE, true);
    c->writer.path = format_path("%s/%s/crowd-%zu", b->directory, slot_names[OBJSTORE], count);
    copy_directory(from, c->writer.path, true);
    free(from);
    const open_options options = {.durability = RELAXED, .small_checkpoints = true};
    store *s = c->writer.store = b->peers[OBJSTORE]->open(c->writer.path, options);
    c->others = must_alloc(count * sizeof *c->others);
    c->count = count;
    check(objstore_observe(s->handle, s->person, 0, hear, &c->told, NULL, &c->all));
    objstore_view *view;
    check(objstore_view_open(s->handle, &view));
    const double heap = heap_bytes(), resident = resident_bytes();
    for (size_t i = 0; i < count; i++) c->others[i] = observe_other(b, s, view, i);
    check(objstore_deliver(s->handle, NULL));
    c->heap = heap_bytes() - heap;
    c->resident = resident_bytes() - resident;
    check(objstore_view_close(view));
    return c;
}

static void disperse(bench *b, crowd *c) {
    for (size_t i = 0; i < c->count; i++) check(objstore_token_close(c->others[i]));
    check(objstore_token_close(c->all));
    close_writer(b, OBJSTORE, &c->writer, 1, "notify_observers");
    free(c->others);
    free(c);
}

static void commit_one(const bench *b, crowd *c) {
    int64_t id;
    uint8_t age;
    if (c->writer.serial >= b->data->count / 2) die("notify_observers: too many repetitions for so few objects");
    make_update(&b->updates, c->writer.serial++, 1, &id, &age);
    b->peers[OBJSTORE]->update_ages(c->writer.store, &id, &age, 1);
}

static void deliver_to(crowd *c) {
    c->told = 0;
    check(objstore_deliver(c->writer.store->handle, NULL));
    if (c->told != 1) die("notify_observers: told %zu times", c->told);
}

// A commit and its delivery: the median of some.
static double time_both(const bench *b, crowd *c) {
    series both = {0};
    for (size_t i = 0; i < batch; i++) {
        const int64_t start = now_ns();
        commit_one(b, c);
        deliver_to(c);
        series_add(&both, microseconds(now_ns() - start));
    }
    const double median = series_median(&both);
    series_free(&both);
    return median;
}

// Commits alone, which are delivered together afterwards: what a delivery leaves in the caches is not theirs.
static double time_commits(const bench *b, crowd *c) {
    series commits = {0};
    for (size_t i = 0; i < batch; i++) {
        const int64_t start = now_ns();
        commit_one(b, c);
        series_add(&commits, microseconds(now_ns() - start));
    }
    deliver_to(c);
    const double median = series_median(&commits);
    series_free(&commits);
    return median;
}

static void run_observers(bench *b, wanted_function *wanted) {
    static const struct { const char *name; size_t count; } kinds[] = {
        {"notify_observers_100", few_observers}, {"notify_observers_10000", many_observers}};
    result *results[2] = {NULL}, *memory = NULL, *overhead = NULL;
    for (size_t i = 0; i < 2; i++)
        if (wanted(kinds[i].name)) results[i] = add_result(b, kinds[i].name, "us/change", false);
    if (wanted("notify_observers_memory")) memory = add_result(b, "notify_observers_memory", "bytes/observer", false);
    if (wanted("notify_commit_overhead")) overhead = add_result(b, "notify_commit_overhead", "x", false);
    if (!results[0] && !results[1] && !memory && !overhead) return;
    crowd *alone = gather(b, 0), *crowds[2] = {NULL};
    for (size_t i = 0; i < 2; i++)
        if (results[i] || (i == 1 && (memory || overhead))) crowds[i] = gather(b, kinds[i].count);
    if (memory) {
        series_add(&memory->tracks[OBJSTORE].repetitions, crowds[1]->heap / many_observers);
        result_extra(memory, crowds[1]->resident / many_observers, "resident");
    }
    series without = {0}, commits = {0}, ratios[2] = {{0}, {0}};
    for (size_t round = 0, rounds = repetitions(b, 10); round < rounds; round++) {
        const double alone_both = time_both(b, alone);
        series_add(&without, alone_both);
        for (size_t i = 0; i < 2; i++) {
            if (!results[i]) continue;
            const double both = time_both(b, crowds[i]);
            series_add(&results[i]->tracks[OBJSTORE].repetitions, both);
            series_add(&ratios[i], both / alone_both);
        }
        if (overhead) {
            const double alone_commit = time_commits(b, alone), commit = time_commits(b, crowds[1]);
            series_add(&overhead->tracks[OBJSTORE].repetitions, commit / alone_commit);
            series_add(&commits, commit);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if (results[i]) {
            result_extra(results[i], series_median(&without), "without_others");
            result_extra(results[i], series_median(&ratios[i]), "over_without_others");
        }
        if (crowds[i]) disperse(b, crowds[i]);
        series_free(&ratios[i]);
    }
    if (overhead) result_extra(overhead, series_median(&commits), "us_per_commit");
    series_free(&without);
    series_free(&commits);
    disperse(b, alone);
}

// Many who observe the same are told of one change: with their handlers.
static void run_told(bench *b, result *r, const char *name, size_t count) {
    writer_state w = open_writer(b, OBJSTORE, RELAXED);
    store *s = w.store;
    objstore_token **tokens = must_alloc(count * sizeof *tokens);
    size_t told = 0;
    series each = {0};
    for (size_t i = 0; i < count; i++)
        check(objstore_observe(s->handle, s->person, 0, hear, &told, NULL, &tokens[i]));
    for (size_t i = 0, n = repetitions(b, 10); i < n; i++) {
        series mine = {0};
        for (size_t k = 0; k < (count > 1000 ? 5 : batch); k++) {
            int64_t id;
            uint8_t age;
            make_update(&b->updates, w.serial++, 1, &id, &age);
            b->peers[OBJSTORE]->update_ages(s, &id, &age, 1);
            told = 0;
            const int64_t start = now_ns();
            check(objstore_deliver(s->handle, NULL));
            series_add(&mine, microseconds(now_ns() - start));
            if (told != count) die("%s: %zu of %zu were told", name, told, count);
        }
        series_add(&r->tracks[OBJSTORE].repetitions, series_median(&mine));
        series_add(&each, 1000 * series_median(&mine) / (double)count);
        series_free(&mine);
    }
    result_extra(r, series_median(&each), "ns_each");
    for (size_t i = 0; i < count; i++) check(objstore_token_close(tokens[i]));
    close_writer(b, OBJSTORE, &w, 1, name);
    series_free(&each);
    free(tokens);
}

// ------------------------------------------------------------------------------------------------ lists

typedef struct { size_t calls, insertions; uint64_t position; } inserted_one;

static objstore_status hear_insertion(objstore_changes *changes, void *userdata) {
    inserted_one *found = userdata;
    const objstore_object *objects;
    const uint64_t *positions;
    check(objstore_changes_list(changes, OBJSTORE_INSERTIONS, &objects, &positions, &found->insertions));
    if (found->insertions) found->position = positions[0];
    found->calls++;
    return OBJSTORE_OK;
}

// An object whose list has N items, with ranks from 0 to 99.
typedef struct {
    objstore *handle;
    objstore_class_id item;
    objstore_property_id rank;
    objstore_collection list;
    objstore_object middle;
} listed;

static listed open_list(bench *b, objstore_text name) {
    enum { piece = 1000 };
    const size_t count = b->data->count;
    const objstore_text owner = OBJSTORE_STR("Owner"), item = OBJSTORE_STR("Item"), rank = OBJSTORE_STR("rank");
    listed l;
    objstore_schema *schema;
    objstore_view *view;
    objstore_class_id owners;
    objstore_property_id items;
    objstore_object the_owner;
    check(objstore_schema_new(&schema));
    check(objstore_schema_add_class(schema, owner));
    check(objstore_schema_add_class(schema, item));
    check(objstore_schema_add_property(schema, item, rank, OBJSTORE_KIND_INT, 0));
    check(objstore_schema_add_link_collection(
        schema, owner, OBJSTORE_STR("items"), OBJSTORE_KIND_LIST, OBJSTORE_KIND_NULL, item, 0));
    l.handle = open_in_memory(name, schema);
    check(objstore_begin(l.handle, &view));
    check(objstore_find_class(view, owner, &owners));
    check(objstore_find_class(view, item, &l.item));
    check(objstore_find_property(view, owners, OBJSTORE_STR("items"), &items));
    check(objstore_find_property(view, l.item, rank, &l.rank));
    check(objstore_create(view, owners, NULL, NULL, 0, &the_owner));
    l.list = objstore_collection_of(the_owner, items);
    objstore_value links[piece];
    for (size_t i = 0; i < count;) {
        size_t size = 0;
        for (; size < piece && i < count; size++, i++) {
            objstore_object created;
            const objstore_value value = objstore_int((int64_t)(i % 100));
            check(objstore_create(view, l.item, &l.rank, &value, 1, &created));
            if (i == count / 2) l.middle = created;
            links[size] = objstore_link(created);
        }
        check(objstore_list_insert(view, l.list, OBJSTORE_END, links, size));
    }
    check(objstore_commit(view, NULL));
    return l;
}

// One object more in the middle of a list of N, whose observer is told of it.
static void run_list(bench *b, result *r) {
    const size_t count = b->data->count, rounds = repetitions(b, 10);
    const listed l = open_list(b, OBJSTORE_STR("notify_list_1"));
    objstore_token *token;
    inserted_one found;
    check(objstore_collection_observe(l.handle, l.list, 0, hear_insertion, &found, NULL, &token));
    for (size_t i = 0; i < rounds; i++) {
        series mine = {0};
        for (size_t k = 0; k < batch; k++) {
            objstore_view *view;
            objstore_object created;
            check(objstore_begin(l.handle, &view));
            const objstore_value rank = objstore_int(0);
            check(objstore_create(view, l.item, &l.rank, &rank, 1, &created));
            const objstore_value link = objstore_link(created);
            check(objstore_list_insert(view, l.list, count / 2, &link, 1));
            check(objstore_commit(view, NULL));
            found = (inserted_one){0};
            const int64_t start = now_ns();
            check(objstore_deliver(l.handle, NULL));
            series_add(&mine, microseconds(now_ns() - start));
            if (found.calls != 1 || found.insertions != 1 || found.position != count / 2)
                die("notify_list_1: told %zu times of %zu at %lu", found.calls, found.insertions, found.position);
        }
        series_add(&r->tracks[OBJSTORE].repetitions, series_median(&mine));
        series_free(&mine);
    }
    check(objstore_token_close(token));
    check(objstore_close(l.handle));
}

// Of a list of N those of low rank, by it: one of its objects gets another rank, within those or beyond them.
static void run_list_query(bench *b, result *r) {
    const size_t rounds = repetitions(b, 10);
    const listed l = open_list(b, OBJSTORE_STR("notify_list_query_1"));
    objstore_token *token;
    objstore_view *view;
    objstore_query *all, *condition, *query;
    size_t calls = 0;
    int64_t serial = 0;
    check(objstore_view_open(l.handle, &view));
    check(objstore_query_collection(view, l.list, &all));
    check(objstore_query_parse(view, l.item, objstore_text_of("rank < 60 SORT(rank ASC)", -1), NULL, 0, &condition));
    check(objstore_query_then(all, condition, &query));
    check(objstore_query_observe(query, l.handle, 0, hear, &calls, NULL, &token));
    check(objstore_query_close(query));
    check(objstore_query_close(condition));
    check(objstore_query_close(all));
    check(objstore_view_close(view));
    for (size_t i = 0; i < rounds; i++) {
        series mine = {0};
        for (size_t k = 0; k < batch; k++) {
            // To the other side of the bound and back, and by other ranks.
            const objstore_value rank = objstore_int(++serial % 2 ? serial * 7 % 60 : 60 + serial % 40);
            check(objstore_begin(l.handle, &view));
            check(objstore_set(view, l.middle, l.rank, rank));
            check(objstore_commit(view, NULL));
            calls = 0;
            const int64_t start = now_ns();
            check(objstore_deliver(l.handle, NULL));
            series_add(&mine, microseconds(now_ns() - start));
            if (calls != 1) die("notify_list_query_1: told %zu times", calls);
        }
        series_add(&r->tracks[OBJSTORE].repetitions, series_median(&mine));
        series_free(&mine);
    }
    check(objstore_token_close(token));
    check(objstore_close(l.handle));
}

// Of a list of N ints, from 0 to 99, those below 60 in their order, or the least ten of them, or each value once: one
// in the middle gets another value.
static void run_values(bench *b, const char *name, const char *text, result *r) {
    enum { piece = 1000 };
    const size_t count = b->data->count, rounds = repetitions(b, 10);
    const objstore_text owner = OBJSTORE_STR("Owner"), numbers = OBJSTORE_STR("numbers");
    objstore_schema *schema;
    objstore_view *view;
    objstore_class_id cls;
    objstore_property_id property;
    objstore_object object;
    objstore_query *query;
    objstore_token *token;
    size_t calls = 0, told = 0;
    int64_t serial = 0;
    check(objstore_schema_new(&schema));
    check(objstore_schema_add_class(schema, owner));
    check(objstore_schema_add_collection(
        schema, owner, numbers, OBJSTORE_KIND_LIST, OBJSTORE_KIND_NULL, OBJSTORE_KIND_INT, 0));
    objstore *handle = open_in_memory(objstore_text_of(name, -1), schema);
    check(objstore_begin(handle, &view));
    check(objstore_find_class(view, owner, &cls));
    check(objstore_find_property(view, cls, numbers, &property));
    check(objstore_create(view, cls, NULL, NULL, 0, &object));
    const objstore_collection list = objstore_collection_of(object, property);
    objstore_value values[piece];
    for (size_t i = 0; i < count;) {
        size_t size = 0;
        for (; size < piece && i < count; size++, i++) values[size] = objstore_int((int64_t)(i * 7919 % 100));
        check(objstore_list_insert(view, list, OBJSTORE_END, values, size));
    }
    check(objstore_commit(view, NULL));
    check(objstore_view_open(handle, &view));
    check(objstore_query_values(view, list, objstore_text_of(text, -1), NULL, 0, &query));
    check(objstore_query_observe(query, handle, 0, hear, &calls, NULL, &token));
    check(objstore_query_close(query));
    check(objstore_view_close(view));
    for (size_t i = 0; i < rounds; i++) {
        series mine = {0};
        for (size_t k = 0; k < batch; k++) {
            // To the other side of the bound and back; less than nothing is among the least, too.
            const objstore_value value = objstore_int(++serial % 2 ? -serial : 60 + serial % 40);
            check(objstore_begin(handle, &view));
            check(objstore_list_set(view, list, count / 2, value));
            check(objstore_commit(view, NULL));
            calls = 0;
            const int64_t start = now_ns();
            check(objstore_deliver(handle, NULL));
            series_add(&mine, microseconds(now_ns() - start));
            told += calls;
        }
        series_add(&r->tracks[OBJSTORE].repetitions, series_median(&mine));
        series_free(&mine);
    }
    // The first one may have been as far beyond the bound as it is now.
    if (told + 1 < rounds * batch) die("%s: told %zu times", name, told);
    check(objstore_token_close(token));
    check(objstore_close(handle));
}

// ---------------------------------------------------------------------------------- functions made at run time

static objstore_status count_call(objstore_view *transaction, void *userdata) {
    (void)transaction;
    ++*(uint64_t *)userdata;
    return OBJSTORE_OK;
}

// A function whose userdata is built in, beside the same one called through a pointer.
static void run_bound_calls(bench *b, result *r) {
    enum { calls = 1000000 };
    uint64_t counted = 0;
    objstore_write_body volatile plain = count_call;
    objstore_write_body made;
    objstore_bound *bound;
    check(objstore_bind_write_body(count_call, &counted, NULL, &made, &bound));
    objstore_write_body volatile through = made;
    for (size_t i = 0, n = repetitions(b, 20); i < n; i++) {
        for (int slot = FLOOR; slot <= OBJSTORE; slot++) {
            counted = 0;
            const int64_t start = now_ns();
            for (size_t k = 0; k < calls; k++)
                check(slot == FLOOR ? plain(NULL, &counted) : through(NULL, NULL));
            series_add(&r->tracks[slot].repetitions, (double)(now_ns() - start) / calls);
            if (counted != calls) die("ffi_call: %lu calls, not %d", counted, calls);
        }
    }
    check(objstore_bound_close(bound));
}

// What a function has been given of the changed persons, added up.
typedef struct { const store *store; uint64_t rows, sum; double scores; } added;

static objstore_status take_person(int64_t id, int64_t age, const char *name, int64_t length, double score,
                                   void *userdata) {
    added *a = userdata;
    a->rows++;
    a->sum += (uint64_t)id + (uint64_t)age + (uint64_t)length + (uint64_t)name[0];
    a->scores += score;
    return OBJSTORE_OK;
}

static objstore_status get_persons(objstore_changes *changes, void *userdata) {
    added *a = userdata;
    const objstore_object *objects;
    objstore_view *after;
    size_t count;
    check(objstore_changes_list(changes, OBJSTORE_MODIFICATIONS, &objects, NULL, &count));
    check(objstore_changes_view(changes, OBJSTORE_AFTER, &after));
    for (size_t i = 0; i < count; i++) {
        objstore_value id, age, name, score;
        check(objstore_get(after, objects[i], a->store->properties[id_property], NULL, &id));
        check(objstore_get(after, objects[i], a->store->properties[age_property], NULL, &age));
        check(objstore_get(after, objects[i], a->store->properties[name_property], NULL, &name));
        check(objstore_get(after, objects[i], a->store->properties[score_property], NULL, &score));
        take_person(id.data.integer, age.data.integer, name.data.text.bytes, name.data.text.length, score.data.real, a);
    }
    return OBJSTORE_OK;
}

static objstore_status count_persons(objstore_changes *changes, void *userdata) {
    objstore_changes_info info = objstore_changes_info_init();
    check(objstore_changes_get_info(changes, &info));
    ((added *)userdata)->rows = info.modification_count;
    return OBJSTORE_OK;
}

// The values of changed persons as arguments, beside a handler that gets them of the change set, and one that only
// counts: from objstore_deliver to its return, for each changed object.
static void run_typed(bench *b, result *r) {
    enum { TYPED, GETTERS, COUNTED, WAYS };
    const size_t size = b->data->count < 10000 ? b->data->count : 10000;
    int64_t *ids = must_alloc(size * 8);
    uint8_t *ages = must_alloc(size);
    series times[WAYS] = {0}, ratios = {0};
    writer_state w = open_writer(b, OBJSTORE, RELAXED);
    store *s = w.store;
    const objstore_property_id properties[] = {s->properties[id_property], s->properties[age_property],
                                               s->properties[name_property], s->properties[score_property]};
    for (size_t i = 0, n = repetitions(b, 10); i < n; i++) {
        double mine[WAYS];
        for (int way = TYPED; way < WAYS; way++) {
            added a = {.store = s};
            objstore_token *token;
            if (way == TYPED)
                check(objstore_observe_typed(s->handle, s->person, properties, 4,
                                             OBJSTORE_STR("i64, i64, str, f64 -> status"),
                                             (objstore_function)take_person, &a, NULL, &token));
            else
                check(objstore_observe(
                    s->handle, s->person, 0, way == GETTERS ? get_persons : count_persons, &a, NULL, &token));
            make_update(&b->updates, w.serial++, size, ids, ages);
            b->peers[OBJSTORE]->update_ages(s, ids, ages, size);
            const int64_t start = now_ns();
            check(objstore_deliver(s->handle, NULL));
            mine[way] = (double)(now_ns() - start) / (double)size;
            series_add(&times[way], mine[way]);
            added truth = {0};
            for (size_t k = 0; k < size; k++) {
                const size_t id = (size_t)ids[k];
                take_person(ids[k], ages[k], name_of(b->data, id), (int64_t)name_length(b->data, id),
                            b->data->score[id], &truth);
            }
            if (a.rows != size || (way != COUNTED && (a.sum != truth.sum || a.scores != truth.scores)))
                die("ffi_typed: wrong values of %lu objects, not %zu", a.rows, size);
            check(objstore_token_close(token));
        }
        series_add(&r->tracks[OBJSTORE].repetitions, mine[TYPED]);
        series_add(&ratios, mine[TYPED] / mine[GETTERS]);
    }
    result_extra(r, series_median(&times[GETTERS]), "getters");
    result_extra(r, series_median(&times[COUNTED]), "change_set_alone");
    result_extra(r, series_median(&ratios), "over_getters");
    for (int way = TYPED; way < WAYS; way++) series_free(&times[way]);
    series_free(&ratios);
    close_writer(b, OBJSTORE, &w, size, "ffi_typed");
    free(ids);
    free(ages);
}

#endif

void run_live(bench *b, wanted_function *wanted) {
#ifdef HAVE_OBJSTORE
    if (!b->peers[OBJSTORE]) return;
    run_observers(b, wanted);
    if (wanted("notify_told_100"))
        run_told(b, add_result(b, "notify_told_100", "us/change", false), "notify_told_100", few_observers);
    if (wanted("notify_told_10000"))
        run_told(b, add_result(b, "notify_told_10000", "us/change", false), "notify_told_10000", many_observers);
    if (wanted("notify_list_1")) run_list(b, add_result(b, "notify_list_1", "us/change", false));
    if (wanted("notify_list_query_1")) run_list_query(b, add_result(b, "notify_list_query_1", "us/change", false));
    if (wanted("notify_values_1"))
        run_values(b, "notify_values_1", "@self < 60", add_result(b, "notify_values_1", "us/change", false));
    if (wanted("notify_values_sorted_1"))
        run_values(b, "notify_values_sorted_1", "@self < 60 SORT(@self ASC) LIMIT(10)",
                   add_result(b, "notify_values_sorted_1", "us/change", false));
    if (wanted("notify_values_distinct_1"))
        run_values(b, "notify_values_distinct_1", "DISTINCT(@self)",
                   add_result(b, "notify_values_distinct_1", "us/change", false));
    if (wanted("ffi_call")) run_bound_calls(b, add_result(b, "ffi_call", "ns/call", false));
    if (wanted("ffi_typed")) run_typed(b, add_result(b, "ffi_typed", "ns/row", false));
#else
    (void)b;
    (void)wanted;
#endif
}
