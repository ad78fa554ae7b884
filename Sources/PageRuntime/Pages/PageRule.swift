import Foundation
import HTTPCache
import ScriptEngine

/// A rule that a page has added with `dom.addRule`, such as a font.
package struct PageRule: Hashable, Sendable {
  /// The first argument of the call, such as `fontFace`.
  package let kind: String
  /// The second argument of the call, such as `{fontFamily, src}`.
  package let values: ScriptValue
  /// `true` once the font's bytes are in the cache.
  package internal(set) var isLoaded = false
  /// The reason for which the font could not be loaded.
  package internal(set) var failure: String?

  /// The reference inside `url(…)`.
  var source: String? {
    guard let text = values["src"].string, let start = text.firstRange(of: "url(")?.upperBound,
      let end = text[start...].firstIndex(of: ")")
    else { return nil }
    return text[start..<end].trimmingCharacters(in: ["'", "\"", " "])
  }
}

extension PageInstance {
  /// Adds a rule. The file of a font is loaded as a request of the page.
  func addRule(_ kind: String, _ values: ScriptValue) async throws {
    var rule = PageRule(kind: kind, values: values)
    let index = rules.count
    rules.append(rule)
    guard let source = rule.source else { return }
    for try await update in updates(for: ResourceRequest(source, type: .font), within: nil) {
      switch update {
      case .cached, .network, .notModified: rule.isLoaded = true
      case .failed(let failure) where !rule.isLoaded: rule.failure = failure.description
      case .failed: break
      }
      if rules.indices.contains(index) { rules[index] = rule }
    }
  }
}
