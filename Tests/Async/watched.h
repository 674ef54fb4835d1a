/* What watched.c and watched_copies.c share: what is observed, and the copies that observers keep of it. */
#ifndef WATCHED_H
#define WATCHED_H

#include "async.h"

#include <stdatomic.h>
#include <string.h>

/* What is observed. Of UNPLACED ones the objects are known, not their places; FAR ones are also told what is written
 * behind their links. The others have no copy: SILENCED ones are not told of some transactions, TYPED ones get no
 * change set, and the rest are no queries. */
typedef enum { PLACED, FAR, UNPLACED, SILENCED, TYPED, COMMITS, ONE_OBJECT, LIST_ITSELF } way;
extern const struct kind { way way; bool of_list; const char *text; } kinds[];
enum { KINDS = 19 };
static inline bool has_copy(way way) { return way <= UNPLACED; }
static inline bool is_query(way way) { return way == PLACED || way == FAR || way == SILENCED; }

typedef struct observer {
    struct observer *before;            /* of those that its thread has made */
    int kind;
    _Atomic(struct observer *) *slot;
    objstore_query *query;              /* NULL: of the class */
    objstore_token *token;              /* of whoever has taken the observer out of its slot */
    _Atomic bool is_closed;             /* no call may come any more */
    /* Of the handler. */
    bool is_inside;
    uint64_t calls;
    int64_t *keys;
    size_t count, room;
    /* Of whoever frees it. */
    int freed;
} observer;

void expect(bool holds, const observer *o, const char *what);
/* What its query finds in a view, as keys in memory that the caller frees; without one all of the class. */
int64_t *find_keys(const observer *o, objstore_class_id class_id, objstore_view *view, size_t *count);
/* Does to the copy what a change set says. Everything that this names has to be in the copy, where it says so. */
void follow(observer *o, objstore_changes *changes);
/* The copy is what a query finds in that view. */
void compare_copy(const observer *o, objstore_class_id class_id, objstore_view *view);
/* The objects of a change set in one of its lists. */
typedef struct { const objstore_object *objects; const uint64_t *places; size_t count; } list;
list list_of(objstore_changes *changes, objstore_change which);
extern _Atomic uint64_t moves;  /* that were told */

#endif
