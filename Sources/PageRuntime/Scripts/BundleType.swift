import Foundation
import HTTPTransport

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

  /// Reads the bundle's first line, the `bundleType` of its URL, or a `"use weex:…"` directive, in this order.
  init(of source: String, url: PageURL?) {
    self = Self.declared(in: source, url: url) ?? .weex
  }

  /// The type that the bundle or its URL names; `nil` if they name none.
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
