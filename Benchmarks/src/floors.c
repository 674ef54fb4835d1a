// What this machine can do without an engine: the same folder, the same data, no structure.
#include "bench.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// ----------------------------------------------------------------------------------- writing

enum { block_bytes = 1 << 20 };

written_file written_file_open(const char *path, uint64_t size) {
    written_file f = {open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), 0, size, must_alloc(block_bytes)};
    check_sys(f.descriptor >= 0);
    memset(f.block, 7, block_bytes);
    for (uint64_t at = 0; at < size; at += block_bytes) write_all(f.descriptor, f.block, block_bytes, at);
    check_sys(fsync(f.descriptor) == 0);
    return f;
}

void written_file_close(written_file *f) {
    check_sys(close(f->descriptor) == 0);
    free(f->block);
}

void floor_write(written_file *f, size_t bytes, bool sync) {
    if (bytes > block_bytes) die("a floor writes at most %d bytes at once", block_bytes);
    if (f->position + bytes > f->size) f->position = 0;
    f->block[0]++;
    write_all(f->descriptor, f->block, bytes, f->position);
    f->position += bytes;
    if (sync) check_sys(fdatasync(f->descriptor) == 0);
}

typedef struct { int descriptor; size_t used; uint64_t position; char block[block_bytes]; } block_writer;

static block_writer *block_writer_open(const char *path) {
    block_writer *w = must_alloc(sizeof *w);
    w->descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    check_sys(w->descriptor >= 0);
    return w;
}

static void block_writer_flush(block_writer *w) {
    write_all(w->descriptor, w->block, w->used, w->position);
    w->position += w->used;
    w->used = 0;
}

static inline void append(block_writer *w, const void *bytes, size_t count) {
    memcpy(w->block + w->used, bytes, count);
    w->used += count;
}

static void block_writer_close(block_writer *w, uint64_t expected) {
    block_writer_flush(w);
    if (w->position != expected) die("the floor wrote %lu bytes, not %lu", w->position, expected);
    check_sys(fdatasync(w->descriptor) == 0);
    check_sys(close(w->descriptor) == 0);
    free(w);
}

void floor_bulk_rows(const char *path, const people *p) {
    block_writer *w = block_writer_open(path);
    for (size_t i = 0; i < p->count; i++) {
        uint8_t lengths[2] = {(uint8_t)name_length(p, i), p->email_is_null[i] ? 255 : (uint8_t)email_length(p, i)};
        append(w, p->id + i, 8);
        append(w, p->score + i, 8);
        append(w, p->age + i, 1);
        append(w, lengths, 2);
        append(w, name_of(p, i), name_length(p, i));
        append(w, email_of(p, i), email_length(p, i));
        if (w->used > block_bytes - 256) block_writer_flush(w);
    }
    block_writer_close(w, packed_bytes(p));
}

void floor_bulk_columns(const char *path, const people *p) {
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    check_sys(out >= 0);
    const struct { const void *bytes; size_t count; } columns[] = {
        {p->id, p->count * 8}, {p->score, p->count * 8}, {p->age, p->count},
        {p->name_heap, p->name_offset[p->count]}, {p->email_heap, p->email_offset[p->count]},
    };
    uint64_t position = 0;
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        write_all(out, columns[c].bytes, columns[c].count, position);
        position += columns[c].count;
    }
    uint8_t *lengths = must_alloc(p->count * 2);
    for (size_t i = 0; i < p->count; i++) {
        lengths[i] = (uint8_t)name_length(p, i);
        lengths[p->count + i] = p->email_is_null[i] ? 255 : (uint8_t)email_length(p, i);
    }
    write_all(out, lengths, p->count * 2, position);
    free(lengths);
    if (position + p->count * 2 != packed_bytes(p)) die("the floor wrote %lu bytes", position + p->count * 2);
    check_sys(fdatasync(out) == 0);
    check_sys(close(out) == 0);
}

