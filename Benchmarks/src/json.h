// Arrays of objects as JSON text, as a program gets them: read into a new store in one transaction.
//
//      PEOPLE   Person {id int primary key, name string, age int, score double, email string?, tags: list of strings,
//               dogs: list of Dog {name string, age int}}
//      CITIES   City {geonameid int primary key, name string, latitude double, longitude double, countrycode string,
//               population int, timezone string, admin1code string, alternatenames: list of strings}
#ifndef JSON_H
#define JSON_H

#include "bench.h"

typedef enum { PEOPLE, CITIES } json_shape;

typedef struct json_store json_store;

// What must be there afterwards: objects, the sum of all their ints but the keys, the elements and bytes of their lists
// of strings, the nested objects and the sum of their ages.
typedef struct { int64_t objects, sum, texts, text_bytes, nested, nested_sum; } json_figures;

typedef struct json_importer {
    json_store *(*create)(const char *dir, json_shape shape);
    void (*import)(json_store *s, const char *text, size_t length);
    json_figures (*figures)(json_store *s);
    void (*close)(json_store *s);
} json_importer;

extern const json_importer json_sqlite;
#ifdef HAVE_OBJSTORE
extern const json_importer json_objstore;
#endif

#ifdef HAVE_SIMDJSON
// Parses the text and does nothing with it: how many elements the array has. `text` needs 64 more bytes behind its end.
size_t floor_json(const char *text, size_t length);
#endif

#endif
