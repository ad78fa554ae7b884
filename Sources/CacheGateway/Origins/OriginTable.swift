import HTTPTransport

/// Chooses the origin of a request: the most specific host, and then the longest prefix.
struct OriginTable: Sendable {
  enum Choice: Equatable {
    case origin(Int)
    /// RFC 9110 §15.5.20.
    case unknownHost
    case unknownPath
  }

  private let places: [(hosts: [String], prefixes: [String])]

  init(_ origins: [OriginSettings]) { places = origins.map { ($0.hosts, $0.prefixes) } }

  /// - Parameters:
  ///   - authority: the host, with or without a port.
  ///   - path: the path, with or without a query.
  func choice(authority: String?, path: String) -> Choice {
    if places.count == 1, let only = places.first, only.hosts.isEmpty, only.prefixes.isEmpty { return .origin(0) }
    let host = authority.map(Self.host)
    let path = Self.plain(path)
    var best: (index: Int, host: Int, prefix: Int)?
    var isHostKnown = false
    for (index, place) in places.enumerated() {
      guard let hostRank = Self.rank(host, in: place.hosts) else { continue }
      isHostKnown = true
      guard let prefixRank = Self.rank(path, below: place.prefixes) else { continue }
      if best.map({ (hostRank, prefixRank) > ($0.host, $0.prefix) }) ?? true { best = (index, hostRank, prefixRank) }
    }
    if let best { return .origin(best.index) }
    return isHostKnown ? .unknownPath : .unknownHost
  }

  /// Returns the names of two origins that claim the same host and prefix; `nil` if there are none.
  static func conflict(in origins: [OriginSettings]) -> (String, String)? {
    var owners: [String: String] = [:]
    for origin in origins {
      for host in origin.hosts.isEmpty ? [""] : origin.hosts {
        for prefix in origin.prefixes.isEmpty ? [""] : origin.prefixes {
          if let owner = owners.updateValue(origin.name, forKey: host + " " + prefix) { return (owner, origin.name) }
        }
      }
    }
    return nil
  }

  /// Returns 0 if any host is accepted, more for a closer match, and `nil` if the host matches none of them.
  private static func rank(_ host: String?, in hosts: [String]) -> Int? {
    if hosts.isEmpty { return 0 }
    guard let host else { return nil }
    if hosts.contains(host) { return .max }
    return hosts.filter { $0.hasPrefix("*.") && host.hasSuffix($0.dropFirst()) }.map(\.utf8.count).max()
  }

  private static func rank(_ path: String, below prefixes: [String]) -> Int? {
    if prefixes.isEmpty { return 0 }
    return prefixes.filter { prefix in
      guard path.hasPrefix(prefix) else { return false }
      let next = path.utf8.dropFirst(prefix.utf8.count).first
      return prefix.hasSuffix("/") || next.map { [UInt8(ascii: "/"), UInt8(ascii: "?")].contains($0) } ?? true
    }.map(\.utf8.count).max()
  }

  /// Returns the host without its port, in lowercase.
  private static func host(_ authority: String) -> String {
    let (host, _) = RequestValidation.parts(ofAuthority: authority.lowercased())
    // The trailing dot of the root is removed.
    return String(host.hasSuffix(".") ? host.dropLast() : host)
  }

  /// Resolves `..` in a path, so that it cannot lead from one origin's paths into another's.
  private static func plain(_ path: String) -> String {
    guard path.contains("/.") || path.contains("%"), let url = PageURL("http://localhost" + path) else { return path }
    return String(url.text.dropFirst("http://localhost".count))
  }
}
