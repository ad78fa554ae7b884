import Foundation

/// The address that a `ws` or `wss` URL names. RFC 6455 §3.
struct WebSocketAddress: Hashable, Sendable {
  let url: String
  let isSecure: Bool
  /// The host, without the brackets of an IPv6 address.
  let host: String
  let port: Int
  /// The value of the `Host` field. RFC 6455 §4.1, 4.
  let authority: String
  /// Path and query.
  let resource: String

  /// - Throws: ``WebSocketError/invalidURL(_:)``.
  init(_ text: String) throws {
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      ["ws", "wss"].contains(scheme), let encoded = parts.encodedHost, !encoded.isEmpty, parts.user == nil,
      // RFC 6455 §3: fragments must not be used.
      parts.password == nil, parts.fragment == nil, !text.utf8.contains(where: { $0 <= 32 || $0 == 127 }),
      (1...65_535).contains(parts.port ?? 80)
    else { throw WebSocketError.invalidURL(text) }
    url = text
    isSecure = scheme == "wss"
    let standard = isSecure ? 443 : 80
    port = parts.port ?? standard
    host = encoded.hasPrefix("[") && encoded.hasSuffix("]") ? String(encoded.dropFirst().dropLast()) : encoded
    authority = port == standard ? encoded : "\(encoded):\(port)"
    let path = parts.percentEncodedPath
    resource = (path.isEmpty ? "/" : path) + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
  }
}
