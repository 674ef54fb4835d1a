// Objects with links, a list, a map and a mixed value, beside the same in tables with foreign keys.
//
//      Person {id, notes: map of texts to ints, labels: set of texts}   ids 0 to persons - 1;
//             notes and labels of person 0 alone
//      Dog    {id, owner → Person, friend → Dog, extra: mixed, marks: list of ints, rank}
//             dog i: owner i % persons, friend i / 2 (of dog 0 none), extra i or, of every third, a text, marks
//             i … i + 4,
//             rank 0 to 99 in no order
#ifndef GRAPH_H
#define GRAPH_H

#include "bench.h"

enum { marks_of_a_dog = 5, note_key_length = 12 };

typedef struct graph graph;
typedef struct herds herds;

typedef struct graphs {
    graph *(*create)(const char *dir);
    void (*close)(graph *g);
    // One transaction each, objects one by one, in the order of their ids.
    void (*fill)(graph *g, size_t persons, size_t dogs);
    void (*fill_notes)(graph *g, const char *keys, size_t count);               // key i, note_key_length bytes, is i
    void (*fill_labels)(graph *g, const char *keys, size_t count);              // keys as above
    void (*delete_persons)(graph *g, int64_t first, size_t count);  // one by one; their dogs have no owner then
    size_t (*delete_dogs)(graph *g, int64_t rank);                  // all below; links to them are none then
    // Sum of the ids of the dogs whose owner it is, and how many.
    int64_t (*dogs_of)(graph *g, int64_t person, size_t *count);
    void (*read_notes)(graph *g, const char *keys, const size_t *which, size_t size, int64_t *values);
    void (*have_labels)(
        graph *g, const char *keys, const size_t *which, size_t size, int64_t *values);  // 1: it is one, or 0
    void (*read_extras)(graph *g, const int64_t *dogs, size_t size, int64_t *values);   // of a text its length
    int64_t (*sum_marks)(graph *g);
    size_t (*dogs_without_owner)(graph *g);
    size_t (*dogs_without_friend)(graph *g);
    const herds *herds;     // of the same engine
} graphs;

extern const graphs graphs_sqlite;
#ifdef HAVE_OBJSTORE
extern const graphs graphs_objstore;
#endif

// One herd, whose list has every dog once, in no order; a store of its own.
typedef struct herd herd;

struct herds {
    herd *(*create)(const char *dir);
    void (*close)(herd *h);
    void (*fill)(herd *h, const int64_t *ids, size_t count);  // the dogs, by id, and the list in the order given
    // One transaction each: the dogs leave the list.
    void (*delete_each)(herd *h, const int64_t *ids, size_t count);
    void (*delete_together)(herd *h, const int64_t *ids, size_t count);
    void (*read)(herd *h, int64_t *ids, size_t count);                          // the first of the list
    size_t (*size)(herd *h);
};

// The text that dog `id` has as its extra, NUL-terminated, or NULL: it has its id.
static inline const char *extra_text(int64_t id) { return id % 3 ? NULL : "a text of twenty-four b." + id % 7; }
static inline int64_t rank_of(int64_t id) { return (int64_t)(random_mix((uint64_t)id) % 100); }

#endif
