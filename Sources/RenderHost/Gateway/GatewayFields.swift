import HTTPCaching
import HTTPTypes

/// What the gateway changes of fields on their way, in both directions. RFC 9110 §7.6.
enum GatewayFields {
  /// What it calls itself where it is on the way. RFC 9110 §7.6.3.
  static let pseudonym = "renderhost"

  /// - Parameters:
  ///   - client: its address; nil where it is not known.
  ///   - isSecure: whether the client is served over TLS.
  static func request(_ head: HTTPRequest, client: String?, isSecure: Bool) -> HTTPFields {
    var fields = HopByHopFields.removed(from: head.headerFields)
    // They are those of the connection to the origin.
    for name in [HTTPField.Name.contentLength, .expect] { fields[name] = nil }
    // RFC 9110 §12.5.3: who names none may not be able to read any.
    if !fields.contains(.acceptEncoding) { fields[.acceptEncoding] = "identity" }
    append("1.1 \(pseudonym)", to: .via, &fields)
    if let client, let name = HTTPField.Name("X-Forwarded-For") { append(client, to: name, &fields) }
    if let name = HTTPField.Name("X-Forwarded-Proto") { fields[name] = isSecure ? "https" : "http" }
    if let name = HTTPField.Name("X-Forwarded-Host") { fields[name] = head.authority }
    return fields
  }

  static func response(_ fields: HTTPFields) -> HTTPFields {
    var fields = HopByHopFields.removed(from: fields)
    append("1.1 \(pseudonym)", to: .via, &fields)
    return fields
  }

  /// Behind what those before it have said.
  private static func append(_ value: String, to name: HTTPField.Name, _ fields: inout HTTPFields) {
    fields[values: name] = [(fields[values: name] + [value]).joined(separator: ", ")]
  }
}
