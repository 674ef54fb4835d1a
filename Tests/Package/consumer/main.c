/* The library that is loaded is the one whose header was compiled against. */
#include <objstore.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d",
             OBJSTORE_VERSION_MAJOR, OBJSTORE_VERSION_MINOR, OBJSTORE_VERSION_PATCH);
    printf("libobjstore %s (%u)\n", objstore_version(), (unsigned)objstore_version_number());
    if (strcmp(objstore_version(), expected) != 0) return 1;
    return objstore_version_number() == OBJSTORE_VERSION_NUMBER ? 0 : 2;
}
