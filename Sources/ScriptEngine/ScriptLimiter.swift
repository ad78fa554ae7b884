import CJavaScriptCore
import Foundation
import Synchronization

/// How long one entry into a script may take, and how much memory the process may have meanwhile.
public struct ScriptLimits: Hashable, Sendable {
  /// Of the processor's time; nil for no limit.
  public var time: Duration?
  /// Resident bytes of the whole process; nil for no limit. While there are more, a script is stopped whose own engine
  /// has 32 MiB or more: those that have little are not to blame.
  public var residentBytes: Int64?

  public init(time: Duration? = .seconds(5), residentBytes: Int64? = nil) {
    self.time = time
    self.residentBytes = residentBytes
  }

  /// What the process has now, to choose a limit by; 0 where the system does not tell.
  package static func residentBytesNow() -> Int64 {
    // proc(5): the program's size and its resident part, in pages.
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
      let count = pread(statistics, buffer.baseAddress, buffer.count, 0)
      let fields = buffer.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
      let pages = fields.dropFirst().first.flatMap { Int64(String(decoding: $0, as: UTF8.self)) } ?? 0
      return pages * pageSize
    }
  }

  /// Opened once: a process may be confined later, and memory is looked at often.
  private static let statistics = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
  private static let pageSize = Int64(sysconf(Int32(_SC_PAGESIZE)))
}

/// Another thread's wish that a script end.
final class Interruption: Sendable {
  private let flag = Atomic<Bool>(false)

  var isRequested: Bool { flag.load(ordering: .relaxed) }
  func request() { flag.store(true, ordering: .relaxed) }
  func clear() { flag.store(false, ordering: .relaxed) }
}

/// Stops what runs for too long. A promise chain that feeds itself is not stopped: the engine does not ask there. Only
/// a process of its own can be stopped then.
final class ScriptLimiter {
  var limits: ScriptLimits
  private let group: JSContextGroupRef
  private let interruption: Interruption
  /// Of the processor's time for the group's thread, in nanoseconds.
  private var deadline: UInt64?
  private var depth = 0
  /// Why the entry's script was stopped; nil where it was not. It holds to the end of the entry: what catches a stop on
  /// the way must not run on.
  private(set) var reason: ScriptError?

  /// How often the engine asks, in seconds of the processor's time.
  private static let interval = 0.05
  private static let blamedBytes = 33_554_432.0

  /// What the engine has for its own values, and what hangs on them.
  private static func engineBytes(_ context: JSContextRef?) -> Double {
    guard let context, let statistics = JSGetMemoryUsageStatistics(context) else { return .infinity }
    return ["heapCapacity", "extraMemorySize"].reduce(0) { sum, name in
      let value = name.withEngineString { JSObjectGetProperty(context, statistics, $0, nil) }
      return sum + (value.map { JSValueToNumber(context, $0, nil) } ?? 0)
    }
  }

  init(group: JSContextGroupRef, limits: ScriptLimits, interruption: Interruption) {
    self.group = group
    self.interruption = interruption
    self.limits = limits
  }

  /// Around each entry from outside; what is called from within counts to it.
  func entering<Result>(_ body: () throws -> Result) rethrows -> Result {
    depth += 1
    if depth == 1 { arm() }
    defer {
      depth -= 1
      if depth == 0 { JSContextGroupClearExecutionTimeLimit(group) }
    }
    return try body()
  }

  /// For functions of Swift's that a script calls: a stop within one, or before it, reaches the script only so.
  ///
  /// - Throws: why the script was stopped.
  func checkStopped() throws {
    guard let reason else { return }
    setAlarm()
    throw reason
  }

  private func arm() {
    reason = nil
    deadline = limits.time.map { Self.processorTime() + UInt64(max(0, $0 / .nanoseconds(1))) }
    setAlarm()
  }

  /// However busy the machine is: the engine counts so, too.
  private static func processorTime() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  private func setAlarm() {
    JSContextGroupSetExecutionTimeLimit(
      group, Self.interval,
      { context, pointer in
        guard let pointer else { return true }
        return Unmanaged<ScriptLimiter>.fromOpaque(pointer).takeUnretainedValue().mustStop(context)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func mustStop(_ context: JSContextRef?) -> Bool {
    if interruption.isRequested {
      reason = .closed
    } else if let deadline, let time = limits.time, Self.processorTime() >= deadline {
      reason = .timeLimit(time)
    } else if let limit = limits.residentBytes, case let found = ScriptLimits.residentBytesNow(), found > limit,
      Self.engineBytes(context) >= Self.blamedBytes
    {
      reason = .memoryLimit(limit: limit, found: found)
    }
    guard reason == nil else { return true }
    // Without this the limit would be off for the rest of the entry.
    setAlarm()
    return false
  }
}
