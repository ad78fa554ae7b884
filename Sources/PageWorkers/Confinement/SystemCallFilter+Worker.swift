import CLinux
import Foundation

extension SystemCallFilter {
  /// The system calls that a worker needs; all others are refused.
  ///
  /// The list was measured: `scripts/worker-calls` runs a daemon under strace, renders and opens all bundles of
  /// `bundles/` and one that uses the engine's compilers, collector, WebAssembly, dates, collation, timers and modules,
  /// and counts the calls of the confined workers. (The tests of workers were traced in the same way.) Each group has
  /// the observed calls and then, after `Also`, those of other versions of the C library or of the arm64 kernel. Some
  /// observed calls are refused, since everything works without them: `socket` (the engine wants to write to systemd's
  /// journal), `setpriority` and `sched_setscheduler` (they could be used on other processes), and `newfstatat` with a
  /// path (ICU looks for its data files).
  ///
  /// - Parameter pid: the worker's own.
  static func worker(pid: pid_t) -> SystemCallFilter {
    var filter = SystemCallFilter()
    filter.addThreads(pid)
    filter.addMemory()
    filter.addWaiting()
    filter.addDescriptors()
    filter.add([SYS_getpid, SYS_gettid, SYS_sysinfo])
    // Also: facts about the process itself.
    filter.add([
      SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrusage, SYS_getrandom, SYS_uname,
    ])
    // The limits of the worker; 0 stands for it too.
    filter.add(SYS_prlimit64, when: ([.int(0, is: 0)], .allow), ([.int(0, is: pid)], .allow))
    return filter
  }

  private mutating func addThreads(_ pid: pid_t) {
    add([
      SYS_futex, SYS_sched_yield, SYS_set_robust_list, SYS_rseq, SYS_sched_getaffinity, SYS_exit, SYS_exit_group,
    ])
    // Also: waits of the C library, and barriers that compilers of machine code need on arm64.
    add([SYS_restart_syscall, SYS_membarrier, SYS_getcpu])
    // CLONE_THREAD among the flags that the C library makes threads with, and no others: no process, no namespace.
    let thread: UInt64 = 0x0001_0000
    let usual: UInt64 = 0x003d_0f00 | 0x0040_0000  // CLONE_DETACHED, of musl
    add(SYS_clone, when: ([Condition(argument: 0, mask: ~usual | thread, value: thread)], .allow))
    // Its flags are in memory, where a filter cannot read them; the C library falls back to clone.
    add([SYS_clone3], .fail(ENOSYS))
    // The engine stops its threads with signals, and abort() ends the process with one.
    add([SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend])
    add([SYS_sigaltstack])  // Also
    add(SYS_tgkill, when: ([.int(0, is: pid)], .allow))
    let nameOfMemory: Int32 = 0x5356_4d41  // PR_SET_VMA; also
    add(
      SYS_prctl, when: ([.int(0, is: PR_SET_NAME)], .allow), ([.int(0, is: PR_GET_NAME)], .allow),
      ([.int(0, is: nameOfMemory)], .allow))
  }

  private mutating func addMemory() {
    // The engine makes machine code: memory becomes executable.
    add([SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_brk])
    add([SYS_mremap])  // Also: realloc().
  }

  private mutating func addWaiting() {
    add([SYS_timerfd_create, SYS_timerfd_settime, SYS_epoll_create1, SYS_epoll_ctl, SYS_eventfd2])
    #if arch(x86_64)
      add([SYS_epoll_wait, SYS_poll])
      add([SYS_time])  // Also
    #endif
    // Also: what the two calls above are on arm64, and what sleeping is made of.
    add([
      SYS_epoll_pwait, SYS_ppoll, SYS_timerfd_gettime, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
      SYS_clock_getres,
    ])
    // The clocks of time and of the calling thread; other numbers may belong to other processes.
    add(SYS_clock_gettime, when: ([.int(0, within: 15)], .allow))
  }

  private mutating func addDescriptors() {
    add([SYS_read, SYS_write, SYS_pread64, SYS_close])
    add([SYS_readv, SYS_writev, SYS_lseek, SYS_fstat])  // Also
    // The status of an open file is allowed, that of a path is not.
    let emptyPath: UInt64 = 0x1000  // AT_EMPTY_PATH
    add(SYS_newfstatat, when: ([Condition(argument: 3, mask: emptyPath, value: emptyPath)], .trap))
    // Sending without an address, to the daemon's end of the socket.
    add(SYS_sendto, when: ([.isZero(4)], .allow))
    // Flags that can be read: F_SETOWN could have the kernel send signals to other processes.
    add(
      SYS_fcntl, when: ([.int(1, is: F_GETFD)], .allow), ([.int(1, is: F_GETFL)], .allow))
    // Opening for reading only; Landlock restricts the files.
    let reading = O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | Self.largeFile
    add(
      SYS_openat, when: ([.int(0, is: AT_FDCWD), .int(2, within: reading)], .trap),
      ([.int(0, is: pk_threads_descriptor), .int(2, within: reading)], .allow))
  }

  /// `O_LARGEFILE` of the kernel, which the C library has as 0.
  private static var largeFile: Int32 {
    #if arch(arm64)
      0o400000
    #else
      0o100000
    #endif
  }
}
