/* The arguments of the process, as they were handed to it. Swift's CommandLine reads them from /proc, and has none
 * where that is not to be seen. */
#pragma once
#include <stdint.h>

/* With the name of the program. */
int32_t ca_count(void);
const char *ca_at(int32_t index);
