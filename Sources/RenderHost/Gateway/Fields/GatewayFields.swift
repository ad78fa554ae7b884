import HTTPCaching
import HTTPTypes

/// What the gateway changes of fields on their way, in both directions. RFC 9110 §7.6.
enum GatewayFields {
  /// What it calls itself where it is on the way. RFC 9110 §7.6.3.
  static let pseudonym = "renderhost"

  static func request(
    _ head: HTTPRequest, from client: ForwardedFields, _ forwarding: OriginSettings.Forwarding
  ) -> HTTPFields {
    var fields = HopByHopFields.removed(from: head.headerFields)
    // They are those of the connection to the origin.
    for name in [HTTPField.Name.contentLength, .expect] { fields[name] = nil }
    // RFC 9110 §12.5.3: who names none may not be able to read any.
    if !fields.contains(.acceptEncoding) { fields[.acceptEncoding] = "identity" }
    fields.append("1.1 \(pseudonym)", toListOf: .via)
    client.add(forwarding, to: &fields)
    return fields
  }

  static func response(_ fields: HTTPFields) -> HTTPFields {
    var fields = HopByHopFields.removed(from: fields)
    fields.append("1.1 \(pseudonym)", toListOf: .via)
    return fields
  }
}
