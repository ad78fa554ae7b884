/// A place in a text: a line and a column, both from 1. Columns count the characters of Unicode, not bytes.
package struct TextPlace: Hashable, Sendable, CustomStringConvertible {
  package let line: Int
  package let column: Int

  package init(line: Int, column: Int) { (self.line, self.column) = (line, column) }

  /// The place of a byte of a text in UTF-8. A leading byte order mark takes no column.
  package init(ofByte offset: Int, in bytes: [UInt8]) {
    let before = bytes.prefix(max(0, offset))
    line = 1 + before.count { $0 == UInt8(ascii: "\n") }
    let start =
      before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? (before.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
    // The further bytes of a character are 10xxxxxx.
    column = 1 + before[start...].count { $0 & 0xC0 != 0x80 }
  }

  package var description: String { "\(line):\(column)" }
}

/// A part of the path to a value in a JSON text.
enum JSONPathPart: Hashable, Sendable {
  case member(String)
  case element(Int)
}

/// The bytes before a value, and before the name of the member that it is.
struct JSONOffsets: Hashable, Sendable {
  let value: Int
  let name: Int
}

/// A value of a JSON text with its place, for files that people write: an error can name the line and the column.
///
///     let file = try PlacedJSON(reading: bytes)
///     if let steps = file["steps"]?.elements { print(steps.map(\.place)) }
package struct PlacedJSON: Sendable {
  /// The value.
  package let value: JSONValue
  private let text: Text
  private let path: [JSONPathPart]

  private final class Text: Sendable {
    let name: String
    let bytes: [UInt8]
    let offsets: [[JSONPathPart]: JSONOffsets]

    init(_ name: String, _ bytes: [UInt8], _ offsets: [[JSONPathPart]: JSONOffsets]) {
      (self.name, self.bytes, self.offsets) = (name, bytes, offsets)
    }
  }

  /// Reads a JSON text as ``JSONValue/init(reading:limits:)`` does.
  ///
  /// - Parameter name: the file's name in the messages of ``fault(_:)``.
  /// - Throws: ``JSONError``, with the place of the fault.
  package init(
    reading bytes: [UInt8], named name: String = "", limits: JSONLimits = .standard
  ) throws(JSONError) {
    var reader = JSONReader(bytes: bytes, limits: limits, recordsPlaces: true)
    value = try reader.document()
    text = Text(name, bytes, reader.offsets ?? [:])
    path = []
  }

  private init(_ value: JSONValue, _ text: Text, _ path: [JSONPathPart]) {
    (self.value, self.text, self.path) = (value, text, path)
  }

  /// The place of the value.
  package var place: TextPlace { TextPlace(ofByte: offsets.value, in: text.bytes) }

  /// The place of the name, if the value is a member; else that of the value.
  package var namePlace: TextPlace { TextPlace(ofByte: offsets.name, in: text.bytes) }

  private var offsets: JSONOffsets { text.offsets[path] ?? JSONOffsets(value: 0, name: 0) }

  /// A member of an object; `nil` if the value has none of the name.
  package subscript(name: String) -> PlacedJSON? {
    guard case .object(let members) = value, let member = members[name] else { return nil }
    return PlacedJSON(member, text, path + [.member(name)])
  }

  /// The members of an object in the order of the text; `nil` if the value is not an object.
  package var members: [(name: String, value: PlacedJSON)]? {
    guard case .object(let members) = value else { return nil }
    return members.map { (name: $0.key, value: PlacedJSON($0.value, text, path + [.member($0.key)])) }
      .sorted { $0.value.offsets.name < $1.value.offsets.name }
  }

  /// The elements of an array; `nil` if the value is not an array.
  package var elements: [PlacedJSON]? {
    guard case .array(let elements) = value else { return nil }
    return elements.enumerated().map { PlacedJSON($0.element, text, path + [.element($0.offset)]) }
  }
}

// MARK: Reading with errors

extension PlacedJSON {
  /// Reads a file that a person writes.
  ///
  /// - Parameters:
  ///   - bytes: the file's content.
  ///   - name: the file's name in messages.
  /// - Throws: ``DescribedError`` if the bytes are not JSON, with the line and the column.
  package init(_ bytes: [UInt8], named name: String) throws(DescribedError) {
    do {
      self = try PlacedJSON(reading: bytes, named: name)
    } catch {
      throw DescribedError("\(name):\(error.place): \(error.reason)")
    }
  }

  /// An error at the value's place.
  package func fault(_ reason: String) -> DescribedError { DescribedError("\(text.name):\(place): \(reason)") }

  /// An error that names the value.
  package func fault(expected: String) -> DescribedError {
    guard case .member(let name) = path.last else { return fault("expected \(expected), found \(found)") }
    return fault("\(name.quotedForMessage) is \(found): write \(expected)")
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
  package func entries(_ known: [String]? = nil, upTo limit: Int = 10_000) throws -> [(name: String, value: PlacedJSON)]
  {
    guard case .object(let members) = value else { throw fault(expected: "an object") }
    guard members.count <= limit else { throw fault("it has \(members.count) members, and the limit is \(limit)") }
    return try members.sorted { $0.key < $1.key }.map { name, value in
      let member = PlacedJSON(value, text, path + [.member(name)])
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
    Dictionary(try entries(known).map { ($0.name, $0.value) }) { first, _ in first }
  }

  /// The elements of a list.
  ///
  /// - Parameter limit: the largest number of elements.
  /// - Throws: ``DescribedError``.
  package func list(upTo limit: Int = 10_000) throws -> [PlacedJSON] {
    guard case .array(let elements) = value else { throw fault(expected: "a list") }
    guard elements.count <= limit else { throw fault("it has \(elements.count) elements, and the limit is \(limit)") }
    return elements.enumerated().map { PlacedJSON($1, text, path + [.element($0)]) }
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
