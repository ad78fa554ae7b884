/// The installs that have reported the end of a release's trial.
package struct ReportTally: Hashable, Sendable {
  package var good: Int
  package var bad: Int
  /// The time at which the release was halted, in seconds since 1970; `nil` if it is not.
  package var haltedAt: Double?
  /// The manifest that takes the place of the halted release, if that is known.
  package var otherwise: ManifestReference?

  package init(
    good: Int = 0, bad: Int = 0, haltedAt: Double? = nil, otherwise: ManifestReference? = nil
  ) {
    (self.good, self.bad, self.haltedAt, self.otherwise) = (good, bad, haltedAt, otherwise)
  }

  /// The share of the bad ones in percent; 0 without reports.
  package var badPercent: Double { good + bad == 0 ? 0 : Double(bad) * 100 / Double(good + bad) }
}

/// The bound of failures at which a publisher halts a release.
package struct HaltBound: Hashable, Sendable {
  /// The share of installs on which the release is bad, in percent.
  package var percent: Double
  /// The least number of installs that have reported: fewer say nothing.
  package var installs: Int

  package init(percent: Double = 5, installs: Int = 200) { (self.percent, self.installs) = (percent, installs) }

  /// Returns `true` if a release with these reports is halted.
  package func isReached(by tally: ReportTally) -> Bool {
    tally.good + tally.bad >= max(1, installs) && tally.bad > 0 && tally.badPercent >= percent
  }
}
