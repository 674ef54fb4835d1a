/* SPDX-License-Identifier: Apache-2.0 */
/* objstore: an embedded object database. The C interface.
 *
 * ==================================================================================================
 *  READ THIS PAGE FIRST
 * ==================================================================================================
 *
 *  In one paragraph. A *store* (`objstore *`) is an open file, or a piece of memory. It holds
 *  *objects* of *classes*; a class has *properties*. Everything is read through a *view*: a live one,
 *  a frozen one (a snapshot) or a transaction, the only one that can write. A transaction becomes
 *  visible and durable as a whole or not at all, whatever is killed and whenever the power fails.
 *  Any number of threads and processes use one file at a time; one of them writes, and a reader never
 *  waits for it.
 *
 *      objstore_schema_new ─ add_class ─ add_property ─┐
 *      objstore_config_new ─ set_path ─ set_schema ────┴─► objstore_open ──► store
 *                                                                             │
 *          objstore_view_open ──► live view ── objstore_view_freeze ──► frozen view
 *          objstore_begin, objstore_write ──► transaction ── commit / cancel
 *          objstore_observe ──► token ── your handler(change set)
 *
 *  Contents
 *       1. Version, status, errors
 *       2. Values
 *       3. Schema: which classes there are
 *       4. Configuration: how to open
 *       5. Migrations: from one schema version to the next
 *       6. Stores
 *       7. Views and transactions
 *       8. Classes, properties and indexes by name
 *       9. Objects: create, read, change, delete
 *      10. Lists, sets and maps
 *      11. Mixed values and documents
 *      12. Rows: a cursor for reading one object after another, fast
 *      13. Queries: made once, asked as often as one likes
 *      14. Index ranges: objects between two bounds
 *      15. Inverses: which objects link to one
 *      16. Results: the objects that were found; sections of them; plain values
 *      17. Columns: many objects in one call
 *      18. Observing
 *      19. Asynchronous writes
 *      20. Typed observers, functions in queries
 *      21. JSON
 *      22. Bound functions
 *
 *  Caveats
 *   1. Status. Check every status. A call that does not return OBJSTORE_OK did nothing, unless its text says
 *      otherwise: a failing call inside a transaction undoes itself and leaves the transaction usable.
 *      On failure an out-parameter that takes a handle is set to NULL; any other is left as it was.
 *
 *   2. Commits. OBJSTORE_OK from a commit means durable (durability FULL). The one status that does not say what
 *      happened is OBJSTORE_ERR_OUTCOME_UNKNOWN: the disk refused to sync (or showed damage in what was to be
 *      synced), and the transaction is either whole or absent. The store is then read-only (OBJSTORE_ERR_POISONED)
 *      in all processes until the last of them has closed it. Open it again and look.
 *
 *      A transaction reads the newest commit, which may not be durable or shown to readers yet. A transaction that
 *      leaves nothing (unchanged, cancelled, refused) therefore ends, too, only when what it has read is durable and
 *      shown: no process sees less afterwards than it has seen before. OUTCOME_UNKNOWN then says that what the
 *      transaction has read may be lost.
 *
 *   3. Pins. A live view stands still between calls of objstore_view_refresh, and so does its pin: a view that is
 *      neither refreshed nor closed keeps the file from reusing space (the file stays bounded: about twice the live
 *      size). The same holds for a frozen view, and for an observer whose change sets are not fetched. objstore_pins
 *      says which process holds which version, and since when.
 *
 *   4. Text and binaries. What you pass in is copied before the call returns. What you get is *borrowed* or *copied*,
 *      never yours to free: see "Text out" below.
 *
 *   5. fork(). In the child every handle of the parent is dead, except schemas and configurations, of which the child
 *      has its own. Closing a dead handle is allowed and touches nothing shared; every other call returns
 *      OBJSTORE_ERR_FORKED. Open the file again in the child, which holds no lock of its parent. exec() is safe
 *      (everything is close-on-exec).
 *
 *      A callback may call fork: where it returns in the child, the call that it belongs to ends there with FORKED.
 *      The child of a handler on the worker thread has that thread alone: where the handler returns, the child ends,
 *      with status 0.
 *
 *   6. Files.
 *      Other programs. Do not open, copy, move, truncate or delete the files of an open store by other means. If
 *      another program truncates the file or its -lock (any program that may write it can do so), the processes that
 *      have the store open die of SIGBUS, as with any mapped file. To copy an open store use objstore_copy; a store
 *      that all processes have closed is its single file.
 *
 *      Replaced files. If the file of an open store is deleted, replaced or moved away all the same (or its path leads
 *      elsewhere since a chroot), the process gets OBJSTORE_ERR_REPLACED, at the latest when it writes, and touches
 *      nothing of a new store in that place. What was written before is in the file that was moved once all processes
 *      have closed it; until then that file needs its log, which stays behind, and which is removed when another store
 *      is opened there.
 *
 *      Permissions. The files beside a store, and copies of it, have its mode, owner and group, whatever the umask. A
 *      process that may write the store may write its lock file, and with that can stop the others; one that clears
 *      there which versions are read lets other processes overwrite and cut what a reader still looks at, as if it
 *      had done so to the store itself. A new store has the permissions that umask leaves of 0666; one that its owner
 *      could not read and write then is not made (IO).
 *
 *      File sizes. OUT_OF_SPACE comes for a limit of file sizes, too (ulimit -f), if SIGXFSZ is ignored: by default
 *      that signal ends the process.
 *
 *      /proc. A store in a file needs /proc: objstore_open reads the id of the running system there
 *      (/proc/sys/kernel/random/boot_id), and is OBJSTORE_ERR_IO in a chroot or container that does not show it.
 *
 *   7. File systems. Network and user-space file systems (NFS, 9p, virtiofs, FUSE) cannot share a file between
 *      processes: OBJSTORE_ERR_INCOMPATIBLE_FILE_SYSTEM, unless opened with OBJSTORE_CONFIG_EXCLUSIVE.
 *
 *   8. Checked arguments. A structure that this interface only reads or writes for you (objstore_row,
 *      objstore_buffer) must have been initialised as its text says: C cannot tell uninitialised memory from
 *      initialised. Everything else is checked: NULL, closed handles, handles of the wrong kind, deleted objects, ids
 *      that do not exist, wrong types, writing outside a transaction. Each gives a status and a message that names the
 *      argument, never a crash and never silence.
 *
 *   9. Surroundings.
 *      Stack. 256 KiB a thread are enough for every call. A call that goes as deep as the data (nested values, JSON,
 *      links that are followed) returns OUT_OF_RANGE where a small stack has no room for that depth; 1 MiB is enough
 *      for all that the limits allow. The library's own threads have the process's default size, for your handlers and
 *      hooks.
 *
 *      Signals. The library uses none. Handlers run on your threads only (the library's threads block all signals),
 *      and a wait that a signal interrupts returns.
 *
 *      Cancellation. pthread_cancel ends a thread inside objstore_wait; in other calls it acts when they have
 *      returned, in callbacks never (with PTHREAD_CANCEL_ASYNCHRONOUS nothing of this holds). A transaction that an
 *      ended thread leaves open stays open until it is cancelled, or the store closed.
 *
 *      Memory. OUT_OF_MEMORY comes before a call begins, where the system gives it no address space (a limit of the
 *      process, or a system without overcommit): a reserve of 4 MiB lets calls that have begun run to their end.
 *      Memory that grows with arguments, values, objects or changes does not come out of it: a call that gets none
 *      returns OUT_OF_MEMORY, before it has changed anything, or in the middle; then the transaction can only be
 *      cancelled, or rolled back to a savepoint. A commit that gets none did not happen.
 *
 *      Unloading. dlclose leaves the library where it is, since threads that used it may end later.
 *
 *  Handles
 *      objstore, objstore_schema, objstore_config, objstore_view, objstore_query, objstore_results, objstore_table,
 *      objstore_sections, objstore_values, objstore_changes, objstore_token and objstore_bound are handles: they own
 *      something, and you release each with the close function of its type. Closing NULL is allowed and does nothing.
 *      A handle is an opaque word: compare it with == and nothing else. Using a closed one gives
 *      OBJSTORE_ERR_CLOSED_HANDLE, using one where another type is due OBJSTORE_ERR_WRONG_KIND. Closing a store closes
 *      the views, queries, results, sections, values and tokens that came from that handle.
 *
 *      *Objects are not handles*: an objstore_object is 16 bytes of plain value, free to copy, to keep and to send to
 *      another thread. It is resolved in whatever view of its store you use it with. Class and property ids are plain
 *      numbers too. They belong to the file: they never change, are never reused, and are the same in every process.
 *      0 is never an id.
 *
 *  Limits
 *      names                   1 to 255 bytes                       else INVALID_SCHEMA
 *      classes of a store      4096                                 else INVALID_SCHEMA
 *      properties of a class   65,000, TIMESTAMP, DECIMAL128, OBJECT_ID and UUID count twice; over its whole life,
 *                              those that were dropped included     else INVALID_SCHEMA, SCHEMA_MISMATCH
 *      indexes                 of 2 to 8 properties                 else INVALID_SCHEMA
 *      a string or binary      OBJSTORE_LIMIT_VALUE_BYTES, 64 MiB by default; 64 MiB where it is indexed
 *                                                                   else VALUE_TOO_LARGE
 *      primary keys, map keys  1024 bytes                           else VALUE_TOO_LARGE
 *      an object               as many values as it has properties, each as long as one can be: there is no other limit
 *      objects, elements       2^62 keys of a class, 2^48 elements of a property
 *
 *  Threads
 *      There is no "wrong thread". Stores, frozen views, queries, results, change sets and objects: any thread, in
 *      parallel. A live view and a transaction: any thread, one call at a time (calls are serialised inside;
 *      uncontended this costs a few nanoseconds). For parallel live reads open one live view per thread, they are
 *      cheap. A row (objstore_row), a buffer (objstore_buffer), a schema and a config: one thread at a time, which is
 *      yours to ensure. A handle may be closed while another thread is inside a call on it: closing waits for that
 *      call, and the memory that the other thread borrowed is gone afterwards.
 *
 *  Callbacks
 *      Every callback comes as (function, userdata, free_userdata). The library hands `userdata` to the function as it
 *      is. It calls `free_userdata` (NULL: none) exactly once, when it will not use userdata any more, *also when the
 *      call that took it fails*, whatever its status.
 *
 *      The library calls your functions only from threads that you lent: inside the call that took the function, or
 *      inside objstore_deliver / objstore_wait / objstore_close. Two exceptions, both of your own choice: a log hook
 *      (any thread), and OBJSTORE_CONFIG_DELIVER_ON_WORKER (the library's worker thread).
 *
 *      A callback returns a status. It may call the library, except where that could never end: such a call returns
 *      OBJSTORE_ERR_IN_CALLBACK, it never deadlocks. free_userdata and log hooks may not call the library at all
 *      (IN_CALLBACK, too). No C++ exception, longjmp or pthread_exit may leave a callback. Languages in which a
 *      function can be left without a result: see objstore_must_finish.
 *
 *  Growing structures
 *      A structure that begins with struct_size may get more members at its end. Set struct_size to the sizeof of the
 *      structure before the call (objstore_…_init does). The library fills the members that fit and that it knows, and
 *      sets struct_size to the bytes that it filled. So a program runs with an older or newer library than it was
 *      compiled with. All other structures are final. Members that are called `reserved` are 0: INVALID_ARGUMENT where
 *      they are looked at, unless their text says that they are ignored.
 *
 *  Text in
 *      objstore_text = pointer + length in bytes, UTF-8, or length -1 for NUL-terminated. OBJSTORE_STR("literal") and
 *      objstore_cstr(pointer) make one.
 *
 *  Text out
 *      Functions that hand out text take an `objstore_buffer *buffer`.
 *        buffer given: the bytes are copied there; they stay until the buffer is used again or freed. Works with every
 *          view.
 *        buffer NULL: the bytes are *borrowed*, nothing is copied. Frozen views lend until the view is closed; a
 *          transaction lends until its next writing call, or its end. Live views never lend, since another thread may
 *          move them: text of a live view without a buffer is OBJSTORE_ERR_WRONG_VIEW. (Numbers need no buffer
 *          anywhere.)
 *      Text out is not NUL-terminated when borrowed; in a buffer each text is followed by a NUL that its length does
 *      not count. An empty text is a non-NULL pointer and length 0.
 *
 *  Reading the entries
 *      Each entry says what is particular to it. These hold for all and are not repeated:
 *      errors of any call        INVALID_ARGUMENT, CLOSED_HANDLE, WRONG_KIND, FORKED, OUT_OF_MEMORY,
 *                                INTERNAL
 *      of any call that reads    CORRUPT (what was read fails its checks), IO, NO_SUCH_CLASS,
 *                                NO_SUCH_PROPERTY for ids that do not exist, WRONG_STORE for an object
 *                                or handle of another store, NO_SUCH_OBJECT for a deleted object
 *      of any call that writes   also NOT_IN_WRITE, OUT_OF_SPACE, VALUE_TOO_LARGE, INVALID_UTF8
 *      blocking                  a call that does not say "Blocks" waits for no disk sync, no other
 *                                process and no writer (a page that is not in memory is read)
 *      cost                      n = objects of the class, k = results, m = arguments in an array
 *      "cannot fail"             there is no bad argument and no error
 * ================================================================================================== */
#ifndef OBJSTORE_H
#define OBJSTORE_H

/* For readers of C that know no C compiler (LuaJIT's ffi.cdef, Python's cffi): what `cpp -P
 * -DOBJSTORE_DECLARATIONS_ONLY objstore.h` prints is types, constants and functions, and nothing else. See
 * docs/other-languages.md. */
#ifndef OBJSTORE_DECLARATIONS_ONLY
#  include <stdbool.h>
#  include <stddef.h>
#  include <stdint.h>
#endif

/* The version of this header. The library answers its own with objstore_version(). These three lines are the
 * only place where the version is written down: build scripts read them. */
#define OBJSTORE_VERSION_MAJOR 0
#define OBJSTORE_VERSION_MINOR 1
#define OBJSTORE_VERSION_PATCH 0
#define OBJSTORE_VERSION_NUMBER \
    (OBJSTORE_VERSION_MAJOR * 1000000 + OBJSTORE_VERSION_MINOR * 1000 + OBJSTORE_VERSION_PATCH)

#ifdef OBJSTORE_DECLARATIONS_ONLY
#  define OBJSTORE_API
#else
#  define OBJSTORE_API __attribute__((visibility("default")))
#endif

/* For Swift's importer of C, which defines __swift__; C and C++ see plain C99 and C++11.
 *
 * Parameters need no annotation: where the header says nothing, Swift's compiler insists that the function that
 * implements the declaration takes an optional, and so has to handle NULL. Members of structures and results are
 * annotated, so that Swift does not unwrap them implicitly.
 *
 * OBJSTORE_ENUM makes a type of exactly 32 signed bits in every language, whose set of values may grow: in C an
 * int32_t with named constants, in C++ and Swift an enumeration. */
#if defined(__swift__)
#  pragma clang diagnostic push
#  pragma clang diagnostic ignored "-Wnullability-completeness"
#  define OBJSTORE_NULLABLE _Nullable
#  define OBJSTORE_NONNULL _Nonnull
#  define OBJSTORE_ENUM(name)                                             \
    enum __attribute__((enum_extensibility(open))) name : int32_t;        \
    typedef enum name name;                                               \
    enum __attribute__((enum_extensibility(open))) name : int32_t
#elif defined(__cplusplus)
#  define OBJSTORE_NULLABLE
#  define OBJSTORE_NONNULL
#  define OBJSTORE_ENUM(name) enum name : int32_t
#else
#  define OBJSTORE_NULLABLE
#  define OBJSTORE_NONNULL
#  define OBJSTORE_ENUM(name) typedef int32_t name; enum
#endif

/* OBJSTORE_CHECKS(token, …) at the end of every exported declaration names the bad arguments that the function refuses.
 * It is empty for the compiler: the generator of the bad-argument test reads it, and Tests/Package/bad_arguments.md
 * explains its words. */
#define OBJSTORE_CHECKS(...)

#ifdef __cplusplus
extern "C" {
#endif

/* ================================================================================================
 *  1. Version, status, errors
 * ================================================================================================ */

/** Returns the version of the loaded library as text, "major.minor.patch". Valid as long as the process runs. Cannot
 * fail. */
OBJSTORE_API const char *OBJSTORE_NONNULL objstore_version(void)
    OBJSTORE_CHECKS(none);

/** Returns the version of the loaded library as a number, to compare with OBJSTORE_VERSION_NUMBER: major * 1,000,000 +
 * minor * 1,000 + patch. Cannot fail. */
OBJSTORE_API uint32_t objstore_version_number(void)
    OBJSTORE_CHECKS(none);

/** How a call ended. The numbers never change. New ones may come: treat one that you do not know as a failure. Statuses
 * from OBJSTORE_USER_STATUS up are yours: the library never makes one, and hands on what your transaction body
 * returns. */
OBJSTORE_ENUM(objstore_status) {
    OBJSTORE_OK = 0,

    /* The call is wrong. Nothing happened. */
    OBJSTORE_ERR_INVALID_ARGUMENT = 1, /* NULL, unknown flag, bad length …: the message names the argument */
    OBJSTORE_ERR_CLOSED_HANDLE = 2,    /* the handle, or the store it came from, was closed */
    OBJSTORE_ERR_WRONG_KIND = 3,       /* a handle of another type */
    OBJSTORE_ERR_WRONG_STORE = 4,      /* an object or handle of another store */
    OBJSTORE_ERR_WRONG_VIEW = 5,       /* this kind of view cannot do that */
    OBJSTORE_ERR_NO_SUCH_CLASS = 6,
    OBJSTORE_ERR_NO_SUCH_PROPERTY = 7,
    OBJSTORE_ERR_NO_SUCH_OBJECT = 8,   /* deleted, cancelled, or not yet in this view */
    OBJSTORE_ERR_WRONG_TYPE = 9,       /* the value does not fit the property */
    OBJSTORE_ERR_NOT_NULLABLE = 10,    /* null for a property that is not nullable */
    OBJSTORE_ERR_MISSING_VALUE = 11,   /* no value for a property that has no default and is not nullable */
    OBJSTORE_ERR_NULL_VALUE = 12,      /* the stored value is null, which the caller excluded */
    OBJSTORE_ERR_INVALID_UTF8 = 13,
    OBJSTORE_ERR_VALUE_TOO_LARGE = 14, /* over OBJSTORE_LIMIT_VALUE_BYTES, or a key over 1024 bytes */
    OBJSTORE_ERR_OUT_OF_RANGE = 15,    /* an index, or a number that does not fit (also an overflow) */
    OBJSTORE_ERR_NO_PRIMARY_KEY = 16,  /* the class has none */
    OBJSTORE_ERR_DUPLICATE_KEY = 17,   /* an object with this primary key, or with these unique values, exists */
    OBJSTORE_ERR_KEY_IMMUTABLE = 18,   /* a primary key cannot be changed */
    OBJSTORE_ERR_NOT_POSITIONED = 19,  /* the row stands on no object */
    OBJSTORE_ERR_INVALID_SIGNATURE = 20, /* position = the offending byte */
    OBJSTORE_ERR_INVALID_QUERY = 21,     /* position = the offending byte, or node */
    OBJSTORE_ERR_NOT_SUPPORTED = 22,     /* valid, but this version of the library cannot do it */
    OBJSTORE_ERR_NO_SUCH_INDEX = 23,     /* the class has no index of these properties */
    OBJSTORE_ERR_EMBEDDED = 24,          /* an embedded object has exactly one parent, in which it is made */
    OBJSTORE_ERR_INVALID_JSON = 25,      /* position = the offending byte; the message says line, column and path */

    /* Not now, not here. Nothing happened. */
    OBJSTORE_ERR_NOT_IN_WRITE = 40,     /* writing through a view that is no transaction */
    OBJSTORE_ERR_ALREADY_IN_WRITE = 41, /* this thread would wait for itself */
    OBJSTORE_ERR_IN_CALLBACK = 42,      /* not from inside a callback */
    OBJSTORE_ERR_BUSY = 43,             /* another thread or process has it: the writer's lock, the files */
    OBJSTORE_ERR_TIMEOUT = 44,
    OBJSTORE_ERR_READ_ONLY = 45,        /* the store is open read-only */
    OBJSTORE_ERR_TOO_MANY_READERS = 46, /* no slot for another pinned version: see objstore_pins */
    OBJSTORE_ERR_FORKED = 47,           /* a handle of the parent process */
    OBJSTORE_ERR_CANCELLED = 48,        /* a progress or wait callback, or an async cancel, ended the operation */
    OBJSTORE_ERR_CALLBACK = 49,         /* a callback failed: objstore_fail, or a handler that returned not OK */
    OBJSTORE_ERR_TOO_MANY_VERSIONS = 50, /* more versions are alive than OBJSTORE_LIMIT_VERSIONS: see objstore_pins;
                                            more are to be kept than objstore_keep_version can */
    OBJSTORE_ERR_VERSION_GONE = 51,     /* the version of a bookmark is not kept any more: begin anew */

    /* The machine. */
    OBJSTORE_ERR_OUT_OF_MEMORY = 60,
    OBJSTORE_ERR_OUT_OF_SPACE = 61,     /* the disk, or the quota, is full: the transaction did not happen */
    OBJSTORE_ERR_IO = 62,               /* system_error has errno; the transaction did not happen */
    OBJSTORE_ERR_OUTCOME_UNKNOWN = 63,  /* the commit is whole or absent; the store is poisoned */
    OBJSTORE_ERR_POISONED = 64,         /* a sync failed, or damage was found: reading goes on, writing does not */
    OBJSTORE_ERR_REPLACED = 65,         /* the store's file was deleted, moved or replaced: open it again */

    /* The file. */
    OBJSTORE_ERR_NOT_FOUND = 80,
    OBJSTORE_ERR_ALREADY_EXISTS = 81,
    OBJSTORE_ERR_NOT_A_STORE = 82,
    OBJSTORE_ERR_CORRUPT = 83,          /* a check of the content failed */
    OBJSTORE_ERR_VERSION_MISMATCH = 84, /* the file's format, or that of a process that has it open, does not fit */
    OBJSTORE_ERR_INCOMPATIBLE_FILE_SYSTEM = 85,
    OBJSTORE_ERR_NEEDS_LOG = 86,        /* not cleanly closed, and its log is missing or of another store */
    OBJSTORE_ERR_CONFIG_MISMATCH = 87,  /* this process has the file open with a different configuration */
    OBJSTORE_ERR_INVALID_SCHEMA = 88,   /* the schema contradicts itself */
    OBJSTORE_ERR_SCHEMA_MISMATCH = 89,  /* the schema and the file disagree */

    OBJSTORE_ERR_INTERNAL = 99,         /* the library found an error of its own: please report the message */

    OBJSTORE_USER_STATUS = 10000        /* the first status that is yours */
};

/** Text: `length` bytes of UTF-8 at `bytes`. Where text is passed in, length -1 means NUL-terminated. */
typedef struct objstore_text {
    const char *OBJSTORE_NULLABLE bytes;
    int64_t length;
} objstore_text;

/** Bytes that are not text. Length is never negative. */
typedef struct objstore_bytes {
    const uint8_t *OBJSTORE_NULLABLE bytes;
    int64_t length;
} objstore_bytes;

/** What is known about the last failing call of a thread. Make one with objstore_error_init(). */
typedef struct objstore_error {
    uint32_t struct_size;        /* in: sizeof (objstore_error) */
    objstore_status status;      /* OBJSTORE_OK when no call of this thread failed so far */
    objstore_text message;       /* an English sentence, NUL-terminated; names the argument to blame */
    objstore_text class_name;    /* empty when no class is involved */
    objstore_text property_name; /* empty when no property is involved */
    int64_t position;            /* byte in a signature or query, or row in an array of rows; -1 = none */
    int64_t callback_code;       /* what a callback gave: objstore_fail's code, or its status; else 0 */
    int32_t system_error;        /* errno, else 0 */
    uint32_t reserved;
} objstore_error;

/** Fills `error` with what is known about the last failing call of the calling thread. A successful call does not touch
 * that information (so success costs nothing), nor does this one. The texts are borrowed until the thread's next
 * failing call. A status handed on by objstore_write keeps the error that was set when the body failed. Works in a
 * forked child. */
OBJSTORE_API objstore_status objstore_last_error(objstore_error *error)
    OBJSTORE_CHECKS(null(error), size(error));

/** Returns the message of the thread's last failing call, for printing: NUL-terminated, "" when no call has failed.
 * Borrowed until the thread's next failing call. Cannot fail. */
OBJSTORE_API const char *OBJSTORE_NONNULL objstore_last_message(void)
    OBJSTORE_CHECKS(none);

/** Returns the name of a status, "OBJSTORE_ERR_IO"; "unknown status" for a number that has none. Valid as long as the
 * process runs. Cannot fail. */
OBJSTORE_API const char *OBJSTORE_NONNULL objstore_status_name(objstore_status status)
    OBJSTORE_CHECKS(none);

/** Records `code` and `message` as the thread's last error and returns OBJSTORE_ERR_CALLBACK. For callbacks: `return
 * objstore_fail(42, OBJSTORE_STR("no such customer"));`. The message is copied; one that is not UTF-8 is recorded as
 * "". Cannot fail otherwise. */
OBJSTORE_API objstore_status objstore_fail(int64_t code, objstore_text message)
    OBJSTORE_CHECKS(none);

/** Marks a callback as one that ends with objstore_finish. It is not called but given, as the `free_userdata` of the
 * callback. It frees nothing.
 * What such a callback returns means nothing. If it returns without objstore_finish, it was *left*: nothing of what it
 * was to do counts as done. The operation that it belongs to fails as with a status that is not OK
 * (OBJSTORE_ERR_CALLBACK as the callback's own). A change set that a handler left comes again with the next delivery,
 * together with what was committed meanwhile.
 * For languages whose functions can be left before their first line, and then return whatever lies on the stack: in
 * Python an exception of a signal handler does that to a callback of ctypes. */
OBJSTORE_API void objstore_must_finish(void *userdata)
    OBJSTORE_CHECKS(none);

/** Says that a callback with objstore_must_finish has ended, with this status, and returns the status. It is the last
 * call of the callback, on its thread. Has no effect elsewhere. Cannot fail. */
OBJSTORE_API objstore_status objstore_finish(objstore_status status)
    OBJSTORE_CHECKS(none);

/* ================================================================================================
 *  2. Values
 * ================================================================================================ */

/** What a value is, and what a property holds. */
OBJSTORE_ENUM(objstore_kind) {
    OBJSTORE_KIND_NULL = 0,
    OBJSTORE_KIND_BOOL = 1,
    OBJSTORE_KIND_INT = 2,        /* 64 bits, signed */
    OBJSTORE_KIND_FLOAT = 3,      /* 32 bits; NaN is stored as given */
    OBJSTORE_KIND_DOUBLE = 4,     /* 64 bits; NaN is stored as given */
    OBJSTORE_KIND_DECIMAL128 = 5, /* IEEE 754-2008, BID; stored bit by bit, ordered as a number: 1.0 equals 1.00 */
    OBJSTORE_KIND_STRING = 6,     /* valid UTF-8, may contain NUL; ordered by code point */
    OBJSTORE_KIND_BINARY = 7,     /* ordered bytewise */
    OBJSTORE_KIND_TIMESTAMP = 8,
    OBJSTORE_KIND_OBJECT_ID = 9,  /* 12 bytes, ordered bytewise */
    OBJSTORE_KIND_UUID = 10,      /* 16 bytes, ordered bytewise */
    OBJSTORE_KIND_LINK = 11,      /* a reference to an object */
    OBJSTORE_KIND_LIST = 12,      /* a reference to a list, set or map; inside a document (section 11): how many
                                   * elements a list or map has */
    OBJSTORE_KIND_SET = 13,
    OBJSTORE_KIND_MAP = 14,
    OBJSTORE_KIND_MIXED = 15,     /* of a property: its values are null, of a kind up to LINK, or documents. No value
                                   * has this kind. */
    OBJSTORE_KIND_DOCUMENT = 16   /* of a value in a mixed property: a nested list or map, packed; of no property */
};
/* Properties of this version are of kind BOOL, INT, FLOAT, DOUBLE, DECIMAL128, STRING, BINARY, TIMESTAMP, OBJECT_ID
 * or UUID, or lists, sets and maps of these, or LINK, or MIXED. A link in a mixed leads to an object of
 * any class, but to no embedded one; a set is no value of it. Elements of lists, sets and maps can be MIXED, too. */

typedef uint32_t objstore_class_id;    /* opaque, unique in the file, never reused, never 0 */
typedef uint32_t objstore_property_id; /* the same; that of one class is never valid for another */
typedef uint32_t objstore_index_id; /* opaque, unique in the file, never reused, never 0, no class or property id */

/** An object: a plain value that says which object of which store is meant. There is nothing to release. Two are the
 * same object when all three fields are equal. Zero bytes mean "no object". */
typedef struct objstore_object {
    objstore_class_id class_id;
    uint32_t store_tag; /* which store (objstore_info): the same in all processes, unequal for unequal stores */
    int64_t key;        /* >= 0, given in the order of creation; not used again, except a key that only cancelled
                         * transactions had, once all processes have closed the store */
} objstore_object;

/** A point in time: `seconds` since 1970-01-01T00:00:00Z, leap seconds not counted (may be negative), plus
 * `nanoseconds`, always 0 to 999,999,999. */
typedef struct objstore_timestamp {
    int64_t seconds;
    int32_t nanoseconds;
    uint32_t reserved; /* 0 when given out, ignored when passed in */
} objstore_timestamp;

/** A decimal number of up to 34 digits, sign × coefficient × 10^exponent: decimal128 of IEEE 754-2008 in the binary
 * encoding (BID), `low` the bits 0 to 63. objstore_decimal128_from_text makes one; a compiler's _Decimal128 in BID
 * (gcc on x86-64) has the same 16 bytes. A coefficient above 10^34 - 1 counts as 0. */
typedef struct objstore_decimal128 { uint64_t low; uint64_t high; } objstore_decimal128;
/** 4 bytes of seconds since 1970, 5 random bytes of the process that made it, 3 bytes of a counter, each big-endian.
 * Any 12 bytes are valid. objstore_object_id_new makes one. */
typedef struct objstore_object_id { uint8_t bytes[12]; } objstore_object_id;
/** The 16 bytes in the order of the text form: byte 0 is the first two digits. Any 16 bytes are valid. */
typedef struct objstore_uuid { uint8_t bytes[16]; } objstore_uuid;

/** Names one version of one store: see objstore_view_bookmark. */
typedef struct objstore_bookmark { uint8_t bytes[40]; } objstore_bookmark;

/** Which list, set or map is meant; a plain value like an object. */
typedef struct objstore_collection {
    objstore_object owner;
    objstore_property_id property_id;
    uint32_t reserved;
    int64_t collection_id; /* 0: for later versions */
} objstore_collection;

/** A value: its kind and, in the member of that kind, its content. 40 bytes; the layout is final.
 *
 *      byte 0      4            8                                               40
 *           ┌──────┬────────────┬───────────────────────────────────────────────┐
 *           │ kind │ reserved 0 │ data: the member that belongs to the kind      │
 *           └──────┴────────────┴───────────────────────────────────────────────┘
 *
 * Make one with objstore_int(5), objstore_string(OBJSTORE_STR("Rex")) …; all zero bytes are null. */
typedef struct objstore_value {
    objstore_kind kind;
    uint32_t reserved;
    union objstore_value_data {
        bool boolean;                   /* BOOL */
        int64_t integer;                /* INT */
        float single;                   /* FLOAT */
        double real;                    /* DOUBLE */
        objstore_decimal128 decimal128; /* DECIMAL128 */
        objstore_text text;             /* STRING */
        objstore_bytes binary;          /* BINARY */
        objstore_timestamp timestamp;   /* TIMESTAMP */
        objstore_object_id object_id;   /* OBJECT_ID */
        objstore_uuid uuid;             /* UUID */
        objstore_object link;           /* LINK */
        objstore_collection collection; /* LIST, SET, MAP; of those inside a document `integer`: how many elements */
        objstore_bytes document;        /* DOCUMENT: packed, its first byte says LIST or MAP */
        uint64_t words[4];              /* all of it */
    } data;
} objstore_value;

/** Memory that the library fills and grows. Three ways to have one:
 *      objstore_buffer b = objstore_buffer_init();              the library allocates
 *      objstore_buffer b = objstore_buffer_over(array, size);   yours first, the library's when too small
 *      static objstore_buffer b;                                all zero bytes: as the first
 * Each call that takes a buffer starts it from empty: what an earlier call put there is gone. Use it as often as you
 * like, then release it with objstore_buffer_free. One thread at a time. */
typedef struct objstore_buffer {
    uint8_t *OBJSTORE_NULLABLE bytes;
    size_t length;   /* bytes in use */
    size_t capacity; /* bytes there are */
    uint64_t owner;  /* 0: yours or none, 1: the library's. Do not touch. */
} objstore_buffer;

/** Frees what the library allocated for `buffer`, and makes it empty. NULL and an empty buffer are allowed. */
OBJSTORE_API objstore_status objstore_buffer_free(objstore_buffer *buffer)
    OBJSTORE_CHECKS(nullable(buffer), buffer(buffer));

/* The constructors: inline, without cost, cannot fail. They exist in the header only. */

#ifndef OBJSTORE_DECLARATIONS_ONLY
static inline objstore_text objstore_text_of(const char *bytes, int64_t length) {
    objstore_text text;
    text.bytes = bytes;
    text.length = length;
    return text;
}
/** A NUL-terminated string as text. */
static inline objstore_text objstore_cstr(const char *string) {
    return objstore_text_of(string, -1);
}
#endif
/** A string literal as text; its length is known to the compiler. Also in static tables; there gcc's -pedantic wants
 * OBJSTORE_STR_INIT, which is the same in braces, for initialisers only. */
#define OBJSTORE_STR_INIT(literal) {"" literal "", (int64_t)sizeof(literal) - 1}
#if defined(__cplusplus)
#  define OBJSTORE_STR(literal) (objstore_text OBJSTORE_STR_INIT(literal))
#else
#  define OBJSTORE_STR(literal) (__extension__(objstore_text)OBJSTORE_STR_INIT(literal))
#endif

#ifndef OBJSTORE_DECLARATIONS_ONLY
static inline objstore_value objstore_null(void) {
    objstore_value value;
    value.kind = OBJSTORE_KIND_NULL;
    value.reserved = 0;
    value.data.words[0] = value.data.words[1] = value.data.words[2] = value.data.words[3] = 0;
    return value;
}
static inline objstore_value objstore_bool(bool boolean) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_BOOL;
    value.data.boolean = boolean;
    return value;
}
static inline objstore_value objstore_int(int64_t integer) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_INT;
    value.data.integer = integer;
    return value;
}
static inline objstore_value objstore_float(float single) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_FLOAT;
    value.data.single = single;
    return value;
}
static inline objstore_value objstore_double(double real) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_DOUBLE;
    value.data.real = real;
    return value;
}
static inline objstore_value objstore_string(objstore_text text) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_STRING;
    value.data.text = text;
    return value;
}
static inline objstore_value objstore_binary(const void *bytes, int64_t length) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_BINARY;
    value.data.binary.bytes = (const uint8_t *)bytes;
    value.data.binary.length = length;
    return value;
}
static inline objstore_value objstore_time(int64_t seconds, int32_t nanoseconds) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_TIMESTAMP;
    value.data.timestamp.seconds = seconds;
    value.data.timestamp.nanoseconds = nanoseconds;
    return value;
}
static inline objstore_value objstore_decimal128_value(objstore_decimal128 decimal128) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_DECIMAL128;
    value.data.decimal128 = decimal128;
    return value;
}
static inline objstore_value objstore_object_id_value(objstore_object_id object_id) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_OBJECT_ID;
    value.data.object_id = object_id;
    return value;
}
static inline objstore_value objstore_uuid_value(objstore_uuid uuid) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_UUID;
    value.data.uuid = uuid;
    return value;
}
static inline objstore_value objstore_link(objstore_object object) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_LINK;
    value.data.link = object;
    return value;
}
/** A nested list or map, as objstore_document_pack made it, or as it came out of a store. */
static inline objstore_value objstore_document(const void *bytes, int64_t length) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_DOCUMENT;
    value.data.document.bytes = (const uint8_t *)bytes;
    value.data.document.length = length;
    return value;
}
/** A list or map with `count` elements, in the array that objstore_document_pack takes. */
static inline objstore_value objstore_list_of(int64_t count) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_LIST;
    value.data.integer = count;
    return value;
}
static inline objstore_value objstore_map_of(int64_t count) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_MAP;
    value.data.integer = count;
    return value;
}
/** A link to what node `number` of objstore_create_graph becomes, counted from 0; an error everywhere else. */
static inline objstore_value objstore_node_link(int64_t number) {
    objstore_value value = objstore_null();
    value.kind = OBJSTORE_KIND_LINK;
    value.data.link.class_id = 0;
    value.data.link.store_tag = 0x65646f6e;
    value.data.link.key = number;
    return value;
}
/** In the place of a value of an object that is not given; in objstore_create_graph only. */
static inline objstore_value objstore_not_given(void) {
    return objstore_node_link(-1);
}
/** An empty buffer: the library allocates. */
static inline objstore_buffer objstore_buffer_init(void) {
    objstore_buffer buffer;
    buffer.bytes = NULL;
    buffer.length = 0;
    buffer.capacity = 0;
    buffer.owner = 0;
    return buffer;
}
/** A buffer over memory of yours, which must outlive it. */
static inline objstore_buffer objstore_buffer_over(void *memory, size_t size) {
    objstore_buffer buffer = objstore_buffer_init();
    buffer.bytes = (uint8_t *)memory;
    buffer.capacity = size;
    return buffer;
}
#endif
/* For objstore_…_init: all zero bytes, but for struct_size. */
#if defined(__cplusplus)
#  define OBJSTORE_ZERO {}
#else
#  define OBJSTORE_ZERO {0}
#endif
#ifndef OBJSTORE_DECLARATIONS_ONLY
static inline objstore_error objstore_error_init(void) {
    objstore_error error;
    error.struct_size = (uint32_t)sizeof error;
    error.status = OBJSTORE_OK;
    error.message = error.class_name = error.property_name = objstore_text_of("", 0);
    error.position = -1;
    error.callback_code = 0;
    error.system_error = 0;
    error.reserved = 0;
    return error;
}
#endif

