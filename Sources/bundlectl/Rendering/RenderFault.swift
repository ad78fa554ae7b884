import PageKit

/// An error of a rendering.
struct RenderFault: Error {
  var message: String
  let url: String?
  let line: Int?
  let column: Int?
  let stack: String?
  /// The text of the line, if it is known.
  var code: String?

  init(_ message: String, url: String? = nil) {
    self.init(ScriptException(message: message, url: url))
  }

  init(_ exception: ScriptException) {
    message = exception.message
    (url, line, column, stack) = (exception.url, exception.line, exception.column, exception.stack)
  }

  var json: JSONObject { ["message": message, "url": url, "line": line, "column": column, "stack": stack] }

  /// Columns; longer lines are generated code and are not shown.
  private static let codeLimit = 160

  /// A text for people: the error, its place and its calls.
  func write(to terminal: Terminal) {
    terminal.line("bundlectl: \(terminal.styled(message, .red))")
    if let url, let line {
      terminal.line("  at \(terminal.styled("\(Self.plain(url)):\(line)\(column.map { ":\($0)" } ?? "")", .bold))")
    } else if let url, !message.contains(url), !message.contains(Self.plain(url)) {
      terminal.line("  at \(terminal.styled(Self.plain(url), .bold))")
    }
    if let code, let line, code.count <= Self.codeLimit {
      terminal.line("  \(terminal.styled("\(line) │", .dim)) \(code)")
      if let column, column <= code.utf16.count + 1 {
        // Tabs stay tabs, so that the mark is in the right column.
        let before = String(decoding: code.utf16.prefix(column - 1), as: UTF16.self)
        let space = before.map { $0 == "\t" ? "\t" : String(repeating: " ", count: Formatting.columns(String($0))) }
          .joined()
        terminal.line(
          "  \(String("\(line)".map { _ in " " })) \(terminal.styled("│", .dim)) \(space)\(terminal.styled("^", .red))")
      }
    }
    // The innermost call has the place of the error.
    let calls = (stack ?? "").split(separator: "\n").map { Self.call(String($0)) }
    for call in calls.count > 1 ? calls.prefix(20) : [] { terminal.line(terminal.styled("    \(call)", .dim)) }
  }

  /// A call as `name@place`.
  private static func call(_ line: String) -> String {
    let parts = line.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return plain(line) }
    return "in \(parts[0].isEmpty ? "a function" : String(parts[0])), \(plain(String(parts[1])))"
  }

  /// Files by their paths.
  private static func plain(_ text: String) -> String { text.replacing("file://", with: "") }
}
