/// Lines at the end of a terminal that are drawn over and over.
struct DrawnLines {
  private let terminal: Terminal
  /// How many columns each takes.
  private var columns: [Int] = []

  init(_ terminal: Terminal) { self.terminal = terminal }

  /// Columns that a line may take: one less than there are, since some terminals wrap when the last is written.
  var width: Int { max(10, terminal.width - 1) }

  mutating func draw(_ lines: [String]) {
    let clipped = lines.map { Formatting.clipped($0, width) }
    terminal.write(erasing + clipped.map { $0 + "\n" }.joined())
    columns = clipped.map(Formatting.columns)
  }

  mutating func erase() {
    terminal.write(erasing)
    columns = []
  }

  /// Goes up to the first line, and clears from there to the end of the screen. A terminal that has become narrower
  /// shows a line in several rows.
  private var erasing: String {
    let rows = Self.rows(columns, width: terminal.width)
    return rows == 0 ? "" : "\u{1B}[\(rows)A\r\u{1B}[J"
  }

  static func rows(_ columns: [Int], width: Int) -> Int {
    columns.reduce(0) { $0 + max(1, ($1 + width - 1) / max(1, width)) }
  }
}
