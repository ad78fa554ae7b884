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

/// An error of reading a source map.
package enum SourceMapError: Error, Hashable, Sendable, CustomStringConvertible {
  case notJSON(String)
  case version(String)
  /// An invalid character of `mappings`, counted from 0.
  case badMappings(at: Int, reason: String)
  case badSection(Int, reason: String)
  case tooLarge(what: String, limit: Int)

  package var description: String {
    switch self {
    case .notJSON(let reason): "the source map is not the JSON object of a map: \(reason)"
    case .version(let found): "the source map is of version \(found), 3 is expected"
    case .badMappings(let at, let reason): "the source map's mappings are damaged at character \(at): \(reason)"
    case .badSection(let index, let reason): "section \(index + 1) of the source map is damaged: \(reason)"
    case .tooLarge(let what, let limit): "the source map has more than \(limit) \(what)"
    }
  }
}
