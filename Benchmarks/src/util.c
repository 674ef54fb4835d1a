// Errors, files, random numbers, percentiles.
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static void copy_file(const char *from, const char *to, bool sync) {
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
    if (sync) check_sys(fsync(out) == 0);     // or the writeback would disturb what is measured next
    check_sys(close(in) == 0);
    check_sys(close(out) == 0);
}

void copy_directory(const char *from, const char *to, bool sync) {
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
            copy_file(source, target, sync);
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

// Calls visit(path, status, context) for each regular file of a directory, at any depth.
static void each_file(const char *path, void (*visit)(const char *, const struct stat *, void *), void *context) {
    DIR *directory = opendir(path);
    check_sys(directory != NULL);
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        char *child = format_path("%s/%s", path, entry->d_name);
        struct stat status;
        check_sys(lstat(child, &status) == 0);
        if (S_ISDIR(status.st_mode)) each_file(child, visit, context);
        else if (S_ISREG(status.st_mode)) visit(child, &status, context);
        free(child);
    }
    check_sys(closedir(directory) == 0);
}

static void add_blocks(const char *path, const struct stat *status, void *context) {
    (void)path;
    *(uint64_t *)context += (uint64_t)status->st_blocks * 512;
}

uint64_t allocated_bytes(const char *directory) {
    uint64_t bytes = 0;
    each_file(directory, add_blocks, &bytes);
    return bytes;
}

void sync_file_system(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    check_sys(descriptor >= 0);
    check_sys(syncfs(descriptor) == 0);
    check_sys(close(descriptor) == 0);
}

static void drop_file(const char *path, const struct stat *status, void *context) {
    (void)status, (void)context;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    check_sys(descriptor >= 0);
    check_sys(fsync(descriptor) == 0);      // a dirty page cannot be dropped
    errno = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    check_sys(errno == 0);
    check_sys(close(descriptor) == 0);
}

static void add_cached(const char *path, const struct stat *status, void *context) {
    size_t length = (size_t)status->st_size, pages = (length + 4095) / 4096;
    if (!pages) return;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    check_sys(descriptor >= 0);
    void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, descriptor, 0);
    check_sys(map != MAP_FAILED);
    unsigned char *resident = must_alloc(pages);
    check_sys(mincore(map, length, resident) == 0);
    for (size_t i = 0; i < pages; i++) *(uint64_t *)context += resident[i] & 1;
    free(resident);
    check_sys(munmap(map, length) == 0);
    check_sys(close(descriptor) == 0);
}

uint64_t cached_pages(const char *directory) {
    uint64_t pages = 0;
    each_file(directory, add_cached, &pages);
    return pages;
}

void drop_page_cache(const char *directory) {
    uint64_t left = 0;
    for (int attempt = 0; attempt < 20; attempt++) {    // a page that is being written stays: try again
        each_file(directory, drop_file, NULL);
        if ((left = cached_pages(directory)) == 0) return;
    }
    die("%lu pages of %s stay in the page cache", left, directory);
}

double heap_bytes(void) {
    const struct mallinfo2 all = mallinfo2();
    return (double)all.uordblks + (double)all.hblkhd;
}

uint64_t process_figure(const char *file, const char *name) {
    FILE *in = fopen(file, "r");
    check_sys(in != NULL);
    char line[256];
    unsigned long long value = 0;
    size_t length = strlen(name);
    bool found = false;
    while (!found && fgets(line, sizeof line, in))
        found = !strncmp(line, name, length) && line[length] == ':' && sscanf(line + length + 1, "%llu", &value) == 1;
    check_sys(fclose(in) == 0);
    if (!found) die("%s has no %s", file, name);
    return value;
}

void write_all(int descriptor, const void *bytes, size_t count, uint64_t position) {
    while (count > 0) {
        ssize_t put = pwrite(descriptor, bytes, count, (off_t)position);
        check_sys(put > 0);
        bytes = (const char *)bytes + put;
        count -= (size_t)put;
        position += (uint64_t)put;
    }
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
    return random_mix(source->state += 0x9e3779b97f4a7c15u);
}

uint64_t random_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
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