/** The three simplest values where only constants may stand, in static tables: {OBJSTORE_KIND_INT, 0, {.integer = 5}},
 * and so on for the others. */
#define OBJSTORE_INT_INIT(number) {OBJSTORE_KIND_INT, 0, {.integer = (number)}}
#define OBJSTORE_BOOL_INIT(truth) {OBJSTORE_KIND_BOOL, 0, {.boolean = (truth)}}
#define OBJSTORE_STRING_INIT(literal) {OBJSTORE_KIND_STRING, 0, {.text = OBJSTORE_STR_INIT(literal)}}

/** Makes a decimal of a text, exactly: "12.50", "-1E-3", "Infinity", "NaN", "sNaN"; 12.50 keeps its zero.
 * INVALID_ARGUMENT: not a number. OUT_OF_RANGE: not exactly a decimal128 (more than 34 digits, an exponent too large or
 * too small). */
OBJSTORE_API objstore_status objstore_decimal128_from_text(objstore_text text, objstore_decimal128 *decimal)
    OBJSTORE_CHECKS(null(decimal), text(text));

/** Bytes that a decimal as text never exceeds, the NUL included. */
enum { OBJSTORE_DECIMAL128_TEXT = 48 };
/** Writes a decimal as text that objstore_decimal128_from_text reads back, digit by digit: "12.50", "1E+3",
 * "-Infinity". `text` has room for OBJSTORE_DECIMAL128_TEXT bytes; it ends with a NUL. */
OBJSTORE_API objstore_status objstore_decimal128_to_text(objstore_decimal128 decimal, char *text)
    OBJSTORE_CHECKS(null(text));

/** Bytes of an object id and of a uuid as text, the NUL included. */
enum { OBJSTORE_OBJECT_ID_TEXT = 25, OBJSTORE_UUID_TEXT = 37 };
/** Makes an object id of 24 hexadecimal digits, in either case. INVALID_ARGUMENT: the text is not that. */
OBJSTORE_API objstore_status objstore_object_id_from_text(objstore_text text, objstore_object_id *object_id)
    OBJSTORE_CHECKS(null(object_id), text(text));
/** Writes the 24 digits of an object id, in lower case. `text` has room for OBJSTORE_OBJECT_ID_TEXT bytes; it ends with
 * a NUL. */
OBJSTORE_API objstore_status objstore_object_id_to_text(objstore_object_id object_id, char *text)
    OBJSTORE_CHECKS(null(text));
/** Makes a uuid of a text of the form 01234567-89ab-cdef-0123-456789abcdef, in either case. INVALID_ARGUMENT: the text
 * is not that. */
OBJSTORE_API objstore_status objstore_uuid_from_text(objstore_text text, objstore_uuid *uuid)
    OBJSTORE_CHECKS(null(uuid), text(text));
/** Writes a uuid in that form, in lower case. `text` has room for OBJSTORE_UUID_TEXT bytes; it ends with a NUL. */
OBJSTORE_API objstore_status objstore_uuid_to_text(objstore_uuid uuid, char *text)
    OBJSTORE_CHECKS(null(text));

/** Makes a new object id, different from all others, and greater than those that this process made in earlier seconds.
 * Any thread, also in the child of a fork. */
OBJSTORE_API objstore_status objstore_object_id_new(objstore_object_id *object_id)
    OBJSTORE_CHECKS(null(object_id));

/* The handles. */
typedef struct objstore objstore;                 /* an open store */
typedef struct objstore_schema objstore_schema;   /* classes being described */
typedef struct objstore_config objstore_config;   /* how to open */
typedef struct objstore_view objstore_view;       /* live, frozen or a transaction */
typedef struct objstore_query objstore_query;     /* a class, a condition, an order */
typedef struct objstore_results objstore_results; /* objects that were found */
typedef struct objstore_table objstore_table;     /* values of objects, or of groups of them */
typedef struct objstore_sections objstore_sections; /* the same, those with equal keys together */
typedef struct objstore_values objstore_values;   /* elements of a collection that were found */
typedef struct objstore_changes objstore_changes; /* a change set */
typedef struct objstore_token objstore_token;     /* an observer */
typedef struct objstore_bound objstore_bound;     /* owns a function made at run time */

/** Releases userdata: see "Callbacks" on the first page. Must not call the library. */
typedef void (*objstore_free_userdata)(void *userdata);

/** Called now and then by long operations. `total` may be an estimate. A status other than OK ends the operation, which
 * then returns OBJSTORE_ERR_CANCELLED and leaves nothing behind; callback_code is the status. */
typedef objstore_status (*objstore_progress)(uint64_t done, uint64_t total, void *userdata);

/* Milliseconds as a time-out. */
enum { OBJSTORE_FOREVER = -1 };

/* ================================================================================================
 *  3. Schema: which classes there are
 *
 *  A name is 1 to 255 bytes: ASCII letters, digits, '_' and any character beyond ASCII, not
 *  beginning with a digit. Names are compared byte by byte.
 * ================================================================================================ */

enum {
    /* INT, STRING, OBJECT_ID or UUID; unique, immutable; one in a class. Of several properties:
     * OBJSTORE_INDEX_PRIMARY_KEY. Where it is nullable, null is a key like others. */
    OBJSTORE_PROPERTY_PRIMARY_KEY = 0x1,
    /* Ordered index: comparisons need no scan; not for BINARY. A primary key has one anyway, and does not get this
     * flag. */
    OBJSTORE_PROPERTY_INDEXED = 0x2,
    /* May be null; of a collection: its elements may. */
    OBJSTORE_PROPERTY_NULLABLE = 0x4,
    /* No two objects have the same value; any number may have null. Has an index, with or without
     * OBJSTORE_PROPERTY_INDEXED; a primary key is unique anyway. */
    OBJSTORE_PROPERTY_UNIQUE = 0x8,
    /* Of a link, or a collection of links: deleting an object deletes what it links to by this property, whatever else
     * links there. Taking a link away deletes nothing. */
    OBJSTORE_PROPERTY_CASCADE = 0x10,
    /* OBJECT_ID, UUID, or an INT that is the primary key: an object created without a value gets a new one. It is
     * random, or an int, from 1, above all that exist and all that were given up to 2^61; where nothing is left above
     * those, or above the greatest value of a language's type, above all that exist. */
    OBJSTORE_PROPERTY_GENERATED = 0x20,
    /* INT, not the primary key: tells programs and tools that the property is a counter (objstore_increment);
     * languages with objects show it as a counter, not as a plain number. */
    OBJSTORE_PROPERTY_COUNTER = 0x40,
    /* STRING: words are searched for in it, by TEXT in queries. Has no index in this version. */
    OBJSTORE_PROPERTY_FULL_TEXT = 0x80,
    /* Only given out: objstore_schema_set_default sets it. */
    OBJSTORE_PROPERTY_HAS_DEFAULT = 0x100
};

/** Makes an empty schema. */
OBJSTORE_API objstore_status objstore_schema_new(objstore_schema **schema)
    OBJSTORE_CHECKS(null(schema));

/** Adds a class without properties. A store can have 4096 classes.
 * INVALID_SCHEMA: a bad name, or the schema has a class of that name already. */
OBJSTORE_API objstore_status objstore_schema_add_class(objstore_schema *schema, objstore_text class_name)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name), name(class_name));

enum {
    OBJSTORE_CLASS_EMBEDDED = 0x1  /* each object lies in one property of one other object, its parent; it is created
                                    * there (objstore_create_embedded), and deleted with it, or when it loses its
                                    * place */
};

/** Replaces the flags of a class of the schema: OBJSTORE_CLASS_…, or 0, the default. An embedded class has no primary
 * key. Links, lists and maps lead to its objects, sets do not (objstore_open checks that).
 * NO_SUCH_CLASS: no class of that name in the schema. INVALID_SCHEMA: it has a primary key. */
OBJSTORE_API objstore_status objstore_schema_set_class_flags(objstore_schema *schema, objstore_text class_name,
                                                             uint32_t flags)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name), name(class_name), flags(flags));

/** Adds a property to a class of the schema. A class can have 65,000 properties; those of two words (TIMESTAMP,
 * DECIMAL128, OBJECT_ID, UUID) count twice. `flags` are OBJSTORE_PROPERTY_…, or 0. A MIXED property can always be null,
 * with the flag or without; it cannot be the primary key.
 *
 * The order in which properties are added holds for the code that opens a store with the schema: it is the order of
 * values that are given without names, of JSON and of objstore_describe, also where the file has another order
 * (objstore_property_at). Without a schema the order is the file's.
 *
 * NO_SUCH_CLASS: no class of that name in the schema. INVALID_SCHEMA: a bad name, one that the class has already, a
 * second primary key, too many properties, flags that do not fit the kind, or LINK, which objstore_schema_add_link
 * adds. NOT_SUPPORTED: a kind of a later version. */
OBJSTORE_API objstore_status objstore_schema_add_property(objstore_schema *schema, objstore_text class_name,
                                                          objstore_text name, objstore_kind kind,
                                                          uint32_t flags)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name, name), name(class_name, name),
                    enum(kind), flags(flags));

/** Adds a list, set or map to a class of the schema. `collection` is LIST, SET or MAP, `kind` the kind of its elements.
 * Of a map `key_kind` is INT, STRING, OBJECT_ID or UUID, else NULL. `flags`: OBJSTORE_PROPERTY_NULLABLE = elements may
 * be null (those of kind MIXED may anyway), or 0. Otherwise as objstore_schema_add_property.
 * INVALID_SCHEMA: also a `collection` that is none, keys that do not fit, and LINK, which
 * objstore_schema_add_link_collection adds. */
OBJSTORE_API objstore_status objstore_schema_add_collection(objstore_schema *schema, objstore_text class_name,
                                                            objstore_text name, objstore_kind collection,
                                                            objstore_kind key_kind, objstore_kind kind,
                                                            uint32_t flags)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name, name), name(class_name, name),
                    enum(collection), enum(key_kind), enum(kind), flags(flags));

/** One property, as a row of a table that describes a class. Members that are not mentioned are zero. 128 bytes, final.
 *
 *      enum { ID, NAME, AGE, DOG_PROPERTIES };
 *      static const objstore_property_row dog_rows[DOG_PROPERTIES] = {
 *          [ID] = {.name = "id", .kind = OBJSTORE_KIND_INT, .flags = OBJSTORE_PROPERTY_PRIMARY_KEY},
 *          [NAME] = {.name = "name", .kind = OBJSTORE_KIND_STRING},
 *          [AGE] = {.name = "age", .kind = OBJSTORE_KIND_INT, .default_value = OBJSTORE_INT_INIT(1)},
 *      };
 *      objstore_class_id dog;
 *      objstore_property_id p[DOG_PROPERTIES];
 *      objstore_schema_add_rows(schema, OBJSTORE_STR("Dog"), 0, dog_rows, DOG_PROPERTIES);
 *      …
 *      objstore_find_rows(view, OBJSTORE_STR("Dog"), dog_rows, DOG_PROPERTIES, &dog, p);
 *      objstore_get(view, object, p[NAME], &buffer, &value);
 */
typedef struct objstore_property_row {
    const char *OBJSTORE_NULLABLE name;        /* NUL-terminated, as all texts here */
    objstore_kind kind;                        /* of the value, or of the elements */
    uint32_t flags;                            /* OBJSTORE_PROPERTY_… */
    objstore_kind collection;                  /* LIST, SET or MAP; NULL = a single value */
    objstore_kind key_kind;                    /* of a map's keys; else NULL */
    const char *OBJSTORE_NULLABLE target;      /* the class that a LINK leads to; else NULL */
    const char *OBJSTORE_NULLABLE former_name; /* objstore_schema_add_former_name; NULL = none */
    const char *OBJSTORE_NULLABLE stored_name; /* objstore_schema_set_stored_name; NULL = the same */
    objstore_value default_value;              /* of kind NULL: none */
    uint64_t reserved[5];                      /* 0 */
} objstore_property_row;

/** Adds a class with all its properties, in the order of the rows: all, or nothing. It does what
 * objstore_schema_add_class, set_class_flags, add_property, add_collection, add_link, add_link_collection, set_default,
 * add_former_name and set_stored_name would do. `class_flags` are OBJSTORE_CLASS_…, or 0. Errors: those of these
 * functions. The message names the row: "rows[2]: …". */
OBJSTORE_API objstore_status objstore_schema_add_rows(objstore_schema *schema, objstore_text class_name,
                                                      uint32_t class_flags, const objstore_property_row *rows,
                                                      size_t count)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name), name(class_name), flags(class_flags),
                    array(rows, count), count(count));

/** Adds a link: a property of kind LINK that leads to an object of class `target_class`, or is null. When the object
 * that it leads to is deleted, the link becomes null. A link has an index, without the flag: objstore_incoming finds
 * the objects that link to one.
 *
 * The target may be the class itself, and may be added to the schema later: objstore_open checks for it
 * (INVALID_SCHEMA, with class and property, if it is missing). `flags` are OBJSTORE_PROPERTY_CASCADE, or 0;
 * OBJSTORE_PROPERTY_NULLABLE means nothing: a link can always be null. UNIQUE is INVALID_SCHEMA (an index of the link
 * and other properties may be unique). Errors as of objstore_schema_add_property. */
OBJSTORE_API objstore_status objstore_schema_add_link(objstore_schema *schema, objstore_text class_name,
                                                      objstore_text name, objstore_text target_class,
                                                      uint32_t flags)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name, name, target_class),
                    name(class_name, name, target_class), flags(flags));

/** Adds a list, set or map whose elements (of a map: values) are links to objects of class `target_class`, for which
 * objstore_open checks as with objstore_schema_add_link. Values of a map can always be null, elements of lists and sets
 * never. A set is in the order in which its objects were created. When an object is deleted, it leaves all lists and
 * sets, whose elements close up, and keys of maps get null instead. objstore_incoming finds the objects that have one
 * among their elements, without a flag.
 *
 * `flags` are OBJSTORE_PROPERTY_CASCADE, or 0; of a map also OBJSTORE_PROPERTY_NULLABLE, which means nothing.
 * `collection` and `key_kind` as in objstore_schema_add_collection, errors as there. */
OBJSTORE_API objstore_status objstore_schema_add_link_collection(objstore_schema *schema, objstore_text class_name,
                                                                 objstore_text name, objstore_kind collection,
                                                                 objstore_kind key_kind, objstore_text target_class,
                                                                 uint32_t flags)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name, name, target_class),
                    name(class_name, name, target_class), enum(collection), enum(key_kind), flags(flags));

enum {
    OBJSTORE_INDEX_UNIQUE = 0x1,      /* no two objects have the same values in all of its properties */
    OBJSTORE_INDEX_PRIMARY_KEY = 0x2  /* its values are the primary key of the objects, unique and immutable */
};

/** Adds an ordered index of 2 to 8 properties (`names`, `count` of them) to a class of the schema. It orders by the
 * first property, where that is equal by the second, and so on; see objstore_query_range. The properties are of any
 * kind but lists, sets and maps; BINARY and MIXED are allowed. `flags` are OBJSTORE_INDEX_…, or 0.
 *
 * With OBJSTORE_INDEX_PRIMARY_KEY the properties are the primary key together (with OBJSTORE_INDEX_UNIQUE or without
 * it): each is a BOOL, INT, STRING, TIMESTAMP, OBJECT_ID or UUID, none is nullable, and no property is the primary key
 * alone. In a unique index values of two objects are the same where the index does not order them (0.0 and -0.0,
 * decimals 1.0 and 1.00, NaN and NaN); where one of the values is null they are never the same.
 *
 * NO_SUCH_CLASS, NO_SUCH_PROPERTY: not in the schema. INVALID_SCHEMA: fewer or more properties, a collection, one given
 * twice, the class has an index of these in this order, or the properties cannot be a primary key: the class has one,
 * or is embedded, too. */
OBJSTORE_API objstore_status objstore_schema_add_index(objstore_schema *schema, objstore_text class_name,
                                                       const objstore_text *names, size_t count, uint32_t flags)
    OBJSTORE_CHECKS(null(schema), nullable(names), closed(schema), kind(schema), text(class_name), name(class_name),
                    array(names, count), count(count), flags(flags));

/** Sets the value that a property gets when an object is created without it. Without a default a nullable property gets
 * null, and leaving out any other is OBJSTORE_ERR_MISSING_VALUE. The value is copied. The default of a link can only be
 * null.
 *
 * The default of a primary key is the key of an object that is created, or looked for, without one, in every form of
 * input: values, rows, columns, nested values, JSON. For a primary key of one property the program may give no default
 * where the file has one, and it stays, or a default where the file has none: the file gets it.
 *
 * NO_SUCH_CLASS, NO_SUCH_PROPERTY: not in the schema. WRONG_TYPE, NOT_NULLABLE: the value does not fit. OUT_OF_RANGE:
 * it is not in the property's enumeration (objstore_schema_set_enumeration). VALUE_TOO_LARGE: a key of more than 1024
 * bytes. INVALID_SCHEMA: the property is generated. */
OBJSTORE_API objstore_status objstore_schema_set_default(objstore_schema *schema, objstore_text class_name,
                                                         objstore_text name, objstore_value value)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name, name, value),
                    name(class_name, name));

enum {
    OBJSTORE_ENUMERATION_KEYS = 0x1  /* the values are those of a map's keys, not of its entries' values */
};

/** Restricts a property of kind INT or STRING, or the elements of a collection of them, to these values, beside null
 * where that may be: an enumeration of the program. `values`, `count` of them, are copied; those of an earlier call for
 * the same property are replaced. `flags`: OBJSTORE_ENUMERATION_KEYS, or 0.
 *
 * Every write through a store that is opened with the schema is checked, in every form: single values, rows, columns,
 * nested values, JSON; else OUT_OF_RANGE. Nothing can be added to such a property (WRONG_TYPE). Objects that exist when
 * the property comes into the file get its default, or the first of the values. Nothing else of the enumeration is in
 * the file: what was there before, or what other programs write, is read as it is.
 *
 * NO_SUCH_CLASS, NO_SUCH_PROPERTY: not in the schema. WRONG_TYPE: a property, or a value, of another kind, or keys
 * where the property is not a map. OUT_OF_RANGE: the default is none of the values. INVALID_ARGUMENT: no values.
 * INVALID_SCHEMA: a counter, or generated. */
OBJSTORE_API objstore_status objstore_schema_set_enumeration(objstore_schema *schema, objstore_text class_name,
                                                             objstore_text name, const objstore_value *values,
                                                             size_t count, uint32_t flags)
    OBJSTORE_CHECKS(null(schema, values), closed(schema), kind(schema), text(class_name, name), name(class_name, name),
                    count(count), flags(flags));

/** Sets the name that a property has in the file, where the program calls it otherwise: for a file that is shared with
 * programs of other conventions, or whose names are not valid in the program's language. Nothing of the mapping is in
 * the file; each handle has that of its schema.
 *
 * Every function that takes a name takes both names: objstore_find_class, objstore_find_property, nested values, JSON.
 * Functions that give out names give the program's: classes, properties, JSON. Messages and the names with them
 * (objstore_error), former names, and classes that are dropped (objstore_schema_drop_class) have the file's.
 *
 * NO_SUCH_CLASS, NO_SUCH_PROPERTY: not in the schema. INVALID_SCHEMA: a bad name; from objstore_open: two classes, or
 * two properties of one class, would have the same name in the file, or one has there the name that another has in the
 * program. */
OBJSTORE_API objstore_status objstore_schema_set_stored_name(objstore_schema *schema, objstore_text class_name,
                                                             objstore_text name, objstore_text stored_name)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name, name, stored_name),
                    name(class_name, name, stored_name));

/** Sets the name that a class has in the file, as objstore_schema_set_stored_name does for a property. */
OBJSTORE_API objstore_status objstore_schema_set_stored_class_name(objstore_schema *schema, objstore_text class_name,
                                                                   objstore_text stored_name)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name, stored_name),
                    name(class_name, stored_name));

/** Gives the way back from where a link leads a name, for queries: with `Person`, `dogs`, `Dog`, `owner` a query of
 * people may say `dogs.@count > 2` for `@links.Dog.owner.@count > 2`. The link may be a property of links, a collection
 * of them, or mixed. Like stored names it is in no file; each handle has those of its schema. objstore_query_text
 * writes the long form.
 *
 * NO_SUCH_CLASS: `class_name` is not in the schema. INVALID_SCHEMA: a bad name, or one that a property or another
 * inverse of the class has; from objstore_open: there is no such link to the class. */
OBJSTORE_API objstore_status objstore_schema_add_inverse(objstore_schema *schema, objstore_text class_name,
                                                         objstore_text name, objstore_text origin_class,
                                                         objstore_text origin_property)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name, name, origin_class, origin_property),
                    name(class_name, name, origin_class, origin_property));

/** Closes a schema. NULL is allowed. */
OBJSTORE_API objstore_status objstore_schema_close(objstore_schema *schema)
    OBJSTORE_CHECKS(nullable(schema), closed(schema), kind(schema));

/* ================================================================================================
 *  4. Configuration: how to open
 * ================================================================================================ */

/** Makes an empty configuration. It needs a path or a memory name; everything else has a default. */
OBJSTORE_API objstore_status objstore_config_new(objstore_config **config)
    OBJSTORE_CHECKS(null(config));

/** Sets the file to open. Symbolic links are followed; a relative path is resolved when the store is opened. Beside
 * `path` the library keeps `path-log` and `path-lock` while the store is open. Replaces a memory name.
 * INVALID_ARGUMENT: contains a NUL byte. */
OBJSTORE_API objstore_status objstore_config_set_path(objstore_config *config, objstore_text path)
    OBJSTORE_CHECKS(null(config), closed(config), kind(config), text(path), name(path));

/** Opens in memory instead of a file. All stores of one name in one process are one store, which lives until its last
 * handle is closed. The empty name is a store of its own each time. The mode and objstore_creation count as for files.
 * Replaces a path. */
OBJSTORE_API objstore_status objstore_config_set_memory(objstore_config *config, objstore_text name)
    OBJSTORE_CHECKS(null(config), closed(config), kind(config), text(name));

/** What may be done with the store. */
OBJSTORE_ENUM(objstore_mode) {
    OBJSTORE_MODE_READ_WRITE = 0, /* the default */
    OBJSTORE_MODE_READ_ONLY = 1,  /* this handle does not write, others may; needs write permission */
    /* No process writes, or may (BUSY, on either side): read permission is enough; a clean file only. */
    OBJSTORE_MODE_IMMUTABLE = 2
};
/** Sets what may be done with the store. */
OBJSTORE_API objstore_status objstore_config_set_mode(objstore_config *config, objstore_mode mode)
    OBJSTORE_CHECKS(null(config), closed(config), kind(config), enum(mode));

/** What to do when the file exists, or not. */
OBJSTORE_ENUM(objstore_creation) {
    OBJSTORE_CREATION_IF_MISSING = 0, /* the default; READ_ONLY and IMMUTABLE never create */
    OBJSTORE_CREATION_NEVER = 1,      /* not there: OBJSTORE_ERR_NOT_FOUND */
    OBJSTORE_CREATION_ALWAYS = 2      /* there: OBJSTORE_ERR_ALREADY_EXISTS */
};
/** Sets what to do when the file exists, or not. */
OBJSTORE_API objstore_status objstore_config_set_creation(objstore_config *config, objstore_creation creation)
    OBJSTORE_CHECKS(null(config), closed(config), kind(config), enum(creation));

/** When a commit returns. With every choice a store is never torn, and what one process committed survives the end of
 * that process; the difference shows when the machine stops. */
OBJSTORE_ENUM(objstore_durability) {
    OBJSTORE_DURABILITY_FULL = 0,    /* when it is on the medium; threads share a sync. The default */
    OBJSTORE_DURABILITY_RELAXED = 1, /* at once, visible to all; on the medium within relaxed_ms, in order */
    OBJSTORE_DURABILITY_NONE = 2     /* at once; on the medium at the next checkpoint */
};
/** Sets when a commit returns. `relaxed_ms`: 1 to 60,000 for RELAXED, else ignored. */
OBJSTORE_API objstore_status objstore_config_set_durability(objstore_config *config,
                                                            objstore_durability durability, int64_t relaxed_ms)
    OBJSTORE_CHECKS(null(config), closed(config), kind(config), enum(durability), range(relaxed_ms));

/** Sets the classes that the program uses, and their version, from 1 (a file that was never given a schema has 1). The
 * schema is copied: it may be closed, or changed for another config. NULL: take the file as it is. Section 5 says what
 * opening then does to the file. */
OBJSTORE_API objstore_status objstore_config_set_schema(objstore_config *config, objstore_schema *schema,
                                                        uint64_t version)
    OBJSTORE_CHECKS(null(config), nullable(schema), closed(config, schema), kind(config, schema),
                    range(version));

/** Sets a store whose content a new one begins with. An empty path: no seed (the default).
 * When objstore_open finds no file, it copies the seed: everything in it, with the same ids, and a uuid of its own. A
 * file that exists is opened, whatever the seed is. The same holds for a store in memory. On any error no file is left;
 * a process that is killed meanwhile leaves the copy that it was making, PATH.copy-… with the files beside it: no
 * process opens these, and they may be deleted. The seed is only read, and needs read permission only; no process may
 * be writing it.
 * objstore_open then has these errors of the seed, too: NOT_FOUND, NOT_A_STORE, NEEDS_LOG (it was not closed),
 * CORRUPT. */
OBJSTORE_API objstore_status objstore_config_set_seed(objstore_config *config, objstore_text path)
    OBJSTORE_CHECKS(null(config), closed(config), kind(config), text(path));

/** Sets what the file of the seed must be, byte for byte: its SHA-256, in 64 hexadecimal digits (what `sha256sum FILE`
 * prints). It is checked when the seed is copied, which reads the seed once more. A seed with another SHA-256 makes
 * objstore_open return OBJSTORE_ERR_CORRUPT, and no file is left.
 * INVALID_ARGUMENT: not a SHA-256 (an empty text is none), and of objstore_open: there is no seed. */
OBJSTORE_API objstore_status objstore_config_set_seed_sha256(objstore_config *config, objstore_text digest)
    OBJSTORE_CHECKS(null(config), closed(config), kind(config), text(digest));

/** Fills a new store through `transaction`, with which it also gets its schema. `store` is the handle that
 * objstore_open is going to return. The callback can close neither (IN_CALLBACK), nor end the transaction. Any other
 * status than OBJSTORE_OK undoes everything, and objstore_open returns it. */
typedef objstore_status (*objstore_initial_data)(objstore *store, objstore_view *transaction, void *userdata);

/** Sets what a new store begins with. objstore_open calls `fill`, on its thread, when the store has no schema yet, in
 * the transaction that gives it one: so once, whichever process opens it, and whatever fails in between. Where `fill`
 * fails, no file is left behind, unless it was there before. It is not called where a seed was copied that has a
 * schema. NULL: none (the default).
 * Needs a schema (objstore_config_set_schema), else objstore_open is OBJSTORE_ERR_INVALID_ARGUMENT. */
OBJSTORE_API objstore_status objstore_config_set_initial_data(objstore_config *config, objstore_initial_data fill,
                                                              void *userdata, objstore_free_userdata free_userdata)
    OBJSTORE_CHECKS(null(config), nullable(fill, free_userdata), closed(config), kind(config));

/** Says whether to compact a file of `total_bytes`, of which `used_bytes` are in use: sets `*compact`, which is false.
 * Any other status than OBJSTORE_OK ends objstore_open, which returns it. */
typedef objstore_status (*objstore_compaction)(uint64_t total_bytes, uint64_t used_bytes, bool *compact,
                                               void *userdata);

/** Sets whether to make the file smaller before it is used, as objstore_compact does. objstore_open calls `decide`, on
 * its thread, for the first handle of the process, and only where no other process has the file open; never for a store
 * in memory, nor with READ_ONLY and IMMUTABLE. NULL: none (the default). Usual is: `*compact = total_bytes > 100 << 20
 * && used_bytes < total_bytes / 2`.
 * Where the compaction finds no space or no turn to write, the store is opened all the same, and a line of log says
 * so. */
OBJSTORE_API objstore_status objstore_config_set_compaction(objstore_config *config, objstore_compaction decide,
                                                            void *userdata, objstore_free_userdata free_userdata)
    OBJSTORE_CHECKS(null(config), nullable(decide, free_userdata), closed(config), kind(config));

/** Numbers that bound or trigger something: what objstore_config_set_limit sets. */
OBJSTORE_ENUM(objstore_limit) {
    OBJSTORE_LIMIT_WRITE_TIMEOUT_MS = 1,      /* wait for other writers; default -1 = forever, 0 = not at all */
    OBJSTORE_LIMIT_OPEN_TIMEOUT_MS = 2,       /* wait for a recovery elsewhere; default 30,000, -1 = forever */
    OBJSTORE_LIMIT_VALUE_BYTES = 3,           /* longest string or binary; 1 to 2^31 - 1, default 64 MiB, which is
                                               * the most for an indexed one */
    OBJSTORE_LIMIT_CHECKPOINT_LOG_BYTES = 4,  /* log before a checkpoint; 64 KiB to 1 GiB, default 32 MiB */
    OBJSTORE_LIMIT_CHECKPOINT_OPERATIONS = 5, /* changes before a checkpoint; from 1, default 1,000,000 */
    OBJSTORE_LIMIT_CHECKPOINT_IDLE_MS = 6,    /* idle time before a checkpoint; from 1, default 2,000; -1 = none */
    OBJSTORE_LIMIT_LOG_BYTES = 7,             /* the log file never grows past; 1 MiB to 4 GiB, default 64 MiB */
    OBJSTORE_LIMIT_TRANSACTION_BYTES = 8,     /* changed pages that a transaction keeps in memory, more are written into
                                               * the file ahead of its commit; 64 KiB to 1 TiB, default 64 MiB */
    OBJSTORE_LIMIT_VERSIONS = 9,              /* while more versions are alive, in all processes, the newest included,
                                               * no write of this handle begins: TOO_MANY_VERSIONS, with a message
                                               * that names who keeps them; from 1, default 2^63 - 1 */
    OBJSTORE_LIMIT_QUERY_BYTES = 10,          /* what a query of this handle may allocate for what it finds, sorts and
                                               * groups, all in all, also what it has given back by then (of a
                                               * stream each batch; not what its functions do); more is
                                               * OUT_OF_MEMORY, and nothing has happened. From 1, default 2^63 - 1.
                                               * docs/query-language.md says how much an object needs */
    OBJSTORE_LIMIT_QUERY_THREADS = 11,        /* how many threads may scan the objects for one query of this handle:
                                               * the one that asks, and others of the library, which call nothing of
                                               * the program's; 1 to 256, default 1: no other.
                                               * docs/query-language.md says what they help with */
    OBJSTORE_LIMIT_OBSERVER_LAG = 12          /* an observer of this handle that is more versions behind lets go of the
                                               * one that it knows, and is told next that it has to begin anew
                                               * (OBJSTORE_CHANGES_LOST); from 1, default 1,000,000 */
};
/** Sets a limit. OUT_OF_RANGE: the value is not within the limit's range. */
OBJSTORE_API objstore_status objstore_config_set_limit(objstore_config *config, objstore_limit limit,
                                                       int64_t value)
    OBJSTORE_CHECKS(null(config), closed(config), kind(config), enum(limit), range(value));

enum {
    OBJSTORE_CONFIG_DELIVER_ON_WORKER = 0x1,          /* change handlers run on the library's worker thread */
    OBJSTORE_CONFIG_EXCLUSIVE = 0x2,                  /* one process only; works on every file system that can lock */
    OBJSTORE_CONFIG_WITHOUT_LOG = 0x4,                /* open although the log is lost, and with it commits */
    OBJSTORE_CONFIG_DELETE_IF_MIGRATION_NEEDED = 0x8  /* a file with another schema is deleted and created again */
};

/** Replaces the flags; 0 = none, the default. WITHOUT_LOG gives up every commit after the last checkpoint.
 * DELETE_IF_MIGRATION_NEEDED is for development: where opening would have to change a class that the file has, or would
 * be OBJSTORE_ERR_SCHEMA_MISMATCH, the file is deleted instead, and a new store begins, with seed and initial data.
 * OBJSTORE_ERR_BUSY: it stays open elsewhere, for half a second. New classes, and a higher version alone,
 * are no reason to delete. READ_ONLY and IMMUTABLE never delete. The flag belongs to the opening; the other flags
 * belong to the store. */
OBJSTORE_API objstore_status objstore_config_set_flags(objstore_config *config, uint32_t flags)
    OBJSTORE_CHECKS(null(config), closed(config), kind(config), flags(flags));

/** How important a line of log is. */
OBJSTORE_ENUM(objstore_log_level) {
    OBJSTORE_LOG_ERROR = 1,   /* something failed that no call was waiting for */
    OBJSTORE_LOG_WARNING = 2, /* e.g. a version pinned for a long time, a slow sync */
    OBJSTORE_LOG_INFO = 3,    /* opened, recovered, closed */
    OBJSTORE_LOG_DEBUG = 4    /* every commit and checkpoint */
};
/** Receives one line of log, NUL-terminated, without a line end, valid during the call. Any thread, several at a time.
 * Must not call the library. */
typedef void (*objstore_log_handler)(objstore_log_level level, const char *message, void *userdata);

/** Sends lines up to `level` to `handler`; NULL (the default) sends none. The handler stays in use in each store opened
 * with the config: free_userdata is called when config and stores are closed. */
OBJSTORE_API objstore_status objstore_config_set_log(objstore_config *config, objstore_log_level level,
                                                     objstore_log_handler handler, void *userdata,
                                                     objstore_free_userdata free_userdata)
    OBJSTORE_CHECKS(null(config), nullable(handler, free_userdata), closed(config), kind(config), enum(level));

/** Says whether a call that waits for other writers, or for another process that is opening the file, goes on waiting:
 * OBJSTORE_OK, or the call ends with OBJSTORE_ERR_CANCELLED; callback_code is the status. Must not call the library. */
typedef objstore_status (*objstore_wait_handler)(void *userdata);

/** Calls `handler` every 200 ms in objstore_open, and in calls of the handles that it opens, as long as they wait for
 * another thread or process: on the thread that waits, and on several at a time where several wait. For programs that
 * let a signal or a button interrupt a wait. NULL (the default): a wait ends by itself (WRITE_TIMEOUT_MS,
 * OPEN_TIMEOUT_MS), or by objstore_close on another thread. The handler stays in use in each store opened with the
 * config: free_userdata is called when config and stores are closed. */
OBJSTORE_API objstore_status objstore_config_set_wait(objstore_config *config, objstore_wait_handler handler,
                                                      void *userdata, objstore_free_userdata free_userdata)
    OBJSTORE_CHECKS(null(config), nullable(handler, free_userdata), closed(config), kind(config));

/** Closes a configuration. Stores opened with it are not affected. NULL is allowed. */
OBJSTORE_API objstore_status objstore_config_close(objstore_config *config)
    OBJSTORE_CHECKS(nullable(config), closed(config), kind(config));

