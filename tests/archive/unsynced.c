/* A disk that forgets: for tests of what survives when the power goes.
 *
 * Loaded before the C library, it watches the files whose names begin with a given path. What is written to them goes
 * through, so that it can be read back; a copy beside each file ("….durable") holds only what was synced. At the cut,
 * the process ends on the spot, and whoever started it puts the copies in the place of the files.
 *
 *     unsynced_begin(path, cut, seed)    the cut comes at the cut-th write, truncation or sync (0: never)
 *     unsynced_steps()                   how many there were so far
 *     unsynced_cut()                     now
 *
 * With a seed, some of the writes that were not synced survive all the same, in no order: disks do that too.
 * The file of shared memory is left alone; it need not survive.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 16
#define RANGES 65536
#define PIECE 512 /* what a disk writes whole */

struct range { off_t from, to; };
struct file {
    char name[4096];
    int used, count;
    struct range dirty[RANGES];
};

static struct file files[FILES];
static int owner[4096]; /* descriptor -> index of its file, plus one */
static char watched[4096];
static long cut_at, steps;
static unsigned long seed;
static int active;

static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static int (*real_fdatasync)(int);
static int (*real_fsync)(int);
static int (*real_ftruncate)(int, off64_t);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void find(void) {
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_write = dlsym(RTLD_NEXT, "write");
    real_open = dlsym(RTLD_NEXT, "open64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
}

static struct file *of(int fd) {
    return active && fd >= 0 && fd < 4096 && owner[fd] ? &files[owner[fd] - 1] : NULL;
}

static void durable(const struct file *file, char *name) {
    strcpy(name, file->name);
    strcat(name, ".durable");
}

static void copy(struct file *file, off_t from, off_t to) {
    char name[4200], piece[65536];
    durable(file, name);
    int in = real_open(file->name, O_RDONLY), out = real_open(name, O_RDWR | O_CREAT, 0600);
    while (in >= 0 && from < to) {
        size_t want = to - from < (off_t)sizeof piece ? (size_t)(to - from) : sizeof piece;
        ssize_t got = pread64(in, piece, want, from);
        if (got <= 0 || real_pwrite(out, piece, got, from) != got) break;
        from += got;
    }
    if (in >= 0) real_close(in);
    real_close(out);
}

static void settle(struct file *file) { /* all that was written is durable now, and the file as long as it is */
    char name[4200];
    struct stat64 found;
    for (int i = 0; i < file->count; i++) copy(file, file->dirty[i].from, file->dirty[i].to);
    file->count = 0;
    durable(file, name);
    int out = real_open(name, O_RDWR | O_CREAT, 0600);
    if (stat64(file->name, &found) == 0 && real_ftruncate(out, found.st_size)) abort();
    real_close(out);
}

static unsigned long next(void) {
    seed = seed * 6364136223846793005UL + 1442695040888963407UL;
    return seed >> 33;
}

void unsynced_cut(void) {
    for (int i = 0; seed && i < FILES; i++)
        for (int n = 0; files[i].used && n < files[i].count; n++)
            for (off_t at = files[i].dirty[n].from; at < files[i].dirty[n].to; at += PIECE)
                if (next() & 1)
                    copy(&files[i], at, at + PIECE < files[i].dirty[n].to ? at + PIECE : files[i].dirty[n].to);
    _exit(99);
}

static void step(void) {
    if (++steps == cut_at) unsynced_cut();
}

void unsynced_begin(const char *path, long cut, unsigned long with_seed) {
    memset(owner, 0, sizeof owner);
    for (int i = 0; i < FILES; i++) files[i].used = files[i].count = 0;
    snprintf(watched, sizeof watched, "%s", path);
    cut_at = cut, seed = with_seed, steps = 0, active = 1;
}

long unsynced_steps(void) { return steps; }

static int watch(const char *path, int fd) {
    size_t length = strlen(watched);
    if (!active || fd < 0 || fd >= 4096) return fd;
    owner[fd] = 0;
    if (strncmp(path, watched, length) || strstr(path + length, "-shm") || strstr(path + length, ".durable")) return fd;
    for (int i = 0; i < FILES; i++)
        if (!files[i].used || !strcmp(files[i].name, path)) {
            owner[fd] = i + 1;
            if (files[i].used) return fd;
            snprintf(files[i].name, sizeof files[i].name, "%s", path);
            files[i].used = 1, files[i].count = 0;
            if (lseek64(fd, 0, SEEK_END) > 0) copy(&files[i], 0, lseek64(fd, 0, SEEK_END)); /* it was there before */
            lseek64(fd, 0, SEEK_SET);
            return fd;
        }
    abort();
}

static void wrote(struct file *file, off_t from, ssize_t length) {
    if (length <= 0) return;
    if (file->count == RANGES) abort();
    file->dirty[file->count++] = (struct range){from, from + length};
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    return watch(path, real_open(path, flags, mode));
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    return watch(path, real_open(path, flags, mode));
}

int close(int fd) {
    if (active && fd >= 0 && fd < 4096) owner[fd] = 0;
    return real_close(fd);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) {
    struct file *file = of(fd);
    if (file) step();
    ssize_t done = real_pwrite(fd, data, length, at);
    if (file) wrote(file, at, done);
    return done;
}

ssize_t write(int fd, const void *data, size_t length) {
    struct file *file = of(fd);
    if (!file) return real_write(fd, data, length);
    step();
    off_t at = lseek64(fd, 0, SEEK_CUR);
    ssize_t done = real_write(fd, data, length);
    wrote(file, at, done);
    return done;
}

int ftruncate64(int fd, off64_t length) {
    if (of(fd)) step();
    return real_ftruncate(fd, length);
}

int fdatasync(int fd) {
    struct file *file = of(fd);
    if (!file) return real_fdatasync(fd);
    step();
    settle(file);
    return 0; /* nothing real is lost: no need to wait for the disk */
}

int fsync(int fd) {
    struct file *file = of(fd);
    if (!file) return real_fsync(fd);
    step();
    settle(file);
    return 0;
}

int unlink(const char *path) {
    char name[4200];
    for (int i = 0; active && i < FILES; i++)
        if (files[i].used && !strcmp(files[i].name, path)) {
            durable(&files[i], name);
            real_unlink(name);
            files[i].used = files[i].count = 0;
            for (int fd = 0; fd < 4096; fd++) owner[fd] = owner[fd] == i + 1 ? 0 : owner[fd];
        }
    return real_unlink(path);
}
