/* What a forked child must not keep: descriptors and shared maps of open stores.
 *
 * A child inherits open file descriptions, and with them the parent's OFD locks: a child that only
 * sleeps would hold a killed parent's locks for ever. A map counts too, since it references the
 * description it was made from. So each descriptor and each map is in a list, and the child
 *   - closes every descriptor,
 *   - puts private memory (zeros) in the place of every map, at the same address: a stray access
 *     can neither crash nor touch what the parent shares with other processes,
 *   - gets a new generation number, so that objects made before the fork know it.
 *
 * The list changes only under `gate`, which fork() takes as well: a fork sees no descriptor or map
 * that is not listed yet. posix_spawn and vfork run no handlers; exec closes descriptors and maps.
 * A bare clone() or _Fork() runs none either: there only the wiped word reveals the child.
 */
#define _GNU_SOURCE
#include "csystem.h"

uint64_t cs_fork_page[CS_FORK_PAGE_BYTES / 8] __attribute__((aligned(CS_FORK_PAGE_BYTES)));

static uint64_t generation;      /* the same number on an ordinary page, which a fork copies */
static struct cs_held *all;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int start_error;

static void renew(void) {
    generation += 1;
    __atomic_store_n(&cs_fork_page[0], generation, __ATOMIC_RELAXED);
}

static void before_fork(void) { pthread_mutex_lock(&gate); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&gate); }
static void after_fork_in_child(void) {
    for (struct cs_held *h = all; h; h = h->next) {
        if (h->fd >= 0) { cs_close(h->fd); h->fd = -1; }
        if (h->base && !h->replaced) {
            /* Were this to fail (no memory for one map), the old map would stay: nothing gets worse. */
            mmap(h->base, h->bytes, h->writable ? PROT_READ | PROT_WRITE : PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
            h->replaced = true;
        }
    }
    renew();
    pthread_mutex_unlock(&gate);
}

static void start(void) {
    /* Linux before 4.14 refuses: the handler alone must do. */
    madvise(cs_fork_page, sizeof cs_fork_page, MADV_WIPEONFORK);
    renew();
    start_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int32_t cs_fork_start(void) {
    pthread_once(&once, start);
    pthread_mutex_lock(&gate);
    if (cs_fork_generation() == 0) renew();      /* the child of a bare clone() makes a new object */
    pthread_mutex_unlock(&gate);
    return start_error;
}

/* ---- the list ----------------------------------------------------------------------------- */
static struct cs_held *new_held(void) {
    struct cs_held *h = calloc(1, sizeof *h);
    if (h) h->fd = -1;
    return h;
}
static void link_held(struct cs_held *h) {
    h->next = all; h->previous = 0;
    if (all) all->previous = h;
    all = h;
}
static void unlink_held(struct cs_held *h) {
    if (h->previous) h->previous->next = h->next; else all = h->next;
    if (h->next) h->next->previous = h->previous;
}
/* Links the record when it holds something, frees it otherwise; leaves errno alone; ends the gate. */
static struct cs_held *finish(struct cs_held *h, bool holds) {
    int code = errno;
    if (holds) link_held(h);
    pthread_mutex_unlock(&gate);
    if (!holds) free(h);
    errno = code;
    return holds ? h : 0;
}

/* A descriptor below 3 would receive what others write to stdin, stdout or stderr. */
static int above_standard(int fd) {
    if (fd < 0 || fd > 2) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3), code = errno;
    cs_close(fd);
    errno = code;
    return higher;
}

struct cs_held *cs_held_open(const char *path, int32_t flags, uint32_t mode) {
    struct cs_held *h = new_held();
    if (!h) return 0;
    pthread_mutex_lock(&gate);
    CS_UNCANCELLED(do h->fd = open(path, flags | O_CLOEXEC | O_NOCTTY, (mode_t)mode);
        while (h->fd < 0 && errno == EINTR));
    h->fd = above_standard(h->fd);
    return finish(h, h->fd >= 0);
}

struct cs_held *cs_held_unnamed(const char *folder, uint32_t mode) {
    return cs_held_open(folder, O_TMPFILE | O_RDWR, mode);
}

struct cs_held *cs_held_memory(const char *name) {
    struct cs_held *h = new_held();
    if (!h) return 0;
    pthread_mutex_lock(&gate);
    h->fd = above_standard(memfd_create(name, MFD_CLOEXEC));
    return finish(h, h->fd >= 0);
}

struct cs_held *cs_held_map(int32_t fd, size_t bytes, bool writable) {
    struct cs_held *h = new_held();
    if (!h) return 0;
    pthread_mutex_lock(&gate);
    void *p = mmap(0, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    h->base = p == MAP_FAILED ? 0 : p;
    h->bytes = bytes;
    h->writable = writable;
    return finish(h, p != MAP_FAILED);
}

void cs_held_release(struct cs_held *h) {
    pthread_mutex_lock(&gate);
    unlink_held(h);
    if (h->fd >= 0) cs_close(h->fd);
    if (h->base) munmap(h->base, h->bytes);
    pthread_mutex_unlock(&gate);
    free(h);
}