/* ================================================================================================
 *  5. Migrations: from one schema version to the next
 *
 *  What objstore_open does to a file when it is given a schema (objstore_config_set_schema).
 *
 *  With any version. A class that the file lacks is added. A class of the file that the schema lacks stays, and can be
 *  used by code that knows its name (objstore_schema_drop_class: it is dropped). A version below the file's is
 *  OBJSTORE_ERR_SCHEMA_MISMATCH.
 *
 *  With the file's version. A class in both must have the same properties of the same kinds, flags, targets and
 *  defaults, in any order, else OBJSTORE_ERR_SCHEMA_MISMATCH, which names class and property.
 *
 *  With a version above the file's the properties may differ, and no object is rewritten:
 *  - A property that the file lacks is added. Existing objects have its default, or null, or zero or empty where it
 *    has no default and is not nullable. Another default holds for objects that are created from then on.
 *  - A property that the schema lacks is dropped, permanently: with its values, its index, its elements, and the
 *    indexes of several properties that it is in. Its space in the file becomes free as objects with keys near by are
 *    written, or with objstore_compact. Views of older versions still have it. One of the same name that is added
 *    later is another property, with another id.
 *  - A property that had another name before (objstore_schema_add_former_name) is renamed. A file that has both names
 *    is OBJSTORE_ERR_SCHEMA_MISMATCH.
 *  - A property can become nullable, or required. Where an object has null in a property that becomes required,
 *    objstore_open fails with OBJSTORE_ERR_SCHEMA_MISMATCH, which says how many, unless a migration gives them values.
 *  - With a migration (objstore_config_set_migration) also: a property of another kind, or with other elements or
 *    another target, is dropped, and a new one of its name added; another property can be the primary key, or none.
 *  - A class can become embedded, if then each of its objects is linked to by one link of one object, and none lies in
 *    itself. Else objstore_open fails with OBJSTORE_ERR_SCHEMA_MISMATCH, which says how many do not fit, unless a
 *    migration corrects that. A class can also cease to be embedded.
 *  - Indexes and unique constraints that the schema has and the file lacks are made of all objects at once; those that
 *    the schema no longer has are dropped. Where two objects have the values that are to become unique, objstore_open
 *    fails with OBJSTORE_ERR_DUPLICATE_KEY, and the file stays as it is.
 *
 *  Other handles. A handle that has the store open with a lower version meanwhile (in this or in another process) goes
 *  on as long as what its own schema has is there as it was: every class, property and index, under the same name, as
 *  nullable as before, with the same primary key; what was unique, generated, a counter or embedded still is. Ids stay
 *  what they are. The handle knows nothing of what was added: its new objects have the defaults of that (where one of
 *  its classes has a new property without a default that is not nullable, none can be created: MISSING_VALUE names it).
 *  Otherwise its next objstore_begin, objstore_try_begin, objstore_begin_within or objstore_write is
 *  OBJSTORE_ERR_SCHEMA_MISMATCH, which names class and property; reading goes on, and the id of what was dropped is
 *  NO_SUCH_CLASS, NO_SUCH_PROPERTY or NO_SUCH_INDEX. A handle that was opened without a schema is never refused.
 * ================================================================================================ */

/** Drops a class of that name from files. A file with a lower schema version that has one loses the class with all its
 * objects, permanently (their links and embedded objects, too; what they cascade to stays). The class id is not given
 * out again, and is OBJSTORE_ERR_NO_SUCH_CLASS from then on; a class of that name that is added later is another one.
 * Nothing happens to files that have no such class, so the call can stay in the program.
 * INVALID_SCHEMA: a bad name, or a class of the schema. objstore_open: SCHEMA_MISMATCH where the version is not higher
 * than the file's, or where a class that stays has a property that leads to the dropped one; the error names it. */
OBJSTORE_API objstore_status objstore_schema_drop_class(objstore_schema *schema, objstore_text class_name)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name), name(class_name));

/** Says what a property was called before. Where a file with a lower schema version has a property of that name, it is
 * renamed: values, indexes and property id stay, and no object is written. Of any kind, the primary key too. A property
 * may have several former names, one call each; those that a file does not know mean nothing, so the calls can stay in
 * the program.
 * NO_SUCH_CLASS, NO_SUCH_PROPERTY: not in the schema. INVALID_SCHEMA: a bad name, one that a property of the class has
 * now, or one that is also a former name of another property. */
OBJSTORE_API objstore_status objstore_schema_add_former_name(objstore_schema *schema, objstore_text class_name,
                                                             objstore_text name, objstore_text former_name)
    OBJSTORE_CHECKS(null(schema), closed(schema), kind(schema), text(class_name, name, former_name),
                    name(class_name, name, former_name));

/** Changes objects for a higher schema version. `old` is a frozen view of the store as it was, with its classes,
 * properties and ids; `transaction` has those of the new schema. Classes of one name have the same id in both, objects
 * the same objstore_object, and properties that stayed the same id. `transaction` creates, changes and deletes objects
 * like any other; objstore_migrate_property copies the values of a property that has another name now.
 *
 * While the migration runs, what stayed is as loose as it was: a property that is to become required can still be null.
 * Indexes, unique constraints and primary keys that are new are made afterwards, of what there is then. A property that
 * is new and required has its default, or zero or empty.
 *
 * `store` is the handle that objstore_open is going to return; the callback cannot close it, nor end the transaction
 * (IN_CALLBACK). Any other status than OBJSTORE_OK undoes everything, and objstore_open returns it. */
typedef objstore_status (*objstore_migration)(objstore *store, objstore_view *transaction, objstore_view *old,
                                              uint64_t old_version, uint64_t new_version, void *userdata);

/** Sets what happens between two versions of a schema. objstore_open calls `migrate`, on its thread, when the file's
 * schema version is lower than that of the config's schema, in the transaction that changes the schema: both happen, or
 * nothing. A new store is not migrated. NULL: none (the default).
 * Afterwards objstore_open can still fail, and leave the file as it was: with SCHEMA_MISMATCH (null in what has become
 * required), DUPLICATE_KEY (in what has become unique) or VALUE_TOO_LARGE (what has become the primary key). Needs a
 * schema, else objstore_open is OBJSTORE_ERR_INVALID_ARGUMENT. Other handles and processes go on, as with any change of
 * the schema; they wait to write. */
OBJSTORE_API objstore_status objstore_config_set_migration(objstore_config *config, objstore_migration migrate,
                                                           void *userdata, objstore_free_userdata free_userdata)
    OBJSTORE_CHECKS(null(config), nullable(migrate, free_userdata), closed(config), kind(config));

/** Copies the values that a property has in `old`, a live or frozen view, to another property of the same class in
 * `transaction`, for every object that `transaction` has: so that they are kept under a new name. For a migration.
 * (objstore_schema_add_former_name does that without writing an object.) Both properties have the same kind, elements
 * and target; links to objects that are gone become null, or are left out. `count` (NULL: not wanted) says of how many
 * objects. All or nothing. Cost: O(n) writes.
 * NO_SUCH_PROPERTY: also of another class. WRONG_TYPE: of another kind. WRONG_STORE, WRONG_VIEW: `old` is not such a
 * view. NOT_NULLABLE: a value is null. KEY_IMMUTABLE: the primary key. NOT_SUPPORTED: embedded objects (a former name
 * keeps them). DUPLICATE_KEY. */
OBJSTORE_API objstore_status objstore_migrate_property(objstore_view *transaction, objstore_property_id property_id,
                                                       objstore_view *old, objstore_property_id old_property_id,
                                                       uint64_t *count)
    OBJSTORE_CHECKS(null(transaction, old), nullable(count), closed(transaction, old), kind(transaction, old),
                    write(transaction), committed(old), property(property_id), property(old_property_id));

/* ================================================================================================
 *  6. Stores
 * ================================================================================================ */

/** Opens, creates or recovers a store. The config can be used again, also at the same time.
 *
 * One file opened twice in a process is one store behind two handles; objects of one are objects of the other. Mode,
 * durability and WRITE_TIMEOUT_MS belong to the handle; limits, flags and the log hook belong to the store. The first
 * handle to open decides those: another flag or limit later is OBJSTORE_ERR_CONFIG_MISMATCH. So is a handle that is
 * IMMUTABLE beside one that is not, in one process.
 *
 * A failed open harms nothing: what was in the file is there when the next one succeeds, and a file that it made is
 * removed again. Blocks for a recovery (bounded by the log: about a second at most), in this or another process.
 *
 * Errors: NOT_FOUND, ALREADY_EXISTS, NOT_A_STORE, CORRUPT, VERSION_MISMATCH, NEEDS_LOG, INCOMPATIBLE_FILE_SYSTEM,
 * CONFIG_MISMATCH, INVALID_SCHEMA, SCHEMA_MISMATCH, DUPLICATE_KEY, READ_ONLY (classes had to be added), POISONED, BUSY
 * (opened exclusively, or to be deleted), REPLACED (the file was deleted or replaced meanwhile), TIMEOUT, OUT_OF_SPACE,
 * IO, OUTCOME_UNKNOWN (the write of new classes, a migration or initial data could not be made durable: the next open
 * finds all of it or none), and what a callback of the config returns. */
OBJSTORE_API objstore_status objstore_open(objstore_config *config, objstore **store)
    OBJSTORE_CHECKS(null(config, store), closed(config), kind(config));

/** Sets what objstore_open_default opens from now on, in all threads of the process: what the config says now. Later
 * changes of the config mean nothing, and it may be closed; its callbacks' userdata is freed when the default is
 * another. Stores that are open stay as they are. NULL, as in the beginning: the file default.objstore in the current
 * directory, without a schema. */
OBJSTORE_API objstore_status objstore_set_default(objstore_config *config)
    OBJSTORE_CHECKS(nullable(config), closed(config), kind(config));

/** Opens the default store, as objstore_open does. Each call gives a handle of its own, to be closed; handles of one
 * file are one store. */
OBJSTORE_API objstore_status objstore_open_default(objstore **store)
    OBJSTORE_CHECKS(null(store));

/** Closes this handle and everything that came from it: transactions are cancelled, tokens closed (their free_userdata
 * called), views and results closed. The last handle of the last process leaves the file clean and alone. NULL is
 * allowed. The handle is closed whatever the status, except for CLOSED_HANDLE, WRONG_KIND and IN_CALLBACK.
 *
 * Calls in progress on other threads end first. Waits are woken, those to begin a transaction as well. A body of
 * objstore_write, or a handler, goes on with the transaction or change set that it was given, and the transaction is
 * committed; other calls with what came from the handle are CLOSED_HANDLE at once.
 *
 * Errors: IN_CALLBACK, IO, OUT_OF_SPACE, POISONED, OUTCOME_UNKNOWN (a sync failed: relaxed commits that nothing has
 * made durable may be lost). The file then needs a recovery, which the next open does, and nothing acknowledged as
 * durable is lost.
 * Blocks for running calls and handlers, for relaxed commits of this process to become durable, and for a
 * checkpoint. */
OBJSTORE_API objstore_status objstore_close(objstore *store)
    OBJSTORE_CHECKS(nullable(store), closed(store), kind(store), callback(store));

/** What a store is; only `schema_version` may change while it is open. Make one with objstore_info_init(). */
typedef struct objstore_info {
    uint32_t struct_size;
    uint32_t store_tag;      /* the one in its objects */
    objstore_uuid uuid;      /* of the file; a copy has its own */
    objstore_text path;      /* absolute, or the memory name; NUL-terminated; as long as the handle is open */
    uint64_t schema_version;
    uint32_t format;         /* of the file */
    uint32_t page_bytes;
    objstore_mode mode;
    uint32_t flags;          /* OBJSTORE_INFO_… */
} objstore_info;
enum {
    OBJSTORE_INFO_CREATED = 0x1,   /* opening this handle created the store */
    OBJSTORE_INFO_RECOVERED = 0x2, /* opening this handle replayed the log */
    OBJSTORE_INFO_MEMORY = 0x4     /* in memory */
};

#ifndef OBJSTORE_DECLARATIONS_ONLY
static inline objstore_info objstore_info_init(void) {
    objstore_info info = OBJSTORE_ZERO;
    info.struct_size = (uint32_t)sizeof info;
    return info;
}
#endif

/** Fills `info` with what the store is. */
OBJSTORE_API objstore_status objstore_get_info(objstore *store, objstore_info *info)
    OBJSTORE_CHECKS(null(store, info), closed(store), kind(store), size(info));

/** How much there is and how much was done. Make one with objstore_statistics_init(). The first block is the file's.
 * The second counts what all processes did since the first of them opened the store, except views, observers,
 * change_sets, mapped_bytes and arena_bytes, which are this process's. Not a snapshot: numbers may be a commit apart,
 * and while a process writes, live, free and pinned bytes are those of the last time that none did. */
typedef struct objstore_statistics {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t published_version;  /* what a new view sees */
    uint64_t durable_version;    /* what survives a power cut now */
    uint64_t checkpoint_version; /* where a recovery would begin */
    uint64_t file_bytes;         /* of the database file */
    uint64_t live_bytes;         /* of it: reachable from the published version */
    uint64_t free_bytes;         /* of it: reusable now */
    uint64_t pinned_bytes;       /* of it: freed, but some version that is pinned needs it */
    uint64_t log_file_bytes;     /* of the log file */
    uint64_t log_used_bytes;     /* of it: needed for a recovery */
    uint64_t oldest_pin;         /* the oldest pinned version, in any process; 0 = none */
    uint64_t reader_slots;       /* in use, of all processes */
    uint64_t processes;          /* that have the store open */

    uint64_t commits;
    uint64_t checkpoints;
    uint64_t syncs;              /* requested of the system */
    uint64_t log_bytes_written;
    uint64_t file_bytes_written; /* to the database file */
    uint64_t views;              /* open, of this process, transactions included */
    uint64_t observers;          /* open tokens of this process */
    uint64_t change_sets;        /* delivered */
    uint64_t mapped_bytes;       /* of address space */
    uint64_t arena_bytes;        /* memory held for uncommitted changes */
    uint64_t versions;           /* alive in any process: pinned, or the newest */
} objstore_statistics;

#ifndef OBJSTORE_DECLARATIONS_ONLY
static inline objstore_statistics objstore_statistics_init(void) {
    objstore_statistics statistics = OBJSTORE_ZERO;
    statistics.struct_size = (uint32_t)sizeof statistics;
    return statistics;
}
#endif

/** Fills `statistics`. */
OBJSTORE_API objstore_status objstore_get_statistics(objstore *store, objstore_statistics *statistics)
    OBJSTORE_CHECKS(null(store, statistics), closed(store), kind(store), size(statistics));

/** What pins a version. */
OBJSTORE_ENUM(objstore_pin_holder) {
    OBJSTORE_PIN_VIEW = 1,      /* views, transactions included */
    OBJSTORE_PIN_OBSERVER = 2,  /* of a later version */
    OBJSTORE_PIN_CHECKPOINT = 3, /* what a recovery begins with */
    OBJSTORE_PIN_KEPT = 4        /* by objstore_keep_version; of no process */
};
/** One pinned version: while it is, the pages it needs are not reused. 48 bytes, final. */
typedef struct objstore_pin {
    uint64_t version;
    int64_t since_ms;   /* milliseconds since 1970; 0 for a checkpoint */
    uint64_t instance;  /* random, one per process that has the store open; 0 for a checkpoint, and what is kept */
    int64_t process_id; /* as that process saw itself: a hint, never used to decide anything */
    objstore_pin_holder holder;
    uint32_t count;     /* how many views of this process share it; 1 for another process */
    uint64_t reserved;
} objstore_pin;

/** Lists the pinned versions, of all processes, oldest version first: which process pins which version, and since when.
 * Fills up to `capacity` and sets `count` to how many there are. */
OBJSTORE_API objstore_status objstore_pins(objstore *store, objstore_pin *pins, size_t capacity, size_t *count)
    OBJSTORE_CHECKS(null(store, count), nullable(pins), closed(store), kind(store), array(pins, capacity),
                    count(capacity));

/** Makes every commit durable that returned before this call, whatever its durability. Blocks for a sync.
 * Errors: POISONED, IO, OUTCOME_UNKNOWN (the sync failed: what it was for may survive or not, and the store is
 * poisoned). */
OBJSTORE_API objstore_status objstore_flush(objstore *store)
    OBJSTORE_CHECKS(null(store), closed(store), kind(store), writable(store), outside(store));

/** Makes a checkpoint now: the log before it is not needed any more. Normally the library does that by itself. Blocks
 * for other writers (WRITE_TIMEOUT_MS) and two syncs.
 * Errors: POISONED, TIMEOUT, OUT_OF_SPACE, IO, CORRUPT, OUTCOME_UNKNOWN (a sync failed: nothing acknowledged as durable
 * is lost, and the store is poisoned). */
OBJSTORE_API objstore_status objstore_checkpoint(objstore *store)
    OBJSTORE_CHECKS(null(store), closed(store), kind(store), writable(store), outside(store));

/** Makes the file about as small as what lives in it, in small steps. Between the steps others read and write; each
 * step makes them wait for a few milliseconds. It joins pages that many deletions have left partly empty, moves pages
 * from the end of the file to free ones before, and cuts the file. No view sees a change; observers hear nothing.
 *
 * What a pinned version needs (objstore_pins) stays where it is, and is done by a later call: refresh live views, here
 * or in `progress`. An error, or `progress` returning a status, leaves a sound store, and done what is done. `progress`
 * counts bytes; NULL: none.
 *
 * Blocks: O(size), and a sync every 8 MiB; waits for writers up to WRITE_TIMEOUT_MS at each step.
 * Errors: POISONED, TIMEOUT, OUT_OF_SPACE (moving needs free space first), IO, CORRUPT, OUTCOME_UNKNOWN (as of a
 * checkpoint). */
OBJSTORE_API objstore_status objstore_compact(objstore *store, objstore_progress progress, void *userdata,
                                              objstore_free_userdata free_userdata)
    OBJSTORE_CHECKS(null(store), nullable(progress, free_userdata), closed(store), kind(store), writable(store),
                    outside(store));

/** Writes what `view` sees, also of a store in memory, into a new store at `path`: compact, clean, synced, with a uuid
 * of its own. What a transaction did before the call is part of the copy; other threads that use the transaction wait,
 * and `progress` may read it, but not change it (IN_CALLBACK). Otherwise writers are not disturbed. On any error no
 * file is left behind. `progress` counts bytes; NULL: none. Blocks: O(size).
 * Errors: ALREADY_EXISTS (there is a file at `path`, and it stays as it is), INVALID_ARGUMENT (`path` is the name of a
 * file that belongs to the store itself, -log, -lock or -log.new), NOT_FOUND (no such folder), OUT_OF_SPACE, IO,
 * CORRUPT (of what is read), and what `progress` returns. */
OBJSTORE_API objstore_status objstore_copy(objstore_view *view, objstore_text path, objstore_progress progress,
                                           void *userdata, objstore_free_userdata free_userdata)
    OBJSTORE_CHECKS(null(view), nullable(progress, free_userdata), closed(view), kind(view), text(path),
                    name(path));

/** Reads everything that `view`, live or frozen, can reach and checks it: hashes, structure, order, every index against
 * its objects, free space against pages in use. It goes on behind damage: each page that fails is a finding, with
 * class, property and objects. OBJSTORE_OK: sound. OBJSTORE_ERR_CORRUPT: damaged. In both cases `report` (NULL: not
 * wanted) holds a line of text for each finding, and `findings` (NULL: not wanted) their number.
 *
 * Other processes may write meanwhile. In the end writers wait while free space is compared (about a nanosecond a
 * page): page by page where `view` still shows the newest version, else only that nothing it needs counts as free. Free
 * space is not compared where this thread has a transaction of the store open.
 *
 * `progress` counts bytes. Blocks: O(size), for other writers at most WRITE_TIMEOUT_MS. Errors: TIMEOUT. */
OBJSTORE_API objstore_status objstore_verify(objstore_view *view, objstore_progress progress, void *userdata,
                                             objstore_free_userdata free_userdata, objstore_buffer *report,
                                             uint64_t *findings)
    OBJSTORE_CHECKS(null(view), nullable(progress, free_userdata, report, findings), closed(view), kind(view),
                    committed(view), buffer(report));

/** What a line of a report is about. More kinds may come: ignore those that you do not know. */
OBJSTORE_ENUM(objstore_report_kind) {
    OBJSTORE_REPORT_FINDING = 1, /* something is damaged, or lost */
    OBJSTORE_REPORT_NOTE = 2,    /* worth knowing, but no damage */
    OBJSTORE_REPORT_CLASS = 3,   /* the sum of a class, after everything else */
    OBJSTORE_REPORT_PROPERTY = 4 /* the sum of a property of that class that lost values (objstore_salvage) */
};

/** One line of a report. Everything is borrowed until the callback returns. */
typedef struct objstore_report_line {
    uint32_t struct_size; /* what the library knows of it */
    objstore_report_kind kind;
    objstore_text text;          /* the line, to be printed; never empty */
    objstore_text class_name;    /* CLASS, PROPERTY; else empty */
    objstore_text property_name; /* PROPERTY; else empty */
    uint64_t objects;            /* CLASS: that can be read, or are in the new store */
    int64_t lost;                /* CLASS: objects that cannot be read, -1 = unknown; PROPERTY: lost values */
} objstore_report_line;

/** Receives a report line by line, on the calling thread. A status other than OK ends the operation, which then returns
 * OBJSTORE_ERR_CANCELLED and leaves nothing behind; callback_code is the status. */
typedef objstore_status (*objstore_report)(const objstore_report_line *line, void *userdata);

/** Checks the files of the store at `path` without opening it, also when it cannot be opened: both metas, root, schema,
 * and everything that objstore_verify checks, of the newest version that a whole meta names. Where none does, it reads
 * the newest version that can be found. It changes nothing; read permission is enough. While it runs, no process can
 * open the store, where this process may write to it.
 *
 * A store that was not closed cleanly is checked as of its last checkpoint, and the log as far as its chain goes (the
 * number of records that follow is a note). Whole records of later versions behind the end of the chain are a note,
 * too: power cuts leave such records, and they were never acknowledged as durable. Behind a record that was damaged
 * afterwards they are a loss, but the two cases cannot be told apart. objstore_salvage, which counts what may be lost,
 * has a finding then.
 *
 * OBJSTORE_OK: sound. OBJSTORE_ERR_CORRUPT: damaged; the message names the first finding. In both cases `findings`
 * (NULL: not wanted) is their number, and `report` (NULL: not wanted) got each of them, notes, and a CLASS line for
 * each class. `progress` counts bytes (NULL: none); both get `userdata`. Memory is bounded. Blocks: O(size).
 *
 * Errors: NOT_FOUND; NOT_A_STORE; BUSY: a process has it open for writing, use objstore_verify; VERSION_MISMATCH: a
 * newer library wrote it; IO; CANCELLED. A page that the medium cannot read makes the process die of SIGBUS, as with
 * any mapped file: copy the file with a tool that skips such pages first. */
OBJSTORE_API objstore_status objstore_verify_file(objstore_text path, objstore_progress progress,
                                                  objstore_report report, void *userdata,
                                                  objstore_free_userdata free_userdata, uint64_t *findings)
    OBJSTORE_CHECKS(nullable(progress, report, free_userdata, findings), text(path), name(path));

/** Makes a new store at `new_path` of what can be read of the damaged one at `path`, which is never written. Only what
 * its hashes prove is copied, so no value in the new store is wrong. In the new store objects keep their keys, and
 * indexes are rebuilt.
 *
 * - It reads the newest version that a meta leads to; where both metas are damaged, the root with the greatest version
 *   that a search of the file finds. A schema that cannot be read is searched in the same way.
 * - A damaged page of the object tree costs the objects below it. They are not searched: only its parents say that a
 *   leaf is of the newest version, and of its class. A damaged class node costs the class.
 * - A link to an object that is lost becomes null.
 * - A damaged part of a column costs the values of that property, for its objects only. Values of an indexed property
 *   are then read from its index (texts up to 64 bytes). What stays lost becomes null, or the property's default where
 *   it cannot be null. An object without its primary key is lost; of two with the same one, the first is kept.
 * - Where the store was not closed cleanly, the log is applied as recovery would, as far as its chain goes. What it
 *   says of lost objects is not applied.
 *
 * OBJSTORE_OK: the new store is there, closed and synced. `losses` (NULL: not wanted) is then 0 if everything could be
 * read, else the number of findings that tell what is lost, or may be. `report` (NULL: not wanted) gets each finding,
 * with objects and reasons, and in the end the sums: a CLASS line for each class, followed by a PROPERTY line for each
 * of its properties that lost values. `progress` counts bytes (NULL: none); both get `userdata`. Memory is bounded.
 * Blocks: O(size). On any error no file is left at `new_path`.
 * Errors: those of objstore_verify_file; ALREADY_EXISTS: there is a file at `new_path`, and it stays as it is;
 * INVALID_ARGUMENT: `new_path` is the name of a file that belongs to the damaged store, its -log, -lock or -log.new;
 * CORRUPT: nothing can be read at all; OUT_OF_SPACE. */
OBJSTORE_API objstore_status objstore_salvage(objstore_text path, objstore_text new_path, objstore_progress progress,
                                              objstore_report report, void *userdata,
                                              objstore_free_userdata free_userdata, uint64_t *losses)
    OBJSTORE_CHECKS(nullable(progress, report, free_userdata, losses), text(path, new_path), name(path, new_path));

/** Says whether there is a store at `path`. Looks at the first bytes of the file only. */
OBJSTORE_API objstore_status objstore_file_exists(objstore_text path, bool *exists)
    OBJSTORE_CHECKS(null(exists), text(path), name(path));

/** Deletes a store: the file, its log, its lock file.
 * NOT_FOUND: no file. NOT_A_STORE: the file is something else, and stays. BUSY: a process has it open, also in the mode
 * IMMUTABLE; nothing is deleted. IO: what has the name of its log or lock file is not one, and stays. */
OBJSTORE_API objstore_status objstore_delete_files(objstore_text path)
    OBJSTORE_CHECKS(text(path), name(path));

/* ================================================================================================
 *  7. Views and transactions
 *
 *                 what it sees                          moves                    writes   lends text
 *   live          a published version                   objstore_view_refresh    no       no
 *   frozen        one version, always the same          never                    no       until closed
 *   transaction   the newest version + its own changes  with each write          yes      until its next write
 * ================================================================================================ */

/** What a view is. */
OBJSTORE_ENUM(objstore_view_kind) {
    OBJSTORE_VIEW_LIVE = 1,
    OBJSTORE_VIEW_FROZEN = 2,
    OBJSTORE_VIEW_TRANSACTION = 3
};

/** Opens a live view of the newest version. Cost: a slot in shared memory, no system call.
 * TOO_MANY_READERS: more versions are pinned than there are slots. */
OBJSTORE_API objstore_status objstore_view_open(objstore *store, objstore_view **view)
    OBJSTORE_CHECKS(null(store, view), closed(store), kind(store));

/** Moves a live view to the newest published version: commits of other threads and processes, and your own, become
 * visible. `changed` (NULL: not wanted) says whether there was a newer one. Never waits for a writer.
 * TOO_MANY_READERS: it has no slot for the newer version, and stays where it is. */
OBJSTORE_API objstore_status objstore_view_refresh(objstore_view *view, bool *changed)
    OBJSTORE_CHECKS(null(view), nullable(changed), closed(view), kind(view), live(view));

/** Lets a live view follow by itself, or not any more: objstore_deliver, objstore_wait and objstore_refresh of its
 * store, and the worker of a store that has one, move it before they call handlers, to the version that these are told
 * of or a newer one, on whatever thread. Off at first. Commits alone do not make the descriptor readable:
 * objstore_observe_commits does. */
OBJSTORE_API objstore_status objstore_view_set_autorefresh(objstore_view *view, bool on)
    OBJSTORE_CHECKS(null(view), closed(view), kind(view), live(view));

/** Opens a frozen view of the version that `view`, live or frozen, stands on. It outlives `view`. TOO_MANY_READERS
 * cannot happen: the version is pinned already. */
OBJSTORE_API objstore_status objstore_view_freeze(objstore_view *view, objstore_view **frozen)
    OBJSTORE_CHECKS(null(view, frozen), closed(view), kind(view), committed(view));

/** Names the version that `view`, live or frozen, stands on, in 40 bytes to write down: of this store and no other, the
 * same bytes for all who ask, and behind a checkpoint. What was committed since then is asked for with
 * objstore_token_since, also after a restart, where the version was kept (objstore_keep_version). Of a change set: of
 * its view of the state after (objstore_changes_view). */
OBJSTORE_API objstore_status objstore_view_bookmark(objstore_view *view, objstore_bookmark *bookmark)
    OBJSTORE_CHECKS(null(view, bookmark), closed(view), kind(view), committed(view));

/** Opens a frozen view of the version that was written down. There is one as long as somebody keeps it: a view, an
 * observer, a checkpoint, a name (objstore_keep_version), in whichever process.
 * VERSION_GONE: nobody does. WRONG_STORE: it is of another store. INVALID_ARGUMENT: the 40 bytes are none, or were
 * changed. TOO_MANY_READERS; TIMEOUT: another one was writing for WRITE_TIMEOUT_MS; of a version that this process has
 * no view of. */
OBJSTORE_API objstore_status objstore_view_at(objstore *store, const objstore_bookmark *bookmark,
                                              objstore_view **frozen)
    OBJSTORE_CHECKS(null(store, bookmark, frozen), closed(store), kind(store), outside(store));

/** Keeps a version of the store by a name of up to 64 bytes until it is released, whoever has the store open, after
 * restarts, crashes and power cuts, too: a program that is away (a search index, a replica) asks what was committed
 * meanwhile (objstore_token_since). NULL: the newest version. A name in use moves to the version, at once or not
 * at all. What is deleted or replaced after it stays in the file (objstore_pins lists it), which grows with what is
 * written; so move it on now and then. Up to 16 names. A copy of the closed file has them, too, one by objstore_copy
 * has none.
 *
 * Blocks for two syncs, one more where the version is newer than the last checkpoint, and for other writers up to
 * WRITE_TIMEOUT_MS.
 * Errors: VERSION_GONE, WRONG_STORE, INVALID_ARGUMENT (also a name that is too long); TOO_MANY_VERSIONS (there are 16);
 * POISONED, TIMEOUT, OUT_OF_SPACE, IO, OUTCOME_UNKNOWN (as of a checkpoint). */
OBJSTORE_API objstore_status objstore_keep_version(objstore *store, objstore_text name,
                                                   const objstore_bookmark *bookmark)
    OBJSTORE_CHECKS(null(store), nullable(bookmark), closed(store), kind(store), writable(store), outside(store),
                    text(name), name(name));

/** Lets go of a version that was kept by that name. Blocks for a sync.
 * NOT_FOUND: there is none. POISONED, TIMEOUT, IO, OUTCOME_UNKNOWN (as of a checkpoint). */
OBJSTORE_API objstore_status objstore_release_version(objstore *store, objstore_text name)
    OBJSTORE_CHECKS(null(store), closed(store), kind(store), writable(store), outside(store), text(name),
                    name(name));

/** One version that is kept by a name. 128 bytes, final. */
typedef struct objstore_kept_version {
    uint64_t version; /* as objstore_pins has it */
    int64_t since_ms; /* milliseconds since 1970 */
    objstore_bookmark bookmark;
    char name[72];    /* ends with a zero */
} objstore_kept_version;

/** Lists what is kept by names, in their order. Fills up to `capacity` and sets `count` to how many there are. */
OBJSTORE_API objstore_status objstore_kept_versions(objstore *store, objstore_kept_version *versions, size_t capacity,
                                                    size_t *count)
    OBJSTORE_CHECKS(null(store, count), closed(store), kind(store), array(versions, capacity), count(capacity));

/** Gives the version that a view stands on; of a transaction the one it started from. Versions grow by commits and by
 * checkpoints, and are the same numbers in every process. */
OBJSTORE_API objstore_status objstore_view_version(objstore_view *view, uint64_t *version)
    OBJSTORE_CHECKS(null(view, version), closed(view), kind(view));

/** Says whether a view is live, frozen or a transaction. */
OBJSTORE_API objstore_status objstore_view_get_kind(objstore_view *view, objstore_view_kind *kind)
    OBJSTORE_CHECKS(null(view, kind), closed(view), kind(view));

/** Closes a view; a transaction is cancelled. What was borrowed from the view is gone. NULL is allowed.
 * IN_CALLBACK: the view that objstore_write gave to a body. WRONG_VIEW: a view that belongs to a change set. */
OBJSTORE_API objstore_status objstore_view_close(objstore_view *view)
    OBJSTORE_CHECKS(nullable(view), closed(view), kind(view));

/** Begins a transaction on the newest version. No live view is moved. Blocks while another transaction is open, in any
 * thread or process, up to the handle's WRITE_TIMEOUT_MS (TIMEOUT); callers that have waited for 1 ms come first.
 * ALREADY_IN_WRITE: a transaction that this thread began is still open. CLOSED_HANDLE: also where the store is closed
 * meanwhile.
 * Errors: READ_ONLY, POISONED, REPLACED, SCHEMA_MISMATCH, TOO_MANY_READERS; BUSY: another process has the file open in
 * the mode IMMUTABLE. */
OBJSTORE_API objstore_status objstore_begin(objstore *store, objstore_view **transaction)
    OBJSTORE_CHECKS(null(store, transaction), closed(store), kind(store), writable(store), outside(store));

/** Begins a transaction as objstore_begin, but does not wait: BUSY. */
OBJSTORE_API objstore_status objstore_try_begin(objstore *store, objstore_view **transaction)
    OBJSTORE_CHECKS(null(store, transaction), closed(store), kind(store), writable(store), outside(store));

/** Begins a transaction as objstore_begin, but waits at most `timeout_ms` (>= 0, or OBJSTORE_FOREVER): TIMEOUT. */
OBJSTORE_API objstore_status objstore_begin_within(objstore *store, int64_t timeout_ms,
                                                   objstore_view **transaction)
    OBJSTORE_CHECKS(null(store, transaction), closed(store), kind(store), writable(store), outside(store),
                    range(timeout_ms));

/** Commits a transaction. It ends and its view is closed whatever the status, except for NOT_IN_WRITE, CLOSED_HANDLE,
 * WRONG_KIND and IN_CALLBACK (the view of an objstore_write body). `version` (NULL: not wanted) is the version that the
 * transaction made, or, if it changed nothing, the one it began with: then the call waits only where that one is still
 * being committed by others.
 * Errors: OUT_OF_SPACE, IO, POISONED: it did not happen. OUTCOME_UNKNOWN: see caveat 2.
 * Blocks for one sync, shared with others (durability FULL). Cost: O(what changed). */
OBJSTORE_API objstore_status objstore_commit(objstore_view *transaction, uint64_t *version)
    OBJSTORE_CHECKS(null(transaction), nullable(version), closed(transaction), kind(transaction),
                    write(transaction));

/** Ends a transaction without a trace, and closes its view. Objects it created do not exist, objects it deleted do.
 * Waits where the version that it began with is still being committed by others, as a commit would.
 * Errors: IN_CALLBACK: the view of an objstore_write body; return a status from the body instead. OUTCOME_UNKNOWN: it
 * is cancelled, but what it has read may not survive (caveat 2). */
OBJSTORE_API objstore_status objstore_cancel(objstore_view *transaction)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction));

/** Does the work of a transaction. The view is valid until the body returns. */
typedef objstore_status (*objstore_write_body)(objstore_view *transaction, void *userdata);

/** Begins a transaction (as objstore_begin), calls `body` once on this thread, and commits when the body returns
 * OBJSTORE_OK. Any other status cancels (waiting as objstore_cancel does), and is returned as it is. So is what begin
 * and commit return. */
OBJSTORE_API objstore_status objstore_write(objstore *store, objstore_write_body body, void *userdata,
                                            objstore_free_userdata free_userdata)
    OBJSTORE_CHECKS(null(store, body), nullable(free_userdata), closed(store), kind(store), writable(store),
                    outside(store));

/** A point inside a transaction to which changes can be undone while the transaction goes on. Never 0. Savepoints nest:
 * ending one ends those that began after it. Commit and cancel end them all. */
typedef uint64_t objstore_savepoint;

/** Begins a savepoint: *savepoint names it until it ends. What was borrowed from the transaction is gone, as after a
 * write. Errors: OUT_OF_MEMORY.
 * Cost: pending changes of indexes are applied now (as before a query by an index); later, the first change of each
 * page copies the page. So use one around a group of changes, not around each. */
OBJSTORE_API objstore_status objstore_savepoint_begin(objstore_view *transaction, objstore_savepoint *savepoint)
    OBJSTORE_CHECKS(null(transaction, savepoint), closed(transaction), kind(transaction), write(transaction));

/** Ends a savepoint. What was changed since stays changed, and is committed or cancelled with the transaction. Cost:
 * O(what was changed).
 * OUT_OF_RANGE: no savepoint of this name is open in the transaction. */
OBJSTORE_API objstore_status objstore_savepoint_release(objstore_view *transaction, objstore_savepoint savepoint)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction), range(savepoint));

/** Undoes everything that was changed since the savepoint began, and ends it. Objects created since do not exist
 * (their keys are not used again), objects deleted since do; observers hear nothing of it. A failure since that made
 * the transaction unusable (CORRUPT, OUT_OF_MEMORY) is undone, too. Cost: O(what was changed).
 * OUT_OF_RANGE: no savepoint of this name is open in the transaction. */
OBJSTORE_API objstore_status objstore_savepoint_rollback(objstore_view *transaction, objstore_savepoint savepoint)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction), range(savepoint));

/* ================================================================================================
 *  8. Classes, properties and indexes by name
 *
 *  Names given out are borrowed until the store's handle is closed.
 * ================================================================================================ */

/** Finds the id of a class. NO_SUCH_CLASS: the view has none of that name. Cost: a hash. */
OBJSTORE_API objstore_status objstore_find_class(objstore_view *view, objstore_text name,
                                                 objstore_class_id *class_id)
    OBJSTORE_CHECKS(null(view, class_id), closed(view), kind(view), text(name), name(name));

/** Finds the id of a property of a class. NO_SUCH_PROPERTY: none of that name. Cost: a hash. */
OBJSTORE_API objstore_status objstore_find_property(objstore_view *view, objstore_class_id class_id,
                                                    objstore_text name, objstore_property_id *property_id)
    OBJSTORE_CHECKS(null(view, property_id), closed(view), kind(view), class(class_id), text(name), name(name));

