/* Lists, sets, maps and links: people, the tags and scores of each, who owns which dog, and which ones they walk.
 *
 *   cc -std=c99 -Iinclude bindings/c/lists.c -Lbuild/lib -lobjstore -Wl,-rpath,$PWD/build/lib -o lists && ./lists
 */
#include <objstore.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                        \
    do {                                                                 \
        if ((call) != OBJSTORE_OK) {                                     \
            fprintf(stderr, "%s: %s\n", #call, objstore_last_message()); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

int main(void) {
    const objstore_text person = OBJSTORE_STR("Person"), dog = OBJSTORE_STR("Dog");
    objstore_schema *schema;
    TRY(objstore_schema_new(&schema));
    TRY(objstore_schema_add_class(schema, person));
    TRY(objstore_schema_add_property(
        schema, person, OBJSTORE_STR("name"), OBJSTORE_KIND_STRING, OBJSTORE_PROPERTY_PRIMARY_KEY));
    TRY(objstore_schema_add_collection(schema, person, OBJSTORE_STR("tags"), OBJSTORE_KIND_LIST, OBJSTORE_KIND_NULL,
                                       OBJSTORE_KIND_STRING, 0));
    TRY(objstore_schema_add_collection(schema, person, OBJSTORE_STR("scores"), OBJSTORE_KIND_MAP, OBJSTORE_KIND_STRING,
                                       OBJSTORE_KIND_DOUBLE, 0));
    TRY(objstore_schema_add_class(schema, dog));
    TRY(objstore_schema_add_property(
        schema, dog, OBJSTORE_STR("name"), OBJSTORE_KIND_STRING, OBJSTORE_PROPERTY_PRIMARY_KEY));
    TRY(objstore_schema_add_link(schema, dog, OBJSTORE_STR("owner"), person, 0));
    TRY(objstore_schema_add_link_collection(
        schema, person, OBJSTORE_STR("walks"), OBJSTORE_KIND_LIST, OBJSTORE_KIND_NULL, dog, 0));

    objstore_config *config;
    objstore *store;
    TRY(objstore_config_new(&config));
    TRY(objstore_config_set_memory(config, OBJSTORE_STR("")));
    TRY(objstore_config_set_schema(config, schema, 1));
    TRY(objstore_open(config, &store));
    TRY(objstore_config_close(config));
    TRY(objstore_schema_close(schema));

    objstore_view *tx;
    objstore_class_id people, dogs;
    objstore_property_id name, tags_id, scores_id, walks_id, dog_properties[2];
    TRY(objstore_begin(store, &tx));
    TRY(objstore_find_class(tx, person, &people));
    TRY(objstore_find_property(tx, people, OBJSTORE_STR("name"), &name));
    TRY(objstore_find_property(tx, people, OBJSTORE_STR("tags"), &tags_id));
    TRY(objstore_find_property(tx, people, OBJSTORE_STR("scores"), &scores_id));
    TRY(objstore_find_property(tx, people, OBJSTORE_STR("walks"), &walks_id));
    TRY(objstore_find_class(tx, dog, &dogs));
    TRY(objstore_find_property(tx, dogs, OBJSTORE_STR("name"), &dog_properties[0]));
    TRY(objstore_find_property(tx, dogs, OBJSTORE_STR("owner"), &dog_properties[1]));

    /* A new object has empty collections: only their elements are written. */
    objstore_object ada;
    const objstore_value ada_name = objstore_string(OBJSTORE_STR("Ada"));
    TRY(objstore_create(tx, people, &name, &ada_name, 1, &ada));
    const objstore_collection tags = objstore_collection_of(ada, tags_id),
                              scores = objstore_collection_of(ada, scores_id);
    const objstore_value words[] = {objstore_string(OBJSTORE_STR("maths")), objstore_string(OBJSTORE_STR("poetry"))};
    TRY(objstore_list_insert(tx, tags, OBJSTORE_END, words, 2));
    TRY(objstore_list_move(tx, tags, 1, 0));
    TRY(objstore_map_set(tx, scores, objstore_string(OBJSTORE_STR("chess")), objstore_double(7.5), NULL));
    const objstore_value rex[] = {objstore_string(OBJSTORE_STR("Rex")), objstore_link(ada)};
    objstore_object dog_rex;
    TRY(objstore_create(tx, dogs, dog_properties, rex, 2, &dog_rex));

    /* Elements of a list may be links, too, one several times; its inverse has each owner once. */
    const objstore_collection walks = objstore_collection_of(ada, walks_id);
    const objstore_value twice[] = {objstore_link(dog_rex), objstore_link(dog_rex)};
    TRY(objstore_list_insert(tx, walks, OBJSTORE_END, twice, 2));

    /* In a transaction text is borrowed until the next write. */
    objstore_value read[8];
    size_t count, i;
    TRY(objstore_collection_read(tx, tags, 0, 8, NULL, NULL, read, &count));
    for (i = 0; i < count; i++) printf("tag %zu: %.*s\n", i, (int)read[i].data.text.length, read[i].data.text.bytes);
    TRY(objstore_map_get(tx, scores, objstore_string(OBJSTORE_STR("chess")), NULL, &read[0], NULL));
    printf("chess: %.1f\n", read[0].data.real);
    uint64_t owned;
    TRY(objstore_incoming_count(tx, ada, dog_properties[1], &owned));
    printf("dogs of Ada: %" PRIu64 "\n", owned);
    uint64_t walkers, left;
    TRY(objstore_incoming_count(tx, dog_rex, walks_id, &walkers));
    TRY(objstore_delete(tx, dog_rex));
    TRY(objstore_collection_count(tx, walks, &left));
    printf("Rex was walked by %" PRIu64 ", and is gone from a list of %" PRIu64 "\n", walkers, left);

    TRY(objstore_commit(tx, NULL));
    TRY(objstore_close(store));
    return 0;
}
