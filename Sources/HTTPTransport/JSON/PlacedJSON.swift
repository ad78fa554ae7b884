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
    let bytes: [UInt8]
    let offsets: [[JSONPathPart]: JSONOffsets]

    init(_ bytes: [UInt8], _ offsets: [[JSONPathPart]: JSONOffsets]) { (self.bytes, self.offsets) = (bytes, offsets) }
  }

  /// Reads a JSON text as ``JSONValue/init(reading:limits:)`` does.
  ///
  /// - Throws: ``JSONError``, with the place of the fault.
  package init(reading bytes: [UInt8], limits: JSONLimits = .standard) throws(JSONError) {
    var reader = JSONReader(bytes: bytes, limits: limits, recordsPlaces: true)
    value = try reader.document()
    text = Text(bytes, reader.offsets ?? [:])
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
