import ArgumentParser
import Foundation
import UnixSignals

/// Ends work cleanly when the user interrupts it. From its initialisation on, SIGINT, SIGTERM and SIGHUP do not end the
/// process by themselves.
struct Interruption {
  /// The status that shells report for a command that SIGINT ended.
  static let exitCode = ExitCode(130)

  private let signals: UnixSignalsSequence

  init() async {
    signals = await UnixSignalsSequence(
      trapping: Self.isHangUpIgnored ? [.sigint, .sigterm] : [.sigint, .sigterm, .sighup])
  }

  /// `true` if the command ignores SIGHUP, as under `nohup`.
  private static var isHangUpIgnored: Bool {
    var action = sigaction()
    guard sigaction(SIGHUP, nil, &action) == 0 else { return false }
    let ignoring = SIG_IGN
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(ignoring, to: Int.self)
  }

  /// Waits for a signal.
  ///
  /// - Returns: `false` if the task was cancelled before one came.
  func signal() async -> Bool {
    for await _ in signals { return true }
    return false
  }

  /// Runs `work`. The first signal calls `cancel`; the function still waits for the work.
  ///
  /// - Returns: `true` if there was a signal.
  func watching<Value: Sendable>(
    cancel: @escaping @Sendable () -> Void, _ work: () async -> Value
  ) async -> (Value, wasInterrupted: Bool) {
    let watcher = Task {
      let wasInterrupted = await signal()
      if wasInterrupted { cancel() }
      return wasInterrupted
    }
    let value = await work()
    watcher.cancel()
    return (value, await watcher.value)
  }
}
