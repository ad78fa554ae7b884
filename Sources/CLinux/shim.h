#ifndef PAGEKIT_CLINUX_H
#define PAGEKIT_CLINUX_H

#if defined(__linux__)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

// Declared only under _GNU_SOURCE, which Swift's Glibc module does not set.
int syncfs(int descriptor);
int wcwidth(wchar_t character);
int unshare(int flags);
int memfd_create(const char *name, unsigned int flags);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
long syscall(long number, ...);

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

// Casts, which Swift does not import.
static const unsigned int pk_seccomp_allow = SECCOMP_RET_ALLOW;
static const unsigned int pk_seccomp_errno = SECCOMP_RET_ERRNO;
static const unsigned int pk_seccomp_kill = SECCOMP_RET_KILL_PROCESS;
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
