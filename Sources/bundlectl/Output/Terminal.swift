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
    // https://no-color.org: set and not empty.
    isColoured = isTerminal && (environment["NO_COLOR"] ?? "").isEmpty
  }

  /// Columns; 80 where it cannot be told.
  var width: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  func write(_ text: String) { write(Array(text.utf8)) }

  /// Writes all of it; a command whose output is lost has failed, and ends.
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
        // At once: what is under way must not go on beside libraries that are torn down.
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
