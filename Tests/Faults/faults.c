/* A preloaded library that makes system calls fail, or writes them down: `LD_PRELOAD=faults.so PROGRAM`.
 *
 * A program says by the functions of faults.h whose calls count, and which one fails. Without these, the environment
 * does:
 *
 *      FAULTS_WATCH=/folder/name   files whose path begins so, and the folder itself
 *      FAULTS=write:3:ENOSPC       class (faults.h, or `any`), which one, and how: EIO, ENOSPC, EINTR, EMFILE, ENOMEM,
 *                                  ENOLCK, EINVAL, EOPNOTSUPP, short, part, nothing, drop
 *
 * What cannot fail on a real system does not fail here: releasing a lock (one byte, alone in its range, needs no
 * memory), munmap, and close, whose result says nothing about the file.
 */
#define _GNU_SOURCE
#include "faults.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name, result, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static struct shared { struct faults faults; pthread_mutex_t order; } *shared;
static char prefix[512], folder[512], boot_path[512];
static int watching, log_fd = -1;

/* ---- which descriptors count --------------------------------------------------------------------------- */
enum { NONE, STORE, FOLDER, BOOT };
#define DESCRIPTORS 4096
static unsigned char kinds[DESCRIPTORS], is_full[DESCRIPTORS];
static char names[DESCRIPTORS][64];

static int kind_of(int fd) { return watching && fd >= 0 && fd < DESCRIPTORS ? kinds[fd] : NONE; }
static int is_watched(const char *path) { return watching && path && strncmp(path, prefix, strlen(prefix)) == 0; }

__attribute__((constructor)) static void begin(void) {
    pthread_mutexattr_t attributes;
    char *spec = getenv("FAULTS"), *watch = getenv("FAULTS_WATCH"), class[32], how[32];
    unsigned long long at;
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) abort();
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->order, &attributes);
    if (spec && sscanf(spec, "%31[^:]:%llu:%31s", class, &at, how) == 3) {
        static const struct { const char *name; int error;
        } all[] = {{"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EINTR", EINTR}, {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM},
            {"ENOLCK", ENOLCK}, {"EINVAL", EINVAL}, {"EOPNOTSUPP", EOPNOTSUPP}, {"short", FAULT_SHORT},
            {"part", FAULT_PART}, {"nothing", FAULT_NOTHING}, {"drop", FAULT_DROP}};
        size_t i;
        for (i = 0; i < sizeof all / sizeof *all; i++)
            if (!strcmp(all[i].name, how)) shared->faults.error = all[i].error;
        for (i = 0; i <= FAULT_CLASSES; i++)
            if (!strcmp(fault_class_names[i], class)) shared->faults.class = (int32_t)i;
        shared->faults.at = at;
    }
    if (watch) faults_watch(watch);
}

EXPORT struct faults *faults_state(void) { return &shared->faults; }
EXPORT void faults_watch(const char *path) {
    char *slash;
    watching = path != NULL;
    if (!path) return;
    snprintf(prefix, sizeof prefix, "%s", path);
    snprintf(folder, sizeof folder, "%s", path);
    if ((slash = strrchr(folder, '/'))) *slash = 0;
}
EXPORT void faults_boot(const char *path) { snprintf(boot_path, sizeof boot_path, "%s", path ? path : ""); }

static void enter(void) {
    if (pthread_mutex_lock(&shared->order) == EOWNERDEAD) pthread_mutex_consistent(&shared->order);
}
static void leave(void) { pthread_mutex_unlock(&shared->order); }

