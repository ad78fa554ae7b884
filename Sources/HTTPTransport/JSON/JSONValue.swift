import Foundation

/// A JSON value of any type. RFC 8259.
public enum JSONValue: Hashable, Sendable, Codable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number that an `Int64` represents exactly, such as `1`, `1.0` or `1e3`.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object.
  case object([String: JSONValue])

  /// Decodes a value, at most 64 levels deep.
  ///
  /// Text from outside is read with `init(reading:limits:)` first and decoded from that value. Any other decoder tries
  /// one type after the other, and each attempt costs time proportional to the coding path; so the depth is limited.
  public init(from decoder: any Decoder) throws {
    if let decoder = decoder as? JSONValueDecoder {
      self = decoder.value
      return
    }
    let container = try decoder.singleValueContainer()
    guard container.codingPath.count <= JSONLimits.standard.depth else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription: "expected at most \(JSONLimits.standard.depth) levels of nesting, found more")
    }
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if var elements = try? decoder.unkeyedContainer() {
      var values: [JSONValue] = []
      while !elements.isAtEnd { values.append(try elements.decode(JSONValue.self)) }
      self = .array(values)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

/// A coding key that is known only at run time.
package struct AnyKey: CodingKey {
  package let stringValue: String
  package let intValue: Int?

  package init(_ text: String) { (stringValue, intValue) = (text, nil) }
  package init(_ index: Int) { (stringValue, intValue) = ("\(index)", index) }
  package init?(stringValue: String) { self.init(stringValue) }
  package init?(intValue: Int) { nil }
}
