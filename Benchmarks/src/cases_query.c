// Questions (queries.h): what is asked in which words, and what must come out. A question is made once, as a statement
// of SQL is prepared once, and asked in turns with the floor and the other engines.
#include "cases.h"
#include "queries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { PEOPLE, PEOPLE_INDEXED, KENNEL, STORES } question_store;
// FOUND_AGES: objstore finds the first person of each age, SQL yields the ages.
typedef enum { COUNTED, FOUND, FOUND_UNORDERED, FOUND_AGES } answer_kind;

typedef struct {
    const char *of_case, *name;     // a case may have several figures
    question_store store;
    answer_kind kind;
    const char *class_name, *objstore, *sql;
    question_floor *expected;
    bool is_floor;                  // what is expected is found in the way that a program would without an engine
} asked;

#define TEN "3, 14, 15, 92, 65, 35, 89, 79, 32, 38"
#define DOGS "SELECT count(*) FROM dog WHERE "
#define PERSONS "SELECT count(*) FROM person WHERE "
#define BY_NAME "SELECT id FROM person ORDER BY name, score, id"
#define OWNERS_OF_RANK "(SELECT id FROM owner WHERE rank < 10)"
#define BREEDERS_OF_RANK "(SELECT id FROM breeder WHERE rank < 10)"
#define MORE_THAN(count, of, condition) \
    "SELECT count(*) FROM (SELECT " of " FROM dog" condition " GROUP BY " of " HAVING count(*) > " count ")"

// % stands for 10,000 numbers.
static const asked questions[] = {
    {"count_and_2", "count_and_2", KENNEL, COUNTED, "Dog", "age < 10 AND rank < 50000",
     DOGS "age < 10 AND rank < 50000", floor_and_2, true},
    {"count_and_3", "count_and_3", KENNEL, COUNTED, "Dog", "age < 10 AND rank < 50000 AND weight < 50",
     DOGS "age < 10 AND rank < 50000 AND weight < 50", floor_and_3, true},
    {"count_or_2", "count_or_2", KENNEL, COUNTED, "Dog", "age < 2 OR rank < 10000", DOGS "age < 2 OR rank < 10000",
     floor_or_2, true},
    {"count_not", "count_not", KENNEL, COUNTED, "Dog", "NOT (age < 10 AND rank < 50000)",
     DOGS "NOT (age < 10 AND rank < 50000)", floor_not, true},
    {"count_in_10", "count_in_10", PEOPLE, COUNTED, "Person", "age IN {" TEN "}", PERSONS "age IN (" TEN ")",
     floor_in_10, true},
    {"count_in_10000", "count_in_10000", KENNEL, COUNTED, "Dog", "rank IN {%}", DOGS "rank IN (%)", floor_in_10000,
     true},
    {"string_contains", "string_contains", PEOPLE, COUNTED, "Person", "name CONTAINS \"xyz\"",
     PERSONS "instr(name, 'xyz') > 0", floor_contains, true},
    {"string_contains_c", "string_contains_c", PEOPLE, COUNTED, "Person", "name CONTAINS[c] \"XyZ\"",
     PERSONS "name LIKE '%XyZ%'", floor_contains_c, true},
    {"string_like", "string_like", PEOPLE, COUNTED, "Person", "name LIKE \"a*b*c*\"", PERSONS "name GLOB 'a*b*c*'",
     floor_like, true},
    {"string_like", "string_like_c", PEOPLE, COUNTED, "Person", "name LIKE[c] \"A*b*C*\"",
     PERSONS "name LIKE 'A%b%C%'", floor_like_c, true},
    {"link_1", "link_1", KENNEL, COUNTED, "Dog", "owner.rank < 10", DOGS "owner IN " OWNERS_OF_RANK, floor_link, true},
    {"link_1", "link_1_list", KENNEL, FOUND_UNORDERED, "Dog", "owner.rank < 10",
     "SELECT id FROM dog WHERE owner IN " OWNERS_OF_RANK, floor_link_list, true},
    {"link_1", "link_1_many", KENNEL, COUNTED, "Dog", "breeder.rank < 10", DOGS "breeder IN " BREEDERS_OF_RANK,
     floor_link_many, true},
    {"link_1", "link_1_many_list", KENNEL, FOUND_UNORDERED, "Dog", "breeder.rank < 10",
     "SELECT id FROM dog WHERE breeder IN " BREEDERS_OF_RANK, floor_link_many_list, true},
    {"link_2", "link_2", KENNEL, COUNTED, "Dog", "owner.city.rank < 10",
     DOGS "owner IN (SELECT id FROM owner WHERE city IN (SELECT id FROM city WHERE rank < 10))", floor_link_2, true},
    {"inverse_count", "inverse_count", KENNEL, COUNTED, "Breeder", "@links.Dog.breeder.@count > 12",
     MORE_THAN("12", "breeder", ""), floor_inverse_count, true},
    {"subquery", "subquery", KENNEL, COUNTED, "Owner", "SUBQUERY(@links.Dog.owner, $x, $x.age < 4).@count > 200",
     MORE_THAN("200", "owner", " WHERE age < 4"), floor_subquery, true},
    {"subquery", "subquery_many", KENNEL, COUNTED, "Breeder",
     "SUBQUERY(@links.Dog.breeder, $x, $x.age < 4).@count > 2", MORE_THAN("2", "breeder", " WHERE age < 4"),
     floor_subquery_many, true},
    {"distinct", "distinct", PEOPLE, FOUND_AGES, "Person", "DISTINCT(age)",
     "SELECT DISTINCT age::BIGINT FROM person", floor_distinct, true},
    {"sort_full", "sort_full", PEOPLE, FOUND, "Person", "SORT(age DESC, score ASC)",
     "SELECT id FROM person ORDER BY age DESC, score, id", floor_sort_full, true},
    {"sort_string", "sort_string", PEOPLE, FOUND, "Person", "SORT(name ASC, score ASC)", BY_NAME, floor_sort_string,
     true},
    {"sort_top_100", "sort_top_100", PEOPLE, FOUND, "Person", "SORT(name ASC, score ASC) LIMIT(100)",
     BY_NAME " LIMIT 100", floor_top_100, true},
    {"page_1000", "page_1000", PEOPLE, FOUND, "Person", "SORT(name ASC, score ASC) OFFSET(1000) LIMIT(100)",
     BY_NAME " LIMIT 100 OFFSET 1000", floor_page_1000, true},
    {"sort_from_index", "sort_from_index", PEOPLE_INDEXED, FOUND, "Person", "SORT(age ASC) LIMIT(100)",
     "SELECT id FROM person ORDER BY age, id LIMIT 100", floor_from_index, false},
    {"first_page", "first_page", PEOPLE, FOUND_UNORDERED, "Person", "score < 50000 LIMIT(100)",
     "SELECT id FROM person WHERE score < 50000 LIMIT 100", floor_first_page, true},
};
enum { question_count = sizeof questions / sizeof *questions };

