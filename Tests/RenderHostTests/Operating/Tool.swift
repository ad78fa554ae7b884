import Foundation
import PageTesting

/// Runs programs of the system, and the daemon, as processes of their own.
enum Tool {
  struct Result: Sendable {
    let status: Int32
    let output: String
    let error: String
  }

  struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  /// The path of a program beside the test bundle.
  static var renderhost: String {
    URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
      .appendingPathComponent("renderhost").path
  }

  static func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> Result {
    try await Running(arguments, environment: environment).result()
  }

  /// A program under way; it is killed after two minutes.
  final class Running: Sendable {
    let process = Process()
    private let files: TemporaryDirectory
    private let end: Task<Void, Never>

    init(_ arguments: [String], environment: [String: String] = [:], input: Pipe? = nil) throws {
      files = try TemporaryDirectory()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = arguments
      let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("RENDERHOST_") }
      process.environment = inherited.merging(environment) { _, new in new }
      for name in ["output", "error"] { _ = FileManager.default.createFile(atPath: files.file(name), contents: nil) }
      process.standardInput = input ?? FileHandle.nullDevice
      process.standardOutput = FileHandle(forWritingAtPath: files.file("output"))
      process.standardError = FileHandle(forWritingAtPath: files.file("error"))
      let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
      process.terminationHandler = { _ in continuation.finish() }
      try process.run()
      let identifier = process.processIdentifier
      end = Task {
        let alarm = Task {
          try await Task.sleep(for: .seconds(120))
          kill(identifier, SIGKILL)
        }
        for await _ in ended {}
        alarm.cancel()
      }
    }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    func text(_ name: String) -> String {
      String(decoding: FileManager.default.contents(atPath: files.file(name)) ?? Data(), as: UTF8.self)
    }

    /// Waits until its output satisfies the condition, at most for 30 seconds.
    func wait(for name: String, _ condition: (String) -> Bool) async throws {
      let deadline = ContinuousClock.now + .seconds(30)
      while !condition(text(name)) {
        guard ContinuousClock.now < deadline, process.isRunning else {
          throw Failed(description: "it said: \(text("output")) \(text("error"))")
        }
        try await Task.sleep(for: .milliseconds(10))
      }
    }

    func result() async throws -> Result {
      await end.value
      return Result(status: process.terminationStatus, output: text("output"), error: text("error"))
    }
  }

  /// A program with an open standard input.
  final class Conversation: Sendable {
    private let input = Pipe()
    private let running: Running

    init(_ arguments: String...) throws { running = try Running(arguments, input: input) }

    func say(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }

    func hear(_ word: String, times: Int) async throws {
      try await running.wait(for: "output") { $0.ranges(of: word).count >= times }
    }

    func stop() async {
      try? input.fileHandleForWriting.close()
      running.send(SIGKILL)
      _ = try? await running.result()
    }
  }
}
