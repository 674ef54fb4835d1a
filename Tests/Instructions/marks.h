#ifndef MARKS_H
#define MARKS_H
#include <stdint.h>

void marks_start(void);
void marks_stop(void);
void marks_fresh_heap(void);
void marks_begin(const char *path, int64_t count);
void marks_end(void);

#endif
