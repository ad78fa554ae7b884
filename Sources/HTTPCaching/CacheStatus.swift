import HTTPTypes

/// The handling of a request by a cache, as `Cache-Status` describes it. RFC 9211 §2.
///
///     let status = CacheStatus(cache: "news", .forwarded(.stale), forwardStatus: 304, timeToLive: 60, isStored: true)
///     print(status)  // news; fwd=stale; fwd-status=304; ttl=60; stored
///     print(status.added(to: response.headerFields))
public struct CacheStatus: Hashable, Sendable, CustomStringConvertible {
  /// The way in which a request was answered.
  public enum Outcome: Hashable, Sendable {
    /// From the cache, without the origin. RFC 9211 §2.1.
    case hit
    /// By the origin. RFC 9211 §2.2.
    case forwarded(ForwardReason)
    /// By the cache itself, with an error for instance.
    case generated
  }

  /// The name of the cache.
  public let cache: String
  /// The way in which the request was answered.
  public let outcome: Outcome
  /// The status of the origin's response if it is not that of the response given, such as 304. RFC 9211 §2.3.
  public let forwardStatus: Int?
  /// The remaining seconds of freshness; negative if the response is stale. RFC 9211 §2.4.
  public var timeToLive: Int64?
  /// `true` if the response was stored. RFC 9211 §2.5.
  public let isStored: Bool
  /// `true` if the request shared the exchange of another one. RFC 9211 §2.6.
  public let isCollapsed: Bool
  /// Further information for people. RFC 9211 §2.8.
  public let detail: String?

  /// Creates a description.
  ///
  /// - Parameters:
  ///   - cache: the name of the cache.
  ///   - outcome: the way in which the request was answered.
  ///   - forwardStatus: the status of the origin's response if it is not that of the response given.
  ///   - timeToLive: the remaining seconds of freshness; negative if the response is stale.
  ///   - isStored: `true` if the response was stored.
  ///   - isCollapsed: `true` if the request shared the exchange of another one.
  ///   - detail: further information for people.
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

  /// The field value. Parameters about the exchange with the origin are only written for a forwarded request.
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

  /// A token if the text has that form, otherwise a string. RFC 8941 §3.3.3, §3.3.4.
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

  private static let field = HTTPField.Name("Cache-Status")

  /// Returns the fields with this member after those of caches nearer to the origin. RFC 9211 §2.
  ///
  /// - Parameter fields: the fields of a response.
  public func added(to fields: HTTPFields) -> HTTPFields {
    guard let name = Self.field else { return fields }
    var fields = fields
    fields.append(HTTPField(name: name, value: description))
    return fields
  }
}
