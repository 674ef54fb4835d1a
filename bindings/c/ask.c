/* Queries a store that another program wrote: how many objects of a class there are, or satisfy a condition.
 *
 *      ./ask atlas.objstore City
 *      ./ask atlas.objstore City 'population > 1000000'
 *      ./ask atlas.objstore City 'timezone BEGINSWITH "Europe/" AND population BETWEEN {1000000, 2000000}'
 *
 * It knows nothing of the classes in advance: names and kinds come from the file. docs/query-language.md says what a
 * condition can be.
 */
#include <inttypes.h>
#include <objstore.h>
#include <stdio.h>
#include <stdlib.h>

static void check(objstore_status status, const char *what) {
    if (status != OBJSTORE_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, objstore_status_name(status), objstore_last_message());
        exit(1);
    }
}

/* Points to the place in a query that is wrong, where there is one. */
static void check_query(objstore_status status, const char *query) {
    objstore_error error = objstore_error_init();
    if (status != OBJSTORE_OK && objstore_last_error(&error) == OBJSTORE_OK && error.position >= 0)
        fprintf(stderr, "%s\n%*s^\n", query, (int)error.position, "");
    check(status, "query");
}

int main(int argc, char **argv) {
    objstore_config *config;
    objstore *store;
    objstore_view *view;
    objstore_class_id class_id;
    objstore_query *query;
    uint64_t count;

    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: %s FILE CLASS [CONDITION]\n", argv[0]);
        return 2;
    }
    check(objstore_config_new(&config), "config");
    check(objstore_config_set_path(config, objstore_cstr(argv[1])), "path");
    check(objstore_config_set_creation(config, OBJSTORE_CREATION_NEVER), "creation");
    check(objstore_open(config, &store), argv[1]);
    check(objstore_config_close(config), "config");
    check(objstore_view_open(store, &view), "view");
    check(objstore_find_class(view, objstore_cstr(argv[2]), &class_id), argv[2]);

    if (argc == 3) {
        check(objstore_count(view, class_id, &count), "count");
    } else {
        check_query(objstore_query_parse(view, class_id, objstore_cstr(argv[3]), NULL, 0, &query), argv[3]);
        check(objstore_query_count(query, view, &count), "count");
        check(objstore_query_close(query), "query");
    }
    printf("%" PRIu64 "\n", count);
    check(objstore_view_close(view), "view");
    check(objstore_close(store), "close");
    return 0;
}
