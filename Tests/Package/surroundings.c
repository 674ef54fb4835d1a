/* What the program around the library does: threads that are cancelled, that end, that have small stacks; memory that
 * runs out; fork inside of callbacks; closing while others are at work.
 *
 *      ./surroundings worker | cancel | stack | memory | fork | close | limit | masked | stream FOLDER
 *
 * Nothing here waits for a time: what must happen is waited for, and an alarm ends what hangs.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <objstore.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                        \
    do {                                                                                                        \
        if (!(condition)) {                                                                                     \
            fprintf(stderr, "surroundings.c:%d: %s (last: %s)\n", __LINE__, #condition, objstore_last_message()); \
            _exit(1);                                                                                           \
        }                                                                                                       \
    } while (0)
#define OK(call) CHECK((call) == OBJSTORE_OK)

typedef struct { objstore *store; objstore_class_id id; objstore_property_id next, n, any; } kennel;

static objstore_schema *make_schema(void) {
    objstore_schema *schema;
    const objstore_text dog = OBJSTORE_STR("Dog");
    OK(objstore_schema_new(&schema));
    OK(objstore_schema_add_class(schema, dog));
    OK(objstore_schema_add_property(
        schema, dog, OBJSTORE_STR("n"), OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_INDEXED | OBJSTORE_PROPERTY_NULLABLE));
    OK(objstore_schema_add_link(schema, dog, OBJSTORE_STR("next"), dog, OBJSTORE_PROPERTY_CASCADE));
    OK(objstore_schema_add_property(schema, dog, OBJSTORE_STR("any"), OBJSTORE_KIND_MIXED, 0));
    return schema;
}

/* path NULL: in memory. */
static kennel open_kennel(const char *path, uint32_t flags, objstore_durability durability) {
    kennel k;
    objstore_config *config;
    objstore_schema *schema = make_schema();
    objstore_view *view;
    OK(objstore_config_new(&config));
    OK(path ? objstore_config_set_path(config, objstore_cstr(path))
            : objstore_config_set_memory(config, OBJSTORE_STR("")));
    OK(objstore_config_set_schema(config, schema, 1));
    OK(objstore_config_set_flags(config, flags));
    OK(objstore_config_set_durability(config, durability, 5));
    OK(objstore_open(config, &k.store));
    OK(objstore_view_open(k.store, &view));
    OK(objstore_find_class(view, OBJSTORE_STR("Dog"), &k.id));
    OK(objstore_find_property(view, k.id, OBJSTORE_STR("n"), &k.n));
    OK(objstore_find_property(view, k.id, OBJSTORE_STR("next"), &k.next));
    OK(objstore_find_property(view, k.id, OBJSTORE_STR("any"), &k.any));
    OK(objstore_view_close(view));
    OK(objstore_config_close(config));
    OK(objstore_schema_close(schema));
    return k;
}

static void add_dog(kennel *k) {
    objstore_view *tx;
    OK(objstore_begin(k->store, &tx));
    OK(objstore_create(tx, k->id, NULL, NULL, 0, NULL));
    OK(objstore_commit(tx, NULL));
}

/* Finds the dogs for which a condition holds; all of them where it is empty. */
static objstore_status find_dogs(
    const kennel *k, objstore_view *view, const char *condition, objstore_results **found) {
    objstore_query *query;
    objstore_status status = objstore_query_parse(view, k->id, objstore_cstr(condition), NULL, 0, &query);
    *found = NULL;
    if (status != OBJSTORE_OK) return status;
    status = objstore_query_find(query, view, found);
    OK(objstore_query_close(query));
    return status;
}

/* ---- a handler on the worker that waits for the closer of its token --------------------------------- */

typedef struct { kennel *k; sem_t entered, go, left; int calls; } held;

static objstore_status hold(objstore_changes *changes, void *userdata) {
    held *h = userdata;
    objstore_view *tx;
    objstore_status status;
    (void)changes;
    h->calls++;
    sem_post(&h->entered);
    sem_wait(&h->go);
    status = objstore_begin(h->k->store, &tx);
    if (status == OBJSTORE_OK) status = objstore_cancel(tx);
    sem_post(&h->left);
    return status;
}
static objstore_status tell(objstore_changes *changes, void *userdata) {
    (void)changes;
    sem_post(userdata);
    return OBJSTORE_OK;
}

static void worker(void) {
    kennel k = open_kennel(NULL, OBJSTORE_CONFIG_DELIVER_ON_WORKER, OBJSTORE_DURABILITY_FULL);
    held h;
    sem_t told;
    objstore_token *token, *second;
    objstore_view *tx;
    int round;
    h.k = &k;
    sem_init(&h.entered, 0, 0), sem_init(&h.go, 0, 0), sem_init(&h.left, 0, 0), sem_init(&told, 0, 0);
    for (round = 1; round <= 200; round++) {
        h.calls = 0;
        OK(objstore_observe(k.store, k.id, 0, hold, &h, NULL, &token));
        add_dog(&k);
        sem_wait(&h.entered);
        OK(objstore_begin(k.store, &tx));
        OK(objstore_create(tx, k.id, NULL, NULL, 0, NULL));
        sem_post(&h.go);
        /* The handler waits for this transaction now, or will: closing its token must not wait for it. */
        OK(objstore_token_close(token));
        /* The next observer is served by the same thread, as soon as the handler lets it go. */
        OK(objstore_observe(k.store, k.id, 0, tell, &told, NULL, &second));
        OK(round % 2 ? objstore_cancel(tx) : objstore_commit(tx, NULL));
        sem_wait(&h.left);
        add_dog(&k);
        sem_wait(&told);
        CHECK(h.calls == 1);
        OK(objstore_token_close(second));
        while (sem_trywait(&told) == 0) {}
    }
    /* A store is closed under such a handler, too: its transaction is cancelled. */
    OK(objstore_observe(k.store, k.id, 0, hold, &h, NULL, &token));
    add_dog(&k);
    sem_wait(&h.entered);
    OK(objstore_begin(k.store, &tx));
    sem_post(&h.go);
    OK(objstore_close(k.store));
}

/* ---- pthread_cancel ---------------------------------------------------------------------------------- */

static kennel shared;
static sem_t started;
static int in_callback, after_callback;

