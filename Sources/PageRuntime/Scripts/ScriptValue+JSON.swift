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

  var jsonText: String { String(decoding: json.text, as: UTF8.self) }

  /// The text of a string, a number or a boolean; `nil` for other values.
  var plainText: String? {
    switch self {
    case .string(let text): text
    case .number(let number): Int64(exactly: number).map(String.init) ?? String(number)
    case .bool(let value): String(value)
    default: nil
    }
  }
}
