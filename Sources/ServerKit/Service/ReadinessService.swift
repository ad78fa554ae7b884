import Logging
import ServiceLifecycle
import Synchronization

/// Notifies systemd when the host listens and `/readyz` would succeed. Until then, and after each change, the unit's
/// status line contains the missing checks.
///
/// While its source is unavailable and nothing is stored, the host runs without being ready: systemd's limit
/// (`TimeoutStartSec=`) ends such a start.
final class ReadinessService: Service {
  private struct State {
    /// The number of listeners that are not listening yet.
    var listeners: Int
    var isReady = false
    var said: String?
  }

  private let notifier: ServiceNotifier
  private let checks: [HealthCheck]
  private let interval: (before: Duration, after: Duration)
  private let state: Mutex<State>

  /// - Parameters:
  ///   - listeners: the number of listeners.
  ///   - interval: the times between two checks, before the host is ready and after.
  init(
    _ notifier: ServiceNotifier, checks: [HealthCheck], listeners: Int,
    interval: (before: Duration, after: Duration) = (.milliseconds(200), .seconds(5))
  ) {
    (self.notifier, self.checks, self.interval) = (notifier, checks, interval)
    state = Mutex(State(listeners: listeners))
  }

  /// Records that a listener is listening.
  func listens() { state.withLock { $0.listeners -= 1 } }

  /// `true` once systemd was told that the host is ready.
  var isReady: Bool { state.withLock(\.isReady) }

  func run() async throws {
    try? await cancelWhenGracefulShutdown { [self] in
      while true {
        let isReady = await look()
        try await Task.sleep(for: isReady ? interval.after : interval.before)
      }
    }
  }

  /// - Returns: `true` if systemd was told that the host is ready.
  func look() async -> Bool {
    guard notifier.socket != nil else { return true }
    let found = await checks.outcomes().filter { !$0.ok }
    let messages = state.withLock { state in
      Self.messages(&state, found.filter(\.isFailure).map(\.text), warnings: found.filter { !$0.isFailure }.map(\.text))
    }
    for message in messages { notifier.send(message) }
    return isReady
  }

  private static func messages(
    _ state: inout State, _ problems: [String], warnings: [String]
  ) -> [ServiceNotifier.Message] {
    var messages: [ServiceNotifier.Message] = []
    let missing = (state.listeners <= 0 ? [] : ["the host is not listening yet"]) + problems
    let text =
      missing.isEmpty
      ? "Ready" + (warnings.isEmpty ? "" : ", but \(warnings.joined(separator: "; "))")
      : "Not ready: \((missing + warnings).joined(separator: "; "))"
    if state.said != text { messages.append(.status(text)) }
    state.said = text
    if missing.isEmpty, !state.isReady {
      state.isReady = true
      messages.append(.ready)
    }
    return messages
  }
}

extension HealthCheck.Outcome {
  fileprivate var text: String { reason ?? name }
}
