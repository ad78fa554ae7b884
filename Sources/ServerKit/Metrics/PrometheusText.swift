/// The format of metrics as text: Prometheus' 0.0.4, or OpenMetrics 1.0.0.
enum MetricFormat: Sendable {
  case prometheus, openMetrics

  var contentType: String {
    switch self {
    case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    }
  }

  /// Chooses OpenMetrics if `Accept` names it with a weight above zero.
  init(accept: String?) {
    let asks = (accept ?? "").split(separator: ",").contains { range in
      let parts = range.lowercased().split(separator: ";").map { $0.filter { $0 != " " } }
      guard parts.first == "application/openmetrics-text" else { return false }
      let weight = parts.first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      return weight > 0
    }
    self = asks ? .openMetrics : .prometheus
  }
}

extension MetricRegistry {
  /// Writes the metrics as text.
  func text(_ format: MetricFormat) -> String {
    var lines: [String] = []
    for family in families {
      // OpenMetrics names the family without the suffix of its samples.
      let name = family.kind == .counter && format == .prometheus ? family.name + "_total" : family.name
      let help = description(of: family.name).help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
      lines.append("# HELP \(name) \(help)")
      lines.append("# TYPE \(name) \(family.kind.rawValue)")
      let suffix = family.kind == .counter ? "_total" : ""
      for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
        switch series {
        case .counter(let counter): lines.append(sample(family.name + suffix, labels, "\(counter.value)"))
        case .gauge(let gauge): lines.append(sample(family.name + suffix, labels, Self.number(gauge.value)))
        case .histogram(let histogram): lines += buckets(family.name, labels, histogram)
        }
      }
    }
    if format == .openMetrics { lines.append("# EOF") }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Writes the buckets. They are cumulated, and the last one counts all values.
  private func buckets(
    _ name: String, _ labels: Labels, _ histogram: HistogramSeries
  ) -> [String] {
    let value = histogram.value
    var lines: [String] = []
    var count: UInt64 = 0
    for (index, bound) in (histogram.bounds + [.infinity]).enumerated() {
      count += value.counts[index]
      lines.append(sample(name + "_bucket", labels, "\(count)", bound: Self.number(bound)))
    }
    lines.append(sample(name + "_sum", labels, Self.number(value.sum)))
    lines.append(sample(name + "_count", labels, "\(count)"))
    return lines
  }

  private func sample(
    _ name: String, _ labels: Labels, _ value: String, bound: String? = nil
  ) -> String {
    var pairs = labels.pairs.map { "\($0[0])=\"\($0[1].escapedLabel)\"" }
    if let bound { pairs.append("le=\"\(bound)\"") }
    return name + (pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") + " " + value
  }

  static func number(_ value: Double) -> String {
    if value == .infinity { return "+Inf" }
    if value == -.infinity { return "-Inf" }
    if value.isNaN { return "NaN" }
    return value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
  }
}

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
extension String {
  /// A metric's name: `[a-zA-Z_:][a-zA-Z0-9_:]*`; any other character becomes `_`.
  var metricName: String { cleaned(allowsColon: true) }

  /// A label's name: `[a-zA-Z_][a-zA-Z0-9_]*`, without a leading `__`, which Prometheus reserves.
  var metricLabel: String {
    let cleaned = cleaned(allowsColon: false)
    return cleaned.hasPrefix("__") ? "label" + cleaned : cleaned
  }

  /// Escapes `\`, `"` and newlines in the value of a label.
  fileprivate var escapedLabel: String {
    guard utf8.contains(where: { $0 == 0x5C || $0 == 0x22 || $0 == 0x0A }) else { return self }
    return replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }

  private func cleaned(allowsColon: Bool) -> String {
    var result = ""
    for scalar in unicodeScalars {
      let isLetter = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
      let isDigit = ("0"..."9").contains(scalar) && !result.isEmpty
      let isColon = scalar == ":" && allowsColon
      result.unicodeScalars.append(isLetter || isDigit || isColon ? scalar : "_")
    }
    return result.isEmpty ? "_" : result
  }
}
