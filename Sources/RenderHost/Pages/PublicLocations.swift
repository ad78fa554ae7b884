import Foundation
import PageKit
import ServerKit
import Synchronization

/// The public URLs of a folder's bundles, which contain no paths of this machine.
final class PublicLocations: Sendable {
  private let feed: ReleaseFeed
  private let scheme: String
  private let host: String
  private let port: Mutex<Int>
  /// The URL of the folder of bundles, with a trailing slash; `nil` without a folder.
  private let folder: String?
  /// The names that replace paths of this machine in texts for scripts and callers, the longest path first.
  private let paths: [(path: String, name: String)]
  /// The bundles of the folder if they are not those of a release; `nil` for a release.
  private let working: WorkingFolder?

  init(feed: ReleaseFeed, settings: Settings, working: WorkingFolder? = nil) {
    (self.feed, self.working) = (feed, working)
    let source = settings.bundles.flatMap { try? FolderSource(folder: $0, store: settings.store) }
    folder = source?.base
    let store = URL(fileURLWithPath: settings.store.path).standardizedFileURL.path
    var paths = [(path: store, name: "the store")]
    if let folder = source?.folder { paths += [(folder + "/", "/bundles/"), (folder, "/bundles")] }
    self.paths = paths.sorted { $0.path.utf8.count > $1.path.utf8.count }
    scheme = settings.certificate == nil ? "http" : "https"
    host = Self.host(of: settings)
    port = Mutex(settings.port)
  }

  /// The name of the daemon in its pages' URLs: its address, or its first name or `localhost` if it listens on all
  /// addresses.
  private static func host(of settings: Settings) -> String {
    let isAnyAddress = HostAddress(settings.address)?.bytes.allSatisfy { $0 == 0 } ?? false
    return isAnyAddress ? settings.hosts.first ?? "localhost" : SettingText.bracketed(settings.address)
  }

  /// Records the port that the system chose, where none was set.
  func listens(on port: Int) { self.port.withLock { $0 = port } }

  private var base: String { "\(scheme)://\(host):\(port.withLock(\.self))" }

  /// Returns the served bundle for `/bundles/…`, alone or after this daemon's origin, and the parameters of the URL;
  /// `nil` for other URLs.
  func source(of text: String) -> (url: PageURL, parameters: Substring)? {
    let base = base
    let path = text.hasPrefix(base) ? text.dropFirst(base.count) : text[...]
    guard path.hasPrefix("/bundles/") else { return nil }
    let end = path.firstIndex { $0 == "?" || $0 == "#" } ?? path.endIndex
    guard let plain = path[..<end].dropFirst("/bundles/".count).unescapedPath else { return nil }
    let url = working.map { $0.url(named: plain) } ?? feed.current?.entry(at: plain)?.bundle.url
    return url.map { ($0, path[end...]) }
  }

  /// Returns the URL of the served bundle with a name.
  ///
  /// - Throws: ``PageFailure/unknownBundle(_:)``, ``PageFailure/busy(_:)``, ``PageFailure/bundle(status:reason:)``.
  func source(named name: String) throws -> PageURL {
    if let working {
      guard let url = working.url(named: name) else {
        throw PageFailure.bundle(status: 404, reason: "\(working.path) has no bundle \(name.quotedForMessage)")
      }
      return url
    }
    guard let release = feed.current else { throw PageFailure.busy("no release is active yet") }
    guard let entry = release.bundle(named: name) else { throw PageFailure.unknownBundle(name) }
    return entry.bundle.url
  }

  /// The entry of the current release with this URL.
  func entry(of url: PageURL) -> ServedEntry? { feed.current?.entry(from: url) }

  /// The location that a caller has requested, even if nothing is there.
  func location(of request: PageRequest) -> String {
    if let name = request.name { return (try? source(named: name)).map { location(of: $0) } ?? name }
    let text = request.url ?? ""
    return source(of: text).map { location(of: $0.url) + $0.parameters } ?? text
  }

  /// The URL of a bundle or a file as pages and callers see it.
  func location(of url: PageURL) -> String {
    if url.isFile, let entry = entry(of: url) { return base + entry.location }
    guard let folder, url.text.hasPrefix(folder) else { return url.text }
    return base + "/bundles/" + url.text.dropFirst(folder.count)
  }

  /// Translates a URL of this daemon that a page uses into the URL of the file behind it. Returns any other URL as it
  /// is.
  ///
  /// - Throws: ``AccessRefusal`` if the URL is another route of the daemon, which pages may not fetch.
  func source(ofPageURL url: PageURL) throws -> PageURL {
    guard let folder, url.origin == PageURL(base)?.origin else { return url }
    let path = url.text.dropFirst(url.origin.utf8.count)
    guard path.hasPrefix("/bundles/"), let file = PageURL(folder + path.dropFirst("/bundles/".count)) else {
      throw AccessRefusal.folder(url.text)
    }
    return file
  }

  /// Returns a text for scripts and callers, with the public names of this machine's files in place of their paths.
  func withoutPaths(_ text: String) -> String {
    var text = text
    if let folder { text = text.replacing(folder, with: base + "/bundles/") }
    for (path, name) in paths { text = text.replacing(path, with: name) }
    return text
  }
}
