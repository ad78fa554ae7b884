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

/// The keys that are pressed on the terminal of standard input: each by itself, without Enter, and without being shown.
///
/// A command in the background reads nothing, and leaves the terminal as it is.
final class TerminalKeys: Sendable {
  private struct State {
    /// The terminal's mode before the first key; `nil` while that is in force.
    var former: termios?
    var keys: [Character] = []
    var isEnded = false
  }

  private let state = Mutex(State())

  private static let interval: Duration = .milliseconds(50)
  /// The keys that wait until they are taken.
  private static let limit = 16

  /// - Returns: `nil` without a terminal to type on.
  init?() { guard Terminal.isInteractive else { return nil } }

  deinit { end() }

  /// Reads keys until the task is cancelled.
  ///
  /// - Parameter pressed: called with each key; `false` keeps it for ``next()``.
  func read(_ pressed: @Sendable (Character) -> Bool) async {
    while !Task.isCancelled {
      for key in look() where !pressed(key) {
        state.withLock { if $0.keys.count < Self.limit { $0.keys.append(key) } }
      }
      try? await Task.sleep(for: Self.interval)
    }
  }

  /// The next key that was kept; `nil` if there is none.
  func next() -> Character? { state.withLock { $0.keys.isEmpty ? nil : $0.keys.removeFirst() } }

  /// Gives the terminal its former mode back. No key is read after this call.
  func end() {
    state.withLock { state in
      state.isEnded = true
      Self.restore(&state)
    }
  }

  /// Sets the mode, also after the shell has changed it while the command was stopped, and returns what was typed.
  private func look() -> [Character] {
    state.withLock { state in
      var mode = termios()
      guard !state.isEnded, Self.isInForeground, tcgetattr(STDIN_FILENO, &mode) == 0 else { return [] }
      if mode.c_lflag & tcflag_t(ICANON) != 0 {
        state.former = mode
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
        withUnsafeMutableBytes(of: &mode.c_cc) { characters in
          (characters[Int(VMIN)], characters[Int(VTIME)]) = (1, 0)
          // These two come as keys, so that the terminal gets its mode back before they do their work.
          (characters[Int(VSUSP)], characters[Int(VQUIT)]) = (0, 0)
        }
        tcsetattr(STDIN_FILENO, TCSADRAIN, &mode)
      }
      var waiting = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, 0) == 1, waiting.revents & Int16(POLLIN) != 0 else { return [] }
      var bytes = [UInt8](repeating: 0, count: 64)
      let count = Foundation.read(STDIN_FILENO, &bytes, bytes.count)
      guard count > 0 else { return [] }
      // Keys such as the arrows begin with an escape character, and mean nothing here.
      let typed = bytes[..<count].prefix { $0 != 0x1B }
      for (byte, signal) in [(UInt8(0x1A), SIGTSTP), (0x1C, SIGQUIT)] where typed.contains(byte) {
        Self.restore(&state)
        // As the terminal does: all processes of the command get it.
        kill(0, signal)
        return []
      }
      return typed.map { Character(UnicodeScalar($0)) }
    }
  }

  private static func restore(_ state: inout State) {
    guard var former = state.former, isInForeground else { return }
    tcsetattr(STDIN_FILENO, TCSADRAIN, &former)
    state.former = nil
  }

  private static var isInForeground: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }
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
