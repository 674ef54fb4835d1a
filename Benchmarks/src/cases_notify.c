// notify_*: what it costs whoever observes all of a million objects to be told what one commit has changed, one object
// or many: from objstore_deliver to its return, with the handler in between. The others have nothing of the kind; their
// programs ask again.
#include "cases.h"

#ifdef HAVE_OBJSTORE

#include "peer_objstore.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    const char *query;
    bool always_told;
    size_t changed;         // objects a commit; not more than there are
    const char *sections;   // the value that makes them; NULL: none
} notify_case;

static const notify_case notify_cases[] = {
    {"notify_all_1", "", true, 1, NULL},
    {"notify_all_100", "", true, 100, NULL},
    {"notify_all_10000", "", true, 10000, NULL},
    {"notify_sorted_1", "SORT(age ASC, score ASC)", true, 1, NULL},
    {"notify_sorted_100", "SORT(age ASC, score ASC)", true, 100, NULL},
    {"notify_sorted_10000", "SORT(age ASC, score ASC)", true, 10000, NULL},
    {"notify_limit_1", "SORT(age ASC, score ASC) LIMIT(100)", false, 1, NULL},
    {"notify_range_1", "age >= 20 AND age < 60", false, 1, NULL},
    {"notify_distinct_1", "SORT(score ASC) DISTINCT(age)", false, 1, NULL},
    {"notify_sections_1", "SORT(score ASC)", true, 1, "age"},
    {"notify_table_1", "age >= 20 SELECT(name, age * 2)", false, 1, NULL},
    {"notify_groups_1", "GROUP(age) SELECT(age, @count, @sum.id, @max.id)", true, 1, NULL},
    {"notify_groups_mean_1", "GROUP(age) SELECT(age, @avg.score)", true, 1, NULL},
    {"notify_groups_sorted_1", "SORT(score DESC) GROUP(age) SELECT(age, @count)", true, 1, NULL},
};

// What the handler was told, since it was looked at last.
typedef struct {
    size_t calls, objects;
} told;

static objstore_status hear(objstore_changes *changes, void *userdata) {
    told *t = userdata;
    objstore_changes_info info = objstore_changes_info_init();
    check(objstore_changes_get_info(changes, &info));
    t->calls++;
    t->objects += info.deletion_count + info.insertion_count + info.modification_count + info.move_count;
    return OBJSTORE_OK;
}

static void run_one(bench *b, const notify_case *c, result *r) {
    const size_t size = c->changed < b->data->count ? c->changed : b->data->count, batch = size > 100 ? 2 : 20;
    int64_t *ids = must_alloc(size * 8);
    uint8_t *ages = must_alloc(size);
    series commits = {0};
    writer_state w = open_writer(b, OBJSTORE, RELAXED);
    store *s = w.store;
    objstore_view *view;
    objstore_query *query;
    objstore_token *token;
    told t = {0};
    const double heap = heap_bytes();
    check(objstore_view_open(s->handle, &view));
    check(objstore_query_parse(view, s->person, objstore_text_of(c->query, -1), NULL, 0, &query));
    if (c->sections) {
        objstore_results *results;
        objstore_sections *sections;
        check(objstore_query_find(query, view, &results));
        check(objstore_sections_parse(results, objstore_text_of(c->sections, -1), NULL, 0, OBJSTORE_SECTIONS_ASCENDING,
                                      &sections));
        check(objstore_sections_observe(sections, NULL, NULL, 0, 0, hear, &t, NULL, &token));
        check(objstore_sections_close(sections));
        check(objstore_results_close(results));
    } else {
        check(objstore_query_observe(query, s->handle, 0, hear, &t, NULL, &token));
    }
    check(objstore_query_close(query));
    check(objstore_view_close(view));
    for (size_t i = 0, n = repetitions(b, 20); i < n; i++) {
        series mine = {0};
        for (size_t k = 0; k < batch; k++) {
            make_update(&b->updates, w.serial++, size, ids, ages);
            const int64_t begun = now_ns();
            b->peers[OBJSTORE]->update_ages(s, ids, ages, size);
            t = (told){0};
            const int64_t start = now_ns();
            check(objstore_deliver(s->handle, NULL));
            series_add(&mine, microseconds(now_ns() - start));
            series_add(&commits, microseconds(start - begun));
            // Of several that trade places, one that was not changed may be told as moved.
            const bool one = size == 1 && !strstr(c->query, "GROUP"), right = one ? t.objects == 1 : t.objects >= size;
            if (c->always_told && (t.calls != 1 || !right))
                die("%s: told %zu times of %zu objects", c->name, t.calls, t.objects);
        }
        series_add(&r->tracks[OBJSTORE].repetitions, series_median(&mine));
        series_free(&mine);
    }
    if (size > 1) result_extra(r, series_median(&commits), "commit_us");
    if (*c->query) result_extra(r, (heap_bytes() - heap) / (double)b->data->count, "bytes_per_object");
    check(objstore_token_close(token));
    close_writer(b, OBJSTORE, &w, size, c->name);
    series_free(&commits);
    free(ids);
    free(ages);
}

