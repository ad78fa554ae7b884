import CLinux
import Foundation

/// The system calls that are allowed, with conditions on their arguments, as a program for seccomp's filter. Every
/// thread that is made later has it too.
struct SystemCallFilter {
  enum Action {
    case allow
    /// The call fails with this error.
    case fail(Int32)
    /// The thread gets `SIGSYS`, whose handler deals with the call.
    case trap

    fileprivate var code: UInt32 {
      switch self {
      case .allow: pk_seccomp_allow
      case .fail(let error): pk_seccomp_errno | UInt32(error)
      case .trap: pk_seccomp_trap
      }
    }
  }

  /// Holds if the bits of an argument in `mask` equal those of `value`.
  struct Condition {
    let argument: UInt32
    let mask: UInt64
    let value: UInt64

    /// Compares the lower half of an argument, as the kernel does for an `int`.
    static func int(_ argument: UInt32, is value: Int32) -> Condition {
      Condition(argument: argument, mask: 0xffff_ffff, value: UInt64(UInt32(bitPattern: value)))
    }

    /// Holds if an `int` has no bits other than these.
    static func int(_ argument: UInt32, within bits: Int32) -> Condition {
      Condition(argument: argument, mask: UInt64(~UInt32(bitPattern: bits)), value: 0)
    }

    /// Holds if a pointer is null, or a long is 0.
    static func isZero(_ argument: UInt32) -> Condition { Condition(argument: argument, mask: .max, value: 0) }
  }

  private var program: [sock_filter] = []

  /// A filter that refuses every call with `EPERM`. Calls that are newer than the ones this program knows do not exist,
  /// so that a newer C library falls back to older ones.
  init() {
    // struct seccomp_data: the call's number, the architecture, the instruction's address, the arguments.
    program.append(Self.load(4))
    program.append(Self.jump(BPF_JEQ, pk_audit_arch, 1, 0))
    program.append(Self.end(.fail(EPERM)))
    program.append(Self.load(0))
    #if arch(x86_64)
      // Calls of the x32 architecture have the same numbers with a bit more.
      program.append(Self.jump(BPF_JGE, 0x4000_0000, 0, 1))
      program.append(Self.end(.fail(EPERM)))
    #endif
    program.append(Self.jump(BPF_JGT, UInt32(SYS_landlock_restrict_self), 0, 1))
    program.append(Self.end(.fail(ENOSYS)))
  }

  mutating func add(_ calls: [Int32], _ action: Action = .allow) {
    for call in calls {
      program.append(Self.jump(BPF_JEQ, UInt32(call), 0, 1))
      program.append(Self.end(action))
    }
  }

  /// Adds a call with conditions that must all hold. All rules of one call are given at once: the first that fits
  /// counts, and the call is refused if none does.
  mutating func add(_ call: Int32, when rules: ([Condition], Action)...) {
    let tests = rules.flatMap(Self.test) + [Self.end(.fail(EPERM))]
    program.append(Self.jump(BPF_JEQ, UInt32(call), 0, UInt8(tests.count)))
    program += tests
  }

  /// Leads to the action if all conditions hold, else behind it.
  private static func test(_ conditions: [Condition], _ action: Action) -> [sock_filter] {
    var test = [end(action)]
    for condition in conditions.reversed() {
      // Little-endian: the lower half first.
      for half in [UInt32(1), 0] {
        let mask = UInt32(truncatingIfNeeded: condition.mask >> (32 * UInt64(half)))
        guard mask != 0 else { continue }
        let value = UInt32(truncatingIfNeeded: condition.value >> (32 * UInt64(half)))
        test =
          [
            load(16 + 8 * condition.argument + 4 * half), instruction(BPF_ALU | BPF_AND | BPF_K, mask),
            jump(BPF_JEQ, value, 0, UInt8(test.count)),
          ] + test
      }
    }
    return test
  }

  /// Holds for this thread and those it starts.
  ///
  /// - Returns: the reason of a failure; `nil` on success.
  func install() -> String? {
    #if !arch(x86_64) && !arch(arm64)
      return "seccomp: the system calls of this processor are unknown"
    #endif
    var program = program
    program.append(Self.end(.fail(EPERM)))
    let result = program.withUnsafeMutableBufferPointer { instructions in
      var whole = sock_fprog(len: UInt16(instructions.count), filter: instructions.baseAddress)
      return withUnsafeMutablePointer(to: &whole) {
        pk_syscall3(
          Int(SYS_seccomp), Int(SECCOMP_SET_MODE_FILTER), 0, Int(bitPattern: $0))
      }
    }
    return Confinement.failure(Int32(result)).map { "seccomp: \($0)" }
  }

  private static func load(_ offset: UInt32) -> sock_filter { instruction(BPF_LD | BPF_W | BPF_ABS, offset) }
  private static func end(_ action: Action) -> sock_filter { instruction(BPF_RET | BPF_K, action.code) }

  private static func jump(_ test: Int32, _ value: UInt32, _ isTrue: UInt8, _ isFalse: UInt8) -> sock_filter {
    sock_filter(code: UInt16(BPF_JMP | test | BPF_K), jt: isTrue, jf: isFalse, k: value)
  }

  private static func instruction(_ code: Int32, _ value: UInt32) -> sock_filter {
    sock_filter(code: UInt16(code), jt: 0, jf: 0, k: value)
  }
}

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
  /// - Parameters:
  ///   - pid: the worker's own.
  ///   - draws: `true` for a worker that draws pages: it puts their fonts into files in memory.
  static func worker(pid: pid_t, draws: Bool = false) -> SystemCallFilter {
    var filter = SystemCallFilter()
    filter.addThreads(pid)
    filter.addMemory()
    if draws { filter.addFonts() }
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

  /// Adds the calls with which cairo and FreeType open the font of a text; Landlock restricts the files.
  private mutating func addFonts() {
    add([SYS_memfd_create])
    #if arch(x86_64)
      add(SYS_access, when: ([.int(1, is: R_OK)], .trap))
    #endif
    add(SYS_faccessat, when: ([.int(0, is: AT_FDCWD), .int(2, is: R_OK)], .trap))
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
