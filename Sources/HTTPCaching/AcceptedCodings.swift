import HTTPTypes

/// The encodings that a client accepts. RFC 9110 §12.5.3.
package struct AcceptedCodings: Equatable, Sendable {
  /// Thousandths by name in small letters; `nil` if the client sent no such field.
  package let weights: [String: Int]?
  /// True if each member is a coding of its own, with a weight at most.
  private let isClear: Bool

  package init(_ fields: HTTPFields) {
    self.init(fields.contains(.acceptEncoding) ? fields[values: .acceptEncoding].joined(separator: ",") : nil)
  }

  /// - Parameter value: the field's value.
  init(_ value: String?) {
    guard let value else {
      (weights, isClear) = (nil, true)
      return
    }
    var weights: [String: Int] = [:]
    var isClear = true
    for member in value.split(separator: ",") {
      let parts = member.split(separator: ";", omittingEmptySubsequences: false).map(Self.trimmed)
      guard let name = parts.first.map({ Self.name($0[...]) }), !name.isEmpty else { continue }
      var weight: Int? = 1000
      for part in parts.dropFirst() {
        if part.hasPrefix("q=") { weight = Self.thousandths(part.dropFirst(2)) } else { isClear = false }
      }
      if weights[name] != nil || weight == nil || parts.count > 2 { isClear = false }
      if let weight { weights[name] = weight }
    }
    (self.weights, self.isClear) = (weights, isClear)
  }

  /// The same for all who accept the same; `nil` if not everything is understood, or nothing was sent.
  ///
  /// A coding that is not named is refused: refusing it says nothing more, except for `identity` (RFC 9110 §12.5.3).
  var normalised: String? {
    guard isClear, let weights else { return nil }
    let counting = weights["*"] == nil ? weights.filter { $0.value > 0 || $0.key == "identity" } : weights
    return counting.map { Self.member($0.key, $0.value) }.sorted().joined(separator: ",")
  }

  /// The field with no other codings than these, in their order; `nil` if not everything is understood.
  package func limited(to codings: [String]) -> String? {
    guard isClear, let weights else { return nil }
    let kept = codings.compactMap { coding in
      (weights[coding] ?? weights["*"]).flatMap { $0 > 0 ? Self.member(coding, $0) : nil }
    }
    let ofNone = (weights["identity"] ?? weights["*"].flatMap { $0 == 0 ? 0 : nil }).map { Self.member("identity", $0) }
    let members = kept + [ofNone].compactMap(\.self)
    return members.isEmpty ? "identity" : members.joined(separator: ", ")
  }

  private static func member(_ name: String, _ weight: Int) -> String {
    weight == 1000 ? name : "\(name);q=\(Double(weight) / 1000)"
  }

  /// Returns `true` if a server that answered others in a coding would answer this client in the same way: it accepts
  /// fewer codings, the answer's among them, each with the same weight.
  ///
  /// - Parameter coding: the answer's `Content-Encoding`; `nil` for none.
  func getsTheSame(as others: AcceptedCodings, in coding: String?) -> Bool {
    guard isClear, others.isClear, let mine = weights, let theirs = others.weights, mine["*"] == nil,
      theirs["*"] == nil, mine.allSatisfy({ $0.key == "identity" || $0.value == 0 || theirs[$0.key] == $0.value })
    else { return false }
    let (mineOfNone, theirsOfNone) = (mine["identity"], theirs["identity"])
    let codings = (coding ?? "").split(separator: ",").map(Self.name).filter { !$0.isEmpty && $0 != "identity" }
    if codings.isEmpty {
      // It was the last choice of all, or as dear to these.
      return mineOfNone != 0 && (theirsOfNone == nil || theirsOfNone == mineOfNone)
    }
    return (mineOfNone == nil || mineOfNone == theirsOfNone) && codings.allSatisfy { mine[$0] ?? 0 > 0 }
  }

  /// RFC 9110 §8.4.1.3: the two names are equivalent.
  private static func name(_ text: Substring) -> String {
    let name = trimmed(text)
    return name == "x-gzip" ? "gzip" : name
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
