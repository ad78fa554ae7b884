import Bundles
import Foundation
import HTTPTransport

/// What a text is that cannot be a bundle.
public enum BundleFault: String, Hashable, Sendable, CustomStringConvertible {
  case empty
  case html
  case json
  case module
  /// It has bytes that no text has.
  case binary

  /// Returns `nil` if the bytes may be a bundle's text.
  package init?(in bytes: [UInt8]) {
    switch ScriptCheck.fault(of: bytes) {
    case .empty: self = .empty
    case .notUTF8: self = .binary
    // What a text is wants a look at all of it.
    case .html, nil: return nil
    }
  }

  /// Returns `nil` if the text may be a bundle.
  init?(in source: String) {
    switch ScriptCheck.fault(of: Array(source.utf8.prefix(1_000))) {
    case .html:
      self = .html
      return
    case .empty:
      self = .empty
      return
    // A character that the cut went through.
    case .notUTF8, nil: break
    }
    let text = source.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    if let first = text.first, "{[\"".contains(first),
      (try? JSONValue(reading: Array(text.utf8), limits: JSONLimits(depth: 512))) != nil
    {
      self = .json
    } else if Self.isModule(text) {
      self = .module
    } else {
      return nil
    }
  }

  public var description: String {
    switch self {
    case .empty: "it is empty"
    case .html: "it is HTML: the server may have answered with a page of its own"
    case .json: "it is JSON, not a script"
    case .binary: "it is not UTF-8 text"
    case .module: "it is an ES module: bundle it into one script first"
    }
  }

  /// Lines that are looked at: `import` and `export` are either near the beginning or at the very end.
  private static let linesLooked = 200

  /// Whether a line begins as only a module's may.
  private static func isModule(_ text: Substring) -> Bool {
    let lines = text.split(whereSeparator: \.isNewline)
    return (lines.prefix(linesLooked) + lines.suffix(linesLooked)).contains { line in
      let line = line.drop { $0 == " " || $0 == "\t" }.prefix(200)
      return line.prefixMatch(of: importing) != nil || line.prefixMatch(of: exporting) != nil
    }
  }

  private static var importing: Regex<Substring> { /import\s*(?:["'{*]|[\w$]+\s*(?:,|\s+from\s*["']))/ }
  private static var exporting: Regex<Substring> {
    /export\s*(?:default\b|\{|\*|(?:const|let|var|function|class|async)\s)/
  }
}
