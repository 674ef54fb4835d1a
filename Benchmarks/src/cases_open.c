// Opening a store, warm and cold, and making one.
#include "cases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

void run_open_warm(bench *b, wanted_function *wanted) {
    (void)wanted;
    enum { batch = 20 };
    result *opened = add_result(b, "open_warm", "us/op", false);
    result *first = add_result(b, "open_warm_first_read", "us/op", false);
    char *paths[SLOTS] = {0}, *floor_path = format_path("%s/floor.bulk", b->directory);
    floor_bulk_columns(floor_path, b->data);
    each_peer(b, slot) paths[slot] = master(b, slot, true);
    random_source random = {7};
    for (size_t i = 0, n = repetitions(b, 10); i < n; i++) {
        for (int slot = FLOOR; slot < SLOTS; slot++) {
            if (slot != FLOOR && !b->peers[slot]) continue;
            series opens = {0}, reads = {0};
            for (size_t k = 0; k < batch; k++) {
                int64_t id = (int64_t)random_below(&random, b->data->count), age = -1, middle;
                int64_t start = now_ns();
                if (slot == FLOOR) {
                    floor_open(floor_path);
                    middle = now_ns();
                } else {
                    const peer *p = b->peers[slot];
                    store *s = p->open(paths[slot], (open_options){.durability = DURABLE});
                    middle = now_ns();
                    p->lookup_ages(s, &id, 1, &age);
                    double time = microseconds(now_ns() - start);
                    series_add(&reads, time);
                    series_add(&first->tracks[slot].samples, time);
                    if (age != b->data->age[id]) die("open_warm: %s: wrong age", p->name);
                    p->close(s);
                }
                series_add(&opens, microseconds(middle - start));
                series_add(&opened->tracks[slot].samples, microseconds(middle - start));
            }
            series_add(&opened->tracks[slot].repetitions, series_median(&opens));
            if (reads.count) series_add(&first->tracks[slot].repetitions, series_median(&reads));
            series_free(&opens);
            series_free(&reads);
            if (slot != FLOOR && b->peers[slot]->settle) sync_file_system(b->directory);
        }
    }
    each_peer(b, slot) free(paths[slot]);
    check_sys(unlink(floor_path) == 0);
    free(floor_path);
}

static long major_faults(void) {
    struct rusage usage;
    check_sys(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_majflt;
}

// Two pages of a file, and no reading ahead: through a mapping the kernel takes megabytes.
static void floor_open_cold(const char *path) {
    char page[4096];
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    check_sys(descriptor >= 0);
    errno = posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
    check_sys(errno == 0);
    off_t length = lseek(descriptor, 0, SEEK_END);
    check_sys(length >= (off_t)(2 * sizeof page));
    check_sys(pread(descriptor, page, sizeof page, 0) == sizeof page);
    check_sys(pread(descriptor, page, sizeof page, length / 2 & ~(off_t)4095) == sizeof page);
    check_sys(close(descriptor) == 0);
}

// The files are dropped from the page cache before each open. What the kernel reads ahead counts as
// read. Major faults are how often a reader of a mapping had to wait for the disk.
void run_open_cold(bench *b, wanted_function *wanted) {
    (void)wanted;
    result *opened = add_result(b, "open_cold", "us/op", false);
    result *reads = add_result(b, "open_cold_reads", "4 KiB reads", false);
    char *paths[SLOTS] = {0};
    paths[FLOOR] = fresh_directory(b, FLOOR, "cold");
    char *floor_path = format_path("%s/columns", paths[FLOOR]);
    floor_bulk_columns(floor_path, b->data);
    each_peer(b, slot) paths[slot] = master(b, slot, true);
    random_source random = {11};
    series cached[SLOTS] = {0}, faults[SLOTS] = {0};
    for (size_t i = 0, n = repetitions(b, 15); i < n; i++) {
        for (int slot = FLOOR; slot < SLOTS; slot++) {
            if (!paths[slot]) continue;
            drop_page_cache(paths[slot]);
            int64_t id = (int64_t)random_below(&random, b->data->count), age = -1;
            uint64_t before = process_figure("/proc/self/io", "read_bytes");
            long faults_before = major_faults();
            int64_t start = now_ns();
            store *s = NULL;
            if (slot == FLOOR) {
                floor_open_cold(floor_path);
            } else {
                s = b->peers[slot]->open(paths[slot], (open_options){.durability = DURABLE});
                b->peers[slot]->lookup_ages(s, &id, 1, &age);
                if (age != b->data->age[id]) die("open_cold: %s: wrong age", b->peers[slot]->name);
            }
            series_add(&opened->tracks[slot].repetitions, microseconds(now_ns() - start));
            uint64_t after = process_figure("/proc/self/io", "read_bytes");
            series_add(&reads->tracks[slot].repetitions, (double)(after - before) / 4096);
            series_add(&faults[slot], (double)(major_faults() - faults_before));
            series_add(&cached[slot], (double)cached_pages(paths[slot]));
            if (s) b->peers[slot]->close(s);
        }
    }
    for (int slot = FLOOR; slot < SLOTS; slot++) {
        if (!paths[slot]) continue;
        result_extra(reads, series_median(&cached[slot]), "%s_pages_in_cache_then", slot_names[slot]);
        result_extra(reads, series_median(&faults[slot]), "%s_major_faults", slot_names[slot]);
        series_free(&cached[slot]);
        series_free(&faults[slot]);
        if (slot != FLOOR) free(paths[slot]);
    }
    free(floor_path);
    drop(paths[FLOOR]);
}

static void floor_create(const char *directory) {
    static const char page[4096] = {1};
    char *path = format_path("%s/new", directory);
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    check_sys(folder >= 0);
    check_sys(file >= 0);
    write_all(file, page, sizeof page, 0);
    check_sys(fsync(file) == 0);
    check_sys(fsync(folder) == 0);
    check_sys(close(file) == 0);
    check_sys(close(folder) == 0);
    free(path);
}

// The bytes are those of the open store, log and lock files included, as the disk counts them.
void run_create_store(bench *b, wanted_function *wanted) {
    (void)wanted;
    enum { batch = 10 };
    result *created = add_result(b, "create_store", "us/op", false);
    result *bytes = add_result(b, "create_store_bytes", "bytes", false);
    for (size_t i = 0, n = repetitions(b, 5); i < n; i++) {
        for (int slot = FLOOR; slot < SLOTS; slot++) {
            if (slot != FLOOR && !b->peers[slot]) continue;
            series times = {0}, sizes = {0};
            for (size_t k = 0; k < batch; k++) {
                const peer *p = b->peers[slot];
                char *path = fresh_directory(b, slot, "new");
                store *s = NULL;
                int64_t start = now_ns();
                if (slot == FLOOR) floor_create(path);
                else s = p->create(path, (open_options){.durability = DURABLE, .indexed = true});
                double time = microseconds(now_ns() - start);
                series_add(&times, time);
                series_add(&created->tracks[slot].samples, time);
                series_add(&sizes, (double)allocated_bytes(path));
                if (s && p->count_age_below(s, 1000, false) != 0)
                    die("create_store: %s: a new store has objects", p->name);
                if (s) p->close(s);
                drop(path);
            }
            series_add(&created->tracks[slot].repetitions, series_median(&times));
            series_add(&bytes->tracks[slot].repetitions, series_median(&sizes));
            series_free(&times);
            series_free(&sizes);
        }
    }
}
