/// The limits of a JSON text's depth and number of values. Its size in bytes is limited by the code that receives it.
package struct JSONLimits: Hashable, Sendable {
  /// The largest nesting depth of arrays and objects; 64 by default. Reading needs no stack for nesting, but code that
  /// traverses a value does: some thousands are too many.
  package var depth: Int
  /// The largest number of values, including members and elements; 250,000 by default.
  package var values: Int

  package init(depth: Int = 64, values: Int = 250_000) {
    self.depth = depth
    self.values = values
  }

  package static let standard = JSONLimits()
}

/// The reason why a text is not valid JSON, with the place of the first fault.
package struct JSONError: Error, Hashable, CustomStringConvertible {
  /// The number of bytes before the fault.
  package let offset: Int
  /// The line and the column of the fault.
  package let place: TextPlace
  /// A sentence that names the expected and the found text.
  package let reason: String

  package init(offset: Int, in bytes: [UInt8], _ reason: String) {
    self.offset = offset
    place = TextPlace(ofByte: offset, in: bytes)
    self.reason = reason
  }

  package var description: String {
    place.line == 1 ? "\(reason) at byte \(offset)" : "\(reason) at byte \(offset), in line \(place.line)"
  }
}

extension JSONValue {
  /// Reads a JSON text (RFC 8259) in one pass, without recursion, in time linear in its bytes.
  ///
  /// Numbers that an `Int64` represents exactly become ``integer(_:)``, also `1.0` and `1e3`. Of members with the same
  /// name the first is used. Like Foundation's reader, it accepts a leading byte order mark and a comma after the last
  /// element or member.
  ///
  /// - Throws: ``JSONError`` if the bytes are not JSON in UTF-8, or exceed the limits.
  package init(reading bytes: [UInt8], limits: JSONLimits = .standard) throws(JSONError) {
    var reader = JSONReader(bytes: bytes, limits: limits)
    self = try reader.document()
  }
}

struct JSONReader {
  private let bytes: [UInt8]
  private let limits: JSONLimits
  private var position = 0
  private var values = 0
  /// The arrays and objects that are still open, the innermost last.
  private var open: [Container] = []
  /// The bytes before each value, by its path; `nil` unless they are asked for.
  private(set) var offsets: [[JSONPathPart]: JSONOffsets]?

  private struct Container {
    let isObject: Bool
    var elements: [JSONValue] = []
    var members: [String: JSONValue] = [:]
    /// The name of the next member, and the bytes before it.
    var name = ""
    var nameStart = 0

    /// The part of the next value's path.
    var next: JSONPathPart { isObject ? .member(name) : .element(elements.count) }

    var end: UInt8 { isObject ? UInt8(ascii: "}") : UInt8(ascii: "]") }

    mutating func add(_ value: JSONValue) {
      guard isObject else { return elements.append(value) }
      if let first = members.updateValue(value, forKey: name) { members[name] = first }
    }
  }

