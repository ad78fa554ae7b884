import CJavaScriptCore
import Foundation
import Synchronization

/// The limits of one entry into a script: processor time, and the process's memory.
public struct ScriptLimits: Hashable, Sendable {
  /// The processor time of one entry; `nil` for no limit.
  public var time: Duration?
  /// The resident bytes of the whole process; `nil` for no limit. Above it, a script is stopped if its own engine has
  /// 32 MiB or more.
  public var residentBytes: Int64?

  /// Limits; the default is five seconds, and no limit of memory.
  public init(time: Duration? = .seconds(5), residentBytes: Int64? = nil) {
    self.time = time
    self.residentBytes = residentBytes
  }

  /// The resident bytes of the process now, to choose a limit by; 0 if the system does not tell.
  package static func residentBytesNow() -> Int64 {
    // proc(5): the program's size and its resident part, in pages.
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
      let count = pread(statistics, buffer.baseAddress, buffer.count, 0)
      let fields = buffer.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
      let pages = fields.dropFirst().first.flatMap { Int64(String(decoding: $0, as: UTF8.self)) } ?? 0
      return pages * pageSize
    }
  }

  /// Opened once: a process may be confined later, and memory is read often.
  private static let statistics = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
  private static let pageSize = Int64(sysconf(Int32(_SC_PAGESIZE)))
}

/// Stops scripts that exceed their limits. A chain of promises that feeds itself is not stopped, since the engine does not
/// ask there: only its process can be ended.
final class ScriptLimiter {
  var limits: ScriptLimits
  private let group: JSContextGroupRef
  private let thread: ScriptThread
  /// The processor time of the group's thread at which the script is stopped, in nanoseconds.
  private var deadline: UInt64?
  private var depth = 0
  /// The reason for which the entry's script was stopped; `nil` if it was not. It holds to the end of the entry: a script
  /// that catches the stop must not run on.
  private(set) var reason: ScriptError?

  /// The interval at which the engine asks, in seconds of processor time.
  private static let interval = 0.05
  private static let blamedBytes = 33_554_432.0

  /// The bytes of the engine's values, and of memory that they own.
  private static func engineBytes(_ context: JSContextRef?) -> Double {
    guard let context, let statistics = JSGetMemoryUsageStatistics(context) else { return .infinity }
    return ["heapCapacity", "extraMemorySize"].reduce(0) { sum, name in
      let value = name.withEngineString { JSObjectGetProperty(context, statistics, $0, nil) }
      return sum + (value.map { JSValueToNumber(context, $0, nil) } ?? 0)
    }
  }

  init(group: JSContextGroupRef, limits: ScriptLimits, thread: ScriptThread) {
    self.group = group
    self.thread = thread
    self.limits = limits
  }

  /// Runs an entry under the limits. Calls from within an entry count as part of it.
  func entering<Result>(_ body: () throws -> Result) rethrows -> Result {
    depth += 1
    if depth == 1 { arm() }
    defer {
      depth -= 1
      if depth == 0 { JSContextGroupClearExecutionTimeLimit(group) }
    }
    return try body()
  }

  /// Throws if the script was stopped. Native functions call it, since a stop within one reaches the script only so.
  ///
  /// - Throws: the reason for the stop.
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

  /// The processor time of this thread, which the engine counts too, in nanoseconds.
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
    if thread.isInterrupted.load(ordering: .relaxed) {
      reason = .closed
    } else if let deadline, let time = limits.time, Self.processorTime() >= deadline {
      reason = .timeLimit(time)
    } else if let limit = limits.residentBytes, case let found = ScriptLimits.residentBytesNow(), found > limit,
      Self.engineBytes(context) >= Self.blamedBytes
    {
      reason = .memoryLimit(limit: limit, found: found)
    }
    guard reason == nil else { return true }
    // Otherwise the limit would be off for the rest of the entry.
    setAlarm()
    return false
  }
}