// ------------------------------------------------------------------------------- group sync
//
//      append under the lock ──► mine durable? ──yes──► next transaction
//                                    │ no
//                  sync running? ────┤ yes: sleep on the durable counter
//                                    │ no: take the buffer, write, fdatasync, wake all

enum { record_bytes = 200, group_buffer_bytes = 1 << 16 };

typedef struct {
    pthread_mutex_t lock;
    bool syncing;
    char *buffer, *spare;
    size_t used;
    uint64_t appended;                  // records so far
    int64_t work_ns;                    // an engine's work, done under the lock
    _Atomic uint32_t durable;           // records synced so far, mod 2^32; the futex word
    written_file *file;
    _Atomic bool stop;
} group_log;

static void group_commit(group_log *g, const char *record) {
    pthread_mutex_lock(&g->lock);
    for (int64_t end = g->work_ns ? now_ns() + g->work_ns : 0; end && now_ns() < end;) {}
    if (g->used + record_bytes > group_buffer_bytes) die("group buffer too small");
    memcpy(g->buffer + g->used, record, record_bytes);
    g->used += record_bytes;
    uint32_t mine = (uint32_t)++g->appended;
    for (;;) {
        uint32_t durable = atomic_load(&g->durable);
        if ((int32_t)(durable - mine) >= 0) break;
        if (g->syncing) {
            pthread_mutex_unlock(&g->lock);
            // EAGAIN: the counter moved before we slept; EINTR: look again.
            syscall(SYS_futex, &g->durable, FUTEX_WAIT_PRIVATE, durable, NULL, NULL, 0);
            if ((int32_t)(atomic_load(&g->durable) - mine) >= 0) return;
            pthread_mutex_lock(&g->lock);
            continue;
        }
        g->syncing = true;
        char *batch = g->buffer;
        size_t bytes = g->used;
        uint32_t last = (uint32_t)g->appended;
        g->buffer = g->spare;
        g->spare = batch;
        g->used = 0;
        pthread_mutex_unlock(&g->lock);
        written_file *f = g->file;
        if (f->position + bytes > f->size) f->position = 0;
        write_all(f->descriptor, batch, bytes, f->position);
        f->position += bytes;
        check_sys(fdatasync(f->descriptor) == 0);
        pthread_mutex_lock(&g->lock);
        g->syncing = false;
        atomic_store(&g->durable, last);
        syscall(SYS_futex, &g->durable, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
    }
    pthread_mutex_unlock(&g->lock);
}

typedef struct { group_log *log; pthread_t thread; uint64_t commits; } group_thread;

static void *group_thread_run(void *context) {
    group_thread *t = context;
    char record[record_bytes];
    memset(record, 5, sizeof record);
    while (!atomic_load_explicit(&t->log->stop, memory_order_relaxed)) {
        group_commit(t->log, record);
        t->commits++;
    }
    return NULL;
}

double floor_group_sync(written_file *f, size_t threads, double seconds, int64_t work_ns) {
    group_log g = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = f, .work_ns = work_ns,
                   .buffer = must_alloc(group_buffer_bytes), .spare = must_alloc(group_buffer_bytes)};
    group_thread *all = must_alloc(threads * sizeof *all);
    int64_t start = now_ns();
    for (size_t i = 0; i < threads; i++) {
        all[i].log = &g;
        if (pthread_create(&all[i].thread, NULL, group_thread_run, &all[i])) die("no thread");
    }
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
    atomic_store(&g.stop, true);
    uint64_t commits = 0;
    for (size_t i = 0; i < threads; i++) {
        if (pthread_join(all[i].thread, NULL)) die("no join");
        commits += all[i].commits;
    }
    double elapsed = (double)(now_ns() - start) / 1e9;
    if (commits != g.appended || (uint32_t)commits != g.durable) die("group sync lost records");
    free(all);
    free(g.buffer);
    free(g.spare);
    return (double)commits / elapsed;
}

