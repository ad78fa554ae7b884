/// The reference to a source map at the end of a script: `//# sourceMappingURL=…`.
package enum SourceMapReference {
  /// Returns the reference as it is written, or `nil` if there is none. Only blank lines and comments may follow it.
  package static func find(in source: String) -> String? {
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
