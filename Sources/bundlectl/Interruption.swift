import ArgumentParser
import UnixSignals

/// Ends work in good order when the user interrupts it. From its making on, SIGINT and SIGTERM end nothing by themselves.
struct Interruption {
  /// What shells report for a command that SIGINT ended.
  static let exitCode = ExitCode(130)

  private let signals: UnixSignalsSequence

  init() async {
    signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
  }

  /// Runs `work`; at the first signal `cancel` is called, and the work is still waited for.
  ///
  /// - Returns: whether there was a signal.
  func watching<Value: Sendable>(
    cancel: @escaping @Sendable () -> Void, _ work: () async -> Value
  ) async -> (Value, wasInterrupted: Bool) {
    let watcher = Task { [signals] in
      for await _ in signals {
        cancel()
        return true
      }
      return false
    }
    let value = await work()
    watcher.cancel()
    return (value, await watcher.value)
  }
}