/* ---- failing --------------------------------------------------------------------------------------------- */
/* 0, or how this call is to fail. */
static int due(int class, const char *call, const char *name) {
    struct faults *f = &shared->faults;
    uint64_t own, any, n;
    if (!watching) return 0;
    own = __atomic_add_fetch(&f->counts[class], 1, __ATOMIC_SEQ_CST);
    any = __atomic_add_fetch(&f->counts[FAULT_ANY], 1, __ATOMIC_SEQ_CST);
    if (f->at == 0 || (f->class != class && f->class != FAULT_ANY)) return 0;
    n = f->class == FAULT_ANY ? any : own;
    if (n != f->at) return 0;
    __atomic_store_n(&f->fired, 1, __ATOMIC_SEQ_CST);
    snprintf(f->what, sizeof f->what, "%s of %s", call, name && *name ? name : "an unnamed file");
    /* No thread is between a call and its record. */
    if (f->error == FAULT_DIE) enter(), kill(getpid(), SIGKILL), pause();
    return f->error;
}
static const char *name_of(int fd) { return names[fd]; }
#define FAIL_IF_DUE(class, name) \
    do { int how = due(class, __func__, name); if (how > 0) { errno = how; return -1; } } while (0)

/* ---- recording ------------------------------------------------------------------------------------------- */
static int recording(void) { return watching && log_fd >= 0; }

static void put(const void *bytes, uint64_t count) {
    while (count > 0) {
        long n = syscall(SYS_write, log_fd, bytes, count);
        if (n <= 0) { if (n < 0 && errno == EINTR) continue; abort(); }
        bytes = (const char *)bytes + n;
        count -= (uint64_t)n;
    }
}
static void note(uint32_t kind, uint64_t file, uint64_t a, uint64_t b, const void *bytes, uint64_t count) {
    struct record r = {kind, (uint32_t)getpid(), file, a, b, count};
    int code = errno;
    put(&r, sizeof r);
    put(bytes, count);
    errno = code;
}
static uint64_t inode_of(int fd) {
    struct stat s;
    return syscall(SYS_fstat, fd, &s) == 0 ? (uint64_t)s.st_ino : 0;
}
static int64_t inode_size(int fd) {
    struct stat s;
    return syscall(SYS_fstat, fd, &s) == 0 ? (int64_t)s.st_size : -1;
}
static int is_there(const char *path) { return syscall(SYS_access, path, F_OK) == 0; }

EXPORT void faults_record(const char *path) {
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) abort();
}
EXPORT void faults_mark(uint32_t kind, uint64_t a, uint64_t b, const void *bytes, uint64_t count) {
    if (log_fd < 0) return;
    enter();
    note(RECORD_MARK + kind, 0, a, b, bytes, count);
    leave();
}

EXPORT void faults_exit(int status) {
    enter();
    _exit(status);
}

/* ---- opening and closing --------------------------------------------------------------------------------- */
EXPORT int open(const char *path, int flags, ...) {
    REAL(open, int, const char *, int, ...);
    int kind = NONE, fd, class = FAULT_OPEN, is_new = 0;
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        va_end(list);
    }
    if (watching) {
        if (is_watched(path)) kind = STORE;
        else if (!strcmp(path, folder)) kind = (flags & O_TMPFILE) == O_TMPFILE ? STORE : FOLDER;
        else if (!strcmp(path, "/proc/sys/kernel/random/boot_id")) kind = BOOT, class = FAULT_BOOT;
    }
    if (kind == NONE) return real(path, flags, mode);
    if (kind == BOOT && boot_path[0]) path = boot_path;
    {
        int how = due(class, "open", path);
        if (how > 0) { errno = how; return -1; }
    }
    if (recording() && kind == STORE) {
        enter();
        is_new = (flags & O_TMPFILE) == O_TMPFILE || ((flags & O_CREAT) && !is_there(path));
    }
    fd = real(path, flags, mode);
    if (fd >= DESCRIPTORS) abort();
    if (fd >= 0) {
        const char *slash = strrchr(path, '/');
        kinds[fd] = (unsigned char)kind;
        is_full[fd] = 0;
        snprintf(names[fd], sizeof names[fd], "%.63s",
            (flags & O_TMPFILE) == O_TMPFILE ? ""
            : slash                          ? slash + 1
                                             : path);
    }
    if (recording() && kind == STORE) {
        if (fd >= 0 && is_new)
            note(RECORD_NEW, inode_of(fd), 0, 0, path, (flags & O_TMPFILE) == O_TMPFILE ? 0 : strlen(path));
        leave();
    }
    return fd;
}
EXPORT int close(int fd) {
    REAL(close, int, int);
    if (fd >= 0 && fd < DESCRIPTORS) kinds[fd] = NONE;
    return real(fd);
}

