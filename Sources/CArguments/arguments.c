#include "carguments.h"

static int count;
static char **all;

/* glibc hands to constructors what it hands to main. */
__attribute__((constructor)) static void keep(int argc, char **argv) {
    count = argc;
    all = argv;
}

int32_t ca_count(void) { return count; }
const char *ca_at(int32_t index) { return all[index]; }
