import Foundation

/// Times in output: RFC 3339.
enum Timestamp {
  /// - Parameter seconds: since 1970.
  static func text(_ seconds: Double) -> String { Date(timeIntervalSince1970: seconds).formatted(.iso8601) }
}
