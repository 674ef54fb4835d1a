// bench [--n N] [--cases a,b] [--dir D] [--out results.json] [--effort X] [--peers objstore,sqlite,lmdb] [--append]
// [--list]
//
// Also started by itself as `bench --helper recovery|observe|write|futex|memory-…|many-stores PEER DIR N SHARED`: a
// second process that works on a store until it is killed, told to end, or done.
#include "queries.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

static const peer *const known_peers[SLOTS] = {
#ifdef HAVE_OBJSTORE
    [OBJSTORE] = &peer_objstore,
#endif
    [SQLITE] = &peer_sqlite,
    [LMDB] = &peer_lmdb,
#ifdef HAVE_ROCKSDB
    [ROCKSDB] = &peer_rocksdb,
#endif
};

static const queries *const known_queries[SLOTS] = {
#ifdef HAVE_OBJSTORE
    [OBJSTORE] = &queries_objstore,
#endif
    [SQLITE] = &queries_sqlite,
    [LMDB] = &queries_lmdb,
#ifdef HAVE_DUCKDB
    [DUCKDB] = &queries_duckdb,
#endif
};

static bool is_known(int slot) { return known_peers[slot] || known_queries[slot]; }

static const char *version_of(int slot) {
    return known_peers[slot] ? known_peers[slot]->version() : known_queries[slot]->version();
}

static const char *wanted_cases;        // NULL: all

static bool in_list(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, length) && (at[length] == ',' || at[length] == 0)) return true;
    return false;
}

static bool wanted(const char *name) { return !wanted_cases || in_list(wanted_cases, name); }

static bool is_case(const char *name, size_t length) {
    for (size_t i = 0; i < case_count; i++)
        if (strlen(cases[i].name) == length && !strncmp(cases[i].name, name, length)) return true;
    return false;
}

static bool is_peer(const char *name, size_t length) {
    for (int slot = FLOOR + 1; slot < SLOTS; slot++)
        if (is_known(slot) && strlen(slot_names[slot]) == length && !strncmp(slot_names[slot], name, length))
            return true;
    return false;
}

static void check_list(const char *list, bool (*known)(const char *, size_t), const char *what) {
    for (const char *at = list; at;) {
        const char *comma = strchr(at, ',');
        size_t length = comma ? (size_t)(comma - at) : strlen(at);
        if (!known(at, length)) die("no %s '%.*s' (see --list)", what, (int)length, at);
        at = comma ? comma + 1 : NULL;
    }
}

static double number(const char *text, const char *option) {
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (errno || *end || end == text || value <= 0) die("%s wants a positive number, not '%s'", option, text);
    return value;
}

static void list(void) {
    for (size_t i = 0; i < case_count; i++) printf("%s\n", cases[i].name);
    printf("peers:");
    for (int slot = FLOOR + 1; slot < SLOTS; slot++)
        if (is_known(slot)) printf(" %s %s", slot_names[slot], version_of(slot));
    printf("\n");
}

static char *heading(const bench *b, const char *processor) {
    struct utsname system;
    check_sys(uname(&system) == 0);
    char peers[256] = "";
    for (int slot = FLOOR + 1; slot < SLOTS; slot++)
        if (b->peers[slot] || b->queries[slot])
            snprintf(peers + strlen(peers), sizeof peers - strlen(peers), " · %s %s", slot_names[slot],
                version_of(slot));
    return format_path(
        "N = %zu · %s × %ld · %s · Linux %s%s%s\n\nMedians of interleaved repetitions; x/floor is the median of the "
        "ratios within one repetition.",
        b->objects, processor, sysconf(_SC_NPROCESSORS_ONLN), file_system_name(b->directory), system.release, peers,
        sched_getscheduler(0) == SCHED_FIFO ? " · real-time priority" : "");
}

static char *processor_name(void) {
    FILE *in = fopen("/proc/cpuinfo", "r");
    check_sys(in != NULL);
    char line[256], *name = NULL;
    while (!name && fgets(line, sizeof line, in))
        if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
            line[strcspn(line, "\n")] = 0;
            name = format_path("%s", strchr(line, ':') + 2);
        }
    check_sys(fclose(in) == 0);
    return name ? name : format_path("unknown processor");
}

