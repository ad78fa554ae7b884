import Foundation

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
          Terminal.error.line("bundlectl: standard output cannot be written: \(reason)")
        }
        // Without clean-up handlers: running threads must not meet libraries that are being unloaded.
        EphemeralStore.remove()
        _exit(code == EPIPE ? 128 + SIGPIPE : 1)
      }
      bytes = bytes.dropFirst(written)
    }
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
