import PageKit

/// How the bundles of a folder are called outside of this machine: by where they are served, never by their paths.
struct PublicLocations: Sendable {
  let feed: ReleaseFeed
  /// Scheme, host and port of this daemon.
  let base: String

  /// The served bundle that a caller means with `/bundles/…`, alone or behind ``base``; nil for other URLs.
  func source(of text: String) -> PageURL? {
    let path = text.hasPrefix(base) ? text.dropFirst(base.count) : text[...]
    guard path.hasPrefix("/bundles/"), let plain = URLPath.unescaped(String(path.dropFirst("/bundles/".count))) else {
      return nil
    }
    return feed.current?.entry(at: plain)?.bundle.url
  }

  /// What pages and callers see of a bundle's URL.
  func location(of url: PageURL) -> String {
    guard url.isFile, let entry = feed.current?.entries.first(where: { $0.bundle.url == url }) else { return url.text }
    return base + entry.location
  }
}
