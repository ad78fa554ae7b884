import ArgumentParser
import Foundation
import UnixSignals

/// Ends work in good order when the user interrupts it. From its making on, SIGINT, SIGTERM and SIGHUP end nothing by
/// themselves.
struct Interruption {
  /// What shells report for a command that SIGINT ended.
  static let exitCode = ExitCode(130)

  private let signals: UnixSignalsSequence

  init() async {
    signals = await UnixSignalsSequence(
      trapping: Self.isHangUpIgnored ? [.sigint, .sigterm] : [.sigint, .sigterm, .sighup])
  }

  /// Whether the command was started to outlive its terminal, as `nohup` starts it.
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

  /// Runs `work`; at the first signal `cancel` is called, and the work is still waited for.
  ///
  /// - Returns: whether there was a signal.
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
