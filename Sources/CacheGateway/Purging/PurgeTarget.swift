import HTTPCache
import HTTPTransport

/// A URL or a URL prefix that clients of the gateway request, as a path or absolute.
struct PurgeTarget: Sendable {
  private let text: String
  private let isPrefix: Bool
  /// `nil` for a path.
  private let url: PageURL?

  /// - Throws: ``PurgeError``.
  init(_ text: String, isPrefix: Bool = false) throws {
    self.text = text
    self.isPrefix = isPrefix
    if text.hasPrefix("/") {
      url = nil
    } else if let url = PageURL(text, ignoring: []), !url.isFile,
      text.split(separator: "/").count > 2 || text.hasSuffix("/")
    {
      self.url = url
    } else {
      throw PurgeError("\(text.quotedForMessage) is neither a path, starting with \"/\", nor an http URL with one")
    }
  }

  /// Returns the selection of an origin's responses; `nil` if the URL belongs to another origin.
  ///
  /// - Throws: ``PurgeError`` for a text that cannot be a URL.
  func selection(of origin: OriginSettings, in partition: CachePartition) throws -> ResponseSelection? {
    guard let target = pathAndQuery(at: origin) else { return nil }
    // The last segment of a prefix may be incomplete: it must not be resolved as “.” or “..”, nor end in an escape.
    let end = isPrefix ? "x" : ""
    guard let url = PageURL(origin.url.origin + target + end, ignoring: []), url.text.hasSuffix(end),
      !isPrefix || !target.contains("#")
    else {
      throw PurgeError("\(text.quotedForMessage) cannot be \(isPrefix ? "the beginning of a URL" : "a URL")")
    }
    return isPrefix
      ? .prefix(String(url.text.dropLast(end.count)), in: partition) : .prefix(url.text + " ", in: partition)
  }

  /// Returns `nil` if the origin does not serve the URL's host.
  private func pathAndQuery(at origin: OriginSettings) -> String? {
    guard let url else { return text }
    guard url.origin == origin.url.origin || isHost(of: url, oneOf: origin.hosts) else { return nil }
    let rest = text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true).dropFirst(2).first
    return "/" + (rest ?? "")
  }

  private func isHost(of url: PageURL, oneOf hosts: [String]) -> Bool {
    if hosts.isEmpty { return true }
    guard let authority = url.origin.split(separator: "/").last else { return false }
    var place = OriginSettings(url: url)
    place.hosts = hosts
    return OriginTable([place]).choice(authority: String(authority), path: "/") == .origin(0)
  }
}