/* ---- reading and writing ---------------------------------------------------------------------------------- */
EXPORT ssize_t pread(int fd, void *buffer, size_t count, off_t offset) {
    REAL(pread, ssize_t, int, void *, size_t, off_t);
    int kind = kind_of(fd), how;
    if (kind == NONE) return real(fd, buffer, count, offset);
    how = due(kind == BOOT ? FAULT_BOOT : FAULT_READ, "pread", name_of(fd));
    if (how > 0) { errno = how; return -1; }
    if (how == FAULT_SHORT && count > 1) count /= 2;
    return real(fd, buffer, count, offset);
}

EXPORT ssize_t pwritev(int fd, const struct iovec *vectors, int count, off_t offset) {
    REAL(pwritev, ssize_t, int, const struct iovec *, int, off_t);
    int how, i;
    ssize_t n;
    size_t total = 0, done = 0;
    if (kind_of(fd) != STORE) return real(fd, vectors, count, offset);
    for (i = 0; i < count; i++) total += vectors[i].iov_len;
    if (is_full[fd]) { is_full[fd] = 0; errno = ENOSPC; return -1; }
    how = due(FAULT_WRITE, "pwritev", name_of(fd));
    if (how > 0) { errno = how; return -1; }
    if (how == FAULT_NOTHING) return 0;
    if (how == FAULT_DROP) return (ssize_t)total;
    if ((how == FAULT_SHORT || how == FAULT_PART) && total > 1) {
        /* Half of it, in the middle of a vector. */
        char *half = malloc(total);
        if (!half) abort();
        for (i = 0; i < count; i++)
            memcpy(half + done, vectors[i].iov_base, vectors[i].iov_len), done += vectors[i].iov_len;
        n = pwrite(fd, half, total / 2, offset);
        free(half);
        is_full[fd] = how == FAULT_PART;
        return n;
    }
    if (!recording()) return real(fd, vectors, count, offset);
    enter();
    n = real(fd, vectors, count, offset);
    if (n > 0) {
        struct record r = {RECORD_WRITE, (uint32_t)getpid(), inode_of(fd), (uint64_t)offset, 0, (uint64_t)n};
        size_t left = (size_t)n;
        put(&r, sizeof r);
        for (i = 0; i < count && left > 0; i++) {
            size_t part = vectors[i].iov_len < left ? vectors[i].iov_len : left;
            put(vectors[i].iov_base, part);
            left -= part;
        }
    }
    leave();
    return n;
}

/* ---- syncs -------------------------------------------------------------------------------------------------- */
/* A medium takes its time: what others write meanwhile may be covered or not. */
static void take_time(void) {
    uint64_t most = shared->faults.sync_delay;
    if (most > 0) {
        uint32_t chance;
        struct timespec t = {0, 0};
        if (syscall(SYS_getrandom, &chance, sizeof chance, 0) != sizeof chance) chance = 0;
        t.tv_nsec = (long)(chance % (most * 1000));
        nanosleep(&t, NULL);
    }
}
static int sync_file(int fd, int (*real)(int), int class, uint32_t kind, const char *call) {
    int how = due(class, call, name_of(fd)), result;
    uint64_t file;
    if (how > 0) { errno = how; return -1; }
    if (how == FAULT_DROP) return 0;
    if (!recording()) return real(fd);
    file = inode_of(fd);
    enter();
    note(kind, file, 0, 0, NULL, 0);
    leave();
    result = real(fd);
    take_time();
    enter();
    if (result == 0) note(kind, file, 0, 1, NULL, 0);
    leave();
    return result;
}
EXPORT int fdatasync(int fd) {
    REAL(fdatasync, int, int);
    return kind_of(fd) == STORE ? sync_file(fd, real, FAULT_SYNC, RECORD_SYNC, __func__) : real(fd);
}
EXPORT int fsync(int fd) {
    REAL(fsync, int, int);
    switch (kind_of(fd)) {
    case STORE: return sync_file(fd, real, FAULT_SYNC, RECORD_SYNC, __func__);
    case FOLDER: return sync_file(fd, real, FAULT_SYNC_FOLDER, RECORD_SYNC_FOLDER, __func__);
    default: return real(fd);
    }
}

