/* Prints what any process changes in a class, until it is interrupted.
 *
 *      ./observe atlas.objstore City name
 *
 *      watching from version 3
 *      version 3 to 4 (another process): 0 deleted, 6000 inserted, 0 modified: + Andorra la Vella, Umm Al Quwain, …
 *      in all: 0 deleted, 34006 inserted, 0 modified, in 6 change sets
 *
 * The cost of a change set follows what changed: it may watch millions of objects. Between commits it sleeps: poll()
 * waits for the library's descriptor and for a pipe, through which a signal ends the program. Where there is nothing
 * else to wait for, objstore_wait(store, OBJSTORE_FOREVER, NULL) does the same in one call.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <objstore.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { SHOWN = 3 }; /* names of each list */

static int stop_pipe[2];
static void stop(int signal_number) {
    const int saved = errno;
    (void)signal_number;
    if (write(stop_pipe[1], "", 1) < 0) _exit(1); /* one byte in an empty pipe: it does not wait */
    errno = saved;
}

static int failed(objstore_status status, const char *what) {
    if (status == OBJSTORE_OK) return 0;
    fprintf(stderr, "%s: %s: %s\n", what, objstore_status_name(status), objstore_last_message());
    return 1;
}

/* What the handler is given, and adds to. */
typedef struct watch {
    objstore_property_id name;
    uint64_t sets, deleted, inserted, modified;
} watch;

/* The first names of a list. The views of a change set are frozen, so text is borrowed, not copied. */
static objstore_status print_names(objstore_changes *changes, objstore_change which, objstore_side side, char sign,
                                   objstore_property_id name) {
    const objstore_object *objects;
    objstore_view *view;
    size_t count, i;
    objstore_status status = objstore_changes_list(changes, which, &objects, NULL, &count);
    if (status == OBJSTORE_OK) status = objstore_changes_view(changes, side, &view);
    for (i = 0; status == OBJSTORE_OK && i < count && i < SHOWN; i++) {
        objstore_value value;
        status = objstore_get(view, objects[i], name, NULL, &value);
        if (status == OBJSTORE_OK && value.kind == OBJSTORE_KIND_STRING)
            printf("%s%c %.*s", i == 0 ? ": " : ", ", sign, (int)value.data.text.length, value.data.text.bytes);
    }
    if (status == OBJSTORE_OK && count > SHOWN) printf(", …");
    return status;
}

static objstore_status changed(objstore_changes *changes, void *userdata) {
    watch *watched = userdata;
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
    watched->sets++;
    watched->deleted += info.deletion_count;
    watched->inserted += info.insertion_count;
    watched->modified += info.modification_count;
    printf("version %" PRIu64 " to %" PRIu64 "%s: %" PRIu64 " deleted, %" PRIu64 " inserted, %" PRIu64 " modified",
           info.from_version, info.to_version, info.flags & OBJSTORE_CHANGES_OTHER_PROCESS ? " (another process)" : "",
           info.deletion_count, info.insertion_count, info.modification_count);
    status = print_names(changes, OBJSTORE_DELETIONS, OBJSTORE_BEFORE, '-', watched->name);
    if (status == OBJSTORE_OK) status = print_names(changes, OBJSTORE_INSERTIONS, OBJSTORE_AFTER, '+', watched->name);
    if (status == OBJSTORE_OK)
        status = print_names(changes, OBJSTORE_MODIFICATIONS, OBJSTORE_AFTER, '*', watched->name);
    printf("\n");
    fflush(stdout);
    return status;
}

/* Until a signal: 0. */
static int deliver_for_ever(objstore *store) {
    struct pollfd waited[2];
    int32_t descriptor;

    if (failed(objstore_notify_fd(store, &descriptor), "descriptor")) return 1;
    waited[0].fd = descriptor;
    waited[1].fd = stop_pipe[0];
    waited[0].events = waited[1].events = POLLIN;
    for (;;) {
        if (poll(waited, 2, -1) < 0) {
            if (errno == EINTR) continue;
            perror("poll");
            return 1;
        }
        if (waited[1].revents) return 0;
        if (waited[0].revents && failed(objstore_deliver(store, NULL), "deliver")) return 1;
    }
}

int main(int argc, char **argv) {
    objstore_config *config = NULL;
    objstore *store = NULL;
    objstore_view *view = NULL;
    objstore_token *token = NULL;
    objstore_class_id class_id;
    watch watched = {0};
    struct sigaction action = {0};
    int bad;

    if (argc != 4) {
        fprintf(stderr, "usage: %s FILE CLASS STRING-PROPERTY\n", argv[0]);
        return 2;
    }
    if (pipe(stop_pipe) != 0) {
        perror("pipe");
        return 1;
    }
    action.sa_handler = stop;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);

    /* No schema: take the file as it is. */
    bad = failed(objstore_config_new(&config), "config") ||
          failed(objstore_config_set_path(config, objstore_cstr(argv[1])), argv[1]) ||
          failed(objstore_config_set_creation(config, OBJSTORE_CREATION_NEVER), argv[1]) ||
          failed(objstore_open(config, &store), argv[1]) || failed(objstore_view_open(store, &view), "view") ||
          failed(objstore_find_class(view, objstore_cstr(argv[2]), &class_id), argv[2]) ||
          failed(objstore_find_property(view, class_id, objstore_cstr(argv[3]), &watched.name), argv[3]) ||
          failed(objstore_view_close(view), "view") ||
          failed(objstore_observe(store, class_id, OBJSTORE_OBSERVE_INITIAL, changed, &watched, NULL, &token),
              "observe") ||
          deliver_for_ever(store);
    if (!bad)
        printf("in all: %" PRIu64 " deleted, %" PRIu64 " inserted, %" PRIu64 " modified, in %" PRIu64 " change sets\n",
               watched.deleted, watched.inserted, watched.modified, watched.sets);

    objstore_token_close(token);
    objstore_config_close(config);
    return failed(objstore_close(store), "close") || bad;
}
