import HTTPTypes

/// The request fields that selected a response, by its `Vary`. RFC 9111 §4.1.
public struct VaryKey: Hashable, Sendable {
  /// The lower-case name and normalised value of each field that `Vary` names; the value is `nil` if the request did not
  /// have the field.
  public let values: [String: String?]

  /// Creates the key of a response without `Vary`.
  public init() { values = [:] }

  /// Creates a key from its stored ``values``.
  ///
  /// - Parameter values: the values of a key that was written down.
  public init(values: [String: String?]) { self.values = values }

  /// Creates the key that a request gives to the fields with these lower-case names.
  package init(names: some Sequence<String>, _ request: HTTPFields) {
    var values: [String: String?] = [:]
    for name in names {
      guard let field = HTTPField.Name(name) else { continue }
      values[name] = .some(Self.normalised(request[values: field], of: name))
    }
    self.values = values
  }

  /// Creates the key of a response. Returns `nil` for `Vary: *`, which no request matches.
  ///
  /// - Parameters:
  ///   - fields: the fields of the response.
  ///   - request: the fields of its request.
  public init?(vary fields: HTTPFields, request: HTTPFields) {
    guard let names = Self.names(in: fields) else { return nil }
    self.init(names: names, request)
  }

  /// Returns `true` if a request with these fields selects the response. Normalised values are compared byte by byte.
  ///
  /// - Parameter request: the fields of the request.
  public func matches(_ request: HTTPFields) -> Bool { matches(request, but: nil) }

  /// - Parameter other: the lower-case name of a field that is not compared.
  func matches(_ request: HTTPFields, but other: String?) -> Bool {
    values.allSatisfy { name, value in
      guard name != other, let field = HTTPField.Name(name) else { return true }
      switch (Self.normalised(request[values: field], of: name), value) {
      case (let now?, let then?): return now.utf8.elementsEqual(then.utf8)
      case (nil, nil): return true
      default: return false
      }
    }
  }

  /// The encodings that the request accepted; `nil` if `Vary` does not name `Accept-Encoding`.
  var acceptedCodings: AcceptedCodings? {
    values["accept-encoding"].map { AcceptedCodings($0) }
  }

  /// Returns `true` for `Vary: *`.
  static func isUnmatchable(_ fields: HTTPFields) -> Bool {
    // Asked for each stored response: most have no star, which is a part of names, too.
    fields[values: .vary].contains { $0.utf8.contains(UInt8(ascii: "*")) } && names(in: fields) == nil
  }

  /// The lower-case names in `Vary`; `nil` if one of them is `*`.
  private static func names(in fields: HTTPFields) -> Set<String>? {
    var names: Set<String> = []
    for line in fields[values: .vary] {
      for name in line.split(separator: ",") {
        let name = name.filter { $0 != " " && $0 != "\t" }
        if name == "*" { return nil }
        if !name.isEmpty { names.insert(name.lowercased()) }
      }
    }
    return names
  }

  /// Fields with lists of preferences (RFC 9110 §12.5): case and order are insignificant, weights and parameter values are
  /// significant.
  private static let preferences: Set<String> = ["accept", "accept-charset", "accept-encoding", "accept-language"]

  /// RFC 9111 §4.1: whitespace, the combination of lines, and differences that the definition of the field declares
  /// insignificant are ignored. Quoted strings are compared unchanged.
  private static func normalised(_ lines: [String], of name: String) -> String? {
    guard !lines.isEmpty else { return nil }
    let line = lines.joined(separator: ",")
    if name == "accept-encoding", let normalised = AcceptedCodings(line).normalised { return normalised }
    let arePreferences = preferences.contains(name)
    // Without a closing quote, the members are unknown.
    guard let members = members(of: line, arePreferences: arePreferences) else { return line }
    return (arePreferences ? members.sorted() : members).joined(separator: ",")
  }

  private static func members(of line: String, arePreferences: Bool) -> [String]? {
    var members: [String] = []
    var current: [UInt8] = []
    var (isQuoted, isEscaped, isValue, isAfterSpace) = (false, false, false, false)
    func flush() {
      if !current.isEmpty { members.append(String(decoding: current, as: UTF8.self)) }
      (current, isValue, isAfterSpace) = ([], false, false)
    }
    for byte in line.utf8 {
      if isQuoted {
        current.append(byte)
        if byte == UInt8(ascii: "\""), !isEscaped { isQuoted = false }
        isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        continue
      }
      switch byte {
      case UInt8(ascii: ","):
        flush()
        continue
      case UInt8(ascii: " "), UInt8(ascii: "\t"):
        isAfterSpace = true
        continue
      case UInt8(ascii: "\""): isQuoted = true
      case UInt8(ascii: ";"): isValue = false
      case UInt8(ascii: "="): isValue = true
      default: break
      }
      if isAfterSpace, !arePreferences, !current.isEmpty { current.append(UInt8(ascii: " ")) }
      isAfterSpace = false
      let isUpper = (65...90).contains(byte)
      current.append(arePreferences && !isValue && isUpper ? byte | 0x20 : byte)
    }
    flush()
    return isQuoted ? nil : members
  }
}

// MARK: - Accepted encodings

/// The content codings that a client accepts. RFC 9110 §12.5.3.
package struct AcceptedCodings: Equatable, Sendable {
  /// The weights in thousandths by lower-case name; `nil` if the request has no `Accept-Encoding`.
  package let weights: [String: Int]?
  /// `true` if each member is a different coding, with no parameter other than a valid weight.
  private let isClear: Bool

  package init(_ fields: HTTPFields) {
    self.init(fields.contains(.acceptEncoding) ? fields[values: .acceptEncoding].joined(separator: ",") : nil)
  }

  /// - Parameter value: the value of `Accept-Encoding`; `nil` if the request does not have the field.
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

  /// A form that is equal for equivalent values; `nil` if the field is absent or not completely understood.
  ///
  /// Codings with weight 0 are omitted, since unnamed codings are refused anyway, except `identity` (RFC 9110 §12.5.3).
  var normalised: String? {
    guard isClear, let weights else { return nil }
    let counting = weights["*"] == nil ? weights.filter { $0.value > 0 || $0.key == "identity" } : weights
    return counting.map { Self.member($0.key, $0.value) }.sorted().joined(separator: ",")
  }

  /// Returns the field value with only these codings, in their order; `nil` if the field is not completely understood.
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

  /// Returns `true` if a server that answered another client in a coding would choose the same coding for this one: this
  /// client accepts fewer codings, each with the same weight, and that of the response is among them.
  ///
  /// - Parameters:
  ///   - others: the codings that the other client accepts.
  ///   - coding: the `Content-Encoding` of the response; `nil` for none.
  func getsTheSame(as others: AcceptedCodings, in coding: String?) -> Bool {
    guard isClear, others.isClear, let mine = weights, let theirs = others.weights, mine["*"] == nil,
      theirs["*"] == nil, mine.allSatisfy({ $0.key == "identity" || $0.value == 0 || theirs[$0.key] == $0.value })
    else { return false }
    let (mineOfNone, theirsOfNone) = (mine["identity"], theirs["identity"])
    let codings = (coding ?? "").split(separator: ",").map(Self.name).filter { !$0.isEmpty && $0 != "identity" }
    if codings.isEmpty {
      // The server chose no coding: for the other client it was the last choice, or has the same weight here.
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

  /// RFC 9110 §12.4.2; `nil` for an invalid weight.
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
