import HTTPTransport
import HTTPTypes

/// The form in which libcurl gets a request's target. RFC 9112 §3.2.
enum RequestTarget: Equatable {
  /// The path and query of the URL, which libcurl sends unchanged.
  case ofURL
  /// A separate text, because the target is not a path (`*`), or because libcurl would cut it at a `#` or escape it.
  case verbatim(String)

  /// Returns `nil` if the authority or the target would be changed on the way: RFC 9112 §3.2 allows no spaces or
  /// control characters in them.
  init?(of request: TransportRequest) {
    // libcurl would read the rest of such an authority as a path.
    guard let authority = request.head.authority, !authority.isEmpty, Self.isClean(authority),
      !authority.utf8.contains(where: Self.endsAuthority)
    else { return nil }
    let target = request.head.path ?? "/"
    guard Self.isClean(target) else { return nil }
    let isPath = target.isEmpty || target.hasPrefix("/") || target.hasPrefix("?")
    self = isPath && target.utf8.allSatisfy { $0 < 0x80 && $0 != UInt8(ascii: "#") } ? .ofURL : .verbatim(target)
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") || byte == UInt8(ascii: "\\")
  }

  private static func isClean(_ text: String) -> Bool { text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } }
}

/// Parses an authority.
enum HostText {
  /// Returns the host without its port; an IPv6 address without its brackets. RFC 3986 §3.2.2.
  static func host(of authority: String) -> String {
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
      return String(authority[authority.index(after: authority.startIndex)..<end])
    }
    return String(authority.prefix { $0 != ":" })
  }
}
