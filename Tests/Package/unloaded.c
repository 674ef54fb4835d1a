/* A host of plugins: each loads the library on a thread of its own, uses it, unloads it, and the thread ends only then.
 *
 *      ./unloaded LIBRARY ROUNDS
 */
#include <dlfcn.h>
#include <objstore.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char *library;

static void *plugin(void *failed) {
    void *handle = dlopen(library, RTLD_NOW);
    objstore_status (*schema_new)(objstore_schema **);
    objstore_status (*schema_close)(objstore_schema *);
    objstore_schema *schema;
    *(int *)failed = 1;
    if (!handle) return NULL;
    *(void **)&schema_new = dlsym(handle, "objstore_schema_new");
    *(void **)&schema_close = dlsym(handle, "objstore_schema_close");
    if (schema_new(&schema) != OBJSTORE_OK || schema_close(schema) != OBJSTORE_OK) return NULL;
    *(int *)failed = dlclose(handle);
    return NULL;
}

int main(int argc, char **argv) {
    int rounds = argc == 3 ? atoi(argv[2]) : 0, i, keys = 0;
    pthread_key_t key;
    library = argc == 3 ? argv[1] : "";
    for (i = 0; i < rounds; i++) {
        pthread_t thread;
        int failed;
        if (pthread_create(&thread, NULL, plugin, &failed) != 0) return 1;
        pthread_join(thread, NULL);
        if (failed) {
            fprintf(stderr, "round %d: %s\n", i, dlerror());
            return 1;
        }
    }
    /* Of the 1024 keys that a process has. */
    while (keys < 1024 && pthread_key_create(&key, NULL) == 0) keys++;
    printf("%d times loaded and unloaded; %d keys are left\n", rounds, keys);
    return keys >= 1000 ? 0 : 1;
}
