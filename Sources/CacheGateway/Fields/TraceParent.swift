import HTTPTypes

/// The trace that a request belongs to, as `traceparent` names it: W3C Trace Context §3.2.
struct TraceParent: Equatable, Sendable {
  /// As it is sent on.
  let text: String
  /// 32 hexadecimal digits.
  let trace: String
  /// True if the client has sent it.
  let isGiven: Bool

  static let field = HTTPField.Name("traceparent")
  private static let state = HTTPField.Name("tracestate")

  /// The client's own, which passes as it came, since nothing here is a part of the trace; a new one where there is none
  /// that is valid (§4.3).
  ///
  /// - Parameter newID: 64 random bits.
  init(continuing fields: HTTPFields, newID: () -> UInt64) {
    if let name = Self.field, fields[values: name].count == 1, let given = Self(fields[name] ?? "") {
      self = given
      return
    }
    trace = Self.hex(newID()) + Self.hex(newID())
    isGiven = false
    // Sampled, as by one who is asked first; who samples less often may do so (§3.2.2.5.1).
    text = "00-\(trace)-\(Self.hex(newID()))-01"
  }

  /// Returns `nil` for what is not valid.
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
    fields[name] = text
    // §3.3: it belongs to a traceparent that is valid.
    if let state = Self.state { fields[state] = nil }
  }

  /// Not zero, which stands for none.
  @Sendable static func randomID() -> UInt64 { UInt64.random(in: 1 ... .max) }

  private static func hex(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static func isHex(_ text: Substring, _ count: Int) -> Bool {
    text.utf8.count == count && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}
