/// The difference of two outlines as people read it: hunks of `diff -u`, each with the path of its first element.
struct OutlineDifference: Hashable, Sendable {
  /// The lines of all hunks.
  let lines: [String]

  /// The lines around a difference that are shown.
  private static let context = 3
  /// Longer differing parts are shown as removed and added as a whole: comparing them line by line would take too long.
  private static let partLimit = 1_000

  init(from old: String, to new: String) {
    let (old, new) = (Self.split(old), Self.split(new))
    let edits = LineEdit.edits(from: old, to: new, comparing: Self.partLimit)
    var lines: [String] = []
    var next = 0
    while let first = edits[next...].firstIndex(where: { !$0.isSame }) {
      var last = first
      // Differences with few lines between them are one hunk.
      while let further = edits[(last + 1)...].firstIndex(where: { !$0.isSame }), further - last <= 2 * Self.context + 1
      {
        last = further
      }
      let shown = max(next, first - Self.context)...min(edits.count - 1, last + Self.context)
      lines.append(Self.header(of: edits[shown], first: edits[first], old, new))
      for edit in edits[shown] {
        switch edit {
        case .same(_, let index): lines.append(" \(new[index])")
        case .removed(let index): lines.append("-\(old[index])")
        case .added(let index): lines.append("+\(new[index])")
        }
      }
      next = last + 1
    }
    self.lines = lines
  }

  /// The lines up to a number, and how many more there are.
  func text(limit: Int) -> String {
    guard lines.count > limit else { return lines.joined(separator: "\n") }
    return (lines.prefix(limit) + ["… \(lines.count - limit) more lines"]).joined(separator: "\n")
  }

  private static func split(_ text: String) -> [Substring] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines
  }

  /// `@@ -3,4 +3,5 @@ div > list[2]`: as `diff -u` has it, with the path of the first element that differs.
  private static func header(
    of edits: ArraySlice<LineEdit>, first: LineEdit, _ old: [Substring], _ new: [Substring]
  ) -> String {
    var (oldLines, newLines): ([Int], [Int]) = ([], [])
    for edit in edits {
      switch edit {
      case .same(let old, let new):
        oldLines.append(old)
        newLines.append(new)
      case .removed(let old): oldLines.append(old)
      case .added(let new): newLines.append(new)
      }
    }
    let path =
      switch first {
      case .removed(let index): path(of: index, in: old)
      case .same(_, let index), .added(let index): path(of: index, in: new)
      }
    return "@@ -\(range(oldLines)) +\(range(newLines)) @@ \(path)"
  }

  private static func range(_ lines: [Int]) -> String {
    guard let first = lines.first else { return "0,0" }
    return lines.count == 1 ? "\(first + 1)" : "\(first + 1),\(lines.count)"
  }

  /// The types of the elements down to a line, by their indentation, with their numbers.
  private static func path(of index: Int, in lines: [Substring]) -> String {
    var parts: [String] = []
    var depth = Int.max
    for line in lines[...index].reversed() {
      let own = line.prefix { $0 == " " }.count
      guard own < depth else { continue }
      depth = own
      let words = line.dropFirst(own).split(separator: " ", maxSplits: 2)
      let number = words.count > 1 && own > 0 ? "[\(words[1].drop { $0 == "#" })]" : ""
      parts.append("\(words.first ?? "")\(number)")
      if own == 0 { break }
    }
    return parts.reversed().joined(separator: " > ")
  }
}