  /// - Parameter recordsPlaces: pass `true` for ``offsets``.
  init(bytes: [UInt8], limits: JSONLimits, recordsPlaces: Bool = false) {
    self.bytes = bytes
    self.limits = limits
    offsets = recordsPlaces ? [:] : nil
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  mutating func document() throws(JSONError) -> JSONValue {
    while true {
      skipSpaces()
      let start = position
      values += 1
      guard values <= limits.values else {
        throw fault("expected at most \(limits.values) values, found more", at: start)
      }
      if offsets != nil { recordPlace(start) }
      var value: JSONValue
      if take(UInt8(ascii: "[")) {
        try begin(Container(isObject: false), at: start)
        guard try takeEnd() else { continue }
        value = close()
      } else if take(UInt8(ascii: "{")) {
        try begin(Container(isObject: true), at: start)
        guard try takeEnd() else { continue }
        value = close()
      } else {
        value = try scalar()
      }
      // Closes every container whose last value this is.
      while let innermost = open.indices.last {
        open[innermost].add(value)
        skipSpaces()
        if take(UInt8(ascii: ",")) {
          guard try takeEnd() else { break }
        } else if !take(open[innermost].end) {
          throw unexpected("\",\" or \"\(Character(Unicode.Scalar(open[innermost].end)))\"")
        }
        value = close()
      }
      if open.isEmpty {
        skipSpaces()
        guard position == bytes.count else { throw unexpected("the end") }
        return value
      }
    }
  }

  /// Records the place of the value that begins. Of members with the same name the first counts.
  private mutating func recordPlace(_ start: Int) {
    let path = open.map(\.next)
    guard offsets?[path] == nil else { return }
    let name = open.last.flatMap { $0.isObject ? $0.nameStart : nil }
    offsets?[path] = JSONOffsets(value: start, name: name ?? start)
  }

  private mutating func begin(_ container: Container, at start: Int) throws(JSONError) {
    guard open.count < limits.depth else {
      throw fault("expected at most \(limits.depth) levels of nesting, found more", at: start)
    }
    open.append(container)
  }

  /// Returns `true` if the innermost container ends here; otherwise reads the name of the next member, if it is an
  /// object.
  private mutating func takeEnd() throws(JSONError) -> Bool {
    guard let innermost = open.indices.last else { return true }
    skipSpaces()
    if take(open[innermost].end) { return true }
    if open[innermost].isObject {
      open[innermost].nameStart = position
      guard take(UInt8(ascii: "\"")) else { throw unexpected("a member's name or \"}\"") }
      open[innermost].name = try string()
      skipSpaces()
      guard take(UInt8(ascii: ":")) else { throw unexpected("\":\"") }
    }
    return false
  }

  private mutating func close() -> JSONValue {
    let container = open.removeLast()
    return container.isObject ? .object(container.members) : .array(container.elements)
  }

  private mutating func scalar() throws(JSONError) -> JSONValue {
    switch next {
    case UInt8(ascii: "\""):
      position += 1
      return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case let byte? where byte == UInt8(ascii: "-") || isDigit(byte): return try number()
    default: throw unexpected("a value")
    }
  }

  private mutating func word(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
    for byte in word.utf8 {
      guard take(byte) else { throw unexpected("\"\(word)\"") }
    }
    return value
  }

  // MARK: Numbers

  private mutating func number() throws(JSONError) -> JSONValue {
    let start = position
    _ = take(UInt8(ascii: "-"))
    if take(UInt8(ascii: "0")) {
      guard !isDigit(next) else {
        throw fault("expected no digit behind a leading zero, found \(describe(position))", at: position)
      }
    } else {
      try digits()
    }
    let integerEnd = position
    if take(UInt8(ascii: ".")) { try digits() }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try digits()
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    let isInteger = position == integerEnd
    if isInteger, let integer = Int64(text) { return .integer(integer) }
    guard let number = Double(text), number.isFinite else {
      throw fault(
        "expected a number up to \(Double.greatestFiniteMagnitude), found \(text.quotedForMessage)", at: start)
    }
    return isInteger ? .number(number) : Int64(exactly: number).map { .integer($0) } ?? .number(number)
  }

  private mutating func digits() throws(JSONError) {
    guard isDigit(next) else { throw unexpected("a digit") }
    while isDigit(next) { position += 1 }
  }

  private func isDigit(_ byte: UInt8?) -> Bool {
    guard let byte else { return false }
    return (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  // MARK: Strings

  /// Reads the rest of a string after its opening quote.
  private mutating func string() throws(JSONError) -> String {
    let start = position
    var pieceStart = position
    var unescaped: [UInt8] = []
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        let piece = bytes[pieceStart..<position]
        let text =
          pieceStart == start
          ? String(validating: piece, as: UTF8.self) : String(validating: unescaped + piece, as: UTF8.self)
        guard let text else { throw fault("expected a string in UTF-8, found other bytes", at: start) }
        position += 1
        return text
      case UInt8(ascii: "\\"):
        unescaped += bytes[pieceStart..<position]
        position += 1
        unescaped += UTF8.encode(try escape()).map { Array($0) } ?? []
        pieceStart = position
      case 0..<0x20: throw unexpected("control characters as escapes")
      default: position += 1
      }
    }
    throw unexpected("the closing quote of a string")
  }

  /// Reads the rest of an escape after its backslash.
  private mutating func escape() throws(JSONError) -> Unicode.Scalar {
    let start = position
    guard let kind = next else { throw unexpected("an escape") }
    position += 1
    switch kind {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(kind)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let unit = try codeUnit()
      if let scalar = Unicode.Scalar(unit) { return scalar }
      // RFC 8259 §7: characters beyond the basic plane are surrogate pairs.
      if UTF16.isLeadSurrogate(unit), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
        let second = try codeUnit()
        if UTF16.isTrailSurrogate(second) { return UTF16.decode(UTF16.EncodedScalar([unit, second])) }
      }
      throw fault("expected both halves of a surrogate pair, found one", at: start - 1)
    default: throw fault("expected an escape of JSON, found \(describe(start))", at: start)
    }
  }

  private mutating func codeUnit() throws(JSONError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw unexpected("a hexadecimal digit")
      }
      unit = unit << 4 | UInt16(digit)
      position += 1
    }
    return unit
  }

  // MARK: Bytes

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func skipSpaces() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  // MARK: Faults

  private func unexpected(_ expected: String) -> JSONError {
    fault("expected \(expected), found \(describe(position))", at: position)
  }

  private func describe(_ offset: Int) -> String {
    guard offset < bytes.count else { return "the end" }
    let rest = String(decoding: bytes[offset..<min(offset + 4, bytes.count)], as: UTF8.self)
    return String(rest.prefix(1)).quotedForMessage
  }

  private func fault(_ reason: String, at offset: Int) -> JSONError {
    JSONError(offset: offset, in: bytes, reason)
  }
}