static void *wait_for_ever(void *userdata) {
    sem_post(&started);
    for (;;) OK(objstore_wait(shared.store, OBJSTORE_FOREVER, NULL));
    return userdata;
}
static void *write_for_ever(void *userdata) {
    int64_t n = 0;
    sem_post(&started);
    for (;;) {
        objstore_view *tx;
        objstore_object object;
        int i;
        OK(objstore_begin(shared.store, &tx));
        for (i = 0; i < 20; i++) {
            OK(objstore_create(tx, shared.id, NULL, NULL, 0, &object));
            OK(objstore_set(tx, object, shared.n, objstore_int(n++)));
        }
        OK(n % 40 ? objstore_cancel(tx) : objstore_commit(tx, NULL));
        pthread_testcancel();
    }
    return userdata;
}
static void *open_for_ever(void *userdata) {
    sem_post(&started);
    for (;;) {
        kennel other = open_kennel(userdata, 0, OBJSTORE_DURABILITY_RELAXED);
        add_dog(&other);
        OK(objstore_flush(other.store));
        OK(objstore_checkpoint(other.store));
        OK(objstore_close(other.store));
        pthread_testcancel();
    }
    return userdata;
}
/* Cancelled in its middle, it would leave what called it. */
static objstore_status sleepy(objstore_changes *changes, void *userdata) {
    (void)changes, (void)userdata;
    __atomic_add_fetch(&in_callback, 1, __ATOMIC_SEQ_CST);
    sem_post(&started);
    usleep(100);
    __atomic_add_fetch(&after_callback, 1, __ATOMIC_SEQ_CST);
    return OBJSTORE_OK;
}

static void cancelled(void *(*body)(void *), void *userdata, unsigned spins) {
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, body, userdata) == 0);
    sem_wait(&started);
    while (spins--) __asm__ __volatile__("");
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
}

static void cancel(const char *folder) {
    char path[300], other[300];
    int round;
    objstore_token *token;
    sem_init(&started, 0, 0);
    snprintf(path, sizeof path, "%s/cancelled.objstore", folder);
    snprintf(other, sizeof other, "%s/other.objstore", folder);
    srand(1);
    for (round = 0; round < 3000; round++) {
        if (round % 300 == 0)
            shared = open_kennel(path, 0, round % 600 ? OBJSTORE_DURABILITY_RELAXED : OBJSTORE_DURABILITY_FULL);
        if (round % 3 == 0) cancelled(wait_for_ever, NULL, rand() % 3000);
        if (round % 3 == 1) cancelled(write_for_ever, NULL, rand() % 300000);
        if (round % 30 == 2) cancelled(open_for_ever, other, rand() % 300000);
        if (round % 30 == 5) {
            OK(objstore_observe(shared.store, shared.id, 0, sleepy, NULL, NULL, &token));
            add_dog(&shared);
            /* Posted by the thread when it begins, and by the handler: cancelled before it, or inside. */
            cancelled(wait_for_ever, NULL, rand() % 100000);
            OK(objstore_token_close(token));
            while (sem_trywait(&started) == 0) {}
        }
        /* Nothing is held: others continue. */
        if (round % 10 == 9) add_dog(&shared);
        if (round % 300 == 299) OK(objstore_close(shared.store));
    }
    CHECK(in_callback == after_callback && in_callback > 0);
}

/* ---- small stacks ---------------------------------------------------------------------------------------- */

static char *nested(const char *begin, const char *middle, const char *end, int depth) {
    char *text = calloc(1, (size_t)depth * (strlen(begin) + strlen(end)) + strlen(middle) + 1), *next = text;
    int i;
    for (i = 0; i < depth; i++) next = stpcpy(next, begin);
    next = stpcpy(next, middle);
    for (i = 0; i < depth; i++) next = stpcpy(next, end);
    return text;
}

static objstore_status ignore(const char *bytes, size_t length, void *userdata) {
    (void)bytes;
    *(size_t *)userdata += length;
    return OBJSTORE_OK;
}

/* As deep as the limits allow, on a stack of `*userdata` bytes: it works, or says that the stack is too small for so
   much. */
static int refusals;
static void may_be_too_deep(objstore_status status) {
    CHECK(status == OBJSTORE_OK || status == OBJSTORE_ERR_OUT_OF_RANGE);
    if (status != OBJSTORE_OK) {
        CHECK(strstr(objstore_last_message(), "stack"));
        refusals++;
    }
}

/* A store of embedded objects in each other, by a link and as elements of a list in turn. */
static objstore *boxes;
static void open_boxes(void) {
    const objstore_text holder = OBJSTORE_STR("Holder"), box = OBJSTORE_STR("Box"), inner = OBJSTORE_STR("inner");
    objstore_schema *schema;
    objstore_config *config;
    OK(objstore_schema_new(&schema));
    OK(objstore_schema_add_class(schema, holder));
    OK(objstore_schema_add_class(schema, box));
    OK(objstore_schema_set_class_flags(schema, box, OBJSTORE_CLASS_EMBEDDED));
    OK(objstore_schema_add_property(schema, holder, OBJSTORE_STR("id"), OBJSTORE_KIND_INT,
        OBJSTORE_PROPERTY_PRIMARY_KEY | OBJSTORE_PROPERTY_GENERATED));
    OK(objstore_schema_add_link(schema, holder, inner, box, 0));
    OK(objstore_schema_add_link(schema, box, inner, box, 0));
    OK(objstore_schema_add_link_collection(
        schema, box, OBJSTORE_STR("boxes"), OBJSTORE_KIND_LIST, OBJSTORE_KIND_NULL, box, 0));
    OK(objstore_config_new(&config));
    OK(objstore_config_set_memory(config, OBJSTORE_STR("")));
    OK(objstore_config_set_schema(config, schema, 1));
    OK(objstore_open(config, &boxes));
    OK(objstore_config_close(config));
    OK(objstore_schema_close(schema));
}

/* Makes objects with more and more of them, and, the second time, changes others in place. */
static void embed_deep(void) {
    objstore_view *tx;
    objstore_class_id id;
    int pairs;
    OK(objstore_begin(boxes, &tx));
    OK(objstore_find_class(tx, OBJSTORE_STR("Holder"), &id));
    for (pairs = 8; pairs <= 64; pairs += 8) {
        char *new = nested("{\"inner\":{\"boxes\":[", "", "]}}", pairs), *old = malloc(strlen(new) + 20);
        CHECK(old);
        sprintf(old, "{\"id\":-%d,%s", pairs, new + 1);
        may_be_too_deep(objstore_create_from_json(
            tx, id, OBJSTORE_POLICY_MODIFIED, 0, objstore_cstr(new), NULL, NULL, NULL, NULL, NULL));
        may_be_too_deep(objstore_create_from_json(
            tx, id, OBJSTORE_POLICY_MODIFIED, 0, objstore_cstr(old), NULL, NULL, NULL, NULL, NULL));
        free(new), free(old);
    }
    OK(objstore_commit(tx, NULL));
}

