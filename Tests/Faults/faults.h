/* What history.c and powercut.c ask of the preloaded library (faults.c). */
#ifndef FAULTS_H
#define FAULTS_H
#include <stdint.h>

/* Classes of calls. Each is counted by itself. */
enum {
    FAULT_OPEN,
    FAULT_READ,
    FAULT_WRITE,
    FAULT_SYNC,
    FAULT_SYNC_FOLDER,
    FAULT_TRUNCATE,
    FAULT_ALLOCATE,
    FAULT_MAP,
    FAULT_LOCK,
    FAULT_PROBE,
    FAULT_STATUS,
    FAULT_ACCESS,
    FAULT_LINK,
    FAULT_RENAME,
    FAULT_UNLINK,
    FAULT_BOOT,
    FAULT_CLASSES,
    FAULT_ANY = FAULT_CLASSES
};
static const char *const fault_class_names[] = {"open", "read", "write", "sync", "sync-folder", "truncate", "allocate",
    "map", "lock", "probe", "status", "access", "link", "rename", "unlink", "boot", "any"};

/* Beside errno values: how else a call goes wrong. */
enum {
    FAULT_SHORT = -1, /* does half of it, and says so */
    FAULT_PART = -2,  /* does half of it; the next one of the file fails with ENOSPC, as on a full disk */
    FAULT_NOTHING = -3, /* a write that writes nothing and says so */
    FAULT_DIE = -5,   /* its process is killed before it */
    FAULT_DROP = -4   /* does nothing, and says that all is done: a control, which the oracle must catch */
};

/* Shared by a program and all that it forks: what is to fail, and what was counted. */
struct faults {
    int32_t class, error;
    uint64_t at;               /* the n-th call fails, counted from 1; 0 = none */
    uint64_t counts[FAULT_CLASSES + 1];
    uint32_t fired;
    char what[200];            /* which call it was */
    /* Recording. */
    uint64_t sync_delay;       /* microseconds at most that a sync takes */
};

/* Programs that are linked with it find it before the C library, as if it was preloaded. */
struct faults *faults_state(void);
/* Whose calls count: those of this process, on files whose path begins with `prefix`. NULL: none. */
void faults_watch(const char *prefix);
/* Where the id of the boot is read from, NULL: where it is. So a program sees another boot. */
void faults_boot(const char *path);
/* From now on every changing call on the watched files goes into the log at `path`, in the order in which they happen,
 * of all processes that this one forks. */
void faults_record(const char *path);
/* Puts a mark of the program into the log. */
void faults_mark(uint32_t kind, uint64_t a, uint64_t b, const void *bytes, uint64_t count);
/* _exit, while none of the process's other threads is between a call and its entry in the log. */
void faults_exit(int status) __attribute__((noreturn));

/* The log: entries of this header and `count` bytes. */
struct record {
    uint32_t kind, process;
    uint64_t file, a, b, count;
};
enum {
    RECORD_NEW = 1,      /* file: inode. A file that is new; bytes: its path, or nothing */
    RECORD_WRITE = 2,    /* a: offset */
    RECORD_SIZE = 3,     /* a: the size that it is cut to, or grows to */
    RECORD_SYNC = 4,     /* b: 0 begins, 1 has ended */
    RECORD_SYNC_FOLDER = 5,
    RECORD_LINK = 6,     /* bytes: path */
    RECORD_RENAME = 7,   /* bytes: path, NUL, path */
    RECORD_UNLINK = 8,   /* bytes: path */
    RECORD_GROW = 9,     /* a: at least this size */
    RECORD_MARK = 100    /* + what the program says */
};
#endif
