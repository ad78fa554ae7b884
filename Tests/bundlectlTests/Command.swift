import Foundation
import PageTesting

/// Runs the built `bundlectl` as a separate process.
struct Command {
  struct Result {
    let status: Int32
    /// `true` if a signal ended it.
    let wasKilled: Bool
    let output: String
    let error: String

    /// Standard output as one JSON object.
    var json: [String: Any] {
      get throws {
        let object = try JSONSerialization.jsonObject(with: Data(output.utf8))
        guard let object = object as? [String: Any] else { throw NotAnObject(output: output) }
        return object
      }
    }
  }

  struct NotAnObject: Error {
    let output: String
  }

  /// A running command.
  final class Running: Sendable {
    let process: Process
    private let files: TemporaryDirectory
    private let end: Task<Void, Never>

    fileprivate init(
      _ program: URL, _ arguments: [String], in folder: String?, environment: [String: String], input: String? = nil
    ) throws {
      let process = Process()
      self.process = process
      files = try TemporaryDirectory()
      process.executableURL = program
      process.arguments = arguments
      if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
      process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
      // Files, not pipes, so that no reader is needed while it runs.
      for name in ["output", "error"] { _ = FileManager.default.createFile(atPath: files.file(name), contents: nil) }
      process.standardInput = FileHandle.nullDevice
      if let input {
        _ = FileManager.default.createFile(atPath: files.file("input"), contents: Data(input.utf8))
        process.standardInput = FileHandle(forReadingAtPath: files.file("input"))
      }
      process.standardOutput = FileHandle(forWritingAtPath: files.file("output"))
      process.standardError = FileHandle(forWritingAtPath: files.file("error"))
      // Tests in the background may ignore the signal, and the command would inherit that.
      signal(SIGINT, SIG_DFL)
      let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
      process.terminationHandler = { _ in continuation.finish() }
      try process.run()
      end = Task { for await _ in ended {} }
    }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Its standard error so far.
    var errorSoFar: String { text("error") }

    private func text(_ name: String) -> String {
      String(decoding: FileManager.default.contents(atPath: files.file(name)) ?? Data(), as: UTF8.self)
    }

    /// Waits for its end; a command that exceeds the limit is killed.
    func result(within limit: Duration = .seconds(300)) async throws -> Result {
      let deadline = Task { if (try? await Task.sleep(for: limit)) != nil { send(SIGKILL) } }
      await end.value
      deadline.cancel()
      return Result(
        status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal,
        output: text("output"), error: text("error"))
    }
  }

  /// Beside the test bundle.
  static var executable: URL {
    URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
      .appendingPathComponent("bundlectl")
  }

  static func start(
    _ arguments: [String], in folder: String? = nil, environment: [String: String] = [:], input: String? = nil
  ) throws -> Running {
    try Running(Command.executable, arguments, in: folder, environment: environment, input: input)
  }

  static func start(shell command: String) throws -> Running {
    try Running(URL(fileURLWithPath: "/bin/sh"), ["-c", command], in: nil, environment: [:])
  }

  static func run(_ arguments: String..., in folder: String? = nil, environment: [String: String] = [:]) async throws
    -> Result
  {
    try await start(arguments, in: folder, environment: environment).result()
  }
}