/** Finds the id of a class, and the ids of the properties that `rows` name, in their order: `property_ids` has room for
 * `count`. NULL for either: not wanted.
 * NO_SUCH_CLASS, NO_SUCH_PROPERTY: none of that name; nothing was filled. */
OBJSTORE_API objstore_status objstore_find_rows(objstore_view *view, objstore_text class_name,
                                                const objstore_property_row *rows, size_t count,
                                                objstore_class_id *class_id, objstore_property_id *property_ids)
    OBJSTORE_CHECKS(null(view), nullable(class_id, property_ids), closed(view), kind(view), text(class_name),
                    name(class_name), array(rows, count), count(count));

/** Counts the classes. */
OBJSTORE_API objstore_status objstore_class_count(objstore_view *view, size_t *count)
    OBJSTORE_CHECKS(null(view, count), closed(view), kind(view));

/** What a class is. Make one with objstore_class_info_init(). */
typedef struct objstore_class_info {
    uint32_t struct_size;
    objstore_class_id class_id;
    objstore_text name;
    size_t property_count;
    objstore_property_id primary_key; /* 0 = none, or one of several properties */
    uint32_t flags;                   /* OBJSTORE_CLASS_… */
    objstore_index_id key_index;      /* that of the primary key, of one property or several; 0 = none */
    uint32_t reserved;
} objstore_class_info;

#ifndef OBJSTORE_DECLARATIONS_ONLY
static inline objstore_class_info objstore_class_info_init(void) {
    objstore_class_info info = OBJSTORE_ZERO;
    info.struct_size = (uint32_t)sizeof info;
    return info;
}
#endif

/** Describes the class at `index` (0 to count - 1, in the order they were added). OUT_OF_RANGE. */
OBJSTORE_API objstore_status objstore_class_at(objstore_view *view, size_t index, objstore_class_info *info)
    OBJSTORE_CHECKS(null(view, info), closed(view), kind(view), range(index), size(info));

/** Describes a class. */
OBJSTORE_API objstore_status objstore_class_get_info(objstore_view *view, objstore_class_id class_id,
                                                     objstore_class_info *info)
    OBJSTORE_CHECKS(null(view, info), closed(view), kind(view), class(class_id), size(info));

/** What a property is. Make one with objstore_property_info_init(). */
typedef struct objstore_property_info {
    uint32_t struct_size;
    objstore_property_id property_id;
    objstore_class_id class_id;
    objstore_class_id target_class_id; /* of links, and of collections of links; 0 = none */
    objstore_text name;
    objstore_kind kind;
    objstore_kind collection;          /* LIST, SET or MAP of `kind`; NULL = a single value */
    uint32_t flags;                    /* OBJSTORE_PROPERTY_… */
    uint32_t index;                    /* its place in the class: objstore_property_at, change masks */
    objstore_value default_value;      /* borrowed like the name; null when there is none */
    objstore_kind key_kind;            /* of a map's keys; NULL = it is no map */
    uint32_t reserved;
} objstore_property_info;

#ifndef OBJSTORE_DECLARATIONS_ONLY
static inline objstore_property_info objstore_property_info_init(void) {
    objstore_property_info info = OBJSTORE_ZERO;
    info.struct_size = (uint32_t)sizeof info;
    return info;
}
#endif

/** Describes the property at `index` (0 to property_count - 1). The order is the file's: that of the schema that
 * created the class, then what was added later, and what got another kind or became the primary key. OUT_OF_RANGE. */
OBJSTORE_API objstore_status objstore_property_at(objstore_view *view, objstore_class_id class_id, size_t index,
                                                  objstore_property_info *info)
    OBJSTORE_CHECKS(null(view, info), closed(view), kind(view), class(class_id), range(index), size(info));

/** Describes a property. */
OBJSTORE_API objstore_status objstore_property_get_info(objstore_view *view, objstore_property_id property_id,
                                                        objstore_property_info *info)
    OBJSTORE_CHECKS(null(view, info), closed(view), kind(view), property(property_id), size(info));

enum { OBJSTORE_MAX_INDEX_PROPERTIES = 8 };

/** What an index is. Make one with objstore_index_info_init(). */
typedef struct objstore_index_info {
    uint32_t struct_size;
    objstore_index_id index_id;
    objstore_class_id class_id;
    uint32_t flags;          /* OBJSTORE_INDEX_… */
    uint32_t property_count; /* 1: the index of a property alone, whose flags say so, too */
    objstore_property_id properties[8]; /* in the order in which it compares; then 0 */
} objstore_index_info;

#ifndef OBJSTORE_DECLARATIONS_ONLY
static inline objstore_index_info objstore_index_info_init(void) {
    objstore_index_info info = OBJSTORE_ZERO;
    info.struct_size = (uint32_t)sizeof info;
    return info;
}
#endif

/** Counts the indexes of a class, the primary key's and those of single properties included. */
OBJSTORE_API objstore_status objstore_index_count(objstore_view *view, objstore_class_id class_id, size_t *count)
    OBJSTORE_CHECKS(null(view, count), closed(view), kind(view), class(class_id));

/** Describes the index at `index` (0 to count - 1: the primary key's, those of other properties, compound ones).
 * OUT_OF_RANGE. */
OBJSTORE_API objstore_status objstore_index_at(objstore_view *view, objstore_class_id class_id, size_t index,
                                               objstore_index_info *info)
    OBJSTORE_CHECKS(null(view, info), closed(view), kind(view), class(class_id), range(index), size(info));

/** Describes an index. */
OBJSTORE_API objstore_status objstore_index_get_info(objstore_view *view, objstore_index_id index_id,
                                                     objstore_index_info *info)
    OBJSTORE_CHECKS(null(view, info), closed(view), kind(view), index(index_id), size(info));

/** Finds the id of the index of exactly these properties, in this order. NO_SUCH_INDEX: the class has none. */
OBJSTORE_API objstore_status objstore_find_index(objstore_view *view, objstore_class_id class_id,
                                                 const objstore_property_id *properties, size_t count,
                                                 objstore_index_id *index_id)
    OBJSTORE_CHECKS(null(view, index_id), nullable(properties), closed(view), kind(view), class(class_id),
                    array(properties, count), count(count));

/* ================================================================================================
 *  9. Objects: create, read, change, delete
 *
 *  Values must be of exactly the property's kind, or null where it is nullable: there is no conversion. Lists, sets and
 *  maps are not passed as values (section 10): reading one gives an objstore_collection. A property may appear once in
 *  an array. Every failing call leaves the transaction as it was before.
 *  A link leads to an object that exists in the transaction (NO_SUCH_OBJECT), of this store (WRONG_STORE) and of the
 *  property's target class (WRONG_TYPE); the error names the property.
 * ================================================================================================ */

/** What to do when an object with the primary key exists. */
OBJSTORE_ENUM(objstore_policy) {
    OBJSTORE_POLICY_ERROR = 0,    /* OBJSTORE_ERR_DUPLICATE_KEY */
    OBJSTORE_POLICY_MODIFIED = 1, /* write the given properties that differ; if none does, nothing happens */
    OBJSTORE_POLICY_ALL = 2       /* write all given properties but the key; observers see them as changed */
};
/** What an upsert did. */
OBJSTORE_ENUM(objstore_outcome) {
    OBJSTORE_OUTCOME_UNCHANGED = 0, /* it was there, and nothing differed (policy MODIFIED) or only the key was given */
    OBJSTORE_OUTCOME_CHANGED = 1,   /* it was there, and was written */
    OBJSTORE_OUTCOME_CREATED = 2
};

/** Creates an object with `values[i]` for `properties[i]`, `count` of them; the other properties get their default, or
 * null. `object` may be NULL. Cost: O(m) + O(log n) per index.
 * DUPLICATE_KEY (also for unique values), MISSING_VALUE (also for the primary key). */
OBJSTORE_API objstore_status objstore_create(
    objstore_view *transaction, objstore_class_id class_id, const objstore_property_id *properties,
    const objstore_value *values, size_t count, objstore_object *object)
    OBJSTORE_CHECKS(null(transaction), nullable(properties, values, object), closed(transaction),
                    kind(transaction), write(transaction), class(class_id), array(properties, count),
                    array(values, count), count(count), property(properties), type(values, properties),
                    required(values, properties), text(values));

/** Creates an object, or updates the one that has the same primary key, by `policy`. Where the primary key, or a part
 * of it, is not among the properties, it is generated, or its default, or null where it may be; else MISSING_VALUE.
 * Properties that are not given keep their value in an existing object. `object` and `outcome` may be NULL. Cost as
 * objstore_create.
 * NO_PRIMARY_KEY, DUPLICATE_KEY (also, whatever the policy, where another object has a unique value that is given). */
OBJSTORE_API objstore_status objstore_upsert(
    objstore_view *transaction, objstore_class_id class_id, objstore_policy policy,
    const objstore_property_id *properties, const objstore_value *values, size_t count, objstore_object *object,
    objstore_outcome *outcome)
    OBJSTORE_CHECKS(null(transaction), nullable(properties, values, object, outcome), closed(transaction),
                    kind(transaction), write(transaction), class(class_id), key(class_id), enum(policy),
                    array(properties, count), array(values, count), count(count), property(properties),
                    type(values, properties), required(values, properties), text(values));

/** Reads one property. For text and binaries see "Text out": `buffer` NULL borrows. Cost: O(log n), tens of
 * nanoseconds; to read many objects use a row, or a column. */
OBJSTORE_API objstore_status objstore_get(objstore_view *view, objstore_object object,
                                          objstore_property_id property_id, objstore_buffer *buffer,
                                          objstore_value *value)
    OBJSTORE_CHECKS(null(view, value), nullable(buffer), closed(view), kind(view), store(object),
                    deleted(object), property(property_id), buffer(buffer), lends(view, buffer));

/** Reads several properties of one object into `values`, which has room for `count`. One buffer holds all texts
 * of the call. Cost: O(log n) + O(m). */
OBJSTORE_API objstore_status objstore_get_row(objstore_view *view, objstore_object object,
                                              const objstore_property_id *properties, size_t count,
                                              objstore_buffer *buffer, objstore_value *values)
    OBJSTORE_CHECKS(null(view), nullable(properties, buffer, values), closed(view), kind(view), store(object),
                    deleted(object), array(properties, count), array(values, count), count(count),
                    property(properties), buffer(buffer), lends(view, buffer));

/** Writes one property. Writing the value that is there counts as a change to observers. Cost: O(log n).
 * KEY_IMMUTABLE: it is the primary key, or part of it (unless it has that value already). DUPLICATE_KEY: another object
 * has this unique value. */
OBJSTORE_API objstore_status objstore_set(objstore_view *transaction, objstore_object object,
                                          objstore_property_id property_id, objstore_value value)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction),
                    store(object), deleted(object), property(property_id), type(value, property_id),
                    required(value, property_id), text(value));

/** Writes several properties of one object: all, or none. Errors as objstore_set; unique values are compared as they
 * are when all are written. */
OBJSTORE_API objstore_status objstore_set_row(objstore_view *transaction, objstore_object object,
                                              const objstore_property_id *properties,
                                              const objstore_value *values, size_t count)
    OBJSTORE_CHECKS(null(transaction), nullable(properties, values), closed(transaction), kind(transaction),
                    write(transaction), store(object), deleted(object), array(properties, count),
                    array(values, count), count(count), property(properties), type(values, properties),
                    required(values, properties), text(values));

/** Adds `delta` to an INT property; `value` (NULL: not wanted) is the sum. NULL_VALUE: it is null.
 * OUT_OF_RANGE: the sum does not fit 64 bits. KEY_IMMUTABLE, DUPLICATE_KEY. */
OBJSTORE_API objstore_status objstore_increment(objstore_view *transaction, objstore_object object,
                                                objstore_property_id property_id, int64_t delta, int64_t *value)
    OBJSTORE_CHECKS(null(transaction), nullable(value), closed(transaction), kind(transaction),
                    write(transaction), store(object), deleted(object), property(property_id),
                    type(property_id));

/** Finds the object with this primary key. `found` NULL: absence is OBJSTORE_ERR_NO_SUCH_OBJECT; else `found` is false
 * and `object` is zero bytes. Where the key can be null, null finds the object that has it. Cost: O(log n), about 0.1
 * µs.
 * WRONG_TYPE, NO_PRIMARY_KEY. INVALID_ARGUMENT: the key is of several properties; objstore_find_by finds by them. */
OBJSTORE_API objstore_status objstore_find(objstore_view *view, objstore_class_id class_id, objstore_value key,
                                           objstore_object *object, bool *found)
    OBJSTORE_CHECKS(null(view, object), nullable(found), closed(view), kind(view), class(class_id),
                    key(class_id), type(key, class_id), text(key));

/** Finds the object that has these values in a unique index: one for each of its properties, in its order. `found` as
 * in objstore_find. Where a property can be null, null finds nothing, except for a primary key of one property. Cost:
 * O(log n).
 * INVALID_ARGUMENT: the index is not unique, or has another number of properties. WRONG_TYPE: also null where it cannot
 * be. */
OBJSTORE_API objstore_status objstore_find_by(objstore_view *view, objstore_index_id index_id,
                                              const objstore_value *values, size_t count, objstore_object *object,
                                              bool *found)
    OBJSTORE_CHECKS(null(view, values, object), nullable(found), closed(view), kind(view), index(index_id),
                    array(values, count), count(count), text(values));

/** Creates an embedded object in a property of its parent: a link, a list or a map whose target class is embedded.
 * `place` says where: of a link null, of a list an index (INT), before which it is inserted, or null for its end, of a
 * map the key. What a link or a key led to before is deleted. Otherwise as objstore_create.
 *
 * Embedded objects are created in no other way, and have no other place: creating one without a parent, or giving a
 * property a link to one, is OBJSTORE_ERR_EMBEDDED (a link may be set to what it leads to already, an index or a key to
 * the object that is there: it stays, and the write counts as one). Setting such a link to null, taking one out of its
 * list or map, or deleting the parent deletes the embedded object, and what lies in it.
 *
 * WRONG_TYPE: the property does not hold embedded objects, or `place` does not fit it. OUT_OF_RANGE: a list has no such
 * index. */
OBJSTORE_API objstore_status objstore_create_embedded(
    objstore_view *transaction, objstore_object parent, objstore_property_id property_id, objstore_value place,
    const objstore_property_id *properties, const objstore_value *values, size_t count, objstore_object *object)
    OBJSTORE_CHECKS(null(transaction), nullable(properties, values, object), closed(transaction), kind(transaction),
                    write(transaction), store(parent), deleted(parent), property(property_id), type(property_id),
                    array(properties, count), array(values, count), count(count));

enum {
    OBJSTORE_FROM_EXACT = 0x1,          /* a list of values has one for every property of its class */
    OBJSTORE_FROM_IGNORE_UNKNOWN = 0x2  /* names that a class does not have are ignored */
};

/** Creates the object that nested values describe, or, with a policy other than ERROR, updates the one that has its
 * primary key; with everything that is nested in it, all or nothing. The array has the values flat, as
 * objstore_document_pack takes them:
 *
 *      objstore_value jane[] = {objstore_map_of(3),                                     {"id": 7, "name": "Jane",
 *                               objstore_string(OBJSTORE_STR("id")), objstore_int(7),
 *                               objstore_string(OBJSTORE_STR("name")), objstore_string(OBJSTORE_STR("Jane")),
 *                               objstore_string(OBJSTORE_STR("dogs")), objstore_list_of(2),  "dogs": [
 *                               objstore_link(rex),                                             rex,
 *                               objstore_list_of(2), objstore_string(OBJSTORE_STR("Buster")), objstore_int(5)};
 *                                                                                               ["Buster", 5]]}
 *      objstore_create_from(tx, person, OBJSTORE_POLICY_ERROR, 0, jane, 11, &object, NULL);
 *
 * - An object is a map of property names and values, or a list of values in the order of the properties. A shorter list
 *   leaves out the last ones, if each has a default, can be null, is generated or a collection (EXACT: none may be left
 *   out); a longer one is OUT_OF_RANGE.
 * - A link is an objstore_link, null, a reference, or an object in its turn: created, or, with a policy other than
 *   ERROR, updated where its primary key is known. A reference is the primary key of the object that it leads to, or
 *   {"$ref": class, "$id": key}, where the key is the primary key (one of several properties as a map of them) or, of a
 *   class without one, the object key. It may lead to an object that comes later, or around it, in the same values:
 *   links are made when everything is there (NO_SUCH_OBJECT: it did not come). The same holds of references in MIXED
 *   values, as Extended JSON has them. A map of the parts of a primary key of several properties and nothing else leads
 *   to the object that has it, too; where no object has it, it describes a new one.
 * - A list or set is a list of elements, a map a map whose keys are strings (of int, object id and uuid keys: their
 *   text). They replace what is there.
 * - An embedded object is an object in its turn, or null. It is described in full: what is not given is as in a new
 *   one. One that lies in the same list or map already may be given as an objstore_link, each once, at any place: it
 *   stays that object. Those that are not given are deleted.
 * - A mixed value is anything, lists and maps become documents.
 * - Values are of the property's kind. An INT may stand for a FLOAT, DOUBLE or DECIMAL128 that is exactly it, a DOUBLE
 *   for the nearest FLOAT.
 *
 * Properties that are not given get their default in a new object, and keep their value in one that exists. With
 * MODIFIED only what differs is written, collections and embedded objects included; with ALL everything given. `flags`
 * are OBJSTORE_FROM_…, or 0. `object` and `outcome` may be NULL. Errors are those of objstore_create and
 * objstore_upsert; the message begins with the place: "$.dogs[1].age: …".
 * INVALID_ARGUMENT: values are missing or left over, or a name comes twice. OUT_OF_RANGE: more than 200 objects, or 512
 * lists and maps, inside each other. NO_PRIMARY_KEY: a policy other than ERROR for a class without one (objects nested
 * in it may have none: they are created). */
OBJSTORE_API objstore_status objstore_create_from(
    objstore_view *transaction, objstore_class_id class_id, objstore_policy policy, uint32_t flags,
    const objstore_value *values, size_t count, objstore_object *object, objstore_outcome *outcome)
    OBJSTORE_CHECKS(null(transaction, values), nullable(object, outcome), closed(transaction), kind(transaction),
                    write(transaction), class(class_id), enum(policy), flags(flags), count(count));

/** Creates or updates an object from nested values as objstore_create_from, but finds the object by a unique index, of
 * whatever properties, and not by its primary key. With a policy other than ERROR it updates the object that has the
 * values of the index that are given, or, where they are not given, those that a new object would get. Where one of
 * them is null, it creates a new object: nulls are never the same. The class is that of the index; it may have no
 * primary key. Objects nested in it are found by their primary keys.
 * INVALID_ARGUMENT: the index is not unique. NO_SUCH_INDEX. KEY_IMMUTABLE: a primary key is given, and the object that
 * was found has another one. */
OBJSTORE_API objstore_status objstore_upsert_from_by(
    objstore_view *transaction, objstore_index_id index_id, objstore_policy policy, uint32_t flags,
    const objstore_value *values, size_t count, objstore_object *object, objstore_outcome *outcome)
    OBJSTORE_CHECKS(null(transaction, values), nullable(object, outcome), closed(transaction), kind(transaction),
                    write(transaction), index(index_id), enum(policy), flags(flags), count(count));

/** Gives one property what nested values describe, as objstore_create_from would: a value, an object that it links to,
 * an embedded object, or all elements of a collection. `policy` is for objects that are described there and whose
 * primary key is known. With MODIFIED nothing is written that is there already; `changed` (NULL: not wanted) says
 * whether something was written. */
OBJSTORE_API objstore_status objstore_set_from(
    objstore_view *transaction, objstore_object object, objstore_property_id property_id, objstore_policy policy,
    const objstore_value *values, size_t count, bool *changed)
    OBJSTORE_CHECKS(null(transaction, values), nullable(changed), closed(transaction), kind(transaction),
                    write(transaction), store(object), deleted(object), property(property_id), enum(policy),
                    count(count));

enum {
    OBJSTORE_NODE_ROOT = 0x1,       /* with a policy other than ERROR, its class must have a primary key */
    OBJSTORE_NODE_ELEMENT = 0x2,    /* of a property: one embedded object in it */
    OBJSTORE_NODE_DESCRIBED = 0x4   /* every message about it begins with the place in its values */
};

/** What objstore_create_graph makes of one of its descriptions: one of the three ids says it, the others are 0.
 * 32 bytes, final. */
typedef struct objstore_node {
    objstore_class_id class_id;         /* an object of the class, known by its primary key */
    objstore_index_id index_id;         /* an object known by this unique index, as in objstore_upsert_from_by */
    objstore_property_id property_id;   /* what this property of `owner` gets, as in objstore_set_from */
    uint32_t flags;                     /* OBJSTORE_NODE_…, or 0 */
    objstore_object owner;              /* of a property; else all zero */
} objstore_node;

#ifndef OBJSTORE_DECLARATIONS_ONLY
static inline objstore_node objstore_node_of_class(objstore_class_id class_id, uint32_t flags) {
    objstore_node node;
    node.class_id = class_id;
    node.index_id = 0;
    node.property_id = 0;
    node.flags = flags;
    node.owner.class_id = 0;
    node.owner.store_tag = 0;
    node.owner.key = 0;
    return node;
}
static inline objstore_node objstore_node_of_property(objstore_object owner, objstore_property_id property_id,
        uint32_t flags) {
    objstore_node node = objstore_node_of_class(0, flags);
    node.property_id = property_id;
    node.owner = owner;
    return node;
}
#endif

/** Makes what several descriptions say that refer to each other, also in circles; all or nothing. Each node has a
 * description in `values`, one behind the other, as objstore_create_from, objstore_upsert_from_by and objstore_set_from
 * take it; of an ELEMENT first its place, as objstore_create_embedded takes it, then its description. Two more values
 * are allowed in them:
 *
 * - objstore_node_link(n), wherever a link is: in links, in lists, sets and maps of them, in mixed values at any depth
 *   (packed documents included), in embedded objects. It leads to the object that node n becomes, which may come later,
 *   or be the same one.
 * - objstore_not_given(), for a property of an object, mostly in a list of values: as if it was left out.
 *
 *      objstore_node nodes[] = {objstore_node_of_class(person, OBJSTORE_NODE_ROOT), objstore_node_of_class(dog, 0)};
 *      objstore_value values[] = {objstore_list_of(2), objstore_string(OBJSTORE_STR("Jane")), objstore_node_link(1),
 *                                 objstore_list_of(2), objstore_string(OBJSTORE_STR("Rex")), objstore_node_link(0)};
 *      objstore_create_graph(tx, OBJSTORE_POLICY_ERROR, 0, nodes, 2, values, 6, objects, NULL, NULL);
 *
 * Objects are made first, each behind those that it leads to; a link that closes a circle is made when all are there.
 * Then properties get what is for them, in the order of the nodes. `policy` is for all objects, also for those nested
 * in descriptions; those without a primary key are created, but a ROOT is NO_PRIMARY_KEY then. Two nodes with one
 * primary key are DUPLICATE_KEY, or, with another policy, one object, which has what either gives, and of what both
 * give that of either. `flags` are OBJSTORE_FROM_…, or 0.
 *
 * `objects` and `outcomes` (NULL: not wanted) have room for `node_count`: what each node became (of a property its
 * owner, of an ELEMENT the new embedded object), and whether it was created, changed, or was so already. `embedded`
 * (NULL: not wanted) has room for `value_count`: where the description of an embedded object begins that object, all
 * zero bytes elsewhere. Any number of nodes may lead to each other; no description is nested deeper than
 * objstore_create_from allows. No node: nothing happens. Cost: O(what is described).
 *
 * `position` of an error is the node. Its message begins with the place in the node, "$.address.city: …", if that is
 * deeper than a property or the node is DESCRIBED. Errors are those of the three functions. INVALID_ARGUMENT: not one
 * of the three ids of a node, unknown flags, an ELEMENT that is no property. OUT_OF_RANGE: there is no node n.
 * WRONG_TYPE: a link to a node that is a property, or that becomes an object of another class than the link's.
 * EMBEDDED: a node of an embedded class. */
OBJSTORE_API objstore_status objstore_create_graph(
    objstore_view *transaction, objstore_policy policy, uint32_t flags, const objstore_node *nodes, size_t node_count,
    const objstore_value *values, size_t value_count, objstore_object *objects, objstore_outcome *outcomes,
    objstore_object *embedded)
    OBJSTORE_CHECKS(null(transaction), nullable(objects, outcomes, embedded), closed(transaction), kind(transaction),
                    write(transaction), enum(policy), flags(flags), array(nodes, node_count),
                    array(values, value_count), count(node_count, value_count));

enum { OBJSTORE_UNLIMITED = -1 };

/** Describes an object as the nested values that objstore_create_from takes: a map of all its properties. Embedded
 * objects are nested in it; links are followed `depth` times (0 to 100, or OBJSTORE_UNLIMITED) and are an objstore_link
 * then. `count` is how many values there are; if more than `capacity`, the first stand in `values`. All texts lie in
 * `buffer`. Cost: O(what is described).
 * INVALID_ARGUMENT: links lead in a circle. OUT_OF_RANGE: `depth`, or more than 200 objects inside each other. */
OBJSTORE_API objstore_status objstore_describe(objstore_view *view, objstore_object object, int64_t depth,
                                               objstore_buffer *buffer, objstore_value *values, size_t capacity,
                                               size_t *count)
    OBJSTORE_CHECKS(null(view, buffer, count), nullable(values), closed(view), kind(view), store(object),
                    deleted(object), range(depth), buffer(buffer), array(values, capacity), count(capacity));

/** Copies an object of `view` into a transaction, mostly of another store, with all that its links lead to. Classes and
 * properties are found there by their names. All or nothing. `copy` and `outcome` may be NULL. In the same store the
 * copy is shallow: it links to the same objects.
 *
 * `policy` as in objstore_create_from: objects with primary keys that exist there are an error, or updated. Each object
 * is copied once, even if several links lead to it; one with a primary key only with a policy other than ERROR, else
 * that is DUPLICATE_KEY.
 *
 * Errors: those of objstore_create_from. INVALID_ARGUMENT: links lead in a circle. NO_SUCH_CLASS, NO_SUCH_PROPERTY: the
 * other store does not have it. */
OBJSTORE_API objstore_status objstore_copy_object(objstore_view *view, objstore_object object,
                                                  objstore_view *transaction, objstore_policy policy,
                                                  objstore_object *copy, objstore_outcome *outcome)
    OBJSTORE_CHECKS(null(view, transaction), nullable(copy, outcome), closed(view, transaction),
                    kind(view, transaction), write(transaction), store(object), deleted(object), enum(policy));

/** Finds the parent of an embedded object, and the property in which it lies there. WRONG_TYPE: its class is not
 * embedded. Cost: O(log n) for each property that leads to its class. */
OBJSTORE_API objstore_status objstore_parent(objstore_view *view, objstore_object object, objstore_object *parent,
                                             objstore_property_id *property_id)
    OBJSTORE_CHECKS(null(view, parent), nullable(property_id), closed(view), kind(view), store(object), deleted(object),
                    type(object));

/** Says whether the object exists in this view. The only function that takes a deleted object without an error. */
OBJSTORE_API objstore_status objstore_exists(objstore_view *view, objstore_object object, bool *exists)
    OBJSTORE_CHECKS(null(view, exists), closed(view), kind(view), store(object));

/** Deletes an object. Links to it, of objects of any class, become null in the same step, which observers see as a
 * change of those objects. The objects embedded in it, and those that it links to by properties that cascade, are
 * deleted with it. Deleting it twice is OBJSTORE_ERR_NO_SUCH_OBJECT.
 * Cost: O(log n) per index and per link to it; for a list or map that has it among its elements O(elements), over a
 * column of numbers, some milliseconds for a million; for a collection of mixed elements O(its bytes). For many objects
 * objstore_delete_objects and objstore_results_delete pay this once. */
OBJSTORE_API objstore_status objstore_delete(objstore_view *transaction, objstore_object object)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction),
                    store(object), deleted(object));

/** Deletes objects of any classes, all or none, and what is deleted with them as with objstore_delete, which may be
 * among them. What links to several of them is changed once: a list that has many of them is read through once, and not
 * for each.
 * NO_SUCH_OBJECT: one of them is gone, or is given twice. */
OBJSTORE_API objstore_status objstore_delete_objects(objstore_view *transaction, const objstore_object *objects,
                                                     size_t count)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction),
                    array(objects, count), count(count));

/** Deletes all objects of a class, and what is deleted with them as with objstore_delete; the class stays. Links to
 * them become null. `count` (NULL: not wanted) is how many there were. */
OBJSTORE_API objstore_status objstore_delete_all(objstore_view *transaction, objstore_class_id class_id,
                                                 uint64_t *count)
    OBJSTORE_CHECKS(null(transaction), nullable(count), closed(transaction), kind(transaction),
                    write(transaction), class(class_id));

/** Deletes the objects of a class that no link, and no list, set or map of links, of any object leads to, and what is
 * deleted with them as with objstore_delete. `count` (NULL: not wanted) is how many of the class there were. Cost:
 * O(n).
 * In a migration: where a class becomes embedded, objects without a parent are SCHEMA_MISMATCH at its end, unless they
 * are deleted. */
OBJSTORE_API objstore_status objstore_delete_orphans(objstore_view *transaction, objstore_class_id class_id,
                                                     uint64_t *count)
    OBJSTORE_CHECKS(null(transaction), nullable(count), closed(transaction), kind(transaction),
                    write(transaction), class(class_id));

/** Deletes all objects of all classes, also of those that the store was not opened with; the schema stays. `objects`
 * (NULL: not wanted) is how many there were. */
OBJSTORE_API objstore_status objstore_delete_everything(objstore_view *transaction, uint64_t *objects)
    OBJSTORE_CHECKS(null(transaction), nullable(objects), closed(transaction), kind(transaction), write(transaction));

/** Counts the objects of a class. Cost: O(1). */
OBJSTORE_API objstore_status objstore_count(objstore_view *view, objstore_class_id class_id, uint64_t *count)
    OBJSTORE_CHECKS(null(view, count), closed(view), kind(view), class(class_id));

/* ================================================================================================
 *  10. Lists, sets and maps
 *
 *  Each object has the collection of each collection property from the beginning, empty: a collection is not created,
 *  deleted or set, only its elements change. Deleting an object deletes its elements. An objstore_collection names one;
 *  it is plain data, found in whichever view it is used with:
 *
 *      objstore_collection tags = objstore_collection_of(dog, tags_id);
 *      objstore_list_insert(tx, tags, OBJSTORE_END, &tag, 1);
 *      objstore_collection_count(tx, tags, &count);
 *
 *  LIST   elements in the order that they were given, also equal ones
 *  SET    different elements, in ascending order
 *  MAP    a value for each key, in ascending order of the keys
 *
 *  Ascending is the order of indexes: numbers by size (-0.0 equals 0.0, NaN equals NaN and is greatest), text by code
 *  point, binaries bytewise, null first. Small collections lie in their object's row, larger ones in one tree for all
 *  objects of the class; positions are found in O(log n) in both.
 *
 *  Observers see a change of elements as a change of the owner's property. Elements have the limits of properties; keys
 *  of maps at most 1024 bytes. Elements must be of exactly the declared kind, or null where that was declared. A link
 *  is checked when it is written: WRONG_STORE, WRONG_TYPE (another class), NO_SUCH_OBJECT (deleted, or never there).
 *
 *  Elements of kind MIXED are any value that a mixed property has (section 11), in a set without DOCUMENTs. Their order
 *  is that of objstore_value_compare; values that are equal there (the int 1, the double 1) are ordered by kind: a set
 *  has both. A link to an object that is deleted becomes null, wherever it stands in them, and leaves a set that it is
 *  an element of.
 *
 *  All functions: NO_SUCH_PROPERTY: not of the owner's class. NO_SUCH_OBJECT: the owner was deleted. WRONG_TYPE: the
 *  property is no collection, or not of the kind that the function is for. WRONG_STORE.
 * ================================================================================================ */

#ifndef OBJSTORE_DECLARATIONS_ONLY
/** The collection in a property of an object. */
static inline objstore_collection objstore_collection_of(objstore_object owner, objstore_property_id property_id) {
    objstore_collection collection;
    collection.owner = owner;
    collection.property_id = property_id;
    collection.reserved = 0;
    collection.collection_id = 0;
    return collection;
}
#endif

/** Behind the last element of a list. */
#define OBJSTORE_END SIZE_MAX

/** Counts the elements. Cost: O(log n). */
OBJSTORE_API objstore_status objstore_collection_count(objstore_view *view, objstore_collection collection,
                                                       uint64_t *count)
    OBJSTORE_CHECKS(null(view, count), closed(view), kind(view), store(collection), deleted(collection),
                    property(collection), type(collection));

/** Reads the element at `index`. `key` (NULL: not wanted) is a map's key, or null. Text is borrowed or copied as by
 * objstore_get. OUT_OF_RANGE: there is no such element. Cost: O(log n). */
OBJSTORE_API objstore_status objstore_collection_get(objstore_view *view, objstore_collection collection,
                                                     size_t index, objstore_buffer *buffer, objstore_value *key,
                                                     objstore_value *value)
    OBJSTORE_CHECKS(null(view, value), nullable(buffer, key), closed(view), kind(view), store(collection),
                    deleted(collection), property(collection), type(collection), range(index), buffer(buffer),
                    lends(view, buffer));

/** Reads elements from `start` on, as many as there are but at most `capacity`, and says how many in `count`. `values`
 * and, of maps, `keys` have room for `capacity`, or are NULL: not wanted. A `start` behind the last gives none. One
 * buffer holds all texts of the call. Cost: O(log n + count), a few nanoseconds an element.
 * WRONG_TYPE: `keys` of a list or set. */
OBJSTORE_API objstore_status objstore_collection_read(objstore_view *view, objstore_collection collection,
                                                      size_t start, size_t capacity, objstore_buffer *buffer,
                                                      objstore_value *keys, objstore_value *values, size_t *count)
    OBJSTORE_CHECKS(null(view, count), nullable(buffer, keys, values), closed(view), kind(view), store(collection),
                    deleted(collection), property(collection), type(collection), count(capacity), buffer(buffer),
                    lends(view, buffer));

/** Finds the index of the first element that equals `value`; -1: there is none. Cost: O(n), of a set O(log n). */
OBJSTORE_API objstore_status objstore_collection_find(objstore_view *view, objstore_collection collection,
                                                      objstore_value value, int64_t *index)
    OBJSTORE_CHECKS(null(view, index), closed(view), kind(view), store(collection), deleted(collection),
                    property(collection), type(collection), text(value));

/** Removes `count` elements from `index` on. OUT_OF_RANGE: they do not all exist. Cost: O(log n + count). */
OBJSTORE_API objstore_status objstore_collection_remove(objstore_view *transaction, objstore_collection collection,
                                                        size_t index, size_t count)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction), store(collection),
                    deleted(collection), property(collection), type(collection), range(index), count(count));

/** Removes all elements. */
OBJSTORE_API objstore_status objstore_collection_clear(objstore_view *transaction, objstore_collection collection)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction), store(collection),
                    deleted(collection), property(collection), type(collection));

/** Replaces all elements by `count` others: all, or none. `keys` are a map's, one for each value; NULL for lists and
 * sets. Of equal values a set takes the first; where a key is given twice, its last value counts. The values may be
 * those of the collection itself.
 * INVALID_ARGUMENT: a map without keys. WRONG_TYPE: keys for a list or set. NOT_NULLABLE. */
OBJSTORE_API objstore_status objstore_collection_assign(objstore_view *transaction, objstore_collection collection,
                                                        const objstore_value *keys, const objstore_value *values,
                                                        size_t count)
    OBJSTORE_CHECKS(null(transaction), nullable(keys, values), closed(transaction), kind(transaction),
                    write(transaction), store(collection), deleted(collection), property(collection), type(collection),
                    array(values, count), count(count));

/** Replaces all elements of a list or set of links by links to the objects of `results`, in their order: all, or none.
 * The results are taken as they stand and may be of any view of the store. WRONG_TYPE: the class is not the one that
 * the links lead to, or the collection is a map. NO_SUCH_OBJECT: one of the objects was deleted since. */
OBJSTORE_API objstore_status objstore_collection_assign_results(objstore_view *transaction,
                                                                objstore_collection collection,
                                                                objstore_results *results)
    OBJSTORE_CHECKS(null(transaction, results), closed(transaction, results), kind(transaction, results),
                    write(transaction), store(collection, results), deleted(collection), property(collection),
                    type(collection));

/** Writes the same values to every object that a list, set or map has links to, each once: all, or none. Values and
 * errors as in objstore_results_set. `objects` (NULL: not wanted) is how many objects there are. WRONG_TYPE: its
 * elements are no links. */
OBJSTORE_API objstore_status objstore_collection_set_objects(
    objstore_view *transaction, objstore_collection collection, const objstore_property_id *properties,
    const objstore_value *values, size_t count, uint64_t *objects)
    OBJSTORE_CHECKS(null(transaction), nullable(properties, values, objects), closed(transaction), kind(transaction),
                    write(transaction), store(collection), deleted(collection), property(collection), type(collection),
                    array(properties, count), array(values, count), count(count), property(properties),
                    type(values, properties), required(values, properties), text(values));

