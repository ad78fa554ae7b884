import HTTPCaching
import HTTPTypes

/// The fields that tell an origin the client of a request, and the host that the client requested.
struct ForwardedFields: Sendable {
  /// The client's address; `nil` if it is unknown.
  let client: String?
  let host: String?
  /// `true` if the client connects over TLS.
  let isSecure: Bool
  /// `true` if the client is a proxy whose word counts.
  var isTrusted = false

  private static let forName = HTTPField.Name("X-Forwarded-For")
  private static let protocolName = HTTPField.Name("X-Forwarded-Proto")
  private static let hostName = HTTPField.Name("X-Forwarded-Host")
  private static let forwardedName = HTTPField.Name("Forwarded")
  private static let realName = HTTPField.Name("X-Real-IP")

  private var scheme: String { isSecure ? "https" : "http" }

  /// Appends the values to those of trusted proxies, and replaces those of others, which anybody can make up.
  func add(_ forwarding: OriginSettings.Forwarding, to fields: inout HTTPFields) {
    let namesAddress = forwarding == .xForwarded || forwarding == .both
    if !isTrusted { removeOthers(from: &fields, replacingAddress: namesAddress) }
    if namesAddress {
      if let client, let name = Self.forName { fields.append(client, toListOf: name) }
      if let name = Self.protocolName { fields.set(scheme(in: fields), for: name) }
      // Responses are looked up by this host, also those of a trusted proxy's clients.
      if let name = Self.hostName { fields.set(host, for: name) }
    }
    if forwarding == .forwarded || forwarding == .both, let name = Self.forwardedName {
      fields.append(element, toListOf: name)
    }
  }

  /// The scheme that the client has requested: a trusted proxy may have ended its TLS.
  private func scheme(in fields: HTTPFields) -> String {
    guard isTrusted, let name = Self.protocolName, let given = fields[name]?.trimmingSpaces.lowercased(),
      ["http", "https"].contains(given)
    else { return scheme }
    return given
  }

  /// The host by which responses are looked up, with the scheme if it is not that of this gateway: an origin may redirect
  /// the clients of one scheme to the other.
  ///
  /// - Parameter fields: the fields of the client's request.
  func keyHost(in fields: HTTPFields) -> String {
    let (host, scheme) = (host?.lowercased() ?? "", scheme(in: fields))
    return scheme == self.scheme ? host : scheme + "://" + host
  }

  private func removeOthers(from fields: inout HTTPFields, replacingAddress: Bool) {
    guard fields.contains(where: { Self.isForwarding($0.name) }) else { return }
    let namesReal = Self.realName.map { fields.contains($0) } ?? false
    fields = HTTPFields(fields.filter { !Self.isForwarding($0.name) })
    if namesReal, replacingAddress, let client, let name = Self.realName { fields[name] = client }
  }

  /// Returns `true` for the fields by which proxies tell of their clients.
  private static func isForwarding(_ name: HTTPField.Name) -> Bool {
    let name = name.canonicalName
    guard name.utf8.first == UInt8(ascii: "x") || name.utf8.first == UInt8(ascii: "f") else { return false }
    return name == "forwarded" || name == "x-real-ip" || name.hasPrefix("x-forwarded-")
  }

  /// RFC 7239 §4.
  var element: String {
    // RFC 7239 §6.3: the identifier of an unknown client.
    let node = client.map { $0.utf8.contains(UInt8(ascii: ":")) ? "\"[\($0)]\"" : $0 } ?? "unknown"
    let host = host.map(Self.value)
    var text = ""
    text.reserveCapacity(24 + node.utf8.count + (host?.utf8.count ?? 0))
    text += "for="
    text += node
    if let host {
      text += ";host="
      text += host
    }
    text += ";proto="
    text += scheme
    return text
  }

  /// Writes a value as a token if possible, otherwise as a quoted string. RFC 9110 §5.6.4.
  private static func value(_ text: String) -> String {
    let isToken = !text.isEmpty && text.utf8.allSatisfy(\.isInToken)
    return isToken ? text : "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}

extension HTTPFields {
  /// Appends a member to a list field. RFC 9110 §5.3.
  mutating func append(_ member: String, toListOf name: HTTPField.Name) {
    guard contains(name) else { return append(HTTPField(name: name, value: member)) }
    self[values: name] = [(self[values: name] + [member]).joined(separator: ", ")]
  }

  /// The same as the subscript, without its work where there is no such field.
  mutating func set(_ value: String?, for name: HTTPField.Name) {
    if contains(name) {
      self[name] = value
    } else if let value {
      append(HTTPField(name: name, value: value))
    }
  }
}
