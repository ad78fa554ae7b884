import CLinux
import Foundation

/// The processor time of a thread in nanoseconds, which is independent of the load of the machine.
enum ThreadTime {
  /// The time of the calling thread.
  static func own() -> UInt64 { pk_thread_time() }

  /// The time of a thread of another process: proc(5), `/proc/PID/task/TID/schedstat`.
  ///
  /// - Returns: `nil` if there is no such thread, or the time is unknown.
  static func of(_ thread: Int32, in process: pid_t) -> UInt64? {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/schedstat", encoding: .utf8) else {
      return nil
    }
    return text.split(separator: " ").first.flatMap { UInt64($0) }
  }
}
