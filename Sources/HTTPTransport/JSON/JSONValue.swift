import Dispatch
import Foundation

/// A JSON value of any type. RFC 8259.
///
///     let value = await page.tree.json
///     if case .object(let members) = value { print(members["type"] ?? .null) }
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
  ///
  /// - Throws: `DecodingError`.
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

  /// Encodes the value.
  ///
  /// - Throws: `EncodingError`.
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
package struct AnyKey: CodingKey, ExpressibleByStringLiteral {
  package let stringValue: String
  package let intValue: Int?

  package init(_ text: String) { (stringValue, intValue) = (text, nil) }
  package init(stringLiteral text: String) { self.init(text) }
  package init(_ index: Int) { (stringValue, intValue) = ("\(index)", index) }
  package init?(stringValue: String) { self.init(stringValue) }
  package init?(intValue: Int) { nil }
}

extension JSONValue {
  /// The size up to which texts and values are read and written in less than a millisecond, in bytes.
  package static let smallSize = 32 << 10

  private static let queue = DispatchQueue(label: "pagekit.json")

  /// Reads a JSON text and decodes a value of a type. A long text is read on a queue, so that other tasks go on.
  ///
  /// - Throws: ``JSONError``, `DecodingError`.
  package static func decode<Value: Decodable & Sendable>(
    _ type: Value.Type, from bytes: [UInt8], limits: JSONLimits = .standard
  ) async throws -> Value {
    guard bytes.count > smallSize else { return try JSONValue(reading: bytes, limits: limits).decoded() }
    return try await queue.result { try JSONValue(reading: bytes, limits: limits).decoded() }
  }

  /// Runs work whose time depends on the value's size, such as writing it. For a large value it runs on a queue, so
  /// that other tasks go on.
  package func encoding<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    guard isLarge else { return try work() }
    return try await Self.queue.result(work)
  }

  /// `true` if the value's text is longer than about ``smallSize``; counting stops there.
  private var isLarge: Bool {
    var size = 0
    var pending = [self]
    while let value = pending.popLast() {
      switch value {
      case .null, .bool, .integer, .number: size += 8
      case .string(let text): size += text.utf8.count
      case .array(let elements):
        guard elements.count < Self.smallSize else { return true }
        pending += elements
      case .object(let members):
        guard members.count < Self.smallSize else { return true }
        for (name, member) in members {
          size += name.utf8.count
          pending.append(member)
        }
      }
      if size + pending.count > Self.smallSize { return true }
    }
    return false
  }
}

extension JSONValue {
  /// The JSON text in one line, with sorted members; `null` if it contains a number that JSON cannot represent.
  package var text: [UInt8] {
    var writer = JSONWriter()
    return writer.write(self) ? writer.bytes : Array("null".utf8)
  }
}

/// Writes JSON text, as `JSONEncoder` does with sorted keys and without escaped slashes, in a tenth of its time.
package struct JSONWriter {
  /// The text that is written.
  package private(set) var bytes: [UInt8] = []

  /// A writer of an empty text.
  package init() {}

  /// - Returns: `false` if the value contains a number that JSON cannot represent.
  package mutating func write(_ value: JSONValue) -> Bool {
    switch value {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .integer(let value): bytes += String(value).utf8
    case .number(let value):
      guard value.isFinite else { return false }
      let text = String(value)
      bytes += (text.hasSuffix(".0") ? text.dropLast(2) : text[...]).utf8
    case .string(let value): write(value)
    case .array(let values): return write(values, "[", "]") { $0.write($1) }
    case .object(let members):
      return write(members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }, "{", "}") { writer, member in
        writer.write(member.key)
        writer.bytes.append(UInt8(ascii: ":"))
        return writer.write(member.value)
      }
    }
    return true
  }

  private mutating func write<Element>(
    _ elements: [Element], _ opening: Unicode.Scalar, _ closing: Unicode.Scalar,
    each: (inout JSONWriter, Element) -> Bool
  ) -> Bool {
    bytes.append(UInt8(ascii: opening))
    var isFirst = true
    for element in elements {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      guard each(&self, element) else { return false }
    }
    bytes.append(UInt8(ascii: closing))
    return true
  }

  /// Writes a part of the text as it is.
  package mutating func append(_ text: StaticString) {
    bytes += UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  /// Writes a string. RFC 8259 §7: quotes, backslashes and control characters are escaped.
  package mutating func write(_ string: String) {
    var string = string
    bytes.append(UInt8(ascii: "\""))
    string.withUTF8 { text in
      var start = 0
      for index in text.indices
      where text[index] < 0x20 || text[index] == UInt8(ascii: "\"") || text[index] == UInt8(ascii: "\\") {
        bytes += text[start..<index]
        bytes += Self.escape(of: text[index]).utf8
        start = index + 1
      }
      bytes += text[start...]
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func escape(of byte: UInt8) -> String {
    switch byte {
    case UInt8(ascii: "\""): "\\\""
    case UInt8(ascii: "\\"): "\\\\"
    case 8: "\\b"
    case 9: "\\t"
    case 10: "\\n"
    case 12: "\\f"
    case 13: "\\r"
    default: (byte < 16 ? "\\u000" : "\\u00") + String(byte, radix: 16)
    }
  }
}
