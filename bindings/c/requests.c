/* A task of an event loop edits a list that it shows. It asks for a transaction, sleeps until it is its turn, makes its
 * change over several turns of the loop, and asks how the commit went; it never waits. Its own observer is not told of
 * what it shows already, but of what others write, at positions that are right for its list.
 *
 *      cc requests.c -lobjstore && ./a.out /tmp/notes.objstore
 *
 *      shown: bread, milk, salt
 *      asked for a transaction
 *      bread is done: shown: milk, salt
 *      durable
 *      told by another: 0 gone, 1 come: shown: milk, salt, tea
 */
#define _GNU_SOURCE
#include <objstore.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void check(objstore_status status) {
    if (status == OBJSTORE_OK) return;
    fprintf(stderr, "%s: %s\n", objstore_status_name(status), objstore_last_message());
    exit(1);
}

enum { TEXT, NOTE_PROPERTIES, MOST = 16, LONGEST = 32 };
static const objstore_property_row note_rows[NOTE_PROPERTIES] = {
    [TEXT] = {.name = "text", .kind = OBJSTORE_KIND_STRING},
};
static objstore_class_id note;
static objstore_property_id p[NOTE_PROPERTIES];

/* What is on the screen: a copy, with the objects that its rows stand for. */
static struct row {
    objstore_object object;
    char text[LONGEST];
} shown[MOST];
static size_t shown_count;

static void print_shown(void) {
    size_t i;
    printf("shown: ");
    for (i = 0; i < shown_count; i++) printf("%s%s", i == 0 ? "" : ", ", shown[i].text);
    printf("\n");
}

static void remove_row(size_t position) {
    shown_count--;
    memmove(&shown[position], &shown[position + 1], (shown_count - position) * sizeof shown[0]);
}

static objstore_status insert_row(objstore_view *view, objstore_object object, size_t position) {
    objstore_value text;
    objstore_buffer buffer = {0};
    objstore_status status;
    if (shown_count == MOST || position > shown_count) return OBJSTORE_ERR_OUT_OF_RANGE;
    status = objstore_get(view, object, p[TEXT], &buffer, &text);
    if (status != OBJSTORE_OK) return status;
    memmove(&shown[position + 1], &shown[position], (shown_count - position) * sizeof shown[0]);
    shown[position].object = object;
    snprintf(shown[position].text, LONGEST, "%.*s", (int)text.data.text.length, text.data.text.bytes);
    shown_count++;
    return objstore_buffer_free(&buffer);
}

/* Brings the copy from the version that it shows to the next: deletions from the back, insertions from the front. */
static objstore_status changed(objstore_changes *changes, void *userdata) {
    const objstore_object *objects;
    const uint64_t *positions;
    objstore_view *after;
    objstore_changes_info info = {.struct_size = sizeof info};
    size_t count, i;
    objstore_status status = objstore_changes_get_info(changes, &info);
    if (status != OBJSTORE_OK || (info.flags & OBJSTORE_CHANGES_INITIAL)) return status;

    status = objstore_changes_list(changes, OBJSTORE_DELETIONS, &objects, &positions, &count);
    if (status != OBJSTORE_OK) return status;
    for (i = count; i > 0; i--) remove_row((size_t)positions[i - 1]);

    status = objstore_changes_list(changes, OBJSTORE_INSERTIONS, &objects, &positions, &count);
    if (status == OBJSTORE_OK) status = objstore_changes_view(changes, OBJSTORE_AFTER, &after);
    for (i = 0; status == OBJSTORE_OK && i < count; i++)
        status = insert_row(after, objects[i], (size_t)positions[i]);
    if (status != OBJSTORE_OK) return status;

    printf("told by another: %d gone, %d come: ", (int)info.deletion_count, (int)info.insertion_count);
    print_shown();
    *(int *)userdata = 1;
    return OBJSTORE_OK;
}

/* Called on a thread of the library: it wakes the loop, and does nothing else. */
static void wake(void *userdata, objstore_async_id id) {
    (void)id;
    eventfd_write(*(int *)userdata, 1);
}

