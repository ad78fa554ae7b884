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
