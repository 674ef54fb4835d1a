/* A writer that opens a file as the core does (Sources/CSystem/fork.c), maps it, takes the lock on
 * byte 7, forks a child that sleeps, says "ready CHILD" and waits to be killed.
 * usage: fork FILE handlers|bare        (bare: _Fork, which runs no handlers: the control) */
#define _GNU_SOURCE
#include "csystem.h"

int main(int count, char **arguments) {
    if (count != 3) return 2;
    if (cs_fork_start() != 0) return 3;
    struct cs_held *file = cs_held_open(arguments[1], O_RDWR | O_CREAT, 0666);
    if (!file || ftruncate(file->fd, 4096) != 0) return 4;
    struct cs_held *map = cs_held_map(file->fd, 4096, true);
    if (!map || cs_lock_byte(file->fd, 7, true) != 0) return 5;
    *(volatile char *)map->base = 1;

    pid_t child = strcmp(arguments[2], "bare") == 0 ? _Fork() : fork();
    if (child < 0) return 6;
    if (child == 0) {
        alarm(60);                       /* the end, should the script forget it */
        for (;;) pause();
    }
    printf("ready %d\n", (int)child);
    fflush(stdout);
    for (;;) pause();
}
