// Questions: conditions, orders and links, asked of the store of Person and of one of dogs and what they belong to.
//
//      Dog     {id, age 0 to 19, rank 0 to 99,999, weight 0 to 100, owner → Owner, breeder → Breeder}   N of them
//      Owner   {id, rank 0 to 99, city → City}     N / 1,000, at least 10
//      Breeder {id, rank 0 to 99}                  N / 10
//      City    {id, rank}                          100; the rank is the id
// No property has an index but keys and links, which an engine without links indexes itself.
#ifndef QUERIES_H
#define QUERIES_H

#include "bench.h"

enum { dog_ages = 20, dog_ranks = 100000, ranks = 100, cities = 100 };

// Object i of each class has id i. Columns lie packed, for the floors.
typedef struct {
    size_t dogs, owners, breeders;
    uint8_t *age;
    uint32_t *rank, *owner, *breeder;
    double *weight;
    uint8_t *owner_rank, *owner_city, *breeder_rank;
} kennel;

kennel *kennel_make(size_t dogs);       // the same objects for the same count
void kennel_free(kennel *k);

typedef struct database database;       // each engine defines its own
typedef struct question question;

// What GROUP BY finds, as columns, in no order.
typedef struct { int64_t *key, *count; double *sum; } group_columns;

// What a stream of ids and names held: enough to tell it from another one.
typedef struct { uint64_t rows, mixed; } stream_digest;

static inline void digest_add(stream_digest *d, int64_t id, const char *name, size_t length) {
    d->rows++;
    d->mixed = (d->mixed ^ (uint64_t)id) * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < length; i++) d->mixed = (d->mixed ^ (uint8_t)name[i]) * 0x100000001b3u;
}

typedef struct queries {
    const char *(*version)(void);
    // Whether it answers a question of this name; NULL: all.
    bool (*answers)(const char *name);
    // The store of Person without an index on age; NULL: that of the engine's `peer`.
    void (*create_people)(const char *dir, const people *data);
    void (*create_kennel)(const char *dir, const kennel *data);
    // A store that was created before, in its directory.
    database *(*open)(const char *dir, bool of_kennel);
    void (*close)(database *d);
    // A question in the engine's language, which finds objects of the class, or of SQL yields one column.
    question *(*prepare)(database *d, const char *class_name, const char *text);
    void (*finish)(question *q);
    // How many it finds; of SQL: the one value that it yields.
    uint64_t (*count)(question *q);
    // Copies what it finds, at most `room` objects, into memory of the question: handles, of SQL ids.
    size_t (*list)(question *q, size_t room);
    // The ids of what `list` has found last.
    void (*ids)(question *q, int64_t *ids);
    // Of a question that yields a key, a count and a sum of doubles for each group: how many groups there are.
    size_t (*groups)(question *q, size_t room, group_columns groups);
    // Of a question that yields ids and names: has all of them in memory as columns, batch by batch in the engine's own
    // form; of objstore with texts as views. The values are looked at only for a digest; NULL: not wanted.
    void (*stream)(question *q, bool views, stream_digest *digest);
} queries;

extern const queries queries_sqlite;
extern const queries queries_lmdb;      // its questions are names, for it has no language
#ifdef HAVE_OBJSTORE
extern const queries queries_objstore;
#endif
#ifdef HAVE_DUCKDB
extern const queries queries_duckdb;
#endif

// ------------------------------------------------------------------------------- floors_query.c

// What the questions of cases_query.c are to find, by loops over the packed columns. Each returns how many that are;
// those that list write the ids.
typedef struct {
    const people *people;
    const kennel *kennel;
    const uint8_t *in_10000;    // of each rank of a dog, whether it is among the 10,000
} truth;
typedef size_t question_floor(const truth *t, int64_t *ids);

question_floor floor_and_2, floor_and_3, floor_or_2, floor_not, floor_in_10, floor_in_10000;
question_floor floor_contains, floor_contains_c, floor_like, floor_like_c;
question_floor floor_link, floor_link_list, floor_link_many, floor_link_many_list, floor_link_2;
question_floor floor_inverse_count, floor_subquery, floor_subquery_many;
question_floor floor_distinct, floor_from_index, floor_first_page;
question_floor floor_sort_full, floor_sort_string, floor_top_100, floor_page_1000;

// The groups of persons by age with the sums of scores, by an array; of dogs by breeder with the sums of weights, by an
// open hash.
typedef size_t group_floor(const truth *t, group_columns groups);
group_floor floor_group_100, floor_group_100k;

// floor_sort.cpp: C++'s std::sort of keys and positions, and a heap of the first ones.
void sort_by_numbers(const uint8_t *age, const double *score, size_t count, int64_t *ids);
void sort_by_text(const char *heap, const uint32_t *offsets, const double *score, size_t count, int64_t *ids);
void first_by_text(const char *heap, const uint32_t *offsets, const double *score, size_t count, size_t first,
                   size_t limit, int64_t *ids);

#endif
