import Foundation

/// How long the tests with traffic run. They take the whole machine: others beside them would wait in vain, so they run
/// only where somebody asks for them.
enum Traffic {
  static let variable = "PAGEKIT_TRAFFIC_SECONDS"

  static let seconds = ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
  static var isWanted: Bool { seconds != nil }
  static var duration: Duration { .seconds(seconds ?? 0) }
}
