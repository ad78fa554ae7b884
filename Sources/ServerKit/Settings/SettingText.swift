import HTTPTransport

/// Parses and writes the values of settings.
package enum SettingText {
  /// Reads a number of bytes, or one with a unit of powers of 1024: `65536`, `256MB`, `1.5GiB`.
  package static func size(_ text: String) -> Int64? { Int64(size: text) }

  /// Returns a host as it is written before a port: an IPv6 address in brackets. RFC 3986 §3.2.2.
  package static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

  /// Reads `host:port`, with an IPv6 address in brackets.
  package static func address(_ text: String) -> (host: String, port: Int)? {
    guard let colon = text.lastIndex(of: ":"), let port = count(text[text.index(after: colon)...]), port < 65_536 else {
      return nil
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    return host.isEmpty ? nil : (String(host), port)
  }

  static func truth(_ text: String) -> Bool? {
    switch text {
    case "true", "1": true
    case "false", "0": false
    default: nil
    }
  }

  package static func count(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }

  /// Writes a number, without a fraction that it does not have.
  package static func text(_ number: Double) -> String {
    number == number.rounded() && abs(number) < 1e15 ? "\(Int64(number))" : "\(number)"
  }

  /// Writes a duration: seconds as a decimal.
  package static func text(_ duration: Duration) -> String { text(duration / .seconds(1)) }
}
