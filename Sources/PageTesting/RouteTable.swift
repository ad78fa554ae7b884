/// Values by path pattern; the most specific pattern that matches a request applies.
///
/// From the most to the least specific: a path with its query (`/a.js?v=1`), a path (`/a.js`, with any query), a prefix
/// (`/api/*`), longer ones first.
struct RouteTable<Value: Sendable>: Sendable {
  private var values: [String: Value] = [:]

  /// The value of exactly this pattern.
  subscript(pattern: String) -> Value? {
    get { values[pattern] }
    set { values[pattern] = newValue }
  }

  func value(for target: String) -> Value? {
    pattern(for: target).flatMap { values[$0] }
  }

  /// Returns the pattern that applies to a request.
  func pattern(for target: String) -> String? {
    if values[target] != nil { return target }
    let path = PathPattern.path(of: target)
    if values[path] != nil { return path }
    return values.keys.filter { PathPattern.isPrefix($0) && PathPattern.matches($0, target) }
      .max { $0.utf8.count < $1.utf8.count }
  }
}

/// The forms of a pattern: `/a.js?v=1`, `/a.js`, or `/api/*`.
enum PathPattern {
  static func isPrefix(_ pattern: String) -> Bool {
    pattern.hasSuffix("*")
  }

  static func matches(_ pattern: String, _ target: String) -> Bool {
    if isPrefix(pattern) { return target.hasPrefix(pattern.dropLast()) }
    return pattern == target || pattern == path(of: target)
  }

  /// Returns the target without its query.
  static func path(of target: String) -> String {
    target.firstIndex(of: "?").map { String(target[..<$0]) } ?? target
  }
}
