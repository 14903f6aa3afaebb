/* Calls of the C library that touch files, below Python, NumPy, pyarrow, h5py and zarr alike.
 *
 * Preloaded, it does nothing until a process arms it for one folder. Then it counts the calls on
 * files in there, and can kill the process before one of them, let one or all further ones fail, or
 * record what is done to the files, in a log that power_loss.py replays.
 *
 * Not seen: files that are mapped to memory, and calls from inside the C library, such as fread's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OFF, COUNT, KILL, FAIL, FULL, RECORD };
enum { CHANGES, SPACE, READS };  /* kinds of calls; those that take space also change something */

static char root[PATH_MAX];
static int mode = OFF, fault = EIO, log_fd = -1, kinds = CHANGES;
static long at = 0, calls = 0;

void torture_arm(const char *folder, int how, long number, int error, int which, const char *log) {
    strncpy(root, folder, PATH_MAX - 1);
    at = number, fault = error, calls = 0, kinds = which;
    if (how == RECORD)
        log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    __atomic_store_n(&mode, how, __ATOMIC_SEQ_CST);
}

long torture_calls(void) { return calls; }

void torture_disarm(void) { __atomic_store_n(&mode, OFF, __ATOMIC_SEQ_CST); }

/* Absolute path of a name relative to an open folder; 0 if it is outside of the root. */
static int inside(int folder, const char *name, char *path) {
    if (mode == OFF || !name) return 0;
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else {
        char link[64], base[PATH_MAX];
        ssize_t length = -1;
        if (folder == AT_FDCWD) {
            if (getcwd(base, sizeof base)) length = strlen(base);
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            length = syscall(SYS_readlinkat, AT_FDCWD, link, base, sizeof base - 1);
        }
        if (length < 0) return 0;
        base[length] = 0;
        if (snprintf(path, PATH_MAX, "%s/%s", base, name) >= PATH_MAX) return 0;
    }
    size_t length = strlen(root);
    return !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

static int open_inside(int fd, char *path) {
    char link[64];
    if (mode == OFF || fd < 0 || fd == log_fd) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    size_t known = strlen(root);
    return !strncmp(path, root, known) && (path[known] == '/' || !path[known]);
}

/* Count a call of some kind; nonzero if it is to fail. */
static int struck(int kind) {
    if (mode == RECORD || mode == OFF) return 0;
    if ((kinds == READS) != (kind == READS)) return 0;
    long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    if (mode == KILL && number == at) {
        syscall(SYS_kill, getpid(), SIGKILL);
        for (;;) pause();
    }
    if ((mode == FAIL && number == at) || (mode == FULL && number >= at && kind == SPACE)) {
        errno = fault;
        return 1;
    }
    return 0;
}

static void note(const void *data, size_t length) {
    while (length) {
        ssize_t written = syscall(SYS_write, log_fd, data, length);
        if (written <= 0) abort();
        data = (const char *)data + written, length -= written;
    }
}

static void record(const char *format, ...) {
    if (mode != RECORD) return;
    int kept = errno;
    char line[2 * PATH_MAX + 64];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    note(line, length);
    errno = kept;
}

static unsigned long inode_of(int fd) {
    struct stat state;
    return fstat(fd, &state) ? 0 : state.st_ino;
}

static int is_new(const char *path) { return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0; }

static int opened(int folder, const char *name, int flags, mode_t rights) {
    char path[PATH_MAX];
    int known = inside(folder, name, path);
    int creates = known && (flags & O_CREAT) && is_new(path);
    if (known && struck(creates ? SPACE : (flags & O_ACCMODE) == O_RDONLY ? READS : CHANGES)) return -1;
    int fd = syscall(SYS_openat, folder, name, flags, rights);
    if (known && fd >= 0) {
        if (creates)
            record("C\t%lu\t%s\n", inode_of(fd), path);
        else {
            record("O\t%lu\t%s\n", inode_of(fd), path);
            if (flags & O_TRUNC) record("T\t%lu\t0\n", inode_of(fd));
        }
    }
    return fd;
}

#define RIGHTS(flags) \
    mode_t rights = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list values; \
        va_start(values, flags); \
        rights = va_arg(values, mode_t); \
        va_end(values); \
    }

int open(const char *name, int flags, ...) { RIGHTS(flags) return opened(AT_FDCWD, name, flags, rights); }
int open64(const char *name, int flags, ...) { RIGHTS(flags) return opened(AT_FDCWD, name, flags, rights); }
int openat(int folder, const char *name, int flags, ...) { RIGHTS(flags) return opened(folder, name, flags, rights); }
int openat64(int folder, const char *name, int flags, ...) { RIGHTS(flags) return opened(folder, name, flags, rights); }

static void record_write(int fd, const void *data, ssize_t length, off_t where) {
    if (mode != RECORD || length <= 0) return;
    record("W\t%lu\t%ld\t%ld\n", inode_of(fd), (long)where, (long)length);
    note(data, length);
}

