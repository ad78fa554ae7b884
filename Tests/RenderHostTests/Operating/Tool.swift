import Foundation
import TestServers
import TestSupport

/// Runs programs of the system, and the daemon, as processes of their own.
enum Tool {
  static func run(_ program: String, _ arguments: String..., environment: [String: String] = [:]) async throws
    -> RunningProgram.Result
  {
    try await start(program, arguments, environment: environment).result(within: .seconds(120))
  }

  /// - Parameter environment: variables besides those of the tests, of which none configures a daemon.
  static func start(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws
    -> RunningProgram
  {
    let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("RENDERHOST_") }
    return try RunningProgram(
      program, arguments, environment: inherited.merging(environment) { _, new in new })
  }
}
