/// The decision about a release in its trial.
enum TrialVerdict: Hashable, Sendable {
  /// The trial goes on.
  case undecided
  case good
  case bad

  /// The pages of a release that were opened in its trial.
  struct Record: Hashable, Sendable {
    /// The failed openings of all pages.
    var failures = 0
    /// The pages that have run for the trial's time since their last failure.
    var passed = 0
    /// The pages that failed and have not passed since, and those that are being opened.
    var open = 0
  }

  /// - Parameters:
  ///   - isReady: `true` if the app said that the release is good.
  ///   - canGoBack: `true` if the store has a good release. Without one the failed release stays: a page with an error is
  ///     no worse than none.
  init(after record: Record, isReady: Bool = false, canGoBack: Bool, options: ReleaseTrial) {
    if record.failures >= max(1, options.failures), canGoBack {
      self = .bad
    } else if isReady || record.passed > 0 && record.open == 0 {
      self = .good
    } else {
      self = .undecided
    }
  }
}