static int helper(char **arguments) {
    const char *what = arguments[0], *name = arguments[1], *dir = arguments[2], *shared = arguments[4];
    size_t objects = (size_t)number(arguments[3], "--helper");
    // A benchmark that dies takes its helpers with it.
    check_sys(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    if (!strcmp(what, "futex")) {
        child_futex(shared);
        return 0;
    }
    for (int slot = FLOOR + 1; slot < SLOTS; slot++) {
        if (!known_peers[slot] || strcmp(slot_names[slot], name)) continue;
        if (!strcmp(what, "recovery")) child_recovery(known_peers[slot], dir, objects, shared);
        else if (!strcmp(what, "observe")) child_observe(known_peers[slot], dir, shared);
        else if (!strcmp(what, "write")) child_write(known_peers[slot], dir, shared);
        else if (!strncmp(what, "memory-", 7)) child_memory(what, known_peers[slot], dir, objects, shared);
        else if (!strcmp(what, "many-stores")) child_many_stores(known_peers[slot], dir, objects, shared);
        else die("no helper '%s'", what);
        return 0;
    }
    die("no peer '%s'", name);
}

int main(int count, char **arguments) {
    if (count == 7 && !strcmp(arguments[1], "--helper")) return helper(arguments + 2);
    bench b = {.directory = "build/bench/data", .objects = 1000000, .effort = 1};
    const char *out = "results.json";
    const char *peers = NULL;       // all that were built in
    bool append = false;
    for (int i = 1; i < count; i++) {
        const char *option = arguments[i];
        if (!strcmp(option, "--list")) return list(), 0;
        if (!strcmp(option, "--append")) { append = true; continue; }
        if (i + 1 == count) die("%s: unknown, or its value is missing", option);
        const char *value = arguments[++i];
        if (!strcmp(option, "--n")) b.objects = (size_t)number(value, option);
        else if (!strcmp(option, "--cases")) wanted_cases = value;
        else if (!strcmp(option, "--dir")) b.directory = value;
        else if (!strcmp(option, "--out")) out = value;
        else if (!strcmp(option, "--effort")) b.effort = number(value, option);
        else if (!strcmp(option, "--peers")) peers = value;
        else die("unknown option %s", option);
    }
    check_list(wanted_cases, is_case, "case");
    check_list(peers, is_peer, "peer");
    if (b.objects < 1000) die("N must be at least 1000");
    make_directory(b.directory);
    refuse_memory_file_system(b.directory);
    for (int slot = FLOOR; slot < SLOTS; slot++) {
        if (!peers || in_list(peers, slot_names[slot])) {
            b.peers[slot] = known_peers[slot];
            b.queries[slot] = known_queries[slot];
        }
        char *path = format_path("%s/%s", b.directory, slot_names[slot]);
        remove_directory(path);     // what an earlier run left may have another N
        free(path);
    }
    int64_t start = now_ns();
    b.data = people_make(b.objects);
    b.updates = update_sequence_make(b.data, 0, b.objects);
    b.results = must_alloc(3 * case_count * sizeof *b.results);
    size_t runs = 0, run = 0;
    for (size_t i = 0; i < case_count; i++) runs += wanted(cases[i].name);
    void (*last)(bench *, bool (*)(const char *)) = NULL;
    for (size_t i = 0; i < case_count; i++) {
        if (!wanted(cases[i].name)) continue;
        run++;
        if (cases[i].run == last) continue;
        fprintf(stderr, "[%zu/%zu] N = %zu: %s …\n", run, runs, b.objects, cases[i].name);
        size_t first = b.result_count;
        int64_t began = now_ns();
        cases[i].run(&b, wanted);
        last = cases[i].run;
        for (size_t k = first; k < b.result_count; k++) report_line(&b.results[k]);
        fprintf(stderr, "%46s(%.1f s)\n", "", (double)(now_ns() - began) / 1e9);
    }
    char *processor = processor_name(), *text = heading(&b, processor), *table = format_path("%s.md", out);
    report_json(out, b.results, b.result_count, append);
    report_markdown(table, b.results, b.result_count, text, append);
    for (int slot = FLOOR; slot < SLOTS; slot++) {
        char *path = format_path("%s/%s", b.directory, slot_names[slot]);
        remove_directory(path);
        free(path);
    }
    fprintf(
        stderr, "bench: %zu results in %.0f s: %s, %s\n", b.result_count, (double)(now_ns() - start) / 1e9, out, table);
    people_free(b.data);
    free(processor);
    free(text);
    free(table);
    return 0;
}
