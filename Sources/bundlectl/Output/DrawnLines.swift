import Synchronization

/// Lines at the end of a terminal that tasks redraw.
final class RedrawnLines: Sendable {
  private let lines: Mutex<DrawnLines>

  init(_ terminal: Terminal) { lines = Mutex(DrawnLines(terminal)) }

  func draw(_ text: [String]) { lines.withLock { $0.draw(text) } }
  func erase() { lines.withLock { $0.erase() } }
}

/// Lines at the end of a terminal that are redrawn.
struct DrawnLines {
  private let terminal: Terminal
  /// The width of each in columns.
  private var columns: [Int] = []

  init(_ terminal: Terminal) { self.terminal = terminal }

  /// The width of a line: one column less than the terminal, since some terminals wrap after the last.
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

  /// Moves to the first line, and clears from there to the end of the screen. In a terminal that became narrower, a
  /// line takes several rows.
  private var erasing: String {
    let rows = Self.rows(columns, width: terminal.width)
    return rows == 0 ? "" : "\u{1B}[\(rows)A\r\u{1B}[J"
  }

  static func rows(_ columns: [Int], width: Int) -> Int {
    columns.reduce(0) { $0 + max(1, ($1 + width - 1) / max(1, width)) }
  }
}
