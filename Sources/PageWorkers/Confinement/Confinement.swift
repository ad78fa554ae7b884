import CLinux
import Foundation

/// Irrevocably gives up rights that a process with pages does not need. A worker does this first, since the kernel
/// keeps some of them per thread.
enum Confinement {
  /// The steps are independent of each other.
  enum Step: String, CaseIterable {
    /// Outliving the daemon.
    case orphanhood
    /// Privileges by programs with set-user-ID bits or capabilities.
    case privileges = "new-privileges"
    /// The network: one without interfaces takes its place.
    case network
    /// System V's shared memory, queues and semaphores.
    case ipc
    case capabilities
    /// Core files, many descriptors, and large files in memory.
    case limits
    /// All files but the process's own in /proc, /dev/urandom, and the fonts of a process that draws pages.
    case files
    /// Signals to other processes, and connections to their abstract sockets. The system calls are refused too.
    case signals
    case systemCalls = "system-calls"
  }

  /// - Parameters:
  ///   - parent: the process whose end also ends the worker; `nil` for any.
  ///   - fonts: the folders of fonts, for a process that draws pages; `nil` for one that does not.
  ///   - omitted: steps to omit, to test the others alone.
  static func apply(parent: pid_t?, fonts: [String]? = nil, omitting omitted: Set<Step> = []) -> ConfinementReport {
    var report = ConfinementReport()
    func run(_ step: Step, _ body: () -> String?) {
      report.record(step.rawValue, omitted.contains(step) ? "left out" : body())
    }
    // The parent may have ended before; the end of the socket shows this.
    run(.orphanhood) { failure(pk_prctl(PR_SET_PDEATHSIG, UInt(SIGKILL), 0)) }
    if let parent, getppid() != parent { _exit(0) }
    run(.privileges) { failure(pk_prctl(PR_SET_NO_NEW_PRIVS, 1, 0)) }
    // Namespaces need a user namespace, unless the process is privileged; and a user namespace needs a process with one
    // thread. Each namespace is requested by itself, so that one that is refused does not prevent the others.
    if !omitted.isSuperset(of: [.network, .ipc]) { _ = unshare(userNamespace) }
    run(.network) { failure(unshare(networkNamespace)) }
    run(.ipc) { failure(unshare(ipcNamespace)) }
    run(.capabilities, dropCapabilities)
    run(.limits, lowerLimits)
    // Pages yield the processor to the daemon.
    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 5)
    let landlock = Landlock(version: Landlock.version)
    run(.files) { restrictFiles(landlock, fonts ?? []) }
    run(.signals) {
      guard let landlock, !omitted.contains(.files) else { return "Landlock does not hold" }
      return landlock.refusesSignals ? nil : "Landlock of this kernel does not know signals (6.12 does)"
    }
    run(.systemCalls) {
      openThreadsFolder() ?? failure(pk_handle_trapped_calls())
        ?? SystemCallFilter.worker(pid: getpid(), draws: fonts != nil).install()
    }
    return report
  }

  /// The number of folders of fonts that a process may read; it has 64 descriptors.
  private static let fontFolders = 16

  private static func restrictFiles(_ landlock: Landlock?, _ fonts: [String]) -> String? {
    guard let landlock else { return "Landlock: \(String(cString: strerror(errno)))" }
    // Without the first, Foundation makes the same identifier every time. In the second, libdispatch looks at its own
    // threads, and ends the process if it may not.
    let paths = ["/dev/urandom", "/proc/self"]
    var descriptors: [Int32] = []
    defer { for descriptor in descriptors { close(descriptor) } }
    for path in paths {
      let descriptor = open(path, Self.pathOnly | O_CLOEXEC)
      guard descriptor >= 0 else { return "\(path): \(String(cString: strerror(errno)))" }
      descriptors.append(descriptor)
    }
    // Texts in fonts of a folder that is gone, or beyond these, are drawn in others.
    for folder in fonts.prefix(Self.fontFolders) {
      let descriptor = open(folder, Self.pathOnly | O_CLOEXEC)
      if descriptor >= 0 { descriptors.append(descriptor) }
    }
    return landlock.restrict(readable: descriptors)
  }

  /// Opens the folder that the handler of trapped calls needs. The open descriptor also makes the kernel keep the
  /// process's folder in /proc, and with it Landlock's rule.
  private static func openThreadsFolder() -> String? {
    let folder = open("/proc/self/task", Self.pathOnly | O_CLOEXEC)
    guard folder >= 0, folder == pk_threads_descriptor || dup2(folder, pk_threads_descriptor) >= 0 else {
      return "/proc/self/task: \(String(cString: strerror(errno)))"
    }
    if folder != pk_threads_descriptor { close(folder) }
    return nil
  }

  /// `O_PATH`, which is declared only under `_GNU_SOURCE`.
  private static let pathOnly: Int32 = 0o10000000

  /// sched.h has them only under `_GNU_SOURCE`.
  private static let (userNamespace, networkNamespace, ipcNamespace): (Int32, Int32, Int32) = (
    0x1000_0000, 0x4000_0000, 0x0800_0000
  )

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

  /// Forbids core files, and limits the descriptors and the size of files: those in memory, which hold the fonts of pages,
  /// are not part of the resident memory that the daemon watches. The address space has no limit: the engine reserves more
  /// than it uses.
  private static func lowerLimits() -> String? {
    // No font has more bytes.
    let fileSize: UInt = 32 << 20
    let limits: [(__rlimit_resource, UInt)] = [(RLIMIT_CORE, 0), (RLIMIT_NOFILE, 64), (RLIMIT_FSIZE, fileSize)]
    for (resource, value) in limits {
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(resource.rawValue), &limit)
      limit = rlimit(rlim_cur: min(value, limit.rlim_max), rlim_max: min(value, limit.rlim_max))
      if let failure = failure(setrlimit(__rlimit_resource_t(resource.rawValue), &limit)) { return failure }
    }
    return nil
  }

  static func failure(_ result: Int32) -> String? { result == 0 ? nil : String(cString: strerror(errno)) }
}

