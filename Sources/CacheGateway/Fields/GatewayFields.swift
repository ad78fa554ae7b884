import HTTPCaching
import HTTPTypes
import ServerKit

/// Changes fields on their way, in both directions. RFC 9110 §7.6.
enum GatewayFields {
  /// The name of the gateway in `Via`. RFC 9110 §7.6.3.
  static let pseudonym = "renderhost"

  /// - Parameters:
  ///   - client: the description of the client.
  ///   - version: in which the request came.
  ///   - codings: those of `Accept-Encoding` that go on; `nil` for all.
  static func request(
    _ head: HTTPRequest, from client: ForwardedFields, _ forwarding: OriginSettings.Forwarding,
    version: RequestVersion, codings: [String]? = nil
  ) -> HTTPFields {
    var fields = HopByHopFields.removed(from: head.headerFields)
    // They are those of the connection to the origin. In HTTP/2 a client may send Host beside what counts.
    for name in [HTTPField.Name.contentLength, .expect, HTTPField.Name("Host")].compactMap(\.self) {
      fields[name] = nil
    }
    // RFC 9110 §12.5.3: who names none may not be able to read any.
    if !fields.contains(.acceptEncoding) { fields[.acceptEncoding] = "identity" }
    if let codings, let limited = AcceptedCodings(fields).limited(to: codings) { fields[.acceptEncoding] = limited }
    addWay(version: version.rawValue, to: &fields)
    client.add(forwarding, to: &fields)
    return fields
  }

  static func response(_ fields: HTTPFields) -> HTTPFields {
    HopByHopFields.removed(from: fields)
  }

  /// - Parameter version: of HTTP, in which the message came.
  static func addWay(version: String, to fields: inout HTTPFields) {
    fields.append("\(version) \(pseudonym)", toListOf: .via)
  }
}
