import HTTPCaching
import HTTPTypes

/// The proxies in front of this server whose word counts on the clients that they forward for.
package struct TrustedProxies: Sendable {
  package let ranges: [AddressRange]

  package init(_ ranges: [AddressRange] = []) { self.ranges = ranges }

  package var isEmpty: Bool { ranges.isEmpty }

  /// - Parameter address: an address as sockets write it.
  package func contains(_ address: String) -> Bool {
    !ranges.isEmpty && HostAddress(address).map { contains($0) } ?? false
  }

  private func contains(_ address: HostAddress) -> Bool {
    // A socket for both versions of IP has IPv4 addresses in the form of IPv6.
    let address = address.mapped ?? address
    return ranges.contains { $0.contains(address) }
  }

  /// Returns the address of the client that a request comes from: that of the connection, unless it is a trusted proxy's.
  /// Then it is the last one in `X-Forwarded-For`, or `Forwarded` if there is no such field, that is not a trusted
  /// proxy's, since what stands before it may be the client's invention.
  ///
  /// - Parameters:
  ///   - fields: the fields of the request.
  ///   - peer: the address of the connection.
  package func client(of fields: HTTPFields, from peer: String) -> String {
    guard contains(peer) else { return peer }
    var client = peer
    for node in Self.nodes(in: fields).reversed() {
      guard let address = Self.address(ofNode: node) else { break }
      client = address.text
      guard contains(address) else { break }
    }
    return client
  }

  /// The fields that name the client, in lowercase.
  static let fieldNames: Set<String> = ["x-forwarded-for", "forwarded"]

  private static let forName = HTTPField.Name("X-Forwarded-For")
  private static let forwardedName = HTTPField.Name("Forwarded")

  private static func nodes(in fields: HTTPFields) -> [Substring] {
    func members(_ name: HTTPField.Name?) -> [Substring] {
      name.map { fields[values: $0] }?.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) } ?? []
    }
    let addresses = members(forName)
    guard addresses.isEmpty else { return addresses }
    // RFC 7239 §4: a node has no comma, also in quotes. An element without one is unknown.
    return members(forwardedName).map { element in
      element.split(separator: ";").lazy.map(\.trimmingSpaces).first { $0.lowercased().hasPrefix("for=") }?
        .dropFirst(4) ?? ""
    }
  }

  /// Reads `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]`, each also in quotes, and but for the second with a port.
  private static func address(ofNode node: Substring) -> HostAddress? {
    var text = Substring(node.trimmingSpaces)
    if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = text.dropFirst().dropLast() }
    if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
      text = text[text.index(after: text.startIndex)..<end]
    } else if let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon {
      text = text[..<colon]
    }
    return HostAddress(String(text))
  }
}
