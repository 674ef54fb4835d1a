/* A written history of two processes on one store, again and again, each time with another call that fails.
 *
 *      history all FOLDER [A|B]             every call of every class, every error
 *      history ci FOLDER [A|B]              the same, but each call gets an error that must show and one that must not
 *      history one FOLDER A|B CLASS N ERROR one of them, and what came of it
 *      history drop FOLDER                  control: writes that are lost without a word, which must be found
 *
 * The program forks the two processes and tells them by pipes what to do next, so the order is always the same. It
 * knows what must be in the store, and checks after each step. Then an own process, whose calls do not fail, opens the
 * store, verifies it and shows all of it.
 *
 * What must hold: no process dies or hangs; what fails says so, with a message; one failing call makes at most one step
 * fail, until both have closed a store that is poisoned; a process that reports this is right: none writes until then;
 * a copy is there whole, or nothing of it is; what was acknowledged is there, and a transaction with an unknown outcome
 * wholly or not at all.
 */
#define _GNU_SOURCE
#include "faults.h"
#include "items.h"
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HANG_MS 60000

static char folder[300], path[400], copy_path[400];

/* ---- one of the two processes ------------------------------------------------------------------------------ */
enum { OPEN, CLOSE, WRITE, CANCEL, READ, VERIFY, CHECKPOINT, COMPACT, COPY, FLUSH, DIE, QUIT, CHECK_FILE };
static const char *const step_names[] = {"open", "close", "write", "cancel", "read", "verify", "checkpoint", "compact",
    "copy", "flush", "die", "quit", "check file"};
struct command { int32_t what, durability, count; char path[400]; };
struct reply { int32_t status; uint32_t has_message; uint64_t length; char message[400]; };

static void send_all(int fd, const void *bytes, size_t count) {
    while (count > 0) {
        ssize_t n = write(fd, bytes, count);
        if (n <= 0) _exit(97);
        bytes = (const char *)bytes + n, count -= (size_t)n;
    }
}
static void receive(int fd, void *bytes, size_t count) {
    while (count > 0) {
        ssize_t n = read(fd, bytes, count);
        if (n <= 0) _exit(0); /* the driver is gone */
        bytes = (char *)bytes + n, count -= (size_t)n;
    }
}

static objstore *store;
static char kept[400]; /* the message of the call that failed, where others follow */

static objstore_status write_items(const struct item *items, int count, int cancels) {
    objstore_view *transaction;
    objstore_status status = OBJSTORE_OK, ended;
    int i;
    TRY(objstore_begin(store, &transaction));
    for (i = 0; i < count && status == OBJSTORE_OK; i++) status = apply_item(transaction, &items[i]);
    if (status == OBJSTORE_OK && !cancels) return objstore_commit(transaction, NULL);
    snprintf(kept, sizeof kept, "%s", status == OBJSTORE_OK ? "" : objstore_last_message());
    ended = objstore_cancel(transaction);
    /* Cancelled in any case; unknown is only what it has read. */
    if (ended != OBJSTORE_OK && status == OBJSTORE_OK) kept[0] = 0;
    return status != OBJSTORE_OK ? status : ended;
}

static objstore_status obey(const struct command *command, const struct item *items, struct text *out) {
    objstore_view *view;
    objstore_status status;
    objstore *closing = store;
    kept[0] = 0;
    switch (command->what) {
    case OPEN: return open_items(command->path, command->durability, 1 << 30, &store);
    case CLOSE: store = NULL; return objstore_close(closing);
    case WRITE: return write_items(items, command->count, 0);
    case CANCEL: return write_items(items, command->count, 1);
    case CHECKPOINT: return objstore_checkpoint(store);
    case COMPACT: return objstore_compact(store, NULL, NULL, NULL);
    case FLUSH: return objstore_flush(store);
    case DIE: _exit(0);
    case CHECK_FILE: return objstore_verify_file(objstore_cstr(command->path), NULL, NULL, NULL, NULL, NULL);
    default: break;
    }
    TRY(objstore_view_open(store, &view));
    status = command->what == COPY ? objstore_copy(view, objstore_cstr(command->path), NULL, NULL, NULL)
        : command->what == VERIFY ? objstore_verify(view, NULL, NULL, NULL, NULL, NULL) : OBJSTORE_OK;
    if (status == OBJSTORE_OK && command->what != COPY) status = dump(view, out);
    if (status != OBJSTORE_OK) snprintf(kept, sizeof kept, "%s", objstore_last_message());
    if (objstore_view_close(view) != OBJSTORE_OK) _exit(96);
    return status;
}

