/* Preloaded into a cluster's process: its disk is full or slow, its clock jumps, its connections are reset.
 *
 * What is to go wrong is in a file of four integers, MOCKKUBE_CHAOS_FAULTS, which the tests change while it runs:
 * 1 if the disk is full; milliseconds that a sync takes; seconds by which the clock is ahead; and N, if every N-th
 * read or write of a connection is to fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { DISK_FULL, SYNC_MILLISECONDS, CLOCK_SECONDS, RESET_EVERY };
static volatile int none[4];
static volatile int *faults = none;
static atomic_uint calls;

__attribute__((constructor)) static void load(void) {
    const char *path = getenv("MOCKKUBE_CHAOS_FAULTS");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) faults = at;
    close(fd);
}

#define REAL(type, name) \
    static type (*real)(); \
    if (!real) real = (type (*)())dlsym(RTLD_NEXT, name)

/* Files of databases only: a process that cannot write its log says nothing about itself. */
static int is_full(int fd) {
    struct stat found;
    return faults[DISK_FULL] && fd > 2 && !fstat(fd, &found) && S_ISREG(found.st_mode) && (errno = ENOSPC);
}

static int is_reset(int fd) {
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    int every = faults[RESET_EVERY];
    if (every <= 0 || getpeername(fd, (struct sockaddr *)&peer, &size) || peer.ss_family != AF_INET) return 0;
    if (atomic_fetch_add(&calls, 1) % every != every - 1) return 0;
    shutdown(fd, SHUT_RDWR);
    errno = ECONNRESET;
    return 1;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    REAL(ssize_t, "pwrite");
    return is_full(fd) ? -1 : real(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL(ssize_t, "pwrite64");
    return is_full(fd) ? -1 : real(fd, data, size, at);
}
ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write");
    return is_full(fd) || is_reset(fd) ? -1 : real(fd, data, size);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev");
    return is_full(fd) || is_reset(fd) ? -1 : real(fd, parts, count);
}
ssize_t send(int fd, const void *data, size_t size, int flags) {
    REAL(ssize_t, "send");
    return is_reset(fd) ? -1 : real(fd, data, size, flags);
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    REAL(ssize_t, "sendmsg");
    return is_reset(fd) ? -1 : real(fd, message, flags);
}
ssize_t read(int fd, void *data, size_t size) {
    REAL(ssize_t, "read");
    return is_reset(fd) ? -1 : real(fd, data, size);
}
ssize_t recv(int fd, void *data, size_t size, int flags) {
    REAL(ssize_t, "recv");
    return is_reset(fd) ? -1 : real(fd, data, size, flags);
}

static void delay(void) {
    int milliseconds = faults[SYNC_MILLISECONDS];
    if (milliseconds > 0) usleep(1000u * (unsigned)milliseconds);
}
int fsync(int fd) {
    REAL(int, "fsync");
    delay();
    return real(fd);
}
int fdatasync(int fd) {
    REAL(int, "fdatasync");
    delay();
    return real(fd);
}

int clock_gettime(clockid_t id, struct timespec *now) {
    REAL(int, "clock_gettime");
    int result = real(id, now);
    if (id == CLOCK_REALTIME && !result) now->tv_sec += faults[CLOCK_SECONDS];
    return result;
}
int gettimeofday(struct timeval *now, void *zone) {
    REAL(int, "gettimeofday");
    int result = real(now, zone);
    if (!result) now->tv_sec += faults[CLOCK_SECONDS];
    return result;
}