// Of dogs with ten to an owner those whose owner has a rank below 50: the owner of ten dogs gets one on the other side.
static void run_link(bench *b, result *r) {
    enum { batch = 20, dogs_each = 10 };
    const int64_t dogs = (int64_t)b->data->count, owners = dogs / dogs_each;
    const objstore_text owner = OBJSTORE_STR("Owner"), dog = OBJSTORE_STR("Dog");
    objstore_schema *schema;
    objstore_view *view;
    objstore_class_id classes[2];
    objstore_property_id rank, link;
    check(objstore_schema_new(&schema));
    check(objstore_schema_add_class(schema, owner));
    check(objstore_schema_add_property(schema, owner, OBJSTORE_STR("rank"), OBJSTORE_KIND_INT, 0));
    check(objstore_schema_add_class(schema, dog));
    check(objstore_schema_add_link(schema, dog, OBJSTORE_STR("owner"), owner, 0));
    objstore *handle = open_in_memory(OBJSTORE_STR("notify_link_1"), schema);
    objstore_object *all = must_alloc((size_t)owners * sizeof *all);
    check(objstore_begin(handle, &view));
    check(objstore_find_class(view, owner, &classes[0]));
    check(objstore_find_class(view, dog, &classes[1]));
    check(objstore_find_property(view, classes[0], OBJSTORE_STR("rank"), &rank));
    check(objstore_find_property(view, classes[1], OBJSTORE_STR("owner"), &link));
    for (int64_t i = 0; i < owners; i++) {
        const objstore_value value = objstore_int(i % 100);
        check(objstore_create(view, classes[0], &rank, &value, 1, &all[i]));
    }
    for (int64_t i = 0; i < dogs; i++) {
        const objstore_value value = objstore_link(all[i % owners]);
        check(objstore_create(view, classes[1], &link, &value, 1, NULL));
    }
    check(objstore_commit(view, NULL));
    objstore_query *query;
    objstore_token *token;
    told t = {0};
    check(objstore_view_open(handle, &view));
    check(objstore_query_parse(view, classes[1], OBJSTORE_STR("owner.rank < 50"), NULL, 0, &query));
    check(objstore_query_observe(query, handle, 0, hear, &t, NULL, &token));
    check(objstore_query_close(query));
    check(objstore_view_close(view));
    for (size_t i = 0, n = repetitions(b, 20), serial = 0; i < n; i++) {
        series mine = {0};
        for (size_t k = 0; k < batch; k++, serial++) {
            const size_t which = serial * 7919 % (size_t)owners;
            objstore_value now;
            check(objstore_begin(handle, &view));
            check(objstore_get(view, all[which], rank, NULL, &now));
            check(objstore_set(view, all[which], rank, objstore_int(99 - now.data.integer)));
            check(objstore_commit(view, NULL));
            t = (told){0};
            const int64_t start = now_ns();
            check(objstore_deliver(handle, NULL));
            series_add(&mine, microseconds(now_ns() - start));
            if (t.calls != 1 || t.objects != dogs_each)
                die("notify_link_1: told %zu times of %zu objects", t.calls, t.objects);
        }
        series_add(&r->tracks[OBJSTORE].repetitions, series_median(&mine));
        series_free(&mine);
    }
    check(objstore_token_close(token));
    check(objstore_close(handle));
    free(all);
}

#endif

void run_notify(bench *b, wanted_function *wanted) {
#ifdef HAVE_OBJSTORE
    for (size_t i = 0; i < sizeof notify_cases / sizeof *notify_cases; i++)
        if (wanted(notify_cases[i].name) && b->peers[OBJSTORE])
            run_one(b, &notify_cases[i], add_result(b, notify_cases[i].name, "us/change", false));
    if (wanted("notify_link_1") && b->peers[OBJSTORE]) run_link(b, add_result(b, "notify_link_1", "us/change", false));
#else
    (void)b;
    (void)wanted;
#endif
}
