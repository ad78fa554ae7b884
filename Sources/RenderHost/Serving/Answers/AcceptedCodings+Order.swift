import HTTPCaching

extension AcceptedCodings {
  /// The codings that may be sent, the one with the highest weight first; at equal weights the one with the smallest
  /// result first. `identity` comes last at equal weights, and is included unless the client forbids it.
  func ordered(among offered: [ContentCoding] = ContentCoding.allCases) -> [ContentCoding] {
    // No field: any coding is acceptable, and the client prefers none.
    guard let weights else { return offered.filter { $0 == .identity } }
    let weighted = offered.compactMap { coding -> (coding: ContentCoding, weight: Int)? in
      if let weight = weights[coding.token] ?? weights["*"] { return weight > 0 ? (coding, weight) : nil }
      // `identity` is acceptable without being named, but a client that names others prefers those.
      return coding == .identity ? (coding, 0) : nil
    }
    return weighted.enumerated()
      .sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }.map(\.element.coding)
  }
}