static void add(objstore *store, const char *text) {
    objstore_view *transaction;
    objstore_value value = objstore_string(objstore_cstr(text));
    check(objstore_begin(store, &transaction));
    check(objstore_create(transaction, note, p, &value, 1, NULL));
    check(objstore_commit(transaction, NULL));
}

int main(int count, char **arguments) {
    objstore_schema *schema;
    objstore_config *config;
    objstore *store, *other;
    objstore_view *view, *transaction = NULL;
    objstore_token *token;
    objstore_async_id id;
    objstore_query *all;
    objstore_results *found;
    int32_t due;
    uint64_t version, notes, i;
    int woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), was_told = 0;
    enum { WAITS_FOR_TURN, WAITS_FOR_COMMIT, DONE } state = WAITS_FOR_TURN;

    if (count != 2 || woken < 0) return 2;
    check(objstore_schema_new(&schema));
    check(objstore_schema_add_rows(schema, OBJSTORE_STR("Note"), 0, note_rows, NOTE_PROPERTIES));
    check(objstore_config_new(&config));
    check(objstore_config_set_path(config, objstore_cstr(arguments[1])));
    check(objstore_config_set_schema(config, schema, 1));
    check(objstore_open(config, &store));
    check(objstore_open(config, &other)); /* as another thread or process would */
    check(objstore_view_open(store, &view));
    check(objstore_find_rows(view, OBJSTORE_STR("Note"), note_rows, NOTE_PROPERTIES, &note, p));
    check(objstore_count(view, note, &notes));
    if (notes == 0) {
        add(store, "bread");
        add(store, "milk");
        add(store, "salt");
    }
    check(objstore_view_refresh(view, NULL));
    check(objstore_query_new(view, note, NULL, 0, &all));
    check(objstore_query_find(all, view, &found));
    check(objstore_query_close(all));
    check(objstore_results_count(found, &notes));
    for (i = 0; i < notes; i++) {
        objstore_object object;
        check(objstore_results_at(found, i, &object));
        check(insert_row(view, object, (size_t)i));
    }
    print_shown();
    check(objstore_results_observe(found, 0, changed, &was_told, NULL, &token));

    /* Alone: a transaction of which some observers are not told is shared with no other write. */
    check(objstore_request_begin(store, OBJSTORE_ASYNC_ALONE, wake, &woken, &id));
    printf("asked for a transaction\n");

    check(objstore_notify_fd(store, &due));
    while (state != DONE || !was_told) {
        struct pollfd waited[2] = {{.fd = woken, .events = POLLIN}, {.fd = due, .events = POLLIN}};
        eventfd_t times;
        objstore_status status;
        if (poll(waited, 2, -1) < 0) return 1;
        if (waited[1].revents) check(objstore_deliver(store, NULL));
        if (!waited[0].revents) continue;
        eventfd_read(woken, &times);

        if (state == WAITS_FOR_TURN) {
            status = objstore_claim_begin(store, id, &transaction);
            if (status == OBJSTORE_ERR_BUSY) continue; /* another went first: it wakes us again */
            check(status);
            /* The transaction stays open over as many turns of the loop as it takes. */
            check(objstore_delete(transaction, shown[0].object));
            printf("%s is done: ", shown[0].text);
            remove_row(0);
            print_shown();
            check(objstore_without_notifying(transaction, (objstore_token *const[]){token}, 1));
            check(objstore_request_commit(transaction, 0, wake, &woken, &id));
            state = WAITS_FOR_COMMIT;
        } else if (state == WAITS_FOR_COMMIT) {
            status = objstore_claim_commit(store, id, &version);
            if (status == OBJSTORE_ERR_BUSY) continue;
            check(status);
            printf("durable\n");
            state = DONE;
            add(other, "tea");
        }
    }

    check(objstore_token_close(token));
    check(objstore_close(other));
    check(objstore_close(store));
    check(objstore_config_close(config));
    close(woken);
    return objstore_schema_close(schema);
}
