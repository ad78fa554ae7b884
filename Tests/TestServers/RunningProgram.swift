import Foundation
import Synchronization

/// A program that a test has started.
package final class RunningProgram: Sendable {
  private struct State {
    var status: Int32?
    var waiters: [CheckedContinuation<Int32, Never>] = []
  }

  private let path: String
  private let process: Process
  private let input = Pipe()
  private let state = Mutex(State())

  package init(_ path: String, _ arguments: [String]) throws {
    self.path = path
    process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    process.terminationHandler = { [weak self] in self?.ended(with: $0.terminationStatus) }
    try process.run()
  }

  /// Waits for its end.
  ///
  /// - Throws: an error if its status is not zero.
  package func succeed() async throws {
    let status = await end()
    guard status == 0 else { throw ProgramError(program: path, reason: "status \(status)") }
  }

  /// Ends its input, and waits for its end.
  package func stop() async {
    try? input.fileHandleForWriting.close()
    _ = await end()
  }

  private func end() async -> Int32 {
    await withCheckedContinuation { continuation in
      let status = state.withLock { state in
        if state.status == nil { state.waiters.append(continuation) }
        return state.status
      }
      if let status { continuation.resume(returning: status) }
    }
  }

  private func ended(with status: Int32) {
    let waiters = state.withLock { state in
      state.status = status
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(returning: status) }
  }
}
