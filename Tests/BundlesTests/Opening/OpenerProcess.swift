import Foundation
import Synchronization
import TestSupport

/// A `PageOpenerTool` process, which opens pages of a store on command and can be killed.
final class OpenerProcess: Sendable {
  private struct Output {
    var rest: [UInt8] = []
    var lines: [String] = []
  }

  private let program: RunningProgram
  private let input = Pipe()
  private let output = Mutex(Output())
  /// Ends with the first lines of output.
  private let first: AsyncStream<Void>
  /// Ends when the process has ended and all its output was read.
  private let end: AsyncStream<Void>

  /// Starts the process; returns when it is ready for commands.
  static func start(store: String, manifest: String) async throws -> OpenerProcess {
    let process = try OpenerProcess([store, manifest])
    for await _ in process.first {}
    return process
  }

  private init(_ arguments: [String]) throws {
    let (first, sayFirst) = AsyncStream.makeStream(of: Void.self)
    let (end, sayEnd) = AsyncStream.makeStream(of: Void.self)
    (self.first, self.end) = (first, end)
    // Writing to a process that has ended must not end this one.
    signal(SIGPIPE, SIG_IGN)
    let pipe = Pipe()
    program = try RunningProgram(
      RunningProgram.built("PageOpenerTool"), arguments, input: .pipe(input), output: .pipe(pipe))
    Thread.detachNewThread { [self, reading = pipe.fileHandleForReading] in
      while case let data = reading.availableData, !data.isEmpty {
        take(Array(data))
        sayFirst.finish()
      }
      sayFirst.finish()
      sayEnd.finish()
    }
  }

  private func take(_ bytes: [UInt8]) {
    output.withLock { output in
      output.rest += bytes
      while let end = output.rest.firstIndex(of: UInt8(ascii: "\n")) {
        output.lines.append(String(decoding: output.rest[..<end], as: UTF8.self))
        output.rest.removeFirst(end + 1)
      }
    }
  }

  func tell(_ command: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
  }

  /// Returns the output since the last call.
  func lines() -> [String] {
    output.withLock { output in
      defer { output.lines = [] }
      return output.lines
    }
  }

  /// Kills the process, and returns when all its output was read.
  ///
  /// - Returns: `true` if it was alive until then.
  func kill() async -> Bool {
    program.send(SIGKILL)
    for await _ in end {}
    return await program.result().wasKilled
  }
}
