import Foundation

/// An IP address, as bytes.
package struct HostAddress: Hashable, Sendable {
  /// 4 or 16 bytes, in network order.
  package let bytes: [UInt8]

  /// Reads an address as sockets write it: `127.0.0.1`, `::1`, `fe80::1%eth0`.
  package init?(_ text: String) {
    let text = String(text.prefix { $0 != "%" })
    var four = in_addr()
    var six = in6_addr()
    if inet_pton(AF_INET, text, &four) == 1 {
      bytes = withUnsafeBytes(of: &four) { Array($0) }
    } else if inet_pton(AF_INET6, text, &six) == 1 {
      bytes = withUnsafeBytes(of: &six) { Array($0) }
    } else {
      return nil
    }
  }

  /// Reads a URL's host, also in the forms that resolvers accept for IPv4 addresses: `2130706433`, `0x7f.1`,
  /// `017700000001`.
  package init?(host: String) {
    let text = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    if let address = HostAddress(text) {
      self = address
      return
    }
    var four = in_addr()
    guard !text.isEmpty, text.allSatisfy({ $0.isASCII && ($0.isHexDigit || $0 == "." || $0 == "x" || $0 == "X") }),
      text.first?.isNumber == true, inet_aton(text, &four) != 0
    else { return nil }
    bytes = withUnsafeBytes(of: &four) { Array($0) }
  }

  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// The IPv4 address that is embedded in an IPv6 address; `nil` if there is none.
  package var embedded: HostAddress? {
    guard bytes.count == 16 else { return nil }
    if let mapped { return mapped }
    // RFC 6052 §2.1: 64:ff9b::a.b.c.d.
    let translated = Array(bytes[..<12]) == [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]
    if translated { return HostAddress(bytes: Array(bytes[12...])) }
    // RFC 3056 §2: 2002:a.b:c.d::/48.
    return bytes[0] == 0x20 && bytes[1] == 0x02 ? HostAddress(bytes: Array(bytes[2..<6])) : nil
  }

  /// The IPv4 address that an IPv6 address stands for on this machine, `::ffff:a.b.c.d`; `nil` for any other. RFC 4291
  /// §2.5.5.2.
  var mapped: HostAddress? {
    guard bytes.count == 16, bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff else {
      return nil
    }
    return HostAddress(bytes: Array(bytes[12...]))
  }

  /// The address as sockets write it.
  package var text: String {
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    _ = inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &buffer, socklen_t(buffer.count))
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

/// A range of addresses with a common prefix: `10.0.0.0/8`.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
  package let base: HostAddress
  /// The number of significant bits.
  package let length: Int

  /// Returns `nil` if the text is not an address, or has a length out of range. Without a length the range is one
  /// address.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let base = parts.first.flatMap({ HostAddress(String($0)) }) else { return nil }
    let length = parts.count == 2 ? Int(parts[1]) : base.bytes.count * 8
    guard let length, (0...base.bytes.count * 8).contains(length) else { return nil }
    self.base = base
    self.length = length
  }

  package var description: String { "\(base.text)/\(length)" }

  package func contains(_ address: HostAddress) -> Bool {
    guard address.bytes.count == base.bytes.count else { return false }
    for index in 0..<(length + 7) / 8 {
      let mask = UInt8(truncatingIfNeeded: 0xff00 >> min(8, length - index * 8))
      if address.bytes[index] & mask != base.bytes[index] & mask { return false }
    }
    return true
  }
}

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