// The same with one thread that appends and never waits: whoever syncs finds what has come since it began.
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t appended;
    char *buffer;
    size_t records, all;    // appended so far, of how many
    written_file *file;
} queue_log;

static void *queue_sync_run(void *context) {
    queue_log *q = context;
    written_file *f = q->file;
    for (size_t synced = 0; synced < q->all;) {
        pthread_mutex_lock(&q->lock);
        while (q->records == synced) pthread_cond_wait(&q->appended, &q->lock);
        const size_t records = q->records;
        pthread_mutex_unlock(&q->lock);
        const size_t bytes = (records - synced) * record_bytes;
        if (f->position + bytes > f->size) f->position = 0;
        write_all(f->descriptor, q->buffer + synced * record_bytes, bytes, f->position);
        f->position += bytes;
        check_sys(fdatasync(f->descriptor) == 0);
        synced = records;
    }
    return NULL;
}

double floor_queue_sync(written_file *f, size_t records) {
    queue_log q = {.lock = PTHREAD_MUTEX_INITIALIZER, .appended = PTHREAD_COND_INITIALIZER, .file = f, .all = records,
                   .buffer = must_alloc(records * record_bytes)};
    char record[record_bytes];
    memset(record, 5, sizeof record);
    pthread_t thread;
    int64_t start = now_ns();
    if (pthread_create(&thread, NULL, queue_sync_run, &q)) die("no thread");
    for (size_t i = 0; i < records; i++) {
        pthread_mutex_lock(&q.lock);
        memcpy(q.buffer + q.records * record_bytes, record, record_bytes);
        q.records++;
        pthread_cond_signal(&q.appended);
        pthread_mutex_unlock(&q.lock);
    }
    if (pthread_join(thread, NULL)) die("no join");
    double elapsed = (double)(now_ns() - start) / 1e9;
    free(q.buffer);
    return (double)records / elapsed;
}

// ----------------------------------------------------------------------------------- reading

__attribute__((noinline)) uint64_t floor_count_below(const uint8_t *values, size_t count, uint8_t limit) {
    uint32_t hits = 0;      // half as wide as size_t: twice as fast
    for (size_t i = 0; i < count; i++) hits += values[i] < limit;
    return hits;
}

// Sums at most 255 hits in a byte lane before widening: what a C programmer would write after measuring the plain loop.
__attribute__((noinline)) uint64_t floor_count_below_lanes(const uint8_t *values, size_t count, uint8_t limit) {
    enum { lanes = 64, rounds = 255 };
    uint64_t hits = 0;
    size_t i = 0;
    while (count - i >= lanes) {
        uint8_t lane[lanes] = {0};
        size_t end = count - i < lanes * rounds ? i + (count - i) / lanes * lanes : i + lanes * rounds;
        for (; i < end; i += lanes)
            for (size_t k = 0; k < lanes; k++) lane[k] += values[i + k] < limit;
        for (size_t k = 0; k < lanes; k++) hits += lane[k];
    }
    for (; i < count; i++) hits += values[i] < limit;
    return hits;
}

__attribute__((noinline)) double floor_sum(const double *values, size_t count) {
    enum { lanes = 8 };
    double lane[lanes] = {0}, sum = 0;
    size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (size_t k = 0; k < lanes; k++) lane[k] += values[i + k];
    for (size_t k = 0; k < lanes; k++) sum += lane[k];
    for (; i < count; i++) sum += values[i];
    return sum;
}

__attribute__((noinline)) void floor_aggregate(const double *values, size_t count, double out[3]) {
    enum { lanes = 8 };
    double lane[lanes] = {0}, most[lanes];
    size_t i = 0;
    for (size_t k = 0; k < lanes; k++) most[k] = values[0];
    for (; i + lanes <= count; i += lanes)
        for (size_t k = 0; k < lanes; k++) {
            lane[k] += values[i + k];
            most[k] = values[i + k] > most[k] ? values[i + k] : most[k];
        }
    out[0] = 0;
    out[2] = most[0];
    for (size_t k = 0; k < lanes; k++) {
        out[0] += lane[k];
        out[2] = most[k] > out[2] ? most[k] : out[2];
    }
    for (; i < count; i++) {
        out[0] += values[i];
        out[2] = values[i] > out[2] ? values[i] : out[2];
    }
    out[1] = out[0] / (double)count;
}

