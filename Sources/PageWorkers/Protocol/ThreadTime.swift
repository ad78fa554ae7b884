import CLinux
import Foundation

/// The processor's time that a thread has used, in nanoseconds: however busy the machine is, a script is charged with
/// its own.
enum ThreadTime {
  /// The calling thread's.
  static func own() -> UInt64 { pk_thread_time() }

  /// Another process's: proc(5), `/proc/PID/task/TID/schedstat`.
  ///
  /// - Returns: `nil` if there is no such thread, or the system does not tell.
  static func of(_ thread: Int32, in process: pid_t) -> UInt64? {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/schedstat", encoding: .utf8) else {
      return nil
    }
    return text.split(separator: " ").first.flatMap { UInt64($0) }
  }
}
