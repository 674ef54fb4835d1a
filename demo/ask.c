/* Asks the atlas from C: the questions of questions.tsv, as texts.
 *
 *      ask-c atlas.objstore <questions.tsv
 *
 * A line for each: the answer, the microseconds that it took (the fastest of five), the question. Where the question
 * wants it, lines follow that say how it was found. The classes are those that the file has; ask.py and AskSwift, which
 * print the same, have classes of their own. What a query can be: docs/query-language.md.
 */
#define _POSIX_C_SOURCE 199309L
#include <inttypes.h>
#include <objstore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRY(call)                                                        \
    do {                                                                 \
        if ((call) != OBJSTORE_OK) {                                     \
            fprintf(stderr, "%s: %s\n", #call, objstore_last_message()); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

enum { TIMES = 5, LONGEST = 4096 };

/* Columns of a line of the file. */
enum { QUESTION, CLASS, KIND, PLAN, ANSWER, TEXT, COLUMNS };

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Cuts a line at its tabs. */
static void cut(char *line, char *columns[COLUMNS]) {
    size_t i;

    line[strcspn(line, "\n")] = 0;
    for (i = 0; i < COLUMNS; i++) {
        columns[i] = line;
        line = strchr(line, '\t');
        if ((line != NULL) != (i + 1 < COLUMNS)) {
            fprintf(stderr, "not %d columns: %s\n", COLUMNS, columns[0]);
            exit(1);
        }
        if (line) *line++ = 0;
    }
}

static void print_value(objstore_value value) {
    switch (value.kind) {
    case OBJSTORE_KIND_NULL: printf("null"); break;
    case OBJSTORE_KIND_INT: printf("%" PRId64, value.data.integer); break;
    case OBJSTORE_KIND_STRING: fwrite(value.data.text.bytes, 1, value.data.text.length, stdout); break;
    default: fprintf(stderr, "a value of kind %d, which no question asks for\n", (int)value.kind); exit(1);
    }
}

static void print_table(objstore_table *table) {
    objstore_value value;
    uint64_t rows, row;
    size_t columns, column;

    TRY(objstore_table_size(table, &rows, &columns));
    for (row = 0; row < rows; row++)
        for (column = 0; column < columns; column++) {
            TRY(objstore_table_value(table, row, column, &value));
            printf("%s", column > 0 ? " " : row > 0 ? ", " : "");
            print_value(value);
        }
}

static void ask(objstore_view *view, char *columns[COLUMNS]) {
    const objstore_text text = objstore_cstr(columns[TEXT]);
    const bool is_table = strcmp(columns[KIND], "table") == 0;
    objstore_class_id class_id;
    objstore_query *query = NULL;
    objstore_table *table = NULL;
    uint64_t count = 0;
    double begin, taken, fastest = 1e12;
    int i;

    TRY(objstore_find_class(view, objstore_cstr(columns[CLASS]), &class_id));
    for (i = 0; i < TIMES; i++) {
        TRY(objstore_table_close(table));
        TRY(objstore_query_close(query));
        table = NULL;
        begin = microseconds();
        TRY(objstore_query_parse(view, class_id, text, NULL, 0, &query));
        if (is_table) TRY(objstore_query_table(query, view, &table));
        else TRY(objstore_query_count(query, view, &count));
        taken = microseconds() - begin;
        if (taken < fastest) fastest = taken;
    }
    if (is_table) print_table(table);
    else printf("%" PRIu64, count);
    printf("\t%.0f\t%s\n", fastest, columns[QUESTION]);

    if (strcmp(columns[PLAN], "plan") == 0) {
        objstore_buffer buffer = objstore_buffer_init();
        objstore_text plan;
        char *step;

        TRY(objstore_query_explain(query, view, OBJSTORE_EXPLAIN_RUN, &buffer, &plan));
        /* A buffer has a zero byte behind its text. */
        for (step = strtok((char *)buffer.bytes, "\n"); step; step = strtok(NULL, "\n")) printf("  %s\n", step);
        TRY(objstore_buffer_free(&buffer));
    }
    TRY(objstore_table_close(table));
    TRY(objstore_query_close(query));
}

int main(int argc, char **argv) {
    char line[LONGEST], *columns[COLUMNS];
    objstore_config *config;
    objstore *store;
    objstore_view *view;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE <questions.tsv\n", argv[0]);
        return 2;
    }
    TRY(objstore_config_new(&config));
    TRY(objstore_config_set_path(config, objstore_cstr(argv[1])));
    TRY(objstore_config_set_mode(config, OBJSTORE_MODE_READ_ONLY));
    TRY(objstore_open(config, &store));
    TRY(objstore_config_close(config));
    TRY(objstore_view_open(store, &view));

    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == '#') continue;
        cut(line, columns);
        ask(view, columns);
    }
    TRY(objstore_view_close(view));
    TRY(objstore_close(store));
    return 0;
}