/// The threads of this process. A right that a thread gives up is gone for it and for those that it starts later, but not
/// for others that run already.
enum ProcessThreads {
  enum Decision: Hashable {
    /// The calling thread is the only one.
    case alone
    /// Others may end by themselves.
    case wait
    /// Another thread would keep the process's rights; the text names it.
    case refuse(String)
  }

  /// - Parameters:
  ///   - names: the names of all threads by their ids; `nil` if they cannot be listed.
  ///   - own: the id of the calling thread.
  ///   - isLate: `true` if others have had their time to end.
  static func decision(_ names: [Int32: String]?, own: Int32, isLate: Bool) -> Decision {
    guard let names, names[own] != nil else { return .refuse("the threads of the process cannot be listed") }
    let others = names.filter { $0.key != own }.values.sorted()
    guard !others.isEmpty else { return .alone }
    guard isLate else { return .wait }
    let list = others.map { "\"\($0)\"" }.joined(separator: ", ")
    return .refuse("\(others.count == 1 ? "the thread" : "the threads") \(list) would not be confined")
  }

  /// Waits until the calling thread is the only one of the process.
  ///
  /// - Returns: the reason why it is not, after `limit`; `nil` if it is.
  static func waitForOthers(within limit: Duration = .seconds(5)) -> String? {
    let own = Int32(pk_syscall3(Int(SYS_gettid), 0, 0, 0))
    let deadline = ContinuousClock.now + limit
    while true {
      switch decision(names, own: own, isLate: ContinuousClock.now >= deadline) {
      case .alone: return nil
      case .refuse(let reason): return reason
      case .wait: usleep(1_000)
      }
    }
  }

  /// The names of the threads by their ids; `nil` if they cannot be listed.
  static var names: [Int32: String]? {
    guard let folder = opendir("/proc/self/task") else { return nil }
    defer { closedir(folder) }
    var names: [Int32: String] = [:]
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      guard let id = Int32(name) else { continue }
      names[id] = self.name(of: id)
    }
    return names
  }

  /// The name of a thread; its id, if it ends meanwhile.
  private static func name(of id: Int32) -> String {
    let file = open("/proc/self/task/\(id)/comm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "\(id)" }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(file, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)).prefix { $0 != 10 }, as: UTF8.self)
  }
}

/// Landlock: the process restricts the files and processes that it can reach. The rights that a kernel can refuse depend
/// on the version of its Landlock.
struct Landlock: Hashable {
  /// `struct landlock_ruleset_attr`: files, network, scopes; as many words as the version knows.
  let words: [UInt64]

  /// - Parameter version: the version of the kernel; below 1 without Landlock.
  init?(version: Int) {
    guard version >= 1 else { return nil }
    // Rights by the version that brought them: 13 in the first, then REFER, TRUNCATE, and IOCTL_DEV in the fifth.
    let files: UInt64 = version >= 5 ? 0xffff : version >= 3 ? 0x7fff : version == 2 ? 0x3fff : 0x1fff
    // TCP's bind and connect.
    let network: UInt64 = 3
    // Abstract sockets of others, and signals to them.
    let scopes: UInt64 = 3
    words = version >= 6 ? [files, network, scopes] : version >= 4 ? [files, network] : [files]
  }

  /// `true` if signals to other processes are refused.
  var refusesSignals: Bool { words.count > 2 }

  /// The version that the kernel has; below 1 with `errno` set if it has none.
  static var version: Int {
    pk_syscall3(Int(SYS_landlock_create_ruleset), 0, 0, Int(LANDLOCK_CREATE_RULESET_VERSION))
  }

  /// - Parameter readable: descriptors of the files that can still be read, and of folders whose files can; all others
  ///   cannot be reached in any way.
  /// - Returns: the reason of a failure; `nil` on success.
  func restrict(readable: [Int32]) -> String? {
    var words = words
    let size = words.count * MemoryLayout<UInt64>.size
    let descriptor = words.withUnsafeMutableBytes {
      Int32(pk_syscall3(Int(SYS_landlock_create_ruleset), Int(bitPattern: $0.baseAddress), size, 0))
    }
    guard descriptor >= 0 else { return "Landlock: \(String(cString: strerror(errno)))" }
    defer { close(descriptor) }
    for file in readable {
      if let failure = Self.allow(file, in: descriptor) { return "Landlock: \(failure)" }
    }
    let result = pk_syscall3(Int(SYS_landlock_restrict_self), Int(descriptor), 0, 0)
    return Confinement.failure(Int32(result)).map { "Landlock: \($0)" }
  }

  private static func allow(_ file: Int32, in ruleset: Int32) -> String? {
    // struct landlock_path_beneath_attr is packed: 8 bytes of rights, 4 of the descriptor.
    var rule = [UInt8](repeating: 0, count: 12)
    rule[0] = UInt8(LANDLOCK_ACCESS_FS_READ_FILE)
    withUnsafeBytes(of: file) { rule.replaceSubrange(8..<12, with: $0) }
    let result = rule.withUnsafeMutableBytes {
      pk_syscall4(
        Int(SYS_landlock_add_rule), Int(ruleset), Int(LANDLOCK_RULE_PATH_BENEATH.rawValue),
        Int(bitPattern: $0.baseAddress), 0)
    }
    return Confinement.failure(Int32(result))
  }
}
