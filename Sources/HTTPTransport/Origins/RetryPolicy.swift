import HTTPCaching
import HTTPTypes

/// The number of attempts of a request, and the delays between them.
///
///     configuration.network.retry = RetryPolicy(attempts: 2, firstDelay: .seconds(1))
public struct RetryPolicy: Hashable, Sendable {
  /// The number of attempts, including the first one; 4 by default.
  public var attempts: Int
  /// The upper limit of the delay before the second attempt, which doubles for each further one; 300 milliseconds by
  /// default. The delay is a random part of the limit, at least half of it.
  public var firstDelay: Duration
  /// The longest delay; 10 seconds by default.
  public var longestDelay: Duration
  /// The longest `Retry-After` (RFC 9110 §10.2.3) that is waited for; 60 seconds by default. A longer one ends the
  /// attempts.
  public var longestRetryAfter: Duration

  /// Makes a policy with the given values.
  public init(
    attempts: Int = 4, firstDelay: Duration = .milliseconds(300), longestDelay: Duration = .seconds(10),
    longestRetryAfter: Duration = .seconds(60)
  ) {
    self.attempts = attempts
    self.firstDelay = firstDelay
    self.longestDelay = longestDelay
    self.longestRetryAfter = longestRetryAfter
  }

  /// The defaults.
  public static let standard = RetryPolicy()

  /// Runs attempts until one succeeds, or none follows.
  ///
  /// - Parameter failed: called with the error of each attempt.
  /// - Throws: the error of the last attempt, `CancellationError`.
  package func run<Value>(
    sleep: (Duration) async throws -> Void, failed: (any Error) -> Void = { _ in },
    _ attempt: () async throws -> Value
  ) async throws -> Value {
    var tried = 0
    while true {
      do {
        return try await attempt()
      } catch {
        failed(error)
        tried += 1
        guard let delay = delay(after: error, tried: tried, jitter: .random(in: 0...1)) else { throw error }
        try await sleep(delay)
      }
    }
  }

  /// Returns the time until the next attempt, or `nil` if none follows.
  ///
  /// - Parameters:
  ///   - tried: the number of failed attempts, at least one.
  ///   - jitter: a random number from 0 to 1, which spreads clients that failed at the same time.
  package func delay(after error: any Error, tried: Int, jitter: Double) -> Duration? {
    guard tried < attempts, Self.isTransient(error) else { return nil }
    if let asked = (error as? HTTPFault)?.retryAfter {
      return asked <= longestRetryAfter ? asked : nil
    }
    return firstDelay.doubled(tried - 1, atMost: longestDelay, jitter: jitter)
  }

  /// Returns `true` if an error of a bundle, a manifest or a resource may not occur at a later attempt.
  package static func mayPass(_ error: any Error) -> Bool {
    (error as? any RetryableError)?.isRetryable ?? isTransient(error)
  }

  /// Returns how long the server asks clients to wait before the next attempt, or `nil` if it does not say.
  package static func retryAfter(_ error: any Error) -> Duration? {
    (error as? any RetryableError)?.retryAfter
  }

  private static func isTransient(_ error: any Error) -> Bool {
    switch error {
    case let error as TransportError: error.isTransient
    case let error as HTTPFault: error.isRetryable
    case ContentError.cutShort: true
    default: false
    }
  }
}

/// A response whose status means a failure.
public struct HTTPFault: RetryableError, Hashable, CustomStringConvertible {
  /// The URL of the request.
  public let url: PageURL
  /// The status code.
  public let status: Int
  /// The delay in the response's `Retry-After`; `nil` if it has none. RFC 9110 §10.2.3.
  public let retryAfter: Duration?

  package init(_ response: HTTPResponse, url: PageURL, now: HTTPDate) {
    self.url = url
    status = response.status.code
    retryAfter = response.headerFields[.retryAfter].flatMap { Duration(retryAfter: $0, now: now) }
  }

  /// `true` if a later attempt may succeed. RFC 9110 §15.5.9 and §15.6, RFC 6585 §4, RFC 8470 §5.2.
  package var isRetryable: Bool { Self.isTransient(status) }

  package static func isTransient(_ status: Int) -> Bool { [408, 425, 429, 500, 502, 503, 504].contains(status) }

  public var description: String {
    let wait = retryAfter.map { ", and asks to come back after \($0.inSeconds)" } ?? ""
    return "\(url): the server answers \(status)\(wait)"
  }
}

extension Duration {
  /// Reads the value of `Retry-After`: seconds or a date. RFC 9110 §10.2.3. A longer delay than 2³¹ seconds counts as
  /// one of them, as RFC 9111 §1.2.2 has it for other seconds.
  package init?(retryAfter value: String, now: HTTPDate) {
    let text = value.trimmingSpaces
    let longest: Int64 = 1 << 31
    if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
      self = .seconds(min(Int64(text) ?? longest, longest))
    } else if let date = HTTPDate(text, now: now) {
      let (seconds, overflows) = date.secondsSinceEpoch.subtractingReportingOverflow(now.secondsSinceEpoch)
      self = .seconds(overflows ? 0 : min(max(0, seconds), longest))
    } else {
      return nil
    }
  }
}

/// An error that itself tells whether a later attempt may succeed without any change here, because it wraps another
/// error or because an immediate retry does not help.
package protocol RetryableError: Error {
  var isRetryable: Bool { get }
  /// The time the server asks clients to wait before the next attempt; `nil` if it does not say.
  var retryAfter: Duration? { get }
}

extension RetryableError {
  package var retryAfter: Duration? { nil }
}
