/// Quantiles of histograms.
package enum Quantile {
  /// Interpolates linearly in the bucket of the quantile, as PromQL's `histogram_quantile` does.
  ///
  /// - Returns: `nil` without values.
  package static func of(_ quantile: Double, counts: [UInt64], bounds: [Double]) -> Double? {
    let total = counts.reduce(0, +)
    guard total > 0, let last = bounds.last else { return nil }
    let rank = quantile * Double(total)
    var below: UInt64 = 0
    for (index, count) in counts.enumerated() {
      if Double(below + count) >= rank, count > 0 {
        guard index < bounds.count else { return last }
        let lower = index > 0 ? bounds[index - 1] : 0
        return lower + (bounds[index] - lower) * (rank - Double(below)) / Double(count)
      }
      below += count
    }
    return last
  }
}
