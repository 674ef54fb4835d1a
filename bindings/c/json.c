/* JSON in and out: objects from text, an array of any length from a file, text of objects and results.
 *
 *      cc json.c -lobjstore && ./a.out people.json    a file: [{"name": …, "born": …, "pets": [{"name": …}]}, …]
 */
#include <objstore.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An error of a text says where in it: line, column, path and byte. */
static void check(objstore_status status) {
    objstore_error error = objstore_error_init();
    if (status == OBJSTORE_OK) return;
    objstore_last_error(&error);
    fprintf(stderr, "%s: %s (byte %" PRId64 ")\n", objstore_status_name(status), error.message.bytes, error.position);
    exit(1);
}

enum { NAME, BORN, PETS, PERSON_PROPERTIES };
static const objstore_property_row person_rows[PERSON_PROPERTIES] = {
    [NAME] = {.name = "name", .kind = OBJSTORE_KIND_STRING, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
    [BORN] = {.name = "born", .kind = OBJSTORE_KIND_TIMESTAMP, .flags = OBJSTORE_PROPERTY_NULLABLE},
    [PETS] = {.name = "pets", .kind = OBJSTORE_KIND_LINK, .collection = OBJSTORE_KIND_LIST, .target = "Pet"},
};
static const objstore_property_row pet_rows[] = {
    {.name = "name", .kind = OBJSTORE_KIND_STRING},
    {.name = "legs", .kind = OBJSTORE_KIND_INT, .default_value = OBJSTORE_INT_INIT(4)},
};

/* JSON has no points in time: here they are years. The library calls it for each value that does not have its
   property's type. */
static objstore_status from_year(objstore_property_id property, objstore_kind kind, objstore_value value,
    objstore_value *converted, bool *is_converted, void *userdata) {
    (void)property, (void)userdata;
    if (kind == OBJSTORE_KIND_TIMESTAMP && value.kind == OBJSTORE_KIND_STRING && value.data.text.length == 4) {
        const int year = atoi(value.data.text.bytes); /* ends at the quotation mark */
        *converted = objstore_time(((year - 1970) * 365 + (year - 1969) / 4) * 86400LL, 0); /* from 1901 to 2099 */
        *is_converted = true;
    }
    return OBJSTORE_OK;
}

static objstore_status print(const char *bytes, size_t length, void *userdata) {
    return fwrite(bytes, 1, length, userdata) == length ? OBJSTORE_OK
                                                        : objstore_fail(1, OBJSTORE_STR("stdout takes no more"));
}

int main(int argc, char **argv) {
    static const char jane[] = "{\"name\": \"Jane\", \"born\": \"1985\", \"pets\": [{\"name\": \"Rex\"}, {\"name\": "
                               "\"Tweety\", \"legs\": 2}]}";
    objstore_schema *schema;
    objstore_config *config;
    objstore *store;
    objstore_view *transaction;
    objstore_class_id person;
    objstore_object object;
    objstore_query *query;
    objstore_results *results;
    objstore_buffer buffer = objstore_buffer_init();
    objstore_text text;
    uint64_t count = 0;

    check(objstore_schema_new(&schema));
    check(objstore_schema_add_rows(schema, OBJSTORE_STR("Person"), 0, person_rows, PERSON_PROPERTIES));
    check(objstore_schema_add_rows(schema, OBJSTORE_STR("Pet"), 0, pet_rows, sizeof pet_rows / sizeof *pet_rows));
    check(objstore_config_new(&config));
    check(objstore_config_set_memory(config, OBJSTORE_STR("")));
    check(objstore_config_set_schema(config, schema, 1));
    check(objstore_open(config, &store));
    check(objstore_begin(store, &transaction));
    check(objstore_find_class(transaction, OBJSTORE_STR("Person"), &person));

    /* One object, with what is nested in it. MODIFIED: the object with the primary key is updated. */
    check(objstore_create_from_json(transaction, person, OBJSTORE_POLICY_MODIFIED, 0,
        OBJSTORE_STR("{\"name\": \"Ada\"}"), NULL, NULL, NULL, NULL, NULL));
    check(objstore_create_from_json(
        transaction, person, OBJSTORE_POLICY_MODIFIED, 0, objstore_cstr(jane), from_year, NULL, NULL, &object, NULL));
    /* An array, read as it goes: the memory of its largest element. */
    if (argc > 1) {
        check(objstore_create_all_from_json_file(transaction, person, OBJSTORE_POLICY_MODIFIED, OBJSTORE_JSON_RELAXED,
                                                 objstore_cstr(argv[1]), from_year, NULL, NULL, &count));
        printf("%" PRIu64 " from %s\n", count, argv[1]);
    }
    /* What is wrong is refused as a whole, and the transaction continues. */
    if (objstore_create_from_json(transaction, person, OBJSTORE_POLICY_ERROR, 0,
            OBJSTORE_STR("{\"name\": \"Bob\",\n \"pets\": [{\"legs\": 3.5}]}"), NULL, NULL, NULL, NULL,
            NULL) != OBJSTORE_OK)
        printf("refused: %s\n", objstore_last_message());

    check(objstore_to_json(transaction, object, 1, OBJSTORE_JSON_PRETTY, &buffer, &text));
    printf("%s\n", text.bytes);
    check(objstore_query_new(transaction, person, NULL, 0, &query));
    check(objstore_query_find(query, transaction, &results));
    check(objstore_query_close(query)); /* what was found with it stays */
    check(objstore_results_to_json(results, 0, OBJSTORE_JSON_EXTENDED, print, stdout, NULL));
    printf("\n");

    check(objstore_buffer_free(&buffer));
    check(objstore_commit(transaction, NULL));
    check(objstore_close(store));
    check(objstore_config_close(config));
    return objstore_schema_close(schema);
}