/** Deletes every object that a list, set or map has links to, each once: all, or none. Nothing is left in the list or
 * set; in a map the keys stay, with null. `objects` (NULL: not wanted) is how many there were. WRONG_TYPE: its elements
 * are no links. */
OBJSTORE_API objstore_status objstore_collection_delete_objects(objstore_view *transaction,
                                                                objstore_collection collection, uint64_t *objects)
    OBJSTORE_CHECKS(null(transaction), nullable(objects), closed(transaction), kind(transaction), write(transaction),
                    store(collection), deleted(collection), property(collection), type(collection));

/** Inserts `count` values before the element at `index`, or at the end (`index` = OBJSTORE_END, or the count).
 * OUT_OF_RANGE, NOT_NULLABLE. Cost: O(log n + count), wherever it is. */
OBJSTORE_API objstore_status objstore_list_insert(objstore_view *transaction, objstore_collection collection,
                                                  size_t index, const objstore_value *values, size_t count)
    OBJSTORE_CHECKS(null(transaction), nullable(values), closed(transaction), kind(transaction), write(transaction),
                    store(collection), deleted(collection), property(collection), type(collection), range(index),
                    array(values, count), count(count));

/** Replaces the element at `index`. OUT_OF_RANGE. Cost: O(log n). */
OBJSTORE_API objstore_status objstore_list_set(objstore_view *transaction, objstore_collection collection,
                                               size_t index, objstore_value value)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction), store(collection),
                    deleted(collection), property(collection), type(collection), range(index), required(value),
                    text(value));

/** Moves the element at `index` so that it has the index `target` afterwards. OUT_OF_RANGE. Cost: O(log n). */
OBJSTORE_API objstore_status objstore_list_move(objstore_view *transaction, objstore_collection collection,
                                                size_t index, size_t target)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction), store(collection),
                    deleted(collection), property(collection), type(collection), range(index), range(target));

/** Adds a value; `inserted` (NULL: not wanted) is false where the set had it. Cost: O(log n). */
OBJSTORE_API objstore_status objstore_set_insert(objstore_view *transaction, objstore_collection collection,
                                                 objstore_value value, bool *inserted)
    OBJSTORE_CHECKS(null(transaction), nullable(inserted), closed(transaction), kind(transaction), write(transaction),
                    store(collection), deleted(collection), property(collection), type(collection), required(value),
                    text(value));

/** Removes a value; `removed` (NULL: not wanted) is false where the set did not have it. Cost: O(log n). */
OBJSTORE_API objstore_status objstore_set_remove(objstore_view *transaction, objstore_collection collection,
                                                 objstore_value value, bool *removed)
    OBJSTORE_CHECKS(null(transaction), nullable(removed), closed(transaction), kind(transaction), write(transaction),
                    store(collection), deleted(collection), property(collection), type(collection), text(value));

/** How objstore_set_combine combines a set with other values. */
OBJSTORE_ENUM(objstore_set_operation) {
    OBJSTORE_SET_UNION = 1,                /* what either has */
    OBJSTORE_SET_SUBTRACTION = 2,          /* what the set has and the values have not */
    OBJSTORE_SET_INTERSECTION = 3,         /* what both have */
    OBJSTORE_SET_SYMMETRIC_DIFFERENCE = 4  /* what one of them has and the other has not */
};

/** Combines a set with `count` values, and makes the set the result: all of it, or nothing. The values may be its own,
 * those of another set, or any, also equal ones. `changed` (NULL: not wanted) is how many elements came or went; what
 * stays is not written. Cost: O(n + m log m), of few values O(m log n), except for an intersection.
 * NOT_NULLABLE, and NO_SUCH_OBJECT of a link: only for values that may come in. */
OBJSTORE_API objstore_status objstore_set_combine(objstore_view *transaction, objstore_collection collection,
                                                  objstore_set_operation operation, const objstore_value *values,
                                                  size_t count, uint64_t *changed)
    OBJSTORE_CHECKS(null(transaction), nullable(values, changed), closed(transaction), kind(transaction),
                    write(transaction), store(collection), deleted(collection), property(collection), type(collection),
                    enum(operation), array(values, count), count(count));

enum {
    OBJSTORE_SETS_INTERSECT = 0x1, /* they have an element in common */
    OBJSTORE_SETS_SUBSET = 0x2,    /* each element of the set is among the values */
    OBJSTORE_SETS_SUPERSET = 0x4   /* each of the values is in the set; with SUBSET: they are equal */
};

/** Compares a set with `count` values: `relation` becomes the OBJSTORE_SETS_… that hold. Cost: as
 * objstore_set_combine. */
OBJSTORE_API objstore_status objstore_set_compare(objstore_view *view, objstore_collection collection,
                                                  const objstore_value *values, size_t count, uint32_t *relation)
    OBJSTORE_CHECKS(null(view, relation), nullable(values), closed(view), kind(view), store(collection),
                    deleted(collection), property(collection), type(collection), array(values, count), count(count));

/** Reads the value of a key. `found` NULL: absence is OBJSTORE_ERR_NOT_FOUND; else `found` is false and `value` is
 * null. Text is borrowed or copied as by objstore_get. Cost: O(log n). */
OBJSTORE_API objstore_status objstore_map_get(objstore_view *view, objstore_collection collection,
                                              objstore_value key, objstore_buffer *buffer, objstore_value *value,
                                              bool *found)
    OBJSTORE_CHECKS(null(view, value), nullable(buffer, found), closed(view), kind(view), store(collection),
                    deleted(collection), property(collection), type(collection), required(key), text(key),
                    buffer(buffer), lends(view, buffer));

/** Sets the value of a key; `inserted` (NULL: not wanted) is false where the key had one. VALUE_TOO_LARGE: a key of
 * more than 1024 bytes. Cost: O(log n). */
OBJSTORE_API objstore_status objstore_map_set(objstore_view *transaction, objstore_collection collection,
                                              objstore_value key, objstore_value value, bool *inserted)
    OBJSTORE_CHECKS(null(transaction), nullable(inserted), closed(transaction), kind(transaction), write(transaction),
                    store(collection), deleted(collection), property(collection), type(collection), required(key),
                    required(value), text(key));

/** Removes a key with its value; `removed` (NULL: not wanted) is false where it was not there. Cost: O(log n). */
OBJSTORE_API objstore_status objstore_map_remove(objstore_view *transaction, objstore_collection collection,
                                                 objstore_value key, bool *removed)
    OBJSTORE_CHECKS(null(transaction), nullable(removed), closed(transaction), kind(transaction), write(transaction),
                    store(collection), deleted(collection), property(collection), type(collection), required(key),
                    text(key));

/* ================================================================================================
 *  11. Mixed values and documents
 *
 *  A MIXED property holds null, a value of any kind up to LINK, or a *document*: a list, or a map with strings as keys,
 *  whose values are null, of a kind up to LINK, or again lists and maps, 100 deep at most. Kinds are kept: an int of 64
 *  bits comes back as that int, a double never becomes an int, a bool is only a bool. objstore_get, set, create, upsert
 *  and the rest take and give such values like others; a document as one packed piece of bytes (kind DOCUMENT),
 *  borrowed or copied like a text:
 *
 *      objstore_value flat[] = {objstore_map_of(2),                                          {"name": "Rex",
 *                               objstore_string(OBJSTORE_STR("name")), objstore_string(OBJSTORE_STR("Rex")),
 *                               objstore_string(OBJSTORE_STR("seen")), objstore_list_of(2),    "seen": [1, 2.5]}
 *                               objstore_int(1), objstore_double(2.5)};
 *      objstore_document_pack(flat, 7, &buffer, &document);
 *      objstore_set(tx, dog, extra_id, document);
 *
 *  One value inside is reached by a path, an array of steps: an INT is an index of a list (-1 is the last element, -2
 *  the one before), a STRING a key of a map. A change by path is logged as that change, whatever the size of the
 *  document, and finds its place in O(log n) a step; the document itself is rewritten, O(its bytes). A path can also
 *  lead into a collection of MIXED elements: its first step is the index of the element, or the key as text (of numbers
 *  and ids their text); the log gets the element. Elements of sets can only be read in this way.
 *
 *      objstore_value steps[] = {objstore_string(OBJSTORE_STR("seen")), objstore_int(0)};
 *      objstore_mixed_set(tx, dog, extra_id, steps, 2, objstore_int(7));                       {…, "seen": [7, 2.5]}
 *
 *  Keys of maps stand in ascending order of their bytes (that of code points), whatever the order in which they were
 *  passed; so equal documents have equal bytes. Observers see a change by path as a change of the property. A packed
 *  value has at most OBJSTORE_LIMIT_VALUE_BYTES; a text one byte less, which its kind needs.
 *
 *  The packed form, for code that reads or writes it without the library; numbers are little-endian:
 *      value   := u8 kind · content            how long it is, is known from outside
 *      content := NULL nothing · BOOL u8 0 or 1 · INT 1, 2, 4 or 8 bytes, the fewest that do, signed · FLOAT 4 ·
 *                 DOUBLE 8 · DECIMAL128 16 · STRING, BINARY its bytes · TIMESTAMP i64 seconds, u32 nanoseconds ·
 *                 OBJECT_ID 12 · UUID 16 · LINK u32 class id, u32 0, i64 object key
 *      LIST    := u8 w (1, 2, 4) · count (w bytes) · ends (count × w) · count × value
 *      MAP     := u8 w · count (w bytes) · ends (2 × count × w) · count × { key, as UTF-8 · value }, keys ascending
 *      ends: where each item ends, from the beginning of the first; w: the smallest that count and last end fit in
 *
 *  All functions of a path: NO_SUCH_PROPERTY. NO_SUCH_OBJECT. WRONG_STORE. WRONG_TYPE: the property is neither MIXED
 *  nor a collection of such elements (which without steps is no value), a step is neither INT nor STRING, or it is for
 *  a list (INT) or a map (STRING) and the value is not one. NOT_FOUND: a key or an index on the way is not there.
 *  OUT_OF_RANGE: more than 101 steps.
 * ================================================================================================ */

/** Reads the value at the end of a path. A list or map comes as its kind and its number of elements, in `data.integer`;
 * objstore_mixed_read gives the elements. Without steps it is the property's value. `found` NULL: absence is
 * OBJSTORE_ERR_NOT_FOUND; else `found` is false and `value` is null. Text is borrowed or copied as by objstore_get.
 * Cost: O(log n) a step. */
OBJSTORE_API objstore_status objstore_mixed_get(objstore_view *view, objstore_object object,
                                                objstore_property_id property_id, const objstore_value *steps,
                                                size_t step_count, objstore_buffer *buffer, objstore_value *value,
                                                bool *found)
    OBJSTORE_CHECKS(null(view, value), nullable(buffer, found, steps), closed(view), kind(view), store(object),
                    deleted(object), property(property_id), type(property_id), array(steps, step_count),
                    count(step_count), steps(steps), buffer(buffer), lends(view, buffer));

/** Reads the value at the end of a path with all that is in it: a list or map as a DOCUMENT, for
 * objstore_document_unpack or your own reader. Otherwise as objstore_mixed_get. Cost: O(its bytes): it is checked
 * before it is handed out. */
OBJSTORE_API objstore_status objstore_mixed_read(objstore_view *view, objstore_object object,
                                                 objstore_property_id property_id, const objstore_value *steps,
                                                 size_t step_count, objstore_buffer *buffer, objstore_value *value,
                                                 bool *found)
    OBJSTORE_CHECKS(null(view, value), nullable(buffer, found, steps), closed(view), kind(view), store(object),
                    deleted(object), property(property_id), type(property_id), array(steps, step_count),
                    count(step_count), steps(steps), buffer(buffer), lends(view, buffer));

/** Reads keys of the map at the end of a path, in their order, from the one at `start` on, as many as there are but at
 * most `capacity`; `count` says how many. One buffer holds all of them. WRONG_TYPE: not a map. Cost: O(count). */
OBJSTORE_API objstore_status objstore_mixed_keys(objstore_view *view, objstore_object object,
                                                 objstore_property_id property_id, const objstore_value *steps,
                                                 size_t step_count, size_t start, size_t capacity,
                                                 objstore_buffer *buffer, objstore_value *keys, size_t *count)
    OBJSTORE_CHECKS(null(view, count), nullable(buffer, steps), closed(view), kind(view), store(object),
                    deleted(object), property(property_id), type(property_id), array(steps, step_count),
                    count(step_count, capacity), steps(steps), array(keys, capacity), buffer(buffer),
                    lends(view, buffer));

/** Sets the value at the end of a path, or adds a key to a map: only the last step may be new. Without steps it is
 * objstore_set.
 *
 * A link, as the value or inside a document, may lead to an object of any class: NO_SUCH_OBJECT, NO_SUCH_CLASS,
 * WRONG_STORE, EMBEDDED where it cannot. When the object is deleted, each place that links to it becomes null. Inside a
 * document that was read a link has class and key, and its `store_tag` is 0; when passed in, that means the store of
 * the transaction.
 *
 * OUT_OF_RANGE: lists and maps would be more than 100 deep. VALUE_TOO_LARGE: the whole would be. INVALID_ARGUMENT: a
 * DOCUMENT that is not valid. */
OBJSTORE_API objstore_status objstore_mixed_set(objstore_view *transaction, objstore_object object,
                                                objstore_property_id property_id, const objstore_value *steps,
                                                size_t step_count, objstore_value value)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction), store(object),
                    deleted(object), property(property_id), type(property_id), array(steps, step_count),
                    count(step_count), steps(steps), text(value));

/** Inserts a value into a list. The last step is the index at which the value is then found: 0 is the beginning, the
 * count is the end, and from the end -1 is the end, -2 before the last element. INVALID_ARGUMENT: no steps. Otherwise
 * as objstore_mixed_set. */
OBJSTORE_API objstore_status objstore_mixed_insert(objstore_view *transaction, objstore_object object,
                                                   objstore_property_id property_id, const objstore_value *steps,
                                                   size_t step_count, objstore_value value)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction), store(object),
                    deleted(object), property(property_id), type(property_id), array(steps, step_count),
                    count(step_count), steps(steps), text(value));

/** Removes the value at the end of a path from its list, or with its key from its map. INVALID_ARGUMENT: no steps. */
OBJSTORE_API objstore_status objstore_mixed_remove(objstore_view *transaction, objstore_object object,
                                                   objstore_property_id property_id, const objstore_value *steps,
                                                   size_t step_count)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction), store(object),
                    deleted(object), property(property_id), type(property_id), array(steps, step_count),
                    count(step_count), steps(steps));

/** Packs a value into `buffer`. The array has it flat: a list or map as objstore_list_of, objstore_map_of, and then its
 * elements, each in the same way; before each value of a map its key. Keys may come in any order; a DOCUMENT may stand
 * anywhere. `document` (NULL: not wanted) is then the value to set: of kind DOCUMENT and borrowed from the buffer, or,
 * where the array is only one other value, that value. What lies in the buffer is also what a column of kind MIXED has
 * for the row.
 * INVALID_ARGUMENT: too few values, too many, or a key that comes twice; the message says where. WRONG_TYPE: a key that
 * is not a string, a value of a kind that a document cannot have. OUT_OF_RANGE: more than 100 deep. */
OBJSTORE_API objstore_status objstore_document_pack(const objstore_value *values, size_t count,
                                                    objstore_buffer *buffer, objstore_value *document)
    OBJSTORE_CHECKS(null(buffer), nullable(document), array(values, count), count(count), buffer(buffer));

/** Unpacks a document: fills `values` with what objstore_document_pack would take, texts borrowed from the document's
 * bytes. `count` is how many values there are; if more than `capacity`, the first stand in `values`. Also takes the
 * packed form of any other value. Cost: O(bytes).
 * INVALID_ARGUMENT: not a packed value. WRONG_TYPE: a value of another kind. */
OBJSTORE_API objstore_status objstore_document_unpack(objstore_value document, objstore_value *values, size_t capacity,
                                                      size_t *count)
    OBJSTORE_CHECKS(null(count), array(values, capacity), count(capacity));

/** Compares two values of any kind: `order` is negative, 0 or positive.
 *      null < bool < numbers < strings and binaries < timestamps < object ids < uuids < links < lists < maps
 * Numbers of all kinds are compared exactly, none is rounded: the int 1, the double 1 and the decimals 1 and 1.0 are
 * equal, and no bool is equal to a number. -0 is 0; NaN is equal to NaN and greater than other numbers. Strings and
 * binaries are compared bytewise, with each other too. Links are ordered by class, then key. Lists are ordered by their
 * elements, maps by their entries, key before value; a list or map that is the beginning of another one is less. Cost:
 * O(bytes) of documents.
 * WRONG_TYPE: a reference to a collection. INVALID_ARGUMENT: a DOCUMENT that is not valid. */
OBJSTORE_API objstore_status objstore_value_compare(objstore_value value, objstore_value other, int32_t *order)
    OBJSTORE_CHECKS(null(order));

/* ================================================================================================
 *  12. Rows: a cursor for reading one object after another, fast
 *
 *      objstore_row row;
 *      bool more;
 *      objstore_row_init(view, dog, &row);
 *      while (objstore_row_next(&row, &more) == OBJSTORE_OK && more) {
 *          int64_t age;
 *          objstore_row_int(&row, age_id, &age, NULL);
 *          …
 *      }
 *
 *  A row lies on your stack, owns nothing, and needs no closing. It visits objects in the order of object keys, that is
 *  of creation. It follows its view: after a refresh, or a write of the transaction, the next call finds the object
 *  again by itself (NO_SUCH_OBJECT if it is gone: go on with objstore_row_next). Objects that are created meanwhile in
 *  the transaction are visited, objects that are deleted are not. A row may be copied by assignment. One thread at a
 *  time.
 *
 *  Typed reads take `is_null`. Given, it says whether the value is null, and the value is then all zero bytes; NULL
 *  means that you expect none, and a null is OBJSTORE_ERR_NULL_VALUE. WRONG_TYPE: the property is of another kind.
 *  Cost: a few nanoseconds (frozen view; a live view and a transaction a few more).
 * ================================================================================================ */

/** A cursor over the objects of a class. Make one with objstore_row_init. */
typedef struct objstore_row {
    uint64_t opaque[32];
} objstore_row;

/** Makes a row that stands before the first object of a class. When the view is closed while the row is in use, the
 * row's calls return CLOSED_HANDLE. */
OBJSTORE_API objstore_status objstore_row_init(objstore_view *view, objstore_class_id class_id,
                                               objstore_row *row)
    OBJSTORE_CHECKS(null(view, row), closed(view), kind(view), class(class_id));

/** Steps to the next object. `more` = false: there was none; the row then stands behind the last, and stays there.
 * NOT_POSITIONED: a seek failed, so that there is no next one. */
OBJSTORE_API objstore_status objstore_row_next(objstore_row *row, bool *more)
    OBJSTORE_CHECKS(null(row, more), row(row));

/** Puts the row on an object of its class. WRONG_TYPE: of another class. On failure the row stands on no object. */
OBJSTORE_API objstore_status objstore_row_seek(objstore_row *row, objstore_object object)
    OBJSTORE_CHECKS(null(row), row(row), store(object), deleted(object), type(object));

/** Gives the object that the row stands on. */
OBJSTORE_API objstore_status objstore_row_object(objstore_row *row, objstore_object *object)
    OBJSTORE_CHECKS(null(row, object), row(row), positioned(row));

/** Reads a BOOL. */
OBJSTORE_API objstore_status objstore_row_bool(objstore_row *row, objstore_property_id property_id, bool *value,
                                               bool *is_null)
    OBJSTORE_CHECKS(null(row, value), nullable(is_null), row(row), positioned(row), property(property_id),
                    type(property_id));

/** Reads an INT. */
OBJSTORE_API objstore_status objstore_row_int(objstore_row *row, objstore_property_id property_id,
                                              int64_t *value, bool *is_null)
    OBJSTORE_CHECKS(null(row, value), nullable(is_null), row(row), positioned(row), property(property_id),
                    type(property_id));

/** Reads a DOUBLE. */
OBJSTORE_API objstore_status objstore_row_double(objstore_row *row, objstore_property_id property_id,
                                                 double *value, bool *is_null)
    OBJSTORE_CHECKS(null(row, value), nullable(is_null), row(row), positioned(row), property(property_id),
                    type(property_id));

/** Reads a FLOAT. */
OBJSTORE_API objstore_status objstore_row_float(objstore_row *row, objstore_property_id property_id, float *value,
                                                bool *is_null)
    OBJSTORE_CHECKS(null(row, value), nullable(is_null), row(row), positioned(row), property(property_id),
                    type(property_id));

/** Reads a DECIMAL128. */
OBJSTORE_API objstore_status objstore_row_decimal128(objstore_row *row, objstore_property_id property_id,
                                                     objstore_decimal128 *value, bool *is_null)
    OBJSTORE_CHECKS(null(row, value), nullable(is_null), row(row), positioned(row), property(property_id),
                    type(property_id));

/** Reads an OBJECT_ID. */
OBJSTORE_API objstore_status objstore_row_object_id(objstore_row *row, objstore_property_id property_id,
                                                    objstore_object_id *value, bool *is_null)
    OBJSTORE_CHECKS(null(row, value), nullable(is_null), row(row), positioned(row), property(property_id),
                    type(property_id));

/** Reads a UUID. */
OBJSTORE_API objstore_status objstore_row_uuid(objstore_row *row, objstore_property_id property_id,
                                               objstore_uuid *value, bool *is_null)
    OBJSTORE_CHECKS(null(row, value), nullable(is_null), row(row), positioned(row), property(property_id),
                    type(property_id));

/** Reads a TIMESTAMP. */
OBJSTORE_API objstore_status objstore_row_timestamp(objstore_row *row, objstore_property_id property_id,
                                                    objstore_timestamp *value, bool *is_null)
    OBJSTORE_CHECKS(null(row, value), nullable(is_null), row(row), positioned(row), property(property_id),
                    type(property_id));

/** Reads a STRING: borrowed when `buffer` is NULL, see "Text out". A null is a NULL pointer and length 0. */
OBJSTORE_API objstore_status objstore_row_text(objstore_row *row, objstore_property_id property_id,
                                               objstore_buffer *buffer, objstore_text *value, bool *is_null)
    OBJSTORE_CHECKS(null(row, value), nullable(buffer, is_null), row(row), positioned(row),
                    property(property_id), type(property_id), buffer(buffer), lends(row, buffer));

/** Reads a BINARY, as objstore_row_text. */
OBJSTORE_API objstore_status objstore_row_binary(objstore_row *row, objstore_property_id property_id,
                                                 objstore_buffer *buffer, objstore_bytes *value, bool *is_null)
    OBJSTORE_CHECKS(null(row, value), nullable(buffer, is_null), row(row), positioned(row),
                    property(property_id), type(property_id), buffer(buffer), lends(row, buffer));

/** Reads a LINK: the object that it leads to. */
OBJSTORE_API objstore_status objstore_row_link(objstore_row *row, objstore_property_id property_id,
                                               objstore_object *value, bool *is_null)
    OBJSTORE_CHECKS(null(row, value), nullable(is_null), row(row), positioned(row), property(property_id),
                    type(property_id));

/** Reads a property of any kind, null included. */
OBJSTORE_API objstore_status objstore_row_value(objstore_row *row, objstore_property_id property_id,
                                                objstore_buffer *buffer, objstore_value *value)
    OBJSTORE_CHECKS(null(row, value), nullable(buffer), row(row), positioned(row), property(property_id),
                    buffer(buffer), lends(row, buffer));

/* ================================================================================================
 *  13. Queries: made once, asked as often as one likes
 *
 *      a text ────────► objstore_query_parse ──┐
 *      nodes ─────────► objstore_query_new ────┼──► objstore_query ──► count, first, find, aggregate, read,
 *      index bounds ──► objstore_query_range ──┘                       set, increment, delete, observe
 *
 *  A query is a class, a condition, and steps behind it, in their order: SORT, DISTINCT, LIMIT, OFFSET. It is checked
 *  when it is made, never changes, and may be asked by any thread in any view of its store. Without SORT the order is
 *  that of creation.
 *
 *      age < 2 AND name BEGINSWITH[c] "a" SORT(age DESC, name ASC) LIMIT(10)
 *
 *  docs/query-language.md has the grammar. In short, about each object a condition is true or false:
 *  - Null equals null and nothing else: != finds nulls; < <= > >=, BETWEEN and the operators of texts never do.
 *  - NaN equals nothing, not even NaN, and is neither less nor greater.
 *  - Numbers of all kinds compare exactly, strings by code point, object ids and uuids bytewise, false before true.
 *    Values of different families are never compared (WRONG_TYPE), but for those of MIXED properties, which are then
 *    unequal, and neither less nor greater.
 *  - BINARY and LINK have only == and !=, and BINARY the operators of texts. A link is compared with an object of its
 *    target class, which may have been deleted: nothing links to it then.
 *  - Sums that leave 64 bits, and what is divided by zero (of ints), are null; what is computed with null is null.
 *  - Paths lead through links, embedded objects, collections, inverses and nested documents; what lies behind null is
 *    null. Of many values a condition is about ANY, unless ALL or NONE is said: `ANY friends == $0`.
 *  - Functions of yours compute values: `haversine(lat, lon, $0, $1) < 50`. See objstore_define_function, section 20.
 *
 *  docs/query-language.md has all of it, by example.
 *
 *  Cost: a comparison with an index O(log n) + O(k); without one a scan at memory speed over one column; what lies
 *  behind a link, beside a constant, is asked of the class that it leads to. Else paths are followed object by object.
 * ================================================================================================ */

/** What a node of a query is; in brackets what its operands are, `choice` and `number`. */
OBJSTORE_ENUM(objstore_query_kind) {
    OBJSTORE_QUERY_TRUTH = 1,    /* `number` 1: true of every object, 0: of none */
    OBJSTORE_QUERY_AND = 2,      /* two conditions or more */
    OBJSTORE_QUERY_OR = 3,
    OBJSTORE_QUERY_NOT = 4,      /* one condition */
    OBJSTORE_QUERY_COMPARE = 5,  /* two values, by an objstore_operator; of BETWEEN and IN the second is a LIST */
    OBJSTORE_QUERY_CONSTANT = 6, /* `value` */
    OBJSTORE_QUERY_LIST = 7,     /* constants */
    OBJSTORE_QUERY_ARITHMETIC = 8,  /* two values, by an objstore_arithmetic; of NEGATE one */
    OBJSTORE_QUERY_VARIABLE = 9,    /* the object that is asked about */
    OBJSTORE_QUERY_OBJECT = 10,     /* an object of the class `value`, a name: the value of its primary key */
    OBJSTORE_QUERY_PROPERTY = 11,   /* of one value, mostly the VARIABLE: `value` is its name, or null and `number` its
                                      id */
    OBJSTORE_QUERY_ELEMENT = 12,    /* of a list, by an objstore_place; at `number` */
    OBJSTORE_QUERY_KEY = 13,        /* of a map: `value` */
    OBJSTORE_QUERY_INCOMING = 14,   /* objects whose property `value` links to a value; a NAME, of their class */
    OBJSTORE_QUERY_ALL_INCOMING = 15,
    OBJSTORE_QUERY_NAME = 16,
    OBJSTORE_QUERY_KEYS = 17,       /* of a map */
    OBJSTORE_QUERY_VALUES = 18,
    OBJSTORE_QUERY_TYPE = 19,       /* the kind of a value, as a text */
    OBJSTORE_QUERY_COUNT = 20,      /* of elements, characters of a text, bytes of a binary */
    OBJSTORE_QUERY_FILTER = 21,     /* a collection, and a condition about each element, VARIABLE 1 */
    OBJSTORE_QUERY_AGGREGATE = 22,  /* a collection, and what of each element, by an objstore_aggregate_kind */
    OBJSTORE_QUERY_QUANTIFIED = 23, /* a value of many, by an objstore_quantifier */
    OBJSTORE_QUERY_BOX = 24,        /* places on the earth: constants, in degrees */
    OBJSTORE_QUERY_CIRCLE = 25,
    OBJSTORE_QUERY_POLYGON = 26,
    OBJSTORE_QUERY_SORT_KEY = 27,   /* one value, by an objstore_direction */
    OBJSTORE_QUERY_SORT = 28,       /* sort keys */
    OBJSTORE_QUERY_DISTINCT = 29,   /* values */
    OBJSTORE_QUERY_LIMIT = 30,      /* `number` objects at most */
    OBJSTORE_QUERY_OFFSET = 31,     /* without the first `number` */
    OBJSTORE_QUERY_WHOLE = 32,      /* a condition, then steps */
    OBJSTORE_QUERY_CALL = 33,       /* a function (objstore_define_function), `value` is its name; its arguments */
    /* Tables (section 17), behind all other steps. */
    OBJSTORE_QUERY_GROUP = 34,      /* values, or COLUMNs: objects with equal ones are a group; none: all are one */
    OBJSTORE_QUERY_HAVING = 35,     /* a condition about groups */
    OBJSTORE_QUERY_SELECT = 36,     /* values, or COLUMNs; the last step */
    OBJSTORE_QUERY_COLUMN = 37      /* one value, called `value` */
};

/** The `choice` of OBJSTORE_QUERY_COMPARE. */
OBJSTORE_ENUM(objstore_operator) {
    OBJSTORE_EQUAL = 1,
    OBJSTORE_NOT_EQUAL = 2,
    OBJSTORE_LESS = 3,
    OBJSTORE_LESS_EQUAL = 4,
    OBJSTORE_GREATER = 5,
    OBJSTORE_GREATER_EQUAL = 6,
    OBJSTORE_IN = 7,
    OBJSTORE_BETWEEN = 8, /* bounds included */
    OBJSTORE_BEGINS_WITH = 9,
    OBJSTORE_ENDS_WITH = 10,
    OBJSTORE_CONTAINS = 11,
    OBJSTORE_LIKE = 12, /* `*` stands for any characters, `?` for one; \ before them for themselves */
    OBJSTORE_FULL_TEXT = 13,
    OBJSTORE_GEO_WITHIN = 14
};

/** The `choice` of OBJSTORE_QUERY_ARITHMETIC. */
OBJSTORE_ENUM(objstore_arithmetic) {
    OBJSTORE_ADD = 1,
    OBJSTORE_SUBTRACT = 2,
    OBJSTORE_MULTIPLY = 3,
    OBJSTORE_DIVIDE = 4,
    OBJSTORE_NEGATE = 5
};

/** The `choice` of OBJSTORE_QUERY_QUANTIFIED. */
OBJSTORE_ENUM(objstore_quantifier) {
    OBJSTORE_ANY = 1,
    OBJSTORE_ALL = 2,
    OBJSTORE_NONE = 3
};

/** The `choice` of OBJSTORE_QUERY_ELEMENT. */
OBJSTORE_ENUM(objstore_place) {
    OBJSTORE_PLACE_AT = 1,
    OBJSTORE_PLACE_FIRST = 2,
    OBJSTORE_PLACE_LAST = 3,
    OBJSTORE_PLACE_EVERY = 4
};

/** The `choice` of OBJSTORE_QUERY_SORT_KEY. */
OBJSTORE_ENUM(objstore_direction) {
    OBJSTORE_ASCENDING = 1, /* null first */
    OBJSTORE_DESCENDING = 2
};

enum {
    OBJSTORE_IGNORES_CASE = 0x1,   /* [c], of comparisons of texts and of sort keys: Unicode's simple case folding */
    OBJSTORE_IGNORES_ACCENTS = 0x2 /* [d] */
};

/** One node of a query, all zero bytes but for what its kind has. Nodes are in post-order: the operands of a node are
 * the subtrees right before it. `age < 2` is VARIABLE, PROPERTY age (1), CONSTANT 2, COMPARE LESS (2). 56 bytes,
 * final. */
typedef struct objstore_query_node {
    uint8_t kind;      /* objstore_query_kind */
    uint8_t choice;    /* which of its kind; 0 where there are none */
    uint8_t modifiers; /* OBJSTORE_IGNORES_… */
    uint8_t reserved;
    uint32_t operands; /* how many */
    int64_t number;
    objstore_value value;
} objstore_query_node;

/** Makes a query from a text. `$0`, `$1` … stand for `arguments`; one that is a list (objstore_list_of) is followed by
 * its elements; `count` is how many values there are in all. Behind GEOWITHIN one is the text of a shape. A text
 * without a condition, or of length 0, is about all objects. The text and the arguments are copied.
 * Errors: NO_SUCH_CLASS, INVALID_UTF8. INVALID_QUERY: it cannot be read, NO_SUCH_PROPERTY, WRONG_TYPE, NOT_SUPPORTED,
 * NO_PRIMARY_KEY: of an `obj(…)`, WRONG_STORE: of a link: of what stands at the `position` of objstore_error, in bytes.
 * Cost: O(length of the text). */
OBJSTORE_API objstore_status objstore_query_parse(objstore_view *view, objstore_class_id class_id,
                                                  objstore_text text, const objstore_value *arguments, size_t count,
                                                  objstore_query **query)
    OBJSTORE_CHECKS(null(view, query), nullable(arguments), closed(view), kind(view), class(class_id), text(text),
                    array(arguments, count), count(count));

/** Makes a query from nodes, which are a condition, or end with one OBJSTORE_QUERY_WHOLE; `count` 0: of all objects of
 * the class. Values are copied. INVALID_ARGUMENT: they are no tree. Other errors as of objstore_query_parse; the
 * position is the index of a node. */
OBJSTORE_API objstore_status objstore_query_new(objstore_view *view, objstore_class_id class_id,
                                                const objstore_query_node *nodes, size_t count,
                                                objstore_query **query)
    OBJSTORE_CHECKS(null(view, query), nullable(nodes), closed(view), kind(view), class(class_id),
                    array(nodes, count), count(count));

/** Makes a query of the objects that a list, set or map has links to: in its order, an object as often as it is there,
 * without nulls. Narrow and sort it by objstore_query_then. Sums and counts are about all that it finds, an object that
 * is there twice counts twice; changes are made to each object once. Like any query it is asked about what the view
 * has: of the collection as it is there. Asked where the owner was deleted it finds nothing. It has no text.
 * WRONG_TYPE: the elements are no links. Cost, when asked, of k links: O(k); of a
 * condition O(k log n), where k is less than a fiftieth of the n objects of the class, else O(k) and that of the same
 * condition asked of the class. */
OBJSTORE_API objstore_status objstore_query_collection(objstore_view *view, objstore_collection collection,
                                                       objstore_query **query)
    OBJSTORE_CHECKS(null(view, query), closed(view), kind(view), store(collection), deleted(collection),
                    property(collection), type(collection));

/** Makes a query of the elements of a list, set or map of plain values, which objstore_query_find_values asks: those
 * that a text finds among them, as objstore_query_parse has it. An element is @self: `@self > 3 AND NOT @self IN {5, 6}
 * SORT(@self DESC) LIMIT(3)`. A text of length 0 is about all of them, in their order. It is narrowed by
 * objstore_query_then; other functions of queries do not take it (INVALID_QUERY, NOT_SUPPORTED).
 * WRONG_TYPE: also of a collection whose elements are objects of one class; objstore_query_collection takes these.
 * NO_SUCH_PROPERTY: also of a name in the text, since a value has no properties. */
OBJSTORE_API objstore_status objstore_query_values(objstore_view *view, objstore_collection collection,
                                                   objstore_text text, const objstore_value *arguments, size_t count,
                                                   objstore_query **query)
    OBJSTORE_CHECKS(null(view, query), nullable(arguments), closed(view), kind(view), store(collection),
                    deleted(collection), property(collection), type(collection), text(text), array(arguments, count),
                    count(count));

/** The same from nodes, as objstore_query_new has them: an OBJSTORE_QUERY_VARIABLE of level 0 is an element. */
OBJSTORE_API objstore_status objstore_query_values_new(objstore_view *view, objstore_collection collection,
                                                       const objstore_query_node *nodes, size_t count,
                                                       objstore_query **query)
    OBJSTORE_CHECKS(null(view, query), nullable(nodes), closed(view), kind(view), store(collection),
                    deleted(collection), property(collection), type(collection), array(nodes, count), count(count));

/** Makes a query of a query: what `then` finds among what `query` finds. Their conditions become one where `query` has
 * neither LIMIT nor OFFSET nor DISTINCT; the steps of `then` follow those of `query`.
 * INVALID_ARGUMENT: they are of two classes, or of plain values of two collections. WRONG_STORE: of two stores.
 * NOT_SUPPORTED: `then` is a range of an index, or a query of a collection of links.
 */
OBJSTORE_API objstore_status objstore_query_then(objstore_query *query, objstore_query *then,
                                                 objstore_query **joined)
    OBJSTORE_CHECKS(null(query, then, joined), closed(query, then), kind(query, then));

/** Writes a query as a text: objstore_query_parse makes the same query of it. Names are those that properties had when
 * the query was made; constants stand in the text. Borrowed when `buffer` is NULL, see "Text out".
 * NOT_SUPPORTED: it is a range of an index or of a collection, or there is a condition behind a LIMIT, OFFSET or
 * DISTINCT. */
