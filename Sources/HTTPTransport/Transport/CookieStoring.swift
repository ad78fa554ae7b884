import HTTPTypes

/// Keeps the cookies of a page's requests. RFC 6265.
///
/// A transport asks it with every request that carries it, from the task that sends; none of its methods should
/// take long.
public protocol CookieStoring: AnyObject, Sendable {
  /// The value of `Cookie` that a request for the URL would carry now; nil for none. Safe from any thread, no I/O.
  func cookieHeader(for url: PageURL) -> String?

  /// Takes in the `Set-Cookie` fields of an answer. RFC 6265 §5.3.
  func receive(_ fields: HTTPFields, from url: PageURL)

  /// Forgets everything.
  func removeAll()
}
