import HTTPTransport
import Synchronization

/// The origins of a gateway, which may be replaced while it runs.
package final class GatewayOrigins: Sendable {
  /// The origins at one time, and which requests they are for.
  struct Routes: Sendable {
    let origins: [GatewayOrigin]
    let table: OriginTable
    /// Grows with each replacement.
    let generation: Int

    init(_ origins: [GatewayOrigin], generation: Int = 0) {
      (self.origins, self.generation) = (origins, generation)
      table = OriginTable(origins.map(\.settings))
    }
  }

  /// The difference between two lists of origins, by their names.
  package struct Changes: Hashable, Sendable {
    package var added: [String] = []
    package var removed: [String] = []
    package var changed: [String] = []

    package var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }
  }

  private let state: Mutex<Routes>
  private let latest = Atomic<Int>(0)
  /// Sent when origins were replaced.
  let replacements = Signal()

  init(_ origins: [GatewayOrigin]) { state = Mutex(Routes(origins)) }

  var routes: Routes { state.withLock(\.self) }

  /// Returns `true` if the origins are those of a generation: what they answered may be given again.
  func isCurrent(_ generation: Int) -> Bool { latest.load(ordering: .relaxed) == generation }

  func replace(by origins: [GatewayOrigin]) {
    state.withLock { state in
      state = Routes(origins, generation: state.generation + 1)
      latest.store(state.generation, ordering: .relaxed)
    }
    replacements.send()
  }
}

extension GatewayOrigins.Changes {
  init(from old: [OriginSettings], to new: [OriginSettings]) {
    for settings in new {
      guard let former = old.first(where: { $0.name == settings.name }) else {
        added.append(settings.name)
        continue
      }
      if !former.isSame(as: settings) { changed.append(settings.name) }
    }
    removed = old.map(\.name).filter { name in !new.contains { $0.name == name } }
  }

  /// The changes in words, such as `origins added: api; changed: pictures`.
  package var text: String {
    let parts = [("added", added), ("removed", removed), ("changed", changed)]
    return "origins "
      + parts.filter { !$0.1.isEmpty }.map { "\($0.0): \($0.1.joined(separator: ", "))" }.joined(separator: "; ")
  }
}

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
