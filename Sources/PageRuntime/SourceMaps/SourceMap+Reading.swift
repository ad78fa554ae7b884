import HTTPTransport

extension SourceMap {
  /// Reads the JSON of a map, with or without sections.
  ///
  /// - Parameter url: the URL of the map, against which its sources are resolved.
  /// - Throws: ``SourceMapError``.
  package init(reading bytes: [UInt8], at url: PageURL? = nil, limits: Limits = Limits()) throws {
    guard bytes.count <= limits.bytes else { throw SourceMapError.tooLarge(what: "bytes", limit: limits.bytes) }
    let file: File
    do {
      file = try JSONValue(reading: Array(Self.withoutGuard(bytes)), limits: limits.json).decoded()
    } catch {
      throw SourceMapError.notJSON(error.jsonReason)
    }
    guard file.version == 3 else { throw SourceMapError.version(file.version.map { "\($0)" } ?? "unknown") }
    guard let sections = file.sections else {
      try add(file, line: 0, column: 0, url, limits)
      return
    }
    guard sections.count <= limits.sections else {
      throw SourceMapError.tooLarge(what: "sections", limit: limits.sections)
    }
    for (index, section) in sections.enumerated() { try add(section, index, url, limits) }
  }

  /// ECMA-426: a first line that begins with `)]}'`, which keeps the file from being run as a script, is left out.
  private static func withoutGuard(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    guard bytes.starts(with: Array(")]}'".utf8)) else { return bytes[...] }
    return bytes.drop { $0 != UInt8(ascii: "\n") }
  }

  private mutating func add(_ section: File.Section, _ index: Int, _ url: PageURL?, _ limits: Limits) throws {
    guard let map = section.map else { throw SourceMapError.badSection(index, reason: "it has no map of its own") }
    guard map.sections == nil else { throw SourceMapError.badSection(index, reason: "it has sections itself") }
    guard let line = Int32(exactly: section.offset.line), let column = Int32(exactly: section.offset.column),
      line >= 0, column >= 0
    else { throw SourceMapError.badSection(index, reason: "its offset is out of range") }
    if let last = segments.last {
      let start = Segment(line: line, column: column)
      guard !start.isBefore(last) else {
        throw SourceMapError.badSection(index, reason: "it begins before the one before it ends")
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
    guard !overflows else { throw SourceMapError.badMappings(at: 0, reason: "an offset is out of range") }
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
