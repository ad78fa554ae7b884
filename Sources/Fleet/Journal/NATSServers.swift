import Foundation

/// The servers of a fleet's journal, a NATS cluster, and how to connect to them.
package struct NATSServers: Hashable, Sendable {
  /// The URLs, such as `nats://10.0.0.1:4222` or, for TLS, `tls://…`. One may have a user and a password, or a token.
  package let urls: [String]
  /// A file with the user's credentials, as `nsc` writes them; `nil` for none.
  package let credentials: String?
  /// The PEM file of the authorities whose certificates are trusted, for TLS; `nil` for the system's.
  package let authorities: String?

  /// The most servers of a cluster.
  package static let limit = 64

  package static let expected = "the URL of a NATS server, such as nats://10.0.0.1:4222"

  /// - Returns: `nil` if one of the texts is no URL of a server.
  package init?(_ urls: [String], credentials: String? = nil, authorities: String? = nil) {
    guard (1...Self.limit).contains(urls.count), urls.allSatisfy(Self.isServer) else { return nil }
    (self.urls, self.credentials, self.authorities) = (urls, credentials, authorities)
  }

  private static func isServer(_ text: String) -> Bool {
    guard let parts = URLComponents(string: text), let scheme = parts.scheme, ["nats", "tls"].contains(scheme) else {
      return false
    }
    return parts.host?.isEmpty == false && ["", "/"].contains(parts.path) && parts.query == nil && parts.fragment == nil
  }

  /// The URLs without users, passwords and tokens, for people.
  package var places: [String] {
    urls.map { url in
      guard var parts = URLComponents(string: url) else { return "" }
      (parts.user, parts.password) = (nil, nil)
      return parts.string ?? ""
    }
  }
}

/// The name of a fleet or of a host: 1 to 32 letters, digits, hyphens and underscores.
package struct FleetName: Hashable, Sendable, CustomStringConvertible {
  package let text: String
  package var description: String { text }

  package static let expected = "1 to 32 letters, digits, hyphens and underscores"

  /// - Returns: `nil` for a text that is no such name.
  package init?(_ text: String) {
    let bytes = text.utf8
    guard (1...32).contains(bytes.count), bytes.allSatisfy(Self.isAllowed) else { return nil }
    self.text = text
  }

  /// The name of this machine, with hyphens for what a name may not have.
  package static var ofThisMachine: FleetName {
    let first = ProcessInfo.processInfo.hostName.utf8.prefix { $0 != UInt8(ascii: ".") }.prefix(32)
    let text = String(decoding: first.map { isAllowed($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
    return FleetName(text) ?? FleetName(checked: "host")
  }

  private init(checked text: String) { self.text = text }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
