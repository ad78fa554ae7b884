import Foundation
import HTTPTransport

/// Which framework a bundle is written for.
public enum BundleType: String, Hashable, Sendable, CaseIterable {
  /// The document API: what the built-in framework runs.
  case vanilla = "Vanilla"
  case vue = "Vue"
  case rax = "Rax"
  /// The oldest kind, which says nothing of itself.
  case weex = "Weex"

  /// Read from the bundle's first line, its URL's `bundleType`, or a `"use weex:…"` directive, in this order.
  init(of source: String, url: PageURL?) {
    self = Self.declared(in: source, url: url) ?? .weex
  }

  /// What the bundle or its URL says of itself; `nil` if they say nothing.
  static func declared(in source: String, url: PageURL?) -> BundleType? {
    fromComment(source) ?? fromQuery(url) ?? fromDirective(source)
  }

  /// In any case of letters; nil for none of them.
  package init?(named name: String) {
    guard let found = Self.allCases.first(where: { $0.rawValue.lowercased() == name.lowercased() }) else { return nil }
    self = found
  }

  /// `// { "framework": "Vue" }`
  private static func fromComment(_ source: String) -> BundleType? {
    nameInComment(source).flatMap { BundleType(named: $0) }
  }

  /// The framework that a bundle's first line names, known or not.
  static func nameInComment(_ source: String) -> String? {
    let first = source.drop { $0.isWhitespace }.prefix { !$0.isNewline }
    guard first.hasPrefix("//"), let start = first.firstIndex(of: "{"), let end = first.lastIndex(of: "}"), start < end,
      first[..<start].dropFirst(2).allSatisfy({ $0 == " " || $0 == "/" }),
      case .object(let object)? = try? JSONValue(reading: Array(first[start...end].utf8)),
      case .string(let name)? = object["framework"]
    else { return nil }
    return name
  }

  private static func fromQuery(_ url: PageURL?) -> BundleType? {
    guard let query = url?.text.split(separator: "?", maxSplits: 1).dropFirst().first else { return nil }
    for pair in query.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      if parts.first == "bundleType", let name = parts.dropFirst().first { return BundleType(named: String(name)) }
    }
    return nil
  }

  /// `"use weex:vue"`, among the first bytes.
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
