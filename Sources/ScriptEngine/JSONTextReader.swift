import CJavaScriptCore
import Foundation

/// Reads the JSON text that the engine made of its own values, from the beginning to the end. The text has no spaces.
package struct JSONTextReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0
  private var depth = 0
  private var isTooDeep = false
  /// The objects that ``members()`` read last, and the depths at which they are. No object's text is the beginning of
  /// another one's.
  private var recent: [(text: Range<Int>, depth: Int, members: [String: ScriptValue])] = []

  /// Elements of a list mostly have a few styles in turn.
  private static let recentLimit = 8

  /// The largest depth, as in ``ScriptContext/read(_:)``. An array or an object below it reads as an empty one.
  private static let depthLimit = 512

  /// Lends the text to `body`, in UTF-8.
  static func read<Result>(_ text: JSStringRef, _ body: (inout JSONTextReader) throws -> Result) rethrows -> Result {
    let capacity = JSStringGetMaximumUTF8CStringSize(text)
    return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { buffer in
      let count = buffer.withMemoryRebound(to: CChar.self) {
        JSStringGetUTF8CString(text, $0.baseAddress, capacity)
      }
      // The terminator, which is counted, ends numbers too.
      var reader = JSONTextReader(bytes: UnsafeBufferPointer(rebasing: buffer[..<count]))
      return try body(&reader)
    }
  }

  private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  private static let malformed = ScriptError.notPlainData("the engine's JSON of it cannot be read")

  private var next: UInt8 { position < bytes.count ? bytes[position] : 0 }

  private mutating func accept(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  /// Reads a character if it is the next.
  package mutating func accept(_ character: Unicode.Scalar) -> Bool { accept(UInt8(ascii: character)) }

  /// Reads a character that must be the next.
  package mutating func skip(_ character: Unicode.Scalar) throws {
    guard accept(character) else { throw Self.malformed }
  }

  /// Returns `true` if something was nested too deeply since the last call.
  package mutating func removeDepthFault() -> Bool {
    defer { isTooDeep = false }
    return isTooDeep
  }

  /// Reads any value.
  ///
  /// - Throws: ``ScriptError/notPlainData(_:)``, as all functions of the reader.
  package mutating func value() throws -> ScriptValue {
    switch next {
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "{"):
      var members: [String: ScriptValue] = [:]
      try object { reader, name in members[name] = try reader.value() }
      return .object(members)
    case UInt8(ascii: "["):
      var elements: [ScriptValue] = []
      try array { reader in elements.append(try reader.value()) }
      return .array(elements)
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

  /// Reads an object. Another value is read and dropped.
  ///
  /// - Parameter member: reads the value of the member with this name.
  package mutating func object(_ member: (inout JSONTextReader, String) throws -> Void) throws {
    guard try open(UInt8(ascii: "{")) else { return }
    if !accept(UInt8(ascii: "}")) {
      repeat {
        let name = try string()
        guard accept(UInt8(ascii: ":")) else { throw Self.malformed }
        try member(&self, name)
      } while accept(UInt8(ascii: ","))
      guard accept(UInt8(ascii: "}")) else { throw Self.malformed }
    }
    depth -= 1
  }

  /// Reads an object as a dictionary, quickly if it is written as one of the last few that were read so. Another value is
  /// read and dropped.
  package mutating func members() throws -> [String: ScriptValue] {
    for known in recent where depth <= known.depth && starts(with: known.text) {
      position += known.text.count
      return known.members
    }
    let (start, isObject) = (position, next == UInt8(ascii: "{"))
    var members: [String: ScriptValue] = [:]
    try object { reader, name in members[name] = try reader.value() }
    guard isObject, !isTooDeep else { return members }
    if recent.count == Self.recentLimit { recent.removeFirst() }
    recent.append((start..<position, depth, members))
    return members
  }

  private func starts(with text: Range<Int>) -> Bool {
    guard let base = bytes.baseAddress, bytes.count - position >= text.count else { return false }
    return memcmp(base + position, base + text.lowerBound, text.count) == 0
  }

  /// Reads an array. Another value is read and dropped.
  ///
  /// - Parameter element: reads the next element.
  package mutating func array(_ element: (inout JSONTextReader) throws -> Void) throws {
    guard try open(UInt8(ascii: "[")) else { return }
    if !accept(UInt8(ascii: "]")) {
      repeat { try element(&self) } while accept(UInt8(ascii: ","))
      guard accept(UInt8(ascii: "]")) else { throw Self.malformed }
    }
    depth -= 1
  }

  /// Begins an object or an array.
  ///
  /// - Returns: `false` if there is another value, or if this one is nested too deeply. It has been read.
  private mutating func open(_ bracket: UInt8) throws -> Bool {
    guard accept(bracket) else {
      _ = try value()
      return false
    }
    guard depth < Self.depthLimit else {
      isTooDeep = true
      try skipRest()
      return false
    }
    depth += 1
    return true
  }

  /// Reads to the end of the object or the array that was begun.
  private mutating func skipRest() throws {
    var begun = 1
    while begun > 0 {
      switch next {
      case UInt8(ascii: "\""):
        _ = try string()
        continue
      case UInt8(ascii: "["), UInt8(ascii: "{"): begun += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"): begun -= 1
      case 0: throw Self.malformed
      default: break
      }
      position += 1
    }
  }

  /// Reads a number; `nil` if it is not a whole number in the range of `Int`.
  package mutating func int() throws -> Int? { Int(exactly: try number()) }

  private mutating func number() throws -> Double {
    if let digits = shortNumber() { return digits }
    guard let start = bytes.baseAddress, position < bytes.count else { throw Self.malformed }
    return try (start + position).withMemoryRebound(to: CChar.self, capacity: bytes.count - position) { text in
      var end: UnsafeMutablePointer<CChar>?
      let number = strtod(text, &end)
      guard let end, end > UnsafeMutablePointer(mutating: text) else { throw Self.malformed }
      position += UnsafePointer(end) - text
      return number
    }
  }

  /// Reads a number of up to nine digits and nothing else, as most are.
  private mutating func shortNumber() -> Double? {
    var (end, number) = (position, 0)
    while end < bytes.count, case let digit = Int(bytes[end]) - 48, (0...9).contains(digit) {
      guard end - position < 9 else { return nil }
      number = number * 10 + digit
      end += 1
    }
    guard end > position, end < bytes.count, ![UInt8(ascii: "."), UInt8(ascii: "e")].contains(bytes[end]) else {
      return nil
    }
    position = end
    return Double(number)
  }

  // MARK: Strings

  /// Reads a string.
  package mutating func string() throws -> String {
    guard accept(UInt8(ascii: "\"")) else { throw Self.malformed }
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

/// An object of a script in whose member `text` the script collects JSON for native code, so that much of it crosses at
/// once. Only for the group's thread.
package final class JSONBuffer {
  /// The object.
  package let object: ScriptReference
  private let empty: ScriptReference
  private let name: JSStringRef?

  /// Makes an empty buffer.
  package init(in context: ScriptContext) {
    object = context.reference(to: [:])
    empty = context.reference(to: "")
    name = "text".withEngineString { JSStringRetain($0) }
    clear()
  }

  deinit { if let name { JSStringRelease(name) } }

  private func clear() {
    JSObjectSetProperty(
      object.context.raw, object.raw, name, empty.raw, JSPropertyAttributes(kJSPropertyAttributeNone), nil)
  }

  /// Reads the text, if there is any, and empties the buffer. No script runs.
  ///
  /// - Throws: the errors of `body`.
  package func drain(_ body: (inout JSONTextReader) throws -> Void) throws {
    let raw = object.context.raw
    guard let value = JSObjectGetProperty(raw, object.raw, name, nil), JSValueGetType(raw, value) == kJSTypeString,
      let text = JSValueToStringCopy(raw, value, nil)
    else { return }
    defer { JSStringRelease(text) }
    guard JSStringGetLength(text) > 0 else { return }
    clear()
    try JSONTextReader.read(text, body)
  }
}