OBJSTORE_API objstore_status objstore_query_text(objstore_query *query, objstore_buffer *buffer,
                                                 objstore_text *text)
    OBJSTORE_CHECKS(null(query, text), nullable(buffer), closed(query), kind(query), buffer(buffer),
                    lends(query, buffer));

/* The next functions ask a query in a view of its store, of whatever version. Errors of all: WRONG_STORE;
 * NO_SUCH_CLASS, NO_SUCH_PROPERTY: the view is older than the class or the property, or the property was dropped. */

/** Counts what a query finds. */
OBJSTORE_API objstore_status objstore_query_count(objstore_query *query, objstore_view *view, uint64_t *count)
    OBJSTORE_CHECKS(null(query, view, count), closed(query, view), kind(query, view));

/** Finds the first object, in the order of the query. `found` as in objstore_find. */
OBJSTORE_API objstore_status objstore_query_first(objstore_query *query, objstore_view *view,
                                                  objstore_object *object, bool *found)
    OBJSTORE_CHECKS(null(query, view, object), nullable(found), closed(query, view), kind(query, view));

/** Finds all objects, in the order of the query, as results, which belong to the view. */
OBJSTORE_API objstore_status objstore_query_find(objstore_query *query, objstore_view *view,
                                                 objstore_results **results)
    OBJSTORE_CHECKS(null(query, view, results), closed(query, view), kind(query, view));

/** What objstore_query_aggregate computes; and the `choice` of OBJSTORE_QUERY_AGGREGATE. */
OBJSTORE_ENUM(objstore_aggregate_kind) {
    OBJSTORE_AGGREGATE_SUM = 1,     /* INT: exact, OUT_OF_RANGE when it does not fit; DOUBLE; FLOAT: a DOUBLE;
                                     * DECIMAL128, of 34 digits */
    OBJSTORE_AGGREGATE_MINIMUM = 2, /* INT, FLOAT, DOUBLE, DECIMAL128 (NaN is skipped), TIMESTAMP, OBJECT_ID, UUID */
    OBJSTORE_AGGREGATE_MAXIMUM = 3,
    OBJSTORE_AGGREGATE_AVERAGE = 4  /* INT, FLOAT, DOUBLE: a DOUBLE; DECIMAL128 */
};
/** Tells how a query finds its objects in a view: which index, inverse or scan, how many objects that is about, what is
 * asked of each, and which steps follow; with OBJSTORE_EXPLAIN_RUN also what it found, in what time. For people: lines
 * that later versions may write otherwise; with OBJSTORE_EXPLAIN_JSON an object with `query`, `class`, `objects`,
 * `leaves` (of 4,096 objects), `access` (all, scan, index, links, range, order, collection), perhaps `by`, `estimate`,
 * `filter`, then `steps`, and `found` with `objects`, of a table `rows`, `microseconds`, of a scan `leavesRead` and
 * `leavesSkipped`: bounds say all of those; `threads`, where more than one scanned. The text lies in the buffer. */
OBJSTORE_API objstore_status objstore_query_explain(objstore_query *query, objstore_view *view, uint32_t flags,
                                                    objstore_buffer *buffer, objstore_text *text)
    OBJSTORE_CHECKS(null(query, view, buffer, text), closed(query, view), kind(query, view), flags(flags),
                    buffer(buffer));

enum {
    /* It is asked, once. */
    OBJSTORE_EXPLAIN_RUN = 0x1,
    OBJSTORE_EXPLAIN_JSON = 0x2
};

/** Computes an aggregate over a property of all objects that a query finds; nulls are skipped. Over nothing the sum is
 * 0 and the others are null. Doubles are added in an order of the library's choice, so that the last digits may differ
 * from those of a loop of yours. Cost: a scan, at about memory speed.
 * WRONG_TYPE: not for this kind of property. */
OBJSTORE_API objstore_status objstore_query_aggregate(objstore_query *query, objstore_view *view,
                                                      objstore_property_id property_id,
                                                      objstore_aggregate_kind aggregate, objstore_value *value)
    OBJSTORE_CHECKS(null(query, view, value), closed(query, view), kind(query, view), property(property_id),
                    enum(aggregate), type(property_id));

/** Writes the same values to all objects that a query finds in the transaction, as objstore_results_set. */
OBJSTORE_API objstore_status objstore_query_set(
    objstore_query *query, objstore_view *transaction, const objstore_property_id *properties,
    const objstore_value *values, size_t count, uint64_t *objects)
    OBJSTORE_CHECKS(null(query, transaction), nullable(properties, values, objects), closed(query, transaction),
                    kind(query, transaction), write(transaction), array(properties, count), array(values, count),
                    count(count), property(properties), type(values, properties), required(values, properties),
                    text(values));

/** Adds to a property of all objects that a query finds in the transaction, as objstore_results_increment. */
OBJSTORE_API objstore_status objstore_query_increment(
    objstore_query *query, objstore_view *transaction, objstore_property_id property_id, objstore_value delta,
    uint64_t *objects)
    OBJSTORE_CHECKS(null(query, transaction), nullable(objects), closed(query, transaction),
                    kind(query, transaction), write(transaction), property(property_id), type(delta, property_id));

/** Deletes all objects that a query finds in the transaction, as objstore_results_delete. */
OBJSTORE_API objstore_status objstore_query_delete(objstore_query *query, objstore_view *transaction,
                                                   uint64_t *objects)
    OBJSTORE_CHECKS(null(query, transaction), nullable(objects), closed(query, transaction),
                    kind(query, transaction), write(transaction));

/** Closes a query. What was found with it stays. NULL is allowed. */
OBJSTORE_API objstore_status objstore_query_close(objstore_query *query)
    OBJSTORE_CHECKS(nullable(query), closed(query), kind(query));

/* ================================================================================================
 *  14. Index ranges: objects between two bounds
 *
 *  A range of an index lies between two bounds, `from` and `to`: values of the index's first property, or of its first
 *  two …
 *
 *      index (last, first, born)      from                to                  finds
 *                                     "Gray"              "Gray"              all of that last name, by first, by born
 *                                     "Gray", "A"         "Gray", "M"         of those, first names from "A" to "M"
 *                                     none                "Gray"              all up to and with the last name "Gray"
 *
 *  The order is that of the index, which is total: null first, then values as comparisons have them, NaN last (of a
 *  MIXED property that of objstore_value_compare, NaN behind the other numbers), and equal values in the order of
 *  creation. So null can be a bound: `from` a null, exclusive, finds what is not null.
 * ================================================================================================ */

enum {
    OBJSTORE_RANGE_AFTER_FROM = 0x1, /* without the objects whose values begin with `from` */
    OBJSTORE_RANGE_BEFORE_TO = 0x2   /* without the objects whose values begin with `to` */
};

/** Makes a query for a range of an index, which finds objects in the order of the index. `from` and `to` may have any
 * number of values up to that of the index's properties. With 0 values the range starts at the beginning of the index,
 * or goes to its end. A bound may be null also where the property is not nullable. `flags` are OBJSTORE_RANGE_…, or 0.
 * What it finds cannot be added up.
 * INVALID_ARGUMENT: too many values. WRONG_TYPE. Cost: to count O(log n), to find O(log n) + O(k). */
OBJSTORE_API objstore_status objstore_query_range(objstore_view *view, objstore_index_id index_id,
                                                  const objstore_value *from, size_t from_count,
                                                  const objstore_value *to, size_t to_count, uint32_t flags,
                                                  objstore_query **query)
    OBJSTORE_CHECKS(null(view, query), nullable(from, to), closed(view), kind(view), index(index_id),
                    array(from, from_count), array(to, to_count), count(from_count, to_count), flags(flags),
                    text(from, to));

/* ================================================================================================
 *  15. Inverses: which objects link to one
 *
 *  Links, and collections of links and of mixed values, have an index without a flag: the objects that link to an
 *  object are found without a scan. The parent of an embedded object: objstore_parent (section 9).
 * ================================================================================================ */

/** Finds the objects whose property `property_id`, a link or a collection of links, leads to `object`: its inverse, in
 * the order of creation. Each is there once, even if its list or map has several links to `object`. Of a mixed
 * property, or a collection of mixed elements: the objects that have a link to `object` anywhere inside. Of a link the
 * results are those of the query `property == object`. All can be updated and observed like results of a query.
 * WRONG_TYPE: the property is none of these, or leads to another class. Cost: O(log n) + O(k). */
OBJSTORE_API objstore_status objstore_incoming(objstore_view *view, objstore_object object,
                                               objstore_property_id property_id, objstore_results **results)
    OBJSTORE_CHECKS(null(view, results), closed(view), kind(view), store(object), deleted(object),
                    property(property_id), type(property_id));

/** Makes a query of these objects, for what results do not have: sums and extremes, narrowing (objstore_query_then).
 * Asked when the object was deleted it finds nothing. It has no text. Errors as objstore_incoming. */
OBJSTORE_API objstore_status objstore_query_incoming(objstore_view *view, objstore_object object,
                                                     objstore_property_id property_id, objstore_query **query)
    OBJSTORE_CHECKS(null(view, query), closed(view), kind(view), store(object), deleted(object),
                    property(property_id), type(property_id));

/** Counts these objects: objects, not links; an object whose list has `object` twice counts once. Mixed values as in
 * objstore_incoming. Cost: O(log n). */
OBJSTORE_API objstore_status objstore_incoming_count(objstore_view *view, objstore_object object,
                                                     objstore_property_id property_id, uint64_t *count)
    OBJSTORE_CHECKS(null(view, count), closed(view), kind(view), store(object), deleted(object),
                    property(property_id), type(property_id));

/* ================================================================================================
 *  16. Results: the objects that were found; sections of them; plain values
 *
 *  Results are a list of objects, together with the query that found them. The list stands still until
 *  objstore_results_update, whatever is written and refreshed meanwhile: a loop over it visits each object once even if
 *  the loop changes what the query looks at. Its objects may have been deleted since. Results belong to the view of
 *  their query: when that is closed, so are they.
 * ================================================================================================ */

/** Counts the objects of results. */
OBJSTORE_API objstore_status objstore_results_count(objstore_results *results, uint64_t *count)
    OBJSTORE_CHECKS(null(results, count), closed(results), kind(results));

/** Gives the object at `index`. OUT_OF_RANGE. */
OBJSTORE_API objstore_status objstore_results_at(objstore_results *results, uint64_t index,
                                                 objstore_object *object)
    OBJSTORE_CHECKS(null(results, object), closed(results), kind(results), range(index));

/** Finds where an object stands: `index` is the first place. `found` is false, and `index` left as it was, where it is
 * none of them. Cost: O(k), at memory speed. */
OBJSTORE_API objstore_status objstore_results_find_object(objstore_results *results, objstore_object object,
                                                          uint64_t *index, bool *found)
    OBJSTORE_CHECKS(null(results, index, found), closed(results), kind(results), store(object));

/** Copies up to `capacity` objects from index `start` on, and sets `count` to how many. `start` = the count of
 * the results is allowed; beyond it OUT_OF_RANGE. */
OBJSTORE_API objstore_status objstore_results_objects(objstore_results *results, uint64_t start,
                                                      objstore_object *objects, size_t capacity, size_t *count)
    OBJSTORE_CHECKS(null(results, count), nullable(objects), closed(results), kind(results), range(start),
                    array(objects, capacity), count(capacity));

/** Repeats the query in the view as it stands now. `changed` (NULL: not wanted) says whether the list is another.
 * Results of a frozen view never change. */
OBJSTORE_API objstore_status objstore_results_update(objstore_results *results, bool *changed)
    OBJSTORE_CHECKS(null(results), nullable(changed), closed(results), kind(results));

/** Asks the query of `results` in another view of their store: of a frozen view it makes results that never change and
 * that any thread may read, of a live one live results again, of a transaction those that see what it has done.
 * WRONG_STORE: of another store. NO_SUCH_CLASS: the view is older than the class. */
OBJSTORE_API objstore_status objstore_results_in(objstore_view *view, objstore_results *results,
                                                 objstore_results **found)
    OBJSTORE_CHECKS(null(view, results, found), closed(view, results), kind(view, results));

/* The next three functions change the objects of results, all or none, in one call: many times faster than a call for
 * each. The results may be of any view of the store and are taken as they stand; repeat the query first
 * (objstore_results_update) where the view has changed since. NO_SUCH_OBJECT: one of the objects was deleted since.
 * Afterwards the list is as it was, too: it keeps objects that no longer satisfy the query, or no longer exist.
 * Inverses and counts are up to date at once. `objects` may be NULL: not wanted. */

/** Writes the same values to all objects; `objects` is how many there are. Values and errors as in objstore_set_row.
 * DUPLICATE_KEY: also where two of the objects would have one unique value. KEY_IMMUTABLE: the primary key of several
 * objects, or one that differs from that of the only object. Cost: O(k), a few nanoseconds an object for a property
 * without an index that is no text. */
OBJSTORE_API objstore_status objstore_results_set(
    objstore_results *results, objstore_view *transaction, const objstore_property_id *properties,
    const objstore_value *values, size_t count, uint64_t *objects)
    OBJSTORE_CHECKS(null(results, transaction), nullable(properties, values, objects), closed(results, transaction),
                    kind(results, transaction), write(transaction), store(results), array(properties, count),
                    array(values, count), count(count), property(properties), type(values, properties),
                    required(values, properties), text(values));

/** Adds `delta`, of the property's kind, to an INT, FLOAT or DOUBLE property of all objects. Null stays null: `objects`
 * is how many were not null. Cost as objstore_results_set.
 * WRONG_TYPE: the property is of another kind, or `delta` is. OUT_OF_RANGE: a sum does not fit 64 bits. KEY_IMMUTABLE,
 * DUPLICATE_KEY: compared object by object, in the order of creation. */
OBJSTORE_API objstore_status objstore_results_increment(
    objstore_results *results, objstore_view *transaction, objstore_property_id property_id, objstore_value delta,
    uint64_t *objects)
    OBJSTORE_CHECKS(null(results, transaction), nullable(objects), closed(results, transaction),
                    kind(results, transaction), write(transaction), store(results), property(property_id),
                    type(delta, property_id));

/** Deletes all objects; `objects` is how many there were. As objstore_delete for each. */
OBJSTORE_API objstore_status objstore_results_delete(objstore_results *results, objstore_view *transaction,
                                                     uint64_t *objects)
    OBJSTORE_CHECKS(null(results, transaction), nullable(objects), closed(results, transaction),
                    kind(results, transaction), write(transaction), store(results));

/** Closes results. NULL is allowed. */
OBJSTORE_API objstore_status objstore_results_close(objstore_results *results)
    OBJSTORE_CHECKS(nullable(results), closed(results), kind(results));

/* Sections: the objects of results, those with equal keys together.
 *
 *      results                        sections by OBJSTORE_SECTIONS_FIRST_LETTER of `name`
 *      Rex  Wolfie  Fido  Rolf        R: Rex, Rolf    W: Wolfie    F: Fido
 *      0    1       2     3              0    3          1            2       positions in the results
 *
 * The key of an object is a value of it, or what a function of yours says. Keys are equal as DISTINCT has it: ints and
 * doubles by number, texts byte by byte; nulls make a section of their own. Sections come in the order in which their
 * first objects come in the results, or in the order of their keys; inside, the objects stay in the order of the
 * results, also where they were no neighbours there. Sort the results for another order.
 *
 * Like results, sections stand still until objstore_sections_update, whatever is written, and belong to the view.
 * Objects of the results that the view does not have any more when sections are made are in none; those that are
 * deleted later stay in theirs. Cost: O(k) to O(k log k), 16 bytes an object, nothing is allocated for each. */

enum {
    OBJSTORE_SECTIONS_ASCENDING = 0x1,   /* sections in the order of their keys, null first; else of appearance */
    OBJSTORE_SECTIONS_DESCENDING = 0x2,
    OBJSTORE_SECTIONS_FIRST_LETTER = 0x4 /* the key is the first letter of a text: its first code point, as a capital
                                          * where that is one code point; of an empty text "", of null null */
};

/** One section. */
typedef struct objstore_section {
    objstore_value key;
    uint64_t start; /* how many objects are in the sections before it */
    uint64_t count; /* how many are in it */
} objstore_section;

/** Makes sections by a value of each object: nodes that are one value, such as a path, as in objstore_query_new, or as
 * a sort key has it. `flags` are OBJSTORE_SECTIONS_…, or 0.
 * Unlike a sort key it may be a link. Functions that it calls (section 20) may use the view, and cannot close it.
 * INVALID_QUERY: the nodes are a condition, a query, many values, or a value that all objects have. INVALID_ARGUMENT:
 * they are no tree. WRONG_TYPE: a first letter of what is no text. Position as in objstore_query_new. */
OBJSTORE_API objstore_status objstore_sections_new(objstore_results *results, const objstore_query_node *nodes,
                                                   size_t count, uint32_t flags, objstore_sections **sections)
    OBJSTORE_CHECKS(null(results, sections), closed(results), kind(results), array(nodes, count), count(count),
                    flags(flags));

/** The same of a text: `owner.name`, `age / 10`. Arguments and errors as in objstore_query_parse. */
OBJSTORE_API objstore_status objstore_sections_parse(objstore_results *results, objstore_text text,
                                                     const objstore_value *arguments, size_t count, uint32_t flags,
                                                     objstore_sections **sections)
    OBJSTORE_CHECKS(null(results, sections), closed(results), kind(results), text(text), array(arguments, count),
                    count(count), flags(flags));

/** Says the key of an object, on the calling thread: fills `key`, which is null. A text or binary in it must stay until
 * the function is called again, or the call that called it has returned. `view` is that of the results, or, for
 * observers (objstore_sections_observe), a frozen one of the version in which they look. It may use the store, also
 * write where that is a transaction, but close neither the view nor the sections, nor end the transaction,
 * nor update these sections (IN_CALLBACK). It is not called for objects that it has deleted.
 * A status other than OK ends the operation with OBJSTORE_ERR_CALLBACK; callback_code is that of objstore_fail, or the
 * status. */
typedef objstore_status (*objstore_section_key)(objstore_view *view, objstore_object object, objstore_value *key,
                                                void *userdata);

/** Makes sections by what a function says of each object, in the order of the results. It is called once for each
 * object now, and again in each update; userdata is freed when the sections are closed, and their observers have ended.
 * WRONG_TYPE: a key is a collection or a document; or no text, with OBJSTORE_SECTIONS_FIRST_LETTER. WRONG_STORE: an
 * object of another store. INVALID_UTF8. CALLBACK. */
OBJSTORE_API objstore_status objstore_sections_by(objstore_results *results, uint32_t flags,
                                                  objstore_section_key function, void *userdata,
                                                  objstore_free_userdata free_userdata, objstore_sections **sections)
    OBJSTORE_CHECKS(null(results, function, sections), nullable(free_userdata), closed(results), kind(results),
                    flags(flags));

/** Counts sections. */
OBJSTORE_API objstore_status objstore_sections_count(objstore_sections *sections, uint64_t *count)
    OBJSTORE_CHECKS(null(sections, count), closed(sections), kind(sections));

/** Gives a section. Its key is that of its first object, where equal ones are written differently (1 and 1.0). A text
 * lies in the buffer; without one it is borrowed until the sections are updated or closed, and of a live view
 * WRONG_VIEW. OUT_OF_RANGE. */
OBJSTORE_API objstore_status objstore_sections_at(objstore_sections *sections, uint64_t index,
                                                  objstore_buffer *buffer, objstore_section *section)
    OBJSTORE_CHECKS(null(sections, section), nullable(buffer), closed(sections), kind(sections), range(index),
                    buffer(buffer));

/** Copies up to `capacity` objects of the section `index`, from its object `start` on, and their positions in the
 * results (NULL: not wanted), which ascend. `count` is how many. OUT_OF_RANGE: the section, or a start beyond its
 * end. */
OBJSTORE_API objstore_status objstore_sections_objects(objstore_sections *sections, uint64_t index, uint64_t start,
                                                       objstore_object *objects, uint64_t *positions, size_t capacity,
                                                       size_t *count)
    OBJSTORE_CHECKS(null(sections, count), nullable(objects, positions), closed(sections), kind(sections),
                    range(index), range(start), count(capacity));

/** Reads properties of the objects of the section `index`, from its object `start` on, as objstore_results_read. */
OBJSTORE_API objstore_status objstore_sections_read(objstore_sections *sections, uint64_t index, uint64_t start,
                                                    size_t row_count, const objstore_property_id *properties,
                                                    size_t property_count, objstore_buffer *buffer)
    OBJSTORE_CHECKS(null(sections, buffer), closed(sections), kind(sections), range(index), range(start),
                    array(properties, property_count), count(row_count, property_count), property(properties),
                    buffer(buffer));

/** Finds the section with a key. `found` is false, and `section` left as it was, where none has it. O(log sections).
 * WRONG_TYPE: a collection is no key. WRONG_STORE: an object of another store. */
OBJSTORE_API objstore_status objstore_sections_find_key(objstore_sections *sections, objstore_value key,
                                                        uint64_t *section, bool *found)
    OBJSTORE_CHECKS(null(sections, section, found), closed(sections), kind(sections), text(key));

/** Finds where the object is that is at the position `result` of the results: in which section, at which index there.
 * `found` is false where it was deleted before the sections were made. The position is one in the results as they were
 * then. OUT_OF_RANGE. Cost: O(log sections); the first time O(k) and 8 bytes an object. */
OBJSTORE_API objstore_status objstore_sections_find_position(objstore_sections *sections, uint64_t result,
                                                             uint64_t *section, uint64_t *index, bool *found)
    OBJSTORE_CHECKS(null(sections, section, index, found), closed(sections), kind(sections), range(result));

/** Finds where an object is; `found` is false where it is in no section. Cost: O(k), at memory speed. */
OBJSTORE_API objstore_status objstore_sections_find_object(objstore_sections *sections, objstore_object object,
                                                           uint64_t *section, uint64_t *index, bool *found)
    OBJSTORE_CHECKS(null(sections, section, index, found), closed(sections), kind(sections), store(object));

/** Repeats the query of the results in the view as it stands now, as objstore_results_update, and makes the sections of
 * what it finds, with the values of now. `changed` (NULL: not wanted) says whether anything is different: a key, an
 * object, a position. Where it fails, the sections are as they were. */
OBJSTORE_API objstore_status objstore_sections_update(objstore_sections *sections, bool *changed)
    OBJSTORE_CHECKS(null(sections), nullable(changed), closed(sections), kind(sections));

/** Closes sections. The results stay. NULL is allowed. */
OBJSTORE_API objstore_status objstore_sections_close(objstore_sections *sections)
    OBJSTORE_CHECKS(nullable(sections), closed(sections), kind(sections));

/* Values: the elements of a list, set or map of plain values that a query has found (objstore_query_values).
 *
 *      tags  "old"  "big"  "odd"  "big"       @self BEGINSWITH "o" SORT(@self DESC)       "old"  "odd"
 *            0      1      2      3                                                       0      2      places
 *
 * They are copies: they stand still until objstore_values_update, whatever is written, keep no version, and belong to
 * the view. Where the owner of the collection was deleted there are none. Cost: O(n) of the n elements, O(k log k) of k
 * that are sorted; while they are asked for about 160 bytes for each element that a condition leaves, of a map 290, and
 * 90 more where it is sorted; afterwards 48 bytes for each that was found, of a map 88, and what it has itself. */

/** Finds what a query of objstore_query_values asks for, in its order. INVALID_QUERY: it is for objects. */
OBJSTORE_API objstore_status objstore_query_find_values(objstore_query *query, objstore_view *view,
                                                        objstore_values **values)
    OBJSTORE_CHECKS(null(query, view, values), closed(query, view), kind(query, view));

/** Counts these values. */
OBJSTORE_API objstore_status objstore_values_count(objstore_values *values, uint64_t *count)
    OBJSTORE_CHECKS(null(values, count), closed(values), kind(values));

/** Gives up to `capacity` of them from index `start` on, and sets `count` to how many. `elements` gets the values,
 * `places` the index of each in the list, or in the order of the set or map, `keys` those of a map, which are null of
 * others; each may be NULL: not wanted. Bytes stay until the values are updated or closed. `start` = their count is
 * allowed; beyond it OUT_OF_RANGE. */
OBJSTORE_API objstore_status objstore_values_read(objstore_values *values, uint64_t start, size_t capacity,
                                                  objstore_value *elements, uint64_t *places, objstore_value *keys,
                                                  size_t *count)
    OBJSTORE_CHECKS(null(values, count), nullable(elements, places, keys), closed(values), kind(values), range(start),
                    count(capacity));

/** Computes an aggregate over them; nulls and NaN are skipped. Over nothing the sum is 0 and the others are null. Bytes
 * of `value` stay as those of objstore_values_read.
 * WRONG_TYPE: there is none of elements of this kind: sums and averages are of numbers, extremes of all but binaries.
 * Of mixed values what is no number counts in extremes only. OUT_OF_RANGE: a sum of INTs does not fit 64 bits. */
OBJSTORE_API objstore_status objstore_values_aggregate(objstore_values *values, objstore_aggregate_kind aggregate,
                                                       objstore_value *value)
    OBJSTORE_CHECKS(null(values, value), closed(values), kind(values), enum(aggregate));

/** Asks the query again in the view as it stands now. `changed` (NULL: not wanted) says whether anything is different:
 * a value, a place, a key. Where it fails, the values are as they were. */
OBJSTORE_API objstore_status objstore_values_update(objstore_values *values, bool *changed)
    OBJSTORE_CHECKS(null(values), nullable(changed), closed(values), kind(values));

/** Closes values. NULL is allowed. */
OBJSTORE_API objstore_status objstore_values_close(objstore_values *values)
    OBJSTORE_CHECKS(nullable(values), closed(values), kind(values));

/* ================================================================================================
 *  17. Columns: many objects in one call
 *
 *  One shape for columns in and out, that of Apache Arrow where it has one:
 *
 *   kind        element of `values`                              bytes
 *   BOOL        0 or 1 (passed in: 0 or not 0)                   1
 *   INT         int64_t                                          8
 *   FLOAT       float                                            4
 *   DOUBLE      double                                           8
 *   DECIMAL128  objstore_decimal128                              16
 *   TIMESTAMP   objstore_timestamp                               16
 *   OBJECT_ID   objstore_object_id                               12
 *   UUID        objstore_uuid                                    16
 *   STRING      bytes of all rows, one after the other; row i is bytes offsets[i] up to offsets[i + 1]:
 *   BINARY      `offsets` has rows + 1 elements, int64_t, not falling
 *   LINK        int64_t, the key of an object of the target class    8
 *
 *  `validity` has one bit a row, the lowest bit of byte 0 first: 1 = there is a value, 0 = null (what `values` has
 *  there is ignored when passed in, and 0 or empty when given out). NULL = no row is null. Its size is
 *  (rows + 7) / 8 bytes; bits beyond the last row are ignored when passed in, and 0 when given out.
 * ================================================================================================ */

/** One column of rows to insert. 64 bytes, final. Start from objstore_column_init. */
typedef struct objstore_column {
    objstore_property_id property_id;
    objstore_kind kind;                          /* must be the property's: how `values` is to be read */
    const void *OBJSTORE_NULLABLE values;
    const int64_t *OBJSTORE_NULLABLE offsets;    /* STRING, BINARY; else NULL */
    const uint8_t *OBJSTORE_NULLABLE validity;   /* NULL = no nulls */
    uint64_t values_bytes;                       /* STRING, BINARY: size of `values`; else 0 */
    uint64_t reserved[3];                        /* 0 */
} objstore_column;

#ifndef OBJSTORE_DECLARATIONS_ONLY
static inline objstore_column objstore_column_init(objstore_property_id property_id, objstore_kind kind,
        const void *values) {
    objstore_column column;
    column.property_id = property_id;
    column.kind = kind;
    column.values = values;
    column.offsets = NULL;
    column.validity = NULL;
    column.values_bytes = 0;
    column.reserved[0] = column.reserved[1] = column.reserved[2] = 0;
    return column;
}
#endif

/** What objstore_insert_rows did with the rows. 32 bytes, final. */
typedef struct objstore_insert_counts {
    uint64_t created;
    uint64_t changed;
    uint64_t unchanged;
    uint64_t reserved;
} objstore_insert_counts;

/** Inserts `row_count` objects from `column_count` columns, all or none: as that many objstore_create calls (policy
 * ERROR, or a class without a primary key) or objstore_upsert calls in order, but faster. `keys` (NULL: not wanted) has
 * room for row_count and receives the object key of each row; `counts` may be NULL. The memory of the columns may
 * change only after the call. A generated property without a column gets new values in objects that are created; a
 * primary key without one, or a part of it, gets its default or null in every row, else MISSING_VALUE.
 *
 * `position` of the error is the row that was refused. NO_PRIMARY_KEY: policy other than ERROR for a class without one.
 * DUPLICATE_KEY (also for unique values), MISSING_VALUE, WRONG_TYPE, NOT_NULLABLE, OUT_OF_RANGE (offsets, nanoseconds).
 * INVALID_ARGUMENT: a column of another kind than STRING, BINARY or MIXED with offsets or values_bytes. EMBEDDED: the
 * class is, or a column leads to such a class. */
OBJSTORE_API objstore_status objstore_insert_rows(
    objstore_view *transaction, objstore_class_id class_id, objstore_policy policy,
    const objstore_column *columns, size_t column_count, size_t row_count, int64_t *keys,
    objstore_insert_counts *counts)
    OBJSTORE_CHECKS(null(transaction), nullable(columns, keys, counts), closed(transaction), kind(transaction),
                    write(transaction), class(class_id), enum(policy), array(columns, column_count),
                    count(column_count, row_count), property(columns), type(columns), required(columns),
                    text(columns));

enum { OBJSTORE_START = -1 };

/** Reads a column of fixed-width values (not STRING, BINARY: WRONG_TYPE) into your memory, in the order of object keys.
 * Begins behind the object whose key is `*position` (OBJSTORE_START: with the first), reads at most `capacity` rows,
 * sets `*count` to how many, and `*position` to the key of the last, ready for the next call. Fewer than `capacity`:
 * that was all. Cost: about memory speed.
 * `values`: capacity elements. `validity` ((capacity + 7) / 8 bytes; behind the last row the rest of its byte is 0) may
 * be NULL only if there is no null: else NULL_VALUE. `keys` (capacity elements) may be NULL. */
OBJSTORE_API objstore_status objstore_read_column(
    objstore_view *view, objstore_class_id class_id, objstore_property_id property_id, size_t capacity,
    int64_t *position, void *values, uint8_t *validity, int64_t *keys, size_t *count)
    OBJSTORE_CHECKS(null(view, position, count), nullable(values, validity, keys), closed(view), kind(view),
                    class(class_id), property(property_id), type(property_id), array(values, capacity),
                    count(capacity), range(position));

/** Reads a column of STRING or BINARY, as objstore_read_column: the bytes go into `buffer`, `offsets` has room for
 * capacity + 1 elements. */
OBJSTORE_API objstore_status objstore_read_text_column(
    objstore_view *view, objstore_class_id class_id, objstore_property_id property_id, size_t capacity,
    int64_t *position, objstore_buffer *buffer, int64_t *offsets, uint8_t *validity, int64_t *keys,
    size_t *count)
    OBJSTORE_CHECKS(null(view, position, buffer, offsets, count), nullable(validity, keys), closed(view),
                    kind(view), class(class_id), property(property_id), type(property_id), count(capacity),
                    range(position), buffer(buffer));

/** The packed form: several properties of many objects in one buffer. All numbers are little-endian, all offsets
 * count from the start of the buffer, every part begins at a multiple of 8, gaps are zero.
 *
 *   0    objstore_packed                                    64 bytes
 *   64   objstore_packed_column × column_count              48 bytes each
 *        keys: int64_t × row_count
 *        then per column, as far as it has them:
 *          validity    (row_count + 7) / 8 bytes
 *          offsets     int64_t × (row_count + 1)            STRING, BINARY
 *          values      as in the table above
 *
 * A row whose object was deleted has a null in every column, also where the property is not nullable, and the
 * key -1. */
typedef struct objstore_packed {
    uint32_t magic;         /* OBJSTORE_PACKED_MAGIC */
    uint32_t layout;        /* 1 */
    uint64_t row_count;
    uint32_t column_count;
    objstore_class_id class_id;
    uint32_t store_tag;
    uint32_t reserved;
    uint64_t version;       /* that the values were read at; of a transaction, the one it started from */
    uint64_t keys_offset;
    uint64_t total_bytes;   /* = buffer.length */
    uint64_t deleted_count; /* rows whose object is gone */
} objstore_packed;
enum { OBJSTORE_PACKED_MAGIC = 0x4B504F4F /* the bytes "OOPK" */ };

/** One property in the packed form: where its parts are, and how many nulls it has. */
typedef struct objstore_packed_column {
    objstore_property_id property_id;
    objstore_kind kind;
    uint64_t validity_offset; /* 0 = no nulls */
    uint64_t offsets_offset;  /* 0 unless STRING, BINARY */
    uint64_t values_offset;
    uint64_t values_bytes;
    uint64_t null_count;
} objstore_packed_column;

/** Reads `property_count` properties of up to `row_count` objects of the results, from index `start` on, packed
 * as above; the buffer says how many rows there are. Values are those of the view as it stands now. `start` as
 * in objstore_results_objects. Copies: also for live views. Cost: O(k · m) of memory speed. */
OBJSTORE_API objstore_status objstore_results_read(objstore_results *results, uint64_t start, size_t row_count,
                                                   const objstore_property_id *properties,
                                                   size_t property_count, objstore_buffer *buffer)
    OBJSTORE_CHECKS(null(results, buffer), nullable(properties), closed(results), kind(results), range(start),
                    count(row_count, property_count), array(properties, property_count), property(properties),
                    buffer(buffer));

/** The same of what a query finds: of its first `row_count` objects, in its order. */
OBJSTORE_API objstore_status objstore_query_read(objstore_query *query, objstore_view *view, size_t row_count,
                                                 const objstore_property_id *properties, size_t property_count,
                                                 objstore_buffer *buffer)
    OBJSTORE_CHECKS(null(query, view, buffer), nullable(properties), closed(query, view), kind(query, view),
                    count(row_count, property_count), array(properties, property_count), property(properties),
                    buffer(buffer));

/* ------------------------------------------------------------------------------------------------
 *  Tables: values of the objects that a query finds, or of groups of them, instead of the objects
 *
 *      age > 5 SORT(name ASC) SELECT(name, owner.city AS city, weight / 1000)
 *      age > 5 GROUP(city) HAVING(@count > 3) SORT(@avg.age DESC) LIMIT(10) SELECT(city, @count AS n, @avg.age)
 *
 *  Behind GROUP a query is about groups of objects with equal values of its keys (as DISTINCT has them; null is a value
 *  as any other): HAVING, SORT, LIMIT, OFFSET and SELECT ask for keys, what lies behind a key that is a link, @count,
 *  @sum, @avg, @min and @max of the objects of a group, and what is computed from these. GROUP() makes one group of all
 *  objects, also of none. Without SORT groups come in the order of their first objects. Without SELECT the columns are
 *  the keys and @count. docs/query-language.md has all of it.
 *
 *  Such a query has no objects: what asks it for some is INVALID_QUERY.
 *  Cost: one pass over the columns that are used, and over the groups. Memory: 8 to 40 bytes for each group and each
 *  thing that is asked of it, or the table (OUT_OF_MEMORY).
 * ------------------------------------------------------------------------------------------------ */

/** Asks a query with GROUP or SELECT. The table is complete and lies in memory of its own: it stays when view and store
 * are closed, and any thread may read it. Errors: as of objstore_query_count. INVALID_QUERY: it is for objects. */
OBJSTORE_API objstore_status objstore_query_table(objstore_query *query, objstore_view *view, objstore_table **table)
    OBJSTORE_CHECKS(null(query, view, table), closed(query, view), kind(query, view));

/** One column of a table: its values as in the table of section 17. 72 bytes, final. */
typedef struct objstore_table_column {
    objstore_text name;          /* that of AS, or the text of the value */
    objstore_kind kind;
    objstore_class_id class_id;  /* of LINK: the class that all lead to, 0: any; else 0 */
    const void *OBJSTORE_NULLABLE values;       /* MIXED: NULL, see objstore_table_value */
    const int64_t *OBJSTORE_NULLABLE offsets;   /* STRING, BINARY; else NULL */
    const uint8_t *OBJSTORE_NULLABLE validity;  /* NULL = no nulls */
    uint64_t values_bytes;       /* STRING, BINARY: size of `values`; else 0 */
    uint64_t null_count;
    uint64_t reserved;
} objstore_table_column;

/** Says how many rows and columns a table has; each may be NULL: not wanted. */
OBJSTORE_API objstore_status objstore_table_size(objstore_table *table, uint64_t *rows, size_t *columns)
    OBJSTORE_CHECKS(null(table), nullable(rows, columns), closed(table), kind(table));

/** Gives a column. What it points to stays until the table is closed. OUT_OF_RANGE. */
OBJSTORE_API objstore_status objstore_table_column_at(objstore_table *table, size_t index,
                                                      objstore_table_column *column)
    OBJSTORE_CHECKS(null(table, column), closed(table), kind(table), range(index));

