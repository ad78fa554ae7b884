import HTTPCaching
import HTTPTypes
import ServerKit

/// Rewrites header fields in both directions. RFC 9110 §7.6.
enum GatewayFields {
  /// The name of the gateway in `Via`. RFC 9110 §7.6.3.
  static let pseudonym = "renderhost"

  private static let host = HTTPField.Name("Host")

  /// - Parameters:
  ///   - client: the fields that describe the client.
  ///   - version: the HTTP version of the request.
  ///   - codings: the codings of `Accept-Encoding` that are forwarded; `nil` for all.
  static func request(
    _ head: HTTPRequest, from client: ForwardedFields, _ forwarding: OriginSettings.Forwarding,
    version: RequestVersion, codings: [String]? = nil
  ) -> HTTPFields {
    var fields = HTTPFields()
    fields.reserveCapacity(head.headerFields.count + 8)
    for field in HopByHopFields.removed(from: head.headerFields) {
      // These fields belong to the connection to the origin. An HTTP/2 client may send Host besides `:authority`.
      if field.name == .contentLength || field.name == .expect || field.name == host { continue }
      fields.append(field)
    }
    // RFC 9110 §12.5.3: a client that names no coding may support none.
    if !fields.contains(.acceptEncoding) { fields.append(HTTPField(name: .acceptEncoding, value: "identity")) }
    if let codings, let limited = AcceptedCodings(fields).limited(to: codings) { fields[.acceptEncoding] = limited }
    addWay(version: version.rawValue, to: &fields)
    client.add(forwarding, to: &fields)
    return fields
  }

  static func response(_ fields: HTTPFields) -> HTTPFields {
    HopByHopFields.removed(from: fields)
  }

  /// - Parameter version: the HTTP version in which the message was received.
  static func addWay(version: String, to fields: inout HTTPFields) {
    fields.append("\(version) \(pseudonym)", toListOf: .via)
  }
}