// What one engine says otherwise, or has to be told: SQLite would look up each dog of an owner.
static const struct { int slot; const char *name, *sql; } others[] = {
    {SQLITE, "subquery", MORE_THAN("200", "owner", " NOT INDEXED WHERE age < 4")},
    {SQLITE, "subquery_many", MORE_THAN("2", "breeder", " NOT INDEXED WHERE age < 4")},
    {SQLITE, "distinct", "SELECT DISTINCT age FROM person"},
    {DUCKDB, "string_contains", PERSONS "contains(name, 'xyz')"},
    {DUCKDB, "string_contains_c", PERSONS "name ILIKE '%XyZ%'"},
    {DUCKDB, "string_like", PERSONS "name LIKE 'a%b%c%'"},
    {DUCKDB, "string_like_c", PERSONS "name ILIKE 'A%b%C%'"},
};

typedef struct {
    bench *bench;
    truth truth;
    char *numbers;                          // 10,000 of them, with commas
    database *open[SLOTS][STORES];          // when first asked
} session;

#define each_engine(b, slot) for (int slot = FLOOR + 1; slot < SLOTS; slot++) if ((b)->queries[slot])
#define each_engine_for(b, slot, name) each_engine(b, slot) if (answers((b)->queries[slot], name))

static bool answers(const queries *engine, const char *name) { return !engine->answers || engine->answers(name); }

static char *directory_of(session *s, int slot, question_store store) {
    bench *b = s->bench;
    const queries *engine = b->queries[slot];
    if (store != KENNEL && !engine->create_people) return master(b, slot, store == PEOPLE_INDEXED);
    char *path = fresh_directory(b, slot, store == KENNEL ? "kennel" : "people");
    if (store == KENNEL) engine->create_kennel(path, s->truth.kennel);
    else engine->create_people(path, b->data);
    return path;
}