/** Gives one value. Its bytes stay until the table is closed. OUT_OF_RANGE. */
OBJSTORE_API objstore_status objstore_table_value(objstore_table *table, uint64_t row_index,
                                                  size_t column_index, objstore_value *value)
    OBJSTORE_CHECKS(null(table, value), closed(table), kind(table), range(row_index), range(column_index));

/** Closes a table. NULL is allowed. */
OBJSTORE_API objstore_status objstore_table_close(objstore_table *table)
    OBJSTORE_CHECKS(nullable(table), closed(table), kind(table));

/* The Arrow C stream interface, word for word: https://arrow.apache.org/docs/format/CStreamInterface.html */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

enum {
    OBJSTORE_ARROW_DICTIONARIES = 0x1,  /* STRING: i, numbers of the texts of a dictionary, which is U */
    OBJSTORE_ARROW_VIEWS = 0x2          /* STRING: vu, BINARY: vz: views */
};

/** Gives what a query finds as a stream of record batches: the columns of a table, or all properties of single values
 * of its objects, in the order of the query. `stream` is yours: release it. Batches have about 65,536 rows, stay valid
 * until they are released, whatever happens to the store, and are made when you ask for them, from the version that the
 * view shows now, which stays pinned until the stream is released or the store is closed (get_next then fails). Of a
 * transaction they are made at once.
 *
 *   BOOL b · INT l · FLOAT f · DOUBLE g · STRING U · BINARY Z · TIMESTAMP tsn:UTC (get_next fails for a time
 *   before 1677 or after 2262) · DECIMAL128 U, all digits · OBJECT_ID w:12 · UUID w:16, arrow.uuid · LINK l, keys of
 *   objects · MIXED U, arrow.json: JSON, extended as of objstore_results_to_json for what JSON has not
 *
 * `flags`: 0, which every consumer can read, or one of OBJSTORE_ARROW_…, for all columns of that kind in all batches. A
 * dictionary has what the rows have, each once, in any order; that of a batch begins with that of the batch before it,
 * unless that had more than 65,536 texts or 16 MiB of them. Many rows with few texts cost least as dictionaries. Texts
 * of up to 12 bytes are in their view; the bytes of longer ones are copied, those of which a segment of the store has a
 * dictionary once for it.
 *
 * Errors: as of objstore_query_count; INVALID_ARGUMENT: the class has no properties of single values, or both flags. */
OBJSTORE_API objstore_status objstore_query_arrow(objstore_query *query, objstore_view *view, uint32_t flags,
                                                  struct ArrowArrayStream *stream)
    OBJSTORE_CHECKS(null(query, view, stream), closed(query, view), kind(query, view), flags(flags));

/** The same of a table that is there, without a copy: what the stream gives stays when the table is closed. Views are
 * made of it without copying a text, dictionaries by one pass over it. */
OBJSTORE_API objstore_status objstore_table_arrow(objstore_table *table, uint32_t flags,
                                                  struct ArrowArrayStream *stream)
    OBJSTORE_CHECKS(null(table, stream), closed(table), kind(table), flags(flags));

/** The same of results, as the list stands: of these properties, or with `property_count` 0 of all that have single
 * values. Values are those of the view as it is now; of an object that was deleted all are null. */
OBJSTORE_API objstore_status objstore_results_arrow(objstore_results *results,
                                                    const objstore_property_id *properties, size_t property_count,
                                                    uint32_t flags, struct ArrowArrayStream *stream)
    OBJSTORE_CHECKS(null(results, stream), nullable(properties), closed(results), kind(results),
                    count(property_count), array(properties, property_count), property(properties), flags(flags));

/* ================================================================================================
 *  18. Observing
 *
 *  An observer sees what every commit changed, whichever thread or process made it, each change once and in order;
 *  commits that came before change sets were fetched are merged into one change set. Nothing happens in the background
 *  on your threads: wait for the descriptor in your event loop, or call objstore_wait.
 *
 *      poll(objstore_notify_fd) ──readable──► objstore_deliver ──► your handler(change set)
 *
 *  The cost of a change set follows what changed, not how many objects there are.
 *
 *  A change inside of an embedded object, however deep, is also a modification of its owners, in the property that
 *  holds it (O(log n) for each such object). So is a change of an object that links lead to, up to four of them, in the
 *  property with the first link. Key paths say it otherwise: objstore_query_observe_paths.
 * ================================================================================================ */

/** Called with a change set that is valid until the handler returns (objstore_changes_keep keeps it). A handler may
 * read, write, open and close views and tokens, also its own.
 * With a status other than OK the change set counts as delivered (except for a handler that was left:
 * objstore_must_finish), the others are delivered too, and the deliver or wait returns OBJSTORE_ERR_CALLBACK with the
 * first such status as callback_code. */
typedef objstore_status (*objstore_change_handler)(objstore_changes *changes, void *userdata);

enum {
    OBJSTORE_OBSERVE_INITIAL = 0x1, /* a first change set, empty, of the newest version at its delivery: what was
                                       committed between this call and then is in it, and is not reported again */
    OBJSTORE_OBSERVE_PAUSED = 0x2   /* as after objstore_token_pause: it is told nothing before objstore_token_resume */
};

/** Observes all objects of a class, from now on: commits after this call are reported. `flags` are
 * OBJSTORE_OBSERVE_…, or 0. Calls of one handler never overlap. */
OBJSTORE_API objstore_status objstore_observe(objstore *store, objstore_class_id class_id, uint32_t flags,
                                              objstore_change_handler handler, void *userdata,
                                              objstore_free_userdata free_userdata, objstore_token **token)
    OBJSTORE_CHECKS(null(store, handler, token), nullable(free_userdata), closed(store), kind(store),
                    class(class_id), flags(flags));

/** Observes what a query finds, from now on: an object that begins to satisfy it is an insertion, one that stops a
 * deletion, one that stands elsewhere in an order a move (objstore_change). Otherwise as objstore_observe.
 *
 * A table (SELECT, GROUP) is observed for its rows. Without GROUP these are objects, which change sets list: modified
 * is one of which something was written that a column reads, also where that leads to the same values. Groups, and rows
 * whose columns call functions or lead through links of mixed values, are compared with those before: one is modified
 * where a value of it is another one. A group is known by the values of its keys. objstore_changes_column says which
 * columns have another value, objstore_changes_table gives the table.
 * Of plain values (objstore_query_values) an element of a list or set is known by its value, so it is never modified,
 * and one of a map by its key (objstore_changes_keys); where it stands in the collection is not told.
 * objstore_changes_values gives them. When the owner of the collection is deleted, so are they all, with
 * OBJSTORE_CHANGES_OWNER_DELETED, and nothing more comes.
 * What is compared costs as much as asking, O(n), after a change of something that it reads, and keeps what was found.
 * Groups of objects that satisfy a condition, also in an order, are followed instead: O(log n) for each changed object,
 * and O(g) of all groups; of some objects behind LIMIT, OFFSET or DISTINCT O(k) of these. Sums of DOUBLEs and FLOATs
 * that are rounded on the way keep 16 bytes for each object, and those of the changed groups are added up again (of
 * objects in an order they are asked anew). So are plain values by conditions, an order and DISTINCT of the elements
 * themselves: O(log n) for each element that came or went.
 *
 * The cost follows what changed: O(log n) for each object that was changed, or leads to one that was by the links,
 * collections, inverses and subqueries of the condition, SORT or DISTINCT, and for these what asking the condition of
 * one object costs. In a query of a collection each changed object that is in it costs a look at the links besides, a
 * tenth of a nanosecond each; O(log n) in one of a set. Everything else (steps behind DISTINCT of a collection, a
 * condition behind LIMIT, objects more than one link behind mixed values) is asked anew after a change of something
 * that it reads, for the price of asking, and compared with what was found before: O(k) for k objects. Memory: 8 bytes
 * for each object found, and 1 for each element of a collection; with LIMIT, OFFSET or DISTINCT for each that would be
 * found without, and 150 for each value that DISTINCT finds in a collection.
 * What functions gave that the condition calls is kept: they are called again, inside of delivering, for objects of
 * which something was written that it reads, and for all that satisfy it where SORT or DISTINCT call them.
 *
 * A newer schema, of this or another process, may drop a property, a class or an index that the query is about: then it
 * cannot be asked any more. Everything that was found is a deletion, once, with OBJSTORE_CHANGES_OWNER_DELETED, and
 * nothing more comes; so it is with observers of a class or an object whose class is dropped. A property that gets
 * another name stays what it is; one that gets another kind by a migration is dropped, and a new one. A key path to a
 * property that is dropped tells of nothing more. */
OBJSTORE_API objstore_status objstore_query_observe(objstore_query *query, objstore *store, uint32_t flags,
                                                    objstore_change_handler handler, void *userdata,
                                                    objstore_free_userdata free_userdata, objstore_token **token)
    OBJSTORE_CHECKS(null(query, store, handler, token), nullable(free_userdata), closed(query, store),
                    kind(query, store), flags(flags));

/** Observes what the results' query finds: an object that begins to satisfy it is an insertion, one that stops a
 * deletion. Changes are reported against the list as it stands in the results now; the indices are those of the list
 * before and after. The observer is independent of the results and their view, which may be closed.
 * WRONG_VIEW: they belong to a frozen view or a transaction, or their view has moved since the query
 * (objstore_results_update them first). */
OBJSTORE_API objstore_status objstore_results_observe(
    objstore_results *results, uint32_t flags, objstore_change_handler handler, void *userdata,
    objstore_free_userdata free_userdata, objstore_token **token)
    OBJSTORE_CHECKS(null(results, handler, token), nullable(free_userdata), closed(results), kind(results),
                    live(results), flags(flags));

/** Observes a query, and says which modifications count: those on `key_paths`, names of properties with a dot between.
 * What comes, goes and moves is always reported. NULL: as objstore_query_observe, where everything counts that is
 * written in the objects themselves, and in objects up to four links away from them; no paths, but an array: none.
 *
 *   "age"                  that property; of a collection, which elements are in it; of an embedded object, all inside
 *   "owner.name"           the link itself, and the name of the object that it leads to; also through lists, sets, maps
 *   "*", "owner.*"         every property of the object itself, of its owner
 *   "@links.Dog.owner.age" of the Dogs whose `owner` leads here: which these are, and their age (a name that the schema
 *                          has for the inverse will do)
 *
 * A modification by what lies behind a link is one of the property with the link. Each observer is told exactly of its
 * own paths. Cost: for each object that was changed and lies on a path, O(log n) for each one that leads to it.
 * NO_SUCH_PROPERTY, NO_SUCH_CLASS: a path has a name that is not there. WRONG_TYPE: it goes on behind something that
 * leads to no objects of one class. INVALID_ARGUMENT: it is empty, or has more than 64 names; or there are paths, and
 * the query is one of a table, or of plain values, for which `key_paths` is NULL. */
OBJSTORE_API objstore_status objstore_query_observe_paths(
    objstore_query *query, objstore *store, const objstore_text *key_paths, size_t key_path_count, uint32_t flags,
    objstore_change_handler handler, void *userdata, objstore_free_userdata free_userdata, objstore_token **token)
    OBJSTORE_CHECKS(null(query, store, handler, token), nullable(key_paths, free_userdata), closed(query, store),
                    kind(query, store), array(key_paths, key_path_count), count(key_path_count), flags(flags));

/** The same of all objects of a class, without indices, as objstore_observe. */
OBJSTORE_API objstore_status objstore_observe_paths(
    objstore *store, objstore_class_id class_id, const objstore_text *key_paths, size_t key_path_count, uint32_t flags,
    objstore_change_handler handler, void *userdata, objstore_free_userdata free_userdata, objstore_token **token)
    OBJSTORE_CHECKS(null(store, handler, token), nullable(key_paths, free_userdata), closed(store), kind(store),
                    class(class_id), array(key_paths, key_path_count), count(key_path_count), flags(flags));

/** The same from what results show, as objstore_results_observe. */
OBJSTORE_API objstore_status objstore_results_observe_paths(
    objstore_results *results, const objstore_text *key_paths, size_t key_path_count, uint32_t flags,
    objstore_change_handler handler, void *userdata, objstore_free_userdata free_userdata, objstore_token **token)
    OBJSTORE_CHECKS(null(results, handler, token), nullable(key_paths, free_userdata), closed(results), kind(results),
                    live(results), array(key_paths, key_path_count), count(key_path_count), flags(flags));

/** The same of a list, set or map itself, as objstore_collection_observe: paths begin at the objects that its elements
 * are links to. INVALID_ARGUMENT: they are no objects. */
OBJSTORE_API objstore_status objstore_collection_observe_paths(
    objstore *store, objstore_collection collection, const objstore_text *key_paths, size_t key_path_count,
    uint32_t flags, objstore_change_handler handler, void *userdata, objstore_free_userdata free_userdata,
    objstore_token **token)
    OBJSTORE_CHECKS(null(store, handler, token), nullable(key_paths, free_userdata), closed(store), kind(store),
                    store(collection), deleted(collection), property(collection), type(collection),
                    array(key_paths, key_path_count), count(key_path_count), flags(flags));

/** Observes one object, from now on: a change set has one modification of it, or its deletion, behind which nothing
 * comes. `key_paths` as above; NULL: every property of the object itself, and what is embedded in it. However many
 * objects are observed, a commit costs a look for each object that it has changed. NO_SUCH_OBJECT. */
OBJSTORE_API objstore_status objstore_object_observe(
    objstore *store, objstore_object object, const objstore_text *key_paths, size_t key_path_count, uint32_t flags,
    objstore_change_handler handler, void *userdata, objstore_free_userdata free_userdata, objstore_token **token)
    OBJSTORE_CHECKS(null(store, handler, token), nullable(key_paths, free_userdata), closed(store), kind(store),
                    store(object), deleted(object), array(key_paths, key_path_count), count(key_path_count),
                    flags(flags));

/** Observes results in sections, from what the sections show now: which sections came and went, and in which ones
 * objects did. objstore_changes_list has the indices inside of the sections, objstore_changes_sections the sections; of
 * OBJSTORE_SECTION_DELETIONS and OBJSTORE_SECTION_INSERTIONS it lists sections, and objstore_changes_keys their keys.
 *
 *      before   F: Fido Flix   R: Rex            deletion            Flix      [0][1]
 *      after    F: Fido        W: Rex Wolfie     move                Rex       [1][0] ──► [1][0]
 *                                                insertion           Wolfie    [1][1]
 *                                                section deletion    R         [1]
 *                                                section insertion   W         [1]
 *
 * An object moves where its section is another one, or stands elsewhere among the others, which is a deletion and an
 * insertion of the section; else as in a list, among those that stayed in the section. A section is the same as long as
 * its key is equal to what it was. Sections follow: take out objects that were deleted and moved, from the last on up;
 * take out sections that were deleted, which are empty now; put in sections that were inserted, from the first on down,
 * and then objects that were inserted and moved.
 *
 * `one` (NULL: all) is the key of the one section that is observed, also one that there is not yet: what moves into it
 * counts as an insertion, what moves out of it as a deletion, and where it stands among the others is not reported.
 *
 * Otherwise as objstore_results_observe_paths; what says the key is among what is read, and a change of it counts also
 * where the key paths do not have it. Where the objects' own values say it, and the results' cost follows what changed
 * without LIMIT and OFFSET, it does here, too, plus a look at each section. Otherwise sections are made anew of what
 * the query finds, and compared: O(k). Memory: 8 to 24 bytes an object.
 * A function that says the key (objstore_sections_by) is asked again about all objects after each commit, inside of
 * objstore_deliver and objstore_wait, with a view of that version; its userdata lives as long as the observer, and two
 * threads may call it at a time.
 * WRONG_VIEW: also where the view has moved since the sections were made (objstore_sections_update them first).
 * WRONG_TYPE, WRONG_STORE, INVALID_UTF8: `one` is no key. */
OBJSTORE_API objstore_status objstore_sections_observe(
    objstore_sections *sections, const objstore_value *one, const objstore_text *key_paths, size_t key_path_count,
    uint32_t flags, objstore_change_handler handler, void *userdata, objstore_free_userdata free_userdata,
    objstore_token **token)
    OBJSTORE_CHECKS(null(sections, handler, token), nullable(one, key_paths, free_userdata), closed(sections),
                    kind(sections), text(one), live(sections), array(key_paths, key_path_count),
                    count(key_path_count), flags(flags));

/** Observes the store: called when something was committed, by whichever thread or process, several commits at once if
 * it comes late, and not told what: the change set has versions and views, but no class (class_id 0) and no lists. */
OBJSTORE_API objstore_status objstore_observe_commits(objstore *store, uint32_t flags,
                                                      objstore_change_handler handler, void *userdata,
                                                      objstore_free_userdata free_userdata, objstore_token **token)
    OBJSTORE_CHECKS(null(store, handler, token), nullable(free_userdata), closed(store), kind(store), flags(flags));

/** Lets an observer rest: it is told nothing until objstore_token_resume, and then of all that was committed meanwhile,
 * at once. A call that runs on another thread is not waited for. It pins the version that it knows. May be called from
 * anywhere, any number of times. */
OBJSTORE_API objstore_status objstore_token_pause(objstore_token *token)
    OBJSTORE_CHECKS(null(token), closed(token), kind(token));

/** Goes on after objstore_token_pause; otherwise nothing. */
OBJSTORE_API objstore_status objstore_token_resume(objstore_token *token)
    OBJSTORE_CHECKS(null(token), closed(token), kind(token));

/** Says how many versions were committed that the observer has not been told of, checkpoints included. Until it is
 * told, or OBJSTORE_LIMIT_OBSERVER_LAG is passed, the version that it knows is pinned. */
OBJSTORE_API objstore_status objstore_token_lag(objstore_token *token, uint64_t *versions)
    OBJSTORE_CHECKS(null(token, versions), closed(token), kind(token));

/** Lets an observer begin where a program has stopped: it knows the version of `bookmark` from now on, whatever it knew
 * before, and is told of what was committed since, in one change set, as if it had been there; no initial one comes. Of
 * an observer that is paused (OBJSTORE_OBSERVE_PAUSED); it goes on with objstore_token_resume.
 *
 * Where nobody keeps that version any more, where the schema has changed since, or the version does not have the object
 * or collection that is observed, it begins anew: its first change set has OBJSTORE_CHANGES_LOST, and no lists.
 *
 *     objstore_token_bookmark(token, &seen)     now and then, and before the program ends: to be written down
 *     objstore_keep_version(store, name, &seen) with what was made of the change sets
 *     …
 *     objstore_observe(store, dogs, OBJSTORE_OBSERVE_PAUSED, handler, …, &token)
 *     objstore_token_since(token, &seen);  objstore_token_resume(token)
 *
 * INVALID_ARGUMENT: the observer is not paused; the bytes are no bookmark. WRONG_STORE: of another store. IN_CALLBACK:
 * from inside a handler, while the observer's own runs. TIMEOUT, TOO_MANY_READERS, ALREADY_IN_WRITE: as
 * objstore_view_at. Cost: what asking the query in that version costs. */
OBJSTORE_API objstore_status objstore_token_since(objstore_token *token, const objstore_bookmark *bookmark)
    OBJSTORE_CHECKS(null(token, bookmark), closed(token), kind(token));

/** Names the version that the observer has been told of, also where that told it of nothing; inside its handler, that
 * of the change set. The observer keeps this version until it is told of a later one: time to have it kept by a name.
 * A call of the handler that runs on another thread is waited for.
 * VERSION_GONE: it was too far behind (OBJSTORE_LIMIT_OBSERVER_LAG), and has not begun anew yet. IN_CALLBACK: inside of
 * a handler, while another thread runs the observer's own. */
OBJSTORE_API objstore_status objstore_token_bookmark(objstore_token *token, objstore_bookmark *bookmark)
    OBJSTORE_CHECKS(null(token, bookmark), closed(token), kind(token));

/** Lets at least so much time pass between the end of one call of the handler and the next, in milliseconds up to a
 * day; what is committed meanwhile comes in one change set, when the time is over. 0: no rest. OUT_OF_RANGE. */
OBJSTORE_API objstore_status objstore_token_set_interval(objstore_token *token, int64_t interval_ms)
    OBJSTORE_CHECKS(null(token), closed(token), kind(token), range(interval_ms));

/** Observes a list, set or map itself, of any elements, from now on: commits after this call are reported. Deletions,
 * insertions, modifications and moves (objstore_change) have positions; of a map objstore_changes_keys tells which
 * entries. Only lists have moves.
 *
 * Of lists and sets of links they are about objects, as with a query of the collection: a modification is of an object
 * in it, and objstore_changes_list gives the objects. Otherwise there are none, and a modification is of an element:
 * another value in its place, or behind its key, also an equal one; of a map also of the object that the key leads to.
 * `class_id` of such a change set is that of the owner, and each modification wrote the property
 * (objstore_changes_has).
 *
 * A change of a value inside of a mixed element is one of that element. Lists and maps inside of mixed values:
 * objstore_mixed_observe.
 *
 * The owner was deleted, or the property dropped by another process: OBJSTORE_CHANGES_OWNER_DELETED, with a deletion of
 * everything, and nothing more comes. Cost: O(log n) for each change, where the log has it and no object in a
 * collection of links was changed. Where objects in it were changed and nothing else, O(log n) for each of them in a
 * set; in a list or map their links are looked for, a million in about a millisecond. Where both happened, or very many
 * objects of the class were changed, both versions are read and compared, O(n). Nothing is read where the collection
 * was not written, and none of its objects changed. Memory: none for elements. Of values that were compared
 * (OBJSTORE_CHANGES_COMPARED) equal ones that were written again are not reported.
 * NO_SUCH_OBJECT: the newest version does not have the owner; one that is not committed is not there yet. */
OBJSTORE_API objstore_status objstore_collection_observe(objstore *store, objstore_collection collection,
                                                         uint32_t flags, objstore_change_handler handler,
                                                         void *userdata, objstore_free_userdata free_userdata,
                                                         objstore_token **token)
    OBJSTORE_CHECKS(null(store, handler, token), nullable(free_userdata), closed(store), kind(store),
                    store(collection), deleted(collection), property(collection), type(collection), flags(flags));

/** Observes a list or map inside of a mixed value: what is at the end of a path (section 11). It is a place: its first
 * change set tells what was put there, or went, since this call, and if another list of the same kind comes there, or
 * again one where there was none for a while, what leads to that. Change sets are those of a list of values, or of a
 * map, of objstore_collection_observe; a change of anything in an element is a modification of that element. What is in
 * the objects that links in it lead to does not count.
 *
 * The owner was deleted, or the property dropped: OBJSTORE_CHANGES_OWNER_DELETED, and nothing more comes. Both versions
 * are read and compared where the property was written, O(its bytes); equal elements that were written again are not
 * reported. Memory: none for elements.
 * NO_SUCH_OBJECT, NOT_FOUND: the newest version has no such object, or nothing there. WRONG_TYPE: there is no list and
 * no map. */
OBJSTORE_API objstore_status objstore_mixed_observe(objstore *store, objstore_object object,
                                                    objstore_property_id property_id, const objstore_value *steps,
                                                    size_t step_count, uint32_t flags, objstore_change_handler handler,
                                                    void *userdata, objstore_free_userdata free_userdata,
                                                    objstore_token **token)
    OBJSTORE_CHECKS(null(store, handler, token), nullable(free_userdata, steps), closed(store), kind(store),
                    store(object), deleted(object), property(property_id), type(property_id),
                    array(steps, step_count), count(step_count), steps(steps), flags(flags));

/** Ends an observer. Its handler is not called again after this returns, and userdata was freed; from inside its own
 * handler: freed when the handler returns. NULL is allowed. Blocks while the handler runs on another thread, except
 * where that could never end: from inside a handler, and while this thread has a transaction open, the call that is in
 * progress there is the last. */
OBJSTORE_API objstore_status objstore_token_close(objstore_token *token)
    OBJSTORE_CHECKS(nullable(token), closed(token), kind(token));

/** Gives a descriptor that is readable while change sets may be due (commits to other classes count until they were
 * looked at): for poll, epoll, asyncio, GLib, libdispatch. It stays the library's: do not read, write or close it;
 * objstore_deliver makes it quiet again. Valid until the handle is closed.
 * NOT_SUPPORTED: the store was opened with OBJSTORE_CONFIG_DELIVER_ON_WORKER. */
OBJSTORE_API objstore_status objstore_notify_fd(objstore *store, int32_t *fd)
    OBJSTORE_CHECKS(null(store, fd), closed(store), kind(store));

/** Calls the handlers of all change sets that are due, on this thread, and the bodies and completions of asynchronous
 * writes (section 19); returns, and `delivered` (NULL: not wanted) is how many. Several threads may deliver at a time;
 * each change set is delivered on one of them. Blocks for your handlers only.
 * Errors: CALLBACK, IN_CALLBACK; of the store: IO, CORRUPT, TOO_MANY_READERS, with which no change is lost; REPLACED:
 * another store has been opened in the place of this one, and all that was committed before has been told. */
OBJSTORE_API objstore_status objstore_deliver(objstore *store, size_t *delivered)
    OBJSTORE_CHECKS(null(store), nullable(delivered), closed(store), kind(store), callback(store));

/** Brings what this thread shows up to date: calls the handlers of all change sets that are due, as objstore_deliver
 * does, but no bodies and completions of asynchronous writes, and moves `view`, a live one (NULL: none), to the newest
 * version; `changed` (NULL: not wanted) is whether that has moved. Handlers of a store that was opened with
 * OBJSTORE_CONFIG_DELIVER_ON_WORKER are left to its worker. Inside of a callback of the store, and while this thread
 * has a transaction open, nothing happens, and nothing has changed. Never waits for a writer; blocks for your
 * handlers.
 * Errors: as objstore_deliver, and the view has moved all the same; of the view as objstore_view_refresh. WRONG_STORE:
 * the view was opened through another handle. */
OBJSTORE_API objstore_status objstore_refresh(objstore *store, objstore_view *view, bool *changed)
    OBJSTORE_CHECKS(null(store), nullable(view, changed), closed(store, view), kind(store, view), live(view),
                    store(view));

/** Waits until something is due, at most `timeout_ms` (>= 0, or OBJSTORE_FOREVER), then delivers as objstore_deliver.
 * If nothing came, a signal was handled, or the last asynchronous write has come to its end: OBJSTORE_OK and 0
 * delivered. What the delivery before could not read (a function of a query failed, IO) is tried again when something
 * was committed, or the time is over. If another thread closes the store: CLOSED_HANDLE. pthread_cancel ends the thread
 * while it waits, and nothing of the wait is left. */
OBJSTORE_API objstore_status objstore_wait(objstore *store, int64_t timeout_ms, size_t *delivered)
    OBJSTORE_CHECKS(null(store), nullable(delivered), closed(store), kind(store), callback(store),
                    range(timeout_ms));

/** What a change set is. Make one with objstore_changes_info_init(). */
typedef struct objstore_changes_info {
    uint32_t struct_size;
    uint32_t flags;              /* OBJSTORE_CHANGES_… */
    objstore_class_id class_id;  /* 0: of commits (objstore_observe_commits) */
    uint32_t mask_words;         /* 64-bit words in the mask of one modification */
    uint64_t from_version;       /* what the observer knew before */
    uint64_t to_version;         /* what it knows now */
    uint64_t deletion_count;
    uint64_t insertion_count;
    uint64_t modification_count;
    uint64_t move_count;
} objstore_changes_info;
enum {
    OBJSTORE_CHANGES_INITIAL = 0x1,       /* the first one: no lists */
    OBJSTORE_CHANGES_OTHER_PROCESS = 0x2, /* some of it was committed by another process */
    OBJSTORE_CHANGES_COMPARED = 0x4,      /* it came so late that two versions were compared: only real changes */
    OBJSTORE_CHANGES_OWNER_DELETED = 0x8, /* of a collection: its owner was deleted, and nothing is found any more;
                                           * or what is asked about was dropped (objstore_query_observe) */
    OBJSTORE_CHANGES_CLEARED = 0x10,      /* of an observed collection: it had elements, and has none now */
    OBJSTORE_CHANGES_LOST = 0x20          /* it is too late to say what changed (OBJSTORE_LIMIT_OBSERVER_LAG): no lists;
                                           * what is observed has to be looked at anew, in the view after */
};

#ifndef OBJSTORE_DECLARATIONS_ONLY
static inline objstore_changes_info objstore_changes_info_init(void) {
    objstore_changes_info info = OBJSTORE_ZERO;
    info.struct_size = (uint32_t)sizeof info;
    return info;
}
#endif

/** Describes a change set. */
OBJSTORE_API objstore_status objstore_changes_get_info(objstore_changes *changes, objstore_changes_info *info)
    OBJSTORE_CHECKS(null(changes, info), closed(changes), kind(changes), size(info));

/** Which objects objstore_changes_list lists. */
OBJSTORE_ENUM(objstore_change) {
    OBJSTORE_DELETIONS = 1,          /* indices before the change */
    OBJSTORE_INSERTIONS = 2,         /* indices after */
    OBJSTORE_MODIFICATIONS = 3,      /* indices before */
    OBJSTORE_MODIFICATIONS_AFTER = 4, /* the same objects in the same order, indices after */
    OBJSTORE_MOVES = 5,               /* indices before: of objects that stand elsewhere among the others */
    OBJSTORE_MOVES_AFTER = 6,         /* the same objects in the same order, indices after */
    OBJSTORE_SECTION_DELETIONS = 7,   /* no objects: numbers of sections before, of objstore_sections_observe */
    OBJSTORE_SECTION_INSERTIONS = 8   /* numbers of sections after */
};
/** Lists the objects deleted, inserted, modified or moved, ascending by key, or by index for results (of
 * OBJSTORE_MOVES_AFTER: as in OBJSTORE_MOVES). `objects` and `indices` are arrays of `count`, borrowed as long as the
 * change set lives; `indices` (NULL: not wanted) is set to NULL for an observed class, `objects` for an observed map,
 * for an observed list or set of values, for groups, and for a query of plain values.
 *
 * A list follows: take out what was deleted and moved, from the greatest index before on down; put in what was inserted
 * and moved, from the least index after on up. No object appears twice, but for one that is in a collection several
 * times: created and deleted since = nothing, created and changed = inserted, deleted and changed = deleted, changed
 * and moved = moved. Only results with an order of their own have moves.
 *
 * Of observed sections the lists ascend by section and index, and indices are those inside of the sections, which
 * objstore_changes_sections gives. WRONG_TYPE: sections are asked for, and the change set has none. */
OBJSTORE_API objstore_status objstore_changes_list(objstore_changes *changes, objstore_change change,
                                                   const objstore_object **objects, const uint64_t **indices,
                                                   size_t *count)
    OBJSTORE_CHECKS(null(changes, objects, count), nullable(indices), closed(changes), kind(changes),
                    enum(change));

/** Lists the keys of the entries of a map that were deleted, inserted or modified, ascending, so in the order of
 * objstore_changes_list: an array of `count`, borrowed as long as the change set lives, with all texts. Of
 * MODIFICATIONS and MODIFICATIONS_AFTER the same; of MOVES none. Of SECTION_DELETIONS and SECTION_INSERTIONS the keys
 * of these sections, in their order. WRONG_TYPE: the change set is not one of a map (objstore_collection_observe,
 * objstore_mixed_observe, a query of objstore_query_values), or not one of sections. */
OBJSTORE_API objstore_status objstore_changes_keys(objstore_changes *changes, objstore_change change,
                                                   const objstore_value **keys, size_t *count)
    OBJSTORE_CHECKS(null(changes, keys, count), closed(changes), kind(changes), enum(change));

/** Gives the sections that the objects are in which objstore_changes_list lists for the same `change`: an array of
 * `count` numbers, before or after as the indices, borrowed as long as the change set lives. WRONG_TYPE: the change set
 * is not one of objstore_sections_observe. */
OBJSTORE_API objstore_status objstore_changes_sections(objstore_changes *changes, objstore_change change,
                                                       const uint64_t **sections, size_t *count)
    OBJSTORE_CHECKS(null(changes, sections, count), closed(changes), kind(changes), enum(change));

/** Says whether this property of the modification at `index` (in OBJSTORE_MODIFICATIONS) was written; indices from
 * modification_count on are those of OBJSTORE_MOVES. OUT_OF_RANGE. WRONG_TYPE: the change set is of a table, which has
 * columns (objstore_changes_column). */
OBJSTORE_API objstore_status objstore_changes_has(objstore_changes *changes, uint64_t index,
                                                  objstore_property_id property_id, bool *changed)
    OBJSTORE_CHECKS(null(changes, changed), closed(changes), kind(changes), range(index),
                    property(property_id));

/** Says the same of a column of an observed table: whether the row has another value in it than before. OUT_OF_RANGE.
 * WRONG_TYPE: the change set is not of a table. */
OBJSTORE_API objstore_status objstore_changes_column(objstore_changes *changes, uint64_t index, size_t column_index,
                                                     bool *changed)
    OBJSTORE_CHECKS(null(changes, changed), closed(changes), kind(changes));

/** Says the same for all modifications, and then all moves, at once: `masks` is an array of (modification_count +
 * move_count) × mask_words words, borrowed as long as the change set lives. The bit of a property is its index
 * (objstore_property_info), that of a column of a table its place: bit index % 64 of word index / 64. */
OBJSTORE_API objstore_status objstore_changes_masks(objstore_changes *changes, const uint64_t **masks,
                                                    size_t *word_count)
    OBJSTORE_CHECKS(null(changes, masks, word_count), closed(changes), kind(changes));

/** Before or after the changes. */
OBJSTORE_ENUM(objstore_side) {
    OBJSTORE_BEFORE = 1, /* from_version: deleted objects are still there */
    OBJSTORE_AFTER = 2   /* to_version */
};
/** Gives a frozen view of the store before or after the changes. It belongs to the change set and lives as long as
 * that. */
OBJSTORE_API objstore_status objstore_changes_view(objstore_changes *changes, objstore_side side,
                                                   objstore_view **view)
    OBJSTORE_CHECKS(null(changes, view), closed(changes), kind(changes), enum(side));

/** Gives an observed table before or after the changes. It is yours, and stays when the change set is closed. One of
 * groups is the table that was compared, without asking again; one of objects is asked for now, in that version.
 * Before is from_version: where the observer's program has written without being told, positions are those of a table
 * that has this, too, and no version has it.
 * WRONG_TYPE: the change set is not of a table. Errors: as of objstore_query_table. */
OBJSTORE_API objstore_status objstore_changes_table(objstore_changes *changes, objstore_side side,
                                                    objstore_table **table)
    OBJSTORE_CHECKS(null(changes, table), closed(changes), kind(changes), enum(side));

/** The same of observed plain values (objstore_query_values). They belong to the change set and live as long as that.
 * WRONG_TYPE: the change set is not of such a query. */
OBJSTORE_API objstore_status objstore_changes_values(objstore_changes *changes, objstore_side side,
                                                     objstore_values **values)
    OBJSTORE_CHECKS(null(changes, values), closed(changes), kind(changes), enum(side));

/** Keeps a change set beyond its handler: `kept` is a handle of yours on the same data, which pins both versions
 * until it is closed. */
OBJSTORE_API objstore_status objstore_changes_keep(objstore_changes *changes, objstore_changes **kept)
    OBJSTORE_CHECKS(null(changes, kept), closed(changes), kind(changes));

/** Closes a kept change set. NULL is allowed. The one that a handler was given: IN_CALLBACK. */
OBJSTORE_API objstore_status objstore_changes_close(objstore_changes *changes)
    OBJSTORE_CHECKS(nullable(changes), closed(changes), kind(changes));

/* ================================================================================================
 *  19. Asynchronous writes
 *
 *  A thread with an event loop or a user interface must not wait for other writers or for a disk. It says what is to be
 *  written, and goes on; threads of the library wait for it. The work itself is done by your functions on the thread
 *  that delivers (section 18), and nowhere else:
 *
 *      objstore_write_async ─► the lock is waited for ─► notify_fd readable ─► objstore_deliver ─► your body
 *                                                                                                     │
 *      your completion ◄─ objstore_deliver ◄─ notify_fd readable ◄─ pages, log and sync are waited for ◄┘
 *
 *  Bodies run one after the other, in the order of the calls; completions are called once each, in the order in which
 *  the bodies have returned, and after the commit is visible. A process that is killed leaves those that were
 *  committed, without a gap between them.
 *
 *  A transaction whose body no thread comes for keeps other writers waiting for 50 ms at most; then the lock is
 *  released, and waited for again once a thread has come (for twice as long each time that it comes too late, to
 *  1.6 s). objstore_begin goes first where a body has not begun. With OBJSTORE_CONFIG_DELIVER_ON_WORKER, bodies and
 *  completions run on the store's own thread.
 *
 *  Coroutines, futures and actors have a stack of their own, and no use for a body. They request a transaction, go to
 *  sleep, are woken by `ready`, and claim it on whatever thread they are then; and so with the outcome of its commit:
 *
 *      objstore_request_begin ─► the lock is waited for ─► ready(…) ─► objstore_claim_begin ─► the transaction
 *      objstore_request_commit ─► log and sync are waited for ─► ready(…) ─► objstore_claim_commit ─► the version
 *
 *  objstore_close waits for all of it: bodies and completions that are due run inside it, and what they want to begin
 *  asynchronously is refused with CLOSED_HANDLE.
 * ================================================================================================ */

/** Names an asynchronous write or commit of one store handle; never 0, and never used again. */
typedef uint64_t objstore_async_id;

