/// Reads a map's `mappings`: base64 VLQ numbers, each counted from the one before it. ECMA-426, "Mappings grammar".
struct MappingsReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ mappings: String) { bytes = Array(mappings.utf8) }

  /// - Parameter room: the largest number of segments.
  /// - Throws: ``SourceMapError``.
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
      guard let place = Int32(exactly: column), place >= 0 else { throw damage(start, "a column is out of range") }
      var segment = SourceMap.Segment(line: line, column: place)
      if !isAtEnd {
        source += try number()
        guard !isAtEnd else { throw damage(start, "a segment has 2 fields") }
        sourceLine += try number()
        guard !isAtEnd else { throw damage(start, "a segment has 3 fields") }
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
          guard isAtEnd else { throw damage(start, "a segment has more than 5 fields") }
        }
      }
      guard segments.count < room else { throw SourceMapError.tooLarge(what: "segments", limit: limit) }
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
      guard let digit = Self.digit(bytes[position]) else { throw damage(position, "it is not a base64 digit") }
      position += 1
      value |= (digit & 31) << shift
      guard digit & 32 != 0 else {
        // ECMA-426: a number that does not fit into 32 bits is an error.
        guard value >> 1 <= Int64(Int32.max) + 1 else { throw damage(start, "a number is too large") }
        return value & 1 == 0 ? value >> 1 : -(value >> 1)
      }
      shift += 5
      guard shift <= 30 else { throw damage(start, "a number is too large") }
    }
    throw damage(start, "a number is cut short")
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

  private func damage(_ position: Int, _ reason: String) -> SourceMapError {
    .badMappings(at: position, reason: reason)
  }
}
