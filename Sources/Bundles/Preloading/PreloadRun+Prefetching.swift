import HTTPTransport
import Logging

extension PreloadRun {
  /// Fetches the responses that the release's bundles list for prefetching, and keeps them.
  func prefetchResponses(for release: StoredRelease, _ report: inout PreloadReport) async throws {
    guard let prefetch else { return }
    let all = try await store.prefetches(of: release, onlyStored: true)
    // References that an earlier round fetched, or found lastingly unavailable, are not requested again.
    let references = Array(all.subtracting(report.settledPrefetches))
    var former: [String] = []
    if report.activated, let previous = try await store.source(release.source)?.previous {
      former = try await store.prefetches(of: previous, onlyStored: false).subtracting(all).sorted()
    }
    guard !references.isEmpty || !former.isEmpty else { return }
    feed.setTotals { $0.phase = .prefetching }
    let base = release.source.isFile ? nil : release.source
    let result = await prefetch(references, base, former)
    report.prefetched += result.kept
    report.prefetchSkipped += result.skipped
    report.prefetchFailures.removeAll { failure in references.contains { failure.hasPrefix("\($0): ") } }
    report.prefetchFailures += result.failures
    report.settledPrefetches.formUnion(references)
    report.settledPrefetches.subtract(result.passing)
    report.lacksPrefetches = !result.passing.isEmpty
    for failure in result.failures { logger.notice("prefetching failed: \(failure)") }
  }
}
