import PageKit
import ServerKit

/// Decides which URLs the daemon fetches for pages and callers: only those of named origins.
///
/// Pure; ``AccessGuard`` asks it for every hop and every connection.
struct AccessPolicy: Hashable, Sendable {
  /// The origins of the manifest and of the settings.
  private(set) var origins: Set<WebOrigin> = []
  /// The origins of the settings. Only these open private networks: a manifest may come from another machine.
  private var told: Set<WebOrigin> = []
  /// The networks of the settings, whose addresses may be private.
  private(set) var networks: [AddressRange] = []
  /// The folders that `file:` URLs may lead to: paths that end with `/`.
  private(set) var folders: [String] = []

  init() {}

  /// - Parameters:
  ///   - allowed: origins such as `https://api.example.com`, and networks such as `10.1.0.0/16`.
  ///   - manifest: its own URL; `nil` for a folder.
  /// - Throws: ``AccessError/notAnOrigin(_:)``.
  init(allowed: [String], manifest: PageURL? = nil, folders: [String] = []) throws {
    for text in allowed {
      if let range = AddressRange(text) {
        networks.append(range)
      } else if let origin = WebOrigin(text) {
        told.insert(origin)
      } else {
        throw AccessError.notAnOrigin(text)
      }
    }
    self.folders = folders.map { $0.hasSuffix("/") ? $0 : $0 + "/" }
    if let origin = manifest.flatMap({ WebOrigin($0) }) { told.insert(origin) }
    origins = told
  }

  /// Names the origins of these URLs too: those of a manifest's bundles and of what it prefetches.
  mutating func add(_ urls: [PageURL]) { origins.formUnion(urls.compactMap { WebOrigin($0) }) }

  /// Returns the reason why a URL may not be fetched; `nil` if it may.
  func refusal(of url: PageURL) -> AccessRefusal? {
    if url.isFile {
      guard let path = url.filePath, folders.contains(where: { path.hasPrefix($0) }) else {
        return AccessRefusal(url: url.text, rule: .folder)
      }
      return nil
    }
    guard let origin = WebOrigin(url) else { return AccessRefusal(url: url.text, rule: .origin("unreadable")) }
    return origins.contains(origin) ? nil : AccessRefusal(url: url.text, rule: .origin("\(origin)"))
  }

  /// Returns the reason why a host may not be connected to at its address; `nil` if it may.
  func refusal(host: String, address text: String, port: Int) -> AccessRefusal? {
    guard let address = HostAddress(text) else {
      return AccessRefusal(url: host, rule: .address(text, .reserved))
    }
    let kind = AddressKind(address)
    if kind == .global || networks.contains(where: { $0.contains(address) }) { return nil }
    if let embedded = address.embedded, networks.contains(where: { $0.contains(embedded) }) { return nil }
    // A name says nothing about the address it resolves to. `localhost` does: RFC 6761 §6.3.
    let named = HostAddress(host: host)
    let isNamed = told.contains { origin in
      guard origin.port == port else { return false }
      if let named { return origin.host == named.text && (named == address || named.embedded == address) }
      return origin.host == "localhost" && host.lowercased() == "localhost" && kind == .loopback
    }
    return isNamed ? nil : AccessRefusal(url: host, rule: .address(address.text, kind))
  }
}
