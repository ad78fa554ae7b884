import Foundation
import PageKit

/// An error of a page as its author sees it: in the words and at the place of the source that was written, with the lines
/// around it.
package struct FaultReport: Codable, Hashable, Sendable {
  /// A line of a source.
  package struct Line: Codable, Hashable, Sendable {
    package let number: Int
    package let text: String
  }

  package var message: String
  /// The source or the bundle, with line and column: `src/home.vue:12:5`; `nil` if no place is known.
  package var place: String?
  /// The line of the error.
  package var line: Int?
  /// The lines around it; empty if the source is not known.
  package var lines: [Line] = []
  /// The calls, the innermost first.
  package var stack: [String] = []

  /// The number of lines that are shown before and after the error's, and the limits of a line's characters and of calls.
  private static let around = 2
  private static let lineLength = 200
  private static let callLimit = 20
  /// The largest number of a line that is looked for.
  private static let lineLimit = 100_000_000

  init(message: String) { self.message = message }

  /// - Parameters:
  ///   - exception: an error as the engine has it.
  ///   - location: the URL of the bundle as its script has it.
  ///   - source: the text of the bundle; `nil` if it is not known.
  ///   - map: its source map; `nil` if it has none.
  init(_ exception: ScriptException, at location: String, in source: String?, through map: SourceMap?) {
    let found = exception.located
    let mapped = map.map { found.mapped(through: $0, of: location) } ?? found
    message = mapped.message
    stack = (mapped.stack ?? "").split(separator: "\n").prefix(Self.callLimit).map { Self.short(String($0)) }
    guard let line = mapped.line else { return }
    let name = mapped.url ?? location
    self.line = line
    place = "\(Self.short(name)):\(line)" + (mapped.column.map { ":\($0)" } ?? "")
    // Numbers that come from a page.
    let shown = min(max(1, line), Self.lineLimit)
    let numbers = max(1, shown - Self.around)...shown + Self.around
    if let map, mapped.url != found.url {
      lines = numbers.compactMap { number in map.text(of: name, line: number).map { Line(number: number, text: $0) } }
    } else if name == location, let source {
      let last = numbers.upperBound
      let texts = source.split(maxSplits: last, omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      lines = numbers.filter { $0 <= texts.count }.map { Line(number: $0, text: String(texts[$0 - 1])) }
    }
    // A bundle may be one line.
    let start = max(0, max(1, mapped.column ?? 1) - Self.lineLength / 2)
    lines = lines.map { line in
      guard line.text.utf8.count > Self.lineLength else { return line }
      let from = line.number == self.line ? start : 0
      return Line(
        number: line.number, text: (from > 0 ? "…" : "") + line.text.dropFirst(from).prefix(Self.lineLength) + "…")
    }
  }

  /// A URL without what all have in common.
  private static func short(_ text: String) -> String {
    for prefix in ["webpack:///", "webpack://"] where text.contains(prefix) { return text.replacing(prefix, with: "") }
    guard let start = text.firstRange(of: "/bundles/"), let scheme = text.firstRange(of: "http") else { return text }
    return String(text[..<scheme.lowerBound] + text[start.upperBound...])
  }
}
