// Large transactions in little memory: with a limit on the memory that a process may have for itself (RLIMIT_DATA),
// objects of many times that size are inserted, changed and deleted, each in one transaction.
//
// usage: memory FOLDER TRANSACTION_BYTES
#include <objstore.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { objects = 1200000, allowed = 40 << 20 };

static void check(objstore_status status, const char *what) {
    if (status == OBJSTORE_OK) return;
    fprintf(stderr, "memory: %s: %s: %s\n", what, objstore_status_name(status), objstore_last_message());
    exit(1);
}
#define CHECK(call) check(call, #call)

static void expect(bool fine, const char *what) {
    if (fine) return;
    fprintf(stderr, "memory: %s\n", what);
    exit(1);
}

static uint64_t kilobytes(const char *name) {
    char line[256];
    uint64_t found = 0;
    FILE *in = fopen("/proc/self/status", "r");
    if (!in) return 0;
    while (fgets(line, sizeof line, in))
        if (strncmp(line, name, strlen(name)) == 0) found = strtoull(line + strlen(name) + 1, NULL, 10);
    fclose(in);
    return found;
}

static objstore_class_id person;
static objstore_property_id properties[4];
static const char *const names[4] = {"id", "name", "age", "score"};

static objstore_text name_of(char *room, int64_t id) {
    int length = snprintf(room, 64, "person %" PRId64 " of very many", id * 7919 % objects);
    return objstore_text_of(room, length);
}

static objstore *open_store(const char *folder, int64_t transaction_bytes) {
    static const objstore_kind kinds[4] = {
        OBJSTORE_KIND_INT, OBJSTORE_KIND_STRING, OBJSTORE_KIND_INT, OBJSTORE_KIND_DOUBLE};
    static const uint32_t flags[4] = {
        OBJSTORE_PROPERTY_PRIMARY_KEY, OBJSTORE_PROPERTY_INDEXED, OBJSTORE_PROPERTY_INDEXED, 0};
    char path[4096];
    snprintf(path, sizeof path, "%s/people.objstore", folder);
    objstore_schema *schema;
    objstore_config *config;
    objstore *store;
    objstore_view *view;
    CHECK(objstore_schema_new(&schema));
    CHECK(objstore_schema_add_class(schema, OBJSTORE_STR("Person")));
    for (int i = 0; i < 4; i++)
        CHECK(
            objstore_schema_add_property(schema, OBJSTORE_STR("Person"), objstore_cstr(names[i]), kinds[i], flags[i]));
    CHECK(objstore_config_new(&config));
    CHECK(objstore_config_set_path(config, objstore_cstr(path)));
    CHECK(objstore_config_set_schema(config, schema, 1));
    CHECK(objstore_config_set_limit(config, OBJSTORE_LIMIT_TRANSACTION_BYTES, transaction_bytes));
    CHECK(objstore_open(config, &store));
    CHECK(objstore_config_close(config));
    CHECK(objstore_schema_close(schema));
    CHECK(objstore_view_open(store, &view));
    CHECK(objstore_find_class(view, OBJSTORE_STR("Person"), &person));
    for (int i = 0; i < 4; i++) CHECK(objstore_find_property(view, person, objstore_cstr(names[i]), &properties[i]));
    CHECK(objstore_view_close(view));
    return store;
}

static uint64_t count_of_age(objstore *store, int64_t age) {
    objstore_view *view;
    objstore_query *query;
    const objstore_value wanted = objstore_int(age);
    uint64_t count;
    CHECK(objstore_view_open(store, &view));
    CHECK(objstore_query_parse(view, person, OBJSTORE_STR("age == $0"), &wanted, 1, &query));
    CHECK(objstore_query_count(query, view, &count));
    CHECK(objstore_query_close(query));
    CHECK(objstore_view_close(view));
    return count;
}

int main(int argc, char **argv) {
    expect(argc == 3, "usage: memory FOLDER TRANSACTION_BYTES");
    objstore *store = open_store(argv[1], atoll(argv[2]));
    uint64_t data = kilobytes("VmData") << 10;
    struct rlimit limit = {data + allowed, data + allowed};
    expect(data > 0 && setrlimit(RLIMIT_DATA, &limit) == 0, "no limit can be set");

    objstore_view *tx;
    char room[64];
    CHECK(objstore_begin(store, &tx));
    for (int64_t id = 0; id < objects; id++) {
        objstore_value values[4] = {
            objstore_int(id), objstore_string(name_of(room, id)), objstore_int(id % 100), objstore_double((double)id)};
        CHECK(objstore_create(tx, person, properties, values, 4, NULL));
    }
    CHECK(objstore_commit(tx, NULL));
    expect(count_of_age(store, 7) == objects / 100, "an age is lost after the insertion");
    printf("memory: inserted\n");

    CHECK(objstore_begin(store, &tx));
    for (int64_t id = 0; id < objects; id++) {
        objstore_object object;
        bool found;
        CHECK(objstore_find(tx, person, objstore_int(id), &object, &found));
        expect(found, "an object is lost");
        CHECK(objstore_set(tx, object, properties[2], objstore_int(id % 50)));
        CHECK(objstore_set(tx, object, properties[3], objstore_double((double)id + 0.5)));
    }
    CHECK(objstore_commit(tx, NULL));
    expect(count_of_age(store, 7) == objects / 50, "an age is lost after the change");
    printf("memory: changed\n");

    CHECK(objstore_begin(store, &tx));
    for (int64_t id = 0; id < objects; id += 2) {
        objstore_object object;
        bool found;
        CHECK(objstore_find(tx, person, objstore_int(id), &object, &found));
        expect(found, "an object is lost");
        CHECK(objstore_delete(tx, object));
    }
    CHECK(objstore_commit(tx, NULL));
    expect(count_of_age(store, 7) == objects / 50 && count_of_age(store, 8) == 0, "not half is deleted");

    objstore_view *view, *frozen;
    CHECK(objstore_view_open(store, &view));
    CHECK(objstore_view_freeze(view, &frozen));
    for (int64_t id = 1; id < objects; id += 7778) {
        objstore_object object;
        bool found;
        objstore_value value;
        CHECK(objstore_find(frozen, person, objstore_int(id), &object, &found));
        expect(found, "an object is lost");
        CHECK(objstore_get(frozen, object, properties[1], NULL, &value));
        objstore_text text = name_of(room, id);
        expect((int64_t)value.data.text.length == (int64_t)text.length &&
                   memcmp(value.data.text.bytes, room, (size_t)text.length) == 0,
            "a name is another");
        CHECK(objstore_get(frozen, object, properties[3], NULL, &value));
        expect(value.data.real == (double)id + 0.5, "a score is another");
    }
    CHECK(objstore_view_close(frozen));
    CHECK(objstore_view_close(view));
    objstore_statistics statistics;
    statistics.struct_size = sizeof statistics;
    CHECK(objstore_get_statistics(store, &statistics));
    printf("memory: %d objects in %" PRIu64 " MiB; the process has %" PRIu64
           " MiB for itself, at most %d more were allowed\n",
        objects, statistics.file_bytes >> 20, kilobytes("RssAnon") >> 10, allowed >> 20);
    CHECK(objstore_close(store));
    return 0;
}
