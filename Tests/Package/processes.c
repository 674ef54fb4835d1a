/* What one process cannot test by itself: run by processes.sh.
 *
 *   processes fork FILE      a forked child finds every handle of its parent dead, and the parent continues
 *   processes write FILE     commits 50 dogs a transaction and says "acknowledged N", until it is killed
 *   processes check FILE N   the store opens, is sound, and has a multiple of 50 dogs, at least N
 */
#include <objstore.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(objstore_status status, int line) {
    if (status == OBJSTORE_OK) return;
    fprintf(stderr, "processes.c:%d: %s: %s\n", line, objstore_status_name(status), objstore_last_message());
    exit(1);
}
#define MUST(call) must(call, __LINE__)

static objstore_class_id dog;
static objstore_property_id name;

static objstore *open_store(const char *path) {
    objstore_schema *schema;
    objstore_config *config;
    objstore *store;
    objstore_view *view;
    MUST(objstore_schema_new(&schema));
    MUST(objstore_schema_add_class(schema, OBJSTORE_STR("Dog")));
    MUST(objstore_schema_add_property(
        schema, OBJSTORE_STR("Dog"), OBJSTORE_STR("name"), OBJSTORE_KIND_STRING, OBJSTORE_PROPERTY_INDEXED));
    MUST(objstore_config_new(&config));
    MUST(objstore_config_set_path(config, objstore_cstr(path)));
    MUST(objstore_config_set_schema(config, schema, 1));
    MUST(objstore_open(config, &store));
    MUST(objstore_config_close(config));
    MUST(objstore_schema_close(schema));
    MUST(objstore_view_open(store, &view));
    MUST(objstore_find_class(view, OBJSTORE_STR("Dog"), &dog));
    MUST(objstore_find_property(view, dog, OBJSTORE_STR("name"), &name));
    MUST(objstore_view_close(view));
    return store;
}

static void add_dogs(objstore *store, int count) {
    objstore_view *transaction;
    int i;
    MUST(objstore_begin(store, &transaction));
    for (i = 0; i < count; i++) {
        const objstore_value rex = objstore_string(OBJSTORE_STR("Rex"));
        MUST(objstore_create(transaction, dog, &name, &rex, 1, NULL));
    }
    MUST(objstore_commit(transaction, NULL));
}

static uint64_t count_dogs(objstore *store) {
    objstore_view *view;
    uint64_t count;
    MUST(objstore_view_open(store, &view));
    MUST(objstore_count(view, dog, &count));
    MUST(objstore_view_close(view));
    return count;
}

static int in_child(
    objstore *store, objstore_view *view, objstore_view *transaction, objstore_query *query, const char *path) {
    uint64_t count;
    objstore_view *other;
    objstore *mine;
    objstore_config *config;
    if (objstore_count(view, dog, &count) != OBJSTORE_ERR_FORKED) return 1;
    if (objstore_begin(store, &other) != OBJSTORE_ERR_FORKED) return 2;
    if (objstore_commit(transaction, NULL) != OBJSTORE_ERR_FORKED) return 3;
    if (!strstr(objstore_last_message(), "parent")) return 4;
    if (objstore_query_count(query, view, &count) != OBJSTORE_ERR_FORKED) return 13;
    if (objstore_query_close(query) != OBJSTORE_OK) return 14;
    if (objstore_view_close(view) != OBJSTORE_OK) return 5;
    if (objstore_close(store) != OBJSTORE_OK) return 6;
    if (objstore_close(store) != OBJSTORE_ERR_CLOSED_HANDLE) return 7;
    /* The file can be opened again: another process in its own right. */
    if (objstore_config_new(&config) != OBJSTORE_OK ||
        objstore_config_set_path(config, objstore_cstr(path)) != OBJSTORE_OK)
        return 8;
    if (objstore_open(config, &mine) != OBJSTORE_OK) return 9;
    if (count_dogs(mine) != 50) return 10;
    if (objstore_try_begin(mine, &other) != OBJSTORE_ERR_BUSY) return 11; /* the parent's transaction */
    if (objstore_close(mine) != OBJSTORE_OK) return 12;
    return 0;
}

static int forked(const char *path) {
    objstore *store = open_store(path);
    objstore_view *view, *transaction;
    objstore_query *query;
    uint64_t count;
    const objstore_value rex = objstore_string(OBJSTORE_STR("Rex"));
    int status;
    pid_t child;
    add_dogs(store, 50);
    MUST(objstore_view_open(store, &view));
    MUST(objstore_query_parse(view, dog, OBJSTORE_STR("name == 'Rex'"), NULL, 0, &query));
    MUST(objstore_begin(store, &transaction));
    MUST(objstore_create(transaction, dog, &name, &rex, 1, NULL));
    child = fork();
    if (child == 0) _exit(in_child(store, view, transaction, query, path));
    if (waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "processes.c: the child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -status);
        return 1;
    }
    MUST(objstore_commit(transaction, NULL));
    MUST(objstore_view_refresh(view, NULL));
    if (count_dogs(store) != 51) return 1;
    MUST(objstore_query_count(query, view, &count));
    if (count != 51) return 1;
    MUST(objstore_query_close(query));
    MUST(objstore_close(store));
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "fork") == 0) return forked(argv[2]);
    if (argc == 3 && strcmp(argv[1], "write") == 0) {
        objstore *store = open_store(argv[2]);
        uint64_t count = count_dogs(store);
        for (;;) {
            add_dogs(store, 50);
            printf("acknowledged %" PRIu64 "\n", count += 50);
            fflush(stdout);
        }
    }
    if (argc == 4 && strcmp(argv[1], "check") == 0) {
        objstore *store = open_store(argv[2]);
        objstore_view *view;
        objstore_query *query;
        uint64_t count = count_dogs(store), found, findings;
        MUST(objstore_view_open(store, &view));
        MUST(objstore_verify(view, NULL, NULL, NULL, NULL, &findings));
        MUST(objstore_query_parse(view, dog, OBJSTORE_STR("name == 'Rex'"), NULL, 0, &query));
        MUST(objstore_query_count(query, view, &found));
        MUST(objstore_query_close(query));
        MUST(objstore_close(store));
        if (count % 50 != 0 || count < strtoull(argv[3], NULL, 10) || found != count || findings != 0) {
            fprintf(stderr,
                "processes.c: %" PRIu64 " dogs, %s acknowledged, %" PRIu64 " in the index, %" PRIu64 " findings\n",
                count, argv[3], found, findings);
            return 1;
        }
        return 0;
    }
    return 2;
}
