import Foundation

/// Formats times as RFC 3339, in whole seconds of UTC.
enum Timestamp {
  static func text(_ secondsSinceEpoch: Int64) -> String {
    Date(timeIntervalSince1970: Double(secondsSinceEpoch)).formatted(.iso8601)
  }
}
