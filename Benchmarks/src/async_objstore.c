// objstore: writes that a loop does not wait for, through its C interface.
#include "peer_objstore.h"

#include <stdlib.h>

// What one of them is to write; the library frees it after its completion.
typedef struct {
    const store *store;
    async_done *done;
    void *context;
    int64_t id;             // of update_age
    uint8_t age;
    const people *data;     // of insert
    size_t first, count;
} request;

static objstore_status update_body(objstore_view *t, void *userdata) {
    const request *r = userdata;
    const store *s = r->store;
    objstore_object object;
    check(objstore_find(t, s->person, objstore_int(r->id), &object, NULL));
    check(objstore_set(t, object, s->properties[age_property], objstore_int(r->age)));
    return OBJSTORE_OK;
}

static objstore_status insert_body(objstore_view *t, void *userdata) {
    const request *r = userdata;
    const store *s = r->store;
    objstore_value values[property_count];
    for (size_t i = r->first; i < r->first + r->count; i++) {
        fill(values, r->data, i, r->data->age[i]);
        check(objstore_create(t, s->person, s->properties, values, property_count, NULL));
    }
    return OBJSTORE_OK;
}

static objstore_status completion(objstore_status status, uint64_t version, void *userdata) {
    (void)version;
    const request *r = userdata;
    if (status) die("objstore: an asynchronous write: %s", objstore_last_message());
    r->done(r->context);
    return OBJSTORE_OK;
}

static void enqueue(store *s, objstore_write_body body, bool grouped, request wanted) {
    request *r = malloc(sizeof *r);
    if (!r) die("no memory");
    *r = wanted;
    const uint32_t flags = grouped ? OBJSTORE_ASYNC_ALLOW_GROUPING : 0;
    check(objstore_write_async(s->handle, flags, body, completion, r, free, NULL));
}

static void update_age(store *s, int64_t id, uint8_t age, bool grouped, async_done *done, void *context) {
    enqueue(s, update_body, grouped, (request){.store = s, .done = done, .context = context, .id = id, .age = age});
}

static void insert(store *s, const people *data, size_t first, size_t count, bool grouped, async_done *done,
                   void *context) {
    enqueue(s, insert_body, grouped,
        (request){.store = s, .done = done, .context = context, .data = data, .first = first, .count = count});
}

static int descriptor(store *s) {
    int32_t due;
    check(objstore_notify_fd(s->handle, &due));
    return due;
}

static void deliver(store *s) { check(objstore_deliver(s->handle, NULL)); }

static uint64_t syncs(store *s) {
    objstore_statistics statistics = {.struct_size = sizeof statistics};
    check(objstore_get_statistics(s->handle, &statistics));
    return statistics.syncs;
}

const async_writes async_objstore = {
    .descriptor = descriptor, .deliver = deliver, .update_age = update_age, .insert = insert, .syncs = syncs,
};
