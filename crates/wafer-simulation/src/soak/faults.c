/* Makes file operations of a server fail, by the rates in a file that the soak writes: LD_PRELOAD=... WAFER_SOAK_FAULTS=FILE.
 *
 * Only regular files in the folder of that file are concerned. A write that fails has stored a part of its data, as on
 * a disk. Built by scripts/soak. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* As in faults.rs. Rates are in 1/65536. */
struct control {
    uint32_t write, sync, name, error, struck;
};

static struct control *control;
static dev_t folder;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("WAFER_SOAK_FAULTS");
    struct stat status;
    int file = path ? REAL(open64)(path, O_RDWR) : -1;
    if (file < 0 || fstat(file, &status) < 0) {
        abort();
    }
    folder = status.st_dev;
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (control == MAP_FAILED) {
        abort();
    }
}

static uint32_t chance(void) {
    static uint64_t seed;
    uint64_t random = __atomic_add_fetch(&seed, 0x9e3779b97f4a7c15u ^ (uint64_t)getpid() << 20, __ATOMIC_RELAXED);
    random = (random ^ random >> 30) * 0xbf58476d1ce4e5b9u;
    random = (random ^ random >> 27) * 0x94d049bb133111ebu;
    return (random ^ random >> 31) & 0xffff;
}

static int strikes(uint32_t rate) {
    if (chance() >= rate) {
        return 0;
    }
    __atomic_add_fetch(&control->struck, 1, __ATOMIC_RELAXED);
    errno = (int)control->error;
    return 1;
}

/* Returns whether a descriptor is of a file of the drive; keeps errno. */
static int ours(int file) {
    struct stat status;
    int before = errno, known = fstat(file, &status) == 0;
    errno = before;
    return known && S_ISREG(status.st_mode) && status.st_dev == folder;
}

ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t offset) {
    if (ours(file) && strikes(control->write)) {
        int error = errno;
        REAL(pwrite64)(file, data, bytes / 1024 * 512, offset);
        errno = error;
        return -1;
    }
    return REAL(pwrite64)(file, data, bytes, offset);
}

ssize_t write(int file, const void *data, size_t bytes) {
    return ours(file) && strikes(control->write) ? -1 : REAL(write)(file, data, bytes);
}

int fsync(int file) {
    return ours(file) && strikes(control->sync) ? -1 : REAL(fsync)(file);
}

int fdatasync(int file) {
    return ours(file) && strikes(control->sync) ? -1 : REAL(fdatasync)(file);
}

int ftruncate64(int file, off64_t bytes) {
    return ours(file) && strikes(control->write) ? -1 : REAL(ftruncate64)(file, bytes);
}

int rename(const char *from, const char *to) {
    return strikes(control->name) ? -1 : REAL(rename)(from, to);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    int drive = strstr(path, "drive.img") != NULL;
    return drive && strikes(control->name) ? -1 : REAL(open64)(path, flags, mode);
}