static void *go_deep(void *userdata) {
    const char *folder = userdata;
    char path[300], second[300], third[300];
    kennel k;
    objstore_view *tx, *view;
    objstore_object object = {0, 0, 0}, last = {0, 0, 0};
    objstore_buffer buffer = objstore_buffer_init(), other = objstore_buffer_init();
    objstore_value value, values[200], deepest[101];
    objstore_results *results;
    objstore_query *query;
    char *json = nested("{\"next\":", "null", "}", 199), *list = nested("[", "1", "]", 100),
         *broken = nested("[", "", "", 199), *deeper = nested("!(", "n > 19000", ")", 101);
    /* Within one another nearly as far as may be; and a chain, which is not deep. */
    char *const conditions[] = {nested("!(", "n > 19000", ")", 96), nested("(n != 5 AND ", "n > 19000", ")", 90),
        nested("n < 0 OR ", "n > 19000", "", 5000)};
    size_t i, count, bytes = 0;
    int32_t order;
    uint64_t findings, found;

    snprintf(path, sizeof path, "%s/deep.objstore", folder);
    snprintf(second, sizeof second, "%s/deep-copy.objstore", folder);
    snprintf(third, sizeof third, "%s/deep-salvaged.objstore", folder);
    objstore_delete_files(objstore_cstr(path));
    objstore_delete_files(objstore_cstr(second));
    objstore_delete_files(objstore_cstr(third));
    embed_deep();
    k = open_kennel(path, 0, OBJSTORE_DURABILITY_FULL);
    OK(objstore_begin(k.store, &tx));
    may_be_too_deep(objstore_create_from_json(
        tx, k.id, OBJSTORE_POLICY_ERROR, 0, objstore_cstr(json), NULL, NULL, NULL, &object, NULL));
    CHECK(objstore_create_from_json(tx, k.id, OBJSTORE_POLICY_ERROR, 0, objstore_cstr(broken), NULL, NULL, NULL, NULL,
              NULL) == OBJSTORE_ERR_INVALID_JSON);
    /* A chain: each links to the one before. */
    for (i = 0; i < 20000; i++) {
        OK(objstore_create(tx, k.id, NULL, NULL, 0, &object));
        if (last.class_id) OK(objstore_set(tx, object, k.next, objstore_link(last)));
        OK(objstore_set(tx, object, k.n, objstore_int((int64_t)i)));
        last = object;
    }
    may_be_too_deep(objstore_value_from_json(objstore_cstr(list), 0, &other, &value));
    OK(objstore_set(tx, object, k.any, value));
    may_be_too_deep(objstore_to_json(tx, object, 100, 0, &buffer, NULL));
    may_be_too_deep(objstore_value_to_json(value, 0, &buffer, NULL));
    may_be_too_deep(objstore_describe(tx, object, 99, &buffer, values, 200, &count));
    may_be_too_deep(objstore_property_to_json(tx, object, k.any, NULL, 0, 100, 0, &buffer, NULL));
    OK(objstore_value_compare(value, value, &order));
    for (i = 0; i < 100; i++) deepest[i] = objstore_list_of(1);
    deepest[100] = objstore_int(1);
    OK(objstore_document_pack(deepest, 101, &buffer, &value));
    OK(objstore_document_unpack(value, values, 200, &count));
    CHECK(count == 101);
    for (i = 0; i < 100; i++) deepest[i] = objstore_int(0);
    OK(objstore_mixed_set(tx, object, k.any, deepest, 100, objstore_int(5)));
    OK(objstore_commit(tx, NULL));
    OK(objstore_view_open(k.store, &view));
    OK(find_dogs(&k, view, "n > 19000", &results));
    may_be_too_deep(objstore_results_to_json(results, 100, 0, ignore, &bytes, NULL));
    for (i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        objstore_text text;
        OK(objstore_query_parse(view, k.id, objstore_cstr(conditions[i]), NULL, 0, &query));
        OK(objstore_query_count(query, view, &found));
        CHECK(found == 999);
        OK(objstore_query_text(query, &buffer, &text));
        OK(objstore_query_close(query));
        free(conditions[i]);
    }
    CHECK(objstore_query_parse(view, k.id, objstore_cstr(deeper), NULL, 0, &query) == OBJSTORE_ERR_INVALID_QUERY);
    OK(objstore_verify(view, NULL, NULL, NULL, NULL, &findings));
    OK(objstore_copy(view, objstore_cstr(second), NULL, NULL, NULL));
    OK(objstore_begin(k.store, &tx));
    OK(objstore_delete(tx, object)); /* and all that it leads to */
    OK(objstore_commit(tx, NULL));
    OK(objstore_compact(k.store, NULL, NULL, NULL));
    OK(objstore_close(k.store));
    OK(objstore_verify_file(objstore_cstr(second), NULL, NULL, NULL, NULL, NULL));
    OK(objstore_salvage(objstore_cstr(second), objstore_cstr(third), NULL, NULL, NULL, NULL, NULL));
    objstore_buffer_free(&buffer), objstore_buffer_free(&other);
    free(json), free(list), free(broken), free(deeper);
    return NULL;
}

static void stack(const char *folder) {
    static const size_t sizes[] = {256, 320, 512, 1024, 8192};
    size_t i;
    open_boxes();
    embed_deep();
    CHECK(refusals == 0);
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pthread_attr_t attributes;
        pthread_t thread;
        refusals = 0;
        pthread_attr_init(&attributes);
        CHECK(pthread_attr_setstacksize(&attributes, sizes[i] << 10) == 0);
        CHECK(pthread_create(&thread, &attributes, go_deep, (void *)folder) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        printf("stack of %zu KiB: %d refusals\n", sizes[i], refusals);
        CHECK(sizes[i] < 1024 || refusals == 0);
    }
    OK(objstore_close(boxes));
}

/* ---- memory that runs out ------------------------------------------------------------------------------- */

static void limit_memory(size_t more) {
    char line[200];
    size_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    struct rlimit limit;
    while (fgets(line, sizeof line, file)) if (!strncmp(line, "VmSize:", 7)) kib = (size_t)atol(line + 7);
    fclose(file);
    CHECK(kib > 0);
    limit.rlim_cur = (kib << 10) + more;
    limit.rlim_max = RLIM_INFINITY;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}
static void unlimit_memory(void) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

