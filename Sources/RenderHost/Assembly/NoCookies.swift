import HTTPTypes
import PageKit

/// A cookie store that stays empty: the pages of all callers share one daemon, and must not share sessions.
final class NoCookies: CookieStoring {
  func cookieHeader(for url: PageURL) -> String? { nil }
  func receive(_ fields: HTTPFields, from url: PageURL) {}
  func removeAll() {}
}
