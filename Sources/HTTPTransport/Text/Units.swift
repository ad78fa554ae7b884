import Foundation
import HTTPCaching

// MARK: Times

extension Duration {
  /// Reads seconds as a decimal, or with a unit: `5`, `2.5`, `250ms`, `5s`, `10m`, `1h`, `30d`. Returns `nil` for anything
  /// else, for a negative number, and for more than ten years.
  package init?(text: String) {
    let units: [(String, Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("", 1)]
    for (unit, scale) in units where text.hasSuffix(unit) {
      guard let number = Double(decimal: text.dropLast(unit.count)), number * scale <= 315_360_000 else { return nil }
      self = .milliseconds(Int((number * scale * 1000).rounded()))
      return
    }
    return nil
  }

  /// The whole milliseconds.
  package var milliseconds: Int {
    let (seconds, attoseconds) = components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1000)
    // The rest is below a second.
    let (sum, overflowsToo) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
    return overflows || overflowsToo ? (seconds < 0 ? .min : .max) : Int(clamping: sum)
  }

  /// The duration in seconds.
  package var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }

  /// The duration for messages, in seconds with at most three decimals.
  package var inSeconds: String {
    let value = seconds
    return value == value.rounded() ? "\(Int64(value)) s" : "\((value * 1000).rounded() / 1000) s"
  }

  /// Returns the pause after consecutive failures: this one after the first, twice as long after each further one.
  ///
  /// - Parameters:
  ///   - doublings: the number of failures after the first; below 0 counts as 0.
  ///   - longest: the upper limit of the pause.
  ///   - jitter: a random number from 0 to 1, which spreads clients that failed at the same time: the pause is a part of
  ///     the limit, at least half of it, so that there is always one. `nil` for the limit itself.
  package func doubled(_ doublings: Int, atMost longest: Duration, jitter: Double? = nil) -> Duration {
    let limit = min(self * (1 << min(max(doublings, 0), 20)), longest)
    return jitter.map { limit * (0.5 + $0 / 2) } ?? limit
  }
}

extension HTTPDate {
  /// The system's time, for code that acts; code that decides gets the time as an argument.
  public static var now: HTTPDate { HTTPDate(secondsSinceEpoch: Int64(Date().timeIntervalSince1970)) }
}

extension String {
  /// A time of UTC in whole seconds, as RFC 3339 writes it: `2026-03-01T12:00:00Z`.
  ///
  /// - Parameter seconds: the seconds since 1970.
  package init(rfc3339 seconds: Double) {
    self = Date(timeIntervalSince1970: seconds).formatted(.iso8601)
  }
}

// MARK: Sizes and numbers

extension Int64 {
  /// Reads a number of bytes, without or with a unit of powers of 1024: `65536`, `256MB`, `1.5GiB`. Returns `nil` if
  /// the text is not a size, or is one of a petabyte or more.
  package init?(size text: String) {
    let units: [(String, Double)] = [
      ("kib", 1024), ("mib", 1_048_576), ("gib", 1_073_741_824),
      ("kb", 1024), ("mb", 1_048_576), ("gb", 1_073_741_824),
      ("k", 1024), ("m", 1_048_576), ("g", 1_073_741_824), ("b", 1), ("", 1),
    ]
    let text = text.lowercased()
    guard let (unit, scale) = units.first(where: { text.hasSuffix($0.0) }),
      let number = Double(decimal: text.dropLast(unit.count)), number * scale < 1e15
    else { return nil }
    self = Int64((number * scale).rounded())
  }
}

extension Double {
  /// Reads digits and a point, beginning with a digit. Returns `nil` for anything else.
  package init?(decimal text: some StringProtocol) {
    guard let first = text.utf8.first, (0x30...0x39).contains(first),
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E })
    else { return nil }
    self.init(text)
  }
}
