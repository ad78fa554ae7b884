import Foundation
import TestSupport

/// A server of a test as a process of its own, which ends with the test process in any case.
final class ServerProcess: Sendable {
  private let program: RunningProgram
  private let input = Pipe()

  /// - Parameter path: the server's file.
  /// - Throws: an error if it cannot be started.
  init(_ path: String, _ arguments: [String]) throws {
    // The shell's input ends with the test process.
    program = try RunningProgram(
      "/bin/sh", ["-c", "\"$@\" & read -r line; kill -KILL $!", "sh", path] + arguments, input: .pipe(input))
  }

  /// Kills it, and returns when it has ended.
  func kill() async {
    try? input.fileHandleForWriting.close()
    _ = await program.result()
  }
}
