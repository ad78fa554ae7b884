#ifndef PAGEKIT_CLINUX_H
#define PAGEKIT_CLINUX_H

#if defined(__linux__)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>

// Declared only under _GNU_SOURCE, which Swift's Glibc module does not set.
int syncfs(int descriptor);
int wcwidth(wchar_t character);
int unshare(int flags);
int memfd_create(const char *name, unsigned int flags);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
long syscall(long number, ...);

// O_PATH, which fcntl.h names only under _GNU_SOURCE.
static const int pk_open_path = __O_PATH;

// Swift cannot call C variadics.
static inline int pk_prctl(int option, unsigned long second, unsigned long third) {
  return prctl(option, second, third, 0, 0);
}
static inline long pk_syscall3(long number, long first, long second, long third) {
  return syscall(number, first, second, third);
}
static inline long pk_syscall4(long number, long first, long second, long third, long fourth) {
  return syscall(number, first, second, third, fourth);
}

static inline long pk_syscall6(
    long number, long first, long second, long third, long fourth, long fifth, long sixth) {
  return syscall(number, first, second, third, fourth, fifth, sixth);
}

// Opens a path below a folder, in which no symbolic link is followed: ELOOP for one. ENOSYS before Linux 5.6; some
// containers answer EPERM.
static inline int pk_open_without_links(int folder, const char *path, int flags, mode_t permissions) {
  struct open_how how = {0};
  how.flags = (unsigned int)flags;
  how.mode = flags & O_CREAT ? permissions : 0;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

// Makes a file with one zero byte, with the owner and the permissions of another file in the same folder. It has its name
// only once it is whole. Returns 0, or -1 if there is a file with the name, or if the file system or the container does not
// allow it.
static inline int pk_make_file_of_zero(int folder, const char *name, const char *other) {
  struct stat status;
  if (fstatat(folder, other, &status, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  // Without the prefix it is for programs of GNU alone.
  int file = openat(folder, ".", __O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  int result = -1;
  // Only root gives files to others.
  if (write(file, "", 1) == 1 && (fchown(file, status.st_uid, status.st_gid) == 0 || geteuid() != 0) &&
      fchmod(file, status.st_mode & 0777) == 0) {
    result = linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW);
  }
  close(file);
  return result;
}

// Casts, which Swift does not import.
static const unsigned int pk_seccomp_allow = SECCOMP_RET_ALLOW;
static const unsigned int pk_seccomp_errno = SECCOMP_RET_ERRNO;
static const unsigned int pk_seccomp_trap = SECCOMP_RET_TRAP;
#if defined(__x86_64__)
static const unsigned int pk_audit_arch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
static const unsigned int pk_audit_arch = AUDIT_ARCH_AARCH64;
#else
static const unsigned int pk_audit_arch = 0;
#endif

static inline int pk_thread(void) { return (int)syscall(SYS_gettid); }

// Nanoseconds of the processor that the calling thread has used.
static inline unsigned long long pk_thread_time(void) {
  struct timespec time = {0};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (unsigned long long)time.tv_sec * 1000000000ull + (unsigned long long)time.tv_nsec;
}

// The folder of this process's threads in /proc, which a worker keeps open under this number.
static const int pk_threads_descriptor = 5;

// What follows "/proc/" in the path of a thread's state, "/proc/<digits>/stat"; NULL for any other path.
static inline const char *pk_thread_state_path(const char *path) {
  const char *prefix = "/proc/";
  while (*prefix) {
    if (*path++ != *prefix++) return 0;
  }
  const char *rest = path;
  while (*path >= '0' && *path <= '9') path++;
  if (path == rest) return 0;
  for (const char *suffix = "/stat"; *suffix; suffix++) {
    if (*path++ != *suffix) return 0;
  }
  return *path ? 0 : rest;
}

// What a trapped call is answered with: the result of another one, which seccomp lets anybody make. Nothing is decided
// here. openat(): libdispatch looks at its threads as /proc/<thread>/stat, where Landlock cannot tell them from other
// processes; they are opened in the folder of this process's own threads, and Landlock says which other files are.
// access() to read: whether the file can be opened, which is all that cairo asks before it opens a font.
// newfstatat() without a path: what fstat() of the C library is, while a path is a look at a file that cannot be opened.
static inline long pk_answer_trapped_call(long number, long first, const char *path, long third) {
  if (number == SYS_openat) {
    const char *state = path ? pk_thread_state_path(path) : 0;
    return syscall(SYS_openat, pk_threads_descriptor, state ? state : path, third, 0);
  }
  int is_access = number == SYS_faccessat;
  const char *asked = path;
#if defined(SYS_access)
  if (number == SYS_access) {
    is_access = 1;
    asked = (const char *)first;
  }
#endif
  if (is_access) {
    long file = syscall(SYS_openat, pk_threads_descriptor, asked, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return -1;
    syscall(SYS_close, file);
    return 0;
  }
  if (number == SYS_newfstatat && path && !*path) return syscall(SYS_fstat, first, third);
  errno = EPERM;
  return -1;
}

// The handler of SIGSYS. Only calls what is safe in one.
static inline void pk_handle_trapped_call(int signal, siginfo_t *information, void *context) {
  (void)signal;
  int error = errno;
  mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
  long number = information->si_syscall;
#if defined(__x86_64__)
  // sys/ucontext.h names the registers only under _GNU_SOURCE.
  enum { rdi = 8, rsi = 9, rdx = 12, rax = 13 };
  long result = pk_answer_trapped_call(
      number, machine->gregs[rdi], (const char *)machine->gregs[rsi], machine->gregs[rdx]);
  machine->gregs[rax] = result < 0 ? -errno : result;
#elif defined(__aarch64__)
  long result = pk_answer_trapped_call(
      number, (long)machine->regs[0], (const char *)machine->regs[1], (long)machine->regs[2]);
  machine->regs[0] = (unsigned long)(result < 0 ? -errno : result);
#endif
  errno = error;
}

// Lets pk_handle_trapped_call() deal with calls that seccomp traps.
static inline int pk_handle_trapped_calls(void) {
  struct sigaction action = {0};
  action.sa_sigaction = pk_handle_trapped_call;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER;
  return sigaction(SIGSYS, &action, 0);
}

// Makes a process that ends at once; Swift has no fork().
static inline int pk_fork_and_end(void) {
  long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) syscall(SYS_exit_group, 0);
  return child < 0 ? -1 : 0;
}
#endif

// Processors that this process may run on, of the first 1024; 0 where that cannot be known. The C library's own way is
// declared only under _GNU_SOURCE.
static inline int pk_usable_processors(void) {
  unsigned char set[128] = {0};
  int count = 0;
  if (syscall(SYS_sched_getaffinity, 0, sizeof set, set) < 0) return 0;
  for (unsigned long index = 0; index < sizeof set; index++) count += __builtin_popcount(set[index]);
  return count;
}

#endif
