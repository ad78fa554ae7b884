import CJavaScriptCore
import Foundation

/// Reads the JSON that the engine makes of its own values: well-formed, in UTF-8, without spaces.
struct PlainReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  /// The largest depth, as in ``ValueReader``.
  private static let depthLimit = 512

  static func read(_ text: JSStringRef) throws -> ScriptValue {
    let capacity = JSStringGetMaximumUTF8CStringSize(text)
    return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { buffer in
      let count = buffer.withMemoryRebound(to: CChar.self) {
        JSStringGetUTF8CString(text, $0.baseAddress, capacity)
      }
      // The terminator, which is counted, ends numbers too.
      var reader = PlainReader(bytes: UnsafeBufferPointer(rebasing: buffer[..<count]))
      return try reader.value(depth: 0)
    }
  }

  private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  private static let malformed = ScriptError.notPlainData("the engine's JSON of it cannot be read")

  private var next: UInt8 { position < bytes.count ? bytes[position] : 0 }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func value(depth: Int) throws -> ScriptValue {
    guard depth < Self.depthLimit else { throw ScriptError.notPlainData("it is nested too deeply") }
    switch next {
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "{"): return .object(try object(depth))
    case UInt8(ascii: "["): return .array(try array(depth))
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func word(_ word: StaticString, _ value: ScriptValue) throws -> ScriptValue {
    position += word.utf8CodeUnitCount
    guard position < bytes.count else { throw Self.malformed }
    return value
  }

  private mutating func object(_ depth: Int) throws -> [String: ScriptValue] {
    position += 1
    var members: [String: ScriptValue] = [:]
    if take(UInt8(ascii: "}")) { return members }
    repeat {
      let name = try string()
      guard take(UInt8(ascii: ":")) else { throw Self.malformed }
      members[name] = try value(depth: depth + 1)
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw Self.malformed }
    return members
  }

  private mutating func array(_ depth: Int) throws -> [ScriptValue] {
    position += 1
    var elements: [ScriptValue] = []
    if take(UInt8(ascii: "]")) { return elements }
    repeat { elements.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw Self.malformed }
    return elements
  }

  private mutating func number() throws -> Double {
    guard let start = bytes.baseAddress, position < bytes.count else { throw Self.malformed }
    return try (start + position).withMemoryRebound(to: CChar.self, capacity: bytes.count - position) { text in
      var end: UnsafeMutablePointer<CChar>?
      let number = strtod(text, &end)
      guard let end, end > UnsafeMutablePointer(mutating: text) else { throw Self.malformed }
      position += UnsafePointer(end) - text
      return number
    }
  }

  // MARK: Strings

  private mutating func string() throws -> String {
    guard take(UInt8(ascii: "\"")) else { throw Self.malformed }
    let start = position
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        defer { position += 1 }
        return String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<position]), as: UTF8.self)
      case UInt8(ascii: "\\"): return try escapedString(from: start)
      default: position += 1
      }
    }
    throw Self.malformed
  }

  /// Reads a string with escapes, which are rare.
  private mutating func escapedString(from start: Int) throws -> String {
    var units: [UInt16] = []
    var pending = start
    func flush(_ end: Int) {
      units += String(decoding: UnsafeBufferPointer(rebasing: bytes[pending..<end]), as: UTF8.self).utf16
    }
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        flush(position)
        position += 1
        return String(decoding: units, as: UTF16.self)
      case UInt8(ascii: "\\"):
        flush(position)
        units.append(try escape())
        pending = position
      default: position += 1
      }
    }
    throw Self.malformed
  }

  /// Reads an escape. A lone surrogate becomes a replacement character.
  private mutating func escape() throws -> UInt16 {
    guard position + 1 < bytes.count else { throw Self.malformed }
    let kind = bytes[position + 1]
    position += 2
    switch kind {
    case UInt8(ascii: "n"): return 10
    case UInt8(ascii: "t"): return 9
    case UInt8(ascii: "r"): return 13
    case UInt8(ascii: "b"): return 8
    case UInt8(ascii: "f"): return 12
    case UInt8(ascii: "u"):
      guard position + 4 <= bytes.count else { throw Self.malformed }
      defer { position += 4 }
      let digits = String(decoding: bytes[position..<position + 4], as: UTF8.self)
      guard let unit = UInt16(digits, radix: 16) else { throw Self.malformed }
      return unit
    default: return UInt16(kind)
    }
  }
}