enum {
    VIEWS,
    SCHEMAS,
    RESULTS,
    QUERIES,
    TOKENS,
    BOUND,
    OBJECTS,
    LISTS,
    OPENING,
    DOCUMENT,
    MANY,
    SCAN,
    TEXT,
    VALUES,
    LONG_TEXT,
    DELETED,
    MEMORY_CASES
};
enum { MOST = 4000000 };

static objstore_status nothing(objstore_view *tx, void *userdata) { (void)tx, (void)userdata; return OBJSTORE_OK; }
static objstore_status no_change(objstore_changes *changes, void *userdata) {
    (void)changes, (void)userdata;
    return OBJSTORE_OK;
}

/* Asks for more and more of one thing until it is refused; gives it back; and then it works again. */
static void run_out(int what) {
    kennel k = open_kennel(NULL, 0, OBJSTORE_DURABILITY_FULL);
    static void *made[MOST];
    size_t n = 0, i;
    objstore_status status = OBJSTORE_OK;
    objstore_view *view = NULL, *tx = NULL;
    objstore_object object, large = {0}, *many = NULL;
    char *json = NULL;
    add_dog(&k);
    if (what == MANY || what == SCAN || what == DELETED) {
        int64_t *keys = calloc(MOST, sizeof *keys);
        CHECK(keys);
        OK(objstore_begin(k.store, &tx));
        OK(objstore_insert_rows(tx, k.id, OBJSTORE_POLICY_ERROR, NULL, 0, 3500000, keys, NULL));
        if (what == DELETED) {
            OK(objstore_create(tx, k.id, NULL, NULL, 0, &object));
            CHECK(many = calloc(MOST, sizeof *many));
            for (i = 0; i < 3500000; i++) many[i] = object, many[i].key = keys[i];
        }
        free(keys);
        OK(objstore_commit(tx, NULL));
        tx = NULL;
    }
    if (what == TEXT) {
        /* 40 MB of text: each of these bytes is six. */
        size_t count = 1 << 20, j;
        objstore_value *values = calloc(count, sizeof *values), document;
        objstore_buffer buffer = objstore_buffer_init();
        CHECK(values);
        values[0] = objstore_list_of((int64_t)count - 1);
        for (j = 1; j < count; j++) values[j] = objstore_string(OBJSTORE_STR("\1\1\1\1\1\1"));
        OK(objstore_document_pack(values, count, &buffer, &document));
        OK(objstore_begin(k.store, &tx));
        OK(objstore_create(tx, k.id, &k.any, &document, 1, &large));
        OK(objstore_commit(tx, NULL));
        tx = NULL;
        objstore_buffer_free(&buffer);
        free(values);
    }
    if (what == VALUES || what == LONG_TEXT) {
        /* Two million numbers, which need 48 bytes each; a text of 24 MB that has to be copied. */
        size_t length = what == VALUES ? 4 << 20 : 24 << 20;
        CHECK(json = malloc(length + 5));
        memset(json + 1, '1', length);
        if (what == VALUES) for (i = 2; i < length; i += 2) json[i] = ',';
        memcpy(json, what == VALUES ? "[" : "\"", 1);
        memcpy(json + length + 1, what == VALUES ? "1]" : "\\n\"", what == VALUES ? 3 : 4);
        if (what == VALUES) json[length] = ',';
    }
    OK(objstore_view_open(k.store, &view));
    if (what == OBJECTS || what == LISTS || what == DELETED) OK(objstore_begin(k.store, &tx));
    if (what == LISTS) OK(objstore_create(tx, k.id, NULL, NULL, 0, &object));
    limit_memory(20 << 20);
    while (status == OBJSTORE_OK && n < MOST) {
        objstore_write_body function;
        objstore_value document;
        objstore_buffer buffer = objstore_buffer_init();
        made[n] = NULL;
        switch (what) {
        case VIEWS: status = objstore_view_open(k.store, (objstore_view **)&made[n]); break;
        case SCHEMAS:
            status = objstore_schema_new((objstore_schema **)&made[n]);
            if (status == OBJSTORE_OK) status = objstore_schema_add_class(made[n], OBJSTORE_STR("A"));
            break;
        case MANY:
        case RESULTS: status = find_dogs(&k, view, "", (objstore_results **)&made[n]); break;
        case SCAN: status = find_dogs(&k, view, "@self.any == NULL", (objstore_results **)&made[n]); break;
        case QUERIES:
            status = objstore_query_parse(
                view, k.id, OBJSTORE_STR("n > 1 AND @self.any == 'a' OR n IN {1, 2, 3} SORT(n DESC)"), NULL, 0,
                (objstore_query **)&made[n]);
            break;
        case TEXT: status = objstore_to_json(view, large, 0, 0, &buffer, NULL); break;
        case VALUES:
        case LONG_TEXT: status = objstore_value_from_json(objstore_cstr(json), 0, &buffer, &document); break;
        case TOKENS:
            status = objstore_observe(k.store, k.id, 0, no_change, NULL, NULL, (objstore_token **)&made[n]);
            break;
        case BOUND:
            status = objstore_bind_write_body(nothing, NULL, NULL, &function, (objstore_bound **)&made[n]);
            break;
        case DELETED: status = objstore_delete_objects(tx, many, 3500000); break;
        case OBJECTS:
            status = objstore_create(tx, k.id, &k.n, (objstore_value[]){objstore_int((int64_t)n)}, 1, &object);
            break;
        case LISTS: {
            char *text = nested("[", "1", "]", 90);
            status = objstore_value_from_json(objstore_cstr(text), 0, &buffer, &document);
            if (status == OBJSTORE_OK) status = objstore_create(tx, k.id, &k.any, &document, 1, &object);
            free(text);
            break;
        }
        case OPENING: {
            objstore_config *config;
            status = objstore_config_new(&config);
            if (status != OBJSTORE_OK) break;
            status = objstore_config_set_memory(config, OBJSTORE_STR(""));
            if (status == OBJSTORE_OK) status = objstore_open(config, (objstore **)&made[n]);
            objstore_config_close(config);
            break;
        }
        case DOCUMENT: {
            size_t count = (size_t)1 << (n < 20 ? n + 4 : 24);
            objstore_value *values = calloc(count, sizeof *values);
            if (!values) { status = OBJSTORE_ERR_OUT_OF_MEMORY; break; }
            values[0] = objstore_list_of((int64_t)count - 1);
            status = objstore_document_pack(values, count, &buffer, NULL);
            free(values);
            break;
        }
        }
        objstore_buffer_free(&buffer);
        n++;
    }
    if (status != OBJSTORE_ERR_OUT_OF_MEMORY && !(what == TOKENS && status == OBJSTORE_ERR_IO)) {
        fprintf(
            stderr, "case %d: %zu made, then %s: %s\n", what, n, objstore_status_name(status), objstore_last_message());
        _exit(1);
    }
    /* What is refused can be released. */
    for (i = 0; i < n; i++) {
        switch (what) {
        case VIEWS: OK(objstore_view_close(made[i])); break;
        case SCHEMAS: OK(objstore_schema_close(made[i])); break;
        case MANY:
        case SCAN:
        case RESULTS: OK(objstore_results_close(made[i])); break;
        case QUERIES: OK(objstore_query_close(made[i])); break;
        case TOKENS: OK(objstore_token_close(made[i])); break;
        case BOUND: OK(objstore_bound_close(made[i])); break;
        case OPENING: OK(objstore_close(made[i])); break;
        }
    }
    if (tx) OK(objstore_cancel(tx));
    unlimit_memory();
    free(many);
    if (json) {
        /* It was not the text's fault. */
        objstore_buffer buffer = objstore_buffer_init();
        objstore_value document;
        OK(objstore_value_from_json(objstore_cstr(json), 0, &buffer, &document));
        objstore_buffer_free(&buffer);
        free(json);
    }
    OK(objstore_view_close(view));
    add_dog(&k);
    OK(objstore_close(k.store));
    printf("memory, case %d: %zu, then a status\n", what, n);
}

