// notify_*: what the delivery of one change costs whoever observes all of a million objects: from objstore_deliver to
// its return, with the handler in between. The others have nothing of the kind; their programs ask again.
#include "cases.h"

#ifdef HAVE_OBJSTORE

#include "peer_objstore.h"

typedef struct {
    const char *name;
    const char *query;
    bool always_told;
} notify_case;

static const notify_case notify_cases[] = {
    {"notify_all_1", "", true},
    {"notify_sorted_1", "SORT(age ASC, score ASC)", true},
    {"notify_limit_1", "SORT(age ASC, score ASC) LIMIT(100)", false},
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
    enum { batch = 20 };
    writer_state w = open_writer(b, OBJSTORE, RELAXED);
    store *s = w.store;
    objstore_view *view;
    objstore_query *query;
    objstore_token *token;
    told t = {0};
    check(objstore_view_open(s->handle, &view));
    check(objstore_query_parse(view, s->person, objstore_text_of(c->query, -1), NULL, 0, &query));
    check(objstore_query_observe(query, s->handle, 0, hear, &t, NULL, &token));
    check(objstore_query_close(query));
    check(objstore_view_close(view));
    for (size_t i = 0, n = repetitions(b, 20); i < n; i++) {
        series mine = {0};
        for (size_t k = 0; k < batch; k++) {
            int64_t id;
            uint8_t age;
            make_update(&b->updates, w.serial++, 1, &id, &age);
            b->peers[OBJSTORE]->update_ages(s, &id, &age, 1);
            t = (told){0};
            const int64_t start = now_ns();
            check(objstore_deliver(s->handle, NULL));
            series_add(&mine, microseconds(now_ns() - start));
            if (c->always_told && (t.calls != 1 || t.objects != 1))
                die("%s: told %zu times of %zu objects", c->name, t.calls, t.objects);
        }
        series_add(&r->tracks[OBJSTORE].repetitions, series_median(&mine));
        series_free(&mine);
    }
    check(objstore_token_close(token));
    close_writer(b, OBJSTORE, &w, 1, c->name);
}

#endif

void run_notify(bench *b, wanted_function *wanted) {
#ifdef HAVE_OBJSTORE
    for (size_t i = 0; i < sizeof notify_cases / sizeof *notify_cases; i++)
        if (wanted(notify_cases[i].name) && b->peers[OBJSTORE])
            run_one(b, &notify_cases[i], add_result(b, notify_cases[i].name, "us/change", false));
#else
    (void)b;
    (void)wanted;
#endif
}
