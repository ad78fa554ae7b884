import ArgumentParser
import UnixSignals

/// Ends work in good order when the user interrupts it.
enum Interruption {
  /// What shells report for a command that SIGINT ended.
  static let exitCode = ExitCode(130)

  /// Runs `work`; at the first SIGINT or SIGTERM `cancel` is called, and the work is still waited for.
  ///
  /// - Returns: whether there was a signal.
  static func watching<Value: Sendable>(
    cancel: @escaping @Sendable () -> Void, _ work: () async throws -> Value
  ) async throws -> (Value, wasInterrupted: Bool) {
    let watcher = Task {
      for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
        cancel()
        return true
      }
      return false
    }
    let value = try await work()
    watcher.cancel()
    return (value, await watcher.value)
  }
}
