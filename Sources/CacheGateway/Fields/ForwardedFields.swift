import HTTPCaching
import HTTPTypes

/// The fields that tell an origin the client of a request, and the host that it asked for.
struct ForwardedFields: Sendable {
  /// The client's address; `nil` if it is not known.
  let client: String?
  let host: String?
  /// True if the client is served over TLS.
  let isSecure: Bool

  private var scheme: String { isSecure ? "https" : "http" }

  /// Behind what those before have said.
  func add(_ forwarding: OriginSettings.Forwarding, to fields: inout HTTPFields) {
    if forwarding == .xForwarded || forwarding == .both {
      if let client, let name = HTTPField.Name("X-Forwarded-For") { fields.append(client, toListOf: name) }
      if let name = HTTPField.Name("X-Forwarded-Proto") { fields[name] = scheme }
      if let name = HTTPField.Name("X-Forwarded-Host") { fields[name] = host }
    }
    if forwarding == .forwarded || forwarding == .both, let name = HTTPField.Name("Forwarded") {
      fields.append(element, toListOf: name)
    }
  }

  /// RFC 7239 §4.
  var element: String {
    // RFC 7239 §6.3: who is not known is called so.
    let node = client.map { $0.contains(":") ? "\"[\($0)]\"" : $0 } ?? "unknown"
    let named = host.map { ";host=\(Self.value($0))" } ?? ""
    return "for=\(node)\(named);proto=\(scheme)"
  }

  /// A token, or else a string. RFC 9110 §5.6.4.
  private static func value(_ text: String) -> String {
    let isToken = !text.isEmpty && text.utf8.allSatisfy(\.isInToken)
    return isToken ? text : "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}

extension HTTPFields {
  /// Adds a member to a list. RFC 9110 §5.3.
  mutating func append(_ member: String, toListOf name: HTTPField.Name) {
    self[values: name] = [(self[values: name] + [member]).joined(separator: ", ")]
  }
}
