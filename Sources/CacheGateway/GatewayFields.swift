import HTTPCaching
import HTTPTransport
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

/// The trace that a request belongs to, as `traceparent` names it: W3C Trace Context §3.2.
struct TraceParent: Equatable, Sendable {
  /// The value that is forwarded.
  let text: String
  /// 32 hexadecimal digits.
  let trace: String
  /// `true` if the client sent it.
  let isGiven: Bool

  static let field = HTTPField.Name("traceparent")
  private static let state = HTTPField.Name("tracestate")

  /// Uses the client's own value unchanged, since the gateway is not a part of the trace; without a valid one it makes
  /// a new one (§4.3).
  ///
  /// - Parameter newID: returns 64 random bits, which are not all zero.
  init(continuing fields: HTTPFields, newID: () -> UInt64) {
    if let name = Self.field, fields.contains(name), fields[values: name].count == 1,
      let given = Self(fields[name] ?? "")
    {
      self = given
      return
    }
    trace = Hex.encode(newID(), newID())
    isGiven = false
    var text = ""
    text.reserveCapacity(55)
    text += "00-"
    text += trace
    text += "-"
    text += Hex.encode(newID())
    // The sampled flag is set, as by the first participant; later ones may sample less (§3.2.2.5.1).
    text += "-01"
    self.text = text
  }

  /// Returns `nil` for an invalid value.
  init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 4, Self.isHex(parts[0], 2), parts[0] != "ff", parts[0] != "00" || parts.count == 4,
      Self.isHex(parts[1], 32), Self.isHex(parts[2], 16), Self.isHex(parts[3], 2),
      parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
    else { return nil }
    (self.text, trace, isGiven) = (text, String(parts[1]), true)
  }

  func add(to fields: inout HTTPFields) {
    guard let name = Self.field, !isGiven else { return }
    fields.set(text, for: name)
    // §3.3: tracestate is forwarded only with a valid traceparent.
    if let state = Self.state { fields[state] = nil }
  }

  /// A new id. Zero would be invalid.
  static func newID() -> UInt64 { max(1, UniqueNumber.next()) }

  private static func isHex(_ text: Substring, _ count: Int) -> Bool {
    text.utf8.count == count && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}

extension HTTPFields {
  /// The fields with characters of ISO 8859-1 in place of bytes that are not UTF-8.
  var readable: HTTPFields {
    guard contains(where: { OpaqueText.hasEscapes($0.value) }) else { return self }
    return HTTPFields(
      map { field in
        var field = field
        field.value = OpaqueText.readable(field.value)
        return field
      })
  }
}
