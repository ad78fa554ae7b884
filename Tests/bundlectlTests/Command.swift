import Foundation
import TestSupport

/// Runs the built `bundlectl` as a separate process.
enum Command {
  typealias Result = RunningProgram.Result

  static var executable: URL { URL(fileURLWithPath: RunningProgram.built("bundlectl")) }

  /// - Parameter environment: variables besides those of the tests.
  static func start(
    _ arguments: [String], in folder: String? = nil, environment: [String: String] = [:], input: String? = nil
  ) throws -> RunningProgram {
    try RunningProgram(
      executable.path, arguments,
      environment: ProcessInfo.processInfo.environment.merging(environment) { _, new in new }, in: folder,
      input: input.map { .text($0) } ?? .nothing)
  }

  static func start(shell command: String) throws -> RunningProgram {
    try RunningProgram("/bin/sh", ["-c", command])
  }

  static func run(_ arguments: String..., in folder: String? = nil, environment: [String: String] = [:]) async throws
    -> Result
  {
    try await start(arguments, in: folder, environment: environment).result()
  }
}

extension RunningProgram.Result {
  /// Standard output as one JSON object.
  var json: [String: Any] {
    get throws {
      let object = try JSONSerialization.jsonObject(with: Data(output.utf8))
      guard let object = object as? [String: Any] else { throw NotAnObject(output: output) }
      return object
    }
  }

  private struct NotAnObject: Error {
    let output: String
  }
}
