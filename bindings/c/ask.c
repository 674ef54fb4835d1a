/* Queries a store that another program wrote: how many objects of a class satisfy a comparison.
 *
 *      ./ask atlas.objstore City population '>' 1000000
 *      ./ask atlas.objstore City timezone '==' Europe/Zurich
 *      ./ask atlas.objstore City
 *
 * It knows nothing of the classes in advance: names and kinds come from the file.
 */
#include <inttypes.h>
#include <objstore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(objstore_status status, const char *what) {
    if (status != OBJSTORE_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, objstore_status_name(status), objstore_last_message());
        exit(1);
    }
}

static objstore_operator comparison(const char *text) {
    static const char *const names[] = {"==", "!=", "<", "<=", ">", ">="};
    static const objstore_operator values[] = {
        OBJSTORE_EQUAL,      OBJSTORE_NOT_EQUAL, OBJSTORE_LESS,
        OBJSTORE_LESS_EQUAL, OBJSTORE_GREATER,   OBJSTORE_GREATER_EQUAL,
    };
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0) return values[i];
    }
    fprintf(stderr, "%s: not one of == != < <= > >=\n", text);
    exit(2);
}

int main(int argc, char **argv) {
    objstore_config *config;
    objstore *store;
    objstore_view *view;
    objstore_class_id class_id;
    uint64_t count;

    if (argc != 3 && argc != 6) {
        fprintf(stderr, "usage: %s FILE CLASS [PROPERTY COMPARISON VALUE]\n", argv[0]);
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
        objstore_property_id property;
        objstore_property_info info;
        objstore_value value = objstore_string(objstore_cstr(argv[5]));
        info.struct_size = sizeof info;
        check(objstore_find_property(view, class_id, objstore_cstr(argv[3]), &property), argv[3]);
        check(objstore_property_get_info(view, property, &info), argv[3]);
        if (info.kind == OBJSTORE_KIND_INT) value = objstore_int(strtoll(argv[5], NULL, 10));
        if (info.kind == OBJSTORE_KIND_DOUBLE) value = objstore_double(strtod(argv[5], NULL));
        check(objstore_count_where(view, class_id, property, comparison(argv[4]), value, &count), argv[3]);
    }
    printf("%" PRIu64 "\n", count);
    check(objstore_view_close(view), "view");
    check(objstore_close(store), "close");
    return 0;
}
