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
