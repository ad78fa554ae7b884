/// A place in a text as editors count it, such as `12:5`.
package struct TextPlace: Hashable, Sendable, CustomStringConvertible {
  /// The line, from 1.
  package let line: Int
  /// The character in its line, from 1.
  package let column: Int

  /// - Parameter offset: the number of bytes before the place.
  package init(offset: Int, in bytes: [UInt8]) {
    let before = bytes.prefix(max(0, offset))
    line = 1 + before.count { $0 == UInt8(ascii: "\n") }
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    column = 1 + String(decoding: before[start...], as: UTF8.self).count
  }

  package var description: String { "\(line):\(column)" }
}

/// A value of a JSON file that a person writes: errors name the file, the line and the column.
package struct PlacedJSON: Sendable {
  package let value: JSONValue
  private let path: [AnyKey]
  private let file: File

  private final class File: Sendable {
    let name: String
    let bytes: [UInt8]

    init(name: String, bytes: [UInt8]) { (self.name, self.bytes) = (name, bytes) }
  }

  /// - Parameters:
  ///   - bytes: the file's content.
  ///   - name: the file's name in messages.
  /// - Throws: ``DescribedError`` if the bytes are not JSON.
  package init(_ bytes: [UInt8], named name: String) throws {
    file = File(name: name, bytes: bytes)
    path = []
    do {
      value = try JSONValue(reading: bytes)
    } catch {
      throw DescribedError("\(name):\(TextPlace(offset: error.offset, in: bytes)): \(error.reason)")
    }
  }

  private init(_ value: JSONValue, _ path: [AnyKey], _ file: File) {
    (self.value, self.path, self.file) = (value, path, file)
  }

  /// The place of the value in its file.
  package var place: TextPlace { TextPlace(offset: JSONScanner.offset(of: path, in: file.bytes), in: file.bytes) }

  /// An error at the value's place.
  package func fault(_ reason: String) -> DescribedError { DescribedError("\(file.name):\(place): \(reason)") }

  /// An error that names the value.
  package func fault(expected: String) -> DescribedError {
    guard let name = path.last, name.intValue == nil else { return fault("expected \(expected), found \(found)") }
    return fault("\(name.stringValue.quotedForMessage) is \(found): write \(expected)")
  }

  private var found: String {
    switch value {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .string(let text): text.quotedForMessage
    case .array: "a list"
    case .object: "an object"
    }
  }

  /// The members of an object in the order of their names.
  ///
  /// - Parameters:
  ///   - known: the names that it may have; `nil` for any.
  ///   - limit: the largest number of members.
  /// - Throws: ``DescribedError``.
  package func members(_ known: [String]? = nil, upTo limit: Int = 10_000) throws -> [(name: String, value: PlacedJSON)]
  {
    guard case .object(let members) = value else { throw fault(expected: "an object") }
    guard members.count <= limit else { throw fault("it has \(members.count) members, and the limit is \(limit)") }
    return try members.sorted { $0.key < $1.key }.map { name, value in
      let member = PlacedJSON(value, path + [AnyKey(name)], file)
      if let known, !known.contains(name) {
        throw member.fault("there is no member \(name.quotedForMessage): there are \(known.joined(separator: ", "))")
      }
      return (name, member)
    }
  }

  /// The members of an object by their names.
  ///
  /// - Throws: ``DescribedError``.
  package func object(_ known: [String]) throws -> [String: PlacedJSON] {
    Dictionary(try members(known).map { ($0.name, $0.value) }) { first, _ in first }
  }

  /// The elements of a list.
  ///
  /// - Parameter limit: the largest number of elements.
  /// - Throws: ``DescribedError``.
  package func elements(upTo limit: Int = 10_000) throws -> [PlacedJSON] {
    guard case .array(let elements) = value else { throw fault(expected: "a list") }
    guard elements.count <= limit else { throw fault("it has \(elements.count) elements, and the limit is \(limit)") }
    return elements.enumerated().map { PlacedJSON($1, path + [AnyKey($0)], file) }
  }

  /// A text that is not empty.
  ///
  /// - Parameter limit: the largest number of bytes.
  /// - Throws: ``DescribedError``.
  package func text(upTo limit: Int = 10_000) throws -> String {
    guard case .string(let text) = value, !text.isEmpty else { throw fault(expected: "a text") }
    guard text.utf8.count <= limit else {
      throw fault("it has \(text.utf8.count) bytes, and the limit is \(limit)")
    }
    return text
  }

  /// A whole number.
  ///
  /// - Throws: ``DescribedError``.
  package func count(in range: ClosedRange<Int64>) throws -> Int64 {
    guard case .integer(let number) = value, range.contains(number) else {
      throw fault(expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A time as text, such as `40ms` or `2s`.
  ///
  /// - Throws: ``DescribedError``.
  package func time(in range: ClosedRange<Duration>) throws -> Duration {
    guard case .string(let text) = value, let time = Duration(text: text), range.contains(time) else {
      let bounds = "from \(range.lowerBound.inSeconds) to \(range.upperBound.inSeconds)"
      throw fault(expected: "a time \(bounds), such as \"40ms\" or \"5s\"")
    }
    return time
  }
}

/// Finds values in a text that is known to be JSON.
private struct JSONScanner {
  private let bytes: [UInt8]
  private var position = 0

  private init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  /// The number of bytes before a value, or before the innermost one on the path that is there.
  static func offset(of path: [AnyKey], in bytes: [UInt8]) -> Int {
    var scanner = JSONScanner(bytes)
    scanner.skipSpaces()
    for key in path {
      let start = scanner.position
      guard scanner.enter(key) else { return start }
    }
    return scanner.position
  }

  /// Moves to a member or an element. Of members with the same name the first counts.
  private mutating func enter(_ key: AnyKey) -> Bool {
    guard let open = next, open == UInt8(ascii: "{") || open == UInt8(ascii: "[") else { return false }
    position += 1
    var index = 0
    while true {
      skipSpaces()
      guard let byte = next, byte != UInt8(ascii: "}"), byte != UInt8(ascii: "]") else { return false }
      var isWanted = key.intValue == index
      if open == UInt8(ascii: "{") {
        let start = position
        skipValue()
        isWanted = (try? JSONValue(reading: Array(bytes[start..<position]))) == .string(key.stringValue)
        skipSpaces()
        position = min(position + 1, bytes.count)
        skipSpaces()
      }
      if isWanted { return true }
      skipValue()
      skipSpaces()
      guard next == UInt8(ascii: ",") else { return false }
      position += 1
      index += 1
    }
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpaces() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
  }

  private mutating func skipValue() {
    var depth = 0
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        skipString()
        if depth == 0 { return }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth < 0 { return }
        if depth == 0 {
          position += 1
          return
        }
      case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D:
        if depth == 0 { return }
      default: break
      }
      position += 1
    }
  }

  private mutating func skipString() {
    position += 1
    while let byte = next, byte != UInt8(ascii: "\"") { position += byte == UInt8(ascii: "\\") ? 2 : 1 }
    position += 1
  }
}
