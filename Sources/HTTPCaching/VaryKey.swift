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

  /// Whether a request would have chosen the response that this key belongs to.
  public func matches(_ request: HTTPFields) -> Bool {
    values.isEmpty
      || values.allSatisfy { name, value in
        HTTPField.Name(name).map { Self.normalised(request[values: $0], of: name) == value } ?? true
      }
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

  /// RFC 9110 §12.5: lists of preferences, in which neither case nor order tells anything; weights do.
  private static let preferences: Set<String> = ["accept", "accept-charset", "accept-encoding", "accept-language"]

  /// RFC 9111 §4.1: white space, the way in which lines are combined, and whatever else the field's own definition
  /// calls the same do not count.
  private static func normalised(_ lines: [String], of name: String) -> String? {
    guard !lines.isEmpty else { return nil }
    let members = lines.flatMap { $0.split(separator: ",", omittingEmptySubsequences: true) }
    guard preferences.contains(name) else {
      return members.map { $0.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ") }
        .joined(separator: ",")
    }
    return members.map { member in member.filter { $0 != " " && $0 != "\t" }.lowercased() }.sorted()
      .joined(separator: ",")
  }
}