/* Deletes three million objects, their index and what leads to them, with less memory than that takes: all or none. */
static void delete_all_within(size_t bytes) {
    enum { COUNT = 3000000 };
    kennel k = open_kennel(NULL, 0, OBJSTORE_DURABILITY_NONE);
    objstore_view *view, *tx;
    objstore_results *results;
    uint64_t deleted = 0, left = 0;
    objstore_status status;
    OK(objstore_begin(k.store, &tx));
    OK(objstore_insert_rows(tx, k.id, OBJSTORE_POLICY_ERROR, NULL, 0, COUNT, NULL, NULL));
    OK(objstore_commit(tx, NULL));
    OK(objstore_view_open(k.store, &view));
    OK(find_dogs(&k, view, "", &results));
    OK(objstore_begin(k.store, &tx));
    limit_memory(bytes);
    status = objstore_results_delete(results, tx, &deleted);
    printf("memory, deleted within %zu MiB: %s\n", bytes >> 20, objstore_status_name(status));
    CHECK(status == OBJSTORE_OK ? deleted == COUNT : status == OBJSTORE_ERR_OUT_OF_MEMORY);
    OK(objstore_cancel(tx));
    unlimit_memory();
    OK(objstore_begin(k.store, &tx));
    OK(objstore_count(tx, k.id, &left));
    CHECK(left == COUNT);
    OK(objstore_results_delete(results, tx, &deleted));
    CHECK(deleted == COUNT);
    OK(objstore_commit(tx, NULL));
    OK(objstore_results_close(results));
    OK(objstore_view_close(view));
    OK(objstore_close(k.store));
}

/* One thread keeps views and results until there is no memory, and keeps requesting more; another one writes. Neither
 * is refused otherwise, and what one of them needs to end a call is not what the other one begins with. */
enum { REFUSED = 20000 };
static kennel narrow;
static uint64_t calls_refused[2];
static bool both_refused(int which, objstore_status status) {
    CHECK(status == OBJSTORE_OK || status == OBJSTORE_ERR_OUT_OF_MEMORY);
    if (status != OBJSTORE_OK) __atomic_fetch_add(&calls_refused[which], 1, __ATOMIC_RELAXED);
    return __atomic_load_n(&calls_refused[0], __ATOMIC_RELAXED) >= REFUSED &&
           __atomic_load_n(&calls_refused[1], __ATOMIC_RELAXED) >= REFUSED / 10;
}
static void *keep_views(void *ready) {
    objstore_view *view;
    objstore_results *results;
    objstore_status status = OBJSTORE_OK;
    objstore_last_message();
    sem_post(ready);
    while (!both_refused(0, status))
        if ((status = objstore_view_open(narrow.store, &view)) == OBJSTORE_OK)
            status = find_dogs(&narrow, view, "", &results);
    return NULL;
}
static void *write_dogs(void *ready) {
    const objstore_text some = OBJSTORE_STR("[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]");
    objstore_view *tx;
    objstore_status status = OBJSTORE_OK;
    int i;
    objstore_last_message();
    sem_post(ready);
    while (!both_refused(1, status)) {
        if ((status = objstore_begin(narrow.store, &tx)) != OBJSTORE_OK) continue;
        for (i = 0; i < 4 && status == OBJSTORE_OK; i++)
            status =
                objstore_create_all_from_json(tx, narrow.id, OBJSTORE_POLICY_ERROR, 0, some, NULL, NULL, NULL, NULL);
        if (status == OBJSTORE_OK) status = objstore_commit(tx, NULL); else OK(objstore_cancel(tx));
    }
    return NULL;
}
static void run_out_of_it_together(void) {
    pthread_t threads[2];
    sem_t ready;
    narrow = open_kennel(NULL, 0, OBJSTORE_DURABILITY_NONE);
    CHECK(sem_init(&ready, 0, 0) == 0);
    CHECK(pthread_create(&threads[0], NULL, keep_views, &ready) == 0 &&
          pthread_create(&threads[1], NULL, write_dogs, &ready) == 0);
    CHECK(sem_wait(&ready) == 0 && sem_wait(&ready) == 0);
    limit_memory((size_t)24 << 20);
    CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
    unlimit_memory();
    add_dog(&narrow);
    OK(objstore_close(narrow.store));
    printf("memory, two threads: statuses\n");
}

static void memory(void) {
    enum { DELETIONS = 4 };
    int what;
    for (what = 0; what <= MEMORY_CASES + DELETIONS; what++) {
        int status;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(600);
            if (what < MEMORY_CASES) run_out(what);
            else if (what == MEMORY_CASES + DELETIONS) run_out_of_it_together();
            else delete_all_within((size_t)(16 + 24 * (what - MEMORY_CASES)) << 20);
            fflush(stdout);
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            fprintf(stderr, "memory, case %d: ended with %s %d\n", what, WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            _exit(1);
        }
    }
}

/* ---- fork inside of callbacks --------------------------------------------------------------------------- */

static pid_t forked;
static void fork_now(void) { forked = fork(); CHECK(forked >= 0); }

