/*
 * Makes calls to the file system fail. It is loaded with LD_PRELOAD, and concerns only files under FAILING_FILES_DIRECTORY.
 * FAILING_FILES_CONTROL names a file with the numbers of `struct control`, which the program that disturbs the service writes
 * and reads while the service runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum call { OPEN, WRITE, SYNC, TRUNCATE, UNLINK, MKDIR, CALLS };

/* What happens to a call: an error, only half of a write, or half of a write and then an error. */
enum effect { FAIL, SHORT, TORN };

struct control {
  int64_t call;          /* of `enum call`; -1 for none */
  int64_t at;            /* the first call that fails, counted from 1 */
  int64_t times;         /* how many calls fail from then on */
  int64_t error;         /* of errno.h */
  int64_t effect;        /* of `enum effect` */
  int64_t injected;      /* how many calls have failed */
  int64_t counts[CALLS]; /* how many calls there were */
};

static volatile struct control *control;
static char directory[PATH_MAX];
static size_t directory_length;

/* Which file descriptors are open files under the directory. */
#define DESCRIPTORS 65536
static char ours[DESCRIPTORS];

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("FAILING_FILES_CONTROL");
  const char *under = getenv("FAILING_FILES_DIRECTORY");
  if (!path || !under) return;
  strncpy(directory, under, sizeof directory - 1);
  directory_length = strlen(directory);
  int fd = open(path, O_RDWR);
  if (fd < 0) return;
  void *shared = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (shared != MAP_FAILED) control = shared;
}

static int concerns_path(const char *path) {
  return control && strncmp(path, directory, directory_length) == 0;
}

/* A file may be closed without `close`, and a connection then has its number. */
static int concerns(int fd) {
  struct stat about;
  return control && fd >= 0 && fd < DESCRIPTORS && ours[fd] && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

/* Counts a call. Returns whether it is disturbed. */
static int is_disturbed(enum call call) {
  int64_t number = __sync_add_and_fetch(&control->counts[call], 1);
  if (control->call != call || number < control->at || number >= control->at + control->times) return 0;
  __sync_add_and_fetch(&control->injected, 1);
  return 1;
}

static int failed(void) {
  errno = (int)control->error;
  return -1;
}

static int opened(int fd, const char *path) {
  if (fd >= 0 && fd < DESCRIPTORS) ours[fd] = concerns_path(path);
  return fd;
}

#define OPEN_FUNCTION(name, parameters, arguments) \
  int name parameters { \
    REAL(name) \
    va_list list; \
    va_start(list, flags); \
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0; \
    va_end(list); \
    if (concerns_path(path) && is_disturbed(OPEN)) return failed(); \
    return opened(real arguments, path); \
  }

OPEN_FUNCTION(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN_FUNCTION(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN_FUNCTION(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPEN_FUNCTION(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))

int close(int fd) {
  REAL(close)
  if (fd >= 0 && fd < DESCRIPTORS) ours[fd] = 0;
  return real(fd);
}

/* Half of a write is at least one byte: none would look like the end of the space. */
#define WRITE_FUNCTION(name, parameters, arguments) \
  ssize_t name parameters { \
    REAL(name) \
    if (!concerns(fd) || !is_disturbed(WRITE)) return real arguments; \
    if (control->effect == FAIL) return failed(); \
    size = size > 1 ? size / 2 : size; \
    ssize_t written = real arguments; \
    return written >= 0 && control->effect == TORN ? failed() : written; \
  }

WRITE_FUNCTION(write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
WRITE_FUNCTION(pwrite, (int fd, const void *bytes, size_t size, off_t offset), (fd, bytes, size, offset))
WRITE_FUNCTION(pwrite64, (int fd, const void *bytes, size_t size, off64_t offset), (fd, bytes, size, offset))

/* A short write of several buffers is one of the first buffer only. */
#define WRITE_VECTOR_FUNCTION(name, parameters, arguments) \
  ssize_t name parameters { \
    REAL(name) \
    if (!concerns(fd) || !is_disturbed(WRITE)) return real arguments; \
    if (control->effect == FAIL) return failed(); \
    size = 1; \
    ssize_t written = real arguments; \
    return written >= 0 && control->effect == TORN ? failed() : written; \
  }

WRITE_VECTOR_FUNCTION(writev, (int fd, const struct iovec *buffers, int size), (fd, buffers, size))
WRITE_VECTOR_FUNCTION(pwritev, (int fd, const struct iovec *buffers, int size, off_t offset), (fd, buffers, size, offset))
WRITE_VECTOR_FUNCTION(pwritev64, (int fd, const struct iovec *buffers, int size, off64_t offset), (fd, buffers, size, offset))

#define DESCRIPTOR_FUNCTION(name, call, parameters, arguments) \
  int name parameters { \
    REAL(name) \
    if (concerns(fd) && is_disturbed(call)) return failed(); \
    return real arguments; \
  }

DESCRIPTOR_FUNCTION(fsync, SYNC, (int fd), (fd))
DESCRIPTOR_FUNCTION(fdatasync, SYNC, (int fd), (fd))
DESCRIPTOR_FUNCTION(ftruncate, TRUNCATE, (int fd, off_t length), (fd, length))
DESCRIPTOR_FUNCTION(ftruncate64, TRUNCATE, (int fd, off64_t length), (fd, length))

#define PATH_FUNCTION(name, call, parameters, arguments) \
  int name parameters { \
    REAL(name) \
    if (concerns_path(path) && is_disturbed(call)) return failed(); \
    return real arguments; \
  }

PATH_FUNCTION(unlink, UNLINK, (const char *path), (path))
PATH_FUNCTION(mkdir, MKDIR, (const char *path, mode_t mode), (path, mode))
