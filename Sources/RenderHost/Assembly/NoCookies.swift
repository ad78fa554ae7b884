import HTTPTypes
import PageKit

/// Keeps none: pages of many callers share one daemon, and must not share what servers tell one of them.
final class NoCookies: CookieStoring {
  func cookieHeader(for url: PageURL) -> String? { nil }
  func receive(_ fields: HTTPFields, from url: PageURL) {}
  func removeAll() {}
}
