import HTTPTransport

/// The sources of the parts of a generated script. ECMA-426, "Source Map v3".
package struct SourceMap: Hashable, Sendable {
  /// The limits of a map; a larger one is refused.
  package struct Limits: Hashable, Sendable {
    package var bytes = 64 << 20
    package var segments = 4_000_000
    package var sections = 10_000

    package init() {}

    /// The limits of the JSON: sources, their contents and names are values too.
    var json: JSONLimits { JSONLimits(values: 10_000 + segments) }
  }

  /// A place in a source.
  package struct Position: Hashable, Sendable, CustomStringConvertible {
    /// The URL of the source, or its name in the map if the map's own URL is not known.
    package let source: String
    /// From 1.
    package let line: Int
    /// From 1.
    package let column: Int
    /// The name in the source.
    package let name: String?

    package var description: String { "\(source):\(line):\(column)" }
  }

  /// A part of the generated script, up to the next segment. All numbers count from 0; −1 stands for none.
  struct Segment: Hashable, Sendable {
    var line: Int32
    var column: Int32
    var source: Int32 = -1
    var sourceLine: Int32 = -1
    var sourceColumn: Int32 = -1
    var name: Int32 = -1

    func isBefore(_ other: Segment) -> Bool { (line, column) < (other.line, other.column) }
  }

  /// The sources; `nil` for one without a name.
  package internal(set) var sources: [String?] = []
  /// The texts of the sources, if the map has them.
  package internal(set) var contents: [String?] = []
  var names: [String] = []
  /// In order.
  var segments: [Segment] = []

  /// Returns the source of a place in the generated script, or `nil` if the map has none.
  ///
  /// - Parameters:
  ///   - line: from 1.
  ///   - column: from 1; `nil` for the first one of the line that has a source.
  package func position(line: Int, column: Int?) -> Position? {
    guard let line = Int32(exactly: line), line > 0 else { return nil }
    if let column {
      guard let column = Int32(exactly: column), column > 0 else { return nil }
      let next = firstIndex { $0.line > line - 1 || ($0.line == line - 1 && $0.column > column - 1) }
      guard next > 0, segments[next - 1].line == line - 1 else { return nil }
      return position(of: segments[next - 1])
    }
    let start = firstIndex { $0.line >= line - 1 }
    return segments[start...].prefix { $0.line == line - 1 }.lazy.compactMap(position).first
  }

  /// Returns a line of a source, or `nil` if the map does not have its text.
  ///
  /// - Parameter line: from 1.
  package func text(of source: String, line: Int) -> String? {
    guard line > 0, let index = sources.firstIndex(of: source), index < contents.count, let text = contents[index]
    else {
      return nil
    }
    let lines = text.split(maxSplits: line, omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    return lines.count >= line ? String(lines[line - 1]) : nil
  }

  private func position(of segment: Segment) -> Position? {
    guard segment.source >= 0, let source = sources[Int(segment.source)] else { return nil }
    return Position(
      source: source, line: Int(segment.sourceLine) + 1, column: Int(segment.sourceColumn) + 1,
      name: segment.name >= 0 ? names[Int(segment.name)] : nil)
  }

  /// The index of the first segment beyond a place; the number of segments if there is none.
  private func firstIndex(where isBeyond: (Segment) -> Bool) -> Int {
    var (low, high) = (0, segments.count)
    while low < high {
      let middle = (low + high) / 2
      if isBeyond(segments[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension SourceMap {
  /// Reads the JSON of a map, with or without sections.
  ///
  /// - Parameter url: the URL of the map, against which its sources are resolved.
  /// - Throws: ``DescribedError``.
  package init(reading bytes: [UInt8], at url: PageURL? = nil, limits: Limits = Limits()) throws {
    guard bytes.count <= limits.bytes else { throw Self.tooLarge("bytes", limits.bytes) }
    let file: File
    do {
      file = try JSONValue(reading: Array(Self.withoutGuard(bytes)), limits: limits.json).decoded()
    } catch {
      throw DescribedError("the source map is not the JSON object of a map: \(error.jsonReason)")
    }
    guard file.version == 3 else {
      let found = file.version.map { "\($0)" } ?? "unknown"
      throw DescribedError("the source map is of version \(found), 3 is expected")
    }
    guard let sections = file.sections else {
      try add(file, line: 0, column: 0, url, limits)
      return
    }
    guard sections.count <= limits.sections else {
      throw Self.tooLarge("sections", limits.sections)
    }
    for (index, section) in sections.enumerated() { try add(section, index, url, limits) }
  }

  fileprivate static func tooLarge(_ what: String, _ limit: Int) -> DescribedError {
    DescribedError("the source map has more than \(limit) \(what)")
  }

  private static func damage(ofSection index: Int, _ reason: String) -> DescribedError {
    DescribedError("section \(index + 1) of the source map is damaged: \(reason)")
  }

  /// ECMA-426: a first line that begins with `)]}'`, which keeps the file from being run as a script, is left out.
  private static func withoutGuard(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    guard bytes.starts(with: Array(")]}'".utf8)) else { return bytes[...] }
    return bytes.drop { $0 != UInt8(ascii: "\n") }
  }

  private mutating func add(_ section: File.Section, _ index: Int, _ url: PageURL?, _ limits: Limits) throws {
    guard let map = section.map else { throw Self.damage(ofSection: index, "it has no map of its own") }
    guard map.sections == nil else { throw Self.damage(ofSection: index, "it has sections itself") }
    guard let line = Int32(exactly: section.offset.line), let column = Int32(exactly: section.offset.column),
      line >= 0, column >= 0
    else { throw Self.damage(ofSection: index, "its offset is out of range") }
    if let last = segments.last {
      let start = Segment(line: line, column: column)
      guard !start.isBefore(last) else {
        throw Self.damage(ofSection: index, "it begins before the one before it ends")
      }
    }
    try add(map, line: line, column: column, url, limits)
  }

  private mutating func add(
    _ file: File, line: Int32, column: Int32, _ url: PageURL?, _ limits: Limits
  ) throws {
    let (firstSource, firstName) = (Int32(sources.count), Int32(names.count))
    let listed = file.sources ?? []
    var reader = MappingsReader(file.mappings ?? "")
    var added = try reader.segments(
      sources: listed.count, names: file.names?.count ?? 0, room: limits.segments - segments.count,
      limit: limits.segments)
    for index in added.indices {
      if added[index].line == 0 { added[index].column = try Self.sum(added[index].column, column) }
      added[index].line = try Self.sum(added[index].line, line)
      if added[index].source >= 0 { added[index].source += firstSource }
      if added[index].name >= 0 { added[index].name += firstName }
    }
    // Generators write segments in order; others are sorted, and equal places keep their order.
    if !zip(added, added.dropFirst()).allSatisfy({ !$1.isBefore($0) }) { added.sort { $0.isBefore($1) } }
    segments += added
    names += file.names ?? []
    sources += listed.map { source in source.map { Self.resolve($0, root: file.sourceRoot, url) } }
    let texts = (file.sourcesContent ?? []).prefix(listed.count)
    contents += Array(texts) + [String?](repeating: nil, count: listed.count - texts.count)
  }

  private static func sum(_ a: Int32, _ b: Int32) throws -> Int32 {
    let (sum, overflows) = a.addingReportingOverflow(b)
    guard !overflows else { throw MappingsReader.damage(0, "an offset is out of range") }
    return sum
  }

  private static func resolve(_ source: String, root: String?, _ url: PageURL?) -> String {
    var text = source
    if let root, !root.isEmpty { text = root.hasSuffix("/") ? root + source : "\(root)/\(source)" }
    // `webpack:///./a.js` is a name, not a place.
    guard let url, !text.contains("://") else { return text }
    return url.resolving(text)?.text ?? text
  }

  /// The JSON of a map.
  private final class File: Decodable {
    struct Section: Decodable {
      struct Offset: Decodable {
        let line: Int
        let column: Int
      }

      let offset: Offset
      let map: File?
    }

    let version: Int?
    let sourceRoot: String?
    let sources: [String?]?
    let sourcesContent: [String?]?
    let names: [String]?
    let mappings: String?
    let sections: [Section]?
  }
}

/// Reads a map's `mappings`: base64 VLQ numbers, each counted from the one before it. ECMA-426, "Mappings grammar".
struct MappingsReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ mappings: String) { bytes = Array(mappings.utf8) }

  /// - Parameter room: the largest number of segments.
  /// - Throws: ``DescribedError``.
  mutating func segments(sources: Int, names: Int, room: Int, limit: Int) throws -> [SourceMap.Segment] {
    var segments: [SourceMap.Segment] = []
    var line: Int32 = 0
    var (column, source, sourceLine, sourceColumn, name) = (Int64(0), Int64(0), Int64(0), Int64(0), Int64(0))
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: ";"):
        line += 1
        column = 0
        position += 1
        continue
      case UInt8(ascii: ","):
        position += 1
        continue
      default: break
      }
      let start = position
      column += try number()
      guard let place = Int32(exactly: column), place >= 0 else { throw Self.damage(start, "a column is out of range") }
      var segment = SourceMap.Segment(line: line, column: place)
      if !isAtEnd {
        source += try number()
        guard !isAtEnd else { throw Self.damage(start, "a segment has 2 fields") }
        sourceLine += try number()
        guard !isAtEnd else { throw Self.damage(start, "a segment has 3 fields") }
        sourceColumn += try number()
        // A segment whose source is not listed has no source.
        if (0..<Int64(sources)).contains(source), let line = Int32(exactly: sourceLine), line >= 0,
          let column = Int32(exactly: sourceColumn), column >= 0
        {
          (segment.source, segment.sourceLine, segment.sourceColumn) = (Int32(source), line, column)
        }
        if !isAtEnd {
          name += try number()
          if (0..<Int64(names)).contains(name) { segment.name = Int32(name) }
          guard isAtEnd else { throw Self.damage(start, "a segment has more than 5 fields") }
        }
      }
      guard segments.count < room else { throw SourceMap.tooLarge("segments", limit) }
      segments.append(segment)
    }
    return segments
  }

  private var isAtEnd: Bool {
    position >= bytes.count || bytes[position] == UInt8(ascii: ",") || bytes[position] == UInt8(ascii: ";")
  }

  /// Reads a number: five bits per digit, the lowest first; the lowest bit is the sign.
  private mutating func number() throws -> Int64 {
    let start = position
    var value: Int64 = 0
    var shift: Int64 = 0
    while position < bytes.count {
      guard let digit = Self.digit(bytes[position]) else { throw Self.damage(position, "it is not a base64 digit") }
      position += 1
      value |= (digit & 31) << shift
      guard digit & 32 != 0 else {
        // ECMA-426: a number that does not fit into 32 bits is an error.
        guard value >> 1 <= Int64(Int32.max) + 1 else { throw Self.damage(start, "a number is too large") }
        return value & 1 == 0 ? value >> 1 : -(value >> 1)
      }
      shift += 5
      guard shift <= 30 else { throw Self.damage(start, "a number is too large") }
    }
    throw Self.damage(start, "a number is cut short")
  }

  private static func digit(_ byte: UInt8) -> Int64? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int64(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int64(byte - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int64(byte - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }

  /// - Parameter position: of a character of `mappings`, from 0.
  static func damage(_ position: Int, _ reason: String) -> DescribedError {
    DescribedError("the source map's mappings are damaged at character \(position): \(reason)")
  }
}

// MARK: - The reference at the end of a script

extension SourceMap {
  /// Returns a script's reference to its source map, `//# sourceMappingURL=…`, as it is written, or `nil` if there is none.
  /// Only blank lines and comments may follow it.
  package static func reference(in source: String) -> String? {
    var rest = Substring(source).utf8
    while let last = rest.last {
      if Self.isSpace(last) || Self.isLineEnd(last) {
        rest.removeLast()
        continue
      }
      let start = rest.lastIndex(where: Self.isLineEnd).map { rest.index(after: $0) } ?? rest.startIndex
      let line = rest[start...]
      if let found = reference(in: line) { return found }
      guard line.drop(while: Self.isSpace).starts(with: "//".utf8) else { return nil }
      rest = rest[..<start]
    }
    return nil
  }

  /// ECMA-426, "Extracting a source map URL": `//#`, the older `//@`, or the same in a comment of the other kind.
  private static func reference(in line: Substring.UTF8View) -> String? {
    guard let name = Substring(line).ranges(of: "sourceMappingURL=").last else { return nil }
    let before = Substring(line)[..<name.lowerBound]
    guard before.last.map({ $0 == " " || $0 == "\t" }) ?? false else { return nil }
    let mark = before.utf8.reversed().drop(while: isSpace).prefix(3)
    guard ["#//", "@//", "#*/"].contains(where: { mark.elementsEqual($0.utf8) }) else { return nil }
    var value = Substring(line)[name.upperBound...]
    if mark.elementsEqual("#*/".utf8) {
      guard let end = value.firstRange(of: "*/") else { return nil }
      value = value[..<end.lowerBound]
    }
    let text = String(value.utf8.prefix { !isSpace($0) }) ?? ""
    // With quotes it is a string that a script makes, not a comment.
    guard !text.isEmpty, !text.utf8.contains(where: { "\"'`".utf8.contains($0) }) else { return nil }
    return text
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
  private static func isLineEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
}
