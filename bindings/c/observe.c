/* Prints what other programs change in a class, until it is interrupted.
 *
 *      observe atlas.objstore City name
 *
 * The cost of a change set follows what changed: it may watch millions of objects. It sleeps between commits.
 */
#include <inttypes.h>
#include <objstore.h>
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t stopped;
static void stop(int signal_number) {
    (void)signal_number;
    stopped = 1;
}

static int failed(objstore_status status, const char *what) {
    if (status == OBJSTORE_OK) return 0;
    fprintf(stderr, "%s: %s: %s\n", what, objstore_status_name(status), objstore_last_message());
    return 1;
}

/* One line for each object of a list; the views of a change set are frozen, so text is borrowed, not copied. */
static objstore_status print_list(objstore_changes *changes, objstore_change which, objstore_side side, char sign,
                                  objstore_property_id name) {
    const objstore_object *objects;
    objstore_view *view;
    size_t count, i;
    objstore_status status = objstore_changes_list(changes, which, &objects, NULL, &count);
    if (status == OBJSTORE_OK) status = objstore_changes_view(changes, side, &view);
    for (i = 0; status == OBJSTORE_OK && i < count && i < 10; i++) {
        objstore_value value;
        status = objstore_get(view, objects[i], name, NULL, &value);
        if (status == OBJSTORE_OK && value.kind == OBJSTORE_KIND_STRING)
            printf("  %c %.*s\n", sign, (int)value.data.text.length, value.data.text.bytes);
    }
    if (status == OBJSTORE_OK && count > 10) printf("  %c … and %zu more\n", sign, count - 10);
    return status;
}

static objstore_status changed(objstore_changes *changes, void *userdata) {
    const objstore_property_id name = *(const objstore_property_id *)userdata;
    objstore_changes_info info;
    objstore_status status;

    info.struct_size = sizeof info;
    status = objstore_changes_get_info(changes, &info);
    if (status != OBJSTORE_OK) return status;
    if (info.flags & OBJSTORE_CHANGES_INITIAL) {
        printf("watching from version %" PRIu64 "\n", info.to_version);
        fflush(stdout);
        return OBJSTORE_OK;
    }
    printf("version %" PRIu64 " to %" PRIu64 "%s: %" PRIu64 " deleted, %" PRIu64 " inserted, %" PRIu64 " modified\n",
           info.from_version, info.to_version, info.flags & OBJSTORE_CHANGES_OTHER_PROCESS ? " (another process)" : "",
           info.deletion_count, info.insertion_count, info.modification_count);
    status = print_list(changes, OBJSTORE_DELETIONS, OBJSTORE_BEFORE, '-', name);
    if (status == OBJSTORE_OK) status = print_list(changes, OBJSTORE_INSERTIONS, OBJSTORE_AFTER, '+', name);
    if (status == OBJSTORE_OK) status = print_list(changes, OBJSTORE_MODIFICATIONS, OBJSTORE_AFTER, '*', name);
    fflush(stdout);
    return status;
}

int main(int argc, char **argv) {
    objstore_config *config = NULL;
    objstore *store = NULL;
    objstore_view *view = NULL;
    objstore_token *token = NULL;
    objstore_class_id class_id;
    objstore_property_id name;
    int bad;

    if (argc != 4) {
        fprintf(stderr, "usage: %s FILE CLASS STRING-PROPERTY\n", argv[0]);
        return 2;
    }
    signal(SIGINT, stop);
    signal(SIGTERM, stop);

    /* No schema: take the file as it is. */
    bad = failed(objstore_config_new(&config), "config") ||
          failed(objstore_config_set_path(config, objstore_cstr(argv[1])), argv[1]) ||
          failed(objstore_config_set_creation(config, OBJSTORE_CREATION_NEVER), argv[1]) ||
          failed(objstore_open(config, &store), argv[1]) ||
          failed(objstore_view_open(store, &view), "view") ||
          failed(objstore_find_class(view, objstore_cstr(argv[2]), &class_id), argv[2]) ||
          failed(objstore_find_property(view, class_id, objstore_cstr(argv[3]), &name), argv[3]) ||
          failed(objstore_view_close(view), "view") ||
          failed(objstore_observe(store, class_id, OBJSTORE_OBSERVE_INITIAL, changed, &name, NULL, &token), "observe");

    while (!bad && !stopped) bad = failed(objstore_wait(store, 1000, NULL), "wait");

    objstore_token_close(token);
    objstore_config_close(config);
    return failed(objstore_close(store), "close") || bad;
}
