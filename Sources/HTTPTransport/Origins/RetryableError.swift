/// An error that wraps another one or that retrying at once does not mend: it tells itself whether a later attempt may
/// succeed without any change here.
package protocol RetryableError: Error {
  var isRetryable: Bool { get }
  /// The time the server asks clients to wait before the next attempt; `nil` if it does not say.
  var retryAfter: Duration? { get }
}

extension RetryableError {
  package var retryAfter: Duration? { nil }
}
