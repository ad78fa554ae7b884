import Foundation

/// An attempt of a confined process: something that a worker must not be able to do, or that it needs.
struct ConfinementAttempt: Sendable {
  enum Outcome: Hashable, Sendable {
    case done
    /// The kernel forbade it, or there is nothing to reach.
    case refused(errno: Int32)
    /// Nothing forbade it; it failed for another reason, so that it may succeed elsewhere.
    case failed(errno: Int32)

    /// - Parameter result: of a system call that sets `errno`.
    init(_ result: Int) {
      let refusals = [EPERM, EACCES, ENOENT, ENOSYS, ENETUNREACH, ECONNREFUSED, EADDRNOTAVAIL]
      let error = errno
      self = result >= 0 ? .done : refusals.contains(error) ? .refused(errno: error) : .failed(errno: error)
    }

    var isRefused: Bool { if case .refused = self { true } else { false } }

    var text: String {
      switch self {
      case .done: "done"
      case .refused(let code): String(cString: strerror(code))
      case .failed(let code): "not refused: \(String(cString: strerror(code)))"
      }
    }
  }

  /// The text after "a worker could".
  let name: String
  /// `true` if a worker needs it.
  let isNeeded: Bool
  private let body: @Sendable (ConfinementTarget) -> Int

  /// - Parameter body: returns a negative number and sets `errno` if it fails.
  init(_ name: String, isNeeded: Bool = false, _ body: @escaping @Sendable (ConfinementTarget) -> Int) {
    (self.name, self.isNeeded, self.body) = (name, isNeeded, body)
  }

  func outcome(_ target: ConfinementTarget) -> Outcome { Outcome(body(target)) }
}

/// The targets of the attempts, which belong to the process that started the confined one.
struct ConfinementTarget: Codable, Sendable {
  let process: pid_t
  /// A file that its user may read and write, in a folder that its user may write.
  let file: String
  /// A port on 127.0.0.1.
  let port: UInt16
  /// The name of an abstract socket, without its leading zero byte.
  let abstractSocket: String
}
