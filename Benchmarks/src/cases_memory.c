// What a process needs: peak memory of bulk insert, update of all and scan; a thousand stores at once.
//
// Each figure is of a helper process of its own (bench --helper memory-… / many-stores), so that nothing an engine
// keeps from another case counts, and of what comes on top of the data that the helper holds itself.
#include "cases.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t status_bytes(const char *name) { return process_figure("/proc/self/status", name) * 1024; }

// What a helper writes for the process that started it.
typedef struct { double values[4]; } figures;

static void write_figures(const char *path, figures f) {
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    check_sys(out >= 0);
    write_all(out, &f, sizeof f, 0);
    check_sys(close(out) == 0);
}

static figures run_helper(const bench *b, int slot, const char *what, const char *dir, size_t objects) {
    char *path = format_path("%s/figures", b->directory);
    reap(start_helper(what, slot_names[slot], dir, objects, path), false, what);
    figures f;
    int in = open(path, O_RDONLY | O_CLOEXEC);
    check_sys(in >= 0);
    check_sys(read(in, &f, sizeof f) == (ssize_t)sizeof f);
    check_sys(close(in) == 0);
    check_sys(unlink(path) == 0);
    free(path);
    return f;
}

// --------------------------------------------------------------------------------- peak_memory

// Anonymous memory has no peak of its own in /proc: a thread looks every two milliseconds.
typedef struct { pthread_t thread; _Atomic bool stop; uint64_t peak; } watcher;

static void *watch(void *context) {
    watcher *w = context;
    bool last;
    do {
        last = atomic_load(&w->stop);
        uint64_t now = status_bytes("RssAnon");
        if (now > w->peak) w->peak = now;
        struct timespec pause = {0, 2000000};
        nanosleep(&pause, NULL);
    } while (!last);
    return NULL;
}

// A cgroup (v2) of our own with a limit; NULL when this system does not let us, with a line that says why.
static char *make_limit(uint64_t bytes) {
    const char *root = "/sys/fs/cgroup";
    char *controllers = format_path("%s/cgroup.subtree_control", root), text[256] = "";
    FILE *in = fopen(controllers, "r");
    bool can = in && fgets(text, sizeof text, in) && strstr(text, "memory");
    if (in) fclose(in);
    free(controllers);
    char *group = format_path("%s/objstore-bench-%d", root, (int)getpid());
    if (can && mkdir(group, 0755) == 0) {
        char *limit = format_path("%s/memory.max", group);
        FILE *out = fopen(limit, "w");
        free(limit);
        bool done = out && fprintf(out, "%lu", bytes) > 0;
        if (out && fclose(out) == 0 && done) return group;
        check_sys(rmdir(group) == 0);
    }
    fprintf(stderr, "peak_memory: no limited runs: cgroup v2 with a memory controller and root are needed (%s)\n",
            can ? strerror(errno) : "no memory controller there");
    free(group);
    return NULL;
}

static void enter_limit(void) {
    const char *group = getenv("OBJSTORE_BENCH_CGROUP");
    if (!group) return;
    char *path = format_path("%s/cgroup.procs", group);
    FILE *out = fopen(path, "w");
    check_sys(out != NULL);
    check_sys(fprintf(out, "%d", (int)getpid()) > 0);
    check_sys(fclose(out) == 0);
    free(path);
}

// Under a limit the data must not be in memory as a whole: it is inserted in parts, a transaction each.
enum { limited_parts = 50 };

static people *next_part(people *part, size_t serial) {
    for (size_t i = 0; i < part->count; i++) part->id[i] = (int64_t)(serial * part->count + i);
    return part;
}

void child_memory(const char *what, const peer *p, const char *dir, size_t objects, const char *figures_path) {
    const bool inserts = strstr(what, "insert"), updates = strstr(what, "update"),
               limited = getenv("OBJSTORE_BENCH_CGROUP");
    enter_limit();
    const size_t parts = limited && inserts ? limited_parts : 1;
    people *data = people_make(objects / parts);
    double sum = floor_sum(data->score, data->count);
    uint64_t below = floor_count_below(data->age, data->count, (uint8_t)age_limit);
    int reset = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    check_sys(reset >= 0);
    check_sys(write(reset, "5", 1) == 1);       // VmHWM starts over
    check_sys(close(reset) == 0);
    uint64_t resident = status_bytes("VmRSS"), anonymous = status_bytes("RssAnon");
    watcher w = {.peak = anonymous};
    if (pthread_create(&w.thread, NULL, watch, &w)) die("no thread");
    store *s = inserts ? p->create(dir, (open_options){.durability = DURABLE, .indexed = true})
                       : p->open(dir, (open_options){.durability = DURABLE});
    if (inserts) for (size_t k = 0; k < parts; k++) p->insert(s, parts > 1 ? next_part(data, k) : data);
    else if (updates) p->add_to_all_scores(s, 1);
    // The scan, and the proof of the others: all ages, scores and names are looked at.
    if (!inserts && !updates && p->count_name &&
        p->count_name(s, name_of(data, data->count / 3), name_length(data, data->count / 3)) < 1)
        die("a name is lost");
    bool right = true;
    if (!inserts && !updates)
        right = p->sum_scores(s) == sum && p->count_age_below(s, age_limit, false) == below;
    uint64_t peak = status_bytes("VmHWM");
    atomic_store(&w.stop, true);
    if (pthread_join(w.thread, NULL)) die("no join");
    if (inserts || updates)
        right = p->sum_scores(s) == (double)parts * sum + (updates ? (double)data->count : 0)
                && p->count_age_below(s, age_limit, true) == parts * below;
    if (!right) die("%s: %s: wrong answer", what, p->name);
    p->close(s);
    write_figures(figures_path, (figures){{(double)peak - (double)resident, (double)w.peak - (double)anonymous}});
}