static database *database_of(session *s, int slot, question_store store) {
    const queries *engine = s->bench->queries[slot];
    if (store == PEOPLE_INDEXED && engine->create_people) store = PEOPLE;   // no second one
    if (!s->open[slot][store]) {
        char *path = directory_of(s, slot, store);
        s->open[slot][store] = engine->open(path, store == KENNEL);
        free(path);
    }
    return s->open[slot][store];
}

// The words for an engine; the caller frees them.
static char *words_for(const session *s, int slot, const asked *a) {
    const char *words = slot == OBJSTORE ? a->objstore : slot == LMDB ? a->name : a->sql;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (slot == others[i].slot && !strcmp(others[i].name, a->name)) words = others[i].sql;
    const char *place = strcmp(a->name, "count_in_10000") ? NULL : strchr(words, '%');
    if (!place) return format_path("%s", words);
    return format_path("%.*s%s%s", (int)(place - words), words, s->numbers, place + 1);
}

// 10,000 of the ranks of dogs, in no order.
static void choose_numbers(session *s) {
    enum { wanted = 10000, digits = 6 };
    uint8_t *is_in = must_alloc(dog_ranks);
    s->numbers = must_alloc(wanted * (digits + 2));
    random_source r = {17};
    char *end = s->numbers;
    for (size_t found = 0; found < wanted;) {
        const uint64_t rank = random_below(&r, dog_ranks);
        if (is_in[rank]) continue;
        is_in[rank] = 1;
        end += sprintf(end, found++ ? ", %lu" : "%lu", rank);
    }
    s->truth.in_10000 = is_in;
}

typedef struct {
    const asked *what;
    const truth *truth;
    int64_t *expected, *found, *scratch;    // ids
    int64_t *ages;                          // of those expected, in order
    size_t expected_count, room;
} answer;

