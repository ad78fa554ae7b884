/// The measured values of one thing, one from each round.
struct Samples {
  private(set) var values: [Double] = []

  init(_ values: [Double] = []) { self.values = values }

  mutating func append(_ value: Double) { values.append(value) }

  var median: Double { Measurement.median(values) }

  /// - Parameter part: 0.95 for the value that 95 in 100 stay below.
  func quantile(_ part: Double) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(part * Double(sorted.count)))]
  }

  /// The median, with the least and the largest value.
  func text(_ format: (Double) -> String = Figures.time) -> String {
    guard let least = values.min(), let most = values.max(), values.count > 1 else { return format(median) }
    return "\(format(median)) (\(format(least))–\(format(most)))"
  }
}
