/// The lines in which two texts differ, with some around them, as `diff -u` shows them.
struct LineDifference {
  /// Lines with ` `, `-` or `+` before them; `…` where lines are left out.
  private(set) var lines: [String] = []

  /// The lines shown around a difference.
  private static let context = 2
  /// The number of lines up to which two texts are compared line by line. Of longer ones, what lies between their common
  /// beginning and their common end is shown as a whole.
  private static let comparedLines = 2_000

  init(from old: String, to new: String) {
    let (olds, news) = (old.split(separator: "\n"), new.split(separator: "\n"))
    let marked = LineEdit.edits(from: olds, to: news, comparing: Self.comparedLines).map { edit in
      switch edit {
      case .same(_, let index): (mark: " ", text: news[index])
      case .removed(let index): (mark: "-", text: olds[index])
      case .added(let index): (mark: "+", text: news[index])
      }
    }
    var shown: Set<Int> = []
    for (index, line) in marked.enumerated() where line.mark != " " {
      for near in max(0, index - Self.context)...min(marked.count - 1, index + Self.context) { shown.insert(near) }
    }
    var last = -1
    for index in shown.sorted() {
      if index > last + 1 { lines.append("…") }
      lines.append(marked[index].mark + marked[index].text)
      last = index
    }
    if last >= 0, last < marked.count - 1 { lines.append("…") }
  }
}

/// A step from the lines of one text to those of another.
enum LineEdit: Hashable, Sendable {
  case same(old: Int, new: Int)
  case removed(Int)
  case added(Int)

  var isSame: Bool { if case .same = self { true } else { false } }

  /// The steps in the order of the lines; of a changed part what is removed comes first.
  ///
  /// - Parameter limit: the number of lines up to which what lies between the common beginning and the common end is
  ///   compared line by line. A longer part is removed and added as a whole.
  static func edits(from old: [Substring], to new: [Substring], comparing limit: Int) -> [LineEdit] {
    let start = zip(old, new).prefix { $0 == $1 }.count
    let end = zip(old[start...].reversed(), new[start...].reversed()).prefix { $0 == $1 }.count
    let (oldPart, newPart) = (old[start..<old.count - end], new[start..<new.count - end])
    var (removed, added) = (Set(oldPart.indices), Set(newPart.indices))
    if max(oldPart.count, newPart.count) <= limit {
      (removed, added) = ([], [])
      for change in newPart.difference(from: oldPart) {
        switch change {
        case .remove(let offset, _, _): removed.insert(start + offset)
        case .insert(let offset, _, _): added.insert(start + offset)
        }
      }
    }
    var edits: [LineEdit] = []
    var (left, right) = (0, 0)
    while left < old.count || right < new.count {
      if left < old.count, removed.contains(left) {
        edits.append(.removed(left))
        left += 1
      } else if right < new.count, added.contains(right) {
        edits.append(.added(right))
        right += 1
      } else {
        edits.append(.same(old: left, new: right))
        left += 1
        right += 1
      }
    }
    return edits
  }
}
