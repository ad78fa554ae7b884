import HTTPCaching
import HTTPTypes
import PageCore

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

  enum Decision: Equatable {
    case retry(after: Duration)
    case giveUp
  }

  /// - Parameters:
  ///   - tried: tries that have failed, at least one.
  ///   - jitter: from 0 to 1; spreads clients that failed together.
  func decision(after error: any Error, tried: Int, jitter: Double) -> Decision {
    guard tried < attempts, Self.isTransient(error) else { return .giveUp }
    if let asked = (error as? HTTPFault)?.retryAfter {
      return asked <= longestRetryAfter ? .retry(after: asked) : .giveUp
    }
    let doubled = firstDelay * (1 << min(tried - 1, 20))
    // Never less than half: a wait of nothing would be no back-off.
    return .retry(after: min(doubled, longestDelay) * (0.5 + jitter / 2))
  }

  /// Whether an error of a bundle, a manifest or a resource may come right by itself.
  static func mayPass(_ error: any Error) -> Bool {
    switch error {
    case BundleError.failed(_, _, let cause), SourceError.unreachable(_, let cause): mayPass(cause)
    case is OfflineError, LoadError.offline, LoadError.busy: true
    default: isTransient(error)
    }
  }

  /// How long a server asks to be left alone.
  static func retryAfter(_ error: any Error) -> Duration? {
    switch error {
    case BundleError.failed(_, _, let cause), SourceError.unreachable(_, let cause): retryAfter(cause)
    default: (error as? HTTPFault)?.retryAfter
    }
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

  init(_ response: HTTPResponse, url: PageURL, now: HTTPDate) {
    self.url = url
    status = response.status.code
    retryAfter = response.headerFields[.retryAfter].flatMap { RetryAfter($0, now: now)?.delay }
  }

  /// RFC 9110 §15.5.9, §15.6; RFC 6585 §4; 425 is RFC 8470's.
  var isTransient: Bool { Self.isTransient(status) }

  static func isTransient(_ status: Int) -> Bool { [408, 425, 429, 500, 502, 503, 504].contains(status) }

  public var description: String {
    let wait = retryAfter.map { ", and asks to come back after \($0.inSeconds)" } ?? ""
    return "\(url): the server answers \(status)\(wait)"
  }
}

/// RFC 9110 §10.2.3: seconds or a date.
struct RetryAfter: Equatable {
  let delay: Duration

  init?(_ value: String, now: HTTPDate) {
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
