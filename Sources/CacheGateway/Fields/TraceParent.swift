import HTTPTransport
import HTTPTypes

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
