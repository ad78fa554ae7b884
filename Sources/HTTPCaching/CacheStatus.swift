import HTTPTypes

/// How a cache dealt with a request, as `Cache-Status` tells it. RFC 9211 §2.
public struct CacheStatus: Hashable, Sendable, CustomStringConvertible {
  public enum Outcome: Hashable, Sendable {
    case hit
    case forwarded(ForwardReason)
    /// The cache's own answer, such as an error.
    case generated
  }

  /// The cache's name.
  public var cache: String
  public var outcome: Outcome
  /// The origin's status, where it is not that of the answer.
  public var forwardStatus: Int?
  /// Seconds of freshness left; negative when it is stale.
  public var timeToLive: Int64?
  public var isStored: Bool
  /// The request shared another's way to the origin.
  public var isCollapsed: Bool
  /// Whatever else there is to tell.
  public var detail: String?

  public init(
    cache: String = "PageKit", _ outcome: Outcome, forwardStatus: Int? = nil, timeToLive: Int64? = nil,
    isStored: Bool = false, isCollapsed: Bool = false, detail: String? = nil
  ) {
    self.cache = cache
    self.outcome = outcome
    self.forwardStatus = forwardStatus
    self.timeToLive = timeToLive
    self.isStored = isStored
    self.isCollapsed = isCollapsed
    self.detail = detail
  }

  /// The field's value. What concerns the way to the origin is only told of a request that went there.
  public var description: String {
    var parts = [Self.item(cache)]
    switch outcome {
    case .hit: parts.append("hit")
    case .forwarded(let reason):
      parts.append("fwd=\(reason.cacheStatusToken)")
      if let forwardStatus { parts.append("fwd-status=\(forwardStatus)") }
    case .generated: break
    }
    if let timeToLive { parts.append("ttl=\(min(max(timeToLive, -Self.longestInteger), Self.longestInteger))") }
    if case .forwarded = outcome {
      if isStored { parts.append("stored") }
      if isCollapsed { parts.append("collapsed") }
    }
    if let detail { parts.append("detail=\(Self.item(detail))") }
    return parts.joined(separator: "; ")
  }

  /// RFC 8941 §3.3.1.
  private static let longestInteger: Int64 = 999_999_999_999_999

  /// A token where it has that form, and a string otherwise. RFC 8941 §3.3.3, §3.3.4.
  private static func item(_ text: String) -> String {
    let bytes = text.utf8
    let isToken = bytes.allSatisfy { DirectiveParser.isToken($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
    if let first = bytes.first, isToken, (65...90).contains(first) || (97...122).contains(first) || first == 42 {
      return text
    }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case " "..."~": quoted.unicodeScalars.append(scalar)
      default: quoted += "?"
      }
    }
    return quoted + "\""
  }

  /// Adds it behind what caches nearer to the origin have said. RFC 9211 §2.
  public func added(to fields: HTTPFields) -> HTTPFields {
    guard let name = HTTPField.Name("Cache-Status") else { return fields }
    var fields = fields
    fields.append(HTTPField(name: name, value: description))
    return fields
  }
}