static int compare_ids(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check_answer(const answer *a, int slot, const queries *engine, question *q, size_t count) {
    const asked *what = a->what;
    if (count != a->expected_count)
        die("%s: %s: %zu found, not %zu", what->name, slot_names[slot], count, a->expected_count);
    if (what->kind == COUNTED) return;
    engine->ids(q, a->found);
    if (what->kind != FOUND) qsort(a->found, count, sizeof *a->found, compare_ids);
    const int64_t *expected = what->kind == FOUND_AGES && slot != OBJSTORE ? a->ages : a->expected;
    for (size_t i = 0; i < count; i++)
        if (a->found[i] != expected[i])
            die("%s: %s: %ld stands at %zu, not %ld", what->name, slot_names[slot], a->found[i], i, expected[i]);
}

// Median time of an answer, in microseconds, of a peer or, without one, of the floor; of short ones many are taken.
static double timed_answer(const answer *a, int slot, const queries *engine, question *q) {
    series times = {0};
    int64_t total = 0;
    do {
        const int64_t start = now_ns();
        const size_t count = !engine                   ? a->what->expected(a->truth, a->scratch)
                             : a->what->kind == COUNTED ? engine->count(q)
                                                       : engine->list(q, a->room);
        const int64_t time = now_ns() - start;
        total += time;
        series_add(&times, microseconds(time));
        if (engine) check_answer(a, slot, engine, q, count);
        else if (count != a->expected_count) die("%s: the floor found %zu", a->what->name, count);
    } while ((total < 4000000 || (times.count < 3 && total < 60000000)) && times.count < 400);
    const double median = series_median(&times);
    series_free(&times);
    return median;
}

static void run_question(session *s, const asked *what) {
    bench *b = s->bench;
    result *r = add_result(b, what->name, "us/case", false);
    const size_t room = b->data->count;
    answer a = {what, &s->truth, must_alloc(room * 8), must_alloc(room * 8), must_alloc(room * 8), NULL, 0, room};
    a.expected_count = what->expected(&s->truth, a.expected);
    if (what->kind == FOUND_AGES) {
        a.ages = must_alloc(a.expected_count * 8);
        for (size_t i = 0; i < a.expected_count; i++) a.ages[i] = b->data->age[a.expected[i]];
        qsort(a.ages, a.expected_count, sizeof *a.ages, compare_ids);
    }
    question *asking[SLOTS] = {0};
    each_engine_for(b, slot, what->name) {
        char *words = words_for(s, slot, what);
        asking[slot] = b->queries[slot]->prepare(database_of(s, slot, what->store), what->class_name, words);
        free(words);
        timed_answer(&a, slot, b->queries[slot], asking[slot]);     // first touches
    }
    for (size_t i = 0, n = repetitions(b, 7); i < n; i++) {
        if (what->is_floor) series_add(&r->tracks[FLOOR].repetitions, timed_answer(&a, FLOOR, NULL, NULL));
        each_engine_for(b, slot, what->name) series_add(
            &r->tracks[slot].repetitions, timed_answer(&a, slot, b->queries[slot], asking[slot]));
    }
    each_engine_for(b, slot, what->name) b->queries[slot]->finish(asking[slot]);
    free(a.expected);
    free(a.found);
    free(a.scratch);
    free(a.ages);
}

// From a text to a question that can be asked, and its end.
static void run_parse(session *s) {
    enum { times = 100 };
    bench *b = s->bench;
    result *r = add_result(b, "query_parse", "us/query", false);
    for (size_t i = 0, n = repetitions(b, 30); i <= n; i++)
        each_engine_for(b, slot, "query_parse") {
            const queries *engine = b->queries[slot];
            database *d = database_of(s, slot, PEOPLE);
            const char *text = slot == OBJSTORE ? "age < 20 AND name BEGINSWITH \"ab\""
                               : slot == DUCKDB ? "SELECT id FROM person WHERE age < 20 AND starts_with(name, 'ab')"
                                                : "SELECT id FROM person WHERE age < 20 AND name GLOB 'ab*'";
            const int64_t start = now_ns();
            for (size_t k = 0; k < times; k++) engine->finish(engine->prepare(d, "Person", text));
            if (i) series_add(&r->tracks[slot].repetitions, microseconds(now_ns() - start) / times);
        }
}

// ----------------------------------------------------------------------------------------- groups

typedef struct {
    const char *name;
    question_store store;
    const char *class_name, *objstore, *sql, *sqlite;   // sqlite: NULL: the same
    group_floor *floor;
} grouped;

// By breeder SQLite would look up each dog in the order of the index.
static const grouped groupings[] = {
    {"group_100", PEOPLE, "Person", "GROUP(age) SELECT(age, @count, @sum.score)",
     "SELECT age::BIGINT, count(*), sum(score) FROM person GROUP BY age",
     "SELECT age, count(*), sum(score) FROM person GROUP BY age", floor_group_100},
    {"group_100k", KENNEL, "Dog", "GROUP(breeder) SELECT(breeder, @count, @sum.weight)",
     "SELECT breeder::BIGINT, count(*), sum(weight) FROM dog GROUP BY breeder",
     "SELECT breeder, count(*), sum(weight) FROM dog NOT INDEXED GROUP BY breeder", floor_group_100k},
};

static group_columns group_columns_make(size_t room) {
    return (group_columns){must_alloc(room * 8), must_alloc(room * 8), must_alloc(room * 8)};
}

static void group_columns_free(group_columns *g) {
    free(g->key);
    free(g->count);
    free(g->sum);
}

// Puts the groups at the places of their keys, which are less than `room`: none may be there twice.
static void place_groups(const group_columns *g, size_t count, size_t room, group_columns *places, const char *name) {
    memset(places->count, 0, room * 8);
    for (size_t i = 0; i < count; i++) {
        const int64_t key = g->key[i];
        if (key < 0 || (size_t)key >= room || places->count[key]) die("%s: a group %ld that is not", name, key);
        places->count[key] = g->count[i];
        places->sum[key] = g->sum[i];
    }
}

static void run_grouping(session *s, const grouped *what) {
    bench *b = s->bench;
    result *r = add_result(b, what->name, "us/case", false);
    const size_t room = s->truth.kennel->breeders > 256 ? s->truth.kennel->breeders : 256;
    group_columns found = group_columns_make(room), expected = group_columns_make(room),
                  places = group_columns_make(room);
    place_groups(&found, what->floor(&s->truth, found), room, &expected, "floor");
    question *asking[SLOTS] = {0};
    each_engine_for(b, slot, what->name) {
        const char *text = slot == OBJSTORE ? what->objstore
                           : slot == LMDB   ? what->name
                           : slot == SQLITE ? what->sqlite
                                            : what->sql;
        asking[slot] = b->queries[slot]->prepare(database_of(s, slot, what->store), what->class_name, text);
    }
    // The first round is not measured: first touches.
    for (size_t i = 0, n = repetitions(b, 7); i <= n; i++)
        for (int slot = FLOOR; slot < SLOTS; slot++) {
            if (slot != FLOOR && (!b->queries[slot] || !answers(b->queries[slot], what->name))) continue;
            const int64_t start = now_ns();
            const size_t count = slot == FLOOR ? what->floor(&s->truth, found)
                                               : b->queries[slot]->groups(asking[slot], room, found);
            const int64_t time = now_ns() - start;
            if (i) series_add(&r->tracks[slot].repetitions, microseconds(time));
            place_groups(&found, count, room, &places, slot_names[slot]);
            for (size_t key = 0; key < room; key++)     // sums of eighths are exact in any order
                if (places.count[key] != expected.count[key] ||
                    (places.count[key] && places.sum[key] != expected.sum[key]))
                    die("%s: %s: group %zu is wrong", what->name, slot_names[slot], key);
        }
    each_engine_for(b, slot, what->name) b->queries[slot]->finish(asking[slot]);
    group_columns_free(&found);
    group_columns_free(&expected);
    group_columns_free(&places);
}

// ---------------------------------------------------------------------------------------- streams

// All ids and names as columns; the floor copies the bytes that an Arrow stream has of them, with texts one behind the
// other.
static void run_stream(session *s, const char *name, bool views) {
    bench *b = s->bench;
    const people *p = b->data;
    result *r = add_result(b, name, "us/case", false);
    const size_t id_bytes = p->count * 8, offset_bytes = id_bytes + 8, name_bytes = p->name_offset[p->count];
    int64_t *offsets = must_alloc(offset_bytes);
    char *copy = must_alloc(id_bytes + offset_bytes + name_bytes);
    stream_digest expected = {0};
    for (size_t i = 0; i < p->count; i++) digest_add(&expected, p->id[i], name_of(p, i), name_length(p, i));
    for (size_t i = 0; i <= p->count; i++) offsets[i] = p->name_offset[i];
    question *asking[SLOTS] = {0};
    each_engine_for(b, slot, "arrow_stream") {
        const char *text = slot == OBJSTORE ? "SELECT(id, name)" : "SELECT id, name FROM person";
        asking[slot] = b->queries[slot]->prepare(database_of(s, slot, PEOPLE), "Person", text);
    }
    // The first round is not measured: first touches, and what has been read.
    for (size_t i = 0, n = repetitions(b, 7); i <= n; i++) {
        int64_t start = now_ns();
        memcpy(copy, p->id, id_bytes);
        memcpy(copy + id_bytes, offsets, offset_bytes);
        memcpy(copy + id_bytes + offset_bytes, p->name_heap, name_bytes);
        if (i) series_add(&r->tracks[FLOOR].repetitions, microseconds(now_ns() - start));
        each_engine_for(b, slot, "arrow_stream") {
            stream_digest digest = {0};
            start = now_ns();
            b->queries[slot]->stream(asking[slot], views, i ? NULL : &digest);
            if (i) series_add(&r->tracks[slot].repetitions, microseconds(now_ns() - start));
            else if (digest.rows != expected.rows || digest.mixed != expected.mixed)
                die("%s: %s: %lu other rows", name, slot_names[slot], digest.rows);
        }
    }
    each_engine_for(b, slot, "arrow_stream") b->queries[slot]->finish(asking[slot]);
    free(offsets);
    free(copy);
}

void run_queries(bench *b, wanted_function *wanted) {
    session s = {.bench = b, .truth = {.people = b->data, .kennel = kennel_make(b->data->count)}};
    choose_numbers(&s);
    for (size_t i = 0; i < question_count; i++)
        if (wanted(questions[i].of_case)) run_question(&s, &questions[i]);
    if (wanted("query_parse")) run_parse(&s);
    for (size_t i = 0; i < sizeof groupings / sizeof *groupings; i++)
        if (wanted(groupings[i].name)) run_grouping(&s, &groupings[i]);
    if (wanted("arrow_stream")) run_stream(&s, "arrow_stream", false);
    if (wanted("arrow_view")) run_stream(&s, "arrow_view", true);
    each_engine(b, slot)
        for (int store = 0; store < STORES; store++)
            if (s.open[slot][store]) b->queries[slot]->close(s.open[slot][store]);
    kennel_free((kennel *)s.truth.kennel);
    free((uint8_t *)s.truth.in_10000);
    free(s.numbers);
}
