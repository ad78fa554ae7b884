import PageKit
import PageWorkers

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

/// Turns a page's errors into faults; with a source map, these have places in the bundle's sources.
actor FaultReader {
  private let resources: ResourceLoader
  private let url: PageURL
  private let source: @Sendable () async -> String?
  private var text: String?
  private var map: SourceMap?
  private var hasLooked = false

  /// - Parameter source: the bundle's text.
  init(_ resources: ResourceLoader, url: PageURL, source: @escaping @Sendable () async -> String?) {
    self.resources = resources
    self.url = url
    self.source = source
  }

  func fault(of exception: ScriptException) async -> RenderFault {
    await look()
    let mapped = map.map { exception.mapped(through: $0, of: url.text) } ?? exception.located
    var fault = RenderFault(mapped)
    if let line = mapped.line, let place = mapped.url {
      if let known = map?.text(of: place, line: line) {
        fault.code = known
      } else if place == url.text {
        fault.code = Self.line(line, of: text)
      } else {
        fault.code = Self.line(line, of: await sourceFile(place))
      }
    }
    return fault
  }

  /// A missing or invalid map only causes a warning.
  private func look() async {
    guard !hasLooked else { return }
    hasLooked = true
    guard let found = await source() else { return }
    text = found
    do {
      map = try await resources.sourceMap(of: found, at: url)
    } catch {
      Terminal.error.line(
        Terminal.error.styled("bundlectl: going on without the source map: \(error.message)", .yellow))
    }
  }

  /// The size up to which a source is read to show a line.
  private static let sourceLimit: Int64 = 8 << 20
  private var sources: [String: String] = [:]

  /// The text of a source that the map only names: the file beside a local map, or a file of the bundle's own server.
  private func sourceFile(_ place: String) async -> String? {
    if let known = sources[place] { return known }
    guard let source = PageURL(place), source.isFile ? url.isFile : source.origin == url.origin else { return nil }
    let loaded = try? await resources.response(for: ResourceRequest(place, base: url, priority: .low))
    guard let loaded, (200..<300).contains(loaded.status),
      let bytes = try? await loaded.body.collect(upTo: Self.sourceLimit)
    else { return nil }
    sources[place] = String(decoding: bytes, as: UTF8.self)
    return sources[place]
  }

  private static func line(_ line: Int, of text: String?) -> String? {
    guard let lines = text?.split(maxSplits: line, omittingEmptySubsequences: false, whereSeparator: \.isNewline),
      line > 0, lines.count >= line
    else { return nil }
    return String(lines[line - 1])
  }
}
