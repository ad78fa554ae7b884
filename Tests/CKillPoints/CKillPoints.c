// Functions of the C library that change files. Those of this program take their place, also in the libraries that it
// loads, and count: so a test can end a process after each of its changes, one after the other.

#define _GNU_SOURCE
#include "CKillPoints.h"

#if defined(__linux__)

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long changes;
static long last;

__attribute__((constructor)) static void read_limit(void) {
  const char *text = getenv("PAGEKIT_KILL_AT");
  last = text ? atol(text) : 0;
}

long pk_changes(void) { return atomic_load(&changes); }

static long changed(long result) {
  int error = errno;
  if (atomic_fetch_add(&changes, 1) + 1 == last) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  errno = error;
  return result;
}

// Pipes, sockets and events are not files that a process leaves.
static int is_file(int file) {
  struct stat status;
  int error = errno;
  int is = fstat(file, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
  errno = error;
  return is;
}

#define CHANGE(file, call) ({ long result = (call); is_file(file) ? changed(result) : result; })

ssize_t write(int file, const void *bytes, size_t count) { return CHANGE(file, syscall(SYS_write, file, bytes, count)); }

ssize_t writev(int file, const struct iovec *parts, int count) {
  return CHANGE(file, syscall(SYS_writev, file, parts, count));
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  return CHANGE(file, syscall(SYS_pwrite64, file, bytes, count, offset));
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  return CHANGE(file, syscall(SYS_pwrite64, file, bytes, count, offset));
}

int ftruncate(int file, off_t size) { return (int)CHANGE(file, syscall(SYS_ftruncate, file, size)); }
int ftruncate64(int file, off64_t size) { return (int)CHANGE(file, syscall(SYS_ftruncate, file, size)); }
int fsync(int file) { return (int)CHANGE(file, syscall(SYS_fsync, file)); }
int fdatasync(int file) { return (int)CHANGE(file, syscall(SYS_fdatasync, file)); }
int syncfs(int file) { return (int)CHANGE(file, syscall(SYS_syncfs, file)); }
int fchmod(int file, mode_t mode) { return (int)CHANGE(file, syscall(SYS_fchmod, file, mode)); }

int rename(const char *from, const char *to) {
  return (int)changed(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  return (int)changed(syscall(SYS_renameat2, from_folder, from, to_folder, to, 0));
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned int flags) {
  return (int)changed(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int link(const char *from, const char *to) { return (int)changed(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)); }

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  return (int)changed(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}

int unlink(const char *path) { return (int)changed(syscall(SYS_unlinkat, AT_FDCWD, path, 0)); }
int unlinkat(int folder, const char *path, int flags) { return (int)changed(syscall(SYS_unlinkat, folder, path, flags)); }
int mkdir(const char *path, mode_t mode) { return (int)changed(syscall(SYS_mkdirat, AT_FDCWD, path, mode)); }
int mkdirat(int folder, const char *path, mode_t mode) { return (int)changed(syscall(SYS_mkdirat, folder, path, mode)); }

static int opened(int folder, const char *path, int flags, mode_t mode) {
  long result = syscall(SYS_openat, folder, path, flags, mode);
  return (int)(flags & (O_CREAT | O_TRUNC) ? changed(result) : result);
}

#define MODE(flags, before) \
  ({ \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
      va_list rest; \
      va_start(rest, before); \
      mode = va_arg(rest, mode_t); \
      va_end(rest); \
    } \
    mode; \
  })

int open(const char *path, int flags, ...) { return opened(AT_FDCWD, path, flags, MODE(flags, flags)); }
int open64(const char *path, int flags, ...) { return opened(AT_FDCWD, path, flags, MODE(flags, flags)); }
int openat(int folder, const char *path, int flags, ...) { return opened(folder, path, flags, MODE(flags, flags)); }
int openat64(int folder, const char *path, int flags, ...) { return opened(folder, path, flags, MODE(flags, flags)); }

#else

long pk_changes(void) { return 0; }

#endif
