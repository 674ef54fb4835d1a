/* Threads that write, observe, freeze, refresh, deliver, pause and close, all at once and through the same handle; now
 * and then one opens a handle of its own, observes, and closes it while others deliver and wait there.
 * Observers of all kinds keep a copy of what they observe, by their change sets alone:
 *
 *      what a change set takes out         is in the copy, at the place that it names
 *      the copy, now and then              is what a query finds in the version after the change set
 *      the copy at the end                 is what a fresh query finds
 *      the calls of one handler            never overlap; there is none after its token was closed
 *      userdata                            is freed once
 *
 * The copies are plain memory, which the threads that call the handlers hand to each other by the library's own
 * synchronisation: ThreadSanitizer says where that is missing. */
#define _GNU_SOURCE
#include "watched.h"

#include <pthread.h>

enum { MOST_THREADS = 64, SLOTS = 24, ITEMS = 300, SHELVED = 40, KEPT = 4 };

enum { NUMBER_OF_ITEM, RANK, GROUP, NEXT, ITEM_PROPERTIES };
static const objstore_property_row item_rows[ITEM_PROPERTIES] = {
    [NUMBER_OF_ITEM] = {.name = "number", .kind = OBJSTORE_KIND_INT, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
    [RANK] = {.name = "rank", .kind = OBJSTORE_KIND_INT, .flags = OBJSTORE_PROPERTY_INDEXED},
    [GROUP] = {.name = "group", .kind = OBJSTORE_KIND_INT},
    [NEXT] = {.name = "next", .kind = OBJSTORE_KIND_LINK, .target = "Item"},
};

typedef struct {
    pthread_t thread;
    random_source random;
    uint64_t operations, writes;
    observer *made;
    objstore_view *view;                /* a live one of its own */
    objstore_changes *kept[KEPT];
    size_t keeps;
} worker;

static objstore *store;
static objstore_class_id item;
static objstore_property_id item_properties[ITEM_PROPERTIES];
static objstore_collection shelf;
static _Atomic(observer *) slots[SLOTS];
static _Atomic int64_t next_number = 1;
static _Atomic uint64_t operations, calls, comparisons, closed_inside, visits, refused_visits;
/* The handle of one who visits, for the others. */
static _Atomic(objstore *) visited;
static const char *visited_path;
static _Thread_local worker *self;

/* ----------------------------------------------------------------------------------------------------- handlers */

static void write_something(worker *w, bool in_handler);

/* Whoever takes an observer out of its slot may close it. */
static bool take_own(observer *o) {
    observer *expected = o;
    return atomic_compare_exchange_strong(o->slot, &expected, NULL);
}

static void read_some(objstore_changes *changes, list objects, objstore_side side) {
    objstore_view *view;
    objstore_value value;
    MUST(objstore_changes_view(changes, side, &view));
    for (size_t i = 0; i < objects.count && i < 3; i++)
        MUST(objstore_get(view, objects.objects[i], item_properties[RANK], NULL, &value));
}

static void begin_call(observer *o) {
    expect(!o->is_inside, o, "its handler was called while it ran");
    o->is_inside = true;
    expect(!atomic_load(&o->is_closed), o, "its handler was called after its token was closed");
    expect(!o->freed, o, "its handler was called after its userdata was freed");
    o->calls++;
    atomic_fetch_add(&calls, 1);
}

static objstore_status hear(objstore_changes *changes, void *userdata) {
    observer *o = userdata;
    worker *w = self;
    objstore_changes_info info = objstore_changes_info_init();
    begin_call(o);
    MUST(objstore_changes_get_info(changes, &info));
    if (!has_copy(kinds[o->kind].way)) {
        if (is_query(kinds[o->kind].way))
            read_some(changes, list_of(changes, OBJSTORE_MODIFICATIONS), OBJSTORE_AFTER);
    } else if (info.flags & OBJSTORE_CHANGES_INITIAL) {
        objstore_view *after;
        expect(o->calls == 1, o, "it was told twice that it begins");
        MUST(objstore_changes_view(changes, OBJSTORE_AFTER, &after));
        o->keys = find_keys(o, item, after, &o->count);
        o->room = o->count + 1;
    } else {
        follow(o, changes);
        if (w && random_below(&w->random, 8) == 0) {
            objstore_view *after;
            MUST(objstore_changes_view(changes, OBJSTORE_AFTER, &after));
            compare_copy(o, item, after);
            atomic_fetch_add(&comparisons, 1);
        }
        read_some(changes, list_of(changes, OBJSTORE_DELETIONS), OBJSTORE_BEFORE);
        read_some(changes, list_of(changes, OBJSTORE_INSERTIONS), OBJSTORE_AFTER);
    }
    if (w && random_below(&w->random, 20) == 0) {
        objstore_changes **kept = &w->kept[w->keeps++ % KEPT];
        MUST(objstore_changes_close(*kept));
        MUST(objstore_changes_keep(changes, kept));
    }
    if (w && random_below(&w->random, 60) == 0) write_something(w, true);
    o->is_inside = false;
    if (w && random_below(&w->random, 100) == 0 && take_own(o)) {
        atomic_fetch_add(&closed_inside, 1);
        MUST(objstore_token_close(o->token));
    }
    return OBJSTORE_OK;
}

static objstore_status hear_row(int32_t event, int64_t number, int64_t rank, void *userdata) {
    observer *o = userdata;
    begin_call(o);
    expect(number > 0 && rank >= 0 && rank < 1000, o, "it was given values that nobody has written");
    expect(event == OBJSTORE_INSERTIONS || event == OBJSTORE_MODIFICATIONS, o, "it was told of another event");
    o->is_inside = false;
    return OBJSTORE_OK;
}

static void free_observer(void *userdata) {
    observer *o = userdata;
    o->freed++;
}

/* --------------------------------------------------------------------------------------------------- operations */

static void close_token(observer *o) {
    MUST(objstore_token_close(o->token));
    atomic_store(&o->is_closed, true);
}

static objstore_query *query_of(objstore_view *view, int kind) {
    objstore_query *query, *of_list, *joined;
    MUST(objstore_query_parse(view, item, objstore_cstr(kinds[kind].text), NULL, 0, &query));
    if (!kinds[kind].of_list) return query;
    MUST(objstore_query_collection(view, shelf, &of_list));
    MUST(objstore_query_then(of_list, query, &joined));
    MUST(objstore_query_close(of_list));
    MUST(objstore_query_close(query));
    return joined;
}

/* Of the results that it has asked for, it knows what is in them; a query says when it begins. */
static void begin_observing(observer *o, bool from_results) {
    objstore_view *view;
    MUST(objstore_view_open(store, &view));
    const way way = kinds[o->kind].way;
    if (is_query(way)) o->query = query_of(view, o->kind);
    if (way == COMMITS) {
        MUST(objstore_observe_commits(store, 0, hear, o, free_observer, &o->token));
    } else if (way == ONE_OBJECT) {
        MUST(objstore_object_observe(store, shelf.owner, NULL, 0, 0, hear, o, free_observer, &o->token));
    } else if (way == LIST_ITSELF) {
        MUST(objstore_collection_observe(store, shelf, 0, hear, o, free_observer, &o->token));
    } else if (way == FAR) {
        const objstore_text paths[] = {OBJSTORE_STR("rank"), OBJSTORE_STR("next.rank")};
        MUST(objstore_query_observe_paths(o->query, store, paths, 2, OBJSTORE_OBSERVE_INITIAL, hear, o, free_observer,
                                          &o->token));
    } else if (way == TYPED) {
        const objstore_property_id properties[] = {item_properties[NUMBER_OF_ITEM], item_properties[RANK]};
        MUST(objstore_observe_typed(store, item, properties, 2, OBJSTORE_STR("event, i64, i64 -> status"),
                                    (objstore_function)hear_row, o, free_observer, &o->token));
    } else if (!o->query) {
        MUST(objstore_observe(store, item, OBJSTORE_OBSERVE_INITIAL, hear, o, free_observer, &o->token));
    } else if (from_results) {
        objstore_results *results;
        MUST(objstore_query_find(o->query, view, &results));
        o->keys = find_keys(o, item, view, &o->count);
        o->room = o->count + 1;
        MUST(objstore_results_observe(results, 0, hear, o, free_observer, &o->token));
        MUST(objstore_results_close(results));
    } else {
        MUST(objstore_query_observe(o->query, store, OBJSTORE_OBSERVE_INITIAL, hear, o, free_observer, &o->token));
    }
    MUST(objstore_view_close(view));
}

static void observe(worker *w) {
    observer *o = calloc(1, sizeof *o), *displaced;
    if (!o) fail("no memory");
    o->kind = (int)random_below(&w->random, KINDS);
    o->slot = &slots[random_below(&w->random, SLOTS)];
    o->before = w->made;
    w->made = o;
    begin_observing(o, random_below(&w->random, 2));
    displaced = atomic_exchange(o->slot, o);
    if (displaced) close_token(displaced);
}

static void close_one(worker *w) {
    observer *o = atomic_exchange(&slots[random_below(&w->random, SLOTS)], NULL);
    if (o) close_token(o);
}

/* An observer rests, or goes on; whoever comes to its slot meanwhile finds nobody. */
static void rest_or_go_on(worker *w) {
    observer *o = atomic_exchange(&slots[random_below(&w->random, SLOTS)], NULL), *empty = NULL;
    if (!o) return;
    const uint64_t dice = random_below(&w->random, 4);
    if (dice == 0) MUST(objstore_token_pause(o->token));
    else if (dice == 1) MUST(objstore_token_set_interval(o->token, (int64_t)random_below(&w->random, 4)));
    else MUST(objstore_token_resume(o->token));
    if (!atomic_compare_exchange_strong(o->slot, &empty, o)) close_token(o);
}

/* One of the last; false where there is none with that number. */
static bool find_any(worker *w, objstore_view *view, objstore_object *object) {
    const int64_t number = atomic_load(&next_number) - (int64_t)random_below(&w->random, 2 * ITEMS);
    bool found;
    MUST(objstore_find(view, item, objstore_int(number), object, &found));
    return found;
}

static void create_item(worker *w, objstore_view *transaction) {
    objstore_object next;
    const bool has_next = find_any(w, transaction, &next);
    const objstore_value values[ITEM_PROPERTIES] = {
        [NUMBER_OF_ITEM] = objstore_int(atomic_fetch_add(&next_number, 1)),
        [RANK] = objstore_int((int64_t)random_below(&w->random, 1000)),
        [GROUP] = objstore_int((int64_t)random_below(&w->random, 8)),
        [NEXT] = has_next ? objstore_link(next) : objstore_null(),
    };
    MUST(objstore_create(transaction, item, item_properties, values, ITEM_PROPERTIES, NULL));
}

static void change_shelf(worker *w, objstore_view *transaction, objstore_object object) {
    uint64_t count;
    MUST(objstore_collection_count(transaction, shelf, &count));
    if (count > SHELVED || (count && random_below(&w->random, 3) == 0)) {
        MUST(objstore_collection_remove(transaction, shelf, (size_t)random_below(&w->random, count), 1));
    } else if (count && random_below(&w->random, 2)) {
        MUST(objstore_list_move(transaction, shelf, (size_t)random_below(&w->random, count),
                                (size_t)random_below(&w->random, count)));
    } else {
        const objstore_value link = objstore_link(object);
        MUST(objstore_list_insert(transaction, shelf, (size_t)random_below(&w->random, count + 1), &link, 1));
    }
}

static void change_something(worker *w, objstore_view *transaction) {
    objstore_object object, other;
    uint64_t count;
    MUST(objstore_count(transaction, item, &count));
    const uint64_t dice = random_below(&w->random, 100);
    if (!find_any(w, transaction, &object) || dice < (count < ITEMS ? 30 : 5)) create_item(w, transaction);
    else if (dice < (count < ITEMS ? 35 : 30)) MUST(objstore_delete(transaction, object));
    else if (dice < 65)
        MUST(objstore_set(transaction, object, item_properties[RANK],
                          objstore_int((int64_t)random_below(&w->random, 1000))));
    else if (dice < 75)
        MUST(objstore_set(transaction, object, item_properties[GROUP],
                          objstore_int((int64_t)random_below(&w->random, 8))));
    else if (dice < 85 && find_any(w, transaction, &other))
        MUST(objstore_set(transaction, object, item_properties[NEXT], objstore_link(other)));
    else change_shelf(w, transaction, object);
}

/* An observer is taken out of its slot for that long: nobody closes its token meanwhile. */
static void write_something(worker *w, bool in_handler) {
    observer *taken = NULL, *empty = NULL;
    objstore_view *transaction;
    MUST(objstore_begin(store, &transaction));
    for (uint64_t i = 1 + random_below(&w->random, 6); i; i--) change_something(w, transaction);
    if (!in_handler && random_below(&w->random, 4) == 0) {
        observer *o = atomic_exchange(&slots[random_below(&w->random, SLOTS)], NULL);
        if (o && kinds[o->kind].way != SILENCED && random_below(&w->random, 8) == 0) {
            MUST(objstore_token_close(o->token));   /* in a transaction: a call that is in progress is the last */
        } else if (o) {
            if (kinds[o->kind].way == SILENCED) MUST(objstore_without_notifying(transaction, &o->token, 1));
            taken = o;
        }
    }
    if (random_below(&w->random, 10) == 0) MUST(objstore_cancel(transaction));
    else MUST(objstore_commit(transaction, NULL));
    w->writes++;
    if (taken && !atomic_compare_exchange_strong(taken->slot, &empty, taken)) close_token(taken);
}

/* A frozen version stands still, whatever the others do. */
static void freeze(worker *w) {
    objstore_view *live, *frozen;
    int kind;
    do kind = (int)random_below(&w->random, KINDS); while (!is_query(kinds[kind].way));
    MUST(objstore_view_open(store, &live));
    MUST(objstore_view_freeze(live, &frozen));
    MUST(objstore_view_close(live));
    observer reader = {.query = query_of(frozen, kind)};
    size_t first, second;
    int64_t *a = find_keys(&reader, item, frozen, &first), *b = find_keys(&reader, item, frozen, &second);
    if (first != second || memcmp(a, b, first * sizeof *a)) fail("two answers of a frozen version differ");
    free(a);
    free(b);
    MUST(objstore_query_close(reader.query));
    MUST(objstore_view_close(frozen));
}

static void refresh(worker *w) {
    bool changed;
    uint64_t count;
    if (!w->view) MUST(objstore_view_open(store, &w->view));
    MUST(objstore_view_refresh(w->view, &changed));
    MUST(objstore_count(w->view, item, &count));
    if (random_below(&w->random, 4)) return;
    MUST(objstore_view_close(w->view));
    w->view = NULL;
}

static objstore_status count_visit(objstore_changes *changes, void *userdata) {
    (void)changes;
    atomic_fetch_add((_Atomic uint64_t *)userdata, 1);
    return OBJSTORE_OK;
}

/* A handle of its own, which is closed with its observer, and with what is due there, whatever the others do. */
static void visit(worker *w) {
    if (!visited_path) return;      /* in memory each handle would be a store of its own */
    _Atomic uint64_t heard = 0;
    objstore_token *token;
    objstore *own = open_with(visited_path, NULL);
    MUST(objstore_observe(own, item, OBJSTORE_OBSERVE_INITIAL, count_visit, (void *)&heard, NULL, &token));
    atomic_store(&visited, own);
    for (int i = 0; i < 3; i++) write_something(w, false);
    MUST(objstore_wait(own, 1, NULL));
    MUST(objstore_close(own));
    const uint64_t after = atomic_load(&heard);
    write_something(w, false);
    if (atomic_load(&heard) != after) fail("a handle that is closed has told of something");
    atomic_fetch_add(&visits, 1);
}

/* Of the handle of another thread, which may close it at any moment. */
static void call_at_visitor(worker *w) {
    objstore *other = atomic_load(&visited);
    if (!other) return;
    const objstore_status status =
        random_below(&w->random, 2) ? objstore_deliver(other, NULL) : objstore_wait(other, 1, NULL);
    if (status == OBJSTORE_ERR_CLOSED_HANDLE) atomic_fetch_add(&refused_visits, 1);
    else MUST(status);
}

static void *work(void *userdata) {
    worker *w = userdata;
    self = w;
    for (uint64_t i = 0; i < w->operations; i++) {
        const uint64_t dice = random_below(&w->random, 100);
        if (dice < 30) write_something(w, false);
        else if (dice < 38) observe(w);
        else if (dice < 41) close_one(w);
        else if (dice < 46) rest_or_go_on(w);
        else if (dice < 70) MUST(objstore_deliver(store, NULL));
        else if (dice < 85) MUST(objstore_wait(store, 1, NULL));
        else if (dice < 91) freeze(w);
        else if (dice < 96) refresh(w);
        else if (dice < 99 || random_below(&w->random, 4)) call_at_visitor(w);
        else visit(w);
        atomic_fetch_add(&operations, 1);
        if (i % 100 == 0) goes_on("operations", atomic_load(&operations));
    }
    MUST(objstore_view_close(w->view));
    for (size_t i = 0; i < KEPT; i++) MUST(objstore_changes_close(w->kept[i]));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ the end */

static void open_watched(const char *path) {
    objstore_schema *schema;
    objstore_view *view;
    objstore_class_id shelves;
    objstore_property_id items;
    objstore_object owner;
    MUST(objstore_schema_new(&schema));
    MUST(objstore_schema_add_rows(schema, OBJSTORE_STR("Item"), 0, item_rows, ITEM_PROPERTIES));
    MUST(objstore_schema_add_class(schema, OBJSTORE_STR("Shelf")));
    MUST(objstore_schema_add_link_collection(schema, OBJSTORE_STR("Shelf"), OBJSTORE_STR("items"), OBJSTORE_KIND_LIST,
                                             OBJSTORE_KIND_NULL, OBJSTORE_STR("Item"), 0));
    visited_path = path;
    store = open_with(path, schema);
    MUST(objstore_begin(store, &view));
    MUST(objstore_find_rows(view, OBJSTORE_STR("Item"), item_rows, ITEM_PROPERTIES, &item, item_properties));
    MUST(objstore_find_class(view, OBJSTORE_STR("Shelf"), &shelves));
    MUST(objstore_find_property(view, shelves, OBJSTORE_STR("items"), &items));
    MUST(objstore_create(view, shelves, NULL, NULL, 0, &owner));
    MUST(objstore_commit(view, NULL));
    shelf = objstore_collection_of(owner, items);
}

static uint64_t compare_copies(void) {
    objstore_view *view;
    uint64_t compared = 0;
    size_t delivered = 1;
    for (int i = 0; i < SLOTS; i++) {
        const observer *o = atomic_load(&slots[i]);
        if (!o) continue;
        MUST(objstore_token_resume(o->token));
        MUST(objstore_token_set_interval(o->token, 0));
    }
    while (delivered) MUST(objstore_deliver(store, &delivered));
    MUST(objstore_view_open(store, &view));
    for (int i = 0; i < SLOTS; i++) {
        const observer *o = atomic_load(&slots[i]);
        if (!o || !has_copy(kinds[o->kind].way)) continue;
        compare_copy(o, item, view);
        compared++;
    }
    MUST(objstore_view_close(view));
    return compared;
}

int run_watched(const options *o) {
    const int threads = o->threads ? o->threads : 8;
    worker workers[MOST_THREADS] = {{0}};
    uint64_t compared, observers = 0, writes = 0;
    if (threads < 1 || threads > MOST_THREADS) fail("%d threads, not 1 to %d", threads, MOST_THREADS);
    open_watched(o->path);
    for (int i = 0; i < threads; i++) {
        workers[i].random.state = o->seed * 1000 + (uint64_t)i;
        workers[i].operations = o->count / (uint64_t)threads;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) fail("no thread");
    }
    for (int i = 0; i < threads; i++) pthread_join(workers[i].thread, NULL);
    compared = compare_copies();
    for (int i = 0; i < SLOTS / 2; i++) {
        observer *left = atomic_load(&slots[i]);
        if (left) close_token(left);
    }
    for (int i = 0; i < threads; i++)
        for (const observer *each = workers[i].made; each; each = each->before) MUST(objstore_query_close(each->query));
    MUST(objstore_close(store));        /* and with it the others */
    for (int i = 0; i < threads; i++) {
        writes += workers[i].writes;
        for (observer *each = workers[i].made, *before; each; each = before, observers++) {
            expect(each->freed == 1, each, each->freed ? "its userdata was freed twice" : "its userdata was not freed");
            expect(!each->is_inside, each, "its handler has not returned");
            before = each->before;
            free(each->keys);
            free(each);
        }
    }
    printf("watched: %" PRIu64 " operations of %d threads; %" PRIu64 " observers were called %" PRIu64 " times, with %"
           PRIu64 " moves, in %" PRIu64 " writes; %" PRIu64 " ended inside of their handlers; copies were what a query "
           "found, %" PRIu64 " times then and %" PRIu64 " at the end; %" PRIu64 " handles were closed meanwhile, %"
           PRIu64 " calls came too late, seed %" PRIu64 "\n", atomic_load(&operations), threads, observers,
           atomic_load(&calls), atomic_load(&moves), writes, atomic_load(&closed_inside), atomic_load(&comparisons),
           compared, atomic_load(&visits), atomic_load(&refused_visits), o->seed);
    /* Otherwise nothing was proved of these. */
    if (o->count >= 5000 && (!calls || !moves || !closed_inside || !comparisons || !compared || !visits))
        fail("something of this has never happened");
    return 0;
}
