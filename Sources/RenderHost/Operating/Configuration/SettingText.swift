import Foundation

/// Reads the values that people write.
enum SettingText {
  /// Seconds as a decimal, or with a unit: `5`, `2.5`, `250ms`, `5s`, `10m`, `1h`. Nil for anything else, and for
  /// what is negative or over ten years.
  static func duration(_ text: String) -> Duration? {
    let units: [(String, Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("", 1)]
    for (unit, scale) in units where text.hasSuffix(unit) {
      guard let number = decimal(text.dropLast(unit.count)), number * scale <= 315_360_000 else { return nil }
      return .milliseconds((number * scale * 1000).rounded())
    }
    return nil
  }

  /// Bytes, or with a unit of powers of 1024: `65536`, `256MB`, `1.5GiB`.
  static func size(_ text: String) -> Int64? {
    let units: [(String, Double)] = [
      ("kib", 1024), ("mib", 1_048_576), ("gib", 1_073_741_824),
      ("kb", 1024), ("mb", 1_048_576), ("gb", 1_073_741_824),
      ("k", 1024), ("m", 1_048_576), ("g", 1_073_741_824), ("b", 1), ("", 1),
    ]
    let text = text.lowercased()
    for (unit, scale) in units where text.hasSuffix(unit) {
      guard let number = decimal(text.dropLast(unit.count)), number * scale < 1e15 else { return nil }
      return Int64((number * scale).rounded())
    }
    return nil
  }

  /// A host as it stands before a port: an IPv6 address in brackets. RFC 3986 §3.2.2.
  static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

  /// `host:port`, with an IPv6 address in brackets.
  static func address(_ text: String) -> (host: String, port: Int)? {
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

  static func count(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }

  /// How a duration is shown: seconds as a decimal.
  static func text(_ duration: Duration) -> String {
    let seconds = duration / .seconds(1)
    return seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
  }

  private static func decimal(_ text: some StringProtocol) -> Double? {
    guard let first = text.utf8.first, (0x30...0x39).contains(first),
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E })
    else { return nil }
    return Double(text)
  }
}