/** Called when an asynchronous write has come to its end: it is visible, and durable as the store's durability says
 * (OBJSTORE_OK, with the version that it made, or where it changed nothing, began with), or it has left nothing. Then
 * `status` is that of the error, about which objstore_last_error and its neighbours say more; CANCELLED: by
 * objstore_cancel_async or objstore_cancel inside of the body; CALLBACK, with the body's status as callback_code: the
 * body has failed. With a status other than OK it counts as called, and objstore_deliver or objstore_wait returns
 * CALLBACK, as for a handler. May read, write and begin asynchronously; must not deliver, wait or close the store. */
typedef objstore_status (*objstore_completion)(objstore_status status, uint64_t version, void *userdata);

enum {
    OBJSTORE_ASYNC_ALLOW_GROUPING = 0x1, /* the commit may be one with those of the writes that follow: one sync for
                                            all, and all of them survive or none */
    OBJSTORE_ASYNC_ALONE = 0x2           /* the transaction is shared with no other write, nor with one before it:
                                            objstore_without_notifying needs that */
};

/** Runs `body` in a transaction when its turn has come, commits when it returns OBJSTORE_OK, and cancels for any other
 * status; then calls `completion` (NULL: nobody is told; a failing body's status is then objstore_deliver's, as
 * CALLBACK). Returns at once. Inside of it the body may end the transaction by itself: by objstore_commit, which waits,
 * objstore_cancel or objstore_commit_async. `flags` are OBJSTORE_ASYNC_…, or 0; `id` (NULL: not wanted) is for
 * objstore_cancel_async. May be called inside of transactions, bodies and handlers: it is queued.
 * The userdata of body and completion is one; it is freed after the completion. */
OBJSTORE_API objstore_status objstore_write_async(objstore *store, uint32_t flags, objstore_write_body body,
                                                  objstore_completion completion, void *userdata,
                                                  objstore_free_userdata free_userdata, objstore_async_id *id)
    OBJSTORE_CHECKS(null(store, body), nullable(completion, free_userdata, id), closed(store), kind(store),
                    writable(store), flags(flags));

/** Runs `body` in a transaction when its turn has come. The body ends that with objstore_commit_async,
 * objstore_commit or objstore_cancel; one that it leaves open is cancelled. A status of the body other than OK cancels,
 * too, and is that of objstore_deliver, as CALLBACK. `flags`: OBJSTORE_ASYNC_ALONE, or 0. Everything else as for
 * objstore_write_async. */
OBJSTORE_API objstore_status objstore_begin_async(objstore *store, uint32_t flags, objstore_write_body body,
                                                  void *userdata, objstore_free_userdata free_userdata,
                                                  objstore_async_id *id)
    OBJSTORE_CHECKS(null(store, body), nullable(free_userdata, id), closed(store), kind(store), writable(store),
                    flags(flags));

/** Commits a transaction as objstore_commit does, but returns at once; `completion` (NULL: nobody is told) is called
 * when it has happened or failed. Also for transactions that began with objstore_begin. Inside of an asynchronous body
 * the commit begins when that has returned, unless it fails. The view is closed whatever the status, except for
 * NOT_IN_WRITE, CLOSED_HANDLE, WRONG_KIND, IN_CALLBACK (the view of an objstore_write body) and INVALID_ARGUMENT. */
OBJSTORE_API objstore_status objstore_commit_async(objstore_view *transaction, uint32_t flags,
                                                   objstore_completion completion, void *userdata,
                                                   objstore_free_userdata free_userdata, objstore_async_id *id)
    OBJSTORE_CHECKS(null(transaction), nullable(completion, free_userdata, id), closed(transaction),
                    kind(transaction), write(transaction), flags(flags));

/** Says that something which was requested can be claimed. Called on any thread, also inside of other calls of the
 * library and perhaps before the request has returned; it must return at once, and must not use the store. The function
 * eventfd_write of <sys/eventfd.h>, cast to this type and with the descriptor as `userdata`, is what an event loop
 * needs. */
typedef void (*objstore_ready)(void *userdata, objstore_async_id id);

/** Requests a transaction, in the order of bodies and requests; returns at once. When its turn has come, `ready` is
 * called: then objstore_claim_begin gives it. `flags`: OBJSTORE_ASYNC_ALONE, or 0. `ready` is not called any more once
 * a claim has returned something else than BUSY, or objstore_cancel_async or objstore_close has returned. What is
 * requested has to be claimed or cancelled: others wait behind it. */
OBJSTORE_API objstore_status objstore_request_begin(objstore *store, uint32_t flags, objstore_ready ready,
                                                    void *userdata, objstore_async_id *id)
    OBJSTORE_CHECKS(null(store, ready, id), closed(store), kind(store), writable(store), flags(flags));

/** Gives the transaction that was requested to the thread that calls. It is one as of objstore_begin, and ends as such,
 * or by objstore_commit_async or objstore_request_commit. Neither this nor cancelling it ever waits.
 * BUSY: its turn has not come, or has passed, because no claim came for 50 ms or a synchronous write went first:
 * `ready` will be called again. ALREADY_IN_WRITE: this thread has a transaction open; claim it later. INVALID_ARGUMENT:
 * it was claimed or cancelled, or there never was such a request. Any other error ends the request: it is that of
 * beginning (TIMEOUT, TOO_MANY_VERSIONS, …), or CLOSED_HANDLE: the store is being closed. */
OBJSTORE_API objstore_status objstore_claim_begin(objstore *store, objstore_async_id id,
                                                  objstore_view **transaction)
    OBJSTORE_CHECKS(null(store, transaction), closed(store), kind(store), writable(store));

/** Commits a transaction as objstore_commit_async does, and returns at once. When that has happened or failed, `ready`
 * is called: then objstore_claim_commit says which. `flags`: OBJSTORE_ASYNC_ALLOW_GROUPING, or 0. */
OBJSTORE_API objstore_status objstore_request_commit(objstore_view *transaction, uint32_t flags, objstore_ready ready,
                                                     void *userdata, objstore_async_id *id)
    OBJSTORE_CHECKS(null(transaction, ready, id), closed(transaction), kind(transaction), write(transaction),
                    flags(flags));

/** Says how a commit that was requested went, once; as objstore_commit would have. Never waits.
 * BUSY: it is not over, and `ready` will be called. INVALID_ARGUMENT: it was claimed or cancelled before, or there
 * never was such a request. objstore_close waits for the commit, and nobody can ask for its outcome then. */
OBJSTORE_API objstore_status objstore_claim_commit(objstore *store, objstore_async_id id, uint64_t *version)
    OBJSTORE_CHECKS(null(store, version), closed(store), kind(store));

/** Cancels. What has not begun never will, and neither body nor completion nor `ready` is called. A body that runs is
 * undone when it returns, and its completion gets CANCELLED; a transaction that was claimed is undone when it ends.
 * What is being committed happens all the same, but its completion or `ready` is not called. Does nothing where it is
 * over, or where no such id is known. */
OBJSTORE_API objstore_status objstore_cancel_async(objstore *store, objstore_async_id id)
    OBJSTORE_CHECKS(null(store), closed(store), kind(store));

/** Says whether something that was begun asynchronously through this handle has not come to its end; its completion
 * belongs to it. */
OBJSTORE_API objstore_status objstore_is_writing_async(objstore *store, bool *writing)
    OBJSTORE_CHECKS(null(store, writing), closed(store), kind(store));

/** Keeps observers of this process from being told what this transaction changes, synchronous or not: those of a list,
 * say, that has shown the change already. All others are told. What these are told later is of other transactions
 * alone, also of those before it that they were not told of yet; and its positions are right for a reader who has
 * applied this transaction's changes to his list himself when it was committed. One who had not been told of everything
 * by then has put what came, or got another value to be sorted by, where it belongs beside the values that he knew; in
 * a list right behind the nearest element before it that he had. (What he has inserted, and others have deleted before
 * he was told of anything else, is not in the version before.)
 * May be called at any time in the transaction; several calls add up. Where it returns an error, nothing has changed.
 * Costs two pinned versions until these observers get there.
 * CLOSED_HANDLE: a token was closed. WRONG_STORE: it observes another store. INVALID_ARGUMENT: the transaction of an
 * asynchronous write that was begun without OBJSTORE_ASYNC_ALONE. TOO_MANY_READERS. */
OBJSTORE_API objstore_status objstore_without_notifying(objstore_view *transaction, objstore_token *const *tokens,
                                                        size_t count)
    OBJSTORE_CHECKS(null(transaction), closed(transaction), kind(transaction), write(transaction),
                    array(tokens, count), count(count));

/* ================================================================================================
 *  20. Typed observers, functions in queries
 * ================================================================================================ */

/** Any C function; cast yours to it. The signature says what it is called with. */
typedef void (*objstore_function)(void);

/** Observes a class and calls `function` once for each object that was inserted, or modified in one of the
 * `properties`, with their values as native C arguments, then `userdata`, always the last. No getter calls, no
 * change set.
 *
 *      objstore_status on_city(int64_t id, const char *name, int64_t name_length, const int64_t *population,
 *                              void *userdata);
 *      objstore_observe_typed(store, city, properties, 3, OBJSTORE_STR("i64, str, i64? -> status"),
 *                             (objstore_function)on_city, …);
 *
 * The signature: one word per property, separated by commas, '->', then "status" or "void" (no result). Blanks
 * are free.
 *
 *   word    property    C arguments                                  with '?', for a nullable property
 *   bool    BOOL        bool                                         const bool *, NULL for null
 *   i64     INT         int64_t                                      const int64_t *
 *   f32     FLOAT       float                                        const float *
 *   f64     DOUBLE      double                                       const double *
 *   time    TIMESTAMP   int64_t seconds, int32_t nanoseconds         const objstore_timestamp *
 *   str     STRING      const char *bytes, int64_t length            the same two; bytes NULL for null
 *   bin     BINARY      const uint8_t *bytes, int64_t length         the same two; bytes NULL for null
 *
 * Two words take no property and may stand anywhere: `key`, an int64_t, the object's key, and `event`, an
 * int32_t, OBJSTORE_INSERTIONS or OBJSTORE_MODIFICATIONS. A nullable property needs '?', one that is not must
 * not have it. Strings are not NUL-terminated. Everything that pointers point at is valid during the call only.
 * At most 64 words. Insertions come first, each group by key. A status other than OK ends this change set for
 * this observer; see objstore_change_handler.
 * INVALID_SIGNATURE: `position` is the byte that is wrong, the message says why. WRONG_TYPE, with class and
 * property: a word does not fit its property. Cost: the signature is parsed once; about 50 ns a call. */
OBJSTORE_API objstore_status objstore_observe_typed(
    objstore *store, objstore_class_id class_id, const objstore_property_id *properties, size_t property_count,
    objstore_text signature, objstore_function function, void *userdata, objstore_free_userdata free_userdata,
    objstore_token **token)
    OBJSTORE_CHECKS(null(store, function, token), nullable(properties, free_userdata), closed(store),
                    kind(store), class(class_id), array(properties, property_count), count(property_count),
                    property(properties), text(signature), name(signature));

enum {
    OBJSTORE_TYPED_DELETIONS = 0x1,  /* also what was deleted, or is not found any more, with its last values */
    OBJSTORE_TYPED_BEGINNINGS = 0x2, /* also all that is there, whenever it begins */
    OBJSTORE_TYPED_PAUSED = 0x4      /* nothing until objstore_token_resume: for objstore_token_since */
};

enum {
    OBJSTORE_BEGINNING = 0 /* an `event`: all that was told before is void */
};

/** The same of what a query finds, of its class's properties: an object that begins to satisfy it is an insertion, one
 * that was written and satisfies it, wherever it stands in an order, a modification. `flags` are OBJSTORE_TYPED_…, or
 * 0.
 *
 * With OBJSTORE_TYPED_DELETIONS the function is called for each object that was deleted, or that the query does not
 * find any more, too, with the values that it had when the observer was last told, and OBJSTORE_DELETIONS as its event:
 * the signature needs that word (INVALID_SIGNATURE, at the '->'). Deletions come first, then insertions, modifications,
 * and those modifications that came with a move; each group in the order of objstore_changes_list.
 *
 * With OBJSTORE_TYPED_BEGINNINGS it is told what is there at the first delivery, and again where it begins anew since
 * it is too late to say what changed (OBJSTORE_LIMIT_OBSERVER_LAG, objstore_token_since): the function is called once
 * with OBJSTORE_BEGINNING as its event, 0 and NULL for all else, and then for each object that the query finds, in
 * its order, as for an insertion. The signature needs `event`. So a mirror needs nothing but the events: it is
 * emptied at a beginning. Without that flag a typed observer is not told that it has begun anew.
 *
 * Errors and cost as of objstore_query_observe and objstore_observe_typed; a query without an order needs no memory for
 * its objects. */
OBJSTORE_API objstore_status objstore_query_observe_typed(
    objstore_query *query, objstore *store, uint32_t flags, const objstore_property_id *properties,
    size_t property_count, objstore_text signature, objstore_function function, void *userdata,
    objstore_free_userdata free_userdata, objstore_token **token)
    OBJSTORE_CHECKS(null(query, store, function, token), nullable(properties, free_userdata), closed(query, store),
                    kind(query, store), flags(flags), array(properties, property_count), count(property_count),
                    property(properties), text(signature), name(signature));

/* Functions that queries call: `haversine(lat, lon, $0, $1) < 50 SORT(haversine(lat, lon, $0, $1) ASC)`. They belong to
 * the handle of the store, not to the file, and the queries that are made in its views find them by name. */

/** Defines a function, or replaces the one that has the name. A query keeps the function that it was made with:
 * `userdata` is freed when the function was replaced, undefined or its store closed, and no query has it any more.
 *
 *      objstore_status haversine(double lat, double lon, double lat_2, double lon_2, double *result, void *userdata);
 *      objstore_define_function(store, OBJSTORE_STR("haversine"), OBJSTORE_STR("f64, f64, f64, f64 -> f64"),
 *                               (objstore_function)haversine, NULL, NULL);
 *
 * The name: 1 to 255 letters, digits and underscores of ASCII, no digit first, and no word of the query language. Upper
 * and lower case differ.
 *
 * The signature has a word for each argument, separated by commas, '->', and one for the result. Blanks are free.
 *
 *   word    values       C arguments                              as a result            of a batch
 *   bool    BOOL         bool                                     bool *                 const bool *
 *   i64     INT          int64_t                                  int64_t *              const int64_t *
 *   f32     FLOAT        float                                    float *                const float *
 *   f64     DOUBLE       double                                   double *               const double *
 *   time    TIMESTAMP    int64_t seconds, int32_t nanoseconds     objstore_timestamp *   const objstore_timestamp *
 *   str     STRING       const char *bytes, int64_t length        objstore_text *        const objstore_text *
 *   bin     BINARY       const uint8_t *bytes, int64_t length     objstore_bytes *       const objstore_bytes *
 *
 * By row: called once for an object, with its arguments, then a pointer for the result, zero at first, then `userdata`.
 * An int or float is converted to the nearest double where f64 is expected; other values of another kind are WRONG_TYPE
 * when the query is made, and null where they are in a MIXED property.
 *
 * Null: where an argument is null, the result is null, and the function is not called. With '?' it is called: such an
 * argument is a pointer, NULL for null, as in objstore_observe_typed. A result with '?' has one more pointer behind it,
 * `bool *is_null`, false at first; a str? or bin? result is null where its bytes are NULL, without that.
 *
 * By batch: "f64[], f64[], n -> f64[]" is called once for up to 4,096 objects, with an array for each argument and one
 * for the results, which come in the same order:
 *
 *      objstore_status haversine(const double *lat, const double *lon, …, size_t n, double *results, void *userdata);
 *
 * All are arrays, and `n`, where it stands, is how many elements each has, at least 1. Objects with a null argument are
 * not in them, but for those with '?': 'f64?[]' has a second pointer, `const uint8_t *validity`, one bit an element,
 * the lowest bit of byte 0 first, 1 = there is a value (what the array has where there is none means nothing). A result
 * 'f64?[]' has a `uint8_t *validity` behind it, all 1 at first. Results are no str and bin.
 *
 * Pointers are valid during the call only; a text that is returned is copied when the function has returned. At most 64
 * arguments. Any other status than OK ends the query with OBJSTORE_ERR_CALLBACK: callback_code and the message are
 * those of objstore_fail, or the status, and the message begins with the name of the function.
 *
 * Called on the thread that asks, by several at the same time if several ask; how often, and for which objects, is not
 * promised: a function gives the same for the same arguments and has no other effects. It may use the store and ask
 * queries, also of this kind. It can close neither the view nor the store (IN_CALLBACK), and while a query that calls
 * functions is asked in a transaction, nobody can change or end that (IN_CALLBACK). objstore_must_finish is for
 * functions, too. Of a query that is observed they are called where it is begun, and inside of objstore_deliver and
 * objstore_wait: what fails there is what these return, and no change is lost.
 *
 * INVALID_ARGUMENT: the name. INVALID_SIGNATURE: `position` is the byte that is wrong, the message says why. Cost:
 * about 50 ns a call, and the reading of the arguments; by batch a few nanoseconds an object. */
OBJSTORE_API objstore_status objstore_define_function(objstore *store, objstore_text name, objstore_text signature,
                                                      objstore_function function, void *userdata,
                                                      objstore_free_userdata free_userdata)
    OBJSTORE_CHECKS(null(store, function), nullable(free_userdata), closed(store), kind(store),
                    text(name, signature), name(name));

/** Forgets a function; queries that were made with it keep it. NOT_FOUND: there is none of that name. */
OBJSTORE_API objstore_status objstore_undefine_function(objstore *store, objstore_text name)
    OBJSTORE_CHECKS(null(store), closed(store), kind(store), text(name), name(name));

/** Who is told how far the queries have come that are asked through a store's handle, in any view, from now on; NULL:
 * nobody. What was given before is freed when no query is asked any more that tells it.
 *
 * `progress` is called on the thread that asks, by several at the same time if several ask: about each `interval_ms`
 * milliseconds, not before so many have passed, so that short queries are not told; with 0 very often. `done` counts
 * the objects that were looked at, also of classes that links lead to, `total` those of the class. Any other status
 * than OK ends the query with OBJSTORE_ERR_CANCELLED, callback_code is the status, or that of objstore_fail; nothing is
 * changed by an update or deletion that ends so, and the transaction goes on. It must not call the library
 * (IN_CALLBACK) but for objstore_fail and objstore_finish. What functions of a query ask is another query.
 *
 * Told are count, first, find, aggregates, tables, sections, each batch of an Arrow stream, which nothing comes behind
 * then, and results_update; not what an observer asks after its begin.
 * It is called while objects are sorted, too, with the same `done`: all have been looked at by then.
 * OUT_OF_RANGE: `interval_ms` is negative. Cost: of a query that nobody watches, none. */
OBJSTORE_API objstore_status objstore_watch_queries(objstore *store, int64_t interval_ms, objstore_progress progress,
                                                    void *userdata, objstore_free_userdata free_userdata)
    OBJSTORE_CHECKS(null(store), nullable(progress, free_userdata), closed(store), kind(store));

/* ================================================================================================
 *  21. JSON
 *
 *  Text in: RFC 8259, UTF-8; a byte order mark at its beginning is skipped, nothing may follow its end. Strings are
 *  valid Unicode: an escaped half of a surrogate pair is INVALID_UTF8; \u0000 is a character like others. Lists and
 *  objects may be nested 512 deep: 200 objects of classes, each in a list, and the deepest mixed value; so whatever is
 *  written can be read. An error in a text has a `position`, the byte, and its message says line and column (both from
 *  1, in bytes) and the path to the value:
 *
 *      line 3, column 14, at $[7].dogs[0].age: a value was expected, not "}"
 *
 *  With OBJSTORE_JSON_RELAXED also: keys without quotes (ASCII letters, digits, _ and $, and what is not ASCII; no
 *  digit first), strings in single quotes, a comma behind the last element, comments, NaN, Infinity and -Infinity.
 *
 *  Numbers are exact. An integer fits INT within 64 bits, DECIMAL128 within 34 digits, and FLOAT and DOUBLE where they
 *  have exactly that number; a fraction, or a number with an exponent, fits no INT, is the nearest FLOAT or DOUBLE, and
 *  exact in DECIMAL128; whatever would be infinite, or not exact where it must be, is OUT_OF_RANGE. In a MIXED property
 *  an integer is an INT, or beyond 64 bits a DECIMAL128, any other number a DOUBLE.
 *
 *  Text out: integers and decimals digit by digit, floats and doubles as the shortest number that reads back as the
 *  same value. NaN and the infinities have no form: OUT_OF_RANGE, unless a flag says otherwise. TIMESTAMP is a string,
 *  ISO 8601 in UTC with as many digits of a second as there are; BINARY base64; OBJECT_ID and UUID their hexadecimal
 *  text.
 *
 *  OBJSTORE_JSON_EXTENDED, in and out, writes and takes values that JSON has no form for as MongoDB's Extended JSON has
 *  them: {"$date": …}, {"$binary": …}, {"$oid": …}, {"$uuid": …}, {"$numberDecimal": …}, and of NaN and infinities
 *  {"$numberDouble": …}; it also takes {"$numberInt": …} and {"$numberLong": …}. INVALID_ARGUMENT: one whose content is
 *  not of its form.
 * ================================================================================================ */

enum {
    OBJSTORE_JSON_EXTENDED = 0x1,    /* in and out: Extended JSON */
    OBJSTORE_JSON_RELAXED = 0x2,     /* in: relaxed syntax */
    OBJSTORE_JSON_PRETTY = 0x4,      /* out: one element a line, two spaces a level */
    OBJSTORE_JSON_NAN_AS_NULL = 0x8  /* out: NaN and the infinities are null */
};

/** Receives the next piece of a text, on the calling thread. It is not NUL-terminated, ends anywhere, also within a
 * character, and is borrowed until the callback returns. A status other than OK ends the operation, which then returns
 * OBJSTORE_ERR_CANCELLED; callback_code is the status. */
typedef objstore_status (*objstore_json_write)(const char *bytes, size_t length, void *userdata);

/** Reads the next bytes of a text, on the calling thread: up to `capacity` into `bytes`, and says how many in `count`;
 * 0 is the end. A status other than OK ends the operation with OBJSTORE_ERR_CALLBACK; callback_code is that of
 * objstore_fail, or the status. It may use the store, but not end the transaction, nor a savepoint that was begun
 * before the call (IN_CALLBACK). What other threads change in the transaction waits until the call is over. */
typedef objstore_status (*objstore_json_read)(void *bytes, size_t capacity, size_t *count, void *userdata);

/** Converts a value to the kind that a property, or an element of it, has: a STRING, for example, to a TIMESTAMP,
 * BINARY, OBJECT_ID or UUID. `value` is what the text has, borrowed. Fill `converted` and set `is_converted`, or leave
 * both as they are (null, false): then the value is of the wrong type. Texts in `converted` must stay until the
 * function that took the callback returns.
 * Never called for numbers and numeric properties, null, or MIXED properties. A status other than OK ends the
 * operation, as above. Must not call the library, except objstore_fail. */
typedef objstore_status (*objstore_json_convert)(objstore_property_id property_id, objstore_kind kind,
                                                 objstore_value value, objstore_value *converted, bool *is_converted,
                                                 void *userdata);

/** Creates an object from a JSON text, or, with a policy other than ERROR, updates the one that has its primary key;
 * with everything that is nested in it, all or nothing, as objstore_create_from. `flags`: OBJSTORE_JSON_EXTENDED,
 * RELAXED, or 0. `object` and `outcome` may be NULL.
 *
 * The text is an object, names as in the schema, or an array, values in the order of the properties. Names that a class
 * does not have are ignored, at every depth. Types must fit: no number is made of a string or a bool, and a string is
 * no TIMESTAMP, BINARY, OBJECT_ID or UUID, except with `convert` (NULL: none) or OBJSTORE_JSON_EXTENDED. References as
 * objstore_to_json writes them are links; in MIXED values with EXTENDED alone, and only to objects that exist by then.
 *
 * INVALID_JSON, and the errors of objstore_create_from: position, line, column and path say where in the text, and
 * class_name and property_name of what, unless it cannot be of any: INVALID_JSON, a wrong {"$oid": …}, a string that is
 * too long. */
OBJSTORE_API objstore_status objstore_create_from_json(
    objstore_view *transaction, objstore_class_id class_id, objstore_policy policy, uint32_t flags, objstore_text json,
    objstore_json_convert convert, void *userdata, objstore_free_userdata free_userdata, objstore_object *object,
    objstore_outcome *outcome)
    OBJSTORE_CHECKS(null(transaction), nullable(convert, free_userdata, object, outcome), closed(transaction),
                    kind(transaction), write(transaction), class(class_id), enum(policy), flags(flags), text(json));

/** Creates or updates an object from each element of a JSON array, as objstore_create_from_json, all or nothing;
 * `count` (NULL: not wanted) is how many there are. Memory is needed for one element at a time, beside the text. */
OBJSTORE_API objstore_status objstore_create_all_from_json(
    objstore_view *transaction, objstore_class_id class_id, objstore_policy policy, uint32_t flags, objstore_text json,
    objstore_json_convert convert, void *userdata, objstore_free_userdata free_userdata, uint64_t *count)
    OBJSTORE_CHECKS(null(transaction), nullable(convert, free_userdata, count), closed(transaction), kind(transaction),
                    write(transaction), class(class_id), enum(policy), flags(flags), text(json));

/** Creates or updates an object from each element of a JSON array, as objstore_create_all_from_json, but reads the text
 * as it goes, in pieces of 64 KiB: an array of any length in the memory of its largest element. Both callbacks get
 * `userdata`. Blocks as `read` does. */
OBJSTORE_API objstore_status objstore_create_all_from_json_stream(
    objstore_view *transaction, objstore_class_id class_id, objstore_policy policy, uint32_t flags,
    objstore_json_read read,
    objstore_json_convert convert, void *userdata, objstore_free_userdata free_userdata, uint64_t *count)
    OBJSTORE_CHECKS(null(transaction, read), nullable(convert, free_userdata, count), closed(transaction),
                    kind(transaction), write(transaction), class(class_id), enum(policy), flags(flags));

/** Creates or updates an object from each element of a JSON array in a file, which is read as it goes. Otherwise as
 * objstore_create_all_from_json. NOT_FOUND: no file at `path`. IO: it cannot be read. */
OBJSTORE_API objstore_status objstore_create_all_from_json_file(
    objstore_view *transaction, objstore_class_id class_id, objstore_policy policy, uint32_t flags, objstore_text path,
    objstore_json_convert convert, void *userdata, objstore_free_userdata free_userdata, uint64_t *count)
    OBJSTORE_CHECKS(null(transaction), nullable(convert, free_userdata, count), closed(transaction), kind(transaction),
                    write(transaction), class(class_id), enum(policy), flags(flags), text(path), name(path));

/** Writes an object as JSON text, into `buffer`: a JSON object of all its properties, in the order of their
 * declaration. Lists and sets are arrays, maps objects. `json` (NULL: not wanted) is the text, in the buffer and
 * NUL-terminated. `flags`: OBJSTORE_JSON_EXTENDED, PRETTY, NAN_AS_NULL, or 0. Cost: O(bytes), memory for them twice.
 *
 * A link is the object that it leads to, as far as `depth` goes: 0 follows no link, 2 links of links, 100 is the most
 * (OUT_OF_RANGE). An object that lies deeper, or that is being written already (a cycle), is a reference: its primary
 * key, or, where its class has none, class and object key, {"$ref": "Dog", "$id": 12}. Where its primary key is null it
 * is {"$ref": "Dog", "$id": null}; where the key is of several properties, {"$ref": "City", "$id": {"country": "CH",
 * "name": "Bern"}}. Embedded objects are always written; more than 200 objects inside each other are OUT_OF_RANGE.
 *
 * With EXTENDED a link in a MIXED value is always, at any depth, such a {"$ref": …}, with the primary key as "$id", and
 * keys of maps that would be taken for Extended JSON get one more "$". Without it links in MIXED values come back as
 * what is written: objects, numbers, texts. objstore_create_from_json reads all of it, except objects and lists in sets
 * of MIXED elements, which only EXTENDED tells apart. */
OBJSTORE_API objstore_status objstore_to_json(objstore_view *view, objstore_object object, uint32_t depth,
                                              uint32_t flags, objstore_buffer *buffer, objstore_text *json)
    OBJSTORE_CHECKS(null(view, buffer), nullable(json), closed(view), kind(view), store(object), deleted(object),
                    range(depth), flags(flags), buffer(buffer));

/** Writes the value of a property as JSON text, as it stands in that of its object: a list, set or map, too. With steps
 * it writes what a path leads to, inside a mixed value or a collection of them (objstore_mixed_get). A link in it is an
 * object with `depth` 1, a reference with 0 (in MIXED values with EXTENDED always). Otherwise as objstore_to_json.
 * Errors: those of a path. NOT_FOUND: there is nothing at the end of it. */
OBJSTORE_API objstore_status objstore_property_to_json(objstore_view *view, objstore_object object,
                                                       objstore_property_id property_id, const objstore_value *steps,
                                                       size_t step_count, uint32_t depth, uint32_t flags,
                                                       objstore_buffer *buffer, objstore_text *json)
    OBJSTORE_CHECKS(null(view, buffer), nullable(json, steps), closed(view), kind(view), store(object), deleted(object),
                    property(property_id), array(steps, step_count), count(step_count), steps(steps), range(depth),
                    flags(flags), buffer(buffer));

/** Writes the objects of results as a JSON array, handed to `write` in pieces of some 64 KiB, on the calling thread:
 * memory for one object and one piece. Of a frozen view all objects are as they were at one time; of one that moves, or
 * is written, each as it is when its turn comes, and left out where it is gone. `write` may call the library, but not
 * close the results or their view. After an error what was handed over is the beginning of a text. */
OBJSTORE_API objstore_status objstore_results_to_json(objstore_results *results, uint32_t depth, uint32_t flags,
                                                      objstore_json_write write, void *userdata,
                                                      objstore_free_userdata free_userdata)
    OBJSTORE_CHECKS(null(results, write), nullable(free_userdata), closed(results), kind(results), range(depth),
                    flags(flags));

/** Writes a value as JSON text: of any kind but links and collections (WRONG_TYPE). A DOCUMENT is written whole. */
OBJSTORE_API objstore_status objstore_value_to_json(objstore_value value, uint32_t flags, objstore_buffer *buffer,
                                                    objstore_text *json)
    OBJSTORE_CHECKS(null(buffer), nullable(json), flags(flags), text(value), buffer(buffer));

/** Reads a JSON text as a value for a MIXED property: a DOCUMENT, borrowed from `buffer`, or, where the text is only
 * one other value, that value. `flags`: OBJSTORE_JSON_EXTENDED, RELAXED, or 0. Cost: O(bytes), some 400 MB/s, and
 * memory for 48 bytes a value.
 * INVALID_JSON, INVALID_UTF8, with a position. INVALID_ARGUMENT: a key that comes twice. OUT_OF_RANGE: a number, or
 * lists and maps more than 100 deep. */
OBJSTORE_API objstore_status objstore_value_from_json(objstore_text json, uint32_t flags, objstore_buffer *buffer,
                                                      objstore_value *value)
    OBJSTORE_CHECKS(null(buffer, value), flags(flags), text(json), buffer(buffer));

/* ================================================================================================
 *  22. Bound functions
 *
 *  For callers that can pass a function but no userdata: a C function made at run time that calls yours with `userdata`
 *  built in. It has the type of the function it stands for and ignores the userdata argument it is called with. Any
 *  number may be alive, each with its own userdata, on any thread. `bound` owns what it calls: it must outlive every
 *  call and every observer, configuration or store that has the function. About 40 ns a call (80 of those that are
 *  neither bodies, handlers, reports nor comparators), 150 ns to make.
 *
 *  There is one for each callback but objstore_free_userdata: that of a bound function is called when it ends.
 *  Functions with a signature of their own (section 20) have their userdata already. docs/callbacks.md has rules and
 *  examples.
 *
 *  OUT_OF_MEMORY: the system allows no memory for code.
 * ================================================================================================ */

/** Makes a body of a transaction with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_write_body(
    objstore_write_body body, void *userdata, objstore_free_userdata free_userdata,
    objstore_write_body *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(body, function, bound), nullable(free_userdata));

/** Makes a change handler with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_change_handler(
    objstore_change_handler handler, void *userdata, objstore_free_userdata free_userdata,
    objstore_change_handler *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(handler, function, bound), nullable(free_userdata));

/** Makes a function that is told of progress, and can end the operation, with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_progress(
    objstore_progress progress, void *userdata, objstore_free_userdata free_userdata,
    objstore_progress *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(progress, function, bound), nullable(free_userdata));

/** Makes a migration with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_migration(
    objstore_migration migrate, void *userdata, objstore_free_userdata free_userdata,
    objstore_migration *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(migrate, function, bound), nullable(free_userdata));

/** Makes a function that fills a new store, with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_initial_data(
    objstore_initial_data fill, void *userdata, objstore_free_userdata free_userdata,
    objstore_initial_data *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(fill, function, bound), nullable(free_userdata));

/** Makes a function that decides whether a store is compacted when it is opened, with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_compaction(
    objstore_compaction decide, void *userdata, objstore_free_userdata free_userdata,
    objstore_compaction *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(decide, function, bound), nullable(free_userdata));

/** Makes a function that says whether a call goes on waiting, with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_wait_handler(
    objstore_wait_handler handler, void *userdata, objstore_free_userdata free_userdata,
    objstore_wait_handler *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(handler, function, bound), nullable(free_userdata));

/** Makes a log hook with `userdata` built in. Called too late it does nothing. */
OBJSTORE_API objstore_status objstore_bind_log_handler(
    objstore_log_handler handler, void *userdata, objstore_free_userdata free_userdata,
    objstore_log_handler *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(handler, function, bound), nullable(free_userdata));

/** Makes a function that receives a report, with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_report(
    objstore_report report, void *userdata, objstore_free_userdata free_userdata,
    objstore_report *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(report, function, bound), nullable(free_userdata));

/** Makes a function that says the section of an object, with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_section_key(
    objstore_section_key key, void *userdata, objstore_free_userdata free_userdata,
    objstore_section_key *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(key, function, bound), nullable(free_userdata));

/** Makes a function that is called when an asynchronous write has come to its end, with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_completion(
    objstore_completion completion, void *userdata, objstore_free_userdata free_userdata,
    objstore_completion *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(completion, function, bound), nullable(free_userdata));

/** Makes a function that wakes whoever requested something, with `userdata` built in. Called too late it does
 * nothing. */
OBJSTORE_API objstore_status objstore_bind_ready(
    objstore_ready ready, void *userdata, objstore_free_userdata free_userdata,
    objstore_ready *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(ready, function, bound), nullable(free_userdata));

/** Makes a function that receives a JSON text, with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_json_write(
    objstore_json_write write, void *userdata, objstore_free_userdata free_userdata,
    objstore_json_write *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(write, function, bound), nullable(free_userdata));

/** Makes a function that reads a JSON text, with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_json_read(
    objstore_json_read read, void *userdata, objstore_free_userdata free_userdata,
    objstore_json_read *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(read, function, bound), nullable(free_userdata));

/** Makes a function that converts values of a JSON text, with `userdata` built in. */
OBJSTORE_API objstore_status objstore_bind_json_convert(
    objstore_json_convert convert, void *userdata, objstore_free_userdata free_userdata,
    objstore_json_convert *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(convert, function, bound), nullable(free_userdata));

/** Says in which order two things stand: negative, 0 or positive, as for qsort. */
typedef int (*objstore_comparator)(const void *a, const void *b, void *userdata);
/** The same without userdata: what qsort, bsearch, lfind and tsearch of the C library take, and many others. */
typedef int (*objstore_plain_comparator)(const void *a, const void *b);

/** Makes a comparator with `userdata` built in, a view for example in which it looks up what it compares:
 *
 *      objstore_bind_comparator(by_name, &view_and_property, NULL, &function, &bound);
 *      qsort(objects, count, sizeof *objects, function);
 *
 * The library itself takes no comparator: queries sort by values, by what is computed of them, and by functions of
 * yours, SORT(f(x)). Called too late it gives 0; the calling thread's last error is CLOSED_HANDLE then. */
OBJSTORE_API objstore_status objstore_bind_comparator(
    objstore_comparator compare, void *userdata, objstore_free_userdata free_userdata,
    objstore_plain_comparator *function, objstore_bound **bound)
    OBJSTORE_CHECKS(null(compare, function, bound), nullable(free_userdata));

/** Closes a bound function, and frees its userdata: before this returns, or, where calls of it run, when the last of
 * them returns, be it inside of one of them or on other threads, which are not waited for. NULL is allowed.
 * A bound function that is called after it was closed calls nothing and returns OBJSTORE_ERR_CLOSED_HANDLE, which
 * cancels a transaction and fails a delivery. Do not rely on it: after 256 others of its type were closed its code may
 * be that of a newer one. */
OBJSTORE_API objstore_status objstore_bound_close(objstore_bound *bound)
    OBJSTORE_CHECKS(nullable(bound), closed(bound), kind(bound));

#ifdef __cplusplus
}
#endif

#if defined(__swift__)
#  pragma clang diagnostic pop
#endif

#endif
