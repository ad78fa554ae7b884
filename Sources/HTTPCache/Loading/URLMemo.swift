import Containers
import HTTPTransport

/// Remembers texts that were parsed as URLs: pages ask for the same ones again and again, and parsing one costs more
/// than a hit in memory. The plain ones need no parsing.
final class URLMemo: Sendable {
  struct Entry: Sendable {
    /// As it is sent.
    let url: PageURL
    /// As responses are looked up.
    let identity: PageURL

    init(_ url: PageURL, ignoring ignored: Set<String>) {
      self.url = url
      identity = ignored.isEmpty ? url : PageURL(url.text, ignoring: ignored) ?? url
    }

    fileprivate init(plain url: PageURL) { (self.url, identity) = (url, url) }
  }

  private let entries = LRUCache<String, Entry>(capacity: 2_000)

  /// Returns `nil` if the text is not a URL.
  func entry(for text: String, ignoring ignored: Set<String>) -> Entry? {
    if let plain = PageURL(plain: text) { return Entry(plain: plain) }
    if let known = entries[text] { return known }
    guard let url = PageURL(text, ignoring: []) else { return nil }
    let entry = Entry(url, ignoring: ignored)
    entries.insert(entry, for: text, cost: 1)
    return entry
  }
}
