// Errors, files, random numbers, percentiles.
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

void die_at(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *base = strrchr(file, '/');
    fprintf(stderr, "bench: %s:%d: ", base ? base + 1 : file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

const char *errno_text(void) { return strerror(errno); }

void *must_alloc(size_t bytes) {
    size_t rounded = (bytes + 4095) & ~(size_t)4095;
    if (rounded == 0) rounded = 4096;
    void *memory = aligned_alloc(4096, rounded);
    if (!memory) die("no memory for %zu bytes", bytes);
    return memset(memory, 0, rounded);
}

char *format_path(const char *format, ...) {
    char *path = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&path, format, arguments) < 0) die("no memory for a path");
    va_end(arguments);
    return path;
}

void make_directory(const char *path) {
    char *copy = format_path("%s", path);
    for (char *p = copy + 1;; p++) {
        if (*p != '/' && *p != 0) continue;
        char kept = *p;
        *p = 0;
        check_sys(mkdir(copy, 0777) == 0 || errno == EEXIST);
        *p = kept;
        if (!kept) break;
    }
    free(copy);
}

void remove_directory(const char *path) {
    DIR *directory = opendir(path);
    if (!directory) {
        check_sys(errno == ENOENT);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        char *child = format_path("%s/%s", path, entry->d_name);
        struct stat status;
        check_sys(lstat(child, &status) == 0);
        if (S_ISDIR(status.st_mode)) remove_directory(child);
        else check_sys(unlink(child) == 0);
        free(child);
    }
    check_sys(closedir(directory) == 0);
    check_sys(rmdir(path) == 0);
}

static void copy_file(const char *from, const char *to) {
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    check_sys(in >= 0);
    check_sys(out >= 0);
    static char buffer[1 << 20];
    for (;;) {
        ssize_t got = read(in, buffer, sizeof buffer);
        check_sys(got >= 0);
        if (got == 0) break;
        for (ssize_t done = 0; done < got;) {
            ssize_t put = write(out, buffer + done, (size_t)(got - done));
            check_sys(put > 0);
            done += put;
        }
    }
    check_sys(fsync(out) == 0);     // or the writeback would disturb what is measured next
    check_sys(close(in) == 0);
    check_sys(close(out) == 0);
}

void copy_directory(const char *from, const char *to) {
    remove_directory(to);
    make_directory(to);
    DIR *directory = opendir(from);
    check_sys(directory != NULL);
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        char *source = format_path("%s/%s", from, entry->d_name);
        struct stat status;
        check_sys(lstat(source, &status) == 0);
        if (S_ISREG(status.st_mode)) {
            char *target = format_path("%s/%s", to, entry->d_name);
            copy_file(source, target);
            free(target);
        } else if (!S_ISDIR(status.st_mode)) {
            die("%s is neither a file nor a directory", source);
        } else if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            die("%s: a store with a directory inside cannot be copied", source);
        }
        free(source);
    }
    check_sys(closedir(directory) == 0);
}

uint64_t file_bytes(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) {
        check_sys(errno == ENOENT);
        return 0;
    }
    return (uint64_t)status.st_size;
}

static long file_system_type(const char *path) {
    struct statfs status;
    check_sys(statfs(path, &status) == 0);
    return (long)status.f_type;
}

void refuse_memory_file_system(const char *path) {
    long type = file_system_type(path);
    if (type == 0x01021994 || type == (long)0x858458f6)     // TMPFS_MAGIC, RAMFS_MAGIC
        die("%s is on a file system in memory, where a sync costs nothing; choose a disk with DIR=…", path);
}

const char *file_system_name(const char *path) {
    long type = file_system_type(path);
    switch (type) {
    case 0xef53: return "ext4";
    case 0x58465342: return "xfs";
    case (long)0x9123683e: return "btrfs";
    case 0x794c7630: return "overlayfs";
    case 0x2fc12fc1: return "zfs";
    default: {
        static char text[32];
        snprintf(text, sizeof text, "file system 0x%lx", type);
        return text;
    }
    }
}

uint64_t random_next(random_source *source) {
    uint64_t z = (source->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t random_below(random_source *source, uint64_t bound) {
    return (uint64_t)(((unsigned __int128)random_next(source) * bound) >> 64);
}

void series_add(series *s, double value) {
    if (s->count == s->capacity) {
        s->capacity = s->capacity ? s->capacity * 2 : 64;
        s->values = realloc(s->values, s->capacity * sizeof *s->values);
        if (!s->values) die("no memory for measurements");
    }
    s->values[s->count++] = value;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double series_percentile(const series *s, double fraction) {
    if (s->count == 0) return NAN;
    double *sorted = malloc(s->count * sizeof *sorted);
    if (!sorted) die("no memory to sort measurements");
    memcpy(sorted, s->values, s->count * sizeof *sorted);
    qsort(sorted, s->count, sizeof *sorted, compare_doubles);
    size_t rank = (size_t)ceil(fraction * (double)s->count);
    double value = sorted[rank == 0 ? 0 : rank - 1];
    free(sorted);
    return value;
}

double series_median(const series *s) { return series_percentile(s, 0.5); }

void series_free(series *s) {
    free(s->values);
    *s = (series){0};
}