static objstore_status fork_body(objstore_view *tx, void *userdata) {
    kennel *k = userdata;
    OK(objstore_create(tx, k->id, NULL, NULL, 0, NULL));
    fork_now();
    return OBJSTORE_OK;
}
static objstore_status fork_handler(objstore_changes *changes, void *userdata) {
    (void)changes, (void)userdata;
    fork_now();
    return OBJSTORE_OK;
}
static objstore_status fork_typed(int64_t key, void *userdata) {
    (void)key, (void)userdata;
    fork_now();
    return OBJSTORE_OK;
}
static objstore_status fork_progress(uint64_t done, uint64_t total, void *userdata) {
    (void)done, (void)total;
    if (!*(int *)userdata) { *(int *)userdata = 1; fork_now(); }
    return OBJSTORE_OK;
}
static objstore_status fork_write(const char *bytes, size_t length, void *userdata) {
    (void)bytes, (void)length, (void)userdata;
    fork_now();
    return OBJSTORE_OK;
}
static objstore_status fork_read(void *bytes, size_t capacity, size_t *count, void *userdata) {
    (void)capacity;
    if (*(int *)userdata) { *count = 0; return OBJSTORE_OK; }
    *(int *)userdata = 1;
    memcpy(bytes, "[{\"n\": 1}]", *count = 10);
    fork_now();
    return OBJSTORE_OK;
}
static objstore_status fork_initial(objstore *store, objstore_view *tx, void *userdata) {
    (void)store, (void)tx, (void)userdata;
    fork_now();
    return OBJSTORE_OK;
}

static objstore_status fork_migration(
    objstore *store, objstore_view *tx, objstore_view *old, uint64_t from, uint64_t to, void *userdata) {
    (void)store, (void)tx, (void)old, (void)from, (void)to, (void)userdata;
    fork_now();
    return OBJSTORE_OK;
}

static objstore_status fork_on_worker(objstore_changes *changes, void *userdata) {
    (void)changes;
    if (!forked) {
        fork_now();
        if (forked) sem_post(userdata);
    }
    return OBJSTORE_OK;
}

/* In the child FORKED, and it can continue with stores of its own; in the parent OK. */
static void check_forked(objstore_status status, const char *what) {
    int result;
    if (forked == 0) {
        kennel k;
        CHECK(status == OBJSTORE_ERR_FORKED);
        k = open_kennel(NULL, 0, OBJSTORE_DURABILITY_FULL);
        add_dog(&k);
        OK(objstore_close(k.store));
        _exit(0);
    }
    if (status != OBJSTORE_OK)
        fprintf(stderr, "%s: parent %s: %s\n", what, objstore_status_name(status), objstore_last_message());
    CHECK(status == OBJSTORE_OK);
    CHECK(waitpid(forked, &result, 0) == forked);
    if (!WIFEXITED(result) || WEXITSTATUS(result) != 0) fprintf(stderr, "%s: the child failed (%x)\n", what, result);
    CHECK(WIFEXITED(result) && WEXITSTATUS(result) == 0);
}

static int freed;
static void count_free(void *userdata) { (void)userdata; freed++; }