/* ---- space --------------------------------------------------------------------------------------------------- */
EXPORT int ftruncate(int fd, off_t length) {
    REAL(ftruncate, int, int, off_t);
    int result;
    if (kind_of(fd) != STORE) return real(fd, length);
    FAIL_IF_DUE(FAULT_TRUNCATE, name_of(fd));
    if (!recording()) return real(fd, length);
    enter();
    result = real(fd, length);
    if (result == 0) note(RECORD_SIZE, inode_of(fd), (uint64_t)length, 0, NULL, 0);
    leave();
    return result;
}
EXPORT int fallocate(int fd, int mode, off_t offset, off_t length) {
    REAL(fallocate, int, int, int, off_t, off_t);
    static int cannot;
    int result, how;
    if (kind_of(fd) != STORE) return real(fd, mode, offset, length);
    how = due(FAULT_ALLOCATE, __func__, name_of(fd));
    /* A file system that cannot do this cannot do it the next time either, nor half of it: behind the end of a file
       first, then for good. */
    if (how == EOPNOTSUPP) cannot = 1, how = 0;
    if (cannot && ((mode & FALLOC_FL_KEEP_SIZE) || inode_size(fd) == 0)) how = EOPNOTSUPP;
    if (how > 0) { errno = how; return -1; }
    if (!recording() || (mode & FALLOC_FL_KEEP_SIZE)) return real(fd, mode, offset, length);
    enter();
    result = real(fd, mode, offset, length);
    if (result == 0) note(RECORD_GROW, inode_of(fd), (uint64_t)(offset + length), 0, NULL, 0);
    leave();
    return result;
}
EXPORT void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    REAL(mmap, void *, void *, size_t, int, int, int, off_t);
    if (fd >= 0 && kind_of(fd) == STORE) {
        int how = due(FAULT_MAP, __func__, name_of(fd));
        if (how > 0) { errno = how; return MAP_FAILED; }
    }
    /* Before dlsym can be called: by what it calls itself. */
    if (!real) return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
    return real(address, length, protection, flags, fd, offset);
}

/* ---- locks --------------------------------------------------------------------------------------------------- */
EXPORT int fcntl(int fd, int command, ...) {
    REAL(fcntl, int, int, int, ...);
    va_list list;
    void *argument;
    va_start(list, command);
    argument = va_arg(list, void *);
    va_end(list);
    if (kind_of(fd) == STORE) {
        if (command == F_OFD_SETLK && ((struct flock *)argument)->l_type != F_UNLCK)
            FAIL_IF_DUE(FAULT_LOCK, name_of(fd));
        if (command == F_OFD_GETLK) FAIL_IF_DUE(FAULT_PROBE, name_of(fd));
    }
    return real(fd, command, argument);
}

