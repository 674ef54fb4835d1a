/* A first program: describe a class, open a store, write, upsert, find, count.
 *
 *      cc first.c -lobjstore && ./a.out
 */
#include <inttypes.h>
#include <objstore.h>
#include <stdio.h>
#include <stdlib.h>

/* Every call can fail. Here a failure ends the program and says why. */
static void check(objstore_status status, const char *what) {
    if (status != OBJSTORE_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, objstore_status_name(status), objstore_last_message());
        exit(1);
    }
}

/* What the program knows about class Dog: found once, good for every view of the store. */
typedef struct dog_class {
    objstore_class_id id;
    objstore_property_id number, name, age;
} dog_class;

static objstore *open_store(const char *path) {
    const objstore_text dog = OBJSTORE_STR("Dog");
    objstore_schema *schema;
    objstore_config *config;
    objstore *store;

    check(objstore_schema_new(&schema), "schema");
    check(objstore_schema_add_class(schema, dog), "class");
    check(objstore_schema_add_property(schema, dog, OBJSTORE_STR("id"), OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY), "id");
    check(objstore_schema_add_property(schema, dog, OBJSTORE_STR("name"), OBJSTORE_KIND_STRING, 0), "name");
    check(objstore_schema_add_property(schema, dog, OBJSTORE_STR("age"), OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_INDEXED), "age");
    check(objstore_schema_set_default(schema, dog, OBJSTORE_STR("age"), objstore_int(0)), "default");

    check(objstore_config_new(&config), "config");
    check(objstore_config_set_path(config, objstore_cstr(path)), "path");
    check(objstore_config_set_schema(config, schema, 1), "schema");
    check(objstore_open(config, &store), path);
    objstore_config_close(config);
    objstore_schema_close(schema);
    return store;
}

/* The body of a transaction: return anything but OBJSTORE_OK and nothing of it happened. */
static objstore_status add_dogs(objstore_view *transaction, void *userdata) {
    const dog_class *dog = userdata;
    const objstore_property_id properties[] = {dog->number, dog->name, dog->age};
    const objstore_value rex[] = {objstore_int(1), objstore_string(OBJSTORE_STR("Rex")), objstore_int(10)};
    const objstore_value ella[] = {objstore_int(2), objstore_string(OBJSTORE_STR("Ella"))};
    objstore_object object;
    objstore_outcome outcome;

    objstore_status status = objstore_upsert(transaction, dog->id, OBJSTORE_POLICY_MODIFIED, properties, rex, 3, &object, &outcome);
    if (status != OBJSTORE_OK) return status;
    printf("Rex: %s\n", outcome == OBJSTORE_OUTCOME_CREATED ? "created" : "was there");
    return objstore_upsert(transaction, dog->id, OBJSTORE_POLICY_MODIFIED, properties, ella, 2, NULL, NULL);
}

int main(int argc, char **argv) {
    objstore *store = open_store(argc > 1 ? argv[1] : "dogs.objstore");
    objstore_view *view;
    dog_class dog;

    check(objstore_view_open(store, &view), "view");
    check(objstore_find_class(view, OBJSTORE_STR("Dog"), &dog.id), "Dog");
    check(objstore_find_property(view, dog.id, OBJSTORE_STR("id"), &dog.number), "id");
    check(objstore_find_property(view, dog.id, OBJSTORE_STR("name"), &dog.name), "name");
    check(objstore_find_property(view, dog.id, OBJSTORE_STR("age"), &dog.age), "age");

    check(objstore_write(store, add_dogs, &dog, NULL), "write");

    /* The view still stands where it stood. */
    check(objstore_view_refresh(view, NULL), "refresh");

    /* Find by primary key. A live view copies text: into memory of ours, as long as it fits. */
    {
        objstore_object rex;
        objstore_value name;
        bool found;
        char memory[32];
        objstore_buffer buffer = objstore_buffer_over(memory, sizeof memory);
        check(objstore_find(view, dog.id, objstore_int(1), &rex, &found), "find");
        if (found) {
            check(objstore_get(view, rex, dog.name, &buffer, &name), "name");
            printf("dog 1 is called %s\n", name.data.text.bytes);
        }
        objstore_buffer_free(&buffer);
    }

    /* Count, and walk. */
    {
        uint64_t count, young;
        objstore_row row;
        bool more;
        check(objstore_count(view, dog.id, &count), "count");
        check(objstore_count_where(view, dog.id, dog.age, OBJSTORE_LESS, objstore_int(2), &young), "count_where");
        printf("%" PRIu64 " dogs, %" PRIu64 " of them younger than 2\n", count, young);

        check(objstore_row_init(view, dog.id, &row), "row");
        for (check(objstore_row_next(&row, &more), "next"); more; check(objstore_row_next(&row, &more), "next")) {
            int64_t number, age;
            check(objstore_row_int(&row, dog.number, &number, NULL), "id");
            check(objstore_row_int(&row, dog.age, &age, NULL), "age");
            printf("dog %" PRId64 " is %" PRId64 "\n", number, age);
        }
    }

    check(objstore_view_close(view), "close");
    check(objstore_close(store), "close");
    return 0;
}
