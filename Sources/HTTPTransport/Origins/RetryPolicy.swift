import HTTPCaching
import HTTPTypes

/// How often to try, and how long to wait in between.
public struct RetryPolicy: Hashable, Sendable {
  /// Tries in all, the first included.
  public var attempts: Int
  /// The longest wait before the second try; it doubles from try to try.
  public var firstDelay: Duration
  public var longestDelay: Duration
  /// A server that asks for more patience than this is given up.
  public var longestRetryAfter: Duration

  public init(
    attempts: Int = 4, firstDelay: Duration = .milliseconds(300), longestDelay: Duration = .seconds(10),
    longestRetryAfter: Duration = .seconds(60)
  ) {
    self.attempts = attempts
    self.firstDelay = firstDelay
    self.longestDelay = longestDelay
    self.longestRetryAfter = longestRetryAfter
  }

  public static let standard = RetryPolicy()

  package enum Decision: Equatable {
    case retry(after: Duration)
    case giveUp
  }

  /// - Parameters:
  ///   - tried: tries that have failed, at least one.
  ///   - jitter: from 0 to 1; spreads clients that failed together.
  package func decision(after error: any Error, tried: Int, jitter: Double) -> Decision {
    guard tried < attempts, Self.isTransient(error) else { return .giveUp }
    if let asked = (error as? HTTPFault)?.retryAfter {
      return asked <= longestRetryAfter ? .retry(after: asked) : .giveUp
    }
    let doubled = firstDelay * (1 << min(tried - 1, 20))
    // Never less than half: a wait of nothing would be no back-off.
    return .retry(after: min(doubled, longestDelay) * (0.5 + jitter / 2))
  }

  /// Returns `true` if an error of a bundle, a manifest or a resource may not occur at a later attempt.
  package static func mayPass(_ error: any Error) -> Bool {
    (error as? any RetryableError)?.isRetryable ?? isTransient(error)
  }

  /// Returns how long the server asks clients to wait before the next attempt, or `nil` if it does not say.
  package static func retryAfter(_ error: any Error) -> Duration? {
    (error as? any RetryableError)?.retryAfter ?? (error as? HTTPFault)?.retryAfter
  }

  private static func isTransient(_ error: any Error) -> Bool {
    switch error {
    case let error as TransportError: error.isTransient
    case let error as HTTPFault: error.isTransient
    case ContentError.cutShort: true
    default: false
    }
  }
}

/// A final answer whose status is not the one that was hoped for.
public struct HTTPFault: Error, Hashable, CustomStringConvertible {
  public let url: PageURL
  public let status: Int
  public let retryAfter: Duration?

  package init(_ response: HTTPResponse, url: PageURL, now: HTTPDate) {
    self.url = url
    status = response.status.code
    retryAfter = response.headerFields[.retryAfter].flatMap { RetryAfter($0, now: now)?.delay }
  }

  /// RFC 9110 §15.5.9, §15.6; RFC 6585 §4; 425 is RFC 8470's.
  package var isTransient: Bool { Self.isTransient(status) }

  package static func isTransient(_ status: Int) -> Bool { [408, 425, 429, 500, 502, 503, 504].contains(status) }

  public var description: String {
    let wait = retryAfter.map { ", and asks to come back after \($0.inSeconds)" } ?? ""
    return "\(url): the server answers \(status)\(wait)"
  }
}

/// RFC 9110 §10.2.3: seconds or a date.
package struct RetryAfter: Equatable {
  package let delay: Duration

  package init?(_ value: String, now: HTTPDate) {
    let text = value.trimmingSpaces
    if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
      delay = .seconds(Int64(text) ?? Int64(Int32.max))
    } else if let date = HTTPDate(text, now: now) {
      delay = .seconds(max(0, date.secondsSinceEpoch - now.secondsSinceEpoch))
    } else {
      return nil
    }
  }
}
