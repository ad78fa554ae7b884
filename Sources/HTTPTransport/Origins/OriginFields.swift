import HTTPTypes

/// Header fields, such as credentials, that are sent to one origin only.
///
/// Logs and descriptions never contain their values.
package struct OriginFields: Sendable, CustomStringConvertible {
  package let origin: String
  private let fields: HTTPFields

  /// Makes fields for an origin.
  ///
  /// - Parameters:
  ///   - fields: the fields.
  ///   - url: any URL of the origin.
  package init(_ fields: HTTPFields, for url: PageURL) {
    origin = url.origin
    self.fields = fields
  }

  package func adding(to request: HTTPFields, for url: PageURL) -> HTTPFields {
    guard url.origin == origin else { return request }
    var request = request
    for field in fields { request[field.name] = nil }
    for field in fields { request.append(field) }
    return request
  }

  package var description: String { "\(fields.count) fields for \(origin)" }
}
