/// The help text and the buckets of a metric.
package struct MetricDescription: Sendable {
  package let help: String
  /// The upper bounds of a histogram's buckets, ascending, in the metric's unit.
  var buckets: [Double] = Self.seconds

  package init(
    help: String, buckets: [Double] = Self.seconds
  ) {
    self.help = help
    self.buckets = buckets
  }

  /// The bounds from half a millisecond to ten seconds.
  package static let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
}

/// Names and labels in Prometheus' data model.
enum MetricName {
  /// A metric's name: `[a-zA-Z_:][a-zA-Z0-9_:]*`; any other character becomes `_`.
  static func metric(_ text: String) -> String { cleaned(text, allowsColon: true) }

  /// A label's name: `[a-zA-Z_][a-zA-Z0-9_]*`, without a leading `__`, which Prometheus reserves.
  static func label(_ text: String) -> String {
    let cleaned = cleaned(text, allowsColon: false)
    return cleaned.hasPrefix("__") ? "label" + cleaned : cleaned
  }

  /// Escapes `\`, `"` and newlines in the value of a label.
  static func escaped(_ value: String) -> String {
    guard value.utf8.contains(where: { $0 == 0x5C || $0 == 0x22 || $0 == 0x0A }) else { return value }
    return value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }

  private static func cleaned(_ text: String, allowsColon: Bool) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      let isLetter = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
      let isDigit = ("0"..."9").contains(scalar) && !result.isEmpty
      let isColon = scalar == ":" && allowsColon
      result.unicodeScalars.append(isLetter || isDigit || isColon ? scalar : "_")
    }
    return result.isEmpty ? "_" : result
  }
}
