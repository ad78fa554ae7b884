import CLinux
import Foundation

/// Gives up, for good, what a process that runs pages has no need of. The first thing a worker does: what the kernel
/// keeps for each thread must hold before there is a second one.
enum Confinement {
  /// - Parameter parent: whose end is to be the worker's too.
  static func apply(parent: pid_t) -> ConfinementReport {
    var report = ConfinementReport()
    // The parent may have gone before the kernel was told: the socket's end says so then.
    report.note("orphanhood", failure(pk_prctl(PR_SET_PDEATHSIG, UInt(SIGKILL), 0)))
    if parent != 0, getppid() != parent { _exit(0) }
    report.note("new-privileges", failure(pk_prctl(PR_SET_NO_NEW_PRIVS, 1, 0)))
    report.note("network", dropNetwork())
    report.note("capabilities", dropCapabilities())
    report.note("limits", lowerLimits())
    // Without the first Foundation makes the same identifier again and again. In the second libdispatch looks at its
    // own threads, and ends the process where it may not; what other processes keep to themselves (memory,
    // environment) Landlock refuses there too.
    report.note("files", Landlock.restrict(readable: ["/dev/urandom", "/proc"]))
    report.note("system-calls", SystemCallFilter.worker.install())
    // Pages wait for each other, not the daemon for them.
    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 5)
    return report
  }

  /// A network without interfaces. It takes a user namespace, which needs a process of one thread.
  private static func dropNetwork() -> String? {
    let (newUser, newNetwork, newIPC): (Int32, Int32, Int32) = (0x1000_0000, 0x4000_0000, 0x0800_0000)
    return failure(unshare(newUser | newNetwork | newIPC))
  }

  /// capset(2), version 3: no capability, nor any that could be had again.
  private static func dropCapabilities() -> String? {
    var header: [UInt32] = [0x2008_0522, 0]
    var sets = [UInt32](repeating: 0, count: 6)
    let result = header.withUnsafeMutableBytes { header in
      sets.withUnsafeMutableBytes { sets in
        pk_syscall3(
          Int(SYS_capset), Int(bitPattern: header.baseAddress), Int(bitPattern: sets.baseAddress), 0)
      }
    }
    return failure(Int32(result))
  }

  /// No core is left, few descriptors can be had. Address space is the engine's to reserve: its size
  /// says nothing of memory in use.
  private static func lowerLimits() -> String? {
    let limits: [(__rlimit_resource, UInt)] = [(RLIMIT_CORE, 0), (RLIMIT_NOFILE, 64)]
    for (resource, value) in limits {
      var limit = rlimit(rlim_cur: value, rlim_max: value)
      if let failure = failure(setrlimit(__rlimit_resource_t(resource.rawValue), &limit)) { return failure }
    }
    return nil
  }

  static func failure(_ result: Int32) -> String? { result == 0 ? nil : String(cString: strerror(errno)) }
}
