import Foundation
import HTTPTransport
import ScriptEngine

extension ScriptValue {
  /// The limits of values that go between scripts and the app.
  private static let limits = JSONLimits(depth: 512, values: 4_000_000)

  /// Reads JSON, or returns `nil` if the text is not JSON, is nested more than 512 deep or has more than 4,000,000 values.
  public init?(json text: String) {
    guard let value = try? JSONValue(reading: Array(text.utf8), limits: Self.limits) else { return nil }
    self.init(value)
  }

  /// Returns `true` if a text that is JSON is neither nested too deep nor has too many values.
  fileprivate static func isWithinLimits(json text: String) -> Bool {
    var (depth, values, isString, isEscaped) = (0, 1, false, false)
    for byte in text.utf8 {
      switch byte {
      case _ where isEscaped: isEscaped = false
      case UInt8(ascii: "\\") where isString: isEscaped = true
      case UInt8(ascii: "\""): isString.toggle()
      case _ where isString: break
      case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      // Each value but the first of an array or object comes after a comma.
      case UInt8(ascii: ","): values += 1
      default: continue
      }
      guard depth <= limits.depth, values <= limits.values else { return false }
    }
    return true
  }

  /// A JSON value as a script's value. An integer becomes a number.
  public init(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .integer(let value): self = .number(Double(value))
    case .number(let value): self = .number(value)
    case .string(let value): self = .string(value)
    case .array(let values): self = .array(values.map { ScriptValue($0) })
    case .object(let members): self = .object(members.mapValues { ScriptValue($0) })
    }
  }

  /// The value as JSON. `undefined` and numbers that are not finite become `null`, members that are `undefined` are left
  /// out, and binary data becomes base64.
  public var json: JSONValue {
    switch self {
    case .undefined, .null: .null
    case .bool(let value): .bool(value)
    case .number(let value):
      Int64(exactly: value).map { .integer($0) } ?? (value.isFinite ? .number(value) : .null)
    case .string(let value): .string(value)
    case .array(let values): .array(values.map(\.json))
    case .object(let members): .object(members.filter { $0.value != .undefined }.mapValues(\.json))
    case .data(let bytes): .string(Data(bytes).base64EncodedString())
    }
  }

  /// The value as a time in whole milliseconds, within limits; `nil` if it is not a number.
  func milliseconds(in limits: ClosedRange<Double>) -> Duration? {
    number.flatMap { $0.isNaN ? nil : .milliseconds(Int(min(max($0, limits.lowerBound), limits.upperBound))) }
  }

  package var jsonText: String { String(decoding: json.text, as: UTF8.self) }

  /// The text of a string, a number or a boolean; `nil` for other values.
  package var plainText: String? {
    switch self {
    case .string(let text): text
    case .number(let number): Int64(exactly: number).map(String.init) ?? String(number)
    case .bool(let value): String(value)
    default: nil
    }
  }
}

extension ScriptContext {
  /// The value of a JSON text, with its members in their order; the text itself if it is not JSON, or exceeds the limits of
  /// ``ScriptValue/init(json:)``.
  func reference(toJSON text: String) -> ScriptReference {
    // RFC 8259 §8.1: a byte order mark may be ignored.
    let json = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    // The engine's reader has no limits, and does not take a comma at the end.
    if ScriptValue.isWithinLimits(json: json), let value = reference(parsing: json) { return value }
    return reference(to: ScriptValue(json: text) ?? .string(text))
  }
}