static void process(int in, int out) {
    struct command command;
    struct item *items = NULL;
    struct text text = {0};
    for (;;) {
        struct reply reply;
        memset(&reply, 0, sizeof reply);
        receive(in, &command, sizeof command);
        items = realloc(items, sizeof *items * (size_t)(command.count + 1));
        receive(in, items, sizeof *items * (size_t)command.count);
        if (command.what == QUIT) _exit(0);
        text.length = 0;
        reply.status = obey(&command, items, &text);
        if (reply.status != OBJSTORE_OK)
            snprintf(reply.message, sizeof reply.message, "%s", kept[0] ? kept : objstore_last_message());
        else reply.length = text.length;
        reply.has_message = reply.message[0] != 0;
        send_all(out, &reply, sizeof reply);
        send_all(out, text.bytes, reply.length);
    }
}

/* ---- the driver: what must be there --------------------------------------------------------------------------- */
#define IDS 4000
struct model { struct item items[IDS]; };
/* What the store may contain: one content, or two while an outcome is unknown. */
static struct model models[2];
static int candidates;
static struct model copied;

static void change(struct model *model, const struct item *items, int count) {
    int i;
    for (i = 0; i < count; i++) model->items[items[i].id] = items[i];
}
static void model_text(const struct model *model, struct text *out) {
    int id, i;
    out->length = 0;
    for (id = 1; id < IDS; id++) {
        const struct item *item = &model->items[id];
        char *at;
        if (item->id == 0 || item->length < 0) continue;
        at = room(out, (size_t)item->length + 1024);
        out->length += (size_t)sprintf(at, "%d %d ", item->id, item->n);
        item_text(item, out->bytes + out->length);
        out->length += strlen(out->bytes + out->length);
        for (i = 0; i < item->marks; i++)
            out->length += (size_t)sprintf(out->bytes + out->length, " %d", item->seed + i);
        out->bytes[out->length++] = '\n';
    }
}

/* ---- the driver: processes -------------------------------------------------------------------------------------- */
struct side { char name; pid_t pid; int to, from, has_store, is_victim; };
static struct side sides[2], checker;
static struct faults *faults;
static uint64_t unlisted; /* statuses that the header does not list for the call */
static int victim, failures, steps_failed, may_be_poisoned, is_poisoned, loud, bad;
static char problem[1200];
static const char *current = "";

static void complain(const char *format, ...) {
    va_list list;
    if (bad) return;
    bad = 1;
    va_start(list, format);
    vsnprintf(problem, sizeof problem, format, list);
    va_end(list);
}

