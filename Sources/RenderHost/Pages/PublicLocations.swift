import PageKit
import Synchronization

/// How the bundles of a folder are called outside of this machine: by where they are served, never by their paths.
final class PublicLocations: Sendable {
  private let feed: ReleaseFeed
  private let scheme: String
  private let host: String
  private let port: Mutex<Int>

  init(feed: ReleaseFeed, settings: Settings) {
    self.feed = feed
    scheme = settings.certificate == nil ? "http" : "https"
    host = SettingText.bracketed(settings.address)
    port = Mutex(settings.port)
  }

  /// The port that the system has chosen, where none was asked for.
  func listens(on port: Int) { self.port.withLock { $0 = port } }

  private var base: String { "\(scheme)://\(host):\(port.withLock(\.self))" }

  /// The served bundle that a caller means with `/bundles/…`, alone or behind this daemon's origin; nil for other URLs.
  func source(of text: String) -> PageURL? {
    let base = base
    let path = text.hasPrefix(base) ? text.dropFirst(base.count) : text[...]
    guard path.hasPrefix("/bundles/"), let plain = URLPath.unescaped(path.dropFirst("/bundles/".count)) else {
      return nil
    }
    return feed.current?.entry(at: plain)?.bundle.url
  }

  /// The served bundle of a name.
  ///
  /// - Throws: ``PageFailure/unknownBundle(_:)``, ``PageFailure/busy(_:)``.
  func source(named name: String) throws -> PageURL {
    guard let release = feed.current else { throw PageFailure.busy("no release is active yet") }
    guard let entry = release.bundle(named: name) else { throw PageFailure.unknownBundle(name) }
    return entry.bundle.url
  }

  /// What is served of the current release from there.
  func entry(of url: PageURL) -> ServedEntry? { feed.current?.entry(from: url) }

  /// What a caller has asked for, whether it is there or not.
  func location(of request: PageRequest) -> String {
    if let name = request.name { return (try? source(named: name)).map { location(of: $0) } ?? name }
    let text = request.url ?? ""
    return source(of: text).map { location(of: $0) } ?? text
  }

  /// What pages and callers see of a bundle's URL.
  func location(of url: PageURL) -> String {
    guard url.isFile, let entry = entry(of: url) else { return url.text }
    return base + entry.location
  }
}
