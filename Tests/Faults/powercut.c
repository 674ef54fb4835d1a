/* The two programs of powercut.py: what is recorded, and what looks at the states that a power cut may have left.
 *
 *      powercut work FOLDER LOG BOOT SEED PROCESSES TRANSACTIONS
 *          PROCESSES processes write FOLDER/s.objstore, randomly, and end or are killed at any call and come again;
 *          all their changing
 *          system calls go into LOG, with marks of what they want to commit, and of what was acknowledged
 *      powercut check PREFIX BOOT
 *          for each line `FLAG PATH` opens the store at PATH, verifies it, and answers `STATUS LENGTH MESSAGE` and its
 *          whole content;
 *          FLAG 1: then also writes, closes, and checks the closed file
 *
 * BOOT is a file with the id of the boot that the library is to see: after a power cut it is another one.
 */
#define _GNU_SOURCE
#include "faults.h"
#include "items.h"
#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 1, FULL = 2, RELAXED = 3, FLUSH = 4, FLUSHED = 5, LOCK_FILE = 6, KILLED = 7 };

static char path[400];
static uint64_t chance;
static uint64_t next_random(void) {
    chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
    return chance;
}
static int below(int n) { return (int)((next_random() >> 11) % (uint64_t)n); }

static void must(objstore_status status, int line) {
    if (status == OBJSTORE_OK) return;
    fprintf(stderr, "powercut.c:%d: %s: %s\n", line, objstore_status_name(status), objstore_last_message());
    _exit(1);
}
#define MUST(call) must(call, __LINE__)

/* ---- the processes that are recorded ------------------------------------------------------------------------- */
static struct progress { int64_t begun, limit; int32_t recording; } *progress;

static int choose_items(struct item *items, int64_t number) {
    int count = 0, i, n = 1 + below(5);
    /* So that no two contents are alike. */
    items[count++] = (struct item){1, (int32_t)number, 3, (int32_t)(number % 1000), 1};
    switch (below(20)) {
    case 0: /* outgrows its memory, and the file */
        for (i = 0, n = 100 + below(300); i < n; i++)
            items[count++] = (struct item){100 + i, below(50), below(200), below(1000), below(4)};
        break;
    case 1: /* gives much back */
        for (i = 0, n = 100 + below(300); i < n; i++) items[count++] = (struct item){100 + i, 0, -1, 0, 0};
        break;
    case 2: items[count++] = (struct item){2 + below(5), 1, 5000 + below(20000), below(1000), 60}; break;
    default:
        for (i = 0; i < n; i++)
            items[count++] = (struct item){2 + below(60), below(50), below(4) ? below(60) : -1, below(1000), below(6)};
    }
    /* Its own, that no other touches: in the end it says whether this one was done. */
    items[count++] = (struct item){20000 + (int32_t)number, progress->recording, 3, (int32_t)number, 0};
    return count;
}

/* What is in the memory that all share is on no medium, but may be in the file, as it was at any time. */
static void show_lock_file(void) {
    static char bytes[1 << 16], name[500];
    ssize_t n;
    int fd;
    snprintf(name, sizeof name, "%s-lock", path);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    n = pread(fd, bytes, sizeof bytes, 0);
    close(fd);
    if (n > 0) faults_mark(LOCK_FILE, 0, 0, bytes, (uint64_t)n);
}

/* ---- a process that hangs says where --------------------------------------------------------------------------- */
#define HANG_SECONDS 150 /* a whole recording takes one or two */
static const char *doing = "start";
static int life_number;

static void show_thread(const char *thread, const char *what) {
    char name[400], text[200];
    ssize_t n;
    int fd;
    snprintf(name, sizeof name, "/proc/self/task/%s/%s", thread, what);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    fprintf(stderr, "    thread %s %s: %.150s%s", thread, what, text, strchr(text, '\n') ? "" : "\n");
}
/* The process ends after it: what it calls need not be safe in a handler. */
static void hangs(int signal_number) {
    void *frames[30];
    struct dirent *thread;
    DIR *threads = opendir("/proc/self/task");
    fprintf(stderr, "powercut.c: process %d, life %d, is in `%s` for too long\n", (int)getpid(), life_number, doing);
    backtrace_symbols_fd(frames, backtrace(frames, 30), 2);
    while (threads && (thread = readdir(threads)))
        if (thread->d_name[0] != '.') show_thread(thread->d_name, "syscall"), show_thread(thread->d_name, "stat");
    _exit(128 + signal_number);
}
/* From now on, for this long; `alarm` starts over. */
static void watch_for_hangs(int life) {
    void *frame[1];
    life_number = life;
    backtrace(frame, 1); /* loads what it needs */
    signal(SIGALRM, hangs);
    alarm(HANG_SECONDS);
}

