import HTTPTransport
import HTTPTypes
import ServerKit

/// Finds parts of a request's head that are ambiguous, or cannot be forwarded unchanged.
enum RequestValidation {
  /// Returns `nil` for a head without such parts.
  static func fault(in head: HTTPRequest, version: RequestVersion) -> String? {
    if let host = head.host, !isAuthority(host) { return "the request's host is not a valid name or address" }
    // RFC 9113 §8.3.1.
    if let host = head.host?.lowercased(), head.hostFields.contains(where: { $0.lowercased() != host }) {
      return "the request names two hosts"
    }
    if let field = head.headerFields.first(where: { isUnclear($0.value, version) }) {
      return "the field \(field.name.rawName) has bytes that are not UTF-8, and cannot be forwarded"
    }
    return nil
  }

  private static func isUnclear(_ text: String, _ version: RequestVersion) -> Bool {
    // A replacement character stands for lost bytes, so that two different fields would be the same. After
    // ``RequestBytesHandler`` only such fields have it that were received with it.
    if text.utf8.contains(0xEF), text.contains("\u{FFFD}") { return true }
    // HTTP/2 fields arrive as UTF-8 only, so that opaque bytes would be ambiguous.
    return version == .http2 && OpaqueText.hasEscapes(text)
  }

  /// RFC 9110 §7.2, RFC 3986 §3.2.2 and §3.2.3.
  static func isAuthority(_ text: String) -> Bool {
    let (host, port) = parts(ofAuthority: text)
    guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
    if host.hasPrefix("["), host.hasSuffix("]") {
      return host.dropFirst().dropLast().utf8.allSatisfy { isHexDigit($0) || $0 == 0x3A || $0 == 0x2E }
    }
    return host.utf8.allSatisfy {
      isLetterOrDigit($0) || "-._~%!$&'()*+,;=".utf8.contains($0)
    }
  }

  /// Splits an authority. An IPv6 address keeps its brackets; the port is empty if there is none.
  static func parts(ofAuthority text: String) -> (host: Substring, port: Substring) {
    guard let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") else { return (text[...], "") }
    return (text[..<colon], text[text.index(after: colon)...])
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
  }
}
