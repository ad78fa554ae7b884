/// The purpose of an address, after IANA's registries of special-purpose addresses.
package enum AddressKind: String, Hashable, Sendable {
  case global
  case loopback
  case privateUse = "private"
  case linkLocal = "link-local"
  /// Addresses behind a provider's address translation: RFC 6598.
  case sharedSpace = "shared (carrier-grade NAT)"
  case multicast
  case unspecified
  case reserved

  package init(_ address: HostAddress) {
    if let embedded = address.embedded {
      self = AddressKind(embedded)
    } else {
      let table = address.bytes.count == 4 ? Self.four : Self.six
      self = table.first { $0.range.contains(address) }?.kind ?? (address.bytes.count == 4 ? .global : .reserved)
    }
  }

  private typealias Row = (range: AddressRange, kind: AddressKind)

  private static func rows(_ rows: [(String, AddressKind)]) -> [Row] {
    rows.compactMap { text, kind in AddressRange(text).map { ($0, kind) } }
  }

  /// RFC 6890 §2.2.2, and later entries of the registry.
  private static let four = rows([
    ("0.0.0.0/8", .unspecified), ("10.0.0.0/8", .privateUse), ("100.64.0.0/10", .sharedSpace),
    ("127.0.0.0/8", .loopback), ("169.254.0.0/16", .linkLocal), ("172.16.0.0/12", .privateUse),
    ("192.0.0.0/24", .reserved), ("192.0.2.0/24", .reserved), ("192.88.99.0/24", .reserved),
    ("192.168.0.0/16", .privateUse), ("198.18.0.0/15", .reserved), ("198.51.100.0/24", .reserved),
    ("203.0.113.0/24", .reserved), ("224.0.0.0/4", .multicast), ("240.0.0.0/4", .reserved),
  ])

  /// RFC 6890 §2.2.3. IANA assigns addresses of 2000::/3 only: all others that are not named here are reserved.
  private static let six = rows([
    ("::/128", .unspecified), ("::1/128", .loopback), ("2001::/23", .reserved), ("2001:db8::/32", .reserved),
    ("3fff::/20", .reserved), ("2000::/3", .global), ("fc00::/7", .privateUse), ("fe80::/10", .linkLocal),
    ("fec0::/10", .privateUse), ("ff00::/8", .multicast),
  ])
}
