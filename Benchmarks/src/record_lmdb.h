// The record of a Person in LMDB.
#ifndef RECORD_LMDB_H
#define RECORD_LMDB_H

#include <stddef.h>
#include <stdint.h>

// Packed, because LMDB aligns a value to two bytes only.
typedef struct __attribute__((packed)) {
    int64_t id;
    double score;
    int32_t age;
    uint16_t name_length;
    int16_t email_length;       // −1: null
    char text[46];              // name, then email
} record;

enum { record_head = offsetof(record, text) };

#endif