static void fork_everywhere(const char *folder) {
    char path[300], copy[300];
    kennel k;
    objstore_token *token;
    objstore_view *view, *tx;
    objstore_results *results;
    objstore_schema *schema;
    objstore_config *config;
    objstore *store;
    uint64_t count;
    int once = 0, result;
    size_t delivered;
    snprintf(path, sizeof path, "%s/forked.objstore", folder);
    snprintf(copy, sizeof copy, "%s/forked-copy.objstore", folder);
    k = open_kennel(path, 0, OBJSTORE_DURABILITY_FULL);

    check_forked(objstore_write(k.store, fork_body, &k, NULL), "body");
    OK(objstore_observe(k.store, k.id, 0, fork_handler, NULL, NULL, &token));
    add_dog(&k);
    check_forked(objstore_deliver(k.store, &delivered), "handler");
    add_dog(&k);
    check_forked(objstore_wait(k.store, OBJSTORE_FOREVER, NULL), "handler in wait");
    OK(objstore_token_close(token));
    OK(objstore_observe_typed(
        k.store, k.id, NULL, 0, OBJSTORE_STR("key -> status"), (objstore_function)fork_typed, NULL, NULL, &token));
    add_dog(&k);
    check_forked(objstore_deliver(k.store, NULL), "typed handler");
    OK(objstore_token_close(token));
    OK(objstore_view_open(k.store, &view));
    check_forked(objstore_copy(view, objstore_cstr(copy), fork_progress, &once, NULL), "copy");
    once = 0;
    check_forked(objstore_verify(view, fork_progress, &once, NULL, NULL, NULL), "verify");
    once = 0;
    check_forked(objstore_verify_file(objstore_cstr(copy), fork_progress, NULL, &once, NULL, NULL), "verify_file");
    OK(find_dogs(&k, view, "", &results));
    check_forked(objstore_results_to_json(results, 0, 0, fork_write, NULL, NULL), "results_to_json");
    once = 0;
    OK(objstore_begin(k.store, &tx));
    check_forked(
        objstore_create_all_from_json_stream(tx, k.id, OBJSTORE_POLICY_ERROR, 0, fork_read, NULL, &once, NULL, &count),
        "stream");
    CHECK(count == 1);
    OK(objstore_commit(tx, NULL));

    /* The worker's child is that thread alone, which ends it. */
    {
        sem_t has_forked;
        kennel w;
        snprintf(copy, sizeof copy, "%s/forked-worker.objstore", folder);
        w = open_kennel(copy, OBJSTORE_CONFIG_DELIVER_ON_WORKER, OBJSTORE_DURABILITY_FULL);
        forked = 0;
        sem_init(&has_forked, 0, 0);
        OK(objstore_observe(w.store, w.id, OBJSTORE_OBSERVE_INITIAL, fork_on_worker, &has_forked, NULL, &token));
        sem_wait(&has_forked);
        CHECK(waitpid(forked, &result, 0) == forked);
        CHECK(WIFEXITED(result) && WEXITSTATUS(result) == 0);
        OK(objstore_close(w.store));
    }

    /* Schemas and configurations are the child's own, also while it is a callback that forks. */
    schema = make_schema();
    OK(objstore_config_new(&config));
    OK(objstore_config_set_memory(config, OBJSTORE_STR("")));
    OK(objstore_config_set_schema(config, schema, 1));
    OK(objstore_config_set_initial_data(config, fork_initial, NULL, count_free));
    check_forked(objstore_open(config, &store), "initial data");
    OK(objstore_close(store));
    OK(objstore_config_set_initial_data(config, NULL, NULL, NULL));
    CHECK(freed == 1);
    OK(objstore_config_set_initial_data(config, fork_initial, NULL, count_free));
    fork_now();
    if (forked == 0) {
        OK(objstore_schema_add_class(schema, OBJSTORE_STR("Cat")));
        OK(objstore_config_set_initial_data(config, NULL, NULL, NULL));
        CHECK(freed == 2);
        OK(objstore_config_set_schema(config, schema, 2));
        OK(objstore_open(config, &store));
        OK(objstore_close(store));
        OK(objstore_config_close(config));
        OK(objstore_schema_close(schema));
        CHECK(objstore_schema_close(schema) == OBJSTORE_ERR_CLOSED_HANDLE);
        CHECK(objstore_get_info(k.store, NULL) != OBJSTORE_OK);
        CHECK(objstore_view_version(view, &count) == OBJSTORE_ERR_FORKED);
        OK(objstore_view_close(view));
        OK(objstore_close(k.store));
        _exit(0);
    }
    CHECK(waitpid(forked, &result, 0) == forked);
    CHECK(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    CHECK(freed == 1);

    /* The same of a file, and a migration: that of the child ends there. */
    snprintf(copy, sizeof copy, "%s/forked-new.objstore", folder);
    OK(objstore_config_set_path(config, objstore_cstr(copy)));
    check_forked(objstore_open(config, &store), "initial data of a file");
    OK(objstore_close(store));
    OK(objstore_schema_add_property(schema, OBJSTORE_STR("Dog"), OBJSTORE_STR("more"), OBJSTORE_KIND_INT, 0));
    OK(objstore_config_set_schema(config, schema, 2));
    OK(objstore_config_set_migration(config, fork_migration, NULL, NULL));
    check_forked(objstore_open(config, &store), "migration");
    OK(objstore_close(store));
    OK(objstore_config_close(config));
    OK(objstore_schema_close(schema));
    OK(objstore_count(view, k.id, &count));
    OK(objstore_close(k.store));
}

/* ---- a text that is read in pieces, while the same transaction is used ------------------------------------ */

typedef struct {
    kennel *k;
    objstore_view *tx;
    objstore_savepoint savepoint;
    const char *last;
    sem_t is_waiting, goes_on;
    int step;
} reading;

static objstore_status read_in_pieces(void *bytes, size_t capacity, size_t *count, void *userdata) {
    reading *r = userdata;
    const char *pieces[] = {"[{\"n\": 1},", r->last, ""};
    (void)capacity;
    if (r->step == 1) {
        objstore_savepoint own;
        CHECK(objstore_savepoint_rollback(r->tx, r->savepoint) == OBJSTORE_ERR_IN_CALLBACK);
        CHECK(objstore_savepoint_release(r->tx, r->savepoint) == OBJSTORE_ERR_IN_CALLBACK);
        OK(objstore_savepoint_begin(r->tx, &own));
        OK(objstore_create(r->tx, r->k->id, NULL, NULL, 0, NULL));
        OK(objstore_savepoint_rollback(r->tx, own));
        /* The class that was written last is not forgotten: the other thread has to wait all the same. */
        OK(objstore_create(r->tx, r->k->id, NULL, NULL, 0, NULL));
        sem_post(&r->is_waiting);
        /* The other thread has no way to say that it waits: the requirement is that what it does stays, whenever it
           comes. */
        sem_wait(&r->goes_on);
    }
    *count = strlen(pieces[r->step]);
    memcpy(bytes, pieces[r->step++], *count);
    return OBJSTORE_OK;
}

static void *create_beside(void *userdata) {
    reading *r = userdata;
    sem_wait(&r->is_waiting);
    sem_post(&r->goes_on);
    OK(objstore_create(r->tx, r->k->id, NULL, NULL, 0, NULL));
    return NULL;
}

static void stream(void) {
    int round;
    for (round = 0; round < 400; round++) {
        kennel k = open_kennel(NULL, 0, OBJSTORE_DURABILITY_FULL);
        const int is_wrong = round & 1;
        reading r = {.k = &k, .last = is_wrong ? "{\"n\": \"none\"}]" : "{\"n\": 2}]"};
        pthread_t thread;
        uint64_t count;
        sem_init(&r.is_waiting, 0, 0);
        sem_init(&r.goes_on, 0, 0);
        OK(objstore_begin(k.store, &r.tx));
        OK(objstore_savepoint_begin(r.tx, &r.savepoint));
        CHECK(pthread_create(&thread, NULL, create_beside, &r) == 0);
        CHECK(objstore_create_all_from_json_stream(r.tx, k.id, OBJSTORE_POLICY_ERROR, 0, read_in_pieces, NULL, &r, NULL,
                  NULL) == (is_wrong ? OBJSTORE_ERR_WRONG_TYPE : OBJSTORE_OK));
        CHECK(pthread_join(thread, NULL) == 0);
        OK(objstore_savepoint_release(r.tx, r.savepoint));
        OK(objstore_count(r.tx, k.id, &count));
        CHECK(count == (is_wrong ? 1u : 4u));
        OK(objstore_commit(r.tx, NULL));
        OK(objstore_close(k.store));
    }
}

/* ---- closing while others are at work --------------------------------------------------------------------- */

static sem_t in_body, out_of_close;

static objstore_status long_body(objstore_view *tx, void *userdata) {
    kennel *k = userdata;
    objstore_info info = {0};
    objstore_results *results;
    info.struct_size = sizeof info;
    sem_post(&in_body);
    /* Until the handle is being closed. */
    while (objstore_get_info(k->store, &info) == OBJSTORE_OK) {}
    OK(objstore_create(tx, k->id, NULL, NULL, 0, NULL));
    OK(find_dogs(k, tx, "", &results));
    OK(objstore_results_close(results));
    return OBJSTORE_OK;
}
static void *close_it(void *userdata) {
    kennel *k = userdata;
    sem_wait(&in_body);
    OK(objstore_close(k->store));
    sem_post(&out_of_close);
    return NULL;
}
static objstore_status long_handler(objstore_changes *changes, void *userdata) {
    kennel *k = userdata;
    objstore_info info = {0};
    objstore_changes_info all = {0};
    objstore_view *view;
    info.struct_size = sizeof info;
    all.struct_size = sizeof all;
    sem_post(&in_body);
    while (objstore_get_info(k->store, &info) == OBJSTORE_OK) {}
    OK(objstore_changes_get_info(changes, &all));
    OK(objstore_changes_view(changes, OBJSTORE_AFTER, &view));
    return OBJSTORE_OK;
}

static void close_at_work(const char *folder) {
    char path[300];
    pthread_t thread;
    int round;
    sem_init(&in_body, 0, 0), sem_init(&out_of_close, 0, 0);
    snprintf(path, sizeof path, "%s/closed.objstore", folder);
    for (round = 1; round <= 50; round++) {
        kennel k = open_kennel(path, 0, OBJSTORE_DURABILITY_FULL);
        objstore_view *view, *tx;
        objstore_token *token;
        uint64_t count;
        CHECK(pthread_create(&thread, NULL, close_it, &k) == 0);
        OK(objstore_write(k.store, long_body, &k, NULL)); /* in progress: it ends first, and is there */
        sem_wait(&out_of_close);
        pthread_join(thread, NULL);

        k = open_kennel(path, 0, OBJSTORE_DURABILITY_FULL);
        OK(objstore_view_open(k.store, &view));
        OK(objstore_count(view, k.id, &count));
        CHECK(count == (uint64_t)round);
        OK(objstore_observe(k.store, k.id, OBJSTORE_OBSERVE_INITIAL, long_handler, &k, NULL, &token));
        CHECK(pthread_create(&thread, NULL, close_it, &k) == 0);
        OK(objstore_deliver(k.store, NULL));
        sem_wait(&out_of_close);
        pthread_join(thread, NULL);

        /* A transaction between two calls is none in progress: it is cancelled. */
        k = open_kennel(path, 0, OBJSTORE_DURABILITY_FULL);
        OK(objstore_begin(k.store, &tx));
        OK(objstore_create(tx, k.id, NULL, NULL, 0, NULL));
        OK(objstore_close(k.store));
        CHECK(objstore_commit(tx, NULL) == OBJSTORE_ERR_CLOSED_HANDLE);
    }
}

/* ---- a limit of the size of files ------------------------------------------------------------------------ */

static void limit(const char *folder) {
    char path[300];
    kennel k;
    objstore_status status = OBJSTORE_OK;
    struct rlimit size = {2 << 20, RLIM_INFINITY};
    objstore_view *tx, *view;
    objstore_value list[20001], document;
    objstore_buffer buffer = objstore_buffer_init();
    uint64_t count, after, findings;
    int i, written = 0;
    for (i = 1; i <= 20000; i++) list[i] = objstore_int(i * 1000003LL);
    list[0] = objstore_list_of(20000);
    OK(objstore_document_pack(list, 20001, &buffer, &document));
    snprintf(path, sizeof path, "%s/limited.objstore", folder);
    k = open_kennel(path, 0, OBJSTORE_DURABILITY_FULL);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &size) == 0);
    for (; status == OBJSTORE_OK; written++) {
        OK(objstore_begin(k.store, &tx));
        status = objstore_create(tx, k.id, &k.any, &document, 1, NULL);
        if (status == OBJSTORE_OK) status = objstore_commit(tx, NULL); else OK(objstore_cancel(tx));
    }
    CHECK(status == OBJSTORE_ERR_OUT_OF_SPACE);
    size.rlim_cur = RLIM_INFINITY;
    CHECK(setrlimit(RLIMIT_FSIZE, &size) == 0);
    OK(objstore_view_open(k.store, &view));
    OK(objstore_count(view, k.id, &count));
    CHECK(count == (uint64_t)written - 1);
    add_dog(&k);
    OK(objstore_view_refresh(view, NULL));
    OK(objstore_count(view, k.id, &after));
    CHECK(after == count + 1);
    OK(objstore_verify(view, NULL, NULL, NULL, NULL, &findings));
    OK(objstore_close(k.store));
    OK(objstore_buffer_free(&buffer));
}

