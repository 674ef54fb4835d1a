// objstore's store of Person, for the files that work on it.
#ifndef PEER_OBJSTORE_H
#define PEER_OBJSTORE_H

#include "bench.h"

#include <objstore.h>

enum { id_property, name_property, age_property, score_property, email_property, property_count };

struct store {
    objstore *handle;
    objstore_class_id person;
    objstore_property_id properties[property_count];
    // Queries, made when first asked, as a statement of SQLite is prepared once: of all objects, and of those whose
    // age is below the limit that was asked last.
    objstore_query *all, *below;
    int64_t limit;
};

#define check(call) \
    do { \
        objstore_status status_ = (call); \
        if (status_) die("objstore: %s: %s: %s", #call, objstore_status_name(status_), objstore_last_message()); \
    } while (0)

// A store that is in no file. Takes the schema.
static inline objstore *open_in_memory(objstore_text name, objstore_schema *schema) {
    objstore_config *config;
    objstore *handle;
    check(objstore_config_new(&config));
    check(objstore_config_set_memory(config, name));
    check(objstore_config_set_schema(config, schema, 1));
    check(objstore_open(config, &handle));
    check(objstore_config_close(config));
    check(objstore_schema_close(schema));
    return handle;
}

static inline void fill(objstore_value values[property_count], const people *p, size_t i, int64_t age) {
    values[id_property] = objstore_int(p->id[i]);
    values[name_property] = objstore_string(objstore_text_of(name_of(p, i), (int64_t)name_length(p, i)));
    values[age_property] = objstore_int(age);
    values[score_property] = objstore_double(p->score[i]);
    values[email_property] = p->email_is_null[i] ? objstore_null()
                             : objstore_string(objstore_text_of(email_of(p, i), (int64_t)email_length(p, i)));
}

#endif