static void start(struct side *side, char name, int is_victim) {
    int down[2], up[2];
    memset(side, 0, sizeof *side);
    if (pipe(down) != 0 || pipe(up) != 0) exit(98);
    fflush(NULL);
    side->pid = fork();
    if (side->pid == 0) {
        close(down[1]), close(up[0]);
        if (is_victim) faults_watch(path);
        process(down[0], up[1]);
    }
    close(down[0]), close(up[1]);
    side->name = name, side->to = down[1], side->from = up[0], side->is_victim = is_victim;
}
static void end(struct side *side) {
    int status;
    if (side->pid == 0) return;
    close(side->to), close(side->from);
    if (bad) kill(side->pid, SIGKILL);
    if (waitpid(side->pid, &status, 0) != side->pid) exit(98);
    if (!bad && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        complain("%c ended with %s %d", side->name, WIFSIGNALED(status) ? "signal" : "status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    memset(side, 0, sizeof *side);
}

/* Nothing, or all of it; complains of a process that is gone or hangs. */
static int take(struct side *side, void *bytes, size_t count) {
    while (count > 0) {
        struct pollfd request = {side->from, POLLIN, 0};
        int ready = poll(&request, 1, HANG_MS);
        ssize_t n = ready > 0 ? read(side->from, bytes, count) : 0;
        if (ready == 0) complain("%c hangs in %s", side->name, current);
        else if (n <= 0) {
            int status = 0;
            waitpid(side->pid, &status, 0);
            side->pid = 0;
            complain("%c died in %s: %s %d", side->name, current, WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
        if (n <= 0) return 0;
        bytes = (char *)bytes + n, count -= (size_t)n;
    }
    return 1;
}

static struct text seen;
static struct reply tell(
    struct side *side, int what, const char *name, int durability, const struct item *items, int count) {
    struct command command = {what, durability, count, ""};
    struct reply reply = {99, 0, 0, ""};
    snprintf(command.path, sizeof command.path, "%s", name);
    current = step_names[what];
    send_all(side->to, &command, sizeof command);
    send_all(side->to, items, sizeof *items * (size_t)count);
    if (!take(side, &reply, sizeof reply)) return reply;
    seen.length = 0;
    if (reply.length > 0 && !take(side, room(&seen, reply.length), reply.length)) return reply;
    seen.length = reply.length;
    if (loud)
        printf("  %c %-10s %s%s%s\n", side->name, step_names[what], objstore_status_name(reply.status),
            reply.status ? ": " : "", reply.message);
    if (reply.status != OBJSTORE_OK && !reply.has_message)
        complain("%c: %s fails with %s and says nothing", side->name, current, objstore_status_name(reply.status));
    return reply;
}

/* Whether what was just read is one of the contents that may be there; then it is that one. */
static void compare(const char *who, int settles) {
    struct text text = {0};
    int i, is_one = -1;
    for (i = 0; i < candidates && is_one < 0; i++) {
        model_text(&models[i], &text);
        if (text.length == seen.length && memcmp(text.bytes, seen.bytes, seen.length) == 0) is_one = i;
    }
    free(text.bytes);
    if (is_one < 0)
        return complain("%s sees %zu bytes of content that no acknowledged transaction has left", who, seen.length);
    if (settles) models[0] = models[is_one], candidates = 1;
}

static int is_sync(void) { return faults->class == FAULT_SYNC || faults->class == FAULT_SYNC_FOLDER; }

/* With the last process that has the store open a poison ends. */
static void settle(void) {
    if (!sides[0].has_store && !sides[1].has_store) may_be_poisoned = is_poisoned = 0, failures = faults->fired ? 1 : 0;
}

/* A step of the history: what its status may be, and what it leaves. */
static void step(int who, int what, int durability, const struct item *items, int count) {
    struct side *side = &sides[who];
    struct reply reply;
    const int was_alone = !sides[0].has_store && !sides[1].has_store, is_new = what == OPEN && access(path, F_OK) != 0;
    int tries = 0;
    if (bad) return;
    if (what == DIE) {
        struct command command = {DIE, 0, 0, ""};
        send_all(side->to, &command, sizeof command);
        end(side);
        if (!bad) start(side, "AB"[who], victim == who);
        return settle();
    }
    if (what != OPEN && !side->has_store) {
        if (what == CLOSE) return;
        step(who, OPEN, OBJSTORE_DURABILITY_FULL, NULL, 0);
        if (bad || !side->has_store) return;
    }
    /* What has failed once succeeds the second time: nothing stays broken but by a failed sync. */
    do {
        reply = tell(side, what, what == COPY ? copy_path : path, durability, items, count);
        if (bad) return;
        if (what == CLOSE) side->has_store = 0;
        if (reply.status == OBJSTORE_OK) break;
        failures++, steps_failed++;
        if (faults->fired && is_sync()) may_be_poisoned = 1;
        switch (reply.status) {
        case OBJSTORE_ERR_IO: case OBJSTORE_ERR_OUT_OF_SPACE: case OBJSTORE_ERR_OUT_OF_MEMORY: break;
        case OBJSTORE_ERR_OUTCOME_UNKNOWN:
            /* The header has it for the ends of transactions only. Opening, compacting, flushing and closing say it,
             * too, where what they write themselves is unknown; nothing that is compared here hangs on that. A copy is
             * there or not. */
            if (what == WRITE || what == CANCEL) break;
            if (what != READ && what != VERIFY && what != COPY) { unlisted++; break; }
            return complain("%c: %s: %s: %s", side->name, current, objstore_status_name(reply.status), reply.message);
        case OBJSTORE_ERR_POISONED:
            /* Of a store that an opening makes or finds clean, only those know that have it open. */
            if (may_be_poisoned && what != COPY) { is_poisoned |= side->has_store; break; }
            /* fallthrough */
        default:
            return complain("%c: %s: %s: %s", side->name, current, objstore_status_name(reply.status), reply.message);
        }
        if (!faults->fired)
            return complain("%c: %s fails, but nothing was made to: %s", side->name, current, reply.message);
        if (failures > 1 && !may_be_poisoned)
            return complain(
                "%c: %s fails, but the one failing call was before: %s", side->name, current, reply.message);
        /* Of a store whose first commit is unknown, or whose sync failed, it is not known yet what it is. */
        if (is_new && reply.status != OBJSTORE_ERR_OUTCOME_UNKNOWN && reply.status != OBJSTORE_ERR_POISONED &&
            access(path, F_OK) == 0)
            return complain("opening failed (%s), and left the file that it made", reply.message);
        if (what == COPY && access(copy_path, F_OK) == 0) return complain("a copy that failed left a file behind");
        if (what == WRITE && reply.status == OBJSTORE_ERR_OUTCOME_UNKNOWN && candidates == 1) {
            models[1] = models[0], candidates = 2;
            change(&models[1], items, count);
        }
        /* What was called poisoned has to stay so. */
    } while (what != CLOSE && (!may_be_poisoned || (what == WRITE && is_poisoned)) && ++tries < 2);
    if (what == CLOSE) settle();
    if (reply.status != OBJSTORE_OK) return;
    switch (what) {
    case OPEN:
        side->has_store = 1;
        /* The first one has recovered: what it sees stays. */
        if (was_alone && candidates > 1) step(who, READ, 0, NULL, 0), compare("who opened again", 1);
        break;
    case WRITE:
        /* A log that could not be written makes an outcome unknown, but poisons nothing: this one has either base. */
        if ((candidates > 1 && is_sync()) || is_poisoned)
            return complain("%c: a commit succeeds on a poisoned store", side->name);
        change(&models[0], items, count), change(&models[1], items, count);
        break;
    case READ: case VERIFY: compare(side->name == 'A' ? "A" : "B", 0); break;
    case COPY:
        if (candidates > 1) unlink(copy_path); else copied = models[0];
        break;
    default: break;
    }
}

/* ---- the history ---------------------------------------------------------------------------------------------- */
static struct item made[IDS];
static int put(int n, int first, int count, int length, int marks) {
    int i;
    for (i = 0; i < count; i++)
        made[n + i] = (struct item){first + i, first * 7 + i % 13, length + i % 5, first + i + n, marks};
    return n + count;
}
static int drop(int n, int first, int count, int stride) {
    int i;
    for (i = 0; i < count; i++) made[n + i] = (struct item){first + i * stride, 0, -1, 0, 0};
    return n + count;
}

static void play(void) {
    enum { A, B };
    const int full = OBJSTORE_DURABILITY_FULL, relaxed = OBJSTORE_DURABILITY_RELAXED;
    int i, n;
    step(A, OPEN, full, NULL, 0);
    chmod(path, 0640); /* so that the files beside it have to be given its mode */
    step(A, WRITE, 0, made, put(0, 1, 20, 10, 3));
    step(B, OPEN, full, NULL, 0);
    step(B, READ, 0, NULL, 0);
    step(B, WRITE, 0, made, put(0, 15, 10, 40, 0));
    step(A, READ, 0, NULL, 0);
    n = put(0, 5, 5, 100, 20);
    step(A, WRITE, 0, made, drop(n, 10, 3, 1));
    /* Outgrows its memory, and the file. */
    step(A, WRITE, 0, made, put(0, 100, 900, 120, 2));
    step(B, READ, 0, NULL, 0);
    step(B, WRITE, 0, made, put(0, 1100, 5, 5000, 1));
    step(B, CHECKPOINT, 0, NULL, 0);
    for (i = 0; i < 3; i++) {
        step(A, WRITE, 0, made, put(0, 30 + i, 2, 30, 1));
        step(B, WRITE, 0, made, put(0, 31 + i, 2, 35, 2));
    }
    step(B, CANCEL, 0, made, put(0, 1, 600, 200, 0));
    step(A, WRITE, 0, made, drop(0, 100, 400, 2));
    step(B, COPY, 0, NULL, 0);
    step(A, CHECKPOINT, 0, NULL, 0);
    step(A, COMPACT, 0, NULL, 0);
    step(B, VERIFY, 0, NULL, 0);
    step(B, WRITE, 0, made, put(0, 60, 3, 10, 1));
    step(A, CLOSE, 0, NULL, 0);
    step(B, WRITE, 0, made, put(0, 63, 3, 10, 1));
    step(A, OPEN, relaxed, NULL, 0);
    step(B, CLOSE, 0, NULL, 0);
    step(A, WRITE, 0, made, put(0, 66, 3, 10, 1));
    step(A, FLUSH, 0, NULL, 0);
    step(A, WRITE, 0, made, put(0, 67, 3, 12, 1));
    step(A, CLOSE, 0, NULL, 0); /* the last one */
    step(B, OPEN, full, NULL, 0);
    step(B, READ, 0, NULL, 0);
    step(B, WRITE, 0, made, put(0, 70, 4, 10, 1)); /* the first one on a clean store */
    step(B, CLOSE, 0, NULL, 0);
    step(A, OPEN, full, NULL, 0);
    step(A, WRITE, 0, made, put(0, 80, 4, 10, 1));
    step(A, DIE, 0, NULL, 0); /* dies with it; the next opener recovers */
    step(B, OPEN, full, NULL, 0);
    step(B, VERIFY, 0, NULL, 0);
    step(B, WRITE, 0, made, put(0, 90, 4, 10, 1));
    step(A, OPEN, full, NULL, 0);
    step(A, WRITE, 0, made, put(0, 92, 4, 10, 1));
    step(B, DIE, 0, NULL, 0); /* dies while the other continues */
    step(A, WRITE, 0, made, put(0, 95, 4, 10, 1));
    step(A, DIE, 0, NULL, 0);
    step(A, OPEN, full, NULL, 0);
    step(A, WRITE, 0, made, put(0, 99, 4, 10, 1));
    step(B, OPEN, full, NULL, 0);
    step(B, CLOSE, 0, NULL, 0);
    step(A, CLOSE, 0, NULL, 0);
}

static void erase(void) {
    static const char *const ends[] = {"", "-log", "-lock"};
    char name[500];
    int i;
    for (i = 0; i < 6; i++) snprintf(name, sizeof name, "%s%s", i < 3 ? path : copy_path, ends[i % 3]), unlink(name);
}

/* Opens and checks without faults. */
static void check(const char *name, int is_copy) {
    struct reply reply;
    if (bad) return;
    start(&checker, 'C', 0);
#define MUST(call) \
    do { \
        reply = call; \
        if (!bad && reply.status != OBJSTORE_OK) \
            complain( \
                "in the end: %s of %s: %s: %s", current, name, objstore_status_name(reply.status), reply.message); \
        if (bad) goto out; \
    } while (0)
    MUST(tell(&checker, OPEN, name, OBJSTORE_DURABILITY_FULL, NULL, 0));
    MUST(tell(&checker, VERIFY, name, 0, NULL, 0));
    if (is_copy) models[0] = copied, candidates = 1;
    compare("in the end an unharmed process", 1);
    MUST(tell(&checker, WRITE, name, 0, made, put(0, 3000, 50, 100, 5)));
    change(&models[0], made, 50);
    MUST(tell(&checker, READ, name, 0, NULL, 0));
    compare("an unharmed process after its own write", 0);
    MUST(tell(&checker, CLOSE, name, 0, NULL, 0));
    MUST(tell(&checker, CHECK_FILE, name, 0, NULL, 0));
out:
    end(&checker);
}

/* Nothing is left but the stores. */
static void look_for_leftovers(void) {
    struct dirent *entry;
    DIR *all = opendir(folder);
    while (all && (entry = readdir(all))) {
        const char *name = entry->d_name;
        if (name[0] == '.' || !strcmp(name, "s.objstore") || !strcmp(name, "s.objstore.copy")) continue;
        /* What could not be removed is there; and no second try is made to remove something that is in no one's way. */
        if (faults->class != FAULT_UNLINK) complain("%s was left behind", name);
        unlinkat(dirfd(all), name, 0);
    }
    closedir(all);
}

/* One history, in which the n-th call of a class goes wrong. */
static int run(int who, int class, uint64_t at, int error) {
    victim = who;
    bad = failures = steps_failed = may_be_poisoned = is_poisoned = 0;
    memset(models, 0, sizeof models), candidates = 1;
    memset(faults, 0, sizeof *faults);
    faults->class = class, faults->at = at, faults->error = error;
    erase();
    start(&sides[0], 'A', who == 0);
    start(&sides[1], 'B', who == 1);
    play();
    end(&sides[0]), end(&sides[1]);
    check(path, 0);
    if (!bad && access(copy_path, F_OK) == 0) check(copy_path, 1);
    look_for_leftovers();
    return !bad;
}

/* ---- all of them --------------------------------------------------------------------------------------------- */
struct error { const char *name; int number; };
static const struct error all_errors[] = {{"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EINTR", EINTR}, {"EMFILE", EMFILE},
    {"ENOMEM", ENOMEM}, {"ENOLCK", ENOLCK}, {"EINVAL", EINVAL}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EPERM", EPERM},
    {"short", FAULT_SHORT}, {"part", FAULT_PART}, {"nothing", FAULT_NOTHING}, {"drop", FAULT_DROP}};
static int error_of(const char *name) {
    size_t i;
    for (i = 0; i < sizeof all_errors / sizeof *all_errors; i++)
        if (!strcmp(all_errors[i].name, name)) return all_errors[i].number;
    fprintf(stderr, "history.c: there is no error %s\n", name);
    exit(2);
}
/* `silent`: the platform code continues after it, by itself or by another way, and no step may fail. */
static const struct { int class; const char *fails, *silent; } plan[] = {
    {FAULT_OPEN, "EIO EMFILE ENOMEM ENOSPC", "EINTR"},
    {FAULT_READ, "EIO", "EINTR short"},
    {FAULT_WRITE, "EIO ENOSPC part nothing", "EINTR short"},
    {FAULT_SYNC, "EIO ENOSPC EINTR", ""},        /* never retried: it is unknown what the kernel has forgotten */
    {FAULT_SYNC_FOLDER, "EIO ENOSPC", "EINVAL"},
    {FAULT_TRUNCATE, "EIO", "EINTR"},
    {FAULT_ALLOCATE, "EIO ENOSPC", "EINTR EOPNOTSUPP"},
    {FAULT_MAP, "ENOMEM EMFILE", ""},
    {FAULT_LOCK, "EIO ENOLCK", ""},
    {FAULT_PROBE, "EIO ENOLCK", ""},
    {FAULT_STATUS, "EIO ENOMEM", ""},
    {FAULT_ACCESS, "EIO EPERM", ""},
    {FAULT_LINK, "EIO ENOSPC", "EPERM EOPNOTSUPP"},
    {FAULT_RENAME, "EIO ENOSPC", ""},
    {FAULT_UNLINK, "EIO EPERM", ""},
    {FAULT_BOOT, "EIO EMFILE", "EINTR"}};

static int all(const char *which, int by_turns) {
    uint64_t counts[FAULT_CLASSES + 1], runs = 0, surfaced = 0, wrong = 0;
    size_t i;
    int who;
    for (who = 0; who < 2; who++) {
        if (which && which[0] != "AB"[who]) continue;
        if (!run(who, FAULT_ANY, 0, 0)) { fprintf(stderr, "history.c: without any fault: %s\n", problem); return 1; }
        memcpy(counts, faults->counts, sizeof counts);
        printf("%c makes %" PRIu64 " calls:", "AB"[who], counts[FAULT_ANY]);
        for (i = 0; i < FAULT_CLASSES; i++) printf(" %s %" PRIu64, fault_class_names[i], counts[i]);
        printf("\n");
        for (i = 0; i < sizeof plan / sizeof *plan; i++) {
            char list[200], *error, *state;
            const size_t loud_ones = strlen(plan[i].fails);
            uint64_t in_class = 0, in_surfaced = 0;
            snprintf(list, sizeof list, "%s %s", plan[i].fails, plan[i].silent);
            int number = 0, loud_count = 1, silent_count = plan[i].silent[0] != 0;
            for (error = list; error < list + loud_ones; error++) loud_count += *error == ' ';
            for (error++; *error; error++) silent_count += *error == ' ';
            for (error = strtok_r(list, " ", &state); error; error = strtok_r(NULL, " ", &state), number++) {
                const int silent = (size_t)(error - list) > loud_ones;
                uint64_t at;
                /* A call more or less may come from a thread of the library: on until there is none. */
                const int turns = !by_turns ? 1 : silent ? silent_count : loud_count;
                for (at = 1 + (uint64_t)((number + who) % turns);; at += (uint64_t)turns) {
                    int good = run(who, plan[i].class, at, error_of(error));
                    if (!faults->fired && good) break;
                    runs++, in_class++;
                    if (steps_failed > 0) surfaced++, in_surfaced++;
                    if (good && silent && steps_failed > 0)
                        good = 0,
                        snprintf(problem, sizeof problem, "a step failed, but the library is to go on by itself");
                    if (!good) {
                        wrong++;
                        fprintf(stderr, "WRONG: history one FOLDER %c %s %" PRIu64 " %s (%s): %s\n", "AB"[who],
                            fault_class_names[plan[i].class], at, error, faults->what, problem);
                        if (wrong >= 40) return 1;
                    }
                }
                if (at <= counts[plan[i].class] * 3 / 4) {
                    wrong++;
                    fprintf(stderr, "WRONG: %s: only %" PRIu64 " calls of %" PRIu64 " came\n",
                        fault_class_names[plan[i].class], at - 1, counts[plan[i].class]);
                }
            }
            printf("  %c %-12s %5" PRIu64 " histories, %5" PRIu64 " in which a step failed\n", "AB"[who],
                fault_class_names[plan[i].class], in_class, in_surfaced);
            fflush(stdout);
        }
    }
    printf("%s%" PRIu64 " histories with a failing call, %" PRIu64 " in which a step failed (%" PRIu64
           " other steps than commits with OUTCOME_UNKNOWN), %" PRIu64 " wrong\n",
        which ? which[0] == 'A' ? "A: " : "B: " : "", runs, surfaced, unlisted, wrong);
    return wrong > 0;
}

/* Control: what is not written is missing, and this must be seen. */
static int drops(void) {
    uint64_t at, caught = 0, total = 0;
    for (at = 1;; at++) {
        const int good = run(0, FAULT_WRITE, at, FAULT_DROP);
        if (!faults->fired) break;
        total++;
        if (!good) caught++;
        if (loud) printf("%" PRIu64 " %s: %s\n", at, faults->what, good ? "not noticed" : problem);
    }
    printf("control: of %" PRIu64 " writes that were dropped without a word, %" PRIu64 " are noticed\n", total, caught);
    /* Dropping a page that is soon written again, zeros, or a meta that its successor replaces, does no harm. */
    return caught * 2 < total || total == 0;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    if (argc < 3) return 2;
    snprintf(folder, sizeof folder, "%s", argv[2]);
    snprintf(path, sizeof path, "%s/s.objstore", folder);
    snprintf(copy_path, sizeof copy_path, "%s/s.objstore.copy", folder);
    faults = faults_state();
    if (!strcmp(argv[1], "all")) return all(argc > 3 ? argv[3] : NULL, 0);
    if (!strcmp(argv[1], "ci")) return all(argc > 3 ? argv[3] : NULL, 1);
    if (!strcmp(argv[1], "drop")) { loud = argc > 3; return drops(); }
    if (!strcmp(argv[1], "one") && argc == 7) {
        int class = 0;
        while (class < FAULT_ANY && strcmp(fault_class_names[class], argv[4]) != 0) class++;
        loud = 1;
        if (run(argv[3][0] - 'A', class, strtoull(argv[5], NULL, 10), error_of(argv[6]))) {
            printf("%s: all is well\n", faults->what);
            return 0;
        }
        fprintf(stderr, "%s: %s\n", faults->what, problem);
        return 1;
    }
    return 2;
}
