import HTTPTypes

/// Keeps the cookies of a page's requests. RFC 6265.
///
/// A transport uses it with every request that has it, from the task that sends; its methods should return quickly.
public protocol CookieStoring: AnyObject, Sendable {
  /// Returns the value of `Cookie` for a request to the URL; `nil` for none. Safe from any thread, without I/O.
  func cookieHeader(for url: PageURL) -> String?

  /// Stores the cookies of a response's `Set-Cookie` fields. RFC 6265 §5.3.
  func receive(_ fields: HTTPFields, from url: PageURL)

  /// Removes all cookies.
  func removeAll()
}