void run_peak_memory(bench *b, wanted_function *wanted) {
    (void)wanted;
    static const struct { const char *helper, *name, *limited_name; } kinds[] = {
        {"memory-insert", "peak_memory_bulk_insert", "limited_memory_bulk_insert"},
        {"memory-update", "peak_memory_update_all", "limited_memory_update_all"},
        {"memory-scan", "peak_memory_scan", "limited_memory_scan"},
    };
    // A process needs some 16 MiB for its code and its stacks: below that a limit measures nothing.
    uint64_t limit = (uint64_t)(packed_bytes(b->data) / 4);
    char *group = limit >= (16 << 20) ? make_limit(limit) : NULL;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (int limited = 0; limited <= (group != NULL); limited++) {
            result *r = add_result(
                b, limited ? kinds[kind].limited_name : kinds[kind].name, limited ? "us/case" : "bytes", false);
            if (limited) check_sys(setenv("OBJSTORE_BENCH_CGROUP", group, 1) == 0);
            each_peer_with(b, slot, add_to_all_scores) {
                char *path = kind == 0 ? fresh_directory(b, slot, "memory") : work_copy(b, slot);
                int64_t start = now_ns();
                figures f = run_helper(b, slot, kinds[kind].helper, path, b->data->count);
                double time = microseconds(now_ns() - start);
                series_add(&r->tracks[slot].repetitions, limited ? time : f.values[0]);
                result_extra(r, f.values[1], "%s_anonymous", slot_names[slot]);
                drop(path);
            }
            if (limited) check_sys(unsetenv("OBJSTORE_BENCH_CGROUP") == 0);
        }
    }
    if (group) check_sys(rmdir(group) == 0);
    free(group);
}

// --------------------------------------------------------------------------------- many_stores

enum { small_objects = 100 };

static void allow_many_files(void) {
    struct rlimit limit;
    check_sys(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    check_sys(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

void child_many_stores(const peer *p, const char *dir, size_t count, const char *figures_path) {
    allow_many_files();
    people *data = people_make(small_objects);
    store **stores = must_alloc(count * sizeof *stores);
    series times = {0};
    uint64_t resident = status_bytes("VmRSS"), anonymous = status_bytes("RssAnon");
    for (size_t i = 0; i < count; i++) {
        char *path = format_path("%s/%zu", dir, i);
        int64_t id = (int64_t)(i % small_objects), age = -1, start = now_ns();
        stores[i] = p->open(path, (open_options){.durability = DURABLE});
        p->lookup_ages(stores[i], &id, 1, &age);
        series_add(&times, microseconds(now_ns() - start));
        if (age != data->age[id]) die("many_stores: %s: wrong age", p->name);
        free(path);
    }
    figures f = {{series_median(&times), ((double)status_bytes("VmRSS") - (double)resident) / (double)count,
        ((double)status_bytes("RssAnon") - (double)anonymous) / (double)count, series_percentile(&times, 0.99)}};
    for (size_t i = 0; i < count; i++) p->close(stores[i]);
    write_figures(figures_path, f);
}

// Each store has 100 objects. Opening includes a first read.
void run_many_stores(bench *b, wanted_function *wanted) {
    (void)wanted;
    result *opened = add_result(b, "many_stores_open", "us/op", false);
    result *memory = add_result(b, "many_stores_memory", "bytes/store", false);
    const double scale = b->effort < 1 ? b->effort : 1;
    const size_t count = 1000 * scale < 20 ? 20 : (size_t)(1000 * scale);
    people *data = people_make(small_objects);
    each_peer(b, slot) {
        const peer *p = b->peers[slot];
        char *all = fresh_directory(b, slot, "many"), *template = fresh_directory(b, slot, "small");
        store *s = p->create(template, (open_options){.durability = DURABLE, .indexed = true});
        p->insert(s, data);
        p->close(s);
        for (size_t i = 0; i < count; i++) {
            char *path = format_path("%s/%zu", all, i);
            copy_directory(template, path, false);
            free(path);
        }
        sync_file_system(b->directory);
        figures f = run_helper(b, slot, "many-stores", all, count);
        series_add(&opened->tracks[slot].repetitions, f.values[0]);
        series_add(&memory->tracks[slot].repetitions, f.values[1]);
        result_extra(opened, f.values[3], "%s_p99", slot_names[slot]);
        result_extra(memory, f.values[2], "%s_anonymous", slot_names[slot]);
        drop(template);
        drop(all);
    }
    result_extra(opened, (double)count, "stores");
    people_free(data);
}
