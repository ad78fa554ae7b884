import Foundation
import HTTPTransport
import Releases

/// The framework that a bundle is written for.
public enum BundleType: String, Hashable, Sendable, CaseIterable {
  /// The document API, which the built-in framework runs.
  case vanilla = "Vanilla"
  /// Vue.
  case vue = "Vue"
  /// Rax.
  case rax = "Rax"
  /// The oldest type, which names no framework.
  case weex = "Weex"

  /// The type that the bundle's first line, the `bundleType` of its URL, or a `"use weex:…"` directive names, in this order;
  /// `nil` if they name none.
  static func declared(in source: String, url: PageURL?) -> BundleType? {
    fromComment(source) ?? fromQuery(url) ?? fromDirective(source)
  }

  /// Returns `nil` if no type has the name, in any case of letters.
  package init?(named name: String) {
    guard let found = Self.allCases.first(where: { $0.rawValue.lowercased() == name.lowercased() }) else { return nil }
    self = found
  }

  /// `// { "framework": "Vue" }`
  private static func fromComment(_ source: String) -> BundleType? {
    nameInComment(source).flatMap { BundleType(named: $0) }
  }

  /// The name of a framework in a bundle's first line, known or not. Single quotes are read as double ones, as Android's
  /// SDK does: `// { 'framework': 'Vue' }`.
  static func nameInComment(_ source: String) -> String? {
    let first = source.drop { $0.isWhitespace }.prefix { !$0.isNewline }
    guard first.hasPrefix("//"), let start = first.firstIndex(of: "{"), let end = first.lastIndex(of: "}"), start < end,
      first[..<start].dropFirst(2).allSatisfy({ $0 == " " || $0 == "/" })
    else { return nil }
    let quoted = first[start...end].utf8.map { $0 == UInt8(ascii: "'") ? UInt8(ascii: "\"") : $0 }
    for bytes in [Array(first[start...end].utf8), quoted] {
      if case .object(let object)? = try? JSONValue(reading: bytes), case .string(let name)? = object["framework"] {
        return name
      }
    }
    return nil
  }

  private static func fromQuery(_ url: PageURL?) -> BundleType? {
    guard let query = url?.text.split(separator: "?", maxSplits: 1).dropFirst().first else { return nil }
    for pair in query.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      if parts.first == "bundleType", let name = parts.dropFirst().first { return BundleType(named: String(name)) }
    }
    return nil
  }

  /// `"use weex:vue"`, among the first 1,000 characters.
  private static func fromDirective(_ source: String) -> BundleType? {
    let head = source.prefix(1_000)
    for quote in ["\"", "'"] {
      guard let start = head.firstRange(of: "\(quote)use weex:")?.upperBound else { continue }
      let rest = head[start...]
      guard let end = rest.firstIndex(of: Character(quote)) else { continue }
      return BundleType(named: String(rest[..<end]))
    }
    return nil
  }
}

/// The reason for which a text cannot be a bundle.
package enum BundleFault: String, Hashable, Sendable, CustomStringConvertible {
  /// The text is empty.
  case empty
  /// The text is HTML: the server may have answered with a page of its own.
  case html
  /// The text is JSON.
  case json
  /// The text is an ES module.
  case module
  /// The bytes are not UTF-8 text.
  case binary

  /// Returns `nil` if the bytes may be a bundle's text.
  package init?(in bytes: [UInt8]) {
    switch ScriptCheck.fault(of: bytes) {
    case .empty: self = .empty
    case .notUTF8: self = .binary
    // The other kinds are found in the whole text only.
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
    // The cut may go through a character.
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

  package var description: String {
    switch self {
    case .empty: "it is empty"
    case .html: "it is HTML: the server may have answered with a page of its own"
    case .json: "it is JSON, not a script"
    case .binary: "it is not UTF-8 text"
    case .module: "it is an ES module: bundle it into one script first"
    }
  }

  /// The number of lines that are read at either end: `import` and `export` are near the beginning or at the end.
  private static let linesLooked = 200

  /// Returns `true` if a line begins as only a line of a module does.
  private static func isModule(_ text: Substring) -> Bool {
    (firstLines(of: text) + lastLines(of: text)).contains { line in
      let line = line.drop { $0 == " " || $0 == "\t" }.prefix(200)
      return line.prefixMatch(of: importing) != nil || line.prefixMatch(of: exporting) != nil
    }
  }

  private static func firstLines(of text: Substring) -> [Substring] {
    var lines: [Substring] = []
    var rest = text
    while lines.count < linesLooked, let end = rest.utf8.firstIndex(where: endsLine) {
      lines.append(rest[..<end])
      rest = rest[text.utf8.index(after: end)...]
    }
    return lines.count < linesLooked ? lines + [rest] : lines
  }

  private static func lastLines(of text: Substring) -> [Substring] {
    var lines: [Substring] = []
    var rest = text
    while lines.count < linesLooked, let end = rest.utf8.lastIndex(where: endsLine) {
      lines.append(rest[text.utf8.index(after: end)...])
      rest = rest[..<end]
    }
    return lines
  }

  /// Of the bytes of a text, since a bundle may have megabytes: its characters take ten times as long.
  private static func endsLine(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") }

  private static var importing: Regex<Substring> { /import\s*(?:["'{*]|[\w$]+\s*(?:,|\s+from\s*["']))/ }
  private static var exporting: Regex<Substring> {
    /export\s*(?:default\b|\{|\*|(?:const|let|var|function|class|async)\s)/
  }
}
