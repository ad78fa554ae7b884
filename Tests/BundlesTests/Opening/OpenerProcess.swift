import Foundation
import PageTesting
import TestSupport

/// A `PageOpenerTool` process, which opens pages of a store on command and can be killed.
final class OpenerProcess: Sendable {
  private struct Output: Sendable {
    var rest: [UInt8] = []
    var lines: [String] = []
  }

  private let program: RunningProgram
  private let input = Pipe()
  private let output = Monitor(Output())
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
    output.change { output in
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
    output.change { output in
      defer { output.lines = [] }
      return output.lines
    }
  }

  /// Gives a command, and returns when the process has performed it.
  ///
  /// - Returns: `false` if it could not.
  func perform(_ command: String) async throws -> Bool {
    try tell(command)
    let ends = ["done \(command)", "failed \(command)"]
    try await output.wait(within: .seconds(120)) { output in
      output.lines.contains { line in ends.contains { line.hasPrefix($0) } }
    }
    return output.read { $0.lines.contains("done \(command)") }
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
