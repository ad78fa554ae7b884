import HTTPTypes

/// What a client accepts of encodings. RFC 9110 §12.5.3.
struct AcceptedCodings: Equatable, Sendable {
  /// Thousandths by name in small letters; nil where the client sent no such field.
  private let weights: [String: Int]?

  init(_ fields: HTTPFields) {
    guard fields.contains(.acceptEncoding) else {
      weights = nil
      return
    }
    var weights: [String: Int] = [:]
    for member in fields[values: .acceptEncoding].joined(separator: ",").split(separator: ",") {
      let parts = member.split(separator: ";", omittingEmptySubsequences: false).map(Self.trimmed)
      guard let name = parts.first, !name.isEmpty else { continue }
      var weight: Int? = 1000
      for part in parts.dropFirst() where part.hasPrefix("q=") { weight = Self.thousandths(part.dropFirst(2)) }
      // RFC 9110 §8.4.1.3: the two names are equivalent.
      if let weight { weights[name == "x-gzip" ? "gzip" : name] = weight }
    }
    self.weights = weights
  }

  /// What may be sent, the dearest first; between equals the order is ours: the smallest result first. `identity`
  /// comes last among equals, and is there unless the client forbids it.
  func ordered(among offered: [ContentCoding] = ContentCoding.allCases) -> [ContentCoding] {
    // No field: any coding is acceptable, and nobody asked for one.
    guard let weights else { return offered.filter { $0 == .identity } }
    let weighted = offered.compactMap { coding -> (coding: ContentCoding, weight: Int)? in
      if let weight = weights[coding.token] ?? weights["*"] { return weight > 0 ? (coding, weight) : nil }
      // Acceptable without a mention, but whoever names others would rather have those.
      return coding == .identity ? (coding, 0) : nil
    }
    return weighted.enumerated()
      .sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }.map(\.element.coding)
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.filter { $0 != " " && $0 != "\t" }).lowercased()
  }

  /// RFC 9110 §12.4.2; nil for what is no weight.
  private static func thousandths(_ text: Substring) -> Int? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, whole == "0" || whole == "1" else { return nil }
    let digits = parts.count == 2 ? parts[1] : ""
    guard digits.utf8.count <= 3, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    let fraction = Int(digits + String(repeating: "0", count: 3 - digits.utf8.count)) ?? 0
    let weight = (whole == "1" ? 1000 : 0) + fraction
    return weight <= 1000 ? weight : nil
  }
}