// Length and the first eight bytes decide without a branch; memcmp sees only candidates. Texts have
// at least eight bytes here, and heaps eight to spare.
__attribute__((noinline)) uint64_t floor_count_string(const char *heap, const uint32_t *offsets, size_t count,
                                                      const char *text, size_t length) {
    uint64_t hits = 0, wanted;
    if (length < 8) die("the string floor wants at least eight bytes");
    memcpy(&wanted, text, 8);
    for (size_t i = 0; i < count; i++) {
        uint64_t first;
        memcpy(&first, heap + offsets[i], 8);
        if ((offsets[i + 1] - offsets[i] == length) & (first == wanted))
            hits += !memcmp(heap + offsets[i], text, length);
    }
    return hits;
}

uint8_t floor_fingerprint(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return (uint8_t)(hash >> 24);
}

// Blocks of 64 are tested as a whole (the compiler makes vectors of it); in the one in five that
// has a candidate, words of eight are searched for a byte that became zero.
__attribute__((noinline)) uint64_t floor_count_string_fingerprint(const uint8_t *fingerprints, const char *heap,
                                                                  const uint32_t *offsets, size_t count,
                                                                  const char *text, size_t length) {
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint8_t wanted = floor_fingerprint(text, length);
    uint64_t hits = 0;
    size_t block = 0;
    for (; block + 64 <= count; block += 64) {
        uint8_t any = 0;
        for (size_t i = 0; i < 64; i++) any |= fingerprints[block + i] == wanted;
        if (!any) continue;
        for (size_t i = block; i < block + 64; i += 8) {
            uint64_t word;
            memcpy(&word, fingerprints + i, 8);
            word ^= ones * wanted;
            // A byte above a zero one may be marked wrongly: the comparison below does not mind.
            for (uint64_t marks = (word - ones) & ~word & tops; marks; marks &= marks - 1) {
                size_t k = i + (size_t)__builtin_ctzll(marks) / 8;
                hits += offsets[k + 1] - offsets[k] == length && memcmp(heap + offsets[k], text, length) == 0;
            }
        }
    }
    for (; block < count; block++)
        hits += offsets[block + 1] - offsets[block] == length && memcmp(heap + offsets[block], text, length) == 0;
    return hits;
}

__attribute__((noinline)) size_t floor_compare(const people *data, const people *picked, const int64_t *rows) {
    size_t equal = 0;
    for (size_t k = 0; k < picked->count; k++) {
        size_t i = (size_t)rows[k], length = name_length(data, i), email = email_length(data, i);
        equal += data->id[i] == picked->id[k] && data->age[i] == picked->age[k] && data->score[i] == picked->score[k]
                 && length == name_length(picked, k) && !memcmp(name_of(data, i), name_of(picked, k), length)
                 && data->email_is_null[i] == picked->email_is_null[k] && email == email_length(picked, k)
                 && !memcmp(email_of(data, i), email_of(picked, k), email);
    }
    return equal;
}

__attribute__((noinline)) void floor_lookup(const people *p, const int64_t *ids, size_t size, int64_t *ages) {
    for (size_t i = 0; i < size; i++) ages[i] = p->age[ids[i]];
}

__attribute__((noinline)) uint64_t floor_open(const char *path) {
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    check_sys(descriptor >= 0);
    struct stat status;
    check_sys(fstat(descriptor, &status) == 0);
    const volatile uint8_t *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
    check_sys((const void *)map != MAP_FAILED);
    uint64_t read = map[0] + (uint64_t)map[status.st_size / 2];
    check_sys(munmap((void *)map, (size_t)status.st_size) == 0);
    check_sys(close(descriptor) == 0);
    return read;
}
