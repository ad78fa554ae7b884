import HTTPTypes

/// The request fields a stored response was chosen by. RFC 9111 §4.1.
public struct VaryKey: Hashable, Sendable {
  /// Lower-case name and normalised value of each field that `Vary` names; nil where the request had none.
  private let values: [String: String?]

  /// Nil for `Vary: *`: nothing ever matches that.
  public init?(vary fields: HTTPFields, request: HTTPFields) {
    guard let names = Self.names(in: fields) else { return nil }
    var values: [String: String?] = [:]
    for name in names {
      guard let field = HTTPField.Name(name) else { continue }
      values[name] = .some(Self.normalised(request[values: field]))
    }
    self.values = values
  }

  /// Whether a request would have chosen the response that this key belongs to.
  public func matches(_ request: HTTPFields) -> Bool {
    values.allSatisfy { name, value in
      HTTPField.Name(name).map { Self.normalised(request[values: $0]) == value } ?? true
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

  /// RFC 9111 §4.1: white space and the way in which lines are combined do not count.
  private static func normalised(_ lines: [String]) -> String? {
    guard !lines.isEmpty else { return nil }
    let members = lines.flatMap { $0.split(separator: ",", omittingEmptySubsequences: true) }
    return members.map { $0.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ") }
      .joined(separator: ",")
  }
}
