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
