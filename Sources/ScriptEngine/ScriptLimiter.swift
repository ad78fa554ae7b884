import CJavaScriptCore
import Foundation

/// How long one entry into a script may take, and how much memory the process may have meanwhile.
public struct ScriptLimits: Hashable, Sendable {
  /// Of the processor's time, roughly; nil for no limit.
  public var time: Duration?
  /// Resident bytes of the whole process; nil for no limit.
  public var residentBytes: Int64?

  public init(time: Duration? = .seconds(5), residentBytes: Int64? = nil) {
    self.time = time
    self.residentBytes = residentBytes
  }
}

/// Stops what runs for too long. A promise chain that feeds itself is not stopped: the engine does not ask there. Only
/// a process of its own can be stopped then.
final class ScriptLimiter {
  var limits: ScriptLimits
  private let group: JSContextGroupRef
  private var deadline: ContinuousClock.Instant?
  private var depth = 0
  private var reason: ScriptError?

  /// How often the engine asks, in seconds of the processor's time.
  private static let interval = 0.05

  init(group: JSContextGroupRef, limits: ScriptLimits) {
    self.group = group
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

  /// Why the last script was stopped; nil where it was not. Asked once.
  func takeReason() -> ScriptError? {
    defer { reason = nil }
    return reason
  }

  private func arm() {
    reason = nil
    guard limits.time != nil || limits.residentBytes != nil else { return }
    deadline = limits.time.map { .now + $0 }
    setAlarm()
  }

  private func setAlarm() {
    JSContextGroupSetExecutionTimeLimit(
      group, Self.interval,
      { _, pointer in
        guard let pointer else { return true }
        return Unmanaged<ScriptLimiter>.fromOpaque(pointer).takeUnretainedValue().mustStop()
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func mustStop() -> Bool {
    if let deadline, let time = limits.time, .now >= deadline {
      reason = .timeLimit(time)
    } else if let limit = limits.residentBytes, case let found = Self.residentBytes(), found > limit {
      reason = .memoryLimit(limit: limit, found: found)
    }
    guard reason == nil else { return true }
    // Without this the limit would be off for the rest of the entry.
    setAlarm()
    return false
  }

  private static func residentBytes() -> Int64 {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0
    return pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
  }
}