/* Until all is done (0), or it ends with the store open (77). */
static int work(void) {
    static struct item items[1000];
    objstore *store;
    int32_t durability;
again:
    durability = below(3) ? OBJSTORE_DURABILITY_FULL : OBJSTORE_DURABILITY_RELAXED;
    doing = "open";
    MUST(open_items(path, durability, below(2) ? 64 << 10 : 256 << 10, &store));
    for (;;) {
        objstore_view *transaction;
        uint64_t version;
        int64_t number;
        int count, i;
        switch (below(40)) {
        case 0: doing = "checkpoint"; MUST(objstore_checkpoint(store)); continue;
        case 1: doing = "compact"; MUST(objstore_compact(store, NULL, NULL, NULL)); continue;
        case 2: doing = "close"; MUST(objstore_close(store)); goto again;
        case 3: return 77;
        case 4: case 5:
            doing = "flush";
            faults_mark(FLUSH, 0, 0, NULL, 0);
            MUST(objstore_flush(store));
            faults_mark(FLUSHED, 0, 0, NULL, 0);
            continue;
        case 6:
            doing = "begin";
            MUST(objstore_begin(store, &transaction));
            for (i = 0, count = choose_items(items, 0); i < count; i++) MUST(apply_item(transaction, &items[i]));
            doing = "cancel";
            MUST(objstore_cancel(transaction));
            continue;
        default: break;
        }
        number = __atomic_add_fetch(&progress->begun, 1, __ATOMIC_SEQ_CST);
        if (number > progress->limit) break;
        count = choose_items(items, number);
        doing = "begin";
        MUST(objstore_begin(store, &transaction));
        for (i = 0; i < count; i++) MUST(apply_item(transaction, &items[i]));
        faults_mark(TRIES, (uint64_t)number, 0, items, sizeof *items * (uint64_t)count);
        doing = "commit";
        MUST(objstore_commit(transaction, &version));
        faults_mark(durability == OBJSTORE_DURABILITY_FULL ? FULL : RELAXED, (uint64_t)number, version, NULL, 0);
        if (below(8) == 0) show_lock_file();
    }
    doing = "close";
    if (below(2)) MUST(objstore_close(store));
    return 0;
}

static void start_life(uint64_t seed, int life) {
    fflush(NULL);
    if (fork() != 0) return;
    watch_for_hangs(life);
    chance = (seed * 1000003 + (uint64_t)life + 1) * 0x9e3779b97f4a7c15u | 1;
    next_random(), next_random();
    faults_exit(work());
}

/* One of the next calls is the last of its process. */
static void arm(struct faults *faults) {
    faults->class = FAULT_ANY, faults->error = FAULT_DIE;
    __atomic_store_n(&faults->at, faults->counts[FAULT_ANY] + 20 + (uint64_t)below(600), __ATOMIC_SEQ_CST);
}

static int work_all(char **argv) {
    const int processes = atoi(argv[6]);
    const uint64_t seed = strtoull(argv[5], NULL, 10);
    int alive = 0, life = 0, bad = 0;
    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    progress->limit = atoi(argv[7]), progress->recording = (int32_t)seed;
    chance = seed * 0x9e3779b97f4a7c15u | 1;
    snprintf(path, sizeof path, "%s/s.objstore", argv[2]);
    faults_watch(path);
    faults_boot(argv[4]);
    faults_record(argv[3]);
    faults_state()->sync_delay = 1500;
    if (below(3)) arm(faults_state());
    for (; alive < processes; alive++) start_life(seed, life++);
    while (alive > 0) {
        int status;
        if (wait(&status) < 0) return 1;
        /* A process that has died comes again. */
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77 && !bad) { start_life(seed, life++); continue; }
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && faults_state()->fired && !bad) {
            faults_state()->fired = 0;
            faults_mark(KILLED, 0, 0, NULL, 0);
            arm(faults_state());
            start_life(seed, life++);
            continue;
        }
        alive--;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            bad = 1, fprintf(stderr, "powercut.c: a process ended with %x\n", status);
    }
    return bad;
}

/* ---- the one that looks ------------------------------------------------------------------------------------------ */
static objstore_status look(const char *name, int writes, struct text *out) {
    static const struct item more = {9999, 1, 30, 5, 2};
    objstore *store;
    objstore_view *view;
    objstore_status status;
    out->length = 0;
    TRY(open_items(name, OBJSTORE_DURABILITY_FULL, 256 << 10, &store));
    status = objstore_view_open(store, &view);
    if (status == OBJSTORE_OK) status = objstore_verify(view, NULL, NULL, NULL, NULL, NULL);
    if (status == OBJSTORE_OK) status = dump(view, out);
    if (status == OBJSTORE_OK) status = objstore_view_close(view);
    if (status == OBJSTORE_OK && writes) {
        status = objstore_begin(store, &view);
        if (status == OBJSTORE_OK) status = apply_item(view, &more);
        if (status == OBJSTORE_OK) status = objstore_commit(view, NULL);
    }
    if (status != OBJSTORE_OK) { objstore_close(store); return status; }
    TRY(objstore_close(store));
    return writes ? objstore_verify_file(objstore_cstr(name), NULL, NULL, NULL, NULL, NULL) : OBJSTORE_OK;
}

static int check_all(char **argv) {
    char line[600];
    struct text text = {0};
    faults_watch(argv[2]);
    faults_boot(argv[3]);
    doing = "check";
    watch_for_hangs(0);
    while (fgets(line, sizeof line, stdin)) {
        objstore_status status;
        line[strcspn(line, "\n")] = 0;
        alarm(HANG_SECONDS);
        status = look(line + 2, line[0] == '1', &text);
        alarm(0);
        if (status != OBJSTORE_OK) text.length = 0;
        printf("%s %zu %s\n", objstore_status_name(status), text.length,
            status == OBJSTORE_OK ? "" : objstore_last_message());
        fwrite(text.bytes, 1, text.length, stdout);
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 8 && !strcmp(argv[1], "work")) return work_all(argv);
    if (argc == 4 && !strcmp(argv[1], "check")) return check_all(argv);
    return 2;
}
