import Testing

@testable import Bundles

struct TrialVerdictTests {
  typealias Row = (failures: Int, passed: Int, open: Int, isReady: Bool, canGoBack: Bool, then: TrialVerdict)

  /// With a limit of two failures.
  private static let table: [Row] = [
    // nothing is known yet
    (0, 0, 0, false, true, .undecided),
    (0, 0, 1, false, true, .undecided),
    // every page that was opened has passed
    (0, 1, 0, false, true, .good),
    (0, 3, 0, false, false, .good),
    // one of them is being opened, or has failed since
    (0, 3, 1, false, true, .undecided),
    (1, 3, 1, false, true, .undecided),
    // it failed once, and passed then
    (1, 1, 0, false, true, .good),
    // one failure less than the limit
    (1, 0, 1, false, true, .undecided),
    // as many as the limit, of one page or of several
    (2, 0, 1, false, true, .bad),
    (2, 5, 0, false, true, .bad),
    (3, 0, 2, false, true, .bad),
    // there is nothing to go back to
    (2, 0, 1, false, false, .undecided),
    (9, 0, 3, false, false, .undecided),
    // the app's word
    (0, 1, 4, true, true, .good),
    (1, 1, 1, true, true, .good),
    (2, 1, 1, true, true, .bad),
  ]

  @Test("every row of the table is decided as it says", arguments: table.indices)
  func verdicts(_ index: Int) {
    let row = Self.table[index]
    let record = TrialVerdict.Record(failures: row.failures, passed: row.passed, open: row.open)
    let verdict = TrialVerdict(
      after: record, isReady: row.isReady, canGoBack: row.canGoBack, options: ReleaseTrial())
    #expect(verdict == row.then)
  }

  @Test("the limit is the app's, and at least one failure", arguments: [(-1, 1), (0, 1), (1, 1), (5, 5)])
  func limits(_ set: Int, _ needed: Int) {
    var options = ReleaseTrial()
    options.failures = set
    for failures in 0...6 {
      let verdict = TrialVerdict(
        after: .init(failures: failures, open: 1), canGoBack: true, options: options)
      #expect((verdict == .bad) == (failures >= needed))
    }
  }
}