/* ---- what files are, and their names ---------------------------------------------------------------------------- */
EXPORT int fstat(int fd, struct stat *status) {
    REAL(fstat, int, int, struct stat *);
    if (kind_of(fd) == STORE) FAIL_IF_DUE(FAULT_STATUS, name_of(fd));
    return real(fd, status);
}
EXPORT int statx(int fd, const char *restrict path, int flags, unsigned mask, struct statx *restrict status) {
    REAL(statx, int, int, const char *restrict, int, unsigned, struct statx *restrict);
    if (!*path && kind_of(fd) == STORE) FAIL_IF_DUE(FAULT_STATUS, name_of(fd));
    return real(fd, path, flags, mask, status);
}
EXPORT int fstatfs(int fd, struct statfs *status) {
    REAL(fstatfs, int, int, struct statfs *);
    if (kind_of(fd) == STORE) FAIL_IF_DUE(FAULT_STATUS, name_of(fd));
    return real(fd, status);
}
EXPORT int stat(const char *path, struct stat *status) {
    REAL(stat, int, const char *, struct stat *);
    if (is_watched(path)) FAIL_IF_DUE(FAULT_STATUS, path);
    return real(path, status);
}
EXPORT int fchmod(int fd, mode_t mode) {
    REAL(fchmod, int, int, mode_t);
    if (kind_of(fd) == STORE) FAIL_IF_DUE(FAULT_ACCESS, name_of(fd));
    return real(fd, mode);
}
EXPORT int fchown(int fd, uid_t owner, gid_t group) {
    REAL(fchown, int, int, uid_t, gid_t);
    if (kind_of(fd) == STORE) FAIL_IF_DUE(FAULT_ACCESS, name_of(fd));
    return real(fd, owner, group);
}
EXPORT int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    REAL(linkat, int, int, const char *, int, const char *, int);
    int result, fd = -1;
    if (!is_watched(to)) return real(from_folder, from, to_folder, to, flags);
    FAIL_IF_DUE(FAULT_LINK, to);
    if (!recording()) return real(from_folder, from, to_folder, to, flags);
    if (sscanf(from, "/proc/self/fd/%d", &fd) != 1) abort();
    enter();
    result = real(from_folder, from, to_folder, to, flags);
    if (result == 0) note(RECORD_LINK, inode_of(fd), 0, 0, to, strlen(to));
    leave();
    return result;
}
static void note_rename(const char *from, const char *to) {
    char both[1200];
    int n = snprintf(both, sizeof both, "%s%c%s", from, 0, to);
    note(RECORD_RENAME, 0, 0, 0, both, (uint64_t)n);
}
EXPORT int link(const char *from, const char *to) {
    REAL(link, int, const char *, const char *);
    if (!is_watched(to)) return real(from, to);
    FAIL_IF_DUE(FAULT_LINK, to);
    if (recording()) abort(); /* no file system that is recorded on needs it */
    return real(from, to);
}
EXPORT int rename(const char *from, const char *to) {
    REAL(rename, int, const char *, const char *);
    int result;
    if (!is_watched(to)) return real(from, to);
    FAIL_IF_DUE(FAULT_RENAME, to);
    if (!recording()) return real(from, to);
    enter();
    result = real(from, to);
    if (result == 0) note_rename(from, to);
    leave();
    return result;
}
EXPORT int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    REAL(renameat2, int, int, const char *, int, const char *, unsigned);
    int result;
    if (!is_watched(to)) return real(from_folder, from, to_folder, to, flags);
    FAIL_IF_DUE(FAULT_RENAME, to);
    if (!recording()) return real(from_folder, from, to_folder, to, flags);
    enter();
    result = real(from_folder, from, to_folder, to, flags);
    if (result == 0) note_rename(from, to);
    leave();
    return result;
}
EXPORT int unlink(const char *path) {
    REAL(unlink, int, const char *);
    int result;
    if (!is_watched(path)) return real(path);
    FAIL_IF_DUE(FAULT_UNLINK, path);
    if (!recording()) return real(path);
    enter();
    result = real(path);
    if (result == 0) note(RECORD_UNLINK, 0, 0, 0, path, strlen(path));
    leave();
    return result;
}
