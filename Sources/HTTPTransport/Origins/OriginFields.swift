import HTTPTypes

/// Header fields, credentials among them, that belong to one origin and are sent to no other.
///
/// Their values appear in no log and no description.
public struct OriginFields: Sendable, CustomStringConvertible {
  public let origin: String
  private let fields: HTTPFields

  /// - Parameter url: any URL of the origin.
  public init(_ fields: HTTPFields, for url: PageURL) {
    origin = url.origin
    self.fields = fields
  }

  public func adding(to request: HTTPFields, for url: PageURL) -> HTTPFields {
    guard url.origin == origin else { return request }
    var request = request
    for field in fields { request[field.name] = nil }
    for field in fields { request.append(field) }
    return request
  }

  public var description: String { "\(fields.count) fields for \(origin)" }
}
