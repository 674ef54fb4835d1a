#define _GNU_SOURCE
#include "csystem.h"

#include <malloc.h>

/* The two process-wide words that the inline functions below test. */
void (*cs_yield_hook)(void) = 0;
uint64_t cs_injected_bugs[4] = {0, 0};

void cs_return_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void cs_prefer_large_pages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    const int saved = errno;
    madvise(memory, bytes, MADV_HUGEPAGE);  // advice: nothing depends on it
    errno = saved;
#else
    (void)memory, (void)bytes;
#endif
}

int32_t cs_fallocate(int32_t fd, bool keep_size, int64_t offset, int64_t length) {
    int r;
    CS_UNCANCELLED(do r = fallocate(fd, keep_size ? FALLOC_FL_KEEP_SIZE : 0, (off_t)offset, (off_t)length);
        while (r < 0 && errno == EINTR));
    return r;
}

void cs_start_writing(int32_t fd) { CS_UNCANCELLED((void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE)); }

int32_t cs_names_and_size(int32_t fd, uint32_t *names, int64_t *size) {
    struct statx few;
    struct stat all;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_NLINK | STATX_SIZE, &few) == 0) {
        *names = few.stx_nlink;
        *size = (int64_t)few.stx_size;
        return 0;
    }
    /* There are sandboxes that refuse what they do not know. */
    if ((errno != ENOSYS && errno != EPERM) || fstat(fd, &all) != 0) return -1;
    *names = (uint32_t)all.st_nlink;
    *size = (int64_t)all.st_size;
    return 0;
}

int32_t cs_rename_noreplace(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

int32_t cs_link_unnamed(int32_t fd, const char *path) {
    char name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

const char *cs_error_text(int32_t code, char *buffer, size_t bytes) { return strerror_r(code, buffer, bytes); }

/* length 0: to the end of all bytes. 0 or errno. */
static int32_t set_lock(int32_t fd, short type, int64_t byte, int64_t length) {
    struct flock f;
    memset(&f, 0, sizeof f);
    f.l_type = type; f.l_whence = SEEK_SET; f.l_start = (off_t)byte; f.l_len = (off_t)length;
    int r;
    CS_UNCANCELLED(r = fcntl(fd, F_OFD_SETLK, &f));
    if (r == 0) return 0;
    return errno == EACCES ? EAGAIN : errno;
}
int32_t cs_lock_byte(int32_t fd, int64_t byte, bool lock) { return set_lock(fd, lock ? F_WRLCK : F_UNLCK, byte, 1); }
int32_t cs_lock_shared(int32_t fd, int64_t byte, int64_t length) { return set_lock(fd, F_RDLCK, byte, length); }
int32_t cs_unlock_all(int32_t fd) { return set_lock(fd, F_UNLCK, 0, 0); }

int32_t cs_lock_probe(int32_t fd, int64_t byte, int64_t length) {
    struct flock f;
    memset(&f, 0, sizeof f);
    f.l_type = F_WRLCK; f.l_whence = SEEK_SET; f.l_start = (off_t)byte; f.l_len = (off_t)length;
    if (fcntl(fd, F_OFD_GETLK, &f) != 0) return -errno;
    return f.l_type == F_UNLCK ? 0 : 1;
}

int32_t cs_thread_name(pthread_t thread, const char *name) { return pthread_setname_np(thread, name); }

int32_t cs_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}
