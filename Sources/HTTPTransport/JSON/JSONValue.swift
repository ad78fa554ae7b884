import Foundation

/// Any JSON, for keys that this version does not know and must not lose.
public enum JSONValue: Hashable, Sendable, Codable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// A text from outside is read with ``init(reading:limits:)`` first and decoded from there. Any other decoder is asked
  /// for one kind after the other, and each refusal costs it the length of the coding path; so the depth is bounded.
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

  /// In one line, members by their names; `null` for numbers that JSON does not have.
  package var text: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { Array($0) } ?? Array("null".utf8)
  }
}

/// A key that is only known at run time.
package struct AnyKey: CodingKey {
  package let stringValue: String
  package let intValue: Int?

  package init(_ text: String) { (stringValue, intValue) = (text, nil) }
  package init(_ index: Int) { (stringValue, intValue) = ("\(index)", index) }
  package init?(stringValue: String) { self.init(stringValue) }
  package init?(intValue: Int) { nil }
}
