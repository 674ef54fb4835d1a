/* Writes that the loop does not wait for: a timer ticks every 5 ms while 1,000 objects are written, each by a call of
 * its own, and durable when its completion is called.
 *
 *      cc async.c -lobjstore && ./a.out /tmp/async.objstore
 */
#define _GNU_SOURCE
#include <objstore.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void check(objstore_status status) {
    if (status == OBJSTORE_OK) return;
    fprintf(stderr, "%s: %s\n", objstore_status_name(status), objstore_last_message());
    exit(1);
}

enum { NUMBER, READING_PROPERTIES, READINGS = 1000 };
static const objstore_property_row reading_rows[READING_PROPERTIES] = {
    [NUMBER] = {.name = "number", .kind = OBJSTORE_KIND_INT},
};
static objstore_class_id reading;
static objstore_property_id p[READING_PROPERTIES];
static int completed;

/* Runs on the loop's own thread, inside objstore_deliver, once the writer's lock is there. */
static objstore_status create_reading(objstore_view *transaction, void *userdata) {
    objstore_value number = objstore_int((int64_t)(intptr_t)userdata);
    return objstore_create(transaction, reading, p, &number, 1, NULL);
}

/* So does this: the commit is on the disk, or there was an error. */
static objstore_status did_create(objstore_status status, uint64_t version, void *userdata) {
    (void)version;
    if (status != OBJSTORE_OK)
        fprintf(stderr, "reading %" PRIdPTR ": %s\n", (intptr_t)userdata, objstore_last_message());
    completed++;
    return OBJSTORE_OK;
}

static void watch(int loop, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    if (epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event) != 0) exit(1);
}

int main(int count, char **arguments) {
    objstore_schema *schema;
    objstore_config *config;
    objstore *store;
    objstore_view *view;
    int32_t due;
    uint64_t found = 0, ticks = 0;
    const struct itimerspec every = {{0, 5 * 1000 * 1000}, {0, 5 * 1000 * 1000}};
    int loop = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    intptr_t i;

    if (count != 2 || loop < 0 || timer < 0) return 2;
    check(objstore_schema_new(&schema));
    check(objstore_schema_add_rows(schema, OBJSTORE_STR("Reading"), 0, reading_rows, READING_PROPERTIES));
    check(objstore_config_new(&config));
    check(objstore_config_set_path(config, objstore_cstr(arguments[1])));
    check(objstore_config_set_schema(config, schema, 1));
    check(objstore_open(config, &store));
    check(objstore_view_open(store, &view));
    check(objstore_find_rows(view, OBJSTORE_STR("Reading"), reading_rows, READING_PROPERTIES, &reading, p));

    check(objstore_notify_fd(store, &due));
    watch(loop, due);
    watch(loop, timer);
    timerfd_settime(timer, 0, &every, NULL);

    /* Returns at once, whatever the disk does. Grouping: these commits may share a sync. */
    for (i = 0; i < READINGS; i++)
        check(objstore_write_async(store, OBJSTORE_ASYNC_ALLOW_GROUPING, create_reading, did_create, (void *)i, NULL,
            NULL));

    while (completed < READINGS || ticks == 0) {
        struct epoll_event events[2];
        int ready = epoll_wait(loop, events, 2, -1), e;
        for (e = 0; e < ready; e++) {
            uint64_t times = 0;
            if (events[e].data.fd == due) check(objstore_deliver(store, NULL));
            else if (read(timer, &times, sizeof times) == sizeof times) ticks += times;
        }
    }

    check(objstore_view_refresh(view, NULL));
    check(objstore_count(view, reading, &found));
    printf("%" PRIu64 " readings, and the loop has ticked\n", found);

    check(objstore_close(store));
    check(objstore_config_close(config));
    close(timer);
    close(loop);
    return objstore_schema_close(schema);
}
