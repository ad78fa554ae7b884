import HTTPTypes
import RawStructuredFieldValues

/// Which field says how a response may be cached, and what it says.
struct ResponseControl: Hashable, Sendable {
  let directives: CacheControl
  /// From a targeted field: `Cache-Control` and `Expires` do not count then. RFC 9213 §2.2.
  let isTargeted: Bool

  init(of fields: HTTPFields, policy: CachePolicy) {
    for name in policy.targets {
      if let directives = Self.targeted(fields[values: name]) {
        self.directives = directives
        isTargeted = true
        return
      }
    }
    directives = CacheControl(fields[values: .cacheControl])
    isTargeted = false
  }

  /// Nil where the field is absent, empty or unreadable: it counts as absent then. RFC 9213 §2.1.
  private static func targeted(_ lines: [String]) -> CacheControl? {
    guard !lines.isEmpty else { return nil }
    var parser = StructuredFieldValueParser(Array(lines.joined(separator: ", ").utf8))
    guard let dictionary = try? parser.parseDictionaryFieldValue(), !dictionary.isEmpty else { return nil }
    var control = CacheControl()
    for (name, member) in dictionary {
      guard case .item(let item) = member, let directive = directive(name, item.rfc9651BareItem) else { continue }
      control.apply(directive)
    }
    return control
  }

  /// Nil for a value of a type that the directive does not have. RFC 9213 §2.1.
  private static func directive(_ name: String, _ value: RFC9651BareItem) -> Directive? {
    let isDuration = durations.contains(name)
    switch value {
    case .integer(let number) where isDuration && number >= 0: return Directive(name: name, argument: String(number))
    case .bool(true) where !isDuration: return Directive(name: name, argument: nil)
    case .string(let text) where lists.contains(name): return Directive(name: name, argument: text)
    default: return nil
    }
  }

  private static let durations: Set<String> = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"]
  private static let lists: Set<String> = ["no-cache", "private"]
}
