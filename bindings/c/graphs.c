/* Objects that refer to each other in circles, made by one call; the same again as an update; and what a mistake says.
 *
 *      Ada ◄── friend ──► Bob           each is the friend of the other
 *      Ada ── dogs ──► Rex ── owner ──► Ada
 *      Ada ── home ──► {city}           an embedded object: it lies in Ada, and goes with her
 *
 *      cc graphs.c -lobjstore && ./a.out
 */
#include <objstore.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void check(objstore_status status) {
    if (status == OBJSTORE_OK) return;
    fprintf(stderr, "%s: %s\n", objstore_status_name(status), objstore_last_message());
    exit(1);
}

enum { NAME, FRIEND, DOGS, HOME, PERSON_PROPERTIES };
static const objstore_property_row person_rows[PERSON_PROPERTIES] = {
    [NAME] = {.name = "name", .kind = OBJSTORE_KIND_STRING, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
    [FRIEND] = {.name = "friend", .kind = OBJSTORE_KIND_LINK, .target = "Person"},
    [DOGS] = {.name = "dogs", .kind = OBJSTORE_KIND_LINK, .collection = OBJSTORE_KIND_LIST, .target = "Dog"},
    [HOME] = {.name = "home", .kind = OBJSTORE_KIND_LINK, .target = "Address"},
};
enum { DOG_NAME, OWNER, DOG_PROPERTIES };
static const objstore_property_row dog_rows[DOG_PROPERTIES] = {
    [DOG_NAME] = {.name = "name", .kind = OBJSTORE_KIND_STRING, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
    [OWNER] = {.name = "owner", .kind = OBJSTORE_KIND_LINK, .target = "Person"},
};
static const objstore_property_row address_rows[] = {{.name = "city", .kind = OBJSTORE_KIND_STRING}};
static objstore_class_id person, dog, address;
static objstore_property_id p[PERSON_PROPERTIES], d[DOG_PROPERTIES], city_id;

enum { REX, ADA, BOB, NODES };

/* Makes all of them, or updates those that exist, by their primary keys: all or nothing. `home` becomes Ada's. */
static objstore_status make(objstore_view *transaction, objstore_policy policy, objstore_value city,
    objstore_object *objects, objstore_outcome *outcomes, objstore_object *home) {
    const objstore_node nodes[NODES] = {
        [REX] = objstore_node_of_class(dog, 0), /* no ROOT: others lead to it, so its class may lack a primary key */
        [ADA] = objstore_node_of_class(person, OBJSTORE_NODE_ROOT),
        [BOB] = objstore_node_of_class(person, OBJSTORE_NODE_ROOT),
    };
    /* A description for each node, in their order. objstore_node_link(n) leads to what node n becomes. */
    const objstore_value values[] = {
        /* By position: ["Rex", → Ada] */
        objstore_list_of(2), objstore_string(OBJSTORE_STR("Rex")), objstore_node_link(ADA),
        /* By names: {"name": "Ada", "friend": → Bob, "dogs": [→ Rex], "home": {"city": …}} */
        objstore_map_of(4), objstore_string(OBJSTORE_STR("name")), objstore_string(OBJSTORE_STR("Ada")),
        objstore_string(OBJSTORE_STR("friend")), objstore_node_link(BOB),
        objstore_string(OBJSTORE_STR("dogs")), objstore_list_of(1), objstore_node_link(REX),
        objstore_string(OBJSTORE_STR("home")), objstore_map_of(1), objstore_string(OBJSTORE_STR("city")), city,
        /* By position, the last ones left out: ["Bob", → Ada] */
        objstore_list_of(2), objstore_string(OBJSTORE_STR("Bob")), objstore_node_link(ADA),
    };
    enum { VALUES = sizeof values / sizeof *values };
    objstore_object embedded[VALUES];
    const objstore_status status =
        objstore_create_graph(transaction, policy, 0, nodes, NODES, values, VALUES, objects, outcomes, embedded);
    size_t i;
    if (status != OBJSTORE_OK) return status;
    /* embedded[i] is the embedded object whose description begins at values[i]; elsewhere it is zero. */
    for (i = 0; i < VALUES; i++)
        if (embedded[i].class_id == address) *home = embedded[i];
    return OBJSTORE_OK;
}

static void print_outcomes(const objstore_object *objects, const objstore_outcome *outcomes) {
    static const char *const names[] = {"unchanged", "changed", "created"};
    size_t i;
    for (i = 0; i < NODES; i++)
        printf("node %zu: %s %" PRId64 " %s\n", i, objects[i].class_id == dog ? "dog" : "person", objects[i].key,
            names[outcomes[i]]);
}

/* Prints a text, which is borrowed until the next write. */
static void print(const char *before, objstore_view *view, objstore_object object, objstore_property_id property) {
    objstore_value value;
    check(objstore_get(view, object, property, NULL, &value));
    printf("%s %.*s\n", before, (int)value.data.text.length, value.data.text.bytes);
}

static objstore_object follow(objstore_view *view, objstore_object object, objstore_property_id property) {
    objstore_value value;
    check(objstore_get(view, object, property, NULL, &value));
    return value.data.link;
}

int main(void) {
    objstore_schema *schema;
    objstore_config *config;
    objstore *store;
    objstore_view *tx;
    objstore_object objects[NODES], home, moved;
    objstore_outcome outcomes[NODES];
    objstore_error error = objstore_error_init();
    check(objstore_schema_new(&schema));
    check(objstore_config_new(&config));
    check(objstore_schema_add_rows(schema, OBJSTORE_STR("Person"), 0, person_rows, PERSON_PROPERTIES));
    check(objstore_schema_add_rows(schema, OBJSTORE_STR("Dog"), 0, dog_rows, DOG_PROPERTIES));
    check(objstore_schema_add_rows(schema, OBJSTORE_STR("Address"), OBJSTORE_CLASS_EMBEDDED, address_rows, 1));
    check(objstore_config_set_memory(config, OBJSTORE_STR("")));
    check(objstore_config_set_schema(config, schema, 1));
    check(objstore_open(config, &store));
    check(objstore_begin(store, &tx));
    check(objstore_find_rows(tx, OBJSTORE_STR("Person"), person_rows, PERSON_PROPERTIES, &person, p));
    check(objstore_find_rows(tx, OBJSTORE_STR("Dog"), dog_rows, DOG_PROPERTIES, &dog, d));
    check(objstore_find_rows(tx, OBJSTORE_STR("Address"), address_rows, 1, &address, &city_id));

    check(make(tx, OBJSTORE_POLICY_ERROR, objstore_string(OBJSTORE_STR("Rome")), objects, outcomes, &home));
    print_outcomes(objects, outcomes);
    print("the friend of Ada's friend is", tx, follow(tx, follow(tx, objects[ADA], p[FRIEND]), p[FRIEND]), p[NAME]);
    print("the owner of Rex lives in", tx, follow(tx, follow(tx, objects[REX], d[OWNER]), p[HOME]), city_id);

    /* The same again. With MODIFIED only what differs is written: the city, in the embedded object that is there. */
    check(make(tx, OBJSTORE_POLICY_MODIFIED, objstore_string(OBJSTORE_STR("Oslo")), objects, outcomes, &moved));
    print_outcomes(objects, outcomes);
    print(moved.key == home.key ? "the same home, now in" : "another home, in", tx, moved, city_id);

    /* An error says in which node it came about, and where in it; nothing was written, and the transaction goes on. */
    if (make(tx, OBJSTORE_POLICY_ALL, objstore_int(7), objects, outcomes, &moved) != OBJSTORE_OK) {
        check(objstore_last_error(&error));
        printf("refused: node %" PRId64 ": %s\n", error.position, error.message.bytes);
    }
    print("still in", tx, home, city_id);

    check(objstore_commit(tx, NULL));
    check(objstore_close(store));
    check(objstore_config_close(config));
    return objstore_schema_close(schema);
}
