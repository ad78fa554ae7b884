import HTTPTypes

/// The request fields a stored response was chosen by. RFC 9111 §4.1.
public struct VaryKey: Hashable, Sendable {
  /// Lower-case name and normalised value of each field that `Vary` names; nil where the request had none.
  public let values: [String: String?]

  /// For a response that does not vary.
  public init() { values = [:] }

  /// As it was written down before.
  public init(values: [String: String?]) { self.values = values }

  /// Nil for `Vary: *`: nothing ever matches that.
  public init?(vary fields: HTTPFields, request: HTTPFields) {
    guard let names = Self.names(in: fields) else { return nil }
    var values: [String: String?] = [:]
    for name in names {
      guard let field = HTTPField.Name(name) else { continue }
      values[name] = .some(Self.normalised(request[values: field], of: name))
    }
    self.values = values
  }

  /// Whether a request would have chosen the response that this key belongs to. Values are compared byte by byte.
  public func matches(_ request: HTTPFields) -> Bool { matches(request, but: nil) }

  /// - Parameter other: a field that need not be the same.
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

  /// The encodings that the requests accepted which the response was for; `nil` if it was not chosen by them.
  var acceptedCodings: AcceptedCodings? {
    values["accept-encoding"].map { AcceptedCodings($0) }
  }

  static func isUnmatchable(_ fields: HTTPFields) -> Bool { names(in: fields) == nil }

  /// Nil where one of them is `*`.
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

  /// RFC 9110 §12.5: lists of preferences, in which neither case nor order tells anything; weights do, and what a
  /// parameter says.
  private static let preferences: Set<String> = ["accept", "accept-charset", "accept-encoding", "accept-language"]

  /// RFC 9111 §4.1: white space, the way in which lines are combined, and whatever else the field's own definition
  /// calls the same do not count. What stands in quotes counts as it is.
  private static func normalised(_ lines: [String], of name: String) -> String? {
    guard !lines.isEmpty else { return nil }
    let line = lines.joined(separator: ",")
    if name == "accept-encoding", let normalised = AcceptedCodings(line).normalised { return normalised }
    let arePreferences = preferences.contains(name)
    // A quote without its end leaves open what its members are.
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
