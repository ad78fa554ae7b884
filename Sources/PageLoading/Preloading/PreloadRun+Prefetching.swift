import Logging
import PageCore

extension PreloadRun {
  /// What the bundles will ask for comes with them, and is kept.
  func prefetch(for release: StoredRelease, _ report: inout PreloadReport) async throws {
    guard let prefetcher else { return }
    let listed = try await store.recordedContents(of: release).filter { $0.blob != nil }
    let references = listed.flatMap(\.bundle.prefetch)
    var former: [String] = []
    if report.activated, let previous = try await store.source(release.source)?.previous {
      former = try await store.recordedContents(of: previous).flatMap(\.bundle.prefetch)
    }
    guard !references.isEmpty || !former.isEmpty else { return }
    feed.setTotals { $0.phase = .prefetching }
    let base = release.source.isFile ? nil : release.source
    let result = await prefetcher.prefetch(references, base: base, dropping: former)
    report.prefetched = result.kept
    report.prefetchSkipped = result.skipped
    report.prefetchFailures = result.failures
    report.passingPrefetchFailures = result.passing
    for failure in result.failures { logger.notice("prefetching failed: \(failure)") }
  }
}
