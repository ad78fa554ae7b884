import Foundation
import PageKit
import Synchronization

/// A stream that may be a terminal.
struct Terminal: Sendable {
  private let descriptor: Int32
  let isTerminal: Bool
  let isColoured: Bool

  static let output = Terminal(descriptor: STDOUT_FILENO)
  static let error = Terminal(descriptor: STDERR_FILENO)

  private init(descriptor: Int32) {
    self.descriptor = descriptor
    let environment = ProcessInfo.processInfo.environment
    isTerminal = isatty(descriptor) == 1 && environment["TERM"] != "dumb"
    // https://no-color.org: NO_COLOR is set and not empty.
    isColoured = isTerminal && (environment["NO_COLOR"] ?? "").isEmpty
  }

  /// `true` if a person can be asked: standard input and standard error are terminals.
  static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 && error.isTerminal }

  /// Asks a person a question, which only `y` or `yes` confirms.
  static func confirms(_ question: String) -> Bool {
    error.write("\(question) [y/N] ")
    return ["y", "yes"].contains(readLine()?.trimmingCharacters(in: .whitespaces).lowercased() ?? "")
  }

  /// The width in columns; 80 if it is unknown.
  var width: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  func write(_ text: String) { write(Array(text.utf8)) }

  /// Writes the whole text; if that fails, the command ends with a failure.
  func write(_ bytes: [UInt8]) {
    var bytes = bytes[...]
    while !bytes.isEmpty {
      let written = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        let code = errno
        let reason = String(cString: strerror(code))
        if descriptor == STDOUT_FILENO, code != EPIPE {
          Terminal.report("standard output cannot be written: \(reason)")
        }
        // Without clean-up handlers: running threads must not meet libraries that are being unloaded.
        EphemeralStore.remove()
        _exit(code == EPIPE ? 128 + SIGPIPE : 1)
      }
      bytes = bytes.dropFirst(written)
    }
  }

  /// Prints a message of the program on standard error.
  static func report(_ text: String, _ style: Style? = nil) {
    error.line("bundlectl: \(style.map { error.styled(text, $0) } ?? text)")
  }

  func line(_ text: String = "") { write(text + "\n") }

  enum Style: String {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
  }

  func styled(_ text: String, _ style: Style) -> String {
    isColoured ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }
}

/// Lines at the end of a terminal that are redrawn, also by several tasks. Elsewhere nothing is drawn.
final class DrawnLines: Sendable {
  private let terminal: Terminal
  /// The width of each line in columns; `nil` after ``end()``.
  private let columns = Mutex<[Int]?>([])

  init(_ terminal: Terminal) { self.terminal = terminal }

  /// The width of a line: one column less than the terminal, since some terminals wrap after the last.
  var width: Int { max(10, terminal.width - 1) }

  func draw(_ lines: [String]) {
    guard terminal.isTerminal else { return }
    columns.withLock { columns in
      guard let drawn = columns else { return }
      let clipped = lines.map { Formatting.clipped($0, width) }
      terminal.write(erasing(drawn) + clipped.map { $0 + "\n" }.joined())
      columns = clipped.map(Formatting.columns)
    }
  }

  /// Erases the drawn lines, and prints one that stays.
  func print(_ line: String) {
    columns.withLock { columns in
      guard let drawn = columns else { return }
      terminal.write(erasing(drawn))
      terminal.line(line)
      columns = []
    }
  }

  func erase() {
    columns.withLock { columns in
      guard let drawn = columns else { return }
      terminal.write(erasing(drawn))
      columns = []
    }
  }

  /// Erases the drawn lines. Nothing is drawn or printed after this call.
  func end() {
    columns.withLock { columns in
      if let drawn = columns { terminal.write(erasing(drawn)) }
      columns = nil
    }
  }

  /// Moves to the first line, and clears from there to the end of the screen. In a terminal that became narrower, a
  /// line takes several rows.
  private func erasing(_ columns: [Int]) -> String {
    let rows = Self.rows(columns, width: terminal.width)
    return rows == 0 ? "" : "\u{1B}[\(rows)A\r\u{1B}[J"
  }

  static func rows(_ columns: [Int], width: Int) -> Int {
    columns.reduce(0) { $0 + max(1, ($1 + width - 1) / max(1, width)) }
  }
}

/// Reports that a page is being waited for: on a terminal in a line that disappears when it opens, else once.
final class WaitNotice: Sendable {
  private let lines: DrawnLines
  private let ticking: Task<Void, Never>

  /// The delay before the notice; longer for a line that stays.
  private static func patience(_ terminal: Terminal) -> Duration { .seconds(terminal.isTerminal ? 1 : 5) }

  /// - Parameter subject: the page that is waited for.
  init(_ terminal: Terminal, _ subject: String) {
    let lines = DrawnLines(terminal)
    self.lines = lines
    let began = ContinuousClock.now
    ticking = Task {
      var next = Self.patience(terminal)
      while true {
        try? await Task.sleep(until: began + next)
        guard !Task.isCancelled else { return }
        let text = "waiting for \(subject): \(next.inSeconds) …"
        guard terminal.isTerminal else { return lines.print("bundlectl: " + text) }
        lines.draw([text])
        next += .seconds(1)
      }
    }
  }

  deinit { end() }

  /// Nothing is drawn after this call.
  func end() {
    ticking.cancel()
    lines.end()
  }
}