/* A umask that takes needed access from the owner: no store is made, and nothing else is left there. One that there is
   needs none of it. */
static void masked(const char *folder) {
    const mode_t masks[] = {0200, 0400, 0277, 0777};
    char path[300], name[330];
    kennel k;
    unsigned i;
    DIR *entries;
    int names = 0;
    CHECK(chmod(folder, 0711) == 0);
    snprintf(path, sizeof path, "%s/masked", folder);
    CHECK(mkdir(path, 0777) == 0 && chmod(path, 0777) == 0);
    /* Root may open everything. */
    if (geteuid() == 0) CHECK(setgroups(0, NULL) == 0 && setgid(3001) == 0 && setuid(3001) == 0);
    snprintf(name, sizeof name, "%s/store", path);
    for (i = 0; i < sizeof masks / sizeof *masks; i++) {
        objstore_config *config;
        objstore *store;
        umask(masks[i]);
        OK(objstore_config_new(&config));
        OK(objstore_config_set_path(config, objstore_cstr(name)));
        CHECK(objstore_open(config, &store) == OBJSTORE_ERR_IO && strstr(objstore_last_message(), "umask"));
        OK(objstore_config_close(config));
    }
    entries = opendir(path);
    CHECK(entries);
    while (readdir(entries)) names++;
    closedir(entries);
    CHECK(names == 2);
    umask(022);
    k = open_kennel(name, 0, OBJSTORE_DURABILITY_FULL);
    OK(objstore_close(k.store));
    umask(0777);
    for (i = 0; i < 2; i++) {
        objstore_view *view;
        k = open_kennel(name, 0, OBJSTORE_DURABILITY_FULL);
        add_dog(&k);
        OK(objstore_view_open(k.store, &view));
        if (i == 0) OK(objstore_copy(view, objstore_cstr(strcat(strcpy(path, name), ".copy")), NULL, NULL, NULL));
        OK(objstore_close(k.store));
    }
    k = open_kennel(path, 0, OBJSTORE_DURABILITY_FULL);
    add_dog(&k);
    OK(objstore_close(k.store));
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[1] : "", *folder = argc > 2 ? argv[2] : "";
    alarm(1800); /* only where something hangs: with several times its load a machine takes minutes */
    if (!strcmp(what, "worker")) worker();
    else if (!strcmp(what, "cancel")) cancel(folder);
    else if (!strcmp(what, "stack")) stack(folder);
    else if (!strcmp(what, "memory")) memory();
    else if (!strcmp(what, "fork")) fork_everywhere(folder);
    else if (!strcmp(what, "close")) close_at_work(folder);
    else if (!strcmp(what, "limit")) limit(folder);
    else if (!strcmp(what, "masked")) masked(folder);
    else if (!strcmp(what, "stream")) stream();
    else return 2;
    printf("%s: as the header says\n", what);
    return 0;
}
