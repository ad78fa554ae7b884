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
    let start = zip(olds, news).prefix { $0 == $1 }.count
    let most = min(olds.count, news.count) - start
    let end = zip(olds.reversed(), news.reversed()).prefix { $0 == $1 }.prefix(most).count
    let (oldMiddle, newMiddle) = (olds[start..<olds.count - end], news[start..<news.count - end])
    var marked = olds[..<start].map { (mark: " ", text: $0) }
    if max(oldMiddle.count, newMiddle.count) <= Self.comparedLines {
      let difference = Array(newMiddle).difference(from: Array(oldMiddle))
      let removed = Set(difference.removals.map(Self.offset))
      let inserted = Set(difference.insertions.map(Self.offset))
      var (index, other) = (0, 0)
      let (before, after) = (Array(oldMiddle), Array(newMiddle))
      while index < before.count || other < after.count {
        if removed.contains(index) {
          marked.append(("-", before[index]))
          index += 1
        } else if inserted.contains(other) {
          marked.append(("+", after[other]))
          other += 1
        } else {
          marked.append((" ", before[index]))
          (index, other) = (index + 1, other + 1)
        }
      }
    } else {
      marked += oldMiddle.map { ("-", $0) } + newMiddle.map { ("+", $0) }
    }
    marked += olds[(olds.count - end)...].map { (" ", $0) }
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

  private static func offset(_ change: CollectionDifference<Substring>.Change) -> Int {
    switch change {
    case .insert(let offset, _, _), .remove(let offset, _, _): offset
    }
  }
}