/* Half of the bytes of a call may have been written when it fails or the process dies. */
ssize_t write(int fd, const void *data, size_t length) {
    char path[PATH_MAX];
    if (!open_inside(fd, path)) return syscall(SYS_write, fd, data, length);
    if ((mode == KILL || mode == FAIL) && kinds != READS && calls + 1 == at && length > 1)
        syscall(SYS_write, fd, data, length / 2);
    if (struck(SPACE)) return -1;
    off_t where = lseek(fd, 0, SEEK_CUR);
    ssize_t written = syscall(SYS_write, fd, data, length);
    record_write(fd, data, written, where);
    return written;
}

static ssize_t written_at(int fd, const void *data, size_t length, off_t where) {
    char path[PATH_MAX];
    int known = open_inside(fd, path);
    if (known && struck(SPACE)) return -1;
    ssize_t written = syscall(SYS_pwrite64, fd, data, length, where);
    if (known) record_write(fd, data, written, where);
    return written;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t where) { return written_at(fd, data, length, where); }
ssize_t pwrite64(int fd, const void *data, size_t length, off_t where) { return written_at(fd, data, length, where); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    ssize_t written = 0;
    for (int part = 0; part < count; part++) {
        ssize_t some = write(fd, parts[part].iov_base, parts[part].iov_len);
        if (some < 0) return written ? written : -1;
        written += some;
    }
    return written;
}

ssize_t read(int fd, void *data, size_t length) {
    char path[PATH_MAX];
    if (open_inside(fd, path) && struck(READS)) return -1;
    return syscall(SYS_read, fd, data, length);
}

static ssize_t read_at(int fd, void *data, size_t length, off_t where) {
    char path[PATH_MAX];
    if (open_inside(fd, path) && struck(READS)) return -1;
    return syscall(SYS_pread64, fd, data, length, where);
}

ssize_t pread(int fd, void *data, size_t length, off_t where) { return read_at(fd, data, length, where); }
ssize_t pread64(int fd, void *data, size_t length, off_t where) { return read_at(fd, data, length, where); }

static int synced(int fd, long number) {
    char path[PATH_MAX];
    int known = open_inside(fd, path);
    if (known && struck(CHANGES)) return -1;
    int result = syscall(number, fd);
    if (known && !result) record("S\t%lu\n", inode_of(fd));
    return result;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

static int cut(int fd, off_t length) {
    char path[PATH_MAX];
    int known = open_inside(fd, path);
    if (known && struck(CHANGES)) return -1;
    int result = syscall(SYS_ftruncate, fd, length);
    if (known && !result) record("T\t%lu\t%ld\n", inode_of(fd), (long)length);
    return result;
}

int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off_t length) { return cut(fd, length); }

static int renamed(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char old_path[PATH_MAX], new_path[PATH_MAX];
    int known = inside(to_folder, to, new_path) && inside(from_folder, from, old_path);
    if (known && struck(SPACE)) return -1;
    int result = syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (known && !result) record("%s\t%s\t%s\n", flags & 2 ? "X" : "R", old_path, new_path);
    return result;
}

int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return renamed(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { return renamed(a, from, b, to, flags); }

static int linked(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char old_path[PATH_MAX], new_path[PATH_MAX];
    int known = inside(to_folder, to, new_path) && inside(from_folder, from, old_path);
    if (known && struck(SPACE)) return -1;
    int result = syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    if (known && !result) record("L\t%s\t%s\n", old_path, new_path);
    return result;
}

int link(const char *from, const char *to) { return linked(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int a, const char *from, int b, const char *to, int flags) { return linked(a, from, b, to, flags); }

static int removed(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    int known = inside(folder, name, path);
    if (known && struck(CHANGES)) return -1;
    int result = syscall(SYS_unlinkat, folder, name, flags);
    if (known && !result) record("U\t%s\n", path);
    return result;
}

int unlink(const char *name) { return removed(AT_FDCWD, name, 0); }
int unlinkat(int folder, const char *name, int flags) { return removed(folder, name, flags); }
int rmdir(const char *name) { return removed(AT_FDCWD, name, AT_REMOVEDIR); }

static int made(int folder, const char *name, mode_t rights) {
    char path[PATH_MAX];
    int known = inside(folder, name, path);
    if (known && struck(SPACE)) return -1;
    int result = syscall(SYS_mkdirat, folder, name, rights);
    if (known && !result) {
        struct stat state;
        record("M\t%lu\t%s\n", stat(path, &state) ? 0 : (unsigned long)state.st_ino, path);
    }
    return result;
}

int mkdir(const char *name, mode_t rights) { return made(AT_FDCWD, name, rights); }
int mkdirat(int folder, const char *name, mode_t rights) { return made(folder, name, rights); }
