import HTTPTypes

/// How a cache dealt with a request, as `Cache-Status` tells it. RFC 9211 §2.
public struct CacheStatus: Hashable, Sendable, CustomStringConvertible {
  public enum Outcome: Hashable, Sendable {
    case hit
    case forwarded(ForwardReason)
  }

  /// The cache's name: a token.
  public var cache: String
  public var outcome: Outcome
  /// The origin's status, where it is not that of the answer.
  public var forwardStatus: Int?
  /// Seconds of freshness left; negative when it is stale.
  public var timeToLive: Int64?
  public var isStored: Bool
  /// The request shared another's way to the origin.
  public var isCollapsed: Bool
  /// A token that tells more.
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

  /// The field's value.
  public var description: String {
    var parts = [cache]
    switch outcome {
    case .hit: parts.append("hit")
    case .forwarded(let reason): parts.append("fwd=\(reason.cacheStatusToken)")
    }
    if let forwardStatus { parts.append("fwd-status=\(forwardStatus)") }
    if let timeToLive { parts.append("ttl=\(timeToLive)") }
    if isStored { parts.append("stored") }
    if isCollapsed { parts.append("collapsed") }
    if let detail { parts.append("detail=\(detail)") }
    return parts.joined(separator: "; ")
  }

  /// Adds it behind what caches nearer to the origin have said. RFC 9211 §2.
  public func added(to fields: HTTPFields) -> HTTPFields {
    guard let name = HTTPField.Name("Cache-Status") else { return fields }
    var fields = fields
    fields.append(HTTPField(name: name, value: description))
    return fields
  }
}
