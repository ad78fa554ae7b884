import Foundation

/// The duration of the tests with traffic. They use the whole machine, so that they run only on request.
enum Traffic {
  static let variable = "PAGEKIT_TRAFFIC_SECONDS"

  static let seconds = ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
  static var isWanted: Bool { seconds != nil }
  static var duration: Duration { .seconds(seconds ?? 0) }
}
