import HTTPTransport
import HTTPTypes

/// How a request says what it asks for.
enum RequestTarget: Equatable {
  /// As the path and query of the URL, which libcurl sends as they are.
  case ofURL
  /// As it is, because it is no path (`*`) or because libcurl would cut it off at a `#`, or
  /// escape it.
  case verbatim(String)

  /// Nil where the authority or the target would not stay what it is: RFC 9112 §3.2 has no space and no control
  /// character there.
  init?(of request: TransportRequest) {
    // libcurl would take the rest of such an authority for a path.
    guard let authority = request.head.authority, !authority.isEmpty, Self.isClean(authority),
      !authority.contains(where: { "/?#\\".contains($0) })
    else { return nil }
    let target = request.head.path ?? "/"
    guard Self.isClean(target) else { return nil }
    let isPath = target.isEmpty || target.hasPrefix("/") || target.hasPrefix("?")
    self = isPath && target.utf8.allSatisfy { $0 < 0x80 && $0 != UInt8(ascii: "#") } ? .ofURL : .verbatim(target)
  }

  private static func isClean(_ text: String) -> Bool { text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } }
}
