import HTTPCaching

extension AcceptedCodings {
  /// The codings that may be sent, the one with the highest weight first; among equals the one with the smallest result
  /// first. `identity` comes last among equals, and is there unless the client forbids it.
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
}
